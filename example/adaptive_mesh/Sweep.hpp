// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_ADAPTIVE_MESH_SWEEP_HPP
#define TRELLIS_EXAMPLE_ADAPTIVE_MESH_SWEEP_HPP

#include <Trellis.hpp>
#include <Trellis_Fusion.hpp>
#include <Trellis_Numbers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <vector>

#include "Mesh.hpp"

/// This header moves a mesh forward in time. A step is a fork-join with a child for each subdomain.
///
/// Fork-joins name the states of patches, and enclaves name their buffers; see example/enclaves.
/// Where a patch has a neighbour in another subdomain both are of the skeleton. So only the
/// subdomain itself reads the states of its enclaves, and a child need not wait for the enclaves of
/// other subdomains.
namespace adaptive_mesh {

class Sweeps {
 public:
  Sweeps(trellis::TaskGraph& graph, Mesh& mesh) : m_graph(graph), m_numbers(graph), m_mesh(mesh) {
    divide();
  }

  /// Takes one step, and adapts the mesh when that is due.
  void step() {
    trellis::fork_join(
        "sweep",
        trellis::ResourcePolicy(m_graph, trellis::read_write(m_states[now()]),
                                trellis::read_write(m_states[next()])),
        [this](trellis::TaskScope& self) {
          for (Subdomain& mine : m_subdomains)
            trellis::host_task(
                "subdomain",
                trellis::ResourcePolicy(self, trellis::read_write(mine.enclave_states[now()]),
                                        trellis::read(mine.skeleton_states[now()]),
                                        trellis::read(mine.foreign_states[now()]),
                                        trellis::write(mine.skeleton_states[next()])),
                [this, &mine] {
                  take_enclaves(mine);
                  spawn_enclaves(mine);
                  update_skeleton(mine);
                });
        });
    ++m_step;
    if (m_step % m_mesh.problem().adapt_every == 0) {
      finish();
      m_mesh.adapt(m_step);
      divide();
    }
  }

  /// Returns when the enclaves are complete, too. Then no task is left, and the host may change the
  /// mesh.
  void finish() {
    trellis::fork_join(
        "finish", trellis::ResourcePolicy(m_graph, trellis::read_write(m_states[now()])),
        [this](trellis::TaskScope& self) {
          for (Subdomain& mine : m_subdomains)
            trellis::host_task(
                "subdomain",
                trellis::ResourcePolicy(self, trellis::read_write(mine.enclave_states[now()])),
                [this, &mine] { take_enclaves(mine); });
        });
  }

  [[nodiscard]] int steps() const { return m_step; }
  [[nodiscard]] std::int64_t skeletons() const { return m_skeletons + of(&Subdomain::skeletons); }
  [[nodiscard]] std::int64_t enclaves() const { return m_enclaves + of(&Subdomain::spawned); }
  [[nodiscard]] std::int64_t found_done() const {
    return m_found_done + of(&Subdomain::found_done);
  }

 private:
  using Views = std::vector<Cells>;

  /// The patches of one child of a sweep, until the mesh changes. It has counts of its own, as
  /// children run at the same time.
  struct Subdomain {
    std::vector<Patch const*> enclave, skeleton;
    Views enclave_states[2], skeleton_states[2];
    Views foreign_states[2];    ///< of its neighbours in other subdomains
    trellis::TaskNumber first;  ///< of the newest tasks of the enclaves, none when they are taken
    std::int64_t skeletons = 0, spawned = 0, found_done = 0;
  };

  [[nodiscard]] std::size_t now() const { return static_cast<std::size_t>(m_step % 2); }
  [[nodiscard]] std::size_t next() const { return 1 - now(); }
  [[nodiscard]] std::int64_t of(std::int64_t Subdomain::* count) const {
    std::int64_t all = 0;
    for (Subdomain const& each : m_subdomains) all += each.*count;
    return all;
  }

  void divide() {
    m_skeletons = skeletons(), m_enclaves = enclaves(), m_found_done = found_done();
    m_subdomains.assign(static_cast<std::size_t>(m_mesh.problem().subdomains), {});
    std::vector<Patch> const& patches = m_mesh.patches();
    for (std::size_t s = 0; s < 2; ++s) m_states[s].clear();
    for (Patch const& patch : patches) {
      Subdomain& mine = m_subdomains[static_cast<std::size_t>(patch.subdomain)];
      (patch.is_skeleton ? mine.skeleton : mine.enclave).push_back(&patch);
      for (std::size_t s = 0; s < 2; ++s) {
        m_states[s].push_back(patch.data.state[s]);
        (patch.is_skeleton ? mine.skeleton_states : mine.enclave_states)[s].push_back(
            patch.data.state[s]);
      }
    }
    // A patch of the skeleton may have several neighbours in a subdomain: it is named once.
    for (Patch const& patch : patches) {
      std::vector<bool> has_it(m_subdomains.size());
      for (auto const& side : patch.neighbours)
        for (std::size_t const k : side) {
          auto const other = static_cast<std::size_t>(patches[k].subdomain);
          if (patches[k].subdomain == patch.subdomain || has_it[other]) continue;
          has_it[other] = true;
          for (std::size_t s = 0; s < 2; ++s)
            m_subdomains[other].foreign_states[s].push_back(patch.data.state[s]);
        }
    }
  }

  /// Waits for the tasks of the previous step, and takes their results.
  void take_enclaves(Subdomain& mine) {
    if (!mine.first.valid()) return;
    auto const numbers =
        std::views::iota(mine.first, mine.first + static_cast<std::uint64_t>(mine.enclave.size()));
    for (trellis::TaskNumber const& each : numbers) mine.found_done += m_graph.is_done(each);
    m_graph.wait(numbers);
    for (Patch const* const patch : mine.enclave) {
      Cells const& out = patch->data.out;
      std::copy(out.data(), out.data() + out.size(), patch->data.state[now()].data());
    }
    mine.first = {};
  }

  void spawn_enclaves(Subdomain& mine) {
    if (mine.enclave.empty()) return;
    int const cells = m_mesh.problem().cells;
    mine.spawned += static_cast<std::int64_t>(mine.enclave.size());
    mine.first = m_numbers.reserve(mine.enclave.size());
    trellis::TaskNumber number = mine.first;
    for (Patch const* const patch : mine.enclave) {
      m_mesh.gather(*patch, m_step, patch->data.in);
      trellis::parallel_for(
          "enclave",
          trellis::ResourcePolicy(m_graph, Range(0, cells * cells), trellis::fusable,
                                  trellis::number(number++), trellis::read(patch->data.in),
                                  trellis::write(patch->data.out)),
          m_mesh.advect(*patch));
    }
  }

  void update_skeleton(Subdomain& mine) {
    int const cells = m_mesh.problem().cells;
    mine.skeletons += static_cast<std::int64_t>(mine.skeleton.size());
    auto const n = static_cast<std::size_t>(cells) + 2;
    Cells const in("skeleton", n, n);
    for (Patch const* const patch : mine.skeleton) {
      m_mesh.gather(*patch, m_step, in);
      Advect const advect = m_mesh.advect(*patch);
      Cells const& state = patch->data.state[next()];
      for (int i = 0; i < cells; ++i)
        for (int j = 0; j < cells; ++j) state(i, j) = advect.at(i, j, in);
    }
  }

  trellis::TaskGraph& m_graph;
  trellis::TaskNumbers m_numbers;
  Mesh& m_mesh;
  std::vector<Subdomain> m_subdomains;
  Views m_states[2];
  int m_step = 0;
  std::int64_t m_skeletons = 0, m_enclaves = 0, m_found_done = 0;  ///< on earlier meshes
};

}  // namespace adaptive_mesh

#endif
