# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all plots share: colours that colour-blind readers can tell apart (Okabe and Ito), and a marker for each
line, so that a print in grey is legible too."""
import sys

try:
    import matplotlib
except ImportError:
    matplotlib = None

COLOURS = ["#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F"]
MARKERS = "osD^v<>PX*phd"
# A runtime has the same colour everywhere; what replays is dashed.
FAMILIES = {"trellis": 5, "kokkos": 0, "openmp": 1, "openmp_llvm": 6, "taskflow": 4, "tbb": 3, "starpu": 7}

# What a reader knows the models by.
NAMES = {
    "trellis": "Trellis, parallel_for", "trellis_host": "Trellis, host_task",
    "trellis_plan": "Trellis, plan of parallel_for", "trellis_plan_host": "Trellis, plan of host_task",
    "kokkos": "Kokkos, a fence per step", "kokkos_graph": "Kokkos Graph, a node per task",
    "kokkos_graph_steps": "Kokkos Graph, a node per step", "openmp": "OpenMP depend (GCC)",
    "openmp_llvm": "OpenMP depend (LLVM)", "taskflow": "Taskflow", "taskflow_replay": "Taskflow, run again",
    "tbb": "oneTBB flow graph", "tbb_replay": "oneTBB flow graph, run again", "starpu": "StarPU",
}


def name_of(model):
    return NAMES.get(model, model)


def has_matplotlib():
    if matplotlib is None:
        print("no matplotlib (Debian: python3-matplotlib), so no plots", file=sys.stderr)
        return False
    matplotlib.use("Agg")
    matplotlib.rcParams.update({
        "figure.figsize": (10, 5.5), "axes.grid": True, "grid.alpha": 0.3, "axes.axisbelow": True,
        "font.size": 11, "legend.fontsize": 9, "svg.fonttype": "none", "svg.hashsalt": "trellis",
        "axes.spines.top": False, "axes.spines.right": False,
    })
    return True


def of_model(name, number):
    """Colour, marker and line of a model, which is the number-th of its plot."""
    family = next((f for f in sorted(FAMILIES, key=len, reverse=True) if name.startswith(f)), None)
    colour = COLOURS[FAMILIES[family]] if family else COLOURS[number % len(COLOURS)]
    line = "-." if name == "trellis_plan_host" else "--" if name.endswith(("_replay", "_plan", "_graph", "_steps")) else ":" if name.endswith("_host") else "-"
    return {"color": colour, "marker": MARKERS[number % len(MARKERS)], "linestyle": line, "markersize": 5}


def of_number(number):
    return {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)], "markersize": 5,
            "linestyle": "-" if number < len(COLOURS) else "--"}


def save(figure, path, context):
    machine = ", ".join(str(context[key]) for key in ("processor", "host_space", "kokkos", "date") if context.get(key))
    figure.text(0.01, 0.01, machine, fontsize=7, color="#555555")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    figure.savefig(path, metadata={"Date": None})
    print(path)
