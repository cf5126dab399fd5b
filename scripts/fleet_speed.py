#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how long commands about many GPUs take, and how much memory.

usage: fleet_speed.py --json FILE [--program build/cbank] [--gpus 800] [--nights 1,10,60] [--files 500]
       fleet_speed.py --show FILE

Stores are made by make_fleet.py, without plants, and files are copies of a committed result with other GPUs, times and
samples. Of some runs the fastest counts: what else the machine does only adds. CPU seconds are those of all threads. The
load is what uptime says after the runs: processes that wanted a processor.
"""

import datetime
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import trials
import upgrade

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RUNS = 5
SOURCE = "results/h200/core-matrix.json"
CELL = "add/constant/per_warp/12800000/1024/hot"
FIRST_NIGHT = datetime.datetime(2026, 1, 1, 22)


def once(command):
    """(seconds, CPU seconds, KiB at most) of one run."""
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        trials.fail(f"{' '.join(command)} exits with {process.returncode}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def measure(what, gpus, runs, command, before=lambda: None):
    """A row of the report. before: done before each run, and not measured."""
    found = []
    for _ in range(RUNS):
        before()
        found.append(once(command))
    seconds, cpu, memory = zip(*found)
    row = {"what": what, "gpus": gpus, "runs": runs, "processors": len(os.sched_getaffinity(0)), "seconds": round(min(seconds), 3),
           "cpu_seconds": round(min(cpu), 3), "memory_kib": max(memory), "load": round(os.getloadavg()[0], 1)}
    print(json.dumps(row), file=sys.stderr, flush=True)
    return row


def of_stores(arguments, folder):
    rows = []
    for nights in map(int, arguments.nights.split(",")):
        store = os.path.join(folder, f"{nights}.db")
        trials.call(sys.executable, os.path.join(ROOT, "scripts/make_fleet.py"), store, "--quiet", "--gpus", str(arguments.gpus),
                    "--nights", str(nights))
        rows.append(measure("fleet", arguments.gpus, arguments.gpus * nights, [arguments.program, "fleet", store]))
    rows.append(measure("history of a cell", arguments.gpus, rows[-1]["runs"], [arguments.program, "history", store, "--cell", CELL]))
    return rows


def in_lines(text):
    """The same JSON, where what has nothing within it takes one line: samples and counters do as the program writes them."""
    return re.sub(r"[\[{][^][{}]*[\]}]", lambda inner: " ".join(inner[0].split()), text)


def make_results(program, folder, count, night):
    """A result of each of `count` GPUs."""
    path = os.path.join(ROOT, SOURCE)
    result = upgrade.read(path, program)
    chance = random.Random(night)
    os.mkdir(folder)
    for gpu in range(count):
        started = FIRST_NIGHT + datetime.timedelta(days=night, seconds=gpu)
        result["started_utc"], result["finished_utc"] = (
            (started + datetime.timedelta(seconds=more)).strftime("%Y-%m-%dT%H:%M:%SZ") for more in (0, 2))
        result["device"]["uuid"] = f"GPU-{gpu:08x}-1111-4111-8111-111111111111"
        for cell in result["cells"]:
            cell["time_ns"]["samples"] = [sample * (1 + 1e-5 * chance.random()) for sample in cell["time_ns"]["samples"]]
        with open(os.path.join(folder, f"{gpu:04}.json"), "w", encoding="utf-8") as file:
            file.write(in_lines(json.dumps(result, indent="\t")))


def of_files(arguments, folder):
    nights = [os.path.join(folder, name) for name in ("base", "new")]
    for night, path in enumerate(nights):
        make_results(arguments.program, path, arguments.files, night)
    store = os.path.join(folder, "ingested.db")

    def forget():
        if os.path.exists(store):
            os.remove(store)

    return [measure("ingest", arguments.files, 2 * arguments.files, [arguments.program, "ingest", store, *nights], forget),
            measure("compare of files", arguments.files, 2 * arguments.files, [arguments.program, "compare", *nights]),
            measure("history of files", arguments.files, arguments.files, [arguments.program, "history", nights[0]])]


def make(arguments, _rest):
    with tempfile.TemporaryDirectory() as folder:
        return {"command": " ".join(sys.argv), "rows": of_stores(arguments, folder) + of_files(arguments, folder)}


def show(report):
    print("| command | GPUs | runs | seconds | CPU seconds | CPU microseconds a run | memory, MiB | processors | load |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for row in report["rows"]:
        print(f"| {row['what']} | {row['gpus']} | {row['runs']} | {row['seconds']:.2f} | {row['cpu_seconds']:.2f} |"
              f" {1e6 * row['cpu_seconds'] / row['runs']:.0f} | {row['memory_kib'] / 1024:.0f} |"
              f" {row['processors']} | {row['load']:.0f} |")
    return True


def options(parser):
    parser.add_argument("--gpus", type=int, default=800)
    parser.add_argument("--nights", default="1,10,60")
    parser.add_argument("--files", type=int, default=500)


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
