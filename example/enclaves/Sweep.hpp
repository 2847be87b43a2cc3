// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_ENCLAVES_SWEEP_HPP
#define TRELLIS_EXAMPLE_ENCLAVES_SWEEP_HPP

#include <Trellis.hpp>
#include <Trellis_Fusion.hpp>
#include <Trellis_Numbers.hpp>

#include <cstddef>
#include <cstdint>
#include <ranges>

#include "Domain.hpp"

/// This header moves a domain forward in time. A step is a fork-join with a child for each
/// subdomain. Tasks that the children submit to the graph, and not to the fork-join, continue
/// behind it.
///
/// To other tasks a fork-join is one task. If it named the buffers of the enclaves it would wait
/// for all enclaves before it starts, and they for its end. So fork-joins name the states, and
/// enclaves name their buffers. A child touches the buffers of an enclave as a host does: after it
/// has waited for the enclave's number, and before it submits the next task of that enclave.
namespace enclaves {

class Sweeps {
 public:
  Sweeps(trellis::TaskGraph& graph, Domain& domain)
      : m_graph(graph), m_numbers(graph), m_domain(domain) {
    m_law.reactions = domain.problem.reactions;
  }

  /// Returns when the skeletons are a step further, and the enclaves are tasks.
  void step() {
    trellis::fork_join(
        "sweep",
        trellis::ResourcePolicy(m_graph, trellis::read_write(m_domain.states(m_step)),
                                trellis::read_write(m_domain.states(m_step + 1))),
        [this](trellis::TaskScope& self) {
          for (int s = 0; s < m_domain.problem.subdomains; ++s)
            trellis::host_task(
                "subdomain",
                trellis::ResourcePolicy(self, trellis::read_write(m_domain.inner(s, m_step)),
                                        trellis::read(m_domain.left(s, m_step)),
                                        trellis::read(m_domain.right(s, m_step)),
                                        trellis::read(m_domain.right(s - 1, m_step)),
                                        trellis::read(m_domain.left(s + 1, m_step)),
                                        trellis::write(m_domain.left(s, m_step + 1)),
                                        trellis::write(m_domain.right(s, m_step + 1))),
                [this, s] {
                  take_enclaves(s);
                  spawn_enclaves(s);
                  update_skeleton(s);
                });
        });
    ++m_step;
  }

  /// Returns when the enclaves are complete, too: the state of this step is complete.
  void finish() {
    trellis::fork_join(
        "last sweep",
        trellis::ResourcePolicy(m_graph, trellis::read_write(m_domain.states(m_step))),
        [this](trellis::TaskScope& self) {
          for (int s = 0; s < m_domain.problem.subdomains; ++s)
            trellis::host_task(
                "subdomain",
                trellis::ResourcePolicy(self, trellis::read_write(m_domain.inner(s, m_step))),
                [this, s] { take_enclaves(s); });
        });
  }
  [[nodiscard]] int steps() const { return m_step; }

 private:
  /// The place of an enclave's first cell.
  struct Place {
    int i, j;
  };
  [[nodiscard]] Place place(int enclave) const {
    Problem const& problem = m_domain.problem;
    int const columns = problem.patches - 2;
    return {enclave / columns * problem.cells, (1 + enclave % columns) * problem.cells};
  }

  /// Consumes: waits for the tasks of the previous step, and takes their results.
  void take_enclaves(int s) {
    Subdomain& mine = m_domain[s];
    if (!mine.first.valid()) return;  // no step yet
    int const cells = m_domain.problem.cells;
    auto const numbers = std::views::iota(
        mine.first, mine.first + static_cast<std::uint64_t>(m_domain.problem.enclaves()));
    for (trellis::TaskNumber const& each : numbers) mine.found_done += m_graph.is_done(each);
    m_graph.wait(numbers);
    Cells const& state = m_domain.state(s, m_step);
    for (int k = 0; k < m_domain.problem.enclaves(); ++k) {
      auto const [top, left] = place(k);
      Cells const& out = mine.enclaves[static_cast<std::size_t>(k)].out;
      for (int i = 0; i < cells; ++i)
        for (int j = 0; j < cells; ++j) state(top + i, left + j) = out(i, j);
    }
  }

  /// Produces the burst: many small tasks of the graph.
  void spawn_enclaves(int s) {
    Subdomain& mine = m_domain[s];
    int const cells = m_domain.problem.cells, side = m_domain.problem.side();
    Cells const& state = m_domain.state(s, m_step);
    mine.first = m_numbers.reserve(static_cast<std::uint64_t>(m_domain.problem.enclaves()));
    for (int k = 0; k < m_domain.problem.enclaves(); ++k) {
      auto const [top, left] = place(k);
      Buffers const& buffers = mine.enclaves[static_cast<std::size_t>(k)];
      for (int i = 0; i < cells + 2; ++i)
        for (int j = 0; j < cells + 2; ++j)
          buffers.in(i, j) = state((top + i - 1 + side) % side, left + j - 1);
      trellis::parallel_for(
          "enclave",
          trellis::ResourcePolicy(m_graph, Range(0, cells * cells), trellis::fusable,
                                  trellis::number(mine.first + static_cast<std::uint64_t>(k)),
                                  trellis::read(buffers.in), trellis::write(buffers.out)),
          Enclave{m_law, cells});
    }
  }

  void update_skeleton(int s) {
    int const cells = m_domain.problem.cells, side = m_domain.problem.side();
    Cells const& state = m_domain.state(s, m_step);
    Cells const& next = m_domain.state(s, m_step + 1);
    Cells const& before = m_domain.state(s - 1, m_step);
    Cells const& behind = m_domain.state(s + 1, m_step);
    auto const update = [&](int begin, int end) {
      for (int i = 0; i < side; ++i) {
        int const north = (i + side - 1) % side, south = (i + 1) % side;
        for (int j = begin; j < end; ++j)
          next(i, j) = m_law(state(i, j), state(north, j), state(south, j),
                             j == 0 ? before(i, side - 1) : state(i, j - 1),
                             j == side - 1 ? behind(i, 0) : state(i, j + 1));
      }
    };
    update(0, cells);
    update(side - cells, side);
  }

  trellis::TaskGraph& m_graph;
  trellis::TaskNumbers m_numbers;
  Domain& m_domain;
  Law m_law;
  int m_step = 0;
};

}  // namespace enclaves

#endif
