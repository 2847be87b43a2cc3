// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TEST_KERNELSTEST_HPP
#define TRELLIS_TEST_KERNELSTEST_HPP

#include <Trellis.hpp>
#include <Trellis_Kernels.hpp>

#include <KokkosSparse_CrsMatrix.hpp>
#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

/// What the tests of Trellis::kernels share: filled Views, and comparisons with plain calls.
namespace trellis::Test {

using Space = Kokkos::DefaultHostExecutionSpace;
using Vector = Kokkos::View<double*, Space>;
using Sparse = KokkosSparse::CrsMatrix<double, int, Kokkos::Device<Space, Space::memory_space>>;
using Part = std::pair<int, int>;

inline TaskGraphOptions with_workers(int workers) {
  TaskGraphOptions options;
  options.workers = workers;
  options.threads_per_worker = 1;
  return options;
}

/// What the typed tests are compiled for.
template <class Value, class Layout>
struct Case {
  using T = Value;
  using Matrix = Kokkos::View<T**, Layout, Space>;
  using Vector = Kokkos::View<T*, Layout, Space>;
};

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<Kokkos::complex<T>> = true;

/// A small number with few digits, which is never zero.
template <class T>
T number(std::size_t i, unsigned seed) {
  double const real = (static_cast<double>((i * 37 + seed * 17) % 19) - 9.5) / 8;
  if constexpr (is_complex<T>)
    return T(real, (static_cast<double>((i * 23 + seed * 5) % 17) - 8.5) / 8);
  else
    return static_cast<T>(real);
}

template <class V>
void fill(V const& view, unsigned seed) {
  using T = typename V::non_const_value_type;
  if constexpr (V::rank() == 1)
    for (std::size_t i = 0; i < view.extent(0); ++i) view(i) = number<T>(i, seed);
  else
    for (std::size_t i = 0; i < view.extent(0); ++i)
      for (std::size_t j = 0; j < view.extent(1); ++j)
        view(i, j) = number<T>(i * view.extent(1) + j, seed);
}
template <class V, class... Extents>
V filled(std::string const& label, unsigned seed, Extents... extents) {
  V const view(label, extents...);
  fill(view, seed);
  return view;
}
template <class V>
V clone(V const& view) {
  V const copy(view.label() + "'", view.layout());
  Kokkos::deep_copy(copy, view);
  return copy;
}

template <class T>
double distance(T const& a, T const& b) {
  if constexpr (is_complex<T>)
    return static_cast<double>(Kokkos::abs(a - b));
  else
    return static_cast<double>(std::abs(a - b));
}
template <class T>
double tolerance() {
  if constexpr (is_complex<T>)
    return 1e4 * std::numeric_limits<typename T::value_type>::epsilon();
  else
    return 1e4 * static_cast<double>(std::numeric_limits<T>::epsilon());
}

/// The largest difference of two Views, relative to the largest element.
template <class V>
double difference(V const& a, V const& b) {
  double most = 0;
  double size = 1;
  auto const look = [&](auto const& x, auto const& y) {
    double const d = distance(x, y);
    most = d > most || d != d ? d : most;
    double const s = distance(x, decltype(x - x)());
    size = s > size ? s : size;
  };
  if constexpr (V::rank() == 0)
    look(a(), b());
  else if constexpr (V::rank() == 1)
    for (std::size_t i = 0; i < a.extent(0); ++i) look(a(i), b(i));
  else
    for (std::size_t i = 0; i < a.extent(0); ++i)
      for (std::size_t j = 0; j < a.extent(1); ++j) look(a(i, j), b(i, j));
  return most / size;
}

/// An overload set as one object.
#define PLAIN(function) [](auto const&... arguments) { function(arguments...); }

/// Calls a kernel as a task and as it is, each with an output of its own: `part` of a copy of
/// `whole`, the last argument. So what lies beside the part is compared, too.
template <class Whole, class PartOf, class Kernel, class Plain, class... Before>
void expect_same(Whole const& whole, PartOf part, Kernel const& kernel, Plain const& plain,
                 Before const&... before) {
  Whole const from_task = clone(whole);
  Whole const from_call = clone(whole);
  {
    TaskGraph graph(with_workers(2));
    kernel(graph, before..., part(from_task));
    graph.wait();
  }
  plain(Space(), before..., part(from_call));
  Space().fence();
  using T = typename Whole::non_const_value_type;
  EXPECT_LE(difference(from_task, from_call), tolerance<T>());
  EXPECT_GT(difference(from_task, whole), tolerance<T>()) << "it has done nothing";
}
inline constexpr auto all_of_it = [](auto const& whole) { return whole; };

/// The five-point Laplacian of a square of k x k cells.
inline Sparse poisson(int k) {
  using Rows = Sparse::row_map_type::non_const_type;
  int const n = k * k;
  Rows const rows("rows", n + 1);
  int const nnz = 5 * n - 4 * k;
  Sparse::index_type const entries("entries", nnz);
  Sparse::values_type const values("values", nnz);
  int at = 0;
  for (int i = 0; i < n; ++i) {
    auto const put = [&](bool is_there, int column, double value) {
      if (!is_there) return;
      entries(at) = column;
      values(at++) = value;
    };
    put(i >= k, i - k, -1);
    put(i % k > 0, i - 1, -1);
    put(true, i, 4);
    put(i % k < k - 1, i + 1, -1);
    put(i < n - k, i + k, -1);
    rows(i + 1) = at;
  }
  EXPECT_EQ(at, nnz);
  return Sparse("poisson", n, n, nnz, values, rows, entries);
}

}  // namespace trellis::Test

#endif
