# SPDX-License-Identifier: MIT
"""Every sample of each cell in the order taken, with what makes them doubtful.

A result has one SM clock a cell, the median over its samples, and throttle reasons before and after the run: these are
what is marked, since no sample has a clock of its own.
"""

from . import documents, panels, style

NAME = "samples"
PLACE = 70
EXTRA = True
SUMMARY = "every sample of each cell in the order taken, with the time of the cell, its interval, clock and throttle marks"
TAKES = ("result",)
NEEDS = "a result (cbank run --json) with samples"
METHOD = ("Each sample's deviation from the time of its cell, which is their trimmed mean over the placements; its 95 % "
          "interval by Student's t. SM clock: median over the samples of the cell.")
COLUMNS = ("workload", "elements", "block_size", "regime", "pattern", "parameters", "path", "sample", "sample_ns",
           "deviation_percent", "time_ns", "time_ns_ci_low", "time_ns_ci_high", "sm_clock_mhz", "flags",
           "throttle_before", "throttle_after", "engine", "source", "source_sha256")

# Letters of flags beside the clock.
MARKS = {"throttled": "T", "unstable": "U", "clock_varied": "C", "counter_differs": "D", "resumed": "R", "errors_grew": "E", "multimodal": "M", "shared": "S"}


def rows(document, selection=documents.ALL):
    throttle = document.content["device"]["throttle"]
    made = []
    for cell in documents.timed(document, selection):
        time, low, high = documents.time_of(cell)
        same = {**documents.identity(cell), "time_ns": time, "time_ns_ci_low": low, "time_ns_ci_high": high,
                "sm_clock_mhz": documents.number(cell["sm_clock_mhz"]), "flags": " ".join(cell["flags"]),
                "throttle_before": documents.number(throttle["before"]),
                "throttle_after": documents.number(throttle["after"]),
                "engine": document.content["engine"], **document.source()}
        made += [{**same, "sample": i, "sample_ns": sample, "deviation_percent": 100 * (sample / time - 1)}
                 for i, sample in enumerate(cell["time_ns"]["samples"], 1)]
    if not made:
        raise documents.NotDrawn("it is modelled, and has no samples" if document.content["engine"] == "model" else
                                 "no chosen cell has samples")
    return made


def table(made):
    """One row a cell: nobody prints samples."""
    return [{key: value for key, value in members[0].items() if key not in ("sample", "sample_ns", "deviation_percent")} |
            {"samples": len(members), "lowest_percent": min(row["deviation_percent"] for row in members),
             "highest_percent": max(row["deviation_percent"] for row in members)}
            for members in panels.grouped(made, cell_of).values()]


# -- drawing ------------------------------------------------------------------------------------------------------

ROW_MM = 4.4


def says(made):
    widest = max(table(made), key=lambda row: row["highest_percent"] - row["lowest_percent"])
    return (f"Samples scatter most in {panels.cell_text(widest)} at {style.count_text(widest['elements'])} elements: from "
            f"{widest['lowest_percent']:+.2f} to {widest['highest_percent']:+.2f} % of its time.")


def cell_of(row):
    return tuple(row[key] for key in documents.CELL_KEYS) + (row["parameters"],)


def pages(made, _width_mm):
    cells = list(panels.grouped(made, cell_of).values())
    order = list(panels.grouped(made, panels.panel_of))
    cells.sort(key=lambda members: order.index(panels.panel_of(members[0])))
    found = panels.filled(cells, lambda members: ROW_MM + panels.PANEL_HEAD_MM * len(order) / len(cells))
    return [[row for members in page for row in members] for page in found]


def throttle_text(row):
    words = []
    for key in ("throttle_before", "throttle_after"):
        bits = row[key]
        words.append("not known" if bits is None else "none" if not bits else f"{int(bits):#x}")
    return f"throttle reasons before: {words[0]}, after: {words[1]}"


def handles():
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    return [(Patch(facecolor="0.8"), "95 % interval of the time"),
            (Line2D([], [], color="black", linewidth=0.8), "time of the cell")]


def draw(made, width_mm, note=None):
    parts = panels.grouped(made, panels.panel_of)
    counts = [len(panels.grouped(members, cell_of)) for members in parts.values()]
    flags = sorted({flag for row in made for flag in row["flags"].split()})
    words = [throttle_text(made[0]), "first sample on top"]
    words += [f"{MARKS.get(flag, '?')}: {flag}" for flag in flags] + ([note] if note else [])
    figure, body = style.figure(width_mm, panels.cell_rows_mm(counts, ROW_MM),
                                style.path_handles({row["path"] for row in made}, "point") + handles(),
                                "; ".join(words))
    for panel, axes in panels.cell_rows(body, parts, counts, ROW_MM):
        cells = panels.grouped(parts[panel], cell_of)
        for y, members in enumerate(cells.values()):
            draw_cell(axes, y, members)
        panels.name_rows(axes, panels.panel_text(panel), [panels.cell_text(members[0]) for members in cells.values()], width_mm)
    axes.set_xlabel("% from the time of the cell")
    return figure


def draw_cell(axes, y, members):
    """The order goes down: a drift is seen as a slant."""
    from matplotlib.patches import Rectangle
    first, its = members[0], style.look(members[0]["path"])
    if first["time_ns_ci_low"] and first["time_ns_ci_high"]:
        low, high = (100 * (first[key] / first["time_ns"] - 1) for key in ("time_ns_ci_low", "time_ns_ci_high"))
        axes.add_patch(Rectangle((low, y - 0.42), high - low, 0.84, facecolor="0.8", edgecolor="none", zorder=1))
    axes.plot([0, 0], [y - 0.42, y + 0.42], color="black", linewidth=0.8, zorder=2)
    axes.plot([row["deviation_percent"] for row in members],
              [y - 0.36 + 0.72 * i / max(1, len(members) - 1) for i in range(len(members))], linestyle="none",
              marker=its.marker, markersize=2, color=its.color, markeredgecolor="black", markeredgewidth=0.2, zorder=3)
    clock = "" if first["sm_clock_mhz"] is None else f"{first['sm_clock_mhz']:.0f} MHz"
    marks = "".join(MARKS.get(flag, "?") for flag in first["flags"].split())
    panels.beside(axes, y, f"{clock} {marks}".strip())
