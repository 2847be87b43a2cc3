// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_SHRINKING_HPP
#define TRELLIS_IMPL_SHRINKING_HPP

#include <task/Trellis_AccessRequest.hpp>
#include <task/Trellis_AnyState.hpp>
#include <task/Trellis_Task.hpp>
#include <base/Trellis_Reserve.hpp>

#include <cstdint>
#include <tuple>
#include <utility>

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
    StatePtr state;
    /// In the parent's scope, once the parent has an access for exactly this; else null.
    AreaEntry const* of_parent = nullptr;
    std::uint32_t children = 0;  ///< number of children that need it
  };
  /// The area is in the children's scope, where it stays while a child in flight has it.
  using Key = std::tuple<AreaEntry const*, Mode, AnyState const*>;
  using Needs = Map<Key, Need>;

  /// Counts a child. `declared(access)` returns whether the parent has declared that access; if
  /// not, its body made the area itself.
  template <class F>
  void count(Task const& child, F&& declared) {
    Vector<Needs::iterator> of_child;
    child.for_each_access([&](TaskAccess const& access) {
      if (access.mode == Mode::none || !declared(access)) return;
      StatePtr state = child.state_of(access);
      auto const [need, is_new] = m_needs.try_emplace({access.entry, access.mode, state.get()});
      if (is_new) {
        need->second.state = std::move(state);
        are_placed = false;
      }
      ++need->second.children;
      of_child.push_back(need);
    });
    m_of_child.insert_or_assign(child.id, std::move(of_child));
  }
  /// Called when a child is complete. Returns the needs that have ended.
  [[nodiscard]] Needs child_over(TaskId child) {
    Needs gone;
    auto const found = m_of_child.find(child);
    if (found == m_of_child.end()) return gone;
    for (Needs::iterator const need : found->second)
      if (--need->second.children == 0) gone.insert(m_needs.extract(need));
    m_of_child.erase(found);
    return gone;
  }
  [[nodiscard]] Needs& needs() { return m_needs; }

  /// The parent has an access for exactly each need that it has not given up since. If not, it has
  /// some that cover these needs.
  bool are_placed = false;

 private:
  Needs m_needs;
  HashMap<TaskId, Vector<Needs::iterator>> m_of_child;
};

}  // namespace trellis::Impl

#endif
