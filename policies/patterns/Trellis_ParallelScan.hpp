// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_PARALLELSCAN_HPP
#define TRELLIS_PARALLELSCAN_HPP

#include <patterns/Trellis_ParallelFor.hpp>
#include <common/Trellis_ResultSlot.hpp>
#include <annotations/impl/Trellis_LastArgument.hpp>
#include <annotations/impl/Trellis_LateResult.hpp>

#include <memory>
#include <tuple>
#include <type_traits>

namespace trellis {

namespace Impl {

template <class Traits, class Functor, class Value>
struct ScanBody {
  static constexpr BodyTraits traits{
      .pattern = "parallel_scan",
      .has_functor = true,
      .launches_only = launches_the_same<typename Traits::policy_type, Functor>};
  Functor functor;
  typename Traits::Range range;
  ResultPtr<Value> result;

  void run(void* instance, Label const& label) {
    using Space = typename Traits::execution_space;
    Value total{};
    Kokkos::parallel_scan(kernel_name(label),
                          launched(Traits::on(range, *static_cast<Space const*>(instance))),
                          functor, total);
    result->value.emplace(std::move(total));
  }
};
/// Sets the total of an empty scan, which Kokkos leaves as it was on some spaces.
template <class Functor, class V, class Tag>
struct NothingScanned {
  Functor functor;
  V total;
  KOKKOS_FUNCTION void operator()(int) const {
    typename V::non_const_value_type value{};
    if constexpr (requires { functor.init(Tag(), value); })
      functor.init(Tag(), value);
    else if constexpr (requires { functor.init(value); })
      functor.init(value);
    total() = value;
  }
};

/// Scans into a slot: on a device Kokkos would wait for a total that goes into a variable.
template <class Traits, class Functor, class Value>
  requires has_result_space<typename Traits::execution_space>
struct ScanBody<Traits, Functor, Value> {
  static constexpr BodyTraits traits{
      .pattern = "parallel_scan",
      .has_functor = true,
      .launches_only = launches_the_same<typename Traits::policy_type, Functor>};
  using Space = typename Traits::execution_space;
  using memory_space = typename AdapterOf<Space>::result_space;
  Functor functor;
  typename Traits::Range range;
  ResultPtr<Value> result;
  ResultSlot<Value, memory_space> slot{};

  void run(void* instance, Label const& label) {
    Kokkos::View<Value, memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const total(
        &slot.renew());
    auto const& here = *static_cast<Space const*>(instance);
    auto const policy = Traits::on(range, here);
    if (policy.begin() < policy.end())
      Kokkos::parallel_scan(kernel_name(label), launched(policy), functor, total);
    else
      Kokkos::parallel_for(
          kernel_name(label), launched(Kokkos::RangePolicy<Space>(here, 0, 1)),
          NothingScanned<Functor, std::remove_const_t<decltype(total)>, typename Traits::work_tag>{
              functor, total});
  }
  void finish() { result->value.emplace(slot.value()); }
};

/// Scans with the total in a View. `Stored` is the View, or a place for it.
template <class Traits, class Functor, class Stored>
struct ScanIntoView {
  static constexpr BodyTraits traits{
      .pattern = "parallel_scan",
      .has_functor = true,
      .launches_only = launches_the_same<typename Traits::policy_type, Functor>};
  using Space = typename Traits::execution_space;
  Functor functor;
  typename Traits::Range range;
  std::tuple<Stored> results;

  void run(void* instance, Label const& label) {
    auto const& here = *static_cast<Space const*>(instance);
    auto const policy = Traits::on(range, here);
    auto&& total = kokkos_result<Space>(std::get<0>(results));
    using V = std::remove_cvref_t<decltype(total)>;
    if (policy.begin() < policy.end())
      Kokkos::parallel_scan(kernel_name(label), launched(policy), functor, total);
    else
      Kokkos::parallel_for(kernel_name(label), launched(Kokkos::RangePolicy<Space>(here, 0, 1)),
                           NothingScanned<Functor, V, typename Traits::work_tag>{functor, total});
  }
};

/// True for a base that Kokkos can scan over.
template <class Base>
inline constexpr bool is_one_dimensional = false;
template <>
inline constexpr bool is_one_dimensional<Count> = true;
template <class Source>
inline constexpr bool is_one_dimensional<LateCount<Source>> = true;
template <class... P>
inline constexpr bool is_one_dimensional<Kokkos::RangePolicy<P...>> = true;

}  // namespace Impl

/// Submits a task that runs `Kokkos::parallel_scan` as soon as its accesses allow; returns at once.
/// The functor is called with `(index, value&, is_final)`, or `(index, views..., value&,
/// is_final)`. The Future holds the total.
template <class Base, class... Annotations, class Functor>
auto parallel_scan(Label label, ResourcePolicy<Base, Annotations...> const& policy,
                   Functor&& functor) {
  using Value = typename decltype(Impl::value_type_of<std::remove_cvref_t<Functor>, 1>())::type;
  static_assert(Impl::has_range_v<Base>,
                "Trellis: parallel_scan needs a range: parallel_scan(\"label\", "
                "ResourcePolicy(graph, n, read(x), ...), functor)");
  static_assert(!Impl::has_range_v<Base> || Impl::is_one_dimensional<Base>,
                "Trellis: parallel_scan runs over a whole number or a RangePolicy, as in Kokkos");
  static_assert(
      !std::is_void_v<Value>,
      "Trellis: the functor's last arguments are the value to scan into and whether it is "
      "final, as in (int i, double& sum, bool is_final); when its call operator is "
      "overloaded or a template, give it a member type value_type");
  if constexpr (!Impl::is_one_dimensional<Base> || std::is_void_v<Value>) {
    return Impl::Refused();
  } else {
    using Traits = Impl::PolicyTraits<Base, typename Impl::TargetSpace<Annotations...>::type>;
    using Call = Impl::FunctorCall<Traits, Impl::TypeList<Value&, bool>, Functor, Annotations...>;
    if constexpr (!Call::Check::holds()) {
      return Impl::Refused();
    } else {
      Impl::require_valid<Traits>(label, policy);
      auto const prepared = [&] {
        return Impl::prepare_functor<Value, Call, Traits>(std::forward<Functor>(functor), policy);
      };
      auto result = Impl::ResultPtr<Value>::make();
      auto const make = [&] {
        return Impl::ScanBody<Traits, decltype(prepared()), Value>{
            prepared(), Traits::keep(policy.base()), std::move(result[0])};
      };
      Impl::TaskHandle const handle = Impl::submit_made<typename Traits::execution_space>(
          std::move(label), policy, make, nullptr);
      return Impl::FutureInternals::make(handle, std::move(result[1]));
    }
  }
}

/// Scans with the total in a View of rank 0, or in such a field of a model. This counts as a
/// `write` access.
template <class Base, class... Annotations, class Functor, class Total>
auto parallel_scan(Label label, ResourcePolicy<Base, Annotations...> const& policy,
                   Functor&& functor, Total const& total) {
  constexpr bool is_view = Kokkos::is_view_v<Total> || Impl::LateResult<Total>;
  static_assert(is_view,
                "Trellis: parallel_scan cannot write into a variable, which may be gone when the "
                "task runs; take the returned Future, or give a View of rank 0");
  static_assert(Impl::has_range_v<Base>,
                "Trellis: parallel_scan needs a range: parallel_scan(\"label\", "
                "ResourcePolicy(graph, n, read(x), ...), functor, view)");
  static_assert(!Impl::has_range_v<Base> || Impl::is_one_dimensional<Base>,
                "Trellis: parallel_scan runs over a whole number or a RangePolicy, as in Kokkos");
  if constexpr (!is_view || !Impl::is_one_dimensional<Base>) {
    return Impl::Refused();
  } else {
    using Stored = Impl::StoredResultOf<Total>;
    using View = typename Impl::SeenAs<Stored>::type;
    using Value = typename View::non_const_value_type;
    static_assert(View::rank() == 0, "Trellis: parallel_scan writes into a View of rank 0");
    using Traits = Impl::PolicyTraits<Base, typename Impl::TargetSpace<Annotations...>::type>;
    using Call = Impl::FunctorCall<Traits, Impl::TypeList<Value&, bool>, Functor, Annotations...>;
    if constexpr (!Call::Check::holds() || View::rank() != 0) {
      return Impl::Refused();
    } else {
      Impl::require_valid<Traits>(label, policy);
      auto const prepared = [&] {
        return Impl::prepare_functor<Value, Call, Traits>(std::forward<Functor>(functor), policy);
      };
      auto const make = [&] {
        return Impl::ScanIntoView<Traits, decltype(prepared()), Stored>{
            prepared(), Traits::keep(policy.base()), {Impl::StoredResult<Total>::of(total)}};
      };
      return Impl::FutureInternals::make(Impl::submit_made<typename Traits::execution_space>(
          std::move(label), policy, make, nullptr, write(total)));
    }
  }
}

/// Submits a task without a label: it is named by the file and line where its policy was made.
template <class Base, class... Annotations, class Functor, class... Total>
  requires(sizeof...(Total) <= 1)
auto parallel_scan(ResourcePolicy<Base, Annotations...> const& policy, Functor&& functor,
                   Total const&... total) {
  return parallel_scan(Label::of(policy.target().site()), policy, std::forward<Functor>(functor),
                       total...);
}

}  // namespace trellis

#endif
