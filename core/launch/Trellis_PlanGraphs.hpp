// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PLANGRAPHS_HPP
#define TRELLIS_IMPL_PLANGRAPHS_HPP

#include <Trellis_Label.hpp>
#include <kernel/Trellis_Kernel.hpp>
#include <impl/Trellis_FailurePtr.hpp>
#include <impl/Trellis_TaskHandle.hpp>
#include <task/Trellis_TaskOps.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace trellis::Impl {

class AsyncStreams;
class Destructors;
class RecordedGraph;
struct PlanGraph;
class Plans;
struct PlanState;

/// Runs plans, pieces of plans, and iterations of loops as graphs of a device: captures their
/// tasks, and launches the graphs, which belong to the plans.
class PlanGraphs {
 public:
  PlanGraphs(Kernel& kernel, Destructors& destructors, Plans& plans, AsyncStreams& streams)
      : m_kernel(kernel),
        m_destructors(destructors),
        m_plans(plans),
        m_submission(kernel.lock()),
        m_slab(kernel.slab()),
        m_failures(kernel.failures()),
        m_streams(streams),
        m_workers(kernel.workers()) {}
  PlanGraphs(PlanGraphs const&) = delete;
  PlanGraphs& operator=(PlanGraphs const&) = delete;

  // Plans.
  void capture(PlanState& plan);
  TaskHandle replay_graph(Label const& label, std::shared_ptr<PlanState> const& plan,
                          std::uint64_t rounds);
  /// of a plan whose tasks leave results for the host
  static TaskOps const graph_ops_with_results;

  // Iterations of `iterate`.
  void choose_graph(RecordedGraph& plan, std::vector<Task*> const& tasks) const;
  static TaskOps const iteration_graph_ops;

 private:
  [[nodiscard]] static bool prepare(RecordedGraph& recorded, std::vector<Task*> const& tasks);
  bool capture_or_drop(PlanGraph& graph, std::vector<Task*> const& tasks);
  bool try_to_capture(PlanGraph& graph, std::size_t rounds, std::vector<Task*> const& tasks);
  void launch_rounds(PlanGraph& graph, std::vector<Task*> const& tasks, std::uint64_t rounds,
                     void* instance);
  bool capture_graph(PlanGraph& graph, std::size_t rounds, std::vector<Task*> const& tasks);
  void make_pieces(PlanState& plan);
  void finish_all(std::vector<Task*> const& tasks);
  static void run_graph(void* body, void* instance, Label const& label);
  static TaskOps const graph_ops;
  static void finish_graph(void* body);
  static void fail_graph(void* body, TaskId id, std::string const& text,
                         FailurePtr const& failure) noexcept;
  static void destroy_graph(void* body) noexcept;

  static void run_iteration_graph(void* body, void* instance, Label const& label);
  static void finish_iteration_graph(void* body);
  static void fail_iteration_graph(void* body, TaskId id, std::string const& text,
                                   FailurePtr const& failure) noexcept;
  static void destroy_iteration_graph(void* body) noexcept;
  void end_children(std::vector<Task*> const& children);

  Kernel& m_kernel;
  Destructors& m_destructors;
  Plans& m_plans;
  SubmissionLock& m_submission;
  TaskSlab& m_slab;
  FailureLog& m_failures;
  AsyncStreams& m_streams;
  Workers& m_workers;
};

}  // namespace trellis::Impl

#endif
