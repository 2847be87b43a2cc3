// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FUNCTIONREF_HPP
#define TRELLIS_IMPL_FUNCTIONREF_HPP

#include <memory>
#include <type_traits>
#include <utility>

namespace trellis::Impl {

template <class Signature>
class FunctionRef;

/// Refers to a callable that outlives it: two pointers, no allocation.
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> &&
             std::is_invocable_r_v<R, F&, Args...>)
  constexpr FunctionRef(F&& callable)
      : m_callable(const_cast<void*>(static_cast<void const*>(std::addressof(callable)))),
        m_call([](void* f, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(f))(std::forward<Args>(args)...);
        }) {}

  R operator()(Args... args) const { return m_call(m_callable, std::forward<Args>(args)...); }

 private:
  void* m_callable;
  R (*m_call)(void*, Args...);
};

}  // namespace trellis::Impl

#endif
