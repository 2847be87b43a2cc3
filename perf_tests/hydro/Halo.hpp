// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef HYDRO_HALO_HPP
#define HYDRO_HALO_HPP

#include "Fields.hpp"

// The walls reflect.
namespace hydro {

/// A field and how it is mirrored. On faces (and nodes) the wall itself has an entry; the component
/// of a vector that is at right angles to the wall changes its sign.
struct Mirrored {
  Field field;
  bool on_x_faces;
  bool on_y_faces;
  double x_sign = 1;
  double y_sign = 1;
};
inline Mirrored in_cells(Field const& field) {
  return {field, false, false};
}
inline Mirrored x_vector_in_nodes(Field const& field) {
  return {field, true, true, -1, 1};
}
inline Mirrored y_vector_in_nodes(Field const& field) {
  return {field, true, true, 1, -1};
}
inline Mirrored on_left_faces(Field const& field) {
  return {field, true, false, -1, 1};
}
inline Mirrored on_lower_faces(Field const& field) {
  return {field, false, true, 1, -1};
}

/// Fills the halo of a row from inner entries alone.
template <int count>
struct HaloUpdate {
  Grid grid;
  Mirrored of[count];

  KOKKOS_FUNCTION void operator()(int r) const {
    for (Mirrored const& each : of) row(each, r);
  }

 private:
  [[nodiscard]] KOKKOS_INLINE_FUNCTION int source(int k, bool on_faces) const {
    int const on = on_faces ? 1 : 0;
    if (k < grid.halo) return 2 * grid.halo - 1 + on - k;
    return k < grid.end() + on ? k : 2 * grid.end() - 1 + on - k;
  }
  KOKKOS_INLINE_FUNCTION void row(Mirrored const& each, int r) const {
    int const rows = grid.all() - (each.on_y_faces ? 0 : 1);
    int const columns = grid.all() - (each.on_x_faces ? 0 : 1);
    if (r >= rows) return;
    int const from = source(r, each.on_y_faces);
    double const row_sign = from == r ? 1 : each.y_sign;
    auto const fill = [&](int c) {
      int const column = source(c, each.on_x_faces);
      double const sign = row_sign * (column == c ? 1 : each.x_sign);
      each.field(r, c) = sign * each.field(from, column);
    };
    int const inner_end = grid.end() + (each.on_x_faces ? 1 : 0);
    for (int c = 0; c < grid.halo; ++c) fill(c);
    if (from != r)
      for (int c = grid.halo; c < inner_end; ++c) fill(c);
    for (int c = inner_end; c < columns; ++c) fill(c);
  }
};

}  // namespace hydro

#endif
