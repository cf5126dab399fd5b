#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that no command takes the times of cells that their own run calls invalid: each cause of
harness/result/invalid.c, planted into a committed result, in each command that judges results."""

import importlib.util
import json
import os
import subprocess
import tempfile
import unittest

from common import CBANK, ROOT, read_json

GOOD = os.path.join(ROOT, "results/h200/core-matrix.json")
LATER = "2026-11-25T04:39:55.000Z"  # than the good one began


def raise_counter(result):
    counter = result["cells"][3]["counters"]["idc_requests"]
    counter["value"] = counter["expected"] + 1


def end_run(result):
    result.update(complete=False, finished_utc=None)
    result["ended"] = {"reason": "planted", "cell": None}


# Cause: what plants it, the words that name it, and how many of the 24 cells are invalid.
CAUSES = {
    "device_errors": (
        lambda result: result["health"]["grew"].append("ecc_uncorrected"),
        "errors of the GPU's memory grew",
        24,
    ),
    "remap_failed": (
        lambda result: result["health"]["after"].update(remap_failed=True),
        "rows that could not be remapped",
        24,
    ),
    "run_ended": (end_run, "the GPU failed", 24),
    "not_verified": (
        lambda result: result["cells"][4].update(verified=False),
        "its output was not verified",
        1,
    ),
    "exact_counter": (raise_counter, "an exact counter is not as expected", 1),
}


class Invalid(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.wide = {**os.environ, "COLUMNS": "300"}

    def cbank(self, *arguments, status):
        done = subprocess.run(
            [CBANK, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=self.folder,
            env=self.wide,
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def plant(self, name):
        """The path of a later result with the cause, and of a store with the good one before."""
        result = read_json(GOOD)
        result.update(started_utc=LATER, finished_utc=None)
        CAUSES[name][0](result)
        path, store = (os.path.join(self.folder, name + ending) for ending in (".json", ".sqlite"))
        with open(path, "w", encoding="utf-8") as file:
            json.dump(result, file)
        self.cbank("ingest", store, GOOD, status=0)
        return path, store

    def test_every_cause_in_every_command(self):
        for name, (_, words, count) in CAUSES.items():
            with self.subTest(name):
                path, store = self.plant(name)
                for sides in ((GOOD, path), (path, GOOD)):
                    done = self.cbank("compare", *sides, "--json", "c.json", status=1)
                    self.assertIn(words, done.stdout)
                    cells = read_json(os.path.join(self.folder, "c.json"))["cells"]
                    self.assertEqual(sum(cell["verdict"] == "invalid" for cell in cells), count)
                done = self.cbank("ingest", store, path, status=0)
                self.assertIn(f"{count} of 24 cells invalid, such as: ", done.stderr)
                self.assertIn(words, done.stderr)
                done = self.cbank("fleet", store, status=1)
                self.assertIn("invalid", done.stdout)
                done = self.cbank("history", store, status=1)
                self.assertIn(f"{count} failed or invalid", done.stdout)
                self.cbank("history", GOOD, path, status=1)

    def test_a_report_marks_it(self):
        if not all(map(importlib.util.find_spec, ("jinja2", "matplotlib", "pandas"))):
            self.skipTest("a report needs jinja2, matplotlib and pandas")
        path, _ = self.plant("not_verified")
        self.cbank("report", "-o", "report", path, status=0)
        with open(os.path.join(self.folder, "report/index.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn("is invalid: its output was not verified", page)
        self.assertIn("1 cell failed or invalid", page)

    def test_a_bad_run_of_the_past_is_no_finding(self):
        path, store = self.plant("not_verified")
        result = read_json(GOOD)
        result.update(started_utc=LATER.replace("25T", "26T"), finished_utc=None)
        with open(os.path.join(self.folder, "good.json"), "w", encoding="utf-8") as file:
            json.dump(result, file)
        self.cbank("ingest", store, path, "good.json", status=0)
        self.cbank("history", store, status=0)
        self.cbank("fleet", store, status=0)


if __name__ == "__main__":
    unittest.main()
