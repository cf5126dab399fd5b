#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Tries on this machine's GPU whether cbank notices that something else uses it.

Proves that a contended cell is flagged, and a quiet one is not.

usage: neighbour_trial.py [--program build/cbank] [--trials 20] [--quiet-trials 100] --json FILE [RUN OPTION...]
       neighbour_trial.py --show FILE

Every result is of a process of its own, beside another that computes, copies or idles, or beside none. The other is
neighbour.cu, which nvcc compiles, or the program that --neighbour names. A cell moved where it is more than 1 % away
from its median over the quiet results. Exits 1 when a cell that moved beside a neighbour is not flagged `shared`, or a
quiet result has the flag.
"""

import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials

KINDS = ("compute", "copy", "idle")
MOVED, INTERVAL = 0.01, 0.002  # the interval of a difference from many quiet processes is less


def options(parser):
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--quiet-trials", type=int, default=100)
    parser.add_argument("--neighbour", metavar="PROGRAM")


def build(folder):
    program = os.path.join(folder, "neighbour")
    trials.call("nvcc", "-O2", "-o", program, os.path.join(os.path.dirname(os.path.abspath(__file__)), "neighbour.cu"))
    return program


class Neighbour:
    """Another process than the measured ones, from when it is at work."""

    def __init__(self, program, kind):
        self.process = subprocess.Popen([program, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            trials.fail(f"{program} {kind} did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def results(program, folder, count, run_options):
    """The times and flags of every cell of so many processes."""
    found = []
    for number in range(count):
        path = trials.measure(program, os.path.join(folder, f"{number}.json"), *run_options)
        result, times = trials.read(path)
        flags = {cell["identity"]: cell["flags"] for cell in result["cells"]}
        found.append({identity: {"time_ns": time["value"], "flags": flags[identity]} for identity, time in times.items()})
    return result, found


def make(arguments, rest):
    rest = rest or ["--counters", "none"]
    with tempfile.TemporaryDirectory() as folder:
        neighbour = arguments.neighbour or build(folder)
        first, quiet = results(arguments.program, folder, arguments.quiet_trials, rest)
        beside = {}
        for kind in KINDS:
            with Neighbour(neighbour, kind):
                beside[kind] = results(arguments.program, folder, arguments.trials, rest)[1]
    return {**trials.origin(first), "run_options": rest, "quiet": quiet, "beside": beside}


def is_shared(result):
    return any("contended" in cell["flags"] for cell in result.values())


def show(report):
    """Prints the figures; returns whether every neighbour that mattered was seen, and none where there was none."""
    quiet = report["quiet"]
    usual = {identity: statistics.median(result[identity]["time_ns"] for result in quiet if identity in result) for identity in quiet[0]}
    alarms = sum(map(is_shared, quiet))
    print(f"{'quiet:':17}{alarms} of {len(quiet)} results flagged")
    met = alarms == 0
    for kind, beside in report["beside"].items():
        moves = [(abs(cell["time_ns"] / usual[identity] - 1), cell) for result in beside for identity, cell in result.items()]
        moved = [cell for move, cell in moves if move > MOVED]
        seen = sum("contended" in cell["flags"] for cell in moved)
        print(f"beside {kind + ':':10}{sum(map(is_shared, beside))} of {len(beside)} results flagged; {sum(move > INTERVAL for move, _ in moves)} of {len(moves)} cells "
              f"moved by more than {100 * INTERVAL:g} %, {len(moved)} by more than {100 * MOVED:.0f} %, {seen} of these flagged")
        met &= seen == len(moved)
    return met


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
