// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <device/Trellis_PlanGraphs.hpp>
#include <engine/Trellis_Destructors.hpp>
#include <kernel/Trellis_FoundEntries.hpp>
#include <kernel/Trellis_Submission.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <numbers/Trellis_NumberClaim.hpp>
#include <plan/Trellis_PlanRecording.hpp>
#include <plan/Trellis_PlanState.hpp>
#include <plan/Trellis_Plans.hpp>
#include <warn/Trellis_Warnings.hpp>
#include <device/Trellis_AsyncStreams.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>

/// Recording: from submitted tasks to a plan. Running one is in Trellis_Replay.cpp.
namespace trellis::Impl {

/// The last reference is gone, so no thread knows the plan but the one that ends the graph, which
/// takes only plans that still have one.
PlanState::~PlanState() {
  if (EnginePin const pin{TaskHandle{control, generation}}) plans->dismantle(*this);
}

PlanRecording* PlanRecording::find(Kernel const& kernel) {
  PlanRecording* recording = top;
  while (recording != nullptr && &recording->kernel != &kernel) recording = recording->outer;
  return recording;
}

PlanRecording::PlanRecording(Kernel& in_kernel, Pass* of_pass, PassMemory* of_loop)
    : kernel(in_kernel), pass(of_pass), memory(of_loop), outer(std::exchange(top, this)) {}

PlanRecording::~PlanRecording() {
  top = outer;
}

Plans::Plans(Kernel& kernel, Submission& admission, Cancellation& cancellation,
             Destructors& destructors, PlanGraphs& graphs, Passes& passes, AsyncStreams& streams)
    : m_kernel(kernel),
      m_admission(admission),
      m_cancellation(cancellation),
      m_destructors(destructors),
      m_graphs(graphs),
      m_passes(passes),
      m_submission(kernel.lock()),
      m_slab(kernel.slab()),
      m_failures(kernel.failures()),
      m_rules(admission.rules()),
      m_streams(streams),
      m_workers(kernel.workers()),
      m_recorder(kernel.recorder()) {}

std::shared_ptr<PlanState> Plans::record(Label&& label, FunctionRef<void()> body) {
  if (PlanRecording const* const outer = PlanRecording::of(m_kernel);
      outer != nullptr && outer->pass == nullptr)
    throw Error(Error::Kind::bad_input,
                "Trellis: " + m_kernel.options().name +
                    " is recording a plan on this thread already; to use a plan in "
                    "another one, record it before and replay it there");
  std::shared_ptr<PlanState> plan;
  {
    PlanRecording recording(m_kernel);
    plan = recording.plan = new_plan(std::move(label));
    Warnings* const warnings = m_kernel.warnings();
    if (warnings != nullptr) warnings->forget(*plan);  // one that was at its address
    body();
    m_destructors.destroy_kept();  // they would count as references of others
    if (warnings != nullptr) {
      warnings->let_go();  // so would these
      warnings->forget(*plan);
    }
    finish(recording);
  }
  m_graphs.capture(*plan);
  map_carried_to_pieces(*plan);
  find_components(*plan);
  if (SchedulingPolicy* const planner = m_kernel.planner()) tell(*planner, *plan);
  return plan;
}

/// What the policy may want to know of a plan that has just been recorded.
void Plans::tell(SchedulingPolicy& planner, PlanState const& plan) {
  std::vector<PlannedTasks::Node> tasks;
  std::vector<PlannedTasks::Edge> edges;
  for (Task const* task : plan.tasks) {
    tasks.push_back({task->label.view(), task->priority});
    for (std::uint32_t k = 0; k < task->node.own_round; ++k)
      edges.push_back({task->node.index, task->successor(k)->node.index});
  }
  planner.planned({plan.number, tasks, edges});
}

std::uint64_t new_plan_number() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::shared_ptr<PlanState> Plans::new_plan(Label&& label) {
  auto plan = std::make_shared<PlanState>();
  plan->plans = this;
  plan->label = std::move(label);
  TaskHandle const of_graph = m_kernel.handle_of(nullptr, 0);
  plan->control = of_graph.control;
  plan->generation = of_graph.generation;
  std::lock_guard const lock(m_submission);
  m_plans.push_back(plan.get());
  plan->graphs = &m_graphs;
  plan->owner = &m_slab.acquire();
  plan->owner->region = nullptr;
  plan->owner->region_kind = RegionKind::graph;
  plan->owner->unfinished.store(0, std::memory_order_relaxed);
  // Everything is kept: the tasks never become complete.
  plan->owner->inner = RegionPtr(new Region(m_slab, m_failures, true));
  plan->owner->inner->kind = RegionKind::rounds;
  plan->owner->inner->owner = plan->owner;
  return plan;
}

/// A task of a plan: never complete while that is there. `index`: its place in the plan. The
/// graph's lock is held.
Task& Plans::make_recorded(TaskSpec& spec, PlanState& plan, std::size_t index) {
  Task& task = m_admission.make_task(spec);
  task.id = ++m_last_recorded;
  task.plan_owner.store(plan.owner, std::memory_order_relaxed);
  task.live_id.store(task.id, std::memory_order_release);
  task.unfinished.store(0, std::memory_order_relaxed);
  put_into(task, *plan.owner->inner);
  task.node = PlanNode{};
  task.node.plan = &plan;
  task.node.index = static_cast<std::uint32_t>(index);
  return task;
}

TaskHandle Plans::record_task(PlanRecording& recording, TaskSpec&& spec) {
  PlanState& plan = *recording.plan;
  std::lock_guard const lock(m_submission);
  for (TaskHandle const& before : spec.after)
    if ((before.id & PlanNode::recorded) != 0 &&
        (before.task->region != plan.owner->inner.get() ||
         before.task->live_id.load(std::memory_order_acquire) != before.id))
      throw Error(Error::Kind::bad_input, "Trellis: task " + spec.label.text() +
                                              " is to come after a task of another plan; only "
                                              "tasks of the same plan, or tasks "
                                              "that are in no plan, can be named");
  Region& region = *plan.owner->inner;
  FoundEntries found(spec.accesses.size());
  m_admission.find_entries(spec, region, m_last_recorded, found);
  FunctionRef<void(void*)> const construct = spec.construct;
  auto const construct_on_zeros = [&](void* memory) {  // for count_references
    std::memset(memory, 0, spec.body_size);
    construct(memory);
  };
  spec.construct = construct_on_zeros;
  if (plan.tasks.size() == plan.tasks.capacity())  // so that no task is made and lost
    plan.tasks.reserve(std::max<std::size_t>(64, 2 * plan.tasks.size()));
  Task& task = make_recorded(spec, plan, plan.tasks.size());
  task.marks.is_section = false;  // no thread waits for it
  plan.tasks.push_back(&task);
  if (spec.replays != nullptr) {
    PlanState* const inner = static_cast<ReplayBody*>(task.body)->plan.get();
    if (std::find(plan.nested.begin(), plan.nested.end(), inner) == plan.nested.end())
      plan.nested.push_back(inner);
  }

  for (std::size_t k = 0; k < spec.accesses.size(); ++k)
    if (found.of[k] != nullptr) task.add_access({found.of[k], spec.accesses[k].mode});
  if (found.is_special) Submission::note_special(task, spec, found);
  for (std::uint32_t k = 0; k < task.access_count; ++k) {
    TaskAccess& access = task.access(k);
    Submission::enter(task, access, task.id, region, [&](LiveAccess before) {
      return order_recorded(recording, *before.task, task, EdgeReason::access);
    });
    // Which exclusive accesses meet in one group differs from round to round.
    access.generation = TaskAccess::any_generation;
  }

  count_references(plan, task, spec, found);

  for (TaskHandle const& before : spec.after) {
    if ((before.id & PlanNode::recorded) != 0)
      order_recorded(recording, *before.task, task, EdgeReason::after);
    else
      plan.after.push_back(before);
  }
  if (!m_rules.empty()) {
    for (TagRule const& rule : m_rules)
      if (rule.constraint != Constraint::exclusive) plan.rounds_overlap = false;
    m_admission.apply_rules(task, region, [&](LiveAccess before) {
      return order_recorded(recording, *before.task, task, EdgeReason::rule);
    });
  }
  if (task.marks.synchronizing) {
    plan.rounds_overlap = false;
    for (std::size_t k = recording.barrier_index; k + 1 < plan.tasks.size(); ++k)
      order_recorded(recording, *plan.tasks[k], task, EdgeReason::synchronizing);
    recording.barrier = &task;
    recording.barrier_index = task.node.index;
  } else if (recording.barrier != nullptr) {
    order_recorded(recording, *recording.barrier, task, EdgeReason::synchronizing);
  }
  if (can_be_captured(task)) ++plan.capturable;
  TaskHandle const handle = m_kernel.handle_of(&task, task.id);
  if (spec.number != nullptr) spec.number->bound(handle);
  return handle;
}

bool Plans::order_recorded(PlanRecording& recording, Task& before, Task& task, EdgeReason reason) {
  if (before.last_successor() == &task)
    return true;  // all edges to one task come one after the other
  before.add_successor(&task);
  ++task.node.first_edges;
  ++recording.plan->edges;
  if (reason != EdgeReason::access) {
    recording.plan->reasons.emplace(std::pair(before.node.index, task.node.index), reason);
    recording.back_edges.push_back({&task, &before});
  }
  return true;
}

namespace {

/// A copy of a task's body, as long as it is there. Few are so large that they need an allocation.
class BodyCopy {
 public:
  explicit BodyCopy(Task const& task)
      : m_ops(*task.ops), m_alignment(std::max(task.body_alignment, alignof(Task))) {
    bool const is_small = m_ops.size <= sizeof m_here && m_alignment == alignof(Task);
    if (!is_small) m_memory = ::operator new(m_ops.size, std::align_val_t(m_alignment));
    try {
      m_ops.copy(task.body, m_memory);
    } catch (...) {
      free_memory();
      throw;
    }
  }
  BodyCopy(BodyCopy const&) = delete;
  BodyCopy& operator=(BodyCopy const&) = delete;
  ~BodyCopy() {
    m_ops.destroy(m_memory);
    free_memory();
  }

 private:
  void free_memory() {
    if (m_memory != m_here) ::operator delete(m_memory, std::align_val_t(m_alignment));
  }

  TaskOps const& m_ops;
  std::size_t const m_alignment;
  alignas(Task) std::byte m_here[Task::inline_body];
  void* m_memory = m_here;
};

}  // namespace

/// How many references to this allocation lie in a body of so many bytes. A View is the reference
/// and then an address in the allocation. A reference alone may be what an old View has left where
/// the body has padding: a move may copy padding, too.
static long references_in(void const* body, std::size_t size, ResourceHold const& hold) {
  constexpr std::size_t width = sizeof(std::uintptr_t);
  auto const record = reinterpret_cast<std::uintptr_t>(hold.record());
  auto const [begin, end] = hold.addresses();
  auto const word_at = [&](std::size_t at) {
    std::uintptr_t word = 0;
    std::memcpy(&word, static_cast<std::byte const*>(body) + at, width);
    return word;
  };
  long count = 0;
  for (std::size_t at = 0; at + 2 * width <= size; at += width) {
    if (word_at(at) != record) continue;
    std::uintptr_t const address = word_at(at + width);
    if (begin <= address && address <= end) ++count;
  }
  return count;
}

/// Counts the references to the allocations of this task that its body has. It reads those in the
/// body itself. Those behind the body's pointers (a vector of Views) show when it is copied: as
/// many come with one copy, come with another, and go with each of them.
///
/// Other threads make and drop references meanwhile. A worker that copies a functor twice makes the
/// count too large by the same number in both steps. So a count is believed at once only where it
/// is what the body itself has; else the smallest of several holds. One that is too large would
/// refuse a plan that may run; one that is too small only misses a plan that should be refused.
///
/// A body that is no functor of Kokkos' may have no copies, or costly ones, so it is only read.
void Plans::count_references(PlanState& plan, Task const& task, TaskSpec const& spec,
                             FoundEntries const& found) {
  std::span<AccessRequest const> const requests = spec.accesses;
  constexpr int most = 4;
  struct Count {
    long in_body = 0;
    long before = 0, with_one = 0, with_two = 0;
    long smallest = std::numeric_limits<long>::max();
    bool is_sure = false;
  };
  Few<HeldResource*> resources(requests.size());
  std::size_t count = 0;
  Resource const* last = nullptr;  // often several in a row are of one
  for (std::size_t k = 0; k < requests.size(); ++k) {
    if (found.of[k] == nullptr || requests[k].ops->hold == nullptr) continue;
    Resource const& accessed = *found.of[k]->resource;
    if (&accessed == last) continue;
    HeldResource& resource = plan.resources[accessed.begin];
    if (resource.hold == nullptr) {  // new, or known by Views alone that hold nothing
      resource.label = accessed.label;
      resource.hold = requests[k].ops->hold(requests[k].subject);
    }
    if (resource.hold == nullptr) continue;
    last = &accessed;
    std::uint32_t const number = task.node.index + 1;
    if (std::exchange(resource.counted_for, number) != number) resources[count++] = &resource;
  }
  if (count == 0) return;
  Few<Count> counts(count);
  for (std::size_t k = 0; k < count; ++k) {
    counts[k].in_body = references_in(task.body, spec.body_size, *resources[k]->hold);
    resources[k]->held += counts[k].in_body;
  }
  if (task.ops->copy == nullptr) return;
  auto const note = [&](long Count::* at) {
    for (std::size_t k = 0; k < count; ++k) counts[k].*at = resources[k]->hold->holders();
  };
  bool is_sure = false;
  for (int round = 0; round < most && !is_sure; ++round) {
    note(&Count::before);
    {
      BodyCopy const one(task);
      note(&Count::with_one);
      BodyCopy const two(task);
      note(&Count::with_two);
    }
    is_sure = true;
    for (std::size_t k = 0; k < count; ++k) {
      Count& each = counts[k];
      if (each.is_sure) continue;
      long const first = each.with_one - each.before;
      long const second = each.with_two - each.with_one;
      long const gone = each.with_two - resources[k]->hold->holders();
      each.is_sure = first == each.in_body && second == first && gone == first + second;
      each.smallest = std::min({each.smallest, first, second, gone / 2});
      is_sure = is_sure && each.is_sure;
    }
  }
  for (std::size_t k = 0; k < count; ++k)
    resources[k]->held += std::max(0L, counts[k].smallest - counts[k].in_body);
}

/// Throws when an allocation that somebody else knew when the plan was recorded is known to nobody
/// else now.
void Plans::check_still_held(PlanState const& plan) const {
  for (auto const& [begin, resource] : plan.resources)
    if (resource.held_outside && !HeldByPlans::is_held_outside(resource))
      throw Error(Error::Kind::bad_access,
                  "Trellis: the plan \"" + plan.label.string() + "\" (" + plan.label.place() +
                      ") was recorded with the View \"" + resource.label +
                      "\", which nobody but the plan holds any more: it has been reallocated "
                      "(resize, realloc, "
                      "assignment) or dropped. Record the plan again, or keep the View");
  for (PlanState const* nested : plan.nested) check_still_held(*nested);
}

/// Enters the accesses of a recorded task once more, as if it were submitted again, and calls
/// `add(before, task)` for each task of the round that it comes after then. The graph's lock is
/// held.
void Plans::enter_again(Task& task, Region& region, TaskId last_of_round,
                        FunctionRef<void(Task&, Task&)> add) {
  TaskId const id = ++m_last_recorded;
  task.for_each_access([&](TaskAccess const& access) {
    Submission::enter(task, access, id, region, [&](LiveAccess before) {
      if (before.id <= last_of_round) add(*before.task, task);
      return true;
    });
  });
}

/// Derives the edges to the next round, and what others see of the plan.
void Plans::finish(PlanRecording& recording) {
  PlanState& plan = *recording.plan;
  std::lock_guard const lock(m_submission);
  Region& region = *plan.owner->inner;
  TaskId const last_of_round = m_last_recorded;
  for (Task* task : plan.tasks) {
    task->node.edges = task->node.first_edges;
    task->node.own_round = task->successor_count;
    if (task->successor_count == 0) ++plan.leaves;
    if (task->node.first_edges == 0) plan.roots.push_back(task);
    task->unfinished.store(task->node.first_edges, std::memory_order_relaxed);
  }
  plan.task_count = plan.tasks.size();
  auto const add = [&](Task& from, Task& to) {
    if (&from == &to) {
      to.node.follows_itself = 1;
    } else if (from.node.index < to.node.index) {
      // There is a path: from one to the other, on to the first one's next run, and from there. As
      // an edge it could fire before the round in between, see PlanState.
    } else if (from.successor_count == from.node.own_round || from.last_successor() != &to) {
      from.add_successor(&to);
      ++to.node.edges;
      ++plan.edges_between_rounds;
    }
  };
  if (plan.rounds_overlap) {
    for (Task* task : plan.tasks) enter_again(*task, region, last_of_round, add);
    for (Task* task : plan.tasks) task->node.carrying = task->successor_count;
    for (auto const& [from, to] : recording.back_edges) add(*from, *to);
  } else {
    for (Task* task : plan.tasks) task->node.carrying = task->successor_count;
    find_carried(plan, last_of_round);
  }
  plan.outer = join_accesses([&](FunctionRef<void(TaskAccess const&)> f) {
    for (Task const* task : plan.tasks) task->for_each_access(f);
  });
  plan.requests = requests_of(plan.outer);
  plan.access_count = plan.outer.size();
  std::erase_if(plan.resources, [](auto const& each) { return each.second.hold == nullptr; });
  for (auto& [begin, resource] : plan.resources) {
    HeldByPlans::add(resource);
    resource.held_outside = HeldByPlans::is_held_outside(resource);
  }
}

/// Rounds do not overlap: which edges there would be to the next round if they did. (Those between
/// tasks with tags are known only as far as a rule holds: where it does in a round, there is a way
/// to the next one, too.) The graph's lock is held.
void Plans::find_carried(PlanState& plan, TaskId last_of_round) {
  Region& region = *plan.owner->inner;
  auto const add = [&](Task& from, Task& to) {
    plan.carried.push_back({&from, &to});
    return true;
  };
  for (Task* task : plan.tasks) {
    enter_again(*task, region, last_of_round, [&](Task& from, Task& to) { add(from, to); });
    if (!m_rules.empty())
      m_admission.apply_rules(*task, region,
                              [&](LiveAccess before) { return add(*before.task, *task); });
  }
  for (Task* task : plan.tasks) {
    if (!task->marks.synchronizing) continue;
    if (plan.first_barrier == nullptr) plan.first_barrier = task;
    plan.last_barrier = task;
  }
}

/// Where tasks run as one piece, the failure of one is that of all.
void Plans::map_carried_to_pieces(PlanState& plan) {
  std::vector<Task*> runs(plan.tasks);  // by index
  for (auto const& piece : plan.pieces)
    for (Task const* member : piece->members) runs[member->node.index] = piece->task;
  for (auto& [from, to] : plan.carried) {
    from = runs[from->node.index];
    to = runs[to->node.index];
  }
  std::sort(plan.carried.begin(), plan.carried.end(), [](auto const& a, auto const& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
  auto const is_same = [](auto const& a, auto const& b) {
    return a.from == b.from && a.to == b.to;
  };
  plan.carried.erase(std::unique(plan.carried.begin(), plan.carried.end(), is_same),
                     plan.carried.end());
}

/// See PlanComponent. It has the tasks that run, so pieces in the place of their members.
void Plans::find_components(PlanState& plan) {
  std::vector<Task*> running(plan.tasks);
  for (auto const& piece : plan.pieces) {
    for (Task const* member : piece->members) running[member->node.index] = nullptr;
    running.push_back(piece->task);
  }
  std::vector<std::uint32_t> first(running.size());
  for (std::uint32_t k = 0; k < first.size(); ++k) first[k] = k;
  auto const first_of = [&](std::uint32_t k) {
    while (first[k] != k) k = first[k] = first[first[k]];
    return k;
  };
  for (std::uint32_t k = 0; k < running.size(); ++k)
    if (running[k] != nullptr)
      running[k]->for_each_successor([&](Task const* next) {
        std::uint32_t const a = first_of(k), b = first_of(next->node.index);
        first[std::max(a, b)] = std::min(a, b);
      });
  std::vector<std::uint32_t> number(running.size());
  std::uint32_t count = 0;
  for (std::uint32_t k = 0; k < running.size(); ++k)
    if (running[k] != nullptr && first_of(k) == k) number[k] = count++;
  plan.components = std::make_unique<PlanComponent[]>(count);
  plan.component_count = count;
  for (std::uint32_t k = 0; k < running.size(); ++k) {
    if (running[k] == nullptr) continue;
    PlanNode& node = running[k]->node;
    node.component = number[first_of(k)];
    PlanComponent& component = plan.components[node.component];
    ++component.tasks;
    bool const is_alone = node.follows_itself == 0 && running[k]->successor_count == 0;
    if (node.carrying != running[k]->successor_count || is_alone) component.fails_as_one = false;
  }
}

namespace {

struct References {
  std::mutex mutex;
  std::unordered_map<void const*, long> by_record;

  static References& get() {
    static auto* const all = new References;  // plans may be destroyed late
    return *all;
  }
};

}  // namespace

void HeldByPlans::add(HeldResource& resource) {
  References& all = References::get();
  std::lock_guard const lock(all.mutex);
  all.by_record[resource.hold->record()] += resource.held;
  resource.is_counted = true;
}

void HeldByPlans::remove(HeldResource const& resource) noexcept {
  if (!resource.is_counted) return;
  References& all = References::get();
  std::lock_guard const lock(all.mutex);
  auto const found = all.by_record.find(resource.hold->record());
  found->second -= resource.held;
  if (found->second == 0) all.by_record.erase(found);
}

bool HeldByPlans::is_held_outside(HeldResource const& resource) {
  References& all = References::get();
  std::lock_guard const lock(all.mutex);
  auto const found = all.by_record.find(resource.hold->record());
  return resource.hold->holders() > (found != all.by_record.end() ? found->second : 0);
}

std::vector<OuterAccess> join_accesses(
    FunctionRef<void(FunctionRef<void(TaskAccess const&)>)> for_each) {
  struct Joined {
    AreaEntry* entry;
    Mode mode;
  };
  std::vector<Joined> joined;
  for_each([&](TaskAccess const& access) {
    // A state of the user's counts as what it is for tasks without one.
    AreaEntry& entry = *access.entry;
    bool const is_known = entry.joined < joined.size() && joined[entry.joined].entry == &entry;
    if (!is_known) {
      entry.joined = static_cast<std::uint32_t>(joined.size());
      joined.push_back({&entry, access.mode});
    } else if (Mode& mode = joined[entry.joined].mode; mode != access.mode) {
      mode = Mode::read_write;
    }
  });
  std::sort(joined.begin(), joined.end(), [](Joined const& a, Joined const& b) {
    auto const key = [](Joined const& x) {
      return std::tuple(x.entry->resource->begin, x.mode, x.entry->area.rank(),
                        x.entry->area.begin());
    };
    return key(a) < key(b);
  });
  std::vector<OuterAccess> outer;
  for (Joined const& each : joined) {
    Resource const& resource = *each.entry->resource;
    Area const& area = each.entry->area;
    if (!outer.empty()) {
      OuterAccess& last = outer.back();
      if (last.info.begin == resource.begin && last.mode == each.mode && last.area.rank() == 0 &&
          area.rank() == 0 && area.begin() <= last.area.end()) {
        std::uintptr_t const end = std::max(last.area.end(), area.end());
        last.area = Area::contiguous(reinterpret_cast<void const*>(last.area.begin()),
                                     end - last.area.begin());
        continue;
      }
    }
    outer.push_back({{resource.label, resource.begin, resource.end, resource.shape},
                     area,
                     each.mode,
                     &resource});
  }
  return outer;
}

std::vector<AccessRequest> requests_of(std::vector<OuterAccess> const& accesses) {
  std::vector<AccessRequest> requests;
  for (OuterAccess const& each : accesses)
    requests.push_back({each.area, each.mode, &each, &outer_access_ops});
  return requests;
}

/// Destroys the tasks. Requires that no replay is under way. Does nothing the second time.
void Plans::dismantle(PlanState& plan) {
  {
    std::lock_guard const lock(m_submission);
    if (std::erase(m_plans, &plan) == 0) return;
    note_failures(plan);
    for (auto const& piece : plan.pieces) plan.tasks.push_back(piece->task);
    for (Task* task : plan.tasks) {
      task->live_id.store(0, std::memory_order_release);
      task->clear_extras();
    }
  }
  // Before the first reference of the plan is gone: a plan over the same View that looks meanwhile
  // finds more references than plans have, never fewer.
  for (auto const& [begin, resource] : plan.resources) HeldByPlans::remove(resource);
  Task* first = plan.owner;
  {
    auto const streams = m_streams.lock();
    plan.graph.release();
    for (auto const& piece : plan.pieces) piece->graph.release();
  }
  for (Task* task : plan.tasks) {
    // Without a lock: it may free Views, and other plans.
    m_destructors.destroy_body(*task, m_kernel.own_seat());
    task->free_body();
    task->failure = nullptr;
    task->label = {};
    task->next = first;
    first = task;
  }
  plan.resources.clear();  // without a lock: a program may keep the plan for long, but no Views
  RegionPtr region;        // destroyed without the lock
  std::lock_guard const lock(m_submission);
  region = std::move(plan.owner->inner);
  for (Task* task = first; task != nullptr; task = task == plan.owner ? nullptr : task->next) {
    task->region = nullptr;  // under the lock: others ask cells what they are
    task->region_kind = RegionKind::graph;
  }
  m_slab.recycle_chain(first, plan.owner);
}

/// Plans that are dropped meanwhile are dismantled by the threads that drop them.
void Plans::dismantle_all() {
  for (;;) {
    std::shared_ptr<PlanState> plan;
    {
      std::lock_guard const lock(m_submission);
      if (m_plans.empty()) return;
      plan = m_plans.back()->weak_from_this().lock();
    }
    if (plan != nullptr)
      dismantle(*plan);
    else
      std::this_thread::yield();
  }
}

}  // namespace trellis::Impl
