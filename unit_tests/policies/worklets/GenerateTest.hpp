// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_GENERATETEST_HPP
#define TRELLIS_TEST_GENERATETEST_HPP

#include "Seeds.hpp"

#include <Trellis.hpp>
#include <Trellis_Worklets.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// Random programs of worklets that generate, map and reduce arrays that tasks allocate.
namespace trellis::Test {

struct RemainderOf3 : MapFields {
  using ControlSignature = void(Field, Field(Out));
  using ExecutionSignature = _2(_1);
  KOKKOS_FUNCTION std::int8_t operator()(int x) const { return static_cast<std::int8_t>(x % 3); }
};
struct RemainderOf : MapFields {
  using ControlSignature = void(Field, Field, Field(Out));
  using ExecutionSignature = _3(_1, _2);
  KOKKOS_FUNCTION int operator()(int x, int divisor) const { return x % divisor; }
};
struct CopyWithVisit : GenerateFields {
  using ControlSignature = void(Field, Counts, Field(Out));
  using ExecutionSignature = _3(_1, VisitIndex, WorkIndex, SourceIndex);
  KOKKOS_FUNCTION int operator()(int x, std::int64_t visit, std::int64_t made,
                                 std::int64_t source) const {
    return (7 * x + static_cast<int>(visit + 3 * made + 5 * source)) % 1009;
  }
};
struct AddOne : MapFields {
  using ControlSignature = void(Field(InOut));
  KOKKOS_FUNCTION void operator()(int& x) const { x += 1; }
};
struct SumOfValues : ReduceByKey {
  using ControlSignature = void(Keys, Values, Field(Out));
  using ExecutionSignature = _3(_1, _2);
  template <class Group>
  KOKKOS_FUNCTION int operator()(int key, Group const& group) const {
    int sum = key;
    for (std::int64_t k = 0; k < group.size(); ++k)
      sum = (sum + static_cast<int>(k + 1) * group[k]) % 1009;
    return sum;
  }
};

template <class Space>
class ArrayProgram {
 public:
  using Memory = typename Space::memory_space;
  using Array = LateView<int*, Memory>;
  using Known = Kokkos::View<int*, Memory>;

  explicit ArrayProgram(std::uint64_t seed) : m_random(seed) {
    for (int k = 0; k < arrays; ++k) {
      std::size_t const n = pick(4) == 0 ? pick(3) : pick(60);
      Known const start("start", n);
      auto const host = Kokkos::create_mirror_view(start);
      bool const same = pick(4) == 0;  // no or all items, then
      int const value = static_cast<int>(pick(3));
      for (std::size_t i = 0; i < n; ++i) host(i) = same ? value : static_cast<int>(pick(1000));
      Kokkos::deep_copy(start, host);
      m_starts.push_back(start);
      m_first.emplace_back(host.data(), host.data() + n);
      m_arrays.emplace_back("array");
    }
    std::size_t const steps = 1 + pick(12);
    for (std::size_t s = 0; s < steps; ++s)
      m_steps.push_back({static_cast<int>(pick(4)), static_cast<int>(pick(arrays)),
                         static_cast<int>(1 + pick(arrays - 1)), static_cast<int>(1 + pick(6))});
  }

  template <class Graph>
  void submit(Graph& graph) {
    ResourcePolicy const policy(graph, on<Space>);
    std::vector<std::vector<int>> values = m_first;
    for (int k = 0; k < arrays; ++k)
      invoke("start", policy, RemainderOf(), m_starts[at(k)], 1 << 30, m_arrays[at(k)]);
    for (Step const& step : m_steps) {
      std::size_t const a = at(step.a), b = at((step.a + step.other) % arrays);
      Array const from = m_arrays[a], to = m_arrays[b];
      switch (values[a].size() > 500 ? 2 : step.kind) {
        case 0: {
          LateView<std::int8_t*, Memory> const counts("counts");
          made_in(graph, counts);
          invoke("counts", policy, RemainderOf3(), from, counts);
          m_made.push_back(invoke("copies", policy, CopyWithVisit(), from, counts, to));
          values[b] = copies_of(values[a]);
          m_numbers.push_back(static_cast<std::int64_t>(values[b].size()));
          break;
        }
        case 1:
          invoke("remainder", policy, RemainderOf(), from, 17 * step.divisor, to);
          values[b].clear();
          for (int const x : values[a]) values[b].push_back(x % (17 * step.divisor));
          break;
        case 2: {
          Array const keys("keys");
          made_in(graph, keys);
          invoke("keys", policy, RemainderOf(), from, step.divisor, keys);
          auto const groups = group_by_key("group", policy, keys);
          invoke("sums", policy, SumOfValues(), groups, from, to);
          values[b] = sums_of(values[a], step.divisor);
          break;
        }
        default:
          invoke("add", policy, AddOne(), from);
          for (int& x : values[a]) ++x;
      }
    }
    m_last = std::move(values);
  }

  /// Can a task of the host name its arrays, and so have it as its parts?
  static constexpr bool may_be_parts =
      Impl::CanTouch<Kokkos::DefaultHostExecutionSpace, Memory>::value;
  /// Submits it as the parts of one task. `graph`: that this task goes to.
  Future<void> submit_parts(TaskGraph& graph) {
    std::vector<Token> shapes;
    for (Array const& array : m_arrays) shapes.push_back(array.shape());
    return host_task("parent",
                     ResourcePolicy(graph, read(m_starts), write(m_arrays), write(shapes)),
                     [this](TaskScope& self) { submit(self); });
  }

  /// After a wait.
  void check() {
    for (std::size_t k = 0; k < m_arrays.size(); ++k) {
      auto const host =
          Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), m_arrays[k].managed());
      std::vector<int> const found(host.data(), host.data() + host.extent(0));
      ASSERT_EQ(found, m_last[k]) << "array " << k;
    }
    for (std::size_t k = 0; k < m_made.size(); ++k) ASSERT_EQ(m_made[k].get(), m_numbers[k]);
  }
  void forget_futures() { m_made.clear(), m_numbers.clear(); }

 private:
  static constexpr int arrays = 3;
  struct Step {
    int kind, a, other, divisor;
  };
  template <class Graph, class A>
  static void made_in(Graph& graph, A const& array) {
    if constexpr (std::is_same_v<Graph, TaskScope>) {
      graph.local(array);
      graph.local(array.shape());
    }
  }
  static std::size_t at(int k) { return static_cast<std::size_t>(k); }
  std::size_t pick(std::size_t n) { return m_random() % n; }
  static std::vector<int> copies_of(std::vector<int> const& from) {
    std::vector<int> made;
    for (std::size_t i = 0; i < from.size(); ++i)
      for (int visit = 0; visit < from[i] % 3; ++visit)
        made.push_back(
            (7 * from[i] + visit + 3 * static_cast<int>(made.size()) + 5 * static_cast<int>(i)) %
            1009);
    return made;
  }
  static std::vector<int> sums_of(std::vector<int> const& from, int divisor) {
    std::map<int, std::vector<int>> groups;
    for (int const x : from) groups[x % divisor].push_back(x);
    std::vector<int> sums;
    for (auto const& [key, group] : groups) {
      int sum = key;
      for (std::size_t k = 0; k < group.size(); ++k)
        sum = (sum + static_cast<int>(k + 1) * group[k]) % 1009;
      sums.push_back(sum);
    }
    return sums;
  }

  std::mt19937_64 m_random;
  std::vector<Known> m_starts;
  std::vector<std::vector<int>> m_first, m_last;
  std::vector<Array> m_arrays;
  std::vector<Step> m_steps;
  std::vector<Future<std::int64_t>> m_made;
  std::vector<std::int64_t> m_numbers;
};

/// How programs are run. Five seeds in a row are five ways.
template <class Space>
void run_array_programs(std::uint64_t default_count) {
  for (std::uint64_t const seed : random_program::seeds(1, default_count)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TaskGraphOptions options;
    options.workers = 1 + static_cast<int>(seed / 5 % 2);
    if (seed % 5 == 1) options.policy = make_shake_policy(seed);
    if (seed % 5 == 2) options.serial = true;
    TaskGraph graph(options);
    ArrayProgram<Space> program(seed);
    if (seed % 5 == 3) {
      Plan const plan = graph.record("program", [&] { program.submit(graph); });
      program.forget_futures();
      graph.replay(plan, 3);
    } else if (seed % 5 == 4) {
      if constexpr (ArrayProgram<Space>::may_be_parts)
        program.submit_parts(graph);
      else
        program.submit(graph);
    } else {
      program.submit(graph);
    }
    graph.wait();
    program.check();
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace trellis::Test

#endif
