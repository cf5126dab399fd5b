#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fits the times on a card to results of a GPU.

usage: fit_card.py --card CARD [--program build/cbank] [--check RESULT]... -o CARD RESULT...

For each group of parameters (GROUPS below) least squares of log(measured / modelled), with a robust loss, over the ok
cells that the group is about; the model is that of the program (cbank explain). Groups are fitted one after the other,
ROUNDS times, since each takes the others' values. A parameter that the cells do not determine (its interval would be
wider than half its value) stays what it was. So does a group whose cells are not better predicted than before. What
characterize found, or the driver says, is not fitted. What counters or the program itself measured (OBSERVED) is
taken from there. Prints every parameter before and after with its interval, and how well each file is predicted before
and after, those of --check too, which nothing is fitted to. The same input gives the same output.

Exit status 0; 2 for bad input; 3 without scipy, or where the program fails.
"""

import argparse
import collections
import concurrent.futures
import copy
import hashlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile


ROUNDS = 2
SMALL = 0.1          # residual from which the loss grows more slowly (soft_l1): where cells are to be within
STEP = 0.01          # of the Jacobian, as a part of the value
HALF_MAX = 0.5       # of the value: interval of a parameter that is determined
DIGITS = 4
FITTED_FROM = ("fitted", "assumed", "counted")  # origins of values that a fit may replace
LONG_NS = 10000
LIMIT = 0.1          # cells are to be within: as in cbank explain
KEYS = ("workload", "path", "pattern", "elements", "block_size", "regime")
ID_DIGITS = 12
EXECUTED = "instructions"  # the one counter that times are predicted from

# Which cells: values of the keys of a cell, or limits of a number.
ADD = {"workload": ("add",), "block_size": (1024,), "path": ("global", "readonly")}
GROUPS = (
    # name, cells, {parameter: (lowest, highest)}
    ("first wave", {**ADD, "path": ("constant", "global", "readonly"), "elements": (120000, 300000)},
     {"wave_ns": (100, 5000), "cold_ns": (10, 5000), "l1_miss_cycles": (0.05, 50)}),
    ("blocks", {**ADD, "elements": (1000000, 1 << 30)},
     {"block_l2_ns": (50, 5000), "block_dram_ns": (50, 5000), "block_write_back_ns": (10, 5000),
      "l2_kept_bytes": (1 << 20, 1 << 30), "l2_dirty_bytes": (1 << 20, 1 << 30), "block_launch_ns": (0.01, 10)}),
    ("constant", {**ADD, "path": ("constant",)},
     {"levels.idc.miss_cycles": (0.1, 100), "levels.idc.miss_latency_cycles": (5, 2000),
      "levels.gcc.request_cycles": (0.1, 50), "levels.idc.request_cycles": (0.2, 50)}),
    ("L2", {**ADD, "path": ("global_l2",)}, {"l2_request_ns": (0.01, 20)}),
    ("texture", {**ADD, "path": ("texture",)}, {"texture_requests_per_cycle": (0.02, 8)}),
    ("staging", {**ADD, "path": ("shared", "staging")},
     {"staging_wait_cycles": (10, 5000), "staging_round_cycles": (5, 2000)}),
    ("refill", {"workload": ("refill",), "path": ("constant", "global", "readonly")},
     {"copy_ns": (100, 100000), "copy_bytes_per_ns": (0.1, 1000)}),
)

# What the results say by themselves: (parameter, origin, method, of a file or of a cell, cells, value).
# Counters: of cells whose table is in global memory what every SM with a block fetches beside it.


def counted(cell, *names):
    values = [cell["counters"].get(name, {}).get("value") for name in names]
    return None if None in values else values[0] - sum(values[1:])


OBSERVED = (
    ("launch_ns", "fitted", "median of what results say of an empty launch, least and largest of them", None,
     lambda device, _: device["launch_ns"]),
    ("parameter_lines", "counted", "idc_misses_new of cells with the table in global memory, for each SM",
     {**ADD, "elements": (1 << 18, 1 << 30)},
     lambda device, cell: per_sm(device, counted(cell, "idc_misses_new"))),
    ("immediate_lines", "counted",
     "gcc_constant_requests less idc_misses_new of cells with the table in global memory, for each SM",
     {**ADD, "elements": (1 << 18, 1 << 30)},
     lambda device, cell: per_sm(device, counted(cell, "gcc_constant_requests", "idc_misses_new"))),
)
METHOD = ("least squares of log(measured / modelled), soft L1 loss; interval from the Jacobian and the scatter of the "
          "cells, as if each were by itself; cells: {}")


def per_sm(device, value):
    return None if value is None else value / device["sm_count"]


def fail(message, status=2):
    print(f"fit_card: error: {message}", file=sys.stderr)
    sys.exit(status)


try:
    import numpy
    from scipy import optimize, stats
except ImportError as missing:
    fail(f"{missing}; install it: apt-get install python3-scipy", 3)


def rounded(value):
    return value if value == int(value) and abs(value) < 1000 else float(f"{value:.{DIGITS}g}")


# -- cards and results --------------------------------------------------------------------------------------------


def read_json(path, name, program):
    """(the file's value, its SHA-256) of a file whose schema has that name."""
    try:
        with open(path, "rb") as file:
            text = file.read()
        value = json.loads(text)
        if value["schema"]["name"] != name:
            fail(f"{path} is a {value['schema']['name']}, not a {name}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        fail(f"{path} is no {name}: {error}")
    return value, hashlib.sha256(text).hexdigest()


def member(card, path):
    """(object, key) of a parameter; (None, None) where the card has no such level."""
    parts = path.split(".")
    if len(parts) == 1:
        return card, path
    levels = [level for level in card["levels"] if level["name"] == parts[1]]
    return (levels[0], parts[2]) if levels else (None, None)


def value_of(card, path):
    owner, key = member(card, path)
    return None if owner is None else owner.get(key)


def set_value(card, path, value):
    owner, key = member(card, path)
    owner[key] = round(value) if isinstance(owner[key], int) and path.endswith(("_bytes", "_lines")) else value


def selected(cell, cells):
    """Whether a cell is one of those."""
    for key, values in cells.items():
        if isinstance(values[0], str) or key != "elements":
            if cell[key] not in values:
                return False
        elif not values[0] <= cell[key] <= values[1]:
            return False
    return True


def timed(cell):
    return cell["status"] == "ok" and cell["time_ns"]["value"]


class Results:
    def __init__(self, paths, program):
        self.files = []
        for path in paths:
            result, sha256 = read_json(path, "cbank-result", program)
            self.files.append({"path": path, "sha256": sha256, "result": result})

    def evidence(self):
        return [file["sha256"][:ID_DIGITS] for file in self.files]

    def cells(self, cells):
        for file in self.files:
            for cell in file["result"]["cells"]:
                if timed(cell) and selected(cell, cells):
                    yield file["result"]["device"], cell


class Model:
    """The program's predictions of some cells."""

    def __init__(self, program, folder, results, cells):
        self.program, self.folder, self.cells, self.paths, self.measured = program, folder, cells, [], []
        for i, file in enumerate(results.files):
            reduced = dict(file["result"])
            reduced["cells"] = [{**cell, "counters": {name: value for name, value in cell["counters"].items()
                                                      if name == EXECUTED}} for cell in reduced["cells"]
                                if timed(cell) and selected(cell, cells)]
            if not reduced["cells"]:
                continue
            path = os.path.join(folder, f"{id(self)}-{i}.json")
            with open(path, "w", encoding="utf-8") as out:
                json.dump(reduced, out)
            self.paths.append(path)
            self.measured += [cell["time_ns"]["value"] for cell in reduced["cells"]]

    def residuals(self, card):
        """log(measured / modelled) of each cell."""
        with tempfile.NamedTemporaryFile("w", dir=self.folder, suffix=".json", encoding="utf-8") as file:
            json.dump(card, file)
            file.flush()
            done = subprocess.run([self.program, "explain", *self.paths, "--card", file.name, "--json"],
                                  capture_output=True, text=True, check=False)
        if done.returncode:
            fail(f"{self.program} explain: {done.stderr.strip()}", 3)
        modelled = [cell["modelled"]["time_ns"] for result in json.loads(done.stdout)["results"]
                    for cell in result["cells"]]
        return numpy.log(numpy.array(self.measured) / numpy.array(modelled))


# -- fitting ------------------------------------------------------------------------------------------------------


def changed(card, names, logarithms):
    card = copy.deepcopy(card)
    for name, logarithm in zip(names, logarithms):
        set_value(card, name, math.exp(logarithm))
    return card


def jacobian(model, card, names, point):
    """Columns of central differences, two programs at a time."""
    points = [changed(card, names, [x + (sign if i == at else 0) for at, x in enumerate(point)])
              for i in range(len(point)) for sign in (STEP, -STEP)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        shifted = list(pool.map(model.residuals, points))
    columns = [(shifted[2 * i] - shifted[2 * i + 1]) / (2 * STEP) for i in range(len(point))]
    return numpy.array(columns).T.reshape(len(model.measured), len(point))


Fitted = collections.namedtuple("Fitted", "values halves cost cells")


def solve(model, card, names, limits):
    """The parameters `names` of one group: logarithms and half intervals, least cost."""
    start = [math.log(value_of(card, name)) for name in names]
    lowest, highest = ([math.log(limits[name][i]) for name in names] for i in (0, 1))
    solution = optimize.least_squares(
        lambda point: model.residuals(changed(card, names, point)),
        [min(max(x, low + 1e-6), high - 1e-6) for x, low, high in zip(start, lowest, highest)],
        jac=lambda point: jacobian(model, card, names, point), bounds=(lowest, highest),
        loss="soft_l1", f_scale=SMALL, xtol=1e-4, ftol=1e-5, max_nfev=12)
    count = len(model.measured)
    scatter = 2 * solution.cost / max(count - len(names), 1)
    covariance = scatter * numpy.linalg.pinv(solution.jac.T @ solution.jac)
    size = numpy.sqrt((solution.jac ** 2).sum(axis=0))
    halves = stats.t.ppf(0.975, max(count - len(names), 1)) * numpy.sqrt(numpy.diag(covariance))
    halves = [half if one > 1e-6 * math.sqrt(count) else math.inf for half, one in zip(halves, size)]
    return Fitted(list(solution.x), halves, solution.cost, count)


def cost_of(model, card):
    rest = (model.residuals(card) / SMALL) ** 2
    return SMALL ** 2 * float((numpy.sqrt(1 + rest) - 1).sum())


def fittable(card, name):
    """Why a parameter is not fitted; None where it is."""
    value = value_of(card, name)
    origin = card.get("origins", {}).get(name, {}).get("from", "assumed")
    if value is None:
        return "the card has none"
    if origin not in FITTED_FROM:
        return origin
    return None if value > 0 else "0"


def fit_group(model, card, limits, names):
    """The card with the group fitted; of its parameters {name: (low, high, cells)}; of those that are not determined,
    which leave one after the other, the worst first, {name: why}."""
    names, left = list(names), {}
    while names:
        fitted = solve(model, card, names, limits)
        worst = max(range(len(names)), key=lambda i: fitted.halves[i])
        if fitted.halves[worst] <= math.log(1 + HALF_MAX):
            break
        left[names[worst]] = "the cells do not determine it"
        del names[worst]
    if not names:
        return card, {}, left
    new = copy.deepcopy(card)
    found = {}
    for name, logarithm, half in zip(names, fitted.values, fitted.halves):
        set_value(new, name, rounded(math.exp(logarithm)))
        found[name] = (math.exp(logarithm - half), math.exp(logarithm + half), fitted.cells)
    return new, found, left


class Fit:
    def __init__(self, options, folder):
        self.results = Results(options.results, options.program)
        self.before, _ = read_json(options.card, "cbank-card", options.program)
        self.card = copy.deepcopy(self.before)
        self.program, self.folder = options.program, folder
        self.origins, self.notes, self.better = {}, {}, {}

    def observe(self):
        for name, origin, method, cells, value in OBSERVED:
            if cells is None:
                values = [value(file["result"]["device"], None) for file in self.results.files]
            else:
                values = [value(device, cell) for device, cell in self.results.cells(cells)]
            values = sorted(one for one in values if one)
            if not values:
                self.notes[name] = "no result says it"
            elif fittable(self.card, name):
                self.notes[name] = fittable(self.card, name)
            else:
                set_value(self.card, name, rounded(statistics.median(values)))
                self.origins[name] = {"from": origin, "method": method, "low": rounded(values[0]),
                                      "high": rounded(values[-1]), "samples": len(values)}

    def fit(self):
        models = [(group, Model(self.program, self.folder, self.results, group[1])) for group in GROUPS]
        for group, limits, model in [(*group[::2], model) for group, model in models] * ROUNDS:
            self.fit_group(group, limits, model)

    def fit_group(self, group, limits, model):
        """Fits the parameters of one group that can be."""
        whys = {name: fittable(self.card, name) for name in limits}
        names = [name for name in limits if not whys[name]]
        if len(model.measured) <= len(names):
            whys.update({name: "too few cells" for name in names})
            names = []
        self.notes.update({name: why for name, why in whys.items() if why})
        if not names:
            return
        old = cost_of(model, self.card)
        new, found, notes = fit_group(model, self.card, limits, names)
        cost = cost_of(model, new)
        self.better[group] = (len(model.measured), self.better.get(group, (0, old))[1], min(cost, old))
        if cost < old:
            self.card = new
        for name in names:
            self.notes.pop(name, None)
            self.origins.pop(name, None)
        self.notes.update(notes)
        for name, (low, high, count) in found.items():
            self.origins[name] = {"from": "fitted", "method": METHOD.format(describe(model.cells)),
                                  "low": rounded(low), "high": rounded(high), "samples": count}

    def finish(self):
        """The new card: values, origins and evidence."""
        evidence = self.results.evidence()
        origins = self.card.setdefault("origins", {})
        for name, origin in self.origins.items():
            origins[name] = {**origin, "evidence": evidence}
        for name, note in self.notes.items():
            if name in origins and note not in ("characterized", "device", "published"):
                # Fitted once, by the card that this began with, to results that are not among these.
                before = {"from": "assumed", "method": "that of the card that the fit began with"}
                origins[name] = {**(before if origins[name]["from"] == "fitted" else origins[name]),
                                 "reason": f"not fitted: {note}"}
        for file in self.results.files:
            self.card.setdefault("evidence", {})[file["sha256"][:ID_DIGITS]] = {
                "file": file["path"], "sha256": file["sha256"]}
        return self.card


def describe(cells):
    return "; ".join(f"{key} {values[0]} to {values[1]}" if key == "elements" else f"{key} {', '.join(map(str, values))}"
                     for key, values in cells.items())


# -- printing -----------------------------------------------------------------------------------------------------


def print_table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def print_parameters(fit):
    rows = [["parameter", "before", "after", "95 % interval", "cells", ""]]
    for name in [name for name, *_ in OBSERVED] + [name for group in GROUPS for name in group[2]]:
        before, after = value_of(fit.before, name), value_of(fit.card, name)
        if before is None:
            continue
        origin = fit.origins.get(name)
        interval = f"{origin['low']:g} to {origin['high']:g}" if origin else "-"
        rows.append([name, f"{before:g}", f"{after:g}", interval, str(origin["samples"]) if origin else "-",
                     fit.notes.get(name, "")])
    print_table(rows)


def quality(model, card):
    """(cells, root mean square of log(measured / modelled), long ones, of them within the limit, short ones, ...)."""
    rest = model.residuals(card)
    over = numpy.abs(1 - numpy.exp(-rest)) > LIMIT
    long = numpy.array(model.measured) > LONG_NS
    return (len(rest), math.sqrt(float((rest ** 2).mean())), int((long & ~over).sum()), int(long.sum()),
            int((~long & ~over).sum()), int((~long).sum()))


def print_files(program, folder, fit, paths, title):
    rows = [[title, "cells", "rms before", "after", "over 10 us within 10 %", "after", "up to 10 us", "after"]]
    for path in paths:
        model = Model(program, folder, Results([path], program), {})
        if not model.paths:
            continue
        before, after = quality(model, fit.before), quality(model, fit.card)
        rows.append([path, str(before[0]), f"{before[1]:.4f}", f"{after[1]:.4f}",
                     f"{before[2]} of {before[3]}", f"{after[2]} of {after[3]}",
                     f"{before[4]} of {before[5]}", f"{after[4]} of {after[5]}"])
    print_table(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--card", required=True, metavar="CARD", help="card to begin from")
    parser.add_argument("--program", default="build/cbank", help="the built program")
    parser.add_argument("--check", action="append", default=[], metavar="RESULT", help="predicted, not fitted to")
    parser.add_argument("-o", "--output", required=True, metavar="CARD", help="where the new card goes")
    parser.add_argument("results", nargs="+", metavar="RESULT")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fit = Fit(options, folder)
        fit.observe()
        fit.fit()
        card = fit.finish()
        try:
            with open(options.output, "w", encoding="utf-8") as file:
                json.dump(card, file, indent=1)
                file.write("\n")
        except OSError as error:
            fail(f"cannot write {options.output}: {error}")
        print_parameters(fit)
        print()
        print_table([["group", "cells", "cost before", "after"]] +
                    [[name, str(count), f"{old:.5f}", f"{new:.5f}"] for name, (count, old, new) in fit.better.items()])
        print()
        print_files(options.program, folder, fit, options.results, "fitted to")
        if options.check:
            print()
            print_files(options.program, folder, fit, options.check, "not fitted to")


if __name__ == "__main__":
    main()
