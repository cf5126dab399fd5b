#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""What launches, copies to a symbol and loads of a module cost, by their bytes, and how far
processes of one machine differ in it.

usage: launch_overhead.py [--program build/cbank] [--processes 5] [--sanitizer] [--keep FOLDER]
                          --json FILE [RUN OPTION...]
       launch_overhead.py --show FILE
       launch_overhead.py --check FILE...

The first process counts, too. The first half of the processes is compared with the rest, as nothing
changed between them. RUN OPTIONs are in place of those of PLAN. A process that is there in --keep
is not measured again. --sanitizer also runs the kernels under compute-sanitizer. --check reads such
files, and exits with 1 where a row contradicts another.

It needs a GPU and the program.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials

PLAN = "--workload launch_overhead --max-noise 1 --max-samples 400 --max-seconds 0.5".split()
THRESHOLD = "10%"
COUNTED = ("ldc_instructions", "idc_requests", "gcc_constant_requests", "instructions")
TOOLS = ("memcheck", "initcheck")  # the kernels have neither shared memory nor barriers
SANITIZED = (
    "run --engine cuda --workload launch_overhead --counters none --max-samples 6 --sample-us 10"
    " --quiet --json /dev/null"
).split()


# -- measuring ----------------------------------------------------------------------------------


def measure(program, folder, processes, plan):
    """The paths of the results, one of each process."""
    paths = []
    for number in range(processes):
        path = os.path.join(folder, f"process-{number + 1}.json")
        counters = ["--counters", "default" if number == 0 else "none"]
        if not (os.path.exists(path) and trials.load(path)["complete"]):
            print(f"process {number + 1} of {processes}", file=sys.stderr)
            # 4: a time did not settle, which the table says
            words = ("run", "--quiet", *plan, *counters, "--json", path)
            trials.call(program, *words, statuses=(0, 4))
        paths.append(path)
    return paths


def cell_row(cells):
    """What the processes say of a cell."""
    # the first that did not succeed speaks for all
    first = next((cell for cell in cells if cell["status"] != "ok"), cells[0])
    counters = first["counters"] or {}
    return {
        "identity": first["identity"],
        "launch_path": first["pattern"],
        "bytes": next(iter(first["parameters"].values()), None),
        "status": first["status"],
        "reason": first["reason"],
        "verified": all(cell["verified"] for cell in cells),
        "times_ns": [cell["time_ns"]["value"] for cell in cells],
        "half_widths": [
            (cell["time_ns"]["ci_high"] - cell["time_ns"]["ci_low"]) / 2 / cell["time_ns"]["value"]
            if cell["time_ns"]["value"] and cell["time_ns"]["ci_low"] is not None
            else None
            for cell in cells
        ],
        "samples": [len(cell["time_ns"]["samples"] or []) for cell in cells],
        "stop_reasons": [cell["time_ns"]["stop_reason"] for cell in cells],
        "flags": sorted({flag for cell in cells for flag in cell["flags"]}),
        "registers": (first["kernel"] or {}).get("registers"),
        "sass_sha256": sorted({(cell["kernel"] or {}).get("sass_sha256") or "" for cell in cells}),
        "counters": {name: counters[name]["value"] for name in COUNTED if name in counters},
        "counters_reason": next(
            (value["reason"] for value in counters.values() if value["status"] != "ok"), None
        ),
    }


def compared(program, paths):
    """The verdicts between the first half of the processes and the rest."""
    half = len(paths) // 2
    if half == 0:
        return None
    sides = (",".join(paths[:half]), ",".join(paths[half:]))
    words = ("compare", *sides, "--json", "-", "--threshold", THRESHOLD)
    done = trials.call(program, *words, statuses=(0, 1, 4))
    return {
        cell["identity"]: {
            "verdict": cell["verdict"],
            "ratio": cell["ratio"],
            "process_deviation": cell["process_deviation"],
        }
        for cell in json.loads(done.stdout)["cells"]
    }


def sanitized(program):
    """By tool, what compute-sanitizer says of the kernels."""
    if not shutil.which("compute-sanitizer"):
        return {"": "there is no compute-sanitizer"}
    said = {}
    for tool in TOOLS:
        command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "99", program]
        done = subprocess.run(command + SANITIZED, capture_output=True, text=True, check=False)
        lines = [line.strip("= ") for line in done.stdout.splitlines() if "SUMMARY" in line]
        said[tool] = f"exit status {done.returncode}: {'; '.join(lines)}"
    return said


def make(arguments, plan):
    if arguments.keep:
        os.makedirs(arguments.keep, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        paths = measure(arguments.program, arguments.keep or scratch, arguments.processes, plan)
        results = [trials.load(path) for path in paths]
        comparison = compared(arguments.program, paths)
    first = results[0]
    return {
        "study": "launch_overhead",
        "tool": trials.origin(first)["tool"],
        "device": first["device"]["name"],
        "uuid": first["device"]["uuid"],
        "compute_capability": first["device"]["compute_capability"],
        "driver": first["device"]["driver"],
        "started_utc": first["started_utc"],
        "processes": arguments.processes,
        "run_options": plan,
        "threshold": THRESHOLD,
        "cells": [cell_row(cells) for cells in zip(*(result["cells"] for result in results))],
        "compared": comparison,
        "sanitizer": sanitized(arguments.program) if arguments.sanitizer else None,
    }


# -- the table ----------------------------------------------------------------------------------


def us(ns):
    return f"{ns / 1e3:.4g}"


def show(report):
    print(
        f"{report['device']}, driver {report['driver']}, {report['processes']} processes; the time"
        " is the median of theirs"
    )
    print("launch path    bytes  time, us  least to greatest, us  deviation  flags")
    for row in report["cells"]:
        name = f"{row['launch_path']:<12}  {row['bytes'] or '':>6}"
        times = row["times_ns"]
        if row["status"] != "ok" or None in times:
            print(f"{name}  {row['status']}: {row['reason']}")
            continue
        middle = statistics.median(times)
        deviation = statistics.stdev(times) / middle if len(times) > 1 else 0
        between = f"{us(min(times))} to {us(max(times))}"
        flags = ", ".join(row["flags"]) or "-"
        print(f"{name}  {us(middle):>8}  {between:>21}  {100 * deviation:7.2f} %  {flags}")
    if report["compared"]:
        verdicts = [cell["verdict"] for cell in report["compared"].values()]
        said = ", ".join(f"{verdicts.count(name)} {name}" for name in sorted(set(verdicts)))
        print(
            f"nothing changed between two halves of them, threshold {report['threshold']}: {said}"
        )
    for tool, said in (report["sanitizer"] or {}).items():
        print(f"compute-sanitizer {tool}: {said}")


# -- the check ----------------------------------------------------------------------------------


def wrong(report):
    """What contradicts itself in a file."""
    for row in report["cells"]:
        where = row["identity"]
        if row["status"] == "ok" and not row["verified"]:
            yield f"{where}: a time, and not verified"
        if row["status"] == "ok" and len(row["times_ns"]) != report["processes"]:
            yield f"{where}: not a time of each process"
        if row["status"] == "ok" and min(row["times_ns"]) <= 0:
            yield f"{where}: a time of nothing"
        if len(row["sass_sha256"]) != 1:
            yield f"{where}: other code in other processes"
        if f"_bytes={row['bytes']}" not in where and row["bytes"] is not None:
            yield f"{where}: other bytes than its identity"
    if report["compared"] and set(report["compared"]) != {
        row["identity"] for row in report["cells"]
    }:
        yield "the comparison has other cells"


def check(paths):
    found = [f"{path}: {what}" for path in paths for what in wrong(trials.load(path))]
    for what in found:
        print(what)
    if not found:
        print(f"{len(paths)} file{'s' if len(paths) > 1 else ''}: nothing contradicts itself")
    return not found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", default="build/cbank")
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--keep", metavar="FOLDER")
    parser.add_argument("--sanitizer", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--show", metavar="FILE")
    parser.add_argument("--check", metavar="FILE", nargs="+")
    arguments, plan = parser.parse_known_args()
    if arguments.show:
        show(trials.load(arguments.show))
        return 0
    if arguments.check:
        return 0 if check(arguments.check) else 1
    if not arguments.json:
        parser.error("--json FILE, --show FILE or --check FILE")
    report = make(arguments, plan or PLAN)
    trials.write_json(arguments.json, report)
    show(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
