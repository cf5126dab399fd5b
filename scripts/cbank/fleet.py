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
import time

import numpy as np

from . import text
from .errors import FINDING, Failure, printable, say
from .fleet_groups import AGAINST, LEVELS, PAST, Change, Limits
from .fleet_verdict import CLOCK_SLACK_MS, KINDS, LAST_VALUES, Row, Verdict
from .nights import Fleet, Model
from .robust import medians
from .store import command_line, reading, write_time

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
    if rows:
        lines += ["", *text.table(COLUMNS, columns_of(rows), notes)]
    return "\n".join(lines) + "\n"


def markdown(verdict: Verdict) -> str:
    """The verdict as Markdown."""
    rows = verdict.rows
    columns = (*COLUMNS, text.Column("what"), text.Column("notes"))
    cells = [*columns_of(rows), [row.what for row in rows], list(map(note_of, rows))]
    lines = [f"**cbank fleet: {summary(verdict)}**", "", text.markdown_text(context(verdict))]
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


def cell_json(fleet: Fleet, change: Change) -> dict:
    """A change of a cell as JSON has it."""
    since = None
    if change.against == PAST:
        since = write_time(int(fleet.first_ms[fleet.night_of_round[change.since]]))
    return {
        "identity": fleet.cells[change.cell][1],
        "change": number(math.expm1(change.change)),
        "deviation": number(change.deviation),
        "p": number(change.p),
        "values": change.last,
        "since_utc": since,
    }


def finding_json(fleet: Fleet, row: Row) -> dict:
    """A finding as JSON has it."""
    finding = row.finding
    return {
        "kind": row.kind,
        "fails": KINDS[row.kind],
        "who": row.who,
        "what": row.what,
        "level": finding and LEVELS[finding.surest.level],
        "against": finding and AGAINST[finding.surest.against],
        "change": number(row.change),
        "multiple": number(row.multiple),
        "since_utc": write_time(row.since_ms) if row.since_ms else None,
        "drift": row.drift,
        "why": row.why or None,
        "gpus": [fleet.gpus[gpu].json() for gpu in row.gpus],
        "cells": [cell_json(fleet, change) for change in finding.changes] if finding else [],
    }


def gpus_json(verdict: Verdict) -> list[dict]:
    """All GPUs as JSON has them, each with the first finding about it."""
    fleet, kind_of = verdict.fleet, {}
    for row in verdict.rows:
        for gpu in row.gpus:
            kind_of.setdefault(gpu, row.kind)
    paths = [path for _, _, path in fleet.cells]
    changes = [path_changes(model, paths) for model in fleet.models]
    complete = dict(fleet.store.execute("SELECT run_id, complete FROM runs").fetchall())
    return [
        {
            **gpu.json(),
            "driver": gpu.driver or None,
            "vbios": gpu.vbios or None,
            "last_utc": write_time(int(fleet.started[gpu.last])),
            "answered": gpu.answered,
            "modelled": bool(gpu.modelled),
            "complete": bool(complete[int(fleet.run_id[gpu.last])]),
            "verdict": kind_of.get(index, "quiet"),
            "changes": (
                [
                    {"path": path, "change": number(found[gpu.member])}
                    for path, found in changes[gpu.model].items()
                ]
                if gpu.answered
                else []
            ),
        }
        for index, gpu in enumerate(fleet.gpus)
    ]


def document(verdict: Verdict) -> dict:
    """The verdict as results/fleet.schema.json says."""
    fleet, limits = verdict.fleet, verdict.limits
    first, last = fleet.last_night_ms()
    return {
        "schema": {"name": "cbank-fleet", "version": "1.0"},
        "store": fleet.path,
        "verdict": "finding" if verdict.failing() else "quiet",
        "night": {"first_utc": write_time(first), "last_utc": write_time(last)},
        "nights": fleet.nights,
        "baseline": fleet.baseline,
        "answered": verdict.answered,
        "expected": verdict.expected,
        "expected_from": "inventory" if verdict.inventory else "night before",
        "limits": {
            "threshold": limits.threshold,
            "peer_threshold": limits.peer_threshold,
            "false_findings": limits.rate,
        },
        "findings": [finding_json(fleet, row) for row in verdict.rows],
        "gpus": gpus_json(verdict),
    }


def parse(words: list[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = command_line("fleet", __doc__)
    verdict = parser.topic("Verdict")
    output = parser.topic("Output")
    percent = text.in_limits(0.001, 1000, "percent")
    parser.add_argument("store", metavar="STORE", help="a file that cbank ingest made")
    verdict.add_argument(
        "--baseline",
        metavar="DRIVER|DATE",
        help=(
            "hold GPUs against their runs with this driver, or until this date (2026-01-31, or"
            " a time as results have it); default: the past of each"
        ),
    )
    verdict.add_argument(
        "--inventory",
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
        default=3.0,
        help="difference from the other GPUs of the model that counts (default 3%%)",
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
    output.add_argument("--json", metavar="FILE", help="write the verdict as JSON")
    output.add_argument("--markdown", metavar="FILE", help="write it as Markdown")
    output.add_argument("--quiet", action="store_true", help="print only errors and warnings")
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """Runs the command line `words`, without the name of the command; returns the exit code."""
    options = parse(words)
    text.check_outputs(options, ("json", "markdown"), options.store)
    if options.baseline == "":
        raise Failure("--baseline: a driver or a date is missing")
    with reading(options.store) as store:
        fleet = Fleet(options.store, store, options.nights, options.gap, options.baseline)
        for (name,) in store.execute(
            "SELECT file FROM runs WHERE started_ms > ?",
            (round(time.time() * 1000) + CLOCK_SLACK_MS,),
        ):
            say(
                "warning",
                (
                    f"{name}: it began in the future; set the clock of its host, and take it out:"
                    " cbank ingest --forget"
                ),
            )
        verdict = Verdict(
            fleet, Limits(options.threshold / 100, options.peer_threshold / 100), options.inventory
        )
        as_json = (
            json.dumps(document(verdict), indent=1, allow_nan=False) + "\n"
            if options.json
            else None
        )
    if not options.quiet and "-" not in (options.json, options.markdown):
        text.write("-", table(verdict))
    if options.json:
        text.write(options.json, as_json)
    if options.markdown:
        text.write(options.markdown, markdown(verdict))
    return FINDING if verdict.failing() else 0
