#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A value of a cell is one row: JSON, CSV, text, schema and DataFrame follow from it. A format of a
report or of a grid is a file and a line. Schemas are what the program prints.

CBANK names the program (default build/cbank)."""

import csv
import io
import json
import os
import sys
import unittest

import jsonschema

from common import ROOT, cbank, read_json
from tree import Changes, built

sys.path.insert(0, os.path.join(ROOT, "scripts"))
from cbank import frames  # noqa: E402  (of scripts/)

RESULT = "results/h200/core-matrix.json"
OTHER = "results/h200/second-process.json"
# The file of a schema, by the kind of document.
SCHEMAS = {
    "result": "results/schema.json",
    "comparison": "results/comparison.schema.json",
    "calibration": "results/calibration.schema.json",
    "characterization": "results/characterization.schema.json",
}

REPORT = """\
/* SPDX-License-Identifier: MIT */
#include "report.h"

static enum status write_plain(FILE *stream, const struct comparison *comparison,
                               const struct report_view *view)
{
    (void)view;
    fprintf(stream, "%zu cells\\n", comparison->cell_count);
    return STATUS_OK;
}

const struct report_format report_plain = {.write = write_plain};
"""

GRID = """\
/* SPDX-License-Identifier: MIT */
#include "grid.h"

static enum status print_plain(FILE *stream, const struct grid *grid)
{
    fprintf(stream, "%zu rows\\n", grid->row_count);
    return STATUS_OK;
}

const struct grid_format grid_plain = {.name = "plain", .print = print_plain};
"""

EXPORT = """\
/* SPDX-License-Identifier: MIT */
#include "export.h"

static enum status print_plain(FILE *stream, const struct result *result,
                               const struct export_view *view)
{
    (void)view;
    fprintf(stream, "%zu cells\\n", result->cell_count);
    return STATUS_OK;
}

const struct export export_plain = {.print = print_plain};
"""

ROW = """\
    {FIELD(field_number, struct cell_result, "fresh_ns", fresh_ns, LATER),
     .about = "a value that no result has",
     .column = COLUMN(.heading = "fresh", .format = text_time, .views = VIEW_CELLS | VIEW_TIME,
                      .place = 255)},
"""


def report_format(scratch):
    """A file, and its line."""
    scratch.add("harness/compare/report_plain.c", REPORT)
    scratch.edit(
        "harness/compare/report.h",
        "    EACH(junit, ",
        '    EACH(plain, "write the number of cells") \\\n    EACH(junit, ',
    )


def grid_format(scratch):
    """A file for grids and one for results, and a line."""
    scratch.add("harness/document/grid_plain.c", GRID)
    scratch.add("harness/result/export_plain.c", EXPORT)
    scratch.edit(
        "harness/document/grid.h",
        "    EACH(csv, ",
        '    EACH(plain, "print numbers of rows") \\\n    EACH(csv, ',
    )


def value(scratch):
    """A member and its row; the schema is written by the program."""
    scratch.edit(
        "harness/result/result.h",
        "struct cell_result {\n",
        "struct cell_result {\n    double fresh_ns;\n",
    )
    head = "static const struct field cell_rows[] = {\n"
    scratch.edit("harness/result/result_cell_json.c", head, head + ROW)


EVERY = (report_format, grid_format, value)


class Schemas(unittest.TestCase):
    def test_committed_schemas_are_what_the_program_prints(self):
        for kind, name in SCHEMAS.items():
            with self.subTest(kind):
                printed = cbank("show", "--schema", kind)
                self.assertEqual(printed.returncode, 0, printed.stderr)
                with open(os.path.join(ROOT, name), encoding="utf-8") as file:
                    self.assertEqual(
                        file.read(),
                        printed.stdout,
                        f"{name} is old; write it: make schemas",
                    )
                schema = json.loads(printed.stdout)
                jsonschema.Draft202012Validator.check_schema(schema)
                self.assertTrue(self.described(schema))

    def described(self, schema):
        """No keyword stands twice; every object says what it needs."""
        for key, part in schema.get("properties", {}).items():
            with self.subTest(key):
                self.assertIsInstance(part, dict)
                self.assertTrue({"type", "enum", "const", "oneOf"} & set(part), part)
                if part.get("type") == "object" and "properties" in part:
                    self.assertLessEqual(set(part["required"]), set(part["properties"]))
            self.described(part)
        return bool(schema.get("properties"))

    def test_keys_that_documents_have_are_in_the_schema(self):
        schema = read_json(os.path.join(ROOT, SCHEMAS["result"]))

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
    """The columns that the schema names are those of CSV and of the DataFrame."""

    def properties(self):
        schema = read_json(os.path.join(ROOT, SCHEMAS["result"]))
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
        os.environ.setdefault("CBANK_PROGRAM", os.path.join(ROOT, "build/cbank"))
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


class Additions(Changes):
    """Each needs the files that CONTRIBUTING names, and no other."""

    EVERY = EVERY

    def said(self, *words):
        done = self.scratch.run("build/cbank", *words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_a_format_of_a_comparison(self):
        self.change(report_format)
        self.assertEqual(self.said("compare", RESULT, OTHER, "--plain", "-"), "24 cells\n")
        for command in ("compare", "gate"):
            self.assertRegex(
                self.said(command, "--help=all"), r"(?m)^  --plain=FILE +write the number of cells"
            )

    def test_a_format_of_grids_and_results(self):
        self.change(grid_format)
        self.assertEqual(self.said("show", RESULT, "--plain"), "24 cells\n")
        self.assertEqual(self.said("counters", RESULT, "--plain"), "24 rows\n")
        self.assertRegex(self.said("list", "paths", "--plain"), r"^\d+ rows\n$")

    def test_a_value_of_a_cell(self):
        self.change(value)
        result = json.loads(self.scratch.read(RESULT))
        for cell in result["cells"]:
            cell["fresh_ns"] = 7
        self.scratch.write("fresh.json", json.dumps(result))
        identity = result["cells"][0]["identity"]
        (row,) = csv.DictReader(
            io.StringIO(self.said("show", "fresh.json", "--csv", "--cell", identity))
        )
        self.assertEqual(row["fresh_ns"], "7")
        self.assertRegex(self.said("show", "fresh.json", "--cell", identity), r"fresh +7\.000 ns")
        written = json.loads(self.said("show", "fresh.json", "--json"))
        self.assertEqual([cell["fresh_ns"] for cell in written["cells"]], [7] * 24)
        # an older file has none
        (row,) = csv.DictReader(io.StringIO(self.said("show", RESULT, "--csv", "--cell", identity)))
        self.assertEqual(row["fresh_ns"], "")

        self.scratch.write("results/schema.json", self.said("show", "--schema", "result"))
        schema = json.loads(self.scratch.read("results/schema.json"))
        self.assertEqual(
            schema["properties"]["cells"]["items"]["properties"]["fresh_ns"],
            {
                "description": "a value that no result has",
                "csv": "fresh_ns",
                "frame": "fresh_ns",
                "type": ["number", "null"],
            },
        )
        program = (
            "import cbank; rows = cbank.load('fresh.json');"
            "print(rows['fresh_ns'].tolist() == [7] * 24)"
        )
        done = self.scratch.run(
            "env",
            "PYTHONPATH=scripts",
            f"CBANK_PROGRAM={self.scratch.root}/build/cbank",
            sys.executable,
            "-c",
            program,
        )
        self.assertEqual(done.stdout, "True\n", done.stderr)
        before = self.scratch.run(os.path.join(built(), "build/cbank"), "show", RESULT).stdout
        self.assertEqual(self.said("show", RESULT), before)


if __name__ == "__main__":
    unittest.main()
