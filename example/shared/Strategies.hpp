// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_STRATEGIES_HPP
#define TRELLIS_EXAMPLE_STRATEGIES_HPP

#include <Trellis_Fusion.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

/// This header runs a program under each orchestration by its name, and reports the results.
namespace example {

/// Returns native, and the named one; with an empty name one of each kind. Throws `trellis::Error`
/// for an unknown name.
[[nodiscard]] std::vector<std::string> strategies(std::string const& wanted);

/// An orchestration that advises as another one does, and counts what has been released.
class CountingOrchestration final : public trellis::Orchestration {
 public:
  explicit CountingOrchestration(std::shared_ptr<trellis::Orchestration> of)
      : m_of(std::move(of)) {}

  [[nodiscard]] std::string name() const override { return m_of->name(); }
  void fork_join_starts(int depth) override { m_of->fork_join_starts(depth); }
  void fork_join_ends(int depth) override { m_of->fork_join_ends(depth); }
  [[nodiscard]] trellis::ForkJoinPolicy fork_join(int depth, std::size_t parts,
                                                  trellis::TaskKind kind) override {
    return m_of->fork_join(depth, parts, kind);
  }
  [[nodiscard]] std::size_t hold_back(trellis::TaskKind kind) override {
    return m_of->hold_back(kind);
  }
  [[nodiscard]] trellis::FuseInstruction fuse(trellis::TaskKind kind) override {
    return m_of->fuse(kind);
  }
  void formed(trellis::TaskKind kind, trellis::FusionSample const& sample) override {
    // These are read only after all tasks are complete.
    if (sample.batch > 1) {
      m_batches.fetch_add(1, std::memory_order_relaxed);
      m_tasks.fetch_add(static_cast<std::int64_t>(sample.batch), std::memory_order_relaxed);
    }
    m_of->formed(kind, sample);
  }
  void observed(trellis::TaskKind kind, trellis::FusionSample const& sample) override {
    m_of->observed(kind, sample);
  }

  /// Returns the number of batches of two tasks or more.
  [[nodiscard]] std::int64_t batches() const { return m_batches; }
  [[nodiscard]] std::int64_t tasks_in_batches() const { return m_tasks; }

 private:
  std::shared_ptr<trellis::Orchestration> const m_of;
  std::atomic<std::int64_t> m_batches{0};
  std::atomic<std::int64_t> m_tasks{0};
};

/// The counts of one run.
struct StrategyRun {
  double seconds = 0;
  std::int64_t skeletons = 0;  ///< patches that sweeps have updated themselves
  std::int64_t enclaves = 0;   ///< tasks
  std::int64_t batches = 0;
  std::int64_t tasks_in_batches = 0;
  std::int64_t found_done = 0;  ///< enclave tasks that were complete when a sweep came for them
  bool agrees = true;           ///< in every bit with the serial run
};

/// The findings of the runs with one strategy. Counts are of the last run.
struct StrategyFindings {
  std::string name;
  std::vector<double> seconds;
  StrategyRun last;
  bool agrees = true;  ///< all of them

  void add(StrategyRun const& run);
  [[nodiscard]] double time() const;  ///< the median
  [[nodiscard]] double mean_batch() const;
  [[nodiscard]] double child_found_done() const;
};

/// Prints a table; the first row is native.
void print(std::vector<StrategyFindings> const& found);
[[nodiscard]] nlohmann::ordered_json json_of(std::vector<StrategyFindings> const& found);
[[nodiscard]] bool all_agree(std::vector<StrategyFindings> const& found);

/// Writes an SVG: for each strategy its time, and the mean size of its batches. Throws
/// `std::runtime_error` when it cannot write.
void draw(std::filesystem::path const& file, std::string const& title,
          std::vector<StrategyFindings> const& found);

}  // namespace example

#endif
