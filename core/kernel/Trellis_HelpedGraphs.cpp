// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kernel/Trellis_HelpedGraphs.hpp>
#include <task/Trellis_GraphControl.hpp>
#include <kernel/Trellis_Kernel.hpp>

#include <atomic>
#include <mutex>
#include <vector>

namespace trellis::Impl {
namespace {

struct Noted {
  std::mutex mutex;
  std::vector<TaskHandle> graphs;  ///< guarded by mutex
  /// The number of graphs. It is relaxed: a thread that is about to sleep reads it again before
  /// each sleep, and a graph is noted before any thread polls its first function.
  std::atomic<std::size_t> count{0};
  std::atomic<bool> main_naps{false};  ///< relaxed, as it is set before there is such a graph
};
Noted& noted() {
  static Noted* const made = new Noted;  // graphs may end after all destructors
  return *made;
}

void forget_ended(Noted& all) {
  std::erase_if(all.graphs, [](TaskHandle const& each) { return !each.pin(); });
  all.count.store(all.graphs.size(), std::memory_order_relaxed);
}

}  // namespace

void HelpedGraphs::note(TaskHandle const& graph) {
  Noted& all = noted();
  std::lock_guard const lock(all.mutex);
  for (TaskHandle const& each : all.graphs)
    if (each.control == graph.control && each.generation == graph.generation) return;
  forget_ended(all);
  all.graphs.push_back({graph.control, graph.generation});
  all.count.store(all.graphs.size(), std::memory_order_relaxed);
}

void HelpedGraphs::main_naps() {
  noted().main_naps.store(true, std::memory_order_relaxed);
}

bool HelpedGraphs::may_come(Kernel& kernel) {
  Noted& all = noted();
  return all.count.load(std::memory_order_relaxed) > 0 ||
         (all.main_naps.load(std::memory_order_relaxed) && kernel.is_on_main());
}

bool HelpedGraphs::any_but(Kernel& kernel) {
  Noted& all = noted();
  if (all.main_naps.load(std::memory_order_relaxed) && kernel.is_on_main()) return true;
  if (all.count.load(std::memory_order_relaxed) == 0) return false;
  std::lock_guard const lock(all.mutex);
  forget_ended(all);
  for (TaskHandle const& each : all.graphs) {
    EnginePin const other = each.pin();
    if (other && &other.kernel() != &kernel && other.kernel().may_be_helped_here()) return true;
  }
  return false;
}

bool HelpedGraphs::help_all_but(Kernel const& kernel) {
  Noted& all = noted();
  if (all.count.load(std::memory_order_relaxed) == 0) return false;
  std::vector<TaskHandle> graphs;
  {
    std::lock_guard const lock(all.mutex);
    graphs = all.graphs;
  }
  bool any = false;
  for (TaskHandle const& each : graphs) {
    EnginePin const other = each.pin();
    if (!other || &other.kernel() == &kernel) continue;
    std::uint64_t const before = other.kernel().completed();
    other.kernel().help();
    any = any || other.kernel().completed() != before;
  }
  return any;
}

}  // namespace trellis::Impl
