// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_GATHERING_HPP
#define TRELLIS_IMPL_GATHERING_HPP

#include <condition_variable>

namespace trellis::Impl {

/// The queue of the threads that gather permits. Guarded by the mutex of Workers.
///
/// A task with `threads(n)` is WIDE when that is more than a worker has: while its body runs its
/// thread has the permits of so many workers, whose threads sleep, so that no more threads run than
/// were asked for. Whoever has taken the task from the policy gives its own permit back, and waits
/// here. The first in the queue takes all that it needs at once, whether they are there or not:
/// `m_spare` is negative then, and that is what makes others stop after their current tasks. When
/// it is not negative any more, the first one goes on.
///
/// INVARIANT (gathering). `m_spare`, the queue and the two counts `m_wide` and `m_gathering` change
/// under the mutex. Who waits here has no permit, but for the first one, which has all of its own
/// in advance. `m_spare` is negative as long as anybody waits: each addition to it that makes it
/// 0 or more serves the first one, under the same hold of the mutex, and then the next one takes.
/// So a body begins when the permits of all bodies under way and its own are no more than there
/// are, and between two tasks no worker looks at anything but `m_spare`, as it does anyway.
///
/// WHY NOBODY HANGS. As long as somebody waits here no task is begun but those in (c) and (d), so
/// the permits that others have come back: (a) a body ends, or waits for another task, and then its
/// thread has no permit while it sleeps; so it is when it waits for a task of another graph,
/// whatever its thread runs of that meanwhile; a wide one that has waited comes here once more, as
/// the last one; (b) a thread between two tasks sees that `m_spare` is negative, and sleeps; one in
/// `wait()` does so as well, though it has the right of way otherwise; (c) a body that waits keeps
/// one permit as long as it runs above itself what it waits for, which counts as that body; (d) the
/// main thread runs a task that is bound to it, one each time that it is woken, and sleeps again;
/// (e) what is lent to a thread that submits is taken back when the first one needs all permits,
/// and nothing is lent meanwhile. So by induction over the bodies under way `m_spare` comes up to
/// 0: the first one never waits for another one in the queue, nor for a task that has not begun.
/// What a body waits for in other ways than through Trellis nobody knows.
///
/// WHY NOBODY STARVES. Who has come first is first. While it waits nothing new begins, so a stream
/// of narrow tasks does not hold it up. Wide tasks are taken from the policy as all others are, and
/// hold up narrow ones for no longer than the policy does. Tasks that are bound to the main thread
/// run beside wide ones, as nobody else can run them: at any time when nobody gathers, else one
/// after each wide task. But the main thread in `wait()` may itself have taken a wide task from the
/// policy; then they wait until that one is over.
///
/// NO LOST WAKE-UP. A wide task gives its permits back as a thread that goes to sleep, see Workers:
/// adds them to `m_spare`, then asks `has_ready`. The main thread may sleep beside a task that is
/// bound to it, but only while somebody gathers: who serves the last one in the queue, or gives
/// the permits of a wide task back, wakes it, under the mutex under which it has gone to sleep.
class Gathering {
 public:
  struct Gatherer {
    explicit Gatherer(int needed) : permits(needed) {}
    int const permits;
    bool has_taken = false;
    bool is_served = false;
    std::condition_variable wakeup;
    Gatherer* next = nullptr;
  };

  /// Null: nobody gathers.
  [[nodiscard]] Gatherer* first() const { return m_first; }
  void push(Gatherer& gatherer) {
    (m_last != nullptr ? m_last->next : m_first) = &gatherer;
    m_last = &gatherer;
  }
  void pop() {
    m_first = m_first->next;
    if (m_first == nullptr) m_last = nullptr;
  }

 private:
  Gatherer* m_first = nullptr;
  Gatherer* m_last = nullptr;
};

}  // namespace trellis::Impl

#endif
