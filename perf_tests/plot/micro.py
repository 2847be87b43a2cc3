#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""micro.py FILE FOLDER: turns what Google Benchmark has written into FOLDER/micro.json, rows of the form that taskbench
has, and plots time per task over `tasks:N` and `tiles:N` into FOLDER/micro_*.svg."""
import json
import os
import statistics
import sys

import style


def arguments(name):
    """`stencil/tiles:10/workers:2/real_time` -> (stencil, {tiles: 10, workers: 2})"""
    pattern, *rest = name.split("/")
    pairs = (each.split(":", 1) for each in rest if ":" in each)
    return pattern, {key: int(value) for key, value in pairs if value.isdigit()}


def flatten(benchmarks):
    runs = {}
    for run in benchmarks:
        if run.get("run_type") == "iteration" and not run.get("error_occurred") and "time_per_task" in run:
            runs.setdefault(run["run_name"], []).append(run)
    for name, repeated in runs.items():
        pattern, given = arguments(name)
        seconds = [run["time_per_task"] for run in repeated]
        median = statistics.median(seconds)
        yield {"benchmark": "micro", "part": "micro", "model": "trellis", "pattern": pattern, "kernel": "empty",
               "name": name, "width": given.get("tiles"), "tasks": given.get("tasks"), "workers": given.get("workers", 1),
               "accesses": given.get("accesses"), "repetitions": len(repeated), "us_per_task": 1e6 * median,
               "us_per_task_fastest": 1e6 * min(seconds), "us_per_task_slowest": 1e6 * max(seconds),
               "tasks_per_second": 1 / median,
               "edges_per_task": statistics.median(run.get("edges_per_task", 0) for run in repeated)}


def plot(pyplot, rows, key, xlabel):
    lines = {}
    for row in rows:
        if row[key] is not None:
            lines.setdefault(f"{row['pattern']}, workers: {row['workers']}", []).append((row[key], row["us_per_task"]))
    lines = {label: sorted(points) for label, points in lines.items() if len(points) > 1}
    if not lines:
        return None
    figure, axes = pyplot.subplots()
    for number, (label, points) in enumerate(lines.items()):
        axes.plot(*zip(*points), label=label, **style.of_number(number))
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set(title=f"Cost of a task with an empty body over the {xlabel}", xlabel=xlabel, ylabel="time per task [µs]")
    axes.legend()
    return figure


def main(path, folder):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    context = document["context"]
    for personal in ("host_name", "executable"):
        context.pop(personal, None)
    rows = list(flatten(document["benchmarks"]))
    flat = os.path.join(folder, "micro.json")
    with open(flat, "w", encoding="utf-8") as file:
        json.dump({"context": context, "rows": rows}, file, indent=1)
    print(f"{flat}: {len(rows)} rows")
    if not style.has_matplotlib():
        return
    from matplotlib import pyplot

    for name, key, xlabel in (("tasks", "tasks", "number of tasks"), ("tiles", "width", "number of tiles")):
        figure = plot(pyplot, rows, key, xlabel)
        if figure:
            style.save(figure, os.path.join(folder, f"micro_{name}.svg"), context)


main(*sys.argv[1:])
