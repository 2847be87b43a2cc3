// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_PERF_FIELDS_ENDS_HPP
#define TRELLIS_PERF_FIELDS_ENDS_HPP

#include <Trellis.hpp>
#include <Trellis_Recorded.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <vector>

/// Two programs, each of which favours one end of the ratio between task and operator threads.
namespace fields {

using Host = Kokkos::DefaultHostExecutionSpace;
using Values = Kokkos::View<double*, Kokkos::HostSpace>;

struct Work {
  Values x;
  KOKKOS_FUNCTION void operator()(int i) const {
    for (int k = 0; k < 4; ++k) x(i) = Kokkos::exp(-x(i)) + 0.5;
  }
};

/// `independent`: many small tasks that nothing orders: the more at a time the better, and a pool
/// of threads for each would cost more than it gains. `chain`: few large ones in a row: only their
/// own threads can be of use.
class Program {
 public:
  enum Kind { independent, chain };
  Program(Kind kind, int size) : m_kind(kind) {
    int const views = kind == independent ? many : 1;
    int const length = size / views + 1;
    for (int k = 0; k < views; ++k) m_values.emplace_back("x", static_cast<std::size_t>(length));
  }
  [[nodiscard]] char const* name() const { return m_kind == independent ? "independent" : "chain"; }
  void submit(trellis::TaskGraph& graph) const {
    int const count = m_kind == independent ? many : 4;
    for (int k = 0; k < count; ++k) {
      Values const& x = m_values[static_cast<std::size_t>(k) % m_values.size()];
      trellis::parallel_for("work",
                            trellis::ResourcePolicy(graph, static_cast<int>(x.extent(0)),
                                                    trellis::on<Host>, trellis::read_write(x)),
                            Work{x});
    }
  }
  /// Of a graph that records.
  [[nodiscard]] trellis::Graph structure() const {
    trellis::TaskGraphOptions options;
    options.workers = options.threads_per_worker = 1;
    options.record = true;
    trellis::TaskGraph graph(options);
    submit(graph);
    graph.wait();
    return graph.dependency_graph();
  }

 private:
  static constexpr int many = 1024;
  Kind m_kind;
  std::vector<Values> m_values;
};

}  // namespace fields

#endif
