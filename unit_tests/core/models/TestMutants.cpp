// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Do the models need the orders that the library has? Each atomic operation of the library that a
// model reaches is weakened, in each way there is, and then some model has to fail.
#include "Prove.hpp"

#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace trellis::model {
namespace {

constexpr int relaxed = 0;
constexpr int acquire = 2;
constexpr int release = 3;
constexpr int acq_rel = 4;
constexpr int seq_cst = 5;

/// Quick ones first.
std::vector<Model const*> const& models() {
  static std::vector<Model const*> const all{&one_before_one,
                                             &two_before_one,
                                             &two_behind_one,
                                             &held_back,
                                             &added_edge,
                                             &read_without_lock,
                                             &published_is_ready,
                                             &published_to_scope,
                                             &stale_pointer,
                                             &body_and_two_children,
                                             &children_of_children,
                                             &child_on_thread_of_body,
                                             &body_waits_for_child,
                                             &continuation_waits_for_child,
                                             &scopes_of_scopes,
                                             &replay_ends,
                                             &plan_follows_plan,
                                             &plan_follows_plan_crosswise,
                                             &older_plan_follows_plan,
                                             &task_follows_plan,
                                             &cells_come_back,
                                             &chains_of_cells,
                                             &engine_outlives_users,
                                             &one_thread_tries,
                                             &two_threads_lock_twice,
                                             &thief_and_owner,
                                             &two_thieves,
                                             &deque_seen_or_sleeper_seen,
                                             &queue_seen_or_sleeper_seen,
                                             &main_queue_is_seen,
                                             &policy_seen_or_sleeper_seen,
                                             &first_task_of_a_slot_is_seen,
                                             &urgent_seen_or_sleeper_seen,
                                             &priority_seen_or_sleeper_seen,
                                             &last_cell,
                                             &waiter_is_told,
                                             &one_worker_one_task,
                                             &two_guests_follow_each_other,
                                             &true_for_sleeper,
                                             &true_for_worker,
                                             &true_for_body,
                                             &thread_leaves,
                                             &two_workers_are_needed,
                                             &one_worker_two_kept_tasks,
                                             &worker_starts_another,
                                             &waiting_thread_runs_tasks,
                                             &task_leaves_its_place,
                                             &body_begins_to_wait,
                                             &one_worker_two_tasks};
  return all;
}

std::vector<int> weaker(Site const& site) {
  bool const reads = site.operation != "store";
  bool const writes = site.operation != "load";
  switch (site.order) {
    case seq_cst:
      return {reads && writes ? acq_rel : reads ? acquire : release, relaxed};
    case acq_rel:
      return {acquire, release};
    case acquire:
    case release:
      return {relaxed};
    default:
      return {};
  }
}

/// A weaker order that no model misses.
struct Unneeded {
  std::string_view file;
  std::string_view code;
  std::string_view why;
  int to = any;  ///< an order
  static constexpr int any = -2;
};

constexpr std::string_view under_mutex =
    "it is read and written under the mutex as well, before a thread sleeps";
constexpr std::string_view for_tests = "tests set it before there are threads";
constexpr std::string_view counts_up =
    "a thread that sees too few searchers wakes one more than it need";
constexpr std::string_view counts_down =
    "a thread that sees too many sleepers, or tasks, looks once more than it need";

constexpr Unneeded unneeded[] = {
    {"SpinLock.hpp", "m_locked.exchange(true",
     "a thread that gets the lock happens after all that had it, so `acquire` is enough for "
     "TaskDeque",
     acq_rel},
    {"GraphControl.hpp", "generation.load",
     "a thread that reads a later engine happens after this"},
    {"Task.hpp", "edges = unfinished.load",
     "the thread that ends the count acquires what comes with it"},
    {"Task.hpp", "compare_exchange_weak(edges",
     "it goes on with the release sequence, and the thread counts down again"},
    {"Task.hpp", "count_replays",
     "a thread that reads the count acquires, and one that counts reads nothing", release},
    {"Scope.hpp", "open_completions.store", "it is for messages", dropped},
    {"TaskDeque.hpp", "m_size.store(--m_count", counts_down, dropped},
    {"WorkStealing.cpp", "m_size.store(m_tasks.size(), std::memory_order_relaxed)", counts_down,
     dropped},
    {"AccessTable.hpp", "m_tasks(tasks), m_failures(failures)", for_tests},
    {"AccessTable.hpp", "m_collect_at = table_kept", for_tests},
    {"TaskQueue.hpp", "m_size.fetch_sub", counts_down},
    {"Workers.cpp", "m_stopping", under_mutex},
    {"Workers.cpp", "m_asleep_waiting.fetch_sub", counts_down},
    {"Workers.cpp", "m_searching.fetch_add", counts_up},
    {"Workers.cpp",
     "may_run = ", "`add_permit` before it is sequentially consistent, which is enough"},
    {"Workers.cpp", "in_use",
     "`work_until` takes the mutex at both ends; `set_threads` relies on it"},
};

Unneeded const* unneeded_at(Site const& site, int to) {
  for (Unneeded const& each : unneeded)
    if (site.file.ends_with(each.file) && site.code.find(each.code) != std::string::npos &&
        (each.to == to || (each.to == Unneeded::any && to != dropped)))
      return &each;
  return nullptr;
}

struct Mutant {
  Site site;
  int to;
  std::vector<Model const*> models;  ///< that reach the site

  [[nodiscard]] std::string text() const {
    return site.file.substr(site.file.rfind('/') + 1) + ':' + std::to_string(site.line) + ' ' +
           site.operation + ", " + std::string(order_name(site.order)) + " -> " +
           std::string(to == dropped ? "dropped" : order_name(to)) + ": " + site.code;
  }
  struct Found {
    std::string_view by;       ///< the name of a model, or nothing
    std::string unended = "";  ///< models that have more executions than have been looked at
  };
  [[nodiscard]] Found find() const {
    Mutation const mutation(site, to);
    Found found;
    for (Model const* model : models) {
      Bounds bounds = model->bounds;
      bounds.executions = 20'000;
      Report const report = explore(model->program, bounds);
      if (!report.failure.empty()) return {model->name};
      if (!report.has_ended) found.unended += ", " + std::string(model->name);
    }
    return found;
  }
};

/// Clang does not let the checker see each access to a local variable, nor each line.
bool knows_lines() {
#if defined(__clang__)
  return false;
#else
  return true;
#endif
}

/// Of all sites of the library's own that models reach.
template <class Changes>
std::vector<Mutant> mutants(Changes const& changes) {
  std::map<Site, std::vector<Model const*>> reached;
  for (Model const* model : models()) {
    for (Site const& site : seen_by(*model).sites)
      if (site.file.find("/core/") != std::string::npos &&
          site.file.find("unit_tests/") == std::string::npos)
        reached[site].push_back(model);
  }
  std::vector<Mutant> mutants;
  for (auto const& [site, by] : reached)
    for (int const to : changes(site)) mutants.push_back({site, to, by});
  return mutants;
}

TEST(Mutants, ModelsFindEachOrderThatIsNeeded) {
  if (!knows_lines()) GTEST_SKIP() << "only in a program that GCC has compiled";
  int found = 0;
  std::vector<Mutant> const all = mutants(weaker);
  for (Mutant const& mutant : all) {
    if (unneeded_at(mutant.site, mutant.to) != nullptr) continue;
    std::string_view const by = mutant.find().by;
    EXPECT_FALSE(by.empty()) << mutant.text();
    if (by.empty()) continue;
    ++found;
    std::cout << mutant.text().substr(0, 120) << "  [" << by << "]\n";
  }
  std::cout << found << " of " << all.size() << " mutants found\n";
  EXPECT_GE(found, 70);
}

/// Stores and additions that are not done. Those of Workers would take minutes.
TEST(Mutants, ModelsFindEachStepThatIsDropped) {
  if (!knows_lines()) GTEST_SKIP() << "only in a program that GCC has compiled";
  auto const drop = [](Site const& site) {
    bool const is_of_workers = site.file.find("Workers.") != std::string::npos;
    bool const may = site.operation == "store" || site.operation.starts_with("fetch_");
    return may && !is_of_workers ? std::vector<int>{dropped} : std::vector<int>();
  };
  int found = 0;
  std::vector<Mutant> const all = mutants(drop);
  for (Mutant const& mutant : all) {
    if (unneeded_at(mutant.site, dropped) != nullptr) continue;
    std::string_view const by = mutant.find().by;
    EXPECT_FALSE(by.empty()) << mutant.text();
    if (by.empty()) continue;
    ++found;
    std::cout << mutant.text().substr(0, 120) << "  [" << by << "]\n";
  }
  std::cout << found << " of " << all.size() << " steps that are dropped found\n";
  EXPECT_GE(found, 20);
}

// What these say of the lock, all at once. Of models with many executions only some are seen.
TEST(Mutants, ASpinLockNeedsNoMoreThanAcquire) {
  for (Model const* model : models()) {
    Bounds bounds = model->bounds;
    bounds.executions = 4'000;
    std::vector<std::unique_ptr<Mutation>> weaker;
    for (Site const& site : seen_by(*model).sites)
      if (site.file.ends_with("SpinLock.hpp") && site.operation == "exchange")
        weaker.push_back(std::make_unique<Mutation>(site, acquire));
    if (weaker.empty()) continue;
    Report const report = explore(model->program, bounds);
    EXPECT_EQ(report.failure, "") << model->name;
    if (!report.has_ended) std::cout << model->name << ": its first executions\n";
    EXPECT_TRUE(report.has_ended || seen_by(*model).executions > bounds.executions / 2)
        << model->name;
  }
}

// It takes some minutes: run it when the list of orders that are not needed has changed.
TEST(Mutants, DISABLED_OtherOrdersAreNotNeeded) {
  if (!knows_lines()) GTEST_SKIP() << "only in a program that GCC has compiled";
  for (Mutant const& mutant : mutants(weaker)) {
    Unneeded const* const known = unneeded_at(mutant.site, mutant.to);
    if (known == nullptr) continue;
    Mutant::Found const found = mutant.find();
    EXPECT_TRUE(found.by.empty()) << mutant.text() << " is found by: " << found.by;
    std::cout << mutant.text().substr(0, 120) << "  (" << known->why << ")\n";
    if (!found.unended.empty()) std::cout << "  but not in all of: " << found.unended << '\n';
  }
}

}  // namespace
}  // namespace trellis::model
