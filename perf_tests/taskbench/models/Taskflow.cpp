// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../Model.hpp"

#include <taskflow/taskflow.hpp>

namespace taskbench {
namespace {

/// Edges given by hand. The graph is made while the clock runs, or (replay) before.
class TaskflowModel : public Model {
 public:
  TaskflowModel(int workers, Kind kind)
      : Model(kind == Kind::replay ? "taskflow_replay" : "taskflow", kind),
        m_executor(static_cast<std::size_t>(workers)) {}
  [[nodiscard]] std::string description() const override {
    return std::string("Taskflow ") + tf::version() + ", edges given by hand, graph made " +
           (kind() == Kind::replay ? "once" : "in each run");
  }
  [[nodiscard]] int workers() const override { return static_cast<int>(m_executor.num_workers()); }
  [[nodiscard]] std::int64_t most_tasks() const override { return 2'000'000; }
  void prepare(Work& work) override {
    if (kind() == Kind::replay) build(work);
  }
  void release() override { m_taskflow.clear(); }
  void run(Work& work) override {
    if (kind() == Kind::dynamic) build(work);
    m_executor.run(m_taskflow).wait();
  }

 private:
  void build(Work& work) {
    m_taskflow.clear();
    // Tasks of the last `copies` steps, the oldest of which is overwritten.
    std::size_t const width = static_cast<std::size_t>(work.width());
    auto const steps = static_cast<std::size_t>(work.parameters().copies) + 1;
    std::vector<tf::Task> recent(steps * width);
    auto const at = [&](std::int64_t step, int column) -> tf::Task& {
      return recent[static_cast<std::size_t>(step) % steps * width +
                    static_cast<std::size_t>(column)];
    };
    for (std::int64_t step = 0; step != work.steps(); ++step) {
      Columns const columns = work.columns(step);
      for (int column = columns.begin; column != columns.end; ++column) {
        tf::Task const task =
            m_taskflow.emplace([&work, step, column] { work.run_task(step, column); });
        for (Predecessor const p : work.edges().predecessors(step, column))
          at(step - p.steps_back, p.column).precede(task);
        at(step, column) = task;
      }
    }
  }

  tf::Executor m_executor;
  tf::Taskflow m_taskflow;
};

}  // namespace

std::unique_ptr<Model> make_taskflow(int workers) {
  return std::make_unique<TaskflowModel>(workers, Model::Kind::dynamic);
}
std::unique_ptr<Model> make_taskflow_replay(int workers) {
  return std::make_unique<TaskflowModel>(workers, Model::Kind::replay);
}

}  // namespace taskbench
