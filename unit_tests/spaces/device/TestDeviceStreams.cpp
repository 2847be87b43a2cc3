// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The adapter of a device by itself, as the engine uses it: streams, events, graphs.
// Skipped on host spaces, which have none.
#include "DeviceTest.hpp"

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace trellis {
namespace {

/// The space of an instance as a body sees it.
Space const& space_of(void* instance) {
  return *static_cast<Space const*>(instance);
}

bool passes(Impl::DeviceAdapter& adapter, void* event) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!adapter.has_passed(event)) {
    if (std::chrono::steady_clock::now() > end) return false;
    adapter.host_is_idle();
    std::this_thread::yield();
  }
  return true;
}

bool all_done(Impl::DeviceAdapter& adapter, void* instance) {
  void* const event = adapter.record_event(instance, false);
  bool const done = passes(adapter, event);
  adapter.release_event(event);
  return done;
}

/// Two instances of a device, used once, so that Kokkos has all it needs.
struct Streams {
  Impl::DeviceAdapter* const adapter = Impl::space_adapter<Space>().device();
  void* a = nullptr;
  void* b = nullptr;
  V x{"x", 100};
  V y{"y", 100};

  Streams() {
    if (adapter == nullptr) return;
    a = adapter->make_instance(1);
    b = adapter->make_instance(1);
    launch_slow(a, 0);
    launch_add(b);
    all_done(*adapter, a);
    all_done(*adapter, b);
  }
  ~Streams() {
    if (a != nullptr) adapter->destroy_instance(a);
    if (b != nullptr) adapter->destroy_instance(b);
  }
  void launch_slow(void* instance, double value) const {
    Kokkos::parallel_for(Range(space_of(instance), 0, 100), Slow{x, value});
  }
  void launch_add(void* instance) const {
    Kokkos::parallel_for(Range(space_of(instance), 0, 100), AddTo{x, y});
  }
};

#define TRELLIS_NEEDS_STREAMS(streams) \
  if ((streams).a == nullptr) GTEST_SKIP() << "a host space has no streams"

SPACE_TEST(Adapter, KnowsWhetherItIsAsynchronous) {
  Impl::SpaceAdapter const& adapter = Impl::space_adapter<Space>();
  EXPECT_EQ(adapter.name(), Space::name());
  EXPECT_EQ(adapter.device() != nullptr, on_device);
  EXPECT_EQ(Impl::has_result_space<Space>, on_device);
}

SPACE_TEST(Adapter, AStreamWaitsForAnEventOfAnother) {
  Streams const s;
  TRELLIS_NEEDS_STREAMS(s);
  EXPECT_TRUE(s.adapter->can_wait_for(*s.adapter));
  EXPECT_FALSE(s.adapter->same_queue(s.a, s.b));
  for (int round = 1; round <= 5; ++round) {
    s.launch_slow(s.a, round);
    void* const event = s.adapter->record_event(s.a, false);
    s.adapter->enqueue_wait(s.b, event);
    s.adapter->release_event(event);  // the wait is on its way
    s.launch_add(s.b);
    EXPECT_TRUE(all_done(*s.adapter, s.b));
  }
  EXPECT_EQ(values_of(s.y), std::vector<double>(100, 15));
}

SPACE_TEST(Adapter, TimedEventsTellHowLongItTook) {
  Streams const s;
  TRELLIS_NEEDS_STREAMS(s);
  void* const begin = s.adapter->record_event(s.a, true);
  s.launch_slow(s.a, 1);
  void* const end = s.adapter->record_event(s.a, true);
  EXPECT_TRUE(passes(*s.adapter, end));
  EXPECT_TRUE(s.adapter->has_passed(begin));
  EXPECT_GT(s.adapter->nanoseconds_between(begin, end), 0);
  s.adapter->release_event(begin);
  s.adapter->release_event(end);
}

SPACE_TEST(Adapter, AUsersInstanceIsTheSameQueue) {
  Streams const s;
  TRELLIS_NEEDS_STREAMS(s);
  Space const theirs = Kokkos::Experimental::partition_space(Space(), 1).at(0);
  void* const copy = s.adapter->copy_instance(&theirs);
  if (copy == nullptr) GTEST_SKIP() << "this space has no instances of the user's";
  EXPECT_TRUE(s.adapter->same_queue(copy, &theirs));
  EXPECT_FALSE(s.adapter->same_queue(copy, s.a));
  s.launch_slow(copy, 3);
  EXPECT_TRUE(all_done(*s.adapter, copy));
  s.adapter->destroy_instance(copy);
  Kokkos::parallel_for(Range(theirs, 0, 100), AddTo{s.x, s.y});  // it is still there
  theirs.fence();
  EXPECT_EQ(values_of(s.y), std::vector<double>(100, 3));
}

SPACE_TEST(Adapter, AGraphIsDoneWhenItIsLaunchedAndAsOftenAndIsUpdated) {
  Streams const s;
  TRELLIS_NEEDS_STREAMS(s);
  auto const capture = [&](double value, void* old) {
    if (!s.adapter->begin_capture(s.a)) return static_cast<void*>(nullptr);
    s.launch_slow(s.a, value);
    void* const fork = s.adapter->record_event(s.a, false);
    s.adapter->enqueue_wait(s.b, fork);
    s.launch_add(s.b);
    void* const join = s.adapter->record_event(s.b, false);
    s.adapter->enqueue_wait(s.a, join);
    s.adapter->release_event(fork);
    s.adapter->release_event(join);
    return s.adapter->end_capture(s.a, old);
  };
  void* graph = capture(2, nullptr);
  if (graph == nullptr) GTEST_SKIP() << "this device has no graphs";
  EXPECT_TRUE(all_done(*s.adapter, s.a));
  EXPECT_EQ(values_of(s.y), std::vector<double>(100, 0)) << "nothing has run";
  s.adapter->launch_graph(s.a, graph);
  s.adapter->launch_graph(s.a, graph);
  EXPECT_TRUE(all_done(*s.adapter, s.a));
  EXPECT_EQ(values_of(s.y), std::vector<double>(100, 4));
  graph = capture(10, graph);
  s.adapter->launch_graph(s.b, graph);
  EXPECT_TRUE(all_done(*s.adapter, s.b));
  EXPECT_EQ(values_of(s.y), std::vector<double>(100, 14));
  s.adapter->release_graph(graph);
}

// The engine honours an instance that the user gives; whatever the user has launched on it is in
// order too. No access says so.
SPACE_TEST(UsersInstance, IsWhereTheTaskRuns) {
  V x("x", 100), y("y", 100), launched("launched", 100), seen("seen", 100);
  Kokkos::fence();  // the Views are there on any stream
  Space const theirs = Kokkos::Experimental::partition_space(Space(), 1).at(0);
  TaskGraph graph(with_workers(2));
  for (int round = 1; round <= 5; ++round) {
    Kokkos::parallel_for(Range(theirs, 0, 100), Slow{launched, 1.0 * round});
    parallel_for("sees it", ResourcePolicy(graph, Range(theirs, 0, 100), read_write(seen)),
                 AddTo{launched, seen});
    graph.wait();
    ASSERT_EQ(values_of(seen), std::vector<double>(100, round * (round + 1) / 2));
  }
  parallel_for("mine", ResourcePolicy(graph, Range(theirs, 0, 100), write(x)), Slow{x, 2});
  parallel_for("anywhere", ResourcePolicy(graph, Range(0, 100), read(x), read_write(y)),
               AddTo{x, y});
  parallel_for("mine again", ResourcePolicy(graph, Range(theirs, 0, 100), read(y), read_write(x)),
               AddTo{y, x});
  graph.wait();
  EXPECT_EQ(values_of(x), std::vector<double>(100, 4));
}

}  // namespace
}  // namespace trellis
