// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments that the worklets have in common.
#ifndef TRELLIS_TEST_COMPILE_FAIL_WORKLETS_HPP
#define TRELLIS_TEST_COMPILE_FAIL_WORKLETS_HPP

#include <Trellis_Worklets.hpp>

namespace trellis::Test {
using V = Kokkos::View<double*>;
struct Copy : MapFields {
  using ControlSignature = void(Field, Field(Out));
  using ExecutionSignature = _2(_1);
  KOKKOS_FUNCTION double operator()(double x) const { return x; }
};
}  // namespace trellis::Test

#endif
