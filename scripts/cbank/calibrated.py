# SPDX-License-Identifier: MIT
"""The calibrations of stores and files: how far the processes of a cell differ on a GPU."""

from __future__ import annotations

import sqlite3

from .changes import evidence


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
        self, identity: str, uuids: set[str], name: str, driver: str, sha: str | None
    ) -> list[dict]:
        """What is known of a cell on GPUs of a model: by the latest calibration of each for that
        driver and code, as the instrument takes it."""
        latest = {
            uuid: evidence(deviation, degrees, "calibration")
            for uuid, code, _, deviation, degrees in self.cells.get((identity, name, driver), ())
            if uuid in uuids and sha and code == sha
        }
        return list(latest.values())
