// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where data comes from and goes to: what is read and nobody has written, what is written and
// nobody reads.
#include "WarnTest.hpp"

#include <Trellis_States.hpp>
#include <Trellis_Token.hpp>

#include <utility>

namespace trellis {
namespace {

using namespace Test;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

/// Tasks that do what they say.
void fill_view(TaskGraph& graph, V const& x, Label label = "fill") {
  parallel_for(
      std::move(label), ResourcePolicy(graph, Range(0, x.extent(0)), write(x)),
      KOKKOS_LAMBDA(int i) { x(i) = i; });
}
void copy_over(TaskGraph& graph, V const& from, V const& to, Label label = "use") {
  parallel_for(
      std::move(label), ResourcePolicy(graph, Range(0, from.extent(0)), read(from), write(to)),
      KOKKOS_LAMBDA(int i) { to(i) = from(i); });
}
template <class X>
void look_at(TaskGraph& graph, X const& x) {
  host_task("look", ResourcePolicy(graph, read(x)), [x] { (void)x; });
}
/// The place of a warning is the call site of its task, and stands behind the task in its text.
void expect_place(Warning const& warning, std::uint_least32_t line) {
  EXPECT_THAT(warning.place,
              AllOf(HasSubstr("TestWarnFlow.cpp"), EndsWith(":" + std::to_string(line))));
  EXPECT_THAT(warning.text, HasSubstr("task \"" + warning.task + "\" (" + warning.place + ")"));
}

// --- writing what nobody reads -------------------------------------------------------------------

SPACE_TEST(WarnFlow, AViewThatIsGoneBeforeAnybodyReadsItWasWrittenInVain) {
  std::uint_least32_t line = 0;
  Warning const warning = the_only(
      [&](TaskGraph& graph) {
        V const x("left over", n);
        line = __LINE__ + 1;
        fill_view(graph, x, Label("write it"));
      },
      WarningKind::never_read);
  EXPECT_EQ(warning.task, "write it");
  EXPECT_EQ(warning.resource, "left over");
  EXPECT_EQ(warning.area, "[0, 10)");
  expect_place(warning, line);
  EXPECT_THAT(warning.text,
              AllOf(HasSubstr("writes \"left over\" [0, 10)"), HasSubstr("nobody reads it")));
}

SPACE_TEST(WarnFlow, TheAreaIsTold) {
  Kokkos::View<int**, Kokkos::LayoutRight, Memory> whole("plane", 8, 8);
  Heard const heard([&](TaskGraph& graph) {
    auto const part = Kokkos::subview(whole, std::pair(2, 5), std::pair(1, 3));
    for (int time = 0; time < 2; ++time)
      host_task("part", ResourcePolicy(graph, write(part)), [part] { (void)part; });
  });
  ASSERT_EQ(heard.all().size(), 1u) << heard.text();
  EXPECT_EQ(heard.all()[0].area, "[2, 5) x [1, 3)");
  EXPECT_EQ(heard.all()[0].resource, "plane");
}

SPACE_TEST(WarnFlow, WhatATaskOrTheHostMayReadIsNotWrittenInVain) {
  V const kept("kept", n), other("other", n);
  expect_silence([&](TaskGraph& graph) { fill_view(graph, kept); });  // until the graph has ended
  expect_silence([&](TaskGraph& graph) {
    V const x("x", n);
    fill_view(graph, x);
    copy_over(graph, x, other);
  });
  expect_silence([&](TaskGraph& graph) {
    V const x("x", n);
    fill_view(graph, x);
    graph.wait();
    EXPECT_EQ(value_of(x), 0);
  });
  expect_silence([&](TaskGraph& graph) {
    V const x("x", n);
    parallel_for(
        "fill", ResourcePolicy(graph, Range(0, n), write(x)), KOKKOS_LAMBDA(int i) { x(i) = i; })
        .wait();
  });
  expect_silence([&](TaskGraph& graph) {  // asks until it is done
    V const x("x", n);
    auto const done = parallel_for(
        "fill", ResourcePolicy(graph, Range(0, n), write(x)), KOKKOS_LAMBDA(int i) { x(i) = i; });
    while (!done.is_done()) std::this_thread::yield();
  });
  expect_silence([&](TaskGraph& graph) {  // a part of it
    V const x("x", n);
    fill_view(graph, x);
    look_at(graph, Kokkos::subview(x, std::pair(3, 4)));
  });
  expect_silence([&](TaskGraph& graph) {  // somebody who may touch everything
    V const x("x", n);
    fill_view(graph, x);
    host_task("all", ResourcePolicy(graph, synchronizing), [x] { (void)x; });
  });
}

SPACE_TEST(WarnFlow, AViewThatIsDroppedLaterIsFoundWhileTheGraphGoesOn) {
  Heard const heard([&](TaskGraph& graph) {
    for (int k = 0; k < 100; ++k) {
      V const x("each", n);
      fill_view(graph, x);
    }
  });
  ASSERT_FALSE(heard.all().empty());
  EXPECT_EQ(heard.all().front().kind, WarningKind::never_read);
  EXPECT_EQ(heard.all().back().count, 100u) << "told once, and counted";
  EXPECT_EQ(heard.all().size(), 2u) << heard.text();
}

// --- writing over it -----------------------------------------------------------------------------

SPACE_TEST(WarnFlow, TwoWritesWithoutAReaderBetweenThem) {
  V const x("x", n);
  std::uint_least32_t line = 0;
  Warning const warning = the_only(
      [&](TaskGraph& graph) {
        line = __LINE__ + 1;
        fill_view(graph, Kokkos::subview(x, std::pair(0, 4)), Label("first"));
        fill_view(graph, x, Label("second"));
      },
      WarningKind::overwritten);
  EXPECT_EQ(warning.task, "first");
  expect_place(warning, line);
  EXPECT_THAT(warning.text, HasSubstr("TestWarnFlow.cpp:" + std::to_string(line + 1) + ")"))
      << "and who writes over it";
  EXPECT_EQ(warning.resource, "x");
  EXPECT_EQ(warning.area, "[0, 4)");
  EXPECT_THAT(warning.text, AllOf(HasSubstr("task \"first\""), HasSubstr("task \"second\""),
                                  HasSubstr("[0, 10)")));
}

SPACE_TEST(WarnFlow, CopiesAndFillsAreWrites) {
  V const x("x", n), y("y", n);
  EXPECT_EQ(the_only(
                [&](TaskGraph& graph) {
                  trellis::deep_copy("zero", graph, x, 0.0);
                  trellis::deep_copy("copy", graph, x, y);
                },
                WarningKind::overwritten)
                .task,
            "zero");
  expect_silence([&](TaskGraph& graph) {
    trellis::deep_copy("zero", graph, x, 0.0);
    trellis::deep_copy("copy", graph, y, x);
    trellis::deep_copy("zero again", graph, x, 0.0);
  });
}

SPACE_TEST(WarnFlow, AWriteThatSomebodyMayHaveReadMayBeOverwritten) {
  V const x("x", n), y("y", n);
  expect_silence([&](TaskGraph& graph) {
    for (int k = 0; k < 3; ++k) {
      fill_view(graph, x);
      copy_over(graph, x, y);
      look_at(graph, y);
    }
  });
  expect_silence([&](TaskGraph& graph) {  // the host
    for (int k = 0; k < 3; ++k) {
      fill_view(graph, x);
      graph.wait();
    }
  });
  expect_silence([&](TaskGraph& graph) {  // any part of it
    fill_view(graph, x);
    look_at(graph, Kokkos::subview(x, std::pair(9, 10)));
    fill_view(graph, x);
  });
}

SPACE_TEST(WarnFlow, WhoGoesOnWithWhatHeFindsReadsIt) {
  V const x("x", n), y("y", n);
  expect_silence([&](TaskGraph& graph) {
    auto const with = [&](auto const& access) {
      host_task("go on", ResourcePolicy(graph, access), [x] { (void)x; });
    };
    fill_view(graph, x);
    with(read_write(x));
    with(atomic_add(atomic_view<V>(x)));
    with(atomic_add(atomic_view<V>(x)));
    with(atomic_mul(atomic_view<V>(x)));
    with(exclusive(x));
    with(exclusive(x));
    with(read_write(x));
  });
}

SPACE_TEST(WarnFlow, AFillAndThenItsInsideIsNotWrittenInVain) {
  V const x("x", n), y("y", n);
  expect_silence([&](TaskGraph& graph) {
    trellis::deep_copy(graph, x, 0.0);
    fill_view(graph, Kokkos::subview(x, std::pair(1, n - 1)));
    copy_over(graph, x, y);
  });
}

SPACE_TEST(WarnFlow, PiecesOfOneCallThatOverlap) {
  V const x("x", 40);
  auto const pieces = [&](TaskGraph& graph, int size) {
    for (int k = 0; k < 5; ++k) {
      auto const piece = Kokkos::subview(x, std::pair(8 * k, 8 * k + size));
      fill_view(graph, piece, Label("piece"));
    }
    look_at(graph, x);
  };
  std::uint_least32_t line = 0;
  Heard const heard([&](TaskGraph& graph) {
    for (int k = 0; k < 4; ++k) {
      line = __LINE__ + 1;
      fill_view(graph, Kokkos::subview(x, std::pair(8 * k, 8 * k + 10)), Label("piece"));
    }
    look_at(graph, x);
  });
  ASSERT_EQ(heard.all().size(), 2u) << heard.text();
  EXPECT_EQ(heard.all()[0].kind, WarningKind::overwritten);
  EXPECT_EQ(heard.all()[0].area, "[8, 18)");
  expect_place(heard.all()[0], line);
  EXPECT_THAT(heard.all()[0].text, HasSubstr("[0, 10)"));
  EXPECT_EQ(heard.all()[1].count, 3u);
  expect_silence([&](TaskGraph& graph) { pieces(graph, 8); });
}

/// Each side of a frame writes the corners.
SPACE_TEST(WarnFlow, ARowAndAColumnMayCross) {
  Kokkos::View<int**, Kokkos::LayoutRight, Memory> const frame("frame", 8, 8);
  expect_silence([&](TaskGraph& graph) {
    auto const side = [&](auto const& cells) {
      host_task("side", ResourcePolicy(graph, write(cells)), [cells] { (void)cells; });
    };
    side(Kokkos::subview(frame, 0, Kokkos::ALL));
    side(Kokkos::subview(frame, Kokkos::ALL, 0));
    side(Kokkos::subview(frame, 7, Kokkos::ALL));
    side(Kokkos::subview(frame, Kokkos::ALL, 7));
    look_at(graph, frame);
  });
}

struct Journal {
  enum class Entry { append, read, none };
  static constexpr std::size_t size = 3;
  static constexpr bool dependent[size][size] = {{true, true, false}, {true, false, false}, {}};
  static constexpr std::string_view to_string(Entry) { return "journal"; }
};

SPACE_TEST(WarnFlow, OfTokensStatesAndForeignMemoryNothingIsKnown) {
  double values[4] = {};
  Kokkos::View<double*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const there(
      values, 4);
  Token const token("token", 2);
  V const x("x", n);
  using Use = MatrixAccess<Journal>;
  expect_silence([&](TaskGraph& graph) {
    for (int k = 0; k < 3; ++k) {
      host_task("token", ResourcePolicy(graph, write(token)), [] {});
      host_task("half", ResourcePolicy(graph, write(token.part(0))), [] {});
      host_task("there", ResourcePolicy(graph, write(there)), [] {});
      host_task("state", ResourcePolicy(graph, access(x, Use(Journal::Entry::append))), [] {});
    }
  });
}

// --- reading what nobody has written -------------------------------------------------------------

SPACE_TEST(WarnFlow, AReaderThatComesBeforeItsWriter) {
  V const y("y", n);
  std::uint_least32_t line = 0;
  Heard const heard([&](TaskGraph& graph) {
    V const x("x", n);
    line = __LINE__ + 1;
    copy_over(graph, x, y, Label("too early"));
    fill_view(graph, x, Label("too late"));
  });
  auto const early = heard.of(WarningKind::read_unwritten);
  ASSERT_EQ(early.size(), 1u) << heard.text();
  EXPECT_EQ(early[0].task, "too early");
  EXPECT_EQ(early[0].resource, "x");
  expect_place(early[0], line);
  EXPECT_THAT(early[0].text, HasSubstr("TestWarnFlow.cpp:" + std::to_string(line + 1) + ")"))
      << "and who writes it later";
  EXPECT_THAT(early[0].text, AllOf(HasSubstr("task \"too late\""), HasSubstr("[0, 10)")));
  ASSERT_EQ(heard.of(WarningKind::never_read).size(), 1u);
  EXPECT_EQ(heard.all().size(), 2u) << heard.text();
}

SPACE_TEST(WarnFlow, WhatTheHostHasFilledMayBeReadFirst) {
  V const x("x", n), y("y", n);
  Kokkos::deep_copy(x, 1.0);
  expect_silence([&](TaskGraph& graph) {  // two buffers that swap roles
    for (int k = 0; k < 4; ++k) copy_over(graph, k % 2 == 0 ? x : y, k % 2 == 0 ? y : x);
  });
  Heard const heard([&](TaskGraph& graph) {  // some of it was written before
    V const z("z", n);
    fill_view(graph, Kokkos::subview(z, std::pair(0, 5)));
    copy_over(graph, z, y);
    fill_view(graph, z);
  });
  EXPECT_EQ(heard.all().size(), 1u) << heard.text();
  EXPECT_EQ(heard.of(WarningKind::never_read).size(), 1u) << heard.text();
  expect_silence([&](TaskGraph& graph) {  // and a sum that begins with nothing
    V const sum("sum", 1);
    host_task("add", ResourcePolicy(graph, atomic_add(sum)),
              [](atomic_view<V> const& to) { to(0) += 1; });
    look_at(graph, sum);
  });
}

#ifdef __linux__
constexpr std::size_t large = std::size_t{1} << 26;  // elements; fresh pages that are never touched

SPACE_TEST(WarnFlow, MemoryThatHasNeverBeenTouchedHasNotBeenWritten) {
  if (!std::is_same_v<Memory, Kokkos::HostSpace>) GTEST_SKIP() << "not in ordinary memory";
  auto const make = [] { return V(Kokkos::view_alloc("x", Kokkos::WithoutInitializing), large); };
  V const y("y", n);
  // The second half: the address sanitizer writes to the first page.
  std::uint_least32_t line = 0;
  auto const read_half = [&](TaskGraph& graph, V const& x) {
    auto const part = Kokkos::subview(x, std::pair(large / 2, large));
    line = __LINE__ + 1;
    Label const read_it("read");
    parallel_for(
        read_it, ResourcePolicy(graph, Range(0, n), read(part), write(y)),
        KOKKOS_LAMBDA(int i) { y(i) = i < 0 ? part(i) : 0; });
  };
  V const x = make();
  Warning const warning =
      the_only([&](TaskGraph& graph) { read_half(graph, x); }, WarningKind::read_unwritten);
  EXPECT_EQ(warning.task, "read");
  EXPECT_EQ(warning.resource, "x");
  expect_place(warning, line);
  EXPECT_EQ(warning.area, "[" + std::to_string(large / 2) + ", " + std::to_string(large) + ")");
  expect_silence([&](TaskGraph& graph) {  // a task writes it
    fill_view(graph, Kokkos::subview(x, std::pair(large - 5, large)));
    read_half(graph, x);
  });
  V const z = make();
  z(large - large / 4) = 1;  // the host has written some of it
  expect_silence([&](TaskGraph& graph) { read_half(graph, z); });
}
#endif

// --- the same, one by one ------------------------------------------------------------------------

SPACE_TEST(WarnFlow, SeriallyItIsTheSame) {
  V const x("x", n), y("y", n);
  EXPECT_EQ(the_only(
                [&](TaskGraph& graph) {
                  fill_view(graph, x, Label("first"));
                  fill_view(graph, x, Label("second"));
                },
                WarningKind::overwritten, serially())
                .task,
            "first");
  the_only(
      [&](TaskGraph& graph) {
        V const z("z", n);
        fill_view(graph, z);
      },
      WarningKind::never_read, serially());
  expect_silence(
      [&](TaskGraph& graph) {
        fill_view(graph, x);
        copy_over(graph, x, y);
        fill_view(graph, x);
      },
      serially());
}

}  // namespace
}  // namespace trellis
