// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <threads/Trellis_ThreadSlot.hpp>

#include <functional>
#include <mutex>
#include <queue>
#include <string>
#include <vector>

namespace trellis::Impl {

namespace {

/// The slots are never destroyed, as threads may end after everything else.
struct ThreadSlots {
  std::mutex mutex;
  int made = 0;
  std::priority_queue<int, std::vector<int>, std::greater<>> free;

  static ThreadSlots& get() {
    static ThreadSlots* const instance = new ThreadSlots;
    return *instance;
  }
  int take() {
    std::lock_guard const lock(mutex);
    if (free.empty()) {
      if (made == most_thread_slots)
        throw Error(Error::Kind::bad_input, "Trellis: more than " +
                                                std::to_string(most_thread_slots) +
                                                " threads ask for a value of their own");
      return made++;
    }
    int const slot = free.top();
    free.pop();
    return slot;
  }
  void give_back(int slot) {
    std::lock_guard const lock(mutex);
    free.push(slot);
  }
};

/// Gives the slot of its thread back when the thread ends. Destructors of other objects of the
/// thread may run later and ask again; a slot that they get is not given back.
struct GivesBack {
  ~GivesBack() {
    ThreadSlots::get().give_back(t_thread_slot);
    t_thread_slot = -1;
    is_over = true;
  }
  void begin() {}  ///< a use, so that the object is made
  static constinit inline thread_local bool is_over = false;
};

}  // namespace

int take_thread_slot() {
  int const slot = ThreadSlots::get().take();
  t_thread_slot = slot;
  if (!GivesBack::is_over) {
    thread_local GivesBack gives_back;
    gives_back.begin();
  }
  return slot;
}

}  // namespace trellis::Impl
