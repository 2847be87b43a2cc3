// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fields/impl/Trellis_MemoryLayout.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace trellis::Impl {

namespace {

/// Tells which pieces must not share bytes.
class Conflicts {
 public:
  Conflicts(MemoryGraph const& graph, std::vector<int> const& order, std::size_t window)
      : m_window(window), m_makers(graph.pieces.size()), m_users(graph.pieces.size()) {
    std::vector<std::size_t> position(graph.tasks.size(), 0);
    for (std::size_t k = 0; k < order.size(); ++k) position[nth(order[k])] = k;
    find_ancestors(graph, order, position);
    for (std::size_t k = 0; k < order.size(); ++k) {
      MemoryGraph::Task const& task = graph.tasks[nth(order[k])];
      for (int const piece : task.makes) {
        m_makers[nth(piece)].push_back(k);
        m_users[nth(piece)].push_back(k);
      }
      for (int const piece : task.uses) m_users[nth(piece)].push_back(k);
    }
  }
  /// Return positions in the order. Requires a piece that some task makes.
  [[nodiscard]] std::size_t first(int piece) const { return m_makers[nth(piece)].front(); }
  [[nodiscard]] std::size_t last(int piece) const { return m_users[nth(piece)].back(); }
  [[nodiscard]] bool is_made(int piece) const { return !m_makers[nth(piece)].empty(); }
  [[nodiscard]] bool between(int a, int b) const {
    return !is_over_before(a, b) && !is_over_before(b, a);
  }

 private:
  /// Finds for each task those of the `window` tasks before it that it comes after by edges. A path
  /// between two tasks contains only tasks between them in the order, so no others count.
  void find_ancestors(MemoryGraph const& graph, std::vector<int> const& order,
                      std::vector<std::size_t> const& position) {
    if (m_window == 0) return;
    m_ancestors.assign(order.size(), {});
    for (std::size_t k = 0; k < order.size(); ++k) {
      std::vector<bool>& mine = m_ancestors[k];
      mine.assign(m_window, false);  // by distance - 1
      for (int const before : graph.tasks[nth(order[k])].before) {
        std::size_t const distance = k - position[nth(before)];
        if (distance > m_window) continue;
        mine[distance - 1] = true;
        std::vector<bool> const& theirs = m_ancestors[k - distance];
        for (std::size_t more = 1; distance + more <= m_window; ++more)
          if (theirs[more - 1]) mine[distance + more - 1] = true;
      }
    }
  }
  [[nodiscard]] bool is_before(std::size_t user, std::size_t maker) const {
    if (user >= maker) return false;
    std::size_t const distance = maker - user;
    return distance >= m_window || m_ancestors[maker][distance - 1];
  }
  [[nodiscard]] bool is_over_before(int a, int b) const {
    auto const& makers = m_makers[nth(b)];
    auto const& users = m_users[nth(a)];
    if (users.back() >= makers.front()) return false;
    return std::all_of(users.begin(), users.end(), [&](std::size_t user) {
      return std::all_of(makers.begin(), makers.end(),
                         [&](std::size_t maker) { return is_before(user, maker); });
    });
  }

  std::size_t const m_window;
  std::vector<std::vector<std::size_t>> m_makers, m_users;  ///< positions of the tasks, by piece
  std::vector<std::vector<bool>> m_ancestors;               ///< by position of the task
};

/// Lays out the pieces at one place.
class PlaceLayout {
 public:
  PlaceLayout(MemoryGraph const& graph, Conflicts const& conflicts, int place,
              std::size_t alignment)
      : m_conflicts(conflicts) {
    for (std::size_t piece = 0; piece < graph.pieces.size(); ++piece) {
      MemoryGraph::Piece const& of = graph.pieces[piece];
      if (of.place != place || of.bytes == 0 || !conflicts.is_made(static_cast<int>(piece)))
        continue;
      m_pieces.push_back(static_cast<int>(piece));
      m_bytes.push_back((of.bytes + alignment - 1) / alignment * alignment);
    }
    std::size_t const count = m_pieces.size();
    m_rivals.resize(count);
    for (std::size_t a = 0; a < count; ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (conflicts.between(m_pieces[a], m_pieces[b])) {
          m_rivals[a].push_back(b);
          m_rivals[b].push_back(a);
        }
  }

  void run() {
    std::vector<std::size_t> turns(m_pieces.size());
    std::iota(turns.begin(), turns.end(), std::size_t{0});
    auto const first = [&](std::size_t k) { return m_conflicts.first(m_pieces[k]); };
    auto const life = [&](std::size_t k) { return m_conflicts.last(m_pieces[k]) - first(k) + 1; };
    auto const by = [&](auto&& key) {
      std::stable_sort(turns.begin(), turns.end(),
                       [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
      consider(turns);
    };
    by(first);
    by_size(turns);
    // The order is descending; equal pieces keep their order.
    by([&](std::size_t k) { return std::numeric_limits<std::size_t>::max() - m_bytes[k]; });
    by([&](std::size_t k) {
      return -static_cast<double>(m_bytes[k]) * static_cast<double>(life(k));
    });
    improve();
  }
  [[nodiscard]] std::size_t total() const { return m_total; }
  void tell(std::vector<std::size_t>& offsets) const {
    for (std::size_t k = 0; k < m_pieces.size(); ++k) offsets[nth(m_pieces[k])] = m_offsets[k];
  }

 private:
  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

  /// Puts these, in turn, at the lowest bytes from `base` on. Returns the end of all.
  std::size_t put(std::vector<std::size_t> const& turns, std::vector<std::size_t>& offsets,
                  std::size_t base = 0) const {
    std::vector<std::pair<std::size_t, std::size_t>> taken;
    std::size_t end = base;
    for (std::size_t const k : turns) {
      taken.clear();
      for (std::size_t const rival : m_rivals[k])
        if (offsets[rival] != nowhere)
          taken.emplace_back(offsets[rival], offsets[rival] + m_bytes[rival]);
      std::sort(taken.begin(), taken.end());
      std::size_t here = base;
      for (auto const& [from, to] : taken) {
        if (from >= here + m_bytes[k]) break;
        here = std::max(here, to);
      }
      offsets[k] = here;
      end = std::max(end, here + m_bytes[k]);
    }
    return end;
  }
  void keep_if_better(std::vector<std::size_t> const& offsets, std::size_t end) {
    if (end >= m_total) return;
    m_total = end;
    m_offsets = offsets;
  }
  void consider(std::vector<std::size_t> const& turns) {
    std::vector<std::size_t> offsets(m_pieces.size(), nowhere);
    std::size_t const end = put(turns, offsets);
    if (end < m_total) m_turns = turns;
    keep_if_better(offsets, end);
  }
  /// Gives the pieces of each size bytes of their own. `turns` are ordered by the first task.
  void by_size(std::vector<std::size_t> const& turns) {
    std::map<std::size_t, std::vector<std::size_t>> sizes;
    for (std::size_t const k : turns) sizes[m_bytes[k]].push_back(k);
    std::vector<std::size_t> offsets(m_pieces.size(), nowhere);
    std::size_t end = 0;
    for (auto const& [bytes, pieces] : sizes) end = put(pieces, offsets, end);
    keep_if_better(offsets, end);
  }
  /// Gives the piece at the top the first turn, again and again, as long as that is worth the time.
  void improve() {
    std::size_t const count = m_pieces.size();
    constexpr std::size_t most = 64, most_looks = std::size_t{1} << 24;
    std::size_t const tries = std::min(most, most_looks / (count * count + 1));
    std::vector<std::size_t> turns = m_turns;
    for (std::size_t k = 0; k < tries; ++k) {
      std::vector<std::size_t> offsets(count, nowhere);
      std::size_t const end = put(turns, offsets);
      keep_if_better(offsets, end);
      auto const top = std::find_if(turns.begin(), turns.end(), [&](std::size_t piece) {
        return offsets[piece] + m_bytes[piece] == end;
      });
      if (top == turns.begin() || top == turns.end()) return;
      std::rotate(turns.begin(), top, std::next(top));
    }
  }

  Conflicts const& m_conflicts;
  std::vector<int> m_pieces;
  std::vector<std::size_t> m_bytes;                ///< by piece, with the padding after it
  std::vector<std::vector<std::size_t>> m_rivals;  ///< by piece: those that share no bytes with it
  std::vector<std::size_t> m_turns;                ///< turns of the best layout
  std::vector<std::size_t> m_offsets;              ///< offsets of the best layout
  std::size_t m_total = nowhere;
};

}  // namespace

MemoryLayout lay_out(MemoryGraph const& graph, std::vector<int> const& order,
                     std::span<std::size_t const> alignments, std::size_t window) {
  MemoryLayout layout;
  layout.offsets.assign(graph.pieces.size(), 0);
  Conflicts const conflicts(graph, order, window);
  for (int place = 0; place < graph.places; ++place) {
    PlaceLayout of(graph, conflicts, place, alignments[nth(place)]);
    of.run();
    of.tell(layout.offsets);
    layout.bytes.push_back(of.total());
  }
  return layout;
}

MemoryLayout lay_out_within(MemoryGraph const& graph, std::vector<int> const& order,
                            std::span<std::size_t const> alignments, std::size_t window,
                            std::span<std::size_t const> rooms) {
  for (;; window /= 2) {
    MemoryLayout layout = lay_out(graph, order, alignments, window);
    bool const fits = std::equal(layout.bytes.begin(), layout.bytes.end(), rooms.begin(),
                                 [](std::size_t bytes, std::size_t room) { return bytes <= room; });
    if (fits || window == 0) return layout;
  }
}

}  // namespace trellis::Impl
