# SPDX-License-Identifier: MIT
"""Figures that claims are about: cells of results, quotients of them with intervals, and numbers of
characterizations."""

import os
import statistics
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from cbank import Failure, documents  # noqa: E402
from cbank.documents import number  # noqa: E402
from cbank.errors import printable  # noqa: E402
from cbank.text import markdown_text  # noqa: E402

__all__ = ["Failure", "markdown_text", "printable"]  # which claims.py takes from here


class Missing(Exception):
    """A figure needs what no file has: a cell, a counter, the interval of a time."""


class Figure:
    """A number with its interval of 95 %, or with what it is from and to."""

    def __init__(self, value, low=None, high=None, spread=False):
        self.value, self.low, self.high = (
            value,
            value if low is None else low,
            value if high is None else high,
        )
        self.spread = spread

    def __truediv__(self, other):
        if other.low <= 0:
            raise Missing("quotient by 0")
        return Figure(self.value / other.value, self.low / other.high, self.high / other.low)

    def __sub__(self, other):
        return Figure(self.value - other.value, self.low - other.high, self.high - other.low)

    def text(self, form):
        low, high = f"{self.low:{form}}", f"{self.high:{form}}"
        ends = f", {low} to {high}" if self.spread else f" [{low}, {high}]"
        return f"{self.value:{form}}{'' if self.low == self.high else ends}"


def identity(cell):
    """A cell as "add constant per_warp 128000 [block size] key=value": what is left out is 1,024
    threads; all are hot."""
    words = cell.split()
    facts, parameters = words[:5], words[5:]
    if len(facts) < 5 or "=" in facts[4]:
        facts, parameters = [*words[:4], "1024"], words[4:]
    return "/".join((*facts, "hot", *parameters))


class Results:
    """The GPU, the cells of all files by their identity, and what was characterized."""

    def __init__(self, paths):
        self.device, self.cells, self.experiments, self.characterized = None, {}, {}, None
        for path in paths:
            document = documents.load(path)
            with documents.blamed([document]):
                self.take(document)
        if self.device is None:
            raise Failure("no file is a result; name one that cbank run wrote")
        if self.characterized and self.characterized["name"] != self.device["name"]:
            raise Failure(
                f"the characterization is of a GPU of another model, {self.characterized['name']}"
            )

    def take(self, document):
        content = document.content
        if document.kind == "characterization":
            self.experiments = {entry["name"]: entry for entry in content["experiments"]}
            self.characterized = content["device"]
        elif document.kind != "result" or content["engine"] != "cuda":
            raise Failure(
                f"{document.path} is not a measured result; claims are checked with measured"
                " results"
            )
        elif self.device and self.device["uuid"] != content["device"]["uuid"]:
            raise Failure(f"{document.path} is of another GPU than the files before it")
        else:
            self.device = self.device or content["device"]
            for cell in content["cells"]:
                if cell["status"] == "ok":
                    self.cells.setdefault(cell["identity"], cell)

    def header(self):
        other = self.characterized and self.characterized["uuid"] != self.device["uuid"]
        return f"{self.device['name']}, driver {self.device['driver']}" + (
            "; characterized: another GPU of that model" if other else ""
        )

    def cell(self, cell):
        found = self.cells.get(identity(cell))
        if not found:
            raise Missing(
                identity(cell).replace("/hot", "", 1).replace("/", " ").replace(" ", "/", 4)
            )
        return found

    def time(self, cell):
        time = self.cell(cell)["time_ns"]
        ends = [number(time[key]) for key in ("value", "ci_low", "ci_high")]
        if None in ends:
            raise Missing(f"interval of {cell}")
        return Figure(*ends)

    def counter(self, name, cell):
        counter = self.cell(cell)["counters"].get(name) or {}
        if counter.get("status") != "ok":
            raise Missing(name)
        return Figure(number(counter["value"]))

    def per_byte(self, kind, cell):
        value = number(self.cell(cell)["operations_per_byte"][kind])
        if value is None:
            raise Missing(f"operations per byte ({kind})")
        return Figure(value)

    def latency(self, path):
        return self.entry(f"latency_{path}", lambda its: its["numbers"][0])

    def entry(self, experiment, pick):
        try:
            its = pick(self.experiments[experiment])
            return Figure(*(its[key] + 0 for key in ("value", "low", "high")))
        except (LookupError, TypeError):
            raise Missing(experiment) from None


# -- figures: functions of the results -------------------------------------------------------------


def times(one, other):
    return lambda results: results.time(one) / results.time(other)


def difference(one, other):
    return lambda results: results.time(one) - results.time(other)


def counters(name, one, other, below=None):
    return lambda results: results.counter(name, one) / results.counter(below or name, other)


def per_byte(kind, path):
    return lambda results: results.per_byte(kind, CONVOLUTION.format(path))


def add(path, pattern="per_warp", elements=12800000):
    return f"add {path} {pattern} {elements}"


def distinct(count, stride):
    return f"add constant distinct 12800000 distinct={count} stride_bytes={stride}"


STENCIL_CELL, CONVOLUTION = (
    "stencil_1d {} lockstep 16777216 32",
    "conv_2d {} lockstep 16777216 radius=3",
)


def worst_shape(results):
    """The largest ratio of constant to global of all convolutions. Their filters are read in loops
    over constant bounds, which compile to the uniform load."""
    ratios = []
    for name, cell in results.cells.items():
        workload, path, *rest = (word for word in name.split("/") if word != "hot")
        shape = f"{workload} {{}} {' '.join(rest)}"
        known = cell["time_ns"]["value"] is not None and "cold" not in rest
        if workload.startswith("conv_") and path == "constant_uniform" and known:
            ratios.append(times(shape.format(path), shape.format("global"))(results))
    if not ratios:
        raise Missing("convolution of both memory spaces")
    return max(ratios, key=lambda ratio: ratio.value)


def l2_latency(results):
    """Its lines differ by their way to the SM: these are no ends of an interval."""
    latency = results.entry("geometry_global", lambda its: its["geometry"]["levels"][1]["latency"])
    return Figure(latency.value, latency.low, latency.high, spread=True)


def as_published(pattern, elements):
    """Ratio of constant to global as source 1 wrote the two kernels."""
    return times(
        f"add_switch constant {pattern} {elements}", f"add_runtime global {pattern} {elements}"
    )


def fills(stride):
    """How often an SM's first level fills each line of 32 addresses, without the lines of the
    kernel's parameters."""
    return lambda results: (
        results.counter("idc_misses_new", distinct(32, stride))
        - results.counter("idc_misses_new", add("global"))
    ) / Figure(32 * results.device["sm_count"])


def cost_line(results):
    """Sums of products of deviations of distinct addresses x and cycles a load y: sxx, sxy, syy."""
    x = (1, 2, 4, 8, 16, 32)
    y = [
        results.counter("idc_active_cycles", distinct(count, 4)).value / (12800000 // 32)
        for count in x
    ]
    dx, dy = ([value - statistics.fmean(values) for value in values] for values in (x, y))
    return [sum(a * b for a, b in zip(*pair)) for pair in ((dx, dx), (dx, dy), (dy, dy))]


def r_squared(results):
    sxx, sxy, syy = cost_line(results)
    return Figure(sxy * sxy) / Figure(sxx * syy)


def l1_misses(results):
    """Share of the sectors that scattered read-only loads ask L1 for and that reach L2."""
    scattered = add("readonly", "pseudo_random")
    reached = results.counter("l2_sectors", scattered) - results.counter(
        "l2_sectors", add("readonly")
    )
    return Figure(max(0, reached.value)) / results.counter("l1_sectors", scattered)


def l2_mb(results):
    if results.device["l2_bytes"] is None:
        raise Missing("l2_bytes")
    return Figure(number(results.device["l2_bytes"]) / 2**20)


def l1_kb(results):
    return results.entry(
        "geometry_global", lambda its: its["geometry"]["levels"][0]["fits_bytes"]
    ) / Figure(1024)
