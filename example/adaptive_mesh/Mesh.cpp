// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Mesh.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace adaptive_mesh {
namespace {

/// A patch that differs by more is refined; one that differs by less may be coarsened.
constexpr double refine_above = 0.08, coarsen_below = 0.02;

constexpr std::array sides = {Side::north, Side::south, Side::west, Side::east};

/// Returns the bits of its corner, as seen on a level that is finer than all.
std::uint64_t morton(Key const& key) {
  constexpr int finest = 16;
  std::uint64_t code = 0;
  auto const i = static_cast<std::uint64_t>(key.i) << (finest - key.level);
  auto const j = static_cast<std::uint64_t>(key.j) << (finest - key.level);
  for (int bit = 0; bit < finest; ++bit)
    code |= (i >> bit & 1) << (2 * bit + 1) | (j >> bit & 1) << (2 * bit);
  return code;
}

std::size_t slot(int step) {
  return static_cast<std::size_t>(step % 2);
}

/// Returns the place of the same level on a side. It may lie outside of the square.
Key across(Key key, Side side) {
  switch (side) {
    case Side::north:
      --key.i;
      break;
    case Side::south:
      ++key.i;
      break;
    case Side::west:
      --key.j;
      break;
    case Side::east:
      ++key.j;
  }
  return key;
}
bool is_inside(Key const& key) {
  int const count = 1 << key.level;
  return key.i >= 0 && key.j >= 0 && key.i < count && key.j < count;
}

}  // namespace

std::strong_ordering operator<=>(Key const& a, Key const& b) {
  if (auto const order = morton(a) <=> morton(b); order != 0) return order;
  return a.level <=> b.level;
}

Mesh::Mesh(Problem const& problem) : m_problem(problem) {
  int const count = 1 << problem.coarsest;
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < count; ++j) m_leaves.emplace(Key{problem.coarsest, i, j}, allocate());
  set_initial();
  // The state of each level shows where the next one is needed.
  for (int level = problem.coarsest; level < problem.finest; ++level) {
    refine_and_coarsen(0);
    set_initial();
  }
  list_patches();
  m_least = m_most = m_patches.size();
}

Data Mesh::allocate() {
  if (!m_unused.empty()) {
    Data data = std::move(m_unused.back());
    m_unused.pop_back();
    return data;
  }
  auto const n = static_cast<std::size_t>(m_problem.cells);
  return {{Cells("even", n, n), Cells("odd", n, n)}, Cells("in", n + 2, n + 2), Cells("out", n, n)};
}

Advect Mesh::advect(Patch const& patch) const {
  double const side = std::ldexp(1.0, -patch.key.level);
  double const finest = std::ldexp(1.0, -m_problem.finest) / m_problem.cells;
  return {m_problem.cells, patch.key.j * side, patch.key.i * side, side / m_problem.cells,
          0.8 * finest};
}

/// Sets a disc beside the middle, with a sharp border.
void Mesh::set_initial() {
  for (auto const& [key, data] : m_leaves) {
    double const side = std::ldexp(1.0, -key.level), spacing = side / m_problem.cells;
    for (int i = 0; i < m_problem.cells; ++i)
      for (int j = 0; j < m_problem.cells; ++j) {
        double const x = key.j * side + (j + 0.5) * spacing - 0.5;
        double const y = key.i * side + (i + 0.5) * spacing - 0.27;
        data.state[0](i, j) = 0.5 - 0.5 * std::tanh(60 * (std::sqrt(x * x + y * y) - 0.15));
      }
  }
}

std::vector<Key> Mesh::beside(Key const& key, Side side) const {
  Key const place = across(key, side);
  if (!is_inside(place)) return {};
  if (is_leaf(place)) return {place};
  if (is_leaf(place.parent())) return {place.parent()};
  switch (side) {
    case Side::north:
      return {place.child(1, 0), place.child(1, 1)};
    case Side::south:
      return {place.child(0, 0), place.child(0, 1)};
    case Side::west:
      return {place.child(0, 1), place.child(1, 1)};
    default:
      return {place.child(0, 0), place.child(1, 0)};
  }
}

void Mesh::gather(Patch const& patch, int step, Cells const& in) const {
  int const n = m_problem.cells;
  Cells const& own = patch.data.state[slot(step)];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) in(i + 1, j + 1) = own(i, j);
  for (Side const side : sides) {
    bool const is_row = side == Side::north || side == Side::south;
    bool const is_first = side == Side::north || side == Side::west;
    std::vector<std::size_t> const& near = patch.neighbours[static_cast<std::size_t>(side)];
    // A cell of a neighbour, by its depth in there and its place along the border.
    auto const cell = [&](Patch const& other, int depth, int along) {
      Cells const& state = other.data.state[slot(step)];
      int const across_it = is_first ? n - 1 - depth : depth;
      return is_row ? state(across_it, along) : state(along, across_it);
    };
    for (int k = 0; k < n; ++k) {
      double ghost;
      if (near.empty()) {
        int const edge = is_first ? 0 : n - 1;
        ghost = is_row ? own(edge, k) : own(k, edge);
      } else if (near.size() == 2) {
        Patch const& other = m_patches[near[static_cast<std::size_t>(2 * k / n)]];
        int const along = 2 * k % n;
        ghost = 0.25 * ((cell(other, 0, along) + cell(other, 0, along + 1)) +
                        (cell(other, 1, along) + cell(other, 1, along + 1)));
      } else if (Patch const& other = m_patches[near.front()]; other.key.level == patch.key.level) {
        ghost = cell(other, 0, k);
      } else {
        int const half = (is_row ? patch.key.j : patch.key.i) % 2;
        ghost = cell(other, 0, (half * n + k) / 2);
      }
      int const edge = is_first ? 0 : n + 1;
      (is_row ? in(edge, k + 1) : in(k + 1, edge)) = ghost;
    }
  }
}

void Mesh::list_patches() {
  m_patches.clear();
  std::map<Key, std::size_t> places;
  for (auto const& [key, data] : m_leaves) {
    places.emplace(key, m_patches.size());
    m_patches.push_back({key, data, 0, false, {}});
  }
  for (std::size_t k = 0; k < m_patches.size(); ++k)
    m_patches[k].subdomain =
        static_cast<int>(k * static_cast<std::size_t>(m_problem.subdomains) / m_patches.size());
  for (Patch& patch : m_patches)
    for (Side const side : sides)
      for (Key const& key : beside(patch.key, side)) {
        std::size_t const other = places.at(key);
        patch.neighbours[static_cast<std::size_t>(side)].push_back(other);
        if (key.level != patch.key.level || m_patches[other].subdomain != patch.subdomain)
          patch.is_skeleton = true;
      }
}

double Mesh::variation(Data const& data, int step) const {
  Cells const& state = data.state[slot(step)];
  auto const [least, most] = std::minmax_element(state.data(), state.data() + state.size());
  return *most - *least;
}

/// Each child's cell gets the value of the cell that it is a quarter of.
void Mesh::split(Key key, int step) {
  for (Side const side : sides)
    for (Key const& other : beside(key, side))
      if (other.level < key.level) split(other, step);
  Data const old = m_leaves.at(key);
  m_leaves.erase(key);
  int const n = m_problem.cells;
  for (int down = 0; down < 2; ++down)
    for (int right = 0; right < 2; ++right) {
      Data const data = allocate();
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
          data.state[slot(step)](i, j) =
              old.state[slot(step)]((down * n + i) / 2, (right * n + j) / 2);
      m_leaves.emplace(key.child(down, right), data);
    }
  m_unused.push_back(old);
}

bool Mesh::may_merge(Key const& parent) const {
  for (int down = 0; down < 2; ++down)
    for (int right = 0; right < 2; ++right) {
      Key const key = parent.child(down, right);
      if (!is_leaf(key)) return false;
    }
  for (int down = 0; down < 2; ++down)
    for (int right = 0; right < 2; ++right)
      for (Side const side : sides)
        for (Key const& other : beside(parent.child(down, right), side))
          if (other.level > parent.level + 1) return false;
  return true;
}

/// Each cell gets the mean of the four that become it.
void Mesh::merge(Key const& parent, int step) {
  Data const data = allocate();
  Cells const& state = data.state[slot(step)];
  int const n = m_problem.cells, half = n / 2;
  for (int down = 0; down < 2; ++down)
    for (int right = 0; right < 2; ++right) {
      auto const child = m_leaves.find(parent.child(down, right));
      Cells const& old = child->second.state[slot(step)];
      for (int i = 0; i < half; ++i)
        for (int j = 0; j < half; ++j)
          state(down * half + i, right * half + j) =
              0.25 * ((old(2 * i, 2 * j) + old(2 * i, 2 * j + 1)) +
                      (old(2 * i + 1, 2 * j) + old(2 * i + 1, 2 * j + 1)));
      m_unused.push_back(child->second);
      m_leaves.erase(child);
    }
  m_leaves.emplace(parent, data);
}

void Mesh::refine_and_coarsen(int step) {
  std::set<Key> wanted, smooth;
  for (auto const& [key, data] : m_leaves) {
    double const differs = variation(data, step);
    if (differs > refine_above) {
      if (key.level < m_problem.finest) wanted.insert(key);
      // The front may arrive there before the mesh changes again.
      for (Side const side : sides)
        for (Key const& other : beside(key, side))
          if (other.level <= key.level && other.level < m_problem.finest) wanted.insert(other);
    } else if (differs < coarsen_below && key.level > m_problem.coarsest) {
      smooth.insert(key);
    }
  }
  // A neighbour of a front on the finest level stays as it is.
  for (auto const& [key, data] : m_leaves)
    if (variation(data, step) > refine_above)
      for (Side const side : sides)
        for (Key const& other : beside(key, side)) smooth.erase(other);
  for (Key const& key : wanted)
    if (is_leaf(key)) split(key, step);  // else a neighbour has split it
  for (Key const& key : smooth) {
    Key const parent = key.parent();
    if (key != parent.child(0, 0)) continue;
    bool const is_smooth = smooth.contains(parent.child(0, 1)) &&
                           smooth.contains(parent.child(1, 0)) &&
                           smooth.contains(parent.child(1, 1));
    if (is_smooth && may_merge(parent)) merge(parent, step);
  }
}

void Mesh::adapt(int step) {
  double const before = total(step);
  refine_and_coarsen(step);
  list_patches();
  m_least = std::min(m_least, m_patches.size());
  m_most = std::max(m_most, m_patches.size());
  m_transfer_error = std::max(m_transfer_error, std::abs(total(step) - before) / std::abs(before));
}

double Mesh::total(int step) const {
  double all = 0;
  for (auto const& [key, data] : m_leaves) {
    Cells const& state = data.state[slot(step)];
    double sum = 0;
    for (std::size_t k = 0; k < state.size(); ++k) sum += state.data()[k];
    all += std::ldexp(sum, -2 * key.level);
  }
  return all / (m_problem.cells * m_problem.cells);
}

}  // namespace adaptive_mesh
