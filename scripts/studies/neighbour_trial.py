#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Tries on this machine's GPU whether cbank notices that something else uses it.

Proves that a cell beside a process that computes is flagged, and a quiet one is not; and how far
others move times.

usage: neighbour_trial.py [--program build/cbank] [--trials 15] --json FILE [RUN OPTION...]
       neighbour_trial.py --show FILE

Every result is of a process of its own: quiet, then beside another that computes, copies or idles.
They take turns, so that a drift of the GPU is in all of them. The other is neighbour.cu, which nvcc
compiles, or the program that --neighbour names. A cell's quiet times say how far it varies: 95 % of
them are that near to their median. Exits 1 where a time beside a process that computes is further
away and not flagged `contended`, or a quiet result has the flag. The flag looks for interruptions:
a process that copies or idles makes none, and the figures say what that costs.
"""

import contextlib
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials

KINDS = ("compute", "copy", "idle")  # the first is seen


def options(parser):
    parser.add_argument("--trials", type=int, default=15)
    parser.add_argument("--neighbour", metavar="PROGRAM")


def build(folder):
    program = os.path.join(folder, "neighbour")
    trials.call(
        shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc",
        "-O2",
        "-o",
        program,
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "neighbour.cu"),
    )
    return program


class Neighbour:
    """Another process than the measured ones, from when it is at work."""

    def __init__(self, program, kind):
        self.process = subprocess.Popen(
            [program, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if self.process.stdout.readline() != "ready\n":
            trials.fail(f"{program} {kind} did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def make(arguments, rest):
    rest = rest or ["--counters", "none"]
    found = {kind: [] for kind in ("quiet", *KINDS)}
    with tempfile.TemporaryDirectory() as folder:
        neighbour = arguments.neighbour or build(folder)
        for _ in range(arguments.trials):
            for kind, of in found.items():
                with Neighbour(neighbour, kind) if kind in KINDS else contextlib.nullcontext():
                    result, times = trials.read(
                        trials.measure(
                            arguments.program, os.path.join(folder, "result.json"), *rest
                        )
                    )
                of.append(
                    {
                        cell["identity"]: {
                            "time_ns": times[cell["identity"]]["value"],
                            "flags": cell["flags"],
                        }
                        for cell in result["cells"]
                        if cell["identity"] in times
                    }
                )
    return {
        **trials.origin(result),
        "run_options": rest,
        "quiet": found.pop("quiet"),
        "beside": found,
    }


def show(report):
    """Prints the figures; returns whether every time that a computing neighbour moved was
    flagged, and no quiet one."""
    times = {
        identity: [result[identity]["time_ns"] for result in report["quiet"] if identity in result]
        for identity in report["quiet"][0]
    }
    usual = {identity: statistics.median(of) for identity, of in times.items()}
    reach = {
        identity: sorted(abs(ns / usual[identity] - 1) for ns in of)[math.ceil(0.95 * len(of)) - 1]
        for identity, of in times.items()
    }
    reached = [100 * of for of in reach.values()]
    flagged = {
        kind: sum(
            any("contended" in cell["flags"] for cell in result.values()) for result in results
        )
        for kind, results in {"quiet": report["quiet"], **report["beside"]}.items()
    }
    met = flagged["quiet"] == 0
    print(
        f"quiet:   {flagged['quiet']} of {len(report['quiet'])} results flagged; 95 % of times"
        f" within {min(reached):.2f} to {max(reached):.2f} % of the cell's median"
    )
    for kind, results in report["beside"].items():
        cells = [
            (cell["time_ns"] / usual[identity] - 1, identity, cell)
            for result in results
            for identity, cell in result.items()
        ]
        outside = [cell for move, identity, cell in cells if abs(move) > reach[identity]]
        missed = sum("contended" not in cell["flags"] for cell in outside)
        medians = [
            100 * statistics.median(move for move, of, _ in cells if of == identity)
            for identity in usual
        ]
        print(
            f"{kind + ':':9}{flagged[kind]} of {len(results)} results flagged; {len(outside)} of"
            f" {len(cells)} times outside, {missed} not flagged; moved by {min(medians):+.2f} to"
            f" {max(medians):+.2f} %"
        )
        met &= kind != KINDS[0] or missed == 0
    return met


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
