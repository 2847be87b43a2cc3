// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shapes.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace gpu {

Shape::Shape(std::string name, int tiles, int elements)
    : m_name(std::move(name)),
      m_elements(elements),
      m_all("tiles", std::size_t(tiles) * std::size_t(elements)) {}

void Shape::add(std::vector<Rows> const& reads, int out, bool updates, std::vector<int> before,
                int lane) {
  auto const rows = [&](int first, int count) {
    return Row(Kokkos::subview(m_all, std::pair(first * m_elements, (first + count) * m_elements)));
  };
  ShapeTask task;
  task.out = rows(out, 1);
  task.updates = updates;
  task.before = std::move(before);
  task.lane = lane;
  task.work.out = task.out.data();
  task.work.elements = m_elements;
  task.work.keep = updates ? 0.5 : 0;
  for (std::size_t k = 0; k < reads.size(); ++k) {
    task.reads.push_back(rows(reads[k].first, reads[k].count));
    task.work.in[k] = task.reads.back().data();
    task.work.rows[k] = reads[k].count;
  }
  m_tasks.push_back(std::move(task));
}

Shape Shape::chain(int tasks, int elements) {
  Shape shape("chain", 1, elements);
  for (int k = 0; k < tasks; ++k)
    shape.add({}, 0, true, k == 0 ? std::vector<int>{} : std::vector<int>{k - 1}, 0);
  return shape;
}

Shape Shape::independent(int tasks, int elements) {
  Shape shape("independent", tasks, elements);
  for (int k = 0; k < tasks; ++k) shape.add({}, k, true, {}, k % lanes);
  return shape;
}

/// A ring of tiles and two copies of it that take turns: a task reads three and writes one.
Shape Shape::stencil(int tasks, int elements) {
  int const width = std::min(32, std::max(3, tasks / 4));
  Shape shape("stencil", 2 * width, elements);
  for (int k = 0; k < tasks; ++k) {
    int const step = k / width, w = k % width;
    int const from = (step % 2) * width, to = width - from;
    int const left = (w + width - 1) % width, right = (w + 1) % width;
    std::vector<int> before;
    if (step > 0)
      for (int const other : {left, w, right}) before.push_back((step - 1) * width + other);
    shape.add({{from + left, 1}, {from + w, 1}, {from + right, 1}}, to + w, false, before,
              w * lanes / width);
  }
  return shape;
}

/// One task, `leaves` that read what it writes, one that reads what these write, and so on.
Shape Shape::fans(int tasks, int elements) {
  int const leaves = 14;
  Shape shape("fan-out, fan-in", 2 + leaves, elements);
  for (int first = 0; first + leaves + 2 <= tasks; first += leaves + 2) {
    std::vector<int> all;
    shape.add({{1, 1}}, 0, true, first == 0 ? std::vector<int>{} : std::vector<int>{first - 1}, 0);
    for (int k = 0; k < leaves; ++k) {
      shape.add({{0, 1}}, 2 + k, true, {first}, k % lanes);
      all.push_back(first + 1 + k);
    }
    shape.add({{2, leaves}}, 1, true, all, 0);
  }
  return shape;
}

int Shape::most_before() const {
  std::size_t most = 0;
  for (ShapeTask const& task : m_tasks) most = std::max(most, task.before.size());
  return static_cast<int>(most);
}

void Shape::reset() const {
  Kokkos::deep_copy(m_all, 1.0);
  Kokkos::fence();
}

std::vector<double> Shape::values() const {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), m_all);
  return {host.data(), host.data() + host.size()};
}

}  // namespace gpu
