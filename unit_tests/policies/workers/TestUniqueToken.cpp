// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers that one thread has at a time, among kernels of all workers. What is counted under a
// number is not atomic, so the thread sanitizer would see two threads with one.
#include "Ways.hpp"

#include <Trellis_Threads.hpp>

#include <gmock/gmock.h>

#include <thread>
#include <type_traits>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using Counts = Kokkos::View<long*, Kokkos::HostSpace>;

// It refers to the token, which would be gone.
static_assert(!std::is_constructible_v<AcquireUniqueToken<UniqueToken<Space>>, UniqueToken<Space>>);
static_assert(
    std::is_constructible_v<AcquireUniqueToken<UniqueToken<Space>>, UniqueToken<Space> const&>);

struct CountUnder {
  UniqueToken<Space> token;
  Counts counts;
  KOKKOS_FUNCTION void operator()(int) const {
    AcquireUniqueToken const mine(token);
    ++counts(mine.value());
  }
};
long sum_of(Counts const& counts) {
  long sum = 0;
  for (std::size_t k = 0; k < counts.extent(0); ++k) sum += counts(k);
  return sum;
}

SPACE_TEST(UniqueToken, IsHadByOneThreadAtATime) {
  for_each_way([](Way const& way) {
    constexpr int tasks = 16, indices = 200, rounds = 3;
    int const size = way.workers * way.threads;
    UniqueToken<Space> const token(size);
    Counts const counts("counts", static_cast<std::size_t>(size));
    Token const all("counts");
    run_rounds(
        way, rounds,
        [&](auto& target) {
          for (int k = 0; k < tasks; ++k)
            parallel_for("kernel", ResourcePolicy(target, Range(0, indices), atomic_add(all)),
                         CountUnder{token, counts});
        },
        all);
    EXPECT_EQ(sum_of(counts), tasks * indices * rounds);
  });
}

SPACE_TEST(UniqueToken, HasANumberForEachThreadOfAGraph) {
  TaskGraphOptions options = with_workers(3);
  options.threads_per_worker = 2;
  TaskGraph graph(options);
  UniqueToken<Space> const token(graph);
  EXPECT_EQ(token.size(), 6);
  std::vector<int> numbers(3);
  Rendezvous all(3);
  for (int& number : numbers)
    host_task("number", ResourcePolicy(graph), [&, token] {
      number = token.acquire();
      EXPECT_TRUE(all.meet());
      token.release(number);
    });
  graph.wait();
  EXPECT_EQ(std::set<int>(numbers.begin(), numbers.end()).size(), 3U);
  for (int const number : numbers) {
    EXPECT_GE(number, 0);
    EXPECT_LT(number, 6);
  }
}

SPACE_TEST(UniqueToken, WaitsWhileAllNumbersAreTaken) {
  UniqueToken<Space> const one(1);
  int const mine = one.acquire();
  EXPECT_EQ(mine, 0);
  std::atomic<bool> has{false};
  std::thread other([&] {
    int const number = one.acquire();
    has = true;
    one.release(number);
  });
  std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(has);
  one.release(mine);
  other.join();
  EXPECT_TRUE(has);
}

SPACE_TEST(UniqueToken, GivesAThreadTheNumberThatItHad) {
  UniqueToken<Space> const token(8);
  int const first = token.acquire();
  int const second = token.acquire();
  EXPECT_NE(first, second);
  token.release(first);
  EXPECT_EQ(token.acquire(), first);
  token.release(first);
  token.release(second);
}

SPACE_TEST(UniqueToken, HasAtLeastOneNumber) {
  EXPECT_THAT(error_of([] { UniqueToken<Space>(0); }).what(),
              testing::HasSubstr("a UniqueToken cannot have 0 numbers"));
  EXPECT_EQ(error_of([] { UniqueToken<Space>(-3); }).kind(), Error::Kind::bad_input);
}

}  // namespace
}  // namespace trellis
