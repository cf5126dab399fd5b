# SPDX-License-Identifier: MIT
"""How far the processes of a cell differ, on one occasion and on several: by calibrations, else by
default, and by what is seen.

A deviation is the standard deviation of the logarithm of one process's time: 0.01 is 1 %. Each
comes with its degrees of freedom. All is as in harness/compare/deviation.h for cbank compare; a
test compares both. The default is the root of relative^2 + (ns / time)^2.
"""

from __future__ import annotations

import functools
import math
import sqlite3
from collections import namedtuple

Default = namedtuple("Default", "relative ns degrees")
Deviation = namedtuple("Deviation", "value degrees")  # of one value; degrees 0: not known
Noise = namedtuple("Noise", "deviation degrees origin")

PROCESS = {
    "hot": Default(0.00019, 0.27, 9.3),
    "cold": Default(0.00022, 3.4, 15),
    "copies": Default(0, 48, 7.2),
}
OCCASION = {"hot": Default(0, 0.31, 4), "cold": Default(0, 0, 2), "copies": Default(0, 0.31, 4)}
LATER = Default(0.0005, 0, 100)  # assumed: no board was measured hours apart
BOARD = Deviation(0.0027, 1.4)  # GPUs of a model
SCALE_STEPS = 30  # until the scale moves by less than 1 %
EFFICIENCY_OF_DIFFERENCE = 0.37  # of the median of differences: degrees of freedom of each
SERIES_PROCESS = 0.0005  # part of every interval of a time, as a standard deviation
ERRORS_TO_END = 1.9599877075001344  # from a value to the end of its interval of 95 %
COPIES = "refill_bytes="  # the parameter of cells that copy memory before every launch


def default(row: Default, ns: float) -> float:
    """The deviation of a time of `ns` nanoseconds by a row of PROCESS."""
    return math.hypot(row.relative, row.ns / ns)


def pool(one: Deviation, other: Deviation) -> Deviation:
    """Two deviations of one quantity, by degrees of freedom; as deviation_pool."""
    degrees = one.degrees + other.degrees
    squares = one.degrees * one.value**2 + other.degrees * other.value**2
    return Deviation(math.sqrt(squares / degrees), degrees) if degrees else Deviation(0.0, 0)


def on_days(process: Deviation, identity: str, ns: float) -> Deviation:
    """The deviation of one process among those of days, with what occasions add and
    Satterthwaite's degrees."""
    parts = [
        process,
        *(Deviation(default(row, ns), row.degrees) for row in (OCCASION[column(identity)], LATER)),
    ]
    variance = sum(of.value**2 for of in parts)
    return Deviation(
        math.sqrt(variance), variance**2 / sum(of.value**4 / of.degrees for of in parts)
    )


def median_variance(count: int) -> float:
    """Variance of the median of `count` normal values of variance 1, exact to 1 %; as
    deviation_of_median."""
    return 1 / count if count < 3 else math.pi / 2 / (count + (0.48 if count % 2 else 1.3))


def conclude(
    cells: list[tuple[bool, Deviation, Deviation]], boards: bool = False
) -> list[Deviation]:
    """The deviation of each cell, by (whether caches are flushed, what is known before, what was
    seen): as deviation_conclude."""
    return [
        pool(before, own) if before.degrees else own
        for before, (_, _, own) in zip(scaled(cells, boards), cells)
    ]


def scaled(cells: list[tuple[bool, Deviation, Deviation]], boards: bool = False) -> list[Deviation]:
    """The deviations that are known before, of all cells of a cache state scaled to what these
    show."""
    scale = {}  # of the prior of a cache state, and how uncertain it is
    for flush in (False, True):
        telling = [
            (before.degrees, own.degrees, (own.value / before.value) ** 2)
            for of, before, own in cells
            if of == flush and before.degrees and before.value > 0 and own.degrees
        ]
        seen, factor = sum(own for _, own, _ in telling), 1.0
        prior, one = (max((of[i] for of in telling), default=0) for i in (0, 1))
        for _ in range(SCALE_STEPS if telling else 0):
            weighted = sum(
                own * square * (before + own) / (before + own * square / factor)
                for before, own, square in telling
            )
            factor = max((prior + weighted) / (prior + seen), float(boards))
        scale[flush] = factor, (
            0 if boards or not telling else 1 / (one * ((prior + seen) / seen) ** 2)
        )
    return [
        (
            Deviation(
                before.value * math.sqrt(scale[flush][0]),
                1 / (1 / before.degrees + scale[flush][1]),
            )
            if before.degrees
            else before
        )
        for flush, before, _ in cells
    ]


def column(identity: str) -> str:
    """The column of PROCESS of a cell: hot, cold or copies."""
    parts = identity.split("/")
    if parts[1] != "param" and any(part.startswith(COPIES) for part in parts[6:]):
        return "copies"
    return parts[5]


def error_within(low: float | None, high: float | None) -> float:
    """Standard error of a time within its process, by its interval; 0: not known."""
    if not (low and high and low > 0):
        return 0.0
    error = math.log(high / low) / 2 / ERRORS_TO_END
    return math.sqrt(max(error * error - SERIES_PROCESS * SERIES_PROCESS, 0))


class Known:
    """The calibrations of stores and files. A later one goes before an earlier one."""

    def __init__(self):
        # (identity, name of the GPU, driver): [(uuid, sass_sha256, median_ns, deviation, degrees)]
        self.cells = {}

    def read(self, store: sqlite3.Connection) -> None:
        """Adds what a store knows."""
        for identity, name, driver, *values in store.execute(
            "SELECT identity, name, driver, uuid, sass_sha256, median_ns, deviation, degrees FROM"
            " calibrated JOIN calibrations USING (calibration_id) JOIN identities USING"
            " (identity_id) ORDER BY calibration_id"
        ):
            self.cells.setdefault((identity, name, driver), []).append(values)

    def find(
        self, identity: str, ns: float, uuids: set[str], name: str, driver: str, sha: str | None
    ) -> Noise:
        """The noise of a cell on GPUs of a model: by the latest calibration of each for that
        driver and code, together; else by default."""
        latest = {
            uuid: Deviation(deviation, degrees)
            for uuid, code, _, deviation, degrees in self.cells.get((identity, name, driver), ())
            if uuid in uuids and sha and code == sha
        }
        if latest:
            return Noise(*functools.reduce(pool, latest.values()), "calibration")
        row = PROCESS[column(identity)]
        return Noise(default(row, ns), row.degrees, "default")
