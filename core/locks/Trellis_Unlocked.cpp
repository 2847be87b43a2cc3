// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <locks/Trellis_PlanRecording.hpp>
#include <locks/Trellis_Unlocked.hpp>
#include <base/Trellis_Reserve.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace trellis::Impl {

namespace {

struct DeferredObject {
  void* object;
  void (*destroy)(void* object) noexcept;
};
thread_local Vector<DeferredObject> t_deferred_objects;

/// The objects that a call of `destroy_deferred_objects` has taken and not destroyed yet.
struct Batch {
  DeferredObject* next;
  DeferredObject* end;
  Batch* outer;
};
thread_local Batch* t_batch = nullptr;

/// Calls `f` for each entry of this mark that the thread has not passed.
template <class F>
void for_each_mark(void const* mark, F&& f) {
  auto const look = [&](DeferredObject& each) {
    if (each.object == mark) f(each);
  };
  std::for_each(t_deferred_objects.begin(), t_deferred_objects.end(), look);
  for (Batch* batch = t_batch; batch != nullptr; batch = batch->outer)
    std::for_each(batch->next, batch->end, look);
}

}  // namespace

void destroy_unlocked(void* object, void (*destroy)(void* object) noexcept) noexcept {
  if (t_deferring_locks == 0) return destroy(object);
  t_deferred_objects.push_back({object, destroy});
  t_any_deferred_objects = true;
}

/// A destructor may take a lock itself and so defer others. They are destroyed when it gives up
/// that lock.
void destroy_deferred_objects() noexcept {
  t_any_deferred_objects = false;
  NotRecording const others;
  Vector<DeferredObject> objects = std::exchange(t_deferred_objects, {});
  Batch batch{objects.data(), objects.data() + objects.size(), t_batch};
  t_batch = &batch;
  while (batch.next != batch.end) {
    DeferredObject const& each = *batch.next++;
    each.destroy(each.object);
  }
  t_batch = batch.outer;
}

bool mark_deferred_objects(void* mark, void (*passed)(void* mark) noexcept) noexcept {
  if (t_deferred_objects.back().object == mark) return false;
  t_deferred_objects.push_back({mark, passed});
  return true;
}

int marks_deferred_objects(void const* mark) noexcept {
  int count = 0;
  for_each_mark(mark, [&](DeferredObject&) { ++count; });
  return count;
}

void forget_marks_of_deferred(void const* mark) noexcept {
  for_each_mark(mark, [](DeferredObject& each) { each.destroy = [](void*) noexcept {}; });
}

void Submitting::refuse() {
  throw Error(Error::Kind::deadlock,
              "Trellis: a functor's copy or move constructor, a comparison of tags or states, or a "
              "rule uses the "
              "graph to which a task is just being submitted, and would wait for itself");
}

}  // namespace trellis::Impl
