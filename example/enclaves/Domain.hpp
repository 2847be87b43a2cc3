// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_ENCLAVES_DOMAIN_HPP
#define TRELLIS_EXAMPLE_ENCLAVES_DOMAIN_HPP

#include <Trellis.hpp>
#include <Trellis_Numbers.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "Kernels.hpp"
#include "Options.hpp"

/// This header has subdomains in a ring, with their data. The top of a subdomain joins its bottom.
namespace enclaves {

/// The input and output of a patch while it is a task of its own.
struct Buffers {
  Cells in;   ///< with a halo
  Cells out;  ///< without
};

/// The first and the last column of patches are the skeleton: the neighbours read their cells. The
/// patches between these are enclaves.
struct Subdomain {
  std::array<Cells, 2> state;  ///< in steps of an even and of an odd number
  std::vector<Buffers> enclaves;
  trellis::TaskNumber first;  ///< of the newest tasks of the enclaves, which are in a row
  std::int64_t found_done = 0;

  Subdomain(Problem const& problem, int place) {
    auto const side = static_cast<std::size_t>(problem.side());
    auto const cells = static_cast<std::size_t>(problem.cells);
    for (Cells& each : state) each = Cells("state", side, side);
    for (int k = 0; k < problem.enclaves(); ++k)
      enclaves.push_back(
          {Cells("enclave in", cells + 2, cells + 2), Cells("enclave out", cells, cells)});
    for (int i = 0; i < problem.side(); ++i)
      for (int j = 0; j < problem.side(); ++j)
        state[0](i, j) = std::sin(0.61 * i + 0.2 * std::sin(0.37 * j)) *
                         std::cos(0.43 * (j + place * problem.side()) + 0.011 * i);
  }
};

class Domain {
 public:
  explicit Domain(Problem const& of) : problem(of) {
    for (int s = 0; s < problem.subdomains; ++s) m_all.emplace_back(problem, s);
  }

  [[nodiscard]] Subdomain& operator[](int s) { return m_all[index(s)]; }
  /// Returns its Views of these steps, of all subdomains.
  [[nodiscard]] std::vector<Cells> states(int step) const {
    std::vector<Cells> all;
    for (Subdomain const& each : m_all)
      all.push_back(each.state[static_cast<std::size_t>(step % 2)]);
    return all;
  }
  [[nodiscard]] Cells const& state(int s, int step) const {
    return m_all[index(s)].state[static_cast<std::size_t>(step % 2)];
  }
  /// The patches that the neighbours see, and those that they do not.
  [[nodiscard]] Columns left(int s, int step) const { return columns(s, step, 0, 1); }
  [[nodiscard]] Columns inner(int s, int step) const {
    return columns(s, step, 1, problem.patches - 1);
  }
  [[nodiscard]] Columns right(int s, int step) const {
    return columns(s, step, problem.patches - 1, problem.patches);
  }
  [[nodiscard]] std::int64_t found_done() const {
    std::int64_t all = 0;
    for (Subdomain const& each : m_all) all += each.found_done;
    return all;
  }

  Problem const problem;

 private:
  [[nodiscard]] std::size_t index(int s) const {
    return static_cast<std::size_t>((s + problem.subdomains) % problem.subdomains);
  }
  /// Columns of patches.
  [[nodiscard]] Columns columns(int s, int step, int begin, int end) const {
    return Kokkos::subview(state(s, step), Kokkos::ALL,
                           std::pair(begin * problem.cells, end * problem.cells));
  }
  std::vector<Subdomain> m_all;
};

}  // namespace enclaves

#endif
