# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the programs of this folder and compares those with tasks to those with kernels:
measure.py BUILD_FOLDER ROUNDS|--check. See compile_time.sh."""
import json
import resource
import shlex
import subprocess
import sys
from pathlib import Path

# Of what is counted, with GCC: what a change may not exceed without a word about it. Bytes of code,
# and functions, of ten further tasks over those of ten further kernels; and of ten tasks whose
# annotations differ over as many kernels.
LIMITS = {
    "further task, bytes": 2.0,
    "further task, functions": 3.0,
    "further task that takes Views, bytes": 2.5,
    "ten lists of annotations, bytes": 1.6,
}


def commands(work):
    """The compiler's command for each program, by its name; `+10` with ten more of its kind."""
    found = {}
    for entry in json.loads((work / "compile_commands.json").read_text()):
        source = Path(entry["file"])
        if source.parent.name == "compile":
            command = shlex.split(entry["command"])
            found[source.stem] = command
            if "TEN_TIMES" in source.read_text():
                found[source.stem + "+10"] = [*command, "-DTEN"]
    return found


def seconds(command, work, target):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, "-o", target], cwd=work, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def counts(target):
    """Functions and bytes of code."""
    symbols = subprocess.run(["nm", target], capture_output=True, text=True, check=True).stdout
    functions = sum(line.split()[-2] in "tTwW" for line in symbols.splitlines())
    sizes = subprocess.run(["size", target], capture_output=True, text=True, check=True).stdout
    return functions, int(sizes.splitlines()[1].split()[0])


def main():
    work, rounds = Path(sys.argv[1]), sys.argv[2]
    is_check = rounds == "--check"
    programs = commands(work)
    time = {name: [] for name in programs}
    for _ in range(1 if is_check else int(rounds)):
        for name, command in programs.items():
            time[name].append(seconds(command, work, str(work / f"{name}.o")))
    least = {name: min(times) for name, times in time.items()}
    functions, size = {}, {}
    for name in programs:
        functions[name], size[name] = counts(str(work / f"{name}.o"))

    def further(of, name):
        return of[name + "+10"] - of[name]

    if not is_check:
        print(f"{'program':16}{'CPU s':>8}{'functions':>11}{'code bytes':>12}")
        for name in programs:
            print(f"{name:16}{least[name]:8.2f}{functions[name]:11}{size[name]:12}")
        print()
        for title, value in {
            "one task / one kernel": least["tasks"] / least["kernels"],
            "two loops and a reduction": least["mixed_tasks"] / least["mixed_kernels"],
            "further task / further kernel": further(least, "tasks") / further(least, "kernels"),
            "further task that takes Views": further(least, "view_tasks") / further(least, "kernels"),
            "ten lists of annotations": least["list_tasks"] / least["list_kernels"],
            "one worklet / one task": least["worklet"] / least["tasks"],
        }.items():
            print(f"CPU seconds, {title}: {value:.2f}")
    counted = {
        "further task, bytes": further(size, "tasks") / further(size, "kernels"),
        "further task, functions": further(functions, "tasks") / further(functions, "kernels"),
        "further task that takes Views, bytes": further(size, "view_tasks")
        / further(size, "kernels"),
        "ten lists of annotations, bytes": size["list_tasks"] / size["list_kernels"],
    }
    failed = False
    for title, value in counted.items():
        print(f"{title}: {value:.2f} (limit {LIMITS[title]})")
        failed = failed or value > LIMITS[title]
    if is_check and failed:
        sys.exit("The compiler makes more of a task than the limits of measure.py allow.")


main()
