// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_REDUCEBYKEY_HPP
#define TRELLIS_REDUCEBYKEY_HPP

#include <Trellis_Future.hpp>
#include <annotations/Trellis_LateView.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <patterns/Trellis_HostTask.hpp>
#include <worklets/Trellis_Invoke.hpp>
#include <worklets/Trellis_Worklet.hpp>
#include <worklets/impl/Trellis_Generation.hpp>

#include <Kokkos_Core.hpp>
#include <Kokkos_Sort.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

/// With this header a worklet reduces items that have the same key:
///
///     struct Sum : trellis::ReduceByKey {
///       using ControlSignature = void(Keys, Values, Field(Out));
///       using ExecutionSignature = _3(_2);
///       template <class Group>
///       KOKKOS_FUNCTION double operator()(Group const& of_key) const {
///         double sum = 0;
///         for (std::int64_t k = 0; k < of_key.size(); ++k) sum += of_key[k];
///         return sum;
///       }
///     };
///     auto const groups = trellis::group_by_key("group", trellis::ResourcePolicy(graph), keys);
///     trellis::LateView<double*> sums("sums");
///     trellis::invoke("sum", trellis::ResourcePolicy(graph), Sum(), groups, values, sums);
///
/// The worklet runs once for each different key. Keys are in their order. `_N` of the `Keys` is the
/// key; `_N` of `Values` has the values of its items, in the order of the items. Keys and values
/// may be arrays that tasks allocate, such as those that `GenerateFields` makes.
namespace trellis {

/// Runs for each different key.
struct ReduceByKey : worklets::Words {
  using kind = ReduceByKey;
  using domain = worklets::Impl::Key;
};

/// A handle of items grouped by their keys, made by `group_by_key`.
template <class K, class MemorySpace>
struct GroupedKeys {
  /// The different keys, in their order.
  LateView<K*, MemorySpace> unique;
  /// Tells where the items of each key begin in `order`.
  LateView<std::int64_t*, MemorySpace> begin;
  /// The numbers of the items, those of one key together and in their order.
  LateView<std::int64_t*, MemorySpace> order;
};

namespace worklets::Impl {

struct Number {
  template <class Order>
  KOKKOS_FUNCTION void operator()(std::int64_t i, Order const& order) const {
    order(i) = i;
  }
};
template <class Keys_>
struct ByKey {
  Keys_ keys;
  KOKKOS_FUNCTION bool operator()(std::int64_t a, std::int64_t b) const {
    return keys(a) < keys(b) || (!(keys(b) < keys(a)) && a < b);
  }
};
struct SortByKey {
  template <class Space, class Keys_, class Order>
  void operator()(Space const& instance, Keys_ const& keys, Order const& order) const {
    if (order.extent(0) > 1) Kokkos::sort(instance, order, ByKey<Keys_>{keys});
  }
};
/// Numbers the different keys, and notes where the items of each begin.
struct FindKeys {
  using value_type = std::int64_t;
  template <class Keys_, class Order, class First>
  KOKKOS_FUNCTION void operator()(std::int64_t i, Keys_ const& keys, Order const& order,
                                  First const& first, std::int64_t& number, bool is_final) const {
    if (i > 0 && !(keys(order(i - 1)) < keys(order(i)))) return;
    if (is_final) first(number) = i;
    ++number;
  }
};
struct TakeKeys {
  template <class Keys_, class Order, class First, class Unique, class Begin>
  KOKKOS_FUNCTION void operator()(std::int64_t k, Keys_ const& keys, Order const& order,
                                  First const& first, Unique const& unique,
                                  Begin const& begin) const {
    begin(k) = first(k);
    unique(k) = keys(order(first(k)));
  }
};
struct MakeKeysPortal {
  template <class Unique, class Begin, class Order>
  KOKKOS_FUNCTION auto operator()(Unique const& unique, Begin const& begin,
                                  Order const& order) const {
    return KeysPortal<Unique, Begin, Order>{unique, begin, order};
  }
};

/// Returns how many items an array has, or will have.
template <class V>
auto length_of_array(V const& array) {
  if constexpr (Kokkos::is_view_v<V>)
    return static_cast<std::int64_t>(array.extent(0));
  else
    return extent(array);
}
template <class V>
struct ArrayTypes {
  using value_type = typename V::non_const_value_type;
  static constexpr std::size_t rank = V::rank();
};
template <class T, class M, class L>
struct ArrayTypes<LateView<T, M, L>> : ArrayTypes<typename LateView<T, M, L>::view> {};

}  // namespace worklets::Impl

/// Submits tasks that group the items of a View or LateView of rank 1 by their keys, which are
/// compared by `<`; returns at once. The tasks run on the space of the policy's `on<...>`. On a
/// host space one thread sorts. On a device Kokkos waits for the stream, in the thread that
/// launches the task.
template <class Base, class... Annotations, class Keys>
auto group_by_key(Label label, ResourcePolicy<Base, Annotations...> const& policy,
                  Keys const& keys) {
  using Spaces = worklets::Impl::SpacesOf<ResourcePolicy<Base, Annotations...>>;
  using Memory = typename Spaces::runs_on::memory_space;
  using K = typename worklets::Impl::ArrayTypes<Keys>::value_type;
  static_assert(worklets::Impl::ArrayTypes<Keys>::rank == 1,
                "Trellis: group_by_key takes keys in a View or LateView of rank 1");
  using worklets::Impl::as_for;
  using worklets::Impl::as_scan;
  using worklets::Impl::step_of;
  using worklets::Impl::submit_as;
  std::string const name = label.string();
  GroupedKeys<K, Memory> const groups{LateView<K*, Memory>(name + ": keys"),
                                      LateView<std::int64_t*, Memory>(name + ": begin"),
                                      LateView<std::int64_t*, Memory>(name + ": order")};
  LateView<std::int64_t*, Memory> const first(name + ": first");
  worklets::Impl::made_here(policy.target(), groups.unique);
  worklets::Impl::made_here(policy.target(), groups.begin);
  worklets::Impl::made_here(policy.target(), groups.order);
  worklets::Impl::made_here(policy.target(), first);
  auto const n = worklets::Impl::length_of_array(keys);
  auto const memory = [&](auto const& array, auto const& count) {
    std::apply(
        [&](auto const&... before) {
          allocate(step_of(label, "memory"), ResourcePolicy(policy.target(), before...), array,
                   count);
        },
        worklets::Impl::tasks_before(policy.annotations()));
  };
  memory(groups.order, n);
  memory(first, n);
  submit_as(as_for, step_of(label, "number"), policy, n, worklets::Impl::Number(),
            write(groups.order));
  std::apply(
      [&](auto const&... shared) {
        space_task(step_of(label, "sort"),
                   ResourcePolicy(policy.target(), read(keys), read_write(groups.order), shared...),
                   worklets::Impl::SortByKey());
      },
      worklets::Impl::annotations_that<worklets::Impl::IsShared>(policy.annotations()));
  Future<std::int64_t> const different =
      submit_as(as_scan, step_of(label, "find"), policy, n, worklets::Impl::FindKeys(), read(keys),
                read(groups.order), write(first));
  memory(groups.unique, different);
  memory(groups.begin, different);
  submit_as(as_for, step_of(label, "keys"), policy, different, worklets::Impl::TakeKeys(),
            read(keys), read(groups.order), read(first), write(groups.unique), write(groups.begin));
  return groups;
}

template <class D, class K, class M>
struct BindArgument<worklets::Parameter<worklets::Keys, worklets::In, D>, GroupedKeys<K, M>> {
  using Groups = GroupedKeys<K, M>;
  static auto access(Groups const& groups) {
    return std::tuple(read(groups.unique), read(groups.begin), read(groups.order));
  }
  /// Returns the number of keys, or of the items that have them.
  template <class Domain>
    requires(std::is_same_v<Domain, D> || std::is_same_v<Domain, worklets::Item>)
  static auto late_length(Groups const& groups, worklets::Over<Domain, 1>) {
    if constexpr (std::is_same_v<Domain, worklets::Item>)
      return extent(groups.order).source;
    else
      return extent(groups.unique).source;
  }
  static auto exec(Groups const&) { return worklets::Impl::MakeKeysPortal(); }
  static std::string label(Groups const& groups) { return groups.unique.label(); }
};

/// Values belong to items, as keys do, but the worklet does not run over items.
template <class D, class V>
  requires(worklets::Impl::is_bound_v<worklets::Parameter<worklets::Field, worklets::In, D>, V> &&
           requires(V const& array) { worklets::Impl::length_of_array(array); })
struct BindArgument<worklets::Parameter<worklets::Values, worklets::In, D>, V>
    : BindArgument<worklets::Parameter<worklets::Field, worklets::In, D>, V> {};

/// Binds the values of one key.
template <int N, class Bindings>
  requires std::is_same_v<typename Bindings::template parameter<N>::concept_type, worklets::Values>
struct BindExecution<worklets::Argument<N>, Bindings> {
  static constexpr int keys = Bindings::template find<worklets::Keys>();
  static_assert(keys > 0, "Trellis: Values go with a parameter that is Keys");
  template <class Item>
  static KOKKOS_FUNCTION auto load(Bindings const& bindings, Item const& item) {
    auto const& groups = bindings.template get<keys>();
    auto const& values = bindings.template get<N>();
    return worklets::Impl::GroupOfValues<std::remove_cvref_t<decltype(values)>,
                                         std::remove_cvref_t<decltype(groups.order)>>(
        values, groups.order, groups.first_of(item.flat), groups.first_of(item.flat + 1));
  }
};

}  // namespace trellis

#endif
