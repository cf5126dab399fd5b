#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Compares times of four kernels of the suite with those of a program that was written by hand.

Proves that a time of cbank run --kernel is that of the kernel, without cbank.cuh and with another way of timing.

usage: by_hand.py [--program build/cbank] [--by-hand PROGRAM] --json FILE [RUN OPTION...]
       by_hand.py --show FILE

The other program is tests/kernels/by_hand.cu, which nvcc compiles, or what --by-hand names. Exits 1 where a launch of 20 us
or more differs by more than 3 %, or has no time, and where memory spaces that differ by more are in another order.

A launch alone, from its start to its end, is measured as well, in three ways: between events, by ncu, and by cbank run
--duration. The last two measure it with cold caches, too.
"""

import csv
import itertools
import json
import math
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LEAST_NS = 20000  # of a launch that is compared
MOST = 0.03
SHOWN = ("constant", "global", "shared")  # the others' differences are a line


def options(parser):
    parser.add_argument("--by-hand", metavar="PROGRAM")


def profile(program, times, key, cache_control):
    """Adds the median of ncu's durations of the launches alone to times: as many of each, in the order of times."""
    lines = trials.call("ncu", "--csv", "--clock-control", "none", "--cache-control", cache_control, "--print-units", "base",
                        "--kernel-name", "regex:^(?!fill_with)", "--metrics", "gpu__time_duration.sum", program, "launch").stdout
    rows = csv.DictReader(lines[lines.index('"ID"'):].splitlines())
    durations = [float(row["Metric Value"].replace(",", "")) for row in rows]
    each = len(durations) // len(times)
    for i, row in enumerate(times):
        row[key] = statistics.median(durations[i * each:(i + 1) * each])


def make(arguments, rest):
    with tempfile.TemporaryDirectory() as folder:
        program = arguments.by_hand or os.path.join(folder, "by_hand")
        if not arguments.by_hand:
            trials.call("nvcc", "-O3", "-std=c++17", "-default-stream", "per-thread", "-arch=native", "-o", program,
                        os.path.join(ROOT, "tests/kernels/by_hand.cu"))
        by_hand = json.loads(trials.call(program).stdout)
        profile(program, by_hand["times"], "ncu_ns", "none")
        profile(program, by_hand["times"], "ncu_cold_ns", "all")
        files = dict.fromkeys(os.path.join(ROOT, f"examples/{row['kernel']}.cu") for row in by_hand["times"])
        result, _ = trials.read(trials.measure(arguments.program, os.path.join(folder, "result.json"), "--kernel", ",".join(files),
                                               "--counters", "none", "--duration", "--cache-state", "all", *rest))
    measured = {(cell["workload"], cell["elements"], cell["kernel_file"]["spaces"], cell["cache_state"]): cell
                for cell in result["cells"] if cell["status"] == "ok" and "kernel_file" in cell}
    if by_hand["device"] != result["device"]["name"]:
        trials.fail(f"one side is of {by_hand['device']}, the other of {result['device']['name']}")
    for row in by_hand["times"]:
        for key, of, state in (("cbank_ns", "time_ns", "hot"), ("cbank_alone_ns", "duration_ns", "hot"), ("cbank_cold_ns", "duration_ns", "cold")):
            row[key] = measured.get((row["kernel"], row["size"], row["space"], state), {}).get(of, {}).get("value")
    return {**trials.origin(result), "times": by_hand["times"]}


def out_of_order(rows):
    """Pairs of memory spaces that differ by more than MOST on one side, and are in another order on the other."""
    for a, b in itertools.combinations(rows, 2):
        ratios = [a[key] / b[key] for key in ("time_ns", "cbank_ns")]
        differs = any(not 1 / (1 + MOST) <= ratio <= 1 + MOST for ratio in ratios)
        if differs and (ratios[0] > 1) != (ratios[1] > 1):
            yield a["space"], b["space"]


def show(report):
    """Prints the times of three memory spaces and of what disagrees; returns whether all that is compared agrees."""
    absent = [f"{row['kernel']} {row['size']} {row['space']}" for row in report["times"] if row["cbank_ns"] is None]
    met, compared = not absent, 0
    alone = [key for key in ("alone_ns", "ncu_ns", "cbank_alone_ns", "ncu_cold_ns", "cbank_cold_ns") if key in report["times"][0]]
    print(f"{report['device']['name']}: us a launch by hand, by cbank, and the difference in %"
          + ("; alone: by events, ncu, cbank; cold: ncu, cbank" if alone else ""))
    for (kernel, size), group in itertools.groupby(report["times"], lambda row: (row["kernel"], row["size"])):
        long = sorted((row for row in group if row["time_ns"] >= LEAST_NS), key=lambda row: row["time_ns"])
        others = []
        if long:
            print(f"{kernel}, {size}")
        for row in long:
            difference = row["cbank_ns"] / row["time_ns"] - 1 if row["cbank_ns"] else math.nan
            agrees = abs(difference) <= MOST
            met, compared = met and agrees, compared + 1
            if agrees and row["space"] not in SHOWN:
                others.append(100 * difference)
                continue
            values = "".join(f"{(row[key] or math.nan) / 1e3:10.2f}" for key in ("time_ns", "cbank_ns"))
            values += f"{100 * difference:+8.2f}" + "".join(f"{(row[key] or math.nan) / 1e3:9.2f}" for key in alone)
            print(f"  {row['space']:14}{values}{'' if agrees else '   MISSED'}")
        if others:
            print(f"  {f'others ({len(others)})':14}{'':20}{min(others):+8.2f} to {max(others):+.2f}")
        for pair in out_of_order([row for row in long if row["cbank_ns"]]):
            print(f"  {pair[0]} and {pair[1]}: another order   MISSED")
            met = False
    for name in absent:
        print(f"cbank has no time of {name}   MISSED")
    print(f"{compared} times of 20 us or more: {'all agree' if met and compared else 'MISSED'}")
    return met and compared > 0


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
