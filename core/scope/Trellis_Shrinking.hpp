// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SHRINKING_HPP
#define TRELLIS_IMPL_SHRINKING_HPP

#include <task/Trellis_AccessRequest.hpp>
#include <task/Trellis_AnyState.hpp>
#include <task/Trellis_Task.hpp>
#include <base/Trellis_Reserve.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace trellis::Impl {

/// Counts which of a task's declared accesses its unfinished parts need; the task keeps only these.
/// The lock of the parts' scope guards it.
///
/// INVARIANT. Each part that is not complete is counted here, whether it was submitted before or
/// after the task began to shrink. Earlier parts are found in `Scope::parts`. A part that is live
/// under its own lock is counted, and `Scope::shrinks` has been set before that lock is taken. The
/// thread that completes a part takes that lock when the part stops being live, and reads `shrinks`
/// afterwards. So if the part was counted, that thread sees the flag, and takes the part off the
/// count. A part that was not counted is not found here. A later part is counted under the lock of
/// the scope before it can start. Each part is taken off here before it is counted out of
/// `Scope::open`, so the owner is not complete.
class Shrinking {
 public:
  /// An area that parts need, and the kind of access.
  struct Need {
    AreaEntry* of_parts;  ///< in the parts' scope, where it stays while a part in flight has it
    AreaEntry* of_parent;  ///< in the owner's scope; null: not looked up yet
    Mode mode;
    StatePtr state;
    std::uint32_t parts;  ///< number of parts that need it
    [[nodiscard]] AccessKind kind() const { return {mode, state.get()}; }
  };

  /// Counts a part. `declared(access)` returns whether the owner has declared that access; if not,
  /// its body made the area itself.
  template <class F>
  void count(Task const& part, F&& declared) {
    Vector<Key> keys;
    part.for_each_access([&](TaskAccess const& access) {
      if (access.mode == Mode::none || !declared(access)) return;
      StatePtr const state = part.state_of(access);
      Vector<Need>& needs = m_needs[access.entry];
      Need* found = nullptr;
      for (Need& need : needs)
        if (need.mode == access.mode && need.state == state) found = &need;
      if (found == nullptr) {
        found = &needs.emplace_back(Need{access.entry, nullptr, access.mode, state, 0});
        ++m_not_placed;
      }
      ++found->parts;
      keys.push_back({access.entry, access.mode, state.get()});
    });
    m_of_child.insert_or_assign(part.id, std::move(keys));
  }
  /// Called when a part is complete. Returns the needs that have ended.
  [[nodiscard]] Vector<Need> child_over(TaskId part) {
    Vector<Need> gone;
    auto const found = m_of_child.find(part);
    if (found == m_of_child.end()) return gone;
    for (Key const& key : found->second) {
      auto const needs = m_needs.find(key.entry);
      for (Need& need : needs->second)
        if (need.mode == key.mode && need.state.get() == key.state && --need.parts == 0) {
          m_not_placed -= need.of_parent == nullptr;
          gone.push_back(need);
        }
      std::erase_if(needs->second, [](Need const& need) { return need.parts == 0; });
      if (needs->second.empty()) m_needs.erase(needs);
    }
    m_of_child.erase(found);
    return gone;
  }
  /// True if the owner has an access for exactly each need. If not, it has some that cover the
  /// needs.
  [[nodiscard]] bool are_placed() const { return m_not_placed == 0; }
  void place(Need& need, AreaEntry& of_parent) {
    m_not_placed -= need.of_parent == nullptr;
    need.of_parent = &of_parent;
  }
  template <class F>
  void for_each_need(F&& f) {
    for (auto& [entry, needs] : m_needs)
      for (Need& need : needs) f(need);
  }

 private:
  struct Key {
    AreaEntry* entry;
    Mode mode;
    AnyState const* state;
  };
  HashMap<AreaEntry*, Vector<Need>> m_needs;
  HashMap<TaskId, Vector<Key>> m_of_child;
  std::size_t m_not_placed = 0;  ///< number of needs
};

}  // namespace trellis::Impl

#endif
