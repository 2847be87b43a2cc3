// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_SchedulingPolicy.hpp>
#include <threads/Trellis_SpinLock.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace trellis {

namespace {

/// A growing ring of tasks under a spin lock. The owner works at the back, thieves take from the
/// front.
class alignas(128) TaskDeque {
 public:
  /// The last of `tasks` comes out first at the back.
  void push_back(std::span<ReadyTask const> tasks) {
    std::lock_guard const lock(m_lock);
    while (m_count + tasks.size() > m_ring.size()) grow();
    for (ReadyTask const task : tasks) m_ring[(m_first + m_count++) & (m_ring.size() - 1)] = task;
    // Sequentially consistent, as `empty` must see it: see Workers.
    m_size.store(m_count, std::memory_order_seq_cst);
  }
  ReadyTask pop_back() {
    if (m_size.load(std::memory_order_relaxed) == 0) return {};
    std::lock_guard const lock(m_lock);
    if (m_count == 0) return {};
    m_size.store(--m_count, std::memory_order_relaxed);
    return m_ring[(m_first + m_count) & (m_ring.size() - 1)];
  }
  ReadyTask pop_front() {
    if (m_size.load(std::memory_order_relaxed) == 0) return {};
    std::lock_guard const lock(m_lock);
    return m_count == 0 ? ReadyTask{} : take_front();
  }
  /// Moves up to `limit` tasks from the front, but at most `1/share` of all (and at least one), to
  /// `out`.
  std::size_t pop_front(ReadyTask* out, std::size_t limit, std::size_t share) {
    if (m_size.load(std::memory_order_relaxed) == 0) return 0;
    std::lock_guard const lock(m_lock);
    std::size_t const count = std::min({limit, m_count, m_count / share + 1});
    for (std::size_t k = 0; k < count; ++k) out[k] = take_front();
    return count;
  }
  /// The first that `wanted` says yes to among the `most` tasks at the back, or at the front.
  ReadyTask pop_wanted(Impl::FunctionRef<bool(ReadyTask)> wanted, bool from_back,
                       std::size_t most) {
    if (m_size.load(std::memory_order_relaxed) == 0) return {};
    std::lock_guard const lock(m_lock);
    for (std::size_t k = 0; k < std::min(most, m_count); ++k) {
      std::size_t const place = from_back ? m_count - 1 - k : k;
      ReadyTask const task = at(place);
      if (!wanted(task)) continue;
      if (from_back) {
        for (std::size_t to = place; to + 1 < m_count; ++to) at(to) = at(to + 1);
        m_size.store(--m_count, std::memory_order_relaxed);
      } else {
        for (std::size_t to = place; to > 0; --to) at(to) = at(to - 1);
        take_front();
      }
      return task;
    }
    return {};
  }
  [[nodiscard]] bool empty() const { return m_size.load(std::memory_order_seq_cst) == 0; }

 private:
  ReadyTask& at(std::size_t place) { return m_ring[(m_first + place) & (m_ring.size() - 1)]; }
  ReadyTask take_front() {
    ReadyTask const task = m_ring[m_first];
    m_first = (m_first + 1) & (m_ring.size() - 1);
    m_size.store(--m_count, std::memory_order_relaxed);
    return task;
  }
  void grow() {
    std::vector<ReadyTask> larger(std::max<std::size_t>(64, 2 * m_ring.size()));
    for (std::size_t k = 0; k < m_count; ++k)
      larger[k] = m_ring[(m_first + k) & (m_ring.size() - 1)];
    m_ring.swap(larger);
    m_first = 0;
  }

  Impl::SpinLock m_lock;
  std::atomic<std::size_t> m_size{0};
  std::size_t m_first = 0;
  std::size_t m_count = 0;
  std::vector<ReadyTask> m_ring;
};

/// Tasks by priority, then in order of arrival.
class PriorityQueue {
 public:
  void push(ReadyTask task) {
    std::lock_guard const lock(m_mutex);
    m_tasks.emplace(-task.priority(), task);
    m_size.store(m_tasks.size(), std::memory_order_seq_cst);
  }
  ReadyTask pop() {
    if (m_size.load(std::memory_order_relaxed) == 0) return {};
    std::lock_guard const lock(m_mutex);
    if (m_tasks.empty()) return {};
    ReadyTask const task = m_tasks.begin()->second;
    m_tasks.erase(m_tasks.begin());
    m_size.store(m_tasks.size(), std::memory_order_relaxed);
    return task;
  }
  [[nodiscard]] bool empty() const { return m_size.load(std::memory_order_seq_cst) == 0; }

 private:
  std::mutex m_mutex;
  std::multimap<int, ReadyTask> m_tasks;
  std::atomic<std::size_t> m_size{0};
};

class WorkStealing final : public SchedulingPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "work_stealing"; }

  void start(int slots) override {
    m_own = std::vector<TaskDeque>(static_cast<std::size_t>(slots));
  }

  void push(ReadyTask task, int slot) override {
    if (task.priority() != 0)
      (task.priority() > 0 ? m_urgent : m_last).push(task);
    else
      queue(slot).push_back({&task, 1});
  }

  ReadyTask finished(std::span<ReadyTask const> ready, int slot) override {
    if (ready.size() == 1 && ready[0].priority() == 0 && m_urgent.empty()) return ready[0];
    // Last in first out: the first successor is to be on top. Few fit into a short array, the rest
    // go one by one.
    ReadyTask reversed[16];
    std::size_t count = 0;
    for (std::size_t k = ready.size(); k-- > 0;) {
      if (ready[k].priority() != 0) {
        push(ready[k], slot);
        continue;
      }
      reversed[count++] = ready[k];
      if (count == std::size(reversed)) {
        queue(slot).push_back(reversed);
        count = 0;
      }
    }
    ReadyTask next;
    if (count > 0 && m_urgent.empty()) next = reversed[--count];
    if (count > 0) queue(slot).push_back({reversed, count});
    return next;
  }

  ReadyTask pop(int slot) override {
    if (ReadyTask const task = m_urgent.pop()) return task;
    if (ReadyTask const task = queue(slot).pop_back()) return task;
    // A batch keeps the shared queue's lock rare, and neighbours in submission order on one core.
    ReadyTask batch[16];
    if (std::size_t const count = m_shared.pop_front(batch, std::size(batch), 4); count > 0) {
      std::reverse(batch + 1, batch + count);
      if (count > 1) queue(slot).push_back({batch + 1, count - 1});
      return batch[0];
    }
    int const slots = m_highest.load(std::memory_order_relaxed) + 1;
    for (int k = 1; k < slots; ++k)
      if (ReadyTask const task = m_own[static_cast<std::size_t>((slot + k) % slots)].pop_front())
        return task;
    return m_last.pop();
  }

  /// What was made ready last on this slot, or first, as a body waits for several tasks in their
  /// order; elsewhere the oldest, which have most behind them. What has a priority is left to
  /// others.
  ReadyTask pop_wanted(int slot, Impl::FunctionRef<bool(ReadyTask)> wanted) override {
    constexpr std::size_t own = 256;
    constexpr std::size_t near = 16;
    if (ReadyTask const task = queue(slot).pop_wanted(wanted, true, own)) return task;
    if (ReadyTask const task = queue(slot).pop_wanted(wanted, false, near)) return task;
    int const slots = m_highest.load(std::memory_order_relaxed) + 1;
    for (int k = 1; k < slots; ++k)
      if (ReadyTask const task =
              m_own[static_cast<std::size_t>((slot + k) % slots)].pop_wanted(wanted, false, near))
        return task;
    return {};
  }

  [[nodiscard]] bool empty() const override {
    int const slots = m_highest.load(std::memory_order_seq_cst) + 1;
    for (int k = 0; k < slots; ++k)
      if (!m_own[static_cast<std::size_t>(k)].empty()) return false;
    return m_shared.empty() && m_urgent.empty() && m_last.empty();
  }

 private:
  /// The calling slot's own queue, or the shared one. From then on thieves and `empty` look at it.
  TaskDeque& queue(int slot) {
    if (slot < 0) return m_shared;
    int highest = m_highest.load(std::memory_order_relaxed);
    while (highest < slot &&
           !m_highest.compare_exchange_weak(highest, slot, std::memory_order_seq_cst)) {
    }
    return m_own[static_cast<std::size_t>(slot)];
  }

  std::vector<TaskDeque> m_own;
  TaskDeque m_shared;
  PriorityQueue m_urgent;
  PriorityQueue m_last;
  std::atomic<int> m_highest{-1};
};

class Fifo final : public SchedulingPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "fifo"; }
  void start(int) override {}
  void push(ReadyTask task, int) override { m_tasks.push_back({&task, 1}); }
  ReadyTask finished(std::span<ReadyTask const> ready, int) override {
    m_tasks.push_back(ready);
    return {};
  }
  ReadyTask pop(int) override { return m_tasks.pop_front(); }
  ReadyTask pop_wanted(int, Impl::FunctionRef<bool(ReadyTask)> wanted) override {
    return m_tasks.pop_wanted(wanted, true, static_cast<std::size_t>(-1));
  }
  [[nodiscard]] bool empty() const override { return m_tasks.empty(); }

 private:
  TaskDeque m_tasks;
};

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
    std::swap(m_tasks[m_random() % m_tasks.size()], m_tasks.back());
    ReadyTask const task = m_tasks.back();
    m_tasks.pop_back();
    m_size.store(m_tasks.size(), std::memory_order_seq_cst);
    return task;
  }
  ReadyTask pop_wanted(int, Impl::FunctionRef<bool(ReadyTask)> wanted) override {
    if (m_size.load(std::memory_order_relaxed) == 0 || chance(4)) return {};
    std::lock_guard const lock(m_mutex);
    for (ReadyTask& task : m_tasks)
      if (wanted(task)) {
        std::swap(task, m_tasks.back());
        ReadyTask const found = m_tasks.back();
        m_tasks.pop_back();
        m_size.store(m_tasks.size(), std::memory_order_seq_cst);
        return found;
      }
    return {};
  }
  [[nodiscard]] bool empty() const override { return m_size.load(std::memory_order_seq_cst) == 0; }

 private:
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
  std::vector<ReadyTask> m_tasks;
  std::atomic<std::size_t> m_size{0};
};

}  // namespace

std::shared_ptr<SchedulingPolicy> make_work_stealing_policy() {
  return std::make_shared<WorkStealing>();
}
std::shared_ptr<SchedulingPolicy> make_fifo_policy() {
  return std::make_shared<Fifo>();
}
std::shared_ptr<SchedulingPolicy> make_shake_policy(std::uint64_t seed) {
  return std::make_shared<Shake>(seed);
}

}  // namespace trellis
