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
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from . import text
from .change_points import medians
from .errors import FINDING, Failure, printable, say
from .fleet_statistics import (
    AGAINST,
    LEVELS,
    PAST,
    PEERS,
    Change,
    Finding,
    Limits,
    find,
    judge,
    members_of,
)
from .nights import Fleet, Gpu, Model, place
from .store import BAD, command_line, reading, write_time

CLOCK_SLACK_MS = 600_000
NAMED = 3  # GPUs of a finding that are named
LAST_VALUES = 3  # of a cell that say what it does now
INVENTORY_MOST = 1024  # GPUs of a host

# Kinds of findings, in the order of the report, and whether they make the exit code 1.
KINDS = {
    "missing": True,
    "replaced": True,
    "failed": True,
    "invalid": True,
    "counter": True,
    "geometry": True,
    "slower": True,
    "apart": True,
    "faster": False,
    "moved": False,
    "added": False,
}


@dataclass
class Row:
    """A finding as it is told."""

    kind: str
    what: str = ""
    gpus: list = field(default_factory=list)  # of the fleet
    who: str = ""
    change: float | None = None  # relative
    multiple: float | None = None  # of the deviation that it is held against
    since_ms: int | None = None
    drift: bool = False
    why: str = ""  # what else changed then
    finding: object = None  # whose cells it is of


# ---- The verdict ---------------------------------------------------------------------------------


class Verdict:
    """Rows that each say something of one GPU or many."""

    def __init__(self, fleet: Fleet, limits: Limits, inventory: str | None = None):
        self.fleet, self.limits, self.inventory = fleet, limits, inventory
        self.rows = []
        self.answered = sum(gpu.answered for gpu in fleet.gpus)
        self.expected = 0
        self.census()
        if inventory:
            self.read_inventory(inventory)
        self.compare_cells()
        self.compare_devices()
        self.judge_times()
        for row in self.rows:
            row.who = row.who or self.name(row.gpus)
        order = list(KINDS)
        self.rows.sort(
            key=lambda row: (order.index(row.kind), -len(row.gpus), -abs(row.change or 0), row.who)
        )

    def add(self, kind: str, gpu: int, what: str) -> None:
        """Adds a GPU to the row of that kind with that text."""
        what = printable(what)
        for row in self.rows:
            if row.kind == kind and row.what == what:
                break
        else:
            row = Row(kind, what)
            self.rows.append(row)
        row.gpus.append(gpu)

    def failing(self) -> list[Row]:
        return [row for row in self.rows if KINDS[row.kind]]

    # ---- Who answered

    def census(self) -> None:
        """Against the night before."""
        fleet, gpus = self.fleet, self.fleet.gpus
        earlier = np.flatnonzero(fleet.night < fleet.nights - 1).tolist()
        before = {int(fleet.gpu[run]): run for run in earlier}  # the last run of each GPU
        there = {}  # the last run in each place
        for run in earlier:
            of = fleet.setup_of(run)
            if of["host"] and of["slot"]:
                there[of["host"], of["slot"]] = run
        now = {(gpu.host, gpu.slot): number for number, gpu in enumerate(gpus) if gpu.answered}
        missing = {}
        for number, gpu in enumerate(gpus):
            run = before.get(number)
            if gpu.answered:
                self.expected += run is not None
                self.look_at(number, run, there.get((gpu.host, gpu.slot)))
            elif run is not None and fleet.night[run] == fleet.nights - 2:
                self.expected += 1
                of = fleet.setup_of(run)
                # The board that is there now is what is said.
                if not self.inventory and not (
                    of["host"] and of["slot"] and (of["host"], of["slot"]) in now
                ):
                    missing.setdefault(gpu.host or number, []).append(number)
        for host, numbers in missing.items():
            row = Row("missing", "did not answer", numbers, since_ms=fleet.last_night_ms()[0])
            if (
                isinstance(host, str)
                and len(numbers) > 1
                and not any(gpu.answered and gpu.host == host for gpu in gpus)
            ):
                row.who = f"all {len(numbers)} GPUs of {host}"
            self.rows.append(row)

    def look_at(self, number: int, before: int | None, other: int | None) -> None:
        """A GPU that answered may be where another was, elsewhere than before, or new."""
        fleet, gpu = self.fleet, self.fleet.gpus[number]
        if other is not None and fleet.gpu[other] != number and gpu.uuid:
            self.add("replaced", number, f"in place of {fleet.gpus[fleet.gpu[other]].uuid}")
        elif before is not None:
            of = fleet.setup_of(before)
            if (of["host"], of["slot"]) != (gpu.host, gpu.slot):
                self.add(
                    "moved",
                    number,
                    f"was at {place(of['host'], of['slot']) or 'a place that is not known'}",
                )
        elif fleet.nights > 1:
            self.add("added", number, "never answered before")

    def read_inventory(self, path: str) -> None:
        """Lines of a host and how many GPUs it has, or the UUID of one."""
        try:
            with open(path, encoding="utf-8") as file:
                lines = file.read().split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise Failure(
                f"cannot read {path}: {getattr(error, 'strerror', None) or 'it is no text'}"
            ) from error
        self.expected = 0
        hosts = set()
        for number, line in enumerate(lines, 1):
            words = line.split("#")[0].split()
            if words:
                if len(words) != 2:
                    raise Failure(
                        f"{path}:{number}: a line is a host and how many GPUs it has, or the UUID"
                        " of one of them"
                    )
                is_uuid = words[1].startswith("GPU-")
                if not is_uuid and not (
                    words[1].isdecimal() and 1 <= int(words[1]) <= INVENTORY_MOST
                ):
                    raise Failure(
                        f"{path}:{number}: {words[1]} is no UUID and no number of GPUs from 1 to"
                        f" {INVENTORY_MOST}"
                    )
                hosts.add(words[0])
                self.take_line(
                    f"{path}:{number}", words[0], None if is_uuid else int(words[1]), words[1]
                )
        if not self.expected:
            raise Failure(f"{path}: has no host; a line is a host and how many GPUs it has")
        for host in dict.fromkeys(gpu.host for gpu in self.fleet.gpus if gpu.answered and gpu.host):
            if host not in hosts:
                say("warning", f"{path}: has no line for {host}, which answered")

    def take_line(self, where: str, host: str, count: int | None, uuid: str) -> None:
        """Holds a line against who answered. GPUs that were seen there, and did not answer, are
        named as far as so many lack."""
        gpus, expected = self.fleet.gpus, count or 1
        known = [
            number
            for number, gpu in enumerate(gpus)
            if (gpu.host == host if count else gpu.uuid == uuid)
        ]
        answered = sum(gpus[number].answered for number in known)
        self.expected += expected
        if not known:
            say(
                "warning",
                (
                    f"{where}: {host if count else uuid} never answered in {self.fleet.path}; is"
                    " that its name?"
                ),
            )
        if answered > expected:
            say("warning", f"{where}: {answered} GPUs of {host} answered")
        if answered < expected:
            lacking = [number for number in known if not gpus[number].answered][
                : expected - answered
            ]
            self.rows.append(
                Row(
                    "missing",
                    (
                        f"{answered} of {expected} GPUs of {host} answered"
                        if count
                        else f"{uuid} of {host} did not answer"
                    ),
                    lacking,
                    "" if lacking else host,
                )
            )

    # ---- Cells, counters and devices of the last night

    def compare_cells(self) -> None:
        """Cells that failed or are invalid; exact counters that are not as expected, or not what most GPUs of
        the model with that code read."""
        fleet = self.fleet
        last = np.flatnonzero(fleet.night == fleet.nights - 1)
        gpu_of = dict(zip(fleet.run_id[last].tolist(), fleet.gpu[last].tolist()))
        identities, by_cell = (
            dict(fleet.store.execute("SELECT identity_id, identity FROM identities")),
            {},
        )
        for (
            identity_id,
            run_id,
            *_,
            status,
            reason,
            _,
            kernel_id,
            counter_set_id,
        ) in fleet.last.values():
            by_cell.setdefault(identities[identity_id], []).append(
                (gpu_of[run_id], status, reason, kernel_id, counter_set_id)
            )
        sets = {}
        for identity, rows in by_cell.items():
            for gpu, status, reason, _, _ in rows:
                if status in BAD:
                    self.add(status, gpu, f"{identity}: {reason}")
            seen = [
                ((fleet.gpus[gpu].model, kernel), gpu, counters)
                for gpu, status, _, kernel, counters in rows
                if status != "failed"
            ]
            counts = Counter((key, counters) for key, _, counters in seen)
            usual = {}
            for (key, counters), count in counts.items():
                if key not in usual or count > counts[key, usual[key]]:
                    usual[key] = counters
            wrong = {
                of: self.differences(sets, *of)
                for of in {(counters, usual[key]) for key, _, counters in seen}
            }
            for key, gpu, counters in seen:
                for what in wrong[counters, usual[key]]:
                    self.add("counter", gpu, f"{identity}: {what}")

    def differences(self, sets: dict, counters: int, usual: int) -> list[str]:
        """Texts of the counters that differ from the expected value, else from the usual set."""
        for key in (counters, usual):
            if key not in sets:
                text_of = self.fleet.store.execute(
                    "SELECT counters FROM counter_sets WHERE counter_set_id = ?", (key,)
                ).fetchone()[0]
                sets[key] = {
                    name: (value, expected)
                    for name, (status, value, expected) in json.loads(text_of).items()
                    if status == "ok"
                }
        own, others = sets[counters], sets[usual]
        against = {
            name: (value, expected, "expected")
            for name, (value, expected) in own.items()
            if expected is not None and value != expected
        } or {
            name: (value, others[name][0], "on most GPUs")
            for name, (value, _) in own.items()
            if name in others and value != others[name][0]
        }
        return [
            f"{name} is {value:.0f}, {which} {other:.0f}"
            for name, (value, other, which) in against.items()
        ]

    def compare_devices(self) -> None:
        for model in self.fleet.models:
            counts = Counter(self.fleet.gpus[number].geometry for number in model.gpus)
            usual = json.loads(counts.most_common(1)[0][0])
            for number in model.gpus:
                own = json.loads(self.fleet.gpus[number].geometry)
                what = "; ".join(
                    f"{key} is {value}, on most GPUs {usual.get(key)}"
                    for key, value in own.items()
                    if value != usual.get(key)
                )
                if what:
                    self.add("geometry", number, what)

    # ---- Times

    def judge_times(self) -> None:
        for model in self.fleet.models:
            limits = Limits(
                self.limits.threshold,
                self.limits.peer_threshold,
                self.limits.false_findings * len(model.gpus) / self.answered,
            )
            for finding in find(
                judge(
                    model.cells,
                    len(model.gpus),
                    model.groups,
                    limits,
                    model.base,
                    self.fleet.first_round,
                ),
                model.groups,
            ):
                self.add_finding(model, finding)

    def add_finding(self, model: Model, finding: Finding) -> None:
        surest = finding.surest
        slower = finding.change > 0 if surest.change == 0 else surest.change > 0
        row = Row(
            ("apart" if surest.against == PEERS else "slower") if slower else "faster",
            self.paths_of(finding),
            [model.gpus[member] for member in members_of(surest, model.groups, len(model.gpus))],
            change=math.expm1(finding.change),
            multiple=abs(surest.change / surest.deviation) if surest.deviation else None,
            drift=surest.drift,
            finding=finding,
        )
        if surest.against == PAST:
            self.set_why(row, surest.since)
        if LEVELS[surest.level] != "gpu":
            row.who = self.group_name(row.gpus, LEVELS[surest.level])
        if finding.covered < finding.members:
            row.who += f"{', ' if row.who else ''}{finding.covered} of {finding.members} alike"
        self.rows.append(row)

    def paths_of(self, finding: Finding) -> str:
        """Paths of the finding, and how many of their cells it is of."""
        paths = [path for _, _, path in self.fleet.cells]
        found = {paths[change.cell] for change in finding.changes}
        named = [path for path in dict.fromkeys(paths) if path in found]
        what = (
            "every path"
            if len(found) == len(set(paths))
            else ", ".join(named) + (" paths" if len(found) > 1 else " path")
        )
        return f"{what}, {len(finding.changes)} of {sum(path in found for path in paths)} cells"

    def set_why(self, row: Row, since: int) -> None:
        """Looks for changes of the first GPU at the same time as its times changed."""
        fleet = self.fleet
        runs = np.flatnonzero(fleet.gpu == row.gpus[0])
        later = fleet.round[runs] >= since
        if not later.any():
            return
        after = int(later.argmax())
        row.since_ms = int(fleet.started[runs[after]])
        if after == 0:
            return
        before, now = (fleet.setup_of(runs[i]) for i in (after - 1, after))
        commits = [
            fleet.store.execute(
                "SELECT git_commit FROM runs WHERE run_id = ?", (int(fleet.run_id[runs[i]]),)
            ).fetchone()[0]
            or ""
            for i in (after - 1, after)
        ]
        pairs = [
            ("driver", before["driver"], now["driver"]),
            ("VBIOS", before["vbios"], now["vbios"]),
            ("host", before["host"], now["host"]),
            ("commit", *map(printable, commits)),
        ]
        row.why = ", ".join(
            f"{what} {old or '?'} -> {new or '?'}" for what, old, new in pairs if old != new
        )

    # ---- Names

    def alike(self, number: int, level: str) -> list[int]:
        """GPUs that answered, and are of the group that one is of."""
        one = self.fleet.gpus[number]
        return (
            [
                i
                for i in self.fleet.models[one.model].gpus
                if self.fleet.gpus[i].group(level) == one.group(level)
            ]
            if one.answered
            else []
        )

    def group_name(self, numbers: list[int], level: str) -> str:
        """All 8 GPUs of n17, or 7 of 8."""
        one, size = self.fleet.gpus[numbers[0]], len(self.alike(numbers[0], level))
        name = one.name if len(self.fleet.models) > 1 else "GPUs"
        of = {"model": "", "driver": " with driver ", "vbios": " with VBIOS ", "node": " of "}[
            level
        ]
        return (
            f"all {size} {name}" if len(numbers) == size else f"{len(numbers)} of {size} {name}"
        ) + (of and of + one.group(level))

    def name(self, numbers: list[int]) -> str:
        """GPUs by their group, where they are all of it; else one by one."""
        if len(numbers) > 1:
            for level in LEVELS[:-1]:
                if sorted(self.alike(numbers[0], level)) == sorted(numbers):
                    return self.group_name(numbers, level)
        named = ", ".join(self.fleet.gpus[number].label() for number in numbers[:NAMED])
        return (
            (f"{len(numbers)} GPUs: " if len(numbers) > 1 else "")
            + named
            + (f" and {len(numbers) - NAMED} more" if len(numbers) > NAMED else "")
        )


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
    for path, (log_ns, *_) in zip(paths, model.cells):
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


def document(verdict: Verdict) -> dict:
    """The verdict as results/fleet.schema.json says."""
    fleet = verdict.fleet
    kind_of = {}
    for row in verdict.rows:
        for gpu in row.gpus:
            kind_of.setdefault(gpu, row.kind)
    paths = [path for _, _, path in fleet.cells]
    changes = [path_changes(model, paths) for model in fleet.models]
    complete = dict(fleet.store.execute("SELECT run_id, complete FROM runs").fetchall())
    first, last = fleet.last_night_ms()

    def cell(change: Change) -> dict:
        since = (
            write_time(int(fleet.first_ms[fleet.night_of_round[change.since]]))
            if change.against == PAST
            else None
        )
        return {
            "identity": fleet.cells[change.cell][1],
            "change": number(math.expm1(change.change)),
            "deviation": number(change.deviation),
            "p": number(change.p),
            "values": change.last,
            "since_utc": since,
        }

    def finding(row: Row) -> dict:
        of = row.finding
        return {
            "kind": row.kind,
            "fails": KINDS[row.kind],
            "who": row.who,
            "what": row.what,
            "level": of and LEVELS[of.surest.level],
            "against": of and AGAINST[of.surest.against],
            "change": number(row.change),
            "multiple": number(row.multiple),
            "since_utc": write_time(row.since_ms) if row.since_ms else None,
            "drift": row.drift,
            "why": row.why or None,
            "gpus": [fleet.gpus[gpu].json() for gpu in row.gpus],
            "cells": [cell(change) for change in of.changes] if of else [],
        }

    def gpu(index: int, of: Gpu) -> dict:
        run = of.last
        return {
            **of.json(),
            "driver": of.driver or None,
            "vbios": of.vbios or None,
            "last_utc": write_time(int(fleet.started[run])),
            "answered": of.answered,
            "modelled": bool(of.modelled),
            "complete": bool(complete[int(fleet.run_id[run])]),
            "verdict": kind_of.get(index, "quiet"),
            "changes": (
                [
                    {"path": path, "change": number(found[of.member])}
                    for path, found in changes[of.model].items()
                ]
                if of.answered
                else []
            ),
        }

    limits = verdict.limits
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
            "false_findings": limits.false_findings,
        },
        "findings": [finding(row) for row in verdict.rows],
        "gpus": [gpu(index, of) for index, of in enumerate(fleet.gpus)],
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
