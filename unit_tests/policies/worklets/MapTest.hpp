// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_MAPTEST_HPP
#define TRELLIS_TEST_MAPTEST_HPP

#include "Seeds.hpp"

#include <Trellis.hpp>
#include <Trellis_Worklets.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// Random programs of worklets that map fields, cells and points.
namespace trellis::Test {

template <class F>
std::string text_of_failure(F&& f) {
  try {
    f();
  } catch (Error const& error) {
    return error.what();
  }
  return "none";
}

struct Nothing {
  KOKKOS_FUNCTION void operator()(int) const {}
};
struct Scale : MapFields {
  using ControlSignature = void(Field, Field, Field(Out));
  using ExecutionSignature = _3(_1, _2);
  KOKKOS_FUNCTION double operator()(double factor, double x) const { return factor * x; }
};
struct WriteTwo : MapFields {
  using ControlSignature = void(Field, Field(Out), Field(Out));
  KOKKOS_FUNCTION void operator()(double x, double& y, double& z) const { y = z = x; }
};
/// Without an execution signature, and changes what is there.
struct AddInto : MapFields {
  using ControlSignature = void(Field(In), Field(InOut));
  KOKKOS_FUNCTION void operator()(double x, double& y) const { y += x; }
};
struct MakePairs : MapFields {
  using ControlSignature = void(Field, Field(Out));
  using ExecutionSignature = void(_1, _2);
  template <class Pair>
  KOKKOS_FUNCTION void operator()(double x, Pair& pair) const {
    pair[0] = x;
    pair[1] = 2 * x;
  }
};
/// The same parameter twice, and the number of the item.
struct TwiceOfPair : MapFields {
  using ControlSignature = void(Field, Field(Out));
  using ExecutionSignature = _2(_1, WorkIndex, _1);
  template <class Pair>
  KOKKOS_FUNCTION double operator()(Pair const& pair, std::int64_t i, Pair const& same) const {
    return pair[0] + same[1] + static_cast<double>(i % 3);
  }
};
struct CellAverage : MapCells {
  using ControlSignature = void(Topology, Field(Point), Field(Out));
  using ExecutionSignature = _3(Vertices(_1), _2);
  template <class Points, class Values>
  KOKKOS_FUNCTION double operator()(Points const& points, Values const& values) const {
    double sum = 0;
    for (int k = 0; k < points.size(); ++k) sum += values[k];
    return sum / points.size();
  }
};
struct Spread : MapCells {
  using ControlSignature = void(Topology, Field, Field(AtomicAdd, Point));
  using ExecutionSignature = void(_2, _3);
  template <class Values>
  KOKKOS_FUNCTION void operator()(double x, Values& values) const {
    for (int k = 0; k < values.size(); ++k) values[k] = x;
  }
};
/// The shape, the points' numbers, and a whole array.
struct SumOfPoints : MapCells {
  using ControlSignature = void(Topology, Whole, Field(Out));
  using ExecutionSignature = _3(_1, Vertices(_1), _2);
  template <class Points, class All>
  KOKKOS_FUNCTION double operator()(CellShape shape, Points const& points, All const& all) const {
    double sum = static_cast<double>(shape);
    for (int k = 0; k < points.size(); ++k) sum += all[points[k]];
    return sum;
  }
};
struct PointOfGrid : MapPoints {
  using ControlSignature = void(Topology, Field, Field(InOut));
  using ExecutionSignature = _3(_2, GridIndex, _3);
  template <class At, class Index>
  KOKKOS_FUNCTION double operator()(At const& at, Index const& index, double before) const {
    return before + at[0] + 10 * at[1] + static_cast<double>(index[0] * index[1]);
  }
};
struct CountAll : MapFields {
  using ControlSignature = void(Field, Field(AtomicAdd));
  using ExecutionSignature = _2(_1);
  KOKKOS_FUNCTION double operator()(double x) const { return x; }
};

/// Numbers are small and whole, so that sums do not depend on the order.
template <class Space>
class MapProgram {
 public:
  using Memory = typename Space::memory_space;
  using Line = Kokkos::View<double*, Memory>;
  using Left = Kokkos::View<double**, Kokkos::LayoutLeft, Memory>;
  using Right = Kokkos::View<double**, Kokkos::LayoutRight, Memory>;
  using Pairs = Kokkos::View<double* [2], Memory>;
  using Rows = Kokkos::View<double**, Memory>;
  using Values = std::vector<double>;

  explicit MapProgram(std::uint64_t seed)
      : m_random(seed),
        m_nx(1 + pick(6)),
        m_ny(1 + pick(6)),
        m_grid({static_cast<std::int64_t>(m_nx + 1), static_cast<std::int64_t>(m_ny + 1)}, {1, 2},
               {2, 1}),
        m_points((m_nx + 1) * (m_ny + 1)),
        m_cells(m_nx * m_ny) {
    for (std::size_t k = 0; k < lines; ++k) {
      m_line.emplace_back("line", m_points);
      m_of_cells.emplace_back("of cells", m_cells);
      m_value.push_back(fill(m_line.back()));
      m_value_of_cells.push_back(fill(m_of_cells.back()));
    }
    make_mixed();
    std::size_t const steps = 1 + pick(16);
    for (std::size_t s = 0; s < steps; ++s)
      m_steps.push_back(
          {static_cast<int>(pick(10)), pick(lines), pick(lines), static_cast<double>(pick(3))});
  }

  template <class Graph>
  void submit(Graph& graph) {
    ResourcePolicy const policy(graph, on<Space>);
    for (Step const& step : m_steps) {
      auto const &x = m_line[step.a], &y = m_line[step.b];
      auto const& cells = m_of_cells[step.b];
      switch (step.kind) {
        case 0:
          invoke("scale", policy, Scale(), step.factor, x, y);
          break;
        case 1:
          invoke("add", policy, AddInto(), x, y);
          break;
        case 2:
          invoke("average", policy, CellAverage(), m_grid, x, cells);
          break;
        case 3:
          invoke("spread", policy, Spread(), m_grid, m_of_cells[step.a], y);
          break;
        case 4:
          invoke("points", policy, SumOfPoints(), mixed(), x, mixed_values());
          break;
        case 5:
          invoke("place", policy, PointOfGrid(), m_grid, m_grid.coordinates(), y);
          break;
        case 6:
          invoke("pairs", policy, MakePairs(), x, pairs());
          invoke("sum", policy, TwiceOfPair(), pairs(), y);
          break;
        case 7:
          invoke("rows", policy, MakePairs(), x, rows());
          invoke("sum", policy, TwiceOfPair(), rows(), y);
          break;
        case 8:
          invoke("left", policy, CellAverage(), m_grid, left(), cells);
          invoke("right", policy, CellAverage(), m_grid, x, right());
          break;
        default:
          invoke("count", policy, CountAll(), x, total());
      }
    }
  }

  /// As plain loops.
  void run_plainly() {
    for (Step const& step : m_steps) {
      Values const x = m_value[step.a];
      Values& y = m_value[step.b];
      Values& cells = m_value_of_cells[step.b];
      switch (step.kind) {
        case 0:
          for (std::size_t i = 0; i < m_points; ++i) y[i] = step.factor * x[i];
          break;
        case 1:
          for (std::size_t i = 0; i < m_points; ++i) y[i] += x[i];
          break;
        case 2:
          average(x, cells);
          break;
        case 3:
          for (std::size_t c = 0; c < m_cells; ++c)
            for (std::size_t const p : corners(c)) y[p] += m_value_of_cells[step.a][c];
          break;
        case 4:
          for (std::size_t c = 0; c < m_mixed_cells.size(); ++c) {
            m_mixed_sums[c] = static_cast<double>(m_shapes[c]);
            for (std::size_t const p : m_mixed_cells[c]) m_mixed_sums[c] += x[p];
          }
          break;
        case 5:
          for (std::size_t p = 0; p < m_points; ++p) {
            auto const i = static_cast<double>(p % (m_nx + 1));
            auto const j = static_cast<double>(p / (m_nx + 1));
            y[p] += 1 + 2 * i + 10 * (2 + j) + i * j;
          }
          break;
        case 6:
        case 7:
          for (std::size_t i = 0; i < m_points; ++i) y[i] = 3 * x[i] + static_cast<double>(i % 3);
          break;
        case 8:
          average(m_left_values, cells);
          average(x, m_right_values);
          break;
        default:
          for (double const each : x) m_sum += each;
      }
    }
  }

  void check() const {
    for (std::size_t k = 0; k < lines; ++k) {
      ASSERT_EQ(values_of(m_line[k]), m_value[k]) << "line " << k;
      ASSERT_EQ(values_of(m_of_cells[k]), m_value_of_cells[k]) << "cells " << k;
    }
    ASSERT_EQ(values_of(m_mixed_view), m_mixed_sums);
    auto const right = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), m_right_view);
    for (std::size_t c = 0; c < m_cells; ++c)
      ASSERT_EQ(right(c % m_nx, c / m_nx), m_right_values[c]) << "cell " << c;
    double total = 0;
    Kokkos::deep_copy(total, m_total_view);
    ASSERT_EQ(total, m_sum);
  }

 private:
  static constexpr std::size_t lines = 3;
  struct Step {
    int kind;
    std::size_t a, b;
    double factor;
  };
  std::size_t pick(std::size_t n) { return m_random() % n; }
  template <class View>
  Values fill(View const& view) {
    auto const host = Kokkos::create_mirror_view(view);
    Values values(view.extent(0));
    for (std::size_t i = 0; i < values.size(); ++i)
      host(i) = values[i] = 4 * static_cast<double>(pick(8));
    Kokkos::deep_copy(view, host);
    return values;
  }
  static Values values_of(Line const& line) {
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), line);
    return {host.data(), host.data() + host.extent(0)};
  }
  [[nodiscard]] std::array<std::size_t, 4> corners(std::size_t cell) const {
    std::size_t const p = cell % m_nx + (m_nx + 1) * (cell / m_nx);
    return {p, p + 1, p + m_nx + 2, p + m_nx + 1};
  }
  void average(Values const& x, Values& cells) const {
    for (std::size_t c = 0; c < m_cells; ++c) {
      double sum = 0;
      for (std::size_t const p : corners(c)) sum += x[p];
      cells[c] = sum / 4;
    }
  }
  /// Triangles, quads and tetrahedra among the points, and two Views on the grid.
  void make_mixed() {
    constexpr CellShape shapes[] = {CellShape::triangle, CellShape::quad, CellShape::wedge};
    std::size_t const n = pick(12);
    std::vector<std::int64_t> offsets{0}, points;
    for (std::size_t c = 0; c < n; ++c) {
      CellShape const shape = shapes[pick(3)];
      m_shapes.push_back(shape);
      m_mixed_cells.emplace_back();
      for (int k = 0; k < points_of(shape); ++k) {
        m_mixed_cells.back().push_back(pick(m_points));
        points.push_back(static_cast<std::int64_t>(m_mixed_cells.back().back()));
      }
      offsets.push_back(static_cast<std::int64_t>(points.size()));
    }
    m_shape_view = Kokkos::View<std::uint8_t*, Memory>("shapes", n);
    m_offset_view = Kokkos::View<std::int64_t*, Memory>("offsets", n + 1);
    m_point_view = Kokkos::View<std::int64_t*, Memory>("points", points.size());
    auto const copy = [](auto const& view, auto const& from) {
      auto const host = Kokkos::create_mirror_view(view);
      for (std::size_t i = 0; i < from.size(); ++i)
        host(i) = static_cast<typename std::remove_cvref_t<decltype(view)>::value_type>(from[i]);
      Kokkos::deep_copy(view, host);
    };
    copy(m_shape_view, m_shapes);
    copy(m_offset_view, offsets);
    copy(m_point_view, points);
    m_mixed_view = Line("mixed", n);
    m_mixed_sums.assign(n, 0);
    m_pairs_view = Pairs("pairs", m_points);
    m_rows_view = Rows("rows", m_points, 2);
    m_left_view = Left("left", m_nx + 1, m_ny + 1);
    m_right_view = Right("right", m_nx, m_ny);
    m_right_values.assign(m_cells, 0);
    m_left_values.resize(m_points);
    auto const left = Kokkos::create_mirror_view(m_left_view);
    for (std::size_t p = 0; p < m_points; ++p)
      left(p % (m_nx + 1), p / (m_nx + 1)) = m_left_values[p] = 4 * static_cast<double>(pick(8));
    Kokkos::deep_copy(m_left_view, left);
    m_total_view = Kokkos::View<double, Memory>("total");
  }
  [[nodiscard]] auto mixed() const {
    return MixedCells(m_shape_view, m_offset_view, m_point_view,
                      static_cast<std::int64_t>(m_points));
  }
  // By value: invoke changes only what it allocates.
  [[nodiscard]] Line mixed_values() const { return m_mixed_view; }
  [[nodiscard]] Pairs pairs() const { return m_pairs_view; }
  [[nodiscard]] Rows rows() const { return m_rows_view; }
  [[nodiscard]] Left left() const { return m_left_view; }
  [[nodiscard]] Right right() const { return m_right_view; }
  [[nodiscard]] Kokkos::View<double, Memory> total() const { return m_total_view; }

  std::mt19937_64 m_random;
  std::size_t m_nx, m_ny;
  UniformGrid<2> m_grid;
  std::size_t m_points, m_cells;
  std::vector<Line> m_line, m_of_cells;
  std::vector<Values> m_value, m_value_of_cells;
  std::vector<CellShape> m_shapes;
  std::vector<std::vector<std::size_t>> m_mixed_cells;
  Kokkos::View<std::uint8_t*, Memory> m_shape_view;
  Kokkos::View<std::int64_t*, Memory> m_offset_view, m_point_view;
  Line m_mixed_view;
  Values m_mixed_sums, m_left_values, m_right_values;
  Pairs m_pairs_view;
  Rows m_rows_view;
  Left m_left_view;
  Right m_right_view;
  Kokkos::View<double, Memory> m_total_view;
  double m_sum = 0;
  std::vector<Step> m_steps;
};

/// Four seeds in a row are four ways.
template <class Space>
void run_map_programs(std::uint64_t default_count) {
  for (std::uint64_t const seed : random_program::seeds(1, default_count)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TaskGraphOptions options;
    options.workers = 1 + static_cast<int>(seed / 4 % 2);
    if (seed % 4 == 1) options.policy = make_shake_policy(seed);
    if (seed % 4 == 2) options.serial = true;
    TaskGraph graph(options);
    MapProgram<Space> program(seed);
    int const rounds = seed % 4 == 3 ? 3 : 1;
    if (rounds > 1)
      graph.replay(graph.record("program", [&] { program.submit(graph); }), rounds);
    else
      program.submit(graph);
    graph.wait();
    for (int round = 0; round < rounds; ++round) program.run_plainly();
    program.check();
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace trellis::Test

#endif
