// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What makes a call of a library a task: accesses, futures, policies, children, plans, errors.
#include "KernelsTest.hpp"

#include "Timing.hpp"

#include <Trellis_Recorded.hpp>

#include <KokkosBlas1_abs.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// A function of a library that tests can look into.
namespace kernel_library {

/// Adds to y what stands in the text, and says whether the instance is another than the default
/// one.
template <class Space, class Y>
bool add_digits(Space const& space, std::string const& digits, Y const& y) {
  Kokkos::parallel_for(
      Kokkos::RangePolicy<Space>(space, 0, y.extent(0)), KOKKOS_LAMBDA(int i) { y(i) += 1; });
  for (char const digit : digits) y(0) += digit - '0';
  return !(space == Space());
}

}  // namespace kernel_library

namespace trellis {
namespace {

using Test::filled;
using Test::Part;
using Test::poisson;
using Test::Sparse;
using Test::Vector;
using Test::with_workers;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// A new call is a line.
TRELLIS_KERNEL(absolute, ::KokkosBlas::abs, kernels::Takes<kernels::out, kernels::in>);
TRELLIS_KERNEL(add_digits, ::kernel_library::add_digits,
               kernels::Takes<kernels::in, kernels::in_out>);

TEST(KernelTasks, AKernelOfOnesOwnIsALine) {
  auto const x = filled<Vector>("x", 1, 20);
  auto const y = filled<Vector>("y", 2, 20);
  TaskGraph graph(with_workers(2));
  absolute(graph, y, x);
  graph.wait();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(y(i), std::abs(x(i)));
}

TEST(KernelTasks, RunOnTheTasksOwnInstanceAndKeepTexts) {
  Vector const y("y", 5);
  TaskGraph graph(with_workers(2));
  std::vector<Future<bool>> own;
  for (int k = 0; k < 20; ++k) {
    std::string digits = "12";  // is gone when the task runs
    own.push_back(add_digits(graph, digits, y));
    digits = "99";
  }
  for (Future<bool> const& each : own) EXPECT_TRUE(each.get());
  graph.wait();
  EXPECT_EQ(y(0), 20 * (1 + 1 + 2));
  EXPECT_EQ(y(4), 20);
}

// ---- accesses and edges -------------------------------------------------------------------------

/// The same calls by kernels and by hand.
struct Program {
  Sparse a = poisson(4);
  Kokkos::View<double**, Kokkos::LayoutLeft, trellis::Test::Space> m{"m", 16, 16};
  Vector x{"x", 16}, y{"y", 16}, z{"z", 32};
  Kokkos::View<double, trellis::Test::Space> r{"r"};
  Vector left = Kokkos::subview(z, Part(0, 16));
  Vector right = Kokkos::subview(z, Part(16, 32));

  void by_kernels(TaskGraph& graph) const {
    kernels::spmv(graph, "N", 1.0, a, x, 0.0, y);
    kernels::dot(graph, r, x, y);
    auto const xy = kernels::dot(graph, x, y);
    kernels::axpby(graph, xy, x, 2.0, left);
    kernels::axpby(graph, 1.0, y, xy, right);
    kernels::scal(graph, x, 2.0, x);
    kernels::gemv(graph, "N", 1.0, m, left, 0.0, x);
    kernels::gemm(graph, "N", "N", 1.0, m, m, 1.0, m);
    kernels::syrk(graph, "L", "N", 1.0, m, 0.0, m);
    kernels::trsm(graph, "L", "L", "N", "N", 1.0, m, m);
    kernels::potrf(graph, "L", m);
    kernels::nrm2(graph, z);
    kernels::axpy(graph, 1.0, right, left);
  }
  void by_hand(TaskGraph& graph) const {
    auto const task = [&graph](Label label, auto const&... accesses) {
      return space_task(std::move(label),
                        ResourcePolicy(graph, accesses..., on<trellis::Test::Space>),
                        [](trellis::Test::Space const&, auto const&...) { return 1.0; });
    };
    task("spmv", read(a), read(x), write(y));
    task("dot", write(r), read(x), read(y));
    auto const xy = task("dot", read(x), read(y));
    task("axpby", value(xy), read(x), read_write(left));
    task("axpby", read(y), value(xy), read_write(right));
    task("scal", write(x), read(x));
    task("gemv", read(m), read(left), write(x));
    task("gemm", read(m), read(m), read_write(m));
    task("syrk", read(m), read_write(m));
    task("trsm", read(m), read_write(m));
    task("potrf", read_write(m));
    task("nrm2", read(z));
    task("axpy", read(right), read_write(left));
  }
};

/// Nothing runs before all has been submitted, so no edge is left out. What runs then is of no
/// interest, and may fail.
template <class Submit>
auto recorded(Submit const& submit) {
  TaskGraphOptions options = with_workers(1);
  options.record = true;
  trellis::Test::Gate gate;
  TaskGraph graph(options);
  host_task("gate", ResourcePolicy(graph, synchronizing), [&gate] { gate.pass(); });
  submit(graph);
  auto const edges = graph.edges();
  gate.open();
  try {
    graph.wait();
  } catch (Error const&) {
  }
  auto const record = graph.dependency_graph();
  std::vector<std::pair<TaskId, TaskId>> pairs;
  for (EdgeRecord const& edge : record.edges()) pairs.emplace_back(edge.from, edge.to);
  std::sort(pairs.begin(), pairs.end());
  std::vector<std::string> texts;
  for (TaskRecord const& node : record.nodes()) {
    std::string text = node.label + ":";
    for (AccessRecord const& access : node.accesses)
      text += " " + access.mode + " " + access.resource + " " + access.area;
    texts.push_back(text + " on " + node.space);
  }
  return std::tuple(edges, pairs, texts);
}

TEST(KernelTasks, HaveTheAccessesAndEdgesOfThoseAnnotatedByHand) {
  Program const program;
  auto const [edges, pairs, texts] = recorded([&](TaskGraph& graph) { program.by_kernels(graph); });
  auto const [hand_edges, hand_pairs, hand_texts] =
      recorded([&](TaskGraph& graph) { program.by_hand(graph); });
  EXPECT_EQ(edges, hand_edges);
  EXPECT_EQ(pairs, hand_pairs);
  EXPECT_EQ(texts, hand_texts);
  EXPECT_GT(edges, 13u);
}

TEST(KernelTasks, AKnownBetaOfZeroOverwrites) {
  Vector const x("x", 4), y("y", 4);
  auto const [edges, pairs, texts] = recorded([&](TaskGraph& graph) {
    auto const zero = host_task("zero", ResourcePolicy(graph), [] { return 0.0; });
    kernels::axpby(graph, 1.0, x, 0.0, y);
    kernels::axpby(graph, 1.0, x, 0.5, y);
    kernels::axpby(graph, 1.0, x, zero, y);
  });
  ASSERT_EQ(texts.size(), 5u);
  EXPECT_THAT(texts[2], HasSubstr(" write y"));
  EXPECT_THAT(texts[3], HasSubstr("read_write y"));
  EXPECT_THAT(texts[4], HasSubstr("read_write y"));
}

// ---- where a task goes --------------------------------------------------------------------------

TEST(KernelTasks, TakeAPolicyWithFurtherAnnotations) {
  auto const x = filled<Vector>("x", 1, 8);
  auto const y = filled<Vector>("y", 2, 8);
  auto const old = trellis::Test::clone(y);
  Vector const other("other", 8);
  TaskGraphOptions options = with_workers(2);
  options.record = true;
  trellis::Test::Gate gate;
  TaskGraph graph(options);
  auto const first = host_task("first", ResourcePolicy(graph), [&gate] { return gate.pass(); });
  auto const second = kernels::axpy(
      "second",
      ResourcePolicy(graph, after(first), priority(3), on<trellis::Test::Space>, read(other)), 2.0,
      x, y);
  unsigned const line = __LINE__ + 1;
  auto const third = kernels::axpy(ResourcePolicy(graph, priority(1)), 1.0, x, other);
  EXPECT_FALSE(second.is_done());
  gate.open();
  graph.wait();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(y(i), old(i) + 2 * x(i));
  auto const record = graph.dependency_graph();
  TaskRecord const& task = record.node(second.id());
  EXPECT_EQ(task.label, "second");
  EXPECT_EQ(task.priority, 3);
  EXPECT_EQ(task.accesses.size(), 3u);
  // It reads what the third one writes.
  EXPECT_THAT(record.edges(), testing::Contains(EdgeRecord{second.id(), third.id()}));
  EXPECT_EQ(record.node(third.id()).label, "axpy");
  EXPECT_EQ(record.node(third.id()).line, line);
  EXPECT_THAT(record.node(third.id()).file, HasSubstr("TestKernelTasks.cpp"));
}

TEST(KernelTasks, AreChildren) {
  Sparse const a = poisson(5);
  auto const x = filled<Vector>("x", 1, 25);
  auto const y = filled<Vector>("y", 2, 25);
  KokkosSparse::SPMVHandle<trellis::Test::Space, Sparse, Vector, Vector> handle;
  TaskGraph graph(with_workers(3));
  auto const norm = host_task("children",
                              ResourcePolicy(graph, read(a), read_write(x), read_write(y),
                                             read_write(kernels::handle(&handle))),
                              [=, &handle](TaskScope& self) {
                                kernels::spmv(self, &handle, "N", 1.0, a, x, 0.0, y);
                                auto const yy = kernels::dot(self, y, y);
                                auto const scale = yy.then(
                                    "scale", self, [](double s) { return 1 / std::sqrt(s); });
                                kernels::scal(ResourcePolicy(self, priority(1)), y, scale, y);
                                return kernels::nrm2(self, y);
                              });
  EXPECT_NEAR(norm.get(), 1, 1e-12);
  // A child that needs more than the task has.
  auto const wrong = host_task("wrong", ResourcePolicy(graph, read(x)),
                               [=](TaskScope& self) { kernels::scal(self, x, 2.0, x); });
  EXPECT_THROW(wrong.get(), Error);
}

TEST(KernelTasks, AreRecordedAndReplayed) {
  constexpr int rounds = 7;
  Sparse const a = poisson(5);
  auto const x = filled<Vector>("x", 1, 25);
  Vector const y("y", 25);
  auto const plain_x = trellis::Test::clone(x);
  auto const plain_y = trellis::Test::clone(y);

  // The power method: the scale is the value of a Future, and new in each round.
  TaskGraph graph(with_workers(3));
  Future<double> norm;
  auto const plan = graph.record("power method", [&] {
    kernels::spmv(graph, "N", 1.0, a, x, 0.0, y);
    norm = kernels::nrm2(graph, y);
    auto const scale =
        host_task("scale", ResourcePolicy(graph, value(norm)), [](double s) { return 1 / s; });
    kernels::scal(graph, x, scale, y);
  });
  EXPECT_EQ(plan.tasks(), 4u);
  graph.replay(plan, rounds);
  graph.wait();
  double plain_norm = 0;
  for (int k = 0; k < rounds; ++k) {
    KokkosSparse::spmv(trellis::Test::Space(), "N", 1.0, a, plain_x, 0.0, plain_y);
    plain_norm = KokkosBlas::nrm2(trellis::Test::Space(), plain_y);
    KokkosBlas::scal(trellis::Test::Space(), plain_x, 1 / plain_norm, plain_y);
  }
  EXPECT_NEAR(norm.get(), plain_norm, 1e-12);
  EXPECT_LE(trellis::Test::difference(x, plain_x), trellis::Test::tolerance<double>());
}

// ---- conjugate gradients ------------------------------------------------------------------------

TEST(KernelTasks, ConjugateGradientsAreThoseOfPlainCalls) {
  constexpr int k = 8;
  constexpr int n = k * k;
  constexpr int steps = 30;
  Sparse const a = poisson(k);
  auto const b = filled<Vector>("b", 1, n);

  Vector const plain("plain", n);
  {
    auto const r = trellis::Test::clone(b);
    auto const p = trellis::Test::clone(b);
    Vector const q("q", n);
    trellis::Test::Space const space;
    double rr = KokkosBlas::dot(space, r, r);
    for (int step = 0; step < steps; ++step) {
      KokkosSparse::spmv(space, "N", 1.0, a, p, 0.0, q);
      double const alpha = rr / KokkosBlas::dot(space, p, q);
      KokkosBlas::axpy(space, alpha, p, plain);
      KokkosBlas::axpy(space, -alpha, q, r);
      double const next = KokkosBlas::dot(space, r, r);
      KokkosBlas::axpby(space, 1.0, r, next / rr, p);
      rr = next;
    }
  }

  Vector const x("x", n);
  auto const r = trellis::Test::clone(b);
  auto const p = trellis::Test::clone(b);
  Vector const q("q", n);
  TaskGraph graph(with_workers(3));
  auto const divide = [&graph](double sign, Future<double> const& over,
                               Future<double> const& under) {
    return host_task("divide", ResourcePolicy(graph, value(over), value(under)),
                     [sign](double u, double v) { return sign * u / v; });
  };
  // No thread waits for a scalar.
  Future<double> rr = kernels::dot(graph, r, r);
  for (int step = 0; step < steps; ++step) {
    kernels::spmv(graph, "N", 1.0, a, p, 0.0, q);
    auto const pq = kernels::dot(graph, p, q);
    kernels::axpy(graph, divide(1, rr, pq), p, x);
    kernels::axpy(graph, divide(-1, rr, pq), q, r);
    auto const next = kernels::dot(graph, r, r);
    kernels::axpby(graph, 1.0, r, divide(1, next, rr), p);
    rr = next;
  }
  graph.wait();
  EXPECT_LE(trellis::Test::difference(x, plain), trellis::Test::tolerance<double>());
  EXPECT_LT(rr.get(), 1e-6 * n);
}

// ---- errors -------------------------------------------------------------------------------------

TEST(KernelTasks, WhatTheLibraryThrowsIsTheFailureOfTheTask) {
  Vector const x("x", 4), y("y", 5);
  TaskGraph graph(with_workers(2));
  auto const task = kernels::dot(graph, x, y);
  auto const behind = kernels::axpy(graph, task, x, x);
  try {
    task.get();
    FAIL() << "it is no error";
  } catch (Error const& error) {
    EXPECT_EQ(error.kind(), Error::Kind::task_failed);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("\"dot\""), HasSubstr("TestKernelTasks.cpp"),
                                    HasSubstr("KokkosBlas::dot: Dimensions do not match")));
  }
  EXPECT_THROW(behind.get(), Error);
}

}  // namespace
}  // namespace trellis
