// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TURNS_HPP
#define TRELLIS_IMPL_TURNS_HPP

#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

namespace trellis::Impl {

/// The place in the order of turns; the smaller one comes first.
struct Turn {
  std::int64_t behind_rank = 0;  ///< the negative rank
  std::uint64_t number = 0;      ///< in the order of arrival
  friend bool operator==(Turn const&, Turn const&) = default;
  friend bool operator<(Turn const& a, Turn const& b) {
    return a.behind_rank != b.behind_rank ? a.behind_rank < b.behind_rank : a.number < b.number;
  }
};

/// Waiting elements by `turn`, in a list for each rank. Mostly all have one rank and come last,
/// which needs no search and no memory. Elements move between lists without moving in memory.
///
/// INVARIANT. No list is empty except that of the only rank.
template <class T>
class Turns {
 public:
  using List = Impl::List<T>;
  using Iterator = typename List::iterator;

  [[nodiscard]] bool empty() const { return m_front == nullptr; }
  [[nodiscard]] T* front() const { return m_front; }
  void insert(List& from, Iterator each) {
    List& list = rank_of(each->turn)->second;
    Iterator behind = list.end();
    while (behind != list.begin() && each->turn < std::prev(behind)->turn) --behind;
    list.splice(behind, from, each);
    find_front();
  }
  void take_out(Iterator each, List& to) {
    auto const rank = rank_of(each->turn);
    to.splice(to.end(), rank->second, each);
    if (rank->second.empty() && m_ranks.size() > 1) m_spare = m_ranks.extract(rank);
    find_front();
  }
  /// Returns null if there is none. It costs more the more elements there are.
  template <class F>
  [[nodiscard]] T* find_if(F const& wanted) {
    for (auto& [rank, list] : m_ranks)
      if (auto const found = std::find_if(list.begin(), list.end(), wanted); found != list.end())
        return &*found;
    return nullptr;
  }

 private:
  using Ranks = Map<std::int64_t, List>;
  void find_front() {
    List& first = m_ranks.begin()->second;
    m_front = first.empty() ? nullptr : &first.front();
  }
  typename Ranks::iterator rank_of(Turn const& turn) {
    auto const first = m_ranks.begin();
    bool const is_first = first != m_ranks.end() && first->first == turn.behind_rank;
    return is_first ? first : other_rank(first, turn);
  }
  [[gnu::noinline]] typename Ranks::iterator other_rank(typename Ranks::iterator first,
                                                        Turn const& turn) {
    if (first != m_ranks.end() && first->second.empty()) m_spare = m_ranks.extract(first);
    if (m_spare.empty()) return m_ranks.try_emplace(turn.behind_rank).first;
    m_spare.key() = turn.behind_rank;
    auto put = m_ranks.insert(std::move(m_spare));
    if (!put.inserted) m_spare = std::move(put.node);
    return put.position;
  }

  T* m_front = nullptr;
  Ranks m_ranks;
  typename Ranks::node_type m_spare;  ///< with an empty list, for the next rank
};

}  // namespace trellis::Impl

#endif
