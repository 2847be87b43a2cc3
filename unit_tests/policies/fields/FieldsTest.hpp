// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_FIELDSTEST_HPP
#define TRELLIS_TEST_FIELDSTEST_HPP

#include <Trellis.hpp>
#include <Trellis_Fields.hpp>

#include <gmock/gmock.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace trellis::Test {

using F = Field<double*, Kokkos::LayoutRight>;
using Values = Kokkos::View<double*, Kokkos::LayoutRight, Kokkos::HostSpace>;
using In = view_list<F::read_view> const&;
using Out = view_list<F::view> const&;

inline TaskGraphOptions with_workers(int workers, bool serial = false) {
  TaskGraphOptions options;
  options.workers = workers;
  options.serial = serial;
  return options;
}
inline TaskGraphOptions shaken(int workers, std::uint64_t seed) {
  TaskGraphOptions options = with_workers(workers);
  options.policy = make_shake_policy(seed);
  return options;
}

template <class Act>
std::string message_of(Act&& act) {
  try {
    act();
  } catch (std::exception const& error) {
    return error.what();
  }
  return "no exception";
}

/// out = 1 + the sum of what it reads, element by element; all fields have one length.
struct Sum {
  void operator()(In in, Out out) const {
    for (F::view const& to : out)
      for (std::size_t k = 0; k < to.extent(0); ++k) {
        double sum = 1;
        for (F::read_view const& from : in) sum += from(k);
        to(k) = sum;
      }
  }
};
inline void add_sum(FieldGraph& model, Label label, std::vector<F> const& in,
                    std::vector<F> const& out) {
  host_task(std::move(label), ResourcePolicy(model, read(in), write(out)), Sum());
}

}  // namespace trellis::Test

#endif
