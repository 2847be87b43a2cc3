// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <engine/Trellis_Engine.hpp>
#include <kernel/Trellis_Frame.hpp>
#include <locks/Trellis_PlanRecording.hpp>
#include <base/Trellis_ProgressSource.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

/// Changes the numbers of threads of an idle graph.
namespace trellis::Impl {

/// Returns the number of workers for which there are slots. It does not change: policies, indices
/// of workers and the rows of traces are made for it.
int Engine::most_workers(TaskGraphOptions const& options) {
  std::int64_t const all = std::int64_t{*options.workers} * *options.threads_per_worker;
  std::int64_t const wanted = std::max<std::int64_t>(all, cores_of_process());
  return static_cast<int>(
      std::clamp<std::int64_t>(wanted, *options.workers, Workers::most_permits));
}

void Engine::refuse_threads(int workers, int threads_per_worker, std::string const& why) const {
  throw Error(Error::Kind::bad_input,
              "Trellis: " + m_options.name + " cannot be given " + std::to_string(workers) +
                  (workers == 1 ? " worker of " : " workers of ") +
                  std::to_string(threads_per_worker) +
                  (threads_per_worker == 1 ? " thread" : " threads") + ": " + why);
}

void Engine::require_idle(int workers, int threads_per_worker) const {
  auto const refuse = [&](std::string const& why) {
    refuse_threads(workers, threads_per_worker, why);
  };
  if (Frame::of(*this) != nullptr || m_workers.slot(0).in_use.load(std::memory_order_acquire))
    refuse("the call comes from inside one of its tasks, or of a wait for them");
  if (ProgressSource::is_calling()) refuse("the call comes from a progress function");
  if (!m_workers.on_main_thread()) refuse("only the thread that has made the graph may ask for it");
  if (PlanRecording::of(*this) != nullptr)
    refuse("this thread is recording a plan, or an iteration of a loop");
  if (std::uint64_t const open = in_flight(); open != 0)
    refuse(std::to_string(open) + (open == 1 ? " task is" : " tasks are") +
           " in flight; wait for the graph first");
}

void Engine::set_threads(int workers, int threads_per_worker) {
  if (workers < 1 || threads_per_worker < 1)
    refuse_threads(workers, threads_per_worker, "it needs one of each at least");
  if (workers > m_workers.most_workers())
    refuse_threads(workers, threads_per_worker,
                   "it has room for " + std::to_string(m_workers.most_workers()) +
                       " workers; make it with more threads");
  require_idle(workers, threads_per_worker);
  if (workers == *m_options.workers && threads_per_worker == *m_options.threads_per_worker) return;
  // Functors that are still kept may submit tasks in their destructors.
  m_features.destructors.drain();
  m_workers.set_threads(workers, threads_per_worker);
  m_options.workers = workers;
  m_options.threads_per_worker = threads_per_worker;
  m_wide_spaces.threads_changed();
  if (has_ready(Workers::no_slot())) m_workers.ready_added();
}

}  // namespace trellis::Impl
