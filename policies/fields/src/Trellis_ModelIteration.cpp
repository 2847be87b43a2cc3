// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_DeviceAdapter.hpp>
#include <Trellis_Error.hpp>
#include <fields/impl/Trellis_Model.hpp>
#include <fields/impl/Trellis_StepTime.hpp>
#include <graph/Trellis_GraphInternals.hpp>
#include <patterns/Trellis_HostTask.hpp>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <new>
#include <utility>

namespace trellis::Impl {

ModelIteration::ModelIteration(std::shared_ptr<Model> of)
    : model(std::move(of)),
      schedule(model->schedule()),
      measures(model->measures()),
      fields(schedule->slots.size()) {
  for (std::size_t k = 0; k < fields.size(); ++k) {
    ModelSlot const& slot = schedule->slots[k];
    fields[k].users.store(slot.users, std::memory_order_relaxed);
    fields[k].holders.store(slot.users, std::memory_order_relaxed);
    if (slot.field->keeps_values()) fields[k].kept = slot.field->kept();
    fields[k].external = slot.field->external;
    fields[k].held = slot.field->held;
  }
}

namespace {

/// The body of a task of an iteration. It binds the fields of a task of the model, and runs that
/// task's body.
///
/// A field gets memory when the first task that writes it starts, under the lock of the iteration.
/// It loses the memory when its last user in this iteration is over. That is the end of this
/// object, which comes before the successors of the task start, whether the task has run, has
/// failed, or never ran. Each user takes itself off `users` by an acquire-release decrement. So the
/// thread that finds the last user happens after all uses, and the next owner of the block happens
/// after that thread, by the pool's lock.
///
/// Device memory is handed on earlier, when the last user has been launched (`holders`): the next
/// owner is launched on the device, too, after the block's `uses`. Host memory is not, though
/// device tasks copy from it and to it: a host task that got it could not wait for a device. So
/// only `holders` decide when a field's block is handed on. A task leaves them, by one
/// acquire-release decrement for each field, when it has been launched or when it is over,
/// depending on the field's place. The new owner of a block takes the events off it under the lock
/// of the iteration; if there is none, the pool does.
///
/// One body of the model serves all iterations on the host. Two runs of it never overlap, see
/// Model::run_area. On a device an iteration may be launched before the previous one has run, so
/// each iteration has a copy.
class IterationBody {
 public:
  /// `step` is one of the iteration's schedule.
  IterationBody(std::shared_ptr<ModelIteration> iteration, ModelStep const& step)
      : m_iteration(std::move(iteration)), m_step(step) {}
  IterationBody(IterationBody const&) = delete;
  IterationBody& operator=(IterationBody const&) = delete;
  ~IterationBody() {
    m_time.tell(*m_iteration, m_step);
    release([&](bool is_on_device) { return !is_on_device || !m_is_launched; });
    for (PoolBlock* const block : m_under_way) model().pool().end_use(block);
    if (m_copy != nullptr) m_form.drop_body(m_copy);
    for (ModelStep::Use const& use : m_step.uses) {
      IterationField& field = m_iteration->fields[use.slot];
      if (field.users.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
      field.kept.reset();
      field.held.reset();
      if (!field.is_reserved) continue;
      ModelSlot const& slot = slot_of(use);
      model().admission()->release(slot.place, slot.field->shape.bytes);
    }
  }

  static void run(void* body, void* instance, Label const& label) {
    static_cast<IterationBody*>(body)->run(instance, label);
  }
  static void destroy(void* body) noexcept { static_cast<IterationBody*>(body)->~IterationBody(); }
  static void fail(void*, TaskId, std::string const&, FailurePtr const&) noexcept {}

 private:
  [[nodiscard]] Model& model() const { return *m_iteration->model; }
  [[nodiscard]] ModelSlot const& slot_of(ModelStep::Use const& use) const {
    return m_iteration->schedule->slots[use.slot];
  }
  [[nodiscard]] bool is_on_device(ModelStep::Use const& use) const {
    return model().target(slot_of(use).place).device() != nullptr;
  }

  void run(void* instance, Label const& label) {
    std::vector<FieldBinding::Entry> entries;
    entries.reserve(m_step.uses.size());
    for (ModelStep::Use const& use : m_step.uses)
      entries.push_back({use.named, memory_of(use, instance)});
    bool const launches = m_form.runs_on_device();
    void* body = m_form.body;
    if (launches) body = m_copy = m_form.copy_body();
    FieldBinding const binding(entries);
    if (m_iteration->measures != nullptr) m_time.start(device(), model().clock(), instance);
    m_form.ops->run(body, instance, label);
    if (m_iteration->measures != nullptr) m_time.stop(instance);
    if (launches) {
      for (ModelStep::Use const& use : m_step.uses)
        if (is_on_device(use)) note_use(m_iteration->fields[use.slot], instance);
      // If recording an event throws, this is skipped, and memory is handed on when the task is
      // over.
      m_is_launched = true;
      release([](bool of_device) { return of_device; });
    }
  }
  /// Returns the device; null if the task runs on the host.
  [[nodiscard]] DeviceAdapter* device() const { return model().target(m_step.place).device(); }

  /// Returns the memory for this task; the first one that writes takes it from the pool.
  [[nodiscard]] void* memory_of(ModelStep::Use const& use, void* instance) {
    IterationField& field = m_iteration->fields[use.slot];
    ModelSlot const& slot = slot_of(use);
    FieldState const& state = *slot.field;
    if (field.external != nullptr) return field.external;
    if (field.kept != nullptr) return field.kept->memory();
    std::lock_guard const lock(m_iteration->lock);
    if (field.block == nullptr && use.makes) {
      FieldTarget const& where = model().target(slot.place);
      field.block = model().pool().take(where, state.shape.bytes, state.name.string(),
                                        model().limit(slot.place));
      field.waits = std::exchange(field.block->uses, {});
    }
    if (field.block == nullptr) return nullptr;
    m_time.found_new_memory = m_time.found_new_memory || (use.makes && field.block->is_new);
    // On the device, the kernels of a task that writes come after the earlier uses of the memory.
    // Tasks that only read come after those kernels.
    if (use.makes)
      for (PoolBlock::Use const& before : field.waits)
        if (before.instance != instance) device()->enqueue_wait(instance, before.event);
    if (is_on_device(use)) {
      model().pool().begin_use(field.block);
      m_under_way.push_back(field.block);
    }
    return field.block->memory;
  }

  /// Leaves the fields for which `now(is on a device)` is true. The last holder hands the memory
  /// on.
  template <class Now>
  void release(Now&& now) noexcept {
    for (ModelStep::Use const& use : m_step.uses) {
      if (!now(is_on_device(use))) continue;
      IterationField& field = m_iteration->fields[use.slot];
      if (field.holders.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
      PoolBlock* const block = std::exchange(field.block, nullptr);
      for (PoolBlock::Use const& before : std::exchange(field.waits, {}))
        before.device->release_event(before.event);
      if (block != nullptr) model().pool().give_back(block);
    }
  }
  void note_use(IterationField& field, void* instance) {
    std::lock_guard const lock(m_iteration->lock);
    if (field.block == nullptr) return;
    auto& uses = field.block->uses;
    uses.reserve(uses.size() + 1);  // a recorded event must not get lost
    auto const known = std::find_if(uses.begin(), uses.end(),
                                    [&](auto const& use) { return use.instance == instance; });
    void* const event = device()->record_event(instance, false);
    if (known == uses.end()) {
      uses.push_back({device(), instance, event});
    } else {  // the new event comes after it
      device()->release_event(known->event);
      known->event = event;
    }
  }

  std::shared_ptr<ModelIteration> const m_iteration;
  ModelStep const& m_step;
  ModelForm const& m_form = *m_step.form;
  void* m_copy = nullptr;  ///< copy of the body, on a device
  bool m_is_launched = false;
  std::vector<PoolBlock*> m_under_way;  ///< blocks that it uses on a device
  StepTime m_time;
};

/// The engine calls this when it meets an access for the first time.
void describe_access(void const* subject, ResourceInfo& info) {
  info = static_cast<ModelAccess const*>(subject)->info;
}
/// True if the access may have this label: another field may have had the addresses before.
bool access_may_have_label(void const* subject, std::string const& label) {
  auto const& access = *static_cast<ModelAccess const*>(subject);
  if (access.field != nullptr && !access.area.has_value()) return access.here->may_be_called(label);
  return access.info.label.empty() || access.info.label == label ||
         (access.field != nullptr && access.field->may_be_called(label));
}
constexpr SubjectOps access_ops{&describe_access, &access_may_have_label};
void describe_runs(void const* subject, ResourceInfo& info) {
  info = static_cast<ModelTask const*>(subject)->run_info;
}
bool runs_may_have_label(void const* subject, std::string const& label) {
  return static_cast<ModelTask const*>(subject)->run_info.label == label;
}
constexpr SubjectOps run_ops{&describe_runs, &runs_may_have_label};
void describe_measured(void const* subject, ResourceInfo& info) {
  info.label = "what is measured alone";
  info.begin = reinterpret_cast<std::uintptr_t>(subject);
  info.end = info.begin + 1;
}
constexpr SubjectOps measured_ops{&describe_measured};

}  // namespace

/// Returns the operations of tasks with this pattern. They outlive all tasks.
TaskOps const* iteration_ops_of(std::string_view pattern) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::string_view, TaskOps>();  // patterns are literals
  std::lock_guard const lock(mutex);
  auto const [found, is_new] = known.try_emplace(pattern);
  if (is_new) {
    found->second.pattern = pattern;
    found->second.run = &IterationBody::run;
    found->second.destroy = &IterationBody::destroy;
    found->second.fail = &IterationBody::fail;
    found->second.may_wait = true;
  }
  return &found->second;
}

/// Allows one thread at a time: the tasks of two iterations must not be mixed.
class Model::Submitting {
 public:
  explicit Submitting(Model& model) : m_model(model) {
    if (m_model.m_is_submitting.exchange(true, std::memory_order_acquire))
      m_model.refuse(
          "is submitted while it is being submitted: one thread at a time may do so, and no task "
          "that runs meanwhile");
  }
  Submitting(Submitting const&) = delete;
  Submitting& operator=(Submitting const&) = delete;
  ~Submitting() { m_model.m_is_submitting.store(false, std::memory_order_release); }

 private:
  Model& m_model;
};

/// Takes memory that counts for the limit until it is no longer used. `what` names its purpose, for
/// errors.
KeptPtr Model::take_kept(std::size_t place, std::size_t bytes, std::string const& label,
                         std::string const& what) {
  auto const admission = m_admission;
  std::function<void()> const give_back = [admission, place, bytes] {
    if (admission != nullptr) admission->release(place, bytes);
  };
  if (admission != nullptr && !admission->keep(place, bytes))
    refuse("is to " + what + ", " + std::to_string(bytes) + " bytes at " + target(place).name() +
           ", while iterations that are under way have what is left of the limit of " +
           std::to_string(limit(place)) + " bytes, or wait for memory: wait for the graph before");
  PoolBlock* block = nullptr;
  try {
    // Nothing uses the block any more, not even on a device: tasks of any stream may be its first
    // users.
    block = pool().take(target(place), bytes, label, limit(place), FieldPool::Idle::quiet);
    return std::make_shared<KeptBlock>(m_options.pool, block, place, give_back);
  } catch (...) {
    if (block != nullptr) pool().give_back(block);
    give_back();
    throw;
  }
}

void Model::keep(FieldState& field) {
  KeptPtr const known = field.kept();
  if (known != nullptr && known->place() == field.place) return;
  field.keep(take_kept(field.place, field.shape.bytes, field.name.string(),
                       "keep the field " + field.text()));
}

/// Gives memory to the fields that keep their values after the iteration, and takes it from all
/// others. The others come first, as the limit may need their memory.
void Model::keep_memory() {
  for (auto const& [name, field] : m_fields)
    if (!is_kept(*field)) field->keep(nullptr);
  for (auto const& [name, field] : m_fields)
    if (is_kept(*field)) keep(*field);
}

/// Returns an area that all runs of a task on the host write, in each iteration and wherever its
/// fields have their memory then. The runs share one body, which has the arguments of the run; so
/// no two of them may overlap.
///
/// A task that makes fields writes them in each run, but not always in the same memory: a field may
/// be locked, or lie in a plan. The range of addresses reserved for the field stays the same. Bound
/// memory stays, too, if the task writes it itself. A task that makes no fields, or only copies of
/// fields bound elsewhere, has an area of its own.
Area Model::run_area(ModelStep const& step) const {
  Area const own = Area::contiguous(step.task.get(), 1);
  for (ModelAccess const& access : step.form->accesses) {
    if (!access.makes()) continue;
    FieldState const& field = *access.field;
    bool const has_range = field.range.begin() != nullptr;
    if (!has_range && access.here == access.field) return access.area_now();
    if (!has_range || access.area.has_value()) return own;
    return field.area(access.is_part ? access.box : field.shape.whole(), field.range.begin());
  }
  return own;
}

/// Adds the run area, unless the task writes it anyway. A reserved range has the label of its
/// field. The task's own area has the label of the task.
void Model::add_run_area(ModelStep const& step, std::vector<AccessRequest>& requests) const {
  Area const area = run_area(step);
  bool const is_there = std::any_of(requests.begin(), requests.end(), [&](auto const& request) {
    return request.mode == Mode::write && request.area == area;
  });
  if (is_there) return;
  ResourceInfo& info = step.task->run_info;
  info.label = step.task->label.string();
  info.begin = area.begin();
  info.end = area.end();
  for (ModelAccess const& access : step.form->accesses) {
    if (!access.makes()) continue;
    // The area of a part belongs to the whole range.
    auto const begin = reinterpret_cast<std::uintptr_t>(access.field->range.begin());
    if (begin <= area.begin() && area.end() <= begin + access.field->shape.bytes) {
      info.begin = begin;
      info.end = begin + access.field->shape.bytes;
      info.label = access.field->name.string();
    }
  }
  requests.push_back({area, Mode::write, step.task.get(), &run_ops});
}

/// Makes the access requests of the tasks. While tasks are measured, in this iteration and in those
/// in flight, each device runs one of them at a time. Otherwise the time of one task would include
/// that of earlier ones on other streams. So they write the element that stands for the device. A
/// probe has all links for itself: it writes the element that stands for them, and other copies
/// read it.
void Model::make_requests() {
  bool const is_measured = measures() != nullptr;
  for (ModelStep const& step : m_schedule->steps) {
    ModelTask* const task = step.task.get();
    task->requests.clear();
    for (ModelAccess& access : step.form->accesses) {
      if (access.field != nullptr && !access.area.has_value()) {
        access.info.begin = reinterpret_cast<std::uintptr_t>(access.here->identity());
        access.info.end = access.info.begin + access.here->shape.bytes;
        access.info.label = access.here->name.string();
      }
      task->requests.push_back({access.area_now(), access.mode, &access, &access_ops,
                                access.state != nullptr ? &access.state : nullptr});
    }
    if (!task->makes_fields || !step.form->runs_on_device()) add_run_area(step, task->requests);
    if (!is_measured) continue;
    bool const is_task = task->kind == PlacedStep::Kind::task;
    if (is_task && !step.form->runs_on_device()) continue;
    char const* const alone = is_task ? &m_alone[step.place] : &m_alone.back();
    bool const is_other_copy = task->kind == PlacedStep::Kind::copy;
    task->requests.push_back({Area::contiguous(alone, 1), is_other_copy ? Mode::read : Mode::write,
                              alone, &measured_ops});
  }
}

void Model::submit() {
  Submitting const submitting(*this);
  if (GraphInternals::is_recording(m_graph)) return submit_frozen();
  analyse(true);
  check_limit();
  keep_memory();
  make_requests();
  tell_planner();
  auto const iteration = std::make_shared<ModelIteration>(shared_from_this());
  auto const& steps = iteration->schedule->steps;
  std::size_t next = 0;
  m_options.placement->submitted();  // before the tasks, which may run ahead
  try {
    std::vector<TaskHandle> so_far;
    for (; next < steps.size(); ++next) {
      TaskHandle const task = submit_step(steps[next], iteration, so_far);
      if (iteration->schedule->has_after) so_far.push_back(task);
    }
  } catch (...) {
    // This ends the other steps as if they had been cancelled.
    for (++next; next < steps.size(); ++next) IterationBody const over(iteration, steps[next]);
    throw;
  }
  for (ModelSchedule::Sides const& dual : iteration->schedule->sides)
    dual.field->sides->set(dual.after);
}

TaskHandle Model::submit_gate(std::shared_ptr<Admission::Gate> const& gate, ModelTask const& task,
                              std::shared_ptr<ModelIteration> const& iteration) {
  return FutureInternals::handle(
      host_task(Label("memory for " + task.label.string(), task.label.site()),
                ResourcePolicy(m_graph, priority(std::numeric_limits<int>::max())),
                [gate, iteration](Completion<> completion) { gate->arm(std::move(completion)); }));
}

void Model::set_properties(TaskSpec& spec, ModelStep const& step) const {
  spec.space = step.form->runs_on_device() ? target(step.place).device() : step.form->space;
  spec.tags = step.tags;
  spec.priority = step.task->priority;
  spec.synchronizing = step.task->synchronizing;
  spec.main_thread = step.task->main_thread;
}

TaskHandle Model::submit_step(ModelStep const& step,
                              std::shared_ptr<ModelIteration> const& iteration,
                              std::vector<TaskHandle> const& so_far) {
  ModelTask const& task = *step.task;
  bool is_made = false;
  std::shared_ptr<Admission::Gate> gate;
  try {
    std::vector<TaskHandle> before = task.after_others;
    for (std::size_t const other : step.after) before.push_back(so_far[other]);
    if (m_admission != nullptr) {
      gate = m_admission->admit(step.needs);
      for (std::size_t const slot : step.starts) iteration->fields[slot].is_reserved = true;
      TaskHandle waits;
      if (gate != nullptr) waits = submit_gate(gate, task, iteration);
      for (std::size_t const slot : step.starts) iteration->fields[slot].gate = waits;
      // Tasks that write another part of a field may be the first ones to run.
      for (ModelStep::Use const& use : step.uses) {
        TaskHandle const& needed = iteration->fields[use.slot].gate;
        if (use.makes && needed.valid()) before.push_back(needed);
      }
    }
    auto construct = [&](void* storage) {
      ::new (storage) IterationBody(iteration, step);
      is_made = true;
    };
    TaskSpec spec(Label(task.label), *step.form->iteration_ops, sizeof(IterationBody),
                  alignof(IterationBody), construct);
    set_properties(spec, step);
    spec.accesses = task.requests;
    spec.after = before;
    return GraphInternals::submit(m_graph, std::move(spec));
  } catch (...) {
    if (!is_made) {
      if (gate != nullptr) {
        m_admission->abandon(*gate);
        for (std::size_t const slot : step.starts) iteration->fields[slot].is_reserved = false;
      }
      IterationBody const over(iteration, step);
    }
    throw;
  }
}

}  // namespace trellis::Impl
