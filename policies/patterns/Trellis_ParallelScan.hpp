// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_PARALLELSCAN_HPP
#define TRELLIS_PARALLELSCAN_HPP

#include <patterns/Trellis_ParallelFor.hpp>
#include <Trellis_ResultSlot.hpp>
#include <impl/Trellis_LastArgument.hpp>

#include <memory>
#include <type_traits>

namespace trellis {

namespace Impl {

template <class Traits, class Functor, class Value>
struct ScanBody {
  static constexpr std::string_view pattern = "parallel_scan";
  static constexpr bool kokkos_copies_it = true;
  static constexpr bool launches_only = launches_the_same<typename Traits::policy_type, Functor>;
  typename Traits::Range range;
  Functor functor;
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
/// On a device Kokkos would wait for a total that goes into a variable.
template <class Traits, class Functor, class Value>
  requires has_result_space<typename Traits::execution_space>
struct ScanBody<Traits, Functor, Value> {
  static constexpr std::string_view pattern = "parallel_scan";
  static constexpr bool kokkos_copies_it = true;
  static constexpr bool launches_only = launches_the_same<typename Traits::policy_type, Functor>;
  using Space = typename Traits::execution_space;
  using memory_space = typename AdapterOf<Space>::result_space;
  typename Traits::Range range;
  Functor functor;
  ResultPtr<Value> result;
  ResultSlot<Value, memory_space> slot{};

  void run(void* instance, Label const& label) {
    Kokkos::View<Value, memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const total(
        &slot.renew());
    Kokkos::parallel_scan(kernel_name(label),
                          launched(Traits::on(range, *static_cast<Space const*>(instance))),
                          functor, total);
  }
  void finish() { result->value.emplace(slot.value()); }
};

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
  static_assert(
      !std::is_void_v<Value>,
      "Trellis: the functor's last arguments are the value to scan into and whether it is "
      "final, as in (int i, double& sum, bool is_final); when its call operator is "
      "overloaded or a template, give it a member type value_type");
  if constexpr (!Impl::has_range_v<Base> || std::is_void_v<Value>) {
    return Impl::Refused();
  } else {
    using Traits = Impl::PolicyTraits<Base, typename Impl::TargetSpace<Annotations...>::type>;
    using Call = Impl::FunctorCall<Traits, Impl::TypeList<Value&, bool>, Functor, Annotations...>;
    if constexpr (!Call::Check::value) {
      return Impl::Refused();
    } else {
      Impl::require_valid<Traits>(label, policy);
      auto const prepared = [&] {
        return Impl::prepare_functor<Value, Call, Traits>(std::forward<Functor>(functor), policy);
      };
      auto result = Impl::ResultPtr<Value>::make();
      auto const make = [&] {
        return Impl::ScanBody<Traits, decltype(prepared()), Value>{
            Traits::keep(policy.base()), prepared(), std::move(result[0])};
      };
      Impl::TaskHandle const handle = Impl::submit_made<typename Traits::execution_space>(
          std::move(label), policy, make, nullptr);
      return Impl::FutureDoor::make(handle, std::move(result[1]));
    }
  }
}

}  // namespace trellis

#endif
