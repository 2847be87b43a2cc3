// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An annotation of several resources is the annotations of each, one after the other.
#include <Trellis.hpp>

#include "SpaceTest.hpp"

#include <Trellis_Late.hpp>
#include <resources/Trellis_Containers.hpp>
#include <resources/Trellis_DualView.hpp>
#include <resources/Trellis_HostRange.hpp>

#include <Kokkos_Core.hpp>
#include <Kokkos_DualView.hpp>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <ranges>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace trellis {
namespace {
struct Ledger {
  View<double*> book;
  View<int*> index;
};
}  // namespace
template <>
struct ResourceTraits<Ledger> {
  static auto accesses(Ledger const& ledger, auto how) {
    return std::tuple(access(ledger.book, how), read(ledger.index));
  }
};
namespace {

template <class... A>
using ArgumentsOfAll = decltype(Impl::arguments_of<Space>(std::declval<std::tuple<A...> const&>()));

std::vector<std::string> texts(std::vector<AccessRecord> const& accesses) {
  std::vector<std::string> all;
  for (AccessRecord const& each : accesses)
    all.push_back(each.mode + ' ' + each.resource + ' ' + each.area + " #" +
                  std::to_string(each.resource_id));
  return all;
}

/// What the engine gets of each is the same, and so are the types of what a functor gets. Returns
/// what the engine gets.
template <class Several, class... One>
std::vector<std::string> expect_same(Several const& several, One const&... one) {
  static_assert(std::is_same_v<ArgumentsOfAll<Several>, ArgumentsOfAll<One...>>);
  TaskGraphOptions options;
  options.record = true;
  TaskGraph graph(options);
  host_task("several", ResourcePolicy(graph, several), [] {});
  host_task("one by one", ResourcePolicy(graph, one...), [] {});
  graph.wait();
  DependencyGraph const recorded = graph.dependency_graph();
  auto const accesses = [&](char const* label) {
    return texts(recorded.node(recorded.find(label).at(0)).accesses);
  };
  EXPECT_EQ(accesses("several"), accesses("one by one"));
  return accesses("several");
}

/// An annotation as an object.
#define TRELLIS_BY(annotation) \
  [](auto&&... resource) { return annotation(std::forward<decltype(resource)>(resource)...); }
/// `make()...`: the resources, by name or as temporaries.
template <class Annotate, class... Make>
void expect_same_by(Annotate annotate, Make const&... make) {
  expect_same(annotate(make()...), annotate(make())...);
}
template <class... Make>
void expect_same_in_each_mode(Make const&... make) {
  expect_same_by(TRELLIS_BY(read), make...);
  expect_same_by(TRELLIS_BY(write), make...);
  expect_same_by(TRELLIS_BY(read_write), make...);
  expect_same_by(TRELLIS_BY(atomic_add), make...);
  expect_same_by(TRELLIS_BY(atomic_mul), make...);
  expect_same_by(TRELLIS_BY(exclusive), make...);
  expect_same_by(TRELLIS_BY(none), make...);
}

struct Resources {
  View<double**> plane{"plane", 4, 6};
  View<double*> x{"x", 4}, y{"y", 4};
  std::vector<View<double*>> several{View<double*>("first", 4), View<double*>("second", 4)};
  Token token{"token"};
  std::vector<double> values = std::vector<double>(8);
  std::array<int, 3> numbers{};
  LateView<double*, Memory> late{"late", Memory()};
  Ledger ledger{View<double*>("book", 4), View<int*>("index", 4)};
};

SPACE_TEST(SeveralResources, AreWhatTheyAreOneByOne) {
  Resources r;
  auto const x = [&]() -> auto& { return r.x; };
  auto const y = [&]() -> auto& { return r.y; };
  auto const column = [&] { return Kokkos::subview(r.plane, Kokkos::ALL, 2); };
  auto const token = [&]() -> auto& { return r.token; };
  auto const new_token = [&] { return Token(r.token); };
  auto const range = [&]() -> auto& { return r.several; };
  auto const columns = [&] {
    return std::views::iota(3, 6) | std::views::transform([plane = r.plane](int k) {
             return Kokkos::subview(plane, Kokkos::ALL, k);
           });
  };
  auto const grouped = [&] { return group(r.y, Kokkos::subview(r.plane, Kokkos::ALL, 0)); };
  auto const values = [&]() -> auto& { return r.values; };
  auto const numbers = [&] { return std::span(r.numbers); };
  auto const ledger = [&]() -> auto& { return r.ledger; };
  expect_same_in_each_mode(x, column, token);
  expect_same_by(TRELLIS_BY(write), new_token, y, new_token, x, x);
  expect_same_by(TRELLIS_BY(read), range, x, columns);
  expect_same_by(TRELLIS_BY(atomic_add), columns, range);
  expect_same_by(TRELLIS_BY(write), grouped, x, grouped);
  expect_same_by(TRELLIS_BY(none), token, range, grouped);
  expect_same_by(TRELLIS_BY(read), values, numbers);
  expect_same_by(TRELLIS_BY(write), x, values, token);
  expect_same_by(TRELLIS_BY(read_write), ledger, numbers, range);
  expect_same_by(TRELLIS_BY(none), ledger, x);
  static_assert(std::is_same_v<
                ArgumentsOfAll<decltype(read(r.x, r.late, r.x))>,
                ArgumentsOfAll<decltype(read(r.x)), decltype(read(r.late)), decltype(read(r.x))>>);
  static_assert(std::is_same_v<ArgumentsOfAll<decltype(random_access(read(r.x, column())))>,
                               ArgumentsOfAll<decltype(random_access(read(r.x))),
                                              decltype(random_access(read(column())))>>);
  EXPECT_EQ(
      expect_same(write(r.x, r.token, r.several), write(r.x), write(r.token), write(r.several)),
      (std::vector<std::string>{"write x whole #1", "write token whole #2", "write first whole #3",
                                "write second whole #4"}));
  expect_same(restricted(write(r.x, r.several)), restricted(write(r.x)),
              restricted(write(r.several)));
  expect_same(with_traits<Kokkos::Aligned>(read_write(r.x, r.y)),
              with_traits<Kokkos::Aligned>(read_write(r.x)),
              with_traits<Kokkos::Aligned>(read_write(r.y)));
  AccessList together, apart;
  together.add(read(r.x, r.several)).add(write(r.values, r.token)).add(exclusive(column(), r.y));
  apart.read(r.x, r.several).write(r.values, r.token).exclusive(column(), r.y);
  expect_same(together, apart);
}

SPACE_TEST(SeveralResources, ComeToTheFunctorInTheirOrder) {
  TaskGraph graph;
  View<double*> a("a", 4), b("b", 4), c("c", 4), d("d", 4);
  View<int*> whole("whole", 4);
  Token const token("token");
  parallel_for(
      "fill", ResourcePolicy(graph, Range(0, 4), write(a, token, b, whole)),
      KOKKOS_LAMBDA(int i, View<double*> const& one, View<double*> const& ten,
                    View<int*> const& number) {
        one(i) = i;
        ten(i) = 10 * i;
        number(i) = -i;
      });
  using Read = read_view<View<double*>>;
  parallel_for(
      "axpy", ResourcePolicy(graph, Range(0, 4), read(a, b), priority(1), write(c, d), read(whole)),
      KOKKOS_LAMBDA(int i, Read one, Read ten, View<double*> sum, View<double*> difference,
                    read_view<View<int*>> number) {
        sum(i) = ten(i) + one(i);
        difference(i) = ten(i) - one(i) + number(i);
      });
  auto const total = parallel_reduce(
      "total", ResourcePolicy(graph, Range(0, 4), random_access(read(c, d))),
      KOKKOS_LAMBDA(int i, random_access_view<View<double*>> const& sum,
                    random_access_view<View<double*>> const& difference,
                    double& s) { s += sum(i) + 100 * difference(i); });
  EXPECT_EQ(total.get(), 66 + 4800);
  std::vector<double> values(4, 1), more(4, 2);
  auto const looked = host_task(
      "look", ResourcePolicy(graph, read(values, token, more)),
      [](std::span<double const> one, std::span<double const> two) { return two[3] - one[3]; });
  EXPECT_EQ(looked.get(), 1);
}

SPACE_TEST(SeveralResources, AreAddedToAtomically) {
  TaskGraphOptions options;
  options.workers = 2;
  TaskGraph graph(options);
  View<double*> x("x", 1), y("y", 1);
  using Sum = atomic_view<View<double*>>;
  for (int k = 0; k < 20; ++k)
    parallel_for(
        "count", ResourcePolicy(graph, Range(0, 1000), atomic_add(x, y)),
        KOKKOS_LAMBDA(int, Sum const& one, Sum const& two) {
          one(0) += 1;
          two(0) += 2;
        });
  graph.wait();
  EXPECT_EQ(trellis::Test::value_of(x), 20000);
  EXPECT_EQ(trellis::Test::value_of(y), 40000);
}

SPACE_TEST(SeveralResources, MayHaveMemoryLater) {
  TaskGraph graph;
  LateView<double*, Memory> late("late", Memory());
  View<double*> x("x", 3);
  allocate("allocate", ResourcePolicy(graph), late, 3);
  parallel_for(
      "fill", ResourcePolicy(graph, Range(0, 3), write(x, late)),
      KOKKOS_LAMBDA(int i, View<double*> const& known,
                    LateView<double*, Memory>::view const& made) {
        known(i) = i;
        made(i) = 2 * i;
      });
  auto const sum = parallel_reduce(
      "sum", ResourcePolicy(graph, Range(0, 3), read(late, x)),
      KOKKOS_LAMBDA(int i, LateView<double*, Memory>::read_view const& made,
                    read_view<View<double*>> const& known,
                    double& s) { s += 10 * made(i) + known(i); });
  EXPECT_EQ(sum.get(), 63);
}

SPACE_TEST(SeveralResources, MayHaveTwoSides) {
  TaskGraph graph;
  Kokkos::DualView<double*, Space> dual("dual", 3);
  View<double*> x("x", 3);
  dual.modify_device();
  parallel_for(
      "fill", ResourcePolicy(graph, Range(0, 3), write(dual, x)),
      KOKKOS_LAMBDA(int i, View<double*> const& one, View<double*> const& two) {
        one(i) = i;
        two(i) = 2 * i;
      });
  auto const sum = host_task(
      "sum", ResourcePolicy(graph, read(x, dual)),
      [](read_view<View<double*>> const& two, auto const& one) { return 10 * two(2) + one(2); });
  EXPECT_EQ(sum.get(), 42);
}

std::vector<std::vector<std::string>> demotions_of(TaskRecord const& task) {
  std::vector<std::vector<std::string>> all;
  for (DemotionRecord const& each : task.demotions) all.push_back(texts(each.accesses));
  return all;
}

SPACE_TEST(SeveralResources, AreGivenUpTogether) {
  TaskGraphOptions options;
  options.record = true;
  TaskGraph graph(options);
  View<double*> x("x", 4), y("y", 4), z("z", 4);
  host_task("together", ResourcePolicy(graph, read_write(x, y, z)), [=](TaskScope& self) {
    parallel_for(
        "child", ResourcePolicy(self, Range(0, 4), read(x, y), write(z)),
        KOKKOS_LAMBDA(int i) { z(i) = x(i) + y(i) + 1; });
    self.wait();
    self.demote(read(x, y));
    self.demote(none(z, x));
  });
  host_task("apart", ResourcePolicy(graph, read_write(x), read_write(y), read_write(z)),
            [=](TaskScope& self) {
              self.demote(read(x), read(y));
              self.demote(none(z), none(x));
            });
  graph.wait();
  EXPECT_EQ(trellis::Test::value_of(z), 1);
  DependencyGraph const recorded = graph.dependency_graph();
  auto const given_up = [&](char const* label) {
    return demotions_of(recorded.node(recorded.find(label).at(0)));
  };
  EXPECT_EQ(given_up("together").size(), 2);
  EXPECT_EQ(given_up("together"), given_up("apart"));
}

SPACE_TEST(SeveralResources, AreGivenUpFromOutside) {
  TaskGraphOptions options;
  options.workers = 2;
  TaskGraph graph(options);
  View<double*> x("x", 4), y("y", 4);
  Token const hold("hold");
  std::atomic<bool> has_begun{false}, is_over{false};
  host_task("holder", ResourcePolicy(graph, write(hold)), [&] {
    has_begun = true;
    while (!is_over) std::this_thread::yield();
  });
  // Else the wait below might run the holder itself.
  while (!has_begun) std::this_thread::yield();
  auto const task = host_task("task", ResourcePolicy(graph, read_write(x, hold, y)), [] {});
  auto const reader = host_task("reader", ResourcePolicy(graph, read(x, y)), [] {});
  EXPECT_TRUE(graph.demote(task, read(x, y)));
  reader.wait();
  EXPECT_FALSE(task.is_done());
  is_over = true;
  graph.wait();
}

}  // namespace
}  // namespace trellis

namespace user {

/// Kokkos' function of the same name is found, too, by the View.
SPACE_TEST(BareNames, OfACopyMeanTheTask) {
  using namespace trellis;
  Kokkos::View<double*, TRELLIS_TEST_SPACE> const x("x", 4), y("y", 4);
  TaskGraph graph;
  deep_copy(graph, x, 2.0);
  deep_copy("copy", ResourcePolicy(graph, priority(1)), y, x);
  deep_copy(ResourcePolicy(graph, read(x)), x, 3.0);
  parallel_for(
      std::string("double"), ResourcePolicy(graph, 4, read_write(y), on<TRELLIS_TEST_SPACE>),
      KOKKOS_LAMBDA(int i) { y(i) *= 2; });
  graph.wait();
  EXPECT_EQ(trellis::Test::values_of(y), std::vector<double>(4, 4));
  EXPECT_EQ(trellis::Test::values_of(x), std::vector<double>(4, 3));
}

/// The names mean functions of the system, too, where both are in sight.
SPACE_TEST(SeveralResources, LeaveTheFunctionsOfTheSystemAlone) {
  using namespace trellis;
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  int const sent[2] = {3, 4};
  int got[2] = {0, 0};
  EXPECT_EQ(write(ends[1], sent, sizeof sent), sizeof sent);
  EXPECT_EQ(read(ends[0], got, sizeof got), sizeof got);
  EXPECT_EQ(got[1], 4);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace user
