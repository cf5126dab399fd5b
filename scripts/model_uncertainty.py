#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Derives harness/advise/uncertainty.def: how far the built-in card's model is from the committed results of its chip.

usage: model_uncertainty.py [--check] [--program build/cbank]

Of every cell of results/h200/*.json and of its sweeps that is hot and not of refill, each once, cbank explain says the time that was
measured and the one that is modelled. The error of a cell is the logarithm of their quotient; that of a pair of cells
that differ in the path alone is the difference of two errors. A row has what nine of ten errors of its unit, or of its pair of
units, are not beyond, with a sign taken away. Constants and parameters, which one unit answers, are a pair, too.

Prints the table. With --check, exits 1 where uncertainty.def is not that. Exit status of cbank explain where that fails.
"""

import argparse
import collections
import glob
import itertools
import json
import math
import os
import re
import subprocess
import sys

import model_table

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = os.path.join(ROOT, "harness/advise/uncertainty.def")
SHARE = 0.9
CELLS_FEWEST = 10
ROUNDING = 0.003
AXES = ("workload", "pattern", "elements", "block_size", "parameters")


def errors(program):
    """{configuration: {path: error}} of every cell, the first where several files have it."""
    found = collections.defaultdict(dict)
    files = [name for pattern in ("*.json", "sweeps/*.json") for name in sorted(glob.glob(f"results/h200/{pattern}"))]
    for name in files:
        for cell in model_table.explain(program, name)["results"][0]["cells"]:
            if cell["remainder"] is None or cell["regime"] != "hot" or cell["workload"] == "refill":
                continue
            configuration = json.dumps([cell[axis] for axis in AXES], sort_keys=True)
            error = math.log(cell["time_ns"]["median"] / cell["modelled"]["time_ns"])
            found[configuration].setdefault(cell["path"], error)
    return found


def within(values):
    """What SHARE of the values are not beyond."""
    ordered = sorted(map(abs, values))
    return ordered[math.ceil(SHARE * len(ordered)) - 1]


def derive(program):
    """{(unit,) or (unit, unit): (how many, error)}"""
    listed = json.loads(subprocess.run([program, "list", "--json"], capture_output=True, text=True, check=True).stdout)["paths"]
    units = {path["name"]: path["unit"].upper() for path in listed if path["loads"]}
    order = list(dict.fromkeys(units.values()))
    samples = collections.defaultdict(list)
    for cells in errors(program).values():
        cells = {path: error for path, error in cells.items() if path in units}
        for path, error in cells.items():
            samples[(units[path],)].append(error)
        for one, other in itertools.combinations(cells, 2):
            key = tuple(sorted((units[one], units[other]), key=order.index))
            samples[key].append(cells[one] - cells[other])
    return {key: (len(samples[key]), within(samples[key]))
            for key in sorted(samples, key=lambda key: (len(key), *map(order.index, key)))
            if len(samples[key]) >= CELLS_FEWEST}


def written():
    with open(TABLE, encoding="utf-8") as file:
        rows = re.findall(r"^(?:TIME|RATIO)_ERROR\(([\w, ]+), ([\d.]+)\)", file.read(), re.MULTILINE)
    return {tuple(names.split(", ")[:-1]): (int(names.split(", ")[-1]), float(error)) for names, error in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", default=os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    os.chdir(ROOT)
    table = derive(program)
    for key, (count, error) in table.items():
        print(f"{'TIME' if len(key) == 1 else 'RATIO'}_ERROR({', '.join(key)}, {count}, {error:.3f})")
    have = written() if options.check else table
    if set(have) != set(table) or any(have[key][0] != table[key][0] or abs(have[key][1] - table[key][1]) > ROUNDING
                                      for key in table):
        sys.exit("model_uncertainty: harness/advise/uncertainty.def is not this table")


if __name__ == "__main__":
    main()
