// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Edges.hpp"

#include <algorithm>

namespace taskbench {

Edges::Edges(Shape const& shape, int copies, bool drop) : m_shape(shape) {
  Repetition const repetition = repetition_of(shape);
  // A row also speaks of tasks that are `copies` steps back.
  m_first = repetition.first + copies;
  m_period = repetition.period;
  if (drop && shape.width > 1) {
    // Later than step 1 the edge would follow from those that protect the copies.
    for (int const c : inputs_of(shape, 1, 1))
      if (c != 1 && m_dropped < 0) m_dropped = c;
  }
  std::int64_t const rows = std::min(shape.steps, m_first + m_period);
  for (std::int64_t step = 0; step != rows; ++step) add_row(step, copies);
}

std::vector<int> Edges::declared(std::int64_t step, int column) const {
  std::vector<int> list = inputs_of(m_shape, step, column);
  if (m_dropped >= 0 && step == 1 && column == 1) std::erase(list, m_dropped);
  return list;
}

void Edges::add_row(std::int64_t step, int copies) {
  // Readers of what is overwritten: the reverse of the inputs in the step behind the overwritten
  // one.
  std::vector<std::vector<int>> readers(static_cast<std::size_t>(m_shape.width));
  std::int64_t const reading = step - copies + 1;
  if (reading > 0) {
    Columns const columns = columns_at(m_shape, reading);
    for (int c = columns.begin; c != columns.end; ++c)
      for (int const input : declared(reading, c))
        readers[static_cast<std::size_t>(input)].push_back(c);
  }
  Columns const overwritten = columns_at(m_shape, step - copies);
  Row row;
  for (int column = 0; column != m_shape.width; ++column) {
    std::vector<int> const list = declared(step, column);
    row.inputs.add(inputs_of(m_shape, step, column));
    row.declared.add(list);
    std::vector<Predecessor> predecessors;
    for (int const c : list) predecessors.push_back({1, c});
    std::vector<int> const& behind = readers[static_cast<std::size_t>(column)];
    for (int const c : behind) predecessors.push_back({copies - 1, c});
    if (behind.empty() && overwritten.contains(column)) predecessors.push_back({copies, column});
    std::sort(
        predecessors.begin(), predecessors.end(), [](Predecessor const& a, Predecessor const& b) {
          return a.steps_back != b.steps_back ? a.steps_back < b.steps_back : a.column < b.column;
        });
    predecessors.erase(std::unique(predecessors.begin(), predecessors.end()), predecessors.end());
    // A reader in the very same step exists with one copy only, which cannot be ordered.
    row.predecessors.add(predecessors);
  }
  m_rows.push_back(std::move(row));
}

}  // namespace taskbench
