// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies of Views with any strides keep indices and write nowhere else, or are refused.
#include "StridedViews.hpp"
#include "Timing.hpp"

#include <Trellis.hpp>
#include <Trellis_Late.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace trellis {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t room = 150;
using Memory = std::vector<long>;

Memory numbered(long from) {
  Memory memory(room);
  for (std::size_t k = 0; k < room; ++k) memory[k] = from + static_cast<long>(k);
  return memory;
}

/// What the call says, or nothing.
template <class Call>
std::string refusal_of(Call&& call) {
  try {
    call();
  } catch (Error const& error) {
    EXPECT_EQ(error.kind(), Error::Kind::bad_input);
    return error.what();
  }
  return {};
}

struct Tally {
  int copied = 0, refused = 0;
};

/// `target` and `source` may be the same memory. Copies, or is refused before anything happens.
template <class D, class S>
void check_copy(Memory& target, Memory& source, D const& to, S const& from, Tally& tally) {
  auto const written = trellis::Test::elements_of(to, target.data());
  auto const read = trellis::Test::elements_of(from, source.data());
  Memory const before_target = target, before_source = source;
  TaskGraph graph;
  bool const refused = !refusal_of([&] { trellis::deep_copy("copy", graph, to, from); }).empty();
  EXPECT_NO_THROW(graph.wait());
  Memory right = before_target;
  if (!refused)
    for (std::size_t k = 0; k < written.size(); ++k)
      right[static_cast<std::size_t>(written[k])] =
          before_source[static_cast<std::size_t>(read[k])];
  ASSERT_EQ(target, right);
  if (&target != &source) {
    ASSERT_EQ(source, before_source);
  }
  std::set<std::ptrdiff_t> const w(written.begin(), written.end()), r(read.begin(), read.end());
  bool const meet = &target == &source && std::any_of(w.begin(), w.end(), [&](std::ptrdiff_t each) {
    return r.contains(each);
  });
  // Where no element is shared, nor has two indices, Kokkos alone may be the reason.
  bool const is_plain = !meet && w.size() == written.size() && Impl::lies_in_one_piece(to);
  if (is_plain) {
    ASSERT_FALSE(refused);
  }
  if (meet && written != read) {
    ASSERT_TRUE(refused);
  }
  if (w.size() != written.size() && written != read) {
    ASSERT_TRUE(refused);
  }
  ++(refused ? tally.refused : tally.copied);
}

template <class V>
void check_fill(Memory& memory, V const& view, Tally& tally) {
  auto const written = trellis::Test::elements_of(view, memory.data());
  Memory right = memory;
  TaskGraph graph;
  bool const refused = !refusal_of([&] { trellis::deep_copy("fill", graph, view, 7); }).empty();
  EXPECT_NO_THROW(graph.wait());
  if (!refused)
    for (std::ptrdiff_t const each : written) right[static_cast<std::size_t>(each)] = 7;
  ASSERT_EQ(memory, right);
  if (Impl::lies_in_one_piece(view)) {
    ASSERT_FALSE(refused);
  }
  ++(refused ? tally.refused : tally.copied);
}

template <std::size_t rank>
void check_random_copies(bool in_one_memory) {
  std::mt19937_64 random(in_one_memory ? 7 + rank : 70 + rank);
  Tally copies, fills;
  for (int k = 0; k < 120; ++k) {
    Memory m = numbered(1000), n = numbered(5000);
    trellis::Test::RandomShape<rank> const to(random, room);
    trellis::Test::RandomShape<rank> from(random, room);
    // The same extents, and often the same strides.
    from.extents = to.extents;
    if (k % 3 != 0) from.strides = to.strides;
    if (k % 6 == 1) std::reverse(from.strides.begin(), from.strides.end());
    if (k % 2 == 0) from.first = to.first;
    std::size_t reach = from.first + 1;
    for (std::size_t d = 0; d < rank; ++d)
      if (from.extents[d] > 0) reach += (from.extents[d] - 1) * from.strides[d];
    if (reach > room) continue;
    auto const view =
        trellis::Test::strided_view<long, rank>(m.data() + to.first, to.extents, to.strides);
    Memory& other = in_one_memory ? m : n;
    check_copy(m, other, view,
               trellis::Test::strided_view<long, rank>(other.data() + from.first, from.extents,
                                                       from.strides),
               copies);
    check_fill(m, view, fills);
  }
  EXPECT_GT(copies.copied, 10);
  EXPECT_GT(fills.copied, 40);
}

TEST(CopyAreas, BetweenTwoPiecesOfMemory) {
  check_random_copies<1>(false);
  check_random_copies<2>(false);
  check_random_copies<3>(false);
  check_random_copies<5>(false);
}
TEST(CopyAreas, WithinOnePieceOfMemory) {
  check_random_copies<1>(true);
  check_random_copies<2>(true);
  check_random_copies<3>(true);
}

TEST(CopyAreas, ATransposingCopyInPlaceIsRefusedAndNamesBothViews) {
  Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> const rows("rows", 4, 4);
  Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace,
               Kokkos::MemoryTraits<Kokkos::Unmanaged>> const columns(rows.data(), 4, 4);
  TaskGraph graph;
  unsigned const line = __LINE__ + 1;
  auto const text = refusal_of([&] { trellis::deep_copy("transpose", graph, rows, columns); });
  EXPECT_THAT(text, AllOf(HasSubstr("\"transpose\" ("), HasSubstr(":" + std::to_string(line)),
                          HasSubstr("to \"rows\""), HasSubstr("they share memory")));
  EXPECT_EQ(graph.submitted(), 0u);
  // The same indices are the same elements: nothing to do.
  trellis::deep_copy(graph, rows, rows);
  trellis::deep_copy(graph, Kokkos::subview(columns, 1, Kokkos::ALL),
                     Kokkos::subview(rows, Kokkos::ALL, 1));
  EXPECT_NO_THROW(graph.wait());
  // Two halves that do not meet.
  EXPECT_EQ(refusal_of([&] {
              trellis::deep_copy(graph, Kokkos::subview(rows, std::pair(0, 2), Kokkos::ALL),
                                 Kokkos::subview(rows, std::pair(2, 4), Kokkos::ALL));
            }),
            "");
  EXPECT_THAT(refusal_of([&] {
                trellis::deep_copy(graph, Kokkos::subview(rows, std::pair(0, 3), Kokkos::ALL),
                                   Kokkos::subview(rows, std::pair(1, 4), Kokkos::ALL));
              }),
              HasSubstr("they share memory"));
}

TEST(CopyAreas, ALateViewIsRefusedWhenTheCopyRuns) {
  TaskGraph graph;
  LateView<int**, Kokkos::HostSpace, Kokkos::LayoutRight> const late("late");
  allocate("allocate", ResourcePolicy(graph), late, 3, 3);
  int* const first =
      host_task("where", ResourcePolicy(graph, read_write(late)), [](auto const& view) {
        return view.data();
      }).get();
  Kokkos::View<int**, Kokkos::LayoutLeft, Kokkos::HostSpace,
               Kokkos::MemoryTraits<Kokkos::Unmanaged>> const turned(first, 3, 3);
  trellis::deep_copy("turn", graph, turned, late);
  EXPECT_THAT(trellis::Test::error_of([&] { graph.wait(); }).what(),
              AllOf(HasSubstr("\"turn\""), HasSubstr("they share memory")));
}

}  // namespace
}  // namespace trellis
