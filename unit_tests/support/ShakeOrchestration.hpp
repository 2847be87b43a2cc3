// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_SHAKEORCHESTRATION_HPP
#define TRELLIS_TEST_SHAKEORCHESTRATION_HPP

#include <Trellis_Orchestration.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace trellis::Test {

/// Answers at random, whatever it has answered before.
class ShakeOrchestration final : public Orchestration {
 public:
  explicit ShakeOrchestration(std::uint64_t seed) : m_state(seed) {}

  [[nodiscard]] std::string name() const override { return "shake"; }
  void fork_join_starts(int) override { m_open.fetch_add(1, std::memory_order_relaxed); }
  void fork_join_ends(int) override { m_open.fetch_sub(1, std::memory_order_relaxed); }
  [[nodiscard]] ForkJoinPolicy fork_join(int, std::size_t, TaskKind) override {
    return static_cast<ForkJoinPolicy>(below(3));
  }
  [[nodiscard]] std::size_t hold_back(TaskKind) override {
    switch (below(4)) {
      case 0:
        return 0;
      case 1:
        return below(4);
      default:
        return FuseInstruction::never;
    }
  }
  [[nodiscard]] FuseInstruction fuse(TaskKind) override {
    FuseInstruction how;
    how.when = static_cast<FuseInstruction::When>(below(3));
    if (below(4) == 0) return how;
    how.min = below(5);
    how.max = how.min + below(5);
    how.device = static_cast<int>(below(3)) - 1;
    return how;
  }

  /// ForkJoins that have begun and not ended.
  [[nodiscard]] int open() const { return m_open.load(std::memory_order_relaxed); }

 private:
  std::size_t below(std::size_t n) {
    std::uint64_t x = m_state.fetch_add(0x9e3779b97f4a7c15, std::memory_order_relaxed);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return static_cast<std::size_t>((x ^ (x >> 31)) % n);
  }
  std::atomic<std::uint64_t> m_state;
  std::atomic<int> m_open{0};
};

/// One of the strategies of the library, or a shake.
inline std::shared_ptr<Orchestration> any_orchestration(std::uint64_t number) {
  switch (number % 10) {
    case 0:
      return make_native();
    case 1:
      return make_bsp();
    case 2:
      return make_backfill();
    case 3:
      return make_fuse_immediately(1 + number / 10 % 5);
    case 4:
      return make_fuse_late(1 + number / 10 % 5);
    case 5:
      return make_all_on_device(0);
    case 6:
      return make_round_robin(1 + number / 10 % 5);
    case 7:
      return make_learning(number);
    default:
      return std::make_shared<ShakeOrchestration>(number);
  }
}

}  // namespace trellis::Test

#endif
