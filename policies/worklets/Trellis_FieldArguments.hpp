// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_FIELDARGUMENTS_HPP
#define TRELLIS_FIELDARGUMENTS_HPP

#include <fields/Trellis_Field.hpp>
#include <worklets/Trellis_BindArgument.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

/// With this header fields of a model are arguments of worklets that are submitted to it:
///
///     trellis::invoke("flux", trellis::ResourcePolicy(model), Flux(), temperature, flux);
///
/// As elsewhere in a model, a worklet reads fields and computes others. Their numbers of items are
/// compared when the task is launched.
namespace trellis {

namespace worklets::Impl {

/// How many items a field has, of which the first extents are the number.
struct FieldItems {
  static constexpr bool ends_without_user = true;
  static constexpr bool stays_in_a_pass = true;
  std::shared_ptr<trellis::Impl::FieldState> field;
  int of_item;
  [[nodiscard]] std::int64_t resolve() const {
    std::int64_t n = 1;
    for (int d = 0; d < of_item; ++d)
      n *= trellis::Impl::FieldCount{field, static_cast<std::size_t>(d)}.resolve();
    return n;
  }
  [[nodiscard]] static std::tuple<> annotations() { return {}; }
};

}  // namespace worklets::Impl

template <class A, class D, class T, class L>
struct BindArgument<worklets::Parameter<worklets::Field, A, D>, Field<T, L>> {
  using P = worklets::Parameter<worklets::Field, A, D>;
  using F = Field<T, L>;
  static auto access(F const& field) { return trellis::access(field, P::how); }
  template <int rank>
  static auto late_length(F const& field, worklets::Over<D, rank>) {
    return worklets::Impl::FieldItems{
        Impl::FieldDoor::state(field),
        worklets::Impl::item_extents<static_cast<int>(F::rank), rank>};
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
