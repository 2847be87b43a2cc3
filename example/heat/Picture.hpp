// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_HEAT_PICTURE_HPP
#define TRELLIS_EXAMPLE_HEAT_PICTURE_HPP

#include <cstddef>
#include <filesystem>
#include <vector>

/// This header reads a temperature from a file and writes one as a coloured picture. It uses no
/// Kokkos.
namespace heat {

/// A matrix of numbers; row 0 is the top row.
class Picture {
 public:
  Picture(int rows, int columns)
      : m_rows(rows),
        m_columns(columns),
        m_values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns)) {}

  [[nodiscard]] int rows() const { return m_rows; }
  [[nodiscard]] int columns() const { return m_columns; }
  [[nodiscard]] double& operator()(int row, int column) { return m_values[index(row, column)]; }
  [[nodiscard]] double operator()(int row, int column) const {
    return m_values[index(row, column)];
  }
  /// Returns the bilinear value at a place, both coordinates in [0, 1], from the top and from the
  /// left.
  [[nodiscard]] double at(double down, double right) const;

 private:
  [[nodiscard]] std::size_t index(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(m_columns) +
           static_cast<std::size_t>(column);
  }
  int m_rows;
  int m_columns;
  std::vector<double> m_values;
};

/// Reads a PGM image (P2 or P5, grey values scaled to [0, 1]) or a text file with one line of
/// numbers per row (taken as they are). Throws `std::runtime_error` that names the file and its
/// error.
[[nodiscard]] Picture read_picture(std::filesystem::path const& file);

/// Writes a PNG: smallest value dark violet, largest yellow, in perceptually equal steps. Throws
/// `std::runtime_error` when it cannot write.
void write_png(std::filesystem::path const& file, Picture const& picture);

}  // namespace heat

#endif
