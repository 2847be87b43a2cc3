// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_GATHERING_HPP
#define TRELLIS_IMPL_GATHERING_HPP

#include <condition_variable>

namespace trellis::Impl {

/// A thread that gathers permits, in a queue of Workers. The mutex of Workers guards both.
///
/// A task with `threads(n)` is WIDE when n is more than a worker has. While its body runs, its
/// thread has the permits of several workers, whose threads sleep. So no more threads run than were
/// asked for. The thread that has taken the task from the policy gives its own permit back and
/// waits here. The first in the queue takes all that it needs at once, whether they are there or
/// not. Then `m_spare` is negative, which makes other threads stop after their current tasks. When
/// it is not negative any more, the first one goes on.
///
/// INVARIANT (gathering). `m_spare`, the queue and the two counts `m_wide` and `m_gathering` change
/// under the mutex. A thread that waits here has no permit, except the first, which has taken all
/// of its permits in advance. `m_spare` is negative as long as a thread waits. Each addition that
/// makes it 0 or more serves the first one under the same hold of the mutex, and then the next one
/// takes. So a body begins when its permits and those of all bodies under way are no more than
/// there are. Between two tasks a worker looks only at `m_spare`, as it does anyway.
///
/// PROGRESS. While a thread waits here, no task begins except those in (c) and (d). So the permits
/// of other threads come back:
/// - (a) A body ends, or waits for another task; while it waits, its thread sleeps without a
///   permit. So it does while it waits for a task of another graph, whatever it runs of that graph.
///   A wide body that has waited joins the queue here again, as the last one.
/// - (b) A thread between two tasks sees that `m_spare` is negative, and sleeps. So does a thread
///   in `wait()`, though it has the right of way otherwise.
/// - (c) A body that waits keeps one permit while its thread runs what it waits for above it. These
///   tasks count as that body.
/// - (d) The main thread runs a task that is bound to it, one each time that it is woken, and
///   sleeps again.
/// - (e) A permit that is lent to a thread that submits is taken back when the first one needs all
///   permits, and none is lent meanwhile.
///
/// So by induction over the bodies under way `m_spare` comes up to 0: the first one never waits for
/// another one in the queue, nor for a task that has not begun. (Trellis cannot know what a body
/// waits for in other ways.)
///
/// FAIRNESS. Threads are served in the order in which they came. While the first one waits, nothing
/// new begins, so a stream of narrow tasks does not hold it up. Wide tasks are taken from the
/// policy as all others are, and hold up narrow ones for no longer than the policy does. Tasks that
/// are bound to the main thread run beside wide ones, as no other thread can run them. They run at
/// any time while no thread gathers, and else one after each wide task. But the main thread in
/// `wait()` may itself have taken a wide task from the policy; then they wait until that one is
/// over.
///
/// NO LOST WAKE-UP. A wide task gives its permits back as a thread does that goes to sleep, see
/// Workers: it adds them to `m_spare`, then asks `has_ready`. The main thread may sleep beside a
/// task that is bound to it, but only while some thread gathers. It is woken by the thread that
/// serves the last one in the queue, or gives the permits of a wide task back. That happens under
/// the mutex under which it has gone to sleep.
struct Gatherer {
  int const permits;  ///< that it needs
  bool has_taken = false;
  bool is_served = false;
  std::condition_variable wakeup{};
};

}  // namespace trellis::Impl

#endif
