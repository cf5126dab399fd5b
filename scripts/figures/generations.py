# SPDX-License-Identifier: MIT
"""Chips by patterns: what constant memory costs beside global memory, from any number of results."""

from . import documents, panels, style

NAME = "generations"
PLACE = 60
SUMMARY = "ratio of constant to global memory, chips by patterns, from all results given"
TAKES = ("result",)
NEEDS = "results (cbank run --json) with cells on the paths constant and global"
METHOD = ("Time on path constant to time on path global, of medians; ends of the interval: quotients of opposite ends, "
          "which is wider than 95 %. A cell that is in several results of a chip is taken from the first.")
COLUMNS = ("workload", "elements", "block_size", "regime", "pattern", "parameters", "device", "compute_capability",
           "driver", "engine", "constant_ns", "global_ns", "ratio", "ratio_low", "ratio_high", "source",
           "source_sha256")
COMBINES = True
ABOVE, BELOW = "constant", "global"


def rows(given, selection=documents.ALL):
    found = {}
    for document in given:
        for row in rows_of(document, selection):
            key = (chip_of(row), panels.panel_of(row), panels.group_of(row))
            found.setdefault(key, row)
    if not found:
        raise documents.NotDrawn(f"no chosen cell was timed on both {ABOVE} and {BELOW}")
    return list(found.values())


def rows_of(document, selection):
    device = document.content["device"]
    cells = [cell for cell in document.content["cells"] if cell["status"] == "ok" and documents.time_of(cell)[0]]
    times = {tuple(documents.identity(cell).values()): documents.time_of(cell) for cell in cells}
    made = []
    for cell in cells:
        same = documents.identity(cell)
        below = times.get(tuple({**same, "path": BELOW}.values()))
        if cell["path"] == ABOVE and cell in selection and below:
            above = documents.time_of(cell)
            ratio, low, high = documents.quotient(above, below)
            same.pop("path")
            made.append({**same, "device": device["name"], "compute_capability": device["compute_capability"],
                         "driver": device["driver"], "engine": document.content["engine"], "constant_ns": above[0],
                         "global_ns": below[0], "ratio": ratio, "ratio_low": low, "ratio_high": high,
                         **document.source()})
    return made


def chip_of(row):
    """Modelled times are never those of the chip."""
    return row["compute_capability"], row["device"], row["engine"], row["driver"] or ""


# -- drawing ------------------------------------------------------------------------------------------------------

PANELS_MAX = 10  # a page
COLOURS = (0.5, 32)  # the same in all figures; what is beyond has the colour of the end


def pages(made, width_mm):
    return panels.pages_of(made, width_mm, PANELS_MAX)


def chip_order(chip):
    capability, *rest = chip
    return tuple(int(word) for word in capability.split(".")), rest


def chip_texts(chips):
    """Names of chips, with the driver where it alone tells two apart."""
    names = [(chip[1], chip[2]) for chip in chips]
    return [name + (", modelled" if engine != "cuda" else "") +
            (f"\ndriver {driver}" if names.count((name, engine)) > 1 and driver else "")
            for _, name, engine, driver in chips]


def draw(made, width_mm, note=None):
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm
    parts = panels.panels_of(made, width_mm)
    most = max(len(groups) for _, groups in parts)
    chips = sorted({chip_of(row) for row in made}, key=chip_order)
    across = min(len(parts), 2 if style.wide(width_mm) and most <= 4 else 1)
    down = -(-len(parts) // across)
    figure, body = style.figure(width_mm, down * (14 + 6 * len(chips) + 2 * deepest(parts)) + 3, note=note)
    colours = ScalarMappable(LogNorm(*COLOURS, clip=True), "cividis")
    axes = panels.grid(body, len(parts), across)
    for one, (panel, groups) in zip(axes, parts):
        draw_panel(one, panel, groups, chips, colours)
        one.set_xlim(-0.5, most - 0.5)  # cells of one size on all panels
    bar = body.colorbar(colours, ax=axes, shrink=0.9 if down < 3 else 0.4, pad=0.01, aspect=12 if down < 3 else 20)
    bar.outline.set_linewidth(0.4)
    bar.solids.set(rasterized=False, edgecolor="face")
    style.plain_log(bar.ax.yaxis)
    bar.set_ticks([0.5, 1, 2, 4, 8, 16, 32])
    bar.ax.set_yticks([], minor=True)
    bar.set_label(f"{ABOVE} to {BELOW}")
    return figure


def deepest(parts):
    """Most lines of a label below a panel."""
    return max(panels.group_text(key).count("\n") for _, groups in parts for key, _ in groups)


def draw_panel(axes, panel, groups, chips, colours):
    from matplotlib.patches import Rectangle
    for x, (_, members) in enumerate(groups):
        for row in members:
            y, colour = chips.index(chip_of(row)), colours.to_rgba(row["ratio"])
            axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="white", linewidth=0.6))
            axes.annotate(style.ratio_text(row["ratio"]), (x, y), ha="center", va="center",
                          color="white" if luminance(colour) < 0.5 else "black")
    axes.set_ylim(len(chips) - 0.5, -0.5)
    axes.set_xticks(range(len(groups)), [panels.group_text(key) for key, _ in groups])
    axes.set_yticks(range(len(chips)), chip_texts(chips))
    axes.tick_params(length=0)
    axes.grid(False)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_title(panels.panel_text(panel), loc="left")


def luminance(colour):
    """Of a colour, as grey print has it: 0 to 1."""
    red, green, blue = colour[:3]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
