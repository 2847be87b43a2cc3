// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <task/Trellis_GraphControl.hpp>
#include <graph/Trellis_ModelTasks.hpp>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace trellis::Impl {

namespace {

/// No graph ever uses it, so to the engine these handles belong to a graph that is gone.
GraphControl& control_of_models() {
  static GraphControl control;
  return control;
}

constexpr unsigned place_bits = 32;
/// Ids of submitted tasks are smaller, and no other task has such an id; see Iteration and
/// PlanNode.
constexpr TaskId of_models = TaskId{3} << 62;

/// Never destroyed: futures may outlive everything.
struct Texts {
  std::mutex mutex;
  std::map<std::uint64_t, std::vector<std::string>> of_model;

  static Texts& get() {
    static Texts* const instance = new Texts;
    return *instance;
  }
};

}  // namespace

TaskHandle add_model_task(std::uint64_t model, std::size_t place, std::string text) {
  {
    Texts& texts = Texts::get();
    std::lock_guard const lock(texts.mutex);
    std::vector<std::string>& known = texts.of_model[model];
    if (known.size() <= place) known.resize(place + 1);
    known[place] = std::move(text);
  }
  return {&control_of_models(), model, nullptr, of_models | model << place_bits | place};
}

void forget_model_tasks(std::uint64_t model) {
  Texts& texts = Texts::get();
  std::lock_guard const lock(texts.mutex);
  texts.of_model.erase(model);
}

bool is_model_task(TaskHandle const& handle) {
  return handle.control == &control_of_models();
}

bool is_task_of_model(TaskHandle const& handle, std::uint64_t model) {
  return is_model_task(handle) && handle.generation == model;
}

std::size_t place_in_model(TaskHandle const& handle) {
  return static_cast<std::size_t>(handle.id & ((TaskId{1} << place_bits) - 1));
}

std::string model_task_text(TaskHandle const& handle) {
  Texts& texts = Texts::get();
  std::lock_guard const lock(texts.mutex);
  auto const known = texts.of_model.find(handle.generation);
  if (known == texts.of_model.end()) return "a task of a model that is not there any more";
  return "the " + known->second[place_in_model(handle)] + " of a model";
}

void refuse_model_task(TaskHandle const& handle) {
  if (!is_model_task(handle)) return;
  throw Error(
      Error::Kind::bad_input,
      "Trellis: this future stands for " + model_task_text(handle) +
          ": it runs once in each iteration, so it has no end and no result of its own. Wait "
          "for the graph after submit(), or let the task write a field");
}

void refuse_fork_join_in_model(Label const& fork_join) {
  throw Error(
      Error::Kind::bad_input,
      "Trellis: the fork-join \"" + fork_join.string() + "\" (" + fork_join.place() +
          ") goes to a model of fields: fork_join returns when its children are complete, and "
          "the tasks of a model run in iterations. Let a host_task of the model take a "
          "TaskScope and submit the children there");
}

void refuse_value_in_model(Label const& task) {
  throw Error(Error::Kind::bad_input,
              "Trellis: the task \"" + task.string() + "\" (" + task.place() +
                  ") goes to a model of fields with after(...) or value(...) for a result that it "
                  "is to get: it runs once in each iteration, so let the result be a field");
}

}  // namespace trellis::Impl
