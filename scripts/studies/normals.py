#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Makes results/normals/MODEL.json: the times of boards of each kind, as cbank normal has them.

Proves what `cbank normal` holds a result against.

usage: normals.py DIRECTORY --json FILE [--until DATE]
       normals.py DIRECTORY --leave-one-out --json FILE [--until DATE] [--program PROGRAM]
       normals.py --show FILE

DIRECTORY holds UUID-first.json and UUID-last.json of boards of one model. A board's time of a cell
is the mean of the logarithms of both, without results in which the cell has a flag. The time of a
kind is the median over its boards; their standard deviation counts from two boards on. A cell whose
code differs between results is left out. --until takes the boards that were measured until that
day: those that came later check the normal.

--leave-one-out holds each board's results against the normal of all others, with `cbank normal`: as
they are, without the record of the board, and with a fault: all cells of a path slower by 1.5 % or
0.5 %, one cell by 3 %, or all by 5 %. --show prints how many are told slower, and the cells that
are outside by chance. The deviations of harness/compare/deviation.c were chosen by half of the
boards of one kind; the other boards are counted apart.
"""

import argparse
import collections
import copy
import json
import math
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import boards
import process_deviation
import trials

FLAGS = {"clock_varied"}  # that leave a time as it is


def cells_of(results):
    """{identity: (time, clock, code)} of one board."""
    found, usable = {}, {}
    for result in results:
        for cell in result["cells"]:
            if cell["status"] == "ok" and cell["time_ns"] and not set(cell["flags"]) - FLAGS:
                usable.setdefault(cell["identity"], []).append(cell)
    for identity, cells in usable.items():
        codes = {cell["kernel"]["sass_sha256"] for cell in cells}
        if len(codes) == 1:
            found[identity] = (
                statistics.fmean(math.log(cell["time_ns"]["value"]) for cell in cells),
                statistics.fmean(cell["sm_clock_mhz"] for cell in cells),
                codes.pop(),
            )
    return found


def kind_of(members):
    """A kind of the document, by the results of each of its boards."""
    cells = [cells_of(results) for results in members]
    kind = {
        "board": {
            key: members[0][0]["device"]["board"][key]
            for key in (
                "part_number",
                "part_number_reason",
                "constant_cache_groups",
                "constant_cache_groups_reason",
            )
        },
        "boards": len(members),
        "uuids": [results[0]["device"]["uuid"] for results in members],
        "cells": [],
    }
    for identity in cells[0]:
        there = [board[identity] for board in cells if identity in board]
        logs = [log for log, _, _ in there]
        if len({code for *_, code in there}) == 1:
            kind["cells"].append(
                {
                    "identity": identity,
                    "sass_sha256": there[0][2],
                    "time_ns": math.exp(statistics.median(logs)),
                    "boards": len(logs),
                    "deviation": statistics.stdev(logs) if len(logs) > 1 else None,
                    "sm_clock_mhz": statistics.median(clock for _, clock, _ in there),
                }
            )
    return kind


def normals_of(by_board):
    """The document, by {UUID: results} of the boards of one model."""
    kinds = {}
    for _, results in sorted(by_board.items()):
        kinds.setdefault(boards.kind_of(results[0]), []).append(results)
    first = next(iter(by_board.values()))[0]
    return {
        "schema": {"name": "cbank-normal", "version": "1.0"},
        "model": first["device"]["name"],
        "drivers": sorted(
            {result["device"]["driver"] for results in by_board.values() for result in results}
        ),
        "kinds": [
            kind_of(members) for _, members in sorted(kinds.items(), key=lambda kind: -len(kind[1]))
        ],
    }


# ---- Leaving one out


def scaled(result, factor, chosen):
    """A copy in which the cells of a predicate take longer by a factor."""
    result = copy.deepcopy(result)
    for cell in result["cells"]:
        if chosen(cell) and cell["time_ns"]:
            time = cell["time_ns"]
            for key in ("value", "ci_low", "ci_high", "median", "min", "mad"):
                if time.get(key) is not None:
                    time[key] *= factor
            time["samples"] = [sample * factor for sample in time["samples"]]
    return result


def without_record(result):
    result = copy.deepcopy(result)
    result["device"]["board"] = None
    return result


CELL = "add/global/per_warp/12800000/1024/hot"
CASES = {
    "as measured": lambda result: result,
    "without its record": without_record,
    "a path 1.5 % slower": lambda result: scaled(
        result, 1.015, lambda cell: cell["path"] == "readonly"
    ),
    "one cell 3 % slower": lambda result: scaled(
        result, 1.03, lambda cell: cell["identity"] == CELL
    ),
    "a path 0.5 % slower": lambda result: scaled(
        result, 1.005, lambda cell: cell["path"] == "readonly"
    ),
    "without its record, all 5 % slower": lambda result: scaled(
        without_record(result), 1.05, lambda cell: True
    ),
}


def ask(program, folder, normal, result):
    """(exit code, cells held, cells outside) of a result against a normal."""
    paths = [os.path.join(folder, name) for name in ("normal.json", "result.json")]
    for path, document in zip(paths, (normal, result)):
        trials.write_json(path, document)
    done = trials.call(
        program, "normal", paths[1], "--normal", paths[0], "--json", statuses=(0, 1, 3, 4)
    )
    rows = json.loads(done.stdout)
    return (
        done.returncode,
        sum(row["verdict"] != "not held" for row in rows),
        [row["cell"] for row in rows if row["verdict"] == "outside"],
    )


def leave_one_out(by_board, program):
    """The report: for each case, of boards that chose deviations and of others."""
    chose, rows = set(process_deviation.chosen_boards()), []
    for chooses in (True, False):
        uuids = [uuid for uuid in by_board if (uuid.split("-")[1] in chose) == chooses]
        for case, change in CASES.items():
            codes, held, outside = collections.Counter(), 0, collections.Counter()
            for uuid in uuids:
                normal = normals_of({key: of for key, of in by_board.items() if key != uuid})
                with tempfile.TemporaryDirectory() as folder:
                    for result in by_board[uuid]:
                        code, cells, said = ask(program, folder, normal, change(result))
                        codes[code] += 1
                        held += cells
                        outside.update(said)
            rows.append(
                {
                    "chose": chooses,
                    "boards": len(uuids),
                    "case": case,
                    "inside": codes[0],
                    "slower": codes[1],
                    "new_kind": codes[4],
                    "cells": held,
                    "outside": dict(outside.most_common()),
                }
            )
    return {"rows": rows}


def show(report):
    """Two tables in Markdown."""
    print("| boards | result | not slower | slower | new kind | cells outside |")
    print("|---|---|--:|--:|--:|--:|")
    for row in report["rows"]:
        name = "chose deviations" if row["chose"] else "chose nothing"
        print(
            f"| {row['boards']}, {name} | {row['case']} | {row['inside']} | {row['slower']} |"
            f" {row['new_kind']} | {sum(row['outside'].values())} of {row['cells']} |"
        )
    print("\n| outside as measured, of boards that chose nothing | results |")
    print("|---|--:|")
    for row in report["rows"]:
        if not row["chose"] and row["case"] == "as measured":
            for cell, count in row["outside"].items():
                print(f"| {cell} | {count} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory", nargs="?")
    parser.add_argument("--json")
    parser.add_argument("--leave-one-out", action="store_true")
    parser.add_argument("--until", default="9999")
    parser.add_argument("--show")
    parser.add_argument("--program", default="build/cbank")
    args = parser.parse_args()
    if args.show:
        show(boards.read(args.show))
    elif args.json and args.directory:
        by_board = {
            uuid: results
            for uuid, results in boards.read_boards(args.directory).items()
            if results[0]["started_utc"][:10] <= args.until
        }
        made = leave_one_out(by_board, args.program) if args.leave_one_out else normals_of(by_board)
        trials.write_json(args.json, made)
    else:
        parser.error("DIRECTORY --json FILE, or --show FILE, is needed")


if __name__ == "__main__":
    main()
