#!/usr/bin/env python3
"""Checks that the folders of core/, spaces/ and policies/ form layers: no circle of includes.

A header and the source of the same name are one room. A folder's impl/ and src/ belong to it.
Prints the folders from the lowest to the highest, or the circles and the includes that close them.
"""
import os
import re
import sys
from collections import defaultdict

LAYERS = ("core", "spaces", "policies")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)


def stem(path):
    return re.sub(r"^Trellis_|\.(hpp|cpp)$", "", os.path.basename(path))


def folder(path):
    return re.sub(r"/(impl|src)$", "", os.path.dirname(path))


def sources():
    for layer in LAYERS:
        for where, _, names in os.walk(layer):
            for name in names:
                if name.endswith((".hpp", ".cpp")):
                    yield os.path.join(where, name)


def circles(arrows):
    """Returns the sets of nodes that reach each other, in an order in which each comes after those
    that it points to (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for to in sorted(arrows[node]):
            if to not in index:
                visit(to)
                low[node] = min(low[node], low[to])
            elif to in stack:
                low[node] = min(low[node], index[to])
        if low[node] == index[node]:
            at = stack.index(node)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(set(arrows) | {to for all_of in arrows.values() for to in all_of}):
        if node not in index:
            visit(node)
    return found


def main():
    files = sorted(sources())
    headers = {}  # the header of a name in each layer
    for path in files:
        if path.endswith(".hpp"):
            headers.setdefault((path.split("/")[0], stem(path)), path)
    by_include = {}
    for path in files:
        by_include.setdefault(path.split("/", 1)[1], path)
    home = {path: folder(headers.get((path.split("/")[0], stem(path)), path)) for path in files}
    arrows, lines = defaultdict(set), defaultdict(list)
    for path in files:
        with open(path, encoding="utf-8") as file:
            for name in INCLUDE.findall(file.read()):
                to = by_include.get(name)
                if to is not None and home[to] != home[path]:
                    arrows[home[path]].add(home[to])
                    lines[home[path], home[to]].append(f"{path}: <{name}>")
    failed = False
    for group in circles(arrows):
        if len(group) == 1:
            print(group[0])
            continue
        failed = True
        print("CIRCLE:", *group)
        for pair in sorted(lines):
            if set(pair) <= set(group):
                print(f"  {pair[0]} -> {pair[1]}, {len(lines[pair])} includes:", lines[pair][0])
    return failed


sys.exit(main())
