# SPDX-License-Identifier: MIT
"""What a table of the page is made of, and numbers as text."""

import math
from collections import namedtuple

NONE = "–"

# href: where a click leads, from the folder of the report. kind: "number", "text" or "head", that of a row.
Value = namedtuple("Value", "text href kind strong", defaults=(None, "number", False))
# Of a column, of several (span), over several rows of heads; kind: of the values below, "" for numbers.
Head = namedtuple("Head", "text span rows kind", defaults=(1, 1, ""))

SHORT = 40  # letters: texts of columns that have none longer are not broken


class Table:
    """heads: names of columns, or rows of Head; rows: lists of Value. notes stand below."""

    def __init__(self, caption, heads, rows, notes=()):
        rows = [row for row in rows if len(row) == 1 or any(value.text != NONE for value in row[1:])]  # that say anything
        self.caption, self.rows, self.notes = caption, rows, list(notes)
        self.kinds = [kind_of(column) for column in zip(*rows)]
        if heads and isinstance(heads[0], str):
            kinds = self.kinds or ["text"] * len(heads)
            heads = [[Head(text, kind=kind) for text, kind in zip(heads, kinds)]]
        self.heads = heads


def kind_of(column):
    """Of the values of a column: "head", "text", "long" (text that is broken) or "" (numbers)."""
    kinds = {value.kind for value in column if value.text != NONE} or {value.kind for value in column}
    if kinds == {"number"}:
        return ""
    return "head" if kinds == {"head"} else "text" if max(len(value.text) for value in column) <= SHORT else "long"


def words(text, href=None):
    return Value(NONE if text in (None, "") else str(text), href, "text")


def head(text, href=None):
    return Value(str(text), href, "head")


def facts(caption, pairs):
    """A table of names and what they are; None is left out."""
    return Table(caption, ["what", "value"], [[head(name), words(value)] for name, value in pairs if value is not None])


# -- numbers ------------------------------------------------------------------------------------------------------

TIME_UNITS = ("ns", "µs", "ms", "s")
NARROW = "\N{NARROW NO-BREAK SPACE}"


def time(ns):
    """As cbank show prints it: four digits."""
    if ns is None:
        return NONE
    unit = 0
    while unit + 1 < len(TIME_UNITS) and abs(ns) >= 999.95:
        ns, unit = ns / 1000, unit + 1
    digits = 3 if abs(ns) < 9.9995 else 2 if abs(ns) < 99.995 else 1
    return f"{ns:.{digits}f}{NARROW}{TIME_UNITS[unit]}"


def half_width(value, low, high):
    """Of an interval, as a share of the value, as cbank show prints it."""
    if None in (value, low, high) or not value > 0 or high < low:
        return "±?"
    percent = 100 * (high - low) / 2 / value
    return f"±{percent:.{2 if percent < 9.995 else 1 if percent < 99.95 else 0}f}%"


def times(ratio):
    """1.02×"""
    return f"{ratio:.{2 if ratio < 99.995 else 0}f}×"


def signed_percent(share):
    return NONE if share is None else f"{100 * share:+.2f}%"


def count(value):
    """A whole number with its digits in groups; what is none with four digits."""
    if value is None:
        return NONE
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    return f"{int(value):,}".replace(",", NARROW)


def quantity(value):
    """A measured number: five digits, and no more zeros than those."""
    if value is None:
        return NONE
    if value == 0 or not math.isfinite(value):
        return str(value)
    if float(value).is_integer():
        return count(value)
    return f"{value:.5g}" if 1e-4 <= abs(value) < 1e5 else f"{value:.4e}"


def interval(low, high, text=quantity):
    if low is None or high is None:
        return ""
    return f"[{text(low)}, {text(high)}]"


def of_all(part, whole):
    return f"{count(part)} of {count(whole)}"


def plural(number, one, many=None):
    return f"{count(number)} {one if number == 1 else many or one + 's'}"
