#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of scripts/repeatability.py on results made by hand and of its runs on the model engine. CBANK names the
program (default build/cbank)."""

import json
import os
import unittest

from common import ROOT, Scratch, read_json, run_script

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))

# (path, pattern, time, interval): three cells longer than 10 us, and two that are not, one of them at the limit.
REFERENCE = (("constant", "per_block", 20000, (19900, 20100)), ("constant", "per_warp", 40000, (39900, 40100)),
             ("global", "per_block", 50000, (49900, 50100)),
             ("constant", "per_thread", 10000, (9990, 10010)), ("global", "per_warp", 2000, (1990, 2010)))
# +0.5 %, intervals that touch; -1 %, apart; +0.1 %, one within the other; none; +2 %, apart.
OTHER = (("constant", "per_block", 20100, (20100, 20200)), ("constant", "per_warp", 39600, (39500, 39899)),
         ("global", "per_block", 50050, (50000, 50100)),
         ("constant", "per_thread", 10000, (9990, 10010)), ("global", "per_warp", 2040, (2011, 2050)))


def cell(path, pattern, time, interval):
    low, high = interval or (None, None)
    return {"workload": "add", "path": path, "pattern": pattern, "elements": 128000, "block_size": 1024,
            "regime": "hot", "status": "ok", "time_ns": {"value": time, "ci_low": low, "ci_high": high},
            "kernel": {"sass_sha256": "0" * 64}}


def result(rows):
    return {"schema": {"name": "cbank-result", "version": "2.5"}, "engine": "cuda",
            "device": {"uuid": "GPU-1", "driver": "580.1"}, "cells": [cell(*row) for row in rows]}


class Case(Scratch):
    def report(self, name="report.json"):
        return read_json(self.path(name))

    def script(self, *arguments, status=0):
        done = run_script("repeatability.py", *arguments, folder=self.folder,
                          environment={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        if status:
            self.assertEqual(done.stdout, "")
            self.assertIn("error:", done.stderr)
            self.assertNotIn("Traceback", done.stderr)
        return done

    def compare(self, change=lambda other: None, status=0):
        """The reference and other.json after change(other)."""
        other = result(OTHER)
        change(other)
        self.write("reference.json", result(REFERENCE))
        self.write("other.json", other)
        return self.script("--json", "report.json", "reference.json", "other.json", status=status)


class Table(Case):
    def test_by_hand(self):
        self.assertEqual(self.compare().stdout.splitlines(), [
            "reference reference.json; workload add, elements 128000, block_size 1024, regime hot",
            "file        cells        compared  median  largest  in                 overlap",
            "other.json  over 10 us          3   0.50%   -1.00%  constant/per_warp  2 of 3",
            "            up to 10 us         2   1.00%   +2.00%  global/per_warp    1 of 2",
            "median, largest: difference of a cell's time, as a share of the reference's; "
            "overlap: 95 % intervals that do"])

    def test_several_files_in_the_order_given(self):
        self.write("reference.json", result(REFERENCE))
        self.write("a.json", result(OTHER))
        lines = self.script("reference.json", "reference.json", "a.json").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines[2:6]], ["reference.json", "up", "a.json", "up"])
        # Nothing differs: the first cell stands for all.
        self.assertEqual(lines[2].split()[-6:], ["0.00%", "+0.00%", "constant/per_block", "3", "of", "3"])
        self.assertEqual(self.script("reference.json", "a.json").stdout, self.script("reference.json", "a.json").stdout)

    def test_json(self):
        self.compare()
        report = self.report()
        self.assertEqual((report["reference"], report["engine"], report["long_ns"]), ("reference.json", "cuda", 10000))
        other, = report["others"]
        self.assertEqual((other["file"], other["differs"], other["cells_without_time"]), ("other.json", [], 0))
        for name, cells, median, largest, pattern, overlap in (("long", 3, 0.005, -0.01, "per_warp", 2),
                                                               ("short", 2, 0.01, 0.02, "per_warp", 1)):
            part = other[name]
            self.assertEqual((part["cells"], part["intervals"], part["intervals_overlap"]), (cells, cells, overlap))
            self.assertAlmostEqual(part["difference_median"], median, places=12)
            self.assertAlmostEqual(part["difference_largest"], largest, places=12)
            self.assertEqual(part["largest"]["pattern"], pattern)
        self.assertEqual([one["intervals_overlap"] for one in other["cells"]], [True, False, True, True, False])
        self.assertEqual((other["cells"][1]["reference_ns"], other["cells"][1]["time_ns"]), (40000, 39600))

    def test_cells_in_another_order(self):
        expected = self.compare().stdout
        self.assertEqual(self.compare(lambda other: other["cells"].reverse()).stdout, expected)

    def test_cells_without_time_are_left_out_and_said(self):
        def fail_two(other):
            other["cells"][1].update(status="failed")
            other["cells"][4]["time_ns"].update(value=None, ci_low=None, ci_high=None)

        lines = self.compare(fail_two).stdout.splitlines()
        # Left: +0.5 % and +0.1 %; 0.
        self.assertEqual(lines[2].split()[4:], ["2", "0.30%", "+0.50%", "constant/per_block", "2", "of", "2"])
        self.assertEqual(lines[3].split()[4:], ["1", "0.00%", "+0.00%", "constant/per_thread", "1", "of", "1"])
        self.assertEqual(lines[5:], ["other.json: 2 cells lack a time on a side and are left out"])

    def test_what_is_not_there_is_a_dash(self):
        self.write("reference.json", result(REFERENCE[:1]))
        self.write("other.json", result([(*OTHER[0][:3], None)]))
        lines = self.script("--json", "report.json", "reference.json", "other.json").stdout.splitlines()
        self.assertEqual(lines[2].split()[4:], ["1", "0.50%", "+0.50%", "the", "only", "cell", "-"])
        self.assertEqual(lines[3].split(), ["up", "to", "10", "us", "0", "-", "-", "-", "-"])
        other, = self.report()["others"]
        self.assertEqual([other["short"][key] for key in ("difference_median", "difference_largest", "largest")],
                         [None] * 3)
        self.assertEqual((other["long"]["intervals"], other["cells"][0]["intervals_overlap"]), (0, None))

    def test_what_else_differs_is_said(self):
        def move(other):
            other["device"] = {"uuid": "GPU-2", "driver": "590.1"}
            other["cells"][0]["kernel"]["sass_sha256"] = "1" * 64
            other["cells"][1]["kernel"] = None

        self.assertEqual(self.compare(move).stdout.splitlines()[5:],
                         ["other.json: differs in GPU, driver, code of 2 cells"])


class Parameters(Case):
    def write_both(self, *values):
        """Two results of one cell for each of these parameters; the second is of half the time."""
        for file, ns in (("reference.json", 20000), ("other.json", 10000)):
            made = result([("constant", "distinct", ns, None)] * len(values))
            for one, parameters in zip(made["cells"], values):
                one["parameters"] = parameters
            self.write(file, made)

    def test_they_tell_cells_apart(self):
        self.write_both({"distinct": 8, "stride_bytes": 64}, {"distinct": 4, "stride_bytes": 64})
        lines = self.script("--json", "report.json", "reference.json", "other.json").stdout.splitlines()
        self.assertIn("distinct=8/stride_bytes=64", lines[2])
        other, = self.report()["others"]
        self.assertEqual([one["parameters"] for one in other["cells"]],
                         [{"distinct": 8, "stride_bytes": 64}, {"distinct": 4, "stride_bytes": 64}])
        self.assertEqual(other["long"]["largest"]["parameters"], {"distinct": 8, "stride_bytes": 64})

    def test_the_same_in_all_cells_are_said_once(self):
        self.write_both({"radius": 3})
        lines = self.script("reference.json", "other.json").stdout.splitlines()
        self.assertTrue(lines[0].endswith("regime hot, parameters radius=3"), lines[0])

    def test_another_plan(self):
        self.write_both({"radius": 3})
        made = result([("constant", "distinct", 20000, None)])
        self.write("other.json", made)
        said = self.script("reference.json", "other.json", status=2).stderr
        self.assertIn("reference.json: add/constant/distinct/128000/1024/hot is in one of them alone", said)

    def test_none_and_no_object_are_the_same(self):
        self.write_both({})
        self.script("reference.json", self.write("other.json", result([("constant", "distinct", 20000, None)])))

    def test_bad_input(self):
        for bad in (7, "radius", [3], {"radius": [3]}):
            self.write_both(bad)
            said = self.script("reference.json", "other.json", status=2).stderr
            self.assertIn("reference.json is not a result: ", said)


class BadInput(Case):
    def test_what_is_no_result_is_named(self):
        good = result(REFERENCE)
        self.write("good.json", good)
        contents = {"empty": "", "cut": json.dumps(good)[:200], "list": [], "number": 1,
                    "no_cells": {**good, "cells": 3},
                    "calibration": {**good, "schema": {"name": "cbank-calibration", "version": "1.0"}},
                    "version_3": {**good, "schema": {"name": "cbank-result", "version": "3.0"}},
                    "version_null": {**good, "schema": {"name": "cbank-result", "version": None}},
                    "no_device": {key: value for key, value in good.items() if key != "device"},
                    "twice": result(REFERENCE + REFERENCE[:1]),
                    "deep": "[" * 100000}
        for value in ("20", True, -1, 0, [], float("inf"), float("nan"), 10 ** 400):
            contents[f"time {str(value)[:5]}"] = result([(*REFERENCE[0][:2], value, None), *REFERENCE[1:]])
        for name, content in contents.items():
            self.write(name + ".json", content)
            for arguments in (("good.json", name + ".json"), (name + ".json", "good.json")):
                with self.subTest(arguments):
                    self.assertIn(f"{name}.json is not a result: ", self.script(*arguments, status=2).stderr)
        with open(os.path.join(self.folder, "bytes.json"), "wb") as file:
            file.write(b"\xff\xfe\x00")
        for name in ("bytes.json", "missing.json", "."):
            with self.subTest(name):
                self.assertIn(f"{name} is not a result: ", self.script("good.json", name, status=2).stderr)

    def test_another_plan(self):
        for change in (lambda other: other["cells"].pop(), lambda other: other["cells"][4].update(block_size=32),
                       lambda other: other["cells"].append(cell("readonly", "per_warp", 1, None))):
            said = self.compare(change, status=2).stderr
            self.assertIn("other.json is not of the plan of reference.json: add/", said)

    def test_another_engine(self):
        said = self.compare(lambda other: other.update(engine="model"), status=2).stderr
        self.assertIn("other.json is of the engine model", said)

    def test_no_time_at_all(self):
        said = self.compare(lambda other: [one.update(status="failed") for one in other["cells"]], status=2).stderr
        self.assertIn("other.json", said)
        self.write("none.json", result([]))
        self.assertIn("none.json has no cells", self.script("none.json", "none.json", status=2).stderr)

    def test_one_file_or_none(self):
        self.script(self.write("reference.json", result(REFERENCE)), status=2)
        self.script(status=2)

    def test_json_that_cannot_be_written(self):
        self.write("reference.json", result(REFERENCE))
        said = self.script("--json", "no/such/report.json", "reference.json", "reference.json", status=2).stderr
        self.assertIn("no/such/report.json", said)


class Run(Case):
    NAMES = ["first-process", "second-process", "sample-us-100", "sample-us-2000"]

    def test_measures_four_times_and_reports(self):
        """On the model engine, whose times repeat."""
        done = self.script("--program", CBANK, "--run", "new/runs", "--", "--engine", "model", "--elements", "128000")
        self.assertEqual(done.stderr.splitlines(), [f"measuring new/runs/{name}.json" for name in self.NAMES])
        lines = done.stdout.splitlines()
        self.assertTrue(lines[0].startswith("reference new/runs/first-process.json; "), lines[0])
        self.assertTrue(lines[0].endswith("; modelled: nothing was measured"), lines[0])
        self.assertEqual([line.split()[0] for line in lines[2:8:2]],
                         [f"new/runs/{name}.json" for name in self.NAMES[1:]])
        asked = [self.report(f"new/runs/{name}.json") for name in self.NAMES]
        self.assertEqual({one["counters_asked"] for one in asked}, {"none"})
        options = [one["tool"]["argv"].split() for one in asked]
        self.assertEqual([words[words.index("--sample-us") + 1] if "--sample-us" in words else None
                          for words in options], [None, None, "100", "2000"])

    def test_ends_as_the_program_does(self):
        said = self.script("--program", CBANK, "--run", "runs", status=3).stderr
        self.assertIn("cbank run ended with 3", said)
        self.assertIn("no/such/cbank", self.script("--program", "no/such/cbank", "--run", "runs", status=2).stderr)


if __name__ == "__main__":
    unittest.main()
