// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_FIELDCOPY_HPP
#define TRELLIS_FIELDCOPY_HPP

#include <Trellis_Error.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <fields/Trellis_Field.hpp>
#include <fields/Trellis_FieldGraph.hpp>
#include <fields/Trellis_Variants.hpp>
#include <patterns/Trellis_DeepCopy.hpp>
#include <patterns/Trellis_ParallelFor.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

/// With this header `deep_copy` takes fields, and parts of fields, as it takes Views:
/// `deep_copy("keep", ResourcePolicy(model), old, q)`, `deep_copy(model, q, 0.0)`.
namespace trellis {

namespace Impl {

template <class T>
inline constexpr bool is_field_v = false;
template <class D, class L>
inline constexpr bool is_field_v<Field<D, L>> = true;
template <class F, class... Slices>
inline constexpr bool is_field_v<SubField<F, Slices...>> = true;

/// Gives what a functor gets for one side of a copy.
template <class T>
struct CopiedAs {
  using type = T;
  static constexpr bool is_one_piece = false;
};
template <class D, class L>
struct CopiedAs<Field<D, L>> {
  using type = typename Field<D, L>::view;
  static constexpr bool is_one_piece = !std::is_same_v<L, Kokkos::LayoutStride>;
};
template <class F, class... Slices>
struct CopiedAs<SubField<F, Slices...>> {
  using type = typename SubField<F, Slices...>::view;
  static constexpr bool is_one_piece = false;
};

template <std::size_t rank>
using Extents = std::array<std::size_t, rank>;
template <class V>
  requires Kokkos::is_view_v<V>
Extents<V::rank()> extents_of(V const& view) {
  Extents<V::rank()> extents{};
  for (std::size_t k = 0; k != V::rank(); ++k) extents[k] = view.extent(k);
  return extents;
}
template <class D, class L>
Extents<Field<D, L>::rank> extents_of(Field<D, L> const& field) {
  FieldState const& state = *FieldInternals::state(field);
  if (!state.shape.has_extents)
    throw Error(Error::Kind::bad_input, "Trellis: a copy of the field " + state.text() + " (" +
                                            state.name.place() +
                                            "), whose extents nobody has said yet");
  Extents<Field<D, L>::rank> extents{};
  for (std::size_t k = 0; k != Field<D, L>::rank; ++k) extents[k] = state.shape.extents[k];
  return extents;
}
template <class F, class... Slices>
auto extents_of(SubField<F, Slices...> const& part) {
  Extents<SubField<F, Slices...>::view::rank()> extents{};
  std::size_t direction = 0, next = 0;
  auto const look = [&](bool stays) {
    auto const [first, end] = part.box()[direction++];
    if (stays) extents[next++] = end - first;
  };
  (look(!std::is_integral_v<Slices>), ...);
  return extents;
}
template <class T>
std::string name_of_copied(T const& of) {
  if constexpr (Kokkos::is_view_v<T>)
    return of.label();
  else if constexpr (requires { of.whole(); })
    return of.whole().label();
  else
    return of.label();
}

/// Says where an element is in each of several Views.
template <std::size_t views>
struct Offsets {
  std::int64_t of[views] = {};
};
/// Returns the offsets of the element with this number, counted in the order of the first View,
/// whatever the layouts of the others.
template <class First, class... Rest>
KOKKOS_FUNCTION Offsets<1 + sizeof...(Rest)> offsets_of(std::int64_t number, First const& first,
                                                        Rest const&... rest) {
  constexpr int rank = static_cast<int>(First::rank());
  constexpr bool is_left = std::is_same_v<typename First::array_layout, Kokkos::LayoutLeft>;
  Offsets<1 + sizeof...(Rest)> offsets;
  for (int k = 0; k < rank; ++k) {
    int const direction = is_left ? k : rank - 1 - k;
    auto const extent = static_cast<std::int64_t>(first.extent(direction));
    std::int64_t const index = number % extent;
    number /= extent;
    int view = 0;
    offsets.of[view++] += index * static_cast<std::int64_t>(first.stride(direction));
    ((offsets.of[view++] += index * static_cast<std::int64_t>(rest.stride(direction))), ...);
  }
  return offsets;
}

/// Copies elements. `is_one_piece`: both Views are one piece, with one layout.
template <bool is_one_piece>
struct CopyElements {
  template <class From, class To, class... More>
  KOKKOS_FUNCTION void operator()(std::int64_t number, From const& from, To const& to,
                                  More const&...) const {
    if constexpr (is_one_piece) {
      to.data()[number] = from.data()[number];
    } else {
      auto const at = offsets_of(number, to, from);
      to.data()[at.of[0]] = from.data()[at.of[1]];
    }
  }
};
template <class Value>
struct FillElements {
  Value value;
  template <class To, class... More>
  KOKKOS_FUNCTION void operator()(std::int64_t number, To const& to, More const&...) const {
    to.data()[offsets_of(number, to).of[0]] = value;
  }
};

template <class Base, class Destination, class Source>
struct FieldCopyCheck {
  using D = typename CopiedAs<Destination>::type;
  using S = typename CopiedAs<Source>::type;
  static constexpr bool has_no_range = std::is_same_v<Base, Once>;
  static constexpr bool has_destination = Kokkos::is_view_v<D>;
  static constexpr bool has_source = [] {
    if constexpr (!has_destination)
      return true;
    else if constexpr (Kokkos::is_view_v<S>)
      return D::rank() == S::rank();
    else
      return fills_v<typename D::non_const_value_type, Source>;
  }();
  static constexpr bool has_value_now = !requires(Source const& s) { FutureInternals::handle(s); };
  static constexpr bool holds() {
    static_assert(has_no_range,
                  "Trellis: deep_copy takes a policy without a range: deep_copy(\"label\", "
                  "ResourcePolicy(model, ...), destination, source)");
    static_assert(has_destination, "Trellis: deep_copy of a field goes into a field or a View");
    static_assert(has_source,
                  "Trellis: deep_copy into a field takes a field or a View of the same rank, or a "
                  "value of its elements' type");
    static_assert(
        has_value_now,
        "Trellis: deep_copy fills a field with a value that there is; let a task write the "
        "value of a Future");
    return has_no_range && has_destination && has_source && has_value_now;
  }
};

template <class... A>
ResourcePolicy<Count, A...> policy_of(Target const& target, std::int64_t elements,
                                      std::tuple<A...> const& annotations) {
  return std::apply(
      [&](auto const&... each) { return ResourcePolicy<Count, A...>(target, elements, each...); },
      annotations);
}

template <class... A, class Destination, class Source>
Future<void> copy_field(Label&& label, ResourcePolicy<Once, A...> const& policy,
                        Destination const& to, Source const& from) {
  using D = typename CopiedAs<Destination>::type;
  auto const extents = extents_of(to);
  std::int64_t elements = 1;
  for (std::size_t const each : extents) elements *= static_cast<std::int64_t>(each);
  auto const submit = [&](auto const& functor, auto const&... accesses) {
    auto const all = std::tuple_cat(std::make_tuple(accesses...), policy.annotations());
    return parallel_for(std::move(label), policy_of(policy.target(), elements, all), functor);
  };
  if constexpr (!Kokkos::is_view_v<typename CopiedAs<Source>::type>) {
    using Value = typename D::non_const_value_type;
    return submit(FillElements<Value>{static_cast<Value>(from)}, write(to));
  } else {
    auto const others = extents_of(from);
    for (std::size_t k = 0; k != extents.size(); ++k)
      if (extents[k] != others[k])
        throw Error(Error::Kind::bad_input,
                    "Trellis: task " + label.text() + " copies \"" + name_of_copied(from) +
                        "\" to \"" + name_of_copied(to) + "\", but their extents " +
                        std::to_string(k) + " are " + std::to_string(others[k]) + " and " +
                        std::to_string(extents[k]));
    using S = typename CopiedAs<Source>::type;
    constexpr bool is_one_piece =
        CopiedAs<Destination>::is_one_piece && CopiedAs<Source>::is_one_piece &&
        std::is_same_v<typename D::array_layout, typename S::array_layout>;
    return submit(CopyElements<is_one_piece>{}, read(from), write(to));
  }
}

}  // namespace Impl

/// Submits, or gives to the policy's model, a task that copies all elements, or fills with a value.
/// At least one of the two is a field or a part of one. The other one may be a View; as the
/// destination a model must have bound it. The task runs where a `parallel_for` with this policy
/// would: `on<...>`, `device(n)` and `runs_on<...>` apply to it, too.
///
/// Throws `Error` when extents differ, or are unknown.
template <class Base, class... Annotations, class Destination, class Source>
  requires(Impl::is_field_v<std::remove_cvref_t<Destination>> || Impl::is_field_v<Source>)
Future<void> deep_copy(Label label, ResourcePolicy<Base, Annotations...> const& policy,
                       Destination&& destination, Source const& source) {
  if constexpr (Impl::FieldCopyCheck<Base, std::remove_cvref_t<Destination>, Source>::holds())
    return Impl::copy_field(std::move(label), policy, destination, source);
  else
    return {};
}
/// Copies or fills with the label "deep_copy".
template <class Base, class... Annotations, class Destination, class Source>
  requires(Impl::is_field_v<std::remove_cvref_t<Destination>> || Impl::is_field_v<Source>)
Future<void> deep_copy(ResourcePolicy<Base, Annotations...> const& policy,
                       Destination&& destination, Source const& source,
                       std::source_location site = std::source_location::current()) {
  return deep_copy(Label(std::string("deep_copy"), site), policy, destination, source);
}
/// Copies or fills in a model without properties.
template <class Destination, class Source>
Future<void> deep_copy(Label label, FieldGraph& model, Destination&& destination,
                       Source const& source) {
  return deep_copy(std::move(label), ResourcePolicy(model), destination, source);
}
template <class Destination, class Source>
Future<void> deep_copy(FieldGraph& model, Destination&& destination, Source const& source,
                       std::source_location site = std::source_location::current()) {
  return deep_copy(Label(std::string("deep_copy"), site), ResourcePolicy(model), destination,
                   source);
}

}  // namespace trellis

#endif
