// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the time of a message goes: tasks that get one thing of it after the other.
#include "Cores.hpp"
#include "Endpoint.hpp"
#include "Parts.hpp"

#include <Trellis_Observation.hpp>
#include <Trellis_States.hpp>
#include <base/Trellis_SpinLock.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace mpi_perf {
namespace {

using namespace trellis;
using View = Endpoint::View;

/// Completions that the next call of a progress function says.
class Polled {
 public:
  explicit Polled(TaskGraph& graph) : m_progress(graph.add_progress([this] { return say(); })) {}
  void add(Completion<>&& completion) {
    {
      std::lock_guard const lock(m_mutex);
      m_open.push_back(std::move(completion));
    }
    m_progress.ask();
  }

 private:
  bool say() {
    {
      std::lock_guard const lock(m_mutex);
      m_taken.swap(m_open);
    }
    for (Completion<>& each : m_taken) each.done();
    m_taken.clear();
    return false;
  }
  std::mutex m_mutex;
  std::vector<Completion<>> m_open, m_taken;
  Progress m_progress;
};

/// A chain of tasks on one View, on the first rank, in three phases: all of it, the submission
/// alone, the run alone.
struct Chain {
  std::string name;
  std::vector<View> memory;
  std::shared_ptr<TaskGraph> graph;
  std::function<void(std::int64_t)> submit;  ///< so many tasks

  [[nodiscard]] std::vector<Way> ways(World const& world) const {
    auto const way = [&](std::string const& phase, auto const& run) {
      return Way{name + phase, "dynamic", graph->workers(),
                 [&world, run, first = world.is_first()](std::int64_t steps) {
                   return first ? run(steps) : world.time([] {});
                 },
                 most_held_back};
    };
    return {way("",
                [this, &world](std::int64_t steps) {
                  return world.time([&] {
                    submit(steps);
                    graph->wait();
                  });
                }),
            way(", submission",
                [this, &world](std::int64_t steps) {
                  Gate gate(*graph, write(memory));
                  double const seconds = world.time([&] { submit(steps); });
                  gate.open();
                  graph->wait();
                  return seconds;
                }),
            way(", run", [this, &world](std::int64_t steps) {
              Gate gate(*graph, write(memory));
              submit(steps);
              return world.time([&] {
                gate.open();
                graph->wait();
              });
            })};
  }
};

}  // namespace

void run_submission(World const& world, Options const& options, Report& report) {
  Cores const cores(world);
  for (int const workers : options.workers) {
    Bound const bound(workers == 1 ? cores.own() : -1);
    report.begin_table(
        "submission",
        "tasks that get more and more of what a message is, one after the other, "
        "on the first rank, " +
            std::to_string(workers) + " worker(s)",
        {{"us_per_task", "us/task"}, {"added_us", "added us"}, {"added_us_fastest", "(fastest)"}});
    View const x("x", 8), y("y", 8);
    auto const graph = make_graph(workers, 1 << 20);
    experimental::IndexSpace<3> const channels("channels", {2, 3, 32768});
    auto const channel = [channels](std::int64_t k) {
      return channels.box({0, 1, k % 2}, {1, 2, k % 2 + 1});
    };
    auto const polled = std::make_shared<Polled>(*graph);
    auto const comm = mpi::Communicator::duplicate(MPI_COMM_SELF);
    std::vector<Chain> chains;
    auto const add = [&](char const* name, auto const& submit_one) {
      chains.push_back({name, {x, y}, graph, [submit_one](std::int64_t steps) {
                          for (std::int64_t k = 0; k < steps; ++k) submit_one(k);
                        }});
    };
    add("host_task",
        [=](std::int64_t) { host_task("task", ResourcePolicy(*graph, read_write(x)), [] {}); });
    add("+ channel", [=](std::int64_t k) {
      host_task("task", ResourcePolicy(*graph, read_write(x), read_write(channel(k))), [] {});
    });
    add("+ Completion", [=](std::int64_t k) {
      host_task("task", ResourcePolicy(*graph, read_write(x), read_write(channel(k))),
                [](Completion<> completion) { completion.done(); });
    });
    add("+ progress", [=](std::int64_t k) {
      host_task("task", ResourcePolicy(*graph, read_write(x), read_write(channel(k))),
                [polled](Completion<> completion) { polled->add(std::move(completion)); });
    });
    // As a collective operation does.
    add("+ progress, release", [=](std::int64_t k) {
      host_task("task", ResourcePolicy(*graph, read_write(x), read_write(channel(k))),
                [polled, box = channel(k)](TaskScope& self, Completion<> completion) {
                  polled->add(std::move(completion));
                  self.release(box);
                });
    });
    // A receive finds nothing, and is asked for; the send behind it is over at once.
    add("recv and send", [=](std::int64_t k) {
      if (k % 2 == 0)
        mpi::recv(*graph, comm, k % 4 == 0 ? y : x, 0, static_cast<int>(k / 2 % 2));
      else
        mpi::send(*graph, comm, k % 4 == 1 ? x : y, 0, static_cast<int>(k / 2 % 2));
    });
    std::vector<Way> ways;
    for (Chain const& chain : chains)
      for (Way& way : chain.ways(world)) ways.push_back(std::move(way));
    std::vector<Times> const all =
        compare(world, ways, options.smoke ? 40 : most_held_back, options.repetitions);
    for (std::size_t k = 0; k < all.size(); ++k)
      report.add(all[k],
                 {{"pattern", "chain"},
                  {"bytes", 8},
                  {"tasks", all[k].steps},
                  {"added_us", 1e6 * added_per_step(all[k], all[k % 3])},
                  {"added_us_fastest", 1e6 * (all[k].fastest_step() - all[k % 3].fastest_step())}});
  }
}

}  // namespace mpi_perf
