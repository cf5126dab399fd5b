# SPDX-License-Identifier: MIT
"""What distinct addresses of a warp cost: cycles of loads with nothing beside them, and the line that was fitted. Times of
whole kernels are the figure sweep's."""

from . import documents, panels, style

NAME = "serialization"
PLACE = 20
SUMMARY = "cost of distinct addresses in a warp, path by path and stride by stride, with the lines fitted"
TAKES = ("characterization",)
NEEDS = "a characterization (cbank characterize --json)"
METHOD = ("Points: medians with 95 % intervals. Slopes are of the characterization: least squares over the points "
          "that hit in the first level, 95 % by Student's t.")
COLUMNS = ("record", "quantity", "stride_bytes", "path", "warps", "distinct", "value", "ci_low", "ci_high", "unit",
           "in_fit", "reason", "base", "slope", "slope_low", "slope_high", "verdict", "engine", "source", "source_sha256")

# Quantities of a characterization: names of the points, of the line's numbers and of the verdict, and the axis.
QUANTITIES = {
    "latency": ("latency_base", "latency_per_extra_address", "latency_grows_per", "latency of a load, cycles"),
    "cycles_per_load": ("cycles_per_load_base", "cycles_per_load_per_extra_address", "throughput_falls_per",
                        "cycles per load and SM"),
}


def rows(document, selection=documents.ALL):
    made = of_loads(document, selection)
    if not made:
        raise documents.NotDrawn("no experiment of it counts distinct addresses")
    return made


def says(made):
    """What a further address costs, path by path, as near to each other as they come."""
    fits = [row for row in made if row["record"] == "fit" and row["stride_bytes"] == min(its["stride_bytes"] for its in made)]
    words = []
    for quantity, name in (("latency", "latency"), ("cycles_per_load", "cycles of an SM for each load")):
        of = [row for row in fits if row["quantity"] == quantity]
        if of:
            words.append(f"to the {name} " + ", ".join(f"{style.short(0 + round(row['slope'], 3))} ({row['path']})" for row in of))
    if not words:
        return "No line was fitted to what further distinct addresses cost."
    return f"A further distinct address, {fits[0]['stride_bytes']} bytes from the next, adds {'; '.join(words)}."


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


# -- drawing ------------------------------------------------------------------------------------------------------


def panel_of(row):
    return row["quantity"], row["stride_bytes"]


def pages(made, _width_mm):
    return [made]


def draw(made, width_mm, note=None):
    parts = panels.grouped(sorted(made, key=lambda row: row["stride_bytes"]), panel_of)
    across = panels.across(width_mm, len(parts))
    words = "cycles of a further address ± half the 95 % interval; hollow: not in the fit"
    figure, body = style.figure(width_mm, panels.LINES_MM * -(-len(parts) // across), (), "; ".join(filter(None, (words, note))))
    for axes, ((quantity, stride), members) in zip(panels.grid(body, len(parts), across), parts.items()):
        draw_panel(axes, members, width_mm / across)
        axes.set_ylabel(QUANTITIES[quantity][3])
        panels.head(axes, f"{stride} bytes apart")
    return figure


def draw_panel(axes, members, panel_mm):
    points = [row for row in members if row["record"] == "point"]
    values = [row[key] or row["value"] for row in points for key in ("ci_low", "ci_high")]
    panels.number_axis(axes, [row["distinct"] for row in points], str, panel_mm - 42)
    style.log_axis(axes, "y", min(values) / 1.2, max(values) * 1.2)
    ends = [draw_path(axes, path, [row for row in members if row["path"] == path])
            for path in style.in_order(row["path"] for row in members)]
    panels.name_lines(axes, ends)
    axes.set_xlabel("distinct addresses in a warp")


def draw_path(axes, path, members):
    """Points, hollow where the fit leaves them out, and the line fitted, or one from point to point; what stands at its end."""
    points = sorted((row for row in members if row["record"] == "point"), key=lambda row: row["distinct"])
    fits = [row for row in members if row["record"] == "fit"]
    for in_fit, its in panels.grouped(points, lambda row: row.get("in_fit") is not False).items():
        panels.draw_points(axes, ([row["distinct"] for row in its], [row["value"] for row in its]), panels.intervals(its),
                           **style.line(path, linestyle="none", linewidth=0.6, markerfacecolor=style.look(path).color if in_fit else "white"))
    if fits:
        draw_fit(axes, path, fits[0], points)
    else:
        axes.plot([row["distinct"] for row in points], [row["value"] for row in points], **style.line(path, marker=None))
    return points[-1]["distinct"], points[-1]["value"], fit_text(fits[0]) if fits else path, style.ink(path)


def draw_fit(axes, path, fit, points):
    inside = [row["distinct"] for row in points if row["in_fit"]]
    where = [min(inside) + step * (max(inside) - min(inside)) / 200 for step in range(201)]
    axes.plot(where, [fit["base"] + fit["slope"] * (x - 1) for x in where], **style.line(path, marker=None))


def fit_text(fit):
    text = f"{fit['path']} {0 + round(fit['slope'], 3):g}"  # no -0
    half = (fit["slope_high"] - fit["slope_low"]) / 2 if fit["slope_high"] is not None else 0
    return text + (f" ± {half:.2g}" if half >= 5e-4 else "")
