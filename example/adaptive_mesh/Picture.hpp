// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_ADAPTIVE_MESH_PICTURE_HPP
#define TRELLIS_EXAMPLE_ADAPTIVE_MESH_PICTURE_HPP

#include <filesystem>

#include "Mesh.hpp"

/// This header draws a mesh and its state.
namespace adaptive_mesh {

/// Writes an SVG of the cells and the borders of patches; those of the skeleton are red. Throws
/// `std::runtime_error` when it cannot write.
void draw(std::filesystem::path const& file, Mesh const& mesh, int step);

}  // namespace adaptive_mesh

#endif
