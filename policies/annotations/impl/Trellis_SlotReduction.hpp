// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SLOTREDUCTION_HPP
#define TRELLIS_IMPL_SLOTREDUCTION_HPP

#include <common/Trellis_ResultSlot.hpp>
#include <annotations/impl/Trellis_BoundFunctor.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

/// This header reduces on devices into a ResultSlot. Kokkos waits for the device if a result is a
/// variable, and if there are several results of any kind. Here no thread waits.
namespace trellis::Impl {

/// Several values next to each other. The type is as plain as a device needs it: it is copied word
/// by word.
template <class... T>
struct Values {};
template <class First, class... Rest>
struct Values<First, Rest...> {
  First first{};
  Values<Rest...> rest{};
};
template <std::size_t k, class First, class... Rest>
KOKKOS_INLINE_FUNCTION auto& value_at(Values<First, Rest...>& values) {
  if constexpr (k == 0)
    return values.first;
  else
    return value_at<k - 1>(values.rest);
}
template <std::size_t k, class First, class... Rest>
KOKKOS_INLINE_FUNCTION auto const& value_at(Values<First, Rest...> const& values) {
  if constexpr (k == 0)
    return values.first;
  else
    return value_at<k - 1>(values.rest);
}

/// Lets a reducer start a value. As Kokkos' concept says, the reducer may leave that to the value.
template <class Reducer, class Value>
KOKKOS_INLINE_FUNCTION void start_value(Reducer const& reducer, Value& value) {
  if constexpr (requires { reducer.init(value); })
    reducer.init(value);
  else
    value = Value();
}

/// Returns a reducer whose result is `value`.
template <class Reducer>
Reducer reducer_into(typename Reducer::value_type& value) {
  if constexpr (std::is_constructible_v<Reducer, typename Reducer::value_type&>)
    return Reducer(value);
  else
    return Reducer(typename Reducer::result_view_type(&value));
}
template <class Reducer>
inline constexpr bool is_made_into =
    std::is_constructible_v<Reducer, typename Reducer::value_type&> ||
    std::is_constructible_v<Reducer, typename Reducer::result_view_type>;

/// A reducer of one value whose result goes to a place in `MemorySpace`. `Reducer` does the rest,
/// wherever its own result would be.
template <class Reducer, class MemorySpace>
class SlotReducer {
 public:
  using reducer = SlotReducer;
  using value_type = typename Reducer::value_type;
  using result_view_type =
      Kokkos::View<value_type, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  SlotReducer(Reducer const& of, value_type* place) : m_reducer(of), m_view(place) {}

  KOKKOS_FUNCTION void join(value_type& into, value_type const& from) const {
    m_reducer.join(into, from);
  }
  KOKKOS_FUNCTION void init(value_type& value) const { start_value(m_reducer, value); }
  KOKKOS_FUNCTION void final(value_type& value) const
    requires requires(Reducer const& r, value_type& v) { r.final(v); }
  {
    m_reducer.final(value);
  }
  KOKKOS_FUNCTION value_type& reference() const { return *m_view.data(); }
  KOKKOS_FUNCTION result_view_type view() const { return m_view; }
  KOKKOS_FUNCTION static constexpr bool references_scalar() { return false; }

 private:
  Reducer m_reducer;
  result_view_type m_view;
};

/// A reducer of several values, each with its own reducer. As in Kokkos, no `final` is applied to
/// them.
template <class MemorySpace, class... Reducers>
class SlotReducers {
 public:
  using reducer = SlotReducers;
  using value_type = Values<typename Reducers::value_type...>;
  using result_view_type =
      Kokkos::View<value_type, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  SlotReducers(std::tuple<Reducers...> const& reducers, value_type* place)
      : m_reducers(reducers), m_view(place) {}

  KOKKOS_FUNCTION void join(value_type& into, value_type const& from) const {
    join(into, from, std::index_sequence_for<Reducers...>{});
  }
  KOKKOS_FUNCTION void init(value_type& value) const {
    init(value, std::index_sequence_for<Reducers...>{});
  }
  KOKKOS_FUNCTION value_type& reference() const { return *m_view.data(); }
  KOKKOS_FUNCTION result_view_type view() const { return m_view; }
  KOKKOS_FUNCTION static constexpr bool references_scalar() { return false; }

 private:
  template <std::size_t... k>
  KOKKOS_FUNCTION void join(value_type& into, value_type const& from,
                            std::index_sequence<k...>) const {
    (std::get<k>(m_reducers).join(value_at<k>(into), value_at<k>(from)), ...);
  }
  template <std::size_t... k>
  KOKKOS_FUNCTION void init(value_type& value, std::index_sequence<k...>) const {
    (start_value(std::get<k>(m_reducers), value_at<k>(value)), ...);
  }

  std::tuple<Reducers...> m_reducers;
  result_view_type m_view;
};

/// Calls `functor(indices..., values...)` when Kokkos passes all values as one.
template <class Functor, class... T>
struct SpreadFunctor {
  using value_type = Values<T...>;
  Functor functor;

  template <class... Args>
  KOKKOS_FUNCTION void operator()(Args&&... args) const {
    call(std::make_index_sequence<sizeof...(Args) - 1>{}, std::index_sequence_for<T...>{},
         std::tuple<Args&&...>(static_cast<Args&&>(args)...));
  }
  [[nodiscard]] std::size_t team_shmem_size(int team_size) const
    requires AsksForScratch<Functor>
  {
    return scratch_of(functor, team_size);
  }

 private:
  template <std::size_t... I, std::size_t... V, class Args>
  KOKKOS_FUNCTION void call(std::index_sequence<I...>, std::index_sequence<V...>,
                            Args&& args) const {
    functor(
        static_cast<std::tuple_element_t<I, std::remove_reference_t<Args>>>(std::get<I>(args))...,
        value_at<V>(std::get<sizeof...(I)>(args))...);
  }
};

/// The kernel that copies values from the slot to their Views. Void stands for a value for the
/// Future.
template <class AllValues, class... Views>
struct Distribute {
  AllValues const* from;
  std::tuple<Views...> views;

  KOKKOS_FUNCTION void operator()(int) const { all(std::index_sequence_for<Views...>{}); }

 private:
  template <std::size_t... k>
  KOKKOS_FUNCTION void all(std::index_sequence<k...>) const {
    (one<k>(std::get<k>(views)), ...);
  }
  template <std::size_t k, class V>
  KOKKOS_FUNCTION void one(V const& view) const {
    if constexpr (Kokkos::is_view_v<V>) view() = value_at<k>(*from);
  }
};

}  // namespace trellis::Impl

#endif
