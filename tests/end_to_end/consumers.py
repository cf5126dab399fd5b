#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Conversions of committed results, read by the programs that they are for, where a machine has them. Without them,
tests/end_to_end/convert.py has the grammar of each.

CBANK names the program (default build/cbank). CBANK_CONSUMERS names a folder with checkouts, at any depth, of google/benchmark (its tools/compare.py needs scipy), apache/otava,
KernelTuner/kernel_tuner and accel-sim/accel-sim-framework. Otava is also found as the command otava.
"""

import glob
import json
import os
import shutil
import subprocess
import sys
import unittest

from common import ROOT, Scratch

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
CONSUMERS = os.environ.get("CBANK_CONSUMERS")
ONE, TWO = (os.path.join(ROOT, "results/h200", name) for name in ("core-matrix.json", "second-process.json"))
PROCESSES = sorted(glob.glob(os.path.join(ROOT, "results/h200/processes/process-*.json")))
CELL = "add/constant/per_block/12800000/1024/hot"


def found(path):
    """A file of a checkout; None without it."""
    return next(iter(glob.glob(os.path.join(CONSUMERS, "**", path), recursive=True)), None) if CONSUMERS else None


COMPARE, SCHEMA, TUNER = map(found, ("tools/compare.py", "schema/T4/1.0.0/results-schema.json", "util/tuner/tuner.py"))
OTAVA = shutil.which("otava")


class Consumers(Scratch):
    def path(self, name):
        return os.path.join(self.folder, name)

    def converted(self, name, form, *of):
        with open(self.path(name), "wb") as file:
            subprocess.run([CBANK, "convert", "--to", form, *of], stdout=file, check=True)
        return self.path(name)

    def said(self, *command):
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=300, check=False,
                              env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    @unittest.skipUnless(COMPARE, "no checkout of google/benchmark")
    def test_google_benchmark(self):
        one, two = (self.converted(f"{i}.json", "gbench", file) for i, file in enumerate((ONE, TWO)))
        text = self.said(sys.executable, COMPARE, "--no-color", "-a", "benchmarks", one, two)
        for name in ("mean", "median", "stddev", "cv", "pvalue"):
            self.assertEqual(text.count(f"_{name} "), 24, name)
        median = next(line.split() for line in text.splitlines() if line.startswith(f"{CELL}_median"))
        self.assertEqual((median[3], median[4]), ("49690", "49708"))

    @unittest.skipUnless(OTAVA, "no otava")
    def test_otava(self):
        """Finds no change in ten processes of one board, and finds the one that is put in."""
        table = self.converted("cbank.csv", "otava", *PROCESSES)
        command = (OTAVA, "analyze", "cbank", "--config-file", self.converted("otava.yaml", "otava_config", *PROCESSES), "--since",
                   "2026-01-01", "--metrics", CELL)
        self.assertNotIn("+5.0%", self.said(*command))
        with open(table, encoding="utf-8", newline="") as file:
            lines = [line.split(",") for line in file.read().splitlines()]
        column = lines[0].index(CELL)
        for line in lines[6:]:
            line[column] = str(1.05 * float(line[column]))
        with open(table, "w", encoding="utf-8") as file:
            file.write("".join(",".join(line) + "\r\n" for line in lines))
        self.assertIn("+5.0%", self.said(*command))

    @unittest.skipUnless(SCHEMA, "no checkout of KernelTuner/kernel_tuner")
    def test_kernel_tuner(self):
        import jsonschema
        with open(SCHEMA, encoding="utf-8") as file:
            schema = json.load(file)
        for name in ("core-matrix.json", "sweeps/lookup.json"):
            with open(self.converted("t4.json", "kernel_tuner", os.path.join(ROOT, "results/h200", name)), encoding="utf-8") as file:
                jsonschema.Draft202012Validator(schema).validate(json.load(file))

    @unittest.skipUnless(TUNER, "no checkout of accel-sim/accel-sim-framework")
    def test_accelsim(self):
        """Each line of ours stands in the place of the template's, and nothing else is changed."""
        shutil.copytree(os.path.dirname(TUNER), self.path("tuner"), ignore=shutil.ignore_patterns("GPU_Microbenchmark", "NVIDIA_*"))
        ours = self.converted("h200.config", "accelsim", os.path.join(ROOT, "results/characterizations/h200.json"))
        self.said(sys.executable, self.path("tuner/tuner.py"), "-s", ours)
        wanted, taken = set(self.options(ours)), set()
        for name in ("gpgpusim.config", "trace.config"):
            made, template = (self.options(self.path(f"tuner/{folder}/{name}")) for folder in ("NVIDIA_H200", "config_template"))
            self.assertEqual([line.split()[0] for line in made], [line.split()[0] for line in template])
            self.assertLessEqual(set(made) - set(template), wanted)
            taken |= set(made)
        self.assertLessEqual(wanted, taken)

    @staticmethod
    def options(path):
        with open(path, encoding="utf-8") as file:
            return [line.strip() for line in file if line.startswith("-")]


if __name__ == "__main__":
    unittest.main()
