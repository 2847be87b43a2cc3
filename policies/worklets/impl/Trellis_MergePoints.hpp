// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_MERGEPOINTS_HPP
#define TRELLIS_IMPL_MERGEPOINTS_HPP

#include <Trellis_Future.hpp>
#include <annotations/Trellis_LateView.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <worklets/Trellis_InterpolatedPoint.hpp>
#include <worklets/impl/Trellis_Generation.hpp>
#include <worklets/impl/Trellis_ItemRange.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

/// This header merges points between the same two points. It is a counting sort, as the smaller of
/// the two is one of the old points. Tasks count the new points of each old point (`begin`), and
/// compute where these begin. Then each old point sorts its own few by the larger one. So all of it
/// runs in parallel, and the result does not depend on the order of execution.
namespace trellis::worklets::Impl {

/// A point of a new cell at its smaller old point. `made` is its number among all points of new
/// cells.
struct PointAt {
  std::int64_t second;
  std::int64_t made;
  KOKKOS_FUNCTION bool operator<(PointAt const& other) const {
    return second < other.second || (second == other.second && made < other.made);
  }
};

struct SetZero {
  template <class Begin>
  KOKKOS_FUNCTION void operator()(std::int64_t i, Begin const& begin) const {
    begin(i) = 0;
  }
};
struct CountPoints {
  template <class Raw, class Begin>
  KOKKOS_FUNCTION void operator()(std::int64_t cell, Raw const& raw, Begin const& begin) const {
    for (int k = 0; k < static_cast<int>(raw.extent(1)); ++k)
      begin(raw(cell, k).in_order().first) += 1;
  }
};
/// Turns the numbers of points into their begins.
struct ScanBegins {
  using value_type = std::int64_t;
  template <class Begin>
  KOKKOS_FUNCTION void operator()(std::int64_t i, Begin const& begin, std::int64_t& sum,
                                  bool is_final) const {
    std::int64_t const count = begin(i);
    if (is_final) begin(i) = sum;
    sum += count;
  }
};
/// Lists the points. Afterwards `begin(i)` is the begin of the next point.
struct ListPoints {
  template <class Raw, class Begin, class Listed>
  KOKKOS_FUNCTION void operator()(std::int64_t cell, Raw const& raw, Begin const& begin,
                                  Listed const& listed) const {
    auto const points = static_cast<std::int64_t>(raw.extent(1));
    for (std::int64_t k = 0; k < points; ++k) {
      InterpolatedPoint const point = raw(cell, k).in_order();
      listed(Kokkos::atomic_fetch_add(&begin(point.first), 1)) = {point.second, cell * points + k};
    }
  }
};
/// Sorts by heap sort, as any number of points may lie at one old point.
template <class Listed>
KOKKOS_INLINE_FUNCTION void sort_listed(Listed const& listed, std::int64_t begin,
                                        std::int64_t end) {
  std::int64_t const size = end - begin;
  if (size <= 16) {
    for (std::int64_t i = begin + 1; i < end; ++i) {
      PointAt const point = listed(i);
      std::int64_t to = i;
      for (; to > begin && point < listed(to - 1); --to) listed(to) = listed(to - 1);
      listed(to) = point;
    }
    return;
  }
  auto const sift = [&](std::int64_t root, std::int64_t length) {
    PointAt const point = listed(begin + root);
    for (std::int64_t child = 2 * root + 1; child < length; child = 2 * root + 1) {
      if (child + 1 < length && listed(begin + child) < listed(begin + child + 1)) ++child;
      if (!(point < listed(begin + child))) break;
      listed(begin + root) = listed(begin + child);
      root = child;
    }
    listed(begin + root) = point;
  };
  for (std::int64_t root = size / 2; root-- > 0;) sift(root, size);
  for (std::int64_t length = size; length-- > 1;) {
    PointAt const last = listed(begin + length);
    listed(begin + length) = listed(begin);
    listed(begin) = last;
    sift(0, length);
  }
}
struct SortPoints {
  template <class Begin, class Listed>
  KOKKOS_FUNCTION void operator()(std::int64_t i, Begin const& begin, Listed const& listed) const {
    sort_listed(listed, i > 0 ? begin(i - 1) : 0, begin(i));
  }
};
/// Numbers the different points. `owner` has, for each of them, one of the equal points of new
/// cells.
struct NumberPoints {
  using value_type = std::int64_t;
  template <class Begin, class Listed, class Owner, class Connectivity>
  KOKKOS_FUNCTION void operator()(std::int64_t i, Begin const& begin, Listed const& listed,
                                  Owner const& owner, Connectivity const& connectivity,
                                  std::int64_t& number, bool is_final) const {
    auto const points = static_cast<std::int64_t>(connectivity.extent(1));
    std::int64_t const first = i > 0 ? begin(i - 1) : 0;
    for (std::int64_t k = first; k < begin(i); ++k) {
      PointAt const point = listed(k);
      if (k == first || listed(k - 1).second != point.second) {
        if (is_final) owner(number) = point.made;
        ++number;
      }
      if (is_final) connectivity(point.made / points, point.made % points) = number - 1;
    }
  }
};
struct TakePoints {
  template <class Raw, class Owner, class Points>
  KOKKOS_FUNCTION void operator()(std::int64_t i, Raw const& raw, Owner const& owner,
                                  Points const& points) const {
    auto const per_cell = static_cast<std::int64_t>(raw.extent(1));
    points(i) = raw(owner(i) / per_cell, owner(i) % per_cell).in_order();
  }
};

/// A multiple of another number.
template <class Source>
struct TimesCount : ItemCount {
  Source source;
  std::int64_t times;
  [[nodiscard]] std::int64_t resolve() const { return times * source.resolve(); }
  [[nodiscard]] auto annotations() const { return source.annotations(); }
};

/// Submits the tasks. `n` is the number of old points: an extent, or a count that is known later.
template <class Policy, class Cells, class N>
Future<void> merge_points(Label const& label, Policy const& policy, Cells const& cells, N const& n,
                          Generation const& generation) {
  using Memory = typename Cells::raw_type::memory_space;
  Label const call = step_of(label, "points");
  std::string const name = call.string();
  ResourcePolicy const bare(policy.target());
  LateView<std::int64_t*, Memory> const begin(name + ": begin"), owner(name + ": owner");
  LateView<PointAt*, Memory> const listed(name + ": listed");
  made_here(policy.target(), begin);
  made_here(policy.target(), owner);
  made_here(policy.target(), listed);
  auto const& connectivity = cells.cells().connectivity();
  auto const made = generation.number(&Totals::made);
  trellis::Impl::LateCount<TimesCount<TotalsCount>> const all{
      {{}, made.source, Cells::cell_points}};
  auto const memory = [&](auto const& array, auto const& count) {
    allocate(step_of(call, "memory"), bare, array, count);
  };
  memory(begin, n);
  memory(listed, all);
  memory(owner, all);
  memory(connectivity, made);
  auto const range = extent(begin);
  submit_as(as_for, step_of(call, "zero"), policy, range, SetZero(), write(begin));
  submit_as(as_for, step_of(call, "count"), policy, made, CountPoints(), read(cells.raw()),
            atomic_add(begin));
  submit_as(as_scan, step_of(call, "begin"), policy, range, ScanBegins(), read_write(begin));
  submit_as(as_for, step_of(call, "list"), policy, made, ListPoints(), read(cells.raw()),
            read_write(begin), write(listed));
  submit_as(as_for, step_of(call, "sort"), policy, range, SortPoints(), read(begin),
            read_write(listed));
  Future<std::int64_t> const different =
      submit_as(as_scan, step_of(call, "number"), policy, range, NumberPoints(), read(begin),
                read(listed), write(owner), write(connectivity));
  memory(cells.points(), different);
  return submit_as(as_for, step_of(call, "take"), policy, different, TakePoints(),
                   read(cells.raw()), read(owner), write(cells.points()));
}

}  // namespace trellis::worklets::Impl

#endif
