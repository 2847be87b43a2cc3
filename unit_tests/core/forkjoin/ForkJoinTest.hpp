// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_SECTIONTEST_HPP
#define TRELLIS_TEST_SECTIONTEST_HPP

#include "Timing.hpp"
#include "FusionTest.hpp"

/// What tests of fork-joins share.
namespace trellis::Test {

/// Says how fork-joins run, and notes what it hears.
class Noting final : public Orchestration {
 public:
  explicit Noting(ForkJoinPolicy policy, ForkJoinPolicy nested = ForkJoinPolicy::serial)
      : m_policy(policy), m_nested(nested) {}
  [[nodiscard]] std::string name() const override { return "noting"; }
  void fork_join_starts(int depth) override { note("starts " + std::to_string(depth)); }
  void fork_join_ends(int depth) override { note("ends " + std::to_string(depth)); }
  [[nodiscard]] ForkJoinPolicy fork_join(int depth, std::size_t children, TaskKind) override {
    note("section " + std::to_string(depth) + " of " + std::to_string(children));
    return depth == 0 ? m_policy : m_nested;
  }
  [[nodiscard]] std::size_t hold_back(TaskKind kind) override {
    if (!kind) note("hold back");
    return 0;
  }
  [[nodiscard]] std::vector<std::string> heard() const {
    std::lock_guard const lock(m_mutex);
    return m_heard;
  }

 private:
  void note(std::string what) {
    std::lock_guard const lock(m_mutex);
    m_heard.push_back(std::move(what));
  }
  ForkJoinPolicy const m_policy;
  ForkJoinPolicy const m_nested;
  mutable std::mutex m_mutex;
  std::vector<std::string> m_heard;
};

inline TaskGraphOptions with(std::shared_ptr<Orchestration> orchestration, int workers = 2) {
  TaskGraphOptions options;
  options.workers = workers;
  options.orchestration = std::move(orchestration);
  return options;
}

}  // namespace trellis::Test

#endif
