# SPDX-License-Identifier: MIT
"""Runs and points of stores and files, and where the levels of a series change."""

from __future__ import annotations

import contextlib
import fnmatch
import math
import os
import re
import sqlite3
from dataclasses import dataclass

import numpy as np

from .calibrated import Known
from .changes import RUNS_OF_A_LEVEL, Series, Step, find_steps
from .checksums import modulo, point_hash, sum_of, text_hash, time_hash
from .dates import latest_ms, write_time
from .errors import Failure, printable, say
from .ingest import add_all, files_of
from .store import is_store, open_in_memory, reading

DOUBTFUL = {"unstable", "multimodal", "contended"}  # flags of a time that nothing is concluded from
RUN_TEXTS = ("uuid", "name", "engine", "modelled", "host", "slot", "driver", "vbios")


def natural(identity: str) -> list:
    """A key that sorts numbers in text by their size."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", identity)]


# ---- Reading -------------------------------------------------------------------------------------


class History:
    """Runs and points of stores and files: of all cells, or of those that a glob names.

    Runs are sorted by start, then by file. Points are sorted by cell, GPU and engine, then by run.
    """

    def __init__(self, paths: list[str], glob: str | None = None):
        self.known, self.setups, self.forgotten = Known(), [], []
        self.identities, self.hashes = {}, {None: 0}  # numbers of cells and kernels
        stores = [path for path in paths if os.path.isfile(path) and is_store(path)]
        files = [
            file for path in paths if path not in stores for file in files_of(path, deep=False)
        ]
        runs, points = [], []
        for path in stores:
            # of a few cells, what is read is verified
            with reading(path, None if glob else "quick_check(1)") as store:
                self.read(store, glob, runs, points)
            if not len(runs[-1]["started"]):
                raise Failure(f"{path} has no run; cbank ingest puts results in")
        if files:
            self.read_files(files, glob, runs, points)
        self.runs, self.points = (
            {key: np.concatenate([of[key] for of in all_of]) for key in all_of[0]}
            for all_of in (runs, points)
        )
        self.sort(len(runs) > 1)
        self.say_later()

    def say_later(self) -> None:
        """Marks the runs that began later than now and a day: no verdict is made of them."""
        self.later = self.runs["started"] > latest_ms()
        self.points["change"][self.later[self.points["run"]]] = np.nan
        if self.later.any():
            file, started = (self.runs[key][self.later][0] for key in ("file", "started"))
            say(
                "warning",
                f"{self.later.sum()} of {len(self.later)} runs began later than now and a day,"
                f" such as {printable(file)} at {write_time(int(started))}: no verdict is made of"
                " them; set the clock of their hosts",
            )

    def read_files(
        self, files: list[str], glob: str | None, runs: list[dict], points: list[dict]
    ) -> None:
        with contextlib.closing(open_in_memory()) as store:
            counts = add_all(store, files, later=True)
            if counts["refused"]:
                raise Failure(
                    f"{counts['refused']} of {len(files)} files were refused; write them again, or"
                    " leave them out"
                )
            if counts["known"]:
                say(
                    "warning",
                    f"{counts['known']} of {len(files)} files were read already; they count once",
                )
            if not counts["new"]:
                raise Failure(f"{files[0]} is no result; name results, folders of them or stores")
            self.read(store, glob, runs, points)

    def read(
        self, store: sqlite3.Connection, glob: str | None, runs: list[dict], points: list[dict]
    ) -> None:
        """Adds what a store says."""
        self.known.read(store)
        self.forgotten += store.execute(
            "SELECT started_ms, uuid, file, forgotten_ms, why, hash FROM forgotten ORDER BY"
            " started_ms"
        ).fetchall()
        setup_of = {}
        for setup_id, *values in store.execute(
            f"SELECT setup_id, {', '.join(RUN_TEXTS)} FROM setups"
        ):
            setup_of[setup_id] = len(self.setups)
            self.setups.append(dict(zip(RUN_TEXTS, values)))
        first = sum(len(of["started"]) for of in runs)
        rows = store.execute(
            "SELECT run_id, started_ms, setup_id, cells, failed, file, hash FROM runs ORDER BY"
            " started_ms, file, run_id"
        ).fetchall()
        run_id, started, setup, cells, failed, file, key = zip(*rows) if rows else [()] * 7
        run_id = np.array(run_id, dtype=int)
        runs.append(
            {
                "started": np.array(started, dtype=np.int64),
                "setup": np.array([setup_of[of] for of in setup], dtype=int),
                "cells": np.array(cells, dtype=int),
                "failed": np.array(failed, dtype=int),
                "file": np.array(file, dtype=object),
                "hash": np.array(key, dtype=object),
            }
        )
        place_of = np.full(int(run_id.max(initial=0)) + 1, -1)
        place_of[run_id] = first + np.arange(len(run_id))
        hash_of = {
            kernel_id: self.hashes.setdefault(sha, len(self.hashes))
            for kernel_id, sha in store.execute("SELECT kernel_id, sass_sha256 FROM kernels")
        }
        for identity_id, identity in store.execute(
            "SELECT identity_id, identity FROM identities"
        ).fetchall():
            if glob is None or fnmatch.fnmatchcase(identity, glob):
                cell = self.identities.setdefault(printable(identity), len(self.identities))
                points.append(self.read_cell(store, identity_id, cell, place_of, hash_of))
        if not points:
            points.append(self.read_cell(store, -1, 0, place_of, hash_of))

    def ends_badly(self) -> bool:
        """Whether cells of the last run of a GPU failed or are invalid."""
        last = {}
        order = np.argsort(self.runs["started"], kind="stable")
        order = order[~self.later[order]]
        for setup, failed in zip(self.runs["setup"][order], self.runs["failed"][order]):
            last[self.setups[setup]["uuid"]] = failed
        return any(last.values())

    def read_cell(
        self,
        store: sqlite3.Connection,
        identity_id: int,
        cell: int,
        place_of: np.ndarray,
        hash_of: dict[int, int],
    ) -> dict[str, np.ndarray]:
        """Columns of the points of a cell."""
        rows = store.execute(
            (
                "SELECT run_id, time_ns, ci_low_ns, ci_high_ns, flags, kernel_id FROM times WHERE"
                " identity_id = ? ORDER BY run_id"
            ),
            (identity_id,),
        ).fetchall()
        run_id, time_ns, low, high, flags, kernel = zip(*rows) if rows else [()] * 6
        doubtful = {of: of is not None and not DOUBTFUL.isdisjoint(of.split()) for of in set(flags)}
        ns, low, high = (np.array(of, dtype=float) for of in (time_ns, low, high))
        hash_of_flags = {of: text_hash(of) for of in set(flags)}
        of_run, flag, code = (
            np.array(of, dtype=np.uint64)
            for of in (run_id, [hash_of_flags[of] for of in flags], [of or 0 for of in kernel])
        )
        hashes = np.where(
            np.isnan(ns), 0, time_hash(identity_id, of_run, ns.view(np.uint64))
        ) + point_hash(identity_id, of_run, low.view(np.uint64), high.view(np.uint64), flag, code)
        if modulo(hashes.sum()) != sum_of(store, "times", identity_id):
            raise sqlite3.DatabaseError(
                f"the times of cell {identity_id} do not fit their checksum"
            )
        number_of_hash = np.zeros(int(code.max(initial=0)) + 1, dtype=int)
        for kernel_id in set(code.tolist()):
            number_of_hash[kernel_id] = hash_of.get(kernel_id, 0)
        with np.errstate(invalid="ignore"):
            half = (high - low) / 2 / np.where(ns > 0, ns, np.nan)
        return {
            "run": place_of[np.array(run_id, dtype=int)],
            "cell": np.full(len(rows), cell),
            "ns": ns,
            "half": half,
            "doubtful": np.array([doubtful[of] for of in flags], dtype=bool),
            "kernel": number_of_hash[code],
        }

    def sort(self, merge: bool) -> None:
        """Brings all into order. merge: the runs are of several sources."""
        points = self.points
        if merge:
            by_start = np.lexsort((self.runs["file"].astype(str), self.runs["started"]))
            self.runs = {key: of[by_start] for key, of in self.runs.items()}
            points["run"] = np.argsort(by_start)[points["run"]]
        keys = [(of["uuid"] or "", of["name"], of["engine"]) for of in self.setups]
        ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
        self.gpu = np.array([ranks[key] for key in keys], dtype=int)[self.runs["setup"]]
        self.names = sorted(self.identities, key=natural)
        rank = np.zeros(len(self.names) + 1, dtype=int)
        rank[[self.identities[name] for name in self.names]] = np.arange(len(self.names))
        points["cell"] = rank[points["cell"]]
        gpu = self.gpu[points["run"]]
        order = np.lexsort((points["run"], gpu, points["cell"]))
        points = {key: of[order] for key, of in points.items()}
        points["gpu"] = gpu[order]
        self.points = self.drop_repeated(points)
        points = self.points
        same = np.zeros(len(points["run"]), dtype=bool)  # the point before is of the same series
        same[1:] = (points["cell"][1:] == points["cell"][:-1]) & (
            points["gpu"][1:] == points["gpu"][:-1]
        )
        points["change"] = np.full(len(same), np.nan)
        at = np.flatnonzero(same)
        points["change"][at] = points["ns"][at] / points["ns"][at - 1] - 1
        self.starts = np.flatnonzero(~same)

    def drop_repeated(self, points: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Points of a run that was read twice count once. Predictions tell no run from another."""
        modelled = np.array([bool(of["modelled"]) for of in self.setups], dtype=bool)[
            self.runs["setup"]
        ]
        started = self.runs["started"][points["run"]]
        same = np.zeros(len(started), dtype=bool)
        same[1:] = (
            (points["cell"][1:] == points["cell"][:-1])
            & (points["gpu"][1:] == points["gpu"][:-1])
            & (started[1:] == started[:-1])
            & (points["ns"][1:] == points["ns"][:-1])
            & ~modelled[points["run"][1:]]
        )
        if same.any():
            say(
                "warning",
                (
                    f"{same.sum()} of {len(same)} times are of runs that were read already; they"
                    " count once"
                ),
            )
        return {key: of[~same] for key, of in points.items()}

    def setup(self, run: int) -> dict:
        return self.setups[int(self.runs["setup"][run])]

    def name(self, point: int) -> str:
        """The cell of a point."""
        return self.names[int(self.points["cell"][point])]


# ---- Changes of levels ---------------------------------------------------------------------------


@dataclass
class Change:
    """Where the level of a series changed."""

    cell: str
    before: int  # the last run of the old level
    after: int  # the first one of the new level
    step: Step
    together: str  # what changed at the same time: driver, VBIOS, code

    def tested(self) -> bool:
        """Whether it is known not to be chance."""
        return not math.isnan(self.step.p)


def find_changes(history: History, threshold: float) -> list[Change]:
    """Changes, and levels of short series, of all series with four points or more whose times
    settled; the latest first. `threshold` is relative."""
    points = history.points
    good = np.flatnonzero((points["ns"] > 0) & ~points["doubtful"] & ~history.later[points["run"]])
    number = np.searchsorted(history.starts, good, side="right") - 1  # of the series
    members = [
        of
        for of in np.split(good, np.flatnonzero(np.diff(number)) + 1)
        if len(of) >= 2 * RUNS_OF_A_LEVEL
    ]
    found = []
    for step in find_steps([series_of(history, of) for of in members], threshold):
        before, after = members[step.series][step.first - 1 : step.first + 1]
        runs = [int(points["run"][at]) for at in (before, after)]
        found.append(Change(history.name(after), *runs, step, together(history, before, after)))
    order = {name: index for index, name in enumerate(history.names)}
    return sorted(found, key=lambda change: (-change.after, order[change.cell]))


def series_of(history: History, members: np.ndarray) -> Series:
    """The series of some points."""
    points, first = history.points, members[0]
    setup, name, known = history.setup(points["run"][first]), history.name(first), []
    if history.known.cells and not setup["modelled"]:
        sha = list(history.hashes)[points["kernel"][first]]
        known = history.known.find(
            name, {setup["uuid"]} - {None}, setup["name"], setup["driver"] or "", sha
        )
    return Series(
        name,
        int(points["gpu"][first]),
        setup["name"] or "",
        np.log(points["ns"][members]),
        known,
        bool(setup["modelled"]),
    )


def together(history: History, before: int, after: int) -> str:
    """Names the driver, VBIOS or code that changed at the same time."""
    old, new = (history.setup(history.points["run"][at]) for at in (before, after))
    kernels = [history.points["kernel"][at] for at in (before, after)]
    said = [
        f"{name} {printable(old[key])} -> {printable(new[key])}"
        for name, key in (("driver", "driver"), ("VBIOS", "vbios"))
        if old[key] and new[key] and old[key] != new[key]
    ]
    return "; ".join(
        said + (["the code changed"] if all(kernels) and kernels[0] != kernels[1] else [])
    )
