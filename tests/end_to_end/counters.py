#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of scripts/counters.py on results with several workloads and with parameters, of the model engine. CBANK names
the program (default build/cbank)."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))


class Parameters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.file = os.path.join(folder.name, "result.json")
        subprocess.run([CBANK, "run", "--engine", "model", "--quiet", "--workload", "add,refill", "--pattern",
                        "per_warp,distinct", "--distinct", "8,2", "--stride-bytes", "64", "--refill-bytes", "1024",
                        "--path", "constant", "--elements", "4096", "--json", cls.file], check=True)

    def script(self, *arguments, status=0):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts/counters.py"), *arguments],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def test_each_is_a_column(self):
        lines = self.script(self.file, "l1_sectors").splitlines()
        self.assertEqual(lines[0], "path constant, elements 4096, block_size 1024, regime hot; "
                                   "modelled: nothing was measured")
        self.assertEqual([line.split() for line in lines[1:]],
                         [["workload", "pattern", "distinct", "stride_bytes", "refill_bytes", "l1_sectors"],
                          ["add", "per_warp", "-", "-", "-", "512="],
                          ["add", "distinct", "8", "64", "-", "512="],
                          ["add", "distinct", "2", "64", "-", "512="],
                          ["refill", "per_warp", "-", "-", "1024", "512="],
                          ["refill", "distinct", "8", "64", "1024", "512="],
                          ["refill", "distinct", "2", "64", "1024", "512="]])

    def test_chosen_and_shared(self):
        lines = self.script(self.file, "--parameter", "distinct=2,4", "--workload", "add", "l1_sectors").splitlines()
        self.assertEqual(lines[0].split("; ")[0], "workload add, path constant, pattern distinct, elements 4096, "
                                                  "block_size 1024, regime hot, distinct 2, stride_bytes 64")
        self.assertEqual([line.split() for line in lines[1:]], [["l1_sectors"], ["512="]])

    def test_operations(self):
        lines = self.script(self.file, "--pattern", "per_warp", "--workload", "add", "operations",
                            "operations/l1_sectors").splitlines()
        self.assertEqual(lines[-1].split(), ["4096", "8.000"])

    def test_refused(self):
        self.assertIn("no such cell", self.script(self.file, "--parameter", "distinct=3", status=2))
        self.assertIn("no such cell", self.script(self.file, "--parameter", "radius=3", status=2))
        self.assertIn("NAME=LIST", self.script(self.file, "--parameter", "distinct", status=2))

    def test_a_result_of_version_1_0(self):
        path = os.path.join(ROOT, "tests/data/result-1.0.json")
        with open(path, encoding="utf-8") as file:
            self.assertNotIn("parameters", json.load(file)["cells"][0])
        lines = self.script(path, "--elements", "128000", "--pattern", "per_warp", "operations").splitlines()
        self.assertEqual([line.split() for line in lines[1:]],
                         [["path", "operations"], ["constant", "-"], ["global", "-"], ["readonly", "-"]])


if __name__ == "__main__":
    unittest.main()
