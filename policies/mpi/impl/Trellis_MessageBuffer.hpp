// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_MESSAGEBUFFER_HPP
#define TRELLIS_IMPL_MESSAGEBUFFER_HPP

#include <common/Trellis_FinalizeHook.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace trellis::Impl {

/// The buffer of a message that is not sent as it is.
template <class MemorySpace>
using MessageBuffer = Kokkos::View<unsigned char*, MemorySpace>;

/// Keeps buffers for reuse, by their size, which is a power of two.
///
/// INVARIANT (a buffer is not shared). A buffer is free when the pool has the only reference to it.
/// Each user of a buffer has a reference, too: the functors that pack, unpack and copy, and the
/// message as long as MPI has its memory. Accesses alone would lead to a deadlock. A receive that
/// got the buffer of a send under way would come after that send. But a send is over, as a rule,
/// when it is received: by just that receive if a rank sends to itself, or by one of another rank
/// that does the same.
template <class MemorySpace>
class MessageBuffers {
 public:
  static MessageBuffer<MemorySpace> take(std::size_t bytes) {
    MessageBuffers& pool = instance();
    std::size_t const size = std::bit_ceil(std::max<std::size_t>(bytes, smallest));
    auto const which = static_cast<std::size_t>(std::countr_zero(size));
    std::lock_guard const lock(pool.m_mutex);
    Shelf& shelf = pool.m_shelves[which];
    std::size_t const looks = std::min(shelf.buffers.size(), most_looks);
    for (std::size_t k = 0; k < looks; ++k) {
      shelf.next = (shelf.next + 1) % shelf.buffers.size();
      if (shelf.buffers[shelf.next].use_count() == 1) return shelf.buffers[shelf.next];
    }
    pool.ends_with_kokkos();
    return shelf.buffers.emplace_back(
        Kokkos::view_alloc(Kokkos::WithoutInitializing, "message buffer"), size);
  }

 private:
  static constexpr std::size_t smallest = 256;
  static constexpr std::size_t most_looks = 16;
  struct Shelf {
    std::vector<MessageBuffer<MemorySpace>> buffers;
    std::size_t next = 0;
  };
  static MessageBuffers& instance() {
    static MessageBuffers* const made = new MessageBuffers;
    return *made;
  }
  void ends_with_kokkos() {
    if (std::exchange(m_will_end, true)) return;
    push_finalize_hook([this] {
      std::lock_guard const lock(m_mutex);
      for (Shelf& shelf : m_shelves) shelf = {};
      m_will_end = false;
    });
  }

  std::mutex m_mutex;
  std::array<Shelf, 64> m_shelves;
  bool m_will_end = false;
};

}  // namespace trellis::Impl

#endif
