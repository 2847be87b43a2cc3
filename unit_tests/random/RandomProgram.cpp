// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomProgram.hpp"

#include <algorithm>
#include <array>
#include <sstream>

namespace random_program {

char const* to_string(How how) {
  constexpr std::array<char const*, how_count> names = {"read",       "write",     "read_write", "atomic_add",
                                                        "atomic_mul", "exclusive", "none"};
  return names[static_cast<std::size_t>(how)];
}

char const* to_string(Fate fate) {
  constexpr std::array<char const*, 4> names = {"not submitted", "done", "failed", "cancelled"};
  return names[static_cast<std::size_t>(fate)];
}

bool conflict(How a, How b) {
  if (a == How::none || b == How::none) return false;
  bool const writes = a == How::write || a == How::read_write;
  return a != b || writes;
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
    return std::any_of(task.steps.begin(), task.steps.end(),
                       [](Step const& step) { return step.kind == Step::Kind::wait_for; });
  });
}
bool Program::has_several_threads() const {
  return std::any_of(phases.begin(), phases.end(), [](auto const& threads) { return threads.size() > 1; });
}
bool Program::has_nested_tasks() const {
  return std::any_of(tasks.begin(), tasks.end(), [](Task const& task) { return task.parent >= 0; });
}

// --- generation
// ------------------------------------------------------------------------------------------------------

namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, Ingredients const& ingredients) : m_random(seed), m_with(ingredients) {
    m_program.seed = seed;
    // A failure and the main thread's wait(), which reports it, could come in any order.
    if (m_with.threads && m_with.failures) m_with.main_thread = false;
  }

  Program make() {
    choose_settings();
    m_shared_arrays = 1 + below(3);
    for (int a = 0; a < m_shared_arrays; ++a) m_program.arrays.push_back(1 + below(chance(3) ? 60 : 12));
    int const phases = 1 + below(m_with.failures ? 4 : 3);
    m_budget = 1 + below(m_with.max_tasks);
    m_throws_one_in = m_with.failures ? (chance(2) ? 40 : 8) : 0;
    m_synchronizing_one_in = m_with.synchronizing && !(m_with.waits && chance(2)) ? 30 : 0;
    m_favourite = chance(4) ? static_cast<How>(below(6)) : How::none;
    for (int p = 0; p < phases; ++p) make_phase(p, p + 1 == phases ? m_budget : m_budget / (phases - p));
    return std::move(m_program);
  }

 private:
  using Known = std::vector<int>;

  int below(int n) { return n <= 1 ? 0 : static_cast<int>(m_random() % static_cast<std::uint64_t>(n)); }
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
    if (chance(25) && !known.empty()) steps.push_back({Step::Kind::wait_for, known[index_of(known)]});
    int const task = add_task(-1, phase, known, 0, {});
    steps.push_back({Step::Kind::submit, task});
    known.push_back(task);
  }

  std::size_t index_of(Known const& known) {  // the newest ones are the interesting ones
    int const size = static_cast<int>(known.size());
    return static_cast<std::size_t>(chance(3) ? below(size) : size - 1 - below(std::min(size, 6)));
  }

  /// `known`: tasks whose submission is over when this one is submitted. `only`: it may touch these arrays
  /// alone.
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
    bool const exclusive = std::any_of(task.accesses.begin(), task.accesses.end(),
                                       [](Access const& access) { return access.how == How::exclusive; });
    if (chance(8)) task.steps.push_back({Step::Kind::pause});
    // Waits that always end: for what was submitted before this task, by a task that holds no exclusive area.
    if (m_with.waits && (!exclusive || m_with.wild_waits) && only.empty() && !known.empty() && chance(6))
      task.steps.push_back({Step::Kind::wait_for, known[index_of(known)]});
    if (m_with.nested && depth < 3 && chance(depth == 0 ? 5 : 3)) {
      m_program.tasks[static_cast<std::size_t>(number)] = task;
      add_children(task, number, phase, known, depth, exclusive, only);
    }
    m_program.tasks[static_cast<std::size_t>(number)] = std::move(task);
    return number;
  }

  /// A task that waits for its children gives them an array of their own; then nothing that waits for it can
  /// hold them up.
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
      int const child = add_task(number, phase, arrays.empty() ? known : Known{}, depth + 1, arrays);
      task.steps.push_back({Step::Kind::submit, child});
      own.push_back(child);
      known.push_back(child);
      if ((awaits || m_with.wild_waits) && chance(2))
        task.steps.push_back({Step::Kind::wait_for, own[index_of(own)]});
      if (chance(8)) task.steps.push_back({Step::Kind::pause});
    }
  }

  Access make_access(std::vector<int> const& only) {
    Access access;
    access.array = only.empty() ? below(m_shared_arrays)
                                : only[static_cast<std::size_t>(below(static_cast<int>(only.size())))];
    constexpr std::array<How, 16> hows = {How::read,       How::read,       How::read,       How::read,
                                          How::write,      How::write,      How::read_write, How::read_write,
                                          How::atomic_add, How::atomic_add, How::atomic_mul, How::atomic_mul,
                                          How::exclusive,  How::exclusive,  How::exclusive,  How::none};
    access.how = hows[static_cast<std::size_t>(below(16))];
    if (m_favourite != How::none && chance(2)) access.how = m_favourite;
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

Program without(Program const& program, std::vector<bool> dropped) {
  std::vector<int> number(program.tasks.size(), -1);
  Program rest;
  rest.seed = program.seed;
  rest.settings = program.settings;
  rest.arrays = program.arrays;
  int next = 0;
  for (std::size_t t = 0; t < program.tasks.size(); ++t) {  // parents come first
    int const parent = program.tasks[t].parent;
    if (parent >= 0 && dropped[static_cast<std::size_t>(parent)]) dropped[t] = true;
    if (!dropped[t]) number[t] = next++;
  }
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
    std::vector<int> after;
    for (int const before : task.after)
      if (number[static_cast<std::size_t>(before)] >= 0)
        after.push_back(number[static_cast<std::size_t>(before)]);
    task.after = std::move(after);
    task.steps = keep(task.steps);
    rest.tasks.push_back(std::move(task));
  }
  for (auto const& threads : program.phases) {
    auto& phase = rest.phases.emplace_back();
    for (auto const& steps : threads) phase.push_back(keep(steps));
  }
  return rest;
}

// --- text
// ------------------------------------------------------------------------------------------------------------

namespace {

void write_steps(std::ostream& out, std::vector<Step> const& steps) {
  for (Step const& step : steps) {
    if (step.kind == Step::Kind::submit) out << " submit(" << step.task << ')';
    if (step.kind == Step::Kind::wait_for) out << " wait(" << step.task << ')';
    if (step.kind == Step::Kind::pause) out << " pause";
  }
}

}  // namespace

std::string to_string(Program const& program) {
  std::ostringstream out;
  Settings const& settings = program.settings;
  out << "seed " << program.seed << ": " << settings.workers << " workers, policy " << settings.policy
      << ", in flight " << settings.in_flight << ", record " << settings.record
      << (settings.wild ? ", wild waits" : "") << "\narrays of";
  for (int const size : program.arrays) out << ' ' << size;
  out << " elements\n";
  for (std::size_t t = 0; t < program.tasks.size(); ++t) {
    Task const& task = program.tasks[t];
    out << "  task " << t << ':';
    for (Access const& access : task.accesses) {
      out << ' ' << to_string(access.how) << "(a" << access.array << '[' << access.first;
      for (auto const& [extent, stride] : access.dimensions) out << " + " << extent << "x" << stride;
      out << (access.tells_allocation ? "])" : "] unmanaged)");
    }
    for (int const before : task.after) out << " after(" << before << ')';
    if (task.synchronizing) out << " synchronizing";
    if (task.main_thread) out << " main_thread";
    if (task.priority != 0) out << " priority(" << task.priority << ')';
    if (!task.steps.empty()) {
      out << " {";
      if (!task.steps_first) out << " compute";
      write_steps(out, task.steps);
      if (task.steps_first) out << " compute";
      out << " }";
    }
    if (task.throws) out << " throws";
    out << '\n';
  }
  for (auto const& threads : program.phases)
    for (std::size_t thread = 0; thread < threads.size(); ++thread) {
      out << (thread == 0 ? "phase, thread 0:" : "       thread " + std::to_string(thread) + ":");
      write_steps(out, threads[thread]);
      out << '\n';
    }
  return out.str();
}

// --- the oracle
// ------------------------------------------------------------------------------------------------------

Conflicts::Conflicts(Program const& program)
    : m_program(program),
      m_access(program.tasks.size() * program.tasks.size()),
      m_exclude(program.tasks.size() * program.tasks.size()) {
  // For each element, who touches it how: a mask of modes per task.
  for (int array = 0; array < static_cast<int>(program.arrays.size()); ++array)
    for (int element = 0; element < program.arrays[static_cast<std::size_t>(array)]; ++element) {
      std::vector<std::pair<int, How>> here;
      for (std::size_t t = 0; t < program.tasks.size(); ++t)
        for (Access const& access : program.tasks[t].accesses) {
          if (access.array != array || access.how == How::none) continue;
          auto const elements = access.elements();
          if (std::binary_search(elements.begin(), elements.end(), element))
            here.emplace_back(static_cast<int>(t), access.how);
        }
      for (auto const& [a, how_a] : here)
        for (auto const& [b, how_b] : here) {
          if (a == b) continue;
          if (conflict(how_a, how_b)) m_access[index(a, b)] = true;
          if (how_a == How::exclusive && how_b == How::exclusive) m_exclude[index(a, b)] = true;
        }
    }
}

bool Conflicts::after(int first, int second) const {
  auto const& after = m_program.tasks[static_cast<std::size_t>(second)].after;
  return std::find(after.begin(), after.end(), first) != after.end();
}

bool Conflicts::synchronizing(int a, int b) const {
  return m_program.tasks[static_cast<std::size_t>(a)].synchronizing ||
         m_program.tasks[static_cast<std::size_t>(b)].synchronizing;
}

Outcome run_serially(Program const& program, Conflicts const& conflicts, std::vector<int> const& order) {
  Outcome outcome;
  outcome.fate.assign(program.tasks.size(), Fate::not_submitted);
  outcome.origin.assign(program.tasks.size(), -1);
  std::vector<std::size_t> arrival(program.tasks.size());
  for (std::size_t n = 0; n < order.size(); ++n) arrival[static_cast<std::size_t>(order[n])] = n;
  outcome.digest.assign(program.tasks.size(), 0);
  for (int array = 0; array < static_cast<int>(program.arrays.size()); ++array) {
    auto& memory = outcome.memory.emplace_back();
    for (int element = 0; element < program.arrays[static_cast<std::size_t>(array)]; ++element)
      memory.push_back(initial_value(array, element));
  }
  for (std::size_t n = 0; n < order.size(); ++n) {
    Task const& task = program.tasks[static_cast<std::size_t>(order[n])];
    Fate& fate = outcome.fate[static_cast<std::size_t>(order[n])];
    fate = task.throws ? Fate::failed : Fate::done;
    int& origin = outcome.origin[static_cast<std::size_t>(order[n])];
    for (std::size_t before = 0; before < n; ++before) {
      auto const other = static_cast<std::size_t>(order[before]);
      bool const bad = outcome.fate[other] == Fate::failed || outcome.fate[other] == Fate::cancelled;
      // wait() has reported the failures of earlier phases.
      if (!bad || program.tasks[other].phase != task.phase || !conflicts.ordered(order[before], order[n]))
        continue;
      fate = Fate::cancelled;
      int const its = outcome.origin[other];  // the first of all counts
      if (origin < 0 || arrival[static_cast<std::size_t>(its)] < arrival[static_cast<std::size_t>(origin)])
        origin = its;
    }
    if (fate == Fate::failed) origin = order[n];
    if (fate == Fate::cancelled) continue;
    std::uint64_t& digest = outcome.digest[static_cast<std::size_t>(order[n])];
    for (std::size_t k = 0; k < task.accesses.size(); ++k) {
      Access const& access = task.accesses[k];
      for (int const element : access.elements()) {
        std::uint64_t& value =
            outcome.memory[static_cast<std::size_t>(access.array)][static_cast<std::size_t>(element)];
        std::uint64_t const more = contribution(task, k, element);
        switch (access.how) {
          case How::read:
            digest = mix(digest, value);
            break;
          case How::write:
          case How::read_write:
            digest = mix(digest, value);
            value = mix(value, more);
            break;
          case How::atomic_add:
          case How::exclusive:
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
  return outcome;
}

}  // namespace random_program
