# SPDX-License-Identifier: MIT
"""Draws figures. There are four ways (ways.py): lines against a number, steps of a distribution,
dots in named rows, and a map of squares.

A Drawing holds a table with exactly what is drawn. All ways have the columns `panel` (its title),
`series` (what has a look of its own) and `flags` (where not empty, the mark is hollow). Lines have
`x`, `y`, `low` and `high` (ends of the interval of y); where one look has several, `line` tells
them apart. A row with a `reference` is a thin line at y, and at x where that is known. Steps have
`x`, `y` and the `identity` of the cell. Dots have `row` (its name), `x`, `low` and `high` (of x),
and `text`, on the right of the row. Maps have `row`, `column`, `x` (the colour) and `text`, a
letter.

A picture holds axes, labels and a legend, and fits one or two columns of a journal. Its sentence
stands beside it.
"""

from __future__ import annotations

import dataclasses
import io
import itertools
import re
import textwrap
from typing import TYPE_CHECKING

import numpy as np
import pandas

from . import style
from .. import text
from ..errors import printable
from .ways import LETTER_MM, LETTER_POINTS, WAYS, several_a_row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .. import documents

MM = 1 / 25.4  # in inches, which matplotlib counts in
PAGE_MM = 110  # no figure is higher
PROPORTION = 2 / 3  # of height to width, at most, of a figure with one panel
FIXED_MM = {
    "lines": 13,
    "steps": 13,
    "dots": 13,
    "map": 26,
}  # of a panel's height: title, ticks and label
SHRINK = 0.6  # the rest may shrink to so much where figures would be too high
LINES_MM = 29
CURVES = ("lines", "steps")  # the ways that have no named rows
HANDLE_MM, LEGEND_ROW_MM = 7.8, 3.4
UNIT = re.compile(r"(\d) (%|[KMG]?B\b)")  # a number stays on the line of its unit


@dataclasses.dataclass
class Drawing:
    """One page."""

    kind: str  # a key of kinds.KINDS
    stem: str  # name of its files
    rows: pandas.DataFrame
    sentence: str  # what it shows
    labels: dict  # {panel: (of x, of y)}; None: of all other panels
    documents: list  # what it was made of
    note: str = None  # what has to be known, for the caption
    warning: str = None  # without it the picture misleads: it stands in the legend
    aside: str = ""  # what the texts on the right of rows are
    # share of the x axis where nothing differs: (low, high)
    band: tuple = None
    across: int = None  # panels side by side; None: as many as fit
    way: str = None  # lines, steps, dots or map

    def __post_init__(self) -> None:
        """Texts of documents become one line each, without control characters: an SVG has no
        place for those."""
        texts = {
            column: self.rows[column].map(
                lambda its: printable(its) if isinstance(its, str) else its
            )
            for column in self.rows
            if self.rows[column].dtype == object
        }
        self.rows = self.rows.assign(**texts)
        self.sentence, self.note, self.warning = (
            its and printable(its) for its in (self.sentence, self.note, self.warning)
        )
        self.labels = {
            panel and printable(panel): tuple(map(printable, its))
            for panel, its in self.labels.items()
        }

    def labels_of(self, members: pandas.DataFrame) -> tuple[str, str]:
        """(of x, of y) of the panel that rows are of."""
        return self.labels.get(members["panel"].iloc[0]) or self.labels[None]

    @property
    def conditions(self) -> str:
        """Facts without which the picture would be misread, as sentences; empty where nothing
        has."""
        flags = sorted(
            {
                flag
                for text in self.rows.get("flags", pandas.Series(dtype=str)).dropna()
                for flag in str(text).split()
            }
        )
        said = [
            self.gpus,
            self.warning,
            self.note,
            f"hollow marks: {', '.join(flags)}" if flags else None,
            f"grey band: the same within {100 * (self.band[1] - 1):g} %" if self.band else None,
            f"on the right: {self.aside}" if self.aside else None,
        ]
        return " ".join(f"{its[0].upper()}{its[1:]}." for its in said if its)

    @property
    def gpus(self) -> str:
        """The GPU of each document, and the kind of its board."""
        made = [gpu_text(device) for document in self.documents for device in devices(document)]
        return f"on {'; '.join(dict.fromkeys(map(printable, made)))}" if made else ""

    def provenance(self) -> dict[str, str]:
        """Where the data come from, as key and text."""
        made = {"figure": self.kind}
        for i, document in enumerate(self.documents, 1):
            tool, device = document.content.get("tool") or {}, document.content.get("device") or {}
            facts = {
                "source": document.name,
                "sha256": document.sha256,
                "engine": document.content.get("engine"),
                "device": device.get("name"),
                "driver": device.get("driver"),
                "tool": (
                    tool
                    and f"cbank {tool.get('version')}, commit {tool.get('git_commit') or 'unknown'}"
                ),
            }
            made.update(
                (key if len(self.documents) == 1 else f"{key} {i}", printable(value))
                for key, value in facts.items()
                if value
            )
        return made


def devices(document: documents.Document) -> list[dict]:
    """The devices that a document is of; of fleets and histories their names alone are known."""
    content = document.content
    sides = [(content.get(side) or {}).get("device") for side in ("base", "new")]
    rows = [
        {"name": row.get("name") or row.get("device"), "many": True}
        for key in ("gpus", "rows")
        for row in content.get(key) or []
        if isinstance(row, dict)
    ]
    return [
        device
        for device in (content.get("device"), *sides, *rows)
        if isinstance(device, dict) and device.get("name")
    ]


def gpu_text(device: dict) -> str:
    """The GPU and the kind of its board, or that it is not known."""
    said = text.gpu(device)
    if device.get("many") or said != device["name"]:
        return said
    return f"{said} (kind of board not recorded)"


# -- pages -----------------------------------------------------------------------------------------


def pages(drawing: Drawing, width_mm: float) -> list[Drawing]:
    """The drawing on as many pages as it needs: panels stay whole unless one alone is higher
    than a page."""
    across, head_mm = across_of(drawing, width_mm), head_of(drawing, looks_of(drawing), width_mm)[0]
    alone_mm = min(PAGE_MM, PROPORTION * width_mm)
    # rows of a panel
    most = max(1, int((alone_mm - head_mm - FIXED_MM[drawing.way]) / SHRINK / row_mm(drawing)))
    units, made, room = [], [], 0
    for _, members in drawing.rows.groupby("panel", sort=False):
        names = members["row"].unique() if "row" in members else [None]
        units += (
            [members[members["row"].isin(names[i : i + most])] for i in range(0, len(names), most)]
            if len(names) > most
            else [members]
        )
    for i in range(0, len(units), across):
        least = FIXED_MM[drawing.way] + SHRINK * max(
            flexible_mm(drawing, members) for members in units[i : i + across]
        )
        if not made or least > room or made[-1][-1]["panel"].iloc[0] == units[i]["panel"].iloc[0]:
            made.append([])
            room = PAGE_MM - head_mm
        made[-1] += units[i : i + across]
        room -= least
    return [
        dataclasses.replace(
            drawing,
            stem=drawing.stem + f"-{i}" * (len(made) > 1),
            rows=pandas.concat(part),
            across=across,
        )
        for i, part in enumerate(made, 1)
    ]


def flexible_mm(drawing: Drawing, members: pandas.DataFrame) -> float:
    """The height of a panel that may shrink."""
    return row_mm(drawing) * (members["row"].nunique() if "row" in members else 1)


def row_mm(drawing: Drawing) -> float:
    if drawing.way in CURVES:
        return LINES_MM
    if drawing.way == "map" or not several_a_row(drawing):
        return 4.2
    count = drawing.rows["series"].nunique()
    return max(4.4, 0.5 * count + 0.8 if drawing.band else count + 1.2)


def across_of(drawing: Drawing, width_mm: float) -> int:
    """Panels side by side: those of lines in few rows with few gaps, dots where their rows have
    the same names."""
    count, wide = drawing.rows["panel"].nunique(), width_mm >= style.WIDE_MM
    if drawing.across or drawing.way in CURVES:
        return drawing.across or (
            1
            if count == 1
            else (
                min((3, 4), key=lambda most: (max(3, -(-count // most)), -count % most))
                if wide and count > 2
                else 2
                if wide or count > 3
                else 1
            )
        )
    alike = (
        drawing.way == "map"
        or drawing.rows.groupby("panel")["row"].apply(lambda rows: tuple(rows.unique())).nunique()
        == 1
    )
    return min(3, count) if wide and alike else 1


# -- a page ----------------------------------------------------------------------------------------


def draw(drawing: Drawing, width_mm: float) -> Figure:
    """A matplotlib Figure of one page; inside style.sheet()."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    looks, across = looks_of(drawing), across_of(drawing, width_mm)
    parts = [members for _, members in drawing.rows.groupby("panel", sort=False)]
    fixed_mm, flexible = FIXED_MM[drawing.way], [flexible_mm(drawing, members) for members in parts]
    flexible = [max(flexible[i : i + across]) for i in range(0, len(flexible), across)]
    head_mm, labels = head_of(drawing, looks, width_mm)
    most_mm = PAGE_MM if len(parts) > 1 else min(PAGE_MM, PROPORTION * width_mm)
    scale = min(1, max(SHRINK, (most_mm - head_mm - fixed_mm * len(flexible)) / sum(flexible)))
    heights = [fixed_mm + scale * its for its in flexible]
    figure = Figure(figsize=(width_mm * MM, (sum(heights) + head_mm) * MM), layout="constrained")
    head, body = figure.subfigures(2, 1, height_ratios=[head_mm, sum(heights)])
    if labels or drawing.warning:
        line = {} if drawing.way in CURVES else {"linestyle": "none"}
        line |= {"marker": ""} if drawing.way == "steps" else {}
        handles = [
            Line2D(
                [], [], **{"linestyle": looks[label].dashes, **style.marks(looks[label]), **line}
            )
            for label in labels
        ]
        head.legend(
            handles,
            labels,
            title=drawing.warning,
            loc="lower center",
            ncol=columns_of(labels, width_mm),
            borderaxespad=0.1,
        )
    grid = body.subplots(
        len(heights), across, squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for axes, members in itertools.zip_longest(grid.flat, parts):
        if members is None:
            axes.set_visible(False)
        else:
            WAYS[drawing.way](axes, drawing, members, looks, width_mm / across)
    name(drawing, grid, parts, width_mm / across, heights)
    if drawing.way == "map":
        bar = body.colorbar(
            grid.flat[0].collections[0],
            ax=list(grid.flat),
            location="bottom",
            shrink=0.6,
            aspect=40,
            pad=0.02,
        )
        bar.set_label("change of time, %")
    return figure


def name(
    drawing: Drawing,
    grid: np.ndarray,
    parts: list[pandas.DataFrame],
    panel_mm: float,
    heights: list[float],
) -> None:
    """Titles and labels of the panels; what the panel on the left or below says of an axis is
    not said again."""
    across = grid.shape[1]
    for i, (axes, members) in enumerate(zip(grid.flat, parts)):
        of_x, of_y = drawing.labels_of(members)
        names_mm = (
            LETTER_MM * members["row"].str.len().max()
            if drawing.way not in CURVES and i % across == 0
            else 0
        )
        letters = max(
            10,
            int(
                (panel_mm - 8 - (names_mm if across == 1 else 8 * (drawing.way not in CURVES)))
                / LETTER_MM
                / 1.15
            ),
        )
        aside = len(drawing.aside) + 2 if drawing.aside else 0
        title = UNIT.sub("\\1\N{NO-BREAK SPACE}\\2", members["panel"].iloc[0])
        axes.set_title("\n".join(textwrap.wrap(title, letters - aside)), loc="left")
        axes.set_title(drawing.aside, loc="right", fontsize=LETTER_POINTS)
        if i + across >= len(parts) or drawing.labels_of(parts[i + across])[0] != of_x:
            axes.set_xlabel("\n".join(textwrap.wrap(of_x, letters)))
        if i % across == 0 or drawing.labels_of(parts[i - 1])[1] != of_y:
            axes.set_ylabel(
                "\n".join(textwrap.wrap(of_y, int((heights[i // across] - 8) / LETTER_MM / 1.1)))
            )
        if drawing.way == "dots" and i % across:
            axes.set_yticklabels([])


def looks_of(drawing: Drawing) -> dict[str, style.Look]:
    return (
        style.looks_of(drawing.rows["series"].dropna().astype(str)) if drawing.way != "map" else {}
    )


def head_of(
    drawing: Drawing, looks: dict[str, style.Look], width_mm: float
) -> tuple[float, list[str]]:
    """(height of the legend, its labels)."""
    labels = list(looks) if len(looks) > 1 or drawing.way == "dots" else []
    rows = -(-len(labels) // columns_of(labels, width_mm)) + bool(drawing.warning)
    return max(LEGEND_ROW_MM * rows + 1.2, 1.5), labels


def columns_of(labels: list[str], width_mm: float) -> int:
    longest = max(map(len, labels), default=1)
    return max(1, min(len(labels), int(width_mm / (LETTER_MM * longest + HANDLE_MM))))


# -- files -----------------------------------------------------------------------------------------

FORMATS = ("pdf", "svg", "png")


def csv_text(drawing: Drawing) -> str:
    """Exactly what is drawn, one row a mark; whole numbers are written without a point."""
    return text.csv_text(drawing.rows.drop(columns=["reference"], errors="ignore").convert_dtypes())


def picture_bytes(figure: Figure, drawing: Drawing, form: str) -> bytes:
    """The same bytes for the same drawing: there are no dates in them."""
    title, said = f"cbank {drawing.kind}", "; ".join(
        f"{key}: {value}" for key, value in drawing.provenance().items()
    )
    metadata = {
        "pdf": {"Title": title, "Subject": said, "Creator": "cbank", "CreationDate": None},
        "svg": {"Title": title, "Description": said, "Creator": "cbank", "Date": None},
        "png": {"Title": title, "Description": said, "Software": "cbank"},
    }[form]
    file = io.BytesIO()
    figure.savefig(file, format=form, metadata=metadata)
    return file.getvalue()
