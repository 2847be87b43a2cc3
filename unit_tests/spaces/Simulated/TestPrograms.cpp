// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whole programs of typed tasks on simulated devices: what the devices are asked, and what comes
// out.
#include "Devices.hpp"

#include <Simulated/Trellis_SpaceSimulated.hpp>
#include <Trellis.hpp>
#include <Trellis_Scheduling.hpp>

#include <algorithm>
#include <random>

namespace trellis::Test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using DeviceValues = Kokkos::View<long*, SimulatedSpace>;
using HostValues = Kokkos::View<long*, Kokkos::HostSpace>;

TaskGraphOptions workers(int count) {
  TaskGraphOptions options;
  options.workers = count;
  return options;
}

class Programs : public EitherTime {
 protected:
  void SetUp() override { configure({}); }
  void TearDown() override { Simulated::configure({}); }
  static void configure(SimulatedDeviceOptions options, int count = 1) {
    options.virtual_time = is_virtual();
    Simulated::configure(options, count);
  }
};
INSTANTIATE_TEST_SUITE_P(Time, Programs, testing::Bool(), name_of_time);

std::size_t count_of(SimulatedDevice const& device, Kind kind) {
  return texts(device, {kind}).size();
}

// --- what the device is asked

TEST_P(Programs, AChainIsOneStreamAndNothingElse) {
  DeviceValues const x("x", 10);
  SimulatedDevice& device = Simulated::device();
  Gate gate;
  bool const gated = !is_virtual();
  std::size_t launched = 0;
  {
    TaskGraph graph(workers(1));
    device.clear_log();
    space_task("gate", ResourcePolicy(graph, write(x), on<Simulated>),
               [&gate, gated](Simulated::kernel_space const&) {
                 if (gated) gate.pass();
               });
    for (int k = 0; k < 20; ++k)
      parallel_for(
          "link", ResourcePolicy(graph, 10, read_write(x), on<Simulated>),
          KOKKOS_LAMBDA(int i) { x(i) += i; });
    launched = count_of(device, Kind::launch);  // while the device is busy with the first one
    gate.open();
    graph.wait();
  }
  EXPECT_EQ(launched, 21u) << "a launch waited for the device";
  EXPECT_EQ(count_of(device, Kind::make_stream), 1u);
  EXPECT_EQ(count_of(device, Kind::wait_event), 0u);
  for (SimulatedRecord const& record : device.log()) {
    EXPECT_FALSE(record.blocks_the_host());
    if (record.kind == Kind::launch) {
      EXPECT_EQ(record.stream, 0);
    }
  }
}

struct Increment {
  DeviceValues x;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) += 1; }
};

TEST_P(Programs, MemoryIsFreedWhenNothingRuns) {
  configure({.kernel_units = is_virtual() ? 1000. : 0});
  DeviceValues const x("x", 10);
  SimulatedDevice& device = Simulated::device();
  TaskGraph graph(workers(1));
  Gate gate;
  bool const gated = !is_virtual();
  space_task("long", ResourcePolicy(graph, write(x), on<Simulated>),
             [&gate, gated](Simulated::kernel_space const&) {
               if (gated) gate.pass();
             });
  Future<void> last;
  for (int k = 0; k < 5; ++k) {
    DeviceValues const dropped("dropped", 10);
    last = parallel_for("short", ResourcePolicy(graph, 10, write(dropped), on<Simulated>),
                        Increment{dropped});
  }
  device.clear_log();
  last.wait();
  if (gated) {
    EXPECT_EQ(count_of(device, Kind::deallocate), 0u) << "while the other stream is busy";
  }
  gate.open();
  graph.wait();
  EXPECT_EQ(count_of(device, Kind::deallocate), 5u);
}

TEST_P(Programs, MemoryIsFreedEarlierWhereItIsMuch) {
  DeviceValues const x("x", 10);
  SimulatedDevice& device = Simulated::device();
  TaskGraph graph(workers(1));
  Gate gate;
  bool const gated = !is_virtual();
  if (!gated) return;  // there the host's wait ends the other task
  space_task("long", ResourcePolicy(graph, write(x), on<Simulated>),
             [&gate](Simulated::kernel_space const&) { gate.pass(); });
  device.clear_log();
  for (int k = 0; k < 5; ++k) {
    DeviceValues const dropped(Kokkos::view_alloc(Kokkos::WithoutInitializing, "dropped"), 1 << 24);
    parallel_for("short", ResourcePolicy(graph, 10, write(dropped), on<Simulated>),
                 Increment{dropped})
        .wait();
  }
  EXPECT_GE(count_of(device, Kind::deallocate), 4u);
  gate.open();
  graph.wait();
  EXPECT_EQ(count_of(device, Kind::deallocate), 5u);
}

TEST_P(Programs, AJoinWaitsForOneEventOfEachOtherStream) {
  DeviceValues const x("x", 10), y("y", 10), z("z", 10);
  SimulatedDevice& device = Simulated::device();
  Gate gate;
  bool const gated = !is_virtual();
  {
    TaskGraph graph(workers(1));
    device.clear_log();
    for (DeviceValues const* each : {&x, &y, &z}) {
      DeviceValues const view = *each;
      space_task("side", ResourcePolicy(graph, write(view), on<Simulated>),
                 [&gate, gated, view](Simulated::kernel_space const&) {
                   if (gated) gate.pass();
                   view(0) = 1;
                 });
    }
    parallel_for(
        "join", ResourcePolicy(graph, 1, read(x), read(y), read_write(z), on<Simulated>),
        KOKKOS_LAMBDA(int) { z(0) += x(0) + y(0); });
    gate.open();
    graph.wait();
    auto const sum = parallel_reduce(
        "sum", ResourcePolicy(graph, 1, read(z), on<Simulated>),
        KOKKOS_LAMBDA(int i, long& s) { s += z(i); });
    EXPECT_EQ(sum.get(), 3);
  }
  if (is_virtual()) return;  // each side is done before the next one is launched: it costs nothing
  EXPECT_EQ(count_of(device, Kind::make_stream), 3u);
  EXPECT_EQ(count_of(device, Kind::wait_event), 2u);
}

TEST_P(Programs, DevicesWaitForEachOtherWithoutTheHost) {
  configure({.kernel_units = is_virtual() ? 1000. : 0}, 2);
  DeviceValues const x("x", 10);
  SimulatedDevice& one = Simulated::device(1);
  {
    TaskGraph graph(workers(1));
    one.clear_log();
    parallel_for(
        "first", ResourcePolicy(graph, 10, write(x), on<Simulated>, device(0)),
        KOKKOS_LAMBDA(int i) { x(i) = i; });
    parallel_for(
        "second", ResourcePolicy(graph, 10, read_write(x), on<Simulated>, device(1)),
        KOKKOS_LAMBDA(int i) { x(i) *= 2; });
    auto const last = parallel_reduce(
        "last", ResourcePolicy(graph, 10, read(x), on<Simulated>, device(0)),
        KOKKOS_LAMBDA(int i, long& s) { s += x(i); });
    EXPECT_EQ(last.get(), 90);
  }
  EXPECT_THAT(texts(one, {Kind::launch}), ElementsAre(HasSubstr("\"second\"")));
  if (is_virtual()) {
    EXPECT_THAT(texts(one, {Kind::wait_event}), ElementsAre(HasSubstr("of device 0")));
    EXPECT_EQ(times(one, "second"), Times(1000, 2000));
    EXPECT_EQ(times(Simulated::device(0), "last"), Times(2000, 3000));
  }
}

TEST_P(Programs, APlanOfDeviceTasksIsAGraph) {
  SimulatedDevice& device = Simulated::device();
  DeviceValues const x("x", 8), y("y", 8);
  HostValues const out("out", 8);
  long expected = 0;
  {
    TaskGraph graph(workers(1));
    Future<long> sum;
    Plan const plan = graph.record([&] {
      parallel_for(
          "grow", ResourcePolicy(graph, 8, read_write(x), on<Simulated>),
          KOKKOS_LAMBDA(int i) { x(i) = (3 * x(i) + i) % 1000; });
      parallel_for(
          "copy", ResourcePolicy(graph, 8, read(x), write(y), on<Simulated>),
          KOKKOS_LAMBDA(int i) { y(i) = x(i); });
      deep_copy("out", graph, out, y);
      sum = parallel_reduce(
          "sum", ResourcePolicy(graph, 8, read(x), on<Simulated>),
          KOKKOS_LAMBDA(int i, long& s) { s += x(i); });
    });
    device.clear_log();
    graph.replay(plan, 10);
    long value[8] = {};
    for (int round = 0; round < 10; ++round)
      for (int i = 0; i < 8; ++i) value[i] = (3 * value[i] + i) % 1000;
    for (int i = 0; i < 8; ++i) expected += value[i];
    EXPECT_EQ(sum.get(), expected);
    graph.wait();
    for (int i = 0; i < 8; ++i) EXPECT_EQ(out(i), value[i]);
  }
  EXPECT_GE(count_of(device, Kind::launch_graph), 1u);
  for (SimulatedRecord const& record : device.log()) EXPECT_FALSE(record.blocks_the_host());
}

// --- what comes out

/// Random tasks on Views of the host and of two devices, against the same steps on plain arrays.
class RandomProgram {
 public:
  static constexpr std::size_t size = 10;
  static constexpr std::size_t views = 3;

  explicit RandomProgram(std::uint64_t seed) : m_random(seed) {
    for (std::size_t k = 0; k < views; ++k) {
      m_device.emplace_back(Kokkos::view_alloc("device", SimulatedSpace(static_cast<int>(k) % 2)),
                            size);
      m_host.emplace_back("host", size);
    }
    m_device_expected.resize(views, std::vector<long>(size, 0));
    m_host_expected = m_device_expected;
  }

  void step(TaskGraph& graph, int number) {
    std::size_t const from = pick(views), to = pick(views);
    std::size_t const first = pick(size), count = 1 + pick(size - first), at = pick(size);
    auto const range = std::pair(first, first + count);
    int const where = static_cast<int>(pick(2));
    auto const next = [number](long value, long add) {
      return (3 * value + add + number) % 1'000'003;
    };
    switch (pick(7)) {
      case 0: {
        auto const target = Kokkos::subview(m_host[to], range);
        auto const source = Kokkos::subview(m_host[from], at);
        change(m_host_expected, from, to, at, first, count, next);
        host_task("host", ResourcePolicy(graph, read(source), read_write(target)), [=] {
          long const add = source();
          for (std::size_t i = 0; i < target.extent(0); ++i) target(i) = next(target(i), add);
        });
        break;
      }
      case 1:
        for (std::size_t i = first; i < first + count; ++i)
          m_device_expected[to][i] = m_host_expected[from][i];
        deep_copy("in", graph, Kokkos::subview(m_device[to], range),
                  Kokkos::subview(m_host[from], range));
        break;
      case 2:
        for (std::size_t i = first; i < first + count; ++i)
          m_host_expected[to][i] = m_device_expected[from][i];
        deep_copy("out", graph, Kokkos::subview(m_host[to], range),
                  Kokkos::subview(m_device[from], range));
        break;
      case 3: {
        auto const source = Kokkos::subview(m_device[from], range);
        long sum = 0;
        for (std::size_t i = first; i < first + count; ++i) sum += m_device_expected[from][i];
        m_sums.emplace_back(parallel_reduce(
                                "sum",
                                ResourcePolicy(graph, static_cast<int>(count), read(source),
                                               on<Simulated>, device(where)),
                                KOKKOS_LAMBDA(int i, long& s) { s += source(i); }),
                            sum);
        break;
      }
      default: {
        auto const target = Kokkos::subview(m_device[to], range);
        auto const source = Kokkos::subview(m_device[from], at);
        change(m_device_expected, from, to, at, first, count, next);
        parallel_for(
            "kernel",
            ResourcePolicy(graph, 1, read(source), read_write(target), on<Simulated>,
                           device(where)),
            KOKKOS_LAMBDA(int) {
              long const add = source();
              for (std::size_t i = 0; i < target.extent(0); ++i) target(i) = next(target(i), add);
            });
      }
    }
  }

  /// The graph is idle.
  void check(TaskGraph& graph) const {
    for (std::size_t k = 0; k < views; ++k) {
      HostValues const copy("copy", size);
      deep_copy("check", graph, copy, m_device[k]).get();
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(copy(i), m_device_expected[k][i]);
        ASSERT_EQ(m_host[k](i), m_host_expected[k][i]);
      }
    }
    for (auto const& [future, sum] : m_sums) ASSERT_EQ(future.get(), sum);
  }

  bool once_in(std::size_t count) { return pick(count) == 0; }

 private:
  std::size_t pick(std::size_t count) { return m_random() % count; }
  template <class Next>
  static void change(std::vector<std::vector<long>>& all, std::size_t from, std::size_t to,
                     std::size_t at, std::size_t first, std::size_t count, Next const& next) {
    long const add = all[from][at];
    for (std::size_t i = first; i < first + count; ++i) all[to][i] = next(all[to][i], add);
  }

  std::mt19937_64 m_random;
  std::vector<DeviceValues> m_device;
  std::vector<HostValues> m_host;
  std::vector<std::vector<long>> m_device_expected, m_host_expected;
  std::vector<std::pair<Future<long>, long>> m_sums;
};

TEST_P(Programs, RandomOnesGiveWhatTheSerialOrderGives) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    double const cost = seed % 3 == 0 ? 0 : is_virtual() ? 500 : 2000;
    configure({.launch_latency = seed % 2 == 0 ? 100 : 0,
               .kernel_units = cost,
               .concurrent_kernels = static_cast<int>(seed % 4),
               .link_latency = static_cast<std::int64_t>(cost)},
              2);
    {
      RandomProgram program(seed);
      TaskGraphOptions options = workers(1 + static_cast<int>(seed % 3));
      options.streams = 1 + static_cast<int>(seed % 5);
      options.in_flight = seed % 5 == 0 ? 4 : 1000;
      options.record = seed % 7 == 0;
      if (seed % 2 == 0) options.policy = make_shake_policy(seed);
      TaskGraph graph(options);
      for (int k = 0; k < 100; ++k) {
        program.step(graph, k);
        if (program.once_in(40)) graph.wait();
      }
      graph.wait();
      program.check(graph);
    }
    if (HasFatalFailure()) return;
  }
}

/// The main thread does everything, while it waits: it submits the program, and runs it in the one
/// worker's place.
TEST(VirtualPrograms, TwoRunsGiveTheSameEvents) {
  auto const run = [](std::uint64_t seed) {
    Simulated::configure({.virtual_time = true,
                          .launch_latency = 100,
                          .start_overhead = 50,
                          .kernel_units = 700,
                          .link_latency = 300},
                         2);
    std::vector<std::string> all;
    {
      RandomProgram program(seed);
      TaskGraph graph(workers(1));
      host_task("program", ResourcePolicy(graph, main_thread), [&] {
        for (int k = 0; k < 100; ++k) program.step(graph, k);
      });
      graph.wait();
      for (int k : {0, 1})
        for (SimulatedRecord const& record : Simulated::device(k).log())
          if (record.kind == Kind::launch || record.kind == Kind::copy ||
              record.kind == Kind::wait_event)
            all.push_back(record.text() + ' ' + std::to_string(record.begin) + ' ' +
                          std::to_string(record.end));
      program.check(graph);
    }
    return all;
  };
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    auto const once = run(seed);
    for (int k = 0; k < 3; ++k) ASSERT_EQ(run(seed), once) << "seed " << seed;
  }
  Simulated::configure({});
}

}  // namespace
}  // namespace trellis::Test
