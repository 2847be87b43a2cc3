#!/usr/bin/env bash
# Counts the instructions of each task in rows of micro: instructions.sh FILTER BINARY [BINARY_B]
#
# A busy machine changes times by half. It does not change how many instructions a task takes. Each
# row runs twice under valgrind, with two and with six iterations. Printed is what the further four
# took, for each task (for each iteration where a benchmark does not count tasks): all threads
# together, then the functions that have most of it; with two binaries, those of both and B / A.
#
# Valgrind runs one thread at a time, so what threads do while they look for work depends on luck:
# compare functions, and totals of rows with one worker. What a row does while its clock stands
# still counts, too. And instructions are not time: where fewer of them miss a cache or a branch
# more often, the task takes longer.
set -euo pipefail

if (($# < 2 || $# > 3)) || [[ ! -x $2 || (-n ${3:-} && ! -x ${3:-}) ]]; then
  echo "usage: $0 FILTER BINARY [BINARY_B]" >&2
  exit 2
fi
if [[ ! -x $(command -v valgrind) ]]; then
  echo "$0: valgrind is missing" >&2
  exit 1
fi
filter=$1
binaries=("$(realpath "$2")")
[[ -z ${3:-} ]] || binaries+=("$(realpath "$3")")

out=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/out/instructions
rm -rf "$out"
mkdir -p "$out"
export OMP_PROC_BIND=${OMP_PROC_BIND:-false} OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}

# count ROW SIDE ITERATIONS
count() {
  valgrind --tool=callgrind --callgrind-out-file="$out/$2-$3.counts" "${binaries[$2]}" \
    --benchmark_filter="^$1\$" --benchmark_min_time="$3x" --benchmark_out="$out/$2-$3.json" \
    --benchmark_out_format=json >"$out/log" 2>&1 ||
    { cat "$out/log" >&2 && return 1; }
}

few=2
many=$((3 * few))
for side in "${!binaries[@]}"; do
  "${binaries[$side]}" --benchmark_list_tests --benchmark_filter="$filter" >"$out/$side.rows" \
    2>"$out/log" || { cat "$out/log" >&2 && exit 1; }
  sort -o "$out/$side.rows" "$out/$side.rows"
done
mapfile -t rows < <(sort "$out"/*.rows | uniq -c |
  awk -v n="${#binaries[@]}" '$1 == n { print $2 }')
if ((${#rows[@]} == 0)); then
  echo "$0: no row of micro is called $filter" >&2
  exit 1
fi
for row in "${rows[@]}"; do
  for side in "${!binaries[@]}"; do
    count "$row" "$side" "$few"
    count "$row" "$side" "$many"
  done
  python3 - "$out" "$row" "${#binaries[@]}" "$few" "$many" <<'END_OF_PYTHON'
import collections
import json
import re
import sys

out, row, sides, few, many = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
shown = 12


def counts(path):
    """Instructions by function, without those that it calls."""
    of, names = collections.Counter(), {}
    function, is_call = "", False
    for line in open(path):
        if name := re.match(r"c?fn=\((\d+)\)(?: (.*))?", line):
            if name[2]:
                names[name[1]] = name[2]
            if line.startswith("fn="):
                function = names.get(name[1], "?")
        elif line.startswith("calls="):
            is_call = True
        elif re.match(r"[0-9+*-]", line):
            if not is_call:
                of[function] += int(line.split()[-1])
            is_call = False
    return of


def tasks(path):
    """Of one iteration."""
    run = json.load(open(path))["benchmarks"][0]
    if run.get("error_occurred") or run.get("skipped"):
        sys.exit(print(f"{row} is skipped: {run.get('error_message', 'no reason given')}"))
    if "time_per_task" not in run:
        return 1
    nanoseconds = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[run["time_unit"]]
    return round(run["real_time"] * nanoseconds * 1e-9 / run["time_per_task"])


per_task = []
for side in range(sides):
    less, more = counts(f"{out}/{side}-{few}.counts"), counts(f"{out}/{side}-{many}.counts")
    number = (many - few) * tasks(f"{out}/{side}-{many}.json")
    per_task.append({name: (more[name] - less[name]) / number for name in more})


def line(name, values):
    text = "".join(f"{value:9.0f}" for value in values)
    ratio = f"   {values[1] / values[0]:4.2f}" if sides == 2 and values[0] > 0 else ""
    return f"{text}{ratio}  {name}"


print(line(row, [sum(each.values()) for each in per_task]))
of_functions = {
    name: [each.get(name, 0) for each in per_task] for name in set().union(*per_task)
}
for name, values in sorted(of_functions.items(), key=lambda each: -max(each[1]))[:shown]:
    print("    " + line(name[:90], values))
END_OF_PYTHON
done
