// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_VARIANTS_HPP
#define TRELLIS_VARIANTS_HPP

#include <Trellis_Error.hpp>
#include <annotations/Trellis_ResourcePolicy.hpp>
#include <common/Trellis_RunOn.hpp>
#include <fields/Trellis_FieldGraph.hpp>
#include <fields/Trellis_FieldTarget.hpp>
#include <fields/impl/Trellis_MovePolicy.hpp>
#include <patterns/Trellis_ParallelFor.hpp>
#include <patterns/Trellis_ParallelReduce.hpp>
#include <patterns/Trellis_ParallelScan.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

/// With this header a task of a model may run at several of its targets: at each target for whose
/// space it has a form. The model's placement policy chooses before an iteration.
///
///     parallel_for("flux", ResourcePolicy(model, n, read(T), write(q),
///                                         runs_on<Kokkos::Serial, Kokkos::Cuda>), Flux{});
///     parallel_for("solve", ResourcePolicy(model, n, read(b), write(x)),
///                  variants(for_space<Kokkos::Serial>(Solve{}),
///                           for_space<Kokkos::Cuda>(Other{})));
///
/// The policy's base is made anew for each space. A range keeps its bounds; one of several
/// dimensions also keeps the requested tile. Teams keep their number, scratch memory and, on
/// devices, their size. Kokkos makes its own choices for each space. `on<Space>` and `device(n)`
/// say where a task runs, and leave no choice.
namespace trellis {

namespace Impl {

template <class... Spaces>
struct RunsOneOf : Property {
  static_assert(sizeof...(Spaces) > 0 && (Kokkos::is_execution_space_v<Spaces> && ...),
                "Trellis: runs_on<...> takes Kokkos execution spaces");
};
template <class Space, class Functor>
struct SpaceVariant {
  static_assert(Kokkos::is_execution_space_v<Space>,
                "Trellis: for_space<...> takes a Kokkos execution space");
  Functor functor;
};
template <class... Each>
struct Variants {
  std::tuple<Each...> each;
};

}  // namespace Impl

/// Lists the spaces that a task of a model may run on, with one functor for all. Among several host
/// spaces the first one counts.
template <class... Spaces>
inline constexpr Impl::RunsOneOf<Spaces...> runs_on{};

/// Returns a functor for one space.
template <class Space, class Functor>
[[nodiscard]] Impl::SpaceVariant<Space, Functor> for_space(Functor functor) {
  return {std::move(functor)};
}

/// Returns the functor of one task, which differs from space to space.
template <class... Space, class... Functor>
[[nodiscard]] Impl::Variants<Impl::SpaceVariant<Space, Functor>...> variants(
    Impl::SpaceVariant<Space, Functor>... each) {
  return {{std::move(each)...}};
}

namespace Impl {

template <class A>
inline constexpr bool is_runs_on_v = false;
template <class... Spaces>
inline constexpr bool is_runs_on_v<RunsOneOf<Spaces...>> = true;
template <class F>
inline constexpr bool is_variants_v = false;
template <class... Each>
inline constexpr bool is_variants_v<Variants<Each...>> = true;
template <class Functor, class... Annotations>
inline constexpr bool has_forms_v =
    is_variants_v<std::remove_cvref_t<Functor>> || (is_runs_on_v<Annotations> || ...);
template <class A>
inline constexpr bool is_on_v = false;
template <class Space>
inline constexpr bool is_on_v<On<Space>> = true;

/// Takes the place of the model while the forms of one task are collected.
class TaskForms final : public TaskCollector {
 public:
  explicit TaskForms(Model& model) : m_model(model) {}
  template <class Space>
  void expect() {
    m_memory = trellis::target<Space>().memory();
  }
  TaskHandle collect(TaskSpec&& spec, bool has_result, LateOps const* late) override {
    bool const is_known = m_task != nullptr &&
                          std::any_of(m_task->forms.begin(), m_task->forms.end(),
                                      [&](auto const& form) { return form->memory == m_memory; });
    if (!is_known) m_model.collect(m_task, std::move(spec), has_result, late, m_memory);
    return {};
  }
  [[nodiscard]] TaskGraph& graph() const override { return m_model.graph(); }
  TaskHandle add() { return m_model.add(std::move(m_task)); }

 private:
  Model& m_model;
  FieldMemoryOps const* m_memory = nullptr;
  std::shared_ptr<ModelTask> m_task;
};

template <class Annotation>
auto kept_annotation(Annotation const& annotation) {
  if constexpr (is_runs_on_v<Annotation>)
    return std::tuple<>();
  else
    return std::tuple<Annotation>(annotation);
}
template <class Base, class... Kept>
ResourcePolicy<Base, Kept...> make_policy(Target const& target, Base const& base,
                                          std::tuple<Kept...> const& kept) {
  return std::apply(
      [&](Kept const&... each) { return ResourcePolicy<Base, Kept...>(target, base, each...); },
      kept);
}

/// Adds a form by `send(label, policy, functor)`.
template <class Space, class Base, class... Annotations, class Functor, class Send>
void add_form(TaskForms& forms, Label const& label,
              ResourcePolicy<Base, Annotations...> const& policy, Functor const& functor,
              Send const& send) {
  forms.expect<Space>();
  Target const target(forms, policy.target().site());
  auto const kept = std::apply(
      [](Annotations const&... each) {
        return std::tuple_cat(kept_annotation(each)..., std::tuple<On<Space>>());
      },
      policy.annotations());
  send(Label(label), make_policy(target, MovedPolicy<Base, Space>::make(policy.base()), kept),
       functor);
}
template <class... Spaces, class Policy, class Functor, class Send>
void add_forms(TaskForms& forms, Label const& label, Policy const& policy, Functor const& functor,
               RunsOneOf<Spaces...>, Send const& send) {
  (add_form<Spaces>(forms, label, policy, functor, send), ...);
}
template <class Policy, class... Space, class... Functor, class Send>
void add_variants(TaskForms& forms, Label const& label, Policy const& policy,
                  Variants<SpaceVariant<Space, Functor>...> const& variants, Send const& send) {
  std::apply(
      [&](auto const&... each) {
        (add_form<Space>(forms, label, policy, each.functor, send), ...);
      },
      variants.each);
}

/// Returns the model that the task is for.
[[nodiscard]] inline Model& model_of(Label const& label, Target const& target) {
  auto* const model = dynamic_cast<FieldGraph*>(target.collector());
  if (model == nullptr)
    throw Error(Error::Kind::bad_input,
                "Trellis: task " + label.text() +
                    " has forms for several spaces, but goes to no model of fields, which would "
                    "choose: say on<...>");
  return model->impl();
}

template <class Base, class... Annotations, class Functor, class Send>
Future<void> submit_forms(Label const& label, ResourcePolicy<Base, Annotations...> const& policy,
                          Functor const& functor, Send const& send) {
  using F = std::remove_cvref_t<Functor>;
  constexpr std::size_t lists = (std::size_t{is_runs_on_v<Annotations>} + ... + 0);
  constexpr bool is_said_once = lists + std::size_t{is_variants_v<F>} == 1;
  static_assert(is_said_once,
                "Trellis: the spaces of a task are those of its variants(...), or those that "
                "runs_on<...> names");
  constexpr bool has_choice = !(is_on_v<Annotations> || ...) && !(is_device_v<Annotations> || ...);
  static_assert(has_choice,
                "Trellis: on<...> and device(n) say where a task runs; runs_on<...> and "
                "variants(...) leave the choice to the model");
  if constexpr (is_said_once && has_choice) {
    TaskForms forms(model_of(label, policy.target()));
    if constexpr (is_variants_v<F>) {
      add_variants(forms, label, policy, functor, send);
    } else {
      auto const look = [&]<class A>(A const& annotation) {
        if constexpr (is_runs_on_v<A>) add_forms(forms, label, policy, functor, annotation, send);
      };
      std::apply([&](auto const&... each) { (look(each), ...); }, policy.annotations());
    }
    return FutureInternals::make(forms.add());
  } else {
    return {};
  }
}

}  // namespace Impl

/// Gives the model a task that has a form for each of several spaces.
template <class Base, class... Annotations, class Functor>
  requires(Impl::has_forms_v<Functor, Annotations...>)
Future<void> parallel_for(Label label, ResourcePolicy<Base, Annotations...> const& policy,
                          Functor&& functor) {
  return Impl::submit_forms(label, policy, functor, [](Label name, auto const& on, auto const& of) {
    static_cast<void>(parallel_for(std::move(name), on, of));
  });
}

/// Gives the model a reduction into fields that has a form for each of several spaces.
template <class Base, class... Annotations, class Functor, class First, class... Rest>
  requires(Impl::has_forms_v<Functor, Annotations...>)
Future<void> parallel_reduce(Label label, ResourcePolicy<Base, Annotations...> const& policy,
                             Functor&& functor, First const& first, Rest const&... rest) {
  return Impl::submit_forms(
      label, policy, functor, [&](Label name, auto const& on, auto const& of) {
        static_cast<void>(parallel_reduce(std::move(name), on, of, first, rest...));
      });
}
template <class Base, class... Annotations, class Functor, class Total>
  requires(Impl::has_forms_v<Functor, Annotations...>)
Future<void> parallel_scan(Label label, ResourcePolicy<Base, Annotations...> const& policy,
                           Functor&& functor, Total const& total) {
  return Impl::submit_forms(label, policy, functor,
                            [&](Label name, auto const& on, auto const& of) {
                              static_cast<void>(parallel_scan(std::move(name), on, of, total));
                            });
}

}  // namespace trellis

#endif
