// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ShakeOrchestration.hpp"
#include "World.hpp"

#include <locks/Trellis_Unlocked.hpp>

#include <type_traits>

/// Tasks: how they are submitted, and what their bodies, kernels and objects do.
namespace products {

using namespace trellis;

thread_local Follower* World::t_follower = nullptr;

// --- objects

Object::Object(World& world, Sort sort, Habits habits, Instance& instance)
    : m_world(&world), m_instance(&instance), m_habits(habits), m_sort(sort), m_armed(true) {
  enter(false);
}
Object::Object(Object const& other)
    : m_world(other.m_world),
      m_instance(other.m_instance),
      m_habits(other.m_habits),
      m_sort(other.m_sort) {
  enter(true);
}
Object::Object(Object&& other) noexcept
    : m_world(other.m_world),
      m_instance(other.m_instance),
      m_habits(other.m_habits),
      m_sort(other.m_sort),
      m_armed(std::exchange(other.m_armed, false)) {
  enter(true);
}
Object& Object::operator=(Object const& other) {
  if (this == &other) return *this;
  Object copy(other);
  return *this = std::move(copy);
}
Object& Object::operator=(Object&& other) noexcept {
  leave();
  m_world = other.m_world;
  m_instance = other.m_instance;
  m_habits = other.m_habits;
  m_sort = other.m_sort;
  m_armed = std::exchange(other.m_armed, false);
  enter(true);
  return *this;
}
Object::~Object() {
  leave();
}
void Object::enter(bool moved) {
  if (m_world == nullptr) return;
  m_world->m_live[static_cast<std::size_t>(m_sort)].fetch_add(1, std::memory_order_relaxed);
  if (moved && m_habits.moved == Deed::dawdle) m_world->pause(m_instance->salt);
}
void Object::leave() noexcept {
  if (m_world == nullptr) return;
  World& world = *std::exchange(m_world, nullptr);
  if (std::exchange(m_armed, false)) world.perform(m_habits.destroyed, *m_instance);
  if (world.m_live[static_cast<std::size_t>(m_sort)].fetch_sub(1, std::memory_order_relaxed) <= 0)
    world.complain("an object of " + m_instance->label + " is destroyed twice");
}

/// What a destructor does. It must not throw.
void World::perform(Deed deed, Instance& instance) {
  if (m_stop.load(std::memory_order_acquire)) return;
  try {
    switch (deed) {
      case Deed::dawdle:
        pause(instance.salt + 1);
        break;
      case Deed::submit: {
        Shared& shared = m_shared[static_cast<std::size_t>(instance.task->graph)];
        // What a plan, or a future, keeps may be destroyed with its graph or later.
        bool const late = instance.recorded && shared.closing.load(std::memory_order_relaxed);
        if (late || !shared.accepts.load(std::memory_order_acquire)) break;
        Instance& mine = new_instance(shared.by_destructor, -1, mix(instance.salt, 77));
        mine.label = "by the destructor of " + instance.label;
        submit(mine);
        break;
      }
      case Deed::await:
        if (instance.awaited != nullptr) instance.awaited->future.wait();
        break;
      case Deed::ask:
        if (instance.awaited != nullptr) (void)instance.awaited->future.is_done();
        break;
      case Deed::nothing:
        break;
    }
  } catch (std::exception const& error) {
    complain("the destructor of an object of " + instance.label + " got: " + error.what());
  }
}

// --- cells

std::uint32_t World::Occupation::of(Mode mode) {
  switch (mode) {
    case Mode::read:
    case Mode::look:
      return reader;
    case Mode::add:
      return adder;
    case Mode::exclusive:
      return excluder;
    default:
      return writer;
  }
}
bool World::Occupation::may_meet(std::uint32_t present, Mode mode) {
  std::uint32_t const readers = present & (adder - 1);
  std::uint32_t const adders = present & (writer - adder);
  if (mode == Mode::read || mode == Mode::look) return present == readers;
  if (mode == Mode::add) return present == adders;
  return present == 0;
}

void World::occupy(Instance const& instance) {
  Task const& task = *instance.task;
  Shared& shared = m_shared[static_cast<std::size_t>(task.graph)];
  for (Access const& access : task.accesses)
    for (int c = access.first; c < access.first + access.count; ++c) {
      std::uint32_t const present = shared.occupied[static_cast<std::size_t>(c)].fetch_add(
          Occupation::of(access.mode), std::memory_order_relaxed);
      if (!Occupation::may_meet(present, access.mode))
        complain(instance.label + " (#" + std::to_string(instance.future.handle().id % numberless) +
                 ") touches cell " + std::to_string(c) + " at the same time as another task (" +
                 std::to_string(present) + ")");
    }
  if (task.tag == 1 && m_program.graphs[static_cast<std::size_t>(task.graph)].rules &&
      instance.parent == nullptr && !instance.recorded && shared.tag_one.fetch_add(1) != 0)
    complain(instance.label + " runs beside another task with tag 1");
}
void World::vacate(Instance const& instance) {
  Task const& task = *instance.task;
  Shared& shared = m_shared[static_cast<std::size_t>(task.graph)];
  if (task.tag == 1 && m_program.graphs[static_cast<std::size_t>(task.graph)].rules &&
      instance.parent == nullptr && !instance.recorded)
    shared.tag_one.fetch_sub(1);
  for (Access const& access : task.accesses)
    for (int c = access.first; c < access.first + access.count; ++c)
      shared.occupied[static_cast<std::size_t>(c)].fetch_sub(Occupation::of(access.mode),
                                                             std::memory_order_relaxed);
}

std::uint64_t World::arithmetic(Instance const& instance) {
  Task const& task = *instance.task;
  auto& cells = m_shared[static_cast<std::size_t>(task.graph)].cells;
  auto const cell = [&](int c) -> std::uint64_t& {
    return cells[static_cast<std::size_t>(c)].value;
  };
  std::uint64_t const seen = look_at_cells(task, instance.salt, cell);
  if (task.slow) pause(instance.salt + 2);
  change_cells(
      task, instance.salt, seen, [&](int c, std::uint64_t value) { cell(c) = value; },
      [&](int c, std::uint64_t by) { cell(c) += by; },
      [&](int c, std::uint64_t by) {
        std::atomic_ref<std::uint64_t>(cell(c)).fetch_add(by, std::memory_order_relaxed);
      });
  return seen;
}

// --- bodies

void World::pause(std::uint64_t salt) {
  std::uint64_t const how = mix(salt, m_salt.fetch_add(1, std::memory_order_relaxed));
  if (how % 8 == 0)
    return std::this_thread::sleep_for(std::chrono::microseconds(20 + how / 8 % 100));
  if (how % 8 == 1) return std::this_thread::yield();
  auto const end =
      std::chrono::steady_clock::now() + std::chrono::nanoseconds(500 + how / 8 % 8000);
  while (std::chrono::steady_clock::now() < end) continue;
}

Run& World::begin(Instance& instance) {
  beat();
  instance.begun.fetch_add(1, std::memory_order_relaxed);
  return instance.runs.emplace_back();
}
void World::end(Instance& instance, Run& run) {
  run.over = true;
  instance.ended.fetch_add(1, std::memory_order_relaxed);
  beat();
}

struct Thrown : std::runtime_error {
  explicit Thrown(Instance const& by) : std::runtime_error(by.label + " throws"), instance(&by) {}
  Instance const* instance;
};

/// All that it does when it is said that it is over, unless it has steps, which are those of a
/// body.
void World::run_late_body(Instance& instance, Run& run) {
  Task const& task = *instance.task;
  auto completion = std::make_shared<Completion<>>(Impl::CompletionInternals::open(Bare::self()));
  bool const has_steps = !task.steps.empty() || task.gate;
  auto const arithmetics = [this, &instance, &run] {
    occupy(instance);
    run.digest = arithmetic(instance);
    vacate(instance);
  };
  if (has_steps) {
    arithmetics();
    steps(instance, run);
    end(instance, run);
  }
  std::function<void()> const over = [=, this, &instance, &run] {
    if (!has_steps) {
      arithmetics();
      end(instance, run);
    }
    if (task.fails == Task::Failure::body)
      completion->fail(Thrown(instance));
    else
      completion->done();
  };
  switch (task.late) {
    case Task::Late::elsewhere:
      return m_elsewhere.give(over);
    case Task::Late::polled: {
      Shared& shared = m_shared[static_cast<std::size_t>(task.graph)];
      {
        std::lock_guard const lock(shared.mutex);
        shared.polled.push_back(over);
      }
      return shared.progress->ask();
    }
    default:
      return over();
  }
}

void World::run_body(Instance& instance, Run& run) {
  if (instance.task->late != Task::Late::no) return run_late_body(instance, run);
  occupy(instance);
  run.digest = arithmetic(instance);
  vacate(instance);
  steps(instance, run);
  end(instance, run);
  if (instance.task->fails == Task::Failure::body) throw Thrown(instance);
}

/// From within a body, so the graph is there.
void World::await(Instance const& instance) {
  if (!instance.own_number.valid()) return instance.future.wait();
  try {
    m_shared[static_cast<std::size_t>(instance.task->graph)].graph->wait(instance.own_number);
  } catch (Error const& error) {  // what it failed with is no matter here
    bool const has_failed =
        error.kind() == Error::Kind::task_failed || error.kind() == Error::Kind::cancelled;
    if (!has_failed) throw;
  }
}

/// What a body submits is nothing that the thread beneath it has been told to.
struct World::Elsewhere {
  Follower* const follower = std::exchange(t_follower, nullptr);
  Elsewhere() = default;
  Elsewhere(Elsewhere const&) = delete;
  Elsewhere& operator=(Elsewhere const&) = delete;
  ~Elsewhere() { t_follower = follower; }
};

void World::steps(Instance& instance, Run& run) {
  Elsewhere const elsewhere;
  Task const& task = *instance.task;
  if (task.gate) {
    Gate& gate = m_gates[static_cast<std::size_t>(instance.number)];
    std::unique_lock lock(gate.mutex);
    gate.opened.wait(lock, [&] { return gate.open; });
  }
  Impl::TaskHandle const self = Bare::self();
  for (std::size_t k = 0; k < task.steps.size(); ++k) {
    Step const& step = task.steps[k];
    instance.step.store(static_cast<int>(k), std::memory_order_relaxed);
    switch (step.kind) {
      case Step::Kind::dawdle:
        pause(instance.salt + k);
        break;
      case Step::Kind::submit:
        submit_root(step.task, mix(instance.salt, k));
        break;
      case Step::Kind::child: {
        Instance& child = new_instance(m_program.task(step.task), step.task, mix(instance.salt, k));
        child.parent = &instance;
        run.children.push_back(&child);
        submit(child, &self);
        break;
      }
      case Step::Kind::wait_children:
        try {
          Bare::wait_for_children();
        } catch (...) {  // the failure of a child is also that of the whole
        }
        break;
      case Step::Kind::await:
        if (instance.captured[k] != nullptr) try {
            await(*instance.captured[k]);
          } catch (std::exception const& error) {
            complain(instance.label + " waits in vain: " + error.what());
          }
        break;
      case Step::Kind::ask:
        if (instance.captured[k] != nullptr) (void)instance.captured[k]->future.is_done();
        break;
      case Step::Kind::release:
        for (Access const& access : task.accesses)
          Bare::release(place(task.graph, access.first, access.count));
        break;
    }
  }
  instance.step.store(-1, std::memory_order_relaxed);
}

template <class R>
struct HostFunctor {
  Object object;
  World* world;
  Instance* instance;

  R operator()() {
    if (!object_is_alive())
      world->complain(instance->label + " runs after its functor was destroyed");
    Run& run = world->begin(*instance);
    world->run_body(*instance, run);
    if constexpr (!std::is_void_v<R>)
      return {run.digest, {*world, Sort::result, instance->task->result, *instance}};
  }
  [[nodiscard]] bool object_is_alive() const { return world != nullptr; }
};
struct DeviceFunctor {
  static constexpr bool may_be_deferred = true;
  Object object;
  World* world;
  Instance* instance;
  void operator()(void* stream) { world->launch(*instance, stream); }
  void finish() const {
    if (instance->task->fails == Task::Failure::finish) throw Thrown(*instance);
  }
};

void World::run_kernel(Instance& instance) {
  Run& run = begin(instance);
  occupy(instance);
  run.digest = arithmetic(instance);
  vacate(instance);
  for (Step const& step : instance.task->steps)
    if (step.kind == Step::Kind::dawdle) pause(instance.salt);
  end(instance, run);
}

void World::launch(Instance& instance, void* stream) {
  beat();
  if (instance.task->fails == Task::Failure::launch) throw Thrown(instance);
  m_kernels.fetch_add(1, std::memory_order_relaxed);
  int const number = m_launches.fetch_add(1, std::memory_order_relaxed);
  static_cast<Test::FakeDevice::Stream*>(stream)->enqueue([this, number, at = &instance] {
    {
      // A device that has failed has stopped: no kernel runs on when the engine is told.
      std::shared_lock<std::shared_mutex> running(m_device_mutex, std::defer_lock);
      if (m_program.device_fails >= 0) running.lock();
      if (!m_device->failed) run_kernel(*at);
    }
    if (number == m_program.device_fails) {
      std::lock_guard const stopped(m_device_mutex);
      m_device->failed = true;
    }
    m_kernels.fetch_sub(1, std::memory_order_relaxed);
  });
  if (instance.task->fails == Task::Failure::launched) throw Thrown(instance);
}

// --- submission

Instance* World::latest(int task) const {
  return task < 0 ? nullptr
                  : m_latest[static_cast<std::size_t>(task)].load(std::memory_order_acquire);
}

Instance& World::new_instance(Task const& task, int number, std::uint64_t salt) {
  std::lock_guard const lock(m_mutex);
  Instance& instance = m_instances.emplace_back();
  instance.task = &task;
  instance.number = number;
  instance.salt = salt;
  instance.label = "t" + std::to_string(number);
  return instance;
}

void World::submit_root(int number, std::uint64_t salt) {
  Instance& instance = new_instance(m_program.task(number), number, salt);
  submit(instance);
}

Bare::Place World::place(int graph, int first, int count) const {
  auto const& cells = m_shared[static_cast<std::size_t>(graph)].cells;
  auto const begin = reinterpret_cast<std::uintptr_t>(cells.data());
  return {Impl::Area::contiguous(&cells[static_cast<std::size_t>(first)],
                                 static_cast<std::size_t>(count) * sizeof(Cell)),
          "cells", begin, begin + sizeof(cells)};
}

std::vector<Bare::Touch> World::touches(Instance& instance) {
  std::vector<Bare::Touch> all;
  Task const& task = *instance.task;
  for (Access const& access : task.accesses) {
    Bare::Place const where = place(task.graph, access.first, access.count);
    auto const claim = [&](bool makes) {
      Impl::StatePtr state = Impl::make_shared_unlocked<Impl::StateOf<Claim>>(
          Claim{makes, Object(*this, Sort::state, task.state, instance)});
      return Bare::Touch{trellis::Mode::write, where, std::move(state)};
    };
    switch (access.mode) {
      case Mode::read:
        all.push_back(Bare::reads(where));
        break;
      case Mode::write:
        all.push_back(Bare::writes(where));
        break;
      case Mode::update:
        all.push_back(Bare::updates(where));
        break;
      case Mode::add:
        all.push_back(Bare::adds(where));
        break;
      case Mode::exclusive:
        all.push_back(Bare::excludes(where));
        break;
      case Mode::look:
        all.push_back(claim(false));
        break;
      case Mode::make:
        all.push_back(claim(true));
        break;
    }
  }
  return all;
}

template <class F>
AnyFuture World::hand_in(Instance& instance, Impl::TaskHandle const* parent, F functor) {
  Task const& task = *instance.task;
  Bare::Properties properties;
  properties.priority = task.priority;
  properties.main_thread = task.main_thread;
  properties.synchronizing = task.synchronizing;
  Shared& of_graph = m_shared[static_cast<std::size_t>(task.graph)];
  properties.fusable = of_graph.fuses && mix(instance.salt, 79) % 4 != 0;
  if (of_graph.fuses && mix(instance.salt, 80) % 16 == 0)
    of_graph.graph->orchestrate(Test::any_orchestration(mix(instance.salt, 81)));
  Shared& shared = m_shared[static_cast<std::size_t>(task.graph)];
  for (Instance const* before : instance.before)
    if (before->own_number.valid())
      properties.after_numbers.push_back(before->own_number);
    else
      properties.after.push_back(before->future.handle());
  if (task.numbered) properties.number = instance.own_number = shared.numbers->reserve();
  if (task.tag != 0)
    properties.tags = {Impl::make_shared_unlocked<Impl::TagOf<Tag>>(
        Tag{task.tag, Object(*this, Sort::tag, task.of_tag, instance)})};
  if (task.on_device()) properties.space = m_device.get();
  if (task.where == Task::Where::stream)
    properties.instance =
        &shared.streams[instance.number < 0
                            ? 0
                            : static_cast<std::size_t>(instance.number) % shared.streams.size()];
  std::vector<Bare::Touch> const all = touches(instance);
  if (parent != nullptr)
    return Bare::child_of(*parent, instance.label, all, std::move(functor), properties);
  return Bare::task(*shared.graph, instance.label, all, std::move(functor), properties);
}

/// Hands the instance in, to a graph or as a child, and notes when that was.
void World::submit(Instance& instance, Impl::TaskHandle const* parent) {
  beat();
  Task const& task = *instance.task;
  Follower* const follower = t_follower;
  bool const by_destructor = instance.number < 0;
  if (follower != nullptr && !by_destructor) {
    instance.loop = follower->loop;
    instance.recorded = follower->recording != nullptr;
  }
  instance.awaited = latest(task.awaited);
  for (int const before : task.after)
    if (Instance* const found = latest(before); found != nullptr) instance.before.push_back(found);
  for (Step const& step : task.steps) {
    bool const asks = step.kind == Step::Kind::await || step.kind == Step::Kind::ask;
    instance.captured.push_back(asks ? latest(step.task) : nullptr);
  }
  Object object(*this, Sort::functor, task.functor, instance);
  if (task.on_device())
    instance.future = hand_in(instance, parent, DeviceFunctor{std::move(object), this, &instance});
  else if (task.has_result)
    instance.future =
        hand_in(instance, parent, HostFunctor<Result>{std::move(object), this, &instance});
  else
    instance.future =
        hand_in(instance, parent, HostFunctor<void>{std::move(object), this, &instance});
  instance.known.store(true, std::memory_order_release);
  if (!by_destructor)
    m_latest[static_cast<std::size_t>(instance.number)].store(&instance, std::memory_order_release);
  if (parent != nullptr) return;
  if (follower != nullptr && follower->recording != nullptr && !by_destructor) {
    follower->recording->items.push_back({&instance, nullptr, 1});
    return;
  }
  Event event;
  event.graph = task.graph;
  event.instance = &instance;
  event.id = instance.future.handle().id;
  note(std::move(event));
}

void World::note(Event event) {
  bool const placed = event.id < numberless;
  Follower* const follower = t_follower;
  if (!placed && (follower == nullptr || follower->loop == nullptr))
    complain(event.instance->label + " went into a plan that was recorded meanwhile");
  if (!placed) event.id = 0;
  if (follower != nullptr) return follower->events.push_back(std::move(event));
  std::lock_guard const lock(m_mutex);
  m_events.push_back(std::move(event));
}

void World::complain(std::string text) {
  std::lock_guard const lock(m_mutex);
  if (m_complaints.size() < 20) m_complaints.push_back(std::move(text));
}

}  // namespace products
