# SPDX-License-Identifier: MIT
"""What distinct addresses of a warp cost: of the loads alone, or of whole kernels.

A characterization has cycles of loads with nothing beside them, and the line that was fitted. A result has times of
kernels that do more than load: no line is fitted to them.
"""

from . import documents, panels, style

NAME = "serialization"
PLACE = 20
SUMMARY = "cost of distinct addresses in a warp, path by path and stride by stride, with the lines fitted"
TAKES = ("characterization", "result")
NEEDS = "a characterization (cbank characterize --json) or a result with cells of pattern distinct"
METHOD = ("Points: medians with 95 % intervals. Slopes are of the characterization: least squares over the points "
          "that hit in the first level, 95 % by Student's t; a result has none.")
COLUMNS = ("record", "quantity", "stride_bytes", "path", "warps", "distinct", "value", "ci_low", "ci_high", "unit",
           "in_fit", "reason", "base", "slope", "slope_low", "slope_high", "verdict", "workload", "elements",
           "block_size", "regime", "flags", "engine", "source", "source_sha256")

# Quantities of a characterization: names of the points, of the line's numbers and of the verdict, and the axis.
QUANTITIES = {
    "latency": ("latency_base", "latency_per_extra_address", "latency_grows_per", "latency of a load, cycles"),
    "cycles_per_load": ("cycles_per_load_base", "cycles_per_load_per_extra_address", "throughput_falls_per",
                        "cycles per load and SM"),
}


def rows(document, selection=documents.ALL):
    made = of_loads(document, selection) if document.kind == "characterization" else of_kernels(document, selection)
    if not made:
        raise documents.NotDrawn("no experiment of it counts distinct addresses"
                                 if document.kind == "characterization" else "no chosen cell has 'distinct'")
    return made


# -- a characterization -------------------------------------------------------------------------------------------


def of_loads(document, selection):
    made = []
    for experiment in document.content["experiments"]:
        if experiment["name"].startswith("serialization_") and experiment["status"] == "ok" and \
                selection.has_path(experiment["path"]):
            for quantity in QUANTITIES:
                made += of_quantity(document, experiment, quantity)
    return made


def of_quantity(document, experiment, quantity):
    numbers = experiment["numbers"]
    points = [entry for entry in numbers if entry["name"] == quantity]
    strides = sorted({entry["stride_bytes"] for entry in points if "stride_bytes" in entry})
    same = {"quantity": quantity, "path": experiment["path"], "engine": "cuda", **document.source()}
    made = []
    for stride in strides:
        for entry in points:
            # One address has no stride: the first point of every line.
            if entry.get("stride_bytes", stride) == stride and entry["value"] is not None:
                made.append({**same, **point(entry), "stride_bytes": stride})
        made += fit(same, numbers, experiment["verdicts"], quantity, stride)
    return made


def point(entry):
    return {"record": "point", "warps": entry["warps"], "distinct": entry["distinct"],
            "value": documents.positive(entry["value"]), "ci_low": entry["low"], "ci_high": entry["high"],
            "unit": entry["unit"], "in_fit": entry["reason"] is None, "reason": entry["reason"]}


def fit(same, numbers, verdicts, quantity, stride):
    base_name, slope_name, verdict_name, _ = QUANTITIES[quantity]
    found = {entry["name"]: entry for entry in numbers if entry.get("stride_bytes") == stride}
    base, slope = found.get(base_name), found.get(slope_name)
    if not base or not slope or base["value"] is None or slope["value"] is None:
        return []
    verdict = [entry["value"] for entry in verdicts if entry["name"] == verdict_name]
    return [{**same, "record": "fit", "stride_bytes": stride, "base": base["value"], "slope": slope["value"],
             "slope_low": slope["low"], "slope_high": slope["high"], "unit": slope["unit"],
             "verdict": verdict[0] if verdict else None}]


# -- a result -----------------------------------------------------------------------------------------------------


def of_kernels(document, selection):
    made = []
    for cell in documents.timed(document, selection):
        parameters = cell.get("parameters", {})
        if "distinct" in parameters and "stride_bytes" in parameters:
            median, low, high = documents.time_of(cell)
            made.append({"record": "point", "quantity": "time", "stride_bytes": parameters["stride_bytes"],
                         "path": cell["path"], "distinct": parameters["distinct"], "value": median, "ci_low": low,
                         "ci_high": high, "unit": "ns", "flags": " ".join(cell["flags"]),
                         **{key: cell[key] for key in ("workload", "elements", "block_size", "regime")},
                         "engine": document.content["engine"], **document.source()})
    return made


# -- drawing ------------------------------------------------------------------------------------------------------


def panel_of(row):
    return (row["quantity"], *(row.get(key) for key in ("workload", "elements", "block_size", "regime")),
            row["stride_bytes"])


def pages(made, _width_mm):
    """A characterization is a page; of a result each size is, whose strides go together."""
    by_size = panels.grouped(made, lambda row: panel_of(row)[1:-1] if row["quantity"] == "time" else None)
    return list(by_size.values())


def draw(made, width_mm, note=None):
    parts = panels.grouped(made, panel_of)
    wide, fitted = style.wide(width_mm), made[0]["quantity"] != "time"
    across = min(len({key[-1] for key in parts}), 4 if wide else 2)
    if fitted and not wide:  # the quantities beside each other, strides below
        parts, across = dict(sorted(parts.items(), key=lambda part: part[0][-1])), min(2, len(parts))
    if fitted:
        words = "in panels: cycles per extra address ± half the 95 % interval; hollow: left out of the fit"
        note = f"{words}; {note}" if note else words
    down = -(-len(parts) // across)
    figure, body = style.figure(width_mm, (42 if wide else 46) * down,
                                style.path_handles({row["path"] for row in made}, "line"), note)
    shared = "all" if not fitted else "row" if wide else "col"
    grid = panels.grid(body, len(parts), across, sharey=shared)
    for i, (axes, (key, members)) in enumerate(zip(grid, parts.items())):
        draw_panel(axes, key, members)
        axes.set_xlabel(("distinct addresses in a warp" if wide else "distinct addresses")
                        if i + across >= len(parts) else "")
        if shared != "col" and i % across:
            axes.set_ylabel("")
        if fitted:
            set_limits(axes, [row for row in made if row["quantity"] == key[0]], 0.5 if wide else 0.75)
            axes.legend(loc="upper left", fontsize=6 if wide else 5, handlelength=2.2 if wide else 1.8,
                        borderaxespad=0.1, handletextpad=0.5)
    return figure


def set_limits(axes, members, room):
    """All points of the quantity, and room for the legend above those that the fits go through."""
    inside = [row["value"] for row in members if row["record"] == "point" and row["in_fit"]]
    every = [row["value"] for row in members if row["record"] == "point"]
    low = min(every + [row["base"] for row in members if row["record"] == "fit" and row["base"] > 0]) / 1.25
    axes.set_ylim(low, max(1.4 * max(every), max(inside or every) * (max(inside or every) / low) ** room))


def draw_panel(axes, key, members):
    quantity, stride = key[0], key[-1]
    unit, factor = style.time_unit(min(row["value"] for row in members)) if quantity == "time" else ("cycles", 1.0)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    for path in style.in_order(row["path"] for row in members):
        draw_path(axes, path, [row for row in members if row["path"] == path], factor)
    ticks = sorted({row["distinct"] for row in members if row["record"] == "point"})
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
    style.plain_log(axes.yaxis)
    axes.set_ylabel(QUANTITIES[quantity][3] if quantity in QUANTITIES else f"time, {unit}")
    axes.set_title(f"{stride} bytes apart", loc="left")


def draw_path(axes, path, members, factor):
    """Points, hollow where the fit leaves them out, and the line fitted; else a line from point to point."""
    points = sorted((row for row in members if row["record"] == "point"), key=lambda row: row["distinct"])
    fits = [row for row in members if row["record"] == "fit"]
    for row in points:
        low, high = (row[key] if row[key] else row["value"] for key in ("ci_low", "ci_high"))
        axes.errorbar(row["distinct"], row["value"] / factor,
                      [[(row["value"] - low) / factor], [(high - row["value"]) / factor]],
                      **style.line(path, linestyle="none", linewidth=0.6,
                                   markerfacecolor="none" if row.get("in_fit") is False else style.look(path).color))
    if fits:
        draw_fit(axes, path, fits[0], points)
    else:
        axes.plot([row["distinct"] for row in points], [row["value"] / factor for row in points],
                  **style.line(path, marker=None, markeredgecolor=None))


def draw_fit(axes, path, fit, points):
    inside = [row["distinct"] for row in points if row["in_fit"]]
    where = [min(inside) + step * (max(inside) - min(inside)) / 200 for step in range(201)]
    axes.plot(where, [fit["base"] + fit["slope"] * (x - 1) for x in where], label=fit_text(fit),
              **style.line(path, marker=None, markeredgecolor=None))


def fit_text(fit):
    text = f"{fit['path']} {0 + round(fit['slope'], 3):g}"  # no -0
    half = (fit["slope_high"] - fit["slope_low"]) / 2 if fit["slope_high"] is not None else 0
    return text + (f" ± {half:.2g}" if half >= 5e-4 else "")
