# SPDX-License-Identifier: MIT
"""Tables of a report, and numbers as the text in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
import math
from collections import namedtuple

import pandas

from . import text

NONE = "–"
NARROW = "\N{NARROW NO-BREAK SPACE}"
SHORT = 40  # letters: a column with a longer text is broken into lines

Value = namedtuple("Value", "text strong", defaults=(False,))
Head = namedtuple("Head", "text span", defaults=(1,))  # over several columns


class Table:
    """heads: names of columns, or two rows of Head. rows: lists of texts or Values; the first
    names the row."""

    def __init__(self, caption: str, heads: list, rows: list[list], notes: Iterable[str] = ()):
        rows = [
            [
                cell
                if isinstance(cell, Value)
                else Value(NONE if missing(cell) or cell == "" else str(cell))
                for cell in row
            ]
            for row in rows
        ]
        self.rows = [
            row for row in rows if len(row) == 1 or any(cell.text != NONE for cell in row[1:])
        ]
        self.caption, self.notes = caption, [note for note in notes if note]
        self.heads = (
            heads if heads and isinstance(heads[0], list) else [[Head(text) for text in heads]]
        )
        self.kinds = ["", *(kind_of(column) for column in list(zip(*self.rows))[1:])]


def kind_of(column: tuple[Value, ...]) -> str:
    """The kind of a column: "" for numbers, t for texts, w for texts that are broken into lines."""
    texts = [cell.text for cell in column if cell.text != NONE]
    if all(text[:1] in "0123456789+-−.±[" for text in texts):
        return ""
    return "t" if max(map(len, texts)) <= SHORT else "w"


def missing(value: object) -> bool:
    """Whether a value of a table is not known."""
    return value is None or value is pandas.NA or isinstance(value, float) and math.isnan(value)


# -- numbers ---------------------------------------------------------------------------------------


def time(ns: float | None) -> str:
    """As cbank show prints it: four digits."""
    return NONE if missing(ns) else text.times([ns])[0].replace("us", "µs").replace(" ", NARROW)


def half_width(value: object, low: float | None, high: float | None) -> str:
    """Half of an interval, as a share of the value."""
    known = not any(map(missing, (value, low, high))) and value > 0 and high >= low
    return text.half_widths([(high - low) / 2 / value])[0] if known else ""


def count(value: object) -> str:
    """A whole number with its digits in groups; any other with five digits."""
    if missing(value):
        return NONE
    if isinstance(value, str):
        return value
    if float(value).is_integer():
        return f"{int(value):,}".replace(",", NARROW)
    return f"{value:.5g}" if 1e-4 <= abs(value) < 1e5 else f"{value:.4e}"


def interval(low: float | None, high: float | None, text: Callable[[float], str] = count) -> str:
    """An interval as text; "" where an end is not known."""
    return "" if missing(low) or missing(high) else f"[{text(low)}, {text(high)}]"


def with_ends(value: object, low: float | None, high: float | None, spread: bool) -> str:
    """A number as text, with its interval in brackets, or with what it is from and to."""
    if low == high or missing(low) or missing(high):
        return count(value)
    return count(value) + (
        f", {count(low)} to {count(high)}" if spread else f" {interval(low, high)}"
    )


def percent(share: float | None) -> str:
    """A share as percent with its sign."""
    return NONE if missing(share) else f"{100 * share:+.2f}"


def of_all(part: int, whole: int) -> str:
    """A part of a whole: 3 of 12."""
    return f"{count(part)} of {count(whole)}"


def plural(number: int, one: str, many: str | None = None) -> str:
    """A number and its noun."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"
