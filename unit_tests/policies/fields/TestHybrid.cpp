// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Placement by measured times, on devices in software: what links are measured, what is chosen when
// several places work side by side, and that nothing is sent where it has no room.
#include "DeviceFields.hpp"

#include <Kokkos_DualView.hpp>
#include <fields/impl/Trellis_PathCoalescing.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

namespace trellis {
namespace {

using namespace Test;
using testing::AllOf;
using testing::HasSubstr;
using HostKernels = Simulated::kernel_space;
using Kind = SimulatedRecord::Kind;

/// to = 1 + from; the host spends so many nanoseconds on it.
struct Increase {
  std::int64_t costs = 0;
  KOKKOS_FUNCTION void operator()(int k, F::read_view const& from, F::view const& to) const {
    if (k == 0 && costs > 0) Simulated::clock().spend(costs);
    to(k) = from(k) + 1;
  }
};
void increase(FieldGraph& model, std::string label, F const& from, F const& to,
              std::int64_t on_host = 100) {
  parallel_for(
      Label(std::move(label)),
      ResourcePolicy(model, static_cast<int>(to.extent(0)), read(from), write(to)),
      variants(for_space<HostKernels>(Increase{on_host}), for_space<Simulated>(Increase{})));
}

bool is_probe(SimulatedRecord const& record) {
  return record.name.starts_with("probe");
}
/// An iteration, and its end. Virtual time is the same in each run when one thread does all, and it
/// does where the main thread submits inside of its wait.
void run_iteration(FieldGraph& model) {
  if (all_is_serial())
    model.submit();
  else
    host_task("iteration", ResourcePolicy(model.graph(), main_thread), [&] { model.submit(); });
  model.graph().wait();
}
std::map<std::string, FieldTarget> assignment_of(FieldGraph const& model) {
  std::map<std::string, FieldTarget> all;
  for (auto const& [label, where] : model.assignment()) all.emplace(label, where);
  return all;
}

class Hybrid : public testing::Test {
 protected:
  static void use(SimulatedDeviceOptions options, int devices = 1) {
    options.virtual_time = true;
    options.concurrent_kernels = 1;
    Simulated::configure(options, devices);
  }
  void TearDown() override { Simulated::configure({}); }
};

// --- links ---------------------------------------------------------------------------------------

/// Asks for copies, and notes what they took.
class Probing final : public PlacementPolicy {
 public:
  explicit Probing(std::vector<TransferProbe> asked) : m_asked(std::move(asked)) {}
  [[nodiscard]] std::string_view name() const override { return "probing"; }
  void prepare(PlacementGraph const& graph, std::span<int> places) override {
    for (std::size_t k = 0; k < places.size(); ++k) places[k] = graph.tasks[k].eligible.back();
  }
  [[nodiscard]] std::vector<TransferProbe> probes() const override { return m_asked; }
  [[nodiscard]] bool wants_times() const override { return true; }
  void copied(TransferTime const& time) override {
    std::lock_guard const lock(m_mutex);
    (time.is_probe ? probed : others).push_back(time);
  }
  void ran(PlacementTime const& time) override {
    std::lock_guard const lock(m_mutex);
    times.push_back(time);
  }
  std::vector<TransferTime> probed, others;
  std::vector<PlacementTime> times;

 private:
  std::vector<TransferProbe> const m_asked;
  std::mutex m_mutex;
};

TEST_F(Hybrid, AProbeTakesWhatTheLinkIsMadeToTake) {
  if (all_is_serial()) GTEST_SKIP() << "nothing runs on a device";
  for (std::int64_t const launch : {0, 1000}) {
    use({.launch_latency = launch, .kernel_units = 10, .link_bytes_per_ns = 2, .link_latency = 100},
        2);
    auto const probing = std::make_shared<Probing>(std::vector<TransferProbe>{
        {0, 1, 8}, {0, 1, 6400}, {1, 0, 8}, {1, 0, 6400}, {1, 2, 64}, {2, 1, 640}});
    TaskGraph graph(one_lane());
    FieldGraph model(graph, {.targets = {host, gpu(0), gpu(1)}, .placement = probing});
    Values const x("x", n), y("y", n);
    F const from = model.bind("x", x), to = model.bind("y", y);
    increase(model, "y", from, to);
    model.require(to);
    constexpr int iterations = 3;
    for (int iteration = 0; iteration < iterations; ++iteration) model.submit();  // without a wait
    graph.wait();
    EXPECT_EQ(y(n - 1), 1);
    ASSERT_EQ(probing->probed.size(), 6U * iterations);
    for (std::size_t k = 0; k < probing->probed.size(); ++k) {
      TransferTime const& time = probing->probed[k];
      EXPECT_FALSE(time.is_lost);
      EXPECT_EQ(time.nanoseconds, 100 + static_cast<std::int64_t>(time.bytes) / 2);
    }
    // What two sizes tell of a link: 100 ns, and 2 bytes in each.
    Impl::TransferCosts costs;
    for (TransferTime const& time : probing->probed)
      costs.add(time.from, time.to, time.bytes, time.nanoseconds);
    for (auto const& [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
      EXPECT_DOUBLE_EQ(costs.cost(from, to, 0), 100);
      EXPECT_DOUBLE_EQ(costs.cost(from, to, 1'000'000), 100 + 500'000);
    }
    EXPECT_EQ(probing->others.size(), 2U * iterations);
    // Each had all links for itself, also beside iterations that were in flight.
    std::vector<SimulatedRecord> all;
    for (int number : {0, 1})
      for (SimulatedRecord const& record : copies_of(number)) all.push_back(record);
    for (SimulatedRecord const& one : all)
      for (SimulatedRecord const& other : all)
        if (is_probe(one) && one.order != other.order)
          EXPECT_TRUE(one.end <= other.begin || other.end <= one.begin)
              << one.name << " and " << other.name;
    EXPECT_EQ(model.pool().counts().live, 0U);
  }
}

/// Tasks that nothing orders, which a device runs one after the other from several streams: none
/// has the time of another one as well.
TEST_F(Hybrid, ATaskIsMeasuredAlone) {
  if (all_is_serial()) GTEST_SKIP() << "nothing runs on a device";
  for (int const at_a_time : {1, 3}) {
    Simulated::configure(
        {.virtual_time = true, .kernel_units = 10, .concurrent_kernels = at_a_time}, 2);
    auto const probing = std::make_shared<Probing>(std::vector<TransferProbe>());
    TaskGraph graph(one_lane());
    FieldGraph model(graph, {.targets = {host, gpu(0), gpu(1)}, .placement = probing});
    F const x = model.bind("x", Values("x", n)), y = model.bind("y", Values("y", n));
    std::vector<F> made;
    for (int k = 0; k < 4; ++k) {
      made.push_back(make_field(model, "q" + std::to_string(k)));
      increase(model, made.back().label(), x, made.back());
    }
    // It needs all of them, so none has the memory of another one, and would wait for that.
    parallel_for("y", ResourcePolicy(model, n, read(made), write(y), on<Simulated>, device(1)),
                 [](int k, In in, F::view const& to) { to(k) = in[0](k) + in[3](k); });
    model.require(y);
    for (int iteration = 0; iteration < 3; ++iteration) model.submit();
    graph.wait();
    ASSERT_EQ(probing->times.size(), 15U);
    for (PlacementTime const& time : probing->times) EXPECT_EQ(time.nanoseconds, 10);
  }
}

TEST_F(Hybrid, ACopyThatCannotBeMadeIsAnError) {
  if (all_is_serial()) GTEST_SKIP() << "nothing runs on a device";
  use({});
  TaskGraph graph(with_workers(1));
  for (TransferProbe const& probe : {TransferProbe{0, 2, 8}, {1, 1, 8}, {0, 1, 0}}) {
    FieldGraph model(graph, {.targets = {host, gpu()},
                             .placement = std::make_shared<Probing>(std::vector{probe})});
    F const x = model.bind("x", Values("x", n)), y = model.bind("y", Values("y", n));
    increase(model, "y", x, y);
    model.require(y);
    EXPECT_THAT(message_of([&] { model.submit(); }),
                AllOf(HasSubstr("\"probing\""), HasSubstr("a copy that cannot be made")));
  }
}

/// Fields of one size alone: two sizes of copies, there and back, each twice, and none when the
/// places are fixed. Nor in models where nobody measures, or nothing is to be chosen.
TEST_F(Hybrid, LinksAreMeasuredWhileTasksAre) {
  if (all_is_serial()) GTEST_SKIP() << "nothing runs on a device";
  use({.kernel_units = 10, .link_bytes_per_ns = 2, .link_latency = 20});
  TaskGraph graph(one_lane());
  for (bool const has_choice : {true, false}) {
    for (auto const& placement : {make_hybrid_placement(), make_order_placement()}) {
      SCOPED_TRACE(std::string(placement->name()));
      Simulated::device().clear_log();
      FieldGraph model(graph, {.targets = {host, gpu()}, .placement = placement});
      F const x = model.bind("x", Values("x", n)), y = model.bind("y", Values("y", n));
      if (has_choice)
        increase(model, "y", x, y);
      else
        parallel_for("y", ResourcePolicy(model, n, read(x), write(y), on<Simulated>), Increase{});
      model.require(y);
      for (int iteration = 0; iteration < 8; ++iteration) {
        run_iteration(model);
      }
      std::map<std::string, int> probes;
      std::uint64_t last_probe = 0;
      for (SimulatedRecord const& record : copies_of(0)) {
        if (!is_probe(record)) continue;
        ++probes[record.name];
        last_probe = record.order;
        EXPECT_EQ(record.end - record.begin, 20 + (record.bytes == 8 ? 4 : 32));
      }
      if (!has_choice || placement->name() != "hybrid") {
        EXPECT_TRUE(probes.empty());
        continue;
      }
      std::map<std::string, int> const expected{{"probe: 8 bytes from Host to Simulated 0", 2},
                                                {"probe: 64 bytes from Host to Simulated 0", 2},
                                                {"probe: 8 bytes from Simulated 0 to Host", 2},
                                                {"probe: 64 bytes from Simulated 0 to Host", 2}};
      EXPECT_EQ(probes, expected);
      // A task of 100 against 10 and two copies of 52.
      EXPECT_EQ(assignment_of(model).at("y"), FieldTarget(host));
      model.invalidate();
      run_iteration(model);
      auto const copies = copies_of(0);
      EXPECT_TRUE(std::any_of(copies.begin(), copies.end(), [&](auto const& record) {
        return is_probe(record) && record.order > last_probe;
      })) << "what has been measured holds no more";
    }
  }
}

/// Copies that no iteration before the decision makes: between two devices of different kinds.
TEST_F(Hybrid, ALinkIsKnownThatNoIterationHasUsed) {
  if (all_is_serial()) GTEST_SKIP() << "nothing runs on a device";
  // On device 0 an iteration takes 10 + 2 * 40 + 10, on device 1 300 + 2 * 20 + 300.
  Simulated::configure_each(
      {{.virtual_time = true, .kernel_units = 40, .concurrent_kernels = 1, .link_latency = 10},
       {.units_per_ns = 2, .kernel_units = 40, .concurrent_kernels = 1, .link_latency = 300}});
  TaskGraph graph(one_lane());
  FieldGraph model(graph,
                   {.targets = {host, gpu(0), gpu(1)}, .placement = make_hybrid_placement()});
  F const x = model.bind("x", Values("x", n)), y = model.bind("y", Values("y", n));
  F const q = make_field(model, "q");
  increase(model, "q", x, q, 1000);
  increase(model, "y", q, y, 1000);
  model.require(y);
  for (int iteration = 0; iteration < 7; ++iteration) {
    run_iteration(model);
  }
  for (auto const& [label, where] : assignment_of(model)) EXPECT_EQ(where, gpu(0)) << label;
  int between = 0;
  for (int number : {0, 1})
    for (SimulatedRecord const& record : copies_of(number))
      if (record.name == "probe: 64 bytes from Simulated 0 to Simulated 1" ||
          record.name == "probe: 64 bytes from Simulated 1 to Simulated 0") {
        ++between;
        EXPECT_EQ(record.end - record.begin, number == 0 ? 10 : 300) << "by who gets it";
      }
  EXPECT_EQ(between, 4);
}

// --- side by side --------------------------------------------------------------------------------

/// Two tasks that nothing orders, 110 and 100 on the host, 90 on the device: the least work puts
/// both there, and takes 180.
TEST_F(Hybrid, WhatRunsSideBySideIsSplit) {
  if (all_is_serial()) GTEST_SKIP() << "all is on the host";
  use({.kernel_units = 90});
  TaskGraph graph(one_lane());
  FieldGraph model(graph, {.targets = {host, gpu()}, .placement = make_hybrid_placement()});
  F const x = model.bind("x", Values("x", n));
  Values const a("a", n), b("b", n);
  F const to_a = model.bind("a", a), to_b = model.bind("b", b);
  increase(model, "a", x, to_a, 110);
  increase(model, "b", x, to_b, 100);
  model.require(to_a);
  model.require(to_b);
  std::int64_t takes = 0;
  for (int iteration = 0; iteration < 8; ++iteration) {
    std::int64_t const begin = Simulated::clock().now();
    run_iteration(model);
    takes = Simulated::clock().now() - begin;
  }
  auto const where = assignment_of(model);
  EXPECT_EQ(where.at("a"), gpu());
  EXPECT_EQ(where.at("b"), FieldTarget(host));
  EXPECT_EQ(takes, 100);
  EXPECT_EQ(a(n - 1), 1);
  EXPECT_EQ(b(n - 1), 1);
}

// --- memory --------------------------------------------------------------------------------------

constexpr int wide = 32;  ///< elements, of as many bytes as a device rounds to
constexpr std::size_t wide_block = wide * sizeof(double);
F make_wide(FieldGraph& model, std::string name) {
  return model.field<double*, Kokkos::LayoutRight>(Label(std::move(name)), wide);
}

/// Chains on the device take two blocks there. With room for two all of it is there, else nothing:
/// not while it measures, and not in the end.
TEST_F(Hybrid, WhatADeviceHasIsALimit) {
  for (std::size_t const blocks : {1U, 2U, 3U}) {
    SCOPED_TRACE(blocks);
    use({.kernel_units = 10, .link_latency = 45, .memory = blocks * wide_block});
    TaskGraph graph(one_lane());
    FieldGraph model(graph, {.targets = {host, gpu()}, .placement = make_hybrid_placement()});
    Values const x("x", wide), y("y", wide);
    F const from = model.bind("x", x), to = model.bind("y", y);
    F const q = make_wide(model, "q"), r = make_wide(model, "r");
    increase(model, "q", from, q);
    increase(model, "r", q, r);
    increase(model, "y", r, to);
    model.require(to);
    for (int iteration = 0; iteration < 10; ++iteration) {
      Kokkos::deep_copy(x, iteration);
      run_iteration(model);
      ASSERT_EQ(y(wide - 1), iteration + 3);
    }
    bool const is_there = blocks >= 2 && !all_is_serial();
    for (auto const& [label, where] : assignment_of(model))
      EXPECT_EQ(where, is_there ? gpu() : FieldTarget(host)) << label;
    EXPECT_LE(Simulated::device().most_live_bytes(), blocks * wide_block);
    int launches = 0;
    for (SimulatedRecord const& record : Simulated::device().log())
      if (record.kind == Kind::launch) ++launches;
    EXPECT_EQ(launches, is_there ? 3 * (2 + 6) : 0)
        << "two iterations measure, after two of the host";
  }
}

/// Half of the tasks have room on the device, and only those are sent there to be measured.
TEST_F(Hybrid, TasksAreMeasuredInAsManyIterationsAsTheirMemoryNeeds) {
  if (all_is_serial()) GTEST_SKIP() << "nothing runs on a device";
  // Three independent tasks, each with a copy of its own of what it reads: two blocks each; an
  // iteration has room for all, one after the other, on the device, or on the host.
  use({.kernel_units = 10, .link_latency = 5});
  TaskGraph graph(one_lane());
  FieldGraph model(
      graph,
      {.targets = {host, gpu()}, .memory_limit = 3 * block, .placement = make_hybrid_placement()});
  std::vector<Values> results;
  std::vector<F> made;
  for (int k = 0; k < 3; ++k) {
    std::string const number = std::to_string(k);
    F const x = model.bind("x" + number, Values("x", n));
    made.push_back(make_field(model, "q" + number));
    increase(model, "q" + number, x, made.back(), 100);
  }
  results.emplace_back("y", n);
  F const y = model.bind("y", results[0]);
  // It needs three on the host, or four on the device, which has no room for them.
  parallel_for("y", ResourcePolicy(model, n, read(made), write(y)),
               variants(for_space<HostKernels>([](int k, In in, F::view const& to) {
                          if (k == 0) Simulated::clock().spend(100);
                          to(k) = in[0](k) + in[1](k) + in[2](k);
                        }),
                        for_space<Simulated>([](int k, In in, F::view const& to) {
                          to(k) = in[0](k) + in[1](k) + in[2](k);
                        })));
  model.require(y);
  std::set<std::string> launched;
  for (int iteration = 0; iteration < 12; ++iteration) {
    run_iteration(model);
    ASSERT_EQ(results[0](n - 1), 3);
  }
  for (SimulatedRecord const& record : Simulated::device().log())
    if (record.kind == Kind::launch) launched.insert(record.name);
  EXPECT_THAT(launched, testing::ElementsAre("q0", "q1", "q2"));
  EXPECT_EQ(assignment_of(model).at("y"), FieldTarget(host));
  for (FieldTarget const& each : {FieldTarget(host), gpu()})
    EXPECT_LE(model.pool().counts(each).most_held, 3 * block);
}

/// What is bound is on the device, and the host has no room for copies of it.
TEST_F(Hybrid, TheHostMayBeTooSmallToo) {
  if (all_is_serial()) GTEST_SKIP() << "all is on the host";
  use({.kernel_units = 1000});
  TaskGraph graph(one_lane());
  for (std::size_t const blocks : {2U, 1U, 0U}) {
    SCOPED_TRACE(blocks);
    FieldGraph model(graph, {.name = "tight",
                             .targets = {host, gpu()},
                             .memory_limit = blocks * block,
                             .placement = make_hybrid_placement()});
    DeviceValues const x("x", n), y("y", n);
    F const from = model.bind("x", x, gpu()), to = model.bind("y", y, gpu());
    F const q = make_field(model, "q");
    increase(model, "q", from, q, 1);
    increase(model, "y", q, to, 1);
    model.require(to);
    if (blocks == 0) {
      EXPECT_THAT(message_of([&] { model.submit(); }),
                  AllOf(HasSubstr("\"tight\" has no room for the field \"x at Host\""),
                        HasSubstr("it needs 64 bytes at Host"),
                        HasSubstr("of the limit of 0 bytes 0 are available")));
      continue;
    }
    for (int iteration = 0; iteration < 6; ++iteration) {
      run_iteration(model);
    }
    EXPECT_EQ(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y)(n - 1), 2);
    for (auto const& [label, where] : assignment_of(model))
      EXPECT_EQ(where, blocks == 1 ? gpu() : FieldTarget(host)) << label;
    EXPECT_LE(model.pool().counts().most_held, 2 * blocks * block);
  }
}

/// A field that is there between iterations takes room from what was decided.
TEST_F(Hybrid, WhatHasBeenDecidedIsGivenUpWhereItDoesNotFitAnyMore) {
  if (all_is_serial()) GTEST_SKIP() << "all is on the host";
  use({.kernel_units = 10, .memory = 2 * wide_block});
  TaskGraph graph(one_lane());
  FieldGraph model(graph, {.targets = {gpu(), host}, .placement = make_hybrid_placement()});
  Values const x("x", wide), y("y", wide);
  F const from = model.bind("x", x), to = model.bind("y", y), q = make_wide(model, "q");
  increase(model, "q", from, q);
  increase(model, "y", q, to);
  model.require(to);
  auto const run = [&](int iterations, FieldTarget const& where) {
    for (int iteration = 0; iteration < iterations; ++iteration) {
      run_iteration(model);
      ASSERT_EQ(y(wide - 1), 2);
    }
    for (auto const& [label, place] : assignment_of(model)) EXPECT_EQ(place, where) << label;
  };
  run(7, gpu());
  F const other = make_wide(model, "other");  // at the first target
  model.store(other, FieldStorage::persistent);
  run(1, host);
  model.store(other, FieldStorage::transient);
  run(1, host);
  model.invalidate();
  run(7, gpu());
  EXPECT_LE(Simulated::device().most_live_bytes(), 2 * wide_block);
}

// --- what a policy sees --------------------------------------------------------------------------

class Looking final : public PlacementPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "looking"; }
  void prepare(PlacementGraph const& graph, std::span<int>) override { seen = graph; }
  PlacementGraph seen;
};

TEST_F(Hybrid, APolicySeesLanesRoomAndWhatIsUpToDate) {
  if (all_is_serial()) GTEST_SKIP() << "no policy is asked";
  use({.memory = 6 * wide_block}, 2);
  auto const looking = std::make_shared<Looking>();
  TaskGraph graph(with_workers(2));
  using Dual = Kokkos::DualView<double*, Kokkos::LayoutRight, Simulated>;
  Dual x("x", wide);  // takes some of what the first device has
  std::size_t const left = 6 * wide_block - Simulated::device(0).live_bytes();
  ASSERT_LE(left, 5 * wide_block);
  FieldGraph model(graph, {.targets = {host, gpu(0), gpu(1)},
                           .memory_limit = 5 * wide_block + 8,
                           .placement = looking});
  F const from = model.bind("x", x), kept = make_wide(model, "kept"), y = make_wide(model, "y");
  parallel_for("y",
               ResourcePolicy(model, wide, read(from), write(y), runs_on<HostKernels, Simulated>),
               Increase{});
  parallel_for("half",
               ResourcePolicy(model, wide / 2, read(y), on<HostKernels>,
                              write(subfield(kept, Kokkos::pair(0, wide / 2)))),
               [](int k, F::read_view const& in, F::view const& out) { out(k) = in(k); });
  model.store(kept, FieldStorage::persistent);
  model.require(kept);
  x.modify_device();
  auto const look = [&]() -> PlacementGraph const& {
    model.submit();
    graph.wait();
    return looking->seen;
  };
  PlacementGraph const first = look();
  ASSERT_EQ(first.targets.size(), 3U);
  EXPECT_TRUE(first.targets[0].is_host);
  EXPECT_EQ(first.targets[0].lanes, 2);
  EXPECT_EQ(first.targets[1].lanes, 1);
  EXPECT_EQ(first.targets[1].group, first.targets[2].group) << "they can wait for each other";
  EXPECT_EQ(first.targets[0].room, 4 * wide_block + 8) << "without what is kept";
  EXPECT_EQ(first.targets[1].room, left);
  EXPECT_EQ(first.targets[2].room, 5 * wide_block + 8);
  ASSERT_EQ(first.fields.size(), 3U);  // x, y, kept
  EXPECT_EQ(first.fields[0].home, 0);
  EXPECT_EQ(first.fields[0].second_home, 1);
  EXPECT_FALSE(first.fields[0].is_valid_at_home);
  EXPECT_TRUE(first.fields[0].is_valid_at_second);
  EXPECT_EQ(first.fields[1].home, -1);
  EXPECT_TRUE(first.fields[1].is_covered);
  EXPECT_EQ(first.fields[2].home, 0);
  EXPECT_FALSE(first.fields[2].is_covered);
  // The host's side is up to date now, as the task runs there.
  PlacementGraph const second = look();
  EXPECT_TRUE(second.fields[0].is_valid_at_home);
  EXPECT_NE(second.version, first.version);
  PlacementGraph const third = look();
  EXPECT_EQ(third.version, second.version);
  graph.set_threads(1, 1);
  EXPECT_EQ(look().targets[0].lanes, 1);
}

}  // namespace
}  // namespace trellis
