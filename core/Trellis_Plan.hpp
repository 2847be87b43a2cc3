// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_PLAN_HPP
#define TRELLIS_PLAN_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

/// With this header you keep a piece of a graph that runs again and again, so that its dependencies
/// are derived only once.
namespace trellis {

namespace Impl {
struct GraphInternals;
struct PlanState;
}  // namespace Impl

/// What `TaskGraph::iterate` has done with its iterations.
struct IterateReport {
  std::uint64_t recorded = 0;  ///< iterations that were remembered
  std::uint64_t replayed = 0;  ///< iterations that were like a remembered one
  std::uint64_t dynamic = 0;   ///< iterations that were submitted task by task
};

/// Tasks recorded by `TaskGraph::record`, for `TaskGraph::replay`. Copies share the tasks. A plan
/// lives as long as a copy, a replay under way, or a plan that replays it. When its graph ends, its
/// functors are destroyed and it releases all Views; only its name and its numbers remain.
///
/// A recorded task keeps its functor, including the Views that the functor captured, and runs it
/// once in each round.
class Plan {
 public:
  Plan() = default;

  /// False when default constructed.
  [[nodiscard]] bool valid() const { return m_state != nullptr; }
  [[nodiscard]] std::string name() const;
  /// Number of tasks in a round.
  [[nodiscard]] std::size_t tasks() const;
  /// Number of edges within a round.
  [[nodiscard]] std::size_t edges() const;
  /// Number of edges from a round to the next. Rounds overlap as far as these allow.
  [[nodiscard]] std::size_t edges_between_rounds() const;
  /// Number of accesses of the plan as a whole: the union of what its tasks access.
  [[nodiscard]] std::size_t accesses() const;

 private:
  friend struct Impl::GraphInternals;
  explicit Plan(std::shared_ptr<Impl::PlanState> state) : m_state(std::move(state)) {}
  std::shared_ptr<Impl::PlanState> m_state;
};

}  // namespace trellis

#endif
