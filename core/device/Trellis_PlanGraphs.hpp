// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PLANGRAPHS_HPP
#define TRELLIS_IMPL_PLANGRAPHS_HPP

#include <Trellis_Label.hpp>
#include <task/Trellis_FailurePtr.hpp>
#include <task/Trellis_TaskHandle.hpp>
#include <task/Trellis_TaskOps.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace trellis::Impl {

class AsyncStreams;
class Engine;
class FailureLog;
class PassPlan;
struct PlanGraph;
struct PlanState;
class SubmissionLock;
class TaskSlab;
class Workers;

/// Plans, pieces of plans, and passes of loops as graphs of a device: captures their tasks, and
/// launches what has been captured. The graphs belong to the plans.
class PlanGraphs {
 public:
  PlanGraphs(Engine& engine, SubmissionLock& submission, TaskSlab& slab, FailureLog& failures,
             AsyncStreams& streams, Workers& workers)
      : m_engine(engine),
        m_submission(submission),
        m_slab(slab),
        m_failures(failures),
        m_streams(streams),
        m_workers(workers) {}
  PlanGraphs(PlanGraphs const&) = delete;
  PlanGraphs& operator=(PlanGraphs const&) = delete;

  // Plans.
  void capture(PlanState& plan);
  TaskHandle submit_graph(Label const& label, std::shared_ptr<PlanState> const& plan,
                          std::uint64_t rounds);
  /// of a plan whose tasks leave something for the host
  static TaskOps const graph_ops_with_results;

  // Passes of `iterate`.
  void choose_graph(PassPlan& plan, std::vector<Task*> const& tasks) const;
  static TaskOps const pass_graph_ops;

 private:
  bool capture_or_drop(PlanGraph& graph, std::vector<Task*> const& tasks);
  bool capture_graph(PlanGraph& graph, std::size_t rounds, std::vector<Task*> const& tasks);
  void make_pieces(PlanState& plan);
  void finish_all(std::vector<Task*> const& tasks);
  void fail_all(std::vector<Task*> const& tasks, FailurePtr const& failure, bool cancelled);
  static void run_graph(void* body, void* instance, Label const& label);
  static TaskOps const graph_ops;
  static void finish_graph(void* body);
  static void fail_graph(void* body, TaskId id, std::string const& text,
                         FailurePtr const& failure) noexcept;
  static void destroy_graph(void* body) noexcept;
  static void run_piece(void* body, void* instance, Label const& label);
  static void finish_piece(void* body);

  static void run_pass_graph(void* body, void* instance, Label const& label);
  static void finish_pass_graph(void* body);
  static void fail_pass_graph(void* body, TaskId id, std::string const& text,
                              FailurePtr const& failure) noexcept;
  static void destroy_pass_graph(void* body) noexcept;
  void end_parts(std::vector<Task*> const& parts);

  Engine& m_engine;
  SubmissionLock& m_submission;
  TaskSlab& m_slab;
  FailureLog& m_failures;
  AsyncStreams& m_streams;
  Workers& m_workers;
};

}  // namespace trellis::Impl

#endif
