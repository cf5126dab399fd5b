#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests on a build with gcov's counters, and prints what share of the lines ran, and which functions never did.

usage: tests/coverage.py BUILD [--measured]

BUILD is what `make coverage` built. --measured: the tests have run. Only end-to-end tests that call the program run;
those of the CUDA engine run on the simulated GPU.
"""

import collections
import concurrent.futures
import glob
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENGINE = "harness/engine/cuda/"
GOALS = {True: 85, False: 93}  # per cent: of the CUDA engine, of the rest
ON_PROGRAM = ("characterization", "characterize", "cards", "counters", "e2e", "formats", "gate", "lookup", "names", "terminal")
ON_SIMULATION = {"simulated": "full", "faults": "small", "chase": "small"}  # CBANK_TEST of each


# ---- Running


def commands(build):
    """(command, environment) of every test."""
    for program in sorted(glob.glob(f"{build}/tests/unit/test_*")):
        yield [program], {}
    for name in ON_PROGRAM:
        yield [sys.executable, f"tests/end_to_end/{name}.py"], {"CBANK": f"{build}/cbank"}
    for name, size in ON_SIMULATION.items():
        yield [sys.executable, f"tests/end_to_end/{name}.py"], {"CBANK": f"{build}/tests/simulated/cbank",
                                                                "CBANK_TEST": size}


def run(command, environment):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          check=False, env={"CBANK_TEST": "small", **os.environ, **environment})
    if done.returncode:
        print(f"FAILED: {' '.join(command)}\n{done.stdout[-2000:]}", flush=True)
    return done.returncode == 0


def run_all(build):
    for old in glob.glob(f"{build}/obj/**/*.gcda", recursive=True):
        os.remove(old)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return all(list(pool.map(lambda one: run(*one), commands(build))))


# ---- Reading


def reports(build):
    """The output of gcov for each source, one object after the other."""
    objects = [name for folder in ("harness", "patterns", "kernels")
               for name in sorted(glob.glob(f"{build}/obj/{folder}/**/*.gcno", recursive=True))]
    said = subprocess.run(["gcov", "--json-format", "--stdout", *objects], capture_output=True, text=True, check=True,
                          cwd=ROOT).stdout
    for line in said.splitlines():
        yield from json.loads(line)["files"]


def read(build):
    """{source: {line: how often}} and {(source, line, function): how often}."""
    lines, functions = collections.defaultdict(dict), collections.Counter()
    for report in reports(build):
        source = os.path.relpath(os.path.join(ROOT, report["file"]), ROOT)
        if not source.startswith(("harness/", "patterns/", "kernels/")) or not os.path.exists(source):
            continue  # of the system, or of a build before it was moved
        for line in report["lines"]:
            counts = lines[source]
            counts[line["line_number"]] = counts.get(line["line_number"], 0) + line["count"]
        for function in report["functions"]:
            functions[source, function["start_line"], function["name"]] += function["execution_count"]
    return lines, functions


# ---- Printing


def share(sources, lines):
    counts = [count for source in sources for count in lines[source].values()]
    return sum(count > 0 for count in counts), len(counts)


def print_share(name, sources, lines, goal=""):
    ran, there = share(sources, lines)
    print(f"{name:28} {ran:6} of {there:6} lines {100 * ran / max(there, 1):6.1f} %{goal}")


def main():
    build = os.path.abspath(sys.argv[1])
    os.chdir(ROOT)
    passed = "--measured" in sys.argv or run_all(build)
    lines, functions = read(build)
    rooms = collections.defaultdict(list)
    for source in lines:
        rooms[os.path.dirname(source)].append(source)
    print("functions that never ran:")
    for (source, line, name), count in sorted(functions.items()):
        if not count:
            print(f"  {source}:{line} {name}")
    print()
    for room in sorted(rooms):
        print_share(room, rooms[room], lines)
    print()
    for engine, goal in GOALS.items():
        print_share("the CUDA engine" if engine else "the rest",
                    [source for source in lines if source.startswith(ENGINE) == engine], lines, f" (goal: {goal} %)")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
