// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_FIELDARGUMENTS_HPP
#define TRELLIS_FIELDARGUMENTS_HPP

#include <fields/Trellis_Field.hpp>
#include <fields/Trellis_FieldGraph.hpp>
#include <worklets/Trellis_BindArgument.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

/// With this header fields of a model are arguments of worklets that are submitted to it:
///
///     trellis::invoke("flux", trellis::ResourcePolicy(model), Flux(), temperature, flux);
///
/// As elsewhere in a model, a worklet reads fields and computes others. Their numbers of items are
/// compared when the task is launched. A computed field without extents gets those of the other
/// arguments: at once, or in the next iteration, when they are known.
namespace trellis {

namespace worklets::Impl {

/// The number of items of a field, which its first extents give.
struct FieldItems {
  static constexpr bool ends_without_user = true;
  static constexpr bool stays_in_an_iteration = true;
  std::shared_ptr<trellis::Impl::FieldState> field;
  int of_item;
  [[nodiscard]] std::int64_t resolve() const {
    std::int64_t n = 1;
    for (int d = 0; d < of_item; ++d)
      n *= trellis::Impl::FieldCount{field, static_cast<std::size_t>(d)}.resolve();
    return n;
  }
  [[nodiscard]] static std::tuple<> annotations() { return {}; }
  /// Returns the extents, if they are known before the task is launched.
  [[nodiscard]] std::optional<Extents> known() const {
    if (!field->shape.has_extents) return std::nullopt;
    if (of_item == 0) return Extents::of(1);
    Extents extents{of_item, {1, 1, 1}};
    for (int d = 0; d < of_item; ++d)
      extents.along[d] = static_cast<std::int64_t>(field->shape.extents[std::size_t(d)]);
    return extents;
  }
};

/// Returns the shape of a field of this type for these items; none, if it has vectors of any
/// length.
template <class F, int rank>
std::optional<trellis::Impl::FieldShape> shape_for(Extents const& extents) {
  using View = typename F::view;
  using Layout = typename F::array_layout;
  constexpr int of_item = item_extents<static_cast<int>(F::rank), rank>;
  if constexpr (View::rank_dynamic() > of_item || std::is_same_v<Layout, Kokkos::LayoutStride>) {
    return std::nullopt;
  } else {
    if (of_item > 1 && extents.rank != of_item) return std::nullopt;
    Layout layout;
    for (std::size_t d = 0; d < F::rank; ++d)
      layout.dimension[d] =
          d >= of_item
              ? View::static_extent(d)
              : static_cast<std::size_t>(of_item == 1 ? extents.count() : extents.along[d]);
    return trellis::Impl::shape_of(View(nullptr, layout));
  }
}

}  // namespace worklets::Impl

template <class A, class D, class T, class L>
struct BindArgument<worklets::Parameter<worklets::Field, A, D>, Field<T, L>> {
  using P = worklets::Parameter<worklets::Field, A, D>;
  using F = Field<T, L>;
  static auto access(F const& field) { return trellis::access(field, P::how); }
  template <int rank>
  static auto late_length(F const& field, worklets::Over<D, rank>) {
    return worklets::Impl::FieldItems{
        Impl::FieldInternals::state(field),
        worklets::Impl::item_extents<static_cast<int>(F::rank), rank>};
  }
  /// Gives a field without extents those of the other arguments.
  template <int rank>
  static void follow(Impl::Target const& target, F const& field, worklets::Over<D, rank>,
                     std::function<std::optional<worklets::Extents>()> find)
    requires std::is_same_v<A, worklets::Out>
  {
    auto* const model = dynamic_cast<FieldGraph*>(target.collector());
    if (model == nullptr) return;
    model->impl().follow(Impl::FieldInternals::state(field),
                         [find = std::move(find)]() -> std::optional<Impl::FieldShape> {
                           auto const extents = find();
                           return extents.has_value() ? worklets::Impl::shape_for<F, rank>(*extents)
                                                      : std::nullopt;
                         });
  }
  static auto exec(F const&) { return worklets::Impl::MakeFieldPortal<P>(); }
  static std::string label(F const& field) { return field.label(); }
};
template <class D, class T, class L>
struct BindArgument<worklets::Parameter<worklets::Whole, worklets::In, D>, Field<T, L>> {
  static auto access(Field<T, L> const& field) { return read(field); }
  static auto exec(Field<T, L> const&) { return worklets::Impl::MakeWholeArray(); }
  static std::string label(Field<T, L> const& field) { return field.label(); }
};

}  // namespace trellis

#endif
