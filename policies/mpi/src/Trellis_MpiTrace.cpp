// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <mpi/Trellis_MpiTrace.hpp>
#include <mpi/impl/Trellis_CommunicatorState.hpp>
#include <mpi/impl/Trellis_KnownCommunicators.hpp>
#include <mpi/impl/Trellis_MpiCalls.hpp>
#include <mpi/impl/Trellis_RankClock.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <random>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace trellis::Impl {
namespace {

using Json = nlohmann::ordered_json;

// --- which messages there are --------------------------------------------------------------------

struct IndexRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] bool is_one() const { return end == begin + 1; }
};
/// A channel is direction, peer and tag, as in CommunicatorState::channel.
using Channel = std::array<IndexRange, 3>;

bool take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}
bool take(std::string_view& text, std::int64_t& number) {
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}
/// Reads a text like "[0, 1) x [3, 4) x [7, 8)". The area of a whole communicator is no channel of
/// a message.
bool read_channel(std::string_view area, Channel& channel) {
  for (std::size_t k = 0; k < channel.size(); ++k)
    if ((k > 0 && !take(area, " x ")) || !take(area, "[") || !take(area, channel[k].begin) ||
        !take(area, ", ") || !take(area, channel[k].end) || !take(area, ")"))
      return false;
  return area.empty() && channel[0].is_one();
}

/// Finds the messages and collective operations of a trace by the accesses of its tasks: each has
/// used its channel, and nothing else does so in this way. The result is for the `args` of their
/// tasks.
class TracedMessages {
 public:
  /// `ranks` are those of the trace's communicator in MPI_COMM_WORLD.
  TracedMessages(Trace const& trace, std::vector<int> const& ranks) {
    for (std::size_t k = 0; k < ranks.size(); ++k)
      if (ranks[k] != MPI_UNDEFINED) m_rank_of[ranks[k]] = static_cast<int>(k);
    for (KnownCommunicator const& known : known_communicators()) add(known);
    std::vector<TaskRecord const*> started;
    for (TaskRecord const& task : trace.graph.nodes())
      if (task.started_ns != 0 && task.completes_later) started.push_back(&task);
    // A message of a channel may start as soon as the one before it has been started. So they are
    // counted in the order in which MPI has seen them.
    std::stable_sort(started.begin(), started.end(), [](auto const* a, auto const* b) {
      return std::tie(a->started_ns, a->id) < std::tie(b->started_ns, b->id);
    });
    for (TaskRecord const* task : started) add(*task);
  }

  /// Returns JSON, or an empty text.
  [[nodiscard]] std::string arguments(TaskRecord const& task) const {
    auto const found = m_arguments.find(task.id);
    return found != m_arguments.end() ? dump(found->second) : std::string();
  }
  /// Returns the communicators that have been used.
  [[nodiscard]] Json const& communicators() const { return m_communicators; }
  [[nodiscard]] static std::string dump(Json const& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  struct Known {
    std::shared_ptr<std::vector<int> const> ranks;
    bool is_ambiguous = false;  ///< two communicators have this name
    int index = -1;             ///< in the file
  };

  void add(KnownCommunicator const& known) {
    auto const [found, is_new] = m_known.try_emplace(known.name, Known{known.ranks});
    if (!is_new && *found->second.ranks != *known.ranks) found->second.is_ambiguous = true;
  }

  void add(TaskRecord const& task) {
    bool any_of_channels = false;
    AccessRecord const* collective = nullptr;
    for (AccessRecord const& access : task.accesses) {
      if (access.mode != to_string(Mode::read_write)) continue;
      if (auto const known = m_known.find(access.resource); known != m_known.end()) {
        any_of_channels = true;
        Channel channel;
        if (read_channel(access.area, channel))
          m_arguments[task.id]["messages"].push_back(message(access, known->second, channel));
      } else if (access.resource.ends_with(behind_collectives)) {
        collective = &access;
      }
    }
    // A task that accesses all of a communicator is one of the program that calls MPI itself.
    if (collective == nullptr || any_of_channels) return;
    std::string const name =
        collective->resource.substr(0, collective->resource.size() - behind_collectives.size());
    auto const known = m_known.find(name);
    if (known == m_known.end()) return;
    int const index = index_of(*collective, name, known->second);
    m_arguments[task.id]["collective"] = {{"communicator", index},
                                          {"number", m_collectives[index]++}};
  }

  Json message(AccessRecord const& access, Known& known, Channel const& channel) {
    auto const [direction, peer, tag] = channel;
    int const index = index_of(access, access.resource, known);
    bool const is_send = direction.begin == static_cast<int>(CommunicatorState::Direction::send);
    Json found{{"way", is_send ? "send" : "recv"}, {"communicator", index}};
    if (!peer.is_one())
      found["peer"] = "any";
    else if (peer.begin >= static_cast<std::int64_t>(known.ranks->size()))
      found["peer"] = "none";  // MPI_PROC_NULL, or an invalid one
    else
      found["peer"] = rank_of((*known.ranks)[static_cast<std::size_t>(peer.begin)]);
    found["tag"] = tag.is_one() ? Json(tag.begin) : Json("any");
    if (peer.is_one() && tag.is_one())
      found["number"] = m_numbers[{index, is_send, peer.begin, tag.begin}]++;
    return found;
  }

  /// Returns null for a rank that is not in the communicator of the trace.
  [[nodiscard]] Json rank_of(int world_rank) const {
    auto const found = m_rank_of.find(world_rank);
    return found != m_rank_of.end() ? Json(found->second) : Json();
  }

  int index_of(AccessRecord const& access, std::string const& name, Known& known) {
    if (known.index < 0) {
      known.index = static_cast<int>(m_communicators.size());
      Json ranks = Json::array();
      for (int const rank : *known.ranks) ranks.push_back(rank_of(rank));
      m_communicators.push_back({{"name", name}, {"ranks", std::move(ranks)}});
    }
    // Two resources with one label cannot be distinguished.
    if (known.is_ambiguous || access.label_is_shared)
      m_communicators[static_cast<std::size_t>(known.index)]["ambiguous"] = true;
    return known.index;
  }

  static constexpr std::string_view behind_collectives = " (collective)";
  std::unordered_map<int, int> m_rank_of;
  std::map<std::string, Known, std::less<>> m_known;
  std::map<std::tuple<int, bool, std::int64_t, std::int64_t>, std::uint64_t> m_numbers;
  std::map<int, std::uint64_t> m_collectives;
  std::unordered_map<TaskId, Json> m_arguments;
  Json m_communicators = Json::array();
};

// --- the file of a rank --------------------------------------------------------------------------

/// A communicator for this call alone.
class OwnComm {
 public:
  explicit OwnComm(MPI_Comm from) {
    require_success(MPI_Comm_dup(from, &m_comm), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(m_comm, MPI_ERRORS_RETURN);
    require_success(MPI_Comm_rank(m_comm, &m_rank), "MPI_Comm_rank");
    require_success(MPI_Comm_size(m_comm, &m_size), "MPI_Comm_size");
  }
  OwnComm(OwnComm const&) = delete;
  OwnComm& operator=(OwnComm const&) = delete;
  ~OwnComm() { MPI_Comm_free(&m_comm); }
  [[nodiscard]] MPI_Comm comm() const { return m_comm; }
  [[nodiscard]] int rank() const { return m_rank; }
  [[nodiscard]] int size() const { return m_size; }

  [[nodiscard]] std::int64_t smallest(std::int64_t of) const {
    require_success(MPI_Allreduce(MPI_IN_PLACE, &of, 1, MPI_INT64_T, MPI_MIN, m_comm),
                    "MPI_Allreduce");
    return of;
  }
  /// Calls `f` on every rank; when it throws on one of them, this throws on all.
  template <class F>
  void together(F&& f) const {
    std::exception_ptr failure;
    try {
      f();
    } catch (...) {
      failure = std::current_exception();
    }
    std::int64_t const first = smallest(failure != nullptr ? m_rank : m_size);
    if (failure != nullptr) std::rethrow_exception(failure);
    if (first < m_size)
      throw Error(Error::Kind::bad_input, "Trellis: the trace of rank " + std::to_string(first) +
                                              " could not be written; that rank says why");
  }

 private:
  MPI_Comm m_comm = MPI_COMM_NULL;
  int m_rank = 0;
  int m_size = 0;
};

/// Returns an id that the files of one call share and those of other calls do not.
std::string run_id(OwnComm const& with) {
  std::uint64_t id = 0;
  if (with.rank() == 0) {
    std::random_device random;
    id = (std::uint64_t{random()} << 32) | random();
  }
  require_success(MPI_Bcast(&id, 1, MPI_UINT64_T, 0, with.comm()), "MPI_Bcast");
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(id));
  return text;
}

}  // namespace

void write_traces(mpi::Communicator const& comm, FunctionRef<Trace()> make_trace,
                  std::string const& path, std::int64_t (*now)()) {
  MPI_Comm const given = require_state(comm).comm();
  MpiLock const within_mpi;
  OwnComm const with(given);
  std::string const name = path + "." + std::to_string(with.rank()) + ".json";
  Trace trace;
  with.together([&] { trace = make_trace(); });  // before the files of an earlier run are lost
  std::ofstream file;
  with.together([&] {
    file.open(name, std::ios::binary);
    if (!file)
      throw Error(Error::Kind::bad_input,
                  "Trellis: cannot write the trace \"" + name + "\"; its folder must be there");
  });
  ClockOffset const clock = measure_clock(with.comm(), now != nullptr ? now : &steady_now);
  std::int64_t const origin = nanoseconds(trace.origin) + clock.offset_ns;
  std::int64_t const zero = with.smallest(origin);
  std::string const run = run_id(with);
  with.together([&] {
    TracedMessages const messages(trace, world_ranks(with.comm()));
    ChromeTraceOptions options;
    options.process = with.rank();
    options.process_name = "rank " + std::to_string(with.rank());
    options.shift = std::chrono::nanoseconds(origin - zero);
    options.clock = "time since the first graph of all ranks was made, by the clock of rank 0";
    options.other_data = TracedMessages::dump({{"rank", with.rank()},
                                               {"size", with.size()},
                                               {"run", run},
                                               {"clock_offset_ns", clock.offset_ns},
                                               {"clock_uncertainty_ns", clock.uncertainty_ns},
                                               {"communicators", messages.communicators()}});
    options.arguments = [&](TaskRecord const& task) { return messages.arguments(task); };
    trace.write_chrome_json(file, options);
    file.close();
    if (!file)
      throw Error(Error::Kind::bad_input,
                  "Trellis: cannot write all of the trace \"" + name + "\"");
  });
}

}  // namespace trellis::Impl
