#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of scripts/plot.py and of the figures that it makes: their data against golden files, and every one drawn.

CBANK names the program (default build/cbank), which explains and compares. With UPDATE_GOLDEN set, the golden files are
written instead of compared.
"""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
PLOT = os.path.join(ROOT, "scripts/plot.py")
GOLDEN = os.path.join(ROOT, "tests/golden/figures")
MATRIX = os.path.join(ROOT, "results/h200/core-matrix.json")
CHARACTERIZATION = os.path.join(ROOT, "results/characterizations/h200.json")

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import figures  # noqa: E402
from figures import documents, output, style  # noqa: E402


# -- documents made by hand ---------------------------------------------------------------------------------------


def cell(path="constant", pattern="per_warp", time=(1000, 990, 1010), elements=128000, samples=(), **more):
    median, low, high = time
    return {"workload": "add", "path": path, "pattern": pattern, "elements": elements, "block_size": 1024,
            "regime": "hot", "parameters": {}, "array_bytes": 65536, "status": "ok", "reason": None, "verified": True,
            "time_ns": {"median": median, "ci_low": low, "ci_high": high, "min": low, "mad": 5,
                        "launches_per_sample": 10, "stop_reason": "converged", "samples": list(samples)},
            "cycles": None, "sm_clock_mhz": 1980, "flags": [], "counters": {}, "operations": None,
            "operations_per_byte": {"ideal": None, "dram": None, "l2": None}, "kernel": None, "model": None, **more}


def result(*cells, engine="cuda", complete=True, name="GPU of a test", **more):
    return {"schema": {"name": "cbank-result", "version": "1.1"}, "engine": engine, "complete": complete,
            "tool": {"name": "cbank", "version": "0.1.0", "git_commit": "0123abc", "git_dirty": False},
            "device": {"name": name, "driver": "580.1", "uuid": "GPU-1", "compute_capability": "9.0",
                       "throttle": {"known": True, "before": 0, "after": 0}},
            "cells": list(cells), **more}


FOUR = [cell("constant", "per_warp", (900, 891, 909)), cell("global", "per_warp", (1000, 990, 1010)),
        cell("constant", "per_thread", (4000, 3900, 4200), flags=["throttled", "unstable"]),
        cell("global", "per_thread", (2000, 2000, 2000))]


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def document(self, content, name="planted.json"):
        return documents.read(self.write(name, content))

    def plot(self, *arguments, status=0, environment=None):
        """(lines of stdout, lines of stderr)."""
        out = os.path.join(self.folder, "out")
        done = subprocess.run([sys.executable, PLOT, "-o", out, "--program", CBANK, *arguments], cwd=self.folder,
                              capture_output=True, text=True, timeout=120, check=False,
                              env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout.splitlines(), done.stderr.splitlines()

    def made(self, name):
        with open(os.path.join(self.folder, "out", name), "rb") as file:
            return file.read()


class Data(Case):
    """What stands in the CSV of each figure."""

    def csv_of(self, name, content, selection=documents.ALL):
        module = figures.FIGURES[name]
        return output.csv_text(module.COLUMNS, module.rows(content, selection))

    def golden(self, name, content):
        made = self.csv_of(name, content)
        path = os.path.join(GOLDEN, f"{name}.csv")
        if os.environ.get("UPDATE_GOLDEN"):
            os.makedirs(GOLDEN, exist_ok=True)
            output.write(path, made.encode())
        with open(path, encoding="utf-8") as file:
            self.assertEqual(made, file.read())
        return list(csv.DictReader(io.StringIO(made)))

    def test_matrix(self):
        rows = self.golden("matrix", self.document(result(*FOUR)))
        # 900 / 1000; 891 / 1010; 909 / 990.
        self.assertEqual([rows[0][key] for key in ("ratio_to_global", "ratio_low", "ratio_high")],
                         ["0.9", repr(891 / 1010), repr(909 / 990)])
        self.assertEqual((rows[2]["ratio_to_global"], rows[2]["flags"]), ("2", "throttled unstable"))


class Drawn(Case):
    def test_first_figures(self):
        lines, _ = self.plot(MATRIX, CHARACTERIZATION, "--format", "pdf,svg,png")
        for name in ("core-matrix-matrix", "h200-serialization", "h200-capacity"):
            for form in ("pdf", "svg", "png", "csv", "tex"):
                self.assertIn(os.path.join(self.folder, "out", f"{name}.{form}"), lines)


if __name__ == "__main__":
    unittest.main()
