// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FROZENITERATION_HPP
#define TRELLIS_IMPL_FROZENITERATION_HPP

#include <task/Trellis_AccessRequest.hpp>
#include <fields/impl/Trellis_FieldState.hpp>
#include <fields/impl/Trellis_Model.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace trellis::Impl {

/// An iteration that is recorded in a plan, which runs it again and again in the same memory.
///
/// Fields without memory between iterations lie in slabs, one at each place, as a MemoryLayout
/// says. For the engine a slab is an ordinary allocation, and a field in it is an area of that. So
/// the engine orders tasks on fields that share bytes, within a round and from one round to the
/// next, as it orders tasks that name one View.
///
/// WHY THIS IS CORRECT. A plan runs tasks with conflicting accesses in the order of the recording,
/// and the next round of the first one after the second one. The steps of an iteration are recorded
/// in the model's order, in which the makers of a field come before all its readers. The layout
/// lets two fields share bytes only if in that order all tasks that touch the one come before all
/// tasks that make the other. So no other task writes the bytes of a field between its makers and
/// its readers, whatever else runs.
///
/// Nothing here changes after construction, so the tasks of the plan read it without a lock, on any
/// thread. Each of them holds a reference, and a replay happens after the recording that made them.
/// It does not own the model, which may end before.
struct FrozenIteration {
  struct Slot {
    void* memory = nullptr;
    bool lies_in_slab = false;
    KeptPtr kept;                       ///< memory of the field between iterations
    std::shared_ptr<void const> bound;  ///< View that the field is bound to
  };
  std::shared_ptr<ModelSchedule const> schedule;
  std::vector<Slot> slots;
  std::vector<KeptPtr> slabs;       ///< by place; null: nothing lies there
  std::vector<ResourceInfo> infos;  ///< descriptions of the slabs
  std::weak_ptr<Model const> model;
  std::string name;  ///< name of the model

  /// True if there is anything to check before a replay.
  [[nodiscard]] bool is_watched() const;
  /// Called before a replay. Throws `Error` when the iteration would differ from one that is
  /// submitted now: a field has other memory, or the values of a DualView are elsewhere. Otherwise
  /// sets the flags of DualViews to their state after the replay.
  void begin_replay() const;
};

}  // namespace trellis::Impl

#endif
