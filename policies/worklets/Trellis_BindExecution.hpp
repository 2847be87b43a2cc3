// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_BINDEXECUTION_HPP
#define TRELLIS_BINDEXECUTION_HPP

#include <worklets/Trellis_ExecArguments.hpp>
#include <worklets/Trellis_Signature.hpp>
#include <worklets/Trellis_WorkItem.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

/// With this header you define words of an execution signature. Specialise `BindExecution` in
/// namespace `trellis`; a word with arguments is a pointer to a function there:
///
///     struct Distance {};                            // Distance(_1, _2) in a signature
///
///     template <int N, int M, class Bindings>
///     struct trellis::BindExecution<
///         Distance (*)(trellis::worklets::Argument<N>, trellis::worklets::Argument<M>),
///         Bindings> {
///       template <class Item>
///       static KOKKOS_FUNCTION double load(Bindings const& bindings, Item const& item) {
///         auto const& a = bindings.template get<N>();  // the execution arguments
///         auto const& b = bindings.template get<M>();
///         return distance(a.load(bindings.template item<N>(item)),
///                         b.load(bindings.template item<M>(item)));
///       }
///     };
///
/// `load` returns what the worklet gets. A word for an output of the worklet has instead
/// `start(bindings, item)`, whose result the worklet gets as an lvalue, and `save(bindings, item,
/// value)`. A word for both has `load` and `save`. They can use all bindings, not only those that
/// the word names. The item is a `worklets::WorkItem<rank>`; in kinds that generate it has the two
/// items `source` and `target`, and `visit`.
namespace trellis {

/// Says what a word of an execution signature stands for; see above.
template <class Word, class Bindings>
struct BindExecution {
  using is_not_bound = void;
};

namespace worklets {

namespace Impl {

/// Has all execution arguments of a worklet for one item.
template <class Kind, class Parameters, class Execs>
struct ExecBindings {
  using kind = Kind;
  template <int N>
  using parameter = typename At<static_cast<std::size_t>(N) - 1, Parameters>::type;
  Execs execs;

  /// Returns the execution argument of the N-th parameter, from 1 on.
  template <int N>
  KOKKOS_FUNCTION auto const& get() const {
    return std::get<N - 1>(execs);
  }
  /// Returns the item of the N-th parameter. (A worklet that generates reads an old item and writes
  /// a new one.)
  template <int N, int rank>
  static KOKKOS_FUNCTION WorkItem<rank> const& item(WorkItem<rank> const& item) {
    return item;
  }
  template <int N, int rank>
  static KOKKOS_FUNCTION auto const& item(GeneratedItem<rank> const& item) {
    if constexpr (std::is_same_v<typename parameter<N>::access_type, Out>)
      return item.target;
    else
      return item.source;
  }
  /// Returns the number of the first parameter of this concept that is `In`; 0 if there is none.
  template <class Concept>
  static consteval int find() {
    return []<class... P>(std::type_identity<TypeList<P...>>) {
      int number = 0;
      int at = 0;
      ((++at, number == 0 && std::is_same_v<typename P::concept_type, Concept> &&
                      std::is_same_v<typename P::access_type, In>
                  ? static_cast<void>(number = at)
                  : static_cast<void>(0)),
       ...);
      return number;
    }(std::type_identity<Parameters>());
  }
  /// The number of the parameter with the cells that the worklet runs over.
  static constexpr int topology = find<Topology>();
};

/// True if it is a word of an execution signature.
template <class Word, class Bindings>
inline constexpr bool is_word_v =
    !requires { typename BindExecution<Word, Bindings>::is_not_bound; };

/// True if a worklet of this kind gets the parameter's values at the points of its cell.
template <class Kind, class P>
inline constexpr bool is_at_points =
    std::is_same_v<typename Kind::domain, Cell> && std::is_same_v<typename P::domain_type, Point> &&
    std::is_same_v<typename P::concept_type, Field>;

template <class E, class Item>
KOKKOS_INLINE_FUNCTION auto start_of(E const& e, Item const& item) {
  if constexpr (requires { e.start(item); })
    return e.start(item);
  else
    return typename E::value_type{};
}

}  // namespace Impl
}  // namespace worklets

/// Binds the parameter itself: its value, or its values at the points of the cell.
template <int N, class Bindings>
struct BindExecution<worklets::Argument<N>, Bindings> {
  using P = typename Bindings::template parameter<N>;
  static constexpr bool at_points = worklets::Impl::is_at_points<typename Bindings::kind, P>;
  static_assert(
      !at_points || Bindings::topology > 0,
      "Trellis: a worklet that takes the values at the points of a cell needs a Topology");

  template <class Item>
  static KOKKOS_FUNCTION decltype(auto) load(Bindings const& bindings, Item const& item)
    requires(P::reads)
  {
    auto const& exec = bindings.template get<N>();
    if constexpr (at_points) {
      auto const vertices = vertices_in(bindings, item);
      return worklets::Impl::CellPoints<std::remove_cvref_t<decltype(exec)>,
                                        std::remove_const_t<decltype(vertices)>>(exec, vertices);
    } else {
      return exec.load(Bindings::template item<N>(item));
    }
  }
  template <class Item>
  static KOKKOS_FUNCTION auto start(Bindings const& bindings, Item const& item)
    requires(!P::reads)
  {
    auto const& exec = bindings.template get<N>();
    if constexpr (at_points) {
      auto const& cells = bindings.template get<Bindings::topology>();
      auto const vertices = vertices_in(bindings, item);
      using Value = std::remove_cvref_t<decltype(worklets::Impl::start_of(exec, vertices.item(0)))>;
      worklets::Impl::PointContributions<Value, std::remove_cvref_t<decltype(cells)>::most_points>
          all;
      all.count = vertices.size();
      for (int k = 0; k < all.count; ++k) all[k] = worklets::Impl::start_of(exec, vertices.item(k));
      return all;
    } else {
      return worklets::Impl::start_of(exec, Bindings::template item<N>(item));
    }
  }
  template <class Item, class T>
  static KOKKOS_FUNCTION void save(Bindings const& bindings, Item const& item, T const& value)
    requires(P::writes)
  {
    auto const& exec = bindings.template get<N>();
    if constexpr (at_points) {
      auto const vertices = vertices_in(bindings, item);
      for (int k = 0; k < vertices.size(); ++k) exec.save(vertices.item(k), value[k]);
    } else {
      exec.save(Bindings::template item<N>(item), value);
    }
  }

 private:
  template <class Item>
  static KOKKOS_FUNCTION auto vertices_in(Bindings const& bindings, Item const& item) {
    constexpr int cells = Bindings::topology;
    return bindings.template get<cells>().vertices(Bindings::template item<cells>(item));
  }
};

/// Binds the points of the cell, or of the new cell.
template <int N, class Bindings>
struct BindExecution<worklets::Vertices (*)(worklets::Argument<N>), Bindings> {
  using P = typename Bindings::template parameter<N>;
  static_assert(std::is_same_v<typename P::concept_type, worklets::Topology>,
                "Trellis: Vertices(_N) are those of a Topology");
  template <class Item>
  static KOKKOS_FUNCTION auto load(Bindings const& bindings, Item const& item)
    requires(P::reads)
  {
    return bindings.template get<N>().vertices(Bindings::template item<N>(item));
  }
  template <class Item>
  static KOKKOS_FUNCTION auto start(Bindings const& bindings, Item const& item)
    requires(!P::reads)
  {
    return bindings.template get<N>().start(Bindings::template item<N>(item));
  }
  template <class Item, class T>
  static KOKKOS_FUNCTION void save(Bindings const& bindings, Item const& item, T const& value)
    requires(P::writes)
  {
    bindings.template get<N>().save(Bindings::template item<N>(item), value);
  }
};

template <class Bindings>
struct BindExecution<worklets::WorkIndex, Bindings> {
  template <int rank>
  static KOKKOS_FUNCTION std::int64_t load(Bindings const&, worklets::WorkItem<rank> const& item) {
    return item.flat;
  }
  template <int rank>
  static KOKKOS_FUNCTION std::int64_t load(Bindings const&,
                                           worklets::Impl::GeneratedItem<rank> const& item) {
    return item.target.flat;
  }
};
template <class Bindings>
struct BindExecution<worklets::GridIndex, Bindings> {
  template <int rank>
  static KOKKOS_FUNCTION auto load(Bindings const&, worklets::WorkItem<rank> const& item) {
    if constexpr (rank == 1)
      return Kokkos::Array<std::int64_t, 1>{item.flat};
    else
      return item.at;
  }
  template <int rank>
  static KOKKOS_FUNCTION auto load(Bindings const& bindings,
                                   worklets::Impl::GeneratedItem<rank> const& item) {
    return load(bindings, item.source);
  }
};
template <class Bindings>
struct BindExecution<worklets::SourceIndex, Bindings> {
  template <int rank>
  static KOKKOS_FUNCTION std::int64_t load(Bindings const&,
                                           worklets::Impl::GeneratedItem<rank> const& item) {
    return item.source.flat;
  }
};
template <class Bindings>
struct BindExecution<worklets::VisitIndex, Bindings> {
  template <int rank>
  static KOKKOS_FUNCTION std::int64_t load(Bindings const&,
                                           worklets::Impl::GeneratedItem<rank> const& item) {
    return item.visit;
  }
};

}  // namespace trellis

#endif
