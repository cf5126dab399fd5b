# SPDX-License-Identifier: MIT
"""Cells on panels, and panels on pages: nothing is left out because there is much of it."""

import math

from . import style



def panel_of(row):
    """Cells that stand on one panel have these in common."""
    return tuple(row[key] for key in ("workload", "elements", "block_size", "regime"))


def panel_text(key):
    workload, elements, block_size, regime = key
    return f"{workload}, {style.count_text(elements)} elements, blocks of {block_size}, {regime}"


def group_of(row):
    """Cells of one group differ in their path alone."""
    return row["pattern"], row["parameters"]


SHORT = {"distinct": "K", "stride_bytes": "stride", "refill_bytes": "refill"}


def group_text(key):
    pattern, parameters = key
    words = [word.partition("=") for word in parameters.split()]
    return "\n".join([pattern] + [f"{SHORT.get(name, name)} {value}" for name, _, value in words])


def cell_text(row):
    """What tells a cell from the others on its panel."""
    return f"{row['path']} {group_text(group_of(row))}".replace("\n", " ")


def grouped(rows, key):
    """{key: rows}, in the order in which keys come."""
    found = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def parted(items, most):
    """Parts of a list of about the same length, none longer than `most`."""
    parts = math.ceil(len(items) / most)
    size = math.ceil(len(items) / parts) if parts else 0
    return [items[i:i + size] for i in range(0, len(items), size)] if size else []


def groups_max(width_mm):
    """On a panel as wide as the figure: as many as their names have room for."""
    return 8 if style.wide(width_mm) else 4


def panels_of(rows, width_mm):
    """[(panel, [(group, rows)])]: panels of many groups come in several parts."""
    found = []
    for panel, members in grouped(rows, panel_of).items():
        groups = list(grouped(members, group_of).items())
        found += [(panel, part) for part in parted(groups, groups_max(width_mm))]
    return found


def pages_of(rows, width_mm, panels_max):
    """Rows of each page."""
    return [[row for _, groups in page for _, members in groups for row in members]
            for page in parted(panels_of(rows, width_mm), panels_max)]


# -- panels with a row for each cell -------------------------------------------------------------------------------

LETTER_MM = 1.25
PANEL_HEAD_MM = 9


def cell_rows(body, made, counts, row_mm):
    """A panel below the other, as high as it has rows; [(panel, axes)]."""
    heights = [count * row_mm + PANEL_HEAD_MM for count in counts]
    axes = body.subplots(len(counts), 1, squeeze=False, sharex=True, gridspec_kw={"height_ratios": heights})
    return list(zip(made, axes[:, 0]))


def cell_rows_mm(counts, row_mm):
    return sum(count * row_mm + PANEL_HEAD_MM for count in counts) + 5


def name_rows(axes, panel, texts, width_mm):
    axes.set_ylim(len(texts) - 0.4, -0.6)
    axes.set_yticks(range(len(texts)), texts)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    # Beside long names there is less room on the right than on the left.
    axes.set_title(panel_text(panel), loc="left" if style.wide(width_mm) else "right")


def widened(low, high, texts, width_mm, words_mm):
    """The upper limit of an axis that ends in words of that width."""
    axes_mm = width_mm - LETTER_MM * max(map(len, texts)) - 4
    return low + (high - low) * axes_mm / max(5, axes_mm - words_mm)


def grid(body, count, across, **keywords):
    """`count` axes in rows of `across`, in a list."""
    across = min(across, count)
    axes = body.subplots(math.ceil(count / across), across, squeeze=False, **keywords)
    flat = list(axes.flat)
    for unused in flat[count:]:
        unused.set_visible(False)
    return flat[:count]
