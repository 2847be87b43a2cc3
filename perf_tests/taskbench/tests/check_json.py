#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_json.py FILE: is it what `./run perf taskbench` promises? Says what is wrong and fails otherwise."""
import json
import math
import sys

NUMBER = (int, float)
OPTIONAL = (int, float, type(None))
ROW = {
    "benchmark": str, "part": str, "model": str, "kind": str, "pattern": str, "kernel": str, "width": int,
    "steps": int, "tasks": int, "workers": int, "iterations": int, "output_bytes": int, "copies": int,
    "repetitions": int, "seconds": NUMBER, "seconds_fastest": NUMBER, "seconds_slowest": NUMBER,
    "us_per_task": NUMBER, "tasks_per_second": NUMBER, "granularity_us": NUMBER, "efficiency": OPTIONAL,
    "metg50_us": OPTIONAL, "metg90_us": OPTIONAL, "ratio_to_kokkos": OPTIONAL,
    "ratio_to_best_peer": OPTIONAL, "metg90_ratio_to_best_peer": OPTIONAL,
}
CONTEXT = {"benchmark": str, "date": str, "processor": str, "hardware_threads": int, "workers": int,
           "compiler": str, "kokkos": str, "host_space": str, "models": dict, "left_out": list}


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
        if row["model"] not in document["context"]["models"]:
            yield f"row {number}: the context does not know {row['model']}"
        if not row["seconds_fastest"] <= row["seconds"] <= row["seconds_slowest"]:
            yield f"row {number}: the median is not between the fastest and the slowest"
        if not math.isclose(row["us_per_task"] * row["tasks"], 1e6 * row["seconds"], rel_tol=1e-6):
            yield f"row {number}: us_per_task does not fit"
        # Above 1 where the machine was faster then than right before and after.
        if row["part"] == "metg" and not (row["efficiency"] and 0 < row["efficiency"]):
            yield f"row {number}: efficiency is {row['efficiency']!r}"


with open(sys.argv[1], encoding="utf-8") as file:
    found = list(problems(json.load(file)))
print("\n".join(found) or "right")
sys.exit(bool(found))
