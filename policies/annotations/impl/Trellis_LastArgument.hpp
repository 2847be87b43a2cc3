// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_LASTARGUMENT_HPP
#define TRELLIS_IMPL_LASTARGUMENT_HPP

#include <cstddef>
#include <tuple>
#include <type_traits>

/// This header finds the value type of a reduction or scan from the functor's call operator.
namespace trellis::Impl {

template <class Member, std::size_t from_end>
struct ArgumentFromEnd;
template <class R, class C, class... A, std::size_t from_end>
struct ArgumentFromEnd<R (C::*)(A...) const, from_end> {
  static auto argument() {
    if constexpr (sizeof...(A) > from_end)
      return std::tuple_element<sizeof...(A) - 1 - from_end, std::tuple<A...>>{};
    else
      return std::type_identity<void>{};
  }
  using Argument = typename decltype(argument())::type;
  static constexpr bool is_value =
      std::is_lvalue_reference_v<Argument> && !std::is_const_v<std::remove_reference_t<Argument>>;
  using type = std::conditional_t<is_value, std::remove_cvref_t<Argument>, void>;
};
template <class R, class C, class... A, std::size_t from_end>
struct ArgumentFromEnd<R (C::*)(A...) const noexcept, from_end>
    : ArgumentFromEnd<R (C::*)(A...) const, from_end> {};
/// This is for a call operator that is not const.
template <class R, class C, class... A, std::size_t from_end>
struct ArgumentFromEnd<R (C::*)(A...), from_end> : ArgumentFromEnd<R (C::*)(A...) const, from_end> {
};

/// Returns the value type; void if the call operator does not tell.
template <class F, std::size_t from_end>
consteval auto value_type_of() {
  if constexpr (requires { typename F::value_type; })
    return std::type_identity<typename F::value_type>{};
  else if constexpr (requires { &F::operator(); })
    return typename std::type_identity<
        typename ArgumentFromEnd<decltype(&F::operator()), from_end>::type>{};
  else
    return std::type_identity<void>{};
}

}  // namespace trellis::Impl

#endif
