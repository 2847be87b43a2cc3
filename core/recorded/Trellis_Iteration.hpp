// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ITERATION_HPP
#define TRELLIS_IMPL_ITERATION_HPP

#include <task/Trellis_Provisional.hpp>
#include <recorded/Trellis_RecordedGraph.hpp>
#include <task/Trellis_TaskSpec.hpp>
#include <task/Trellis_Task.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace trellis::Impl {

class PlanGraphs;

/// The different iterations that a loop remembers, and those that a new one is like so far.
class IterationMemory {
 public:
  static constexpr std::size_t most = 8;

  /// Begins a new iteration.
  void begin();
  /// Compares the next task of the iteration. False: no plan goes on with it.
  [[nodiscard]] bool next(TaskSpec const& spec);
  /// Ends the iteration. Returns the plan that it is like, or null.
  [[nodiscard]] std::shared_ptr<RecordedGraph> end();
  /// Calls `f` for each plan that the iteration has been like so far.
  template <class F>
  void for_each_like(F&& f) const {
    for (Known const& each : m_known)
      if (each.is_like) f(*each.plan);
  }
  /// Remembers the plan of an iteration that was none of these, in the place of the one used
  /// longest ago.
  void add(std::shared_ptr<RecordedGraph> plan);

 private:
  struct Known {
    std::shared_ptr<RecordedGraph> plan;
    std::uint64_t used = 0;
    bool is_like = false;  ///< the iteration has been like it so far
  };
  std::array<Known, most> m_known;
  std::size_t m_position = 0;  ///< number of tasks that have been compared
  std::uint64_t m_uses = 0;
};

/// An iteration of `iterate`, whose tasks are collected until its body is over.
///
/// A collected task exists, with its functor and its properties, and the user has a handle of it.
/// It is not submitted: it has no id and no edges, and only its iteration knows it. At the end of
/// the body all of them are submitted as children of one task, the parent. Their edges are those of
/// the plan.
///
/// ON DEMAND. When a thread uses the handle of a collected task (`Iterations::resolve`), or waits
/// for all tasks, the iteration is submitted at once. The collected tasks become ordinary tasks, in
/// order, and the body submits ordinary tasks from there on. So no thread ever waits for the body.
///
/// HANDLES of collected tasks are provisional (see Provisional). A provisional id encodes the
/// iteration and the task's place in it.
///
/// The graph's lock guards all but the comparison with plans.
class Iteration {
 public:
  static constexpr unsigned place_bits = 24;
  static constexpr std::size_t most_tasks = std::size_t{1} << place_bits;

  [[nodiscard]] TaskId provisional_id(std::size_t place) const {
    return Provisional::bit | m_number << place_bits | place;
  }
  /// Returns the place of the task that has this provisional id.
  [[nodiscard]] static std::uint32_t place_of(TaskId id) {
    return static_cast<std::uint32_t>(id & (most_tasks - 1));
  }
  [[nodiscard]] bool gave_out(TaskId id) const {
    return id >> place_bits == provisional_id(0) >> place_bits;
  }

  /// `number`: different for each iteration of the graph.
  void begin(std::uint64_t number) {
    m_number = number % (TaskId{1} << (62 - place_bits));
    collects = true;
    tasks.clear();
    plan = nullptr;
    recorded = nullptr;
  }

  /// False: the iteration has been submitted, and later tasks are submitted as they come. It
  /// remains false.
  std::atomic<bool> collects{false};
  std::vector<Task*> tasks;       ///< collected so far
  RecordedGraph* plan = nullptr;  ///< the plan that begins with these
  /// That plan, if it is made from this iteration.
  std::shared_ptr<RecordedGraph> recorded;
  [[nodiscard]] std::uint64_t number() const { return m_number; }

 private:
  std::uint64_t m_number = 0;
};

/// The body of the parent.
struct WholeIteration {
  std::shared_ptr<RecordedGraph> plan;  ///< what the children's accesses refer to
  PlanGraphs* graphs;
  std::vector<Task*> children;  ///< when they are launched as a graph
};

}  // namespace trellis::Impl

#endif
