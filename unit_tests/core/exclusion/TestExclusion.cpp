// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who may run beside whom: the class behind it alone, compared with the rule in its header taken
// literally, and what a program sees of it.
#include "BareTask.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>
#include <access/Trellis_AccessTable.hpp>
#include <exclusion/Trellis_Exclusion.hpp>
#include <failure/Trellis_Failure.hpp>
#include <scope/Trellis_Scope.hpp>
#include <task/Trellis_TaskSlab.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <vector>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using Impl::AreaEntry;
using Impl::Task;
using testing::ElementsAre;
using testing::IsEmpty;

class Exclusion : public Timed {};
class ExclusiveTasks : public Timed {};

// --- the class alone -----------------------------------------------------------------------------

/// Excludes the same value, and depends on nothing of its type.
struct Colour {
  int value = 0;
  bool is_dependent_of(Colour) const { return false; }
  bool excludes(Colour other) const { return value == other.value; }
  bool is_superset_of(Colour other) const { return value == other.value; }
};

/// Tasks that nobody runs, and areas of some bytes.
class Stage {
 public:
  AreaEntry& area(std::size_t first, std::size_t bytes) {
    return entry(Impl::Area::contiguous(m_memory + first, bytes));
  }
  AreaEntry& every(std::size_t first, std::uint64_t stride, std::uint64_t count) {
    return entry(Impl::Area::strided(m_memory + first, 1, 1, &count, &stride));
  }
  Task& task(std::vector<AreaEntry*> const& exclusive, Task* parent = nullptr) {
    Task& made = *m_tasks.emplace_back(std::make_unique<Task>());
    made.id = m_tasks.size();
    if (parent != nullptr) {
      if (parent->inner == nullptr)
        parent->inner = Impl::ScopePtr(new Impl::Scope(m_slab, m_failures, false));
      Impl::put_into(made, *parent->inner);
    }
    made.exclusive = true;
    for (AreaEntry* entry : exclusive) made.add_access({entry, Mode::exclusive});
    return made;
  }

 private:
  AreaEntry& entry(Impl::Area const& area) {
    m_entries.push_back(std::make_unique<AreaEntry>());
    m_entries.back()->area = area;
    return *m_entries.back();
  }
  std::byte m_memory[64];
  Impl::TaskSlab m_slab;
  Impl::FailureLog m_failures;
  std::vector<std::unique_ptr<AreaEntry>> m_entries;
  std::vector<std::unique_ptr<Task>> m_tasks;
};

/// Gives up all accesses but those to `kept`.
void keep_only(Task& task, std::vector<AreaEntry*> const& kept) {
  std::vector<Impl::TaskAccess> accesses;
  task.for_each_access([&](Impl::TaskAccess const& access) {
    if (std::find(kept.begin(), kept.end(), access.entry) != kept.end()) accesses.push_back(access);
  });
  task.access_count = 0;
  task.more_accesses.clear();
  for (Impl::TaskAccess const& access : accesses) task.add_access(access);
}

class ExclusionAlone : public Exclusion {
 protected:
  bool acquire(Task& task) {
    let_in.clear();
    return exclusion.acquire(task, let_in);
  }
  Impl::Vector<Task*> release(Task& task) {
    Impl::Vector<Task*> ready;
    exclusion.release(task, ready);
    return ready;
  }
  Impl::Vector<Task*> sleep(Task& task) {
    Impl::Vector<Task*> ready;
    EXPECT_TRUE(exclusion.sleep(task, ready));
    return ready;
  }
  template <class F>
  Impl::Vector<Task*> change(Task& task, F f) {
    Impl::Vector<Task*> ready;
    exclusion.change(task, f, ready);
    return ready;
  }
  Stage stage;
  std::deque<Impl::TagRule> rules;
  Impl::Exclusion exclusion{rules, nullptr};
  Impl::Vector<Task*> let_in;  ///< by the last `acquire`, besides the task itself
};

TEST_F(ExclusionAlone, UnequalAreasThatOverlapExcludeEachOther) {
  Task& left = stage.task({&stage.area(0, 8)});
  Task& middle = stage.task({&stage.area(6, 4)});
  Task& right = stage.task({&stage.area(8, 8)});
  Task& far = stage.task({&stage.area(16, 8)});
  EXPECT_TRUE(acquire(left));
  EXPECT_FALSE(acquire(middle));
  EXPECT_FALSE(acquire(right)) << "the front keeps it back";
  EXPECT_TRUE(acquire(far));
  EXPECT_THAT(release(left), ElementsAre(&middle));
  EXPECT_THAT(release(far), IsEmpty());
  EXPECT_THAT(release(middle), ElementsAre(&right));
  EXPECT_THAT(release(right), IsEmpty());
}

TEST_F(ExclusionAlone, AreasThatInterleaveDoNot) {
  Task& even = stage.task({&stage.every(0, 2, 8)});
  Task& odd = stage.task({&stage.every(1, 2, 8)});
  Task& thirds = stage.task({&stage.every(0, 3, 5)});
  EXPECT_TRUE(acquire(even));
  EXPECT_TRUE(acquire(odd));
  EXPECT_FALSE(acquire(thirds));
  EXPECT_THAT(release(even), IsEmpty());
  EXPECT_THAT(release(odd), ElementsAre(&thirds));
}

TEST_F(ExclusionAlone, OverlappingAreasOfOneTaskAreNotInItsOwnWay) {
  AreaEntry& whole = stage.area(0, 8);
  AreaEntry& part = stage.area(4, 4);
  Task& first = stage.task({&whole, &part, &part});
  Task& second = stage.task({&part, &whole});
  EXPECT_TRUE(acquire(first));
  EXPECT_FALSE(acquire(second));
  EXPECT_THAT(release(first), ElementsAre(&second));
  EXPECT_THAT(release(second), IsEmpty());
}

TEST_F(ExclusionAlone, ATaskTakesAllItsAreasOrNone) {
  AreaEntry& a = stage.area(0, 8);
  AreaEntry& b = stage.area(8, 8);
  AreaEntry& c = stage.area(16, 8);
  Task& has_a = stage.task({&a});
  Task& has_c = stage.task({&c});
  Task& front = stage.task({&a});
  Task& both = stage.task({&b, &c});
  Task& only_b = stage.task({&b});
  for (Task* task : {&has_a, &has_c}) EXPECT_TRUE(acquire(*task));
  for (Task* task : {&front, &both}) EXPECT_FALSE(acquire(*task));
  EXPECT_TRUE(acquire(only_b)) << "who waits for c as well has not taken b";
  EXPECT_THAT(release(has_c), IsEmpty());
  EXPECT_FALSE(exclusion.holds(both));
  EXPECT_THAT(release(only_b), ElementsAre(&both));
  EXPECT_TRUE(exclusion.holds(both));
  EXPECT_THAT(release(has_a), ElementsAre(&front));
}

TEST_F(ExclusionAlone, TheFrontIsNotOvertakenForEver) {
  AreaEntry& a = stage.area(0, 8);
  AreaEntry& b = stage.area(8, 8);
  Task* on_a = &stage.task({&a});
  Task* on_b = &stage.task({&b});
  Task& both = stage.task({&a, &b});
  Task& next = stage.task({&stage.area(7, 2)});
  EXPECT_TRUE(acquire(*on_a));
  EXPECT_TRUE(acquire(*on_b));
  EXPECT_FALSE(acquire(both));
  EXPECT_THAT(release(*on_a), IsEmpty());
  EXPECT_FALSE(acquire(*on_a)) << "a is free, but kept for the one that needs b as well";
  EXPECT_FALSE(acquire(next));
  EXPECT_THAT(release(*on_b), ElementsAre(&both));
  EXPECT_THAT(release(both), ElementsAre(on_a));
  EXPECT_THAT(release(*on_a), ElementsAre(&next));
}

TEST_F(ExclusionAlone, OthersPassWhileAHolderInTheWaySleeps) {
  AreaEntry& a = stage.area(0, 8);
  AreaEntry& b = stage.area(8, 8);
  Task& sleeper = stage.task({&a});
  Task& front = stage.task({&a, &b});
  Task& awaited = stage.task({&stage.area(12, 4)});
  Task& later = stage.task({&stage.area(8, 2)});
  Task& last = stage.task({&stage.area(10, 2)});
  EXPECT_TRUE(acquire(sleeper));
  EXPECT_FALSE(acquire(front));
  EXPECT_FALSE(acquire(awaited));
  EXPECT_THAT(sleep(sleeper), ElementsAre(&awaited));
  EXPECT_THAT(sleep(sleeper), IsEmpty()) << "a child of it as well";
  exclusion.wake(sleeper);
  EXPECT_TRUE(acquire(later)) << "still asleep";
  exclusion.wake(sleeper);
  EXPECT_FALSE(acquire(last)) << "awake";
  EXPECT_THAT(release(awaited), IsEmpty());
  EXPECT_THAT(release(sleeper), IsEmpty());
  EXPECT_THAT(release(later), ElementsAre(&front));
  EXPECT_THAT(release(front), ElementsAre(&last));
}

TEST_F(ExclusionAlone, SleepingHoldersThatAreNotInTheWayChangeNothing) {
  AreaEntry& a = stage.area(0, 8);
  Task& holder = stage.task({&a});
  Task& front = stage.task({&a, &stage.area(8, 8)});
  Task& kept = stage.task({&stage.area(12, 4)});
  Task& elsewhere = stage.task({&stage.area(32, 8)});
  for (Task* task : {&holder, &elsewhere}) EXPECT_TRUE(acquire(*task));
  for (Task* task : {&front, &kept}) EXPECT_FALSE(acquire(*task));
  EXPECT_THAT(sleep(elsewhere), IsEmpty());
  exclusion.wake(elsewhere);
  EXPECT_THAT(release(holder), ElementsAre(&front));
}

TEST_F(ExclusionAlone, ChildrenOfTwoTasksAreNotCompared) {
  AreaEntry& a = stage.area(0, 8);
  AreaEntry& same_of_children = stage.area(0, 8);
  AreaEntry& some_of_children = stage.area(2, 2);
  AreaEntry& of_others = stage.area(0, 8);
  Task& parent = stage.task({&a});
  Task& other_parent = stage.task({});
  Task& one = stage.task({&same_of_children}, &parent);
  Task& two = stage.task({&some_of_children}, &parent);
  Task& other = stage.task({&of_others}, &other_parent);
  for (Task* task : {&parent, &one, &other}) EXPECT_TRUE(acquire(*task));
  EXPECT_FALSE(acquire(two));
  EXPECT_THAT(release(other), IsEmpty());
  EXPECT_THAT(release(one), ElementsAre(&two));
  EXPECT_THAT(release(two), IsEmpty());
  EXPECT_THAT(release(parent), IsEmpty());
  EXPECT_TRUE(acquire(one)) << "a new scope where another was";
}

TEST_F(ExclusionAlone, ADemotionLetsInWhoNeedsWhatWasGivenUp) {
  AreaEntry& a = stage.area(0, 8);
  AreaEntry& b = stage.area(8, 8);
  AreaEntry& smaller = stage.area(8, 4);
  Task& demoter = stage.task({&a, &b});
  Task& on_a = stage.task({&stage.area(4, 2)});
  Task& on_rest = stage.task({&stage.area(12, 4)});
  Task& on_smaller = stage.task({&smaller});
  EXPECT_TRUE(acquire(demoter));
  for (Task* task : {&on_smaller, &on_a, &on_rest}) EXPECT_FALSE(acquire(*task));
  EXPECT_THAT(change(demoter, [&] { keep_only(demoter, {&b}); }), ElementsAre(&on_a));
  auto const to_smaller = [&] {
    keep_only(demoter, {});
    demoter.add_access({&smaller, Mode::exclusive});
  };
  EXPECT_THAT(change(demoter, to_smaller), ElementsAre(&on_rest));
  EXPECT_TRUE(exclusion.holds(demoter));
  EXPECT_THAT(change(demoter, [&] { keep_only(demoter, {}); }), ElementsAre(&on_smaller));
  EXPECT_FALSE(exclusion.holds(demoter));
  EXPECT_FALSE(demoter.exclusive);
}

TEST_F(ExclusionAlone, ADemotionToExclusiveKeepsOthersOut) {
  AreaEntry& a = stage.area(0, 8);
  Task& demoter = stage.task({});
  demoter.exclusive = false;
  demoter.add_access({&a, Mode::write});
  Task& other = stage.task({&stage.area(4, 8)});
  EXPECT_THAT(change(demoter, [&] { demoter.access(0).mode = Mode::exclusive; }), IsEmpty());
  EXPECT_TRUE(exclusion.holds(demoter));
  EXPECT_FALSE(acquire(other));
  EXPECT_THAT(release(demoter), ElementsAre(&other));
}

TEST_F(ExclusionAlone, ATaskThatWasCancelledHoldsNothing) {
  AreaEntry& a = stage.area(0, 8);
  Task& holder = stage.task({&a});
  Task& cancelled = stage.task({&a});
  Task& waiter = stage.task({&a});
  EXPECT_TRUE(acquire(holder));
  EXPECT_FALSE(acquire(waiter));
  EXPECT_THAT(release(cancelled), IsEmpty());
  EXPECT_THAT(release(holder), ElementsAre(&waiter));
}

TEST_F(ExclusionAlone, TheHighestPriorityComesFirstThenWhoHasWaitedLongest) {
  AreaEntry& a = stage.area(0, 8);
  Task& holder = stage.task({&a});
  EXPECT_TRUE(acquire(holder));
  Impl::Vector<Task*> waiting;
  for (int const priority : {0, 2, -1, 2, 5, 0}) {
    waiting.push_back(&stage.task({&a}));
    waiting.back()->priority = priority;
    EXPECT_FALSE(acquire(*waiting.back()));
    EXPECT_THAT(let_in, IsEmpty());
  }
  Task* over = &holder;
  for (std::size_t const next : {4, 1, 3, 0, 5, 2}) {
    EXPECT_THAT(release(*over), ElementsAre(waiting[next]));
    over = waiting[next];
  }
  EXPECT_THAT(release(*over), IsEmpty());
}

TEST_F(ExclusionAlone, WhoIsKeptBackByAFrontThatIsNoMoreMayRun) {
  AreaEntry& a = stage.area(0, 8);
  AreaEntry& b = stage.area(8, 8);
  AreaEntry& c = stage.area(16, 8);
  Task& on_a = stage.task({&a});
  Task& on_c = stage.task({&c});
  Task& front = stage.task({&a, &b});
  Task& kept_back = stage.task({&b});
  Task& urgent = stage.task({&c});
  urgent.priority = 1;
  EXPECT_TRUE(acquire(on_a));
  EXPECT_TRUE(acquire(on_c));
  EXPECT_FALSE(acquire(front));
  EXPECT_FALSE(acquire(kept_back)) << "b is kept for the front";
  EXPECT_FALSE(acquire(urgent));
  EXPECT_THAT(let_in, ElementsAre(&kept_back));
  EXPECT_THAT(release(on_a), IsEmpty());
  EXPECT_THAT(release(kept_back), ElementsAre(&front));
  EXPECT_THAT(release(on_c), ElementsAre(&urgent));
}

TEST_F(ExclusionAlone, WhoWaitsAndNeedsLessIsAskedAgain) {
  AreaEntry& a = stage.area(0, 8);
  AreaEntry& b = stage.area(8, 8);
  Task& holder = stage.task({&a});
  Task& waiting = stage.task({&a, &b});
  Task& kept_back = stage.task({&b});
  Task& last = stage.task({&a});
  EXPECT_TRUE(acquire(holder));
  for (Task* task : {&waiting, &kept_back, &last}) EXPECT_FALSE(acquire(*task));
  EXPECT_THAT(change(waiting, [&] { keep_only(waiting, {&a}); }), ElementsAre(&kept_back));
  EXPECT_FALSE(exclusion.holds(waiting));
  EXPECT_THAT(change(waiting, [&] { keep_only(waiting, {}); }), ElementsAre(&waiting));
  EXPECT_FALSE(waiting.exclusive);
  EXPECT_THAT(release(waiting), IsEmpty());
  EXPECT_THAT(release(holder), ElementsAre(&last));
}

TEST_F(ExclusionAlone, WhoHasGivenUpBeforeItArrivesDoesNotWait) {
  AreaEntry& a = stage.area(0, 8);
  Task& holder = stage.task({&a});
  Task& other = stage.task({&a});
  EXPECT_TRUE(acquire(holder));
  EXPECT_THAT(change(other, [&] { keep_only(other, {}); }), IsEmpty());
  EXPECT_TRUE(acquire(other));
  EXPECT_FALSE(exclusion.holds(other));
}

/// The header's first invariant, taken literally: everybody is asked each time.
class Literally {
 public:
  explicit Literally(Impl::Exclusion const& rule) : m_rule(rule) {}

  bool acquire(Task& task) {
    m_arriving = &task;
    bool const may = may_run(task);
    m_arriving = nullptr;
    if (!may) {
      auto const place = std::find_if(m_waiting.begin(), m_waiting.end(), [&](Task const* other) {
        return other->priority < task.priority;
      });
      m_waiting.insert(place, &task);
      return false;
    }
    holding.push_back(&task);
    return true;
  }
  Impl::Vector<Task*> grant() {
    Impl::Vector<Task*> ready;
    for (std::size_t k = 0; k < m_waiting.size();) {
      Task& waiter = *m_waiting[k];
      if (!may_run(waiter)) {
        ++k;
        continue;
      }
      m_waiting.erase(m_waiting.begin() + static_cast<std::ptrdiff_t>(k));
      holding.push_back(&waiter);
      ready.push_back(&waiter);
    }
    return ready;
  }
  bool concerns_nobody(Task const& task) const {
    auto const excludes = [&](Task const* other) {
      return other != &task && m_rule.conflict(*other, task);
    };
    return std::none_of(holding.begin(), holding.end(), excludes) &&
           std::none_of(m_waiting.begin(), m_waiting.end(), excludes);
  }
  std::size_t waiting() const { return m_waiting.size(); }
  Task* waiter(std::size_t k) const { return m_waiting[k]; }
  /// It needs nothing any more.
  void runs_free(Task& task) { std::erase(m_waiting, &task); }

  Impl::Vector<Task*> holding;
  Impl::Vector<Task*> sleeping;

 private:
  bool may_run(Task const& task) const {
    auto const excludes = [&](Task const* holder) { return m_rule.conflict(*holder, task); };
    if (std::any_of(holding.begin(), holding.end(), excludes)) return false;
    if (m_waiting.empty() || m_waiting.front() == &task ||
        !m_rule.conflict(*m_waiting.front(), task) ||
        (m_arriving == &task && m_waiting.front()->priority < task.priority))
      return true;
    return std::any_of(sleeping.begin(), sleeping.end(), [&](Task const* sleeper) {
      return m_rule.conflict(*sleeper, *m_waiting.front());
    });
  }
  Impl::Exclusion const& m_rule;
  Task const* m_arriving = nullptr;
  std::deque<Task*> m_waiting;  ///< by turn
};

struct Mix {
  bool states;
  bool rules;
  bool priorities = false;
};

void compare_with_the_rule_taken_literally(unsigned seed, Mix mix) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << (mix.states ? ", states" : "")
                                  << (mix.rules ? ", rules" : "")
                                  << (mix.priorities ? ", priorities" : ""));
  std::mt19937 random(seed);
  auto const below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::deque<Impl::TagRule> rules;
  if (mix.rules) {
    rules.push_back(Impl::make_rule<int>("same number", Constraint::exclusive,
                                         [](int a, int b) { return a != 0 && a == b; }));
  }
  Impl::Exclusion exclusion(rules, nullptr);
  Literally literally(exclusion);
  Stage stage;
  Impl::Vector<Task*> const scopes = {nullptr, nullptr, &stage.task({}), &stage.task({})};
  std::vector<std::vector<AreaEntry*>> entries;  // of each scope
  std::size_t const bytes = 8 + below(40);
  for (std::size_t scope = 0; scope < scopes.size(); ++scope) {
    entries.emplace_back();
    for (int k = 0; k < 10; ++k)
      entries.back().push_back(below(4) == 0 ? &stage.every(below(8), 2 + below(4), 2 + below(8))
                                             : &stage.area(below(bytes), 1 + below(8)));
  }
  entries[1] = entries[0];  // the root twice as often

  auto const make = [&]() -> Task& {
    std::size_t const scope = below(scopes.size());
    Task& task = stage.task({}, scopes[scope]);
    for (std::size_t k = 0, count = 1 + below(3); k < count; ++k) {
      bool const exclusive = below(5) != 0;
      task.add_access(
          {entries[scope][below(entries[scope].size())], exclusive ? Mode::exclusive : Mode::read});
      if (exclusive && mix.states && below(3) == 0) {
        task.access(k).mode = Mode::write;
        task.set_state(static_cast<std::uint32_t>(k),
                       std::make_shared<Impl::StateOf<Colour>>(Colour{static_cast<int>(below(3))}));
      }
    }
    if (mix.rules && below(2) == 0)
      task.tags_or_after().tags.push_back(
          std::make_shared<Impl::TagOf<int>>(static_cast<int>(below(4))));
    task.exclusive = exclusion.concerns(task);
    if (mix.priorities) task.priority = static_cast<int>(below(3));
    return task;
  };
  auto const after = [&](auto&& operation) {
    Impl::Vector<Task*> ready;
    operation(ready);
    EXPECT_EQ(ready, literally.grant());
  };
  for (int step = 0; step < 400 && !testing::Test::HasFailure(); ++step) {
    std::size_t const kind = below(10);
    if (kind < 4 && literally.waiting() < 30) {
      Task& task = make();
      if (!task.exclusive) continue;
      bool const expected = literally.acquire(task);
      Impl::Vector<Task*> others;
      EXPECT_EQ(exclusion.acquire(task, others), expected);
      EXPECT_EQ(exclusion.holds(task), expected);
      EXPECT_EQ(others, literally.grant());
    } else if (kind == 8 && literally.waiting() > 0) {  // somebody who waits needs less
      Task& task = *literally.waiter(below(literally.waiting()));
      Impl::Vector<Task*> ready;
      exclusion.change(task, [&] { keep_only(task, {task.access(0).entry}); }, ready);
      Impl::Vector<Task*> expected;
      if (!task.exclusive) {
        literally.runs_free(task);
        expected.push_back(&task);
      }
      for (Task* granted : literally.grant()) expected.push_back(granted);
      // Those that are let in now have no order.
      std::sort(ready.begin(), ready.end());
      std::sort(expected.begin(), expected.end());
      EXPECT_EQ(ready, expected);
    } else if (kind == 4 && !literally.sleeping.empty()) {
      std::size_t const k = below(literally.sleeping.size());
      exclusion.wake(*literally.sleeping[k]);
      literally.sleeping.erase(literally.sleeping.begin() + static_cast<std::ptrdiff_t>(k));
    } else if (kind == 5) {  // a writer demotes to exclusive: nobody is in its way
      Task& task = make();
      std::vector<Impl::TaskAccess> const accesses = [&] {
        std::vector<Impl::TaskAccess> all;
        task.for_each_access([&](Impl::TaskAccess const& access) { all.push_back(access); });
        return all;
      }();
      if (!task.exclusive || mix.rules || !literally.concerns_nobody(task)) continue;
      task.exclusive = false;
      keep_only(task, {});
      after([&](Impl::Vector<Task*>& ready) {
        exclusion.change(
            task,
            [&] {
              for (auto const& access : accesses) task.add_access(access);
            },
            ready);
        literally.holding.push_back(&task);
      });
    } else if (!literally.holding.empty()) {
      std::size_t const k = below(literally.holding.size());
      Task& task = *literally.holding[k];
      bool const asleep = std::find(literally.sleeping.begin(), literally.sleeping.end(), &task) !=
                          literally.sleeping.end();
      auto const over = [&] {
        literally.holding.erase(literally.holding.begin() + static_cast<std::ptrdiff_t>(k));
      };
      after([&](Impl::Vector<Task*>& ready) {
        if (kind == 6) {
          literally.sleeping.push_back(&task);
          EXPECT_TRUE(exclusion.sleep(task, ready));
        } else if (kind == 7) {
          exclusion.change(task, [&] { keep_only(task, {task.access(0).entry}); }, ready);
          EXPECT_EQ(exclusion.holds(task), task.exclusive);
          if (!task.exclusive) over();
        } else if (!asleep) {
          exclusion.release(task, ready);
          over();
        }
      });
    }
  }
  while (!literally.holding.empty()) {
    Task& task = *literally.holding.front();
    for (std::size_t k = std::erase(literally.sleeping, &task); k > 0; --k) exclusion.wake(task);
    after([&](Impl::Vector<Task*>& ready) {
      exclusion.release(task, ready);
      literally.holding.erase(literally.holding.begin());
    });
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_EQ(literally.waiting(), 0U) << "somebody waits for ever";
}

TEST_F(ExclusionAlone, DoesWhatItsRuleSays) {
  constexpr unsigned seeds = sanitized ? 40 : 200;  // on one thread
  for (unsigned seed = 1; seed <= seeds && !HasFailure(); ++seed)
    for (Mix const mix : {Mix{false, false}, Mix{true, false}, Mix{false, true}, Mix{true, true},
                          Mix{false, false, true}, Mix{true, false, true}, Mix{true, true, true}})
      compare_with_the_rule_taken_literally(seed, mix);
}

// --- what a program sees -------------------------------------------------------------------------

TEST_F(ExclusiveTasks, WhoNeedsTwoAreasGetsItsTurnWhileOthersKeepComing) {
  Block x("x", 2);
  TaskGraph graph(with_workers(3));
  std::atomic<bool> had_its_turn{false};
  std::atomic<int> others{0};
  std::function<void(std::size_t)> keep_coming = [&](std::size_t k) {
    task(graph, "one area", {excludes(x(k, 1))}, [&, k] {
      ++x[k];
      if (!had_its_turn && ++others < 200'000) keep_coming(k);
    });
  };
  for (std::size_t k : {0, 1, 0, 1, 0, 1}) keep_coming(k);
  task(graph, "both", {excludes(x(0, 1)), excludes(x(1, 1))}, [&] { had_its_turn = true; });
  graph.wait();
  EXPECT_LT(others, 200'000) << "it had its turn only when nobody came any more";
}

TEST_F(ExclusiveTasks, ManyThatShareAreasInManyWaysAreEachAlone) {
  constexpr std::size_t size = 12;
  Block x("x", size);
  TaskGraph graph(with_workers(3));
  std::array<std::atomic<int>, size> inside{};
  std::array<long, size> expected{};
  std::atomic<int> met{0};
  std::mt19937 random(7);
  for (int k = 0; k < 3000; ++k) {
    std::vector<Touch> touches;
    std::vector<std::size_t> cells;
    for (int n = 0; n < 2; ++n) {
      std::size_t const first = random() % size,
                        count = 1 + random() % std::min<std::size_t>(3, size - first);
      touches.push_back(excludes(x(first, count)));
      for (std::size_t c = first; c < first + count; ++c)
        if (std::find(cells.begin(), cells.end(), c) == cells.end()) cells.push_back(c);
    }
    for (std::size_t c : cells) ++expected[c];
    task(graph, "t", touches, [&, cells] {
      for (std::size_t c : cells) met += ++inside[c] != 1;
      for (std::size_t c : cells) x[c] += 1;
      for (std::size_t c : cells) --inside[c];
    });
  }
  graph.wait();
  EXPECT_EQ(met, 0);
  for (std::size_t c = 0; c < size; ++c) EXPECT_EQ(x[c], expected[c]);
}

TEST_F(ExclusiveTasks, ChildrenThatOverlapAreEachAlone) {
  Block x("x", 8);
  TaskGraph graph(with_workers(3));
  for (int repeat = 0; repeat < 10; ++repeat)
    for (std::size_t half : {0, 4})
      task(graph, "parent", {excludes(x(half, 4))}, [&x, half] {
        for (std::size_t k = 0; k < 12; ++k)
          child("child", {excludes(x(half + k % 3, 2))}, [&x, half, k] {
            ++x[half + k % 3];
            ++x[half + k % 3 + 1];
          });
        if (half == 0) wait_for_children();
      });
  graph.wait();
  for (std::size_t half : {0, 4}) {
    EXPECT_EQ(x[half], 40);
    EXPECT_EQ(x[half + 1], 80);
    EXPECT_EQ(x[half + 2], 80);
    EXPECT_EQ(x[half + 3], 40);
  }
}

TEST_F(ExclusiveTasks, AHolderMayWaitForOneBehindTheFront) {
  Block x("x", 2);
  Block go("go");
  TaskGraph graph(with_workers(4));
  Gate started, open;
  task(graph, "gate", {writes(go)}, [&] { EXPECT_TRUE(open.pass()); });
  Future<void> const awaited = task(graph, "awaited", {reads(go), excludes(x(1, 1))}, [] {});
  task(graph, "holder", {excludes(x(0, 1))}, [&] {
    started.open();
    awaited.wait();
  });
  ASSERT_TRUE(started.pass());
  task(graph, "front", {excludes(x)}, [] {});
  open.open();
  graph.wait();
}

TEST_F(ExclusiveTasks, ATaskMayBecomeExclusiveWhileAChildOfItWaitsForOneBehindTheFront) {
  Block x("x", 2);
  Block go("go");
  TaskGraph graph(with_workers(4));
  Gate waiting, demoted, open;
  task(graph, "gate", {writes(go)}, [&] { EXPECT_TRUE(open.pass()); });
  Future<void> const awaited = task(graph, "awaited", {reads(go), excludes(x(1, 1))}, [] {});
  task(graph, "parent", {updates(x(0, 1))}, [&] {
    child("child", {}, [&] {
      waiting.open();
      awaited.wait();
    });
    EXPECT_TRUE(waiting.pass());
    std::this_thread::sleep_for(20ms);  // so that the child is asleep
    demote({excludes(x(0, 1))});
    demoted.open();
  });
  ASSERT_TRUE(demoted.pass());
  task(graph, "front", {excludes(x)}, [] {});
  open.open();
  graph.wait();
}

}  // namespace
}  // namespace trellis
