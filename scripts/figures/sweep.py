# SPDX-License-Identifier: MIT
"""Time against what a sweep varies: distinct addresses, elements, radius, bytes. A line for each path."""

from collections import namedtuple

from . import documents, panels, style

NAME = "sweep"
PLACE = 15
SUMMARY = "time against what was varied (distinct addresses, elements, bytes, warps, radius), a line for each path"
TAKES = ("result",)
NEEDS = "a result (cbank run --json) in which something takes three values or more"
METHOD = ("Time of a launch: trimmed mean over the placements with its 95 % interval by Student's t; lines from point "
          "to point, nothing fitted.")
COLUMNS = ("axis", "axis_value", "lines", *documents.CELL_KEYS, "parameters", "time_ns", "time_ns_ci_low",
           "time_ns_ci_high", "flags", "engine", "source", "source_sha256")

# What can be an axis, the first that has enough values, and what lines are told apart by. Any other number comes after
# these, and LAST after those.
Axis = namedtuple("Axis", "name text lines", defaults=("path",))
AXES = (Axis("warps_per_sm", "warps that an SM runs at a time"),
        Axis("pressure_bytes", "bytes streamed through L1 beside the table"),
        Axis("width_bytes", "bytes of an element", "distinct"),
        Axis("distinct", "distinct addresses in a warp"),
        Axis("radius", "radius of the filter"),
        Axis("refill_bytes", "bytes written before every launch"),
        Axis("modules", "modules in turn"),
        Axis("table_bytes", "bytes of the table"),
        Axis("width_bytes", "bytes of an element"))
LAST = (Axis("elements", "elements"), Axis("block_size", "threads of a block"))
TEXTS = {axis.name: axis.text for axis in (*AXES, *LAST)}
VALUES_MIN = 3
SOURCE_KEYS = ("pattern", "distinct")  # what tells sources of indices apart: panels beside each other


def numbers_of(cell):
    """{axis: value} of all that is a number."""
    return {**{key: value for key, value in cell.get("parameters", {}).items() if isinstance(value, int)},
            **{axis.name: cell[axis.name] for axis in LAST}}


def completed(cells):
    """With the width of the elements where another cell names its own: 4 bytes are left out of results."""
    named = any("width_bytes" in cell.get("parameters", {}) for cell in cells)
    return [{**cell, "parameters": {"width_bytes": cell["width_bytes"], **cell["parameters"]}} if named and "width_bytes" in cell
            else cell for cell in cells]


def axes_of(cells):
    """{(workload, pattern): axis} of the cells that something is varied of, all else the same. A workload with more
    patterns than an axis has values is a matrix of them, not a sweep."""
    found, cells = {}, completed(cells)
    for key, members in panels.grouped(cells, lambda cell: (cell["workload"], cell["pattern"])).items():
        patterns = {cell["pattern"] for cell in cells if cell["workload"] == key[0]}
        axis = next((axis for axis in axes_for(members) if has_axis(members, axis, len(patterns))), None)
        if axis:
            found[key] = axis
    return found


def axes_for(cells):
    names = dict.fromkeys(name for cell in cells for name in numbers_of(cell) if name not in TEXTS)
    return (*AXES, *(Axis(name, name.replace("_", " ")) for name in names), *LAST)


def has_axis(cells, axis, patterns):
    """Whether a line of the cells has enough points, as many as there are patterns, and lines are told apart by something."""
    series = panels.grouped([cell for cell in cells if axis.name in numbers_of(cell)], lambda cell: others_of(cell, axis.name))
    points = max((len({numbers_of(cell)[axis.name] for cell in its}) for its in series.values()), default=0)
    lines = {cell[axis.lines] if axis.lines in cell else numbers_of(cell).get(axis.lines) for cell in cells}
    return points >= max(VALUES_MIN, patterns) and (axis.lines == "path" or len(lines) > 1)


def others_of(cell, axis):
    """What is the same along a line."""
    parameters = {key: value for key, value in cell.get("parameters", {}).items() if key != axis}
    return tuple(cell[key] for key in documents.CELL_KEYS if key != axis) + tuple(sorted(parameters.items()))


def rows(document, selection=documents.ALL):
    cells = completed(documents.timed(document, selection))
    axes, made = axes_of(cells), []
    for cell in cells:
        axis = axes.get((cell["workload"], cell["pattern"]))
        if axis and axis.name in numbers_of(cell):
            time, low, high = documents.time_of(cell)
            made.append({"axis": axis.name, "axis_value": numbers_of(cell)[axis.name], "lines": axis.lines,
                         **documents.identity(cell), "time_ns": time, "time_ns_ci_low": low, "time_ns_ci_high": high,
                         "flags": " ".join(cell["flags"]), "engine": document.content["engine"], **document.source()})
    if not made:
        raise documents.NotDrawn(f"nothing takes {VALUES_MIN} values in the chosen cells")
    return made


# -- what it says -------------------------------------------------------------------------------------------------


def says(made):
    """Which place is the quickest how often, and how far the time goes along the lines that it goes least and most along."""
    text = "; ".join(text for text in (panels.quickest_text(made), changes_text(made)) if text) or f"Time against the {axis_text(made[0])}"
    return text[0].upper() + text[1:] + "."


def changes_text(made):
    series = [sorted(its, key=lambda row: row["axis_value"]) for its in panels.grouped(made, lambda row: (panel_of(row), line_of(row))).values()]
    series = [its for its in series if len(its) >= VALUES_MIN]
    names = panels.told_apart([facts_of(its[0], whole=True) for its in series])[1]
    ratios = [its[-1]["time_ns"] / its[0]["time_ns"] for its in series]
    words = []
    for choose in (min, max) if series else ():
        place = choose(range(len(series)), key=lambda i: ratios[i])
        first, last = series[place][0], series[place][-1]
        words.append(f"{style.ratio_text(ratios[place])} times ({names[place] or first['path']}: {style.time_text(first['time_ns'])} "
                     f"at {value_text(first)}, {style.time_text(last['time_ns'])} at {value_text(last)}{steepest_text(series[place])})")
    return words and f"with the {axis_text(made[0])} a launch takes from {words[0]} to {words[1]} as long"


def steepest_text(its):
    """Where the time grows most, if that is faster than what is varied."""
    steps = [(after["time_ns"] / before["time_ns"], before, after) for before, after in zip(its, its[1:])]
    growth, before, after = max(steps, key=lambda step: step[0])
    steep = len(steps) > 2 and growth > 1.1 * after["axis_value"] / before["axis_value"]
    return f", {style.ratio_text(growth)} times from {value_text(before)} to {value_text(after)}" if steep else ""


def axis_text(row):
    return TEXTS.get(row["axis"]) or row["axis"].replace("_", " ")


def value_text(row):
    value = row["axis_value"]
    return style.bytes_text(value) if row["axis"].endswith("_bytes") else style.count_text(value) if row["axis"] == "elements" else str(value)


# -- drawing ------------------------------------------------------------------------------------------------------


def facts_of(row, whole=False):
    """{what: value} of a panel, or of a whole line."""
    facts = {"path": row["path"], **panels.facts_of(row)}
    return {key: value for key, value in facts.items() if key != row["axis"] and (whole or key != row["lines"])}


def line_of(row):
    return row["path"] if row["lines"] == "path" else panels.facts_of(row)[row["lines"]]


def panel_of(row):
    return tuple(facts_of(row).items())


PANEL_MM, FOOT_MM = 36, 4  # without the label below the last of panels; that label


def height_of(members):
    return panels.lines_mm(len({line_of(row) for row in members}), PANEL_MM)


def pages(made, width_mm):
    """Panels of one axis go together, those of one source of indices below each other."""
    found = []
    by_axis = panels.grouped(made, lambda row: (row["axis"], row["lines"]))
    for members in (by_axis[key] for key in sorted(by_axis, key=lambda key: key[1] == "path")):
        parts = sorted(panels.grouped(members, panel_of).values(), key=lambda its: order_of(its[0]))
        across = across_of(members, len(parts), width_mm)
        rows_of_parts = [parts[i:i + across] for i in range(0, len(parts), across)]
        for page in panels.parted(rows_of_parts, int(panels.PAGE_MM / max(map(height_of, parts)))):
            found.append([row for its in page for part in its for row in part])
    return found


def across_of(made, count, width_mm):
    return panels.narrow_across(width_mm, count, max(len(line_of(row)) for row in made))


def order_of(row):
    facts = facts_of(row)
    values = [facts[key] for key in (*(key for key in facts if key not in SOURCE_KEYS), *SOURCE_KEYS) if key in facts]
    return tuple((0, int(value), "") if str(value).isdigit() else (1, 0, value) for value in values)


def draw(made, width_mm, note=None):
    parts = list(panels.grouped(made, panel_of).values())
    across = across_of(made, len(parts), width_mm)
    common, titles = panels.told_apart([facts_of(part[0]) for part in parts])
    lines = None if made[0]["lines"] == "path" else f"at the lines: {TEXTS[made[0]['lines']]}"
    flags = ", ".join(sorted({flag for row in made for flag in row["flags"].split()}))
    height = max(map(height_of, parts)) * -(-len(parts) // across) + FOOT_MM
    figure, body = style.figure(width_mm, height, (), "; ".join(filter(None, (note, common, lines, flags and f"hollow: {flags}"))))
    alike = len({(row["workload"], row["elements"] * (row["axis"] != "elements")) for row in made}) == 1
    for place, (axes, title, members) in enumerate(zip(panels.grid(body, len(parts), across), titles, parts)):
        draw_panel(axes, members, made if alike else members, width_mm / across)
        panels.head(axes, title, width_mm / across - 12)
        if place + across < len(parts):
            axes.set_xlabel(None)
        if place % across:
            axes.set_ylabel(None)
            axes.tick_params(labelleft=not alike)
    return figure


def draw_panel(axes, members, scaled, panel_mm):
    """`scaled`: the rows that the scales have room for."""
    axis, times = members[0]["axis"], [row["time_ns"] for row in scaled]
    unit, factor = style.time_unit(min(times))
    values = [row["axis_value"] for row in scaled]
    room = panel_mm - 13 - panels.LETTER_MM * max(len(line_of(row)) for row in members)
    if axis == "elements":
        style.log_axis(axes, "x", min(values) / 1.2, max(values) * 1.2, style.count_text, min(6, max(2, int(room / 7))))
    else:
        panels.number_axis(axes, values, style.size_text if axis.endswith("_bytes") else str, room)
    low, high = min(times) / factor, max(times) / factor
    if high > 4 * low:
        style.log_axis(axes, "y", low / 1.15, high * 1.15)
    else:
        axes.set_ylim(0, high * 1.1)
    lines = lines_of(members)
    for look, points in lines:
        draw_line(axes, look, points, factor)
    panels.name_lines(axes, [(its[-1]["axis_value"], its[-1]["time_ns"] / factor, text, style.ink_of(look))
                             for look, its, text in named(lines)])
    axes.set_xlabel(axis_text(members[0]))
    axes.set_ylabel(f"time of a launch, {unit}")


def lines_of(members):
    """[(look, points)]."""
    found = panels.grouped(sorted(members, key=lambda row: row["axis_value"]), line_of)
    if members[0]["lines"] == "path":
        return [(style.look(path), found[path]) for path in style.in_order(found)]
    return [(style.chip(place), found[value]) for place, value in enumerate(sorted(found, key=int))]


def named(lines):
    """[(look, points, what stands at its end)]: lines that cannot be told apart are named together."""
    found = []
    for look, points in lines:
        same = next((place for place, its in enumerate(found) if as_quick(its[1], points)), None)
        if same is None:
            found.append((look, points, line_of(points[0])))
        else:
            found[same] = (look, points, f"{found[same][2]},\n{line_of(points[0])}")
    return found


def as_quick(points, others):
    """Whether both lines have the same points, each within 1 %."""
    return [row["axis_value"] for row in points] == [row["axis_value"] for row in others] and all(
        max(times) <= panels.NEAR * min(times) for times in zip(*([row["time_ns"] for row in its] for its in (points, others))))


def draw_line(axes, look, points, factor):
    panels.draw_points(axes, ([row["axis_value"] for row in points], [row["time_ns"] / factor for row in points]),
                       panels.intervals(points, "time_ns", factor), bars_width=0.5, **style.line_of(look, markersize=2.6))
    flagged = [row for row in points if row["flags"]]
    if flagged:
        axes.plot([row["axis_value"] for row in flagged], [row["time_ns"] / factor for row in flagged], zorder=3,
                  **{**style.line_of(look, markersize=2.6, linestyle="none"), **style.HOLLOW})
