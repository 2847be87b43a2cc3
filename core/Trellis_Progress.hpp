// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_PROGRESS_HPP
#define TRELLIS_PROGRESS_HPP

#include <impl/Trellis_TaskHandle.hpp>

#include <memory>
#include <utility>

namespace trellis {

namespace Impl {
class ProgressSource;
struct GraphInternals;
}  // namespace Impl

/// Which threads call a progress function.
enum class ProgressThread { any, main };

/// A function that a graph calls now and then, see `TaskGraph::add_progress`. Dropping this object
/// removes the function. The destructor waits for a call under way, unless it is in that call;
/// afterwards the function is not called any more.
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
  /// Makes the graph call the function from now on, until it returns false. Any thread may call
  /// this at any time; it is cheap when the graph already calls the function.
  void ask();

 private:
  friend struct Impl::GraphInternals;
  Progress(std::shared_ptr<Impl::ProgressSource> source, Impl::TaskHandle const& graph)
      : m_source(std::move(source)), m_graph(graph) {}
  std::shared_ptr<Impl::ProgressSource> m_source;
  Impl::TaskHandle m_graph;  ///< names no task
};

}  // namespace trellis

#endif
