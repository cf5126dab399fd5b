#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Schemas are what the program prints. JSON, CSV and DataFrame have the columns that they name.

CBANK names the program (default build/cbank)."""

import csv
import io
import json
import os
import sys
import tempfile
import unittest

from common import ROOT, cbank, read_json

sys.path.insert(0, os.path.join(ROOT, "scripts"))
from cbank import frames  # noqa: E402  (of scripts/)

RESULT = "results/h200/core-matrix.json"
OTHER = "results/h200/second-process.json"
CALIBRATION = "results/chips/h200/calibration.json"
SCHEMA = "results/schema.json"


class Schemas(unittest.TestCase):
    def test_keys_that_documents_have_are_in_the_schema(self):
        schema = read_json(os.path.join(ROOT, SCHEMA))

        def check(found, part, path):
            if isinstance(found, dict) and "properties" in part:
                self.assertLessEqual(set(found), set(part["properties"]), path)
                for key, member in found.items():
                    check(member, part["properties"][key], (*path, key))
            elif isinstance(found, dict) and isinstance(part.get("additionalProperties"), dict):
                for key, member in found.items():
                    check(member, part["additionalProperties"], (*path, key))
            elif isinstance(found, list) and "items" in part:
                for member in found:
                    check(member, part["items"], path)

        for name in (RESULT, "results/h100/kernels/packed.json"):
            check(read_json(os.path.join(ROOT, name)), schema, (name,))


class Columns(unittest.TestCase):
    """The columns that the schemas name are those of CSV and of the DataFrame."""

    @classmethod
    def setUpClass(cls):
        os.environ.setdefault("CBANK_PROGRAM", os.path.join(ROOT, "build/cbank"))

    def properties(self):
        schema = read_json(os.path.join(ROOT, SCHEMA))
        return schema["properties"]["cells"]["items"]["properties"]

    def test_csv_has_each_column_of_the_schema(self):
        def named(properties):
            for part in properties.values():
                yield from [part["csv"]] if "csv" in part else []
                yield from named(part.get("properties", {}))

        columns = next(csv.reader(io.StringIO(cbank("show", RESULT, "--csv").stdout)))
        self.assertEqual(len(columns), len(set(columns)))
        self.assertEqual(set(named(self.properties())) - set(columns), set())
        # what is not there follows from several values, or is the cell itself
        self.assertGreater(len(set(named(self.properties()))), 40)

    def test_no_column_of_the_frame_has_two_meanings(self):
        names = [column for column, _, _ in frames.values_of(self.properties())]
        self.assertEqual(len(names), len(set(names)))
        for table in ("counters", "parameters"):
            rows = json.loads(cbank("list", table, "--json").stdout)
            self.assertEqual(set(names) & {row["name"] for row in rows}, set(), table)

    def test_the_frame_has_the_values_of_the_document(self):
        (document,) = [read_json(os.path.join(ROOT, RESULT))]
        rows = frames.load(os.path.join(ROOT, RESULT))
        for cell, (_, row) in zip(document["cells"], rows.iterrows(), strict=True):
            self.assertEqual(
                (row["time_ns_low"], row["registers"], row["stop_reason"], row["symbol"]),
                (
                    cell["time_ns"]["ci_low"],
                    cell["kernel"]["registers"],
                    cell["time_ns"]["stop_reason"],
                    cell["kernel"]["name"],
                ),
            )
            self.assertEqual(row["samples_ns"], cell["time_ns"]["samples"])

    def test_the_frame_has_the_values_of_a_comparison(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "comparison.json")
            cbank("compare", RESULT, OTHER, "--threshold", "0.2", "--json", file)
            document, rows = read_json(file), frames.load(file)
        for cell, (_, row) in zip(document["cells"], rows.iterrows(), strict=True):
            self.assertEqual(
                tuple(row[["verdict", "base_ns", "ratio", "ratio_low", "ratio_high", "threshold"]]),
                (
                    cell["verdict"],
                    cell["base_ns"],
                    *(cell["ratio"][key] for key in ("value", "ci_low", "ci_high")),
                    0.002,
                ),
            )

    def test_the_frame_has_the_values_of_a_calibration(self):
        file = os.path.join(ROOT, CALIBRATION)
        document, rows = read_json(file), frames.load(file)
        for cell, (_, row) in zip(document["cells"], rows.iterrows(), strict=True):
            self.assertEqual(
                tuple(row[["time_ns", "noise", "deviation"]]),
                (cell["median_ns"], cell["noise"], cell["process_deviation"]["value"]),
            )


if __name__ == "__main__":
    unittest.main()
