// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_DeviceAdapter.hpp>
#include <Trellis_Error.hpp>
#include <fields/impl/Trellis_Model.hpp>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

/// Where tasks run, and the copies of fields that follow from that.
namespace trellis::Impl {

namespace {

constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

/// Root of a set of numbers that belong together.
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

/// Those that compute parts of one field run at one place.
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

/// Where the field has memory between passes. One that is computed at one place only is there; else
/// on the host, where the program looks.
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

PlacementGraph Model::placement_graph() const {
  PlacementGraph graph;
  std::map<std::string, int> types;
  types.try_emplace("Host", 0);  // the lowest: what costs the same is not copied
  for (FieldTarget const& each : m_options.targets) {
    auto const type = types.try_emplace(each.type(), static_cast<int>(types.size())).first->second;
    graph.targets.push_back({each.name(), type, each.device() == nullptr});
  }
  std::map<FieldState const*, int> fields;
  auto const number_of = [&](FieldState const& field) {
    auto const [known, is_new] = fields.try_emplace(&field, static_cast<int>(graph.fields.size()));
    if (is_new) {
      std::size_t const home = field.sides != nullptr ? nowhere : home_of(field);
      graph.fields.push_back({field.shape.bytes, home == nowhere ? -1 : static_cast<int>(home)});
    }
    return known->second;
  };
  std::vector<int> index(m_tasks.size(), -1);
  std::map<int, std::vector<std::size_t>> eligible;  // of units
  for (auto const& task : m_tasks) {
    if (!m_is_needed[task->number]) continue;
    auto places = places_of(*task);
    // A View that is named itself is where it is.
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
  int next = 0;
  for (auto const& task : m_tasks)
    if (m_is_needed[task->number]) index[task->number] = next++;
  for (auto const& task : m_tasks) {
    if (!m_is_needed[task->number]) continue;
    auto& of = graph.tasks.emplace_back();
    of.label = task->label.string();
    of.number = task->number;
    of.unit = m_units[task->number];
    for (std::size_t const place : eligible.at(of.unit))
      of.eligible.push_back(static_cast<int>(place));
    for (std::size_t const before : m_before[task->number]) of.before.push_back(index[before]);
    for (ModelAccess const& access : task->accesses())
      if (access.field != nullptr)
        (access.makes() ? of.makes : of.reads).push_back(number_of(*access.field));
  }
  return graph;
}

/// `is_pass`: the places are for a pass that is being submitted.
void Model::place_tasks(bool is_pass) {
  if (m_schedule != nullptr)
    for (ModelSchedule::Sides const& dual : m_schedule->sides)
      if (dual.field->sides->get() != dual.before) m_is_placed = false;
  if (m_is_placed && !(is_pass && m_has_choice)) return;
  PlacementGraph const& graph = m_placement;
  std::vector<int> places;
  std::vector<ModelTask*> tasks;
  for (auto const& task : m_tasks)
    if (m_is_needed[task->number]) tasks.push_back(task.get());
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    auto const& eligible = graph.tasks[k].eligible;
    auto const now = static_cast<int>(tasks[k]->place);
    bool const stays = std::find(eligible.begin(), eligible.end(), now) != eligible.end();
    places.push_back(stays ? now : eligible.front());
  }
  if (m_has_choice) m_options.placement->prepare(graph, places);
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    auto const& eligible = graph.tasks[k].eligible;
    if (std::find(eligible.begin(), eligible.end(), places[k]) == eligible.end())
      refuse("has the " + tasks[k]->text() + ", which the placement policy \"" +
             std::string(m_options.placement->name()) + "\" puts where it cannot run");
    auto const place = static_cast<std::size_t>(places[k]);
    if (tasks[k]->place == place && tasks[k]->form_at(place) == tasks[k]->form_number) continue;
    tasks[k]->place = place;
    tasks[k]->form_number = tasks[k]->form_at(place);
    m_is_placed = false;
  }
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
    copy = std::make_shared<FieldState>(
        Label(field->name.string() + " at " + target(place).name(), field->name.site()), m_number);
    copy->set_shape(field->shape);
    copy->place = place;
  }
  return copy;
}

/// A task of the device that does the copy: of the one that gets it, else of the one that has it.
/// What others wait for goes out at once: device tasks are launched by whoever makes them ready,
/// and where that thread must not the largest priority says so.
std::shared_ptr<ModelTask> Model::make_transfer(std::shared_ptr<FieldState> const& field,
                                                std::shared_ptr<FieldState> const& to,
                                                std::size_t to_place,
                                                std::shared_ptr<FieldState> const& from,
                                                std::size_t from_place) {
  bool const is_from_host = target(from_place).device() == nullptr;
  bool const is_to_host = target(to_place).device() == nullptr;
  FieldTarget const& who = target(is_to_host ? from_place : to_place);
  TransferOps const& ops = who.memory()->transfer(
      is_from_host ? FieldWay::from_host
                   : (is_to_host ? FieldWay::to_host : FieldWay::between_devices));
  auto const construct = [&](void* storage) { ops.construct(storage, *to, *from); };
  TaskSpec spec(Label(field->name.string() + " to " + target(to_place).name(), field->name.site()),
                *ops.task, ops.size, ops.alignment, construct);
  spec.space = who.device();
  spec.priority = std::numeric_limits<int>::max();
  auto task = std::make_shared<ModelTask>(spec, nowhere);
  task->is_copy = true;
  task->makes_fields = true;
  task->place = is_to_host ? from_place : to_place;
  auto& form =
      *task->forms.emplace_back(std::make_unique<ModelForm>(spec, &ops.late, who.memory()));
  form.places = {task->place};
  for (auto const& [state, mode] : {std::pair(from, Mode::read), std::pair(to, Mode::write)}) {
    ModelAccess& access = form.accesses.emplace_back();
    access.field = state;
    access.here = state;
    access.mode = mode;
    describe_field_state(*state, access.info);
  }
  return task;
}

/// The steps of a pass while they are made: tasks, and what copies fields.
///
/// Each field is computed at one place, or is there before the pass. From there it is copied to
/// each place that needs it, once: where tasks read it, and where it has its memory between passes.
class Model::Copies {
 public:
  Copies(Model& model, ModelSchedule& schedule) : m_model(model), m_schedule(schedule) {}

  std::vector<ModelStep> run() {
    std::vector<std::size_t> step_of(m_model.m_tasks.size(), nowhere);
    std::vector<std::shared_ptr<FieldState>> fields;
    std::map<FieldState const*, std::vector<Access>> users;
    for (auto const& task : m_model.m_tasks) {
      if (!m_model.m_is_needed[task->number]) continue;
      step_of[task->number] = m_steps.size();
      ModelStep& step = m_steps.emplace_back();
      step.task = task;
      for (ModelAccess& access : task->accesses()) {
        if (access.field == nullptr) continue;
        auto& all = users[access.field.get()];
        if (all.empty()) fields.push_back(access.field);
        all.push_back({step_of[task->number], task->place, &access});
      }
    }
    for (auto const& field : fields) place(field, users.at(field.get()));
    for (auto const& task : m_model.m_tasks) {
      if (!m_model.m_is_needed[task->number]) continue;
      auto& before = m_steps[step_of[task->number]].before;
      for (std::size_t const each : m_model.m_before[task->number]) before.push_back(step_of[each]);
      std::sort(before.begin(), before.end());
      before.erase(std::unique(before.begin(), before.end()), before.end());
    }
    for (ModelStep& step : m_steps) {
      step.form = &step.task->form();
      step.place = step.task->place;
    }
    return std::move(m_steps);
  }

 private:
  struct Access {
    std::size_t step;
    std::size_t place;
    ModelAccess* access;
  };
  /// Of one field.
  struct Held {
    std::shared_ptr<FieldState> field;
    std::size_t home = nowhere;
    std::size_t source = nowhere;               ///< where it is computed, or there before
    std::vector<std::size_t> makers;            ///< steps
    std::map<std::size_t, std::size_t> filled;  ///< by place: the step that copies it there
  };

  [[nodiscard]] std::shared_ptr<FieldState> state_at(Held const& held, std::size_t place) {
    // A field without memory between passes is where it is computed, and its copies elsewhere.
    std::size_t const base = held.home != nowhere ? held.home : held.source;
    return place == base ? held.field : m_model.copy_at(held.field, place);
  }
  std::size_t add_transfer(Held const& held, std::size_t to, std::size_t from,
                           std::vector<std::size_t> const& before) {
    ModelStep& step = m_steps.emplace_back();
    step.task =
        m_model.make_transfer(held.field, state_at(held, to), to, state_at(held, from), from);
    step.before = before;
    return m_steps.size() - 1;
  }
  [[nodiscard]] bool is_direct(std::size_t from, std::size_t to) const {
    FieldTarget const& a = m_model.target(from);
    FieldTarget const& b = m_model.target(to);
    return a.device() == nullptr || b.device() == nullptr ||
           (a.memory() == b.memory() && b.device()->can_wait_for(*a.device()) &&
            a.device()->can_wait_for(*b.device()));
  }
  /// The step that brings it there; `nowhere`: it is there.
  std::size_t fill(Held& held, std::size_t place) {
    if (place == held.source) return nowhere;
    if (auto const known = held.filled.find(place); known != held.filled.end())
      return known->second;
    std::size_t step = 0;
    if (is_direct(held.source, place)) {
      step = add_transfer(held, place, held.source, held.makers);
    } else {  // over the host
      std::size_t const host =
          m_model.place_of(nullptr, "a copy of the field " + held.field->text());
      std::size_t const first = fill(held, host);
      step = add_transfer(held, place, host, {first});
    }
    held.filled.emplace(place, step);
    return step;
  }

  void place(std::shared_ptr<FieldState> const& field, std::vector<Access> const& users) {
    Held held;
    held.field = field;
    held.home = m_model.home_of(*field);
    std::size_t made_at = nowhere;
    for (Access const& user : users) {
      if (!user.access->makes()) continue;
      if (held.makers.empty() || held.makers.back() != user.step) held.makers.push_back(user.step);
      made_at = user.place;
    }
    TwoSides const* const sides = field->sides.get();
    TwoSides::Valid valid;
    if (sides != nullptr) {
      valid = sides->get();
      if (!valid.on_host) held.source = sides->device_place;
    }
    if (held.source == nowhere) held.source = held.home;
    bool const is_there = sides != nullptr && made_at == sides->device_place && valid.on_device;
    if (made_at != nowhere) {
      if (made_at != held.source && held.source != nowhere && !is_there &&
          !m_model.is_covered(*field)) {
        // The tasks compute parts; the rest is what it was.
        std::vector<std::size_t> const makers = std::exchange(held.makers, {});
        std::size_t const step = fill(held, made_at);
        for (std::size_t const maker : makers) m_steps[maker].before.push_back(step);
        held.makers = makers;
        held.filled.clear();
      }
      held.source = made_at;
    } else if (sides != nullptr && valid.on_host && valid.on_device) {
      held.filled.emplace(sides->device_place, nowhere);
    }
    if (sides == nullptr) {
      field->place = held.home != nowhere ? held.home : held.source;
      if (held.home != nowhere && !held.makers.empty()) fill(held, held.home);
    } else if (held.source != held.home && held.source != sides->device_place) {
      fill(held, held.home);
    }
    for (Access const& user : users) {
      std::size_t const step = user.access->makes() ? nowhere : fill(held, user.place);
      if (step != nowhere) m_steps[user.step].before.push_back(step);
      user.access->here = user.access->area.has_value() ? field : state_at(held, user.place);
    }
    if (sides == nullptr) return;
    auto const is_valid = [&](std::size_t place, bool before) {
      if (place == held.source || held.filled.count(place) != 0) return true;
      return held.makers.empty() && before;
    };
    m_schedule.sides.push_back(
        {field,
         valid,
         {is_valid(held.home, valid.on_host), is_valid(sides->device_place, valid.on_device)}});
  }

  Model& m_model;
  ModelSchedule& m_schedule;
  std::vector<ModelStep> m_steps;
};

std::vector<ModelStep> Model::make_steps(ModelSchedule& schedule) {
  return Copies(*this, schedule).run();
}

}  // namespace trellis::Impl
