// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EXPECT: ResourceTraits<T>::accesses returns an access, a tuple of accesses or an AccessList
// LINES: 15
#include "OwnResources.hpp"

#ifdef TRELLIS_COMPILE_OK
using Mesh = trellis::Test::Mesh;
#else
using Mesh = trellis::Test::MeshThatForgetsHow;
#endif

void submit(trellis::TaskGraph& graph, Mesh const& mesh) {
  trellis::host_task("look", trellis::ResourcePolicy(graph, trellis::read(mesh)), [] {});
}
