# SPDX-License-Identifier: MIT
"""Measured time beside the parts that the model makes it of.

Of the parts that overlap the longest counts: it is stacked on launch and wave, as the model adds them up. The CSV has the
others, too.
"""

import os

from . import documents, panels, style

NAME = "parts"
PLACE = 40
PAGES_MAX = 1
SUMMARY = "measured time of each cell beside the modelled one, part by part"
TAKES = ("explanation",)
NEEDS = "an explanation (cbank explain --json), or a result and the program, which makes one"
METHOD = ("Measured: trimmed mean over the placements with its 95 % interval by Student's t. Modelled: launch + wave + "
          "the longest of residency, issue, "
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


def says(made):
    measured = [row for row in made if row["part"] == "measured"]
    near = sum(abs(row["remainder"]) <= WITHIN for row in measured)
    worst = max(measured, key=lambda row: abs(row["remainder"]))
    return (f"The model is within {100 * WITHIN:g} % of the measured time in {near} of {len(measured)} cells; it is furthest from that of "
            f"{panels.cell_text(worst)} at {style.count_text(worst['elements'])} elements, {abs(100 * worst['remainder']):.1f} % "
            f"too {'short' if worst['remainder'] > 0 else 'long'}.")


WITHIN = 0.1  # as cbank explain says it by default

# -- drawing ------------------------------------------------------------------------------------------------------

ROW_MM = 3.6


def cell_of(row):
    return tuple(row[key] for key in documents.CELL_KEYS) + (row["parameters"], row["result"])


def panel_of(row):
    """Of several results that were explained together, each has panels of its own."""
    return row["result"], row["engine"], panels.panel_of(row)


def pages(made, _width_mm):
    cells = list(panels.grouped(made, cell_of).values())
    order = list(panels.grouped(made, panel_of))
    cells.sort(key=lambda members: order.index(panel_of(members[0])))
    found = panels.filled(cells, lambda members: ROW_MM + panels.PANEL_HEAD_MM * len(order) / len(cells))
    return [[row for members in page for row in members] for page in found]


def draw(made, width_mm, note=None):
    from matplotlib.patches import Patch
    parts = panels.grouped(made, panel_of)
    several = len({row["result"] for row in made}) > 1
    counts = [len(panels.grouped(members, cell_of)) for members in parts.values()]
    drawn = {row["part"] for row in made if row["drawn"] == "stacked"}
    figure, body = style.figure(width_mm, panels.cell_rows_mm(counts, ROW_MM),
                                [(Patch(**style.bar(its)), name) for name, its in style.PARTS.items() if name in drawn],
                                "; ".join(filter(None, ("on the right: measured time, and what the model lacks of it (below 0: has too much)", note))))
    for panel, axes in panels.cell_rows(body, parts, counts, ROW_MM):
        cells = panels.grouped(parts[panel], cell_of)
        result, engine, cells_of_panel = panel
        of = f"{result}{', modelled' if engine != 'cuda' else ''}: " if several else ""
        panels.name_rows(axes, of + panels.panel_text(cells_of_panel), [panels.cell_text(members[0]) for members in cells.values()], width_mm)
        for y, members in enumerate(cells.values()):
            draw_cell(axes, y, members)
        axes.axvline(100, color="black", linewidth=0.8, zorder=3)
    axes.set_xlim(0, max(110, 105 * max(row["ends_at_share"] for row in made if row["drawn"] == "stacked")))
    axes.set_xlabel("modelled time, part by part, % of the measured")
    return figure


def draw_cell(axes, y, members):
    for row in members[1:]:
        if row["drawn"] == "stacked" and row["share_of_measured"]:
            share = 100 * row["share_of_measured"]
            axes.barh(y, share, 0.72, left=100 * row["ends_at_share"] - share, **style.bar(style.PARTS[row["part"]]))
    panels.beside(axes, y, f"{style.time_text(members[0]['time_ns'])}, {100 * members[0]['remainder']:+.1f} %")
