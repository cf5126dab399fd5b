#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the counters of cbank with those that Nsight Compute (ncu) reads for the same kernels.

usage: check_ncu.py [--program build/cbank] [--json FILE] [RUN OPTION...]

cbank counts a plan in process. ncu then counts the verification launches of the same plan: one launch of every cell in
each of its modules, in the order of the result, without skipped cells. Exact counters must be equal; of the measured
ones both values are printed. Exits 0 when all exact counters agree, 1 when one differs, 3 without ncu or a GPU.
"""

import argparse
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile

PLAN = ["--engine", "cuda", "--quiet"]


def fail(status, message):
    print(f"check_ncu: {message}", file=sys.stderr)
    sys.exit(status)


def cbank_result(program, options, path):
    done = subprocess.run([program, "run", *PLAN, *options, "--json", path], check=False)
    if done.returncode not in (0, 1):
        fail(3, f"cbank exited {done.returncode}")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def ncu_rows(program, options, metrics, launches):
    """One dictionary of metric values for each verification launch."""
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
               "--kernel-name-base", "demangled", "--kernel-name", "regex:^(void )?kernel<", "--launch-count", str(launches),
               "--metrics", ",".join(metrics), program, "run", *PLAN, *options, "--counters", "none",
               "--max-samples", "6", "--json", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith('"ID"')]
    if not starts:
        fail(3, "ncu printed no table:\n" + done.stdout[-2000:] + done.stderr[-2000:])
    rows = list(csv.DictReader(io.StringIO("\n".join(lines[starts[0]:]))))
    return [row for row in rows if row["ID"]]  # the row of units has no ID


def launches(cell):
    """Launches that verify a cell."""
    return cell["parameters"].get("modules", 1)


def number(text):
    return float(text.replace(",", ""))


def compare(cells, rows):
    """Prints the table; returns how many exact counters differ."""
    differ = equal = first = 0
    for cell in cells:
        row, name = rows[first], cell["identity"]
        first += launches(cell)
        if any(f"{key}_{cell[key]}" not in row["Kernel Name"] for key in ("workload", "path", "pattern")):
            fail(3, f"{name}: ncu profiled {row['Kernel Name']} in its place")
        for counter, value in cell["counters"].items():
            if value["status"] != "ok" or value["metric"] not in row:
                continue
            ours, theirs = value["value"], number(row[value["metric"]])
            agree = abs(ours - theirs) <= 1e-9 * abs(ours)
            if value["kind"] == "exact":
                equal += agree
                differ += not agree
            if value["kind"] == "measured" or not agree:
                print(f"{name:60} {counter:24} {value['kind']:8} cbank {ours:15.1f}  ncu {theirs:15.1f}")
    print(f"exact counters: {equal} equal to ncu's, {differ} differ")
    return differ


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/cbank")
    parser.add_argument("--json", help="keep cbank's result here")
    arguments, options = parser.parse_known_args()
    if not shutil.which("ncu"):
        fail(3, "ncu not found; install Nsight Compute")
    with tempfile.TemporaryDirectory() as folder:
        result = cbank_result(arguments.program, options, arguments.json or os.path.join(folder, "result.json"))
    metrics = sorted({value["metric"] for cell in result["cells"] for value in cell["counters"].values()
                      if value["metric"]})
    cells = [cell for cell in result["cells"] if cell["status"] == "ok"]
    expected = sum(launches(cell) for cell in cells)
    rows = ncu_rows(arguments.program, options, metrics, expected)
    if len(rows) != expected:
        fail(3, f"ncu profiled {len(rows)} launches of {expected}")
    sys.exit(1 if compare(cells, rows) else 0)


if __name__ == "__main__":
    main()
