// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// OpenChildren: what must be over before a task is complete that has children. And children of
// children: the thread that ends a child goes up their scopes (as Engine::finish_child does).
//
// - One thread finds that nothing is left, and no more than one.
// - It happens after the body and all children.
// - It may give the scope back: no other thread reads it any more.
// - A body that waits for its children happens after them, and so does the rest of a body.
#include "Prove.hpp"
#include "Tasks.hpp"

#include <scope/Trellis_Scope.hpp>
#include <task/Trellis_TaskSlab.hpp>
#include <failure/Trellis_Failure.hpp>

#include <thread>

namespace trellis::model {
namespace {

using Impl::FailureLog;
using Impl::OpenChildren;
using Impl::Scope;
using Impl::Task;
using Impl::TaskSlab;

struct Whole {
  OpenChildren open;
  int body = 0;
  int children[2] = {0, 0};
  int ends = 0;
  void end(int count) {
    require(body == 1, "the task ends after its body");
    for (int k = 0; k < count; ++k) require(children[k] == 1, "the task ends after its children");
    ++ends;
  }
};

/// The body submits two children, which other threads run.
void split_in_two() {
  Whole whole;
  auto const run = [&](int k) {
    whole.children[k] = 1;
    if (whole.open.child_over(false)) whole.end(2);
  };
  whole.open.add(true);
  std::thread first(run, 0);
  whole.open.add(true);
  std::thread second(run, 1);
  whole.body = 1;
  if (whole.open.body_over()) whole.end(2);
  first.join();
  second.join();
  require(whole.ends == 1, "one thread ends the task");
}

/// A child submits another one.
void split_child() {
  Whole whole;
  std::thread second;
  whole.open.add(true);
  std::thread first([&] {
    whole.open.add(false);
    second = std::thread([&] {
      whole.children[1] = 1;
      if (whole.open.child_over(false)) whole.end(2);
    });
    whole.children[0] = 1;
    if (whole.open.child_over(false)) whole.end(2);
  });
  whole.body = 1;
  if (whole.open.body_over()) whole.end(2);
  first.join();
  second.join();
  require(whole.ends == 1, "one thread ends the task");
}

/// The body runs a child itself that another thread has submitted, and the other way round.
void run_above_body() {
  Whole whole;
  whole.open.add(true);
  whole.open.add(true);
  std::thread other([&] {
    whole.children[0] = 1;
    if (whole.open.child_over(false)) whole.end(2);
  });
  whole.children[1] = 1;
  if (whole.open.child_over(true)) whole.end(2);
  whole.body = 1;
  if (whole.open.body_over()) whole.end(2);
  other.join();
  require(whole.ends == 1, "one thread ends the task");
}

/// The body waits for the child, or leaves the rest of itself to another child, which waits for it.
void wait_for_child() {
  Whole whole;
  whole.open.add(true);
  std::thread other([&] {
    whole.children[0] = 1;
    if (whole.open.child_over(false)) whole.end(1);
  });
  while (!whole.open.is_only_body()) std::this_thread::yield();
  require(whole.children[0] == 1, "a body that has waited comes after its child");
  whole.body = 1;
  if (whole.open.body_over()) whole.end(1);
  other.join();
  require(whole.ends == 1, "one thread ends the task");
}

void wait_in_rest() {
  Whole whole;
  whole.open.add(true);
  std::thread other([&] {
    whole.children[0] = 1;
    if (whole.open.child_over(false)) whole.end(2);
  });
  whole.open.add(true);
  std::thread rest([&] {
    while (!whole.open.is_one_child()) std::this_thread::yield();
    require(whole.children[0] == 1 && whole.body == 1,
            "the rest comes after the body and all children");
    whole.children[1] = 1;
    if (whole.open.child_over(false)) whole.end(2);
  });
  whole.body = 1;
  if (whole.open.body_over()) whole.end(2);
  other.join();
  rest.join();
  require(whole.ends == 1, "one thread ends the task");
}

/// A task that is split, a child of it that is split, and a child of that.
struct Tree {
  TaskSlab slab;
  FailureLog failures;
  Tasks tasks{3};
  Scope outer{slab, failures, false};  ///< the children of the first task
  Scope inner{slab, failures, false};  ///< those of the second one
  int bodies[3] = {0, 0, 0};
  int ends[3] = {0, 0, 0};

  Tree() {
    for (TaskId k : {0U, 1U, 2U}) Tasks::admit(tasks[k], k + 1);
    outer.parent = &tasks[0];
    inner.parent = &tasks[1];
    put_into(tasks[1], outer);
    put_into(tasks[2], inner);
  }
  void end(Task& task) {
    std::size_t const number = task.id - 1;
    for (std::size_t k = number; k < 3; ++k)
      require(bodies[k] == 1, "a task ends after its body and its children");
    ++ends[number];
    (void)task.end_life([] {});
  }
  /// As Engine::finish_child from where the child has ended.
  void child_over(Scope* scope) {
    while (scope != nullptr && scope->open.child_over(false)) {
      Task& whole = *scope->parent;
      require(scope->parent_row == static_cast<int>(whole.id), "the body has left its row");
      scope->renew();
      end(whole);
      scope = whole.scope;
    }
  }
  /// As Children::body_over.
  void body_over(Scope& scope) {
    Task& parent = *scope.parent;
    bodies[parent.id - 1] = 1;
    scope.parent_row = static_cast<int>(parent.id);
    if (!scope.open.body_over()) return;
    scope.renew();
    end(parent);
    child_over(parent.scope);
  }
};

void go_up_scopes() {
  Tree tree;
  std::thread leaf;
  tree.outer.open.add(true);
  std::thread child([&] {
    tree.inner.open.add(true);
    leaf = std::thread([&] {
      tree.bodies[2] = 1;
      tree.end(tree.tasks[2]);
      tree.child_over(&tree.inner);
    });
    tree.body_over(tree.inner);
  });
  tree.body_over(tree.outer);
  child.join();
  leaf.join();
  for (int const each : tree.ends) require(each == 1, "each task ends once");
  require(tree.outer.open.is_only_body(), "a scope that is given back is as new");
}

}  // namespace

Model const body_and_two_children{"a body and two children", &split_in_two};
Model const children_of_children{"a child submits another one", &split_child};
Model const child_on_thread_of_body{"a child runs above the body", &run_above_body};

Model const body_waits_for_child{"a body waits for its child", &wait_for_child};
Model const continuation_waits_for_child{"the rest of a body waits for its child", &wait_in_rest};
Model const scopes_of_scopes{"a child of a child", &go_up_scopes};

TEST(OpenChildrenModel, TheLastOneEndsTheTaskAfterAllOthers) {
  prove(body_and_two_children);
  prove(children_of_children);
  prove(child_on_thread_of_body);
}

TEST(OpenChildrenModel, AThreadThatWaitsComesAfterTheChildren) {
  prove(body_waits_for_child);
  prove(continuation_waits_for_child);
}

TEST(ScopeModel, TheLastOneGoesUpAndMayGiveScopesBack) {
  prove(scopes_of_scopes);
}

}  // namespace trellis::model
