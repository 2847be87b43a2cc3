// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random numbers in tasks that run at the same time: no two draw the same, and streams by number
// are the same in every run.
#include "Ways.hpp"

#include <Trellis_Threads.hpp>

#include <Kokkos_Random.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <set>
#include <tuple>
#include <vector>

namespace trellis {
namespace {

using namespace Test;
using Words = Kokkos::View<std::uint64_t*, Kokkos::HostSpace>;

template <class Pool>
struct Draw {
  RandomPool<Pool> pool;
  Words words;
  KOKKOS_FUNCTION void operator()(int i) const {
    auto generator = pool.get_state();
    words(i) = generator.urand64();
    pool.free_state(generator);
  }
};

/// Calls `f` with each of Kokkos' kinds of pools.
template <class F>
void for_each_pool(F&& f) {
  f.template operator()<Kokkos::Random_XorShift64_Pool<Space>>();
  f.template operator()<Kokkos::Random_XorShift1024_Pool<Space>>();
#if KOKKOS_VERSION >= 50200
  f.template operator()<Kokkos::Random_SFC64_Pool<Space>>();
#endif
}

std::size_t count_different(Words const& words) {
  return std::set<std::uint64_t>(words.data(), words.data() + words.extent(0)).size();
}

SPACE_TEST(RandomPool, NeverGivesTwoTasksTheSameNumbers) {
  using Pool = Kokkos::Random_XorShift64_Pool<Space>;
  for_each_way([](Way const& way) {
    constexpr int tasks = 6, indices = 64, rounds = 2;
    RandomPool<Pool> const pool(4711);
    std::vector<Words> words;
    for (int k = 0; k < tasks * rounds; ++k) words.emplace_back("words", indices);
    std::atomic<std::size_t> used{0};
    Token const all("all");
    run_rounds(
        way, rounds,
        [&](auto& target) {
          for (int k = 0; k < tasks; ++k) {
            // Which round it is a recorded task does not know.
            Words const here("here", indices);
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(target)>, TaskScope>)
              target.local(here);
            parallel_for("draw", ResourcePolicy(target, Range(0, indices), write(here)),
                         Draw<Pool>{pool, here});
            host_task("keep", ResourcePolicy(target, read(here)), [&, here] {
              std::copy_n(here.data(), here.extent(0), words[used++].data());
            });
          }
        },
        all);
    std::set<std::uint64_t> different;
    for (Words const& each : words) different.insert(each.data(), each.data() + each.extent(0));
    EXPECT_EQ(different.size(), static_cast<std::size_t>(tasks * rounds * indices));
  });
}

/// Four tasks that are known to be under way at the same time: with a pool of Kokkos' own, 192 of
/// their 256 numbers are copies.
SPACE_TEST(RandomPool, GivesTasksAtTheSameTimeStatesOfTheirOwn) {
  for_each_pool([]<class Pool> {
    TaskGraph graph(with_workers(4));
    RandomPool<Pool> const pool(1);
    Words const words("words", 256);
    Rendezvous begun(4), drawn(4);
    for (int k = 0; k < 4; ++k)
      host_task("draw", ResourcePolicy(graph), [&, k] {
        EXPECT_TRUE(begun.meet());
        auto generator = pool.get_state();
        for (int i = 0; i < 64; ++i)
          words(static_cast<std::size_t>(64 * k + i)) = generator.urand64();
        EXPECT_TRUE(drawn.meet());
        pool.free_state(generator);
      });
    graph.wait();
    EXPECT_EQ(count_different(words), 256U);
  });
}

SPACE_TEST(RandomPool, DrawsWhatTheKokkosPoolDraws) {
  for_each_pool([]<class Pool> {
    RandomPool<Pool> const pool(99);
    Pool const kokkos(99);
    for (int time = 0; time < 3; ++time) {  // a state goes on where it was
      auto generator = pool.get_state();
      auto expected = kokkos.get_state();
      for (int k = 0; k < 5; ++k) EXPECT_EQ(generator.urand64(), expected.urand64());
      EXPECT_EQ(generator.drand(), expected.drand());
      pool.free_state(generator);
      kokkos.free_state(expected);
    }
  });
}

SPACE_TEST(RandomPool, GivesAThreadSeveralGenerators) {
  for_each_pool([]<class Pool> {
    RandomPool<Pool> const pool(5, 3);
    Words const words("words", 30);
    auto const draw = [&](auto& generator, std::size_t from) {
      for (std::size_t k = 0; k < 5; ++k) words(from + k) = generator.urand64();
    };
    auto first = pool.get_state();
    auto second = pool.get_state();
    draw(first, 0);
    draw(second, 5);
    pool.free_state(first);
    auto third = pool.get_state();  // goes on with the first one's
    draw(third, 10);
    auto fourth = pool.get_state();
    draw(fourth, 15);
    EXPECT_THAT(error_of([&] { (void)pool.get_state(); }).what(),
                testing::HasSubstr("a RandomPool of 3 states is asked for more"));
    pool.free_state(second);
    pool.free_state(third);
    pool.free_state(fourth);
    auto fifth = pool.get_state();
    draw(fifth, 20);
    auto sixth = pool.get_state();
    draw(sixth, 25);
    EXPECT_EQ(count_different(words), 30U);
  });
}

SPACE_TEST(RandomPool, GivesWhatAWaitingBodyRunsAnotherState) {
  using Pool = Kokkos::Random_XorShift64_Pool<Space>;
  TaskGraph graph(with_workers(1));
  RandomPool<Pool> const pool(5);
  std::set<std::uint64_t> drawn;
  auto const whole = host_task("whole", ResourcePolicy(graph), [&](TaskScope& self) {
    auto generator = pool.get_state();
    drawn.insert(generator.urand64());
    host_task("child", ResourcePolicy(self), [&] {
      auto other = pool.get_state();
      for (int k = 0; k < 10; ++k) drawn.insert(other.urand64());
      pool.free_state(other);
    });
    self.wait();
    for (int k = 0; k < 10; ++k) drawn.insert(generator.urand64());
    pool.free_state(generator);
  });
  whole.get();
  EXPECT_EQ(drawn.size(), 21U);
}

SPACE_TEST(RandomPool, FillsViewsInTasks) {
  using Pool = Kokkos::Random_XorShift64_Pool<Space>;
  TaskGraph graph(with_workers(3));
  RandomPool<Pool> const pool(17);
  std::vector<V> fields;
  for (int k = 0; k < 6; ++k) fields.emplace_back("field", 300);
  for (V const& x : fields)
    space_task("fill", ResourcePolicy(graph, write(x), on<Space>),
               [=](Space const& instance) { Kokkos::fill_random(instance, x, pool, -1.0, 2.0); });
  graph.wait();
  std::set<double> different;
  for (V const& x : fields)
    for (double const value : values_of(x)) {
      EXPECT_GE(value, -1);
      EXPECT_LE(value, 2);
      different.insert(value);
    }
  EXPECT_EQ(different.size(), 1800U);
}

// --- streams -------------------------------------------------------------------------------------

/// The known answers that come with the authors' own implementation (Random123, kat_vectors).
SPACE_TEST(RandomStream, IsPhilox) {
  using Block = std::array<std::uint32_t, 4>;
  using Case = std::tuple<Block, std::array<std::uint32_t, 2>, Block>;
  constexpr std::uint32_t ones = 0xffffffff;
  for (auto const& [counter, key, expected] :
       {Case{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        Case{{ones, ones, ones, ones},
             {ones, ones},
             {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        Case{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
             {0xa4093822, 0x299f31d0},
             {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}}) {
    std::uint32_t const c[4] = {counter[0], counter[1], counter[2], counter[3]};
    std::uint32_t const k[2] = {key[0], key[1]};
    std::uint32_t block[4];
    RandomStream::make_block(k, c, block);
    EXPECT_THAT(block, testing::ElementsAreArray(expected));
  }
  RandomStream stream(0, 0, 0);
  EXPECT_EQ(stream.urand(), 0x6627e8d5U);
  EXPECT_EQ(stream.urand(), 0xe169c58dU);
  EXPECT_EQ(stream.urand64(), 0xbc57ac4c9b00dbd8U);
}

SPACE_TEST(RandomStream, HasNothingInCommonWithOthers) {
  std::set<std::uint64_t> different;
  std::size_t count = 0;
  for (std::uint64_t const seed : {0ULL, 1ULL, 1ULL << 40})
    for (std::uint64_t const index : {0ULL, 1ULL, 2ULL, 1ULL << 33})
      for (std::uint32_t const step : {0U, 1U, 1U << 31}) {
        RandomStream stream = RandomStreams(seed)(index, step);
        for (int k = 0; k < 50; ++k, ++count) different.insert(stream.urand64());
      }
  EXPECT_EQ(different.size(), count);
}

SPACE_TEST(RandomStream, DrawsWithinItsRanges) {
  RandomStream stream = RandomStreams(3)(1);
  std::array<int, 6> faces{};
  for (int k = 0; k < 6000; ++k) {
    ++faces.at(stream.urand(6));
    EXPECT_LT(stream.urand64(10, 12) - 10, 2U);
    EXPECT_LT(stream.urand(7, 9) - 7, 2U);
    EXPECT_LT(stream.urand64(5), 5U);
    EXPECT_GE(stream.rand(), 0);
    EXPECT_LT(stream.rand(4), 4);
    int const small = stream.rand(-3, 3);
    EXPECT_TRUE(-3 <= small && small < 3);
    EXPECT_GE(stream.rand64(), 0);
    EXPECT_LT(stream.rand64(4), 4);
    std::int64_t const large = stream.rand64(-(1LL << 40), 1LL << 40);
    EXPECT_TRUE(-(1LL << 40) <= large && large < 1LL << 40);
    float const f = stream.frand(2, 3);
    EXPECT_TRUE(2 <= f && f < 3);
    EXPECT_LT(stream.frand(2), 2);
    double const d = stream.drand(-1, 1);
    EXPECT_TRUE(-1 <= d && d < 1);
    EXPECT_LT(stream.drand(2), 2);
  }
  for (int const count : faces) EXPECT_NEAR(count, 1000, 150);
}

SPACE_TEST(RandomStream, IsUniformAndNormal) {
  constexpr int count = 100000;
  RandomStream stream = RandomStreams(8)(0);
  double sum = 0, squares = 0, normals = 0, normal_squares = 0;
  for (int k = 0; k < count; ++k) {
    double const u = stream.drand();
    double const x = stream.normal(1, 2);
    sum += u;
    squares += u * u;
    normals += x;
    normal_squares += (x - 1) * (x - 1);
  }
  // Five standard errors.
  EXPECT_NEAR(sum / count, 0.5, 5 * 0.29 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1.0 / 3, 5 * 0.3 / std::sqrt(count));
  EXPECT_NEAR(normals / count, 1, 5 * 2 / std::sqrt(count));
  EXPECT_NEAR(normal_squares / count, 4, 5 * 5.7 / std::sqrt(count));
}

struct Walk {
  V x;
  RandomStreams random;
  std::uint32_t step;
  std::uint64_t first;
  KOKKOS_FUNCTION void operator()(int i) const {
    auto generator = random(first + static_cast<std::uint64_t>(i), step);
    x(i) += generator.normal();
    x(i) *= Kokkos::rand<RandomStream, double>::draw(generator, 0.5, 1.5);
  }
};

SPACE_TEST(RandomStreams, AreTheSameHoweverTasksRun) {
  std::vector<double> expected;
  for_each_way([&](Way const& way) {
    constexpr int tiles = 10, indices = 16, rounds = 3;
    V const x("x", tiles * indices);
    RandomStreams const random(2026);
    run_rounds(
        way, rounds,
        [&](auto& target) {
          for (std::uint32_t step = 0; step < 2; ++step)
            for (int k = 0; k < tiles; ++k) {
              auto const tile = Kokkos::subview(x, std::pair(k * indices, (k + 1) * indices));
              parallel_for("walk", ResourcePolicy(target, Range(0, indices), read_write(tile)),
                           Walk{tile, random, step, static_cast<std::uint64_t>(k * indices)});
            }
        },
        x);
    std::vector<double> const values = values_of(x);
    if (expected.empty()) expected = values;
    EXPECT_EQ(values, expected);
  });
  EXPECT_EQ(std::set<double>(expected.begin(), expected.end()).size(), 160U);
}

}  // namespace
}  // namespace trellis
