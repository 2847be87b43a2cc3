// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomProgram.hpp"

#include <algorithm>
#include <array>

namespace random_program {

namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, Ingredients const& ingredients)
      : m_random(seed), m_with(ingredients) {
    m_program.seed = seed;
    // A failure and the main thread's wait(), which reports it, could come in any order.
    if (m_with.threads && m_with.failures) m_with.main_thread = false;
  }

  Program make() {
    choose_settings();
    m_shared_arrays = 1 + below(3);
    for (int a = 0; a < m_shared_arrays; ++a)
      m_program.arrays.push_back(1 + below(chance(3) ? 60 : 12));
    int const phases = 1 + below(m_with.failures ? 4 : 3);
    m_budget = 1 + below(m_with.max_tasks);
    m_throws_one_in = m_with.failures ? (chance(2) ? 40 : 8) : 0;
    m_synchronizing_one_in = m_with.synchronizing && !(m_with.waits && chance(2)) ? 30 : 0;
    m_favourite = chance(4) ? static_cast<How>(below(6)) : How::none;
    if (m_with.states)
      for (int k = below(3); k > 0; --k) {
        m_program.tokens.push_back(static_cast<int>(m_program.arrays.size()));
        m_program.arrays.push_back(1 + below(10));
      }
    if (m_with.rules)
      for (int k = 1 + below(2); k > 0; --k) make_rule();
    for (int p = 0; p < phases; ++p)
      make_phase(p, p + 1 == phases ? m_budget : m_budget / (phases - p));
    if (m_with.wide)
      for (Task& task : m_program.tasks)
        if (std::uint64_t const drawn = mix(task.salt, 5); drawn % 3 == 0)
          task.threads =
              1 +
              static_cast<int>(drawn / 3 % static_cast<std::uint64_t>(m_program.settings.workers));
    return std::move(m_program);
  }

 private:
  using Known = std::vector<int>;

  int below(int n) {
    return n <= 1 ? 0 : static_cast<int>(m_random() % static_cast<std::uint64_t>(n));
  }
  bool chance(int one_in) { return one_in > 0 && below(one_in) == 0; }

  void choose_settings() {
    Settings& settings = m_program.settings;
    settings.workers = 1 + below(4);
    int const policy = below(3);
    settings.policy = m_with.serial ? "serial"
                      : policy == 0 ? "work_stealing"
                      : policy == 1 ? "fifo"
                                    : "shake:" + std::to_string(m_random() % 1000);
    constexpr std::array<std::size_t, 8> caps = {1, 2, 3, 7, 64, 16384, 16384, 16384};
    settings.in_flight = caps[static_cast<std::size_t>(below(8))];
    settings.record = chance(2);
    settings.wild = m_with.wild_waits;
    settings.fuses = m_program.seed * 0x9e3779b97f4a7c15 >> 63 != 0;
  }

  void make_rule() {
    Rule& rule = m_program.rules.emplace_back();
    rule.exclusive = chance(2);
    for (int a = 1; a < tag_count; ++a)
      for (int b = 1; b < tag_count; ++b) rule.holds[a][b] = chance(3);
  }

  void make_phase(int phase, int tasks) {
    int const threads = m_with.threads ? 2 + below(2) : 1;
    auto& steps = m_program.phases.emplace_back(static_cast<std::size_t>(threads));
    std::vector<Known> known(static_cast<std::size_t>(threads), m_known);
    for (int n = 0; n < tasks && m_budget > 0; ++n) {
      auto const thread = static_cast<std::size_t>(below(threads));
      add_outer_steps(steps[thread], known[thread], phase);
    }
    for (Known const& each : known) m_known.insert(m_known.end(), each.begin(), each.end());
    std::sort(m_known.begin(), m_known.end());
    m_known.erase(std::unique(m_known.begin(), m_known.end()), m_known.end());
  }

  void add_outer_steps(std::vector<Step>& steps, Known& known, int phase) {
    if (chance(20)) steps.push_back({Step::Kind::pause});
    if (chance(25) && !known.empty())
      steps.push_back({Step::Kind::wait_for, known[index_of(known)]});
    int const task = add_task(-1, phase, known, 0, {});
    if (m_with.refine && !known.empty() && chance(3))
      add_refinement(steps, phase, known[index_of(known)]);
    steps.push_back({Step::Kind::submit, task});
    known.push_back(task);
  }

  std::size_t index_of(Known const& known) {  // the newest ones are the interesting ones
    int const size = static_cast<int>(known.size());
    return static_cast<std::size_t>(chance(3) ? below(size) : size - 1 - below(std::min(size, 6)));
  }

  /// `known`: tasks whose submission is over when this one is submitted. `only`: it may touch these
  /// arrays alone.
  int add_task(int parent, int phase, Known const& known, int depth, std::vector<int> const& only) {
    --m_budget;
    int const number = static_cast<int>(m_program.tasks.size());
    m_program.tasks.emplace_back();
    Task task;
    task.parent = parent;
    task.phase = phase;
    task.salt = m_random();
    task.priority = chance(5) ? below(5) - 2 : 0;
    task.main_thread = m_with.main_thread && chance(12);
    task.synchronizing = only.empty() && chance(m_synchronizing_one_in);
    task.throws = chance(m_throws_one_in);
    task.steps_first = !chance(4);
    int const accesses = chance(12) ? 0 : chance(10) ? 4 + below(5) : 1 + below(4);
    for (int k = 0; k < accesses; ++k) task.accesses.push_back(make_access(only));
    if (only.empty() && !known.empty() && chance(6))
      for (int k = 0; k <= below(3); ++k) task.after.push_back(known[index_of(known)]);
    if (m_with.rules && only.empty() && chance(2)) task.tag = 1 + below(tag_count - 1);
    bool const exclusive = may_exclude(task);
    if (changes_itself() && chance(depth == 0 ? 2 : 3)) {
      m_program.tasks[static_cast<std::size_t>(number)] = task;
      Body body;
      body.known = known;
      body.only = only;
      body.depth = depth;
      body.quiet = !exclusive && only.empty();
      make_body(task, number, body);
      m_program.tasks[static_cast<std::size_t>(number)] = std::move(task);
      return number;
    }
    if (chance(8)) task.steps.push_back({Step::Kind::pause});
    // Waits that always end: for what was submitted before this task, by a task that holds no
    // exclusive area.
    if (m_with.waits && (!exclusive || m_with.wild_waits) && only.empty() && !known.empty() &&
        chance(6))
      task.steps.push_back({Step::Kind::wait_for, known[index_of(known)]});
    if (m_with.nested && depth < 3 && chance(depth == 0 ? 5 : 3)) {
      m_program.tasks[static_cast<std::size_t>(number)] = task;
      add_children(task, number, phase, known, depth, exclusive, only);
    }
    m_program.tasks[static_cast<std::size_t>(number)] = std::move(task);
    return number;
  }

  /// A task that waits for its children gives them an array of their own; then nothing that waits
  /// for it can hold them up.
  void add_children(Task& task, int number, int phase, Known known, int depth, bool exclusive,
                    std::vector<int> const& only) {
    bool const awaits = m_with.waits && !exclusive && !m_synchronizing_one_in && chance(2);
    std::vector<int> arrays = only;
    if (awaits && !m_with.wild_waits) {
      arrays = {static_cast<int>(m_program.arrays.size())};
      m_program.arrays.push_back(1 + below(8));
    }
    int const children = 1 + below(4);
    Known own;
    for (int k = 0; k < children && m_budget > 0; ++k) {
      int const child =
          add_task(number, phase, arrays.empty() ? known : Known{}, depth + 1, arrays);
      task.steps.push_back({Step::Kind::submit, child});
      own.push_back(child);
      known.push_back(child);
      if ((awaits || m_with.wild_waits) && chance(2))
        task.steps.push_back({Step::Kind::wait_for, own[index_of(own)]});
      if (chance(8)) task.steps.push_back({Step::Kind::pause});
    }
  }

  // --- tasks that split, demote and refine ---

  /// What is known of a body that is being made.
  struct Body {
    Known known = {};  ///< submitted before the task, or before whatever it is a child of
    std::vector<int> only = {};
    int depth = 0;
    bool quiet =
        false;  ///< neither it nor what it is a child of excludes anybody: it may wait outside
    std::vector<Access> has = {};  ///< now
    std::vector<Access> local = {};
    Known children = {};
    Known running = {};    ///< children that may not be done
    Known submitted = {};  ///< to the graph
  };

  [[nodiscard]] bool changes_itself() const {
    return m_with.children || m_with.demotion || m_with.refine;
  }
  [[nodiscard]] bool counts(Access const& access) const {
    return access.how != How::none && !access.elements().empty();
  }
  bool may_exclude(Task const& task) const {
    bool const ruled =
        std::any_of(m_program.rules.begin(), m_program.rules.end(),
                    [&](Rule const& rule) { return rule.exclusive && task.tag != 0; });
    return ruled ||
           std::any_of(task.accesses.begin(), task.accesses.end(), [](Access const& access) {
             return exclude(access.how, How::exclusive) || exclude(access.how, How::turn);
           });
  }

  void make_body(Task& task, int number, Body body) {
    task.says_when_to_compute = true;
    task.catches = m_with.wild_waits || !chance(3);
    for (Access const& access : task.accesses)
      if (counts(access)) body.has.push_back(access);
    std::vector<Step>& steps = task.steps;
    // It either waits for others or may get to exclude some.
    body.quiet = body.quiet && chance(2);
    bool computed = m_with.wild_waits || chance(2);
    if (computed) steps.push_back({Step::Kind::compute});
    for (int actions = 1 + below(7); actions > 0; --actions) {
      int const what = below(16);
      if (what < 6) {
        if (m_with.children && m_budget > 0 && body.depth < 4) add_child(task, number, body);
      } else if (what < 8) {
        if (m_with.child_waits) wait_for_children(steps, body);
      } else if (what < 11) {
        if (m_with.demotion) demote(steps, body);
      } else if (what == 11) {
        if (m_with.demotion) release(steps, body);
      } else if (what == 12) {
        if (m_with.nested && m_budget > 0 && body.depth < 3) {
          Known known = body.known;
          known.insert(known.end(), body.children.begin(), body.children.end());
          known.insert(known.end(), body.submitted.begin(), body.submitted.end());
          std::sort(known.begin(), known.end());
          int const child = add_task(number, task.phase, body.only.empty() ? known : Known{},
                                     body.depth + 1, body.only);
          steps.push_back({Step::Kind::submit, child});
          body.submitted.push_back(child);
        }
      } else if (what == 13) {
        if (m_with.refine) refine_something(steps, task.phase, body);
      } else if (what == 14) {
        wait_for_one(steps, body);
      } else {
        if (chance(2)) steps.push_back({Step::Kind::pause});
        if (may_compute(body)) {
          steps.push_back({Step::Kind::compute});
          computed = true;
        }
      }
    }
    if (computed) return;
    if (!may_compute(body) && m_with.child_waits) wait_for_children(steps, body);
    if (may_compute(body)) steps.push_back({Step::Kind::compute});
  }

  void wait_for_children(std::vector<Step>& steps, Body& body) {
    steps.push_back({Step::Kind::wait_children});
    if (!m_with.wild_waits) body.running.clear();  // else it may throw
  }

  void wait_for_one(std::vector<Step>& steps, Body const& body) {
    if (!m_with.waits) return;
    Known candidates = body.children;
    if (body.quiet || m_with.wild_waits)
      candidates.insert(candidates.end(), body.known.begin(), body.known.end());
    if (m_with.wild_waits)
      candidates.insert(candidates.end(), body.submitted.begin(), body.submitted.end());
    std::sort(candidates.begin(), candidates.end());
    if (!candidates.empty())
      steps.push_back({Step::Kind::wait_for, candidates[index_of(candidates)]});
  }

  /// What the children that may still run touch is theirs, unless it does not matter who is first.
  bool may_compute(Body const& body) const {
    auto const apart = [](Access const& a, Access const& b) {
      if (a.array != b.array || (!conflict(a.how, b.how) && !exclude(a.how, b.how))) return true;
      auto const mine = a.elements();
      auto const theirs = b.elements();
      return std::none_of(mine.begin(), mine.end(), [&](int element) {
        return std::binary_search(theirs.begin(), theirs.end(), element);
      });
    };
    for (int const child : body.running)
      for (Access const& theirs : m_program.task(child).accesses)
        for (Access const& mine : body.has)
          if (!apart(mine, theirs)) return false;
    return true;
  }

  /// A child of the parent, which is in the middle of its body.
  void add_child(Task& parent, int parent_number, Body& body) {
    if (chance(6)) add_local(parent.steps, body);
    --m_budget;
    int const number = static_cast<int>(m_program.tasks.size());
    m_program.tasks.emplace_back();
    Task task;
    task.parent = task.owner = parent_number;
    task.phase = parent.phase;
    task.salt = m_random();
    task.priority = chance(5) ? below(5) - 2 : 0;
    task.main_thread = m_with.main_thread && chance(12);
    task.synchronizing = m_with.synchronizing && chance(15);
    task.throws = chance(m_throws_one_in);
    task.steps_first = !chance(4);
    if (m_with.rules && chance(2)) task.tag = 1 + below(tag_count - 1);
    std::vector<Access> pool = body.has;
    pool.insert(pool.end(), body.local.begin(), body.local.end());
    if (!pool.empty())
      for (int k = below(4); k > 0; --k)
        task.accesses.push_back(
            part_of(pool[static_cast<std::size_t>(below(static_cast<int>(pool.size())))], true));
    // After children submitted before, or, where nobody can be held up, after what was there before
    // the whole.
    Known siblings = body.children;
    if (!siblings.empty() && chance(6)) task.after.push_back(siblings[index_of(siblings)]);
    if (body.quiet && !body.known.empty() && chance(6))
      task.after.push_back(body.known[index_of(body.known)]);
    if (chance(8)) task.steps.push_back({Step::Kind::pause});
    bool const exclusive = may_exclude(task);
    if (m_with.waits && !siblings.empty() && (!exclusive || m_with.wild_waits) && chance(8))
      task.steps.push_back({Step::Kind::wait_for, siblings[index_of(siblings)]});
    if (m_with.wild_waits && chance(10))
      task.steps.push_back({Step::Kind::wait_for, parent_number});
    if (chance(2)) {
      m_program.tasks[static_cast<std::size_t>(number)] = task;
      Body inner;
      inner.known = body.known;
      inner.only = body.only;
      inner.depth = body.depth + 1;
      inner.quiet = body.quiet && !exclusive;
      make_body(task, number, inner);
    }
    m_program.tasks[static_cast<std::size_t>(number)] = std::move(task);
    parent.steps.push_back({Step::Kind::submit, number});
    body.children.push_back(number);
    body.running.push_back(number);
  }

  /// An access that lies within this one. `any_mode`: else not one that excludes somebody.
  Access part_of(Access const& whole, bool may_exclude_others) {
    Access access = whole;
    access.tells_allocation = !chance(6);
    if (chance(2))
      for (auto& [extent, stride] : access.dimensions) {
        int const first = below(extent);
        access.first += first * stride;
        extent = 1 + below(extent - first);
        if (chance(4) && !m_program.is_token(access.array)) {
          stride *= 1 + below(2);
          extent = (extent + 1) / 2;
        }
      }
    std::vector<How> hows;
    for (int k = 0; k < how_count; ++k) {
      auto const how = static_cast<How>(k);
      if (how == How::none || !covers(whole.how, how)) continue;
      if (is_state(how) != is_state(whole.how) && !m_with.states) continue;
      bool const excludes = exclude(how, How::exclusive) || exclude(how, How::turn);
      if (excludes && !may_exclude_others) continue;
      hows.push_back(how);
    }
    if (!hows.empty())
      access.how = hows[static_cast<std::size_t>(below(static_cast<int>(hows.size())))];
    return access;
  }

  /// What children that may still run have, the parent must keep.
  bool children_allow(Body const& body, std::vector<Access> const& rest) const {
    for (int const child : body.running)
      for (Access const& theirs : m_program.task(child).accesses) {
        auto const holds = [&](Access const& mine) { return m_program.lies_within(theirs, mine); };
        auto const is_local = [&](Access const& mine) { return mine.array == theirs.array; };
        if (counts(theirs) && std::none_of(rest.begin(), rest.end(), holds) &&
            std::none_of(body.local.begin(), body.local.end(), is_local))
          return false;
      }
    return true;
  }

  void give_up(std::vector<Step>& steps, Body& body, Step step) {
    std::vector<Access> rest = after_step(m_program, body.has, step);
    if (!children_allow(body, rest)) return;
    body.has = std::move(rest);
    if (chance(3)) steps.push_back({Step::Kind::pause});  // somebody may come to depend on it first
    steps.push_back(std::move(step));
  }

  void demote(std::vector<Step>& steps, Body& body) {
    if (body.has.empty()) return;
    Step step{Step::Kind::demote};
    for (int k = 1 + below(2); k > 0; --k)
      step.accesses.push_back(
          part_of(body.has[static_cast<std::size_t>(below(static_cast<int>(body.has.size())))],
                  !body.quiet));
    give_up(steps, body, std::move(step));
  }

  void release(std::vector<Step>& steps, Body& body) {
    if (body.has.empty()) return;
    Access const& what =
        body.has[static_cast<std::size_t>(below(static_cast<int>(body.has.size())))];
    give_up(steps, body, {Step::Kind::release, -1, {what}});
  }

  void add_local(std::vector<Step>& steps, Body& body) {
    Access access;
    access.array = static_cast<int>(m_program.arrays.size());
    access.how = How::write;
    m_program.arrays.push_back(1 + below(8));
    access.dimensions = {{m_program.arrays.back(), 1}};
    body.local.push_back(access);
    steps.push_back({Step::Kind::local, -1, {access}});
  }

  void refine_something(std::vector<Step>& steps, int phase, Body const& body) {
    Known candidates = body.known;
    candidates.insert(candidates.end(), body.submitted.begin(), body.submitted.end());
    candidates.insert(candidates.end(), body.children.begin(), body.children.end());
    std::sort(candidates.begin(), candidates.end());
    if (candidates.empty()) return;
    int const target = candidates[index_of(candidates)];
    if (!add_refinement(steps, phase, target) || !m_with.wild_waits || !chance(2)) return;
    steps.push_back({Step::Kind::wait_for, m_program.task(target).refinement.back()});
  }

  /// Each task is refined in one place at most, and only when it does no more than compute.
  bool add_refinement(std::vector<Step>& steps, int phase, int target) {
    if (!make_refinement(phase, target)) return false;
    steps.push_back({Step::Kind::refine, target});
    return true;
  }

  bool make_refinement(int phase, int target) {
    Task const& whole = m_program.task(target);
    if (whole.phase != phase || !whole.steps.empty() || whole.says_when_to_compute ||
        !whole.refinement.empty())
      return false;
    std::vector<Task> children;
    for (std::size_t k = 0; k < whole.accesses.size(); ++k) {
      Access const& access = whole.accesses[k];
      if (!counts(access)) continue;
      Task child;
      child.owner = child.parent = target;
      child.phase = whole.phase;
      child.salt = whole.salt + k;
      child.priority = chance(5) ? below(5) - 2 : 0;
      child.main_thread = m_with.main_thread && chance(12);
      child.synchronizing = chance(15);
      Access left = access;
      Access right = access;
      int const extent = access.dimensions[0].extent;
      left.dimensions[0].extent = extent / 2;
      right.dimensions[0].extent = extent - extent / 2;
      right.first += extent / 2 * access.dimensions[0].stride;
      if (extent >= 2 &&
          left.elements().size() + right.elements().size() == access.elements().size() &&
          nested(access) && chance(2)) {
        child.accesses = {left};
        children.push_back(child);
        child.accesses = {right};
      } else {
        child.accesses = {access};
      }
      children.push_back(child);
    }
    if (children.empty()) return false;
    if (whole.throws)
      children[static_cast<std::size_t>(below(static_cast<int>(children.size())))].throws = true;
    for (Task& child : children) {
      int const number = static_cast<int>(m_program.tasks.size());
      m_program.tasks.push_back(std::move(child));
      m_program.tasks[static_cast<std::size_t>(target)].refinement.push_back(number);
    }
    std::vector<int> const made = m_program.task(target).refinement;
    for (int const child : made)
      if (chance(5)) make_refinement(phase, child);
    return true;
  }

  /// Strides as in a View: then Trellis knows exactly what lies within what.
  static bool nested(Access const& access) {
    std::vector<Access::Dimension> dimensions = access.dimensions;
    std::sort(dimensions.begin(), dimensions.end(),
              [](auto a, auto b) { return a.stride < b.stride; });
    int span = 1;
    for (auto const& [extent, stride] : dimensions) {
      if (stride < span) return false;
      span += (extent - 1) * stride;
    }
    return true;
  }

  Access make_access(std::vector<int> const& only) {
    Access access;
    access.array = only.empty()
                       ? below(m_shared_arrays)
                       : only[static_cast<std::size_t>(below(static_cast<int>(only.size())))];
    constexpr std::array<How, 16> hows = {
        How::read,       How::read,       How::read,       How::read,
        How::write,      How::write,      How::read_write, How::read_write,
        How::atomic_add, How::atomic_add, How::atomic_mul, How::atomic_mul,
        How::exclusive,  How::exclusive,  How::exclusive,  How::none};
    access.how = hows[static_cast<std::size_t>(below(16))];
    if (m_favourite != How::none && chance(2)) access.how = m_favourite;
    if (m_with.states && chance(3)) {
      access.how = static_cast<How>(static_cast<int>(How::look) + below(4));
      if (only.empty() && !m_program.tokens.empty() && chance(2))
        access.array =
            m_program
                .tokens[static_cast<std::size_t>(below(static_cast<int>(m_program.tokens.size())))];
    }
    access.tells_allocation = !chance(6);
    int const size = m_program.arrays[static_cast<std::size_t>(access.array)];
    if (chance(5)) {  // all of it
      access.dimensions = {{size, 1}};
    } else if (chance(25)) {
      access.dimensions = {{0, 1}};  // no elements
    } else if (chance(2)) {
      access.first = below(size);
      access.dimensions = {{1 + below(std::min(size - access.first, 8)), 1}};
    } else {
      access.first = below(size);
      int rest = size - 1 - access.first;
      int const rank = 1 + below(3);
      for (int k = 0; k < rank; ++k) {
        int const stride = 1 + below(rest > 12 && chance(2) ? rest / 2 : 4);
        int const extent = 1 + below(std::min(rest / stride + 1, 5));
        rest -= (extent - 1) * stride;
        access.dimensions.push_back({extent, stride});
      }
    }
    if (m_program.is_token(access.array)) {
      access.first = below(size);
      access.dimensions = {{1 + below(size - access.first), 1}};
    } else if (changes_itself() && !nested(access)) {
      access.dimensions.resize(1);
    }
    return access;
  }

  std::mt19937_64 m_random;
  Ingredients m_with;
  Program m_program;
  Known m_known;
  int m_shared_arrays = 0;  ///< others belong to the children of one task
  int m_budget = 0;
  int m_throws_one_in = 0;
  int m_synchronizing_one_in = 0;
  How m_favourite = How::none;
};

}  // namespace

Program make_program(std::uint64_t seed, Ingredients const& ingredients) {
  return Generator(seed, ingredients).make();
}

}  // namespace random_program
