// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_SchedulingPolicy.hpp>
#include <recorded/Trellis_Iteration.hpp>
#include <recorded/Trellis_PlanState.hpp>
#include <scope/Trellis_Scope.hpp>
#include <task/Trellis_Task.hpp>

namespace trellis {

std::uint64_t ReadyTask::id() const {
  return m_task->public_id();
}
std::string_view ReadyTask::label() const {
  return m_task->label.view();
}
int ReadyTask::priority() const {
  return m_task->priority;
}
std::optional<PlannedPlace> ReadyTask::place() const {
  if (m_task->is_recorded()) {
    Impl::PlanState const& plan = *m_task->node->plan;
    if (m_task->node->index >= plan.tasks.size()) return std::nullopt;  // a piece, see PlanPiece
    return PlannedPlace{plan.recorded->number(), m_task->node->index};
  }
  if (m_task->scope_kind == Impl::ScopeKind::children) {
    Impl::Scope const& scope = *m_task->scope;
    if (scope.is_planned && scope.plan_number != 0)
      return PlannedPlace{scope.plan_number,
                          Impl::Iteration::place_of(Impl::Provisional::of(*m_task))};
  }
  Impl::AnyTag const* const of_model = m_task->tag(typeid(PlannedPlace));
  if (of_model == nullptr) return std::nullopt;
  return static_cast<Impl::TagOf<PlannedPlace> const*>(of_model)->value;
}
Impl::AnyTag const* ReadyTask::find_tag(std::type_index type) const {
  return m_task->tag(type);
}

}  // namespace trellis
