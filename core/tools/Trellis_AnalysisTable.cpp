// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Analysis.hpp>
#include <tools/Trellis_Columns.hpp>
#include <tools/Trellis_Precedence.hpp>
#include <tools/Trellis_TimelineStyle.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Impl::TimelineStyle;
using Impl::Columns;
using Impl::fixed;

std::string percent_of(double part, double whole) {
  return whole > 0 ? fixed(100 * part / whole, 1) + " %" : "-";
}

/// What a thread did, in nanoseconds.
struct ThreadTimes {
  std::uint64_t since = ~std::uint64_t{0};  ///< its first task or sleep
  double ran = 0;
  double slept = 0;
};

/// Returns the times of the rows that are threads. `end`: of the last task.
std::vector<ThreadTimes> thread_times(Trace const& trace, std::uint64_t end) {
  std::vector<ThreadTimes> threads(std::min(trace.threads, trace.rows.size()));
  std::vector<Impl::TaskTimes> const times = Impl::measured_times(trace.graph);
  std::uint64_t begin = end;
  for (std::size_t p = 0; p < times.size(); ++p) {
    TaskRecord const& task = trace.graph.nodes()[p];
    if (task.row < 0 || task.started_ns == 0) continue;
    begin = std::min(begin, task.started_ns);
    if (static_cast<std::size_t>(task.row) >= threads.size()) continue;
    ThreadTimes& thread = threads[static_cast<std::size_t>(task.row)];
    thread.since = std::min(thread.since, task.started_ns);
    thread.ran += times[p].own;
    thread.slept += static_cast<double>(task.waited_ns);
  }
  for (ThreadSleep const& sleep : trace.sleeps) {
    std::uint64_t const from = std::max(sleep.begin_ns, begin);
    std::uint64_t const until = std::min(sleep.end_ns, end);
    if (sleep.row >= threads.size() || from >= until) continue;
    ThreadTimes& thread = threads[sleep.row];
    thread.since = std::min(thread.since, from);
    thread.slept += static_cast<double>(until - from);
  }
  return threads;
}

struct LabelTimes {
  std::size_t tasks = 0;
  std::size_t critical = 0;
  double time = 0;
  double longest = 0;
  double critical_time = 0;
};

}  // namespace

void write_analysis(std::ostream& out, Graph const& graph) {
  TaskCost const cost = measured_cost(graph);
  GraphAnalysis const found = analyse(graph, cost);
  std::unordered_set<TaskId> const critical(found.critical_path.begin(), found.critical_path.end());
  Columns whole;
  whole.row({"tasks", std::to_string(graph.nodes().size()) + ", " + std::to_string(found.tasks) +
                          " of them took time"});
  whole.row({"work", duration(found.work) + " on one worker"});
  whole.row({"span", duration(found.span) + " on any number: the critical path, " +
                         with_count(found.critical_path.size(), "task")});
  whole.row({"speedup",
             "at most " + fixed(found.max_speedup(), 2) + ", so no more than " +
                 with_count(static_cast<std::size_t>(std::ceil(found.max_speedup())), "worker") +
                 " can pay"});
  whole.row({"parallel fraction", fixed(found.parallel_fraction(), 4)});
  out << whole.text() << "\n";

  std::map<std::string, LabelTimes> labels;
  for (TaskRecord const& task : graph.nodes()) {
    double const time = cost(task);
    LabelTimes& label = labels[Impl::family_name(task.label)];
    ++label.tasks;
    label.time += time;
    label.longest = std::max(label.longest, time);
    if (!critical.contains(task.id)) continue;
    ++label.critical;
    label.critical_time += time;
  }
  std::vector<std::pair<std::string, LabelTimes>> sorted(labels.begin(), labels.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](auto const& a, auto const& b) { return a.second.time > b.second.time; });
  auto const begin_of = [&](Columns const& table, std::size_t most, std::size_t all,
                            char const* noun) {
    out << table.text();
    if (all > most) out << "  and " + with_count(all - most, noun) + "\n";
  };
  constexpr std::size_t most_labels = 20;
  Columns by_label;
  by_label.row({"label", "tasks", "time", "of work", "longest", "critical", "of span"});
  for (std::size_t k = 0; k < std::min(sorted.size(), most_labels); ++k) {
    LabelTimes const& label = sorted[k].second;
    by_label.row({shortened(sorted[k].first, 40), std::to_string(label.tasks), duration(label.time),
                  percent_of(label.time, found.work), duration(label.longest),
                  std::to_string(label.critical), percent_of(label.critical_time, found.span)});
  }
  begin_of(by_label, most_labels, sorted.size(), "more label");

  constexpr std::size_t most_tasks = 40;
  Columns path;
  path.row({"critical path", "task", "time", "of span"});
  for (std::size_t k = 0; k < std::min(found.critical_path.size(), most_tasks); ++k) {
    TaskRecord const& task = graph.node(found.critical_path[k]);
    path.row({shortened(task.label, 40), std::to_string(task.id), duration(cost(task)),
              percent_of(cost(task), found.span)});
  }
  out << "\n";
  begin_of(path, most_tasks, found.critical_path.size(), "more task");
}

void write_analysis(std::ostream& out, Trace const& trace) {
  write_analysis(out, static_cast<Graph const&>(trace.graph));
  std::uint64_t end = 0;
  for (TaskRecord const& task : trace.graph.nodes()) end = std::max(end, task.finished_ns);
  std::vector<ThreadTimes> const threads = thread_times(trace, end);
  Columns table;
  table.row({"thread", "ran tasks", "slept", "looked for tasks"});
  for (std::size_t row = 0; row < threads.size(); ++row) {
    ThreadTimes const& thread = threads[row];
    if (thread.since >= end) continue;
    auto const all = static_cast<double>(end - thread.since);
    double const looked = all - thread.ran - thread.slept;
    auto const cell = [&](double ns) { return duration(ns) + ", " + percent_of(ns, all); };
    table.row({trace.rows[row], cell(thread.ran), cell(thread.slept), cell(std::max(0.0, looked))});
  }
  out << "\n" << table.text();
}

}  // namespace trellis
