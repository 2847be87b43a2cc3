// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKNUMBERS_HPP
#define TRELLIS_TASKNUMBERS_HPP

#include <Trellis_TaskNumber.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

/// With this header tasks get numbers by which other tasks may name them. The numbers may come from
/// a table, a mesh, or a set that was made before the tasks, and no futures have to be kept.
namespace trellis {

class TaskGraph;

namespace Impl {
class NumberTable;
}

/// Where the numbers of a graph's tasks come from.
///
///     trellis::TaskNumbers numbers(graph);
///     trellis::TaskNumber const first = numbers.reserve(n);
///     for (std::size_t k = 0; k != n; ++k)
///       trellis::host_task("a", trellis::ResourcePolicy(graph, trellis::number(first + k)), f);
///     trellis::host_task("b", trellis::ResourcePolicy(graph, trellis::after(first)), g);
///     graph.wait(first + 2);
///
/// A number may be named as soon as a task has it, which is before that task can start. Before
/// that, naming it is an `Error`. Each number is for one task. When that task is complete, its
/// number may still be named, and there is nothing to wait for. If the task has failed or was
/// cancelled, it still cancels the tasks that name it, until `graph.wait()` has reported the
/// failure.
///
/// A number is kept while its task is in flight or belongs to a plan. Where the graph records or
/// warns, it is kept as long as the TaskNumbers exist. Reserved numbers without a task cost only
/// one note for each gap between tasks that have been spawned.
///
/// Copies share the numbers, so tasks may capture one. All functions may be called from any thread.
/// When the last copy is gone, the numbers must not be named any more; their tasks continue. It may
/// outlive its graph.
class TaskNumbers {
 public:
  /// Throws `Error` when the graph is closed.
  explicit TaskNumbers(TaskGraph const& graph);
  // (A moved-from object shares the numbers, too.)
  TaskNumbers(TaskNumbers const&) = default;
  TaskNumbers& operator=(TaskNumbers const&) = default;
  ~TaskNumbers() = default;

  /// Returns the first of `count` numbers in a row that no other call gets; they are larger than
  /// all before. Throws `Error` when there are no more.
  [[nodiscard]] TaskNumber reserve(std::uint64_t count = 1) const;
  /// The number with this value. A use of it checks whether it may be used.
  [[nodiscard]] TaskNumber at(std::uint64_t value) const;
  /// How many numbers have been reserved so far.
  [[nodiscard]] std::uint64_t reserved() const;
  /// Bytes held for numbers; follows the largest number of tasks in flight that have one.
  [[nodiscard]] std::size_t memory() const;

 private:
  std::shared_ptr<Impl::NumberTable> m_table;
};

}  // namespace trellis

#endif
