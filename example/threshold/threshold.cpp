// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// This program keeps those cells of a grid whose corners all lie in a range, then those of them
// whose average does. It then drops the points that no cell uses. Each of these sizes is known only
// when a task has counted, and the whole chain is submitted before the first task ends.
//
// Look at: `keep`, which is used twice, on a grid and on its result, and `compact`, in which
// worklets and an ordinary parallel_for follow one another.
#include <Trellis.hpp>
#include <Trellis_Worklets.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using trellis::read, trellis::write, trellis::ResourcePolicy;
using Quads = trellis::LateCells<trellis::CellShape::quad>;
using Numbers = trellis::LateView<std::int64_t*>;

constexpr std::int64_t width = 24;  // points
constexpr std::int64_t height = 12;

/// A hill at each side.
struct Hills : trellis::MapPoints {
  using ControlSignature = void(Topology, Field, Field(Out));
  using ExecutionSignature = _3(_2);
  KOKKOS_FUNCTION double operator()(Kokkos::Array<double, 2> const& at) const {
    auto const hill = [&](double x, double y) {
      double const dx = at[0] - x, dy = 1.8 * (at[1] - y);
      return 100 / (1 + 0.03 * (dx * dx + dy * dy));
    };
    return hill(6, 5) + hill(17, 6);
  }
};

/// Returns 1 where all corners lie in the range.
struct Inside : trellis::MapCells {
  using ControlSignature = void(Topology, Field(Point), Field(Out));
  using ExecutionSignature = _3(_2);
  double low, high;
  template <class Values>
  KOKKOS_FUNCTION int operator()(Values const& at) const {
    for (int k = 0; k < at.size(); ++k)
      if (at[k] < low || at[k] > high) return 0;
    return 1;
  }
};
struct Average : trellis::MapCells {
  using ControlSignature = void(Topology, Field(Point), Field(Out));
  using ExecutionSignature = _3(_2);
  template <class Values>
  KOKKOS_FUNCTION double operator()(Values const& at) const {
    double sum = 0;
    for (int k = 0; k < at.size(); ++k) sum += at[k];
    return sum / at.size();
  }
};
struct IsLess : trellis::MapFields {
  using ControlSignature = void(Field, Field, Field(Out));
  using ExecutionSignature = _3(_1, _2);
  KOKKOS_FUNCTION int operator()(double value, double limit) const { return value < limit ? 1 : 0; }
};

/// Keeps the cells with a count of one, and their values.
struct Keep : trellis::GenerateCells {
  using ControlSignature = void(Topology, Counts, Field, Topology(Out), Field(Out));
  using ExecutionSignature = _5(Vertices(_1), _3, Vertices(_4));
  template <class Old, class New>
  KOKKOS_FUNCTION double operator()(Old const& old, double value, New& cell) const {
    for (int k = 0; k < 4; ++k) cell[k] = old[k];
    return value;
  }
};

// --- without the points that no cell uses

struct MarkPoints : trellis::MapCells {
  using ControlSignature = void(Topology, Field(AtomicAdd, Point));
  using ExecutionSignature = void(_2);
  template <class Marks>
  KOKKOS_FUNCTION void operator()(Marks& marks) const {
    for (int k = 0; k < marks.size(); ++k) marks[k] = 1;
  }
};
struct IsUsed : trellis::MapFields {
  using ControlSignature = void(Field, Field(Out));
  using ExecutionSignature = _2(_1);
  KOKKOS_FUNCTION int operator()(int cells) const { return cells > 0 ? 1 : 0; }
};
struct TakeNumber : trellis::GenerateFields {
  using ControlSignature = void(Counts, Field(Out));
  using ExecutionSignature = _2(SourceIndex);
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t old) const { return old; }
};
struct Renumber : trellis::MapCells {
  using ControlSignature = void(Topology, Whole, Topology(Out));
  using ExecutionSignature = void(Vertices(_1), _2, Vertices(_3));
  template <class Old, class NewNumbers, class New>
  KOKKOS_FUNCTION void operator()(Old const& old, NewNumbers const& number, New& cell) const {
    for (int k = 0; k < 4; ++k) cell[k] = number[old[k]];
  }
};

void compact(trellis::TaskGraph& graph, Quads const& cells, std::int64_t points,
             Numbers const& used, Quads const& compacted) {
  ResourcePolicy const policy(graph);
  Kokkos::View<int*> const marks("marks", static_cast<std::size_t>(points));  // zeros
  Kokkos::View<int*> is_used;
  Kokkos::View<std::int64_t*> const new_number("new number", static_cast<std::size_t>(points));
  trellis::invoke("mark points", policy, MarkPoints(), cells, marks);
  trellis::invoke("which are used", policy, IsUsed(), marks, is_used);
  trellis::invoke("number points", policy, TakeNumber(), is_used, used);
  // Worklets write their own item only, but this kernel writes other items.
  trellis::parallel_for(
      "invert", ResourcePolicy(graph, trellis::extent(used), read(used), write(new_number)),
      KOKKOS_LAMBDA(std::int64_t i, Numbers::read_view const& old,
                    Kokkos::View<std::int64_t*> const& to) { to(old(i)) = i; });
  trellis::invoke("renumber", policy, Renumber(), cells, new_number, compacted);
}

/// Returns cells as marks on the grid: `character` at the lower left corner of each.
template <class Cells>
void draw(std::vector<std::string>& rows, Cells const& cells, char character) {
  auto const host =
      Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), cells.connectivity().managed());
  for (std::size_t c = 0; c < host.extent(0); ++c)
    rows[static_cast<std::size_t>(host(c, 0) / width)]
        [static_cast<std::size_t>(host(c, 0) % width)] = character;
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  trellis::TaskGraph graph;
  ResourcePolicy const policy(graph);
  trellis::UniformGrid<2> const grid({width, height});

  Kokkos::View<double*> field, average;
  Kokkos::View<int*> inside;
  Quads kept("kept", grid.point_count()), low("low", grid.point_count());
  trellis::LateView<double*> of_kept("average of kept"), of_low("average of low");
  trellis::LateView<int*> is_low("is low");
  trellis::invoke("hills", policy, Hills(), grid, grid.coordinates(), field);
  trellis::invoke("inside", policy, Inside{{}, 55, 100}, grid, field, inside);
  trellis::invoke("average", policy, Average(), grid, field, average);
  auto const count = trellis::invoke("keep", policy, Keep(), grid, inside, average, kept, of_kept);
  trellis::invoke("is low", policy, IsLess(), of_kept, 70.0, is_low);
  auto const count_low =
      trellis::invoke("keep low", policy, Keep(), kept, is_low, of_kept, low, of_low);

  Numbers used("used points");
  Quads compacted("compacted", used);
  compact(graph, low, grid.point_count(), used, compacted);
  std::printf("submitted\n");
  graph.wait();

  // These are the same averages, from the compacted cells and the remaining points.
  auto const cells = compacted.managed();
  auto const points = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), used.managed());
  auto const connectivity =
      Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), cells.connectivity());
  auto const values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), field);
  auto const expected = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), of_low.managed());
  bool same = true;
  for (std::size_t c = 0; c < connectivity.extent(0); ++c) {
    double sum = 0;
    for (std::size_t k = 0; k < 4; ++k) sum += values(points(connectivity(c, k)));
    same = same && sum / 4 == expected(c);
  }
  std::printf("%lld cells lie inside, %lld of them low; these have %lld points of %lld\n",
              static_cast<long long>(count.get()), static_cast<long long>(count_low.get()),
              static_cast<long long>(cells.point_count()),
              static_cast<long long>(grid.point_count()));
  std::vector<std::string> rows(static_cast<std::size_t>(height - 1),
                                std::string(static_cast<std::size_t>(width - 1), '.'));
  draw(rows, kept, '#');
  draw(rows, low, '+');
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) std::printf("%s\n", row->c_str());
  std::printf("averages of compacted cells: %s\n", same ? "the same" : "WRONG");
  return same ? 0 : 1;
}
