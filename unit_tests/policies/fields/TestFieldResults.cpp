// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions, scans and copies into fields, on every space, against plain Kokkos.
#include "SpaceTest.hpp"

#include <Trellis_Fields.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace trellis {
namespace {
namespace field_results {

using Test::with_workers;
using HostKernels = Kokkos::DefaultHostExecutionSpace;
using Line = Field<double*, Kokkos::LayoutRight>;
using Scalar = Field<double, Kokkos::LayoutRight>;
using Plane = Field<double**, Kokkos::LayoutRight>;
using PlaneLeft = Field<double**, Kokkos::LayoutLeft>;
constexpr int length = 100;

KOKKOS_FUNCTION inline double value_of(int k) {
  return (k * 37 % 101) - 20.5;
}
struct Start {
  KOKKOS_FUNCTION void operator()(int k, Line::view const& to) const { to(k) = value_of(k); }
};
struct SumOf {
  KOKKOS_FUNCTION void operator()(int k, Line::read_view const& from, double& sum) const {
    sum += from(k);
  }
};
struct SumAndLargest {
  KOKKOS_FUNCTION void operator()(int k, Line::read_view const& from, double& sum,
                                  double& largest) const {
    sum += from(k);
    if (from(k) > largest) largest = from(k);
  }
};
struct LargestOf {
  KOKKOS_FUNCTION void operator()(int k, Line::read_view const& from, double& largest) const {
    if (from(k) > largest) largest = from(k);
  }
};
/// Sums of each third number.
struct Thirds {
  using value_type = double[];
  unsigned value_count = 3;
  KOKKOS_FUNCTION void operator()(int k, Line::read_view const& from, double* sums) const {
    sums[k % 3] += from(k);
  }
};
struct RunningSum {
  KOKKOS_FUNCTION void operator()(int k, Line::read_view const& from, Line::view const& to,
                                  double& sum, bool is_final) const {
    sum += from(k);
    if (is_final) to(k) = sum;
  }
};
struct Scale {
  KOKKOS_FUNCTION void operator()(int k, Line::read_view const& from, Scalar::read_view const& by,
                                  Line::view const& to) const {
    to(k) = from(k) / by();
  }
};

template <class Act>
[[maybe_unused]] std::string message_of(Act&& act) {
  try {
    act();
  } catch (std::exception const& error) {
    return error.what();
  }
  return "no exception";
}

[[maybe_unused]] std::vector<FieldTarget> targets() {
  std::vector<FieldTarget> all{host};
  if (target<Space>() != FieldTarget(host)) all.push_back(target<Space>());
  return all;
}

/// What plain Kokkos finds.
struct Expected {
  double sum = 0, largest = 0, running = 0;
  double thirds[3] = {};
};
[[maybe_unused]] Expected expected() {
  Expected of;
  Kokkos::RangePolicy<HostKernels> const all(0, length);
  Kokkos::View<double*, Kokkos::HostSpace> const x("x", length), thirds("thirds", 3);
  for (int k = 0; k < length; ++k) x(k) = value_of(k);
  Kokkos::parallel_reduce(all, [=](int k, double& sum) { sum += x(k); }, of.sum);
  Kokkos::parallel_reduce(
      all, [=](int k, double& most) { most = std::max(most, x(k)); },
      Kokkos::Max<double>(of.largest));
  for (int k = 0; k < length; ++k) of.thirds[k % 3] += x(k);
  Kokkos::parallel_scan(all, [=](int k, double& sum, bool) { sum += x(k); }, of.running);
  return of;
}

/// A model with all kinds of results; `where`: annotations that say where its tasks run.
template <class... Where>
[[maybe_unused]] void play(bool is_frozen, Where const&... where) {
  TaskGraph graph(with_workers(2));
  FieldGraph model(graph, {.targets = targets(), .placement = make_order_placement()});
  Line const x = model.field<double*, Kokkos::LayoutRight>("x", length);
  Line const scaled = model.field<double*, Kokkos::LayoutRight>("scaled", length);
  Line const running = model.field<double*, Kokkos::LayoutRight>("running", length);
  Line const thirds = model.field<double*, Kokkos::LayoutRight>("thirds", 3);
  Line const pair = model.field<double*, Kokkos::LayoutRight>("pair", 2);
  Line const kept = model.field<double*, Kokkos::LayoutRight>("kept", length);
  Scalar const sum = model.field<double, Kokkos::LayoutRight>("sum");
  Scalar const most = model.field<double, Kokkos::LayoutRight>("most");
  Scalar const total = model.field<double, Kokkos::LayoutRight>("total");
  deep_copy("kept", ResourcePolicy(model, where...), kept, scaled);
  parallel_scan("running", ResourcePolicy(model, length, read(x), write(running), where...),
                RunningSum(), total);
  parallel_for("scaled", ResourcePolicy(model, length, read(x), read(sum), write(scaled), where...),
               Scale());
  parallel_reduce("sum", ResourcePolicy(model, length, read(x), where...), SumOf(), sum);
  parallel_reduce("most", ResourcePolicy(model, length, read(x), where...), LargestOf(),
                  reduced<Kokkos::Max<double>>(most));
  parallel_reduce("pair", ResourcePolicy(model, length, read(x), where...), SumAndLargest(),
                  subfield(pair, 0), reduced<Kokkos::Max<double>>(subfield(pair, 1)));
  parallel_reduce("thirds", ResourcePolicy(model, length, read(x), where...), Thirds(), thirds);
  parallel_for("x", ResourcePolicy(model, length, write(x), where...), Start());
  auto const look = [&](auto const& field, auto const& view) {
    host_task("look at " + field.label(), ResourcePolicy(model, read(field), write(view)),
              [](auto const& from, auto const& to) {
                for (std::size_t k = 0; k < to.size(); ++k) to.data()[k] = from.data()[k];
              });
  };
  using Host = Kokkos::HostSpace;
  Kokkos::View<double*, Kokkos::LayoutRight, Host> const out("out", length),
      of_running("r", length), of_thirds("thirds", 3), of_pair("pair", 2);
  Kokkos::View<double, Kokkos::LayoutRight, Host> const of_most("most"), of_total("total");
  auto const bind = [&](auto const& field, auto const& view) {
    model.require(model.bind(Label(field.label() + " out"), view));
    look(field, view);
  };
  bind(kept, out);
  bind(running, of_running);
  bind(thirds, of_thirds);
  bind(pair, of_pair);
  bind(most, of_most);
  bind(total, of_total);
  Expected const right = expected();
  for (int iteration = 0; iteration < 3; ++iteration) {
    Kokkos::deep_copy(out, 0.0);
    if (is_frozen && iteration > 0)
      graph.replay(model.record(), 2);
    else
      model.submit();
    graph.wait();
    auto const is_near = [](double a, double b) { return std::abs(a - b) < 1e-9; };
    ASSERT_TRUE(is_near(of_total(), right.running)) << of_total();
    ASSERT_TRUE(is_near(of_running(length - 1), right.running));
    ASSERT_EQ(of_most(), right.largest);
    ASSERT_TRUE(is_near(of_pair(0), right.sum)) << of_pair(0);
    ASSERT_EQ(of_pair(1), right.largest);
    for (int k = 0; k < 3; ++k) ASSERT_TRUE(is_near(of_thirds(k), right.thirds[k]));
    for (int k = 0; k < length; ++k) ASSERT_TRUE(is_near(out(k), value_of(k) / right.sum));
  }
}

SPACE_TEST(FieldResults, AreThoseOfPlainKokkos) {
  play(false, on<Space>);
  play(true, on<Space>);
}

SPACE_TEST(FieldResults, AreTheSameWhereverTasksRun) {
  play(false, runs_on<Space, HostKernels>);
  play(true, runs_on<Space, HostKernels>);
}

SPACE_TEST(FieldResults, OfNothingIsWhatTheReducerBeginsWith) {
  TaskGraph graph(with_workers(2));
  FieldGraph model(graph, {.targets = {target<Space>()}});
  Kokkos::View<double, Kokkos::LayoutRight, Space> const sum("sum"), total("total"), most("most");
  Kokkos::deep_copy(sum, 5.0);
  Kokkos::deep_copy(total, 5.0);
  Line const x = model.field<double*, Kokkos::LayoutRight>("x", length);
  Line const y = model.field<double*, Kokkos::LayoutRight>("y", length);
  auto const of_sum = model.bind("sum", sum), of_total = model.bind("total", total),
             of_most = model.bind("most", most);
  parallel_for("x", ResourcePolicy(model, length, write(x), on<Space>), Start());
  parallel_reduce("sum", ResourcePolicy(model, 0, read(x), on<Space>), SumOf(), of_sum);
  parallel_reduce("most", ResourcePolicy(model, 0, read(x), on<Space>), LargestOf(),
                  reduced<Kokkos::Max<double>>(of_most));
  parallel_scan("total", ResourcePolicy(model, 0, read(x), write(y), on<Space>), RunningSum(),
                of_total);
  model.require(of_sum);
  model.require(of_total);
  model.require(of_most);
  model.submit();
  graph.wait();
  auto const value = [](auto const& view) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view)();
  };
  EXPECT_EQ(value(sum), 0);
  EXPECT_EQ(value(total), 0);
  EXPECT_EQ(value(most), Kokkos::reduction_identity<double>::max());
}

/// Outside of a model a field that has memory between iterations is as good as its View.
SPACE_TEST(FieldResults, GoIntoKeptFieldsFromAnyTask) {
  TaskGraph graph(with_workers(2));
  FieldGraph model(graph, {.targets = {target<Space>()}});
  Line const x = model.field<double*, Kokkos::LayoutRight>("x", length);
  Scalar const sum = model.field<double, Kokkos::LayoutRight>("sum");
  Kokkos::View<double, Kokkos::LayoutRight, Space> const out("out");
  parallel_for("x", ResourcePolicy(model, length, write(x), on<Space>), Start());
  model.require(x);
  model.store(sum, FieldStorage::persistent);
  model.submit();
  auto const to = model.bind("out", out);
  parallel_reduce("sum", ResourcePolicy(graph, length, read(x), on<Space>), SumOf(), sum);
  deep_copy("out", ResourcePolicy(graph, on<Space>), out, sum);
  graph.wait();
  EXPECT_NEAR(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), out)(), expected().sum,
              1e-9);
}

struct Number {
  template <class V>
  KOKKOS_FUNCTION void operator()(int i, int j, V const& to) const {
    to(i, j) = 10 * i + j;
  }
};

SPACE_TEST(FieldCopies, CopyPartsAndOtherLayoutsAndFill) {
  TaskGraph graph(with_workers(2));
  FieldGraph model(graph, {.targets = targets()});
  constexpr int rows = 5, columns = 7;
  Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> const out("out", rows, columns);
  Kokkos::View<double*, Kokkos::LayoutRight, Kokkos::HostSpace> const row("row", columns);
  Plane const p = model.field<double**, Kokkos::LayoutRight>("p", rows, columns);
  PlaneLeft const l = model.field<double**, Kokkos::LayoutLeft>("l", rows, columns);
  Plane const r = model.field<double**, Kokkos::LayoutRight>("r", rows, columns);
  Plane const q = model.field<double**, Kokkos::LayoutRight>("q", rows, columns);
  auto const to = model.bind("out", out);
  auto const of_row = model.bind("row", row);
  using Range = Kokkos::MDRangePolicy<Kokkos::Rank<2>, HostKernels>;
  deep_copy("out", ResourcePolicy(model, on<HostKernels>), out, q);
  deep_copy("row", ResourcePolicy(model, on<HostKernels>), of_row, subfield(q, 3, Kokkos::ALL));
  // The first rows are those of r, the others a value.
  auto const top = subfield(q, Kokkos::pair(0, 4), Kokkos::ALL);
  deep_copy("top", ResourcePolicy(model, on<Space>), top,
            subfield(r, Kokkos::pair(1, 5), Kokkos::ALL));
  deep_copy("bottom", ResourcePolicy(model, on<Space>), subfield(q, 4, Kokkos::ALL), 0.5);
  deep_copy("r", ResourcePolicy(model, on<Space>, priority(1)), r, l);
  deep_copy("l", ResourcePolicy(model, on<Space>), l, p);
  parallel_for("p", ResourcePolicy(model, Range({0, 0}, {rows, columns}), write(p)), Number());
  model.require(to);
  model.require(of_row);
  for (int iteration = 0; iteration < 2; ++iteration) {
    Kokkos::deep_copy(out, -1.0);
    model.submit();
    graph.wait();
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) ASSERT_EQ(out(i, j), i < 4 ? 10 * (i + 1) + j : 0.5);
    for (int j = 0; j < columns; ++j) ASSERT_EQ(row(j), 40 + j);
  }
}

SPACE_TEST(FieldCopies, SayWhatIsWrong) {
  TaskGraph graph(with_workers(1));
  FieldGraph model(graph);
  Line const a = model.field<double*, Kokkos::LayoutRight>("a", 4);
  Line const b = model.field<double*, Kokkos::LayoutRight>("b", 5);
  Line const c = model.field<double*, Kokkos::LayoutRight>("c");
  EXPECT_THAT(message_of([&] { deep_copy("a", model, a, b); }),
              testing::AllOf(testing::HasSubstr("copies \"b\" to \"a\""),
                             testing::HasSubstr("are 5 and 4")));
  EXPECT_THAT(message_of([&] { deep_copy(model, c, 1.0); }),
              testing::HasSubstr("whose extents nobody has said yet"));
  Line const two = model.field<double*, Kokkos::LayoutRight>("two", 2);
  parallel_for("b", ResourcePolicy(model, 5, write(b), on<HostKernels>), Start());
  parallel_reduce("two", ResourcePolicy(model, 5, read(b), on<HostKernels>), Thirds(), two);
  model.require(two);
  model.submit();
  EXPECT_THAT(message_of([&] { graph.wait(); }),
              testing::AllOf(testing::HasSubstr("\"two\""), testing::HasSubstr("3 values"),
                             testing::HasSubstr("result has 2")));
}

SPACE_TEST(FieldTasks, SpaceTasksGetAnInstanceAndTheirFields) {
  if (target<Space>() != FieldTarget(host)) GTEST_SKIP() << "on a device it is no kernel";
  TaskGraph graph(with_workers(2));
  FieldGraph model(graph);
  Line const x = model.field<double*, Kokkos::LayoutRight>("x", length);
  Kokkos::View<double*, Kokkos::LayoutRight, Kokkos::HostSpace> const out("out", length);
  Line const to = model.bind("out", out);
  space_task("out", ResourcePolicy(model, read(x), write(to), on<Space>),
             [](Space const& instance, Line::read_view const& from, Line::view const& v) {
               Kokkos::parallel_for(
                   Kokkos::RangePolicy<Space>(instance, 0, length),
                   KOKKOS_LAMBDA(int k) { v(k) = 2 * from(k); });
             });
  parallel_for("x", ResourcePolicy(model, length, write(x), on<Space>), Start());
  model.require(to);
  model.submit();
  graph.wait();
  EXPECT_EQ(out(7), 2 * value_of(7));
  Kokkos::deep_copy(out, 0.0);
  graph.replay(model.record(), 3);
  graph.wait();
  EXPECT_EQ(out(length - 1), 2 * value_of(length - 1));
}

}  // namespace field_results
}  // namespace
}  // namespace trellis
