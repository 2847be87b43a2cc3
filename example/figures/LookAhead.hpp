// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_FIGURES_LOOKAHEAD_HPP
#define TRELLIS_EXAMPLE_FIGURES_LOOKAHEAD_HPP

#include <Trellis.hpp>
#include <Trellis_Scheduling.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace figures {

/// A scheduling policy that looks ahead: it hands out nothing before it has seen functor 4, and
/// then adds an edge from one functor to another. It leaves everything else to another policy.
class LookAhead : public trellis::ForwardingPolicy {
 public:
  LookAhead(std::shared_ptr<trellis::SchedulingPolicy> base, std::string first, std::string second)
      : ForwardingPolicy(std::move(base)), m_before(std::move(first)), m_after(std::move(second)) {}

  bool sees_submissions() const override { return true; }
  void submitted(trellis::SubmittedTask task, trellis::SchedulingEdges& edges) override {
    if (task.label() == m_before) m_first = task;
    if (task.label() == m_after) m_second = task;
    if (task.label() != "functor 4") return;
    edges.add(m_first, m_second);
    std::lock_guard const lock(m_mutex);
    m_has_seen_all = true;
    for (trellis::ReadyTask const ready : m_kept) ForwardingPolicy::push(ready, -1);
  }
  void push(trellis::ReadyTask task, int slot) override {
    std::lock_guard const lock(m_mutex);
    if (m_has_seen_all)
      ForwardingPolicy::push(task, slot);
    else
      m_kept.push_back(task);
  }

 private:
  std::string const m_before;
  std::string const m_after;
  trellis::SubmittedTask m_first;
  trellis::SubmittedTask m_second;
  std::mutex m_mutex;
  bool m_has_seen_all = false;
  std::vector<trellis::ReadyTask> m_kept;
};

}  // namespace figures

#endif
