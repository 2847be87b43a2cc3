// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ASYNCSTREAMS_HPP
#define TRELLIS_IMPL_ASYNCSTREAMS_HPP

#include <Trellis_Space.hpp>
#include <impl/Trellis_FunctionRef.hpp>
#include <impl/Trellis_Task.hpp>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace trellis::Impl {

/// The instances (streams) of asynchronous spaces, and what has been launched on each and has not passed yet.
///
/// INVARIANT. Under the mutex: each stream's tasks are in launch order, and as a stream completes in order
/// only the event of its oldest task is ever asked. A task has an event from its launch until `retire` hands
/// it out: a successor that finds none has nothing to wait for.
class AsyncStreams {
 public:
  static constexpr int streams_per_space = 4;

  AsyncStreams() = default;
  AsyncStreams(AsyncStreams const&) = delete;
  AsyncStreams& operator=(AsyncStreams const&) = delete;
  ~AsyncStreams();

  /// Picks a stream, makes it wait for the task's predecessors on other streams, and launches the task with
  /// `run(instance)`. What `run` throws passes through, and then nothing has been launched. `launched` is
  /// called before anybody can retire the task.
  void launch(Task& task, int threads_per_worker, FunctionRef<void(void* instance)> run,
              FunctionRef<void()> launched);
  /// Hands out tasks whose events have passed. Does nothing while another thread is at it.
  void retire(std::vector<Task*>& passed);
  [[nodiscard]] bool busy() const { return m_launched.load(std::memory_order_seq_cst) > 0; }
  /// Name of a stream by the number that a launched task carries.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  struct Stream {
    SpaceAdapter* space;
    void* instance;
    int number;
    std::deque<Task*> launched;
  };
  Stream& choose(Task const& task, int threads_per_worker);

  mutable std::mutex m_mutex;
  std::vector<std::unique_ptr<Stream>> m_streams;
  std::size_t m_next = 0;
  std::atomic<int> m_launched{0};
};

}  // namespace trellis::Impl

#endif
