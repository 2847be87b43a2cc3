// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Models.hpp"

namespace gpu {

std::vector<Model> cuda_models() {
  auto const none = [](Shape const&) -> std::unique_ptr<Runner> { return nullptr; };
  return {{"streams_and_events",
           "Kokkos::parallel_for on streams picked by hand, with events written by hand", none},
          {"cuda_graph", "a CUDA graph built node by node, made once", none}};
}

}  // namespace gpu
