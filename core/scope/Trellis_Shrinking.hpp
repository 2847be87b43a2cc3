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

/// Counts which of a task's declared accesses its unfinished children need; the task keeps only
/// these. The lock of the children's scope guards it.
///
/// INVARIANT. Each child that is not complete is counted here, whether it was submitted before or
/// after the task began to shrink. Earlier children are found in `Scope::children`. A child that is
/// live under its own lock is counted, and `Scope::shrinks` has been set before that lock is taken.
/// The thread that completes a child takes that lock when the child stops being live, and reads
/// `shrinks` afterwards. So if the child was counted, that thread sees the flag, and takes the
/// child off the count. A child that was not counted is not found here. A later child is counted
/// under the lock of the scope before it can start. Each child is taken off here before it is
/// counted out of `Scope::open`, so the parent is not complete.
class Shrinking {
 public:
  /// An area that children need, and the kind of access.
  struct Need {
    AreaEntry*
        of_children;  ///< in the children's scope, where it stays while a child in flight has it
    AreaEntry* of_parent;  ///< in the parent's scope; null: not looked up yet
    Mode mode;
    StatePtr state;
    std::uint32_t children;  ///< number of children that need it
    [[nodiscard]] AccessKind kind() const { return {mode, state.get()}; }
  };

  /// Counts a child. `declared(access)` returns whether the parent has declared that access; if
  /// not, its body made the area itself.
  template <class F>
  void count(Task const& child, F&& declared) {
    Vector<Key> keys;
    child.for_each_access([&](TaskAccess const& access) {
      if (access.mode == Mode::none || !declared(access)) return;
      StatePtr const state = child.state_of(access);
      Vector<Need>& needs = m_needs[access.entry];
      Need* found = nullptr;
      for (Need& need : needs)
        if (need.mode == access.mode && need.state == state) found = &need;
      if (found == nullptr) {
        found = &needs.emplace_back(Need{access.entry, nullptr, access.mode, state, 0});
        ++m_not_placed;
      }
      ++found->children;
      keys.push_back({access.entry, access.mode, state.get()});
    });
    m_of_child.insert_or_assign(child.id, std::move(keys));
  }
  /// Called when a child is complete. Returns the needs that have ended.
  [[nodiscard]] Vector<Need> child_over(TaskId child) {
    Vector<Need> gone;
    auto const found = m_of_child.find(child);
    if (found == m_of_child.end()) return gone;
    for (Key const& key : found->second) {
      auto const needs = m_needs.find(key.entry);
      for (Need& need : needs->second)
        if (need.mode == key.mode && need.state.get() == key.state && --need.children == 0) {
          m_not_placed -= need.of_parent == nullptr;
          gone.push_back(need);
        }
      std::erase_if(needs->second, [](Need const& need) { return need.children == 0; });
      if (needs->second.empty()) m_needs.erase(needs);
    }
    m_of_child.erase(found);
    return gone;
  }
  /// True if the parent has an access for exactly each need. If not, it has some that cover the
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
