// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_RESOURCE_HPP
#define TRELLIS_RESOURCE_HPP

#include <annotations/Trellis_Annotations.hpp>
#include <Trellis_Area.hpp>
#include <Trellis_Error.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

/// With this header types of your own are resources: `read(mesh)`. Specialise `ResourceTraits` in
/// namespace `trellis`, before the first annotation:
///
///     struct Mesh { Kokkos::View<double*> coordinates; Kokkos::View<int*> cells; };
///
///     template <>
///     struct trellis::ResourceTraits<Mesh> {
///       // The accesses that an annotation stands for: of the pieces, each with its mode.
///       static auto accesses(Mesh const& mesh, auto how) {
///         return std::tuple(access(mesh.coordinates, how), read(mesh.cells));
///       }
///       // What a functor gets for it. Optional: without, it gets the Views of the accesses.
///       static Mesh argument(Mesh const& mesh, auto) { return mesh; }
///     };
///
/// `how` is the mode or state of the annotation, in a form that `access(piece, how)` takes. For
/// `read(mesh)`, `write(mesh)`, ... it is a constant of the type `std::integral_constant<Mode,
/// ...>`, so that `if constexpr (how == trellis::Mode::read)` is possible. For `access(mesh, ...)`
/// it is a `Mode` or a state of the user's.
///
/// `accesses` returns one annotation, a `std::tuple` of them, or an `AccessList` when their number
/// is known at run time. A piece is a View, a `Token`, an `IndexBox`, a `HostMemory`, a group or a
/// range of these, or again a type with `ResourceTraits`; it keeps its label. All objects that the
/// annotations refer to must be in `mesh` or in the returned object.
///
/// A functor's argument may be known only when the task is launched. Then `argument` returns a
/// place for it, and `late(mesh, how, target)` its source, see impl/Trellis_KnownValue.hpp.
/// (`list_argument(how)` and `late_list(range, how, target)` do that for a range.)
///
/// `accesses` and `argument` may take a third argument `On<Space>`, the space that the task runs
/// on. Two further functions are optional, for resources that act when they are used:
///
///     static void prepare(Mesh const&, auto how, On<Space>, auto target);
///     static void submitted(Mesh const&, auto how, On<Space>);
///
/// `prepare` is called before the task is submitted, and may submit other tasks, to
/// `ResourcePolicy(target, ...)`. `submitted` is called when the task has been submitted. Such a
/// resource cannot stand in an `AccessList`, which belongs to no task.
///
/// Kokkos' containers and contiguous host memory have `ResourceTraits`, see the headers in
/// `resources/`.
namespace trellis {

/// Host memory that no View describes, as a resource. It does not keep the memory.
///
///     trellis::write(trellis::HostMemory("time step", &dt))
class HostMemory {
 public:
  /// Describes `count` objects, one after the other.
  template <class T>
  HostMemory(std::string label, T const* first, std::size_t count = 1)
      : m_label(std::move(label)),
        m_area(Impl::Area::contiguous(first, count * sizeof(T))),
        m_element_bytes(sizeof(T)),
        m_strides{sizeof(T)},
        m_rank(1) {}
  /// Describes an array with strides, counted in objects.
  template <class T>
  HostMemory(std::string label, T const* first, std::span<std::uint64_t const> extents,
             std::span<std::uint64_t const> strides)
      : m_label(checked(std::move(label), extents.size(), strides.size())),
        m_area(Impl::Area::strided(first, sizeof(T), static_cast<int>(extents.size()),
                                   extents.data(), strides.data())),
        m_element_bytes(sizeof(T)),
        m_rank(static_cast<int>(extents.size())) {
    for (std::size_t k = 0; k < extents.size(); ++k) m_strides[k] = strides[k] * sizeof(T);
  }
  [[nodiscard]] std::string const& label() const { return m_label; }
  [[nodiscard]] Impl::Area const& area() const { return m_area; }
  [[nodiscard]] std::size_t element_bytes() const { return m_element_bytes; }
  /// Returns the strides in bytes.
  [[nodiscard]] std::span<std::uint64_t const> strides() const {
    return {m_strides, static_cast<std::size_t>(m_rank)};
  }

 private:
  static std::string checked(std::string&& label, std::size_t extents, std::size_t strides);
  std::string m_label;
  Impl::Area m_area;
  std::size_t m_element_bytes;
  std::uint64_t m_strides[Impl::Area::max_rank]{};
  int m_rank;
};

template <std::size_t N>
struct ResourceTraits<experimental::IndexSpace<N>> {
  static auto accesses(experimental::IndexSpace<N> const& space, auto how) {
    return access(space.all(), how);
  }
};

namespace Impl {
/// An object that a Token stands for: PerWorker, ScatterView.
template <class T>
concept HasToken = requires(T const& object) {
  { object.token() } -> std::same_as<Token const&>;
};
}  // namespace Impl

template <class T>
  requires Impl::HasToken<T>
struct ResourceTraits<T> {
  static auto accesses(T const& object, auto how) { return access(object.token(), how); }
  static T argument(T const& object, auto) { return object; }
};

namespace Impl {

/// True if `how` certainly only reads.
template <class How>
inline constexpr bool only_reads = false;
template <Mode mode>
inline constexpr bool only_reads<ModeConstant<mode>> = mode == Mode::read || mode == Mode::none;

/// Returns the mode as far as it is known: a state of the user's may mean anything.
template <class How>
constexpr Mode mode_of(How const& how) {
  if constexpr (std::is_convertible_v<How const&, Mode>)
    return how;
  else
    return Mode::read_write;
}

}  // namespace Impl
}  // namespace trellis

#endif
