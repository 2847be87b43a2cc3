// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_WARNINGS_HPP
#define TRELLIS_IMPL_WARNINGS_HPP

#include <Trellis_TaskGraphOptions.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <task/Trellis_TaskSpec.hpp>
#include <warn/Trellis_Captures.hpp>
#include <warn/Trellis_WarnFlow.hpp>
#include <warn/Trellis_WarningReporter.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <vector>

namespace trellis::Impl {

class Engine;
struct PlanState;

/// Finds what looks wrong in the program, for a graph that is asked to warn; other graphs have
/// none. It sees each task before it is submitted, recorded or collected, and each wait. It does
/// not know what runs when, so the warnings do not depend on time. (There is one exception: if
/// several threads submit at the same time, not all functors are checked for all Views, see
/// Captures.)
///
/// It keeps the Views that tasks name as long as other references exist. So it can tell their
/// addresses from those of other Views, and see what functors hold.
///
/// LOCK. Its mutex is the last that a thread takes, and no user code runs under it.
class Warnings {
 public:
  explicit Warnings(TaskGraphOptions const& options)
      : m_teller(options.name, options.on_warning), m_root(m_teller, m_looks) {}
  Warnings(Warnings const&) = delete;
  Warnings& operator=(Warnings const&) = delete;

  /// The submission of a task: from before it until it has its place.
  class Call {
   public:
    /// `in_body`: the calling thread runs a task.
    Call(Warnings& warnings, TaskSpec& spec, PlanState const* recording, bool in_body);
    Call(Call const&) = delete;
    Call& operator=(Call const&) = delete;
    ~Call();

   private:
    /// Called under the lock of a scope, like all moves of functors into their tasks.
    void construct(void* storage);
    void note_captures();

    struct Construct {
      Call& call;
      void operator()(void* storage) const { call.construct(storage); }
    };
    Warnings& m_warnings;
    TaskSpec& m_spec;
    WarnFlow* m_flow = nullptr;  ///< null: it is a child of a task
    PlanState const* const m_recording;
    Label const m_label;
    Sequence m_task = 0;
    WarnFlow::Dropped m_dropped;
    WarnFlow::Dropped m_known;
    FunctionRef<void(void*)> const m_construct;
    /// A functor that Kokkos copies, to be examined without a lock; the task gets a copy.
    std::optional<BodyRoom> m_functor;
    std::optional<Captures> m_captures;
    Construct m_wrapper{*this};
  };

  /// Notes that the host knows that some task is complete. It may read what that has left, and
  /// write.
  void host_looks() { m_looks.fetch_add(1, std::memory_order_acq_rel); }
  /// Does the same for all tasks: `graph.wait()` has returned.
  void waited(std::source_location const& site);
  /// Releases all Views, and forgets what it knows of them, before references are counted.
  void drop_views();
  /// Called when the recording of this plan begins, or is over.
  void forget(PlanState const& recording);
  /// Called when the graph ends; all its tasks are complete.
  void end();

 private:
  WarningReporter m_teller;
  std::atomic<std::uint64_t> m_looks{1};
  std::mutex m_mutex;
  WarnFlow m_root;                                                     ///< guarded by m_mutex
  std::map<PlanState const*, std::unique_ptr<WarnFlow>> m_recordings;  ///< guarded by m_mutex
};

}  // namespace trellis::Impl

#endif
