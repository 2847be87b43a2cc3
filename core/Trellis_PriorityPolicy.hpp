// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_PRIORITYPOLICY_HPP
#define TRELLIS_PRIORITYPOLICY_HPP

#include <Trellis_Graph.hpp>
#include <Trellis_SchedulingPolicy.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

/// With this header you have the tasks run first that the most is waiting for.
namespace trellis::experimental {

/// How urgent a task is beside others of its priority: those of the larger rank go first, and of
/// one rank those with more consumers.
struct Urgency {
  std::int64_t rank = 0;  ///< of the longest path from the task's begin to the end, in nanoseconds
  std::uint32_t consumers = 0;  ///< tasks that wait for it directly
  friend bool operator==(Urgency const&, Urgency const&) = default;
};

/// One queue, the most urgent task first: by priority, then by `Urgency`, then first in, first out.
/// Whoever finishes a task goes on with the most urgent one. Exclusive tasks have their turns in
/// the same order.
///
/// The order of tasks of a plan, and of passes of `iterate` that are alike, is known before they
/// run. So at first a task's rank is its number of hops, edges on the longest path behind it, each
/// as long as a task is on average. From the second pass on the rank is measured: the task's own
/// time and the largest rank behind it, where times are moving averages, without recording. Any
/// other task has the urgency that was set for its label, or none.
class PriorityPolicy : public SchedulingPolicy {
 public:
  /// From now on tasks of this label that are in no plan or pass are that urgent when they become
  /// ready. For any thread, at any time.
  virtual void set_urgency(std::string_view label, Urgency urgency) = 0;
  /// The same for all labels of a graph, from its longest paths by what its tasks took: e.g. of an
  /// earlier run that was recorded. Of several tasks with one label the mean counts. Throws `Error`
  /// as `ranks` does.
  virtual void learn(Graph const& graph) = 0;

  /// What is known, e.g. for tests; nothing where nothing is.
  [[nodiscard]] virtual std::optional<Urgency> urgency(std::string_view label) const = 0;
  /// Of the tasks of a plan or pass, in order of submission; empty for one that is not known.
  [[nodiscard]] virtual std::vector<Urgency> urgency_of_plan(std::uint64_t number) const = 0;
  /// Their numbers, oldest first. Beyond 64 the one used longest ago is forgotten.
  [[nodiscard]] virtual std::vector<std::uint64_t> plans() const = 0;
};

/// How a `PriorityPolicy` ranks tasks.
struct PriorityOptions {
  /// Measure. Else ranks stay hops, and no clock is read.
  bool measures = true;
};
/// One queue, the most urgent task first.
[[nodiscard]] std::shared_ptr<PriorityPolicy> make_priority_policy(
    PriorityOptions const& options = {});

}  // namespace trellis::experimental

#endif
