// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_FROZENPASS_HPP
#define TRELLIS_IMPL_FROZENPASS_HPP

#include <access/Trellis_AccessRequest.hpp>
#include <fields/impl/Trellis_FieldState.hpp>
#include <fields/impl/Trellis_Model.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace trellis::Impl {

/// A pass that has been recorded in a plan, which runs it again and again in the same memory.
///
/// Fields without memory between passes lie in slabs, one at each place, as a MemoryLayout says. To
/// the engine a slab is an allocation like any other, and a field that lies in it an area of it.
/// So it is the engine that keeps two fields apart which share bytes, within a round and from one
/// round to the next, as it keeps tasks apart that name one View.
///
/// WHY THAT IS RIGHT. A plan runs tasks whose accesses conflict in the order of the recording, and
/// the next round of the one that is first there behind the other. The steps of a pass are recorded
/// in the model's order, in which whoever makes a field comes before all who read it; and the
/// layout lets two fields share bytes only if in that order all that touch the one come before all
/// that make the other. So between the tasks that make a field and those that read it nobody else
/// writes its bytes, whatever else runs.
///
/// Nothing here changes once it is made, so the tasks of the plan read it without a lock, on any
/// thread: each of them holds a reference, and a replay happens after the recording that made them.
/// It does not refer to the model, which may end before.
struct FrozenPass {
  struct Slot {
    void* memory = nullptr;
    bool lies_in_slab = false;
    KeptPtr kept;                       ///< its memory between passes
    std::shared_ptr<void const> bound;  ///< the View that it is bound to
  };
  std::shared_ptr<ModelSchedule const> schedule;
  std::vector<Slot> slots;
  std::vector<KeptPtr> slabs;       ///< at each place; null: nothing lies there
  std::vector<ResourceInfo> infos;  ///< of the slabs
  std::weak_ptr<Model const> model;
  std::string name;  ///< of the model

  /// Is there anything to look at before a replay?
  [[nodiscard]] bool is_watched() const;
  /// Before a replay. Throws `Error` when the pass would not do any more what one that is submitted
  /// now would: a field has other memory, or the values of a DualView are elsewhere. Else DualViews
  /// are told how they will be.
  void begin_replay() const;
};

}  // namespace trellis::Impl

#endif
