#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpi.py FILE FOLDER: plots what `./run perf mpi` has written into FOLDER/mpi_*.svg."""
import json
import os
import sys

import style

NAMES = {
    "bare": "MPI by hand", "bare_persistent": "MPI by hand, persistent", "bare_bulk": "MPI by hand, bulk-synchronous",
    "by_hand": "MPI by hand, tested between pieces", "trellis": "Trellis, tasks",
    "trellis_submitted": "Trellis, submitted before", "trellis_plan": "Trellis, plan",
    "trellis_priority": "Trellis, messages with priority", "bulk": "one after the other",
}


def name_of(row, rows):
    name = NAMES.get(row["model"], row["model"])
    several = len({other["workers"] for other in rows if other["kind"] != "bare"}) > 1
    return f"{name}, {row['workers']} workers" if several and row["kind"] != "bare" else name


def lines(rows):
    found = {}
    for row in rows:
        found.setdefault(name_of(row, rows), []).append(row)
    return found


def draw(pyplot, rows, x, y, title, xlabel, ylabel, bounds=False, log=True):
    """Medians, and if y is proportional to the time a band from the fastest to the slowest run."""
    figure, axes = pyplot.subplots()
    for number, (name, points) in enumerate(lines(rows).items()):
        points = [row for row in points if row[x] is not None and row[y] is not None]
        if not points:
            continue
        look = style.of_number(number)
        at = [row[x] for row in points]
        axes.plot(at, [row[y] for row in points], label=name, **look)
        if bounds:
            ends = [[row[y] * row[end] / row["seconds"] for row in points] for end in ("seconds_fastest", "seconds_slowest")]
            axes.fill_between(at, *ends, color=look["color"], alpha=0.15, linewidth=0)
    axes.set_xscale("log", base=2)
    if log:
        axes.set_yscale("log")
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def groups(rows, part, *keys):
    found = {}
    for row in rows:
        if row["part"] == part:
            found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def main(path, folder):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    if not style.has_matplotlib():
        return
    from matplotlib import pyplot

    rows = document["rows"]
    figures = {}
    for (pattern,), own in groups(rows, "latency", "pattern").items():
        figures[f"latency_{pattern}"] = draw(pyplot, own, "bytes", "us_per_message", f"Time of a message: {pattern}",
                                             "bytes", "time per message [µs]", bounds=True)
    for (size, tags), own in {(size, one): [row for row in all_rows if (row["tags"] == 1) == one]
                              for (size,), all_rows in groups(rows, "in_flight", "bytes").items()
                              for one in (False, True)}.items():
        if own:
            figures[f"in_flight_{size}{'_one_tag' if tags else ''}"] = draw(
                pyplot, own, "in_flight", "messages_per_second",
                f"Messages of {size} bytes under way at the same time" + (", one tag" if tags else ""),
                "messages under way in each direction", "messages per second")
    for (pattern, piece), own in groups(rows, "overlap", "pattern", "granularity_us").items():
        own = [row for row in own if row["kind"] != "bare" or row["model"] in ("bulk", "by_hand")]
        x, xlabel = ("communicate_us", "time until the answer [µs]") if pattern == "late_answer" else ("bytes", "bytes")
        figures[f"overlap_{pattern}_{piece:.0f}us"] = draw(
            pyplot, own, x, "ratio_to_longer", f"Computing in pieces of {piece:.0f} µs beside messages: {pattern}",
            xlabel, "time / max(computing alone, messages alone)", log=False)
    for part, title in (("heat", "An explicit heat step"), ("cg", "Conjugate gradients")):
        for (ranks,), own in groups(rows, part, "ranks").items():
            own = [row for row in own if row["model"] not in ("communicate", "compute")]
            threads = max(row["workers"] for row in own)
            figures[f"{part}_{ranks}x{threads}"] = draw(
                pyplot, own, "compute_us", "ratio_to_longer", f"{title}: {ranks} rank(s) with {threads} thread(s) each",
                "time of computing alone, a step [µs]", "time / max(computing alone, messages alone)", log=False)
    for (width, workers), own in groups(rows, "stencil", "width", "workers").items():
        figures["stencil"] = efficiency(pyplot, own, width, workers)
    for (agrees, network), own in groups(rows, "prediction", "agrees", "network_us").items():
        if own[0]["ranks_on_a_core"] == 1:
            name = "weak_scaling" + ("_allreduce" if agrees else "") + ("_network" if network else "")
            figures[name] = weak_scaling(pyplot, own, agrees, network)
    for name, figure in figures.items():
        style.save(figure, os.path.join(folder, f"mpi_{name}.svg"), document["context"])


def weak_scaling(pyplot, rows, agrees, network):
    where = f"a network of {network:.3g} µs a message" if network else "the messages of this machine"
    figure = draw(pyplot, rows, "ranks", "predicted_efficiency",
                  f"Predicted weak scaling: {rows[0]['width']} columns of {rows[0]['granularity_us']:.3g} µs on each rank",
                  "ranks, a core for each", f"time on one rank / time, {where}"
                  + (", an allreduce in each step" if agrees else ""), log=False)
    figure.axes[0].set_ylim(0, 1.05)
    return figure


def efficiency(pyplot, rows, width, workers):
    figure, axes = pyplot.subplots()
    for number, (name, points) in enumerate(lines(rows).items()):
        both = " / ".join(f"{each:.2g}" if each else "–" for each in (points[0]["metg50_us"], points[0]["metg90_us"]))
        axes.plot([row["granularity_us"] for row in points], [row["efficiency"] for row in points],
                  label=f"{name}: {both} µs", **style.of_number(number))
    for level in (0.5, 0.9):
        axes.axhline(level, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_ylim(0, 1.05)
    axes.set(title=f"Stencil over {rows[0]['ranks']} ranks, {width} columns, {workers} workers each",
             xlabel="task granularity = time × threads / tasks [µs]", ylabel="rate / peak rate")
    axes.legend(title="METG(50 %) / METG(90 %)", loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


main(*sys.argv[1:])
