// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <tools/Trellis_Precedence.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace trellis::Impl {
namespace {

/// Returns when the body was over, or else when the task was.
std::uint64_t body_end(TaskRecord const& task) {
  return std::max(task.returned_ns != 0 ? task.returned_ns : task.finished_ns, task.started_ns);
}

/// Returns the share of a task's own time that had passed; 0 when it had not begun.
double share_until(TaskRecord const& task, double own, std::uint64_t time_ns) {
  if (time_ns <= task.started_ns || own <= 0) return 0;
  return std::min(1.0, static_cast<double>(time_ns - task.started_ns) / own);
}

}  // namespace

std::unordered_map<TaskId, std::size_t> positions(Graph const& graph) {
  std::unordered_map<TaskId, std::size_t> position;
  for (TaskRecord const& task : graph.nodes()) position.emplace(task.id, position.size());
  return position;
}

/// The tasks of a row lie within each other (a body waits, and other tasks run above it), or are
/// queued on a stream, where each begins when the one before it is over.
std::vector<TaskTimes> measured_times(Graph const& graph) {
  std::vector<TaskRecord> const& nodes = graph.nodes();
  std::vector<TaskTimes> times(nodes.size());
  auto const position = positions(graph);
  std::vector<bool> is_parent(nodes.size(), false);
  for (TaskRecord const& task : nodes)
    if (auto const parent = position.find(task.parent); parent != position.end())
      is_parent[parent->second] = true;
  struct Interval {
    std::uint64_t begin;
    std::uint64_t end;
    std::size_t task;
  };
  std::map<int, std::vector<Interval>> rows;
  for (std::size_t p = 0; p < nodes.size(); ++p) {
    TaskRecord const& task = nodes[p];
    if (task.state != TaskState::done && task.state != TaskState::failed) continue;
    if (is_parent[p] && task.returned_ns == 0) continue;  // a replay: nothing but its children
    rows[task.row].push_back({task.started_ns, body_end(task), p});
    if (task.completes_later && !is_parent[p] && task.finished_ns > body_end(task))
      times[p].latency = static_cast<double>(task.finished_ns - body_end(task));
  }
  std::vector<std::uint64_t> within(nodes.size(), 0);  // time of what ran above the body
  for (auto& [row, intervals] : rows) {
    // If several begin together, the longest is beneath.
    std::sort(intervals.begin(), intervals.end(), [](Interval const& a, Interval const& b) {
      return std::tuple(a.begin, b.end, a.task) < std::tuple(b.begin, a.end, b.task);
    });
    std::vector<Interval> beneath;
    for (Interval each : intervals) {
      while (!beneath.empty() && beneath.back().end <= each.begin) beneath.pop_back();
      if (!beneath.empty() && row >= 0) {
        if (each.end > beneath.back().end)
          each.begin = beneath.back().end;  // queued behind it
        else
          within[beneath.back().task] += each.end - each.begin;
      }
      times[each.task].own = static_cast<double>(each.end - each.begin);
      while (!beneath.empty() && beneath.back().end <= each.begin) beneath.pop_back();
      beneath.push_back(each);
    }
  }
  for (std::size_t p = 0; p < nodes.size(); ++p)
    times[p].own = std::max(0.0, times[p].own - static_cast<double>(within[p]) -
                                     static_cast<double>(nodes[p].waited_ns));
  return times;
}

Precedence::Precedence(Graph const& graph)
    : m_graph(graph), m_position(positions(graph)), m_times(measured_times(graph)) {
  add_edges();
  add_children();
  std::stable_sort(m_arcs.begin(), m_arcs.end(),
                   [](Arc const& a, Arc const& b) { return a.from < b.from; });
  m_first.assign(size() + 1, 0);
  for (Arc const& arc : m_arcs) ++m_first[arc.from + 1];
  for (std::size_t p = 0; p < size(); ++p) m_first[p + 1] += m_first[p];
}

void Precedence::add_edges() {
  for (EdgeRecord const& edge : m_graph.edges()) {
    std::size_t const from = position(edge.from);
    std::size_t const to = position(edge.to);
    if (!edge.released) {
      m_arcs.push_back({from, to, Kind::order, 0, &edge});
      continue;
    }
    // This finds the newest demotion that can have released the later task. One that came before
    // the begin of the earlier task leaves no order at all.
    TaskRecord const& before = m_graph.nodes()[from];
    TaskRecord const& after = m_graph.nodes()[to];
    std::uint64_t demoted_ns = 0;
    for (DemotionRecord const& each : before.demotions)
      if (after.started_ns == 0 || each.time_ns <= after.started_ns) demoted_ns = each.time_ns;
    if (before.started_ns == 0 || demoted_ns <= before.started_ns) continue;
    m_arcs.push_back(
        {from, to, Kind::progress, share_until(before, m_times[from].own, demoted_ns), &edge});
  }
}

void Precedence::add_children() {
  std::vector<TaskRecord> const& nodes = m_graph.nodes();
  std::vector<std::uint64_t> last(size(), 0);  // when the last child was complete
  for (TaskRecord const& task : nodes)
    if (auto const parent = m_position.find(task.parent); parent != m_position.end())
      last[parent->second] = std::max(last[parent->second], task.finished_ns);
  for (std::size_t p = 0; p < size(); ++p) {
    auto const found = m_position.find(nodes[p].parent);
    if (found == m_position.end()) continue;
    std::size_t const o = found->second;
    TaskRecord const& parent = nodes[o];
    bool const has_run = parent.started_ns != 0;
    double const share = has_run ? share_until(parent, m_times[o].own, nodes[p].submitted_ns) : 1.0;
    // A body that has waited, and returned after its children, went on behind them.
    double left = 0;
    double const own = m_times[o].own;
    bool const has_waited =
        has_run && own > 0 && own < static_cast<double>(body_end(parent) - parent.started_ns);
    if (has_waited && parent.returned_ns > last[o])
      left = std::min(1.0, static_cast<double>(parent.returned_ns - last[o]) / own);
    m_arcs.push_back({o, p, Kind::progress, share, nullptr});
    m_arcs.push_back({p, o, Kind::remainder, left, nullptr});
  }
}

std::vector<std::size_t> Precedence::in_order() const {
  std::vector<std::uint32_t> open(2 * size(), 0);
  for (std::size_t p = 0; p < size(); ++p) ++open[end_of(p)];
  for (Arc const& arc : m_arcs) ++open[second_event(arc)];
  std::vector<std::size_t> order;
  order.reserve(2 * size());
  for (std::size_t event = 0; event < 2 * size(); ++event)
    if (open[event] == 0) order.push_back(event);
  auto const count_down = [&](std::size_t event) {
    if (--open[event] == 0) order.push_back(event);
  };
  for (std::size_t k = 0; k < order.size(); ++k) {
    std::size_t const event = order[k];
    std::size_t const task = event / 2;
    if (event == begin_of(task)) count_down(end_of(task));
    for (Arc const& arc : from(task))
      if (first_event(arc) == event) count_down(second_event(arc));
  }
  if (order.size() != 2 * size())
    throw Error(
        Error::Kind::bad_input,
        "the edges of this graph close a circle, so nothing on it can run: " + circle(open));
  return order;
}

/// Follows the open events backwards, which must lead back to one already seen.
std::string Precedence::circle(std::vector<std::uint32_t> const& open) const {
  constexpr std::size_t none = ~std::size_t{0};
  std::vector<std::size_t> before(2 * size(), none);
  for (std::size_t p = 0; p < size(); ++p)
    if (open[begin_of(p)] != 0) before[end_of(p)] = begin_of(p);
  for (Arc const& arc : m_arcs)
    if (open[first_event(arc)] != 0) before[second_event(arc)] = first_event(arc);
  std::vector<bool> seen(2 * size(), false);
  std::size_t event = 0;
  while (open[event] == 0) ++event;
  for (; !seen[event]; event = before[event]) seen[event] = true;
  std::vector<std::size_t> tasks{event / 2};
  for (std::size_t each = before[event]; each != event; each = before[each])
    if (tasks.back() != each / 2) tasks.push_back(each / 2);
  if (tasks.size() > 1 && tasks.back() == tasks.front()) tasks.pop_back();
  std::string text;
  constexpr std::size_t most = 20;
  for (std::size_t k = tasks.size(), n = 0; k-- > 0 && n < most; ++n) {
    TaskRecord const& task = m_graph.nodes()[tasks[k]];
    text += '"' + task.label + "\" (#" + std::to_string(task.id) + ") -> ";
  }
  if (tasks.size() > most) return text + "... (" + std::to_string(tasks.size()) + " tasks)";
  return text + '"' + m_graph.nodes()[tasks.back()].label + '"';
}

}  // namespace trellis::Impl
