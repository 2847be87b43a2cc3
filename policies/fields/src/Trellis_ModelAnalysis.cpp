// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <fields/impl/Trellis_Model.hpp>

#include <algorithm>
#include <utility>

namespace trellis::Impl {

namespace {

std::string of_field(FieldState const& field) {
  return "the field " + field.text() + " (" + field.name.place() + ')';
}
std::size_t volume(FieldBox const& box, int rank) {
  std::size_t elements = 1;
  for (std::size_t k = 0; k < static_cast<std::size_t>(rank); ++k)
    elements *= box[k].second > box[k].first ? box[k].second - box[k].first : 0;
  return elements;
}
FieldBox common(FieldBox const& a, FieldBox const& b) {
  FieldBox box{};
  for (std::size_t k = 0; k < box.size(); ++k)
    box[k] = {std::max(a[k].first, b[k].first), std::min(a[k].second, b[k].second)};
  return box;
}
FieldBox box_of(ModelAccess const& access) {
  return access.is_part ? access.box : access.field->shape.whole();
}

}  // namespace

void Model::analyse(bool is_iteration) {
  if (is_iteration) check_bindings();
  if (!m_is_analysed) {
    m_is_placed = false;
    for (auto const& task : m_tasks)
      for (ModelAccess& access : task->accesses()) access.here = nullptr;
    find_followers();
    check_shapes();
    find_edges();
    find_orders();
    check_circles();
    prune();
    add_orders();
    check_circles();
    find_units();
    make_placement_graph();
    m_is_analysed = true;
  }
  place_tasks(is_iteration);
  if (m_is_placed) return;
  make_schedule();
  m_is_placed = true;
}

void Model::check_shapes() const {
  auto const check = [&](FieldState const& field, std::string const& who) {
    if (!field.shape.has_extents)
      refuse("does not know " + of_field(field) + ", which " + who +
             ": nobody has said its extents");
  };
  for (auto const& task : m_tasks)
    for (ModelAccess const& access : task->accesses())
      if (access.field != nullptr)
        check(*access.field, task->text() + (access.makes() ? " computes" : " reads"));
  for (auto const& [name, field] : m_fields)
    if (field->is_required) check(*field, "is required");
}

/// Finds edges: a task comes after those that compute what it reads.
void Model::find_edges() {
  struct Part {
    std::size_t task;
    Area area;
  };
  std::map<FieldState const*, std::vector<Part>> makers;
  for (auto const& task : m_tasks) {
    for (ModelAccess const& access : task->accesses()) {
      if (!access.makes()) continue;
      Area const area = access.area_now();
      auto& others = makers[access.field.get()];
      for (Part const& other : others)
        if (other.task != task->number && overlaps(other.area, area))
          refuse("has two tasks that compute " + of_field(*access.field) + ": " +
                 m_tasks[other.task]->text() + " and " + task->text());
      others.push_back({task->number, area});
    }
  }
  m_before.assign(m_tasks.size(), {});
  for (auto const& task : m_tasks) {
    auto& before = m_before[task->number];
    for (ModelAccess const& access : task->accesses()) {
      if (access.field == nullptr || access.makes()) continue;
      auto const found = makers.find(access.field.get());
      if (found == makers.end()) continue;
      Area const area = access.area_now();
      for (Part const& maker : found->second)
        if (overlaps(maker.area, area)) before.push_back(maker.task);
    }
    before.insert(before.end(), task->after.begin(), task->after.end());
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
  }
}

/// A resource that is no field, such as a Token, orders tasks as in a graph: tasks with conflicting
/// accesses run in the order in which the model got them. A task needs an earlier task that may
/// have changed the resource. It does not need earlier tasks that have only read it.
void Model::find_orders() {
  struct User {
    std::size_t task;
    ModelAccess const* access;
  };
  std::vector<User> readers, others;  // users that no later one covers
  m_behind.assign(m_tasks.size(), {});
  for (auto const& task : m_tasks) {
    for (ModelAccess const& access : task->accesses()) {
      if (access.field != nullptr) continue;
      AccessKind const manner{access.mode, access.state.get()};
      bool const only_reads = access.mode == Mode::read && access.state == nullptr;
      auto const look = [&](std::vector<User> const& users, auto& after) {
        for (User const& user : users)
          if (user.task != task->number && overlaps(*user.access->area, *access.area) &&
              manner.depends_on({user.access->mode, user.access->state.get()}))
            after[task->number].push_back(user.task);
      };
      look(others, m_before);
      if (!only_reads) look(readers, m_behind);
      if (access.mode == Mode::write && access.state == nullptr && access.area->rank() == 0) {
        // All others conflict with this access, so a task that conflicts with them comes after this
        // task.
        auto const is_covered = [&](User const& user) {
          return user.task != task->number && access.area->begin() <= user.access->area->begin() &&
                 user.access->area->end() <= access.area->end() && user.access->state == nullptr;
        };
        std::erase_if(readers, is_covered);
        std::erase_if(others, is_covered);
      }
      (only_reads ? readers : others).push_back({task->number, &access});
    }
  }
}

/// Adds orders among the tasks that are needed.
void Model::add_orders() {
  std::vector<std::size_t> since;  // the last synchronizing task, and tasks after it
  bool has_barrier = false;
  for (auto const& task : m_tasks) {
    if (!m_is_needed[task->number]) continue;
    auto& before = m_before[task->number];
    for (std::size_t const other : m_behind[task->number])
      if (m_is_needed[other]) before.push_back(other);
    if (task->synchronizing) {
      before.insert(before.end(), since.begin(), since.end());
      since.clear();
      has_barrier = true;
    } else if (has_barrier) {
      before.push_back(since.front());
    }
    since.push_back(task->number);
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
  }
}

void Model::check_circles() const {
  enum class Mark : unsigned char { unseen, open, closed };
  std::vector<Mark> marks(m_tasks.size(), Mark::unseen);
  std::vector<std::pair<std::size_t, std::size_t>> path;  // a task, and which of its edges is next
  for (std::size_t root = 0; root < m_tasks.size(); ++root) {
    if (marks[root] != Mark::unseen) continue;
    path.emplace_back(root, 0);
    marks[root] = Mark::open;
    while (!path.empty()) {
      auto& [task, next] = path.back();
      if (next == m_before[task].size()) {
        marks[task] = Mark::closed;
        path.pop_back();
        continue;
      }
      std::size_t const before = m_before[task][next++];
      if (marks[before] == Mark::unseen) {
        marks[before] = Mark::open;
        path.emplace_back(before, 0);
      } else if (marks[before] == Mark::open) {
        std::string circle;
        auto const first = std::find_if(path.begin(), path.end(),
                                        [&](auto const& each) { return each.first == before; });
        for (auto each = first; each != path.end(); ++each)
          circle += m_tasks[each->first]->text() + " needs ";
        refuse("has a circle: " + circle + m_tasks[before]->text());
      }
    }
  }
}

/// Keeps the makers of required fields, and tasks that do more than compute fields, with all that
/// these need.
void Model::prune() {
  for (auto const& [name, field] : m_fields)
    if (field->is_required) check_made(*field, field->shape.whole(), "which is required");
  m_is_needed.assign(m_tasks.size(), false);
  std::vector<std::size_t> reached;
  auto const reach = [&](std::size_t task) {
    if (m_is_needed[task]) return;
    m_is_needed[task] = true;
    reached.push_back(task);
  };
  for (auto const& task : m_tasks) {
    bool is_wanted = !task->makes_fields;
    for (ModelAccess const& access : task->accesses())
      is_wanted = is_wanted || (access.makes() && access.field->is_required);
    if (is_wanted) reach(task->number);
  }
  if (reached.empty()) refuse("has nothing to do: require the fields that it is to compute");
  for (std::size_t k = 0; k < reached.size(); ++k)
    for (std::size_t const before : m_before[reached[k]]) reach(before);
  for (auto const& task : m_tasks) {
    if (!m_is_needed[task->number]) continue;
    for (ModelAccess const& access : task->accesses())
      if (access.field != nullptr && !access.makes() && !access.area.has_value())
        check_made(*access.field, box_of(access), "which " + task->text() + " reads");
  }
}

/// True if the tasks of an iteration compute all of it.
bool Model::is_covered(FieldState const& field) const {
  std::size_t missing = volume(field.shape.whole(), field.shape.rank);
  for (auto const& task : m_tasks)
    if (m_is_needed[task->number])
      for (ModelAccess const& access : task->accesses())
        if (access.makes() && access.field.get() == &field && !access.area.has_value())
          missing -= std::min(missing, volume(box_of(access), field.shape.rank));
  return missing == 0;
}

/// Checks that the tasks of an iteration compute a box of a field without memory between
/// iterations. (Tasks that compute parts of a field do not overlap.)
void Model::check_made(FieldState const& field, FieldBox const& box, std::string const& who) const {
  if (field.storage != FieldStorage::transient) return;
  std::size_t missing = volume(box, field.shape.rank);
  bool is_made = false;
  for (auto const& task : m_tasks)
    for (ModelAccess const& access : task->accesses())
      if (access.makes() && access.field.get() == &field) {
        is_made = true;
        missing -= std::min(missing, volume(common(box, box_of(access)), field.shape.rank));
      }
  if (!is_made) refuse("has no task that computes " + of_field(field) + ", " + who);
  if (missing != 0)
    refuse("has no task that computes " + std::to_string(missing) + " elements of " +
           of_field(field) + ", " + who);
}

bool Model::is_kept(FieldState const& field) const {
  if (field.external != nullptr || !field.shape.has_extents) return false;
  return field.storage == FieldStorage::persistent ||
         (field.keeps_values() && m_placed_numbers.count(&field) != 0);
}

std::size_t Model::persistent_bytes(std::size_t place) const {
  std::size_t bytes = 0;
  for (auto const& [name, field] : m_fields) {
    if (!is_kept(*field)) continue;
    auto const number = m_placed_numbers.find(field.get());
    std::size_t const home =
        number == m_placed_numbers.end()
            ? field->place
            : static_cast<std::size_t>(
                  m_placement.fields[static_cast<std::size_t>(number->second)].home);
    if (home == place) bytes += field->shape.bytes;
  }
  return bytes + bytes_in_plans(place);
}

/// Chooses the order of steps. Probes come first. The order of the other steps is the one that was
/// assumed when the places were chosen.
void Model::choose_order(ModelSchedule& schedule, PlacedSteps const& placed,
                         std::vector<int> const& places,
                         std::vector<ModelStep> const& steps) const {
  schedule.memory = memory_of(m_placement, placed);
  std::size_t const others = steps.size() - m_probes.size();
  for (std::size_t step = others; step < steps.size(); ++step)
    schedule.memory_order.push_back(static_cast<int>(step));
  std::vector<int> const order =
      m_probes.empty() ? find_order(schedule.memory, rooms_of(m_placement))
                       : find_order(memory_of(m_placement, place_steps(m_placement, places)),
                                    rooms_of(m_placement));
  schedule.memory_order.insert(schedule.memory_order.end(), order.begin(), order.end());
  std::vector<bool> is_started(schedule.slots.size(), false);
  for (int const index : schedule.memory_order) {
    ModelStep& step = schedule.steps.emplace_back(steps[static_cast<std::size_t>(index)]);
    step.needs.assign(m_options.targets.size(), 0);
    for (ModelStep::Use const& use : step.uses) {
      FieldState const& field = *schedule.slots[use.slot].field;
      if (!use.makes || field.keeps_values() || is_started[use.slot]) continue;
      is_started[use.slot] = true;
      step.starts.push_back(use.slot);
      step.needs[schedule.slots[use.slot].place] += field.shape.bytes;
    }
  }
  std::vector<std::size_t> position(steps.size());
  for (std::size_t k = 0; k < steps.size(); ++k)
    position[static_cast<std::size_t>(schedule.memory_order[k])] = k;
  for (ModelStep& step : schedule.steps) {
    for (std::size_t& other : step.after) other = position[other];
    schedule.has_after = schedule.has_after || !step.after.empty();
  }
}

/// Throws if the fields do not fit when tasks run one by one.
void Model::check_limit() const {
  if (m_admission == nullptr) return;
  auto const tell = [&](FieldState const& field, std::size_t place, std::size_t used,
                        std::string const& when) {
    refuse("has no room for " + of_field(field) + ": it needs " +
           std::to_string(field.shape.bytes) + " bytes at " + target(place).name() + when +
           ", and of the limit of " + std::to_string(limit(place)) + " bytes " +
           std::to_string(limit(place) - std::min(limit(place), used)) + " are available");
  };
  std::vector<std::size_t> live;
  for (std::size_t place = 0; place < m_options.targets.size(); ++place)
    live.push_back(bytes_in_plans(place));
  auto const add = [&](FieldState const& field, std::size_t place, std::string const& when) {
    std::size_t& used = live[place];
    if (used + field.shape.bytes > limit(place)) tell(field, place, used, when);
    used += field.shape.bytes;
  };
  for (auto const& [name, field] : m_fields)
    if (is_kept(*field)) add(*field, field->place, " between iterations");
  std::vector<int> left;
  for (ModelSlot const& slot : m_schedule->slots) left.push_back(slot.users);
  for (ModelStep const& step : m_schedule->steps) {
    for (std::size_t const slot : step.starts)
      add(*m_schedule->slots[slot].field, m_schedule->slots[slot].place,
          " when " + step.task->text() +
              (step.task->kind == PlacedStep::Kind::task ? " computes it" : " copies it"));
    for (ModelStep::Use const& use : step.uses) {
      FieldState const& field = *m_schedule->slots[use.slot].field;
      if (--left[use.slot] == 0 && !field.keeps_values())
        live[m_schedule->slots[use.slot].place] -= field.shape.bytes;
    }
  }
}

FieldMemory Model::memory(FieldTarget const& where) {
  analyse(false);
  FieldMemory memory;
  std::size_t const place = place_of(where.device(), where.name());
  for (ModelSlot const& slot : m_schedule->slots) {
    FieldState const& field = *slot.field;
    if (slot.place != place) continue;
    if (field.external != nullptr)
      memory.external += field.shape.bytes;
    else if (!field.keeps_values())
      memory.transient += field.shape.bytes;
  }
  memory.persistent = persistent_bytes(place);
  memory.frozen = memory.persistent + frozen_layout(frozen_window()).bytes[place];
  memory.least_frozen = memory.persistent + frozen_layout(0).bytes[place];
  constexpr int most_workers = 64;
  for (int workers = 1; workers <= most_workers; ++workers) {
    std::size_t const peak = std::min(
        memory.transient, peaks_of(m_schedule->memory, m_schedule->memory_order, workers)[place]);
    memory.peaks.push_back(memory.persistent + peak);
    if (workers > 1 && static_cast<std::size_t>(workers) >= m_schedule->steps.size()) break;
  }
  return memory;
}

std::vector<std::string> Model::order() {
  analyse(false);
  std::vector<std::string> labels;
  for (ModelStep const& step : m_schedule->steps) labels.push_back(step.task->label.string());
  return labels;
}

}  // namespace trellis::Impl
