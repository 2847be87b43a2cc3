#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of docs/names.py on a small tree: test_names.py PATH/TO/names.py"""

import contextlib
import importlib.util
import io
import pathlib
import sys
import tempfile
import unittest

SCRIPT = sys.argv.pop(1)

FIRST = """
/// The first tier.
#include <Trellis_Graph.hpp>
"""
GRAPH = """
#include <Trellis_Rules.hpp>
namespace trellis {

class Forward;
enum class Known : int;
namespace Impl {
/// Hidden.
struct Hidden {};
template <class T>
concept AlsoHidden = requires(T t) { { t.f() }; };
}  // namespace Impl

/// What runs. See "a { in a text".
class Graph : Impl::Hidden {
  struct Inner {};
  void member() { char const* brace = "{"; }
};
template <>
struct Traits<int> {};
/// Traits.
template <class T>
struct Traits {};
/// Reads: `read(x)`.
///
///     read(x);
template <class R, int n = (3 > 2)>
  requires(Impl::AlsoHidden<R> && (sizeof(R) > 1)) || std::is_void_v<R>
constexpr auto read(R&& resource) {
  return [] { return 1; }();
}
auto write(int a = int{3}, int b = 4) -> decltype(a + b);
template <class T>
  requires requires(T t) { t.x; }
[[nodiscard]] std::vector<T> found(T const&);
Graph(int) -> Graph;
inline void Graph::member2() {}
bool operator==(Graph const&, Graph const&);
/// A constant of each type.
template <class T>
inline constexpr Traits<T> on{};
template <>
inline constexpr Traits<long> on<long>{};
inline constexpr int numbers[] = {1, 2};
static_assert(sizeof(int) == 4, "size; of {");
/// An alias.
template <class V>
using view = typename V::type;
using Impl::borrowed;
/// What is possible.
template <class T>
concept Possible = std::is_void_v<T> || requires(T t) { t.y; };
/// A choice.
enum class Choice : unsigned char { one, two };

namespace inner {
/// A function inside.
int index();
}  // namespace inner
namespace experimental {
/// It may change.
void later();
}  // namespace experimental

}  // namespace trellis
"""
EXPECTED = {"Graph": "class", "Traits": "class", "read": "function", "write": "function",
            "found": "function", "on": "variable", "numbers": "variable", "view": "alias",
            "borrowed": "alias", "Possible": "concept", "Choice": "enumeration",
            "inner::index": "function"}
RULES = "/// Rules.\nnamespace trellis {\n/// A rule.\nstruct Rule {};\n}  // namespace trellis\n"


class Names(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for each in ("core", "spaces", "policies", "docs"):
            (self.root / each).mkdir()
        self.write("Trellis.hpp", FIRST)
        self.write("Trellis_Graph.hpp", GRAPH)
        self.write("Trellis_Rules.hpp", RULES)
        spec = importlib.util.spec_from_file_location("names", SCRIPT)
        self.names = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.names)
        self.names.ROOT, self.names.PAGE = self.root, self.root / "docs" / "names.md"
        self.names.TOPICS, self.names.COMPONENTS = ("Trellis_Rules.hpp",), {}

    def write(self, header, text):
        (self.root / "policies" / header).write_text(text)

    def run_with(self, *options):
        """The exit status, and what was said on the standard error stream."""
        said = io.StringIO()
        sys.argv[1:] = options
        with contextlib.redirect_stderr(said):
            status = self.names.main()
        return status, said.getvalue()

    def test_finds_each_kind_of_declaration_and_nothing_else(self):
        _, tiers, along, experimental, wrong = self.names.collect()
        self.assertEqual({name: entry[0] for name, entry in tiers[0][2].items()}, EXPECTED)
        self.assertEqual(list(tiers[1][2]), ["Rule"])
        self.assertEqual(along, {"Rule"})
        self.assertEqual(list(experimental), ["experimental::later"])
        self.assertEqual(wrong, [])

    def test_takes_the_first_sentence(self):
        _, tiers, *_ = self.names.collect()
        self.assertEqual(tiers[0][2]["read"][1], "Reads: `read(x)`.")
        self.assertEqual(tiers[0][2]["Graph"][1], "What runs.")
        self.assertEqual(tiers[0][2]["found"][1], "Reads: `read(x)`.")

    def test_a_page_that_was_just_written_passes(self):
        self.assertEqual(self.run_with(), (0, ""))
        self.assertEqual(self.run_with("--check"), (0, ""))

    def test_a_name_that_joins_the_first_tier_is_told(self):
        self.run_with()
        self.write("Trellis_Graph.hpp", GRAPH.replace(
            "namespace inner {", "/// New.\nvoid joined();\nnamespace inner {"))
        status, said = self.run_with("--check")
        self.assertEqual(status, 1)
        self.assertIn("+| `joined` | New. |", said)

    def test_a_name_that_comes_along_is_told(self):
        self.run_with()
        self.write("Trellis_Rules.hpp", RULES.replace("}  //", "/// New.\nstruct Other {};\n}  //"))
        status, said = self.run_with("--check")
        self.assertEqual(status, 1)
        self.assertIn("+- `Other` of `<Trellis_Rules.hpp>`", said)

    def test_a_header_that_joins_the_first_tier_is_told(self):
        self.run_with()
        self.write("Trellis.hpp", FIRST + "#include <Trellis_Rules.hpp>\n")
        status, said = self.run_with("--check")
        self.assertEqual(status, 1)
        self.assertIn("+| `Rule` | A rule. |", said)

    def test_a_name_without_a_tier_or_a_comment_is_told(self):
        self.run_with()
        self.write("Trellis_Lost.hpp", RULES.replace("Rule ", "Lost "))
        self.write("Trellis_Rules.hpp", RULES.replace("/// A rule.\n", ""))
        status, said = self.run_with("--check")
        self.assertEqual(status, 1)
        self.assertIn("Lost is in policies/Trellis_Lost.hpp", said)
        self.assertIn("Rule has no comment", said)


if __name__ == "__main__":
    unittest.main()
