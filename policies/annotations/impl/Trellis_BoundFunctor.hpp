// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_BOUNDFUNCTOR_HPP
#define TRELLIS_IMPL_BOUNDFUNCTOR_HPP

#include <annotations/impl/Trellis_LinearRange.hpp>
#include <annotations/impl/Trellis_Reachable.hpp>
#include <annotations/impl/Trellis_ViewAccess.hpp>
#include <annotations/impl/Trellis_WrongCalls.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

/// This header has functors that take their annotated Views as arguments.
namespace trellis::Impl {

template <class... T>
struct TypeList {};

/// A list of `count` times T.
template <class T, std::size_t count, class... Done>
struct Repeat : Repeat<T, count - 1, T, Done...> {};
template <class T, class... Done>
struct Repeat<T, 0, Done...> {
  using type = TypeList<Done...>;
};

template <class... Lists>
struct Concat;
template <class... A>
struct Concat<TypeList<A...>> {
  using type = TypeList<A...>;
};
template <class... A, class... B, class... Rest>
struct Concat<TypeList<A...>, TypeList<B...>, Rest...> : Concat<TypeList<A..., B...>, Rest...> {};

template <class F, class List>
struct IsCallable;
template <class F, class... A>
struct IsCallable<F, TypeList<A...>> : std::is_invocable<F const&, A...> {};

template <class List>
struct OnlyAtomicIn;
template <class... A>
struct OnlyAtomicIn<TypeList<A...>> {
  using type = TypeList<typename AsOnlyAtomic<A>::type...>;
};

template <class T>
using TagList = std::conditional_t<std::is_void_v<T>, TypeList<>, TypeList<T>>;

/// Says how a functor takes what it reduces into: one value, or an array of `value_count` values.
template <class Value>
struct ReducedInto {
  using type = Value&;
  using const_type = Value const&;
};
template <class T>
struct ReducedInto<T[]> {
  using type = T*;
  using const_type = T const*;
};

/// A functor that asks for scratch memory of a team, by one of the names that Kokkos knows.
template <class Functor>
concept AsksForScratch = requires(Functor const& f) { f.team_shmem_size(1); } ||
                         requires(Functor const& f) { f.shmem_size(1); };
template <AsksForScratch Functor>
std::size_t scratch_of(Functor const& functor, int team_size) {
  if constexpr (requires { functor.team_shmem_size(1); })
    return functor.team_shmem_size(team_size);
  else
    return functor.shmem_size(team_size);
}

/// Calls `functor(indices..., views..., values...)`. `values` are what Kokkos passes beyond the
/// indices: a reduction's values, or a scan's value and flag. Kokkos copies this as it would copy
/// the functor.
template <class Functor, class Value, std::size_t index_count, class... Views>
struct BoundFunctor {
  using value_type = Value;
  using Into = typename ReducedInto<Value>::type;
  using From = typename ReducedInto<Value>::const_type;
  using is_bound_functor = void;
  Functor functor;
  std::tuple<Views...> views;
  [[nodiscard]] Functor const& held() const { return functor; }

  template <class... Args>
  KOKKOS_FUNCTION void operator()(Args&&... args) const {
    constexpr std::size_t values = sizeof...(Args) - index_count;
    call(std::make_index_sequence<index_count>{}, std::index_sequence_for<Views...>{},
         std::make_index_sequence<values>{}, std::tuple<Args&&...>(static_cast<Args&&>(args)...));
  }

  // These functions let the functor itself start, join and end a reduction. They are templates
  // because Kokkos finds them by their address, and there nvcc respects only the condition of a
  // template.
  template <class F = Functor>
  KOKKOS_FUNCTION void init(Into value) const
    requires requires(F const& f, Into v) { f.init(v); }
  {
    functor.init(value);
  }
  template <class F = Functor>
  KOKKOS_FUNCTION void join(Into value, From other) const
    requires requires(F const& f, Into v, From w) { f.join(v, w); }
  {
    functor.join(value, other);
  }
  template <class F = Functor>
  KOKKOS_FUNCTION void final(Into value) const
    requires requires(F const& f, Into v) { f.final(v); }
  {
    functor.final(value);
  }
  // These functions do so for the tag of the policy.
  template <class Tag>
  KOKKOS_FUNCTION void init(Tag const& tag, Into value) const
    requires requires(Functor const& f, Into v) { f.init(tag, v); }
  {
    functor.init(tag, value);
  }
  template <class Tag>
  KOKKOS_FUNCTION void join(Tag const& tag, Into value, From other) const
    requires requires(Functor const& f, Into v, From w) { f.join(tag, v, w); }
  {
    functor.join(tag, value, other);
  }
  template <class Tag>
  KOKKOS_FUNCTION void final(Tag const& tag, Into value) const
    requires requires(Functor const& f, Into v) { f.final(tag, v); }
  {
    functor.final(tag, value);
  }

  [[nodiscard]] std::size_t team_shmem_size(int team_size) const
    requires AsksForScratch<Functor>
  {
    return scratch_of(functor, team_size);
  }

 private:
  template <std::size_t... I, std::size_t... V, std::size_t... R, class Args>
  KOKKOS_FUNCTION void call(std::index_sequence<I...>, std::index_sequence<V...>,
                            std::index_sequence<R...>, Args&& args) const {
    functor(
        static_cast<std::tuple_element_t<I, std::remove_reference_t<Args>>>(std::get<I>(args))...,
        seen(std::get<V>(views))...,
        static_cast<std::tuple_element_t<index_count + R, std::remove_reference_t<Args>>>(
            std::get<index_count + R>(args))...);
  }
};
/// If there is no value, Kokkos must not see a `value_type`.
template <class Functor, std::size_t index_count, class... Views>
struct BoundFunctor<Functor, void, index_count, Views...> {
  using is_bound_functor = void;
  BoundFunctor<Functor, int, index_count, Views...> bound;
  [[nodiscard]] Functor const& held() const { return bound.functor; }
  template <class... Args>
  KOKKOS_FUNCTION void operator()(Args&&... args) const {
    bound(static_cast<Args&&>(args)...);
  }
  [[nodiscard]] std::size_t team_shmem_size(int team_size) const
    requires AsksForScratch<Functor>
  {
    return bound.team_shmem_size(team_size);
  }
};
/// Reduces into an array, whose length Kokkos reads off the functor.
template <class Functor, class Value, std::size_t index_count, class... Views>
struct BoundArrayFunctor : BoundFunctor<Functor, Value, index_count, Views...> {
  unsigned value_count;
};

/// Returns the bound arguments. The values of futures are put among them, see
/// Trellis_KnownValue.hpp.
template <class Functor, class Value, std::size_t index_count, class... Views>
std::tuple<Views...>& bound_arguments(BoundFunctor<Functor, Value, index_count, Views...>& bound) {
  if constexpr (std::is_void_v<Value>)
    return bound.bound.views;
  else
    return bound.views;
}
template <class Functor, class Value, std::size_t index_count, class... Views>
std::tuple<Views...>& bound_arguments(
    BoundArrayFunctor<Functor, Value, index_count, Views...>& bound) {
  return bound_arguments(static_cast<BoundFunctor<Functor, Value, index_count, Views...>&>(bound));
}

template <class Space, class Value, std::size_t index_count, class Functor, class Annotations,
          class... Views>
auto bind_views(Functor&& functor, Annotations const& annotations,
                std::type_identity<std::tuple<Views...>>) {
  using F = std::remove_cvref_t<Functor>;
  if constexpr (std::is_void_v<Value>)
    return BoundFunctor<F, void, index_count, Views...>{
        {std::forward<Functor>(functor), arguments_of<Space>(annotations)}};
  else if constexpr (std::is_array_v<Value>) {
    auto const count = static_cast<unsigned>(functor.value_count);  // read before it is moved from
    return BoundArrayFunctor<F, Value, index_count, Views...>{
        {std::forward<Functor>(functor), arguments_of<Space>(annotations)}, count};
  } else
    return BoundFunctor<F, Value, index_count, Views...>{std::forward<Functor>(functor),
                                                         arguments_of<Space>(annotations)};
}

template <class Tuple>
struct TupleToList;
template <class... T>
struct TupleToList<std::tuple<T...>> {
  using type = TypeList<typename SeenAs<T>::type const&...>;
};

/// Gives the type by which a message names an argument: its own, or the one that a user writes for
/// it.
template <class T>
struct ShownAs : std::type_identity<T> {};
template <class T>
struct ShownAs<T&> : std::type_identity<typename ShownAs<T>::type&> {};
template <class T>
struct ShownAs<T const> : std::type_identity<typename ShownAs<T>::type const> {};
template <class V>
struct ShownAs<view_list<V>> : std::type_identity<view_list<typename ShownAs<V>::type>> {};

template <class List>
struct SignatureOf;
template <class... A>
struct SignatureOf<TypeList<A...>> {
  template <class T>
  using Plain = std::conditional_t<std::is_lvalue_reference_v<T> &&
                                       std::is_const_v<std::remove_reference_t<T>>,
                                   std::remove_cvref_t<T>, T>;
  using type = void(typename ShownAs<Plain<A>>::type...);
};

/// Says how Kokkos may call a functor: with `tag, indices..., values...`, or with the annotated
/// Views after the indices.
template <class Traits, class Values, class Functor, class... Annotations>
struct FunctorCall {
  using F = std::remove_cvref_t<Functor>;
  using Place = PlaceOf<typename Traits::execution_space, Annotations...>;
  using Space = typename Place::reached;
  using Offloads = typename OffloadsTo<typename Place::runs_on, Annotations...>::type;
  using Tag = TagList<typename Traits::work_tag>;
  using Indices = typename Repeat<typename Traits::index_type const&, Traits::index_count>::type;
  using Arguments = ArgumentsOfAll<Space, Annotations...>;
  using Views = typename TupleToList<Arguments>::type;
  using Short = typename Concat<Tag, Indices, Values>::type;
  using Long = typename Concat<Tag, Indices, Views, Values>::type;
  static constexpr bool takes_views = !std::is_same_v<Short, Long> && IsCallable<F, Long>::value;
  static constexpr bool is_callable = takes_views || IsCallable<F, Short>::value;
  using Check = AllHold<
      BaseNamesAHost<typename Traits::execution_space>,
      FunctorMustTake<is_callable, typename SignatureOf<Long>::type>,
      MustTakeAtomicViews<!takes_views || IsCallable<F, typename OnlyAtomicIn<Long>::type>::value>,
      MayFuse<!(is_fusable_v<Annotations> || ...) ||
              (LinearRange<Traits>::exists && std::is_same_v<Values, TypeList<>>)>,
      MustReach<Space, Annotations...>, MustReachAsWell<Offloads, Annotations...>>;
};

/// Returns the functor as Kokkos must call it: as it is, or with its Views bound. The longer form
/// takes precedence, so that a functor that can be called with anything gets its Views.
template <class Value, class Call, class Traits, class Functor, class Policy>
auto prepare_functor(Functor&& functor, Policy const& policy) {
  if constexpr (Call::takes_views) {
    constexpr std::size_t leading =
        Traits::index_count + (std::is_void_v<typename Traits::work_tag> ? 0 : 1);
    return bind_views<typename Call::Space, Value, leading>(
        std::forward<Functor>(functor), policy.annotations(),
        std::type_identity<typename Call::Arguments>{});
  } else {
    return typename Call::F(std::forward<Functor>(functor));
  }
}

}  // namespace trellis::Impl

#endif
