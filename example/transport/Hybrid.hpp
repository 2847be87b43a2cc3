// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_TRANSPORT_HYBRID_HPP
#define TRELLIS_EXAMPLE_TRANSPORT_HYBRID_HPP

#include <Trellis_Simulated.hpp>
#include <Trellis.hpp>
#include <Trellis_Fields.hpp>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "Model.hpp"
#include "Plain.hpp"
#include "Problem.hpp"
#include "Report.hpp"

/// This header solves the equations on a host and two devices of different speeds, in software.
/// Values are really computed; times are virtual, those of `Machine`.
namespace transport {

using trellis::Simulated;
using HostKernels = Simulated::kernel_space;

/// What ran on the host, and when. One thread at a time writes it.
struct HostRun {
  std::string label;
  std::int64_t begin;
  std::int64_t end;
};
using HostLog = std::vector<HostRun>;

/// A kernel with the time that the host would need for it.
template <class Kernel>
struct OnVirtualHost {
  Kernel kernel;
  std::int64_t nanoseconds;
  std::string label;
  std::shared_ptr<HostLog> log;
  template <class... Views>
  void operator()(int row, Views const&... views) const {
    if (row == 0) {
      std::int64_t const begin = Simulated::clock().now();
      Simulated::clock().spend(nanoseconds);
      log->push_back({label, begin, begin + nanoseconds});
    }
    kernel(row, views...);
  }
};

/// Places each task on the host or on a device.
struct Anywhere {
  int cells;
  std::shared_ptr<HostLog> log;
  template <class Functor, class... Annotations>
  void operator()(trellis::FieldGraph& model, std::string const& label, int rows,
                  Functor const& functor, Annotations const&... annotations) const {
    OnVirtualHost<Functor> const on_host{functor, std::int64_t{rows} * cells, label, log};
    trellis::parallel_for(label, trellis::ResourcePolicy(model, rows, annotations...),
                          trellis::variants(trellis::for_space<HostKernels>(on_host),
                                            trellis::for_space<Simulated>(functor)));
  }
};

inline void configure_devices(Problem const& problem) {
  std::vector<trellis::SimulatedDeviceOptions> devices;
  for (double const speed : {Machine::fast, Machine::slow}) {
    auto& device = devices.emplace_back();
    device.virtual_time = true;
    device.launch_latency = Machine::launch_latency;
    device.start_overhead = Machine::start_overhead;
    device.units_per_ns = speed;
    device.index_units = problem.cells;  // an index is a row
    device.concurrent_kernels = 1;
    device.link_bytes_per_ns = Machine::link_bytes;
    device.link_latency = Machine::link_latency;
  }
  Simulated::configure_each(devices);
}

/// One way to place the tasks.
class HybridRun {
 public:
  HybridRun(Problem const& problem, std::shared_ptr<trellis::PlacementPolicy> placement,
            bool serial = false)
      : m_graph(options(serial)),
        m_log(std::make_shared<HostLog>()),
        m_model(m_graph, problem, targets(std::move(placement)), Anywhere{problem.cells, m_log}) {}

  /// Returns the time of the iteration. One thread does everything, so it is the same each time.
  std::int64_t step() {
    m_log->clear();
    for (int number : {0, 1}) Simulated::device(number).clear_log();
    std::int64_t const begin = Simulated::clock().now();
    if (is_serial())
      m_model.submit_iteration();
    else
      trellis::host_task("iteration", trellis::ResourcePolicy(m_graph, trellis::main_thread),
                         [this] { m_model.submit_iteration(); });
    m_graph.wait();
    std::int64_t const end = Simulated::clock().now();
    m_begin = begin;
    m_records.clear();
    for (int number : {0, 1})
      for (trellis::SimulatedRecord const& record : Simulated::device(number).log())
        if (record.kind == trellis::SimulatedRecord::Kind::launch ||
            record.kind == trellis::SimulatedRecord::Kind::copy)
          m_records.emplace_back(number, record);
    m_model.submit_updates();
    m_graph.wait();
    return end - begin;
  }
  [[nodiscard]] bool is_serial() const { return *m_graph.options().serial; }
  [[nodiscard]] F::host_view phi(int equation) const { return m_model.phi(equation); }
  [[nodiscard]] auto const& model() const { return m_model; }
  [[nodiscard]] int copies() const {
    int count = 0;
    for (auto const& [number, record] : m_records)
      if (record.kind == trellis::SimulatedRecord::Kind::copy) ++count;
    return count;
  }
  /// Returns the last iteration, in virtual time.
  [[nodiscard]] trellis::Trace trace() const {
    trellis::Trace trace;
    trace.rows = {"host"};
    for (char const* const name : {"fast device", "slow device"})
      for (char const* const what : {"", ", to it", ", from it"})
        trace.rows.push_back(std::string(name) + what);
    std::vector<trellis::TaskRecord> nodes;
    auto const add = [&](std::string const& label, int row, std::int64_t begin, std::int64_t end) {
      auto& task = nodes.emplace_back();
      task.id = nodes.size();
      task.label = label;
      task.pattern = row % 3 == 1 || row == 0 ? "parallel_for" : "deep_copy";
      task.row = row;
      task.state = trellis::TaskState::done;
      task.submitted_ns = task.ready_ns = 1;
      task.started_ns = static_cast<std::uint64_t>(begin - m_begin + 1);  // 0: has not begun
      task.finished_ns = static_cast<std::uint64_t>(end - m_begin + 1);
    };
    for (HostRun const& each : *m_log) add(each.label, 0, each.begin, each.end);
    for (auto const& [number, record] : m_records) {
      bool const is_copy = record.kind == trellis::SimulatedRecord::Kind::copy;
      bool const is_to_host = is_copy && record.name.ends_with(" to Host");
      add(record.name,
          1 + 3 * number +
              (is_to_host ? 2
               : is_copy  ? 1
                          : 0),
          record.begin, record.end);
    }
    trace.workers = 1;
    trace.threads = 1;
    trace.graph = trellis::SchedulingGraph(std::move(nodes), {});
    return trace;
  }

 private:
  static trellis::TaskGraphOptions options(bool serial) {
    trellis::TaskGraphOptions options;
    options.name = "transport, hybrid";
    options.workers = options.threads_per_worker = 1;
    options.policy = trellis::make_fifo_policy();  // the same in each run
    options.serial = serial;
    return options;
  }
  static trellis::FieldGraphOptions targets(std::shared_ptr<trellis::PlacementPolicy> placement) {
    trellis::FieldGraphOptions options;
    options.name = "transport, hybrid";
    options.targets = {trellis::host, trellis::target<Simulated>(0), trellis::target<Simulated>(1)};
    options.placement = std::move(placement);
    return options;
  }

  trellis::TaskGraph m_graph;
  std::shared_ptr<HostLog> m_log;
  ModelOf<Anywhere> m_model;
  std::int64_t m_begin = 0;
  std::vector<std::pair<int, trellis::SimulatedRecord>> m_records;  ///< with the device
};

/// Calls `look` with the run at the end, whose last iteration had the chosen places.
template <class Look>
HybridFindings run_hybrid(Problem const& problem, Look&& look) {
  HybridFindings found;
  found.problem = problem;
  configure_devices(problem);
  Plain plain(problem, host_with(1));
  plain.step();
  for (bool const serial : {true, false}) {
    HybridRun run(problem, trellis::make_host_placement(), serial);
    std::int64_t const takes = run.step();
    if (!serial) found.host_ns = takes;
    found.agrees = found.agrees && agree(problem, run, plain);
  }
  auto const placement = trellis::make_hybrid_placement();
  HybridRun run(problem, placement);
  for (bool is_last = false; !is_last;) {
    found.hybrid_ns = run.step();
    found.agrees = found.agrees && agree(problem, run, plain);
    ++found.steps;
    is_last = !placement->wants_times() || run.is_serial();  // where no policy chooses
    if (!is_last) plain.step();
  }
  found.copies = run.copies();
  for (auto const& [label, where] : run.model().assignment())
    ++found.assignment[label.substr(0, label.find(' '))][where.name()];
  look(run);
  return found;
}

}  // namespace transport

#endif
