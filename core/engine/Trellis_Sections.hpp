// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SECTIONS_HPP
#define TRELLIS_IMPL_SECTIONS_HPP

#include <Trellis_Orchestration.hpp>
#include <access/Trellis_AccessTable.hpp>
#include <task/Trellis_FunctionRef.hpp>
#include <kernel/Trellis_Task.hpp>
#include <kernel/Trellis_TaskHandle.hpp>
#include <task/Trellis_Reserve.hpp>

#include <vector>

namespace trellis::Impl {

class Cancellation;
struct Frame;
class FusionPool;
class Kernel;
class Orchestrator;
class Parts;
struct Seat;
class Waiting;
class Workers;

/// Sections: tasks whose bodies fork parts and join them, as the graph's advice says.
///
/// A section is a task like any other that is split. While its body submits parts, they are held:
/// each has one edge more, as the parts have that a pending task is refined to. When the body
/// returns, or waits for its parts, a phase is over: the advice is asked how to run the parts that
/// are held, and that edge is taken off them, from all at once, or from one after the other.
///
/// INVARIANT (nothing stays held). Parts are submitted by the body's thread alone, which also ends
/// each phase: by `section.wait()`, before any other wait (`let_go`), and at the end, also when
/// the body throws. A held part is pending, so its cell is not reused before. (Its edge is taken
/// off by the thread that has put it there; the decrement orders it as every other one, see Task.)
///
/// WHO RUNS THE PARTS. The thread that runs the body waits as a task does: it runs parts of its own
/// section, and nothing else, see Waiting::run_needed; when none is left for it, it gives its place
/// to another thread, which runs what the section waits for, whatever that is. A thread outside of
/// tasks that has called `fork_join` does the same, see Waiting::wait_for_section; where the
/// section can start at once, it is this thread that runs the body.
///
/// WHEN IT MAY BEGIN. The body refers to what its caller has, so it must not begin when the caller
/// may not wait for it, which would be an error that `fork_join` throws. So a section starts with
/// one edge more, its gate, which the caller takes off when nothing can keep it from waiting; see
/// Gate.
///
/// Parts that run one after the other on this thread hold each other up, though no edge says so. So
/// before the thread waits, or starts one that it cannot run itself, it starts all that are left.
class Sections {
 public:
  Sections(Kernel& kernel, Cancellation& cancellation, FusionPool& fusion,
           Orchestrator& orchestrator, Parts& parts, Waiting& waiting);
  Sections(Sections const&) = delete;
  Sections& operator=(Sections const&) = delete;

  /// One edge of a section, which its caller takes off. As long as it is there the task is pending,
  /// so its cell is not reused, and no thread runs its body. What the caller has done before, such
  /// as to ask that it be cancelled, happens before the body by the decrement, as with any edge.
  ///
  /// A section of a serial graph has none, as its caller has the turn, or is in no task of that
  /// graph and may wait. A section that a pass has collected has none either.
  class Gate {
   public:
    Gate(Kernel& kernel, TaskHandle const& section, bool is_closed)
        : m_kernel(kernel), m_section(section), m_is_closed(is_closed) {}
    Gate(Gate const&) = delete;
    Gate& operator=(Gate const&) = delete;
    /// Others may run it when what comes before it is done.
    void open(Seat& seat);
    /// When no other edge is left the calling thread has the task, which is ready. Else nothing has
    /// changed.
    [[nodiscard]] bool open_if_last();
    [[nodiscard]] bool is_closed() const { return m_is_closed; }

   private:
    Kernel& m_kernel;
    TaskHandle const& m_section;
    bool m_is_closed;
  };

 private:
  struct Open;

 public:
  /// In how many sections the calling thread is, by the tasks whose bodies it runs.
  [[nodiscard]] static int depth_here();
  /// By the body of the section's task, which is `self`: `running`, or what is left of it.
  void run(TaskHandle const& self, TaskHandle const& running, int depth, FunctionRef<void()> body);
  /// Is the calling thread in the body of a section?
  [[nodiscard]] static bool any_here() { return t_innermost != nullptr; }
  /// A section's body waits for its parts. False: it is not the body of a section.
  [[nodiscard]] bool end_phase(Frame& frame);
  /// As long as one is there the body of this frame waits for something else: then parts that it
  /// has submitted are not held. (Whoever looks for circles of waits takes held parts for
  /// such that the body holds up.)
  class LetGo {
   public:
    LetGo(Sections& sections, Frame& frame)
        : m_sections(sections), m_section(sections.let_go(frame)) {}
    LetGo(LetGo const&) = delete;
    LetGo& operator=(LetGo const&) = delete;
    ~LetGo() {
      if (m_section != nullptr) [[unlikely]]
        m_sections.collect(*m_section);
    }

   private:
    Sections& m_sections;
    Open* const m_section;
  };
  /// Of the thread that has called `fork_join`. Throws what the future would throw.
  void join(TaskHandle const& section);

  /// The calling thread is going to sleep, or to wait for what others run. Sections that it is in,
  /// and runs part after part, go on without it.
  static void start_rests();

 private:
  [[nodiscard]] Open* let_go(Frame& frame);
  void collect(Open& section);
  [[nodiscard]] Vector<LiveAccess> take_held(Open& section);
  void start(Open& section, Vector<LiveAccess> const& parts);
  void run_held(Open& section);
  void run_serially(Open& section, Vector<LiveAccess>&& parts);
  void start_rest(Open& section);
  void run_phase(Open& section);

  static constinit inline thread_local Open* t_innermost = nullptr;

  Kernel& m_kernel;
  Cancellation& m_cancellation;
  FusionPool& m_fusion;
  Orchestrator& m_orchestrator;
  Parts& m_parts;
  Waiting& m_waiting;
  Workers& m_workers;
  bool const m_serial;
};

}  // namespace trellis::Impl

#endif
