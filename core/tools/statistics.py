#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists the columns of files that TRELLIS_STATISTICS has written, and plots some of them over time.

    statistics.py FILE ...                               the columns, with what is in them
    statistics.py FILE ... -c 'in flight' -c 7 -o x.svg  these, by name or number, into a file

Files of several ranks may be given together. To list, Python alone will do; to plot, matplotlib is
needed. (Without it, the picture beside each file has all columns.)"""
import argparse
import csv
import sys

KINDS = ("line", "step", "scatter")


class WrongInput(Exception):
    pass


def read(path):
    """The names of the columns, and the rows, with numbers, or None where a cell is empty."""
    try:
        with open(path, newline="") as file:
            lines = csv.reader(file)
            names = next(lines, None)
            if not names or names[:2] != ["time [s]", "graph"]:
                raise WrongInput(f"{path} is no file of statistics")
            rows = []
            for line in lines:
                if len(line) != len(names):
                    raise WrongInput(f"{path}:{lines.line_num}: {len(line)} cells, not {len(names)}")
                time, graph, *cells = line
                rows.append([float(time), graph] + [float(each) if each else None for each in cells])
            return names, rows
    except (OSError, UnicodeDecodeError) as error:
        raise WrongInput(f"{path}: {error}") from error
    except ValueError as error:
        raise WrongInput(f"{path}: {error}") from error


def find(names, wanted):
    """The place of a column, which is said by its name or its number."""
    if wanted in names:
        place = names.index(wanted)
    elif wanted.isdigit() and int(wanted) < len(names):
        place = int(wanted)
    else:
        raise WrongInput(f"there is no column {wanted}, but {', '.join(names[2:])}")
    if place < 2:
        raise WrongInput(f"{names[place]} is no column of counters")
    return place


def list_columns(path, names, rows, out):
    print(f"{path}: {len(rows)} rows, {rows[-1][0] if rows else 0:.3f} s", file=out)
    for place, name in enumerate(names):
        if place < 2:
            print(f"  {place:2} {name}", file=out)
            continue
        values = [row[place] for row in rows if row[place] is not None]
        said = f"largest {max(values):g}, sum {sum(values):g}" if values else "nothing"
        print(f"  {place:2} {name:18} {len(values)} values, {said}", file=out)


def lines_of(path, names, rows, place, several):
    """(label, times, values), one for each graph."""
    graphs = {}
    for row in rows:
        if row[place] is not None:
            times, values = graphs.setdefault(row[1], ([], []))
            times.append(row[0])
            values.append(row[place])
    for graph, (times, values) in graphs.items():
        yield f"{names[place]}, {graph}" + (f" ({path})" if several else ""), times, values


def plot(files, columns, kind, output):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(10, 5.5))
    for path, names, rows in files:
        for wanted in columns:
            for label, times, values in lines_of(path, names, rows, find(names, wanted), len(files) > 1):
                if kind == "scatter":
                    axes.scatter(times, values, s=6, label=label)
                else:
                    axes.plot(times, values, drawstyle="steps-post" if kind == "step" else "default",
                              linewidth=1, label=label)
    axes.set_xlabel("time [s]")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(output, bbox_inches="tight")


def main(arguments, out=sys.stdout):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("-c", "--column", action="append", default=[], help="to be plotted")
    parser.add_argument("-t", "--type", choices=KINDS, default="line")
    parser.add_argument("-o", "--output", default="statistics.svg", help="its end says what it is")
    given = parser.parse_args(arguments)
    try:
        files = [(path, *read(path)) for path in given.files]
        for _, names, _ in files:
            for wanted in given.column:
                find(names, wanted)
        if not given.column:
            for path, names, rows in files:
                list_columns(path, names, rows, out)
            return 0
        plot(files, given.column, given.type, given.output)
    except WrongInput as error:
        print(error, file=sys.stderr)
        return 1
    except ImportError:
        print("no matplotlib (Debian: python3-matplotlib), so no plots", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
