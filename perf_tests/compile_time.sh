#!/usr/bin/env bash
# How long a program of one task takes to compile, the same as a worklet, and by Kokkos alone:
# compile_time.sh [ROUNDS]
#
#   ./run [--toolchain T] shell perf_tests/compile_time.sh
#
# They take turns. Printed: CPU seconds of the compiler, the median of the rounds, in Release and
# unoptimised, and ratios.
set -euo pipefail

rounds=${1:-5}
folder=$(cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)/compile
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake -S "$folder" -B "$work" -DCMAKE_BUILD_TYPE=Release >/dev/null

python3 - "$work" "$rounds" <<'END_OF_PYTHON'
import json
import resource
import shlex
import statistics
import subprocess
import sys

work, rounds = sys.argv[1], int(sys.argv[2])
commands = {}
with open(f"{work}/compile_commands.json") as file:
    for entry in json.load(file):
        for name in ("kernel", "task", "worklet"):
            if entry["file"].endswith(f"/compile/{name}.cpp"):
                commands[name] = shlex.split(entry["command"])


def seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, "-o", "/dev/null"], cwd=work, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


for title, options in (("Release", []), ("-O0", ["-O0"])):
    times = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(seconds(command + options))
    kernel, task, worklet = (
        statistics.median(times[name]) for name in ("kernel", "task", "worklet")
    )
    print(f"{title}: Kokkos alone {kernel:.2f} s, one task {task:.2f} s, ratio {task / kernel:.2f}, "
          f"one worklet {worklet:.2f} s, over one task {worklet / task:.2f}")
END_OF_PYTHON
