#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""snippets.py: fails if a piece of C++ on a page of the tutorial or of the how-to is in no program of example/, line by
line but for the indentation. The programs are tests. A piece that shows a mistake has `wrong` in a comment."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def lines_of(text):
    return "\n".join(line.strip() for line in text.splitlines() if line.strip()) + "\n"


programs = ["\n" + lines_of(path.read_text(encoding="utf-8")) for path in ROOT.glob("example/**/*.[ch]pp")]
found, missing = 0, []
for page in sorted([*ROOT.glob("docs/tutorial/*.md"), *ROOT.glob("docs/howto/*.md")]):
    for piece in re.findall(r"^```cpp\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        if re.search(r"// wrong\b", piece):
            continue
        if any("\n" + lines_of(piece) in program for program in programs):
            found += 1
        else:
            missing.append(f"{page.relative_to(ROOT)}: in no program: {lines_of(piece).splitlines()[0]}")
print(f"{found} pieces of code are in the programs")
sys.exit("\n".join(missing) if missing or not found else 0)
