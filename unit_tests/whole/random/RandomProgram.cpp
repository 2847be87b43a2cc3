// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomProgram.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace random_program {

char const* to_string(How how) {
  constexpr std::array<char const*, how_count> names = {
      "read", "write", "read_write", "atomic_add", "atomic_mul", "exclusive",
      "none", "look",  "add",        "turn",       "make"};
  return names[static_cast<std::size_t>(how)];
}

char const* to_string(Fate fate) {
  constexpr std::array<char const*, 4> names = {"not submitted", "done", "failed", "cancelled"};
  return names[static_cast<std::size_t>(fate)];
}

bool conflict(How a, How b) {
  if (a == How::none || b == How::none) return false;
  if (is_state(a) && is_state(b)) {
    if (a == How::look && b == How::look) return false;
    auto const adds = [](How how) { return how == How::add || how == How::turn; };
    return !(adds(a) && adds(b));
  }
  bool const writes = a == How::write || a == How::read_write;
  return a != b || writes;
}

bool exclude(How a, How b) {
  if (a == How::exclusive || b == How::exclusive) return a == b;
  return (a == How::turn && (b == How::turn || b == How::add)) || (a == How::add && b == How::turn);
}

bool covers(How a, How b) {
  if (b == How::none) return true;
  if (a == How::none || (is_state(a) && !is_state(b))) return false;
  if (is_state(b) && !is_state(a)) return covers(a, How::write);
  for (int k = 0; k < how_count; ++k) {
    auto const other = static_cast<How>(k);
    if (is_state(other) != is_state(a) || conflict(a, other)) continue;
    if (conflict(b, other) || (exclude(b, other) && !exclude(a, other))) return false;
  }
  return true;
}

std::vector<int> Access::elements() const {
  std::vector<int> found{first};
  for (Dimension const& dimension : dimensions) {
    std::vector<int> more;
    for (int i = 0; i < dimension.extent; ++i)
      for (int const element : found) more.push_back(element + i * dimension.stride);
    found = std::move(more);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

bool Program::has_waits_in_tasks() const {
  return std::any_of(tasks.begin(), tasks.end(), [](Task const& task) {
    return std::any_of(task.steps.begin(), task.steps.end(), [](Step const& step) {
      return step.kind == Step::Kind::wait_for || step.kind == Step::Kind::wait_children;
    });
  });
}
bool Program::has_several_threads() const {
  return std::any_of(phases.begin(), phases.end(),
                     [](auto const& threads) { return threads.size() > 1; });
}
bool Program::has_nested_tasks() const {
  return std::any_of(tasks.begin(), tasks.end(), [](Task const& task) { return task.parent >= 0; });
}

bool Program::is_token(int array) const {
  return std::find(tokens.begin(), tokens.end(), array) != tokens.end();
}

std::vector<int> Program::area(Access const& access) const {
  if (!is_token(access.array)) return access.elements();
  std::vector<int> all(static_cast<std::size_t>(arrays[static_cast<std::size_t>(access.array)]));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

namespace {

bool includes(std::vector<int> const& outer, std::vector<int> const& inner) {
  return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
}

}  // namespace

bool Program::lies_within(Access const& inner, Access const& outer) const {
  return inner.array == outer.array && covers(outer.how, inner.how) &&
         includes(outer.elements(), inner.elements());
}

std::vector<Access> after_step(Program const& program, std::vector<Access> const& has,
                               Step const& step) {
  std::vector<Access> result;
  if (step.kind == Step::Kind::release) {
    for (Access const& mine : has)
      if (std::none_of(step.accesses.begin(), step.accesses.end(), [&](Access const& request) {
            return request.array == mine.array &&
                   includes(program.area(request), program.area(mine));
          }))
        result.push_back(mine);
    return result;
  }
  // The holder is an access with exactly this area, else the first one around it.
  std::vector<bool> replaced(has.size());
  for (Access const& request : step.accesses) {
    std::size_t holder = has.size();
    for (std::size_t k = 0; k < has.size(); ++k)
      if (has[k].how != How::none && program.lies_within(request, has[k]) &&
          (holder == has.size() || program.area(has[k]) == program.area(request)))
        holder = k;
    if (holder < has.size()) replaced[holder] = true;
  }
  for (std::size_t k = 0; k < has.size(); ++k)
    if (!replaced[k]) result.push_back(has[k]);
  result.insert(result.end(), step.accesses.begin(), step.accesses.end());
  return result;
}

std::vector<std::vector<Access>> stages_of(Program const& program, Task const& task) {
  std::vector<std::vector<Access>> stages{task.accesses};
  for (Step const& step : task.steps)
    if (step.kind == Step::Kind::demote || step.kind == Step::Kind::release)
      stages.push_back(after_step(program, stages.back(), step));
  return stages;
}

std::vector<Step> body_of(Task const& task) {
  std::vector<Step> steps = task.steps;
  if (!task.says_when_to_compute)
    steps.insert(task.steps_first ? steps.end() : steps.begin(), {Step::Kind::compute});
  return steps;
}

Program without(Program const& program, std::vector<bool> dropped) {
  std::vector<int> number(program.tasks.size(), -1);
  Program rest;
  rest.seed = program.seed;
  rest.settings = program.settings;
  rest.arrays = program.arrays;
  rest.tokens = program.tokens;
  rest.rules = program.rules;
  int next = 0;
  for (std::size_t t = 0; t < program.tasks.size(); ++t) {  // parents come first
    int const parent = program.tasks[t].parent;
    if (parent >= 0 && dropped[static_cast<std::size_t>(parent)]) dropped[t] = true;
    if (!dropped[t]) number[t] = next++;
  }
  auto const keep_tasks = [&](std::vector<int> const& tasks) {
    std::vector<int> kept;
    for (int const task : tasks)
      if (number[static_cast<std::size_t>(task)] >= 0)
        kept.push_back(number[static_cast<std::size_t>(task)]);
    return kept;
  };
  auto const keep = [&](std::vector<Step> const& steps) {
    std::vector<Step> kept;
    for (Step step : steps) {
      if (step.task >= 0) {
        step.task = number[static_cast<std::size_t>(step.task)];
        if (step.task < 0) continue;
      }
      kept.push_back(step);
    }
    return kept;
  };
  for (std::size_t t = 0; t < program.tasks.size(); ++t) {
    if (dropped[t]) continue;
    Task task = program.tasks[t];
    if (task.parent >= 0) task.parent = number[static_cast<std::size_t>(task.parent)];
    if (task.owner >= 0) task.owner = number[static_cast<std::size_t>(task.owner)];
    task.after = keep_tasks(task.after);
    task.refinement = keep_tasks(task.refinement);
    task.steps = keep(task.steps);
    rest.tasks.push_back(std::move(task));
  }
  for (auto const& threads : program.phases) {
    auto& phase = rest.phases.emplace_back();
    for (auto const& steps : threads) phase.push_back(keep(steps));
  }
  return rest;
}

}  // namespace random_program
