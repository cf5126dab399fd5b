# SPDX-License-Identifier: MIT
"""One side of a comparison against the other: the ratio of each cell, and the band in which it counts as the same."""

from . import documents, panels, style

NAME = "drivers"
PLACE = 50
SUMMARY = "ratio of the times of two sides, such as two drivers, with intervals and the equivalence band"
TAKES = ("comparison",)
NEEDS = "a comparison (cbank compare BASE NEW --json)"
METHOD = ("Ratio of times, new to base, with its interval by Student's t, as the comparison holds "
          "them; the band is its threshold.")
COLUMNS = ("workload", "elements", "block_size", "regime", "pattern", "parameters", "path", "verdict", "ratio",
           "ratio_low", "ratio_high", "threshold", "base_ns", "new_ns", "base", "new", "engine", "source",
           "source_sha256")


def side_text(side, other, which):
    """What tells the sides apart: the driver, else the device, else their names."""
    for key, words in (("driver", "driver {}"), ("name", "{}")):
        its = side["device"][key]
        if its and its != other["device"][key]:
            return words.format(its)
    return which


def engines(content):
    return "/".join(sorted({str(content[side]["engine"]) for side in ("base", "new")}))


def rows(document, selection=documents.ALL):
    content = document.content
    if not content["comparable"]:
        facets = ", ".join(row["facet"] for row in content["differences"] if not row["allowed"]) or "no cell in common"
        raise documents.NotDrawn(f"the sides are not comparable: {facets}")
    sides = {"base": side_text(content["base"], content["new"], "base"),
             "new": side_text(content["new"], content["base"], "new")}
    made = [{**documents.identity(cell), "verdict": cell["verdict"], "ratio": documents.positive(ratio["value"]),
             "ratio_low": documents.positive(ratio["ci_low"]), "ratio_high": documents.positive(ratio["ci_high"]),
             "threshold": content["options"]["threshold"], "base_ns": cell["base_ns"], "new_ns": cell["new_ns"],
             **sides, "engine": engines(content), **document.source()}
            for cell in documents.chosen(document, selection) if (ratio := cell["ratio"])]
    if not made:
        raise documents.NotDrawn("no chosen cell has a ratio")
    return made


# -- drawing ------------------------------------------------------------------------------------------------------

ROW_MM = 3.6


def says(made):
    verdicts = panels.grouped(made, lambda row: row["verdict"])
    low, high = (choose(row["ratio"] for row in made) for choose in (min, max))
    return (f"The times of {made[0]['new']} are {low:.4f} to {high:.4f} times those of {made[0]['base']}; of "
            f"{len(made)} cells " + ", ".join(f"{len(rows)} {verdict}" for verdict, rows in verdicts.items()) + ".")


def pages(made, _width_mm):
    order = list(panels.grouped(made, panels.panel_of))
    made = sorted(made, key=lambda row: order.index(panels.panel_of(row)))
    return panels.filled(made, lambda row: ROW_MM + panels.PANEL_HEAD_MM * len(order) / len(made))


def draw(made, width_mm, note=None):
    parts = panels.grouped(made, panels.panel_of)
    counts = [len(members) for members in parts.values()]
    handles = style.path_handles({row["path"] for row in made}, "point") + [band_handle(made[0]["threshold"])]
    figure, body = style.figure(width_mm, panels.cell_rows_mm(counts, ROW_MM), handles, note)
    for panel, axes in panels.cell_rows(body, parts, counts, ROW_MM):
        draw_panel(axes, parts[panel])
        panels.name_rows(axes, panels.panel_text(panel), [panels.cell_text(row) for row in parts[panel]], width_mm)
    set_limits(axes, made)
    axes.set_xlabel(f"time ratio, {made[0]['new']} to {made[0]['base']}")
    return figure


def band_handle(threshold):
    from matplotlib.patches import Patch
    return Patch(facecolor="0.88", edgecolor="0.6", linewidth=0.4), f"same: within {100 * threshold:g} %"


def set_limits(axes, made):
    low = min([row["ratio_low"] or row["ratio"] for row in made] + [1 - made[0]["threshold"]])
    high = max([row["ratio_high"] or row["ratio"] for row in made] + [1 + made[0]["threshold"]])
    if high > 2 * low:
        style.log_axis(axes, "x", low / 1.1, high * 1.1)
    else:
        axes.set_xlim(low - 0.05 * (high - low), high + 0.05 * (high - low))


def draw_panel(axes, members):
    threshold = members[0]["threshold"]
    axes.axvspan(1 - threshold, 1 + threshold, facecolor="0.88", zorder=0)
    axes.axvline(1, color="black", linewidth=0.6, zorder=1)
    for y, row in enumerate(members):
        low, high = row["ratio_low"] or row["ratio"], row["ratio_high"] or row["ratio"]
        axes.errorbar(row["ratio"], y, xerr=[[row["ratio"] - low], [high - row["ratio"]]], ecolor="black",
                      elinewidth=0.8, **style.line(row["path"], linestyle="none"))
        if row["verdict"] != "same":
            panels.beside(axes, y, row["verdict"])
