#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""results.py [results.csv [FOLDER]]: draws FOLDER/taskbench_efficiency.svg, the picture of the README, from the rows of
results.csv that have an efficiency: five lines, with their names at the lines. FOLDER is docs/ by default."""
import csv
import os
import sys

import style

NAMES = {"trellis_plan": "Trellis, plan", "trellis": "Trellis", "taskflow": "Taskflow", "tbb": "oneTBB",
         "openmp_llvm": "OpenMP depend"}
# Where the name of each line ends (right) or begins (left).
PLACES = {"trellis_plan": (0.62, 0.62, "right"), "trellis": (0.95, 0.5, "left"), "taskflow": (1.3, 0.2, "right"),
          "tbb": (120, 0.83, "left"), "openmp_llvm": (5.3, 0.33, "left")}


def main(path, folder):
    if not style.has_matplotlib():
        return
    from matplotlib import pyplot
    lines, context = {}, {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["measure"] == "efficiency":
                granularity = float(row["case"].split(" of ")[1].split()[0])
                lines.setdefault(row["model"], []).append((granularity, float(row["value"])))
                context = {"processor": row["machine"], "date": row["date"] + ", commit " + row["commit"]}
    figure, axes = pyplot.subplots(figsize=(8, 4.5))
    for number, model in enumerate(NAMES):
        points = sorted(lines[model])
        look = style.of_model(model, number)
        axes.plot(*zip(*points), **look)
        granularity, efficiency, side = PLACES[model]
        axes.text(granularity, efficiency, NAMES[model], ha=side, va="center", color=look["color"], fontweight="bold")
    axes.set_xscale("log")
    axes.set_xlim(0.1, 600)
    axes.set_ylim(0, 1.03)
    axes.set_xlabel("length of a task [µs]")
    axes.set_ylabel("share of the time that is work")
    axes.set_title("Short tasks: how much of the time is work? (stencil, two threads)", fontsize=11)
    axes.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    style.save(figure, os.path.join(folder, "taskbench_efficiency.svg"), context)


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "results.csv"),
         sys.argv[2] if len(sys.argv) > 2 else os.path.join(here, "..", "..", "docs"))
