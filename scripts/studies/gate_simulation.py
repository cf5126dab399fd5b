#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Simulates how often cbank compare calls out without cause, and how often it finds what became slower.

Proves the false alarms and the power of compare and of gate in docs/comparing.md.

usage: gate_simulation.py [--program build/cbank] [--processes FOLDER] [--gate] [--trials 100] [--first N] [--json FILE]
       gate_simulation.py --show FILE

Every trial writes results of 24 cells as those of the default plan, and asks the built program to compare them: no decision is
made here. Times, deviations between processes and errors of a time are those of the process-*.json of a folder: ten processes of
one GPU (default results/h200/processes). Noise of 2 and 4 is as many times what processes
differ by. Heavy tails: Student's t of 3 degrees of freedom, scaled to the same deviation. All cells of a process share half
of their variance. Cells that did not settle count as settled: flags are not what is simulated. In NEW two cells, the shortest and
the longest, are slower by 1.5 times the threshold; an alarm is a regression or an improvement of another. No calibration
is given, but in the last column: there cbank calibrate makes one of five more processes of the same noise.

With --gate it is cbank gate that decides, which looks again and again: its processes are there already in the folder that
it keeps, as many as it comes to. It ends when more would decide nothing, or at 20 a side.

Each scenario has its own seed, so that the first N of them (--first) can be tried again by themselves.
"""

import argparse
import concurrent.futures
import functools
import glob
import itertools
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import typing

import trials

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLES = 20
PLACEMENTS = 5  # of so many samples
ERROR = 0.2241  # of their trimmed mean, on average, where they are normal of deviation 1
STUDENT = 2.201  # half of the interval over that: 95 %, 16 - 5 degrees of freedom
PLANTED = 1.5  # times the threshold
CALIBRATING = 5  # processes
REGIMES, TAILS, NOISES, PROCESSES, THRESHOLDS = ("hot", "cold"), ("normal", "heavy"), (1, 2, 4), (1, 3, 5), (0.5, 1, 2)
KEYS = ("regime", "tails", "noise", "processes", "threshold_percent", "calibrated")
LOOKS, GATE_THRESHOLDS = (3, 5, 10, 20), (0.5, 1)
GATE_KEYS = ("regime", "tails", "noise", "threshold_percent")


def read(path):
    return trials.load(os.path.join(ROOT, path))


def name(cell):
    return f"{cell['path']}/{cell['pattern']}/{cell['elements']}"


def error_of(cell):
    """The standard error of a cell's time, as a share of it."""
    mean, error = trials.trimmed_mean(cell["time_ns"]["samples"], cell["placements"])
    return error / mean


class Tried(typing.NamedTuple):
    """The program that is tried, and processes that are like those of a folder."""
    program: str
    folder: str


@functools.lru_cache(maxsize=None)
def template(folder, regime):
    """A result without what is not compared, and of each cell: time, deviation between processes, of samples."""
    results = [read(path) for path in sorted(glob.glob(os.path.join(folder, "process-*.json")))]
    truth, cells = [], []
    for same in zip(*(result["cells"] for result in results)):
        if same[0]["regime"] == regime:
            times = [cell["time_ns"] for cell in same]
            logs = [math.log(time["value"]) for time in times]
            error = statistics.mean(map(error_of, same))
            truth.append((math.exp(statistics.mean(logs)), statistics.stdev(logs), error / ERROR))
            cells.append({**same[0], "counters": {}, "flags": [], "placements": PLACEMENTS})
    return {**results[0], "cells": cells}, truth


@functools.lru_cache(maxsize=None)
def tool(program):
    """The program as it names itself in a result."""
    done = subprocess.run([program, "run", "--engine", "model", "--quiet", "--elements", "4096", "--json", "-"], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)["tool"]


def draw(rng, tails):
    """One of mean 0 and deviation 1."""
    value = rng.gauss(0, 1)
    if tails == "normal":
        return value
    return value / math.sqrt(sum(rng.gauss(0, 1) ** 2 for _ in range(3)) / 3) / math.sqrt(3)


def write_process(tried, path, rng, scenario, factors, second, **more):
    """A result of one process, with more keys of `tool`."""
    regime, tails, noise = scenario
    result, truth = template(tried.folder, regime)
    cells, shared = [], draw(rng, tails)
    for cell, (usual, between, within), factor in zip(result["cells"], truth, factors):
        moved = noise * between * (shared + draw(rng, tails)) / math.sqrt(2)
        value = usual * factor * math.exp(moved)
        samples = [math.exp(within * rng.gauss(0, 1)) for _ in range(SAMPLES)]
        # The deviation between processes includes the error of their times: that of the samples is not added.
        mean, error = trials.trimmed_mean(samples, PLACEMENTS)
        samples = [sample * value / mean for sample in samples]
        half = STUDENT * error * value / mean
        time = {"samples": samples, "value": value, "ci_low": value - half, "ci_high": value + half, "min": min(samples),
                "median": statistics.median(samples), "effective_samples": SAMPLES}
        cells.append({**cell, "time_ns": {**cell["time_ns"], **time}})
    started = f"2026-01-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**result, "tool": {**result["tool"], **more}, "started_utc": started, "cells": cells}, file)


def calibrate(tried, rng, scenario, folder):
    """A calibration of processes that are there already, as after one that was interrupted at its end."""
    kept, path = os.path.join(folder, "kept"), os.path.join(folder, "calibration.json")
    os.mkdir(kept)
    for process in range(CALIBRATING):
        of = {**tool(tried.program), "argv": f"{tried.program} run --quiet --engine=cuda --json="}
        write_process(tried, os.path.join(kept, f"process-{process + 1:03}.json"), rng, scenario, [1] * 24, 2000 + process, **of)
    subprocess.run([tried.program, "calibrate", "--engine=cuda", "--processes", str(CALIBRATING), "--keep", kept, "--json", path],
                   check=True, capture_output=True)
    return ["--calibration", path]


def plant(tried, regime, threshold):
    """By how much each cell is slower in NEW, and the names of those that are: the shortest and the longest."""
    result, truth = template(tried.folder, regime)
    order = sorted(range(len(truth)), key=lambda i: truth[i][0])
    planted = (order[0], order[-1])
    factors = [1 + PLANTED * threshold / 100 if i in planted else 1 for i in range(len(truth))]
    return factors, {name(result["cells"][i]) for i in planted}


def judge(done, slow):
    """(whether there was a false alarm, slower cells found, cells undecided) of a report on stdout, and the report."""
    if done.returncode not in (0, 1, 4):
        raise RuntimeError(done.stderr)
    report = json.loads(done.stdout)
    cells = report["cells"]
    alarm = any(cell["verdict"] in ("regressed", "improved") and name(cell) not in slow for cell in cells)
    found = sum(cell["verdict"] == "regressed" and name(cell) in slow for cell in cells)
    undecided = sum(cell["verdict"] == "inconclusive" for cell in cells)
    return (alarm, found, undecided), report


def trial(tried, scenario, processes, threshold, calibrated, seed):
    """(whether there was a false alarm, planted cells found, cells undecided)"""
    rng = random.Random(seed)
    factors, slow = plant(tried, scenario[0], threshold)
    with tempfile.TemporaryDirectory() as folder:
        sides = [os.path.join(folder, side) for side in ("base", "new")]
        for side, of in zip(sides, ([1] * len(factors), factors)):
            os.mkdir(side)
            for process in range(processes):
                write_process(tried, os.path.join(side, f"{process}.json"), rng, scenario, of,
                              process + 1000 * (side == sides[1]))
        options = calibrate(tried, rng, scenario, folder) if calibrated else []
        done = subprocess.run([tried.program, "compare", *sides, *options, "--threshold", str(threshold), "--json", "-"],
                              check=False, capture_output=True, text=True)
        return judge(done, slow)[0]


def gate_trial(tried, scenario, threshold, seed):
    """The same of a gate, and how many processes a side it took."""
    rng = random.Random(seed)
    factors, slow = plant(tried, scenario[0], threshold)
    of = {**tool(tried.program), "argv": f"{tried.program} run --quiet --engine=cuda --json="}
    with tempfile.TemporaryDirectory() as folder:
        for before, processes in zip((0, *LOOKS), LOOKS):
            for process in range(before, processes):
                for side, changes in (("base", [1] * len(factors)), ("new", factors)):
                    write_process(tried, os.path.join(folder, f"{side}-{process + 1:03}.json"), rng, scenario, changes,
                                  process + 1000 * (side == "new"), **of)
            done = subprocess.run([tried.program, "gate", "--base-program", tried.program, "--engine", "cuda", "--keep", folder,
                                   "--threshold", str(threshold), "--processes", str(processes), "--json", "-"],
                                  check=False, capture_output=True, text=True)
            ended, report = judge(done, slow)
            if not any(cell["processes_to_settle"] for cell in report["cells"]):
                break
    return (*ended, processes)


def scenarios():
    """All of them, in the order of the table."""
    return [(*cells, processes, threshold, calibrated)
            for calibrated, counts in ((False, PROCESSES), (True, PROCESSES[:1]))
            for cells in itertools.product(REGIMES, TAILS, NOISES) for processes in counts for threshold in THRESHOLDS]


def gate_scenarios():
    return list(itertools.product(REGIMES, TAILS, NOISES, GATE_THRESHOLDS))


def simulate(tried, trials, pool, index):
    scenario = scenarios()[index]
    done = list(pool.map(lambda i: trial(tried, scenario[:3], *scenario[3:], 1000 * index + i), range(trials)))
    return {**dict(zip(KEYS, scenario)), "alarms": sum(alarm for alarm, _, _ in done), "found": sum(found for _, found, _ in done),
            "inconclusive": sum(undecided for _, _, undecided in done)}


def simulate_gate(tried, trials, pool, index):
    scenario = gate_scenarios()[index]
    done = list(pool.map(lambda i: gate_trial(tried, scenario[:3], scenario[3], 1000 * (500 + index) + i), range(trials)))
    names = ("alarms", "found", "inconclusive", "processes")
    return {**dict(zip(GATE_KEYS, scenario)), **dict(zip(names, map(sum, zip(*done))))}


def show_gate(report):
    """Prints the table of gates: of a regime and noise a row, in it alarms, power and processes by threshold."""
    rows = {tuple(row[key] for key in GATE_KEYS): row for row in report["rows"]}
    trials = report["trials"]
    print(f"In each place: gates of {trials} with a false alarm; slower cells found, of 100; processes a side, on average.\n")
    print("| cells | noise | tails | " + " | ".join(f"{threshold} %" for threshold in GATE_THRESHOLDS) + " |")
    print("|---|--:|---|" + "--:|" * len(GATE_THRESHOLDS))
    for regime, noise, tails in itertools.product(REGIMES, NOISES, TAILS):
        of = [rows[(regime, tails, noise, threshold)] for threshold in GATE_THRESHOLDS]
        places = [f"{row['alarms']}; {50 * row['found'] / trials:.0f}; {row['processes'] / trials:.1f}" for row in of]
        print(f"| {regime} | {noise} | {tails} | " + " | ".join(places) + " |")


def show(report):
    """Prints the table: of a regime and noise a row, in it alarms and power by processes and threshold."""
    rows = {tuple(row[key] for key in KEYS): row for row in report["rows"]}
    trials = report["trials"]
    print(f"In each place: comparisons of {trials} with a false alarm; slower cells found, of 100.\n")
    columns = list(dict.fromkeys(scenario[3:] for scenario in scenarios()))
    heads = [f"{processes} a side{', calibrated' if calibrated else ''}, {threshold} %"
             for processes, threshold, calibrated in columns]
    print("| cells | noise | tails | " + " | ".join(heads) + " |")
    print("|---|--:|---|" + "--:|" * len(heads))
    for regime in REGIMES:
        for noise in NOISES:
            for tails in TAILS:
                of = [rows[(regime, tails, noise, *column)] for column in columns]
                places = [f"{row['alarms']}; {50 * row['found'] / trials:.0f}" for row in of]
                print(f"| {regime} | {noise} | {tails} | " + " | ".join(places) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=os.path.join(ROOT, "build/cbank"))
    parser.add_argument("--processes", metavar="FOLDER", default=os.path.join(ROOT, "results/h200/processes"))
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--first", type=int, help="scenarios that are tried (default all)")
    parser.add_argument("--gate", action="store_true", help="of cbank gate")
    parser.add_argument("--json")
    parser.add_argument("--show", metavar="FILE", help="print the table of an earlier simulation")
    arguments = parser.parse_args()
    if arguments.show:
        report = read(arguments.show)
        (show_gate if report.get("gate") else show)(report)
        return
    if not arguments.json:
        parser.error("--json FILE is needed")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        one, count = (simulate_gate, len(gate_scenarios())) if arguments.gate else (simulate, len(scenarios()))
        tried = Tried(os.path.abspath(arguments.program), os.path.abspath(arguments.processes))
        rows = [one(tried, arguments.trials, pool, index) for index in range(count)[:arguments.first]]
    with open(arguments.json, "w", encoding="utf-8") as file:
        file.write(json.dumps({"gate": arguments.gate, "trials": arguments.trials, "rows": rows}).replace("}, {", "},\n{") + "\n")
    print(f"gate_simulation: {len(rows)} scenarios of {arguments.trials} trials: {arguments.json}", file=sys.stderr)


if __name__ == "__main__":
    main()
