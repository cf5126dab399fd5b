#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Derives harness/compare/deviation.def: how much times differ between processes, plans and boards by default.

usage: process_deviation.py [--check]

Of each pair of committed results of one GPU and driver that ran one plan, a cell with equal code gives a variance with
one degree of freedom; a calibration gives one with more. The variance of a cell is taken to be
relative^2 + (ns / time)^2, times a factor that differs from cell to cell as an inverse chi square of `degrees` does,
and within^2: then its quotient by the sum nearly has the F distribution, and relative, ns and degrees are those of the
greatest likelihood (Smyth 2004, with a prior that depends on the time). `within` is what the samples of a process tell
about its median. Of plans and boards likewise, the part of the processes being known then. Where all cells of a process
move together, as cold ones do, they are no independent cells: degrees are then those of the mean square of as many
variables with that correlation.

Prints the table and what it rests on. With --check, exits 1 where deviation.def is beyond what rounding explains.
"""

import itertools
import json
import math
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = os.path.join(ROOT, "harness/compare/deviation.def")
NORMAL = 1.959964
DEGREES_MOST = 50
ROUNDING = 0.06  # relative: two digits


def load(name):
    """The cells of a result by identity: time, error of its median within the process, code, whether it settled."""
    with open(os.path.join(ROOT, "results", name), encoding="utf-8") as file:
        result = json.load(file)
    cells = {}
    for cell in result["cells"]:
        time = cell["time_ns"]
        if cell["status"] != "ok" or not time or not time["ci_low"]:
            continue
        key = tuple(str(cell[name]) for name in ("workload", "path", "pattern", "elements", "block_size", "regime"))
        key += tuple(sorted(cell["parameters"].items()))
        cells[key] = (time["median"], math.log(time["ci_high"] / time["ci_low"]) / 2 / NORMAL,
                      cell["kernel"]["sass_sha256"], "unstable" not in cell["flags"])
    return cells


def pairs(names, regime):
    """(variance, degrees, time, within) of each cell that settled in two results; of each pair all changes, in ns."""
    rows, changes = [], []
    for one, other in itertools.combinations([load(name) for name in names], 2):
        common = [key for key in one if key in other and key[5] == regime and one[key][2] == other[key][2]]
        changes.append([math.log(other[key][0] / one[key][0]) * one[key][0] for key in common])
        rows += [(math.log(other[key][0] / one[key][0]) ** 2 / 2, 1, one[key][0],
                  math.sqrt((one[key][1] ** 2 + other[key][1] ** 2) / 2)) for key in common
                 if one[key][3] and other[key][3]]
    return rows, changes


def range_of(count):
    """Mean and standard deviation of the range of normal values."""
    def below(value):
        step, sum_ = 1 / 32, 0
        for i in range(-256, 256):
            x = i * step
            share = (math.erfc(-(x + value) / math.sqrt(2)) - math.erfc(-x / math.sqrt(2))) / 2
            sum_ += count * math.exp(-x * x / 2) / math.sqrt(2 * math.pi) * share ** (count - 1) * step
        return sum_

    step = 1 / 16
    above = [((i + 0.5) * step, 1 - below((i + 0.5) * step)) for i in range(256)]
    mean = sum(share for _, share in above) * step
    return mean, math.sqrt(sum(2 * value * share for value, share in above) * step - mean * mean)


def calibrated(name, alike):
    """Rows of a calibration of version 1; the errors within its processes are those of the result `alike`."""
    with open(os.path.join(ROOT, "results", name), encoding="utf-8") as file:
        calibration = json.load(file)
    mean, spread = range_of(calibration["launches"])
    within = {key[:6]: cell[1] for key, cell in load(alike).items()}
    rows = []
    for cell in calibration["cells"]:
        key = tuple(str(cell[name]) for name in ("workload", "path", "pattern", "elements", "block_size", "regime"))
        rows.append(((math.log1p(cell["noise"]) / mean) ** 2, mean ** 2 / 2 / spread ** 2, cell["median_ns"], within[key]))
    return rows, {key[:6]: cell for key, cell in load(alike).items()}, calibration


def likelihood(rows, known, relative, ns, freedom, most=1e4):
    total = 0
    for variance, own, time, within in rows:
        between = relative ** 2 + (ns / time) ** 2
        prior = between + within ** 2 + known(time) ** 2
        x = max(variance / prior, 1e-9)
        degrees = min(most, freedom * (prior / between) ** 2)  # Satterthwaite: the other parts are taken as known
        total += (math.lgamma((own + degrees) / 2) - math.lgamma(own / 2) - math.lgamma(degrees / 2) +
                  own / 2 * math.log(own / degrees) + (own / 2 - 1) * math.log(x) -
                  (own + degrees) / 2 * math.log1p(own * x / degrees) - math.log(prior))
    return total


def fit(rows, known=lambda time: 0, most=DEGREES_MOST, relative=None):
    """relative, ns and degrees (`most` at most) of the greatest likelihood; relative stays where it is given."""
    point = [relative or 5e-4, 2.0, min(6.0, most)]
    moving = [1, 2] if relative else [0, 1, 2]
    best, step = likelihood(rows, known, *point), 0.5
    while step > 1e-3:
        moved = False
        for i, sign in itertools.product(moving, (1, -1)):
            tried = list(point)
            tried[i] = min(tried[i] * math.exp(sign * step), most if i == 2 else math.inf)
            value = likelihood(rows, known, *tried)
            if value > best + 1e-9:
                best, point, moved = value, tried, True
        step = step if moved else step / 2
    return [0 if point[0] < 1e-5 else point[0], 0 if point[1] < 0.1 else point[1], point[2]]


def together(changes):
    """Degrees of freedom of the mean square of changes in ns that share a part."""
    count = len(changes)
    square = sum(change ** 2 for change in changes) / count
    correlation = max(0, (sum(changes) ** 2 / count ** 2 - square / count) / (square - square / count))
    return count / (1 + (count - 1) * correlation ** 2)


def derive():
    """{(cause, regime): (relative, ns, degrees)} and what each rests on."""
    h200, h100 = (pairs((f"{chip}/core-matrix.json", f"{chip}/second-process.json"), "hot")[0] for chip in ("h200", "h100"))
    gate, alike, calibration = calibrated("h200/gate/calibration.json", "h200/core-matrix.json")
    hot = fit(gate + h200 + h100)
    cold_rows, cold_changes = pairs(("h200/core-matrix-cold.json", "h200/sizes.json"), "cold")
    cold = fit(cold_rows, most=min(len(cold_rows), together(cold_changes[0])))
    process = lambda time: math.hypot(hot[0], hot[1] / time)  # noqa: E731
    plans, plan_changes = [], []
    for names in (("core-matrix", "all-paths"), ("core-matrix", "sizes"), ("convolution", "all-paths"),
                  ("refill", "all-paths"), ("stencil-blocks", "all-paths")):
        rows, changes = pairs([f"h200/{name}.json" for name in names], "hot")
        plans, plan_changes = plans + rows, plan_changes + changes
    plan = fit(plans, process, most=sum(map(together, plan_changes)))
    boards, board_changes = [], []
    for cell in calibration["cells"]:
        key = tuple(str(cell[name]) for name in ("workload", "path", "pattern", "elements", "block_size", "regime"))
        if cell["sass_sha256"] == alike[key][2]:
            change = math.log(alike[key][0] / cell["median_ns"])
            boards.append((change ** 2 / 2, 1, cell["median_ns"], alike[key][1]))
            board_changes.append(change * cell["median_ns"])
    board = fit(boards, process, most=together(board_changes))
    table = {("process", "hot"): hot, ("process", "cold"): cold, ("plan", "hot"): plan, ("plan", "cold"): [0, 0, 1],
             ("board", "hot"): board, ("board", "cold"): board}
    gate_only, pairs_only = fit(gate), fit(h200 + h100)
    basis = [f"process, hot: {len(gate)} cells of 20 processes on one H200, {len(h200)} of a pair on another, "
             f"{len(h100)} of a pair on an H100; of the first alone {gate_only[0]:.2g}, {gate_only[1]:.2g} ns, "
             f"{gate_only[2]:.2g} degrees, of the others {pairs_only[0]:.2g}, {pairs_only[1]:.2g} ns, {pairs_only[2]:.2g}",
             f"process, cold: {len(cold_rows)} cells of one pair of two plans on an H200 (the part of plans is in it)",
             f"plan, hot: {len(plans)} cells of five pairs on an H200",
             f"board: {len(boards)} cells of two H200; cold ones are not known, and taken to be alike"]
    return table, basis


def written():
    with open(TABLE, encoding="utf-8") as file:
        rows = re.findall(r"^DEVIATION\((\w+), (\w+), ([^,]+), ([^,]+), ([^)]+)\)", file.read(), re.MULTILINE)
    return {(cause, regime): [float(value) for value in values] for cause, regime, *values in rows}


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__.strip(), file=sys.stderr)
        sys.exit(2)
    table, basis = derive()
    for (cause, regime), values in table.items():
        print(f"DEVIATION({cause}, {regime}, {', '.join(f'{value:.2g}' for value in values)})")
    print("\n".join(basis))
    have = written()
    if sys.argv[1:] and (set(have) != set(table) or any(abs(a - b) > ROUNDING * b for key in table
                                                        for a, b in zip(have[key], table[key]))):
        sys.exit("process_deviation: harness/compare/deviation.def is not this table")


if __name__ == "__main__":
    main()
