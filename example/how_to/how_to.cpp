// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The code of the pages of docs/howto. Each piece runs, and checks its result.
#include <Trellis.hpp>
#include <Trellis_Resources.hpp>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdio>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

namespace how_to {
namespace {

using trellis::Future, trellis::read, trellis::read_write, trellis::ResourcePolicy,
    trellis::TaskGraph, trellis::TaskScope, trellis::write;
using Range = Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>;
using Vector = Kokkos::View<double*, Kokkos::HostSpace>;

constexpr int cells = 400;

// [helpers]
template <class Where>
void axpy(Where& where, double a, Vector const& x, Vector const& y, trellis::Label label = "axpy") {
  trellis::parallel_for(std::move(label),
                        ResourcePolicy(where, Range(0, x.extent_int(0)), read(x), read_write(y)),
                        [=](int i) { y(i) += a * x(i); });
}

template <class Where>
Future<double> distance(Where& where, Vector const& x, Vector const& y) {
  Vector const difference("difference", x.extent(0));
  if constexpr (std::same_as<Where, TaskScope>) where.local(difference);
  trellis::deep_copy("copy", where, difference, x);
  axpy(where, -1, y, difference, "subtract");
  return trellis::parallel_reduce(
      "distance", ResourcePolicy(where, Range(0, x.extent_int(0)), read(difference)),
      [=](int i, double& most) { most = std::max(most, std::abs(difference(i))); },
      trellis::reduced<Kokkos::Max<double>>);
}
// [helpers-end]

bool helpers(TaskGraph& graph) {
  Vector const x("x", cells), y("y", cells);
  trellis::deep_copy(graph, x, 1.0);
  trellis::deep_copy(graph, y, 5.0);
  // [helpers-calls]
  axpy(graph, 2, x, y);
  Future<double> const outside = distance(graph, x, y);
  Future<double> const inside =
      trellis::host_task("inside", ResourcePolicy(graph, read(x, y)),
                         [x, y](TaskScope& self) { return distance(self, x, y); });
  // [helpers-calls-end]
  return outside.get() == 6 && inside.get() == 6;
}

// [class]
class Diffusion {
 public:
  explicit Diffusion(int n) : m_now("now", n), m_next("next", n) { m_now(n / 2) = 1; }

  void step() {
    int const n = m_now.extent_int(0);
    trellis::parallel_for("step", ResourcePolicy(m_graph, Range(0, n), read(m_now), write(m_next)),
                          [now = m_now, next = m_next, n](int i) {
                            int const left = std::max(i - 1, 0), right = std::min(i + 1, n - 1);
                            next(i) = now(i) + 0.25 * (now(left) - 2 * now(i) + now(right));
                          });
    std::swap(m_now, m_next);
    trellis::host_task("note", ResourcePolicy(m_graph, read(m_now), read_write(m_notes)),
                       [this, now = m_now, n] {
                         m_heat.push_back(std::accumulate(now.data(), now.data() + n, 0.0));
                       });
  }
  std::vector<double> const& finish() {  // throws what a task has thrown
    m_graph.wait();
    return m_heat;
  }

 private:
  Vector m_now, m_next;
  std::vector<double> m_heat;
  trellis::Token m_notes{"m_heat"};
  TaskGraph m_graph;  // the last member: it is destroyed first, and waits
};
// [class-end]

// [class-lambda]
struct Shift {  // it can be copied, as it only refers to the graph
  TaskGraph* graph;
  Vector x;
  double by;

  void submit() const {
    trellis::parallel_for(
        "shift", ResourcePolicy(*graph, Range(0, x.extent_int(0)), read_write(x)),
        KOKKOS_CLASS_LAMBDA(int i) { x(i) += by; });
  }
};
// [class-lambda-end]

bool classes(TaskGraph& graph) {
  Diffusion diffusion(cells);
  for (int k = 0; k < 10; ++k) diffusion.step();
  std::vector<double> const& heat = diffusion.finish();
  Vector const x("x", cells);
  Shift{&graph, x, 2}.submit();
  graph.wait();
  return heat.size() == 10 && std::abs(heat.back() - 1) < 1e-12 && x(cells - 1) == 2;
}

bool host_side(TaskGraph& graph) {
  Vector const x("x", cells);
  std::vector<double> weights(cells, 2.0);
  double scale = 0;
  // [host-side]
  trellis::HostMemory const its_scale("scale", &scale);
  trellis::host_task("scale", ResourcePolicy(graph, write(its_scale)), [&scale] { scale = 3; });
  trellis::host_task("fill", ResourcePolicy(graph, read(its_scale, weights), write(x)),
                     [x, &scale, &weights] {
                       for (std::size_t i = 0; i < weights.size(); ++i) x(i) = scale * weights[i];
                     });
  graph.wait();  // before `x` is read, and before `scale` and `weights` end
  double const last = x(cells - 1);
  // [host-side-end]
  return last == 6;
}

// [locks]
std::map<int, int> count(TaskGraph& graph, std::vector<std::vector<int>> const& lists) {
  std::map<int, int> counts;
  trellis::Token const all("counts");
  for (std::vector<int> const& list : lists)
    trellis::host_task("count", ResourcePolicy(graph, trellis::exclusive(all)), [&counts, &list] {
      for (int const k : list) ++counts[k];
    });
  graph.wait();  // before `counts` is used, and before the lists end
  return counts;
}
// [locks-end]

// [locks-mutex]
class Inbox {
 public:
  void add(int k) {
    std::lock_guard const lock(m_mutex);
    m_open.push_back(k);
  }
  void submit(TaskGraph& graph) {
    std::vector<int> mine;
    {
      std::lock_guard const lock(m_mutex);
      mine.swap(m_open);
    }  // the calls below may run tasks, which may call add()
    for (int const k : mine)
      trellis::host_task("work", ResourcePolicy(graph), [this, k] {
        if (k > 0) add(k - 1);
        std::lock_guard const lock(m_mutex);
        m_sum += k;
      });
  }
  int sum() const { return m_sum; }  // after graph.wait()

 private:
  std::mutex m_mutex;
  std::vector<int> m_open;
  int m_sum = 0;
};
// [locks-mutex-end]

bool locks(TaskGraph& graph) {
  std::vector<std::vector<int>> const lists(10, {1, 2, 2});
  std::map<int, int> const counts = count(graph, lists);
  Inbox inbox;
  inbox.add(4);
  for (int k = 0; k < 5; ++k) {
    inbox.submit(graph);
    graph.wait();
  }
  return counts.at(1) == 10 && counts.at(2) == 20 && inbox.sum() == 10;
}

}  // namespace
}  // namespace how_to

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  trellis::TaskGraph graph;
  bool const helpers = how_to::helpers(graph), classes = how_to::classes(graph);
  bool const host_side = how_to::host_side(graph), locks = how_to::locks(graph);
  std::printf("right: %d %d %d %d\n", helpers, classes, host_side, locks);
  return helpers && classes && host_side && locks ? 0 : 1;
}
