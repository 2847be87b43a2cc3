#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_json.py FILE: is it what `./run perf mpi` promises? Says what is wrong and fails otherwise."""
import json
import math
import sys

NUMBER = (int, float)
INT, TEXT, OPTIONAL = (int, type(None)), (str, type(None)), (int, float, type(None))
ROW = {
    "benchmark": str, "part": str, "model": str, "kind": str, "pattern": TEXT, "kernel": TEXT, "ranks": int,
    "workers": int, "bytes": INT, "in_flight": INT, "tags": INT, "width": INT, "steps": INT, "tasks": INT,
    "messages": INT, "iterations": INT, "repetitions": INT,
}
# All others are numbers, or null where they mean nothing.
NUMBERS = {
    "seconds", "seconds_fastest", "seconds_slowest", "spread", "us_per_task", "tasks_per_second", "us_per_message",
    "messages_per_second", "added_us", "added_us_fastest", "ratio_to_bare", "granularity_us", "efficiency",
    "metg50_us", "metg90_us", "compute_us", "communicate_us", "ratio_to_longer", "ratio_to_bulk", "us_per_step",
    "us_per_step_fastest", "agrees", "ranks_on_a_core", "network_us", "predicted_us_per_step",
    "predicted_efficiency", "error", "cost_task_us", "cost_message_us", "cost_latency_us", "cost_agreement_us",
    "cost_stage_us", "cost_handover_us",
}
ROW.update({key: OPTIONAL for key in NUMBERS})
PARTS = ("latency", "submission", "in_flight", "overlap", "heat", "cg", "stencil", "weak_scaling", "prediction")
CONTEXT = {"benchmark": str, "date": str, "processor": str, "hardware_threads": int, "ranks": int, "workers": int,
           "mpi": str, "thread_level": str, "compiler": str, "kokkos": str, "host_space": str}


def problems(document):
    for key, kind in CONTEXT.items():
        if not isinstance(document["context"].get(key), kind):
            yield f"context: {key} is {document['context'].get(key)!r}"
    if not document["rows"]:
        yield "no rows"
    for number, row in enumerate(document["rows"]):
        if set(row) != set(ROW):
            yield f"row {number}: keys {sorted(set(row) ^ set(ROW))} are missing or not known"
            continue
        for key, kind in ROW.items():
            if not isinstance(row[key], kind) or isinstance(row[key], bool):
                yield f"row {number}: {key} is {row[key]!r}"
        if row["seconds"] is None:  # computed from others
            if row["part"] == "prediction" and not 0 < row["predicted_efficiency"] <= 1:
                yield f"row {number}: the predicted efficiency is {row['predicted_efficiency']!r}"
            continue
        if not row["seconds_fastest"] <= row["seconds"] <= row["seconds_slowest"]:
            yield f"row {number}: the median is not between the fastest and the slowest"
        for count, time in (("tasks", "us_per_task"), ("messages", "us_per_message")):
            if row[count] and not math.isclose(row[time] * row[count], 1e6 * row["seconds"], rel_tol=1e-6):
                yield f"row {number}: {time} does not fit"
        if row["part"] == "latency" and row["model"] == "bare" and row["ratio_to_bare"] != 1:
            yield f"row {number}: the ratio of what is bare is {row['ratio_to_bare']!r}"
        if row["part"] == "stencil" and not 0 < row["efficiency"] <= 1:
            yield f"row {number}: efficiency is {row['efficiency']!r}"
    for part in PARTS:
        if not any(row["part"] == part for row in document["rows"]):
            yield f"no rows of {part}"


with open(sys.argv[1], encoding="utf-8") as file:
    found = list(problems(json.load(file)))
print("\n".join(found) or "right")
sys.exit(bool(found))
