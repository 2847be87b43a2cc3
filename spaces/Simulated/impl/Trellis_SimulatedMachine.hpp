// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SIMULATEDMACHINE_HPP
#define TRELLIS_IMPL_SIMULATEDMACHINE_HPP

#include <Simulated/Trellis_SimulatedDevice.hpp>

#include <atomic>
#include <chrono>
#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

/// The implementation of simulated devices. The machine's lock guards all of it except the memory.
namespace trellis::Impl {

struct SimulatedQueue;
struct SimulatedCapture;
using SimulatedQueuePtr = std::shared_ptr<SimulatedQueue>;

struct SimulatedEvent {
  std::shared_ptr<SimulatedDeviceState> device;
  int number = -1;  ///< -1: inside a graph
  bool timed = false;
  bool passed = false;
  bool lost = false;     ///< will never pass: its device has failed
  bool skipped = false;  ///< virtual time: it comes after work that has thrown
  bool asked = false;    ///< a query found that it had not passed
  std::int64_t time = -1;
  std::vector<SimulatedQueuePtr> waiters;
  std::weak_ptr<SimulatedQueue> queue{};  ///< the queue that it was recorded on
  // Tells where in the graph it is, if it was recorded in a capture.
  std::shared_ptr<SimulatedCapture> capture;
  std::vector<int> frontier;
};
using SimulatedEventPtr = std::shared_ptr<SimulatedEvent>;

/// A resource that pieces of work share: the device's room for kernels, or one direction of its
/// link.
struct SimulatedResource {
  int limit = 0;  ///< 0: none
  int taken = 0;
  std::deque<SimulatedQueuePtr> waiters;
};

struct SimulatedTask {
  std::function<void()> function = {};
  std::string name = {};
  std::int64_t cost = 0;
  SimulatedResource* resource = nullptr;
  std::uint64_t bytes = 0;
  bool is_copy = false;
};

struct SimulatedOperation {
  enum class Kind : unsigned char { work, wait, record };
  Kind kind = Kind::work;
  std::int64_t available = 0;  ///< not before this time
  std::shared_ptr<SimulatedTask const> task = {};
  SimulatedEventPtr event = {};
  std::size_t record = no_record;  ///< its index in the device's log
  std::uint64_t log_era = 0;
  bool has_room = false;  ///< it has got room in the resource
  bool waits = false;     ///< it waits for an event or a resource, and will be woken
  bool started = false;
  bool marks_begin = true;  ///< it sets the begin of its record
  bool marks_end = true;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::string failure = {};  ///< text of what it threw
  static constexpr std::size_t no_record = static_cast<std::size_t>(-1);
};

/// Operations that run one after the other: a stream, or a branch of a graph that was launched on a
/// stream.
struct SimulatedQueue : std::enable_shared_from_this<SimulatedQueue> {
  std::shared_ptr<SimulatedDeviceState> device;
  int stream = -1;
  std::deque<SimulatedOperation> pending;
  std::uint64_t era = 0;  ///< grows when the device drops everything
  bool skips = false;     ///< virtual time: something in it has thrown
  std::vector<SimulatedQueuePtr> branches;
  std::shared_ptr<SimulatedCapture> capture;
  std::vector<int> frontier;  ///< what the next node of the capture comes after
  // The members below are for real time.
  std::condition_variable changed;
  std::thread thread;
  bool stop = false;
  bool works = false;  ///< its thread does a piece of work, which the device's failure does not end
  /// True if a thread of it, or of a graph that it has launched, does a piece of work.
  [[nodiscard]] bool is_at_work() const {
    return works || std::any_of(branches.begin(), branches.end(),
                                [](SimulatedQueuePtr const& branch) { return branch->works; });
  }
};

/// An instance as the engine sees it. The last copy closes the stream.
struct SimulatedStream {
  struct Owner {
    explicit Owner(SimulatedQueuePtr queue_) : queue(std::move(queue_)) {}
    Owner(Owner const&) = delete;
    Owner& operator=(Owner const&) = delete;
    ~Owner();
    SimulatedQueuePtr queue;
  };
  std::shared_ptr<Owner> owner;
};

struct SimulatedNode {
  std::shared_ptr<SimulatedTask const> task;
  std::vector<int> needs;  ///< nodes before it
  int branch = 0;
};

struct SimulatedCapture {
  SimulatedQueue* origin = nullptr;
  std::vector<SimulatedNode> nodes;
  std::vector<SimulatedQueuePtr> members;
  std::string invalid;  ///< why it is invalid; empty: it is valid
  bool over = false;
};

struct SimulatedGraph {
  int number = -1;
  std::shared_ptr<std::vector<SimulatedNode> const> nodes;
  std::vector<int> ends;  ///< nodes that no other node comes after
  /// The device of each branch. The first branch is the stream that the graph is launched on.
  std::vector<std::shared_ptr<SimulatedDeviceState>> devices;
  SimulatedEventPtr last_launch;
};

/// A device's memory: one range of addresses, and the parts of it that are allocated. It has its
/// own lock.
class SimulatedMemory {
 public:
  SimulatedMemory(SimulatedMachine& machine, std::string name, std::size_t capacity);
  SimulatedMemory(SimulatedMemory const&) = delete;
  SimulatedMemory& operator=(SimulatedMemory const&) = delete;
  ~SimulatedMemory();

  void* allocate(std::size_t bytes, std::string_view label);
  void deallocate(void* pointer) noexcept;
  [[nodiscard]] std::size_t live() const;
  [[nodiscard]] std::size_t most_live() const;
  [[nodiscard]] bool owns(void const* pointer) const;
  void protect(bool open) noexcept;

 private:
  SimulatedMachine& m_machine;
  std::string m_name;
  std::size_t m_capacity;
  char* m_begin = nullptr;
  std::map<std::size_t, std::size_t> m_free;  ///< offset, size
  std::map<std::size_t, std::size_t> m_used;
  std::size_t m_live = 0;
  std::size_t m_most_live = 0;
};

class SimulatedDeviceState : public std::enable_shared_from_this<SimulatedDeviceState> {
 public:
  SimulatedDeviceState(SimulatedDeviceOptions const& options_,
                       std::shared_ptr<SimulatedClock> clock_);

  SimulatedDeviceOptions options;
  std::shared_ptr<SimulatedClock> clock;
  SimulatedMachine& machine;
  SimulatedMemory memory;
  SimulatedResource kernels, from_host, to_host;
  std::vector<std::weak_ptr<SimulatedQueue>> queues;
  std::string failure;  ///< empty: none
  int next_stream = 0, next_event = 0, next_graph = 0;
  int live_streams = 0, live_events = 0, live_graphs = 0;
  std::vector<std::int64_t> stream_busy;
  int running = 0;
  std::int64_t running_since = 0;
  std::int64_t busy = 0;

  // The log has a lock of its own, as memory is given back anywhere.
  mutable std::mutex log_lock;
  std::vector<SimulatedRecord> log;
  std::uint64_t log_era = 0;
  /// Adds a record to the log, and stores its index in the operation that is enqueued, if any.
  void write(SimulatedRecord&& record, SimulatedOperation* operation = nullptr);
  void mark(SimulatedOperation const& operation, std::int64_t begin, std::int64_t end);

  [[nodiscard]] std::string title() const;
  void require_alive() const;
};

class SimulatedMachine {
 public:
  using Lock = std::unique_lock<std::mutex>;

  explicit SimulatedMachine(bool virtual_time) : m_virtual(virtual_time) {}

  [[nodiscard]] bool is_virtual() const { return m_virtual; }
  /// Takes the lock, which all functions below require unless they say otherwise. Throws when this
  /// thread is doing work of a device.
  [[nodiscard]] Lock lock();
  [[nodiscard]] std::int64_t now() const;
  /// Lets the host work for this long; in real time without the lock.
  void spend(Lock& lock, std::int64_t nanoseconds);
  void sleep_until(std::int64_t time) const;
  /// In virtual time: performs what the devices do up to now.
  void catch_up();
  void host_is_idle();
  void ask(SimulatedEvent& event);
  void forget(SimulatedEvent& event);
  /// Waits until the event has passed or never will.
  void wait_for(Lock& lock, SimulatedEvent& event);
  void finish(Lock& lock);

  /// Puts the operation into the queue. In virtual time it does the work at once.
  void enqueue(SimulatedQueuePtr const& queue, SimulatedOperation&& operation);
  void fail(SimulatedDeviceState& device, std::string const& text);
  /// Drops all operations of a device that are not running.
  void drop(SimulatedDeviceState& device);
  void open_queue(SimulatedQueuePtr const& queue);
  /// Ends the queue's thread when everything in it is done. Requires that the lock is not held.
  void close_queue(SimulatedQueue& queue) noexcept;

  /// These functions are about memory and have their own lock.
  void add(SimulatedMemory& memory);
  void remove(SimulatedMemory& memory) noexcept;
  void open_memory() noexcept;
  void close_memory() noexcept;
  [[nodiscard]] bool guards_memory() const { return m_virtual; }
  [[nodiscard]] bool memory_is_open() const { return m_open > 0; }
  std::mutex memory_lock;

  std::atomic<std::uint64_t> next_record{0};
  std::int64_t makespan = 0;

 private:
  struct Wake {
    std::int64_t time;
    std::uint64_t order;
    SimulatedQueuePtr queue;
    bool operator>(Wake const& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  /// Processes the queue from its front, as far as possible by time `now`. Returns true if work has
  /// been started; it is then at the front.
  bool advance(SimulatedQueuePtr const& queue, std::int64_t now);
  bool take(SimulatedResource& resource, SimulatedQueuePtr const& queue,
            SimulatedOperation& operation);
  void release(SimulatedResource& resource, std::int64_t now);
  void pass(SimulatedEvent& event, std::int64_t now);
  void complete(SimulatedQueue& queue, std::int64_t now);
  /// Makes the queue look at its front again.
  void wake(SimulatedQueuePtr const& queue, std::int64_t time);
  /// In virtual time: does one step, if there is one up to `limit`.
  bool step(std::int64_t limit);
  static void do_now(SimulatedQueue& queue, SimulatedOperation& operation);
  void lose(SimulatedEvent& event);
  void pop(SimulatedQueue& queue);
  /// Runs a queue's thread in real time.
  void serve(SimulatedQueue& queue);

  std::mutex m_mutex;
  bool const m_virtual;
  std::chrono::steady_clock::time_point const m_start = std::chrono::steady_clock::now();
  std::atomic<std::int64_t> m_now{0};  // virtual time: the host's
  std::int64_t m_simulated = 0;  // what the devices do is known up to here; never beyond the host's
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> m_wakes;
  std::uint64_t m_next_wake = 0;
  int m_asked = 0;      // events that have been asked for and have not passed
  bool m_news = false;  // one of them has passed
  int m_pending = 0;    // operations that are not done
  std::condition_variable m_changed;
  int m_waiting = 0;  // threads that wait for m_changed
  std::vector<SimulatedMemory*> m_memories;
  int m_open = 0;
};

}  // namespace trellis::Impl

#endif
