// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Simulated/Trellis_SimulatedDevice.hpp>
#include <Simulated/impl/Trellis_SimulatedMachine.hpp>
#include <Trellis_Error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace trellis {

using namespace Impl;
using Kind = SimulatedRecord::Kind;
using Operation = SimulatedOperation;

namespace {

SimulatedQueue& queue_of(void const* instance) {
  return *static_cast<SimulatedStream const*>(instance)->owner->queue;
}
SimulatedEventPtr& event_of(void* event) {
  return *static_cast<SimulatedEventPtr*>(event);
}

[[noreturn]] void refuse(std::string const& text) {
  throw Error(Error::Kind::bad_input, "Trellis: " + text);
}
/// Makes the capture invalid, so that it can no longer become a graph, and throws.
[[noreturn]] void spoil(SimulatedCapture& capture, std::string const& text) {
  if (capture.invalid.empty()) capture.invalid = text;
  refuse(text);
}

std::string title_of(SimulatedQueue const& queue) {
  return "stream " + std::to_string(queue.stream) + " of " + queue.device->title();
}

void require_valid(SimulatedQueue const& queue) {
  if (queue.capture != nullptr && !queue.capture->invalid.empty())
    refuse("the capture of " + title_of(queue) + " is invalid: " + queue.capture->invalid);
}

SimulatedQueuePtr make_queue(std::shared_ptr<SimulatedDeviceState> device, int stream) {
  auto queue = std::make_shared<SimulatedQueue>();
  queue->device = std::move(device);
  queue->stream = stream;
  return queue;
}

SimulatedEventPtr make_event(std::shared_ptr<SimulatedDeviceState> device) {
  auto event = std::make_shared<SimulatedEvent>();
  event->device = std::move(device);
  return event;
}

std::int64_t cost_of(double amount, double per_ns) {
  if (amount <= 0 || per_ns <= 0) return 0;
  return std::llround(amount / per_ns);
}

void merge(std::vector<int>& into, std::vector<int> const& from) {
  into.insert(into.end(), from.begin(), from.end());
  std::sort(into.begin(), into.end());
  into.erase(std::unique(into.begin(), into.end()), into.end());
}

int branch_of(SimulatedCapture const& capture, SimulatedQueue const& queue) {
  auto const is_it = [&](SimulatedQueuePtr const& member) { return member.get() == &queue; };
  return static_cast<int>(std::find_if(capture.members.begin(), capture.members.end(), is_it) -
                          capture.members.begin());
}

void join_capture(SimulatedQueue& queue, std::shared_ptr<SimulatedCapture> const& capture) {
  queue.capture = capture;
  queue.frontier.clear();
  capture->members.push_back(queue.shared_from_this());
}

void capture_task(SimulatedQueue& queue, std::shared_ptr<SimulatedTask const> task) {
  SimulatedCapture& capture = *queue.capture;
  capture.nodes.push_back({std::move(task), queue.frontier, branch_of(capture, queue)});
  queue.frontier = {static_cast<int>(capture.nodes.size()) - 1};
}

/// Submits a kernel or a copy.
void submit(SimulatedQueue& queue, SimulatedTask&& task) {
  SimulatedDeviceState& device = *queue.device;
  auto lock = device.machine.lock();
  device.require_alive();
  require_valid(queue);
  SimulatedRecord record{.kind = task.is_copy ? Kind::copy : Kind::launch,
                         .stream = queue.stream,
                         .captured = queue.capture != nullptr,
                         .name = task.name,
                         .bytes = task.bytes};
  auto shared = std::make_shared<SimulatedTask const>(std::move(task));
  if (queue.capture != nullptr) {
    device.write(std::move(record));
    capture_task(queue, std::move(shared));
    return;
  }
  device.machine.spend(lock, device.options.launch_latency);
  Operation operation{.available = device.machine.now() + device.options.start_overhead,
                      .task = std::move(shared)};
  device.write(std::move(record), &operation);
  device.machine.enqueue(queue.shared_from_this(), std::move(operation));
}

Operation record_of(SimulatedEventPtr event, std::int64_t available) {
  return {.kind = Operation::Kind::record, .available = available, .event = std::move(event)};
}
Operation wait_for(SimulatedEventPtr event, std::int64_t available) {
  return {.kind = Operation::Kind::wait, .available = available, .event = std::move(event)};
}

void wait_on_host(SimulatedMachine::Lock& lock, SimulatedDeviceState& device,
                  std::vector<SimulatedQueuePtr> const& queues) {
  std::vector<SimulatedEventPtr> events;
  for (SimulatedQueuePtr const& queue : queues) {
    if (queue->capture != nullptr)
      spoil(*queue->capture,
            "the host cannot wait for " + title_of(*queue) + ", which is captured");
    events.push_back(make_event(device.shared_from_this()));
    device.machine.enqueue(queue, record_of(events.back(), device.machine.now()));
  }
  for (SimulatedEventPtr const& event : events) device.machine.wait_for(lock, *event);
  device.require_alive();
}

}  // namespace

namespace Impl {

SimulatedDeviceState::SimulatedDeviceState(SimulatedDeviceOptions const& options_,
                                           std::shared_ptr<SimulatedClock> clock_)
    : options(options_),
      clock(std::move(clock_)),
      machine(clock->impl()),
      memory(machine, title(), options.memory) {
  options.clock = clock;
  options.virtual_time = clock->is_virtual();
  kernels.limit = options.concurrent_kernels;
  from_host.limit = 1;
  to_host.limit = 1;
}

std::string SimulatedDeviceState::title() const {
  return options.name + " device " + std::to_string(options.number);
}

void SimulatedDeviceState::require_alive() const {
  if (!failure.empty())
    throw SimulatedDeviceError("Trellis: " + title() + " has failed: " + failure);
}

}  // namespace Impl

SimulatedDevice::SimulatedDevice(SimulatedDeviceOptions const& options) {
  auto clock = options.clock;
  if (clock == nullptr)
    clock = options.virtual_time
                ? std::make_shared<SimulatedClock>(SimulatedClock::Time::virtual_time)
                : SimulatedClock::shared_real();
  m_state = std::make_shared<SimulatedDeviceState>(options, std::move(clock));
}

SimulatedDevice::~SimulatedDevice() {
  auto const lock = m_state->machine.lock();
  m_state->machine.drop(*m_state);
}

SimulatedDeviceOptions const& SimulatedDevice::options() const {
  return m_state->options;
}
SimulatedClock& SimulatedDevice::clock() const {
  return *m_state->clock;
}
std::string_view SimulatedDevice::name() const {
  return m_state->options.name;
}

std::string SimulatedDevice::type() const {
  SimulatedDeviceOptions const& of = m_state->options;
  std::string text = of.name;
  for (double const each : {of.units_per_ns, of.kernel_units, of.index_units,
                            of.memory_bytes_per_ns, of.link_bytes_per_ns})
    text += ' ' + std::to_string(each);
  return text;
}

// --- work

void SimulatedDevice::launch(void* instance, SimulatedWork work) {
  SimulatedQueue& queue = queue_of(instance);
  SimulatedDeviceOptions const& options = queue.device->options;
  double const units = work.units < 0 ? options.kernel_units : work.units;
  submit(queue, {.function = std::move(work.function),
                 .name = std::move(work.name),
                 .cost = cost_of(units, options.units_per_ns),
                 .resource = &queue.device->kernels});
}

void SimulatedDevice::copy(void* instance, std::size_t bytes, SimulatedCopy direction,
                           std::function<void()> function, std::string name) {
  SimulatedQueue& queue = queue_of(instance);
  SimulatedDeviceState& device = *queue.device;
  bool const inside = direction == SimulatedCopy::inside;
  SimulatedResource* const way = inside                                  ? &device.kernels
                                 : direction == SimulatedCopy::from_host ? &device.from_host
                                                                         : &device.to_host;
  auto const amount = static_cast<double>(bytes);
  submit(queue, {.function = std::move(function),
                 .name = std::move(name),
                 .cost = inside ? cost_of(amount, device.options.memory_bytes_per_ns)
                                : device.options.link_latency +
                                      cost_of(amount, device.options.link_bytes_per_ns),
                 .resource = way,
                 .bytes = bytes,
                 .is_copy = true});
}

void SimulatedDevice::uncapturable(void* instance, std::string_view what) {
  SimulatedQueue& queue = queue_of(instance);
  auto const lock = queue.device->machine.lock();
  if (queue.capture != nullptr)
    spoil(*queue.capture,
          std::string(what) + " cannot be part of a graph (" + title_of(queue) + ")");
}

void SimulatedDevice::synchronize(void* instance) {
  SimulatedQueue& queue = queue_of(instance);
  auto lock = queue.device->machine.lock();
  queue.device->require_alive();
  queue.device->write({.kind = Kind::synchronize, .stream = queue.stream});
  wait_on_host(lock, *queue.device, {queue.shared_from_this()});
}

void SimulatedDevice::synchronize() {
  auto lock = m_state->machine.lock();
  m_state->require_alive();
  m_state->write({.kind = Kind::synchronize});
  std::vector<SimulatedQueuePtr> queues;
  for (auto const& each : m_state->queues)
    if (auto queue = each.lock()) queues.push_back(std::move(queue));
  wait_on_host(lock, *m_state, queues);
}

// --- streams

int SimulatedDevice::stream_number(void const* instance) {
  return queue_of(instance).stream;
}
SimulatedDeviceOptions const& SimulatedDevice::options_of(void const* instance) {
  return queue_of(instance).device->options;
}

void* SimulatedDevice::make_instance(int /*threads*/) {
  auto const lock = m_state->machine.lock();
  m_state->require_alive();
  auto const queue = make_queue(m_state, m_state->next_stream++);
  m_state->machine.open_queue(queue);
  m_state->stream_busy.push_back(0);
  ++m_state->live_streams;
  m_state->write({.kind = Kind::make_stream, .stream = queue->stream});
  return new SimulatedStream{std::make_shared<SimulatedStream::Owner>(queue)};
}

void* SimulatedDevice::copy_instance(void const* theirs) {
  auto const lock = m_state->machine.lock();
  ++m_state->live_streams;
  m_state->write({.kind = Kind::copy_stream, .stream = queue_of(theirs).stream});
  return new SimulatedStream(*static_cast<SimulatedStream const*>(theirs));
}

void SimulatedDevice::destroy_instance(void* instance) noexcept {
  std::unique_ptr<SimulatedStream> const stream(static_cast<SimulatedStream*>(instance));
  auto const lock = m_state->machine.lock();  // the lock is released before the stream
  SimulatedQueue& queue = queue_of(instance);
  if (queue.capture != nullptr && stream->owner.use_count() == 1 && queue.capture->invalid.empty())
    queue.capture->invalid = title_of(queue) + " was destroyed";
  --m_state->live_streams;
  m_state->write({.kind = Kind::destroy_stream, .stream = queue.stream});
}

bool SimulatedDevice::same_queue(void const* a, void const* b) const {
  return &queue_of(a) == &queue_of(b);
}

bool SimulatedDevice::can_wait_for(Impl::DeviceAdapter const& other) const {
  if (&other == this) return true;
  auto const* const device = dynamic_cast<SimulatedDevice const*>(&other);
  return device != nullptr && &device->m_state->machine == &m_state->machine;
}

// --- events

void* SimulatedDevice::record_event(void* instance, bool timed) {
  SimulatedQueue& queue = queue_of(instance);
  auto const lock = m_state->machine.lock();
  bool const is_ending = !m_state->failure.empty() && queue.is_at_work();
  if (!is_ending) m_state->require_alive();
  require_valid(queue);
  auto const event = make_event(m_state);
  event->queue = queue.weak_from_this();
  event->number = m_state->next_event++;
  event->timed = timed;
  ++m_state->live_events;
  SimulatedRecord record{
      .kind = Kind::record_event, .stream = queue.stream, .event = event->number};
  if (is_ending) {
    event->lost = true;
    m_state->write(std::move(record));
  } else if (queue.capture != nullptr) {
    record.captured = true;
    event->capture = queue.capture;
    event->frontier = queue.frontier;
    m_state->write(std::move(record));
  } else {
    Operation operation = record_of(event, m_state->machine.now());
    m_state->write(std::move(record), &operation);
    m_state->machine.enqueue(queue.shared_from_this(), std::move(operation));
  }
  return new SimulatedEventPtr(event);
}

void SimulatedDevice::enqueue_wait(void* instance, void* event) {
  SimulatedQueue& queue = queue_of(instance);
  SimulatedEventPtr const& state = event_of(event);
  auto const lock = m_state->machine.lock();
  m_state->require_alive();
  require_valid(queue);
  if (&state->device->machine != &m_state->machine)
    refuse(title_of(queue) + " cannot wait for an event of " + state->device->title() +
           ", which has another clock");
  SimulatedRecord record{
      .kind = Kind::wait_event,
      .stream = queue.stream,
      .event = state->number,
      .event_device = state->device == m_state ? -1 : state->device->options.number,
      .captured = state->capture != nullptr};
  if (state->capture == nullptr && queue.capture == nullptr) {
    Operation operation = wait_for(state, m_state->machine.now());
    m_state->write(std::move(record), &operation);
    m_state->machine.enqueue(queue.shared_from_this(), std::move(operation));
    return;
  }
  std::string const which =
      title_of(queue) + " waits for event " + std::to_string(state->number) + ", ";
  if (state->capture == nullptr) spoil(*queue.capture, which + "which is not part of its capture");
  if (state->capture->over) {
    if (queue.capture != nullptr) spoil(*queue.capture, which + "whose capture is over");
    refuse(which + "whose capture is over");
  }
  if (queue.capture == nullptr) join_capture(queue, state->capture);
  if (queue.capture != state->capture) {
    state->capture->invalid = which + "which is part of another capture";
    spoil(*queue.capture, state->capture->invalid);
  }
  m_state->write(std::move(record));
  merge(queue.frontier, state->frontier);
}

bool SimulatedDevice::has_passed(void* event) {
  SimulatedEvent& state = *event_of(event);
  auto const lock = m_state->machine.lock();
  m_state->machine.catch_up();
  if (!m_state->failure.empty() && state.capture == nullptr && !state.passed)
    if (auto const queue = state.queue.lock(); queue != nullptr && queue->is_at_work())
      return false;
  m_state->require_alive();
  if (state.capture != nullptr)
    refuse("event " + std::to_string(state.number) + " of " + m_state->title() +
           " was captured, so it never passes");
  if (state.lost)
    throw SimulatedDeviceError("Trellis: " + m_state->title() + " was reset before event " +
                               std::to_string(state.number) + " passed");
  if (state.passed || !state.asked)
    m_state->write(
        {.kind = Kind::query, .event = state.number, .name = state.passed ? "passed" : "not yet"});
  if (!state.passed) m_state->machine.ask(state);
  return state.passed;
}

void SimulatedDevice::release_event(void* event) noexcept {
  std::unique_ptr<SimulatedEventPtr> const handle(&event_of(event));
  auto const lock = m_state->machine.lock();
  m_state->machine.forget(**handle);
  --m_state->live_events;
  m_state->write({.kind = Kind::release_event, .event = (*handle)->number});
}

std::int64_t SimulatedDevice::nanoseconds_between(void* earlier, void* later) {
  auto const lock = m_state->machine.lock();
  m_state->machine.catch_up();
  m_state->require_alive();
  for (SimulatedEventPtr const& event : {event_of(earlier), event_of(later)}) {
    std::string const which =
        "event " + std::to_string(event->number) + " of " + event->device->title();
    if (!event->timed) refuse(which + " has no time, it was recorded without");
    if (!event->passed) refuse(which + " has no time, it has not passed");
  }
  return event_of(later)->time - event_of(earlier)->time;
}

void SimulatedDevice::host_is_idle() {
  m_state->machine.host_is_idle();
}

// --- graphs

bool SimulatedDevice::begin_capture(void* instance) {
  SimulatedQueue& queue = queue_of(instance);
  auto const lock = m_state->machine.lock();
  if (!m_state->options.graphs) return false;
  m_state->require_alive();
  if (queue.capture != nullptr) spoil(*queue.capture, title_of(queue) + " is captured already");
  auto const capture = std::make_shared<SimulatedCapture>();
  capture->origin = &queue;
  join_capture(queue, capture);
  m_state->write({.kind = Kind::begin_capture, .stream = queue.stream});
  return true;
}

void* SimulatedDevice::end_capture(void* instance, void* old) {
  SimulatedQueue& queue = queue_of(instance);
  auto const lock = m_state->machine.lock();
  if (queue.capture == nullptr) refuse(title_of(queue) + " is not captured");
  auto const capture = queue.capture;
  if (capture->origin != &queue)
    spoil(*capture,
          "a capture ends on " + title_of(queue) + ", but began on " + title_of(*capture->origin));
  capture->over = true;
  std::vector<int> const ends = queue.frontier;
  std::vector<SimulatedQueuePtr> const members = std::exchange(capture->members, {});
  for (SimulatedQueuePtr const& member : members) member->capture = nullptr;
  m_state->require_alive();
  if (!capture->invalid.empty())
    refuse("the capture of " + title_of(queue) + " is invalid: " + capture->invalid);

  // Marks the nodes before the stream's end.
  std::vector<SimulatedNode>& nodes = capture->nodes;
  std::vector<bool> joined(nodes.size(), false);
  for (int const end : ends) joined[static_cast<std::size_t>(end)] = true;
  for (std::size_t k = nodes.size(); k-- > 0;)
    if (joined[k])
      for (int const before : nodes[k].needs) joined[static_cast<std::size_t>(before)] = true;
  for (std::size_t k = 0; k < nodes.size(); ++k)
    if (!joined[k])
      refuse("the capture of " + title_of(queue) + " ends, but " +
             title_of(*members[static_cast<std::size_t>(nodes[k].branch)]) + ", which did \"" +
             nodes[k].task->name + "\", is not joined with it");

  auto* graph = static_cast<SimulatedGraph*>(old);
  auto const same_shape = [](SimulatedNode const& a, SimulatedNode const& b) {
    return a.needs == b.needs && a.task->resource == b.task->resource &&
           a.task->is_copy == b.task->is_copy;
  };
  bool const update =
      graph != nullptr && std::equal(nodes.begin(), nodes.end(), graph->nodes->begin(),
                                     graph->nodes->end(), same_shape);
  if (!update) {
    auto made = std::make_unique<SimulatedGraph>();
    made->number = m_state->next_graph++;
    if (graph != nullptr) {
      m_state->write({.kind = Kind::release_graph, .graph = graph->number});
      delete graph;
    } else {
      ++m_state->live_graphs;
    }
    graph = made.release();
  }
  graph->ends = ends;
  graph->devices.clear();
  for (SimulatedQueuePtr const& member : members) graph->devices.push_back(member->device);
  graph->nodes = std::make_shared<std::vector<SimulatedNode> const>(std::move(nodes));
  m_state->write({.kind = update ? Kind::update_graph : Kind::end_capture,
                  .stream = queue.stream,
                  .graph = graph->number});
  return graph;
}

void SimulatedDevice::launch_graph(void* instance, void* graph) {
  SimulatedQueuePtr const origin = queue_of(instance).shared_from_this();
  SimulatedGraph& whole = *static_cast<SimulatedGraph*>(graph);
  SimulatedMachine& machine = m_state->machine;
  auto lock = machine.lock();
  m_state->require_alive();
  require_valid(*origin);
  SimulatedRecord record{
      .kind = Kind::launch_graph, .stream = origin->stream, .graph = whole.number};
  std::vector<SimulatedNode> const& nodes = *whole.nodes;
  if (whole.devices.front() != m_state)
    refuse("graph " + std::to_string(whole.number) + " begins on " +
           whole.devices.front()->title() + ", so it cannot be launched on " + title_of(*origin));

  if (origin->capture != nullptr) {  // its nodes join the other graph, one after the other
    record.captured = true;
    m_state->write(std::move(record));
    SimulatedCapture& capture = *origin->capture;
    int const first = static_cast<int>(capture.nodes.size());
    int const branch = branch_of(capture, *origin);
    for (SimulatedNode const& node : nodes) {
      std::vector<int> needs = node.needs.empty() ? origin->frontier : node.needs;
      if (!node.needs.empty())
        for (int& each : needs) each += first;
      capture.nodes.push_back({node.task, std::move(needs), branch});
    }
    if (!nodes.empty()) {
      origin->frontier = whole.ends;
      for (int& each : origin->frontier) each += first;
    }
    return;
  }

  machine.spend(lock, m_state->options.graph_launch_latency);
  std::int64_t const available = machine.now() + m_state->options.start_overhead;
  // Each branch has a queue; the first one has the stream itself.
  std::vector<SimulatedQueuePtr> queues = {origin};
  std::vector<SimulatedQueuePtr> free = origin->branches;
  for (std::size_t k = 1; k < whole.devices.size(); ++k) {
    auto place = std::find_if(free.begin(), free.end(),
                              [&](auto const& each) { return each->device == whole.devices[k]; });
    if (place == free.end()) {
      origin->branches.push_back(make_queue(whole.devices[k], origin->stream));
      machine.open_queue(origin->branches.back());
      queues.push_back(origin->branches.back());
    } else {
      queues.push_back(*place);
      free.erase(place);
    }
  }
  auto const add = [&](SimulatedQueuePtr const& queue, Operation&& operation) {
    machine.enqueue(queue, std::move(operation));
  };
  if (whole.last_launch != nullptr) add(origin, wait_for(whole.last_launch, available));
  auto const started = make_event(m_state);
  auto const over = make_event(m_state);
  Operation first = record_of(started, available);
  m_state->write(std::move(record), &first);
  Operation last = record_of(over, available);
  last.record = first.record;
  last.log_era = first.log_era;
  first.marks_end = false;
  last.marks_begin = false;
  add(origin, std::move(first));

  // A node gets an event if a node of another branch comes after it.
  std::vector<SimulatedEventPtr> done(nodes.size());
  auto const needs_event = [&](int before, int branch) {
    auto const k = static_cast<std::size_t>(before);
    if (nodes[k].branch != branch && done[k] == nullptr)
      done[k] = make_event(queues[static_cast<std::size_t>(nodes[k].branch)]->device);
  };
  for (SimulatedNode const& node : nodes)
    for (int const before : node.needs) needs_event(before, node.branch);
  for (int const end : whole.ends) needs_event(end, 0);

  std::vector<bool> has_begun(queues.size(), false);
  has_begun[0] = true;
  auto const wait_for_nodes = [&](std::vector<int> const& before, int branch) {
    for (int const each : before)
      if (auto const k = static_cast<std::size_t>(each); nodes[k].branch != branch)
        add(queues[static_cast<std::size_t>(branch)], wait_for(done[k], available));
  };
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    auto const branch = static_cast<std::size_t>(nodes[k].branch);
    SimulatedQueuePtr const& queue = queues[branch];
    if (!has_begun[branch]) add(queue, wait_for(started, available));
    has_begun[branch] = true;
    wait_for_nodes(nodes[k].needs, nodes[k].branch);
    Operation work{.available = available, .task = nodes[k].task};
    queue->device->write({.kind = Kind::graph_node,
                          .stream = origin->stream,
                          .graph = whole.number,
                          .name = nodes[k].task->name,
                          .bytes = nodes[k].task->bytes},
                         &work);
    add(queue, std::move(work));
    if (done[k] != nullptr) add(queue, record_of(done[k], available));
  }
  wait_for_nodes(whole.ends, 0);
  add(origin, std::move(last));
  whole.last_launch = over;
}

void SimulatedDevice::release_graph(void* graph) noexcept {
  std::unique_ptr<SimulatedGraph> const handle(static_cast<SimulatedGraph*>(graph));
  auto const lock = m_state->machine.lock();
  --m_state->live_graphs;
  m_state->write({.kind = Kind::release_graph, .graph = handle->number});
}

// --- errors

void SimulatedDevice::fail(std::string const& text) {
  auto const lock = m_state->machine.lock();
  m_state->machine.catch_up();
  m_state->machine.fail(*m_state, text);
}

bool SimulatedDevice::has_failed() const {
  auto const lock = m_state->machine.lock();
  m_state->machine.catch_up();
  return !m_state->failure.empty();
}

void SimulatedDevice::reset() {
  auto const lock = m_state->machine.lock();
  m_state->machine.drop(*m_state);
  m_state->failure.clear();
  for (auto const& each : m_state->queues)
    if (auto const queue = each.lock()) queue->skips = false;
}

// --- memory

void* SimulatedDevice::allocate(std::size_t bytes, std::string_view label) {
  void* const pointer = m_state->memory.allocate(bytes, label);
  m_state->write({.kind = Kind::allocate, .name = std::string(label), .bytes = bytes});
  return pointer;
}
void SimulatedDevice::deallocate(void* pointer) noexcept {
  m_state->memory.deallocate(pointer);
  m_state->write({.kind = Kind::deallocate});
}
std::size_t SimulatedDevice::live_bytes() const {
  return m_state->memory.live();
}
std::size_t SimulatedDevice::most_live_bytes() const {
  return m_state->memory.most_live();
}
bool SimulatedDevice::owns(void const* pointer) const {
  return m_state->memory.owns(pointer);
}
SimulatedDevice::OpenMemory::OpenMemory(SimulatedDevice const& device)
    : m_machine(device.m_state->machine) {
  m_machine.open_memory();
}
SimulatedDevice::OpenMemory::~OpenMemory() {
  m_machine.close_memory();
}

// --- what happened

std::vector<SimulatedRecord> SimulatedDevice::log() const {
  {
    auto const lock = m_state->machine.lock();
    m_state->machine.catch_up();
  }
  std::lock_guard const lock(m_state->log_lock);
  return m_state->log;
}
void SimulatedDevice::clear_log() {
  std::lock_guard const lock(m_state->log_lock);
  m_state->log.clear();
  ++m_state->log_era;
}
int SimulatedDevice::live_streams() const {
  auto const lock = m_state->machine.lock();
  return m_state->live_streams;
}
int SimulatedDevice::live_events() const {
  auto const lock = m_state->machine.lock();
  return m_state->live_events;
}
int SimulatedDevice::live_graphs() const {
  auto const lock = m_state->machine.lock();
  return m_state->live_graphs;
}
std::int64_t SimulatedDevice::busy(int stream) const {
  auto const lock = m_state->machine.lock();
  m_state->machine.catch_up();
  return m_state->stream_busy.at(static_cast<std::size_t>(stream));
}
std::int64_t SimulatedDevice::busy() const {
  auto const lock = m_state->machine.lock();
  m_state->machine.catch_up();
  return m_state->busy;
}
double SimulatedDevice::utilisation() const {
  std::int64_t const all = m_state->clock->makespan();
  return all == 0 ? 0 : static_cast<double>(busy()) / static_cast<double>(all);
}

}  // namespace trellis
