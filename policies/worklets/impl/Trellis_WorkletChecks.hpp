// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_WORKLETCHECKS_HPP
#define TRELLIS_IMPL_WORKLETCHECKS_HPP

#include <annotations/impl/Trellis_WrongCalls.hpp>
#include <worklets/Trellis_BindArgument.hpp>
#include <worklets/Trellis_BindExecution.hpp>
#include <worklets/Trellis_Signature.hpp>
#include <worklets/impl/Trellis_WorkletFunctor.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

/// This header has the requirements for a call of a worklet, each with an error sentence. A check
/// names the class that reports the mistake, and `invoke` uses that class directly, so that the
/// compiler's message has few lines of context.
namespace trellis::worklets::Impl {

/// The call has no mistake.
struct CallFits {
  static constexpr bool holds() { return true; }
};

template <class Worklet>
struct MustBeAWorklet {
  static constexpr bool holds() {
    static_assert(
        trellis::Impl::never<Worklet>,
        "Trellis: a worklet derives from its kind (trellis::MapFields, MapCells, ...) and "
        "has a ControlSignature, such as void(Field, Field(Out))");
    return false;
  }
};
template <std::size_t given, std::size_t expected>
struct MustTakeArguments {
  static constexpr bool holds() {
    static_assert(given == expected,
                  "Trellis: behind the worklet come as many arguments as its ControlSignature has "
                  "parameters, see MustTakeArguments<given, expected> above");
    return given == expected;
  }
};
template <class Parameter, class Argument>
struct MustBeBound {
  static constexpr bool holds() {
    static_assert(trellis::Impl::never<Parameter>,
                  "Trellis: an argument of this type cannot be bound to this parameter of the "
                  "ControlSignature, see MustBeBound<Parameter, Argument> above (BindArgument says "
                  "what can)");
    return false;
  }
};
/// Cells share points, so a cell cannot overwrite them.
template <class Parameter>
struct MustNotWritePoints {
  static constexpr bool holds() {
    static_assert(
        trellis::Impl::never<Parameter>,
        "Trellis: cells share points, so a worklet over cells cannot write a point field: "
        "Field(AtomicAdd, Point) adds to it");
    return false;
  }
};
template <class Kind>
struct MustHaveItems {
  static constexpr bool holds() {
    static_assert(trellis::Impl::never<Kind>,
                  "Trellis: no parameter of the ControlSignature belongs to the domain that the "
                  "worklet runs over, so nothing says how often it runs");
    return false;
  }
};
template <class Kind>
struct MustHaveCounts {
  static constexpr bool holds() {
    static_assert(
        trellis::Impl::never<Kind>,
        "Trellis: a worklet that generates has one parameter that is Counts: how many new "
        "items come of each");
    return false;
  }
};
template <class Parameter, class Argument>
struct MustBeAllocatedByTasks {
  static constexpr bool holds() {
    static_assert(
        trellis::Impl::never<Parameter>,
        "Trellis: nobody knows yet how many items a worklet generates: what it gives goes "
        "into arrays that tasks allocate, LateView and LateCells");
    return false;
  }
};
template <class Worklet>
struct MustNameParameters {
  static constexpr bool holds() {
    static_assert(
        trellis::Impl::never<Worklet>,
        "Trellis: an ExecutionSignature names parameters of the ControlSignature, from _1 "
        "on, and returns void or one of them");
    return false;
  }
};
template <class Parameter>
struct MustGiveItsResult {
  static constexpr bool holds() {
    static_assert(
        trellis::Impl::never<Parameter>,
        "Trellis: the worklet's value goes to a parameter that is In: say Field(Out) in the "
        "ControlSignature");
    return false;
  }
};
template <class Word>
struct MustBeAWord {
  static constexpr bool holds() {
    static_assert(
        trellis::Impl::never<Word>,
        "Trellis: BindExecution does not say what this word of the ExecutionSignature is, "
        "see MustBeAWord<Word> above");
    return false;
  }
};
template <class Parameter, class Exec>
struct MustBeAnExecArgument {
  static constexpr bool holds() {
    static_assert(trellis::Impl::never<Parameter>,
                  "Trellis: the execution argument of a parameter that is In or InOut has "
                  "load(item), and that of one that is only given has none, see "
                  "MustBeAnExecArgument<Parameter, Exec> above");
    return false;
  }
};
template <class Signature>
struct WorkletMustTake {
  static constexpr bool holds() {
    static_assert(trellis::Impl::never<Signature>,
                  "Trellis: the worklet's call operator must take what stands in "
                  "WorkletMustTake<...> above, and must be const");
    return false;
  }
};
template <class Worklet>
struct MustOnlyRead {
  static constexpr bool holds() {
    static_assert(
        trellis::Impl::never<Worklet>,
        "Trellis: the worklet's call operator takes a parameter that is In by a reference "
        "to what is not const; it can only be read");
    return false;
  }
};
template <class Worklet>
struct MustOnlyWrite {
  static constexpr bool holds() {
    static_assert(
        trellis::Impl::never<Worklet>,
        "Trellis: the worklet's call operator takes a parameter that it gives by value or "
        "as const; what is Out is taken as T&, or returned");
    return false;
  }
};
template <class Worklet>
struct MustReturnAValue {
  static constexpr bool holds() {
    static_assert(
        trellis::Impl::never<Worklet>,
        "Trellis: the ExecutionSignature says which parameter the worklet's value goes to, "
        "but its call operator returns void");
    return false;
  }
};

/// Checks the call operator with the types that it gets.
template <class Worklet, int result, class Bindings, class Item, class... Words>
struct CallOf {
  template <class Word>
  using T = Taken<Word, Bindings, Item, result>;
  template <class Word>
  using Value = std::remove_cvref_t<typename T<Word>::Held>;
  static constexpr bool is_callable =
      std::is_invocable_v<Worklet const&, typename T<Words>::Passed...>;
  /// True if the call operator takes a temporary for the output of this word.
  template <class Which>
  static constexpr bool takes_temporary =
      !T<Which>::loads &&
      std::is_invocable_v<Worklet const&,
                          std::conditional_t<std::is_same_v<Words, Which>,
                                             std::remove_reference_t<typename T<Words>::Passed>&&,
                                             typename T<Words>::Passed>...>;
  /// True if the call operator takes an output by value or as const, as then it takes a temporary.
  static constexpr bool reads_what_it_gives = [] {
    if constexpr (is_callable && (T<Words>::saves || ...))
      return (... || (T<Words>::saves && takes_temporary<Words>));
    else
      return false;
  }();
  static constexpr bool writes_what_it_reads =
      !is_callable && std::is_invocable_v<Worklet const&, Value<Words>&...>;
  static constexpr bool returns_value = [] {
    if constexpr (is_callable && result > 0)
      return !std::is_void_v<std::invoke_result_t<Worklet const&, typename T<Words>::Passed...>>;
    else
      return true;
  }();
};
template <class T>
struct PlainType
    : std::conditional<std::is_const_v<std::remove_reference_t<T>>, std::remove_cvref_t<T>, T> {};

}  // namespace trellis::worklets::Impl

#endif
