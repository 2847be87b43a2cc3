// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SHAREDOBJECT_HPP
#define TRELLIS_IMPL_SHAREDOBJECT_HPP

#include <memory>
#include <utility>

namespace trellis::Impl {

/// Destroys `object` now, or when the thread holds no quiet lock any more.
void destroy_unlocked(void* object, void (*destroy)(void* object) noexcept) noexcept;

/// Its destructor, which may be the user's, runs under no lock; see Trellis_Unlocked.hpp.
template <class T, class... Arguments>
std::shared_ptr<T> make_shared_unlocked(Arguments&&... arguments) {
  return std::shared_ptr<T>(new T(std::forward<Arguments>(arguments)...), [](T* object) noexcept {
    destroy_unlocked(object, [](void* it) noexcept { delete static_cast<T*>(it); });
  });
}

}  // namespace trellis::Impl

#endif
