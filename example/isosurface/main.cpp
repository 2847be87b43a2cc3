// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Balls move, and each step makes the surface where their field has one value: marching cubes as
// worklets. The number of triangles is known when a task has counted them, and still no thread
// waits: the steps overlap. The result is compared, triangle by triangle and bit by bit, with
// Kokkos alone, which waits in each step.
//
// Look at Surface.hpp, which has the worklets and the tasks of a step, and at Plain.hpp.
#include <Trellis.hpp>

#include <CLI/CLI.hpp>
#include <Kokkos_Core.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "Cases.hpp"
#include "Drawing.hpp"
#include "Plain.hpp"
#include "Surface.hpp"

namespace {

using namespace isosurface;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}
Scene scene_of(int step) {
  return Scene(0.15 * step);
}

bool are_equal(Triangles const& plain, Triangles const& tasks) {
  auto const a = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), plain);
  auto const b = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), tasks);
  if (a.extent(0) != b.extent(0)) return false;
  for (std::size_t t = 0; t < a.extent(0); ++t)
    for (std::size_t k = 0; k < 3; ++k)
      if (std::memcmp(&a(t, k), &b(t, k), sizeof(a(t, k))) != 0) return false;
  return true;
}
template <class To, class From>
To on_host(From const& from) {
  To to("on the host", from.extent(0));
  Kokkos::deep_copy(to, Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), from));
  return to;
}

int run(std::int64_t cells, int steps, int sets, std::filesystem::path const& output) {
  Cases const all = make_cases();
  double const spacing = 1.0 / static_cast<double>(cells);
  trellis::UniformGrid<3> const grid({cells + 1, cells + 1, cells + 1}, {},
                                     {spacing, spacing, spacing});

  PlainStep plain(static_cast<std::size_t>(grid.point_count()),
                  static_cast<std::size_t>(grid.cell_count()));
  std::vector<std::int64_t> counted;
  run_plain(cells, all, scene_of(0), plain);  // makes room
  auto begin = Clock::now();
  for (int step = 0; step < steps; ++step)
    counted.push_back(run_plain(cells, all, scene_of(step), plain));
  double const plain_seconds = seconds_since(begin);

  trellis::TaskGraph graph;
  // Steps take turns with as many sets of arrays, so that many of them run at the same time.
  std::vector<Step> in_turn(static_cast<std::size_t>(sets));
  std::vector<trellis::Future<std::int64_t>> triangles;
  Kokkos::View<double*, Kokkos::HostSpace> const volumes("volumes",
                                                         static_cast<std::size_t>(steps));
  for (Step& step : in_turn) {  // makes room
    submit(graph, grid, all, scene_of(0), step, Kokkos::subview(volumes, 0));
    graph.wait();
  }
  begin = Clock::now();
  for (int step = 0; step < steps; ++step)
    triangles.push_back(submit(graph, grid, all, scene_of(step),
                               in_turn[static_cast<std::size_t>(step % sets)],
                               Kokkos::subview(volumes, step)));
  double const submitted_seconds = seconds_since(begin);
  graph.wait();
  double const seconds = seconds_since(begin);

  bool is_right = true;
  for (std::size_t step = 0; step < counted.size(); ++step)
    is_right = is_right && triangles[step].get() == counted[step];
  Step const& last = in_turn[static_cast<std::size_t>((steps - 1) % sets)];
  is_right = is_right && are_equal(plain.triangles, last.surface.raw().managed());
  auto const connectivity = on_host<HostTriangles>(last.surface.cells().connectivity().managed());
  auto const points = on_host<HostPoints>(last.coordinates.managed());
  bool const closed = is_closed(connectivity);

  std::printf("%lld^3 cells, %d steps; in the last one %zu triangles, %zu points, volume %.4f\n",
              static_cast<long long>(cells), steps, connectivity.extent(0), points.extent(0),
              volumes(static_cast<std::size_t>(steps - 1)));
  std::printf("plain Kokkos, triangles only    %8.2f ms a step\n", 1e3 * plain_seconds / steps);
  std::printf("worklets, with merged points    %8.2f ms a step, submitted in %.3f ms a step\n",
              1e3 * seconds / steps, 1e3 * submitted_seconds / steps);
  std::printf("%s, and the surface is %s\n",
              is_right ? "the same triangles as plain Kokkos" : "WRONG: other triangles",
              closed ? "closed" : "NOT CLOSED");
  std::filesystem::create_directories(output);
  heat::write_png(output / "surface.png",
                  draw(points, connectivity, on_host<HostShades>(last.brightness.managed()), 480));
  std::printf("%s\n", (output / "surface.png").string().c_str());
  return is_right && closed ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t cells = 64;
  int steps = 12;
  int sets = 3;
  std::string output = "out/isosurface";
  CLI::App app("Isosurfaces of moving balls, by marching cubes as worklets", "isosurface");
  app.add_option("--cells", cells, "in each direction")
      ->check(CLI::Range(2, 512))
      ->capture_default_str();
  app.add_option("--steps", steps, "of time")->check(CLI::Range(1, 100000))->capture_default_str();
  app.add_option("--sets", sets, "steps that may run at the same time")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--output", output, "folder for the picture")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Kokkos::ScopeGuard const kokkos(argc, argv);
  try {
    return run(cells, steps, sets, output);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "isosurface: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
