// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Particles walk at random on a ring of cells. In each step several tasks move some of the
// particles each. They run at the same time. They draw from random streams by particle
// and step, so the walk is the same in every run. They count the particles in the cells, each
// thread in a duplicate of its own. They note how many moved left, stayed and moved right, each
// thread for itself. A plain loop must give the same result.
#include <Trellis.hpp>
#include <Trellis_Threads.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace {

using Host = Kokkos::DefaultHostExecutionSpace;
using Cells = Kokkos::View<int*, Host>;
using Moves = std::array<long, 3>;

constexpr int particles = 6000, tasks = 8, cells = 50, steps = 20;
constexpr std::uint64_t seed = 1905;

/// -1, 0 or 1.
KOKKOS_INLINE_FUNCTION int move_of(trellis::RandomStreams const& random, int particle, int step) {
  auto stream = random(static_cast<std::uint64_t>(particle), static_cast<std::uint32_t>(step));
  return stream.rand(-1, 2);
}

struct Walk {
  trellis::RandomStreams random;
  int step;
  Cells at;
  trellis::ScatterView<Cells> counts;
  trellis::PerWorker<Moves> moves;
  KOKKOS_FUNCTION void operator()(int particle) const {
    int const move = move_of(random, particle, step);
    at(particle) = (at(particle) + move + cells) % cells;
    auto count = counts.access();
    count(at(particle)) += 1;
    ++moves.local()[static_cast<std::size_t>(move + 1)];
  }
};

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  trellis::RandomStreams const random(seed);
  Cells const at("at", particles), counted("counted", cells);
  trellis::ScatterView const counts(counted);
  trellis::PerWorker<Moves> const moves("moves", Moves{});
  trellis::TaskGraph graph;

  for (int step = 0; step < steps; ++step)
    for (int k = 0; k < tasks; ++k) {
      int const first = particles * k / tasks, last = particles * (k + 1) / tasks;
      auto const mine = Kokkos::subview(at, std::pair(first, last));
      trellis::parallel_for(
          "walk",
          trellis::ResourcePolicy(graph, Kokkos::RangePolicy<Host>(first, last),
                                  trellis::read_write(mine), trellis::atomic_add(counts.token()),
                                  trellis::atomic_add(moves.token())),
          Walk{random, step, at, counts, moves});
    }
  trellis::contribute(graph, counted, counts);
  auto const add = [](Moves sum, Moves const& one) {
    for (std::size_t k = 0; k < 3; ++k) sum[k] += one[k];
    return sum;
  };
  auto const all_moves =
      trellis::host_task("moves", trellis::ResourcePolicy(graph, trellis::read(moves.token())),
                         [=] { return moves.combine(Moves{}, add); });
  Moves const found = all_moves.get();
  graph.wait();

  std::array<int, particles> plain_at{};
  std::array<int, cells> plain_counted{};
  Moves plain_moves{};
  for (int step = 0; step < steps; ++step)
    for (int particle = 0; particle < particles; ++particle) {
      int& here = plain_at[static_cast<std::size_t>(particle)];
      int const move = move_of(random, particle, step);
      here = (here + move + cells) % cells;
      ++plain_counted[static_cast<std::size_t>(here)];
      ++plain_moves[static_cast<std::size_t>(move + 1)];
    }
  bool agrees = found == plain_moves;
  for (int k = 0; k < cells; ++k)
    agrees = agrees && counted(k) == plain_counted[static_cast<std::size_t>(k)];

  std::printf("%d particles, %d steps: %ld moves to the left, %ld to the right\n", particles, steps,
              found[0], found[2]);
  std::printf("tasks agree with a plain loop: %s\n", agrees ? "yes" : "no");
  return agrees ? 0 : 1;
}
