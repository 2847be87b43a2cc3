// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_DEMOTION_HPP
#define TRELLIS_IMPL_DEMOTION_HPP

#include <Trellis_Tag.hpp>
#include <scope/Trellis_Shrinking.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <scope/Trellis_Scope.hpp>
#include <base/Trellis_SmallSet.hpp>
#include <task/Trellis_Task.hpp>
#include <impl/Trellis_TaskHandle.hpp>
#include <base/Trellis_Reserve.hpp>

#include <cstddef>
#include <deque>
#include <span>

namespace trellis::Impl {

struct AccessRequest;
class Exclusion;
class PolicyEdges;
class Waiters;

/// Lets tasks give up some of what they declared, while they run or before, by themselves or from
/// outside. Trellis_Demotion.cpp shows why that is right.
class Demotions {
 public:
  Demotions(Kernel& kernel, Scope& root, Exclusion& exclusion, PolicyEdges& policy_edges,
            Waiters& waiters, std::deque<TagRule> const& rules)
      : m_kernel(kernel),
        m_submission(kernel.lock()),
        m_root(root),
        m_exclusion(exclusion),
        m_policy_edges(policy_edges),
        m_waiters(waiters),
        m_rules(rules),
        m_recorder(kernel.recorder()) {}
  Demotions(Demotions const&) = delete;
  Demotions& operator=(Demotions const&) = delete;

  // Called by the body of the task, or by the code that refines it.
  void demote(TaskHandle const& self, std::span<AccessRequest const> to);
  void release(TaskHandle const& self, std::span<AccessRequest const> what);
  /// Throws for shrink_to_children() in a task with a Completion.
  [[noreturn]] static void refuse_completions();
  /// From here on the task has only the accesses that its unfinished children need.
  void shrink_to_children(TaskHandle const& self);

  // Called by any thread. False, with nothing changed, when it is too late.
  bool demote_other(TaskHandle const& task, std::span<AccessRequest const> to);
  bool release_other(TaskHandle const& task, std::span<AccessRequest const> what);

  // For a scope whose parent has shrunk to its children.
  /// Called under the lock of the scope, before the child is published.
  static void count_child(Scope& scope, Task const& child);
  /// Called when the child is complete, before it is counted out.
  void child_over(Scope& scope, TaskId child, WorkerSlot& slot);

 private:
  enum class By { itself, others };
  struct Remains;
  struct Relink;
  struct HandOut;
  using Plan = FunctionRef<void(Remains&)>;

  bool demote_to(TaskHandle const& asked, By by, Plan plan);
  [[nodiscard]] bool demote_held(TaskHandle const& handle, By by, bool is_pending, Task* guard,
                                 Plan plan, HandOut& out);

  // The caller of these holds the locks of the task's scope and of its children.
  void plan_demotion(Remains& remains, std::span<AccessRequest const> to);
  void plan_release(Remains& remains, std::span<AccessRequest const> what);
  void plan_shrinking(Remains& remains);
  void keep_needs(Scope& scope, Remains& remains, Shrinking::Needs const& gone);
  void require_not_needed(Remains const& remains) const;
  [[nodiscard]] bool apply(Remains& remains, HandOut& out);
  SmallSet<AreaEntry> take_out(Remains const& remains);
  static void set_accesses(Remains& remains);
  [[nodiscard]] static bool exclusion_looks_at(Remains const& remains);
  void put_in(Remains const& remains, SmallSet<AreaEntry> const& open, std::size_t successors);
  [[nodiscard]] bool knows_its_chains(Remains const& remains);
  std::size_t release_edges(Remains const& remains, SmallSet<AreaEntry> const& touched,
                            bool by_chains, Vector<Task*>& ready);
  Scope& scope_of(Task const& task) { return task.scope != nullptr ? *task.scope : m_root; }

  Kernel& m_kernel;
  SubmissionLock& m_submission;
  Scope& m_root;  ///< the graph's
  Exclusion& m_exclusion;
  PolicyEdges& m_policy_edges;
  Waiters& m_waiters;
  std::deque<TagRule> const& m_rules;
  Recorder* const m_recorder;  ///< null: the graph does not record
};

}  // namespace trellis::Impl

#endif
