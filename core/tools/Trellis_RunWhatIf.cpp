// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_WhatIf.hpp>
#include <tools/Trellis_Columns.hpp>
#include <tools/Trellis_TimelineStyle.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>

namespace trellis {

Schedule simulate(Graph const& graph, Machine const& machine, WhatIf const& what_if) {
  Trace trace;
  trace.graph = SchedulingGraph(graph.nodes(), graph.edges());
  return simulate(trace, machine, what_if);
}

Trace predicted_trace(Trace const& recorded, Schedule const& schedule) {
  std::vector<TaskRecord> nodes = recorded.graph.nodes();
  auto const ns = [](double time) { return static_cast<std::uint64_t>(std::llround(time)); };
  for (std::size_t p = 0; p < nodes.size(); ++p) {
    Schedule::Run const& run = schedule.runs.at(p);
    TaskRecord& task = nodes[p];
    task.state = TaskState::done;
    task.row = run.row;
    task.submitted_ns = task.ready_ns = task.started_ns = ns(run.begin);
    task.finished_ns = ns(run.end);
    task.returned_ns = run.body_end < run.end ? ns(run.body_end) : 0;
    task.waited_ns = 0;
    task.demotions.clear();
  }
  Trace trace;
  trace.graph = SchedulingGraph(std::move(nodes), recorded.graph.edges());
  trace.rows = schedule.rows;
  trace.workers = schedule.workers;
  trace.threads = static_cast<std::size_t>(schedule.workers);
  return trace;
}

TaskCost faster(Graph const& graph, std::string_view label, double times, TaskCost cost) {
  if (!(times > 0))
    throw Error(Error::Kind::bad_input, "no task is " + std::to_string(times) + " times as fast");
  if (cost == nullptr) cost = measured_cost(graph);
  return [cost = std::move(cost), label = std::string(label), times](TaskRecord const& task) {
    double const all = cost(task);
    return task.label == label || Impl::family_name(task.label) == label ? all / times : all;
  };
}

namespace {

/// Returns the time from the first submission to the last completion.
double recorded_makespan(Trace const& trace) {
  std::uint64_t begin = ~std::uint64_t{0};
  std::uint64_t end = 0;
  for (TaskRecord const& task : trace.graph.nodes()) {
    begin = std::min(begin, task.submitted_ns);
    end = std::max(end, task.finished_ns);
  }
  return end > begin ? static_cast<double>(end - begin) : 0;
}

int device_count(Trace const& trace) {
  std::set<std::string> names;
  for (TaskRecord const& task : trace.graph.nodes())
    if (trace.threads > 0 && task.row >= 0 && static_cast<std::size_t>(task.row) >= trace.threads)
      names.insert(task.space);
  return static_cast<int>(names.size());
}

}  // namespace

void write_predictions(std::ostream& out, Trace const& trace,
                       std::function<std::shared_ptr<SchedulingPolicy>()> const& policy) {
  using Impl::TimelineStyle::duration;
  using Impl::TimelineStyle::with_count;
  auto const predict = [&](Machine const& machine, TaskCost cost = nullptr) {
    WhatIf what_if;
    what_if.cost = std::move(cost);
    if (policy != nullptr) what_if.policy = policy();
    return simulate(trace, machine, what_if).makespan;
  };
  double const recorded = recorded_makespan(trace);
  double const same = predict({});
  Impl::Columns table;
  auto const row = [&](std::string&& what, double makespan) {
    table.row({std::move(what), duration(makespan),
               same > 0 ? Impl::fixed(makespan / same, 3) : "-",
               makespan > 0 ? Impl::fixed(same / makespan, 2) + " x" : "-"});
  };
  table.row({"what if", "makespan", "of predicted", "speedup"});
  row("as it was recorded", recorded);
  row("predicted, the same machine", same);
  int const workers = std::max(1, trace.workers);
  double const most = std::ceil(analyse(trace.graph).max_speedup());
  std::set<int> numbers{1, 2 * workers};
  for (int n = 2; n < 2 * workers; n *= 2) numbers.insert(n);
  for (int n = 4 * workers; n <= most && numbers.size() < 10; n *= 2) numbers.insert(n);
  for (int const n : numbers)
    if (n != workers)
      row(with_count(static_cast<std::size_t>(n), "worker"), predict({.workers = n}));
  if (int const devices = device_count(trace); devices > 0)
    row("one device more", predict({.devices = devices + 1}));

  std::map<std::string, double> time;
  TaskCost const cost = measured_cost(trace.graph);
  for (TaskRecord const& task : trace.graph.nodes())
    time[Impl::family_name(task.label)] += cost(task);
  std::vector<std::pair<double, std::string>> labels;
  for (auto const& [label, sum] : time)
    if (sum > 0) labels.emplace_back(-sum, label);
  std::sort(labels.begin(), labels.end());
  constexpr std::size_t most_labels = 5;
  for (std::size_t k = 0; k < std::min(labels.size(), most_labels); ++k) {
    std::string const& label = labels[k].second;
    row('"' + Impl::TimelineStyle::shortened(label, 40) + "\" twice as fast",
        predict({}, faster(trace.graph, label, 2)));
  }
  out << table.text();
}

}  // namespace trellis
