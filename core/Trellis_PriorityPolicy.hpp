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

/// With this header you run the tasks first that the longest chains of other tasks wait for.
namespace trellis::experimental {

/// How urgent a task is among others of its priority. Tasks of larger rank go first; among tasks of
/// one rank, those with more consumers.
struct Urgency {
  std::int64_t rank = 0;  ///< of the longest path from the task's start to the end, in nanoseconds
  std::uint32_t consumers = 0;  ///< tasks that wait for it directly
  friend bool operator==(Urgency const&, Urgency const&) = default;
};

/// One queue, the most urgent task first: by priority, then by `Urgency`, then first in, first out.
/// A thread that finishes a task continues with the most urgent one. Exclusive tasks take turns in
/// the same order.
///
/// The order of tasks of a plan, and of iterations of `iterate` that are alike, is known before
/// they run. At first a task's rank is its number of hops: edges on the longest path behind it,
/// each as long as an average task. From the second iteration on the rank is measured, without
/// recording. It is the task's own time plus the largest rank behind it; times are moving averages.
/// Any other task has the urgency that was set for its label, or none.
class PriorityPolicy : public SchedulingPolicy {
 public:
  /// From now on tasks of this label that are in no plan or iteration have this urgency when they
  /// become ready. Any thread may call it at any time.
  virtual void set_urgency(std::string_view label, Urgency urgency) = 0;
  /// Sets the urgency of all labels of a graph, e.g. of an earlier run that was recorded. It is
  /// taken from the longest paths by the times that the tasks took. If several tasks share a label,
  /// their mean counts. Throws `Error` as `ranks` does. Needs Trellis::tools.
  void learn(Graph const& graph);

  /// Returns what is known of a label, e.g. for tests; nothing if it is unknown.
  [[nodiscard]] virtual std::optional<Urgency> urgency(std::string_view label) const = 0;
  /// Returns the urgency of the tasks of a plan or iteration, in order of submission; empty for an
  /// unknown one.
  [[nodiscard]] virtual std::vector<Urgency> urgency_of_plan(std::uint64_t number) const = 0;
  /// Returns the numbers of the known plans, oldest first. Beyond 64 the least recently used one is
  /// forgotten.
  [[nodiscard]] virtual std::vector<std::uint64_t> plans() const = 0;
};

/// How a `PriorityPolicy` ranks tasks.
struct PriorityOptions {
  /// True: measure. False: ranks remain hops, and no clock is read.
  bool measures = true;
};
/// Makes a PriorityPolicy.
[[nodiscard]] std::shared_ptr<PriorityPolicy> make_priority_policy(
    PriorityOptions const& options = {});

}  // namespace trellis::experimental

#endif
