// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <device/Trellis_PlanGraphs.hpp>
#include <device/Trellis_AsyncStreams.hpp>
#include <engine/Trellis_Cancellation.hpp>
#include <engine/Trellis_Destructors.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <plan/Trellis_PlanState.hpp>
#include <plan/Trellis_Plans.hpp>
#include <kernel/Trellis_TaskText.hpp>

#include <algorithm>
#include <numeric>
#include <unordered_map>

/// Plans, or pieces of plans, as graphs of a device.
///
/// A task can be in a graph when its body does nothing but launch work on one device. A plan of
/// such tasks only is one graph, and a replay is a task on the device that launches it. In another
/// plan such tasks are taken together to pieces, each of which is one task of the plan in their
/// place.
///
/// PIECES. Let the level of a task be the largest number of changes from a task outside of graphs
/// to one inside on a path to it, within a round. A piece is what hangs together by edges among
/// tasks of one level. On a path from a task of a piece to another one of it there is nobody else:
/// each of the others would be of the same level and hang together with them, or outside, and then
/// the level behind it were higher. So to put one task in the place of a piece makes no circle. Nor
/// does it with the edges between rounds: they lead from u to v where a path within the round leads
/// from v to u (see PlanState), and that path has an image, or both are in one piece, which then
/// depends on its own run before, as a run of any task does.
namespace trellis::Impl {

namespace {

/// Two attempts: in the first one an instance may have to get memory for the kernels.
template <class Capture>
bool try_to_capture(Capture capture) {
  for (int attempt = 0; attempt < 2; ++attempt) try {
      return capture();
    } catch (...) {  // not everything can be captured
    }
  return false;
}

/// Is the graph there, with the functors that the tasks have? `capture` makes it so.
template <class Capture>
bool is_fresh(CapturedGraph const& graph, Capture capture) {
  return (graph.handle != nullptr && !graph.stale) || try_to_capture(capture);
}

/// Launches graphs, or what they are made of, one after the other, when that cannot be captured any
/// more. `capture(k)` makes the graph of k rounds.
template <class Capture>
void launch_rounds(PlanGraph& graph, std::vector<Task*> const& tasks, std::uint64_t rounds,
                   void* instance, Capture capture) {
  if (graph.rounds > 0 && rounds >= graph.rounds) {
    graph.asked_for_several += rounds;
    if (graph.asked_for_several >= PlanGraph::rounds_before) {
      if (is_fresh(graph.several, [&] { return capture(graph.rounds); }))
        for (; rounds >= graph.rounds; rounds -= graph.rounds)
          graph.device->launch_graph(instance, graph.several.handle);
      else
        graph.rounds = 0;
    }
  }
  if (rounds == 0) return;
  bool const fresh = is_fresh(graph.one, [&] { return capture(1); });
  for (; rounds > 0; --rounds)
    if (fresh)
      graph.device->launch_graph(instance, graph.one.handle);
    else
      for (Task* task : tasks) task->ops->run(task->body, instance, task->label);
}

/// As their edges say, those among these tasks.
CaptureOrder order_of(std::vector<Task*> const& tasks) {
  std::unordered_map<Task const*, std::size_t> place_of;
  for (Task const* task : tasks) place_of.emplace(task, place_of.size());
  CaptureOrder order;
  order.nodes.resize(tasks.size());
  for (std::size_t place = 0; place < tasks.size(); ++place) {
    Task const& task = *tasks[place];
    order.nodes[place].after_previous.push_back(place);
    order.nodes[place].leads_on = task.node.own_round > 0;
    for (std::uint32_t k = 0; k < task.successor_count; ++k)
      if (auto const next = place_of.find(task.successor(k)); next != place_of.end()) {
        CaptureOrder::Node& node = order.nodes[next->second];
        (k < task.node.own_round ? node.after : node.after_previous).push_back(place);
      }
  }
  return order;
}

}  // namespace

bool can_be_captured(Task const& task) {
  return task.runs_on_device() && task.ops->launches_only && !task.exclusive &&
         !task.marks.main_thread && task.wanted_stream < 0;
}

/// Makes graphs of the plan, or of pieces of it, where that is possible. Who looks at single tasks
/// is to see them run one by one.
void PlanGraphs::capture(PlanState& plan) {
  if (plan.tasks.empty() || m_kernel.numbers_runs()) return;
  if (plan.capturable < 2 && plan.capturable != plan.tasks.size()) return;
  DeviceAdapter* const device = plan.tasks.front()->device();
  bool const whole = plan.capturable == plan.tasks.size() &&
                     std::all_of(plan.tasks.begin(), plan.tasks.end(),
                                 [&](Task const* task) { return task->device() == device; });
  auto const streams = m_streams.lock();
  if (!whole) return make_pieces(plan);
  plan.graph.device = device;
  if (!capture_or_drop(plan.graph, plan.tasks) || !plan.rounds_overlap) return;
  std::size_t const rounds =
      std::min(PlanGraph::most_rounds, PlanGraph::most_nodes / plan.tasks.size());
  if (rounds > 1) plan.graph.rounds = rounds;
}

bool PlanGraphs::capture_or_drop(PlanGraph& graph, std::vector<Task*> const& tasks) {
  bool const captured = try_to_capture([&] { return capture_graph(graph, 1, tasks); });
  if (!captured) graph.release();
  return captured;
}

/// Requires the lock of the streams.
bool PlanGraphs::capture_graph(PlanGraph& graph, std::size_t rounds,
                               std::vector<Task*> const& tasks) {
  CapturedGraph& captured = rounds == 1 ? graph.one : graph.several;
  TaskGraphOptions const& options = m_kernel.options();
  return captured.capture(
      *graph.device, order_of(tasks), rounds,
      PlanGraph::branches_per_stream * static_cast<std::size_t>(*options.streams),
      *options.threads_per_worker, [&](std::size_t place, void* instance) {
        Task& task = *tasks[place];
        Frame const frame(m_kernel, Workers::no_seat(), task, Frame::What::launches);
        task.ops->run(task.body, instance, task.label);
      });
}

/// Calls `finish` for all that have one. Throws the first error.
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

void PlanGraphs::fail_all(std::vector<Task*> const& tasks, FailurePtr const& failure,
                          bool cancelled) {
  for (Task* task : tasks) {
    std::string text;
    {
      std::lock_guard const lock(m_submission);
      text = describe_or_short(*task);
    }
    Plans::note_failed(*task, text, failure, cancelled);
  }
}

// --- whole plans ---------------------------------------------------------------------------------

TaskOps const PlanGraphs::graph_ops{
    .pattern = "replay", .run = &run_graph, .destroy = &destroy_graph, .fail = &fail_graph};

TaskOps const PlanGraphs::graph_ops_with_results{.pattern = "replay",
                                                 .run = &run_graph,
                                                 .destroy = &destroy_graph,
                                                 .fail = &fail_graph,
                                                 .finish = &finish_graph};

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
    spec.accesses = plan->requests;
    spec.after = plan->after;  // and after the replay before, see Plans::order_behind_replays
    spec.space = plan->graph.device;
    spec.replays = plan.get();
    last = m_plans.replay_with(*plan, std::move(spec));
  }
  return last;
}

void PlanGraphs::run_graph(void* body, void* instance, Label const& /*label*/) {
  auto& [plan, rounds] = *static_cast<ReplayBody*>(body);
  {
    std::lock_guard const lock(plan->lock);
    for (auto const& [index, failed] : plan->failed)
      plan->tasks[index]->ops->fail(plan->tasks[index]->body, 0, {}, nullptr);
    plan->failed.clear();
  }
  launch_rounds(plan->graph, plan->tasks, rounds, instance, [&](std::size_t count) {
    return plan->graphs->capture_graph(plan->graph, count, plan->tasks);
  });
}

void PlanGraphs::finish_graph(void* body) {
  PlanState& plan = *static_cast<ReplayBody*>(body)->plan;
  plan.graphs->finish_all(plan.tasks);
}

void PlanGraphs::fail_graph(void* body, TaskId id, std::string const& /*text*/,
                            FailurePtr const& failure) noexcept {
  PlanState& plan = *static_cast<ReplayBody*>(body)->plan;
  plan.graphs->fail_all(plan.tasks, failure, failure->origin != id);
}

void PlanGraphs::destroy_graph(void* body) noexcept {
  auto* const replay = static_cast<ReplayBody*>(body);
  add_pending(*replay->plan, -1);
  replay->~ReplayBody();
}

// --- pieces --------------------------------------------------------------------------------------

void PlanGraphs::run_piece(void* body, void* instance, Label const& /*label*/) {
  PlanPiece& piece = **static_cast<PlanPiece**>(body);
  PlanGraphs& graphs = *piece.task->node.plan->graphs;
  launch_rounds(piece.graph, piece.members, 1, instance, [&](std::size_t count) {
    return graphs.capture_graph(piece.graph, count, piece.members);
  });
}

void PlanGraphs::finish_piece(void* body) {
  PlanPiece const& piece = **static_cast<PlanPiece**>(body);
  piece.task->node.plan->graphs->finish_all(piece.members);
}

/// Numbers of the tasks that hang together and can be launched as one graph; a piece is called by
/// its first one.
static std::vector<std::size_t> find_pieces(PlanState const& plan) {
  std::size_t const count = plan.tasks.size();
  std::vector<std::size_t> level(count, 0);
  std::vector<std::size_t> piece(count);
  std::iota(piece.begin(), piece.end(), std::size_t{0});
  auto const first_of = [&](std::size_t k) {
    while (piece[k] != k) k = piece[k];
    return k;
  };
  auto const together = [&](Task const& a, Task const& b) {
    return can_be_captured(a) && can_be_captured(b) && a.device() == b.device();
  };
  // All predecessors of a task within the round come before it.
  for (std::size_t k = 0; k < count; ++k) {
    Task const& task = *plan.tasks[k];
    for (std::uint32_t n = 0; n < task.node.own_round; ++n) {
      Task const& next = *task.successor(n);
      std::size_t& its = level[next.node.index];
      its = std::max(its, level[k] + (can_be_captured(next) && !together(task, next) ? 1 : 0));
    }
  }
  for (std::size_t k = 0; k < count; ++k) {
    Task const& task = *plan.tasks[k];
    for (std::uint32_t n = 0; n < task.node.own_round; ++n) {
      Task const& next = *task.successor(n);
      if (level[next.node.index] != level[k] || !together(task, next)) continue;
      std::size_t const a = first_of(k), b = first_of(next.node.index);
      piece[std::max(a, b)] = std::min(a, b);
    }
  }
  for (std::size_t k = 0; k < count; ++k) piece[k] = first_of(k);
  return piece;
}

/// Puts a task in the place of each piece of two or more. Requires the lock of the streams.
void PlanGraphs::make_pieces(PlanState& plan) {
  static constexpr TaskOps piece_ops{
      .pattern = "graph",
      .run = &run_piece,
      .destroy = [](void*) noexcept {},
      .fail = [](void*, TaskId, std::string const&, FailurePtr const&) noexcept {},
      .finish = &finish_piece};
  std::size_t const count = plan.tasks.size();
  std::vector<std::size_t> const piece_of = find_pieces(plan);
  std::vector<std::vector<Task*>> members(count);
  for (std::size_t k = 0; k < count; ++k) members[piece_of[k]].push_back(plan.tasks[k]);

  std::vector<Task*> stands_for(plan.tasks);  // by index
  for (std::vector<Task*>& tasks : members) {
    if (tasks.size() < 2) continue;
    auto piece = std::make_unique<PlanPiece>();
    piece->members = std::move(tasks);
    Task const& first = *piece->members.front();
    piece->graph.device = first.device();
    if (!capture_or_drop(piece->graph, piece->members)) continue;

    auto const construct = [&](void* storage) { ::new (storage) PlanPiece*(piece.get()); };
    TaskSpec spec(Label(first.label), piece_ops, sizeof(PlanPiece*), alignof(PlanPiece*),
                  construct);
    spec.space = first.space;
    std::lock_guard const lock(m_submission);
    Task& task = m_plans.make_recorded(spec, plan, count + plan.pieces.size());
    piece->task = &task;
    for (Task const* member : piece->members) stands_for[member->node.index] = &task;
    plan.pieces.push_back(std::move(piece));
  }
  if (plan.pieces.empty()) return;

  // The edges of those that run now, in three parts: within the round, to the next one, and to the
  // next one without failures.
  struct Edges {
    std::vector<Task*> own_round, next_round, without_failures;
    bool follows_itself = false;
  };
  std::unordered_map<Task*, Edges> edges;
  auto const add_once = [](std::vector<Task*>& to, Task* task) {
    if (std::find(to.begin(), to.end(), task) == to.end()) to.push_back(task);
  };
  std::vector<Task*> running;
  for (Task* task : plan.tasks) {
    Task* const from = stands_for[task->node.index];
    auto const [found, is_new] = edges.try_emplace(from);
    if (is_new) running.push_back(from);
    Edges& its = found->second;
    its.follows_itself = its.follows_itself || task->node.follows_itself == 1;
    for (std::uint32_t k = 0; k < task->successor_count; ++k) {
      Task* const to = stands_for[task->successor(k)->node.index];
      bool const is_next = k >= task->node.own_round, carries = k < task->node.carrying;
      if (to == from)
        its.follows_itself = its.follows_itself || (is_next && carries);
      else
        add_once(!is_next ? its.own_round : carries ? its.next_round : its.without_failures, to);
    }
  }
  plan.roots.clear();
  plan.leaves = 0;
  for (Task* task : running) task->node.first_edges = task->node.edges = 0;
  for (auto const& [task, its] : edges) {
    for (Task* next : its.own_round) {
      ++next->node.first_edges;
      ++next->node.edges;
    }
    for (Task* next : its.next_round) ++next->node.edges;
    for (Task* next : its.without_failures) ++next->node.edges;
  }
  for (Task* task : running) {
    Edges const& its = edges[task];
    task->clear_successors();
    for (Task* next : its.own_round) task->add_successor(next);
    for (Task* next : its.next_round) task->add_successor(next);
    task->node.own_round = static_cast<std::uint32_t>(its.own_round.size());
    task->node.carrying = task->successor_count;
    for (Task* next : its.without_failures) task->add_successor(next);
    task->node.follows_itself = its.follows_itself ? 1 : 0;
    task->unfinished.store(task->node.first_edges, std::memory_order_relaxed);
    if (its.own_round.empty()) ++plan.leaves;
    if (task->node.first_edges == 0) plan.roots.push_back(task);
  }
}

}  // namespace trellis::Impl
