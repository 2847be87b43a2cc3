// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many areas, and areas that overlap without being the same: a tile and its halo as one subview.
#include "Measure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace micro {
namespace {

using namespace trellis;

/// Even, so that the next iteration goes on with the same copy of the field.
std::int64_t steps_for(std::int64_t tiles) {
  return std::max<std::int64_t>(4, task_count / tiles / 2 * 2);
}

/// A line of tiles between two ghost cells, in two copies that take turns.
struct Line {
  static constexpr std::int64_t cells = 64;

  explicit Line(std::int64_t tiles) {
    for (std::size_t f = 0; f != 2; ++f) {
      View const field("field", static_cast<std::size_t>(tiles * cells + 2));
      for (std::int64_t t = 0; t != tiles; ++t) {
        std::int64_t const begin = 1 + t * cells;
        inner[f].push_back(Kokkos::subview(field, std::pair(begin, begin + cells)));
        with_halo[f].push_back(Kokkos::subview(field, std::pair(begin - 1, begin + cells + 1)));
      }
    }
  }

  std::array<std::vector<View>, 2> inner;
  std::array<std::vector<View>, 2> with_halo;
};

void halo_1d(benchmark::State& state) {
  Line const line(state.range(0));
  std::size_t const tiles = line.inner[0].size();
  TaskGraph graph(with_workers(state.range(1)));
  measure_run(state, graph, [&] {
    for (std::int64_t step = 0; step != steps_for(state.range(0)); ++step)
      for (std::size_t t = 0; t != tiles; ++t)
        parallel_for("tile",
                     ResourcePolicy(graph, 1, on<Space>, read(line.with_halo[step % 2][t]),
                                    write(line.inner[(step + 1) % 2][t])),
                     Nothing());
  });
}
BENCHMARK(halo_1d)
    ->ArgNames({"tiles", "workers"})
    ->ArgsProduct({{10, 100, 1000, 10000}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// A square of square tiles between rows and columns of ghost cells, in two copies that take turns.
struct Square {
  using Field = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
  using Part = Kokkos::View<double**, Kokkos::LayoutStride, Kokkos::HostSpace>;
  static constexpr std::int64_t cells = 16;

  struct Tile {
    Part inner;
    Part with_halo;
    std::array<Part, 4> strips;  ///< the neighbours' cells next to it: left, right, above, below
  };

  explicit Square(std::int64_t tiles) {
    auto const side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(tiles))));
    auto const extent = static_cast<std::size_t>(side * cells + 2);
    for (std::vector<Tile>& copy : copies) {
      Field const field("field", extent, extent);
      for (std::int64_t i = 1; i < side * cells; i += cells)
        for (std::int64_t j = 1; j < side * cells; j += cells) {
          auto const box = [&](std::int64_t i_begin, std::int64_t i_end, std::int64_t j_begin,
                               std::int64_t j_end) {
            return Part(
                Kokkos::subview(field, std::pair(i_begin, i_end), std::pair(j_begin, j_end)));
          };
          std::int64_t const i_end = i + cells;
          std::int64_t const j_end = j + cells;
          copy.push_back({box(i, i_end, j, j_end),
                          box(i - 1, i_end + 1, j - 1, j_end + 1),
                          {box(i, i_end, j - 1, j), box(i, i_end, j_end, j_end + 1),
                           box(i - 1, i, j, j_end), box(i_end, i_end + 1, j, j_end)}});
        }
    }
  }

  /// `submit(from, to)` for each tile and step.
  template <class Submit>
  void for_each_task(Submit const& submit) const {
    std::size_t const tiles = copies[0].size();
    for (std::int64_t step = 0; step != steps_for(static_cast<std::int64_t>(tiles)); ++step)
      for (std::size_t t = 0; t != tiles; ++t)
        submit(copies[step % 2][t], copies[(step + 1) % 2][t]);
  }

  std::array<std::vector<Tile>, 2> copies;
};

void halo_2d(benchmark::State& state) {
  Square const square(state.range(0));
  TaskGraph graph(with_workers(state.range(1)));
  measure_run(state, graph, [&] {
    square.for_each_task([&](Square::Tile const& from, Square::Tile const& to) {
      parallel_for("tile",
                   ResourcePolicy(graph, 1, on<Space>, read(from.with_halo), write(to.inner)),
                   Nothing());
    });
  });
}

void strips_2d(benchmark::State& state) {
  Square const square(state.range(0));
  TaskGraph graph(with_workers(state.range(1)));
  measure_run(state, graph, [&] {
    square.for_each_task([&](Square::Tile const& from, Square::Tile const& to) {
      parallel_for("tile",
                   ResourcePolicy(graph, 1, on<Space>, read(from.inner), read(from.strips[0]),
                                  read(from.strips[1]), read(from.strips[2]), read(from.strips[3]),
                                  write(to.inner)),
                   Nothing());
    });
  });
}

template <class Rows>
void squares(Rows* rows) {
  rows->ArgNames({"tiles", "workers"})
      ->ArgsProduct({{16, 100, 1024, 10000}, {1, 2}})
      ->UseRealTime();
  rows->Unit(benchmark::kMillisecond);
}
BENCHMARK(halo_2d)->Apply(squares);
BENCHMARK(strips_2d)->Apply(squares);

// Areas that nobody shares, each used once in a while: what it costs to know many of them.
void measure_areas(benchmark::State& state, std::vector<View> const& areas) {
  TaskGraph graph(with_workers(1));
  std::size_t const tasks = std::max<std::size_t>(task_count, areas.size());
  measure_run(state, graph, [&] {
    for (std::size_t k = 0; k != tasks; ++k)
      parallel_for("alone", ResourcePolicy(graph, 1, on<Space>, write(areas[k % areas.size()])),
                   Nothing());
  });
}

void areas_of_one_view(benchmark::State& state) {
  View const all("x", static_cast<std::size_t>(state.range(0)));
  std::vector<View> areas;
  for (std::int64_t k = 0; k != state.range(0); ++k)
    areas.push_back(Kokkos::subview(all, std::pair(k, k + 1)));
  measure_areas(state, areas);
}

void areas_of_own_views(benchmark::State& state) {
  std::vector<View> areas;
  for (std::int64_t k = 0; k != state.range(0); ++k) areas.emplace_back("x", 1);
  measure_areas(state, areas);
}

template <class Rows>
void area_counts(Rows* rows) {
  rows->ArgName("areas")->RangeMultiplier(10)->Range(10, 100000)->UseRealTime();
  rows->Unit(benchmark::kMillisecond);
}
BENCHMARK(areas_of_one_view)->Apply(area_counts)->Arg(200000);
BENCHMARK(areas_of_own_views)->Apply(area_counts);

// Two halves of a View, and all of it, in turns: each access covers, or is covered by, the one
// before.
void halves_and_whole(benchmark::State& state) {
  View const whole("x", 2);
  View const left = Kokkos::subview(whole, std::pair(0, 1));
  View const right = Kokkos::subview(whole, std::pair(1, 2));
  TaskGraph graph(with_workers(state.range(0)));
  measure_run(state, graph, [&] {
    for (int k = 0; k < task_count / 3; ++k)
      for (View const* area : {&left, &right, &whole})
        parallel_for("part", ResourcePolicy(graph, 1, on<Space>, read_write(*area)), Nothing());
  });
}
BENCHMARK(halves_and_whole)
    ->ArgName("workers")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace micro
