// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_STATISTICS_HPP
#define TRELLIS_IMPL_STATISTICS_HPP

#include <Trellis_Graph.hpp>
#include <Trellis_Statistics.hpp>
#include <Trellis_TaskId.hpp>
#include <task/Trellis_FunctionRef.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace trellis::Impl {

/// The counters of a graph over time, where somebody asks for them; else each call is one test.
///
/// A thread of its own takes a sample every few milliseconds, which is a row of the file. What has
/// been spawned, and the batches, are counted since the last sample. Sections change seldom, and in
/// between nothing is to be missed. So there is a row of its own where one starts, where its parts
/// do, and where it ends, with the parts that are in flight; its other columns are empty.
class Statistics {
 public:
  /// `file`: null: nobody asks. Empty: there are counters, but no file. Throws `Error` when it
  /// cannot be written. `graph`: its name.
  Statistics(std::string const* file, std::string const& graph);
  Statistics(Statistics const&) = delete;
  Statistics& operator=(Statistics const&) = delete;
  /// Writes the last sample, and the picture. No task is in flight any more.
  ~Statistics();

  [[nodiscard]] bool are_on() const { return m_state != nullptr; }
  /// A task has come into this state. `is_section_part`: is it a part of a section? It is asked of
  /// a task that is new, and its section is there.
  void changed(TaskId task, TaskState state, FunctionRef<bool()> is_section_part) {
    if (m_state != nullptr) note_state(task, state, is_section_part);
  }
  /// A task has been spawned that may be fused.
  void fusable() {
    if (m_state != nullptr) note_fusable();
  }
  /// So many more tasks are held back.
  void held(std::int64_t by) {
    if (m_state != nullptr) note_held(by);
  }
  /// So many tasks have been put together.
  void batch(std::size_t tasks) {
    if (m_state != nullptr) note_batch(tasks);
  }
  /// A section starts (1) or ends (-1), or its parts start (0).
  void section(int by) {
    if (m_state != nullptr) note_section(by);
  }
  /// Requires `are_on`.
  [[nodiscard]] GraphStatistics now() const;

  /// From now on graphs of this process write to files with this rank in their names.
  static void set_rank(int rank);

 private:
  struct State;
  void note_state(TaskId task, TaskState state, FunctionRef<bool()> is_section_part);
  void note_fusable();
  void note_held(std::int64_t by);
  void note_batch(std::size_t tasks);
  void note_section(int by);

  std::unique_ptr<State> m_state;  ///< null: nobody asks
};

}  // namespace trellis::Impl

#endif
