// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_REMAINS_HPP
#define TRELLIS_IMPL_REMAINS_HPP

#include <access/Trellis_AccessTable.hpp>
#include <base/Trellis_Reserve.hpp>
#include <base/Trellis_SmallVector.hpp>
#include <demotion/Trellis_Demotion.hpp>
#include <task/Trellis_Task.hpp>

#include <algorithm>
#include <cstddef>
#include <mutex>

namespace trellis::Impl {

/// Calls `f` for a task that is live, under its lock.
template <class F>
void with_live(LiveAccess const& task, F&& f) {
  std::lock_guard const lock(task.task->lock);
  if (task.task->is_live_locked(task.id)) f(*task.task);
}

/// Tasks that may run now. They are handed out when the caller holds no lock any more.
struct Demotions::HandOut {
  HandOut(Kernel& of, WorkerSlot* at) : kernel(of), slot(at) {}
  HandOut(HandOut const&) = delete;
  HandOut& operator=(HandOut const&) = delete;
  ~HandOut() {
    for (Task* task : granted) kernel.push(*task, slot);
    for (Task* task : ready) kernel.make_ready(*task, slot);
  }
  Kernel& kernel;
  WorkerSlot* const slot;  ///< the calling thread's, or null
  Vector<Task*> ready{};
  Vector<Task*> granted{};  ///< their exclusive areas
};

/// A task and what remains of its accesses: of each all, nothing or a part, which is appended.
///
/// The calls of a demotion differ only in how they fill this in. From it follow the entries of the
/// table that change, the edges, and the exclusive areas. Mostly it needs no memory but its own.
struct Demotions::Remains {
  enum class What { all, nothing, a_part, is_part };
  struct Access {
    TaskAccess access;
    StatePtr const* state = nullptr;  ///< of the task, or of the request; null: it has a mode
    What what = What::all;            ///< `a_part`: it will be removed

    [[nodiscard]] AccessKind kind() const {
      return {access.mode, state != nullptr ? state->get() : nullptr};
    }
    [[nodiscard]] bool is_there() const {
      return what != What::a_part && access.mode != Mode::none;
    }
  };
  /// `is_pending`: it is held back. `is_locked`: its lock is held.
  Remains(Task& of, bool of_pending, bool with_lock)
      : task(of), is_pending(of_pending), is_locked(with_lock) {
    accesses.reserve(task.access_count);
    task.for_each_access([&](TaskAccess const& access) {
      accesses.push_back(
          {access, access.state < 0
                       ? nullptr
                       : &task.extras->states[static_cast<std::size_t>(access.state)]});
    });
  }
  Remains(Remains const&) = delete;
  Remains& operator=(Remains const&) = delete;

  Task& task;
  bool const is_pending;
  bool const is_locked;
  SmallVector<Access, 4> accesses;
  SmallVector<AreaEntry*, 8> changed;  ///< where an access does not remain as it was
  Vector<StatePtr> states_before;      ///< once the task has its new ones

  /// Nothing remains: the task still knows that it had the access.
  void give_up(Access& mine) {
    changed.push_back(mine.access.entry);
    mine.access.mode = Mode::none;
    mine.state = nullptr;
    mine.what = What::nothing;
  }
  /// Only what is appended by `add` remains.
  void replace(Access& mine) {
    if (mine.is_there()) changed.push_back(mine.access.entry);
    mine.what = What::a_part;
  }
  void add(AreaEntry& entry, Mode mode, StatePtr const* state) {
    accesses.push_back(
        {{&entry, mode, true, -1, TaskAccess::any_generation}, state, What::is_part});
  }
  template <class Is>
  [[nodiscard]] bool any(Is&& is) const {
    return std::any_of(accesses.begin(), accesses.end(),
                       [&](Access const& mine) { return mine.is_there() && is(mine); });
  }
  [[nodiscard]] bool any_exclusive() const {
    return any([](Access const& mine) { return mine.kind().can_exclude(); });
  }
  [[nodiscard]] std::unique_lock<SpinLock> lock() const {
    return is_locked ? std::unique_lock<SpinLock>() : std::unique_lock<SpinLock>(task.lock);
  }
};

}  // namespace trellis::Impl

#endif
