// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fields/impl/Trellis_MemoryOrder.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <queue>
#include <unordered_map>
#include <utility>

namespace trellis::Impl {

namespace {

template <class T>
std::size_t at(T number) {
  return static_cast<std::size_t>(number);
}
std::size_t largest(std::vector<std::size_t> const& of) {
  return of.empty() ? 0 : *std::max_element(of.begin(), of.end());
}
/// Calls `f` once for each piece that a task touches.
template <class F>
void for_each_piece(MemoryGraph::Task const& task, F&& f) {
  for (int piece : task.makes) f(piece);
  for (int piece : task.uses)
    if (std::find(task.makes.begin(), task.makes.end(), piece) == task.makes.end()) f(piece);
}

/// Tracks what is live while tasks run one by one.
class Live {
 public:
  explicit Live(MemoryGraph const& graph)
      : m_graph(graph),
        m_left(graph.pieces.size(), 0),
        m_is_live(graph.pieces.size(), false),
        m_now(at(graph.places), 0) {
    for (MemoryGraph::Task const& task : graph.tasks)
      for_each_piece(task, [&](int piece) { ++m_left[at(piece)]; });
  }
  /// Returns the live bytes of each place while the task runs.
  [[nodiscard]] std::vector<std::size_t> with(int task) const {
    std::vector<std::size_t> now = m_now;
    for (int piece : m_graph.tasks[at(task)].makes)
      if (!m_is_live[at(piece)]) now[place(piece)] += bytes(piece);
    return now;
  }
  /// Returns the change of the live bytes by the task.
  [[nodiscard]] std::int64_t gain(int task) const {
    std::int64_t gain = 0;
    MemoryGraph::Task const& of = m_graph.tasks[at(task)];
    for (int piece : of.makes)
      if (!m_is_live[at(piece)]) gain += static_cast<std::int64_t>(bytes(piece));
    for_each_piece(of, [&](int piece) {
      if (m_left[at(piece)] == 1) gain -= static_cast<std::int64_t>(bytes(piece));
    });
    return gain;
  }
  void run(int task) {
    MemoryGraph::Task const& of = m_graph.tasks[at(task)];
    m_now = with(task);
    for (int piece : of.makes) m_is_live[at(piece)] = true;
    for_each_piece(of, [&](int piece) {
      if (--m_left[at(piece)] == 0) m_now[place(piece)] -= bytes(piece);
    });
  }
  [[nodiscard]] std::vector<std::size_t> const& now() const { return m_now; }

 private:
  [[nodiscard]] std::size_t bytes(int piece) const { return m_graph.pieces[at(piece)].bytes; }
  [[nodiscard]] std::size_t place(int piece) const { return at(m_graph.pieces[at(piece)].place); }
  MemoryGraph const& m_graph;
  std::vector<int> m_left;
  std::vector<bool> m_is_live;
  std::vector<std::size_t> m_now;
};

/// Keeps the tasks whose predecessors have all been put into the order.
class Ready {
 public:
  explicit Ready(MemoryGraph const& graph)
      : m_after(graph.tasks.size()), m_left(graph.tasks.size(), 0) {
    for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
      m_left[task] = static_cast<int>(graph.tasks[task].before.size());
      for (int before : graph.tasks[task].before)
        m_after[at(before)].push_back(static_cast<int>(task));
      if (m_left[task] == 0) m_ready.push_back(static_cast<int>(task));
    }
  }
  [[nodiscard]] std::vector<int> const& all() const { return m_ready; }
  void take(std::size_t which) {
    int const task = m_ready[which];
    m_ready.erase(m_ready.begin() + static_cast<std::ptrdiff_t>(which));
    for (int after : m_after[at(task)])
      if (--m_left[at(after)] == 0) m_ready.push_back(after);
  }

 private:
  std::vector<std::vector<int>> m_after;
  std::vector<int> m_left;
  std::vector<int> m_ready;
};

/// Returns an order that always takes the next possible task with the least `key`.
template <class Key>
std::vector<int> greedy(MemoryGraph const& graph, Key&& key) {
  std::vector<int> order;
  Ready ready(graph);
  Live live(graph);
  while (!ready.all().empty()) {
    auto const& all = ready.all();
    std::size_t best = 0;
    for (std::size_t k = 1; k < all.size(); ++k)
      if (std::pair(key(live, all[k]), all[k]) < std::pair(key(live, all[best]), all[best]))
        best = k;
    int const task = all[best];
    ready.take(best);
    live.run(task);
    order.push_back(task);
  }
  return order;
}

/// Returns an order with each task right after all that it needs.
std::vector<int> depth_first(MemoryGraph const& graph) {
  std::vector<int> order;
  std::vector<bool> is_seen(graph.tasks.size(), false);
  std::vector<std::pair<int, std::size_t>> stack;
  std::vector<bool> has_after(graph.tasks.size(), false);
  for (MemoryGraph::Task const& task : graph.tasks)
    for (int before : task.before) has_after[at(before)] = true;
  for (std::size_t root = 0; root < graph.tasks.size(); ++root) {
    if (has_after[root]) continue;
    stack.emplace_back(static_cast<int>(root), 0);
    is_seen[root] = true;
    while (!stack.empty()) {
      auto& [task, next] = stack.back();
      auto const& before = graph.tasks[at(task)].before;
      if (next == before.size()) {
        order.push_back(task);
        stack.pop_back();
      } else if (int const below = before[next++]; !is_seen[at(below)]) {
        is_seen[at(below)] = true;
        stack.emplace_back(below, 0);
      }
    }
  }
  return order;
}

/// Measures how full the fullest place is. The level of a place is its bytes plus the difference
/// between the largest room and its own room. So all places fit if the level is not above the
/// largest room.
class Level {
 public:
  Level(MemoryGraph const& graph, std::vector<std::size_t> const& rooms) {
    std::size_t all = 0;  // no place ever has more, so more room is useless
    for (MemoryGraph::Piece const& piece : graph.pieces) all += piece.bytes;
    for (std::size_t const room : rooms) m_less.push_back(std::min(room, all));
    m_most = largest(m_less);
    for (std::size_t& less : m_less) less = m_most - less;
  }
  [[nodiscard]] std::size_t of(std::vector<std::size_t> const& bytes) const {
    std::size_t level = 0;
    for (std::size_t place = 0; place < bytes.size(); ++place)
      level = std::max(level, bytes[place] == 0 ? 0 : bytes[place] + m_less[place]);
    return level;
  }
  [[nodiscard]] bool fits(std::size_t level) const { return level <= m_most; }

 private:
  std::vector<std::size_t> m_less;
  std::size_t m_most = 0;
};

/// Finds the best order: for each set of finished tasks it keeps the way whose highest level is
/// least. The result is empty if it gives up.
class Search {
 public:
  Search(MemoryGraph const& graph, Level const& level, std::size_t most_sets)
      : m_graph(graph), m_level(level), m_most(most_sets) {
    for (MemoryGraph::Task const& task : graph.tasks) {
      std::uint64_t before = 0;
      for (int each : task.before) before |= bit(each);
      m_before.push_back(before);
    }
    m_makers.resize(graph.pieces.size());
    m_users.resize(graph.pieces.size());
    for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
      for (int piece : graph.tasks[task].makes) m_makers[at(piece)] |= bit(task);
      for_each_piece(graph.tasks[task], [&](int piece) { m_users[at(piece)] |= bit(task); });
    }
  }
  std::vector<int> run() {
    std::uint64_t const all =
        m_graph.tasks.size() == 64 ? ~std::uint64_t{0} : bit(m_graph.tasks.size()) - 1;
    std::priority_queue<std::pair<std::size_t, std::uint64_t>,
                        std::vector<std::pair<std::size_t, std::uint64_t>>, std::greater<>>
        queue;
    m_found[0] = {0, -1};
    queue.emplace(0, 0);
    while (!queue.empty()) {
      auto const [peak, over] = queue.top();
      queue.pop();
      if (over == all) return path(all);
      if (peak > m_found[over].peak) continue;
      for (std::size_t task = 0; task < m_graph.tasks.size(); ++task) {
        if ((over & bit(task)) != 0 || (m_before[task] & ~over) != 0) continue;
        std::size_t const with = std::max(peak, m_level.of(during(over, task)));
        auto const [place, is_new] = m_found.try_emplace(over | bit(task));
        if (!is_new && place->second.peak <= with) continue;
        place->second = {with, static_cast<int>(task)};
        queue.emplace(with, over | bit(task));
      }
      if (m_found.size() > m_most) return {};
    }
    return {};
  }

 private:
  struct Found {
    std::size_t peak = 0;
    int last = -1;  ///< last task of the best way here
  };
  template <class T>
  static std::uint64_t bit(T task) {
    return std::uint64_t{1} << static_cast<unsigned>(task);
  }
  /// Returns what is live while `task` runs and the tasks of `over` are over.
  [[nodiscard]] std::vector<std::size_t> during(std::uint64_t over, std::size_t task) const {
    std::vector<std::size_t> live(at(m_graph.places), 0);
    for (std::size_t piece = 0; piece < m_graph.pieces.size(); ++piece)
      if ((m_makers[piece] & (over | bit(task))) != 0 && (m_users[piece] & ~over) != 0)
        live[at(m_graph.pieces[piece].place)] += m_graph.pieces[piece].bytes;
    return live;
  }
  std::vector<int> path(std::uint64_t over) {
    std::vector<int> order;
    while (over != 0) {
      order.push_back(m_found[over].last);
      over &= ~bit(order.back());
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

  MemoryGraph const& m_graph;
  Level const& m_level;
  std::size_t const m_most;
  std::vector<std::uint64_t> m_before, m_makers, m_users;
  std::unordered_map<std::uint64_t, Found> m_found;
};

}  // namespace

std::vector<std::size_t> peaks_of(MemoryGraph const& graph, std::vector<int> const& order,
                                  int workers) {
  std::size_t const tasks = order.size();
  std::vector<std::size_t> position(graph.tasks.size(), 0);
  for (std::size_t k = 0; k < tasks; ++k) position[at(order[k])] = k;
  // These are positions: of the first task that makes a piece, of the last one that touches it, and
  // of the first one that waits for a task.
  std::vector<std::size_t> first(graph.pieces.size(), tasks), last(graph.pieces.size(), 0);
  std::vector<std::size_t> waited_for(tasks, tasks);
  for (std::size_t k = 0; k < tasks; ++k) {
    MemoryGraph::Task const& task = graph.tasks[at(order[k])];
    for (int piece : task.makes) first[at(piece)] = std::min(first[at(piece)], k);
    for_each_piece(task, [&](int piece) { last[at(piece)] = k; });
    for (int before : task.before) {
      std::size_t& wait = waited_for[position[at(before)]];
      wait = std::min(wait, k);
    }
  }
  std::vector<std::size_t> peaks(at(graph.places), 0);
  std::vector<std::size_t> extras;
  for (std::size_t k = 0; k < tasks; ++k) {
    std::vector<std::size_t> live(at(graph.places), 0);
    for (std::size_t piece = 0; piece < graph.pieces.size(); ++piece)
      if (first[piece] <= k && last[piece] >= k)
        live[at(graph.pieces[piece].place)] += graph.pieces[piece].bytes;
    for (std::size_t place = 0; place < live.size(); ++place) {
      extras.clear();
      // Tasks that may still be under way keep memory that would be free otherwise.
      for (std::size_t u = 0; u < k && workers > 1; ++u) {
        if (waited_for[u] <= k) continue;
        std::size_t extra = 0;
        for_each_piece(graph.tasks[at(order[u])], [&](int piece) {
          if (last[at(piece)] < k && at(graph.pieces[at(piece)].place) == place)
            extra += graph.pieces[at(piece)].bytes;
        });
        if (extra != 0) extras.push_back(extra);
      }
      std::size_t const others = std::min(extras.size(), at(workers) - 1);
      std::partial_sort(extras.begin(), extras.begin() + static_cast<std::ptrdiff_t>(others),
                        extras.end(), std::greater<>());
      std::size_t const sum = std::accumulate(
          extras.begin(), extras.begin() + static_cast<std::ptrdiff_t>(others), live[place]);
      peaks[place] = std::max(peaks[place], sum);
    }
  }
  return peaks;
}

std::size_t peak_of(MemoryGraph const& graph, std::vector<int> const& order, int workers) {
  return largest(peaks_of(graph, order, workers));
}

std::vector<int> find_order(MemoryGraph const& graph, std::vector<std::size_t> const& rooms,
                            std::size_t most_sets) {
  Level const level(graph, rooms);
  std::vector<int> best = depth_first(graph);
  std::size_t least = level.of(peaks_of(graph, best));
  auto const consider = [&](std::vector<int> order) {
    if (order.size() != graph.tasks.size()) return;  // the search has given up
    if (std::size_t const highest = level.of(peaks_of(graph, order)); highest < least) {
      least = highest;
      best = std::move(order);
    }
  };
  consider(greedy(graph, [](Live const& live, int task) { return live.gain(task); }));
  consider(greedy(graph, [](Live const&, int) { return 0; }));
  if (!level.fits(least) && graph.tasks.size() <= 64)
    consider(Search(graph, level, most_sets).run());
  return best;
}

std::vector<int> find_order(MemoryGraph const& graph, std::size_t limit, std::size_t most_sets) {
  return find_order(graph, std::vector(at(graph.places), limit), most_sets);
}

}  // namespace trellis::Impl
