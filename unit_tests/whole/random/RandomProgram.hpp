// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_RANDOMPROGRAM_HPP
#define TRELLIS_TEST_RANDOMPROGRAM_HPP

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

/// Random task programs as plain data, and what they must do: an oracle that knows nothing of
/// Trellis.
///
/// Memory is a few arrays of 64-bit elements. A task's body does arithmetic on the elements that it
/// declared: order-sensitive for reads and writes, commutative for atomic and exclusive accesses.
/// So the outcome of a program is a function of the order in which its tasks were submitted,
/// whatever ran when.
namespace random_program {

/// The built-in modes, in Trellis' order, then states of the test's own: `look` reads, `add` and
/// `turn` add (two turns, or a turn and an add, not at the same time), `make` writes.
enum class How : std::uint8_t {
  read,
  write,
  read_write,
  atomic_add,
  atomic_mul,
  exclusive,
  none,
  look,
  add,
  turn,
  make
};
inline constexpr int how_count = 11;
[[nodiscard]] char const* to_string(How how);
[[nodiscard]] constexpr bool is_state(How how) {
  return how > How::none;
}
/// Must two tasks that touch one element in these ways keep their order?
[[nodiscard]] bool conflict(How a, How b);
/// They may change places, but not run at the same time.
[[nodiscard]] bool exclude(How a, How b);
/// May a task that has the first go on with the second? (A child's access lies within its
/// parent's.)
[[nodiscard]] bool covers(How a, How b);

/// Elements `first + sum of i_k * stride_k` of an array, `0 <= i_k < extent_k`.
struct Access {
  struct Dimension {
    int extent;
    int stride;
    friend bool operator==(Dimension const&, Dimension const&) = default;
  };
  int array = 0;
  How how = How::read;
  int first = 0;
  std::vector<Dimension> dimensions = {};
  bool tells_allocation =
      true;  ///< else it is an unmanaged View: nobody knows what it is a part of
  friend bool operator==(Access const&, Access const&) = default;

  [[nodiscard]] std::vector<int> elements() const;  ///< sorted, each once
};

/// What a thread, or a task's body, does one after the other.
struct Step {
  enum class Kind : std::uint8_t {
    submit,
    wait_for,
    pause,
    compute,        ///< what the task still accesses (only in bodies that say so)
    wait_children,  ///< for the children submitted so far
    demote,         ///< to `accesses`
    release,        ///< `accesses`
    local,          ///< the body made the array of the access itself
    refine,         ///< a task: in its place those of `refinement`, if it is still pending
  } kind;
  int task = -1;
  std::vector<Access> accesses = {};
};

struct Task {
  std::vector<Access> accesses = {};
  std::vector<int> after = {};  ///< tasks that have been submitted for certain
  bool synchronizing = false;
  bool main_thread = false;
  int priority = 0;
  int threads = 1;          ///< at most as many as there are workers
  bool throws = false;      ///< at the end of its body
  bool steps_first = true;  ///< before the arithmetic
  std::uint64_t salt = 0;
  std::vector<Step> steps = {};
  bool says_when_to_compute = false;  ///< else `steps_first` does
  bool catches = true;                ///< what a wait for its children throws
  int tag = 0;
  std::vector<int> refinement = {};  ///< children that do the same together
  int owner = -1;                    ///< the task that it is a child of
  // Derived.
  int parent = -1;  ///< the task whose body submits it, or that is refined to it
  int phase = 0;
};

/// Of two tasks of one scope, by their tags, the one submitted first on the left. No rule for tag
/// 0.
inline constexpr int tag_count = 4;
struct Rule {
  bool exclusive = false;  ///< else ordered
  bool holds[tag_count][tag_count] = {};
};

struct Settings {
  int workers = 2;
  std::string policy = "work_stealing";  ///< as in TRELLIS_POLICY, or "serial"
  std::size_t in_flight = 16384;
  bool record = false;
  bool fuses = false;  ///< tasks are fusable, and the advice is random
  bool wild = false;   ///< waits may be hopeless: then they must throw, and nothing else happens
};

/// In each phase some threads (the first is the main thread) follow their steps; then the main
/// thread waits for all tasks.
struct Program {
  std::uint64_t seed = 0;
  Settings settings;
  std::vector<int> arrays = {};  ///< number of elements
  /// To these all accesses are by states, to one interval, and Trellis is told of it as a part of
  /// the state.
  std::vector<int> tokens = {};
  std::vector<Rule> rules = {};
  std::vector<Task> tasks = {};
  std::vector<std::vector<std::vector<Step>>> phases = {};

  [[nodiscard]] bool has_waits_in_tasks() const;
  [[nodiscard]] bool has_several_threads() const;
  [[nodiscard]] bool has_nested_tasks() const;
  [[nodiscard]] bool is_token(int array) const;
  [[nodiscard]] Task const& task(int t) const { return tasks[static_cast<std::size_t>(t)]; }
  /// Where Trellis is told that the access is, as elements.
  [[nodiscard]] std::vector<int> area(Access const& access) const;
  /// Does the first lie within the second, or equal it?
  [[nodiscard]] bool lies_within(Access const& inner, Access const& outer) const;
};

/// What a task that has these accesses has after a step.
[[nodiscard]] std::vector<Access> after_step(Program const& program, std::vector<Access> const& has,
                                             Step const& step);
/// What the task has at first, and after each of its demotions.
[[nodiscard]] std::vector<std::vector<Access>> stages_of(Program const& program, Task const& task);
/// The steps of a body with all `compute`s.
[[nodiscard]] std::vector<Step> body_of(Task const& task);

/// What a generated program may contain.
struct Ingredients {
  int max_tasks = 100;
  bool nested = false;      ///< tasks submit tasks
  bool waits = false;       ///< tasks wait for tasks
  bool wild_waits = false;  ///< ... in ways that may be hopeless
  bool main_thread = true;
  bool synchronizing = true;
  bool failures = false;
  bool threads = false;  ///< several threads submit
  bool serial = false;
  bool children = false;
  bool child_waits = false;  ///< bodies wait for their children
  bool demotion = false;
  bool refine = false;
  bool states = false;
  bool rules = false;
  bool wide = false;  ///< tasks take the places of several workers
};
[[nodiscard]] Program make_program(std::uint64_t seed, Ingredients const& ingredients);

/// The program without some tasks (and those that they submit).
[[nodiscard]] Program without(Program const& program, std::vector<bool> dropped);

[[nodiscard]] std::string to_string(Program const& program);

// --- what a program must do ----------------------------------------------------------------------

[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t h = (a ^ (b + 0x9E3779B97F4A7C15u + (a << 6) + (a >> 2))) * 0xBF58476D1CE4E5B9u;
  return h ^ (h >> 29);
}
[[nodiscard]] constexpr std::uint64_t initial_value(int array, int element) {
  return mix(static_cast<std::uint64_t>(array) + 1, static_cast<std::uint64_t>(element) + 1);
}
/// What a task puts into an element: odd, so that products keep all of it. `stage`: after how many
/// demotions.
[[nodiscard]] constexpr std::uint64_t contribution(Task const& task, std::size_t stage,
                                                   std::size_t access, int element) {
  return mix(task.salt + 64 * stage + access, static_cast<std::uint64_t>(element)) | 1u;
}

/// Which tasks must keep their order, by comparing all pairs of accesses element by element.
class Conflicts {
 public:
  explicit Conflicts(Program const& program);
  [[nodiscard]] bool same_scope(int a, int b) const {
    return m_program.task(a).owner == m_program.task(b).owner;
  }
  /// By what the two have declared. Symmetric.
  [[nodiscard]] bool by_access(int a, int b) const {
    return same_scope(a, b) && m_access[index(a, b)];
  }
  /// By what the first has after some demotions, and what the second has declared.
  [[nodiscard]] bool by_access(int a, std::size_t stage, int b) const;
  [[nodiscard]] bool exclude(int a, std::size_t stage_a, int b, std::size_t stage_b) const;
  [[nodiscard]] bool after(int first, int second) const;
  [[nodiscard]] bool synchronizing(int a, int b) const;
  [[nodiscard]] bool by_rule(int first, int second, bool exclusive) const;
  /// Must `second`, submitted later, run after `first` is complete, apart from accesses?
  [[nodiscard]] bool otherwise(int first, int second) const {
    return after(first, second) || synchronizing(first, second) || by_rule(first, second, false);
  }
  /// The same with accesses, after some demotions of the first.
  [[nodiscard]] bool ordered(int first, std::size_t stage, int second) const {
    return by_access(first, stage, second) || otherwise(first, second);
  }
  [[nodiscard]] std::size_t stage_count(int task) const {
    return m_touches[static_cast<std::size_t>(task)].size();
  }
  [[nodiscard]] std::vector<Access> const& stage(int task, std::size_t stage) const {
    return m_stages[static_cast<std::size_t>(task)][stage];
  }

 private:
  struct Touch {
    int array;
    int element;
    How how;
  };
  [[nodiscard]] std::size_t index(int a, int b) const {
    return static_cast<std::size_t>(a) * m_program.tasks.size() + static_cast<std::size_t>(b);
  }
  template <class F>
  [[nodiscard]] bool any(int a, std::size_t stage_a, int b, std::size_t stage_b, F&& f) const;
  Program const& m_program;
  std::vector<std::vector<std::vector<Access>>> m_stages;  ///< by task
  std::vector<std::vector<std::vector<Touch>>> m_touches;  ///< by task and stage, sorted
  std::vector<bool> m_access;
};

enum class Fate : std::uint8_t { not_submitted, done, failed, cancelled };
[[nodiscard]] char const* to_string(Fate fate);

struct Outcome {
  std::vector<std::vector<std::uint64_t>> memory;
  std::vector<Fate> fate;  ///< by task
  /// by task: which body's exception made it fail or be cancelled, -1: none
  std::vector<int> origin;
  std::vector<std::uint64_t> digest;  ///< by task: of what it read
  std::vector<std::size_t> stage;     ///< by task: after how many demotions it ended
  std::vector<std::size_t> steps;     ///< by task: how many of its body's were followed
};
/// Runs the tasks one by one in this order (of submission), children in the place of their parent.
/// `refined`: the tasks that were refined.
[[nodiscard]] Outcome run_serially(Program const& program, Conflicts const& conflicts,
                                   std::vector<int> const& order, std::vector<bool> const& refined);

}  // namespace random_program

#endif
