// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several devices in one process: order among them without the host. Skipped where there is one.
#include "DeviceTest.hpp"

#include <cstddef>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace trellis {
namespace {

using testing::HasSubstr;
/// All devices reach it, and the host.
using Shared = Kokkos::View<double*, Kokkos::SharedSpace>;

[[maybe_unused]] int device_count() {
  return on_device ? Kokkos::num_devices() : 1;
}

struct Mix {
  Shared from;
  Shared to;
  int factor;
  KOKKOS_FUNCTION void operator()(int i) const {
    double y = 1;
    for (int k = 0; k < 2000; ++k) y = y * 0.5 + 0.5;  // stays 1, takes a while
    to(i) = mix(to(i) * y, from((i + 1) % static_cast<int>(from.extent(0))), factor);
  }
  /// Of whole numbers: not a bit may differ between device and host.
  KOKKOS_FUNCTION static double mix(double to, double from, int factor) {
    return static_cast<double>((factor * static_cast<long>(to) + static_cast<long>(from)) % 10007);
  }
};

struct SumOfShared {
  using value_type = double;
  Shared x;
  KOKKOS_FUNCTION void operator()(int i, double& sum) const { sum += x(i); }
};

constexpr int length = 40;
constexpr int lines = 4;

struct Program {
  struct Step {
    int from, to, device, factor;
  };
  std::vector<Step> steps;

  explicit Program(unsigned seed, int count) {
    std::mt19937 random(seed);
    for (int k = 0; k < count; ++k) {
      int const to = static_cast<int>(random() % lines);
      int const from = (to + 1 + static_cast<int>(random() % (lines - 1))) % lines;
      steps.push_back({from, to, static_cast<int>(random() % static_cast<unsigned>(device_count())),
                       static_cast<int>(3 + random() % 5)});
    }
  }
  [[nodiscard]] std::vector<std::vector<double>> expected(int rounds) const {
    std::vector<std::vector<double>> x(lines, std::vector<double>(length));
    for (int k = 0; k < lines; ++k)
      for (int i = 0; i < length; ++i) x[std::size_t(k)][std::size_t(i)] = 100 * k + i;
    for (int round = 0; round < rounds; ++round)
      for (Step const& step : steps)
        for (int i = 0; i < length; ++i) {
          double& to = x[std::size_t(step.to)][std::size_t(i)];
          to = Mix::mix(to, x[std::size_t(step.from)][std::size_t((i + 1) % length)], step.factor);
        }
    return x;
  }
};

struct Lines {
  std::vector<Shared> x;
  Lines() {
    for (int k = 0; k < lines; ++k) {
      x.emplace_back("line " + std::to_string(k), length);
      for (int i = 0; i < length; ++i) x.back()(i) = 100 * k + i;
    }
    Kokkos::fence();
  }
  [[nodiscard]] std::vector<std::vector<double>> values() const {
    std::vector<std::vector<double>> all;
    for (Shared const& line : x) all.push_back(values_of(line));
    return all;
  }
};

void submit(TaskGraph& graph, Program const& program, Lines const& data) {
  for (Program::Step const& step : program.steps) {
    Shared const& from = data.x[std::size_t(step.from)];
    Shared const& to = data.x[std::size_t(step.to)];
    parallel_for(
        "mix",
        ResourcePolicy(graph, Range(0, length), read(from), read_write(to), device(step.device)),
        Mix{from, to, step.factor});
  }
}

SPACE_TEST(SeveralDevices, GiveWhatTheSerialOrderGives) {
  if (device_count() < 2) GTEST_SKIP() << "one device";
  for (unsigned seed = 1; seed <= 10; ++seed) {
    Program const program(seed, 60);
    Lines const data;
    TaskGraph graph(with_workers(2));
    submit(graph, program, data);
    graph.wait();
    ASSERT_EQ(data.values(), program.expected(1)) << "seed " << seed;
  }
}

SPACE_TEST(SeveralDevices, PlansOverThem) {
  if (device_count() < 2) GTEST_SKIP() << "one device";
  for (unsigned seed = 1; seed <= 10; ++seed) {
    Program const program(seed, 30);
    Lines const data;
    TaskGraph graph(with_workers(2));
    Plan const plan = graph.record("program", [&] { submit(graph, program, data); });
    graph.replay(plan, 3);
    graph.replay(plan);
    graph.wait();
    ASSERT_EQ(data.values(), program.expected(4)) << "seed " << seed;
  }
}

SPACE_TEST(SeveralDevices, APlanOfOneThatIsNotTheDefault) {
  if (device_count() < 2) GTEST_SKIP() << "one device";
  Program program(7, 30);
  for (Program::Step& step : program.steps) step.device = 1;
  Lines const data;
  TaskGraph graph(with_workers(1));
  Plan const plan = graph.record("program", [&] { submit(graph, program, data); });
  graph.replay(plan, 5);
  graph.wait();
  EXPECT_EQ(data.values(), program.expected(5));
}

SPACE_TEST(SeveralDevices, ResultsOfReductionsComeFromEach) {
  if (device_count() < 2) GTEST_SKIP() << "one device";
  TaskGraph graph(with_workers(2));
  Lines const data;
  std::vector<Future<double>> sums;
  for (int k = 0; k < 20; ++k) {
    Shared const x = data.x[std::size_t(k % lines)];
    sums.push_back(parallel_reduce(
        "sum", ResourcePolicy(graph, Range(0, length), read(x), device(k % device_count())),
        SumOfShared{x}));
  }
  auto const values = Program(1, 0).expected(0);
  for (int k = 0; k < 20; ++k) {
    auto const& line = values[std::size_t(k % lines)];
    EXPECT_EQ(sums[std::size_t(k)].get(), std::accumulate(line.begin(), line.end(), 0.0)) << k;
  }
}

SPACE_TEST(SeveralDevices, OneThatIsNotThereIsAnError) {
  if (!on_device) GTEST_SKIP() << "host spaces have no devices";
  TaskGraph graph(with_workers(1));
  V const x("x", 10);
  try {
    parallel_for("nowhere", ResourcePolicy(graph, Range(0, 10), write(x), device(99)), Fill{x, 1});
    ADD_FAILURE() << "accepted";
  } catch (Error const& error) {
    EXPECT_THAT(error.what(), HasSubstr("99"));
  }
}

}  // namespace
}  // namespace trellis
