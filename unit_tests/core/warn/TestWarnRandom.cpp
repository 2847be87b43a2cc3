// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs: what is told of them is true, element by element.
#include "WarnTest.hpp"

#include <Trellis_States.hpp>

#include <map>
#include <random>
#include <set>
#include <utility>

namespace trellis {
namespace {

using namespace Test;

struct RandomTask {
  int view;
  int begin;
  int end;
  Mode mode;
  bool waits;  ///< the host does, behind it
};

/// For each task: has it written something, all of which was written over before anybody read it?
std::set<int> lost_of(std::vector<RandomTask> const& tasks, int views, int size) {
  struct Element {
    int by = -1;
    bool read = false;
  };
  std::vector<std::vector<Element>> elements(static_cast<std::size_t>(views));
  for (auto& of_view : elements) of_view.resize(static_cast<std::size_t>(size));
  std::map<int, int> left;  // elements of a task that are still there, or were read
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    RandomTask const& task = tasks[t];
    for (int i = task.begin; i < task.end; ++i) {
      Element& element = elements[static_cast<std::size_t>(task.view)][static_cast<std::size_t>(i)];
      if (task.mode != Mode::write) element.read = true;
      if (task.mode == Mode::read) continue;
      if (element.by >= 0 && !element.read) --left[element.by];
      element = {static_cast<int>(t), false};
      ++left[static_cast<int>(t)];
    }
    if (!task.waits) continue;
    for (auto& of_view : elements)
      for (Element& element : of_view) element.read = true;
  }
  std::set<int> lost;
  for (auto const& [task, count] : left)
    if (count == 0) lost.insert(task);
  return lost;
}

std::set<int> told_of(std::vector<RandomTask> const& tasks, std::vector<V> const& views,
                      TaskGraphOptions const& options) {
  Heard const heard(
      [&](TaskGraph& graph) {
        for (std::size_t t = 0; t < tasks.size(); ++t) {
          RandomTask const& task = tasks[t];
          auto const area = Kokkos::subview(views[static_cast<std::size_t>(task.view)],
                                            std::pair(task.begin, task.end));
          host_task(std::to_string(t), ResourcePolicy(graph, access(area, task.mode)), [] {});
          if (task.waits) graph.wait();
        }
      },
      options);
  std::set<int> told;
  for (Warning const& each : heard.all()) {
    EXPECT_EQ(each.kind, WarningKind::overwritten) << each.text;
    told.insert(std::stoi(each.task));
  }
  return told;
}

SPACE_TEST(WarnRandom, WhatIsToldToBeOverwrittenIsSo) {
  constexpr int size = 12;
  std::size_t told_at_all = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    auto const below = [&](int count) { return static_cast<int>(random() % count); };
    bool const whole = seed % 3 == 0;  // the same areas again: then nothing may be missing, either
    std::vector<V> views;
    for (int k = 0; k < 3; ++k) views.emplace_back("v" + std::to_string(k), size);
    std::vector<RandomTask> tasks;
    for (int t = 0; t < 60; ++t) {
      int const begin = whole ? 0 : below(size);
      int const end = whole ? size : begin + 1 + below(size - begin);
      constexpr Mode modes[] = {Mode::read,       Mode::write,      Mode::write,
                                Mode::read_write, Mode::atomic_add, Mode::exclusive};
      tasks.push_back({below(3), begin, end, modes[below(6)], below(10) == 0});
    }
    TaskGraphOptions options;
    options.workers = 1 + below(3);
    options.serial = seed % 5 == 0;
    std::set<int> const lost = lost_of(tasks, 3, size);
    std::set<int> const told = told_of(tasks, views, options);
    told_at_all += told.size();
    for (int const task : told) EXPECT_TRUE(lost.contains(task)) << "seed " << seed << " " << task;
    if (whole) {
      EXPECT_EQ(told, lost) << "seed " << seed;
    }
  }
  EXPECT_GT(told_at_all, 100u);
}

}  // namespace
}  // namespace trellis
