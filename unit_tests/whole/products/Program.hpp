// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_PRODUCTS_PROGRAM_HPP
#define TRELLIS_TEST_PRODUCTS_PROGRAM_HPP

#include <Trellis_Access.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// Programs in which all features of the engine meet, as values: written down as text, read back
/// from text, made from a seed. The single letters are those of the text.
///
/// A program has one or two graphs. Each has a row of cells, some of them for one use only
/// (`Cells`). Tasks do arithmetic on cells, in bodies or in kernels of a device in software.
/// Threads submit them, record plans with them, replay and drop these, wait and ask, in phases; at
/// the end of a phase the main thread waits for everything.
namespace products {

/// Where the cells are that only some accesses touch.
namespace Cells {
inline constexpr int mixed = 0;   ///< any access
inline constexpr int sums = 6;    ///< `add` alone: also what destructors submit
inline constexpr int states = 8;  ///< in states of the test's own
inline constexpr int own =
    10;  ///< two for each submitting thread, which alone submits what touches them
inline constexpr int count = 26;
inline constexpr int most_threads = 8;
}  // namespace Cells

enum class Mode : char {
  read = 'r',
  write = 'w',
  update = 'u',
  add = 'a',
  exclusive = 'x',
  look = 'l',
  make = 'm'
};

struct Access {
  Mode mode = Mode::read;
  int first = 0;
  int count = 1;
};

/// What an object of the user's does when it is moved (or copied), or destroyed.
enum class Deed : char { nothing = '-', dawdle = 'd', submit = 's', await = 'w', ask = 'q' };
struct Habits {
  Deed moved = Deed::nothing;
  Deed destroyed = Deed::nothing;
};

/// What a body does after its arithmetic.
struct Step {
  enum class Kind : char {
    dawdle = 'd',
    submit = 's',  ///< a task, to the graph
    child = 'p',   ///< a child of itself
    wait_children = 'P',
    await = 'w',    ///< a task that had been submitted before this one
    ask = 'q',      ///< ... whether it is done
    release = 'y',  ///< all that it accesses
  } kind = Kind::dawdle;
  int task = -1;
};

struct Task {
  enum class Where : char {
    host = 'h',
    device = 'd',
    stream = 'u',  ///< the device's, on a stream of the user's
  };
  enum class Failure : char {
    none = '-',
    body = 'b',      ///< at the end of the body
    launch = 'l',    ///< instead of launching
    launched = 'L',  ///< after it has launched
    finish = 'f',    ///< when its result is fetched
  };
  /// Who says that it is over, later than its body: the body itself, another thread, or a progress
  /// function. One without steps does all that it does there.
  enum class Late : char { no = '-', within = 'b', elsewhere = 'e', polled = 'p' };
  int graph = 0;
  Where where = Where::host;
  std::vector<Access> accesses = {};
  std::vector<int> after = {};
  std::vector<Step> steps = {};
  int priority = 0;
  bool main_thread = false;
  bool numbered = false;  ///< others name it by its number
  bool synchronizing = false;
  bool slow = false;  ///< between reading and writing
  bool gate = false;  ///< its body ends when a thread has opened it
  Failure fails = Failure::none;
  Late late = Late::no;  ///< then it has no result
  bool has_result = false;
  int tag = 0;       ///< 0: none
  int awaited = -1;  ///< what its objects' destructors wait, or ask, for
  Habits functor = {};
  Habits result = {};
  Habits of_tag = {};
  Habits state = {};

  [[nodiscard]] bool on_device() const { return where == Where::device || where == Where::stream; }
};

struct Plan {
  struct Item {
    int task = -1;
    int plan = -1;  ///< or this: a replay in the recording
    int rounds = 1;
  };
  int graph = 0;
  std::vector<Item> items = {};
};

/// A call of `iterate`.
struct Loop {
  struct Item {
    int task = -1;
    int every = 1;  ///< submitted in the iterations k with k % every == offset
    int offset = 0;
  };
  /// What the body does at its end with the future of the iteration's first task.
  enum class Asks : char {
    nothing = '-',
    once = 'q',        ///< is it done?
    until_done = 'Q',  ///< ... till it is
    waits = 'w',
    waits_for_last = 'l',  ///< for that of the iteration before
    thread = 't',          ///< another thread waits for it, which is joined after the loop
    joins = 'T',           ///< ... which the body joins
    other_graph = 'o',     ///< a task of the other graph waits for it, and the body for that
  };
  int graph = 0;
  int iterations = 1;
  Asks asks = Asks::nothing;
  int ends_after = -1;  ///< the iteration that says that it was the last
  std::vector<Item> items = {};
};

/// What a thread does.
struct Op {
  enum class Kind : char {
    submit = 't',
    record = 'R',
    replay = 'r',
    drop = 'd',  ///< the thread's handle of a plan
    loop = 'l',
    wait = 'W',  ///< for a graph
    get = 'g',
    await = 'w',
    ask = 'q',
    dawdle = 'z',
    open = 'o',    ///< a gate
    refine = 'f',  ///< a task into one that does the same
  } kind = Kind::dawdle;
  int which = 0;
  int count = 1;  ///< rounds
};

struct Thread {
  std::vector<Op> ops = {};
  bool lingers = false;  ///< goes on with its `ask`, `await` and `get` until the graphs are gone
};
struct Phase {
  std::vector<Thread> threads = {};  ///< the first is the main thread
};

struct Graph {
  int workers = 2;
  int cap = 0;  ///< 0: the default
  std::string policy = "work_stealing";
  int streams = 2;
  bool rules = false;  ///< tasks with tag 1 exclude each other, those with tag 2 keep their order
  bool record = false;
};

struct Program {
  std::uint64_t seed = 0;
  std::vector<Graph> graphs = {};
  std::vector<Task> tasks = {};
  std::vector<Plan> plans = {};
  std::vector<Loop> loops = {};
  std::vector<Phase> phases = {};
  /// After this many kernels the device fails for good; -1: never.
  int device_fails = -1;
  bool destroys_busy =
      false;                 ///< the last phase has no wait: the destructors of the graphs do that
  bool keeps_plans = false;  ///< handles of plans outlive the graphs

  [[nodiscard]] Task const& task(int t) const { return tasks[static_cast<std::size_t>(t)]; }
  [[nodiscard]] Plan const& plan(int p) const { return plans[static_cast<std::size_t>(p)]; }
  [[nodiscard]] bool has_failures() const;
  [[nodiscard]] bool has_several_submitters() const;
};

[[nodiscard]] std::string to_string(Program const& program);
/// The inverse. Throws `std::runtime_error` with the word that it does not know.
[[nodiscard]] Program parse(std::string const& text);
[[nodiscard]] Program make_program(std::uint64_t seed);

/// May the two not change places?
[[nodiscard]] constexpr bool conflict(Mode a, Mode b) {
  auto const reads = [](Mode m) { return m == Mode::read || m == Mode::look; };
  if (a != b) return !(reads(a) && reads(b));
  return !reads(a) && a != Mode::add && a != Mode::exclusive;
}
[[nodiscard]] inline bool conflict(Access const& a, Access const& b) {
  return conflict(a.mode, b.mode) && a.first < b.first + b.count && b.first < a.first + a.count;
}

[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t h = (a ^ (b + 0x9E3779B97F4A7C15U + (a << 6U) + (a >> 2U))) * 0xBF58476D1CE4E5B9U;
  return h ^ (h >> 29U);
}
/// What a task adds to a cell.
[[nodiscard]] constexpr std::uint64_t contribution(std::uint64_t salt, int cell) {
  return mix(salt, static_cast<std::uint64_t>(cell)) | 1U;
}
/// What a task has seen before it writes.
template <class Load>
std::uint64_t look_at_cells(Task const& task, std::uint64_t salt, Load load) {
  std::uint64_t seen = salt;
  for (Access const& access : task.accesses)
    if (access.mode == Mode::read || access.mode == Mode::update || access.mode == Mode::look ||
        access.mode == Mode::make)
      for (int c = access.first; c < access.first + access.count; ++c) seen = mix(seen, load(c));
  return seen;
}
/// `store(cell, value)`, `add(cell, by)`.
template <class Store, class Add, class AtomicAdd>
void change_cells(Task const& task, std::uint64_t salt, std::uint64_t seen, Store store, Add add,
                  AtomicAdd atomic_add) {
  for (Access const& access : task.accesses)
    for (int c = access.first; c < access.first + access.count; ++c) switch (access.mode) {
        case Mode::write:
        case Mode::update:
        case Mode::make:
          store(c, mix(seen, static_cast<std::uint64_t>(c)));
          break;
        case Mode::exclusive:
          add(c, contribution(salt, c));
          break;
        case Mode::add:
          atomic_add(c, contribution(salt, c));
          break;
        case Mode::read:
        case Mode::look:
          break;
      }
}

}  // namespace products

#endif
