// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_TRANSPORT_MODEL_HPP
#define TRELLIS_EXAMPLE_TRANSPORT_MODEL_HPP

#include <Trellis.hpp>
#include <Trellis_Fields.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "Kernels.hpp"
#include "Problem.hpp"

/// This header has the equations as a model of fields.
namespace transport {

/// Places all tasks on the host.
struct OnTheHost {
  static constexpr auto place = trellis::on<Kokkos::DefaultHostExecutionSpace>;
  template <class Functor, class... Annotations>
  void operator()(trellis::FieldGraph& model, std::string const& label, int rows,
                  Functor const& functor, Annotations const&... annotations) const {
    trellis::parallel_for(label, trellis::ResourcePolicy(model, rows, place, annotations...),
                          functor);
  }
};

/// The scalars and the right-hand sides exist between steps. Fluxes and sources have memory only
/// while they are needed. `Add` gives a task to the model, and determines where it may run.
template <class Add>
class ModelOf {
 public:
  ModelOf(trellis::TaskGraph& graph, Problem const& problem,
          trellis::FieldGraphOptions options = {}, Add add = {})
      : m_graph(graph),
        m_problem(problem),
        m_model(graph, std::move(options)),
        m_add(std::move(add)) {
    for (int e = 0; e < problem.equations; ++e) {
      m_phi.push_back(field("phi " + std::to_string(e)));
      m_rate.push_back(field("rate " + std::to_string(e)));
      m_model.store(m_phi.back(), trellis::FieldStorage::persistent);
      set_initial(problem, e, m_model.host_view(m_phi.back()));
    }
    if (problem.source == Source::shared) m_shared = add_source("source", m_phi);
    for (int e = 0; e < problem.equations; ++e) add_equation(e);
  }

  /// Submits a step: an iteration of the model, then ordinary tasks that advance the scalars.
  void step() {
    submit_iteration();
    submit_updates();
  }
  void submit_iteration() { m_model.submit(); }
  void submit_updates() {
    for (std::size_t e = 0; e < m_phi.size(); ++e)
      trellis::parallel_for(
          "advance " + std::to_string(e),
          trellis::ResourcePolicy(m_graph, m_problem.rows(), OnTheHost::place,
                                  trellis::read(m_rate[e]), trellis::read_write(m_phi[e])),
          Advance{{m_problem.cells}, m_problem.time_step()});
  }

  /// Returns a scalar. Call it after a wait.
  [[nodiscard]] F::host_view phi(int equation) const {
    return m_model.host_view(m_phi[static_cast<std::size_t>(equation)]);
  }
  [[nodiscard]] trellis::FieldMemory memory() const { return m_model.memory(); }
  [[nodiscard]] trellis::FieldPoolCounts counts() const { return m_model.pool().counts(); }
  [[nodiscard]] std::size_t tasks_held_back() const { return m_model.tasks_held_back(); }
  [[nodiscard]] auto assignment() const { return m_model.assignment(); }

 private:
  F field(std::string const& name) {
    int const n = m_problem.cells;
    return m_model.field<double***, Kokkos::LayoutRight>(name, n, n, n);
  }
  template <class Functor, class... Annotations>
  void add(std::string const& label, Functor const& functor, Annotations const&... annotations) {
    m_add(m_model, label, m_problem.rows(), functor, annotations...);
  }
  F add_source(std::string const& name, std::vector<F> const& phis) {
    F const source = field(name);
    add(name, Product{{m_problem.cells}}, trellis::read(phis), trellis::write(source));
    return source;
  }
  void add_equation(int e) {
    F const& phi = m_phi[static_cast<std::size_t>(e)];
    F const& rate = m_rate[static_cast<std::size_t>(e)];
    std::string const of = ' ' + std::to_string(e);
    F source = m_shared;
    if (m_problem.source == Source::own)
      source = add_source("source" + of,
                          m_problem.coupling == Coupling::all ? m_phi : std::vector<F>{phi});
    std::vector<F> fluxes;
    for (std::string const kind : {"diffusion", "convection"})
      for (int d = 0; d < 3; ++d) {
        F const flux = field(kind + of + ' ' + "xyz"[d]);
        if (kind == "diffusion")
          add(flux.label(), diffusion(m_problem, d), trellis::read(phi), trellis::write(flux));
        else
          add(flux.label(), convection(m_problem, d), trellis::read(phi), trellis::write(flux));
        fluxes.push_back(flux);
      }
    add("balance" + of, Balance{{m_problem.cells}, 1 / m_problem.spacing()}, trellis::read(fluxes),
        trellis::read(source), trellis::write(rate));
    m_model.require(rate);
  }

  trellis::TaskGraph& m_graph;
  Problem const m_problem;
  trellis::FieldGraph m_model;
  Add const m_add;
  std::vector<F> m_phi, m_rate;
  F m_shared;
};
using Model = ModelOf<OnTheHost>;

}  // namespace transport

#endif
