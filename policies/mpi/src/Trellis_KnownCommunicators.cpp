// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <mpi/impl/Trellis_KnownCommunicators.hpp>
#include <mpi/impl/Trellis_MpiCalls.hpp>
#include <progress/Trellis_StallReport.hpp>

#include <algorithm>
#include <cstddef>
#include <list>
#include <mutex>
#include <numeric>
#include <utility>

namespace trellis::Impl {
namespace {

struct Notes {
  struct Entry {
    KnownCommunicator what;
    CommunicatorNote const* of;  ///< null: it is gone
  };
  std::mutex mutex;
  std::list<Entry> entries;  ///< by the time when they were made
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

/// So that reports of several ranks can be told apart.
void name_this_process() {
  int size = 0, rank = 0;
  require_success(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  require_success(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
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
