// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_DUALVIEW_HPP
#define TRELLIS_DUALVIEW_HPP

#include <annotations/Trellis_Annotations.hpp>
#include <Trellis_Error.hpp>
#include <common/Trellis_KokkosInternals.hpp>
#include <annotations/Trellis_Resource.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <common/Trellis_RunOn.hpp>
#include <graph/Trellis_GraphInternals.hpp>
#include <patterns/Trellis_DeepCopy.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>

/// With this header a `Kokkos::DualView` is a resource:
///
///     Kokkos::DualView<double*> x("x", n);
///     trellis::parallel_for("on the device", trellis::ResourcePolicy(graph, n, trellis::write(x)),
///                           KOKKOS_LAMBDA(int i, decltype(x)::t_dev x) { x(i) = i; });
///     trellis::host_task("on the host", trellis::ResourcePolicy(graph, trellis::read(x)),
///                        [](decltype(x)::t_host_const x) { ... });
///
/// A task accesses the side that its execution space works on, and a functor gets the View of that
/// side. Its flags are kept as `sync` and `modify` would keep them. If the other side is newer, a
/// task that copies it is submitted first ("sync" and the View's label). A task that does not only
/// read marks its side as modified. The flags always tell the state after all tasks submitted so
/// far. So after a `wait` they are right for plain Kokkos code, and what such code marks as
/// modified is copied for later tasks. The copy is also made for `write`, which need not cover all
/// elements. A program that overwrites all of them calls `clear_sync_state` before.
///
/// The flags belong to the whole DualView, as in Kokkos: use one, its copies and its subviews, from
/// one thread at a time. A task that only reads a subview copies that part, and the flags stay. A
/// task that changes a subview while the other side is newer is refused (`Error`), because newer
/// elements outside the subview would be lost: let a task read the whole before. While a plan is
/// recorded, no DualView can be used (`Error`): name the side, `read(x.view_device())`. A part of a
/// task can use only the side that the task itself has.
namespace trellis {

namespace Impl {

template <class T>
concept DualViewLike = requires(T const& dual) {
  typename T::t_dev;
  typename T::t_host;
  { dual.view_device() } -> std::convertible_to<typename T::t_dev>;
  { dual.view_host() } -> std::convertible_to<typename T::t_host>;
  { dual.need_sync_host() } -> std::convertible_to<bool>;
};

/// True if a task on `Space` uses the device side: if that is its space, or the only side that it
/// can touch.
template <class Dual, class Space>
inline constexpr bool is_device_side =
    std::is_same_v<typename Dual::t_dev::execution_space, Space> ||
    !CanTouch<Space, typename Dual::t_host::memory_space>::value;

/// True if the View is less than what was allocated. Then it is a subview, and the flags describe
/// more than itself.
template <class V>
bool is_part(V const& view) {
  auto const* const record = record_of(view);
  if (record == nullptr) return false;
  Area const area = area_of(view);
  // Kokkos allocates whole words.
  std::size_t const bytes = (area.end() - area.begin() + 7) & ~std::size_t{7};
  return static_cast<void const*>(view.data()) != record->data() || bytes < record->size();
}

template <class Dual>
inline constexpr bool has_two_sides =
    !std::is_same_v<typename Dual::t_dev::memory_space, typename Dual::t_host::memory_space>;

}  // namespace Impl

template <Impl::DualViewLike Dual>
struct ResourceTraits<Dual> {
  template <class How, class Space>
  static auto accesses(Dual const& dual, How how, On<Space>) {
    if constexpr (Impl::is_device_side<Dual, Space>)
      return access(dual.view_device(), how);
    else
      return access(dual.view_host(), how);
  }

  template <class How, class Space>
  static void prepare(Dual const& dual, How how, On<Space>, Impl::Target target)
    requires Impl::has_two_sides<Dual>
  {
    constexpr bool on_device = Impl::is_device_side<Dual, Space>;
    if (Impl::mode_of(how) == Mode::none) return;
    if (target.graph() != nullptr && Impl::GraphInternals::is_recording(*target.graph()))
      throw Error(Error::Kind::bad_input,
                  "Trellis: a plan is being recorded with the DualView \"" +
                      dual.view_device().label() +
                      "\", whose flags a replay would not change; name one of its sides, "
                      "view_device() or view_host(), and copy with deep_copy");
    if (!(on_device ? dual.need_sync_device() : dual.need_sync_host())) return;
    if constexpr (std::is_const_v<typename Dual::t_dev::value_type>) {
      throw Error(Error::Kind::bad_input,
                  "Trellis: the DualView \"" + dual.view_device().label() +
                      "\" has const elements, and its other side has been modified");
    } else {
      std::string const label = "sync " + dual.view_device().label();
      bool const is_part = Impl::is_part(dual.view_device());
      if (is_part && Impl::mode_of(how) != Mode::read)
        throw Error(Error::Kind::bad_input,
                    "Trellis: a part of the DualView \"" + dual.view_device().label() +
                        "\" is to be changed on the " + (on_device ? "device" : "host") +
                        " while its other side is newer; let a task there read the whole before");
      if constexpr (on_device)
        deep_copy(label, ResourcePolicy(target), dual.view_device(), dual.view_host());
      else
        deep_copy(label, ResourcePolicy(target), dual.view_host(), dual.view_device());
      if (is_part) return;
      Dual same = dual;
      same.clear_sync_state();
    }
  }

  template <class How, class Space>
  static void submitted(Dual const& dual, How how, On<Space>)
    requires Impl::has_two_sides<Dual>
  {
    Mode const mode = Impl::mode_of(how);
    if (mode == Mode::read || mode == Mode::none) return;
    Dual same = dual;
    same.clear_sync_state();
    if constexpr (Impl::is_device_side<Dual, Space>)
      same.modify_device();
    else
      same.modify_host();
  }
};

}  // namespace trellis

#endif
