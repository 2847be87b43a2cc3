// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random loops, whose iterations differ and are asked after from everywhere, against plain loops.
#include "Watchdog.hpp"
#include "Seeds.hpp"
#include "BareTask.hpp"
#include "Timing.hpp"

#include <Trellis_SchedulingPolicy.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <random>
#include <string>
#include <thread>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

constexpr std::size_t cell_count = 10;
using Cells = std::vector<unsigned long>;

struct Use {
  Mode mode;
  std::size_t first;
  std::size_t count;
};

bool conflict(Use const& a, Use const& b) {
  if (a.first >= b.first + b.count || b.first >= a.first + a.count) return false;
  bool const commute = a.mode == b.mode && a.mode != Mode::write && a.mode != Mode::read_write;
  return !commute;
}

/// What one task does, without Trellis: each access says which cells, and how.
struct Step {
  std::vector<Use> uses;
  unsigned long number = 0;
  bool synchronizing = false;
  int priority = 0;

  /// Sums and exclusive updates commute, everything else does not.
  template <class Add>
  void run(Cells& cells, unsigned long iteration, Add add) const {
    unsigned long const own = number + 1000 * iteration;
    unsigned long seen = own;
    for (Use const& use : uses)
      if (use.mode == Mode::read || use.mode == Mode::read_write)
        for (std::size_t k = 0; k != use.count; ++k) seen = seen * 31 + cells[use.first + k];
    for (Use const& use : uses)
      for (std::size_t k = 0; k != use.count; ++k) {
        unsigned long& cell = cells[use.first + k];
        if (use.mode == Mode::write) cell = seen + k;
        if (use.mode == Mode::read_write) cell = cell * 7 + seen;
        if (use.mode == Mode::exclusive) cell += own;
        if (use.mode == Mode::atomic_add) add(cell, own + k);
      }
  }
  [[nodiscard]] bool depends_on(Step const& other) const {
    if (synchronizing || other.synchronizing) return true;
    for (Use const& mine : uses)
      for (Use const& its : other.uses)
        if (conflict(mine, its)) return true;
    return false;
  }
};

/// What the body of an iteration does after it has submitted a task.
enum class Then { nothing, is_done, polls, gets, joins, shows, waits, after, replays };

class RandomLoop {
 public:
  RandomLoop(std::uint64_t seed, bool fails) : m_random(seed), m_fails(fails) {
    m_kinds.emplace_back(static_cast<std::size_t>(1 + pick(7)));
    for (Step& step : m_kinds.front()) step = make_step();
    int const kinds = pick(3) == 0 ? 1 : 1 + pick(11);
    for (int k = 1; k < kinds; ++k)
      m_kinds.push_back(changed(m_kinds[static_cast<std::size_t>(pick(k))]));
    m_plan.resize(static_cast<std::size_t>(1 + pick(3)));
    for (Step& step : m_plan) step = make_step();
    for (Step& step : m_plan) step.synchronizing = false;
    bool const asks = pick(4) != 0;
    int const iterations = 1 + pick(40);
    for (int p = 0; p != iterations; ++p) {
      Iteration iteration;
      iteration.kind = static_cast<std::size_t>(pick(3) == 0 ? pick(kinds) : p % kinds);
      iteration.then.resize(m_kinds[iteration.kind].size(), Then::nothing);
      for (Then& then : iteration.then)
        if (asks && pick(12) == 0) then = static_cast<Then>(1 + pick(8));
      if (fails && pick(12) == 0) iteration.throws_at = static_cast<std::size_t>(pick(8));
      m_iterations.push_back(iteration);
    }
    m_inside = pick(5) == 0;
    if (m_inside) {  // a task that polls keeps its worker, and a synchronizing one comes after it
      for (auto& kind : m_kinds)
        for (Step& step : kind) step.synchronizing = false;
      for (Iteration& iteration : m_iterations)
        for (Then& then : iteration.then)
          if (then == Then::polls || then == Then::joins) then = Then::is_done;
    }
    m_iterations.front().then.front() = Then::nothing;
  }

  [[nodiscard]] Cells expected() const {
    Cells cells(cell_count, 1);
    auto const add = [](unsigned long& cell, unsigned long by) { cell += by; };
    for (std::size_t p = 0; p != m_iterations.size(); ++p) {
      Iteration const& iteration = m_iterations[p];
      for (std::size_t s = 0; s != iteration.then.size(); ++s) {
        m_kinds[iteration.kind][s].run(cells, p, add);
        if (iteration.then[s] == Then::replays)
          for (Step const& step : m_plan) step.run(cells, 0, add);
      }
    }
    return cells;
  }

  /// The tasks in a loop, with somebody who asks after some of them in another thread.
  Cells run(TaskGraph& graph) {
    Cells cells(cell_count, 1);
    Plan const plan = graph.record([&] {
      for (Step const& step : m_plan) submit(graph, cells, step, 0, false);
    });
    m_shown.clear();
    m_over = false;
    m_futures.clear();
    std::jthread const asker([&] { ask(); });
    struct Over {
      RandomLoop& loop;
      ~Over() {
        std::lock_guard const lock(loop.m_mutex);
        loop.m_over = true;
      }
    } const over{*this};
    IterateReport report;
    auto const loop = [&] {
      report = graph.iterate("loop", m_iterations.size(),
                             [&](std::uint64_t p) { run_iteration(graph, cells, plan, p); });
    };
    if (m_inside)
      task(graph, "loops", {}, loop);
    else
      loop();
    try {
      graph.wait();
    } catch (Error const&) {
      EXPECT_TRUE(m_fails);
    }
    EXPECT_EQ(report.recorded + report.replayed + report.dynamic, m_iterations.size());
    return cells;
  }

  /// Every future of the last run says what has become of its task.
  void check_failures() const {
    std::vector<bool> cancelled;
    for (std::size_t n = 0; n != m_futures.size(); ++n) {
      Submitted const& each = m_futures[n];
      bool depends = false;
      for (std::size_t before = 0; before != n; ++before)
        depends =
            depends || (cancelled[before] && m_futures[n].step.depends_on(m_futures[before].step));
      ASSERT_TRUE(each.future.is_done());
      std::string const text = message_of([&] { each.future.get(); });
      if (depends) {
        EXPECT_THAT(text, testing::HasSubstr("was cancelled")) << n;
      } else if (each.throws && text.find("was cancelled") == std::string::npos) {
        EXPECT_THAT(text, testing::HasSubstr("on purpose")) << n;
      }
      cancelled.push_back(text != "no error");
    }
  }

 private:
  struct Iteration {
    std::size_t kind = 0;
    std::vector<Then> then;
    std::size_t throws_at = ~std::size_t{0};
  };
  struct Submitted {
    Future<void> future;
    Step step;
    bool throws;
  };

  int pick(int below) { return static_cast<int>(m_random() % static_cast<unsigned>(below)); }

  Step make_step() {
    static constexpr Mode modes[] = {Mode::read,       Mode::read,       Mode::write,
                                     Mode::read_write, Mode::atomic_add, Mode::exclusive};
    Step step;
    step.number = m_random() % 1000 + 1;
    std::vector<bool> used(cell_count, false);  // a task has one mode for each cell
    int const uses = pick(4);
    for (int k = 0; k != uses; ++k) {
      auto const first = static_cast<std::size_t>(pick(cell_count));
      std::size_t const count = 1 + static_cast<std::size_t>(pick(4));
      if (first + count > cell_count) continue;
      bool free = true;
      for (std::size_t c = first; c != first + count; ++c) free = free && !used[c];
      if (!free) continue;
      for (std::size_t c = first; c != first + count; ++c) used[c] = true;
      step.uses.push_back({modes[pick(6)], first, count});
    }
    step.synchronizing = pick(25) == 0;
    step.priority = pick(10) == 0 ? pick(3) : 0;
    return step;
  }

  /// Steps that are left out, added or cut off.
  std::vector<Step> changed(std::vector<Step> steps) {
    auto const at = static_cast<std::ptrdiff_t>(m_random() % (steps.size() + 1));
    switch (pick(4)) {
      case 0:
        steps.insert(steps.begin() + at, make_step());
        break;
      case 1:
        steps.push_back(make_step());
        break;
      case 2:
        if (steps.size() > 1)
          steps.erase(steps.begin() + std::min<std::ptrdiff_t>(at, std::ssize(steps) - 1));
        break;
      default:
        if (at > 0) steps.resize(static_cast<std::size_t>(at));
    }
    return steps;
  }

  Future<void> submit(TaskGraph& graph, Cells& cells, Step const& step, std::uint64_t iteration,
                      bool throws, std::vector<Impl::TaskHandle> after = {}) {
    std::vector<Touch> touches;
    auto const begin = reinterpret_cast<std::uintptr_t>(cells.data());
    for (Use const& use : step.uses)
      touches.push_back(
          {use.mode,
           {Impl::Area::contiguous(&cells[use.first], use.count * sizeof(unsigned long)), "cells",
            begin, begin + cell_count * sizeof(unsigned long)}});
    Properties properties;
    properties.priority = step.priority;
    properties.synchronizing = step.synchronizing;
    properties.after = std::move(after);
    return task(
        graph, "step " + std::to_string(step.number), touches,
        [&cells, step, iteration, throws] {
          if (throws) throw std::runtime_error("on purpose");
          step.run(cells, iteration, [](unsigned long& cell, unsigned long by) {
            std::atomic_ref<unsigned long>(cell) += by;
          });
        },
        properties);
  }

  void run_iteration(TaskGraph& graph, Cells& cells, Plan const& plan, std::uint64_t p) {
    Iteration const& iteration = m_iterations[p];
    for (std::size_t s = 0; s != iteration.then.size(); ++s) {
      Step const& step = m_kinds[iteration.kind][s];
      bool const throws = s == iteration.throws_at;
      std::vector<Impl::TaskHandle> after;
      if (iteration.then[s] == Then::after && !m_futures.empty())
        after = handles(m_futures.back().future);
      Future<void> const future = submit(graph, cells, step, p, throws, after);
      m_futures.push_back({future, step, throws});
      auto const get = [future] {
        try {
          future.get();
        } catch (Error const&) {
        }
      };
      switch (iteration.then[s]) {
        case Then::is_done:
          static_cast<void>(future.is_done());
          break;
        case Then::polls:
          until_done(future);
          break;
        case Then::gets:
          get();
          break;
        case Then::joins:
          std::thread(get).join();
          break;
        case Then::shows: {
          std::lock_guard const lock(m_mutex);
          m_shown.push_back(future);
          break;
        }
        case Then::waits:
          if (!m_inside && !m_fails) graph.wait();
          break;
        case Then::replays:
          if (!m_fails) graph.replay(plan);
          break;
        case Then::nothing:
        case Then::after:
          break;
      }
    }
  }

  /// In a thread of its own: now with `is_done`, now with `get`.
  void ask() {
    for (unsigned k = 0;; ++k) {
      Future<void> future;
      {
        std::lock_guard const lock(m_mutex);
        if (m_shown.empty() && m_over) return;
        if (!m_shown.empty()) {
          future = m_shown.front();
          m_shown.pop_front();
        }
      }
      if (!future.valid()) {
        std::this_thread::yield();
      } else if (k % 2 == 0) {
        until_done(future);
      } else {
        try {
          future.get();
        } catch (Error const&) {
        }
      }
    }
  }

  std::mt19937_64 m_random;
  bool m_fails;
  bool m_inside = false;  ///< the loop is in a task
  std::vector<std::vector<Step>> m_kinds;
  std::vector<Step> m_plan;
  std::vector<Iteration> m_iterations;
  std::deque<Submitted> m_futures;
  std::mutex m_mutex;
  std::deque<Future<void>> m_shown;
  bool m_over = false;
};

class RandomLoops : public testing::TestWithParam<bool> {};

TEST_P(RandomLoops, GiveWhatPlainLoopsGive) {
  bool const fails = GetParam();
  for (std::uint64_t const seed : random_program::seeds(1, 120)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomLoop loop(seed, fails);
    Cells const expected = loop.expected();
    for (int workers = 1; workers <= 4; ++workers) {
      std::string const what =
          "seed " + std::to_string(seed) + ", " + std::to_string(workers) + " workers";
      Watchdog const watchdog(sanitized ? 120s : 30s, what);
      TaskGraphOptions options = with_workers(workers);
      if (std::size_t const cap = std::array<std::size_t, 4>{1, 4, 64, 0}[seed / 2 % 4])
        options.in_flight = cap;
      options.record = seed % 8 == 0;
      options.policy = seed % 3 == 0   ? make_work_stealing_policy()
                       : seed % 3 == 1 ? make_fifo_policy()
                                       : make_shake_policy(seed);
      TaskGraph graph(options);
      Cells const result = loop.run(graph);
      if (fails) {
        loop.check_failures();
      } else {
        ASSERT_EQ(result, expected) << what;
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Bodies, RandomLoops, testing::Bool(),
                         [](auto const& each) { return each.param ? "may_throw" : "end_well"; });

}  // namespace
}  // namespace trellis
