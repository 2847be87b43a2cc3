// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ShakeOrchestration.hpp"
#include "World.hpp"

#include <Trellis_SchedulingPolicy.hpp>

#include <algorithm>
#include <functional>
#include <sstream>

/// Threads that follow a program.
namespace products {

using namespace trellis;

namespace {

std::shared_ptr<SchedulingPolicy> policy_named(std::string const& name) {
  if (name == "fifo") return make_fifo_policy();
  if (name.starts_with("shake:")) return make_shake_policy(std::stoull(name.substr(6)));
  return make_work_stealing_policy();
}

}  // namespace

World::World(Program const& program, Test::Watchdog* watchdog)
    : m_program(program), m_watchdog(watchdog) {
  m_latest.resize(program.tasks.size());
  m_gates.resize(program.tasks.size());
  m_recordings.resize(program.plans.size());
  for (std::size_t p = 0; p < program.plans.size(); ++p) {
    m_recordings[p].plan = &program.plans[p];
    m_recordings[p].number = static_cast<int>(p);
  }
  bool const has_device = std::any_of(program.tasks.begin(), program.tasks.end(),
                                      [](Task const& task) { return task.on_device(); });
  if (has_device) {
    m_device = std::make_unique<Test::FakeDevice>();
    // Like the orchestration below this comes from the seed alone.
    m_device->is_slow = mix(program.seed, 79) % 2 == 0;
  }
  for (std::size_t g = 0; g < program.graphs.size(); ++g) {
    Graph const& given = program.graphs[g];
    Shared& shared = m_shared.emplace_back();
    shared.by_destructor.graph = static_cast<int>(g);
    shared.by_destructor.accesses = {{Mode::add, Cells::sums, 1}};
    bool const gives_streams =
        std::any_of(program.tasks.begin(), program.tasks.end(), [&](Task const& task) {
          return task.where == Task::Where::stream && task.graph == static_cast<int>(g);
        });
    if (gives_streams) shared.streams.resize(2);
    TaskGraphOptions options;
    options.name = "graph " + std::to_string(g);
    options.workers = given.workers;
    if (given.cap > 0) options.in_flight = static_cast<std::size_t>(given.cap);
    options.streams = given.streams;
    options.record = given.record;
    options.policy = policy_named(given.policy);
    options.serial = given.policy == "serial";
    // Half of the graphs fuse; that is not in the program's text, but comes from its seed.
    shared.fuses = mix(program.seed, g + 77) % 2 == 0;
    if (shared.fuses) options.orchestration = Test::any_orchestration(mix(program.seed, g + 78));
    shared.owner = std::make_unique<TaskGraph>(options);
    shared.graph = shared.owner.get();
    shared.numbers.emplace(*shared.graph);
    shared.progress = shared.graph->add_progress([&shared] {
      std::function<void()> next;
      {
        std::lock_guard const lock(shared.mutex);
        if (shared.polled.empty()) return false;
        next = std::move(shared.polled.front());
        shared.polled.pop_front();
      }
      next();
      return true;
    });
    if (given.rules) {
      shared.graph->add_rule<Tag>("alone", Constraint::exclusive, [](Tag const& a, Tag const& b) {
        return a.value == 1 && b.value == 1;
      });
      shared.graph->add_rule<Tag>("in order", Constraint::ordered, [](Tag const& a, Tag const& b) {
        return a.value == 2 && b.value == 2;
      });
    }
  }
}

World::~World() = default;

// --- what a thread does

void World::follow(Follower& follower) {
  t_follower = &follower;
  for (std::size_t k = 0; k < follower.thread->ops.size(); ++k) {
    Op const& op = follower.thread->ops[k];
    follower.at.store(static_cast<int>(k), std::memory_order_relaxed);
    beat();
    try {
      follow(follower, op);
    } catch (std::exception const& error) {
      complain(std::string("a thread's ") + static_cast<char>(op.kind) + std::to_string(op.which) +
               " throws: " + error.what());
    }
  }
  follower.at.store(-1);
  t_follower = nullptr;
}

void World::follow(Follower& follower, Op const& op) {
  auto const number = static_cast<std::size_t>(op.which);
  switch (op.kind) {
    case Op::Kind::submit:
      submit_root(op.which, mix(number, 1));
      break;
    case Op::Kind::record:
      record(follower, op.which);
      break;
    case Op::Kind::replay:
      if (trellis::Plan const* const plan = handle_of(follower, op.which)) {
        Event event;
        event.kind = Event::Kind::replay;
        event.graph = m_recordings[number].plan->graph;
        event.recording = &m_recordings[number];
        event.rounds = static_cast<std::uint64_t>(op.count);
        event.replay =
            m_shared[static_cast<std::size_t>(event.graph)].graph->replay(*plan, event.rounds);
        event.id = event.replay.handle().id;
        note(std::move(event));
      }
      break;
    case Op::Kind::drop:
      std::erase_if(follower.plans,
                    [&](auto const& each) { return each.first->number == op.which; });
      break;
    case Op::Kind::loop:
      loop(follower, m_program.loops[number]);
      break;
    case Op::Kind::wait:
      wait(follower, op.which);
      break;
    case Op::Kind::get:
      if (Instance* const found = latest(op.which)) get(follower, *found);
      break;
    case Op::Kind::await:
      if (Instance* const found = latest(op.which)) found->future.wait();
      break;
    case Op::Kind::ask:
      if (Instance* const found = latest(op.which)) (void)found->future.is_done();
      break;
    case Op::Kind::dawdle:
      pause(number);
      break;
    case Op::Kind::open: {
      Gate& gate = m_gates[number];
      {
        std::lock_guard const lock(gate.mutex);
        gate.open = true;
      }
      gate.opened.notify_all();
      break;
    }
    case Op::Kind::refine:
      if (Instance* const found = latest(op.which)) refine(*found);
      break;
  }
}

trellis::Plan* World::handle_of(Follower& follower, int plan) {
  for (auto& [recording, handle] : follower.plans)
    if (recording->number == plan) return &handle;
  return nullptr;
}

void World::get(Follower& follower, Instance& instance) {
  Got got{&instance, false, 0};
  try {
    got.digest = instance.future.get();
  } catch (Error const&) {
    got.threw = true;
  }
  follower.got.push_back(got);
}

void World::record(Follower& follower, int number) {
  Recording& recording = m_recordings[static_cast<std::size_t>(number)];
  Shared& shared = m_shared[static_cast<std::size_t>(recording.plan->graph)];
  follower.recording = &recording;
  trellis::Plan plan = shared.graph->record("p" + std::to_string(number), [&] {
    for (Plan::Item const& item : recording.plan->items) {
      if (item.task >= 0) {
        submit_root(item.task, mix(static_cast<std::uint64_t>(item.task), 2));
      } else if (trellis::Plan const* const inner = handle_of(follower, item.plan)) {
        shared.graph->replay(*inner, static_cast<std::uint64_t>(item.rounds));
        recording.items.push_back(
            {nullptr, &m_recordings[static_cast<std::size_t>(item.plan)], item.rounds});
      }
    }
  });
  follower.recording = nullptr;
  follower.plans.emplace_back(&recording, std::move(plan));
  recording.known.store(true, std::memory_order_release);
}

void World::loop(Follower& follower, Loop const& loop) {
  Shared& shared = m_shared[static_cast<std::size_t>(loop.graph)];
  std::vector<std::thread> helpers;
  Instance* last = nullptr;
  follower.loop = &loop;
  auto const report = shared.graph->iterate(
      "loop", static_cast<std::uint64_t>(loop.iterations), [&](std::uint64_t iteration) {
        beat();
        auto const k = static_cast<int>(iteration);
        Instance* first = nullptr;
        for (Loop::Item const& item : loop.items) {
          if (k % item.every != item.offset) continue;
          submit_root(item.task, mix(static_cast<std::uint64_t>(item.task), 3 + iteration));
          if (first == nullptr) first = latest(item.task);
        }
        if (first != nullptr) ask_in_iteration(follower, loop, first, last, helpers);
        last = first;
        return k != loop.ends_after;
      });
  follower.loop = nullptr;
  for (std::thread& helper : helpers) helper.join();
  auto const iterations = static_cast<std::uint64_t>(
      loop.ends_after >= 0 ? std::min(loop.iterations, loop.ends_after + 1) : loop.iterations);
  if (report.recorded + report.replayed + report.dynamic != iterations)
    complain("iterate reports " + std::to_string(report.recorded) + " + " +
             std::to_string(report.replayed) + " + " + std::to_string(report.dynamic) +
             " iterations");
}

void World::ask_in_iteration(Follower& follower, Loop const& loop, Instance* first, Instance* last,
                             std::vector<std::thread>& helpers) {
  auto const wait_elsewhere = [this, first] {
    return std::thread([this, first] {
      first->future.wait();
      beat();
    });
  };
  switch (loop.asks) {
    case Loop::Asks::nothing:
      break;
    case Loop::Asks::once:
      (void)first->future.is_done();
      break;
    case Loop::Asks::until_done:
      while (!first->future.is_done()) std::this_thread::yield();
      break;
    case Loop::Asks::waits:
      first->future.wait();
      break;
    case Loop::Asks::waits_for_last:
      if (last != nullptr) last->future.wait();
      break;
    case Loop::Asks::thread:
      helpers.push_back(wait_elsewhere());
      break;
    case Loop::Asks::joins:
      wait_elsewhere().join();
      break;
    case Loop::Asks::other_graph: {
      // Not a task of the program's: it is in nobody's way.
      follower.loop = nullptr;
      Shared& other = m_shared[loop.graph == 0 ? 1 : 0];
      auto const done =
          Bare::task(*other.graph, "waits for an iteration", {}, [first] { first->future.wait(); });
      done.wait();
      follower.loop = &loop;
      break;
    }
  }
}

/// Into one child that does the same.
void World::refine(Instance& instance) {
  Bare::refine(instance.future.plain(), [&](Impl::TaskHandle const& parent) {
    Bare::child_of(parent, instance.label + " refined", touches(instance), [this, at = &instance] {
      Run& run = begin(*at);
      run_body(*at, run);
    });
  });
}

std::uint64_t World::last_id(Follower const* own, int graph) const {
  std::uint64_t last = 0;
  auto const look_at = [&](std::vector<Event> const& events) {
    for (Event const& each : events)
      if (each.graph == graph) last = std::max({last, each.id, each.behind});
  };
  look_at(m_events);
  for (Follower const& each : m_followers)
    if (&each == own || each.at.load() == -1) look_at(each.events);
  return last;
}

void World::wait(Follower& follower, int graph, bool ends_phase) {
  Event event;
  event.ends_phase = ends_phase;
  event.kind = Event::Kind::wait;
  event.graph = graph;
  try {
    m_shared[static_cast<std::size_t>(graph)].graph->wait();
  } catch (Error const& error) {
    event.threw = true;
    event.text = error.what();
  }
  {
    std::lock_guard const lock(m_mutex);
    event.behind = last_id(&follower, graph);  // all that has a number now comes before
  }
  follower.events.push_back(std::move(event));
}

/// Asks on and on, also while the graphs are destroyed and when they are gone.
void World::linger(Follower& follower) {
  std::size_t k = 0;
  while (!m_stop.load(std::memory_order_acquire)) {
    Op const& op = follower.thread->ops[k++ % follower.thread->ops.size()];
    follower.at.store(static_cast<int>(k), std::memory_order_relaxed);
    Instance* const found = latest(op.which);
    if (found != nullptr) try {
        if (op.kind == Op::Kind::await) found->future.wait();
        if (op.kind == Op::Kind::get) (void)found->future.get();
        if (op.kind == Op::Kind::ask) (void)found->future.is_done();
      } catch (Error const&) {  // of a task that failed
      } catch (std::exception const& error) {
        complain(std::string("a lingering thread gets ") + error.what());
      }
    if (k % 4 == 0) std::this_thread::yield();
  }
  follower.at.store(-1);
}

// --- phases

void World::phase(std::size_t number) {
  Phase const& phase = m_program.phases[number];
  if (phase.threads.empty()) return;
  std::vector<std::thread> threads;
  std::vector<Follower*> mine;
  {
    std::lock_guard const lock(m_mutex);
    for (Thread const& thread : phase.threads) {
      Follower& follower = m_followers.emplace_back();
      follower.number = static_cast<int>(m_followers.size());
      follower.phase = static_cast<int>(number);
      follower.thread = &thread;
      for (std::size_t g = 0; g < m_shared.size(); ++g)
        follower.floor[g] = last_id(nullptr, static_cast<int>(g));
      follower.at.store(0);
      for (Recording& recording : m_recordings)
        if (recording.held && !thread.lingers)
          follower.plans.emplace_back(&recording, recording.handle);
      mine.push_back(&follower);
    }
  }
  // Who drops a plan in this phase may be the last to hold it.
  for (Thread const& thread : phase.threads)
    for (Op const& op : thread.ops)
      if (op.kind == Op::Kind::drop) {
        Recording& recording = m_recordings[static_cast<std::size_t>(op.which)];
        recording.handle = {};
        recording.held = false;
      }
  for (std::size_t k = 1; k < mine.size(); ++k)
    if (!mine[k]->thread->lingers) threads.emplace_back([this, at = mine[k]] { follow(*at); });
  for (std::size_t k = 1; k < mine.size(); ++k)
    if (mine[k]->thread->lingers) m_lingering.emplace_back([this, at = mine[k]] { linger(*at); });
  follow(*mine[0]);
  // Others may wait for tasks that are bound to this thread.
  if (std::any_of(m_program.tasks.begin(), m_program.tasks.end(),
                  [](Task const& task) { return task.main_thread; })) {
    t_follower = mine[0];
    for (std::size_t g = 0; g < m_shared.size(); ++g) wait(*mine[0], static_cast<int>(g));
    t_follower = nullptr;
  }
  for (std::thread& thread : threads) thread.join();
  for (Follower* const follower : mine) {
    if (follower->thread->lingers) continue;
    for (auto& [recording, handle] : follower->plans) {
      bool const dropped =
          std::any_of(phase.threads.begin(), phase.threads.end(), [&](Thread const& thread) {
            return std::any_of(thread.ops.begin(), thread.ops.end(), [&](Op const& op) {
              return op.kind == Op::Kind::drop && op.which == recording->number;
            });
          });
      if (dropped) continue;
      recording->handle = std::move(handle);
      recording->held = true;
    }
    follower->plans.clear();
  }
  if (m_program.destroys_busy && number + 1 == m_program.phases.size()) return;
  t_follower = mine[0];
  for (std::size_t g = 0; g < m_shared.size(); ++g) wait(*mine[0], static_cast<int>(g), true);
  t_follower = nullptr;
  check_live(number);
}

/// After `wait()` the functors are gone, but for those that plans keep.
void World::check_live(std::size_t phase) {
  long kept = 0;
  std::vector<Recording const*> held;
  std::function<void(Recording const&)> const hold = [&](Recording const& recording) {
    if (std::find(held.begin(), held.end(), &recording) != held.end()) return;
    held.push_back(&recording);
    for (Recording::Item const& item : recording.items)
      if (item.nested != nullptr)
        hold(*item.nested);
      else
        ++kept;
  };
  for (Recording const& recording : m_recordings)
    if (recording.held) hold(recording);
  auto const live = [&](Sort sort) { return m_live[static_cast<std::size_t>(sort)].load(); };
  if (live(Sort::functor) != kept)
    complain("after phase " + std::to_string(phase) + " there are " +
             std::to_string(live(Sort::functor)) + " functors, and plans keep " +
             std::to_string(kept));
  bool const records = std::any_of(m_program.graphs.begin(), m_program.graphs.end(),
                                   [](Graph const& graph) { return graph.record; });
  if (held.empty() && !records && live(Sort::tag) + live(Sort::state) != 0)
    complain("after phase " + std::to_string(phase) + " there are " +
             std::to_string(live(Sort::tag)) + " tags and " + std::to_string(live(Sort::state)) +
             " states");
  if (m_kernels.load() != 0 && !m_uncertain && m_program.device_fails < 0)
    complain("after phase " + std::to_string(phase) + " a kernel still runs");
}

void World::destroy_graph(int graph) {
  Shared& shared = m_shared[static_cast<std::size_t>(graph)];
  shared.closing = true;
  shared.owner.reset();
  shared.accepts.store(false, std::memory_order_release);
  beat();
}

std::string World::run() {
  for (std::size_t k = 0; k < m_program.phases.size(); ++k) phase(k);
  if (!m_program.keeps_plans)
    for (Recording& recording : m_recordings) {
      recording.handle = {};
      recording.held = false;
    }
  for (std::size_t g = 0; g < m_shared.size(); ++g) destroy_graph(static_cast<int>(g));
  m_stop.store(true, std::memory_order_release);
  for (std::thread& thread : m_lingering) thread.join();
  m_lingering.clear();
  for (Recording& recording : m_recordings) recording.handle = {};
  for (Instance& instance : m_instances) {
    if (instance.known.load() && !instance.future.is_done())
      complain(instance.label + " is not done");
    for (Run const& run : instance.runs)
      if (!run.over) complain(instance.label + " has begun and not ended");
  }
  for (Shared& shared : m_shared)
    shared.streams.clear();  // with what a device that failed has left there
  judge();
  for (Instance& instance : m_instances) instance.future = {};  // with the results
  static constexpr char const* names[] = {"functors", "results", "tags", "states"};
  for (std::size_t k = 0; k < sort_count; ++k)
    if (long const live = m_live[k].load(); live != 0)
      complain(std::to_string(live) + ' ' + names[k] + " were never destroyed");
  m_device.reset();
  std::string text;
  for (std::string const& each : m_complaints) text += each + '\n';
  return text;
}

// --- for the watchdog

std::string World::unfinished() {
  std::ostringstream out;
  std::unique_lock const lock(m_mutex, std::try_to_lock);
  if (!lock.owns_lock()) out << "(a thread hangs in the test's own lock)\n";
  for (std::string const& each : m_complaints) out << "so far: " << each << '\n';
  for (Follower const& follower : m_followers) {
    int const at = follower.at.load();
    if (at < 0 || follower.thread->lingers) continue;
    Op const& op = follower.thread->ops[static_cast<std::size_t>(at)];
    out << "thread " << follower.number << " is in its op " << at << ": "
        << static_cast<char>(op.kind) << op.which << '\n';
  }
  for (Instance const& instance : m_instances) {
    bool const known = instance.known.load(std::memory_order_acquire);
    if (known && instance.future.is_done()) continue;
    if (instance.recorded && instance.begun == instance.ended && instance.begun > 0) continue;
    out << instance.label;
    if (known) out << " (#" << (instance.future.handle().id % numberless) << ')';
    if (instance.recorded) out << " in a plan";
    int const begun = instance.begun.load(), ended = instance.ended.load();
    if (!known) out << " is being submitted";
    if (begun > ended) {
      out << " runs";
      int const step = instance.step.load();
      if (step >= 0) {
        Step const& doing = instance.task->steps[static_cast<std::size_t>(step)];
        out << ", and does " << static_cast<char>(doing.kind);
        if (doing.task >= 0) out << doing.task;
      } else if (instance.task->gate) {
        out << ", at its gate";
      }
    } else {
      out << (begun == 0 ? " has not begun" : " has left its body");
    }
    if (begun == 0)
      for (Instance const& before : m_instances) {
        if (&before == &instance) break;
        if (before.parent != instance.parent || before.task->graph != instance.task->graph)
          continue;
        if (before.known.load(std::memory_order_acquire) && before.future.is_done()) continue;
        bool waits = before.task->synchronizing || instance.task->synchronizing;
        for (Access const& a : before.task->accesses)
          for (Access const& b : instance.task->accesses) waits = waits || conflict(a, b);
        waits = waits || std::find(instance.before.begin(), instance.before.end(), &before) !=
                             instance.before.end();
        if (waits) out << ", waits for " << before.label;
      }
    out << '\n';
  }
  return out.str();
}

}  // namespace products
