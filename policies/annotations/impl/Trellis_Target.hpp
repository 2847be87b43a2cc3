// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TARGET_HPP
#define TRELLIS_IMPL_TARGET_HPP

#include <Trellis_Label.hpp>
#include <impl/Trellis_TaskHandle.hpp>

#include <source_location>
#include <type_traits>

namespace trellis {

class TaskGraph;
class TaskScope;

namespace Impl {

struct TaskSpec;

/// The two halves of a body whose arguments are bound late. A caller that knows that the arguments
/// stay the same binds them once, and then runs the body as if they had always been there.
struct LateOps {
  void (*bind)(void* body, Label const& label);
  void (*run)(void* body, void* instance, Label const& label);
  bool launches_only;  ///< about `run`, as in TaskOps
  /// All that is bound is the same in each replay of a recorded iteration of a model. If not, it
  /// must be bound each time.
  bool stays_in_an_iteration = true;
};

/// Takes the place of a graph, and keeps the tasks that are to be submitted there.
class TaskCollector {
 public:
  /// Keeps a task. `has_result` says whether it has a Future with a value. `late` is null if
  /// nothing is bound late.
  virtual TaskHandle collect(TaskSpec&& spec, bool has_result, LateOps const* late) = 0;
  /// Returns the graph that the tasks are for.
  [[nodiscard]] virtual TaskGraph& graph() const = 0;

 protected:
  ~TaskCollector() = default;
};

/// Says where a task goes: to a graph, to the children of a running task, to the graph of another
/// task, or to a TaskCollector. It also has the source location, which is the call site of a task
/// without a label.
///
/// The graph may be const. It is const in a lambda with `[=]`, and then the only error of the
/// compiler must be that a graph cannot be copied.
class Target {
 public:
  template <class T>
    requires(std::is_same_v<T, TaskGraph const> || std::is_same_v<T, TaskScope const>)
  Target(T& target, std::source_location site = std::source_location::current())
      : Target(const_cast<std::remove_const_t<T>&>(target), site) {}
  Target(TaskGraph& graph, std::source_location site = std::source_location::current())
      : m_graph(&graph), m_site(site) {}
  Target(TaskScope& scope, std::source_location site = std::source_location::current())
      : m_scope(&scope), m_site(site) {}
  Target(TaskCollector& collector, std::source_location site = std::source_location::current())
      : m_graph(&collector.graph()), m_collector(&collector), m_site(site) {}
  explicit Target(TaskHandle const& other) : m_other(other) {}
  [[nodiscard]] TaskGraph* graph() const { return m_graph; }              ///< or null
  [[nodiscard]] TaskScope* scope() const { return m_scope; }              ///< or null
  [[nodiscard]] TaskCollector* collector() const { return m_collector; }  ///< or null
  [[nodiscard]] TaskHandle const& other() const { return m_other; }       ///< if both are null
  [[nodiscard]] std::source_location const& site() const { return m_site; }

 private:
  TaskGraph* m_graph = nullptr;
  TaskScope* m_scope = nullptr;
  TaskCollector* m_collector = nullptr;
  TaskHandle m_other;
  std::source_location m_site;
};

}  // namespace Impl
}  // namespace trellis

#endif
