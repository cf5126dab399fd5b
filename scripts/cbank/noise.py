# SPDX-License-Identifier: MIT
"""How far the processes of a cell differ: by the calibrations of a store, else by default.

A deviation is the standard deviation of the logarithm of one process's time: 0.01 is 1 %. Each comes with its degrees of
freedom. The default is the root of relative^2 + (ns / time)^2, as in harness/compare/deviation.def, which a test compares.
"""

from __future__ import annotations

import math
import sqlite3
from collections import namedtuple

Default = namedtuple("Default", "relative ns degrees")
Noise = namedtuple("Noise", "deviation degrees origin")

PROCESS = {"hot": Default(0.00019, 0.27, 9.3), "cold": Default(0.00022, 3.4, 15), "copies": Default(0, 48, 7.2)}
BOARD = Default(0.0053, 0, 8)  # what another GPU of the model adds
SERIES_PROCESS = 0.0005  # part of every interval of a time, as a standard deviation
ERRORS_TO_END = 1.9599877075001344  # from a value to the end of its interval of 95 %
DEGREES_MOST = 100000
COPIES = "refill_bytes="  # the parameter of cells that copy memory before every launch


def default(row: Default, ns: float) -> float:
    """The deviation of a time of `ns` nanoseconds by a row of PROCESS, or BOARD."""
    return math.hypot(row.relative, row.ns / ns)


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
        self.cells = {}  # (identity, name of the GPU, driver): [(uuid, sass_sha256, median_ns, deviation, degrees)]

    def read(self, store: sqlite3.Connection) -> None:
        """Adds what a store knows."""
        for identity, name, driver, *values in store.execute(
                "SELECT identity, name, driver, uuid, sass_sha256, median_ns, deviation, degrees FROM calibrated"
                " JOIN calibrations USING (calibration_id) JOIN identities USING (identity_id) ORDER BY calibration_id"):
            self.cells.setdefault((identity, name, driver), []).append(values)

    def find(self, identity: str, ns: float, uuid: str | None, name: str, driver: str, sha: str | None) -> Noise:
        """The noise of a cell on a GPU: by a calibration of that GPU, driver and code; else by one of another GPU of the model, with
        what boards differ by added; else by default."""
        found = None
        for of, code, median, deviation, degrees in reversed(self.cells.get((identity, name, driver), ()) if uuid and sha else ()):
            if code == sha and of == uuid:
                return Noise(deviation, degrees, "calibration")
            if code == sha and not found:
                board = default(BOARD, median) ** 2
                variance = deviation * deviation + board
                uncertain = deviation ** 4 / degrees + board * board / BOARD.degrees  # Satterthwaite (1946)
                found = Noise(math.sqrt(variance), variance * variance / uncertain if uncertain else DEGREES_MOST, "calibration_of_another_board")
        row = PROCESS[column(identity)]
        return found or Noise(default(row, ns), row.degrees, "default")
