// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EngineRun.hpp"
#include "Watchdog.hpp"

#include <Trellis_Error.hpp>
#include <Trellis_TaskGraph.hpp>
#include <impl/Trellis_GraphAccess.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>

namespace random_program {

namespace {

using trellis::Impl::TaskHandle;

/// What a body throws.
struct Thrown : std::runtime_error {
  explicit Thrown(int by) : std::runtime_error("thrown by " + std::to_string(by)), task(by) {}
  int task;
};

std::string name_of(int task) {
  return "t" + std::to_string(task);
}

/// A body as the typed fronts hand it to the engine.
template <class F>
struct BodyOf {
  static void run(void* body, void*, trellis::Label const&) { (*static_cast<F*>(body))(); }
  static void destroy(void* body) noexcept { static_cast<F*>(body)->~F(); }
  static void fail(void*, trellis::TaskId, std::string const&, trellis::Impl::FailurePtr const&) noexcept {}
  static constexpr trellis::Impl::TaskOps ops{"host_task", &run, &destroy, &fail};
};

class Run {
 public:
  explicit Run(Program const& program) : m_program(program), m_conflicts(program) {
    for (int array = 0; array < static_cast<int>(program.arrays.size()); ++array) {
      auto const size = static_cast<std::size_t>(program.arrays[static_cast<std::size_t>(array)]);
      m_memory.emplace_back(size);
      for (std::size_t e = 0; e < size; ++e) m_memory.back()[e] = initial_value(array, static_cast<int>(e));
      m_present.emplace_back(size);
    }
    m_records = std::vector<Record>(program.tasks.size());
    for (std::size_t t = 0; t < program.tasks.size(); ++t)
      for (Access const& access : program.tasks[t].accesses)
        m_records[t].elements.push_back(access.elements());
  }

  std::string operator()() {
    trellis::TaskGraphOptions options;
    options.workers = m_program.settings.workers;
    options.in_flight = m_program.settings.in_flight;
    options.record = m_program.settings.record;
    std::string const& policy = m_program.settings.policy;
    if (policy == "fifo") options.policy = trellis::make_fifo_policy();
    if (policy == "work_stealing") options.policy = trellis::make_work_stealing_policy();
    if (policy.starts_with("shake:"))
      options.policy = trellis::make_shake_policy(std::stoull(policy.substr(6)));
    if (policy == "serial") setenv("TRELLIS_SERIAL", "1", 1);
    trellis::TaskGraph graph(options);
    unsetenv("TRELLIS_SERIAL");
    m_graph = &graph;

    std::vector<int> order;
    for (std::size_t p = 0; p < m_program.phases.size(); ++p) {
      run_threads(m_program.phases[p]);
      std::string reported;
      try {
        graph.wait();
      } catch (trellis::Error const& error) {
        reported = error.what();
        if (error.kind() != trellis::Error::Kind::task_failed) complain("wait() throws ", reported);
      }
      check_phase(static_cast<int>(p), reported);
      if (graph.in_flight() != 0) complain("tasks are in flight after wait()");
    }
    check_order_of_events();
    if (m_program.settings.record) check_graphs();
    return std::move(m_problems);
  }

 private:
  /// Written by the task's body, or by the thread that submits it; no atomics, so that the thread sanitizer
  /// sees when the engine does not order these with what comes after.
  struct Record {
    TaskHandle handle;
    bool ran = false;
    bool over = false;
    std::uint64_t digest = 0;
    std::uint64_t started = 0;
    std::uint64_t finished = 0;
    std::thread::id thread;
    std::vector<std::vector<int>> elements;  ///< by access
  };
  /// How many tasks are at an element, by mode. Relaxed operations only: these must not order what the engine
  /// does not.
  struct Present {
    std::atomic<int> tasks[how_count]{};
  };

  template <class... T>
  void complain(T const&... text) {
    std::lock_guard const lock(m_problems_mutex);
    ((m_problems += text), ...);
    m_problems += '\n';
  }
  Task const& task(int t) const { return m_program.tasks[static_cast<std::size_t>(t)]; }
  Record& record(int t) { return m_records[static_cast<std::size_t>(t)]; }

  // --- submission ---

  void submit(int t) {
    Task const& model = task(t);
    std::vector<trellis::Impl::AccessRequest> requests;
    struct Subject {
      Run* run;
      Access const* access;
    };
    std::vector<Subject> subjects;
    subjects.reserve(model.accesses.size());
    for (Access const& access : model.accesses) {
      subjects.push_back({this, &access});
      auto* const first = m_memory[static_cast<std::size_t>(access.array)].data() + access.first;
      std::uint64_t extents[trellis::Area::max_rank];
      std::uint64_t strides[trellis::Area::max_rank];
      for (std::size_t k = 0; k < access.dimensions.size(); ++k) {
        extents[k] = static_cast<std::uint64_t>(access.dimensions[k].extent);
        strides[k] = static_cast<std::uint64_t>(access.dimensions[k].stride);
      }
      auto const area = trellis::Area::strided(first, sizeof(std::uint64_t),
                                               static_cast<int>(access.dimensions.size()), extents, strides);
      requests.push_back({area, static_cast<trellis::Mode>(access.how), &subjects.back(),
                          [](void const* subject, trellis::Impl::ResourceInfo& info) {
                            auto const& [run, described] = *static_cast<Subject const*>(subject);
                            info.begin = std::numeric_limits<std::uintptr_t>::max();
                            if (!described->tells_allocation) return;
                            auto const& memory = run->m_memory[static_cast<std::size_t>(described->array)];
                            info.label = "a" + std::to_string(described->array);
                            info.begin = reinterpret_cast<std::uintptr_t>(memory.data());
                            info.end = info.begin + memory.size() * sizeof(std::uint64_t);
                          }});
    }
    std::vector<TaskHandle> after;
    for (int const before : model.after)
      if (record(before).handle.valid())
        after.push_back(record(before).handle);  // not when its parent was cancelled

    auto body = [this, t] { run_body(t); };
    using Body = decltype(body);
    auto construct = [&](void* storage) { ::new (storage) Body(body); };
    trellis::Impl::TaskSpec spec(trellis::Label(name_of(t)), BodyOf<Body>::ops, sizeof(Body), alignof(Body),
                                 construct);
    spec.accesses = requests;
    spec.after = after;
    spec.priority = model.priority;
    spec.main_thread = model.main_thread;
    spec.synchronizing = model.synchronizing;
    record(t).handle = trellis::Impl::GraphAccess::submit(*m_graph, std::move(spec));
  }

  void run_threads(std::vector<std::vector<Step>> const& threads) {
    std::atomic<int> others{static_cast<int>(threads.size()) - 1};
    std::vector<std::thread> started;
    for (std::size_t k = 1; k < threads.size(); ++k)
      started.emplace_back([&, k] {
        follow(threads[k], -1);
        others.fetch_sub(1, std::memory_order_relaxed);
      });
    follow(threads[0], -1);
    // Others may be at the cap, behind a task of the main thread. With failures there is no such task.
    bool const failures =
        std::any_of(m_program.tasks.begin(), m_program.tasks.end(), [](Task const& t) { return t.throws; });
    while (!failures && others.load(std::memory_order_relaxed) > 0) {
      m_graph->wait();
      std::this_thread::yield();
    }
    for (std::thread& thread : started) thread.join();
  }

  /// `inside`: the task that does this, or -1.
  void follow(std::vector<Step> const& steps, int inside) {
    for (Step const& step : steps) {
      if (step.kind == Step::Kind::submit) submit(step.task);
      if (step.kind == Step::Kind::pause) std::this_thread::sleep_for(std::chrono::microseconds(100));
      if (step.kind == Step::Kind::wait_for && record(step.task).handle.valid()) wait_for(step.task, inside);
    }
  }

  void wait_for(int awaited, int inside) {
    try {
      record(awaited).handle.wait();
    } catch (trellis::Error const& error) {
      if (!m_program.settings.wild || inside < 0 || error.kind() != trellis::Error::Kind::deadlock)
        complain("waiting for ", name_of(awaited), inside < 0 ? " outside" : " inside " + name_of(inside),
                 " throws ", error.what());
      return;
    }
    if (!record(awaited).handle.is_done()) complain("wait() returns before ", name_of(awaited), " is done");
    if (record(awaited).ran && !record(awaited).over)
      complain("wait() returns while ", name_of(awaited), " runs");
  }

  // --- bodies ---

  std::uint64_t tick() { return m_clock.fetch_add(1, std::memory_order_relaxed) + 1; }

  void run_body(int t) {
    Record& self = record(t);
    self.started = tick();
    if (self.ran) complain(name_of(t), " runs twice");
    self.ran = true;
    self.thread = std::this_thread::get_id();
    arrive(t);
    if (task(t).steps_first) follow(task(t).steps, t);
    compute(t);
    if (!task(t).steps_first) follow(task(t).steps, t);
    leave(t);
    self.over = true;
    self.finished = tick();
    if (task(t).throws) throw Thrown(t);
  }

  template <class F>
  void for_each_element(int t, F&& f) {
    for (std::size_t k = 0; k < task(t).accesses.size(); ++k) {
      auto const array = static_cast<std::size_t>(task(t).accesses[k].array);
      for (int const element : record(t).elements[k])
        f(task(t).accesses[k], k, m_present[array][static_cast<std::size_t>(element)],
          m_memory[array][static_cast<std::size_t>(element)], element);
    }
  }

  void arrive(int t) {
    for_each_element(t, [&](Access const& access, std::size_t, Present& present, std::uint64_t&, int) {
      present.tasks[static_cast<std::size_t>(access.how)].fetch_add(1, std::memory_order_relaxed);
    });
    for_each_element(
        t, [&](Access const& access, std::size_t, Present& present, std::uint64_t& value, int element) {
          for (int other = 0; other < how_count; ++other) {
            auto const how = static_cast<How>(other);
            bool const apart =
                conflict(access.how, how) || (access.how == How::exclusive && how == How::exclusive);
            if (!apart) continue;
            int own = 0;
            for_each_element(t, [&](Access const& mine, std::size_t, Present&, std::uint64_t& where, int) {
              own += mine.how == how && &where == &value;
            });
            if (present.tasks[other].load(std::memory_order_relaxed) != own)
              complain(name_of(t), " is not alone: it is at element ", std::to_string(element), " of a",
                       std::to_string(access.array), " as ", to_string(access.how), ", and somebody else as ",
                       to_string(how));
          }
        });
  }

  void leave(int t) {
    for_each_element(t, [&](Access const& access, std::size_t, Present& present, std::uint64_t&, int) {
      present.tasks[static_cast<std::size_t>(access.how)].fetch_sub(1, std::memory_order_relaxed);
    });
  }

  void compute(int t) {
    std::uint64_t digest = 0;
    for_each_element(t,
                     [&](Access const& access, std::size_t k, Present&, std::uint64_t& value, int element) {
                       std::uint64_t const more = contribution(task(t), k, element);
                       switch (access.how) {
                         case How::read:
                           digest = mix(digest, value);
                           break;
                         case How::write:
                         case How::read_write:
                           digest = mix(digest, value);
                           value = mix(value, more);
                           break;
                         case How::atomic_add:
                           std::atomic_ref(value).fetch_add(more, std::memory_order_relaxed);
                           break;
                         case How::atomic_mul: {
                           std::atomic_ref const shared(value);
                           std::uint64_t old = shared.load(std::memory_order_relaxed);
                           while (!shared.compare_exchange_weak(old, old * more, std::memory_order_relaxed)) {
                           }
                           break;
                         }
                         case How::exclusive:  // not atomic: that is the point
                           value += more;
                           break;
                         case How::none:
                           break;
                       }
                     });
    record(t).digest = digest;
  }

  // --- checks ---

  /// All submitted tasks of the phases so far, in the order of their ids.
  std::vector<int> arrival_order(int last_phase) {
    std::vector<int> order;
    for (int t = 0; t < static_cast<int>(m_program.tasks.size()); ++t)
      if (task(t).phase <= last_phase && record(t).handle.valid()) order.push_back(t);
    std::sort(order.begin(), order.end(),
              [&](int a, int b) { return record(a).handle.id < record(b).handle.id; });
    return order;
  }

  void check_phase(int phase, std::string const& reported) {
    std::vector<int> const order = arrival_order(phase);
    for (std::size_t n = 0; n < order.size(); ++n)
      if (record(order[n]).handle.id != n + 1)
        return complain(name_of(order[n]), " has number ", std::to_string(record(order[n]).handle.id));
    Outcome const expected = run_serially(m_program, m_conflicts, order);
    int first_failed = -1;
    for (int const t : order) {
      if (task(t).parent >= 0 && record(task(t).parent).handle.id >= record(t).handle.id)
        complain(name_of(t), " comes before its parent");
      Fate const fate = expected.fate[static_cast<std::size_t>(t)];
      check_fate(t, fate, expected.origin[static_cast<std::size_t>(t)]);
      if (record(t).ran && record(t).digest != expected.digest[static_cast<std::size_t>(t)])
        complain(name_of(t), " (#", std::to_string(record(t).handle.id), ") reads what it should not");
      if (fate == Fate::failed && task(t).phase == phase && first_failed < 0) first_failed = t;
    }
    for (int t = 0; t < static_cast<int>(m_program.tasks.size()); ++t) {
      int const parent = task(t).parent;
      if (task(t).phase != phase) continue;
      if (!record(t).handle.valid() && (parent < 0 || record(parent).ran))
        complain(name_of(t), " was not submitted");
    }
    for (std::size_t array = 0; array < m_memory.size(); ++array)
      for (std::size_t e = 0; e < m_memory[array].size(); ++e)
        if (m_memory[array][e] != expected.memory[array][e])
          complain("element ", std::to_string(e), " of a", std::to_string(array), " is wrong after phase ",
                   std::to_string(phase));
    if (first_failed < 0 && !reported.empty()) complain("wait() throws ", reported);
    if (first_failed >= 0 && reported.find('"' + name_of(first_failed) + '"') == std::string::npos)
      complain("wait() should name ", name_of(first_failed), ", the first failure, but says: ", reported);
  }

  void check_fate(int t, Fate fate, int origin) {
    bool const runs = fate == Fate::done || fate == Fate::failed;
    if (record(t).ran != runs)
      complain(name_of(t), " (#", std::to_string(record(t).handle.id), ") should be ", to_string(fate),
               record(t).ran ? ", but ran" : ", but did not run");
    if (!record(t).handle.is_done()) complain(name_of(t), " is not done after wait()");
    if (runs && task(t).main_thread && m_program.settings.policy != "serial" &&
        record(t).thread != std::this_thread::get_id())
      complain(name_of(t), " is bound to the main thread, but ran on another");
    auto got = Fate::done;
    try {
      record(t).handle.wait_and_rethrow();
    } catch (trellis::Error const& error) {
      got = error.kind() == trellis::Error::Kind::task_failed ? Fate::failed : Fate::cancelled;
      try {
        std::rethrow_exception(error.cause());
      } catch (Thrown const& thrown) {
        if (thrown.task != origin)
          complain("get() of ", name_of(t), " says that ", name_of(thrown.task), " threw, but it was ",
                   name_of(origin));
      } catch (...) {
        complain("get() of ", name_of(t), " does not carry what was thrown: ", error.what());
      }
    }
    if (got != fate)
      complain("get() says that ", name_of(t), " is ", to_string(got), ", but it is ", to_string(fate));
  }

  void check_order_of_events() {
    std::vector<int> const order = arrival_order(std::numeric_limits<int>::max());
    for (std::size_t b = 0; b < order.size(); ++b)
      for (std::size_t a = 0; a < b; ++a) {
        Record const& first = record(order[a]);
        Record const& second = record(order[b]);
        if (!first.ran || !second.ran) continue;
        bool const wrong = m_conflicts.ordered(order[a], order[b]) && first.finished > second.started;
        bool const overlap = m_conflicts.exclude(order[a], order[b]) && first.finished > second.started &&
                             second.finished > first.started;
        if (wrong || overlap)
          complain(name_of(order[b]), wrong ? " starts before " : " runs beside ", name_of(order[a]),
                   wrong ? " is over" : ", both exclusive");
        if (m_program.settings.policy == "serial" && !m_program.has_waits_in_tasks() &&
            !m_program.has_several_threads() && first.started > second.started)
          complain(name_of(order[b]), " runs before ", name_of(order[a]), " with TRELLIS_SERIAL=1");
      }
  }

  void check_graphs() {
    trellis::DependencyGraph const dependencies = m_graph->dependency_graph();
    trellis::SchedulingGraph const scheduling = m_graph->scheduling_graph();
    std::vector<int> const order = arrival_order(std::numeric_limits<int>::max());
    if (dependencies.nodes().size() != order.size() || scheduling.nodes().size() != order.size())
      return complain("a graph has ", std::to_string(dependencies.nodes().size()), " nodes, not ",
                      std::to_string(order.size()));
    Outcome const expected = run_serially(m_program, m_conflicts, order);
    for (std::size_t n = 0; n < order.size(); ++n) {
      trellis::TaskRecord const& node = dependencies.nodes()[n];
      if (node.id != n + 1 || node.label != name_of(order[n]))
        complain("node ", std::to_string(n), " is ", node.label);
      if (trellis::to_string(node.state) != to_string(expected.fate[static_cast<std::size_t>(order[n])]))
        complain("node ", node.label, " is ", std::string(trellis::to_string(node.state)));
    }
    check_edges(dependencies, order);
    for (trellis::EdgeRecord const& edge : dependencies.edges())
      if (std::find(scheduling.edges().begin(), scheduling.edges().end(), edge) == scheduling.edges().end())
        complain("the scheduling graph lacks a dependency edge to ", name_of(order[edge.to - 1]));
    for (trellis::EdgeRecord const& edge : scheduling.edges()) {
      int const from = order[edge.from - 1];
      int const to = order[edge.to - 1];
      if (trellis::is_dependency(edge.reason)) continue;
      if (edge.reason != trellis::EdgeReason::exclusion || !m_conflicts.exclude(from, to))
        complain("no reason for the scheduling edge from ", name_of(from), " to ", name_of(to));
      if (record(from).ran && record(to).ran && record(from).finished > record(to).started)
        complain("the scheduling edge from ", name_of(from), " to ", name_of(to), " was not kept");
    }
  }

  /// Each edge has its reason, and the edges reach whatever must be ordered.
  void check_edges(trellis::DependencyGraph const& graph, std::vector<int> const& order) {
    std::size_t const n = order.size();
    std::vector<std::vector<bool>> reached(n, std::vector<bool>(n));  // [to][from]
    for (trellis::EdgeRecord const& edge : graph.edges()) {           // sorted by `to`
      if (edge.from >= edge.to)
        return complain("an edge leads from #", std::to_string(edge.from), " to #", std::to_string(edge.to));
      int const from = order[edge.from - 1];
      int const to = order[edge.to - 1];
      bool const right = edge.reason == trellis::EdgeReason::access  ? m_conflicts.by_access(from, to)
                         : edge.reason == trellis::EdgeReason::after ? m_conflicts.after(from, to)
                                                                     : m_conflicts.synchronizing(from, to);
      if (!right)
        complain("no reason for the edge from ", name_of(from), " to ", name_of(to), ": ",
                 std::string(trellis::to_string(edge.reason)));
      auto& row = reached[edge.to - 1];
      row[edge.from - 1] = true;
      for (std::size_t k = 0; k < edge.from - 1; ++k) row[k] = row[k] || reached[edge.from - 1][k];
    }
    for (std::size_t b = 0; b < n; ++b)
      for (std::size_t a = 0; a < b; ++a)
        if (m_conflicts.ordered(order[a], order[b]) && !reached[b][a])
          complain("no path leads from ", name_of(order[a]), " (#", std::to_string(a + 1), ") to ",
                   name_of(order[b]), " (#", std::to_string(b + 1), ')');
  }

  Program const& m_program;
  Conflicts const m_conflicts;
  trellis::TaskGraph* m_graph = nullptr;
  std::vector<std::vector<std::uint64_t>> m_memory;
  std::vector<std::vector<Present>> m_present;
  std::vector<Record> m_records;
  std::atomic<std::uint64_t> m_clock{0};
  std::mutex m_problems_mutex;
  std::string m_problems;
};

}  // namespace

std::string run_on_engine(Program const& program) {
  Watchdog const watchdog(to_string(program), std::chrono::seconds(60));
  return Run(program)();
}

Program shrink(Program program, std::chrono::seconds limit) {
  auto const end = std::chrono::steady_clock::now() + limit;
  auto const fails = [&](Program const& candidate) {
    for (int k = 0; k < 20 && std::chrono::steady_clock::now() < end; ++k)
      if (!run_on_engine(candidate).empty()) return true;
    return false;
  };
  for (std::size_t chunk = std::max<std::size_t>(program.tasks.size() / 2, 1);;
       chunk = std::max<std::size_t>(chunk / 2, 1)) {
    bool smaller = false;
    for (std::size_t first = 0; first < program.tasks.size() && std::chrono::steady_clock::now() < end;) {
      std::vector<bool> dropped(program.tasks.size());
      for (std::size_t k = first; k < std::min(first + chunk, dropped.size()); ++k) dropped[k] = true;
      Program candidate = without(program, dropped);
      if (fails(candidate)) {
        program = std::move(candidate);
        smaller = true;
      } else {
        first += chunk;
      }
    }
    if (std::chrono::steady_clock::now() >= end || (chunk == 1 && !smaller)) return program;
  }
}

}  // namespace random_program
