# SPDX-License-Identifier: MIT
"""The tables of docs/memory_spaces.md, from what memory_spaces.py measured.

A ratio is that of two medians, and the median over processes. Its interval holds the intervals of
all processes. In each process, two cells were measured in turn: sample k of both is of one round.
The interval of a process is between two of the sorted ratios of its rounds, so that it holds their
true median with a probability of 95 % at least.
"""

import json
import math
import os
import statistics

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "memory_spaces")
CONFIDENCE = 0.95
PAYS = 0.95  # of the time of the best known memory space, at most
CLOSE = 1.05  # constant memory still pays where it takes no more than this
KNOWN = ("constant", "global", "readonly", "shared")
NEW = ("shared_async", "shared_bulk", "shared_multicast", "distributed", "window")
# Filled in the same way, 16 bytes behind the start of a line of shared memory.
SHIFTED = ("shared", "shared_async", "shared_bulk")
AXES = ("bytes", "blocks", "lookups")
SHORT_SPACES = ("constant", "parameter", "global", "shared")


def questions():
    with open(os.path.join(HERE, "questions.json"), encoding="utf-8") as file:
        return json.load(file)


# -- cells -----------------------------------------------------------------------------------------


class Cells:
    """The cells of a report that have samples."""

    def __init__(self, report):
        self.rows = {}
        for row in report["cells"]:
            if row["samples"]:
                self.rows.setdefault(row["cell"]["experiment"], []).append(row)

    def select(self, *selectors, **more):
        """The rows of which one of the selectors is a part. All name one experiment."""
        wanted = [{**selector, **more}.items() for selector in selectors]
        rows = self.rows.get(dict(wanted[0])["experiment"], [])
        return [row for row in rows if any(part <= row["cell"].items() for part in wanted)]


def middle(row):
    return statistics.median(statistics.median(samples) for samples in row["samples"])


def best(rows):
    return min(rows, key=middle)


def name(row):
    """The memory space of a cell, with the blocks of its clusters."""
    cluster = row["cell"].get("cluster", 1)
    return row["cell"]["space"] + (f" of {cluster}" if cluster > 1 else "")


def rank(count):
    """How many of `count` sorted values lie outside of an interval of their median, on each side.
    Too few values have the whole range."""
    outside, found = 0.0, 0
    for k in range((count + 1) // 2):
        outside += 2 * math.comb(count, k) / 2**count
        if outside > 1 - CONFIDENCE:
            break
        found = k
    return found


class Ratio:
    """The time of one cell by that of another: value, low, high."""

    def __init__(self, row, base):
        values, ends = [], []
        for samples, others in zip(row["samples"], base["samples"]):
            rounds = sorted(a / b for a, b in zip(samples, others))
            k = rank(len(rounds))
            values.append(statistics.median(samples) / statistics.median(others))
            ends += [rounds[k], rounds[-1 - k]]
        self.row, self.base, self.value = row, base, statistics.median(values)
        self.low, self.high = min(self.value, *ends), max(self.value, *ends)

    def __str__(self):
        return f"{number(self.value)} ({number(self.low)} to {number(self.high)})"


def number(value):
    """Three digits, and no exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def us(row):
    return f"{middle(row) / 1e3:.3g}"


def size(count):
    return f"{count // 1024} KB"


def table(head, rows):
    print(f"| {' | '.join(head)} |")
    print("|" + "---|" * len(head))
    for row in rows:
        print(f"| {' | '.join(row)} |")


# -- guesses ---------------------------------------------------------------------------------------


def listed(selectors):
    return selectors if isinstance(selectors, list) else [selectors]


def most_lines(ratios):
    """The most lines up to which all ratios are small: (value, low, high)."""

    def upto(end):
        fit = 0
        for ratio in sorted(ratios, key=lambda ratio: ratio.row["cell"]["lines"]):
            if getattr(ratio, end) > CLOSE:
                break
            fit = ratio.row["cell"]["lines"]
        return fit

    return upto("value"), upto("high"), upto("low")


def answer(cells, question):
    """(value, low, high) of a question; None: it was not measured."""
    rows, base = cells.select(*listed(question["cells"])), cells.select(*question["by"])
    over, take = question.get("over", []), question.get("take")
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row["cell"][axis] for axis in over), []).append(row)
    ratios = []
    for place, group in groups.items():
        beside = [row for row in base if tuple(row["cell"][axis] for axis in over) == place]
        if beside:
            ratios.append(Ratio(best(group), best(beside)))
    if not ratios:
        return None
    if take == "most lines":
        return most_lines(ratios)
    ratio = min(ratios, key=lambda ratio: ratio.value)
    return ratio.value, ratio.low, ratio.high


def show_guesses(report, hits):
    cells, rows, absent = Cells(report), [], []
    for question in questions().values():
        found = answer(cells, question)
        if found is None:
            absent.append(question["question"])
        elif (question["low"] <= found[0] <= question["high"]) == hits:
            rows.append(
                (
                    question["question"],
                    f"{number(question['guess'])} ({100 * question['confidence']:.0f} %)",
                    number(found[0]),
                    f"{number(found[1])} to {number(found[2])}",
                )
            )
    table(("question", "guess", "what is", "interval"), rows)
    if absent and not hits:
        print("\nNot measured here:\n")
        for question in absent:
            print(f"- {question}")


# -- memory spaces ---------------------------------------------------------------------------------


def comparisons(cells, experiment, spaces):
    """The best cell of these spaces by the best known one, where both were measured."""
    places = {}
    for row in cells.select({"experiment": experiment}):
        place = tuple(row["cell"][axis] for axis in AXES)
        rows, known = places.setdefault(place, ([], []))
        if row["cell"]["space"] in spaces:
            rows.append(row)
        if row["cell"]["space"] in KNOWN:
            known.append(row)
    for _, (rows, known) in sorted(places.items()):
        if rows and known:
            yield Ratio(best(rows), best(known))


def place_of(row):
    cell = row["cell"]
    return f"{size(cell['bytes'])}, {cell['blocks']} blocks, {cell['lookups']} lookups"


def show_pays(report):
    """Each new space beside the best of those that are known."""
    cells, rows = Cells(report), []
    for experiment, spaces in (("table", NEW), ("stream", ("window",))):
        for space in spaces:
            ratios = list(comparisons(cells, experiment, (space,)))
            if not ratios:
                continue
            least = min(ratios, key=lambda ratio: ratio.value)
            rows.append(
                (
                    space + (" beside a stream" if experiment == "stream" else ""),
                    f"{sum(ratio.high < PAYS for ratio in ratios)} of {len(ratios)}",
                    f"{least}: {name(least.row)} by {name(least.base)}",
                    place_of(least.row),
                    number(statistics.median(ratio.value for ratio in ratios)),
                )
            )
    table(("memory space", "5 % faster", "where it is best", "there", "median"), rows)


def show_best(report):
    """The best known space and the best new one, by size, blocks and lookups."""
    cells = Cells(report)
    found = {}
    for ratio in comparisons(cells, "table", NEW):
        cell = ratio.row["cell"]
        found.setdefault((cell["bytes"], cell["blocks"]), {})[cell["lookups"]] = ratio
    lookups = sorted({count for row in found.values() for count in row})

    def text(ratio):
        return (
            f"{name(ratio.base)} {us(ratio.base)}; {name(ratio.row)} {number(ratio.value)}"
            if ratio
            else ""
        )

    table(
        ("table", "blocks", *(f"{count} lookups" for count in lookups)),
        [
            (size(place[0]), str(place[1]), *(text(row.get(count)) for count in lookups))
            for place, row in sorted(found.items())
        ],
    )


def show_shifted(report):
    """Shared memory that is filled at 16 bytes past a line, by the same at a line; and both by
    loads at a line."""
    cells = Cells(report)
    found = {}
    for row in cells.select({"experiment": "table", "lookups": 1}):
        place = row["cell"]["bytes"], row["cell"]["blocks"]
        found.setdefault(place, {})[row["cell"]["space"]] = row
    rows = []
    for place, at in sorted(found.items()):
        pairs = [(at.get(f"{space}_shifted"), at.get(space)) for space in SHIFTED]
        if not all(row and base for row, base in pairs):
            continue
        others = [str(Ratio(at[space], at["shared"])) for space in SHIFTED[1:]]
        shifted = [str(Ratio(row, base)) for row, base in pairs]
        rows.append((size(place[0]), str(place[1]), us(at["shared"]), *others, *shifted))
    table(
        ("table", "blocks", "loads, us", "cp.async", "bulk", "loads, shifted", "cp.async", "bulk"),
        rows,
    )


def show_skipped(report):
    """Why cells have no time."""
    why = {}
    for row in report["cells"]:
        if "skipped" in row:
            why.setdefault((row["cell"]["space"], row["skipped"]), []).append(row)
    table(
        ("memory space", "cells", "why they were not measured"),
        [(space, str(len(rows)), reason) for (space, reason), rows in why.items()],
    )


# -- short kernels ---------------------------------------------------------------------------------


def short(cells, figure, **axes):
    """{space: row}"""
    rows = cells.select({"experiment": "short", "figure": figure, **axes})
    return {row["cell"]["space"]: row for row in rows}


def axis(cells, key):
    return sorted({row["cell"][key] for row in cells.select({"experiment": "short"})})


def show_short(report, blocks):
    """The fastest space by lines and passes, and how much longer constant memory takes."""
    cells = Cells(report)

    def text(lines, passes):
        rows = short(cells, "graph_ns", lines=lines, passes=passes, blocks=blocks)
        if "constant" not in rows:
            return ""
        fastest = best(rows.values())
        if fastest is rows["constant"]:
            return f"constant {us(fastest)}"
        return f"{name(fastest)} {us(fastest)}; constant {Ratio(rows['constant'], fastest)}"

    table(
        ("lines", *(f"{passes} reads" for passes in axis(cells, "passes"))),
        [
            (str(lines), *(text(lines, passes) for passes in axis(cells, "passes")))
            for lines in axis(cells, "lines")
        ],
    )


def show_launches(report):
    """Microseconds of a launch whose blocks read each line once, one block an SM."""
    cells, rows = Cells(report), []
    figures = {"graph_ns": "graph", "stream_ns": "stream"}
    for lines in axis(cells, "lines"):
        found = {
            figure: short(cells, figure, lines=lines, passes=1, blocks=1) for figure in figures
        }
        rows.append(
            (
                str(lines),
                *(
                    us(found[figure][space]) if space in found[figure] else ""
                    for figure in figures
                    for space in SHORT_SPACES
                ),
            )
        )
    heads = (f"{space}, {figure}" for figure in figures.values() for space in SHORT_SPACES)
    table(("lines", *heads), rows)


# -- bytes and words -------------------------------------------------------------------------------


def addresses(width, stride):
    """Those that a warp reads."""
    return len({lane * stride // width for lane in range(32)})


def show_bytes(report, space):
    """SM cycles of a load by width and stride, and the addresses of a warp."""
    cells = Cells(report)
    where = {"experiment": "stride", "figure": "busy", "space": space}
    rows = {(row["cell"]["width"], row["cell"]["stride"]): row for row in cells.select(where)}
    strides = sorted({stride for _, stride in rows})
    table(
        ("bytes of a load", *(f"{stride} apart" for stride in strides)),
        [
            (
                str(width),
                *(
                    f"{number(middle(rows[width, stride]))} ({addresses(width, stride)})"
                    for stride in strides
                ),
            )
            for width in sorted({width for width, _ in rows})
        ],
    )


def show_byte_tables(report):
    """A table of bytes as bytes, and as words that are shifted."""
    cells, rows = Cells(report), []
    for count in sorted(
        {row["cell"]["bytes"] for row in cells.select({"experiment": "byte_table"})}
    ):
        found = {
            (row["cell"]["space"], row["cell"]["width"]): row
            for row in cells.select({"experiment": "byte_table", "bytes": count})
        }
        base = found["constant", 1]
        rows.append(
            (
                str(count),
                number(middle(base)),
                *(str(Ratio(found["constant", width], base)) for width in (4, 8)),
                *(str(Ratio(found[space, 1], base)) for space in ("shared", "global", "readonly")),
            )
        )
    table(
        (
            *("bytes of the table", "constant, by bytes: cycles", "by words", "by double words"),
            *("shared, by bytes", "global, by bytes", "read-only, by bytes"),
        ),
        rows,
    )


# By heading: a counter, the path that has it, and one whose kernel has all but the loads of it.
COUNTED = {
    "idc_requests": ("idc_requests", "constant", "global"),
    "idc_active_cycles": ("idc_active_cycles", "constant", "global"),
    "shared_wavefronts": ("shared_wavefronts", "shared", "global"),
    "l1_sectors": ("l1_sectors", "global", "constant"),
}


def show_counters(report):
    """What the counters say of a load of a warp, by width and distance."""
    counters = report["counters"]
    if "rows" not in counters:
        print(f"Not measured: {counters['not_done']}.")
        return
    rows = {(row["path"], row["width"], row["distance"]): row for row in counters["rows"]}
    places = sorted({(width, distance) for _, width, distance in rows})

    def text(place, counter, path, less):
        found = [rows.get((name, *place)) for name in (path, less)]
        values = [row["counters"][counter] if row else None for row in found]
        if None in values:
            return ""
        return number((values[0] - values[1]) / found[0]["warp_loads"])

    table(
        ("bytes of an entry", "entries apart", "addresses", *COUNTED),
        [
            (
                str(place[0]),
                number(place[1]),
                str(rows["constant", *place]["requests_of_load"]),
                *(text(place, *columns) for columns in COUNTED.values()),
            )
            for place in places
        ],
    )
    exact = [row["exact_counters"] for row in counters["rows"]]
    print(
        f"\nExact counters: {sum(row['equal'] for row in exact)} of"
        f" {sum(row['compared'] for row in exact)} equal what was predicted."
    )


# -- parts -----------------------------------------------------------------------------------------


def show_summary(report):
    """What was done, and the guesses that missed."""
    done = [row for row in report["cells"] if row["samples"]]
    print(
        f"{len(done)} cells of {len(report['cells'])} have times, in {report['processes']}"
        f" processes of each program and {report['seconds']} s;"
        f" {sum(row['verified'] for row in done):,} outputs are as the processor says."
    )
    proof = report["proof"]
    print(
        f"Proof: {proof['not_done']}."
        if "not_done" in proof
        else f"{proof['kernels']} kernels have the instructions of their memory spaces, sm_"
        f"{proof['architecture']}; {len(proof['faults'])} faults."
    )
    sanitizer = report["sanitizer"]
    print(
        f"{sanitizer['not_done']}."
        if "not_done" in sanitizer
        else f"compute-sanitizer: {'clean' if sanitizer['clean'] else 'NOT clean'}."
    )
    print()
    show_pays(report)


SHOW = {
    "summary": show_summary,
    "missed": lambda report: show_guesses(report, False),
    "hit": lambda report: show_guesses(report, True),
    "pays": show_pays,
    "best": show_best,
    "shifted": show_shifted,
    "skipped": show_skipped,
    "short": lambda report: show_short(report, 1),
    "short-8": lambda report: show_short(report, 8),
    "launches": show_launches,
    "constant": lambda report: show_bytes(report, "constant"),
    "shared": lambda report: show_bytes(report, "shared"),
    "global": lambda report: show_bytes(report, "global"),
    "readonly": lambda report: show_bytes(report, "readonly"),
    "byte-tables": show_byte_tables,
    "counters": show_counters,
}
PARTS = tuple(SHOW)


def show(part, report):
    """Prints a part of the page, and what it was measured on."""
    SHOW[part](report)
    gpu = report["gpu"]
    print(f"\n{gpu['name']}, driver {gpu['driver_version']}, nvcc {report['nvcc']}.")
