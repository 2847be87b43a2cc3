// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which tasks may start when a running one gives something up: exactly those that are behind it no
// more, by brute force.
#include "OrderTest.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;

class HeldStarted : public Timed {};

/// A task whose body does what it is given, until it is told to end.
class Obeying {
 public:
  Future<void> start(TaskGraph& graph, std::vector<Touch> const& touches) {
    return task(graph, "obeys", touches, [this] { obey(); });
  }
  /// Waits until it is done.
  void tell(std::function<void()> what) {
    std::unique_lock lock(m_mutex);
    m_told.push_back(std::move(what));
    m_changed.notify_all();
    m_changed.wait(lock, [&] { return m_told.empty(); });
  }
  void end() {
    tell([this] { m_ends = true; });
  }

 private:
  void obey() {
    std::unique_lock lock(m_mutex);
    while (!m_ends) {
      m_changed.wait(lock, [&] { return !m_told.empty(); });
      m_told.front()();
      m_told.pop_front();
      m_changed.notify_all();
    }
  }
  std::mutex m_mutex;
  std::condition_variable m_changed;
  std::deque<std::function<void()>> m_told;
  bool m_ends = false;
};

/// One task that gives up what it has, step by step, and others behind it. A wide one has so many
/// accesses that they are not looked through one by one.
class Program {
 public:
  Program(unsigned seed, bool records, bool is_wide = false)
      : m_cells(is_wide ? 24 : 4),
        m_many(is_wide ? 40 : 1),
        m_random(seed),
        m_graph(options(records)) {
    m_tasks.emplace_back(some_uses(3, m_many));
    m_tasks[0].future = m_obeying.start(m_graph, touches_of(m_tasks[0].uses));
    m_obeying.tell([] {});  // it runs, and not on this thread
    for (std::size_t count = 2 + m_random() % (7 + m_many); count > 0; --count) submit();
    for (std::size_t count = 1 + m_random() % 6; count > 0; --count) {
      step();
      EXPECT_TRUE(settles()) << text();
    }
    m_obeying.end();
    m_graph.wait();
    for (Made const& made : m_tasks) EXPECT_TRUE(&made == &m_tasks[0] || made.ran);
  }

 private:
  /// What a task does to some cells.
  struct Use {
    Mode mode;
    std::size_t first;
    std::size_t count;

    [[nodiscard]] std::size_t end() const { return first + count; }
    [[nodiscard]] bool contains(Use const& other) const {
      return first <= other.first && other.end() <= end();
    }
    [[nodiscard]] bool covers(Use const& other) const {
      return mode != Mode::none && contains(other) &&
             MatrixAccess<IOMatrix>(mode).is_superset_of(other.mode);
    }
    [[nodiscard]] bool depends_on(Use const& other) const {
      return mode != Mode::none && other.mode != Mode::none && first < other.end() &&
             other.first < end() && MatrixAccess<IOMatrix>(mode).is_dependent_of(other.mode);
    }
  };
  using Uses = std::vector<Use>;
  static bool depend(Uses const& a, Uses const& b) {
    return std::any_of(a.begin(), a.end(), [&](Use const& x) {
      return std::any_of(b.begin(), b.end(), [&](Use const& y) { return x.depends_on(y); });
    });
  }

  struct Made {
    Uses uses;
    Future<void> future{};
    std::atomic<bool> ran{false};
    bool may_have_run = false;
    explicit Made(Uses u) : uses(std::move(u)) {}
  };

  static TaskGraphOptions options(bool records) { return records ? recorded(2) : with_workers(2); }
  Use some_use() {
    constexpr Mode modes[] = {Mode::read,       Mode::read,       Mode::read,      Mode::write,
                              Mode::read_write, Mode::read_write, Mode::atomic_add};
    std::size_t const first = m_random() % m_cells;
    std::size_t const longest = m_random() % 2 == 0 ? 1 : m_cells - first;
    return {modes[m_random() % std::size(modes)], first, 1 + m_random() % longest};
  }
  Uses some_uses(std::size_t most, std::size_t least = 1) {
    Uses uses(least + m_random() % most);
    for (Use& use : uses) use = some_use();
    return uses;
  }
  Place place(Use const& use) const { return m_block(use.first, use.count); }
  std::vector<Touch> touches_of(Uses const& uses) const {
    std::vector<Touch> touches;
    for (Use const& use : uses) touches.push_back({use.mode, place(use)});
    return touches;
  }

  void submit() {
    Made& made = m_tasks.emplace_back(some_uses(2));
    m_steps += " submit" + text(made.uses);
    made.future = task(m_graph, "task " + std::to_string(m_tasks.size() - 1), touches_of(made.uses),
                       [&made] { made.ran = true; });
  }
  void step() {
    switch (m_random() % 9) {
      case 0:
      case 1:
        submit();
        break;
      case 2:  // of one that waits, mostly
        give_up_from_outside(1 + m_random() % (m_tasks.size() - 1));
        break;
      case 3:
        give_up_from_outside(0);
        break;
      default:
        for (std::size_t count = m_random() % m_many + 1; count > 0; --count) give_up_by_itself();
    }
  }

  /// A use of the task, or a child of it, as something that is less; nothing where there is none.
  Use less(Uses const& uses) {
    Use use = uses[m_random() % uses.size()];
    if (use.mode == Mode::none) return use;
    std::size_t const skip = m_random() % use.count;
    use.first += skip;
    use.count = 1 + m_random() % (use.count - skip);
    if (use.mode == Mode::read_write && m_random() % 2 == 0) use.mode = Mode::read;
    return use;
  }
  /// The same in up to three pieces, which may leave something out.
  Uses pieces_of_less(Uses const& uses) {
    Use const whole = less(uses);
    Uses pieces;
    for (std::size_t first = whole.first; first < whole.end() && pieces.size() < 3;) {
      std::size_t const count = 1 + m_random() % (whole.end() - first);
      if (pieces.empty() || m_random() % 4 != 0) pieces.push_back({whole.mode, first, count});
      first += count;
    }
    return pieces;
  }
  /// What `demote` says of which accesses it goes on with.
  static Uses demoted(Uses const& uses, Uses const& to) {
    std::vector<bool> named(uses.size(), false);
    for (Use const& each : to) {
      std::size_t holder = uses.size();
      for (std::size_t k = 0; k < uses.size(); ++k) {
        bool const is_exact = uses[k].first == each.first && uses[k].count == each.count;
        if (uses[k].covers(each) && (holder == uses.size() || is_exact)) holder = k;
      }
      if (holder != uses.size()) named[holder] = true;
    }
    Uses after;
    for (std::size_t k = 0; k < uses.size(); ++k)
      if (!named[k]) after.push_back(uses[k]);
    after.insert(after.end(), to.begin(), to.end());
    return after;
  }
  static Uses released(Uses uses, Use const& area) {
    for (Use& use : uses)
      if (area.contains(use)) use.mode = Mode::none;
    return uses;
  }
  void give_up_by_itself() {
    Made& made = m_tasks[0];
    Uses const to = pieces_of_less(made.uses);
    if (to.front().mode == Mode::none) return;
    if (m_random() % 3 != 0) {
      m_steps += " demote" + text(to);
      made.uses = demoted(made.uses, to);
      m_obeying.tell([&] { demote(touches_of(to)); });
    } else {
      release_area(made, [&](Use const& area) {
        m_obeying.tell([&] { release(place(area)); });
        return true;
      });
    }
  }
  void give_up_from_outside(std::size_t k) {
    Made& made = m_tasks[k];
    Uses const to = pieces_of_less(made.uses);
    if (to.front().mode == Mode::none) return;
    m_steps += " from outside, of " + std::to_string(k);
    if (m_random() % 3 != 0) {
      m_steps += " demote" + text(to);
      if (demote_other(m_graph, made.future, touches_of(to))) made.uses = demoted(made.uses, to);
    } else {
      release_area(made, [&](Use const& area) {
        return release_other(m_graph, made.future, {place(area)});
      });
    }
  }
  template <class F>
  void release_area(Made& made, F&& f) {
    Use const area = made.uses[m_random() % made.uses.size()];
    if (area.mode == Mode::none) return;
    m_steps += " release" + text({area});
    if (f(area)) made.uses = released(made.uses, area);
  }

  /// Which tasks must wait for the first one: those that conflict with it or with one that waits.
  [[nodiscard]] std::vector<bool> waiting() const {
    std::vector<bool> waits(m_tasks.size(), false);
    waits[0] = true;
    for (std::size_t k = 1; k < m_tasks.size(); ++k)
      for (std::size_t n = 0; n < k && !m_tasks[k].may_have_run; ++n)
        if (waits[n] && depend(m_tasks[n].uses, m_tasks[k].uses)) waits[k] = true;
    return waits;
  }
  /// Those that need not wait run, and the others do not.
  [[nodiscard]] bool settles() {
    std::vector<bool> const waits = waiting();
    auto const deadline = std::chrono::steady_clock::now() + 20s;
    for (std::size_t k = 1; k < m_tasks.size(); ++k)
      while (!waits[k] && !m_tasks[k].ran) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::yield();
      }
    // Whatever else were ready would be run before these.
    for (int n = 0; n < 2; ++n) until_done(task(m_graph, "another", {}, [] {}));
    for (std::size_t k = 1; k < m_tasks.size(); ++k) {
      if (waits[k] && m_tasks[k].ran) return false;
      m_tasks[k].may_have_run = !waits[k];
    }
    return true;
  }

  static std::string text(Uses const& uses) {
    std::string all;
    for (Use const& use : uses)
      all += ' ' + std::string(to_string(use.mode)) + '[' + std::to_string(use.first) + ',' +
             std::to_string(use.end()) + ')';
    return all;
  }
  [[nodiscard]] std::string text() const {
    std::string all = m_steps + '\n';
    std::vector<bool> const waits = waiting();
    for (std::size_t k = 0; k < m_tasks.size(); ++k)
      all += std::to_string(k) + text(m_tasks[k].uses) + (waits[k] ? ", waits" : "") +
             (m_tasks[k].ran ? ", has run\n" : "\n");
    return all;
  }

  std::size_t const m_cells;
  std::size_t const m_many;  ///< accesses of the task at least, and how many it gives up at a time
  std::mt19937 m_random;
  Block m_block{"x", m_cells};
  std::deque<Made> m_tasks;
  std::string m_steps;
  Obeying m_obeying;
  TaskGraph m_graph;
};

unsigned number_from(char const* variable, unsigned otherwise) {
  char const* const text = std::getenv(variable);
  return text != nullptr ? static_cast<unsigned>(std::stoul(text)) : otherwise;
}

TEST_F(HeldStarted, ExactlyThoseThatNeedNotWait) {
  unsigned const begin = number_from("TRELLIS_TEST_FIRST_SEED", 0);
  unsigned const end = begin + number_from("TRELLIS_TEST_SEEDS", sanitized ? 200 : 2000);
  for (unsigned seed = begin; seed < end && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    beat();
    Program const program(seed, seed % 4 == 3);
  }
}

TEST_F(HeldStarted, ExactlyThoseThatNeedNotWaitForAWideTask) {
  unsigned const begin = number_from("TRELLIS_TEST_FIRST_SEED", 0);
  unsigned const end = begin + number_from("TRELLIS_TEST_SEEDS", sanitized ? 40 : 200);
  for (unsigned seed = begin; seed < end && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    beat();
    Program const program(seed, seed % 4 == 3, true);
  }
}

/// What is left of one access in two pieces is compared one by one; who has a path from one piece
/// has no edge from the other.
TEST_F(HeldStarted, NotWhoHasTheOtherPieceOfWhatIsLeft) {
  Block x("x", 2);
  TaskGraph graph(with_workers(2));
  Obeying obeying;
  obeying.start(graph, {updates(x)});
  obeying.tell([&] { demote({updates(x(0, 1)), updates(x(1, 1))}); });
  std::atomic<bool> has_run{false};
  Future<void> const first = task(graph, "first", {updates(x(0, 1))}, [] {});
  task(graph, "both", {updates(x)}, [&] { has_run = true; });
  obeying.tell([&] { release(x(0, 1)); });
  until_done(first);
  for (int n = 0; n < 2; ++n) until_done(task(graph, "another", {}, [] {}));
  EXPECT_FALSE(has_run) << "the second piece is still in use";
  obeying.end();
  graph.wait();
}

/// The same, where that path leads through a task that has something else as well, and who has it
/// takes the place of all pieces.
TEST_F(HeldStarted, NotWhoHasTakenThePlaceOfThePiecesThatAreLeft) {
  Block x("x", 3);
  TaskGraph graph(with_workers(2));
  Obeying obeying;
  obeying.start(graph, {updates(x(0, 2))});
  obeying.tell([] {});
  std::atomic<bool> has_run{false};
  Future<void> const between = task(graph, "between", {reads(x(0, 1)), updates(x(2, 1))}, [] {});
  obeying.tell([&] { demote({updates(x(0, 1)), updates(x(1, 1))}); });
  task(graph, "all", {updates(x)}, [&] { has_run = true; });
  obeying.tell([&] { release(x(0, 1)); });
  until_done(between);
  for (int n = 0; n < 2; ++n) until_done(task(graph, "another", {}, [] {}));
  EXPECT_FALSE(has_run) << "the second piece is still in use";
  obeying.end();
  graph.wait();
  EXPECT_TRUE(has_run);
}

/// One child needs all that its parent has, and another one a piece of that.
TEST_F(HeldStarted, NotWhatAChildNeedsWhenOneThatNeedsMoreIsOver) {
  Block x("x", 3);
  TaskGraph graph(with_workers(2));
  Gate shrunk, end;
  std::atomic<bool> is_over{false};
  task(graph, "parent", {updates(x)}, [&] {
    child("all", {updates(x)}, [&] { EXPECT_TRUE(shrunk.pass()); });
    child("a piece", {updates(x(0, 2))}, [&] {
      EXPECT_TRUE(end.pass());
      is_over = true;
    });
    Impl::GraphInternals::shrink_to_children(self());
    shrunk.open();
  });
  Future<void> const rest = task(graph, "rest", {updates(x(2, 1))}, [] {});
  task(graph, "later", {updates(x(0, 1))}, [&] { EXPECT_TRUE(is_over); });
  until_done(rest);
  for (int n = 0; n < 2; ++n) until_done(task(graph, "another", {}, [] {}));
  end.open();
  graph.wait();
  EXPECT_TRUE(is_over);
}

/// A task that names an area twice keeps both, when one behind it gives up the area.
TEST_F(HeldStarted, NeitherOfTwoAccessesToOneAreaThatWereThereBefore) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  Obeying obeying;
  obeying.start(graph, {reads(x), updates(x)});
  obeying.tell([] {});
  std::atomic<bool> has_run{false};
  Future<void> const second = task(graph, "second", {updates(x)}, [] {});
  EXPECT_TRUE(release_other(graph, second, {x}));
  task(graph, "third", {reads(x)}, [&] { has_run = true; });
  until_done(second);
  for (int n = 0; n < 2; ++n) until_done(task(graph, "another", {}, [] {}));
  EXPECT_FALSE(has_run) << "the first one is still to write";
  obeying.end();
  graph.wait();
  EXPECT_TRUE(has_run);
}

/// A pending task that gives something up leaves edges for reasons of every kind between those
/// around it, on which what a running one does later must not rely.
TEST_F(HeldStarted, AlsoAfterAPendingTaskHasGivenUpALinkOfAChain) {
  Block x("x");
  Block channel("channel");
  TaskGraph graph(with_workers(2));
  Obeying obeying;
  obeying.start(graph, {reads(x), updates(channel)});
  obeying.tell([] {});
  std::atomic<bool> has_run{false};
  Future<void> const adder = task(graph, "adder", {adds(x)}, [] {});
  Future<void> const reader = task(graph, "reader", {reads(x), updates(channel)}, [] {});
  task(graph, "writer", {updates(x)}, [&] { has_run = true; });
  EXPECT_TRUE(release_other(graph, adder, {x}));
  until_done(adder);
  task(graph, "last", {writes(x)}, [] {});
  obeying.tell([&] { release(channel); });
  until_done(reader);
  for (int n = 0; n < 2; ++n) until_done(task(graph, "another", {}, [] {}));
  EXPECT_FALSE(has_run) << "the first one still reads what the writer is to write";
  obeying.end();
  graph.wait();
  EXPECT_TRUE(has_run);
}

}  // namespace
}  // namespace trellis
