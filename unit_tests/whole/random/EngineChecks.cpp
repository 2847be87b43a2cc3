// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EngineRecords.hpp"
#include "EngineRun.hpp"

#include <Trellis_Error.hpp>

#include <algorithm>
#include <limits>
#include <map>

namespace random_program {

using trellis::EdgeReason;
using trellis::EdgeRecord;
using trellis::TaskRecord;

std::string Checks::name(int t) const {
  return name_of(t) + " (#" + std::to_string(record(t).handle.id) + ')';
}

/// All submitted tasks of the phases so far, in the order of their ids.
std::vector<int> Checks::arrival_order(int last_phase) const {
  std::vector<int> order;
  for (int t = 0; t < static_cast<int>(m_program.tasks.size()); ++t)
    if (task(t).phase <= last_phase && record(t).handle.valid()) order.push_back(t);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return record(a).handle.id < record(b).handle.id; });
  return order;
}

Outcome Checks::expected(std::vector<int> const& order) const {
  std::vector<bool> refined;
  for (Record const& each : m_records) refined.push_back(each.refined);
  return run_serially(m_program, m_conflicts, order, refined);
}

void Checks::phase(int phase, std::string const& reported) {
  std::vector<int> const order = arrival_order(phase);
  // Where the order of submission is recorded, or is that of running, there are no gaps.
  bool const dense = m_program.settings.record || m_program.settings.policy == "serial";
  for (std::size_t n = 0; n < order.size(); ++n) {
    trellis::TaskId const id = record(order[n]).handle.id;
    if (dense ? id != n + 1 : n > 0 && id == record(order[n - 1]).handle.id)
      return complain(name_of(order[n]), " has number ", std::to_string(id));
  }
  Outcome const should_be = expected(order);
  m_stage = should_be.stage;
  int first_failed = -1;
  for (int const t : order) {
    if (task(t).parent >= 0 && record(task(t).parent).handle.id >= record(t).handle.id)
      complain(name_of(t), " comes before its parent");
    Fate const its = should_be.fate[static_cast<std::size_t>(t)];
    int const origin = should_be.origin[static_cast<std::size_t>(t)];
    fate(t, its, origin);
    if (record(t).ran && record(t).digest != should_be.digest[static_cast<std::size_t>(t)])
      complain(name(t), " reads what it should not");
    if (its == Fate::failed && task(t).phase == phase && origin == t && first_failed < 0)
      first_failed = t;
    if (its == Fate::failed && origin != t) ++happened().failed_parents;
    if (task(t).owner >= 0 && record(t).ran) ++happened().children;
  }
  for (int t = 0; t < static_cast<int>(m_program.tasks.size()); ++t) {
    int const parent = task(t).parent;
    if (task(t).phase != phase || record(t).refused) continue;
    bool submitted = parent < 0;
    if (parent >= 0 && record(parent).refined) {
      auto const& children = task(parent).refinement;
      submitted = std::find(children.begin(), children.end(), t) != children.end();
    } else if (parent >= 0) {
      std::vector<Step> const steps = body_of(task(parent));
      for (std::size_t k = 0; k < should_be.steps[static_cast<std::size_t>(parent)]; ++k)
        submitted = submitted || (steps[k].kind == Step::Kind::submit && steps[k].task == t);
    }
    if (record(t).handle.valid() != submitted)
      complain(name_of(t), submitted ? " was not submitted" : " was submitted");
  }
  for (std::size_t array = 0; array < m_memory.size(); ++array)
    for (std::size_t e = 0; e < m_memory[array].size(); ++e)
      if (m_memory[array][e] != should_be.memory[array][e])
        complain("element ", std::to_string(e), " of a", std::to_string(array),
                 " is wrong after phase ", std::to_string(phase));
  if (first_failed < 0 && !reported.empty()) complain("wait() throws ", reported);
  if (first_failed >= 0 && reported.find('"' + name_of(first_failed) + '"') == std::string::npos)
    complain("wait() should name ", name_of(first_failed),
             ", the first failure, but says: ", reported);
}

void Checks::fate(int t, Fate fate, int origin) {
  bool const runs = fate == Fate::done || fate == Fate::failed;
  if (record(t).ran != (runs && !record(t).refined))
    complain(name(t), " should be ", to_string(fate),
             record(t).ran ? ", but ran" : ", but did not run");
  if (!record(t).handle.is_done()) complain(name_of(t), " is not done after wait()");
  if (record(t).ran && task(t).main_thread && m_program.settings.policy != "serial" &&
      record(t).thread != std::this_thread::get_id())
    complain(name_of(t), " is bound to the main thread, but ran on another");
  auto got = Fate::done;
  try {
    record(t).handle.wait_and_rethrow();
  } catch (trellis::Error const& error) {
    got = error.kind() == trellis::Error::Kind::task_failed ? Fate::failed : Fate::cancelled;
    try {
      if (error.cause() == nullptr) throw std::runtime_error("nothing");
      std::rethrow_exception(error.cause());
    } catch (Thrown const& thrown) {
      if (thrown.task != origin)
        complain("get() of ", name(t), " says that ", name_of(thrown.task), " threw, but it was ",
                 origin < 0 ? "nobody" : name(origin));
    } catch (...) {
      complain("get() of ", name_of(t), " does not carry what was thrown: ", error.what());
    }
  }
  if (got != fate)
    complain("get() says that ", name(t), " is ", to_string(got), ", but it is ", to_string(fate));
}

void Checks::at_the_end() {
  std::vector<int> const order = arrival_order(std::numeric_limits<int>::max());
  find_spans(order);
  order_of_events(order);
  if (m_program.settings.record) graphs(order);
}

// --- what happened when --------------------------------------------------------------------------

void Checks::find_spans(std::vector<int> const& order) {
  m_spans.assign(m_program.tasks.size(), {std::numeric_limits<std::uint64_t>::max(), 0});
  for (std::size_t n = order.size(); n-- > 0;) {  // parents come before their children
    int const t = order[n];
    Span& own = m_spans[static_cast<std::size_t>(t)];
    if (record(t).ran) {
      own.from = std::min(own.from, record(t).started);
      own.to = std::max(own.to, record(t).finished);
    }
    if (task(t).owner < 0 || own.to == 0) continue;
    Span& whole = m_spans[static_cast<std::size_t>(task(t).owner)];
    whole.from = std::min(whole.from, own.from);
    whole.to = std::max(whole.to, own.to);
  }
}

/// From when until when the task had what it has after so many demotions. (It takes the time before
/// it asks.)
Checks::Span Checks::held(int t, std::size_t stage) const {
  Span span = m_spans[static_cast<std::size_t>(t)];
  if (stage > 0) span.from = record(t).demoted[stage - 1];
  if (stage < record(t).demoted.size()) span.to = record(t).demoted[stage];
  return span;
}

/// Two tasks had what excludes each other at the same time.
bool Checks::excluded_at_once(int a, int b) const {
  auto const meet = [](Span const& x, Span const& y) { return x.to > y.from && y.to > x.from; };
  if (m_conflicts.by_rule(a, b, true) &&
      meet(m_spans[static_cast<std::size_t>(a)], m_spans[static_cast<std::size_t>(b)]))
    return true;
  for (std::size_t i = 0; i <= record(a).demoted.size(); ++i)
    for (std::size_t j = 0; j <= record(b).demoted.size(); ++j)
      if (m_conflicts.exclude(a, i, b, j) && meet(held(a, i), held(b, j))) return true;
  return false;
}

bool Checks::exclude(int first, int second) const {
  if (m_conflicts.by_rule(first, second, true)) return true;
  for (std::size_t i = 0; i <= record(first).demoted.size(); ++i)
    for (std::size_t j = 0; j <= record(second).demoted.size(); ++j)
      if (m_conflicts.exclude(first, i, second, j)) return true;
  return false;
}

/// The ids of the task and those that it is a child of, the whole first.
std::vector<std::uint64_t> Checks::place_of(int t) const {
  std::vector<std::uint64_t> place;
  for (; t >= 0; t = task(t).owner) place.insert(place.begin(), record(t).handle.id);
  return place;
}

void Checks::order_of_events(std::vector<int> const& order) {
  // Children come in the place of their parent.
  if (m_program.settings.policy == "serial" && !m_program.has_waits_in_tasks() &&
      !m_program.has_several_threads()) {
    std::map<std::vector<std::uint64_t>, int> serial;
    for (int const t : order) serial.emplace(place_of(t), t);
    std::uint64_t last = 0;
    for (auto const& [place, t] : serial) {
      if (!record(t).ran) continue;
      if (record(t).started < last) complain(name(t), " runs too late with TRELLIS_SERIAL=1");
      last = record(t).started;
    }
  }
  for (std::size_t n = 0; n < order.size(); ++n)
    for (std::size_t k = 0; k < n; ++k) {
      int const a = order[k];
      int const b = order[n];
      Span const& first = m_spans[static_cast<std::size_t>(a)];
      Span const& second = m_spans[static_cast<std::size_t>(b)];
      if (first.to == 0 || second.to == 0) continue;
      std::uint64_t limit = m_conflicts.otherwise(a, b) ? first.to : 0;
      if (limit == 0 && m_conflicts.by_access(a, b))
        for (std::size_t stage = 0; stage <= record(a).demoted.size(); ++stage)
          if (m_conflicts.by_access(a, stage, b)) limit = held(a, stage).to;
      if (limit > second.from) complain(name(b), " starts before ", name(a), " is over");
      if (limit > 0 && second.from < first.to) ++happened().early_starts;
      if (excluded_at_once(a, b))
        complain(name(b), " runs beside ", name(a), ", and the two exclude each other");
    }
}

// --- the recorded graphs -------------------------------------------------------------------------

void Checks::graphs(std::vector<int> const& order) {
  trellis::DependencyGraph const dependencies = m_graph.dependency_graph();
  trellis::SchedulingGraph const scheduling = m_graph.scheduling_graph();
  if (dependencies.nodes().size() != order.size() || scheduling.nodes().size() != order.size())
    return complain("a graph has ", std::to_string(dependencies.nodes().size()), " nodes, not ",
                    std::to_string(order.size()));
  nodes(dependencies.nodes(), order);
  times(dependencies.nodes(), order);
  for (EdgeRecord const& each : dependencies.edges())
    if (std::find(scheduling.edges().begin(), scheduling.edges().end(), each) ==
        scheduling.edges().end())
      complain("the scheduling graph lacks a dependency edge to ", name_of(order[each.to - 1]));
  for (EdgeRecord const& each : scheduling.edges())
    edge(each, order[each.from - 1], order[each.to - 1]);
  dependency_paths(dependencies, order);
  scheduling_paths(scheduling, order);
}

void Checks::nodes(std::vector<TaskRecord> const& nodes, std::vector<int> const& order) {
  Outcome const should_be = expected(order);
  for (std::size_t n = 0; n < order.size(); ++n) {
    int const t = order[n];
    TaskRecord const& node = nodes[n];
    if (node.id != n + 1 || node.label != name_of(t))
      complain("node ", std::to_string(n), " is ", node.label);
    if (trellis::to_string(node.state) != to_string(should_be.fate[static_cast<std::size_t>(t)]))
      complain("node ", node.label, " is ", std::string(trellis::to_string(node.state)));
    if (node.parent != (task(t).owner < 0 ? 0 : record(task(t).owner).handle.id))
      complain("node ", node.label, " is a child of #", std::to_string(node.parent));
    if ((node.pattern == "refined") != record(t).refined)
      complain("node ", node.label, " is ", node.pattern);
    if (node.demotions.size() != should_be.stage[static_cast<std::size_t>(t)])
      complain("node ", node.label, " has ", std::to_string(node.demotions.size()), " demotions");
  }
}

/// The time stamps agree with what must be.
void Checks::times(std::vector<TaskRecord> const& nodes, std::vector<int> const& order) {
  for (std::size_t n = 0; n < order.size(); ++n)
    for (std::size_t k = 0; k < n; ++k) {
      int const a = order[k];
      int const b = order[n];
      if (nodes[n].started_ns == 0 || nodes[k].started_ns == 0) continue;
      std::uint64_t limit = m_conflicts.otherwise(a, b) ? nodes[k].finished_ns : 0;
      if (limit == 0 && m_conflicts.by_access(a, b))
        for (std::size_t stage = 0; stage <= nodes[k].demotions.size(); ++stage)
          if (m_conflicts.by_access(a, stage, b))
            limit = stage < nodes[k].demotions.size() ? nodes[k].demotions[stage].time_ns
                                                      : nodes[k].finished_ns;
      if (limit > nodes[n].started_ns)
        complain("by the time stamps ", name(b), " starts before ", name(a), " is over");
      if (task(b).owner == a && (nodes[n].started_ns < nodes[k].started_ns ||
                                 nodes[n].finished_ns > nodes[k].finished_ns))
        complain("by the time stamps ", name(b), " does not run within ", name(a));
    }
}

/// Each edge has its reason.
void Checks::edge(EdgeRecord const& edge, int from, int to) {
  std::size_t const stage = edge.released ? 0 : m_stage[static_cast<std::size_t>(from)];
  bool const forward = edge.from < edge.to;
  bool right = false;
  switch (edge.reason) {
    case EdgeReason::access:
      right = forward && m_conflicts.by_access(from, stage, to);
      break;
    case EdgeReason::after:
      right = forward && !edge.released && m_conflicts.after(from, to);
      break;
    case EdgeReason::synchronizing:
      right = forward && !edge.released && m_conflicts.synchronizing(from, to);
      break;
    case EdgeReason::rule:
      right = forward && !edge.released && m_conflicts.by_rule(from, to, false);
      break;
    case EdgeReason::exclusion:
      ++happened().chosen_orders;
      right = forward ? exclude(from, to) : exclude(to, from);
      break;
    case EdgeReason::demotion:  // no program demotes a pending task, or has such a policy
    case EdgeReason::policy:
      break;
  }
  if (!right)
    complain("no reason for the edge from ", name(from), " to ", name(to), ": ",
             std::string(trellis::to_string(edge.reason)), edge.released ? ", released" : "");
  Span const& first = m_spans[static_cast<std::size_t>(from)];
  Span const& second = m_spans[static_cast<std::size_t>(to)];
  if (first.to == 0 || second.to == 0) return;
  if ((edge.released ? first.from : first.to) > second.from)
    complain("the edge from ", name(from), " to ", name(to),
             " was not kept: ", std::string(trellis::to_string(edge.reason)),
             edge.released ? ", released" : "");
}

namespace {

/// For each node those that must be over before it starts: those from which a path leads to it that
/// does not begin with a released edge. (A released edge says that the first has started before, so
/// it may be in the middle.) Empty when there is a circle.
std::vector<std::vector<bool>> before(trellis::Graph const& graph) {
  std::size_t const count = graph.nodes().size();
  std::vector<std::vector<EdgeRecord const*>> out(count);
  std::vector<std::size_t> missing(count);
  for (EdgeRecord const& edge : graph.edges()) {
    out[edge.from - 1].push_back(&edge);
    ++missing[edge.to - 1];
  }
  std::vector<std::vector<bool>> reached(count, std::vector<bool>(count));
  std::vector<std::size_t> next;
  for (std::size_t n = 0; n < count; ++n)
    if (missing[n] == 0) next.push_back(n);
  std::size_t seen = 0;
  for (; !next.empty(); ++seen) {
    std::size_t const from = next.back();
    next.pop_back();
    for (EdgeRecord const* edge : out[from]) {
      std::size_t const to = edge->to - 1;
      for (std::size_t k = 0; k < count; ++k) reached[to][k] = reached[to][k] || reached[from][k];
      if (!edge->released) reached[to][from] = true;
      if (--missing[to] == 0) next.push_back(to);
    }
  }
  return seen == count ? reached : std::vector<std::vector<bool>>{};
}

}  // namespace

/// The edges reach whatever must be ordered.
void Checks::dependency_paths(trellis::DependencyGraph const& graph,
                              std::vector<int> const& order) {
  auto const reached = before(graph);
  if (reached.size() != order.size()) return complain("the dependency graph has a circle");
  for (std::size_t n = 0; n < order.size(); ++n)
    for (std::size_t k = 0; k < n; ++k) {
      int const a = order[k];
      int const b = order[n];
      bool const ordered = m_conflicts.after(a, b) || m_conflicts.synchronizing(a, b) ||
                           m_conflicts.by_access(a, m_stage[static_cast<std::size_t>(a)], b);
      if (ordered && !reached[n][k]) complain("no path leads from ", name(a), " to ", name(b));
    }
}

void Checks::scheduling_paths(trellis::SchedulingGraph const& graph,
                              std::vector<int> const& order) {
  auto const reached = before(graph);
  if (reached.size() != order.size()) return complain("the scheduling graph has a circle");
  for (std::size_t n = 0; n < order.size(); ++n)
    for (std::size_t k = 0; k < n; ++k) {
      int const a = order[k];
      int const b = order[n];
      if (m_conflicts.by_rule(a, b, false) && !reached[n][k])
        complain("no path leads from ", name(a), " to ", name(b), ", which a rule orders");
      Span const& first = m_spans[static_cast<std::size_t>(a)];
      Span const& second = m_spans[static_cast<std::size_t>(b)];
      if (first.to == 0 || second.to == 0) continue;
      bool const forward = first.to <= second.from;
      if (!forward && second.to > first.from) continue;  // one had given up what excludes the other
      int const earlier = forward ? a : b;
      int const later = forward ? b : a;
      bool const excluded =
          m_conflicts.by_rule(a, b, true) ||
          m_conflicts.exclude(earlier, m_stage[static_cast<std::size_t>(earlier)], later, 0);
      if (excluded && m_program.settings.policy != "serial" &&
          !(forward ? reached[n][k] : reached[k][n]))
        complain("no path leads from ", name(earlier), " to ", name(later),
                 ", which exclude each other");
    }
}

}  // namespace random_program
