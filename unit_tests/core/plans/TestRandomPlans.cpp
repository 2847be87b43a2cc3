// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random plans, replayed between other tasks, against the same tasks in plain loops.
#include "Seeds.hpp"
#include "BareTask.hpp"
#include "Timing.hpp"

#include <Trellis_SchedulingPolicy.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <random>
#include <string>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

/// What one task does, without Trellis: each access says which cells, and how.
struct PlanStep {
  struct Use {
    Mode mode;
    std::size_t first;
    std::size_t count;
  };
  std::vector<Use> uses;
  unsigned long number;

  /// Sums and exclusive updates commute, everything else does not.
  template <class Add>
  void run(std::vector<unsigned long>& cells, Add add) const {
    unsigned long seen = number;
    for (Use const& use : uses)
      if (use.mode == Mode::read || use.mode == Mode::read_write)
        for (std::size_t k = 0; k != use.count; ++k) seen = seen * 31 + cells[use.first + k];
    for (Use const& use : uses)
      for (std::size_t k = 0; k != use.count; ++k) {
        unsigned long& cell = cells[use.first + k];
        if (use.mode == Mode::write) cell = seen + k;
        if (use.mode == Mode::read_write) cell = cell * 7 + seen;
        if (use.mode == Mode::exclusive) cell += number;
        if (use.mode == Mode::atomic_add) add(cell, number + k);
      }
  }
};

/// A program: steps, pieces of them that are plans, and in which order all of that comes.
class RandomProgram {
 public:
  static constexpr std::size_t cell_count = 12;

  explicit RandomProgram(std::uint64_t seed) : m_random(seed) {
    int const plans = 1 + pick(3);
    for (int p = 0; p != plans; ++p) {
      Piece piece;
      int const steps = 1 + pick(8);
      for (int s = 0; s != steps; ++s) {
        if (p > 0 && pick(6) == 0) {
          piece.items.push_back(
              {static_cast<std::size_t>(pick(p)), static_cast<std::uint64_t>(1 + pick(3)), {}});
        } else {
          piece.items.push_back({none, 1, make_step()});
        }
      }
      m_plans.push_back(std::move(piece));
    }
    int const items = 3 + pick(10);
    for (int k = 0; k != items; ++k) {
      if (pick(2) == 0)
        m_program.items.push_back(
            {static_cast<std::size_t>(pick(plans)), static_cast<std::uint64_t>(pick(5)), {}});
      else
        m_program.items.push_back({none, 1, make_step()});
    }
  }

  std::vector<unsigned long> expected() const {
    std::vector<unsigned long> cells(cell_count, 1);
    run_plainly(m_program, cells);
    return cells;
  }

  std::vector<unsigned long> run(TaskGraph& graph) const {
    std::vector<unsigned long> cells(cell_count, 1);
    std::vector<Plan> plans;
    for (Piece const& piece : m_plans)
      plans.push_back(graph.record([&] { submit(graph, piece, plans, cells); }));
    submit(graph, m_program, plans, cells);
    graph.wait();
    return cells;
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  struct Item {
    std::size_t plan;  ///< or none: a step
    std::uint64_t rounds;
    PlanStep step;
  };
  struct Piece {
    std::vector<Item> items;
  };

  int pick(int below) { return static_cast<int>(m_random() % static_cast<unsigned>(below)); }

  PlanStep make_step() {
    static constexpr Mode modes[] = {Mode::read,       Mode::read,       Mode::write,
                                     Mode::read_write, Mode::atomic_add, Mode::exclusive};
    PlanStep step{{}, m_random() % 1000 + 1};
    std::vector<bool> used(cell_count, false);  // a task has one mode for each cell
    int const uses = pick(4);
    for (int k = 0; k != uses; ++k) {
      std::size_t const first = static_cast<std::size_t>(pick(cell_count));
      std::size_t const count = 1 + static_cast<std::size_t>(pick(4));
      if (first + count > cell_count) continue;
      bool free = true;
      for (std::size_t c = first; c != first + count; ++c) free = free && !used[c];
      if (!free) continue;
      for (std::size_t c = first; c != first + count; ++c) used[c] = true;
      step.uses.push_back({modes[pick(6)], first, count});
    }
    return step;
  }

  void run_plainly(Piece const& piece, std::vector<unsigned long>& cells) const {
    for (Item const& item : piece.items)
      for (std::uint64_t round = 0; round != item.rounds; ++round)
        if (item.plan != none)
          run_plainly(m_plans[item.plan], cells);
        else
          item.step.run(cells, [](unsigned long& cell, unsigned long by) { cell += by; });
  }

  void submit(TaskGraph& graph, Piece const& piece, std::vector<Plan> const& plans,
              std::vector<unsigned long>& cells) const {
    for (Item const& item : piece.items) {
      if (item.plan != none) {
        graph.replay(plans[item.plan], item.rounds);
        continue;
      }
      std::vector<Touch> touches;
      auto const begin = reinterpret_cast<std::uintptr_t>(cells.data());
      for (PlanStep::Use const& use : item.step.uses)
        touches.push_back(
            {use.mode,
             {Impl::Area::contiguous(&cells[use.first], use.count * sizeof(unsigned long)), "cells",
              begin, begin + cell_count * sizeof(unsigned long)}});
      task(graph, "step " + std::to_string(item.step.number), touches, [&cells, step = item.step] {
        step.run(cells, [](unsigned long& cell, unsigned long by) {
          std::atomic_ref<unsigned long>(cell) += by;
        });
      });
    }
  }

  std::mt19937_64 m_random;
  std::vector<Piece> m_plans;
  Piece m_program;
};

class RandomPlans : public testing::TestWithParam<int> {};

TEST_P(RandomPlans, GiveWhatPlainLoopsGive) {
  for (std::uint64_t const seed : random_program::seeds(1, 60)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomProgram const program(seed);
    std::vector<unsigned long> const expected = program.expected();
    for (int workers = 1; workers <= 3; ++workers) {
      TaskGraphOptions options = with_workers(workers);
      options.record = seed % 4 == 0;
      options.policy = GetParam() == 0   ? make_work_stealing_policy()
                       : GetParam() == 1 ? make_fifo_policy()
                                         : make_shake_policy(seed);
      TaskGraph graph(options);
      ASSERT_EQ(program.run(graph), expected) << workers << " workers";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, RandomPlans, testing::Values(0, 1, 2), [](auto const& each) {
  return each.param == 0 ? "work_stealing" : each.param == 1 ? "fifo" : "shake";
});

}  // namespace
}  // namespace trellis
