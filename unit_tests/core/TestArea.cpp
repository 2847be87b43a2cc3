// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RandomNumbers.hpp"

#include <Trellis_Area.hpp>
#include <task/Trellis_ViewShape.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <ostream>
#include <utility>
#include <vector>

namespace {

using trellis::Impl::Area;
using trellis::Test::pick;
using trellis::Test::Random;
using Numbers = std::vector<std::uint64_t>;

constexpr std::uintptr_t base = std::uintptr_t{1} << 20;  // of the imagined allocation

/// What a View is to Trellis: the first element (bytes from the base), extents and strides in
/// elements.
struct Shape {
  std::uint64_t offset = 0;
  std::uint64_t element = 1;
  Numbers extents{};
  Numbers strides{};

  int rank() const { return static_cast<int>(extents.size()); }
  Area area() const {
    return Area::strided(reinterpret_cast<void const*>(base + offset), element, rank(),
                         extents.data(), strides.data());
  }
  /// The oracle: every byte, sorted, once.
  Numbers bytes() const {
    Numbers result;
    for (std::uint64_t n = 0; n < element; ++n) result.push_back(base + offset + n);
    for (int k = 0; k < rank(); ++k) {
      Numbers const before = std::exchange(result, {});
      for (std::uint64_t x = 0; x < extents[k]; ++x)
        for (std::uint64_t byte : before) result.push_back(byte + x * strides[k] * element);
      std::sort(result.begin(), result.end());
      result.erase(std::unique(result.begin(), result.end()), result.end());
    }
    return result;
  }
};

std::ostream& operator<<(std::ostream& out, Shape const& shape) {
  out << "{" << shape.offset << ", " << shape.element << ", {";
  for (auto e : shape.extents) out << e << ", ";
  out << "}, {";
  for (auto s : shape.strides) out << s << ", ";
  return out << "}} = " << to_string(shape.area(), base);
}

bool share(Numbers const& a, Numbers const& b) {
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (*i == *j) return true;
    *i < *j ? ++i : ++j;
  }
  return false;
}

/// The bytes of an Area as its accessors describe them.
Numbers bytes_of(Area const& area) {
  Shape shape{area.begin() - base, 1, {area.run()}, {1}};
  for (int k = 0; k < area.rank(); ++k) {
    shape.extents.push_back(area.dimension(k).extent);
    shape.strides.push_back(area.dimension(k).stride);
  }
  return area.empty() ? Numbers{} : shape.bytes();
}

/// A View with LayoutLeft or LayoutRight (padded now and then), or with nested LayoutStride in any
/// order.
Shape random_view(Random& random, std::uint64_t most_bytes) {
  for (;;) {
    Shape shape;
    shape.element = Numbers{1, 2, 4, 8, 12, 16, 24}[pick(random, 0, 6)];
    int const rank = static_cast<int>(pick(random, 1, Area::max_rank));
    for (int k = 0; k < rank; ++k) shape.extents.push_back(pick(random, 1, rank < 4 ? 12 : 4));
    std::vector<int> order(rank);
    std::iota(order.begin(), order.end(), 0);  // LayoutLeft
    switch (pick(random, 0, 2)) {
      case 0:
        break;
      case 1:
        std::reverse(order.begin(), order.end());
        break;
      default:
        std::shuffle(order.begin(), order.end(), random);
    }
    shape.strides.resize(rank);
    std::uint64_t stride = 1;
    for (int k : order) {
      shape.strides[k] = stride;
      stride *= shape.extents[k];
      if (pick(random, 0, 4) == 0) stride += pick(random, 1, 3);
    }
    if (stride * shape.element <= most_bytes) return shape;
  }
}

/// A Kokkos::subview: each dimension is an integer, ALL or a range (possibly empty, seldom).
Shape random_subview(Random& random, Shape const& view) {
  Shape shape{view.offset, view.element, {}, {}};
  for (int k = 0; k < view.rank(); ++k) {
    std::uint64_t const extent = view.extents[k];
    std::uint64_t first = 0, last = extent;
    auto const kind = pick(random, 0, 3);
    if (extent == 0) {
      last = 0;
    } else if (kind == 1) {
      first = pick(random, 0, extent - 1);
      last = first + 1;
    } else if (kind >= 2) {
      first = pick(random, 0, extent - 1);
      last = pick(random, 0, 60) == 0 ? first : pick(random, first + 1, extent);
    }
    shape.offset += first * view.strides[k] * view.element;
    if (kind == 1 && extent > 0) continue;
    shape.extents.push_back(last - first);
    shape.strides.push_back(view.strides[k]);
  }
  return shape;
}

/// LayoutStride of the wild kind: 0, equal, overlapping and interleaving strides.
Shape random_strided(Random& random, std::uint64_t most_stride) {
  Shape shape;
  shape.offset = pick(random, 0, 64);
  shape.element = Numbers{1, 2, 3, 4, 8, 16}[pick(random, 0, 5)];
  int const rank = static_cast<int>(pick(random, 0, Area::max_rank));
  for (int k = 0; k < rank; ++k) {
    shape.extents.push_back(pick(random, 0, 50) == 0 ? 0 : pick(random, 1, rank < 4 ? 9 : 3));
    shape.strides.push_back(pick(random, 0, 8) == 0 ? 0 : pick(random, 1, most_stride));
    if (k > 0 && pick(random, 0, 5) == 0)
      shape.strides.back() = shape.strides[pick(random, 0, k - 1)];
  }
  return shape;
}

bool nested(Area const& area) {
  std::uint64_t span = area.end() - area.begin();
  for (int k = 0; k < area.rank(); ++k) {
    span -= area.dimension(k).stride * (area.dimension(k).extent - 1);
    if (area.dimension(k).stride < span) return false;
  }
  return true;
}

struct Tally {
  int pairs = 0, overlapping = 0, contained = 0;
};

/// Everything that must hold between two areas, against the oracle.
void check(Shape const& a, Shape const& b, Tally& tally) {
  Area const x = a.area(), y = b.area();
  Numbers const x_bytes = a.bytes(), y_bytes = b.bytes();
  ASSERT_EQ(bytes_of(x), x_bytes);
  ASSERT_EQ(x.begin(), x_bytes.empty() ? 0 : x_bytes.front());
  ASSERT_EQ(x.end(), x_bytes.empty() ? 0 : x_bytes.back() + 1);

  auto const exhausted = trellis::Impl::overlap_budget_exhausted();
  bool const shared = share(x_bytes, y_bytes);
  ASSERT_EQ(overlaps(x, y), shared);
  ASSERT_EQ(overlaps(y, x), shared);

  bool const inside = std::includes(x_bytes.begin(), x_bytes.end(), y_bytes.begin(), y_bytes.end());
  ASSERT_LE(contains(x, y), inside);
  if (nested(x)) {
    ASSERT_EQ(contains(x, y), inside);
  }

  ASSERT_LE(x == y, x_bytes == y_bytes);
  if (nested(x) && nested(y)) {
    ASSERT_EQ(x == y, x_bytes == y_bytes);
  }
  ASSERT_LE(x == y, x.hash() == y.hash());
  ASSERT_EQ(trellis::Impl::overlap_budget_exhausted(), exhausted);
  ++tally.pairs;
  tally.overlapping += shared;
  tally.contained += inside && !y.empty();
}

std::uint64_t const first_seed = 20240611;

TEST(Area, ARunIsItsBytes) {
  double data[4] = {};
  auto const at = reinterpret_cast<std::uintptr_t>(data);
  Area const area = Area::contiguous(data, sizeof(data));
  EXPECT_FALSE(area.empty());
  EXPECT_EQ(area.begin(), at);
  EXPECT_EQ(area.end(), at + 32);
  EXPECT_EQ(area.run(), 32u);
  EXPECT_EQ(area.rank(), 0);
  EXPECT_EQ(Area::contiguous(data, 0), Area{});
  EXPECT_TRUE(Area{}.empty());
}

TEST(Area, DescriptionsOfTheSameBytesAreEqual) {
  Area const run = Shape{0, 8, {12}, {1}}.area();
  EXPECT_EQ(run, Area::contiguous(reinterpret_cast<void const*>(base), 96));
  EXPECT_EQ(run, (Shape{0, 8, {3, 4}, {4, 1}}.area()));
  EXPECT_EQ(run, (Shape{0, 8, {3, 4}, {1, 3}}.area()));
  EXPECT_EQ(run, (Shape{0, 4, {2, 3, 1, 4}, {1, 8, 77, 2}}.area()));
  EXPECT_EQ(run, (Shape{0, 8, {12, 5}, {1, 0}}.area())) << "stride 0";
  EXPECT_EQ(run, (Shape{0, 8, {11, 2}, {1, 1}}.area())) << "overlapping strides";
  EXPECT_EQ(run.hash(), (Shape{0, 8, {3, 4}, {4, 1}}.area().hash()));

  Area const column = Shape{16, 8, {8}, {16}}.area();
  ASSERT_EQ(column.rank(), 1);
  EXPECT_EQ(column.dimension(0), (Area::Dimension{128, 8}));
  EXPECT_EQ(column, (Shape{16, 8, {2, 4}, {64, 16}}.area())) << "two halves";
  EXPECT_EQ(column, (Shape{16, 8, {4, 2}, {32, 16}}.area())) << "even and odd rows";
  EXPECT_NE(column, (Shape{24, 8, {8}, {16}}.area()));
  EXPECT_NE(column, (Shape{16, 8, {7}, {16}}.area()));
  EXPECT_EQ((Shape{16, 8, {8, 0}, {16, 1}}.area()), Area{});
  EXPECT_EQ((Shape{16, 0, {8}, {16}}.area()), Area{});
}

TEST(Area, ACopyEqualsItsOriginal) {
  Area const tile = Shape{16, 8, {4, 5, 2}, {100, 20, 1}}.area();
  Area copy = tile;
  EXPECT_EQ(copy, tile);
  copy = Area{};
  EXPECT_TRUE(copy.empty());
  copy = tile;
  EXPECT_EQ(copy, tile);
  EXPECT_EQ(copy.hash(), tile.hash());
}

TEST(Area, TextSaysWhichBytes) {
  EXPECT_EQ(to_string(Area{}, base), "empty");
  EXPECT_EQ(to_string(Shape{16, 8, {64}, {1}}.area(), base), "[16, 528)");
  EXPECT_EQ(to_string(Shape{16, 8, {8}, {16}}.area(), base), "[16, 24) x 8 every 128");
  EXPECT_EQ(to_string(Shape{16, 8, {2, 8}, {512, 16}}.area(), base),
            "[16, 24) x 8 every 128 x 2 every 4096");
  EXPECT_EQ(to_string(Shape{16, 8, {1}, {1}}.area(), base + 32), "[-16, -8)");
}

TEST(Area, TextSaysWhichIndices) {
  using trellis::Impl::area_text;
  trellis::Impl::ViewShape const rows{8, 2, {80, 8}}, columns{8, 2, {8, 80}}, line{8, 1, {8}};
  auto const at = [](std::uint64_t i, std::uint64_t j) { return (10 * i + j) * 8; };
  Area const tile = Shape{at(2, 3), 8, {4, 5}, {10, 1}}.area();
  EXPECT_EQ(area_text(tile, base, rows), "[2, 6) x [3, 8)");
  EXPECT_EQ(area_text(tile, base, columns), "[3, 8) x [2, 6)");
  EXPECT_EQ(area_text(tile, base, line), "[23, 28) x 4 every 10");
  EXPECT_EQ(area_text(Shape{at(2, 0), 8, {20}, {1}}.area(), base, rows), "[2, 4) x [0, 10)");
  EXPECT_EQ(area_text(Shape{at(2, 3), 8, {5}, {10}}.area(), base, rows), "[2, 7) x [3, 4)");
  EXPECT_EQ(area_text(Shape{at(2, 3), 8, {3}, {1}}.area(), base, line), "[23, 26)");
  // No box: a run that begins in one row and ends in another, and every other element.
  EXPECT_EQ(area_text(Shape{at(2, 3), 8, {15}, {1}}.area(), base, rows), "[23, 38)");
  EXPECT_EQ(area_text(Shape{at(2, 8), 8, {4}, {1}}.area(), base, rows), "[28, 32)");
  EXPECT_EQ(area_text(Shape{at(0, 0), 8, {5}, {2}}.area(), base, rows), "[0, 1) x 5 every 2");
  EXPECT_EQ(area_text(Shape{at(0, 0), 8, {4}, {11}}.area(), base, rows), "[0, 1) x 4 every 11");
  // Of other elements, and of none that anybody knows.
  EXPECT_EQ(area_text(Shape{20, 4, {1}, {1}}.area(), base, rows), "[20, 24) bytes");
  EXPECT_EQ(area_text(Shape{16, 8, {64}, {1}}.area(), base, {}), "[16, 528)");
  EXPECT_EQ(area_text(Area{}, base, rows), "empty");
}

TEST(Area, TextSaysWhichIndicesOfEveryBox) {
  // All boxes of a 3 x 4 x 5 View, in both layouts.
  trellis::Impl::ViewShape const right{8, 3, {160, 40, 8}}, left{8, 3, {8, 24, 96}};
  for (trellis::Impl::ViewShape const& shape : {right, left})
    for (std::uint64_t a = 0; a < 3; ++a)
      for (std::uint64_t b = a + 1; b <= 3; ++b)
        for (std::uint64_t c = 0; c < 4; ++c)
          for (std::uint64_t d = c + 1; d <= 4; ++d)
            for (std::uint64_t e = 0; e < 5; ++e)
              for (std::uint64_t f = e + 1; f <= 5; ++f) {
                auto const& s = shape.strides;
                std::uint64_t const first = a * s[0] + c * s[1] + e * s[2];
                Area const box =
                    Shape{first, 8, {b - a, d - c, f - e}, {s[0] / 8, s[1] / 8, s[2] / 8}}.area();
                auto const range = [](std::uint64_t from, std::uint64_t to) {
                  return '[' + std::to_string(from) + ", " + std::to_string(to) + ')';
                };
                EXPECT_EQ(trellis::Impl::area_text(box, base, shape),
                          range(a, b) + " x " + range(c, d) + " x " + range(e, f));
              }
}

TEST(Area, TilesOverlapOnlyWhereTheyMeet) {
  // A 1000 x 1000 matrix of doubles, row major.
  auto const tile = [](std::uint64_t i, std::uint64_t j, std::uint64_t rows,
                       std::uint64_t columns) {
    return Shape{(i * 1000 + j) * 8, 8, {rows, columns}, {1000, 1}}.area();
  };
  Area const whole = tile(0, 0, 1000, 1000);
  Area const center = tile(100, 100, 100, 100);
  EXPECT_FALSE(overlaps(center, tile(100, 200, 100, 100)));
  EXPECT_FALSE(overlaps(center, tile(200, 100, 100, 100)));
  EXPECT_FALSE(overlaps(center, tile(0, 0, 100, 100)));
  EXPECT_TRUE(overlaps(center, tile(199, 199, 100, 100)));
  EXPECT_TRUE(overlaps(center, whole));
  EXPECT_FALSE(overlaps(tile(0, 3, 1000, 1), tile(0, 4, 1000, 1))) << "columns";
  EXPECT_TRUE(overlaps(tile(0, 3, 1000, 1), tile(7, 0, 1, 1000))) << "column and row";
  EXPECT_FALSE(overlaps(Area{}, whole));

  EXPECT_EQ(whole.rank(), 0);
  EXPECT_TRUE(contains(whole, center));
  EXPECT_FALSE(contains(center, whole));
  EXPECT_TRUE(contains(center, center));
  EXPECT_TRUE(contains(center, tile(150, 100, 1, 100))) << "a row of the tile";
  EXPECT_TRUE(contains(center, tile(100, 100, 2, 100))) << "a halo strip";
  EXPECT_TRUE(contains(center, tile(100, 198, 100, 2))) << "a halo strip";
  EXPECT_FALSE(contains(center, tile(100, 199, 100, 2)));
  EXPECT_FALSE(contains(center, tile(199, 100, 2, 100)));
  EXPECT_FALSE(contains(center, tile(150, 0, 1, 1000)));
  EXPECT_TRUE(contains(center, Area{}));
  EXPECT_FALSE(contains(Area{}, center));
}

TEST(Area, DiagonalsMeetTilesWhereTheyShould) {
  std::uint64_t const n = 10000;
  Area const diagonal = Shape{0, 8, {n}, {n + 1}}.area();
  Area const above = Shape{8, 8, {n - 1}, {n + 1}}.area();
  EXPECT_FALSE(overlaps(diagonal, above));
  for (std::uint64_t i = 0; i < n; i += 100) {
    Area const column = Shape{i * 8, 8, {n}, {n}}.area();
    EXPECT_TRUE(overlaps(diagonal, column));
    EXPECT_FALSE(contains(diagonal, column));
    Area const upper = Shape{i * 8, 8, {i}, {n}}.area();  // of the column, above the diagonal
    EXPECT_FALSE(overlaps(diagonal, upper)) << i;
    for (std::uint64_t j = 0; j < n; j += 500)
      EXPECT_EQ(overlaps(diagonal, Shape{(i * n + j) * 8, 8, {100, 500}, {n, 1}}.area()),
                i / 500 == j / 500);
  }
}

TEST(Area, SubviewsOfOneViewAgreeWithBruteForce) {
  Tally tally;
  for (std::uint64_t seed = first_seed; seed < first_seed + 6000; ++seed) {
    Random random(seed);
    Shape const view = random_view(random, 4000);
    Shape const a = random_subview(random, view),
                b = random_subview(random, pick(random, 0, 1) ? view : a);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << a << " and " << b);
    check(a, b, tally);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(tally.overlapping, tally.pairs / 20);
  EXPECT_LT(tally.overlapping, tally.pairs * 19 / 20);
  EXPECT_GT(tally.contained, tally.pairs / 20);
}

TEST(Area, SubviewsOfDifferentViewsOfOneAllocationAgreeWithBruteForce) {
  Tally tally;
  for (std::uint64_t seed = first_seed; seed < first_seed + 6000; ++seed) {
    Random random(seed);
    Shape view = random_view(random, 4000), other = random_view(random, 4000);
    other.offset = pick(random, 0, 100);
    Shape const a = random_subview(random, view), b = random_subview(random, other);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << a << " and " << b);
    check(a, b, tally);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(tally.overlapping, tally.pairs / 20);
  EXPECT_GT(tally.contained, tally.pairs / 100);
}

TEST(Area, ArbitraryStridesAgreeWithBruteForce) {
  Tally tally;
  for (std::uint64_t seed = first_seed; seed < first_seed + 12000; ++seed) {
    Random random(seed);
    std::uint64_t const most = Numbers{3, 12, 60, 400}[seed % 4];
    Shape const a = random_strided(random, most), b = random_strided(random, most);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << a << " and " << b);
    check(a, b, tally);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(tally.overlapping, tally.pairs / 20);
  EXPECT_LT(tally.overlapping, tally.pairs * 19 / 20);
}

TEST(Area, ASubviewOfAWildViewAgreesWithBruteForce) {
  Tally tally;
  for (std::uint64_t seed = first_seed; seed < first_seed + 6000; ++seed) {
    Random random(seed);
    Shape view = random_strided(random, 40);
    for (auto& extent : view.extents) extent = std::max<std::uint64_t>(extent, 1);
    Shape const a = random_subview(random, view), b = random_subview(random, view);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << a << " and " << b);
    check(a, b, tally);
    if (HasFatalFailure()) return;
  }
}

/// Few large strides with nothing in common: where the search has most to do, and Euclid's
/// algorithm helps.
TEST(Area, LongInterleavingStridesAgreeWithBruteForce) {
  Tally tally;
  for (std::uint64_t seed = first_seed; seed < first_seed + 3000; ++seed) {
    Random random(seed);
    auto const shape = [&] {
      Shape result{pick(random, 0, 20000), pick(random, 1, 8), {}, {}};
      for (auto rank = pick(random, 1, 2); rank > 0; --rank) {
        result.extents.push_back(pick(random, 2, rank == 1 ? 300 : 12));
        result.strides.push_back(pick(random, 20, 300));
      }
      return result;
    };
    Shape const a = shape(), b = shape();
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << a << " and " << b);
    check(a, b, tally);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(tally.overlapping, tally.pairs / 20);
  EXPECT_LT(tally.overlapping, tally.pairs * 19 / 20);
}

TEST(Area, LargeSubviewsNeverReachTheSearchBudget) {
  std::uint64_t const before = trellis::Impl::overlap_budget_exhausted();
  for (std::uint64_t seed = first_seed; seed < first_seed + 20000; ++seed) {
    Random random(seed);
    auto const shape = [&] {
      Shape result{pick(random, 0, 1 << 20), Numbers{1, 4, 8, 16}[pick(random, 0, 3)], {}, {}};
      std::uint64_t stride = 1;
      for (auto rank = pick(random, 1, 8); rank > 0; --rank) {
        std::uint64_t const extent = pick(random, 1, 40);
        result.extents.push_back(pick(random, 1, extent));
        result.strides.push_back(stride);
        stride = stride * extent + (pick(random, 0, 3) == 0 ? pick(random, 0, 9) : 0);
      }
      return result;
    };
    Shape const a = shape(), b = shape();
    Area const x = a.area(), y = b.area();
    EXPECT_EQ(overlaps(x, y), overlaps(y, x)) << "seed " << seed << ": " << a << " and " << b;
    EXPECT_TRUE(contains(x, x));
    contains(x, y);
  }
  EXPECT_EQ(trellis::Impl::overlap_budget_exhausted(), before);
}

TEST(Area, SubviewsOfOneViewWithWildStridesNeverReachTheSearchBudget) {
  std::uint64_t const before = trellis::Impl::overlap_budget_exhausted();
  for (std::uint64_t seed = first_seed; seed < first_seed + 5000; ++seed) {
    Random random(seed);
    Shape view{0, 8, {}, {}};
    for (auto rank = pick(random, 1, 8); rank > 0; --rank) {
      view.extents.push_back(pick(random, 1, 20));
      view.strides.push_back(pick(random, 0, 10000));
    }
    Shape const a = random_subview(random, view), b = random_subview(random, view);
    Area const x = a.area(), y = b.area();
    EXPECT_EQ(overlaps(x, y), overlaps(y, x)) << "seed " << seed << ": " << a << " and " << b;
  }
  EXPECT_EQ(trellis::Impl::overlap_budget_exhausted(), before);
}

TEST(Area, WhereTheSearchGivesUpTheAnswerIsTrue) {
  int gave_up = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + 20; ++seed) {
    Random random(seed);
    Shape a{0, 8, {}, {}}, b{8, 8, {}, {}};
    for (Shape* shape : {&a, &b})
      for (int k = 0; k < 4; ++k) {
        shape->extents.push_back(200);
        shape->strides.push_back(pick(random, 10000000, 100000000));
      }
    std::uint64_t const before = trellis::Impl::overlap_budget_exhausted();
    bool const result = overlaps(a.area(), b.area());
    if (trellis::Impl::overlap_budget_exhausted() == before) continue;
    EXPECT_TRUE(result) << "seed " << seed;
    ++gave_up;
  }
  EXPECT_GT(gave_up, 0);
}

/// Has each index an element of its own? The oracle counts them.
bool are_distinct(Shape const& shape) {
  std::uint64_t indices = 1;
  for (std::uint64_t const extent : shape.extents) indices *= extent;
  Shape const of_bytes{0, 1, shape.extents, shape.strides};
  return of_bytes.bytes().size() == indices;
}
void check_distinct(Shape const& shape) {
  ASSERT_EQ(trellis::Impl::are_distinct(shape.rank(), shape.extents.data(), shape.strides.data()),
            are_distinct(shape))
      << shape;
}

TEST(Area, TellsWhetherIndicesShareAnElement) {
  check_distinct({0, 1, {}, {}});
  for (std::uint64_t a = 0; a < 5; ++a)
    for (std::uint64_t b = 0; b < 5; ++b)
      for (std::uint64_t s = 0; s < 9; ++s)
        for (std::uint64_t t = 0; t < 9; ++t) check_distinct({0, 1, {a, b}, {s, t}});
  int distinct = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + 4000; ++seed) {
    Random random(seed);
    Shape const shape = random_strided(random, pick(random, 1, 40));
    check_distinct(shape);
    distinct += are_distinct(shape);
    check_distinct(random_subview(random, random_view(random, 1 << 12)));
  }
  EXPECT_GT(distinct, 400);
}

}  // namespace
