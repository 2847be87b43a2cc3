// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Access states without tasks: three ways to use one field in space, and what Trellis concludes
// from them. The case is that of the resource-register paper (section 7.3); the lines are in its
// order.
#include <Trellis_States.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace {

using How = trellis::MatrixAccess<trellis::IOMatrix>;
using Where = trellis::AreaAccess<double, 3>;

struct Field {
  char name;
  trellis::CombinedAccess<How, Where> access;
};

void print(Field const& field) {
  std::string text;
  for (auto const& [first, last] : field.access.part<1>().intervals()) {
    char interval[64];
    std::snprintf(interval, sizeof interval, "%s[%g, %g]", text.empty() ? "" : " x ", first, last);
    text += interval;
  }
  std::string const mode(to_string(field.access.part<0>().entry()));
  std::printf("%c: %s %s\n", field.name, text.c_str(), mode.c_str());
}

}  // namespace

int main() {
  using trellis::Mode;
  // Closed intervals: B begins at 1 and C ends at 0.9 along the second direction, so these two
  // never touch.
  Field const a{'A', {How(Mode::read_write), Where({{{0, 2}, {0, 2}, {0, 2}}})}};
  Field const b{'B', {How(Mode::read), Where({{{0, 2}, {1, 2}, {0, 2}}})}};
  Field const c{'C', {How(Mode::atomic_add), Where({{{0, 2}, {0, 0.9}, {0, 2}}})}};
  std::vector<std::pair<Field, Field>> const pairs = {{a, a}, {b, b}, {c, c}, {a, b}, {b, a},
                                                      {a, c}, {c, a}, {b, c}, {c, b}};

  for (Field const& field : {a, b, c}) print(field);
  for (auto const& [x, y] : pairs)
    std::printf("Dependency %c -> %c (== they need to run sequentially): %d\n", x.name, y.name,
                y.access.is_dependent_of(x.access) ? 1 : 0);
  for (auto const& [x, y] : pairs)
    std::printf("%c is superset of %c (== %c can be demoted to %c): %d\n", x.name, y.name, x.name,
                y.name, x.access.is_superset_of(y.access) ? 1 : 0);
}
