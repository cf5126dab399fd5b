# SPDX-License-Identifier: MIT
"""Measured time beside the parts that the model makes it of.

Of the parts that overlap the longest counts. It is stacked on launch and wave, as the model adds them up; where each of
the others would end is marked.
"""

import os

from . import documents, panels, style

NAME = "parts"
PLACE = 40
SUMMARY = "measured time of each cell beside the modelled one, part by part"
TAKES = ("explanation",)
NEEDS = "an explanation (cbank explain --json), or a result and the program, which makes one"
METHOD = ("Measured: median with its 95 % interval. Modelled: launch + wave + the longest of residency, issue, "
          "serialization + misses, and stream (stacked); the others overlap with it (hidden).")
COLUMNS = ("workload", "elements", "block_size", "regime", "pattern", "parameters", "path", "part", "drawn", "time_ns",
           "time_ns_ci_low", "time_ns_ci_high", "share_of_measured", "ends_at_share", "remainder", "card", "result",
           "device", "engine", "source", "source_sha256")

FIRST = ("launch", "wave")
OVERLAPPING = (("residency",), ("issue",), ("serialization", "misses"), ("stream",))


def rows(document, selection=documents.ALL):
    documents.chosen(document, selection)
    made = []
    for result in document.content["results"]:
        for cell in result["cells"]:
            if cell in selection and cell["modelled"] and cell["remainder"] is not None and documents.time_of(cell)[0]:
                made += rows_of(document, result, cell)
    if not made:
        raise documents.NotDrawn("no chosen cell is both timed and modelled")
    return made


def rows_of(document, result, cell):
    measured, low, high = documents.time_of(cell)
    same = {**documents.identity(cell), "card": document.content["card"]["name"],
            "result": os.path.basename(result["file"]), "device": result["device"]["name"], "engine": result["engine"],
            **document.source()}
    made = [{**same, "part": "measured", "drawn": "measured", "time_ns": measured, "time_ns_ci_low": low,
             "time_ns_ci_high": high, "share_of_measured": 1.0, "ends_at_share": 1.0,
             "remainder": documents.number(cell["remainder"])}]
    parts = cell["modelled"]["parts_ns"]
    longest = next(group for group in OVERLAPPING if group[0] in cell["modelled"]["bound_by"] or
                   group[-1] in cell["modelled"]["bound_by"])
    before = 0.0
    for name in FIRST:
        before += parts[name]
        made.append(part(same, name, "stacked", parts[name], before, measured))
    for group in OVERLAPPING:
        end = before
        for name in group:
            end += parts[name]
            made.append(part(same, name, "stacked" if group is longest else "hidden", parts[name], end, measured))
    return made


def part(same, name, drawn, time, end, measured):
    return {**same, "part": name, "drawn": drawn, "time_ns": time, "share_of_measured": time / measured,
            "ends_at_share": end / measured}


# -- drawing ------------------------------------------------------------------------------------------------------

CELLS_MAX = 40  # a page
ROW_MM = 4.6


def cell_of(row):
    return tuple(row[key] for key in documents.CELL_KEYS) + (row["parameters"], row["result"])


def panel_of(row):
    """Of several results that were explained together, each has panels of its own."""
    return row["result"], row["engine"], panels.panel_of(row)


def pages(made, _width_mm):
    cells = list(panels.grouped(made, cell_of).values())
    order = list(panels.grouped(made, panel_of))
    cells.sort(key=lambda members: order.index(panel_of(members[0])))
    return [[row for members in page for row in members] for page in panels.parted(cells, CELLS_MAX)]


def handles():
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    found = [(Patch(facecolor="white", edgecolor="black", linewidth=0.6), "measured")]
    for name, its in style.PARTS.items():
        patch = Patch(**style.bar(its))
        found.append((patch if name in FIRST else (patch, Line2D([], [], **mark(its))), name))
    return found


def mark(its):
    """Where a part that overlaps with a longer one would end."""
    return {"linestyle": "none", "marker": its.marker, "markersize": 3, "color": its.color, "markeredgecolor": "black",
            "markeredgewidth": 0.5}


def draw(made, width_mm, note=None):
    parts = panels.grouped(made, panel_of)
    several = len({row["result"] for row in made}) > 1
    counts = [len(panels.grouped(members, cell_of)) for members in parts.values()]
    words = "marks: where the parts that overlap with the longest would end"
    figure, body = style.figure(width_mm, panels.cell_rows_mm(counts, ROW_MM), handles(),
                                f"{words}; {note}" if note else words)
    for panel, axes in panels.cell_rows(body, parts, counts, ROW_MM):
        cells = panels.grouped(parts[panel], cell_of)
        for y, members in enumerate(cells.values()):
            draw_cell(axes, y, members)
        result, engine, cells_of_panel = panel
        panels.name_rows(axes, cells_of_panel, [panels.cell_text(members[0]) for members in cells.values()], width_mm)
        if several:
            axes.annotate(result + (", modelled" if engine != "cuda" else ""), (1, 1), (0, 2), ha="right", va="bottom",
                          xycoords="axes fraction", textcoords="offset points", fontsize=5.5)
    most = 100 * max(row["ends_at_share"] for row in made if row["drawn"] != "hidden")
    axes.set_xlim(0, panels.widened(0, most, [panels.cell_text(row) for row in made], width_mm, 22))
    axes.set_xlabel("share of the measured time, %")
    return figure


def draw_cell(axes, y, members):
    measured = members[0]
    axes.barh(y - 0.2, 100, 0.36, facecolor="white", edgecolor="black", linewidth=0.6)
    if measured["time_ns_ci_low"] and measured["time_ns_ci_high"]:
        time = measured["time_ns"]
        axes.errorbar(100, y - 0.2, xerr=[[100 * (1 - measured["time_ns_ci_low"] / time)],
                                          [100 * (measured["time_ns_ci_high"] / time - 1)]],
                      color="black", linewidth=0.6, capsize=1.2)
    for row in members[1:]:
        its, end = style.PARTS[row["part"]], 100 * row["ends_at_share"]
        if row["drawn"] == "stacked":
            axes.barh(y + 0.2, 100 * row["share_of_measured"], 0.36, left=end - 100 * row["share_of_measured"],
                      **style.bar(its))
        else:
            axes.plot(end, y + 0.2, **mark(its))
    stacked = max(row["ends_at_share"] for row in members if row["drawn"] == "stacked")
    words = f"{style.time_text(measured['time_ns'])}, {100 * measured['remainder']:+.1f} %"
    axes.annotate(words, (100 * max(1, stacked), y), (4, 0), textcoords="offset points", va="center", fontsize=5.5)
