// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <recorded/Trellis_Iteration.hpp>

#include <algorithm>
#include <utility>

/// Finds the remembered iteration of a loop that a new one is like.
namespace trellis::Impl {

void IterationMemory::begin() {
  m_position = 0;
  for (Known& each : m_known) each.is_like = each.plan != nullptr;
}

bool IterationMemory::next(TaskSpec const& spec) {
  bool any = false;
  for (Known& each : m_known) {
    each.is_like = each.is_like && each.plan->is_same(m_position, spec);
    any = any || each.is_like;
  }
  ++m_position;
  return any;
}

std::shared_ptr<RecordedGraph> IterationMemory::end() {
  for (Known& each : m_known)
    if (each.is_like && each.plan->size() == m_position) {
      each.used = ++m_uses;
      return each.plan;
    }
  return nullptr;
}

void IterationMemory::add(std::shared_ptr<RecordedGraph> plan) {
  Known& oldest = *std::min_element(m_known.begin(), m_known.end(),
                                    [](Known const& a, Known const& b) { return a.used < b.used; });
  oldest = {std::move(plan), ++m_uses, false};
}

}  // namespace trellis::Impl
