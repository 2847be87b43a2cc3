// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_ORDERTEST_HPP
#define TRELLIS_TEST_ORDERTEST_HPP

#include "BareTask.hpp"

#include <Trellis_SchedulingPolicy.hpp>

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

/// Tasks that others demote, and policies that add edges.
namespace trellis::Bare {

template <class T>
bool demote_other(TaskGraph& graph, Future<T> const& future, std::vector<Touch> const& to) {
  return Impl::GraphInternals::demote_other(graph, Impl::FutureInternals::handle(future),
                                            requests_of(to));
}
template <class T>
bool release_other(TaskGraph& graph, Future<T> const& future, std::vector<Place> const& what) {
  std::vector<Touch> touches;
  for (Place const& place : what) touches.push_back(nothing(place));
  return Impl::GraphInternals::release_other(graph, Impl::FutureInternals::handle(future),
                                             requests_of(touches));
}
inline void shrink_to_children() {
  Impl::GraphInternals::shrink_to_children(self());
}

/// Calls a function for each task that is submitted.
class Seeing : public ForwardingPolicy {
 public:
  using Seen = std::function<void(SubmittedTask, SchedulingEdges&)>;
  explicit Seeing(Seen seen, std::shared_ptr<SchedulingPolicy> to = make_work_stealing_policy())
      : ForwardingPolicy(std::move(to)), m_seen(std::move(seen)) {}
  bool sees_submissions() const override { return true; }
  void submitted(SubmittedTask task, SchedulingEdges& edges) override { m_seen(task, edges); }

 private:
  Seen const m_seen;
};

}  // namespace trellis::Bare

#endif
