// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_GPU_MODELS_HPP
#define TRELLIS_GPU_MODELS_HPP

#include "Shapes.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gpu {

/// A way to run a shape.
struct Model {
  std::string name;
  std::string what;
  /// Null: not here, or not this shape.
  std::function<std::unique_ptr<Runner>(Shape const&)> make;
};

std::vector<Model> portable_models();
/// Those written against CUDA itself. Without CUDA they are named, and cannot be made.
std::vector<Model> cuda_models();

}  // namespace gpu

#endif
