#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of scripts/claims.py on results made by hand, and of scripts/record.sh with a program that only notes what it
is asked. CBANK names the real one (default build/cbank), which says whether the plans of record.sh hold what is
claimed."""

import json
import math
import os
import re
import shlex
import subprocess
import sys
import unittest

from common import ROOT, Scratch, run_script

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
RECORD, RECORD_ALL = (os.path.join(ROOT, "scripts", name) for name in ("record.sh", "record_all.sh"))
PATTERNS = ("per_block", "per_warp", "per_thread", "pseudo_random")
LONG, SHORT = 12800000, 128000


def cell(workload, path, pattern="per_warp", elements=LONG, time=(None, None, None), block_size=1024, counters=None,
         operations=None, **parameters):
    """A time of one number has an interval of no width."""
    value, low, high = time if isinstance(time, tuple) else (time, time, time)
    counted = {name: {"status": "ok", "value": value} for name, value in (counters or {}).items()}
    return {"workload": workload, "path": path, "pattern": pattern, "elements": elements, "block_size": block_size,
            "regime": "hot", "parameters": parameters, "status": "ok", "counters": counted,
            "time_ns": {"value": value, "ci_low": low, "ci_high": high},
            "operations_per_byte": operations or {"ideal": None, "dram": None, "l2": None}}


def named(cell):
    parts = [cell[key] for key in ("workload", "path", "pattern", "elements", "block_size", "regime")]
    return {**cell, "identity": "/".join(map(str, parts + [f"{key}={value}" for key, value in
                                                           cell["parameters"].items()]))}


def result(*cells, **device):
    return {"schema": {"name": "cbank-result", "version": "2.5"}, "engine": "cuda", "cells": [named(one) for one in cells],
            "device": {"uuid": "GPU-1", "name": "GPU of a test", "driver": "580.1", "sm_count": 4,
                       "l2_bytes": 6 * 2**20, **device}}


def written(constant, plain):
    """The two cells of the first source's per_warp, 12800000."""
    return cell("add_switch", "constant", time=constant), cell("add_runtime", "global", time=plain)


def conv_2d(path, **values):
    return cell("conv_2d", path, "lockstep", 16777216, radius=3, **values)


def distinct(count, stride, **counters):
    return cell("add", "constant", "distinct", counters=counters, distinct=count, stride_bytes=stride)


class Case(Scratch):
    def script(self, *arguments, status=0):
        done = run_script("claims.py", *arguments, folder=self.folder)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        if status == 0:
            return done.stdout
        self.assertEqual(done.stdout, "")
        self.assertIn("error:", done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stderr

    def rows(self, *files):
        """{(source, claim): [published, here, limits, verdict]}; a column that is empty is left out."""
        found = {}
        for line in self.script(*files).splitlines()[2:]:
            if line.startswith("-- "):
                source, before = int(line[3]), ""
                continue
            claim, *columns = re.split(r" {2,}", line)
            # What begins with dots goes on from the claim before it.
            before = claim if not claim.startswith("...") else before
            key = (source, claim) if (source, claim) not in found else (source, claim, before)
            self.assertNotIn(key, found)
            found[key] = columns
        return found

    def of(self, *cells, **device):
        return self.rows(self.write("result.json", result(*cells, **device)))


class Table(Case):
    def test_head(self):
        lines = self.script(self.write("result.json", result(*written(90, 100)))).splitlines()
        self.assertEqual(lines[0], "GPU of a test, driver 580.1")
        self.assertEqual(re.split(r" {2,}", lines[1]), ["claim", "published", "here [95 %]", "holds if", "verdict"])
        self.assertEqual([line for line in lines if line.startswith("--")],
                         ["-- 1. constant-memory add, RTX 3090", "-- 2. nine-point stencil, Quadro P2000",
                          "-- 3. convolution with the filter in constant memory",
                          "-- 4. constant memory and its limits, CUDA 2.x"])
        self.assertEqual(lines[2], lines[2].rstrip())
        # Columns stand under their titles.
        line, = (line for line in lines if line.startswith("per_warp, 12800000"))
        for title, text in (("published", "0.865"), ("here", "0.900"), ("holds if", "0.85 to"), ("verdict", "holds")):
            self.assertEqual(line.index(text), lines[1].index(title))

    def test_nothing_measured(self):
        """All that needs a cell is missing; the GPU itself is known."""
        found = self.of()
        self.assertEqual(found.pop((3, "L2 of hundreds of KB to a few MB: MB")), ["0.1 to 8", "6", "0.1 to 8", "holds"])
        for claim, experiment in (("L2 answers in tens of cycles: cycles", "latency_global_l2"),
                                  ("L1 of 16 to 64 KB per SM: KB walked without a miss", "geometry_global")):
            self.assertEqual(found.pop((3, claim))[1:], ["missing", f"no {experiment}"])
        for claim, columns in found.items():
            with self.subTest(claim):
                self.assertEqual(columns[1], "missing")
                self.assertRegex(columns[2], r"^no \w+/\w+/\w+/\d+/\d+( \w+=\d+)*$")

    def characterization(self, **device):
        """L2 answers in 200 cycles; of L1 48 KB were walked without a miss."""
        fits = {"value": 49152, "low": 49152, "high": 49152}
        experiments = [{"name": "latency_global_l2", "numbers": [{"value": 200, "low": 199.5, "high": 201}]},
                       {"name": "geometry_global", "geometry": {"levels": [{"fits_bytes": fits}]}}]
        return {"schema": {"name": "cbank-characterization", "version": "1.1"}, "experiments": experiments,
                "device": {"uuid": "GPU-1", "name": "GPU of a test", **device}}

    def test_characterized(self):
        files = self.write("result.json", result()), self.write("made.json", self.characterization())
        found = self.rows(*files)
        self.assertEqual(found[3, "L2 answers in tens of cycles: cycles"][1:],
                         ["200.0 [199.5, 201.0]", "10 to 99", "does not hold"])
        self.assertEqual(found[3, "L1 of 16 to 64 KB per SM: KB walked without a miss"][1:],
                         ["48", "16 to 64", "holds"])
        self.assertEqual(self.script(*files).splitlines()[0], "GPU of a test, driver 580.1")

    def test_characterized_elsewhere(self):
        file = self.write("result.json", result())
        other = self.write("other.json", self.characterization(uuid="GPU-2"))
        model = self.write("model.json", self.characterization(uuid="GPU-2", name="Another"))
        self.assertEqual(self.script(file, other).splitlines()[0],
                         "GPU of a test, driver 580.1; characterized: another GPU of that model")
        self.assertIn("of another model, Another", self.script(file, model, status=2))
        self.assertIn("no file is a result", self.script(other, status=2))

    def test_characterized_in_part(self):
        made = self.characterization()
        made["experiments"][0]["numbers"] = []
        made["experiments"][1]["geometry"]["levels"][0]["fits_bytes"]["value"] = None
        found = self.rows(self.write("result.json", result()), self.write("made.json", made))
        self.assertEqual(found[3, "L2 answers in tens of cycles: cycles"][2], "no latency_global_l2")
        self.assertEqual(found[3, "L1 of 16 to 64 KB per SM: KB walked without a miss"][2], "no geometry_global")

    def test_published_by_hand(self):
        """0.164012 / 0.189501, 0.00289792 / 0.00323584, 1.2925 / 0.159621, 3.0644 / 2.5796."""
        found = self.of()
        for claim, published in (((1, "per_warp, 12800000: constant about 10 % faster"), "0.865"),
                                 ((1, "per_block, 128000: constant about 10 % faster"), "0.896"),
                                 ((1, "pseudo_random, 12800000: constant 800 % slower"), "8.097"),
                                 ((2, "read-only beats constant, as its times say"), "1.188")):
            self.assertEqual(found[claim][0], published)


class Verdicts(Case):
    WRITTEN = (1, "per_warp, 12800000: constant about 10 % faster")

    def test_of_an_interval(self):
        """The limits are 0.85 and 0.95; ends of the interval: low / high and high / low."""
        for constant, plain, here, verdict in (
                ((90, 88, 92), (100, 99, 101), "0.900 [0.871, 0.929]", "holds"),
                ((95, 93, 97), (100, 99, 101), "0.950 [0.921, 0.980]", "undecided"),
                ((85, 84, 86), (100, 99, 101), "0.850 [0.832, 0.869]", "undecided"),
                ((90, 80, 100), (100, 99, 101), "0.900 [0.792, 1.010]", "undecided"),
                ((84, 83, 86), (100, 99, 101), "0.840 [0.822, 0.869]", "undecided"),
                ((96, 94, 97), (100, 99, 101), "0.960 [0.931, 0.980]", "undecided"),
                ((100, 99, 101), (100, 99, 101), "1.000 [0.980, 1.020]", "does not hold"),
                ((80, 79, 81), (100, 99, 101), "0.800 [0.782, 0.818]", "does not hold"),
                (85, 100, "0.850", "holds"), (95, 100, "0.950", "holds"),
                (84.9, 100, "0.849", "does not hold"), (95.1, 100, "0.951", "does not hold")):
            with self.subTest(here):
                self.assertEqual(self.of(*written(constant, plain))[self.WRITTEN],
                                 ["0.865", here, "0.85 to 0.95", verdict])

    def test_each_pattern_has_its_limits(self):
        cells = [cell(workload, path, pattern, SHORT, time) for pattern in PATTERNS
                 for workload, path, time in (("add_switch", "constant", 1700), ("add_runtime", "global", 1000))]
        found = self.of(*cells)
        for claim, verdict in (("per_block, 128000: constant about 10 % faster", "does not hold"),
                               ("per_warp, 128000: constant about 10 % faster", "does not hold"),
                               ("per_thread, 128000: constant 70 % slower", "holds"),
                               ("pseudo_random, 128000: constant 800 % slower", "does not hold")):
            self.assertEqual(found[1, claim][1::2], ["1.700", verdict])

    def test_no_upper_limit(self):
        found = self.of(*(cell("stencil_1d", path, "lockstep", 16777216, time, block_size=32) for path, time in
                          (("constant", (3000, 2990, 3010)), ("readonly", 2500), ("restrict", 3030))))
        self.assertEqual(found[2, "constant beats __ldg for uniform reads (time ratio)"],
                         ["1.188", "1.2000 [1.1960, 1.2040]", "0 to 0.99", "does not hold"])
        self.assertEqual(found[2, "read-only beats constant, as its times say"],
                         ["1.188", "1.2000 [1.1960, 1.2040]", "from 1.01", "holds"])
        self.assertEqual(found[2, "... and const __restrict__"],
                         ["1.188", "0.9901 [0.9868, 0.9934]", "0 to 0.99", "undecided"])

    def test_measured(self):
        """Differences: low - high and high - low."""
        found = self.of(cell("add", "constant", elements=SHORT, time=(1000, 990, 1020)),
                        cell("add", "global", elements=SHORT, time=(2000, 1990, 2010)),
                        cell("add", "param", elements=SHORT, time=1100),
                        cell("refill", "constant", elements=SHORT, time=(5000, 4900, 5200), refill_bytes=1024),
                        cell("refill", "global", elements=SHORT, time=(6000, 5990, 6010), refill_bytes=65536),
                        cell("modules", "constant", elements=SHORT, time=(900, 899, 901), modules=1),
                        cell("modules", "constant", elements=SHORT, time=(1400, 1390, 1410), modules=2),
                        cell("modules", "global", elements=SHORT, time=700, modules=1),
                        cell("modules", "global", elements=SHORT, time=680, modules=2))
        for claim, here in (("past 64 KB, refill of 1024 bytes: ns a launch", "4000 [3880, 4210]"),
                            ("... 65536 bytes in global memory: ns a launch", "4000 [3980, 4020]"),
                            ("... 2048 bytes as a kernel parameter (time to constant)", "1.100 [1.078, 1.111]"),
                            ("past 64 KB, two modules alternating: ns a launch", "500 [489, 511]"),
                            ("... with their tables in global memory: ns a launch", "-20")):
            self.assertEqual(found[4, claim], ["-", here, "measured"])
        self.assertEqual(found[4, "past 64 KB, refill of 4096 bytes: ns a launch"][1:],
                         ["missing", "no refill/constant/per_warp/128000/1024 refill_bytes=4096"])

    def test_of_the_gpu(self):
        claim = (3, "L2 of hundreds of KB to a few MB: MB")
        self.assertEqual(self.of(l2_bytes=60 * 2**20)[claim], ["0.1 to 8", "60", "0.1 to 8", "does not hold"])
        self.assertEqual(self.of(l2_bytes=None)[claim], ["0.1 to 8", "missing", "no l2_bytes"])


class Counters(Case):
    def test_fills_of_a_line(self):
        """32 lines on each of 4 SMs, beside the 40 fills of a kernel that has no table there."""
        cells = [cell("add", "global", counters={"idc_misses_new": 40}), distinct(32, 64, idc_misses_new=40 + 128),
                 distinct(32, 256, idc_misses_new=40 + 3 * 128)]
        found = self.of(*cells)
        once, often = ["1", "1.0", "0.9 to 1.1", "holds"], ["1", "3.0", "0.9 to 1.1", "does not hold"]
        self.assertEqual(found[2, "64 KB constant cache per SM: fills of a line, 2 KB read"], once)
        self.assertEqual(found[4, "8 KB constant cache per SM: fills of a line, 2 KB read"], once)
        self.assertEqual(found[2, "... 8 KB read"], often)
        self.assertEqual(self.of(*cells, sm_count=12)[2, "... 8 KB read"][1], "1.0")

    def test_misses_of_l1(self):
        """Sectors in L2 beside those of a kernel whose table is no load on it, of the sectors asked of L1."""
        of_48_kb = (2, "48 KB read-only cache per SM: misses of a 64 KB table")
        for stream, part, verdict in ((400000, "0.2500", "holds"), (760000, "0.1000", "does not hold"),
                                      (1100000, "0.0000", "does not hold")):
            found = self.of(cell("add", "readonly", counters={"l2_sectors": stream}),
                            cell("add", "readonly", "pseudo_random",
                                 counters={"l2_sectors": 1000000, "l1_sectors": 2400000}))
            self.assertEqual(found[of_48_kb], ["over 0.25", part, "0.2 to 1", verdict])

    def test_convolution(self):
        found = self.of(conv_2d("constant", time=(1000, 990, 1010), counters={"dram_read_bytes": 45},
                                operations={"ideal": 0.5, "dram": 0.6, "l2": 0.34}),
                        conv_2d("global", time=1250, counters={"dram_read_bytes": 100},
                                operations={"ideal": 0.25, "dram": 0.22, "l2": 0.31}),
                        conv_2d("staging", time=980))
        plain = "filter in global memory: ideal operations per byte"
        filtered = "filter in constant memory: ideal operations per byte"
        for claim, columns in (
                ((3, plain), ["0.25", "0.25", "0.25 to 0.25", "holds"]),
                ((3, "... of DRAM traffic (conv_2d, radius 3)"), ["0.25", "0.22", "0.2 to 0.3", "holds"]),
                ((3, "... of L2 traffic"), ["0.25", "0.31", "0.2 to 0.3", "does not hold"]),
                ((3, filtered), ["0.5", "0.50", "0.5 to 0.5", "holds"]),
                ((3, "... of DRAM traffic"), ["0.5", "0.60", "0.4 to 0.6", "holds"]),
                ((3, "... of L2 traffic", filtered), ["0.5", "0.34", "0.4 to 0.6", "does not hold"]),
                ((3, "... which saves DRAM reads (constant to global)"), ["0.5", "0.4500", "0 to 0.9", "holds"]),
                ((3, "... and time (constant to global)"), ["-", "0.800 [0.792, 0.808]", "0 to 0.99", "holds"]),
                ((4, "as fast as a register (conv_2d, time to no loads)"),
                 ["1", "1.020 [1.010, 1.031]", "0.95 to 1.05", "holds"])):
            with self.subTest(claim):
                self.assertEqual(found[claim], columns)

    def test_one_cell_or_two(self):
        found = self.of(cell("add", "constant", counters={"idc_requests": 400000, "ldc_instructions": 400000,
                                                          "idc_active_cycles": 800000}),
                        cell("add", "constant", "half_warp", counters={"idc_active_cycles": 832000}))
        self.assertEqual(found[3, "broadcast: requests for a load of one address"], ["1", "1.000", "1 to 1", "holds"])
        self.assertEqual(found[4, "16 threads, one address: free (busy cycles to per_warp)"],
                         ["1", "1.040", "0.95 to 1.05", "holds"])

    def cost(self, cycles):
        """Rows of the line through these cycles a load (of 400000) for 1, 2, 4, 8, 16 and 32 addresses."""
        found = self.of(*(distinct(2**i, 4, idc_active_cycles=400000 * value) for i, value in enumerate(cycles)))
        return [found[4, claim][1:] for claim in ("cost linear in distinct addresses: R squared",
                                                  "... cycles for one more")]

    def test_cost_of_an_address(self):
        self.assertEqual(self.cost([3, 5, 9, 17, 33, 65]),
                         [["1.00000", "0.999 to 1", "holds"], ["2.000", "measured"]])
        # sxx = 1365 - 6 x 10.5^2 = 703.5, sxy = 318 - 6 x 10.5 x 3 = 129, syy = 5 + 25 = 30.
        self.assertEqual(self.cost([2, 2, 2, 2, 2, 8]),
                         [["0.78849", "0.999 to 1", "does not hold"], ["0.183", "measured"]])
        self.assertEqual(self.cost([2, 2, 2, 2, 2, 2]), [["missing", "no quotient by 0"], ["0.000", "measured"]])
        self.assertEqual(self.cost([3, 5, 9, 17, 33])[0],
                         ["missing", "no add/constant/distinct/12800000/1024 distinct=32 stride_bytes=4"])


class Cells(Case):
    CLAIM = Verdicts.WRITTEN

    def here(self, *files):
        return self.rows(*files)[self.CLAIM][1]

    def test_from_the_first_file_that_has_them(self):
        self.write("a.json", result(*written(90, 100)))
        self.write("b.json", result(*written(200, 100)))
        self.write("half.json", result(written(300, 100)[0]))
        for files, here in ((("a", "b"), "0.900"), (("b", "a"), "2.000"), (("half", "a"), "3.000"),
                            (("b", "half"), "2.000"), (("half", "b", "a"), "3.000")):
            self.assertEqual(self.here(*(name + ".json" for name in files)), here)

    def test_those_that_are_not_ok_are_none(self):
        self.write("a.json", result(*written(90, 100)))
        for status in ("failed", "skipped", "not_run"):
            made = result(*written(200, 100))
            made["cells"][0].update(status=status)
            self.write("b.json", made)
            self.assertEqual(self.here("b.json", "a.json"), "0.900")
            self.assertEqual(self.rows("b.json")[self.CLAIM],
                             ["0.865", "missing", "no add_switch/constant/per_warp/12800000/1024"])

    def test_others_are_not_taken(self):
        for change in ({"regime": "cold"}, {"block_size": 512}, {"elements": 1000}, {"parameters": {"modules": 2}},
                       {"path": "param"}, {"workload": "add"}, {"pattern": "half_warp"}):
            constant, plain = written(90, 100)
            made = result({**constant, **change}, plain)
            with self.subTest(change):
                self.assertEqual(self.rows(self.write("a.json", made))[self.CLAIM][1:],
                                 ["missing", "no add_switch/constant/per_warp/12800000/1024"])

    def test_without_counters(self):
        """Times are there, and what needs a counter is missing."""
        made = result(*written(90, 100), cell("add", "constant"), conv_2d("constant"), conv_2d("global"),
                      cell("add", "global", counters={"idc_misses_new": 40}))
        made["cells"][-1]["counters"]["idc_misses_new"].update(status="no_permission", value=None)
        found = self.rows(self.write("a.json", made))
        self.assertEqual(found[self.CLAIM][1], "0.900")
        for claim, reason in (((3, "broadcast: requests for a load of one address"), "no idc_requests"),
                              ((2, "... 8 KB read"), "no idc_misses_new"),
                              ((3, "... which saves DRAM reads (constant to global)"), "no dram_read_bytes"),
                              ((3, "... of DRAM traffic"), "no operations per byte (dram)"),
                              ((3, "... of L2 traffic"), "no operations per byte (l2)")):
            self.assertEqual(found[claim][1:], ["missing", reason])

    def test_negative_counters(self):
        """An H200 says so of idc_hits where many loads wait for one line."""
        made = cell("add_switch", "constant", time=90, counters={"idc_hits": -3895046})
        self.assertEqual(self.of(made, written(90, 100)[1])[self.CLAIM][1], "0.900")

    def test_without_an_interval(self):
        """Of a few samples, or of none."""
        for time in ((90, None, None), (None, None, None)):
            self.assertEqual(self.of(*written(time, 100))[self.CLAIM][1:],
                             ["missing", "no interval of add_switch/constant/per_warp/12800000/1024"])

    def test_quotient_by_zero(self):
        found = self.of(conv_2d("constant", counters={"dram_read_bytes": 5}),
                        conv_2d("global", counters={"dram_read_bytes": 0}))
        self.assertEqual(found[3, "... which saves DRAM reads (constant to global)"][1:],
                         ["missing", "no quotient by 0"])


class Parts(Case):
    KERNELS = (("add", "constant"), ("add", "global"), ("add_switch", "constant"), ("add_switch", "global"),
               ("add_runtime", "global"))

    def lines(self, times):
        """Of times(pattern, elements): those of the kernels."""
        cells = [cell(workload, path, pattern, elements, time) for pattern in PATTERNS for elements in (LONG, SHORT)
                 for (workload, path), time in zip(self.KERNELS, times(pattern, elements))]
        return self.script("--parts", self.write("result.json", result(*cells))).splitlines()

    def test_by_hand(self):
        """93 / 150 = 80 / 100 x (93 / 80) / (120 / 100) x 120 / 150."""
        lines = self.lines(lambda pattern, elements: ((80, 79, 82), (100, 98, 101), (93, 92, 94), (120, 118, 121),
                                                      (150, 149, 151)))
        self.assertEqual(lines[0], "GPU of a test, driver 580.1: time through constant / time through global")
        rows = [re.split(r" {2,}", line) for line in lines[1:]]
        self.assertEqual(rows[0], ["pattern", "elements", "published", "as written", "= loads", "x jump table",
                                   "x division"])
        self.assertEqual([row[:3] for row in rows[1:]],
                         [["per_block", "12800000", "0.886"], ["per_block", "128000", "0.896"],
                          ["per_warp", "12800000", "0.865"], ["per_warp", "128000", "0.878"],
                          ["per_thread", "12800000", "1.713"], ["per_thread", "128000", "1.558"],
                          ["pseudo_random", "12800000", "8.097"], ["pseudo_random", "128000", "4.465"]])
        for row in rows[1:]:
            self.assertEqual(row[3:], ["0.620 [0.609, 0.631]", "0.800 [0.782, 0.837]", "0.969 [0.909, 1.018]",
                                       "0.800 [0.781, 0.812]"])

    def test_the_product_is_the_ratio(self):
        def times(pattern, elements):
            seed = 1 + PATTERNS.index(pattern) * 2 + (elements == SHORT)
            return [1000 + seed * step % 997 for step in (271, 389, 463, 571, 683)]

        for line in self.lines(times)[2:]:
            ratio, *parts = (float(text) for text in line.split()[3:])
            # Each is rounded by up to 0.0005.
            lowest, highest = (math.prod(part + rounding for part in parts) for rounding in (-0.0005, 0.0005))
            self.assertLess(lowest - 0.0005, ratio)
            self.assertLess(ratio, highest + 0.0005)
            self.assertLess(highest - lowest, 0.006)

    def test_missing(self):
        self.write("result.json", result(*written(90, 100)))
        self.assertIn("no file has add_switch/constant/per_block/12800000/1024; measure with cbank run",
                      self.script("--parts", "result.json", status=2))


class BadInput(Case):
    def refused(self, name, *files):
        said = self.script(*files, status=2)
        self.assertIn(name, said)
        return said

    def test_what_is_no_result_is_named(self):
        good = result(*written(90, 100))
        self.write("good.json", good)
        contents = {"empty": "", "cut": json.dumps(good)[:200], "list": [], "number": 1, "deep": "[" * 100000,
                    "no_cells": {**good, "cells": 3}, "cell": {**good, "cells": [3]},
                    "no_device": {key: value for key, value in good.items() if key != "device"},
                    "sm_count": result(sm_count="4"),
                    "calibration": {**good, "schema": {"name": "cbank-calibration", "version": "1.0"}},
                    "version_3": {**good, "schema": {"name": "cbank-result", "version": "3.0"}},
                    "version_1": {**good, "schema": {"name": "cbank-result", "version": "1.1"}},
                    "identity": {**good, "cells": [{**good["cells"][0], "identity": []}]}}
        for value in ("20", True, -1, 0, [], float("inf"), float("nan"), 10 ** 400):
            contents[f"time {str(value)[:5]}"] = result(cell("add", "global", time=value))
        for value in ("20", True, [], float("-inf"), float("nan"), 10 ** 400):
            contents[f"counter {str(value)[:5]}"] = result(cell("add", "global", counters={"l1_sectors": value}))
        for name, content in contents.items():
            self.write(name + ".json", content)
            for files in ((name + ".json",), ("good.json", name + ".json"), ("--parts", name + ".json")):
                with self.subTest(files):
                    self.refused(f"{name}.json is not a result: ", *files)
        with open(os.path.join(self.folder, "bytes.json"), "wb") as file:
            file.write(b"\xff\xfe\x00")
        for name in ("bytes.json", "missing.json", "."):
            with self.subTest(name):
                self.refused(f"{name} is not a result: ", "good.json", name)

    def test_what_is_not_there_is_named(self):
        good = result(*written(90, 100))
        for key in ("schema", "engine", "device", "cells"):
            self.write("bad.json", {name: value for name, value in good.items() if name != key})
            self.refused(f"bad.json is not a result: no '{key}'", "bad.json")

    def test_modelled(self):
        self.write("good.json", result(*written(90, 100)))
        self.write("modelled.json", {**result(*written(90, 100)), "engine": "model"})
        self.refused("modelled.json is modelled", "modelled.json")
        self.refused("modelled.json is modelled", "good.json", "modelled.json")

    def test_of_two_gpus(self):
        self.write("a.json", result(*written(90, 100)))
        self.write("b.json", result(uuid="GPU-2"))
        self.refused("b.json is of another GPU", "a.json", "b.json")
        self.refused("a.json is of another GPU", "b.json", "a.json")

    def test_no_file(self):
        self.refused("FILE")


class Record(Case):
    # Notes its arguments, ends with the status in status/NAME and leaves a copy of result/NAME where it is told to.
    STUB = """#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/asked"
for last; do :; done
name=$(basename "$last" .json)
[ -f "$here/result/$name" ] && cp "$here/result/$name" "$last"
[ -f "$here/status/$name" ] && exit "$(cat "$here/status/$name")"
exit 0
"""
    FIRST = "run --engine cuda --quiet --json -"

    def setUp(self):
        super().setUp()
        for name in ("status", "result"):
            os.mkdir(os.path.join(self.folder, name))
        self.stub = self.write("stub", self.STUB)
        os.chmod(self.stub, 0o755)
        with open(RECORD, encoding="utf-8") as file:
            self.names = re.findall(r"^record (\S+)", file.read(), re.MULTILINE)

    def record(self, *arguments, status=0, **statuses):
        """stdout, and what the program was asked after the first process; statuses by name, _ for -."""
        for name, value in statuses.items():
            self.write("status/" + name.replace("_", "-"), str(value))
        done = subprocess.run(["sh", RECORD, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=60,
                              check=False, env={**os.environ, "CBANK": self.stub, "PYTHON": sys.executable})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        try:
            with open(os.path.join(self.folder, "asked"), encoding="utf-8") as file:
                first, *asked = file.read().splitlines()
        except FileNotFoundError:
            return done.stdout, None
        os.remove(os.path.join(self.folder, "asked"))
        self.assertEqual(first, self.FIRST)
        return done.stdout, asked

    def test_syntax(self):
        subprocess.run(["sh", "-n", RECORD], check=True)

    def test_all_files(self):
        self.assertEqual(len(self.names), len(set(self.names)))
        out, asked = self.record("new/a folder")
        self.assertEqual(out.splitlines(), [f"{name}.json: exit status 0" for name in self.names])
        self.assertEqual(len(asked), len(self.names))
        for name, line in zip(self.names, asked):
            self.assertTrue(line.startswith("run --engine cuda --quiet "), line)
            self.assertTrue(line.endswith(f"--json new/a folder/{name}.json"), line)
        self.assertTrue(os.path.isdir(os.path.join(self.folder, "new/a folder")))

    def test_all_there_is_of_a_gpu(self):
        """record_all.sh: each part by itself, and which there are."""
        def measure(*parts, status=0):
            done = subprocess.run(["sh", RECORD_ALL, *parts], cwd=self.folder, capture_output=True, text=True, timeout=60,
                                  check=False, env={**os.environ, "CBANK": self.stub, "PYTHON": "true"})
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
            return done

        self.assertIn("usage: record_all.sh FOLDER [PART...]", measure(status=2).stderr)
        self.assertIn("there is no part 'sweep'; there are: records model sweeps", measure("new", "chip", "sweep", status=2).stderr)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "asked")))
        parts = ["records", "model", "sweeps", "lookups", "processes", "gate", "plans", "neighbour", "clock", "advise",
                 "chip"]
        said = measure("new").stdout.splitlines()
        self.assertEqual([line.split(":")[0] for line in said if re.search(r": exit status 0, \d+ s$", line)], parts)
        with open(os.path.join(self.folder, "asked"), encoding="utf-8") as file:
            asked = file.read()
        for wanted in ("--sweep warps --max-samples 60 --json new/sweeps/warps.json", "--json new/model/code.json",
                       "--json new/core-matrix.json", "--json new/lookups.json", "contribute --credit The cbank contributors new/chip"):
            self.assertIn(wanted, asked)
        self.write("status/lookup", "1")
        self.assertIn("sweeps: exit status 1, ", measure("new", "sweeps", status=1).stdout)
        self.write("status/lookup", "4")
        measure("new", "sweeps")

    def test_folder_by_default(self):
        _, asked = self.record()
        self.assertTrue(asked[0].endswith(f" --json results/local/record/{self.names[0]}.json"), asked[0])

    def test_names_choose(self):
        """core-matrix is not core-matrix-cold; the order is that of the script."""
        for names in (("core-matrix",), ("core-matrix-cold",), ("sizes", "refill"), ("all-paths", "convolution")):
            out, asked = self.record("new", *names)
            wanted = sorted(names, key=self.names.index)
            self.assertEqual(out.splitlines(), [f"{name}.json: exit status 0" for name in wanted])
            self.assertEqual([line.split()[-1] for line in asked], [f"new/{name}.json" for name in wanted])

    def test_the_worst_status_counts(self):
        self.record("new", core_matrix=4, refill=4)
        out, asked = self.record("new", status=1, second_process=1)
        self.assertIn("second-process.json: exit status 1", out)
        self.assertEqual(len(asked), len(self.names))
        self.record("new", status=3, core_matrix_cold=3)
        self.record("new", status=3, sizes=2)
        self.record("new", "second-process", "refill", status=1)
        self.record("new", "core-matrix", "refill", "convolution")

    def test_the_first_process_does_not_count(self):
        self.record("new", **{"_": 3})

    def test_no_folder(self):
        self.write("file", "")
        self.assertEqual(self.record("file/new", status=2), ("", None))

    def test_claims_come_last(self):
        for name in ("all-paths", "serialization"):
            self.assertNotIn("driver", self.record("new")[0])
            self.write(f"result/{name}", result(*written(90 if name == "all-paths" else 200, 100)))
        lines = self.record("new", "all-paths", "serialization")[0].splitlines()
        self.assertEqual(lines[:3], ["all-paths.json: exit status 0", "serialization.json: exit status 0",
                                     "GPU of a test, driver 580.1"])
        line, = (line for line in lines if line.startswith("per_warp, 12800000"))
        self.assertIn(" 0.900 ", line)

    def test_their_plans_hold_what_is_claimed(self):
        """On the model engine: no cell is missing from the two files, though counters are."""
        _, asked = self.record("new", "all-paths", "serialization")
        files = []
        for line in asked:
            words = shlex.split(line.replace("--engine cuda", "--engine model"))
            subprocess.run([CBANK, *words], cwd=self.folder, check=True, timeout=300)
            files.append(words[-1])
            with open(os.path.join(self.folder, files[-1]), encoding="utf-8") as file:
                made = json.load(file)
            made["engine"] = "cuda"
            self.write(files[-1], made)
        for claim, columns in self.rows(*files).items():
            with self.subTest(claim):
                self.assertNotRegex(columns[-1], "no .*/")
        self.script("--parts", *files)


if __name__ == "__main__":
    unittest.main()
