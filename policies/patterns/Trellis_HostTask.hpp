// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_HOSTTASK_HPP
#define TRELLIS_HOSTTASK_HPP

#include <Trellis_Future.hpp>
#include <Trellis_ResourcePolicy.hpp>
#include <impl/Trellis_WrongCalls.hpp>  // here, so that its messages have few lines before them
#include <impl/Trellis_BoundFunctor.hpp>
#include <impl/Trellis_Submit.hpp>

#include <functional>
#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

/// With this header any callable can be a task: plain host code, or a library call that takes an
/// execution space instance.
namespace trellis {

namespace Impl {

/// Stands for the space of a host task whose callable takes a TaskScope.
struct Scoped {};
template <class Space>
inline constexpr bool is_host_v = std::is_void_v<Space> || std::is_same_v<Space, Scoped>;

/// Calls `callable(arguments..., views...)` and keeps the result.
template <class Space, class Value, class Callable, class Views>
struct CallBody {
  static constexpr std::string_view pattern = is_host_v<Space> ? "host_task" : "space_task";
  Callable callable;
  Views views;
  ResultPtr<Value> result;
  static constexpr bool ends_without_user = std::is_trivially_destructible_v<Callable> &&
                                            std::is_trivially_destructible_v<Views> &&
                                            std::is_trivially_destructible_v<Value>;

  void run(void* instance, Label const& label) {
    ToolsRegion const region(label);
    result->value.emplace(call(callable, views, instance));
  }

  static decltype(auto) call(Callable& callable, Views& views, void* instance) {
    return std::apply(
        [&](auto&... view) -> decltype(auto) {
          if constexpr (std::is_void_v<Space>) {
            return std::invoke(callable, view...);
          } else if constexpr (std::is_same_v<Space, Scoped>) {
            TaskScope self = ScopeDoor::running();
            return std::invoke(callable, self, view...);
          } else {
            return std::invoke(callable, *static_cast<Space const*>(instance), view...);
          }
        },
        views);
  }
};
template <class Space, class Callable, class Views>
struct CallBody<Space, void, Callable, Views> {
  static constexpr std::string_view pattern = is_host_v<Space> ? "host_task" : "space_task";
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
    if constexpr (callable)
      return std::type_identity<std::decay_t<std::invoke_result_t<Callable&, A...>>>{};
  }
};
template <class Tuple>
struct MutableList;
template <class... T>
struct MutableList<std::tuple<T...>> {
  using type = TypeList<T&...>;
};

/// How a callable is called: with the annotated Views or without, and with a TaskScope before them
/// where only that fits.
template <class Space, class Callable, class... Annotations>
struct CallForms {
  using F = std::decay_t<Callable>;
  using Views = decltype(arguments_of(std::declval<std::tuple<Annotations...> const&>()));
  using Instance = std::conditional_t<std::is_void_v<Space>, TypeList<>,
                                      TypeList<std::add_lvalue_reference_t<Space const>>>;
  using Mutable = typename MutableList<Views>::type;
  using Long = CallResult<F, typename Concat<Instance, Mutable>::type>;
  using Short = CallResult<F, Instance>;
  using ScopedLong = CallResult<F, typename Concat<TypeList<TaskScope&>, Mutable>::type>;
  using ScopedShort = CallResult<F, TypeList<TaskScope&>>;
  // The scoped forms are tested only when the others do not fit: a generic callable may not compile
  // with a TaskScope.
  static consteval auto chosen() {
    if constexpr (Long::callable)
      return std::type_identity<Long>{};
    else if constexpr (Short::callable)
      return std::type_identity<Short>{};
    else if constexpr (!std::is_void_v<Space>)
      return std::type_identity<void>{};
    else if constexpr (ScopedLong::callable)
      return std::type_identity<ScopedLong>{};
    else if constexpr (ScopedShort::callable)
      return std::type_identity<ScopedShort>{};
    else
      return std::type_identity<void>{};
  }
  using Chosen = typename decltype(chosen())::type;
  static constexpr bool with_views =
      std::is_same_v<Chosen, Long> || std::is_same_v<Chosen, ScopedLong>;
  /// What the body is told to hand over before the Views.
  using How = std::conditional_t<std::is_same_v<Chosen, Long> || std::is_same_v<Chosen, Short>,
                                 Space, Scoped>;
  using Check = CallableMustTake<!std::is_void_v<Chosen>,
                                 typename SignatureOf<typename Concat<
                                     Instance, typename TupleToList<Views>::type>::type>::type>;
};

template <class Space, class Forms, class... Annotations, class Callable>
auto submit_call(Label&& label, ResourcePolicy<Once, Annotations...> const& policy,
                 Callable&& callable) {
  using Value = typename decltype(Forms::Chosen::type())::type;
  auto const views = [&] {
    if constexpr (Forms::with_views)
      return arguments_of(policy.annotations());
    else
      return std::tuple<>();
  };
  using Body = CallBody<typename Forms::How, Value, typename Forms::F, decltype(views())>;
  if constexpr (std::is_void_v<Value>) {
    auto const make = [&] { return Body{std::forward<Callable>(callable), views()}; };
    return FutureDoor::make(submit_made<Space>(std::move(label), policy, make, nullptr));
  } else {
    auto result = ResultPtr<Value>::make();
    auto const make = [&] {
      return Body{std::forward<Callable>(callable), views(), std::move(result[0])};
    };
    TaskHandle const handle = submit_made<Space>(std::move(label), policy, make, nullptr);
    return FutureDoor::make(handle, std::move(result[1]));
  }
}

}  // namespace Impl

/// Submits a task that calls `callable()`, or `callable(views...)` with the annotated Views, on a
/// host thread as soon as its accesses allow; returns at once. The Future holds the return value.
///
/// A callable whose first parameter is a `TaskScope&` can split the task into parts and give up
/// accesses, see Trellis_TaskScope.hpp.
template <class... Annotations, class Callable>
auto host_task(Label label, ResourcePolicy<Impl::Once, Annotations...> const& policy,
               Callable&& callable) {
  using Forms = Impl::CallForms<void, Callable, Annotations...>;
  if constexpr (!Forms::Check::value)
    return Impl::Refused();
  else
    return Impl::submit_call<void, Forms>(std::move(label), policy,
                                          std::forward<Callable>(callable));
}

/// Submits a task that calls `callable(instance)`, or `callable(instance, views...)`, with an
/// execution space instance of its own as soon as its accesses allow; returns at once. So any
/// library call that takes an instance (Kokkos Kernels, ...) can be a task. The space is the
/// default execution space or the one given with `on<Space>`. The Future holds the return value.
template <class... Annotations, class Callable>
auto space_task(Label label, ResourcePolicy<Impl::Once, Annotations...> const& policy,
                Callable&& callable) {
  using Target = typename Impl::TargetSpace<Annotations...>::type;
  using Space = std::conditional_t<std::is_void_v<Target>, Kokkos::DefaultExecutionSpace,
                                   typename Impl::RunOn<Target>::body_space>;
  using Forms = Impl::CallForms<Space, Callable, Annotations...>;
  if constexpr (!Forms::Check::value)
    return Impl::Refused();
  else
    return Impl::submit_call<Space, Forms>(std::move(label), policy,
                                           std::forward<Callable>(callable));
}

}  // namespace trellis

#endif
