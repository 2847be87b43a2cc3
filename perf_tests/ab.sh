#!/usr/bin/env bash
# Compares two builds of a Google Benchmark program: ab.sh BINARY_A BINARY_B ROUNDS [--benchmark_...
# ...]
#
# The two take turns, so that a machine that gets slower or faster meanwhile does so for both. The
# JSON of each run stays in out/ab/. Printed for each benchmark: the medians of the runs of A and of
# B, in microseconds per task (per iteration where a benchmark does not count tasks), how far the
# runs of each lie apart ((max - min) / median), B / A, and the same of the fastest runs, which a
# busy machine changes least.
set -euo pipefail

if (($# < 3)) || [[ ! -x $1 || ! -x $2 || ! $3 =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: $0 BINARY_A BINARY_B ROUNDS [--benchmark_... ...]" >&2
  exit 2
fi
declare -A binary=([a]=$(realpath "$1") [b]=$(realpath "$2"))
rounds=$3
shift 3

out=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/out/ab
rm -rf "$out"
mkdir -p "$out"
# Kokkos warns when this is unset; bound pools of several workers would share one core.
export OMP_PROC_BIND=${OMP_PROC_BIND:-false}

for ((round = 1; round <= rounds; ++round)); do
  echo "round $round of $rounds" >&2
  for side in a b; do
    if ! "${binary[$side]}" "$@" --benchmark_out="$out/$side$round.json" --benchmark_out_format=json >"$out/log" 2>&1; then
      cat "$out/log" >&2
      exit 1
    fi
  done
done

python3 - "$out" "$rounds" <<'END_OF_PYTHON'
import json
import math
import statistics
import sys

folder, rounds = sys.argv[1], int(sys.argv[2])
nanoseconds = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def microseconds(run):
    if "time_per_task" in run:
        return run["time_per_task"] * 1e6
    return run["real_time"] * nanoseconds[run["time_unit"]] * 1e-3


times = {"a": {}, "b": {}}
for side in times:
    for number in range(1, rounds + 1):
        with open(f"{folder}/{side}{number}.json") as file:
            for run in json.load(file)["benchmarks"]:
                if run["run_type"] == "iteration" and not run.get("error_occurred"):
                    times[side].setdefault(run["name"], []).append(microseconds(run))

common = [name for name in times["a"] if name in times["b"]]
width = max(map(len, common), default=9)
print(f"{'benchmark':{width}}   A in us  spread   B in us  spread    B/A  fastest")
logarithms = []
for name in common:
    line = f"{name:{width}}"
    medians = []
    fastest = []
    for side in times:
        values = times[side][name]
        medians.append(statistics.median(values))
        fastest.append(min(values))
        line += f"  {medians[-1]:8.3f}  {(max(values) - min(values)) / medians[-1]:5.0%}"
    print(f"{line}  {medians[1] / medians[0]:5.2f}  {fastest[1] / fastest[0]:7.2f}")
    logarithms.append(math.log(medians[1] / medians[0]))
if common:
    print(f"{'geometric mean':{width}}  {math.exp(statistics.mean(logarithms)):38.2f}")
for side, other in ("ab", "ba"):
    for name in times[side]:
        if name not in times[other]:
            print(f"only in {side.upper()}: {name}")
END_OF_PYTHON
