// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs of tasks that give up what they have: by themselves, from outside, and to their
// children. A task begins only when all that it depends on are over, or have given that up, and the
// values are those of the same steps one by one.
#include "OrderTest.hpp"
#include "Timing.hpp"
#include "Seeds.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
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

class RandomDemotion : public Timed {};

/// What a task does to some cells.
struct Cells {
  Mode mode;
  std::size_t first;
  std::size_t count;

  [[nodiscard]] std::size_t end() const { return first + count; }
  [[nodiscard]] bool contains(Cells const& other) const {
    return first <= other.first && other.end() <= end();
  }
  [[nodiscard]] bool meets(Cells const& other) const {
    return first < other.end() && other.first < end();
  }
  [[nodiscard]] bool depends_on(Cells const& other) const {
    return meets(other) && MatrixAccess<IOMatrix>(mode).is_dependent_of(other.mode);
  }
};
using Uses = std::vector<Cells>;

/// A step of a task on its cells, in the order of its uses.
void step(std::vector<long>& values, Uses const& uses, long number) {
  for (Cells const& use : uses)
    for (std::size_t k = use.first; k < use.end(); ++k) {
      std::atomic_ref value(values[k]);  // additions are done at the same time
      if (use.mode == Mode::atomic_add)
        value += number;
      else if (use.mode == Mode::write)
        value = number;
      else if (use.mode == Mode::read_write)
        value = value * 31 % 1'000'003 + number;
    }
}

/// What has been submitted, and what each task still has.
class Ledger {
 public:
  struct Entry {
    int task;   ///< in the order of submission
    int child;  ///< of it, or -1: itself
    Uses uses;  ///< that it has now
    bool is_over = false;
  };
  Entry& add(int task, int child, Uses uses) {
    std::lock_guard const lock(m_mutex);
    return m_entries.emplace_back(Entry{task, child, std::move(uses)});
  }
  void begins(Entry const& entry) {
    std::lock_guard const lock(m_mutex);
    for (Entry const& other : m_entries)
      if (!other.is_over && comes_before(other, entry) && depend(other.uses, entry.uses))
        ADD_FAILURE() << text(entry) << " begins before the end of" << text(other);
  }
  void keeps(Entry& entry, Uses uses) {
    std::lock_guard const lock(m_mutex);
    entry.uses = std::move(uses);
  }
  void ends(Entry& entry) {
    std::lock_guard const lock(m_mutex);
    entry.is_over = true;
  }

 private:
  static bool comes_before(Entry const& a, Entry const& b) {
    return a.task != b.task ? a.task < b.task : a.child >= 0 && a.child < b.child;
  }
  static bool depend(Uses const& a, Uses const& b) {
    return std::any_of(a.begin(), a.end(), [&](Cells const& x) {
      return std::any_of(b.begin(), b.end(), [&](Cells const& y) { return x.depends_on(y); });
    });
  }
  static std::string text(Entry const& entry) {
    std::string all = " task " + std::to_string(entry.task);
    if (entry.child >= 0) all += " child " + std::to_string(entry.child);
    for (Cells const& use : entry.uses)
      all += ' ' + std::string(to_string(use.mode)) + '[' + std::to_string(use.first) + ',' +
             std::to_string(use.end()) + ')';
    return all;
  }
  std::mutex m_mutex;
  std::deque<Entry> m_entries;
};

class DemotionProgram {
 public:
  explicit DemotionProgram(std::uint64_t seed)
      : m_random(seed), m_longest(1 + below(6)), m_graph(options(seed)) {
    int const tasks = 2 + static_cast<int>(below(40));
    for (m_task = 0; m_task < tasks; ++m_task) submit();
    m_graph.wait();
    EXPECT_EQ(m_values, m_expected);
  }

 private:
  static constexpr std::size_t cells = 10;

  std::size_t below(std::size_t n) { return m_random() % n; }
  TaskGraphOptions options(std::uint64_t seed) {
    constexpr std::size_t caps[] = {3, 8, 2048};
    TaskGraphOptions options = with_workers(1 + static_cast<int>(below(3)));
    options.in_flight = caps[below(3)];
    if (below(3) == 0) options.policy = make_shake_policy(seed);
    options.record = below(10) == 0;
    return options;
  }
  Cells part_of(Cells const& whole) {
    std::size_t const skip = below(whole.count);
    std::size_t const most = std::min(m_longest, whole.count - skip);
    return {whole.mode, whole.first + skip, 1 + below(most)};
  }
  /// Adds one, unless what the two do to a cell would depend on their order.
  static void add(Uses& uses, Cells const& use) {
    bool const clashes = std::any_of(uses.begin(), uses.end(), [&](Cells const& other) {
      bool const adds = use.mode == Mode::atomic_add || other.mode == Mode::atomic_add;
      return use.meets(other) && adds;
    });
    if (!clashes) uses.push_back(use);
  }
  Uses some_uses() {
    constexpr Mode modes[] = {Mode::read,       Mode::read,       Mode::write,
                              Mode::read_write, Mode::read_write, Mode::atomic_add};
    std::size_t const count = below(8) == 0 ? 6 + below(14) : 1 + below(3);
    Uses uses;
    for (std::size_t k = 0; k < count; ++k)
      add(uses, part_of({modes[below(std::size(modes))], 0, cells}));
    return uses;
  }
  Cells less(Cells const& use) {
    Cells to = part_of(use);
    constexpr Mode modes[] = {Mode::read, Mode::write, Mode::read_write};
    if (use.mode == Mode::read_write) to.mode = modes[below(3)];
    return to;
  }
  Place place(Cells const& use) { return m_block(use.first, use.count); }
  std::vector<Touch> touches(Uses const& uses) {
    std::vector<Touch> all;
    for (Cells const& use : uses) all.push_back({use.mode, place(use)});
    return all;
  }
  static void nap(std::size_t k) {
    if (k % 3 == 0) std::this_thread::yield();
    if (k % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(k % 50));
  }

  /// What is given up at a time: what lies within `released`, or the one that `to` is in place of.
  struct GivesUp {
    Uses to;  ///< empty: it releases
    Cells released;
    Uses left;
  };
  /// Nothing is given up where nobody could say which access `to` is in place of.
  GivesUp gives_up(Uses const& uses) {
    std::size_t const which = below(uses.size());
    GivesUp what{{}, uses[which], {}};
    if (below(3) != 0)
      for (std::size_t k = 1 + below(2); k > 0; --k) add(what.to, less(uses[which]));
    for (std::size_t k = 0; k < uses.size(); ++k) {
      bool const is_other = k != which;
      if (what.to.empty() ? !what.released.contains(uses[k]) : is_other)
        what.left.push_back(uses[k]);
      for (Cells const& to : what.to)
        if (is_other && uses[k].contains(to)) return {{}, {Mode::none, 0, 0}, uses};
    }
    what.left.insert(what.left.end(), what.to.begin(), what.to.end());
    return what;
  }

  void submit() {
    Uses const uses = some_uses();
    Ledger::Entry& entry = m_ledger.add(m_task, -1, uses);
    long const number = 100 * m_task + 1;
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
        return gives_up_by_itself(entry, uses, number);
      case 3:
      case 4:
        return gives_up_from_outside(entry, uses, number);
      case 5:
      case 6:
      case 7:
        return shrinks(entry, uses, number);
      default:
        break;
    }
    step(m_expected, uses, number);
    task(m_graph, "plain", touches(uses), [this, &entry, uses, number, k = below(100)] {
      m_ledger.begins(entry);
      nap(k);
      step(m_values, uses, number);
      m_ledger.ends(entry);
    });
  }

  void gives_up_by_itself(Ledger::Entry& entry, Uses const& uses, long number) {
    std::vector<GivesUp> steps;
    step(m_expected, uses, number);
    for (std::size_t k = 1 + below(3); k > 0; --k) {
      Uses const& now = steps.empty() ? uses : steps.back().left;
      if (now.empty()) break;
      GivesUp what = gives_up(now);
      if (what.released.mode == Mode::none) continue;
      steps.push_back(std::move(what));
      step(m_expected, steps.back().left, number + static_cast<long>(steps.size()));
    }
    task(m_graph, "gives up", touches(uses), [this, &entry, uses, number, steps, k = below(100)] {
      m_ledger.begins(entry);
      step(m_values, uses, number);
      long next = number;
      for (GivesUp const& what : steps) {
        nap(k + static_cast<std::size_t>(++next));
        m_ledger.keeps(entry, what.left);
        if (what.to.empty())
          release(place(what.released));
        else
          demote(touches(what.to));
        step(m_values, what.left, next);
      }
      nap(k);
      m_ledger.ends(entry);
    });
  }

  /// Its body does no more than it may after that, whenever it runs.
  void gives_up_from_outside(Ledger::Entry& entry, Uses const& uses, long number) {
    GivesUp const what = gives_up(uses);
    step(m_expected, what.left, number);
    Future<void> const future =
        task(m_graph, "given up", touches(uses), [this, &entry, what, number, k = below(100)] {
          m_ledger.begins(entry);
          nap(k);
          step(m_values, what.left, number);
          m_ledger.ends(entry);
        });
    if (what.released.mode == Mode::none) return;
    m_ledger.keeps(entry, what.left);
    bool const is_in_time = what.to.empty() ? release_other(m_graph, future, {place(what.released)})
                                            : demote_other(m_graph, future, touches(what.to));
    if (!is_in_time) m_ledger.keeps(entry, uses);
  }

  void shrinks(Ledger::Entry& entry, Uses const& uses, long number) {
    struct Child {
      Uses uses;
      std::size_t nap;
    };
    std::vector<Child> children(1 + below(6));
    step(m_expected, uses, number);
    for (std::size_t k = 0; k < children.size(); ++k) {
      for (std::size_t n = 1 + below(2); n > 0; --n) {
        Cells const& whole = uses[below(uses.size())];
        add(children[k].uses, below(4) == 0 ? whole : less(whole));
      }
      children[k].nap = below(100);
      step(m_expected, children[k].uses, number + 1 + static_cast<long>(k));
    }
    task(m_graph, "shrinks", touches(uses),
         [this, &entry, uses, number, children, index = m_task, k = below(100)] {
           m_ledger.begins(entry);
           step(m_values, uses, number);
           long next = number;
           for (Child const& each : children) {
             ++next;
             Ledger::Entry& its = m_ledger.add(index, static_cast<int>(next - number), each.uses);
             child("child", touches(each.uses), [this, &its, each, next] {
               m_ledger.begins(its);
               nap(each.nap);
               step(m_values, each.uses, next);
               m_ledger.ends(its);
             });
           }
           m_ledger.ends(entry);
           Impl::GraphInternals::shrink_to_children(self());
           nap(k);
         });
  }

  std::mt19937 m_random;
  std::size_t const m_longest;
  Block m_block{"x", cells};
  std::vector<long> m_values = std::vector<long>(cells);
  std::vector<long> m_expected = std::vector<long>(cells);
  int m_task = 0;
  Ledger m_ledger;
  TaskGraph m_graph;
};

TEST_F(RandomDemotion, WhoBeginsIsBehindNothingThatOthersHave) {
  for (std::uint64_t const seed : random_program::seeds(80, sanitized ? 4 : 50)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DemotionProgram const program(seed);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace trellis
