#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Simulates how often cbank compare calls out without cause, and how often it finds what became
slower.

Proves the false alarms and the power of compare, of two GPUs too, and of gate in docs/comparing.md.

usage: gate_simulation.py [--program build/cbank] [--processes FOLDER] [--gate | --boards] [--trials
100] [--first N] [--json FILE]
       gate_simulation.py --show FILE

Every trial writes results of 24 cells as those of the default plan, and asks the built program to
compare them: no decision is made here. Times, deviations between processes and errors of a time are
those of the process-*.json of a folder: ten processes of one GPU (default results/h200/processes).
Noise of 2 and 4 is as many times what processes differ by. Heavy tails: Student's t of 3 degrees of
freedom, scaled to the same deviation. All cells of a process share half of their variance. NEW is
of another day than BASE: each side is moved by what occasions differ by
(harness/compare/deviation.c), likewise. Programs of a gate take turns on one occasion. Cells that
did not settle count as settled: flags are not what is simulated. In NEW two cells, the shortest and
the longest, are slower by 1.5 times the threshold; an alarm is a regression or an improvement of
another.

With --gate it is cbank gate that decides: its programs take one result after the other, as many as
it comes to. It ends when more would decide nothing, or at 20 a side.

With --boards the sides are two GPUs, and others of the model are known. Boards differ in each cell
by a deviation of its own: the default over the root of an inverse chi square of its degrees
(unequal), or three times that (threefold). Half of the variance is common to the cells of a board.
Or they are boards of the nine H200 that chose the default (real). The two cells are 5 % slower.

Each scenario has its own seed, so that the first N of them (--first) can be tried again by
themselves.
"""

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

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import process_deviation
import trials

SAMPLES = 20
BUFFER_SETS = 5  # of so many samples
ERROR = 0.2241  # of their trimmed mean, on average, where they are normal of deviation 1
STUDENT = 2.201  # half of the interval over that: 95 %, 16 - 5 degrees of freedom
PLANTED = 1.5  # times the threshold
CACHE_STATES, TAILS, NOISES = ("hot", "cold"), ("normal", "heavy"), (1, 2, 4)
GATE = 20  # most processes a side of a gate
# times the default; other boards
BOARDS, OTHERS = {"unequal": 1, "threefold": 3, "real": 0}, (0, 2, 3, 5, 7, 9)
SLOWER, FURTHEST = 5, 0.2  # percent; the most that boards differ by
# Columns of the tables, without and with --gate: what is varied, and its values.
KEYS = {False: ("processes", "threshold_percent"), True: ("threshold_percent",)}
COLUMNS = {False: [*itertools.product((1, 3, 5), (0.5, 1, 2))], True: [(0.5,), (1,)]}


@functools.lru_cache(maxsize=None)
def template(folder, cache_state):
    """A result without what is not compared, and of each cell: time, deviation between
    processes, of samples."""
    results = [
        trials.load(path) for path in sorted(glob.glob(os.path.join(folder, "process-*.json")))
    ]
    truth, cells = [], []
    for same in zip(*(result["cells"] for result in results)):
        if same[0]["cache_state"] == cache_state:
            logs = [math.log(cell["time_ns"]["value"]) for cell in same]
            means = [
                trials.strata_mean(cell["time_ns"]["samples"], cell["buffer_sets"]) for cell in same
            ]
            error = statistics.mean(error / mean for mean, error in means)
            truth.append((math.exp(statistics.mean(logs)), statistics.stdev(logs), error / ERROR))
            cells.append({**same[0], "counters": {}, "flags": [], "buffer_sets": BUFFER_SETS})
    return {**results[0], "cells": cells}, truth


def of_an_occasion(tried, rng, of, factors):
    """The factors of cells on an occasion of its own."""
    (_, truth), shared = template(tried.processes, of["cache_state"]), rng.gauss(0, 1)
    return [
        factor
        * math.exp(
            math.hypot(
                *(trials.deviation(cause, of["cache_state"], ns) for cause in ("occasion", "later"))
            )
            * (shared + rng.gauss(0, 1))
            / math.sqrt(2)
        )
        for factor, (ns, _, _) in zip(factors, truth)
    ]


def of_boards(tried, rng, of, count):
    """The factors of cells on so many boards."""
    result, truth = template(tried.processes, of["cache_state"])
    if not BOARDS[of["boards"]]:
        times = rng.sample(process_deviation.times_of_boards(), count)
        return [
            [board[cell["identity"]] / usual for cell, (usual, *_) in zip(result["cells"], truth)]
            for board in times
        ]
    value, _, degrees = trials.DEVIATIONS["board", "hot"]
    cells = [
        min(
            BOARDS[of["boards"]] * value * math.sqrt(degrees / rng.gammavariate(degrees / 2, 2)),
            FURTHEST,
        )
        for _ in truth
    ]
    return [
        [math.exp(cell * (shared + rng.gauss(0, 1)) / math.sqrt(2)) for cell in cells]
        for shared in (rng.gauss(0, 1) for _ in range(count))
    ]


def write_process(tried, path, rng, of, factors, second, day=1, **device):
    """A result of one process of scenario `of`."""
    result, truth = template(tried.processes, of["cache_state"])
    cells, shared = [], trials.draw(rng, of["tails"])
    for cell, (usual, between, within), factor in zip(result["cells"], truth, factors):
        moved = of["noise"] * between * (shared + trials.draw(rng, of["tails"])) / math.sqrt(2)
        value = usual * factor * math.exp(moved)
        samples = [math.exp(within * rng.gauss(0, 1)) for _ in range(SAMPLES)]
        # The deviation between processes includes the error of their times: that of the samples is
        # not added.
        mean, error = trials.strata_mean(samples, BUFFER_SETS)
        samples = [sample * value / mean for sample in samples]
        half = STUDENT * error * value / mean
        time = {
            "samples": samples,
            "value": value,
            "ci_low": value - half,
            "ci_high": value + half,
            "min": min(samples),
            "median": statistics.median(samples),
            "effective_samples": SAMPLES,
        }
        cells.append({**cell, "time_ns": {**cell["time_ns"], **time}})
    started = f"2026-01-{day:02}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            json.dumps(
                {
                    **result,
                    "device": {**result["device"], **device},
                    "started_utc": started,
                    "cells": cells,
                }
            )
        )


def write_sides(tried, gate, of, rng, sides, slow):
    """Results of all sides, in the folders of these names. The second has the slower cells."""
    boards, most = of.get("boards"), GATE if gate else of["processes"]
    slower = 1 + (SLOWER if boards else PLANTED * of["threshold_percent"]) / 100
    result, _ = template(tried.processes, of["cache_state"])
    factors_of = [
        [slower if side == 1 and cell["identity"] in slow else 1 for cell in result["cells"]]
        for side in range(len(sides))
    ]
    if boards:
        factors_of = [
            [own * factor for own, factor in zip(*pair)]
            for pair in zip(of_boards(tried, rng, of, len(sides)), factors_of)
        ]
    elif not gate:
        factors_of = [of_an_occasion(tried, rng, of, each) for each in factors_of]
    for process, side in sorted(
        itertools.product(range(most), range(len(sides))),
        key=None if gate else lambda pair: pair[1],
    ):
        os.makedirs(sides[side], exist_ok=True)
        write_process(
            tried,
            f"{sides[side]}/{process + 1:03}.json",
            rng,
            of,
            factors_of[side],
            2 * process + side,
            1 if gate or boards else 1 + side,
            **({"uuid": f"GPU-{side}"} if boards else {}),
        )


def gate_words(sides):
    """The command of a gate. Its programs have results, whose processes come one after the
    other."""
    for side in sides:
        with open(f"{side}.sh", "w", encoding="utf-8") as file:
            file.write(
                f'#!/bin/sh\nfor json; do :; done\nset -- {side}/*.json\nexec mv "$1"'
                ' "${json#--json=}"\n'
            )
        os.chmod(f"{side}.sh", 0o755)
    programs = ("--base-program", f"{sides[0]}.sh", "--new-program", f"{sides[1]}.sh")
    return ["gate", *programs, "--engine", "cuda", "--processes", str(GATE)]


def compare_words(of, sides):
    return [
        "compare",
        *sides[:2],
        *(["--allow-diff", "uuid"] if of.get("boards") else []),
        *(["--boards", ",".join(sides[2:])] if sides[2:] else []),
    ]


def trial(tried, gate, of, seed):
    """(whether there was a false alarm, planted cells found, cells undecided, processes a side)
    of a comparison or a gate."""
    rng = random.Random(seed)
    result, truth = template(tried.processes, of["cache_state"])
    order = sorted(range(len(truth)), key=lambda i: truth[i][0])
    slow = [result["cells"][i]["identity"] for i in (order[0], order[-1])]
    with tempfile.TemporaryDirectory() as folder:
        others = map(str, range(of.get("others", 0)))
        sides = [os.path.join(folder, side) for side in ("base", "new", *others)]
        write_sides(tried, gate, of, rng, sides, slow)
        words = gate_words(sides) if gate else compare_words(of, sides)
        words += ["--threshold", str(of["threshold_percent"]), "--json", "-"]
        comparison = json.loads(trials.call(tried.program, *words, statuses=(0, 1, 4)).stdout)
    cells = comparison["cells"]
    return (
        any(
            cell["verdict"] in ("regressed", "improved") and cell["identity"] not in slow
            for cell in cells
        ),
        sum(cell["verdict"] == "regressed" and cell["identity"] in slow for cell in cells),
        sum(cell["verdict"] == "inconclusive" for cell in cells),
        comparison["new"]["results"],
    )


def scenarios(gate):
    """All of them, in the order of their seeds."""
    if gate == "boards":
        return [
            {
                "cache_state": "hot",
                "tails": "normal",
                "noise": 1,
                "threshold_percent": 1,
                "processes": 1,
                "boards": boards,
                "others": others,
            }
            for boards, others in itertools.product(BOARDS, OTHERS)
            if BOARDS[boards] or others + 2 <= len(process_deviation.BOARDS)
        ]
    keys = ("cache_state", "tails", "noise", *KEYS[gate])
    return [
        dict(zip(keys, (*cells, *column)))
        for *cells, column in itertools.product(CACHE_STATES, TAILS, NOISES, COLUMNS[gate])
    ]


def show(report):
    """Prints the table: of a cache state, noise and tails a row, in it alarms and power (of a
    gate processes, too) by column."""
    gate, count = bool(report.get("gate")), report["trials"]
    if "boards" in report["rows"][0]:
        print(
            "| boards | others | false alarms | slower ones found | undecided of 24"
            " |\n|---|--:|--:|--:|--:|"
        )
        for row in report["rows"]:
            print(
                f"| {row['boards']} | {row['others']} | {100 * row['alarms'] / count:g} % |"
                f" {50 * row['found'] / count:.0f} % | {row['inconclusive'] / count:.0f} |"
            )
        return True
    rows = {
        tuple(row[key] for key in ("cache_state", "noise", "tails", *KEYS[gate])): row
        for row in report["rows"]
    }
    if len(rows) < len(scenarios(gate)):
        return True  # --first: no table
    print(
        f"In each place: {'gates' if gate else 'comparisons'} of {count} with a false alarm; slower"
        f" cells found, of 100{'; processes a side, on average' if gate else ''}.\n"
    )
    heads = [
        f"{column[0]} %" if gate else f"{column[0]} a side, {column[1]} %"
        for column in COLUMNS[gate]
    ]
    print(
        "| cells | noise | tails | " + " | ".join(heads) + " |\n|---|--:|---|" + "--:|" * len(heads)
    )
    for cells in itertools.product(CACHE_STATES, NOISES, TAILS):
        of = [rows[(*cells, *column)] for column in COLUMNS[gate]]
        places = [
            f"{row['alarms']}; {50 * row['found'] / count:.0f}"
            + (f"; {row['processes'] / count:.1f}" if gate else "")
            for row in of
        ]
        print("| " + " | ".join(map(str, (*cells, *places))) + " |")
    return True


def options(parser):
    parser.add_argument(
        "--processes", metavar="FOLDER", default=os.path.join(trials.ROOT, "results/h200/processes")
    )
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--first", type=int, help="scenarios that are tried (default all)")
    parser.add_argument("--gate", action="store_true", help="of cbank gate")
    parser.add_argument("--boards", action="store_true", help="of two GPUs")


def make(arguments, _rest):
    gate, count = arguments.gate, arguments.trials
    rows = scenarios("boards" if arguments.boards else gate)[: arguments.first]
    of = [
        (arguments, gate, row, 1000 * (500 * gate + index) + number)
        for index, row in enumerate(rows)
        for number in range(count)
    ]
    done = trials.in_processes(trial, *zip(*of))
    sums = [map(sum, zip(*done[first : first + count])) for first in range(0, len(done), count)]
    return {
        "gate": gate,
        "trials": count,
        "rows": [
            {**dict(zip(("alarms", "found", "inconclusive", "processes"), each)), **row}
            for each, row in zip(sums, rows)
        ],
    }


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
