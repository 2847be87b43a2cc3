// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Explicit steps of the heat equation on a square: one kernel for each tile and step, ordered by
// Trellis or by one stream, against one kernel for each step.
#include "Parts.hpp"
#include "Stamps.hpp"

#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpu {
namespace {

using Square = Kokkos::MDRangePolicy<Space, Kokkos::Rank<2>>;

struct HeatStep {
  Matrix before;
  Matrix after;
  Stamp stamp;
  KOKKOS_FUNCTION void operator()(int i, int j) const {
    stamp.start(j % 32 == 1);
    after(i, j) = before(i, j) + 0.2 * (before(i - 1, j) + before(i + 1, j) + before(i, j - 1) +
                                        before(i, j + 1) - 4 * before(i, j));
    stamp.stop(j % 32 == 1);
  }
};

struct Plate {
  Plate(int cells_, int tiles_, int steps_)
      : cells(cells_),
        tiles(tiles_),
        steps(steps_),
        a("a", side(), side()),
        b("b", side(), side()) {
    reset();
  }
  [[nodiscard]] std::size_t side() const { return static_cast<std::size_t>(cells) + 2; }
  void reset() const {
    Kokkos::deep_copy(a, 0.0);
    Kokkos::deep_copy(b, 0.0);
    for (Matrix const& each : {a, b}) {
      Kokkos::deep_copy(Kokkos::subview(each, 0, Kokkos::ALL), 1.0);
      Kokkos::deep_copy(Kokkos::subview(each, Kokkos::ALL, 0), 0.5);
    }
    Kokkos::fence();
  }
  [[nodiscard]] int first(int tile) const { return 1 + tile * cells / tiles; }
  /// Calls `f(before, after, i0, i1, j0, j1, number)` for each tile of a step.
  template <class F>
  void for_tiles(int step, F const& f) const {
    Matrix const& before = step % 2 == 0 ? a : b;
    Matrix const& after = step % 2 == 0 ? b : a;
    for (int i = 0; i < tiles; ++i)
      for (int j = 0; j < tiles; ++j)
        f(before, after, first(i), first(i + 1), first(j), first(j + 1),
          static_cast<std::size_t>((step * tiles + i) * tiles + j));
  }
  [[nodiscard]] std::vector<double> values() const {
    auto const host =
        Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), steps % 2 == 0 ? a : b);
    return {host.data(), host.data() + host.size()};
  }

  int cells, tiles, steps;
  Matrix a, b;
  std::shared_ptr<Stamps> stamps;  ///< null: none are taken
  [[nodiscard]] Stamp stamp(std::size_t kernel) const {
    return stamps == nullptr ? Stamp{} : stamps->at(kernel);
  }
};

void submit_step(trellis::TaskGraph& graph, Plate const& plate, int step) {
  plate.for_tiles(step, [&](Matrix const& before, Matrix const& after, int i0, int i1, int j0,
                            int j1, std::size_t number) {
    trellis::parallel_for(
        "tile",
        trellis::ResourcePolicy(
            graph, Square({i0, j0}, {i1, j1}),
            trellis::read(
                Kokkos::subview(before, std::pair(i0 - 1, i1 + 1), std::pair(j0 - 1, j1 + 1))),
            trellis::write(Kokkos::subview(after, std::pair(i0, i1), std::pair(j0, j1)))),
        HeatStep{before, after, plate.stamp(number)});
  });
}

/// All steps: the stamps differ.
Submission submission(Plate const& plate) {
  return [&plate](trellis::TaskGraph& graph) {
    for (int step = 0; step < plate.steps; ++step) submit_step(graph, plate, step);
  };
}

class OneStream final : public Runner {
 public:
  OneStream(Plate const& plate, bool in_tiles) : m_plate(plate), m_in_tiles(in_tiles) {}
  void submit() override {
    for (int step = 0; step < m_plate.steps; ++step)
      if (m_in_tiles) {
        m_plate.for_tiles(step, [&](Matrix const& before, Matrix const& after, int i0, int i1,
                                    int j0, int j1, std::size_t number) {
          Kokkos::parallel_for(Square(m_instance, {i0, j0}, {i1, j1}),
                               HeatStep{before, after, m_plate.stamp(number)});
        });
      } else {
        Matrix const& before = step % 2 == 0 ? m_plate.a : m_plate.b;
        Matrix const& after = step % 2 == 0 ? m_plate.b : m_plate.a;
        Kokkos::parallel_for(
            Square(m_instance, {1, 1}, {m_plate.cells + 1, m_plate.cells + 1}),
            HeatStep{before, after, m_plate.stamp(static_cast<std::size_t>(step))});
      }
  }
  void wait() override { m_instance.fence(); }

 private:
  Plate const& m_plate;
  bool m_in_tiles;
  Space m_instance = Kokkos::Experimental::partition_space(Space(), 1).at(0);
};

std::unique_ptr<Runner> make(int way, Plate const& plate) {
  switch (way) {
    case 0:
      return std::make_unique<OneStream>(plate, false);
    case 1:
      return std::make_unique<OneStream>(plate, true);
    case 2:
      return std::make_unique<Submitted>(submission(plate));
    default:
      return std::make_unique<Replayed>(submission(plate));
  }
}

}  // namespace

void run_heat(Options const& options, Report& report) {
  Plate plate(options.heat_grid, options.heat_tiles, options.heat_steps);
  report.begin_table(
      "heat",
      std::to_string(plate.cells) + "^2 cells in " + std::to_string(plate.tiles) + "^2 tiles, " +
          std::to_string(plate.steps) +
          " steps; cells per ns, part of the time that the device was busy, kernels side by side");
  char const* const names[] = {"one_stream_whole", "one_stream_tiles", "trellis", "trellis_plan"};
  std::vector<double> expected;
  double const updates = static_cast<double>(plate.cells) * plate.cells * plate.steps;
  for (int way = 0; way < 4; ++way) {
    if (!options.wants(names[way])) continue;
    plate.stamps = nullptr;
    Times times;
    {
      auto const runner = make(way, plate);
      times = measure(*runner, options.repetitions, [&] { plate.reset(); });
    }
    std::vector<double> const values = plate.values();
    if (expected.empty()) expected = values;
    if (values != expected) report.add_failure(std::string(names[way]) + " of heat");
    // Once more, with stamps: these cost time, and are not part of the times above.
    plate.stamps =
        std::make_shared<Stamps>(static_cast<std::size_t>(plate.steps * plate.tiles * plate.tiles));
    Utilisation utilisation;
    {
      auto const runner = make(way, plate);
      for (int k = 0; k < 2; ++k) {
        plate.stamps->clear();
        runner->submit();
        runner->wait();
      }
      utilisation = plate.stamps->utilisation();
    }
    report.add("heat", names[way], true,
               {{"ms", times.done * 1e3},
                {"cells_per_ns", updates / times.done * 1e-9},
                {"submitted_ms", times.submitted * 1e3},
                {"busy", utilisation.busy},
                {"side_by_side", utilisation.side_by_side}});
  }
}

}  // namespace gpu
