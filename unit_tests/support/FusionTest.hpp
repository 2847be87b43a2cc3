// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_FUSIONTEST_HPP
#define TRELLIS_TEST_FUSIONTEST_HPP

#include "Watchdog.hpp"

#include <Trellis.hpp>
#include <Trellis_Fusion.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// What tests of fusion share.
namespace trellis::Test {

/// Notes what another one's advice has led to.
class Observed final : public Orchestration {
 public:
  explicit Observed(std::shared_ptr<Orchestration> of) : m_of(std::move(of)) {}

  [[nodiscard]] std::string name() const override { return m_of->name(); }
  void fork_join_starts(int depth) override { m_of->fork_join_starts(depth); }
  void fork_join_ends(int depth) override { m_of->fork_join_ends(depth); }
  [[nodiscard]] ForkJoinPolicy fork_join(int depth, std::size_t parts, TaskKind kind) override {
    return m_of->fork_join(depth, parts, kind);
  }
  [[nodiscard]] std::size_t hold_back(TaskKind kind) override { return m_of->hold_back(kind); }
  [[nodiscard]] FuseInstruction fuse(TaskKind kind) override { return m_of->fuse(kind); }
  void formed(TaskKind kind, FusionSample const& sample) override {
    {
      std::lock_guard const lock(m_mutex);
      m_formed.push_back(sample.batch);
      m_kind = kind;
    }
    m_of->formed(kind, sample);
  }
  void observed(TaskKind kind, FusionSample const& sample) override {
    {
      std::lock_guard const lock(m_mutex);
      m_run.push_back(sample);
    }
    m_of->observed(kind, sample);
  }

  /// Sizes of what has been released, in that order.
  [[nodiscard]] std::vector<std::size_t> formed() const {
    std::lock_guard const lock(m_mutex);
    return m_formed;
  }
  [[nodiscard]] std::vector<FusionSample> run() const {
    std::lock_guard const lock(m_mutex);
    return m_run;
  }
  [[nodiscard]] TaskKind kind() const {
    std::lock_guard const lock(m_mutex);
    return m_kind;
  }

 private:
  std::shared_ptr<Orchestration> const m_of;
  mutable std::mutex m_mutex;
  std::vector<std::size_t> m_formed;
  std::vector<FusionSample> m_run;
  TaskKind m_kind;
};

/// A graph, its observed orchestration, and a task that what is submitted behind it waits for. With
/// one worker nobody else takes what is too little for a batch.
class Gated {
 public:
  explicit Gated(std::shared_ptr<Orchestration> orchestration, TaskGraphOptions options = {})
      : observed(std::make_shared<Observed>(std::move(orchestration))), graph([&] {
          options.orchestration = observed;
          if (!options.workers) options.workers = 1;
          return options;
        }()) {
    m_gate = host_task("gate", ResourcePolicy(graph, write(m_token)), [this] {
      while (!m_is_open.load()) std::this_thread::yield();
    });
  }
  Gated(Gated const&) = delete;
  Gated& operator=(Gated const&) = delete;
  ~Gated() { open(); }

  [[nodiscard]] auto behind() const { return after(m_gate); }
  void open() { m_is_open = true; }
  void open_and_wait() {
    open();
    graph.wait();
  }
  /// The same where a batch is expected. A thread in `wait()` would be one more that has nothing
  /// else to do, so this one does not come before there are so many batches.
  void form_and_wait(std::size_t batches = 1) {
    form(batches);
    graph.wait();
  }
  void form(std::size_t batches = 1) {
    open();
    while (observed->formed().size() < batches) std::this_thread::yield();
  }

  std::shared_ptr<Observed> const observed;

 private:
  std::atomic<bool> m_is_open{false};
  Token m_token{"gate"};

 public:
  TaskGraph graph;  ///< last: its tasks use the others

 private:
  Future<void> m_gate;
};

}  // namespace trellis::Test

#endif
