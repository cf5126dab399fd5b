# SPDX-License-Identifier: MIT
"""Tables, numbers and files of the commands that print: as text, Markdown or CSV."""

import argparse
import csv
import io
import math
import os
import shutil
import sys
import tempfile
import textwrap
from collections import namedtuple

from .errors import Failure, printable

TEXT_WIDTH = 80

# heading; right: numbers; rank: the column with the highest one goes first where the table is too wide, 0 never goes.
Column = namedtuple("Column", "heading right rank", defaults=(False, 0))

# ---- Numbers ---------------------------------------------------------------------------------------------------------


def known(value):
    return value is not None and math.isfinite(value)


def digits(value, limits, unit=""):
    """A number with three digits or so: `limits` are those from where it has one decimal less, from two or three on."""
    places = len(limits)
    for limit in limits:
        places -= abs(value) >= limit
    return f"{value:.{places}f}{unit}"


def change(value):
    """A relative change: +1.50%."""
    if not known(value):
        return "-"
    percent = 100 * value
    if abs(percent) >= 999.5:
        return f"{percent:+.3g}%"
    return ("-" if math.copysign(1, percent) < 0 else "+") + digits(abs(percent), (9.995, 99.95), "%")


def half_width(value):
    return "±" + digits(100 * value, (9.995, 99.95), "%") if known(value) else "±?"


def nanoseconds(value):
    """A time in ns, us, ms or s."""
    if not known(value):
        return "-"
    for unit in ("ns", "us", "ms", "s"):
        if abs(value) < 999.95 or unit == "s":
            return digits(value, (9.9995, 99.995, math.inf), f" {unit}")
        value /= 1000
    return None


def tenths(value):
    return f"{value:.1f}" if known(value) else "-"


def short_uuid(uuid):
    """A UUID up to its first group."""
    return uuid[:uuid.find("-") + 9]


# ---- Tables ----------------------------------------------------------------------------------------------------------


def width():
    return int(os.environ["COLUMNS"]) if os.environ.get("COLUMNS", "").isdigit() else shutil.get_terminal_size((TEXT_WIDTH, 24)).columns


def use_color(when):
    """Whether standard output gets colors. when: auto, always or never."""
    if when != "auto":
        return when == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def fit(columns, rows, room):
    """(index, width) of the columns that fit into the room."""
    widths = [max([len(column.heading), *map(len, cells)]) for column, cells in zip(columns, zip(*rows) if rows else [()] * len(columns))]
    shown = list(range(len(columns)))
    while sum(widths[i] + 2 for i in shown) - 2 > room and any(columns[i].rank for i in shown):
        shown.remove(max(shown, key=lambda i: columns[i].rank))
    return [(i, widths[i]) for i in shown]


def table(columns, rows, notes=None, bad=None, color=False):
    """Lines of a table. notes: lines below each row; bad: whether the first cell of a row is bad, and then red."""
    shown = fit(columns, rows, width())
    line = "  ".join(f"%{'' if columns[i].right else '-'}{of}s" for i, of in shown)
    index = [i for i, _ in shown]
    lines = [(line % tuple(columns[i].heading for i in index)).rstrip()]
    for number, row in enumerate(rows):
        text = (line % tuple([row[i] for i in index])).rstrip()
        if color and bad and bad[number]:
            text = f"\033[1;31m{row[0]}\033[0m{text[len(row[0]):]}"
        lines.append(text)
        if notes:
            lines += ["    " + note for note in notes[number]]
    return lines


def paragraph(words):
    """Text as lines of the terminal's width."""
    return textwrap.wrap(words, width(), subsequent_indent="  ", break_on_hyphens=False)


def markdown_text(text):
    """Text that Markdown shows as it is."""
    for plain, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|"), ("*", "\\*"), ("`", "\\`"), ("_", "\\_")):
        text = text.replace(plain, written)
    return text


def markdown(columns, rows, bad=None):
    lines = ["| " + " | ".join(column.heading for column in columns) + " |",
             "|" + "|".join("--:" if column.right else "---" for column in columns) + "|"]
    for number, row in enumerate(rows):
        cells = [markdown_text(cell) for cell in row]
        if bad and bad[number]:
            cells[0] = f"**{cells[0]}**"
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def csv_text(keys, rows, raw):
    """CSV of rows that are dicts. Text that a spreadsheet would take for a formula gets a ' before it, but for raw."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(keys)
    for row in rows:
        writer.writerow(["'" + value if not raw and isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value
                         for value in (row[key] for key in keys)])
    return out.getvalue()


# ---- Options and files -----------------------------------------------------------------------------------------------


def in_limits(low, high, unit, kind=float):
    """A type of argparse: a number from low to high; of percent, a % may follow."""
    def read(text):
        try:
            value = kind(text.removesuffix("%") if unit == "percent" else text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{printable(text)} is out of limits; {low:g} to {high:g} {unit}")
        return value
    return read


def check_outputs(options, names, *others):
    """Raises Failure where a file is written twice, or is read too."""
    taken = {os.path.realpath(path) for path in others}
    for name in names:
        path = getattr(options, name)
        if path is not None and path != "-":
            if os.path.realpath(path) in taken:
                raise Failure(f"--{name}: {path} is named for something else, too")
            taken.add(os.path.realpath(path))


def write(path, text):
    """Writes a file whole or not at all; - is standard output."""
    if path == "-":
        sys.stdout.write(text)
        return
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe or a device
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return
    try:
        handle, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=os.path.dirname(path) or ".")
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}") from error
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except OSError as error:
        os.unlink(temporary)
        raise Failure(f"cannot write {path}: {error.strerror}") from error
