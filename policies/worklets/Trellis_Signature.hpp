// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_SIGNATURE_HPP
#define TRELLIS_SIGNATURE_HPP

#include <Trellis_Access.hpp>
#include <annotations/impl/Trellis_BoundFunctor.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

/// This header has the words of the two signatures of a worklet, and reads the signatures.
///
///     using ControlSignature   = void(Topology, Field(Point), Field(Out));
///     using ExecutionSignature = _3(Vertices(_1), _2);
///
/// The *control signature* has a parameter for each argument of the call: its concept (`Field`,
/// `Topology`, ...) and, in parentheses, in any order, its access, its domain, and words of your
/// own. The default access is `In`; the default domain is that of the worklet's kind. The
/// *execution signature* says what the worklet's call operator takes, and which parameter its value
/// goes to. `_N` is the N-th parameter, and labels (`Vertices(_1)`, `WorkIndex`) are made from
/// parameters. An `_N` may occur more than once. Without an execution signature the call operator
/// takes all parameters, in order.
///
/// All words are types in namespace `trellis::worklets`. The kinds of worklets (see
/// Trellis_Worklet.hpp) have them as members, so that a worklet need not qualify them.
namespace trellis::worklets {

// --- concepts

/// A value for each item of a domain: a View, a number, a field of a model, ...
struct Field {};
/// Cells, each with its points: a grid, or a list of cells.
struct Topology {};
/// For kinds that generate: how many items each item of the domain generates; one in a signature.
struct Counts {};
/// A whole array: the worklet may access any item.
struct Whole {};
/// Items with keys, grouped by them (`ReduceByKey`); one in a signature.
struct Keys {};

// --- accesses

namespace Impl {
/// Says how a worklet touches an item.
struct Access {};
}  // namespace Impl

/// The worklet reads the item: `read`.
struct In : Impl::Access {};
/// The worklet overwrites the item, and does not see its old value: `write`.
struct Out : Impl::Access {};
/// The worklet changes the item: `read_write`.
struct InOut : Impl::Access {};
/// The worklet's value is added to the item, atomically: `atomic_add`.
struct AtomicAdd : Impl::Access {};
/// The worklet's value is multiplied into the item, atomically: `atomic_mul`.
struct AtomicMul : Impl::Access {};

// --- domains

/// A worklet runs over the items of a domain.
struct Domain {};
/// The items over which a field map runs, of any kind.
struct Item : Domain {
  static constexpr char const* name = "items";
};
struct Point : Domain {
  static constexpr char const* name = "points";
};
struct Cell : Domain {
  static constexpr char const* name = "cells";
};

namespace Impl {
/// The different keys of a `ReduceByKey`.
struct Key : Domain {
  static constexpr char const* name = "keys";
};
}  // namespace Impl

/// The values that belong to the keys: the worklet gets those of its key. (A concept with a default
/// domain of its own names it.)
struct Values {
  using domain = Item;
};

// --- the execution signature

/// The N-th parameter of the control signature, from 1 on.
template <int N>
struct Argument {
  static_assert(N > 0, "Trellis: the parameters of a ControlSignature are numbered from 1 on");
};
/// The points of the worklet's cell, by number. If the parameter is `Out`, the worklet sets the
/// points of a new cell.
struct Vertices {};
/// The number of the item that the worklet is called for: a `std::int64_t`.
struct WorkIndex {};
/// The item's indices in each direction, as `Kokkos::Array<std::int64_t, D>`, on a uniform grid of
/// D dimensions; elsewhere D is 1.
struct GridIndex {};
/// For kinds that generate: the number of the source item. (`WorkIndex` is that of the new item.)
struct SourceIndex {};
/// For kinds that generate: the number of the new item among those of its source, from 0 on.
struct VisitIndex {};

/// Has the words of a signature as members.
struct Words {
  using Field = worklets::Field;
  using Topology = worklets::Topology;
  using Counts = worklets::Counts;
  using Whole = worklets::Whole;
  using Keys = worklets::Keys;
  using Values = worklets::Values;
  using In = worklets::In;
  using Out = worklets::Out;
  using InOut = worklets::InOut;
  using AtomicAdd = worklets::AtomicAdd;
  using AtomicMul = worklets::AtomicMul;
  using Item = worklets::Item;
  using Point = worklets::Point;
  using Cell = worklets::Cell;
  using Key = worklets::Impl::Key;
  using Vertices = worklets::Vertices;
  using WorkIndex = worklets::WorkIndex;
  using GridIndex = worklets::GridIndex;
  using SourceIndex = worklets::SourceIndex;
  using VisitIndex = worklets::VisitIndex;
  template <int N>
  using Argument = worklets::Argument<N>;
  using _1 = Argument<1>;
  using _2 = Argument<2>;
  using _3 = Argument<3>;
  using _4 = Argument<4>;
  using _5 = Argument<5>;
  using _6 = Argument<6>;
  using _7 = Argument<7>;
  using _8 = Argument<8>;
  using _9 = Argument<9>;
  using _10 = Argument<10>;
  using _11 = Argument<11>;
  using _12 = Argument<12>;
};

/// A parameter of a control signature. `Rest` are words that are neither accesses nor domains.
template <class Concept_, class Access_, class Domain_, class... Rest>
struct Parameter {
  using concept_type = Concept_;
  using access_type = Access_;
  using domain_type = Domain_;
  static constexpr bool is_atomic =
      std::is_same_v<Access_, AtomicAdd> || std::is_same_v<Access_, AtomicMul>;
  /// True if the worklet sees the old value.
  static constexpr bool reads = std::is_same_v<Access_, In> || std::is_same_v<Access_, InOut>;
  static constexpr bool writes = !std::is_same_v<Access_, In>;
  static constexpr Mode mode = std::is_same_v<Access_, In>          ? Mode::read
                               : std::is_same_v<Access_, Out>       ? Mode::write
                               : std::is_same_v<Access_, InOut>     ? Mode::read_write
                               : std::is_same_v<Access_, AtomicMul> ? Mode::atomic_mul
                                                                    : Mode::atomic_add;
  /// The mode for `access(view, Parameter::how)`.
  static constexpr std::integral_constant<Mode, mode> how{};
};

namespace Impl {

using trellis::Impl::TypeList;

template <class Word>
inline constexpr bool is_access_word = std::is_base_of_v<Access, Word>;
template <class Word>
inline constexpr bool is_domain_word = std::is_base_of_v<Domain, Word>;

/// Gives the one among these words for which `Is` holds, or the default.
template <template <class> class Is, class Default, class... Words>
struct WordAmong {
  using type = Default;
};
template <template <class> class Is, class Default, class First, class... Rest>
struct WordAmong<Is, Default, First, Rest...>
    : std::conditional_t<Is<First>::value, std::type_identity<First>,
                         WordAmong<Is, Default, Rest...>> {};
template <class Word>
struct IsAccessWord : std::bool_constant<is_access_word<Word>> {};
template <class Word>
struct IsDomainWord : std::bool_constant<is_domain_word<Word>> {};

template <class Concept_, class Access_, class Domain_, class Done, class... Words>
struct WithRest;
template <class C, class A, class D, class... Done>
struct WithRest<C, A, D, TypeList<Done...>> {
  using type = Parameter<C, A, D, Done...>;
};
template <class C, class A, class D, class... Done, class First, class... Words>
struct WithRest<C, A, D, TypeList<Done...>, First, Words...>
    : WithRest<C, A, D,
               std::conditional_t<is_access_word<First> || is_domain_word<First>, TypeList<Done...>,
                                  TypeList<Done..., First>>,
               Words...> {};

/// Gives the domain of a parameter that names none: that of its concept, or of the worklet's kind.
template <class Concept_, class OfKind>
struct DefaultDomain : std::type_identity<OfKind> {};
template <class Concept_, class OfKind>
  requires requires { typename Concept_::domain; }
struct DefaultDomain<Concept_, OfKind> : std::type_identity<typename Concept_::domain> {};

/// Gives the parameter for a word of a control signature: `Field`, or `Field(Out, Point)`, which a
/// function type turns into a pointer.
template <class Word, class Default>
struct ParameterOf {
  using type = Parameter<Word, In, typename DefaultDomain<Word, Default>::type>;
};
template <class C, class... Words, class Default>
struct ParameterOf<C (*)(Words...), Default> {
  static constexpr int accesses = (int{is_access_word<Words>} + ... + 0);
  static constexpr int domains = (int{is_domain_word<Words>} + ... + 0);
  static_assert(accesses <= 1 && domains <= 1,
                "Trellis: a parameter of a ControlSignature has one access and one domain at most");
  using A = typename WordAmong<IsAccessWord, In, Words...>::type;
  using D =
      typename WordAmong<IsDomainWord, typename DefaultDomain<C, Default>::type, Words...>::type;
  using type = typename WithRest<C, A, D, TypeList<>, Words...>::type;
};

template <class Signature, class Default>
struct ParametersOf;
template <class... Words, class Default>
struct ParametersOf<void(Words...), Default> {
  using type = TypeList<typename ParameterOf<Words, Default>::type...>;
};

template <class List>
inline constexpr std::size_t length_of = 0;
template <class... T>
inline constexpr std::size_t length_of<TypeList<T...>> = sizeof...(T);

template <std::size_t k, class List>
struct At;
template <std::size_t k, class First, class... Rest>
struct At<k, TypeList<First, Rest...>> : At<k - 1, TypeList<Rest...>> {};
template <class First, class... Rest>
struct At<0, TypeList<First, Rest...>> : std::type_identity<First> {};

template <class Word>
inline constexpr int number_of = 0;
template <int N>
inline constexpr int number_of<Argument<N>> = N;
/// The largest number that a word of an execution signature names.
template <class Word>
inline constexpr int largest_number = number_of<Word>;
template <class Label, class... Of>
inline constexpr int largest_number<Label (*)(Of...)> = [] {
  int largest = 0;
  ((largest = largest_number<Of> > largest ? largest_number<Of> : largest), ...);
  return largest;
}();

/// Reads an execution signature. `result` is the number of the parameter that the value goes to; 0
/// means none.
template <class Signature>
struct ExecutionOf;
template <class Result, class... Words>
struct ExecutionOf<Result(Words...)> {
  using words = TypeList<Words...>;
  static constexpr int result = number_of<Result>;
  static constexpr bool result_is_known = std::is_void_v<Result> || result > 0;
  static constexpr int largest = [] {
    int most = result;
    ((most = largest_number<Words> > most ? largest_number<Words> : most), ...);
    return most;
  }();
  /// Says how often the call operator takes the parameter itself.
  template <int N>
  static constexpr int taken = (int{number_of<Words> == N} + ... + 0);
};

/// The signature `void(_1, _2, ...)`.
template <class Numbers>
struct AllArguments;
template <std::size_t... k>
struct AllArguments<std::index_sequence<k...>> {
  using type = void(Argument<static_cast<int>(k) + 1>...);
};
template <class Worklet, std::size_t count>
struct ExecutionSignatureOf : AllArguments<std::make_index_sequence<count>> {};
template <class Worklet, std::size_t count>
  requires requires { typename Worklet::ExecutionSignature; }
struct ExecutionSignatureOf<Worklet, count> {
  using type = typename Worklet::ExecutionSignature;
};

}  // namespace Impl
}  // namespace trellis::worklets

#endif
