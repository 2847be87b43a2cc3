// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that runs out for worklets: those that have been submitted are right, and what is
// submitted again is, too.
#include "Instances.hpp"
#include "NoMemory.hpp"
#include "GenerateTest.hpp"
#include "MapTest.hpp"

#include <cstddef>
#include <cstdint>

// As in TestNoMemoryFields.cpp.
#ifdef KOKKOS_ENABLE_SERIAL

namespace trellis::Test {
namespace {

using Space = Kokkos::Serial;
using Line = Kokkos::View<double*, Kokkos::HostSpace>;
using Numbers = Kokkos::View<int*, Kokkos::HostSpace>;
using Array = LateView<int*, Kokkos::HostSpace>;

struct HeldScale : Scale {
  Held held;
};
struct HeldCopies : CopyWithVisit {
  Held held;
};
struct HeldSums : SumOfValues {
  Held held;
};

class NoMemoryWorklets : public NoMemoryTest {
 protected:
  NoMemoryWorklets() : NoMemoryTest(3) {}
  static TaskGraphOptions options(bool is_serial) {
    TaskGraphOptions options;
    options.workers = 1;  // and the thread that waits
    options.serial = is_serial;
    return options;
  }
  static void map(bool is_serial) {
    Line x("x", 9), out, cells;
    Kokkos::deep_copy(x, 3.0);
    TaskGraph graph(options(is_serial));
    make_instances<Space>(graph);
    auto const program = [&](auto const& call) {
      ResourcePolicy const policy(graph, on<Space>);
      for (int k = 0; k < 3; ++k) {
        call([&] { invoke("scale", policy, HeldScale(), 2.0, x, out); });
        call([&] { invoke("average", policy, CellAverage(), UniformGrid<2>({3, 3}), out, cells); });
      }
    };
    Shortage::begin();
    program([](auto const& f) { call_until_done(f); });
    has_memory([&] { graph.wait(); });
    Shortage::end();
    has_memory([&] { graph.wait(); });
    program([](auto const& f) { f(); });
    graph.wait();
    for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(cells(c), 6.0);
  }

  static void generate(bool is_serial) {
    Numbers const x("x", 5);
    for (int k = 0; k < 5; ++k) x(k) = k;
    Array copies("copies"), keys("keys"), sums("sums");
    LateView<std::int8_t*, Kokkos::HostSpace> counts("counts");
    TaskGraph graph(options(is_serial));
    make_instances<Space>(graph);
    std::int64_t made = 0;
    auto const program = [&](auto const& call) {
      ResourcePolicy const policy(graph, on<Space>);
      Future<std::int64_t> number;
      call([&] { invoke("counts", policy, RemainderOf3(), x, counts); });
      call([&] { number = invoke("copies", policy, HeldCopies(), x, counts, copies); });
      call([&] { invoke("keys", policy, RemainderOf(), copies, 2, keys); });
      call([&] {
        auto const groups = group_by_key("group", policy, keys);
        invoke("sums", policy, HeldSums(), groups, copies, sums);
      });
      has_memory([&] { made = number.get(); });
    };
    Shortage::begin();
    program([](auto const& f) { call_until_done(f); });
    has_memory([&] { graph.wait(); });
    Shortage::end();
    has_memory([&] { graph.wait(); });
    made = 0;
    program([](auto const& f) { f(); });
    graph.wait();
    EXPECT_EQ(made, 4);
  }

  void run_all(bool all) {
    Kokkos::View<double*, Kokkos::HostSpace> view("view", 1);
    Shortage::spare([&] { view = {}; });
    for (bool const is_serial : {false, true}) {
      each_allocation(is_serial ? "serial maps" : "maps", all, [&] { map(is_serial); });
      each_allocation(is_serial ? "serial arrays" : "arrays", all, [&] { generate(is_serial); });
    }
  }
};

TEST_F(NoMemoryWorklets, OfOneAllocationIsToldAndTheRestEnds) {
  run_all(false);
}
TEST_F(NoMemoryWorklets, OfAllAllocationsFromOneOnIsToldAndTheRestEnds) {
  run_all(true);
}

}  // namespace
}  // namespace trellis::Test

#endif
