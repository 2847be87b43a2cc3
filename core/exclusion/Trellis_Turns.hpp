// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TURNS_HPP
#define TRELLIS_IMPL_TURNS_HPP

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <utility>

namespace trellis::Impl {

/// The smaller one comes first.
struct Turn {
  std::int64_t behind_rank = 0;  ///< the negative rank
  std::uint64_t number = 0;      ///< in the order of arrival
  friend auto operator<=>(Turn const&, Turn const&) = default;
};

/// Those that wait, by `turn`: a list for each rank. Mostly all have one rank and come last, which
/// needs no search and no memory. Elements go from one list to another and stay where they are.
///
/// INVARIANT. No list is empty but that of the only rank.
template <class T>
class Turns {
 public:
  using List = std::list<T>;
  using Iterator = typename List::iterator;

  [[nodiscard]] bool empty() const { return front() == nullptr; }
  [[nodiscard]] T* front() const {
    if (m_ranks.empty()) return nullptr;
    List& first = const_cast<List&>(m_ranks.begin()->second);
    return first.empty() ? nullptr : &first.front();
  }
  void insert(List& from, Iterator each) {
    List& list = rank_of(each->turn)->second;
    Iterator behind = list.end();
    while (behind != list.begin() && std::prev(behind)->turn > each->turn) --behind;
    list.splice(behind, from, each);
  }
  void take_out(Iterator each, List& to) {
    auto const rank = rank_of(each->turn);
    to.splice(to.end(), rank->second, each);
    if (rank->second.empty() && m_ranks.size() > 1) m_spare = m_ranks.extract(rank);
  }
  /// Null when there is none. Costs more the more there are.
  template <class F>
  [[nodiscard]] T* find_if(F const& wanted) {
    for (auto& [rank, list] : m_ranks)
      if (auto const found = std::find_if(list.begin(), list.end(), wanted); found != list.end())
        return &*found;
    return nullptr;
  }

 private:
  using Ranks = std::map<std::int64_t, List>;
  typename Ranks::iterator rank_of(Turn const& turn) {
    auto const first = m_ranks.begin();
    bool const is_first = first != m_ranks.end() && first->first == turn.behind_rank;
    if (is_first) return first;
    if (first != m_ranks.end() && first->second.empty()) m_spare = m_ranks.extract(first);
    if (m_spare.empty()) return m_ranks.try_emplace(turn.behind_rank).first;
    m_spare.key() = turn.behind_rank;
    auto put = m_ranks.insert(std::move(m_spare));
    if (!put.inserted) m_spare = std::move(put.node);
    return put.position;
  }

  Ranks m_ranks;
  typename Ranks::node_type m_spare;  ///< with an empty list, for the next rank
};

}  // namespace trellis::Impl

#endif
