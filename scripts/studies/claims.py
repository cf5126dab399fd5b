#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Proves which published claims about constant memory hold on a GPU, and where a table should live
there.

usage: claims.py [--parts] FILE...
       claims.py --rules FILE... [--other FILE...]...

FILEs are measured results of one GPU, and characterizations of that GPU or another of its model. A
cell is taken from the first file that has it. Each line has a claim, the published figure, the same
figure from the results with its interval, and the verdict. The claim holds where the whole interval
lies in the limits of the line, does not hold where none of it does, and is undecided between. Times
have 95 % intervals, quotients the quotients of their opposite ends; counters have none. A figure is
missing where no file has its cells, or these lack a counter or an interval.

--parts takes the published add apart. Its ratio is a product of three: the loads alone, the choice
of the pattern at run time, and the division, which the kernel of global memory alone has.

--rules prints a Markdown table of ways to read a table: the time of one memory space over that of
global memory, and the space to take on all GPUs. Files behind --other are of other GPUs. Where an
interval comes within 2 % of 1, or GPUs differ, the space is "either".

Exit status 0; 2 for what is not a measured result of that GPU and, with --parts, where a figure is
missing.
"""

import argparse
import math
import os
import sys
from collections import namedtuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from claim_figures import (
    CONVOLUTION,
    STENCIL_CELL,
    Failure,
    Figure,
    Missing,
    Results,
    add,
    as_published,
    cost_line,
    counters,
    difference,
    distinct,
    fills,
    l1_kb,
    l1_misses,
    l2_latency,
    l2_mb,
    markdown_text,
    per_byte,
    printable,
    r_squared,
    times,
    worst_shape,
)

SOURCES = {
    1: "constant-memory add, RTX 3090",
    2: "nine-point stencil, Quadro P2000",
    3: "convolution with the filter in constant memory",
    4: "constant memory and its limits, CUDA 2.x",
    5: "table of a TU102 (github.com/connollydavid/tu102, 789ff42)",
}

# Source 1: published ms of constant and global, and the conclusion of its text, with limits of the
# ratio.
ADD = [
    (pattern, elements, constant / plain, *concluded)
    for pattern, elements, constant, plain, concluded in (
        ("per_block", 12800000, 0.151798, 0.171404, ("about 10 % faster", 0.85, 0.95)),
        ("per_block", 128000, 0.00289792, 0.00323584, ("about 10 % faster", 0.85, 0.95)),
        ("per_warp", 12800000, 0.164012, 0.189501, ("about 10 % faster", 0.85, 0.95)),
        ("per_warp", 128000, 0.00315392, 0.00359392, ("about 10 % faster", 0.85, 0.95)),
        ("per_thread", 12800000, 0.281967, 0.164649, ("70 % slower", 1.55, 1.85)),
        ("per_thread", 128000, 0.00596992, 0.00383264, ("70 % slower", 1.55, 1.85)),
        ("pseudo_random", 12800000, 1.2925, 0.159621, ("800 % slower", 7, 10)),
        ("pseudo_random", 128000, 0.0215347, 0.00482304, ("slower, as its times say", 4, 5)),
    )
]
STENCIL = f"{3.0644 / 2.5796:.3f}"  # source 2: constant to read-only
REFILLS = (1024, 4096, 16384, 65536)  # bytes


class Row(namedtuple("Row", "source claim published figure form low high", defaults=(None, None))):
    """A claim, and the limits in which it holds; without them it is measured alone."""

    def verdict(self, figure):
        if self.low is None:
            return "measured"
        inside = self.low <= figure.low and figure.high <= self.high
        return (
            "holds"
            if inside
            else (
                "does not hold" if figure.high < self.low or figure.low > self.high else "undecided"
            )
        )

    def columns(self, results):
        try:
            figure = self.figure(results)
        except Missing as missing:
            return [self.claim, self.published, "missing", "", f"no {missing}"]
        limits = (
            ""
            if self.low is None
            else f"from {self.low:g}"
            if self.high == math.inf
            else f"{self.low:g} to {self.high:g}"
        )
        return [self.claim, self.published, figure.text(self.form), limits, self.verdict(figure)]


ROWS = [
    *(
        Row(
            1,
            f"{pattern}, {elements}: constant {words}",
            f"{ratio:.3f}",
            as_published(pattern, elements),
            ".3f",
            low,
            high,
        )
        for pattern, elements, ratio, words, low, high in ADD
    ),
    *(
        Row(
            2,
            claim,
            STENCIL,
            times(STENCIL_CELL.format("constant"), STENCIL_CELL.format(path)),
            ".4f",
            low,
            high,
        )
        for claim, path, low, high in (
            ("constant beats __ldg for uniform reads (time ratio)", "readonly", 0, 0.99),
            ("... and const __restrict__", "restrict", 0, 0.99),
            ("read-only beats constant, as its times say", "readonly", 1.01, math.inf),
        )
    ),
    Row(
        2,
        "64 KB constant cache per SM: fills of a line, 2 KB read",
        "1",
        fills(64),
        ".1f",
        0.9,
        1.1,
    ),
    Row(2, "... 8 KB read", "1", fills(256), ".1f", 0.9, 1.1),
    Row(
        2,
        "48 KB read-only cache per SM: misses of a 64 KB table",
        "over 0.25",
        l1_misses,
        ".4f",
        0.2,
        1,
    ),
    *(
        Row(3, claim, published, per_byte(kind, path), ".2f", low, high)
        for path, published, limits, claims in (
            (
                "global",
                "0.25",
                (0.25, 0.2, 0.3),
                (
                    "filter in global memory: ideal operations per byte",
                    "... of DRAM traffic (conv_2d, radius 3)",
                    "... of L2 traffic",
                ),
            ),
            (
                "constant_uniform",
                "0.5",
                (0.5, 0.4, 0.6),
                (
                    "filter in constant memory: ideal operations per byte",
                    "... of DRAM traffic",
                    "... of L2 traffic",
                ),
            ),
        )
        for kind, claim, low, high in zip(
            ("ideal", "dram", "l2"),
            claims,
            (limits[0], limits[1], limits[1]),
            (limits[0], limits[2], limits[2]),
        )
    ),
    Row(
        3,
        "... which saves DRAM reads (constant to global)",
        "0.5",
        counters(
            "dram_read_bytes", CONVOLUTION.format("constant_uniform"), CONVOLUTION.format("global")
        ),
        ".4f",
        0,
        0.9,
    ),
    Row(
        3,
        "... and time (constant to global), the worst shape",
        "-",
        worst_shape,
        ".3f",
        0,
        0.99,
    ),
    Row(3, "L2 of hundreds of KB to a few MB: MB", "0.1 to 8", l2_mb, ".0f", 0.1, 8),
    Row(
        3,
        "L2 answers in tens of cycles: cycles",
        "10 to 99",
        l2_latency,
        ".1f",
        10,
        99,
    ),
    Row(3, "L1 of 16 to 64 KB per SM: KB walked without a miss", "16 to 64", l1_kb, ".0f", 16, 64),
    Row(
        3,
        "broadcast: requests for a load of one address",
        "1",
        counters("idc_requests", add("constant"), add("constant"), "ldc_instructions"),
        ".3f",
        1,
        1,
    ),
    Row(
        4, "8 KB constant cache per SM: fills of a line, 2 KB read", "1", fills(64), ".1f", 0.9, 1.1
    ),
    Row(
        4,
        "16 threads, one address: free (busy cycles to per_warp)",
        "1",
        counters("idc_active_cycles", add("constant", "half_warp"), add("constant")),
        ".3f",
        0.95,
        1.05,
    ),
    Row(
        4,
        "as fast as a register (conv_2d, time to no loads)",
        "1",
        times(CONVOLUTION.format("constant_uniform"), CONVOLUTION.format("shared_fill_only")),
        ".3f",
        0.95,
        1.05,
    ),
    Row(4, "cost linear in distinct addresses: R squared", "1", r_squared, ".5f", 0.999, 1),
    Row(
        4,
        "... cycles for one more",
        "-",
        lambda results: Figure(cost_line(results)[1] / cost_line(results)[0]),
        ".3f",
    ),
    *(
        Row(
            4,
            claim.format(size),
            "-",
            difference(
                f"refill {path} per_warp 128000 refill_bytes={size}", add(path, elements=128000)
            ),
            ".0f",
        )
        for path, claim in (
            ("constant", "past 64 KB, refill of {} bytes: ns a launch"),
            ("global", "... {} bytes in global memory: ns a launch"),
        )
        for size in REFILLS
    ),
    Row(
        4,
        "... 2048 bytes as a kernel parameter (time to constant)",
        "-",
        times(add("param", elements=128000), add("constant", elements=128000)),
        ".3f",
    ),
    *(
        Row(
            4,
            claim,
            "-",
            difference(*(f"modules {path} per_warp 128000 modules={count}" for count in (2, 1))),
            ".0f",
        )
        for path, claim in (
            ("constant", "past 64 KB, two modules alternating: ns a launch"),
            ("global", "... with their tables in global memory: ns a launch"),
        )
    ),
    # Its rows for 32 distinct addresses and for a broadcast are equal.
    Row(
        5,
        "32 distinct addresses cost as one (busy cycles)",
        "1",
        counters("idc_active_cycles", distinct(32, 4), distinct(1, 4)),
        ".2f",
        0.95,
        1.05,
    ),
]

# The kernel's way to read, the space that is tried, and its ratios to global memory.
RULES = (
    (
        "All read one element; the compiler sees that",
        "`__constant__`",
        [times(CONVOLUTION.format("constant_uniform"), CONVOLUTION.format("global"))],
    ),
    (
        "A warp reads one element; the compiler cannot see it",
        "`__constant__`",
        [times(add("constant"), add("global"))],
    ),
    (
        "The same, and loads wait for each other",
        "`__constant__`",
        [lambda results: results.latency("constant") / results.latency("global")],
    ),
    (
        "Different elements, near or far",
        "`__constant__`",
        [
            times(add("constant", name), add("global", name))
            for name in ("per_thread", "pseudo_random")
        ],
    ),
    (
        "The host writes 1 KB before each launch",
        "kernel parameter",
        [
            times(
                *(
                    f"refill {path} per_warp 128000 refill_bytes=1024"
                    for path in ("param", "global")
                )
            )
        ],
    ),
)
LEVEL = 0.02  # a ratio that is nearer to 1 is no reason to move a table


# -- printing --------------------------------------------------------------------------------------


def aligned(rows):
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in rows
    ]


def print_claims(results):
    title, *lines = aligned(
        [
            ["claim", "published", "here [95 %]", "holds if", "verdict"],
            *(row.columns(results) for row in ROWS),
        ]
    )
    print(printable(results.header()), title, sep="\n")
    for row, before, line in zip(ROWS, [None, *ROWS], lines):
        if before is None or row.source != before.source:
            print(f"-- {row.source}. {SOURCES[row.source]}")
        print(line)


def print_parts(results):
    rows = [
        ["pattern", "elements", "published", "as written", "= loads", "x jump table", "x division"]
    ]
    try:
        for pattern, elements, published, *_ in ADD:

            def ratio(one, other, cell=f"{pattern} {elements}"):
                return times(f"{one} {cell}", f"{other} {cell}")(results)

            figures = [
                as_published(pattern, elements)(results),
                ratio("add constant", "add global"),
                ratio("add_switch constant", "add constant")
                / ratio("add_switch global", "add global"),
                ratio("add_switch global", "add_runtime global"),
            ]
            rows.append(
                [
                    pattern,
                    str(elements),
                    f"{published:.3f}",
                    *(figure.text(".3f") for figure in figures),
                ]
            )
    except Missing as missing:
        raise Failure(
            f"no file has {missing}; measure with cbank run --workload add,add_switch,add_runtime"
        ) from None
    header = printable(results.header())
    print(f"{header}: time through constant / time through global", *aligned(rows), sep="\n")


def figures_of(results, ratios):
    """None where a cell is lacking."""
    try:
        return [ratio(results) for ratio in ratios]
    except Missing:
        return None


def advice(space, figures):
    if all(figure.high < 1 - LEVEL for figure in figures):
        return space
    return "global memory" if all(figure.low > 1 + LEVEL for figure in figures) else "either"


def short_name(name):
    """The first word of a GPU's name, for a heading of Markdown."""
    return markdown_text(next(iter(name.removeprefix("NVIDIA ").split()), name or "GPU"))


def print_rules(gpus):
    names = [short_name(results.device["name"]) for results in gpus]
    print(
        f"| how the table is read | tried | {' | '.join(f'time, {name}' for name in names)} | so"
        " take |\n" + "|---" * (len(gpus) + 3) + "|"
    )
    for what, space, ratios in RULES:
        figures = [figures_of(results, ratios) for results in gpus]
        if any(figures):
            ratios = [
                ", ".join(f"{figure.value:.2f}x" for figure in of) if of else "-" for of in figures
            ]
            print(
                f"| {what} | {space} | {' | '.join(ratios)} |"
                f" {advice(space, sum(filter(None, figures), []))} |"
            )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=argparse.SUPPRESS,
    )
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--rules", action="store_true")
    parser.add_argument("--other", metavar="FILE", nargs="+", action="append", default=[])
    parser.add_argument("files", metavar="FILE", nargs="+")
    asked = parser.parse_args()
    try:
        gpus = [Results(files) for files in (asked.files, *asked.other)]
        if asked.rules:
            print_rules(gpus)
        else:
            (print_parts if asked.parts else print_claims)(gpus[0])
    except Failure as failure:
        print(f"claims: error: {printable(failure)}", file=sys.stderr)
        sys.exit(failure.status)


if __name__ == "__main__":
    main()
