#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads the golden files of reports as the programs they are for would, and what cbank show
prints. CBANK names the program (default build/cbank)."""

import csv
import glob
import html
import io
import json
import math
import os
import re
import unittest
import xml.etree.ElementTree

import jsonschema

from common import ROOT, cbank, read_json

GOLDEN = os.path.join(ROOT, "tests", "golden")
VERDICTS_FAILED = {"regressed", "missing", "invalid"}
VERDICTS_SKIPPED = {"inconclusive", "contended", "new"}


def golden(name):
    return os.path.join(GOLDEN, name)


def load(path):
    """Strict JSON: no NaN, no key twice."""

    def once(pairs):
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys)), keys
        return dict(pairs)

    def refuse(constant):
        raise ValueError(constant)

    with open(path, encoding="utf-8") as file:
        return json.load(file, object_pairs_hook=once, parse_constant=refuse)


class Reports(unittest.TestCase):
    """A comparison with every verdict."""

    COMPARISON = load(golden("compare.json"))

    def test_json_follows_the_schema_which_knows_every_key(self):
        schema = load(os.path.join(ROOT, "results", "comparison.schema.json"))
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.Draft202012Validator(schema).validate(self.COMPARISON)

        def check(value, part):
            if isinstance(value, dict) and "properties" in part:
                self.assertLessEqual(set(value), set(part["properties"]))
                for key, member in value.items():
                    check(member, part["properties"][key])
            for element in value if isinstance(value, list) else []:
                check(element, part["items"])

        check(self.COMPARISON, schema)
        verdicts = [cell["verdict"] for cell in self.COMPARISON["cells"]]
        for verdict, count in self.COMPARISON["counts"].items():
            self.assertEqual((verdicts.count(verdict), count > 0), (count, True))

    def test_junit_is_well_formed_and_agrees(self):
        root = xml.etree.ElementTree.parse(golden("compare.xml")).getroot()
        suite = root.find("testsuite")
        cases = {case.get("name"): case for case in suite.findall("testcase")}
        self.assertEqual(root.tag, "testsuites")
        for attribute, element in (
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ):
            self.assertEqual(int(suite.get(attribute)), len(suite.findall(f"testcase/{element}")))
            self.assertEqual(root.get(attribute), suite.get(attribute))
        self.assertEqual(
            (int(suite.get("tests")), len(cases)), (len(self.COMPARISON["cells"]),) * 2
        )
        for cell in self.COMPARISON["cells"]:
            case = cases[cell["identity"]]
            self.assertEqual(case.find("failure") is not None, cell["verdict"] in VERDICTS_FAILED)
            self.assertEqual(case.find("skipped") is not None, cell["verdict"] in VERDICTS_SKIPPED)

    def test_markdown_has_a_row_for_each_cell_that_is_not_the_same(self):
        with open(golden("compare.md"), encoding="utf-8") as file:
            text = file.read()
        (rows,) = markdown_tables(text)
        self.assertEqual(
            [(row["cell"], row["verdict"]) for row in rows],
            [
                (cell["identity"], cell["verdict"])
                for cell in self.COMPARISON["cells"]
                if cell["verdict"] != "same"
            ],
        )
        for row, cell in zip(rows, self.COMPARISON["cells"]):
            for counter in cell["counters"]:
                self.assertIn(counter["name"], row["notes"])
            # JSON has a question mark where the page has an escape
            self.assertIn((cell["note"] or "").split("?")[0], row["notes"])
        self.assertTrue(text.startswith(f"**{self.COMPARISON['summary']}**\n\n- BASE: "))
        self.assertIn(f"\n{self.COMPARISON['counts']['same']} cells are the same.\n", text)


def markdown_tables(text):
    """The tables of a page as GitHub reads it: a list of rows each, {heading: text}."""

    def fields(line):
        return [
            html.unescape(re.sub(r"\\([^\w\s])", r"\1", field)).strip()
            for field in re.split(r"(?<!\\)\|", line)[1:-1]
        ]

    made = []
    for lines in re.findall(r"(?m)((?:^\|.*\|\n)+)", text):
        head, below, *rows = lines.splitlines()
        assert re.fullmatch(r"(\|--[-:])+\|", below), below
        made.append([dict(zip(fields(head), fields(row), strict=True)) for row in rows])
    return made


def held(old, new):
    """A result of before has fewer keys in a time; each has its value still."""
    return (
        all(new[key] == value for key, value in old.items())
        if isinstance(old, dict) and isinstance(new, dict)
        else new == old
    )


def printed(*arguments, width=80, status=0):
    """The program's output on a terminal so wide."""
    done = cbank(*arguments, COLUMNS=str(width))
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout if status == 0 else done.stderr


class Show(unittest.TestCase):
    FILE = os.path.join(ROOT, "results/h200/core-matrix.json")
    CELL = "add/constant/pseudo_random/12800000/1024/hot"

    @classmethod
    def setUpClass(cls):
        cls.result = read_json(cls.FILE)
        cls.cells = {cell["identity"]: cell for cell in cls.result["cells"]}

    def test_no_line_is_wider_than_the_terminal_but_the_name_of_a_cell(self):
        """Every committed result, as tables, by counters, and two of its cells."""
        for file in glob.glob(os.path.join(ROOT, "results/h[12]00/*.json")):
            cells = [cell["identity"] for cell in read_json(file)["cells"]]
            for width in (80, 200):
                for arguments in (
                    ("show", file),
                    ("counters", file),
                    ("show", file, "--cell", cells[0]),
                    ("show", file, "--cell", cells[-1]),
                ):
                    wide = {
                        line
                        for line in printed(*arguments, width=width).splitlines()
                        if len(line) > width
                    }
                    self.assertLessEqual(wide, set(cells), (arguments, width))

    def test_wide_terminals_are_used(self):
        self.assertIn("Hidden columns", printed("show", self.FILE, width=80))
        wide = printed("show", self.FILE, width=200)
        self.assertNotIn("Hidden", wide)
        for heading in ("ratio", "req", "GB/s"):
            self.assertEqual(len(re.findall(rf" {heading}\b", wide.split("\n\n")[1])), 3)

    def test_csv_is_a_row_a_cell_below_one_header(self):
        text = printed("show", self.FILE, self.FILE, "--csv")
        found = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(
            sorted(row["identity"] for row in found), sorted([*self.cells, *self.cells])
        )
        self.assertEqual(text.count("identity"), 1)
        for row in found:
            cell = self.cells[row["identity"]]
            time = cell["time_ns"]
            self.assertEqual(
                [float(row[f"{key}_ns"]) for key in ("time", "ci_low", "ci_high", "min", "mad")],
                [time[key] for key in ("value", "ci_low", "ci_high", "min", "mad")],
            )
            self.assertEqual(int(row["samples"]), len(time["samples"]))
            # An element in, one out, one payload load.
            self.assertAlmostEqual(
                float(row["gigabytes_per_second"]), 12 * cell["elements"] / time["value"]
            )

    def test_csv_has_the_interval_of_a_ratio(self):
        """Two times of which each may be off by half its interval, independently."""
        groups = {}
        for cell in self.result["cells"]:
            if cell["status"] == "ok":
                groups.setdefault((cell["pattern"], cell["elements"]), []).append(cell)
        best = {
            key: min(cells, key=lambda cell: cell["time_ns"]["value"])["time_ns"]
            for key, cells in groups.items()
        }
        for row in csv.DictReader(io.StringIO(printed("show", self.FILE, "--csv"))):
            time, least = (
                self.cells[row["identity"]]["time_ns"],
                best[row["pattern"], int(row["elements"])],
            )
            if time is least:
                self.assertEqual((row["ratio"], row["ratio_ci_low"]), ("1", ""))
                continue
            ratio = time["value"] / least["value"]
            off = math.hypot(
                *((one["ci_high"] - one["value"]) / one["value"] for one in (time, least))
            )
            for key, value in (
                ("ratio_ci_low", ratio - ratio * off),
                ("ratio_ci_high", ratio + ratio * off),
            ):
                self.assertAlmostEqual(float(row[key]), value, delta=1e-4 * value)

    def test_markdown_has_the_time_of_each_cell(self):
        tables = markdown_tables(printed("show", self.FILE, "--markdown"))
        self.assertEqual(len(tables), 2)  # a size each
        shown = [(row[""], row["constant: time"]) for rows in tables for row in rows]
        wanted = [
            (cell["pattern"], cell["time_ns"]["value"])
            for cell in sorted(self.result["cells"], key=lambda cell: cell["elements"])
            if cell["path"] == "constant"
        ]
        units = {"ns": 1, "us": 1e3, "ms": 1e6}
        self.assertEqual(len(shown), len(wanted))
        self.assertEqual({name for name, _ in shown}, {name for name, _ in wanted})
        for name, text in shown:
            value, unit = text.split()
            ns = float(value) * units[unit]
            self.assertTrue(
                any(abs(ns / time - 1) < 1e-3 for cell, time in wanted if cell == name), text
            )
        one = printed("show", self.FILE, "--markdown", "--cell", self.CELL)
        self.assertEqual([len(rows) for rows in markdown_tables(one)], [1])

    def test_formats_exclude_each_other(self):
        for command in ("show", "counters"):
            self.assertEqual(
                printed(command, self.FILE, "--csv", "--markdown", status=2),
                "cbank: error: --csv and --markdown exclude each other; take one\n",
            )

    def test_json_of_every_committed_result_is_what_it_is(self):
        """All that the file says stands there; the version and why keys are null are what this
        program says of it."""
        for file in glob.glob(os.path.join(ROOT, "results/h[12]00/*.json")):
            given, written = read_json(file), json.loads(printed("show", file, "--json"))
            for old, new in ((given, written), *zip(given["cells"], written["cells"], strict=True)):
                self.assertEqual(
                    {
                        key
                        for key in old
                        if key not in ("schema", "null_reasons", "cells")
                        and not held(old[key], new.get(key, ()))
                    },
                    set(),
                    file,
                )

    def test_all_facts_of_a_cell_are_there(self):
        text, cell = printed("show", self.FILE, "--cell", self.CELL), self.cells[self.CELL]
        whole = re.sub(r"\s+", "", text)
        for value in (
            self.CELL,
            "converged",
            cell["kernel"]["name"],
            cell["kernel"]["sass_sha256"],
            self.FILE,
            self.result["device"]["uuid"],
            self.result["tool"]["git_commit"],
            self.result["tool"]["argv"],
        ):
            self.assertIn(re.sub(r"\s+", "", value), whole)
        for name, counter in cell["counters"].items():
            self.assertRegex(text, rf"(?m)^ +{name} +{counter['value']} ")
            self.assertIn(counter["metric"], text)

    def test_cells_are_named_exactly(self):
        """An identity names one cell, and a part of one none."""
        self.assertNotIn(
            "12800000",
            printed("show", self.FILE, "--cell", "add/constant/per_warp/128000/1024/hot"),
        )
        for name in ("nonsense", "constant", "constant/per_warp/128000"):
            self.assertIn("no cell is named", printed("show", self.FILE, "--cell", name, status=2))

    def test_json_is_one_whole_result(self):
        for arguments in (("--csv", "--json"), ("--cell", "*", "--json"), ("--json", self.FILE)):
            self.assertIn("error", printed("show", self.FILE, *arguments, status=2))


if __name__ == "__main__":
    unittest.main()
