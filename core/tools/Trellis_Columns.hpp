// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_IMPL_COLUMNS_HPP
#define TRELLIS_IMPL_COLUMNS_HPP

#include <tools/Trellis_Text.hpp>
#include <tools/Trellis_TimelineStyle.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trellis::Impl {

/// Formats a value with so many decimals, whatever the locale: (0.5, 2) is "0.50".
[[nodiscard]] inline std::string fixed(double value, int decimals) {
  auto const scale = static_cast<std::uint64_t>(std::llround(std::pow(10, decimals)));
  auto const all =
      static_cast<std::uint64_t>(std::llround(std::abs(value) * static_cast<double>(scale)));
  std::string rest = std::to_string(all % scale);
  rest.insert(0, static_cast<std::size_t>(decimals) - rest.size(), '0');
  return (value < 0 && all != 0 ? "-" : "") + std::to_string(all / scale) + '.' + rest;
}

/// Returns a label with "*" for its numbers, which all tiles share: "tile 1,2" gives "tile *,*".
[[nodiscard]] inline std::string family_name(std::string_view label) {
  return TimelineStyle::with_numbers(TimelineStyle::split(label).pattern,
                                     [](std::size_t) { return std::string("*"); });
}

/// A table of text, for a terminal: the first column is flush left, the others flush right; with
/// two columns both are flush left.
class Columns {
 public:
  void row(std::vector<std::string>&& cells) {
    m_width.resize(std::max(m_width.size(), cells.size()));
    for (std::size_t k = 0; k < cells.size(); ++k)
      m_width[k] = std::max(m_width[k], TimelineStyle::text_width(cells[k]));
    m_rows.push_back(std::move(cells));
  }
  [[nodiscard]] std::string text() const {
    std::string text;
    for (std::vector<std::string> const& row : m_rows) {
      std::string line = " ";
      for (std::size_t k = 0; k < row.size(); ++k) {
        std::string const room(m_width[k] - TimelineStyle::text_width(row[k]), ' ');
        bool const left = k == 0 || m_width.size() == 2;
        line += ' ' + (left ? row[k] + room : ' ' + room + row[k]) + (k == 0 ? " " : "");
      }
      while (line.ends_with(' ')) line.pop_back();
      text += line + '\n';
    }
    return text;
  }

 private:
  std::vector<std::size_t> m_width;
  std::vector<std::vector<std::string>> m_rows;
};

}  // namespace trellis::Impl

#endif
