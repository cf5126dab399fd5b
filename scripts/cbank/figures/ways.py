# SPDX-License-Identifier: MIT
"""The ways in which figures are drawn (draw.py says what their rows hold), and their axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas

from . import style

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from .draw import Drawing

LETTER_MM = 1.25  # the width of a letter, on average
LETTER_POINTS = 6  # no text is smaller


# -- axes ------------------------------------------------------------------------------------------


def fixed_ticks(axis: Axis, ticks: Iterable[float], texts: Iterable[str]) -> None:
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_major_formatter(FixedFormatter(list(texts)))
    axis.set_minor_locator(NullLocator())


def log_axis(axes: Axes, which: str, low: float, high: float, most: int = 6) -> None:
    """A logarithmic axis from low to high, with at most so many round numbers written as they
    are."""
    axis = getattr(axes, f"{which}axis")
    getattr(axes, f"set_{which}scale")("log")
    getattr(axes, f"set_{which}lim")(low, high)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    # less than a decade
    fine = [[step / count for step in range(count, 10 * count)] for count in (20, 10, 4, 2)]
    for steps in (*fine, (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        ticks = [
            step * 10.0**power
            for power in powers
            for step in steps
            if low <= step * 10.0**power <= high
        ]
        if len(ticks) <= (min(4, most) if steps in fine else most):
            break
    ticks = ticks[:: -(-len(ticks) // most) or 1]
    fixed_ticks(axis, ticks, [style.count_text(float(f"{tick:.3g}")) for tick in ticks])


def number_axis(
    axes: Axes, values: list[float], text: Callable[[float], str], room_mm: float
) -> None:
    """An x axis of whole numbers: logarithmic where they spread, with as many of them written as
    there is room for."""
    values = sorted(set(values))
    spread = values[0] > 0 and values[-1] >= 16 * values[0]
    scaled = math.log2 if spread else float
    if spread:
        axes.set_xscale("log", base=2)
    whole, kept = scaled(values[-1]) - scaled(values[0]) or 1, []
    powers = [2**power for power in range(64) if values[0] <= 2**power <= values[-1]]
    ticks = powers if spread and len(values) > 12 else values[:: -(-len(values) // 12)]
    for value in ticks:
        letters = len(text(value)) + len(text(kept[-1])) if kept else 0
        if (
            not kept
            or (scaled(value) - scaled(kept[-1])) / whole * room_mm >= LETTER_MM * letters / 2 + 1.5
        ):
            kept.append(value)
    fixed_ticks(axes.xaxis, kept, [text(value) for value in kept])
    low, high = scaled(values[0]) - 0.04 * whole, scaled(values[-1]) + 0.04 * whole
    axes.set_xlim(*((2**low, 2**high) if spread else (low, high)))


def value_axis(
    axes: Axes,
    which: str,
    rows: pandas.DataFrame,
    value: str,
    base: float | None = None,
    band: tuple = (),
    most: int = 6,
) -> None:
    """An axis of times or cycles: logarithmic where they spread, else from 0 on or about `base`,
    with all of `band`."""
    from matplotlib.ticker import MaxNLocator

    ends = pandas.concat(
        [rows[value], rows["low"], rows["high"], pandas.Series(band, dtype=float)]
    ).dropna()
    low, high = float(ends.min()), float(ends.max())
    if base is None and low > 0 and high > 4 * low or base and low > 0 and high > 2 * low:
        log_axis(axes, which, low / 1.15, high * 1.15, most)
        return
    getattr(axes, f"{which}axis").set_major_locator(MaxNLocator(most, steps=(1, 2, 5, 10)))
    if base is None and low >= 0:
        getattr(axes, f"set_{which}lim")(0, high * 1.1 or 1)
    else:
        aside = 0.05 * (high - low) or 0.01
        getattr(axes, f"set_{which}lim")(low - aside, high + aside)


def errors(rows: pandas.DataFrame, value: str) -> list[np.ndarray]:
    """Lengths below and above the values; 0 where there is no interval. Matplotlib calls float()
    on a series of one, which pandas warns of."""
    low, high = (rows[end].fillna(rows[value]) for end in ("low", "high"))
    return [
        (rows[value] - low).clip(lower=0).to_numpy(),
        (high - rows[value]).clip(lower=0).to_numpy(),
    ]


# -- ways ------------------------------------------------------------------------------------------


def date_format(span: pandas.Timedelta) -> str:
    """How dates are written on an axis of so long a time."""
    if span >= pandas.Timedelta(days=300):
        return "%Y-%m"
    if span >= pandas.Timedelta(days=3):
        return "%m-%d"
    return "%H:%M" if span >= pandas.Timedelta(minutes=10) else "%H:%M:%S"


def lines_x_axis(
    axes: Axes,
    drawing: Drawing,
    members: pandas.DataFrame,
    points: pandas.DataFrame,
    room_mm: float,
) -> None:
    """The x axis of lines: of dates, or of whole numbers."""
    from matplotlib.dates import AutoDateLocator, DateFormatter

    if pandas.api.types.is_datetime64_any_dtype(points["x"]):
        axes.xaxis.set_major_locator(AutoDateLocator(minticks=2, maxticks=4))
        span = points["x"].max() - points["x"].min()
        axes.xaxis.set_major_formatter(DateFormatter(date_format(span)))
        return
    in_bytes = "bytes" in drawing.labels_of(members)[0]
    texts = style.size_text if in_bytes else style.count_text
    number_axis(axes, points["x"].tolist(), texts, room_mm)


def draw_line(axes: Axes, points: pandas.DataFrame, look: style.Look, size: float = 1) -> None:
    """A line with its intervals; marks are smaller, or go, where there are many. size: by that of
    the thinnest line."""
    many = {"markersize": 1.6 * size} if len(points) > 16 else {}
    if len(points) > 40:
        many = {"marker": "", "linewidth": 0.6 * size}
    axes.errorbar(
        points["x"],
        points["y"],
        errors(points, "y"),
        elinewidth=0.5,
        capsize=0,
        linestyle=look.dashes,
        **{**style.marks(look, markersize=2.2 * size, linewidth=0.7 * size), **many},
    )
    flagged = points[points["flags"].fillna("") != ""] if "flags" in points else points.head(0)
    if len(flagged):
        marks = style.marks(look, True, markersize=2.8)
        axes.plot(flagged["x"], flagged["y"], linestyle="none", zorder=3, **marks)


def name_levels(axes: Axes, levels: pandas.Series) -> None:
    """The latency of each level, on the right of its line; of two that are near each other, that of
    the first."""
    kept = []
    for level in levels:
        if all(max(level, other) > 1.15 * min(level, other) for other in kept):
            kept.append(level)
    right = axes.secondary_yaxis("right")
    fixed_ticks(right.yaxis, kept, [style.count_text(level) for level in kept])
    right.tick_params(length=0)
    right.spines["right"].set_visible(False)


def draw_lines(
    axes: Axes,
    drawing: Drawing,
    members: pandas.DataFrame,
    looks: dict[str, style.Look],
    panel_mm: float,
) -> None:
    points = members[members["reference"].isna()] if "reference" in members else members
    lines_x_axis(axes, drawing, members, points, panel_mm - 18)
    value_axis(axes, "y", members, "y", 1 if drawing.kind == "history" else None, most=5)
    several = "line" if "line" in points else "uuid"
    for i, (name, look) in enumerate(looks.items()):
        series = points[points["series"] == name].sort_values("x", kind="stable")
        # a line below others is thicker: both are seen where they coincide
        size = 1 + 0.7 * (len(looks) - 1 - i) / max(1, len(looks) - 1)
        if look is style.REST or several == "line":
            for _, line in series.groupby(several, dropna=False):
                draw_line(axes, line, look, size if several == "line" else 1)
        elif len(series):
            draw_line(axes, series, look, size)
    if len(points) < len(members):
        thin = {"color": "black", "linestyle": style.DOTTED, "linewidth": 0.7, "zorder": 1}
        for row in members[members["reference"].notna()].itertuples():
            axes.axhline(row.y, **thin)
            if not pandas.isna(row.x):
                axes.axvline(row.x, **thin)
        name_levels(axes, members[members["reference"].notna()]["y"])


def several_a_row(drawing: Drawing) -> bool:
    """Whether rows have marks of several series, which then lie below each other."""
    return not drawing.band or drawing.rows.duplicated(["panel", "row"]).any()


def draw_dots(
    axes: Axes,
    drawing: Drawing,
    members: pandas.DataFrame,
    looks: dict[str, style.Look],
    panel_mm: float,
) -> None:
    names = list(members["row"].unique())
    base = 1 if drawing.band else None
    room_mm = panel_mm - LETTER_MM * max(map(len, names)) - 16
    most = max(3, min(6, int(room_mm / 9)))
    value_axis(axes, "x", members, "x", base, drawing.band or (), most)
    if drawing.band:
        axes.axvspan(*drawing.band, facecolor="0.88", zorder=0)
        axes.axvline(base, color="black", linewidth=0.6, zorder=1)
    positions = {name: i for i, name in enumerate(names)}
    small = len(looks) > 5
    for i, name in enumerate(looks):
        its = members[members["series"] == name]
        aside = 0.76 * ((i + 0.5) / len(looks) - 0.5) if several_a_row(drawing) else 0
        hollow = (
            its["flags"].fillna("") != "" if "flags" in its else pandas.Series(False, its.index)
        )
        for flagged in (False, True):
            rows = its[hollow == flagged]
            if not rows.empty:
                axes.errorbar(
                    rows["x"],
                    rows["row"].map(positions) + aside,
                    xerr=errors(rows, "x"),
                    linestyle="none",
                    elinewidth=0.7,
                    capsize=0,
                    **style.marks(looks[name], flagged, markersize=2.4 if small else 3.2),
                )
    axes.set_ylim(len(names) - 0.5, -0.5)
    fixed_ticks(axes.yaxis, range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    if several_a_row(drawing):
        for y in range(len(names) - 1):
            axes.axhline(y + 0.5, color="0.85", linewidth=0.3, zorder=0)
    texts = (
        members.dropna(subset=["text"]).drop_duplicates("row")
        if "text" in members
        else members.head(0)
    )
    if len(texts):
        right = axes.secondary_yaxis("right")
        fixed_ticks(right.yaxis, texts["row"].map(positions), texts["text"])
        right.tick_params(length=0)
        right.spines["right"].set_visible(False)


def draw_map(
    axes: Axes,
    drawing: Drawing,
    members: pandas.DataFrame,
    _looks: dict[str, style.Look],
    _panel_mm: float,
) -> None:
    """A row a node, a square a GPU in the order of slots; white where there is no time."""
    names = list(members["row"].unique())
    most = max(2.0, float(drawing.rows["x"].abs().max() or 0))
    table = members.pivot_table(
        index="row", columns="column", values="x", sort=False, dropna=False
    ).reindex(names)
    # edges: a table of one row or column has squares, too
    axes.pcolormesh(
        np.arange(table.shape[1] + 1) - 0.5,
        np.arange(len(names) + 1) - 0.5,
        table.to_numpy(dtype=float),
        cmap="cividis_r",
        vmin=-most,
        vmax=most,
        shading="flat",
    )
    for row in members.itertuples():
        if row.text:
            axes.text(
                row.column,
                names.index(row.row),
                row.text,
                ha="center",
                va="center",
                fontsize=LETTER_POINTS,
                color="white" if row.x > 0.2 * most else "black",
            )
    axes.set_ylim(len(names) - 0.5, -0.5)
    fixed_ticks(axes.yaxis, range(len(names)), names)
    axes.set_xticks([])
    axes.grid(visible=False)


def draw_steps(
    axes: Axes,
    _drawing: Drawing,
    members: pandas.DataFrame,
    looks: dict[str, style.Look],
    _panel_mm: float,
) -> None:
    """The share of values below each, a step a value."""
    from matplotlib.ticker import MaxNLocator

    for name, look in looks.items():
        for _, its in members[members["series"] == name].groupby("identity", sort=False):
            axes.step(
                its["x"],
                its["y"],
                where="post",
                color=style.ink(look),
                linestyle=look.dashes,
                linewidth=0.9,
            )
    axes.set_ylim(0, 102)
    fixed_ticks(axes.yaxis, (0, 50, 100), ("0", "50", "100"))
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=(1, 2, 5, 10)))


WAYS = {"lines": draw_lines, "steps": draw_steps, "dots": draw_dots, "map": draw_map}
