// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_GPU_SHAPES_HPP
#define TRELLIS_GPU_SHAPES_HPP

#include "Gpu.hpp"

#include <array>
#include <string>
#include <vector>

namespace gpu {

/// The kernel of every task: a few additions for each element, so that the launch is what costs.
struct Work {
  std::array<double const*, 3> in{};
  std::array<int, 3> rows{};  ///< of the inputs, one behind the other
  double* out = nullptr;
  int elements = 0;
  double keep = 0;

  KOKKOS_FUNCTION void operator()(int i) const {
    double sum = 0;
    for (int k = 0; k < 3; ++k)
      for (int row = 0; row < rows[k]; ++row) sum += in[k][row * elements + i];
    out[i] = keep * out[i] + 0.125 * sum + 1;
  }
};

/// A task of a shape: what it touches, for Trellis, and whom it comes after, for those who want
/// that said.
struct ShapeTask {
  std::vector<Row> reads;  ///< none, one or three
  Row out;
  bool updates = false;  ///< reads `out` as well
  std::vector<int> before;
  int lane = 0;  ///< a good stream for it, picked by hand
  Work work;
};

/// Tasks in an order in which they may run.
class Shape {
 public:
  static constexpr int lanes = 4;
  static Shape chain(int tasks, int elements);
  static Shape independent(int tasks, int elements);
  static Shape stencil(int tasks, int elements);
  static Shape fans(int tasks, int elements);

  [[nodiscard]] std::string const& name() const { return m_name; }
  [[nodiscard]] std::vector<ShapeTask> const& tasks() const { return m_tasks; }
  [[nodiscard]] int elements() const { return m_elements; }
  [[nodiscard]] int most_before() const;
  void reset() const;
  [[nodiscard]] std::vector<double> values() const;

 private:
  Shape(std::string name, int tiles, int elements);
  struct Rows {
    int first, count;
  };
  void add(std::vector<Rows> const& reads, int out, bool updates, std::vector<int> before,
           int lane);

  std::string m_name;
  int m_elements;
  Row m_all;
  std::vector<ShapeTask> m_tasks;
};

}  // namespace gpu

#endif
