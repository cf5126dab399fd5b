# SPDX-License-Identifier: MIT
"""Operations per byte of a convolution: as textbooks count them, and of the traffic that was counted."""

import statistics

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


def why_not(made):
    return "it is of one radius alone" if len({row["radius"] for row in made}) == 1 else None


def says(made):
    claims = [row["operations_per_byte"] for row in made if row["traffic"] == "ideal"]
    words = []
    for kind, name in TRAFFIC.items():
        its = [row["operations_per_byte"] for row in made if row["traffic"] == kind]
        if kind != "ideal" and its:
            words.append(f"{style.short(min(its))} to {style.short(max(its))} for a byte of {name} traffic")
    return (f"Textbooks claim {style.short(min(claims))} to {style.short(max(claims))} operations a byte; counted are " if claims
            else "Operations counted are ") + " and ".join(words) + "."


# -- drawing ------------------------------------------------------------------------------------------------------

APART = 0.1  # of the median of all paths: a path that is as far from it has a line of its own


def pages(made, _width_mm):
    """Workloads of one size together."""
    return list(panels.grouped(made, lambda row: panels.panel_of(row)[1:]).values())


def draw(made, width_mm, note=None):
    workloads = panels.grouped(made, lambda row: row["workload"])
    across = panels.across(width_mm, len(workloads))
    size = ", ".join(panels.fact_text(*pair) for pair in zip(panels.PANEL_KEYS[1:], panels.panel_of(made[0])[1:]))
    height = panels.LINES_MM + 12
    figure, body = style.figure(width_mm, height * -(-len(workloads) // across), (), "; ".join(filter(None, (size, note))))
    for axes, (workload, members) in zip(panels.grid(body, len(workloads), across), workloads.items()):
        draw_panel(axes, members, width_mm / across)
        panels.head(axes, workload)
    return figure


def draw_panel(axes, members, panel_mm):
    values = [row["operations_per_byte"] for row in members]
    panels.number_axis(axes, [row["radius"] for row in members], str, panel_mm - 45)
    style.log_axis(axes, "y", min(values) / 1.3, max(values) * 1.3)
    ends = [end for kind in TRAFFIC if kind != "ideal" for end in draw_traffic(axes, kind, members)]
    edge = axes.get_xlim()[1]
    for value, rows_of in panels.grouped([row for row in members if row["traffic"] == "ideal"],
                                         lambda row: row["operations_per_byte"]).items():
        axes.axhline(value, color="black", linestyle=style.DASHED, linewidth=0.8, zorder=1)
        paths = style.in_order(row["path"] for row in rows_of)
        ends.append((edge, value, f"claimed {value:g}: " + (paths[0] if len(paths) == 1 else f"{len(paths)} paths"), "black"))
    panels.name_lines(axes, ends)
    axes.set_xlabel("radius")
    axes.set_ylabel("operations per byte")


def draw_traffic(axes, kind, members):
    """The paths that are alike as one band with its median, each of the others as a line; what stands at their ends."""
    lines = {path: {row["radius"]: row["operations_per_byte"] for row in rows_of} for path, rows_of in
             panels.grouped([row for row in members if row["traffic"] == kind], lambda row: row["path"]).items()}
    middle = {radius: statistics.median(line[radius] for line in lines.values() if radius in line)
              for radius in sorted({radius for line in lines.values() for radius in line})}
    alike = [path for path, line in lines.items()
             if all(abs(value / middle[radius] - 1) <= APART for radius, value in line.items())]
    ends = []
    if alike:
        of = {radius: [lines[path][radius] for path in alike if radius in lines[path]] for radius in middle}
        radii = [radius for radius, values in of.items() if values]
        axes.fill_between(radii, [min(of[radius]) for radius in radii], [max(of[radius]) for radius in radii], color="0.8")
        axes.plot(radii, [statistics.median(of[radius]) for radius in radii], color="black", marker=MARKS[kind], markersize=2.6)
        ends.append((radii[-1], statistics.median(of[radii[-1]]), f"{TRAFFIC[kind]}: {len(alike)} paths", "black"))
    for path in style.in_order(set(lines) - set(alike)):
        axes.plot(*zip(*sorted(lines[path].items())), **style.line(path, markersize=2.6))
        ends.append((*max(lines[path].items()), f"{TRAFFIC[kind]}: {path}", style.ink(path)))
    return ends


MARKS = {"dram": "o", "l2": "s"}
