#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Measures the energy of lookups by path and by pattern, in processes of their own.

Proves the table of energy in docs/method.md.

usage: energy_trial.py [--program build/cbank] [--processes 3] [--seconds 2] --json FILE [RUN
OPTION...]
       energy_trial.py --show FILE
       energy_trial.py --table FILE [FILE...]
       energy_trial.py --write FILE [FILE...]

Each process is a run of --energy, of add by constant, global and shared memory, of as many elements
as stay in L2. A cell takes three seconds, as do its empty kernel and the idle GPU, twice. RUN
OPTIONs stand in place of these. --table prints Markdown of several GPUs, and --write puts it into
docs/method.md as a block of scripts/readme_blocks.py, of files below results/. Exits 1 where
intervals of two processes do not touch, for more than one pair in twenty; 2 when a run fails.
"""

import contextlib
import io
import itertools
import os
import re
import statistics
import sys
import tempfile
import textwrap

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials

CELLS = (
    "--workload=add",
    "--path=constant,global,shared",
    "--pattern=per_block,per_warp,per_thread,pseudo_random",
    "--elements=1048576",
)
PICO, MICRO = 1e12, 1e6
# The table on the page: as it is there, else where it goes, and what stands above it.
BLOCK = r"(?s)<!-- begin markdown: scripts/studies/energy_trial\.py .*?<!-- end -->\n"
BEFORE = r"(?m)^\*\*What it does not say\.\*\* The clocks"
INTRO = (
    "Lookups by path and pattern, of a million elements that stay in L2. A lookup is with its"
    " element in and out, which are\nthe same on every path. `scripts/studies/energy_trial.py`"
    " measures it:\n\n"
)
PAIRS_APART = 0.05
PAGE_COLUMNS = 120


def options(parser):
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)


def make(arguments, rest):
    rest = rest or list(CELLS)
    asked = ["--energy", "--energy-seconds", str(arguments.seconds)]
    processes = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.processes):
            path = trials.measure(
                arguments.program,
                os.path.join(folder, f"{number}.json"),
                "--anonymous",
                "--counters=none",
                *asked,
                *rest,
            )
            result, times = trials.read(path)
            processes.append(
                {
                    "started_utc": result["started_utc"],
                    "energy_method": result["energy_method"],
                    "throttle": result["device"]["throttle"],
                    "phases": result["phases"],
                    "cells": {
                        cell["identity"]: {
                            "time_ns": times[cell["identity"]]["value"],
                            "sm_clock_mhz": cell["sm_clock_mhz"],
                            "flags": cell["flags"],
                            **cell["energy"],
                        }
                        for cell in result["cells"]
                        if cell["identity"] in times and "energy" in cell
                    },
                }
            )
            print(f"process {number + 1} of {arguments.processes} is done", file=sys.stderr)
    return {**trials.origin(result), "run_options": rest, "processes": processes}


def values(report, identity, key):
    """Those of all processes that have one."""
    found = [process["cells"].get(identity, {}).get(key) for process in report["processes"]]
    return [value for value in found if value is not None]


def identities(report):
    """In the order of the first process."""
    return list(dict.fromkeys(itertools.chain(*(each["cells"] for each in report["processes"]))))


def middle(found, scale, digits):
    """The median, and from where to where they lie."""
    if not found:
        return "-"
    text = f"{scale * statistics.median(found):.{digits}f}"
    if len(found) > 1:
        text += f" ({scale * min(found):.{digits}f} to {scale * max(found):.{digits}f})"
    return text


def half_width(report, identity, name):
    """Half of an interval: the median of processes."""
    halves = [
        (high - low) / 2
        for low, high in zip(
            values(report, identity, f"{name}_low_j"), values(report, identity, f"{name}_high_j")
        )
    ]
    return statistics.median(halves) if halves else None


def apart(report):
    """Pairs of processes whose intervals of a value do not touch, and all pairs."""
    found = []
    for identity in identities(report):
        for name in ("launch", "lookup"):
            ends = [
                (each[f"{name}_low_j"], each[f"{name}_high_j"])
                for each in (process["cells"].get(identity, {}) for process in report["processes"])
                if each.get(f"{name}_low_j") is not None
            ]
            found += [
                one[1] < other[0] or other[1] < one[0]
                for one, other in itertools.combinations(ends, 2)
            ]
    return sum(found), len(found)


def limits(report):
    """What held the GPU down, in any stretch."""
    return sorted(
        {
            limit
            for process in report["processes"]
            for cell in process["cells"].values()
            for limit in cell["limits"]
        }
    )


def about(report):
    """A sentence of the GPU, the counter and the idle power."""
    methods = [process["energy_method"] for process in report["processes"]]

    def range_of(key, digits, unit):
        known = [method[key] for method in methods if method[key] is not None]
        if not known:
            return f"not known {unit}"
        ends = dict.fromkeys(f"{end:.{digits}f}" for end in (min(known), max(known)))
        return f"{' to '.join(ends)} {unit}"

    held = ", ".join(limits(report)) or "nothing"
    return (
        f"{report['device']['name']}, driver {report['device']['driver']}:"
        f" {len(methods)} processes, idle {range_of('idle_watts', 1, 'W')}, the counter steps every"
        f" {range_of('period_ms', 0, 'ms')} by whole {range_of('unit_mj', 0, 'mJ')}; held down by"
        f" {held}"
    )


def rows(report):
    """(path, pattern, cells of a table) of each cell."""
    for identity in identities(report):
        _, path, pattern, *_ = identity.split("/")
        half = half_width(report, identity, "lookup")
        reasons = values(report, identity, "lookup_null_reason") + values(
            report, identity, "null_reason"
        )
        yield [
            path,
            pattern,
            middle(values(report, identity, "lookup_j"), PICO, 1),
            f"{PICO * half:.1f}" if half is not None else reasons[0] if reasons else "-",
            middle(values(report, identity, "launch_j"), MICRO, 1),
            middle(values(report, identity, "empty_j"), MICRO, 1),
            middle(values(report, identity, "watts"), 1, 0),
            middle(values(report, identity, "launch_ns"), 1e-3, 2),
            middle(values(report, identity, "sm_clock_mhz"), 1, 0),
            middle(values(report, identity, "celsius"), 1, 0),
        ]


HEADS = (
    "path",
    "pattern",
    "pJ a lookup",
    "its half width",
    "uJ a launch",
    "of it, an empty one",
    "W",
    "us a launch",
    "MHz",
    "Celsius",
)


def show(report):
    """Prints the figures; whether processes agree within their intervals."""
    print(about(report))
    table = [list(HEADS), *rows(report)]
    widths = [max(len(row[i]) for row in table) for i in range(len(HEADS))]
    for row in table:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    differing, pairs = apart(report)
    seconds = [
        sum(phase["seconds"] for phase in process["phases"]) for process in report["processes"]
    ]
    print(f"pairs of processes whose intervals do not touch: {differing} of {pairs}")
    print(f"seconds of a process: {middle(seconds, 1, 0)}")
    return pairs > 0 and differing <= PAIRS_APART * pairs


def table(paths):
    """Markdown of reports, one GPU after the other."""
    for number, report in enumerate(map(trials.load, paths)):
        heads = HEADS[:8]
        said = f"{about(report)}. Median, least and greatest of processes:"
        print(("\n" if number else "") + textwrap.fill(said, PAGE_COLUMNS) + "\n")
        print(f"| {' | '.join(heads)} |")
        print(f"|---|---|{'--:|' * (len(heads) - 2)}")
        for row in rows(report):
            print(f"| {' | '.join(row[: len(heads)])} |")
        differing, pairs = apart(report)
        print(f"\nPairs of processes whose intervals do not touch: {differing} of {pairs}.")


def write(paths):
    """Puts the table of committed reports into the page, in place of an earlier one."""
    page = os.path.join(trials.ROOT, "docs/method.md")
    names = [os.path.relpath(path, trials.ROOT) for path in paths]
    with open(page, encoding="utf-8") as file:
        text = file.read()
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        table(paths)
    begin = f"<!-- begin markdown: scripts/studies/energy_trial.py --table {' '.join(names)} -->"
    block = f"{begin}\n{said.getvalue()}<!-- end -->\n"
    filled, found = re.subn(BLOCK, lambda _: block, text)
    if not found:
        filled, found = re.subn(BEFORE, lambda match: INTRO + block + "\n" + match[0], text)
    if found != 1:
        trials.fail("docs/method.md has no place for the table")
    with open(page, "w", encoding="utf-8") as file:
        file.write(filled)


if __name__ == "__main__":
    if sys.argv[1:2] in (["--table"], ["--write"]) and len(sys.argv) > 2:
        (table if sys.argv[1] == "--table" else write)(sys.argv[2:])
    else:
        trials.main(__doc__, options, make, show)
