// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Plan.hpp>
#include <recorded/Trellis_PlanState.hpp>

namespace trellis {

std::string Plan::name() const {
  return valid() ? m_state->label.string() : std::string();
}
std::size_t Plan::tasks() const {
  return valid() ? m_state->task_count : 0;
}
std::size_t Plan::edges() const {
  return valid() ? m_state->edges_within_round : 0;
}
std::size_t Plan::edges_between_rounds() const {
  return valid() ? m_state->edges_between_rounds : 0;
}
std::size_t Plan::accesses() const {
  return valid() ? m_state->access_count : 0;
}

}  // namespace trellis
