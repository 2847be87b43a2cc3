// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_DeviceAdapter.hpp>
#include <Trellis_Error.hpp>
#include <fields/impl/Trellis_Model.hpp>
#include <graph/Trellis_GraphInternals.hpp>
#include <task/Trellis_PlanNode.hpp>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

/// This file decides where tasks run, and makes the copies of fields that follow from that.
namespace trellis::Impl {

namespace {

constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

/// Returns the root of a set of numbers that belong together.
int root_of(std::vector<int>& units, int task) {
  while (units[static_cast<std::size_t>(task)] != task) {
    int& up = units[static_cast<std::size_t>(task)];
    up = units[static_cast<std::size_t>(up)];
    task = up;
  }
  return task;
}

template <class T>
void keep_common(std::vector<T>& into, std::vector<T> const& other) {
  std::erase_if(into, [&](T const& each) {
    return std::find(other.begin(), other.end(), each) == other.end();
  });
}

std::vector<std::size_t> places_of(ModelTask const& task) {
  std::vector<std::size_t> places;
  for (auto const& form : task.forms)
    places.insert(places.end(), form->places.begin(), form->places.end());
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

}  // namespace

std::size_t ModelTask::form_at(std::size_t at) const {
  auto const found = std::find_if(forms.begin(), forms.end(), [&](auto const& form) {
    return std::find(form->places.begin(), form->places.end(), at) != form->places.end();
  });
  return static_cast<std::size_t>(found - forms.begin());
}

/// Joins tasks that compute parts of one field to a unit, which runs at one place.
void Model::find_units() {
  m_units.resize(m_tasks.size());
  std::iota(m_units.begin(), m_units.end(), 0);
  std::map<FieldState const*, int> maker_of;
  for (auto const& task : m_tasks) {
    if (!m_is_needed[task->number]) continue;
    for (ModelAccess const& access : task->accesses()) {
      if (!access.makes()) continue;
      int const number = static_cast<int>(task->number);
      auto const [maker, is_first] = maker_of.try_emplace(access.field.get(), number);
      if (!is_first)
        m_units[static_cast<std::size_t>(root_of(m_units, number))] =
            root_of(m_units, maker->second);
    }
  }
  for (std::size_t task = 0; task < m_tasks.size(); ++task)
    m_units[task] = root_of(m_units, static_cast<int>(task));
}

/// Returns where the field has memory between iterations. A field that is computed at only one
/// place is there; otherwise it is on the host, where the program reads it.
std::size_t Model::home_of(FieldState const& field) const {
  if (!field.keeps_values()) return nowhere;
  if (field.external != nullptr) return field.place;
  std::optional<std::vector<std::size_t>> places;
  for (auto const& task : m_tasks)
    if (m_is_needed[task->number])
      for (ModelAccess const& access : task->accesses())
        if (access.makes() && access.field.get() == &field) {
          auto const here = places_of(*task);
          if (places.has_value())
            keep_common(*places, here);
          else
            places = here;
        }
  if (!places.has_value()) return field.place;
  if (places->size() == 1) return places->front();
  for (std::size_t place = 0; place < m_options.targets.size(); ++place)
    if (target(place).device() == nullptr) return place;
  return 0;
}

void Model::set_targets(PlacementGraph& graph) const {
  std::map<std::string, int> types;
  types.try_emplace("Host", 0);  // the lowest type, so that equal costs cause no copy
  for (std::size_t place = 0; place < m_options.targets.size(); ++place) {
    FieldTarget const& each = target(place);
    auto const type = types.try_emplace(each.type(), static_cast<int>(types.size())).first->second;
    auto& of = graph.targets.emplace_back();
    of.name = each.name();
    of.type = type;
    of.is_host = each.device() == nullptr;
    of.group = static_cast<int>(place);
    auto const is_direct = [&](FieldTarget const& other) {
      return !of.is_host && other.device() != nullptr && each.memory() == other.memory() &&
             each.device()->can_wait_for(*other.device()) &&
             other.device()->can_wait_for(*each.device());
    };
    for (std::size_t other = 0; other < place; ++other)
      if (is_direct(target(other))) of.group = graph.targets[other].group;
    std::size_t const limit = this->limit(place);
    of.room = limit == FieldPool::any_number ? PlacementGraph::any_number
                                             : limit - std::min(limit, persistent_bytes(place));
  }
}

/// Makes the graph of the needed tasks, and of the fields that they touch.
void Model::make_placement_graph() {
  PlacementGraph graph;
  m_placed_tasks.clear();
  m_placed_fields.clear();
  m_placed_numbers.clear();
  auto const number_of = [&](std::shared_ptr<FieldState> const& field) {
    auto const [known, is_new] =
        m_placed_numbers.try_emplace(field.get(), static_cast<int>(graph.fields.size()));
    if (is_new) {
      m_placed_fields.push_back(field);
      std::size_t const home = home_of(*field);
      auto& of = graph.fields.emplace_back();
      of.bytes = field->shape.bytes;
      of.home = home == nowhere ? -1 : static_cast<int>(home);
      of.is_covered = is_covered(*field);
      if (field->sides != nullptr) of.second_home = static_cast<int>(field->sides->device_place);
    }
    return known->second;
  };
  std::vector<int> index(m_tasks.size(), -1);
  std::map<int, std::vector<std::size_t>> eligible;  // by unit
  for (auto const& task : m_tasks) {
    if (!m_is_needed[task->number]) continue;
    index[task->number] = static_cast<int>(m_placed_tasks.size());
    m_placed_tasks.push_back(task);
    auto places = places_of(*task);
    // A View that is named itself cannot move.
    for (ModelAccess const& access : task->accesses())
      if (access.field != nullptr && access.area.has_value())
        keep_common(places, {access.field->place});
    if (places.empty())
      refuse("has the " + task->text() +
             ", which names a View that is bound by itself but does not run where that is");
    auto const [known, is_first] = eligible.try_emplace(m_units[task->number], places);
    if (!is_first) keep_common(known->second, places);
    if (known->second.empty())
      for (ModelAccess const& access : task->accesses())
        if (access.makes())
          refuse("has tasks that compute parts of one field at different places: among them the " +
                 task->text() + ", which runs at " + target(places.front()).name() +
                 " and computes the field " + access.field->text() + " (" +
                 access.field->name.place() + ')');
  }
  for (auto const& task : m_placed_tasks) {
    auto& of = graph.tasks.emplace_back();
    of.label = task->label.string();
    of.number = task->number;
    of.unit = m_units[task->number];
    for (std::size_t const place : eligible.at(of.unit))
      of.eligible.push_back(static_cast<int>(place));
    for (std::size_t const before : m_before[task->number]) of.before.push_back(index[before]);
    for (ModelAccess const& access : task->accesses())
      if (access.field != nullptr)
        (access.makes() ? of.makes : of.reads).push_back(number_of(access.field));
  }
  graph.version = m_placement.version + 1;
  m_placement = std::move(graph);
  set_targets(m_placement);
  m_has_choice = std::any_of(m_placement.tasks.begin(), m_placement.tasks.end(),
                             [](auto const& task) { return task.eligible.size() > 1; });
}

void Model::renew_placement_graph() {
  for (auto& each : m_placement.targets)
    if (each.is_host) each.lanes = m_graph.workers();
  bool is_other = false;
  for (std::size_t field = 0; field < m_placed_fields.size(); ++field) {
    TwoSides const* const sides = m_placed_fields[field]->sides.get();
    if (sides == nullptr) continue;
    TwoSides::Valid const now = sides->get();
    auto& of = m_placement.fields[field];
    is_other = is_other || now != TwoSides::Valid{of.is_valid_at_home, of.is_valid_at_second};
    of.is_valid_at_home = now.on_host;
    of.is_valid_at_second = now.on_device;
  }
  if (!is_other) return;
  ++m_placement.version;
  m_is_placed = false;
}

/// Places the tasks. `is_iteration`: the places are for an iteration that is being submitted.
void Model::place_tasks(bool is_iteration) {
  renew_placement_graph();
  if (m_is_placed && !(is_iteration && m_has_choice)) return;
  PlacementGraph const& graph = m_placement;
  std::vector<int> places;
  for (std::size_t k = 0; k < m_placed_tasks.size(); ++k) {
    auto const& eligible = graph.tasks[k].eligible;
    auto const now = static_cast<int>(m_placed_tasks[k]->place);
    bool const stays = std::find(eligible.begin(), eligible.end(), now) != eligible.end();
    places.push_back(stays ? now : eligible.front());
  }
  std::vector<TransferProbe> probes;
  if (m_has_choice) {
    m_options.placement->prepare(graph, places);
    probes = m_options.placement->probes();
  }
  std::string const policy = "the placement policy \"" + std::string(m_options.placement->name());
  for (std::size_t k = 0; k < m_placed_tasks.size(); ++k) {
    ModelTask& task = *m_placed_tasks[k];
    auto const& eligible = graph.tasks[k].eligible;
    if (std::find(eligible.begin(), eligible.end(), places[k]) == eligible.end())
      refuse("has the " + task.text() + ", which " + policy + "\" puts where it cannot run");
    auto const place = static_cast<std::size_t>(places[k]);
    if (task.place == place && task.form_number == task.form_at(place)) continue;
    task.place = place;
    task.form_number = task.form_at(place);
    m_is_placed = false;
  }
  auto const is_target = [&](int target) {
    return target >= 0 && static_cast<std::size_t>(target) < graph.targets.size();
  };
  for (TransferProbe const& each : probes)
    if (!is_target(each.from) || !is_target(each.to) || each.from == each.to || each.bytes == 0 ||
        !is_direct(graph, each.from, each.to))
      refuse("is asked by " + policy + "\" for a copy that cannot be made");
  if (probes == m_probes) return;
  m_probes = std::move(probes);
  m_is_placed = false;
}

std::vector<std::pair<std::string, FieldTarget>> Model::assignment() {
  analyse(false);
  std::vector<std::pair<std::string, FieldTarget>> all;
  for (auto const& task : m_tasks)
    if (m_is_needed[task->number]) all.emplace_back(task->label.string(), target(task->place));
  return all;
}

void Model::invalidate() {
  m_options.placement->forget();
  m_is_placed = false;
}

std::shared_ptr<FieldState> const& Model::copy_at(std::shared_ptr<FieldState> const& field,
                                                  std::size_t place) {
  if (field->copies.size() <= place) field->copies.resize(m_options.targets.size());
  auto& copy = field->copies[place];
  if (copy == nullptr) {
    auto made = std::make_shared<FieldState>(
        Label(field->name.string() + " at " + target(place).name(), field->name.site()), m_number);
    made->set_shape(field->shape);
    made->place = place;
    copy = std::move(made);
  }
  return copy;
}

/// Makes a task of the device that does the copy: the receiving device, or else the sending one.
/// The copy must start at once, as others wait for it. The thread that makes a device task ready
/// launches it; if that thread must not launch, the largest priority has this effect.
std::shared_ptr<ModelTask> Model::make_transfer(PlacedStep const& step,
                                                std::shared_ptr<FieldState> const& from,
                                                std::shared_ptr<FieldState> const& to) {
  auto const from_place = static_cast<std::size_t>(step.from);
  auto const to_place = static_cast<std::size_t>(step.to);
  bool const is_probe = step.kind == PlacedStep::Kind::probe;
  bool const is_from_host = target(from_place).device() == nullptr;
  bool const is_to_host = target(to_place).device() == nullptr;
  FieldTarget const& who = target(is_to_host ? from_place : to_place);
  TransferOps const& ops = who.memory()->transfer(
      is_from_host ? FieldWay::from_host
                   : (is_to_host ? FieldWay::to_host : FieldWay::between_devices));
  auto const construct = [&](void* storage) { ops.construct(storage, *to, *from); };
  Label label = is_probe
                    ? Label("probe: " + std::to_string(to->shape.bytes) + " bytes from " +
                            target(from_place).name() + " to " + target(to_place).name())
                    : Label(m_placed_fields[static_cast<std::size_t>(step.field)]->name.string() +
                                " to " + target(to_place).name(),
                            from->name.site());
  TaskSpec spec(std::move(label), *ops.task, ops.size, ops.alignment, construct);
  spec.space = who.device();
  spec.priority = std::numeric_limits<int>::max();
  auto task = std::make_shared<ModelTask>(spec, nowhere);
  task->kind = step.kind;
  task->makes_fields = true;
  task->place = is_to_host ? from_place : to_place;
  auto& form =
      *task->forms.emplace_back(std::make_unique<ModelForm>(spec, &ops.late, who.memory()));
  form.places = {task->place};
  for (auto const& [state, mode] :
       {std::pair(from, is_probe ? Mode::write : Mode::read), std::pair(to, Mode::write)}) {
    ModelAccess& access = form.accesses.emplace_back();
    access.field = state;
    access.here = state;
    access.mode = mode;
    describe_field_state(*state, access.info);
  }
  return task;
}

std::shared_ptr<FieldState> Model::probe_at(std::size_t place, std::size_t bytes) const {
  auto state = std::make_shared<FieldState>(Label("probe at " + target(place).name()), m_number);
  FieldShape shape;
  shape.element_bytes = 1;
  shape.rank = 1;
  shape.has_extents = true;
  shape.extents[0] = shape.bytes = bytes;
  shape.strides[0] = 1;
  state->set_shape(shape);
  state->place = place;
  return state;
}

std::shared_ptr<FieldState> Model::state_of(PlacedSteps const& placed, int slot) {
  PlacedSlot const& of = placed.slots[static_cast<std::size_t>(slot)];
  auto const place = static_cast<std::size_t>(of.place);
  if (of.field < 0) return probe_at(place, of.bytes);
  auto const number = static_cast<std::size_t>(of.field);
  auto const& field = m_placed_fields[number];
  return of.place == placed.fields[number].base ? field : copy_at(field, place);
}

/// Makes the schedule of an iteration from its steps.
void Model::make_schedule() {
  auto schedule = std::make_shared<ModelSchedule>();
  std::vector<int> places;
  for (auto const& task : m_placed_tasks) places.push_back(static_cast<int>(task->place));
  PlacedSteps const placed = place_steps(m_placement, places, m_probes);
  if (placed.stuck >= 0)
    static_cast<void>(place_of(
        nullptr,
        "a copy of the field " + m_placed_fields[static_cast<std::size_t>(placed.stuck)]->text()));
  for (std::size_t k = 0; k < m_placed_fields.size(); ++k) {
    FieldState& field = *m_placed_fields[k];
    auto const& of = placed.fields[k];
    if (field.sides == nullptr && of.base >= 0) field.place = static_cast<std::size_t>(of.base);
    if (field.sides == nullptr) continue;
    auto const& before = m_placement.fields[k];
    schedule->sides.push_back({m_placed_fields[k],
                               {before.is_valid_at_home, before.is_valid_at_second},
                               {of.is_valid_at_home, of.is_valid_at_second}});
  }
  for (std::size_t slot = 0; slot < placed.slots.size(); ++slot)
    schedule->slots.push_back({state_of(placed, static_cast<int>(slot)),
                               static_cast<std::size_t>(placed.slots[slot].place), 0});
  std::vector<std::size_t> step_of(m_tasks.size(), nowhere);
  for (std::size_t k = 0; k < placed.steps.size(); ++k)
    if (placed.steps[k].kind == PlacedStep::Kind::task)
      step_of[m_placed_tasks[static_cast<std::size_t>(placed.steps[k].task)]->number] = k;
  std::vector<ModelStep> steps;
  for (PlacedStep const& step : placed.steps) {
    ModelStep& made = steps.emplace_back();
    auto const state_at = [&](PlacedStep::Use const& use) {
      return schedule->slots[static_cast<std::size_t>(use.slot)].field;
    };
    bool const is_task = step.kind == PlacedStep::Kind::task;
    // These are the fields that the body names. A probe names as many bytes of its memory as it
    // copies.
    std::vector<std::shared_ptr<FieldState>> named;
    for (PlacedStep::Use const& use : step.uses) {
      PlacedSlot const& slot = placed.slots[static_cast<std::size_t>(use.slot)];
      named.push_back(is_task ? m_placed_fields[static_cast<std::size_t>(slot.field)]
                      : step.kind == PlacedStep::Kind::probe
                          ? probe_at(static_cast<std::size_t>(slot.place), step.bytes)
                          : state_at(use));
    }
    made.task = is_task ? m_placed_tasks[static_cast<std::size_t>(step.task)]
                        : make_transfer(step, named[0], named[1]);
    made.tags = made.task->tags;
    for (std::size_t const before : made.task->after) made.after.push_back(step_of[before]);
    made.form = &made.task->form();
    made.place = made.task->place;
    for (std::size_t k = 0; k < step.uses.size(); ++k) {
      PlacedStep::Use const& use = step.uses[k];
      auto const slot = static_cast<std::size_t>(use.slot);
      ++schedule->slots[slot].users;
      made.uses.push_back({slot, use.makes, named[k].get()});
      if (!is_task) continue;
      for (ModelAccess& access : made.form->accesses)
        if (access.field == named[k])
          access.here = access.area.has_value() ? access.field : state_at(use);
    }
  }
  choose_order(*schedule, placed, places, steps);
  if (GraphInternals::sees_plans(m_graph)) plan_steps(*schedule);
  m_schedule = std::move(schedule);
}

/// Numbers the schedule for the policy. A schedule like the previous one keeps its number, and so
/// the measurements.
void Model::plan_steps(ModelSchedule& schedule) {
  Planned now;
  std::vector<std::size_t> position(schedule.steps.size());
  for (std::size_t k = 0; k < schedule.steps.size(); ++k)
    position[static_cast<std::size_t>(schedule.memory_order[k])] = k;
  for (std::size_t k = 0; k < schedule.steps.size(); ++k) {
    ModelTask const& task = *schedule.steps[k].task;
    now.tasks.emplace_back(task.label.string(), task.priority);
    auto const index = static_cast<std::size_t>(schedule.memory_order[k]);
    for (int const before : schedule.memory.tasks[index].before)
      now.edges.emplace_back(static_cast<std::uint32_t>(position[static_cast<std::size_t>(before)]),
                             static_cast<std::uint32_t>(k));
  }
  if (now.tasks != m_planned.tasks || now.edges != m_planned.edges) {
    now.number = new_plan_number();
    for (std::size_t k = 0; k < schedule.steps.size(); ++k)
      now.places.push_back(std::make_shared<TagOf<PlannedPlace>>(
          PlannedPlace{now.number, static_cast<std::uint32_t>(k)}));
    m_planned = std::move(now);
  }
  for (std::size_t k = 0; k < schedule.steps.size(); ++k)
    schedule.steps[k].tags.push_back(m_planned.places[k]);
}

void Model::tell_planner() {
  if (m_planned.is_told || m_planned.tasks.empty()) return;
  std::vector<PlannedTasks::Node> tasks;
  std::vector<PlannedTasks::Edge> edges;
  for (auto const& [label, priority] : m_planned.tasks) tasks.push_back({label, priority});
  for (auto const& [from, to] : m_planned.edges) edges.push_back({from, to});
  GraphInternals::planned(m_graph, {m_planned.number, tasks, edges});
  m_planned.is_told = true;
}

}  // namespace trellis::Impl
