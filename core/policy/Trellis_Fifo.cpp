// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_SchedulingPolicy.hpp>
#include <policy/Trellis_TaskDeque.hpp>

namespace trellis {

namespace {

class Fifo final : public SchedulingPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "fifo"; }
  void start(int) override {}
  void push(ReadyTask task, int) override { m_tasks.push_back(task); }
  ReadyTask finished(std::span<ReadyTask const> ready, int) override {
    for (ReadyTask const task : ready) m_tasks.push_back(task);
    return {};
  }
  ReadyTask pop(int) override { return m_tasks.pop_front(); }
  ReadyTask pop_wanted(int, Impl::FunctionRef<bool(ReadyTask)> wanted) override {
    return m_tasks.pop_wanted_back(wanted, static_cast<std::size_t>(-1));
  }
  [[nodiscard]] bool empty() const override { return m_tasks.empty(); }
  [[nodiscard]] std::size_t backlog() const override { return m_tasks.size(); }
  [[nodiscard]] std::int64_t exclusive_rank(ReadyTask) override { return 0; }

 private:
  Impl::TaskDeque m_tasks;
};

}  // namespace

std::shared_ptr<SchedulingPolicy> make_fifo_policy() {
  return std::make_shared<Fifo>();
}

}  // namespace trellis
