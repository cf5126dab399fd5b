#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Tries the gate on this machine's GPU: how often cbank compare calls out without cause, and how
often it finds a slowdown that was planted.

Proves the false alarms and the power of compare on a real GPU.

usage: gate_trial.py [--program build/cbank] [--trials 20] [--slow global] --json FILE [RUN
OPTION...]
       gate_trial.py --show FILE

Every result is of a process of its own. False alarms: each result against the one before it. Power:
results with work added to one path (cbank run --slow, a developer option), each against one
without. Writes what each comparison said. Exits 1 after a false alarm, or where fewer than 95 of
100 planted cells are called regressed (hot ones at 1.5 %, cold ones at 5 %).
"""

import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials

# Slowdowns in percent, and the cache state where 95 of 100 cells are to be found. A stamp that
# waits plants them, in whole ticks of the timer.
SLOWDOWNS = {1.5: "hot", 5: "cold"}
FOUND_LEAST = 0.95


def options(parser):
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--slow", metavar="PATH", default="global")


def make(arguments, rest):
    program, count = arguments.program, arguments.trials
    rest = rest or ["--counters", "none"]
    with tempfile.TemporaryDirectory() as folder:

        def one_more(name, *more):
            return trials.measure(program, os.path.join(folder, f"{name}.json"), *rest, *more)

        plain = [one_more(f"plain-{i}") for i in range(count + 1)]
        first, times = trials.read(plain[0])
        found = {"a_a": [trials.compare(program, a, b) for a, b in zip(plain, plain[1:])]}
        for percent in SLOWDOWNS:
            slow = [
                one_more(f"slow-{percent}-{i}", "--slow", f"{arguments.slow}:{percent}")
                for i in range(count)
            ]
            found[f"slow_{percent}_percent"] = [
                trials.compare(program, *pair) for pair in zip(plain, slow)
            ]
    return {
        **trials.origin(first),
        "run_options": rest,
        "trials": count,
        "path": arguments.slow,
        "planted": [identity for identity in times if identity.split("/")[1] == arguments.slow],
        "comparisons": found,
    }


def show(report):
    """Prints the figures of merit; returns whether they are met."""
    count, path, found = report["trials"], report["path"], report["comparisons"]
    alarms = sum(bool(one["changed"]) for one in found["a_a"])
    print(f"two processes, nothing changed:   {alarms} false alarms in {count} comparisons")
    met = alarms == 0
    for percent, cache_state in SLOWDOWNS.items():
        compared = found[f"slow_{percent}_percent"]
        failed = sum(one["failed"] for one in compared)
        said = f"{path} made {percent} % slower:".ljust(34) + f"gate failed in {failed} of {count}"
        planted = [identity for identity in report["planted"] if f"/{cache_state}" in identity]
        if planted:
            called = sum(
                f"{identity} regressed" in one["changed"]
                for one in compared
                for identity in planted
            )
            said += f", {called} of {count * len(planted)} {cache_state} cells called regressed"
            met &= called >= FOUND_LEAST * count * len(planted)
        print(said)
    return met


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
