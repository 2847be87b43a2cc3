// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The spin lock.
//
// - No two threads hold it at a time.
// - A thread that gets it happens after all that held it before.
// - A thread that waits for it gets it.
//
// In all other models a thread that waits for a spin lock does not spin, see Bounds.
#include "Prove.hpp"

#include <base/Trellis_SpinLock.hpp>

#include <thread>

namespace trellis::model {
namespace {

using Impl::SpinLock;

constexpr Bounds all{.spins = true};

void lock_twice() {
  SpinLock lock;
  int count = 0;
  auto const add_two = [&] {
    for (int k = 0; k < 2; ++k) {
      lock.lock();
      ++count;
      lock.unlock();
    }
  };
  std::thread other(add_two);
  add_two();
  other.join();
  require(count == 4, "a thread has not seen what another one wrote under the lock");
}

void three_lock() {
  SpinLock lock;
  int count = 0;
  auto const add = [&] {
    lock.lock();
    ++count;
    lock.unlock();
  };
  std::thread first(add);
  std::thread second(add);
  add();
  first.join();
  second.join();
  require(count == 3, "a thread has not seen what another one wrote under the lock");
}

void try_to_lock() {
  SpinLock lock;
  int count = 0;
  std::thread other([&] {
    if (!lock.try_lock()) return;
    ++count;
    lock.unlock();
  });
  lock.lock();
  int const before = count++;
  lock.unlock();
  other.join();
  require(count == before + 1 || count == before + 2, "the count is wrong");
  outcome(static_cast<std::uint64_t>(count));
}

}  // namespace

Model const two_threads_lock_twice{"two threads lock twice", &lock_twice, all};
Model const three_threads_lock{"three threads lock", &three_lock, all};
Model const one_thread_tries{"one thread tries to lock", &try_to_lock, all};

TEST(SpinLockModel, OneThreadAtATimeSeesWhatTheOnesBeforeDid) {
  prove(two_threads_lock_twice);
  prove(three_threads_lock);
}

TEST(SpinLockModel, AThreadThatTriesHasTheLockOrNot) {
  prove(one_thread_tries);
  EXPECT_EQ(explore(one_thread_tries.program, one_thread_tries.bounds).outcomes,
            (std::set<std::uint64_t>{1, 2}));
}

}  // namespace trellis::model
