#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Says how the SM clock of this machine's GPU moves by itself, and what that does to times and to
the gate.

Proves that compare calls no cell changed because of the clock alone.

usage: clock_trial.py [--program build/cbank] [--processes 60] [--heat-seconds 60] --json FILE [RUN
OPTION...]
       clock_trial.py --show FILE

So many processes measure one after the other. Then another process computes for so many seconds:
neighbour.cu, which nvcc compiles, or the program that --neighbour names. Then as many processes
measure again. Each is compared with the first and with the one before it, one process a side, at a
threshold of 0.5 %. Exits 1 when a cell is called changed; 2 when a run fails.
"""

import os
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials
from neighbour_trial import Neighbour, build

THRESHOLD = "0.5%"
# Settings of the clock are 15 MHz apart; what processes of one read lies within 3.
SETTING_MHZ = 6


def options(parser):
    parser.add_argument("--processes", type=int, default=60)
    parser.add_argument("--heat-seconds", type=float, default=60)
    parser.add_argument("--neighbour", metavar="PROGRAM")


def make(arguments, rest):
    program, begin = arguments.program, time.monotonic()
    rest = rest or ["--counters", "none"]
    processes, paths = [], []
    with tempfile.TemporaryDirectory() as folder:
        neighbour = arguments.neighbour or build(folder)
        for number in range(2 * arguments.processes):
            if number == arguments.processes:
                with Neighbour(neighbour, "compute"):
                    time.sleep(arguments.heat_seconds)
            paths.append(trials.measure(program, os.path.join(folder, f"{number}.json"), *rest))
            result, times = trials.read(paths[-1])
            processes.append(
                {
                    "seconds": round(time.monotonic() - begin, 1),
                    "heated": number >= arguments.processes,
                    "temperature": result["temperature"],
                    "sm_clock_mhz": statistics.median(
                        cell["sm_clock_mhz"]
                        for cell in result["cells"]
                        if cell["identity"] in times
                    ),
                    "times_ns": {identity: time_ns["value"] for identity, time_ns in times.items()},
                }
            )
        pairs = dict.fromkeys([*zip(paths, paths[1:]), *((paths[0], path) for path in paths[1:])])
        found = [trials.compare(program, *pair, "--threshold", THRESHOLD) for pair in pairs]
    return {
        **trials.origin(result),
        "run_options": rest,
        "heat_seconds": arguments.heat_seconds,
        "processes": processes,
        "comparisons": found,
    }


def settings(processes):
    """Processes of one setting of the clock each, the slowest first."""
    found = []
    for process in sorted(processes, key=lambda process: process["sm_clock_mhz"]):
        if not found or process["sm_clock_mhz"] - found[-1][-1]["sm_clock_mhz"] > SETTING_MHZ:
            found.append([])
        found[-1].append(process)
    return found


def show(report):
    """Prints what there was at each setting of the clock; returns whether no cell is called
    changed."""
    processes = report["processes"]
    print(
        f"{report['device']['name']}: {len(processes)} processes, half of them after a neighbour"
        f" computed for {report['heat_seconds']:.0f} s"
    )
    by_setting = settings(processes)
    for group in by_setting:
        print(
            f"  {statistics.median(process['sm_clock_mhz'] for process in group):.1f} MHz:"
            f" {len(group)} processes"
        )
    ratios = sorted(
        (
            statistics.median(process["times_ns"][identity] for process in by_setting[0])
            / statistics.median(process["times_ns"][identity] for process in by_setting[-1])
            - 1,
            identity,
        )
        for identity in processes[0]["times_ns"]
    )
    if len(by_setting) > 1:
        for ratio, identity in (ratios[0], ratios[-1]):
            print(f"  at the lowest clock {ratio:.2%} longer than at the highest: {identity}")
    moved = sum(
        abs(one["sm_clock_mhz"] - other["sm_clock_mhz"]) > SETTING_MHZ
        for one, other in zip(processes, processes[1:])
    )
    changed = sum(len(pair["changed"]) for pair in report["comparisons"])
    cells = sum(pair["cells"] for pair in report["comparisons"])
    print(
        f"  pairs of processes between which the clock moved: {moved}; {changed} of {cells} cells"
        " called changed"
    )
    return changed == 0


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
