# SPDX-License-Identifier: MIT
"""How figures look, and numbers as words. A path has the same colour, marker and dashes in every
figure."""

from __future__ import annotations

import contextlib
import os
import re
from collections import namedtuple
from collections.abc import Iterable, Iterator

# Okabe and Ito's palette, which people with any colour vision tell apart, and a grey.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE, GREY = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
    "#999999",
)

SOLID, DASHED, DOTTED, DASH_DOT = (0, ()), (0, (4, 1.5)), (0, (1, 1.2)), (0, (4, 1.2, 1, 1.2))
LONG, LOOSE, TWO_DOTS, CLOSE = (0, (8, 2)), (0, (1, 3)), (0, (4, 1.2, 1, 1.2, 1, 1.2)), (0, (2, 1))

Look = namedtuple("Look", "color marker dashes")

# Any two differ in marker or dashes, so that they are told apart without colour.
PATHS = {
    "constant": Look(RED, "o", SOLID),
    "global": Look(BLUE, "s", DASHED),
    "readonly": Look(SKY, "^", DOTTED),
    "restrict": Look(GREEN, "v", DASH_DOT),
    "global_l2": Look(BLACK, "D", LONG),
    "texture": Look(PURPLE, "P", TWO_DOTS),
    "shared": Look(ORANGE, "X", CLOSE),
    "shared_async": Look(BLUE, (4, 1, 0), CLOSE),
    "shared_bulk": Look(RED, (3, 1, 0), DOTTED),
    "shared_copies": Look(GREEN, (4, 1, 0), TWO_DOTS),
    "shuffle": Look(PURPLE, "d", CLOSE),
    "select_4": Look(BLACK, "p", DOTTED),
    "select_16": Look(GREY, "H", DASHED),
    "prmt": Look(ORANGE, (3, 1, 0), LOOSE),
    "shared_fill_only": Look(GREY, "<", LOOSE),
    "param": Look(YELLOW, "h", SOLID),
    "param_large": Look(YELLOW, (5, 1, 0), LONG),
    "constant_uniform": Look(ORANGE, "*", DASHED),
    "constant_operand": Look(SKY, ">", DOTTED),
}
# Series that are no paths, in the order in which they come.
SERIES = [
    Look(color, marker, dashes)
    for color, marker, dashes in (
        (RED, "o", SOLID),
        (BLUE, "s", DASHED),
        (YELLOW, "^", DASH_DOT),
        (BLACK, "D", LONG),
        (SKY, "v", DOTTED),
        (GREEN, "P", TWO_DOTS),
        (PURPLE, "X", CLOSE),
        (ORANGE, "h", LOOSE),
        (GREY, "<", SOLID),
    )
]
REST = Look("0.75", "", SOLID)  # series that are not named one by one

WIDTHS_MM = {"one": 85, "two": 175}  # columns of common journals and proceedings
WIDE_MM = 130  # from here on panels stand side by side

HERE = os.path.dirname(os.path.abspath(__file__))
# by the name for --style
SHEETS = {
    name: os.path.join(HERE, f"{name}.mplstyle") for name in ("cbank", "ieee", "acm", "nature")
}


def first_path(name: str) -> str:
    """The path that gives a series its look: a name may have words behind it, or name several, as
    in constant (2 KB) and global, readonly."""
    return re.split("[ ,]", name)[0]


def in_order(series: Iterable[str]) -> list[str]:
    """Paths in the order of the table, and after them all others as they come."""
    places = {path: place for place, path in enumerate(PATHS)}
    return sorted(dict.fromkeys(series), key=lambda name: places.get(first_path(name), len(places)))


def looks_of(series: Iterable[str]) -> dict[str, Look]:
    """{name: Look} of all series of a figure."""
    made = {}
    for name in in_order(series):
        path = first_path(name)
        free = [look for look in (*SERIES, *PATHS.values()) if look not in made.values()] or SERIES
        known = path in PATHS and PATHS[path] not in made.values()
        made[name] = PATHS[path] if known else REST if name.startswith("other ") else free[0]
    return made


def ink(look: Look) -> str:
    """The colour, dark enough for thin lines."""
    return {YELLOW: "#8a7d00", GREY: "#666666"}.get(look.color, look.color)


def marks(look: Look, flagged: bool = False, markersize: float = 3.6, **more: object) -> dict:
    """Keywords of marks; hollow ones are flagged, larger, and keep the colour."""
    markersize *= 1.3 if flagged else 1
    return {
        "marker": look.marker,
        "markerfacecolor": "white" if flagged else look.color,
        "markeredgecolor": ink(look) if flagged else "black",
        "markeredgewidth": 0.22 * markersize if flagged else 0.4,
        "markersize": markersize,
        "color": ink(look),
        **more,
    }


@contextlib.contextmanager
def sheet(own: str | None = None) -> Iterator[None]:
    """matplotlib with the settings of figures alone, whatever the user's own are; `own`: one of
    SHEETS or a file, on top."""
    import matplotlib.style
    from matplotlib.font_manager import fontManager

    with matplotlib.style.context(
        ["default", SHEETS["cbank"]] + ([SHEETS.get(own, own)] if own else [])
    ):
        # matplotlib warns of each letter of a font that is not
        there = {font.name for font in fontManager.ttflist}
        matplotlib.rcParams["font.family"] = [
            name for name in matplotlib.rcParams["font.family"] if name in there
        ] or ["DejaVu Sans"]
        yield


# -- numbers as words ------------------------------------------------------------------------------

TIME_UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))


def time_unit(ns: float) -> tuple[str, float]:
    """(name, ns) of the unit in which so long a time is a small number."""
    return next((unit for unit in TIME_UNITS if ns >= unit[1]), TIME_UNITS[-1])


def time_text(ns: float) -> str:
    name, factor = time_unit(ns)
    return f"{ns / factor:.4g} {name}"


def size_text(size: float) -> str:
    """On an axis of bytes: 64, 2k, 1M."""
    size = int(size)
    factor, name = next(
        (unit for unit in ((1 << 20, "M"), (1 << 10, "k")) if size and size % unit[0] == 0), (1, "")
    )
    return f"{size // factor}{name}"


def bytes_text(size: float) -> str:
    text = size_text(size)
    return f"{text[:-1]} {text[-1].upper()}B" if text[-1] in "kM" else f"{text} B"


def ratio_text(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:.0f}"


def count_text(value: float) -> str:
    """12.8M, 128k, 1024: a count on an axis."""
    for factor, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= max(factor, 1e4):
            return f"{value / factor:.3g}{name}"
    return f"{value:.4g}"
