// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_FIELDGRAPH_HPP
#define TRELLIS_FIELDGRAPH_HPP

#include <Trellis_Error.hpp>
#include <Trellis_TaskGraph.hpp>
#include <fields/Trellis_Field.hpp>
#include <fields/Trellis_FieldPool.hpp>
#include <fields/impl/Trellis_Model.hpp>
#include <impl/Trellis_Target.hpp>
#include <resources/Trellis_DualView.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// With this header you say how each quantity of a model follows from others, in any order, and
/// have the model computed again and again, in as little memory as you like.
namespace trellis {

/// A model: tasks that each compute fields from other fields.
///
///     trellis::FieldGraph model(graph);
///     using F = trellis::Field<double*>;
///     F T = model.bind("T", T_view);              // the program's View
///     F q = model.field<double*>("q", n + 1);     // has memory while it is needed
///     F r = model.bind("dT/dt", r_view);
///     trellis::parallel_for("divergence",
///                           trellis::ResourcePolicy(model, n, read(q), write(r)), Divergence{});
///     trellis::parallel_for("flux", trellis::ResourcePolicy(model, n + 1, read(T), write(q)),
///                           Flux{});
///     model.require(r);
///     for (int step = 0; step < 100; ++step) {
///       model.submit();                           // "flux", then "divergence"
///       update(graph, T_view, r_view);            // ordinary tasks
///     }
///     graph.wait();
///
/// The model stands where a graph does. What is submitted to it does not run but is kept. A pass,
/// `submit()`, submits those tasks to the graph that what is required needs, the same functors each
/// time, and returns at once. They are ordinary tasks there: passes, other models and other tasks
/// of the graph are ordered with them by what they touch.
///
/// Each field, or each part of it, is computed by one task, which names it by `write`; others name
/// it by `read`. A View that is bound may be named itself, also by a subview. Another View may be
/// read, and accessed atomically or exclusively; a Token in any mode. A task that computes no field
/// is always needed.
///
/// The order of tasks follows from fields. What else orders them does so as in a graph, in the
/// order in which the model got them: accesses to what is no field, and `synchronizing`. So does
/// `after`, with tasks of this model and of the graph.
///
/// The `Future<void>` of a task names it, for `after` and `replace`. The task runs once in each
/// pass, so it has no result and cannot be waited for: `get()` and `wait()` throw `Error`.
///
/// The fields and the tasks of a model are added, and it is submitted, by one thread at a time. It
/// may end before its passes have; it must not outlive the graph, nor Kokkos.
class FieldGraph final : public Impl::TaskCollector {
 public:
  explicit FieldGraph(TaskGraph& graph, FieldGraphOptions options = {})
      : m_model(std::make_shared<Impl::Model>(graph, std::move(options))) {}
  FieldGraph(FieldGraph const&) = delete;
  FieldGraph& operator=(FieldGraph const&) = delete;
  ~FieldGraph() = default;

  /// The field of this name, which is made if it is new. It has no memory yet. The extents may be
  /// left out where others say them; somebody must before the first pass. Throws `Error` when the
  /// name is known with another type or other extents.
  template <class D, class L = Kokkos::DefaultExecutionSpace::array_layout,
            std::convertible_to<std::size_t>... N>
    requires(!std::is_same_v<L, Kokkos::LayoutStride>)
  Field<D, L> field(Label name, N... extents) {
    using View = typename Field<D, L>::view;
    static_assert(sizeof...(N) == View::rank() || sizeof...(N) == 0,
                  "Trellis: a field has as many extents as its type has directions, or none where "
                  "others say them");
    Impl::FieldShape shape;
    if constexpr (sizeof...(N) == View::rank()) {
      shape = Impl::shape_of(View(nullptr, L(static_cast<std::size_t>(extents)...)));
    } else {
      shape.type = typeid(View);
    }
    return Impl::FieldDoor::make<D, L>(m_model->declare(std::move(name), shape));
  }

  /// A field that has the memory of this View, which the model keeps. `where`: the device whose
  /// memory that is, if it is that of a device but not its first one.
  ///
  /// A field that is bound may be bound anew, to a View of the same type and extents: from the next
  /// pass on it has the memory of that one. Passes that have been submitted, and tasks of the graph
  /// that name the field, have the memory that they were submitted with. Throws `Error` when a task
  /// of the model names the View itself. Two fields that have the same memory are an `Error` of the
  /// next `submit`, so that several may be bound anew one after the other.
  template <class V>
    requires Kokkos::is_view_v<V>
  auto bind(Label name, V const& view, std::optional<FieldTarget> where = {}) {
    using F = Field<typename V::data_type, typename V::array_layout>;
    Impl::FieldShape const shape = Impl::shape_of(view);
    typename F::view const plain(nullptr, Impl::layout_of<typename V::array_layout>(shape));
    for (std::size_t k = 0; k < V::rank(); ++k)
      if (shape.extents[k] > 1 && static_cast<std::size_t>(plain.stride(k)) != shape.strides[k])
        m_model->refuse("cannot bind the field \"" + name.string() + "\" (" + name.place() +
                        ") to a View that is padded: make it one with LayoutStride");
    std::source_location const at = name.site();
    auto state = m_model->declare(std::move(name), shape);
    if (!where.has_value()) where = Impl::default_target<V>();
    m_model->bind(state, const_cast<void*>(static_cast<void const volatile*>(view.data())),
                  std::make_shared<V>(view), view.label(), *where, at);
    return Impl::FieldDoor::make<typename V::data_type, typename V::array_layout>(std::move(state));
  }

  /// A field that the program has on the host and on a device, as a `Kokkos::DualView`. Tasks touch
  /// the side where they run, and it is copied to the other one where a task needs that and it is
  /// older. Its flags tell, from `submit()` on, how it will be when the tasks submitted so far are
  /// complete. `where`: the device, if it is not the first one.
  template <class Dual>
    requires Impl::DualViewLike<Dual>
  auto bind(Label name, Dual const& dual, std::optional<FieldTarget> where = {}) {
    if constexpr (!Impl::has_two_sides<Dual>) {
      return bind(std::move(name), dual.view_host());
    } else {
      if (Impl::is_part(dual.view_device()))
        m_model->refuse("cannot bind the field \"" + name.string() + "\" (" + name.place() +
                        ") to a part of a DualView, whose flags tell of more");
      auto field = bind(std::move(name), dual.view_host());
      if (!where.has_value()) where = Impl::default_target<typename Dual::t_dev>();
      Impl::TwoSides sides;
      sides.get = [dual] {
        return Impl::TwoSides::Valid{!dual.need_sync_host(), !dual.need_sync_device()};
      };
      sides.set = [dual](Impl::TwoSides::Valid valid) {
        Dual same = dual;
        same.clear_sync_state();
        if (!valid.on_device) same.modify_host();
        if (!valid.on_host) same.modify_device();
      };
      m_model->bind_sides(Impl::FieldDoor::state(field), dual.view_device().data(), *where,
                          std::move(sides));
      return field;
    }
  }

  /// Two fields of one type and the same extents exchange their memory, from the next pass on, such
  /// as the time levels of a solution. Both are bound, or both are persistent at one place. What is
  /// said of binding anew holds here, too.
  template <class D, class L>
  void swap(Field<D, L> const& a, Field<D, L> const& b,
            std::source_location at = std::source_location::current()) {
    m_model->swap(own(a), own(b), at);
  }

  /// Replaces a task of this model, from the next pass on, by the one that `hand_over` submits to
  /// it. What that reads and computes may be something else. The future stands for the new task
  /// from now on, and so do the places in the order of the model's tasks, and `after`.
  ///
  ///     auto const flux = trellis::parallel_for("flux", ResourcePolicy(model, ...), Linear{});
  ///     ...
  ///     model.replace(flux, [&] {
  ///       trellis::parallel_for("flux", ResourcePolicy(model, ...), Limited{});
  ///     });
  ///
  /// Plans that have been recorded keep the task that they have. When `hand_over` throws, or hands
  /// over nothing (which is an `Error`), nothing has changed.
  template <class HandOver>
  void replace(Future<void> const& task, HandOver&& hand_over,
               std::source_location at = std::source_location::current()) {
    m_model->replace(Impl::FutureDoor::handle(task), hand_over, at);
  }

  /// The field is to be there after each pass. It has memory of its own then, unless it is bound.
  /// What neither a required field nor a task that computes none needs is left out.
  template <class D, class L>
  void require(Field<D, L> const& field) {
    m_model->require(own(field));
  }
  void require(std::string_view name) { m_model->require(*m_model->find(name)); }

  /// How the field has its memory from the next pass on: `persistent` or `transient`. A persistent
  /// one that no task computes has what the program has put there, see `host_view`; its memory is
  /// there when this returns.
  template <class D, class L>
  void store(Field<D, L> const& field, FieldStorage storage) {
    m_model->store(own(field), storage);
  }
  /// From the next pass on the field keeps its values after the pass, to be looked at.
  template <class D, class L>
  void lock(Field<D, L> const& field) {
    m_model->lock(own(field), true);
  }
  /// Its memory goes back to the pool with the next pass.
  template <class D, class L>
  void unlock(Field<D, L> const& field) {
    m_model->lock(own(field), false);
  }

  /// The values of a field that has memory on the host between passes. The caller waits for the
  /// graph before it looks; the View is good until the field is stored otherwise. Tasks of the
  /// graph may name the View, or the field. Throws `Error` when there are none.
  template <class D, class L>
  [[nodiscard]] typename Field<D, L>::host_view host_view(Field<D, L> const& field) const {
    Impl::FieldState& state = own(field);
    void* const memory = state.memory();
    if (memory == nullptr)
      m_model->refuse("has no values of the field " + state.text() +
                      " between passes: lock it, and submit a pass");
    if (m_model->target(state.place).device() != nullptr)
      m_model->refuse("has the field " + state.text() + " at " +
                      m_model->target(state.place).name() + ", not on the host");
    using View = typename Field<D, L>::host_view;
    return View(static_cast<typename View::pointer_type>(memory), Impl::layout_of<L>(state.shape));
  }

  /// Submits a pass; returns at once. Throws `Error`, and submits nothing, when a task needs what
  /// nobody computes, when tasks need each other in a circle (the text lists them), when two
  /// compute the same part of a field, when extents are missing, or when the memory limit leaves no
  /// room in any order that was found (see `memory`).
  ///
  /// In the recording of a plan (`graph.record`) the pass becomes a part of the plan: it is frozen,
  /// see `record`.
  void submit() { m_model->submit(); }

  /// A plan of one pass, for `graph.replay(plan, n)`. Nothing is submitted now. Its tasks run where
  /// they would run in a pass now, and its fields have the same memory in each round: what is there
  /// only during a pass lies in one block for each target, which the plan has until it is gone, and
  /// which the memory limit counts. How much that is `memory().frozen` tells. Nothing is allocated,
  /// and no task waits for memory, in a replay.
  ///
  /// What else a step does belongs into the same plan:
  ///
  ///     trellis::Plan const step = graph.record("step", [&] {
  ///       model.submit();
  ///       update(graph, T_view, r_view);
  ///     });
  ///
  /// Throws `Error` as `submit` does, and when the limit leaves no room for all fields of a pass,
  /// when the placement policy has not settled, or when a DualView is up to date at a side where it
  /// is not after a pass. A replay throws `Error` when a field that has memory between passes does
  /// not have the memory that it had in the recording, or when the values of a DualView are not
  /// where the plan needs them. Both the model and the plan may end first.
  [[nodiscard]] Plan record(Label name) {
    return graph().record(std::move(name), [this] { submit(); });
  }
  /// The same, with the model's name.
  [[nodiscard]] Plan record(std::source_location site = std::source_location::current()) {
    return record(Label(m_model->options().name, site));
  }

  /// What the model is going to need.
  [[nodiscard]] FieldMemory memory(FieldTarget const& where) const {
    return m_model->memory(where);
  }
  /// At the first target.
  [[nodiscard]] FieldMemory memory() const { return memory(m_model->target(0)); }
  /// Labels of the tasks of a pass, in the order in which they are submitted.
  [[nodiscard]] std::vector<std::string> order() const { return m_model->order(); }
  /// Tasks that have had to wait for memory so far.
  [[nodiscard]] std::size_t tasks_held_back() const {
    return m_model->admission() != nullptr ? m_model->admission()->gates() : 0;
  }
  [[nodiscard]] FieldPool& pool() const { return m_model->pool(); }
  /// Where tasks run from the next pass on, as far as is known: labels, in the order of
  /// registration, of those that are needed.
  [[nodiscard]] std::vector<std::pair<std::string, FieldTarget>> assignment() const {
    return m_model->assignment();
  }
  /// What the placement policy has measured holds no more: it is to measure again.
  void invalidate() { m_model->invalidate(); }

  // For the patterns.
  Impl::TaskHandle collect(Impl::TaskSpec&& spec, bool has_result,
                           Impl::LateOps const* late) override {
    std::shared_ptr<Impl::ModelTask> task;
    m_model->collect(task, std::move(spec), has_result, late, nullptr);
    return m_model->add(std::move(task));
  }
  [[nodiscard]] Impl::Model& impl() const { return *m_model; }
  [[nodiscard]] TaskGraph& graph() const override { return m_model->graph(); }

 private:
  template <class D, class L>
  Impl::FieldState& own(Field<D, L> const& field) const {
    Impl::FieldState* const state = Impl::FieldDoor::state(field).get();
    m_model->check_own(state);
    return *state;
  }
  std::shared_ptr<Impl::Model> m_model;
};

}  // namespace trellis

#endif
