// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SORT_HPP
#define TRELLIS_SORT_HPP

#include <Trellis_Future.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <annotations/impl/Trellis_Submit.hpp>

#include <Kokkos_Core.hpp>
#include <Kokkos_Sort.hpp>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

/// With this header and <Trellis.hpp>, sorting a View is a task.
namespace trellis {

namespace Impl {

/// A View is sorted on this space: that of `on<...>`, else where the View lives.
template <class V, class Asked>
using SortSpace =
    std::conditional_t<!std::is_void_v<Asked>, Asked, typename V::memory_space::execution_space>;

/// The body of a sort. `Compare` has at most one type.
template <class Space, class Keys, class Values, class... Compare>
struct SortBody {
  static constexpr BodyTraits traits{.pattern = "sort"};
  Keys keys;
  Values values;  ///< or nothing
  std::tuple<Compare...> compare;

  void run(void* instance, Label const& label) {
    ToolsRegion const region(label);
    auto const& here = *static_cast<Space const*>(instance);
    std::apply(
        [&](auto const&... by) {
          if constexpr (Kokkos::is_view_v<Values>)
            Kokkos::Experimental::sort_by_key(here, keys, values, by...);
          else
            Kokkos::sort(here, keys, by...);
        },
        compare);
  }
};

template <class Base, class... Annotations, class Keys, class Values, class... Compare>
Future<void> submit_sort(Label&& label, ResourcePolicy<Base, Annotations...> const& policy,
                         Keys const& keys, Values const& values, Compare const&... compare) {
  static_assert(std::is_same_v<Base, Once>,
                "Trellis: sort takes a policy without a range: ResourcePolicy(graph, ...)");
  constexpr bool sorts_pairs = Kokkos::is_view_v<Values>;
  using Asked = typename TargetSpace<Annotations...>::type;
  using Home = SortSpace<Keys, Asked>;
  using Space = typename RunOn<Home>::body_space;
  using Body = SortBody<Space, Keys, Values, Compare...>;
  auto const make = [&] { return Body{keys, values, std::tuple<Compare...>(compare...)}; };
  auto const submit = [&](auto const& given, auto const&... accesses) {
    return FutureInternals::make(
        submit_made<Space>(std::move(label), given, make, nullptr, accesses...));
  };
  auto const submit_to = [&](auto const& given) {
    if constexpr (sorts_pairs)
      return submit(given, read_write(keys), read_write(values));
    else
      return submit(given, read_write(keys));
  };
  // A space that is not part of Kokkos is named explicitly.
  if constexpr (std::is_void_v<Asked> && is_foreign_v<Home>)
    return std::apply(
        [&](auto const&... annotation) {
          return submit_to(
              ResourcePolicy<Once, std::remove_cvref_t<decltype(annotation)>..., On<Home>>(
                  policy.target(), annotation..., on<Home>));
        },
        policy.annotations());
  else
    return submit_to(policy);
}

template <class Compare>
concept Comparator = !Kokkos::is_view_v<Compare>;

}  // namespace Impl

/// Submits a task that sorts a View of rank 1 in place, as `Kokkos::sort(instance, view)` does;
/// returns at once. The policy has no base. The task runs where the View lives, or on the space of
/// `on<...>`, and reads and writes the View. To sort a part of a View, pass a `Kokkos::subview`.
///
/// On a host space one thread sorts (`std::sort`). On a device Kokkos waits for its stream, in the
/// thread that launches the task.
template <class Base, class... Annotations, class V, Impl::Comparator... Compare>
  requires(Kokkos::is_view_v<V> && sizeof...(Compare) <= 1)
Future<void> sort(Label label, ResourcePolicy<Base, Annotations...> const& policy, V const& view,
                  Compare const&... compare) {
  static_assert(V::rank() == 1, "Trellis: sort takes a View of rank 1");
  static_assert(!std::is_const_v<typename V::value_type>,
                "Trellis: a View of const elements cannot be sorted");
  return Impl::submit_sort(std::move(label), policy, view, std::tuple<>(), compare...);
}
/// Sorts pairs of a key and the value at the same index by their keys, as
/// `Kokkos::Experimental::sort_by_key` does. Throws `Error` when the Views differ in length.
template <class Base, class... Annotations, class Keys, class Values, Impl::Comparator... Compare>
  requires(Kokkos::is_view_v<Keys> && Kokkos::is_view_v<Values> && sizeof...(Compare) <= 1)
Future<void> sort_by_key(Label label, ResourcePolicy<Base, Annotations...> const& policy,
                         Keys const& keys, Values const& values, Compare const&... compare) {
  static_assert(Keys::rank() == 1 && Values::rank() == 1,
                "Trellis: sort_by_key takes Views of rank 1");
  if (keys.extent(0) != values.extent(0))
    Impl::refuse_base(label, "sorts \"" + keys.label() + "\" with " +
                                 std::to_string(keys.extent(0)) + " keys, but \"" + values.label() +
                                 "\" has " + std::to_string(values.extent(0)) + " values");
  return Impl::submit_sort(std::move(label), policy, keys, values, compare...);
}

/// Sorts without a label: the task is named by the file and line where its policy was made.
template <class Base, class... Annotations, class V, Impl::Comparator... Compare>
  requires(Kokkos::is_view_v<V> && sizeof...(Compare) <= 1)
Future<void> sort(ResourcePolicy<Base, Annotations...> const& policy, V const& view,
                  Compare const&... compare) {
  return trellis::sort(Label::of(policy.target().site()), policy, view, compare...);
}
template <class Base, class... Annotations, class Keys, class Values, Impl::Comparator... Compare>
  requires(Kokkos::is_view_v<Keys> && Kokkos::is_view_v<Values> && sizeof...(Compare) <= 1)
Future<void> sort_by_key(ResourcePolicy<Base, Annotations...> const& policy, Keys const& keys,
                         Values const& values, Compare const&... compare) {
  return trellis::sort_by_key(Label::of(policy.target().site()), policy, keys, values, compare...);
}

}  // namespace trellis

#endif
