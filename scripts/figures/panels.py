# SPDX-License-Identifier: MIT
"""Cells on panels, and panels on pages: nothing is left out because there is much of it."""

import math
import re
import textwrap

from . import style

# What tells cells apart beside path and pattern, in the order of words.
PANEL_KEYS = ("workload", "elements", "block_size", "regime")
PAGE_MM = 225  # no page is higher, if more than one panel is on it


def panel_of(row):
    """Cells that stand on one panel have these in common."""
    return tuple(row[key] for key in PANEL_KEYS)


def panel_text(key):
    return ", ".join(fact_text(*pair) for pair in zip(PANEL_KEYS, key))


# What a parameter is, in a title.
FACTS = {"distinct": "{} addresses", "stride_bytes": "{} B apart", "radius": "radius {}", "width_bytes": "{} B wide",
         "table_bytes": "{} table", "loads": "{} loads", "in_flight": "{} in flight", "run_threads": "of {} threads",
         "skew_percent": "exponent {} %", "warps_per_sm": "{} warps an SM", "pressure_bytes": "{} beside",
         "refill_bytes": "{} written", "elements": "{} elements", "block_size": "blocks of {}"}


def fact_text(key, value):
    """blocks of 1024; 64 B apart."""
    if key == "elements":
        value = style.count_text(value)
    elif key.endswith("_bytes") and "B" not in FACTS.get(key, "B"):
        value = style.bytes_text(int(value))
    return FACTS.get(key, "{}" if key in ("path", "workload", "pattern", "regime") else f"{key.replace('_', ' ')} {{}}").format(value)


def facts_of(row):
    """{what: value} of all that identifies a row but its path."""
    words = (word.partition("=") for word in row["parameters"].split())
    return {"workload": row["workload"], "pattern": row["pattern"], **{name: value for name, _, value in words},
            **{key: row[key] for key in PANEL_KEYS[1:]}}


def told_apart(every):
    """(what all of the dictionaries have in common in words, [what tells each from the others])."""
    keys = list(dict.fromkeys(key for facts in every for key in facts))
    varied = [key for key in keys if len({facts.get(key) for facts in every}) > 1]
    common = ", ".join(fact_text(key, every[0][key]) for key in keys if key not in varied)
    return common, [", ".join(fact_text(key, facts[key]) for key in varied if key in facts) for facts in every]


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


def intervals(rows, key=None, factor=1):
    """[how far below the values their intervals go, how far above], in units of so many; 0 where there is none."""
    value, low, high = (key, f"{key}_ci_low", f"{key}_ci_high") if key else ("value", "ci_low", "ci_high")
    return [[abs((row[end] or row[value]) - row[value]) / factor for row in rows] for end in (low, high)]


def draw_points(axes, points, ends, along="y", bars_width=None, capsize=None, **look):
    """Points and their intervals on axes whose limits are set, as axes.errorbar draws them, which takes three times as long. points:
    (x, y), lists; ends: as `intervals` gives them; along: the axis that they are of; look: of `style.line`."""
    import matplotlib
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D
    at, beside = points if along == "x" else points[::-1]
    xy = (lambda its, others: (its, others)) if along == "x" else (lambda its, others: (others, its))
    low, high = ([value + sign * length for value, length in zip(at, its)] for sign, its in zip((-1, 1), ends))
    bars = [list(zip(*xy(interval, (other, other)))) for *interval, other in zip(low, high, beside)]
    axes.add_line(Line2D(*points, zorder=2.1, **look))
    axes.add_collection(LineCollection(bars, colors=look["color"], linewidths=bars_width or look.get("linewidth"), zorder=2), autolim=False)
    capsize = matplotlib.rcParams["errorbar.capsize"] if capsize is None else capsize
    if capsize:
        axes.add_line(Line2D(*xy(low + high, beside * 2), linestyle="none", color=look["color"], marker="|" if along == "x" else "_",
                             markersize=2 * capsize, markeredgewidth=look["markeredgewidth"], zorder=2))


NEAR = 1.01  # of the quickest path: as quick as it


def quickest_text(made):
    """How often each path is the quickest of the points that differ in their path alone; None where there are none."""
    near, points = {}, 0
    same = ("axis_value", "parameters", "pattern", *PANEL_KEYS)
    for members in grouped(made, lambda row: tuple(row.get(key) for key in same)).values():
        if len(members) > 1:
            points += 1
            least = min(row["time_ns"] for row in members)
            for row in members:
                near[row["path"]] = near.get(row["path"], 0) + (row["time_ns"] <= NEAR * least)
    paths = sorted(style.in_order(near), key=lambda path: -near[path])
    paths = paths[:3] + [path for path in paths[3:] if path == "constant"]
    words = [f"{path} at {near[path] or 'none'}" for path in paths]
    words[:1] = [f"{path} is the quickest, or within 1 % of it, at {near[path]}" for path in paths[:1]]
    return f"of {points} point{'s' * (points > 1)} {', '.join(words[:-1])} and {words[-1]}" if points else None


def parted(items, most):
    """Parts of a list of about the same length, none longer than `most`."""
    parts = math.ceil(len(items) / most)
    size = math.ceil(len(items) / parts) if parts else 0
    return [items[i:i + size] for i in range(0, len(items), size)] if size else []


def filled(items, height_mm):
    """Parts of a list, none higher than a page unless it is one item."""
    made, room = [], 0
    for item in items:
        if not made or height_mm(item) > room:
            made.append([])
            room = PAGE_MM
        made[-1].append(item)
        room -= height_mm(item)
    return made


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


def name_rows(axes, title, texts, width_mm=130):
    """Beside the rows their names, above them a title that ends where the figure does."""
    axes.set_ylim(len(texts) - 0.4, -0.6)
    style.fixed_ticks(axes.yaxis, range(len(texts)), texts)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    head(axes, title, width_mm - LETTER_MM * max(map(len, texts)) - 4)


def head(axes, text, width_mm=60):
    """A title on the left, of several lines where the panel is narrow, which end after commas where they can."""
    letters = max(12, int(width_mm / (LETTER_MM * 1.15)))
    whole = textwrap.wrap(re.sub("(?<!,) ", "\N{NO-BREAK SPACE}", text), letters, break_long_words=False)
    lines = whole if max(map(len, whole), default=0) <= letters else textwrap.wrap(text, letters)
    axes.set_title("\n".join(lines).replace("\N{NO-BREAK SPACE}", " "), loc="left")


def beside(axes, y, text):
    """Words right of the axes, at a height in the data."""
    axes.annotate(text, (1, y), (3, 0), xycoords=("axes fraction", "data"), textcoords="offset points", va="center",
                  fontsize="small", annotation_clip=False)


def grid(body, count, across, **keywords):
    """`count` axes in rows of `across`, in a list."""
    across = min(across, count)
    axes = body.subplots(math.ceil(count / across), across, squeeze=False, **keywords)
    flat = list(axes.flat)
    for unused in flat[count:]:
        unused.set_visible(False)
    return flat[:count]


# -- panels with lines --------------------------------------------------------------------------------------------

LINES_MM = 40  # a panel
AXES_MM = 27  # of that without title and names


def lines_mm(count, least_mm=LINES_MM):
    """The height of a panel whose lines have so many names."""
    return max(least_mm, count * style.pitch_mm() + LINES_MM - AXES_MM)


def across(width_mm, count):
    return min(count, 2 if style.wide(width_mm) else 1)


LINES_LEAST_MM = 25  # across, of axes
SHORT_OF = 0.9  # of the axes: a line that ends before


def narrow_across(width_mm, count, letters):
    """As many panels beside each other as have room, with names of so many letters, in rows of about the same length."""
    most = max(1, int((width_mm - 9) / (LINES_LEAST_MM + 6 + LETTER_MM * letters)))
    return math.ceil(count / math.ceil(count / most))


ASIDE_PT, BEFORE_NAME_PT = 9, 2  # from the axes to the names of lines; from a leader to its name


def name_lines(axes, ends):
    """The names of lines right of the axes; `settle` puts them where they have room, and leads each to the end of its line. ends:
    [(x, y, text, colour)]."""
    from matplotlib.transforms import ScaledTranslation
    to_axes = axes.transData + axes.transAxes.inverted()
    aside = axes.transAxes + ScaledTranslation(ASIDE_PT / 72, 0, axes.figure.dpi_scale_trans)
    axes.names = []
    for x, y, text, colour in sorted(ends, key=lambda end: end[1]):
        end = to_axes.transform((x, y))
        axes.names.append((end, axes.text(1, end[1], text, transform=aside, va="center", ha="left", fontsize="small"), colour))


def settle(figure):
    """Moves names of lines apart, now that the figure is laid out."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    renderer = FigureCanvasAgg(figure).get_renderer()
    for axes in (axes for axes in figure.axes if hasattr(axes, "names")):
        room = axes.get_window_extent(renderer)
        sizes = [(text.get_window_extent(renderer).height + 1.5) / room.height for _, text, _ in axes.names]
        before = 1 + (ASIDE_PT - BEFORE_NAME_PT) / 72 * axes.figure.dpi / room.width
        for (end, text, colour), height in zip(axes.names, spread([end[1] for end, _, _ in axes.names], sizes)):
            text.set_position((1, height))
            lead(axes, end, (before, height), colour)


def lead(axes, start, end, colour):
    """A thin line below all others; dotted where it begins far from its end, since it crosses lines and is none of them."""
    from matplotlib.lines import Line2D
    dashes = (0, (1, 4)) if start[0] < SHORT_OF else "-"
    axes.add_line(Line2D(*zip(start, end), transform=axes.transAxes, clip_on=False, linewidth=0.35, color=colour, linestyle=dashes,
                         zorder=1.5)).set_in_layout(False)


def spread(wanted, sizes):
    """Sorted places of things of such sizes, none over the next, moved as little as that takes; within 0 to 1 if they fit."""
    clusters = []  # (middle, size, how many)
    for place, size in zip(wanted, sizes):
        clusters.append((place, size, 1))
        while len(clusters) > 1 and clusters[-2][0] + (clusters[-2][1] + clusters[-1][1]) / 2 > clusters[-1][0]:
            (middle, height, count), (other, more, of_other) = clusters[-2:]
            clusters[-2:] = [((middle * count + other * of_other) / (count + of_other), height + more, count + of_other)]
    found, left = [], list(sizes)
    for middle, height, count in clusters:
        low = middle - height / 2
        for _ in range(count):
            size = left.pop(0)
            found.append(low + size / 2)
            low += size
    low = 0
    for i, size in enumerate(sizes):
        found[i] = max(found[i], low + size / 2)
        low = found[i] + size / 2
    high = 1 if sum(sizes) <= 1 else sum(sizes)
    for i in range(len(sizes) - 1, -1, -1):
        found[i] = min(found[i], high - sizes[i] / 2)
        high = found[i] - sizes[i] / 2
    return found


def number_axis(axes, values, text, width_mm):
    """An x axis of whole numbers: a logarithm where they spread, with as many of them written as there is room."""
    values = sorted(set(values))
    if values[-1] >= 16 * max(values[0], 1):
        axes.set_xscale("log", base=2)
    place = (lambda value: math.log(value)) if axes.get_xscale() == "log" else float
    whole = place(values[-1]) - place(values[0]) or 1
    ticks = []
    for value in values:
        room = LETTER_MM * (len(text(value)) + len(text(ticks[-1])) if ticks else 0) / 2 + 1.5
        if not ticks or (place(value) - place(ticks[-1])) / whole * width_mm >= room:
            ticks.append(value)
    style.fixed_ticks(axes.xaxis, ticks, [text(tick) for tick in ticks])
    aside = 0.04 * whole
    axes.set_xlim(*((math.exp(place(values[0]) - aside), math.exp(place(values[-1]) + aside)) if axes.get_xscale() == "log" else
                    (values[0] - aside, values[-1] + aside)))
