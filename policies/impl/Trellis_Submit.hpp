// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SUBMIT_HPP
#define TRELLIS_IMPL_SUBMIT_HPP

#include <Trellis_AccessList.hpp>
#include <Trellis_DeviceAdapter.hpp>
#include <Trellis_Error.hpp>
#include <Trellis_ResourcePolicy.hpp>
#include <Trellis_Spaces.hpp>
#include <Trellis_TaskScope.hpp>
#include <access/Trellis_SmallVector.hpp>
#include <graph/Trellis_GraphDoor.hpp>
#include <graph/Trellis_ModelTasks.hpp>
#include <impl/Trellis_Fused.hpp>
#include <impl/Trellis_KernelName.hpp>
#include <numbers/Trellis_NumberClaim.hpp>
#include <numbers/Trellis_NumberTable.hpp>
#include <impl/Trellis_OpenAccess.hpp>
#include <impl/Trellis_Reachable.hpp>
#include <impl/Trellis_ViewAccess.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// The one way from the typed fronts into the engine.
namespace trellis::Impl {

/// What the user has handed over, without the Views that were bound to it.
template <class F>
auto const& functor_in(F const& functor) {
  if constexpr (requires { typename F::is_bound_functor; })
    return functor.held();
  else
    return functor;
}

/// A body has `run(void* instance, Label const&)`, a static `pattern`, a `result` when it has one,
/// and `finish()` when that comes after what `run` has launched. `launches_only`: on a
/// device, `run` calls nothing of the user's on the host, so a plan may launch what it has launched
/// once. It is written for instances of `Space`, and runs on `RunsOn`.
template <class Body, class Space, class RunsOn>
struct OpsOf {
  static void run(void* body, void* instance, Label const& label) {
    if constexpr (is_bound_late_v<Body>) static_cast<Body*>(body)->bind(label);
    RunOn<RunsOn>::template run<Space>(*static_cast<Body*>(body), instance, label);
  }
  static void destroy(void* body) noexcept { static_cast<Body*>(body)->~Body(); }
  static void fail(void* body, TaskId id, std::string const& text,
                   FailurePtr const& failure) noexcept {
    if constexpr (requires(Body& b) { b.result; })
      static_cast<Body*>(body)->result->fail(id, text, failure);
  }
  static void copy(void const* body, void* to) {
    ListsAreCopied const each_its_own;
    ::new (to) Body(*static_cast<Body const*>(body));
  }
  static std::span<std::byte const> captures(void const* body) {
    Body const& of = *static_cast<Body const*>(body);
    if constexpr (requires { of.callable_with_views(); }) {
      return of.callable_with_views();
    } else {
      auto const& functor = functor_in(of.functor);
      if constexpr (!std::is_empty_v<std::remove_cvref_t<decltype(functor)>>)
        return std::as_bytes(std::span(&functor, 1));
      return {};
    }
  }
  /// A lambda that captures something cannot be assigned to.
  template <class Functor>
  static constexpr bool is_closure_v =
      !std::is_empty_v<Functor> && !std::is_copy_assignable_v<Functor>;
  static int section_depth(void const* body) {
    if constexpr (requires(Body const& b) { typename decltype(b.callable)::is_section; })
      return static_cast<Body const*>(body)->callable.depth;
    return 0;
  }
  static void finish(void* body) {
    if constexpr (requires(Body& b) { b.finish(); }) static_cast<Body*>(body)->finish();
  }
  static constexpr TaskOps make_ops() {
    TaskOps ops{Body::pattern, &run, &destroy, &fail};
    if constexpr (std::is_trivially_destructible_v<Body>)
      ops.end = TaskOps::End::nothing;
    else if constexpr (requires { Body::ends_without_user; })
      ops.end = Body::ends_without_user ? TaskOps::End::plain : TaskOps::End::of_user;
    // Kokkos copies its functors, so they have copies; whether any callable has one its type need
    // not tell.
    if constexpr (requires { Body::kokkos_copies_it; }) {
      ops.copy = &copy;
      ops.size = sizeof(Body);
      // Who asks for a result may look at what the functor held.
      ops.may_be_kept = !std::is_trivially_destructible_v<Body> && !requires(Body& b) { b.result; };
      using Functor = std::remove_cvref_t<decltype(functor_in(std::declval<Body&>().functor))>;
      ops.captures = &captures;
      ops.takes_views = requires {
        typename std::remove_cvref_t<decltype(std::declval<Body&>().functor)>::is_bound_functor;
      };
      ops.is_closure = is_closure_v<Functor>;
      ops.leaves_only_views = !requires(Body& b) { b.result; };
    } else if constexpr (requires { Body::copies_between_spaces; }) {
      ops.leaves_only_views = true;
    } else if constexpr (requires(Body const& b) { b.callable_with_views(); }) {
      ops.captures = &captures;
      ops.takes_views = !std::is_same_v<std::tuple<>, decltype(std::declval<Body&>().views)>;
      ops.is_closure = is_closure_v<std::remove_cvref_t<decltype(std::declval<Body&>().callable)>>;
    }
    if constexpr (requires { Body::values_may_have_views; })
      if (Body::values_may_have_views) ops.captures = nullptr;
    ops.is_judged = true;
    if constexpr (requires { Body::may_give_up; }) {  // it is code of the user's
      ops.is_judged = !Body::may_give_up;
      ops.may_wait = true;
    }
    if constexpr (requires(Body& b) { typename decltype(b.callable)::is_section; })
      ops.section_depth = &section_depth;
    if constexpr (requires(Body& b) { b.finish(); }) ops.finish = &finish;
    if constexpr (is_foreign_v<RunsOn>)
      ops.launches_only = !is_bound_late_v<Body>;
    else if constexpr (requires { Body::launches_only; })
      ops.launches_only = Body::launches_only;
    return ops;
  }
  static constexpr TaskOps ops = make_ops();
};

/// The halves of a body that is bound late; see OpsOf.
template <class Body, class Space, class RunsOn>
struct LateOpsOf {
  using Plain = typename Body::plain_body;
  static void bind(void* body, Label const& label) { static_cast<Body*>(body)->bind(label); }
  static void run(void* body, void* instance, Label const& label) {
    RunOn<RunsOn>::template run<Space>(static_cast<Plain&>(*static_cast<Body*>(body)), instance,
                                       label);
  }
  static constexpr bool launches_only() {
    if constexpr (is_foreign_v<RunsOn>)
      return true;
    else if constexpr (requires { Plain::launches_only; })
      return Plain::launches_only;
    else
      return false;
  }
  static constexpr LateOps ops{&bind, &run, launches_only(), Body::stays_in_a_pass};
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
  /// Before 5.2 it takes Kokkos longer to say whether there is a tool than to tell it something.
  static bool may_listen() {
    return KOKKOS_VERSION < 50200 || Kokkos::Profiling::profileLibraryLoaded();
  }
  bool const m_is_shown;
};

template <class A>
struct PropertyTraits {
  static constexpr std::size_t after_count = 0;
  static constexpr bool is_tag = false;
};
template <std::size_t N>
struct PropertyTraits<After<N>> {
  static constexpr std::size_t after_count = N;
  static constexpr bool is_tag = false;
};
template <class T>
struct PropertyTraits<ValueOf<T>> {
  static constexpr std::size_t after_count = 1;
  static constexpr bool is_tag = false;
};
template <class A>
inline constexpr bool is_task_number_v = std::is_same_v<std::remove_cvref_t<A>, number>;
template <class A>
inline constexpr bool is_after_numbers_v =
    requires(A const& annotation) { annotation.numbers.data()->valid(); };
template <class A>
inline constexpr bool is_after_all_v =
    std::is_same_v<std::remove_cvref_t<A>, AfterAll> || is_after_numbers_v<A>;
/// Does it name tasks that the task comes after?
template <class A>
inline constexpr bool waits_for_tasks_v = is_after_all_v<A> || PropertyTraits<A>::after_count > 0;
template <class T>
struct PropertyTraits<Tagged<T>> {
  static constexpr std::size_t after_count = 0;
  static constexpr bool is_tag = true;
  static TagPtr make(Tagged<T> const& tagged) {
    return make_shared_unlocked<TagOf<T>>(tagged.value);
  }
};

/// A list of accesses knows when it is submitted whether its Views can be reached.
template <class Space, class A>
void require_accessible(Label const& label, A const& annotation) {
  if constexpr (is_list_v<A>) AccessListDoor::require_accessible<Space>(list_of(annotation), label);
}

/// The accesses of all annotations for the length of a call. One list alone has them already.
template <class... Annotations>
auto all_requests_of(Annotations const&... annotations) {
  constexpr std::size_t accesses = (std::size_t{is_access_v<Annotations>} + ... + 0);
  if constexpr (accesses == 1 && (is_list_v<Annotations> || ...)) {
    std::span<AccessRequest const> requests;
    auto const look = [&](auto const& annotation) {
      if constexpr (is_list_v<decltype(annotation)>)
        requests = AccessListDoor::requests(list_of(annotation));
    };
    (look(annotations), ...);
    return requests;
  } else {
    return requests_of(annotations...);
  }
}

/// What the handles of tasks of the target's graph have in common.
inline TaskHandle graph_of(Target const& target) {
  if (TaskScope* const scope = target.scope()) return ScopeDoor::handle(*scope);
  if (TaskGraph* const graph = target.graph()) return GraphDoor::handle(*graph);
  return target.other();
}

/// The number of the task; null: it has none.
template <class... Annotations>
TaskNumber const* number_in(Annotations const&... annotations) {
  constexpr bool has_one = (std::size_t{is_task_number_v<Annotations>} + ... + 0) <= 1;
  static_assert(has_one, "Trellis: a task has one number: number(k)");
  TaskNumber const* found = nullptr;
  [[maybe_unused]] auto const look = [&](auto const& annotation) {
    if constexpr (is_task_number_v<decltype(annotation)>) found = &annotation.value;
  };
  (look(annotations), ...);
  return found;
}

/// The same policy; of several tasks that one call submits only the one whose future is returned
/// `has_it`, the number.
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

/// The tasks of all `after(...)` among the annotations, as many as there are at run time. One such
/// annotation alone has them already.
class TasksBefore {
 public:
  /// `task`: that is to come after these.
  template <class... Annotations>
  TasksBefore(Target const& target, Label const& task, Annotations const&... annotations) {
    constexpr bool has_numbers = (is_after_numbers_v<Annotations> || ...);
    constexpr std::size_t count =
        (std::size_t{is_after_all_v<Annotations> || PropertyTraits<Annotations>::after_count > 0} +
         ... + std::size_t{has_numbers});
    auto const take = [&](auto const& annotation) {
      using A = std::remove_cvref_t<decltype(annotation)>;
      if constexpr (is_after_all_v<A> || PropertyTraits<A>::after_count > 0) {
        if constexpr (count > 1)
          for (TaskHandle const& before : annotation.tasks) m_tasks.push_back(before);
        else
          m_all = annotation.tasks;
        if constexpr (is_after_numbers_v<A>)
          for_each_task_of(annotation.numbers, graph_of(target), task,
                           [&](TaskHandle const& before) { m_tasks.push_back(before); });
      }
    };
    (take(annotations), ...);
    if constexpr (count > 1) m_all = {m_tasks.begin(), m_tasks.size()};
  }
  TasksBefore(TasksBefore const&) = delete;
  TasksBefore& operator=(TasksBefore const&) = delete;
  [[nodiscard]] std::span<TaskHandle const> all() const { return m_all; }

 private:
  SmallVector<TaskHandle, 8> m_tasks;
  std::span<TaskHandle const> m_all;
};

inline SpaceAdapter* space_with(Target const& target, SpaceAdapter* space, AskedThreads threads,
                                Label const& task) {
  if (TaskScope* const scope = target.scope())
    return GraphDoor::space_with(ScopeDoor::handle(*scope), space, threads, task);
  if (TaskGraph* const graph = target.graph())
    return GraphDoor::space_with(*graph, space, threads, task);
  return GraphDoor::space_with(target.other(), space, threads, task);
}

/// The operations of a task that may run as one with others. `Deploys`: the space to whose devices
/// batches may go; void: none.
template <class Body, class Space, class RunsOn, class Deploys>
struct FusableOpsOf {
  static constexpr TaskOps make_ops() {
    TaskOps ops = OpsOf<Body, Space, RunsOn>::make_ops();
    using Plain = typename PlainBodyOf<Body>::type;
    if constexpr (has_kernel_form<Plain>)
      ops.fusion = &FusionOf<Body, Space, RunsOn, Deploys>::ops;
    else
      ops.fusion = &FusionOfCalls<Body>::ops;
    return ops;
  }
  static constexpr TaskOps ops = make_ops();
};

/// Of a fusable task that may be launched on a device as one with others.
template <class Made, bool is_on_device>
using BodyAs = std::conditional_t<is_on_device, FusableBody<Made>, Made>;

template <class A>
inline constexpr bool is_device_v = std::is_same_v<std::remove_cvref_t<A>, device>;

/// The device, and the stream if the user gave one with the base policy.
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

/// With all annotations as they are in the end: no open resource is among them. `Place` says where
/// the task runs; `has_opened`: whether there were any.
template <class Place, bool has_opened, class Policy, class Make, class... Annotations>
TaskHandle submit_annotated(Label&& label, Policy const& policy, Make& make, SpaceAdapter* home,
                            Annotations const&... annotations) {
  using RunsOn = typename Place::runs_on;
  using Made = decltype(make());
  constexpr bool is_fusable = (is_fusable_v<Annotations> || ...);
  if constexpr (is_fusable) {
    using Plain = typename PlainBodyOf<Made>::type;
    static_assert(has_kernel_form<Plain> || is_plain_call<Plain>,
                  "Trellis: fusable goes with parallel_for over a number, a RangePolicy or an "
                  "MDRangePolicy, and with host_task without a TaskScope or Completion");
  }
  using Deploys = typename DeploysTo<RunsOn, Annotations...>::type;
  constexpr bool has_kernel = has_kernel_form<typename PlainBodyOf<Made>::type>;
  static_assert(has_kernel || std::is_void_v<Deploys>,
                "Trellis: fusable_on<Space> goes with parallel_for; a host_task stays on the host");
  constexpr bool is_fused_on_device =
      is_fusable && has_kernel && (is_asynchronous<RunsOn>() || is_asynchronous<Deploys>());
  using B = BodyAs<Made, is_fused_on_device>;
  using Reached = typename Place::reached;
  if constexpr (!requires { B::copies_between_spaces; }) {
    static_assert(!has_opened || MustReach<Reached, Annotations...>::value);
    (require_accessible<Reached>(label, annotations), ...);
    static_assert(!has_opened || MustReachAsWell<Deploys, Annotations...>::value);
    if constexpr (!std::is_void_v<Deploys>) (require_accessible<Deploys>(label, annotations), ...);
  }

  constexpr std::size_t after_count = (PropertyTraits<Annotations>::after_count + ... + 0);
  constexpr std::size_t tag_count = (std::size_t{PropertyTraits<Annotations>::is_tag} + ... + 0);
  std::array<TagPtr, tag_count> tags;
  std::array<TaskHandle, after_count> before;
  std::size_t before_done = 0;
  [[maybe_unused]] std::size_t tags_done = 0;

  auto construct = [&](void* storage) {
    if constexpr (is_fused_on_device)
      ::new (storage) B{make(), nullptr};
    else
      ::new (storage) B(make());
  };
  using Ops = std::conditional_t<
      is_fusable, std::type_identity<FusableOpsOf<B, typename Place::space, RunsOn, Deploys>>,
      std::type_identity<OpsOf<B, typename Place::space, RunsOn>>>;
  TaskSpec spec(std::move(label), Ops::type::ops, sizeof(B), alignof(B), construct);
  if constexpr (!std::is_void_v<RunsOn>) choose_device<RunsOn>(spec, policy);
  if (home != nullptr && !(is_device_v<Annotations> || ...)) spec.space = home;

  [[maybe_unused]] auto const take = [&](auto const& annotation) {
    using A = std::remove_cvref_t<decltype(annotation)>;
    if constexpr (PropertyTraits<A>::is_tag) {
      tags[tags_done++] = PropertyTraits<A>::make(annotation);
    } else if constexpr (PropertyTraits<A>::after_count > 0) {
      for (TaskHandle const& task : annotation.tasks) before[before_done++] = task;
    } else if constexpr (std::is_same_v<A, priority>) {
      spec.priority = annotation.value;
    } else if constexpr (std::is_same_v<A, threads>) {
      spec.space = space_with(policy.target(), spec.space,
                              AskedThreads(annotation.count, annotation.is_most), spec.label);
    } else if constexpr (std::is_same_v<A, MainThread>) {
      spec.main_thread = annotation.is_bound;
    } else if constexpr (std::is_same_v<A, Synchronizing>) {
      spec.synchronizing = true;
    }
  };
  (take(annotations), ...);
  auto const accesses = all_requests_of(annotations...);
  spec.accesses = accesses;
  spec.tags = tags;
  auto const send = [&] {
    if (TaskCollector* const collector = policy.target().collector())
      return collector->collect(
          std::move(spec), requires(B& body) { body.result; },
          late_ops<B, typename Place::space, RunsOn>());
    if (TaskScope* const scope = policy.target().scope())
      return GraphDoor::submit_part(ScopeDoor::handle(*scope), std::move(spec));
    if (TaskGraph* const graph = policy.target().graph())
      return GraphDoor::submit(*graph, std::move(spec));
    return GraphDoor::submit_beside(policy.target().other(), std::move(spec));
  };
  if constexpr ((is_task_number_v<Annotations> || ...) || (is_after_numbers_v<Annotations> || ...))
    if (policy.target().collector() != nullptr) refuse_numbers_in_model(spec.label);
  auto const send_numbered = [&] {
    if constexpr ((is_task_number_v<Annotations> || ...)) {
      NumberClaim claim(*number_in(annotations...), graph_of(policy.target()), spec.label);
      spec.number = &claim;
      return send();
    } else {
      return send();
    }
  };
  if constexpr ((is_after_all_v<Annotations> || ...)) {
    TasksBefore const tasks(policy.target(), spec.label, annotations...);
    spec.after = tasks.all();
    return send_numbered();
  } else {
    spec.after = before;
    return send_numbered();
  }
}

/// As submit_made, for a body without arguments that are bound late, or with the sources of these.
template <class Space, class Base, class... Annotations, class Make, class... More>
TaskHandle submit_body(Label&& label, ResourcePolicy<Base, Annotations...> const& policy,
                       Make&& make, SpaceAdapter* home, More const&... more) {
  static_assert(!std::is_void_v<Space> || !(is_device_v<Annotations> || ...),
                "Trellis: a host_task runs on no device");
  using Place = PlaceOf<Space, Annotations...>;
  constexpr bool has_open =
      (is_open_access_v<Annotations> || ...) || (is_open_access_v<More> || ...);
  if constexpr (!requires { decltype(make())::copies_between_spaces; }) {
    static_assert(has_open || MustReach<typename Place::reached, Annotations...>::value);
    static_assert(MustReach<typename Place::reached, More...>::value);
  }
  auto const send = [&](auto const&... annotation) {
    return submit_annotated<Place, has_open>(std::move(label), policy, make, home, annotation...);
  };
  return std::apply(
      [&](auto const&... annotation) {
        if constexpr (has_open) {
          Target const target = policy.target();
          Opening<typename Place::reached, Hooks::call> opening(&target);
          TaskHandle const task = opening.open(send, annotation..., more...);
          opening.submitted();
          return task;
        } else {
          return send(annotation..., more...);
        }
      },
      policy.annotations());
}

/// `Space`: whose instance the body is given, void for a host task; it runs there, or where
/// `on<...>` says. `make()`: the body, which is made where it stays. `home`: where its data is, if
/// that matters. `more`: annotations that come from elsewhere, as the accesses of results.
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
          // A device launches ahead: its tasks must not be launched before the host has the values.
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

/// The same for a body that is there.
template <class Space, class Policy, class Body, class... More>
TaskHandle submit(Label&& label, Policy const& policy, Body&& body, More const&... more) {
  SpaceAdapter* home = nullptr;
  if constexpr (requires { body.space(); }) home = &body.space();
  auto const make = [&]() -> std::remove_cvref_t<Body> { return std::forward<Body>(body); };
  return submit_made<Space>(std::move(label), policy, make, home, more...);
}

/// Of each worker of the graph that the task goes to, or as many as it says.
template <class Base, class... Annotations>
int threads_of(ResourcePolicy<Base, Annotations...> const& policy) {
  Target const target = policy.target();
  if constexpr ((std::is_same_v<Annotations, threads> || ...)) {
    auto const& said = std::get<threads>(policy.annotations());
    AskedThreads const asked(said.count, said.is_most);
    if (TaskGraph* const graph = target.graph()) return GraphDoor::threads_of(*graph, asked);
    TaskScope* const scope = target.scope();
    return GraphDoor::threads_of(scope != nullptr ? ScopeDoor::handle(*scope) : target.other(),
                                 asked);
  } else {
    if (TaskGraph* const graph = target.graph()) return graph->threads_per_worker();
    TaskScope* const scope = target.scope();
    return GraphDoor::threads_per_worker(scope != nullptr ? ScopeDoor::handle(*scope)
                                                          : target.other());
  }
}

template <class Base>
struct IsTeamPolicy : std::false_type {};
template <class... P>
struct IsTeamPolicy<Kokkos::TeamPolicy<P...>> : std::true_type {};

/// Kokkos would end the program, on the worker.
[[noreturn, gnu::noinline, gnu::cold]] inline void refuse_team(Label const& label, int size,
                                                               int threads) {
  refuse_base(label, "asks for teams of " + std::to_string(size) + " threads, but has " +
                         std::to_string(threads) +
                         ": set TaskGraphOptions::threads_per_worker (or "
                         "TRELLIS_THREADS_PER_WORKER), say threads(" +
                         std::to_string(size) + "), or use Kokkos::AUTO");
}

/// What the base says at the time of the call.
template <class Traits, class Base, class... Annotations>
void require_valid(Label const& label, ResourcePolicy<Base, Annotations...> const& policy) {
  [[maybe_unused]] Base const& base = policy.base();
  if constexpr (std::is_same_v<Base, Count>) {
    require_range<typename Traits::index_type>(label, base.n);
  } else if constexpr (IsTeamPolicy<Base>::value &&
                       !DeviceSpace<typename Traits::execution_space>) {
    if (base.impl_auto_team_size()) return;
    if (int const threads = threads_of(policy); base.team_size() > threads)
      refuse_team(label, base.team_size(), threads);
  }
}

}  // namespace trellis::Impl

#endif
