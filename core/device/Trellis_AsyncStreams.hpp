// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ASYNCSTREAMS_HPP
#define TRELLIS_IMPL_ASYNCSTREAMS_HPP

#include <Trellis_DeviceAdapter.hpp>
#include <device/Trellis_DeviceClock.hpp>
#include <task/Trellis_FunctionRef.hpp>
#include <threads/Trellis_RecursiveLock.hpp>
#include <threads/Trellis_Relaxed.hpp>
#include <threads/Trellis_SpinLock.hpp>
#include <task/Trellis_Reserve.hpp>
#include <kernel/Trellis_Task.hpp>

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

/// The instances (streams) of devices, and what has been launched on each and is not
/// known to be done.
///
/// WHICH STREAM. The one that the user gave; else that of a predecessor with nothing behind it (the
/// order needs no event then, and the data is near); else one that is idle; else a new one; else
/// the one with least to do.
///
/// EVENTS. Each is another call of the device's driver, so a task gets one only when it may be
/// needed:
/// - A task without one that is last on its stream gets it when a task on another stream is to wait
///   for it.
/// - A task without one that is last on its stream gets it before another one is launched behind
///   it, unless that one overwrites all that the first accesses. Then whoever is submitted later
///   and conflicts with the first conflicts with the second, and the engine orders it behind that;
///   whoever was submitted between the two conflicts with the second as well, has been launched
///   before it, and has taken the event then.
/// - Where a stream has done all but its last few tasks whenever it is asked, up to
///   `widest_spacing` tasks share an event, if none of them comes after another one, and if the
///   stream has not been made to wait between them. Who waits for one of them then waits for the
///   others as well. On a device that is behind, where that would cost time, each has its own.
/// - Somebody who still needs one (for another reason than accesses) waits for the next event
///   behind the task, which is later than need be, but right.
/// - Progress asks only about the oldest event of each busy stream; one without any gets one at its
/// end. So a chain has no events but those that progress asks for, and a stream waits for another
/// one only once for all that it launched before the same event.
///
/// INVARIANT. Under the mutex: a task has `stream >= 0` from its launch until it retires; each
/// stream's tasks and events are in the order of their launch, and positions on it only grow. As a
/// stream completes in order, an event that has passed says so for all positions before it. Waits
/// only lead to what has been enqueued before, so streams cannot wait for each other in a circle.
///
/// ORDER. A task retires after those before it that were on other streams, though these may be
/// asked later: a failure that one of them has is known when the task's turn comes. (An event that
/// has passed tells that those it waited for have, but not what happened there.) So an event knows
/// up to which positions of other streams its tasks, and those before them, come after what is
/// there, and before a stream passes it these streams are asked up to there. That does not come
/// back to the same stream: the event of a predecessor was recorded before the task was launched,
/// and covers what was launched before, only. (Nor does it for tasks that share an event: who is
/// launched between two of them, and waits for the first, has taken an event then, so that these
/// two share none.)
///
/// ASKING. Who launches waits for nobody who asks: the questions are put without the mutex, one for
/// each stream about an event some way ahead, and their answers noted under it (but where time is
/// the device's own affair, and what has been asked before a launch would matter). Who asks holds
/// `m_asking` all the while, and nobody else takes events off streams, so an event that is asked
/// about stays what it is.
///
/// MEMORY. A launch is refused when there is none, before it has changed anything. From then on
/// what is noted of it, and what has passed, needs no more than the reserve.
///
/// FAILURES. What a stream has not done when it fails has failed. Nothing is said of the other
/// streams of the device: each is asked on its own until it passes, or says that it has failed,
/// too. Until then its tasks may run, and nobody must touch what they access.
class AsyncStreams {
 public:
  /// `timed`: tasks get times, from `start` on, see DeviceClock.
  AsyncStreams(int streams_per_space, bool timed, std::chrono::steady_clock::time_point start)
      : m_streams_per_space(static_cast<std::size_t>(streams_per_space)), m_clock(timed, start) {}
  AsyncStreams(AsyncStreams const&) = delete;
  AsyncStreams& operator=(AsyncStreams const&) = delete;
  ~AsyncStreams();

  /// The number of the stream for an instance of the user's.
  [[nodiscard]] int stream_for(DeviceAdapter& device, void const* instance);

  /// Picks a stream, makes it wait for the task's predecessors on other streams, and launches the
  /// task with `run(instance)`. That may throw when it has launched something, so the task is on
  /// the stream all the same, and retires when the stream has passed it. `launched(threw)` is
  /// called before anybody can retire it; if `run` threw, as a handler of that. When this throws,
  /// nothing of the task has been launched.
  void launch(Task& task, int threads_per_worker, FunctionRef<void(void* instance)> run,
              FunctionRef<void(bool threw)> launched) {
    Task* const one = &task;
    std::size_t const at = 0;
    launch(std::span(&one, 1), *task.device(), threads_per_worker, run, at,
           [&](Task&, bool threw) { launched(threw); });
  }
  /// The same for several at once, which `run` launches as one: the stream waits for the
  /// predecessors of all. They follow each other on it, with no event between. When `run` throws,
  /// `at` says which of them did: those before are launched, and those behind are not. `at` behind
  /// the last one: nothing has been launched, and this throws. `launched(task, threw)` is called
  /// for each that is on the stream, in their order. `device`: theirs, or the one to which tasks of
  /// the host go.
  void launch(std::span<Task* const> tasks, DeviceAdapter& device, int threads_per_worker,
              FunctionRef<void(void* instance)> run, std::size_t const& at,
              FunctionRef<void(Task& task, bool threw)> launched);

  /// For whoever launches graphs, or captures them.
  [[nodiscard]] std::unique_lock<RecursiveLock> lock() { return std::unique_lock(m_mutex); }

  struct StreamFailure {
    explicit StreamFailure(std::exception_ptr of) : error(std::move(of)) {}
    std::exception_ptr error;
    std::string first;  ///< of its tasks, in words; for whoever completes them
  };
  /// A task that is not on its stream any more.
  struct Retired {
    Task* task;
    int stream;
    std::uint64_t started_ns = 0;  ///< on the device; 0: not known
    std::uint64_t finished_ns = 0;
    /// null: it has passed; else it is one of those that had not
    std::shared_ptr<StreamFailure> failure{};
  };
  /// Asks for tasks whose events have passed. Does nothing while another thread is at it.
  void retire();
  /// Hands out what has been found, one by one: a task after those that it is ordered behind.
  /// False: none.
  [[nodiscard]] bool next_retired(Retired& retired);
  /// Something on the host comes after one of the tasks that are on streams now. A hint for
  /// progress, which asks often until these have retired: nothing is lost if it comes late.
  void note_awaited() {
    if (!m_awaited.load(std::memory_order_relaxed))
      m_awaited.store(true, std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_awaited() const {
    return m_awaited.load(std::memory_order_relaxed) || m_any_awaited;
  }
  [[nodiscard]] bool busy() const { return m_launched.load(std::memory_order_seq_cst) > 0; }
  /// Does one of the devices have a clock of its own?
  [[nodiscard]] bool has_own_clock() const { return m_own_clock.load(std::memory_order_relaxed); }
  /// May it be worth to launch for others, see LaunchQueue? Where a device has a clock of its own
  /// it must not matter which thread is how fast.
  [[nodiscard]] bool has_slow_launches() const {
    return m_slow_launches.load(std::memory_order_relaxed) && !has_own_clock();
  }
  /// A thread has nothing to do but wait for what has been launched.
  void host_is_idle();
  /// Name of a stream by the number that a launched task carries.
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
    /// What tells that the tasks up to a position have passed.
    struct Event {
      void* event;
      std::uint64_t position;   ///< of the newest of them
      std::uint32_t streams;    ///< of `needed_at_events`, so many are this one's
      bool has_passed = false;  ///< is known
    };
    Deque<Event> events;
    /// Position by stream that must pass before the newest task retires; 0: none. The same of each
    /// event, one behind the other.
    Vector<std::uint64_t> needed;
    Deque<std::uint64_t> needed_at_events;
    bool ends_in_chain = false;        ///< of tasks without events, each overwrites the one before
    std::uint64_t spacing = 1;         ///< so many tasks may share an event
    std::uint64_t asked_at = 0;        ///< `next` when it was last asked
    std::size_t ahead = 1;             ///< the next question is about this many events
    Vector<std::uint64_t> waited_for;  ///< by stream: up to which position
    std::int64_t past_ns = 0;          ///< end of the newest task whose times are known

    [[nodiscard]] std::uint64_t first() const { return next - launched.size(); }
    [[nodiscard]] std::uint64_t last() const { return next - 1; }
    [[nodiscard]] std::uint64_t last_recorded() const {
      return events.empty() ? first() - 1 : events.back().position;
    }
    [[nodiscard]] bool last_has_event() const {
      return !events.empty() && events.back().position == last();
    }
  };

  /// What the device is asked about a stream.
  struct Question {
    Stream* stream;
    void* event;
    std::uint64_t position;
    std::uint64_t behind;  ///< so many tasks were launched after the event
    enum class Answer : unsigned char { not_yet, passed, error } answer = Answer::not_yet;
  };

  static constexpr std::uint64_t widest_spacing = 16;

  Stream& choose(Task const& task, DeviceAdapter& device, int threads_per_worker);
  [[nodiscard]] int new_waits(Stream const& stream) const;
  Stream& new_stream(DeviceAdapter& device, void* instance);
  static void add_event(Stream& stream, bool timed, std::uint64_t position);
  static void record_last(Stream& stream) { add_event(stream, false, stream.last()); }
  static void remove_first_event(Stream& stream);
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
  /// Recursive: what a task launches is the user's code, which may record a plan, or drop one.
  mutable RecursiveLock m_mutex;
  Vector<std::unique_ptr<Stream>> m_streams;
  DeviceClock m_clock;
  // Scratch of a launch.
  Vector<std::uint64_t> m_needed;           ///< by stream: up to where its tasks come before
  Stream* m_ends_in_predecessor = nullptr;  ///< the first task's newest one that has nothing behind
  std::mutex m_asking;                      ///< taken by the thread that asks, before the other one
  Vector<Question> m_questions;             ///< scratch, of the thread that asks
  SpinLock m_retired_lock;                  ///< may be taken under the mutex
  Deque<Retired> m_retired;                 ///< guarded by that lock
  std::atomic<int> m_launched{0};           ///< and not handed out
  std::atomic<bool> m_own_clock{false};
  std::atomic<bool> m_slow_launches{false};
  std::atomic<bool> m_awaited{false};  ///< since the last time that the streams were asked
  Relaxed<bool> m_any_awaited{false};  ///< what had been awaited before is on a stream still
};

}  // namespace trellis::Impl

#endif
