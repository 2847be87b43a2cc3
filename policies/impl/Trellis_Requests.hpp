// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_REQUESTS_HPP
#define TRELLIS_IMPL_REQUESTS_HPP

#include <access/Trellis_AccessRequest.hpp>

#include <cassert>
#include <cstddef>
#include <new>
#include <type_traits>

namespace trellis::Impl {

/// Accesses whose number is known at run time, for the length of a call: a few on the stack, more
/// in one allocation.
class Requests {
 public:
  static constexpr std::size_t few = 16;

  /// `fill(*this)` adds so many.
  template <class Fill>
  Requests(std::size_t count, Fill&& fill) : m_room(count) {
    static_assert(std::is_trivially_destructible_v<AccessRequest>);
    if (count > few)
      m_first = static_cast<AccessRequest*>(::operator new(count * sizeof(AccessRequest)));
    try {
      fill(*this);
    } catch (...) {
      free();
      throw;
    }
  }
  Requests(Requests const&) = delete;
  Requests& operator=(Requests const&) = delete;
  ~Requests() { free(); }

  /// Adds what `make()` returns, which is made where it stays.
  template <class Make>
  void add(Make&& make) {
    assert(m_count < m_room);
    ::new (m_first + m_count) AccessRequest(make());
    ++m_count;
  }
  [[nodiscard]] std::size_t size() const { return m_count; }
  [[nodiscard]] AccessRequest* begin() { return m_first; }
  [[nodiscard]] AccessRequest* end() { return m_first + m_count; }
  [[nodiscard]] AccessRequest const* begin() const { return m_first; }
  [[nodiscard]] AccessRequest const* end() const { return m_first + m_count; }

 private:
  void free() noexcept {
    if (m_room > few) ::operator delete(m_first);
  }

  std::size_t m_room;
  std::size_t m_count = 0;
  alignas(AccessRequest) std::byte m_here[few * sizeof(AccessRequest)];
  AccessRequest* m_first = reinterpret_cast<AccessRequest*>(m_here);
};

}  // namespace trellis::Impl

#endif
