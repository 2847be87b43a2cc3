// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_TaskGraph.hpp>
#include <Trellis_ThreadRatio.hpp>
#include <Trellis_WhatIf.hpp>
#include <tools/Trellis_Precedence.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace trellis {

namespace {

void require_threads(int threads) {
  if (threads >= 1) return;
  throw Error(Error::Kind::bad_input,
              "Trellis: " + std::to_string(threads) + " threads cannot be divided");
}

/// Serves one run in virtual time, on one thread.
class LongestPathFirst final : public SchedulingPolicy {
 public:
  explicit LongestPathFirst(std::vector<TaskRank> const& ranks) {
    for (TaskRank const& each : ranks) m_rank.emplace(each.id, each.rank);
  }
  [[nodiscard]] std::string_view name() const override { return "longest path first"; }
  void start(int) override {}
  void push(ReadyTask task, int) override {
    m_ready.emplace(std::pair(-m_rank.at(task.id()), task.id()), task);
  }
  /// Keeps no task here, as tasks that others make ready at the same moment compete with these.
  ReadyTask finished(std::span<ReadyTask const> ready, int slot) override {
    for (ReadyTask const task : ready) push(task, slot);
    return {};
  }
  ReadyTask pop(int) override {
    if (m_ready.empty()) return {};
    ReadyTask const task = m_ready.begin()->second;
    m_ready.erase(m_ready.begin());
    return task;
  }
  [[nodiscard]] bool empty() const override { return m_ready.empty(); }

 private:
  std::unordered_map<TaskId, double> m_rank;
  std::map<std::pair<double, TaskId>, ReadyTask> m_ready;  // by rank, the highest first
};

double guess(TaskRecord const& task, double took, int had, int has) {
  bool const has_its_own = task.threads > 0 || task.pattern == "host_task";
  return has_its_own ? took : took * had / has;
}

/// Returns the graph as it would be on workers with so many threads, where a task with `threads(n)`
/// takes the places of fewer or more workers.
Graph on_workers_of(int threads, Graph const& graph) {
  auto const is_wide = [](TaskRecord const& task) { return task.threads > 0; };
  if (std::none_of(graph.nodes().begin(), graph.nodes().end(), is_wide)) return graph;
  std::vector<TaskRecord> nodes = graph.nodes();
  for (TaskRecord& task : nodes)
    if (is_wide(task)) task.workers = (task.threads - 1) / threads + 1;
  return {std::move(nodes), graph.edges()};
}

bool is_like(Graph const& a, Graph const& b) {
  return std::equal(
      a.nodes().begin(), a.nodes().end(), b.nodes().begin(), b.nodes().end(),
      [](TaskRecord const& one, TaskRecord const& other) { return one.label == other.label; });
}

}  // namespace

std::vector<ThreadRatio> thread_ratios(int threads, double max_speedup) {
  require_threads(threads);
  // A value that is whole except for rounding errors counts as whole.
  double const useful = std::ceil(std::max(1.0, max_speedup) * (1 - 1e-9));
  int const most = useful < threads ? static_cast<int>(useful) : threads;
  std::vector<ThreadRatio> ratios;
  for (int workers = most; workers >= 1; --workers)
    if (ratios.empty() || threads / workers != ratios.back().threads)
      ratios.push_back({workers, threads / workers});
  return ratios;
}

double list_makespan(Graph const& graph, int workers, TaskCost const& cost) {
  WhatIf what_if;
  what_if.cost = cost;
  what_if.as_submitted = false;
  what_if.policy = std::make_shared<LongestPathFirst>(ranks(graph, cost));
  return simulate(graph, {.workers = workers}, what_if).makespan;
}

Graph tasks_after(Graph const& graph, TaskId last) {
  std::vector<TaskRecord> nodes;
  std::unordered_set<TaskId> ids;
  for (TaskRecord const& task : graph.nodes())
    if (task.id > last) {
      nodes.push_back(task);
      ids.insert(task.id);
    }
  for (TaskRecord& task : nodes)
    if (task.parent != 0 && !ids.contains(task.parent)) task.parent = 0;
  std::vector<EdgeRecord> edges;
  for (EdgeRecord const& edge : graph.edges())
    if (ids.contains(edge.from) && ids.contains(edge.to)) edges.push_back(edge);
  return {std::move(nodes), std::move(edges)};
}

ThreadFeedback::ThreadFeedback(int threads, ThreadFeedbackOptions options)
    : m_threads(threads), m_options(std::move(options)) {
  require_threads(threads);
  if (m_options.guess == nullptr) m_options.guess = guess;
}

ThreadRatio ThreadFeedback::passed(Graph const& iteration, TaskCost const& took,
                                   ThreadRatio const& with) {
  if (!is_like(iteration, m_iteration)) m_measured.clear();
  m_iteration = iteration;
  std::vector<double>& known = m_measured[with.threads];
  bool const is_new = known.empty();
  known.resize(iteration.nodes().size());
  for (std::size_t k = 0; k < known.size(); ++k) {
    double const time = took(iteration.nodes()[k]);
    known[k] = is_new ? time : (known[k] + time) / 2;
  }
  double const max_speedup =
      analyse(m_iteration, Impl::cost_of(m_iteration, times(1))).max_speedup();
  std::vector<ThreadRatio> const ratios = thread_ratios(m_threads, max_speedup);
  bool const is_choice = ratios.size() > 1 || ratios.front() != with;
  if (is_choice && !m_measured.contains(1)) return {ratios.front().workers, 1};
  double const now = makespan(with);
  ThreadRatio best = with;
  double least = now;
  for (ThreadRatio const& ratio : ratios) {
    double const time = makespan(ratio);
    if (time >= least) continue;
    least = time;
    best = ratio;
  }
  return now - least > m_options.least_gain * now ? best : with;
}

bool ThreadFeedback::adapt(TaskGraph& graph, Graph const& iteration, TaskCost const& took) {
  ThreadRatio const now{graph.workers(), graph.threads_per_worker()};
  ThreadRatio const next = passed(iteration, took, now);
  if (next == now) return false;
  graph.set_threads(next.workers, next.threads);
  return true;
}

double ThreadFeedback::predicted(ThreadRatio const& ratio) const {
  if (m_measured.empty())
    throw Error(Error::Kind::bad_input, "Trellis: no iteration has been measured yet");
  return makespan(ratio);
}

/// Returns the measured times, or a guess from those with the fewest threads.
std::vector<double> ThreadFeedback::times(int threads) const {
  if (auto const found = m_measured.find(threads); found != m_measured.end()) return found->second;
  auto const& [had, took] = *m_measured.begin();
  std::vector<double> guessed(took.size());
  for (std::size_t k = 0; k < took.size(); ++k)
    guessed[k] = m_options.guess(m_iteration.nodes()[k], took[k], had, threads);
  return guessed;
}

double ThreadFeedback::makespan(ThreadRatio const& ratio) const {
  Graph const graph = on_workers_of(ratio.threads, m_iteration);
  return list_makespan(graph, ratio.workers, Impl::cost_of(graph, times(ratio.threads)));
}

namespace {

class Meter final : public TaskMeter {
 public:
  using TaskMeter::TaskMeter;
  [[nodiscard]] bool wants_times() const override { return true; }
  void ran(ReadyTask task, std::chrono::nanoseconds time) override {
    if (ForwardingPolicy::wants_times()) ForwardingPolicy::ran(task, time);
    std::lock_guard const lock(m_mutex);
    auto found = m_sums.find(task.label());
    if (found == m_sums.end()) found = m_sums.emplace(task.label(), Sum{}).first;
    found->second.ns += static_cast<double>(time.count());
    ++found->second.tasks;
  }
  [[nodiscard]] TaskCost take() override {
    std::map<std::string, Sum, std::less<>> sums;
    {
      std::lock_guard const lock(m_mutex);
      sums.swap(m_sums);
    }
    return [sums = std::move(sums)](TaskRecord const& task) {
      auto const found = sums.find(task.label);
      return found != sums.end() ? found->second.ns / found->second.tasks : 0;
    };
  }

 private:
  struct Sum {
    double ns = 0;
    double tasks = 0;
  };
  std::mutex m_mutex;
  std::map<std::string, Sum, std::less<>> m_sums;
};

}  // namespace

std::shared_ptr<TaskMeter> make_task_meter(std::shared_ptr<SchedulingPolicy> to) {
  return std::make_shared<Meter>(to != nullptr ? std::move(to) : make_work_stealing_policy());
}

}  // namespace trellis
