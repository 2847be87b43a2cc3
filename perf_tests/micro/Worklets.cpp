// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Worklets beside parallel_for written by hand, and pipelines of worklets beside plain Kokkos that
// waits for each number.
#if __has_include(<Trellis_Worklets.hpp>)

#include "../../example/isosurface/Plain.hpp"
#include "../../example/isosurface/Surface.hpp"
#include "Measure.hpp"

#include <Trellis_Worklets.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace micro {
namespace {

using namespace trellis;

// --- a map over a list

struct Shift : MapFields {
  using ControlSignature = void(Field, Field, Field(Out));
  using ExecutionSignature = _3(_1, _2);
  KOKKOS_FUNCTION double operator()(double by, double x) const { return 0.5 * x + by; }
};
struct ShiftByHand {
  double by;
  KOKKOS_FUNCTION void operator()(std::int64_t i, read_view<View> const& x, View const& y) const {
    y(i) = 0.5 * x(i) + by;
  }
};

/// `submit(graph, x, y)` submits one task.
template <class Submit>
void measure_maps(benchmark::State& state, Submit const& submit) {
  auto const n = static_cast<std::size_t>(state.range(0));
  View const x("x", n), y("y", n);
  TaskGraph graph(with_workers(1));
  int const tasks = n > 1000 ? 8 : task_count;
  measure_run(state, graph, [&] {
    for (int k = 0; k < tasks; ++k) submit(graph, x, y);
  });
}
void map_by_hand(benchmark::State& state) {
  measure_maps(state, [](TaskGraph& graph, View const& x, View const& y) {
    parallel_for("shift", ResourcePolicy(graph, x.extent(0), read(x), write(y), on<Space>),
                 ShiftByHand{1});
  });
}
void map_by_worklet(benchmark::State& state) {
  measure_maps(state, [](TaskGraph& graph, View const& x, View const& y) {
    invoke("shift", ResourcePolicy(graph, on<Space>), Shift(), 1.0, x, y);
  });
}

void with_items(benchmark::internal::Benchmark* family) {
  family->ArgNames({"areas"})->UseRealTime();
}
BENCHMARK(map_by_hand)->Apply(with_items)->Arg(1)->Arg(1 << 20);
BENCHMARK(map_by_worklet)->Apply(with_items)->Arg(1)->Arg(1 << 20);

// --- an average over the points of each cell of a grid of N^3 cells

using Grid = UniformGrid<3>;

struct Average : MapCells {
  using ControlSignature = void(Topology, Field(Point), Field(Out));
  using ExecutionSignature = _3(_2);
  template <class Values>
  KOKKOS_FUNCTION double operator()(Values const& at) const {
    double sum = 0;
    for (int k = 0; k < 8; ++k) sum += at[k];
    return sum / 8;
  }
};
struct AverageByHand {
  std::int64_t cells;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t j, std::int64_t k,
                                  read_view<View> const& at, View const& to) const {
    std::int64_t const row = cells + 1, plane = row * row;
    std::int64_t const p = i + row * j + plane * k, q = p + plane;
    double const sum = at(p) + at(p + 1) + at(p + 1 + row) + at(p + row) + at(q) + at(q + 1) +
                       at(q + 1 + row) + at(q + row);
    to(i + cells * (j + cells * k)) = sum / 8;
  }
};
Grid grid_of(std::int64_t cells) {
  return Grid({cells + 1, cells + 1, cells + 1});
}

template <class Submit>
void measure_averages(benchmark::State& state, Submit const& submit) {
  Grid const grid = grid_of(state.range(0));
  View const x("x", static_cast<std::size_t>(grid.point_count()));
  View y("y", static_cast<std::size_t>(grid.cell_count()));
  TaskGraph graph(with_workers(1));
  measure_run(state, graph, [&] { submit(graph, grid, x, y); });
}
void average_by_hand(benchmark::State& state) {
  using Cells =
      Kokkos::MDRangePolicy<Space, Kokkos::Rank<3, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                            Kokkos::IndexType<std::int64_t>>;
  measure_averages(state, [&](TaskGraph& graph, Grid const&, View const& x, View const& y) {
    std::int64_t const n = state.range(0);
    parallel_for("average", ResourcePolicy(graph, Cells({0, 0, 0}, {n, n, n}), read(x), write(y)),
                 AverageByHand{n});
  });
}
void average_by_worklet(benchmark::State& state) {
  measure_averages(state, [](TaskGraph& graph, Grid const& grid, View const& x, View& y) {
    invoke("average", ResourcePolicy(graph, on<Space>), Average(), grid, x, y);
  });
}

void with_cells(benchmark::internal::Benchmark* family) {
  family->ArgNames({"cells"})->Arg(16)->Arg(128)->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK(average_by_hand)->Apply(with_cells);
BENCHMARK(average_by_worklet)->Apply(with_cells);

// --- the cells of a shell, of four fields: worklets in a graph of two workers, where nobody waits,
// and plain Kokkos with all threads, which waits for each number

using Host = Kokkos::DefaultHostExecutionSpace;
constexpr int fields = 4;

std::vector<View> make_fields(Grid const& grid) {
  std::vector<View> all;
  auto const n = grid.points()[0];
  for (int f = 0; f < fields; ++f) {
    View const field("field", static_cast<std::size_t>(grid.point_count()));
    for (std::int64_t p = 0; p < grid.point_count(); ++p) {
      double squares = 0;
      for (std::int64_t const at : {p % n, p / n % n, p / n / n}) {
        double const x = static_cast<double>(at) / static_cast<double>(n) - 0.5 + 0.02 * f;
        squares += x * x;
      }
      field(static_cast<std::size_t>(p)) = std::sqrt(squares);
    }
    all.push_back(field);
  }
  return all;
}

struct InShell : MapCells {
  using ControlSignature = void(Topology, Field(Point), Field(Out));
  using ExecutionSignature = _3(_2);
  template <class Values>
  KOKKOS_FUNCTION int operator()(Values const& at) const {
    for (int k = 0; k < 8; ++k)
      if (at[k] < 0.30 || at[k] > 0.34) return 0;
    return 1;
  }
};
struct Keep : GenerateCells {
  using ControlSignature = void(Topology, Counts, Topology(Out));
  using ExecutionSignature = void(Vertices(_1), Vertices(_3));
  template <class Old, class New>
  KOKKOS_FUNCTION void operator()(Old const& old, New& cell) const {
    for (int k = 0; k < 8; ++k) cell[k] = old[k];
  }
};

void threshold_worklets(benchmark::State& state) {
  Grid const grid = grid_of(state.range(0));
  std::vector<View> const in = make_fields(grid);
  std::vector<Kokkos::View<int*, Kokkos::HostSpace>> counts(fields);
  std::vector<LateCells<CellShape::hexahedron, Kokkos::HostSpace>> kept;
  for (int f = 0; f < fields; ++f) kept.emplace_back("kept", grid.point_count());
  TaskGraph graph(with_workers(2));
  ResourcePolicy const policy(graph, on<Host>);
  measure_run(state, graph, [&] {
    for (std::size_t f = 0; f < fields; ++f) {
      invoke("shell", policy, InShell(), grid, in[f], counts[f]);
      invoke("keep", policy, Keep(), grid, counts[f], kept[f]);
    }
  });
  state.counters["cells"] = static_cast<double>(kept[0].managed().cell_count());
}

void threshold_fenced(benchmark::State& state) {
  using Cells =
      Kokkos::MDRangePolicy<Host, Kokkos::Rank<3, Kokkos::Iterate::Left, Kokkos::Iterate::Left>,
                            Kokkos::IndexType<std::int64_t>>;
  using Line = Kokkos::RangePolicy<Host, Kokkos::IndexType<std::int64_t>>;
  using Numbers = Kokkos::View<std::int64_t*, Kokkos::HostSpace>;
  using Kept = Kokkos::View<std::int64_t* [8], Kokkos::HostSpace>;
  Grid const grid = grid_of(state.range(0));
  std::vector<View> const in = make_fields(grid);
  std::int64_t const n = state.range(0), row = n + 1, plane = row * row;
  auto const cells = static_cast<std::size_t>(grid.cell_count());
  Kokkos::View<int*, Kokkos::HostSpace> const counts("counts", cells);
  Numbers const first("first", cells);
  std::vector<Kept> kept(fields);
  auto const run = [&] {
    for (std::size_t f = 0; f < fields; ++f) {
      View const& at = in[f];
      Kokkos::parallel_for(
          "shell", Cells({0, 0, 0}, {n, n, n}),
          KOKKOS_LAMBDA(std::int64_t i, std::int64_t j, std::int64_t k) {
            std::int64_t const p = i + row * j + plane * k, q = p + plane;
            std::int64_t const points[] = {p, p + 1, p + 1 + row, p + row,
                                           q, q + 1, q + 1 + row, q + row};
            int is_in = 1;
            for (std::int64_t const point : points)
              if (at(point) < 0.30 || at(point) > 0.34) is_in = 0;
            counts(i + n * (j + n * k)) = is_in;
          });
      std::int64_t total = 0;
      Kokkos::parallel_scan(
          "count", Line(0, grid.cell_count()),
          KOKKOS_LAMBDA(std::int64_t c, std::int64_t& sum, bool is_final) {
            if (is_final) first(c) = sum;
            sum += counts(c);
          },
          total);
      if (static_cast<std::int64_t>(kept[f].extent(0)) != total)
        kept[f] = Kept(Kokkos::view_alloc("kept", Kokkos::WithoutInitializing),
                       static_cast<std::size_t>(total));
      Kept const& to = kept[f];
      Kokkos::parallel_for(
          "keep", Line(0, grid.cell_count()), KOKKOS_LAMBDA(std::int64_t c) {
            if (counts(c) == 0) return;
            std::int64_t const p = c % n + row * (c / n % n) + plane * (c / n / n), q = p + plane;
            std::int64_t const points[] = {p, p + 1, p + 1 + row, p + row,
                                           q, q + 1, q + 1 + row, q + row};
            for (int v = 0; v < 8; ++v) to(first(c), v) = points[v];
          });
      Host().fence();
    }
  };
  run();
  for (auto _ : state) run();
  state.counters["cells"] = static_cast<double>(kept[0].extent(0));
}
BENCHMARK(threshold_fenced)->Apply(with_cells);
BENCHMARK(threshold_worklets)->Apply(with_cells);

// --- isosurfaces of four scenes: the triangles, as plain Kokkos makes them and as worklets do, and
// all that the example makes of them, which merges their points and shades them besides

/// Makes the triangles, and no more.
struct Triangles : GenerateCells {
  using ControlSignature = isosurface::Contour::ControlSignature;
  using ExecutionSignature = isosurface::Contour::ExecutionSignature;
  template <class Points, class Values, class Table, class New>
  KOKKOS_FUNCTION void operator()(Points const& points, Values const& values, Table const& table,
                                  std::int64_t visit, New& triangle) const {
    isosurface::Contour()(points, values, table, visit, triangle);
  }
};

/// `submit(graph, grid, cases, scene, step)` submits the tasks for one scene.
template <class Submit>
void measure_surfaces(benchmark::State& state, Submit const& submit) {
  auto const n = state.range(0);
  double const spacing = 1.0 / static_cast<double>(n);
  Grid const grid({n + 1, n + 1, n + 1}, {}, {spacing, spacing, spacing});
  isosurface::Cases const cases = isosurface::make_cases();
  std::vector<isosurface::Step> steps(fields);
  TaskGraph graph(with_workers(2));
  measure_run(state, graph, [&] {
    for (std::size_t f = 0; f < fields; ++f)
      submit(graph, grid, cases, isosurface::Scene(static_cast<double>(f)), steps[f]);
  });
  state.counters["triangles"] = static_cast<double>(steps[0].surface.raw().extent(0));
}
void isosurface_worklets(benchmark::State& state) {
  measure_surfaces(state, [](TaskGraph& graph, Grid const& grid, isosurface::Cases const& cases,
                             isosurface::Scene const& scene, isosurface::Step& step) {
    ResourcePolicy const policy(graph);
    invoke("sample", policy, isosurface::Sample{{}, scene}, grid, grid.coordinates(), step.values);
    invoke("count", policy, isosurface::Count(), grid, step.values, cases.counts, step.counts);
    invoke("contour", policy, Triangles(), grid, step.values, step.counts, cases.edges,
           step.surface);
  });
}
void isosurface_merged(benchmark::State& state) {
  Kokkos::View<double, Kokkos::HostSpace> const volume("volume");
  measure_surfaces(state, [&](TaskGraph& graph, Grid const& grid, isosurface::Cases const& cases,
                              isosurface::Scene const& scene, isosurface::Step& step) {
    isosurface::submit(graph, grid, cases, scene, step, volume);
  });
}
void isosurface_fenced(benchmark::State& state) {
  auto const n = state.range(0);
  Grid const grid = grid_of(n);
  isosurface::Cases const cases = isosurface::make_cases();
  std::vector<isosurface::PlainStep> steps;
  for (int f = 0; f < fields; ++f)
    steps.emplace_back(static_cast<std::size_t>(grid.point_count()),
                       static_cast<std::size_t>(grid.cell_count()));
  auto const run = [&] {
    for (std::size_t f = 0; f < fields; ++f)
      isosurface::run_plain(n, cases, isosurface::Scene(static_cast<double>(f)), steps[f]);
  };
  run();
  for (auto _ : state) run();
  state.counters["triangles"] = static_cast<double>(steps[0].triangles.extent(0));
}
BENCHMARK(isosurface_fenced)->Apply(with_cells);
BENCHMARK(isosurface_worklets)->Apply(with_cells);
BENCHMARK(isosurface_merged)->Apply(with_cells);

}  // namespace
}  // namespace micro

#endif
