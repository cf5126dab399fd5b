#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how long cbank fleet takes, and how much memory, by the number of nights.

usage: fleet_speed.py [--program build/cbank] [--gpus 800] [--nights 1,10,60] [--json FILE]
       fleet_speed.py --show FILE

Stores are made by make_fleet.py, without plants. Of ten runs the fastest counts: what else the machine does only adds.
CPU seconds are those of all threads. The load is what uptime says after the runs: processes that wanted a processor.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RUNS = 10


def measure(program, store):
    """(seconds, CPU seconds, KiB at most) of one run."""
    start = time.monotonic()
    with subprocess.Popen([program, "fleet", store], stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        sys.exit(f"fleet_speed: {program} fleet exits with {process.returncode}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def table(rows):
    print("| GPUs | nights | runs | seconds | CPU seconds | CPU microseconds a run | memory, MiB | processors | load |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for row in rows:
        runs = row["gpus"] * row["nights"]
        print(f"| {row['gpus']} | {row['nights']} | {runs} | {row['seconds']:.2f} | {row['cpu_seconds']:.2f} |"
              f" {1e6 * row['cpu_seconds'] / runs:.0f} | {row['memory_kib'] / 1024:.0f} |"
              f" {row['processors']} | {row['load']:.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.path.join(ROOT, "build/cbank"))
    parser.add_argument("--gpus", type=int, default=800)
    parser.add_argument("--nights", default="1,10,60")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--show", metavar="FILE")
    args = parser.parse_args()
    if args.show:
        with open(args.show, encoding="utf-8") as file:
            table(json.load(file)["rows"])
        return
    rows = []
    for nights in map(int, args.nights.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            store = os.path.join(folder, "store.db")
            subprocess.run([sys.executable, os.path.join(ROOT, "scripts/make_fleet.py"), store, "--quiet", "--gpus", str(args.gpus),
                            "--nights", str(nights)], check=True)
            seconds, cpu, memory = zip(*(measure(args.program, store) for _ in range(RUNS)))
            rows.append({"gpus": args.gpus, "nights": nights, "processors": len(os.sched_getaffinity(0)), "seconds": round(min(seconds), 3),
                         "cpu_seconds": round(min(cpu), 3), "memory_kib": max(memory), "store_bytes": os.path.getsize(store), "load": round(os.getloadavg()[0], 1)})
    table(rows)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            file.write('{"rows": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]}\n")


if __name__ == "__main__":
    main()
