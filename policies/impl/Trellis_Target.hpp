// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_TARGET_HPP
#define TRELLIS_IMPL_TARGET_HPP

#include <Trellis_Label.hpp>
#include <kernel/Trellis_TaskHandle.hpp>

#include <source_location>
#include <type_traits>

namespace trellis {

class TaskGraph;
class TaskScope;

namespace Impl {

struct TaskSpec;

/// The two halves of what a body does that has arguments which are bound late: who knows that they
/// stay the same binds them once, and runs it as if they had been there from the beginning.
struct LateOps {
  void (*bind)(void* body, Label const& label);
  void (*run)(void* body, void* instance, Label const& label);
  bool launches_only;  ///< of `run`, as in TaskOps
  /// In each replay of a recorded pass of a model all that is bound is the same. Else it is to be
  /// bound each time.
  bool stays_in_a_pass = true;
};

/// Stands where a graph does, and keeps the tasks that are to be submitted there.
class TaskCollector {
 public:
  /// What the task was to be submitted as. `has_result`: it has a Future with a value. `late`: null
  /// if nothing is bound late.
  virtual TaskHandle collect(TaskSpec&& spec, bool has_result, LateOps const* late) = 0;
  /// That the tasks are for.
  [[nodiscard]] virtual TaskGraph& graph() const = 0;

 protected:
  ~TaskCollector() = default;
};

/// Where a task goes: to a graph, to the parts of a running task, to the graph of another task, or
/// to what collects tasks for a graph. And where in the source that was said, which is the call
/// site of a task without a label.
///
/// It does not matter whether the graph is const: with `[=]` it would be, and then the compiler is
/// to say that a graph is not copied, and nothing else.
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
