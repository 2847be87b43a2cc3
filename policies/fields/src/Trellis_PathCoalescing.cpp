// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fields/impl/Trellis_PathCoalescing.hpp>

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>
#include <set>

namespace trellis::Impl {

namespace {

template <class T>
std::size_t position(T number) {
  return static_cast<std::size_t>(number);
}

bool may_be_at(PlacementGraph const& graph, int task, int type) {
  auto const& eligible = graph.tasks[position(task)].eligible;
  return std::any_of(eligible.begin(), eligible.end(),
                     [&](int target) { return graph.targets[position(target)].type == type; });
}

Consumers consumers_in(PlacementGraph const& graph) {
  Consumers consumers(graph.tasks.size());
  for (std::size_t task = 0; task < graph.tasks.size(); ++task)
    for (int const before : graph.tasks[task].before)
      consumers[position(before)].push_back(static_cast<int>(task));
  return consumers;
}

/// Chains that share a unit become one.
void join_units(PlacementGraph const& graph, Chains& chains) {
  std::map<int, std::size_t> chain_of_unit;
  for (std::size_t chain = 0; chain < chains.size(); ++chain) {
    for (std::size_t k = 0; k < chains[chain].size(); ++k) {
      auto const [known, is_new] =
          chain_of_unit.try_emplace(graph.tasks[position(chains[chain][k])].unit, chain);
      if (is_new || known->second == chain) continue;
      std::size_t const other = known->second;
      for (auto& [unit, of] : chain_of_unit)
        if (of == other) of = chain;
      auto& tasks = chains[chain];
      tasks.insert(tasks.end(), chains[other].begin(), chains[other].end());
      chains[other].clear();
    }
  }
  std::erase_if(chains, [](auto const& chain) { return chain.empty(); });
}

/// A number for each set of numbers.
class Sets {
 public:
  int number(std::set<int> const& of) {
    return m_numbers.try_emplace(of, static_cast<int>(m_numbers.size())).first->second;
  }

 private:
  std::map<std::set<int>, int> m_numbers;
};

}  // namespace

Chains coalesce_paths(Consumers const& consumers, std::vector<int> const& kinds) {
  std::size_t const tasks = consumers.size();
  std::vector<int> chain_of(tasks, -1);
  Chains chains;
  auto const open = [&](int task) {
    chain_of[position(task)] = static_cast<int>(chains.size());
    chains.push_back({task});
  };
  auto const look_at = [&](int source, int target) {
    bool const source_counts = kinds[position(source)] >= 0;
    if (source_counts && chain_of[position(source)] < 0) open(source);
    if (kinds[position(target)] < 0) return;
    if (kinds[position(source)] != kinds[position(target)]) {
      if (chain_of[position(target)] < 0) open(target);
      return;
    }
    int const from = chain_of[position(source)];
    int const to = chain_of[position(target)];
    auto& chain = chains[position(from)];
    if (chain.back() != source) return;
    if (to < 0) {
      chain.push_back(target);
      chain_of[position(target)] = from;
    } else if (to != from && chains[position(to)].front() == target) {
      for (int const task : chains[position(to)]) chain_of[position(task)] = from;
      chain.insert(chain.end(), chains[position(to)].begin(), chains[position(to)].end());
      chains[position(to)].clear();
    }
  };

  std::vector<bool> is_seen(tasks, false), is_consumer(tasks, false);
  for (auto const& of : consumers)
    for (int const each : of) is_consumer[position(each)] = true;
  std::deque<int> queue;
  for (std::size_t task = 0; task < tasks; ++task)
    if (!is_consumer[task]) {
      is_seen[task] = true;
      queue.push_back(static_cast<int>(task));
    }
  for (; !queue.empty(); queue.pop_front()) {
    int const source = queue.front();
    for (int const target : consumers[position(source)]) {
      look_at(source, target);
      if (!is_seen[position(target)]) queue.push_back(target);
      is_seen[position(target)] = true;
    }
  }
  for (std::size_t task = 0; task < tasks; ++task)
    if (kinds[task] >= 0 && chain_of[task] < 0) open(static_cast<int>(task));
  std::erase_if(chains, [](auto const& chain) { return chain.empty(); });
  return chains;
}

std::vector<int> balance_chains(Chains const& chains, int devices, Balance how) {
  std::vector<int> device_of;
  std::vector<std::size_t> load(position(devices), 0);
  int turn = 0;
  for (auto const& chain : chains) {
    int device = 0;
    if (how == Balance::round_robin) {
      device = ++turn % devices;
    } else {
      for (int each = 1; each < devices; ++each)
        if (load[position(each)] <= load[position(device)]) device = each;
    }
    load[position(device)] += chain.size();
    device_of.push_back(device);
  }
  return device_of;
}

// --- copies --------------------------------------------------------------------------------------

void TransferCosts::add(int from, int to, std::size_t bytes, std::int64_t nanoseconds) {
  auto const [least, is_new] = m_least[{from, to}].try_emplace(bytes, nanoseconds);
  if (!is_new) least->second = std::min(least->second, nanoseconds);
}

std::map<std::size_t, std::int64_t> const* TransferCosts::known(int from, int to) const {
  for (auto const& pair : {std::pair(from, to), std::pair(to, from)})
    if (auto const found = m_least.find(pair); found != m_least.end()) return &found->second;
  return nullptr;
}

double TransferCosts::cost(int from, int to, std::size_t bytes) const {
  if (auto const* const least = known(from, to)) return fit(*least, bytes);
  auto const* const in = known(from, m_host);
  auto const* const out = known(m_host, to);
  return (in != nullptr ? fit(*in, bytes) : 0) + (out != nullptr ? fit(*out, bytes) : 0);
}

/// Least squares: latency + bytes / bandwidth, neither negative. One size alone tells a bandwidth.
double TransferCosts::fit(std::map<std::size_t, std::int64_t> const& least, std::size_t bytes) {
  double const count = static_cast<double>(least.size());
  double x = 0, y = 0;
  for (auto const& [size, time] : least) {
    x += static_cast<double>(size) / count;
    y += static_cast<double>(time) / count;
  }
  double xx = 0, xy = 0;
  for (auto const& [size, time] : least) {
    xx += (static_cast<double>(size) - x) * (static_cast<double>(size) - x);
    xy += (static_cast<double>(size) - x) * (static_cast<double>(time) - y);
  }
  auto const amount = static_cast<double>(bytes);
  double const slope = xx > 0 ? std::max(0.0, xy / xx) : -1;
  double const latency = y - slope * x;
  if (slope < 0 || latency < 0) return x > 0 ? y * amount / x : y;
  return latency + slope * amount;
}

// --- choosing ------------------------------------------------------------------------------------

double cost_of(PlacementGraph const& graph, std::vector<int> const& types,
               PlacementCosts const& costs) {
  double sum = 0;
  std::vector<int> made_at(graph.fields.size(), -1);
  std::vector<std::set<int>> needed_at(graph.fields.size());
  for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
    sum += costs.time(static_cast<int>(task), types[task]);
    for (int const field : graph.tasks[task].makes) made_at[position(field)] = types[task];
    for (int const field : graph.tasks[task].reads) needed_at[position(field)].insert(types[task]);
  }
  for (std::size_t field = 0; field < graph.fields.size(); ++field) {
    PlacementGraph::Field const& of = graph.fields[field];
    int const home = of.home < 0 ? -1 : graph.targets[position(of.home)].type;
    int const from = made_at[field] >= 0 ? made_at[field] : home;
    if (home >= 0) needed_at[field].insert(home);
    if (from < 0) continue;
    for (int const to : needed_at[field])
      if (to != from) sum += costs.transfer(from, to, of.bytes);
  }
  return sum;
}

std::vector<int> choose_types(PlacementGraph const& graph, PlacementCosts const& costs) {
  std::set<int> types;
  for (auto const& target : graph.targets) types.insert(target.type);
  // Tasks with the same choice form chains.
  Sets sets;
  std::vector<int> kinds;
  for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
    std::set<int> may_be;
    for (int const type : types)
      if (may_be_at(graph, static_cast<int>(task), type)) may_be.insert(type);
    kinds.push_back(sets.number(may_be));
  }
  Chains chains = coalesce_paths(consumers_in(graph), kinds);
  join_units(graph, chains);
  std::vector<std::vector<int>> ways;
  double all_ways = 1;
  for (auto const& chain : chains) {
    auto& way = ways.emplace_back();
    for (int const type : types)
      if (std::all_of(chain.begin(), chain.end(),
                      [&](int task) { return may_be_at(graph, task, type); }))
        way.push_back(type);
    all_ways *= static_cast<double>(way.size());
  }
  std::vector<int> now(graph.tasks.size(), 0);
  auto const put = [&](std::size_t chain, int type) {
    for (int const task : chains[chain]) now[position(task)] = type;
  };
  std::vector<int> best;
  double least = std::numeric_limits<double>::infinity();
  auto const consider = [&] {
    double const cost = cost_of(graph, now, costs);
    if (cost >= least) return false;
    least = cost;
    best = now;
    return true;
  };

  constexpr double few = 4096;
  if (all_ways <= few) {
    std::vector<std::size_t> digits(chains.size(), 0);
    for (std::size_t chain = 0; chain < chains.size(); ++chain) put(chain, ways[chain][0]);
    for (;;) {
      consider();
      std::size_t chain = 0;
      for (; chain < chains.size(); ++chain) {
        digits[chain] = (digits[chain] + 1) % ways[chain].size();
        put(chain, ways[chain][digits[chain]]);
        if (digits[chain] != 0) break;
      }
      if (chain == chains.size()) return best;
    }
  }
  // From all on one type, chain by chain, as long as that gets better.
  for (int const start : types) {
    for (std::size_t chain = 0; chain < chains.size(); ++chain) {
      auto const& way = ways[chain];
      put(chain, std::find(way.begin(), way.end(), start) != way.end() ? start : way[0]);
    }
    std::vector<int> here = now;
    double cost = cost_of(graph, here, costs);
    for (bool is_better = true; is_better;) {
      is_better = false;
      for (std::size_t chain = 0; chain < chains.size(); ++chain) {
        for (int const type : ways[chain]) {
          now = here;
          put(chain, type);
          double const with = cost_of(graph, now, costs);
          if (with >= cost) continue;
          cost = with;
          here = now;
          is_better = true;
        }
      }
    }
    now = here;
    consider();
  }
  return best;
}

std::vector<int> choose_targets(PlacementGraph const& graph, std::vector<int> const& types,
                                Balance balance) {
  std::vector<int> targets(graph.tasks.size(), 0);
  Sets sets;
  std::vector<int> kinds;
  std::map<int, std::vector<int>> targets_of;  // of a kind: where its tasks may go
  for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
    std::set<int> may_be;
    for (int const target : graph.tasks[task].eligible)
      if (graph.targets[position(target)].type == types[task]) may_be.insert(target);
    if (graph.targets[position(*may_be.begin())].is_host) {
      targets[task] = *may_be.begin();
      kinds.push_back(-1);
    } else {
      kinds.push_back(sets.number(may_be));
      targets_of[kinds.back()].assign(may_be.begin(), may_be.end());
    }
  }
  Chains chains = coalesce_paths(consumers_in(graph), kinds);
  join_units(graph, chains);
  for (auto const& [kind, devices] : targets_of) {
    Chains alike;
    for (auto const& chain : chains)
      if (kinds[position(chain.front())] == kind) alike.push_back(chain);
    std::vector<int> const device_of =
        balance_chains(alike, static_cast<int>(devices.size()), balance);
    for (std::size_t chain = 0; chain < alike.size(); ++chain)
      for (int const task : alike[chain])
        targets[position(task)] = devices[position(device_of[chain])];
  }
  return targets;
}

}  // namespace trellis::Impl
