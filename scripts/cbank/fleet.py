# SPDX-License-Identifier: MIT
"""Say of a store which GPUs became slower, since when, and which did not answer.

STORE is a file that cbank ingest made; it is not changed. The last night is judged: who answered,
what is not as on the other GPUs of a model, and which times changed against the past of the GPU. A
change is told of the coarsest group that changed alike: all GPUs of a model, of a driver, of a
VBIOS, of a node, or one. The exit code is 1 when a GPU is missing, replaced, slower, or differs. In
place of any file that is written, - is standard output, and the table stays away.
"""

from __future__ import annotations

import argparse
import json
import math
import sqlite3
import time

import numpy as np

from . import files, text
from .dates import latest_ms, write_time
from .errors import FINDING as WORSE, Failure, printable, say
from .fields import (
    BOOL,
    NUMBER,
    NUMBER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    TIME,
    Field,
    Written,
    add_schema_option,
    list_of,
    object_of,
    or_null,
    whole,
    within,
    word_of,
    written,
)
from .fleet_groups import AGAINST, LEVELS, NO_KIND, PAST, Change, Limits
from .fleet_verdict import CLOCK_SLACK_MS, KINDS, LAST_VALUES, Row, Verdict
from .nights import Fleet, Gpu, Model
from .robust import medians
from .store import command_line, reading

# ---- Output --------------------------------------------------------------------------------------


def summary(verdict: Verdict) -> str:
    """One line: who answered, and how many findings there are."""
    failing, others = len(verdict.failing()), len(verdict.rows) - len(verdict.failing())
    told = f"{failing} finding{'s' if failing > 1 else ''}" if failing else "nothing is worse"
    if others:
        told += f", {others} that need{'' if others > 1 else 's'} nothing"
    expected = verdict.expected or verdict.answered
    who = (
        f"{verdict.answered} of {expected} GPUs answered"
        if verdict.answered <= expected
        else (f"{verdict.answered} GPUs answered, {expected} expected")
    )
    return f"{who}, {told}"


def context(verdict: Verdict) -> str:
    """One line: the night and what it is held against."""
    fleet = verdict.fleet
    first, last = fleet.last_night_ms()
    return (
        f"night from {write_time(first)} to {write_time(last)},"
        f" {fleet.nights} night{'s' if fleet.nights > 1 else ''} in all"
        + (f", baseline {printable(fleet.baseline)}" if fleet.baseline else "")
        + ("; no past to hold it against" if fleet.rounds < 2 else "")
    )


def unknown_kinds(verdict: Verdict) -> str:
    """One line: of how many GPUs the kind is not known, and what can be found there; "": of
    none."""
    unknown = sum(int((kinds.numbers == NO_KIND).sum()) for kinds in verdict.kinds)
    if not unknown:
        return ""
    limit = 100 * verdict.limits.peer_threshold
    line = (
        f"the kind of {unknown} GPU{'s' if unknown > 1 else ''} is not known: a difference from the"
        f" others counts from {limit:g} % on"
    )
    apart = max(verdict.kinds_apart(), default=0)
    return line + (
        ", and from"
        f" {100 * math.expm1(math.log1p(verdict.limits.peer_threshold) + apart):.1f} % on in the"
        " cell in which known kinds differ most"
        if apart
        else ""
    )


COLUMNS = (
    text.Column("verdict"),
    text.Column("GPUs"),
    text.Column("change", True),
    text.Column("spreads", True, 1),
    text.Column("since"),
)


def columns_of(rows: list[Row]) -> list[list[str]]:
    """Texts of COLUMNS."""
    return [
        [row.kind for row in rows],
        [row.who for row in rows],
        text.changes([row.change for row in rows]),
        text.tenths([row.multiple for row in rows]),
        [write_time(row.since_ms) if row.since_ms else "-" for row in rows],
    ]


def note_of(row: Row) -> str:
    """A note on a finding: whether it came slowly, and why."""
    drift = "slowly, from then on" if row.drift else ""
    return "; then: ".join((drift, row.why)) if drift and row.why else drift or row.why


def table(verdict: Verdict) -> str:
    """The verdict for people."""
    rows = verdict.rows
    notes = [[f"what: {row.what}", *filter(None, [note_of(row)])] for row in rows]
    lines = text.paragraph(summary(verdict)) + text.paragraph(context(verdict))
    lines += text.paragraph(unknown_kinds(verdict)) if unknown_kinds(verdict) else []
    if rows:
        lines += ["", *text.table(COLUMNS, columns_of(rows), notes)]
    return "\n".join(lines) + "\n"


def markdown(verdict: Verdict) -> str:
    """The verdict as Markdown."""
    rows = verdict.rows
    columns = (*COLUMNS, text.Column("what"), text.Column("notes"))
    cells = [*columns_of(rows), [row.what for row in rows], list(map(note_of, rows))]
    said = " ".join(filter(None, [context(verdict), unknown_kinds(verdict)]))
    lines = [f"**cbank fleet: {summary(verdict)}**", "", text.markdown_text(said)]
    return (
        "\n".join(
            lines
            + (
                ["", *text.markdown(columns, cells, [KINDS[row.kind] for row in rows])]
                if rows
                else []
            )
        )
        + "\n"
    )


def path_changes(model: Model, paths: list[str]) -> dict[str, np.ndarray]:
    """{path: relative change of each GPU}, whether found or not. A cell's last three values, or
    half of a few, are held against those before, or the baseline. The change of a path is the
    median over its cells."""
    of_path = {}
    for path, log_ns in zip(paths, (cell.log_ns for cell in model.cells)):
        known = ~np.isnan(log_ns)
        new = known if model.base is None else known & ~model.base
        most = (
            LAST_VALUES
            if model.base is not None
            else np.clip(known.sum(axis=1) // 2, 1, LAST_VALUES)[:, None]
        )
        last = new & (np.cumsum(new[:, ::-1], axis=1)[:, ::-1] <= most)
        before = known & ~last if model.base is None else known & model.base
        sides = [
            medians(np.where(mask, log_ns, np.inf), mask.sum(axis=1)) for mask in (last, before)
        ]
        of_path.setdefault(path, []).append(sides[0] - sides[1])
    found = {}
    for path, changes in of_path.items():
        changes = np.array(changes).T
        found[path] = np.expm1(medians(changes, (~np.isnan(changes)).sum(axis=1)))
    return found


def number(value: float | None) -> float | None:
    """A number as JSON has it; None where it is not finite."""
    return None if value is None or not math.isfinite(value) else float(value)


def since_of(fleet: Fleet, change: Change) -> str | None:
    """When a change against the past began."""
    if change.against != PAST:
        return None
    return write_time(int(fleet.first_ms[fleet.night_of_round[change.since]]))


CELL = (
    Field("identity", TEXT, lambda fleet, change: fleet.cells[change.cell][1]),
    Field("change", NUMBER, lambda fleet, change: number(math.expm1(change.change))),
    Field(
        "deviation",
        within(0),
        lambda fleet, change: number(change.deviation),
        "of the logarithm: between processes, or between GPUs",
    ),
    Field(
        "p",
        within(0, 1),
        lambda fleet, change: number(change.p),
        "of the GPU or group that changed, corrected for all tests of the verdict together",
    ),
    Field(
        "values",
        whole(1),
        lambda fleet, change: change.last,
        "the last so many of the GPU or group that it was seen in",
    ),
    Field("since_utc", or_null(TIME), since_of),
)

GPU = (
    Field("uuid", TEXT_OR_NULL, lambda gpu: gpu.uuid or None),
    Field("name", TEXT, lambda gpu: gpu.name),
    Field("host", TEXT_OR_NULL, lambda gpu: gpu.host or None),
    Field("slot", TEXT_OR_NULL, lambda gpu: gpu.slot or None),
)

FINDING = (
    Field("kind", word_of(KINDS), lambda fleet, row: row.kind),
    Field("fails", BOOL, lambda fleet, row: KINDS[row.kind], "it makes the exit code 1"),
    Field("who", TEXT, lambda fleet, row: row.who),
    Field("what", TEXT, lambda fleet, row: row.what),
    Field(
        "level",
        or_null(word_of(LEVELS)),
        lambda fleet, row: row.finding and LEVELS[row.finding.surest.level],
        "of a change of times: whose it is",
    ),
    Field(
        "against",
        or_null(word_of(AGAINST)),
        lambda fleet, row: row.finding and AGAINST[row.finding.surest.against],
    ),
    Field(
        "change",
        NUMBER_OR_NULL,
        lambda fleet, row: number(row.change),
        "of time, as a share: the median over the cells",
    ),
    Field(
        "multiple",
        NUMBER_OR_NULL,
        lambda fleet, row: number(row.multiple),
        "of the deviation of what it is held against, in the surest cell",
    ),
    Field(
        "since_utc",
        or_null(TIME),
        lambda fleet, row: write_time(row.since_ms) if row.since_ms else None,
    ),
    Field("drift", BOOL, lambda fleet, row: row.drift, "it changes slowly, from then on"),
    Field("why", TEXT_OR_NULL, lambda fleet, row: row.why or None, "what else changed then"),
    Field(
        "gpus",
        list_of(GPU),
        lambda fleet, row: [written(GPU, fleet.gpus[gpu]) for gpu in row.gpus],
    ),
    Field(
        "cells",
        list_of(CELL),
        lambda fleet, row: (
            [written(CELL, fleet, change) for change in row.finding.changes] if row.finding else []
        ),
    ),
)

PATH_CHANGE = (
    Field("path", TEXT, lambda path, change: path),
    Field("change", NUMBER_OR_NULL, lambda path, change: number(change)),
)


class Told:
    """What is said of GPUs beside what each is: the kind of its first finding, the changes of its
    paths, and whether its last run was not interrupted."""

    def __init__(self, verdict: Verdict):
        self.fleet, self.kinds = verdict.fleet, {}
        for row in verdict.rows:
            for gpu in row.gpus:
                self.kinds.setdefault(gpu, row.kind)
        paths = [path for _, _, path in self.fleet.cells]
        self.path_changes = [path_changes(model, paths) for model in self.fleet.models]
        self.completed = dict(
            self.fleet.store.execute("SELECT run_id, complete FROM runs").fetchall()
        )

    def last_utc(self, gpu: Gpu) -> str:
        return write_time(int(self.fleet.started[gpu.last]))

    def complete(self, gpu: Gpu) -> bool:
        return bool(self.completed[int(self.fleet.run_id[gpu.last])])

    def changes(self, gpu: Gpu) -> list[dict]:
        if not gpu.answered:
            return []
        return [
            written(PATH_CHANGE, path, found[gpu.member])
            for path, found in self.path_changes[gpu.model].items()
        ]


TOLD_GPU = (
    *(Field(row.key, row.kind, lambda told, index, gpu, row=row: row.value(gpu)) for row in GPU),
    Field("driver", TEXT_OR_NULL, lambda told, index, gpu: gpu.driver or None),
    Field("vbios", TEXT_OR_NULL, lambda told, index, gpu: gpu.vbios or None),
    Field("last_utc", TIME, lambda told, index, gpu: told.last_utc(gpu)),
    Field("answered", BOOL, lambda told, index, gpu: gpu.answered, "it ran in the last night"),
    Field(
        "modelled", BOOL, lambda told, index, gpu: bool(gpu.modelled), "its times are predictions"
    ),
    Field(
        "complete",
        BOOL,
        lambda told, index, gpu: told.complete(gpu),
        "its last run was not interrupted",
    ),
    Field(
        "verdict",
        word_of(["quiet", *KINDS]),
        lambda told, index, gpu: told.kinds.get(index, "quiet"),
        "the kind of the first finding that it is of",
    ),
    Field(
        "changes",
        list_of(PATH_CHANGE),
        lambda told, index, gpu: told.changes(gpu),
        "what times do, found or not, for each path: the last three values, or half of a few,"
        " against those before or the baseline, the median over its cells, as a share; empty where"
        " the GPU did not answer",
    ),
)

NIGHT = (
    Field("first_utc", TIME, lambda first, last: write_time(first)),
    Field("last_utc", TIME, lambda first, last: write_time(last)),
)

LIMITS = (
    Field(
        "threshold",
        NUMBER,
        lambda limits: limits.threshold,
        "change against a GPU's past, as a share; of a group half of it",
    ),
    Field(
        "kind_threshold",
        NUMBER,
        lambda limits: limits.kind_threshold,
        "difference from the other GPUs of the kind, as a share",
    ),
    Field(
        "peer_threshold",
        NUMBER,
        lambda limits: limits.peer_threshold,
        "the same from GPUs that may be of another kind, beyond what known kinds differ by",
    ),
    Field(
        "false_findings",
        NUMBER,
        lambda limits: limits.rate,
        "the share of what is listed that is false on average; so many nights without a change have"
        " a finding",
    ),
)


def gpus_of(verdict: Verdict) -> list[dict]:
    told = Told(verdict)
    return [written(TOLD_GPU, told, index, gpu) for index, gpu in enumerate(verdict.fleet.gpus)]


DOCUMENT = Written(
    "fleet",
    "1.0",
    "A verdict on a fleet: what cbank fleet --json writes. Keys end in their unit; times are of"
    " UTC. A reader takes any version 1.x and ignores keys that it does not know. A value that is"
    " not known or does not exist is null.",
    (
        Field("store", TEXT, lambda verdict: verdict.fleet.path),
        Field(
            "verdict",
            word_of(["quiet", "finding"]),
            lambda verdict: "finding" if verdict.failing() else "quiet",
            "finding: one of the findings fails, and the exit code is 1",
        ),
        Field(
            "night",
            object_of(NIGHT),
            lambda verdict: written(NIGHT, *verdict.fleet.last_night_ms()),
            "the last, which is judged: starts of its first and last run",
        ),
        Field("nights", whole(1), lambda verdict: verdict.fleet.nights, "that were looked at"),
        Field(
            "baseline",
            TEXT_OR_NULL,
            lambda verdict: verdict.fleet.baseline,
            "a driver or a date; null: each GPU's past",
        ),
        Field("answered", whole(), lambda verdict: verdict.answered),
        Field("expected", whole(), lambda verdict: verdict.expected),
        Field(
            "expected_from",
            word_of(["inventory", "night before"]),
            lambda verdict: "inventory" if verdict.inventory else "night before",
        ),
        Field("limits", object_of(LIMITS), lambda verdict: written(LIMITS, verdict.limits)),
        Field(
            "findings",
            list_of(FINDING),
            lambda verdict: [written(FINDING, verdict.fleet, row) for row in verdict.rows],
        ),
        Field("gpus", list_of(TOLD_GPU), gpus_of, "all that ran in the nights that were looked at"),
    ),
)


def parse(words: list[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = command_line("fleet", __doc__)
    verdict = parser.topic("Verdict")
    output = parser.topic("Output")
    percent = text.in_limits(0.001, 1000, "percent")
    parser.reads("store", metavar="STORE", help="a file that cbank ingest made")
    verdict.add_argument(
        "--baseline",
        metavar="DRIVER|DATE",
        help=(
            "hold GPUs against their runs with this driver, or until this date (2026-01-31, or"
            " a time as results have it); default: the past of each"
        ),
    )
    parser.reads(
        "--inventory",
        group=verdict,
        metavar="FILE",
        help=(
            "who should answer: lines of a host and its number of GPUs, or the UUID of one;"
            " default: who did the night before"
        ),
    )
    verdict.add_argument(
        "--threshold",
        metavar="PERCENT",
        type=percent,
        default=1.0,
        help="change of a GPU against its past that counts; of a group half of it (default 1%%)",
    )
    verdict.add_argument(
        "--peer-threshold",
        metavar="PERCENT",
        type=percent,
        help=(
            "difference from the other GPUs that counts (default: of a kind 0.4%%; where a kind is"
            " not known 3%%, beyond what known kinds differ by)"
        ),
    )
    verdict.add_argument(
        "--nights",
        metavar="N",
        type=text.in_limits(1, 100000, "nights", int),
        default=60,
        help="nights that are looked at, without --baseline (default 60)",
    )
    verdict.add_argument(
        "--gap",
        metavar="HOURS",
        type=text.in_limits(0, 10000, "hours"),
        default=4.0,
        help="a new night begins where no run began for so long (default 4)",
    )
    parser.writes("--json", group=output, metavar="FILE", help="write the verdict as JSON")
    add_schema_option(parser, DOCUMENT)
    parser.writes("--markdown", group=output, metavar="FILE", help="write it as Markdown")
    output.add_argument("--quiet", action="store_true", help="print only errors and warnings")
    return parser.parse_args(words)


def say_of_the_future(store: sqlite3.Connection) -> None:
    """Warns once of all runs that began later than now, and less than a day later: they are
    judged."""
    count, started, newest = store.execute(
        "SELECT count(*), max(started_ms), file FROM runs WHERE started_ms BETWEEN ? AND ?",
        (round(time.time() * 1000) + CLOCK_SLACK_MS, latest_ms()),
    ).fetchone()
    if count:
        say(
            "warning",
            f"{count} run{'s' if count > 1 else ''} began in the future, the newest"
            f" {printable(newest)} at {write_time(started)}; set the clocks of their hosts, and"
            " take them out: cbank ingest --forget",
        )


def limits_of(options: argparse.Namespace) -> Limits:
    """The limits that options name; the others are as they are."""
    limits = Limits(options.threshold / 100)
    if options.peer_threshold:
        limits.kind_threshold = limits.peer_threshold = options.peer_threshold / 100
    return limits


def main(words: list[str]) -> int:
    """Runs the command line `words`, without the name of the command; returns the exit code."""
    options = parse(words)
    if options.baseline == "":
        raise Failure("--baseline: a driver or a date is missing")
    with reading(options.store) as store:
        fleet = Fleet(options.store, store, options.nights, options.gap, options.baseline)
        say_of_the_future(store)
        verdict = Verdict(fleet, limits_of(options), options.inventory)
        as_json = (
            json.dumps(DOCUMENT.content(verdict), indent=1, allow_nan=False) + "\n"
            if options.json
            else None
        )
    if not options.quiet and "-" not in (options.json, options.markdown):
        files.write("-", table(verdict))
    if options.json:
        files.write(options.json, as_json)
    if options.markdown:
        files.write(options.markdown, markdown(verdict))
    return WORSE if verdict.failing() else 0
