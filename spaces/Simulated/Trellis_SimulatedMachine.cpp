// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Simulated/impl/Trellis_SimulatedMachine.hpp>
#include <Trellis_Error.hpp>

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

/// This file computes time: when each operation is done, which thread does it, and what it costs.
namespace trellis::Impl {

namespace {

thread_local bool is_device_work = false;

/// Marks this thread as one that does work of a device, and opens the devices' memory.
class DeviceWork {
 public:
  explicit DeviceWork(SimulatedMachine& machine) : m_machine(machine) {
    is_device_work = true;
    m_machine.open_memory();
  }
  DeviceWork(DeviceWork const&) = delete;
  DeviceWork& operator=(DeviceWork const&) = delete;
  ~DeviceWork() {
    m_machine.close_memory();
    is_device_work = false;
  }

 private:
  SimulatedMachine& m_machine;
};

/// Does the work, and returns the text of what it threw.
std::string do_work(SimulatedMachine& machine, SimulatedTask const& task) {
  DeviceWork const here(machine);
  std::string text;
  try {
    if (task.function) task.function();
    return {};
  } catch (std::exception const& error) {
    text = error.what();
  } catch (...) {
    text = "an exception that is no std::exception";
  }
  return "\"" + task.name + "\" failed: " + text;
}

}  // namespace

SimulatedMachine::Lock SimulatedMachine::lock() {
  if (is_device_work)
    throw Error(Error::Kind::bad_input,
                "Trellis: work of a simulated device cannot use a simulated device");
  return Lock(m_mutex);
}

std::int64_t SimulatedMachine::now() const {
  if (m_virtual) return m_now.load(std::memory_order_relaxed);
  auto const since = std::chrono::steady_clock::now() - m_start;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

void SimulatedMachine::spend(Lock& lock, std::int64_t nanoseconds) {
  if (nanoseconds <= 0) return;
  if (m_virtual) {
    m_now += nanoseconds;
    return;
  }
  lock.unlock();
  sleep_until(now() + nanoseconds);
  lock.lock();
}

void SimulatedMachine::sleep_until(std::int64_t time) const {
  using namespace std::chrono_literals;
  std::int64_t const left = time - now();
  if (left > 100'000) std::this_thread::sleep_for(std::chrono::nanoseconds(left) - 60us);
  while (now() < time) std::this_thread::yield();
}

// --- the host waits

void SimulatedMachine::catch_up() {
  if (!m_virtual) return;
  while (step(now())) {
  }
  m_simulated = now();
}

void SimulatedMachine::ask(SimulatedEvent& event) {
  if (event.asked) return;
  event.asked = true;
  ++m_asked;
}

void SimulatedMachine::forget(SimulatedEvent& event) {
  if (!event.asked) return;
  event.asked = false;
  --m_asked;
}

void SimulatedMachine::host_is_idle() {
  if (!m_virtual) return;
  Lock const guard = lock();
  catch_up();
  if (!m_news && m_asked > 0) {
    while (!m_news && step(std::numeric_limits<std::int64_t>::max())) {
    }
    m_now = m_simulated;
  }
  m_news = false;  // the caller queries the events again
}

void SimulatedMachine::wait_for(Lock& lock, SimulatedEvent& event) {
  auto const over = [&] { return event.passed || event.lost; };
  if (m_virtual) {
    catch_up();
    while (!over() && step(std::numeric_limits<std::int64_t>::max())) {
    }
    m_now = m_simulated;
  } else {
    ++m_waiting;
    m_changed.wait(lock, over);
    --m_waiting;
  }
}

void SimulatedMachine::finish(Lock& lock) {
  if (m_virtual) {
    catch_up();
    while (m_pending > 0 && step(std::numeric_limits<std::int64_t>::max())) {
    }
    m_now = m_simulated;
  } else {
    ++m_waiting;
    m_changed.wait(lock, [&] { return m_pending == 0; });
    --m_waiting;
  }
}

// --- what the devices do next

void SimulatedMachine::open_queue(SimulatedQueuePtr const& queue) {
  auto& queues = queue->device->queues;
  std::erase_if(queues, [](auto const& each) { return each.expired(); });
  queues.push_back(queue);
  if (!m_virtual) queue->thread = std::thread([this, raw = queue.get()] { serve(*raw); });
}

void SimulatedMachine::close_queue(SimulatedQueue& queue) noexcept {
  if (!queue.thread.joinable()) return;
  {
    Lock const lock(m_mutex);
    queue.stop = true;
    queue.changed.notify_one();
  }
  queue.thread.join();
}

void SimulatedMachine::enqueue(SimulatedQueuePtr const& queue, SimulatedOperation&& operation) {
  if (m_virtual) do_now(*queue, operation);
  queue->pending.push_back(std::move(operation));
  ++m_pending;
  if (queue->pending.size() == 1) wake(queue, std::max(now(), queue->pending.front().available));
}

// All operations before this one have been enqueued earlier, and so are done.
void SimulatedMachine::do_now(SimulatedQueue& queue, SimulatedOperation& operation) {
  switch (operation.kind) {
    case SimulatedOperation::Kind::work:
      if (queue.skips) return;
      operation.failure = do_work(queue.device->machine, *operation.task);
      queue.skips = !operation.failure.empty();
      return;
    case SimulatedOperation::Kind::wait:
      queue.skips = queue.skips || operation.event->skipped;
      return;
    case SimulatedOperation::Kind::record:
      operation.event->skipped = queue.skips;
  }
}

void SimulatedMachine::wake(SimulatedQueuePtr const& queue, std::int64_t time) {
  if (m_virtual)
    m_wakes.push({time, m_next_wake++, queue});
  else
    queue->changed.notify_one();
}

bool SimulatedMachine::step(std::int64_t limit) {
  if (m_wakes.empty() || m_wakes.top().time > limit) return false;
  Wake const next = m_wakes.top();
  m_wakes.pop();
  SimulatedQueue& queue = *next.queue;
  if (queue.pending.empty()) return true;  // the device has dropped it
  m_simulated = std::max(m_simulated, next.time);
  if (queue.pending.front().started) {
    if (queue.pending.front().end > next.time) return true;
    complete(queue, next.time);
  }
  if (advance(next.queue, next.time)) {
    SimulatedOperation& work = queue.pending.front();
    work.end = work.begin + work.task->cost;
    wake(next.queue, work.end);
  }
  return true;
}

void SimulatedMachine::serve(SimulatedQueue& queue) {
  Lock lock(m_mutex);
  SimulatedQueuePtr const self = queue.shared_from_this();
  for (;;) {
    // Both questions use one time. Work that became available between two times would be waited for
    // for ever.
    std::int64_t const asked = now();
    if (advance(self, asked)) {
      auto task = queue.pending.front().task;
      std::int64_t const begin = queue.pending.front().begin;
      std::uint64_t const era = queue.era;
      queue.works = true;
      lock.unlock();
      std::string failure = do_work(*this, *task);
      sleep_until(begin + task->cost);
      task.reset();
      lock.lock();
      queue.works = false;
      if (queue.era != era) continue;  // the device has dropped it
      queue.pending.front().failure = std::move(failure);
      complete(queue, now());
    } else if (queue.pending.empty()) {
      if (queue.stop) return;
      queue.changed.wait(lock);
    } else if (std::int64_t const time = queue.pending.front().available; time > asked) {
      lock.unlock();
      sleep_until(time);
      lock.lock();
    } else {
      queue.changed.wait(lock);
    }
  }
}

bool SimulatedMachine::advance(SimulatedQueuePtr const& queue, std::int64_t now) {
  SimulatedDeviceState& device = *queue->device;
  while (!queue->pending.empty()) {
    SimulatedOperation& front = queue->pending.front();
    if (front.started) return false;
    if (front.available > now) {
      if (m_virtual) wake(queue, front.available);
      return false;
    }
    switch (front.kind) {
      case SimulatedOperation::Kind::wait:
        if (front.event->lost) {
          fail(device, "it waited for an event of " + front.event->device->title() +
                           ", which has failed: " + front.event->device->failure);
          return false;
        }
        if (!front.event->passed) {
          if (!front.waits) front.event->waiters.push_back(queue);
          front.waits = true;
          return false;
        }
        device.mark(front, now, now);
        pop(*queue);
        break;
      case SimulatedOperation::Kind::record:
        device.mark(front, now, now);
        pass(*front.event, now);
        pop(*queue);
        break;
      case SimulatedOperation::Kind::work:
        if (!take(*front.task->resource, queue, front)) return false;
        front.started = true;
        front.begin = now;
        if (device.running++ == 0) device.running_since = now;
        return true;
    }
  }
  return false;
}

bool SimulatedMachine::take(SimulatedResource& resource, SimulatedQueuePtr const& queue,
                            SimulatedOperation& operation) {
  if (resource.limit == 0 || operation.has_room) return true;
  if (resource.taken < resource.limit) {
    ++resource.taken;
    return operation.has_room = true;
  }
  if (!operation.waits) resource.waiters.push_back(queue);
  operation.waits = true;
  return false;
}

void SimulatedMachine::release(SimulatedResource& resource, std::int64_t now) {
  if (resource.limit == 0) return;
  if (resource.waiters.empty()) {
    --resource.taken;
    return;
  }
  SimulatedQueuePtr const next = std::move(resource.waiters.front());
  resource.waiters.pop_front();
  next->pending.front().has_room = true;
  wake(next, now);
}

void SimulatedMachine::pass(SimulatedEvent& event, std::int64_t now) {
  event.passed = true;
  event.time = now;
  if (event.asked) m_news = true;
  forget(event);
  for (SimulatedQueuePtr const& queue : event.waiters) wake(queue, now);
  event.waiters.clear();
  if (m_waiting > 0) m_changed.notify_all();
}

void SimulatedMachine::lose(SimulatedEvent& event) {
  event.lost = true;
  if (event.asked) m_news = true;
  forget(event);
  for (SimulatedQueuePtr const& queue : event.waiters) wake(queue, std::max(now(), m_simulated));
  event.waiters.clear();
}

void SimulatedMachine::complete(SimulatedQueue& queue, std::int64_t now) {
  SimulatedDeviceState& device = *queue.device;
  SimulatedOperation& work = queue.pending.front();
  device.mark(work, work.begin, now);
  if (--device.running == 0) device.busy += now - device.running_since;
  device.stream_busy[static_cast<std::size_t>(queue.stream)] += now - work.begin;
  makespan = std::max(makespan, now);
  release(*work.task->resource, now);
  std::string const failure = std::move(work.failure);
  pop(queue);
  if (!failure.empty()) fail(device, failure);
}

void SimulatedMachine::pop(SimulatedQueue& queue) {
  queue.pending.pop_front();
  if (--m_pending == 0 && m_waiting > 0) m_changed.notify_all();
}

void SimulatedMachine::fail(SimulatedDeviceState& device, std::string const& text) {
  if (!device.failure.empty()) return;
  device.failure = text;
  device.write({.kind = SimulatedRecord::Kind::error, .name = text});
  drop(device);
}

void SimulatedMachine::drop(SimulatedDeviceState& device) {
  for (auto const& each : device.queues) {
    SimulatedQueuePtr const queue = each.lock();
    if (queue == nullptr) continue;
    ++queue->era;
    m_pending -= static_cast<int>(queue->pending.size());
    std::deque<SimulatedOperation> const dropped = std::exchange(queue->pending, {});
    for (SimulatedOperation const& operation : dropped)
      if (operation.kind == SimulatedOperation::Kind::record) lose(*operation.event);
    if (!m_virtual) queue->changed.notify_one();
  }
  for (SimulatedResource* resource : {&device.kernels, &device.from_host, &device.to_host}) {
    resource->taken = 0;
    resource->waiters.clear();
  }
  std::vector<Wake> others;
  for (; !m_wakes.empty(); m_wakes.pop())
    if (m_wakes.top().queue->device.get() != &device) others.push_back(m_wakes.top());
  for (Wake& each : others) m_wakes.push(std::move(each));
  std::int64_t const time = std::max(m_simulated, m_virtual ? 0 : now());
  if (std::exchange(device.running, 0) > 0) device.busy += time - device.running_since;
  if (m_waiting > 0) m_changed.notify_all();
}

SimulatedStream::Owner::~Owner() {
  SimulatedMachine& machine = queue->device->machine;
  machine.close_queue(*queue);
  for (SimulatedQueuePtr const& branch : queue->branches) machine.close_queue(*branch);
}

// --- the log

void SimulatedDeviceState::write(SimulatedRecord&& record, SimulatedOperation* operation) {
  if (!options.log) return;
  record.thread = std::this_thread::get_id();
  record.called = machine.now();
  std::lock_guard const lock(log_lock);
  record.order = machine.next_record++;
  if (operation != nullptr) {
    operation->record = log.size();
    operation->log_era = log_era;
  }
  log.push_back(std::move(record));
}

void SimulatedDeviceState::mark(SimulatedOperation const& operation, std::int64_t begin,
                                std::int64_t end) {
  if (operation.record == SimulatedOperation::no_record) return;
  std::lock_guard const lock(log_lock);
  if (operation.log_era != log_era) return;
  if (operation.marks_begin) log[operation.record].begin = begin;
  if (operation.marks_end) log[operation.record].end = end;
}

}  // namespace trellis::Impl

namespace trellis {

SimulatedClock::SimulatedClock(Time time)
    : m_machine(std::make_unique<Impl::SimulatedMachine>(time == Time::virtual_time)) {}
SimulatedClock::~SimulatedClock() = default;

std::shared_ptr<SimulatedClock> SimulatedClock::shared_real() {
  static auto const clock = std::make_shared<SimulatedClock>(Time::real);
  return clock;
}

bool SimulatedClock::is_virtual() const {
  return m_machine->is_virtual();
}
std::int64_t SimulatedClock::now() const {
  return m_machine->now();
}
void SimulatedClock::spend(std::int64_t nanoseconds) {
  auto lock = m_machine->lock();
  m_machine->spend(lock, nanoseconds);
}
void SimulatedClock::finish() {
  auto lock = m_machine->lock();
  m_machine->finish(lock);
}
std::int64_t SimulatedClock::makespan() const {
  auto const lock = m_machine->lock();
  m_machine->catch_up();
  return m_machine->makespan;
}

}  // namespace trellis
