// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomProgram.hpp"
#include "Seeds.hpp"
#include "Watchdog.hpp"

#include <Trellis_Error.hpp>
#include <Trellis_SchedulingPolicy.hpp>
#include <Trellis_Access.hpp>
#include <Trellis_TaskGraph.hpp>
#include <access/Trellis_AccessTable.hpp>
#include <graph/Trellis_GraphInternals.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// Programs that touch far more areas than the engine keeps: what it forgets must not be missed.
namespace many_areas {
namespace {

using namespace random_program;

using Buffer = std::shared_ptr<std::vector<std::uint64_t>>;

template <class F>
struct BodyOf {
  static void run(void* body, void*, trellis::Label const&) { (*static_cast<F*>(body))(); }
  static void destroy(void* body) noexcept { static_cast<F*>(body)->~F(); }
  static void fail(void*, trellis::TaskId, std::string const&,
                   trellis::Impl::FailurePtr const&) noexcept {}
  static constexpr trellis::Impl::TaskOps ops{"host_task", &run, &destroy, &fail};
};

/// Elements `first`, `first + stride`, ... of a buffer.
struct Piece {
  Buffer buffer;
  std::size_t first;
  std::size_t extent;
  std::size_t stride;
  trellis::Mode mode;

  [[nodiscard]] trellis::Impl::Area area() const {
    std::uint64_t const extents[] = {extent};
    std::uint64_t const strides[] = {stride};
    return trellis::Impl::Area::strided(buffer->data() + first, sizeof(std::uint64_t), 1, extents,
                                        strides);
  }
};

template <class F>
trellis::Impl::TaskHandle submit(trellis::TaskGraph& graph, std::string label,
                                 std::vector<Piece> const& pieces, F&& body) {
  using Body = std::remove_cvref_t<F>;
  static constexpr trellis::Impl::SubjectOps piece_ops{
      [](void const* subject, trellis::Impl::ResourceInfo& info) {
        Piece const& described = *static_cast<Piece const*>(subject);
        info.label = "buffer of " + std::to_string(described.buffer->size());
        info.begin = reinterpret_cast<std::uintptr_t>(described.buffer->data());
        info.end = info.begin + described.buffer->size() * sizeof(std::uint64_t);
      }};
  std::vector<trellis::Impl::AccessRequest> requests;
  for (Piece const& piece : pieces)
    requests.push_back({piece.area(), piece.mode, &piece, &piece_ops});
  auto construct = [&](void* storage) { ::new (storage) Body(std::forward<F>(body)); };
  trellis::Impl::TaskSpec spec(trellis::Label(std::move(label)), BodyOf<Body>::ops, sizeof(Body),
                               alignof(Body), construct);
  spec.accesses = requests;
  return trellis::Impl::GraphInternals::submit(graph, std::move(spec));
}

/// Mixes all elements of the first piece, adds to those of the others; the oracle does the same at
/// once.
void compute(std::vector<Piece> const& pieces, std::uint64_t salt, std::uint64_t& digest) {
  for (Piece const& piece : pieces)
    for (std::size_t k = 0; k < piece.extent; ++k) {
      std::uint64_t& value = (*piece.buffer)[piece.first + k * piece.stride];
      if (piece.mode == trellis::Mode::read)
        digest = mix(digest, value);
      else if (piece.mode == trellis::Mode::read_write)
        value = mix(value, salt + k);
      else
        std::atomic_ref(value).fetch_add(mix(salt, k), std::memory_order_relaxed);
    }
}

trellis::TaskGraphOptions random_options(std::mt19937_64& random) {
  trellis::TaskGraphOptions options;
  options.workers = 1 + static_cast<int>(random() % 4);
  constexpr std::size_t caps[] = {3, 64, 1000, 16384};
  options.in_flight = caps[random() % 4];
  switch (random() % 3) {
    case 0:
      options.policy = trellis::make_fifo_policy();
      break;
    case 1:
      options.policy = trellis::make_shake_policy(random());
      break;
    default:
      break;
  }
  return options;
}

/// A buffer, and a copy of it on which everything happens in the order of submission.
struct Twin {
  explicit Twin(std::size_t size)
      : parallel(std::make_shared<std::vector<std::uint64_t>>(size)),
        serial(std::make_shared<std::vector<std::uint64_t>>(size)) {}
  Buffer parallel;
  Buffer serial;
};

/// A table forgets from 1024 entries on.
class ManyAreas : public testing::Test {
 protected:
  ManyAreas() : m_kept(trellis::Impl::table_kept.exchange(1024)) {}
  ~ManyAreas() override { trellis::Impl::table_kept = m_kept; }

 private:
  std::size_t m_kept;
};

/// A working set of areas slides over a large buffer, comes back now and then: each
/// step meets areas that are new, known, or forgotten.
TEST_F(ManyAreas, of_one_buffer_are_forgotten_and_met_again) {
  for (std::uint64_t const seed : seeds(1, 3)) {
    trellis::Test::Watchdog const watchdog(std::chrono::seconds(200),
                                           "ManyAreas seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    trellis::TaskGraph graph(random_options(random));
    constexpr std::size_t size = 60000;
    constexpr int tasks = 15000;
    Twin const twin(size);
    std::vector<std::uint64_t> digests(tasks);
    std::vector<std::uint64_t> expected(tasks);
    std::size_t const window = 20 + random() % 400;
    for (int t = 0; t < tasks; ++t) {
      std::vector<Piece> pieces;
      std::size_t base = (static_cast<std::size_t>(t) * 3) % (size - window - 64);
      if (random() % 20 == 0) base = random() % (size - window - 64);  // far away
      if (random() % 40 == 0) base = 0;                                // where it began
      for (std::size_t k = 0; k <= random() % 3; ++k) {
        constexpr trellis::Mode modes[] = {trellis::Mode::read, trellis::Mode::read_write,
                                           trellis::Mode::atomic_add};
        pieces.push_back({twin.parallel, base + random() % window, 1 + random() % 8,
                          1 + random() % 8, modes[random() % 3]});
      }
      if (random() % 2000 == 0) pieces = {{twin.parallel, 0, size, 1, trellis::Mode::read}};
      std::uint64_t const salt = random();
      submit(graph, "t", pieces, [pieces, salt, &digest = digests[static_cast<std::size_t>(t)]] {
        compute(pieces, salt, digest);
      });
      for (Piece& piece : pieces) piece.buffer = twin.serial;
      compute(pieces, salt, expected[static_cast<std::size_t>(t)]);
      if (random() % 3000 == 0) graph.wait();
    }
    graph.wait();
    ASSERT_EQ(*twin.parallel, *twin.serial) << "seed " << seed;
    ASSERT_EQ(digests, expected) << "seed " << seed;
  }
}

/// Buffers come and go while tasks hold them: their addresses are used again for other sizes.
TEST_F(ManyAreas, of_buffers_that_come_and_go_do_not_mix) {
  for (std::uint64_t const seed : seeds(1, 3)) {
    trellis::Test::Watchdog const watchdog(std::chrono::seconds(200),
                                           "ManyAreas seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    trellis::TaskGraph graph(random_options(random));
    constexpr int tasks = 15000;
    std::vector<Twin> twins;
    std::vector<std::uint64_t> digests(tasks);
    std::vector<std::uint64_t> expected(tasks);
    for (int t = 0; t < tasks; ++t) {
      if (twins.size() < 20 && (twins.empty() || random() % 6 == 0))
        twins.emplace_back(1 + random() % 40);
      std::vector<Piece> pieces;
      std::vector<Piece> serial;
      for (std::size_t k = 0; k <= random() % 3; ++k) {
        Twin const& twin = twins[random() % twins.size()];
        constexpr trellis::Mode modes[] = {trellis::Mode::read, trellis::Mode::read_write,
                                           trellis::Mode::atomic_add};
        std::size_t const size = twin.parallel->size();
        std::size_t const first = random() % size;
        std::size_t const stride = 1 + random() % 3;
        std::size_t const extent = 1 + random() % ((size - 1 - first) / stride + 1);
        pieces.push_back({twin.parallel, first, extent, stride, modes[random() % 3]});
        serial.push_back(pieces.back());
        serial.back().buffer = twin.serial;
      }
      std::uint64_t const salt = random();
      submit(graph, "t", pieces, [pieces, salt, &digest = digests[static_cast<std::size_t>(t)]] {
        compute(pieces, salt, digest);
      });
      compute(serial, salt, expected[static_cast<std::size_t>(t)]);
      if (random() % 8 == 0) {  // the last reader is a task; then the memory is free
        std::size_t const n = random() % twins.size();
        Piece const all{twins[n].parallel, 0, twins[n].parallel->size(), 1, trellis::Mode::read};
        submit(graph, "last", {all}, [buffer = twins[n].parallel, copy = twins[n].serial] {
          if (*buffer != *copy) throw std::runtime_error("a buffer is not what it should be");
        });
        twins.erase(twins.begin() + static_cast<std::ptrdiff_t>(n));
      }
    }
    ASSERT_NO_THROW(graph.wait()) << "seed " << seed;
    ASSERT_EQ(digests, expected) << "seed " << seed;
  }
}

/// A failure cancels what comes to its area, also when that comes thousands of areas later; and
/// nothing else.
TEST_F(ManyAreas, forgotten_do_not_take_a_failure_with_them) {
  for (std::uint64_t const seed : seeds(1, 3)) {
    trellis::Test::Watchdog const watchdog(std::chrono::seconds(200),
                                           "ManyAreas seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    trellis::TaskGraph graph(random_options(random));
    constexpr std::size_t size = 20000;
    auto const buffer = std::make_shared<std::vector<std::uint64_t>>(size);
    for (int phase = 0; phase < 3; ++phase) {
      std::size_t const swept = 2 * (200 + random() % 800);
      std::vector<char> bad(swept, 0);
      bool any = false;
      for (std::size_t e = 0; e < swept; e += 2) {
        bad[e] = random() % 50 == 0;
        any = any || bad[e];
        auto const mode = random() % 2 == 0 ? trellis::Mode::read_write : trellis::Mode::read;
        submit(graph, "t" + std::to_string(e), {{buffer, e, 2, 1, mode}}, [throws = bad[e]] {
          if (throws) throw std::runtime_error("bad");
        });
      }
      // Other areas, each often enough that those above are old when there are too many.
      for (std::size_t e = swept; e < swept + 5000; ++e)
        for (int k = 0; k < 6; ++k)
          submit(graph, "other", {{buffer, e, 1, 1, trellis::Mode::read_write}}, [] {});
      std::vector<char> ran(swept, 0);
      for (std::size_t e = 0; e < swept; e += 2)
        submit(graph, "again", {{buffer, e + random() % 2, 1, 1, trellis::Mode::read_write}},
               [&done = ran[e]] { done = 1; });
      if (any)
        EXPECT_THROW(graph.wait(), trellis::Error);
      else
        graph.wait();
      for (std::size_t e = 0; e < swept; e += 2)
        ASSERT_NE(ran[e], bad[e]) << "seed " << seed << ", element " << e;
    }
  }
}

}  // namespace
}  // namespace many_areas
