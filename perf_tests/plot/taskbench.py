#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""taskbench.py FILE FOLDER: plots what `./run perf taskbench` has written into FOLDER/taskbench_*.svg."""
import json
import os
import sys

import style


def lines(rows):
    """For each model, in the order of the file, its rows, also in the order of the file: that is the order of the
    sweep, where x is a measured quantity."""
    models = {}
    for row in rows:
        models.setdefault(row["model"], []).append(row)
    return models


def draw(axes, rows, x, y, power):
    """Medians, and a band from the slowest to the fastest run. y is proportional to seconds to this power."""
    for number, (model, points) in enumerate(lines(rows).items()):
        points = [row for row in points if row[y] is not None]
        if not points:
            continue
        look = style.of_model(model, number)
        at = [row[x] for row in points]
        axes.plot(at, [row[y] for row in points], label=style.name_of(model), gid=model, **look)
        ends = [[row[y] * (row[end] / row["seconds"]) ** power for row in points]
                for end in ("seconds_fastest", "seconds_slowest")]
        axes.fill_between(at, *ends, color=look["color"], alpha=0.15, linewidth=0)
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
    draw(axes, rows, "granularity_us", "efficiency", -1)
    metg = {row["model"]: (row["metg50_us"], row.get("metg90_us")) for row in rows}
    for handle, label in zip(*axes.get_legend_handles_labels()):
        both = " / ".join(f"{each:.2g}" if each else "–" for each in metg[handle.get_gid()])
        handle.set_label(f"{label}: {both} µs")
    for level in (0.5, 0.9):
        axes.axhline(level, color="black", linewidth=0.8)
    axes.set_ylim(0, 1.15)
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axes.set(title=f"Efficiency over task granularity: {title}, {workers(rows)} workers",
             xlabel="task granularity = time × workers / tasks [µs]", ylabel="rate / peak rate")
    axes.legend(title="METG(50 %) / METG(90 %)", loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def cost(pyplot, rows, x, xlabel, title):
    figure, axes = pyplot.subplots()
    draw(axes, rows, x, "us_per_task", 1)
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
        axes.plot([names.index(p) + offset for p in own], own.values(), label=style.name_of(model), **look)
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
