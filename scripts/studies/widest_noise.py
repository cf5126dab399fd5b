#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Derives what compare takes of the noise of a GPU model, kernel or memory space without data of
its own, and the lists in harness/compare/deviation.c of those that have some.

Proves that no committed cell is noisier.

usage: widest_noise.py [--check]

The widest noise is for a GPU model, kernel or memory space without data of its own. Chosen by
results of H200s: that of the cell with the largest deviation of all that three processes or more
measured, with their degrees of freedom. For hot and cold cells these are the trials of processes
and of the suite's kernels; for cells with copies three results. The same of H100s, which choose
nothing, check it.

A kernel has data of its own in a memory space where committed results of one GPU have cells of it
twice, by one plan and of equal code, and by the F distribution (1 %) do not vary by more than the
table says. A GPU model has where one of its boards has several processes (results/*/processes).

Prints what it rests on. With --check also the rows and the lists; exits 1 where deviation.c has
others.
"""

import collections
import glob
import math
import os
import statistics
import sys
import textwrap

from scipy.stats import f as f_distribution

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import process_deviation
import trials

SOURCE = os.path.join(trials.ROOT, "harness/compare/deviation.c")
# The range of so many normal values, in deviations.
RANGES = {5: 2.326, 10: 3.078, 20: 3.735}
MODELS = ("h200", "h100")  # the first chooses the widest noise, the second checks it
COPIES = ("chips/{}/all-paths.json", "{}/all-paths.json", "{}/refill.json")
MEASURED_LEAST = 2  # degrees of freedom of a kernel in a memory space
MEASURED_LEVEL = 0.01


def deviations_of(model):
    """{column: [(deviation, degrees, cell)]} of the cells that three processes or more measured.
    Trials have ranges, others times."""
    found = {"hot": [], "copies": []}
    for pattern in ("kernels/kernel-trial*.json", "processes/*.json"):
        for path in sorted(glob.glob(os.path.join(trials.ROOT, "results", model, pattern))):
            trial = trials.load(path)
            if not trial["cells"] or "range" not in trial["cells"][0]:
                continue
            count = trial.get("processes") or len(trial["seconds"])
            if count in RANGES:
                found["hot"] += [
                    (cell["range"] / RANGES[count], count - 1, cell["identity"])
                    for cell in trial["cells"]
                ]
    results = [process_deviation.load(name.format(model)) for name in COPIES]
    for key in results[0]:
        cells = [result.get(key) for result in results]
        if process_deviation.column_of(key) == "copies" and all(
            cell and cell[1] == cells[0][1] for cell in cells
        ):
            logs = [math.log(cell[0]) for cell in cells]
            found["copies"].append((statistics.stdev(logs), len(logs) - 1, "/".join(key[:6])))
    return found


def derive_widest():
    """The widest noise by column, and what it rests on."""
    choose, check = map(deviations_of, MODELS)
    found, said = {}, []
    for column, words in (("hot", "hot and cold cells"), ("copies", "cells with copies")):
        value, degrees, cell = max(choose[column])
        others = [each for each, _, _ in check[column]]
        found[column] = (value, 0, degrees)
        said.append(
            f"{words}: chosen by {cell} of {len(choose[column])} of H200s; of {len(others)} of"
            f" H100s {sum(each > value for each in others)} are beyond it, the most"
            f" {100 * max(others):.2f} %"
        )
    return {**found, "cold": found["hot"]}, "widest: " + "; ".join(said)


def is_result(document):
    """Whether a document is a measured result; one of a study may have cells, too."""
    device = document.get("device")
    return isinstance(device, dict) and bool(document.get("started_utc") and document.get("cells"))


def repeated():
    """Names of committed results with one plan of one GPU, where there are several."""
    plans = collections.defaultdict(list)
    for path in sorted(glob.glob(os.path.join(trials.ROOT, "results/**/*.json"), recursive=True)):
        result = trials.load(path)
        if isinstance(result, dict) and is_result(result):
            identities = tuple(sorted(cell["identity"] for cell in result["cells"]))
            plans[result["device"]["uuid"], result["device"]["driver"], identities].append(
                os.path.relpath(path, os.path.join(trials.ROOT, "results"))
            )
    return [names for names in plans.values() if len(names) > 1]


def derive_measured():
    """{(kernel, column): memory spaces} with data of their own, the models that have them, and
    what it rests on."""
    squares, models = collections.defaultdict(lambda: [0, 0]), set()
    for names in repeated():
        if "processes" in names[0].split("/"):
            models.add(
                trials.load(os.path.join(trials.ROOT, "results", names[0]))["device"]["name"]
            )
        results = [process_deviation.load(name) for name in names]
        for key in results[0]:
            cells, column = [result.get(key) for result in results], process_deviation.column_of(
                key
            )
            if not all(cell and cell[1] == cells[0][1] for cell in cells):
                continue
            logs = [math.log(cell[0]) for cell in cells]
            time, sampled = math.exp(statistics.mean(logs)), statistics.mean(c[4] for c in cells)
            expected = max(trials.deviation("process", column, time) ** 2, sampled)
            expected += trials.deviation("occasion", column, time) ** 2
            of = squares[key[0], column, key[1]]
            of[0] += statistics.variance(logs) / expected * (len(logs) - 1)
            of[1] += len(logs) - 1
    found, noisier = collections.defaultdict(list), []
    for (kernel, column, space), (sum_of, degrees) in sorted(squares.items()):
        most = f_distribution.ppf(
            1 - MEASURED_LEVEL, degrees, trials.DEVIATIONS["process", column][2]
        )
        if degrees >= MEASURED_LEAST and sum_of / degrees <= most:
            found[kernel, column].append(space)
        else:
            noisier.append(f"{kernel}/{space}/{column}")
    return (
        dict(found),
        sorted(models),
        (
            f"measured: {sum(map(len, found.values()))} kernels by memory space on"
            f" {' and '.join(sorted(models))}; not so, as they vary by more or have one pair:"
            f" {', '.join(noisier) or 'none'}"
        ),
    )


def table_of_measured(measured, models):
    """The lines of deviation.c."""
    lines = ["static const char *const measured_models[] = {"]
    lines += [f'    "{model}",' for model in models] + ["};"]
    lines += ["static const struct measured measured[] = {"]
    for (kernel, column), spaces in measured.items():
        text = textwrap.wrap(" ".join(spaces), 80)
        quoted = [f'"{line}{" " if i < len(text) - 1 else ""}"' for i, line in enumerate(text)]
        lines += [f'    {{"{kernel}", CELLS_{column.upper()},'] + [f"     {q}" for q in quoted]
        lines[-1] += "},"
    return lines + ["};"]


def check(found, lines):
    """Whether deviation.c has these rows and lists."""
    with open(SOURCE, encoding="utf-8") as source:
        lists = "".join(" ".join(lines).split()) in "".join(source.read().split())
    return lists and all(
        abs(have - value) <= process_deviation.ROUNDING * value
        for column in ("hot", "cold", "copies")
        for have, value in zip(trials.DEVIATIONS["widest", column], found[column])
    )


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__.strip(), file=sys.stderr)
        sys.exit(2)
    found, basis = derive_widest()
    measured, models, measured_basis = derive_measured()
    for column, words in (("hot", "hot and cold cells"), ("copies", "cells with copies")):
        value, _, degrees = found[column]
        print(f"{words}: {100 * value:.2g} % with {degrees} degrees of freedom")
    for text in (basis, measured_basis):
        print(textwrap.fill(text, 100, subsequent_indent="  ", break_on_hyphens=False))
    if sys.argv[1:]:
        lines = table_of_measured(measured, models)
        print("\n".join(lines))
        if not check(found, lines):
            sys.exit("widest_noise: harness/compare/deviation.c has others")


if __name__ == "__main__":
    main()
