// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_MPI_PERF_REPORT_HPP
#define TRELLIS_MPI_PERF_REPORT_HPP

#include "Measure.hpp"
#include "World.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace mpi_perf {

using Json = nlohmann::ordered_json;

/// Collects rows, prints them, and writes them as JSON: {context: {...}, rows: [...]}. All rows
/// have the same keys; what does not apply is null. The first rank alone prints and writes.
class Report {
 public:
  /// What is printed of a row, with a heading.
  using Column = std::pair<char const*, char const*>;  ///< key, heading

  explicit Report(World const& world, int most_workers);

  /// `what` stands above the rows that follow, of which these columns are printed.
  void begin_table(std::string const& part, std::string const& what, std::vector<Column> columns);
  /// A row with these keys besides what the times tell.
  void add(Times const& times, Json const& more);
  /// A row of what has been computed from others. It is printed if the table has columns.
  void add_derived(std::string const& model, std::string const& kind, Json const& more);
  void note(std::string const& text);

  void write(std::string const& path, double seconds_in_all) const;
  /// A sentence if a file like that cannot be written. Makes its folder.
  [[nodiscard]] static std::string why_not_written(std::string const& path);

 private:
  [[nodiscard]] Json new_row(std::string const& model, std::string const& kind) const;
  static void fill(Json& row, Json const& more);
  void print(Json const& row) const;

  bool m_is_first;
  int m_ranks;
  std::string m_part;
  std::vector<Column> m_columns;
  Json m_context;
  Json m_rows = Json::array();
};

}  // namespace mpi_perf

#endif
