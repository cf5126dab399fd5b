# SPDX-License-Identifier: MIT
"""Time against what a sweep varies: distinct addresses, elements, radius, bytes. A line for each path."""

from . import documents, panels, style

NAME = "sweep"
PLACE = 15
SUMMARY = "time against what was varied (distinct addresses, elements, bytes, radius), a line for each path"
TAKES = ("result",)
NEEDS = "a result (cbank run --json) in which something takes three values or more"
METHOD = "Median time of a launch with its 95 % interval by order statistics; lines from point to point, nothing fitted."
COLUMNS = ("axis", "axis_value", *documents.CELL_KEYS, "parameters", "time_ns_median", "time_ns_ci_low",
           "time_ns_ci_high", "flags", "engine", "source", "source_sha256")

# What can be an axis, the first that has enough values; any other parameter that is a number comes after these.
FIRST = ("distinct", "radius", "refill_bytes", "modules", "table_bytes", "width_bytes")
LAST = ("elements", "block_size")
NAMES = {"distinct": "distinct addresses in a warp", "stride_bytes": "bytes between addresses", "radius": "radius, elements",
         "refill_bytes": "bytes written before every launch", "modules": "modules in turn", "table_bytes": "table, bytes",
         "width_bytes": "element, bytes", "block_size": "threads of a block"}
VALUES_MIN = 3


def values_of(cell):
    """{axis: value} of all that is a number."""
    numbers = {key: value for key, value in cell.get("parameters", {}).items() if isinstance(value, int)}
    return {**{key: numbers[key] for key in FIRST if key in numbers}, **numbers, **{key: cell[key] for key in LAST}}


def axes_of(cells):
    """{(workload, pattern): axis} of the cells that something is varied of, all else the same."""
    found = {}
    for key, members in panels.grouped(cells, lambda cell: (cell["workload"], cell["pattern"])).items():
        names = dict.fromkeys(name for cell in members for name in values_of(cell))
        names = [*(name for name in names if name not in LAST), *LAST]
        for name in names:
            series = panels.grouped([cell for cell in members if name in values_of(cell)], lambda cell: others_of(cell, name))
            if any(len({values_of(cell)[name] for cell in its}) >= VALUES_MIN for its in series.values()):
                found[key] = name
                break
    return found


def others_of(cell, axis):
    """What is the same along a line."""
    parameters = {key: value for key, value in cell.get("parameters", {}).items() if key != axis}
    return tuple(cell[key] for key in documents.CELL_KEYS if key != axis) + tuple(sorted(parameters.items()))


def rows(document, selection=documents.ALL):
    cells = documents.timed(document, selection)
    axes, made = axes_of(cells), []
    for cell in cells:
        axis = axes.get((cell["workload"], cell["pattern"]))
        if axis in values_of(cell):
            median, low, high = documents.time_of(cell)
            made.append({"axis": axis, "axis_value": values_of(cell)[axis], **documents.identity(cell),
                         "time_ns_median": median, "time_ns_ci_low": low, "time_ns_ci_high": high,
                         "flags": " ".join(cell["flags"]), "engine": document.content["engine"], **document.source()})
    if not made:
        raise documents.NotDrawn(f"nothing takes {VALUES_MIN} values in the chosen cells")
    return made


def says(made):
    """How far the time goes along the lines that it goes least and most along."""
    changes = []
    for members in panels.grouped(made, lambda row: (panel_of(row), row["path"])).values():
        members = sorted(members, key=lambda row: row["axis_value"])
        first, last = members[0], members[-1]
        if len(members) >= VALUES_MIN:
            changes.append((last["time_ns_median"] / first["time_ns_median"], first, last))
    if not changes:
        return f"Time against {axis_text(made[0]['axis'])}."
    words = [f"{style.short(change)} times for {first['path']} ({where_of(first)}: {style.time_text(first['time_ns_median'])} at "
             f"{first['axis_value']}, {style.time_text(last['time_ns_median'])} at {last['axis_value']})"
             for change, first, last in (choose(changes, key=lambda its: its[0]) for choose in (min, max))]
    return f"Along {axis_text(made[0]['axis'])} time becomes from {words[0]} to {words[1]}."


def where_of(row):
    return ", ".join(panels.fact_text(key, value) for key, value in facts_of(row).items() if key in ("workload", "pattern") or
                     (key == "stride_bytes"))


# -- drawing ------------------------------------------------------------------------------------------------------


def axis_text(axis):
    return NAMES.get(axis, axis.replace("_bytes", ", bytes").replace("_", " "))


def facts_of(row):
    return {key: value for key, value in panels.facts_of(row).items() if key != row["axis"]}


def panel_of(row):
    return tuple(facts_of(row).items())


def height_of(members):
    return panels.lines_mm(len({row["path"] for row in members})) + 4


def pages(made, width_mm):
    """Panels of one axis go together."""
    found = []
    for members in panels.grouped(made, lambda row: row["axis"]).values():
        parts = list(panels.grouped(members, panel_of).values())
        across = panels.across(width_mm, len(parts))
        parts.sort(key=lambda its: order_of(its[0]))
        rows_of_parts = [parts[i:i + across] for i in range(0, len(parts), across)]
        for page in panels.filled(rows_of_parts, lambda its: max(map(height_of, its))):
            found.append([row for its in page for part in its for row in part])
    return found


def order_of(row):
    return tuple((0, int(value), "") if str(value).isdigit() else (1, 0, value) for value in facts_of(row).values())


def draw(made, width_mm, note=None):
    parts = list(panels.grouped(made, panel_of).values())
    across = panels.across(width_mm, len(parts))
    common, titles = panels.told_apart([facts_of(part[0]) for part in parts])
    height = max(map(height_of, parts))
    figure, body = style.figure(width_mm, height * -(-len(parts) // across), (), "; ".join(filter(None, (common, note))))
    for axes, title, members in zip(panels.grid(body, len(parts), across), titles, parts):
        draw_panel(axes, members, width_mm / across)
        panels.head(axes, title, width_mm / across - 25)
    return figure


def draw_panel(axes, members, panel_mm):
    axis, times = members[0]["axis"], [row["time_ns_median"] for row in members]
    unit, factor = style.time_unit(min(times))
    values = [row["axis_value"] for row in members]
    if axis == "elements":
        style.log_axis(axes, "x", min(values) / 1.2, max(values) * 1.2, style.count_text)
    else:
        panels.number_axis(axes, values, style.size_text if axis.endswith("_bytes") else str, panel_mm - 32)
    low, high = min(times) / factor, max(times) / factor
    if high > 4 * low:
        style.log_axis(axes, "y", low / 1.15, high * 1.15)
    else:
        axes.set_ylim(0, high * 1.1)
    ends = []
    for path in style.in_order(row["path"] for row in members):
        points = sorted((row for row in members if row["path"] == path), key=lambda row: row["axis_value"])
        draw_line(axes, path, points, factor)
        ends.append((points[-1]["axis_value"], points[-1]["time_ns_median"] / factor, path, style.ink(path)))
    panels.name_lines(axes, ends)
    axes.set_xlabel(axis_text(axis))
    axes.set_ylabel(f"time of a launch, {unit}")


def draw_line(axes, path, points, factor):
    lows, highs = ([abs((row[key] or row["time_ns_median"]) - row["time_ns_median"]) / factor for row in points]
                   for key in ("time_ns_ci_low", "time_ns_ci_high"))
    axes.errorbar([row["axis_value"] for row in points], [row["time_ns_median"] / factor for row in points], [lows, highs],
                  elinewidth=0.5, **style.line(path, markersize=2.6))
