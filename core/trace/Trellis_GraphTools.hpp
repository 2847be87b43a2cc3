// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_GRAPHTOOLS_HPP
#define TRELLIS_IMPL_GRAPHTOOLS_HPP

#include <Trellis_Observer.hpp>
#include <trace/Trellis_Warnings.hpp>

#include <memory>
#include <string>

namespace trellis {
struct TaskGraphOptions;
}

namespace trellis::Impl {

class Engine;
class TaskCounters;
class StatisticsFile;

/// What a graph asks of Trellis::tools, a library that a program may link or leave out. Nothing
/// else in the engine knows tools.
struct GraphTools {
  /// Called when a graph that records is made. Throws `Error` when what the environment asks for at
  /// its end cannot be written.
  void (*check_end)(std::string const& graph);
  /// Writes what the environment asks for, for a closed graph.
  void (*write_end)(Engine& engine) noexcept;
  /// Makes the observer of `TaskGraphOptions::log`.
  TaskObserver (*make_log)(std::string const& destination, std::string const& graph);
  std::unique_ptr<StatisticsFile> (*make_statistics_file)(std::string const& file,
                                                          std::string const& graph,
                                                          TaskCounters const& counters);
  std::unique_ptr<Warnings> (*make_warnings)(TaskGraphOptions const& options);
};

/// Null: the program does not link Trellis::tools.
[[nodiscard]] GraphTools const* graph_tools();
/// Called once, by Trellis::tools, when the program or the shared library is loaded. The tools
/// stay.
void set_graph_tools(GraphTools const& tools);

}  // namespace trellis::Impl

#endif
