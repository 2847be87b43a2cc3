// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_HOSTTASK_HPP
#define TRELLIS_HOSTTASK_HPP

#include <Trellis_Future.hpp>
#include <Trellis_ResourcePolicy.hpp>
#include <impl/Trellis_BoundFunctor.hpp>
#include <impl/Trellis_Submit.hpp>

#include <functional>
#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

/// With this header any callable can be a task: plain host code, or a library call that takes an execution
/// space instance.
namespace trellis {

namespace Impl {

/// Calls `callable(arguments..., views...)` and keeps the result.
template <class Space, class Result, class Callable, class Views>
struct CallBody {
  static constexpr std::string_view pattern = std::is_void_v<Space> ? "host_task" : "space_task";
  Callable callable;
  Views views;
  std::shared_ptr<FutureState<Result>> state;

  void run(void* instance, Label const& label) {
    ToolsRegion const region(label);
    state->value.emplace(call(callable, views, instance));
  }

  static decltype(auto) call(Callable& callable, Views& views, void* instance) {
    return std::apply(
        [&](auto&... view) -> decltype(auto) {
          if constexpr (std::is_void_v<Space>)
            return std::invoke(callable, view...);
          else
            return std::invoke(callable, *static_cast<Space const*>(instance), view...);
        },
        views);
  }
};
template <class Space, class Callable, class Views>
struct CallBody<Space, void, Callable, Views> {
  static constexpr std::string_view pattern = std::is_void_v<Space> ? "host_task" : "space_task";
  Callable callable;
  Views views;

  void run(void* instance, Label const& label) {
    ToolsRegion const region(label);
    CallBody<Space, int, Callable, Views>::call(callable, views, instance);
  }
};

template <class Callable, class List>
struct CallResult;
template <class Callable, class... A>
struct CallResult<Callable, TypeList<A...>> {
  static constexpr bool callable = std::is_invocable_v<Callable&, A...>;
  static auto type() {
    if constexpr (callable) return std::type_identity<std::decay_t<std::invoke_result_t<Callable&, A...>>>{};
  }
};
template <class Tuple>
struct MutableList;
template <class... T>
struct MutableList<std::tuple<T...>> {
  using type = TypeList<T&...>;
};

template <class Space, class... Annotations, class Callable>
auto submit_call(Label&& label, ResourcePolicy<Once, Annotations...> const& policy, Callable&& callable) {
  using F = std::remove_cvref_t<Callable>;
  using Views = decltype(arguments_of(policy.annotations()));
  using Instance = std::conditional_t<std::is_void_v<Space>, TypeList<>,
                                      TypeList<std::add_lvalue_reference_t<Space const>>>;
  using Long = CallResult<F, typename Concat<Instance, typename MutableList<Views>::type>::type>;
  using Short = CallResult<F, Instance>;
  static_assert(Long::callable || Short::callable,
                "Trellis: the callable of a host_task takes nothing or the annotated Views in order (a View "
                "annotated with read comes "
                "with const elements); that of a space_task takes the execution space instance before them");
  auto const submit_with = [&]<class Result>(std::type_identity<Result>, auto views) {
    using Body = CallBody<Space, Result, F, decltype(views)>;
    if constexpr (std::is_void_v<Result>) {
      return FutureAccess::make(
          submit<Space>(std::move(label), policy, Body{std::forward<Callable>(callable), std::move(views)}));
    } else {
      auto state = std::make_shared<FutureState<Result>>();
      TaskHandle const handle = submit<Space>(
          std::move(label), policy, Body{std::forward<Callable>(callable), std::move(views), state});
      return FutureAccess::make<Result>(handle, std::move(state));
    }
  };
  if constexpr (Long::callable)
    return submit_with(Long::type(), arguments_of(policy.annotations()));
  else
    return submit_with(Short::type(), std::tuple<>{});
}

}  // namespace Impl

/// Submits a task that calls `callable()`, or `callable(views...)` with the annotated Views, on a host thread
/// as soon as its accesses allow; returns at once. The Future holds what it returns.
template <class... Annotations, class Callable>
auto host_task(Label label, ResourcePolicy<Impl::Once, Annotations...> const& policy, Callable&& callable) {
  return Impl::submit_call<void>(std::move(label), policy, std::forward<Callable>(callable));
}

/// Submits a task that calls `callable(instance)`, or `callable(instance, views...)`, with an execution space
/// instance of its own, so that any library call that takes one (Kokkos Kernels, ...) can be a task. The
/// space is the default execution space or the one given with `on<Space>`. The Future holds what it returns.
template <class... Annotations, class Callable>
auto space_task(Label label, ResourcePolicy<Impl::Once, Annotations...> const& policy, Callable&& callable) {
  using Target = typename Impl::TargetSpace<Annotations...>::type;
  using Space = std::conditional_t<std::is_void_v<Target>, Kokkos::DefaultExecutionSpace, Target>;
  return Impl::submit_call<Space>(std::move(label), policy, std::forward<Callable>(callable));
}

}  // namespace trellis

#endif
