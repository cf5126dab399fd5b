# SPDX-License-Identifier: MIT
"""Print one line a run, or the series of cells, and since when levels changed.

PATH is a result, a folder of them, or a store. Below the runs stand the levels that changed: since
which run, on which GPU, in which cell, by how much. The driver, the VBIOS or the code that changed
at the same time is named. A level holds for three runs at least. Series of fewer than ten runs show
their levels alone: so few do not tell a change from chance. Runs that cbank ingest --forget took
out of a store are listed.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable

import numpy as np

from . import files, text
from .dates import write_time
from .errors import Failure, printable
from .fields import (
    NUMBER,
    NUMBER_OR_NULL,
    TEXT,
    Field,
    Written,
    add_schema_option,
    list_of,
    or_null,
    within,
    word_of,
    written,
)
from .self_normalized import VALUES_LEAST
from .series import Change, History, find_changes
from .store import command_line

# ---- Output --------------------------------------------------------------------------------------

# Not empty; null: not known.
NAME = {**or_null(TEXT), "minLength": 1}


def write_times(ms: np.ndarray) -> list[str]:
    """As write_time, of an array."""
    whole = np.datetime_as_string(
        (np.asarray(ms, dtype=np.int64) // 1000).astype("datetime64[s]")
    ).tolist()
    return [
        f"{text_of}.{of % 1000:03}Z" if of % 1000 else text_of + "Z"
        for text_of, of in zip(whole, ms.tolist())
    ]


RUN_COLUMNS = (
    text.Column("started"),
    text.Column("engine", rank=5),
    text.Column("times"),
    text.Column("device", rank=4),
    text.Column("UUID", rank=1),
    text.Column("host", rank=2),
    text.Column("driver"),
)
COLUMNS = {
    False: (*RUN_COLUMNS, text.Column("cells", True), text.Column("change", True)),
    True: (
        *RUN_COLUMNS,
        text.Column("time", True),
        text.Column("95% CI", True, 3),
        text.Column("change", True),
    ),
}
CHANGE_COLUMNS = (
    text.Column("since"),
    text.Column("UUID"),
    text.Column("host"),
    text.Column("change", True),
    text.Column("95% CI", True),
)
FORGOTTEN_COLUMNS = (
    text.Column("started"),
    text.Column("UUID"),
    text.Column("file"),
    text.Column("forgotten"),
    text.Column("hash", rank=1),
)


class View:
    """Rows of a history: the runs, each with the cell that became slower most; or with `series`
    all points, by cell, then by run."""

    def __init__(self, history: History, series: bool):
        self.history, self.series, points = history, series, history.points
        if series:
            self.points = np.lexsort((points["run"], points["cell"]))
            self.runs = points["run"][self.points]
        else:
            self.runs, self.points = np.arange(len(history.runs["started"])), np.full(
                len(history.runs["started"]), -1
            )
            known = np.flatnonzero(~np.isnan(points["change"]))
            # the largest first
            known = known[np.argsort(points["change"][known], kind="stable")][::-1]
            runs, first = np.unique(points["run"][known], return_index=True)
            self.points[runs] = known[first]
        self.started = write_times(history.runs["started"][self.runs])
        self.setups = history.runs["setup"][self.runs].tolist()

    def of_points(self, key: str, otherwise: object = None) -> list:
        """A column of the points, `otherwise` where a row has none or it is not known."""
        values = self.history.points[key]
        found = values[self.points].tolist() if len(values) else [otherwise] * len(self.points)
        return [
            value if point >= 0 and value == value else otherwise
            for value, point in zip(found, self.points.tolist())
        ]

    def of_runs(self, key: str) -> list:
        return self.history.runs[key][self.runs].tolist()

    def cells(self) -> list[str | None]:
        """The cell of each row, or None."""
        return [
            None if cell is None else self.history.names[cell] for cell in self.of_points("cell")
        ]

    def titles(self) -> list[tuple[str | None, int, int]]:
        """(cell, first row, end) of each table: one for each cell, or one of all runs."""
        if not self.series:
            return [(None, 0, len(self.runs))]
        cells = self.history.points["cell"][self.points]
        starts = np.flatnonzero(np.diff(cells, prepend=-1)).tolist()
        return [
            (self.history.names[cells[first]], first, end)
            for first, end in zip(starts, [*starts[1:], len(cells)])
        ]

    def columns(self) -> list[list[str]]:
        """Texts of COLUMNS, for people."""
        heads = list(
            zip(
                *[
                    tuple(
                        printable(value or "-")
                        for value in (
                            of["engine"],
                            "modelled" if of["modelled"] else "measured",
                            of["name"],
                            text.short_uuid(of["uuid"] or ""),
                            of["host"],
                            of["driver"],
                        )
                    )
                    for of in self.history.setups
                ]
            )
        )
        points, change = self.history.points, text.changes(self.of_points("change", np.nan))
        own = (
            [text.times(points["ns"][self.points]), text.half_widths(points["half"][self.points])]
            if self.series
            else [list(map(str, self.of_runs("cells")))]
        )
        return [
            self.started,
            *([head[setup] for setup in self.setups] for head in heads),
            *own,
            change,
        ]

    def notes(self) -> list[list[str]]:
        """Lines below each run: how many cells failed, and which became slower most."""
        return [
            [
                *([f"{failed} failed or invalid"] if failed else []),
                *([f"worst: {cell}{' (unstable)' if doubtful else ''}"] if cell else []),
            ]
            for failed, cell, doubtful in zip(
                self.of_runs("failed"), self.cells(), self.of_points("doubtful", False)
            )
        ]

    def of_setups(self, value: Callable[[dict], object]) -> list:
        """A column of what is said of the setups of runs."""
        values = list(map(value, self.history.setups))
        return [values[setup] for setup in self.setups]

    def json(self) -> list[dict]:
        """Rows as JSON has them: dicts."""
        columns = written(ROW, self)
        return [dict(zip(columns, values)) for values in zip(*columns.values())]


def times_of(setup: dict) -> str:
    return "modelled" if setup["modelled"] else "measured"


# Of a view. A value is a column: one for each row.
ROW = (
    Field("started_utc", TEXT, lambda view: view.started),
    Field(
        "engine",
        word_of(["cuda", "model"]),
        lambda view: view.of_setups(lambda setup: setup["engine"]),
    ),
    Field("times", word_of(["measured", "modelled"]), lambda view: view.of_setups(times_of)),
    Field("device", NAME, lambda view: view.of_setups(lambda setup: setup["name"] or None)),
    Field(
        "gpu",
        NAME,
        lambda view: view.of_setups(lambda setup: text.short_uuid(setup["uuid"] or "") or None),
        "the UUID up to its first group",
    ),
    *(
        Field(key, NAME, lambda view, key=key: view.of_setups(lambda setup: setup[key]))
        for key in ("uuid", "host", "slot", "driver", "vbios")
    ),
    Field(
        "time_ns",
        NUMBER_OR_NULL,
        lambda view: view.of_points("ns") if view.series else None,
        "with --cell; null of a cell without a time",
        optional=True,
    ),
    Field(
        "relative_half_width",
        NUMBER_OR_NULL,
        lambda view: view.of_points("half") if view.series else None,
        "with --cell: of its interval",
        optional=True,
    ),
    Field(
        "cells",
        NUMBER_OR_NULL,
        lambda view: None if view.series else view.of_runs("cells"),
        "of the run; without --cell",
        optional=True,
    ),
    Field(
        "change",
        NUMBER_OR_NULL,
        lambda view: view.of_points("change"),
        "since the latest earlier run of that GPU and engine; without --cell of the cell that"
        " became slower most",
    ),
    Field("cell", NAME, lambda view: view.cells()),
    Field(
        "state",
        or_null(word_of(["unstable"])),
        lambda view: [
            "unstable" if doubtful else None for doubtful in view.of_points("doubtful", False)
        ],
    ),
    Field("failed", NUMBER_OR_NULL, lambda view: view.of_runs("failed"), "cells of the run"),
    Field("file", NAME, lambda view: view.of_runs("file")),
    Field("hash", NAME, lambda view: view.of_runs("hash"), "of a run of a store"),
)


def started(history: History, run: int) -> str:
    return write_time(int(history.runs["started"][run]))


def around(change: Change, sign: int) -> float:
    """The change, or an end of its interval, as a share."""
    return math.expm1(change.step.change + sign * change.step.half)


LEVEL = (
    Field(
        "since_utc",
        TEXT,
        lambda history, change: started(history, change.after),
        "the first run of the new level",
    ),
    Field(
        "until_utc",
        TEXT,
        lambda history, change: started(history, change.before),
        "the last run of the old level",
    ),
    Field("uuid", NAME, lambda history, change: history.setup(change.after)["uuid"]),
    Field("device", NAME, lambda history, change: history.setup(change.after)["name"] or None),
    Field("host", NAME, lambda history, change: history.setup(change.after)["host"]),
    Field("slot", NAME, lambda history, change: history.setup(change.after)["slot"]),
    Field("cell", TEXT, lambda history, change: change.cell),
    Field("change", NUMBER, lambda history, change: math.expm1(change.step.change)),
    Field("runs_before", NUMBER, lambda history, change: change.step.before, "of the old level"),
    Field("runs_after", NUMBER, lambda history, change: change.step.after),
    *(
        Field(
            f"{key}_{side}",
            NAME,
            lambda history, change, key=key, side=side: history.setup(getattr(change, side))[key],
        )
        for key in ("driver", "vbios")
        for side in ("before", "after")
    ),
    Field(
        "with",
        NAME,
        lambda history, change: change.together or None,
        "what changed at the same time: driver, VBIOS, code",
    ),
)

CHANGE = (
    *LEVEL,
    Field(
        "ci_low",
        NUMBER,
        lambda history, change: around(change, -1),
        "of the interval of 95 %, whatever nights correlate up to 0.8",
    ),
    Field("ci_high", NUMBER, lambda history, change: around(change, 1)),
    Field(
        "p",
        within(0, 1),
        lambda history, change: change.step.p,
        "that it is chance, corrected for all series and for all segments of its series",
    ),
)

# What people see of a change.
SHOWN = ("since_utc", "uuid", "host", "cell", "change", "with")
SHOWN_OF_LEVEL = [field for field in LEVEL if field.key in SHOWN]
SHOWN_OF_CHANGE = [field for field in CHANGE if field.key in (*SHOWN, "ci_low", "ci_high")]

# Of a row of the store: started_ms, uuid, file, forgotten_ms, why, hash.
FORGOTTEN = (
    Field("started_utc", TEXT, lambda *row: write_time(row[0])),
    Field("uuid", NAME, lambda *row: row[1]),
    Field("file", TEXT, lambda *row: row[2]),
    Field("forgotten_utc", TEXT, lambda *row: write_time(row[3])),
    Field("why", NAME, lambda *row: row[4]),
    Field("hash", TEXT, lambda *row: row[5]),
)

DOCUMENT = Written(
    "history",
    "1.1",
    "What cbank history --json writes. Keys end in their unit. A reader takes any version 1.x and"
    " ignores keys that it does not know. A value that is not known or does not exist is null."
    " Changes are relative: 0.01 is 1 % slower.",
    (
        Field(
            "rows",
            list_of(ROW),
            lambda history, view, changes: view.json(),
            "runs by start; with --cell the cells of that name, by cell, each with its runs by"
            " start",
        ),
        Field(
            "changes",
            list_of(CHANGE),
            lambda history, view, changes: [
                written(CHANGE, history, change) for change in changes if change.tested()
            ],
            "levels that changed, the latest first",
        ),
        Field(
            "levels",
            list_of(LEVEL),
            lambda history, view, changes: [
                written(LEVEL, history, change) for change in changes if not change.tested()
            ],
            "levels of series that have too few runs to tell a change from chance, the latest"
            " first",
        ),
        Field(
            "forgotten",
            list_of(FORGOTTEN),
            lambda history, view, changes: [written(FORGOTTEN, *row) for row in history.forgotten],
            "runs that cbank ingest --forget took out of a store",
        ),
    ),
)


def steps_table(
    title: str, history: History, changes: list[Change], fields: list[Field]
) -> list[str]:
    """Lines of a table of levels, for people; none where there are none."""
    if not changes:
        return []
    rows = [written(fields, history, change) for change in changes]
    cells = [
        [row["since_utc"] for row in rows],
        [text.short_uuid(row["uuid"] or "") or "-" for row in rows],
        [printable(row["host"] or "-") for row in rows],
        text.changes([row["change"] for row in rows]),
    ]
    if "ci_low" in rows[0]:
        ends = (text.changes([row[key] for row in rows]) for key in ("ci_low", "ci_high"))
        cells.append(list(map("{} to {}".format, *ends)))
    notes = [
        [f"cell: {row['cell']}", *([f"with it: {row['with']}"] if row["with"] else [])]
        for row in rows
    ]
    return ["", title, *text.table(CHANGE_COLUMNS[: len(cells)], cells, notes)]


def below(history: History, changes: list[Change]) -> list[str]:
    """Lines below the rows, for people."""
    tested = [change for change in changes if change.tested()]
    rest = [change for change in changes if not change.tested()]
    few = f"Levels of series with fewer than {VALUES_LEAST} runs, which may be chance:"
    out = steps_table("Levels that changed:", history, tested, SHOWN_OF_CHANGE)
    out += steps_table(few, history, rest, SHOWN_OF_LEVEL)
    if history.forgotten:
        rows = [written(FORGOTTEN, *row) for row in history.forgotten]
        cells = [
            [printable(row[key] or "-") for row in rows]
            for key in ("started_utc", "uuid", "file", "forgotten_utc", "hash")
        ]
        notes = [[f"why: {printable(row['why'])}"] if row["why"] else [] for row in rows]
        out += [
            "",
            "Runs that cbank ingest --forget took out:",
            *text.table(FORGOTTEN_COLUMNS, cells, notes),
        ]
    return out


def show(history: History, view: View, changes: list[Change]) -> list[str]:
    """Lines for people: a table for each cell, or one of all runs."""
    columns, notes, out = view.columns(), None if view.series else view.notes(), []
    for cell, first, end in view.titles():
        out += (
            [""] * bool(out)
            + [cell] * bool(cell)
            + text.table(COLUMNS[view.series], [of[first:end] for of in columns], notes)
        )
    return out + below(history, changes)


def parse(words: list[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = command_line("history", __doc__)
    view = parser.topic("View")
    verdict = parser.topic("Verdict")
    output = parser.topic("Output")
    parser.reads(
        "paths", metavar="PATH", nargs="+", help="a result, a folder of results or a store"
    )
    view.add_argument(
        "--cell",
        metavar="CELL",
        help=(
            "the series of this cell, by its identity WORKLOAD/PATH/PATTERN/..., or of those that a"
            " glob names"
        ),
    )
    verdict.add_argument(
        "--threshold",
        metavar="PERCENT",
        type=text.in_limits(0, 1000, "percent"),
        default=0.5,
        help="change of a level that is listed (default 0.5%%)",
    )
    output.add_argument("--json", action="store_true", help="print JSON")
    add_schema_option(parser, DOCUMENT)
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """Runs the command line `words`, without the name of the command; returns the exit code."""
    options = parse(words)
    history = History(options.paths, options.cell)
    if options.cell and not len(history.points["run"]):
        raise Failure(
            f"no cell is named '{options.cell}'; a name is an identity, as cbank show --csv has"
            " them, or a glob: '*/constant/*'"
        )
    view = View(history, bool(options.cell))
    changes = find_changes(history, options.threshold / 100)
    if options.json:
        head, *parts = DOCUMENT.content(history, view, changes).items()
        encode = json.JSONEncoder(allow_nan=False).encode
        arrays = (f'"{key}": [' + ",\n".join(map(encode, part)) + "]" for key, part in parts)
        files.write(
            "-",
            f'{{"schema": {encode(head[1])},\n' + ",\n".join(arrays) + "}\n",
        )
    else:
        files.write("-", "\n".join(show(history, view, changes)) + "\n")
    return int(history.ends_badly())
