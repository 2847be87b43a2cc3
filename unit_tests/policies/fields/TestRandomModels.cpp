// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random models: graphs, parts of fields, storage, limits and failures, against a plain loop.
#include "FieldsTest.hpp"

#include "Watchdog.hpp"
#include "RandomNumbers.hpp"
#include "Seeds.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <optional>

namespace trellis {
namespace {

using namespace Test;
using Part = decltype(subfield(std::declval<F>(), Kokkos::pair<std::size_t, std::size_t>()));

struct Interval {
  int field;
  std::size_t first, end;
};
struct Step {
  std::vector<Interval> in, out;
  bool fails = false;
  // What orders it besides fields. Steps are in an order that fits.
  std::vector<std::size_t> after;  ///< steps that it names
  int token = 0;                   ///< 0: none; 1: reads it; 2: writes it
  bool synchronizing = false;
};
/// Steps in an order in which they can run; the model gets them in another one.
struct Program {
  std::vector<std::size_t> sizes;
  std::vector<Step> steps;
  std::vector<bool> is_bound, is_required, is_locked;
};

Program random_program(Random& random) {
  Program program;
  int const roots = static_cast<int>(pick(random, 1, 2));
  for (int k = 0; k < roots; ++k) program.sizes.push_back(pick(random, 4, 24));
  std::size_t const steps = pick(random, 3, 14);
  for (std::size_t k = 0; k < steps; ++k) {
    // A field is made by one step, or in two parts by two steps that follow each other.
    int const field = static_cast<int>(program.sizes.size());
    std::size_t const size = 8 * pick(random, 1, 3);
    program.sizes.push_back(size);
    bool const is_split = pick(random, 0, 2) == 0;
    std::size_t const cut = is_split ? pick(random, 1, size - 1) : size;
    for (int half = 0; half < (is_split ? 2 : 1); ++half) {
      Step step;
      step.out.push_back({field, half == 0 ? 0 : cut, half == 0 ? cut : size});
      for (std::uint64_t reads = pick(random, 0, 3); reads > 0; --reads) {
        auto const from = static_cast<int>(pick(random, 0, static_cast<std::uint64_t>(field - 1)));
        std::size_t const extent = program.sizes[static_cast<std::size_t>(from)];
        std::size_t const first = pick(random, 0, extent - 1);
        step.in.push_back({from, first, pick(random, first + 1, extent)});
      }
      program.steps.push_back(step);
    }
  }
  bool const has_orders = pick(random, 0, 1) == 0;
  for (std::size_t k = 0; k < program.steps.size() && has_orders; ++k) {
    Step& step = program.steps[k];
    if (k > 0 && pick(random, 0, 4) == 0) step.after.push_back(pick(random, 0, k - 1));
    if (pick(random, 0, 3) == 0) step.token = static_cast<int>(pick(random, 1, 2));
    step.synchronizing = pick(random, 0, 9) == 0;
  }
  std::size_t const fields = program.sizes.size();
  program.is_bound.assign(fields, false);
  program.is_required.assign(fields, false);
  program.is_locked.assign(fields, false);
  for (std::size_t k = 0; k < fields; ++k) {
    program.is_bound[k] = k < static_cast<std::size_t>(roots) || pick(random, 0, 5) == 0;
    program.is_required[k] = k + 1 == fields || pick(random, 0, 4) == 0;
    program.is_locked[k] = pick(random, 0, 5) == 0;
  }
  return program;
}

/// What a step does, on anything that has elements: depends on the order of additions.
template <class Views, class Outs>
void compute(Views const& in, Outs const& out) {
  for (auto const& to : out)
    for (std::size_t k = 0; k < to.extent(0); ++k) {
      double value = 0.25 * static_cast<double>(k + 1);
      for (auto const& from : in) value = value / 3 + from(k % from.extent(0));
      to(k) = value;
    }
}

struct Slice {
  double* data;
  std::size_t size;
  [[nodiscard]] std::size_t extent(int) const { return size; }
  double& operator()(std::size_t k) const { return data[k]; }
};

using Memory = std::vector<std::vector<double>>;

/// One iteration, step by step. Returns which fields have the values of this iteration.
void run_plainly(Program const& program, Memory& memory) {
  for (Step const& step : program.steps) {
    std::vector<Slice> in, out;
    for (Interval const& each : step.in)
      in.push_back({memory[static_cast<std::size_t>(each.field)].data() + each.first,
                    each.end - each.first});
    for (Interval const& each : step.out)
      out.push_back({memory[static_cast<std::size_t>(each.field)].data() + each.first,
                     each.end - each.first});
    compute(in, out);
  }
}

/// Does something besides fields put the later step behind the earlier one?
bool is_ordered(Program const& program, std::size_t earlier, std::size_t later) {
  Step const &a = program.steps[earlier], &b = program.steps[later];
  bool const meet_at_token = a.token != 0 && b.token != 0 && (a.token == 2 || b.token == 2);
  bool const is_named = std::find(b.after.begin(), b.after.end(), earlier) != b.after.end();
  return meet_at_token || is_named || a.synchronizing || b.synchronizing;
}
bool has_orders(Program const& program) {
  return std::any_of(program.steps.begin(), program.steps.end(), [](Step const& step) {
    return !step.after.empty() || step.token != 0 || step.synchronizing;
  });
}

/// Does a step run when `failing` fails? Not when it needs what that one makes, however far; and
/// perhaps not when it is ordered behind that one.
std::vector<bool> reached_by_failure(Program const& program, std::size_t failing) {
  std::vector<bool> is_lost(program.steps.size(), false);
  is_lost[failing] = true;
  auto const share = [](Interval const& a, Interval const& b) {
    return a.field == b.field && a.first < b.end && b.first < a.end;
  };
  for (std::size_t step = failing + 1; step < program.steps.size(); ++step)
    for (std::size_t before = 0; before < step; ++before)
      if (is_lost[before] && is_ordered(program, before, step))
        is_lost[step] = true;
      else if (is_lost[before])
        for (Interval const& in : program.steps[step].in)
          for (Interval const& out : program.steps[before].out)
            if (share(in, out)) is_lost[step] = true;
  return is_lost;
}

class Submitted {
 public:
  Submitted(TaskGraph& graph, Program const& program, Random& random,
            std::optional<std::size_t> limit)
      : m_program(program), m_model(graph, {.memory_limit = limit}) {
    for (std::size_t k = 0; k < program.sizes.size(); ++k) {
      std::string const name = "f" + std::to_string(k);
      if (program.is_bound[k]) {
        m_views.emplace_back(name, program.sizes[k]);
        m_fields.push_back(m_model.bind(name, m_views.back()));
      } else {
        m_views.emplace_back();
        m_fields.push_back(m_model.field<double*, Kokkos::LayoutRight>(name, program.sizes[k]));
      }
      if (program.is_required[k]) m_model.require(m_fields.back());
      if (program.is_locked[k]) m_model.lock(m_fields.back());
    }
    std::vector<std::size_t> order(program.steps.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // What is no field orders tasks as the model gets them.
    if (!has_orders(program)) std::shuffle(order.begin(), order.end(), random);
    m_tasks.resize(order.size());
    for (std::size_t const k : order) add(k, random);
    for (std::string const& label : m_model.order())
      m_is_needed[std::stoul(label.substr(5))] = true;
  }
  FieldGraph& model() { return m_model; }
  /// The step that throws; -1: none.
  std::atomic<int> failing{-1};

  void set_roots(Memory const& memory) {
    for (std::size_t k = 0; k < m_views.size(); ++k)
      if (m_program.is_bound[k]) std::copy(memory[k].begin(), memory[k].end(), m_views[k].data());
  }
  /// Of a field that is there between iterations and was computed.
  [[nodiscard]] double const* values(std::size_t k) const {
    if (m_program.is_bound[k]) return m_views[k].data();
    return m_model.host_view(m_fields[k]).data();
  }
  std::vector<F> const& fields() const { return m_fields; }
  /// The field gets other memory. One whose values the program has put there gets it with them,
  /// when no task uses it.
  void bind_anew(TaskGraph& graph, std::size_t k, bool is_computed) {
    Values const now("f" + std::to_string(k) + " again", m_program.sizes[k]);
    if (!is_computed) {
      graph.wait();
      Kokkos::deep_copy(now, m_views[k]);
    }
    m_model.bind("f" + std::to_string(k), now);
    m_views[k] = now;
  }
  /// Runs that have begun before what they are behind.
  std::atomic<int> too_early{0};
  /// An iteration has failed, so that tasks have not run equally often.
  void count_anew() {
    for (auto& each : m_runs) each = 0;
  }

 private:
  void add(std::size_t k, Random& random) {
    std::vector<Part> in, out;
    for (Interval const& each : m_program.steps[k].in) in.push_back(part(each));
    for (Interval const& each : m_program.steps[k].out) out.push_back(part(each));
    Step const& step = m_program.steps[k];
    auto const body = [this, k](view_list<Part::read_view> const& from,
                                view_list<Part::view> const& to) {
      look_before(k);
      if (failing == static_cast<int>(k)) throw std::runtime_error("failing");
      compute(from, to);
      ++m_runs[k];
    };
    std::vector<Token> reads_token, writes_token;
    if (step.token != 0) (step.token == 1 ? reads_token : writes_token).push_back(m_token);
    std::vector<Future<void>> before;
    for (std::size_t const each : step.after) before.push_back(m_tasks[each]);
    std::string const label = "step " + std::to_string(k);
    priority const urgency(static_cast<int>(pick(random, 0, 2)) - 1);
    auto const hand_over = [&](auto const&... more) {
      m_tasks[k] = host_task(
          label, ResourcePolicy(m_model, read(in), write(out), urgency, after(before), more...),
          [body](view_list<Part::read_view> const& from, view_list<Part::view> const& to,
                 auto const&...) { body(from, to); });
    };
    if (step.token != 0 && step.synchronizing)
      hand_over(read(reads_token), write(writes_token), synchronizing);
    else if (step.token != 0)
      hand_over(read(reads_token), write(writes_token));
    else if (step.synchronizing)
      hand_over(synchronizing);
    else
      hand_over();
  }
  /// Iterations may overlap; but a task's runs do not.
  void look_before(std::size_t k) {
    int const own = m_runs[k];
    for (std::size_t before = 0; before < k && failing < 0; ++before)
      if (m_is_needed[before] && is_ordered(m_program, before, k) && m_runs[before] <= own)
        ++too_early;
  }
  [[nodiscard]] Part part(Interval const& of) const {
    return subfield(m_fields[static_cast<std::size_t>(of.field)], Kokkos::pair(of.first, of.end));
  }
  Program const& m_program;
  Token const m_token{"order"};
  std::vector<Future<void>> m_tasks;
  std::vector<bool> m_is_needed = std::vector<bool>(m_program.steps.size(), false);
  std::vector<std::atomic<int>> m_runs = std::vector<std::atomic<int>>(m_program.steps.size());
  std::vector<Values> m_views;
  std::vector<F> m_fields;
  FieldGraph m_model;
};

/// Fields that an iteration computes, or leaves as they were.
std::vector<bool> computed(Program const& program, FieldGraph const& model) {
  std::vector<bool> is_computed(program.sizes.size(), false);
  std::map<std::size_t, std::size_t> parts, steps;
  for (Step const& step : program.steps) ++parts[static_cast<std::size_t>(step.out[0].field)];
  for (std::string const& label : model.order()) {
    std::size_t const step = std::stoul(label.substr(5));
    ++steps[static_cast<std::size_t>(program.steps[step].out[0].field)];
  }
  for (auto const& [field, count] : steps) is_computed[field] = count == parts[field];
  return is_computed;
}

TEST(RandomModels, AreWhatAPlainLoopIs) {
  Watchdog const watchdog(std::chrono::seconds(200), "RandomModels");
  int limited = 0, failed = 0, held_back = 0;
  bool all_serial = true;
  for (std::uint64_t const seed : random_program::seeds(6)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Program const program = random_program(random);
    int const workers = static_cast<int>(pick(random, 1, 4));
    bool const serial = pick(random, 0, 4) == 0;
    TaskGraph graph(serial                    ? with_workers(1, true)
                    : pick(random, 0, 1) == 0 ? with_workers(workers)
                                              : shaken(workers, seed));
    all_serial = all_serial && *graph.options().serial;
    std::optional<std::size_t> limit;
    if (pick(random, 0, 1) == 0) {
      // What one worker needs in the best simple order, or a little more.
      Random same = random;
      Submitted probe(graph, program, same, std::nullopt);
      limit = probe.model().memory().peak() + pick(random, 0, 2) * 64;
      ++limited;
    }
    Submitted run(graph, program, random, limit);
    Memory memory;
    for (std::size_t const size : program.sizes) {
      memory.emplace_back(size);
      for (double& value : memory.back()) value = static_cast<double>(pick(random, 0, 1000)) / 8;
    }
    run.set_roots(memory);
    std::vector<bool> const is_computed = computed(program, run.model());
    int const iterations = static_cast<int>(pick(random, 1, 4));
    for (int iteration = 0; iteration < iterations; ++iteration) {
      if (pick(random, 0, 2) == 0) {
        std::size_t const k = pick(random, 0, program.sizes.size() - 1);
        if (program.is_bound[k]) run.bind_anew(graph, k, is_computed[k]);
      }
      run.model().submit();
      // An ordinary task between: changes the first root.
      host_task("between", ResourcePolicy(graph, read_write(run.fields()[0])),
                [](F::view const& root) {
                  for (std::size_t k = 0; k < root.extent(0); ++k) root(k) = root(k) / 2 + 1;
                });
      run_plainly(program, memory);
      for (double& value : memory[0]) value = value / 2 + 1;
    }
    graph.wait();
    auto const check = [&](std::vector<bool> const& which) {
      for (std::size_t k = 0; k < program.sizes.size(); ++k) {
        if (!which[k] || !(program.is_bound[k] || program.is_required[k] || program.is_locked[k]))
          continue;
        for (std::size_t i = 0; i < program.sizes[k]; ++i)
          ASSERT_EQ(run.values(k)[i], memory[k][i]) << "field " << k << ", element " << i;
      }
    };
    check(is_computed);
    ASSERT_EQ(run.too_early, 0);
    if (limit.has_value()) {
      ASSERT_LE(run.model().pool().counts().most_held, *limit);
      held_back += static_cast<int>(run.model().tasks_held_back());
    }
    std::size_t const kept = run.model().pool().counts().live;
    ASSERT_EQ(kept, run.model().memory().persistent);

    // A step fails: what does not need it is computed, nothing is lost, and the next iteration is
    // whole.
    auto const order = run.model().order();
    std::string const label = order[pick(random, 0, order.size() - 1)];
    std::size_t const failing = std::stoul(label.substr(5));
    run.failing = static_cast<int>(failing);
    run.model().submit();
    ASSERT_THAT(message_of([&] { graph.wait(); }), testing::HasSubstr("\"" + label + "\""));
    ++failed;
    auto const is_lost = reached_by_failure(program, failing);
    std::vector<bool> is_there = is_computed;
    for (std::size_t k = 0; k < program.steps.size(); ++k)
      if (is_lost[k]) is_there[static_cast<std::size_t>(program.steps[k].out[0].field)] = false;
    run_plainly(program, memory);
    check(is_there);
    ASSERT_EQ(run.model().pool().counts().live, kept);
    run.failing = -1;
    run.count_anew();
    run.model().submit();
    graph.wait();
    check(is_computed);
    ASSERT_EQ(run.too_early, 0);
    ASSERT_EQ(run.model().pool().counts().live, kept);
  }
  EXPECT_GT(limited, 0);
  EXPECT_GT(failed, 0);
  if (limited > 20 && !all_serial) {
    EXPECT_GT(held_back, 0);
  }
}

/// The same with iterations that are recorded in plans, among ordinary ones and after changes of
/// what is kept.
TEST(RandomModels, InPlansAreWhatAPlainLoopIs) {
  Watchdog const watchdog(std::chrono::seconds(200), "RandomModels.InPlans");
  int limited = 0, failed = 0, replayed = 0;
  for (std::uint64_t const seed : random_program::seeds(6)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Program const program = random_program(random);
    int const workers = static_cast<int>(pick(random, 1, 4));
    bool const serial = pick(random, 0, 4) == 0;
    TaskGraph graph(serial                    ? with_workers(1, true)
                    : pick(random, 0, 1) == 0 ? with_workers(workers)
                                              : shaken(workers, seed));
    std::optional<std::size_t> limit;
    if (pick(random, 0, 1) == 0) {
      Random same = random;
      Submitted probe(graph, program, same, std::nullopt);
      FieldMemory const memory = probe.model().memory();
      limit = pick(random, 0, 1) == 0 ? memory.least_frozen : memory.frozen;
      ++limited;
    }
    Submitted run(graph, program, random, limit);
    Memory memory;
    for (std::size_t const size : program.sizes) {
      memory.emplace_back(size);
      for (double& value : memory.back()) value = static_cast<double>(pick(random, 0, 1000)) / 8;
    }
    run.set_roots(memory);
    std::vector<bool> const is_computed = computed(program, run.model());
    auto const step = [&] {
      run.model().submit();
      host_task("between", ResourcePolicy(graph, read_write(run.fields()[0])),
                [](F::view const& root) {
                  for (std::size_t k = 0; k < root.extent(0); ++k) root(k) = root(k) / 2 + 1;
                });
    };
    auto const follow = [&](std::uint64_t steps) {
      for (; steps > 0; --steps) {
        run_plainly(program, memory);
        for (double& value : memory[0]) value = value / 2 + 1;
      }
    };
    std::vector<bool> is_locked = program.is_locked;
    auto const check = [&] {
      graph.wait();
      for (std::size_t k = 0; k < program.sizes.size(); ++k) {
        if (!is_computed[k] || !(program.is_bound[k] || program.is_required[k] || is_locked[k]))
          continue;
        for (std::size_t i = 0; i < program.sizes[k]; ++i)
          ASSERT_EQ(run.values(k)[i], memory[k][i]) << "field " << k << ", element " << i;
      }
    };
    std::optional<Plan> plan;
    for (std::uint64_t acts = pick(random, 2, 8); acts > 0; --acts) {
      switch (pick(random, 0, 3)) {
        case 0:
          if (limit.has_value()) break;  // which the plan has used up
          step();
          follow(1);
          break;
        case 1: {
          if (limit.has_value()) break;
          std::size_t const field = pick(random, 0, program.sizes.size() - 1);
          is_locked[field] = !is_locked[field];
          if (is_locked[field])
            run.model().lock(run.fields()[field]);
          else
            run.model().unlock(run.fields()[field]);
          plan.reset();
          step();
          follow(1);
          break;
        }
        case 2: {
          if (limit.has_value()) break;
          std::size_t const k = pick(random, 0, program.sizes.size() - 1);
          if (!program.is_bound[k]) break;
          run.bind_anew(graph, k, is_computed[k]);
          if (plan.has_value() && is_computed[k]) {  // else no task may touch it
            ASSERT_THAT(message_of([&] { graph.replay(*plan); }), testing::HasSubstr("bound anew"));
          }
          plan.reset();
          break;
        }
        default:
          break;
      }
      if (!plan.has_value()) {
        bool const is_idle = pick(random, 0, 1) == 0;  // else an older plan may be there yet
        if (is_idle) graph.wait();
        std::size_t const frozen = run.model().memory().frozen;
        plan = graph.record("step", step);
        if (is_idle) {
          ASSERT_EQ(run.model().memory().persistent, frozen);
        }
      }
      std::uint64_t const rounds = pick(random, 0, 3);
      graph.replay(*plan, rounds);
      follow(rounds);
      replayed += static_cast<int>(rounds);
      if (rounds > 0 && pick(random, 0, 2) == 0) check();
    }
    graph.replay(*plan);
    follow(1);
    check();
    ASSERT_EQ(run.too_early, 0);
    std::size_t const live = run.model().pool().counts().live;
    if (limit.has_value()) {
      ASSERT_LE(run.model().pool().counts().most_held, *limit);
    }
    ASSERT_EQ(live, run.model().memory().persistent);

    // A step fails in a replay; a later one is whole.
    auto const order = run.model().order();
    std::string const label = order[pick(random, 0, order.size() - 1)];
    run.failing = static_cast<int>(std::stoul(label.substr(5)));
    graph.replay(*plan, 2);
    ASSERT_THAT(message_of([&] { graph.wait(); }), testing::HasSubstr("\"" + label + "\""));
    ++failed;
    run.failing = -1;
    run.count_anew();
    run.set_roots(memory);
    graph.replay(*plan, 2);
    follow(2);
    check();
    ASSERT_EQ(run.model().pool().counts().live, live);
  }
  EXPECT_GT(limited, 0);
  EXPECT_GT(failed, 0);
  EXPECT_GT(replayed, 0);
}

}  // namespace
}  // namespace trellis
