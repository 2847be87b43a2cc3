// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKBENCH_WORK_HPP
#define TRELLIS_TASKBENCH_WORK_HPP

#include "Edges.hpp"
#include "Kernel.hpp"
#include "Pattern.hpp"

#include <Kokkos_Core.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace taskbench {

/// All that defines the work, whatever model runs it.
struct Parameters {
  Shape shape;
  Kernel kernel = Kernel::empty;
  std::int64_t iterations = 0;
  std::size_t output_bytes = 16;
  int copies = 2;
  std::size_t scratch_bytes = larger_than_cache();  ///< per column, memory_bound
  double imbalance = 1;                             ///< load_imbalance
  bool break_edge = false;
  double patience = 3;  ///< seconds of runs, after which a model is not repeated any more
  int settle_ms = 15;   ///< pause before each run: threads of another model's pool may still spin
};

/// The tasks, their buffers, and the check that each found what its inputs had to leave for it.
///
/// A task fills its output with the pair (step, column), and reads each input in full: every pair
/// must be (step - 1, column of the input). So an edge that a model misses is an error, not a
/// number.
class Work {
 public:
  using Buffer = Kokkos::View<char*, Kokkos::HostSpace>;

  explicit Work(Parameters const& parameters);
  Work(Work const&) = delete;
  Work& operator=(Work const&) = delete;

  /// Runs one task. To be called once for each, by any thread, when the task's predecessors are
  /// complete.
  void run_task(std::int64_t step, int column) const;

  /// Forgets all outputs and errors.
  void reset();
  /// What went wrong since `reset`, or nothing. The outputs of the last steps, which nobody reads,
  /// are checked here.
  [[nodiscard]] std::string error() const;

  [[nodiscard]] Parameters const& parameters() const { return m_parameters; }
  [[nodiscard]] Shape const& shape() const { return m_parameters.shape; }
  [[nodiscard]] std::int64_t steps() const { return m_parameters.shape.steps; }
  [[nodiscard]] int width() const { return m_parameters.shape.width; }
  [[nodiscard]] Columns columns(std::int64_t step) const {
    return columns_at(m_parameters.shape, step);
  }
  [[nodiscard]] Edges const& edges() const { return m_edges; }
  [[nodiscard]] std::int64_t tasks() const { return m_tasks; }

  /// All outputs: copy by copy, column by column, each `stride` bytes behind the other.
  [[nodiscard]] Buffer const& outputs() const { return m_outputs; }
  [[nodiscard]] std::size_t stride() const { return m_stride; }
  [[nodiscard]] int copy_of(std::int64_t step) const {
    return static_cast<int>((step + m_parameters.copies) % m_parameters.copies);
  }
  [[nodiscard]] std::size_t offset(int copy, int column) const {
    return (static_cast<std::size_t>(copy) * static_cast<std::size_t>(width()) +
            static_cast<std::size_t>(column)) *
           m_stride;
  }
  [[nodiscard]] char* output(int copy, int column) const {
    return m_outputs.data() + offset(copy, column);
  }

 private:
  /// A cache line of its own for what a column's kernel leaves.
  struct alignas(64) Result {
    double value = 0;
  };

  void check_input(std::int64_t step, int column, int input) const;
  void report(std::int64_t step, int column, int input, std::int64_t found_step,
              std::int64_t found_column) const;

  Parameters m_parameters;
  Edges m_edges;
  std::int64_t m_tasks;
  std::size_t m_stride;
  Buffer m_outputs;
  mutable std::vector<Result> m_results;
  mutable std::vector<double> m_scratch;
  mutable std::atomic<std::int64_t> m_errors{0};
  mutable std::mutex m_mutex;
  mutable std::string m_first_error;
};

}  // namespace taskbench

#endif
