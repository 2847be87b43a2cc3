// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MPI_PERF_MEASURE_HPP
#define TRELLIS_MPI_PERF_MEASURE_HPP

#include "World.hpp"

#include <Trellis.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

/// How ways to do the same thing are compared: in turn, within one run, so that what disturbs the
/// machine for a while disturbs all of them.
namespace mpi_perf {

/// So many steps, or tasks in a chain, are submitted before the clock starts.
inline constexpr std::int64_t most_held_back = 1000;

/// One way to do `steps` of something, on all ranks.
struct Way {
  std::string model;
  std::string kind;  ///< bare, dynamic, replay
  int workers = 1;
  /// Seconds of these steps on this rank. All ranks call it.
  std::function<double(std::int64_t steps)> run;
  /// More at a time it does not take.
  std::int64_t most_steps = std::numeric_limits<std::int64_t>::max();
};

struct Times {
  Way const* way;
  std::int64_t steps;
  std::vector<double> seconds;  ///< of the slowest rank, for each repetition

  [[nodiscard]] double median() const;
  [[nodiscard]] double fastest() const;
  [[nodiscard]] double slowest() const;
  /// From the first to the third quartile, relative to the median.
  [[nodiscard]] double spread() const;
  [[nodiscard]] double per_step() const { return median() / static_cast<double>(steps); }
  [[nodiscard]] double fastest_step() const { return fastest() / static_cast<double>(steps); }
};

/// Runs each way once, and then all of them in turn, `repetitions` times.
std::vector<Times> compare(World const& world, std::vector<Way> const& ways, std::int64_t steps,
                           int repetitions);

/// Of each repetition what one way took for a step, less what the other took; the median.
double added_per_step(Times const& with, Times const& without);
double ratio_per_step(Times const& with, Times const& without);

/// An even number of steps that take about so long.
std::int64_t steps_that_take(World const& world, Way const& way, double seconds,
                             std::int64_t most = 1'000'000);

trellis::TaskGraphOptions graph_options(int workers);
std::shared_ptr<trellis::TaskGraph> make_graph(int workers);
/// One in which so many tasks may be held back.
std::shared_ptr<trellis::TaskGraph> make_graph(int workers, std::size_t in_flight);

/// A task that is over when `open` says so: what it accesses nobody gets before. It holds no
/// thread.
class Gate {
 public:
  template <class... Accesses>
  explicit Gate(trellis::TaskGraph& graph, Accesses const&... accesses) {
    trellis::host_task("gate", trellis::ResourcePolicy(graph, accesses...),
                       [this](trellis::Completion<> completion) {
                         m_completion = std::move(completion);
                         m_is_closed = true;
                         m_is_closed.notify_one();
                       });
    m_is_closed.wait(false);
  }
  void open() { m_completion.done(); }

 private:
  trellis::Completion<> m_completion;
  std::atomic<bool> m_is_closed{false};
};

}  // namespace mpi_perf

#endif
