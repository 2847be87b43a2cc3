// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fields at several places: copies, what they cost in virtual time, and who says where tasks run.
#include "DeviceFields.hpp"

#include <Kokkos_DualView.hpp>

#include "Watchdog.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

namespace trellis {
namespace {

using namespace Test;
using testing::ElementsAre;
using testing::HasSubstr;
using HostSpace = Simulated::kernel_space;
using Kind = SimulatedRecord::Kind;
/// to = 1 + sum of the others; the host spends so many nanoseconds on it.
struct Add {
  std::int64_t costs = 0;
  KOKKOS_FUNCTION void operator()(int k, In in, F::view const& to) const {
    if (k == 0 && costs > 0) Simulated::clock().spend(costs);
    double sum = 1;
    for (F::read_view const& from : in) sum += from(k);
    to(k) = sum;
  }
};
constexpr std::int64_t on_host = 100;
auto add_everywhere() {
  return variants(for_space<HostSpace>(Add{on_host}), for_space<Simulated>(Add{}));
}
void add_anywhere(FieldGraph& model, std::string label, std::vector<F> const& in, F const& out) {
  parallel_for(Label(std::move(label)), ResourcePolicy(model, n, read(in), write(out)),
               add_everywhere());
}
void add_on_host(FieldGraph& model, std::string label, std::vector<F> const& in, F const& out) {
  parallel_for(Label(std::move(label)),
               ResourcePolicy(model, n, read(in), write(out), on<HostSpace>), Add{on_host});
}
void add_on_device(FieldGraph& model, std::string label, std::vector<F> const& in, F const& out,
                   int number = 0) {
  parallel_for(Label(std::move(label)),
               ResourcePolicy(model, n, read(in), write(out), on<Simulated>, device(number)),
               Add{});
}

SimulatedRecord record_of(int number, std::string const& name) {
  for (SimulatedRecord const& record : Simulated::device(number).log())
    if (record.name == name) return record;
  ADD_FAILURE() << "no record of " << name;
  return {};
}

class Places : public testing::Test {
 protected:
  /// In virtual time: a kernel takes 10, a copy 45.
  static void use(int devices, SimulatedDeviceOptions options = {}) {
    options.virtual_time = true;
    if (options.kernel_units == 0) options.kernel_units = 10;
    options.concurrent_kernels = 1;
    if (options.link_latency == 0) options.link_latency = 45;
    Simulated::configure(options, devices);
  }
  void TearDown() override { Simulated::configure({}); }
};

TEST_F(Places, AFieldIsCopiedOnceToEachPlaceThatNeedsIt) {
  use(4);
  TaskGraph graph(with_workers(2));
  FieldGraph model(graph, {.targets = {host, gpu(0), gpu(1), gpu(2), gpu(3)}});
  F const q = make_field(model, "q");
  add_on_device(model, "q", {}, q, 0);
  std::vector<F> results;
  auto const add = [&] {
    results.push_back(make_field(model, "r" + std::to_string(results.size())));
    model.require(results.back());
    return results.back();
  };
  for (int reader = 0; reader < 3; ++reader) {
    for (int device = 1; device < 4; ++device) add_on_device(model, "reads", {q}, add(), device);
    add_on_host(model, "reads", {q}, add());
  }
  EXPECT_EQ(model.memory(gpu(0)).transient, block);
  EXPECT_EQ(model.memory(gpu(1)).transient, block) << "one copy for three readers";
  EXPECT_EQ(model.memory(host).transient, block);
  for (int iteration = 1; iteration <= 2; ++iteration) {
    model.submit();
    graph.wait();
    std::size_t copies = 0;
    for (int device = 0; device < 4; ++device) copies += copies_of(device).size();
    EXPECT_EQ(copies, 4U * static_cast<std::size_t>(iteration)) << "none is used again";
    for (FieldTarget const& each : {FieldTarget(host), gpu(0), gpu(1)})
      EXPECT_EQ(model.pool().counts(each).live, model.memory(each).persistent);
  }
  EXPECT_EQ(copies_of(0).size(), 2U) << "a device brings to the host what it has";
  EXPECT_EQ(model.pool().counts(gpu(2)).most_live, 4 * block);
  EXPECT_EQ(model.host_view(results[3])(n - 1), 2);
}

TEST_F(Places, CopiesGoOutWhileOthersRun) {
  if (all_is_serial()) GTEST_SKIP() << "nothing overlaps";
  use(1, {.kernel_units = 100, .link_latency = 50});
  std::map<std::string, std::int64_t> begins;
  std::atomic<bool> is_last{false};
  {
    TaskGraph graph(one_lane());
    FieldGraph model(graph, {.targets = {host, gpu()}});
    F const d = make_field(model, "d"), e = make_field(model, "e"), f = make_field(model, "f"),
            c = make_field(model, "c"), b = make_field(model, "b");
    auto const add = [&](std::string const& name, std::vector<F> const& in, F const& out) {
      host_task(Label(name), ResourcePolicy(model, read(in), write(out)),
                [&begins, &is_last, name](In from, F::view const& to) {
                  begins[name] = Simulated::clock().now();
                  for (int k = 0; k < n; ++k) Add{k == 0 ? on_host : 0}(k, from, to);
                  if (name == "C") is_last = true;
                });
    };
    add("D", {}, d);
    add("E", {}, e);
    add("F", {}, f);
    add("C", {f}, c);
    add_on_device(model, "B", {d, e, c}, b);
    model.require(b);
    model.submit();
    // A thread in `wait()` would be a second lane while the worker launches a copy.
    while (!is_last) std::this_thread::yield();
    graph.wait();
    EXPECT_EQ(Simulated::clock().now(), 550);
  }
  SimulatedRecord const copy_d = record_of(0, "d to Simulated 0");
  EXPECT_EQ(begins["E"], 100);
  EXPECT_EQ(copy_d.begin, 100) << "on its way while E runs";
  EXPECT_EQ(copy_d.end, 150);
  EXPECT_EQ(record_of(0, "e to Simulated 0").begin, 200);
  EXPECT_EQ(record_of(0, "c to Simulated 0").begin, 400);
  EXPECT_EQ(record_of(0, "B").begin, 450);

  // The same by hand, without: all is copied when the last of it is there.
  use(1, {.kernel_units = 100, .link_latency = 50});
  {
    TaskGraph graph(one_lane());
    std::vector<Values> from;
    std::vector<DeviceValues> to;
    for (char const* const name : {"d", "e", "f", "c"}) {
      from.emplace_back(std::string(name), n);
      host_task(Label(name), ResourcePolicy(graph, write(from.back())),
                [] { Simulated::clock().spend(on_host); });
    }
    graph.wait();
    for (int k : {0, 1, 3}) {
      to.emplace_back("to", n);
      trellis::deep_copy(graph, to.back(), from[static_cast<std::size_t>(k)]);
    }
    DeviceValues const b("b", n);
    parallel_for(
        "B", ResourcePolicy(graph, n, read(to), write(b), on<Simulated>),
        KOKKOS_LAMBDA(int k) { b(k) = 1; });
    graph.wait();
    EXPECT_EQ(Simulated::clock().now(), 650);
  }
}

/// The model of the heat equation: three fluxes and their divergence.
struct Heat {
  Values const T{"T", n}, r{"r", n};
  FieldGraph model;
  enum class Where { anywhere, fluxes_on_device };
  Heat(TaskGraph& graph, std::vector<FieldTarget> targets,
       std::shared_ptr<PlacementPolicy> placement, Where where = Where::anywhere)
      : model(graph, {.targets = std::move(targets), .placement = std::move(placement)}) {
    F const from = model.bind("T", T), to = model.bind("r", r);
    std::vector<F> flux;
    for (char const* const name : {"x", "y", "z"}) {
      flux.push_back(make_field(model, name));
      if (where == Where::anywhere)
        add_anywhere(model, std::string("flux ") + name, {from}, flux.back());
      else
        add_on_device(model, std::string("flux ") + name, {from}, flux.back());
    }
    if (where == Where::anywhere)
      add_anywhere(model, "divergence", flux, to);
    else
      add_on_host(model, "divergence", flux, to);
    model.require(to);
  }
  /// What an iteration takes.
  std::int64_t iteration(double value) {
    Kokkos::deep_copy(T, value);
    Kokkos::deep_copy(r, -1);
    std::int64_t const begin = Simulated::clock().now();
    model.submit();
    model.graph().wait();
    for (int k = 0; k < n; ++k) EXPECT_EQ(r(k), 1 + 3 * (1 + value));
    return Simulated::clock().now() - begin;
  }
};

TEST_F(Places, TheHeatEquationTakesWhatIsExpected) {
  if (all_is_serial()) GTEST_SKIP() << "nothing overlaps";
  use(1);
  {
    TaskGraph graph(one_lane());
    Heat heat(graph, {host, gpu()}, make_host_placement());
    EXPECT_EQ(heat.iteration(1), 400);
    EXPECT_TRUE(copies_of(0).empty());
  }
  {
    TaskGraph graph(one_lane());
    Heat heat(graph, {host, gpu()}, nullptr, Heat::Where::fluxes_on_device);
    EXPECT_EQ(heat.iteration(2), 290);
    EXPECT_EQ(copies_of(0).size(), 4U) << "the fluxes share a copy of T";
    EXPECT_EQ(heat.iteration(3), 290);
  }
  Simulated::device().clear_log();
  {
    TaskGraph graph(one_lane());
    Heat heat(graph, {gpu(), host}, make_order_placement());
    EXPECT_EQ(heat.iteration(4), 130);
    EXPECT_EQ(copies_of(0).size(), 2U);
    EXPECT_EQ(heat.model.pool().counts(host).most_live, 0U);
  }
  // Fluxes on the device one by one, by hand.
  TaskGraph graph(one_lane());
  Values const T("T", n), q("q", n);
  DeviceValues const there("there", n);
  std::int64_t const begin = Simulated::clock().now();
  for (int flux = 0; flux < 3; ++flux) {
    trellis::deep_copy(graph, there, T);
    parallel_for(
        "flux", ResourcePolicy(graph, n, read_write(there), on<Simulated>),
        KOKKOS_LAMBDA(int k) { there(k) += 1; });
    trellis::deep_copy(graph, q, there);
  }
  host_task("divergence", ResourcePolicy(graph, read_write(q)),
            [] { Simulated::clock().spend(on_host); });
  graph.wait();
  EXPECT_EQ(Simulated::clock().now() - begin, 400);
}

TEST_F(Places, HybridMeasuresOnceAtEachTypeAndThenKeepsToIt) {
  if (all_is_serial()) GTEST_SKIP() << "nothing overlaps";
  // The launch takes longer than all kernels, and is none of their time.
  for (std::int64_t const launch : {0, 1000}) {
    Simulated::configure_each({{.virtual_time = true,
                                .launch_latency = launch,
                                .kernel_units = 40,
                                .concurrent_kernels = 1,
                                .link_latency = 45},
                               {.launch_latency = launch,
                                .units_per_ns = 4,
                                .kernel_units = 40,
                                .concurrent_kernels = 1,
                                .link_latency = 45}});
    TaskGraph graph(one_lane());
    Heat heat(graph, {host, gpu(0), gpu(1)}, make_hybrid_placement());
    int const types = 3, runs = 2;
    for (int iteration = 0; iteration < runs * types; ++iteration) heat.iteration(iteration);
    for (int number : {0, 1}) {
      std::map<std::string, int> ran;
      for (SimulatedRecord const& record : Simulated::device(number).log())
        if (record.kind == Kind::launch) ++ran[record.name];
      EXPECT_EQ(ran.size(), 4U);
      for (auto const& [name, times] : ran) EXPECT_EQ(times, runs) << name;
      Simulated::device(number).clear_log();
    }
    std::int64_t const takes = heat.iteration(7);
    if (launch == 0) EXPECT_EQ(takes, 4 * 10 + 2 * 45);  // all on the faster device
    for (auto const& [label, where] : heat.model.assignment()) EXPECT_EQ(where, gpu(1)) << label;
    for (int iteration = 0; iteration < 3; ++iteration) EXPECT_EQ(heat.iteration(iteration), takes);
    EXPECT_TRUE(Simulated::device(0).log().empty());
    heat.model.invalidate();
    heat.iteration(1);
    for (auto const& [label, where] : heat.model.assignment())
      EXPECT_EQ(where, FieldTarget(host)) << "it measures again";
  }
}

/// Notes what it is told.
class Noting final : public PlacementPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "noting"; }
  void prepare(PlacementGraph const& graph, std::span<int> places) override {
    for (std::size_t k = 0; k < places.size(); ++k) places[k] = graph.tasks[k].eligible.back();
  }
  [[nodiscard]] bool wants_times() const override { return true; }
  void ran(PlacementTime const& time) override {
    std::lock_guard const lock(m_mutex);
    times.push_back(time);
  }
  void copied(TransferTime const& time) override {
    std::lock_guard const lock(m_mutex);
    transfers.push_back(time);
  }
  std::vector<PlacementTime> times;
  std::vector<TransferTime> transfers;

 private:
  std::mutex m_mutex;
};

TEST_F(Places, TimesAreOfKernelsAndOfMemoryThatIsWarm) {
  if (all_is_serial()) GTEST_SKIP() << "nothing overlaps";
  use(1, {.launch_latency = 1000, .kernel_units = 10});
  auto const noting = std::make_shared<Noting>();
  {
    TaskGraph graph(one_lane());
    FieldGraph model(graph, {.targets = {host, gpu()}, .placement = noting});
    Values const x("x", n), y("y", n);
    F const from = model.bind("x", x), to = model.bind("y", y), q = make_field(model, "q");
    add_anywhere(model, "q", {from}, q);
    add_on_host(model, "y", {q}, to);
    model.require(to);
    for (int iteration = 0; iteration < 2; ++iteration) {
      model.submit();
      graph.wait();
    }
  }
  ASSERT_EQ(noting->times.size(), 4U);
  for (std::size_t k = 0; k < 4; ++k) {
    PlacementTime const& time = noting->times[k];
    EXPECT_FALSE(time.is_lost);
    EXPECT_EQ(time.task, k % 2);
    EXPECT_EQ(time.nanoseconds, k % 2 == 0 ? 10 : on_host);
    EXPECT_EQ(time.found_new_memory, k == 0);
  }
  ASSERT_EQ(noting->transfers.size(), 4U);
  for (std::size_t k = 0; k < 4; ++k) {
    TransferTime const& time = noting->transfers[k];
    EXPECT_FALSE(time.is_lost || time.is_probe);
    EXPECT_EQ(time.nanoseconds, 45);
    EXPECT_EQ(time.bytes, block);
    EXPECT_EQ(time.found_new_memory, k < 2) << "in the first iteration";
  }
}

TEST_F(Places, ATaskHasItsBasePolicyOnEachSpace) {
  use(1);
  for (bool const there : {false, !all_is_serial()}) {
    TaskGraph graph(with_workers(2));
    FieldGraph model(graph, {.targets = there ? std::vector<FieldTarget>{gpu(), host}
                                              : std::vector<FieldTarget>{host, gpu()},
                             .placement = make_order_placement()});
    using M = Field<double**, Kokkos::LayoutRight>;
    F const q = make_field(model, "q"), t = make_field(model, "t");
    M const m = model.field<double**, Kokkos::LayoutRight>("m", n, 3);
    parallel_for(
        "range",
        ResourcePolicy(model, Kokkos::RangePolicy<HostSpace>(2, n), write(q),
                       runs_on<HostSpace, Simulated>),
        KOKKOS_LAMBDA(int k, F::view const& v) { v(k) = k; });
    parallel_for(
        "tiles",
        ResourcePolicy(model, Kokkos::MDRangePolicy<HostSpace, Kokkos::Rank<2>>({0, 1}, {n, 3}),
                       read(q), write(m), runs_on<HostSpace, Simulated>),
        KOKKOS_LAMBDA(int i, int j, F::read_view const&, M::view const& v) {
          v(i, j) = i + 10 * j;
        });
    using Team = Kokkos::TeamPolicy<HostSpace>;
    parallel_for(
        "teams",
        ResourcePolicy(model, Team(n, Kokkos::AUTO), read(m), write(t),
                       runs_on<HostSpace, Simulated>),
        KOKKOS_LAMBDA(Team::member_type const& team, M::read_view const& from, F::view const& v) {
          v(team.league_rank()) = from(team.league_rank(), 2);
        });
    model.require(q);
    model.require(t);
    model.submit();
    graph.wait();
    EXPECT_EQ(model.host_view(q)(n - 1), n - 1);
    EXPECT_EQ(model.host_view(t)(n - 1), n - 1 + 20);
    for (auto const& [label, where] : model.assignment())
      EXPECT_EQ(where, there ? gpu() : FieldTarget(host)) << label;
    EXPECT_EQ(copies_of(0).size(), there ? 2U : 0U) << "what is required is on the host";
  }
}

TEST_F(Places, WhatCannotBeIsAnError) {
  use(2);
  TaskGraph graph(with_workers(1));
  FieldGraph model(graph, {.targets = {host, gpu(0), gpu(1)}});
  EXPECT_THAT(message_of([&] {
                parallel_for("no model", ResourcePolicy(graph, n, runs_on<HostSpace, Simulated>),
                             [](int) {});
              }),
              testing::AllOf(HasSubstr("\"no model\""), HasSubstr("goes to no model of fields")));
  F const q = make_field(model, "q");
  int part = 0;
  for (int number : {0, 1}) {
    parallel_for(
        Label("part " + std::to_string(number)),
        ResourcePolicy(model, n / 2, write(subfield(q, Kokkos::pair(part, part + n / 2))),
                       on<Simulated>, device(number)),
        KOKKOS_LAMBDA(int k, F::view const& v) { v(k) = k; });
    part += n / 2;
  }
  model.require(q);
  EXPECT_THAT(message_of([&] { model.submit(); }),
              testing::AllOf(HasSubstr("the field \"q\""), HasSubstr("at different places")));
  auto const policy = make_order_placement();
  FieldGraph const first(graph, {.placement = policy});
  if (!all_is_serial()) {
    EXPECT_THAT(message_of([&] { FieldGraph const second(graph, {.placement = policy}); }),
                HasSubstr("the placement policy \"order\" that another model has"));
  }
  FieldGraph only_host(graph);
  EXPECT_THAT(
      message_of([&] {
        parallel_for(
            "nowhere",
            ResourcePolicy(only_host, n, write(make_field(only_host, "q")), runs_on<Simulated>),
            KOKKOS_LAMBDA(int k, F::view const& v) { v(k) = k; });
      }),
      HasSubstr("none of the targets of the task \"nowhere\""));
}

/// A part that a device computes of a field of the program's; the rest stays as it was.
TEST_F(Places, PartsOfWhatIsBoundAreComputedElsewhere) {
  use(1);
  TaskGraph graph(with_workers(2));
  FieldGraph model(graph, {.targets = {host, gpu()}});
  Values const x("x", n);
  Kokkos::deep_copy(x, 7);
  F const all = model.bind("x", x);
  parallel_for(
      "part",
      ResourcePolicy(model, n / 2, write(subfield(all, Kokkos::pair(0, n / 2))), on<Simulated>),
      KOKKOS_LAMBDA(int k, F::view const& v) { v(k) = k; });
  model.require(all);
  for (int iteration = 0; iteration < 2; ++iteration) {
    model.submit();
    host_task("between", ResourcePolicy(graph, read_write(x)), [x] { x(n - 1) += 1; });
  }
  graph.wait();
  EXPECT_EQ(x(n / 2 - 1), n / 2 - 1);
  EXPECT_EQ(x(n / 2), 7);
  EXPECT_EQ(x(n - 1), 9);
}

/// Copies fit into the limit, or it is an error that names one.
TEST_F(Places, CopiesCount) {
  use(1);
  TaskGraph graph(with_workers(2));
  for (std::size_t const limit : {1 * block, 2 * block}) {
    FieldGraph model(graph, {.targets = {host, gpu()}, .memory_limit = limit});
    Values const x("x", n), y("y", n);
    F const from = model.bind("x", x), to = model.bind("y", y), q = make_field(model, "q");
    add_on_device(model, "q", {from}, q);
    add_on_device(model, "y", {q}, to);
    model.require(to);
    if (limit < 2 * block) {
      EXPECT_THAT(message_of([&] { model.submit(); }),
                  testing::AllOf(HasSubstr("has no room for the field"), HasSubstr("Simulated 0")));
      continue;
    }
    EXPECT_EQ(model.memory(gpu()).transient, 3 * block);
    EXPECT_EQ(model.memory(gpu()).peak(), 2 * block);
    for (int iteration = 0; iteration < 4; ++iteration) model.submit();
    graph.wait();
    EXPECT_EQ(y(0), 2 + x(0));
    EXPECT_EQ(model.pool().counts(gpu()).most_held, 2 * block);
    EXPECT_EQ(model.pool().counts(gpu()).live, 0U);
  }
}

/// Copies wait for each other; meanwhile the host goes on, in memory that is given back.
TEST_F(Places, MemoryOfTheHostStaysUntilItIsCopied) {
  Simulated::configure({.link_latency = 5'000'000});
  TaskGraph graph(with_workers(1));
  FieldGraph model(graph, {.targets = {host, gpu()}});
  DeviceValues const y("y", n);
  std::vector<F> all;
  for (int number = 0; number < 6; ++number) {
    all.push_back(make_field(model, "q" + std::to_string(number)));
    parallel_for("make", ResourcePolicy(model, n, write(all.back()), on<HostSpace>),
                 [number](int k, F::view const& v) { v(k) = 1 << number; });
  }
  F const to = model.bind("y", y);
  add_on_device(model, "sum", all, to);
  model.require(to);
  for (int iteration = 0; iteration < 2; ++iteration) model.submit();
  graph.wait();
  EXPECT_EQ(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y)(n - 1), 1 + 63);
  EXPECT_EQ(model.pool().counts().live, 0U);
}

/// What waits for a device that fails gets no copy, and nothing stays behind.
TEST_F(Places, AFailureOfADeviceWithCopiesLeaksNothing) {
  use(2);
  auto const pool = std::make_shared<FieldPool>();
  {
    TaskGraph graph(with_workers(2));
    FieldGraph model(graph, {.targets = {host, gpu(0), gpu(1)}, .pool = pool});
    Values const x("x", n), y("y", n);
    F const from = model.bind("x", x), to = model.bind("y", y), q = make_field(model, "q"),
            r = make_field(model, "r");
    parallel_for(
        "q", ResourcePolicy(model, n, read(from), write(q), on<Simulated>),
        [](int, F::read_view const&, F::view const&) { throw std::runtime_error("here"); });
    add_on_device(model, "r", {q}, r, 1);
    add_on_host(model, "y", {r}, to);
    model.require(to);
    for (int iteration = 0; iteration < 3; ++iteration) model.submit();
    EXPECT_THAT(message_of([&] { graph.wait(); }), HasSubstr("here"));
    EXPECT_EQ(pool->counts().live, 0U);
  }
  for (int number : {0, 1}) Simulated::device(number).reset();
  pool->trim();
  EXPECT_EQ(pool->counts().idle, 0U);
}

/// Copies go to and from the memory of each iteration, and a DualView takes both sides with it.
TEST_F(Places, AFieldIsBoundAnew) {
  use(1);
  using Dual = Kokkos::DualView<double*, Kokkos::LayoutRight, Simulated>;
  TaskGraph graph(with_workers(2));
  FieldGraph model(graph, {.targets = {host, gpu()}});
  Dual x[] = {Dual("x0", n), Dual("x1", n)};
  Values y[] = {Values("y0", n), Values("y1", n)};
  for (int k = 0; k < 2; ++k) {
    Kokkos::deep_copy(x[k].view_host(), 10 * (k + 1));
    x[k].modify_host();
  }
  F const from = model.bind("x", x[0]), to = model.bind("y", y[0]);
  add_on_device(model, "y", {from}, to);
  model.require(to);
  for (int iteration = 0; iteration < 6; ++iteration) {
    model.bind("x", x[iteration % 2]);
    model.bind("y", y[iteration / 2 % 2]);
    model.submit();
  }
  graph.wait();
  EXPECT_EQ(y[0](n - 1), 21);  // iterations 0, 1, 4 and 5
  EXPECT_EQ(y[1](n - 1), 21);
  Plan const plan = model.record();
  model.bind("x", x[1].view_host());
  EXPECT_THAT(message_of([&] { graph.replay(plan); }), HasSubstr("bound anew"));
  EXPECT_THAT(message_of([&] { model.swap(from, to); }), HasSubstr("exception"));
  model.submit();
  graph.wait();
  EXPECT_EQ(x[1].view_host()(n - 1), 22);
}

TEST_F(Places, ADualViewIsCopiedWhereItIsOlder) {
  use(1);
  using Dual = Kokkos::DualView<double*, Kokkos::LayoutRight, Simulated>;
  TaskGraph graph(with_workers(2));
  Dual x("x", n), y("y", n);
  FieldGraph model(graph, {.targets = {host, gpu()}});
  F const from = model.bind("x", x), to = model.bind("y", y), z = make_field(model, "z");
  add_on_device(model, "y", {from}, to);
  add_on_host(model, "z", {to}, z);
  model.require(to);
  Kokkos::deep_copy(x.view_host(), 3);
  x.modify_host();
  auto const copies = [] {
    std::size_t const count = copies_of(0).size();
    Simulated::device().clear_log();
    return count;
  };
  model.submit();
  EXPECT_FALSE(x.need_sync_device());
  EXPECT_FALSE(x.need_sync_host());
  EXPECT_TRUE(y.need_sync_host()) << "nobody needs it on the host";
  graph.wait();
  EXPECT_EQ(copies(), 1U);
  model.submit();
  graph.wait();
  EXPECT_EQ(copies(), 0U) << "both sides are up to date";
  // A task of the graph brings it to the host, as it does without a model.
  double seen = 0;
  host_task("look", ResourcePolicy(graph, read(y)),
            [&](Dual::t_host::const_type const& v) { seen = v(n - 1); });
  graph.wait();
  EXPECT_EQ(seen, 4);
  EXPECT_FALSE(y.need_sync_host());
  EXPECT_EQ(copies(), 1U);
  // And what it changes on the host is brought to the device.
  host_task("change", ResourcePolicy(graph, read_write(x)),
            [](Dual::t_host const& v) { v(n - 1) = 10; });
  model.require(z);
  model.submit();
  EXPECT_FALSE(y.need_sync_host()) << "a task of the model reads it there";
  graph.wait();
  EXPECT_EQ(copies(), 2U);
  EXPECT_EQ(model.host_view(z)(n - 1), 1 + 11);
  EXPECT_EQ(model.host_view(z)(0), 1 + 4);
  EXPECT_EQ(y.view_host()(n - 1), 11);
}

}  // namespace
}  // namespace trellis
