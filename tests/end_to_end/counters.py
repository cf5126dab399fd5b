#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of cbank counters on a result of the model engine with parameters, two of whose counters
were changed. CBANK names the program (default build/cbank)."""

import csv
import io
import json
import os
import re
import subprocess
import unittest

from common import CBANK, ROOT, kept_folder, read_json

CELL = "add/constant/distinct/4096/1024/hot/distinct=8/stride_bytes=64"


class Counters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.file = os.path.join(kept_folder(cls), "result.json")
        subprocess.run(
            [
                CBANK,
                "run",
                "--engine",
                "model",
                "--quiet",
                "--pattern",
                "per_warp,distinct",
                "--distinct",
                "8,2",
                "--stride-bytes",
                "64",
                "--path",
                "constant",
                "--elements",
                "4096",
                "--json",
                cls.file,
            ],
            check=True,
        )
        result = read_json(cls.file)
        result["cells"][0]["counters"]["l1_sectors"]["value"] += 1
        result["cells"][1]["counters"]["l1_sectors"].update(status="unsupported", value=None)
        with open(cls.file, "w", encoding="utf-8") as stream:
            json.dump(result, stream)
        cls.names = list(result["cells"][0]["counters"])

    def counters(self, *arguments, status=0, width=160):
        done = subprocess.run(
            [CBANK, "counters", *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "COLUMNS": str(width)},
        )
        self.assertEqual(
            (done.returncode, done.stdout if status else ""), (status, ""), done.stderr
        )
        return done.stderr if status else done.stdout

    def test_exact_counters_say_whether_they_are_as_expected(self):
        lines = self.counters(self.file, "l1_sectors", "global_load_instructions").splitlines()
        # 4096 elements: 128 warps, each with one input load of four sectors.
        self.assertEqual(
            [line.split() for line in lines],
            [
                ["modelled:", "nothing", "was", "measured"],
                ["cell", "l1_sectors", "global_load_instructions"],
                ["add/constant/per_warp/4096/1024/hot", "513!", "128="],
                [CELL.replace("=8", "=2"), "512=", "128="],
                [CELL, "-", "128="],
            ],
        )

    def test_a_wrong_counter_is_red(self):
        said = self.counters(self.file, "l1_sectors", "--color", "always")
        self.assertEqual(re.findall(r"\033\[31m *(\S+)\033\[m", said), ["513!"])
        self.assertNotIn("\033", self.counters(self.file, "--color", "never"))

    def test_cells_are_chosen_by_name(self):
        self.assertEqual(
            self.counters(self.file, "--cell", "*/per_warp/*", "l1_sectors").splitlines()[2:],
            self.counters(
                self.file, "l1_sectors", "--cell", "add/constant/per_warp/4096/1024/hot"
            ).splitlines()[2:],
        )
        self.assertIn(
            "no cell is named",
            self.counters(self.file, "--cell", "add/constant/per_warp/4096/1024/hott", status=2),
        )

    def test_without_names_all_counters_are_printed_in_every_format(self):
        rows = json.loads(self.counters(self.file, "--json"))
        found = list(csv.DictReader(io.StringIO(self.counters(self.file, "--csv"))))
        for row, line in zip(rows, found, strict=True):
            self.assertEqual((list(row)[-len(self.names) :], list(line)), (self.names, list(row)))
            self.assertEqual(row["modelled"], True)
            self.assertEqual(
                [row[name] for name in self.names],
                [float(line[name]) if line[name] else None for name in self.names],
            )
        self.assertEqual({row["l1_sectors"] for row in rows}, {513, None, 512})
        for width in (80, 200):
            self.assertLessEqual(
                max(map(len, self.counters(self.file, width=width).splitlines())), width
            )

    def test_bad_input_is_refused(self):
        for arguments, word in (
            ([self.file, "l1_sector"], "'l1_sector'; valid: "),
            (["missing.json"], "missing.json"),
            ([ROOT + "/LICENSE"], "LICENSE"),
            ([self.file, "--csv", "--json"], "exclude each other"),
        ):
            with self.subTest(arguments):
                self.assertIn(word, self.counters(*arguments, status=2))


if __name__ == "__main__":
    unittest.main()
