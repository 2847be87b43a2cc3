// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_PARALLELREDUCE_HPP
#define TRELLIS_PARALLELREDUCE_HPP

#include <common/Trellis_KokkosInternals.hpp>
#include <patterns/Trellis_ParallelFor.hpp>
#include <annotations/impl/Trellis_LastArgument.hpp>
#include <annotations/impl/Trellis_LateResult.hpp>
#include <annotations/impl/Trellis_SlotReduction.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace trellis {

namespace Impl {

template <class Reducer>
constexpr bool goes_into_future() {
  if constexpr (Kokkos::is_reducer_v<Reducer>)
    return is_made_into<Reducer>;
  else
    return true;  // another check reports the error
}

}  // namespace Impl

/// A result of `parallel_reduce` that goes into the Future: `reduced<Kokkos::Max<double>>`. The
/// reducer may be a class of your own that meets Kokkos' requirements of reducers and can be made
/// on a value (`value_type&`) or on its `result_view_type`.
///
/// `reduced<Kokkos::Max<double>>(q)` goes into q, a field of a model.
template <class Reducer>
struct Reduced {
  static_assert(Kokkos::is_reducer_v<Reducer>,
                "Trellis: reduced<...> takes a Kokkos reducer, e.g. Kokkos::Max<double>");
  static_assert(Impl::goes_into_future<Reducer>(),
                "Trellis: a reducer in reduced<...> can be made on a value_type&, or on a "
                "result_view_type");
  using reducer_type = Reducer;
  template <Impl::LateResult R>
  Impl::ReducedTo<Reducer, R> operator()(R const& resource) const {
    return {resource};
  }
};
template <class Reducer>
inline constexpr Reduced<Reducer> reduced{};

namespace Impl {

/// A result for the Future, reduced with the functor's own init, join and final (a sum if it has
/// none).
template <class T>
struct ReducedByFunctor {
  template <class Functor>
  static ReducedByFunctor of(Functor const&) {
    return {};
  }
};
/// An array, whose length the functor gives.
template <class T>
struct ReducedByFunctor<T[]> {
  std::size_t count;
  template <class Functor>
  static ReducedByFunctor of(Functor const& functor) {
    return {static_cast<std::size_t>(functor.value_count)};
  }
};

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

/// A functor's member type `value_type`, or void.
template <class Functor>
struct OwnValue : std::type_identity<void> {};
template <class Functor>
  requires requires { typename Functor::value_type; }
struct OwnValue<Functor> : std::type_identity<typename Functor::value_type> {};

/// Describes a result, which goes into a Future, into a View, or into the View that a Kokkos
/// reducer was made with.
template <class R>
struct ResultTraits;
/// True for a result, which a variable is not.
template <class R>
inline constexpr bool is_result_v =
    IsReduced<R>::value || Kokkos::is_view_v<R> || Kokkos::is_reducer_v<R> || is_late_result_v<R>;
/// False if `reduced<R>` names no reducer. Other errors are reported elsewhere.
template <class R>
inline constexpr bool is_whole_result_v = true;
template <class R>
inline constexpr bool is_whole_result_v<Reduced<R>> = Kokkos::is_reducer_v<R>;
/// True if the result has the right rank. `is_array`: the functor reduces into an array.
template <bool is_array, class R>
constexpr bool has_right_rank() {
  if constexpr (Kokkos::is_view_v<R>)
    return R::rank() == (is_array ? 1 : 0);
  else if constexpr (LateResult<R>)
    return LatePlaceOf<R>::seen_type::rank() == (is_array ? 1 : 0);
  else if constexpr (is_reduced_to_v<R>)
    return !is_array && StoredResultOf<R>::seen_type::rank() == 0;
  else
    return !is_array;
}
template <class R>
struct ResultTraits<Reduced<R>> {
  using value_type = typename R::value_type;
};
template <class T>
struct ResultTraits<ReducedByFunctor<T>> {
  using value_type = T;
};
template <class T>
struct ResultTraits<ReducedByFunctor<T[]>> {
  using value_type = std::vector<T>;
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

template <LateResult R>
struct ResultTraits<R> {
  using value_type = typename LatePlaceOf<R>::seen_type::non_const_value_type;
  static auto access(R const& resource) { return write(resource); }
};
template <class Reducer, class R>
struct ResultTraits<ReducedTo<Reducer, R>> {
  using value_type = typename Reducer::value_type;
  static auto access(ReducedTo<Reducer, R> const& result) { return write(result.resource); }
};
/// Describes a result that is stored in a body.
template <class P>
  requires is_late_place_v<P>
struct ResultTraits<P> {
  using value_type = typename P::seen_type::non_const_value_type;
};

/// Returns the access that a result adds, as a tuple; empty for one that goes into the Future.
template <class R>
auto result_access(R const& result) {
  if constexpr (IsReduced<R>::value)
    return std::tuple<>{};
  else
    return std::tuple<decltype(ResultTraits<R>::access(result))>(ResultTraits<R>::access(result));
}

/// True if a reducer has `final`. Kokkos does not call it if there are several results.
template <class R>
struct HasFinal : std::false_type {};
template <class R>
  requires Kokkos::is_reducer_v<R>
struct HasFinal<R> : std::bool_constant < requires(R const& r, typename R::value_type& v) {
  r.final(v);
}>{};
template <class R>
struct HasFinal<Reduced<R>> : HasFinal<R> {};
template <class Reducer, class R>
struct HasFinal<ReducedTo<Reducer, R>> : HasFinal<Reducer> {};

template <class R>
concept SaysWhereItReduces = requires(R const& reducer) { reducer.references_scalar(); };

template <class R>
void require_lasting(Label const& label, R const& result) {
  if constexpr (SaysWhereItReduces<R>) {
    if (result.references_scalar())
      refuse_base(label,
                  "reduces into a variable, which may be gone when it runs; make the reducer on a "
                  "View, or take reduced<Reducer> and the Future");
  } else if constexpr (Kokkos::is_reducer_v<R>) {
    if (!has_record(result.view()))
      refuse_base(label,
                  "reduces into memory that its reducer does not keep: a variable may be gone when "
                  "it runs; make the reducer on a managed View, or take reduced<Reducer> and the "
                  "Future, or give the reducer a member references_scalar() that returns false");
  }
}

/// Throws unless the View has room: Kokkos writes `value_count` values into one piece of memory.
template <class Functor, class V>
void require_room(Label const& label, Functor const& functor, V const& view) {
  auto const count = static_cast<std::size_t>(functor.value_count);
  if (view.extent(0) < count)
    refuse_base(label, "reduces into " + std::to_string(count) + " values, but the View \"" +
                           view.label() + "\" has " + std::to_string(view.extent(0)));
  if (!lies_in_one_piece(view))
    refuse_base(label, "reduces into the View \"" + view.label() +
                           "\", which is not contiguous; reduce into one that is, and copy");
}

/// Throws unless a View that is known at the launch has room.
template <class Functor, class P>
void require_room_late(Label const& label, Functor const& functor, P const& stored) {
  if constexpr (is_late_place_v<P>) {
    auto const& view = stored.get();
    if constexpr (std::remove_cvref_t<decltype(view)>::rank() == 1) {
      auto const count = static_cast<std::size_t>(functor.value_count);
      if (view.extent(0) < count)
        refuse_base(label, "reduces into " + std::to_string(count) +
                               " values, but its result has " + std::to_string(view.extent(0)));
      if (!lies_in_one_piece(view))
        refuse_base(label,
                    "reduces into a result that is not contiguous; reduce into one that is, "
                    "and copy");
    }
  }
}

/// The values of all `Reduced` results: nothing, one value, or a tuple.
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

/// Gives Kokkos, for each result, the View or reducer itself, or a reducer on a value that lives in
/// this frame.
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
  R kokkos() { return reducer_into<R>(m_value); }
  auto take() { return m_value; }
  auto value() { return std::tuple<typename R::value_type>(take()); }
};

template <class T>
struct LiveResult<ReducedByFunctor<T>> {
  explicit LiveResult(ReducedByFunctor<T> const&) {}
  T m_value{};
  T& kokkos() { return m_value; }
  auto take() { return m_value; }
  auto value() { return std::tuple<T>(take()); }
};

template <class T>
struct LiveResult<ReducedByFunctor<T[]>> {
  explicit LiveResult(ReducedByFunctor<T[]> const& given)
      : m_count(given.count), m_values(new T[m_count]()) {}
  std::size_t m_count;
  std::unique_ptr<T[]> m_values;
  auto kokkos() {
    return Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
        m_values.get(), m_count);
  }
  auto take() { return std::vector<T>(m_values.get(), m_values.get() + m_count); }
  auto value() { return std::tuple<std::vector<T>>(take()); }
};

template <class P>
  requires is_late_place_v<P>
struct LiveResult<P> {
  P const& given;
  auto kokkos() { return kokkos_result<Kokkos::DefaultHostExecutionSpace>(given); }
  std::tuple<> value() { return {}; }
};

/// Says how one of several results is reduced into a slot, and where it goes from there.
template <class R>
struct SlotPart {  // for a View: the sum, as in Kokkos
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
  static R reducer(Reduced<R> const&, typename R::value_type& place) {
    return reducer_into<R>(place);
  }
  static std::tuple<> view(Reduced<R> const&) { return {}; }
};

template <class P>
  requires is_late_place_v<P>
struct SlotPart<P> {
  using value_type = typename P::seen_type::non_const_value_type;
  static auto choose() {
    if constexpr (requires { typename P::reducer_type; })
      return std::type_identity<typename P::reducer_type>();
    else
      return std::type_identity<Kokkos::Sum<value_type, Kokkos::HostSpace>>();
  }
  using reducer_type = typename decltype(choose())::type;
  static reducer_type reducer(P const&, value_type& place) {
    return reducer_into<reducer_type>(place);
  }
  static auto view(P const& given) { return given.get(); }
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
  /// Returns what goes into the Future: nothing, one value, or a tuple.
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
          SlotReducer<Reducer, memory_space>(reducer_into<Reducer>(place.first), &place.first));
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

/// Reduces into an array on a device without a wait.
template <class Space, class T>
struct SlotReduction<Space, ReducedByFunctor<T[]>> {
  using memory_space = typename AdapterOf<Space>::result_space;
  using Slot = ArraySlot<T, memory_space>;

  template <class Policy, class Functor>
  static void run(Label const& label, Policy const& policy, Functor const& functor,
                  std::tuple<ReducedByFunctor<T[]>> const& result, Slot& slot) {
    std::size_t const count = std::get<0>(result).count;
    using Place = Kokkos::View<T*, memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    Kokkos::parallel_reduce(kernel_name(label), policy, functor, Place(slot.renew(count), count));
  }
  static auto future_values(std::span<T const> values) {
    return std::tuple<std::vector<T>>(std::vector<T>(values.begin(), values.end()));
  }
};

/// Takes the place of a slot on a space whose launches are complete when they return, and if the
/// only result is a View.
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

/// Returns what Kokkos gets for the only result, a View or a reducer. Kokkos would wait for a
/// reducer that does not say where it reduces to, so that becomes a reducer on its View's memory.
template <class R>
decltype(auto) without_wait(R const& result) {
  if constexpr (Kokkos::is_reducer_v<R> && !SaysWhereItReduces<R>)
    return SlotReducer<R, typename R::result_view_type::memory_space>(result, result.view().data());
  else
    return (result);
}

template <class State, class Tuple>
void keep_values(State& state, Tuple&& values) {
  if constexpr (std::tuple_size_v<std::remove_cvref_t<Tuple>> == 1)
    state.value.emplace(std::get<0>(std::forward<Tuple>(values)));
  else if constexpr (std::tuple_size_v<std::remove_cvref_t<Tuple>> > 1)
    state.value.emplace(std::forward<Tuple>(values));
}

template <class Traits, class Functor, class Value, class... Results>
struct ReduceBody {
  static constexpr BodyTraits traits{
      .pattern = "parallel_reduce",
      .has_functor = true,
      .launches_only = launches_the_same<typename Traits::policy_type, Functor>};
  using Space = typename Traits::execution_space;
  static constexpr bool uses_slot = reduces_into_slot<Space, Results...>;
  using InSlot = typename SlotReductionOf<Space, Results...>::type;
  Functor functor;
  typename Traits::Range range;
  std::tuple<Results...> results;
  ResultPtr<Value> result;
  [[no_unique_address]] typename InSlot::Slot slot{};

  void run(void* instance, Label const& label) {
    auto const here = Traits::on(range, *static_cast<Space const*>(instance));
    auto const& policy = launched(here);
    if constexpr (uses_slot) {
      InSlot::run(label, policy, functor, results, slot);
    } else if constexpr (sizeof...(Results) == 1) {
      LiveResult<Results...> live{std::get<0>(results)};
      Kokkos::parallel_reduce(kernel_name(label), policy, functor, live.kokkos());
      result->value.emplace(live.take());
    } else {
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
  }
  void finish()
    requires uses_slot
  {
    keep_values(*result, InSlot::future_values(slot.value()));
  }
};
/// The body of a reduction whose results all go into Views.
template <class Traits, class Functor, class... Results>
struct ReduceBody<Traits, Functor, void, Results...> {
  static constexpr BodyTraits traits{
      .pattern = "parallel_reduce",
      .has_functor = true,
      .launches_only = launches_the_same<typename Traits::policy_type, Functor>};
  using Space = typename Traits::execution_space;
  using InSlot = typename SlotReductionOf<Space, Results...>::type;
  Functor functor;
  typename Traits::Range range;
  std::tuple<Results...> results;
  [[no_unique_address]] typename InSlot::Slot slot{};

  void run(void* instance, Label const& label) {
    auto const here = Traits::on(range, *static_cast<Space const*>(instance));
    auto const& policy = launched(here);
    if constexpr (reduces_into_slot<Space, Results...>) {
      InSlot::run(label, policy, functor, results, slot);
    } else if constexpr (sizeof...(Results) == 1) {
      require_room_late(label, functor, std::get<0>(results));
      auto&& result = kokkos_result<Space>(std::get<0>(results));
      Kokkos::parallel_reduce(kernel_name(label), policy, functor, without_wait(result));
    } else {
      std::apply(
          [&](auto const&... result) {
            Kokkos::parallel_reduce(kernel_name(label), policy, functor,
                                    kokkos_result<Space>(result)...);
          },
          results);
    }
  }
};

/// Submits a reduction. `Own` is the functor's member type `value_type`, or void.
template <class Traits, class Call, class Own, class Policy, class Functor, class First,
          class... Rest>
auto submit_reduction(Label&& label, Policy const& policy, Functor&& functor, First const& first,
                      Rest const&... rest) {
  using Value = typename FutureValueOf<
      typename Concat<ReducedValues<First>, ReducedValues<Rest>...>::type>::type;
  constexpr bool one = sizeof...(Rest) == 0;
  using Bound =
      std::conditional_t<std::is_array_v<Own>, Own,
                         std::conditional_t<one, typename ResultTraits<First>::value_type, void>>;

  require_valid<Traits>(label, policy);
  require_lasting(label, first);
  (require_lasting(label, rest), ...);
  if constexpr (std::is_array_v<Own> && Kokkos::is_view_v<First>)
    require_room(label, functor, first);
  auto const prepared = [&] {
    return prepare_functor<Bound, Call, Traits>(std::forward<Functor>(functor), policy);
  };
  using Body = ReduceBody<Traits, decltype(prepared()), Value, StoredResultOf<First>,
                          StoredResultOf<Rest>...>;
  auto const stored = [&] {
    return std::tuple<StoredResultOf<First>, StoredResultOf<Rest>...>(
        StoredResult<First>::of(first), StoredResult<Rest>::of(rest)...);
  };

  auto const submit = [&](auto const& make) {
    return std::apply(
        [&](auto const&... access) {
          return submit_made<typename Traits::execution_space>(std::move(label), policy, make,
                                                               nullptr, access...);
        },
        std::tuple_cat(result_access(first), result_access(rest)...));
  };
  if constexpr (std::is_void_v<Value>) {
    return FutureInternals::make(
        submit([&] { return Body{prepared(), Traits::keep(policy.base()), stored()}; }));
  } else {
    auto result = ResultPtr<Value>::make();
    TaskHandle const handle = submit([&] {
      return Body{prepared(), Traits::keep(policy.base()), stored(), std::move(result[0])};
    });
    return FutureInternals::make(handle, std::move(result[1]));
  }
}

}  // namespace Impl

/// Submits a task that runs `Kokkos::parallel_reduce` as soon as its accesses allow; returns at
/// once. The functor is called as in `parallel_for`, with references to the values to reduce into
/// as its last arguments.
///
/// `results` are Views of rank 0 and Kokkos reducers made on Views (both count as `write`
/// accesses), or `reduced<Reducer>`. The value of the latter comes with the returned Future: a
/// `Future<T>` for one such result, a `Future<std::tuple<...>>` for several. Fields of a model and
/// parts of fields are results, too: of rank 0 like Views, or with a reducer as
/// `reduced<Reducer>(field)`.
///
/// A functor with a member type `value_type = T[]` and a member `value_count` reduces into an array
/// of that many values; its last argument is `T*`. Its result is one contiguous View, or field, of
/// rank 1 with room for them.
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
  using Own = typename Impl::OwnValue<std::remove_cvref_t<Functor>>::type;
  constexpr bool is_array = std::is_array_v<Own>;
  constexpr bool are_ranks_right = !are_results || (Impl::has_right_rank<is_array, First>() &&
                                                    ... && Impl::has_right_rank<is_array, Rest>());
  static_assert(is_array || are_ranks_right,
                "Trellis: parallel_reduce writes into a View of rank 0");
  static_assert(!is_array || (are_ranks_right && sizeof...(Rest) == 0),
                "Trellis: a functor with value_type = T[] is reduced into one View of rank 1, or "
                "into the Future");
  static_assert(
      sizeof...(Rest) == 0 || !(Impl::HasFinal<First>::value || ... || Impl::HasFinal<Rest>::value),
      "Trellis: Kokkos calls the final of a reducer only if there is no other result");
  constexpr bool are_whole =
      Impl::is_whole_result_v<First> && (Impl::is_whole_result_v<Rest> && ...);
  if constexpr (!Impl::has_range_v<Base> || !are_results || !are_whole || !are_ranks_right ||
                (is_array && sizeof...(Rest) > 0)) {
    return Impl::Refused();
  } else {
    using Traits = Impl::PolicyTraits<Base, typename Impl::TargetSpace<Annotations...>::type>;
    using Values =
        std::conditional_t<is_array,
                           Impl::TypeList<typename Impl::ResultTraits<First>::value_type*>,
                           Impl::TypeList<typename Impl::ResultTraits<First>::value_type&,
                                          typename Impl::ResultTraits<Rest>::value_type&...>>;
    using Call = Impl::FunctorCall<Traits, Values, Functor, Annotations...>;
    if constexpr (!Call::Check::holds())
      return Impl::Refused();
    else
      return Impl::submit_reduction<Traits, Call, Own>(
          std::move(label), policy, std::forward<Functor>(functor), first, rest...);
  }
}

/// Reduces to the sum, or to what the functor's own `init`, `join` and `final` compute, and returns
/// a `Future<T>`; T is the type of the functor's last argument, or its member type `value_type`. A
/// functor with `value_type = T[]` gives a `Future<std::vector<T>>`.
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
    using Values = Impl::TypeList<typename Impl::ReducedInto<T>::type>;
    using Call = Impl::FunctorCall<Traits, Values, Functor, Annotations...>;
    if constexpr (!Call::Check::holds()) {
      return Impl::Refused();
    } else {
      auto const result = Impl::ReducedByFunctor<T>::of(functor);
      return Impl::submit_reduction<Traits, Call, T>(std::move(label), policy,
                                                     std::forward<Functor>(functor), result);
    }
  }
}

/// Submits a task without a label: it is named by the file and line where its policy was made.
template <class Base, class... Annotations, class Functor, class... Results>
auto parallel_reduce(ResourcePolicy<Base, Annotations...> const& policy, Functor&& functor,
                     Results const&... results) {
  return parallel_reduce(Label::of(policy.target().site()), policy, std::forward<Functor>(functor),
                         results...);
}

}  // namespace trellis

#endif
