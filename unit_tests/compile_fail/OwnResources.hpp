// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Types with ResourceTraits, right and wrong.
#ifndef TRELLIS_TEST_OWNRESOURCES_HPP
#define TRELLIS_TEST_OWNRESOURCES_HPP

#include <Trellis.hpp>
#include <Trellis_Resources.hpp>

namespace trellis::Test {
struct Mesh {
  Kokkos::View<double*, Kokkos::HostSpace> cells;
};
struct MeshThatForgetsHow : Mesh {};
}  // namespace trellis::Test

template <>
struct trellis::ResourceTraits<trellis::Test::Mesh> {
  static auto accesses(trellis::Test::Mesh const& mesh, auto how) {
    return access(mesh.cells, how);
  }
};
template <>
struct trellis::ResourceTraits<trellis::Test::MeshThatForgetsHow> {
  static auto accesses(trellis::Test::Mesh const& mesh, auto) { return mesh.cells; }
};

#endif
