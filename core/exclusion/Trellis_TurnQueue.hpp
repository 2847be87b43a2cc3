// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TURNQUEUE_HPP
#define TRELLIS_IMPL_TURNQUEUE_HPP

#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#include <cstddef>

namespace trellis::Impl {

/// A priority queue of pointers to elements with a `turn`, which it does not own. Most elements
/// come behind all that are there. Adding such an element costs one comparison, and removing it
/// none. The others are in a heap.
///
/// INVARIANT. `m_row` from `m_first` on is sorted, and empty only with `m_first` 0.
template <class T>
class TurnQueue {
 public:
  [[nodiscard]] bool empty() const { return m_row.empty() && m_heap.empty(); }
  /// Requires that it is not empty.
  [[nodiscard]] T* front() const { return row_is_first() ? m_row[m_first] : m_heap.front(); }
  void push(T& element) {
    if (m_row.empty() || m_row.back()->turn < element.turn) return m_row.push_back(&element);
    m_heap.push_back(&element);
    std::push_heap(m_heap.begin(), m_heap.end(), comes_later);
  }
  /// Requires that it is not empty.
  void pop() {
    if (row_is_first()) return drop_first_of_row();
    std::pop_heap(m_heap.begin(), m_heap.end(), comes_later);
    m_heap.pop_back();
  }
  /// Removes an element wherever it is. It costs more the more elements there are.
  void erase(T const& element) {
    auto const found = std::find(m_row.begin() + offset(), m_row.end(), &element);
    if (found != m_row.end()) {
      m_row.erase(found);
      if (m_row.size() == m_first) forget_row();
      return;
    }
    std::erase(m_heap, &element);
    std::make_heap(m_heap.begin(), m_heap.end(), comes_later);
  }

 private:
  static bool comes_later(T const* a, T const* b) { return b->turn < a->turn; }
  [[nodiscard]] bool row_is_first() const {
    if (m_heap.empty() || m_row.empty()) return m_heap.empty();
    return m_row[m_first]->turn < m_heap.front()->turn;
  }
  [[nodiscard]] std::ptrdiff_t offset() const { return static_cast<std::ptrdiff_t>(m_first); }
  void forget_row() {
    m_row.clear();
    m_first = 0;
  }
  /// Moves each element at most once for each two that have been removed.
  void drop_first_of_row() {
    constexpr std::size_t many = 32;
    if (++m_first == m_row.size()) return forget_row();
    if (m_first < many || 2 * m_first < m_row.size()) return;
    m_row.erase(m_row.begin(), m_row.begin() + offset());
    m_first = 0;
  }

  Vector<T*> m_row;
  std::size_t m_first = 0;  ///< first element of the row; those before it are gone
  Vector<T*> m_heap;
};

}  // namespace trellis::Impl

#endif
