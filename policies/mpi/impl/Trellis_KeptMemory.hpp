// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_KEPTMEMORY_HPP
#define TRELLIS_IMPL_KEPTMEMORY_HPP

#include <common/Trellis_KokkosInternals.hpp>

#include <string>

namespace trellis::Impl {

/// Keeps the memory of a message until that is over: the allocation of its View, and the buffers
/// that it goes through, which no other message must get meanwhile. It hides the type of the View,
/// so all messages are of one type, and are compiled once.
class KeptMemory {
 public:
  KeptMemory() = default;
  template <class V>
  explicit KeptMemory(V const& view) : m_view(memory_of(view)) {}
  template <class V, class Home, class Staging>
  KeptMemory(V const& view, Home const& home, Staging const& staging)
      : m_view(memory_of(view)), m_home(memory_of(home)), m_staging(memory_of(staging)) {}

  /// Returns the label of the View; it is empty if the View does not own its memory.
  [[nodiscard]] std::string label() const {
    auto const* const record = record_in(m_view);
    return record != nullptr ? record->get_label() : std::string();
  }

 private:
  MemoryHold m_view, m_home, m_staging;
};

}  // namespace trellis::Impl

#endif
