// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs in which threads demote tasks at any time, parents shrink to their children, and
// a policy adds edges, against plain loops in the order of submission.
#include "OrderTest.hpp"
#include "Timing.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

class RandomOrder : public Timed {};

constexpr std::size_t cells = 10;

/// What a task does to some cells.
struct Use {
  Mode mode;
  std::size_t first;
  std::size_t count;
};
bool overlap(Use const& a, Use const& b) {
  return a.first < b.first + b.count && b.first < a.first + a.count;
}
bool dependent(std::vector<Use> const& a, std::vector<Use> const& b) {
  for (Use const& x : a)
    for (Use const& y : b)
      if (overlap(x, y) && MatrixAccess<IOMatrix>(x.mode).is_dependent_of(y.mode)) return true;
  return false;
}
bool exclude(std::vector<Use> const& a, std::vector<Use> const& b) {
  for (Use const& x : a)
    for (Use const& y : b)
      if (overlap(x, y) && x.mode == Mode::exclusive && y.mode == Mode::exclusive) return true;
  return false;
}

/// A task declares the first stage and does what is in the last; others may demote it from each
/// stage to the next at any time, or never.
struct Made {
  std::vector<std::vector<Use>> stages;
  bool splits = false;   ///< into a child for each use
  bool shrinks = false;  ///< to these
  bool slow = false;
  bool throws = false;
  [[nodiscard]] std::vector<Use> const& does() const { return stages.back(); }
};

constexpr long salt(std::size_t task, std::size_t cell) {
  return static_cast<long>((task * 2654435761U + cell * 40503U) | 1U);
}
/// Of one task to one cell; returns what it has read.
long apply(Mode mode, long& cell, std::size_t task, std::size_t k) {
  switch (mode) {
    case Mode::read:
      return cell;
    case Mode::read_write:
    case Mode::write: {
      long const was = cell;
      cell = static_cast<long>(static_cast<unsigned long>(was) * 31U +
                               static_cast<unsigned long>(salt(task, k)));
      return was;
    }
    case Mode::atomic_add:
      std::atomic_ref(cell).fetch_add(salt(task, k), std::memory_order_relaxed);
      return 0;
    case Mode::exclusive:
      cell = static_cast<long>(static_cast<unsigned long>(cell) +
                               static_cast<unsigned long>(salt(task, k)));
      return 0;
    default:
      return 0;
  }
}
long apply_all(std::vector<Use> const& uses, Block& x, std::size_t task) {
  unsigned long digest = 0;
  for (Use const& use : uses)
    for (std::size_t k = use.first; k < use.first + use.count; ++k)
      digest = digest * 131U + static_cast<unsigned long>(apply(use.mode, x[k], task, k));
  return static_cast<long>(digest);
}

struct Ingredients {
  bool demotion = false;
  bool children = false;
  bool edges = false;
  bool failures = false;
};

std::vector<Made> make_program(std::mt19937& random, Ingredients const& with) {
  auto const below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  constexpr Mode modes[] = {Mode::read,  Mode::read,       Mode::read_write,
                            Mode::write, Mode::atomic_add, Mode::exclusive};
  std::vector<Made> program(20 + below(60));
  for (Made& made : program) {
    std::vector<Use> declared;
    for (std::size_t first = below(4); first < cells && declared.size() < 3;) {
      std::size_t const count = 1 + below(std::min<std::size_t>(5, cells - first));
      declared.push_back({modes[below(std::size(modes))], first, count});
      first += count + below(6);
    }
    made.stages.push_back(declared);
    std::size_t const steps = with.demotion && below(2) == 0 ? 1 + below(2) : 0;
    for (std::size_t step = 0; step < steps; ++step) {
      std::vector<Use> next;
      for (Use use : made.stages.back()) {
        std::size_t const what = below(4);
        if (what == 0) continue;
        bool const writes = use.mode == Mode::read_write || use.mode == Mode::write;
        if (what == 1 && writes) use.mode = modes[below(2) == 0 ? 0 : 4 + below(2)];
        if (what == 2) {
          std::size_t const from = below(use.count);
          use.first += from;
          use.count = 1 + below(use.count - from);
        }
        next.push_back(use);
      }
      made.stages.push_back(next);
    }
    made.splits = with.children && below(3) == 0;
    made.shrinks = made.splits && below(4) != 0;
    made.slow = below(6) == 0;
    made.throws = with.failures && below(20) == 0;
  }
  return program;
}

/// Adds edges between tasks at random, in both directions, and gives random ranks.
class Meddler : public ForwardingPolicy {
 public:
  struct Edge {
    std::uint64_t before;
    std::uint64_t after;
  };
  Meddler(std::shared_ptr<SchedulingPolicy> to, unsigned seed)
      : ForwardingPolicy(std::move(to)), m_random(seed) {}
  bool sees_submissions() const override { return true; }
  std::int64_t exclusive_rank(ReadyTask task) override {
    return static_cast<std::int64_t>(task.id() * 2654435761U % 5);
  }
  void submitted(SubmittedTask task, SchedulingEdges& edges) override {
    m_seen.push_back(task);
    for (std::size_t k = m_random() % 3; k > 0; --k) {
      SubmittedTask const a = pick(task);
      SubmittedTask const b = pick(task);
      try {
        if (edges.add(a, b))
          added.push_back({a.id(), b.id()});
        else
          ++too_late;
      } catch (Error const& error) {
        EXPECT_EQ(error.kind(), Error::Kind::deadlock);
        ++refused;
      }
    }
  }
  std::vector<Edge> added;
  int refused = 0;
  int too_late = 0;

 private:
  SubmittedTask pick(SubmittedTask const& task) {
    if (m_random() % 3 == 0) return task;
    std::size_t const back = 1 + m_random() % std::min<std::size_t>(m_seen.size(), 12);
    return m_seen[m_seen.size() - back];
  }
  std::mt19937 m_random;
  std::vector<SubmittedTask> m_seen;
};

/// When a task, or a child, did what it did.
struct Span {
  std::size_t task;
  std::vector<Use> uses;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};

struct Totals {
  int demoted = 0;
  int too_late = 0;
  int early = 0;  ///< pairs that what they declared would have kept in order
  int added = 0;
  int refused = 0;
  int backwards = 0;
};

class Run {
 public:
  Run(std::vector<Made> const& program, TaskGraphOptions const& options, Totals& totals)
      : m_program(program),
        m_totals(totals),
        m_graph(options),
        m_digests(program.size()),
        m_ran(program.size()),
        m_spans(program.size()),
        m_futures(program.size()),
        m_stage(program.size()) {}

  void go(unsigned seed, Ingredients const& with) {
    std::atomic<bool> over{false};
    std::vector<std::thread> demoters;
    for (unsigned n = 0; with.demotion && n < 2; ++n)
      demoters.emplace_back([&, n] {
        std::mt19937 random(seed * 7 + n);
        while (!over) {
          demote_any(random);
          if (random() % 8 == 0) std::this_thread::yield();
        }
      });
    std::mt19937 random(seed);
    for (std::size_t k = 0; k < m_program.size(); ++k) {
      submit(k);
      if (with.demotion && random() % 3 == 0) demote_any(random);
    }
    try {
      m_graph.wait();
      EXPECT_FALSE(with.failures && any_throws());
    } catch (Error const& error) {
      EXPECT_TRUE(with.failures) << error.what();
    }
    over = true;
    for (std::thread& thread : demoters) thread.join();
  }

  /// A plain loop over what the tasks do.
  void compare() {
    Block x("x", cells);
    std::vector<long> digests;
    std::vector<bool> runs;
    for (std::size_t k = 0; k < m_program.size(); ++k) {
      bool cancelled = false;
      for (std::size_t before = 0; before < k; ++before)
        cancelled = cancelled || ((!runs[before] || m_program[before].throws) &&
                                  dependent(m_program[before].does(), m_program[k].does()));
      runs.push_back(!cancelled);
      digests.push_back(cancelled || m_program[k].splits ? 0
                                                         : apply_all(m_program[k].does(), x, k));
      if (!cancelled && m_program[k].splits) apply_all(m_program[k].does(), x, k);
      EXPECT_EQ(m_ran[k], runs[k]) << "task " << k;
      EXPECT_EQ(m_digests[k], digests[k]) << "task " << k;
    }
    for (std::size_t k = 0; k < cells; ++k) EXPECT_EQ(m_x[k], x[k]) << "cell " << k;
  }

  void check_order() {
    std::vector<Span> all;
    for (auto const& spans : m_spans) all.insert(all.end(), spans.begin(), spans.end());
    for (Span const& first : all)
      for (Span const& second : all) {
        if (first.task >= second.task || first.to == 0 || second.to == 0) continue;
        if (dependent(first.uses, second.uses)) {
          EXPECT_LT(first.to, second.from) << first.task << " and " << second.task;
        } else if (dependent(m_program[first.task].stages[0], m_program[second.task].stages[0])) {
          m_totals.early += second.from < first.to;
        }
        if (exclude(first.uses, second.uses)) {
          EXPECT_TRUE(first.to < second.from || second.to < first.from)
              << first.task << " and " << second.task << " ran at the same time";
        }
      }
  }
  void check_edges(Meddler const& meddler) {
    for (Meddler::Edge const& edge : meddler.added) {
      auto const [before, after] = std::pair(task_of(edge.before), task_of(edge.after));
      m_totals.backwards += edge.before > edge.after;
      if (before == none || after == none) continue;  // a child
      for (Span const& first : m_spans[before])
        for (Span const& second : m_spans[after])
          if (first.to != 0 && second.to != 0) {
            EXPECT_LT(first.to, second.from) << "the policy's " << before << " -> " << after;
          }
    }
    m_totals.added += static_cast<int>(meddler.added.size());
    m_totals.refused += meddler.refused;
  }
  /// Every pair that depends has a path in the record. Not where others demote: then an edge may be
  /// missing there between two tasks that were kept in order.
  void check_record(bool has_paths) {
    DependencyGraph const dependencies = m_graph.dependency_graph();
    SchedulingGraph const scheduling = m_graph.scheduling_graph();
    for (EdgeRecord const& edge : dependencies.edges())
      EXPECT_NE(std::find(scheduling.edges().begin(), scheduling.edges().end(), edge),
                scheduling.edges().end());
    std::vector<std::vector<bool>> const before = paths_of(dependencies);
    ASSERT_EQ(before.size(), dependencies.nodes().size()) << "a circle";
    // A policy may order two tasks the other way round when a demotion has ended their order.
    ASSERT_EQ(paths_of(without_released(scheduling)).size(), scheduling.nodes().size())
        << "a circle";
    for (std::size_t b = 0; has_paths && b < m_program.size(); ++b)
      for (std::size_t a = 0; a < b; ++a)
        // A parent that has shrunk has nothing in the end.
        if (!m_program[a].shrinks && dependent(m_program[a].does(), m_program[b].does())) {
          EXPECT_TRUE(before[m_futures[b].id() - 1][m_futures[a].id() - 1])
              << "no path from " << a << " to " << b;
        }
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  bool any_throws() const {
    return std::any_of(m_program.begin(), m_program.end(),
                       [](Made const& made) { return made.throws; });
  }
  static Graph without_released(Graph const& graph) {
    std::vector<EdgeRecord> edges = graph.edges();
    std::erase_if(edges, [](EdgeRecord const& edge) { return edge.released; });
    return {graph.nodes(), std::move(edges)};
  }
  static std::vector<std::vector<bool>> paths_of(Graph const& graph) {
    std::size_t const count = graph.nodes().size();
    std::vector<std::vector<EdgeRecord const*>> out(count);
    std::vector<std::size_t> missing(count);
    for (EdgeRecord const& edge : graph.edges()) {
      out[edge.from - 1].push_back(&edge);
      ++missing[edge.to - 1];
    }
    std::vector<std::vector<bool>> reached(count, std::vector<bool>(count));
    std::vector<std::size_t> next;
    for (std::size_t n = 0; n < count; ++n)
      if (missing[n] == 0) next.push_back(n);
    std::size_t seen = 0;
    for (; !next.empty(); ++seen) {
      std::size_t const from = next.back();
      next.pop_back();
      for (EdgeRecord const* edge : out[from]) {
        std::size_t const to = edge->to - 1;
        for (std::size_t k = 0; k < count; ++k) reached[to][k] = reached[to][k] || reached[from][k];
        if (!edge->released) reached[to][from] = true;
        if (--missing[to] == 0) next.push_back(to);
      }
    }
    return seen == count ? reached : std::vector<std::vector<bool>>{};
  }
  std::size_t task_of(std::uint64_t id) const {
    for (std::size_t k = 0; k < m_futures.size(); ++k)
      if (m_futures[k].id() == id) return k;
    return none;
  }
  Touch touch(Use const& use) { return {use.mode, m_x(use.first, use.count)}; }
  std::vector<Touch> touches(std::vector<Use> const& uses) {
    std::vector<Touch> all;
    for (Use const& use : uses) all.push_back(touch(use));
    return all;
  }
  std::uint64_t tick() { return m_clock.fetch_add(1, std::memory_order_relaxed) + 1; }

  void work(std::size_t k, Span& span) {
    Made const& made = m_program[k];
    span.from = tick();
    if (made.slow) std::this_thread::sleep_for(std::chrono::microseconds(200));
    long const digest = apply_all(span.uses, m_x, k);
    if (!made.splits) m_digests[k] = digest;
    span.to = tick();
  }

  void submit(std::size_t k) {
    Made const& made = m_program[k];
    if (made.splits)
      for (Use const& use : made.does()) m_spans[k].push_back({k, {use}});
    else
      m_spans[k].push_back({k, made.does()});
    Future<void> const future = task(m_graph, "t", touches(made.stages[0]), [this, k] {
      Made const& its = m_program[k];
      m_ran[k] = true;
      if (its.splits) {
        for (Span& span : m_spans[k])
          child("child", touches(span.uses), [this, k, &span] { work(k, span); });
        if (its.shrinks) shrink_to_children();
      } else {
        work(k, m_spans[k].front());
      }
      if (its.throws) throw std::runtime_error("thrown");
    });
    std::lock_guard const lock(m_mutex);
    m_futures[k] = future;
    m_submitted = k + 1;
  }

  /// One step of one task, which nobody else does.
  void demote_any(std::mt19937& random) {
    std::size_t k = 0;
    std::size_t stage = 0;
    Future<void> future;
    std::unique_lock lock(m_mutex);
    if (m_submitted == 0) return;
    k = m_submitted - 1 - random() % std::min<std::size_t>(m_submitted, 16);
    // A parent that shrinks does it by itself, from what it has then.
    if (m_program[k].shrinks || m_stage[k] + 1 >= m_program[k].stages.size()) return;
    stage = m_stage[k]++;
    future = m_futures[k];
    // In order, so that the second step does not come before the first.
    std::vector<Use> const& now = m_program[k].stages[stage];
    std::vector<Use> const& next = m_program[k].stages[stage + 1];
    std::vector<Touch> to;
    std::vector<Place> gone;
    for (Use const& use : now) {
      auto const kept = std::find_if(next.begin(), next.end(),
                                     [&](Use const& other) { return overlap(use, other); });
      if (kept == next.end())
        gone.push_back(m_x(use.first, use.count));
      else
        to.push_back(touch(*kept));
    }
    bool done = true;  // all of it: else there is no next step
    if (!to.empty()) done = demote_other(m_graph, future, to);
    if (!gone.empty()) done = release_other(m_graph, future, gone) && done;
    (done ? m_totals.demoted : m_totals.too_late) += 1;
    if (!done) m_stage[k] = m_program[k].stages.size();
  }

  std::vector<Made> const& m_program;
  Totals& m_totals;
  Block m_x{"x", cells};
  std::atomic<std::uint64_t> m_clock{0};
  TaskGraph m_graph;
  std::vector<long> m_digests;
  std::vector<char> m_ran;
  std::vector<std::vector<Span>> m_spans;
  std::mutex m_mutex;
  std::vector<Future<void>> m_futures;
  std::vector<std::size_t> m_stage;
  std::size_t m_submitted = 0;
};

int seeds_of(int share) {
  char const* const divisor = std::getenv("TRELLIS_TEST_DIVISOR");
  int const all = sanitized ? share / 3 : share;
  return std::max(3, all / std::max(1, divisor != nullptr ? std::atoi(divisor) : 1));
}

/// `has_all`: has everything happened that is to happen in some programs? Until then there are more
/// of them, for what happens depends on the threads; but not for ever.
Totals run_programs(
    Ingredients const& with, int share, bool record = false,
    bool (*has_all)(Totals const&) = [](Totals const&) { return true; }) {
  constexpr unsigned most = 30;
  Totals totals;
  static unsigned first = 0;  // others with --gtest_repeat
  unsigned const begin = first;
  unsigned const end = begin + static_cast<unsigned>(seeds_of(share));
  unsigned const end_of_all = begin + most * (end - begin);
  for (unsigned seed = begin; seed < end || (seed < end_of_all && !has_all(totals));
       ++seed, ++first) {
    std::mt19937 random(seed);
    std::vector<Made> const program = make_program(random, with);
    TaskGraphOptions options = with_workers(1 + static_cast<int>(random() % 3));
    options.record = record;
    std::shared_ptr<SchedulingPolicy> const base = seed % 3 == 0   ? make_work_stealing_policy()
                                                   : seed % 3 == 1 ? make_fifo_policy()
                                                                   : make_shake_policy(seed);
    auto const meddler = std::make_shared<Meddler>(base, seed);
    options.policy = with.edges ? std::static_pointer_cast<SchedulingPolicy>(meddler) : base;
    SCOPED_TRACE("seed " + std::to_string(seed));
    Run run(program, options, totals);
    run.go(seed, with);
    run.compare();
    run.check_order();
    if (with.edges) run.check_edges(*meddler);
    if (record) run.check_record(!with.demotion);
    if (testing::Test::HasFailure()) break;
  }
  return totals;
}

TEST_F(RandomOrder, WithDemotionsFromOutsideEqualsAPlainLoop) {
  Totals const totals = run_programs({.demotion = true}, 60, false, [](Totals const& so_far) {
    return so_far.demoted > 0 && so_far.early > 0;
  });
  EXPECT_GT(totals.demoted, 0);
  EXPECT_GT(totals.early, 0);
}

TEST_F(RandomOrder, WithEdgesOfAPolicyEqualsAPlainLoop) {
  Totals const totals = run_programs({.edges = true}, 60, false, [](Totals const& so_far) {
    return so_far.added > 0 && so_far.refused > 0 && so_far.backwards > 0;
  });
  EXPECT_GT(totals.added, 0);
  EXPECT_GT(totals.refused, 0);
  EXPECT_GT(totals.backwards, 0);
}

TEST_F(RandomOrder, WithEdgesOfAPolicyAndFailuresCancelsWhatDependsAndNothingElse) {
  run_programs({.edges = true, .failures = true}, 60);
}

TEST_F(RandomOrder, WithParentsThatShrinkEqualsAPlainLoop) {
  Totals const totals = run_programs({.children = true}, 60, false,
                                     [](Totals const& so_far) { return so_far.early > 0; });
  EXPECT_GT(totals.early, 0);
}

TEST_F(RandomOrder, WithDemotionsAndEdgesEqualsAPlainLoop) {
  run_programs({.demotion = true, .edges = true}, 60);
}

TEST_F(RandomOrder, WithChildrenAndEdgesEqualsAPlainLoop) {
  run_programs({.children = true, .edges = true}, 60);
}

TEST_F(RandomOrder, WithDemotionsAndChildrenEqualsAPlainLoop) {
  run_programs({.demotion = true, .children = true}, 60);
}

TEST_F(RandomOrder, WithAllOfItEqualsAPlainLoop) {
  run_programs({.demotion = true, .children = true, .edges = true}, 80);
}

TEST_F(RandomOrder, WithChildrenAndEdgesHasEachPathInItsRecord) {
  run_programs({.children = true, .edges = true}, 40, true);
}

TEST_F(RandomOrder, WithAllOfItHasARecordWithoutCircles) {
  run_programs({.demotion = true, .children = true, .edges = true}, 40, true);
}

}  // namespace
}  // namespace trellis
