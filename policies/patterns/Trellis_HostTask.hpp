// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_HOSTTASK_HPP
#define TRELLIS_HOSTTASK_HPP

#include <Trellis_Completion.hpp>
#include <Trellis_Future.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <annotations/impl/Trellis_WrongCalls.hpp>  // here, so that its messages have few lines before them
#include <annotations/impl/Trellis_BoundFunctor.hpp>
#include <annotations/impl/Trellis_Submit.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <span>
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
/// Stands for the space of a host task whose callable takes a `Completion<T>`, and before that a
/// TaskScope if `scoped`.
template <class T, bool scoped>
struct Late {
  static constexpr bool takes_scope = scoped;
};
template <class Space>
inline constexpr bool is_late_v = false;
template <class T, bool scoped>
inline constexpr bool is_late_v<Late<T, scoped>> = true;
template <class Space>
inline constexpr bool is_host_v =
    std::is_void_v<Space> || std::is_same_v<Space, Scoped> || is_late_v<Space>;

/// Gives the value type of a task's future from what its callable returns: a host task may end with
/// another future.
template <class Space, class Returned>
struct ValueFrom {
  using type = Returned;
  static constexpr bool comes_later = false;
};
template <class Space, class T>
  requires is_host_v<Space>
struct ValueFrom<Space, Future<T>> {
  using type = T;
  static constexpr bool comes_later = true;
};

template <class T, bool scoped>
struct ValueFrom<Late<T, scoped>, void> {
  using type = T;
  static constexpr bool comes_later = false;
};

/// The rest of a body that ends with a future. It takes over the future's value.
template <class T>
struct ResultBody {
  static constexpr BodyTraits traits{.pattern = "result"};
  ResultPtr<T> from;
  Result<T>* to;  ///< result of the task that this is a child of, which lives longer
  void run(void*, Label const&) { to->value.emplace(value_of(from)); }
};
template <>
struct ResultBody<void> {
  static constexpr BodyTraits traits{.pattern = "result"};
  void run(void*, Label const&) {}
};
/// The rest of a body that is to run again.
template <class Body>
struct AgainBody {
  static constexpr BodyTraits traits{.pattern = "respawn", .may_wait = true, .may_give_up = true};
  Body* body;  ///< body of the task that this is a child of, which lives longer
  TaskHandle self;
  int runs;  ///< number of runs before this one
  void run(void*, Label const& label) {
    ToolsRegion const region(label);
    body->run_scoped(self, GraphInternals::running(), label, runs);
  }
};

/// Submits the rest of a body that has done all but return.
template <class Body>
void submit_continuation(TaskHandle const& self, Label const& label,
                         std::span<TaskHandle const> after, Body&& rest, bool is_resumed = false) {
  using B = std::remove_cvref_t<Body>;
  auto const construct = [&](void* storage) { ::new (storage) B(std::forward<Body>(rest)); };
  TaskSpec spec(Label(label), OpsOf<B, void, void>::ops, sizeof(B), alignof(B), construct);
  spec.after = after;
  spec.is_resumed = is_resumed;
  GraphInternals::submit_continuation(self, std::move(spec));
}

/// Gives the task the value of another future when that is there.
template <class T>
void end_with(TaskHandle const& self, Label const& label, Future<T> const& future,
              ResultPtr<T> const& result) {
  static_assert(std::is_void_v<T> || std::is_copy_constructible_v<T>,
                "Trellis: a host_task that returns a future copies its value");
  TaskHandle const task = FutureInternals::handle(future);
  if (!task.valid())
    throw Error(Error::Kind::bad_input,
                "Trellis: the callable of a host_task has returned a "
                "future that belongs to no task");
  if constexpr (std::is_void_v<T>)
    submit_continuation(self, label, {&task, 1}, ResultBody<void>());
  else
    submit_continuation(self, label, {&task, 1},
                        ResultBody<T>{FutureInternals::result(future), &*result});
}

/// True if it is the callable of a fork-join's task, ForkJoinCall.
template <class Callable>
inline constexpr bool is_fork_join_v = requires { typename Callable::is_fork_join; };

/// Calls `callable(arguments..., views...)`, and keeps what it returns. `Self` is the body.
template <class Space, class Callable, class Views, class Self>
struct CallBodyBase {
  static constexpr BodyTraits traits{
      .pattern = is_host_v<Space> ? "host_task" : "space_task",
      .has_callable = true,
      .may_wait = true,
      .may_give_up = std::is_same_v<Space, Scoped> || is_late_v<Space>,
      .is_fork_join = is_fork_join_v<Callable>};
  Callable callable;
  Views views;

  // Both are inlined, as a recursion goes through them for each of its tasks.
  [[gnu::always_inline]] void run(void* instance, Label const& label) {
    ToolsRegion const region(label);
    if constexpr (std::is_void_v<Space>) {
      self().keep(GraphInternals::running, label, [&]() -> decltype(auto) { return call(); });
    } else if constexpr (std::is_same_v<Space, Scoped>) {
      TaskHandle const self = GraphInternals::running();
      run_scoped(self, self, label);
    } else if constexpr (is_late_v<Space>) {
      run_late(GraphInternals::running());
    } else {
      self().keep(GraphInternals::running, label,
                  [&]() -> decltype(auto) { return call(*static_cast<Space const*>(instance)); });
    }
  }
  /// `task` is the task with this body. When the body runs again, the thread runs another task. A
  /// body that has run a few times may go on for ever. Before that it may be a recursion, whose
  /// memory is bounded if the task begun last goes first.
  [[gnu::always_inline]] void run_scoped(TaskHandle const& task, TaskHandle const& running,
                                         Label const& label, int runs = 0) {
    constexpr int few = 4;
    TaskScope scope = ScopeInternals::make(task, running);
    auto const invoke = [&]() -> decltype(auto) { return call(scope); };
    auto const again = [&] {
      if (auto const* const after = ScopeInternals::next_run(scope))
        submit_continuation(task, label, *after,
                            AgainBody<Self>{&self(), task, std::min(runs + 1, few)},
                            runs + 1 >= few);
      return ScopeInternals::next_run(scope) != nullptr;
    };
    self().keep([&] { return task; }, label, invoke, again);
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
  void run_late(TaskHandle const& task) {
    auto completion = [&] {
      if constexpr (requires(Self& body) { body.result; })
        return CompletionInternals::open(task, *self().result);
      else
        return CompletionInternals::open(task);
    }();
    if constexpr (Space::takes_scope) {
      TaskScope scope = ScopeInternals::make(task, task);
      call_late(std::move(completion), scope);
      if (ScopeInternals::next_run(scope) != nullptr)
        throw Error(Error::Kind::bad_input,
                    "Trellis: self.respawn() in a body with a Completion, which says itself when "
                    "the task is over");
    } else {
      call_late(std::move(completion));
    }
  }
  template <class Completion, class... Scope>
  void call_late(Completion&& completion, Scope&... scope) {
    std::apply(
        [&](auto&... view) {
          std::invoke(callable, scope..., std::move(completion), seen(view)...);
        },
        views);
  }
  template <class... First>
  decltype(auto) call(First&... first) {
    return std::apply(
        [&](auto&... view) -> decltype(auto) {
          return std::invoke(callable, first..., seen(view)...);
        },
        views);
  }
};

struct NeverAgain {
  bool operator()() const { return false; }
};

template <class Space, class Returned, class Callable, class Views,
          class Value = typename ValueFrom<Space, Returned>::type>
struct CallBody : CallBodyBase<Space, Callable, Views, CallBody<Space, Returned, Callable, Views>> {
  ResultPtr<Value> result;
  static constexpr bool ends_without_user = std::is_trivially_destructible_v<Callable> &&
                                            std::is_trivially_destructible_v<Views> &&
                                            std::is_trivially_destructible_v<Value>;

  template <class Task, class Invoke, class Again = NeverAgain>
  void keep(Task const& task, Label const& label, Invoke const& invoke, Again const& again = {}) {
    auto&& returned = invoke();
    if (again()) return;
    if constexpr (ValueFrom<Space, Returned>::comes_later)
      end_with(task(), label, returned, result);
    else
      result->value.emplace(std::forward<decltype(returned)>(returned));
  }
};
template <class Space, class Returned, class Callable, class Views>
struct CallBody<Space, Returned, Callable, Views, void>
    : CallBodyBase<Space, Callable, Views, CallBody<Space, Returned, Callable, Views>> {
  template <class Task, class Invoke, class Again = NeverAgain>
  void keep(Task const& task, Label const& label, Invoke const& invoke, Again const& again = {}) {
    if constexpr (ValueFrom<Space, Returned>::comes_later) {
      auto&& returned = invoke();
      if (!again()) end_with(task(), label, returned, {});
    } else {
      invoke();
      again();
    }
  }
};

template <class Callable, class List>
struct CallResult;
template <class Callable, class... A>
struct CallResult<Callable, TypeList<A...>> {
  static constexpr bool callable = std::is_invocable_v<Callable&, A...>;
  template <class>  // a template, as only the chosen form may instantiate it
  static constexpr bool keeps_atomic =
      std::is_invocable_v<Callable&, typename AsOnlyAtomic<A>::type...>;
  static auto type() {
    if constexpr (callable)
      return std::type_identity<std::decay_t<std::invoke_result_t<Callable&, A...>>>{};
  }
};
/// Lists the types of the parameters. The list is empty for a generic lambda, and if there are
/// several call operators.
template <class Callable>
struct ParametersOf {
  using type = TypeList<>;
};
template <class Callable>
  requires requires { &Callable::operator(); }
struct ParametersOf<Callable> : ParametersOf<decltype(&Callable::operator())> {};
template <class R, class... P>
struct ParametersOf<R (*)(P...)> {
  using type = TypeList<P...>;
};
template <class R, class... P>
struct ParametersOf<R (*)(P...) noexcept> {
  using type = TypeList<P...>;
};
template <class C, class R, class... P>
struct ParametersOf<R (C::*)(P...)> {
  using type = TypeList<P...>;
};
template <class C, class R, class... P>
struct ParametersOf<R (C::*)(P...) noexcept> {
  using type = TypeList<P...>;
};
template <class C, class R, class... P>
struct ParametersOf<R (C::*)(P...) const> {
  using type = TypeList<P...>;
};
template <class C, class R, class... P>
struct ParametersOf<R (C::*)(P...) const noexcept> {
  using type = TypeList<P...>;
};

/// Finds the Completion among the first parameters; void if there is none.
template <class... P>
struct CompletionIn {
  using how = void;
};
template <class T>
struct CompletionIn<Completion<T>> {
  using how = Late<T, false>;
};
template <class T>
struct CompletionIn<TaskScope, Completion<T>> {
  using how = Late<T, true>;
};
template <class List>
struct LateFormOf {
  using type = void;
};
template <class First>
struct LateFormOf<TypeList<First>> : LateFormOf<TypeList<First, void>> {};
template <class First, class Second, class... Rest>
struct LateFormOf<TypeList<First, Second, Rest...>> {
  using Alone = typename CompletionIn<std::remove_cvref_t<First>>::how;
  using Behind =
      typename CompletionIn<std::remove_cvref_t<First>, std::remove_cvref_t<Second>>::how;
  using type = std::conditional_t<std::is_void_v<Alone>, Behind, Alone>;
};
template <class Tuple>
struct MutableList;
template <class... T>
struct MutableList<std::tuple<T...>> {
  using type = TypeList<typename SeenAs<T>::type&...>;
};

/// Says how a callable is called with a Completion in front. A void `How` means not at all.
template <class How, class F, class Views>
struct LateCalls {
  static constexpr bool any = false;
  struct Long {
    static constexpr bool callable = false;
  };
  using Short = Long;
  using First = TypeList<>;
};
template <class T, bool scoped, class F, class Views>
struct LateCalls<Late<T, scoped>, F, Views> {
  using First =
      std::conditional_t<scoped, TypeList<TaskScope&, Completion<T>>, TypeList<Completion<T>>>;
  using Long = CallResult<F, typename Concat<First, Views>::type>;
  using Short = CallResult<F, First>;
  static constexpr bool any = Long::callable || Short::callable;
};

/// Says how a callable is called: with the annotated Views or without, and with a TaskScope or a
/// Completion before them if only that fits.
template <class Space, class Callable, class... Annotations>
struct CallForms {
  using F = std::decay_t<Callable>;
  using Reached = typename PlaceOf<Space, Annotations...>::reached;
  using Views = ArgumentsOfAll<Reached, Annotations...>;
  using Instance = std::conditional_t<std::is_void_v<Space>, TypeList<>,
                                      TypeList<std::add_lvalue_reference_t<Space const>>>;
  using Mutable = typename MutableList<Views>::type;
  using Long = CallResult<F, typename Concat<Instance, Mutable>::type>;
  using Short = CallResult<F, Instance>;
  using ScopedLong = CallResult<F, typename Concat<TypeList<TaskScope&>, Mutable>::type>;
  using ScopedShort = CallResult<F, TypeList<TaskScope&>>;
  /// The form that its parameters name.
  using Named = typename LateFormOf<typename ParametersOf<F>::type>::type;
  static consteval auto chosen() {
    using Host = std::bool_constant<std::is_void_v<Space>>;
    if constexpr (Host::value && !std::is_void_v<Named>) {
      return way<Named, LateCalls<Named, F, Mutable>>();
    } else if constexpr (Long::callable) {
      return std::type_identity<Way<Space, Long, true>>{};
    } else if constexpr (Short::callable) {
      return std::type_identity<Way<Space, Short, false>>{};
    } else if constexpr (!Host::value) {
      return std::type_identity<Way<Space, void, false>>{};
    } else if constexpr (ScopedLong::callable) {  // not before: a generic callable may not compile
      return std::type_identity<Way<Scoped, ScopedLong, true>>{};
    } else if constexpr (ScopedShort::callable) {
      return std::type_identity<Way<Scoped, ScopedShort, false>>{};
    } else if constexpr (LateCalls<Late<void, false>, F, Mutable>::any) {
      return way<Late<void, false>, LateCalls<Late<void, false>, F, Mutable>>();
    } else {
      return way<Late<void, true>, LateCalls<Late<void, true>, F, Mutable>>();
    }
  }
  /// `Before` says what the body passes before the Views. `Result` says how the callable is called;
  /// void means not at all.
  template <class Before, class Result, bool gets_views>
  struct Way {
    using How = Before;
    using Chosen = Result;
    static constexpr bool with_views = gets_views;
  };
  template <class How, class Calls>
  static consteval auto way() {
    if constexpr (Calls::Long::callable)
      return std::type_identity<Way<How, typename Calls::Long, true>>{};
    else if constexpr (Calls::Short::callable)
      return std::type_identity<Way<How, typename Calls::Short, false>>{};
    else
      return std::type_identity<Way<How, void, false>>{};
  }
  using Found = typename decltype(chosen())::type;
  using Chosen = typename Found::Chosen;
  using How = typename Found::How;
  static constexpr bool with_views = Found::with_views;

  static consteval bool keeps_atomic() {
    if constexpr (!std::is_void_v<Chosen>) return Chosen::template keeps_atomic<void>;
    return true;
  }
  static consteval bool returns_as_it_may() {
    if constexpr (is_late_v<How> && !std::is_void_v<Chosen>)
      return std::is_void_v<typename decltype(Chosen::type())::type>;
    return true;
  }
  using First = std::conditional_t<std::is_void_v<Named>, Instance,
                                   typename LateCalls<Named, F, Mutable>::First>;
  using Check =
      AllHold<CallableMustTake<!std::is_void_v<Chosen>,
                               typename SignatureOf<typename Concat<
                                   First, typename TupleToList<Views>::type>::type>::type>,
              MustTakeAtomicViews<keeps_atomic()>, LateMustReturnNothing<returns_as_it_may()>,
              MayFuse<std::is_void_v<How> || !(is_fusable_v<Annotations> || ...)>,
              MustReach<Reached, Annotations...>>;
};

/// True if the task can keep it, by a move or a copy of the argument.
template <class Callable>
inline constexpr bool may_be_deferred_v = std::is_constructible_v<std::decay_t<Callable>, Callable>;

template <class Space, class Forms, class... Annotations, class Callable>
auto submit_call(Label&& label, ResourcePolicy<Once, Annotations...> const& policy,
                 Callable&& callable) {
  using Returned = typename decltype(Forms::Chosen::type())::type;
  using Value = typename ValueFrom<typename Forms::How, Returned>::type;
  auto const views = [&] {
    if constexpr (Forms::with_views)
      return arguments_of<typename Forms::Reached>(policy.annotations());
    else
      return std::tuple<>();
  };
  using Body = CallBody<typename Forms::How, Returned, typename Forms::F, decltype(views())>;
  if constexpr (std::is_void_v<Value>) {
    auto const make = [&] { return Body{{std::forward<Callable>(callable), views()}}; };
    return FutureInternals::make(submit_made<Space>(std::move(label), policy, make, nullptr));
  } else {
    auto result = ResultPtr<Value>::make();
    auto const make = [&] {
      return Body{{std::forward<Callable>(callable), views()}, std::move(result[0])};
    };
    TaskHandle const handle = submit_made<Space>(std::move(label), policy, make, nullptr);
    return FutureInternals::make(handle, std::move(result[1]));
  }
}

}  // namespace Impl

/// Submits a task that calls `callable()`, or `callable(views...)` with the annotated Views, on a
/// host thread as soon as its accesses allow; returns at once. The Future holds the return value.
///
/// A callable may return the `Future<T>` of another task of the graph, e.g. of a child. Then this
/// task's future is a `Future<T>`, too. It gets a copy of that value when both tasks are complete.
/// No thread waits for that. When that task fails, this one fails.
///
/// A callable whose first parameter is a `TaskScope&` can split the task into children and give up
/// accesses, see Trellis_TaskScope.hpp.
///
/// A callable whose first or second parameter is a `Completion<T>` starts something that ends
/// later. It returns nothing, and the Future holds the value passed to `done(value)`. See
/// Trellis_Completion.hpp.
template <class... Annotations, class Callable>
auto host_task(Label label, ResourcePolicy<Impl::Once, Annotations...> const& policy,
               Callable&& callable) {
  static_assert(
      Impl::may_be_deferred_v<Callable>,
      "Trellis: the task keeps its callable, and this one can be neither moved nor copied");
  if constexpr (!Impl::may_be_deferred_v<Callable>) {
    return Impl::Refused();
  } else {
    using Forms = Impl::CallForms<void, Callable, Annotations...>;
    if constexpr (!Forms::Check::holds())
      return Impl::Refused();
    else
      return Impl::submit_call<void, Forms>(std::move(label), policy,
                                            std::forward<Callable>(callable));
  }
}

/// Submits a task that calls `callable(instance)`, or `callable(instance, views...)`, as soon as
/// its accesses allow; returns at once. The task has an execution space instance of its own. The
/// callable runs on the host, also for a device: on a thread that launches tasks for the graph. So
/// any library call that takes an instance (Kokkos Kernels, ...) can be a task. The space is the
/// default execution space or the one given with `on<Space>`. The Future holds the return value.
template <class... Annotations, class Callable>
auto space_task(Label label, ResourcePolicy<Impl::Once, Annotations...> const& policy,
                Callable&& callable) {
  using Target = typename Impl::TargetSpace<Annotations...>::type;
  using Space = std::conditional_t<std::is_void_v<Target>, Kokkos::DefaultExecutionSpace,
                                   typename Impl::RunOn<Target>::body_space>;
  static_assert(
      Impl::may_be_deferred_v<Callable>,
      "Trellis: the task keeps its callable, and this one can be neither moved nor copied");
  if constexpr (!Impl::may_be_deferred_v<Callable>) {
    return Impl::Refused();
  } else {
    using Forms = Impl::CallForms<Space, Callable, Annotations...>;
    if constexpr (!Forms::Check::holds())
      return Impl::Refused();
    else
      return Impl::submit_call<Space, Forms>(std::move(label), policy,
                                             std::forward<Callable>(callable));
  }
}

/// Submits a task without a label: it is named by the file and line where its policy was made.
template <class Base, class... Annotations, class Callable>
auto host_task(ResourcePolicy<Base, Annotations...> const& policy, Callable&& callable) {
  return host_task(Label::of(policy.target().site()), policy, std::forward<Callable>(callable));
}
template <class Base, class... Annotations, class Callable>
auto space_task(ResourcePolicy<Base, Annotations...> const& policy, Callable&& callable) {
  return space_task(Label::of(policy.target().site()), policy, std::forward<Callable>(callable));
}

}  // namespace trellis

#endif
