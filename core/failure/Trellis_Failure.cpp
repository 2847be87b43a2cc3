// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <failure/Trellis_Failure.hpp>
#include <impl/Trellis_Result.hpp>

#include <algorithm>
#include <utility>

namespace trellis::Impl {

std::string copy_or_short(std::string const& text) try {
  return text;
} catch (std::bad_alloc const&) {
  return short_text;
}

FailurePtr of_child(FailurePtr const& failure) {
  auto own = make_shared_unlocked<Failure>();
  own->origin = failure->origin;
  own->origin_text = copy_or_short(failure->origin_text);
  own->what = copy_or_short(failure->what);
  own->cause = failure->cause;
  own->is_asked = failure->is_asked;
  own->of_child = failure;
  return own;
}

void FailureLog::note(TaskId task, std::string const& task_text, FailurePtr failure) {
  std::lock_guard const lock(m_mutex);
  if (failure->is_asked) {
    FailurePtr& first = m_unreported.asked;
    if (first == nullptr || failure->origin < first->origin) first = failure;
  } else if (failure->origin == task) {
    auto& origins = m_unreported.origins;
    ++m_unreported.origin_count;
    origins.insert(
        std::upper_bound(origins.begin(), origins.end(), failure,
                         [](auto const& a, auto const& b) { return a->origin < b->origin; }),
        failure);
    if (origins.size() > Report::max_origins) origins.pop_back();
  } else if (failure->of_child == nullptr) {
    ++m_unreported.cancelled_count;
  }
  insert(task, {std::move(failure), copy_or_short(task_text), m_reports, task, false});
}

void FailureLog::note_for_futures(TaskId task, TaskId shown_as, std::string const& task_text,
                                  FailurePtr failure) {
  std::lock_guard const lock(m_mutex);
  insert(task, {std::move(failure), copy_or_short(task_text), m_reports, shown_as, false});
}

void FailureLog::insert(TaskId task, Entry&& entry) {
  m_failures.insert_or_assign(task, std::move(entry));
  m_order.push_back(task);
  if (m_order.size() > capacity) {
    m_failures.erase(m_order.front());
    m_order.pop_front();
  }
  m_any.store(true, std::memory_order_release);
}

FailureLog::Entry FailureLog::find(TaskId task) const {
  if (!any()) return {};
  std::lock_guard const lock(m_mutex);
  auto const found = m_failures.find(task);
  return found == m_failures.end() ? Entry{} : found->second;
}

void FailureLog::set_known(TaskId task) {
  std::lock_guard const lock(m_mutex);
  auto const found = m_failures.find(task);
  if (found == m_failures.end()) return;
  found->second.is_known = true;
  if (auto const origin = m_failures.find(found->second.failure->origin);
      origin != m_failures.end())
    origin->second.is_known = true;
}

FailurePtr FailureLog::poisons(TaskId task, bool unless_known) const {
  if (!any()) return nullptr;
  std::lock_guard const lock(m_mutex);
  auto const found = m_failures.find(task);
  if (found == m_failures.end() || found->second.report != m_reports) return nullptr;
  if (unless_known && found->second.is_known) return nullptr;
  FailurePtr const& failure = found->second.failure;
  return failure->of_child != nullptr ? failure->of_child
                                      : failure;  // only the parent says how it happened
}

FailureLog::Report FailureLog::report() {
  if (!any()) return {};
  std::lock_guard const lock(m_mutex);
  ++m_reports;
  return std::exchange(m_unreported, {});
}

void FailureLog::Report::add(Report&& later) {
  origins.insert(origins.end(), later.origins.begin(), later.origins.end());
  origin_count += later.origin_count;
  cancelled_count += later.cancelled_count;
}

void FailureLog::clear() {
  if (!any()) return;
  std::lock_guard const lock(m_mutex);
  m_failures.clear();
  m_order.clear();
  m_unreported = {};
}

FailurePtr FailureLog::unreported() const {
  if (!any()) return nullptr;
  std::lock_guard const lock(m_mutex);
  FailurePtr const& asked = m_unreported.asked;
  if (m_unreported.origins.empty()) return asked;
  FailurePtr const& first = m_unreported.origins.front();
  return asked != nullptr && asked->origin < first->origin ? asked : first;
}

namespace {

Error make_error_of_asked(TaskId task, std::string const& task_text, Failure const& failure) {
  std::string const why = failure.origin_text + " was cancelled: " + failure.what;
  if (failure.of_child != nullptr)
    return {Error::Kind::cancelled, task_text + " was cancelled, because a child of it was: " + why,
            failure.cause};
  if (task == failure.origin) return {Error::Kind::cancelled, why, failure.cause};
  return {Error::Kind::cancelled, task_text + " was cancelled, because " + why, failure.cause};
}

}  // namespace

Error make_error(TaskId task, std::string const& task_text, Failure const& failure) {
  failure.observed.store(true, std::memory_order_relaxed);
  if (failure.is_asked) return make_error_of_asked(task, task_text, failure);
  if (failure.of_child != nullptr) {
    failure.of_child->observed.store(true, std::memory_order_relaxed);
    return {Error::Kind::task_failed,
            task_text + " failed, because a child of it failed: " + failure.origin_text +
                " failed: " + failure.what,
            failure.cause};
  }
  if (task == failure.origin)
    return {Error::Kind::task_failed, failure.origin_text + " failed: " + failure.what,
            failure.cause};
  return {Error::Kind::cancelled,
          task_text + " was cancelled, because it depends on " + failure.origin_text +
              ", which failed: " + failure.what,
          failure.cause};
}

}  // namespace trellis::Impl
