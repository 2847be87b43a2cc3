// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FOUNDENTRIES_HPP
#define TRELLIS_IMPL_FOUNDENTRIES_HPP

#include <base/Trellis_Reserve.hpp>

#include <cstddef>

namespace trellis::Impl {

struct AreaEntry;

/// An array that seldom has more than a few elements, which then take no allocation.
template <class T>
class Few {
 public:
  explicit Few(std::size_t count) {
    if (count <= most) return;
    m_many.resize(count);
    m_data = m_many.data();
  }
  Few(Few const&) = delete;
  Few& operator=(Few const&) = delete;
  T& operator[](std::size_t k) { return m_data[k]; }
  T const& operator[](std::size_t k) const { return m_data[k]; }

 private:
  static constexpr std::size_t most = 8;
  T* m_data = m_few;
  T m_few[most];
  Vector<T> m_many;
};

/// The entries that `Submission::find_entries` finds for a task that is about to be made.
struct FoundEntries {
  explicit FoundEntries(std::size_t accesses) : of(accesses) {}

  Few<AreaEntry*> of;       ///< by access; null for one that does not count
  bool is_special = false;  ///< it is exclusive, or has states of the user's
};

}  // namespace trellis::Impl

#endif
