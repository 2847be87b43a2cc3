// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A model whose tasks run on the host and on each space: fields are copied between the two, and
// every kind of policy is made anew. On a space of the host all of it is at one place.
#include "SpaceTest.hpp"

#include <Trellis_Fields.hpp>

#include <Kokkos_DualView.hpp>

#include <algorithm>
#include <memory>
#include <vector>

namespace trellis {
namespace {

using Test::with_workers;
using HostKernels = Kokkos::DefaultHostExecutionSpace;
using Line = Field<double*, Kokkos::LayoutRight>;
using Plane = Field<double**, Kokkos::LayoutRight>;
constexpr int length = 64;

struct Double {
  KOKKOS_FUNCTION void operator()(int k, Line::read_view const& from, Line::view const& to) const {
    to(k) = 2 * from(k) + 1;
  }
};
/// The same in another way.
struct DoubleByAdding {
  KOKKOS_FUNCTION void operator()(int k, Line::read_view const& from, Line::view const& to) const {
    to(k) = from(k) + from(k) + 1;
  }
};
struct Spread {
  KOKKOS_FUNCTION void operator()(int i, int j, Line::read_view const& from,
                                  Plane::view const& to) const {
    to(i, j) = from(i) + j;
  }
};
struct AddUp {
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& team, Plane::read_view const& from,
                                  Line::view const& to) const {
    int const i = static_cast<int>(team.league_rank());
    double sum = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, 3), [&](int j, double& part) { part += from(i, j); }, sum);
    Kokkos::single(Kokkos::PerTeam(team), [&] { to(i) = sum; });
  }
};

/// The targets that there are.
[[maybe_unused]] std::vector<FieldTarget> all_targets() {
  std::vector<FieldTarget> all{host};
  if (target<Space>() != FieldTarget(host)) all.push_back(target<Space>());
  return all;
}

[[maybe_unused]] void play(std::shared_ptr<PlacementPolicy> const& placement, bool is_reversed) {
  std::vector<FieldTarget> targets = all_targets();
  if (is_reversed) std::reverse(targets.begin(), targets.end());
  TaskGraph graph(with_workers(2));
  FieldGraph model(graph, {.targets = targets, .placement = placement});
  Kokkos::View<double*, Kokkos::LayoutRight, Kokkos::HostSpace> const x("x", length);
  Kokkos::DualView<double*, Kokkos::LayoutRight, Space> y("y", length);
  Line const from = model.bind("x", x), to = model.bind("y", y);
  Line const q = model.field<double*, Kokkos::LayoutRight>("q", length);
  Line const r = model.field<double*, Kokkos::LayoutRight>("r", length);
  Plane const p = model.field<double**, Kokkos::LayoutRight>("p", length, 3);
  parallel_for("y",
               ResourcePolicy(model, Kokkos::TeamPolicy<HostKernels>(length, Kokkos::AUTO), read(p),
                              write(to), runs_on<HostKernels, Space>),
               AddUp());
  parallel_for("p",
               ResourcePolicy(
                   model, Kokkos::MDRangePolicy<HostKernels, Kokkos::Rank<2>>({0, 0}, {length, 3}),
                   read(r), write(p), runs_on<HostKernels, Space>),
               Spread());
  parallel_for("r", ResourcePolicy(model, length, read(q), write(r)),
               variants(for_space<HostKernels>(Double()), for_space<Space>(DoubleByAdding())));
  parallel_for("q",
               ResourcePolicy(model, Kokkos::RangePolicy<HostKernels>(0, length), read(from),
                              write(q), runs_on<HostKernels, Space>),
               Double());
  model.require(to);
  for (int iteration = 0; iteration < 6; ++iteration) {
    Kokkos::deep_copy(x, iteration);
    model.submit();
    graph.wait();
    y.sync_host();
    ASSERT_EQ(y.view_host()(length - 1), 3 * (2 * (2 * iteration + 1) + 1) + 3);
  }
}

SPACE_TEST(PlacedFields, AreTheSameWhereverTasksRun) {
  play(make_host_placement(), false);
  play(make_order_placement(), true);
  play(make_hybrid_placement(), false);
}

}  // namespace
}  // namespace trellis
