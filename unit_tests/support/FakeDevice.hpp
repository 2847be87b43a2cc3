// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_FAKEDEVICE_HPP
#define TRELLIS_TEST_FAKEDEVICE_HPP

#include <Trellis_DeviceAdapter.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace trellis::Test {

/// An asynchronous device in software: each stream is a thread that does what is enqueued, in
/// order. Counts what the engine asks of it.
class FakeDevice : public Impl::DeviceAdapter {
 public:
  /// A handle of a queue: copies share it.
  class Stream {
   public:
    class Queue {
     public:
      explicit Queue(int number) : m_number(number), m_thread([this] { work(); }) {}
      Queue(Queue const&) = delete;
      Queue& operator=(Queue const&) = delete;
      ~Queue() {
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
      [[nodiscard]] int number() const { return m_number; }

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
      int const m_number;
      std::mutex m_mutex;
      std::condition_variable m_changed;
      std::deque<std::function<void()>> m_queue;
      std::thread m_thread;
    };

    static constexpr int users = 1000;
    /// `number`: what a test calls it.
    explicit Stream(int number = users) : m_queue(std::make_shared<Queue>(number)) {}
    explicit Stream(std::shared_ptr<Queue> queue) : m_queue(std::move(queue)) {}
    void enqueue(std::function<void()> work) { m_queue->enqueue(std::move(work)); }
    [[nodiscard]] std::shared_ptr<Queue> const& queue() const { return m_queue; }

   private:
    std::shared_ptr<Queue> m_queue;
  };

  explicit FakeDevice(std::string name = "Fake") : m_name(std::move(name)) {}

  std::string_view name() const override { return m_name; }
  void* make_instance(int /*threads*/) override {
    ++streams;
    return new Stream(m_made++);
  }
  void destroy_instance(void* instance) noexcept override {
    --streams;
    delete static_cast<Stream*>(instance);
  }
  bool can_wait_for(Impl::DeviceAdapter const& other) const override { return &other == this; }
  void* copy_instance(void const* theirs) override {
    ++streams;
    return new Stream(static_cast<Stream const*>(theirs)->queue());
  }
  bool same_queue(void const* a, void const* b) const override {
    return static_cast<Stream const*>(a)->queue() == static_cast<Stream const*>(b)->queue();
  }
  void* record_event(void* instance, bool /*timed*/) override {
    if (cannot_record) throw std::runtime_error("no more events");
    ++recorded;
    ++events;
    auto event = std::make_shared<Event>();
    event->stream = static_cast<Stream*>(instance)->queue()->number();
    static_cast<Stream*>(instance)->enqueue([event] {
      {
        std::lock_guard const lock(event->mutex);
        event->passed = true;
        event->at = std::chrono::steady_clock::now();
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
    if (when_asked) when_asked();
    auto const& state = *static_cast<std::shared_ptr<Event>*>(event);
    if (failed || failed_stream == state->stream) throw std::runtime_error("the device is on fire");
    if (silent_about == state->stream) return false;
    if (late > 0 && (static_cast<std::uint32_t>(questions) * 2654435761u >> 16) % 100 <
                        static_cast<std::uint32_t>(late))
      return false;
    std::lock_guard const lock(state->mutex);
    return state->passed;
  }
  void release_event(void* event) noexcept override {
    --events;
    delete static_cast<std::shared_ptr<Event>*>(event);
  }

  std::int64_t nanoseconds_between(void* earlier, void* later) override {
    auto const at = [](void* event) { return (*static_cast<std::shared_ptr<Event>*>(event))->at; };
    return std::chrono::duration_cast<std::chrono::nanoseconds>(at(later) - at(earlier)).count();
  }

  bool launch_is_slow() const override { return is_slow; }

  std::atomic<bool> is_slow{false};  ///< set before graphs use it
  std::atomic<int> streams{0};       ///< alive
  std::atomic<int> events{0};        ///< alive
  std::atomic<int> waits{0};
  std::atomic<int> questions{0};
  std::atomic<int> recorded{0};
  std::atomic<bool> failed{false};  ///< from now on it says nothing but that
  /// The same about one stream; the graph's are numbered in the order in which they are made.
  std::atomic<int> failed_stream{-1};
  /// What is asked about this stream is answered as if nothing had passed, as by who asks in
  /// between.
  std::atomic<int> silent_about{-1};
  std::atomic<int> late{0};  ///< of a hundred questions so many are answered like that
  std::atomic<bool> cannot_record{false};
  std::function<void()> when_asked;  ///< set while nothing is launched; called with each question

 private:
  struct Event {
    std::mutex mutex;
    std::condition_variable changed;
    int stream = -1;
    bool passed = false;
    std::chrono::steady_clock::time_point at;
  };
  std::string m_name;
  std::atomic<int> m_made{0};  ///< graphs share a device
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
