// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_HELDRESOURCES_HPP
#define TRELLIS_IMPL_HELDRESOURCES_HPP

#include <Trellis_Access.hpp>
#include <task/Trellis_FoundEntries.hpp>
#include <task/Trellis_Task.hpp>
#include <task/Trellis_TaskSpec.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace trellis::Impl {

/// The allocations that a plan has been recorded with.
///
/// A plan works on the Views that its functors captured. If the program has reallocated or dropped
/// its own Views, it never sees what the plan does, which must be a mistake. So the plan counts how
/// many of the references to an allocation are its own. Several plans over one View must not take
/// each other's references for the program's, so the references of all plans of all graphs are
/// added up.
class HeldResources {
 public:
  HeldResources() = default;
  HeldResources(HeldResources const&) = delete;
  HeldResources& operator=(HeldResources const&) = delete;
  ~HeldResources() { release(); }

  /// Counts the references in the body of a task that is recorded. It is the plan's `number`th,
  /// counted from 1.
  void count(Task const& task, std::uint32_t number, TaskSpec const& spec,
             FoundEntries const& found);
  /// Called when all tasks are recorded. From now on other plans know the references.
  void recorded();
  /// Returns the label of an allocation that the program held then, and holds no longer; or null.
  [[nodiscard]] std::string const* find_lost() const;
  /// Called before the first reference of the plan is gone. So a plan over the same View that looks
  /// meanwhile finds more references than plans have, never fewer.
  void forget() noexcept;
  /// Called without a lock, as it may free Views.
  void release() noexcept {
    forget();
    m_resources.clear();
  }

 private:
  struct Held {
    std::string label;
    std::unique_ptr<ResourceHold> hold;
    long held = 1;                  ///< the plan's references, with `hold`; at most the real number
    bool held_outside = false;      ///< the program held it when the plan had been recorded
    bool is_known = false;          ///< to other plans
    std::uint32_t counted_for = 0;  ///< number of the task whose references were counted last
  };
  [[nodiscard]] static bool is_held_outside(Held const& resource);

  std::map<std::uintptr_t, Held> m_resources;  ///< by the begin of the allocation
};

}  // namespace trellis::Impl

#endif
