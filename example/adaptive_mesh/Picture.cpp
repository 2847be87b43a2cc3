// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>

#include "../shared/Text.hpp"

namespace adaptive_mesh {
namespace {

using example::number;

constexpr double width = 800;

/// Returns a colour from white to blue.
std::string colour(double value) {
  double const part = std::clamp(value, 0.0, 1.0);
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", static_cast<unsigned>(255 - 255 * part),
                static_cast<unsigned>(255 - 141 * part), static_cast<unsigned>(255 - 77 * part));
  return text;
}
std::string square(double x, double y, double side, std::string const& look) {
  return "<rect x='" + number("%.3f", width * x) + "' y='" + number("%.3f", width * y) +
         "' width='" + number("%.3f", width * side) + "' height='" + number("%.3f", width * side) +
         "' " + look + "/>\n";
}

}  // namespace

void draw(std::filesystem::path const& file, Mesh const& mesh, int step) {
  std::string svg =
      "<svg xmlns='http://www.w3.org/2000/svg' width='800' height='800'>\n"
      "<g shape-rendering='crispEdges'>\n";
  int const n = mesh.problem().cells;
  for (Patch const& patch : mesh.patches()) {
    Cells const& state = patch.data.state[static_cast<std::size_t>(step % 2)];
    Advect const place = mesh.advect(patch);
    auto const [least, most] = std::minmax_element(state.data(), state.data() + state.size());
    if (colour(*least) == colour(*most)) {
      svg += square(place.x, place.y, n * place.spacing, "fill='" + colour(*least) + "'");
      continue;
    }
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        svg += square(place.x + j * place.spacing, place.y + i * place.spacing, place.spacing,
                      "fill='" + colour(state(i, j)) + "'");
  }
  svg += "</g>\n<g fill='none' stroke-width='0.6'>\n";
  // Red ones are drawn last: a border that two patches share shows that one of them is of the
  // skeleton.
  for (bool const is_skeleton : {false, true})
    for (Patch const& patch : mesh.patches())
      if (patch.is_skeleton == is_skeleton) {
        Advect const place = mesh.advect(patch);
        svg += square(place.x, place.y, n * place.spacing,
                      is_skeleton ? "stroke='#D55E00'" : "stroke='#888888'");
      }
  svg += "</g>\n</svg>\n";
  std::ofstream out(file);
  out << svg;
  if (!out.flush()) throw std::runtime_error("cannot write '" + file.string() + "'");
}

}  // namespace adaptive_mesh
