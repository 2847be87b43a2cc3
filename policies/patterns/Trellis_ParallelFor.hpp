// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_PARALLELFOR_HPP
#define TRELLIS_PARALLELFOR_HPP

#include <Trellis_Future.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <annotations/impl/Trellis_BoundFunctor.hpp>
#include <annotations/impl/Trellis_DirectLoop.hpp>
#include <annotations/impl/Trellis_LaunchPolicy.hpp>
#include <annotations/impl/Trellis_RebindPolicy.hpp>
#include <annotations/impl/Trellis_Submit.hpp>

#include <Kokkos_Core.hpp>

#include <string_view>
#include <utility>

namespace trellis {

namespace Impl {

template <class Traits, class Functor>
struct ForBody {
  static constexpr BodyTraits traits{
      .pattern = "parallel_for",
      .has_functor = true,
      .launches_only = launches_the_same<typename Traits::policy_type, Functor>};
  using fusable_traits = Traits;
  using functor_type = Functor;
  Functor functor;
  typename Traits::Range range;

  void run(void* instance, Label const& label) {
    using Space = typename Traits::execution_space;
    auto const& here = *static_cast<Space const*>(instance);
    if constexpr (DirectLoop<Traits>::is_host_loop) {
      auto const& uncounted_functor = uncounted(functor);
      AdapterOf<Space>::run(DirectLoop<Traits>::loop(range, uncounted_functor), here, label);
    } else {
      if constexpr (may_have_one_thread<Space>)
        if (may_loop(here) && DirectLoop<Traits>::run(range, functor)) return;
      Kokkos::parallel_for(kernel_name(label), launched(Traits::on(range, here)), functor);
    }
  }
};

}  // namespace Impl

/// Submits a task that runs `Kokkos::parallel_for` with the policy's base as soon as its accesses
/// allow; returns at once.
///
/// The functor is called as Kokkos would call it (tag, indices), or with the annotated Views, in
/// order, after the indices. It gets a View annotated with `read` as `read_view<V>`, one with
/// `atomic_add` or `atomic_mul` as `atomic_view<V>`, and others as they are. Throws `Error` for a
/// negative range, for `after(...)` with a future of another graph, and after Kokkos::finalize().
template <class Base, class... Annotations, class Functor>
Future<void> parallel_for(Label label, ResourcePolicy<Base, Annotations...> const& policy,
                          Functor&& functor) {
  static_assert(
      Impl::has_range_v<Base>,
      "Trellis: parallel_for needs a range: parallel_for(\"label\", ResourcePolicy(graph, "
      "n, read(x), ...), functor)");
  if constexpr (Impl::has_range_v<Base>) {
    using Traits = Impl::PolicyTraits<Base, typename Impl::TargetSpace<Annotations...>::type>;
    using Call = Impl::FunctorCall<Traits, Impl::TypeList<>, Functor, Annotations...>;
    if constexpr (Call::Check::holds()) {
      Impl::require_valid<Traits>(label, policy);
      auto const prepared = [&] {
        return Impl::prepare_functor<void, Call, Traits>(std::forward<Functor>(functor), policy);
      };
      auto const make = [&] {
        return Impl::ForBody<Traits, decltype(prepared())>{prepared(), Traits::keep(policy.base())};
      };
      return Impl::FutureInternals::make(Impl::submit_made<typename Traits::execution_space>(
          std::move(label), policy, make, nullptr));
    }
  }
  return {};
}

/// Submits a task without a label: it is named by the file and line where its policy was made.
template <class Base, class... Annotations, class Functor>
Future<void> parallel_for(ResourcePolicy<Base, Annotations...> const& policy, Functor&& functor) {
  return parallel_for(Label::of(policy.target().site()), policy, std::forward<Functor>(functor));
}

}  // namespace trellis

#endif
