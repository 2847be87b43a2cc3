#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""micro.py FILE FOLDER: turns what Google Benchmark has written into FOLDER/micro.json, rows of the form that taskbench
has, and plots into FOLDER/micro_*.svg: time per task over `tasks:N` and `tiles:N`, time per fork-join over its children, batches
over the indices of their members, and what numbers and futures cost."""
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


# What a row counts, in the order in which it is looked for.
TIMES = ("time_per_task", "time_per_fork_join", "time_per_member")


def flatten(benchmarks):
    runs = {}
    for run in benchmarks:
        counts = [each for each in TIMES if each in run]
        if run.get("run_type") == "iteration" and not run.get("error_occurred") and counts:
            runs.setdefault((run["run_name"], counts[0]), []).append(run)
    for (name, counted), repeated in runs.items():
        pattern, given = arguments(name)
        seconds = [run[counted] for run in repeated]
        median = statistics.median(seconds)
        yield {"benchmark": "micro", "part": "micro", "model": "trellis", "pattern": pattern, "kernel": "empty",
               "name": name, "width": given.get("tiles"), "tasks": given.get("tasks"), "workers": given.get("workers", 1),
               "accesses": given.get("accesses"), "children": given.get("children"), "indices": given.get("indices"),
               "counted": counted, "repetitions": len(repeated), "us_per_task": 1e6 * median,
               "us_per_task_fastest": 1e6 * min(seconds), "us_per_task_slowest": 1e6 * max(seconds),
               "tasks_per_second": 1 / median,
               "edges_per_task": statistics.median(run.get("edges_per_task", 0) for run in repeated)}


def plot(pyplot, lines, title, xlabel, ylabel, both_log=False):
    """`lines`: points (x, y) by the label of a line."""
    lines = {label: sorted(points) for label, points in lines.items() if len(points) > 1}
    if not lines:
        return None
    figure, axes = pyplot.subplots()
    for number, (label, points) in enumerate(lines.items()):
        axes.plot(*zip(*points), label=label, **style.of_number(number))
    axes.set_xscale("log")
    if both_log:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    axes.legend()
    return figure


def lines_over(rows, key, label):
    lines = {}
    for row in rows:
        if row[key] is not None:
            lines.setdefault(label(row), []).append((row[key], row["us_per_task"]))
    return lines


def with_workers(row):
    return f"{row['pattern']}, workers: {row['workers']}"


def plot_tasks(pyplot, rows, key, xlabel):
    empty = [row for row in rows if row["counted"] == "time_per_task"]
    title = f"Cost of a task with an empty body over the {xlabel}"
    return plot(pyplot, lines_over(empty, key, with_workers), title, xlabel, "time per task [µs]")


def plot_fork_joins(pyplot, rows):
    fork_joins = [row for row in rows if row["counted"] == "time_per_fork_join"]
    title = "Forking and joining empty children"
    return plot(pyplot, lines_over(fork_joins, "children", with_workers), title, "number of children", "time per fork-join [µs]", True)


def plot_batches(pyplot, rows):
    batches = [row for row in rows if row["counted"] == "time_per_member"]
    lines = lines_over(batches, "indices", lambda row: f"{row['pattern']}, tasks: {row['tasks']}")
    title = "Small kernels: one batch, each by itself, and one kernel by hand over the same work"
    return plot(pyplot, lines, title, "indices of a task", "time per task [µs]", True)


def plot_numbers(pyplot, rows):
    bars = {with_workers(row): row["us_per_task"] for row in rows if row["pattern"].startswith(("chain_by_", "stencil_by_"))}
    if not bars:
        return None
    figure, axes = pyplot.subplots()
    axes.barh(list(bars), list(bars.values()), color=style.COLOURS[5])
    axes.invert_yaxis()
    axes.set(title="Tasks that name those before them by futures and by numbers", xlabel="time per task [µs]")
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

    figures = {"tasks": plot_tasks(pyplot, rows, "tasks", "number of tasks"),
               "tiles": plot_tasks(pyplot, rows, "width", "number of tiles"),
               "fork_joins": plot_fork_joins(pyplot, rows), "batches": plot_batches(pyplot, rows),
               "numbers": plot_numbers(pyplot, rows)}
    for name, figure in figures.items():
        if figure:
            style.save(figure, os.path.join(folder, f"micro_{name}.svg"), context)


main(*sys.argv[1:])
