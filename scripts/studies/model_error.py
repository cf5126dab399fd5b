#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Chooses which simple times may be said, with what interval, and proves how far they are from
committed results that chose nothing.

usage: model_error.py [--program build/cbank] [--longer-than US] [FILE...]
       model_error.py [--program build/cbank] --choose
       model_error.py [--program build/cbank] --bins FILE.json
       model_error.py --show FILE.json

FILEs are results; default: results/{h100,h200,chips}. Times are those of `cbank explain --json`,
which takes the card of each GPU. The table is by GPU, workload and path. A cell counts if it took
longer than 10 us, and has a time. A cell is explained if the interval holds its time.

--choose prints the rows of harness/counts/model_errors.def. A row is of a group of cells, as
`model_group` says: form of the kernel, unit of its loads, longest unit, and simple time. The
H200's results choose, but for those of LATER. A group has a row if it has CELLS_MIN cells, and if
the interval of other plans holds 85 % of the cells of a plan, for at least OTHERS_MIN cells. A
plan is a file. The interval is from the 5 % to the 95 % quantile of measured over simple time,
wider by MARGIN at each end, which is assumed: the cards of two chips may err differently. Below 3
us no group has a row: what a launch takes decides there, and the card of the H100 errs otherwise
than that of the H200. That is the one choice that the H100's cells made.

--bins writes the errors by workload and simple time, of all committed cells: those of the H200
that chose, and of others that did not: the H100's, and lookups that were measured later, on
another H200 in tables of sizes and entries of widths that nothing else has. --show prints the
latter as Markdown.

The chip's card is held against one that `characterize --new-card` alone makes of a board without
results, for a name that no card has.
"""

import argparse
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

import pandas

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WITHIN = 0.2
ASKED = {"within": 0.8, "held": 0.85, "half_width": 0.25, "apart": 0.03}

CHOSE = "NVIDIA H200"  # whose results choose; its card is of another board
LATER = "results/h200/lookups_later/"  # which choose nothing
QUANTILES = (0.05, 0.95)
MARGIN = 1.05
CELLS_MIN, OTHERS_MIN = 20, 10
NEVER = "below 3 us"
BINS = (NEVER, "3 to 10 us", "10 to 100 us", "over 100 us")
LONG = BINS[2:]


def committed():
    """The results of GPUs in the tree, as paths from its root."""
    paths = (
        path
        for folder in ("h100", "h200", "chips")
        for path in sorted(glob.glob(f"{ROOT}/results/{folder}/**/*.json", recursive=True))
    )
    return [
        path
        for path in paths
        if '"cbank-result"' in pathlib.Path(path).read_text(encoding="utf-8")[:4096]
    ]


def explained(program, paths, *words):
    """Cells of the files: GPU, its UUID and file, workload, path, measured ns, model's value,
    low and high. A cell of a GPU that several plans have is there once, from the first."""
    done = subprocess.run(
        [program, "explain", "--json", *words, *paths], stdout=subprocess.PIPE, check=True
    )
    rows = (
        {
            "gpu": result["device"]["name"],
            "uuid": result["device"]["uuid"],
            "file": result["file"],
            "cell": cell["identity"],
            "workload": cell["workload"],
            "path": cell["path"],
            "all": "all",
            "group": cell["model_group"],
            "ns": cell["time_ns"],
            **cell["model_ns"],
        }
        for result in json.loads(done.stdout)["results"]
        for cell in result["cells"]
    )
    return pandas.DataFrame(rows).drop_duplicates(["gpu", "cell"])


def lines_of(cells, key):
    """A row for each value of a column of cells."""
    of = cells.assign(
        ratio=cells.value / cells.ns,
        half_width=(cells.high - cells.low) / 2 / cells.value,
        held=cells.ns.between(cells.low, cells.high),
    )
    of["within"] = abs(of.ratio - 1) <= WITHIN
    return of.groupby(key).agg(
        cells=("ns", "size"),
        ratio=("ratio", "median"),
        within=("within", "mean"),
        held=("held", "mean"),
        half_width=("half_width", "median"),
    )


def interval(ratios):
    """The ends of the interval of measured over simple times."""
    low, high = ratios.quantile(QUANTILES)
    return low / MARGIN, high * MARGIN


def held_of_other_plans(cells):
    """Of the cells of each plan: whether the interval of the other plans holds them."""
    held = []
    for file in cells.file.unique():
        others, own = cells[cells.file != file], cells[cells.file == file]
        if len(others) >= OTHERS_MIN:
            held += list(own.ratio.between(*interval(others.ratio)))
    return held


def chosen(cells):
    """Rows of model_errors.def: (group, low, median, high)."""
    cells = cells.assign(ratio=cells.ns / cells.value)
    for group, of in cells.groupby("group"):
        held = held_of_other_plans(of)
        if (
            not group.endswith(NEVER)
            and len(of) >= CELLS_MIN
            and len(held) >= OTHERS_MIN
            and sum(held) >= ASKED["held"] * len(held)
        ):
            low, high = interval(of.ratio)
            yield group, low, of.ratio.median(), high


def unchecked(program):
    """Cells that have a simple time, whether it may be said or not; `role` is what they are for."""
    cells = explained(program, committed(), "--unchecked-times")
    cells = cells[cells.value.notna()].astype({"value": float, "low": float, "high": float})
    later = cells.file.str.contains(LATER, regex=False)
    return cells.assign(
        role=[
            "later" if is_later else "chose" if gpu == CHOSE else "other chip"
            for gpu, is_later in zip(cells.gpu, later)
        ]
    )


def choose(program):
    cells = unchecked(program)
    for group, *numbers in chosen(cells[cells.role == "chose"]):
        low, median, high = (f"{number:.3f}" for number in numbers)
        print(f'MODEL_ERROR("{group}", {low}, {median}, {high})')


def bins(program):
    """Rows by role, workload and simple time. Said is what explain says."""
    cells = unchecked(program)
    said = explained(program, committed()).set_index(["gpu", "cell"])[["value", "low", "high"]]
    cells = cells.drop(columns=["low", "high"]).rename(columns={"value": "simple"})
    cells = cells.join(said.astype(float), on=["gpu", "cell"])
    cells["us"] = cells.group.str.rpartition(", ")[2]
    cells["said"] = cells.value.notna()
    cells["held"] = cells.said & cells.ns.between(cells.low, cells.high)
    cells["narrow"] = (cells.high - cells.low) / 2 <= ASKED["half_width"] * cells.value
    rows = []
    for (role, gpu, workload, us), of in cells.groupby(["role", "gpu", "workload", "us"]):
        ratio = (of.ns / of.value).median()
        rows.append(
            {
                "role": role,
                "gpu": gpu,
                "workload": workload,
                "us": us,
                "cells": len(of),
                **{key: int(of[key].sum()) for key in ("said", "held", "narrow")},
                "ratio": None if pandas.isna(ratio) else round(ratio, 4),
            }
        )
    return {"rows": rows}


def total(rows, key):
    return sum(row[key] for row in rows)


def entry(rows):
    said, held = total(rows, "said"), total(rows, "held")
    if not said:
        return "none" if total(rows, "cells") else "-"
    return f"{held / said:.0%} of {said:,}"


def show(report):
    """A line for each workload: cells that have a time, and how many of them the interval holds."""
    checked = [row for row in report["rows"] if row["role"] != "chose"]
    print(f"| cells of | workload | {' | '.join(BINS)} |")
    print("|---|---|" + "--:|" * len(BINS))
    for role, name in (("other chip", "the H100"), ("later", "an H200, later")):
        rows = [row for row in checked if row["role"] == role]
        names = list(dict.fromkeys(row["workload"] for row in rows))
        for workload in [*names, *([None] if len(names) > 1 else [])]:
            own = [row for row in rows if workload in (None, row["workload"])]
            line = [entry([row for row in own if row["us"] == us]) for us in BINS]
            print(f"| {name} | {workload or 'all'} | {' | '.join(line)} |")
    for role, name in (("other chip", "the H100's"), ("later", "the later")):
        long = [row for row in checked if row["us"] in LONG and row["role"] == role]
        cells, said, held, narrow = (
            total(long, key) for key in ("cells", "said", "held", "narrow")
        )
        print(
            "\n"
            + textwrap.fill(
                f"Of {name} {cells:,} cells over 10 us {said / cells:.0%} have a time, and its"
                f" interval holds {held / said:.0%} of these. {narrow / cells:.0%} have a time with"
                f" a half width of {ASKED['half_width']:.0%} or less.",
                118,
            )
        )


def alone(program, every, long):
    """{GPU: shares of long cells explained by its card, and by one that characterize alone makes
    of a board that has no results}."""
    for path in sorted(glob.glob(f"{ROOT}/results/characterizations/*.json")):
        record = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        gpu, cells = record["device"]["name"], every[every.gpu == record["device"]["name"]]
        if (
            any(one["name"] == "whole_kernels" for one in record["experiments"])
            and len(cells)
            and record["device"]["uuid"] not in set(cells.uuid)
        ):
            record["device"].update(name="NVIDIA unseen", chip=None)
            with tempfile.TemporaryDirectory() as folder:
                pathlib.Path(folder, "record.json").write_text(json.dumps(record), encoding="utf-8")
                subprocess.run(
                    [
                        program,
                        "characterize",
                        "--quiet",
                        "--replay",
                        "record.json",
                        "--json",
                        "again.json",
                        "--new-card",
                        "card.json",
                    ],
                    cwd=folder,
                    check=True,
                )
                made = explained(program, cells.file.unique(), "--card", f"{folder}/card.json")
            yield gpu, [
                of[(of.ns > long) & of.value.notna()].eval("low <= ns <= high").mean()
                for of in (cells, made)
            ]


def options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", default=f"{ROOT}/build/cbank")
    parser.add_argument(
        "--longer-than", type=float, default=10, metavar="US", help="cells that took longer, in us"
    )
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--bins", metavar="FILE.json")
    parser.add_argument("--show", metavar="FILE.json")
    parser.add_argument("files", metavar="FILE", nargs="*")
    return parser, parser.parse_args()


def main():
    parser, asked = options()
    if asked.choose:
        choose(asked.program)
        return 0
    if asked.bins:
        made = json.dumps(bins(asked.program), indent=1)
        pathlib.Path(asked.bins).write_text(made + "\n", encoding="utf-8")
        return 0
    if asked.show:
        show(json.loads(pathlib.Path(asked.show).read_text(encoding="utf-8")))
        return 0
    every = explained(asked.program, asked.files or committed())
    by_new = dict(alone(os.path.abspath(asked.program), every, 1000 * asked.longer_than))
    every = every[every.ns > 1000 * asked.longer_than]
    cells = every[every.value.notna()].astype({"value": float, "low": float, "high": float})
    if cells.empty:
        parser.error("no cell has a time of the model")
    print(
        f"{len(cells)} cells over {asked.longer_than:g} us; {len(every) - len(cells)} more have a"
        " bound from below alone"
    )
    print(
        f"{'':24} {'cells':>6} {'model/measured':>15} {'within 20 %':>12}"
        f" {'interval holds':>15} {'half width':>11}"
    )
    for key in ("all", "gpu", "workload", "path"):
        print(key + ":")
        for line in lines_of(cells, key).itertuples():
            print(
                f"  {line.Index:22} {line.cells:6} {line.ratio:15.3f} {line.within:12.1%}"
                f" {line.held:15.1%} {line.half_width:11.1%}"
            )
    for gpu, (own, new) in by_new.items():
        print(
            f"{gpu}: {own:.1%} explained by its card, {new:.1%} by characterize --new-card alone,"
            " of a board without results"
        )
    whole = lines_of(cells, "all").iloc[0]
    met = (
        whole.within >= ASKED["within"]
        and whole.held >= ASKED["held"]
        and whole.half_width <= ASKED["half_width"]
    )
    met = met and all(abs(own - new) <= ASKED["apart"] for own, new in by_new.values())
    print(
        "as asked" if met else "NOT as asked",
        (
            "(within 20 %: 80 % of cells; the interval holds 85 %, half width 25 % or less; a"
            " new card within 3 points)"
        ),
    )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
