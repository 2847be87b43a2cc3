// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_SchedulingPolicy.hpp>
#include <base/Trellis_Reserve.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

namespace trellis {

namespace {

class Shake final : public SchedulingPolicy {
 public:
  explicit Shake(std::uint64_t seed) : m_random(seed) {}

  [[nodiscard]] std::string_view name() const override { return "shake"; }
  void start(int) override {}
  void push(ReadyTask task, int) override {
    delay();
    std::lock_guard const lock(m_mutex);
    m_tasks.push_back(task);
    m_size.store(m_tasks.size(), std::memory_order_seq_cst);
  }
  ReadyTask finished(std::span<ReadyTask const> ready, int slot) override {
    for (ReadyTask const task : ready) push(task, slot);
    return chance(2) ? pop(slot) : ReadyTask{};
  }
  ReadyTask pop(int) override {
    delay();
    std::lock_guard const lock(m_mutex);
    if (m_tasks.empty()) return {};
    return take(m_tasks[m_random() % m_tasks.size()]);
  }
  ReadyTask pop_wanted(int, Impl::FunctionRef<bool(ReadyTask)> wanted) override {
    if (m_size.load(std::memory_order_relaxed) == 0 || chance(4)) return {};
    std::lock_guard const lock(m_mutex);
    for (ReadyTask& task : m_tasks)
      if (wanted(task)) return take(task);
    return {};
  }
  [[nodiscard]] std::int64_t exclusive_rank(ReadyTask) override {
    std::lock_guard const lock(m_mutex);
    return static_cast<std::int64_t>(m_random() % 4);
  }
  [[nodiscard]] bool empty() const override { return m_size.load(std::memory_order_seq_cst) == 0; }
  [[nodiscard]] std::size_t backlog() const override {
    return m_size.load(std::memory_order_relaxed);
  }

 private:
  ReadyTask take(ReadyTask& task) {
    ReadyTask const taken = std::exchange(task, m_tasks.back());
    m_tasks.pop_back();
    m_size.store(m_tasks.size(), std::memory_order_seq_cst);
    return taken;
  }
  bool chance(unsigned one_in) {
    std::lock_guard const lock(m_mutex);
    return m_random() % one_in == 0;
  }
  void delay() {
    if (!chance(4)) return;
    if (chance(8))
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    else
      std::this_thread::yield();
  }

  std::mutex m_mutex;
  std::mt19937_64 m_random;
  Impl::Vector<ReadyTask> m_tasks;
  std::atomic<std::size_t> m_size{0};
};

}  // namespace

std::shared_ptr<SchedulingPolicy> make_shake_policy(std::uint64_t seed) {
  return std::make_shared<Shake>(seed);
}

}  // namespace trellis
