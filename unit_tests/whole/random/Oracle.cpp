// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomProgram.hpp"

#include <algorithm>

namespace random_program {

Conflicts::Conflicts(Program const& program)
    : m_program(program), m_access(program.tasks.size() * program.tasks.size()) {
  struct Toucher {
    int task;
    How how;
  };
  std::vector<std::vector<std::vector<Toucher>>> touchers;  // by array and element
  for (int const size : program.arrays) touchers.emplace_back(static_cast<std::size_t>(size));
  for (Task const& task : program.tasks) {
    auto& touches = m_touches.emplace_back();
    for (auto const& accesses : m_stages.emplace_back(stages_of(program, task))) {
      auto& stage = touches.emplace_back();
      for (Access const& access : accesses)
        if (access.how != How::none)
          for (int const element : access.elements())
            stage.push_back({access.array, element, access.how});
      std::sort(stage.begin(), stage.end(), [](Touch const& a, Touch const& b) {
        return std::pair(a.array, a.element) < std::pair(b.array, b.element);
      });
    }
    int const number = static_cast<int>(m_touches.size()) - 1;
    for (auto const& [array, element, how] : touches[0])
      touchers[static_cast<std::size_t>(array)][static_cast<std::size_t>(element)].push_back(
          {number, how});
  }
  for (auto const& array : touchers)
    for (auto const& here : array)
      for (auto const& [a, how_a] : here)
        for (auto const& [b, how_b] : here)
          if (a != b && conflict(how_a, how_b)) m_access[index(a, b)] = true;
}

/// `f(how, how)` for what both do to one element.
template <class F>
bool Conflicts::any(int a, std::size_t stage_a, int b, std::size_t stage_b, F&& f) const {
  auto const& one = m_touches[static_cast<std::size_t>(a)][stage_a];
  auto const& two = m_touches[static_cast<std::size_t>(b)][stage_b];
  auto const place = [](Touch const& touch) { return std::pair(touch.array, touch.element); };
  for (std::size_t i = 0, j = 0; i < one.size() && j < two.size();) {
    if (place(one[i]) != place(two[j])) {
      ++(place(one[i]) < place(two[j]) ? i : j);
      continue;
    }
    for (std::size_t k = j; k < two.size() && place(two[k]) == place(one[i]); ++k)
      if (f(one[i].how, two[k].how)) return true;
    ++i;
  }
  return false;
}

bool Conflicts::by_access(int a, std::size_t stage, int b) const {
  if (stage == 0) return by_access(a, b);
  return same_scope(a, b) && any(a, stage, b, 0, [](How x, How y) { return conflict(x, y); });
}

bool Conflicts::exclude(int a, std::size_t stage_a, int b, std::size_t stage_b) const {
  return same_scope(a, b) &&
         any(a, stage_a, b, stage_b, [](How x, How y) { return random_program::exclude(x, y); });
}

bool Conflicts::after(int first, int second) const {
  auto const& after = m_program.task(second).after;
  return std::find(after.begin(), after.end(), first) != after.end();
}

bool Conflicts::synchronizing(int a, int b) const {
  return same_scope(a, b) && (m_program.task(a).synchronizing || m_program.task(b).synchronizing);
}

bool Conflicts::by_rule(int first, int second, bool exclusive) const {
  if (!same_scope(first, second)) return false;
  return std::any_of(m_program.rules.begin(), m_program.rules.end(), [&](Rule const& rule) {
    return rule.exclusive == exclusive &&
           rule.holds[m_program.task(first).tag][m_program.task(second).tag];
  });
}

namespace {

class Oracle {
 public:
  Oracle(Program const& program, Conflicts const& conflicts, std::vector<int> const& order,
         std::vector<bool> const& refined)
      : m_program(program), m_conflicts(conflicts), m_order(order), m_refined(refined) {
    std::size_t const count = program.tasks.size();
    m_outcome.fate.assign(count, Fate::not_submitted);
    m_outcome.origin.assign(count, -1);
    m_outcome.digest.assign(count, 0);
    m_outcome.stage.assign(count, 0);
    m_outcome.steps.assign(count, 0);
    m_arrival.assign(count, order.size());
    for (std::size_t n = 0; n < order.size(); ++n)
      m_arrival[static_cast<std::size_t>(order[n])] = n;
    for (int array = 0; array < static_cast<int>(program.arrays.size()); ++array) {
      auto& memory = m_outcome.memory.emplace_back();
      for (int element = 0; element < program.arrays[static_cast<std::size_t>(array)]; ++element)
        memory.push_back(initial_value(array, element));
    }
  }

  Outcome operator()() {
    for (int const t : m_order)
      if (m_program.task(t).owner < 0) execute(t);
    return std::move(m_outcome);
  }

 private:
  Fate& fate(int t) { return m_outcome.fate[static_cast<std::size_t>(t)]; }
  std::size_t arrival(int t) const { return m_arrival[static_cast<std::size_t>(t)]; }
  bool bad(int t) { return fate(t) == Fate::failed || fate(t) == Fate::cancelled; }
  /// The failure that began first, in order of submission, counts.
  void blame(int t, int origin) {
    int& its = m_outcome.origin[static_cast<std::size_t>(t)];
    if (its < 0 || arrival(origin) < arrival(its)) its = origin;
  }

  /// `cancelled_by`: the origin of the parent's failure, when that was cancelled with its children.
  void execute(int t, int cancelled_by = -1) {
    Task const& task = m_program.task(t);
    fate(t) = Fate::done;
    if (cancelled_by >= 0) {
      fate(t) = Fate::cancelled;
      blame(t, cancelled_by);
    }
    for (std::size_t n = 0; n < arrival(t); ++n) {
      int const before = m_order[n];
      // wait() has reported the failures of earlier phases.
      if (!bad(before) || m_program.task(before).phase != task.phase ||
          !m_conflicts.ordered(before, m_outcome.stage[static_cast<std::size_t>(before)], t))
        continue;
      fate(t) = Fate::cancelled;
      blame(t, m_outcome.origin[static_cast<std::size_t>(before)]);
    }
    if (m_refined[static_cast<std::size_t>(t)]) {
      int const origin =
          fate(t) == Fate::cancelled ? m_outcome.origin[static_cast<std::size_t>(t)] : -1;
      std::vector<int> children = task.refinement;
      execute_children(t, children, origin);
    } else if (fate(t) != Fate::cancelled) {
      run(t);
    }
  }

  void execute_children(int t, std::vector<int>& children, int cancelled_by = -1) {
    std::sort(children.begin(), children.end(),
              [&](int a, int b) { return arrival(a) < arrival(b); });
    for (int const child : children) {
      if (arrival(child) == m_order.size()) continue;  // not submitted: somebody will complain
      execute(child, cancelled_by);
      if (!bad(child) || cancelled_by >= 0) continue;
      fate(t) = Fate::failed;
      blame(t, m_outcome.origin[static_cast<std::size_t>(child)]);
    }
    children.clear();
  }

  void run(int t) {
    Task const& task = m_program.task(t);
    std::size_t& stage = m_outcome.stage[static_cast<std::size_t>(t)];
    std::vector<int> children;
    bool over = false;
    for (Step const& step : body_of(task)) {
      ++m_outcome.steps[static_cast<std::size_t>(t)];
      if (step.kind == Step::Kind::submit && m_program.task(step.task).owner == t)
        children.push_back(step.task);
      if (step.kind == Step::Kind::demote || step.kind == Step::Kind::release) ++stage;
      if (step.kind == Step::Kind::compute) compute(t, stage);
      if (step.kind == Step::Kind::wait_children) execute_children(t, children);
      over = step.kind == Step::Kind::wait_children && bad(t) && !task.catches;
      if (over) break;
    }
    execute_children(t, children);
    if (!task.throws || over) return;
    fate(t) = Fate::failed;
    blame(t, t);
  }

  void compute(int t, std::size_t stage) {
    std::uint64_t& digest = m_outcome.digest[static_cast<std::size_t>(t)];
    auto const& accesses = m_conflicts.stage(t, stage);
    for (std::size_t k = 0; k < accesses.size(); ++k) {
      Access const& access = accesses[k];
      for (int const element : access.elements()) {
        std::uint64_t& value =
            m_outcome
                .memory[static_cast<std::size_t>(access.array)][static_cast<std::size_t>(element)];
        std::uint64_t const more = contribution(m_program.task(t), stage, k, element);
        switch (access.how) {
          case How::read:
          case How::look:
            digest = mix(digest, value);
            break;
          case How::write:
          case How::read_write:
          case How::make:
            digest = mix(digest, value);
            value = mix(value, more);
            break;
          case How::atomic_add:
          case How::exclusive:
          case How::add:
          case How::turn:
            value += more;
            break;
          case How::atomic_mul:
            value *= more;
            break;
          case How::none:
            break;
        }
      }
    }
  }

  Program const& m_program;
  Conflicts const& m_conflicts;
  std::vector<int> const& m_order;
  std::vector<bool> const& m_refined;
  std::vector<std::size_t> m_arrival;
  Outcome m_outcome;
};

}  // namespace

Outcome run_serially(Program const& program, Conflicts const& conflicts,
                     std::vector<int> const& order, std::vector<bool> const& refined) {
  return Oracle(program, conflicts, order, refined)();
}

}  // namespace random_program
