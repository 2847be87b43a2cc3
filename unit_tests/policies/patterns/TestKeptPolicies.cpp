// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whatever a user asks for with a policy arrives at Kokkos, and every rank of MDRange works.
#include <Trellis.hpp>

#include "Ways.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <concepts>
#include <type_traits>
#include <vector>

namespace trellis {
namespace {
namespace kept_policies {

using Kokkos::Experimental::DesiredOccupancy;
using Kokkos::Experimental::prefer;
using Kokkos::Experimental::require;
using Test::in_every_way;
using Test::value_of;
using Test::values_of;
using Hint = Kokkos::Experimental::WorkItemProperty;

/// The policy that a worker launches.
template <class Policy>
Policy moved(Policy const& base) {
  using Traits = Impl::PolicyTraits<Policy, void>;
  static_assert(std::is_same_v<typename Traits::policy_type, Policy>);
  return Traits::on(Traits::keep(base), Space());
}
template <class Policy>
int occupancy_of(Policy const& policy) {
  return policy.impl_get_desired_occupancy().value();
}

struct Mark {};
struct Count {
  View<int*> x;
  template <std::integral Index>
  KOKKOS_FUNCTION void operator()(Index i) const {
    Kokkos::atomic_inc(&x(i));
  }
  KOKKOS_FUNCTION void operator()(Mark, int i) const { Kokkos::atomic_add(&x(i), 2); }
};

SPACE_TEST(KeptPolicies, Occupancy) {
  using Teams1 = Kokkos::TeamPolicy<Space>;
  auto const range = prefer(Range(2, 50), DesiredOccupancy(33));
  auto const square = prefer(Square({0, 1}, {5, 6}, {2, 3}), DesiredOccupancy(44));
  auto const teams = prefer(Teams1(8, Kokkos::AUTO), DesiredOccupancy(55));
  EXPECT_EQ(occupancy_of(moved(range)), 33);
  EXPECT_EQ(moved(range).begin(), 2);
  EXPECT_EQ(moved(range).end(), 50);
  EXPECT_EQ(occupancy_of(moved(square)), 44);
  EXPECT_EQ(moved(square).m_tile[1], 3);
  EXPECT_EQ(moved(square).m_lower[1], 1);
  EXPECT_EQ(occupancy_of(moved(teams)), 55);
  EXPECT_EQ(moved(teams).league_size(), 8);
  // Nothing is kept where nothing is asked for.
  using Plain = Impl::PolicyTraits<Range, void>::Range;
  using Asked = Impl::PolicyTraits<std::remove_const_t<decltype(range)>, void>::Range;
  static_assert(sizeof(Plain) < sizeof(Asked));
}

SPACE_TEST(KeptPolicies, HintsBoundsAndSchedulesAreInTheType) {
  using Policy = Kokkos::RangePolicy<Space, Kokkos::Schedule<Kokkos::Dynamic>,
                                     Kokkos::IndexType<long>, Kokkos::LaunchBounds<128, 2>, Mark>;
  auto const base = require(Policy(0, 10), Hint::HintHeavyWeight);
  using Kept = Impl::PolicyTraits<std::remove_const_t<decltype(base)>, void>::policy_type;
  static_assert(std::is_same_v<Kept::work_item_property, Hint::HintHeavyWeight_t>);
  static_assert(std::is_same_v<Kept::schedule_type::type, Kokkos::Dynamic>);
  static_assert(std::is_same_v<Kept::index_type, long>);
  static_assert(Kept::launch_bounds::maxTperB == 128 && Kept::launch_bounds::minBperSM == 2);
  static_assert(std::is_same_v<Kept::work_tag, Mark>);
}

/// All of it at once, and each index once.
SPACE_TEST(KeptPolicies, RunInEveryWay) {
  View<int*> const x("x", 300);
  auto const range = prefer(
      require(
          Kokkos::RangePolicy<Space, Kokkos::Schedule<Kokkos::Dynamic>, Kokkos::IndexType<unsigned>,
                              Kokkos::LaunchBounds<128, 2>>(0, 300, Kokkos::ChunkSize(16)),
          Hint::HintLightWeight),
      DesiredOccupancy(50));
  auto const tagged = prefer(Kokkos::RangePolicy<Space, Mark>(0, 300), DesiredOccupancy(50));
  in_every_way(
      [&](auto& target) {
        deep_copy("clear", target, x, 0);
        parallel_for("count", ResourcePolicy(target, range, read_write(x)), Count{x});
        return parallel_for("tagged", ResourcePolicy(target, tagged, read_write(x)), Count{x});
      },
      [&](auto const&) { EXPECT_THAT(values_of(x), testing::Each(3)); }, x);
}

// ---- MDRange of rank 5 and 6

/// Where index (i, j, ...) of these extents is.
struct Place {
  int extents[6];
  template <std::integral... Index>
  KOKKOS_FUNCTION int operator()(Index... index) const {
    int place = 0, k = 0;
    ((place = place * extents[k++] + static_cast<int>(index)), ...);
    return place;
  }
};
struct CountCells {
  View<int*> x;
  Place place;
  template <std::integral... Index>
  KOKKOS_FUNCTION void operator()(Index... index) const
    requires(sizeof...(Index) >= 5)
  {
    Kokkos::atomic_inc(&x(place(index...)));
  }
};
struct SumCells {
  View<int*> x;
  Place place;
  KOKKOS_FUNCTION void operator()(int a, int b, int c, int d, int e, long& sum) const {
    sum += (a + 1) * (e + 2) * x(place(a, b, c, d, e));
  }
  KOKKOS_FUNCTION void operator()(int a, int b, int c, int d, int e, int f, long& sum) const {
    sum += (a + 1) * (f + 2) * x(place(a, b, c, d, e, f));
  }
};
struct SumCells5 : SumCells {
  using value_type = long;
};
struct SumCellsOfArgument {
  using value_type = long;
  Place place;
  KOKKOS_FUNCTION void operator()(Mark, int a, int b, int c, int d, int e, int f,
                                  View<int const*> const& x, long& sum) const {
    sum += (a + 1) * (f + 2) * x(place(a, b, c, d, e, f));
  }
};

template <int rank, class... Tag>
using Box = Kokkos::MDRangePolicy<Space, Kokkos::Rank<rank>, Tag...>;

/// Extents of so many indices; those up to 4096 may be a plain loop.
template <int rank>
void check_box(int const (&extents)[6], Box<rank> const& inner, Box<rank, Mark> const& tagged) {
  int cells = 1;
  Place place{{1, 1, 1, 1, 1, 1}};
  for (int k = 0; k < rank; ++k) cells *= place.extents[k] = extents[k];
  View<int*> const x("x", static_cast<std::size_t>(cells)), y("y", static_cast<std::size_t>(cells));
  Kokkos::parallel_for(inner, CountCells{x, place});
  Kokkos::fence();
  long of_kokkos = 0;
  Kokkos::parallel_reduce(inner, SumCells5{{x, place}}, of_kokkos);
  EXPECT_GT(of_kokkos, 0);
  std::vector<int> const expected = values_of(x);
  in_every_way(
      [&](auto& target) {
        deep_copy("clear", target, y, 0);
        parallel_for("count", ResourcePolicy(target, inner, write(y)), CountCells{y, place});
        return parallel_reduce("sum", ResourcePolicy(target, inner, read(y)),
                               SumCells5{{y, place}});
      },
      [&](Future<long> const& sum) {
        EXPECT_EQ(sum.get(), of_kokkos);
        EXPECT_EQ(values_of(y), expected);
      },
      y);
  if constexpr (rank == 6) {
    in_every_way(
        [&](auto& target) {
          return parallel_reduce("sum", ResourcePolicy(target, tagged, read(y)),
                                 SumCellsOfArgument{place});
        },
        [&](Future<long> const& sum) { EXPECT_EQ(sum.get(), of_kokkos); }, y);
  }
}

SPACE_TEST(MDRangeOfRank, Five) {
  check_box<5>({3, 4, 2, 5, 3, 1}, {{1, 0, 0, 2, 0}, {3, 4, 2, 5, 2}},
               {{1, 0, 0, 2, 0}, {3, 4, 2, 5, 2}});
  check_box<5>({7, 6, 5, 8, 5, 1}, {{0, 0, 0, 0, 1}, {7, 6, 5, 8, 5}, {2, 3, 2, 4, 2}},
               {{0, 0, 0, 0, 1}, {7, 6, 5, 8, 5}});
}
SPACE_TEST(MDRangeOfRank, Six) {
  check_box<6>({3, 4, 2, 3, 2, 3}, {{1, 0, 0, 1, 0, 0}, {3, 4, 2, 3, 2, 2}},
               {{1, 0, 0, 1, 0, 0}, {3, 4, 2, 3, 2, 2}});
  check_box<6>({4, 5, 4, 5, 4, 4}, {{0, 0, 0, 0, 0, 1}, {4, 5, 4, 5, 4, 4}, {2, 2, 2, 2, 1, 2}},
               {{0, 0, 0, 0, 0, 1}, {4, 5, 4, 5, 4, 4}});
}

struct NoteOrder {
  View<int*> order;
  View<int> next;
  Place digits;
  template <std::integral... Index>
  KOKKOS_FUNCTION void operator()(Index... index) const
    requires(sizeof...(Index) >= 5)
  {
    order(next()++) = digits(index...);
  }
};

/// A loop over two values of each index; the digits of a number are the indices.
template <int rank, Kokkos::Iterate inner>
void check_order() {
  using Policy = Kokkos::MDRangePolicy<Space, Kokkos::Rank<rank, Kokkos::Iterate::Default, inner>>;
  typename Policy::point_type lower{}, upper{};
  for (int k = 0; k < rank; ++k) upper[static_cast<std::size_t>(k)] = 2;
  TaskGraph graph(Test::with_workers(1));
  View<int*> const order("order", 1 << rank);
  View<int> const next("next");
  parallel_for("in order", ResourcePolicy(graph, Policy(lower, upper), write(order), write(next)),
               NoteOrder{order, next, {{10, 10, 10, 10, 10, 10}}});
  graph.wait();
  std::vector<int> expected;
  for (int count = 0; count < 1 << rank; ++count) {
    int number = 0;
    for (int k = 0; k < rank; ++k)  // the leftmost index is the first digit
      number = number * 10 + (count >> (inner == Kokkos::Iterate::Left ? k : rank - 1 - k)) % 2;
    expected.push_back(number);
  }
  EXPECT_EQ(values_of(order), expected);
}

SPACE_TEST(MDRangeOfRank, FiveAndSixOfOneThreadAreInTheOrderOfTheirPattern) {
  if (Impl::DeviceSpace<Space>) GTEST_SKIP() << "indices have no order";
  check_order<5, Kokkos::Iterate::Right>();
  check_order<5, Kokkos::Iterate::Left>();
  check_order<6, Kokkos::Iterate::Right>();
  check_order<6, Kokkos::Iterate::Left>();
}

}  // namespace kept_policies
}  // namespace
}  // namespace trellis
