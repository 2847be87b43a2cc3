// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MatrixMarket.hpp"

#include <Trellis_Mpi.hpp>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "../shared/Text.hpp"
#include "../shared/Together.hpp"

#ifdef TRELLIS_EXAMPLE_HAS_KERNELS
#include <KokkosSparse_CrsMatrix.hpp>
#include <KokkosSparse_IOUtils.hpp>
#endif

namespace cg {
namespace {

using example::number, example::plural;
class Reading {
 public:
  explicit Reading(std::filesystem::path const& file) : m_file(file) {}

  [[noreturn]] void fail(std::string const& why) const {
    throw std::runtime_error("--matrix " + m_file.string() + ": " + why);
  }

  /// Kokkos Kernels' reader accepts a file that ends too early, and returns other entries.
  void require_all_lines() const {
    std::ifstream in(m_file);
    if (std::error_code error; !in || std::filesystem::is_directory(m_file, error))
      fail("it cannot be opened for reading");
    if (m_file.extension() != ".mtx") fail("the name of a Matrix Market file ends with .mtx");
    std::string line;
    if (!std::getline(in, line) || !line.starts_with("%%MatrixMarket"))
      fail("it does not begin with %%MatrixMarket");
    do
      if (!std::getline(in, line)) fail("it ends before the size of the matrix");
    while (line.starts_with('%'));
    long long rows = 0, columns = 0, entries = 0, lines = 0;
    std::istringstream sizes(line);
    if (!(sizes >> rows >> columns) || rows < 1 || columns < 1)
      fail("'" + line + "' is not the size of a matrix");
    if (rows != columns)
      fail("a matrix of " + std::to_string(rows) + " rows and " + std::to_string(columns) +
           " columns is not square");
    if (!(sizes >> entries)) entries = rows * columns;  // dense
    while (std::getline(in, line))
      if (line.find_first_not_of(" \t\r") != std::string::npos) ++lines;
    if (lines != entries)
      fail("it has " + std::to_string(lines) + " entries, and says that there are " +
           std::to_string(entries));
  }

  void require_symmetric_and_positive(Rows const& rows) const {
    for (int i = 0; i < rows.count(); ++i) {
      double diagonal = 0;
      for (int k = rows.offsets(i); k < rows.offsets(i + 1); ++k) {
        Global const j = rows.columns(k);
        double const value = rows.values(k);
        if (j < 0 || j >= rows.count())
          fail("there is no column " + std::to_string(j + 1) + ", of which row " +
               std::to_string(i + 1) + " has an entry");
        if (k > rows.offsets(i) && j == rows.columns(k - 1))
          fail("entry " + place(i, j) + " is there twice");
        if (!std::isfinite(value)) fail("entry " + place(i, j) + " is not finite");
        if (j == i) diagonal = value;
        double const opposite = entry(rows, static_cast<int>(j), i);
        if (std::abs(value - opposite) > 1e-12 * std::abs(value))
          fail("the matrix is not symmetric: entry " + place(i, j) + " is " +
               number("%.17g", value) + ", entry " + place(j, i) + " is " +
               number("%.17g", opposite));
      }
      if (!(diagonal > 0))
        fail("the matrix is not positive definite: entry " + place(i, i) + " is " +
             number("%g", diagonal));
    }
  }

 private:
  static std::string place(Global i, Global j) {
    return "(" + std::to_string(i + 1) + ", " + std::to_string(j + 1) + ")";
  }
  static double entry(Rows const& rows, int i, Global j) {
    Global const* const begin = rows.columns.data() + rows.offsets(i);
    Global const* const end = rows.columns.data() + rows.offsets(i + 1);
    Global const* const found = std::lower_bound(begin, end, j);
    return found != end && *found == j ? rows.values(found - rows.columns.data()) : 0;
  }
  std::filesystem::path m_file;
};

}  // namespace

#ifdef TRELLIS_EXAMPLE_HAS_KERNELS

bool has_matrix_reader() {
  return true;
}
Rows read_matrix(std::filesystem::path const& file) {
  using Read = KokkosSparse::CrsMatrix<double, int, Kokkos::Device<HostThreads, Kokkos::HostSpace>,
                                       void, int>;
  Reading const reading(file);
  reading.require_all_lines();
  Read matrix;
  try {
    matrix = KokkosSparse::Impl::read_kokkos_crst_matrix<Read>(file.c_str());
  } catch (std::exception const& error) {
    std::string why = error.what();
    while (why.ends_with('\n')) why.pop_back();
    reading.fail(why);
  }
  Rows rows;
  rows.cut.begin = {0, matrix.numRows()};
  rows.offsets = HostArray<int>("offsets", to_size(matrix.numRows()) + 1);
  rows.columns = HostArray<Global>("columns", to_size(matrix.nnz()));
  rows.values = matrix.values;
  Kokkos::deep_copy(rows.offsets, matrix.graph.row_map);
  for (int k = 0; k < matrix.nnz(); ++k) rows.columns(k) = matrix.graph.entries(k);
  reading.require_symmetric_and_positive(rows);
  return rows;
}

#else

bool has_matrix_reader() {
  return false;
}
Rows read_matrix(std::filesystem::path const& file) {
  Reading(file).fail(
      "this program cannot read matrices, as it was built without Kokkos Kernels (the toolchain "
      "serial has it)");
}

#endif

Rows scatter_rows(trellis::TaskGraph& graph, MPI_Comm comm, Rows const& whole) {
  auto const on = trellis::mpi::Communicator::duplicate(comm);
  int const rank = on.rank(), ranks = on.size();
  // Rank 0 cuts where the entries so far are a rank's share of all.
  Rows rows;
  rows.cut.begin.resize(to_size(ranks) + 1);
  HostArray<int> lengths("lengths of all rows", 0);
  std::vector<int> counts(to_size(ranks)), entries(to_size(ranks));
  example::together(comm, [&] {
    if (rank != 0) return;
    int const n = whole.count();
    if (n < ranks)
      throw std::runtime_error("a matrix of " + plural(n, "row") + " is too small for " +
                               plural(ranks, "rank"));
    for (int r = 1; r <= ranks; ++r) {
      auto const share = Global{whole.offsets(n)} * r / ranks;
      int const* const begin = whole.offsets.data();
      auto const row = std::lower_bound(begin, begin + n, static_cast<int>(share)) - begin;
      rows.cut.begin[to_size(r)] =
          std::clamp<Global>(row, rows.cut.begin[to_size(r) - 1] + 1, n - (ranks - r));
    }
    rows.cut.begin.back() = n;
    lengths = HostArray<int>("lengths of all rows", to_size(n));
    for (int i = 0; i < n; ++i) lengths(i) = whole.offsets(i + 1) - whole.offsets(i);
    for (int r = 0; r < ranks; ++r)
      entries[to_size(r)] =
          whole.offsets(rows.cut.begin[to_size(r) + 1]) - whole.offsets(rows.cut.begin[to_size(r)]);
  });
  HostArray<Global> const cut("cut", to_size(ranks) + 1);
  std::copy(rows.cut.begin.begin(), rows.cut.begin.end(), cut.data());
  HostArray<int> const entries_of("entries of each rank", to_size(ranks));
  std::copy(entries.begin(), entries.end(), entries_of.data());
  trellis::mpi::bcast(graph, on, cut, 0);
  trellis::mpi::bcast(graph, on, entries_of, 0);
  graph.wait();
  rows.cut.begin.assign(cut.data(), cut.data() + ranks + 1);
  entries.assign(entries_of.data(), entries_of.data() + ranks);
  for (int r = 0; r < ranks; ++r) counts[to_size(r)] = rows.cut.of_rank(r);

  HostArray<int> const mine("lengths", to_size(counts[to_size(rank)]));
  rows.columns = HostArray<Global>("columns", to_size(entries[to_size(rank)]));
  rows.values = HostArray<double>("values", to_size(entries[to_size(rank)]));
  trellis::mpi::scatterv(graph, on, lengths, counts, mine, 0);
  trellis::mpi::scatterv(graph, on, whole.columns, entries, rows.columns, 0);
  trellis::mpi::scatterv(graph, on, whole.values, entries, rows.values, 0);
  graph.wait();
  rows.offsets = HostArray<int>("offsets", mine.extent(0) + 1);
  for (int i = 0; i < mine.extent_int(0); ++i) rows.offsets(i + 1) = rows.offsets(i) + mine(i);
  return rows;
}

}  // namespace cg
