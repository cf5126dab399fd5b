# SPDX-License-Identifier: MIT
"""Many GPUs of a store, night by night: who they are, when they ran, and their times as arrays."""

from __future__ import annotations

import datetime
import sqlite3
from dataclasses import dataclass, field

import numpy as np

from . import text
from .dates import DAY_MS, latest_ms, read_time, write_time
from .errors import Failure, printable, say
from .calibrated import Known
from .changes import Cell
from .checksums import hashes, modulo, time_hash
from .fleet_groups import LEVELS
from .store import SETUP

HOUR_MS = 3600_000
DOMAIN = "00000000:"  # of nearly every slot
CACHE_STATES = ("hot", "cold")


def place(host: str, slot: str) -> str:
    """Where a board sits: n17:07:00.0."""
    slot = slot.removeprefix(DOMAIN)
    return f"{host}:{slot}" if host and slot else host + slot


@dataclass
class Gpu:
    """A board, by its UUID; without one, by host and slot. Texts are those of its last run, ""
    where they are not known."""

    uuid: str
    name: str
    modelled: int  # 1: its times are predictions
    last: int  # its last run
    answered: bool  # it ran in the last night
    host: str
    slot: str
    driver: str
    vbios: str
    geometry: str
    part_number: str  # with the next, of any of its runs
    constant_cache_groups: str  # JSON
    model: int = -1  # of one that answered: its model, and its number there
    member: int = -1

    def kind(self) -> tuple[str, str] | None:
        """What boards of one kind have in common, by their records; None: not known."""
        kind = self.part_number, self.constant_cache_groups
        return kind if all(kind) else None

    def group(self, level: str) -> str:
        return {"model": self.name, "driver": self.driver, "vbios": self.vbios, "node": self.host}[
            level
        ]

    def label(self) -> str:
        """By place and UUID: n17:07:00.0 GPU-33a20bea."""
        return (
            " ".join(filter(None, (place(self.host, self.slot), text.short_uuid(self.uuid))))
            or self.name
        )


@dataclass
class Model:
    """All GPUs of a name that answered."""

    gpus: list = field(default_factory=list)  # of the fleet
    uuids: set = field(default_factory=set)  # of these, where they are known
    groups: dict = field(default_factory=dict)  # {level: number of the group of each GPU}
    base: np.ndarray | None = None  # [GPUs, rounds]: of the baseline
    cells: list = field(default_factory=list)  # of the fleet, each a changes.Cell


class Fleet:
    """Many GPUs of a store, night by night. No gap is between the starts of runs of a night. A GPU
    that ran several times in a night has a value in as many rounds of it.

    Arrays have an element for each run, in the order of starts: run_id, started, setup, gpu, night,
    round, model, member."""

    def __init__(
        self,
        path: str,
        store: sqlite3.Connection,
        nights: int | None,
        gap_hours: float,
        baseline: str | None,
    ):
        self.path, self.store, self.baseline = path, store, baseline
        self.read_runs()
        self.find_nights(gap_hours, None if baseline else nights)
        self.find_models()
        self.find_baseline()
        self.read_last()
        self.read_times()

    def read_runs(self) -> None:
        rows = self.store.execute(
            "SELECT run_id, started_ms, setup_id, time_sum, rest_sum FROM runs ORDER BY started_ms,"
            " run_id"
        ).fetchall()
        if not rows:
            raise Failure(
                f"{self.path} has no runs; put results into it: cbank ingest {self.path} PATH..."
            )
        rows = self.drop_later(rows)
        self.run_id, self.started, self.setup, self.time_sum, self.rest_sum = np.array(
            rows, dtype=np.int64
        ).T
        names = [name for name in SETUP if name != "engine"]
        self.setups = {
            setup_id: dict(
                zip(
                    names,
                    (
                        printable(value) if isinstance(value, str) else value or ""
                        for value in values
                    ),
                )
            )
            for setup_id, *values in self.store.execute(
                f"SELECT setup_id, {', '.join(names)} FROM setups"
            )
        }
        numbers, gpu_of = {}, {}
        for setup_id in dict.fromkeys(self.setup.tolist()):
            of = self.setups[setup_id]
            key = (
                of["uuid"],
                of["name"],
                of["modelled"],
                *(() if of["uuid"] else (of["host"], of["slot"])),
            )
            gpu_of[setup_id] = numbers.setdefault(key, len(numbers))
        self.gpu = np.array([gpu_of[setup_id] for setup_id in self.setup.tolist()])

    def drop_later(self, rows: list[tuple]) -> list[tuple]:
        """The runs that began until now and a day. No verdict is made of a night that has not
        been."""
        latest = latest_ms()
        kept = [row for row in rows if row[1] <= latest]
        if len(kept) == len(rows):
            return rows
        run_id, started = rows[len(kept)][:2]
        (file,) = self.store.execute("SELECT file FROM runs WHERE run_id = ?", (run_id,)).fetchone()
        wrong = (
            f"{len(rows) - len(kept)} of {len(rows)} runs began later than now and a day, such as"
            f" {printable(file)} at {write_time(started)}"
        )
        if not kept:
            raise Failure(f"{self.path}: {wrong}; set the clock of their hosts, or of this one")
        say(
            "warning",
            f"{wrong}: no verdict is made of them; set the clock of their hosts, and take them"
            " out: cbank ingest --forget",
        )
        return kept

    def find_nights(self, gap_hours: float, nights: int | None) -> None:
        """Nights, and the rounds of each: as many as the GPU has runs that has most."""
        self.night = np.cumsum(np.diff(self.started, prepend=self.started[0]) > gap_hours * HOUR_MS)
        dropped = max(self.night[-1] + 1 - nights, 0) if nights else 0
        kept = self.night >= dropped
        (
            self.run_id,
            self.started,
            self.setup,
            self.time_sum,
            self.rest_sum,
            self.gpu,
            self.night,
        ) = (
            of[kept]
            for of in (
                self.run_id,
                self.started,
                self.setup,
                self.time_sum,
                self.rest_sum,
                self.gpu,
                self.night - dropped,
            )
        )
        there = np.unique(self.gpu)
        self.gpu = np.searchsorted(there, self.gpu)  # GPUs without a run left are gone
        order = np.lexsort((np.arange(len(self.gpu)), self.gpu, self.night))
        first = np.flatnonzero(
            np.diff(self.night[order] * len(there) + self.gpu[order], prepend=-1)
        )
        nth = np.empty(len(order), dtype=int)  # run of its GPU in that night
        nth[order] = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
        self.nights = int(self.night[-1]) + 1
        rounds = np.zeros(self.nights, dtype=int)
        np.maximum.at(rounds, self.night, nth + 1)
        self.first_round = np.cumsum(rounds) - rounds
        self.rounds = int(rounds.sum())
        self.round = self.first_round[self.night] + nth
        self.night_of_round = np.repeat(np.arange(self.nights), rounds)
        self.first_ms = self.started[np.searchsorted(self.night, np.arange(self.nights))]

    def find_models(self) -> None:
        last = dict(zip(self.gpu.tolist(), range(len(self.gpu))))
        self.gpus = [
            Gpu(
                last=last[i],
                answered=bool(self.night[last[i]] == self.nights - 1),
                **self.setup_of(last[i]),
            )
            for i in range(len(last))
        ]
        for run, number in enumerate(self.gpu.tolist()):
            setup = self.setup_of(run)
            if setup["part_number"] and setup["constant_cache_groups"]:
                for key in ("part_number", "constant_cache_groups"):
                    setattr(self.gpus[number], key, setup[key])
        models = {}
        for number, gpu in enumerate(self.gpus):
            if gpu.answered:
                model = models.setdefault((gpu.name, gpu.modelled), Model())
                gpu.model, gpu.member = list(models).index((gpu.name, gpu.modelled)), len(
                    model.gpus
                )
                model.gpus.append(number)
                model.uuids |= {gpu.uuid} - {""}
        self.models = list(models.values())
        self.model, self.member = (
            np.array([getattr(gpu, key) for gpu in self.gpus])[self.gpu]
            for key in ("model", "member")
        )
        for model in self.models:
            for level in LEVELS[1:-1]:
                keys = [self.gpus[number].group(level) or number for number in model.gpus]
                numbers = {key: i for i, key in enumerate(dict.fromkeys(keys))}
                model.groups[level] = np.array([numbers[key] for key in keys])

    def find_baseline(self) -> None:
        """Marks the runs of the baseline: with a driver, or until a date."""
        if not self.baseline:
            return
        drivers = [self.setups[setup_id]["driver"] for setup_id in self.setup.tolist()]
        until = date_of(self.baseline)
        based = self.started <= until if until is not None else np.array(drivers) == self.baseline
        if not (based & (self.model >= 0)).any():
            raise Failure(
                f"--baseline {self.baseline}: {self.path} has no run of that driver or until that"
                f" date; drivers: {', '.join(dict.fromkeys(drivers))}"
            )
        for number, model in enumerate(self.models):
            runs = np.flatnonzero((self.model == number) & based)
            model.base = np.zeros((len(model.gpus), self.rounds), dtype=bool)
            model.base[self.member[runs], self.round[runs]] = True

    def fits(self, runs: np.ndarray, sums: np.ndarray | list[int], expected: np.ndarray) -> None:
        """Raises Failure where a run does not fit its checksum."""
        wrong = [run for run in runs.tolist() if modulo(sums[run]) != expected[run]]
        if wrong:
            (file,) = self.store.execute(
                "SELECT file FROM runs WHERE run_id = ?", (int(self.run_id[wrong[0]]),)
            ).fetchone()
            raise sqlite3.DatabaseError(f"the run {file} does not fit its checksum")

    def read_last(self) -> None:
        """Rows of the last night, by cell and run."""
        last = np.flatnonzero(self.night == self.nights - 1)
        place_of = dict(zip(self.run_id[last].tolist(), last.tolist()))
        self.last, sums = {}, [0] * len(self.run_id)
        for (identity_id,) in self.store.execute(
            "SELECT identity_id FROM identities ORDER BY identity"
        ).fetchall():
            for row in self.store.execute(
                "SELECT * FROM times WHERE identity_id = ? AND run_id BETWEEN ? AND ?",
                (identity_id, min(place_of), max(place_of)),
            ):
                if row[1] in place_of:
                    self.last[row[:2]] = row
                    _, point, rest = hashes(row)
                    sums[place_of[row[1]]] += point + rest
        self.fits(last, sums, self.rest_sum)

    def read_times(self) -> None:
        """Times of all cells that some GPU has in the last night."""
        known = Known()
        known.read(self.store)
        self.cells = []  # (key of the store, identity, path)
        place_of = np.full(int(self.run_id.max()) + 1, -1)
        place_of[self.run_id] = np.arange(len(self.run_id))
        kind = np.dtype([("run", "i8"), ("ns", "f8")])
        first = int(self.run_id[self.model >= 0].min())
        sums = np.zeros(len(self.run_id), dtype=np.uint64)
        for identity_id, identity in self.store.execute(
            "SELECT identity_id, identity FROM identities ORDER BY identity"
        ).fetchall():
            rows = np.fromiter(
                self.store.execute(
                    (
                        "SELECT run_id, time_ns FROM times WHERE identity_id = ? AND run_id >= ?"
                        " AND time_ns ORDER BY run_id"
                    ),
                    (identity_id, first),
                ),
                kind,
            )
            rows = rows[rows["run"] < len(place_of)]
            runs = place_of[rows["run"]]
            good = (runs >= 0) & (self.model[runs] >= 0)
            runs, ns = runs[good], rows["ns"][good]
            sums[runs] += time_hash(
                identity_id, self.run_id[runs].view(np.uint64), ns.view(np.uint64)
            )
            parts = identity.split("/")
            if len(parts) < 6 or parts[5] not in CACHE_STATES:
                continue
            logs = np.log(ns)
            latest = self.night[runs] == self.nights - 1
            if not latest.any():
                continue
            self.cells.append((identity_id, identity, parts[1]))
            for number, model in enumerate(self.models):
                of = self.model[runs] == number
                log_ns = np.full((len(model.gpus), self.rounds), np.nan)
                log_ns[self.member[runs[of]], self.round[runs[of]]] = logs[of]
                last = np.flatnonzero(of & latest)
                cell = Cell(identity, log_ns)
                if len(last):
                    self.know(known, model, identity_id, cell, runs[last[-1]])
                model.cells.append(cell)
        self.fits(np.flatnonzero(self.model >= 0), sums, self.time_sum)

    def know(self, known: Known, model: Model, identity_id: int, cell: Cell, run: int) -> None:
        """Sets what is known of the noise of a cell: by calibrations, and by the interval of a
        time of the last night."""
        _, _, _, low, high, *_, kernel_id, _ = self.last[identity_id, int(self.run_id[run])]
        sha = self.store.execute(
            "SELECT max(sass_sha256) FROM kernels WHERE kernel_id = ?", (kernel_id,)
        ).fetchone()[0]
        gpu = self.gpus[model.gpus[0]]
        cell.known = known.find(cell.identity, model.uuids, gpu.name, gpu.driver, sha)
        if low and high and low > 0:
            cell.interval_ns = (low, high)

    def setup_of(self, run: int) -> dict:
        return self.setups[int(self.setup[run])]

    def last_night_ms(self) -> tuple[int, int]:
        """Starts of its first and of its last run."""
        return int(self.first_ms[-1]), int(self.started[-1])


def date_of(baseline: str) -> int | None:
    """The end of a day, or a time to the millisecond; None where the text is no date."""
    try:
        if len(baseline) == 10:
            datetime.date.fromisoformat(baseline)
            return read_time(baseline + "T00:00:00Z") + DAY_MS - 1
        return read_time(baseline)
    except ValueError:
        return None
