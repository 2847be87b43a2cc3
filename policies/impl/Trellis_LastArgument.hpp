// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_LASTARGUMENT_HPP
#define TRELLIS_IMPL_LASTARGUMENT_HPP

#include <cstddef>
#include <tuple>
#include <type_traits>

/// The value type of a reduction or scan, read off the functor's call operator.
namespace trellis::Impl {

template <class Member, std::size_t from_end>
struct ArgumentFromEnd;
template <class R, class C, class... A, std::size_t from_end>
struct ArgumentFromEnd<R (C::*)(A...) const, from_end> {
  static_assert(sizeof...(A) > from_end,
                "Trellis: the functor takes no value to reduce or scan into");
  using type =
      std::remove_cvref_t<std::tuple_element_t<sizeof...(A) - 1 - from_end, std::tuple<A...>>>;
};
template <class R, class C, class... A, std::size_t from_end>
struct ArgumentFromEnd<R (C::*)(A...) const noexcept, from_end>
    : ArgumentFromEnd<R (C::*)(A...) const, from_end> {};

template <class F, std::size_t from_end>
consteval auto value_type_of() {
  if constexpr (requires { typename F::value_type; })
    return std::type_identity<typename F::value_type>{};
  else if constexpr (requires { &F::operator(); })
    return typename std::type_identity<
        typename ArgumentFromEnd<decltype(&F::operator()), from_end>::type>{};
  else
    static_assert(!sizeof(F*),
                  "Trellis: the value type cannot be read off a functor with several or templated "
                  "call operators; "
                  "give it a member type value_type");
}

}  // namespace trellis::Impl

#endif
