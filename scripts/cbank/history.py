# SPDX-License-Identifier: MIT
"""Print one line a run, or the series of cells, and since when levels changed.

PATH is a result, a folder of them, or a store. Below the runs stand the levels that changed: since
which run, on which GPU, in which cell, by how much. The driver, the VBIOS or the code that changed
at the same time is named. A level holds for two runs at least. Runs that cbank ingest --forget took
out of a store are listed.
"""

from __future__ import annotations

import argparse
import json

import numpy as np

from . import text
from .errors import Failure, printable
from .series import Change, History, find_changes
from .store import command_line, write_time

# ---- Output --------------------------------------------------------------------------------------


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

    def json(self) -> list[dict]:
        """Rows as JSON has them: dicts."""
        heads = [
            {
                "engine": of["engine"],
                "times": "modelled" if of["modelled"] else "measured",
                "device": of["name"] or None,
                "gpu": text.short_uuid(of["uuid"] or "") or None,
                **{key: of[key] for key in ("uuid", "host", "slot", "driver", "vbios")},
            }
            for of in self.history.setups
        ]
        own = (
            {"time_ns": self.of_points("ns"), "relative_half_width": self.of_points("half")}
            if self.series
            else {"cells": self.of_runs("cells")}
        )
        columns = {
            **own,
            "change": self.of_points("change"),
            "cell": self.cells(),
            "state": [
                "unstable" if doubtful else None for doubtful in self.of_points("doubtful", False)
            ],
            **{key: self.of_runs(key) for key in ("failed", "file", "hash")},
        }
        return [
            {"started_utc": started, **heads[setup], **dict(zip(columns, values))}
            for started, setup, *values in zip(self.started, self.setups, *columns.values())
        ]


def change_json(history: History, change: Change) -> dict:
    """A change as JSON has it; changes are relative."""
    before, after = history.setup(change.before), history.setup(change.after)
    step, noise = change.step, change.step.noise
    since, until = (
        write_time(int(history.runs["started"][run])) for run in (change.after, change.before)
    )
    return {
        "since_utc": since,
        "until_utc": until,
        "uuid": after["uuid"],
        "device": after["name"] or None,
        "host": after["host"],
        "slot": after["slot"],
        "cell": change.cell,
        "change": step.ratio["value"] - 1,
        "ci_low": step.ratio["ci_low"] - 1,
        "ci_high": step.ratio["ci_high"] - 1,
        "p": step.p,
        "runs_before": step.before,
        "runs_after": step.after,
        "driver_before": before["driver"],
        "driver_after": after["driver"],
        "vbios_before": before["vbios"],
        "vbios_after": after["vbios"],
        "with": change.together or None,
        "noise": noise["value"] if noise else 0.0,
        "noise_degrees_of_freedom": noise["degrees_of_freedom"] if noise else 0.0,
        "noise_origin": noise["origin"] if noise else None,
    }


def forgotten_json(row: tuple) -> dict:
    """A forgotten run as JSON has it."""
    started, uuid, file, forgotten, why, key = row
    return {
        "started_utc": write_time(started),
        "uuid": uuid,
        "file": file,
        "forgotten_utc": write_time(forgotten),
        "why": why,
        "hash": key,
    }


def below(history: History, changes: list[Change]) -> list[str]:
    """Lines below the rows, for people."""
    out = []
    if changes:
        rows = [change_json(history, change) for change in changes]
        low, high = (text.changes([row[key] for row in rows]) for key in ("ci_low", "ci_high"))
        cells = [
            [row["since_utc"] for row in rows],
            [text.short_uuid(row["uuid"] or "") or "-" for row in rows],
            [printable(row["host"] or "-") for row in rows],
            text.changes([row["change"] for row in rows]),
            list(map("{} to {}".format, low, high)),
        ]
        notes = [
            [f"cell: {row['cell']}", *([f"with it: {row['with']}"] if row["with"] else [])]
            for row in rows
        ]
        out += ["", "Levels that changed:", *text.table(CHANGE_COLUMNS, cells, notes)]
    if history.forgotten:
        rows = list(map(forgotten_json, history.forgotten))
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
    parser.add_argument(
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
        parts = {
            "rows": view.json(),
            "changes": [change_json(history, change) for change in changes],
            "forgotten": list(map(forgotten_json, history.forgotten)),
        }
        encode = json.JSONEncoder(allow_nan=False).encode
        arrays = (f'"{key}": [' + ",\n".join(map(encode, of)) + "]" for key, of in parts.items())
        text.write(
            "-",
            '{"schema": {"name": "cbank-history", "version": "1.1"},\n'
            + ",\n".join(arrays)
            + "}\n",
        )
    else:
        text.write("-", "\n".join(show(history, view, changes)) + "\n")
    return int(history.ends_badly())
