// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fields/Trellis_PlacementPolicy.hpp>
#include <fields/impl/Trellis_ChoosePlaces.hpp>
#include <fields/impl/Trellis_PathCoalescing.hpp>
#include <fields/impl/Trellis_PlacedSteps.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace trellis {

namespace Impl {

namespace {

template <class T>
std::size_t index_of(T number) {
  return static_cast<std::size_t>(number);
}

int on_host_if_it_may(PlacementGraph const& graph, PlacementGraph::Task const& task) {
  for (int const target : task.eligible)
    if (graph.targets[index_of(target)].is_host) return target;
  return task.eligible.front();
}

class HostPlacement final : public PlacementPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "host"; }
  void prepare(PlacementGraph const& graph, std::span<int> places) override {
    for (std::size_t task = 0; task < places.size(); ++task)
      places[task] = on_host_if_it_may(graph, graph.tasks[task]);
  }
};

class OrderPlacement final : public PlacementPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "order"; }
  void prepare(PlacementGraph const& graph, std::span<int> places) override {
    for (std::size_t task = 0; task < places.size(); ++task)
      places[task] = graph.tasks[task].eligible.front();
  }
};

/// Measures links by copies of two sizes, each at least twice, of which the shortest counts. A copy
/// that has found new memory may have been the first to touch it. Its time counts only if no better
/// one comes in a few iterations.
class LinkProbes {
 public:
  void clear() {
    m_probes.clear();
    m_costs = {};
    m_others = {};
  }
  /// Sets the links that tasks of the graph may need. Types of targets stand for their targets.
  void expect(PlacementGraph const& graph) {
    std::map<std::pair<int, int>, TransferProbe> largest;  // by types of targets
    auto const note = [&](int from, int to, std::size_t bytes) {
      auto const& targets = graph.targets;
      bytes = std::min({bytes, targets[index_of(from)].room, targets[index_of(to)].room});
      auto const types = std::pair(targets[index_of(from)].type, targets[index_of(to)].type);
      auto const [known, is_new] = largest.try_emplace(types, TransferProbe{from, to, bytes});
      if (!is_new && known->second.bytes < bytes) known->second = {from, to, bytes};
    };
    std::vector<std::set<int>> from(graph.fields.size()), to(graph.fields.size());
    for (auto const& task : graph.tasks) {
      for (int const field : task.makes)
        from[index_of(field)].insert(task.eligible.begin(), task.eligible.end());
      for (int const field : task.reads)
        to[index_of(field)].insert(task.eligible.begin(), task.eligible.end());
    }
    int const host = host_of(graph);
    for (std::size_t field = 0; field < graph.fields.size(); ++field) {
      auto const& of = graph.fields[field];
      bool const is_made = !from[field].empty();
      for (int const home : {of.home, of.second_home}) {
        if (home < 0) continue;
        if (!is_made || !of.is_covered) from[field].insert(home);
        if (is_made) to[field].insert(home);
      }
      for (int const source : from[field])
        for (int const target : to[field]) {
          if (source == target) continue;
          if (is_direct(graph, source, target)) {
            note(source, target, of.bytes);
          } else if (host >= 0) {
            note(source, host, of.bytes);
            note(host, target, of.bytes);
          }
        }
    }
    m_links.clear();
    for (auto const& [types, probe] : largest)
      for (std::size_t const bytes : {std::min(small, probe.bytes), probe.bytes})
        if (bytes > 0) {
          // Both sizes use one block: small blocks would be in the way of large ones later.
          m_links.push_back({types, {probe.from, probe.to, bytes, probe.bytes}});
          m_probes.try_emplace(Key{types, bytes});
        }
  }
  /// Returns the probes that are still needed.
  [[nodiscard]] std::vector<TransferProbe> wanted() const {
    std::vector<TransferProbe> all;
    for (auto const& [types, probe] : m_links) {
      Probe const& known = m_probes.at({types, probe.bytes});
      bool const is_there = std::find(all.begin(), all.end(), probe) != all.end();
      int const runs = known.warm.has_value() ? least_runs : most_runs;
      if (!is_there && known.sent < runs) all.push_back(probe);
    }
    return all;
  }
  void submitted(PlacementGraph::Target const& from, PlacementGraph::Target const& to,
                 std::size_t bytes) {
    ++m_probes[{{from.type, to.type}, bytes}].sent;
  }
  void copied(PlacementGraph::Target const& from, PlacementGraph::Target const& to,
              TransferTime const& time) {
    if (!time.is_probe) {
      if (!time.is_lost && !time.found_new_memory)
        m_others.add(from.type, to.type, time.bytes, time.nanoseconds);
      return;
    }
    Probe& probe = m_probes[{{from.type, to.type}, time.bytes}];
    ++probe.seen;
    if (time.is_lost) return;
    auto& best = time.found_new_memory ? probe.cold : probe.warm;
    best = std::min(best.value_or(time.nanoseconds), time.nanoseconds);
  }
  /// True if all times that are expected have come.
  [[nodiscard]] bool all_known() const {
    return std::all_of(m_links.begin(), m_links.end(), [&](auto const& link) {
      Probe const& probe = m_probes.at({link.first, link.second.bytes});
      int const runs = probe.warm.has_value() ? least_runs : most_runs;
      return probe.seen >= runs;
    });
  }
  /// Prepares `cost`.
  void fit(int host_type) {
    m_costs = {};
    for (auto const& [key, probe] : m_probes)
      if (auto const time = probe.warm.has_value() ? probe.warm : probe.cold)
        m_costs.add(key.first.first, key.first.second, key.second, *time);
    m_costs.set_host(host_type);
    m_others.set_host(host_type);
  }
  [[nodiscard]] double cost(int from, int to, std::size_t bytes) const {
    return m_costs.knows(from, to) ? m_costs.cost(from, to, bytes) : m_others.cost(from, to, bytes);
  }

 private:
  using Key = std::pair<std::pair<int, int>, std::size_t>;  ///< types of targets, and bytes
  struct Probe {
    int sent = 0;
    int seen = 0;
    std::optional<std::int64_t> warm;
    std::optional<std::int64_t> cold;
  };
  static constexpr std::size_t small = 8;
  static constexpr int least_runs = 2;
  static constexpr int most_runs = 4;

  std::vector<std::pair<std::pair<int, int>, TransferProbe>> m_links;
  std::map<Key, Probe> m_probes;
  TransferCosts m_costs;   ///< costs of probes
  TransferCosts m_others;  ///< costs of other copies, which may have waited
};

/// It has three states. First, some task has not run often enough on all types, or some link has
/// not been measured, and the next iteration does that. Then all runs have been submitted, and it
/// waits for times, with the places of the last iteration. At last all times are known, and the
/// places are fixed.
///
/// One lock guards everything. Iterations report on the threads that end their tasks, at most once
/// for each measured task and copy.
class HybridPlacement final : public PlacementPolicy {
 public:
  explicit HybridPlacement(HybridOptions const& options) : m_options(options) {}
  [[nodiscard]] std::string_view name() const override { return "hybrid"; }

  void prepare(PlacementGraph const& graph, std::span<int> places) override {
    std::lock_guard const lock(m_mutex);
    m_targets = graph.targets;
    m_sent.clear();
    m_asked.clear();
    bool const is_other_graph = !m_version.has_value() || *m_version != graph.version;
    m_version = graph.version;
    if (is_other_graph) {
      m_impossible.clear();
      m_probes.expect(graph);
    }
    if (use_fixed(graph, is_other_graph, places)) return;
    m_fixed.clear();
    m_is_fixed = false;
    m_asked = m_probes.wanted();
    while (auto const type = next_type(graph))
      if (send(graph, *type, places)) return;
    if (m_asked.empty() && all_known(graph)) {
      decide(graph, places);
    } else {
      put(find_fitting(graph, places), places);
      note_sent(graph, places);  // these times count, too
    }
  }
  [[nodiscard]] std::vector<TransferProbe> probes() const override {
    std::lock_guard const lock(m_mutex);
    return m_asked;
  }
  void submitted() override {
    std::lock_guard const lock(m_mutex);
    for (auto const& key : m_sent) ++m_profiles[key].sent;
    for (TransferProbe const& probe : m_asked)
      m_probes.submitted(m_targets[index_of(probe.from)], m_targets[index_of(probe.to)],
                         probe.bytes);
  }
  [[nodiscard]] bool wants_times() const override {
    std::lock_guard const lock(m_mutex);
    return !m_is_fixed;
  }
  void ran(PlacementTime const& time) override {
    std::lock_guard const lock(m_mutex);
    auto const known = m_profiles.find({time.task, m_targets[index_of(time.target)].type});
    if (known == m_profiles.end()) return;
    Profile& profile = known->second;
    if (time.is_lost) {
      --profile.sent;
      return;
    }
    // The first run warms up. Memory may be new again if iterations overlap, but not for ever.
    constexpr int enough = 8;
    bool const is_first = profile.seen++ == 0;
    if (is_first) return;
    if (time.found_new_memory && profile.seen < enough) {
      --profile.sent;
      return;
    }
    profile.sum += static_cast<double>(time.nanoseconds);
    ++profile.counted;
  }
  void copied(TransferTime const& time) override {
    std::lock_guard const lock(m_mutex);
    m_probes.copied(m_targets[index_of(time.from)], m_targets[index_of(time.to)], time);
  }
  void forget() override {
    std::lock_guard const lock(m_mutex);
    m_profiles.clear();
    m_probes.clear();
    m_fixed.clear();
    m_is_fixed = false;
    m_version.reset();
  }

 private:
  struct Profile {
    int sent = 0;     ///< runs, in iterations that have been submitted
    int seen = 0;     ///< runs whose times have come
    int counted = 0;  ///< runs in `sum`
    double sum = 0;   ///< nanoseconds
  };
  using Key = std::pair<std::size_t, int>;  ///< number of the task, type of the target
  static constexpr int runs_needed = 2;     ///< one to warm up, one that counts

  [[nodiscard]] static bool may_be_at(PlacementGraph::Task const& task, int target) {
    return std::find(task.eligible.begin(), task.eligible.end(), target) != task.eligible.end();
  }
  /// Returns the types on which the task must run.
  [[nodiscard]] std::set<int> types_of(PlacementGraph const& graph,
                                       PlacementGraph::Task const& task) const {
    std::set<int> types;
    for (int const target : task.eligible)
      if (int const type = graph.targets[index_of(target)].type;
          m_impossible.count({task.number, type}) == 0)
        types.insert(type);
    return types;
  }
  [[nodiscard]] static bool has_choice(PlacementGraph const& graph,
                                       PlacementGraph::Task const& task) {
    int const first = graph.targets[index_of(task.eligible.front())].type;
    return std::any_of(task.eligible.begin(), task.eligible.end(),
                       [&](int target) { return graph.targets[index_of(target)].type != first; });
  }
  static void put(std::vector<int> const& from, std::span<int> places) {
    std::copy(from.begin(), from.end(), places.begin());  // empty: the model refuses them
  }

  /// Uses the fixed places, if all tasks have one and they fit.
  [[nodiscard]] bool use_fixed(PlacementGraph const& graph, bool is_other_graph,
                               std::span<int> places) {
    if (m_fixed.size() != graph.tasks.size()) return false;
    std::vector<int> all;
    for (auto const& task : graph.tasks) {
      auto const fixed = m_fixed.find(task.number);
      if (fixed == m_fixed.end() || !may_be_at(task, fixed->second)) return false;
      all.push_back(fixed->second);
    }
    if (is_other_graph && missing_bytes(graph, all) != 0) return false;
    put(all, places);
    m_is_fixed = true;
    return true;
  }
  [[nodiscard]] bool is_missing(std::size_t task, int type) const {
    auto const known = m_profiles.find({task, type});
    return known == m_profiles.end() || known->second.sent < runs_needed;
  }
  /// Returns a type on which some task must still run.
  [[nodiscard]] std::optional<int> next_type(PlacementGraph const& graph) const {
    std::optional<int> next;
    for (auto const& task : graph.tasks) {
      if (!has_choice(graph, task)) continue;
      for (int const type : types_of(graph, task))
        if (is_missing(task.number, type) && (!next.has_value() || type < *next)) next = type;
    }
    return next;
  }
  [[nodiscard]] bool all_known(PlacementGraph const& graph) const {
    for (auto const& task : graph.tasks) {
      if (!has_choice(graph, task)) continue;
      for (int const type : types_of(graph, task)) {
        auto const known = m_profiles.find({task.number, type});
        if (known == m_profiles.end() || known->second.counted == 0) return false;
      }
    }
    return m_probes.all_known();
  }

  /// Places as many tasks as fit on this type: all at once, or else unit by unit, with the others
  /// on the host. A unit for which no room is found there, wherever the others are, is never placed
  /// there. Returns false if this is so for all tasks that must run there.
  [[nodiscard]] bool send(PlacementGraph const& graph, int type, std::span<int> places) {
    std::vector<int> types, host_types;
    for (auto const& task : graph.tasks) {
      auto const may_be = types_of(graph, task);
      host_types.push_back(graph.targets[index_of(on_host_if_it_may(graph, task))].type);
      types.push_back(may_be.count(type) != 0 ? type : host_types.back());
    }
    std::vector<int> const all = choose_targets(graph, types, m_options.balance);
    if (missing_bytes(graph, all) != 0 && !send_some(graph, type, all, host_types, places))
      return false;
    if (m_sent.empty()) {
      put(all, places);
      note_sent(graph, places);
    }
    return true;
  }
  [[nodiscard]] bool send_some(PlacementGraph const& graph, int type, std::vector<int> const& all,
                               std::vector<int> const& host_types, std::span<int> places) {
    std::vector<int> now =
        find_fitting(graph, choose_targets(graph, host_types, m_options.balance));
    // If nothing fits, there is nothing to measure, and the iteration is refused.
    if (now.empty()) return true;
    std::set<int> sent;  // units placed on the type
    auto const is_to_be_sent = [&](PlacementGraph::Task const& task) {
      return has_choice(graph, task) && types_of(graph, task).count(type) != 0 &&
             is_missing(task.number, type);
    };
    auto const is_there = [&](std::size_t task) {
      return graph.targets[index_of(now[task])].type == type;
    };
    for (std::size_t k = 0; k < graph.tasks.size(); ++k)
      if (is_to_be_sent(graph.tasks[k]) && is_there(k)) sent.insert(graph.tasks[k].unit);
    for (std::size_t k = 0; k < graph.tasks.size(); ++k) {
      if (!is_to_be_sent(graph.tasks[k]) || is_there(k)) continue;
      std::vector<int> with = now;
      for (std::size_t other = 0; other < graph.tasks.size(); ++other)
        if (graph.tasks[other].unit == graph.tasks[k].unit) with[other] = all[k];
      if (missing_bytes(graph, with) != 0) continue;
      now = std::move(with);
      sent.insert(graph.tasks[k].unit);
    }
    for (auto const& task : graph.tasks) {
      if (!sent.empty()) break;
      if (!is_to_be_sent(task)) continue;
      std::vector<int> const with = find_fitting_there(graph, task.unit, type, now);
      if (!with.empty()) {
        now = with;
        sent.insert(task.unit);
      } else {
        for (auto const& other : graph.tasks)
          if (other.unit == task.unit) m_impossible.emplace(other.number, type);
      }
    }
    if (sent.empty()) return false;
    put(now, places);
    note_sent(graph, places);
    return true;
  }
  [[nodiscard]] static std::vector<int> find_fitting_there(PlacementGraph const& graph, int unit,
                                                           int type, std::vector<int> const& now) {
    std::vector<std::vector<int>> allowed;
    for (auto const& task : graph.tasks) {
      auto& targets = allowed.emplace_back(task.eligible);
      if (task.unit != unit) continue;
      std::erase_if(targets,
                    [&](int target) { return graph.targets[index_of(target)].type != type; });
    }
    return find_fitting(graph, now, &allowed);
  }
  void note_sent(PlacementGraph const& graph, std::span<int const> places) {
    for (std::size_t task = 0; task < places.size(); ++task)
      m_sent.emplace_back(graph.tasks[task].number, graph.targets[index_of(places[task])].type);
  }

  void decide(PlacementGraph const& graph, std::span<int> places) {
    int const host = host_of(graph);
    m_probes.fit(host < 0 ? 0 : graph.targets[index_of(host)].type);
    auto const type_of = [&](int target) { return graph.targets[index_of(target)].type; };
    PlacementCosts const costs{
        [&](int task, int target) {
          auto const known = m_profiles.find({graph.tasks[index_of(task)].number, type_of(target)});
          if (known == m_profiles.end() || known->second.counted == 0) return 0.0;
          return known->second.sum / known->second.counted;
        },
        [&](int from, int to, std::size_t bytes) {
          return m_probes.cost(type_of(from), type_of(to), bytes);
        }};
    std::vector<int> const chosen =
        choose_places(without_impossible(graph), costs, m_options.balance);
    if (chosen.empty()) return;  // nothing fits, and the iteration is refused
    put(chosen, places);
    for (std::size_t task = 0; task < places.size(); ++task)
      m_fixed[graph.tasks[task].number] = places[task];
    m_is_fixed = true;
  }
  /// Removes the targets that a task cannot use, as it has no time there.
  [[nodiscard]] PlacementGraph without_impossible(PlacementGraph const& graph) const {
    PlacementGraph possible = graph;
    for (auto& task : possible.tasks) {
      auto const is_impossible = [&](int target) {
        return m_impossible.count({task.number, graph.targets[index_of(target)].type}) != 0;
      };
      if (!std::all_of(task.eligible.begin(), task.eligible.end(), is_impossible))
        std::erase_if(task.eligible, is_impossible);
    }
    return possible;
  }

  HybridOptions const m_options;
  mutable std::mutex m_mutex;
  std::vector<PlacementGraph::Target> m_targets;
  std::optional<std::uint64_t> m_version;  ///< version of the graph of the last iteration
  std::map<Key, Profile> m_profiles;
  std::set<Key> m_impossible;          ///< tasks and types without room
  std::vector<Key> m_sent;             ///< runs in the prepared iteration
  std::vector<TransferProbe> m_asked;  ///< probes of the prepared iteration
  LinkProbes m_probes;
  std::map<std::size_t, int> m_fixed;  ///< the target of each task
  bool m_is_fixed = false;
};

}  // namespace

}  // namespace Impl

std::shared_ptr<PlacementPolicy> make_host_placement() {
  return std::make_shared<Impl::HostPlacement>();
}
std::shared_ptr<PlacementPolicy> make_order_placement() {
  return std::make_shared<Impl::OrderPlacement>();
}
std::shared_ptr<PlacementPolicy> make_hybrid_placement(HybridOptions const& options) {
  return std::make_shared<Impl::HybridPlacement>(options);
}

}  // namespace trellis
