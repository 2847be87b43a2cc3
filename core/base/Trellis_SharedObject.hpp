// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SHAREDOBJECT_HPP
#define TRELLIS_IMPL_SHAREDOBJECT_HPP

#include <base/Trellis_ReserveMemory.hpp>

#include <memory>
#include <utility>

namespace trellis::Impl {

/// Destroys `object` now, or when the thread no longer holds a deferring lock.
void destroy_unlocked(void* object, void (*destroy)(void* object) noexcept) noexcept;

/// Makes an object whose destructor, which may be the user's, runs under no lock; see
/// Trellis_Unlocked.hpp.
template <class T, class... Arguments>
std::shared_ptr<T> make_shared_unlocked(Arguments&&... arguments) {
  FromReserve<T> from;
  T* const object = from.allocate(1);
  try {
    ::new (static_cast<void*>(object)) T(std::forward<Arguments>(arguments)...);
  } catch (...) {
    from.deallocate(object, 1);
    throw;
  }
  auto const destroy = [](T* last) noexcept {
    destroy_unlocked(last, [](void* it) noexcept {
      static_cast<T*>(it)->~T();
      FromReserve<T>().deallocate(static_cast<T*>(it), 1);
    });
  };
  return std::shared_ptr<T>(object, destroy, from);
}

}  // namespace trellis::Impl

#endif
