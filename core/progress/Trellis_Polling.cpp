// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <completion/Trellis_Completions.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <kernel/Trellis_NotServing.hpp>
#include <progress/Trellis_Polling.hpp>
#include <threads/Trellis_MainQueue.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>

namespace trellis::Impl {

// --- one function --------------------------------------------------------------------------------

bool ProgressSource::call() {
  if (!is_asked() || m_others.load(std::memory_order_relaxed) > 0) return false;
  std::lock_guard const lock(m_calls);
  int expected = asked;
  if (m_is_taken_away ||
      !m_state.compare_exchange_strong(expected, called, std::memory_order_seq_cst))
    return false;
  ProgressSource const* const outer = std::exchange(t_called, this);
  bool is_more = false;
  try {
    is_more = advance();
  } catch (std::exception const& error) {
    // Tasks that wait for it would wait for ever.
    std::cerr << "Trellis: a progress function has thrown: " << error.what() << std::endl;
    std::abort();
  } catch (...) {
    std::cerr << "Trellis: a progress function has thrown no std::exception" << std::endl;
    std::abort();
  }
  t_called = outer;
  if (m_is_taken_away) {  // by itself
    drop();
    return m_state.exchange(idle, std::memory_order_seq_cst) != idle;
  }
  expected = called;
  m_state.compare_exchange_strong(expected, is_more ? asked : idle, std::memory_order_seq_cst);
  return !is_more && expected == called;
}

bool ProgressSource::take_away() {
  if (t_called == this) {
    m_is_taken_away = true;
    return false;
  }
  BetweenCalls const between(*this);
  m_is_taken_away = true;
  drop();
  return m_state.exchange(idle, std::memory_order_seq_cst) != idle;
}

// --- all of them ---------------------------------------------------------------------------------

void Polling::add(std::shared_ptr<ProgressSource> source) {
  std::lock_guard const lock(m_lock);
  m_sources.push_back(std::move(source));
}

void Polling::remove(std::shared_ptr<ProgressSource> const& source) {
  bool const was_asked = source->take_away();
  if (was_asked) (source->is_of_main() ? m_asked_of_main : m_asked).fetch_sub(1);
  std::lock_guard const lock(m_lock);
  std::erase(m_sources, source);
}

void Polling::ask(ProgressSource& source) {
  has_news();
  if (!source.ask()) return;
  if (!source.is_of_main()) {
    m_asked.fetch_add(1, std::memory_order_seq_cst);
    return m_workers.ready_added();
  }
  m_asked_of_main.fetch_add(1, std::memory_order_seq_cst);
  m_main.move_epoch();
  m_workers.main_ready_added();
}

void Polling::call_functions(WorkerSlot& slot, bool of_main) {
  NotServing const not_serving(m_kernel, m_devices.offered(), slot);
  std::atomic<int>& count = of_main ? m_asked_of_main : m_asked;
  for (std::size_t k = 0;; ++k) {
    std::shared_ptr<ProgressSource> source;
    bool is_last = false;  // functions added meanwhile take their turn in the next call
    {
      std::lock_guard const lock(m_lock);
      while (k < m_sources.size() &&
             (m_sources[k]->is_of_main() != of_main || !m_sources[k]->is_asked()))
        ++k;
      if (k >= m_sources.size()) return;
      source = m_sources[k];
      is_last = k + 1 == m_sources.size();
    }
    if (source->call()) count.fetch_sub(1, std::memory_order_seq_cst);
    if (m_completions.any_said(std::memory_order_relaxed)) has_news();
    if (is_last) return;
  }
}

std::string Polling::report() {
  std::vector<std::shared_ptr<ProgressSource>> sources;
  {
    std::lock_guard const lock(m_lock);
    sources = m_sources;
  }
  std::string text;
  for (auto const& source : sources)
    if (source->is_asked()) text += source->tell();
  return text;
}

void Polling::call_all(WorkerSlot& slot, bool on_main_thread) {
  if (m_asked.load(std::memory_order_relaxed) > 0) call_functions(slot, false);
  if (on_main_thread && any_of_main()) call_functions(slot, true);
}

void Polling::stop_being_proxy(WorkerSlot& slot) {
  m_devices.retire_proxy(slot);
  if (m_devices.busy() && !m_poller.is_here()) m_workers.ready_added();  // another may ask now
}

void Polling::polls_no_more() {
  m_poller.end();
  // This comes after the end of polling in the single order of these operations. A thread that has
  // asked meanwhile sees that no thread polls, or is seen here.
  if (m_devices.busy() || m_asked.load(std::memory_order_seq_cst) > 0) m_workers.ready_added();
}

bool Polling::poll(WorkerSlot& slot, bool is_idle) {
  // A thread without a task asks functions all the time, and needs no clock for that.
  bool const busy_devices = m_devices.busy();
  Poller::Pace const pace = busy_devices ? m_devices.pace(slot) : Poller::Pace::awaited;
  bool const is_awaited = pace == Poller::Pace::awaited;
  bool const due = is_idle && !busy_devices ? true : m_poller.is_due();
  if (slot.is_main && any_of_main() && (is_idle || due)) {
    call_functions(slot, true);
    if (!is_idle) m_poller.has_asked();
  }
  bool any = m_completions.any_said();
  bool const functions = m_asked.load(std::memory_order_relaxed) > 0 && (is_idle || due);
  bool const devices = is_idle && busy_devices && m_devices.may_ask() &&
                       (is_awaited ? due : m_poller.is_due(pace)) && m_devices.may_go_on(slot);
  if (!functions && !m_devices.may_ask() && m_poller.is_here()) polls_no_more();
  if ((!functions && !devices) || !m_poller.begin()) return any;
  if (functions) {
    call_functions(slot, false);
    any = any || m_completions.any_said();
  }
  // User code that waits may have ended the polling of this thread.
  if (devices && m_poller.is_here()) {
    any = m_devices.complete_passed(slot, m_poller) || any;
    // A waiting thread may wait for more than what has been found.
    if ((!any || !is_awaited) && m_poller.is_here()) m_poller.has_asked();
  } else if (!any && !is_idle && m_poller.is_here()) {
    m_poller.has_asked();
  }
  if (any) has_news();
  if (!busy() && m_poller.is_here()) polls_no_more();
  return any;
}

}  // namespace trellis::Impl
