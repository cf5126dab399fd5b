#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints where a table should live, as results of one GPU say: a Markdown table.

usage: rules.py FILE... [--beside FILE...]...

FILEs are what claims.py takes; those behind --beside are of another GPU, and a column of its own. Each row is a way to read a
table: the time that one place for it takes, over that of global memory, and the place to take on all of these GPUs. Where an
interval comes within LEVEL of 1, or GPUs differ in it, the place does not matter: "either". A GPU that lacks a cell has "-", and
a row that all lack is left out. Exit status 0; 2 for what is not a measured result of that GPU.
"""

import argparse

import claims

LEVEL = 0.02  # a ratio that is nearer to 1 is no reason to move a table


def latency_ratio(one, other):
    def found(results, path):
        return results.found(f"latency_{path}", lambda entry: entry["numbers"][0])
    return lambda results: found(results, one) / found(results, other)


def add_ratio(pattern):
    return claims.time_ratio(claims.add("constant", pattern), claims.add("global", pattern))


def refill(path):
    return claims.cell("refill", path, "per_warp", 128000, refill_bytes=1024)


# What the kernel does, where the table is tried, and the ratios there to global memory.
RULES = (
    ("All read one element; the compiler sees that", "`__constant__`",
     [claims.time_ratio(claims.conv_2d("constant_uniform"), claims.conv_2d("global"))]),
    ("A warp reads one element; the compiler cannot see it", "`__constant__`", [add_ratio("per_warp")]),
    ("The same, and loads wait for each other", "`__constant__`", [latency_ratio("constant", "global")]),
    ("Different elements, near or far", "`__constant__`",
     [add_ratio("per_thread"), add_ratio("pseudo_random")]),
    ("The host writes 1 KB before each launch", "kernel parameter",
     [claims.time_ratio(refill("param"), refill("global"))]),
)


def advice(place, figures):
    if all(figure.high < 1 - LEVEL for figure in figures):
        return place
    return "global memory" if all(figure.low > 1 + LEVEL for figure in figures) else "either"


def figures_of(results, ratios):
    """None where a cell is lacking."""
    try:
        return [ratio(results) for ratio in ratios]
    except claims.Missing:
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("files", metavar="FILE", nargs="+")
    parser.add_argument("--beside", metavar="FILE", nargs="+", action="append", default=[])
    asked = parser.parse_args()
    gpus = [claims.Results(files) for files in (asked.files, *asked.beside)]
    names = [results.header().split(",", maxsplit=1)[0].removeprefix("NVIDIA ").split()[0] for results in gpus]
    print(f"| how the table is read | tried | {' | '.join(f'time, {name}' for name in names)} | so take |")
    print("|---" * (len(gpus) + 3) + "|")
    for what, place, ratios in RULES:
        figures = [figures_of(results, ratios) for results in gpus]
        if not any(figures):
            continue
        times = [", ".join(f"{figure.value:.2f}x" for figure in of) if of else "-" for of in figures]
        print(f"| {what} | {place} | {' | '.join(times)} | {advice(place, sum(filter(None, figures), []))} |")


if __name__ == "__main__":
    main()
