// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_PROGRESS_HPP
#define TRELLIS_PROGRESS_HPP

#include <kernel/Trellis_TaskHandle.hpp>

#include <memory>
#include <utility>

namespace trellis {

namespace Impl {
class ProgressSource;
struct GraphDoor;
}  // namespace Impl

/// Who calls a progress function.
enum class ProgressThread { any, main };

/// A function that a graph calls now and then, see `TaskGraph::add_progress`. Dropping this object
/// takes it out: the function is not called any more once the destructor has returned, which waits
/// for a call under way unless it is in that call.
class Progress {
 public:
  Progress() = default;
  Progress(Progress&& other) noexcept = default;
  Progress& operator=(Progress&& other) noexcept {
    Progress taken(std::move(other));
    std::swap(m_source, taken.m_source);
    std::swap(m_graph, taken.m_graph);
    return *this;
  }
  ~Progress();

  [[nodiscard]] bool valid() const { return m_source != nullptr; }
  /// There is something to ask for: the graph calls the function from now on, until it returns
  /// false. From any thread, at any time; cheap when the graph does so already.
  void ask();

 private:
  friend struct Impl::GraphDoor;
  Progress(std::shared_ptr<Impl::ProgressSource> source, Impl::TaskHandle const& graph)
      : m_source(std::move(source)), m_graph(graph) {}
  std::shared_ptr<Impl::ProgressSource> m_source;
  Impl::TaskHandle m_graph;  ///< names no task
};

}  // namespace trellis

#endif
