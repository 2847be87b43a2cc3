// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_FIELD_HPP
#define TRELLIS_FIELD_HPP

#include <Trellis_Error.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <fields/impl/Trellis_FieldState.hpp>
#include <annotations/impl/Trellis_BoundFunctor.hpp>
#include <annotations/impl/Trellis_IsResource.hpp>
#include <annotations/impl/Trellis_LateCount.hpp>
#include <annotations/impl/Trellis_LatePlace.hpp>
#include <annotations/impl/Trellis_OpenAccess.hpp>
#include <annotations/impl/Trellis_ViewAccess.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// With this header a task names an array by its field: `read(q)`, `write(subfield(q, ...))`. The
/// functor gets a View of the memory that the field has when the task is launched.
namespace trellis {

template <class D, class L>
class Field;

namespace Impl {

template <class V>
using FieldViewOf = Kokkos::View<typename V::data_type, typename V::array_layout,
                                 Kokkos::AnonymousSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

struct FieldInternals {
  template <class D, class L>
  static Field<D, L> make(std::shared_ptr<FieldState> state) {
    return Field<D, L>(std::move(state));
  }
  template <class D, class L>
  static std::shared_ptr<FieldState> const& state(Field<D, L> const& field) {
    return field.m_state;
  }
};

/// Returns the layout with the extents (and strides) of a shape.
template <class L>
L layout_of(FieldShape const& shape) {
  L layout;
  for (std::size_t k = 0; k < static_cast<std::size_t>(shape.rank); ++k) {
    layout.dimension[k] = shape.extents[k];
    if constexpr (std::is_same_v<L, Kokkos::LayoutStride>) layout.stride[k] = shape.strides[k];
  }
  return layout;
}
/// Returns the shape of a View.
template <class V>
FieldShape shape_of(V const& view) {
  FieldShape shape;
  shape.type = typeid(FieldViewOf<V>);
  shape.element_bytes = sizeof(typename V::value_type);
  shape.rank = static_cast<int>(V::rank());
  shape.has_extents = true;
  std::size_t last = 1;
  for (std::size_t k = 0; k < V::rank(); ++k) {
    shape.extents[k] = static_cast<std::size_t>(view.extent(k));
    shape.strides[k] = static_cast<std::size_t>(view.stride(k));
    last =
        shape.extents[k] == 0 || last == 0 ? 0 : last + (shape.extents[k] - 1) * shape.strides[k];
  }
  shape.bytes = last * shape.element_bytes;
  return shape;
}

/// Fills the place of a field among the arguments. `Part` makes the View of the part from that of
/// the whole.
template <class V, class Whole, class Part>
struct FieldSource {
  static constexpr bool ends_without_user = true;
  static constexpr bool stays_in_an_iteration = true;
  std::shared_ptr<FieldState> field;
  KeptPtr kept;                      ///< memory for a task that belongs to no model
  void* external;                    ///< bound memory for such a task
  std::shared_ptr<void const> held;  ///< owner of that memory
  Part part;

  [[nodiscard]] V resolve() const {
    void* memory = external;
    if (memory == nullptr) memory = kept != nullptr ? kept->memory() : bound();
    using Pointer = typename Whole::pointer_type;
    return V(part(Whole(static_cast<Pointer>(memory),
                        layout_of<typename Whole::array_layout>(field->shape))));
  }

 private:
  [[nodiscard]] void* bound() const { return FieldBinding::memory_of(*field); }
};

struct WholeField {
  template <class V>
  V const& operator()(V const& view) const {
    return view;
  }
};
template <class... Slices>
struct PartOfField {
  std::tuple<Slices...> slices;
  template <class V>
  auto operator()(V const& view) const {
    return std::apply([&](auto const&... slice) { return Kokkos::subview(view, slice...); },
                      slices);
  }
};

/// Throws when a task that belongs to no model could never have the field.
void require_kept(FieldState const& field);

template <class V, class Whole, class Part>
FieldSource<V, Whole, Part> make_source(std::shared_ptr<FieldState> const& field, Part const& part,
                                        Target const& target) {
  if (target.collector() != nullptr) return {field, nullptr, nullptr, nullptr, part};
  require_kept(*field);
  return {field, field->kept(), field->external, field->held, part};
}

template <class How, class V>
using FieldArgument = typename LateArgumentAs<How, V>::type;

std::pair<std::size_t, std::size_t> slice_of(FieldState const& field, std::size_t direction,
                                             std::size_t first, std::size_t end);
template <class Slice>
std::pair<std::size_t, std::size_t> interval_of(FieldState const& field, std::size_t direction,
                                                Slice const& slice) {
  if constexpr (std::is_integral_v<Slice>)
    return slice_of(field, direction, static_cast<std::size_t>(slice),
                    static_cast<std::size_t>(slice) + 1);
  else if constexpr (requires { slice.first; })
    return slice_of(field, direction, static_cast<std::size_t>(slice.first),
                    static_cast<std::size_t>(slice.second));
  else
    return slice_of(field, direction, 0, field.shape.extents[direction]);
}

}  // namespace Impl

/// A logical array: `Field<double***>`. A model gives it memory, see FieldGraph. It is a handle:
/// copies stand for the same field.
///
/// Wherever the task runs, a functor takes it as `F::view`, as `F::read_view` if the task reads, or
/// as `F::atomic_view` for `atomic_add` or `atomic_mul`:
///
///     using F = trellis::Field<double*>;
///     trellis::parallel_for("scale", trellis::ResourcePolicy(model, n, read(q), write(r)),
///         KOKKOS_LAMBDA(int i, F::read_view q, F::view r) { r(i) = 2 * q(i); });
///
/// For a range of fields, `read(all)` with a `std::vector<F>`, it takes a `view_list<F::read_view>
/// const&`.
///
/// Tasks of its model may name it. If it has memory between iterations (it is bound, required,
/// locked or persistent), any task of the graph may.
template <class D, class L = Kokkos::DefaultExecutionSpace::array_layout>
class Field {
 public:
  using data_type = D;
  using array_layout = L;
  using view = Kokkos::View<D, L, Kokkos::AnonymousSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using read_view = typename view::const_type;
  using atomic_view = trellis::atomic_view<view>;
  using host_view = Kokkos::View<D, L, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static constexpr std::size_t rank = view::rank();
  static_assert(rank <= Impl::Area::max_rank, "Trellis: a field has up to 8 dimensions");

  /// Makes a field of no model.
  Field() = default;
  [[nodiscard]] bool valid() const { return m_state != nullptr; }
  [[nodiscard]] std::string label() const { return m_state->name.string(); }
  /// Returns an extent; 0 while it is unknown.
  [[nodiscard]] std::size_t extent(std::size_t direction) const {
    return m_state->shape.extents[direction];
  }

 private:
  friend struct Impl::FieldInternals;
  explicit Field(std::shared_ptr<Impl::FieldState> state) : m_state(std::move(state)) {}
  std::shared_ptr<Impl::FieldState> m_state;
};

namespace Impl {

/// A part of a field, made by `subfield`. A task touches exactly that part. `view` is the type that
/// `Kokkos::subview` makes from the field's View.
template <class F, class... Slices>
class SubField {
 public:
  using field = F;
  using view =
      decltype(Kokkos::subview(std::declval<typename F::view>(), std::declval<Slices>()...));
  using read_view = typename view::const_type;
  using atomic_view = trellis::atomic_view<view>;

  SubField(F of, Slices... slices) : m_field(std::move(of)), m_part{{slices...}} {
    std::size_t direction = 0;
    auto const& state = *FieldInternals::state(m_field);
    auto const next = [&](auto const& slice) {
      m_box[direction] = interval_of(state, direction, slice);
      ++direction;
    };
    (next(slices), ...);
  }
  [[nodiscard]] F const& whole() const { return m_field; }
  [[nodiscard]] FieldBox const& box() const { return m_box; }
  [[nodiscard]] PartOfField<Slices...> const& part() const { return m_part; }

 private:
  F m_field;
  PartOfField<Slices...> m_part;
  FieldBox m_box{};
};

}  // namespace Impl

/// Returns the part of a field that `Kokkos::subview` with these arguments (whole numbers, pairs,
/// `Kokkos::ALL`) names. The field's extents must be known. Throws `Error` if an argument lies
/// outside.
template <class D, class L, class... Slices>
  requires(sizeof...(Slices) == Field<D, L>::rank)
[[nodiscard]] Impl::SubField<Field<D, L>, std::remove_cvref_t<Slices>...> subfield(
    Field<D, L> const& field, Slices const&... slices) {
  return {field, slices...};
}

namespace Impl {

/// These types only give names: messages say `Field<double*, ...>::read_view`, not the type of that
/// View.
namespace Written {
template <class D, class L>
struct Field {
  struct view;
  struct read_view;
  struct atomic_view;
};
}  // namespace Written
template <class V>
  requires(Kokkos::is_view_v<V> && std::is_same_v<typename V::memory_space, Kokkos::AnonymousSpace>)
struct ShownAs<V> {
  using Field = Written::Field<typename V::non_const_data_type, typename V::array_layout>;
  using type =
      std::conditional_t<std::is_const_v<typename V::value_type>, typename Field::read_view,
                         std::conditional_t<V::memory_traits::is_atomic,
                                            typename Field::atomic_view, typename Field::view>>;
};

}  // namespace Impl
template <>
inline constexpr bool Impl::is_piece_of_part_v<Impl::FieldArea> = true;

template <class D, class L>
struct ResourceTraits<Field<D, L>> {
  using F = Field<D, L>;
  using element_type = typename F::view::value_type;
  static constexpr bool is_const_if_container_is = false;
  static auto accesses(F const& field, auto how) {
    return access(Impl::FieldArea(Impl::FieldInternals::state(field)), how);
  }
  template <class How>
  static auto argument(F const&, How) {
    return Impl::LatePlace<Impl::FieldArgument<How, typename F::view>>();
  }
  template <class How>
  static auto late(F const& field, How, Impl::Target const& target) {
    using V = Impl::FieldArgument<How, typename F::view>;
    return Impl::make_source<V, typename F::view>(Impl::FieldInternals::state(field),
                                                  Impl::WholeField(), target);
  }
  template <class How>
  static auto list_argument(How) {
    return Impl::LateListPlace<Impl::FieldArgument<How, typename F::view>>();
  }
  template <class Range, class How>
  static auto late_list(Range const& range, How how, Impl::Target const& target) {
    return Impl::make_list_source<ResourceTraits, Impl::FieldArgument<How, typename F::view>>(
        range, how, target);
  }
};

template <class F, class... Slices>
struct ResourceTraits<Impl::SubField<F, Slices...>> {
  using S = Impl::SubField<F, Slices...>;
  using element_type = typename F::view::value_type;
  static constexpr bool is_const_if_container_is = false;
  static auto accesses(S const& part, auto how) {
    return access(Impl::FieldArea(Impl::FieldInternals::state(part.whole()), part.box()), how);
  }
  template <class How>
  static auto argument(S const&, How) {
    return Impl::LatePlace<Impl::FieldArgument<How, typename S::view>>();
  }
  template <class How>
  static auto late(S const& part, How, Impl::Target const& target) {
    using V = Impl::FieldArgument<How, typename S::view>;
    return Impl::make_source<V, typename F::view>(Impl::FieldInternals::state(part.whole()),
                                                  part.part(), target);
  }
  template <class How>
  static auto list_argument(How) {
    return Impl::LateListPlace<Impl::FieldArgument<How, typename S::view>>();
  }
  template <class Range, class How>
  static auto late_list(Range const& range, How how, Impl::Target const& target) {
    return Impl::make_list_source<ResourceTraits, Impl::FieldArgument<How, typename S::view>>(
        range, how, target);
  }
};

namespace Impl {

template <>
inline constexpr SubjectOps subject_ops<FieldArea>{&describe_field, &field_may_have_label};

/// An extent of a field. The program sets it between iterations, and no task changes it.
struct FieldCount {
  static constexpr bool ends_without_user = true;
  static constexpr bool stays_in_an_iteration = true;
  std::shared_ptr<FieldState> field;
  std::size_t direction;

  [[nodiscard]] std::int64_t resolve() const;
  [[nodiscard]] static std::tuple<> annotations() { return {}; }
};
/// An extent of a part, which is fixed when the part is made.
struct SubFieldCount {
  static constexpr bool ends_without_user = true;
  static constexpr bool stays_in_an_iteration = true;
  std::size_t count;

  [[nodiscard]] std::int64_t resolve() const { return static_cast<std::int64_t>(count); }
  [[nodiscard]] static std::tuple<> annotations() { return {}; }
};
/// Throws if there is no such direction.
void require_direction(FieldState const& field, std::size_t direction, std::size_t rank);

}  // namespace Impl

/// Returns an extent of a field as a number of indices: `ResourcePolicy(model, extent(q),
/// write(q))`. It is looked up when the task is launched; the task fails if it is unknown then.
/// Throws `Error` if the field has no such direction.
template <class D, class L>
[[nodiscard]] Impl::LateCount<Impl::FieldCount> extent(Field<D, L> const& field,
                                                       std::size_t direction = 0) {
  auto const& state = Impl::FieldInternals::state(field);
  Impl::require_direction(*state, direction, Field<D, L>::rank);
  return {{state, direction}};
}
/// Returns an extent of a part, in a direction of its View.
template <class F, class... Slices>
[[nodiscard]] Impl::LateCount<Impl::SubFieldCount> extent(Impl::SubField<F, Slices...> const& part,
                                                          std::size_t direction = 0) {
  Impl::require_direction(*Impl::FieldInternals::state(part.whole()), direction,
                          Impl::SubField<F, Slices...>::view::rank());
  std::size_t count = 0, of_field = 0, of_part = 0;
  auto const look = [&](bool stays) {
    auto const [first, end] = part.box()[of_field++];
    if (stays && of_part++ == direction) count = end - first;
  };
  (look(!std::is_integral_v<Slices>), ...);
  return {{count}};
}

}  // namespace trellis

#endif
