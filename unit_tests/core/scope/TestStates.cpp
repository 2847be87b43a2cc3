// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Access states that users bring.
#include "BareTask.hpp"
#include "Memory.hpp"
#include "Timing.hpp"

#include <gmock/gmock.h>

namespace trellis {
namespace {

using namespace Bare;
using namespace Test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class States : public Timed {};

/// A journal: anybody may append at the same time, readers see a settled state, `compact` is alone
/// but at any time between other compactions.
struct Journal {
  enum class Entry { append, read, compact, none };
  static constexpr std::size_t size = 4;
  static constexpr bool dependent[size][size] = {
      {false, true, true, false},
      {true, false, true, false},
      {true, true, false, false},
      {false, false, false, false},
  };
  static constexpr bool exclusive[size][size] = {{}, {}, {false, false, true, false}, {}};
  static constexpr std::string_view to_string(Entry entry) {
    constexpr std::string_view names[] = {"append", "read", "compact", "none"};
    return names[static_cast<std::size_t>(entry)];
  }
};
using Use = MatrixAccess<Journal>;
using Where = AreaAccess<int, 1>;
using Field = CombinedAccess<MatrixAccess<IOMatrix>, Where>;

TEST_F(States, OfAMatrixOfTheUsers) {
  Block journal("journal");
  TaskGraph graph(recorded(2));
  auto const use = [&](char const* name, Journal::Entry entry) {
    task(graph, name, {touches(journal, Use(entry))}, [] {});
  };
  use("a", Journal::Entry::append);
  use("b", Journal::Entry::append);
  use("c", Journal::Entry::read);
  use("d", Journal::Entry::append);
  use("e", Journal::Entry::none);
  use("f", Journal::Entry::read);
  graph.wait();
  EXPECT_THAT(edges_of(graph.dependency_graph()), ElementsAre("a>c", "b>c", "c>d", "d>f"));
  EXPECT_EQ(graph.dependency_graph().node(1).accesses.front().mode, "append");
}

TEST_F(States, ThatExcludeEachOtherRunInAnyOrderButAlone) {
  Block journal("journal");
  TaskGraph graph(recorded(3));
  Occupancy occupancy;
  for (int k = 0; k < 50; ++k)
    task(graph, "c" + std::to_string(k), {touches(journal, Use(Journal::Entry::compact))}, [&] {
      Occupancy::Stay const stay(occupancy);
      journal[0] += 1;
    });
  graph.wait();
  EXPECT_EQ(occupancy.most(), 1);
  EXPECT_EQ(journal[0], 50);
  EXPECT_THAT(graph.dependency_graph().edges(), IsEmpty());
  // A chain in the order that was chosen.
  EXPECT_EQ(graph.scheduling_graph().edges().size(), 49U);
}

TEST_F(States, ModesAndAreasInCoordinates) {
  Block field("field");
  TaskGraph graph(recorded(2));
  auto const use = [&](char const* name, Mode mode, int first, int last) {
    task(graph, name, {touches(field, Field(mode, Where({{{first, last}}})))}, [] {});
  };
  use("left", Mode::write, 0, 9);
  use("right", Mode::write, 10, 19);
  use("middle", Mode::read, 9, 10);
  use("far", Mode::read, 15, 19);
  use("all", Mode::read_write, 0, 19);
  use("again", Mode::read, 3, 4);
  graph.wait();
  EXPECT_THAT(edges_of(graph.dependency_graph()),
              ElementsAre("all>again", "far>all", "left>middle", "middle>all", "right>far",
                          "right>middle"));
}

TEST_F(States, ExclusiveInAreasThatOverlap) {
  Block field("field");
  TaskGraph graph(recorded(2));
  Gate held;
  auto const use = [&](char const* name, int first, int last, auto f) {
    task(graph, name, {touches(field, Field(Mode::exclusive, Where({{{first, last}}})))}, f);
  };
  use("left", 0, 5, [&] { EXPECT_TRUE(held.pass()); });
  use("right", 6, 9, [&] { held.open(); });
  use("middle", 5, 6, [&] { EXPECT_TRUE(held.is_open()); });
  graph.wait();
  EXPECT_THAT(graph.dependency_graph().edges(), IsEmpty());
  EXPECT_EQ(graph.scheduling_graph().edges().size(), 2U);
}

TEST_F(States, OfTwoTypesAndModesAreOrderedOneByOne) {
  Block x("x");
  TaskGraph graph(recorded(2));
  task(graph, "a", {touches(x, Use(Journal::Entry::append))}, [] {});
  task(graph, "b", {reads(x)}, [] {});
  task(graph, "c", {touches(x, Where({{{0, 1}}}))}, [] {});
  task(graph, "d", {reads(x)}, [] {});
  task(graph, "e", {nothing(x)}, [] {});
  graph.wait();
  EXPECT_THAT(edges_of(graph.dependency_graph()), testing::IsSupersetOf({"a>b", "b>c", "c>d"}));
  for (std::string const& edge : edges_of(graph.dependency_graph()))
    EXPECT_THAT(edge, testing::AnyOf("a>b", "b>c", "c>d", "a>c", "a>d"));
}

TEST_F(States, OfAreasThatOverlapOnly) {
  Block x("x", 4);
  TaskGraph graph(recorded(2));
  task(graph, "a", {touches(x(0, 2), Use(Journal::Entry::read))}, [] {});
  task(graph, "b", {touches(x(2, 2), Use(Journal::Entry::append))}, [] {});
  task(graph, "c", {touches(x(1, 2), Use(Journal::Entry::append))}, [] {});
  task(graph, "d", {touches(x, Use(Journal::Entry::read))}, [] {});
  graph.wait();
  EXPECT_THAT(edges_of(graph.dependency_graph()), ElementsAre("a>c", "b>d", "c>d"));
}

TEST_F(States, CanBeDemotedAndSplit) {
  Block field("field");
  TaskGraph graph(recorded(3));
  Gate end;
  auto const all = [](Mode mode, int first, int last) {
    return Field(mode, Where({{{first, last}}}));
  };
  task(graph, "demoter", {touches(field, all(Mode::read_write, 0, 9))}, [&] {
    child("child", {touches(field, all(Mode::read, 2, 3))}, [] {});
    EXPECT_EQ(
        error_of([&] { child("bad", {touches(field, all(Mode::read, 2, 10))}, [] {}); }).kind(),
        Error::Kind::bad_access);
    wait_for_children();
    EXPECT_EQ(error_of([&] { demote({touches(field, all(Mode::read, 5, 12))}); }).kind(),
              Error::Kind::bad_access);
    demote({touches(field, all(Mode::read, 0, 4)), touches(field, all(Mode::write, 5, 6))});
    EXPECT_TRUE(end.pass());
  });
  task(graph, "early", {touches(field, all(Mode::read_write, 7, 9))}, [&] { end.open(); });
  task(graph, "reader", {touches(field, all(Mode::read, 0, 5))},
       [&] { EXPECT_TRUE(end.is_open()); });
  graph.wait();
  EXPECT_THAT(edges_of(graph.dependency_graph()),
              ElementsAre("demoter>early released", "demoter>reader"));
}

struct Quarrelsome {
  int number;
  bool is_dependent_of(Quarrelsome const& other) const { return number < other.number; }
  bool is_superset_of(Quarrelsome const& other) const { return number == other.number; }
};

TEST_F(States, ThatDisagreeAreAnErrorAndNothingIsLost) {
  Block x("x");
  TaskGraph graph(with_workers(2));
  int ran = 0;
  task(graph, "first", {touches(x, Quarrelsome{1})}, [&] { ++ran; });
  Error const error = error_of([&] {
    task(graph, "second", {touches(x, Quarrelsome{2})}, [] { ADD_FAILURE() << "it ran"; });
  });
  EXPECT_EQ(error.kind(), Error::Kind::bad_access);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("\"x\""), HasSubstr("user-defined"), HasSubstr("do not agree")));
  task(graph, "third", {writes(x)}, [&] { ++ran; });
  graph.wait();
  EXPECT_EQ(ran, 2);
}

TEST_F(States, TakeConstantMemory) {
  Block x("x");
  TaskGraphOptions options = with_workers(2);
  options.in_flight = 64;
  TaskGraph graph(options);
  auto const submit = [&](int count) {
    for (int k = 0; k < count; ++k)
      task(graph, "t",
           {touches(x, Use(k % 5 == 0 ? Journal::Entry::append : Journal::Entry::read))}, [] {});
    graph.wait();
  };
  int const count = sanitized ? 20'000 : 200'000;
  submit(count / 10);
  std::size_t const tasks = graph.task_memory(), resident = resident_bytes();
  submit(count);
  EXPECT_LE(graph.task_memory(), 2 * tasks);
  EXPECT_LE(resident_bytes(), resident + (std::size_t{4} << 20));
}

}  // namespace
}  // namespace trellis
