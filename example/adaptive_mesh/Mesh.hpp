// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_ADAPTIVE_MESH_MESH_HPP
#define TRELLIS_EXAMPLE_ADAPTIVE_MESH_MESH_HPP

#include <Kokkos_Core.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "Kernels.hpp"
#include "Options.hpp"

/// This header has a quadtree of patches that follows the state on it. It has no tasks.
namespace adaptive_mesh {

/// Where a patch is: row i and column j of 2^level in each direction.
struct Key {
  int level = 0, i = 0, j = 0;

  [[nodiscard]] Key parent() const { return {level - 1, i / 2, j / 2}; }
  [[nodiscard]] Key child(int down, int right) const {
    return {level + 1, 2 * i + down, 2 * j + right};
  }
  friend bool operator==(Key const&, Key const&) = default;
  /// Orders patches along a space-filling curve (Morton): patches in a row are near each other.
  friend std::strong_ordering operator<=>(Key const& a, Key const& b);
};

/// The memory of a patch.
struct Data {
  std::array<Cells, 2> state;  ///< after steps of an even and of an odd number
  // Input and output of the patch while it is a task of its own.
  Cells in;   ///< with ghost cells
  Cells out;  ///< without
};

enum class Side { north, south, west, east };

/// A patch between two changes of the mesh.
struct Patch {
  Key key;
  Data data;
  int subdomain = 0;
  /// True beside a patch of another level or subdomain. All others may be enclaves.
  bool is_skeleton = false;
  /// The neighbours on each side, by `Side`: none at the border of the square, one, or two finer
  /// ones.
  std::array<std::vector<std::size_t>, 4> neighbours;
};

/// Neighbours differ by one level at most.
class Mesh {
 public:
  explicit Mesh(Problem const& problem);

  [[nodiscard]] std::vector<Patch> const& patches() const { return m_patches; }
  [[nodiscard]] Problem const& problem() const { return m_problem; }
  [[nodiscard]] Advect advect(Patch const& patch) const;

  /// Copies the patch with its ghost cells. These are cells of neighbours, the one cell of a
  /// coarser one, the mean of four of finer ones, and at the border of the square the patch's own.
  void gather(Patch const& patch, int step, Cells const& in) const;

  /// Refines where the state changes much, and around; coarsens where it is smooth. Afterwards the
  /// state of this step is the same, for example as sums over areas. Other states are undefined.
  void adapt(int step);

  [[nodiscard]] double total(int step) const;
  [[nodiscard]] std::size_t least_patches() const { return m_least; }
  [[nodiscard]] std::size_t most_patches() const { return m_most; }
  /// The largest relative change of the total by `adapt` so far. It is rounding.
  [[nodiscard]] double transfer_error() const { return m_transfer_error; }

 private:
  [[nodiscard]] Data allocate();
  [[nodiscard]] bool is_leaf(Key const& key) const { return m_leaves.contains(key); }
  /// Returns the leaves on a side of this patch.
  [[nodiscard]] std::vector<Key> beside(Key const& key, Side side) const;
  void split(Key key, int step);
  [[nodiscard]] bool may_merge(Key const& parent) const;
  void merge(Key const& parent, int step);
  /// Lists the patches, and their properties, from the leaves.
  void list_patches();
  void set_initial();
  /// Returns how much the state differs within a patch.
  [[nodiscard]] double variation(Data const& data, int step) const;
  void refine_and_coarsen(int step);

  Problem const m_problem;
  std::map<Key, Data> m_leaves;
  std::vector<Patch> m_patches;
  std::vector<Data> m_unused;
  std::size_t m_least = 0, m_most = 0;
  double m_transfer_error = 0;
};

}  // namespace adaptive_mesh

#endif
