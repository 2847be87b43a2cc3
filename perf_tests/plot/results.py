#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""results.py [results.csv [FOLDER]]: draws two pictures from results.csv. FOLDER is docs/ by default.

FOLDER/taskbench_efficiency.svg, the picture of the README, has the rows with an efficiency: five lines, with their
names at the lines. FOLDER/cholesky_gpu.svg has the time of a factorisation on a GPU: a bar for each model."""
import csv
import os
import sys

import style

NAMES = {"trellis_plan": "Trellis, plan", "trellis": "Trellis", "taskflow": "Taskflow", "tbb": "oneTBB",
         "openmp_llvm": "OpenMP depend"}
# Where the name of each line ends (right) or begins (left).
PLACES = {"trellis_plan": (0.62, 0.62, "right"), "trellis": (0.95, 0.5, "left"), "taskflow": (1.3, 0.2, "right"),
          "tbb": (120, 0.83, "left"), "openmp_llvm": (5.3, 0.33, "left")}


# The bars of the solver, from the top to the bottom.
BARS = {"one_stream": "plain Kokkos, one instance", "trellis": "Trellis, tasks", "trellis_plan": "Trellis, plan"}


def draw_efficiency(pyplot, rows, folder):
    lines, context = {}, {}
    for row in rows:
        if row["measure"] == "efficiency":
            granularity = float(row["case"].split(" of ")[1].split()[0])
            lines.setdefault(row["model"], []).append((granularity, float(row["value"])))
            context = context_of(row)
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


def draw_solver(pyplot, rows, folder):
    times, context = {}, {}
    for row in rows:
        if (row["case"], row["measure"]) == ("cholesky", "until all are done"):
            times[row["model"]] = float(row["value"])
            context = context_of(row)
    plain = times["one_stream"]
    figure, axes = pyplot.subplots(figsize=(8, 2.6))
    for number, (model, name) in enumerate(BARS.items()):
        colour = style.of_model("kokkos" if model == "one_stream" else model, number)["color"]
        axes.barh(number, times[model], color=colour, height=0.6, alpha=0.6 if model == "trellis_plan" else 1)
        ratio = "" if model == "one_stream" else f",  {plain / times[model]:.1f} times as fast"
        axes.text(times[model] + 1, number, f"{times[model]:.0f} ms{ratio}", va="center", fontweight="bold")
    axes.set_yticks(range(len(BARS)), list(BARS.values()))
    axes.invert_yaxis()
    axes.set_xlim(0, 1.15 * plain)
    axes.set_xlabel("time of a factorisation [ms]")
    axes.set_title("Cholesky in tiles on a GPU: 2048 x 2048 doubles, 816 kernels", fontsize=11)
    axes.grid(axis="y", visible=False)
    style.save(figure, os.path.join(folder, "cholesky_gpu.svg"), context)


def context_of(row):
    return {"processor": row["machine"], "date": row["date"] + ", commit " + row["commit"]}


def main(path, folder):
    if not style.has_matplotlib():
        return
    from matplotlib import pyplot
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    draw_efficiency(pyplot, rows, folder)
    draw_solver(pyplot, rows, folder)


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "results.csv"),
         sys.argv[2] if len(sys.argv) > 2 else os.path.join(here, "..", "..", "docs"))
