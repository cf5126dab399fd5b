# SPDX-License-Identifier: MIT
"""The matrix: time of each pattern by each path, and its ratio to global memory."""

import math

from . import documents, panels, style

NAME = "matrix"
PLACE = 10
SUMMARY = "time of each pattern by each path, with interval; on top of each bar the ratio to global memory"
TAKES = ("result",)
NEEDS = "a result (cbank run --json)"
METHOD = ("Median time of a launch with its 95 % interval by order statistics. Ratio: quotient of medians; ends of its "
          "interval: quotients of opposite ends, which is wider than 95 %.")
COLUMNS = ("workload", "elements", "block_size", "regime", "pattern", "parameters", "path", "time_ns_median",
           "time_ns_ci_low", "time_ns_ci_high", "ratio_to_global", "ratio_low", "ratio_high", "flags", "engine",
           "source", "source_sha256")
BASE = "global"


def rows(document, selection=documents.ALL):
    cells = documents.timed(document, selection)
    # Of all cells: the ratio is there, too, where global memory was not chosen.
    bases = {tuple(with_path(cell, BASE).values()): documents.time_of(cell)
             for cell in documents.timed(document, documents.ALL) if cell["path"] == BASE}
    return [row(document, cell, bases) for cell in cells]


def with_path(cell, path):
    return {**documents.identity(cell), "path": path}


def row(document, cell, bases):
    time = documents.time_of(cell)
    base = bases.get(tuple(with_path(cell, BASE).values()), (None, None, None))
    ratio, low, high = documents.quotient(time, base) if cell["path"] != BASE else (1, None, None)
    return {**documents.identity(cell), "time_ns_median": time[0], "time_ns_ci_low": time[1],
            "time_ns_ci_high": time[2], "ratio_to_global": ratio, "ratio_low": low, "ratio_high": high,
            "flags": " ".join(cell["flags"]), "engine": document.content["engine"], **document.source()}


PANEL_MM = 44
DOWN_MAX = 5  # panels on a page, one below the other


def across(parts, width_mm):
    """Panels beside each other: two where both are legible."""
    legible = all(bars_in(groups) <= 20 and len(groups) <= 4 for _, groups in parts)
    return 2 if style.wide(width_mm) and legible and len(parts) > 1 else 1


def pages(made, width_mm):
    parts = panels.panels_of(made, width_mm)
    return panels.pages_of(made, width_mm, DOWN_MAX * across(parts, width_mm))


def draw(made, width_mm, note=None):
    parts = panels.panels_of(made, width_mm)
    beside = across(parts, width_mm)
    height = PANEL_MM * -(-len(parts) // beside)
    flags = sorted({flag for row in made for flag in row["flags"].split()})
    words = [f"*: {', '.join(flags)}"] * bool(flags) + [note] * bool(note)
    figure, body = style.figure(width_mm, height, style.path_handles(row["path"] for row in made), "; ".join(words))
    logarithm = any(spread_of(groups)[1] >= 10 * spread_of(groups)[0] for _, groups in parts)
    for axes, (panel, groups) in zip(panels.grid(body, len(parts), beside), parts):
        draw_panel(axes, panel, groups, width_mm / beside, logarithm)
    return figure


def spread_of(groups):
    times = [row["time_ns_median"] for _, members in groups for row in members]
    return min(times), max(times)


def bars_in(groups):
    return sum(len(members) for _, members in groups)


def draw_panel(axes, panel, groups, panel_mm, logarithm):
    shortest, longest = spread_of(groups)
    unit, factor = style.time_unit(shortest if logarithm else longest)
    slots = bars_in(groups) + 0.8 * len(groups)
    narrow = (panel_mm - 13) / slots < 4.7  # too narrow for four digits side by side
    bottom = scale(axes, longest / factor, shortest / factor, narrow, logarithm)
    x, middles = 0.0, []
    for _, members in groups:
        members = sorted(members, key=lambda row: style.in_order(paths_of(members)).index(row["path"]))
        middles.append(x + (len(members) - 1) / 2)
        for entry in members:
            draw_bar(axes, x, entry, factor, bottom, narrow, min(5.5, 2.5 * (panel_mm - 13) / slots))
            x += 1
        x += 0.8
    axes.set_xticks(middles, [panels.group_text(key) for key, _ in groups])
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="x", visible=False)
    axes.set_xlim(-0.9, x - 0.9)
    axes.set_ylabel(f"time, {unit}")
    axes.set_title(panels.panel_text(panel), loc="left")


def paths_of(members):
    return [row["path"] for row in members]


def draw_bar(axes, x, entry, factor, bottom, narrow, letters):
    time = entry["time_ns_median"] / factor
    axes.bar(x, time - bottom, 0.92, bottom, **style.bar(style.look(entry["path"])))
    top = time
    if entry["time_ns_ci_low"] and entry["time_ns_ci_high"]:
        top = entry["time_ns_ci_high"] / factor
        axes.errorbar(x, time, [[time - entry["time_ns_ci_low"] / factor], [top - time]], color="black",
                      linewidth=0.6, capsize=1.2, capthick=0.6)
    text = "" if entry["ratio_to_global"] is None else style.ratio_text(entry["ratio_to_global"])
    if entry["flags"]:
        text += "*"
    if text:
        axes.annotate(text, (x, top), (0, 2), textcoords="offset points", ha="center", va="bottom",
                      fontsize=letters, rotation=90 if narrow else 0)


def scale(axes, longest, shortest, narrow, logarithm):
    """Bars from 0 where those of all panels can be seen so, else a logarithm. Returns where bars begin."""
    room = 1.32 if narrow else 1.14
    if not logarithm:
        axes.set_ylim(0, longest * room)
        return 0
    axes.set_yscale("log")
    style.plain_log(axes.yaxis)
    decades = math.log10(longest / shortest)
    axes.set_ylim(shortest / 3, longest * 10 ** ((room - 1) * (decades + 0.5)))
    return shortest / 3
