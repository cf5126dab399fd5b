# SPDX-License-Identifier: MIT
"""Measured time beside the parts that the model makes it of.

Of the parts that overlap the longest counts. It is stacked on launch and wave, as the model adds them up; where each of
the others would end is marked.
"""

from . import documents, panels, style

NAME = "parts"
SUMMARY = "measured time of each cell beside the modelled one, part by part"
TAKES = ("explanation",)
NEEDS = "an explanation (cbank explain --json), or a result and the program, which makes one"
METHOD = ("Measured: median with its 95 % interval. Modelled: launch + wave + the longest of residency, issue, "
          "serialization + misses, and stream (stacked); the others overlap with it (hidden).")
COLUMNS = ("workload", "elements", "block_size", "regime", "pattern", "parameters", "path", "part", "drawn", "time_ns",
           "time_ns_ci_low", "time_ns_ci_high", "share_of_measured", "ends_at_share", "remainder", "card", "device",
           "engine", "source", "source_sha256")

FIRST = ("launch", "wave")
OVERLAPPING = (("residency",), ("issue",), ("serialization", "misses"), ("stream",))


def rows(document, selection=documents.ALL):
    documents.chosen(document, selection)
    made = []
    for result in document.content["results"]:
        for cell in result["cells"]:
            if cell in selection and cell["modelled"] and documents.time_of(cell)[0]:
                made += rows_of(document, result, cell)
    if not made:
        raise documents.NotDrawn("no chosen cell is both timed and modelled")
    return made


def rows_of(document, result, cell):
    measured, low, high = documents.time_of(cell)
    same = {**documents.identity(cell), "card": document.content["card"]["name"], "device": result["device"],
            "engine": result["engine"], **document.source()}
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


def cell_of(row):
    return tuple(row[key] for key in documents.CELL_KEYS) + (row["parameters"], row["source"])


def pages(made):
    cells = sorted(panels.grouped(made, cell_of).items(), key=lambda cell: panels.panel_of(cell[1][0]))
    order = list(panels.grouped(made, panels.panel_of))
    cells.sort(key=lambda cell: order.index(panels.panel_of(cell[1][0])))
    return [[row for _, members in page for row in members] for page in panels.parted(cells, CELLS_MAX)]


def handles():
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    found = [Patch(label="measured", facecolor="white", edgecolor="black", linewidth=0.6)]
    found += [Patch(label=name, **style.bar(its)) for name, its in style.PARTS.items()]
    found.append(Line2D([], [], label="end of a part that is hidden", linestyle="none", marker="o", markersize=2.6,
                        color="white", markeredgecolor="black", markeredgewidth=0.5))
    return found


def draw(made, width_mm, note=None):
    wide = style.wide(width_mm)
    parts = panels.grouped(made, panels.panel_of)
    counts = [len(panels.grouped(members, cell_of)) for members in parts.values()]
    heights = [count * 4.6 + 9 for count in counts]
    figure, body = style.figure(width_mm, sum(heights) + 5, handles(), 9 if wide else 4, note)
    axes = body.subplots(len(parts), 1, squeeze=False, sharex=True, gridspec_kw={"height_ratios": heights})
    for one, (panel, members) in zip(axes[:, 0], parts.items()):
        draw_panel(one, panel, panels.grouped(members, cell_of), wide)
    most = max(row["ends_at_share"] for row in made if row["drawn"] != "hidden")
    axes[0, 0].set_xlim(0, 100 * most * (1.17 if wide else 1.36))
    axes[-1, 0].set_xlabel("share of the measured time, %")
    return figure


def draw_panel(axes, panel, cells, wide):
    for y, members in enumerate(cells.values()):
        draw_cell(axes, y, members)
    axes.set_ylim(len(cells) - 0.4, -0.6)
    axes.set_yticks(range(len(cells)), [cell_text(members[0]) for members in cells.values()])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_title(panels.panel_text(panel) if wide else panels.panel_text(panel).replace(" elements", ""), loc="left")


def cell_text(row):
    return " ".join(word for word in (row["path"], row["pattern"], row["parameters"]) if word)


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
            axes.plot(end, y + 0.2, marker="o", markersize=2.6, color=its.color, markeredgecolor="black",
                      markeredgewidth=0.5)
    stacked = max(row["ends_at_share"] for row in members if row["drawn"] == "stacked")
    words = f"{style.time_text(measured['time_ns'])}, {100 * measured['remainder']:+.1f} %"
    axes.annotate(words, (100 * max(1, stacked), y), (4, 0), textcoords="offset points", va="center", fontsize=5.5)
