// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_KEPTMEMORY_HPP
#define TRELLIS_IMPL_KEPTMEMORY_HPP

#include <Trellis_KokkosInternals.hpp>

#include <string>

namespace trellis::Impl {

/// What a message keeps until it is over, whatever the type of its View: the allocation of that,
/// and the buffers that it goes through, which nobody else must get meanwhile. So messages of all
/// Views are of one type, and are compiled once.
class KeptMemory {
 public:
  KeptMemory() = default;
  template <class V>
  explicit KeptMemory(V const& view) : m_view(memory_of(view)) {}
  template <class V, class Home, class Staging>
  KeptMemory(V const& view, Home const& home, Staging const& staging)
      : m_view(memory_of(view)), m_home(memory_of(home)), m_staging(memory_of(staging)) {}

  /// Of the View; none where it does not own its memory.
  [[nodiscard]] std::string label() const {
    auto const* const record = record_in(m_view);
    return record != nullptr ? record->get_label() : std::string();
  }

 private:
  MemoryHold m_view, m_home, m_staging;
};

}  // namespace trellis::Impl

#endif
