// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_RANKS_INITIAL_HPP
#define TRELLIS_EXAMPLE_HEAT_RANKS_INITIAL_HPP

#include <cmath>
#include <optional>
#include <vector>

#include "../heat/Picture.hpp"
#include "../heat/Temperature.hpp"
#include "Options.hpp"
#include "Part.hpp"

/// This header has temperatures of the whole plate, by cell, so that each rank can compute those of
/// its part.
namespace heat::ranks {

/// The slowest mode, sin(pi x / height) sin(pi y / width), or a picture that is spread over the
/// plate; 0 on the boundary.
class Initial {
 public:
  /// Reads the picture. Throws `std::runtime_error`.
  explicit Initial(Options const& options) : m_cells(options.cells), m_spacing(options.spacing()) {
    if (!options.input.empty()) {
      m_picture = read_picture(options.input);
      return;
    }
    for (std::size_t k = 0; k < 2; ++k) {
      m_sines[k].assign(static_cast<std::size_t>(m_cells[k]) + 2, 0.0);
      for (int i = 1; i <= m_cells[k]; ++i)
        m_sines[k][static_cast<std::size_t>(i)] =
            std::sin(Kokkos::numbers::pi * i / (m_cells[k] + 1));
    }
  }

  [[nodiscard]] double operator()(int row, int column) const {
    if (row < 1 || row > m_cells[0] || column < 1 || column > m_cells[1]) return 0;
    if (m_picture) return m_picture->at((row - 0.5) / m_cells[0], (column - 0.5) / m_cells[1]);
    return m_sines[0][static_cast<std::size_t>(row)] * m_sines[1][static_cast<std::size_t>(column)];
  }

  /// Returns the factor by which the slowest mode has decayed; nothing is known of a picture.
  [[nodiscard]] std::optional<double> decay(double time) const {
    if (m_picture) return {};
    double const width = (m_cells[1] + 1) * m_spacing;
    double const pi = Kokkos::numbers::pi;
    return std::exp(-pi * pi * (1 + 1 / (width * width)) * time);
  }

 private:
  std::vector<int> m_cells;
  double m_spacing;
  std::vector<double> m_sines[2];
  std::optional<Picture> m_picture;
};

/// Calls `f(row, column, value)` for this rank's cells of a field, by the plate's rows and columns.
template <class F>
void for_cells(Part const& part, Field<2> const& field, F&& f) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), field);
  Box<2> const& box = part.box();
  for (int i = box.begin[0]; i < box.end[0]; ++i)
    for (int j = box.begin[1]; j < box.end[1]; ++j)
      f(i, j, host(i - box.begin[0] + 1, j - box.begin[1] + 1));
}

/// Returns the initial temperature of this rank's cells and of those around them.
inline Field<2> initial_field(Part const& part, Initial const& initial) {
  Field<2> const field = part.make_field("initial");
  auto const host = Kokkos::create_mirror_view(field);
  Box<2> const& box = part.box();
  for (int i = 0; i < host.extent_int(0); ++i)
    for (int j = 0; j < host.extent_int(1); ++j)
      host(i, j) = initial(box.begin[0] + i - 1, box.begin[1] + j - 1);
  Kokkos::deep_copy(field, host);
  return field;
}

}  // namespace heat::ranks

#endif
