// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_VIRTUALDEVICES_HPP
#define TRELLIS_IMPL_VIRTUALDEVICES_HPP

#include <Trellis_WhatIf.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace trellis::Impl {

/// The devices of a trace, on which tasks run in virtual time. A kind of device is a name without a
/// number: "Cuda" and "Cuda device 1" are two of one kind.
class VirtualDevices {
 public:
  static constexpr std::size_t none = ~std::size_t{0};

  VirtualDevices(Trace const& trace, Machine const& machine)
      : m_of(trace.graph.nodes().size(), none) {
    std::vector<TaskRecord> const& nodes = trace.graph.nodes();
    std::map<std::string, std::vector<std::size_t>> tasks;  // by device
    if (trace.threads > 0)
      for (std::size_t p = 0; p < nodes.size(); ++p)
        if (nodes[p].row >= 0 && static_cast<std::size_t>(nodes[p].row) >= trace.threads)
          tasks[nodes[p].space].push_back(p);
    std::map<std::string, std::size_t> kinds;
    for (auto const& [name, of_device] : tasks) {
      std::string const kind = machine.devices > 0 ? kind_of(name) : name;
      auto const [found, is_new] = kinds.try_emplace(kind, m_pools.size());
      if (is_new) m_pools.push_back({kind, {}, {}, 0});
      Pool& pool = m_pools[found->second];
      pool.places =
          std::max(pool.places, machine.tasks_per_device > 0 ? machine.tasks_per_device
                                                             : most_at_a_time(nodes, of_device));
      pool.free.assign(machine.devices > 0 ? static_cast<std::size_t>(machine.devices) : 1,
                       pool.places);
      for (std::size_t const p : of_device) m_of[p] = found->second;
    }
  }

  [[nodiscard]] bool has(std::size_t task) const { return m_of[task] != none; }
  void push(std::size_t task, std::size_t wanted_device) {
    m_pools[m_of[task]].queue.push_back({task, wanted_device});
  }
  struct Placed {
    std::size_t task;
    std::size_t device;
  };
  /// Returns the next task that may start, and its device, on which it takes a place. `task` is
  /// `none` when there is no such task.
  [[nodiscard]] Placed take() {
    for (Pool& pool : m_pools) {
      if (pool.queue.empty()) continue;
      auto const [task, wanted] = pool.queue.front();
      std::size_t device = static_cast<std::size_t>(
          std::max_element(pool.free.begin(), pool.free.end()) - pool.free.begin());
      if (wanted < pool.free.size() && pool.free[wanted] == pool.free[device]) device = wanted;
      if (pool.free[device] == 0) continue;
      --pool.free[device];
      pool.queue.pop_front();
      return {task, device};
    }
    return {none, 0};
  }
  void give_back(std::size_t task, std::size_t device) { ++m_pools[m_of[task]].free[device]; }

  /// Returns the row, counted behind the workers' rows. The rows are the places of the devices, one
  /// after the other.
  [[nodiscard]] int row_of(std::size_t task, std::size_t device) const {
    int row = 0;
    for (std::size_t k = 0; k < m_of[task]; ++k)
      row += m_pools[k].places * static_cast<int>(m_pools[k].free.size());
    Pool const& pool = m_pools[m_of[task]];
    return row + static_cast<int>(device) * pool.places + pool.places - 1 - pool.free[device];
  }
  void add_rows(std::vector<std::string>& rows) const {
    for (Pool const& pool : m_pools)
      for (std::size_t device = 0; device < pool.free.size(); ++device)
        for (int place = 0; place < pool.places; ++place)
          rows.push_back(pool.name +
                         (pool.free.size() > 1 ? " device " + std::to_string(device) : "") +
                         (pool.places > 1 ? " place " + std::to_string(place) : ""));
  }

 private:
  struct Pool {
    std::string name;
    std::vector<int> free;     ///< number of free places, by device
    std::deque<Placed> queue;  ///< with the devices that they want
    int places = 1;            ///< of each device
  };

  static std::string kind_of(std::string name) {
    std::size_t const last = name.find_last_not_of("0123456789");
    if (last + 1 == name.size() || last == name.npos) return name;
    name.resize(last + 1);
    for (std::string const& tail : {std::string(" device "), std::string(" ")})
      if (name.ends_with(tail)) {
        name.resize(name.size() - tail.size());
        break;
      }
    return name;
  }
  static int most_at_a_time(std::vector<TaskRecord> const& nodes,
                            std::vector<std::size_t> const& tasks) {
    std::vector<std::pair<std::uint64_t, int>> changes;
    std::map<int, std::uint64_t> reached;  // by stream, where tasks queue
    std::vector<std::size_t> sorted = tasks;
    std::sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) {
      return nodes[a].started_ns < nodes[b].started_ns;
    });
    for (std::size_t const p : sorted) {
      std::uint64_t& end = reached[nodes[p].row];
      std::uint64_t const begin = std::max(nodes[p].started_ns, end);
      end = std::max(end, nodes[p].finished_ns);
      if (end <= begin) continue;
      changes.emplace_back(begin, 1);
      changes.emplace_back(end, -1);
    }
    std::sort(changes.begin(), changes.end());  // an end before a begin
    int now = 0;
    int most = 1;
    for (auto const& [time, change] : changes) most = std::max(most, now += change);
    return most;
  }

  std::vector<Pool> m_pools;
  std::vector<std::size_t> m_of;  ///< by task: its pool
};

}  // namespace trellis::Impl

#endif
