// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tools/Trellis_Implied.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace trellis::Impl {

/// This is Tarjan's algorithm, with a stack of its own.
std::vector<std::size_t> circles(std::size_t size, std::vector<Arrow> const& arrows) {
  std::vector<std::vector<std::size_t>> out(size);
  for (Arrow const& arrow : arrows) out[arrow.from].push_back(arrow.to);
  constexpr std::size_t none = ~std::size_t{0};
  std::vector<std::size_t> circle(out.size(), none), seen(out.size(), none), low(out.size(), 0);
  std::vector<std::size_t> open;
  std::vector<std::pair<std::size_t, std::size_t>> stack;  // a node, and its next arrow
  std::size_t count = 0, time = 0;
  for (std::size_t first = size; first-- != 0;) {
    if (seen[first] != none) continue;
    stack.emplace_back(first, 0);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next == 0) {
        seen[node] = low[node] = time++;
        open.push_back(node);
      }
      if (next != out[node].size()) {
        std::size_t const to = out[node][next++];
        if (seen[to] == none)
          stack.emplace_back(to, 0);
        else if (circle[to] == none)
          low[node] = std::min(low[node], seen[to]);
        continue;
      }
      std::size_t const done = node;
      stack.pop_back();
      if (!stack.empty()) low[stack.back().first] = std::min(low[stack.back().first], low[done]);
      if (low[done] != seen[done]) continue;
      while (true) {
        std::size_t const member = open.back();
        open.pop_back();
        circle[member] = count;
        if (member == done) break;
      }
      ++count;
    }
  }
  return circle;
}

std::vector<bool> implied(std::size_t size, std::vector<Arrow> const& arrows) {
  std::vector<std::size_t> const on_circle = circles(size, arrows);
  std::vector<bool> is_implied(arrows.size(), false);
  // What paths of dependencies reach, and then what paths of all arrows but the released reach.
  for (Arrow::Kind const strongest : {Arrow::Kind::dependency, Arrow::Kind::scheduling}) {
    std::vector<Arrow> counted;  // a circle that other arrows close is none here
    std::copy_if(arrows.begin(), arrows.end(), std::back_inserter(counted),
                 [&](Arrow const& arrow) { return arrow.kind <= strongest; });
    std::vector<std::size_t> const circle = circles(size, counted);
    std::vector<std::vector<std::size_t>> out(size);
    for (Arrow const& arrow : counted)
      if (circle[arrow.from] != circle[arrow.to])
        out[circle[arrow.from]].push_back(circle[arrow.to]);
    std::vector<std::vector<bool>> reached(size, std::vector<bool>(size, false));
    for (std::size_t from = 0; from != size; ++from)  // arrows lead to smaller numbers
      for (std::size_t const to : out[from]) {
        if (reached[from][to]) continue;
        for (std::size_t k = 0; k != to; ++k)
          if (reached[to][k]) reached[from][k] = true;
        reached[from][to] = true;
      }
    for (std::size_t a = 0; a != arrows.size(); ++a) {
      Arrow const& arrow = arrows[a];
      std::size_t const from = circle[arrow.from], to = circle[arrow.to];
      bool const is_meant =
          (arrow.kind == Arrow::Kind::dependency) == (strongest == Arrow::Kind::dependency);
      if (!is_meant || on_circle[arrow.from] == on_circle[arrow.to]) continue;
      is_implied[a] = std::any_of(out[from].begin(), out[from].end(), [&](std::size_t between) {
        return between != to && reached[between][to];
      });
    }
  }
  return is_implied;
}

}  // namespace trellis::Impl
