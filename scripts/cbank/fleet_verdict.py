# SPDX-License-Identifier: MIT
"""The verdict on the last night of a fleet: findings about GPUs, in the order of the report."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from . import files, instrument, text
from .errors import Failure, printable, say
from .fleet_groups import LEVELS, NO_KIND, PAST, PEERS, Change, Kinds, Limits, judge
from .nights import Fleet, Model, place
from .robust import median_of, medians
from .store import BAD

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
    "kind": False,
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


# ---- Findings ------------------------------------------------------------------------------------


@dataclass
class Finding:
    """Changes of cells that are of the same GPUs and in one direction: told once."""

    changes: list  # by cell
    surest: Change  # the largest multiple of its deviation: it dates the finding
    change: float  # of the logarithm, the median over the cells
    members: int  # the most of any cell
    covered: int


def kind_words(kind: tuple[str, str]) -> tuple[str, str]:
    """(part number, sizes of groups) as the program says them."""
    return kind[0], text.sizes(json.loads(kind[1]))


def kind_difference(usual: tuple[str, str], kind: tuple[str, str]) -> str:
    """What a kind of boards is other in than the usual one."""
    pairs = zip(("part number", "groups of SMs"), kind_words(kind), kind_words(usual))
    return ", ".join(f"{what} {new} and not {old}" for what, new, old in pairs if new != old)


def members_of(change: Change, groups: dict[str, np.ndarray], gpus: int) -> range | list[int]:
    """Numbers of the GPUs that a change is of."""
    name = LEVELS[change.level]
    if name == "model":
        return range(gpus)
    return (
        [change.group] if name == "gpu" else np.flatnonzero(groups[name] == change.group).tolist()
    )


def find(changes: list[Change], groups: dict[str, np.ndarray]) -> list[Finding]:
    """Findings: the slower ones first, the coarsest level first, the largest first. A difference
    from the others is left out where the GPU, or a group of it below the model, changed in that
    direction."""

    def key(change: Change) -> tuple:
        return change.against, change.level, change.group, change.change < 0

    past = [change for change in changes if change.against == PAST]
    explained = {
        (gpu, change.change < 0)
        for change in past
        if change.level > 0
        for gpu in members_of(change, groups, 0)
    }
    by_key = {}
    for change in sorted(changes, key=lambda change: change.cell):
        if change.against == PAST or (change.group, change.change < 0) not in explained:
            by_key.setdefault(key(change), []).append(change)
    found = []
    for same in by_key.values():
        most = max(same, key=lambda change: change.covered)
        sizes = np.array([change.change for change in same])
        found.append(
            Finding(
                same,
                max(
                    same,
                    key=lambda change: (
                        abs(change.change / change.deviation) if change.deviation else math.inf
                    ),
                ),
                float(medians(sizes[None], np.array([len(sizes)]))[0]),
                most.members,
                most.covered,
            )
        )
    return sorted(
        found, key=lambda of: (of.change < 0, of.surest.level, -abs(of.change), of.surest.group)
    )


# ---- The verdict ---------------------------------------------------------------------------------


class Verdict:
    """Rows that each say something of one GPU or many."""

    def __init__(self, fleet: Fleet, limits: Limits, inventory: str | None = None):
        self.fleet, self.limits, self.inventory = fleet, limits, inventory
        self.rows = []
        self.kinds = []  # of each model
        self.answered = sum(gpu.answered for gpu in fleet.gpus)
        self.expected = 0
        self.census()
        if inventory:
            self.read_inventory(inventory)
        self.compare_cells()
        self.compare_devices()
        self.compare_kinds()
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
            lines = files.read_bytes(path).decode().split("\n")
        except UnicodeDecodeError as error:
            raise Failure(f"cannot read {path}: it is no text") from error
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
        """Cells that failed or are invalid; exact counters that are not as expected, or not what
        most GPUs of the model with that code read."""
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

    # ---- Kinds of boards

    def compare_kinds(self) -> None:
        """Finds the kinds of boards, and says what those of a model differ by. The kind with the
        most GPUs is the one that others are held beside; no difference of kinds is a fault."""
        seen = {
            (kind["model"], kind["part_number"], kind["groups"])
            for kind in instrument.ask(["normal", "--json"])
        }
        for model in self.fleet.models:
            found = {}
            for member, number in enumerate(model.gpus):
                if kind := self.fleet.gpus[number].kind():
                    found.setdefault(kind, []).append(member)
            kinds = Kinds(
                np.full(len(model.gpus), NO_KIND),
                np.zeros(len(model.gpus), dtype=bool),
                self.fleet.gpus[model.gpus[0]].name,
            )
            self.kinds.append(kinds)
            ordered = sorted(found.items(), key=lambda kind: -len(kind[1]))
            for index, (kind, members) in enumerate(ordered):
                kinds.numbers[members] = index
                kinds.never_seen[members] = (kinds.device, *kind_words(kind)) not in seen
                self.add_kind(model, kind, members, ordered[0], bool(kinds.never_seen[members[0]]))

    def kinds_apart(self) -> list[float]:
        """What known kinds differ by in each cell, of the logarithm, by the instrument."""
        asked = [
            {
                "boards_differ": True,
                "device": kinds.device,
                "cells": [
                    {"identity": cell.identity, "base_ns": [1e4], "new_ns": [1e4]}
                    for cell in model.cells
                ],
            }
            for model, kinds in zip(self.fleet.models, self.kinds)
            if (kinds.numbers == NO_KIND).any() and model.cells
        ]
        return [cell["kinds_apart"] or 0 for cells in instrument.judge(asked) for cell in cells]

    def add_kind(
        self, model: Model, kind: tuple, members: list[int], usual: tuple, never_seen: bool
    ) -> None:
        """Says what a kind differs by from the usual one, (kind, members), and that it is new."""
        new = (
            f"a new kind, {' with groups of '.join(kind_words(kind))} SMs: no other board of it was"
            " measured"
            if never_seen
            else ""
        )
        if kind == usual[0]:
            if new:
                self.rows.append(Row("kind", new, [model.gpus[member] for member in members]))
            return
        cells, changes = [], []
        for number, cell in enumerate(model.cells):
            levels = [
                median_of(cell.log_ns[side].reshape(1, -1))[0] for side in (members, usual[1])
            ]
            if abs(levels[0] - levels[1]) >= self.limits.kind_threshold:
                cells.append(self.fleet.cells[number][2])
                changes.append(levels[0] - levels[1])
        paths = ", ".join(dict.fromkeys(cells))
        what = (
            f"{paths} path{'s' if len(set(cells)) > 1 else ''},"
            f" {len(cells)} of {len(model.cells)} cells"
        )
        self.rows.append(
            Row(
                "kind",
                "; ".join(
                    filter(None, [new, kind_difference(usual[0], kind), what if cells else ""])
                ),
                [model.gpus[member] for member in members],
                change=math.expm1(max(changes, key=abs)) if changes else None,
            )
        )

    # ---- Times

    def judge_times(self) -> None:
        for number, model in enumerate(self.fleet.models):
            limits = Limits(
                self.limits.threshold,
                self.limits.kind_threshold,
                self.limits.peer_threshold,
                self.limits.rate * len(model.gpus) / self.answered,
            )
            for finding in find(
                judge(
                    model.cells,
                    len(model.gpus),
                    model.groups,
                    limits,
                    model.base,
                    self.fleet.first_round,
                    self.kinds[number],
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
