# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The documentation as a site: `./run docs`. The pages are the Markdown files of this folder, of
which the command makes a copy, and those of other folders that PAGES names. All of them are for
readers of the sources, too, so their links lead to files. Here these links lead to pages."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, HERE)
import reference  # noqa: E402

project = "Trellis"
author = "The Trellis developers"
copyright = author
with open(os.path.join(ROOT, "core", "Trellis_Version.hpp"), encoding="utf-8") as header:
    release = ".".join(re.findall(r"#define TRELLIS_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header.read()))
version = release

extensions = ["myst_parser", "sphinx_copybutton"]
myst_heading_anchors = 4
root_doc = "index"
exclude_patterns = ["*.py"]
html_theme = "furo"
html_title = "Trellis " + release
html_copy_source = False
html_show_sourcelink = False
pygments_style = "default"
pygments_dark_style = "monokai"

# Pages of the site that are files of other folders.
PAGES = {"index": "README.md", "examples": "example/README.md", "benchmarks": "perf_tests/README.md",
         "changes": "CHANGELOG.md", "contributing": "CONTRIBUTING.md", "security": "SECURITY.md"}
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")


def path_of(page):
    return PAGES.get(page, "docs/" + page + ".md")


def relink(page, text):
    """Links to files that are no pages become their texts."""
    pages = {path: name + ".md" for name, path in PAGES.items()}
    folder, here = os.path.dirname(path_of(page)), os.path.dirname(page)

    def link(match):
        label, to, anchor = match.group(1), match.group(2), match.group(3) or ""
        if not to or "://" in to:
            return match.group(0)
        path = os.path.normpath(os.path.join(folder, to))
        name = pages.get(path) or (path[len("docs/"):] if path.startswith("docs/") else None)
        if name is None:
            return label
        return f"[{label}]({os.path.relpath(name, here or '.')}{anchor})"

    return "".join(part if k % 2 else LINK.sub(link, part)
                   for k, part in enumerate(re.split(r"(?ms)(^```.*?^```)", text)))


def add_pages(app):
    for page in PAGES:
        if page != root_doc:
            open(os.path.join(app.srcdir, page + ".md"), "w", encoding="utf-8").close()
    reference.write(app.srcdir, os.path.join(app.doctreedir, "doxygen"))


def on_source_read(_app, page, source):
    if page in PAGES:
        with open(os.path.join(ROOT, PAGES[page]), encoding="utf-8") as file:
            source[0] = file.read() + source[0]
    source[0] = relink(page, source[0])


def setup(app):
    app.connect("builder-inited", add_pages)
    app.connect("source-read", on_source_read)
    return {"parallel_read_safe": True}
