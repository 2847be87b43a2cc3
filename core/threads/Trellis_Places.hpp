// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_PLACES_HPP
#define TRELLIS_IMPL_PLACES_HPP

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace trellis::Impl {

/// Cores that the process may use: those that the main thread had at the start of the program.
/// Later the OpenMP runtime may have bound that thread to one of them.
[[nodiscard]] int cores_of_process();
/// For tests: graphs that are made from here on believe that there are so many; 0: as many as there
/// are.
void pretend_cores(int cores);

/// Where the threads of a graph run, as `TRELLIS_BIND` asks for. The main thread has the first
/// place, workers have the next ones, and begin again when there are no more. A main thread that
/// submits or waits counts as a worker, so that as many threads run at a time as there are workers.
/// One worker of them would share the main thread's place: it may run on any. Guests are not bound:
/// they are threads of the user's that only wait here. (A thread that a bound one makes has that
/// one's mask, as always.)
///
/// Nothing is bound by default. Where every thread has a core of its own the kernel finds that out
/// itself; where it has not (two graphs, several ranks on a node without masks, another program) a
/// bound thread waits for its core while another core is idle. A launcher's mask is kept, as places
/// are made of what the process may use. OpenMP's own binding (`OMP_PROC_BIND`) moves the threads
/// of its pools within a parallel region; a pool of one thread stays on the worker's place.
///
/// STEPPING ASIDE ("auto", the default). The kernel wakes a thread where it last ran, or near who
/// wakes it, and leaves two threads that sleep and wake often on one core for seconds while
/// another is idle. So a thread that was woken for tasks twice in a row, and found itself on the
/// processor of who woke it both times, moves to one where no thread of the graph is known to be:
/// for a moment its mask is these processors, and then what it was before. So it is bound to
/// nothing, and a mask that somebody has given it is kept. Where there are more threads than cores,
/// or workers have several threads, it stays.
///
/// On a virtual machine that is too late, and of no use for the next time: there the kernel takes a
/// processor that sleeps for one that the host has taken away, so it wakes the thread on the
/// processor of who wakes it, where it waits until that one sleeps. So for some times from then on
/// a worker sleeps with a mask without the processor of who woke it last. (It sets that itself, as
/// it has time: who wakes it would need as long for that as for waking it.)
class Places {
 public:
  /// `wish`: "none", "auto", "core", or a list of processors such as "0,2-5".
  /// Throws `Error` when that is none of these, cannot be had, or is outside of what the process
  /// may use. `graph`: its name, for messages.
  Places(std::string_view wish, int threads_per_worker, std::string const& graph);
  Places(Places const&) = delete;
  Places& operator=(Places const&) = delete;
  ~Places();

  /// Could there be places at all? Not without hwloc.
  [[nodiscard]] static bool can_bind();

  /// On the main thread, when its graph is made and when it ends. When the last graph that has
  /// bound the thread ends, on this thread, it runs where it ran before the first one.
  void bind_main();
  /// On the main thread, while no worker's thread is there: workers have so many threads from now
  /// on. Throws `Error` when there are no places for that; then nothing has changed.
  void set_threads_per_worker(int threads_per_worker);
  void release_main() noexcept;
  /// On a worker. `number`: from 0.
  void bind_worker(int number) const noexcept;
  /// The processor that the calling thread runs on, as far as that is known; else -1.
  [[nodiscard]] static int processor_here() noexcept;
  /// Does it make sense, with so many threads that run at a time?
  [[nodiscard]] bool steps_aside(int threads) const noexcept {
    return m_is_auto && threads > 1 && threads <= cores_of_process();
  }
  /// Has each of so many threads a core?
  [[nodiscard]] static bool has_core_for_each(int threads) { return threads <= cores_of_process(); }
  /// The calling thread moves to a processor that is none of `taken`, and that it may use; its mask
  /// is what it was before. False: there is none, and it stays.
  static bool step_aside(std::span<int const> taken) noexcept;
  /// As long as one is there the calling thread does not run on this processor, unless it may run
  /// nowhere else; -1: it makes no difference.
  class KeptOff {
   public:
    explicit KeptOff(int processor) noexcept;
    KeptOff(KeptOff const&) = delete;
    KeptOff& operator=(KeptOff const&) = delete;
    ~KeptOff();

   private:
    struct Mask {
      unsigned long words[1024 / (8 * sizeof(unsigned long))];
    };
    int m_processor = -1;
    Mask m_before;  ///< where it ran, as the kernel has it
  };
  /// As long as one is there that `is_on`, the calling thread may run on the places of all threads
  /// of the graph, and so may those that it makes: the pool of a task that has more threads than a
  /// worker. It makes no difference where nothing is bound.
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
  bool const m_is_auto;
};

}  // namespace trellis::Impl

#endif
