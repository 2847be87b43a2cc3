// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cancellation/Trellis_Cancellation.hpp>
#include <children/Trellis_Children.hpp>
#include <forkjoin/Trellis_ForkJoins.hpp>
#include <kernel/Trellis_ForkJoinGate.hpp>
#include <fusion/Trellis_FusionPool.hpp>
#include <fusion/Trellis_Orchestrator.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <task/Trellis_PlanRecording.hpp>
#include <recorded/Trellis_PlanState.hpp>
#include <base/Trellis_Reserve.hpp>

#include <exception>
#include <memory>

/// Runs sections, from the beginning of their bodies to the end of their parts.
namespace trellis::Impl {

namespace {

/// Calls an advice. An exception that it throws ends the program, as there is no caller to handle
/// it.
template <class F>
auto ask(F&& f) noexcept {
  return f();
}

}  // namespace

ForkJoins::ForkJoins(Kernel& kernel, Cancellation& cancellation, FusionPool& fusion,
                   Orchestrator& orchestrator, Children& parts)
    : m_kernel(kernel),
      m_cancellation(cancellation),
      m_fusion(fusion),
      m_orchestrator(orchestrator),
      m_children(parts),
      m_workers(kernel.workers()),
      m_serial(kernel.is_serial()) {}

/// A section whose body is under way on this thread.
struct ForkJoins::Open {
  Open(ForkJoins& of, Frame& its_frame, TaskHandle const& its_task, TaskHandle const& its_body,
       int its_depth, std::shared_ptr<Orchestration> whose_advice)
      : sections(of),
        frame(its_frame),
        self(its_task),
        running(its_body),
        depth(its_depth),
        advice(std::move(whose_advice)),
        outer(std::exchange(t_innermost, this)) {}
  Open(Open const&) = delete;
  Open& operator=(Open const&) = delete;
  ~Open() { t_innermost = outer; }
  /// Returns the section of this frame, if it collects parts; else null.
  static Open* of(Frame const& frame) {
    Open* const top = t_innermost;
    return top != nullptr && &top->frame == &frame && top->collects ? top : nullptr;
  }

  ForkJoins& sections;
  Frame& frame;
  TaskHandle const& self;
  TaskHandle const& running;
  int const depth;
  std::shared_ptr<Orchestration> const advice;
  Open* const outer;
  bool collects = false;
  TaskId released = 0;                             ///< parts up to this one are not held
  ForkJoinPolicy policy = ForkJoinPolicy::parallel;  ///< that of the last phase
  // For a phase that is run here, part after part:
  Vector<LiveAccess> rest{};
  std::size_t next = 0;  ///< those before it have been started
};

/// Looks at frames of all graphs, as a section may wait for one of another graph.
int ForkJoins::depth_here() {
  for (Frame const* frame = Frame::top; frame != nullptr; frame = frame->outer) {
    if (frame->what == Frame::What::destroys) continue;  // its task may be over
    for (Task const* task = &frame->task; task != nullptr; task = enclosing(*task))
      if (task->ops->fork_join_depth != nullptr) return task->ops->fork_join_depth(task->body) + 1;
  }
  return 0;
}

void ForkJoins::run(TaskHandle const& self, TaskHandle const& running, int depth,
                   FunctionRef<void()> body) {
  Open section(*this, *Frame::of(m_kernel), self, running, depth, m_orchestrator.current());
  /// Tells the advice of the beginning, and on every exit of the end. Tasks that are held back for
  /// it are released then.
  struct Hooks {
    ForkJoins& sections;
    Open& section;
    Hooks(ForkJoins& in_fork_joins, Open& its_fork_join) : sections(in_fork_joins), section(its_fork_join) {
      ask([&] { section.advice->fork_join_starts(section.depth); });
      sections.m_fusion.fork_join_starts();
      sections.m_kernel.events().statistics().section(1);
    }
    Hooks(Hooks const&) = delete;
    Hooks& operator=(Hooks const&) = delete;
    ~Hooks() {
      std::size_t may_stay = FuseInstruction::never;
      ask([&] {
        if (section.policy == ForkJoinPolicy::parallel)
          may_stay = section.advice->hold_back(TaskKind());
        section.advice->fork_join_ends(section.depth);
      });
      sections.m_kernel.events().statistics().section(-1);
      sections.m_fusion.fork_join_over(may_stay, section.frame.slot);
    }
  } const hooks(*this, section);
  collect(section);
  try {
    body();
  } catch (...) {
    start(section, take_held(section));
    try {
      m_kernel.wait_for_started_children(self, running, &section.frame);
    } catch (ChildFailed const&) {
      // The part has left its failure; the body's own failure comes first.
    }
    throw;
  }
  run_phase(section);
}

bool ForkJoins::end_phase(Frame& frame) {
  Open* const section = Open::of(frame);
  if (section == nullptr) return false;
  run_phase(*section);
  collect(*section);
  return true;
}

/// Starts the parts that are left in all sections that this thread is in, of any graph: what waits
/// here may wait for any of them.
void ForkJoins::start_rests() {
  for (Open* each = t_innermost; each != nullptr; each = each->outer)
    if (each->next < each->rest.size()) each->sections.start_rest(*each);
}

ForkJoins::Open* ForkJoins::start_held(Frame& frame) {
  start_rests();
  Open* const section = Open::of(frame);
  if (section != nullptr) run_held(*section);
  return section;
}

void ForkJoins::collect(Open& section) {
  section.released = m_children.hold_children(section.self);
  section.collects = true;
}

Vector<LiveAccess> ForkJoins::take_held(Open& section) {
  section.collects = false;
  return m_children.take_held(*section.self.task, section.released);
}

void ForkJoins::start(Open& section, Vector<LiveAccess> const& parts) {
  Vector<Task*> ready;
  for (LiveAccess const part : parts) trigger(*part.task, nullptr, ready);
  for (Task* const part : ready) m_kernel.make_ready(*part, &section.frame.slot);
}

namespace {

/// Returns the kind that all these parts share, or none.
TaskKind kind_of(Vector<LiveAccess> const& parts) {
  TaskKind kind;
  for (LiveAccess const part : parts) {
    TaskKind const next = FusionPool::kind_of(*part.task);
    if (!next || (kind && next != kind)) return {};
    kind = next;
  }
  return kind;
}

}  // namespace

/// Asks the advice, without any lock, and starts the held parts, or runs them here.
void ForkJoins::run_held(Open& section) {
  Vector<LiveAccess> parts = take_held(section);
  if (parts.empty()) return;
  m_kernel.events().statistics().section(0);
  section.policy =
      ask([&] { return section.advice->section(section.depth, parts.size(), kind_of(parts)); });
  if (section.policy == ForkJoinPolicy::serial && !m_serial)
    run_serially(section, std::move(parts));
  else
    start(section, parts);
}

void ForkJoins::run_phase(Open& section) {
  run_held(section);
  m_kernel.wait_for_started_children(section.self, section.running, &section.frame);
}

/// Runs the parts here, one after the other. A part that cannot run here and now is started, and so
/// are those behind it, as it might wait for one of them. They are also started when a part that
/// runs here waits, see `start_held`.
void ForkJoins::run_serially(Open& section, Vector<LiveAccess>&& parts) {
  WorkerSlot& slot = section.frame.slot;
  section.rest = std::move(parts);
  section.next = 0;
  Workers::Narrowed const narrowed(m_workers, slot);
  while (section.next < section.rest.size()) {
    Task& task = *section.rest[section.next++].task;
    Vector<Task*> ready;
    trigger(task, nullptr, ready);
    bool const here = !ready.empty() && slot.number >= 0 && !task.exclusive &&
                      !task.runs_on_device() && (!task.marks.main_thread || slot.is_main) &&
                      (task.space == nullptr || task.space->is_plain());
    if (!here) {
      if (!ready.empty()) m_kernel.make_ready(task, &slot);
      start_rest(section);
      return;
    }
    task.state.store(TaskState::ready, std::memory_order_relaxed);
    m_kernel.events().changed(task, TaskState::ready);
    if (Task* const next = m_kernel.run_deferring(task, slot)) m_kernel.push(*next, &slot);
  }
}

void ForkJoins::start_rest(Open& section) {
  Vector<LiveAccess> const rest(section.rest.begin() + static_cast<std::ptrdiff_t>(section.next),
                                section.rest.end());
  section.next = section.rest.size();
  start(section, rest);
}

void ForkJoins::join(TaskHandle const& section) {
  PlanRecording const* const recording = PlanRecording::of(m_kernel);
  if (recording != nullptr && recording->pass == nullptr) return;  // it runs when it is replayed
  ForkJoinGate gate(m_kernel, section, !m_serial && section.id < TaskHandle::end_of_submitted);
  try {
    m_kernel.wait_for_fork_join(section, gate);
  } catch (...) {
    // The section cannot be waited for, and has not begun. It must not run later, when the data
    // that its body refers to may be gone.
    m_cancellation.ask(section);
    gate.open(m_kernel.own_slot());
    throw;
  }
  m_kernel.rethrow(section);
}

}  // namespace trellis::Impl
