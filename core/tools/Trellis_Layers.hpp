// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_LAYERS_HPP
#define TRELLIS_IMPL_LAYERS_HPP

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace trellis::Impl {

/// Places for the nodes of a small graph: layers follow each other along its edges, and what is
/// joined lies side by side. An edge between nodes that are further apart has a place in each layer
/// between.
class Layers {
 public:
  using Edge = std::pair<std::size_t, std::size_t>;

  /// Requires that each edge leads to a later node. Results for an edge are by its index.
  Layers(std::size_t size, std::vector<Edge> const& edges) : m_size(size), m_layer(size, 0) {
    std::vector<std::vector<std::size_t>> out(size);
    for (Edge const& edge : edges) out[edge.first].push_back(edge.second);
    for (std::size_t from = 0; from != size; ++from)
      for (std::size_t const to : out[from]) m_layer[to] = std::max(m_layer[to], m_layer[from] + 1);
    m_between.resize(edges.size());
    std::size_t places = 0;
    for (Edge const& edge : edges) places += m_layer[edge.second] - m_layer[edge.first] - 1;
    bool const has_room = places <= most_places;
    m_layer.resize(size + (has_room ? places : 0));
    m_before.resize(m_layer.size());
    m_after.resize(m_layer.size());
    auto const join = [&](std::size_t from, std::size_t to) {
      m_after[from].push_back(to);
      m_before[to].push_back(from);
    };
    std::size_t next = size;
    for (std::size_t e = 0; e != edges.size(); ++e) {
      std::size_t at = edges[e].first;
      for (std::size_t l = m_layer[at] + 1; has_room && l < m_layer[edges[e].second]; ++l) {
        m_between[e].push_back(next);
        join(at, next);
        m_layer[next] = l;
        at = next++;
      }
      join(at, edges[e].second);
    }
    for (std::size_t v = 0; v != m_layer.size(); ++v) {
      m_members.resize(std::max(m_members.size(), m_layer[v] + 1));
      m_members[m_layer[v]].push_back(v);
    }
    order();
    place();
  }

  [[nodiscard]] std::size_t count() const { return m_members.size(); }
  [[nodiscard]] std::size_t layer(std::size_t node) const { return m_layer[node]; }
  /// Where it lies across the layers: a node is 1 wide, the least is 0.
  [[nodiscard]] double across(std::size_t node) const { return m_across[node]; }
  /// The places of an edge between its ends, as nodes.
  [[nodiscard]] std::vector<std::size_t> const& between(std::size_t edge) const {
    return m_between[edge];
  }
  [[nodiscard]] double width() const {
    double most = 0;
    for (double const at : m_across) most = std::max(most, at + 1);
    return most;
  }

 private:
  static constexpr std::size_t most_places = 20'000;  ///< else edges are drawn straight

  /// Sorts each layer by the mean place of the neighbours in the layer before, or behind, in turn.
  void order() {
    std::vector<double> rank(m_layer.size(), 0);
    auto const number = [&](std::vector<std::size_t> const& layer) {
      for (std::size_t k = 0; k != layer.size(); ++k) rank[layer[k]] = static_cast<double>(k);
    };
    for (auto const& layer : m_members) number(layer);
    auto const sort = [&](std::vector<std::size_t>& layer, auto const& neighbours) {
      std::vector<double> wanted(rank);
      for (std::size_t const v : layer) {
        if (neighbours[v].empty()) continue;
        double sum = 0;
        for (std::size_t const w : neighbours[v]) sum += rank[w];
        wanted[v] = sum / static_cast<double>(neighbours[v].size());
      }
      std::stable_sort(layer.begin(), layer.end(),
                       [&](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
      number(layer);
    };
    for (int sweep = 0; sweep != 12; ++sweep) {
      for (std::size_t l = 1; l < m_members.size(); ++l) sort(m_members[l], m_before);
      if (sweep == 11) break;  // the order in which they were submitted shows best from the front
      for (std::size_t l = m_members.size(); l-- > 1;) sort(m_members[l - 1], m_after);
    }
  }

  [[nodiscard]] double size_of(std::size_t v) const { return v < m_size ? 1 : 0.35; }

  /// Moves each layer towards its neighbours; the order stays, and nothing overlaps.
  void place() {
    m_across.assign(m_layer.size(), 0);
    for (auto const& layer : m_members) {
      double at = 0;
      for (std::size_t const v : layer) {
        m_across[v] = at;
        at += size_of(v);
      }
    }
    auto const middle = [&](std::size_t v) { return m_across[v] + size_of(v) / 2; };
    for (int sweep = 0; sweep != 24; ++sweep) {
      bool const forward = sweep % 2 == 0;
      for (std::size_t k = 0; k != m_members.size(); ++k) {
        auto const& layer = m_members[forward ? k : m_members.size() - 1 - k];
        std::vector<double> wanted;
        for (std::size_t const v : layer) {
          auto const& near = forward ? m_before[v] : m_after[v];
          double sum = 0;
          for (std::size_t const w : near) sum += middle(w);
          wanted.push_back(near.empty() ? m_across[v]
                                        : sum / static_cast<double>(near.size()) - size_of(v) / 2);
        }
        spread(layer, wanted);
      }
    }
    double least = 0;
    if (!m_across.empty()) least = *std::min_element(m_across.begin(), m_across.end());
    for (double& at : m_across) at -= least;
  }

  /// Places a layer as near to the wanted places as its order allows: neighbours that would overlap
  /// become a block around the mean of what they want.
  void spread(std::vector<std::size_t> const& layer, std::vector<double> const& wanted) {
    struct Block {
      std::size_t first;
      std::size_t count;
      double sum;  ///< of the wanted begins of the block
      double size;
      [[nodiscard]] double at() const { return sum / static_cast<double>(count); }
    };
    std::vector<Block> blocks;
    for (std::size_t k = 0; k != layer.size(); ++k) {
      blocks.push_back({k, 1, wanted[k], size_of(layer[k])});
      while (blocks.size() > 1) {
        Block& before = blocks[blocks.size() - 2];
        Block const& last = blocks.back();
        if (before.at() + before.size <= last.at()) break;
        before.sum += last.sum - static_cast<double>(last.count) * before.size;
        before.size += last.size;
        before.count += last.count;
        blocks.pop_back();
      }
    }
    for (Block const& block : blocks) {
      double at = block.at();
      for (std::size_t k = block.first; k != block.first + block.count; ++k) {
        m_across[layer[k]] = at;
        at += size_of(layer[k]);
      }
    }
  }

  std::size_t m_size;
  std::vector<std::size_t> m_layer;
  std::vector<std::vector<std::size_t>> m_before, m_after, m_members, m_between;
  std::vector<double> m_across;
};

}  // namespace trellis::Impl

#endif
