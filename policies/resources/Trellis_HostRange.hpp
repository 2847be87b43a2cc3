// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_HOSTRANGE_HPP
#define TRELLIS_HOSTRANGE_HPP

#include <annotations/Trellis_Annotations.hpp>
#include <annotations/Trellis_Resource.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

/// With this header host memory is a resource: `std::vector`, `std::array`, `std::span`, plain
/// arrays and everything else with contiguous elements. So is `mdspan` (that of the standard
/// library, of Kokkos, ...) with strides.
///
///     std::vector<double> x(n);
///     trellis::host_task("sort", trellis::ResourcePolicy(graph, trellis::read_write(x)),
///                        [](std::span<double> x) { std::sort(x.begin(), x.end()); });
///
/// A functor gets a `std::span` of the elements, which are const if the task only reads; for an
/// `mdspan` it gets the `mdspan`. The memory must stay in place until the task is complete: Trellis
/// does not keep it, and a vector must not grow. It has no label, unless `named` gives it one.
namespace trellis {

namespace Impl {

/// Elements that contain their own elements are memory like any other, even if each of them is a
/// resource by itself.
template <class T>
concept HoldsElements =
    OpenResource<T> && (std::is_bounded_array_v<T> || is_kokkos_array<T> ||
                        requires { std::tuple_size<T>::value; } ||
                        requires { typename T::traits_type; });

/// Contiguous elements that are no resources themselves.
template <class T>
concept HostRange =
    requires(T& range) {
      { std::data(range) } -> std::convertible_to<void const volatile*>;
      { std::size(range) } -> std::convertible_to<std::size_t>;
    } && AnyRange<T> && std::is_lvalue_reference_v<std::iter_reference_t<IteratorOf<T>>> &&
    (!IsResource<ElementOf<T>>::value || HoldsElements<ElementOf<T>>);

template <class T>
concept MdSpan = !Kokkos::is_view_v<T> && requires(T const& array) {
  typename T::mapping_type;
  typename T::accessor_type;
  { array.data_handle() } -> std::convertible_to<void const volatile*>;
  { array.mapping().stride(0) } -> std::convertible_to<std::size_t>;
  { T::rank() } -> std::convertible_to<std::size_t>;
};

/// Host memory, held as an annotation holds it, with a label.
template <class Held, bool is_const>
struct NamedMemory {
  std::string label;
  Held memory;
};

}  // namespace Impl

/// Describes contiguous elements on the host.
template <class T>
  requires Impl::HostRange<T>
struct ResourceTraits<T> {
  /// The element type of a container that is not const, or of a span.
  using element_type = std::remove_pointer_t<decltype(std::data(std::declval<T&>()))>;
  /// Elements of a span may be const by themselves, and outlive the span.
  static constexpr bool is_const_if_container_is =
      std::is_const_v<std::remove_pointer_t<decltype(std::data(std::declval<T const&>()))>> &&
      !(std::is_const_v<element_type> && std::ranges::enable_borrowed_range<T>);

  template <class How>
  static HostMemory memory(std::string label, T const& range, How) {
    return {std::move(label), std::data(range), static_cast<std::size_t>(std::size(range))};
  }
  template <class How>
  static auto accesses(T const& range, How how) {
    return access(memory("", range, how), how);
  }
  template <class How>
  static auto argument(T const& range, How) {
    using Element = std::conditional_t<Impl::only_reads<How>, element_type const, element_type>;
    return std::span<Element>(const_cast<Element*>(std::data(range)),
                              static_cast<std::size_t>(std::size(range)));
  }
};

/// Describes elements on the host with strides.
template <class T>
  requires Impl::MdSpan<T>
struct ResourceTraits<T> {
  static_assert(T::rank() <= Impl::Area::max_rank, "Trellis: an mdspan has up to 8 dimensions");
  using element_type = typename T::element_type;
  static constexpr bool is_const_if_container_is = false;

  template <class How>
  static HostMemory memory(std::string label, T const& array, How) {
    std::uint64_t extents[T::rank() + 1];
    std::uint64_t strides[T::rank() + 1];
    for (std::size_t k = 0; k < T::rank(); ++k) {
      extents[k] = static_cast<std::uint64_t>(array.extent(k));
      strides[k] = static_cast<std::uint64_t>(array.mapping().stride(k));
    }
    return {std::move(label), array.data_handle(),
            std::span<std::uint64_t const>(extents, T::rank()),
            std::span<std::uint64_t const>(strides, T::rank())};
  }
  template <class How>
  static auto accesses(T const& array, How how) {
    return access(memory("", array, how), how);
  }
  static T argument(T const& array, auto) { return array; }
};

/// Describes memory with a label.
template <class Held, bool is_const>
struct ResourceTraits<Impl::NamedMemory<Held, is_const>> {
  using Named = ResourceTraits<std::remove_cvref_t<Held>>;
  using element_type = std::conditional_t<is_const, typename Named::element_type const,
                                          typename Named::element_type>;
  static constexpr bool is_const_if_container_is = false;
  template <class How>
  static auto accesses(Impl::NamedMemory<Held, is_const> const& named, How how) {
    return access(Named::memory(named.label, named.memory, how), how);
  }
  static auto argument(Impl::NamedMemory<Held, is_const> const& named, auto how) {
    return Named::argument(named.memory, how);
  }
};

/// Gives host memory a label, for messages and records: `read(named("weights", weights))`.
template <class R>
auto named(std::string label, R&& memory) {
  static_assert(Impl::HostRange<std::remove_cvref_t<R>> || Impl::MdSpan<std::remove_cvref_t<R>>,
                "Trellis: named gives a label to contiguous elements of the host or an mdspan; "
                "Views and Tokens have labels");
  constexpr bool is_owner = Impl::owns_elements<std::remove_cvref_t<R>>;
  static_assert(!is_owner || std::is_lvalue_reference_v<R>,
                "Trellis: a container that owns its elements must have a name, and live until the "
                "task is complete");
  constexpr bool is_const = is_owner && std::is_const_v<std::remove_reference_t<R>>;
  using Held = Impl::HeldOf<R>;
  return Impl::NamedMemory<Held, is_const>{std::move(label),
                                           Impl::HeldAs<R>::get(std::forward<R>(memory))};
}

}  // namespace trellis

#endif
