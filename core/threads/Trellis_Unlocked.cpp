// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <plan/Trellis_PlanRecording.hpp>
#include <threads/Trellis_Unlocked.hpp>

#include <utility>
#include <vector>

namespace trellis::Impl {

namespace {

struct PutAside {
  void* object;
  void (*destroy)(void* object) noexcept;
};
thread_local std::vector<PutAside> t_put_aside;

}  // namespace

void destroy_unlocked(void* object, void (*destroy)(void* object) noexcept) noexcept {
  if (t_quiet_locks == 0) return destroy(object);
  t_put_aside.push_back({object, destroy});
  t_any_put_aside = true;
}

/// A destructor may put aside others, by taking and giving up a lock itself: those are destroyed
/// then.
void destroy_put_aside() noexcept {
  t_any_put_aside = false;
  NotRecording const others;
  std::vector<PutAside> const objects = std::exchange(t_put_aside, {});
  for (PutAside const& each : objects) each.destroy(each.object);
}

void Submitting::refuse() {
  throw Error(Error::Kind::deadlock,
              "Trellis: a functor's copy or move constructor, a comparison of tags or states, or a "
              "rule uses the "
              "graph to which a task is just being submitted, and would wait for itself");
}

}  // namespace trellis::Impl
