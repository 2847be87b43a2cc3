// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs whose tasks are ordered by numbers alone, against the same tasks one by one.
#include "Seeds.hpp"
#include "BareTask.hpp"
#include "OrderTest.hpp"
#include "Timing.hpp"

#include <Trellis_TaskNumbers.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

using Value = std::uint64_t;
Value mixed(Value a, Value b) {
  Value const h = (a ^ (b + 0x9E3779B97F4A7C15U + (a << 6U) + (a >> 2U))) * 0xBF58476D1CE4E5B9U;
  return h ^ (h >> 29U);
}

/// A task. It writes a value of its own, which is made of those of the tasks that it names; names
/// are of tasks with smaller indices.
struct Node {
  std::vector<int> after;
  std::vector<int> waits;     ///< in its body
  std::vector<int> children;  ///< that its body submits
  bool in_scope = false;      ///< the children are submitted in its scope, else to the graph
  bool throws = false;        ///< at the end of its body
  int rounds = 1;             ///< of a plan
  int phase = 0;
  int thread = 0;
  bool is_inner = false;    ///< submitted by a body
  bool is_planned = false;  ///< its number means nothing before it has been replayed

  // What must come out.
  bool is_submitted = false;
  bool is_bad = false;  ///< it fails or is cancelled
  Value value = 0;
};

/// What a thread does.
struct Op {
  enum class Kind { submit, plan, loop, wait } kind;
  std::vector<int> nodes;
};

class NumberProgram {
 public:
  explicit NumberProgram(std::uint64_t seed) : m_random(seed) {
    int const phases = 1 + pick(3);
    for (int phase = 0; phase < phases; ++phase) {
      m_phases.emplace_back(static_cast<std::size_t>(1 + pick(3)));
      int const ops = 3 + pick(20);
      for (int k = 0; k < ops; ++k) add_op();
    }
    find_outcome();
  }

  /// What is wrong with what the graph does; empty: nothing.
  std::string run(std::uint64_t seed) {
    m_random.seed(seed);
    m_values.assign(m_nodes.size(), 0);
    std::string policy;
    TaskGraph graph(options(policy));
    m_graph = &graph;
    TaskNumbers const registry(graph);
    m_numbers.clear();
    TaskNumber const first = registry.reserve(m_nodes.size());
    for (std::size_t k = 0; k < m_nodes.size(); ++k) m_numbers.push_back(first + k);
    std::shuffle(m_numbers.begin(), m_numbers.end(), m_random);
    for (std::size_t phase = 0; phase < m_phases.size(); ++phase)
      run_phase(static_cast<int>(phase));
    for (std::size_t k = 0; k < m_nodes.size(); ++k)
      if (m_values[k] != m_nodes[k].value) complain("node " + std::to_string(k) + " has not run");
    m_graph = nullptr;
    return m_wrong.empty() ? m_wrong : policy + ":\n" + m_wrong;
  }

 private:
  int pick(int below) { return static_cast<int>(m_random() % static_cast<unsigned>(below)); }
  Node& node(int k) { return m_nodes[static_cast<std::size_t>(k)]; }
  TaskNumber number(int k) const { return m_numbers[static_cast<std::size_t>(k)]; }
  std::vector<TaskNumber> numbers(std::vector<int> const& nodes) const {
    std::vector<TaskNumber> all;
    for (int const k : nodes) all.push_back(number(k));
    return all;
  }

  // --- the program

  /// May a task with an index from `below` on, of this thread, name it?
  bool may_name(int k, int thread, int phase) {
    Node const& named = node(k);
    if (named.phase < phase) return !named.is_inner || is_known(k);
    if (named.is_inner) return false;
    return named.thread == thread || !named.is_planned;
  }
  /// Is it submitted for certain? A body that is cancelled submits nothing; so only where nothing
  /// of its phase can fail.
  bool is_known(int k) {
    return std::none_of(m_nodes.begin(), m_nodes.end(), [&](Node const& other) {
      return other.phase == node(k).phase && other.throws;
    });
  }
  std::vector<int> names(int below, int most, int thread, int phase) {
    std::vector<int> all;
    int const tries = pick(most + 1);
    for (int t = 0; t < tries && below > 0; ++t) {
      int const k = below - 1 - pick(std::min(below, 12));
      if (may_name(k, thread, phase)) all.push_back(k);
    }
    return all;
  }
  int add_node(int thread, int phase, int below) {
    int const k = static_cast<int>(m_nodes.size());
    Node added;
    added.phase = phase;
    added.thread = thread;
    added.after = names(below, 3, thread, phase);
    m_nodes.push_back(std::move(added));
    return k;
  }
  void add_op() {
    int const phase = static_cast<int>(m_phases.size()) - 1;
    auto& threads = m_phases.back();
    int const thread = pick(static_cast<int>(threads.size()));
    int const below = static_cast<int>(m_nodes.size());
    Op op{Op::Kind::submit, {}};
    switch (pick(8)) {
      case 0: {  // a plan
        op.kind = Op::Kind::plan;
        int const rounds = 1 + pick(3);
        for (int count = 1 + pick(4); count > 0; --count) {
          int const k = add_node(thread, phase, below);
          // What is in another plan cannot be named here.
          std::erase_if(node(k).after, [&](int other) { return node(other).is_planned; });
          if (k > below && pick(2) == 0) node(k).after.push_back(below + pick(k - below));
          node(k).rounds = rounds;
          op.nodes.push_back(k);
        }
        for (int const k : op.nodes) node(k).is_planned = true;
        break;
      }
      case 1:  // iterations
        op.kind = Op::Kind::loop;
        for (int count = 1 + pick(6); count > 0; --count) {
          int const k = add_node(thread, phase, below);
          if (pick(3) != 0) node(k).after.clear();
          node(k).throws = pick(30) == 0;
          op.nodes.push_back(k);
        }
        break;
      case 2:
        op.kind = Op::Kind::wait;
        op.nodes = names(below, 5, thread, phase);
        break;
      default: {
        int const k = add_node(thread, phase, below);
        op.nodes.push_back(k);
        node(k).throws = pick(15) == 0;
        node(k).waits = names(below, 1, thread, phase);
        node(k).in_scope = pick(2) == 0;
        for (int count = std::max(0, pick(8) - 4); count > 0; --count) {
          int const child = add_node(thread, phase, below);
          node(child).is_inner = true;
          node(child).throws = pick(15) == 0;
          if (child > k + 1 && pick(2) == 0)
            node(child).after.push_back(k + 1 + pick(child - k - 1));
          if (!node(k).in_scope && pick(4) == 0) node(child).after.push_back(k);
          node(k).children.push_back(child);
        }
      }
    }
    threads[static_cast<std::size_t>(thread)].push_back(std::move(op));
  }

  // --- what must come out

  /// A failure cancels what names it in its own phase, at the end of which it is told of.
  bool cancels(int k, int phase) { return node(k).phase == phase && node(k).is_bad; }
  void find_value(int k) {
    Node& of = node(k);
    of.is_submitted = true;
    for (int const before : of.after)
      if (cancels(before, of.phase)) of.is_bad = true;
    if (of.is_bad) return;
    of.value = next_value(k, [&](int other) { return node(other).value; });
    of.is_bad = of.throws;
    for (int const child : of.children) {
      find_value(child);
      if (of.in_scope && node(child).is_bad) of.is_bad = true;
    }
  }
  void find_plan(std::vector<int> const& nodes) {
    bool is_cancelled = false;
    for (int const k : nodes) {
      node(k).is_submitted = true;
      for (int const before : node(k).after)
        if (std::find(nodes.begin(), nodes.end(), before) == nodes.end() &&
            cancels(before, node(k).phase))
          is_cancelled = true;
    }
    for (int const k : nodes) node(k).is_bad = is_cancelled;
    for (int round = 0; round < node(nodes.front()).rounds && !is_cancelled; ++round)
      for (int const k : nodes)
        node(k).value = next_value(k, [&](int other) { return node(other).value; });
  }
  void find_outcome() {
    // In the order of the indices: those of an op are in a row.
    std::vector<Op const*> ops;
    for (auto const& threads : m_phases)
      for (auto const& thread : threads)
        for (Op const& op : thread)
          if (op.kind != Op::Kind::wait) ops.push_back(&op);
    std::sort(ops.begin(), ops.end(),
              [](Op const* a, Op const* b) { return a->nodes.front() < b->nodes.front(); });
    for (Op const* op : ops) {
      if (op->kind == Op::Kind::plan) {
        find_plan(op->nodes);
      } else {
        for (int const k : op->nodes) find_value(k);
      }
    }
  }
  template <class Of>
  Value next_value(int k, Of of) {
    Value all = mixed(static_cast<Value>(k) + 1, of(k));
    for (int const other : node(k).after) all = mixed(all, of(other));
    for (int const other : node(k).waits) all = mixed(all, of(other));
    return all;
  }

  // --- the run

  TaskGraphOptions options(std::string& text) {
    TaskGraphOptions all = with_workers(1 + pick(3));
    std::uint64_t const seed = m_random();
    text = "work stealing";
    switch (pick(6)) {
      case 0:
        all.serial = true;
        text = "serial";
        break;
      case 1:
        all.policy = std::make_shared<Seeing>([](SubmittedTask, SchedulingEdges&) {});
        text = "told";
        break;
      case 2:
        break;
      default:
        all.policy = make_shake_policy(seed);
        text = "shake";
    }
    if (pick(4) == 0) all.in_flight = static_cast<std::size_t>(1 + pick(4));
    if (pick(8) == 0) all.record = true;
    return all;
  }
  void run_phase(int phase) {
    auto const& threads = m_phases[static_cast<std::size_t>(phase)];
    std::vector<std::thread> others;
    for (std::size_t t = 1; t < threads.size(); ++t)
      others.emplace_back([this, &threads, t] { run_ops(threads[t]); });
    run_ops(threads[0]);
    for (std::thread& each : others) each.join();
    bool const fails = std::any_of(m_nodes.begin(), m_nodes.end(), [&](Node const& each) {
      return each.phase == phase && each.throws && each.value != 0;
    });
    expect("wait()", fails, [&] { m_graph->wait(); });
    std::vector<TaskNumber> all;
    for (std::size_t k = 0; k < m_nodes.size(); ++k)
      if (m_nodes[k].phase == phase && m_nodes[k].is_submitted) all.push_back(m_numbers[k]);
    // They are told of, but for those in plans.
    if (std::none_of(m_nodes.begin(), m_nodes.end(), [&](Node const& each) {
          return each.phase == phase && each.is_planned && each.is_bad;
        }))
      expect("all", false, [&] { m_graph->wait(all); });
    if (!m_graph->is_done(all)) complain("something is not done after wait()");
  }
  void run_ops(std::vector<Op> const& ops) {
    for (Op const& op : ops) try {
        run_op(op);
      } catch (std::exception const& error) {
        complain(std::string("an op throws: ") + error.what());
      }
  }
  /// Others may not have submitted it yet.
  void until_announced(std::vector<int> const& named) {
    for (int const k : named)
      for (;;) try {
          (void)m_graph->is_done(number(k));
          break;
        } catch (Error const&) {
          std::this_thread::yield();
        }
  }
  void until_names_are_announced(Op const& op) {
    for (int const k : op.nodes) {
      auto const of_others = [&](std::vector<int> all) {
        std::erase_if(all, [&](int other) { return other >= op.nodes.front(); });
        until_announced(all);
      };
      of_others(node(k).after);
      of_others(node(k).waits);
      for (int const child : node(k).children) of_others(node(child).after);
    }
  }
  void run_op(Op const& op) {
    switch (op.kind) {
      case Op::Kind::submit:
        until_names_are_announced(op);
        submit(op.nodes.front(), nullptr);
        break;
      case Op::Kind::plan: {
        until_names_are_announced(op);
        Plan const plan = m_graph->record("plan", [&] {
          for (int const k : op.nodes) submit(k, nullptr);
        });
        m_graph->replay(plan, static_cast<std::uint64_t>(node(op.nodes.front()).rounds));
        std::lock_guard const lock(m_mutex);
        m_plans.push_back(plan);
        break;
      }
      case Op::Kind::loop: {
        until_names_are_announced(op);
        m_graph->iterate(Label("loop"), op.nodes.size(),
                         [&](std::uint64_t k) { submit(op.nodes[k], nullptr); });
        break;
      }
      case Op::Kind::wait: {
        until_announced(op.nodes);
        bool bad = false;
        for (int const k : op.nodes)
          bad = bad || (node(k).is_bad && (node(k).phase == phase_of(op) || node(k).is_planned));
        constexpr Awaited hints[] = {Awaited::any, Awaited::fused, Awaited::unfused};
        expect("a wait", bad,
               [&] { m_graph->wait(numbers(op.nodes), hints[op.nodes.size() % 3]); });
      }
    }
  }
  int phase_of(Op const& op) {
    for (std::size_t p = 0; p < m_phases.size(); ++p)
      for (auto const& thread : m_phases[p])
        if (!thread.empty() && &op >= &thread.front() && &op <= &thread.back())
          return static_cast<int>(p);
    return -1;
  }
  void submit(int k, Impl::TaskHandle const* parent) {
    auto const body = [this, k] { run_body(k); };
    Properties const properties = numbered(number(k), numbers(node(k).after));
    if (parent != nullptr)
      child_of(*parent, "child", {}, body, properties);
    else
      task(*m_graph, "task", {}, body, properties);
  }
  void run_body(int k) {
    Node const& own = node(k);
    if (!own.waits.empty()) try {
        m_graph->wait(numbers(own.waits));
      } catch (Error const& error) {
        if (error.kind() != Error::Kind::task_failed && error.kind() != Error::Kind::cancelled)
          complain(std::string("a body waits in vain: ") + error.what());
      }
    Value& value = m_values[static_cast<std::size_t>(k)];
    value = next_value(k, [&](int other) { return m_values[static_cast<std::size_t>(other)]; });
    Impl::TaskHandle const self = Bare::self();
    for (int const child : own.children) submit(child, own.in_scope ? &self : nullptr);
    if (own.throws) throw std::runtime_error("node " + std::to_string(k));
  }
  template <class F>
  void expect(char const* what, bool throws, F f) {
    try {
      f();
      if (throws) complain(std::string(what) + " throws nothing");
    } catch (Error const& error) {
      bool const is_failure =
          error.kind() == Error::Kind::task_failed || error.kind() == Error::Kind::cancelled;
      if (!throws || !is_failure) complain(std::string(what) + " throws " + error.what());
    }
  }
  void complain(std::string const& what) {
    std::lock_guard const lock(m_mutex);
    if (m_wrong.size() < 1000) m_wrong += what + '\n';
  }

  std::mt19937_64 m_random;
  std::vector<Node> m_nodes;
  std::vector<std::vector<std::vector<Op>>> m_phases;  ///< by phase and thread

  TaskGraph* m_graph = nullptr;
  std::vector<TaskNumber> m_numbers;  ///< by node
  std::vector<Value> m_values;        ///< by node
  std::vector<Plan> m_plans;
  std::mutex m_mutex;
  std::string m_wrong;
};

class RandomNumbers : public Timed {};

TEST_F(RandomNumbers, GiveWhatTheSameTasksGiveOneByOne) {
  for (std::uint64_t const seed : random_program::seeds(10)) {
    NumberProgram program(seed);
    ASSERT_EQ(program.run(seed * 7), "") << "seed " << seed;
  }
}

/// While one thread's iterations get their ids, the other one has the table look for what is over.
TEST_F(RandomNumbers, OfIterationsAreNotForgottenWhileTheyAreSubmitted) {
  constexpr int iterations = sanitized ? 200 : 1000;
  constexpr std::size_t tasks = 200;
  TaskGraph graph(with_workers(2));
  TaskNumbers const registry(graph);
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over) {
      TaskNumber const first = registry.reserve(tasks);
      for (std::size_t k = 0; k < tasks; ++k) task(graph, "other", {}, [] {}, numbered(first + k));
    }
  });
  for (int iteration = 0; iteration < iterations && !HasFailure(); ++iteration) {
    TaskNumber const first = registry.reserve(tasks);
    std::vector<std::atomic<bool>> has_run(tasks);
    graph.iterate("loop", 1, [&](std::uint64_t) {
      for (std::size_t k = 0; k < tasks; ++k)
        task(graph, "one", {}, [&, k] { has_run[k] = true; }, numbered(first + k));
    });
    for (std::size_t k = tasks; k-- > 0;) {
      graph.wait(first + k);
      EXPECT_TRUE(has_run[k]) << "task " << k << " of iteration " << iteration;
    }
    graph.wait();
  }
  is_over = true;
  other.join();
}

}  // namespace
}  // namespace trellis
