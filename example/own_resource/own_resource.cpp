// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Particles move and are counted in cells. Three things that are no Views stand in the annotations:
//   - `Particles`, a type of the program's own.
//   - A container of Kokkos, a map from cells to numbers of particles.
//   - A std::vector, the events of each step.
//
// Look at: `ResourceTraits<Particles>`, which defines what `read(p)` and `write(p)` mean, and what
// a functor gets.
#include <Trellis.hpp>
#include <Trellis_Resources.hpp>

#include <Kokkos_Core.hpp>
#include <Kokkos_UnorderedMap.hpp>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
using Indices = Kokkos::RangePolicy<Space, Kokkos::IndexType<int>>;
using Cells = Kokkos::UnorderedMap<int, int, Space>;

constexpr int species_count = 3;
constexpr int particle_count = 25;
constexpr int cell_count = 64;
constexpr int steps = 10;

/// Positions change, masses do not.
struct Particles {
  explicit Particles(std::string const& name)
      : positions(name + " positions", particle_count), masses(name + " masses", particle_count) {}
  Kokkos::View<int*, Space> positions;
  Kokkos::View<int*, Space> masses;
};

}  // namespace

template <>
struct trellis::ResourceTraits<Particles> {
  static auto accesses(Particles const& particles, auto how) {
    return std::tuple(access(particles.positions, how), read(particles.masses));
  }
  static Particles argument(Particles const& particles, auto) { return particles; }
};

namespace {

KOKKOS_FUNCTION int moved(int position, int mass) {
  return (position + 7919 / mass) % (cell_count * 100);
}

}  // namespace

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  using trellis::atomic_add;
  using trellis::ResourcePolicy, trellis::read, trellis::read_write, trellis::write;

  std::vector<Particles> species;
  for (int s = 0; s < species_count; ++s) {
    species.emplace_back("species " + std::to_string(s));
    for (int i = 0; i < particle_count; ++i) {
      species[s].positions(i) = (37 * i + s) % (cell_count * 100);
      species[s].masses(i) = 1 + (i + s) % 5;
    }
  }
  Cells const occupied(4 * cell_count);
  std::vector<int> history(steps);

  trellis::TaskGraph graph;
  for (int step = 0; step < steps; ++step) {
    for (Particles const& each : species) {
      trellis::parallel_for(
          "move", ResourcePolicy(graph, Indices(0, particle_count), write(each)),
          KOKKOS_LAMBDA(int i, Particles const& p) {
            p.positions(i) = moved(p.positions(i), p.masses(i));
          });
      // Insertions are atomic, so those of the species may run at the same time.
      trellis::parallel_for(
          "count",
          ResourcePolicy(graph, Indices(0, particle_count), read(each), atomic_add(occupied)),
          KOKKOS_LAMBDA(int i, Particles const& p, Cells const& cells) {
            (void)cells.insert(p.positions(i) / 100, step);
          });
    }
    trellis::host_task("note", ResourcePolicy(graph, read_write(occupied), write(history)),
                       [step](Cells cells, std::span<int> notes) {
                         notes[step] = static_cast<int>(cells.size());
                         cells.clear();
                       });
  }
  graph.wait();

  // A plain loop computes the same.
  bool same = true;
  std::vector<std::vector<int>> positions(species_count, std::vector<int>(particle_count));
  for (int s = 0; s < species_count; ++s)
    for (int i = 0; i < particle_count; ++i) positions[s][i] = (37 * i + s) % (cell_count * 100);
  for (int step = 0; step < steps; ++step) {
    std::vector<bool> cells(cell_count);
    for (int s = 0; s < species_count; ++s)
      for (int i = 0; i < particle_count; ++i) {
        positions[s][i] = moved(positions[s][i], 1 + (i + s) % 5);
        cells[positions[s][i] / 100] = true;
      }
    int count = 0;
    for (bool const each : cells) count += each;
    same = same && count == history[step];
    std::printf("step %d: %d cells occupied\n", step, history[step]);
  }
  for (int s = 0; s < species_count; ++s)
    for (int i = 0; i < particle_count; ++i)
      same = same && positions[s][i] == species[s].positions(i);
  std::printf("%s\n", same ? "the same as the plain loop" : "NOT the same as the plain loop");
  return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
