#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Simulates how often cbank compare calls out without cause, and how often it finds what became slower.

Proves the false alarms and the power of compare and of gate in docs/comparing.md.

usage: gate_simulation.py [--program build/cbank] [--processes FOLDER] [--gate] [--trials 100] [--first N] [--json FILE]
       gate_simulation.py --show FILE

Every trial writes results of 24 cells as those of the default plan, and asks the built program to compare them: no decision is
made here. Times, deviations between processes and errors of a time are those of the process-*.json of a folder: ten processes of
one GPU (default results/h200/processes). Noise of 2 and 4 is as many times what processes
differ by. Heavy tails: Student's t of 3 degrees of freedom, scaled to the same deviation. All cells of a process share half
of their variance. NEW is of another day than BASE: each side is moved by what occasions differ by (scripts/cbank/noise.py),
likewise. Programs of a gate take turns on one occasion. Cells that did not settle count as settled: flags are not what is simulated. In NEW two cells, the shortest and
the longest, are slower by 1.5 times the threshold; an alarm is a regression or an improvement of another.

With --gate it is cbank gate that decides: its programs take one result after the other, as many as it comes to. It ends
when more would decide nothing, or at 20 a side.

Each scenario has its own seed, so that the first N of them (--first) can be tried again by themselves.
"""

import concurrent.futures
import functools
import glob
import itertools
import json
import math
import os
import random
import statistics
import sys
import tempfile
import typing

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, folder) for folder in ("scripts", "scripts/studies")]
import trials  # noqa: E402
from cbank import noise  # noqa: E402

SAMPLES = 20
BUFFER_SETS = 5  # of so many samples
ERROR = 0.2241  # of their trimmed mean, on average, where they are normal of deviation 1
STUDENT = 2.201  # half of the interval over that: 95 %, 16 - 5 degrees of freedom
PLANTED = 1.5  # times the threshold
CACHE_STATES, TAILS, NOISES = ("hot", "cold"), ("normal", "heavy"), (1, 2, 4)
GATE = 20  # most processes a side of a gate
# Columns of the tables, without and with --gate: what is varied, and its values.
KEYS = {False: ("processes", "threshold_percent"), True: ("threshold_percent",)}
COLUMNS = {False: [*itertools.product((1, 3, 5), (0.5, 1, 2))], True: [(0.5,), (1,)]}


def name(cell):
    return f"{cell['path']}/{cell['pattern']}/{cell['elements']}"


def error_of(cell):
    """The standard error of a cell's time, as a share of it."""
    mean, error = trials.strata_mean(cell["time_ns"]["samples"], cell["buffer_sets"])
    return error / mean


class Tried(typing.NamedTuple):
    """The program that is tried, and processes that are like those of a folder."""
    program: str
    folder: str


@functools.lru_cache(maxsize=None)
def template(folder, cache_state):
    """A result without what is not compared, and of each cell: time, deviation between processes, of samples."""
    results = [trials.load(path) for path in sorted(glob.glob(os.path.join(folder, "process-*.json")))]
    truth, cells = [], []
    for same in zip(*(result["cells"] for result in results)):
        if same[0]["cache_state"] == cache_state:
            times = [cell["time_ns"] for cell in same]
            logs = [math.log(time["value"]) for time in times]
            error = statistics.mean(map(error_of, same))
            truth.append((math.exp(statistics.mean(logs)), statistics.stdev(logs), error / ERROR))
            cells.append({**same[0], "counters": {}, "flags": [], "buffer_sets": BUFFER_SETS})
    return {**results[0], "cells": cells}, truth


def of_an_occasion(tried, rng, of, factors):
    """The factors of cells on an occasion of its own."""
    (result, truth), shared = template(tried.folder, of["cache_state"]), rng.gauss(0, 1)
    return [factor * math.exp(noise.on_days(noise.Deviation(0, 1), cell["identity"], ns).value * (shared + rng.gauss(0, 1)) / math.sqrt(2))
            for factor, cell, (ns, _, _) in zip(factors, result["cells"], truth)]


def write_process(tried, path, rng, of, factors, second, day=1):
    """A result of one process of scenario `of`."""
    result, truth = template(tried.folder, of["cache_state"])
    cells, shared = [], trials.draw(rng, of["tails"])
    for cell, (usual, between, within), factor in zip(result["cells"], truth, factors):
        moved = of["noise"] * between * (shared + trials.draw(rng, of["tails"])) / math.sqrt(2)
        value = usual * factor * math.exp(moved)
        samples = [math.exp(within * rng.gauss(0, 1)) for _ in range(SAMPLES)]
        # The deviation between processes includes the error of their times: that of the samples is not added.
        mean, error = trials.strata_mean(samples, BUFFER_SETS)
        samples = [sample * value / mean for sample in samples]
        half = STUDENT * error * value / mean
        time = {"samples": samples, "value": value, "ci_low": value - half, "ci_high": value + half, "min": min(samples),
                "median": statistics.median(samples), "effective_samples": SAMPLES}
        cells.append({**cell, "time_ns": {**cell["time_ns"], **time}})
    started = f"2026-01-{day:02}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**result, "started_utc": started, "cells": cells}, file)


def plant(tried, cache_state, threshold):
    """By how much each cell is slower in NEW, and the names of those that are: the shortest and the longest."""
    result, truth = template(tried.folder, cache_state)
    order = sorted(range(len(truth)), key=lambda i: truth[i][0])
    planted = (order[0], order[-1])
    factors = [1 + PLANTED * threshold / 100 if i in planted else 1 for i in range(len(truth))]
    return factors, {name(result["cells"][i]) for i in planted}


def trial(tried, gate, of, seed):
    """(whether there was a false alarm, planted cells found, cells undecided, processes a side) of a comparison or a gate."""
    rng = random.Random(seed)
    factors, slow = plant(tried, of["cache_state"], of["threshold_percent"])
    most = GATE if gate else of["processes"]
    with tempfile.TemporaryDirectory() as folder:
        sides = [os.path.join(folder, side) for side in ("base", "new")]
        factors_of = [[1] * len(factors), factors]
        if not gate:
            factors_of = [of_an_occasion(tried, rng, of, each) for each in factors_of]
        pairs = [(process, side) for process in range(most) for side in sides]
        for process, side in pairs if gate else sorted(pairs, key=lambda pair: pair[1]):
            os.makedirs(side, exist_ok=True)
            is_new = side == sides[1]
            write_process(tried, f"{side}/{process + 1:03}.json", rng, of, factors_of[is_new], 2 * process + is_new, 1 if gate else 1 + is_new)
        for side in sides if gate else ():  # a program whose processes have the results, one after the other
            with open(f"{side}.sh", "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\nfor json; do :; done\nset -- {side}/*.json\nmv "$1" "${{json#--json=}}"\n')
            os.chmod(f"{side}.sh", 0o755)
        command = ["gate", "--base-program", f"{sides[0]}.sh", "--new-program", f"{sides[1]}.sh", "--engine", "cuda", "--processes",
                   str(most)] if gate else ["compare", *sides]
        comparison = json.loads(trials.call(tried.program, *command, "--threshold", str(of["threshold_percent"]), "--json", "-",
                                            statuses=(0, 1, 4)).stdout)
    cells = comparison["cells"]
    return (any(cell["verdict"] in ("regressed", "improved") and name(cell) not in slow for cell in cells),
            sum(cell["verdict"] == "regressed" and name(cell) in slow for cell in cells),
            sum(cell["verdict"] == "inconclusive" for cell in cells), comparison["new"]["results"])


def scenarios(gate):
    """All of them, in the order of their seeds."""
    keys = ("cache_state", "tails", "noise", *KEYS[gate])
    return [dict(zip(keys, (*cells, *column))) for *cells, column in itertools.product(CACHE_STATES, TAILS, NOISES, COLUMNS[gate])]


def simulate(tried, gate, count, pool, index, of):
    """A row: a scenario, and the sums of its trials."""
    done = pool.map(lambda i: trial(tried, gate, of, 1000 * (500 * gate + index) + i), range(count))
    return {**dict(zip(("alarms", "found", "inconclusive", "processes"), map(sum, zip(*done)))), **of}


def show(report):
    """Prints the table: of a cache state, noise and tails a row, in it alarms and power (of a gate processes, too) by column."""
    gate, count = bool(report.get("gate")), report["trials"]
    rows = {tuple(row[key] for key in ("cache_state", "noise", "tails", *KEYS[gate])): row for row in report["rows"]}
    if len(rows) < len(scenarios(gate)):
        return True  # --first: no table
    print(f"In each place: {'gates' if gate else 'comparisons'} of {count} with a false alarm; slower cells found, of 100"
          f"{'; processes a side, on average' if gate else ''}.\n")
    heads = [f"{column[0]} %" if gate else f"{column[0]} a side, {column[1]} %" for column in COLUMNS[gate]]
    print("| cells | noise | tails | " + " | ".join(heads) + " |\n|---|--:|---|" + "--:|" * len(heads))
    for cells in itertools.product(CACHE_STATES, NOISES, TAILS):
        of = [rows[(*cells, *column)] for column in COLUMNS[gate]]
        places = [f"{row['alarms']}; {50 * row['found'] / count:.0f}" + (f"; {row['processes'] / count:.1f}" if gate else "") for row in of]
        print("| " + " | ".join(map(str, (*cells, *places))) + " |")
    return True


def options(parser):
    parser.add_argument("--processes", metavar="FOLDER", default=os.path.join(ROOT, "results/h200/processes"))
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--first", type=int, help="scenarios that are tried (default all)")
    parser.add_argument("--gate", action="store_true", help="of cbank gate")


def make(arguments, _rest):
    tried, gate = Tried(os.path.abspath(arguments.program), os.path.abspath(arguments.processes)), arguments.gate
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = [simulate(tried, gate, arguments.trials, pool, index, of) for index, of in enumerate(scenarios(gate)[:arguments.first])]
    return {"gate": gate, "trials": arguments.trials, "rows": rows}


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
