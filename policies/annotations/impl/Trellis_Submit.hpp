// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SUBMIT_HPP
#define TRELLIS_IMPL_SUBMIT_HPP

#include <annotations/Trellis_AccessList.hpp>
#include <common/Trellis_BodyTraits.hpp>
#include <Trellis_DeviceAdapter.hpp>
#include <Trellis_Error.hpp>
#include <common/Trellis_KernelName.hpp>
#include <common/Trellis_KokkosInternals.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <Trellis_Spaces.hpp>
#include <annotations/Trellis_TaskScope.hpp>
#include <graph/Trellis_GraphInternals.hpp>
#include <graph/Trellis_ModelTasks.hpp>
#include <annotations/impl/Trellis_Fused.hpp>
#include <annotations/impl/Trellis_OpenAccess.hpp>
#include <annotations/impl/Trellis_Reachable.hpp>
#include <annotations/impl/Trellis_NewTask.hpp>
#include <annotations/impl/Trellis_ViewAccess.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstddef>
#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

/// All typed fronts submit to the engine through this header.
namespace trellis::Impl {

/// Gives the user's functor, without the Views that were bound to it. It is the first member of the
/// bound functor.
template <class F>
struct HeldFunctor {
  using type = F;
  static constexpr bool is_bound = false;
};
template <class F>
  requires requires { typename F::is_bound_functor; }
struct HeldFunctor<F> {
  using type = std::remove_cvref_t<decltype(std::declval<F const&>().held())>;
  static constexpr bool is_bound = true;
};
/// A callable and the Views that follow it in a body.
template <class Callable, class Views>
struct CallWithViews {
  Callable callable;
  Views views;
};
/// The size of a functor that has captured something; 0 if it cannot have.
template <class F>
inline constexpr int captured_by = std::is_empty_v<F> ? 0 : static_cast<int>(sizeof(F));
/// True if it may be a lambda that captures something, as such a lambda cannot be assigned to.
template <class F>
inline constexpr bool is_closure_v = !std::is_empty_v<F> && !std::is_copy_assignable_v<F>;

template <class Body>
inline constexpr bool has_result_v = requires(Body& body) { body.result; };

/// The operations of a body, see BodyTraits. It is written for instances of `Space`, and runs on
/// `RunsOn`.
template <class Body, class Space, class RunsOn>
struct OpsOf {
  static void run(void* body, void* instance, Label const& label) {
    if constexpr (is_bound_late_v<Body>) static_cast<Body*>(body)->bind(label);
    RunOn<RunsOn>::template run<Space>(*static_cast<Body*>(body), instance, label);
  }
  static void destroy(void* body) noexcept { static_cast<Body*>(body)->~Body(); }
  static void fail(void* body, TaskId id, std::string const& text,
                   FailurePtr const& failure) noexcept {
    static_cast<Body*>(body)->result->fail(id, text, failure);
  }
  static void copy(void const* body, void* to) {
    ListsAreCopied const each_its_own;
    ::new (to) Body(*static_cast<Body const*>(body));
  }
  static int fork_join_depth(void const* body) {
    return static_cast<Body const*>(body)->callable.depth;
  }
  static void finish(void* body) { static_cast<Body*>(body)->finish(); }

  static constexpr TaskOps make_ops() {
    constexpr BodyTraits traits = Body::traits;
    constexpr bool has_result = has_result_v<Body>;
    TaskOps made{traits.pattern, &run, &destroy, &no_result};
    if constexpr (has_result) made.fail = &fail;
    if constexpr (std::is_trivially_destructible_v<Body>)
      made.end = TaskOps::End::nothing;
    else if constexpr (body_ends_without_user<Body>())
      made.end = TaskOps::End::plain;
    if constexpr (traits.has_functor) {
      using Held = HeldFunctor<decltype(Body::functor)>;
      made.copy = &copy;
      made.size = sizeof(Body);
      // A program that gets the result may look at what the functor held.
      made.may_be_deferred = !std::is_trivially_destructible_v<Body> && !has_result;
      made.captured = captured_by<typename Held::type>;
      made.takes_views = Held::is_bound;
      made.is_closure = is_closure_v<typename Held::type>;
    } else if constexpr (traits.has_callable) {
      using Callable = decltype(Body::callable);
      using Views = decltype(Body::views);
      if constexpr (!std::is_empty_v<Callable>)  // the Views that it is called with are included
        made.captured = static_cast<int>(sizeof(CallWithViews<Callable, Views>));
      else
        made.captured = 0;
      made.takes_views = !std::is_same_v<std::tuple<>, Views>;
      made.is_closure = is_closure_v<Callable>;
    }
    if constexpr (traits.is_fork_join) made.fork_join_depth = &fork_join_depth;
    if constexpr (requires(Body& body) { body.finish(); }) made.finish = &finish;
    if (traits.hides_captures) made.captured = TaskOps::not_known;
    made.leaves_only_views = (traits.has_functor && !has_result) || traits.copies_between_spaces;
    made.is_tracked = !traits.may_give_up;
    made.may_wait = traits.may_wait;
    made.launches_only = is_foreign_v<RunsOn> ? !is_bound_late_v<Body> : traits.launches_only;
    return made;
  }
  static constexpr TaskOps ops = make_ops();
};

/// Gives the two halves of a body that is bound late; see OpsOf.
template <class Body, class Space, class RunsOn>
struct LateOpsOf {
  using Plain = typename Body::plain_body;
  static void bind(void* body, Label const& label) { static_cast<Body*>(body)->bind(label); }
  static void run(void* body, void* instance, Label const& label) {
    RunOn<RunsOn>::template run<Space>(static_cast<Plain&>(*static_cast<Body*>(body)), instance,
                                       label);
  }
  static constexpr LateOps ops{&bind, &run, is_foreign_v<RunsOn> || Plain::traits.launches_only,
                               Body::stays_in_an_iteration};
};
template <class Body, class Space, class RunsOn>
constexpr LateOps const* late_ops() {
  if constexpr (requires { typename Body::plain_body; })
    return &LateOpsOf<Body, Space, RunsOn>::ops;
  else
    return nullptr;
}

/// Shows a task that launches no kernel under its own name as a region.
class ToolsRegion {
 public:
  explicit ToolsRegion(Label const& label) : m_is_shown(may_listen()) {
    if (m_is_shown) Kokkos::Profiling::pushRegion(kernel_name(label));
  }
  ToolsRegion(ToolsRegion const&) = delete;
  ToolsRegion& operator=(ToolsRegion const&) = delete;
  ~ToolsRegion() {
    if (m_is_shown) Kokkos::Profiling::popRegion();
  }

 private:
  /// Before 5.2 Kokkos needs longer to say whether there is a tool than to report to it.
  static bool may_listen() {
    return KOKKOS_VERSION < 50200 || Kokkos::Profiling::profileLibraryLoaded();
  }
  bool const m_is_shown;
};

template <class A>
inline constexpr bool is_task_number_v = std::is_same_v<std::remove_cvref_t<A>, number>;
/// Checks a list of accesses: it is known at the submission whether its Views can be reached.
template <class Space, class A>
void require_accessible(Label const& label, A const& annotation) {
  if constexpr (is_list_v<A>)
    AccessListInternals::require_accessible<Space>(list_of(annotation), label);
}

/// Returns the same policy, with the task number only if `has_it`. If one call submits several
/// tasks, the one whose future is returned has the number.
template <class Base, class... Annotations>
decltype(auto) with_number_if(bool has_it, ResourcePolicy<Base, Annotations...> const& policy) {
  if constexpr ((is_task_number_v<Annotations> || ...)) {
    auto const strip = [has_it]<class A>(A const& annotation) -> A {
      if constexpr (is_task_number_v<A>)
        return has_it ? annotation : number(TaskNumber());
      else
        return annotation;
    };
    return std::apply(
        [&](auto const&... annotation) {
          if constexpr (std::is_same_v<Base, Once>)
            return ResourcePolicy<Base, Annotations...>(policy.target(), strip(annotation)...);
          else
            return ResourcePolicy<Base, Annotations...>(policy.target(), policy.base(),
                                                        strip(annotation)...);
        },
        policy.annotations());
  } else {
    return (policy);
  }
}

/// The operations of a task that may be fused with others. `Offloads` is the space to whose devices
/// batches may go; void means none.
template <class Body, class Space, class RunsOn, class Offloads>
struct FusableOpsOf {
  static constexpr TaskOps make_ops() {
    TaskOps made = OpsOf<Body, Space, RunsOn>::make_ops();
    using Plain = typename PlainBodyOf<Body>::type;
    if constexpr (has_kernel_form<Plain>)
      made.fusion = &FusionOf<Body, Space, RunsOn, Offloads>::ops;
    else
      made.fusion = &FusionOfCalls<Body>::ops;
    return made;
  }
  static constexpr TaskOps ops = make_ops();
};

/// The body of a fusable task, which may be launched on a device as one with others.
template <class Made, bool is_on_device>
using BodyAs = std::conditional_t<is_on_device, FusableBody<Made>, Made>;

template <class A>
inline constexpr bool is_device_v = std::is_same_v<std::remove_cvref_t<A>, device>;

/// Chooses the device, and the stream if the user gave one with the base policy.
template <class Space, class Base, class... Annotations>
void choose_device(TaskSpec& spec, ResourcePolicy<Base, Annotations...> const& policy) {
  if constexpr ((is_device_v<Annotations> || ...))
    spec.space = &space_adapter<Space>(std::get<device>(policy.annotations()).number);
  else
    spec.space = &space_adapter<Space>();
  if constexpr (DeviceSpace<Space> && requires {
                  { policy.base().space() } -> std::convertible_to<Space const&>;
                }) {
    Space const& given = policy.base().space();
    if (Space const own; !spec.space->device()->same_queue(&given, &own)) {
      spec.space = &AdapterOf<Space>::get(given);
      spec.instance = &given;
    }
  }
}

/// Describes a body of this type to the engine. `Ops` is OpsOf or FusableOpsOf.
template <class Body, class Ops, class Space, class RunsOn>
inline constexpr BodyForm body_form{&Ops::ops, sizeof(Body), alignof(Body),
                                    late_ops<Body, Space, RunsOn>(), has_result_v<Body>};

/// Submits with the final annotations, which have no open resource. `has_opened` says whether there
/// were any, so that their pieces must be checked.
template <class Reached, class Offloads, bool is_checked, bool has_opened, class... Annotations>
TaskHandle submit_annotated(NewTask& task, Annotations const&... annotations) {
  if constexpr (is_checked) {
    if constexpr (has_opened)
      static_cast<void>(AllHold<MustReach<Reached, Annotations...>,
                                MustReachAsWell<Offloads, Annotations...>>::holds());
    (require_accessible<Reached>(task.spec.label, annotations), ...);
    if constexpr (!std::is_void_v<Offloads>)
      (require_accessible<Offloads>(task.spec.label, annotations), ...);
  }
  (task.take(annotations), ...);
  return task.send();
}

/// Submits with the annotations of the policy, and those that come from elsewhere. (It knows
/// nothing of the body, so it is compiled once for each list of annotations.)
template <class Reached, class Offloads, bool is_checked, bool has_open, class... Annotations,
          class... More>
TaskHandle submit_with(Target const& target, NewTask& task,
                       std::tuple<Annotations...> const& annotations, More const&... more) {
  return std::apply(
      [&](auto const&... annotation) {
        if constexpr (has_open) {
          Opening<Reached, Hooks::call> opening(&target);
          TaskHandle const handle = opening.open(
              [&](auto const&... piece) {
                return submit_annotated<Reached, Offloads, is_checked, true>(task, piece...);
              },
              annotation..., more...);
          opening.submitted();
          return handle;
        } else {
          return submit_annotated<Reached, Offloads, is_checked, false>(task, annotation...,
                                                                        more...);
        }
      },
      annotations);
}

/// Submits like submit_made, for a body without arguments that are bound late, or with the sources
/// of these.
template <class Space, class Base, class... Annotations, class Make, class... More>
TaskHandle submit_body(Label&& label, ResourcePolicy<Base, Annotations...> const& policy,
                       Make&& make, SpaceAdapter* home, More const&... more) {
  static_assert(!std::is_void_v<Space> || !(is_device_v<Annotations> || ...),
                "Trellis: a host_task runs on no device");
  static_assert((std::size_t{is_task_number_v<Annotations>} + ... + 0) <= 1,
                "Trellis: a task has one number: number(k)");
  using Place = PlaceOf<Space, Annotations...>;
  using Reached = typename Place::reached;
  using RunsOn = typename Place::runs_on;
  using Made = decltype(make());
  constexpr bool has_open =
      (is_open_access_v<Annotations> || ...) || (is_open_access_v<More> || ...);
  constexpr bool is_checked = !Made::traits.copies_between_spaces;
  if constexpr (is_checked)
    static_cast<void>(
        AllHold<MustReach<Reached, Annotations...>, MustReach<Reached, More...>>::holds());
  constexpr bool is_fusable = (is_fusable_v<Annotations> || ...);
  using Offloads = typename OffloadsTo<RunsOn, Annotations...>::type;
  constexpr bool is_fused_on_device = is_fusable &&
                                      has_kernel_form<typename PlainBodyOf<Made>::type> &&
                                      (is_asynchronous<RunsOn>() || is_asynchronous<Offloads>());
  if constexpr (is_fusable) {
    using Plain = typename PlainBodyOf<Made>::type;
    static_assert(has_kernel_form<Plain> || is_plain_call<Plain>,
                  "Trellis: fusable goes with parallel_for over a number, a RangePolicy or an "
                  "MDRangePolicy, and with host_task without a TaskScope or Completion");
    static_assert(
        has_kernel_form<Plain> || std::is_void_v<Offloads>,
        "Trellis: fusable_on<Space> goes with parallel_for; a host_task stays on the host");
  }
  using B = BodyAs<Made, is_fused_on_device>;
  using Ops = typename std::conditional_t<
      is_fusable, std::type_identity<FusableOpsOf<B, typename Place::space, RunsOn, Offloads>>,
      std::type_identity<OpsOf<B, typename Place::space, RunsOn>>>::type;
  auto const construct = [&make](void* storage) {
    if constexpr (is_fused_on_device)
      ::new (storage) B{make(), nullptr};
    else
      ::new (storage) B(make());
  };
  RequestRoom<sizeof...(Annotations) + sizeof...(More)> room;
  NewTask task(std::move(label), body_form<B, Ops, typename Place::space, RunsOn>, construct,
               policy.target(), room);
  if constexpr (!std::is_void_v<RunsOn>) choose_device<RunsOn>(task.spec, policy);
  if (home != nullptr && !(is_device_v<Annotations> || ...)) task.spec.space = home;
  return submit_with<Reached, Offloads, is_checked, has_open>(policy.target(), task,
                                                              policy.annotations(), more...);
}

/// Submits a task. The body gets an instance of `Space` (void for a host task), and runs there or
/// where `on<...>` says. `make()` makes the body in its final place. `home` is where its data is,
/// if that matters. `more` are annotations that come from elsewhere, such as the accesses of
/// results.
template <class Space, class Base, class... Annotations, class Make, class... More>
TaskHandle submit_made(Label&& label, ResourcePolicy<Base, Annotations...> const& policy,
                       Make&& make, SpaceAdapter* home, More const&... more) {
  using Reached = typename PlaceOf<Space, Annotations...>::reached;
  constexpr bool has_late = is_late_count_v<Base> ||
                            (has_late_arguments_v<Annotations, Reached> || ...) ||
                            (has_late_arguments_v<More, Reached> || ...);
  if constexpr (!has_late) {
    return submit_body<Space>(std::move(label), policy, make, home, more...);
  } else {
    auto const sources = std::tuple_cat(
        sources_of_base(policy.base()), sources_in<Reached>(policy.annotations(), policy.target()),
        sources_in<Reached>(std::tuple<More const&...>(more...), policy.target()));
    auto const make_it = [&] { return make_with_late(make, sources); };
    auto const send = [&]<class... OfBase>(OfBase const&... of_base) {
      if constexpr ((is_value_v<Annotations> || ...) || (waits_for_tasks_v<OfBase> || ...))
        if (policy.target().collector() != nullptr) refuse_value_in_model(label);
      if constexpr (!std::is_void_v<Space> &&
                    ((is_value_v<Annotations> || ...) || (waits_for_tasks_v<OfBase> || ...))) {
        if (space_adapter<typename PlaceOf<Space, Annotations...>::runs_on>().device() != nullptr) {
          // Tasks on a device are launched ahead, but this one must not be launched before the host
          // has the values.
          auto const awaited_sources =
              std::tuple_cat(sources_of_base(policy.base()), futures_in(policy.annotations()));
          auto const make_wait = [&] { return make_await(awaited_sources); };
          AfterAll before;
          auto const take = [&]<class A>(A const& annotation) {
            if constexpr (is_value_v<A>) before.tasks.push_back(annotation.tasks[0]);
          };
          std::apply([&](auto const&... each) { (take(each), ...); }, policy.annotations());
          ResourcePolicy const on_host(policy.target(), std::move(before));
          TaskHandle const wait =
              submit_body<void>(Label(label), on_host, make_wait, nullptr, of_base...);
          After<1> const awaited{{}, {wait}};
          return submit_body<Space>(std::move(label), policy, make_it, home, more..., of_base...,
                                    awaited);
        }
      }
      return submit_body<Space>(std::move(label), policy, make_it, home, more..., of_base...);
    };
    return std::apply(send, annotations_of_base(policy.base()));
  }
}

/// Submits a task with an existing body.
template <class Space, class Policy, class Body, class... More>
TaskHandle submit(Label&& label, Policy const& policy, Body&& body, More const&... more) {
  SpaceAdapter* home = nullptr;
  if constexpr (requires { body.space(); }) home = &body.space();
  auto const make = [&]() -> std::remove_cvref_t<Body> { return std::forward<Body>(body); };
  return submit_made<Space>(std::move(label), policy, make, home, more...);
}

/// Returns how many threads the task has: those of a worker of its graph, or as many as it asks
/// for.
template <class Base, class... Annotations>
int threads_of(ResourcePolicy<Base, Annotations...> const& policy) {
  if constexpr ((std::is_same_v<Annotations, threads> || ...))
    return threads_of(policy.target(), std::get<threads>(policy.annotations()));
  else
    return threads_of(policy.target());
}

template <class Base>
struct IsTeamPolicy : std::false_type {};
template <class... P>
struct IsTeamPolicy<Kokkos::TeamPolicy<P...>> : std::true_type {};

/// Checks the base at the time of the call.
template <class Traits, class Base, class... Annotations>
void require_valid(Label const& label, ResourcePolicy<Base, Annotations...> const& policy) {
  [[maybe_unused]] Base const& base = policy.base();
  if constexpr (std::is_same_v<Base, Count>) {
    require_range<typename Traits::index_type>(label, base.n);
  } else if constexpr (IsTeamPolicy<Base>::value &&
                       !DeviceSpace<typename Traits::execution_space>) {
    if (has_auto_team_size(base)) return;
    if (int const threads = threads_of(policy); base.team_size() > threads)
      refuse_team(label, base.team_size(), threads);
  }
}

}  // namespace trellis::Impl

#endif
