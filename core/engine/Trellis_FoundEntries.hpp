// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FOUNDENTRIES_HPP
#define TRELLIS_IMPL_FOUNDENTRIES_HPP

#include <cstddef>
#include <vector>

namespace trellis::Impl {

struct AreaEntry;

/// An array that seldom has more than a few elements, which then take no allocation.
template <class T>
class Few {
 public:
  explicit Few(std::size_t count) {
    if (count > most) m_many.resize(count);
  }
  T& operator[](std::size_t k) { return m_many.empty() ? m_few[k] : m_many[k]; }
  T const& operator[](std::size_t k) const { return m_many.empty() ? m_few[k] : m_many[k]; }

 private:
  static constexpr std::size_t most = 8;
  T m_few[most];
  std::vector<T> m_many;
};

/// What `Submission::find_entries` finds for a task that is about to be made.
struct FoundEntries {
  explicit FoundEntries(std::size_t count) : of(count) {}

  Few<AreaEntry*> of;       ///< by access; null for one that does not count
  bool is_special = false;  ///< it is exclusive, or has states of the user's
};

}  // namespace trellis::Impl

#endif
