// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_RANKS_TASKSOLVER_HPP
#define TRELLIS_EXAMPLE_HEAT_RANKS_TASKSOLVER_HPP

#include <Trellis.hpp>
#include <Trellis_Mpi.hpp>
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "../heat/TrellisSolver.hpp"
#include "Change.hpp"
#include "Part.hpp"

/// This header has the solver as tasks: steps of tiles, and messages. Nothing in it waits for a
/// message, or specifies what may run meanwhile. A border tile reads the halo, so its step comes
/// after the message that brings it. An inner tile does not, so it runs at any time.
namespace heat::ranks {

/// The order of tasks that could run. A message that is ready starts at once: it takes
/// microseconds, and a neighbour waits for it. Then come border tiles, as messages wait for them. A
/// step of the whole plate takes at least as long as a halo and a border tile one after the other,
/// step by step. Inner tiles fill the time in which a halo is in flight. In the opposite order they
/// would be complete when the halo starts, and no work would be left meanwhile.
inline constexpr trellis::priority messages_first(2);
inline constexpr trellis::priority border_first(1);
inline constexpr trellis::priority inner_last(0);

class TaskSolver {
 public:
  /// (It is public, as kernels of a device need to see it.)
  struct LargestOf {
    Kokkos::View<double const*, Space> values;
    KOKKOS_FUNCTION void operator()(int k, double& largest) const {
      largest = Kokkos::max(largest, values(k));
    }
  };

  /// All arguments must outlive the solver. `by_plan`: two steps are recorded here, and replayed.
  TaskSolver(trellis::TaskGraph& graph, Part const& part, Problem const& problem,
             Tiles const& tiles, DoubleBuffer<2> const& u, bool by_plan)
      : m_graph(graph),
        m_part(part),
        m_problem(problem),
        m_tiles(tiles),
        m_u(u),
        m_partial("largest change of each tile", problem.residuals(), tiles.count()),
        m_changes("largest change", problem.residuals()) {
    if (by_plan)
      m_two_steps = graph.record("two steps", [&] {
        take_step(0, "even", -1);
        take_step(1, "odd", -1);
      });
  }

  /// Takes `steps` steps, an even number when there is a plan, and waits. Returns the largest
  /// change of all ranks, one for each check. Collective.
  std::vector<double> solve(int steps) {
    if (m_two_steps.valid())
      replay(steps);
    else
      submit(steps);
    m_graph.wait();
    int const checks = m_problem.residual_every == 0 ? 0 : steps / m_problem.residual_every;
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), m_changes);
    return {host.data(), host.data() + checks};
  }

 private:
  using Memory = Space::memory_space;
  using Largest = Kokkos::Max<double, Memory>;

  void submit(int steps) {
    for (int step = 0; step < steps; ++step) {
      int const check = m_problem.residual_of(step);
      take_step(step, std::to_string(step + 1), check);
      if (check >= 0) compare(check);
    }
  }

  /// To later tasks a replay is one task. So the steps are replayed from one check to the next, and
  /// tasks of their own compute the change. The next replay waits for those that read the fields,
  /// and not for the communication between the ranks.
  void replay(int steps) {
    int const at_once = m_problem.residual_every == 0 ? steps : m_problem.residual_every;
    for (int done = 0; done < steps;) {
      int const next = std::min(at_once, steps - done);
      m_graph.replay(m_two_steps, static_cast<std::uint64_t>(next) / 2);
      done += next;
      if (int const check = m_problem.residual_of(done - 1); check >= 0) {
        int t = 0;
        for_tiles([&](Box<2> const& tile, trellis::priority) { look(tile, check, t++); });
        compare(check);
      }
    }
  }

  /// Takes a step with this name. With a check its tasks also compute how much has changed.
  void take_step(int step, std::string const& name, int check) {
    Field<2> const &before = m_u.before(step), &after = m_u.after(step);
    // The halo of `after` was read two steps ago, so this receive is posted before its message
    // comes.
    for (Side const side : all_sides)
      if (m_part.has(side)) receive(side, step, name, after);
    int t = 0;
    for_tiles([&](Box<2> const& tile, trellis::priority urgency) {
      advance(tile, "step " + name, before, after, urgency, check, t++);
    });
    for (Side const side : all_sides)
      if (m_part.has(side)) send(side, step, name, after);
  }
  template <class F>
  void for_tiles(F&& f) const {
    for (Box<2> const& tile : m_tiles.border) f(tile, border_first);
    for (Box<2> const& tile : m_tiles.inner) f(tile, inner_last);
  }

  void receive(Side side, int step, std::string const& name, Field<2> const& u) {
    with_side(u, side, [&](auto const&, auto const& halo) {
      trellis::mpi::recv(message("recv ", side, name),
                         trellis::ResourcePolicy(m_graph, messages_first), m_part.comm, halo,
                         m_part.neighbours[side], tag_of(opposite(side), step));
    });
  }
  void send(Side side, int step, std::string const& name, Field<2> const& u) {
    with_side(u, side, [&](auto const& edge, auto const&) {
      trellis::mpi::send(message("send ", side, name),
                         trellis::ResourcePolicy(m_graph, messages_first), m_part.comm, edge,
                         m_part.neighbours[side], tag_of(side, step));
    });
  }
  static std::string message(char const* what, Side side, std::string const& name) {
    return what + (name_of(side) + (" " + name));
  }

  void advance(Box<2> const& tile, std::string const& label, Field<2> const& before,
               Field<2> const& after, trellis::priority urgency, int check, int t) {
    Step<2> const body{before, after, tile, m_problem.ratio()};
    auto const policy = tile_policy<2>(m_graph, before, after, tile, urgency);
    if (check < 0)
      trellis::parallel_for(label, policy, body);
    else
      trellis::parallel_reduce(label, policy, StepAndChange(body),
                               Largest(Kokkos::subview(m_partial, check, t)));
  }

  /// Computes the change of the step before this check, of which both fields still exist.
  void look(Box<2> const& tile, int check, int t) {
    int const step = (check + 1) * m_problem.residual_every - 1;
    Field<2> const &before = m_u.before(step), &after = m_u.after(step);
    trellis::parallel_reduce(
        "change",
        trellis::ResourcePolicy(m_graph, policy_over(tile),
                                trellis::read(cells_of<2>(before, tile)),
                                trellis::read(cells_of<2>(after, tile)), border_first),
        LargestChange{before, after, tile}, Largest(Kokkos::subview(m_partial, check, t)));
  }

  /// Computes the largest change of all tiles, and of all ranks. Each check has memory of its own,
  /// and the program reads it only at the end, so no step waits for it.
  void compare(int check) {
    auto const of_tiles = Kokkos::subview(m_partial, check, Kokkos::ALL);
    auto const change = Kokkos::subview(m_changes, check);
    trellis::parallel_reduce(
        "largest change",
        trellis::ResourcePolicy(m_graph, m_tiles.count(), trellis::read(of_tiles)),
        LargestOf{of_tiles}, Largest(change));
    trellis::mpi::allreduce("residual", trellis::ResourcePolicy(m_graph), m_part.comm, change,
                            trellis::mpi::max);
  }
  trellis::TaskGraph& m_graph;
  Part const& m_part;
  Problem const& m_problem;
  Tiles const& m_tiles;
  DoubleBuffer<2> const& m_u;
  Kokkos::View<double**, Kokkos::LayoutRight, Space> m_partial;
  Kokkos::View<double*, Space> m_changes;
  trellis::Plan m_two_steps;
};

}  // namespace heat::ranks

#endif
