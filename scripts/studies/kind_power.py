#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Proves what `cbank fleet` finds of what was planted in one of eight boards of a kind, and how
often it calls out without cause.

usage: kind_power.py --json FILE [--small]
       kind_power.py --show FILE

Eight boards have one run or two of the 24 cells of the default plan, each on a night of its own.
What boards of a kind differ by:

  normal     the deviations of harness/compare/deviation.c, of boards and of processes; half of each
             variance is common to the cells of a board
  heavy      the same with Student's t of three degrees of freedom
  boards     those boards of results/h200/boards that did not choose these deviations, drawn with
             repetition, with their first and last results

Nothing is planted, or one board is slower in the eight cells of a path, or in one cell. The kind is
known to all, or to none: then the boards are held against all known kinds. Found: that board and no
other is called apart. --small: as a test.
"""

import itertools
import math
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import boards
import process_deviation
import trials
from cbank.changes import Cell
from cbank.fleet_groups import NO_KIND, Kinds, Limits, judge

GPUS, TRIALS, SMALL = 8, 100, 8
NOISES = ("normal", "heavy", "boards")
# (what is slower, by how much, whether the kind is known, runs)
PLANTS = (
    ("nothing", 0, True, 1),
    ("nothing", 0, True, 2),
    ("path", 0.005, True, 2),
    ("path", 0.015, True, 1),
    ("path", 0.015, True, 2),
    ("cell", 0.03, True, 1),
    ("cell", 0.03, True, 2),
    ("nothing", 0, False, 2),
    ("path", 0.05, False, 2),
    ("cell", 0.1, False, 2),
)


def checking():
    """{identity: logarithms of the time} of each board that checks: its first and last result."""
    most, *_ = process_deviation.kinds_of_boards()
    return [
        [
            {cell: math.log(1000 * us) for cell, us in boards.times_of(result).items()}
            for result in (
                boards.read(os.path.join(trials.ROOT, "results", name.replace("-first", last)))
                for last in ("-first", "-last")
            )
        ]
        for name in most[process_deviation.CHOOSING :]
    ]


class Noise:
    """Draws boards: logarithms [cells, GPUs, runs]."""

    def __init__(self, kind):
        self.kind, self.boards = kind, checking()
        there = set.intersection(*(set(result) for board in self.boards for result in board))
        self.identities = sorted(there)
        self.usual = np.array(
            [np.median([board[0][name] for board in self.boards]) for name in self.identities]
        )

    def draw(self, rng, runs):
        shape = len(self.identities), GPUS, runs
        if self.kind == "boards":
            drawn = [self.boards[rng.integers(len(self.boards))] for _ in range(GPUS)]
            firsts = [rng.integers(2) if runs == 1 else 0 for _ in drawn]
            return np.array(
                [
                    [
                        [board[first + run][name] for run in range(runs)]
                        for board, first in zip(drawn, firsts)
                    ]
                    for name in self.identities
                ]
            )
        total = np.zeros(shape)
        for cause, times in (("kind", 1), ("process", runs)):
            deviation = [trials.deviation(cause, "hot", math.exp(log)) for log in self.usual]
            common, own = (self.values(rng, (count, GPUS, times)) for count in (1, shape[0]))
            total += np.array(deviation)[:, None, None] * (common + own) / math.sqrt(2)
        return self.usual[:, None, None] + total

    def values(self, rng, shape):
        return (
            rng.normal(size=shape)
            if self.kind == "normal"
            else rng.standard_t(3, shape) / math.sqrt(3)
        )


def trial(rng, noise, plant, size, known, runs):
    """(whether the planted board and no other is apart, whether any other is)."""
    logs, slow = noise.draw(rng, runs), int(rng.integers(GPUS))
    paths = np.array([name.split("/")[1] for name in noise.identities])
    if plant == "path":
        logs[paths == rng.choice(np.unique(paths)), slow] += math.log1p(size)
    if plant == "cell":
        logs[rng.integers(len(logs)), slow] += math.log1p(size)
    none = np.zeros(GPUS, dtype=int)
    found = judge(
        [Cell(name, row) for name, row in zip(noise.identities, logs)],
        GPUS,
        {"driver": none, "vbios": none, "node": none},
        Limits(),
        kinds=Kinds(none if known else none + NO_KIND, none.astype(bool), "NVIDIA H200"),
    )
    apart = {change.group for change in found if change.change > 0}
    return apart == {slow} and plant != "nothing", bool(apart - ({slow} if size else set()))


def options(parser):
    parser.add_argument("--small", action="store_true")


def row(number, kind, plant, size, known, runs, times):
    rng, noise = np.random.default_rng(number), Noise(kind)
    said = [trial(rng, noise, plant, size, known, runs) for _ in range(times)]
    return {
        "noise": kind,
        "plant": plant,
        "size": size,
        "known": known,
        "runs": runs,
        "trials": times,
        "found": sum(found for found, _ in said),
        "false": sum(false for _, false in said),
    }


def make(args, _rest):
    rows = [
        (noise, *plant, SMALL if args.small else TRIALS) for plant in PLANTS for noise in NOISES
    ]
    return {"rows": trials.in_processes(row, itertools.count(1), *zip(*rows))}


def show(report):
    """A table in Markdown: of 100, how many were found and had another board, by kind of noise."""
    print("| kind | runs | slower on one of eight | found | another board called apart |")
    print("|---|--:|---|--:|--:|")
    for plant, size, known, runs in PLANTS:
        rows = [
            row
            for row in report["rows"]
            if (row["plant"], row["size"], row["known"], row["runs"]) == (plant, size, known, runs)
        ]
        found, false = (
            ", ".join(f"{100 * row[key] / row['trials']:.0f}" for row in rows)
            for key in ("found", "false")
        )
        what = {"nothing": "nothing", "path": "a path", "cell": "one cell"}[plant]
        what += f", {100 * size:g} %" if size else ""
        kind = "known" if known else "not known"
        print(f"| {kind} | {runs} | {what} | {found if size else '-'} | {false} |")
    return True


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
