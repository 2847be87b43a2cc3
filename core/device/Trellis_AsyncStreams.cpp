// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <access/Trellis_AccessTable.hpp>
#include <device/Trellis_AsyncStreams.hpp>
#include <base/Trellis_SpinLock.hpp>

#include <algorithm>
#include <utility>

namespace trellis::Impl {

namespace {

bool overwrites(TaskAccess const& later, TaskAccess const& access) {
  return later.state < 0 && (later.mode == Mode::write || later.mode == Mode::read_write) &&
         (later.entry == access.entry || contains(later.entry->area, access.entry->area));
}

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
  m_clock.stop();  // its events were recorded on the instances
  for (auto const& stream : m_streams) stream->device->destroy_instance(stream->instance);
}

// --- launching -----------------------------------------------------------------------------------

/// The stream takes over the instance; if this throws, the instance is destroyed.
AsyncStreams::Stream& AsyncStreams::new_stream(DeviceAdapter& device, void* instance) {
  std::unique_ptr<Stream> stream;
  try {
    stream = std::make_unique<Stream>();
    m_streams.reserve(m_streams.size() + 1);
  } catch (...) {
    device.destroy_instance(instance);
    throw;
  }
  stream->device = &device;
  stream->instance = instance;
  stream->number = static_cast<int>(m_streams.size());
  m_streams.push_back(std::move(stream));
  m_needed.push_back(0);
  for (auto const& each : m_streams) {
    each->waited_for.resize(m_streams.size(), 0);
    each->needed.resize(m_streams.size(), 0);
  }
  if (device.has_own_clock()) m_own_clock.store(true, std::memory_order_relaxed);
  if (device.launch_is_slow()) m_slow_launches.store(true, std::memory_order_relaxed);
  return *m_streams.back();
}

int AsyncStreams::stream_for(DeviceAdapter& device, void const* instance) {
  Reserve::require();
  std::lock_guard const lock(m_mutex);
  for (auto const& stream : m_streams)
    if (stream->of_user && stream->device == &device &&
        device.same_queue(stream->instance, instance))
      return stream->number;
  void* const copy = device.copy_instance(instance);
  if (copy == nullptr) return -1;
  Stream& stream = new_stream(device, copy);
  stream.of_user = true;
  return stream.number;
}

AsyncStreams::Stream& AsyncStreams::choose(Task const& task, DeviceAdapter& device,
                                           int threads_per_worker) {
  if (task.on_device->wanted_stream >= 0)
    return *m_streams[static_cast<std::size_t>(task.on_device->wanted_stream)];
  if (Stream* const behind = m_ends_in_predecessor; behind != nullptr && !behind->of_user)
    return *behind;
  Stream* least = nullptr;
  std::size_t own = 0;
  for (auto const& stream : m_streams) {
    if (stream->device != &device || stream->of_user) continue;
    if (stream->launched.empty()) return *stream;
    if (least == nullptr || stream->launched.size() < least->launched.size()) least = stream.get();
    ++own;
  }
  if (own < m_streams_per_space)
    return new_stream(device, device.make_instance(threads_per_worker));
  return *least;
}

/// The number of other streams for which the stream must still wait to come after `m_needed`.
int AsyncStreams::new_waits(Stream const& stream) const {
  int waits = 0;
  for (std::size_t k = 0; k < m_streams.size(); ++k)
    if (m_needed[k] > stream.waited_for[k] && m_streams[k].get() != &stream) ++waits;
  return waits;
}

void AsyncStreams::add_event(Stream& stream, bool timed, std::uint64_t position) {
  Stream::Event event{nullptr, position, stream.needed};
  event.event = stream.device->record_event(stream.instance, timed);
  stream.events.push_back(std::move(event));
}

/// The number of the first event at or behind a position. Requires that there is one.
std::size_t AsyncStreams::event_behind(Stream const& stream, std::uint64_t position) {
  auto const event = std::lower_bound(
      stream.events.begin(), stream.events.end(), position,
      [](Stream::Event const& each, std::uint64_t at) { return each.position < at; });
  return static_cast<std::size_t>(event - stream.events.begin());
}

void AsyncStreams::wait_for(Stream& stream, Stream& other, std::uint64_t position) {
  std::uint64_t& done = stream.waited_for[static_cast<std::size_t>(other.number)];
  if (done >= position) return;
  Stream::Event const& event = other.events[event_behind(other, position)];
  stream.device->enqueue_wait(stream.instance, event.event);
  done = event.position;
}

std::unique_lock<RecursiveLock> AsyncStreams::try_to_lock(int attempts) {
  std::unique_lock lock(m_mutex, std::defer_lock);
  for (int k = 0; k < attempts && !lock.try_lock(); ++k) cpu_relax();
  return lock;
}

/// Finds the newest position on each stream that the tasks come after, and the stream where the
/// first task needs no event. Each predecessor is read once, as other threads write to it.
void AsyncStreams::find_needed(std::span<Task* const> tasks, DeviceAdapter const& device) {
  std::fill(m_needed.begin(), m_needed.end(), 0);
  m_ends_in_predecessor = nullptr;
  for (Task const* const task : tasks)
    for (auto const& [before, id] : task->on_device->predecessors) {
      if (before->on_device->launched_id != id || before->on_device->stream < 0)
        continue;  // it has retired
      Stream& other = *m_streams[static_cast<std::size_t>(before->on_device->stream)];
      std::uint64_t& needed = m_needed[static_cast<std::size_t>(before->on_device->stream)];
      needed = std::max(needed, before->on_device->position);
      // The newest predecessor is the last one of the list.
      if (task == tasks.front() && other.device == &device &&
          before->on_device->position == other.last())
        m_ends_in_predecessor = &other;
    }
}

/// True if one event may serve both the newest tasks of the stream, which have none, and this one.
/// See EVENTS.
bool AsyncStreams::may_share_event(Stream& stream, Task const& task) const {
  std::uint64_t const recorded = stream.last_recorded();
  std::uint64_t const without = stream.last() - recorded;
  bool const is_chain = without == 1 || stream.ends_in_chain;
  stream.ends_in_chain = is_chain && overwrites(task, *stream.launched.back());
  if (stream.ends_in_chain) return true;
  if (without >= stream.spacing) return false;
  return m_needed[static_cast<std::size_t>(stream.number)] <= recorded && new_waits(stream) == 0;
}

void AsyncStreams::launch(std::span<Task* const> tasks, DeviceAdapter& device,
                          int threads_per_worker, FunctionRef<void(void*)> run,
                          std::size_t const& at, FunctionRef<void(Task& task, bool)> launched) {
  Reserve::require();
  std::unique_lock const lock(m_mutex);
  Task& first = *tasks.front();
  // For a device with its own clock, the result must not depend on what threads have asked so far.
  bool const own_clock = device.has_own_clock();
  if (own_clock)
    for (auto const& each : m_streams)
      if (each->device->has_own_clock()) ask(*each);
  find_needed(tasks, device);
  Stream& stream = choose(first, device, threads_per_worker);
  bool const timed = m_clock.runs();
  if (timed) m_clock.set(device, stream.instance);
  if (!stream.launched.empty() && !stream.last_has_event() &&
      !(tasks.size() == 1 && may_share_event(stream, first)))
    record_last(stream);
  if (tasks.size() > 1) stream.ends_in_chain = false;
  for (auto const& other : m_streams)
    if (std::uint64_t const position = m_needed[static_cast<std::size_t>(other->number)];
        position != 0 && other.get() != &stream) {
      if (other->events.empty() || other->events.back().position < position) record_last(*other);
      wait_for(stream, *other, position);
      std::uint64_t& needed = stream.needed[static_cast<std::size_t>(other->number)];
      needed = std::max(needed, position);
    }

  std::uint64_t const launched_ns = timed ? m_clock.now_ns() : 0;
  void* start = timed ? device.record_event(stream.instance, true) : nullptr;
  auto const enter = [&](std::span<Task* const> which) {
    for (Task* const task : which) {
      if (timed) task->on_device->launched_ns = launched_ns;
      task->on_device->start_event =
          std::exchange(start, nullptr);  // for the first task; see pass_first_event
      task->on_device->launched_id = task->live_id.load(std::memory_order_relaxed);
      task->on_device->stream = stream.number;
      task->on_device->position = stream.next++;
      stream.launched.push_back(task);
      m_launched.fetch_add(1, std::memory_order_seq_cst);
    }
  };
  bool has_returned = false;
  try {
    run(stream.instance);
    has_returned = true;
    device.check_launch(stream.instance);
    if (timed || own_clock) add_event(stream, timed, stream.last() + tasks.size());
  } catch (...) {
    // It is unknown what `run` has launched before. If the stream cannot even tell when it has
    // passed that, the stream has failed, which shows when it is asked.
    if (timed) device.release_event(std::exchange(start, nullptr));
    if (!has_returned && at >= tasks.size()) throw;
    std::size_t const failed = has_returned ? 0 : at;
    std::size_t const begun = has_returned ? tasks.size() : at + 1;
    enter(tasks.first(begun));
    for (std::size_t k = 0; k < begun; ++k) launched(*tasks[k], k >= failed);
    return;
  }
  enter(tasks);
  for (Task* const task : tasks) launched(*task, false);
}

// --- what has passed -----------------------------------------------------------------------------

/// True if the stream's event of this number has passed; then those before it have, too.
bool AsyncStreams::has_passed(Stream& stream, std::size_t number) {
  Stream::Event& event = stream.events[number];
  if (event.has_passed) return true;
  if (!stream.device->has_passed(event.event)) return false;
  for (std::size_t k = number + 1; k > 0 && !stream.events[k - 1].has_passed; --k)
    stream.events[k - 1].has_passed = true;
  return true;
}

/// As `has_passed`, for an event behind others. An error does not tell which of them it belongs to,
/// so the answer is true. The event that has not passed reports the error again when its turn
/// comes.
bool AsyncStreams::may_have_passed(Stream& stream, std::size_t number) {
  try {
    return has_passed(stream, number);
  } catch (...) {
    return true;
  }
}

/// Retires the tasks that the stream's first event covers. False if the event, or something that
/// came before it, is not known to have passed.
bool AsyncStreams::pass_first_event(Stream& stream) {
  if (!has_passed(stream, 0)) return false;
  for (std::size_t k = 0; k < stream.events.front().needed.size(); ++k)
    if (std::uint64_t const position = stream.events.front().needed[k];
        position != 0 && !pass_up_to(*m_streams[k], position))
      return false;
  Stream::Event const event = std::move(stream.events.front());
  stream.events.pop_front();
  bool timed = false;
  Retired of_batch{};  // first task of the batch, which has the start event of all
  while (!stream.launched.empty() &&
         stream.launched.front()->on_device->position <= event.position) {
    Task& task = *stream.launched.front();
    stream.launched.pop_front();
    Retired passed{&task, stream.number};
    if (task.on_device->start_event != nullptr) {
      timed = true;
      note_times(passed, stream, event.event);
      of_batch = passed;
    } else {
      passed.started_ns = of_batch.started_ns;
      passed.finished_ns = of_batch.finished_ns;
    }
    task.on_device->stream = -1;
    hand_out(std::move(passed));
  }
  if (!timed || !m_clock.take(*stream.device, event.event))
    stream.device->release_event(event.event);
  return true;
}

void AsyncStreams::note_times(Retired& passed, Stream& stream, void* event) {
  Task& task = *passed.task;
  if (auto const times = m_clock.span(*stream.device, task.on_device->start_event, event,
                                      task.on_device->launched_ns, stream.past_ns)) {
    passed.started_ns = static_cast<std::uint64_t>(times->started);
    passed.finished_ns = static_cast<std::uint64_t>(times->finished);
    stream.past_ns = times->finished;
  }
  stream.device->release_event(task.on_device->start_event);
  task.on_device->start_event = nullptr;
}

/// True if the stream has no task left at or before the position. Requires that the stream has an
/// event for it.
bool AsyncStreams::pass_up_to(Stream& stream, std::uint64_t position) {
  try {
    if (stream.first() > position) return true;
    if (!may_have_passed(stream, event_behind(stream, position))) return false;
    while (stream.first() <= position)
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

/// Nothing on the stream will pass any more.
void AsyncStreams::fail(Stream& stream, std::exception_ptr const& error) {
  auto const failure = std::allocate_shared<StreamFailure>(FromReserve<StreamFailure>(), error);
  for (Stream::Event const& event : stream.events) stream.device->release_event(event.event);
  stream.events.clear();
  for (Task* task : std::exchange(stream.launched, {})) {
    if (task->on_device->start_event != nullptr)
      stream.device->release_event(task->on_device->start_event);
    task->on_device->start_event = nullptr;
    task->on_device->stream = -1;
    hand_out({task, stream.number, 0, 0, failure});
  }
}

void AsyncStreams::ask(Stream& stream) {
  if (stream.launched.empty()) return;
  try {
    if (stream.events.empty()) record_last(stream);
    // Each query is a call of the driver, so one query serves many events: at the first, second,
    // fourth, ... as long as these have passed.
    while (!stream.events.empty()) {
      std::size_t ahead = 1;
      while (ahead <= stream.events.size() && may_have_passed(stream, ahead - 1)) ahead *= 2;
      if (ahead == 1) return;
      do {
        if (!pass_first_event(stream)) return;
      } while (!stream.events.empty() && stream.events.front().has_passed);
    }
  } catch (...) {
    fail(stream, std::current_exception());
  }
}

void AsyncStreams::retire_passed(Stream& stream) {
  try {
    while (!stream.events.empty() && stream.events.front().has_passed && pass_first_event(stream)) {
    }
  } catch (...) {
    fail(stream, std::current_exception());
  }
}

/// Finds one query for each busy stream. It looks further ahead the more events have passed so far.
/// False if there is none.
bool AsyncStreams::find_questions() {
  m_questions.clear();
  std::unique_lock const lock(m_mutex, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  for (auto const& each : m_streams) {
    Stream& stream = *each;
    if (stream.launched.empty() || stream.device->has_own_clock()) continue;
    try {
      if (stream.events.empty()) record_last(stream);
    } catch (...) {
      fail(stream, std::current_exception());
      continue;
    }
    Stream::Event const& event = stream.events[std::min(stream.ahead, stream.events.size()) - 1];
    m_questions.push_back({&stream, event.event, event.position, stream.last() - event.position});
  }
  return !m_questions.empty();
}

void AsyncStreams::note_answer(Question const& question) {
  Stream& stream = *question.stream;
  if (question.answer == Question::Answer::passed) {
    for (Stream::Event& event : stream.events) {
      if (event.position > question.position) break;
      event.has_passed = true;
    }
    stream.ahead = std::min<std::size_t>(2 * stream.ahead, 1024);
  } else {
    stream.ahead = std::max<std::size_t>(stream.ahead / 2, 1);
  }
}

/// Sparse events give less information. That does not matter while the stream has finished all
/// tasks but the last few: no more than may share an event.
void AsyncStreams::adapt_spacing(Question const& question) {
  Stream& stream = *question.stream;
  bool const continues = std::exchange(stream.asked_at, stream.next) != stream.next;
  bool const keeps_up = question.behind <= widest_spacing;
  if (question.answer != Question::Answer::passed) {
    if (!keeps_up) stream.spacing = 1;
  } else if (continues && keeps_up) {
    stream.spacing = std::min(2 * stream.spacing, widest_spacing);
  }
}

/// Called after the streams have been asked.
void AsyncStreams::note_what_is_awaited() {
  bool const is_new = m_awaited.load(std::memory_order_relaxed) && m_awaited.exchange(false);
  bool any = false;
  for (auto const& stream : m_streams) {
    if (is_new) stream->awaited = stream->last();
    any = any || (!stream->launched.empty() &&
                  stream->launched.front()->on_device->position <= stream->awaited);
  }
  m_any_awaited = any;
}

void AsyncStreams::retire() {
  std::unique_lock const asking(m_asking, std::try_to_lock);
  if (!asking.owns_lock()) return;
  if (has_own_clock()) {
    std::unique_lock const lock(m_mutex, std::try_to_lock);
    if (!lock.owns_lock()) return;
    for (auto const& stream : m_streams) ask(*stream);
    return note_what_is_awaited();
  }
  if (!find_questions()) return;
  for (Question& question : m_questions) try {
      if (question.stream->device->has_passed(question.event))
        question.answer = Question::Answer::passed;
    } catch (...) {
      question.answer = Question::Answer::error;
    }
  // Not for ever: a launch is user code. If it fails, the same is asked again.
  auto const lock = try_to_lock(2000);
  if (!lock.owns_lock()) return;
  for (Question const& question : m_questions) note_answer(question);
  // One by one, so that the first event that has not passed gets the error.
  for (Question const& question : m_questions)
    if (question.answer == Question::Answer::error) {
      ask(*question.stream);
    } else {
      retire_passed(*question.stream);
      adapt_spacing(question);
    }
  note_what_is_awaited();
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
    if (!stream->launched.empty()) stream->device->host_is_idle();
}

std::vector<std::string> AsyncStreams::names() const {
  std::lock_guard const lock(m_mutex);
  std::vector<std::string> names;
  for (auto const& stream : m_streams)
    names.push_back(std::string(stream->device->name()) + " stream " +
                    std::to_string(stream->number));
  return names;
}

}  // namespace trellis::Impl
