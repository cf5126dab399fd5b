# SPDX-License-Identifier: MIT
"""Parts that studies share: processes of the program, comparisons of two, and a report that is
shown again."""

import argparse
import concurrent.futures
import json
import math
import os
import re
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "scripts"))
from cbank.chips import write_json  # noqa: E402

NAME = os.path.basename(sys.argv[0]).removesuffix(".py")


def fail(message):
    print(f"{NAME}: error: {message}", file=sys.stderr)
    sys.exit(2)


def call(*command, statuses=(0,)):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in statuses:
        fail(f"{' '.join(command)} exited {done.returncode}: {done.stderr}")
    return done


def measure(program, path, *options):
    """The result of a process of its own, written to path."""
    call(program, "run", "--engine", "cuda", "--quiet", *options, "--json", path)
    return path


def compare(program, base, new, *options, planted=None):
    """Whether cbank compare, one process a side, fails; cells that were compared, and those that
    are called changed.

    Where a slowdown was planted in cells: how many of them had equal clocks, and what was said of
    those not regressed."""
    done = call(program, "compare", base, new, *options, "--json", "-", statuses=(0, 1, 4))
    comparison = json.loads(done.stdout)
    changed = [cell for cell in comparison["cells"] if cell["verdict"] in ("regressed", "improved")]
    report = {
        "failed": done.returncode == 1,
        "cells": len(comparison["cells"]),
        "counts": comparison["counts"],
        "changed": [f"{cell['identity']} {cell['verdict']}" for cell in changed],
    }
    if planted is not None:
        cells = [cell for cell in comparison["cells"] if cell["identity"] in planted]
        report["clocks_equal"] = sum(cell["clock_ratio"] == 1 for cell in cells)
        report["missed"] = [
            {
                key: cell[key]
                for key in ("identity", "verdict", "ratio", "clock_ratio", "adjusted_p")
            }
            for cell in cells
            if cell["verdict"] != "regressed"
        ]
    return report


def deviations():
    """The table of harness/compare/deviation.c: {(cause, cells): [relative, ns, degrees]}."""
    with open(os.path.join(ROOT, "harness/compare/deviation.c"), encoding="utf-8") as file:
        rows = re.findall(r"\[CAUSE_(\w+)\]\[CELLS_(\w+)\] = \{([^}]*)\}", file.read())
    return {
        (cause.lower(), cells.lower()): list(map(float, numbers.split(",")))
        for cause, cells, numbers in rows
    }


DEVIATIONS = deviations()


def deviation(cause, cells, ns):
    """The deviation of a time by a row of that table."""
    relative, absolute, _ = DEVIATIONS[cause, cells]
    return math.hypot(relative, absolute / ns)


def draw(rng, tails):
    """A value of mean 0 and deviation 1, as a float. tails: normal, or heavy: Student's t of
    three degrees of freedom."""
    value = rng.gauss(0, 1)
    return (
        value
        if tails == "normal"
        else value / math.sqrt(sum(rng.gauss(0, 1) ** 2 for _ in range(3)) / 3) / math.sqrt(3)
    )


def strata_mean(samples, buffer_sets):
    """(mean, its standard error) of samples that were taken on so many buffer sets in turn, two
    of each or more: as stats_strata_mean."""
    count, each = len(samples), [samples[first::buffer_sets] for first in range(buffer_sets)]
    steps = [abs(after - before) for before, after in zip(samples, samples[buffer_sets:])]
    reach = 3 * statistics.median(steps) / (0.6744897501960817 * math.sqrt(2))
    each = [
        of if len(of) < 3 else [min(max(sample, middle - reach), middle + reach) for sample in of]
        for of, middle in ((of, statistics.median(of)) for of in each)
    ]
    means = [statistics.fmean(of) for of in each]
    squares = sum((sample - mean) ** 2 for of, mean in zip(each, means) for sample in of) / (
        count - buffer_sets
    )
    return (
        statistics.fmean(means),
        math.sqrt(squares * sum(1 / len(of) for of in each)) / buffer_sets,
    )


def in_processes(function, *of):
    """The values of a function in order, each from its arguments alone, from as many processes
    as there are processors."""
    with concurrent.futures.ProcessPoolExecutor() as pool:
        return list(pool.map(function, *of))


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def read(path):
    """A result, and the times of its cells that have one by their identities."""
    try:
        result = load(path)
        return result, {
            cell["identity"]: cell["time_ns"] for cell in result["cells"] if cell["status"] == "ok"
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        fail(f"{path} is no result: {error}")


def without_folders(command):
    """A command line whose absolute paths are names alone: where a machine keeps things is
    nobody's concern."""
    return " ".join(
        os.path.basename(word) if os.path.isabs(word) else word for word in command.split(" ")
    )


def origin(result):
    """Where a report was made."""
    tool = {**result["tool"], "argv": without_folders(result["tool"]["argv"])}
    return {
        "command": without_folders(" ".join(sys.argv)),
        "tool": tool,
        "device": result["device"],
    }


def main(doc, options, make, show):
    """A trial's command line. options(parser) adds what is the trial's own; make(arguments,
    rest) gives the report, rest being what the parser does not know; show(report) prints its
    figures and says whether they are as they should be."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--program", default="build/cbank")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--show", metavar="FILE", help="print the figures of an earlier trial")
    options(parser)
    arguments, rest = parser.parse_known_args()
    if arguments.show:
        report = load(arguments.show)
    elif not arguments.json:
        parser.error("--json FILE or --show FILE is needed")
    else:
        report = make(arguments, rest)
        write_json(arguments.json, report)
    sys.exit(0 if show(report) else 1)
