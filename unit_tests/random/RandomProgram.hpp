// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_RANDOMPROGRAM_HPP
#define TRELLIS_TEST_RANDOMPROGRAM_HPP

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

/// Random task programs as plain data, and what they must do: an oracle that knows nothing of Trellis.
///
/// Memory is a few arrays of 64-bit elements. A task's body does arithmetic on the elements that it declared:
/// order-sensitive for reads and writes, commutative for atomic and exclusive accesses. So the outcome of a
/// program is a function of the order in which its tasks were submitted, whatever ran when.
namespace random_program {

enum class How : std::uint8_t { read, write, read_write, atomic_add, atomic_mul, exclusive, none };
inline constexpr int how_count = 7;
[[nodiscard]] char const* to_string(How how);
/// Must two tasks that touch one element in these ways keep their order?
[[nodiscard]] bool conflict(How a, How b);

/// Elements `first + sum of i_k * stride_k` of an array, `0 <= i_k < extent_k`.
struct Access {
  struct Dimension {
    int extent;
    int stride;
  };
  int array = 0;
  How how = How::read;
  int first = 0;
  std::vector<Dimension> dimensions = {};
  bool tells_allocation = true;  ///< else it is an unmanaged View: nobody knows what it is a part of

  [[nodiscard]] std::vector<int> elements() const;  ///< sorted, each once
};

/// What a thread, or a task's body, does one after the other.
struct Step {
  enum class Kind : std::uint8_t { submit, wait_for, pause } kind;
  int task = -1;
};

struct Task {
  std::vector<Access> accesses = {};
  std::vector<int> after = {};  ///< tasks that have been submitted for certain
  bool synchronizing = false;
  bool main_thread = false;
  int priority = 0;
  bool throws = false;      ///< at the end of its body
  bool steps_first = true;  ///< before the arithmetic
  std::uint64_t salt = 0;
  std::vector<Step> steps = {};
  // Derived.
  int parent = -1;  ///< the task whose body submits it
  int phase = 0;
};

struct Settings {
  int workers = 2;
  std::string policy = "work_stealing";  ///< as in TRELLIS_POLICY, or "serial"
  std::size_t in_flight = 16384;
  bool record = false;
  bool wild = false;  ///< waits may be hopeless: then they must throw, and nothing else happens
};

/// In each phase some threads (the first is the main thread) follow their steps; then the main thread waits
/// for all tasks.
struct Program {
  std::uint64_t seed = 0;
  Settings settings;
  std::vector<int> arrays = {};  ///< number of elements
  std::vector<Task> tasks = {};
  std::vector<std::vector<std::vector<Step>>> phases = {};

  [[nodiscard]] bool has_waits_in_tasks() const;
  [[nodiscard]] bool has_several_threads() const;
  [[nodiscard]] bool has_nested_tasks() const;
};

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
};
[[nodiscard]] Program make_program(std::uint64_t seed, Ingredients const& ingredients);

/// The program without some tasks (and those that they submit).
[[nodiscard]] Program without(Program const& program, std::vector<bool> dropped);

[[nodiscard]] std::string to_string(Program const& program);

// --- what a program must do
// ------------------------------------------------------------------------------------------

[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t h = (a ^ (b + 0x9E3779B97F4A7C15u + (a << 6) + (a >> 2))) * 0xBF58476D1CE4E5B9u;
  return h ^ (h >> 29);
}
[[nodiscard]] constexpr std::uint64_t initial_value(int array, int element) {
  return mix(static_cast<std::uint64_t>(array) + 1, static_cast<std::uint64_t>(element) + 1);
}
/// What a task puts into an element: odd, so that products keep all of it.
[[nodiscard]] constexpr std::uint64_t contribution(Task const& task, std::size_t access, int element) {
  return mix(task.salt + access, static_cast<std::uint64_t>(element)) | 1u;
}

/// Which tasks must keep their order, by comparing all pairs of accesses element by element. A symmetric
/// matrix.
class Conflicts {
 public:
  explicit Conflicts(Program const& program);
  [[nodiscard]] bool by_access(int a, int b) const { return m_access[index(a, b)]; }
  /// They may change places, but not run at the same time.
  [[nodiscard]] bool exclude(int a, int b) const { return m_exclude[index(a, b)]; }
  [[nodiscard]] bool after(int first, int second) const;
  [[nodiscard]] bool synchronizing(int a, int b) const;
  /// Must `second`, submitted later, run after `first` is complete?
  [[nodiscard]] bool ordered(int first, int second) const {
    return by_access(first, second) || after(first, second) || synchronizing(first, second);
  }

 private:
  [[nodiscard]] std::size_t index(int a, int b) const {
    return static_cast<std::size_t>(a) * m_program.tasks.size() + static_cast<std::size_t>(b);
  }
  Program const& m_program;
  std::vector<bool> m_access;
  std::vector<bool> m_exclude;
};

enum class Fate : std::uint8_t { not_submitted, done, failed, cancelled };
[[nodiscard]] char const* to_string(Fate fate);

struct Outcome {
  std::vector<std::vector<std::uint64_t>> memory;
  std::vector<Fate> fate;   ///< by task
  std::vector<int> origin;  ///< by task: which body's exception made it fail or be cancelled, -1: none
  std::vector<std::uint64_t> digest;  ///< by task: of what it read
};
/// Runs the tasks one by one in this order (of submission).
[[nodiscard]] Outcome run_serially(Program const& program, Conflicts const& conflicts,
                                   std::vector<int> const& order);

}  // namespace random_program

#endif
