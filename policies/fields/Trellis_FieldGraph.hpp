// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_FIELDGRAPH_HPP
#define TRELLIS_FIELDGRAPH_HPP

#include <Trellis_Error.hpp>
#include <Trellis_TaskGraph.hpp>
#include <fields/Trellis_Field.hpp>
#include <fields/Trellis_FieldPool.hpp>
#include <fields/impl/Trellis_Model.hpp>
#include <annotations/impl/Trellis_Target.hpp>
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

/// With this header you say how each quantity of a model follows from others, in any order. The
/// model can then be computed again and again, within a memory limit.
namespace trellis {

/// A model: a set of tasks that compute fields from other fields.
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
/// The model takes the place of a graph. It keeps the tasks submitted to it, and does not run them.
/// An iteration, `submit()`, submits those tasks to the graph that the required fields need, with
/// the same functors each time, and returns at once. They are ordinary tasks there. Their accesses
/// order them with other iterations, other models and other tasks of the graph.
///
/// One task computes each field, or each part of it, and names it by `write`; other tasks name it
/// by `read`. A bound View may be named itself, also by a subview. Another View may be read, and
/// accessed atomically or exclusively; a Token in any mode. A task that computes no field is always
/// needed.
///
/// The order of tasks follows from fields. Accesses to other resources, and `synchronizing`, order
/// them as in a graph, in the order in which the model got them. So does `after`, with tasks of
/// this model and of the graph.
///
/// The `Future<void>` of a task names it, for `after` and `replace`. The task runs once in each
/// iteration, so it has no result and cannot be waited for: `get()` and `wait()` throw `Error`.
///
/// One thread at a time may add fields and tasks to a model, or submit it. The model may end before
/// its iterations have ended. It must not outlive the graph, nor Kokkos.
class FieldGraph final : public Impl::TaskCollector {
 public:
  explicit FieldGraph(TaskGraph& graph, FieldGraphOptions options = {})
      : m_model(std::make_shared<Impl::Model>(graph, std::move(options))) {}
  FieldGraph(FieldGraph const&) = delete;
  FieldGraph& operator=(FieldGraph const&) = delete;
  ~FieldGraph() = default;

  /// Returns the field of this name, which is made if it is new. It has no memory yet. The extents
  /// may be left out if another call gives them; they must be known before the first iteration.
  /// Throws `Error` when the name is known with another type or other extents.
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
    return Impl::FieldInternals::make<D, L>(m_model->declare(std::move(name), shape));
  }

  /// Returns a field that has the memory of this View, which the model keeps. `where` is needed for
  /// memory of a device that is not the first one.
  ///
  /// A bound field may be bound anew, to a View of the same type and extents: from the next
  /// iteration on it has the memory of that View. Submitted iterations, and submitted tasks of the
  /// graph that name the field, keep the memory that they were submitted with. Throws `Error` when
  /// a task of the model names the View itself. If two fields have the same memory, only the next
  /// `submit` throws `Error`, so that several fields may be bound anew one after the other.
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
    return Impl::FieldInternals::make<typename V::data_type, typename V::array_layout>(
        std::move(state));
  }

  /// Returns a field that the program has on the host and on a device, as a `Kokkos::DualView`.
  /// Tasks touch the side where they run. If that side is older, it is first copied from the other
  /// one. From `submit()` on the flags tell the state after all tasks submitted so far. `where` is
  /// the device, if it is not the first one.
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
      m_model->bind_sides(Impl::FieldInternals::state(field), dual.view_device().data(), *where,
                          std::move(sides));
      return field;
    }
  }

  /// Lets two fields of one type and the same extents exchange their memory from the next iteration
  /// on, such as the time levels of a solution. Both are bound, or both are persistent at one
  /// place. The rules of binding anew apply here, too.
  template <class D, class L>
  void swap(Field<D, L> const& a, Field<D, L> const& b,
            std::source_location at = std::source_location::current()) {
    m_model->swap(own(a), own(b), at);
  }

  /// Replaces a task of this model, from the next iteration on, by the one that `hand_over` submits
  /// to it. The new task may read and compute other fields. From now on the future stands for the
  /// new task, which takes over the place in the order of tasks, and in `after`.
  ///
  ///     auto const flux = trellis::parallel_for("flux", ResourcePolicy(model, ...), Linear{});
  ///     ...
  ///     model.replace(flux, [&] {
  ///       trellis::parallel_for("flux", ResourcePolicy(model, ...), Limited{});
  ///     });
  ///
  /// Recorded plans keep their task. When `hand_over` throws, or submits nothing (which is an
  /// `Error`), nothing has changed.
  template <class HandOver>
  void replace(Future<void> const& task, HandOver&& hand_over,
               std::source_location at = std::source_location::current()) {
    m_model->replace(Impl::FutureInternals::handle(task), hand_over, at);
  }

  /// Requires the field after each iteration. It has memory of its own then, unless it is bound.
  /// Tasks are left out that are needed neither for a required field nor for a task that computes
  /// no field.
  template <class D, class L>
  void require(Field<D, L> const& field) {
    m_model->require(own(field));
  }
  void require(std::string_view name) { m_model->require(*m_model->find(name)); }

  /// Sets how the field has its memory from the next iteration on: `persistent` or `transient`. A
  /// persistent field that no task computes has the values that the program has put there, see
  /// `host_view`; its memory exists when this returns.
  template <class D, class L>
  void store(Field<D, L> const& field, FieldStorage storage) {
    m_model->store(own(field), storage);
  }
  /// Lets the field keep its values after each iteration, from the next one on, so that the program
  /// can read them.
  template <class D, class L>
  void lock(Field<D, L> const& field) {
    m_model->lock(own(field), true);
  }
  /// Gives its memory back to the pool with the next iteration.
  template <class D, class L>
  void unlock(Field<D, L> const& field) {
    m_model->lock(own(field), false);
  }

  /// Returns the values of a field that has memory on the host between iterations. The caller waits
  /// for the graph before it reads them. The View is valid until the field is stored otherwise.
  /// Tasks of the graph may name the View, or the field. Throws `Error` when there are no values.
  template <class D, class L>
  [[nodiscard]] typename Field<D, L>::host_view host_view(Field<D, L> const& field) const {
    Impl::FieldState& state = own(field);
    void* const memory = state.memory();
    if (memory == nullptr)
      m_model->refuse("has no values of the field " + state.text() +
                      " between iterations: lock it, and submit an iteration");
    if (m_model->target(state.place).device() != nullptr)
      m_model->refuse("has the field " + state.text() + " at " +
                      m_model->target(state.place).name() + ", not on the host");
    using View = typename Field<D, L>::host_view;
    return View(static_cast<typename View::pointer_type>(memory), Impl::layout_of<L>(state.shape));
  }

  /// Submits an iteration; returns at once. Throws `Error`, and submits nothing, in these cases:
  /// - no task computes what another one needs;
  /// - tasks need each other in a cycle (the text lists them);
  /// - two tasks compute the same part of a field;
  /// - extents are missing;
  /// - the memory limit leaves no room in any order that was found (see `memory`).
  ///
  /// In the recording of a plan (`graph.record`) the iteration becomes a part of the plan: it is
  /// frozen, see `record`.
  void submit() { m_model->submit(); }

  /// Returns a plan of one iteration, for `graph.replay(plan, n)`. Nothing is submitted now. Its
  /// tasks run where they would run in an iteration now, and its fields have the same memory in
  /// each round. Fields without memory between iterations lie in one block for each target. The
  /// plan owns the blocks as long as it exists, and the memory limit counts them; `memory().frozen`
  /// tells their size. A replay allocates nothing, and none of its tasks waits for memory.
  ///
  /// Other tasks of a step belong into the same plan:
  ///
  ///     trellis::Plan const step = graph.record("step", [&] {
  ///       model.submit();
  ///       update(graph, T_view, r_view);
  ///     });
  ///
  /// Throws `Error` as `submit` does. It also throws when the limit leaves no room for all fields
  /// of an iteration, and when the placement policy still measures. It throws when a DualView is up
  /// to date at a side where it is not after an iteration. A replay throws `Error` when a field
  /// that has memory between iterations has other memory than in the recording, or when the values
  /// of a DualView are not where the plan needs them. Both the model and the plan may end first.
  [[nodiscard]] Plan record(Label name) {
    return graph().record(std::move(name), [this] { submit(); });
  }
  /// Returns a plan of one iteration, with the model's name.
  [[nodiscard]] Plan record(std::source_location site = std::source_location::current()) {
    return record(Label(m_model->options().name, site));
  }

  /// Returns the memory that the model will need at a target.
  [[nodiscard]] FieldMemory memory(FieldTarget const& where) const {
    return m_model->memory(where);
  }
  /// Returns the memory that the model will need at the first target.
  [[nodiscard]] FieldMemory memory() const { return memory(m_model->target(0)); }
  /// Returns the labels of the tasks of an iteration, in the order of submission.
  [[nodiscard]] std::vector<std::string> order() const { return m_model->order(); }
  /// Returns the number of tasks that have had to wait for memory so far.
  [[nodiscard]] std::size_t tasks_held_back() const {
    return m_model->admission() != nullptr ? m_model->admission()->gates() : 0;
  }
  [[nodiscard]] FieldPool& pool() const { return m_model->pool(); }
  /// Returns where tasks run from the next iteration on, as far as is known, with the labels of the
  /// needed tasks, in the order of registration.
  [[nodiscard]] std::vector<std::pair<std::string, FieldTarget>> assignment() const {
    return m_model->assignment();
  }
  /// Makes the placement policy drop its measurements, and measure again.
  void invalidate() { m_model->invalidate(); }

  // Called by the patterns.
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
    Impl::FieldState* const state = Impl::FieldInternals::state(field).get();
    m_model->check_own(state);
    return *state;
  }
  std::shared_ptr<Impl::Model> m_model;
};

}  // namespace trellis

#endif
