#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""taskbench.py FILE FOLDER: plots what `./run perf taskbench` has written into FOLDER/taskbench_*.svg."""
import json
import os
import sys

import style


def lines(rows, x, y):
    """For each model, in the order of the file, its points, also in the order of the file: that is the order of the
    sweep, where x is a measured quantity."""
    models = {}
    for row in rows:
        if row[y] is not None:
            models.setdefault(row["model"], []).append((row[x], row[y]))
    return models


def draw(axes, rows, x, y):
    for number, (model, points) in enumerate(lines(rows, x, y).items()):
        axes.plot(*zip(*points), label=model, **style.of_model(model, number))
    axes.set_xscale("log")


def cases(rows, part):
    """The rows of a part, by pattern and kernel."""
    found = {}
    for row in rows:
        if row["part"] == part:
            found.setdefault((row["pattern"], row["kernel"]), []).append(row)
    return found


def workers(rows):
    return max(row["workers"] for row in rows)


def efficiency(pyplot, rows, title):
    figure, axes = pyplot.subplots()
    draw(axes, rows, "granularity_us", "efficiency")
    metg = {row["model"]: row["metg50_us"] for row in rows}
    for handle, label in zip(*axes.get_legend_handles_labels()):
        handle.set_label(f"{label}: {metg[label]:.3g} µs" if metg[label] else f"{label}: never crosses 50 %")
    axes.axhline(0.5, color="black", linewidth=0.8)
    axes.set_ylim(0, 1.05)
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axes.set(title=f"Efficiency over task granularity: {title}, {workers(rows)} workers",
             xlabel="task granularity = time × workers / tasks [µs]", ylabel="rate / peak rate")
    axes.legend(title="METG(50 %)", loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def cost(pyplot, rows, x, xlabel, title):
    figure, axes = pyplot.subplots()
    draw(axes, rows, x, "us_per_task")
    axes.set_yscale("log")
    axes.set(title=f"{title}, {workers(rows)} workers", xlabel=xlabel, ylabel="time per task [µs]")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def patterns(pyplot, rows, kernel):
    names = list(dict.fromkeys(row["pattern"] for row in rows))
    figure, axes = pyplot.subplots()
    models = list(dict.fromkeys(row["model"] for row in rows))
    for number, model in enumerate(models):
        own = {row["pattern"]: row["us_per_task"] for row in rows if row["model"] == model}
        look = style.of_model(model, number) | {"linestyle": "none"}
        # Side by side within a pattern, so that equal points do not hide each other.
        offset = 0.6 * (number / max(1, len(models) - 1) - 0.5)
        axes.plot([names.index(p) + offset for p in own], own.values(), label=model, **look)
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_yscale("log")
    axes.set(title=f"Time per task, kernel {kernel}, width {rows[0]['width']}, {workers(rows)} workers", xlabel="pattern",
             ylabel="time per task [µs]")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def main(path, folder):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    if not style.has_matplotlib():
        return
    from matplotlib import pyplot

    rows = document["rows"]
    figures = {}
    for (pattern, kernel), own in cases(rows, "metg").items():
        figures[f"efficiency_{pattern}_{kernel}"] = efficiency(pyplot, own, f"{pattern}, {kernel}")
    for (pattern, _), own in cases(rows, "tasks").items():
        figures[f"tasks_{pattern}"] = cost(pyplot, own, "tasks", "number of tasks",
                                           f"Cost over the number of tasks: {pattern}, empty kernel, width {own[0]['width']}")
    for (pattern, _), own in cases(rows, "width").items():
        figures[f"width_{pattern}"] = cost(pyplot, own, "width", "width (number of columns)",
                                           f"Cost over the width: {pattern}, empty kernel")
    by_kernel = {}
    for (_, kernel), own in cases(rows, "cost").items():
        by_kernel.setdefault(kernel, []).extend(own)
    for kernel, own in by_kernel.items():
        figures[f"patterns_{kernel}"] = patterns(pyplot, own, kernel)
    for name, figure in figures.items():
        style.save(figure, os.path.join(folder, f"taskbench_{name}.svg"), document["context"])


main(*sys.argv[1:])
