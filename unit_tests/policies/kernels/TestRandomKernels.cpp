// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs of kernels, on several workers and in the order of their calls: the same numbers,
// to the last bit.
#include "KernelsTest.hpp"

#include "Seeds.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace trellis {
namespace {

/// Vectors and their halves, rows of a matrix, a sparse matrix, and scalars that tasks
/// have computed.
class RandomKernels {
 public:
  explicit RandomKernels(std::uint64_t seed) : m_random(seed) {
    for (unsigned k = 0; k < m_vectors.size(); ++k) trellis::Test::fill(m_vectors[k], k);
    trellis::Test::fill(m_dense, 9);
  }

  void run(TaskGraph& graph, int calls) {
    for (int k = 0; k < calls; ++k) call(graph);
    graph.wait();
    for (auto const& each : m_vectors) note(each);
    note(m_dense);
    m_found.push_back(m_scalar());
    for (Future<double> const& each : m_futures) m_found.push_back(each.get());
  }
  [[nodiscard]] std::vector<double> const& found() const { return m_found; }

 private:
  using Vector = trellis::Test::Vector;
  static constexpr int n = 36;

  int draw(int count) { return static_cast<int>(m_random() % static_cast<unsigned>(count)); }

  /// Whole vectors, halves of one that is twice as long, which may overlap, and rows.
  Vector vector() {
    int const kind = draw(4);
    if (kind == 0) return m_vectors[draw(3)];
    if (kind == 1) {
      int const begin = draw(3) * n / 2;
      return Kokkos::subview(m_vectors[3], trellis::Test::Part(begin, begin + n));
    }
    if (kind == 2) return Kokkos::subview(m_dense, draw(n), Kokkos::ALL);
    return m_vectors[draw(3)];
  }
  /// One that has nothing in common with another.
  Vector vector_beside(Vector const& other) {
    for (;;) {
      Vector const found = vector();
      if (found.data() + n <= other.data() || other.data() + n <= found.data()) return found;
    }
  }

  /// Keeps numbers small, so that none becomes infinite.
  Future<double> small(TaskGraph& graph, Future<double> const& number) {
    auto const result = host_task("small", ResourcePolicy(graph, value(number)),
                                  [](double x) { return 0.5 * std::sin(x); });
    m_futures.push_back(result);
    return result;
  }

  void call(TaskGraph& graph) {
    Vector const y = vector();
    Vector const x = vector_beside(y);
    bool const has_future = !m_futures.empty();
    Future<double> const scalar =
        has_future ? m_futures[draw(static_cast<int>(m_futures.size()))] : Future<double>();
    switch (draw(9)) {
      case 0:
        kernels::axpby(graph, 0.25 * draw(3), x, 0.25 * draw(3), y);
        break;
      case 1:
        if (has_future) kernels::axpby(graph, scalar, x, 0.5, y);
        break;
      case 2:
        if (has_future) kernels::axpby(graph, 0.5, x, scalar, y);
        break;
      case 3:
        kernels::scal(graph, y, 0.5, draw(2) == 0 ? x : y);
        break;
      case 4:
        small(graph, kernels::dot(graph, x, y));
        break;
      case 5:
        small(graph, kernels::nrm2(graph, x));
        break;
      case 6:
        kernels::spmv(graph, "N", 0.1, m_sparse, x, 0.25 * draw(2), y);
        break;
      case 7: {
        // Not a row of the matrix, which is read.
        Vector const to = m_vectors[draw(3)];
        Vector const from = vector_beside(to);
        kernels::gemv(graph, draw(2) == 0 ? "N" : "T", 1.0 / n, m_dense, from, 0.5, to);
        break;
      }
      default:
        kernels::dot(graph, m_scalar, x, y);
    }
  }

  template <class V>
  void note(V const& view) {
    for (std::size_t i = 0; i < view.extent(0); ++i) {
      if constexpr (V::rank() == 1)
        m_found.push_back(view(i));
      else
        for (std::size_t j = 0; j < view.extent(1); ++j) m_found.push_back(view(i, j));
    }
  }

  std::mt19937_64 m_random;
  std::array<Vector, 4> m_vectors{Vector("a", n), Vector("b", n), Vector("c", n),
                                  Vector("d", 2 * n)};
  Kokkos::View<double**, Kokkos::LayoutRight, trellis::Test::Space> m_dense{"dense", n, n};
  trellis::Test::Sparse m_sparse = trellis::Test::poisson(6);
  Kokkos::View<double, trellis::Test::Space> m_scalar{"scalar"};
  std::vector<Future<double>> m_futures;
  std::vector<double> m_found;
};

TEST(KernelTasks, RandomProgramsGiveWhatTheyGiveOneByOne) {
  for (std::uint64_t const seed : random_program::seeds(1, 40)) {
    int const calls = 20 + static_cast<int>(seed % 7) * 20;
    RandomKernels parallel(seed);
    {
      TaskGraph graph(trellis::Test::with_workers(2 + static_cast<int>(seed % 3)));
      parallel.run(graph, calls);
    }
    RandomKernels serial(seed);
    {
      TaskGraphOptions options = trellis::Test::with_workers(1);
      options.serial = true;
      TaskGraph graph(options);
      serial.run(graph, calls);
    }
    ASSERT_EQ(parallel.found(), serial.found()) << "seed " << seed;
    for (double const each : parallel.found()) ASSERT_TRUE(std::isfinite(each)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace trellis
