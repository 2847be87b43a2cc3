// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_DeviceAdapter.hpp>
#include <Trellis_Error.hpp>
#include <fields/impl/Trellis_FrozenIteration.hpp>
#include <fields/impl/Trellis_MemoryLayout.hpp>
#include <graph/Trellis_GraphInternals.hpp>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

/// This file has the iterations that are recorded in plans.
namespace trellis::Impl {

namespace {

/// The body of a task of a frozen iteration. The arguments of a kernel are bound here once, in a
/// copy of its body. A replay then runs the copy as if it had been written with Views, so a device
/// may capture it. If some arguments are not those of fields, and may differ in the next replay,
/// the copy is bound in each run. A callable need not have copies. Its arguments are bound in each
/// run, in the body that all runs of the task share; see Model::run_area for why no two runs
/// overlap.
class FrozenBody {
 public:
  FrozenBody(std::shared_ptr<FrozenIteration const> iteration, ModelStep const& step)
      : m_iteration(std::move(iteration)), m_form(*step.form), m_task(step.task) {
    for (ModelStep::Use const& use : step.uses)
      m_fields.push_back({use.named, m_iteration->slots[use.slot].memory});
    m_body = m_form.body;
    m_run = m_form.ops->run;
    if (m_form.ops->copy == nullptr) return;
    m_copy.reset(m_form.copy_body());
    m_body = m_copy.get();
    m_is_bound = m_form.late == nullptr || m_form.late->stays_in_an_iteration;
    if (m_form.late == nullptr || !m_is_bound) return;
    m_run = m_form.late->run;
    FieldBinding const binding(m_fields);
    m_form.late->bind(m_body, m_task->label);
  }
  FrozenBody(FrozenBody const&) = delete;
  FrozenBody& operator=(FrozenBody const&) = delete;
  ~FrozenBody() = default;

  static void run(void* body, void* instance, Label const& label) {
    auto& self = *static_cast<FrozenBody*>(body);
    if (self.m_is_bound) return self.m_run(self.m_body, instance, label);
    FieldBinding const binding(self.m_fields);
    self.m_run(self.m_body, instance, label);
  }
  static void destroy(void* body) noexcept { static_cast<FrozenBody*>(body)->~FrozenBody(); }
  static void fail(void*, TaskId, std::string const&, FailurePtr const&) noexcept {}

 private:
  std::shared_ptr<FrozenIteration const> const m_iteration;
  ModelForm const& m_form;
  std::shared_ptr<ModelTask> const m_task;  ///< owns the form
  std::vector<FieldBinding::Entry> m_fields;
  struct Drop {
    ModelForm const& form;
    void operator()(void* body) const noexcept { form.drop_body(body); }
  };
  std::unique_ptr<void, Drop> m_copy{nullptr, {m_form}};  ///< null: the body that all runs share
  void* m_body = nullptr;
  bool m_is_bound = false;  ///< bound once for all runs
  void (*m_run)(void* body, void* instance, Label const& label) = nullptr;
};

/// Returns operations that outlive all tasks.
TaskOps const* frozen_ops_of(ModelForm const& form) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::pair<std::string_view, bool>, TaskOps>();
  bool const launches_only =
      form.ops->copy != nullptr &&
      (form.late != nullptr && form.late->stays_in_an_iteration ? form.late->launches_only
                                                                : form.ops->launches_only);
  std::lock_guard const lock(mutex);
  auto const [found, is_new] = known.try_emplace({form.ops->pattern, launches_only});
  if (is_new) {
    TaskOps& ops = found->second;
    ops.pattern = form.ops->pattern;
    ops.run = &FrozenBody::run;
    ops.destroy = &FrozenBody::destroy;
    ops.fail = &FrozenBody::fail;
    ops.launches_only = launches_only;
    ops.may_wait = true;
  }
  return &found->second;
}

/// Describes an access of a task of a frozen iteration, for the recording.
void describe_frozen_access(void const* subject, ResourceInfo& info) {
  info = *static_cast<ResourceInfo const*>(subject);
}
/// Describes the iteration itself as a resource that its first task reads. Nothing else uses this
/// memory.
void describe_frozen_iteration(void const* subject, ResourceInfo& info) {
  FrozenIteration const& iteration =
      **static_cast<std::shared_ptr<FrozenIteration const> const*>(subject);
  info.label = iteration.name;
  info.begin = reinterpret_cast<std::uintptr_t>(&iteration);
  info.end = info.begin + 1;
}
/// Before each replay a plan asks for the other holders of its resources. This call is used to
/// check that the iteration is still valid.
class FrozenHold final : public ResourceHold {
 public:
  explicit FrozenHold(std::shared_ptr<FrozenIteration const> iteration)
      : m_iteration(std::move(iteration)) {}
  [[nodiscard]] long holders() const override {
    m_iteration->begin_replay();
    return std::numeric_limits<long>::max();  // the program holds it, whatever plans hold
  }
  [[nodiscard]] void const* record() const override { return m_iteration.get(); }
  [[nodiscard]] std::pair<std::uintptr_t, std::uintptr_t> addresses() const override {
    auto const begin = reinterpret_cast<std::uintptr_t>(m_iteration.get());
    return {begin, begin + 1};
  }
  [[nodiscard]] std::span<bool const> padding() const override { return {}; }

 private:
  std::shared_ptr<FrozenIteration const> const m_iteration;
};
std::unique_ptr<ResourceHold> hold_frozen_iteration(void const* subject) {
  return std::make_unique<FrozenHold>(
      *static_cast<std::shared_ptr<FrozenIteration const> const*>(subject));
}
constexpr SubjectOps frozen_access_ops{&describe_frozen_access};
constexpr SubjectOps frozen_iteration_ops{&describe_frozen_iteration, nullptr,
                                          &hold_frozen_iteration};

/// The alignment of Kokkos' allocations; on a device, the size of a memory access.
constexpr std::size_t host_alignment = 64;
constexpr std::size_t device_alignment = 256;

}  // namespace

bool FrozenIteration::is_watched() const {
  return !schedule->sides.empty() || std::any_of(slots.begin(), slots.end(), [](Slot const& of) {
    return of.kept != nullptr || of.bound != nullptr;
  });
}

namespace {
[[noreturn]] void refuse_bound_anew(Model const& model, FieldState const& field) {
  model.refuse("is in a plan in which the field " + field.text() + " (" + field.name.place() +
               ") has other memory than it has now: it has been bound anew. Bind it as it was in "
               "the recording, or record the plan again");
}
}  // namespace

void FrozenIteration::begin_replay() const {
  auto const owner = model.lock();
  if (owner == nullptr) return;  // nothing can have changed
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    FieldState const& field = *schedule->slots[slot].field;
    if (slots[slot].kept != nullptr && field.kept() != slots[slot].kept)
      owner->refuse("is in a plan in which the field " + field.text() + " (" + field.name.place() +
                    ") has other memory than it has now: it has been unlocked or stored otherwise. "
                    "Record the plan again");
    if (slots[slot].bound != nullptr && field.memory() != slots[slot].memory)
      refuse_bound_anew(*owner, field);
  }
  for (ModelSchedule::Sides const& dual : schedule->sides)
    if (dual.field->sides == nullptr) refuse_bound_anew(*owner, *dual.field);
  for (ModelSchedule::Sides const& dual : schedule->sides) {
    TwoSides::Valid const now = dual.field->sides->get();
    if ((dual.before.on_host && !now.on_host) || (dual.before.on_device && !now.on_device))
      owner->refuse("is in a plan that needs the values of the DualView " + dual.field->text() +
                    " (" + dual.field->name.place() + ") on the " +
                    (now.on_host ? "device" : "host") +
                    ", where they are older now: sync it before the replay");
  }
  for (ModelSchedule::Sides const& dual : schedule->sides)
    if (!(dual.field->sides->get() == dual.after)) dual.field->sides->set(dual.after);
}

// --- the layout ----------------------------------------------------------------------------------

/// Returns the distance in the model's order from which on tasks may wait for each other only
/// because of shared bytes. One worker runs the tasks in that order. With several workers the
/// window has a few tasks for each.
std::size_t Model::frozen_window() const {
  bool const has_device =
      std::any_of(m_options.targets.begin(), m_options.targets.end(),
                  [](FieldTarget const& each) { return each.device() != nullptr; });
  TaskGraphOptions const& options = m_graph.options();
  constexpr int each = 4;
  int at_a_time = *options.serial ? 1 : m_graph.workers();
  if (has_device) at_a_time = std::max(at_a_time, *options.streams);
  return at_a_time > 1 ? static_cast<std::size_t>(each * at_a_time) : 0;
}

/// Returns a layout that fits into the room, or the smallest one.
MemoryLayout Model::frozen_layout(std::size_t window) const {
  std::vector<std::size_t> alignments, rooms;
  for (std::size_t place = 0; place < m_options.targets.size(); ++place) {
    alignments.push_back(target(place).device() != nullptr ? device_alignment : host_alignment);
    std::size_t room = std::numeric_limits<std::size_t>::max();
    if (m_admission != nullptr) {
      std::size_t const used = persistent_bytes(place);
      room = limit(place) - std::min(limit(place), used);
    }
    rooms.push_back(room);
  }
  return lay_out_within(m_schedule->memory, m_schedule->memory_order, alignments, window, rooms);
}

/// Throws an error that names a field that has no room in the slab.
void Model::check_frozen_limit(MemoryLayout const& layout) const {
  if (m_admission == nullptr) return;
  for (std::size_t place = 0; place < layout.bytes.size(); ++place) {
    std::size_t const most = limit(place);
    std::size_t const used = persistent_bytes(place);
    if (used + layout.bytes[place] <= most) continue;
    std::size_t const room = most - std::min(most, used);
    std::size_t piece = 0;
    for (ModelSlot const& slot : m_schedule->slots) {
      if (slot.field->keeps_values()) continue;
      std::size_t const end = layout.offsets[piece++] + slot.field->shape.bytes;
      if (slot.place == place && end > room)
        refuse("has no room in a plan for the field " + slot.field->text() + " (" +
               slot.field->name.place() + "): it needs " + std::to_string(slot.field->shape.bytes) +
               " bytes at " + target(place).name() + ", all that is not kept between iterations " +
               std::to_string(layout.bytes[place]) + ", and of the limit of " +
               std::to_string(most) + " bytes " + std::to_string(room) + " are available");
    }
    refuse("has no room in a plan for its fields: they need " +
           std::to_string(layout.bytes[place]) + " bytes at " + target(place).name() +
           ", and of the limit of " + std::to_string(most) + " bytes " + std::to_string(room) +
           " are available");
  }
}

/// Returns the bytes that plans hold at one place, besides the present memory of fields between
/// iterations.
std::size_t Model::bytes_in_plans(std::size_t place) const {
  std::set<KeptBlock const*> blocks;
  std::size_t bytes = 0;
  auto const add = [&](KeptPtr const& block) {
    if (block != nullptr && block->place() == place && blocks.insert(block.get()).second)
      bytes += block->bytes();
  };
  for (auto const& each : m_frozen) {
    auto const iteration = each.lock();
    if (iteration == nullptr) continue;
    for (KeptPtr const& slab : iteration->slabs) add(slab);
    for (std::size_t slot = 0; slot < iteration->slots.size(); ++slot)
      if (KeptPtr const& kept = iteration->slots[slot].kept;
          kept != nullptr && iteration->schedule->slots[slot].field->kept() != kept)
        add(kept);
  }
  return bytes;
}

// --- the recording -------------------------------------------------------------------------------

void Model::submit_frozen() {
  analyse(true);
  if (measures() != nullptr)
    refuse(
        "is submitted in the recording of a plan while its placement policy \"" +
        std::string(m_options.placement->name()) +
        "\" still measures where its tasks are to run: submit iterations until assignment() stays "
        "the same");
  for (ModelSchedule::Sides const& dual : m_schedule->sides)
    if ((dual.before.on_host && !dual.after.on_host) ||
        (dual.before.on_device && !dual.after.on_device))
      refuse("is submitted in the recording of a plan when the DualView " + dual.field->text() +
             " (" + dual.field->name.place() + ") is up to date on the " +
             (dual.after.on_host ? "device" : "host") +
             ", where it is not after an iteration, so that the next iteration would be another "
             "one: submit "
             "one iteration before");
  MemoryLayout const layout = frozen_layout(frozen_window());
  check_frozen_limit(layout);
  keep_memory();
  auto iteration = std::make_shared<FrozenIteration>();
  iteration->schedule = m_schedule;
  iteration->model = weak_from_this();
  iteration->name = m_options.name;
  for (std::size_t place = 0; place < layout.bytes.size(); ++place) {
    std::string const label = "fields of " + m_options.name + " at " + target(place).name();
    KeptPtr& slab = iteration->slabs.emplace_back();
    ResourceInfo& info = iteration->infos.emplace_back();
    if (layout.bytes[place] == 0) continue;
    slab = take_kept(place, layout.bytes[place], label, "have a plan with memory of its own");
    info.label = label;
    info.begin = reinterpret_cast<std::uintptr_t>(slab->memory());
    info.end = info.begin + layout.bytes[place];
  }
  std::size_t piece = 0;
  for (ModelSlot const& slot : m_schedule->slots) {
    FieldState const& field = *slot.field;
    FrozenIteration::Slot& of = iteration->slots.emplace_back();
    of.bound = field.held;
    if (field.keeps_values()) {
      if (field.external == nullptr) of.kept = field.kept();
      of.memory = field.memory();
      continue;
    }
    std::size_t const offset = layout.offsets[piece++];
    of.lies_in_slab = true;
    KeptPtr const& slab = iteration->slabs[slot.place];
    if (slab != nullptr) of.memory = static_cast<char*>(slab->memory()) + offset;
  }
  std::erase_if(m_frozen, [](auto const& each) { return each.expired(); });
  m_frozen.push_back(iteration);
  m_is_placed = false;  // the order has less room from now on
  bool is_first = true;
  std::vector<TaskHandle> so_far;
  for (ModelStep const& step : iteration->schedule->steps)
    so_far.push_back(submit_frozen_step(step, iteration, std::exchange(is_first, false), so_far));
}

TaskHandle Model::submit_frozen_step(ModelStep const& step,
                                     std::shared_ptr<FrozenIteration const> const& iteration,
                                     bool is_first, std::vector<TaskHandle> const& so_far) {
  ModelTask const& task = *step.task;
  std::deque<ResourceInfo> infos;  // the requests refer to these
  std::vector<AccessRequest> requests;
  for (ModelAccess const& access : step.form->accesses) {
    ResourceInfo& info = infos.emplace_back(access.info);
    StatePtr const* const state = access.state != nullptr ? &access.state : nullptr;
    if (access.area.has_value()) {
      requests.push_back({*access.area, access.mode, &info, &frozen_access_ops, state});
      continue;
    }
    auto const use = std::find_if(step.uses.begin(), step.uses.end(), [&](auto const& each) {
      return iteration->schedule->slots[each.slot].field == access.here;
    });
    FrozenIteration::Slot const& slot = iteration->slots[use->slot];
    if (slot.lies_in_slab)
      info = iteration->infos[iteration->schedule->slots[use->slot].place];
    else
      describe_field_state(*access.here, info);
    FieldBox const box = access.is_part ? access.box : access.field->shape.whole();
    requests.push_back(
        {access.here->area(box, slot.memory), access.mode, &info, &frozen_access_ops, state});
  }
  if (is_first && iteration->is_watched())
    requests.push_back(
        {Area::contiguous(iteration.get(), 1), Mode::read, &iteration, &frozen_iteration_ops});
  if (step.form->ops->copy == nullptr || !task.makes_fields) add_run_area(step, requests);
  auto const construct = [&](void* storage) { ::new (storage) FrozenBody(iteration, step); };
  TaskSpec spec(Label(task.label), *frozen_ops_of(*step.form), sizeof(FrozenBody),
                alignof(FrozenBody), construct);
  set_properties(spec, step);
  spec.accesses = requests;
  spec.tags = task.tags;  // the plan itself reports to the policy
  std::vector<TaskHandle> before = task.after_others;
  for (std::size_t const other : step.after) before.push_back(so_far[other]);
  spec.after = before;
  return GraphInternals::submit(m_graph, std::move(spec));
}

}  // namespace trellis::Impl
