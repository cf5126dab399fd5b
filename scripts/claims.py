#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is claimed of the constant path, and what results of one GPU say of it.

usage: claims.py [--parts] FILE...

FILEs are results of one GPU; a cell that is in several of them is taken from the first. Each line has a claim, the
published figure, the same figure from the cells of the results with its interval, and the verdict: the claim holds
where the whole interval lies in the limits that the line names, does not hold where none of it does, and is undecided
between. Intervals of times are those of the medians (95 %), of a quotient the quotients of their ends; counters have
none. A figure whose cells are in no file is said to be missing.

--parts takes the published add apart instead: its ratio of constant to global memory is that of the loads alone, times
what the jump table adds (the kernels choose the pattern at run time), times what the division adds (of the two
kernels that of global memory alone takes % by a length known at run time).
"""

import argparse
import json
import math
import sys

SOURCES = {
    1: "constant-memory add, RTX 3090",
    2: "nine-point stencil, Quadro P2000",
    3: "convolution with the filter in constant memory",
    4: "constant memory and its limits, CUDA 2.x",
}

# Milliseconds published for source 1: (pattern, elements): (constant, global).
PUBLISHED_ADD_MS = {
    ("per_block", 12800000): (0.151798, 0.171404), ("per_block", 128000): (0.00289792, 0.00323584),
    ("per_warp", 12800000): (0.164012, 0.189501), ("per_warp", 128000): (0.00315392, 0.00359392),
    ("per_thread", 12800000): (0.281967, 0.164649), ("per_thread", 128000): (0.00596992, 0.00383264),
    ("pseudo_random", 12800000): (1.2925, 0.159621), ("pseudo_random", 128000): (0.0215347, 0.00482304),
}
# What its text concludes, as limits of the ratio of constant to global.
CONCLUDED_ADD = {
    "per_block": ("about 10 % faster", 0.85, 0.95), "per_warp": ("about 10 % faster", 0.85, 0.95),
    "per_thread": ("70 % slower", 1.55, 1.85), "pseudo_random": ("800 % slower", 7, 10),
}
PUBLISHED_STENCIL_MS = (3.0644, 2.5796)  # constant, read-only


def fail(message):
    print(f"claims: error: {message}", file=sys.stderr)
    sys.exit(2)


class Missing(Exception):
    """A figure needs a cell or a counter that no file has."""


class Figure:
    """A number with its interval."""

    def __init__(self, value, low=None, high=None):
        self.value = value
        self.low = value if low is None else low
        self.high = value if high is None else high

    def __truediv__(self, other):
        return Figure(self.value / other.value, self.low / other.high, self.high / other.low)

    def __sub__(self, other):
        return Figure(self.value - other.value, self.low - other.high, self.high - other.low)

    def text(self, form):
        text = format(self.value, form)
        if self.low == self.high:
            return text
        return f"{text} [{format(self.low, form)}, {format(self.high, form)}]"


class Results:
    """The cells of all files."""

    def __init__(self, files):
        self.device = None
        self.cells = {}
        for name in files:
            self.read(name)

    def read(self, name):
        try:
            with open(name, encoding="utf-8") as file:
                result = json.load(file)
            device, cells = result["device"], result["cells"]
            identity = (result["engine"], device["uuid"])
            if identity[0] != "cuda":
                fail(f"{name} is modelled; claims are checked with measured results")
            if self.device and identity != self.identity:
                fail(f"{name} is of another GPU than the files before it")
            self.device, self.identity = device, identity
            for cell in cells:
                if cell["status"] == "ok":
                    self.cells.setdefault(self.key(cell), cell)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            fail(f"{name} is not a result: {error}")

    @staticmethod
    def key(cell):
        return (cell["workload"], cell["path"], cell["pattern"], cell["elements"], cell["block_size"], cell["regime"],
                tuple(sorted(cell.get("parameters", {}).items())))

    def cell(self, workload, path, pattern, elements, block_size=1024, **parameters):
        key = (workload, path, pattern, elements, block_size, "hot", tuple(sorted(parameters.items())))
        if key not in self.cells:
            raise Missing("/".join(str(part) for part in key[:5]) + "".join(f" {k}={v}" for k, v in key[6]))
        return self.cells[key]

    def time_ns(self, *words, **parameters):
        time = self.cell(*words, **parameters)["time_ns"]
        return Figure(time["median"], time["ci_low"], time["ci_high"])

    def counter(self, name, *words, **parameters):
        counter = self.cell(*words, **parameters)["counters"].get(name)
        if counter is None or counter["status"] != "ok":
            raise Missing(name)
        return Figure(counter["value"])


# -- figures ------------------------------------------------------------------------------------------------------


def as_published(results, pattern, elements):
    """Ratio of constant to global as the source wrote the two kernels."""
    return (results.time_ns("add_switch", "constant", pattern, elements) /
            results.time_ns("add_runtime", "global", pattern, elements))


def add_ratio(pattern, elements):
    return lambda results: as_published(results, pattern, elements)


def time_ratio(one, other):
    """Ratio of the times of two cells, each (words, parameters)."""
    return lambda results: results.time_ns(*one[0], **one[1]) / results.time_ns(*other[0], **other[1])


def stencil(path):
    return ("stencil_1d", path, "lockstep", 16777216, 32), {}


def conv_2d(path, radius=3):
    return ("conv_2d", path, "lockstep", 16777216), {"radius": radius}


def operations_per_byte(kind, path):
    def figure(results):
        words, parameters = conv_2d(path)
        value = (results.cell(*words, **parameters).get("operations_per_byte") or {}).get(kind)
        if value is None:
            raise Missing(f"operations per byte ({kind})")
        return Figure(value)
    return figure


def dram_ratio(results):
    words, parameters = conv_2d("constant")
    other, _ = conv_2d("global")
    return (results.counter("dram_read_bytes", *words, **parameters) /
            results.counter("dram_read_bytes", *other, **parameters))


def distinct(path, count, stride):
    return ("add", path, "distinct", 12800000), {"distinct": count, "stride_bytes": stride}


def fills_per_line(stride):
    """How often the first level of an SM fills each line of 32 addresses, `stride` bytes (a line or more) apart."""
    def figure(results):
        words, parameters = distinct("constant", 32, stride)
        lines = 32 * results.device["sm_count"]
        without = results.counter("idc_misses_new", "add", "global", "per_warp", 12800000)
        return Figure((results.counter("idc_misses_new", *words, **parameters) - without).value / lines)
    return figure


def counter_ratio(one, other, pattern):
    """Quotient of two counters of one cell of the constant path."""
    words = ("add", "constant", pattern, 12800000)
    return lambda results: results.counter(one, *words) / results.counter(other, *words)


def busy_ratio(results):
    """Cycles that the first level works for a pattern of two addresses a warp, over those for one."""
    return (results.counter("idc_active_cycles", "add", "constant", "half_warp", 12800000) /
            results.counter("idc_active_cycles", "add", "constant", "per_warp", 12800000))


def cost_fit(results):
    """(cycles for each further address, R squared) of the least-squares line through K = 1 .. 32."""
    counts = (1, 2, 4, 8, 16, 32)
    loads = 12800000 // 32
    cycles = [results.counter("idc_active_cycles", *distinct("constant", count, 4)[0],
                              **distinct("constant", count, 4)[1]).value / loads for count in counts]
    mean_x, mean_y = sum(counts) / len(counts), sum(cycles) / len(cycles)
    sxx = sum((x - mean_x) ** 2 for x in counts)
    sxy = sum((x - mean_x) * (y - mean_y) for x, y in zip(counts, cycles))
    syy = sum((y - mean_y) ** 2 for y in cycles)
    return sxy / sxx, sxy * sxy / (sxx * syy)


def refill_cost(path, size):
    def figure(results):
        return (results.time_ns("refill", path, "per_warp", 128000, refill_bytes=size) -
                results.time_ns("add", path, "per_warp", 128000))
    return figure


def alternation_cost(path):
    def figure(results):
        return (results.time_ns("modules", path, "per_warp", 128000, modules=2) -
                results.time_ns("modules", path, "per_warp", 128000, modules=1))
    return figure


def table_in_l1(results):
    """Part of the sectors that scattered read-only loads of the 64 KB table ask of L1 and that reach L2."""
    words = ("add", "readonly", "pseudo_random", 12800000)
    stream = results.counter("l2_sectors", "add", "readonly", "per_warp", 12800000)
    return Figure(max(0, results.counter("l2_sectors", *words).value - stream.value) /
                  results.counter("l1_sectors", *words).value)


def device_value(key, scale):
    return lambda results: Figure(results.device[key] * scale)


class Row:
    """A claim: its source, the published figure, the figure here and the limits in which it holds."""

    def __init__(self, source, claim, published, figure, form, low, high):
        self.source, self.claim, self.published, self.figure = source, claim, published, figure
        self.form, self.low, self.high = form, low, high

    def limits(self):
        if self.low is None:
            return ""
        if self.high == math.inf:
            return f"from {self.low:g}"
        return f"{self.low:g} to {self.high:g}"

    def verdict(self, figure):
        if self.low is None:
            return "measured"
        if self.low <= figure.low and figure.high <= self.high:
            return "holds"
        return "does not hold" if figure.high < self.low or figure.low > self.high else "undecided"

    def cells(self, results):
        """The columns of the line."""
        if self.figure is None:
            return [self.claim, self.published, "-", "", "not measured: no cell has a latency"]
        try:
            figure = self.figure(results)
        except Missing as missing:
            return [self.claim, self.published, "missing", "", f"no {missing}"]
        return [self.claim, self.published, figure.text(self.form), self.limits(), self.verdict(figure)]


def add_rows():
    for (pattern, elements), (constant, plain) in PUBLISHED_ADD_MS.items():
        words, low, high = CONCLUDED_ADD[pattern]
        yield Row(1, f"{pattern}, {elements}: constant {words}", f"{constant / plain:.3f}", add_ratio(pattern, elements), ".3f",
                  low, high)


ROWS = [
    *add_rows(),
    Row(2, "constant beats __ldg for uniform reads (time ratio)", "1.188",
        time_ratio(stencil("constant"), stencil("readonly")), ".4f", 0, 0.99),
    Row(2, "... and const __restrict__", "1.188", time_ratio(stencil("constant"), stencil("restrict")), ".4f", 0, 0.99),
    Row(2, "read-only beats constant, as its times say", "1.188",
        time_ratio(stencil("constant"), stencil("readonly")), ".4f", 1.01, math.inf),
    Row(2, "64 KB constant cache per SM: fills of a line, 2 KB read", "1", fills_per_line(64), ".1f", 1, 1.1),
    Row(2, "... 8 KB read", "1", fills_per_line(256), ".1f", 1, 1.1),
    Row(2, "48 KB read-only cache per SM: misses of a 64 KB table", "over 0.25", table_in_l1, ".4f", 0.2, 1),
    Row(3, "filter in global memory: ideal operations per byte", "0.25", operations_per_byte("ideal", "global"), ".2f", 0.25, 0.25),
    Row(3, "... of DRAM traffic (conv_2d, radius 3)", "0.25", operations_per_byte("dram", "global"), ".2f", 0.2, 0.3),
    Row(3, "... of L2 traffic", "0.25", operations_per_byte("l2", "global"), ".2f", 0.2, 0.3),
    Row(3, "filter in constant memory: ideal operations per byte", "0.5", operations_per_byte("ideal", "constant"), ".2f", 0.5, 0.5),
    Row(3, "... of DRAM traffic", "0.5", operations_per_byte("dram", "constant"), ".2f", 0.4, 0.6),
    Row(3, "... of L2 traffic", "0.5", operations_per_byte("l2", "constant"), ".2f", 0.4, 0.6),
    Row(3, "... which saves DRAM reads (constant to global)", "0.5", dram_ratio, ".4f", 0, 0.9),
    Row(3, "... and time (constant to global)", "-", time_ratio(conv_2d("constant"), conv_2d("global")), ".3f", 0, 0.99),
    Row(3, "L2 of hundreds of KB to a few MB: MB", "0.1 to 8", device_value("l2_bytes", 1 / 2**20), ".0f", 0.1, 8),
    Row(3, "L2 answers in tens of cycles", "10 to 99", None, "", None, None),
    Row(3, "L1 of 16 to 64 KB per SM: misses of a 64 KB table", "-", table_in_l1, ".4f", 0, 1),
    Row(3, "broadcast: requests for a load of one address", "1",
        counter_ratio("idc_requests", "ldc_instructions", "per_warp"), ".3f", 1, 1),
    Row(4, "8 KB constant cache per SM: fills of a line, 2 KB read", "1", fills_per_line(64), ".1f", 1, 1.1),
    Row(4, "16 threads, one address: free (busy cycles to per_warp)", "1",
        busy_ratio, ".3f", 0.95, 1.05),
    Row(4, "as fast as a register (conv_2d, time to no loads)", "1",
        time_ratio(conv_2d("constant"), conv_2d("staging")), ".3f", 0.95, 1.05),
    Row(4, "cost linear in distinct addresses: R squared", "1", lambda results: Figure(cost_fit(results)[1]), ".5f",
        0.999, 1),
    Row(4, "... cycles for one more", "-", lambda results: Figure(cost_fit(results)[0]), ".3f", None, None),
    *(Row(4, f"past 64 KB, refill of {size} bytes: ns a launch", "-", refill_cost("constant", size), ".0f",
          None, None) for size in (1024, 4096, 16384, 65536)),
    *(Row(4, f"... {size} bytes in global memory: ns a launch", "-", refill_cost("global", size), ".0f", None, None)
      for size in (1024, 4096, 16384, 65536)),
    Row(4, "... 2048 bytes as a kernel parameter (time to constant)", "-", time_ratio(
        (("add", "param", "per_warp", 128000), {}), (("add", "constant", "per_warp", 128000), {})), ".3f", None, None),
    Row(4, "past 64 KB, two modules alternating: ns a launch", "-", alternation_cost("constant"), ".0f", None, None),
    Row(4, "... with their tables in global memory: ns a launch", "-", alternation_cost("global"), ".0f", None, None),
]

# -- printing -----------------------------------------------------------------------------------------------------


def print_columns(rows, indent=""):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print((indent + "  ".join(text.ljust(width) for text, width in zip(row, widths))).rstrip())


def print_claims(results):
    lines = [["claim", "published", "here [95 %]", "holds if", "verdict"]]
    lines += [row.cells(results) for row in ROWS]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    print(f"{results.device['name']}, driver {results.device['driver']}")
    print("  ".join(text.ljust(width) for text, width in zip(lines[0], widths)).rstrip())
    source = None
    for row, line in zip(ROWS, lines[1:]):
        if row.source != source:
            source = row.source
            print(f"-- {source}. {SOURCES[source]}")
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())


def print_parts(results):
    lines = [["pattern", "elements", "published", "as written", "= loads", "x jump table", "x division"]]
    for (pattern, elements), (constant, plain) in PUBLISHED_ADD_MS.items():
        def time(workload, path):
            return results.time_ns(workload, path, pattern, elements)
        try:
            switch = (time("add_switch", "constant") / time("add", "constant"),
                      time("add_switch", "global") / time("add", "global"))
            figures = [as_published(results, pattern, elements), time("add", "constant") / time("add", "global"),
                       switch[0] / switch[1], time("add_switch", "global") / time("add_runtime", "global")]
            lines.append([pattern, str(elements), f"{constant / plain:.3f}"] + [figure.text(".3f") for figure in figures])
        except Missing as missing:
            fail(f"no file has {missing}; measure with cbank run --workload add,add_switch,add_runtime")
    print(f"{results.device['name']}, driver {results.device['driver']}: time through constant / time through global")
    print_columns(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", action="store_true", help="take the published add apart")
    parser.add_argument("files", metavar="FILE", nargs="+")
    options = parser.parse_args()
    results = Results(options.files)
    (print_parts if options.parts else print_claims)(results)


if __name__ == "__main__":
    main()
