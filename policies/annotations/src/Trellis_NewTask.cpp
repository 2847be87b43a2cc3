// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <annotations/Trellis_TaskScope.hpp>
#include <graph/Trellis_GraphInternals.hpp>
#include <annotations/impl/Trellis_NewTask.hpp>
#include <task/Trellis_NumberClaim.hpp>
#include <task/Trellis_NumberedTasks.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

namespace trellis::Impl {

void Requests::reserve(std::size_t accesses) {
  if (accesses <= m_room) return;
  accesses = std::max(accesses, 2 * m_room);  // ranges of ranges ask for a few more many times
  auto* const larger =
      static_cast<AccessRequest*>(::operator new(accesses * sizeof(AccessRequest)));
  std::uninitialized_copy(begin(), end(), larger);
  if (m_has_grown) free();
  m_first = larger;
  m_room = accesses;
  m_has_grown = true;
}

void Requests::free() noexcept {
  ::operator delete(m_first);
}

NewTask::~NewTask() = default;

TaskHandle graph_of(Target const& target) {
  if (TaskScope* const scope = target.scope()) return ScopeInternals::handle(*scope);
  if (TaskGraph* const graph = target.graph()) return GraphInternals::handle(*graph);
  return target.other();
}

namespace {

AskedThreads asked_by(threads const& given) {
  return {given.count, given.is_most};
}

}  // namespace

int threads_of(Target const& target) {
  if (TaskGraph* const graph = target.graph()) return graph->threads_per_worker();
  return GraphInternals::threads_per_worker(graph_of(target));
}
int threads_of(Target const& target, threads const& asked) {
  return GraphInternals::threads_of(graph_of(target), asked_by(asked));
}

void NewTask::take_numbers(std::span<TaskNumber const> numbers) {
  m_names_numbers = true;
  if (m_target.collector() != nullptr) return;  // `send` refuses it
  for_each_task_of(numbers, graph_of(m_target), spec.label,
                   [&](TaskHandle const& before) { m_before.push_back(before); });
}

TaskHandle NewTask::send() {
  if (m_threads != nullptr)
    spec.space = GraphInternals::space_with(graph_of(m_target), spec.space, asked_by(*m_threads),
                                            spec.label);
  if (m_list != nullptr && m_requests.size() == 0) {
    spec.accesses = AccessListInternals::requests(*m_list);
  } else {
    if (m_list != nullptr) add_access(m_requests, *m_list);
    spec.accesses = {m_requests.begin(), m_requests.size()};
  }
  spec.tags = m_tags;
  spec.after = {m_before.begin(), m_before.size()};
  if (m_target.collector() != nullptr && (m_names_numbers || m_number != nullptr))
    refuse_numbers_in_model(spec.label);
  if (m_number == nullptr) return pass_on();
  NumberClaim claim(*m_number, graph_of(m_target), spec.label);
  spec.number = &claim;
  return pass_on();
}

TaskHandle NewTask::pass_on() {
  if (TaskCollector* const collector = m_target.collector())
    return collector->collect(std::move(spec), m_form.has_result, m_form.late);
  if (TaskScope* const scope = m_target.scope())
    return GraphInternals::submit_child(ScopeInternals::handle(*scope), std::move(spec));
  if (TaskGraph* const graph = m_target.graph())
    return GraphInternals::submit(*graph, std::move(spec));
  return GraphInternals::submit_beside(m_target.other(), std::move(spec));
}

}  // namespace trellis::Impl
