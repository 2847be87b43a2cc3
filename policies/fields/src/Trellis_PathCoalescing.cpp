// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fields/impl/Trellis_PathCoalescing.hpp>

#include <algorithm>
#include <deque>
#include <set>

namespace trellis::Impl {

namespace {

template <class T>
std::size_t position(T number) {
  return static_cast<std::size_t>(number);
}

Consumers consumers_in(PlacementGraph const& graph) {
  Consumers consumers(graph.tasks.size());
  for (std::size_t task = 0; task < graph.tasks.size(); ++task)
    for (int const before : graph.tasks[task].before)
      consumers[position(before)].push_back(static_cast<int>(task));
  return consumers;
}

/// Joins chains that share a unit.
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

/// Fits latency + bytes / bandwidth by least squares, neither of them negative. A single size gives
/// a bandwidth only.
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

// --- devices of a type ---------------------------------------------------------------------------

Chains chains_of(PlacementGraph const& graph, std::vector<std::set<int>> const& choices) {
  std::map<std::set<int>, int> numbers;
  std::vector<int> kinds;
  for (auto const& choice : choices)
    kinds.push_back(
        choice.empty()
            ? -1
            : numbers.try_emplace(choice, static_cast<int>(numbers.size())).first->second);
  Chains chains = coalesce_paths(consumers_in(graph), kinds);
  join_units(graph, chains);
  return chains;
}

std::vector<int> choose_targets(PlacementGraph const& graph, std::vector<int> const& types,
                                Balance balance) {
  std::vector<int> targets(graph.tasks.size(), 0);
  std::vector<std::set<int>> choices(graph.tasks.size());  // devices, by task
  for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
    std::set<int>& may_be = choices[task];
    for (int const target : graph.tasks[task].eligible)
      if (graph.targets[position(target)].type == types[task]) may_be.insert(target);
    targets[task] = *may_be.begin();
    if (graph.targets[position(targets[task])].is_host) may_be.clear();
  }
  if (std::all_of(choices.begin(), choices.end(), [](auto const& each) { return each.size() < 2; }))
    return targets;
  std::map<std::set<int>, Chains> alike;
  for (auto const& chain : chains_of(graph, choices))
    alike[choices[position(chain.front())]].push_back(chain);
  for (auto const& [may_be, chains] : alike) {
    std::vector<int> const devices(may_be.begin(), may_be.end());
    std::vector<int> const device_of =
        balance_chains(chains, static_cast<int>(devices.size()), balance);
    for (std::size_t chain = 0; chain < chains.size(); ++chain)
      for (int const task : chains[chain])
        targets[position(task)] = devices[position(device_of[chain])];
  }
  return targets;
}

}  // namespace trellis::Impl
