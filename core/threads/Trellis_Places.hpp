// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PLACES_HPP
#define TRELLIS_IMPL_PLACES_HPP

#include <memory>
#include <string>
#include <string_view>

namespace trellis::Impl {

/// Returns the number of cores that the process may use: those of the main thread at the start of
/// the program. Later the OpenMP runtime may have bound that thread to one of them.
[[nodiscard]] int cores_of_process();
/// For tests: graphs that are made from here on believe that there are `cores` cores. 0 restores
/// the real number.
void pretend_cores(int cores);

/// Where the threads of a graph run, as `TRELLIS_BIND` asks for. The main thread has the first
/// place. Workers have the next ones, and start over when there are no more. A main thread that
/// submits or waits counts as a worker, so that as many threads run at a time as there are workers.
/// A worker that would share the main thread's place may run on any place. Guests are not bound:
/// they are threads of the user's that only wait here. (A thread that a bound one makes inherits
/// its mask, as always.)
///
/// Nothing is bound by default. Where every thread can have a core of its own, the operating
/// system's kernel finds that out itself. Otherwise (two graphs, several ranks on a node without
/// masks, another program) a bound thread would wait for its core while another core is idle. A
/// launcher's mask is kept, as places are made of what the process may use. OpenMP's own binding
/// (`OMP_PROC_BIND`) moves the threads of its pools within a parallel region. A pool of one thread
/// stays on the worker's place.
class Places {
 public:
  /// `request`: "none", "core", or a list of processors such as "0,2-5". Throws `Error`
  /// when it is none of these, cannot be satisfied, or names processors that the process may not
  /// use. `graph`: its name, for messages.
  Places(std::string_view request, int threads_per_worker, std::string const& graph);
  Places(Places const&) = delete;
  Places& operator=(Places const&) = delete;
  ~Places();

  /// True if threads can be bound at all, which takes hwloc.
  [[nodiscard]] static bool can_bind();

  /// Called on the main thread when its graph is made, as `release_main` is when the graph ends.
  /// When the last graph that has bound the thread ends on it, the thread runs where it ran before
  /// the first one.
  void bind_main();
  /// Called on the main thread while no worker's thread is there. From now on workers have so many
  /// threads. Throws `Error`, and changes nothing, when there are no places for that.
  void set_threads_per_worker(int threads_per_worker);
  void release_main() noexcept;
  /// Called on a worker. `number` counts from 0.
  void bind_worker(int number) const noexcept;
  /// While this object exists with `is_on`, the calling thread may run on the places of all threads
  /// of the graph. So may the threads that it makes, such as the pool of a task that has more
  /// threads than a worker. It has no effect where nothing is bound.
  class Spread {
   public:
    Spread(Places const& places, bool is_on) noexcept;
    Spread(Spread const&) = delete;
    Spread& operator=(Spread const&) = delete;
    ~Spread();

   private:
    void* m_before = nullptr;  ///< where it ran
  };

 private:
  struct Sets;
  std::unique_ptr<Sets> m_sets;  ///< null: nothing is bound
};

}  // namespace trellis::Impl

#endif
