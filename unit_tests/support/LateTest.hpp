// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_LATETEST_HPP
#define TRELLIS_TEST_LATETEST_HPP

#include "BareTask.hpp"

#include <Trellis_Completion.hpp>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

/// Tasks for tests of core/ that are over later than their bodies.
namespace trellis::Bare {

/// `f` gets the Completion.
template <class F>
Future<void> late(TaskGraph& graph, Label label, std::vector<Touch> const& touches, F f,
                  Properties const& properties = {}) {
  return task(
      graph, std::move(label), touches,
      [f = std::move(f)]() mutable { f(Impl::CompletionInternals::open(self())); }, properties);
}
template <class F>
Future<void> late_child(Label label, std::vector<Touch> const& touches, F f) {
  return child(std::move(label), touches,
               [f = std::move(f)]() mutable { f(Impl::CompletionInternals::open(self())); });
}

/// Completions that wait for somebody to say something.
class Slots {
 public:
  /// For a body: puts its Completion here.
  auto keeper() {
    return [this](Completion<> completion) { put(std::move(completion)); };
  }
  void put(Completion<> completion) {
    std::lock_guard const lock(m_mutex);
    m_slots.push_back(std::move(completion));
    m_came.notify_all();
  }
  /// The oldest, as soon as there is one.
  Completion<> take() {
    std::unique_lock lock(m_mutex);
    m_came.wait(lock, [&] { return !m_slots.empty(); });
    Completion<> first = std::move(m_slots.front());
    m_slots.pop_front();
    return first;
  }
  /// The oldest; one of no task when there is none.
  Completion<> try_take() {
    std::lock_guard const lock(m_mutex);
    if (m_slots.empty()) return {};
    Completion<> first = std::move(m_slots.front());
    m_slots.pop_front();
    return first;
  }
  [[nodiscard]] bool empty() {
    std::lock_guard const lock(m_mutex);
    return m_slots.empty();
  }

 private:
  std::mutex m_mutex;
  std::condition_variable m_came;
  std::deque<Completion<>> m_slots;
};

/// A thread that does what it is given, in this order, a little later.
class Elsewhere {
 public:
  Elsewhere() : m_thread([this] { work(); }) {}
  Elsewhere(Elsewhere const&) = delete;
  Elsewhere& operator=(Elsewhere const&) = delete;
  ~Elsewhere() {
    {
      std::lock_guard const lock(m_mutex);
      m_is_over = true;
    }
    m_came.notify_all();
    m_thread.join();
  }
  template <class F>
  void give(F what) {
    {
      std::lock_guard const lock(m_mutex);
      // std::function copies what it holds.
      m_given.push_back([held = std::make_shared<F>(std::move(what))] { (*held)(); });
    }
    m_came.notify_all();
  }
  /// For a body: says done here.
  auto sayer() {
    return [this](Completion<> completion) {
      give([c = std::move(completion)]() mutable { c.done(); });
    };
  }

 private:
  void work() {
    std::unique_lock lock(m_mutex);
    for (;;) {
      m_came.wait(lock, [&] { return m_is_over || !m_given.empty(); });
      if (m_given.empty()) return;
      std::function<void()> const next = std::move(m_given.front());
      m_given.pop_front();
      lock.unlock();
      next();
      lock.lock();
    }
  }

  std::mutex m_mutex;
  std::condition_variable m_came;
  std::deque<std::function<void()>> m_given;
  bool m_is_over = false;
  std::thread m_thread;
};

}  // namespace trellis::Bare

#endif
