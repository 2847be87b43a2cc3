// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Statistics.hpp>
#include <base/Trellis_Reserve.hpp>
#include <trace/Trellis_GraphTools.hpp>
#include <trace/Trellis_TaskCounters.hpp>

#include <array>
#include <atomic>
#include <mutex>

namespace trellis::Impl {

namespace {

std::atomic<int> s_rank{-1};

}  // namespace

/// INVARIANT. The state of a task in flight is in the piece of its id, and the numbers of tasks in
/// each state change with it, under the lock of the piece. So a thread that adds up all pieces, one
/// after the other, counts each task at most once, and exactly once when nothing changes.
struct TaskCounters::State {
  struct alignas(64) Piece {
    std::mutex mutex;
    struct Known {
      TaskState state;
      bool is_fork_join_child;
    };
    HashMap<TaskId, Known> tasks;
    std::array<std::uint64_t, 3> count{};  ///< pending, ready, running
    std::uint64_t spawned = 0;
    std::uint64_t completed = 0;
    std::int64_t fork_join_children = 0;
  };

  mutable std::array<Piece, 16> pieces;
  std::atomic<std::uint64_t> fusable{0};
  std::atomic<std::uint64_t> batches{0};
  std::atomic<std::uint64_t> batched{0};
  std::atomic<std::int64_t> held{0};

  std::mutex mutex;
  std::int64_t fork_joins = 0;  ///< guarded by the mutex

  [[nodiscard]] std::int64_t fork_join_children() {
    std::int64_t all = 0;
    for (Piece& piece : pieces) {
      std::lock_guard const lock(piece.mutex);
      all += piece.fork_join_children;
    }
    return all;
  }
  [[nodiscard]] GraphStatistics now() {
    GraphStatistics all;
    for (Piece& piece : pieces) {
      std::lock_guard const lock(piece.mutex);
      all.spawned += piece.spawned;
      all.completed += piece.completed;
      all.pending += piece.count[0];
      all.ready += piece.count[1];
      all.running += piece.count[2];
      all.fork_join_children += piece.fork_join_children;
    }
    all.spawned_fusable = fusable.load(std::memory_order_relaxed);
    all.batches = batches.load(std::memory_order_relaxed);
    all.batched = batched.load(std::memory_order_relaxed);
    all.held = held.load(std::memory_order_relaxed);
    std::lock_guard const lock(mutex);
    all.fork_joins = fork_joins;
    return all;
  }
};

TaskCounters::TaskCounters(std::string const* file, std::string const& graph) {
  if (file == nullptr) return;
  m_state = std::make_unique<State>();
  if (!file->empty()) m_file = graph_tools()->make_statistics_file(*file, graph, *this);
}

TaskCounters::~TaskCounters() = default;

void TaskCounters::note_state(TaskId task, TaskState state,
                              FunctionRef<bool()> is_fork_join_child) {
  State::Piece& piece = m_state->pieces[task % m_state->pieces.size()];
  auto const place = [](TaskState of) { return static_cast<std::size_t>(of); };
  static_assert(static_cast<int>(TaskState::pending) == 0 &&
                static_cast<int>(TaskState::running) == 2);
  bool const is_over = place(state) > place(TaskState::running);
  std::lock_guard const lock(piece.mutex);
  auto const [known, is_new] = piece.tasks.try_emplace(task, State::Piece::Known{state, false});
  if (is_new) {
    ++piece.spawned;
    known->second.is_fork_join_child = is_fork_join_child();
    piece.fork_join_children += known->second.is_fork_join_child ? 1 : 0;
  } else {
    --piece.count[place(known->second.state)];
  }
  if (is_over) {
    ++piece.completed;
    piece.fork_join_children -= known->second.is_fork_join_child ? 1 : 0;
    piece.tasks.erase(known);
  } else {
    ++piece.count[place(state)];
    known->second.state = state;
  }
}

void TaskCounters::note_fusable() {
  m_state->fusable.fetch_add(1, std::memory_order_relaxed);
}
void TaskCounters::note_held(std::int64_t by) {
  m_state->held.fetch_add(by, std::memory_order_relaxed);
}
void TaskCounters::note_batch(std::size_t tasks) {
  m_state->batched.fetch_add(tasks, std::memory_order_relaxed);
  m_state->batches.fetch_add(1, std::memory_order_relaxed);
}

void TaskCounters::note_fork_join(int by) {
  std::int64_t const children = m_file == nullptr ? 0 : m_state->fork_join_children();
  std::lock_guard const lock(m_state->mutex);
  m_state->fork_joins += by;
  if (m_file != nullptr) m_file->fork_joins(m_state->fork_joins, children);
}

GraphStatistics TaskCounters::now() const {
  return m_state->now();
}

void TaskCounters::set_rank(int rank) {
  s_rank.store(rank, std::memory_order_relaxed);
}
int TaskCounters::rank() {
  return s_rank.load(std::memory_order_relaxed);
}

}  // namespace trellis::Impl
