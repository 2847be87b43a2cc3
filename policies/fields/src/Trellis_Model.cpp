// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_DeviceAdapter.hpp>
#include <Trellis_Error.hpp>
#include <fields/Trellis_Field.hpp>
#include <fields/impl/Trellis_Model.hpp>
#include <graph/Trellis_GraphInternals.hpp>
#include <graph/Trellis_ModelTasks.hpp>
#include <annotations/impl/Trellis_ViewAccess.hpp>

#include <algorithm>
#include <functional>
#include <new>
#include <string_view>
#include <utility>

namespace trellis {

std::size_t FieldMemory::peak(int workers) const {
  if (peaks.empty()) return persistent;
  auto const last = static_cast<int>(peaks.size());
  return peaks[static_cast<std::size_t>(std::clamp(workers, 1, last)) - 1];
}

namespace Impl {

TaskOps const* iteration_ops_of(std::string_view pattern);

ModelForm::ModelForm(TaskSpec const& spec, LateOps const* of_late, FieldMemoryOps const* of)
    : ops(spec.ops),
      late(of_late),
      iteration_ops(iteration_ops_of(spec.ops->pattern)),
      body_alignment(spec.body_alignment),
      space(spec.space),
      memory(of) {
  void* const storage = ::operator new(spec.body_size, std::align_val_t(body_alignment));
  try {
    spec.construct(storage);
  } catch (...) {
    ::operator delete(storage, std::align_val_t(body_alignment));
    throw;
  }
  body = storage;
}

ModelForm::~ModelForm() {
  if (body != nullptr) drop_body(body);
}

void* ModelForm::copy_body() const {
  void* const copy = ::operator new(ops->size, std::align_val_t(body_alignment));
  try {
    ops->copy(body, copy);
  } catch (...) {
    ::operator delete(copy, std::align_val_t(body_alignment));
    throw;
  }
  return copy;
}

void ModelForm::drop_body(void* copy) const noexcept {
  if (ops->end != TaskOps::End::nothing) ops->destroy(copy);
  ::operator delete(copy, std::align_val_t(body_alignment));
}

ModelTask::ModelTask(TaskSpec const& spec, std::size_t at)
    : number(at),
      label(spec.label),
      priority(spec.priority),
      main_thread(spec.main_thread),
      tags(spec.tags.begin(), spec.tags.end()) {}

Model::Model(TaskGraph& graph, FieldGraphOptions options)
    : m_graph(graph), m_options(std::move(options)), m_alone(m_options.targets.size() + 1, 0) {
  if (m_options.targets.empty()) refuse("has no target");
  if (m_options.pool == nullptr) m_options.pool = std::make_shared<FieldPool>();
  // A serial graph is the oracle: tasks that may run on the host do so.
  if (m_options.placement == nullptr || *graph.options().serial)
    m_options.placement = make_host_placement();
  std::vector<std::size_t> limits;
  for (FieldTarget const& each : m_options.targets) {
    std::size_t available = each.available();
    if (available != FieldPool::any_number) available += pool().counts(each).idle;
    limits.push_back(std::min(available, m_options.memory_limit.value_or(FieldPool::any_number)));
  }
  if (std::any_of(limits.begin(), limits.end(),
                  [](std::size_t limit) { return limit != FieldPool::any_number; }))
    m_admission = std::make_shared<Admission>(std::move(limits));
  if (!m_options.placement->take())  // last: a later exception would keep it
    refuse("is given the placement policy \"" + std::string(m_options.placement->name()) +
           "\" that another model has: make one for each");
}

Model::~Model() {
  forget_model_tasks(m_number);
  m_options.placement->give_back();
  for (auto const& [name, field] : m_fields) {
    field->keep(nullptr);
    field->external = nullptr;
    field->held = nullptr;
    field->copies.clear();
    field->sides = nullptr;
  }
}

void Model::refuse(std::string const& why) const {
  throw Error(Error::Kind::bad_input, "Trellis: the model \"" + m_options.name + "\" " + why);
}

namespace {
std::string shape_text(FieldShape const& shape) {
  std::string text;
  for (int k = 0; k < shape.rank; ++k)
    text += (k == 0 ? "" : " x ") + std::to_string(shape.extents[static_cast<std::size_t>(k)]);
  return text + " elements of " + std::to_string(shape.element_bytes) + " bytes";
}
}  // namespace

std::shared_ptr<FieldState> Model::declare(Label name, FieldShape const& shape) {
  auto const known = m_fields.find(name.view());
  if (known == m_fields.end()) {
    auto field = std::make_shared<FieldState>(std::move(name), m_number);
    field->set_shape(shape);
    m_fields.emplace(field->name.string(), field);
    m_is_analysed = false;
    return field;
  }
  FieldState& field = *known->second;
  FieldShape const& old = field.shape;
  std::string const both =
      "names the field " + field.text() + " at " + name.place() + " and at " + field.name.place();
  if (old.type != shape.type) refuse(both + " with different types");
  if (!shape.has_extents) return known->second;
  if (!old.has_extents) {
    field.set_shape(shape);
    m_is_analysed = false;
  } else if (old.extents != shape.extents || old.strides != shape.strides) {
    refuse(both + " with different extents: " + shape_text(shape) + ", and " + shape_text(old));
  }
  return known->second;
}

namespace {
std::string place_text(std::source_location const& at) {
  return std::string(at.file_name()) + ':' + std::to_string(at.line());
}
}  // namespace

/// Binding a field anew changes only the field's memory in an iteration, unless the memory is at
/// another place. So the program may do it before each iteration.
void Model::bind(std::shared_ptr<FieldState> const& field, void* memory,
                 std::shared_ptr<void const> held, std::string held_label, FieldTarget const& where,
                 std::source_location const& at) {
  std::size_t const place = place_of(where.device(), "the field " + field->text());
  bool const is_anew = field->external != nullptr;
  if (is_anew) {
    check_may_be_bound(*field, at);
    m_has_new_bindings = true;
  } else {
    check_memory(*field, memory, at);
  }
  if (!is_anew || field->place != place || field->sides != nullptr) {
    m_is_analysed = false;
    if (is_anew) field->copies.clear();
    field->sides = nullptr;
  }
  field->place = place;
  field->storage = FieldStorage::external;
  field->external = memory;
  field->held = std::move(held);
  field->held_label = std::move(held_label);
  field->bound_at = at;
}

void Model::check_memory(FieldState const& field, void* memory,
                         std::source_location const& at) const {
  for (auto const& [name, other] : m_fields) {
    if (other->external == nullptr || other.get() == &field) continue;
    Area const area = other->area(other->shape.whole());
    if (overlaps(area, Area::contiguous(memory, field.shape.bytes)))
      refuse("binds memory of the field " + other->text() + " (bound at " +
             place_text(other->bound_at) + ") to the field " + field.text() + " at " +
             place_text(at) + ", too");
  }
}

/// While several fields are bound anew, one after the other, two may have the same memory, but not
/// in an iteration.
void Model::check_bindings() {
  if (!m_has_new_bindings) return;
  std::vector<FieldState const*> bound;
  for (auto const& [name, field] : m_fields)
    if (field->external != nullptr) bound.push_back(field.get());
  std::sort(bound.begin(), bound.end(), [](FieldState const* a, FieldState const* b) {
    return std::less<>()(a->external, b->external);
  });
  for (std::size_t k = 0; k < bound.size(); ++k) {
    Area const area = bound[k]->area(bound[k]->shape.whole());
    for (std::size_t next = k + 1; next < bound.size(); ++next) {
      Area const other = bound[next]->area(bound[next]->shape.whole());
      if (other.begin() >= area.end()) break;
      if (overlaps(area, other))
        check_memory(*bound[next], bound[next]->external, bound[next]->bound_at);
    }
  }
  m_has_new_bindings = false;
}

/// The functor of a task that names a View has captured it, or gets it in each iteration.
void Model::check_may_be_bound(FieldState const& field, std::source_location const& at) const {
  for (auto const& task : m_tasks)
    for (auto const& form : task->forms)
      for (ModelAccess const& access : form->accesses)
        if (access.field.get() == &field && access.area.has_value())
          refuse("is to bind the field " + field.text() + " (" + field.name.place() + ") anew at " +
                 place_text(at) + ", whose View the " + task->text() +
                 " names itself: let it name the field");
}

void Model::swap(FieldState& a, FieldState& b, std::source_location const& at) {
  check_own(&a);
  check_own(&b);
  std::string const both =
      "is to swap the fields " + a.text() + " and " + b.text() + " at " + place_text(at);
  if (a.shape.type != b.shape.type || a.shape.extents != b.shape.extents ||
      a.shape.strides != b.shape.strides)
    refuse(both + ", which differ in type or extents");
  if (a.sides != nullptr || b.sides != nullptr)
    refuse(both + ", of which one is a DualView: bind both anew");
  if (a.external != nullptr && b.external != nullptr) {
    check_may_be_bound(a, at);
    check_may_be_bound(b, at);
    if (a.place != b.place) {
      m_is_analysed = false;
      a.copies.clear();
      b.copies.clear();
    }
    std::swap(a.place, b.place);
    std::swap(a.external, b.external);
    std::swap(a.held, b.held);
    std::swap(a.held_label, b.held_label);
    std::swap(a.bound_at, b.bound_at);
    return;
  }
  KeptPtr const of_a = a.kept(), of_b = b.kept();
  bool const are_persistent =
      a.storage == FieldStorage::persistent && b.storage == FieldStorage::persistent;
  if (!are_persistent || of_a == nullptr || of_b == nullptr || of_a->place() != of_b->place())
    refuse(both + ", which are neither both bound nor both persistent at one place");
  a.keep(of_b);
  b.keep(of_a);
}

/// Binds the second side. `field` has been bound to the side on the host.
void Model::bind_sides(std::shared_ptr<FieldState> const& field, void* device_memory,
                       FieldTarget const& device, TwoSides sides) {
  sides.device_place = place_of(device.device(), "the field " + field->text());
  auto const& copy = copy_at(field, sides.device_place);
  m_is_analysed = false;
  copy->storage = FieldStorage::external;
  copy->external = device_memory;
  copy->held = field->held;
  field->sides = std::make_shared<TwoSides const>(std::move(sides));
}

std::shared_ptr<FieldState> Model::find(std::string_view name) const {
  auto const known = m_fields.find(name);
  if (known != m_fields.end()) return known->second;
  refuse("has no field \"" + std::string(name) + '"');
}

void Model::check_own(FieldState const* field) const {
  if (field == nullptr) refuse("is given a field that belongs to no model");
  if (field->owner != m_number)
    refuse("is given the field " + field->text() + " (" + field->name.place() +
           ") of another model: bind one View in both");
}

std::size_t Model::place_of(DeviceAdapter const* device, std::string const& who) const {
  for (std::size_t place = 0; place < m_options.targets.size(); ++place)
    if (m_options.targets[place].device() == device) return place;
  refuse("does not have the target of " + who + " among its `targets`");
}

DeviceAdapter const* Model::clock() const {
  for (FieldTarget const& each : m_options.targets)
    if (each.device() != nullptr && each.device()->has_own_clock()) return each.device();
  return nullptr;
}

/// Returns the bound field that the area of a View belongs to, if any.
std::shared_ptr<FieldState> Model::bound_at(Area const& area) const {
  for (auto const& [name, field] : m_fields)
    if (field->external != nullptr && overlaps(field->area(field->shape.whole()), area))
      return field;
  return nullptr;
}

void Model::collect(std::shared_ptr<ModelTask>& task, TaskSpec&& spec, bool has_result,
                    LateOps const* late, FieldMemoryOps const* memory) {
  std::string const text = "task " + spec.label.text();
  if (has_result)
    refuse("gets the " + text +
           ", which has a result for a Future: there would be one for each "
           "iteration; let it write a field");
  std::vector<std::size_t> after;
  std::vector<TaskHandle> after_others;
  for (TaskHandle const& before : spec.after) {
    TaskHandle const of_graph = GraphInternals::handle(m_graph);
    if (is_task_of_model(before, m_number))
      after.push_back(place_in_model(before));
    else if (before.valid() && before.control == of_graph.control &&
             before.generation == of_graph.generation)
      after_others.push_back(before);
    else
      refuse("gets the " + text + " after " +
             (is_model_task(before) ? model_task_text(before) + " which is another one"
              : before.valid()      ? "a future of another graph"
                                    : "a future that belongs to no task"));
  }
  if (spec.instance != nullptr) refuse("gets the " + text + " on an instance of the program's own");
  std::vector<ModelAccess> accesses;
  bool makes_fields = false;
  for (AccessRequest const& request : spec.accesses) {
    ModelAccess access;
    access.mode = request.mode;
    if (request.state != nullptr) access.state = *request.state;
    access.info = info_of(request);
    if (request.ops != nullptr && request.ops->describe == &describe_field) {
      auto const& area = *static_cast<FieldArea const*>(request.subject);
      check_own(area.field().get());
      access.field = area.field();
      access.is_part = !area.is_whole();
      access.box = area.box();
    } else {
      if (!request.counts()) continue;
      access.area = request.area;
      access.field = bound_at(request.area);
    }
    if (access.mode == Mode::none) continue;
    // A Token may be written, as nothing is computed there, unless it is that of a LateView.
    bool const stands_for_nothing =
        request.ops != nullptr &&
        (request.ops->describe == &describe_token || request.ops->describe == &describe_box);
    bool const has_array = late != nullptr && !late->stays_in_an_iteration;
    std::string const name = '"' + access.info.label + '"';
    if (access.field == nullptr) {
      bool const is_free = access.state != nullptr || access.mode == Mode::read ||
                           access.mode == Mode::exclusive || access.mode == Mode::atomic_add ||
                           access.mode == Mode::atomic_mul || (stands_for_nothing && !has_array);
      if (!is_free)
        refuse("gets the " + text + ", which writes " + name +
               ": what a model computes is a field, so bind the View before");
    } else if (access.state != nullptr ||
               (access.mode != Mode::read && access.mode != Mode::write)) {
      refuse("gets the " + text + ", which accesses the field " + name + " in the mode " +
             (access.state != nullptr ? "of a user's state" : std::string(to_string(access.mode))) +
             ": a task reads a field, or computes it by write");
    }
    makes_fields = makes_fields || access.makes();
    accesses.push_back(std::move(access));
  }
  DeviceAdapter const* const device = spec.space != nullptr ? spec.space->device() : nullptr;
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < m_options.targets.size() && memory != nullptr; ++place)
    if (target(place).memory() == memory) places.push_back(place);
  if (memory == nullptr) {
    places.push_back(place_of(device, "the " + text));
    memory = target(places.front()).memory();
  }
  if (task == nullptr) {
    task = std::make_shared<ModelTask>(spec, m_replaces.value_or(m_tasks.size()));
    task->synchronizing = spec.synchronizing;
    task->after = std::move(after);
    task->after_others = std::move(after_others);
  }
  auto form = std::make_unique<ModelForm>(spec, late, memory);
  form->accesses = std::move(accesses);
  form->places = std::move(places);
  task->makes_fields = makes_fields;
  if (form->runs_on_device() && form->ops->copy == nullptr)
    refuse("gets the " + text + ", which runs on a device and is no kernel");
  if (!form->places.empty()) task->forms.push_back(std::move(form));
}

TaskHandle Model::add(std::shared_ptr<ModelTask> task) {
  if (task->forms.empty())
    refuse("has none of the targets of the " + task->text() + " among its `targets`");
  task->place = task->forms.front()->places.front();
  std::size_t const number = task->number;
  TaskHandle const handle = add_model_task(m_number, number, task->text());
  if (number == m_tasks.size()) {
    m_tasks.push_back(std::move(task));
  } else {
    m_tasks[number] = std::move(task);
    m_replaces.reset();
    m_options.placement->forget();  // its measurements belong to the old task
  }
  m_is_analysed = false;
  return handle;
}

void Model::replace(TaskHandle const& old, FunctionRef<void()> hand_over,
                    std::source_location const& at) {
  if (!is_task_of_model(old, m_number))
    refuse("is to replace " +
           (is_model_task(old) ? model_task_text(old) + " which is another one"
                               : std::string("what is no task of it")) +
           " at " + place_text(at));
  if (m_replaces.has_value()) refuse("is to replace two tasks by one at " + place_text(at));
  m_replaces = place_in_model(old);
  struct Over {
    std::optional<std::size_t>& replaces;
    ~Over() { replaces.reset(); }
  } const over{m_replaces};
  hand_over();
  if (m_replaces.has_value())
    refuse("is to replace " + model_task_text(old) + " at " + place_text(at) +
           ", and is given no other one");
}

void Model::follow(std::shared_ptr<FieldState> field,
                   std::function<std::optional<FieldShape>()> find) {
  if (field->shape.has_extents) return;
  check_own(field.get());
  m_followers.push_back({std::move(field), std::move(find)});
  find_followers();
}

/// Each field found may be needed for another one.
void Model::find_followers() {
  for (bool continues = true; continues;) {
    continues = false;
    for (Follower const& each : m_followers) {
      if (each.field->shape.has_extents) continue;
      std::optional<FieldShape> const shape = each.find();
      if (!shape.has_value()) continue;
      each.field->set_shape(*shape);
      m_is_analysed = false;
      continues = true;
    }
  }
  std::erase_if(m_followers, [](Follower const& each) { return each.field->shape.has_extents; });
}

void Model::require(FieldState& field) {
  check_own(&field);
  field.is_required = true;
  m_is_analysed = false;
}

void Model::store(FieldState& field, FieldStorage storage) {
  check_own(&field);
  if ((field.storage == FieldStorage::external) != (storage == FieldStorage::external))
    refuse("cannot " + std::string(storage == FieldStorage::external ? "make" : "take") +
           " the field " + field.text() + (storage == FieldStorage::external ? " external" : "") +
           ": that a field is external is said by bind");
  if (storage == FieldStorage::persistent && field.shape.has_extents) keep(field);
  field.storage = storage;
  m_is_analysed = false;
}

void Model::lock(FieldState& field, bool is_locked) {
  check_own(&field);
  field.is_locked = is_locked;
  m_is_analysed = false;
}

void require_kept(FieldState const& field) {
  if (field.memory() == nullptr)
    throw Error(
        Error::Kind::bad_access,
        "Trellis: a task that belongs to no model names the field " + field.text() + " (" +
            field.name.place() +
            "), which has no memory between iterations: lock it, or make it persistent, and "
            "submit an iteration before");
}

std::int64_t FieldCount::resolve() const {
  if (!field->shape.has_extents)
    throw Error(Error::Kind::bad_input, "Trellis: the extents of the field " + field->text() +
                                            " (" + field->name.place() +
                                            ") are to be a number of indices, and nobody has said "
                                            "them");
  return static_cast<std::int64_t>(field->shape.extents[direction]);
}
void require_direction(FieldState const& field, std::size_t direction, std::size_t rank) {
  if (direction >= rank)
    throw Error(Error::Kind::bad_input, "Trellis: the field " + field.text() + " (" +
                                            field.name.place() + ") has " + std::to_string(rank) +
                                            " extents, and none with the number " +
                                            std::to_string(direction));
}

std::pair<std::size_t, std::size_t> slice_of(FieldState const& field, std::size_t direction,
                                             std::size_t first, std::size_t end) {
  if (!field.shape.has_extents)
    throw Error(Error::Kind::bad_input, "Trellis: a part of the field " + field.text() + " (" +
                                            field.name.place() +
                                            "), whose extents nobody has said yet");
  std::size_t const extent = field.shape.extents[direction];
  if (first > end || end > extent)
    throw Error(Error::Kind::bad_input,
                "Trellis: the part [" + std::to_string(first) + ", " + std::to_string(end) +
                    ") of the field " + field.text() + " lies outside of its extent " +
                    std::to_string(extent) + " in direction " + std::to_string(direction));
  return {first, end};
}

}  // namespace Impl
}  // namespace trellis
