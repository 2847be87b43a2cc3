// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_CALLCHECK_HPP
#define TRELLIS_IMPL_CALLCHECK_HPP

#include <worklets/impl/Trellis_ControlBindings.hpp>
#include <worklets/impl/Trellis_WorkletChecks.hpp>
#include <worklets/impl/Trellis_WorkletFunctor.hpp>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

/// This header finds the first mistake in the types of a call, in the order in which a reader would
/// look.
namespace trellis::worklets::Impl {

/// Wraps the class that reports a mistake.
template <class Sentence>
using Says = std::type_identity<Sentence>;

/// Gives the first of these checks that fails.
template <class... Each>
struct FirstWrong : Says<CallFits> {};
template <class First, class... Rest>
struct FirstWrong<First, Rest...>
    : std::conditional_t<std::is_same_v<typename First::type, CallFits>, FirstWrong<Rest...>,
                         First> {};
template <bool holds, class Sentence>
using Holds = std::conditional_t<holds, Says<CallFits>, Says<Sentence>>;

/// True if the argument tells how many items the kind's domain has.
template <class P, class A, class Kind, int rank>
inline constexpr bool tells_items =
    (std::is_same_v<typename P::concept_type, Topology> ||
     std::is_same_v<typename P::domain_type, typename Kind::domain> ||
     std::is_same_v<typename Kind::domain, Item>) &&
    (counts_items<P, A, typename P::domain_type, rank> ||
     counts_late<P, A, typename P::domain_type, rank>);
template <class P, class Kind>
inline constexpr bool may_write = !is_at_points<Kind, P> || !P::writes || P::is_atomic;

template <class Parameters, class Execs, class Item>
struct WrongExec;
template <class... P, class... E, class Item>
struct WrongExec<TypeList<P...>, std::tuple<E...>, Item>
    : FirstWrong<Holds<ExecArgument<E, P, Item>, MustBeAnExecArgument<P, E>>...> {};

template <class Worklet, class Policy, class... Arguments>
struct CallCheck {
  template <class Kind, class Execution, class... P>
  static consteval auto find_parameter(TypeList<P...>) {
    constexpr int counts = (int{std::is_same_v<typename P::concept_type, Counts>} + ... + 0);
    constexpr int result = Execution::result;
    constexpr int rank = std::max({1, rank_of<P, Arguments>...});
    using Result =
        typename At<static_cast<std::size_t>(result > 0 ? result - 1 : 0), TypeList<P...>>::type;
    return Says<typename FirstWrong<
        Holds<is_bound_v<P, Arguments>, MustBeBound<P, Arguments>>...,
        Holds<(tells_items<P, Arguments, Kind, rank> || ...), MustHaveItems<Kind>>,
        Holds<may_write<P, Kind>, MustNotWritePoints<P>>...,
        Holds<!generates<Kind> || counts == 1, MustHaveCounts<Kind>>,
        Holds<!generates<Kind> || !std::is_same_v<typename P::access_type, Out> ||
                  is_allocated_by_task<P, Arguments>,
              MustBeAllocatedByTasks<P, Arguments>>...,
        Holds<result == 0 || Result::writes, MustGiveItsResult<Result>>>::type>();
  }
  template <class Execution, class Types, class Bindings, class... Words>
  static consteval auto find_in_operator() {
    constexpr int result = Execution::result;
    using Item = typename Types::item_type;
    using Call = CallOf<Worklet, result, Bindings, Item, Words...>;
    using Signature =
        void(typename PlainType<typename Taken<Words, Bindings, Item, result>::Passed>::type...);
    return Says<typename FirstWrong<Holds<!Call::writes_what_it_reads, MustOnlyRead<Worklet>>,
                                    Holds<Call::is_callable, WorkletMustTake<Signature>>,
                                    Holds<!Call::reads_what_it_gives, MustOnlyWrite<Worklet>>,
                                    Holds<Call::returns_value, MustReturnAValue<Worklet>>>::type>();
  }
  template <class Execution, class... Words>
  static consteval auto find_in_call(TypeList<Words...>) {
    using Types = CallTypes<Worklet, Policy, Arguments...>;
    constexpr auto lead = static_cast<std::size_t>(Types::rank);
    using Bindings = decltype(std::declval<typename Types::functor const&>().template bind<lead>(
        std::declval<typename Types::given_type const&>(), typename Types::all()));
    using Wrong = FirstWrong<
        Holds<is_word_v<Words, Bindings>, MustBeAWord<Words>>...,
        WrongExec<typename Types::parameters, decltype(Bindings::execs), WorkItem<Types::rank>>>;
    if constexpr (!std::is_same_v<typename Wrong::type, CallFits>)
      return Says<typename Wrong::type>();
    else
      return find_in_operator<Execution, Types, Bindings, Words...>();
  }
  static consteval auto find() {
    if constexpr (!requires {
                    typename Worklet::kind;
                    typename Worklet::kind::domain;
                    typename Worklet::ControlSignature;
                  }) {
      return Says<MustBeAWorklet<Worklet>>();
    } else {
      using Kind = typename Worklet::kind;
      using Parameters =
          typename ParametersOf<typename Worklet::ControlSignature, typename Kind::domain>::type;
      constexpr std::size_t count = length_of<Parameters>;
      using Execution = ExecutionOf<typename ExecutionSignatureOf<Worklet, count>::type>;
      if constexpr (sizeof...(Arguments) != count) {
        return Says<MustTakeArguments<sizeof...(Arguments), count>>();
      } else if constexpr (!Execution::result_is_known ||
                           Execution::largest > static_cast<int>(count)) {
        return Says<MustNameParameters<Worklet>>();
      } else {
        using Wrong = decltype(find_parameter<Kind, Execution>(Parameters()));
        if constexpr (!std::is_same_v<typename Wrong::type, CallFits>)
          return Wrong();
        else
          return find_in_call<Execution>(typename Execution::words());
      }
    }
  }
  using type = typename decltype(find())::type;
};

}  // namespace trellis::worklets::Impl

#endif
