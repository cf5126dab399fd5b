# SPDX-License-Identifier: MIT
"""Results of many GPUs in many nights, made of a committed one, for the tests of stores and fleets.
"""

import copy
import datetime
import json
import os
import sqlite3

from common import ROOT, Scratch, read_json, scale

SOURCE = read_json(os.path.join(ROOT, "results/h100/core-matrix.json"))
# of a quiet GPU, whatever the committed one was: samples are in +-0.08 % of their time
for CELL in SOURCE["cells"]:
    TIME, COUNT = CELL["time_ns"]["value"], len(CELL["time_ns"]["samples"])
    CELL["time_ns"].update(
        median=TIME,
        ci_low=TIME * 0.9998,
        ci_high=TIME * 1.0002,
        mad=TIME * 0.0004,
        min=TIME * 0.9992,
        samples=[TIME * (1 + 0.0004 * (i % 5 - 2)) for i in range(COUNT // 5 * 5)],
    )
DRIVER = SOURCE["device"]["driver"]
FIRST_NIGHT = datetime.datetime(2026, 3, 1, 2, 0, 0)


def utc(when):
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def start(gpu, night):
    return FIRST_NIGHT + datetime.timedelta(days=night, seconds=gpu)


def uuid(gpu):
    return f"GPU-{gpu:08x}-1111-4111-8111-111111111111"


def result_of(gpu, night, cells=3, node=8):
    """A result of that GPU in that night. cells: how many, or which."""
    result = copy.deepcopy(
        {**SOURCE, "cells": SOURCE["cells"][:cells] if isinstance(cells, int) else cells}
    )
    result["started_utc"], result["finished_utc"] = utc(start(gpu, night)), utc(
        start(gpu, night) + datetime.timedelta(seconds=2)
    )
    result["device"]["uuid"] = uuid(gpu)
    result["host"] = {
        "name": f"n{gpu // node:02d}",
        "slot": f"00000000:{gpu % node:02X}:00.0",
        "job": str(1000 + night),
    }
    return result


def slower(result, factor, path=None):
    """Makes the cells of a path, or all, slower by a factor."""
    for cell in result["cells"]:
        if path in (None, cell["path"]):
            scale(cell, factor)


def calibration_of(gpu, deviation=0.05, cells=6, **changes):
    """A calibration of that GPU: its processes differ by `deviation`."""
    keys = (
        "identity",
        "workload",
        "path",
        "pattern",
        "elements",
        "block_size",
        "cache_state",
        "parameters",
        "array_bytes",
    )
    return {
        "schema": {"name": "cbank-calibration", "version": "1.0"},
        "tool": SOURCE["tool"],
        "engine": "cuda",
        "modelled": False,
        "device": {**SOURCE["device"], "uuid": uuid(gpu)},
        "processes": 20,
        "cells": [
            {
                **{key: cell[key] for key in keys},
                "noise": 0.1,
                "median_ns": cell["time_ns"]["value"],
                "process_deviation": {
                    "value": deviation,
                    "degrees_of_freedom": 20,
                    "origin": "processes",
                },
                "sass_sha256": cell["kernel"]["sass_sha256"],
            }
            for cell in SOURCE["cells"][:cells]
        ],
        **changes,
    }


class Case(Scratch):
    def nights(self, folder, gpus, nights, **options):
        """Results of GPUs in nights, a file each."""
        for night in range(nights):
            for gpu in range(gpus):
                self.write(
                    f"{folder}/{night:02d}/gpu{gpu:02d}.json", result_of(gpu, night, **options)
                )

    def ask(self, question, *values, store="store.db"):
        database = sqlite3.connect(self.path(store))
        try:
            return database.execute(question, values).fetchall()
        finally:
            database.close()

    def dump(self, store="store.db"):
        """All that the store says, when it is whole."""
        self.assertEqual(self.ask("PRAGMA integrity_check", store=store), [("ok",)])
        database = sqlite3.connect(self.path(store))
        try:
            return list(database.iterdump())
        finally:
            database.close()

    def bad_stores(self):
        """(name, message) of files that are no stores, in the folder of store.db."""
        with open(self.path("store.db"), "rb") as file:
            data = bytearray(file.read())
        for name, statement in (
            ("newer.db", "PRAGMA user_version = 1000"),
            ("foreign.db", "CREATE TABLE t (x)"),
        ):
            if name == "newer.db":
                self.write_bytes(name, data)
            database = sqlite3.connect(self.path(name))
            database.execute(statement)
            database.commit()
            database.close()
        self.write("text.db", "this is a text, and no database of any kind" * 100)
        data[5000:] = os.urandom(len(data) - 5000)
        self.write_bytes("damaged.db", data)
        return [
            ("newer.db", "newer.db has version 1000 of the schema"),
            ("foreign.db", "foreign.db is no store"),
            ("text.db", "text.db is no store"),
            ("damaged.db", "damaged.db: "),
        ]

    def write_bytes(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)

    def json_of(self, *arguments, schema, status=0):
        """The JSON that a command prints, which the schema allows."""
        import jsonschema  # of the distribution's packages: for tests alone

        document = json.loads(self.cbank(*arguments, status=status).stdout)
        jsonschema.validate(document, read_json(os.path.join(ROOT, "results", schema)))
        return document
