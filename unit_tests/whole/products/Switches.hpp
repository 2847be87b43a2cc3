// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_PRODUCTS_SWITCHES_HPP
#define TRELLIS_TEST_PRODUCTS_SWITCHES_HPP

/// Combinations that random programs leave out where they are `false`, and why.
namespace products::Switches {

/// Threads that wait or ask while the graph is destroyed.
inline constexpr bool futures_at_destruction = true;
/// Threads that ask for recorded tasks while another one drops their plan.
inline constexpr bool futures_of_dropped_plans = true;
/// Destructors of functors that wait for a task.
inline constexpr bool destructors_wait = true;
/// The same of functors of device tasks: the thread that completes several tasks of a device
/// destroys the functor of one before it completes the next, which the destructor may wait for.
inline constexpr bool device_destructors_wait = true;
/// Destructors of functors that submit a task.
inline constexpr bool destructors_submit = true;
/// The same of results.
inline constexpr bool results_submit = true;
/// The same of tags and states.
inline constexpr bool shared_objects_submit = true;
/// The same where a graph has a small cap.
inline constexpr bool shared_objects_submit_at_the_cap = true;
/// Destructors that submit, in programs that record or loop.
inline constexpr bool destructors_submit_beside_recordings = true;
/// Bodies of loops that wait in ways other than those that stand in the guide.
inline constexpr bool loops_wait = true;
/// Gates with more tasks behind them than a quarter of the cap.
inline constexpr bool gates = true;
/// Launches that throw when they have launched.
inline constexpr bool launched_and_threw = true;
/// Devices that fail.
inline constexpr bool device_failures = true;
/// Tasks on several streams with host tasks that reuse their cells.
inline constexpr bool devices = true;
/// Tasks bound to the main thread where there are two graphs. Off: while the main thread waits for
/// one graph it does not run what is bound to it in the other, so a task of the first that waits
/// for such a one closes a circle.
inline constexpr bool main_thread_in_two_graphs = false;

}  // namespace products::Switches

#endif
