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

int WideSpaces::count(AskedThreads asked) const {
  std::int64_t const all = std::int64_t{*m_options.workers} * *m_options.threads_per_worker;
  return asked.is_most && asked.count > all ? static_cast<int>(all) : asked.count;
}

void WideSpaces::size(WideSpace& space) const {
  space.m_threads = count(space.m_asked);
  int const permits = (space.m_threads - 1) / *m_options.threads_per_worker + 1;
  space.m_permits = permits <= *m_options.workers ? permits : 0;
}

void WideSpaces::threads_changed() {
  std::lock_guard const lock(m_mutex);
  for (auto const& made : m_made) size(*made);
}

void WideSpaces::require_room(WideSpace const& space, Label const& task) const {
  if (space.permits() == 0) require_valid(space.m_of, space.m_asked, task);
}

void WideSpaces::require_valid(SpaceAdapter const* space, AskedThreads asked,
                               Label const& task) const {
  auto const refuse = [&](std::string const& why) {
    std::string const n = std::to_string(asked.count);
    throw Error(Error::Kind::bad_input, "Trellis: task " + task.text() + " asks for threads(" +
                                            (asked.is_most ? "at_most(" + n + ")" : n) + "), but " +
                                            why);
  };
  if (asked.is_most) {
    if (asked.count < 1) refuse("it is to have one at least");
    return;
  }
  if (space != nullptr && space->device() != nullptr)
    refuse("runs on " + std::string(space->name()) +
           ", a device; threads(n) is for tasks on the host");
  if (space != nullptr && !space->is_parallel() && asked.count != 1)
    refuse(std::string(space->name()) +
           " has one thread; for more the task needs a parallel host space, as OpenMP: build with "
           "a Kokkos that has it");
  int const workers = *m_options.workers;
  int const each = *m_options.threads_per_worker;
  std::int64_t const most = std::int64_t{workers} * each;
  if (asked.count >= 1 && asked.count <= most) return;
  refuse(m_options.name + " has " + std::to_string(workers) +
         (workers == 1 ? " worker of " : " workers of ") + std::to_string(each) +
         (each == 1 ? " thread" : " threads") + ", so a task may have 1 to " +
         std::to_string(most) +
         ": set TaskGraphOptions::workers or threads_per_worker (TRELLIS_WORKERS, "
         "TRELLIS_THREADS_PER_WORKER), or say threads(at_most(" +
         std::to_string(asked.count) + "))");
}

SpaceAdapter* WideSpaces::find(SpaceAdapter* space, AskedThreads asked, Label const& task) {
  require_valid(space, asked, task);
  bool const has_pools = space != nullptr && space->is_parallel();
  if (asked.is_most) {
    if (space != nullptr && !has_pools) return space;  // a device, or one thread in any case
  } else {
    int const each = *m_options.threads_per_worker;
    // For a host task without a pool only the number of permits matters.
    if (asked.count == each || (!has_pools && asked.count < each)) return space;
  }
  std::lock_guard const lock(m_mutex);
  for (auto const& made : m_made)
    if (made->of() == space && made->m_asked == asked) return made.get();
  auto const& made = m_made.emplace_back(std::make_unique<WideSpace>(space, asked));
  size(*made);
  return made.get();
}

}  // namespace trellis::Impl
