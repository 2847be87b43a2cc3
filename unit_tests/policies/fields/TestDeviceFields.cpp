// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fields of devices: memory is handed on when its last user has been launched, and the device keeps
// the order.
#include "DeviceFields.hpp"

#include "Watchdog.hpp"
#include "RandomNumbers.hpp"
#include "Seeds.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>

namespace trellis {
namespace {

using namespace Test;
using testing::HasSubstr;

/// to = from / 3 + 2 * other + 1
struct Mix {
  KOKKOS_FUNCTION void operator()(int k, F::read_view const& from, F::read_view const& other,
                                  F::view const& to) const {
    to(k) = from(k) / 3 + 2 * other(k) + 1;
  }
};
void add_mix(FieldGraph& model, Label label, int number, F const& from, F const& other,
             F const& to) {
  parallel_for(
      std::move(label),
      ResourcePolicy(model, n, read(from), read(other), write(to), on<Simulated>, device(number)),
      Mix());
}
double at(DeviceValues const& values, int k) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values)(k);
}

class FieldsOnSimulated : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    // Slow, so that launches run ahead.
    Simulated::configure(
        {.virtual_time = GetParam(), .kernel_units = 20000, .launch_is_slow = true}, 2);
  }
  void TearDown() override { Simulated::configure({}); }
};
INSTANTIATE_TEST_SUITE_P(, FieldsOnSimulated, testing::Values(false, true), [](auto const& time) {
  return std::string(time.param ? "Virtual" : "Real");
});

TEST_P(FieldsOnSimulated, AChainOfTenHasTwoBlocksThoughAllIsLaunchedAtOnce) {
  for (bool const has_limit : {false, true}) {
    TaskGraph graph(with_workers(1));
    FieldTarget const first = target<Simulated>(0);
    FieldGraph model(graph, {.targets = {first},
                             .memory_limit = has_limit ? std::optional(2 * block) : std::nullopt});
    DeviceValues const x("x", n), y("y", n);
    Kokkos::deep_copy(x, 3.0);
    F const from = model.bind("x", x, first), to = model.bind("y", y, first);
    std::vector<F> chain{from};
    for (int k = 0; k < 10; ++k) {
      chain.push_back(model.field<double*, Kokkos::LayoutRight>("q" + std::to_string(k), n));
      F const& last = chain[chain.size() - 2];
      add_mix(model, "link", 0, last, last, chain.back());
    }
    add_mix(model, "end", 0, chain.back(), chain.back(), to);
    model.require(to);
    EXPECT_EQ(model.memory(first).peak(), 2 * block);
    EXPECT_EQ(model.memory(first).transient, 10 * block);
    for (int iteration = 0; iteration < 3; ++iteration) {
      model.submit();
      if (!has_limit) graph.wait();  // iterations that overlap may have memory of their own
    }
    graph.wait();
    double expected = 3;
    for (int k = 0; k < 11; ++k) expected = expected / 3 + 2 * expected + 1;
    EXPECT_EQ(at(y, n - 1), expected);
    FieldPoolCounts const counts = model.pool().counts(first);
    EXPECT_EQ(counts.most_live, 2 * block);
    EXPECT_EQ(counts.allocated, 2U);
    EXPECT_EQ(counts.live, 0U);
    EXPECT_EQ(model.pool().counts(host).most_live, 0U);
    model.pool().trim();
    EXPECT_EQ(model.pool().counts().idle, 0U);
  }
}

TEST_P(FieldsOnSimulated, AFieldIsWhereItIsComputed) {
  TaskGraph graph(with_workers(2));
  FieldTarget const first = target<Simulated>(0), second = target<Simulated>(1);
  FieldGraph model(graph, {.targets = {host, first, second}});
  DeviceValues const x("x", n), y(Kokkos::view_alloc("y", SimulatedSpace(1)), n);
  F const a = model.bind("x", x, first), b = model.bind("y", y, second);
  F const q = model.field<double*, Kokkos::LayoutRight>("q", n);
  F const r = model.field<double*, Kokkos::LayoutRight>("r", n);
  add_mix(model, "q", 0, a, a, q);
  add_mix(model, "r", 1, b, b, r);
  model.require(q);
  model.require(r);
  model.submit();
  graph.wait();
  EXPECT_EQ(model.pool().counts(first).live, block);
  EXPECT_EQ(model.pool().counts(second).live, block);
  EXPECT_THAT(message_of([&] { static_cast<void>(model.host_view(q)); }),
              HasSubstr("not on the host"));
  // Who needs it elsewhere gets a copy.
  F const s = model.field<double*, Kokkos::LayoutRight>("s", n);
  add_mix(model, "s", 1, q, r, s);
  model.require(s);
  model.submit();
  graph.wait();
  EXPECT_EQ(model.pool().counts(first).live, block);
  EXPECT_EQ(model.pool().counts(second).live, 2 * block);
  EXPECT_EQ(model.pool().counts(second).most_live, 3 * block);
}

TEST_P(FieldsOnSimulated, AFailureOfTheDeviceLeaksNothing) {
  TaskGraph graph(with_workers(2));
  FieldTarget const first = target<Simulated>(0);
  auto const pool = std::make_shared<FieldPool>();
  {
    FieldGraph model(graph, {.targets = {first}, .pool = pool});
    DeviceValues const y("y", n);
    F const q = model.field<double*, Kokkos::LayoutRight>("q", n), to = model.bind("y", y, first);
    parallel_for(
        "q", ResourcePolicy(model, n, write(q), on<Simulated>),
        KOKKOS_LAMBDA(int k, F::view const& v) {
          if (k == 3) throw std::runtime_error("here");
          v(k) = k;
        });
    add_mix(model, "y", 0, q, q, to);
    model.require(to);
    for (int iteration = 0; iteration < 3; ++iteration) model.submit();
    EXPECT_THAT(message_of([&] { graph.wait(); }), HasSubstr("here"));
    EXPECT_EQ(pool->counts().live, 0U);
    Simulated::device(0).reset();
  }
  pool->trim();
  EXPECT_EQ(pool->counts().idle, 0U);
}

/// Several streams hand memory to each other; the values are those of a plain loop.
TEST_P(FieldsOnSimulated, RandomModelsAreWhatAPlainLoopIs) {
  Watchdog const watchdog(std::chrono::seconds(200), "FieldsOnSimulated.RandomModels");
  std::uint64_t reused = 0;
  for (std::uint64_t const seed : random_program::seeds(1, sanitized ? 10 : 30)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    TaskGraph graph(shaken(static_cast<int>(pick(random, 1, 3)), seed));
    FieldTarget const first = target<Simulated>(0);
    std::size_t const steps = pick(random, 4, 20);
    std::vector<std::array<std::size_t, 2>> reads;
    for (std::size_t k = 0; k < steps; ++k) {
      std::size_t const least = k > 4 ? k - 4 : 0;  // fields 0 is the root
      reads.push_back({pick(random, least, k), pick(random, least, k)});
    }
    bool const has_limit = pick(random, 0, 1) == 0;
    DeviceValues const x("x", n), y("y", n);
    auto const build = [&](FieldGraph& model) {
      std::vector<F> fields{model.bind("x", x, first)};
      for (std::size_t k = 0; k < steps; ++k)
        fields.push_back(
            k + 1 == steps ? model.bind("y", y, first)
                           : model.field<double*, Kokkos::LayoutRight>("q" + std::to_string(k), n));
      for (std::size_t k = steps; k-- > 0;)
        add_mix(model, "step", 0, fields[reads[k][0]], fields[reads[k][1]], fields[k + 1]);
      model.require(fields.back());
    };
    FieldGraphOptions options{.targets = {first}};
    if (has_limit) {
      FieldGraph probe(graph, options);
      build(probe);
      options.memory_limit = probe.memory(first).peak();
    }
    FieldGraph model(graph, options);
    build(model);
    double root = static_cast<double>(pick(random, 0, 100)), expected = 0;
    Kokkos::deep_copy(x, root);
    for (int iteration = 0; iteration < 4; ++iteration) {
      model.submit();
      parallel_for(
          "advance", ResourcePolicy(graph, n, read(y), read_write(x), on<Simulated>),
          KOKKOS_LAMBDA(int k) { x(k) = x(k) / 2 + y(k) / 64; });
      std::vector<double> values{root};
      for (std::size_t k = 0; k < steps; ++k)
        values.push_back(values[reads[k][0]] / 3 + 2 * values[reads[k][1]] + 1);
      expected = values.back();
      root = root / 2 + expected / 64;
    }
    graph.wait();
    for (int k = 0; k < n; ++k) {
      ASSERT_EQ(at(y, k), expected);
      ASSERT_EQ(at(x, k), root);
    }
    FieldPoolCounts const counts = model.pool().counts(first);
    ASSERT_EQ(counts.live, 0U);
    if (has_limit) {
      ASSERT_LE(counts.most_held, *options.memory_limit);
    }
    reused += counts.reused;
  }
  EXPECT_GT(reused, 0U);
}

}  // namespace
}  // namespace trellis
