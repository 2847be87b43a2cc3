// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arrays that tasks allocate, what orders them, and random programs of them against the same
// computed one by one.
#include <Trellis.hpp>
#include <Trellis_Fusion.hpp>
#include <Trellis_Late.hpp>
#include <Trellis_Scheduling.hpp>

#include "RandomNumbers.hpp"
#include "Seeds.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace trellis {
namespace {

using Test::error_of;
using Test::Gate;
using Test::pick;
using Test::Random;
using namespace std::chrono_literals;
using testing::HasSubstr;

using Word = std::uint64_t;
using Words = LateView<Word*, Kokkos::HostSpace>;
using Cell = Kokkos::View<Word, Kokkos::HostSpace>;

struct RandomSizes : Test::Timed {};

TaskGraphOptions two_workers() {
  TaskGraphOptions options;
  options.workers = 2;
  return options;
}
std::vector<Word> contents(Words const& words) {
  auto const view = words.managed();
  return {view.data(), view.data() + view.size()};
}

// ---- order

/// Who needs the extents alone does not wait for who computes the contents.
TEST_F(RandomSizes, ShapesAreThereBeforeContents) {
  TaskGraph graph(two_workers());
  if (*graph.options().serial) GTEST_SKIP() << "one by one, nothing waits for what comes later";
  Words const x("x"), y("y");
  Gate gate;
  allocate("room", ResourcePolicy(graph), x, 3);
  auto const writer =
      host_task("long", ResourcePolicy(graph, write(x)), [&](Words::view const& to) {
        for (std::size_t i = 0; i < 3; ++i) to(i) = i + 1;
        return gate.pass();
      });
  allocate("like x", ResourcePolicy(graph), y, extent(x));
  auto const fill = parallel_for("fill", ResourcePolicy(graph, extent(x), write(y)),
                                 [](std::size_t i, Words::view const& to) { to(i) = i; });
  host_task("open", ResourcePolicy(graph, after(fill)), [&] { gate.open(); });
  auto const sum =
      parallel_reduce("sum", ResourcePolicy(graph, extent(x), read(x)),
                      [](std::size_t i, Words::read_view const& from, Word& s) { s += from(i); });
  allocate("again", ResourcePolicy(graph), x, 4);
  EXPECT_EQ(sum.get(), 6);
  EXPECT_TRUE(writer.get());
  graph.wait();
  EXPECT_EQ(contents(y), (std::vector<Word>{0, 1, 2}));
  EXPECT_EQ(x.extent(0), 4);
}

/// Both of what a task depends on is its own to give up.
TEST_F(RandomSizes, WhoHasGivenUpTheShapeStillHasTheContents) {
  TaskGraph graph(two_workers());
  if (*graph.options().serial) GTEST_SKIP() << "one by one, nothing waits for what comes later";
  Words const x("x");
  Gate submitted;
  Future<void> again;
  allocate("room", ResourcePolicy(graph), x, 3);
  deep_copy(graph, x, 5);
  auto const sum = host_task(
      "sum", ResourcePolicy(graph, read(x)), [&](TaskScope& self, Words::read_view const& from) {
        self.release(x.shape());
        EXPECT_TRUE(submitted.pass());
        trellis::Test::compute_for(trellis::Test::sanitized ? 20000us : 2000us);
        EXPECT_FALSE(again.is_done());
        return from(0) + from(1) + from(2);
      });
  again = allocate("again", ResourcePolicy(graph), x, 400);
  submitted.open();
  EXPECT_EQ(sum.get(), 15);
  graph.wait();
  EXPECT_EQ(x.extent(0), 400);
}

TEST_F(RandomSizes, ChildrenAllocateWhatTheirParentNames) {
  TaskGraph graph(two_workers());
  Words const x("x");
  host_task("whole", ResourcePolicy(graph, write(x), write(x.shape())), [=](TaskScope& self) {
    auto const own = host_task("own", ResourcePolicy(self), [] { return 5; });
    allocate("room", ResourcePolicy(self), x, own);
    Words const inner = self.local(Words("inner"));
    allocate("inner room", ResourcePolicy(self), inner, extent(x));
    deep_copy("start", self, inner, 7);
    parallel_for("fill", ResourcePolicy(self, own, read(inner), write(x)),
                 [](std::size_t i, Words::read_view const& from, Words::view const& to) {
                   to(i) = from(i) + i;
                 });
  });
  auto const sum =
      parallel_reduce("sum", ResourcePolicy(graph, extent(x), read(x)),
                      [](std::size_t i, Words::read_view const& from, Word& s) { s += from(i); });
  EXPECT_EQ(sum.get(), 45);
  auto const only_fills =
      host_task("only fills", ResourcePolicy(graph, write(x)),
                [=](TaskScope& self) { allocate("room", ResourcePolicy(self), x, 3); });
  EXPECT_THAT(error_of([&] { only_fills.get(); }).what(), HasSubstr("shape of x"));
  EXPECT_THROW(graph.wait(), Error);
}

// ---- random programs

constexpr std::size_t arrays = 5, cells = 3;

/// What a number of indices is taken from.
struct Size {
  enum Kind { number, future, extent, count } kind;
  Word number_;
  std::size_t which;  ///< number of the program, or array
};
struct Step {
  enum Kind { number, allocation, map, sum, scan, copy, children, count } kind;
  Size size;
  std::size_t to, from, cell;
  Word salt;
  int how;
};

Word mix(Word a, Word b) {
  a ^= b + 0x9e3779b97f4a7c15ULL + (a << 6) + (a >> 2);
  return a * 0xff51afd7ed558ccdULL;
}
constexpr Word most = 60;  // indices

std::vector<Step> make_steps(Random& random, std::size_t count) {
  std::vector<Step> steps;
  std::size_t numbers = 0;
  for (std::size_t k = 0; k < count; ++k) {
    Step step{static_cast<Step::Kind>(pick(random, 0, Step::count - 1)),
              {static_cast<Size::Kind>(pick(random, 0, Size::count - 1)), pick(random, 0, most), 0},
              pick(random, 0, arrays - 1),
              pick(random, 0, arrays - 1),
              pick(random, 0, cells - 1),
              random(),
              static_cast<int>(pick(random, 0, 3))};
    if (step.kind == Step::number) ++numbers;
    if (step.size.kind == Size::future && numbers == 0) step.size.kind = Size::number;
    step.size.which = step.size.kind == Size::future && numbers > 0 ? pick(random, 0, numbers - 1)
                                                                    : pick(random, 0, arrays - 1);
    if (step.kind == Step::number && step.size.kind == Size::future) step.size.kind = Size::number;
    steps.push_back(step);
  }
  return steps;
}

/// One by one, in plain memory.
struct Plain {
  std::vector<std::vector<Word>> words = std::vector<std::vector<Word>>(arrays);
  std::vector<Word> values = std::vector<Word>(cells);
  std::vector<Word> numbers;

  [[nodiscard]] Word size(Size const& size) const {
    switch (size.kind) {
      case Size::future:
        return numbers[size.which];
      case Size::extent:
        return words[size.which].size();
      default:
        return size.number_;
    }
  }
  void round(std::vector<Step> const& steps) {
    numbers.clear();
    for (Step const& step : steps) run(step);
  }
  void run(Step const& step) {
    Word const n = size(step.size);
    auto& to = words[step.to];
    auto const from = words[step.from];
    Word& cell = values[step.cell];
    switch (step.kind) {
      case Step::number:
        numbers.push_back(mix(cell, step.salt) % (most + 1));
        break;
      case Step::allocation:
        to.assign(n, 0);
        for (Word i = 0; i < n; ++i) to[i] = step.how == 0 ? step.salt : mix(step.salt, i);
        break;
      case Step::map:
        for (Word i = 0; i < n; ++i)
          if (i < to.size()) to[i] = mix(to[i] + (i < from.size() ? from[i] : i), step.salt);
        break;
      case Step::sum:
        for (Word i = 0; i < n; ++i) cell += mix(i < from.size() ? from[i] : i, step.salt);
        break;
      case Step::scan: {
        Word sum = 0;
        for (Word i = 0; i < n; ++i) {
          sum += i < from.size() ? from[i] : i;
          if (i < to.size()) to[i] = sum;
        }
        cell = mix(cell, sum);
        break;
      }
      case Step::copy:
        to = from;
        break;
      case Step::children:
        for (Word i = 0; i < n; ++i) cell += mix(step.salt, i);
        break;
      default:
        break;
    }
  }
};

class Program {
 public:
  Program(TaskGraph& graph, std::vector<Step> const& steps, Plain const& start)
      : m_graph(graph), m_steps(steps) {
    for (std::size_t k = 0; k < cells; ++k) {
      m_cells.emplace_back("cell " + std::to_string(k));
      m_cells.back()() = start.values[k];
    }
    for (std::size_t k = 0; k < arrays; ++k) {
      m_arrays.emplace_back("array " + std::to_string(k));
      allocate("first", ResourcePolicy(graph), m_arrays.back(), start.words[k].size());
      deep_copy(
          graph, m_arrays.back(),
          Kokkos::View<Word const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
              start.words[k].data(), start.words[k].size()));
    }
    graph.wait();
  }
  void round() {
    m_numbers.clear();
    for (Step const& step : m_steps) submit(step);
  }
  void check(Plain const& expected) const {
    for (std::size_t k = 0; k < cells; ++k) EXPECT_EQ(m_cells[k](), expected.values[k]) << k;
    for (std::size_t k = 0; k < arrays; ++k)
      EXPECT_EQ(contents(m_arrays[k]), expected.words[k]) << k;
  }

 private:
  /// `call(base)` with what the size is.
  template <class Call>
  void with(Size const& size, Call const& call) {
    switch (size.kind) {
      case Size::future:
        return call(m_numbers[size.which]);
      case Size::extent:
        return call(extent(m_arrays[size.which]));
      default:
        return call(size.number_);
    }
  }

  struct Map {
    Word salt;
    void operator()(std::size_t i, Words::view const& to, Words::read_view const& from) const {
      if (i < to.extent(0)) to(i) = mix(to(i) + (i < from.extent(0) ? from(i) : i), salt);
    }
    void operator()(std::size_t i, Words::view const& to) const {  // from itself
      if (i < to.extent(0)) to(i) = mix(to(i) + to(i), salt);
    }
  };

  void submit(Step const& step) {
    Words const to = m_arrays[step.to], from = m_arrays[step.from];
    Cell const cell = m_cells[step.cell];
    Word const salt = step.salt;
    switch (step.kind) {
      case Step::number:
        m_numbers.push_back(host_task("number", ResourcePolicy(m_graph, read(cell)),
                                      [=] { return mix(cell(), salt) % (most + 1); }));
        break;
      case Step::allocation:
        with(step.size, [&](auto const& n) { start(step, to, n); });
        break;
      case Step::map:
        with(step.size, [&](auto const& n) {
          if (step.to == step.from)
            parallel_for("map", ResourcePolicy(m_graph, n, read_write(to)), Map{salt});
          else if (step.how < 2)
            parallel_for("map", ResourcePolicy(m_graph, n, read_write(to), read(from), fusable),
                         Map{salt});
          else
            parallel_for("map", ResourcePolicy(m_graph, n, read_write(to), read(from)), Map{salt});
        });
        break;
      case Step::sum:
        with(step.size, [&](auto const& n) {
          auto const add = [=](std::size_t i, Words::read_view const& of, Word& s) {
            s += mix(i < of.extent(0) ? of(i) : i, salt);
          };
          auto const sum = parallel_reduce("sum", ResourcePolicy(m_graph, n, read(from)), add);
          host_task("keep", ResourcePolicy(m_graph, value(sum), read_write(cell)),
                    [](Word s, Cell const& c) { c() += s; });
        });
        break;
      case Step::scan:
        with(step.size, [&](auto const& n) { scan(step, to, from, n); });
        break;
      case Step::copy:
        if (step.to == step.from) break;
        allocate("as large", ResourcePolicy(m_graph), to, extent(from));
        deep_copy("copy", m_graph, to, from);
        break;
      case Step::children:
        with(step.size, [&](auto const& n) { children(n, cell, salt); });
        break;
      default:
        break;
    }
  }
  /// A child may name only what its parent names: the parent knows the number, or reads the shape.
  static void split(TaskScope& self, auto const& n, Cell const& cell, Word salt) {
    Words const inner = self.local(Words("inner"));
    allocate("room", ResourcePolicy(self), inner, n);
    parallel_for("fill", ResourcePolicy(self, extent(inner), write(inner)),
                 [=](std::size_t i, Words::view const& all) { all(i) = mix(salt, i); });
    auto const sum =
        parallel_reduce("sum", ResourcePolicy(self, extent(inner), read(inner)),
                        [](std::size_t i, Words::read_view const& all, Word& s) { s += all(i); });
    host_task("keep", ResourcePolicy(self, value(sum), read_write(cell)),
              [](Word s, Cell const& c) { c() += s; });
  }
  void children(Future<Word> const& n, Cell const& cell, Word salt) {
    host_task("children", ResourcePolicy(m_graph, value(n), read_write(cell)),
              [=](TaskScope& self, Word count, Cell const& c) { split(self, count, c, salt); });
  }
  void children(Word n, Cell const& cell, Word salt) {
    host_task("children", ResourcePolicy(m_graph, read_write(cell)),
              [=](TaskScope& self) { split(self, n, cell, salt); });
  }
  template <class Extent>
  void children(Extent const& n, Cell const& cell, Word salt) {
    host_task("children",
              ResourcePolicy(m_graph, read_write(cell), std::get<0>(n.source.annotations())),
              [=](TaskScope& self) { split(self, n, cell, salt); });
  }

  template <class N>
  void start(Step const& step, Words const& to, N const& n) {
    Word const salt = step.salt;
    allocate("room", ResourcePolicy(m_graph), to, n);
    if (step.how == 0)
      deep_copy("fill", m_graph, to, salt);
    else
      parallel_for("fill", ResourcePolicy(m_graph, extent(to), write(to)),
                   [=](std::size_t i, Words::view const& all) { all(i) = mix(salt, i); });
  }
  template <class N>
  void scan(Step const& step, Words const& to, Words const& from, N const& n) {
    auto const keep = [&](Future<Word> const& sum) {
      Cell const cell = m_cells[step.cell];
      host_task("keep", ResourcePolicy(m_graph, value(sum), read_write(cell)),
                [](Word s, Cell const& c) { c() = mix(c(), s); });
    };
    if (step.to == step.from) {
      keep(parallel_scan("scan", ResourcePolicy(m_graph, n, read_write(to)),
                         [](std::size_t i, Words::view const& all, Word& s, bool is_final) {
                           // Each element is read in its own place before it is written.
                           Word const here = i < all.extent(0) ? all(i) : i;
                           s += here;
                           if (is_final && i < all.extent(0)) all(i) = s;
                         }));
      return;
    }
    keep(parallel_scan("scan", ResourcePolicy(m_graph, n, read(from), write(to)),
                       [](std::size_t i, Words::read_view const& all, Words::view const& sums,
                          Word& s, bool is_final) {
                         s += i < all.extent(0) ? all(i) : i;
                         if (is_final && i < sums.extent(0)) sums(i) = s;
                       }));
  }

  TaskGraph& m_graph;
  std::vector<Step> const& m_steps;
  std::vector<Words> m_arrays;
  std::vector<Cell> m_cells;
  std::vector<Future<Word>> m_numbers;
};

void run_seed(std::uint64_t seed) {
  Random random(seed);
  std::vector<Step> const steps = make_steps(random, pick(random, 3, 30));
  Plain start;
  for (auto& each : start.words) {
    each.resize(pick(random, 0, most));
    for (Word& word : each) word = random();
  }
  for (Word& each : start.values) each = random();
  Plain expected = start;
  std::uint64_t const rounds = pick(random, 1, 5);
  for (std::uint64_t k = 0; k < rounds; ++k) expected.round(steps);

  TaskGraphOptions options;
  options.workers = static_cast<int>(pick(random, 1, 2));
  options.serial = pick(random, 0, 9) == 0;
  if (pick(random, 0, 1) == 0) options.policy = make_shake_policy(seed);
  TaskGraph graph(options);
  Program program(graph, steps, start);
  switch (pick(random, 0, 2)) {
    case 0:
      for (std::uint64_t k = 0; k < rounds; ++k) program.round();
      break;
    case 1:
      graph.replay(graph.record("plan", [&] { program.round(); }), rounds);
      break;
    default:
      graph.iterate("loop", rounds, [&] { program.round(); });
  }
  graph.wait();
  program.check(expected);
}

TEST_F(RandomSizes, ProgramsGiveWhatTheyGiveOneByOne) {
  for (std::uint64_t const seed : random_program::seeds(8)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run_seed(seed);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace trellis
