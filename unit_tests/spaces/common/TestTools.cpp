// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What Kokkos Tools sees of a task graph: each kernel under its task's label, on a worker's
// instance, and no fence that stops everybody.
#include <Trellis.hpp>

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace trellis {
namespace {

using testing::HasSubstr;
namespace Tools = Kokkos::Tools::Experimental;

struct Event {
  std::string kind;
  std::string name;
  std::uint32_t device;
  std::thread::id thread;
};

/// Records what Kokkos tells its tools while it lives.
class Listener {
 public:
  Listener() {
    events().clear();
    Tools::set_begin_parallel_for_callback(
        [](char const* name, std::uint32_t device, std::uint64_t*) { add("for", name, device); });
    Tools::set_begin_parallel_reduce_callback([](char const* name, std::uint32_t device,
                                                 std::uint64_t*) { add("reduce", name, device); });
    Tools::set_begin_parallel_scan_callback(
        [](char const* name, std::uint32_t device, std::uint64_t*) { add("scan", name, device); });
    Tools::set_begin_fence_callback(
        [](char const* name, std::uint32_t device, std::uint64_t*) { add("fence", name, device); });
    Tools::set_begin_deep_copy_callback(
        [](Kokkos::Profiling::SpaceHandle, char const* to, void const*,
           Kokkos::Profiling::SpaceHandle, char const* from, void const*,
           std::uint64_t) { add("deep_copy", std::string(to) + '<' + from, 0); });
    Tools::set_push_region_callback([](char const* name) { add("region", name, 0); });
  }
  ~Listener() { Tools::set_callbacks(m_before); }
  Listener(Listener const&) = delete;
  Listener& operator=(Listener const&) = delete;

  [[nodiscard]] std::vector<Event> all() const {
    std::lock_guard const lock(mutex());
    return events();
  }
  [[nodiscard]] std::vector<std::string> names(std::string const& kind) const {
    std::vector<std::string> found;
    for (Event const& event : all())
      if (event.kind == kind) found.push_back(event.name);
    return found;
  }

 private:
  Tools::EventSet const m_before = Tools::get_callbacks();
  static std::vector<Event>& events() {
    static std::vector<Event> instance;
    return instance;
  }
  static std::mutex& mutex() {
    static std::mutex instance;
    return instance;
  }
  static void add(char const* kind, std::string name, std::uint32_t device) {
    std::lock_guard const lock(mutex());
    events().push_back({kind, std::move(name), device, std::this_thread::get_id()});
  }
};

/// Does an event with this number stop every instance of a space, or the whole device? (The
/// instances of a host space all have one number, so that a task ran on an instance of its own is
/// tested elsewhere.)
bool is_global(std::uint32_t device) {
  auto const instance = Tools::identifier_from_devid(device).instance_id;
  auto const number = [](Tools::SpecialSynchronizationCases reason) {
    return Tools::identifier_from_devid(Tools::int_for_synchronization_reason(reason)).instance_id;
  };
  return instance == number(Tools::GlobalDeviceSynchronization) ||
         instance == number(Tools::DeepCopyResourceSynchronization);
}

TaskGraphOptions two_workers() {
  TaskGraphOptions options;
  options.workers = 2;
  return options;
}

using V = Kokkos::View<double*>;

TEST(Tools, SeeEachKernelUnderItsTasksLabel) {
  V x("x", 100);
  Kokkos::View<double> sum("sum");
  using Team = Kokkos::TeamPolicy<>;
  Listener const listener;
  {
    TaskGraph graph(two_workers());
    parallel_for(
        "task A", ResourcePolicy(graph, 100, write(x)), KOKKOS_LAMBDA(int i) { x(i) = i; });
    parallel_for(
        "task B", ResourcePolicy(graph, 100, read_write(x)),
        KOKKOS_LAMBDA(int i, V v) { v(i) += 1; });
    parallel_for(
        std::string("task ") + 'C',
        ResourcePolicy(graph, Kokkos::RangePolicy<>(0, 10), read_write(x)),
        KOKKOS_LAMBDA(int i) { x(i) += 1; });
    parallel_for(
        "task D",
        ResourcePolicy(graph, Kokkos::MDRangePolicy<Kokkos::Rank<2>>({0, 0}, {2, 2}), read(x)),
        KOKKOS_LAMBDA(int, int){});
    parallel_for("task E", ResourcePolicy(graph, Team(2, Kokkos::AUTO), read(x)),
                 KOKKOS_LAMBDA(Team::member_type const&){});
    parallel_reduce(
        "task F", ResourcePolicy(graph, 100, read(x)),
        KOKKOS_LAMBDA(int i, double& s) { s += x(i); }, sum);
    parallel_reduce(
        "task G", ResourcePolicy(graph, 100, read(x)),
        KOKKOS_LAMBDA(int i, double& s) { s += x(i); });
    parallel_scan(
        "task H", ResourcePolicy(graph, 100, read(x)),
        KOKKOS_LAMBDA(int, int& s, bool) { s += 1; });
  }
  EXPECT_THAT(listener.names("for"),
              testing::UnorderedElementsAre("task A", "task B", "task C", "task D", "task E"));
  EXPECT_THAT(listener.names("reduce"), testing::UnorderedElementsAre("task F", "task G"));
  EXPECT_THAT(listener.names("scan"), testing::UnorderedElementsAre("task H"));
}

TEST(Tools, SeeAnEmptyLabelAsKokkosShowsIt) {
  Listener const listener;
  {
    TaskGraph graph(two_workers());
    parallel_for("", ResourcePolicy(graph, 1), KOKKOS_LAMBDA(int){});
  }
  ASSERT_EQ(listener.names("for").size(), 1u);
  EXPECT_NE(listener.names("for")[0], "");
}

TEST(Tools, SeeDeepCopiesOfTheViews) {
  V x("from", 100), y("to", 100);
  Listener const listener;
  {
    TaskGraph graph(two_workers());
    trellis::deep_copy("copy", graph, y, x);
  }
  EXPECT_THAT(listener.names("deep_copy"), testing::ElementsAre("to<from"));
}

TEST(Tools, SeeTasksThatLaunchNoKernelOfTheirOwnAsRegions) {
  V x("x", 100), y("y", 100);
  Listener const listener;
  {
    TaskGraph graph(two_workers());
    host_task("host", ResourcePolicy(graph, write(x)), [] {});
    space_task("library call", ResourcePolicy(graph, write(y)), [](auto const&) {});
    trellis::deep_copy("copy", graph, y, x);
  }
  EXPECT_THAT(listener.names("region"),
              testing::UnorderedElementsAre("host", "library call", "copy"));
}

TEST(Tools, SeeNoFenceThatStopsMoreThanOneInstance) {
  V x("x", 1000), y("y", 1000);
  Kokkos::View<double**, Kokkos::LayoutLeft> left("left", 30, 40);
  Kokkos::View<double**, Kokkos::LayoutRight> right("right", 30, 40);
  Kokkos::View<double> sum("sum");
  using Team = Kokkos::TeamPolicy<>;
  Listener const listener;
  {
    TaskGraph graph(two_workers());
    for (int k = 0; k < 20; ++k) {
      parallel_for(
          "fill", ResourcePolicy(graph, 1000, write(x)), KOKKOS_LAMBDA(int i) { x(i) = i; });
      parallel_for(
          "plane",
          ResourcePolicy(graph, Kokkos::MDRangePolicy<Kokkos::Rank<2>>({0, 0}, {30, 40}),
                         write(left)),
          KOKKOS_LAMBDA(int i, int j) { left(i, j) = i + j; });
      parallel_for(
          "team", ResourcePolicy(graph, Team(5, Kokkos::AUTO), write(y)),
          KOKKOS_LAMBDA(Team::member_type const& team) {
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, 200),
                                 [&](int j) { y(200 * team.league_rank() + j) = j; });
          });
      parallel_reduce(
          "into view", ResourcePolicy(graph, 1000, read(x)),
          KOKKOS_LAMBDA(int i, double& s) { s += x(i); }, sum);
      auto const total = parallel_reduce(
          "into future", ResourcePolicy(graph, 1000, read(x)),
          KOKKOS_LAMBDA(int i, double& s) { s += x(i); });
      parallel_scan(
          "scan", ResourcePolicy(graph, 1000, read(x)),
          KOKKOS_LAMBDA(int, int& s, bool) { s += 1; });
      trellis::deep_copy("copy", graph, y, x);
      trellis::deep_copy("layout", graph, right, left);
      trellis::deep_copy("value", graph, left, 2.0);
      host_task("host", ResourcePolicy(graph, read(right)), [] {});
      if (k % 5 == 0) total.get();
    }
    graph.wait();
  }
  int kernels = 0;
  int frees = 0;
  for (Event const& event : listener.all()) {
    if (event.kind == "deep_copy" || event.kind == "region") continue;
    if (event.name.ends_with("HostSpace::impl_deallocate before free"))
      ++frees;  // Kokkos does this when an instance grows its scratch memory, or ends
    else
      EXPECT_FALSE(is_global(event.device))
          << event.kind << " \"" << event.name << "\" stops every instance";
    kernels += event.kind != "fence";
  }
  EXPECT_GE(kernels, 6 * 20);
  EXPECT_LE(frees, 3 * 4) << "a few for each of the three instances, none for each task";
}

TEST(Tools, SeeEachRoundOfAPlanAsTheTasksOfOne) {
  V x("x", 100), y("y", 100);
  TaskGraph graph(two_workers());
  std::thread::id const here = std::this_thread::get_id();
  Plan const plan = graph.record("step", [&] {
    parallel_for(
        "grow", ResourcePolicy(graph, 100, read_write(x)), KOKKOS_LAMBDA(int i) { x(i) += i; });
    auto const sum = parallel_reduce(
        "sum", ResourcePolicy(graph, 100, read(x)), KOKKOS_LAMBDA(int i, double& s) { s += x(i); });
    parallel_scan(
        "scan", ResourcePolicy(graph, 100, read(x)), KOKKOS_LAMBDA(int, int& s, bool) { s += 1; });
    trellis::deep_copy("copy", graph, y, x);
    host_task("look", ResourcePolicy(graph, read(y)), [] {});
  });
  graph.replay(plan);  // grows the scratch memory of the instances
  graph.wait();
  std::vector<Event> events;
  {
    Listener const listener;
    Future<void> const done = graph.replay(plan, 7);
    while (!done.is_done()) std::this_thread::yield();
    events = listener.all();
  }
  std::map<std::string, int> counts;
  for (Event const& event : events) {
    ++counts[event.kind + ' ' + event.name];
    EXPECT_NE(event.thread, here) << event.name << " ran on the thread that replays";
    if (event.kind != "deep_copy" && event.kind != "region" &&
        !event.name.ends_with("HostSpace::impl_deallocate before free")) {
      EXPECT_FALSE(is_global(event.device))
          << event.kind << " \"" << event.name << "\" stops every instance";
    }
  }
  for (char const* once_a_round :
       {"for grow", "reduce sum", "scan scan", "region copy", "deep_copy y<x", "region look"})
    EXPECT_EQ(counts[once_a_round], 7) << once_a_round;
  for (auto const& [name, count] : counts) {
    EXPECT_THAT(name, testing::Not(HasSubstr("step"))) << "a plan is no kernel";
    if (!name.starts_with("fence")) {
      EXPECT_LE(count, 7) << name;
    }
  }
}

TEST(Tools, TheListenerDoesSeeFences) {
  // Or the test above could not fail.
  Listener const listener;
  Kokkos::DefaultExecutionSpace().fence("one instance");
  Kokkos::fence("all instances");
  auto const events = listener.all();
  ASSERT_GE(events.size(), 2u);
  EXPECT_FALSE(is_global(events[0].device));
  EXPECT_TRUE(is_global(events[1].device));
}

TEST(Tools, SeeTheKernelsOfTwoWorkersOnTwoThreads) {
  std::atomic<int> here{0};
  Listener const listener;
  {
    TaskGraph graph(two_workers());
    for (int k = 0; k < 2; ++k)
      parallel_for("wide", ResourcePolicy(graph, 1), [&here](int) {
        ++here;
        while (here < 2) std::this_thread::yield();
      });
  }
  std::set<std::thread::id> threads;
  for (Event const& event : listener.all())
    if (event.kind == "for") threads.insert(event.thread);
  EXPECT_EQ(threads.size(), 2u);
}

TEST(ToolLibrary, SeesEachKernelUnderItsTasksLabel) {
  void* const library = dlopen(TRELLIS_TEST_TOOL, RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr) << "Kokkos did not load it: " << dlerror();
  auto const names = reinterpret_cast<char const* (*)()>(dlsym(library, "trellis_test_tool_names"));
  ASSERT_NE(names, nullptr);
  {
    TaskGraph graph(two_workers());
    V x("x", 10);
    parallel_for(
        "first task", ResourcePolicy(graph, 10, write(x)), KOKKOS_LAMBDA(int i) { x(i) = i; });
    auto const sum = parallel_reduce(
        "second task", ResourcePolicy(graph, 10, read(x)),
        KOKKOS_LAMBDA(int i, double& s) { s += x(i); });
    parallel_scan(
        "third task", ResourcePolicy(graph, 10, write(x)),
        KOKKOS_LAMBDA(int, int& s, bool) { s += 1; });
    EXPECT_EQ(sum.get(), 45);
  }
  EXPECT_THAT(names(),
              testing::AllOf(HasSubstr("for first task\n"), HasSubstr("reduce second task\n"),
                             HasSubstr("scan third task\n")));
  dlclose(library);
}

}  // namespace
}  // namespace trellis

// The profiler made of Tool.cpp is loaded as users load theirs. It also tells Kokkos not to fence
// all instances at each event, which would be in the way of what is tested here.
int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  setenv("KOKKOS_TOOLS_LIBS", TRELLIS_TEST_TOOL, 1);
  Kokkos::ScopeGuard const kokkos(argc, argv);
  return RUN_ALL_TESTS();
}
