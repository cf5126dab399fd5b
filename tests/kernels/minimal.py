#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of examples/minimal/minimal.cu: it compiles without a warning for every architecture from
sm_75 on, and its two kernels differ in the load of the table alone. Where a GPU is, it runs.
CBANK_CUDA names the CUDA toolkit, CBANK the program that reads the machine code. With
CBANK_ARCHS=ends, only the newest architecture is compiled for.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "end_to_end"))
from common import CBANK, ROOT, read_json  # noqa: E402
from header import TOOLKIT, architectures  # noqa: E402

SOURCE = os.path.join(ROOT, "examples/minimal/minimal.cu")
TRIAL = os.path.join(ROOT, "scripts/studies/minimal_trial.py")
STRICT = ("-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror")
LINES_MAX = 150

# Stands for minimal: sizes a hundred times apart, a ratio of 4.
FAKE = """#!/bin/sh
echo "GPU: $1 elements, 11 samples of 50 launches"
echo "constant $(($1 / 1000)).000 us a launch (1.000 to 2.000)"
echo "global $(($1 / 4000)).000 us a launch (1.000 to 2.000)"
"""
# Stands for cbank run: a result of the same cells, twice as fast.
FAKE_CBANK = """#!/usr/bin/env python3
import json, sys
cells = [
    {"identity": f"add/{path}/pseudo_random/{elements}/1024/hot", "status": "ok",
     "time_ns": {"value": elements / divisor / 2}}
    for elements in (12800000, 128000) for path, divisor in (("constant", 1), ("global", 4))
]
json.dump({"cells": cells, "device": {"name": "GPU"}, "tool": {"argv": "cbank run"}},
          open(sys.argv[-1], "w"))
"""


def loads_of(kernel):
    """{load: count} of a kernel as the instrument reads its code, without parameters."""
    return {row["load"]: row["count"] for row in kernel["kinds"] if "c[0]" not in row["load"]}


class Minimal(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_a_reader_ends_soon(self):
        with open(SOURCE, encoding="utf-8") as file:
            text = file.read()
        self.assertLessEqual(text.count("\n"), LINES_MAX)
        self.assertNotIn('#include "', text)

    @unittest.skipUnless(TOOLKIT, "CBANK_CUDA names no toolkit")
    def test_the_paths_differ_in_one_load(self):
        for architecture in architectures(TOOLKIT, oldest=75):
            with self.subTest(architecture):
                cubin = self.path(f"{architecture}.cubin")
                command = [f"{TOOLKIT}/bin/nvcc", "-O3", f"-arch=sm_{architecture}", *STRICT]
                done = subprocess.run(
                    [*command, "-cubin", "-o", cubin, SOURCE],
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))
                said = subprocess.run(
                    [CBANK, "advise", "--kernel", cubin, "--json", "-"],
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout
                kernels = json.loads(said)["code"]["kernels"]
                loads = {kernel["name"]: loads_of(kernel) for kernel in kernels}
                self.assertEqual(
                    loads,
                    {
                        "_Z12add_constantPKjS0_Pjj": {"LDG": 1, "LDC c[3][register]": 1},
                        "_Z10add_globalPKjS0_Pjj": {"LDG": 2},
                    },
                )

    @unittest.skipUnless(TOOLKIT, "CBANK_CUDA names no toolkit")
    def test_it_measures_or_says_why_not(self):
        program = self.path("minimal")
        newest = architectures(TOOLKIT, quick=True)[-1]
        arch = "native" if os.path.exists("/dev/nvidiactl") else f"sm_{newest}"
        command = [f"{TOOLKIT}/bin/nvcc", "-O3", f"-arch={arch}", *STRICT, "-o", program, SOURCE]
        subprocess.run(command, check=True, capture_output=True)
        done = subprocess.run([program, "4096"], capture_output=True, text=True, check=False)
        if arch == "native":
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(
                done.stdout,
                r"^.*: 4096 elements, 11 samples of 50 launches\n"
                r"constant +[\d.]+ us a launch \([\d.]+ to [\d.]+\)\n"
                r"global +[\d.]+ us a launch \([\d.]+ to [\d.]+\)\n"
                r"constant / global: [\d.]+\n$",
            )
        else:
            self.assertEqual((done.returncode, done.stdout), (3, ""))
            self.assertRegex(done.stderr, "^minimal: there is no GPU to measure on: .*\n$")

    def test_the_trial_holds_it_against_cbank(self):
        programs = {}
        for name, text in (("minimal", FAKE), ("cbank", FAKE_CBANK)):
            programs[name] = self.path(name)
            with open(programs[name], "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(programs[name], 0o755)
        command = [sys.executable, TRIAL, "--program", programs["cbank"], "--processes", "2"]
        out = self.path("trial.json")
        done = subprocess.run(
            [*command, "--minimal", programs["minimal"], "--json", out],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = done.stdout.splitlines()
        self.assertEqual(
            rows[2].split(), ["constant", "12800000", "12800.00", "6400.00", "+100.0%"]
        )
        self.assertEqual(rows[5].split(), ["global", "128000", "32.00", "16.00", "+100.0%"])
        self.assertEqual(rows[6], "constant / global, 12800000 elements: 4.00 and 4.00")
        self.assertEqual(
            [row["minimal_ns"] for row in read_json(out)["launches"]],
            [[12.8e6] * 2, [3.2e6] * 2, [128e3] * 2, [32e3] * 2],
        )


if __name__ == "__main__":
    unittest.main()
