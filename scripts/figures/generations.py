# SPDX-License-Identifier: MIT
"""Chips by patterns: what constant and global memory cost, in time of an SM and beside each other, from any number of
results."""

from . import documents, panels, style

NAME = "generations"
PLACE = 60
SUMMARY = "time of constant and of global memory and their ratio, chips by patterns, from all results given"
TAKES = ("result",)
NEEDS = "results (cbank run --json) with cells on the paths constant and global"
METHOD = ("Time of an SM: time of a launch, the trimmed mean over the placements, by the SMs of the chip and the warps of "
          "its elements. Ratio: time on path constant to time on path global; ends of the interval: quotients of opposite "
          "ends, which is wider than 95 %. A cell that is in several results of a chip is taken from the first.")
COLUMNS = ("workload", "elements", "block_size", "regime", "pattern", "parameters", "device", "compute_capability",
           "driver", "engine", "constant_ns", "global_ns", "constant_sm_ns", "global_sm_ns", "ratio", "ratio_low", "ratio_high", "source",
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
    made = list(found.values())
    if len({chip_of(row) for row in made}) > 1:  # what one chip alone has is no comparison
        made = [row for members in panels.grouped(made, line_of).values() if len(members) > 1 for row in members]
        if not made:
            raise documents.NotDrawn("no chosen cell was timed on two chips")
    return made


def line_of(row):
    return panels.panel_of(row), panels.group_of(row)


def of_an_sm(time, cell, device):
    """ns that an SM takes for 32 elements, which are a load of a warp where an element has one."""
    count = device.get("sm_count")
    return time * count * 32 / cell["elements"] if count else None


def why_not(made):
    """The figure matrix says the same."""
    return "it is of one chip alone" if len({chip_of(row) for row in made}) == 1 else None


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
                         "global_ns": below[0], "constant_sm_ns": of_an_sm(above[0], cell, device),
                         "global_sm_ns": of_an_sm(below[0], cell, device), "ratio": ratio, "ratio_low": low, "ratio_high": high,
                         **document.source()})
    return made


def chip_of(row):
    """Modelled times are never those of the chip."""
    return row["compute_capability"], row["device"], row["engine"], row["driver"] or ""


def says(made):
    words = []
    for chip in sorted({chip_of(row) for row in made}, key=chip_order):
        of = sorted((row for row in made if chip_of(row) == chip), key=lambda row: row["ratio"])
        words.append(f"{style.ratio_text(of[0]['ratio'])} to {style.ratio_text(of[-1]['ratio'])} on {chip_texts([chip])[0]}")
    return f"Time through {ABOVE} memory by time through {BELOW} memory is " + ", ".join(words) + "."


# -- drawing ------------------------------------------------------------------------------------------------------

ROW_MM = 3.8
QUANTITIES = {"constant_sm_ns": f"through {ABOVE}: ns of an SM for 32 elements", "global_sm_ns": f"through {BELOW}: ns of an SM for 32 elements",
              "ratio": f"time through {ABOVE} / {BELOW}"}


def pages(made, _width_mm):
    lines = list(panels.grouped(made, line_of).values())
    return [[row for line in page for row in line] for page in panels.filled(lines, lambda line: ROW_MM * 3.2)]


def chip_order(chip):
    capability, *rest = chip
    return tuple(int(word) for word in capability.split(".")), rest


def chip_texts(chips):
    """Names of chips, with the driver where it alone tells two apart."""
    names = [(chip[1], chip[2]) for chip in chips]
    return [name + (", modelled" if engine != "cuda" else "") +
            (f", driver {driver}" if names.count((name, engine)) > 1 and driver else "")
            for _, name, engine, driver in chips]


def draw(made, width_mm, note=None):
    chips = sorted({chip_of(row) for row in made}, key=chip_order)
    looks = {chip: style.chip(place) for place, chip in enumerate(chips)}
    lines = panels.grouped(made, line_of)
    common, names = panels.told_apart([panels.facts_of(members[0]) for members in lines.values()])
    quantities = [key for key in QUANTITIES if all(row[key] is not None for row in made)]
    across = len(quantities) if style.wide(width_mm) else 1
    height = ROW_MM * len(lines) + 11
    handles = [(style.chip_handle(looks[chip]), text) for chip, text in zip(chips, chip_texts(chips))]
    figure, body = style.figure(width_mm, height * -(-len(quantities) // across), handles, "; ".join(filter(None, (common, note))))
    for i, (axes, quantity) in enumerate(zip(panels.grid(body, len(quantities), across), quantities)):
        draw_panel(axes, quantity, lines, looks)
        panels.name_rows(axes, "", names if i % across == 0 else [""] * len(names))
        axes.set_xlabel("\n".join(QUANTITIES[quantity].split(": ")))
    return figure


def draw_panel(axes, quantity, lines, looks):
    values = [row[quantity] for members in lines.values() for row in members]
    style.log_axis(axes, "x", min(values) / 1.2, max(values) * 1.2)
    if quantity == "ratio":
        axes.axvline(1, color="black", linewidth=0.6, zorder=1)
    for y, members in enumerate(lines.values()):
        for row in members:
            place = list(looks).index(chip_of(row))
            at = y + 0.6 * ((place + 0.5) / len(looks) - 0.5)
            ends = [[abs((row["ratio_low"] or row["ratio"]) - row["ratio"])], [abs((row["ratio_high"] or row["ratio"]) - row["ratio"])]]
            axes.errorbar(row[quantity], at, xerr=ends if quantity == "ratio" else None, elinewidth=0.6, **style.mark(looks[chip_of(row)]))
