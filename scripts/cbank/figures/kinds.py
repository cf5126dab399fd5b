# SPDX-License-Identifier: MIT
"""The kinds of figures: what each takes from documents, and what it says.

A kind is a function that takes a list of Source (documents that it can be made of; all of them, or
one) and returns a list of Drawing. It raises NotDrawn, with the reason in one line, where there is
nothing to draw.
"""

import collections

from . import cells, measured, probes, verdicts

T_INTERVAL = "Times: robust mean over the buffers with a 95 % interval by Student's t."
OPPOSITE = (
    "Ends of the interval of a ratio are quotients of opposite ends, which is wider than 95 %."
)

# takes: kinds of document. way: of draw.py. combines: of all documents at once. asked: drawn only
# where it is asked for.
Kind = collections.namedtuple(
    "Kind", "make takes way summary method combines asked", defaults=(False, False)
)

KINDS = {
    "matrix": Kind(
        cells.matrix,
        ("result",),
        "dots",
        "time of each pattern by each path",
        f"{T_INTERVAL} {OPPOSITE}",
    ),
    "sweep": Kind(
        cells.sweep,
        ("result",),
        "lines",
        "time against what was varied, a line for each path",
        f"{T_INTERVAL} Nothing is fitted.",
    ),
    "spaces": Kind(
        cells.spaces,
        ("result",),
        "dots",
        "users' kernels in each memory space, by the fastest",
        f"{T_INTERVAL} Only verified cells. Ends of an interval are divided by the fastest time.",
    ),
    "energy": Kind(
        measured.energy,
        ("result",),
        "dots",
        "energy of a lookup by each path, where run --energy measured it",
        "Joules beyond the idle GPU and an empty kernel, with 95 % intervals.",
    ),
    "samples": Kind(
        measured.samples,
        ("result",),
        "steps",
        "distributions of the samples of each cell",
        "The share of samples below each time. Steps are samples; nothing is smoothed.",
        asked=True,
    ),
    "serialization": Kind(
        probes.serialization,
        ("characterization",),
        "lines",
        "cost of distinct addresses in a warp, path by path",
        "Medians of loads alone, with 95 % intervals.",
    ),
    "chips": Kind(
        probes.chips,
        ("characterization", "result"),
        "lines",
        "several chips: distinct addresses, and latency against bytes visited",
        (
            "Cycles are of characterizations; ns at the median SM clock of results of the same GPU"
            " or model."
        ),
        True,
    ),
    "capacity": Kind(
        probes.capacity,
        ("characterization",),
        "lines",
        "latency of an access against the bytes visited, with the levels found",
        (
            "Mean and 95th percentile of single timed accesses, without the clock's own cycles"
            " where they are known."
        ),
    ),
    "generations": Kind(
        cells.generations,
        ("result",),
        "dots",
        "several chips: constant and global memory and their ratio",
        f"Time of a launch, by the SMs of the chip and the warps of its elements. {OPPOSITE}",
        True,
    ),
    "comparison": Kind(
        verdicts.comparison,
        ("comparison",),
        "dots",
        "ratio of each cell of a comparison, with its interval",
        "Ratio and interval are those of cbank compare.",
    ),
    "fleet": Kind(
        verdicts.fleet,
        ("fleet",),
        "map",
        "change of the times of each path, for every GPU of every node",
        "As cbank fleet holds it.",
    ),
    "history": Kind(
        verdicts.history,
        ("history",),
        "lines",
        "time of cells night by night, a line for each GPU",
        "Hollow: the level changed, as cbank history found.",
    ),
}
