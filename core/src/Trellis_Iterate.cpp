// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <impl/Trellis_Engine.hpp>
#include <impl/Trellis_PlanState.hpp>

#include <algorithm>
#include <utility>

/// Loops whose passes submit the same tasks again and again.
///
/// The first pass is recorded and replayed. What a later pass submits is compared with a plan, task by task;
/// as long as it is the same, its functors take the places of the plan's, and at the end of the pass the plan
/// is replayed. So functors may hold what differs from pass to pass. Several plans are kept, for passes that
/// take turns (double buffering), and two of a kind, because a plan cannot take functors while it is
/// replayed.
///
/// A pass that turns out to be different, or that waits for one of its own tasks, is submitted as any other
/// tasks are: first what it has handed in so far, then what is to come.
namespace trellis::Impl {

namespace {

constexpr std::size_t plans_of_a_kind = 2;
constexpr std::size_t most_plans = 8;

/// The body of a task that is submitted with the functor that a plan has taken for it. The plan is given up.
struct Forward {
  std::shared_ptr<PlanState> plan;
  Task* task;
};

constexpr TaskOps no_body{"nothing", [](void*, void*, Label const&) {}, [](void*) noexcept {},
                          [](void*, TaskId, std::string const&, FailurePtr const&) noexcept {}};

void destroy_body(Task& task) noexcept {
  std::exchange(task.ops, &no_body)->destroy(task.body);
}

/// What stands for a replay that is submitted instead: comes after it.
constexpr TaskOps after_replay{"replayed", [](void*, void*, Label const&) {},
                               [](void* body) noexcept {
                                 auto& forward = *static_cast<Forward*>(body);
                                 add_pending(*forward.plan, -1);
                                 forward.~Forward();
                               },
                               [](void*, TaskId, std::string const&, FailurePtr const&) noexcept {}};

void run_forward(void* body, void* instance, Label const& label) {
  Task& task = *static_cast<Forward*>(body)->task;
  task.ops->run(task.body, instance, label);
}
void finish_forward(void* body) {
  Task& task = *static_cast<Forward*>(body)->task;
  task.ops->finish(task.body);
}
void destroy_forward(void* body) noexcept {
  auto& forward = *static_cast<Forward*>(body);
  destroy_body(*forward.task);
  add_pending(*forward.plan, -1);
  forward.~Forward();
}
void fail_forward(void* body, TaskId id, std::string const& text, FailurePtr const& failure) noexcept {
  auto& [plan, task] = *static_cast<Forward*>(body);
  task->ops->fail(task->body, id, text, failure);
  std::lock_guard const lock(plan->lock);
  plan->failed.emplace(task->node.index, PlanState::Failed{text, failure, failure->origin != id});
}

bool same_tags(Task const& task, TaskSpec const& spec) {
  return std::equal(task.tags().begin(), task.tags().end(), spec.tags.begin(), spec.tags.end(),
                    [](TagPtr const& a, TagPtr const& b) { return a->type() == b->type() && a->equals(*b); });
}

/// Would submitting `spec` give this recorded task, but for what its functor holds?
bool is_same(Task const& task, TaskSpec const& spec) {
  if (task.ops != spec.ops || task.space != spec.space || task.wanted_stream != spec.stream ||
      task.priority != spec.priority || task.main_thread != spec.main_thread ||
      task.synchronizing != spec.synchronizing || task.replays != (spec.replays != nullptr) ||
      !spec.after.empty() || task.label.site().line() != spec.label.site().line() ||
      task.label.view() != spec.label.view() || !same_tags(task, spec))
    return false;
  if (task.replays && static_cast<ReplayBody const*>(task.body)->plan.get() != spec.replays) return false;
  std::uint32_t known = 0;
  for (AccessRequest const& request : spec.accesses) {
    if (!request.counts()) continue;
    if (known == task.access_count || request.state != nullptr) return false;
    TaskAccess const& access = task.access(known++);
    if (access.state >= 0 || access.mode != request.mode || !(access.entry->area == request.area))
      return false;
  }
  return known == task.access_count;
}

bool is_idle(PlanState const& plan) {
  return plan.owner->unfinished.load(std::memory_order_acquire) == 0;
}

}  // namespace

IterateReport Engine::iterate(Label&& label, std::uint64_t passes, FunctionRef<bool(std::uint64_t)> body) {
  IterateReport report;
  if (m_serial || recording_here() != nullptr) {  // an outer recording gets the tasks as they come
    for (std::uint64_t k = 0; k < passes; ++k) {
      ++report.dynamic;
      if (!body(k)) break;
    }
    return report;
  }
  std::deque<std::shared_ptr<PlanState>> plans;
  for (std::uint64_t k = 0; k < passes; ++k) {
    Pass pass{Pass::How::undecided, 0, 0, plans};
    PlanRecording recording(*this, &pass);
    recording.label = &label;
    bool goes_on = false;
    try {
      goes_on = body(k);
    } catch (...) {
      submit_instead(recording);  // what it has submitted stays submitted
      throw;
    }
    end_pass(recording);
    ++(pass.how == Pass::How::recording  ? report.recorded
       : pass.how == Pass::How::matching ? report.replayed
                                         : report.dynamic);
    if (!goes_on) break;
  }
  return report;
}

TaskHandle Engine::submit_in_pass(PlanRecording& recording, TaskSpec&& spec) {
  Pass& pass = *recording.pass;
  if (pass.how == Pass::How::undecided) choose_plan(recording, spec);
  if (pass.how == Pass::How::matching) {
    std::vector<Task*> const& tasks = recording.plan->tasks;
    if (pass.position < tasks.size() && is_same(*tasks[pass.position], spec))
      return take_over(recording, spec);
    submit_instead(recording);
  }
  if (pass.how == Pass::How::recording) {
    // Explicit dependencies lead to tasks of other passes, which the next time will be others.
    if (spec.after.empty()) return submit_recorded(recording, std::move(spec));
    submit_instead(recording);
  }
  return submit_now(std::move(spec));
}

/// Finds a plan that begins with this task, or decides to record one.
void Engine::choose_plan(PlanRecording& recording, TaskSpec const& spec) {
  Pass& pass = *recording.pass;
  std::vector<std::shared_ptr<PlanState>> of_this_kind;
  for (auto const& plan : pass.plans)
    if (is_same(*plan->tasks.front(), spec)) of_this_kind.push_back(plan);
  for (auto const& plan : of_this_kind)
    if (recording.plan == nullptr && is_idle(*plan)) recording.plan = plan;
  if (recording.plan == nullptr && of_this_kind.size() >= plans_of_a_kind) {
    recording.plan = of_this_kind.front();  // used longest ago
    wait_for_replay(
        {m_control, m_generation, recording.plan->tasks.front(), recording.plan->tasks.front()->id});
  }
  if (recording.plan != nullptr) {
    pass.how = Pass::How::matching;
    std::lock_guard const lock(m_submission);
    note_failures(*recording.plan);
    pass.ids_from = m_last_recorded + 1;
    m_last_recorded += recording.plan->tasks.size();
  } else if (pass.plans.size() < most_plans && spec.after.empty()) {
    pass.how = Pass::How::recording;
    recording.plan = new_plan(Label(*recording.label));
  } else {
    pass.how = Pass::How::dynamic;
  }
  // Until the pass is over, so that its tasks do not look done.
  if (recording.plan != nullptr) add_pending(*recording.plan, 1);
}

/// Puts the new functor into the place of the old one. Nobody runs it: the plan is idle. The task gets a new
/// id, so that it is done for futures of the pass before.
TaskHandle Engine::take_over(PlanRecording& recording, TaskSpec& spec) {
  Task& task = *recording.plan->tasks[recording.pass->position];
  TaskOps const* const ops = task.ops;
  Impl::destroy_body(task);
  try {
    spec.construct(task.body);
  } catch (...) {
    submit_instead(recording);
    throw;
  }
  task.ops = ops;
  task.label = std::move(spec.label);
  task.id = recording.pass->ids_from + recording.pass->position++;
  task.live_id.store(task.id, std::memory_order_release);
  recording.plan->graph.make_stale();
  for (auto const& piece : recording.plan->pieces) piece->graph.make_stale();
  return {m_control, m_generation, &task, task.id};
}

void Engine::end_pass(PlanRecording& recording) {
  Pass& pass = *recording.pass;
  if (pass.how == Pass::How::matching && pass.position < recording.plan->tasks.size())
    submit_instead(recording);
  if (pass.how != Pass::How::recording && pass.how != Pass::How::matching) return;
  if (pass.how == Pass::How::recording) {
    finish(recording);
    capture(*recording.plan);
  }
  auto const used = std::find(pass.plans.begin(), pass.plans.end(), recording.plan);
  if (used != pass.plans.end()) pass.plans.erase(used);
  pass.plans.push_back(recording.plan);
  submit_replay(recording.plan->label, recording.plan, 1);
  add_pending(*recording.plan, -1);
}

/// The pass goes on without a plan. What it has handed in so far is submitted with the functors that the plan
/// has got; the plan is given up, as somebody may still look at its tasks through a future.
void Engine::submit_instead(PlanRecording& recording) {
  Pass& pass = *recording.pass;
  std::size_t const count = pass.how == Pass::How::matching    ? pass.position
                            : pass.how == Pass::How::recording ? recording.plan->tasks.size()
                                                               : 0;
  pass.how = Pass::How::dynamic;
  std::shared_ptr<PlanState> const plan = std::exchange(recording.plan, nullptr);
  if (plan == nullptr) return;
  std::erase(pass.plans, plan);
  struct Release {
    PlanState& plan;
    ~Release() { add_pending(plan, -1); }
  } const release{*plan};
  for (std::size_t k = 0; k < count; ++k) {
    Task& task = *plan->tasks[k];
    TaskOps const& ops = plan->forwarded.emplace_back(
        TaskOps{task.ops->pattern, &run_forward, &destroy_forward, &fail_forward});
    if (task.ops->finish != nullptr) plan->forwarded.back().finish = &finish_forward;
    auto const construct = [&](void* storage) { ::new (storage) Forward{plan, &task}; };
    TaskSpec spec(Label(task.label), ops, sizeof(Forward), alignof(Forward), construct);
    std::vector<ResourceInfo> resources;
    std::vector<StatePtr> states;
    resources.reserve(task.access_count);
    states.reserve(task.access_count);
    std::vector<AccessRequest> requests;
    task.for_each_access([&](TaskAccess const& access) {
      Resource const& resource = *access.entry->resource;
      resources.push_back({resource.label, resource.begin, resource.end});
      AccessRequest request{access.entry->area, access.mode, &resources.back(), &resource_info_ops};
      if (access.state >= 0) {
        states.push_back(task.state_of(access));
        request.state = &states.back();
      }
      requests.push_back(std::move(request));
    });
    std::vector<TagPtr> const tags(task.tags().begin(), task.tags().end());
    spec.space = task.space;
    spec.stream = task.wanted_stream;
    spec.accesses = requests;
    spec.tags = tags;
    spec.priority = task.priority;
    spec.main_thread = task.main_thread;
    spec.synchronizing = task.synchronizing;
    TaskHandle replay;
    if (task.replays) {
      auto const& [inner, rounds] = *static_cast<ReplayBody*>(task.body);
      replay = submit_replay(task.label, inner, rounds);
      spec.ops = &after_replay;
      spec.accesses = {};
      spec.after = {&replay, 1};
    }
    TaskHandle const handle = submit_pending(*plan, std::move(spec));
    std::lock_guard const lock(m_submission);
    plan->forwarded_as.push_back(handle);
  }
}

}  // namespace trellis::Impl
