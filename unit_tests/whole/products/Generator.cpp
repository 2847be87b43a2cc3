// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Program.hpp"
#include "Switches.hpp"

#include <algorithm>
#include <array>
#include <random>

/// Programs from seeds. What may not be combined, because there is no saying what it must do, is
/// left out here, with the reason beside it.
namespace products {

namespace {

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : m_random(seed * 0x9E3779B97F4A7C15U + 1) {
    m_program.seed = seed;
  }

  Program make() {
    draw_features();
    draw_graphs();
    int const phases = 1 + (chance(50) ? 1 : 0) + (chance(20) ? 1 : 0);
    for (int k = 0; k < phases; ++k) add_phase(k, k + 1 == phases);
    if (m_devices && Switches::device_failures && chance(10)) m_program.device_fails = pick(12);
    m_program.destroys_busy = !m_program.has_failures() && chance(30);
    m_program.keeps_plans = chance(30);
    return std::move(m_program);
  }

 private:
  /// Where a task is submitted.
  struct Place {
    int graph = 0;
    int thread = 0;
    bool in_plan = false;
    bool in_loop = false;
    int depth = 0;  ///< submitted by a task
    bool excludes = true;
    bool awaits = true;
  };

  /// To those around it a replay, of a plan or of an iteration, is one task. What one of its tasks
  /// waits for must not need what another excludes, nor depend on a task that does. So either its
  /// tasks exclude others or they wait.
  void draw_whether_it_excludes(Place& place) {
    place.excludes = chance(50);
    place.awaits = !place.excludes;
  }

  int pick(int below) { return static_cast<int>(m_random() % static_cast<unsigned>(below)); }
  bool chance(int percent) { return pick(100) < percent; }
  template <class T, std::size_t n>
  T one_of(std::array<T, n> const& all) {
    return all[static_cast<std::size_t>(pick(static_cast<int>(n)))];
  }

  void draw_features() {
    m_submitters = chance(50) ? 1 : 2 + pick(chance(30) ? 7 : 2);
    m_plans = chance(50);
    m_loops = chance(25);
    m_loops_alone = m_loops && m_submitters == 1 && chance(60);
    m_devices = Switches::devices && chance(30);
    m_nasty = chance(50);
    m_failures = chance(30);
    m_children = chance(25);
    m_waits = chance(30);
    m_watchers = chance(35);
    m_states = chance(15);
    // An iteration that was replayed is one task to those around it; and nobody knows when other
    // threads' tasks came.
    m_synchronizing = !m_loops && chance(15);
    // The main thread runs these when it waits, so it must be the one that submits.
    m_main_thread = m_submitters == 1 && chance(15);
    m_submits_in_destructors =
        m_nasty && Switches::destructors_submit &&
        (Switches::destructors_submit_beside_recordings || (!m_plans && !m_loops));
    m_late = chance(35);
    m_size = chance(70) ? 4 + pick(12) : 10 + pick(30);
  }

  void draw_graphs() {
    int const count = chance(20) ? 2 : 1;
    m_main_thread = m_main_thread && (count == 1 || Switches::main_thread_in_two_graphs);
    for (int g = 0; g < count; ++g) {
      Graph graph;
      graph.workers = chance(60) ? 1 + pick(3) : 1 + pick(8);
      graph.cap = one_of(std::array{0, 0, 1, 4, 4, 64});
      graph.policy =
          one_of(std::array<std::string, 4>{"work_stealing", "work_stealing", "fifo", "shake"});
      if (graph.policy == "shake") graph.policy += ":" + std::to_string(m_program.seed);
      graph.streams = 1 + pick(4);
      graph.rules = chance(10);
      graph.record = chance(8);
      m_program.graphs.push_back(graph);
    }
    bool const small = std::any_of(m_program.graphs.begin(), m_program.graphs.end(),
                                   [](Graph const& graph) { return graph.cap > 0; });
    m_shared_objects_submit = m_submits_in_destructors && Switches::shared_objects_submit &&
                              (Switches::shared_objects_submit_at_the_cap || !small);
  }

  // --- tasks

  std::vector<Access> draw_accesses(Place const& place, bool may_exclude) {
    std::array<bool, Cells::count> used{};
    std::vector<Access> all;
    auto const add = [&](Mode mode, int first, int count) {
      for (int c = first; c < first + count; ++c)
        if (used[static_cast<std::size_t>(c)]) return;
      for (int c = first; c < first + count; ++c) used[static_cast<std::size_t>(c)] = true;
      all.push_back({mode, first, count});
    };
    // Nobody knows where a replayed iteration stands among the tasks of other threads, and of
    // bodies.
    bool const own_only = place.in_loop && !m_loops_alone;
    bool const none_own = m_loops && (place.depth > 0 || (place.in_plan && !m_loops_alone));
    for (int k = pick(4); k > 0; --k) {
      int const which = pick(100);
      if (which < 20) {
        add(Mode::add, Cells::sums + pick(2), 1);
      } else if (m_states && which < 40 && !own_only) {
        add(chance(50) ? Mode::look : Mode::make, Cells::states + pick(2), 1);
      } else if (own_only || (which < 45 && !none_own)) {
        int const from = pick(2);
        add(one_of(std::array{Mode::read, Mode::write, Mode::update, Mode::update}),
            Cells::own + 2 * place.thread + from, from == 0 ? 1 + pick(2) : 1);
      } else {
        int const count = 1 + pick(3);
        Mode mode = one_of(std::array{Mode::read, Mode::read, Mode::write, Mode::update,
                                      Mode::update, Mode::add, Mode::exclusive});
        if (mode == Mode::exclusive && !may_exclude) mode = Mode::update;
        add(mode, Cells::mixed + pick(Cells::sums - Cells::mixed - count + 1), count);
      }
    }
    return all;
  }

  Habits draw_habits(bool may_await, bool may_submit, bool submits_too) {
    Habits habits;
    if (!m_nasty || chance(50)) return habits;
    if (chance(40)) habits.moved = Deed::dawdle;
    switch (pick(5)) {
      case 0:
        habits.destroyed = Deed::dawdle;
        break;
      case 1:
        if (may_submit && submits_too) habits.destroyed = Deed::submit;
        break;
      case 2:
        if (may_await && Switches::destructors_wait) habits.destroyed = Deed::await;
        break;
      case 3:
        if (may_await) habits.destroyed = Deed::ask;
        break;
      default:
        break;
    }
    return habits;
  }

  /// A task that was submitted before, in this graph or, for tasks of the first one, in the second:
  /// so that no circle can come about. -1: none.
  int draw_awaited(Place const& place) {
    std::vector<int> const& all = m_roots[static_cast<std::size_t>(place.thread)];
    if (all.empty()) return -1;
    int const t = all[static_cast<std::size_t>(pick(static_cast<int>(all.size())))];
    int const graph = m_program.task(t).graph;
    if (graph != place.graph && (place.graph != 0 || m_program.task(t).main_thread)) return -1;
    // Rules and gates may hold it up until this one is over.
    return m_program.task(t).gate ? -1 : t;
  }

  int add_task(Place const& place) {
    Task task;
    task.graph = place.graph;
    bool const rules = m_program.graphs[static_cast<std::size_t>(place.graph)].rules;
    bool const on_device = m_devices && chance(50);
    // Who waits holds up those that it excludes, and these may be what it waits for.
    bool const awaits = !on_device && m_waits && place.awaits && chance(25);
    int const awaited = m_nasty && place.awaits && chance(50) ? draw_awaited(place) : -1;
    bool const may_exclude = place.excludes && !awaits && awaited < 0;
    if (on_device) task.where = chance(20) ? Task::Where::stream : Task::Where::device;
    task.accesses = draw_accesses(place, may_exclude);
    task.slow = chance(30);
    if (chance(15)) task.priority = pick(5) - 2;
    task.has_result = !on_device && chance(25);
    if (!on_device && m_late && !task.has_result) task.late = draw_late();
    if (place.depth == 0) {
      task.main_thread = !on_device && m_main_thread && chance(25);
      task.synchronizing = m_synchronizing && chance(10);
    }
    // Rules hold among the tasks of one plan, or of the graph.
    if (chance(10) && !(rules && (place.in_plan || place.in_loop))) task.tag = 1 + pick(2);
    if (task.tag == 1 && !may_exclude) task.tag = 2;
    if (m_failures && chance(12)) task.fails = draw_failure(on_device);
    draw_after(task, place);
    task.awaited = awaited;
    bool const waits = awaited >= 0;
    task.functor = draw_habits(waits, true, m_submits_in_destructors);
    if (task.has_result)
      task.result = draw_habits(waits, true, m_submits_in_destructors && Switches::results_submit);
    task.of_tag = draw_habits(waits, true, m_shared_objects_submit);
    task.state = draw_habits(false, true, m_shared_objects_submit);
    if (!Switches::destructors_wait || (on_device && !Switches::device_destructors_wait))
      for (Habits* habits : {&task.functor, &task.result, &task.of_tag})
        if (habits->destroyed == Deed::await) habits->destroyed = Deed::nothing;
    m_program.tasks.push_back(task);
    int const number = static_cast<int>(m_program.tasks.size()) - 1;
    draw_steps(number, place, awaits);
    return number;
  }

  Task::Failure draw_failure(bool on_device) {
    if (!on_device) return Task::Failure::body;
    if (Switches::launched_and_threw && chance(30)) return Task::Failure::launched;
    return chance(50) ? Task::Failure::launch : Task::Failure::finish;
  }

  Task::Late draw_late() {
    using Late = Task::Late;
    if (!chance(40)) return Late::no;
    return one_of(std::array{Late::within, Late::elsewhere, Late::elsewhere, Late::polled});
  }

  void draw_after(Task& task, Place const& place) {
    if (!chance(12) || place.depth > 0) return;
    std::vector<int> const& all =
        place.in_plan ? m_in_this_plan : m_roots[static_cast<std::size_t>(place.thread)];
    if (all.empty()) return;
    int const before = all[static_cast<std::size_t>(pick(static_cast<int>(all.size())))];
    if (m_program.task(before).graph == place.graph) task.after.push_back(before);
  }

  void draw_steps(int number, Place const& place, bool awaits) {
    auto const task = [&]() -> Task& { return m_program.tasks[static_cast<std::size_t>(number)]; };
    if (task().on_device()) {
      if (chance(40)) task().steps.push_back({Step::Kind::dawdle, -1});
      return;
    }
    if (chance(20)) task().steps.push_back({Step::Kind::dawdle, -1});
    if (awaits || chance(5)) {
      int const awaited = draw_awaited(place);
      if (awaited >= 0)
        task().steps.push_back({awaits ? Step::Kind::await : Step::Kind::ask, awaited});
    }
    if (place.depth == 0 && !place.in_loop && !m_loops_alone && chance(12))
      for (int k = 1 + pick(2); k > 0; --k) {
        Place inner = place;
        inner.depth = 1;
        inner.in_plan = false;
        inner.excludes = inner.awaits = true;  // the replay does not wait for it
        int const child = add_task(inner);
        task().steps.push_back({Step::Kind::submit, child});
      }
    bool const has_state =
        std::any_of(task().accesses.begin(), task().accesses.end(), [](Access const& access) {
          return access.mode == Mode::look || access.mode == Mode::make;
        });
    if (m_children && chance(35) && !has_state) {
      for (int k = 1 + pick(3); k > 0; --k) {
        int const child = add_child(number);
        task().steps.push_back({Step::Kind::child, child});
      }
      if (chance(50)) task().steps.push_back({Step::Kind::wait_children, -1});
    } else if (m_children && chance(20) && !has_state && !task().synchronizing &&
               !task().accesses.empty()) {
      task().steps.push_back({Step::Kind::release, -1});
      task().steps.push_back({Step::Kind::dawdle, -1});
    }
  }

  int add_child(int parent_number) {
    Task const parent = m_program.task(parent_number);
    Task child;
    child.graph = parent.graph;
    child.slow = chance(20);
    for (Access const& access : parent.accesses) {
      if (chance(40)) continue;
      Access mine = access;
      mine.count = 1 + pick(access.count);
      if (access.mode == Mode::write || access.mode == Mode::update)
        mine.mode = one_of(std::array{Mode::read, Mode::write, Mode::update});
      child.accesses.push_back(mine);
    }
    if (m_failures && chance(8)) child.fails = Task::Failure::body;
    if (m_late) child.late = draw_late();
    child.functor = draw_habits(false, true, m_submits_in_destructors);
    m_program.tasks.push_back(child);
    return static_cast<int>(m_program.tasks.size()) - 1;
  }

  // --- threads

  int draw_graph() { return pick(static_cast<int>(m_program.graphs.size())); }

  void add_plan(Thread& thread, int number) {
    Plan plan;
    plan.graph = draw_graph();
    Place place{plan.graph, number, true, false, 0};
    draw_whether_it_excludes(place);
    m_in_this_plan.clear();
    for (int k = 1 + pick(5); k > 0; --k) {
      std::vector<int> inner;
      for (std::size_t p = 0; p < m_program.plans.size(); ++p)
        if (m_program.plans[p].graph == plan.graph && m_held[p] && m_excludes[p] == place.excludes)
          inner.push_back(static_cast<int>(p));
      if (!inner.empty() && chance(15)) {
        // Another thread's plan may be recorded in the same phase: only those of phases before, or
        // one's own.
        int const p = inner[static_cast<std::size_t>(pick(static_cast<int>(inner.size())))];
        if (m_recorded_by[static_cast<std::size_t>(p)] == number ||
            m_recorded_by[static_cast<std::size_t>(p)] < 0) {
          plan.items.push_back({-1, p, pick(4)});
          continue;
        }
      }
      int const task = add_task(place);
      plan.items.push_back({task, -1, 1});
      m_in_this_plan.push_back(task);
      m_planned.push_back(task);
    }
    m_program.plans.push_back(plan);
    m_held.push_back(true);
    m_excludes.push_back(place.excludes);
    m_recorded_by.push_back(number);
    int const p = static_cast<int>(m_program.plans.size()) - 1;
    thread.ops.push_back({Op::Kind::record, p, 1});
    if (chance(80)) thread.ops.push_back({Op::Kind::replay, p, draw_rounds()});
  }
  int draw_rounds() { return one_of(std::array{0, 1, 1, 1, 2, 2, 3, 5, 8, 9, 17, 20}); }

  void add_loop(Thread& thread, int number) {
    Loop loop;
    loop.graph = draw_graph();
    loop.iterations = 1 + pick(chance(30) ? 20 : 6);
    Place place{loop.graph, number, false, true, 0};
    draw_whether_it_excludes(place);
    for (int k = 1 + pick(4); k > 0; --k) {
      Loop::Item item{add_task(place), 1, 0};
      // All iterations have the first one: its future is what is asked for.
      if (!loop.items.empty() && chance(30)) {
        item.every = 2 + pick(3);
        item.offset = pick(item.every);
      }
      loop.items.push_back(item);
    }
    using Asks = Loop::Asks;
    if (chance(40))
      loop.asks = one_of(std::array{Asks::once, Asks::waits, Asks::waits_for_last, Asks::thread});
    if (Switches::loops_wait && chance(25)) {
      loop.asks = one_of(std::array{Asks::until_done, Asks::joins, Asks::other_graph});
      if (loop.asks == Asks::other_graph && (m_program.graphs.size() < 2 || m_waits || m_nasty))
        loop.asks = Asks::joins;
      // Nobody would run it: the main thread is in the body, and waits for nothing that the engine
      // knows.
      if (m_main_thread) loop.asks = Asks::once;
    }
    // The main thread joins that one before it waits.
    if (m_main_thread && loop.asks == Asks::thread) loop.asks = Asks::once;
    if (chance(15)) loop.ends_after = pick(loop.iterations);
    m_program.loops.push_back(loop);
    thread.ops.push_back({Op::Kind::loop, static_cast<int>(m_program.loops.size()) - 1, 1});
    for (Loop::Item const& item : loop.items) m_looped.push_back(item.task);
  }

  void add_op(Thread& thread, int number) {
    int const which = pick(100);
    if (m_plans && which < 12 && m_program.plans.size() < 4) return add_plan(thread, number);
    if (m_plans && which < 30) {
      std::vector<int> mine;
      for (std::size_t p = 0; p < m_program.plans.size(); ++p)
        if (m_held[p] && (m_recorded_by[p] == number || m_recorded_by[p] < 0))
          mine.push_back(static_cast<int>(p));
      if (mine.empty()) return;
      int const p = mine[static_cast<std::size_t>(pick(static_cast<int>(mine.size())))];
      return thread.ops.push_back({Op::Kind::replay, p, draw_rounds()});
    }
    if (m_plans && which < 34) return add_drop(thread, number);
    if (m_loops && which < 40 && m_program.loops.size() < 5) return add_loop(thread, number);
    if (which < 46) return add_question(thread, number);
    if (which < 48 && (m_submitters == 1 || !m_failures))
      return thread.ops.push_back({Op::Kind::wait, draw_graph(), 1});
    if (which < 52) return thread.ops.push_back({Op::Kind::dawdle, pick(100), 1});
    if (m_children && which < 56) return add_refinement(thread, number);
    Place const place{draw_graph(), number, false, false, 0};
    int const task = add_task(place);
    thread.ops.push_back({Op::Kind::submit, task, 1});
    m_roots[static_cast<std::size_t>(number)].push_back(task);
  }

  void add_drop(Thread& thread, int number) {
    for (std::size_t p = 0; p < m_program.plans.size(); ++p) {
      if (!m_held[p] || (m_recorded_by[p] != number && m_recorded_by[p] >= 0)) continue;
      if (!Switches::futures_of_dropped_plans && m_watchers) continue;
      thread.ops.push_back({Op::Kind::drop, static_cast<int>(p), 1});
      m_held[p] = false;
      return;
    }
  }

  void add_question(Thread& thread, int number) {
    std::vector<int> all = m_roots[static_cast<std::size_t>(number)];
    all.insert(all.end(), m_planned.begin(), m_planned.end());
    all.insert(all.end(), m_looped.begin(), m_looped.end());
    if (all.empty()) return;
    int const t = all[static_cast<std::size_t>(pick(static_cast<int>(all.size())))];
    bool const planned = std::find(m_planned.begin(), m_planned.end(), t) != m_planned.end();
    Op::Kind kind = one_of(std::array{Op::Kind::get, Op::Kind::await, Op::Kind::ask});
    // A result that another thread's replay writes again is not to be read meanwhile.
    if (kind == Op::Kind::get && planned && m_program.task(t).has_result) kind = Op::Kind::await;
    thread.ops.push_back({kind, t, 1});
  }

  void add_refinement(Thread& thread, int number) {
    std::vector<int> const& all = m_roots[static_cast<std::size_t>(number)];
    if (all.empty()) return;
    Task const& task = m_program.task(all.back());
    bool const gives_up = std::any_of(task.steps.begin(), task.steps.end(), [](Step const& step) {
      return step.kind == Step::Kind::release;
    });
    bool const has_state =
        std::any_of(task.accesses.begin(), task.accesses.end(), [](Access const& access) {
          return access.mode == Mode::look || access.mode == Mode::make;
        });
    if (task.on_device() || task.has_result || task.main_thread || task.synchronizing ||
        task.tag != 0 || gives_up || has_state || thread.ops.empty() ||
        thread.ops.back().kind != Op::Kind::submit)
      return;
    thread.ops.push_back({Op::Kind::refine, all.back(), 1});
  }

  /// A gate with fewer tasks behind it than the cap allows: nobody may have to make room before it
  /// is opened.
  void add_gate(Thread& thread) {
    int const cap = m_program.graphs[0].cap == 0 ? 64 : m_program.graphs[0].cap;
    int const most = std::min(cap, 40) - 2;
    if (!Switches::gates || m_submitters > 1 || most < 1 || !chance(15) || m_main_thread) return;
    Task gate;
    gate.accesses = {{Mode::update, Cells::mixed, 2}};
    gate.gate = true;
    m_program.tasks.push_back(gate);
    int const number = static_cast<int>(m_program.tasks.size()) - 1;
    thread.ops.push_back({Op::Kind::submit, number, 1});
    for (int k = pick(most); k > 0; --k) {
      Task behind;
      behind.accesses = {{chance(50) ? Mode::read : Mode::update, Cells::mixed + pick(2), 1}};
      m_program.tasks.push_back(behind);
      thread.ops.push_back({Op::Kind::submit, static_cast<int>(m_program.tasks.size()) - 1, 1});
    }
    thread.ops.push_back({Op::Kind::open, number, 1});
  }

  void add_phase(int number, bool last) {
    m_program.phases.emplace_back();
    for (int k = 0; k < m_submitters; ++k) {
      Thread thread;
      if (k == 0 && number > 0) add_gate(thread);
      int const size = std::max(2, m_size / (m_submitters > 2 ? m_submitters / 2 : 1));
      while (static_cast<int>(thread.ops.size()) < size) {
        std::size_t const before = thread.ops.size();
        add_op(thread, k);
        if (thread.ops.size() == before) thread.ops.push_back({Op::Kind::dawdle, pick(100), 1});
      }
      m_program.phases.back().threads.push_back(std::move(thread));
    }
    if (m_watchers)
      for (int k = 1 + pick(2); k > 0; --k) add_watcher(last);
    for (int& by : m_recorded_by) by = -1;
    // In later phases all threads have seen what all have submitted.
    std::vector<int> all;
    for (auto const& roots : m_roots) all.insert(all.end(), roots.begin(), roots.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (auto& roots : m_roots) roots = all;
  }

  /// A thread that submits nothing, and asks for what the others submit.
  void add_watcher(bool last) {
    std::vector<int> all;
    for (auto const& roots : m_roots) all.insert(all.end(), roots.begin(), roots.end());
    all.insert(all.end(), m_planned.begin(), m_planned.end());
    all.insert(all.end(), m_looped.begin(), m_looped.end());
    if (all.empty()) return;
    Thread thread;
    thread.lingers = last && Switches::futures_at_destruction && chance(50);
    for (int k = 2 + pick(10); k > 0; --k) {
      int const t = all[static_cast<std::size_t>(pick(static_cast<int>(all.size())))];
      bool const planned = std::find(m_planned.begin(), m_planned.end(), t) != m_planned.end();
      Op::Kind kind =
          one_of(std::array{Op::Kind::get, Op::Kind::await, Op::Kind::ask, Op::Kind::ask});
      if (kind == Op::Kind::get && planned && m_program.task(t).has_result) kind = Op::Kind::ask;
      thread.ops.push_back({kind, t, 1});
      if (!thread.lingers && chance(30)) thread.ops.push_back({Op::Kind::dawdle, pick(100), 1});
    }
    m_program.phases.back().threads.push_back(std::move(thread));
  }

  std::mt19937_64 m_random;
  Program m_program;
  int m_submitters = 1;
  int m_size = 10;
  bool m_plans = false;
  bool m_loops = false;
  bool m_loops_alone = false;  ///< one thread submits, and no task does
  bool m_devices = false;
  bool m_nasty = false;
  bool m_late = false;
  bool m_failures = false;
  bool m_children = false;
  bool m_waits = false;
  bool m_watchers = false;
  bool m_states = false;
  bool m_synchronizing = false;
  bool m_main_thread = false;
  bool m_submits_in_destructors = false;
  bool m_shared_objects_submit = false;
  /// by thread: what it has submitted to a graph
  std::array<std::vector<int>, Cells::most_threads> m_roots;
  std::vector<int> m_planned;
  std::vector<int> m_looped;
  std::vector<int> m_in_this_plan;
  std::vector<bool> m_held;        ///< by plan
  std::vector<bool> m_excludes;    ///< by plan: its tasks may, and wait for nothing
  std::vector<int> m_recorded_by;  ///< the thread, in this phase; -1: in one before
};

}  // namespace

Program make_program(std::uint64_t seed) {
  Program program = Generator(seed).make();
  // Not drawn: each seed gives the program that it gave before there were numbers, with some.
  for (std::size_t t = 0; t < program.tasks.size(); ++t)
    program.tasks[t].numbered = mix(seed, t) % 3 == 0;
  // The same of graphs that run serially. What is behind a gate would never be submitted there.
  bool const has_gates = std::any_of(program.tasks.begin(), program.tasks.end(),
                                     [](Task const& task) { return task.gate; });
  for (std::size_t g = 0; g < program.graphs.size() && !has_gates; ++g)
    if (mix(seed, g + 991) % 5 == 0) program.graphs[g].policy = "serial";
  return program;
}

}  // namespace products
