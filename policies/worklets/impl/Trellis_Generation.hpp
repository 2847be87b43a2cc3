// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_GENERATION_HPP
#define TRELLIS_IMPL_GENERATION_HPP

#include <Trellis_Error.hpp>
#include <Trellis_Future.hpp>
#include <Trellis_Label.hpp>
#include <annotations/Trellis_LateView.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <annotations/impl/Trellis_KnownValue.hpp>
#include <annotations/impl/Trellis_LateCount.hpp>
#include <patterns/Trellis_HostTask.hpp>
#include <patterns/Trellis_ParallelFor.hpp>
#include <patterns/Trellis_ParallelScan.hpp>
#include <worklets/impl/Trellis_ControlBindings.hpp>
#include <worklets/impl/Trellis_ItemRange.hpp>
#include <worklets/impl/Trellis_WorkletFunctor.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

/// This header makes new items from old ones by tasks that count, scan, allocate and generate.
///
/// The scan lists the items that generate any (`active`), and where their new items begin
/// (`first`). So the task that generates has one index for each such item, and does not search. The
/// arrays are as long as the number of items, but memory that is never touched costs nothing on a
/// host.
namespace trellis::worklets::Impl {

/// The sums of the scan.
struct Totals {
  std::int64_t active = 0;  ///< items that generate any
  std::int64_t made = 0;    ///< new items; negative if some count is
  KOKKOS_FUNCTION Totals& operator+=(Totals const& other) {
    active += other.active;
    made = made < 0 || other.made < 0 ? -1 : made + other.made;
    return *this;
  }
};

/// One of the totals as a number of items.
struct TotalsCount : ItemCount {
  trellis::Impl::TaskHandle task;
  trellis::Impl::ResultPtr<Totals> totals;
  std::int64_t Totals::* which;
  [[nodiscard]] std::int64_t resolve() const {
    Totals const& all = trellis::Impl::value_of(totals);
    if (all.made < 0)
      throw Error(Error::Kind::bad_input,
                  "Trellis: a worklet that generates has been given a negative count of items");
    return all.*which;
  }
  [[nodiscard]] auto annotations() const { return std::tuple(trellis::Impl::After<1>{{}, {task}}); }
};

template <class Maker, int rank>
struct ScanCounts {
  using value_type = Totals;
  Maker counts;
  Kokkos::Array<std::int64_t, static_cast<std::size_t>(rank)> extents;
  template <class View, class Active>
  KOKKOS_FUNCTION void operator()(std::int64_t i, View const& view, Active const& active,
                                  Active const& first, Totals& sum, bool is_final) const {
    add(i, make_exec(counts, view), active, first, sum, is_final);
  }
  /// Is called if all items have the same count.
  template <class Active>
  KOKKOS_FUNCTION void operator()(std::int64_t i, Active const& active, Active const& first,
                                  Totals& sum, bool is_final) const {
    add(i, counts, active, first, sum, is_final);
  }

 private:
  template <class Exec, class Active>
  KOKKOS_FUNCTION void add(std::int64_t i, Exec const& exec, Active const& active,
                           Active const& first, Totals& sum, bool is_final) const {
    auto const count = static_cast<std::int64_t>(exec.load(item_at<rank>(extents, i)));
    if (count == 0) return;
    if (is_final) {
      active(sum.active) = i;
      first(sum.active) = sum.made;
    }
    sum += Totals{1, count};
  }
};

/// Calls the worklet's functor for the new items of one item. `counts` is the number of the
/// parameter.
template <class Functor, int rank, std::size_t counts>
struct GenerateFrom {
  Functor functor;
  template <class... All>
    requires(sizeof...(All) >= Functor::views + 2)
  KOKKOS_FUNCTION void operator()(std::int64_t k, All const&... all) const {
    std::tuple<All const&...> const given(all...);
    std::int64_t const from = std::get<Functor::views>(given)(k);
    std::int64_t const first = std::get<Functor::views + 1>(given)(k);
    GeneratedItem<rank> item{item_at<rank>(functor.extents, from), {first}, 0};
    auto const of_item = static_cast<std::int64_t>(
        functor.template exec<0, counts>(given, typename Functor::template Views<counts>())
            .load(item.source));
    for (; item.visit < of_item; ++item.visit, ++item.target.flat)
      functor.template run<0>(item, given);
  }
};

/// The number of the parameter that counts.
template <class Parameters>
struct CountsIn;
template <class... P>
struct CountsIn<TypeList<P...>> {
  static constexpr std::size_t value = [] {
    std::size_t at = 0;
    std::size_t found = 0;
    ((std::is_same_v<typename P::concept_type, Counts> ? found = at++ : at++), ...);
    return found;
  }();
};

/// True for an annotation of each task that a call submits: where they run, and after what.
template <class A>
inline constexpr bool is_shared =
    std::is_same_v<A, priority> || std::is_same_v<A, device> || std::is_same_v<A, threads> ||
    NamesTasksBefore<A>::value || requires { typename A::execution_space; };
template <class A>
struct IsShared : std::bool_constant<is_shared<A>> {};
/// Submits the task `pattern(label, policy, functor)` with the shared annotations, and more.
template <class Pattern, class Policy, class Range, class Functor, class... More>
auto submit_as(Pattern const& pattern, Label&& label, Policy const& policy, Range const& range,
               Functor&& functor, More const&... more) {
  return std::apply(
      [&](auto const&... shared) {
        return pattern(std::move(label), ResourcePolicy(policy.target(), range, more..., shared...),
                       std::forward<Functor>(functor));
      },
      annotations_that<IsShared>(policy.annotations()));
}
inline constexpr auto as_for = [](auto&&... of) {
  return parallel_for(std::forward<decltype(of)>(of)...);
};
inline constexpr auto as_scan = [](auto&&... of) {
  return parallel_scan(std::forward<decltype(of)>(of)...);
};

/// The tasks that have been submitted.
struct Generation {
  Label label;
  trellis::Impl::Target target;
  Future<Totals> totals;
  Future<void> made;

  [[nodiscard]] trellis::Impl::LateCount<TotalsCount> number(std::int64_t Totals::* which) const {
    return {TotalsCount{{},
                        trellis::Impl::FutureInternals::handle(totals),
                        trellis::Impl::FutureInternals::result(totals),
                        which}};
  }
  /// Returns the number of new items; the future is ready when they exist.
  [[nodiscard]] Future<std::int64_t> count() const {
    return host_task(step_of(label, "number"), ResourcePolicy(target, value(totals), after(made)),
                     [](Totals const& all) { return all.made; });
  }
};

/// Submits the tasks. Outputs of the signature get room for the new items.
template <class Policy, class Worklet, class Bindings>
Generation generate(Label const& label, Policy const& policy, Worklet const& worklet,
                    Bindings& bindings) {
  using Types = typename Bindings::types;
  using Space = typename Types::spaces::runs_on;
  using Memory = typename Space::memory_space;
  using trellis::Impl::Target;
  constexpr std::size_t counts = CountsIn<typename Types::parameters>::value;
  constexpr int rank = Bindings::rank;
  Extents const extents = bindings.prepare(label, policy);
  Target const target = policy.target();
  auto const functor = bindings.functor(worklet, extents);
  using Functor = std::remove_const_t<decltype(functor)>;

  auto const run = [&](auto const& range, auto const& active, auto const& first) {
    auto const scan = [&](auto const&... access) {
      using Maker = std::remove_cvref_t<decltype(std::get<counts>(functor.makers))>;
      return submit_as(as_scan, step_of(label, "count"), policy, range,
                       ScanCounts<Maker, rank>{std::get<counts>(functor.makers), functor.extents},
                       access..., write(active), write(first));
    };
    Generation all{label, target, std::apply(scan, bindings.template accesses_of<counts>()), {}};
    bindings.allocate(label, policy, all.number(&Totals::made));
    auto const made = [&](auto const&... annotation) {
      return parallel_for(Label(label),
                          ResourcePolicy(target, all.number(&Totals::active), annotation...),
                          GenerateFrom<Functor, rank, counts>{functor});
    };
    all.made =
        std::apply(made, std::tuple_cat(bindings.accesses(), std::tuple(read(active), read(first)),
                                        policy.annotations()));
    return all;
  };
  std::string const name = label.string();
  if constexpr (Bindings::is_late()) {
    auto const n = bindings.late_count(label, extents);
    LateView<std::int64_t*, Memory> const active(name + ": active"), first(name + ": first");
    made_here(target, active);
    made_here(target, first);
    bindings.allocate_for(label, policy, active, n);
    bindings.allocate_for(label, policy, first, n);
    return run(n, active, first);
  } else {
    using Scratch = Kokkos::View<std::int64_t*, Memory>;
    auto const n = static_cast<std::size_t>(extents.count());
    Scratch const active(Kokkos::view_alloc(name + ": active", Kokkos::WithoutInitializing), n);
    Scratch const first(Kokkos::view_alloc(name + ": first", Kokkos::WithoutInitializing), n);
    made_here(target, active);
    made_here(target, first);
    return run(Items{extents.count()}, active, first);
  }
}

}  // namespace trellis::worklets::Impl

#endif
