// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs as users write them, on each host space: tasks that split over subviews to any
// depth, demote, are refined, update atomically or exclude each other, against plain loops in the
// order of submission.
#include <Trellis.hpp>
#include <Trellis_Scheduling.hpp>

#include "Seeds.hpp"
#include "Watchdog.hpp"

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace trellis {
namespace {

#define TRELLIS_SCOPES_(space) space##_RandomScopes
#define TRELLIS_SCOPES(space) TRELLIS_SCOPES_(space)

using Space = TRELLIS_TEST_SPACE;
using Number = std::uint64_t;
using View = Kokkos::View<Number*, Kokkos::HostSpace>;
using Range = Kokkos::RangePolicy<Space>;

enum class What { map, split, refined, add, exclusive_add, sum };

/// What happens to the elements of a range: `x = factor * x + term`, `x += term`, or their sum is
/// taken.
struct Step {
  What what;
  int first;
  int last;
  Number factor;
  Number term;
  int depth;     ///< of splitting
  bool joins;    ///< a split ends with a child that adds 1 to all of it
  bool demotes;  ///< a split waits for its children, goes on with reading, and takes the sum
};

std::vector<Step> make_steps(std::mt19937_64& random, int elements, int count) {
  auto const below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<Step> steps;
  for (int k = 0; k < count; ++k) {
    int const first = below(elements);
    int const last = first + 1 + below(elements - first);
    steps.push_back({static_cast<What>(below(6)), first, last, random() | 1U, random(), below(5),
                     below(2) == 0, below(2) == 0});
  }
  return steps;
}

/// The sums by step.
std::vector<Number> run_plainly(std::vector<Step> const& steps, std::vector<Number>& x) {
  std::vector<Number> sums(steps.size(), 0);
  for (std::size_t k = 0; k < steps.size(); ++k) {
    Step const& step = steps[k];
    bool const maps =
        step.what == What::map || step.what == What::split || step.what == What::refined;
    for (int i = step.first; i < step.last; ++i) {
      Number& value = x[static_cast<std::size_t>(i)];
      if (maps) value = step.factor * value + step.term;
      if (step.what == What::split && step.joins) value += 1;
      if (step.what == What::add || step.what == What::exclusive_add) value += step.term;
      if (step.what == What::sum || (step.what == What::split && step.demotes)) sums[k] += value;
    }
  }
  return sums;
}

View part_of(View const& x, int first, int last) {
  return Kokkos::subview(x, std::pair(first, last));
}

template <class Target, class... Properties>
Future<void> map(Target& target, View const& x, Step const& step, Properties const&... properties) {
  return parallel_for(
      "map",
      ResourcePolicy(target, Range(0, static_cast<int>(x.extent(0))), read_write(x), properties...),
      KOKKOS_LAMBDA(int i) { x(i) = step.factor * x(i) + step.term; });
}

void split(TaskScope& self, View const& x, Step const& step, int depth) {
  int const n = static_cast<int>(x.extent(0));
  if (depth == 0 || n < 2) {
    map(self, x, step);
    return;
  }
  for (View const& half : {part_of(x, 0, n / 2), part_of(x, n / 2, n)})
    host_task("half", ResourcePolicy(self, read_write(half)),
              [half, step, depth](TaskScope& child) { split(child, half, step, depth - 1); });
}

Future<Number> submit_split(TaskGraph& graph, View const& x, Step const& step) {
  return host_task("split", ResourcePolicy(graph, read_write(x)), [x, step](TaskScope& self) {
    int const n = static_cast<int>(x.extent(0));
    split(self, x, step, step.depth);
    if (step.joins)
      parallel_for(
          "join", ResourcePolicy(self, Range(0, n), read_write(x)),
          KOKKOS_LAMBDA(int i) { x(i) += 1; });
    Number sum = 0;
    if (step.demotes) {
      self.wait();
      self.demote(read(x));
      for (int i = 0; i < n; ++i) sum += x(i);
    }
    return sum;
  });
}

void run_tasks(TaskGraph& graph, std::vector<Step> const& steps, View const& all,
               std::vector<Number>& sums) {
  std::vector<std::pair<std::size_t, Future<Number>>> results;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    Step const step = steps[k];
    View const x = part_of(all, step.first, step.last);
    Range const range(0, step.last - step.first);
    switch (step.what) {
      case What::map:
        map(graph, x, step, priority(step.depth - 2));
        break;
      case What::split:
        results.emplace_back(k, submit_split(graph, x, step));
        break;
      case What::refined:
        refine(map(graph, x, step), [&](TaskScope& self) { split(self, x, step, step.depth); });
        break;
      case What::add:
        parallel_for(
            "add", ResourcePolicy(graph, range, atomic_add(x)),
            KOKKOS_LAMBDA(int i) { Kokkos::atomic_add(&x(i), step.term); });
        break;
      case What::exclusive_add:
        parallel_for(
            "exclusive add", ResourcePolicy(graph, range, exclusive(x)),
            KOKKOS_LAMBDA(int i) { x(i) += step.term; });
        break;
      case What::sum:
        results.emplace_back(k, parallel_reduce(
                                    "sum", ResourcePolicy(graph, range, read(x)),
                                    KOKKOS_LAMBDA(int i, Number& sum) { sum += x(i); }));
        break;
    }
  }
  for (auto const& [k, result] : results) sums[k] = result.get();
  graph.wait();
}

void check(std::uint64_t seed, bool serially) {
  trellis::Test::Watchdog const watchdog(std::chrono::seconds(120),
                                         "random scopes, seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  int const elements = 1 + static_cast<int>(random() % 50);
  std::vector<Step> const steps = make_steps(random, elements, 5 + static_cast<int>(random() % 60));
  TaskGraphOptions options;
  options.workers = 1 + static_cast<int>(random() % 3);
  options.record = random() % 2 == 0;
  std::array const policies = {make_work_stealing_policy(), make_fifo_policy(),
                               make_shake_policy(seed)};
  options.policy = policies[random() % policies.size()];

  std::vector<Number> expected(static_cast<std::size_t>(elements), 1);
  std::vector<Number> const expected_sums = run_plainly(steps, expected);
  View x("x", static_cast<std::size_t>(elements));
  for (int i = 0; i < elements; ++i) x(i) = 1;
  std::vector<Number> sums(steps.size(), 0);
  if (serially) setenv("TRELLIS_SERIAL", "1", 1);
  {
    TaskGraph graph(options);
    unsetenv("TRELLIS_SERIAL");
    run_tasks(graph, steps, x, sums);
  }
  ASSERT_EQ(sums, expected_sums) << "seed " << seed;
  for (int i = 0; i < elements; ++i)
    ASSERT_EQ(x(i), expected[static_cast<std::size_t>(i)]) << "seed " << seed << ", element " << i;
}

TEST(TRELLIS_SCOPES(TRELLIS_TEST_SPACE_NAME), SplitDemoteAndRefineLikePlainLoops) {
  for (std::uint64_t const seed : random_program::seeds(4)) {
    SCOPED_TRACE(seed);
    check(seed, false);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(TRELLIS_SCOPES(TRELLIS_TEST_SPACE_NAME), AreTheSameUnderTheSerialOracle) {
  for (std::uint64_t const seed : random_program::seeds(1)) {
    check(seed, true);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace trellis
