#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Measures the energy of lookups by path and by pattern, in processes of their own.

Proves the table and the figure of docs/energy.md.

usage: energy_trial.py [--program build/cbank] [--processes 3] [--seconds 2] --json FILE [RUN
OPTION...]
       energy_trial.py --show FILE
       energy_trial.py --table FILE [FILE...]
       energy_trial.py --draw DIR FILE [FILE...]

Each process is a run of --energy, of add by constant, global and shared memory, of as many elements
as stay in L2. A cell takes three seconds, as do its empty kernel and the idle GPU, twice. RUN
OPTIONs stand in place of these. --table prints Markdown, a file a board. --draw writes the same as
a figure, with its data and what it says, for a column of a journal. Exits 1 where intervals of two
processes do not touch, for more than one pair in twenty; 2 when a run fails.
"""

import hashlib
import itertools
import os
import statistics
import sys
import tempfile
import textwrap
import types

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials
from cbank.text import gpu

CELLS = (
    "--workload=add",
    "--path=constant,global,shared",
    "--pattern=per_block,per_warp,per_thread,pseudo_random",
    "--elements=1048576",
)
PICO, MICRO = 1e12, 1e6
PAIRS_APART = 0.05
VALUES = ("launch", "lookup")  # whose energy a cell has
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


def ends_of(report, identity, name):
    """(low, high) of a value, of each process that has it."""
    cells = (process["cells"].get(identity, {}) for process in report["processes"])
    return [
        (cell[f"{name}_low_j"], cell[f"{name}_high_j"])
        for cell in cells
        if cell.get(f"{name}_low_j") is not None
    ]


def apart(report, other=None, names=VALUES):
    """Pairs of processes whose intervals of a value do not touch, and all pairs; with another
    report, pairs of a process of each."""
    found = []
    for identity, name in itertools.product(identities(report), names):
        ends = ends_of(report, identity, name)
        pairs = (
            itertools.product(ends, ends_of(other, identity, name))
            if other
            else itertools.combinations(ends, 2)
        )
        found += [one[1] < two[0] or two[1] < one[0] for one, two in pairs]
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
    """A sentence of the board, the counter and the idle power."""
    methods = [process["energy_method"] for process in report["processes"]]

    def range_of(key, digits, unit):
        known = [method[key] for method in methods if method[key] is not None]
        if not known:
            return f"not known {unit}"
        ends = dict.fromkeys(f"{end:.{digits}f}" for end in (min(known), max(known)))
        return f"{' to '.join(ends)} {unit}"

    held = ", ".join(limits(report)) or "nothing"
    return (
        f"{gpu(report['device'])}, driver {report['device']['driver']}:"
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


def lookup_of(report, identity):
    """(pJ of a lookup, half of its interval), medians of processes; None: none has one."""
    found = values(report, identity, "lookup_j")
    if not found:
        return None
    return PICO * statistics.median(found), PICO * half_width(report, identity, "lookup")


def watts_of(report, identity):
    found = values(report, identity, "watts")
    return statistics.median(found) if found else None


def from_to(found, form):
    """From the least to the greatest as they are written, or the one that both are."""
    return " to ".join(dict.fromkeys(f"{end:{form}}" for end in (min(found), max(found))))


def ratios(reports):
    """{path: {pattern: energy of a lookup by that through global memory, of each board}}."""
    found = {}
    for report, identity in itertools.product(reports, identities(reports[0])):
        workload, path, pattern, *rest = identity.split("/")
        base = lookup_of(report, "/".join((workload, "global", pattern, *rest)))
        its = lookup_of(report, identity)
        if path != "global" and base and its:
            found.setdefault(path, {}).setdefault(pattern, []).append(its[0] / base[0])
    return found


def compared(reports):
    """What lookups take by those through global memory, and the power, in sentences."""
    said = [
        f"A lookup by {path} takes "
        + ", ".join(f"{from_to(its, '.2f')} ({pattern})" for pattern, its in by.items())
        + " times the energy of one by global."
        for path, by in ratios(reports).items()
    ]
    power = {
        (watts_of(report, identity), *identity.split("/")[1:3])
        for report in reports
        for identity in identities(report)
        if watts_of(report, identity) is not None
    }
    if power:
        least, most = (f"{end[0]:.0f} W by {end[1]} ({end[2]})" for end in (min(power), max(power)))
        said.append(f"The GPU takes from {least} to {most}.")
    return said


def touching(reports):
    """A sentence: whether processes of a board, and of two boards, agree."""
    same = [sum(counts) for counts in zip(*map(apart, reports))]
    said = f"Pairs of processes whose intervals do not touch: {same[0]} of {same[1]} of one board"
    pairs = list(itertools.combinations(reports, 2))
    for name in VALUES if pairs else ():
        counts = [apart(*pair, (name,)) for pair in pairs]
        differing, of = (sum(count) for count in zip(*counts))
        said += f"; of two boards, energy of a {name}: {differing} of {of}"
    return f"{said}."


def filled(said):
    return textwrap.fill(said, PAGE_COLUMNS, break_on_hyphens=False)


def numbers_of(reports):
    """[1, 2] as words of columns, a board each; nothing for a single one."""
    return [f", board {i + 1}" if len(reports) > 1 else "" for i in range(len(reports))]


def table(paths):
    """Markdown: the boards side by side."""
    reports = list(map(trials.load, paths))
    numbers = numbers_of(reports)
    for i, report in enumerate(reports, 1):
        print(filled(f"Board {i}: {about(report)}.") + "\n")
    heads = [f"pJ a lookup{number}" for number in numbers] + [f"W{number}" for number in numbers]
    print(f"| path | pattern | {' | '.join(heads)} |")
    print(f"|---|---|{'--:|' * len(heads)}")
    for identity in identities(reports[0]):
        lookups = [lookup_of(report, identity) for report in reports]
        watts = [watts_of(report, identity) for report in reports]
        cells = [f"{its[0]:.0f} ± {its[1]:.0f}" if its else "-" for its in lookups]
        cells += [f"{its:.0f}" if its is not None else "-" for its in watts]
        print(f"| {' | '.join((*identity.split('/')[1:3], *cells))} |")
    print("\n" + filled(" ".join((*compared(reports), touching(reports)))))


def marks_of(path, report, panel):
    """The marks of a board: a row a pattern, a series a path."""
    by_constant = ratios([report]).get("constant", {})
    for identity in identities(report):
        _, series, pattern, *_ = identity.split("/")
        lookup = lookup_of(report, identity)
        flags = values(report, identity, "flags") + values(report, identity, "limits")
        if lookup:
            yield {
                "panel": panel,
                "row": pattern,
                "series": series,
                "x": lookup[0],
                "low": lookup[0] - lookup[1],
                "high": lookup[0] + lookup[1],
                "text": "".join(f"{ratio:.2f}" for ratio in by_constant.get(pattern, [])),
                "source": os.path.basename(path),
                "flags": " ".join(sorted(set(itertools.chain(*flags)))),
            }


def drawing(paths):
    """The figure, a panel a board, and what it says."""
    import pandas  # the other commands do without
    from cbank.figures.draw import Drawing

    reports = list(map(trials.load, paths))
    marks = [
        mark
        for path, report, number in zip(paths, reports, numbers_of(reports))
        for mark in marks_of(path, report, report["device"]["name"] + number)
    ]
    counts = from_to([len(report["processes"]) for report in reports], "d")
    return Drawing(
        "energy",
        "energy",
        pandas.DataFrame(marks),
        " ".join(compared(reports)),
        {None: ("energy of a lookup (pJ)", "")},
        [document_of(path, report) for path, report in zip(paths, reports)],
        f"medians of {counts} processes of a board, with the medians of half their 95 % intervals"
        " on both sides",
        aside="constant/global",
        way="dots",
    )


def document_of(path, report):
    """What a figure says of where its data come from."""
    with open(path, "rb") as file:
        sha256 = hashlib.sha256(file.read()).hexdigest()
    return types.SimpleNamespace(
        path=path, name=os.path.basename(path), content=report, sha256=sha256
    )


def draw(folder, paths):
    """Writes the picture, its data and its sentences."""
    from cbank import plot
    from cbank.figures import style

    width_mm = style.WIDTHS_MM["one"]
    for files in plot.draw_all([drawing(paths)], folder, width_mm, ["svg"]):
        print(*files, sep="\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--table"] and len(sys.argv) > 2:
        table(sys.argv[2:])
    elif sys.argv[1:2] == ["--draw"] and len(sys.argv) > 3:
        draw(sys.argv[2], sys.argv[3:])
    else:
        trials.main(__doc__, options, make, show)
