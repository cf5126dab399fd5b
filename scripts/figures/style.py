# SPDX-License-Identifier: MIT
"""How figures look: a path has the same colour, marker, dashes and hatch in every figure."""

import contextlib
import math
import os
import textwrap
import zlib

from collections import namedtuple

# Okabe and Ito's palette, which people with any colour vision tell apart, and a grey.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE, GREY = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#999999")

SOLID, DASHED, DOTTED, DASH_DOT = (0, ()), (0, (4, 1.5)), (0, (1, 1.2)), (0, (4, 1.2, 1, 1.2))
LONG, LOOSE, TWO_DOTS, CLOSE = (0, (8, 2)), (0, (1, 3)), (0, (4, 1.2, 1, 1.2, 1, 1.2)), (0, (2, 1))

Look = namedtuple("Look", "color marker dashes hatch")

# Neighbours in tables differ in lightness, too; marker, dashes and hatch together tell any two apart without colour.
PATHS = {
    "constant": Look(RED, "o", SOLID, ""),
    "global": Look(BLUE, "s", DASHED, "////"),
    "readonly": Look(SKY, "^", DOTTED, "\\\\\\\\"),
    "restrict": Look(GREEN, "v", DASH_DOT, "xxxx"),
    "global_l2": Look(BLACK, "D", LONG, ""),
    "texture": Look(PURPLE, "P", TWO_DOTS, "++++"),
    "shared": Look(ORANGE, "X", CLOSE, "----"),
    "shared_copies": Look(GREEN, (4, 1, 0), TWO_DOTS, "..."),
    "shuffle": Look(PURPLE, "d", CLOSE, "oo"),
    "select_4": Look(BLACK, "p", DOTTED, "..--"),
    "select_16": Look(GREY, "H", DASHED, "oo--"),
    "staging": Look(GREY, "<", LOOSE, "||||"),
    "param": Look(YELLOW, "h", SOLID, ""),
    "constant_uniform": Look(ORANGE, "*", DASHED, "//--"),
    "constant_operand": Look(SKY, ">", DOTTED, "||xx"),
}
# For what has no row above: always the same for a name.
OTHERS = [Look(color, marker, dashes, hatch)
          for color, hatch in ((GREEN, "//||"), (PURPLE, "\\\\||"), (YELLOW, "xx--"), (GREY, "\\\\--"))
          for marker, dashes in (("d", LONG), ("p", LOOSE), ("8", TWO_DOTS), ("H", CLOSE))]

# Parts of the modelled time.
PARTS = {
    "launch": Look(GREY, "|", SOLID, ""),
    "wave": Look(SKY, "^", SOLID, "||||"),
    "residency": Look(BLUE, "s", SOLID, "////"),
    "issue": Look(YELLOW, "v", SOLID, "----"),
    "serialization": Look(RED, "o", SOLID, ""),
    "misses": Look(ORANGE, "D", SOLID, "xxxx"),
    "stream": Look(GREEN, "P", SOLID, "\\\\\\\\"),
}

MM = 1 / 25.4  # in inches, which matplotlib counts in
WIDTHS_MM = {"one": 85, "two": 175}  # columns of common journals and proceedings
TWO_COLUMNS_FROM_MM = 130  # from here on panels stand beside each other as in a figure of two columns

HERE = os.path.dirname(os.path.abspath(__file__))
SHEETS = {name: os.path.join(HERE, f"{name}.mplstyle") for name in ("cbank", "ieee", "acm")}  # by the name for --style


def look(path):
    return PATHS.get(path) or OTHERS[zlib.crc32(path.encode()) % len(OTHERS)]


def in_order(paths):
    """Paths in the order of the table, others behind them by name."""
    known = list(PATHS)
    return sorted(set(paths), key=lambda path: (known.index(path) if path in known else len(known), path))


@contextlib.contextmanager
def sheet(own=None):
    """matplotlib with the settings of figures alone, whatever the user's own are; `own`: one of SHEETS, or a file, on top."""
    import matplotlib.style  # not before it is needed: data can be had without matplotlib
    with matplotlib.style.context(["default", SHEETS["cbank"]] + ([SHEETS.get(own, own)] if own else [])):
        matplotlib.rcParams["font.family"] = installed(matplotlib.rcParams["font.family"])
        yield


def installed(families):
    """Those that this machine has, so that matplotlib does not complain of each letter."""
    from matplotlib.font_manager import fontManager
    names = {font.name for font in fontManager.ttflist}
    return [family for family in families if family in names] or ["DejaVu Sans"]


def pitch_mm():
    """From one line of small text to the next."""
    import matplotlib
    return matplotlib.rcParams["font.size"] * 0.833 * 1.25 * 25.4 / 72


def wide(width_mm):
    return width_mm >= TWO_COLUMNS_FROM_MM


def line(path, **more):
    """Keywords of a line of a path."""
    return line_of(look(path), **more)


def line_of(its, **more):
    return {"color": ink_of(its), "marker": its.marker, "linestyle": its.dashes, "markerfacecolor": its.color,
            "markeredgecolor": "black", "markeredgewidth": 0.4, **more}


# Of a mark of which a flag says that it is not to be trusted; a light colour would not be seen in grey.
HOLLOW = {"markerfacecolor": "white", "markeredgecolor": "black"}


def ink(path):
    """The path's colour, dark enough for thin lines and letters."""
    return ink_of(look(path))


def ink_of(its):
    return {YELLOW: "#8a7d00", GREY: "#666666"}.get(its.color, its.color)


def bar(its, **more):
    """Keywords of a bar."""
    return {"facecolor": its.color, "hatch": its.hatch, "edgecolor": "black", "linewidth": 0.4, **more}


# Chips, where they are together: by marker, filling and lightness.
CHIPS = [Look(color, marker, dashes, "") for color, marker, dashes in (
    (RED, "o", SOLID), (BLUE, "s", DASHED), (YELLOW, "^", DASH_DOT), (BLACK, "D", LONG), (SKY, "v", DOTTED), (GREEN, "P", TWO_DOTS),
    (PURPLE, "X", CLOSE), (ORANGE, "h", LOOSE), (GREY, "<", SOLID))]


def chip(place):
    return CHIPS[place % len(CHIPS)]


def mark(its, **more):
    return {"linestyle": "none", "marker": its.marker, "color": its.color, "markersize": 3.2, "markeredgecolor": "black",
            "markeredgewidth": 0.4, **more}


def chip_handle(its):
    from matplotlib.lines import Line2D
    return Line2D([], [], **mark(its))


LEGEND_ROW_MM = 3.4
NOTE_LETTERS_PER_MM = 0.75


LETTER_MM, HANDLE_MM = 1.25, 10.5  # of a legend: a letter; what is drawn and the space beside it


def columns_of(labels, width_mm):
    """Most columns that a legend has room for."""
    for rows in range(1, len(labels)):
        columns = -(-len(labels) // rows)
        # As matplotlib fills them: the first ones are longer where the last would not be full.
        least, longer = divmod(len(labels), columns)
        starts = [i * least + min(i, longer) for i in range(columns + 1)]
        longest = [max(map(len, labels[start:end])) for start, end in zip(starts, starts[1:])]
        if sum(LETTER_MM * letters + HANDLE_MM for letters in longest) <= width_mm:
            return columns
    return 1


def figure(width_mm, height_mm, handles=(), note=None):
    """An empty figure and the part of it that panels go into, below the legend of all panels and the note. Handles:
    (what is drawn, label)."""
    from matplotlib.figure import Figure
    labels = [label for _, label in handles]
    columns = columns_of(labels, width_mm)
    rows = -(-len(handles) // columns)
    said = textwrap.wrap(note or "", int(width_mm * NOTE_LETTERS_PER_MM))
    head_mm = LEGEND_ROW_MM * (rows + len(said)) + (1.2 if rows or said else 0)
    made = Figure(figsize=(width_mm * MM, (height_mm + head_mm) * MM), layout="constrained")
    if not head_mm:
        return made, made.subfigures(1, 1)
    head, body = made.subfigures(2, 1, height_ratios=[head_mm, height_mm])
    if handles:
        head.legend([drawn for drawn, _ in handles], labels, loc="lower center", ncol=columns, borderaxespad=0.1)
    if said:
        head.text(0.99, 0.98, "\n".join(said), ha="right", va="top", fontstyle="italic", fontsize="small")
    return made, body


def path_handles(paths, kind="bar"):
    """What a legend says of paths."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    if kind == "bar":
        return [(Patch(**bar(look(path))), path) for path in in_order(paths)]
    return [(Line2D([], [], **line(path, **({"linestyle": "none"} if kind == "point" else {}))), path)
            for path in in_order(paths)]


def log_axis(axes, which, low, high, text="{:g}".format, most=6):
    """A logarithmic axis from low to high, with at most so many round numbers written as they are."""
    axis = getattr(axes, f"{which}axis")
    getattr(axes, f"set_{which}scale")("log")
    getattr(axes, f"set_{which}lim")(low, high)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [[step / count for step in range(count, 10 * count)] for count in (20, 10, 4, 2)]  # of an axis of less than a decade
    for steps in (*fine, (1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1, 3), (1,)):
        ticks = [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
        if len(ticks) <= (min(4, most) if steps in fine else most):
            break
    ticks = ticks[::-(-len(ticks) // most) or 1]
    fixed_ticks(axis, ticks, [text(float(f"{tick:.3g}")) for tick in ticks])


def fixed_ticks(axis, ticks, texts):
    """These ticks and no minor ones. As set_ticks, which makes each tick at once, and again for its text."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_major_formatter(FixedFormatter(list(texts)))
    axis.set_minor_locator(NullLocator())


# -- numbers as text ----------------------------------------------------------------------------------------------

TIME_UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))


def time_unit(largest_ns):
    """(name, ns) of the unit in which so long a time is a small number."""
    return next((unit for unit in TIME_UNITS if largest_ns >= unit[1]), TIME_UNITS[-1])


def time_text(ns):
    name, factor = time_unit(ns)
    return f"{ns / factor:.4g} {name}"


def size_text(size):
    """On an axis of bytes: 64, 2k, 1M."""
    factor, name = next((unit for unit in ((1 << 20, "M"), (1 << 10, "k")) if size and size % unit[0] == 0), (1, ""))
    return f"{size // factor}{name}"


def bytes_text(size):
    text = size_text(size)
    return f"{text[:-1]} {text[-1].upper()}B" if text[-1] in "kM" else f"{text} B"


def short(value):
    """Three digits, and no more zeros than those: for sentences."""
    return f"{float(f'{value:.3g}'):,g}" if abs(value) < 1e6 else count_text(value)


def ratio_text(ratio):
    return f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:.0f}"


def count_text(value):
    """12.8M, 128k: elements on an axis."""
    for factor, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.4g}{name}"
    return f"{value:.4g}"
