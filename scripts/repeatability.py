#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints how far the times of a plan that was measured again lie from those of a reference.

usage: repeatability.py [--json FILE] REFERENCE OTHER...
       repeatability.py --run FOLDER [--program build/cbank] [--json FILE] [-- RUN OPTION...]

REFERENCE and OTHER are result files of one plan. For each OTHER, and apart for cells longer and not longer than 10 us
in REFERENCE: the differences between the two times of a cell, and how many pairs of intervals overlap, that is,
whose times lie within the sum of the halves that face each other. With --run the plan is measured on a GPU first,
into FOLDER: twice, then with short and with long samples. Nothing is judged. Exit status 0; 2 for what is not a
result or of another plan; that of cbank run when it fails.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys

import upgrade

KEYS = ("workload", "path", "pattern", "elements", "block_size", "regime", "parameters")
LONG_NS = 10000
HEADER = ["file", "cells", "compared", "median", "largest", "in", "overlap"]
RUNS = (("first-process", []), ("second-process", []),
        ("sample-us-100", ["--sample-us", "100"]), ("sample-us-2000", ["--sample-us", "2000"]))


def fail(message, status=2):
    print(f"repeatability: error: {message}", file=sys.stderr)
    sys.exit(status)


def number(value):
    """A positive number, or None where there is none."""
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf:
        return float(value)
    raise ValueError(f"{value!r} is not a time")


def read_cell(cell):
    time = cell["time_ns"]
    value, low, high = (number(time[key]) for key in ("value", "ci_low", "ci_high"))
    return {"time": value if cell["status"] == "ok" else None,
            "interval": (low, high) if low is not None and high is not None else None,
            "code": (cell["kernel"] or {}).get("sass_sha256")}


def identity_of(cell):
    """Values by KEYS. Of the parameters, which files of schema 1.0 lack, pairs of name and value."""
    return tuple(cell[key] for key in KEYS[:-1]) + (tuple(sorted(cell.get("parameters", {}).items())),)


def keyed(identity):
    """An identity as JSON has it."""
    return {**dict(zip(KEYS, identity)), "parameters": dict(identity[-1])}


def read(path, program):
    """What is needed of a result, checked; its cells by their identity, in the order of the file."""
    try:
        result = upgrade.read(path, program)
        if result["schema"]["name"] != "cbank-result" or result["schema"]["version"].split(".")[0] != "2":
            raise ValueError("its schema is not that of a result of version 1 or 2")
        cells = {}
        for cell in result["cells"]:
            identity = identity_of(cell)
            if identity in cells:
                raise ValueError(f"cell {name(identity, KEYS)} is there twice")
            cells[identity] = read_cell(cell)
        device = result["device"]
        return {"file": path, "engine": result["engine"], "cells": cells,
                "GPU": device["uuid"], "driver": device["driver"]}
    except KeyError as error:
        fail(f"{path} is not a result: no {error}")
    except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        fail(f"{path} is not a result: {error}")


def name(identity, keys):
    words = [str(identity[KEYS.index(key)]) for key in keys if key != "parameters"]
    return "/".join(words + [f"{parameter}={value}" for parameter, value in identity[-1] if "parameters" in keys])


def same_plan(reference, other):
    if reference["engine"] != other["engine"]:
        fail(f"{other['file']} is of the engine {other['engine']}, {reference['file']} of {reference['engine']}")
    alone = sorted(name(identity, KEYS) for identity in set(reference["cells"]) ^ set(other["cells"]))
    if alone:
        fail(f"{other['file']} is not of the plan of {reference['file']}: {alone[0]} is in one of them alone")


def differing(reference, other):
    """What else than chance may stand behind a difference."""
    found = [key for key in ("GPU", "driver") if reference[key] != other[key]]
    code = sum(cell["code"] != other["cells"][identity]["code"] for identity, cell in reference["cells"].items())
    return found + [f"code of {code} cells"] * bool(code)


def compare_cell(identity, a, b):
    """The difference of b from a; None where a side has no time."""
    if a["time"] is None or b["time"] is None:
        return None
    overlap = None
    if a["interval"] and b["interval"]:
        overlap = a["interval"][0] <= b["interval"][1] and b["interval"][0] <= a["interval"][1]
    return {**keyed(identity), "reference_ns": a["time"], "time_ns": b["time"],
            "difference": b["time"] / a["time"] - 1, "intervals_overlap": overlap}


def summary(cells):
    """Of the cells of one file that are long, or that are short; the first of equals is the largest."""
    largest = max(cells, key=lambda cell: abs(cell["difference"]), default=None)
    overlaps = [cell["intervals_overlap"] for cell in cells if cell["intervals_overlap"] is not None]
    return {"cells": len(cells),
            "difference_median": statistics.median(abs(cell["difference"]) for cell in cells) if cells else None,
            "difference_largest": largest and largest["difference"],
            "largest": largest and {key: largest[key] for key in KEYS},
            "intervals": len(overlaps), "intervals_overlap": sum(overlaps)}


def compare(reference, other):
    same_plan(reference, other)
    cells = [compare_cell(identity, cell, other["cells"][identity]) for identity, cell in reference["cells"].items()]
    timed = [cell for cell in cells if cell]
    return {"file": other["file"], "differs": differing(reference, other),
            "cells_without_time": len(cells) - len(timed),
            "long": summary([cell for cell in timed if cell["reference_ns"] > LONG_NS]),
            "short": summary([cell for cell in timed if cell["reference_ns"] <= LONG_NS]), "cells": timed}


def row(label, part, keys):
    if not part["cells"]:
        return label + ["0", "-", "-", "-", "-"]
    where = name(identity_of(part["largest"]), keys) or "the only cell"
    return label + [str(part["cells"]), f"{part['difference_median']:.2%}", f"{part['difference_largest']:+.2%}", where,
                    f"{part['intervals_overlap']} of {part['intervals']}" if part["intervals"] else "-"]


def show(reference, others):
    # What all cells share is said once.
    keys = [key for key in KEYS if len({name(identity, [key]) for identity in reference["cells"]}) > 1]
    shared = [f"{key} {text}" for key in KEYS if key not in keys
              for text in [name(next(iter(reference["cells"])), [key])] if text]
    said = [f"reference {reference['file']}"] + [", ".join(shared)] * bool(shared)
    print("; ".join(said + ["modelled: nothing was measured"] * (reference["engine"] == "model")))
    rows = [HEADER]
    for other in others:
        rows.append(row([other["file"], "over 10 us"], other["long"], keys))
        rows.append(row(["", "up to 10 us"], other["short"], keys))
    widths = [max(len(line[i]) for line in rows) for i in range(len(HEADER))]
    for line in rows:
        fields = [text.rjust(width) if title in ("compared", "median", "largest") else text.ljust(width)
                  for title, text, width in zip(HEADER, line, widths)]
        print("  ".join(fields).rstrip())
    print("median, largest: difference of a cell's time, as a share of the reference's; "
          "overlap: 95 % intervals that do")
    for other in others:
        if other["cells_without_time"]:
            print(f"{other['file']}: {other['cells_without_time']} cells lack a time on a side and are left out")
        if other["differs"]:
            print(f"{other['file']}: differs in {', '.join(other['differs'])}")


def measure(program, folder, options):
    """Runs the plan in a process for each of RUNS; the files."""
    paths = [os.path.join(folder, run + ".json") for run, _ in RUNS]
    try:
        os.makedirs(folder, exist_ok=True)
        for path, (_, extra) in zip(paths, RUNS):
            print(f"measuring {path}", file=sys.stderr)
            done = subprocess.run([program, "run", "--engine", "cuda", "--quiet", "--counters", "none", *options,
                                   *extra, "--json", path], stdout=sys.stderr, check=False)
            if done.returncode != 0:
                fail(f"cbank run ended with {done.returncode}", max(done.returncode, 1))
    except OSError as error:
        fail(error)
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--run", metavar="FOLDER", help="measure into this folder first")
    parser.add_argument("--program", default=upgrade.PROGRAM,
                        help="what measures, and reads results of versions before 2.4 (default build/cbank)")
    parser.add_argument("--json", metavar="FILE", help="write the summaries and the difference of every cell, too")
    parser.add_argument("words", metavar="FILE", nargs="*", help="results; with --run: options of cbank run, after --")
    options = parser.parse_args()
    paths = measure(options.program, options.run, options.words) if options.run else options.words
    if len(paths) < 2:
        parser.error("a reference and at least one other result are needed")

    reference = read(paths[0], options.program)
    if not reference["cells"]:
        fail(f"{paths[0]} has no cells")
    others = [compare(reference, read(path, options.program)) for path in paths[1:]]
    for other in others:
        if not other["cells"]:
            fail(f"{other['file']} and {paths[0]} have a time of no cell both")
    if options.json:
        try:
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump({"reference": reference["file"], "engine": reference["engine"], "long_ns": LONG_NS,
                           "others": others}, file, indent=1)
                file.write("\n")
        except OSError as error:
            fail(f"cannot write {options.json}: {error.strerror}")
    show(reference, others)


if __name__ == "__main__":
    main()
