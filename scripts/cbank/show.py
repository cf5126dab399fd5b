# SPDX-License-Identifier: MIT
"""Documents as a screen of text each: what it is of, then its rows.

The instrument starts this for documents that it does not print itself, and is asked for results and
characterizations.
"""

from __future__ import annotations

import argparse
import os
from collections import namedtuple
from collections.abc import Iterator

from . import documents, instrument, text
from .documents import number
from .errors import Parser, printable
from .text import Column

ROWS_MAX = 30  # of a screen: the numbers of a card, the cells of the default plan

KINDS = {
    **documents.KINDS,
    **documents.MANIFEST_KINDS,
    **{f"cbank-{kind}": kind for kind in ("advice", "explanation")},
}

CELL = Column("cell")


def counted(value: object) -> str:
    """A number with five digits, an integer with all of them; a text as it is; nothing as a
    dash."""
    value = number(value) if isinstance(value, (int, float)) else value
    return (
        "-"
        if value in (None, "")
        else (
            f"{value:.5g}"
            if isinstance(value, float) and not value.is_integer()
            else printable(value)
        )
    )


def range_of(low: object, high: object) -> str:
    return (
        "-" if low is None or high is None or low == high else f"[{counted(low)}, {counted(high)}]"
    )


def gpu(content: dict) -> str:
    device = content["device"]
    return f"{device['name']}, driver {device['driver'] or 'unknown'}"


# A kind as it is shown: a line of the whole, columns, the rows as lists of texts, the most
# important first, and lines below.
Shown = namedtuple("Shown", "head columns rows notes", defaults=((),))


def card(content: dict) -> Shown:
    rows = [
        (
            [
                name,
                counted(its["value"]),
                range_of(its["low"], its["high"]),
                its["from"],
                its["method"],
            ]
            if its
            else [name, "-", "-", "not known", ""]
        )
        for name, its in content["model"].items()
    ]
    return Shown(
        (
            f"{content['name']}, chip {content['chip']}, compute capability"
            f" {content['cc_major']}.{content['cc_minor']}"
        ),
        [
            Column("number"),
            Column("value", True),
            Column("interval", True, 1),
            Column("from"),
            Column("method", False, 2),
        ],
        rows,
    )


def calibration(content: dict) -> Shown:
    cells = sorted(content["cells"], key=lambda cell: -cell["process_deviation"]["value"])
    rows = [
        [
            cell["identity"],
            f"{100 * cell['process_deviation']['value']:.3f}%",
            text.tenths([cell["process_deviation"]["degrees_of_freedom"]])[0],
            cell["process_deviation"]["origin"],
            text.times([number(cell["median_ns"])])[0],
        ]
        for cell in cells
    ]
    return Shown(
        (
            f"{gpu(content)}: {content['processes']} processes, the deviation between them by cell,"
            " the largest first"
        ),
        [
            CELL,
            Column("deviation", True),
            Column("degrees", True, 1),
            Column("origin", False, 2),
            Column("time", True, 3),
        ],
        rows,
    )


def comparison(content: dict) -> Shown:
    rows = []
    for cell in content["cells"]:
        ratio = cell["ratio"] or {}
        interval = [
            value - 1 for key in ("ci_low", "ci_high") if (value := ratio.get(key)) is not None
        ]
        rows.append(
            [
                cell["identity"],
                *text.times(
                    [
                        number(cell[key]) if cell[key] is not None else float("nan")
                        for key in ("base_ns", "new_ns")
                    ]
                ),
                text.changes([ratio["value"] - 1])[0] if ratio else "-",
                " to ".join(text.changes(interval)) or "-",
                cell["verdict"],
            ]
        )
    sides = "; ".join(
        f"{side.upper()} {content[side]['label']} of {gpu(content[side])}"
        for side in ("base", "new")
    )
    return Shown(
        f"{content['summary']}; {sides}",
        [
            CELL,
            Column("base", True, 2),
            Column("new", True, 2),
            Column("change", True),
            Column("interval", True, 1),
            Column("verdict"),
        ],
        rows,
    )


def advice(content: dict) -> Shown:
    asked = content["configuration"]
    rows = [
        [
            its["path"],
            counted(round(its["requests_per_load"], 1)),
            *text.times([number(its["time_ns"])]),
            its["interval"] or "-",
            f"{number(its['relative']):.2f}x",
            its["standing"],
        ]
        for its in content["ranking"]
    ]
    said = (
        f"modelled by card {content['card']}: {asked['workload']}, {asked['pattern']}, a table of"
        f" {asked['table_bytes'] or 'the most'} bytes; choose {content['choice']}; measure:"
        f" {content['measure']}"
        if asked
        else "advice about code alone: cbank advise --kernel prints it"
    )
    return Shown(
        said,
        [
            Column("path"),
            Column("req", True, 2),
            Column("time", True),
            Column("interval", True, 1),
            Column("ratio", True),
            Column("standing"),
        ],
        rows,
        [f"not {its['path']}: {its['reason']}" for its in content["excluded"]],
    )


def explanation(content: dict) -> Shown:
    rows = [
        [
            cell["identity"],
            *text.times([number(cell["time_ns"])]),
            counted(cell["bound"]),
            ", ".join(
                f"{unit} {100 * share:.0f}%"
                for unit, share in sorted(cell["shares"].items(), key=lambda its: -(its[1] or 0))[
                    :1
                ]
            ),
        ]
        for result in content["results"]
        for cell in result["cells"]
    ]
    return Shown(
        "; ".join(
            f"{result['file']}: {gpu(result)}, by the card of {result['card']}"
            for result in content["results"]
        ),
        [CELL, Column("time", True), Column("bound by"), Column("busiest unit", False, 1)],
        rows,
    )


def fleet(content: dict) -> Shown:
    rows = [
        [
            its["kind"],
            its["who"],
            text.changes([its["change"]])[0] if its["change"] is not None else "-",
            counted(its["since_utc"]),
            counted(its["what"]),
        ]
        for its in content["findings"]
    ]
    rows += [
        [
            its["verdict"],
            text.short_uuid(its["uuid"] or its["name"]),
            "-",
            "-",
            f"{its['name']}, driver {counted(its['driver'])}",
        ]
        for its in content["gpus"]
    ]
    return Shown(
        (
            f"{content['store']}: {content['verdict']}; {content['answered']} of"
            f" {content['expected'] or content['answered']} GPUs answered in the night from"
            f" {content['night']['first_utc']}, night {content['nights']}"
        ),
        [
            Column("verdict"),
            Column("GPUs"),
            Column("change", True),
            Column("since", False, 2),
            Column("what", False, 1),
        ],
        rows,
    )


def history(content: dict) -> Shown:
    rows = [
        [
            its["since_utc"],
            counted(its["uuid"] and text.short_uuid(its["uuid"])),
            text.changes([its["change"]])[0],
            its["cell"],
            counted(its["with"]),
        ]
        for its in content["changes"]
    ]
    rows += [
        [
            its["started_utc"],
            counted(its["gpu"]),
            "-",
            f"{its['cells']} cells, {its['failed']} failed",
            f"driver {counted(its['driver'])}",
        ]
        for its in content["rows"]
    ]
    return Shown(
        (
            f"{len(content['rows'])} runs, {len(content['changes'])} changes of a level,"
            f" {len(content['forgotten'])} forgotten"
        ),
        [
            Column("UTC"),
            Column("GPU"),
            Column("change", True),
            Column("of"),
            Column("with", False, 1),
        ],
        rows,
    )


def manifest(content: dict) -> Shown:
    rows = [[its["name"], counted(its["bytes"]), its["sha256"][:16]] for its in content["files"]]
    return Shown(
        (
            f"{gpu(content)}, measured {content['measured_utc']} by {content['credit']}, cbank"
            f" {content['tool']['version']}"
        ),
        [Column("file"), Column("bytes", True), Column("SHA-256", False, 1)],
        rows,
    )


SHOWN = {
    show.__name__: show
    for show in (card, calibration, comparison, advice, explanation, fleet, history, manifest)
}


def lines_of(document: documents.Document, everything: bool) -> Iterator[str]:
    shown = SHOWN[document.kind](document.content)
    rows = shown.rows if everything else shown.rows[:ROWS_MAX]
    yield from text.paragraph(printable(f"{document.path}: {document.kind}: {shown.head}"))
    yield from (
        text.table(shown.columns, [[printable(cell) for cell in column] for column in zip(*rows)])
        if rows
        else ()
    )
    if len(shown.rows) > len(rows):
        yield f"and {len(shown.rows) - len(rows)} more; --all prints them"
    for note in shown.notes:
        yield from text.paragraph(printable(note))


def main(words: list[str]) -> int:
    """Runs the command line `words`, without the name of the command; returns the exit code."""
    parser = Parser(
        prog="cbank show", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--all", action="store_true", help="print all rows, not a screen of them")
    parser.add_argument("files", metavar="FILE", nargs="+", help="documents")
    asked = parser.parse_args(words)
    os.environ["COLUMNS"] = str(text.width())  # the instrument is asked through a pipe
    for index, path in enumerate(asked.files):
        document = documents.load(path, KINDS)
        print("\n" * bool(index), end="", flush=True)
        if document.kind in SHOWN:
            with documents.blamed([document]):
                print("\n".join(lines_of(document, asked.all)))
        else:
            print(instrument.call(["show", *["--all"] * asked.all, path]), end="")
    return 0
