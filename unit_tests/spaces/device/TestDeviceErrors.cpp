// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What goes wrong in a kernel on a device. The device is lost to the process after that, so each
// test is a process of its own, which ends before anything else is asked of the device. Skipped on
// the spaces of the host, where a kernel that gives up ends the process.
#include "DeviceTest.hpp"

#include <cstdlib>
#include <iostream>

namespace trellis {
namespace {

struct GiveUp {
  V x;
  int volatile* go;  ///< waits until it is not 0: what is launched behind has been launched by then
  KOKKOS_FUNCTION void operator()(int i) const {
    if (x(i) != 5) return;
    while (*go == 0) {
    }
    Kokkos::abort("the kernel gives up");
  }
};

/// How the errors are told, to the standard error output.
void tell(char const* name, Future<void>& future) {
  try {
    future.get();
    std::cerr << name << ": done\n";
  } catch (std::exception const& error) {
    std::cerr << name << ": " << error.what() << '\n';
  }
}

[[maybe_unused]] void fail_on_the_device() {
  TaskGraph graph(with_workers(2));
  V const x("x", 10), y("y", 10), z("z", 10);
  PinnedView<int> const go("go");
  auto good = parallel_for("good", ResourcePolicy(graph, Range(0, 10), write(x)), Fill{x, 0});
  tell("good", good);
  auto bad = parallel_for("bad", ResourcePolicy(graph, Range(0, 10), read(x), write(y)),
                          GiveUp{x, go.data()});
  auto behind =
      parallel_for("behind", ResourcePolicy(graph, Range(0, 10), read(y), write(z)), AddTo{y, z});
  auto on_host = host_task("on the host", ResourcePolicy(graph, after(behind)),
                           [] { std::cerr << "the host task ran\n"; });
  *static_cast<int volatile*>(go.data()) = 1;
  tell("bad", bad);
  tell("behind", behind);
  tell("on the host", on_host);
  std::cerr.flush();
  std::_Exit(3);  // Kokkos would end the process when a View is freed
}

[[maybe_unused]] void fail_in_a_plan() {
  TaskGraph graph(with_workers(2));
  V const x("x", 10), y("y", 10);
  PinnedView<int> const go("go");
  go() = 1;
  Plan const plan = graph.record("plan", [&] {
    parallel_for("fill", ResourcePolicy(graph, Range(0, 10), write(x)), Fill{x, 0});
    parallel_for("bad", ResourcePolicy(graph, Range(0, 10), read(x), write(y)),
                 GiveUp{x, go.data()});
  });
  auto replayed = graph.replay(plan);
  tell("replay", replayed);
  std::cerr.flush();
  std::_Exit(3);
}

SPACE_TEST(DeviceErrors, AreThoseOfTheTaskAndOfAllBehindIt) {
  if (!on_device) GTEST_SKIP() << "a space of the host";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      fail_on_the_device(), testing::ExitedWithCode(3),
      "good: done(.|\n)*bad: .*task \"bad\"(.|\n)*behind: .*task \"behind\"(.|\n)*on the host: .*");
}

SPACE_TEST(DeviceErrors, InAPlanAreThoseOfTheReplay) {
  if (!on_device) GTEST_SKIP() << "a space of the host";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(fail_in_a_plan(), testing::ExitedWithCode(3), "replay: .*failed");
}

}  // namespace
}  // namespace trellis
