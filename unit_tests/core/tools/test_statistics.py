#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tool for statistics over time does with a small known file."""
import contextlib
import importlib.util
import io
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location(
    "trellis_statistics", os.path.join(HERE, "..", "..", "..", "core", "tools", "statistics.py"))
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

TEXT = """time [s],graph,spawned,spawned fusable,held back,batches,mean batch size,ready,running,in flight,fork-joins,fork-join children
0.000100,"a, b",3,0,0,0,,1,2,3,0,0
0.000200,"a, b",,,,,,,,,1,8
0.000300,"a, b",,,,,,,,,0,0
0.010000,"a, b",4,2,1,2,2.50,0,1,1,0,0
"""


class Statistics(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, text, name="s.csv"):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as out:
            out.write(text)
        return path

    def run_tool(self, *arguments):
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stderr(errors):
            status = tool.main(list(arguments), out)
        return status, out.getvalue(), errors.getvalue()

    def test_lists_the_columns(self):
        status, out, _ = self.run_tool(self.file(TEXT))
        self.assertEqual(status, 0)
        self.assertIn("4 rows, 0.010 s", out)
        self.assertRegex(out, r"2 spawned +2 values, largest 4, sum 7")
        self.assertRegex(out, r"6 mean batch size +1 values, largest 2.5")
        self.assertRegex(out, r"10 fork-joins +4 values, largest 1, sum 1")
        self.assertRegex(out, r"11 fork-join children +4 values, largest 8, sum 8")

    def test_finds_columns_by_name_and_number(self):
        names, rows = tool.read(self.file(TEXT))
        self.assertEqual(tool.find(names, "in flight"), 9)
        self.assertEqual(tool.find(names, "10"), 10)
        (line,) = tool.lines_of("s.csv", names, rows, 10, False)
        self.assertEqual(line, ("fork-joins, a, b", [0.0001, 0.0002, 0.0003, 0.01], [0, 1, 0, 0]))

    def test_says_what_is_wrong(self):
        path = self.file(TEXT)
        for arguments, said in [((path, "-c", "nonsense"), "no column nonsense"),
                                ((path, "-c", "graph"), "no column of counters"),
                                ((self.file("a,b\n", "o.csv"),), "no file of statistics"),
                                ((self.file(TEXT + "1,a,2\n", "w.csv"),), "w.csv:6: 3 cells"),
                                ((os.path.join(self.folder.name, "none.csv"),), "none.csv")]:
            status, _, errors = self.run_tool(*arguments)
            self.assertEqual(status, 1)
            self.assertIn(said, errors)

    def test_plots(self):
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            status, _, errors = self.run_tool(self.file(TEXT), "-c", "ready")
            self.assertEqual((status, "no matplotlib" in errors), (1, True))
            return
        picture = os.path.join(self.folder.name, "x.svg")
        for kind in tool.KINDS:
            status, _, errors = self.run_tool(self.file(TEXT), "-c", "ready", "-c", "10", "-t", kind,
                                              "-o", picture)
            self.assertEqual((status, errors), (0, ""))
            with open(picture) as text:
                self.assertIn("</svg>", text.read())
            os.remove(picture)


if __name__ == "__main__":
    unittest.main()
