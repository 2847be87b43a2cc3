// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_REQUESTS_HPP
#define TRELLIS_IMPL_REQUESTS_HPP

#include <task/Trellis_AccessRequest.hpp>

#include <cstddef>
#include <type_traits>

namespace trellis::Impl {

/// Has memory on the stack for this many accesses, or a few more.
template <std::size_t accesses>
struct RequestRoom {
  static constexpr std::size_t size = (accesses + 3) / 4 * 4;
  alignas(AccessRequest) std::byte bytes[(size > 0 ? size : 1) * sizeof(AccessRequest)];
};

/// Holds the accesses of a task during a call: in the room that the call has for them, or in one
/// allocation if there are more. Only ranges, groups and lists can add more.
class Requests {
 public:
  template <std::size_t accesses>
  explicit Requests(RequestRoom<accesses>& room)
      : m_first(reinterpret_cast<AccessRequest*>(room.bytes)),
        m_room(RequestRoom<accesses>::size) {}
  Requests(Requests const&) = delete;
  Requests& operator=(Requests const&) = delete;
  ~Requests() {
    if (m_has_grown) free();
  }

  /// Returns the place of the next access, which is made there, as accesses are large.
  [[nodiscard]] void* next() {
    if (m_count == m_room) reserve(2 * m_count + 8);
    return m_first + m_count++;
  }
  void reserve(std::size_t accesses);
  [[nodiscard]] std::size_t size() const { return m_count; }
  [[nodiscard]] AccessRequest* begin() { return m_first; }
  [[nodiscard]] AccessRequest* end() { return m_first + m_count; }
  [[nodiscard]] AccessRequest const* begin() const { return m_first; }
  [[nodiscard]] AccessRequest const* end() const { return m_first + m_count; }

 private:
  static_assert(std::is_trivially_destructible_v<AccessRequest>);
  void free() noexcept;

  AccessRequest* m_first;
  std::size_t m_count = 0;
  std::size_t m_room;
  bool m_has_grown = false;
};

}  // namespace trellis::Impl

#endif
