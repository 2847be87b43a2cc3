// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_WORKLETFUNCTOR_HPP
#define TRELLIS_IMPL_WORKLETFUNCTOR_HPP

#include <worklets/Trellis_BindExecution.hpp>
#include <worklets/Trellis_Signature.hpp>
#include <worklets/Trellis_WorkItem.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

/// This header makes a worklet a functor. For an item the functor makes the execution arguments,
/// loads what the worklet takes, calls it, and saves its outputs. All of this is local to the call,
/// as threads share the functor.
namespace trellis::worklets::Impl {

/// Says how many Views an argument has, and where they begin among all.
template <std::size_t p, class Counts>
struct ViewsAt;
template <std::size_t p, std::size_t first, std::size_t... rest>
struct ViewsAt<p, std::index_sequence<first, rest...>> {
  static constexpr std::size_t begin = first + ViewsAt<p - 1, std::index_sequence<rest...>>::begin;
  static constexpr std::size_t count = ViewsAt<p - 1, std::index_sequence<rest...>>::count;
};
template <std::size_t first, std::size_t... rest>
struct ViewsAt<0, std::index_sequence<first, rest...>> {
  static constexpr std::size_t begin = 0;
  static constexpr std::size_t count = first;
};
template <>
struct ViewsAt<0, std::index_sequence<>> {
  static constexpr std::size_t begin = 0;
  static constexpr std::size_t count = 0;
};
template <std::size_t... counts>
constexpr std::size_t sum_of(std::index_sequence<counts...>) {
  return (counts + ... + 0);
}

/// Returns the execution argument: what the maker makes from the argument's Views, or the maker
/// itself.
template <class Maker, class... Views>
KOKKOS_INLINE_FUNCTION auto make_exec(Maker const& maker, Views const&... views) {
  if constexpr (std::is_invocable_v<Maker const&, Views const&...>)
    return maker(views...);
  else
    return maker;
}

/// Says how a worklet takes a word of its execution signature.
template <class Word, class Bindings, class Item, int result>
struct Taken {
  using Bind = BindExecution<Word, Bindings>;
  static constexpr bool loads =
      requires(Bindings const& bindings, Item const& item) { Bind::load(bindings, item); };
  static constexpr bool starts =
      requires(Bindings const& bindings, Item const& item) { Bind::start(bindings, item); };
  /// True if the value of the call goes to this parameter. Then it is not saved in a second way.
  static constexpr bool is_result = number_of<Word> == result && result > 0;
  static KOKKOS_FUNCTION decltype(auto) get(Bindings const& bindings, Item const& item) {
    if constexpr (loads)
      return Bind::load(bindings, item);
    else
      return Bind::start(bindings, item);
  }
  using Got = decltype(get(std::declval<Bindings const&>(), std::declval<Item const&>()));
  static constexpr bool saves = !is_result && requires(Bindings const& bindings, Item const& item,
                                                       std::remove_cvref_t<Got> const& value) {
    Bind::save(bindings, item, value);
  };
  /// The type that is kept during the call, and the type that the worklet gets.
  using Held = std::conditional_t<saves, std::remove_cvref_t<Got>, Got>;
  using Passed =
      std::conditional_t<saves, std::remove_cvref_t<Got>&, std::remove_reference_t<Got> const&>;
};

/// Calls the worklet for one item.
template <int result, class Worklet, class Bindings, class Item, class... Words>
KOKKOS_INLINE_FUNCTION void run_item(Worklet const& worklet, Bindings const& bindings,
                                     Item const& item, TypeList<Words...>) {
  using Values = std::tuple<typename Taken<Words, Bindings, Item, result>::Held...>;
  [[maybe_unused]] Values values{Taken<Words, Bindings, Item, result>::get(bindings, item)...};
  auto const call = [&]<std::size_t... k>(std::index_sequence<k...>) -> decltype(auto) {
    return worklet(
        static_cast<typename Taken<Words, Bindings, Item, result>::Passed>(std::get<k>(values))...);
  };
  auto const save = [&]<std::size_t k, class Word>(std::integral_constant<std::size_t, k>,
                                                   std::type_identity<Word>) {
    if constexpr (Taken<Word, Bindings, Item, result>::saves)
      BindExecution<Word, Bindings>::save(bindings, item, std::get<k>(values));
  };
  constexpr std::index_sequence_for<Words...> all;
  if constexpr (result > 0)
    BindExecution<Argument<result>, Bindings>::save(bindings, item, call(all));
  else
    call(all);
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    (save(std::integral_constant<std::size_t, k>(), std::type_identity<Words>()), ...);
  }(all);
}

/// The functor. `rank` is that of the grid; 1 means a list. `ViewCounts`, a `std::index_sequence`,
/// says how many Views each argument has. `Makers` make the execution arguments.
template <class Kind, class Worklet_, class Parameters, class Execution, int rank, class ViewCounts,
          class... Makers>
struct WorkletFunctor {
  Worklet_ worklet;
  std::tuple<Makers...> makers;
  Kokkos::Array<std::int64_t, static_cast<std::size_t>(rank)> extents;

  static constexpr std::size_t arguments = sizeof...(Makers);
  static constexpr std::size_t views = sum_of(ViewCounts());
  static constexpr std::size_t least = static_cast<std::size_t>(rank) + views;

  /// Is called with the item's indices and then the Views; those of the user's annotations follow.
  template <class... All>
    requires(sizeof...(All) >= least)
  KOKKOS_FUNCTION void operator()(All const&... all) const {
    std::tuple<All const&...> const given(all...);
    [&]<std::size_t... d>(std::index_sequence<d...>) {
      run<static_cast<std::size_t>(rank)>(make_item<rank>(extents, std::get<d>(given)...), given);
    }(std::make_index_sequence<static_cast<std::size_t>(rank)>());
  }
  /// Runs the worklet for one item. The Views begin in `given` after `lead` others.
  template <std::size_t lead, class Item, class Given>
  KOKKOS_FUNCTION void run(Item const& item, Given const& given) const {
    auto const bindings = bind<lead>(given, std::make_index_sequence<arguments>());
    run_item<Execution::result>(worklet, bindings, item, typename Execution::words());
  }

  template <std::size_t lead, class Given, std::size_t... p>
  KOKKOS_FUNCTION auto bind(Given const& given, std::index_sequence<p...>) const {
    using Execs = std::tuple<decltype(exec<lead, p>(given, Views<p>()))...>;
    return ExecBindings<Kind, Parameters, Execs>{Execs(exec<lead, p>(given, Views<p>())...)};
  }
  template <std::size_t p>
  using Views = std::make_index_sequence<ViewsAt<p, ViewCounts>::count>;
  template <std::size_t lead, std::size_t p, class Given, std::size_t... v>
  KOKKOS_FUNCTION auto exec(Given const& given, std::index_sequence<v...>) const {
    return make_exec(std::get<p>(makers),
                     std::get<lead + ViewsAt<p, ViewCounts>::begin + v>(given)...);
  }
};

/// A functor that takes the items of a grid as a list.
template <class Functor, int rank>
struct ByNumber {
  Functor functor;
  template <class... All>
  KOKKOS_FUNCTION void operator()(std::int64_t i, All const&... all) const {
    std::tuple<All const&...> const given(all...);
    functor.template run<0>(item_at<rank>(functor.extents, i), given);
  }
};

}  // namespace trellis::worklets::Impl

#endif
