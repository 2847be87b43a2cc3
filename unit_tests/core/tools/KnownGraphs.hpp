// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_CORE_KNOWNGRAPHS_HPP
#define TRELLIS_TEST_CORE_KNOWNGRAPHS_HPP

#include "GraphTest.hpp"

#include <Trellis_Graph.hpp>

#include <string>
#include <utility>
#include <vector>

/// Graphs whose numbers are known from arithmetic on paper.
namespace trellis::Test {

/// Tasks "t1", "t2", ... with these edges.
inline Graph numbered(std::size_t size, std::vector<EdgeRecord> edges) {
  std::vector<TaskRecord> nodes;
  for (TaskId id = 1; id <= size; ++id) nodes.push_back(task(id, "t" + std::to_string(id)));
  return {std::move(nodes), std::move(edges)};
}

inline Graph chain(std::size_t length) {
  std::vector<EdgeRecord> edges;
  for (TaskId id = 2; id <= length; ++id) edges.push_back({id - 1, id});
  return numbered(length, std::move(edges));
}

/// So many equations, each with its fluxes and a right-hand side that needs them.
inline Graph equations(std::size_t count, std::size_t fluxes) {
  std::vector<TaskRecord> nodes;
  std::vector<EdgeRecord> edges;
  for (std::size_t e = 0; e < count; ++e) {
    TaskId const rhs = (e + 1) * (fluxes + 1);
    for (std::size_t f = 0; f < fluxes; ++f) {
      TaskId const id = e * (fluxes + 1) + f + 1;
      nodes.push_back(task(id, "flux"));
      edges.push_back({id, rhs});
    }
    nodes.push_back(task(rhs, "rhs"));
  }
  return {std::move(nodes), std::move(edges)};
}

/// A product that each of these right-hand sides needs.
inline Graph shared_product(std::size_t count) {
  std::vector<TaskRecord> nodes{task(1, "product")};
  std::vector<EdgeRecord> edges;
  for (TaskId id = 2; id < count + 2; ++id) {
    nodes.push_back(task(id, "rhs"));
    edges.push_back({1, id});
  }
  return {std::move(nodes), std::move(edges)};
}

}  // namespace trellis::Test

#endif
