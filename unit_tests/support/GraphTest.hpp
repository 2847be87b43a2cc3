// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_CORE_GRAPHTEST_HPP
#define TRELLIS_TEST_CORE_GRAPHTEST_HPP

#include <Trellis_Graph.hpp>

#include <algorithm>
#include <cstdint>
#include <locale>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Graphs and traces that are made by hand, and what is written of them.
namespace trellis::Test {

inline TaskRecord task(TaskId id, std::string label, TaskState state = TaskState::pending) {
  TaskRecord record;
  record.id = id;
  record.label = std::move(label);
  record.pattern = "parallel_for";
  record.space = "Serial";
  record.state = state;
  record.submitted_ns = id;
  return record;
}

inline TaskRecord ran(TaskId id, std::string label, int row, std::uint64_t begin, std::uint64_t end,
                      TaskState state = TaskState::done) {
  TaskRecord record = task(id, std::move(label), state);
  record.row = row;
  record.ready_ns = begin;
  record.started_ns = begin;
  record.finished_ns = end;
  return record;
}

inline std::string dot_of(Graph const& graph) {
  std::ostringstream out;
  graph.write_dot(out);
  return out.str();
}

inline std::string svg_of(Trace const& trace) {
  std::ostringstream out;
  trace.write_svg(out);
  return out.str();
}

inline std::string json_text_of(Trace const& trace) {
  std::ostringstream out;
  trace.write_chrome_json(out);
  return out.str();
}

inline nlohmann::json json_of(Trace const& trace) {
  return nlohmann::json::parse(json_text_of(trace));
}

inline std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size()))
    ++found;
  return found;
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

// A stencil on `workers` rows: tile t of step s needs its neighbours of step s - 1. The times are
// drawn at random.
inline Trace stencil(std::size_t workers, std::size_t tiles, std::size_t steps) {
  std::mt19937 random(1);
  std::vector<TaskRecord> nodes;
  std::vector<EdgeRecord> edges;
  std::vector<std::uint64_t> free(workers, 1000);
  for (std::size_t s = 0; s != steps; ++s) {
    for (std::size_t t = 0; t != tiles; ++t) {
      TaskId const id = nodes.size() + 1;
      std::uint64_t ready = id;
      for (std::size_t const n : {t - 1, t, t + 1}) {
        if (s == 0 || n >= tiles) continue;
        TaskId const from = (s - 1) * tiles + n + 1;
        ready = std::max(ready, nodes[from - 1].finished_ns);
        edges.push_back({from, id, EdgeReason::access});
      }
      auto const worker = std::min_element(free.begin(), free.end());
      std::uint64_t const begin = std::max(ready, *worker);
      *worker = begin + random() % 2000;
      std::string label = "tile " + std::to_string(t) + " step " + std::to_string(s);
      nodes.push_back(
          ran(id, std::move(label), static_cast<int>(worker - free.begin()), begin, *worker));
      nodes.back().ready_ns = ready;
      nodes.back().accesses = {{"u", "read", "[0, 64)"}, {"v", "write", "[0, 64)"}};
    }
  }
  std::vector<std::string> rows;
  for (std::size_t w = 0; w != workers; ++w) rows.push_back("worker " + std::to_string(w));
  return {SchedulingGraph(std::move(nodes), std::move(edges)), std::move(rows)};
}

// A number format that would break every file format.
class Grouping : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\1"; }
};

}  // namespace trellis::Test

#endif
