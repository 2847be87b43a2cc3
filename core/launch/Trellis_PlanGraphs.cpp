// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <launch/Trellis_PlanGraphs.hpp>
#include <device/Trellis_AsyncStreams.hpp>
#include <destruction/Trellis_Destructors.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <recorded/Trellis_PlanState.hpp>
#include <recorded/Trellis_Plans.hpp>
#include <recorded/Trellis_RecordedGraph.hpp>
#include <scope/Trellis_TaskText.hpp>

#include <algorithm>
#include <numeric>

/// Plans, or pieces of plans, as graphs of a device.
///
/// A task can be in a graph when its body only launches work on one device. A plan that consists of
/// such tasks is one graph, and a replay is a task on the device that launches it. In another plan
/// such tasks are combined into pieces; each piece is one task of the plan in their place.
///
/// PIECES. Consider the paths to a task within a round, and on each the changes from a task outside
/// of graphs to one inside. The level of a task is the largest number of such changes. A piece is a
/// connected set of tasks of one level. On a path between two tasks of a piece there is no other
/// task. Such a task would be of the same level and connected to them; or it would be outside, and
/// then the level behind it would be higher. So replacing a piece by one task makes no cycle. The
/// edges between rounds make none either. They lead from u to v where a path within the round leads
/// from v to u (see PlanState). Either that path has an image, or both are in one piece. That piece
/// then depends on its own previous run, as a run of any task does.
namespace trellis::Impl {

namespace {

/// Returns the order of the tasks at these places, which ascend.
CaptureOrder order_of(RecordedEdges const& edges, std::vector<std::uint32_t> const& places) {
  using Kind = RecordedEdge::Kind;
  CaptureOrder order;
  order.nodes.resize(places.size());
  for (std::size_t k = 0; k < places.size(); ++k) {
    order.nodes[k].after_previous.push_back(k);
    for (RecordedEdge const& edge : edges.from(places[k])) {
      bool const is_own = edge.kind == Kind::own_round;
      auto const found = std::lower_bound(places.begin(), places.end(), edge.to);
      if (found == places.end() || *found != edge.to || edge.to == edge.from) continue;
      CaptureOrder::Node& next = order.nodes[static_cast<std::size_t>(found - places.begin())];
      (is_own ? next.after : next.after_previous).push_back(k);
    }
  }
  return order;
}

/// True if the task can be in a graph of its device.
bool can_be_captured(Task const& task) {
  return task.runs_on_device() && task.ops->launches_only && !task.exclusive &&
         !task.marks.main_thread && task.on_device->wanted_stream < 0;
}

}  // namespace

/// Sets up the graph of tasks that can all be in one of a device, without capturing it. False if
/// they cannot.
bool PlanGraphs::prepare(RecordedGraph& recorded, std::vector<Task*> const& tasks) {
  DeviceAdapter* const device = tasks.front()->device();
  bool const all = std::all_of(tasks.begin(), tasks.end(), [&](Task const* task) {
    return can_be_captured(*task) && task->device() == device;
  });
  if (!all) return false;
  recorded.graph.device = device;
  std::vector<std::uint32_t> places(recorded.size());
  std::iota(places.begin(), places.end(), std::uint32_t{0});
  recorded.graph.order = order_of(recorded.edges(), places);
  return true;
}

/// Makes graphs of the plan, or of pieces of it, where possible. With a record or an observer of
/// single tasks these run one by one.
void PlanGraphs::capture(PlanState& plan) {
  if (plan.tasks.empty() || m_kernel.numbers_runs()) return;
  if (std::none_of(plan.tasks.begin(), plan.tasks.end(),
                   [](Task const* task) { return can_be_captured(*task); }))
    return;
  auto const streams = m_streams.lock();
  PlanGraph& graph = plan.recorded->graph;
  if (!prepare(*plan.recorded, plan.tasks)) return make_pieces(plan);
  if (!capture_or_drop(graph, plan.tasks) || !plan.rounds_overlap) return;
  std::size_t const rounds =
      std::min(PlanGraph::most_rounds, PlanGraph::most_nodes / plan.tasks.size());
  if (rounds > 1) graph.rounds = rounds;
}

bool PlanGraphs::capture_or_drop(PlanGraph& graph, std::vector<Task*> const& tasks) {
  bool const captured = try_to_capture(graph, 1, tasks);
  if (!captured) graph.release();
  return captured;
}

/// Makes two attempts: in the first one an instance may have to get memory for the kernels. The
/// caller holds the lock of the streams.
bool PlanGraphs::try_to_capture(PlanGraph& graph, std::size_t rounds,
                                std::vector<Task*> const& tasks) {
  for (int attempt = 0; attempt < 2; ++attempt) try {
      return capture_graph(graph, rounds, tasks);
    } catch (...) {  // not everything can be captured
    }
  return false;
}

bool PlanGraphs::capture_graph(PlanGraph& graph, std::size_t rounds,
                               std::vector<Task*> const& tasks) {
  CapturedGraph& captured = rounds == 1 ? graph.one : graph.several;
  TaskGraphOptions const& options = m_kernel.options();
  return captured.capture(
      *graph.device, graph.order, rounds,
      PlanGraph::branches_per_stream * static_cast<std::size_t>(*options.streams),
      *options.threads_per_worker, [&](std::size_t place, void* instance) {
        Task& task = *tasks[place];
        Frame const frame(m_kernel, Workers::no_slot(), task, Frame::What::launches);
        task.ops->run(task.body, instance, task.label);
      });
}

/// Launches graphs, or their tasks one after the other when these cannot be captured any more.
void PlanGraphs::launch_rounds(PlanGraph& graph, std::vector<Task*> const& tasks,
                               std::uint64_t rounds, void* instance) {
  auto const is_there = [&](CapturedGraph const& captured, std::size_t count) {
    return captured.handle != nullptr || try_to_capture(graph, count, tasks);
  };
  if (graph.rounds > 0 && rounds >= graph.rounds) {
    graph.asked_for_several += rounds;
    if (graph.asked_for_several >= PlanGraph::rounds_before) {
      if (is_there(graph.several, graph.rounds))
        for (; rounds >= graph.rounds; rounds -= graph.rounds)
          graph.device->launch_graph(instance, graph.several.handle);
      else
        graph.rounds = 0;
    }
  }
  if (rounds == 0) return;
  bool const can_be_launched = is_there(graph.one, 1);
  for (; rounds > 0; --rounds)
    if (can_be_launched)
      graph.device->launch_graph(instance, graph.one.handle);
    else
      for (Task* task : tasks) task->ops->run(task->body, instance, task->label);
}

/// Calls `finish` for all tasks that have one. Throws the first error.
void PlanGraphs::finish_all(std::vector<Task*> const& tasks) {
  FailurePtr failure;
  for (Task* task : tasks)
    if (task->ops->finish != nullptr) try {
        task->ops->finish(task->body);
      } catch (...) {
        FailurePtr const own = m_kernel.current_failure(*task);
        Plans::note_failed(*task, own->origin_text, own, false);
        if (failure == nullptr) failure = own;
      }
  if (failure != nullptr)
    throw Error(Error::Kind::task_failed, failure->origin_text + " failed: " + failure->what,
                failure->cause);
}

// --- whole plans ---------------------------------------------------------------------------------

TaskOps const PlanGraphs::graph_ops{
    .pattern = "replay", .run = &run_graph, .destroy = &destroy_graph, .fail = &fail_graph};

TaskOps const PlanGraphs::graph_ops_with_results{.pattern = "replay",
                                                 .run = &run_graph,
                                                 .destroy = &destroy_graph,
                                                 .fail = &fail_graph,
                                                 .finish = &finish_graph,
                                                 .shares_results = true};

TaskHandle PlanGraphs::replay_graph(Label const& label, std::shared_ptr<PlanState> const& plan,
                                    std::uint64_t rounds) {
  bool const has_results =
      std::any_of(plan->tasks.begin(), plan->tasks.end(),
                  [](Task const* task) { return task->ops->finish != nullptr; });
  TaskOps const& ops = has_results ? graph_ops_with_results : graph_ops;
  TaskHandle last;
  for (std::uint64_t done = 0; done < rounds;) {
    std::uint64_t const count = std::min(rounds - done, ReplayBody::graphs_at_once);
    done += count;
    auto const construct = [&](void* storage) { ::new (storage) ReplayBody{plan, count}; };
    TaskSpec spec(Label(label), ops, sizeof(ReplayBody), alignof(ReplayBody), construct);
    spec.accesses = plan->recorded->requests();
    spec.after = plan->after;  // and after the previous replay, see Plans::order_behind_replays
    spec.space = plan->recorded->graph.device;
    spec.replays = plan.get();
    last = m_plans.replay_with(*plan, std::move(spec));
  }
  return last;
}

void PlanGraphs::run_graph(void* body, void* instance, Label const& /*label*/) {
  auto& [plan, rounds] = *static_cast<ReplayBody*>(body);
  {
    std::lock_guard const lock(plan->lock);
    plan->forget_failures();
  }
  plan->graphs->launch_rounds(plan->recorded->graph, plan->tasks, rounds, instance);
}

void PlanGraphs::finish_graph(void* body) {
  PlanState& plan = *static_cast<ReplayBody*>(body)->plan;
  plan.graphs->finish_all(plan.tasks);
}

void PlanGraphs::fail_graph(void* body, TaskId id, std::string const& /*text*/,
                            FailurePtr const& failure) noexcept {
  PlanState& plan = *static_cast<ReplayBody*>(body)->plan;
  for (Task* task : plan.tasks)
    Plans::note_failed(*task, describe_or_short(*task, plan.graphs->m_submission), failure,
                       failure->origin != id);
}

void PlanGraphs::destroy_graph(void* body) noexcept {
  auto* const replay = static_cast<ReplayBody*>(body);
  add_pending(*replay->plan, -1);
  replay->~ReplayBody();
}

// --- pieces --------------------------------------------------------------------------------------

/// Numbers of the pieces: connected tasks that can be launched as one graph. A piece has the number
/// of its first task.
static std::vector<std::size_t> find_pieces(PlanState const& plan) {
  std::size_t const count = plan.tasks.size();
  std::vector<std::size_t> level(count, 0);
  std::vector<std::size_t> piece(count);
  std::iota(piece.begin(), piece.end(), std::size_t{0});
  auto const first_of = [&](std::size_t k) {
    while (piece[k] != k) k = piece[k];
    return k;
  };
  auto const together = [&](std::size_t a, std::size_t b) {
    return can_be_captured(*plan.tasks[a]) && can_be_captured(*plan.tasks[b]) &&
           plan.tasks[a]->device() == plan.tasks[b]->device();
  };
  auto const for_each_next = [&](std::size_t k, auto&& f) {  // within the round
    for (RecordedEdge const& edge : plan.recorded->edges().from(k))
      if (edge.kind == RecordedEdge::Kind::own_round) f(std::size_t{edge.to});
  };
  // All predecessors of a task within the round come before it.
  for (std::size_t k = 0; k < count; ++k)
    for_each_next(k, [&](std::size_t next) {
      bool const enters = can_be_captured(*plan.tasks[next]) && !together(k, next);
      level[next] = std::max(level[next], level[k] + (enters ? 1 : 0));
    });
  for (std::size_t k = 0; k < count; ++k)
    for_each_next(k, [&](std::size_t next) {
      if (level[next] != level[k] || !together(k, next)) return;
      std::size_t const a = first_of(k), b = first_of(next);
      piece[std::max(a, b)] = std::min(a, b);
    });
  for (std::size_t k = 0; k < count; ++k) piece[k] = first_of(k);
  return piece;
}

/// Puts one task in the place of each piece of two or more. The caller holds the lock of the
/// streams.
void PlanGraphs::make_pieces(PlanState& plan) {
  static constexpr TaskOps piece_ops{
      .pattern = "graph",
      .run =
          [](void* body, void* instance, Label const&) {
            PlanPiece& piece = **static_cast<PlanPiece**>(body);
            piece.task->node->plan->graphs->launch_rounds(piece.graph, piece.members, 1, instance);
          },
      .destroy = [](void*) noexcept {},
      .fail = [](void*, TaskId, std::string const&, FailurePtr const&) noexcept {},
      .finish =
          [](void* body) {
            PlanPiece const& piece = **static_cast<PlanPiece**>(body);
            piece.task->node->plan->graphs->finish_all(piece.members);
          }};
  std::size_t const count = plan.tasks.size();
  std::vector<std::size_t> const piece_of = find_pieces(plan);
  std::vector<std::vector<Task*>> members(count);
  for (std::size_t k = 0; k < count; ++k) members[piece_of[k]].push_back(plan.tasks[k]);

  for (std::vector<Task*>& tasks : members) {
    if (tasks.size() < 2) continue;
    auto piece = std::make_unique<PlanPiece>();
    piece->members = std::move(tasks);
    Task const& first = *piece->members.front();
    piece->graph.device = first.device();
    std::vector<std::uint32_t> places;
    for (Task const* member : piece->members) places.push_back(member->node->index);
    piece->graph.order = order_of(plan.recorded->edges(), places);
    if (!capture_or_drop(piece->graph, piece->members)) continue;

    auto const construct = [&](void* storage) { ::new (storage) PlanPiece*(piece.get()); };
    TaskSpec spec(Label(first.label), piece_ops, sizeof(PlanPiece*), alignof(PlanPiece*),
                  construct);
    spec.space = first.space;
    plan.runs.reserve(count + plan.pieces.size() + 1);
    plan.pieces.reserve(plan.pieces.size() + 1);
    std::lock_guard const lock(m_submission);
    Task& task = m_plans.make_recorded(spec, plan, count + plan.pieces.size());
    piece->task = &task;
    for (std::uint32_t const place : places) plan.runs[place] = &task;
    plan.runs.push_back(&task);
    plan.pieces.push_back(std::move(piece));
  }
}

}  // namespace trellis::Impl
