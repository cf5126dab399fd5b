#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is claimed of the constant path, and what results of one GPU say of it.

usage: claims.py [--parts] [--program build/cbank] FILE...

FILEs are results of one GPU, and characterizations of that GPU or another of its model; a cell that is in several of
them is taken from the first. Each line has a claim, the
published figure, the same figure from the cells of the results with its interval, and the verdict: the claim holds
where the whole interval lies in the limits that the line names, does not hold where none of it does, and is undecided
between. Times are trimmed means over the placements, and their intervals those by Student's t (95 %); of a quotient the
quotients of their ends; counters have none. A figure is missing where no file has its cells, or these lack a counter or
the interval of a time.

--parts takes the published add apart instead: its ratio of constant to global memory is that of the loads alone, times
what the jump table adds (the kernels choose the pattern at run time), times what the division adds (of the two
kernels that of global memory alone takes % by a length known at run time).

Exit status 0; 2 for what is not a measured result of that GPU and, with --parts, where a figure is missing.
"""

import argparse
import math
import statistics
import sys

import upgrade

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
PUBLISHED_STENCIL_MS = (3.0644, 2.5796)  # source 2: constant, read-only
REFILLS = (1024, 4096, 16384, 65536)  # bytes


def fail(message):
    print(f"claims: error: {message}", file=sys.stderr)
    sys.exit(2)


class Missing(Exception):
    """A figure needs what no file has: a cell, a counter, the interval of a time."""


def number(value, above=-math.inf):
    """A number, or None where there is none. Counters that are a difference of others can be negative."""
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and above < value < math.inf:
        return float(value)
    raise ValueError(f"{value!r} is not a number")


class Figure:
    """A number with its interval."""

    def __init__(self, value, low=None, high=None):
        self.value = value
        self.low = value if low is None else low
        self.high = value if high is None else high

    def __truediv__(self, other):
        if other.low <= 0:
            raise Missing("quotient by 0")
        return Figure(self.value / other.value, self.low / other.high, self.high / other.low)

    def __sub__(self, other):
        return Figure(self.value - other.value, self.low - other.high, self.high - other.low)

    def text(self, form):
        text = format(self.value, form)
        if self.low == self.high:
            return text
        return f"{text} [{format(self.low, form)}, {format(self.high, form)}]"


# -- results ------------------------------------------------------------------------------------------------------


def cell(workload, path, pattern, elements, block_size=1024, regime="hot", **parameters):
    """The identity of a cell; parameters in the order of the program's table."""
    return "/".join(map(str, (workload, path, pattern, elements, block_size, regime,
                              *(f"{name}={value}" for name, value in parameters.items()))))


def cell_name(identity):
    """The regime is not said: figures are of hot cells."""
    parts = identity.split("/")
    return "/".join(parts[:5]) + "".join(f" {parameter}" for parameter in parts[6:])


def measured(entry):
    """What figures are made of, checked."""
    return {"time": [number(entry["time_ns"][key], above=0) for key in ("value", "ci_low", "ci_high")],
            "counters": {name: number(counter["value"]) for name, counter in entry["counters"].items()
                         if counter["status"] == "ok"},
            "operations_per_byte": {kind: number(value)
                                    for kind, value in entry.get("operations_per_byte", {}).items()}}


class Results:
    """The GPU, and the cells of all files by their identity."""

    def __init__(self, files, program=None):
        self.device = None
        self.cells = {}
        self.experiments, self.characterized = {}, None
        for name in files:
            try:
                self.take(name, upgrade.read(name, program))
            except KeyError as error:
                fail(f"{name} is not a result: no {error}")
            except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
                fail(f"{name} is not a result: {error}")

    def take(self, name, result):
        """The content of a file of the newest version."""
        schema = result["schema"]
        if schema["name"] == "cbank-characterization" and schema["version"].split(".")[0] in ("1", "2"):
            self.experiments = {entry["name"]: entry for entry in result["experiments"]}
            self.characterized = {key: result["device"][key] for key in ("uuid", "name")}
            return
        if result["schema"]["name"] != "cbank-result" or result["schema"]["version"].split(".")[0] != "2":
            raise ValueError("its schema is not that of a result of version 1 or 2")
        if result["engine"] != "cuda":
            fail(f"{name} is modelled; claims are checked with measured results")
        device = {key: result["device"][key] for key in ("uuid", "name", "driver")}
        device.update((key, number(result["device"][key])) for key in ("sm_count", "l2_bytes"))
        self.device = self.device or device
        if device["uuid"] != self.device["uuid"]:
            fail(f"{name} is of another GPU than the files before it")
        for entry in result["cells"]:
            if entry["status"] == "ok":
                self.cells.setdefault(entry["identity"], measured(entry))

    def header(self):
        """The characterization may be of another GPU, but not of another model."""
        if self.device is None:
            fail("no file is a result")
        text = f"{self.device['name']}, driver {self.device['driver']}"
        if self.characterized is None or self.characterized["uuid"] == self.device["uuid"]:
            return text
        if self.characterized["name"] != self.device["name"]:
            fail(f"the characterization is of a GPU of another model, {self.characterized['name']}")
        return f"{text}; characterized: another GPU of that model"

    def found(self, experiment, value):
        """A number of a characterization, given what picks it from an experiment."""
        try:
            picked = value(self.experiments[experiment])
            ends = [number(picked[key]) for key in ("value", "low", "high")]
        except (KeyError, IndexError, TypeError):
            raise Missing(experiment) from None
        if None in ends:
            raise Missing(experiment)
        return Figure(*ends)

    def gpu(self, key):
        if self.device[key] is None:
            raise Missing(key)
        return Figure(self.device[key])

    def cell(self, identity):
        if identity not in self.cells:
            raise Missing(cell_name(identity))
        return self.cells[identity]

    def time_ns(self, identity):
        time = self.cell(identity)["time"]
        if None in time:
            raise Missing(f"interval of {cell_name(identity)}")
        return Figure(*time)

    def counter(self, name, identity):
        value = self.cell(identity)["counters"].get(name)
        if value is None:
            raise Missing(name)
        return Figure(value)

    def operations_per_byte(self, kind, identity):
        value = self.cell(identity)["operations_per_byte"].get(kind)
        if value is None:
            raise Missing(f"operations per byte ({kind})")
        return Figure(value)


# -- cells --------------------------------------------------------------------------------------------------------


def add(path, pattern="per_warp", elements=12800000):
    return cell("add", path, pattern, elements)


def distinct(count, stride):
    return cell("add", "constant", "distinct", 12800000, distinct=count, stride_bytes=stride)


def stencil(path):
    return cell("stencil_1d", path, "lockstep", 16777216, 32)


def conv_2d(path):
    return cell("conv_2d", path, "lockstep", 16777216, radius=3)


def modules(path, count):
    return cell("modules", path, "per_warp", 128000, modules=count)


# -- figures: functions of the results ----------------------------------------------------------------------------


def time_ratio(one, other):
    return lambda results: results.time_ns(one) / results.time_ns(other)


def time_difference(one, other):
    return lambda results: results.time_ns(one) - results.time_ns(other)


def as_published(pattern, elements):
    """Ratio of constant to global as the source wrote the two kernels."""
    return time_ratio(cell("add_switch", "constant", pattern, elements),
                      cell("add_runtime", "global", pattern, elements))


def refill_cost(path, size):
    return time_difference(cell("refill", path, "per_warp", 128000, refill_bytes=size), add(path, elements=128000))


def alternation_cost(path):
    return time_difference(modules(path, 2), modules(path, 1))


def operations_per_byte(kind, path):
    return lambda results: results.operations_per_byte(kind, conv_2d(path))


def counter_ratio(one, other):
    """Quotient of two counters, each (name, cell)."""
    return lambda results: results.counter(*one) / results.counter(*other)


def fills_per_line(stride):
    """How often the first level of an SM fills each line of 32 addresses, `stride` bytes (a line or more) apart."""
    def figure(results):
        # Every kernel fills the lines of its parameters, too.
        parameters = results.counter("idc_misses_new", add("global"))
        fills = results.counter("idc_misses_new", distinct(32, stride)) - parameters
        return fills / Figure(32 * results.gpu("sm_count").value)
    return figure


def cost_line(results):
    """Least-squares line of cycles a load over K = 1 .. 32 distinct addresses: the sums sxx, sxy and syy of products
    of deviations from the means."""
    counts = (1, 2, 4, 8, 16, 32)
    loads = 12800000 // 32
    cycles = [results.counter("idc_active_cycles", distinct(count, 4)).value / loads for count in counts]
    mean_x, mean_y = statistics.fmean(counts), statistics.fmean(cycles)
    return (sum((x - mean_x) ** 2 for x in counts),
            sum((x - mean_x) * (y - mean_y) for x, y in zip(counts, cycles)),
            sum((y - mean_y) ** 2 for y in cycles))


def cost_of_address(results):
    sxx, sxy, _ = cost_line(results)
    return Figure(sxy / sxx)


def cost_r_squared(results):
    sxx, sxy, syy = cost_line(results)
    return Figure(sxy * sxy) / Figure(sxx * syy)


def l1_misses(results):
    """Part of the sectors that scattered read-only loads of the 64 KB table ask of L1 and that reach L2."""
    scattered = add("readonly", "pseudo_random")
    stream = results.counter("l2_sectors", add("readonly"))
    reached = results.counter("l2_sectors", scattered) - stream
    return Figure(max(0, reached.value)) / results.counter("l1_sectors", scattered)


def l2_latency(results):
    return results.found("latency_global_l2", lambda entry: entry["numbers"][0])


def l1_kb(results):
    """The largest region that can be walked without a miss of L1, of which shared memory takes nothing."""
    fits = results.found("geometry_global", lambda entry: entry["geometry"]["levels"][0]["fits_bytes"])
    return fits / Figure(2**10)


def l2_mb(results):
    return results.gpu("l2_bytes") / Figure(2**20)


# -- claims -------------------------------------------------------------------------------------------------------


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

    def columns(self, results):
        try:
            figure = self.figure(results)
        except Missing as missing:
            return [self.claim, self.published, "missing", "", f"no {missing}"]
        return [self.claim, self.published, figure.text(self.form), self.limits(), self.verdict(figure)]


def add_rows():
    for (pattern, elements), (constant, plain) in PUBLISHED_ADD_MS.items():
        words, low, high = CONCLUDED_ADD[pattern]
        yield Row(1, f"{pattern}, {elements}: constant {words}", f"{constant / plain:.3f}",
                  as_published(pattern, elements), ".3f", low, high)


def published_stencil():
    constant, read_only = PUBLISHED_STENCIL_MS
    return f"{constant / read_only:.3f}"


ROWS = [
    *add_rows(),
    Row(2, "constant beats __ldg for uniform reads (time ratio)", published_stencil(),
        time_ratio(stencil("constant"), stencil("readonly")), ".4f", 0, 0.99),
    Row(2, "... and const __restrict__", published_stencil(),
        time_ratio(stencil("constant"), stencil("restrict")), ".4f", 0, 0.99),
    Row(2, "read-only beats constant, as its times say", published_stencil(),
        time_ratio(stencil("constant"), stencil("readonly")), ".4f", 1.01, math.inf),
    Row(2, "64 KB constant cache per SM: fills of a line, 2 KB read", "1", fills_per_line(64), ".1f", 0.9, 1.1),
    Row(2, "... 8 KB read", "1", fills_per_line(256), ".1f", 0.9, 1.1),
    Row(2, "48 KB read-only cache per SM: misses of a 64 KB table", "over 0.25", l1_misses, ".4f", 0.2, 1),
    Row(3, "filter in global memory: ideal operations per byte", "0.25",
        operations_per_byte("ideal", "global"), ".2f", 0.25, 0.25),
    Row(3, "... of DRAM traffic (conv_2d, radius 3)", "0.25", operations_per_byte("dram", "global"), ".2f", 0.2, 0.3),
    Row(3, "... of L2 traffic", "0.25", operations_per_byte("l2", "global"), ".2f", 0.2, 0.3),
    Row(3, "filter in constant memory: ideal operations per byte", "0.5",
        operations_per_byte("ideal", "constant"), ".2f", 0.5, 0.5),
    Row(3, "... of DRAM traffic", "0.5", operations_per_byte("dram", "constant"), ".2f", 0.4, 0.6),
    Row(3, "... of L2 traffic", "0.5", operations_per_byte("l2", "constant"), ".2f", 0.4, 0.6),
    Row(3, "... which saves DRAM reads (constant to global)", "0.5",
        counter_ratio(("dram_read_bytes", conv_2d("constant")), ("dram_read_bytes", conv_2d("global"))), ".4f", 0, 0.9),
    Row(3, "... and time (constant to global)", "-",
        time_ratio(conv_2d("constant"), conv_2d("global")), ".3f", 0, 0.99),
    Row(3, "L2 of hundreds of KB to a few MB: MB", "0.1 to 8", l2_mb, ".0f", 0.1, 8),
    Row(3, "L2 answers in tens of cycles: cycles", "10 to 99", l2_latency, ".1f", 10, 99),
    Row(3, "L1 of 16 to 64 KB per SM: KB walked without a miss", "16 to 64", l1_kb, ".0f", 16, 64),
    Row(3, "broadcast: requests for a load of one address", "1",
        counter_ratio(("idc_requests", add("constant")), ("ldc_instructions", add("constant"))), ".3f", 1, 1),
    Row(4, "8 KB constant cache per SM: fills of a line, 2 KB read", "1", fills_per_line(64), ".1f", 0.9, 1.1),
    # Two addresses a warp, over one.
    Row(4, "16 threads, one address: free (busy cycles to per_warp)", "1",
        counter_ratio(("idc_active_cycles", add("constant", "half_warp")), ("idc_active_cycles", add("constant"))),
        ".3f", 0.95, 1.05),
    Row(4, "as fast as a register (conv_2d, time to no loads)", "1",
        time_ratio(conv_2d("constant"), conv_2d("staging")), ".3f", 0.95, 1.05),
    Row(4, "cost linear in distinct addresses: R squared", "1", cost_r_squared, ".5f", 0.999, 1),
    Row(4, "... cycles for one more", "-", cost_of_address, ".3f", None, None),
    *(Row(4, f"past 64 KB, refill of {size} bytes: ns a launch", "-", refill_cost("constant", size), ".0f",
          None, None) for size in REFILLS),
    *(Row(4, f"... {size} bytes in global memory: ns a launch", "-", refill_cost("global", size), ".0f", None, None)
      for size in REFILLS),
    Row(4, "... 2048 bytes as a kernel parameter (time to constant)", "-",
        time_ratio(add("param", elements=128000), add("constant", elements=128000)), ".3f", None, None),
    Row(4, "past 64 KB, two modules alternating: ns a launch", "-", alternation_cost("constant"), ".0f", None, None),
    Row(4, "... with their tables in global memory: ns a launch", "-", alternation_cost("global"), ".0f", None, None),
]

# -- printing -----------------------------------------------------------------------------------------------------


def aligned(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in rows]


def print_claims(results):
    header = results.header()
    title, *lines = aligned([["claim", "published", "here [95 %]", "holds if", "verdict"],
                             *(row.columns(results) for row in ROWS)])
    print(header)
    print(title)
    source = None
    for row, line in zip(ROWS, lines):
        if row.source != source:
            source = row.source
            print(f"-- {source}. {SOURCES[source]}")
        print(line)


def parts(results, pattern, elements):
    """The ratio as published, and the three whose product it is."""
    def ratio(one, other):
        return time_ratio(*(cell(workload, path, pattern, elements) for workload, path in (one, other)))(results)

    return [as_published(pattern, elements)(results), ratio(("add", "constant"), ("add", "global")),
            ratio(("add_switch", "constant"), ("add", "constant")) / ratio(("add_switch", "global"), ("add", "global")),
            ratio(("add_switch", "global"), ("add_runtime", "global"))]


def print_parts(results):
    rows = [["pattern", "elements", "published", "as written", "= loads", "x jump table", "x division"]]
    try:
        for (pattern, elements), (constant, plain) in PUBLISHED_ADD_MS.items():
            rows.append([pattern, str(elements), f"{constant / plain:.3f}"] +
                        [figure.text(".3f") for figure in parts(results, pattern, elements)])
    except Missing as missing:
        fail(f"no file has {missing}; measure with cbank run --workload add,add_switch,add_runtime")
    print(f"{results.header()}: time through constant / time through global")
    print("\n".join(aligned(rows)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--parts", action="store_true", help="take the published add apart")
    parser.add_argument("--program", metavar="FILE", help="cbank, which reads results of versions before 2.4")
    parser.add_argument("files", metavar="FILE", nargs="+")
    options = parser.parse_args()
    results = Results(options.files, options.program)
    (print_parts if options.parts else print_claims)(results)


if __name__ == "__main__":
    main()
