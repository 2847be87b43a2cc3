// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_BARETASK_HPP
#define TRELLIS_TEST_BARETASK_HPP

#include <Trellis_Future.hpp>
#include <Trellis_TaskNumber.hpp>
#include <Trellis_Graph.hpp>
#include <Trellis_Tag.hpp>
#include <Trellis_Access.hpp>
#include <Trellis_TaskGraph.hpp>
#include <impl/Trellis_FusionOps.hpp>
#include <graph/Trellis_GraphInternals.hpp>
#include <task/Trellis_NumberClaim.hpp>
#include <task/Trellis_NumberedTasks.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "WithWorkers.hpp"

/// Tasks for tests of core/ alone: what `host_task` is, without Kokkos. Resources are blocks of
/// labelled memory.
namespace trellis::Bare {

/// Some bytes of a resource.
struct Place {
  Impl::Area area;
  std::string label;
  std::uintptr_t begin;
  std::uintptr_t end;
};

/// Labelled memory, zero at first.
class Block {
 public:
  explicit Block(std::string label, std::size_t size = 1)
      : m_label(std::move(label)), m_values(size, 0) {}

  [[nodiscard]] long& operator[](std::size_t k) { return m_values[k]; }
  [[nodiscard]] Place operator()(std::size_t first, std::size_t count) const {
    auto const begin = reinterpret_cast<std::uintptr_t>(m_values.data());
    return {Impl::Area::contiguous(m_values.data() + first, count * sizeof(long)), m_label, begin,
            begin + m_values.size() * sizeof(long)};
  }
  operator Place() const { return (*this)(0, m_values.size()); }

 private:
  std::string m_label;
  std::vector<long> m_values;
};

struct Touch {
  Mode mode;
  Place place;
  Impl::StatePtr state = nullptr;
};
/// In a state of the test's own.
template <AccessState State>
Touch touches(Place place, State const& state) {
  return {Mode::write, std::move(place), Impl::make_shared_unlocked<Impl::StateOf<State>>(state)};
}
inline Touch nothing(Place place) {
  return {Mode::none, std::move(place)};
}
inline Touch reads(Place place) {
  return {Mode::read, std::move(place)};
}
inline Touch writes(Place place) {
  return {Mode::write, std::move(place)};
}
inline Touch updates(Place place) {
  return {Mode::read_write, std::move(place)};
}
inline Touch adds(Place place) {
  return {Mode::atomic_add, std::move(place)};
}
inline Touch multiplies(Place place) {
  return {Mode::atomic_mul, std::move(place)};
}
inline Touch excludes(Place place) {
  return {Mode::exclusive, std::move(place)};
}

struct Properties {
  int priority = 0;
  bool main_thread = false;
  bool synchronizing = false;
  bool fusable = false;
  std::vector<Impl::TaskHandle> after{};
  Impl::SpaceAdapter* space = nullptr;
  void const* instance = nullptr;  ///< of a device
  std::vector<Impl::TagPtr> tags{};
  Impl::TaskHandle owner{};  ///< of a child
  TaskNumber number{};
  std::vector<TaskNumber> after_numbers{};
};
inline Properties numbered(TaskNumber number, std::vector<TaskNumber> after = {}) {
  Properties properties;
  properties.number = number;
  properties.after_numbers = std::move(after);
  return properties;
}
inline Properties after_numbers(std::vector<TaskNumber> after) {
  return numbered({}, std::move(after));
}
template <TagValue T>
Properties tagged(T value) {
  Properties properties;
  properties.tags = {Impl::make_shared_unlocked<Impl::TagOf<T>>(std::move(value))};
  return properties;
}
template <class... T>
std::vector<Impl::TaskHandle> handles(Future<T> const&... futures) {
  return {Impl::FutureInternals::handle(futures)...};
}

template <class F, class Value>
struct Body {
  F f;
  Impl::ResultPtr<Value> result;

  decltype(auto) call(void* instance) {
    if constexpr (std::is_invocable_v<F&, void*>)
      return f(instance);
    else
      return f();
  }
  static void run(void* body, void* instance, Label const&) {
    Body& self = *static_cast<Body*>(body);
    if constexpr (std::is_void_v<Value>)
      self.call(instance);
    else
      self.result->value.emplace(self.call(instance));
  }
  static void destroy(void* body) noexcept { static_cast<Body*>(body)->~Body(); }
  static void finish(void* body) {
    if constexpr (requires(F& functor) { functor.finish(); }) static_cast<Body*>(body)->f.finish();
  }
  static void fail(void* body, TaskId id, std::string const& text,
                   Impl::FailurePtr const& failure) noexcept {
    if constexpr (!std::is_void_v<Value>) static_cast<Body*>(body)->result->fail(id, text, failure);
  }
  static constexpr Impl::TaskOps make_ops() {
    Impl::TaskOps made{"host_task", &run, &destroy, &fail};
    made.finish = &finish;
    made.launches_only = requires { F::launches_only; };
    made.may_be_deferred = requires { F::may_be_deferred; };
    return made;
  }
  static constexpr Impl::TaskOps ops = make_ops();

  /// One after the other on the device's instance, as one.
  static void run_all(std::span<void* const> bodies, void* instance, Label const& label,
                      std::size_t& at) {
    for (at = 0; at < bodies.size(); ++at) run(bodies[at], instance, label);
  }
  static bool loops(void*) { return true; }
  static std::string name() { return "bare task"; }
  static constexpr Impl::FusionOps fusion{
      &name, std::is_invocable_v<F&, void*> ? &run_all : nullptr, &loops};
  static constexpr Impl::TaskOps fusable_ops = [] {
    Impl::TaskOps fusable = make_ops();
    fusable.fusion = &fusion;
    return fusable;
  }();
};

template <class F>
auto result_of(F&) {
  if constexpr (std::is_invocable_v<F&, void*>)
    return std::type_identity<std::invoke_result_t<F&, void*>>{};
  else
    return std::type_identity<std::invoke_result_t<F&>>{};
}

inline void describe(void const* subject, Impl::ResourceInfo& info) {
  auto const& place = *static_cast<Place const*>(subject);
  info = {place.label, place.begin, place.end};
}
inline bool may_have_label(void const* subject, std::string const& label) {
  return static_cast<Place const*>(subject)->label == label;
}

inline constexpr Impl::SubjectOps place_ops{&describe, &may_have_label};

inline std::vector<Impl::AccessRequest> requests_of(std::vector<Touch> const& touches) {
  std::vector<Impl::AccessRequest> accesses;
  for (Touch const& touch : touches)
    accesses.push_back({touch.place.area, touch.mode, &touch.place, &place_ops,
                        touch.state != nullptr ? &touch.state : nullptr});
  return accesses;
}

/// Submits `f`, which is called without arguments, or with the instance of a task on
/// `properties.space`.
template <class F, class Submit>
auto submit_with(Submit submit, Impl::TaskHandle const& graph, Label label,
                 std::vector<Touch> const& touches, F f, Properties const& properties) {
  using Value = typename decltype(result_of(f))::type;
  using B = Body<F, Value>;
  std::vector<Impl::AccessRequest> const accesses = requests_of(touches);
  std::array<Impl::ResultPtr<Value>, 2> result;
  if constexpr (!std::is_void_v<Value>) result = Impl::ResultPtr<Value>::make();
  auto const construct = [&](void* storage) {
    ::new (storage) B{std::move(f), std::move(result[0])};
  };
  Impl::TaskSpec spec(std::move(label), properties.fusable ? B::fusable_ops : B::ops, sizeof(B),
                      alignof(B), construct);
  spec.space = properties.space;
  spec.instance = properties.instance;
  spec.accesses = accesses;
  std::vector<Impl::TaskHandle> before = properties.after;
  Impl::for_each_task_of(properties.after_numbers, graph, spec.label,
                         [&](Impl::TaskHandle const& task) { before.push_back(task); });
  spec.after = before;
  spec.priority = properties.priority;
  spec.main_thread = properties.main_thread;
  spec.synchronizing = properties.synchronizing;
  spec.tags = properties.tags;
  Impl::NumberClaim claim(properties.number, graph, spec.label);
  if (properties.number.valid()) spec.number = &claim;
  Impl::TaskHandle const handle = submit(std::move(spec));
  if constexpr (std::is_void_v<Value>)
    return Impl::FutureInternals::make(handle);
  else
    return Impl::FutureInternals::make(handle, std::move(result[1]));
}

/// To a graph.
template <class F>
auto task(TaskGraph& graph, Label label, std::vector<Touch> const& touches, F f,
          Properties const& properties = {}) {
  return submit_with(
      [&](Impl::TaskSpec&& spec) { return Impl::GraphInternals::submit(graph, std::move(spec)); },
      Impl::GraphInternals::handle(graph), std::move(label), touches, std::move(f), properties);
}

/// The task whose body calls this.
inline Impl::TaskHandle self() {
  return Impl::GraphInternals::running();
}
/// A child of the task whose body calls this.
template <class F>
auto part_of(Impl::TaskHandle const& owner, Label label, std::vector<Touch> const& touches, F f,
             Properties const& properties = {}) {
  return submit_with(
      [&](Impl::TaskSpec&& spec) {
        return Impl::GraphInternals::submit_child(owner, std::move(spec));
      },
      owner, std::move(label), touches, std::move(f), properties);
}
template <class F>
auto child(Label label, std::vector<Touch> const& touches, F f, Properties const& properties = {}) {
  return part_of(self(), std::move(label), touches, std::move(f), properties);
}
inline void wait_for_children() {
  Impl::GraphInternals::wait_for_children(self());
}
inline void demote(std::vector<Touch> const& to) {
  Impl::GraphInternals::demote(self(), requests_of(to));
}
inline void release(Place const& place) {
  Impl::GraphInternals::release(self(), requests_of({nothing(place)}));
}
inline void make_local(Place const& place) {
  Impl::GraphInternals::add_local(self(), requests_of({writes(place)}).front());
}
template <class Split>
bool refine(Future<void> const& future, Split split) {
  return Impl::GraphInternals::refine(Impl::FutureInternals::handle(future),
                                      [&](Impl::TaskHandle const& owner) { split(owner); });
}

/// Waits without running tasks, as the caller may be what one of them waits for.
template <class T>
void until_done(Future<T> const& future) {
  while (!future.is_done()) std::this_thread::yield();
}

/// The edges of a graph as "a>b", those of another reason than access with it; sorted.
inline std::vector<std::string> edges_of(Graph const& graph) {
  std::vector<std::string> texts;
  for (EdgeRecord const& edge : graph.edges()) {
    std::string text = graph.node(edge.from).label + '>' + graph.node(edge.to).label;
    if (edge.reason != EdgeReason::access) text += ' ' + std::string(to_string(edge.reason));
    if (edge.released) text += " released";
    texts.push_back(text);
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

/// What the error says that `f` throws, or "no error".
template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (Error const& error) {
    return error.what();
  }
  return "no error";
}

using Test::with_workers;
inline TaskGraphOptions capped(int workers, std::size_t in_flight) {
  TaskGraphOptions options = with_workers(workers);
  options.in_flight = in_flight;
  return options;
}
inline TaskGraphOptions recorded(int workers) {
  TaskGraphOptions options = with_workers(workers);
  options.record = true;
  return options;
}

}  // namespace trellis::Bare

#endif
