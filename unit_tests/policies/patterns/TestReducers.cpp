// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kokkos' reducers and the user's own: into Futures, into Views and several at once, with what
// plain Kokkos gives.
#include <Trellis.hpp>

#include "Ways.hpp"

#include <Kokkos_Core.hpp>
#include <gmock/gmock.h>

#include <atomic>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace trellis {
namespace {
namespace reducers {

using Test::in_every_way;
using Test::value_of;
using testing::HasSubstr;

constexpr int n = 997;  // a prime: the values below are all different

struct Fill {
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) = (i * 37 + 400) % n - 300; }
};
View<int*> filled() {
  View<int*> x("x", n);
  Kokkos::parallel_for(Range(0, n), Fill{x});
  Kokkos::fence();
  return x;
}

bool same(Kokkos::ValLocScalar<int, int> const& a, Kokkos::ValLocScalar<int, int> const& b) {
  return a.val == b.val && a.loc == b.loc;
}
bool same(Kokkos::MinMaxLocScalar<int, int> const& a, Kokkos::MinMaxLocScalar<int, int> const& b) {
  return a.min_val == b.min_val && a.max_val == b.max_val && a.min_loc == b.min_loc &&
         a.max_loc == b.max_loc;
}
bool same(Kokkos::MinMaxScalar<int> const& a, Kokkos::MinMaxScalar<int> const& b) {
  return a.min_val == b.min_val && a.max_val == b.max_val;
}

template <class T>
  requires std::is_arithmetic_v<T>
bool same(T a, T b) {
  return a == b;
}

/// The result of plain Kokkos, and the same from tasks: into a Future and into a View.
template <template <class> class ReducerIn, class Functor>
void check_reducer(View<int*> const& x, Functor const& functor) {
  using Value = typename Functor::value_type;
  using OnHost = ReducerIn<Kokkos::HostSpace>;
  using OnView = ReducerIn<Memory>;
  Value expected{};
  Kokkos::parallel_reduce(Range(0, n), functor, OnHost(expected));
  View<Value> const into("into");
  in_every_way(
      [&](auto& target) {
        parallel_reduce("view", ResourcePolicy(target, Range(0, n), read(x)), functor,
                        OnView(into));
        return parallel_reduce("future", ResourcePolicy(target, Range(0, n), read(x)), functor,
                               reduced<OnHost>);
      },
      [&](Future<Value> const& future) {
        EXPECT_TRUE(same(future.get(), expected));
        EXPECT_TRUE(same(value_of(into), expected));
      },
      x, into);
}

template <class Space>
using MinLoc = Kokkos::MinLoc<int, int, Space>;
template <class Space>
using MaxLoc = Kokkos::MaxLoc<int, int, Space>;
template <class Space>
using MinMaxLoc = Kokkos::MinMaxLoc<int, int, Space>;
template <class Space>
using MinMax = Kokkos::MinMax<int, Space>;
template <class Space>
using BAnd = Kokkos::BAnd<unsigned, Space>;
template <class Space>
using BOr = Kokkos::BOr<unsigned, Space>;
template <class Space>
using LAnd = Kokkos::LAnd<int, Space>;
template <class Space>
using LOr = Kokkos::LOr<int, Space>;
template <class Space>
using Prod = Kokkos::Prod<long, Space>;
template <class Space>
using MinFirstLoc = Kokkos::MinFirstLoc<int, int, Space>;

struct MinLocFunctor {
  using value_type = Kokkos::ValLocScalar<int, int>;
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i, value_type& v) const {
    if (x(i) < v.val) v.val = x(i), v.loc = i;
  }
};
struct MaxLocFunctor {
  using value_type = Kokkos::ValLocScalar<int, int>;
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i, value_type& v) const {
    if (x(i) > v.val) v.val = x(i), v.loc = i;
  }
};
struct MinMaxLocFunctor {
  using value_type = Kokkos::MinMaxLocScalar<int, int>;
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i, value_type& v) const {
    if (x(i) < v.min_val) v.min_val = x(i), v.min_loc = i;
    if (x(i) > v.max_val) v.max_val = x(i), v.max_loc = i;
  }
};
struct MinMaxFunctor {
  using value_type = Kokkos::MinMaxScalar<int>;
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i, value_type& v) const {
    if (x(i) < v.min_val) v.min_val = x(i);
    if (x(i) > v.max_val) v.max_val = x(i);
  }
};
struct BAndFunctor {
  using value_type = unsigned;
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i, unsigned& v) const {
    v &= ~(1u << (static_cast<unsigned>(x(i) + 300) % 20));
  }
};
struct BOrFunctor {
  using value_type = unsigned;
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i, unsigned& v) const {
    v |= 1u << (static_cast<unsigned>(x(i) + 300) % 27);
  }
};
struct LAndFunctor {
  using value_type = int;
  View<int*> x;
  int unlike;
  KOKKOS_FUNCTION void operator()(int i, int& v) const { v = v && x(i) != unlike; }
};
struct LOrFunctor {
  using value_type = int;
  View<int*> x;
  int like;
  KOKKOS_FUNCTION void operator()(int i, int& v) const { v = v || x(i) == like; }
};
struct ProdFunctor {
  using value_type = long;
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i, long& v) const {
    if (x(i) > 3 && x(i) < 15) v *= x(i);
  }
};

SPACE_TEST(Reducers, OfPlaces) {
  View<int*> const x = filled();
  check_reducer<MinLoc>(x, MinLocFunctor{x});
  check_reducer<MaxLoc>(x, MaxLocFunctor{x});
  check_reducer<MinMaxLoc>(x, MinMaxLocFunctor{x});
  check_reducer<MinMax>(x, MinMaxFunctor{x});
  check_reducer<MinFirstLoc>(x, MinLocFunctor{x});
}

SPACE_TEST(Reducers, OfBitsAndFlags) {
  View<int*> const x = filled();
  check_reducer<BAnd>(x, BAndFunctor{x});
  check_reducer<BOr>(x, BOrFunctor{x});
  check_reducer<LAnd>(x, LAndFunctor{x, 100});
  check_reducer<LAnd>(x, LAndFunctor{x, -301});  // none is
  check_reducer<LOr>(x, LOrFunctor{x, 100});
  check_reducer<LOr>(x, LOrFunctor{x, -301});
  check_reducer<Prod>(x, ProdFunctor{x});
}

// ---- the user's own

/// As Kokkos' documentation has it, no more: without init, final and references_scalar.
template <class Space>
struct AddComplex {
  using reducer = AddComplex;
  struct value_type {
    long re = 0, im = 0;
    bool operator==(value_type const&) const = default;
  };
  using result_view_type = Kokkos::View<value_type, Space>;
  explicit AddComplex(result_view_type const& view_) : m_view(view_) {}
  KOKKOS_FUNCTION void join(value_type& into, value_type const& from) const {
    into.re += from.re, into.im += from.im;
  }
  KOKKOS_FUNCTION value_type& reference() const { return *m_view.data(); }
  KOKKOS_FUNCTION result_view_type view() const { return m_view; }

 private:
  result_view_type m_view;
};
struct AddComplexFunctor {
  View<int*> x;
  template <class Value>
  KOKKOS_FUNCTION void operator()(int i, Value& sum) const {
    sum.re += x(i), sum.im += i * x(i);
  }
};
/// Says all that can be said, and has a state: the value that is nearest to `m_aim`.
template <class Space, bool has_final = true>
class Nearest {
 public:
  using reducer = Nearest;
  using value_type = int;
  using result_view_type = Kokkos::View<int, Space>;
  Nearest(result_view_type const& view_, int aim)
      : m_view(view_), m_aim(aim), m_is_variable(false) {}
  explicit Nearest(int& value) : m_view(&value), m_aim(0), m_is_variable(true) {}
  KOKKOS_FUNCTION void join(int& into, int const& from) const {
    if (distance(from) < distance(into)) into = from;
  }
  KOKKOS_FUNCTION void init(int& value) const { value = 1 << 20; }
  KOKKOS_FUNCTION void final(int& value) const
    requires has_final
  {
    value += 1000;
  }
  KOKKOS_FUNCTION int& reference() const { return *m_view.data(); }
  KOKKOS_FUNCTION result_view_type view() const { return m_view; }
  KOKKOS_FUNCTION bool references_scalar() const { return m_is_variable; }

 private:
  KOKKOS_FUNCTION int distance(int value) const {
    return value < m_aim ? m_aim - value : value - m_aim;
  }
  result_view_type m_view;
  int m_aim;
  bool m_is_variable;
};
struct NearestFunctor {
  View<int*> x;
  int aim;
  KOKKOS_FUNCTION void operator()(int i, int& v) const {
    if ((i % 5) != 0) return;
    int const new_distance = x(i) < aim ? aim - x(i) : x(i) - aim;
    int const distance = v < aim ? aim - v : v - aim;
    if (new_distance < distance) v = x(i);
  }
};

SPACE_TEST(Reducers, OfTheUsersOwnWithAState) {
  View<int*> const x = filled();
  View<int> const into("into");
  Nearest<Memory> const to_17(into, 17);
  Kokkos::parallel_reduce(Range(0, n), NearestFunctor{x, 17}, to_17);
  int const expected = value_of(into);
  int at_0 = 0;
  Kokkos::parallel_reduce(Range(0, n), NearestFunctor{x, 0}, Nearest<Kokkos::HostSpace>(at_0));
  EXPECT_NE(expected, at_0);
  in_every_way(
      [&](auto& target) {
        deep_copy("clear", target, into, 0);
        parallel_reduce("nearest", ResourcePolicy(target, Range(0, n), read(x)),
                        NearestFunctor{x, 17}, to_17);
        return parallel_reduce("nearest", ResourcePolicy(target, Range(0, n), read(x)),
                               NearestFunctor{x, 0}, reduced<Nearest<Kokkos::HostSpace>>);
      },
      [&](Future<int> const& nearest) {
        EXPECT_EQ(value_of(into), expected);
        EXPECT_EQ(nearest.get(), at_0);
      },
      x, into);
  TaskGraph graph;
  EXPECT_THAT(Test::error_of([&] {
                parallel_reduce("gone", ResourcePolicy(graph, Range(0, n), read(x)),
                                NearestFunctor{x, 0}, Nearest<Kokkos::HostSpace>(at_0));
              }).what(),
              testing::AllOf(HasSubstr("\"gone\""), HasSubstr("reduces into a variable")));
}

SPACE_TEST(Reducers, OfTheUsersOwnThatSayLittle) {
  View<int*> const x = filled();
  using OnView = AddComplex<Memory>;
  using Value = OnView::value_type;
  View<Value> const into("into");
  long re = 0, im = 0;
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  for (int i = 0; i < n; ++i) re += host(i), im += i * host(i);
  in_every_way(
      [&](auto& target) {
        parallel_reduce("sum", ResourcePolicy(target, Range(0, n), read(x)), AddComplexFunctor{x},
                        OnView(into));
        return parallel_reduce("sum", ResourcePolicy(target, Range(0, n), read(x)),
                               AddComplexFunctor{x}, reduced<OnView>);
      },
      [&](Future<Value> const& sum) {
        EXPECT_EQ(value_of(into), (Value{re, im}));
        EXPECT_EQ(sum.get(), (Value{re, im}));
      },
      x, into);
  Value value;
  TaskGraph graph;
  EXPECT_THAT(Test::error_of([&] {
                parallel_reduce("gone", ResourcePolicy(graph, Range(0, n), read(x)),
                                AddComplexFunctor{x}, OnView(OnView::result_view_type(&value)));
              }).what(),
              testing::AllOf(HasSubstr("\"gone\""), HasSubstr("its reducer does not keep"),
                             HasSubstr("references_scalar")));
  EXPECT_EQ(graph.submitted(), 0u);
}

/// As the guide has it: the longest run, and where it begins.
template <class Space>
struct Longest {
  using reducer = Longest;
  struct value_type {
    long length = 0, begin = 0;
  };
  using result_view_type = Kokkos::View<value_type, Space>;
  explicit Longest(result_view_type const& view_) : m_view(view_) {}
  KOKKOS_FUNCTION void join(value_type& into, value_type const& from) const {
    if (from.length > into.length || (from.length == into.length && from.begin < into.begin))
      into = from;
  }
  KOKKOS_FUNCTION value_type& reference() const { return *m_view.data(); }
  KOKKOS_FUNCTION result_view_type view() const { return m_view; }

 private:
  result_view_type m_view;
};
/// Of positive values.
struct RunFunctor {
  View<int*> x;
  template <class Value>
  KOKKOS_FUNCTION void operator()(int i, Value& longest) const {
    int end = i;
    while (end < n && x(end) > 0) ++end;
    if (end - i > longest.length) longest.length = end - i, longest.begin = i;
  }
};

SPACE_TEST(Reducers, OfTheGuide) {
  View<int*> const x = filled();
  using OnHost = Longest<Kokkos::HostSpace>;
  OnHost::value_type expected;
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
  for (int i = 0; i < n; ++i) {
    int end = i;
    while (end < n && host(end) > 0) ++end;
    if (end - i > expected.length) expected = {end - i, i};
  }
  ASSERT_GT(expected.length, 1);
  View<Longest<Memory>::value_type> const into("into");
  TaskGraph graph;
  parallel_reduce("view", ResourcePolicy(graph, Range(0, n), read(x)), RunFunctor{x},
                  Longest<Memory>(into));
  auto const longest = parallel_reduce("future", ResourcePolicy(graph, Range(0, n), read(x)),
                                       RunFunctor{x}, reduced<OnHost>);
  EXPECT_EQ(longest.get().length, expected.length);
  EXPECT_EQ(longest.get().begin, expected.begin);
  graph.wait();
  EXPECT_EQ(value_of(into).length, expected.length);
  EXPECT_EQ(value_of(into).begin, expected.begin);
}

std::atomic<int> waits_for_reductions{0};

/// Kokkos waits for a reducer that does not say where it reduces to.
SPACE_TEST(Reducers, OfTheUsersOwnAreNotWaitedFor) {
  namespace Tools = Kokkos::Tools::Experimental;
  View<int*> const x = filled();
  using OnView = AddComplex<Memory>;
  View<OnView::value_type> const into("into");
  Tools::EventSet const before = Tools::get_callbacks();
  Tools::set_begin_fence_callback([](char const* name, std::uint32_t, std::uint64_t*) {
    if (std::string_view(name).starts_with("Kokkos::parallel_reduce")) ++waits_for_reductions;
  });
  Kokkos::parallel_reduce(Range(0, n), AddComplexFunctor{x}, OnView(into));
  EXPECT_EQ(waits_for_reductions.exchange(0), 1) << "Kokkos has changed";
  {
    TaskGraph graph(Test::with_workers(1));
    parallel_reduce("sum", ResourcePolicy(graph, Range(0, n), read(x)), AddComplexFunctor{x},
                    OnView(into));
  }
  EXPECT_EQ(waits_for_reductions.exchange(0), 0);
  Tools::set_callbacks(before);
  EXPECT_EQ(value_of(into).re, n * (n - 1L) / 2 - 300L * n);
}

struct SeveralFunctor {
  View<int*> x;
  KOKKOS_FUNCTION void operator()(int i, int& near, Kokkos::MinMaxLocScalar<int, int>& ends,
                                  unsigned& bits, long& sum) const {
    NearestFunctor{x, 17}(i, near);
    MinMaxLocFunctor{x}(i, ends);
    BOrFunctor{x}(i, bits);
    sum += x(i);
  }
};

SPACE_TEST(Reducers, SeveralAtOnce) {
  View<int*> const x = filled();
  View<int> const near("near");
  View<unsigned> const bits("bits");
  using Ends = Kokkos::MinMaxLoc<int, int>;
  using Near = Nearest<Memory, false>;
  Kokkos::parallel_reduce(Range(0, n), NearestFunctor{x, 17}, Near(near, 17));
  int const near_17 = value_of(near);
  Ends::value_type ends;
  Kokkos::parallel_reduce(Range(0, n), MinMaxLocFunctor{x}, Ends(ends));
  in_every_way(
      [&](auto& target) {
        deep_copy("clear", target, near, 0);
        deep_copy("clear", target, bits, 0);
        return parallel_reduce("all", ResourcePolicy(target, Range(0, n), read(x)),
                               SeveralFunctor{x}, Near(near, 17), reduced<Ends>,
                               Kokkos::BOr<unsigned, Memory>(bits), reduced<Kokkos::Sum<long>>);
      },
      [&](Future<std::tuple<Ends::value_type, long>> const& both) {
        EXPECT_TRUE(same(std::get<0>(both.get()), ends));
        EXPECT_EQ(std::get<1>(both.get()), n * (n - 1L) / 2 - 300L * n);
        EXPECT_EQ(value_of(near), near_17);
        EXPECT_EQ(value_of(bits), (1u << 27) - 1);
      },
      x, near, bits);
}

/// A slot's reducer lets the user's own leave out what it may leave out.
SPACE_TEST(Reducers, InASlotNeedNoInit) {
  using Pinned = Kokkos::SharedHostPinnedSpace;
  View<int*> const x = filled();
  using Own = AddComplex<Kokkos::HostSpace>;
  Impl::ResultSlot<Own::value_type, Pinned> slot;
  Own::value_type& place = slot.renew();
  Kokkos::parallel_reduce(Range(0, n), AddComplexFunctor{x},
                          Impl::SlotReducer<Own, Pinned>(Impl::reducer_into<Own>(place), &place));
  Space().fence();
  EXPECT_EQ(slot.value().re, n * (n - 1L) / 2 - 300L * n);
}

}  // namespace reducers
}  // namespace
}  // namespace trellis
