// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_GPU_REPORT_HPP
#define TRELLIS_GPU_REPORT_HPP

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace gpu {

/// A figure with its name; what is printed is the value in the unit that the name tells.
using Figures = std::vector<std::pair<std::string, double>>;

/// Rows for the screen and for a JSON file. Where nothing has been run on a GPU a row says so, and
/// has no figures.
class Report {
 public:
  /// `what` stands above the rows that follow.
  void begin_table(std::string const& part, std::string const& what);
  /// `measured`: false where this model cannot be had here.
  void add(std::string const& part, std::string const& model, bool measured,
           Figures const& figures);
  void add_failure(std::string const& what);
  [[nodiscard]] bool failed() const { return m_failed; }
  void write(std::string const& path, nlohmann::ordered_json const& parameters) const;

 private:
  nlohmann::ordered_json m_rows = nlohmann::ordered_json::array();
  bool m_failed = false;
};

}  // namespace gpu

#endif
