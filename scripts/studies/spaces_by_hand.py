#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Holds cbank spaces of kernels with tables of 100 KB and 256 KB against kernels written by hand.

usage: spaces_by_hand.py [--program build/cbank] [--by-hand PROGRAM] --json FILE [OPTION...]
       spaces_by_hand.py --show FILE

Kernels with one of the tables and with both, in every memory space. The OPTIONs are those of cbank
spaces. scripts/studies/spaces_by_hand/ has the kernel files, and by_hand.cu: nvcc compiles it
unless --by-hand names it compiled. It takes about a minute.

Both sides have each table in 24 places, and times are means over them: that of a table that L1
cannot hold depends on the place. The last column has the least and the greatest where they are 5 %
apart or more. There the places of the two sides add to what the means may differ by: twice the
standard error of their difference.

Exits 1 where a time differs by more than 3 % and that, where a memory space that one side measured
has no time of the other, or where an output was wrong. "shared, by 16 bytes" is by hand alone: it
says what wider loads and stores would gain.
"""

import json
import math
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials

MOST = 0.03
APART = 1.05  # the greatest to the least of places, from which on they are shown
HERE = os.path.join(trials.ROOT, "scripts/studies/spaces_by_hand")
COMPILER = ("nvcc", "-O3", "-std=c++17", "-arch=native", "-o")
BY_HAND_ALONE = "shared, by 16 bytes"
BESIDE = "+large=global"  # a second table that shared memory has no room for
IN_SHARED = ("shared", "shared_async", "shared_bulk")
# Tables as by_hand.cu names them: the kernel file, and options of cbank spaces.
KERNELS = {
    "100 KB": ("one_table.cu",),
    "256 KB": ("one_table.cu", "--compiler-options=-DENTRIES=65536"),
    "100 KB and 256 KB": (
        "two_tables.cu",
        "--space",
        ",".join(("all", *(f"small={space}{BESIDE}" for space in IN_SHARED))),
    ),
}


def options(parser):
    parser.add_argument("--by-hand", metavar="PROGRAM")


def rank(program, folder, kernel, rest):
    """(the result of cbank spaces, what it prints)."""
    file, *own = kernel
    path = os.path.join(folder, "result.json")
    words = (os.path.join(HERE, file), *own, "--counters", "none", "--json", path, *rest)
    said = trials.call(program, "spaces", *words, statuses=(0, 1, 4)).stdout
    return trials.read(path)[0], said


def row_of(tables, cell):
    """What is kept of a cell of cbank spaces. The memory space is that of the small table."""
    spaces = cell["kernel_file"]["spaces"]
    row = {
        "tables": tables,
        "size": cell["elements"],
        "space": spaces.removesuffix(BESIDE).removeprefix("small="),
        "spaces": spaces,
    }
    if cell["status"] == "ok" and cell["verified"]:
        samples, sets = cell["time_ns"]["samples"], cell["buffer_sets"]
        return {
            **row,
            "cbank_ns": cell["time_ns"]["value"],
            "cbank_places_ns": [statistics.median(samples[k::sets]) for k in range(sets)],
            "instructions": cell["case"]["instructions"],
        }
    return {**row, cell["status"]: cell["reason"] or "it was not verified"}


def key_of(row):
    return tuple(row[key] for key in ("tables", "size", "space"))


def make(arguments, rest):
    with tempfile.TemporaryDirectory() as folder:
        program = arguments.by_hand or os.path.join(folder, "by_hand")
        if not arguments.by_hand:
            trials.call(*COMPILER, program, f"{HERE}/by_hand.cu")
        by_hand = [json.loads(line) for line in trials.call(program).stdout.splitlines()]
        rows, said, result = [], {}, None
        for tables, kernel in KERNELS.items():
            result, said[tables] = rank(arguments.program, folder, kernel, rest)
            rows += [row_of(tables, cell) for cell in result["cells"]]
    # A table that does not fit leaves one choice less: the other table may fit.
    measured = {key_of(row): row for row in rows if "cbank_ns" in row}
    for line in by_hand:
        row = measured.get(key_of(line["cell"]))
        if not row:
            row = dict(line["cell"])
            rows.append(row)
        if "samples" in line:
            row["by_hand_ns"] = statistics.fmean(line["samples"])
            row["by_hand_places_ns"] = line["samples"]
            row["by_hand_verified"] = line["verified"]
        row.update({key: line[key] for key in ("failed", "skipped") if key in line})
    return {**trials.origin(result), "rows": rows, "said": said}


def difference(row):
    if "cbank_ns" not in row or "by_hand_ns" not in row:
        return math.nan
    return row["cbank_ns"] / row["by_hand_ns"] - 1


def places(row):
    """(how far apart places are, as text; what that adds to the difference)."""
    sides = [row.get(key, []) for key in ("by_hand_places_ns", "cbank_places_ns")]
    if not all(len(side) > 1 and max(side) >= APART * min(side) for side in sides):
        return "", 0
    error = math.hypot(*(statistics.stdev(side) / math.sqrt(len(side)) for side in sides))
    ranges = (f"{min(side) / 1e3:.1f} to {max(side) / 1e3:.1f}" for side in sides)
    return "; ".join(ranges), 2 * error / row["by_hand_ns"]


def is_met(row):
    """None: there is nothing to compare."""
    if "failed" in row:
        return False
    if row["space"] == BY_HAND_ALONE or not {"cbank_ns", "by_hand_ns"} & set(row):
        return None
    return abs(difference(row)) <= MOST + places(row)[1]


def show(report):
    last, reasons = None, {}
    for row in report["rows"]:
        if "skipped" in row:
            reasons.setdefault((row["tables"], row["skipped"]), {})[row["space"]] = None
    for (tables, reason), spaces in reasons.items():
        print(f"{tables} not in {', '.join(spaces)}: {reason}")
    print(f"{report['device']['name']}: us a launch; %: cbank to by hand")
    print(f"{'':22}{'by hand':>10}{'cbank':>10}{'%':>8}   places")
    for row in sorted(report["rows"], key=lambda row: (row["tables"], row["size"])):
        if "skipped" in row:
            continue
        group = f"{row['tables']}, {row['size']}"
        if group != last:
            print(group)
        last = group
        times = "".join(
            f"{row[key] / 1e3:10.2f}" if key in row else f"{'-':>10}"
            for key in ("by_hand_ns", "cbank_ns")
        )
        percent = f"{100 * difference(row):+8.2f}" if difference(row) == difference(row) else ""
        wrong = "" if is_met(row) is not False else f"MISSED {row.get('failed', '')}"
        print(f"  {row['space']:20}{times}{percent:>8}   {places(row)[0]}{wrong}".rstrip())
    verdicts = [is_met(row) for row in report["rows"] if is_met(row) is not None]
    met = bool(verdicts) and all(verdicts)
    print(f"{len(verdicts)} times: {'all agree' if met else 'MISSED'}")
    return met


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
