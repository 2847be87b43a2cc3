// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_RECORDER_HPP
#define TRELLIS_IMPL_RECORDER_HPP

#include <Trellis_Graph.hpp>
#include <Trellis_Label.hpp>
#include <task/Trellis_ViewShape.hpp>
#include <task/Trellis_Task.hpp>
#include <base/Trellis_Relaxed.hpp>
#include <base/Trellis_SpinLock.hpp>
#include <base/Trellis_Chunks.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trellis::Impl {

class Resource;

/// Keeps what a graph that records has done. Everything is kept, so memory grows with the number of
/// tasks. A graph that does not record has no recorder. Several threads may use it.
///
/// While tasks run, it keeps numbers and addresses; they become text when the record is read. The
/// text of an area is made once.
///
/// MEMORY. A task always needs a node, so memory for it is there before its submission has any
/// effect (`require_room`). Other data that finds no memory is left out, and `is_complete` is false
/// from then on. The graph does not depend on that data, and much of it is noted where a call can
/// no longer fail.
///
/// CONCURRENCY. The states of a task, and their times, are noted without a lock, by one thread
/// after the other. A thread that changes a task happens after the one that changed it before, and
/// so after the task's node was made. A thread that reads the record meanwhile sees the times that
/// belong to the state that it sees, as the state is written last and read first, and perhaps newer
/// times. Locks guard the rest.
class Recorder {
 public:
  [[nodiscard]] std::uint64_t now_ns() const {
    using namespace std::chrono;
    return static_cast<std::uint64_t>(
        duration_cast<nanoseconds>(steady_clock::now() - m_start).count());
  }

  [[nodiscard]] std::chrono::steady_clock::time_point start() const { return m_start; }

  /// Called before so many tasks are submitted, under the graph's lock, which is held until they
  /// are. Throws `std::bad_alloc`.
  void require_room(std::uint64_t tasks) {
    std::lock_guard const lock(m_lock);
    m_nodes.require_room(static_cast<std::size_t>(tasks));
  }
  /// False: some data has found no memory, and is missing.
  [[nodiscard]] bool is_complete() const { return m_is_complete; }
  /// Calls `f`, which notes something, and catches its `std::bad_alloc`.
  template <class F>
  void note(F&& f) noexcept try {
    f();
  } catch (std::bad_alloc const&) {
    m_is_complete = false;
  }

  /// Notes a task that is being submitted, and whose accesses are known.
  void submitted(Task const& task);
  void edge(TaskId from, TaskId to, EdgeReason reason, bool released = false);
  /// Notes that the present edges by access between the two tasks no longer count.
  void release(TaskId from, TaskId to);
  void demoted(Task const& task);
  /// Notes that a pending task is refined: its body will not run, and its `pattern` says so.
  void refined(Task const& task);
  /// Notes that the body of a task with children is over.
  void returned(Task const& task);
  /// Notes that the task's thread has slept in its body, waiting for another task.
  void slept(Task const& task, std::chrono::nanoseconds time);
  void completes_later(Task const& task);
  /// Notes that these tasks are about to run as one.
  void batch(std::span<Task* const> tasks);
  /// Notes that the task is ready, or running on this row.
  void changed(Task const& task, TaskState state, int row = -1);
  /// Notes that the task is over: done, failed or cancelled. `row`: the slot that ran it, -1: none.
  void finished(Task const& task, TaskState state, int row);

  /// Notes when a task that is about to be finished really ran, by the device's clock. That clock
  /// agrees with the host's to a few microseconds, or is a different one.
  void ran_on_device(TaskId id, std::uint64_t started_ns, std::uint64_t finished_ns);

  [[nodiscard]] std::vector<TaskRecord> nodes() const;
  /// Returns the edges, sorted and without repetitions.
  [[nodiscard]] std::vector<EdgeRecord> edges(bool dependencies_only) const;

 private:
  /// The data that accesses of one area have in common. The resource may change: it gets another
  /// label or shape, or grows.
  struct Place {
    std::string resource;
    std::uintptr_t begin = 0;  ///< of the resource, as `end`
    std::uintptr_t end = 0;
    ViewShape shape;
    std::string area;
    std::uint32_t identity = 0;  ///< index into m_identities
  };
  /// A resource, in whichever scope's table it is, and however large it was when it was found.
  struct Identity {
    std::string label;
    std::uint32_t same_as;  ///< itself, or one that it was merged into
  };
  struct Range {
    std::uintptr_t end;
    std::uint32_t identity;
  };
  struct Access {
    std::uint32_t place = 0;
    Mode mode = Mode::none;
    std::uint32_t state = no_state;  ///< index of a text instead of the mode
    static constexpr std::uint32_t no_state = ~std::uint32_t{0};
  };
  struct Node {
    TaskId id = 0;
    TaskId parent = 0;
    Label label;
    std::string_view pattern;
    std::string_view space;
    std::size_t first_access = 0;
    std::uint32_t access_count = 0;
    std::int32_t priority = 0;
    std::int32_t threads = 0;
    std::int32_t workers = 1;
    std::uint64_t submitted_ns = 0;
    std::uint64_t returned_ns = 0;
    std::uint64_t waited_ns = 0;
    std::uint32_t batch = 0;
    bool main_thread = false;
    bool synchronizing = false;
    bool completes_later = false;
    // These are written without the lock. They have a cache line of their own, as another core
    // writes the members above.
    alignas(64) Relaxed<std::uint64_t> ready_ns = 0;
    Relaxed<std::uint64_t> started_ns = 0;
    Relaxed<std::uint64_t> finished_ns = 0;
    Relaxed<std::int32_t> row = -1;
    std::atomic<TaskState> state{TaskState::pending};
  };
  struct Demotion {
    std::uint64_t time_ns;
    std::size_t first_access;
    std::uint32_t access_count;
  };

  /// Returns the texts of the task's states. They come from user code, so no lock is held.
  [[nodiscard]] static std::vector<std::string> states_of(Task const& task);
  [[nodiscard]] Node& node(TaskId id) { return m_nodes[static_cast<std::size_t>(id - 1)]; }
  // These require the lock.
  void add_accesses(Task const& task, std::vector<std::string>&& states);
  [[nodiscard]] std::uint32_t place_of(AreaEntry& entry);
  [[nodiscard]] std::uint32_t identify(Resource const& resource);
  [[nodiscard]] std::uint32_t root_of(std::uint32_t identity) const;
  struct Numbers {
    std::vector<std::uint64_t> number;  ///< of each identity
    std::vector<bool> is_shared;        ///< its label
  };
  [[nodiscard]] Numbers number_resources() const;
  [[nodiscard]] std::vector<AccessRecord> records_of(Numbers const& numbers, std::size_t first,
                                                     std::size_t count) const;

  Relaxed<bool> m_is_complete = true;
  std::chrono::steady_clock::time_point const m_start = std::chrono::steady_clock::now();
  mutable SpinLock m_lock;
  Chunks<Node> m_nodes;  ///< task `id` at position `id - 1`
  std::uint32_t m_batches = 0;
  Chunks<Access> m_accesses;
  Chunks<Place> m_places;
  Chunks<std::string> m_states;
  std::vector<Identity> m_identities;
  std::map<std::uintptr_t, Range> m_ranges;  ///< by begin; disjoint
  std::map<TaskId, std::vector<Demotion>> m_demotions;
  mutable SpinLock m_edges_lock;
  Chunks<EdgeRecord> m_edges;
  struct Release {
    TaskId from;
    TaskId to;
    std::size_t edges;  ///< the number of edges then; later ones count again
  };
  std::vector<Release> m_releases;
};

}  // namespace trellis::Impl

#endif
