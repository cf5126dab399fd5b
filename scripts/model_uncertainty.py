#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Derives harness/advise/uncertainty.def: how far the built-in card's model is from the committed results of its chip.

usage: model_uncertainty.py [--check] [--program build/cbank]

Of every cell of results/h200/*.json and of its sweeps that is hot and not of refill, each once, cbank explain says the time that was
measured and the one that is modelled. The error of a cell is the logarithm of their quotient. A row of a unit has what nine of ten
of its errors are not beyond, with a sign taken away.

The error of a pair of places is the difference of theirs. It grows with what the parts of their modelled times differ by, as a
share of the longer one. Rows of pairs of units are those that scripts/advise_trial.py show printed of the configurations that were
drawn (results/advise/h200.txt); of pairs that it has not, of the cells that differ in the path alone and whose modelled times are
within a factor of NEAR: what eight of ten are not beyond, which is nine of ten on one side.

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
TRIAL = os.path.join(ROOT, "results/advise/h200.txt")
SHARE, PAIR_SHARE = 0.9, 0.8
CELLS_FEWEST = 10
LIKE = {"REGISTERS": "SHARED"}  # registers that a warp exchanges go the way of shared memory
BELOW, NEAR = (0.08, 0.2, math.inf), 1.5
ROW = r"^(?:TIME|RATIO)_ERROR\(([\w, .]+), (\d+), ([\d.]+)\)"
ROUNDING = 0.003
AXES = ("workload", "pattern", "elements", "block_size", "parameters")


def errors(program):
    """{configuration: {path: (error, time, parts)}} of every cell, the first where several files have it."""
    found = collections.defaultdict(dict)
    files = [name for pattern in ("*.json", "sweeps/*.json") for name in sorted(glob.glob(f"results/h200/{pattern}"))
             if not name.endswith(model_table.LARGE)]
    for name in files:
        for cell in model_table.explain(program, name)["results"][0]["cells"]:
            if cell["remainder"] is None or cell["regime"] != "hot" or cell["workload"] == "refill":
                continue
            configuration = json.dumps([cell[axis] for axis in AXES], sort_keys=True)
            modelled = cell["modelled"]
            error = math.log(cell["time_ns"]["value"] / modelled["time_ns"])
            found[configuration].setdefault(cell["path"], (error, modelled["time_ns"], list(modelled["parts_ns"].values())))
    return found


def within(values, share):
    """What so many of the values are not beyond."""
    ordered = sorted(map(abs, values))
    return ordered[math.ceil(share * len(ordered)) - 1]


def units_of(program):
    """{path: unit}, in the order of paths.def."""
    listed = json.loads(subprocess.run([program, "list", "--json"], capture_output=True, text=True, check=True).stdout)["paths"]
    return {path["name"]: path["unit"].upper() for path in listed if path["loads"]}


def pair_rows(pairs, units):
    """{(unit, unit, below): (how many, error)} of [(path, path, apart, error)]: for each pair of units that has enough. What has too
    few goes with what is farther apart, at the end with what is less so."""
    order = list(dict.fromkeys(units.values()))
    samples = collections.defaultdict(list)
    for one, other, apart, error in pairs:
        names = sorted((LIKE.get(units[path], units[path]) for path in (one, other)), key=order.index)
        samples[tuple(names)].append((apart, error))
    table = {}
    for names in sorted(samples, key=lambda names: [order.index(name) for name in names]):
        found, start = [], 0
        for below in BELOW:
            errors_below = [error for apart, error in samples[names] if start <= apart < below]
            if len(errors_below) >= CELLS_FEWEST:
                found.append((below, errors_below))
                start = below
        if found and start < math.inf:
            found[-1] = (math.inf, found[-1][1] + [error for apart, error in samples[names] if apart >= start])
        table.update({(*names, str(below)): (len(values), within(values, PAIR_SHARE)) for below, values in found})
    return table


def print_rows(table):
    for key, (count, error) in table.items():
        print(f"{'TIME' if len(key) == 1 else 'RATIO'}_ERROR({', '.join(key).replace('inf', 'INFINITY')}, {count}, {error:.3f})")


def cell_pairs(cells):
    """Of one configuration."""
    for (one, (error, time, parts)), (other, (error_2, time_2, parts_2)) in itertools.combinations(cells.items(), 2):
        if 1 / NEAR < time / time_2 < NEAR:
            apart = sum(abs(part - part_2) for part, part_2 in zip(parts, parts_2)) / max(time, time_2)
            yield one, other, apart, error - error_2


def derive(program):
    """{(unit,) or (unit, unit, below): (how many, error)}"""
    units, trial = units_of(program), written(TRIAL)
    configurations = [{path: said for path, said in cells.items() if path in units} for cells in errors(program).values()]
    singles = {(unit,): [said[0] for cells in configurations for path, said in cells.items() if units[path] == unit]
               for unit in dict.fromkeys(units.values())}
    table = {key: (len(values), within(values, SHARE)) for key, values in singles.items() if len(values) >= CELLS_FEWEST}
    rows = pair_rows([pair for cells in configurations for pair in cell_pairs(cells)], units)
    drawn = {key[:2] for key in trial}
    return {**table, **trial, **{key: value for key, value in rows.items() if key[:2] not in drawn}}


def written(path):
    with open(path, encoding="utf-8") as file:
        rows = re.findall(ROW, file.read(), re.MULTILINE)
    return {tuple(key.replace("INFINITY", "inf").split(", ")): (int(count), float(error)) for key, count, error in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", default=os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    os.chdir(ROOT)
    table = derive(program)
    print_rows(table)
    have = written(TABLE) if options.check else table
    if set(have) != set(table) or any(have[key][0] != table[key][0] or abs(have[key][1] - table[key][1]) > ROUNDING
                                      for key in table):
        sys.exit("model_uncertainty: harness/advise/uncertainty.def is not this table")


if __name__ == "__main__":
    main()
