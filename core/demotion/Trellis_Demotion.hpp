// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_DEMOTION_HPP
#define TRELLIS_IMPL_DEMOTION_HPP

#include <Trellis_Tag.hpp>
#include <task/Trellis_AnyState.hpp>
#include <base/Trellis_SmallVector.hpp>
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
#include <vector>

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
        m_slab(kernel.slab()),
        m_failures(kernel.failures()),
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
  /// The accesses that a task will have afterwards. Mostly it needs no memory but its own.
  struct Demotion {
    template <class T>
    using List = SmallVector<T, 8>;
    struct Kept {
      TaskAccess access;
      StatePtr const* state = nullptr;  ///< of the task, or of the request; null: it has a mode
      bool is_new = false;              ///< it is not what the task has declared
      bool is_named = false;            ///< the call has named it
      [[nodiscard]] AccessKind kind() const {
        return {access.mode, state != nullptr ? state->get() : nullptr};
      }
    };
    explicit Demotion(Task const& task) {
      accesses.reserve(task.access_count);
      task.for_each_access([&](TaskAccess const& access) {
        StatePtr const* const state =
            access.state < 0 ? nullptr
                             : &task.extras->states[static_cast<std::size_t>(access.state)];
        accesses.push_back({access, state});
      });
    }
    Demotion(Demotion const&) = delete;
    Demotion& operator=(Demotion const&) = delete;

    SmallVector<Kept, 4> accesses;
    List<AreaEntry*> given_up;       ///< where it gives up or changes an access
    Vector<StatePtr> states_before;  ///< once it has its new ones

    void give_up(Kept& mine) {
      given_up.push_back(mine.access.entry);
      mine.access.mode = Mode::none;
      mine.state = nullptr;
      mine.is_new = true;
    }
    /// Keeps the accesses for which `stays(mine)`, in their order, and appends the new ones. The
    /// others have been given up.
    template <class Stays, class Added>
    void replace(Stays const& stays, Added const& added) {
      std::size_t kept = 0;
      for (std::size_t k = 0; k < accesses.size(); ++k)
        if (stays(k)) accesses[kept++] = accesses[k];
      accesses.shrink(kept);
      for (Kept const& each : added) accesses.push_back(each);
    }
  };

  bool demote_to(TaskHandle const& asked, By by, FunctionRef<void(Task&, Demotion&)> plan);
  [[nodiscard]] bool demote_held(TaskHandle const& handle, By by, bool is_pending, Task* guard,
                                 FunctionRef<void(Task&, Demotion&)> plan, Vector<Task*>& ready,
                                 Vector<Task*>& granted);
  void plan_demotion(Task& task, Demotion& demotion, std::span<AccessRequest const> to);
  void plan_release(Task& task, Demotion& demotion, std::span<AccessRequest const> what);
  void plan_shrinking(Task& task, Demotion& demotion);
  void keep_needs(Scope& scope, Demotion& demotion);
  static void give_up_needs(std::span<Shrinking::Need const> gone, Demotion& demotion);
  void hand_out(Vector<Task*> const& ready, Vector<Task*> const& granted);

  // The caller of these holds the locks of the task's scope and of its children.
  void require_not_needed(Task& task, Demotion const& demotion) const;
  void apply(Task& task, Demotion& demotion, bool is_locked, Vector<Task*>& ready,
             Vector<Task*>& granted);
  [[nodiscard]] bool apply_pending(Task& task, Demotion& demotion, Vector<Task*>& ready,
                                   Vector<Task*>& granted);
  SmallSet<AreaEntry> take_out(Task& task, Demotion const& demotion);
  static void set_accesses(Task& task, Demotion& demotion);
  [[nodiscard]] static bool exclusion_looks_at(Task const& task, Demotion const& demotion);
  void put_in(Task& task, Demotion const& demotion, SmallSet<AreaEntry> const& open, bool is_locked,
              std::size_t successors);
  [[nodiscard]] bool knows_its_chains(Task const& task, Demotion const& demotion);
  [[nodiscard]] bool stays_ordered(Task const& before, Task const& after) const;
  std::size_t release_edges(Task& task, Demotion& demotion, SmallSet<AreaEntry> const& touched,
                            bool by_chains, bool is_locked, Vector<Task*>& ready);
  Scope& scope_of(Task const& task) { return task.scope != nullptr ? *task.scope : m_root; }

  Kernel& m_kernel;
  SubmissionLock& m_submission;
  Scope& m_root;  ///< the graph's
  TaskSlab& m_slab;
  FailureLog const& m_failures;
  Exclusion& m_exclusion;
  PolicyEdges& m_policy_edges;
  Waiters& m_waiters;
  std::deque<TagRule> const& m_rules;
  Recorder* const m_recorder;  ///< null: the graph does not record
};

}  // namespace trellis::Impl

#endif
