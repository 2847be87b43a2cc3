// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ASYNCSTREAMS_HPP
#define TRELLIS_IMPL_ASYNCSTREAMS_HPP

#include <Trellis_DeviceAdapter.hpp>
#include <device/Trellis_DeviceClock.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <base/Trellis_RecursiveLock.hpp>
#include <base/Trellis_Relaxed.hpp>
#include <base/Trellis_SpinLock.hpp>
#include <base/Trellis_Reserve.hpp>
#include <task/Trellis_Task.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace trellis::Impl {

/// The instances (streams) of devices, and what has been launched on each and is not known to be
/// done.
///
/// WHICH STREAM. The first of these that exists: the stream that the user gave; the stream of a
/// predecessor with nothing behind it; an idle one; a new one; the one with the fewest tasks.
/// Behind a predecessor the order needs no event, and the data is near.
///
/// EVENTS. Each is another call of the device's driver, so a task gets one only when it may be
/// needed.
///
/// The last task of a stream, if it has none, gets one when a task on another stream is to wait for
/// it. It also gets one before another task is launched behind it, unless that task overwrites
/// everything that the first accesses. In that case a task that is submitted later and conflicts
/// with the first conflicts with the second, and the engine orders it behind that. A task submitted
/// between the two conflicts with the second as well. It has been launched before the second, and
/// has recorded the event then.
///
/// Further rules:
/// - If a stream has finished all but its last few tasks whenever it is asked, up to
///   `widest_spacing` tasks share an event. None of these may come after another one, and the
///   stream must not have been made to wait between them. A task that waits for one of them then
///   waits for the others as well. On a device that lags behind that would cost time, so there each
///   task has its own event.
/// - A task that still needs an event (for another reason than accesses) waits for the next event
///   behind the other task. That is later than necessary, but correct.
/// - Progress asks only about the oldest event of each busy stream; a stream without events gets
///   one at its end. So a chain has only the events that progress asks for. A stream waits for
///   another one only once for everything that the other launched before the same event.
///
/// INVARIANT. Under the mutex: a task has `stream >= 0` from its launch until it retires; each
/// stream's tasks and events are in the order of their launch, and positions on it only grow. A
/// stream completes in order, so an event that has passed covers all positions before it. Waits
/// only lead to work that was enqueued before, so streams cannot wait for each other in a cycle.
///
/// ORDER. A task retires after its predecessors on other streams, though these streams may be asked
/// later. So a failure of a predecessor is known when the task's turn comes. (An event that has
/// passed shows that the predecessors have, but not what happened there.) Each event therefore
/// holds the positions on other streams that its tasks, and those before them, come after. Before a
/// stream passes the event, these streams are asked up to there. That does not lead back to the
/// same stream: the event of a predecessor was recorded before the task was launched, and covers
/// only what was launched before. This holds for tasks that share an event, too. A task launched
/// between two of them that waits for the first has recorded an event then, so the two share none.
///
/// ASKING. A launching thread never waits for a polling thread. Queries are made without the mutex,
/// one for each stream about an event some way ahead, and the answers are noted under it. (A device
/// with its own clock is the exception, as queries made before a launch would change the result.)
/// The polling thread holds `m_asking` all the while, and no other thread removes events from
/// streams. So an event remains valid while it is queried.
///
/// MEMORY. If there is no memory, a launch is refused before it has changed anything. After that,
/// notes about the launch and its completion need no more than the reserve.
///
/// FAILURES. When a stream fails, everything that it has not done has failed. The other streams of
/// the device are not affected: each is asked on its own until it passes, or reports that it has
/// failed, too. Until then its tasks may run, and nothing may touch what they access.
class AsyncStreams {
 public:
  /// `timed`: tasks get times, counted from `start`, see DeviceClock.
  AsyncStreams(int streams_per_space, bool timed, std::chrono::steady_clock::time_point start)
      : m_streams_per_space(static_cast<std::size_t>(streams_per_space)), m_clock(timed, start) {}
  AsyncStreams(AsyncStreams const&) = delete;
  AsyncStreams& operator=(AsyncStreams const&) = delete;
  ~AsyncStreams();

  [[nodiscard]] int stream_for(DeviceAdapter& device, void const* instance);

  /// Picks a stream, makes it wait for the tasks' predecessors on other streams, and launches them
  /// as one with `run(instance)`. They follow each other on the stream, without events between.
  /// `device` is theirs, or the one to which host tasks go.
  ///
  /// When `run` throws, `at` is the position of the task that did, which may have launched
  /// something: it is on the stream like those before it, and retires when the stream has passed
  /// it. Those behind it are not launched. If `at` is behind the last one, nothing has been
  /// launched, and this throws.
  ///
  /// `launched(task, threw)` is called for each task that is on the stream, in order, before it can
  /// retire. If `run` threw, that is within a handler of the exception.
  void launch(std::span<Task* const> tasks, DeviceAdapter& device, int threads_per_worker,
              FunctionRef<void(void* instance)> run, std::size_t const& at,
              FunctionRef<void(Task& task, bool threw)> launched);

  /// The lock for code that launches or captures graphs.
  [[nodiscard]] std::unique_lock<RecursiveLock> lock() { return std::unique_lock(m_mutex); }

  struct StreamFailure {
    explicit StreamFailure(std::exception_ptr of) : error(std::move(of)) {}
    std::exception_ptr error;
    std::string first;  ///< of its tasks, as text; for the thread that completes them
  };
  /// A task that has left its stream.
  struct Retired {
    Task* task;
    int stream;
    std::uint64_t started_ns = 0;  ///< on the device; 0: not known
    std::uint64_t finished_ns = 0;
    /// null: the task has passed; else it is one of those that had not
    std::shared_ptr<StreamFailure> failure{};
  };
  /// Asks for tasks whose events have passed. Does nothing while another thread is asking.
  void retire();
  /// Returns the tasks found, one by one: each after those that it is ordered behind. False if
  /// there is none.
  [[nodiscard]] bool next_retired(Retired& retired);
  /// Notes that something on the host comes after one of the tasks now on streams. It is a hint for
  /// progress, which asks often until these have retired; a late hint loses nothing.
  void note_awaited() {
    if (!m_awaited.load(std::memory_order_relaxed))
      m_awaited.store(true, std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_awaited() const {
    return m_awaited.load(std::memory_order_relaxed) || m_any_awaited;
  }
  [[nodiscard]] bool busy() const { return m_launched.load(std::memory_order_seq_cst) > 0; }
  [[nodiscard]] bool has_own_clock() const { return m_own_clock.load(std::memory_order_relaxed); }
  /// True if launching for other threads may pay off, see LaunchQueue. With a device that has its
  /// own clock, the speed of threads must not matter.
  [[nodiscard]] bool has_slow_launches() const {
    return m_slow_launches.load(std::memory_order_relaxed) && !has_own_clock();
  }
  /// Called when a thread can only wait for what has been launched.
  void host_is_idle();
  /// Names of the streams, by the number that a launched task carries.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  template <class T>
  using Deque = std::deque<T, FromReserve<T>>;

  struct Stream : NewFromReserve {
    DeviceAdapter* device = nullptr;
    void* instance = nullptr;
    int number = 0;
    bool of_user = false;
    std::uint64_t next = 1;     ///< position of the next task
    std::uint64_t awaited = 0;  ///< up to here something on the host may come after the tasks
    Deque<Task*> launched;      ///< at positions up to `next - 1`
    /// An event that tells that the tasks up to a position have passed.
    struct Event {
      void* event;
      std::uint64_t position;        ///< of the newest of these tasks
      Vector<std::uint64_t> needed;  ///< as that of the stream
      bool has_passed = false;       ///< as far as is known
    };
    Deque<Event> events;
    Vector<std::uint64_t> needed;  ///< by stream: must pass before the newest task retires; 0: none
    bool ends_in_chain = false;    ///< of tasks without events, each overwriting the last
    std::uint64_t spacing = 1;     ///< so many tasks may share an event
    std::uint64_t asked_at = 0;    ///< `next` when it was last asked
    std::size_t ahead = 1;         ///< the next query is about the event this many ahead
    Vector<std::uint64_t> waited_for;  ///< by stream: up to which position
    std::int64_t past_ns = 0;          ///< end of the newest task with known times

    [[nodiscard]] std::uint64_t first() const { return next - launched.size(); }
    [[nodiscard]] std::uint64_t last() const { return next - 1; }
    [[nodiscard]] std::uint64_t last_recorded() const {
      return events.empty() ? first() - 1 : events.back().position;
    }
    [[nodiscard]] bool last_has_event() const {
      return !events.empty() && events.back().position == last();
    }
  };

  struct Question {
    Stream* stream;
    void* event;
    std::uint64_t position;
    std::uint64_t behind;  ///< number of tasks launched after the event
    enum class Answer : unsigned char { not_yet, passed, error } answer = Answer::not_yet;
  };

  static constexpr std::uint64_t widest_spacing = 16;

  Stream& choose(Task const& task, DeviceAdapter& device, int threads_per_worker);
  [[nodiscard]] int new_waits(Stream const& stream) const;
  Stream& new_stream(DeviceAdapter& device, void* instance);
  static void add_event(Stream& stream, bool timed, std::uint64_t position);
  static void record_last(Stream& stream) { add_event(stream, false, stream.last()); }
  void find_needed(std::span<Task* const> tasks, DeviceAdapter const& device);
  [[nodiscard]] bool may_share_event(Stream& stream, Task const& task) const;
  [[nodiscard]] static std::size_t event_behind(Stream const& stream, std::uint64_t position);
  static void wait_for(Stream& stream, Stream& other, std::uint64_t position);
  [[nodiscard]] static bool has_passed(Stream& stream, std::size_t number);
  [[nodiscard]] static bool may_have_passed(Stream& stream, std::size_t number);
  [[nodiscard]] bool pass_first_event(Stream& stream);
  [[nodiscard]] bool pass_up_to(Stream& stream, std::uint64_t position);
  void hand_out(Retired&& retired);
  [[nodiscard]] std::unique_lock<RecursiveLock> try_to_lock(int attempts);
  void ask(Stream& stream);
  void retire_passed(Stream& stream);
  [[nodiscard]] bool find_questions();
  void note_answer(Question const& question);
  static void adapt_spacing(Question const& question);
  void note_what_is_awaited();
  void fail(Stream& stream, std::exception_ptr const& error);
  void note_times(Retired& passed, Stream& stream, void* event);

  std::size_t const m_streams_per_space;
  /// Recursive: a task's launch is user code, which may record a plan, or drop one.
  mutable RecursiveLock m_mutex;
  Vector<std::unique_ptr<Stream>> m_streams;
  DeviceClock m_clock;
  // Scratch of a launch.
  Vector<std::uint64_t> m_needed;           ///< by stream: the newest position to wait for
  Stream* m_ends_in_predecessor = nullptr;  ///< it ends in the first task's newest predecessor
  std::mutex m_asking;                      ///< of the thread that asks; taken first
  Vector<Question> m_questions;             ///< scratch, of the thread that asks
  SpinLock m_retired_lock;                  ///< may be taken under the mutex
  Deque<Retired> m_retired;                 ///< guarded by that lock
  std::atomic<int> m_launched{0};           ///< launched and not handed out
  std::atomic<bool> m_own_clock{false};
  std::atomic<bool> m_slow_launches{false};
  std::atomic<bool> m_awaited{false};  ///< since the last time that the streams were asked
  Relaxed<bool> m_any_awaited{false};  ///< something awaited before is still on a stream
};

}  // namespace trellis::Impl

#endif
