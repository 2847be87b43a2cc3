// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Analysis.hpp>
#include <Trellis_Error.hpp>
#include <tools/Trellis_Fold.hpp>
#include <tools/Trellis_Implied.hpp>
#include <tools/Trellis_Precedence.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace trellis::Impl {

using namespace TimelineStyle;

TraceLook::TraceLook(Trace const& of)
    : trace(of), rows(of), palette(rows), position(positions(of.graph)) {
  for (TaskRecord const& task : trace.graph.nodes()) looks.push_back(palette.find(task.label));
  is_critical.assign(looks.size(), false);
  next_critical.assign(looks.size(), none);
  find_critical();
  std::size_t before = none;
  for (std::size_t const slice : critical) {
    std::size_t const p = this->of(rows.slices[slice]);
    is_critical[p] = true;
    if (before != none) next_critical[before] = p;
    before = p;
  }
}

void TraceLook::find_critical() try {
  if (trace.graph.edges().empty()) return;
  GraphAnalysis const found = analyse(trace.graph);
  critical_ns = static_cast<std::uint64_t>(std::llround(found.span));
  if (found.critical_path.size() < 2) return;
  std::vector<std::size_t> slice_of(looks.size(), none);
  for (std::size_t k = 0; k != rows.slices.size(); ++k)
    if (!rows.slices[k].is_late) slice_of[of(rows.slices[k])] = k;
  for (TaskId const id : found.critical_path)
    if (std::size_t const slice = slice_of[position.at(id)]; slice != none)
      critical.push_back(slice);
} catch (Error const&) {
}

std::uint64_t time_of(TaskRecord const& task) {
  return has_run(task) && task.finished_ns > task.started_ns ? task.finished_ns - task.started_ns
                                                             : 0;
}

namespace {

/// Returns the label that these have in common, with "*" where their numbers differ. The number at
/// the place `step` becomes a range.
std::string common_label(std::vector<TaskRecord> const& nodes,
                         std::vector<std::size_t> const& tasks, std::optional<std::size_t> step) {
  std::string const& first = nodes[tasks.front()].label;
  if (tasks.size() == 1) return first;
  SplitLabel const common = split(first);
  std::vector<std::uint64_t> least = common.numbers, most = common.numbers;
  for (std::size_t const p : tasks) {
    std::vector<std::uint64_t> const numbers = split(nodes[p].label).numbers;
    for (std::size_t n = 0; n != least.size(); ++n) {
      least[n] = std::min(least[n], numbers[n]);
      most[n] = std::max(most[n], numbers[n]);
    }
  }
  return with_numbers(common.pattern, [&](std::size_t n) -> std::string {
    if (least[n] == most[n]) return std::to_string(least[n]);
    return step == n ? std::to_string(least[n]) + "\u2013" + std::to_string(most[n]) : "*";
  });
}

Arrow::Kind kind_of(EdgeReason reason, bool released) {
  return released                ? Arrow::Kind::released
         : is_dependency(reason) ? Arrow::Kind::dependency
                                 : Arrow::Kind::scheduling;
}

/// Returns the families that get no node of their own, as there are more than `most_nodes`.
std::set<std::string> other_families(std::vector<TaskRecord> const& nodes) {
  std::map<std::string, std::size_t> count;
  for (TaskRecord const& task : nodes) ++count[split(task.label).pattern];
  std::set<std::string> others;
  if (count.size() <= most_nodes) return others;
  std::vector<std::pair<std::string, std::size_t>> sorted(count.begin(), count.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](auto const& a, auto const& b) { return a.second > b.second; });
  for (std::size_t k = most_nodes - 1; k != sorted.size(); ++k) others.insert(sorted[k].first);
  return others;
}

void add_nodes(Fold& fold, TraceLook const& look) {
  std::vector<TaskRecord> const& nodes = look.trace.graph.nodes();
  std::set<std::string> others;
  if (fold.by == FoldBy::label) others = other_families(nodes);
  std::map<std::pair<std::string, std::uint64_t>, std::size_t> known;
  std::size_t node_of_others = TraceLook::none;
  fold.node_of.reserve(nodes.size());
  for (std::size_t p = 0; p != nodes.size(); ++p) {
    std::size_t node = fold.nodes.size();
    if (fold.by != FoldBy::task) {
      bool const has_step = fold.by == FoldBy::step && look.looks[p] && look.looks[p]->step;
      std::pair key{split(nodes[p].label).pattern,
                    has_step ? *look.looks[p]->step / fold.steps : 0};
      bool const is_other = others.contains(key.first);
      if (is_other) key = {"", 1};  // no label is like this
      node = known.try_emplace(std::move(key), node).first->second;
      if (is_other) node_of_others = node;
    }
    if (node == fold.nodes.size()) fold.nodes.emplace_back().look = look.looks[p];
    Fold::Node& of = fold.nodes[node];
    fold.node_of.push_back(node);
    of.tasks.push_back(p);
    of.time += time_of(nodes[p]);
    ++of.states[static_cast<std::size_t>(nodes[p].state)];
    if (look.is_critical[p]) of.is_critical = true;
  }
  for (std::size_t n = 0; n != fold.nodes.size(); ++n) {
    Fold::Node& node = fold.nodes[n];
    if (n == node_of_others) {
      node.label = with_count(others.size(), "other label");
      node.look.reset();
      continue;
    }
    std::optional<std::size_t> step;
    if (fold.by == FoldBy::step && node.look)
      step = look.palette.families()[node.look->family].step;
    node.label = common_label(nodes, node.tasks, step);
    // A family has the full colour of its first step.
    if (fold.by == FoldBy::label && node.look) node.look->shade = 0;
  }
}

void add_edges(Fold& fold, TraceLook const& look) {
  std::map<std::pair<std::size_t, std::size_t>, Fold::Edge> edges;
  for (EdgeRecord const& edge : look.trace.graph.edges()) {
    std::size_t const first = look.position.at(edge.from), second = look.position.at(edge.to);
    std::size_t const from = fold.node_of[first], to = fold.node_of[second];
    if (from == to) {
      ++fold.nodes[from].inner;
      continue;
    }
    Fold::Edge const fresh{from, to, 0, edge.reason, edge.released, false, false};
    Fold::Edge& joint = edges.try_emplace({from, to}, fresh).first->second;
    ++joint.count;
    if (look.next_critical[first] == second) joint.is_critical = true;
    if (kind_of(edge.reason, edge.released) < kind_of(joint.reason, joint.released)) {
      joint.reason = edge.reason;
      joint.released = edge.released;
    }
  }
  for (auto const& [ends, edge] : edges) fold.edges.push_back(edge);
}

}  // namespace

Fold fold(TraceLook const& look, FoldBy by, std::uint64_t steps) {
  Fold result;
  result.by = by;
  result.steps = steps;
  add_nodes(result, look);
  add_edges(result, look);
  if (result.nodes.size() > most_nodes) return result;  // no picture shows it
  std::vector<Arrow> arrows;
  for (Fold::Edge const& edge : result.edges)
    arrows.push_back({edge.from, edge.to, kind_of(edge.reason, edge.released)});
  std::vector<bool> const is_implied = implied(result.nodes.size(), arrows);
  for (std::size_t e = 0; e != arrows.size(); ++e)
    result.edges[e].is_implied = is_implied[e] && !result.edges[e].is_critical;
  return result;
}

std::vector<Fold> pictured_folds(TraceLook const& look) {
  std::vector<Fold> folds;
  std::size_t const tasks = look.trace.graph.nodes().size();
  if (tasks <= most_nodes) folds.push_back(fold(look, FoldBy::task));
  auto const add = [&](Fold&& next) {
    std::size_t const before = folds.empty() ? most_nodes + 1 : folds.back().nodes.size();
    bool const is_smaller = next.nodes.size() < before;
    if (is_smaller) folds.push_back(std::move(next));
    return is_smaller;
  };
  bool is_done = add(fold(look, FoldBy::step)) || !folds.empty();
  is_done = is_done || !other_families(look.trace.graph.nodes()).empty();  // then none fits
  for (std::uint64_t power = 1; !is_done && power < tasks; power *= 10)
    for (std::uint64_t const factor : {2u, 5u, 10u})
      if (!is_done) is_done = add(fold(look, FoldBy::step, factor * power));
  add(fold(look, FoldBy::label));
  return folds;
}

}  // namespace trellis::Impl
