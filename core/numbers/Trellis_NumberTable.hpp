// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_NUMBERTABLE_HPP
#define TRELLIS_IMPL_NUMBERTABLE_HPP

#include <Trellis_Label.hpp>
#include <Trellis_TaskNumber.hpp>
#include <numbers/Trellis_UnspawnedRanges.hpp>
#include <base/Trellis_FunctionRef.hpp>
#include <impl/Trellis_TaskHandle.hpp>
#include <locks/Trellis_Unlocked.hpp>

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

/// The numbers of one TaskNumbers, and the tasks that have them. It is never freed but reused, so
/// that a number may be read for ever: `m_source` identifies the TaskNumbers.
///
/// A number at or behind the end has never been reserved. A number before that is unspawned, or has
/// an entry, or its task is complete and forgotten. Completed tasks are forgotten when the table
/// has become twice as large as what had to be kept the last time.
///
/// The lock is the last of all except that of the failure log. A claim takes it when it begins and
/// when it ends, outside of all others. The engine, which binds a claim to its task, does not take
/// it.
class NumberTable {
 public:
  NumberTable() = default;
  NumberTable(NumberTable const&) = delete;
  NumberTable& operator=(NumberTable const&) = delete;

  /// Makes a table for a graph. `keeps_all`: the graph needs all dependencies, also on completed
  /// tasks.
  static std::shared_ptr<NumberTable> make(TaskHandle const& graph, std::string name,
                                           bool keeps_all);

  [[nodiscard]] TaskNumber reserve(std::uint64_t count);
  [[nodiscard]] TaskNumber at(std::uint64_t value) {
    return NumberInternals::make(this, m_source, value);
  }
  [[nodiscard]] std::uint64_t reserved();
  [[nodiscard]] std::size_t memory();

  /// Calls `found` with the task of each of these numbers, if it may still matter to a task of
  /// `graph` that names it. Throws `Error` when no task has been announced with a number. The text
  /// begins with the result of `who`.
  static void resolve(std::span<TaskNumber const> numbers, TaskHandle const& graph,
                      FunctionRef<void(TaskHandle const&)> found, FunctionRef<std::string()> who);

 private:
  friend class NumberClaim;
  struct Entry {
    std::uint64_t number = 0;  ///< 0: the place is free
    TaskId id = 0;
    Task* task = nullptr;
    NumberClaim* claim = nullptr;  ///< identifies the task as long as it exists
  };
  static constexpr std::size_t fewest = 64;  ///< places

  void end() noexcept;
  static void claim(NumberClaim& claim, TaskHandle const& graph, Label const& task);
  static void release(NumberClaim& claim) noexcept;

  // The caller holds the lock.
  [[nodiscard]] std::string what_is_wrong(TaskNumber const& number, TaskHandle const& graph) const;
  [[nodiscard]] Entry& place_of(std::uint64_t number);
  [[nodiscard]] Entry* find(std::uint64_t number);
  Entry& place_for(std::uint64_t number);
  void sweep();
  [[nodiscard]] static TaskId id_of(Entry const& entry);
  std::string look_up(TaskNumber const& number, TaskHandle const& graph,
                      FunctionRef<void(TaskHandle const&)> found);

  DeferringLock<std::mutex> m_mutex;
  // It guards everything below.
  std::uint64_t m_source = 0;  ///< 0: of no TaskNumbers
  TaskHandle m_graph;
  std::string m_name;  ///< of the graph
  bool m_keeps_all = false;
  UnspawnedRanges m_unspawned;
  std::vector<Entry> m_places;  ///< by number, the next free one; a power of two
  std::size_t m_used = 0;       ///< of these, at most half
};

}  // namespace trellis::Impl

#endif
