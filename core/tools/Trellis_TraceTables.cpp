// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tools/Trellis_Columns.hpp>
#include <tools/Trellis_Page.hpp>
#include <tools/Trellis_StatisticsFile.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace trellis::Impl {

using namespace TimelineStyle;

std::string summary_of(TraceLook const& look) {
  Trace const& trace = look.trace;
  TraceRows const& rows = look.rows;
  std::size_t failed = 0, cancelled = 0, running = 0, waiting = 0;
  for (TaskRecord const& task : trace.graph.nodes()) {
    failed += task.state == TaskState::failed;
    cancelled += task.state == TaskState::cancelled;
    running += task.state == TaskState::running;
    waiting += task.state == TaskState::pending || task.state == TaskState::ready;
  }
  std::string line = with_count(rows.tasks, "task") + " on " + with_count(rows.names.size(), "row");
  if (!rows.slices.empty()) {
    line += "  \u00B7  total span " + duration(rows.end - rows.begin);
    // Threads share the places of the workers: a row that has lent its place is not idle.
    std::vector<std::uint64_t> const sums = rows.busy(true);
    double const span = static_cast<double>(std::max<std::uint64_t>(rows.end - rows.begin, 1));
    auto const between = [&](std::size_t first, std::size_t last, std::size_t places) {
      std::uint64_t sum = 0;
      for (std::size_t row = first; row != last; ++row) sum += sums[row];
      double const percent = 100.0 * static_cast<double>(sum) / span;
      return percent_text(std::min(100.0, percent / static_cast<double>(places)));
    };
    std::size_t const all = rows.names.size(), threads = rows.threads;
    if (threads == 0) {
      line += "  \u00B7  busy " + between(0, all, all);
    } else {
      auto const places = static_cast<std::size_t>(trace.workers);
      line += "  \u00B7  " + with_count(places, "worker") + " busy " + between(0, threads, places);
      if (threads != all)
        line += "  \u00B7  " + with_count(all - threads, "stream") + " busy " +
                between(threads, all, all - threads);
    }
  }
  if (running != 0) line += "  \u00B7  " + std::to_string(running) + " still running";
  if (failed != 0) line += "  \u00B7  " + std::to_string(failed) + " failed";
  if (cancelled != 0) line += "  \u00B7  " + std::to_string(cancelled) + " cancelled";
  if (waiting != 0) line += "  \u00B7  " + std::to_string(waiting) + " not begun";
  return line;
}

std::vector<LabelTimes> label_times(TraceLook const& look) {
  std::map<std::string, LabelTimes> known;
  std::vector<TaskRecord> const& nodes = look.trace.graph.nodes();
  for (std::size_t p = 0; p != nodes.size(); ++p) {
    TaskRecord const& task = nodes[p];
    LabelTimes& label = known[split(task.label).pattern];
    if (label.tasks++ == 0) {
      label.look = look.looks[p];
      label.name =
          label.look ? look.palette.families()[label.look->family].name : family_name(task.label);
      if (label.look) label.look->shade = 0;
    }
    label.failed += task.state == TaskState::failed;
    if (look.is_critical[p]) ++label.critical;
    if (!has_run(task)) continue;
    std::uint64_t const time = time_of(task);
    label.shortest = label.run == 0 ? time : std::min(label.shortest, time);
    label.longest = std::max(label.longest, time);
    label.time += time;
    if (task.ready_ns != 0 && task.started_ns > task.ready_ns)
      label.ready += task.started_ns - task.ready_ns;
    ++label.run;
  }
  std::vector<LabelTimes> sorted;
  for (auto& [pattern, label] : known) sorted.push_back(std::move(label));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](auto const& a, auto const& b) { return a.time > b.time; });
  return sorted;
}

std::string statistics_text(TraceLook const& look) {
  std::string text = summary_of(look) + "\n\n";
  Columns labels;
  labels.row({"label", "tasks", "time", "mean", "shortest", "longest", "mean ready", "failed"});
  for (LabelTimes const& label : label_times(look)) {
    std::uint64_t const run = std::max<std::size_t>(label.run, 1);
    labels.row({shortened(label.name, 60), std::to_string(label.tasks), duration(label.time),
                duration(label.time / run), duration(label.shortest), duration(label.longest),
                duration(label.ready / run), std::to_string(label.failed)});
  }
  text += labels.text() + '\n';
  std::vector<std::uint64_t> const sums = look.rows.busy();
  std::vector<std::size_t> tasks(sums.size(), 0);
  for (Slice const& slice : look.rows.slices) ++tasks[slice.row];
  double const span =
      static_cast<double>(std::max<std::uint64_t>(look.rows.end - look.rows.begin, 1));
  Columns table;
  table.row({"row", "tasks", "time", "busy"});
  for (std::size_t row = 0; row != sums.size(); ++row)
    table.row({shortened(look.rows.names[row], 60), std::to_string(tasks[row]), duration(sums[row]),
               percent_text(100 * static_cast<double>(sums[row]) / span)});
  return text + table.text();
}

Counters counters_of(TraceLook const& look, std::size_t samples) {
  std::vector<TaskRecord> const& nodes = look.trace.graph.nodes();
  std::uint64_t begin = ~std::uint64_t{0}, end = 0;
  for (TaskRecord const& task : nodes) {
    begin = std::min(begin, task.submitted_ns);
    end = std::max({end, task.submitted_ns, task.ready_ns, task.started_ns, task.finished_ns});
  }
  Counters all;
  if (nodes.empty() || samples < 2) return all;
  double const step =
      std::max(1.0, static_cast<double>(end - begin) / static_cast<double>(samples - 1));
  // An event counts from the first sample at or behind it.
  auto const sample_of = [&](std::uint64_t ns) {
    auto const k = static_cast<std::size_t>(
        std::ceil(static_cast<double>(std::max(ns, begin) - begin) / step - 1e-9));
    return std::min(k, samples - 1);
  };
  for (std::size_t k = 0; k != samples; ++k)
    all.time_ns.push_back(begin + static_cast<std::uint64_t>(static_cast<double>(k) * step));
  for (auto* each :
       {&all.spawned, &all.pending, &all.ready, &all.running, &all.batched, &all.batches})
    each->assign(samples, 0);  // changes first, and at the end their sums
  std::set<std::uint32_t> met;
  for (TaskRecord const& task : nodes) {
    std::size_t at = sample_of(task.submitted_ns);
    ++all.spawned[at];
    std::vector<std::uint64_t>* state = &all.pending;
    ++all.pending[at];
    auto const enter = [&](std::uint64_t ns, std::vector<std::uint64_t>* next) {
      at = std::max(at, sample_of(ns));
      --(*state)[at];
      state = next;
      if (state != nullptr) ++(*state)[at];
    };
    if (task.ready_ns != 0) enter(task.ready_ns, &all.ready);
    if (has_run(task)) {
      enter(task.started_ns, &all.running);
      if (task.batch != 0) ++all.batched[at];
      if (task.batch != 0 && met.insert(task.batch).second) ++all.batches[at];
    }
    if (task.state >= TaskState::done) enter(task.finished_ns, nullptr);
  }
  for (auto* each :
       {&all.spawned, &all.pending, &all.ready, &all.running, &all.batched, &all.batches})
    std::partial_sum(each->begin(), each->end(), each->begin());
  return all;
}

std::string statistics_csv(TraceLook const& look, std::string const& graph) {
  std::string text(statistics_header);
  std::string const name = csv_cell(graph);
  Counters const all = counters_of(look, 1000);
  for (std::size_t k = 0; k != all.time_ns.size(); ++k) {
    auto const since = [&](std::vector<std::uint64_t> const& of) {
      return of[k] - (k == 0 ? 0 : of[k - 1]);
    };
    std::uint64_t const batches = since(all.batches);
    text += fixed(static_cast<double>(all.time_ns[k]) * 1e-9, 9) + ',' + name + ',' +
            std::to_string(since(all.spawned)) + ",,," + std::to_string(batches) + ',';
    if (batches != 0)
      text += fixed(static_cast<double>(since(all.batched)) / static_cast<double>(batches), 2);
    std::uint64_t const in_flight = all.pending[k] + all.ready[k] + all.running[k];
    text += ',' + std::to_string(all.ready[k]) + ',' + std::to_string(all.running[k]) + ',' +
            std::to_string(in_flight) + ",,\n";
  }
  return text;
}

}  // namespace trellis::Impl
