// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Heat flows between the patches of an unstructured mesh. Patches lie at random. Each touches those
// that are near, as many as there are: one, or a dozen. So the number of Views that a task reads is
// known only when the program runs.
//
// Look at: `step`, whose tasks read a range of Views and get it as one argument, and `output`,
// which fills an AccessList with the patches that it needs.
#include <Trellis.hpp>
#include <Trellis_Resources.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace {

using trellis::read, trellis::write, trellis::ResourcePolicy;
using Cells = Kokkos::View<double*>;

constexpr int patch_count = 60;
constexpr int cell_count = 16;
constexpr int steps = 20;

/// The patches that touch each other.
struct Mesh {
  Mesh() {
    std::uint32_t random = 1;
    auto const next = [&] {
      random = random * 1664525u + 1013904223u;
      return static_cast<int>(random >> 16) % 1000;
    };
    std::vector<std::pair<int, int>> places;
    for (int p = 0; p < patch_count; ++p) {
      int const x = next();
      places.emplace_back(x, next());
    }
    for (auto const& [x, y] : places) {
      std::vector<std::size_t>& near = neighbours.emplace_back();
      for (std::size_t q = 0; q < places.size(); ++q) {
        int const dx = places[q].first - x;
        int const dy = places[q].second - y;
        if ((dx != 0 || dy != 0) && dx * dx + dy * dy < 200 * 200) near.push_back(q);
      }
    }
  }
  [[nodiscard]] std::vector<Cells> near(std::vector<Cells> const& all, std::size_t patch) const {
    std::vector<Cells> views;
    for (std::size_t const q : neighbours[patch]) views.push_back(all[q]);
    return views;
  }
  std::vector<std::vector<std::size_t>> neighbours;
};

std::vector<Cells> make_patches(std::string const& label) {
  std::vector<Cells> all;
  for (int p = 0; p < patch_count; ++p) {
    all.emplace_back(label + std::to_string(p), cell_count);
    Kokkos::deep_copy(all.back(), p % 7);
  }
  return all;
}

/// Computes one cell of a patch after a step.
template <class Neighbours, class Old>
KOKKOS_INLINE_FUNCTION double relaxed(int i, Neighbours const& near, std::size_t count,
                                      Old const& old) {
  double flow = 0;
  for (std::size_t k = 0; k < count; ++k) flow += near[k]((i + 1) % cell_count) - old(i);
  return old(i) + flow / 16;
}

/// Submits a task for each patch. The functor gets the Views of its neighbours as a list.
void step(trellis::TaskGraph& graph, Mesh const& mesh, std::vector<Cells> const& before,
          std::vector<Cells> const& after) {
  for (std::size_t p = 0; p < after.size(); ++p)
    trellis::parallel_for(
        "relax",
        ResourcePolicy(graph, cell_count, read(mesh.near(before, p)), read(before[p]),
                       write(after[p])),
        KOKKOS_LAMBDA(int i, trellis::read_view_list<Cells> const& near,
                      trellis::read_view<Cells> const& old,
                      Cells const& now) { now(i) = relaxed(i, near, near.size(), old); });
}

/// Returns the mean of some patches, as soon as these are ready.
trellis::Future<double> output(trellis::TaskGraph& graph, std::vector<Cells> const& patches,
                               std::size_t stride) {
  trellis::AccessList list;
  std::vector<Cells> chosen;
  for (std::size_t p = 0; p < patches.size(); p += stride) {
    list.read(patches[p]);
    chosen.push_back(patches[p]);
  }
  return trellis::space_task(
      "mean", ResourcePolicy(graph, list), [chosen](Kokkos::DefaultExecutionSpace const& space) {
        double total = 0;
        for (Cells const& each : chosen) {
          double part = 0;
          Kokkos::parallel_reduce(
              Kokkos::RangePolicy<Kokkos::DefaultExecutionSpace>(space, 0, cell_count),
              KOKKOS_LAMBDA(int i, double& s) { s += each(i); }, part);
          total += part;
        }
        return total / (cell_count * static_cast<double>(chosen.size()));
      });
}

/// Computes the same without Trellis.
std::vector<std::vector<double>> plain(Mesh const& mesh) {
  std::vector<std::vector<double>> a;
  for (int p = 0; p < patch_count; ++p) a.push_back(std::vector<double>(cell_count, p % 7));
  auto b = a;
  struct Column {
    std::vector<double> const* values;
    double operator()(int i) const { return (*values)[static_cast<std::size_t>(i)]; }
  };
  for (int s = 0; s < steps; ++s) {
    for (std::size_t p = 0; p < a.size(); ++p) {
      std::vector<Column> near;
      for (std::size_t const q : mesh.neighbours[p]) near.push_back({&a[q]});
      for (int i = 0; i < cell_count; ++i)
        b[p][static_cast<std::size_t>(i)] = relaxed(i, near, near.size(), Column{&a[p]});
    }
    std::swap(a, b);
  }
  return a;
}

bool run() {
  Mesh const mesh;
  auto const [fewest, most] =
      std::minmax_element(mesh.neighbours.begin(), mesh.neighbours.end(),
                          [](auto const& x, auto const& y) { return x.size() < y.size(); });
  std::printf("%d patches with %zu to %zu neighbours\n", patch_count, fewest->size(), most->size());

  std::vector<Cells> a = make_patches("a"), b = make_patches("b");
  trellis::TaskGraph graph;
  std::vector<trellis::Future<double>> means;
  for (int s = 0; s < steps; ++s) {
    step(graph, mesh, a, b);
    std::swap(a, b);
    if (s % 5 == 4) means.push_back(output(graph, a, 3));
  }
  trellis::when_all(means).get();
  std::printf("%zu means while it ran, the last one is %.3f\n", means.size(), means.back().get());
  graph.wait();

  bool same = true;
  auto const expected = plain(mesh);
  for (std::size_t p = 0; p < a.size(); ++p) {
    auto const cells = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), a[p]);
    for (std::size_t i = 0; i < cell_count; ++i)
      same = same && std::abs(cells(i) - expected[p][i]) < 1e-12;
  }
  std::printf("the same as without tasks: %s\n", same ? "yes" : "no");
  return same;
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  return run() ? EXIT_SUCCESS : EXIT_FAILURE;
}
