# SPDX-License-Identifier: MIT
"""What check_sass.py and check_ptx.py share: which kernels there must be, and what each must load."""

import collections
import json
import subprocess
import sys


class Failure(Exception):
    """The check cannot be made; the text says why and what to do."""


def rows(program, table):
    """The rows of one of the program's tables, as `cbank list TABLE --json` prints them."""
    command = [program, "list", table, "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Failure(f"{program}: {error.strerror}; build it first: make") from error
    if done.returncode != 0:
        raise Failure(f"`{' '.join(command)}` exits with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def symbol(workload, path, pattern):
    """The mangled name of kernel<workload, path, pattern>."""
    names = (f"workload_{workload}", f"path_{path}", f"pattern_{pattern}")
    return "_Z6kernelI" + "".join(f"{len(name)}{name}" for name in names) + "Ev11kernel_args"


def expected_loads(program, language, input_load, output_store):
    """{symbol: {instruction class: count}} for every combination of the three tables.

    language is the column of the paths that names the payload load's class, "sass" or "ptx". Besides its
    payload every kernel reads one element of the input and stores one of the output.
    """
    expected = {}
    for workload in rows(program, "workloads"):
        for path in rows(program, "paths"):
            for pattern in rows(program, "patterns"):
                counts = collections.Counter({input_load: 1, output_store: 1})
                counts[path[language]] += workload["steps"]
                expected[symbol(workload["name"], path["name"], pattern["name"])] = counts
    if not expected:
        raise Failure(f"{program} lists no kernels")
    return expected


def describe(counts):
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "nothing"


def compare(place, expected, found):
    """Compares found, a list of (symbol, Counter, [other faults]), with expected; prints every difference.

    Returns the number of kernels that are as they should be.
    """
    good = 0
    seen = collections.Counter(name for name, _, _ in found)
    for name in expected:
        if seen[name] != 1:
            print(f"FAIL {place} {name}: there {seen[name]} times, expected once")
    for name, counts, faults in found:
        if name not in expected:
            print(f"FAIL {place} {name}: no such kernel in the tables")
            continue
        if counts != expected[name]:
            faults = [f"expected {describe(expected[name])}; found {describe(counts)}"] + faults
        for fault in faults:
            print(f"FAIL {place} {name}: {fault}")
        good += not faults and seen[name] == 1
    return good


def report(table, expected):
    """Prints (place, kernels found, kernels good) rows; returns the exit status."""
    width = max([len("architecture")] + [len(place) for place, _, _ in table])
    print(f"{'architecture':{width}}  kernels     ok")
    for place, found, good in table:
        print(f"{place:{width}}  {found:7}  {good:5}")
    if not table:
        print("FAIL: nothing to check")
        return 1
    return 0 if all(found == good == len(expected) for _, found, good in table) else 1


def run(main):
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"{sys.argv[0]}: {failure}", file=sys.stderr)
        sys.exit(2)
