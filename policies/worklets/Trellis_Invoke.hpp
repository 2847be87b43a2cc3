// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_INVOKE_HPP
#define TRELLIS_INVOKE_HPP

#include <annotations/Trellis_ResourcePolicy.hpp>
#include <annotations/impl/Trellis_WrongCalls.hpp>
#include <patterns/Trellis_ParallelFor.hpp>
#include <worklets/Trellis_BindArgument.hpp>
#include <worklets/Trellis_BindExecution.hpp>
#include <worklets/Trellis_Worklet.hpp>
#include <worklets/impl/Trellis_CallCheck.hpp>
#include <worklets/impl/Trellis_ControlBindings.hpp>

#include <type_traits>
#include <utility>

/// With this header you run worklets: a worklet and its arguments become a task. Its accesses
/// follow from the control signature, and it calls the worklet once for each item of its domain.
namespace trellis {

/// Runs the worklets of a kind. Specialise it in namespace `trellis` for a kind of your own, or for
/// one worklet (`WorkletScheduler<MyKind, MyWorklet>`):
///
///     template <class Worklet>
///     struct trellis::WorkletScheduler<MyKind, Worklet> {
///       template <class Policy, class Bindings>
///       static auto submit(Label&& label, Policy const& policy, Worklet const& worklet,
///                          Bindings& bindings);
///     };
///
/// `submit` may submit other tasks before and after, and returns the result of `invoke`. It must
/// not wait. `bindings` are the arguments, bound to the parameters of the control signature:
///
/// | member | what it does |
/// |---|---|
/// | `prepare(label, policy)` | checks all arguments and allocates outputs; returns the `worklets::Extents` of the items |
/// | `accesses()` | the accesses of the task, as a tuple of annotations |
/// | `functor(worklet, extents)` | the worklet as a functor for these items |
/// | `base(extents)` | the base of a policy for them |
/// | `submit(label, policy, worklet, extents)` | submits the task for all of them |
/// | `get<k>()` | the argument, from 0 on |
///
/// This scheduler runs over all items.
template <class Kind, class Worklet>
struct WorkletScheduler {
  template <class Policy, class Bindings>
  static Future<void> submit(Label&& label, Policy const& policy, Worklet const& worklet,
                             Bindings& bindings) {
    auto const extents = bindings.prepare(label, policy);
    return bindings.submit(std::move(label), policy, worklet, extents);
  }
};

/// Submits a task that calls the worklet for each item, as soon as its accesses allow; returns at
/// once. The policy has a graph and properties, and may have accesses of the worklet's own members.
/// It has no range: that follows from the arguments.
///
/// | access | the task's |
/// |---|---|
/// | `In` | `read` |
/// | `Out` | `write` |
/// | `InOut` | `read_write` |
/// | `AtomicAdd`, `AtomicMul` | `atomic_add`, `atomic_mul` |
///
/// All arguments of one domain must have the same number of items. An `Out` View without items is
/// allocated, in the caller's variable, and an `Out` field without extents gets them. Returns a
/// `Future<void>`, or the result that the kind defines.
///
/// Throws `Error` when numbers of items differ, or when no argument tells the number. Throws
/// `Error` when a worklet would read for one item what it writes for another: when an argument that
/// is gathered from is also written, or when two other arguments overlap without being the same.
/// `InOut` changes an array that a task allocates (`LateView`) in place; such an array cannot be
/// `In` and `Out` of one call.
template <class Base, class... Annotations, class Worklet, class... Arguments>
auto invoke(Label label, ResourcePolicy<Base, Annotations...> const& policy, Worklet const& worklet,
            Arguments&&... arguments) {
  static_assert(std::is_same_v<Base, Impl::Once>,
                "Trellis: invoke takes a policy without a range: the arguments of the worklet tell "
                "how many items there are");
  using Check = typename worklets::Impl::CallCheck<Worklet, ResourcePolicy<Base, Annotations...>,
                                                   std::remove_cvref_t<Arguments>...>::type;
  // (AllHold makes the message show the check as it is written.)
  if constexpr (!std::is_same_v<Base, Impl::Once> || !Impl::AllHold<Check>::holds()) {
    return Impl::Refused();
  } else {
    using Kind = typename Worklet::kind;
    // A temporary is const here, as an allocation in it would be lost.
    worklets::Impl::ControlBindings<
        Worklet, ResourcePolicy<Base, Annotations...>,
        std::conditional_t<std::is_lvalue_reference_v<Arguments>, Arguments, Arguments const&>...>
    bindings(arguments...);
    return WorkletScheduler<Kind, Worklet>::submit(std::move(label), policy, worklet, bindings);
  }
}

template <class... Rest>
auto invoke(Label, Impl::PlainPolicy, Rest const&...) {
  static_assert(Impl::never<Rest...>,
                "Trellis: the policy says which graph: invoke(\"label\", ResourcePolicy(graph, "
                "...), worklet, arguments...)");
  return Impl::Refused();
}

/// Submits a task without a label: it is named by the file and line where its policy was made.
template <class Base, class... Annotations, class Worklet, class... Arguments>
auto invoke(ResourcePolicy<Base, Annotations...> const& policy, Worklet const& worklet,
            Arguments&&... arguments) {
  return invoke(Label::of(policy.target().site()), policy, worklet,
                std::forward<Arguments>(arguments)...);
}

}  // namespace trellis

#endif
