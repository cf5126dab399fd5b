#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Proves how long commands about many GPUs take, and how much memory.

usage: fleet_speed.py --json FILE [--program build/cbank] [--gpus 800] [--nights 1,10,60] [--files 1000]
       fleet_speed.py --show FILE

Stores are those of make_fleet.py; files are copies of a committed result with other GPUs and times. The fastest of some runs
counts. CPU seconds are those of all threads. The load is that after the runs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import make_fleet
from cbank.store import write_time

RUNS = 5
CELL = "add/constant/per_warp/12800000/1024/hot"


def measure(what, gpus, runs, command, before=lambda: None):
    """A row of the report. before: done before each run, and not measured."""
    found = []
    for _ in range(RUNS):
        before()
        start = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):
            sys.exit(f"{' '.join(command)} exits with {process.returncode}")
        found.append((time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss))
    seconds, cpu, memory = zip(*found)
    row = {"what": what, "gpus": gpus, "runs": runs, "processors": len(os.sched_getaffinity(0)), "seconds": round(min(seconds), 3),
           "cpu_seconds": round(min(cpu), 3), "memory_kib": max(memory), "load": round(os.getloadavg()[0], 1)}
    print(json.dumps(row), file=sys.stderr, flush=True)
    return row


def of_stores(args, folder):
    rows = []
    for nights in map(int, args.nights.split(",")):
        store = os.path.join(folder, f"{nights}.db")
        subprocess.run([sys.executable, make_fleet.__file__, store, "--quiet", "--gpus", str(args.gpus), "--nights", str(nights)], check=True)
        rows.append(measure("fleet", args.gpus, args.gpus * nights, [args.program, "fleet", store]))
    return rows + [measure("history of a cell", args.gpus, rows[-1]["runs"], [args.program, "history", store, "--cell", CELL])]


def of_files(args, folder):
    result, store = make_fleet.read("results/h200/core-matrix.json"), os.path.join(folder, "ingested.db")
    files = os.path.join(folder, "night")
    os.mkdir(files)
    for gpu in range(args.files):
        result["started_utc"], result["finished_utc"] = (write_time(make_fleet.FIRST_NIGHT_MS + 1000 * (gpu + more)) for more in (0, 2))
        result["device"]["uuid"] = f"GPU-{gpu:08x}-1111-4111-8111-111111111111"
        with open(os.path.join(files, f"{gpu:04}.json"), "w", encoding="utf-8") as file:
            json.dump(result, file)

    def forget():
        if os.path.exists(store):
            os.remove(store)

    return [measure("ingest", args.files, args.files, [args.program, "ingest", store, files], forget),
            measure("history of files", args.files, args.files, [args.program, "history", files])]


def show(rows):
    print("| command | GPUs | runs | seconds | CPU seconds | memory, MiB | processors | load |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for row in rows:
        print(f"| {row['what']} | {row['gpus']} | {row['runs']} | {row['seconds']:.2f} | {row['cpu_seconds']:.2f} |"
              f" {row['memory_kib'] / 1024:.0f} | {row['processors']} | {row['load']:.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--show", metavar="FILE")
    parser.add_argument("--program", default="build/cbank")
    parser.add_argument("--gpus", type=int, default=800)
    parser.add_argument("--nights", default="1,10,60")
    parser.add_argument("--files", type=int, default=1000)
    args = parser.parse_args()
    if args.show:
        rows = make_fleet.read(os.path.abspath(args.show))["rows"]
    else:
        with tempfile.TemporaryDirectory() as folder:
            rows = of_stores(args, folder) + of_files(args, folder)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            file.write('{"rows": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]}\n")
    show(rows)


if __name__ == "__main__":
    main()
