// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <access/Trellis_AccessTable.hpp>
#include <device/Trellis_AsyncStreams.hpp>
#include <plan/Trellis_PlanState.hpp>
#include <threads/Trellis_SpinLock.hpp>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

namespace trellis::Impl {

namespace {

bool overwrites(TaskAccess const& later, TaskAccess const& access) {
  return later.state < 0 && (later.mode == Mode::write || later.mode == Mode::read_write) &&
         (later.entry == access.entry || contains(later.entry->area, access.entry->area));
}

/// Does `later` overwrite everything that the task accesses?
bool overwrites(Task const& later, Task const& task) {
  bool all = true;
  task.for_each_access([&](TaskAccess const& access) {
    bool any = access.mode == Mode::none;
    later.for_each_access([&](TaskAccess const& other) { any = any || overwrites(other, access); });
    all = all && any;
  });
  return all;
}

}  // namespace

AsyncStreams::~AsyncStreams() {
  for (Clock const& clock : m_clocks) clock.space->release_event(clock.event);
  for (auto const& stream : m_streams) stream->space->destroy_instance(stream->instance);
}

// --- launching -----------------------------------------------------------------------------------

AsyncStreams::Stream& AsyncStreams::new_stream(SpaceAdapter& space, void* instance) {
  auto stream = std::make_unique<Stream>();
  stream->space = &space;
  stream->instance = instance;
  stream->number = static_cast<int>(m_streams.size());
  m_streams.push_back(std::move(stream));
  m_needed.push_back(0);
  for (auto const& each : m_streams) each->waited_for.resize(m_streams.size(), 0);
  if (space.has_own_clock()) m_own_clock.store(true, std::memory_order_relaxed);
  return *m_streams.back();
}

int AsyncStreams::stream_for(SpaceAdapter& space, void const* instance) {
  std::lock_guard const lock(m_mutex);
  for (auto const& stream : m_streams)
    if (stream->of_user && stream->space == &space && space.same_queue(stream->instance, instance))
      return stream->number;
  void* const copy = space.copy_instance(instance);
  if (copy == nullptr) return -1;
  Stream& stream = new_stream(space, copy);
  stream.of_user = true;
  return stream.number;
}

/// The stream that the task was launched on, if it has not been retired.
AsyncStreams::Stream* AsyncStreams::stream_of(Task::DevicePredecessor const& before) const {
  if (before.task->live_id.load(std::memory_order_acquire) != before.id || before.task->stream < 0)
    return nullptr;
  return m_streams[static_cast<std::size_t>(before.task->stream)].get();
}

AsyncStreams::Stream& AsyncStreams::choose(Task const& task, int threads_per_worker) {
  if (task.wanted_stream >= 0) return *m_streams[static_cast<std::size_t>(task.wanted_stream)];
  Stream* behind = nullptr;
  for (auto const& before : task.device_predecessors)
    if (Stream* const stream = stream_of(before);
        stream != nullptr && stream->space == task.space && stream->launched.back() == before.task)
      behind = stream;  // the newest predecessor is the last one of the list
  if (behind != nullptr && !behind->of_user) return *behind;
  Stream* least = nullptr;
  std::size_t own = 0;
  for (auto const& stream : m_streams) {
    if (stream->space != task.space || stream->of_user) continue;
    if (stream->launched.empty()) return *stream;
    if (least == nullptr || stream->launched.size() < least->launched.size()) least = stream.get();
    ++own;
  }
  if (own < m_streams_per_space)
    return new_stream(*task.space, task.space->make_instance(threads_per_worker));
  return *least;
}

void AsyncStreams::record_last(Stream& stream) {
  stream.events.push_back({stream.space->record_event(stream.instance, false), stream.last()});
}

/// Makes the stream wait until the other one has passed a position.
void AsyncStreams::wait_for(Stream& stream, Stream& other, std::uint64_t position) {
  std::uint64_t& done = stream.waited_for[static_cast<std::size_t>(other.number)];
  if (done >= position) return;
  auto const event = std::lower_bound(
      other.events.begin(), other.events.end(), position,
      [](Stream::Event const& each, std::uint64_t at) { return each.position < at; });
  stream.space->enqueue_wait(stream.instance, event->event);
  done = event->position;
}

/// Whoever asks the device gives way, so it is soon.
std::unique_lock<std::recursive_mutex> AsyncStreams::lock_soon() {
  constexpr int attempts = 200;  // about as long as it would take to be woken
  std::unique_lock lock(m_mutex, std::defer_lock);
  m_wanted.fetch_add(1, std::memory_order_relaxed);
  for (int k = 0; k < attempts && !lock.owns_lock() && !lock.try_lock(); ++k) cpu_relax();
  if (!lock.owns_lock()) lock.lock();
  m_wanted.fetch_sub(1, std::memory_order_relaxed);
  return lock;
}

void AsyncStreams::launch(Task& task, int threads_per_worker, FunctionRef<void(void*)> run,
                          FunctionRef<void(bool)> launched) {
  auto const lock = lock_soon();
  // Where time is the device's own affair, what a thread happens to have asked so far must not
  // matter.
  bool const own_clock = task.space->has_own_clock();
  if (own_clock)
    for (auto const& each : m_streams) ask(*each);
  Stream& stream = choose(task, threads_per_worker);
  bool const timed = m_recorder != nullptr;
  if (timed) set_clock(*task.space, stream.instance);
  if (!stream.launched.empty() && !stream.last_has_event() &&
      !overwrites(task, *stream.launched.back()))
    record_last(stream);

  std::fill(m_needed.begin(), m_needed.end(), 0);
  for (auto const& before : task.device_predecessors)
    if (Stream const* const other = stream_of(before); other != nullptr && other != &stream) {
      std::uint64_t& needed = m_needed[static_cast<std::size_t>(other->number)];
      needed = std::max(needed, before.task->position);
    }
  for (auto const& other : m_streams)
    if (std::uint64_t const position = m_needed[static_cast<std::size_t>(other->number)];
        position != 0) {
      if (other->events.empty() || other->events.back().position < position) record_last(*other);
      wait_for(stream, *other, position);
    }

  if (timed) task.launched_ns = m_recorder->now_ns();
  void* const start = timed ? task.space->record_event(stream.instance, true) : nullptr;
  auto const enter = [&](void* start_event) {
    task.start_event = start_event;
    task.stream = stream.number;
    task.position = stream.next++;
    stream.launched.push_back(&task);
    m_launched.fetch_add(1, std::memory_order_seq_cst);
  };
  try {
    run(stream.instance);
    task.space->check_launch(stream.instance);
    if (timed || own_clock)
      stream.events.push_back({task.space->record_event(stream.instance, timed), stream.next});
  } catch (...) {
    // Nobody knows what it has launched before. If the stream cannot even tell when it has passed
    // that, it has failed, which shows when it is asked.
    if (timed) task.space->release_event(start);
    enter(nullptr);
    return launched(true);
  }
  enter(start);
  launched(false);
}

// --- graphs --------------------------------------------------------------------------------------

namespace {

/// The tasks of a plan on a few instances that capture, with events for the order between these.
class Lanes {
 public:
  Lanes(SpaceAdapter& space, std::vector<void*>& instances, std::size_t most,
        int threads_per_worker)
      : m_space(space),
        m_instances(instances),
        m_most(most),
        m_threads_per_worker(threads_per_worker) {}
  Lanes(Lanes const&) = delete;
  Lanes& operator=(Lanes const&) = delete;
  ~Lanes() {
    for (void* event : m_events) m_space.release_event(event);
  }

  /// The first one has been told to capture; others join when they wait for its first event.
  void begin() { m_begin = record(0); }

  /// Where the task goes, ordered behind others: one of these with nothing behind it, else a fresh
  /// one, else the one whose last task is the oldest.
  std::size_t place(std::vector<std::size_t> const& before) {
    std::size_t lane = m_last.size();
    for (std::size_t const task : before)
      if (m_last[m_lane_of[task]] == task) lane = m_lane_of[task];
    if (lane == m_last.size()) {
      if (lane < m_most || lane == 0)
        open();
      else
        lane = static_cast<std::size_t>(std::min_element(m_last.begin(), m_last.end()) -
                                        m_last.begin());
    }
    for (std::size_t const task : before)
      if (m_lane_of[task] != lane) m_space.enqueue_wait(m_instances[lane], m_event_of[task]);
    return lane;
  }
  /// The next task has been launched there.
  void placed(std::size_t lane, bool somebody_waits) {
    m_last[lane] = m_lane_of.size();
    m_lane_of.push_back(lane);
    m_event_of.push_back(somebody_waits ? record(lane) : nullptr);
  }
  void join() {
    for (std::size_t lane = 1; lane < m_last.size(); ++lane)
      m_space.enqueue_wait(m_instances[0], record(lane));
  }

 private:
  void open() {
    std::size_t const lane = m_last.size();
    if (lane == m_instances.size())
      m_instances.push_back(m_space.make_instance(m_threads_per_worker));
    if (lane > 0) m_space.enqueue_wait(m_instances[lane], m_begin);
    m_last.push_back(0);
  }
  void* record(std::size_t lane) {
    m_events.push_back(nullptr);
    return m_events.back() = m_space.record_event(m_instances[lane], false);
  }

  SpaceAdapter& m_space;
  std::vector<void*>& m_instances;
  std::size_t const m_most;
  int const m_threads_per_worker;
  void* m_begin = nullptr;
  std::vector<std::size_t> m_last;     ///< by lane: the newest task
  std::vector<std::size_t> m_lane_of;  ///< by task
  std::vector<void*> m_event_of;       ///< by task
  std::vector<void*> m_events;         ///< all
};

}  // namespace

bool AsyncStreams::capture(PlanGraph& graph, std::size_t rounds, std::vector<Task*> const& tasks,
                           int threads_per_worker, FunctionRef<void(Task&, void*)> run) const {
  SpaceAdapter& space = *graph.space;
  std::unordered_map<Task const*, std::size_t> place_of;
  for (Task const* task : tasks) place_of.emplace(task, place_of.size());
  std::vector<std::vector<std::size_t>> in_round(tasks.size()), in_round_before(tasks.size());
  for (std::size_t place = 0; place < tasks.size(); ++place) {
    in_round_before[place].push_back(place);
    for (std::uint32_t k = 0; k < tasks[place]->successor_count; ++k)
      if (auto const next = place_of.find(tasks[place]->successor(k)); next != place_of.end())
        (k < tasks[place]->node.own_round ? in_round : in_round_before)[next->second].push_back(
            place);
  }

  PlanGraph::Captured& captured = rounds == 1 ? graph.one : graph.several;
  std::vector<void*>& instances = captured.instances;
  if (instances.empty()) instances.push_back(space.make_instance(threads_per_worker));
  if (!space.begin_capture(instances[0])) return false;
  try {
    Lanes lanes(space, instances, m_streams_per_space, threads_per_worker);
    lanes.begin();
    std::vector<std::size_t> before;
    for (std::size_t round = 0; round < rounds; ++round)
      for (std::size_t place = 0; place < tasks.size(); ++place) {
        before.clear();
        std::size_t const first = round * tasks.size();
        if (round > 0)
          for (std::size_t const each : in_round_before[place])
            before.push_back(first - tasks.size() + each);
        for (std::size_t const each : in_round[place]) before.push_back(first + each);
        std::size_t const lane = lanes.place(before);
        run(*tasks[place], instances[lane]);
        space.check_launch(instances[lane]);
        lanes.placed(lane, round + 1 < rounds || tasks[place]->node.own_round > 0);
      }
    lanes.join();
  } catch (...) {
    try {
      space.release_graph(space.end_capture(instances[0], nullptr));
    } catch (...) {  // it has been given up, and that was the purpose
    }
    throw;
  }
  captured.handle = space.end_capture(instances[0], captured.handle);
  captured.stale = false;
  return true;
}

void AsyncStreams::release(PlanGraph& graph) noexcept {
  if (graph.space == nullptr) return;
  for (PlanGraph::Captured const* each : {&graph.one, &graph.several}) {
    if (each->handle != nullptr) graph.space->release_graph(each->handle);
    for (void* instance : each->instances) graph.space->destroy_instance(instance);
  }
  graph = {};
}

// --- what has passed -----------------------------------------------------------------------------

/// Retires what the stream's first event covers. False: it is not known to have passed, or
/// something that came before is not.
bool AsyncStreams::pass_first_event(Stream& stream) {
  Stream::Event& first = stream.events.front();
  first.has_passed = first.has_passed || stream.space->has_passed(first.event);
  if (!first.has_passed) return false;
  for (Task const* task : stream.launched) {
    if (task->position > first.position) break;
    for (auto const& before : task->device_predecessors)
      if (Stream* const other = stream_of(before);
          other != nullptr && other != &stream && !pass_up_to(*other, before.task->position))
        return false;
  }

  Stream::Event const event = first;
  stream.events.pop_front();
  bool timed = false;
  while (!stream.launched.empty() && stream.launched.front()->position <= event.position) {
    Task& task = *stream.launched.front();
    stream.launched.pop_front();
    Retired passed{&task, stream.number};
    timed = task.start_event != nullptr;
    if (timed) note_times(passed, stream, event.event);
    task.stream = -1;
    hand_out(std::move(passed));
  }
  if (!timed || !take_as_clock(*stream.space, event.event))
    stream.space->release_event(event.event);
  return true;
}

/// True: nothing at or before the position is on the stream any more. Requires that the stream has
/// an event for that.
bool AsyncStreams::pass_up_to(Stream& stream, std::uint64_t position) {
  try {
    while (!stream.launched.empty() && stream.launched.front()->position <= position)
      if (!pass_first_event(stream)) return false;
  } catch (...) {
    fail(stream, std::current_exception());
  }
  return true;
}

/// From here on the task may be complete, and reused.
void AsyncStreams::hand_out(Retired&& retired) {
  std::lock_guard const lock(m_retired_lock);
  m_retired.push_back(std::move(retired));
}

/// Nothing that is on the stream will pass.
void AsyncStreams::fail(Stream& stream, std::exception_ptr const& error) {
  auto const failure = std::make_shared<StreamFailure>(StreamFailure{error, {}});
  for (Stream::Event const& event : stream.events) stream.space->release_event(event.event);
  stream.events.clear();
  for (Task* task : std::exchange(stream.launched, {})) {
    if (task->start_event != nullptr) stream.space->release_event(task->start_event);
    task->start_event = nullptr;
    task->stream = -1;
    hand_out({task, stream.number, 0, 0, failure});
  }
}

void AsyncStreams::ask(Stream& stream) {
  if (stream.launched.empty()) return;
  try {
    if (stream.events.empty()) record_last(stream);
    while (!stream.events.empty() && pass_first_event(stream)) {
    }
  } catch (...) {
    fail(stream, std::current_exception());
  }
}

/// Each question is a call of the driver, and a thread that is to launch something must not wait
/// for many: then the others are asked next time. `m_wanted` is only a hint.
void AsyncStreams::ask_in_turns() {
  for (std::size_t left = m_streams.size(); left > 0; --left) {
    m_next_asked = (m_next_asked + 1) % m_streams.size();
    ask(*m_streams[m_next_asked]);
    if (m_wanted.load(std::memory_order_relaxed) > 0) return;
  }
}

void AsyncStreams::retire() {
  std::unique_lock const lock(m_mutex, std::try_to_lock);
  if (lock.owns_lock()) ask_in_turns();
}

bool AsyncStreams::next_retired(Retired& retired) {
  {
    std::lock_guard const lock(m_retired_lock);
    if (m_retired.empty()) return false;
    retired = std::move(m_retired.front());
    m_retired.pop_front();
  }
  m_launched.fetch_sub(1, std::memory_order_seq_cst);
  return true;
}

void AsyncStreams::host_is_idle() {
  std::unique_lock const lock(m_mutex, std::try_to_lock);
  if (!lock.owns_lock()) return;
  for (auto const& stream : m_streams)
    if (!stream->launched.empty()) stream->space->host_is_idle();
}

// --- times ---------------------------------------------------------------------------------------

void AsyncStreams::set_clock(SpaceAdapter& space, void* instance) {
  for (Clock const& clock : m_clocks)
    if (clock.space == &space) return;
  // The thread may be interrupted between the event and the look at the host's clock: the best of a
  // few.
  Clock best{&space, nullptr, 0};
  std::uint64_t best_doubt = 0;
  for (int attempt = 0; attempt < 8; ++attempt) {
    std::uint64_t const before = m_recorder->now_ns();
    void* event = nullptr;
    try {
      event = space.record_event(instance, true);
      while (!space.has_passed(event)) space.host_is_idle();
    } catch (...) {  // the device has failed
      for (void* const each : {best.event, event})
        if (each != nullptr) space.release_event(each);
      throw;
    }
    std::uint64_t const after = m_recorder->now_ns();
    bool const better = best.event == nullptr || after - before < best_doubt;
    if (void* const worse = better ? best.event : event) space.release_event(worse);
    if (!better) continue;
    best = {&space, event, static_cast<std::int64_t>(before + (after - before) / 2)};
    best_doubt = after - before;
  }
  m_clocks.push_back(best);
}

AsyncStreams::Clock& AsyncStreams::clock_of(SpaceAdapter const& space) {
  return *std::find_if(m_clocks.begin(), m_clocks.end(),
                       [&](Clock const& each) { return each.space == &space; });
}

/// By the host's clock. Requires a timed event that has passed.
std::int64_t AsyncStreams::time_of(Clock const& clock, void* event) {
  return clock.at_ns + clock.space->nanoseconds_between(clock.event, event);
}

/// The two clocks do not run alike to the last millionth. That nothing starts before it was
/// launched, nor is over later than it was seen to be, tells when they are too far apart, and by
/// how much at least.
void AsyncStreams::note_times(Retired& passed, Stream& stream, void* event) {
  Task& task = *passed.task;
  Clock& clock = clock_of(*stream.space);
  std::int64_t earliest = 0;
  std::int64_t latest = std::numeric_limits<std::int64_t>::max();
  if (!stream.space->has_own_clock()) {
    auto const launched = static_cast<std::int64_t>(task.launched_ns);
    earliest = std::max(stream.past_ns, launched);
    latest = static_cast<std::int64_t>(m_recorder->now_ns());
    if (std::int64_t const end = time_of(clock, event); end > latest)
      clock.at_ns -= end - latest;
    else if (std::int64_t const begin = time_of(clock, task.start_event); begin < launched)
      clock.at_ns += std::min(launched - begin, latest - end);
  }
  std::int64_t const started = std::clamp(time_of(clock, task.start_event), earliest, latest);
  std::int64_t const finished = std::clamp(time_of(clock, event), started, latest);
  passed.started_ns = static_cast<std::uint64_t>(started);
  passed.finished_ns = static_cast<std::uint64_t>(finished);
  stream.past_ns = finished;
  stream.space->release_event(task.start_event);
  task.start_event = nullptr;
}

/// Devices tell long spans less exactly (CUDA in a float of milliseconds: to 60 ns after a second,
/// to 8 us after two minutes), so the event that times are taken from must not be an old one. True:
/// the event is that one now.
bool AsyncStreams::take_as_clock(SpaceAdapter& space, void* event) {
  constexpr std::int64_t longest_ns = 1'000'000'000;
  Clock& clock = clock_of(space);
  std::int64_t const at = time_of(clock, event);
  if (at < clock.at_ns + longest_ns) return false;
  space.release_event(clock.event);
  clock = {&space, event, at};
  return true;
}

std::vector<std::string> AsyncStreams::names() const {
  std::lock_guard const lock(m_mutex);
  std::vector<std::string> names;
  for (auto const& stream : m_streams)
    names.push_back(std::string(stream->space->name()) + " stream " +
                    std::to_string(stream->number));
  return names;
}

}  // namespace trellis::Impl
