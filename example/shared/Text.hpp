// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TRELLIS_EXAMPLE_TEXT_HPP
#define TRELLIS_EXAMPLE_TEXT_HPP

#include <Kokkos_Macros.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

/// This header prints numbers, in lines of two columns.
namespace example {

inline void line(char const* what, std::string const& value) {
  std::printf("  %-28s %s\n", what, value.c_str());
}

inline std::string number(char const* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

inline std::string plural(int count, char const* thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

inline std::string times(std::vector<int> const& numbers) {
  std::string text;
  for (int number : numbers) text += (text.empty() ? "" : " x ") + std::to_string(number);
  return text;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::size_t const half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

inline std::string kokkos_version() {
  return std::to_string(KOKKOS_VERSION / 10000) + "." + std::to_string(KOKKOS_VERSION / 100 % 100) +
         "." + std::to_string(KOKKOS_VERSION % 100);
}

}  // namespace example

#endif
