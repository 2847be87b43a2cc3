// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_TASKBENCH_REPORT_HPP
#define TRELLIS_TASKBENCH_REPORT_HPP

#include "Json.hpp"
#include "Measure.hpp"
#include "Metg.hpp"

#include <string>
#include <vector>

namespace taskbench {

/// Collects rows, prints them as tables, and writes them as JSON: {context: {...}, rows: [...]}.
/// All rows have the same keys; what does not apply is null.
class Report {
 public:
  Report(int workers, std::vector<std::unique_ptr<Model>> const& models);

  /// Results of one and the same work. A row's ratios compare it with these.
  void add(std::string const& part, std::vector<Result> const& results);
  void add(std::string const& part, Sweep const& sweep);
  void left_out(std::vector<LeftOut> const& list);
  void finish(double seconds);

  void write(std::string const& path) const;

 private:
  Json& add_row(std::string const& part, Result const& result);

  Json m_context;
  Json m_rows = Json::array();
};

}  // namespace taskbench

#endif
