#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of cbank counters on results with several workloads and with parameters, of the model engine. CBANK names the
program (default build/cbank)."""

import csv
import io
import json
import os
import subprocess
import unittest

from common import ROOT, kept_folder

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))


class Case(unittest.TestCase):
    """A result of the model engine, and what is printed of it."""

    PLAN = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = kept_folder(cls)
        cls.file = os.path.join(cls.folder, "result.json")
        subprocess.run([CBANK, "run", "--engine", "model", "--quiet", *cls.PLAN, "--elements", "4096", "--json", cls.file],
                       check=True)

    def counters(self, *arguments, status=0, width=160):
        done = subprocess.run([CBANK, "counters", *arguments], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "COLUMNS": str(width)})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        if status:
            self.assertEqual(done.stdout, "")
            self.assertIn("cbank: error: ", done.stderr)
        return done.stdout if status == 0 else done.stderr


class Parameters(Case):
    PLAN = ("--workload", "add,refill", "--pattern", "per_warp,distinct", "--distinct", "8,2", "--stride-bytes", "64",
            "--refill-bytes", "1024", "--path", "constant")

    def test_those_that_differ_are_a_column(self):
        lines = self.counters(self.file, "l1_sectors").splitlines()
        self.assertEqual(lines[0], "path constant, elements 4096, block size 1024, cache state hot; modelled: nothing "
                                   "was measured")
        self.assertEqual([line.split() for line in lines[1:]],
                         [["workload", "pattern", "parameters", "l1_sectors"],
                          ["add", "per_warp", "-", "512="],
                          ["add", "distinct", "distinct=2", "stride_bytes=64", "512="],
                          ["add", "distinct", "distinct=8", "stride_bytes=64", "512="],
                          ["refill", "per_warp", "refill_bytes=1024", "512="],
                          ["refill", "distinct", "distinct=2", "stride_bytes=64", "refill_bytes=1024", "512="],
                          ["refill", "distinct", "distinct=8", "stride_bytes=64", "refill_bytes=1024", "512="]])

    def test_chosen_and_shared(self):
        lines = self.counters(self.file, "--distinct", "2,4", "--workload", "add", "l1_sectors").splitlines()
        self.assertEqual(lines[0].split("; ")[0], "workload add, path constant, pattern distinct, elements 4096, "
                                                  "block size 1024, cache state hot, distinct=2 stride_bytes=64")
        self.assertEqual([line.split() for line in lines[1:]], [["l1_sectors"], ["512="]])

    def test_by_name(self):
        lines = self.counters(self.file, "--cell", "add/*/distinct=8/*", "l1_sectors").splitlines()
        self.assertIn("distinct=8", lines[0])
        self.assertEqual(lines[-1].split(), ["512="])
        self.assertIn("the nearest is", self.counters(self.file, "--cell", "add/constant/per_warp/4096/1024/hott", status=2))

    def test_operations(self):
        lines = self.counters(self.file, "--pattern", "per_warp", "--workload", "add", "operations",
                              "operations/l1_sectors").splitlines()
        self.assertEqual(lines[-1].split(), ["4096", "8.000"])

    def test_refused(self):
        self.assertIn("no such cell", self.counters(self.file, "--distinct", "4", status=2))
        self.assertIn("no such cell", self.counters(self.file, "--radius", "3", status=2))
        self.assertIn("per_moon", self.counters(self.file, "--pattern", "per_moon", "l1_sectors", status=2))
        self.assertIn("exclude each other", self.counters(self.file, "--csv", "--json", status=2))


class Values(Case):
    PLAN = ("--path", "constant")

    def test_values_and_quotients(self):
        lines = self.counters(self.file, "--pattern", "per_warp,per_thread", "global_load_instructions", "l1_sectors",
                              "l1_sectors/global_load_instructions").splitlines()
        # 4096 elements: 128 warps, each with one input load of four sectors.
        self.assertEqual([line.split() for line in lines[2:]],
                         [["per_warp", "128=", "512=", "4.000"], ["per_thread", "128=", "512=", "4.000"]])

    def test_differing_counters_are_marked(self):
        with open(self.file, encoding="utf-8") as file:
            result = json.load(file)
        result["cells"][0]["counters"]["l1_sectors"]["value"] += 1
        result["cells"][1]["counters"]["l1_sectors"].update(status="unsupported", value=None)
        file = os.path.join(self.folder, "differing.json")
        with open(file, "w", encoding="utf-8") as stream:
            json.dump(result, stream)
        lines = self.counters(file, "l1_sectors").splitlines()
        self.assertEqual([line.split()[-1] for line in lines[2:5]], ["513!", "-", "512="])
        found = list(csv.DictReader(io.StringIO(self.counters(file, "l1_sectors", "--csv"))))
        self.assertEqual([row["l1_sectors"] for row in found[:3]], ["513", "", "512"])

    def test_formats_agree(self):
        columns = ("l1_sectors", "instructions/l1_sectors", "time_ns")
        rows = json.loads(self.counters(self.file, *columns, "--json"))
        found = list(csv.DictReader(io.StringIO(self.counters(self.file, *columns, "--csv"))))
        self.assertEqual([row["modelled"] for row in rows], [True] * 4)
        for row, line in zip(rows, found, strict=True):
            self.assertEqual({key: str(value).lower() if isinstance(value, bool) else value for key, value in row.items()},
                             {key: value if isinstance(row[key], (str, bool)) else float(value) if value else None
                              for key, value in line.items()})
        table = [line for line in self.counters(self.file, *columns, "--markdown").splitlines() if line.startswith("|")]
        self.assertEqual(len(table), 2 + len(rows))

    def test_all_counters_without_a_column(self):
        with open(self.file, encoding="utf-8") as file:
            names = list(json.load(file)["cells"][0]["counters"])
        self.assertEqual(list(json.loads(self.counters(self.file, "--json"))[0])[-len(names):], names)
        for width in (80, 200):
            for line in self.counters(self.file, width=width).splitlines():
                self.assertLessEqual(len(line), width)

    def test_bad_input(self):
        for arguments in ([self.file, "no_such"], ["missing.json"], [ROOT + "/LICENSE"], [self.file, "l1_sectors/"]):
            with self.subTest(arguments):
                self.counters(*arguments, status=2)


if __name__ == "__main__":
    unittest.main()
