# SPDX-License-Identifier: MIT
"""Tables, numbers and options of the commands that print: as text, Markdown or CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterable
import argparse
import math
import os
import re
import shutil
import textwrap
from collections import Counter, namedtuple
from typing import TYPE_CHECKING

import numpy as np

from .errors import printable

if TYPE_CHECKING:
    import pandas

TEXT_WIDTH = 80
NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?(e[-+]?[0-9]+)?", re.ASCII)
# A text that begins so is a formula of a spreadsheet: the wide forms where people write Chinese or
# Japanese.
FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")

# heading; right: numbers; rank: the column with the highest one goes first where the table is too
# wide, 0 never goes.
Column = namedtuple("Column", "heading right rank", defaults=(False, 0))

# ---- Numbers: texts of arrays, a dash for what is not known --------------------------------------


def formatted(
    values: list[float] | np.ndarray, *classes: tuple[float, str, float], unknown: str = "-"
) -> list[str]:
    """Texts of numbers, a list. A class is (limit, template, divisor): the first whose limit is
    above the number is taken, by size."""
    limits, templates, divisors = zip(*classes)
    values = np.asarray(values, dtype=float)
    of = np.searchsorted(limits, np.where(np.isfinite(values), np.abs(values), 0), side="right")
    return [
        templates[index] % value if value - value == 0 else unknown
        for index, value in zip(of.tolist(), (values / np.take(divisors, of)).tolist())
    ]


def by_digits(
    template: str, divisor: float = 1.0, most: float = math.inf
) -> list[tuple[float, str, float]]:
    """Classes of a template with as many digits behind the point as make three or four in all,
    up to the limit `most`."""
    return [
        (limit, template % digits, divisor) for limit, digits in ((9.995, 2), (99.95, 1), (most, 0))
    ]


TIMES = [
    (limit * 1000.0**power, f"%.{digits}f {unit}", 1000.0**power)
    for power, unit in enumerate(("ns", "us", "ms", "s"))
    for limit, digits in ((9.9995, 3), (99.995, 2), (math.inf if unit == "s" else 999.95, 1))
]


def changes(values: list[float] | np.ndarray) -> list[str]:
    """Relative changes, as shares: +1.50%."""
    return formatted(
        100 * np.asarray(values, dtype=float),
        *by_digits("%%+.%df%%%%", most=999.5),
        (math.inf, "%+.3g%%", 1.0),
    )


def half_widths(values: list[float] | np.ndarray) -> list[str]:
    """Halves of intervals, as shares: ±0.12%."""
    return formatted(100 * np.asarray(values, dtype=float), *by_digits("±%%.%df%%%%"), unknown="±?")


def times(ns: list[float] | np.ndarray) -> list[str]:
    """Times in ns, us, ms or s, of ns."""
    return formatted(ns, *TIMES)


def tenths(values: list[float] | np.ndarray) -> list[str]:
    """Numbers with one digit behind the point."""
    return formatted(values, (math.inf, "%.1f", 1.0))


def short_uuid(uuid: str) -> str:
    """A UUID up to its first group."""
    return uuid[: uuid.find("-") + 9]


def sizes(counts: Iterable[int]) -> str:
    """Sizes of groups as the program says them: "2 x 18 + 6 x 16", the largest first."""
    found = Counter(counts)
    return " + ".join(f"{found[size]} x {size}" for size in sorted(found, reverse=True))


def gpu(device: dict) -> str:
    """A device and the kind of its board, as far as they are recorded: "NVIDIA H200, part number
    692-2G520-0282-001, groups of 2 x 18 + 6 x 16 SMs"."""
    board = device.get("board") or {}
    part, groups = board.get("part_number"), board.get("constant_cache_groups")
    said = [device["name"], part and f"part number {part}"]
    return ", ".join(filter(None, [*said, groups and f"groups of {sizes(groups)} SMs"]))


# ---- Tables --------------------------------------------------------------------------------------


def width() -> int:
    """Columns of the terminal; those of the environment go first."""
    return (
        int(os.environ["COLUMNS"])
        if os.environ.get("COLUMNS", "").isdigit()
        else shutil.get_terminal_size((TEXT_WIDTH, 24)).columns
    )


def fit(columns: tuple[Column, ...], cells: list[list[str]], room: int) -> list[tuple[int, int]]:
    """(index, width) of the columns that fit into the room. cells: the texts of each column."""
    widths = [
        max(len(column.heading), max(map(len, of), default=0)) for column, of in zip(columns, cells)
    ]
    shown = list(range(len(columns)))
    while sum(widths[i] + 2 for i in shown) - 2 > room and any(columns[i].rank for i in shown):
        shown.remove(max(shown, key=lambda i: columns[i].rank))
    return [(i, widths[i]) for i in shown]


def table(
    columns: tuple[Column, ...], cells: list[list[str]], notes: list[list[str]] | None = None
) -> list[str]:
    """Lines of a table. cells: the texts of each column; notes: lines below each row."""
    cells = cells if any(cells) else [[] for _ in columns]
    shown = fit(columns, cells, width())
    template = "  ".join(f"%{'' if columns[i].right else '-'}{of}s" for i, of in shown)
    rows = zip(*(cells[i] for i, _ in shown))
    lines = [
        (template % row).rstrip() for row in (tuple(columns[i].heading for i, _ in shown), *rows)
    ]
    if notes:
        lines[1:] = [
            line
            for row, below in zip(lines[1:], notes)
            for line in (row, *("    " + note for note in below))
        ]
    return lines


def paragraph(words: str) -> list[str]:
    """Text as lines of the terminal's width."""
    return textwrap.wrap(words, width(), subsequent_indent="  ", break_on_hyphens=False)


def csv_text(rows: pandas.DataFrame) -> str:
    """Rows as CSV. Texts are one line each; a ' stands before those that a spreadsheet would
    take for a formula, as the instrument does."""

    def one(value: object) -> object:
        if not isinstance(value, str):
            return value
        value = printable(value)
        return f"'{value}" if value[:1] in FORMULA and not NUMBER.fullmatch(value) else value

    texts = {
        column: rows[column].map(one) for column in rows if rows[column].dtype in (object, "string")
    }
    return rows.assign(**texts).rename(columns=one).to_csv(index=False, lineterminator="\n")


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is."""
    text = printable(text)
    for plain, written in (
        ("\\", "\\\\"),
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        *((sign, f"\\{sign}") for sign in "|*`_~$["),
    ):
        text = text.replace(plain, written)
    return text


def markdown(
    columns: tuple[Column, ...], cells: list[list[str]], bad: list[bool] | None = None
) -> list[str]:
    """Lines of the same table in Markdown."""
    cells = [list(map(markdown_text, of)) for of in cells]
    if bad:
        cells[0] = [f"**{text}**" if is_bad else text for text, is_bad in zip(cells[0], bad)]
    rows = [
        "| " + " | ".join(row) + " |"
        for row in ([column.heading for column in columns], *zip(*cells))
    ]
    rows.insert(1, "|" + "|".join("--:" if column.right else "---" for column in columns) + "|")
    return rows


# ---- Options -------------------------------------------------------------------------------------


def in_limits(low: float, high: float, unit: str, kind: type = float) -> Callable[[str], float]:
    """A type of argparse: a number from low to high; of percent, a % may follow."""

    def read(text: str) -> float:
        try:
            value = kind(text.removesuffix("%") if unit == "percent" else text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(
                f"{printable(text)} is out of limits; {low:g} to {high:g} {unit}"
            )
        return value

    return read
