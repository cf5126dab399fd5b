# SPDX-License-Identifier: MIT
"""The matrix: time of each pattern by each path, a dot each, and what constant memory costs beside global memory."""

import functools

from . import documents, panels, style, sweep

NAME = "matrix"
PLACE = 10
SUMMARY = "time of each pattern by each path, a dot each with its interval; beside it the ratio of constant to global memory"
TAKES = ("result",)
NEEDS = "a result (cbank run --json)"
METHOD = ("Time of a launch: trimmed mean over the placements with its 95 % interval by Student's t. Ratio: quotient of "
          "times; ends of its interval: quotients of opposite ends, which is wider than 95 %.")
COLUMNS = ("workload", "elements", "block_size", "regime", "pattern", "parameters", "path", "time_ns",
           "time_ns_ci_low", "time_ns_ci_high", "ratio_to_global", "ratio_low", "ratio_high", "flags", "engine",
           "source", "source_sha256")
ABOVE, BASE = "constant", "global"


@functools.lru_cache(maxsize=64)  # a page has them in several places
def times(document, selection=documents.ALL):
    """Of all timed cells."""
    cells = documents.timed(document, selection)
    # Of all cells: the ratio is there, too, where global memory was not chosen.
    bases = {tuple(with_path(cell, BASE).values()): documents.time_of(cell)
             for cell in documents.timed(document, documents.ALL) if cell["path"] == BASE}
    return [row(document, cell, bases) for cell in cells]


def rows(document, selection=documents.ALL):
    """Without the cells that are points of a line."""
    axes = sweep.axes_of(documents.timed(document, selection))
    made = [its for its in times(document, selection) if (its["workload"], its["pattern"]) not in axes]
    if not made:
        raise documents.NotDrawn("all of its cells are of sweeps, which the figure sweep has")
    return made


def with_path(cell, path):
    return {**documents.identity(cell), "path": path}


def row(document, cell, bases):
    time = documents.time_of(cell)
    base = bases.get(tuple(with_path(cell, BASE).values()), (None, None, None))
    ratio, low, high = documents.quotient(time, base) if cell["path"] != BASE else (1, None, None)
    return {**documents.identity(cell), "time_ns": time[0], "time_ns_ci_low": time[1],
            "time_ns_ci_high": time[2], "ratio_to_global": ratio, "ratio_low": low, "ratio_high": high,
            "flags": " ".join(cell["flags"]), "engine": document.content["engine"], **document.source()}


def says(made):
    ratios = sorted((row for row in made if row["path"] == ABOVE and row["ratio_to_global"]),
                    key=lambda row: row["ratio_to_global"])
    of = f" of {made[0]['workload']}" if one_workload(made) else ""
    if ratios:
        ends = [f"{style.ratio_text(row['ratio_to_global'])} times ({row_text(row, made)})" for row in (ratios[0], ratios[-1])]
        ends = f"A launch{of} through {ABOVE} memory takes {spread_text(ends)} as long as one through {BASE} memory"
    else:
        by_time = sorted(made, key=lambda row: row["time_ns"])
        ends = [f"{style.time_text(row['time_ns'])} ({row['path']}, {row_text(row, made)})" for row in (by_time[0], by_time[-1])]
        ends = f"A launch{of} takes {spread_text(ends)}"
    return "; ".join(filter(None, (ends, panels.quickest_text(made)))) + "."


def spread_text(ends):
    return ends[0] if ends[0] == ends[1] else f"from {ends[0]} to {ends[1]}"


def one_workload(made):
    return len({row["workload"] for row in made}) == 1


def row_text(row, made):
    """What tells a row from the others."""
    panel, every = dict(panel_of(row)), [dict(panel_of(other)) for other in made]
    varied = [fact for fact in panel if len({other.get(fact) for other in every}) > 1]
    return ", ".join([name_text(row, same_of(made, one_workload(made))), *(panels.fact_text(fact, panel[fact]) for fact in varied)])


# -- drawing ------------------------------------------------------------------------------------------------------


PANEL_PARAMETER = "table_bytes"  # a panel for each of its values


def words_of(row):
    """name=value of the parameters that tell lines apart."""
    return [word for word in row["parameters"].split() if word.partition("=")[0] != PANEL_PARAMETER]


def line_of(row):
    return row["workload"], row["pattern"], " ".join(words_of(row))


def name_text(row, same):
    """Of a line, without what all have in common."""
    words = [word.split("=") for word in words_of(row)]
    names = [row["pattern"]] if ("workload", row["workload"]) in same else [f"{row['workload']} {row['pattern']}"]
    return ", ".join(names + [panels.fact_text(name, value) for name, value in words if (name, value) not in same])


def panel_of(row):
    """(what, value) of all that the cells of a panel have in common."""
    facts = panels.facts_of(row)
    return tuple((key, facts[key]) for key in (*panels.PANEL_KEYS[1:], PANEL_PARAMETER) if key in facts)


def same_of(members, of_one):
    """[(what, value)] that lines have in common, and need not be said of each; `of_one`: the workload, too."""
    same = set.intersection(*(set(words_of(row)) for row in members)) if len({line_of(row) for row in members}) > 1 else ()
    return [("workload", members[0]["workload"])] * of_one + [tuple(word.split("=")) for word in words_of(members[0]) if word in same]


def row_mm(made):
    return max(4.4, 1.15 * len({row["path"] for row in made}) + 1.2)


def pages(made, width_mm):
    """Whole panels, and lines of one that is higher than a page."""
    height, across = row_mm(made), across_of(made, width_mm)
    items = []
    for panel in panels.grouped(made, panel_of).values():
        lines = list(panels.grouped(panel, line_of).values())
        whole = len(lines) * height + PANEL_MM <= panels.PAGE_MM
        items += [lines] if whole else [[line] for line in lines]
    found = panels.filled(items, lambda lines: (len(lines) * height + PANEL_MM / (1 if len(lines) > 1 else 4)) / across)
    return [[row for lines in page for line in lines for row in line] for page in found]


PANEL_MM = 15  # without its lines


def across_of(made, width_mm):
    """Panels of the same lines stand beside each other."""
    parts = panels.grouped(made, panel_of)
    alike = len({tuple(panels.grouped(members, line_of)) for members in parts.values()}) == 1
    return min(3, len(parts)) if style.wide(width_mm) and alike else 1


def draw(made, width_mm, note=None):
    parts, height = panels.grouped(made, panel_of), row_mm(made)
    across, same = across_of(made, width_mm), [same_of(members, one_workload(made)) for members in parts.values()]
    common, titles = panels.told_apart([dict((*its, *panel)) for its, panel in zip(same, parts)])
    counts = [len(panels.grouped(members, line_of)) for members in parts.values()]
    counts = [max(counts[i:i + across]) for i in range(0, len(counts), across)]
    flags = sorted({flag for row in made for flag in row["flags"].split()})
    ratio = any(row["path"] == ABOVE and row["ratio_to_global"] for row in made)
    words = [note] * bool(note) + [common] * bool(common) + [f"on the right: time through {ABOVE} to time through {BASE} memory"] * ratio + \
        [f"hollow: {', '.join(flags)}"] * bool(flags)
    figure, body = style.figure(width_mm, sum(count * height + PANEL_MM for count in counts),
                                style.path_handles({row["path"] for row in made}, "point"), "; ".join(words))
    axes = panels.grid(body, len(parts), across, gridspec_kw={"height_ratios": [count * height + PANEL_MM for count in counts]})
    for i, (one, title, members) in enumerate(zip(axes, titles, parts.values())):
        names = draw_panel(one, members, same[i])
        panels.head(one, title, width_mm / across - (12 if i % across else panels.LETTER_MM * max(map(len, names)) + 8))
        if i % across:
            one.set_yticklabels([])
    return figure


def draw_panel(axes, members, same):
    """`same`: what need not be said of a line. Returns the names of the lines."""
    lines = panels.grouped(members, line_of)
    all_times = [row[key] or row["time_ns"] for row in members for key in ("time_ns_ci_low", "time_ns_ci_high")]
    unit, factor = style.time_unit(min(all_times))
    low, high = min(all_times) / factor, max(all_times) / factor
    style.log_axis(axes, "x", low / 1.2, high * 1.2)
    draw_points(axes, lines.values(), factor)
    texts = [name_text(line[0], same) for line in lines.values()]
    panels.name_rows(axes, "", texts)
    axes.set_yticks([y + 0.5 for y in range(len(lines) - 1)], minor=True)
    axes.grid(axis="y", which="minor", linewidth=0.3)
    axes.tick_params(axis="y", which="minor", length=0)
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.set_xlabel(f"time of a launch, {unit}")
    return texts


def draw_points(axes, lines, factor):
    """Paths of a line one below the other, so that equal ones are seen; hollow: with a flag."""
    every = [(y, row) for y, line in enumerate(lines) for row in line]
    paths = style.in_order(row["path"] for _, row in every)
    for (path, flagged), its in panels.grouped(every, lambda place: (place[1]["path"], bool(place[1]["flags"]))).items():
        rows, look = [row for _, row in its], style.look(path)
        at = [y + 0.76 * ((paths.index(path) + 0.5) / len(paths) - 0.5) for y, _ in its]
        panels.draw_points(axes, ([row["time_ns"] / factor for row in rows], at), panels.intervals(rows, "time_ns", factor), along="x",
                           bars_width=0.7, capsize=0, **style.line_of(look, linestyle="none", markersize=3.2 if len(paths) < 6 else 2.4,
                                                                      **(style.HOLLOW if flagged else {})))
    for y, line in enumerate(lines):
        ratio = [style.ratio_text(row["ratio_to_global"]) for row in line if row["path"] == ABOVE and row["ratio_to_global"]]
        if ratio:
            panels.beside(axes, y, f"{ratio[0]} ×")
