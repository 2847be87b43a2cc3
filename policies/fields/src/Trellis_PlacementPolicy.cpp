// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fields/Trellis_PlacementPolicy.hpp>
#include <fields/impl/Trellis_PathCoalescing.hpp>

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

/// States: some task has not been sent to all types often enough, and the next pass sends those of
/// one type there; all have been sent, and times are awaited, with the places of the last pass; all
/// times are there, and the places are fixed.
///
/// One lock guards all. Passes report on the threads that end their tasks, at most once for each
/// task that is measured.
class HybridPlacement final : public PlacementPolicy {
 public:
  explicit HybridPlacement(HybridOptions const& options) : m_options(options) {}
  [[nodiscard]] std::string_view name() const override { return "hybrid"; }

  void prepare(PlacementGraph const& graph, std::span<int> places) override {
    std::lock_guard const lock(m_mutex);
    m_targets = graph.targets;
    m_sent.clear();
    if (m_fixed.size() == graph.tasks.size() &&
        std::all_of(graph.tasks.begin(), graph.tasks.end(), [&](auto const& task) {
          auto const fixed = m_fixed.find(task.number);
          return fixed != m_fixed.end() && may_be_at(task, fixed->second);
        })) {
      for (std::size_t task = 0; task < places.size(); ++task)
        places[task] = m_fixed.at(graph.tasks[task].number);
      m_is_fixed = true;
      return;
    }
    m_fixed.clear();
    m_is_fixed = false;
    if (auto const type = next_type(graph)) {
      send(graph, *type, places);
    } else if (all_known(graph)) {
      decide(graph, places);
    } else {
      note_sent(graph, places);  // their times are as good as any
    }
  }
  void submitted() override {
    std::lock_guard const lock(m_mutex);
    for (auto const& key : m_sent) ++m_profiles[key].sent;
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
    // The first run warms up. Memory may be new again where passes overlap; not for ever.
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
    m_transfers.add(m_targets[index_of(time.from)].type, m_targets[index_of(time.to)].type,
                    time.bytes, time.nanoseconds);
  }
  void forget() override {
    std::lock_guard const lock(m_mutex);
    m_profiles.clear();
    m_transfers = {};
    m_fixed.clear();
    m_is_fixed = false;
  }

 private:
  struct Profile {
    int sent = 0;     ///< runs, in passes that have been submitted
    int seen = 0;     ///< of these, times that have come
    int counted = 0;  ///< of these, those in `sum`
    double sum = 0;   ///< nanoseconds
  };
  using Key = std::pair<std::size_t, int>;  ///< number of the task, type of the target
  static constexpr int runs_needed = 2;     ///< one to warm up, one that counts

  [[nodiscard]] static bool may_be_at(PlacementGraph::Task const& task, int target) {
    return std::find(task.eligible.begin(), task.eligible.end(), target) != task.eligible.end();
  }
  [[nodiscard]] static std::set<int> types_of(PlacementGraph const& graph,
                                              PlacementGraph::Task const& task) {
    std::set<int> types;
    for (int const target : task.eligible) types.insert(graph.targets[index_of(target)].type);
    return types;
  }
  /// To which some task is still to be sent.
  [[nodiscard]] std::optional<int> next_type(PlacementGraph const& graph) const {
    std::optional<int> next;
    for (auto const& task : graph.tasks) {
      auto const types = types_of(graph, task);
      if (types.size() < 2) continue;
      for (int const type : types) {
        auto const known = m_profiles.find({task.number, type});
        if (known != m_profiles.end() && known->second.sent >= runs_needed) continue;
        if (!next.has_value() || type < *next) next = type;
      }
    }
    return next;
  }
  [[nodiscard]] bool all_known(PlacementGraph const& graph) const {
    for (auto const& task : graph.tasks) {
      auto const types = types_of(graph, task);
      if (types.size() < 2) continue;
      for (int const type : types) {
        auto const known = m_profiles.find({task.number, type});
        if (known == m_profiles.end() || known->second.counted == 0) return false;
      }
    }
    return true;
  }
  void send(PlacementGraph const& graph, int type, std::span<int> places) {
    std::vector<int> types;
    for (auto const& task : graph.tasks) {
      auto const may_be = types_of(graph, task);
      int const else_where = graph.targets[index_of(on_host_if_it_may(graph, task))].type;
      types.push_back(may_be.count(type) != 0 ? type : else_where);
    }
    std::vector<int> const targets = choose_targets(graph, types, m_options.balance);
    std::copy(targets.begin(), targets.end(), places.begin());
    note_sent(graph, places);
  }
  void note_sent(PlacementGraph const& graph, std::span<int const> places) {
    for (std::size_t task = 0; task < places.size(); ++task)
      m_sent.emplace_back(graph.tasks[task].number, graph.targets[index_of(places[task])].type);
  }
  void decide(PlacementGraph const& graph, std::span<int> places) {
    for (auto const& target : graph.targets)
      if (target.is_host) m_transfers.set_host(target.type);
    PlacementCosts const costs{
        [&](int task, int type) {
          auto const known = m_profiles.find({graph.tasks[index_of(task)].number, type});
          if (known == m_profiles.end() || known->second.counted == 0) return 0.0;
          return known->second.sum / known->second.counted;
        },
        [&](int from, int to, std::size_t bytes) { return m_transfers.cost(from, to, bytes); }};
    std::vector<int> const targets =
        choose_targets(graph, choose_types(graph, costs), m_options.balance);
    for (std::size_t task = 0; task < places.size(); ++task) {
      places[task] = targets[task];
      m_fixed[graph.tasks[task].number] = targets[task];
    }
    m_is_fixed = true;
  }

  HybridOptions const m_options;
  mutable std::mutex m_mutex;
  std::vector<PlacementGraph::Target> m_targets;
  std::map<Key, Profile> m_profiles;
  std::vector<Key> m_sent;  ///< by the pass that has been prepared
  TransferCosts m_transfers;
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
