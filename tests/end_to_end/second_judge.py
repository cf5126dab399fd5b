#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second judge, written from docs/comparing.md and the headers of harness/compare alone: its
verdicts and ratios on committed results are those of cbank compare. CBANK names the program
(default build/cbank)."""

import functools
import json
import math
import os
import re
import subprocess
import sys
import unittest

import numpy
from scipy import optimize, stats

from common import CBANK, ROOT, Scratch, read_json, scale

sys.path.append(os.path.join(ROOT, "scripts/studies"))
from trials import DEVIATIONS  # noqa: E402

DOUBTFUL = {"unstable", "multimodal", "contended"}


def default(cause, cells, ns):
    relative, absolute, degrees = DEVIATIONS[cause, cells]
    return math.hypot(relative, absolute / ns), degrees


def process(cell):
    """(time, standard error of its logarithm, that of other buffer sets) of one process: the
    mean over its buffer sets."""
    samples, sets = numpy.array(cell["time_ns"]["samples"]), cell["buffer_sets"] or 1
    count = len(samples)
    if sets < 2 or count < sets:
        cut, ordered = (max(count // 10, 1) if count >= 5 else 0), numpy.sort(samples)
        value, moved = ordered[cut : count - cut].mean(), numpy.clip(
            ordered, ordered[cut], ordered[count - 1 - cut]
        )
        return (
            value,
            moved.std(ddof=1) * math.sqrt(count) / (count - 2 * cut) / value
            if count > 5
            else math.nan,
            0,
        )
    groups = [samples[i::sets] for i in range(sets)]
    each = count >= 2 * sets
    if each:
        reach = (
            3
            * numpy.median(abs(samples[sets:] - samples[:-sets]))
            / stats.norm.ppf(0.75)
            / math.sqrt(2)
        )
        groups = [
            numpy.clip(group, numpy.median(group) - reach, numpy.median(group) + reach)
            if len(group) > 2
            else group
            for group in groups
        ]
    means = numpy.array([group.mean() for group in groups])
    value, between = means.mean(), means.var(ddof=1)
    if not each:
        return value, math.sqrt(between / sets) / value if count > 5 else math.nan, 0
    within = (
        sum(((group - group.mean()) ** 2).sum() for group in groups)
        / (count - sets)
        * sum(1 / len(group) for group in groups)
        / sets
    )
    return (
        value,
        math.sqrt(within / sets) / value,
        math.sqrt(max(between - within, 0) / sets) / value,
    )


def of_median(n):
    """The variance of the median of so many normal values of variance 1."""
    return 1 / n if n < 3 else math.pi / 2 / (n + (0.48 if n % 2 else 1.3))


def side(results, identity):
    cells = [cell for result in results for cell in result["cells"] if cell["identity"] == identity]
    found = [process(cell) for cell in cells]
    values, errors, placed = map(numpy.array, zip(*found))
    clocks = [cell["sm_clock_mhz"] for cell in cells if cell["sm_clock_mhz"]]
    n = len(values)
    return {
        "n": n,
        "ns": numpy.median(values),
        "of_median": of_median(n),
        "within": math.sqrt((errors**2).mean()),
        "placed": (placed**2).mean(),
        "sd": numpy.log(values).std(ddof=1) if n > 1 else 0,
        "clock": numpy.median(clocks) if clocks else math.nan,
        "doubtful": any(DOUBTFUL & set(c["flags"]) for c in cells),
        "own": any("counter_differs" in cell["flags"] for cell in cells),
        "table_offsets": max(cell["table_offsets"] or 1 for cell in cells),
        "copies": max(cell["code_copies"] or 1 for cell in cells),
        "exact": [
            {
                name: counter["value"]
                for name, counter in cell["counters"].items()
                if counter["kind"] == "exact" and counter["status"] == "ok"
            }
            for cell in cells
        ],
    }


def scale_excess(factor, own, degrees, squares, prior):
    """0 at the greatest likelihood of F-distributed squares over the factor, and of one more
    that is 1 with the degrees `prior`."""
    x = squares / factor
    return (own * ((own + degrees) * x / (degrees + own * x) - 1)).sum() + prior * (1 / factor - 1)


def pair(base, new, cell):
    """What is known of a cell of both sides."""
    b, n = side(base, cell["identity"]), side(new, cell["identity"])
    copies = cell["parameters"].get("refill_bytes") and cell["path"] != "param"
    kind = "copies" if copies else cell["cache_state"]
    within = math.sqrt((b["within"] ** 2 + n["within"] ** 2) / 2)
    cause = "process" if (cell["workload"], kind, cell["path"]) in measured() else "widest"
    return known_of(b, n, kind, within, cause)


@functools.cache
def measured():
    """(workload, kind, path) of cells whose noise was measured, on both models of GPU here."""
    with open(os.path.join(ROOT, "harness/compare/deviation.c"), encoding="utf-8") as file:
        rows = re.findall(r'\{"(\w+)", CELLS_(\w+),([^}]*)\}', file.read())
    return {
        (workload, kind.lower(), path)
        for workload, kind, paths in rows
        for path in re.findall(r"\w+", paths)
    }


def known_of(b, n, kind, within=0, cause="process"):
    """What is known of two sides. kind: hot, cold or copies, which are hot."""
    own = b["n"] + n["n"] - 2
    squares = (b["n"] - 1) * b["sd"] ** 2 + (n["n"] - 1) * n["sd"] ** 2
    sd, degrees = default(cause, kind, b["ns"])
    return {
        "b": b,
        "n": n,
        "kind": kind,
        "cache_state": "cold" if kind == "cold" else "hot",
        "own": own,
        "sd_own": math.sqrt(squares / own) if own else 0,
        "prior": (0, 0) if math.isnan(within) else (max(sd, within), degrees),
    }


def scale_of(cells):
    """The factor of the prior's variance by what cells show, and the degrees of that."""
    seen = [c for c in cells if c["own"] and c["prior"][1]]
    if not seen:
        return 1, math.inf
    total, prior = sum(c["own"] for c in seen), max(c["prior"][1] for c in seen)
    squares = numpy.array(
        [(c["own"], c["prior"][1], (c["sd_own"] / c["prior"][0]) ** 2) for c in seen]
    ).T
    factor = optimize.brentq(scale_excess, 1e-9, 1e9, args=(*squares, prior))
    return factor, max(c["own"] for c in seen) * ((prior + total) / total) ** 2


def error_of(c, scaled, plans, apart):
    """The standard error of a ratio's logarithm and its degrees of freedom, by Satterthwaite; nan
    and 0 where nothing is known."""
    (b, n, (sd, degrees)), (factor, known) = (c["b"], c["n"], c["prior"]), scaled
    degrees = 1 / (1 / degrees + 1 / known) if degrees else 0
    both = degrees + c["own"]
    if not both:
        return math.nan, 0
    variance = (degrees * factor * sd**2 + c["own"] * c["sd_own"] ** 2) / both
    parts = [(variance * (b["of_median"] + n["of_median"]), both)]
    for cause, weight in apart.items():
        value, freedom = default(cause, c["kind"], b["ns"])
        parts.append((weight * value**2, freedom))
    if plans or b["table_offsets"] != n["table_offsets"] or b["copies"] != n["copies"]:
        plan, freedom = default("plan", c["kind"], b["ns"])
        parts.append((2 * (plan**2 + (b["placed"] + n["placed"]) / 2), freedom))
    total = sum(part for part, _ in parts)
    return math.sqrt(total), total**2 / sum(part**2 / df for part, df in parts if part)


def ratio_of(c, error, freedom, threshold):
    """The ratio, its interval, and p of a change beyond the threshold, before any correction."""
    b, n = c["b"], c["n"]
    ratio, clocks = n["ns"] / b["ns"], b["clock"] / n["clock"]
    clocks = clocks if clocks > 1.003 or 1 / clocks > 1.003 else 1
    logs = sorted((math.log(ratio), math.log(ratio / clocks)))
    half = stats.t.ppf(0.975, freedom) * error if freedom else math.inf
    change = min(map(abs, logs)) if logs[0] * logs[1] > 0 else 0
    excess = (change - math.log1p(threshold)) / error
    return {
        "ratio": ratio,
        "low": math.exp(logs[0] - half),
        "high": math.exp(logs[1] + half),
        "p": None if not freedom else 2 * stats.t.sf(excess, freedom) if excess > 0 else 1,
        "doubtful": b["doubtful"] or n["doubtful"],
        "severe": ratio > 1 and math.expm1(change) > 10 * threshold,
        "exact": n["own"]
        or any(
            read.get(key, value) != value
            for read in n["exact"]
            for key, value in b["exact"][0].items()
        ),
    }


def verdict_of(cell, threshold):
    significant = cell["p"] is not None and cell["p"] < 0.05
    if cell["exact"] or significant and (cell["severe"] or not cell["doubtful"]):
        return "regressed" if cell["exact"] or cell["ratio"] > 1 else "improved"
    alike = 1 / (1 + threshold) <= cell["low"] and cell["high"] <= 1 + threshold
    return "same" if alike else "inconclusive"


def judge(base, new, threshold, apart):
    """{identity: what is said of it} of the cells that both sides have, all of status ok."""
    names = [
        {cell["identity"]: cell for result in results for cell in result["cells"]}
        for results in (base, new)
    ]
    plans, judged = set(names[0]) != set(names[1]), {}
    cells = {
        name: pair(base, new, names[0][name])
        for name in names[0]
        if all(of.get(name, {}).get("status") == "ok" for of in names)
    }
    for cache_state in ("hot", "cold"):
        own = {name: c for name, c in cells.items() if c["cache_state"] == cache_state}
        scaled = scale_of(own.values())
        for name, c in own.items():
            judged[name] = ratio_of(c, *error_of(c, scaled, plans, apart), threshold)
    judge_together(judged.values(), threshold)
    return judged


def judge_together(cells, threshold):
    """Corrects p for all cells (Holm 1979), and sets their verdicts."""
    tested = sorted((c for c in cells if c["p"] is not None), key=lambda c: c["p"])
    least = 0
    for rank, cell in enumerate(tested):
        cell["p"] = least = max(least, min(1, cell["p"] * (len(tested) - rank)))
    for cell in cells:
        cell["verdict"] = verdict_of(cell, threshold)


class SecondJudge(Scratch):
    def test_it_says_what_compare_says(self):
        count = verdicts = 0
        for base, new, threshold, slower in self.comparisons():
            results = [
                [read_json(os.path.join(ROOT, "results", f"{name}.json")) for name in names]
                for names in (base, new)
            ]
            for cell in (
                cell for cell in results[1][0]["cells"][:slower] if cell["status"] == "ok"
            ):
                scale(cell, 1.02)
            paths = [
                ",".join(self.write(f"{letter}{i}.json", result) for i, result in enumerate(of))
                for letter, of in zip("bn", results)
            ]
            done = subprocess.run(
                [CBANK, "compare", *paths, f"--threshold={100 * threshold:g}", "--json", "-"],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            said = json.loads(done.stdout)  # tests/unit/test_judge.c has the weights by hand
            ours = judge(
                *results,
                threshold,
                {cause: said["gpus"][0][f"{cause}_weight"] for cause in ("occasion", "later")},
            )
            for cell in said["cells"]:
                if cell["ratio"]:
                    other = ours[cell["identity"]]
                    self.assertEqual(cell["verdict"], other["verdict"], (base, new, cell))
                    for key, name in (("value", "ratio"), ("ci_low", "low"), ("ci_high", "high")):
                        self.assertAlmostEqual(
                            cell["ratio"][key], other[name], delta=1e-7 if key != "value" else 1e-9
                        )
                    count, verdicts = count + 1, verdicts + (
                        cell["verdict"] not in ("same", "inconclusive")
                    )
        self.assertGreater(count, 1000)
        self.assertGreater(verdicts, 40)

    @staticmethod
    def comparisons():
        """(BASE, NEW, threshold, cells of NEW's first process that are made 2 % slower)"""
        for chip in ("h200", "h100"):
            processes = [f"{chip}/processes/process-{i:02}" for i in range(1, 11)]
            yield [f"{chip}/core-matrix"], [f"{chip}/second-process"], 0.002, 0
            yield [f"{chip}/core-matrix"], [f"{chip}/second-process"], 0.01, 24
            yield [f"chips/{chip}/core-matrix"], [f"{chip}/core-matrix"], 0.005, 3
            yield [f"{chip}/core-matrix"], [f"{chip}/all-paths"], 0.01, 200
            yield processes[:3], processes[7:], 0.002, 0
            yield processes[:1], processes[5:], 0.001, 30
            yield [f"{chip}/refill"], [f"{chip}/refill"], 0.01, 40
            yield [f"chips/{chip}/all-paths"], [f"{chip}/all-paths"], 0.01, 0


if __name__ == "__main__":
    unittest.main()
