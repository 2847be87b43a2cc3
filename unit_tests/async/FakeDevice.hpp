// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_FAKEDEVICE_HPP
#define TRELLIS_TEST_FAKEDEVICE_HPP

#include <Trellis_Space.hpp>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace trellis::Test {

/// An asynchronous device in software: each stream is a thread that does what is enqueued, in order. Counts
/// what the engine asks of it.
class FakeDevice : public SpaceAdapter {
 public:
  class Stream {
   public:
    Stream() : m_thread([this] { work(); }) {}
    ~Stream() {
      enqueue(nullptr);
      m_thread.join();
    }
    void enqueue(std::function<void()> work) {
      {
        std::lock_guard const lock(m_mutex);
        m_queue.push_back(std::move(work));
      }
      m_changed.notify_one();
    }

   private:
    void work() {
      for (;;) {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [&] { return !m_queue.empty(); });
        std::function<void()> const next = std::move(m_queue.front());
        m_queue.pop_front();
        lock.unlock();
        if (!next) return;
        next();
      }
    }
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<std::function<void()>> m_queue;
    std::thread m_thread;
  };

  explicit FakeDevice(std::string name = "Fake") : m_name(std::move(name)) {}

  std::string_view name() const override { return m_name; }
  void* make_instance(int /*threads*/) override {
    ++streams;
    return new Stream;
  }
  void destroy_instance(void* instance) noexcept override {
    --streams;
    delete static_cast<Stream*>(instance);
  }
  bool asynchronous() const override { return true; }
  bool can_wait_for(SpaceAdapter const& other) const override { return &other == this; }
  void* record_event(void* instance, bool /*timed*/) override {
    ++events;
    auto event = std::make_shared<Event>();
    static_cast<Stream*>(instance)->enqueue([event] {
      {
        std::lock_guard const lock(event->mutex);
        event->passed = true;
      }
      event->changed.notify_all();
    });
    return new std::shared_ptr<Event>(event);
  }
  void enqueue_wait(void* instance, void* event) override {
    ++waits;
    // As on a real device the wait may outlive the handle.
    static_cast<Stream*>(instance)->enqueue([event = *static_cast<std::shared_ptr<Event>*>(event)] {
      std::unique_lock lock(event->mutex);
      event->changed.wait(lock, [&] { return event->passed; });
    });
  }
  bool has_passed(void* event) override {
    ++questions;
    auto const& state = *static_cast<std::shared_ptr<Event>*>(event);
    std::lock_guard const lock(state->mutex);
    return state->passed;
  }
  void release_event(void* event) noexcept override {
    --events;
    delete static_cast<std::shared_ptr<Event>*>(event);
  }

  std::atomic<int> streams{0};  ///< alive
  std::atomic<int> events{0};   ///< alive
  std::atomic<int> waits{0};
  std::atomic<int> questions{0};

 private:
  struct Event {
    std::mutex mutex;
    std::condition_variable changed;
    bool passed = false;
  };
  std::string m_name;
};

/// The body of a device task: launches `kernel` on the stream that the engine chose.
template <class Kernel>
auto on_stream(Kernel kernel) {
  return [kernel = std::move(kernel)](void* instance) {
    static_cast<FakeDevice::Stream*>(instance)->enqueue(kernel);
  };
}

}  // namespace trellis::Test

#endif
