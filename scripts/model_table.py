#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints how well the model meets every committed result, as a table in Markdown.

usage: model_table.py [--program build/cbank] [RESULT...]

RESULT are the committed ones of real GPUs (FILES) where none is named; the card is results/cards/CHIP.json. For
each: whether times of the card were fitted to it (its evidence names the content of files); of the cells that take longer
than 10 us, on paths of constants and on others, how many are predicted within 10 %; how many of them have no one time and
are in neither (their samples are of several modes, or did not settle); of all cells whose lines of the first constant level
were counted, how many the model has within 5 %; and how many of the long cells beyond 10 %, and of the cells whose lines
are beyond 5 %, cbank explain names no reason for. All of it is what cbank explain says. Exit status 0; 2 where a file is no
result; that of cbank explain when it fails.
"""

import argparse
import concurrent.futures
import functools
import glob
import hashlib
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LONG_NS = 10000
COLUMNS = ("file", "fitted to", "constants", "others", "no one time", "fills", "no reason")
ALIGNED = ("---", "---") + 5 * ("--:",)
UNSETTLED = {"multimodal", "unstable"}


# Each chip's results, and those of its folder that are no results.
FILES = ("results/h[0-9]*/*.json", "results/h[0-9]*/model/*.json", "results/h[0-9]*/sweeps/*.json", "results/h[0-9]*/fast-board/*.json",
         "results/chips/*/*.json")
# Lookups in tables that the model says nothing of.
LARGE = "sweeps/large.json"
OTHERS = ("calibration.json", "card.json", "characterization.json", "manifest.json")


def fail(message, status=2):
    print(f"model_table: error: {message}", file=sys.stderr)
    sys.exit(status)


def load(path):
    try:
        with open(path, "rb") as file:
            text = file.read()
        return json.loads(text), hashlib.sha256(text).hexdigest()
    except (OSError, ValueError) as error:
        fail(f"{path}: {error}")


def card_of(path):
    """The card that a file is held against: that of its folder, or of its chip."""
    own = os.path.join(os.path.dirname(path), "card.json")
    return own if os.path.exists(own) else f"results/cards/{os.path.relpath(path, 'results').split(os.sep)[0]}.json"


def of_constants(cell):
    return cell["path"] == "param" or cell["path"].startswith("constant")


def is_long(cell):
    return cell["remainder"] is not None and cell["time_ns"]["value"] > LONG_NS


def share(truths):
    """(how many are true, how many there are)."""
    truths = list(truths)
    return sum(truths), len(truths)


def has_reason(cell, within, of_fills):
    """Whether explain names one for what is beyond its limit, if it is."""
    return within is not False or any(reason["name"].startswith("fills_") == of_fills for reason in cell["reasons"])


def row_of(path, result):
    """Of a file and what cbank explain --json says of it: COLUMNS[2:]."""
    unsettled = {cell["identity"] for cell in load(path)[0]["cells"] if UNSETTLED & set(cell["flags"])}
    long = [cell for cell in result["cells"] if is_long(cell)]
    cells = [cell for cell in long if cell["identity"] not in unsettled]
    fills = (result["summary"]["fills_within"], result["summary"]["fills"])
    return (share(cell["within"] for cell in cells if of_constants(cell)),
            share(cell["within"] for cell in cells if not of_constants(cell)),
            len(long) - len(cells), fills,
            sum(not has_reason(cell, cell["within"], False) for cell in long) +
            sum(not has_reason(cell, cell["fills_within"], True) for cell in result["cells"]))


def total(rows):
    """Rows added up."""
    return tuple(tuple(map(sum, zip(*column))) if isinstance(column[0], tuple) else sum(column) for column in zip(*rows))


def shown(name, fitted, row):
    return [name, fitted] + [str(value) if isinstance(value, int) else f"{value[0]} of {value[1]}" if value[1] else "-"
                             for value in row]


@functools.lru_cache(maxsize=None)
def explain(program, path):
    """What cbank explain says of a file: its whole document."""
    done = subprocess.run([program, "explain", "--card", card_of(path), "--json", path], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        fail(done.stderr.strip(), done.returncode)
    return json.loads(done.stdout)


def committed():
    return [path for pattern in FILES for path in sorted(glob.glob(pattern)) if os.path.basename(path) not in OTHERS]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", default=os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
    parser.add_argument("results", nargs="*")
    options = parser.parse_args()
    os.chdir(ROOT)
    paths = options.results or committed()
    lines, rows = [COLUMNS, ALIGNED], {"yes": [], "no": []}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        explained = list(pool.map(lambda path: explain(options.program, path)["results"][0], paths))
    for path, result in zip(paths, explained):
        evidence = {entry["sha256"] for entry in load(card_of(path))[0]["evidence"].values()}
        fitted = "yes" if load(path)[1] in evidence else "no"
        rows[fitted].append(row_of(path, result))
        name = os.path.splitext(os.path.relpath(path, "results"))[0]
        lines.append(shown(name, fitted, rows[fitted][-1]))
    for name, which in (("all", ("yes", "no")), ("checked alone", ("no",))):
        lines.append(shown(name, "", total([row for key in which for row in rows[key]])))
    for line in lines:
        print("| " + " | ".join(line) + " |" if line is not ALIGNED else "|" + "|".join(line) + "|")


if __name__ == "__main__":
    main()
