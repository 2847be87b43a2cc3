#!/usr/bin/env bash
# What tasks cost the compiler beside Kokkos' kernels: compile_time.sh [ROUNDS | --check]
#
#   ./run [--toolchain T] shell perf_tests/compile_time.sh
#
# A table: CPU seconds of the compiler in Release, the minima of the rounds (5), in which the
# programs take turns; functions and bytes of code in the objects; and ratios. With --check each
# program is compiled once, and what is counted must keep the limits; times are not looked at.
set -euo pipefail

folder=$(cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)/compile
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake -S "$folder" -B "$work" -DCMAKE_BUILD_TYPE=Release >/dev/null
python3 "$folder/measure.py" "$work" "${1:-5}"
