// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../taskbench/Kernel.hpp"
#include "../taskbench/Metg.hpp"
#include "Cores.hpp"
#include "Endpoint.hpp"
#include "Parts.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mpi_perf {
namespace {

using namespace trellis;
using Pattern = Traffic::Pattern;

/// A piece of computing on a View that no message touches.
struct Computing {
  Kokkos::View<double, Kokkos::HostSpace> result{"result"};
  std::int64_t iterations = 0;  ///< of a piece

  void piece() const { result() += taskbench::compute(iterations); }
};

/// Steps of messages, and pieces of computing for each of them, which have nothing to do with each
/// other.
class Both {
 public:
  Both(World const& world, Traffic const& traffic, mpi::Communicator const& comm,
       double answers_after, std::int64_t iterations, std::int64_t pieces)
      : m_world(world),
        m_endpoint(world, traffic, comm),
        m_trellis_comm(comm.comm()),
        m_answers_after(answers_after),
        m_pieces(pieces) {
    m_computing.iterations = iterations;
  }

  [[nodiscard]] double compute(std::int64_t steps) {
    return m_world.time([&] {
      if (!m_endpoint.takes_part() || m_endpoint.is_pong()) return;
      for (std::int64_t k = 0; k < steps * m_pieces; ++k) m_computing.piece();
    });
  }
  [[nodiscard]] double communicate(std::int64_t steps) {
    return timed(steps, m_world.comm(), [&] {
      for (std::int64_t step = 0; step < steps; ++step) m_endpoint.step_by_hand(step);
    });
  }
  /// Both, one after the other, in each step.
  [[nodiscard]] double bulk(std::int64_t steps) {
    return timed(steps, m_world.comm(), [&] {
      for (std::int64_t step = 0; step < steps; ++step) {
        m_endpoint.step_by_hand(step);
        for (std::int64_t k = 0; k < m_pieces; ++k) m_computing.piece();
      }
    });
  }
  /// By hand, with a look at the messages after each piece.
  [[nodiscard]] double by_hand(std::int64_t steps) {
    return timed(steps, m_world.comm(), [&] {
      for (std::int64_t step = 0; step < steps; ++step) {
        m_endpoint.begin_by_hand(step);
        bool is_over = m_endpoint.try_to_end();
        for (std::int64_t k = 0; k < m_pieces; ++k) {
          m_computing.piece();
          is_over = is_over || m_endpoint.try_to_end();
        }
        while (!is_over) is_over = m_endpoint.try_to_end();
      }
    });
  }
  template <class... Given>
  [[nodiscard]] double tasks(TaskGraph& graph, std::int64_t steps, Given const&... given) {
    return timed(steps, m_trellis_comm, [&] {
      for (std::int64_t step = 0; step < steps; ++step) {
        m_endpoint.submit_step(graph, step, given...);
        for (std::int64_t k = 0; k < m_pieces; ++k)
          host_task("piece", ResourcePolicy(graph, read_write(m_computing.result)),
                    [this] { m_computing.piece(); });
      }
      graph.wait();
    });
  }

 private:
  template <class F>
  double timed(std::int64_t steps, MPI_Comm comm, F const& f) {
    m_endpoint.reset();
    double const seconds = m_world.time([&] {
      if (m_endpoint.is_pong())
        for (std::int64_t step = 0; step < steps; ++step)
          m_endpoint.answer(step, m_answers_after, comm);
      else if (m_endpoint.takes_part())
        f();
    });
    m_endpoint.check();
    return seconds;
  }

  World const& m_world;
  Endpoint m_endpoint;
  MPI_Comm m_trellis_comm;
  double m_answers_after;
  Computing m_computing;
  std::int64_t m_pieces;
};

}  // namespace

void run_overlap(World const& world, Options const& options, Report& report) {
  std::vector<std::int64_t> bytes = options.bytes;
  if (bytes.empty()) bytes = {4096, 1 << 16, 1 << 20};
  if (options.smoke) bytes.resize(1);
  std::vector<double> pieces_us{5, 50, 500};
  if (options.smoke) pieces_us = {5};
  taskbench::Parameters parameters;
  parameters.shape.width = 1;
  double const rate = world.of_first(taskbench::bare_rate(parameters, 1, 0.02));
  // Two ranks with a thread each, and one with two. Where the second rank answers late by hand, the
  // first one waits for what takes none of its time, as a network does.
  struct Case {
    Pattern pattern;
    int workers;
    std::int64_t bytes;
    double answers_after;
    [[nodiscard]] char const* name() const {
      return answers_after > 0 ? "late_answer" : Traffic{pattern}.name();
    }
  };
  std::vector<Case> cases;
  if (world.size() >= 2) {
    for (double const late : {20e-6, 200e-6})
      if (!options.smoke || cases.empty()) cases.push_back({Pattern::ping_pong, 1, 8, late});
    for (std::int64_t const size : bytes) cases.push_back({Pattern::exchange, 1, size, 0});
  }
  for (std::int64_t const size : bytes) cases.push_back({Pattern::self, 2, size, 0});
  Cores const cores(world);
  for (Case const& here : cases) {
    auto const& [pattern, workers, size, answers_after] = here;
    Bound const bound(workers == 1 ? cores.own() : -1);
    for (double const piece_us : pieces_us) {
      if (answers_after > 0 && 1e-6 * piece_us > answers_after) continue;
      Traffic const traffic{pattern, static_cast<std::size_t>(size), 1, false};
      auto const comm =
          mpi::Communicator::duplicate(pattern == Pattern::self ? MPI_COMM_SELF : MPI_COMM_WORLD);
      auto const graph = make_graph(workers);
      auto const iterations = std::max<std::int64_t>(1, std::llround(1e-6 * piece_us * rate));
      auto const both_with = [&](std::int64_t pieces) {
        return std::make_shared<Both>(world, traffic, comm, here.answers_after, iterations, pieces);
      };
      auto const way = [](char const* model, char const* kind, int threads, auto const& run) {
        return Way{model, kind, threads, run};
      };
      // As much to compute as there is to send, but at least a piece in each step.
      auto both = both_with(1);
      Way const communicate =
          way("communicate", "bare", 1, [both](std::int64_t n) { return both->communicate(n); });
      std::int64_t const probe = steps_that_take(world, communicate, options.seconds, 2000);
      double const step_us = 1e6 * world.of_first(world.longest(both->communicate(probe))) /
                             static_cast<double>(probe);
      std::int64_t const pieces = std::max<std::int64_t>(1, std::llround(step_us / piece_us));
      both = both_with(pieces);
      std::vector<Way> ways{
          way("communicate", "bare", 1, [both](std::int64_t n) { return both->communicate(n); }),
          way("compute", "bare", 1, [both](std::int64_t n) { return both->compute(n); }),
          way("bulk", "bare", 1, [both](std::int64_t n) { return both->bulk(n); }),
          way("by_hand", "bare", 1, [both](std::int64_t n) { return both->by_hand(n); }),
          way("trellis", "dynamic", workers,
              [both, graph](std::int64_t n) { return both->tasks(*graph, n); }),
          way("trellis_priority", "dynamic", workers,
              [both, graph](std::int64_t n) { return both->tasks(*graph, n, priority(1)); })};
      double const step = std::max(step_us, static_cast<double>(pieces) * piece_us);
      auto const steps = std::max<std::int64_t>(
          4, 2 * static_cast<std::int64_t>(4e6 * options.seconds / step / 2));
      std::vector<Times> const all = compare(world, ways, steps, options.repetitions);
      double const longer = std::max(all[0].per_step(), all[1].per_step());
      report.begin_table(
          "overlap",
          std::string(here.name()) +
              (answers_after > 0 ? " (" + std::to_string(std::llround(1e6 * answers_after)) + " us)"
                                 : std::string()) +
              ", a message of " + std::to_string(size) + " bytes and " + std::to_string(pieces) +
              " pieces of " + std::to_string(static_cast<int>(piece_us)) + " us in each step, " +
              std::to_string(workers) + " worker(s)",
          {{"communicate_us", "messages us"},
           {"compute_us", "pieces us"},
           {"ratio_to_longer", "/ longer"},
           {"ratio_to_bulk", "/ bulk"}});
      for (Times const& each : all) {
        Json const ratio_to_longer = each.per_step() / longer;
        Json const ratio_to_bulk = ratio_per_step(each, all[2]);
        report.add(each, {{"pattern", here.name()},
                          {"kernel", "compute_bound"},
                          {"bytes", size},
                          {"in_flight", 1},
                          {"messages", each.steps * traffic.messages()},
                          {"tasks", each.steps * pieces},
                          {"iterations", iterations},
                          {"granularity_us", piece_us},
                          {"communicate_us", 1e6 * all[0].per_step()},
                          {"compute_us", 1e6 * all[1].per_step()},
                          {"ratio_to_longer", ratio_to_longer},
                          {"ratio_to_bulk", ratio_to_bulk}});
      }
    }
  }
}

}  // namespace mpi_perf
