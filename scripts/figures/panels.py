# SPDX-License-Identifier: MIT
"""Cells on panels, and panels on pages: nothing is left out because there is much of it."""

import math

from . import style

PANELS_MAX = 6  # a page
GROUPS_MAX = 10  # a panel


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


def panels_of(rows, groups_max=GROUPS_MAX):
    """[(panel, [(group, rows)])]: panels of many groups come in several parts."""
    found = []
    for panel, members in grouped(rows, panel_of).items():
        groups = list(grouped(members, group_of).items())
        found += [(panel, part) for part in parted(groups, groups_max)]
    return found


def pages_of(rows, groups_max=GROUPS_MAX, panels_max=PANELS_MAX):
    """Rows of each page."""
    return [[row for _, groups in page for _, members in groups for row in members]
            for page in parted(panels_of(rows, groups_max), panels_max)]


def grid(body, count, across, **keywords):
    """`count` axes in rows of `across`, in a list."""
    across = min(across, count)
    axes = body.subplots(math.ceil(count / across), across, squeeze=False, **keywords)
    flat = list(axes.flat)
    for unused in flat[count:]:
        unused.set_visible(False)
    return flat[:count]
