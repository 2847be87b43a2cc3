// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_NUMBERTABLE_HPP
#define TRELLIS_IMPL_NUMBERTABLE_HPP

#include <Trellis_Label.hpp>
#include <Trellis_TaskNumber.hpp>
#include <numbers/Trellis_UnspawnedRanges.hpp>
#include <task/Trellis_FunctionRef.hpp>
#include <kernel/Trellis_TaskHandle.hpp>
#include <threads/Trellis_Unlocked.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <source_location>
#include <span>
#include <string>
#include <vector>

namespace trellis::Impl {

class NumberClaim;

/// The numbers of one TaskNumbers, and the tasks that have them. Never freed but reused, so that a
/// number may be looked at for ever: `m_source` says whose numbers these are.
///
/// A number at or behind the end has never been reserved. One before that either is unspawned, or
/// has an entry, or its task is complete and forgotten. What is complete is forgotten when the
/// table has become twice as large as what had to be kept the last time.
///
/// The lock is the last of all but that of the failure log: a claim takes it when it begins and
/// when it ends, outside of all others, and the engine, which tells a claim of its task, does not.
class NumberTable {
 public:
  NumberTable() = default;
  NumberTable(NumberTable const&) = delete;
  NumberTable& operator=(NumberTable const&) = delete;

  /// For a graph. `keeps_all`: somebody wants to know all dependencies, also those on tasks that
  /// are complete.
  static std::shared_ptr<NumberTable> make(TaskHandle const& graph, std::string name,
                                           bool keeps_all);

  [[nodiscard]] TaskNumber reserve(std::uint64_t count);
  [[nodiscard]] TaskNumber at(std::uint64_t value) {
    return NumberDoor::make(this, m_source, value);
  }
  [[nodiscard]] std::uint64_t reserved();
  [[nodiscard]] std::size_t memory();

  /// Calls `found` with the task of each of these numbers, if it may still matter to who names it,
  /// which is for tasks of `graph`. Throws `Error`, which begins with what `who` says, when no task
  /// has been announced with one.
  static void resolve(std::span<TaskNumber const> numbers, TaskHandle const& graph,
                      FunctionRef<void(TaskHandle const&)> found, FunctionRef<std::string()> who);

 private:
  friend class NumberClaim;
  struct Entry {
    std::uint64_t number = 0;  ///< 0: the place is free
    TaskId id = 0;
    Task* task = nullptr;
    NumberClaim* claim = nullptr;  ///< that says which task, as long as it is there
  };
  static constexpr std::size_t fewest = 64;  ///< places

  void begin(TaskHandle const& graph, std::string name, bool keeps_all);
  void end() noexcept;
  static void claim(NumberClaim& claim, TaskHandle const& graph, Label const& task);
  static void release(NumberClaim& claim) noexcept;

  // The lock is held.
  [[nodiscard]] std::string what_is_wrong(TaskNumber const& number, TaskHandle const& graph) const;
  [[nodiscard]] Entry* find(std::uint64_t number);
  Entry& place_for(std::uint64_t number);
  void sweep();
  [[nodiscard]] static TaskId id_of(Entry const& entry);
  std::string look_up(TaskNumber const& number, TaskHandle const& graph,
                      FunctionRef<void(TaskHandle const&)> found);

  QuietLock<std::mutex> m_mutex;
  // All that follows is guarded by it.
  std::uint64_t m_source = 0;  ///< 0: nobody's
  TaskHandle m_graph;
  std::string m_name;  ///< of the graph
  bool m_keeps_all = false;
  UnspawnedRanges m_unspawned;
  std::vector<Entry> m_places;  ///< by number, the next free one; a power of two
  std::size_t m_used = 0;       ///< of these, at most half
};

}  // namespace trellis::Impl

#endif
