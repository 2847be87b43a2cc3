// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKBENCH_EDGES_HPP
#define TRELLIS_TASKBENCH_EDGES_HPP

#include "Pattern.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace taskbench {

/// A task that must be complete before another one starts.
struct Predecessor {
  int steps_back;
  int column;
  friend bool operator==(Predecessor const&, Predecessor const&) = default;
};

/// The edges of a shape whose columns keep `copies` outputs: step s writes copy s % copies, so it
/// must wait for those who read what it overwrites. Every model gets its edges from here: those
/// that analyse accesses ask for `declared_inputs` (and find the others themselves), those whose
/// edges are given by hand ask for `predecessors`. Tables, computed before the clock starts.
class Edges {
 public:
  /// With `drop`, task (step 1, column 1) is not declared to read its first input in another
  /// column.
  Edges(Shape const& shape, int copies, bool drop);

  /// What the task really reads.
  [[nodiscard]] std::span<int const> inputs(std::int64_t step, int column) const {
    return row(step).inputs.of(column);
  }
  [[nodiscard]] std::span<int const> declared_inputs(std::int64_t step, int column) const {
    return row(step).declared.of(column);
  }
  /// Declared inputs, readers of the copy that is overwritten, and its writer where it has no
  /// reader.
  [[nodiscard]] std::span<Predecessor const> predecessors(std::int64_t step, int column) const {
    return row(step).predecessors.of(column);
  }
  /// The column whose task of step 0 is the input that was dropped, or -1.
  [[nodiscard]] int dropped() const { return m_dropped; }

 private:
  /// A list for each column.
  template <class T>
  struct Lists {
    std::vector<std::size_t> ends;
    std::vector<T> values;
    [[nodiscard]] std::span<T const> of(int column) const {
      std::size_t const begin = column == 0 ? 0 : ends[static_cast<std::size_t>(column) - 1];
      return std::span(values).subspan(begin, ends[static_cast<std::size_t>(column)] - begin);
    }
    void add(std::vector<T> const& list) {
      values.insert(values.end(), list.begin(), list.end());
      ends.push_back(values.size());
    }
  };
  struct Row {
    Lists<int> inputs;
    Lists<int> declared;
    Lists<Predecessor> predecessors;
  };

  [[nodiscard]] Row const& row(std::int64_t step) const {
    return m_rows[static_cast<std::size_t>(step < m_first ? step
                                                          : m_first + (step - m_first) % m_period)];
  }
  [[nodiscard]] std::vector<int> declared(std::int64_t step, int column) const;
  void add_row(std::int64_t step, int copies);

  Shape m_shape;
  std::int64_t m_first;
  std::int64_t m_period;
  int m_dropped = -1;
  std::vector<Row> m_rows;
};

}  // namespace taskbench

#endif
