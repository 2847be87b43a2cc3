// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_MODEL_HPP
#define TRELLIS_IMPL_MODEL_HPP

#include <Trellis_Label.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_Tag.hpp>
#include <Trellis_TaskGraph.hpp>
#include <fields/Trellis_FieldPool.hpp>
#include <fields/Trellis_PlacementPolicy.hpp>
#include <fields/impl/Trellis_Admission.hpp>
#include <fields/impl/Trellis_DeviceOrigins.hpp>
#include <fields/impl/Trellis_FieldState.hpp>
#include <fields/impl/Trellis_MemoryLayout.hpp>
#include <fields/impl/Trellis_MemoryOrder.hpp>
#include <fields/impl/Trellis_PlacedSteps.hpp>
#include <annotations/impl/Trellis_Target.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <base/Trellis_OneForAll.hpp>
#include <impl/Trellis_TaskHandle.hpp>
#include <task/Trellis_TaskOps.hpp>
#include <task/Trellis_TaskSpec.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace trellis {

/// The options of a model.
struct FieldGraphOptions {
  /// The name in messages.
  std::string name = "model";
  /// The places where its tasks run and its fields have memory.
  std::vector<FieldTarget> targets = {host};
  /// The most bytes that its fields have at one time, at each of its targets (without bound
  /// fields). A task that has no room for the fields that it writes waits, whatever its priority,
  /// until other tasks have released enough. By default there is no limit. For a device, the bytes
  /// that it can still allocate when the model is made are a limit, too.
  std::optional<std::size_t> memory_limit = {};
  /// Gives transient and persistent fields their memory. Other models may share it. By default the
  /// model has a pool of its own.
  std::shared_ptr<FieldPool> pool = {};
  /// Decides at which target a task runs that has forms for several (`runs_on`, `variants`). It
  /// serves one model. By default such a task runs on the host if it may.
  std::shared_ptr<PlacementPolicy> placement = {};
};

/// The memory that a model needs at one of its targets, in bytes.
struct FieldMemory {
  std::size_t external = 0;    ///< bound memory, which is the program's
  std::size_t persistent = 0;  ///< between iterations, without bound memory, with that of plans
  std::size_t transient = 0;   ///< the sum of all fields that exist only during an iteration
  /// The memory, including persistent memory, if an iteration is recorded in a plan now. The number
  /// is exact, whatever the schedule. Fields that exist only during an iteration share memory as
  /// far as the model's order allows; with several workers they share less, so that tasks can
  /// overlap.
  std::size_t frozen = 0;
  std::size_t least_frozen = 0;  ///< `frozen` under the least limit that is not refused
  std::vector<std::size_t> peaks;

  /// Returns the most that an iteration has at one time, including persistent memory. Its tasks
  /// start in the model's order, each as soon as all but `workers - 1` of those before it are over.
  /// The number is exact for one worker, and an upper bound for more; `workers` may be up to 64.
  /// Other schedules may need more, up to all transient fields, unless a memory limit holds.
  [[nodiscard]] std::size_t peak(int workers = 1) const;
};

namespace Impl {

/// An access of a task of a model.
struct ModelAccess {
  std::shared_ptr<FieldState> field;  ///< null: access of something else
  bool is_part = false;
  FieldBox box{};            ///< for a part that was named by its field
  std::optional<Area> area;  ///< for a View, also a bound one
  Mode mode = Mode::read;
  ResourceInfo info;
  StatePtr state;
  /// The field, or its copy, that the task touches where it runs, by the newest placement.
  std::shared_ptr<FieldState> here;

  [[nodiscard]] bool makes() const { return field != nullptr && mode == Mode::write; }
  [[nodiscard]] Area area_now() const {
    if (area.has_value()) return *area;
    FieldState const& touched = here != nullptr ? *here : *field;
    return touched.area(is_part ? box : field->shape.whole());
  }
};

/// A form of a task, for some of the places where it may run.
struct ModelForm {
  /// `memory` is that of the space that it runs on.
  ModelForm(TaskSpec const& spec, LateOps const* late, FieldMemoryOps const* memory);
  ModelForm(ModelForm const&) = delete;
  ModelForm& operator=(ModelForm const&) = delete;
  ~ModelForm();
  [[nodiscard]] bool runs_on_device() const {
    return space != nullptr && space->device() != nullptr;
  }
  /// Returns a copy of the body. Requires that the body can be copied.
  [[nodiscard]] void* copy_body() const;
  void drop_body(void* copy) const noexcept;

  TaskOps const* const ops;
  LateOps const* const late;  ///< null: nothing is bound late
  TaskOps const* const iteration_ops;
  std::size_t const body_alignment;
  void* body = nullptr;
  SpaceAdapter* const space;  ///< adapter of any of the space's devices
  FieldMemoryOps const* const memory;
  std::vector<ModelAccess> accesses;
  std::vector<std::size_t> places;  ///< targets of the model where it may run
};

/// A task that was submitted to the model. Each iteration submits a task that runs the body of one
/// of its forms.
struct ModelTask {
  using Kind = PlacedStep::Kind;
  /// Takes the properties from one form, as all forms have the same.
  ModelTask(TaskSpec const& spec, std::size_t number);
  ModelTask(ModelTask const&) = delete;
  ModelTask& operator=(ModelTask const&) = delete;
  [[nodiscard]] std::string text() const { return "task " + label.text(); }
  [[nodiscard]] ModelForm& form() const { return *forms[form_number]; }
  [[nodiscard]] std::vector<ModelAccess>& accesses() const { return form().accesses; }
  /// Returns the number of the form for this place; `forms.size()` if it cannot run there.
  [[nodiscard]] std::size_t form_at(std::size_t at) const;

  std::size_t const number;  ///< in order of registration; a task that copies has none
  Label const label;
  int const priority;
  bool const main_thread;
  std::vector<TagPtr> const tags;
  std::vector<std::unique_ptr<ModelForm>> forms;
  bool makes_fields = false;
  bool synchronizing = false;
  Kind kind = Kind::task;
  std::vector<std::size_t> after;        ///< numbers of tasks of the model
  std::vector<TaskHandle> after_others;  ///< tasks of the graph

  // The place where it runs from the next iteration on.
  std::size_t place = 0;  ///< index among the model's targets
  std::size_t form_number = 0;
  // These are for the submission of an iteration.
  std::vector<AccessRequest> requests;
  ResourceInfo run_info;  ///< description of Model::run_area
};

/// The data of a field, or of a copy of one, that an iteration needs.
struct ModelSlot {
  std::shared_ptr<FieldState> field;
  std::size_t place = 0;
  int users = 0;  ///< tasks that touch it
};

/// The data of a task that an iteration needs.
struct ModelStep {
  struct Use {
    std::size_t slot;
    bool makes;
    FieldState const* named;  ///< field that the body names; the original if the slot is a copy
  };
  std::shared_ptr<ModelTask> task;
  ModelForm* form = nullptr;
  std::size_t place = 0;
  std::vector<Use> uses;            ///< each field once
  std::vector<std::size_t> starts;  ///< slots of fields that need memory from this step on
  std::vector<std::size_t> needs;   ///< bytes of these fields, by place
  std::vector<std::size_t> after;   ///< earlier steps that it names
  /// The tags of the task, and its PlannedPlace if the graph's policy wants to know it.
  std::vector<TagPtr> tags;
};

/// The result of an analysis. It does not change, as iterations in flight share it.
struct ModelSchedule {
  std::vector<ModelSlot> slots;
  std::vector<ModelStep> steps;  ///< in order
  MemoryGraph memory;
  std::vector<int> memory_order;
  /// A field with two sides, and its flags before an iteration and after its submission.
  struct Sides {
    std::shared_ptr<FieldState> field;
    TwoSides::Valid before, after;
  };
  std::vector<Sides> sides;
  bool has_after = false;  ///< some step names others
};

struct FrozenIteration;
struct ModelIteration;

/// The state of a FieldGraph, which its iterations share.
class Model : public std::enable_shared_from_this<Model> {
 public:
  Model(TaskGraph& graph, FieldGraphOptions options);
  Model(Model const&) = delete;
  Model& operator=(Model const&) = delete;
  /// Takes the memory from all fields, as their handles may live longer than Kokkos.
  ~Model();

  // One thread at a time may call these functions.
  std::shared_ptr<FieldState> declare(Label name, FieldShape const& shape);
  /// `at` is the call site.
  void bind(std::shared_ptr<FieldState> const& field, void* memory,
            std::shared_ptr<void const> held, std::string held_label, FieldTarget const& where,
            std::source_location const& at);
  void swap(FieldState& a, FieldState& b, std::source_location const& at);
  [[nodiscard]] std::shared_ptr<FieldState> find(std::string_view name) const;
  void bind_sides(std::shared_ptr<FieldState> const& field, void* device_memory,
                  FieldTarget const& device, TwoSides sides);
  /// Adds a form to `task`, or makes a new task if that is null. `memory` is that of the space that
  /// the form runs on, at any of the targets there; if it is null, the spec decides.
  void collect(std::shared_ptr<ModelTask>& task, TaskSpec&& spec, bool has_result,
               LateOps const* late, FieldMemoryOps const* memory);
  TaskHandle add(std::shared_ptr<ModelTask> task);
  /// Replaces this task by the one that `hand_over` submits to the model.
  void replace(TaskHandle const& old, FunctionRef<void()> hand_over,
               std::source_location const& at);
  /// Lets `find` set the extents of this field, as soon as it knows them.
  void follow(std::shared_ptr<FieldState> field, std::function<std::optional<FieldShape>()> find);
  void require(FieldState& field);
  void store(FieldState& field, FieldStorage storage);
  void lock(FieldState& field, bool is_locked);
  void submit();
  [[nodiscard]] FieldMemory memory(FieldTarget const& where);
  [[nodiscard]] std::vector<std::string> order();
  [[nodiscard]] std::vector<std::pair<std::string, FieldTarget>> assignment();
  void invalidate();
  void check_own(FieldState const* field) const;
  [[noreturn]] void refuse(std::string const& why) const;

  [[nodiscard]] TaskGraph& graph() const { return m_graph; }
  [[nodiscard]] FieldGraphOptions const& options() const { return m_options; }
  [[nodiscard]] FieldPool& pool() const { return *m_options.pool; }
  [[nodiscard]] Admission* admission() const { return m_admission.get(); }
  [[nodiscard]] FieldTarget const& target(std::size_t place) const {
    return m_options.targets[place];
  }
  /// Returns the device whose clock the host uses; null for the host's own.
  [[nodiscard]] DeviceAdapter const* clock() const;
  [[nodiscard]] DeviceOrigins& origins() { return m_origins; }
  /// Returns the policy that wants times of the iteration that is being submitted; or null.
  [[nodiscard]] std::shared_ptr<PlacementPolicy> measures() const {
    return m_has_choice && m_options.placement->wants_times() ? m_options.placement : nullptr;
  }
  [[nodiscard]] std::shared_ptr<ModelSchedule const> const& schedule() const { return m_schedule; }
  /// Returns the most bytes that fields may have at one of the targets.
  [[nodiscard]] std::size_t limit(std::size_t place) const {
    return m_admission != nullptr ? m_admission->limit(place) : FieldPool::any_number;
  }

 private:
  class Submitting;
  [[nodiscard]] std::size_t place_of(DeviceAdapter const* device, std::string const& who) const;
  [[nodiscard]] std::shared_ptr<FieldState> bound_at(Area const& area) const;
  void check_memory(FieldState const& field, void* memory, std::source_location const& at) const;
  void check_bindings();
  void check_may_be_bound(FieldState const& field, std::source_location const& at) const;

  // These are defined in Trellis_ModelAnalysis.cpp.
  void analyse(bool is_iteration);
  void check_shapes() const;
  void find_edges();
  void find_orders();
  void check_circles() const;
  void prune();
  void add_orders();
  void find_followers();
  [[nodiscard]] bool is_covered(FieldState const& field) const;
  void check_made(FieldState const& field, FieldBox const& box, std::string const& who) const;
  void choose_order(ModelSchedule& schedule, PlacedSteps const& placed,
                    std::vector<int> const& places, std::vector<ModelStep> const& steps) const;
  /// True if it has memory between iterations.
  [[nodiscard]] bool is_kept(FieldState const& field) const;
  void check_limit() const;
  [[nodiscard]] std::size_t persistent_bytes(std::size_t place) const;

  // These are defined in Trellis_ModelPlacement.cpp.
  void place_tasks(bool is_iteration);
  void find_units();
  void make_placement_graph();
  void set_targets(PlacementGraph& graph) const;
  /// Updates what may differ from iteration to iteration.
  void renew_placement_graph();
  [[nodiscard]] std::size_t home_of(FieldState const& field) const;
  void make_schedule();
  [[nodiscard]] std::shared_ptr<FieldState> const& copy_at(std::shared_ptr<FieldState> const& field,
                                                           std::size_t place);
  /// Returns memory for a probe.
  [[nodiscard]] std::shared_ptr<FieldState> probe_at(std::size_t place, std::size_t bytes) const;
  [[nodiscard]] std::shared_ptr<FieldState> state_of(PlacedSteps const& placed, int slot);
  [[nodiscard]] std::shared_ptr<ModelTask> make_transfer(PlacedStep const& step,
                                                         std::shared_ptr<FieldState> const& from,
                                                         std::shared_ptr<FieldState> const& to);

  // These are defined in Trellis_ModelIteration.cpp.
  void keep_memory();
  void keep(FieldState& field);
  [[nodiscard]] KeptPtr take_kept(std::size_t place, std::size_t bytes, std::string const& label,
                                  std::string const& what);
  [[nodiscard]] Area run_area(ModelStep const& step) const;
  void add_run_area(ModelStep const& step, std::vector<AccessRequest>& requests) const;
  void set_properties(TaskSpec& spec, ModelStep const& step) const;
  void make_requests();
  TaskHandle submit_gate(std::shared_ptr<Admission::Gate> const& gate, ModelTask const& task,
                         std::shared_ptr<ModelIteration> const& iteration);
  /// Submits the task of a step. `so_far` has the tasks of the steps before it, if some steps name
  /// others.
  TaskHandle submit_step(ModelStep const& step, std::shared_ptr<ModelIteration> const& iteration,
                         std::vector<TaskHandle> const& so_far);
  void plan_steps(ModelSchedule& schedule);
  void tell_planner();

  // These are defined in Trellis_FrozenIteration.cpp.
  void submit_frozen();
  TaskHandle submit_frozen_step(ModelStep const& step,
                                std::shared_ptr<FrozenIteration const> const& iteration,
                                bool is_first, std::vector<TaskHandle> const& so_far);
  [[nodiscard]] std::size_t frozen_window() const;
  [[nodiscard]] MemoryLayout frozen_layout(std::size_t window) const;
  void check_frozen_limit(MemoryLayout const& layout) const;
  [[nodiscard]] std::size_t bytes_in_plans(std::size_t place) const;

  TRELLIS_IMPL_ONE_FOR_ALL static inline std::atomic<std::uint64_t> s_models{0};

  std::uint64_t const m_number = ++s_models;
  TaskGraph& m_graph;
  FieldGraphOptions m_options;
  std::shared_ptr<Admission> m_admission;  ///< null: no limit
  std::map<std::string, std::shared_ptr<FieldState>, std::less<>> m_fields;
  std::vector<std::shared_ptr<ModelTask>> m_tasks;
  std::atomic<bool> m_is_submitting{false};
  DeviceOrigins m_origins;
  /// While tasks are measured, an element stands for each target, and the last one for all links.
  std::vector<char> const m_alone;
  std::vector<std::weak_ptr<FrozenIteration const>> m_frozen;  ///< iterations in plans
  bool m_has_new_bindings = false;        ///< fields have been bound anew and are not checked yet
  std::optional<std::size_t> m_replaces;  ///< the number of the task that the next one replaces
  struct Follower {
    std::shared_ptr<FieldState> field;
    std::function<std::optional<FieldShape>()> find;
  };
  std::vector<Follower> m_followers;  ///< fields whose extents follow from others

  // These belong to the newest analysis.
  bool m_is_analysed = false;  ///< except for the places
  bool m_is_placed = false;    ///< the schedule is for the present places of tasks
  std::vector<std::vector<std::size_t>> m_before;  ///< by task: tasks before it
  /// By task: tasks that come before it only if they are needed for something else.
  std::vector<std::vector<std::size_t>> m_behind;
  std::vector<bool> m_is_needed;
  std::vector<int> m_units;  ///< by task; the tasks that compute one field are one unit
  PlacementGraph m_placement;
  std::vector<std::shared_ptr<ModelTask>> m_placed_tasks;  ///< tasks of that graph
  std::vector<std::shared_ptr<FieldState>> m_placed_fields;
  std::map<FieldState const*, int> m_placed_numbers;  ///< numbers of the fields
  bool m_has_choice = false;                          ///< some task may run at several places
  std::vector<TransferProbe> m_probes;                ///< probes of the next iteration
  std::shared_ptr<ModelSchedule const> m_schedule;

  /// The data about iterations that the graph's scheduling policy has, or will have before the next
  /// iteration.
  struct Planned {
    std::uint64_t number = 0;
    std::vector<std::pair<std::string, int>> tasks;  ///< labels and priorities
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    std::vector<TagPtr> places;  ///< places of the tasks, see PlannedPlace
    bool is_told = false;
  };
  Planned m_planned;
};

/// The state of one field during one iteration.
struct IterationField {
  std::atomic<int> users{0};          ///< tasks that touch it and are not over
  std::atomic<int> holders{0};        ///< tasks that the block must stay for, see IterationBody
  PoolBlock* block = nullptr;         ///< guarded by ModelIteration::lock until the last holder
  std::vector<PoolBlock::Use> waits;  ///< uses by earlier owners on a device; guarded like `block`
  KeptPtr kept;
  /// The memory that a bound field had when the iteration was submitted, and its View.
  void* external = nullptr;
  std::shared_ptr<void const> held;
  bool is_reserved = false;
  TaskHandle gate;  ///< gate for its memory; names no task if there was room
};

/// One iteration of a model, which its tasks share.
struct ModelIteration {
  explicit ModelIteration(std::shared_ptr<Model> of);
  std::shared_ptr<Model> const model;
  std::shared_ptr<ModelSchedule const> const schedule;
  std::shared_ptr<PlacementPolicy> const measures;  ///< policy that wants times; or null
  std::vector<IterationField> fields;               ///< by slot
  std::mutex lock;
};

}  // namespace Impl
}  // namespace trellis

#endif
