// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_ISRESOURCE_HPP
#define TRELLIS_IMPL_ISRESOURCE_HPP

#include <Trellis_IndexSpace.hpp>
#include <Trellis_Token.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// This header says what an annotation may name, and how it holds it. It may name Views, Tokens,
/// types that specialise `ResourceTraits`, and groups and ranges of these.
namespace trellis {

class HostMemory;

/// Says what an annotation of this type means. See Trellis_Resource.hpp for how to specialise it.
template <class T>
struct ResourceTraits {
  using is_no_resource = void;
};

namespace Impl {

class ErasedView;

template <class T>
struct IsToken : std::is_same<std::remove_cvref_t<T>, Token> {};

/// Names several resources as one.
template <class... Held>
struct Group {
  std::tuple<Held...> members;
};
template <class T>
struct IsGroup : std::false_type {};
template <class... Held>
struct IsGroup<Group<Held...>> : std::true_type {};

/// True for a type by which another library of Trellis names resources. That library specialises
/// this.
template <class T>
inline constexpr bool is_piece_of_part_v = false;

/// True for a piece, which the engine can compare: it has an area and a label.
template <class T>
inline constexpr bool is_piece_v = Kokkos::is_view_v<std::remove_cvref_t<T>> || IsToken<T>::value ||
                                   std::is_same_v<std::remove_cvref_t<T>, experimental::IndexBox> ||
                                   std::is_same_v<std::remove_cvref_t<T>, HostMemory> ||
                                   std::is_same_v<std::remove_cvref_t<T>, ErasedView> ||
                                   is_piece_of_part_v<std::remove_cvref_t<T>>;
/// True for one resource, or a group of them.
template <class T>
inline constexpr bool is_single_v = is_piece_v<T> || IsGroup<std::remove_cvref_t<T>>::value;

/// A resource for which `ResourceTraits` says which accesses an annotation stands for.
template <class T>
concept OpenResource = !is_single_v<T> && !requires {
  typename ResourceTraits<std::remove_cvref_t<T>>::is_no_resource;
};

// (The header <ranges> takes long to compile. A range-based `for` also finds free functions of the
// class's namespace. Only those of Kokkos 4.5 for its arrays count here, as it has some for an
// OffsetView, too.)
template <class R>
auto begin_of(R& range) -> decltype(std::begin(range));
template <class T, std::size_t n>
T* begin_of(Kokkos::Array<T, n>& array);
template <class T, std::size_t n>
T const* begin_of(Kokkos::Array<T, n> const& array);
template <class T>
inline constexpr bool is_kokkos_array = false;
template <class T, std::size_t n>
inline constexpr bool is_kokkos_array<Kokkos::Array<T, n>> = true;

template <class R>
using IteratorOf = decltype(begin_of(std::declval<R&>()));
template <class R>
concept AnyRange =
    (is_kokkos_array<std::remove_cvref_t<R>> || requires(R& range) { std::end(range); }) &&
    std::input_iterator<IteratorOf<R>>;
template <class R>
concept SizedRange = AnyRange<R> && requires(R& range) { std::size(range); };
template <class R>
using ElementOf = std::remove_cvref_t<std::iter_reference_t<IteratorOf<R>>>;

/// A range of other resources. (A path, whose elements are paths, is none.)
template <class T>
concept RangeOfOthers = !is_single_v<T> && !OpenResource<T> && AnyRange<T> &&
                        !std::is_same_v<ElementOf<T>, std::remove_cvref_t<T>>;

template <class T>
struct IsResource : std::bool_constant<is_single_v<T> || OpenResource<T>> {};
template <RangeOfOthers T>
struct IsResource<T> : IsResource<ElementOf<T>> {};
/// True if an annotation may name it. T is the type that the user gave: some ranges are none when
/// const.
template <class T>
inline constexpr bool is_resource_v = IsResource<std::remove_reference_t<T>>::value;

/// A range of Views, Tokens, groups, or ranges of these. Their number is known at run time.
template <class T>
concept ResourceRange = RangeOfOthers<T> && is_resource_v<T>;

/// Gives the innermost element type of a range, or the type itself if it is none.
template <class R>
struct LeafOf : std::type_identity<R> {};
template <ResourceRange R>
struct LeafOf<R> : LeafOf<ElementOf<R>> {};

template <class T>
struct IsConstView : std::false_type {};
template <class T>
  requires Kokkos::is_view_v<T>
struct IsConstView<T> : std::is_const<typename T::value_type> {};
template <class... Held>
struct IsConstView<Group<Held...>>
    : std::bool_constant<(IsConstView<std::remove_cvref_t<Held>>::value || ...)> {};
template <ResourceRange R>
struct IsConstView<R> : IsConstView<typename LeafOf<R>::type> {};

/// True if it contains a resource that `ResourceTraits` must explain.
template <class T>
struct HasOpen : std::bool_constant<OpenResource<T>> {};
template <class... Held>
struct HasOpen<Group<Held...>>
    : std::bool_constant<(HasOpen<std::remove_cvref_t<Held>>::value || ...)> {};
template <ResourceRange R>
struct HasOpen<R> : HasOpen<typename LeafOf<R>::type> {};

/// True if the number of resources is known at compile time.
template <class R>
struct IsFixed : std::bool_constant<!ResourceRange<R>> {};
template <class... Held>
struct IsFixed<Group<Held...>>
    : std::bool_constant<(IsFixed<std::remove_cvref_t<Held>>::value && ...)> {};

/// True if the elements live as long as the range, also when this is const.
template <class R>
inline constexpr bool has_lasting_elements = false;
template <class R>
  requires AnyRange<R const> && std::forward_iterator<IteratorOf<R const>>
inline constexpr bool has_lasting_elements<R> =
    std::is_lvalue_reference_v<std::iter_reference_t<IteratorOf<R const>>>;

/// True if the elements of all nested ranges live as long, too.
template <class R>
inline constexpr bool lasts = false;
template <class R>
  requires(has_lasting_elements<R>)
inline constexpr bool lasts<R> = !RangeOfOthers<ElementOf<R const>> || lasts<ElementOf<R const>>;

/// Gives a range whose elements last, for a range that makes them on demand.
template <class R>
struct KeptAs {
  using type = R;
  template <class From>
  static type make(From&& from) {
    return static_cast<From&&>(from);
  }
};
template <RangeOfOthers R>
  requires(!lasts<R>)
struct KeptAs<R> {
  using Element = KeptAs<ElementOf<R>>;
  using type = std::vector<typename Element::type>;
  template <class From>
  static type make(From&& from) {
    if constexpr (!AnyRange<std::remove_reference_t<From>>) {  // it is no range when const
      return make(R(from));
    } else {
      type elements;
      if constexpr (SizedRange<std::remove_reference_t<From>>) elements.reserve(std::size(from));
      for (auto&& element : from)
        elements.push_back(Element::make(static_cast<decltype(element)>(element)));
      return elements;
    }
  }
};

/// Says how an annotation holds what it names: it refers to an lvalue, and keeps a temporary.
/// Elements that a range makes on demand (`std::views::transform`) are made once, and kept.
template <class R>
struct HeldAs {
  using Named = std::remove_cvref_t<R>;
  using type = std::conditional_t<std::is_lvalue_reference_v<R>, Named const&, Named>;
  static constexpr R&& get(R&& resource) { return static_cast<R&&>(resource); }
};
template <class R>
  requires(ResourceRange<std::remove_reference_t<R>> && !lasts<std::remove_cvref_t<R>>)
struct HeldAs<R> {
  using Kept = KeptAs<std::remove_cvref_t<R>>;
  using type = typename Kept::type;
  static type get(R&& range) { return Kept::make(range); }
};
template <class R>
using HeldOf = typename HeldAs<R>::type;

}  // namespace Impl

}  // namespace trellis

#endif
