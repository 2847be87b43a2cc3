// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_KEPTMEMORY_HPP
#define TRELLIS_IMPL_KEPTMEMORY_HPP

#include <Kokkos_Core.hpp>

#include <string>

namespace trellis::Impl {

/// What a message keeps until it is over, whatever the type of its View: the allocation of that,
/// and the buffers that it goes through, which nobody else must get meanwhile. So messages of all
/// Views are of one type, and are compiled once.
class KeptMemory {
 public:
  KeptMemory() = default;
  template <class V>
  explicit KeptMemory(V const& view) : m_view(view.impl_track()) {}
  template <class V, class Home, class Staging>
  KeptMemory(V const& view, Home const& home, Staging const& staging)
      : m_view(view.impl_track()), m_home(home.impl_track()), m_staging(staging.impl_track()) {}

  /// Of the View; none where it does not own its memory.
  [[nodiscard]] std::string label() const {
    auto const* const record = m_view.get_record<void>();
    return record != nullptr ? record->get_label() : std::string();
  }

 private:
  using Tracker = Kokkos::Impl::SharedAllocationTracker;
  Tracker m_view, m_home, m_staging;
};

}  // namespace trellis::Impl

#endif
