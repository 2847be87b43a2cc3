// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_PriorityPolicy.hpp>
#include <policy/Trellis_PlannedRanks.hpp>
#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

namespace trellis::experimental {

namespace {

using Impl::PlannedRanks;

/// A heap under a lock. Urgencies are looked up when a task is pushed.
///
/// INVARIANT (no lost wake-up, see Workers). The size is stored sequentially consistently, before
/// `push` and `finished` return; `empty` reads it so.
class Priority final : public PriorityPolicy {
 public:
  explicit Priority(PriorityOptions const& options) : m_measures(options.measures) {}

  [[nodiscard]] std::string_view name() const override { return "priority"; }
  void start(int) override {}

  void push(ReadyTask task, int) override {
    std::lock_guard const lock(m_mutex);
    put(task);
    store_size();
  }
  ReadyTask finished(std::span<ReadyTask const> ready, int) override {
    std::lock_guard const lock(m_mutex);
    for (ReadyTask const task : ready) put(task);
    ReadyTask const next = take();
    store_size();
    return next;
  }
  ReadyTask pop(int) override {
    if (m_size.load(std::memory_order_relaxed) == 0) return {};
    std::lock_guard const lock(m_mutex);
    ReadyTask const next = take();
    store_size();
    return next;
  }
  ReadyTask pop_wanted(int, Impl::FunctionRef<bool(ReadyTask)> wanted) override {
    if (m_size.load(std::memory_order_relaxed) == 0) return {};
    std::lock_guard const lock(m_mutex);
    std::size_t best = m_heap.size();
    for (std::size_t k = 0; k < m_heap.size(); ++k)
      if ((best == m_heap.size() || m_heap[best] < m_heap[k]) && wanted(m_heap[k].task)) best = k;
    if (best == m_heap.size()) return {};
    ReadyTask const found = m_heap[best].task;
    m_heap[best] = m_heap.back();
    m_heap.pop_back();
    std::make_heap(m_heap.begin(), m_heap.end());
    store_size();
    return found;
  }
  [[nodiscard]] bool empty() const override { return m_size.load(std::memory_order_seq_cst) == 0; }
  [[nodiscard]] std::size_t backlog() const override {
    return m_size.load(std::memory_order_relaxed);
  }

  /// Priorities beyond about half a thousand million, and ranks beyond some seconds, are clamped.
  [[nodiscard]] std::int64_t exclusive_rank(ReadyTask task) override {
    constexpr std::int64_t longest = (std::int64_t{1} << 33) - 1;
    constexpr int most = (1 << 29) - 1;
    std::int64_t const priority = std::clamp(task.priority(), -most, most);
    std::lock_guard const lock(m_mutex);
    return (priority << 33) + std::min(find(task).rank, longest);
  }

  [[nodiscard]] bool sees_plans() const override { return true; }
  void planned(PlannedTasks const& plan) override {
    std::lock_guard const lock(m_mutex);
    if (plan.tasks.empty()) return;
    if (m_plans.size() >= most_plans)
      m_plans.erase(std::min_element(m_plans.begin(), m_plans.end(), [](auto& a, auto& b) {
        return a.second.used < b.second.used;
      }));
    PlannedRanks& ranks =
        m_plans.insert_or_assign(plan.number, PlannedRanks(plan, hop_ns())).first->second;
    ranks.used = ++m_uses;
  }

  [[nodiscard]] bool wants_times() const override { return m_measures; }
  void ran(ReadyTask task, std::chrono::nanoseconds time) override {
    std::lock_guard const lock(m_mutex);
    constexpr double memory = 1024;
    m_timed = std::min(m_timed + 1, memory);
    m_mean_ns += (static_cast<double>(time.count()) - m_mean_ns) / m_timed;
    std::optional<PlannedPlace> const place = task.place();
    if (!place) return;
    if (PlannedRanks* const ranks = find_plan(place->plan)) ranks->ran(place->index, time.count());
  }

  void set_urgency(std::string_view label, Urgency urgency) override {
    std::lock_guard const lock(m_mutex);
    m_labels.insert_or_assign(std::string(label), urgency);
  }

  [[nodiscard]] std::optional<Urgency> urgency(std::string_view label) const override {
    std::lock_guard const lock(m_mutex);
    auto const found = m_labels.find(label);
    return found != m_labels.end() ? std::optional(found->second) : std::nullopt;
  }
  [[nodiscard]] std::vector<Urgency> urgency_of_plan(std::uint64_t number) const override {
    std::lock_guard const lock(m_mutex);
    auto const found = m_plans.find(number);
    return found != m_plans.end() ? found->second.all() : std::vector<Urgency>();
  }
  [[nodiscard]] std::vector<std::uint64_t> plans() const override {
    std::lock_guard const lock(m_mutex);
    std::vector<std::uint64_t> numbers;
    for (auto const& [number, ranks] : m_plans) numbers.push_back(number);
    return numbers;
  }

 private:
  static constexpr std::size_t most_plans = 64;

  struct Entry {
    ReadyTask task;
    int priority;
    Urgency urgency;
    std::uint64_t order;  ///< of arrival
    /// True if this entry comes later.
    bool operator<(Entry const& other) const {
      return std::tuple(priority, urgency.rank, urgency.consumers, other.order) <
             std::tuple(other.priority, other.urgency.rank, other.urgency.consumers, order);
    }
  };

  // The caller of each of these functions holds the mutex.
  void put(ReadyTask task) {
    m_heap.push_back({task, task.priority(), find(task), m_arrivals++});
    std::push_heap(m_heap.begin(), m_heap.end());
  }
  ReadyTask take() {
    if (m_heap.empty()) return {};
    std::pop_heap(m_heap.begin(), m_heap.end());
    ReadyTask const task = m_heap.back().task;
    m_heap.pop_back();
    return task;
  }
  void store_size() { m_size.store(m_heap.size(), std::memory_order_seq_cst); }
  [[nodiscard]] Urgency find(ReadyTask task) {
    if (std::optional<PlannedPlace> const place = task.place())
      if (PlannedRanks* const ranks = find_plan(place->plan)) return ranks->of(place->index);
    if (m_labels.empty()) return {};
    auto const found = m_labels.find(task.label());
    return found != m_labels.end() ? found->second : Urgency{};
  }
  [[nodiscard]] PlannedRanks* find_plan(std::uint64_t number) {
    auto const found = m_plans.find(number);
    if (found == m_plans.end()) return nullptr;
    found->second.used = ++m_uses;
    return &found->second;
  }
  [[nodiscard]] std::int64_t hop_ns() const {
    return std::max<std::int64_t>(1, std::llround(m_mean_ns));
  }

  bool const m_measures;
  mutable std::mutex m_mutex;
  Impl::Vector<Entry> m_heap;
  std::uint64_t m_arrivals = 0;
  std::map<std::uint64_t, PlannedRanks> m_plans;
  std::uint64_t m_uses = 0;
  std::map<std::string, Urgency, std::less<>> m_labels;
  double m_timed = 0;  ///< timed tasks, at most as many as the mean remembers
  double m_mean_ns = 0;
  std::atomic<std::size_t> m_size{0};
};

}  // namespace

std::shared_ptr<PriorityPolicy> make_priority_policy(PriorityOptions const& options) {
  return std::make_shared<Priority>(options);
}

}  // namespace trellis::experimental
