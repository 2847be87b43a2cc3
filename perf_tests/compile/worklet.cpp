// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The task of task.cpp as a worklet.
#include <Trellis.hpp>
#include <worklets/Trellis_Invoke.hpp>

struct Fill : trellis::MapFields {
  using ControlSignature = void(Field(Out));
  using ExecutionSignature = _1(WorkIndex);
  KOKKOS_FUNCTION double operator()(std::int64_t i) const { return static_cast<double>(i); }
};

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  trellis::TaskGraph graph;
  Kokkos::View<double*> const x("x", 100);
  trellis::invoke("fill", trellis::ResourcePolicy(graph), Fill(), x);
}
