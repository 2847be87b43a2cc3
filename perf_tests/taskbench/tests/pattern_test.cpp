// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Edges.hpp>
#include <Kernel.hpp>
#include <Pattern.hpp>

#include <gmock/gmock.h>

#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

namespace taskbench {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;

Shape shape(Pattern pattern, int width, std::int64_t steps = 40) {
  Shape result;
  result.pattern = pattern;
  result.width = width;
  result.steps = steps;
  return result;
}

std::vector<Pattern> all_patterns() {
  std::vector<Pattern> all;
  for (std::size_t p = 0; p != pattern_names.size(); ++p) all.push_back(static_cast<Pattern>(p));
  return all;
}

// Is there an edge? Said for each pair, where the program lists the inputs of a task.
bool depends(Shape const& s, std::int64_t step, int column, int input) {
  int const distance = input - column;
  switch (s.pattern) {
    case Pattern::trivial:
      return false;
    case Pattern::no_comm:
      return distance == 0;
    case Pattern::stencil_1d:
      return std::abs(distance) <= 1;
    case Pattern::stencil_1d_periodic:
      return std::abs(distance) <= 1 || std::abs(distance) == s.width - 1;
    case Pattern::dom:
      return distance == 0 || distance == -1;
    case Pattern::tree:
      return input == column / 2;
    case Pattern::fft: {
      int levels = 0;
      while ((1 << levels) < s.width) ++levels;
      return distance == 0 || (levels > 0 && std::abs(distance) == 1 << (step % levels));
    }
    case Pattern::nearest:
      return -(s.radix - 1) / 2 <= distance && distance <= s.radix / 2;
    case Pattern::spread:
      for (int i = 0; i != s.radix; ++i)
        if ((column + i * s.width / s.radix + (i > 0 ? step % s.period : 0) - input) % s.width == 0)
          return true;
      return false;
    case Pattern::random_nearest:
      return distance == 0 ||
             (-(s.radix - 1) / 2 <= distance && distance <= s.radix / 2 &&
              pseudo_random(static_cast<std::uint64_t>(step % s.period),
                            static_cast<std::uint64_t>(column),
                            static_cast<std::uint64_t>(distance + s.radix)) < s.fraction);
    case Pattern::all_to_all:
      return true;
  }
  return false;
}

TEST(TaskbenchPattern, inputs_are_those_of_the_definition) {
  for (Pattern const pattern : all_patterns())
    for (int const width : {1, 2, 3, 7, 8, 13}) {
      Shape const s = shape(pattern, width);
      for (std::int64_t step = 0; step != s.steps; ++step)
        for (int column = columns_at(s, step).begin; column != columns_at(s, step).end; ++column) {
          std::vector<int> expected;
          for (int input = 0; input != width; ++input)
            if (columns_at(s, step - 1).contains(input) && depends(s, step, column, input))
              expected.push_back(input);
          EXPECT_EQ(inputs_of(s, step, column), expected)
              << pattern_names[static_cast<std::size_t>(pattern)] << " width " << width << " step "
              << step << " column " << column;
        }
    }
}

TEST(TaskbenchPattern, some_inputs_by_hand) {
  EXPECT_THAT(inputs_of(shape(Pattern::stencil_1d, 8), 1, 0), ElementsAre(0, 1));
  EXPECT_THAT(inputs_of(shape(Pattern::stencil_1d_periodic, 8), 1, 0), ElementsAre(0, 1, 7));
  EXPECT_THAT(inputs_of(shape(Pattern::fft, 8), 5, 3), ElementsAre(3, 7));
  EXPECT_THAT(inputs_of(shape(Pattern::nearest, 8), 3, 4), ElementsAre(2, 3, 4, 5, 6));
  EXPECT_THAT(inputs_of(shape(Pattern::tree, 8), 3, 7), ElementsAre(3));
  EXPECT_THAT(inputs_of(shape(Pattern::dom, 8), 3, 3), ElementsAre(2));
  EXPECT_THAT(inputs_of(shape(Pattern::all_to_all, 4), 0, 2), IsEmpty());
}

TEST(TaskbenchPattern, columns_of_tree_and_wavefront) {
  EXPECT_EQ(columns_at(shape(Pattern::tree, 8), 0).end, 1);
  EXPECT_EQ(columns_at(shape(Pattern::tree, 8), 2).end, 4);
  EXPECT_EQ(columns_at(shape(Pattern::tree, 8), 39).end, 8);
  EXPECT_EQ(columns_at(shape(Pattern::dom, 8), 0).end, 1);
  EXPECT_EQ(columns_at(shape(Pattern::dom, 8), 39).begin, 7);
  EXPECT_EQ(task_count(shape(Pattern::no_comm, 8)), 320);
  EXPECT_EQ(task_count(shape(Pattern::tree, 8)), 1 + 2 + 4 + 37 * 8);
  EXPECT_EQ(task_count(shape(Pattern::dom, 8)), (40 - 7) * 8);
}

// Brute force: everything that touches the same output, one of the two writing it, is ordered by
// the predecessors, directly or along a path.
void expect_order(Shape const& s, int copies) {
  Edges const edges(s, copies, false);
  using Task = std::pair<std::int64_t, int>;
  auto const name = pattern_names[static_cast<std::size_t>(s.pattern)];
  std::vector<std::vector<std::set<Task>>> before;
  for (std::int64_t step = 0; step != s.steps; ++step) {
    before.emplace_back(static_cast<std::size_t>(s.width));
    for (int column = columns_at(s, step).begin; column != columns_at(s, step).end; ++column) {
      std::set<Task>& own = before.back()[static_cast<std::size_t>(column)];
      for (Predecessor const p : edges.predecessors(step, column)) {
        Task const task(step - p.steps_back, p.column);
        ASSERT_TRUE(columns_at(s, task.first).contains(task.second))
            << name << " step " << step << " column " << column;
        own.insert(task);
        std::set<Task> const& theirs =
            before[static_cast<std::size_t>(task.first)][static_cast<std::size_t>(task.second)];
        own.insert(theirs.begin(), theirs.end());
      }
      for (int const input : inputs_of(s, step, column))
        EXPECT_TRUE(own.contains({step - 1, input}))
            << name << " step " << step << " column " << column;
      std::int64_t const overwritten = step - copies;
      if (columns_at(s, overwritten).contains(column)) {
        EXPECT_TRUE(own.contains({overwritten, column}))
            << name << " step " << step << " column " << column;
        for (int reader = columns_at(s, overwritten + 1).begin;
             reader != columns_at(s, overwritten + 1).end; ++reader)
          if (testing::Value(inputs_of(s, overwritten + 1, reader), testing::Contains(column))) {
            EXPECT_TRUE(own.contains({overwritten + 1, reader}))
                << name << " step " << step << " column " << column;
          }
      }
    }
  }
}

TEST(TaskbenchEdges, predecessors_order_all_conflicts) {
  for (Pattern const pattern : all_patterns())
    for (int const width : {1, 2, 7, 8})
      for (int const copies : {2, 3}) expect_order(shape(pattern, width, 24), copies);
}

TEST(TaskbenchEdges, tables_repeat_as_the_pattern_does) {
  for (Pattern const pattern : all_patterns()) {
    Shape const s = shape(pattern, 9);
    Edges const edges(s, 2, false);
    for (std::int64_t step = 0; step != s.steps; ++step)
      for (int column = columns_at(s, step).begin; column != columns_at(s, step).end; ++column) {
        auto const inputs = edges.inputs(step, column);
        EXPECT_EQ(std::vector<int>(inputs.begin(), inputs.end()), inputs_of(s, step, column))
            << pattern_names[static_cast<std::size_t>(pattern)] << " step " << step << " column "
            << column;
      }
  }
}

TEST(TaskbenchEdges, one_edge_can_be_left_out) {
  Shape const s = shape(Pattern::stencil_1d, 8);
  Edges const edges(s, 2, true);
  EXPECT_EQ(edges.dropped(), 0);
  EXPECT_THAT(edges.inputs(1, 1), ElementsAre(0, 1, 2));
  EXPECT_THAT(edges.declared_inputs(1, 1), ElementsAre(1, 2));
  EXPECT_THAT(edges.declared_inputs(3, 1), ElementsAre(0, 1, 2));
  EXPECT_EQ(Edges(shape(Pattern::no_comm, 8), 2, true).dropped(), -1);
}

TEST(TaskbenchKernel, imbalance_keeps_the_mean) {
  double sum = 0;
  for (std::int64_t step = 0; step != 100; ++step)
    for (int column = 0; column != 100; ++column) {
      std::int64_t const n = imbalanced(1000, 0.5, step, column);
      EXPECT_GE(n, 500);
      EXPECT_LE(n, 1500);
      sum += static_cast<double>(n);
    }
  EXPECT_THAT(sum / 10000, DoubleNear(1000, 10));
  EXPECT_EQ(imbalanced(1000, 0, 3, 4), 1000);
}

TEST(TaskbenchKernel, numbers_stay_finite) {
  EXPECT_THAT(compute(1'000'000), DoubleNear(64, 1e-6));
  std::vector<double> buffer(4 * block_bytes / sizeof(double), 2.0);
  EXPECT_THAT(sweep(100'000, 3, buffer), DoubleNear(1, 1e-6));
}

}  // namespace
}  // namespace taskbench
