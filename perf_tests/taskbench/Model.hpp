// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKBENCH_MODEL_HPP
#define TRELLIS_TASKBENCH_MODEL_HPP

#include "Work.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace taskbench {

/// A way to run the tasks of a Work on a number of threads.
class Model {
 public:
  enum class Kind {
    bulk,     ///< a barrier between steps
    dynamic,  ///< the graph is made while the clock runs
    replay    ///< the graph is made before
  };

  Model(std::string name, Kind kind, bool trellis = false)
      : m_name(std::move(name)), m_kind(kind), m_trellis(trellis) {}
  virtual ~Model() = default;
  Model(Model const&) = delete;
  Model& operator=(Model const&) = delete;

  [[nodiscard]] std::string const& name() const { return m_name; }
  [[nodiscard]] Kind kind() const { return m_kind; }
  [[nodiscard]] bool is_trellis() const { return m_trellis; }
  /// What it is, with version, for the context.
  [[nodiscard]] virtual std::string description() const = 0;
  /// Threads that run tasks, the calling one included if it does.
  [[nodiscard]] virtual int workers() const = 0;
  /// Why it cannot run this, or nothing.
  [[nodiscard]] virtual std::string why_not(Parameters const&) const { return {}; }
  /// More tasks than that take too long, or too much memory.
  [[nodiscard]] virtual std::int64_t most_tasks() const {
    return std::numeric_limits<std::int64_t>::max();
  }
  /// Does it learn of edges at all?
  [[nodiscard]] virtual bool declares_edges() const { return true; }

  /// Not timed: what is made once for many runs.
  virtual void prepare(Work&) {}
  /// Runs all tasks and returns when they are complete.
  virtual void run(Work&) = 0;
  /// What `prepare` made is no longer needed.
  virtual void release() {}

  /// Resets the work, runs it and checks it. Seconds of `run`; throws std::runtime_error for a
  /// wrong result.
  virtual double measure(Work& work);

 private:
  std::string m_name;
  Kind m_kind;
  bool m_trellis;
};

/// The models with these names, or all that this build has. Throws std::runtime_error when one is
/// missing.
std::vector<std::unique_ptr<Model>> make_models(int workers, std::vector<std::string> const& names);

std::unique_ptr<Model> make_trellis(int workers);
std::unique_ptr<Model> make_trellis_host(int workers);
std::unique_ptr<Model> make_trellis_plan(int workers);       ///< null without plans
std::unique_ptr<Model> make_trellis_plan_host(int workers);  ///< null without plans
std::unique_ptr<Model> make_kokkos(int workers);
std::unique_ptr<Model> make_kokkos_graph(int workers);
std::unique_ptr<Model> make_kokkos_graph_steps(int workers);
std::unique_ptr<Model> make_openmp(int workers);
std::unique_ptr<Model> make_openmp_llvm(int workers);  ///< null without LLVM's runtime
std::unique_ptr<Model> make_taskflow(int workers);
std::unique_ptr<Model> make_taskflow_replay(int workers);
std::unique_ptr<Model> make_tbb(int workers);
std::unique_ptr<Model> make_tbb_replay(int workers);
std::unique_ptr<Model> make_starpu(int workers);

}  // namespace taskbench

#endif
