// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_PARALLELREDUCE_HPP
#define TRELLIS_PARALLELREDUCE_HPP

#include <patterns/Trellis_ParallelFor.hpp>
#include <impl/Trellis_LastArgument.hpp>
#include <impl/Trellis_SlotReduction.hpp>

#include <memory>
#include <tuple>
#include <type_traits>

namespace trellis {

/// A result of `parallel_reduce` that goes into the Future: `reduced<Kokkos::Max<double>>`.
template <class Reducer>
struct Reduced {
  static_assert(Kokkos::is_reducer_v<Reducer>,
                "Trellis: reduced<...> takes a Kokkos reducer, e.g. Kokkos::Max<double>");
  using reducer_type = Reducer;
};
template <class Reducer>
inline constexpr Reduced<Reducer> reduced{};

namespace Impl {

/// Reduced with the functor's own init, join and final (a sum if it has none), into the Future.
template <class T>
struct ReducedByFunctor {};

/// True for results that go into the Future.
template <class R>
struct IsReduced : std::false_type {};
template <class R>
struct IsReduced<Reduced<R>> : std::true_type {};
template <class T>
struct IsReduced<ReducedByFunctor<T>> : std::true_type {};
template <class R>
struct IsFunctorsOwn : std::false_type {};
template <class T>
struct IsFunctorsOwn<ReducedByFunctor<T>> : std::true_type {};

/// A result goes into a Future, into a View, or into the View that a Kokkos reducer was made with.
template <class R>
struct ResultTraits;
/// Not a variable.
template <class R>
inline constexpr bool is_result_v =
    IsReduced<R>::value || Kokkos::is_view_v<R> || Kokkos::is_reducer_v<R>;
template <class R>
constexpr bool is_scalar_result() {
  if constexpr (Kokkos::is_view_v<R>)
    return R::rank() == 0;
  else
    return true;
}
template <class R>
struct ResultTraits<Reduced<R>> {
  using value_type = typename R::value_type;
};
template <class T>
struct ResultTraits<ReducedByFunctor<T>> {
  using value_type = T;
};
template <class R>
  requires Kokkos::is_view_v<R>
struct ResultTraits<R> {
  using value_type = typename R::non_const_value_type;
  static auto access(R const& view) { return write(view); }
};
template <class R>
  requires Kokkos::is_reducer_v<R>
struct ResultTraits<R> {
  using value_type = typename R::value_type;
  static auto access(R const& reducer) { return write(reducer.view()); }
};

/// The access that a result adds, as a tuple; empty for one that goes into the Future.
template <class R>
auto result_access(R const& result) {
  if constexpr (IsReduced<R>::value)
    return std::tuple<>{};
  else
    return std::tuple<decltype(ResultTraits<R>::access(result))>(ResultTraits<R>::access(result));
}

template <class R>
void require_lasting(Label const& label, R const& result) {
  if constexpr (Kokkos::is_reducer_v<R>)
    if (result.references_scalar())
      throw Error(Error::Kind::bad_input,
                  "Trellis: task \"" + label.string() + "\" (" + label.place() +
                      ") reduces into a variable, which may be gone when it runs; make the reducer "
                      "on a View, or take reduced<Reducer> and the Future");
}

/// Values of all `Reduced` results: nothing, one, or a tuple.
template <class... V>
struct FutureValue {
  using type = std::tuple<V...>;
};
template <>
struct FutureValue<> {
  using type = void;
};
template <class V>
struct FutureValue<V> {
  using type = V;
};
template <class R>
using ReducedValues =
    std::conditional_t<IsReduced<R>::value, TypeList<typename ResultTraits<R>::value_type>,
                       TypeList<>>;
template <class List>
struct FutureValueOf;
template <class... V>
struct FutureValueOf<TypeList<V...>> : FutureValue<V...> {};

/// What Kokkos gets for each result: the View or reducer itself, or a reducer on a value that lives
/// in this frame.
template <class R>
struct LiveResult {
  R const& given;
  R const& kokkos() { return given; }
  std::tuple<> value() { return {}; }
};
template <class R>
struct LiveResult<Reduced<R>> {
  explicit LiveResult(Reduced<R> const&) {}
  typename R::value_type m_value{};
  R kokkos() { return R(m_value); }
  auto value() { return std::tuple<typename R::value_type>(m_value); }
};

template <class T>
struct LiveResult<ReducedByFunctor<T>> {
  explicit LiveResult(ReducedByFunctor<T> const&) {}
  T m_value{};
  T& kokkos() { return m_value; }
  auto value() { return std::tuple<T>(m_value); }
};

/// How one of several results is reduced into a slot, and where it goes from there.
template <class R>
struct SlotPart {  // a View: the sum, as in Kokkos
  using reducer_type = Kokkos::Sum<typename ResultTraits<R>::value_type, Kokkos::HostSpace>;
  static reducer_type reducer(R const&, typename R::non_const_value_type& place) {
    return reducer_type(place);
  }
  static R view(R const& given) { return given; }
};
template <class R>
  requires Kokkos::is_reducer_v<R>
struct SlotPart<R> {
  using reducer_type = R;
  static R reducer(R const& given, typename R::value_type&) { return given; }
  static auto view(R const& given) { return given.view(); }
};
template <class R>
struct SlotPart<Reduced<R>> {
  using reducer_type = R;
  static R reducer(Reduced<R> const&, typename R::value_type& place) { return R(place); }
  static std::tuple<> view(Reduced<R> const&) { return {}; }
};

/// Reduces on a device without a wait.
template <class Space, class... Results>
struct SlotReduction {
  using memory_space = typename AdapterOf<Space>::result_space;
  using Value = Values<typename ResultTraits<Results>::value_type...>;
  using Slot = ResultSlot<Value, memory_space>;

  template <class Policy, class Functor>
  static void run(Label const& label, Policy const& policy, Functor const& functor,
                  std::tuple<Results...> const& results, Slot& slot) {
    run(label, policy, functor, results, slot.renew(), std::index_sequence_for<Results...>{});
  }
  /// What goes into the Future: nothing, one value, or a tuple.
  static auto future_values(Value const& value) {
    return future_values(value, std::index_sequence_for<Results...>{});
  }

 private:
  template <class Policy, class Functor, std::size_t... k>
  static void run(Label const& label, Policy const& policy, Functor const& functor,
                  std::tuple<Results...> const& results, Value& place, std::index_sequence<k...>) {
    if constexpr (sizeof...(Results) > 1) {
      auto const reducers =
          std::make_tuple(SlotPart<Results>::reducer(std::get<k>(results), value_at<k>(place))...);
      Kokkos::parallel_reduce(
          kernel_name(label), policy,
          SpreadFunctor<Functor, typename ResultTraits<Results>::value_type...>{functor},
          SlotReducers<memory_space, typename SlotPart<Results>::reducer_type...>(reducers,
                                                                                  &place));
      if constexpr (!(IsReduced<Results>::value && ...)) {
        auto views = std::make_tuple(SlotPart<Results>::view(std::get<k>(results))...);
        distribute(policy.space(), &place, std::move(views));
      }
    } else if constexpr ((IsFunctorsOwn<Results>::value && ...)) {
      using Place = Kokkos::View<typename ResultTraits<Results>::value_type..., memory_space,
                                 Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
      Kokkos::parallel_reduce(kernel_name(label), policy, functor, Place(&place.first));
    } else {
      using Reducer =
          std::tuple_element_t<0, std::tuple<typename SlotPart<Results>::reducer_type...>>;
      Kokkos::parallel_reduce(
          kernel_name(label), policy, functor,
          SlotReducer<Reducer, memory_space>(Reducer(place.first), &place.first));
    }
  }
  template <class... Views>
  static void distribute(Space const& instance, Value const* from, std::tuple<Views...>&& views) {
    Kokkos::parallel_for(Kokkos::RangePolicy<Space>(instance, 0, 1),
                         Distribute<Value, Views...>{from, std::move(views)});
  }
  template <std::size_t... k>
  static auto future_values(Value const& value, std::index_sequence<k...>) {
    return std::tuple_cat([&] {
      if constexpr (IsReduced<Results>::value)
        return std::tuple<typename ResultTraits<Results>::value_type>(value_at<k>(value));
      else
        return std::tuple<>{};
    }()...);
  }
};

/// For a space whose launches are complete when they return, and for one View as the result.
struct NoSlot {
  using Slot = NoSlot;
};
template <class Space, class... Results>
inline constexpr bool reduces_into_slot =
    has_result_space<Space> && (sizeof...(Results) > 1 || (IsReduced<Results>::value && ...));
template <class Space, class... Results>
struct SlotReductionOf : std::type_identity<NoSlot> {};
template <class Space, class... Results>
  requires reduces_into_slot<Space, Results...>
struct SlotReductionOf<Space, Results...> : std::type_identity<SlotReduction<Space, Results...>> {};

template <class State, class Tuple>
void keep_values(State& state, Tuple&& values) {
  if constexpr (std::tuple_size_v<std::remove_cvref_t<Tuple>> == 1)
    state.value.emplace(std::get<0>(std::forward<Tuple>(values)));
  else if constexpr (std::tuple_size_v<std::remove_cvref_t<Tuple>> > 1)
    state.value.emplace(std::forward<Tuple>(values));
}

template <class Traits, class Functor, class Value, class... Results>
struct ReduceBody {
  static constexpr std::string_view pattern = "parallel_reduce";
  static constexpr bool kokkos_copies_it = true;
  static constexpr bool launches_only = launches_the_same<typename Traits::policy_type, Functor>;
  using Space = typename Traits::execution_space;
  static constexpr bool uses_slot = reduces_into_slot<Space, Results...>;
  using InSlot = typename SlotReductionOf<Space, Results...>::type;
  typename Traits::Range range;
  Functor functor;
  std::tuple<Results...> results;
  ResultPtr<Value> result;
  [[no_unique_address]] typename InSlot::Slot slot{};

  void run(void* instance, Label const& label) {
    auto const here = Traits::on(range, *static_cast<Space const*>(instance));
    auto const& policy = launched(here);
    if constexpr (uses_slot)
      InSlot::run(label, policy, functor, results, slot);
    else
      std::apply(
          [&](auto const&... to) {
            std::tuple<LiveResult<std::remove_cvref_t<decltype(to)>>...> live{
                LiveResult<std::remove_cvref_t<decltype(to)>>{to}...};
            std::apply(
                [&](auto&... each) {
                  Kokkos::parallel_reduce(kernel_name(label), policy, functor, each.kokkos()...);
                  keep_values(*result, std::tuple_cat(each.value()...));
                },
                live);
          },
          results);
  }
  void finish()
    requires uses_slot
  {
    keep_values(*result, InSlot::future_values(slot.value()));
  }
};
/// All results go into Views.
template <class Traits, class Functor, class... Results>
struct ReduceBody<Traits, Functor, void, Results...> {
  static constexpr std::string_view pattern = "parallel_reduce";
  static constexpr bool kokkos_copies_it = true;
  static constexpr bool launches_only = launches_the_same<typename Traits::policy_type, Functor>;
  using Space = typename Traits::execution_space;
  using InSlot = typename SlotReductionOf<Space, Results...>::type;
  typename Traits::Range range;
  Functor functor;
  std::tuple<Results...> results;
  [[no_unique_address]] typename InSlot::Slot slot{};

  void run(void* instance, Label const& label) {
    auto const here = Traits::on(range, *static_cast<Space const*>(instance));
    auto const& policy = launched(here);
    if constexpr (reduces_into_slot<Space, Results...>)
      InSlot::run(label, policy, functor, results, slot);
    else
      std::apply(
          [&](auto const&... result) {
            Kokkos::parallel_reduce(kernel_name(label), policy, functor, result...);
          },
          results);
  }
};

template <class Traits, class Call, class Policy, class Functor, class First, class... Rest>
auto submit_reduction(Label&& label, Policy const& policy, Functor&& functor, First const& first,
                      Rest const&... rest) {
  using Value = typename FutureValueOf<
      typename Concat<ReducedValues<First>, ReducedValues<Rest>...>::type>::type;
  constexpr bool one = sizeof...(Rest) == 0;
  using Bound = std::conditional_t<one, typename ResultTraits<First>::value_type, void>;

  require_valid<Traits>(label, policy);
  require_lasting(label, first);
  (require_lasting(label, rest), ...);
  auto const prepared = [&] {
    return prepare_functor<Bound, Call, Traits>(std::forward<Functor>(functor), policy);
  };
  using Body = ReduceBody<Traits, decltype(prepared()), Value, First, Rest...>;

  auto const submit = [&](auto const& make) {
    return std::apply(
        [&](auto const&... access) {
          return submit_made<typename Traits::execution_space>(std::move(label), policy, make,
                                                               nullptr, access...);
        },
        std::tuple_cat(result_access(first), result_access(rest)...));
  };
  if constexpr (std::is_void_v<Value>) {
    return FutureDoor::make(
        submit([&] { return Body{Traits::keep(policy.base()), prepared(), {first, rest...}}; }));
  } else {
    auto result = ResultPtr<Value>::make();
    TaskHandle const handle = submit([&] {
      return Body{Traits::keep(policy.base()), prepared(), {first, rest...}, std::move(result[0])};
    });
    return FutureDoor::make(handle, std::move(result[1]));
  }
}

}  // namespace Impl

/// Submits a task that runs `Kokkos::parallel_reduce` as soon as its accesses allow; returns at
/// once. The functor is called as in `parallel_for`, with references to the values to reduce into
/// as its last arguments.
///
/// `results` are Views of rank 0 and Kokkos reducers made on Views (both count as `write`
/// accesses), or `reduced<Reducer>`, whose value comes with the returned Future: a `Future<T>` for
/// one such result, a `Future<std::tuple<...>>` for several.
template <class Base, class... Annotations, class Functor, class First, class... Rest>
auto parallel_reduce(Label label, ResourcePolicy<Base, Annotations...> const& policy,
                     Functor&& functor, First const& first, Rest const&... rest) {
  static_assert(Impl::has_range_v<Base>,
                "Trellis: parallel_reduce needs a range: parallel_reduce(\"label\", "
                "ResourcePolicy(graph, n, read(x), ...), functor)");
  constexpr bool are_results = Impl::is_result_v<First> && (Impl::is_result_v<Rest> && ...);
  static_assert(are_results,
                "Trellis: parallel_reduce cannot write into a variable, which may be gone when the "
                "task runs; take the returned Future, or give a View, a Kokkos reducer on a View, "
                "or reduced<Reducer>");
  constexpr bool are_scalars =
      Impl::is_scalar_result<First>() && (Impl::is_scalar_result<Rest>() && ...);
  static_assert(are_scalars, "Trellis: parallel_reduce writes into a View of rank 0");
  if constexpr (!Impl::has_range_v<Base> || !are_results || !are_scalars) {
    return Impl::Refused();
  } else {
    using Traits = Impl::PolicyTraits<Base, typename Impl::TargetSpace<Annotations...>::type>;
    using Values = Impl::TypeList<typename Impl::ResultTraits<First>::value_type&,
                                  typename Impl::ResultTraits<Rest>::value_type&...>;
    using Call = Impl::FunctorCall<Traits, Values, Functor, Annotations...>;
    if constexpr (!Call::Check::value)
      return Impl::Refused();
    else
      return Impl::submit_reduction<Traits, Call>(std::move(label), policy,
                                                  std::forward<Functor>(functor), first, rest...);
  }
}

/// Reduces to the sum, or to what the functor's own `init`, `join` and `final` compute, and returns
/// a `Future<T>`; T is the type of the functor's last argument, or its member type `value_type`.
template <class Base, class... Annotations, class Functor>
auto parallel_reduce(Label label, ResourcePolicy<Base, Annotations...> const& policy,
                     Functor&& functor) {
  using T = typename decltype(Impl::value_type_of<std::remove_cvref_t<Functor>, 0>())::type;
  static_assert(Impl::has_range_v<Base>,
                "Trellis: parallel_reduce needs a range: parallel_reduce(\"label\", "
                "ResourcePolicy(graph, n, read(x), ...), functor)");
  static_assert(
      !std::is_void_v<T>,
      "Trellis: the functor's last argument is the value to reduce into, as in (int i, "
      "double& sum); when its call operator is overloaded or a template, give it a member "
      "type value_type");
  if constexpr (!Impl::has_range_v<Base> || std::is_void_v<T>) {
    return Impl::Refused();
  } else {
    using Traits = Impl::PolicyTraits<Base, typename Impl::TargetSpace<Annotations...>::type>;
    using Call = Impl::FunctorCall<Traits, Impl::TypeList<T&>, Functor, Annotations...>;
    if constexpr (!Call::Check::value)
      return Impl::Refused();
    else
      return Impl::submit_reduction<Traits, Call>(
          std::move(label), policy, std::forward<Functor>(functor), Impl::ReducedByFunctor<T>{});
  }
}

}  // namespace trellis

#endif
