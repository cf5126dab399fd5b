#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests on a build with gcov's counters, and prints what share of the lines ran, and which functions never did.

usage: tests/coverage.py BUILD

BUILD is what `make coverage` built. Only end-to-end tests that call the program run; those of the CUDA engine run on the
simulated GPU.
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
ON_PROGRAM = ("characterize", "cards", "counters", "e2e", "formats", "gate", "lookup", "names", "terminal")
ON_SIMULATION = {"simulated": "full", "faults": "small", "walk": "small"}  # CBANK_TEST of each


def commands(build):
    """(command, environment) of every test."""
    for program in sorted(glob.glob(f"{build}/tests/unit/test_*")):
        yield [program], {}
    for name, size, program in [(name, "small", "cbank") for name in ON_PROGRAM] + [(name, size, "tests/simulated/cbank") for name, size in ON_SIMULATION.items()]:
        yield [sys.executable, f"tests/end_to_end/{name}.py"], {"CBANK": f"{build}/{program}", "CBANK_TEST": size}


def run(command):
    words, environment = command
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                          env={**os.environ, **environment})
    if done.returncode:
        print(f"FAILED: {' '.join(words)}\n{done.stdout[-2000:]}", flush=True)
    return done.returncode == 0


def read(build):
    """{source: {line: how often}} and {(source, line, function): how often}, as gcov has them."""
    objects = sorted(name for folder in ("harness", "patterns", "kernels") for name in glob.glob(f"{build}/obj/{folder}/**/*.gcno", recursive=True))
    said = subprocess.run(["gcov", "--json-format", "--stdout", *objects], capture_output=True, text=True, check=True).stdout
    lines, functions = collections.defaultdict(collections.Counter), collections.Counter()
    for report in (file for line in said.splitlines() for file in json.loads(line)["files"]):
        source = os.path.relpath(report["file"], ROOT)
        if source.startswith(("harness/", "patterns/", "kernels/")) and os.path.exists(source):  # no header of the system
            for line in report["lines"]:
                lines[source][line["line_number"]] += line["count"]
            for function in report["functions"]:
                functions[source, function["start_line"], function["name"]] += function["execution_count"]
    return lines, functions


def print_share(name, sources, lines, goal=""):
    counts = [count for source in sources for count in lines[source].values()]
    ran = sum(count > 0 for count in counts)
    print(f"{name:28} {ran:6} of {len(counts):6} lines {100 * ran / max(len(counts), 1):6.1f} %{goal}")


def main():
    build = os.path.abspath(sys.argv[1])
    os.chdir(ROOT)
    for old in glob.glob(f"{build}/obj/**/*.gcda", recursive=True):
        os.remove(old)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        passed = all(list(pool.map(run, commands(build))))
    lines, functions = read(build)
    print("functions that never ran:", *(f"  {source}:{line} {name}" for (source, line, name), count in sorted(functions.items()) if not count), sep="\n")
    for room in sorted({os.path.dirname(source) for source in lines}):
        print_share(room, [source for source in lines if os.path.dirname(source) == room], lines)
    for engine, goal in GOALS.items():
        print_share("the CUDA engine" if engine else "the rest",
                    [source for source in lines if source.startswith(ENGINE) == engine], lines, f" (goal: {goal} %)")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
