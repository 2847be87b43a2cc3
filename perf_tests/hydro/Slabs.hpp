// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef HYDRO_SLABS_HPP
#define HYDRO_SLABS_HPP

#include "Step.hpp"

#include <Trellis.hpp>
#include <Trellis_Resources.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

namespace hydro {

/// The kernel for the rows from `first` on.
template <class Kernel>
struct From {
  Kernel kernel;
  int first;
  KOKKOS_FUNCTION void operator()(int k) const { kernel(first + k); }
};

/// Each loop as tasks on slabs of rows, which say what they touch by subviews. The two kinds of
/// steps are plans; the time step of each one is a future that the program waits for.
class SlabRun {
 public:
  SlabRun(trellis::TaskGraph& graph, Grid const& grid, Fields const& fields, int slabs)
      : m_graph(&graph), m_grid(grid), m_slabs(slabs) {
    for (int k = 0; k < 2; ++k) {
      std::uint64_t const before = m_tasks;
      m_plans[k] = graph.record([&] { Step(*this, grid, fields).submit(k == 0); });
      m_tasks = k == 0 ? m_tasks : m_tasks - before;  // both have as many
      m_chosen[k] = m_next;
    }
  }
  /// Tasks of a step.
  [[nodiscard]] std::uint64_t tasks() const { return m_tasks; }
  double step(bool x_first) {
    int const k = x_first ? 0 : 1;
    m_graph->replay(m_plans[k], 1);
    return m_chosen[k].get();
  }

  template <class Kernel>
  void operator()(char const* name, Rows rows, Kernel const& kernel,
                  std::initializer_list<Touch> touches) {
    submit(name, rows, kernel, std::span(touches.begin(), touches.size()), nullptr);
  }
  template <class Kernel>
  void operator()(char const* name, Rows rows, Kernel const& kernel,
                  std::span<Touch const> touches) {
    submit(name, rows, kernel, touches, nullptr);
  }
  template <class Kernel>
  void with_time_step(char const* name, Rows rows, Kernel const& kernel,
                      std::initializer_list<Touch> touches) {
    submit(name, rows, kernel, std::span(touches.begin(), touches.size()), &kernel.time_step);
  }
  void choose_step(Grid const& grid, Fields const& f) {
    using namespace trellis;
    m_next = host_task("choose step",
                       ResourcePolicy(*m_graph, read(f.least_step), read_write(f.time_step)),
                       ChooseStep{grid, f.least_step, f.time_step});
    ++m_tasks;
  }

 private:
  static Field rows_of(Field const& field, int begin, int end) {
    int const last = static_cast<int>(field.extent(0));
    return Kokkos::subview(field, std::pair(std::max(begin, 0), std::min(end, last)), Kokkos::ALL);
  }
  template <class Kernel>
  void submit(char const* name, Rows rows, Kernel const& kernel, std::span<Touch const> touches,
              Scalar const* time_step) {
    using namespace trellis;
    for (int s = 0; s < m_slabs; ++s) {
      bool const is_first = s == 0;
      bool const is_last = s + 1 == m_slabs;
      auto const border = [&](std::int64_t k) {
        return m_grid.halo + static_cast<int>(k * m_grid.n / m_slabs);
      };
      int const begin = border(s) - (is_first ? rows.below : 0);
      int const end = border(s + 1) + (is_last ? rows.above : 0);
      AccessList list;
      for (Touch const& touch : touches) {
        int const more = is_first && !is_last ? touch.above_first : 0;
        if (!touch.writes) {
          list.read(rows_of(touch.field, begin - touch.below, end + touch.above));
        } else {
          list.read_write(rows_of(touch.field, begin, end));
          if (more != 0) list.read(rows_of(touch.field, end, end + more));
        }
      }
      if (time_step != nullptr) list.read(*time_step);
      parallel_for(name, ResourcePolicy(*m_graph, end - begin, on<TaskSpace>, list),
                   From<Kernel>{kernel, begin});
      ++m_tasks;
    }
  }

  trellis::TaskGraph* m_graph;
  Grid m_grid;
  int m_slabs;
  std::uint64_t m_tasks = 0;
  trellis::Plan m_plans[2];
  trellis::Future<double> m_chosen[2];
  trellis::Future<double> m_next;
};

}  // namespace hydro

#endif
