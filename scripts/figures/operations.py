# SPDX-License-Identifier: MIT
"""Operations per byte of a convolution: as textbooks count them, and of the traffic that was counted."""

from . import documents, panels, style

NAME = "operations"
PLACE = 80
SUMMARY = "operations per byte of traffic, claimed and measured, against the radius of the convolution"
TAKES = ("result",)
NEEDS = "a result (cbank run --workload conv_1d,conv_2d,conv_3d --json) with counters"
METHOD = ("Claimed: as textbooks count a sum of products without caches. Measured: operations by dram_read_bytes + "
          "dram_write_bytes, and by 32 x l2_sectors; counters have no interval.")
COLUMNS = ("workload", "elements", "block_size", "regime", "pattern", "parameters", "radius", "path", "traffic",
           "operations_per_byte", "operations", "engine", "source", "source_sha256")
TRAFFIC = {"ideal": "claimed", "dram": "DRAM", "l2": "L2"}


def rows(document, selection=documents.ALL):
    cells = [cell for cell in documents.chosen(document, selection) if cell["status"] == "ok" and
             "radius" in cell.get("parameters", {})]
    if not cells:
        raise documents.NotDrawn("no chosen cell is of a convolution")
    made = [{**documents.identity(cell), "radius": cell["parameters"]["radius"], "traffic": kind,
             "operations_per_byte": documents.positive(cell["operations_per_byte"][kind]),
             "operations": documents.number(cell["operations"]), "engine": document.content["engine"],
             **document.source()}
            for cell in cells for kind in TRAFFIC if documents.positive(cell["operations_per_byte"][kind])]
    if not any(row["traffic"] != "ideal" for row in made):
        raise documents.NotDrawn("no chosen cell has counters of DRAM or L2 traffic")
    return made


# -- drawing ------------------------------------------------------------------------------------------------------


def pages(made, _width_mm):
    """Workloads of one size beside each other."""
    return list(panels.grouped(made, lambda row: panels.panel_of(row)[1:]).values())


def draw(made, width_mm, note=None):
    from matplotlib.lines import Line2D
    wide = style.wide(width_mm)
    workloads = list(panels.grouped(made, lambda row: row["workload"]))
    measured = [kind for kind in TRAFFIC if kind != "ideal" and any(row["traffic"] == kind for row in made)]
    claimed = Line2D([], [], color="black", linestyle=style.DASHED, linewidth=0.8), "claimed"
    note = "; ".join([claims_text(made)] + ([note] if note else []))
    keys = [(workload, kind) for kind in measured for workload in workloads]
    across = len(workloads)
    if not wide:
        keys, across = [(workload, kind) for workload in workloads for kind in measured], len(measured)
    figure, body = style.figure(width_mm, 42 * -(-len(keys) // across),
                                style.path_handles({row["path"] for row in made}, "line") + [claimed], note)
    for i, (axes, (workload, kind)) in enumerate(zip(panels.grid(body, len(keys), across, sharex="all", sharey="all"),
                                                     keys)):
        draw_panel(axes, [row for row in made if row["workload"] == workload], kind,
                   style.in_order(row["path"] for row in made))
        axes.set_xticks(sorted({row["radius"] for row in made}))
        axes.set_title(f"{workload}, {TRAFFIC[kind]}", loc="left")
        if i % across == 0:
            axes.set_ylabel("operations per byte")
        if i + across >= len(keys):
            axes.set_xlabel("radius")
    return figure


def claims_text(made):
    claims = panels.grouped([row for row in made if row["traffic"] == "ideal"], lambda row: row["operations_per_byte"])
    return "; ".join(f"claimed {value:g}: " + ", ".join(style.in_order(row["path"] for row in members))
                     for value, members in sorted(claims.items()))


def draw_panel(axes, members, kind, paths):
    """Paths stand beside each other at a radius: many are equal."""
    axes.set_yscale("log")
    style.plain_log(axes.yaxis)
    for i, path in enumerate(paths):
        aside = 0.5 * (i / max(1, len(paths) - 1) - 0.5)
        points = sorted((row for row in members if row["path"] == path and row["traffic"] == kind),
                        key=lambda row: row["radius"])
        axes.plot([row["radius"] + aside for row in points], [row["operations_per_byte"] for row in points],
                  **style.line(path, markersize=3, linewidth=0.5))
    claims = panels.grouped([row for row in members if row["traffic"] == "ideal"],
                            lambda row: row["operations_per_byte"])
    for value in claims:
        axes.axhline(value, color="black", linestyle=style.DASHED, linewidth=0.8, zorder=1)
        axes.annotate(f"{value:g}", (1, value), (-1, 1.5), xycoords=("axes fraction", "data"),
                      textcoords="offset points", ha="right", va="bottom", fontsize=5.5)
