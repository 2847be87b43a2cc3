// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <stdexcept>

#include "../shared/Text.hpp"

namespace cg {
namespace {

using example::number;

constexpr double width = 760, height = 420, left = 70, right = 20, top = 40, bottom = 50;

/// The positions of steps and values. Powers of ten have lines.
struct Axes {
  double last_step, lowest, highest;

  explicit Axes(Plot const& plot)
      : last_step(std::max<double>(1, static_cast<double>(plot.values.size()) - 1)),
        lowest(std::floor(std::log10(plot.target))),
        highest(std::ceil(std::log10(plot.target))) {
    auto const include = [&](double value) {
      if (!(value > 0 && std::isfinite(value))) return;
      lowest = std::min(lowest, std::floor(std::log10(value)));
      highest = std::max(highest, std::ceil(std::log10(value)));
    };
    for (double const value : plot.values) include(value);
    include(plot.at_the_end);
    highest = std::max(highest, lowest + 1);
  }
  [[nodiscard]] std::string x(double step) const {
    return number("%.1f", left + (width - left - right) * step / last_step);
  }
  [[nodiscard]] std::string y(double exponent, double below = 0) const {
    double const part = (highest - exponent) / (highest - lowest);
    return number("%.1f", top + (height - top - bottom) * part + below);
  }
};

/// Returns 1, 2 or 5 times a power of ten, such that about `count` of them cover all.
double spacing(double all, double count) {
  double const power = std::pow(10, std::floor(std::log10(std::max(1.0, all / count))));
  for (double const factor : {1.0, 2.0, 5.0})
    if (all / (factor * power) <= count) return factor * power;
  return 10 * power;
}

std::string escaped(std::string const& plain) {
  std::string xml;
  for (char const c : plain)
    xml += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return xml;
}
std::string text(std::string const& x, std::string const& y, char const* anchor,
                 std::string const& what) {
  return "<text x='" + x + "' y='" + y + "' text-anchor='" + anchor + "'>" + escaped(what) +
         "</text>\n";
}
std::string line(std::string const& x1, std::string const& y1, std::string const& x2,
                 std::string const& y2, char const* look) {
  return "<line x1='" + x1 + "' y1='" + y1 + "' x2='" + x2 + "' y2='" + y2 + "' " + look + "/>\n";
}

}  // namespace

void draw(std::filesystem::path const& file, Plot const& plot) {
  Axes const axes(plot);
  constexpr char const* grid = "stroke='#dddddd'";
  std::string const x_end = axes.x(axes.last_step), y_end = axes.y(axes.lowest);
  std::string svg = "<svg xmlns='http://www.w3.org/2000/svg' width='" + number("%g", width) +
                    "' height='" + number("%g", height) +
                    "' font-family='sans-serif' font-size='12'>\n"
                    "<rect width='100%' height='100%' fill='white'/>\n";
  for (double e = axes.lowest; e <= axes.highest; e += spacing(axes.highest - axes.lowest, 12)) {
    svg += line(number("%g", left), axes.y(e), x_end, axes.y(e), grid);
    svg += text(number("%g", left - 8), axes.y(e, 4), "end", "1e" + number("%g", e));
  }
  for (double step = 0; step <= axes.last_step; step += spacing(axes.last_step, 10)) {
    svg += line(axes.x(step), number("%g", top), axes.x(step), y_end, grid);
    svg += text(axes.x(step), number("%g", height - bottom + 18), "middle", number("%g", step));
  }
  double const target = std::log10(plot.target);
  svg += line(number("%g", left), axes.y(target), x_end, axes.y(target),
              "stroke='#D55E00' stroke-dasharray='6 4'");
  svg += "<polyline fill='none' stroke='#0072B2' stroke-width='1.8' points='";
  for (std::size_t step = 0; step < plot.values.size(); ++step)
    if (double const value = plot.values[step]; value > 0 && std::isfinite(value))
      svg += axes.x(static_cast<double>(step)) + ',' + axes.y(std::log10(value)) + ' ';
  svg += "'/>\n";
  if (plot.at_the_end > 0 && std::isfinite(plot.at_the_end))
    svg += "<circle cx='" + axes.x(static_cast<double>(plot.values.size()) - 1) + "' cy='" +
           axes.y(std::log10(plot.at_the_end)) + "' r='5' fill='none' stroke='#000000'/>\n";
  svg += text(number("%g", left), "24", "start", plot.title);
  svg += text(x_end, number("%g", height - 10), "end",
              "step; dashed: the tolerance; ring: |b - A x| / |b| at the end");
  svg += "</svg>\n";
  std::ofstream out(file);
  out << svg;
  if (!out.flush()) throw std::runtime_error("cannot write '" + file.string() + "'");
}

}  // namespace cg
