// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_ADAPTIVE_MESH_PICTURE_HPP
#define TRELLIS_EXAMPLE_ADAPTIVE_MESH_PICTURE_HPP

#include <filesystem>

#include "Mesh.hpp"

/// With this header a program draws a mesh and what is on it.
namespace adaptive_mesh {

/// An SVG: the cells, and the borders of patches; those of the skeleton are red. Throws
/// `std::runtime_error` when it cannot be written.
void draw(std::filesystem::path const& file, Mesh const& mesh, int step);

}  // namespace adaptive_mesh

#endif
