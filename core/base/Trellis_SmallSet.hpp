// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SMALLSET_HPP
#define TRELLIS_IMPL_SMALLSET_HPP

#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#include <cstddef>

namespace trellis::Impl {

/// A set of pointers that mostly has few elements, which are searched linearly and need no memory.
template <class T>
class SmallSet {
 public:
  [[nodiscard]] bool contains(T const* value) const {
    if (!m_many.empty()) return m_many.contains(const_cast<T*>(value));
    return std::find(m_few, m_few + m_count, value) != m_few + m_count;
  }
  /// False if the value is already there.
  bool insert(T* value) {
    if (!m_many.empty()) return m_many.insert(value).second;
    if (contains(value)) return false;
    if (m_count == most) {
      m_many.insert(m_few, m_few + most);
      return m_many.insert(value).second;
    }
    m_few[m_count++] = value;
    return true;
  }
  template <class Range>
  void insert_all(Range const& values) {
    for (T* const value : values) insert(value);
  }
  template <class F>
  void for_each(F&& f) const {
    if (m_many.empty())
      std::for_each(m_few, m_few + m_count, f);
    else
      std::for_each(m_many.begin(), m_many.end(), f);
  }

 private:
  static constexpr std::size_t most = 32;
  std::size_t m_count = 0;  ///< of the few
  T* m_few[most];
  HashSet<T*> m_many;  ///< once there are more: all
};

}  // namespace trellis::Impl

#endif
