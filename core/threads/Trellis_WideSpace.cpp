// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <threads/Trellis_WideSpace.hpp>

#include <cstdint>
#include <string>

namespace trellis::Impl {

std::string_view WideSpace::name() const {
  return m_of != nullptr ? m_of->name() : "host";
}
void* WideSpace::make_instance(int /*threads_of_worker*/) {
  return m_of != nullptr ? m_of->make_instance(m_threads) : nullptr;
}
void WideSpace::destroy_instance(void* instance) noexcept {
  if (m_of != nullptr) m_of->destroy_instance(instance);
}

WideSpaces::WideSpaces(TaskGraphOptions const& options) : m_options(options) {}

void WideSpaces::threads_changed() {
  int const workers = *m_options.workers;
  int const each = *m_options.threads_per_worker;
  std::lock_guard const lock(m_mutex);
  for (auto const& made : m_made) {
    int const permits = (made->m_threads - 1) / each + 1;
    made->m_permits = permits <= workers ? permits : 0;
  }
}

void WideSpaces::require_room(WideSpace const& space, Label const& task) const {
  if (space.permits() == 0) require_valid(space.m_of, space.threads(), task);
}

void WideSpaces::require_valid(SpaceAdapter const* space, int threads, Label const& task) const {
  auto const refuse = [&](std::string const& why) {
    throw Error(Error::Kind::bad_input, "Trellis: task " + task.text() + " asks for threads(" +
                                            std::to_string(threads) + "), but " + why);
  };
  if (space != nullptr && space->device() != nullptr)
    refuse("runs on " + std::string(space->name()) +
           ", a device; threads(n) is for tasks on the host");
  if (space != nullptr && !space->is_parallel() && threads != 1)
    refuse(std::string(space->name()) +
           " has one thread; for more the task needs a parallel host space, as OpenMP: build with "
           "a Kokkos that has it");
  int const workers = *m_options.workers;
  int const each = *m_options.threads_per_worker;
  std::int64_t const most = std::int64_t{workers} * each;
  if (threads >= 1 && threads <= most) return;
  refuse(m_options.name + " has " + std::to_string(workers) +
         (workers == 1 ? " worker of " : " workers of ") + std::to_string(each) +
         (each == 1 ? " thread" : " threads") + ", so a task may have 1 to " +
         std::to_string(most) +
         ": set TaskGraphOptions::workers or threads_per_worker (TRELLIS_WORKERS, "
         "TRELLIS_THREADS_PER_WORKER)");
}

SpaceAdapter* WideSpaces::find(SpaceAdapter* space, int threads, Label const& task) {
  require_valid(space, threads, task);
  int const each = *m_options.threads_per_worker;
  bool const has_pools = space != nullptr && space->is_parallel();
  // Of a host task only the permits count.
  if (threads == each || (!has_pools && threads < each)) return space;
  std::lock_guard const lock(m_mutex);
  for (auto const& made : m_made)
    if (made->of() == space && made->threads() == threads) return made.get();
  int const permits = (threads - 1) / each + 1;
  return m_made.emplace_back(std::make_unique<WideSpace>(space, threads, permits)).get();
}

}  // namespace trellis::Impl
