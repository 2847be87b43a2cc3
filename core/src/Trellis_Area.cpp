// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <Trellis_Area.hpp>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

namespace trellis::Impl {

Area Area::strided(void const* first_element, std::uint64_t element_bytes, int rank,
                   std::uint64_t const* extents, std::uint64_t const* strides) noexcept {
  assert(0 <= rank && rank <= max_rank);
  Area area;
  if (element_bytes == 0) return area;

  Dimension sorted[max_rank];  // stride ascending
  int count = 0;
  for (int k = 0; k < rank; ++k) {
    if (extents[k] == 0) return area;
    if (extents[k] == 1 || strides[k] == 0) continue;
    std::uint64_t const stride = strides[k] * element_bytes;
    int at = count++;
    for (; at > 0 && sorted[at - 1].stride > stride; --at) sorted[at] = sorted[at - 1];
    sorted[at] = {stride, extents[k]};
  }

  // From the inside out, merge each dimension into the run, or into the one inside it, if that
  // leaves the bytes unchanged.
  std::uint64_t run = element_bytes;
  std::uint64_t end = element_bytes;
  int kept = 0;
  for (int k = 0; k < count; ++k) {
    auto const [stride, extent] = sorted[k];
    end += stride * (extent - 1);
    if (kept == 0) {
      if (stride <= run)
        run = end;
      else
        sorted[kept++] = sorted[k];
      continue;
    }
    auto& [inner_stride, inner_extent] = sorted[kept - 1];
    std::uint64_t const reach = inner_stride * inner_extent;
    if (stride == reach)
      inner_extent *= extent;
    else if (stride < reach && stride % inner_stride == 0)
      inner_extent += stride / inner_stride * (extent - 1);
    else
      sorted[kept++] = sorted[k];
  }

  area.m_begin = reinterpret_cast<std::uintptr_t>(first_element);
  area.m_end = area.m_begin + end;
  area.m_run = run;
  area.m_rank = kept;
  for (int k = 0; k < kept; ++k) area.m_dimensions[k] = sorted[kept - 1 - k];
  return area;
}

namespace {

std::atomic<std::uint64_t> exhausted{0};

/// True if low <= (a * t) mod m <= high for some 0 <= t <= last. Requires a, m > 0, 0 < low <= high
/// < m, and that a * last does not overflow. This is Euclid's algorithm, with a <= m / 2 (else
/// mirrored). Either a multiple of a below m is in the interval, or the interval is shorter than a.
/// Then the question is which wrap around m is the first to lead into it: the same question with
/// the modulus a.
bool multiple_in(std::int64_t a, std::int64_t m, std::int64_t low, std::int64_t high,
                 std::int64_t last) noexcept {
  for (;;) {
    a %= m;
    if (a > m - a) {
      a = m - a;
      std::swap(low, high);
      low = m - low;
      high = m - high;
    }
    if (low > a * last) return false;
    if (high / a * a >= low) return true;
    last = (a * last - low) / m;
    low %= a;
    high %= a;
    m = std::exchange(a, (a - m % a) % a);
  }
}

/// Tells if the sum of stride[k] * z[k] is in [low, high] for some integers 0 <= z[k] <= bound[k].
struct Sum {
  int count = 0;  // strides descend strictly
  std::int64_t stride[2 * Area::max_rank];
  std::int64_t bound[2 * Area::max_rank];
  std::int64_t reach[2 * Area::max_rank + 1];  // the largest sum of the terms from k on
  std::int64_t gap[2 * Area::max_rank + 1];  // no two neighbours among these sums are further apart
  std::int64_t gcd[2 * Area::max_rank];  // divides all of these sums; 1 until it is worth its cost
  std::int64_t window = 0;               // high - low, the same in all steps
  int steps = 0;

  void add(std::uint64_t s, std::uint64_t n) noexcept {
    if (n == 0) return;
    stride[count] = static_cast<std::int64_t>(s);
    bound[count] = static_cast<std::int64_t>(n);
    ++count;
  }

  bool meets(std::int64_t low, std::int64_t high) noexcept {
    window = high - low;
    reach[count] = 0;
    gap[count] = 0;
    for (int k = count - 1; k >= 0; --k) {
      reach[k] = reach[k + 1] + stride[k] * bound[k];
      gap[k] = std::max(gap[k + 1], stride[k] - reach[k + 1]);
      gcd[k] = 1;
    }
    return high >= 0 && low <= reach[0] && search(0, low, high);
  }

 private:
  void find_gcds() noexcept {
    for (int k = count - 1; k >= 0; --k)
      gcd[k] = k + 1 < count ? std::gcd(stride[k], gcd[k + 1]) : stride[k];
  }

  // Requires 0 <= high, low <= reach[k].
  bool search(int k, std::int64_t low, std::int64_t high) noexcept {
    if (low <= 0 || high >= reach[k]) return true;  // the sums 0 and reach[k]
    if (gap[k] <= window + 1) return true;          // no way to step over the window
    std::int64_t const s = stride[k];
    if (k + 1 == count) return high % s <= window;
    if (++steps == 32) find_gcds();
    if (high % gcd[k] > window) return false;

    // The values of z[k] that leave a rest which the other terms can reach, the largest first.
    std::int64_t const rest = reach[k + 1];
    std::int64_t const z = std::min(high / s, bound[k]);
    low -= s * z;
    high -= s * z;
    if (low > rest) return false;
    if (k + 2 < count) {
      for (std::int64_t left = z; left >= 0 && low <= rest; --left, low += s, high += s) {
        if (steps > overlap_budget || search(k + 1, low, high)) return true;
      }
      return false;
    }

    // One term is left: is a multiple of t in one of the windows? Multiples between 0 and rest need
    // no search: each window reaches into that interval, whose ends are multiples of t.
    std::int64_t const more = std::min(z, (rest - low) / s);
    std::int64_t const t = stride[k + 1];
    std::int64_t const off = high % t;
    if (off <= window) return true;
    return more > 0 && multiple_in(s, t, t - off, t - off + window, more);
  }
};

/// An area, or a part of one that need not be canonical.
struct Lattice {
  std::uintptr_t begin;
  std::uintptr_t end;
  std::uint64_t run;
  int rank;
  Area::Dimension const* dimension;  // strides descend strictly
};

// A byte is shared when a.begin + sum a_k x_k + u = b.begin + sum b_k y_k + v with every index in
// its extent and 0 <= u < a.run, 0 <= v < b.run. Count y from its last value down (y = extent - 1 -
// y'). Then all signs become plus, sum a_k x_k + sum b_k y'_k  =  (b.end - b.run - a.begin) + v -
// u, where v - u takes every value of [1 - a.run, b.run - 1]. Terms of equal stride are one term
// whose bound is the sum of theirs. So the two overlap exactly when such a sum lies in an interval.
bool share_a_byte(Lattice const& a, Lattice const& b) noexcept {
  Sum sum;
  int i = 0, j = 0;
  while (i < a.rank || j < b.rank) {
    std::uint64_t const s = i < a.rank ? a.dimension[i].stride : 0;
    std::uint64_t const t = j < b.rank ? b.dimension[j].stride : 0;
    std::uint64_t bound = 0;
    if (s >= t) bound += a.dimension[i++].extent - 1;
    if (t >= s) bound += b.dimension[j++].extent - 1;
    sum.add(std::max(s, t), bound);
  }
  auto const high = static_cast<std::int64_t>(b.end - 1 - a.begin);
  auto const window = static_cast<std::int64_t>(a.run - 1 + b.run - 1);
  bool const result = sum.meets(high - window, high);
  if (sum.steps > overlap_budget) exhausted.fetch_add(1, std::memory_order_relaxed);
  return result;
}

Lattice lattice(Area const& area) noexcept {
  return {area.begin(), area.end(), area.run(), area.rank(),
          area.rank() > 0 ? &area.dimension(0) : nullptr};
}

}  // namespace

std::uint64_t overlap_budget_exhausted() noexcept {
  return exhausted.load(std::memory_order_relaxed);
}

bool overlaps_strided(Area const& a, Area const& b) noexcept {
  return share_a_byte(lattice(a), lattice(b));
}

// The gaps in the span of a nested lattice are a union of lattices, one per dimension: the holes
// between neighbours in that dimension. So `inner` is contained when its span is (which the caller
// has checked) and it meets no hole.
bool contains_strided(Area const& outer, Area const& inner) noexcept {
  if (outer == inner) return true;
  Area::Dimension dimensions[Area::max_rank];
  std::uint64_t span = outer.end() - outer.begin();  // of everything inside dimension k
  for (int k = 0; k < outer.rank(); ++k) {
    auto const [stride, extent] = outer.dimension(k);
    dimensions[k] = {stride, extent - 1};
    span -= stride * (extent - 1);
    if (stride < span) return false;
    // The holes end where the last neighbour starts.
    std::uintptr_t const end = outer.end() - span;
    if (stride > span &&
        share_a_byte({outer.begin() + span, end, stride - span, k + 1, dimensions}, lattice(inner)))
      return false;
    ++dimensions[k].extent;
  }
  return true;
}

// Take two different indices that share an element, and the largest stride along which they differ.
// The element of the smaller index is among those of the inner directions alone. The element of the
// other is among the same, moved by 1 to extent - 1 such strides. So two areas are compared for
// each direction, and only where the inner ones reach as far as one stride.
bool are_distinct(int rank, std::uint64_t const* extents, std::uint64_t const* strides) noexcept {
  Area::Dimension sorted[Area::max_rank];  // stride ascending
  int count = 0;
  bool has_repeats = false;
  for (int k = 0; k < rank; ++k) {
    if (extents[k] == 0) return true;
    if (extents[k] == 1) continue;
    has_repeats = has_repeats || strides[k] == 0;
    int at = count++;
    for (; at > 0 && sorted[at - 1].stride > strides[k]; --at) sorted[at] = sorted[at - 1];
    sorted[at] = {strides[k], extents[k]};
  }
  if (has_repeats) return false;
  std::uint64_t inner_extents[Area::max_rank];
  std::uint64_t inner_strides[Area::max_rank];
  std::uint64_t reach = 0;  // of the inner directions
  for (int k = 0; k < count; ++k) {
    auto const [stride, extent] = sorted[k];
    if (stride <= reach) {
      // Addresses of imaginary elements of one byte.
      auto const at = [](std::uint64_t address) { return reinterpret_cast<void const*>(address); };
      Area const low = Area::strided(at(1), 1, k, inner_extents, inner_strides);
      inner_extents[k] = extent - 1;
      inner_strides[k] = stride;
      Area const high = Area::strided(at(1 + stride), 1, k + 1, inner_extents, inner_strides);
      if (overlaps(low, high)) return false;
    }
    inner_extents[k] = extent;
    inner_strides[k] = stride;
    reach += stride * (extent - 1);
  }
  return true;
}

std::string to_string(Area const& area, std::uintptr_t base) {
  if (area.empty()) return "empty";
  auto const first = static_cast<std::int64_t>(area.begin() - base);  // may be before the base
  auto const last = first + static_cast<std::int64_t>(area.run());
  // Appended piece by piece: GCC 12 warns wrongly of "literal" + std::string.
  std::string text("[");
  text.append(std::to_string(first)).append(", ").append(std::to_string(last)).append(")");
  for (int k = area.rank(); k-- > 0;) {
    auto const [stride, extent] = area.dimension(k);
    text.append(" x ")
        .append(std::to_string(extent))
        .append(" every ")
        .append(std::to_string(stride));
  }
  return text;
}

}  // namespace trellis::Impl
