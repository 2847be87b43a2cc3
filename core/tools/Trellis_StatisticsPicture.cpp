// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_Statistics.hpp>
#include <tools/Trellis_StatisticsFile.hpp>
#include <tools/Trellis_Text.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <istream>
#include <map>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace trellis::Impl {

namespace {

constexpr std::size_t column_count = 12;
constexpr std::size_t fork_joins_column = 10;  ///< from this one on, columns have their own rows

/// Splits a line of a file into its cells.
std::vector<std::string> cells_of(std::string const& line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (std::size_t k = 0; k < line.size(); ++k) {
    char const c = line[k];
    if (c == '"') {
      if (is_quoted && k + 1 < line.size() && line[k + 1] == '"')
        cells.back() += line[++k];
      else
        is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

double number_of(std::string const& cell) {
  double value = 0;
  auto const read = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (read.ec != std::errc() || read.ptr != cell.data() + cell.size())
    throw Error(Error::Kind::bad_input,
                "Trellis: \"" + cell + "\" in a file of statistics is no number");
  return value;
}

}  // namespace

}  // namespace trellis::Impl

namespace trellis::experimental {

void write_statistics_svg(std::istream& csv, std::ostream& svg) {
  using namespace Impl;
  constexpr int width = 900;
  constexpr int height = 70;  // of a panel
  constexpr int left = 150;
  constexpr int gap = 22;
  constexpr int top = 40;
  constexpr std::array colours{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                               "#E69F00", "#56B4E9", "#000000", "#7F7F7F"};
  auto const text = [](std::string const& of) {
    return escaped(of, {{'<', "&lt;"}, {'&', "&amp;"}});
  };
  std::string line;
  if (!std::getline(csv, line) || line + '\n' != statistics_header)
    throw Error(
        Error::Kind::bad_input,
        "Trellis: this is no file of statistics: its first line is \"" + line.substr(0, 100) + '"');
  std::vector<std::string> const names = cells_of(line);
  struct Row {
    double time;
    std::size_t graph;
    std::array<double, column_count> value;  ///< negative: no value
  };
  std::vector<Row> rows;
  std::vector<std::string> graphs;
  double last = 0;
  while (std::getline(csv, line)) {
    std::vector<std::string> const cells = cells_of(line);
    if (cells.size() != column_count)
      throw Error(Error::Kind::bad_input, "Trellis: a row of a file of statistics has " +
                                              std::to_string(cells.size()) + " cells: \"" +
                                              line.substr(0, 100) + '"');
    Row row{number_of(cells[0]), 0, {}};
    row.graph = static_cast<std::size_t>(std::find(graphs.begin(), graphs.end(), cells[1]) -
                                         graphs.begin());
    if (row.graph == graphs.size()) graphs.push_back(cells[1]);
    for (std::size_t k = 2; k < column_count; ++k)
      row.value[k] = cells[k].empty() ? -1 : number_of(cells[k]);
    last = std::max(last, row.time);
    rows.push_back(row);
  }
  double const scale = last > 0 ? (width - 1) / last : 0;
  int const all_height = top + static_cast<int>(column_count - 2) * (height + gap) + 30;
  svg << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << left + width + 20 << "\" height=\""
      << all_height
      << "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
         "fill=\"white\"/>\n";
  int at = left;
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    svg << "<text x=\"" << at << "\" y=\"20\" fill=\"" << colours[g % colours.size()] << "\">"
        << text(graphs[g]) << "</text>\n";
    at += 20 + 8 * static_cast<int>(graphs[g].size());
  }
  for (std::size_t k = 2; k < column_count; ++k) {
    int const y = top + static_cast<int>(k - 2) * (height + gap);
    // The largest value by graph and pixel.
    std::map<std::pair<std::size_t, int>, double> largest;
    double most = 0;
    for (Row const& row : rows) {
      if (row.value[k] < 0) continue;
      int const x = static_cast<int>(row.time * scale);
      double& value = largest.try_emplace({row.graph, x}, row.value[k]).first->second;
      value = std::max(value, row.value[k]);
      most = std::max(most, value);
    }
    svg << "<text x=\"10\" y=\"" << y + height / 2 << "\">" << text(names[k]) << "</text>\n"
        << "<text x=\"" << left - 8 << "\" y=\"" << y + 10 << "\" text-anchor=\"end\">" << most
        << "</text>\n<text x=\"" << left - 8 << "\" y=\"" << y + height
        << "\" text-anchor=\"end\">0</text>\n<rect x=\"" << left << "\" y=\"" << y << "\" width=\""
        << width << "\" height=\"" << height << "\" fill=\"none\" stroke=\"#cccccc\"/>\n";
    for (std::size_t g = 0; g < graphs.size(); ++g) {
      std::string points;
      double before = -1;
      for (auto const& [where, value] : largest) {
        if (where.first != g) continue;
        double const height_of = most > 0 ? value / most * height : 0;
        std::string const x = std::to_string(left + where.second);
        // The number of fork-joins stays the same until the next row.
        if (k >= fork_joins_column && before >= 0)
          points += x + ',' + std::to_string(y + height - before) + ' ';
        points += x + ',' + std::to_string(y + height - height_of) + ' ';
        before = height_of;
      }
      if (!points.empty())
        svg << "<polyline fill=\"none\" stroke=\"" << colours[g % colours.size()] << "\" points=\""
            << points << "\"/>\n";
    }
  }
  svg << "<text x=\"" << left << "\" y=\"" << all_height - 12 << "\">0</text>\n<text x=\""
      << left + width << "\" y=\"" << all_height - 12 << "\" text-anchor=\"end\">" << last
      << " s</text>\n</svg>\n";
}

}  // namespace trellis::experimental
