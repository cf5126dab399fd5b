# SPDX-License-Identifier: MIT
"""All chips in one: what distinct addresses cost in cycles and in ns, latency against bytes, constant beside the best other
path. From characterizations of two chips or more, and the clocks that results of them measured."""

import statistics

from . import capacity, documents, panels, serialization, style

NAME = "chips"
PLACE = 25
SUMMARY = "chips together: cost of distinct addresses in cycles and ns, constant beside the best other path, latency against bytes"
TAKES = ("characterization", "result")
NEEDS = "characterizations (cbank characterize --json) of two chips or more; for ns a result of each (cbank run --json), too"
METHOD = ("Medians of loads with nothing beside them, by distinct addresses 4 bytes apart; ns at the median of the SM's clock "
          "that results of the GPU, else of another of its model, measured, and none without such results; the best other path is "
          "that with the fewest cycles. Walks: mean of all accesses, the clock's cycles taken off where they are known.")
COLUMNS = ("quantity", "device", "x", "value", "ci_low", "ci_high", "unit", "path", "engine", "source", "source_sha256")
COMBINES = True
STRIDE = 4
KNEE = (1024, 4096)  # bytes

# Of each panel: title, what stands below, what beside.
QUANTITIES = {
    "latency": ("latency of a constant load", "distinct addresses in a warp", "cycles"),
    "cycles_per_load": ("an SM full of constant loads", "distinct addresses in a warp", "cycles per load"),
    "ns_per_load": ("an SM full of constant loads", "distinct addresses in a warp", "ns per load"),
    "to_best": ("constant beside the best other path", "distinct addresses in a warp", "cycles per load, ratio"),
    "walk": ("constant table walked", "bytes walked", "cycles of an access"),
    "knee": ("the same about 2 KB", "bytes walked", "cycles of an access"),
}


def clock_mhz(device, results):
    """The median that cells of results of that GPU measured, else of another of its model; None where there are none."""
    for key in ("uuid", "name"):
        measured = [cell["sm_clock_mhz"] for its in results if its["engine"] == "cuda" and its["device"].get(key) == device.get(key)
                    for cell in its["cells"] if cell.get("sm_clock_mhz")]
        if measured:
            return statistics.median(measured)
    return None


def rows(given, selection=documents.ALL):
    results = [document.content for document in given if document.kind == "result"]
    given = [document for document in given if document.kind == "characterization"]
    names = [document.content["device"]["name"] for document in given]
    if len(set(names)) < 2:
        raise documents.NotDrawn("it is of characterizations of two chips or more")
    # Two boards of a chip are two lines, by their files.
    labels = [name if names.count(name) == 1 else f"{name}, {document.source()['source']}" for name, document in zip(names, given)]
    clocks = [clock_mhz(document.content["device"], results) for document in given]
    made = [row for label, document, clock in zip(labels, given, clocks) for row in of_chip(label, document, clock, selection)]
    if not made:
        raise documents.NotDrawn("no experiment of them counts distinct addresses or walks over working sets")
    return sorted(made, key=lambda row: list(QUANTITIES).index(row["quantity"]))


def of_chip(name, document, clock, selection):
    same = {"device": name, "path": "constant", "engine": "cuda", **document.source()}
    points = [row for row in serialization.of_loads(document, selection) if row["record"] == "point" and row["stride_bytes"] == STRIDE]
    made = [{**same, "quantity": row["quantity"], "x": row["distinct"], "value": row["value"], "ci_low": row["ci_low"],
             "ci_high": row["ci_high"], "unit": "cycles"} for row in points if row["path"] == "constant"]
    for row in [row for row in made if row["quantity"] == "cycles_per_load"]:
        if clock:
            made.append({**row, "quantity": "ns_per_load", "unit": "ns",
                         **{key: row[key] and row[key] * 1e3 / clock for key in ("value", "ci_low", "ci_high")}})
        others = [its for its in points if its["quantity"] == "cycles_per_load" and its["distinct"] == row["x"] and its["path"] != "constant"]
        if others:
            best = min(others, key=lambda its: its["value"])
            ratio, low, high = documents.quotient(*((its["value"], its["ci_low"], its["ci_high"]) for its in (row, best)))
            made.append({**row, "quantity": "to_best", "unit": "ratio", "path": best["path"], "value": ratio, "ci_low": low, "ci_high": high})
    return made + of_walks(same, document, selection)


def of_walks(same, document, selection):
    try:
        walked = [row for row in capacity.rows(document, selection) if row["experiment"] == "geometry_constant"]
    except documents.NotDrawn:
        return []
    clock = capacity.clock_of([row for row in walked if row["record"] == "level"])
    return [{**same, "quantity": quantity, "x": row["bytes"], "value": row["cycles_mean"] - clock, "unit": "cycles"}
            for row in walked if row["record"] == "point"
            for quantity in ("walk", "knee") if quantity == "walk" or KNEE[0] <= row["bytes"] <= KNEE[1]]


def says(made):
    words = []
    for name, members in panels.grouped(made, lambda row: row["device"]).items():
        found = {(row["quantity"], row["x"]): row["value"] for row in members}
        ends = [(max(x for key, x in found if key == quantity), quantity) for quantity in ("latency", "to_best")
                if any(key == quantity for key, _ in found)]
        said = {"latency": "{} cycles of latency at {} distinct addresses", "to_best": "{} times the cycles of the best other path at {}"}
        words.append(f"{name} " + ", ".join(said[quantity].format(style.short(found[quantity, x]), x) for x, quantity in ends))
    return f"Constant memory takes, on {'; on '.join(words)}."


# -- drawing ------------------------------------------------------------------------------------------------------


def pages(made, _width_mm):
    return [made]


def draw(made, width_mm, note=None):
    parts = panels.grouped(made, lambda row: row["quantity"])
    names = list(panels.grouped(made, lambda row: row["device"]))
    across = panels.across(width_mm, len(parts))
    figure, body = style.figure(width_mm, panels.LINES_MM * -(-len(parts) // across), (), note)
    for axes, (quantity, members) in zip(panels.grid(body, len(parts), across), parts.items()):
        draw_panel(axes, quantity, members, names, width_mm / across)
    return figure


def draw_panel(axes, quantity, members, names, panel_mm):
    title, below, beside = QUANTITIES[quantity]
    letters = max(map(len, names))
    places, of_bytes = [row["x"] for row in members], below.startswith("bytes")
    ticks = [2**i for i in range(5, 32) if min(places) <= 2**i <= max(places) * 1.01] if of_bytes else places
    if not of_bytes:
        panels.number_axis(axes, ticks, str, panel_mm - 15 - panels.LETTER_MM * letters)
    else:
        axes.set_xscale("log", base=2)
        ticks = ticks[::-(-len(ticks) // 6)]
        style.fixed_ticks(axes.xaxis, ticks, [style.size_text(tick) for tick in ticks])
        axes.set_xlim(min(places) / 1.1, max(places) * 1.1)
    values = [row[key] for row in members for key in ("value", "ci_low", "ci_high") if row.get(key)]
    style.log_axis(axes, "y", min(values) / 1.15, max(values) * 1.15)
    ends = []
    for name in names:
        points = sorted((row for row in members if row["device"] == name), key=lambda row: row["x"])
        its = style.chip(names.index(name))
        if points:
            axes.plot([row["x"] for row in points], [row["value"] for row in points], **{**style.mark(its, markersize=2.6), "linestyle": its.dashes})
            ends.append((points[-1]["x"], points[-1]["value"], name.removeprefix("NVIDIA "), its.color))
    panels.name_lines(axes, ends)
    panels.head(axes, title, panel_mm - 20)
    axes.set_xlabel(below)
    axes.set_ylabel(beside)
