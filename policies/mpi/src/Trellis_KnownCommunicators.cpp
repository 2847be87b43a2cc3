// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <mpi/impl/Trellis_KnownCommunicators.hpp>
#include <mpi/impl/Trellis_MpiCalls.hpp>
#include <progress/Trellis_StallReport.hpp>
#include <trace/Trellis_TaskCounters.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <list>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

namespace trellis::Impl {
namespace {

/// A piece has the ranks `first`, `first + step`, ..., `last`.
struct Piece {
  int first, last, step;
  [[nodiscard]] std::string text() const {
    std::string text = std::to_string(first);
    if (last != first) text += "-" + std::to_string(last);
    if (last != first && step != 1) text += ":" + std::to_string(step);
    return text;
  }
};
/// Two numbers are pieces of their own, unless one follows the other.
std::vector<Piece> pieces_of(std::vector<int> const& ranks) {
  std::vector<Piece> all;
  for (std::size_t k = 0; k < ranks.size();) {
    Piece piece{ranks[k], ranks[k], 1};
    std::size_t next = k + 1;
    if (next < ranks.size()) {
      int const step = ranks[next] - ranks[k];
      std::size_t end = next;
      while (end < ranks.size() && ranks[end] - ranks[end - 1] == step) ++end;
      if (step == 1 || (step > 1 && end - k > 2)) {
        piece = {ranks[k], ranks[end - 1], step};
        next = end;
      }
    }
    all.push_back(piece);
    k = next;
  }
  return all;
}
/// Returns the 32-bit FNV-1a hash.
std::uint32_t hash_of(std::vector<int> const& ranks) {
  std::uint32_t hash = 2166136261U;
  for (int const rank : ranks)
    for (int byte = 0; byte < 4; ++byte)
      hash = (hash ^ (static_cast<std::uint32_t>(rank) >> (8 * byte) & 0xFFU)) * 16777619U;
  return hash;
}

struct Notes {
  /// The number of communicators that have had a name, including those that are gone.
  std::map<std::string, int> given;
  struct Entry {
    KnownCommunicator what;
    CommunicatorNote const* of;  ///< null: it is gone
  };
  std::mutex mutex;
  std::list<Entry> entries;  ///< in the order of their making
  std::size_t gone = 0;
};
Notes& notes() {
  static Notes* const made = new Notes;  // MPI may be finalised after all destructors
  return *made;
}

MPI_Group group_of(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  require_success(MPI_Comm_group(comm, &group), "MPI_Comm_group");
  return group;
}

/// Names this process, so that reports of several ranks can be distinguished.
void name_this_process() {
  int size = 0, rank = 0;
  require_success(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  require_success(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  if (size > 1) TaskCounters::set_rank(rank);
  if (size > 1) StallReport::begin_lines_with("[rank " + std::to_string(rank) + "] ");
}

}  // namespace

std::vector<int> world_ranks(MPI_Comm comm) {
  int size = 0;
  require_success(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  std::vector<int> own(static_cast<std::size_t>(size)), world(own.size());
  std::iota(own.begin(), own.end(), 0);
  MPI_Group from = group_of(comm), to = group_of(MPI_COMM_WORLD);
  int const code = MPI_Group_translate_ranks(from, size, own.data(), to, world.data());
  MPI_Group_free(&from);
  MPI_Group_free(&to);
  require_success(code, "MPI_Group_translate_ranks");
  return world;
}

std::string name_of_ranks(std::vector<int> const& ranks) {
  constexpr std::size_t most = 4;
  std::vector<Piece> const pieces = pieces_of(ranks);
  std::string text;
  if (pieces.size() <= most) {
    for (Piece const& piece : pieces) text += (text.empty() ? "" : ",") + piece.text();
  } else {
    char hash[16];
    std::snprintf(hash, sizeof hash, "%08x", hash_of(ranks));
    text = std::to_string(ranks.size()) + " ranks, " + hash;
  }
  return "communicator{" + text + "}";
}

std::string unused_name(std::string const& name) {
  std::lock_guard const lock(notes().mutex);
  int const number = ++notes().given[name];
  return number == 1 ? name : name + "#" + std::to_string(number);
}

std::vector<KnownCommunicator> known_communicators() {
  std::vector<KnownCommunicator> all;
  std::lock_guard const lock(notes().mutex);
  for (Notes::Entry const& entry : notes().entries) all.push_back(entry.what);
  return all;
}

CommunicatorNote::CommunicatorNote(MPI_Comm comm, std::string const& name) {
  static bool const once = (name_this_process(), true);
  static_cast<void>(once);
  auto ranks = std::make_shared<std::vector<int> const>(world_ranks(comm));
  std::lock_guard const lock(notes().mutex);
  for (Notes::Entry const& entry : notes().entries)
    if (*entry.what.ranks == *ranks) {
      ranks = entry.what.ranks;
      break;
    }
  notes().entries.push_back({{name, std::move(ranks)}, this});
}

CommunicatorNote::~CommunicatorNote() {
  constexpr std::size_t most = 256;
  std::lock_guard const lock(notes().mutex);
  auto& entries = notes().entries;
  auto const is_gone = [](Notes::Entry const& entry) { return entry.of == nullptr; };
  auto const mine =
      std::find_if(entries.begin(), entries.end(), [&](auto const& it) { return it.of == this; });
  mine->of = nullptr;
  if (++notes().gone > most) {
    entries.erase(std::find_if(entries.begin(), entries.end(), is_gone));
    --notes().gone;
  }
}

}  // namespace trellis::Impl
