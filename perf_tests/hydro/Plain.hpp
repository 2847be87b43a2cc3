// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef HYDRO_PLAIN_HPP
#define HYDRO_PLAIN_HPP

#include "Step.hpp"

#include <span>

namespace hydro {

/// Fork and join: a `Kokkos::parallel_for` over all rows and a fence for each loop.
class PlainRun {
 public:
  explicit PlainRun(Grid const& grid) : m_grid(grid) {}

  template <class Kernel>
  void operator()(char const* name, Rows rows, Kernel const& kernel,
                  std::initializer_list<Touch>) const {
    loop(name, rows, kernel);
  }
  template <class Kernel>
  void operator()(char const* name, Rows rows, Kernel const& kernel, std::span<Touch const>) const {
    loop(name, rows, kernel);
  }
  template <class Kernel>
  void with_time_step(char const* name, Rows rows, Kernel const& kernel,
                      std::initializer_list<Touch>) const {
    loop(name, rows, kernel);
  }
  void choose_step(Grid const& grid, Fields const& f) const {
    (void)ChooseStep{grid, f.least_step, f.time_step}();
  }

 private:
  template <class Kernel>
  void loop(char const* name, Rows rows, Kernel const& kernel) const {
    using Policy = Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace, Kokkos::IndexType<int>>;
    Kokkos::DefaultHostExecutionSpace const space;
    Kokkos::parallel_for(name, Policy(space, m_grid.halo - rows.below, m_grid.end() + rows.above),
                         kernel);
    space.fence();
  }
  Grid m_grid;
};

}  // namespace hydro

#endif
