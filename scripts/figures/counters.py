# SPDX-License-Identifier: MIT
"""Counters against time, a point for each cell. Counters are of other launches than the times."""

import math

from . import documents, panels, style

NAME = "counters"
PLACE = 90
EXTRA = True
SUMMARY = "each counter against the time, a point for each cell"
TAKES = ("result",)
NEEDS = "a result (cbank run --json) with counters"
METHOD = ("Time of a launch: trimmed mean over the placements with its 95 % interval by Student's t; counters of one "
          "launch, which is not one of those that were timed, without interval. Counters that are the same in all cells are "
          "left out.")
COLUMNS = ("counter", "unit", "kind", "workload", "elements", "block_size", "regime", "pattern", "parameters", "path",
           "value", "expected", "time_ns", "time_ns_ci_low", "time_ns_ci_high", "engine", "source",
           "source_sha256")


def rows(document, selection=documents.ALL):
    made = {}
    for cell in documents.timed(document, selection):
        time, low, high = documents.time_of(cell)
        for name, counter in cell["counters"].items():
            if counter["status"] == "ok":
                made.setdefault(name, []).append(
                    {**documents.identity(cell), "counter": name, "unit": counter["unit"], "kind": counter["kind"],
                     "value": documents.number(counter["value"]), "expected": documents.number(counter["expected"]),
                     "time_ns": time, "time_ns_ci_low": low, "time_ns_ci_high": high,
                     "engine": document.content["engine"], **document.source()})
    if not made:
        reason = document.content.get("counters_reason")
        raise documents.NotDrawn("no chosen cell has a counter" + (f": {reason}" if reason else ""))
    varied = [row for members in made.values() if len({row["value"] for row in members}) > 1 for row in members]
    if not varied:
        raise documents.NotDrawn("no counter differs between the chosen cells")
    return varied


# -- drawing ------------------------------------------------------------------------------------------------------

PANELS_MAX = 12  # a page


def says(made):
    by_name = panels.grouped(made, lambda row: row["counter"])
    ratio, name = max((correlation(members), name) for name, members in by_name.items())
    return (f"Of {len(by_name)} counters {name} goes with the time most closely: the correlation of their ranks is {ratio:.2f} over "
            f"{len(by_name[name])} cells.")


def correlation(members):
    """Spearman's: of ranks, the mean one of those that are equal."""
    ranks = [ranked([row[key] for row in members]) for key in ("value", "time_ns")]
    middle = (len(members) + 1) / 2
    above = sum((x - middle) * (y - middle) for x, y in zip(*ranks))
    below = math.prod(math.sqrt(sum((x - middle)**2 for x in its)) for its in ranks)
    return above / below if below else 0.0


def ranked(values):
    order = sorted(values)
    places = {value: order.index(value) + (order.count(value) + 1) / 2 for value in set(values)}
    return [places[value] for value in values]


def pages(made, _width_mm):
    counters = list(panels.grouped(made, lambda row: row["counter"]).values())
    return [[row for members in counters[i:i + PANELS_MAX] for row in members]
            for i in range(0, len(counters), PANELS_MAX)]


def draw(made, width_mm, note=None):
    wide = style.wide(width_mm)
    parts = panels.grouped(made, lambda row: row["counter"])
    across = min(4 if wide else 2, len(parts))
    down = -(-len(parts) // across)
    figure, body = style.figure(width_mm, 38 * down, style.path_handles({row["path"] for row in made}, "point"), note)
    unit, factor = style.time_unit(min(row["time_ns"] for row in made))
    for i, (axes, (name, members)) in enumerate(zip(panels.grid(body, len(parts), across, sharey="all"),
                                                    parts.items())):
        draw_panel(axes, members, factor)
        axes.set_title(name, loc="left", fontsize="small")
        axes.set_xlabel(members[0]["unit"], fontsize="small")
        if i % across == 0:
            axes.set_ylabel(f"time, {unit}")
    times = [row["time_ns"] / factor for row in made]
    style.log_axis(axes, "y", min(times) / 1.15, max(times) * 1.15)  # that all share
    return figure


def draw_panel(axes, members, factor):
    axes.set_yscale("log")
    scale(axes, [row["value"] for row in members])
    for path in style.in_order(row["path"] for row in members):
        points = [row for row in members if row["path"] == path]
        ends = [[row["time_ns"] - (row["time_ns_ci_low"] or row["time_ns"]),
                 (row["time_ns_ci_high"] or row["time_ns"]) - row["time_ns"]] for row in points]
        axes.errorbar([row["value"] for row in points], [row["time_ns"] / factor for row in points],
                      [[end / factor for end in side] for side in zip(*ends)] if points else None,
                      **style.line(path, linestyle="none", markersize=3, elinewidth=0.5, capsize=0))


def scale(axes, values):
    """A logarithm; about 0, where a counter is 0 or less, a line."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator
    sizes = [abs(value) for value in values if value]
    low, high = math.floor(math.log10(min(sizes))), math.ceil(math.log10(max(sizes)))
    low = min(low, high - 1)
    step = max(1, math.ceil((high - low) / 3))
    powers = [10.0**power for power in range(high, low - 1, -step)]
    if min(values) > 0:
        axes.set_xscale("log")
        axes.set_xlim(10.0**low / 1.5, 10.0**high * 1.5)
    else:
        axes.set_xscale("symlog", linthresh=10.0**low)
        powers = ([-powers[0]] if min(values) < 0 else []) + [0.0, powers[0]]
        margin = 10.0**low * 0.4
        axes.set_xlim(min(values) * 3 if min(values) < 0 else -margin, 10.0**high * 1.5)
    axes.xaxis.set_major_locator(FixedLocator(powers))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: signed(value)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())


def signed(value):
    return ("−" if value < 0 else "") + style.count_text(abs(value))
