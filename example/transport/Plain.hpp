// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_TRANSPORT_PLAIN_HPP
#define TRELLIS_EXAMPLE_TRANSPORT_PLAIN_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "Kernels.hpp"
#include "Problem.hpp"

/// This header has the equations as a plain loop of kernels.
namespace transport {

using Host = Kokkos::DefaultHostExecutionSpace;

/// Returns an instance with so many threads, where the space has them.
template <class Space = Host>
Space host_with(int threads) {
  if constexpr (std::is_constructible_v<Space, int>)
    return Space(threads);
  else
    return Space();
}

/// Solves one equation after the other, in memory for as many fluxes and sources as one of them
/// has. The model is compared with this, and must agree with it in every bit.
class Plain {
 public:
  Plain(Problem const& problem, Host const& space) : m_problem(problem), m_space(space) {
    for (int e = 0; e < problem.equations; ++e) {
      m_phi.push_back(view("phi"));
      m_rate.push_back(view("rate"));
      set_initial(problem, e, m_phi.back());
      m_read.emplace_back(m_phi.back());
    }
    for (int k = 0; k < 6; ++k) m_fluxes.push_back(view("flux"));
    for (V const& flux : m_fluxes) m_read_fluxes.emplace_back(flux);
    m_source = view("source");
  }

  /// Returns when the step is complete.
  void step() {
    Cells const cells{m_problem.cells};
    if (m_problem.source == Source::shared) run(Product{cells}, list(m_read), Out(m_source));
    for (std::size_t e = 0; e < m_phi.size(); ++e) {
      for (int d = 0; d < 3; ++d) {
        run(diffusion(m_problem, d), m_read[e], Out(m_fluxes[static_cast<std::size_t>(d)]));
        run(convection(m_problem, d), m_read[e], Out(m_fluxes[static_cast<std::size_t>(3 + d)]));
      }
      if (m_problem.source == Source::own)
        run(Product{cells},
            m_problem.coupling == Coupling::all ? list(m_read) : List{&m_read[e], 1},
            Out(m_source));
      run(Balance{cells, 1 / m_problem.spacing()}, list(m_read_fluxes), In(m_source),
          Out(m_rate[e]));
    }
    for (std::size_t e = 0; e < m_phi.size(); ++e)
      run(Advance{cells, m_problem.time_step()}, In(m_rate[e]), Out(m_phi[e]));
    m_space.fence("transport: after a step");
  }
  [[nodiscard]] F::host_view phi(int equation) const {
    return m_phi[static_cast<std::size_t>(equation)];
  }

 private:
  using V = Kokkos::View<double***, Kokkos::LayoutRight, Kokkos::HostSpace>;
  struct List {
    In const* first;
    std::size_t count;
    [[nodiscard]] std::size_t size() const { return count; }
    In const& operator[](std::size_t k) const { return first[k]; }
  };
  static List list(std::vector<In> const& of) { return {of.data(), of.size()}; }

  [[nodiscard]] V view(std::string const& label) const {
    return V(label, m_problem.cells, m_problem.cells, m_problem.cells);
  }
  template <class Functor, class... Arguments>
  void run(Functor const& functor, Arguments const&... arguments) const {
    Kokkos::parallel_for("plain", Kokkos::RangePolicy<Host>(m_space, 0, m_problem.rows()),
                         [=](int row) { functor(row, arguments...); });
  }

  Problem const m_problem;
  Host const m_space;
  std::vector<V> m_phi, m_rate, m_fluxes;
  std::vector<In> m_read, m_read_fluxes;
  V m_source;
};

/// True if both agree in every bit.
template <class A, class B>
bool agree(Problem const& problem, A const& a, B const& b) {
  for (int e = 0; e < problem.equations; ++e) {
    auto const x = a.phi(e);
    auto const y = b.phi(e);
    if (std::memcmp(x.data(), y.data(), problem.field_bytes()) != 0) return false;
  }
  return true;
}

}  // namespace transport

#endif
