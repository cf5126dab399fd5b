#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of scripts/plot.py and of the figures that it makes: their data against golden files, and every one drawn.

CBANK names the program (default build/cbank), which explains and compares. With UPDATE_GOLDEN set, the golden files are
written instead of compared.
"""

import argparse
import contextlib
import csv
import glob
import hashlib
import io
import itertools
import json
import multiprocessing
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from common import DRAWING, FULL, QUICK, ROOT, Scratch, read_json, repetitions, run_script

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
PLOT = os.path.join(ROOT, "scripts/plot.py")
GOLDEN = os.path.join(ROOT, "tests/golden/figures")
MATRIX = os.path.join(ROOT, "results/h200/core-matrix.json")
CONVOLUTIONS = os.path.join(ROOT, "results/h200/convolution.json")
LOOKUPS = os.path.join(ROOT, "results/h200/sweeps/lookup.json")
CHARACTERIZATION = os.path.join(ROOT, "results/characterizations/h200.json")
OTHER_CHIP = os.path.join(ROOT, "results/characterizations/h100.json")

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import figures  # noqa: E402
import legible  # noqa: E402
import plot  # noqa: E402
from figures import documents, output, panels, style  # noqa: E402


# -- documents made by hand ---------------------------------------------------------------------------------------


def cell(path="constant", pattern="per_warp", time=(1000, 990, 1010), elements=128000, samples=(), **more):
    value, low, high = time
    return {"workload": "add", "path": path, "pattern": pattern, "elements": elements, "block_size": 1024,
            "regime": "hot", "parameters": {}, "array_bytes": 65536, "status": "ok", "reason": None, "verified": True,
            "time_ns": {"value": value, "median": low, "ci_low": low, "ci_high": high, "min": low, "mad": 5,
                        "launches_per_sample": 10, "stop_reason": "converged", "samples": list(samples)},
            "cycles": None, "sm_clock_mhz": 1980, "flags": [], "counters": {}, "operations": None,
            "operations_per_byte": {"ideal": None, "dram": None, "l2": None}, "kernel": None, "model": None, **more}


def result(*cells, engine="cuda", complete=True, name="GPU of a test", **more):
    return {"schema": {"name": "cbank-result", "version": "2.5"}, "engine": engine, "complete": complete,
            "tool": {"name": "cbank", "version": "0.1.0", "git_commit": "0123abc", "git_dirty": False},
            "device": {"name": name, "driver": "580.1", "uuid": "GPU-1", "compute_capability": "9.0",
                       "throttle": {"known": True, "before": 0, "after": 0}},
            "cells": list(cells), **more}


FOUR = [cell("constant", "per_warp", (900, 891, 909)), cell("global", "per_warp", (1000, 990, 1010)),
        cell("constant", "per_thread", (4000, 3900, 4200), flags=["throttled", "unstable"]),
        cell("global", "per_thread", (2000, 2000, 2000))]


class Case(Scratch):
    maxDiff = None

    def document(self, content, name="planted.json"):
        return documents.read(self.write(name, content))

    def plot(self, *arguments, status=0, environment=None):
        """(lines of stdout, lines of stderr)."""
        words = ["-o", os.path.join(self.folder, "out"), "--program", CBANK, *arguments]
        if environment:
            done = subprocess.run([sys.executable, PLOT, *words], cwd=self.folder, capture_output=True, text=True,
                                  timeout=120, check=False,
                                  env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment})
        else:
            done = run_script("plot.py", *words, folder=self.folder, loads=DRAWING)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout.splitlines(), done.stderr.splitlines()

    def made(self, name):
        with open(os.path.join(self.folder, "out", name), "rb") as file:
            return file.read()


# Those that a golden file is made of: a document each, small enough to be worked out by hand.
def number(value, low=None, high=None, reason=None, **more):
    return {"value": value, "low": value if low is None else low, "high": value if high is None else high,
            "unit": "cycles", "samples": 21, "method": "by hand", "reason": reason, **more}


def experiment(name, path, **more):
    return {"name": f"{name}_{path}", "what": "", "path": path, "status": "ok", "reason": None, "seconds": 1,
            "numbers": [], "verdicts": [], "evidence": [], **more}


def characterization(*experiments):
    return {"schema": {"name": "cbank-characterization", "version": "1.0"}, "experiments": list(experiments),
            "tool": {"name": "cbank", "version": "0.1.0", "git_commit": None, "git_dirty": True},
            "device": {"name": "GPU of a test", "driver": "580.1"}}


SERIAL = characterization(
    experiment("serialization", "constant", numbers=[
        number(28, name="latency", distinct=1, warps=1),
        number(39, 38, 40, name="latency", distinct=2, stride_bytes=4, warps=1),
        number(900, name="latency", distinct=32, stride_bytes=4, warps=1, reason="left out of the fit"),
        number(28, name="latency_base", stride_bytes=4),
        number(11, 10.5, 11.5, name="latency_per_extra_address", stride_bytes=4)],
        verdicts=[{"name": "latency_grows_per", "value": "address", "reason": ""}]))


def level(latency, size=None, fits=None, reason=None):
    numbers = {key: number(None) for key in ("fetch_bytes", "line_bytes", "ways", "sets", "lines_taken", "replacement")}
    return {**numbers, "latency": number(latency), "capacity_bytes": number(size, reason=reason),
            "fits_bytes": number(fits), "replacement_name": None, "contradiction": None}


def asked(step, count, answer):
    return {"asked": f"walk constant warm_up 2 timed 3 before nothing list 0+{step}*{count}", "answer": answer}


CAPACITY = characterization(
    experiment("latency", "constant", numbers=[number(28, name="latency")]),
    experiment("geometry", "constant",
               geometry={"searched_bytes": 256,
                         "levels": [level(34, 128, 128),
                                    level(104, reason="all of the 256 bytes that could be walked fit")],
                         "plateaus": [{"first_bytes": 64, "last_bytes": 128, "cycles": 34},
                                      {"first_bytes": 256, "last_bytes": 256, "cycles": 69}]},
               # Two walks are of other series: another step, and not warmed up.
               evidence=[asked(64, 2, "34*6"), asked(16, 16, "34*24 104*24"), asked(16, 4, "34*12"),
                         asked(16, 8, "34*12 104 34*11"),
                         {"asked": "walk constant warm_up 0 timed 1 before launch list 0+16*4", "answer": "306 34*3"}]))


def explained_cell(bound_by, **parts):
    of = cell("constant", "per_warp", (1000, 995, 1005))
    keys = ("workload", "path", "pattern", "elements", "block_size", "regime", "parameters", "array_bytes", "status",
            "reason")
    return {**{key: of[key] for key in keys}, "time_ns": {"value": 1000, "ci_low": 995, "ci_high": 1005},
            "modelled": {"time_ns": 900, "bound_by": bound_by,
                         "parts_ns": {"launch": 100, "wave": 200, "residency": 0, "issue": 50, "serialization": 0,
                                      "misses": 0, "stream": 10, **parts}},
            "remainder_ns": 100, "remainder": 0.1, "within": True, "reasons": [], "exact_counters": [], "levels": []}


EXPLANATION = {
    "schema": {"name": "cbank-explanation", "version": "2.0"},
    "tool": {"name": "cbank", "version": "0.1.0", "git_commit": "0123abc", "git_dirty": False},
    "card": {"file": None, "name": "card of a test", "chip": "GH100"},
    "results": [{"file": "a.json", "engine": "cuda", "modelled_time": False, "complete": True,
                 "device": {"name": "GPU of a test", "uuid": None},
                 "cells": [explained_cell(["serialization", "misses"], serialization=400, misses=200)]}]}


def compared(path, verdict, ratio):
    of = cell(path)
    return {**{key: of[key] for key in ("workload", "path", "pattern", "elements", "block_size", "regime")},
            "parameters": {}, "array_bytes": 65536, "verdict": verdict, "base_ns": 1000, "new_ns": 1020,
            "ratio": ratio and dict(zip(("value", "ci_low", "ci_high", "p"), (*ratio, 0.5))),
            "adjusted_p": 1, "noise": None, "process_deviation": None, "degrees_of_freedom_of_sides": 0,
            "processes_to_settle": None, "underpowered": False, "same_data": False, "sass_differs": False, "counters": [], "note": None}


def comparison(*cells, **more):
    side = {"label": "a", "results": 1, "incomplete": 0, "engine": "cuda",
            "device": {"name": "GPU of a test", "driver": "580.1"}}
    return {"schema": {"name": "cbank-comparison", "version": "3.0"}, "comparable": True, "base": side,
            "new": {**side, "device": {**side["device"], "driver": "590.2"}}, "options": {"threshold": 0.01}, "differences": [], "cells": list(cells),
            **more}


COMPARISON = comparison(compared("constant", "regressed", (1.02, 1.015, 1.025)),
                        compared("global", "same", (1, 0.99, 1.01)), compared("readonly", "missing", None))


def counter(value, expected=None, status="ok"):
    return {"value": value, "expected": expected, "kind": "exact" if expected else "measured", "status": status,
            "metric": "m", "unit": "requests", "reason": None}


CONVOLUTION = result(*(cell(path, "lockstep", workload="conv_1d", parameters={"radius": 3}, operations=7000,
                            operations_per_byte={"ideal": ideal, "dram": dram, "l2": None})
                       for path, ideal, dram in (("constant", 0.5, 1.75), ("global", 0.25, 1.5),
                                                 ("staging", None, None))))
COUNTED = result(cell("constant", counters={"idc_requests": counter(32, 32), "idc_hits": counter(-3),
                                            "gcc_requests": counter(None, status="unsupported")}),
                 cell("global", counters={"idc_requests": counter(1, 1), "idc_hits": counter(5), "same": counter(4)}),
                 cell("readonly", counters={"same": counter(4)}))


def gpu(host, slot, verdict, change, uuid="GPU-1", answered=True):
    return {"uuid": uuid, "name": "GPU of a test", "host": host, "slot": slot, "driver": "580.1", "vbios": None,
            "last_utc": "2026-01-01T00:00:00Z", "answered": answered, "modelled": False, "complete": True, "verdict": verdict,
            "changes": [{"path": path, "change": factor * change} for path, factor in (("global", 1), ("constant", 2))] if answered else []}


FLEET = {"schema": {"name": "cbank-fleet", "version": "1.0"}, "verdict": "finding", "night": {"first_utc": "2026-01-01T00:00:00Z"},
         "findings": [], "gpus": [gpu("n2", "1", "slower", 0.05), gpu("n1", "1", "quiet", -0.001), gpu("n1", "2", "missing", 0, "GPU-2", False),
                                  gpu("n2", "2", "replaced", 0, "GPU-4"), gpu("n2", "2", "quiet", 0, "GPU-3", False)]}


def run_of(night, time, uuid="GPU-1-2", cell="add/constant/per_warp/128000/1024/hot", **more):
    return {"started_utc": f"2026-01-{night:02}T22:00:00Z", "engine": "cuda", "times": "measured", "device": "GPU of a test",
            "gpu": uuid[:5], "host": "n1", "driver": "580.1", "time_ns": time, "relative_half_width": 0.001, "change": None,
            "uuid": uuid, "cell": cell, "state": None, "failed": None, "slot": "00000000:07:00.0", "vbios": None, "file": "a.json",
            "hash": None, **more}


STRIDED = "add/constant/strided/128000/1024/cold/stride_bytes=64"
HISTORY = {"schema": {"name": "cbank-history", "version": "1.1"},
           "rows": [run_of(1, 1000), run_of(2, 1020, driver="590.2"), run_of(1, 990, "GPU-3-4"), run_of(2, None, "GPU-3-4"),
                    run_of(2, 2000, cell=STRIDED, state="unstable")],
           "changes": [{"since_utc": "2026-01-02T22:00:00Z", "until_utc": "2026-01-01T22:00:00Z", "uuid": "GPU-1-2",
                        "device": "GPU of a test", "host": "n1", "slot": "00000000:07:00.0",
                        "cell": "add/constant/per_warp/128000/1024/hot", "change": 0.02, "ci_low": 0.019, "ci_high": 0.021,
                        "runs_before": 1, "runs_after": 1, "driver_before": "580.1", "driver_after": "590.2", "vbios_before": None,
                        "vbios_after": None, "with": "driver 580.1 -> 590.2", "noise": 0.001, "noise_origin": "default"}],
           "forgotten": []}


class Data(Case):
    """What stands in the CSV of each figure."""

    def golden(self, name, *contents):
        module = figures.FIGURES[name]
        given = [self.document(content, f"planted-{i}.json") for i, content in enumerate(contents)]
        made = output.csv_text(module.COLUMNS, module.rows(given if hasattr(module, "COMBINES") else given[0]))
        path = os.path.join(GOLDEN, f"{name}.csv")
        if os.environ.get("UPDATE_GOLDEN"):
            os.makedirs(GOLDEN, exist_ok=True)
            output.write(path, made.encode())
        with open(path, encoding="utf-8") as file:
            self.assertEqual(made, file.read())
        return list(csv.DictReader(io.StringIO(made)))

    def test_matrix(self):
        rows = self.golden("matrix", result(*FOUR))
        # 900 / 1000; 891 / 1010; 909 / 990.
        self.assertEqual([rows[0][key] for key in ("ratio_to_global", "ratio_low", "ratio_high")],
                         ["0.9", repr(891 / 1010), repr(909 / 990)])
        self.assertEqual([rows[1][key] for key in ("ratio_to_global", "ratio_low", "ratio_high")], ["1", "", ""])
        self.assertEqual((rows[2]["ratio_to_global"], rows[2]["flags"]), ("2", "throttled unstable"))

    def test_serialization(self):
        rows = self.golden("serialization", SERIAL)
        self.assertEqual([(row["record"], row["distinct"], row["value"], row["in_fit"]) for row in rows],
                         [("point", "1", "28", "true"), ("point", "2", "39", "true"), ("point", "32", "900", "false"),
                          ("fit", "", "", "")])
        self.assertEqual([rows[3][key] for key in ("base", "slope", "slope_low", "slope_high", "verdict")],
                         ["28", "11", "10.5", "11.5", "address"])

    def test_sweep(self):
        """Of distinct and stride the first that has three values; what is no sweep is of the matrix."""
        cells = [cell(pattern="distinct", time=(1000 * count, None, None), parameters={"distinct": count, "stride_bytes": stride})
                 for count in (1, 2, 4) for stride in (4, 64)]
        both = result(*cells, *FOUR)
        rows = self.golden("sweep", both)
        self.assertEqual([(row["axis"], row["axis_value"], row["parameters"], row["time_ns"]) for row in rows[:3]],
                         [("distinct", "1", "distinct=1 stride_bytes=4", "1000"), ("distinct", "1", "distinct=1 stride_bytes=64", "1000"),
                          ("distinct", "2", "distinct=2 stride_bytes=4", "2000")])
        document = self.document(both)
        self.assertEqual({row["pattern"] for row in figures.FIGURES["matrix"].rows(document)}, {"per_warp", "per_thread"})
        self.assertIn("from 4.00 times (4 B apart: 1 µs at 1, 4 µs at 4)", figures.FIGURES["sweep"].says(figures.FIGURES["sweep"].rows(document)))
        sizes = self.document(result(*(cell(elements=count) for count in (1, 2, 3))))
        self.assertEqual({row["axis"] for row in figures.FIGURES["sweep"].rows(sizes)}, {"elements"})
        for few in (result(*cells[:4]), result(*FOUR)):
            with self.assertRaisesRegex(documents.NotDrawn, "nothing takes 3 values"):
                figures.FIGURES["sweep"].rows(self.document(few))
        with self.assertRaisesRegex(documents.NotDrawn, "the figure sweep"):
            figures.FIGURES["matrix"].rows(self.document(result(*cells)))

    def test_widths(self):
        """A line for each number of addresses; 4 bytes, which a result leaves out of the parameters, are on the axis."""
        module = figures.FIGURES["sweep"]
        cells = [cell(path, "distinct", (1000 * count * (1 + (width == 8)), None, None), width_bytes=width,
                      parameters={"distinct": count, **({"width_bytes": width} if width != 4 else {})})
                 for path in ("constant", "global") for count in (2, 4) for width in (2, 4, 8)]
        made = module.rows(self.document(result(*cells)))
        self.assertEqual([(row["axis"], row["lines"], row["axis_value"]) for row in made[:3]], [("width_bytes", "distinct", width) for width in (2, 4, 8)])
        self.assertEqual({(row["path"], module.line_of(row)) for row in made}, {(path, count) for path in ("constant", "global") for count in "24"})
        self.assertEqual(len({module.panel_of(row) for row in made}), 2)
        self.assertEqual(module.says(made), "Of 6 points constant is the quickest, or within 1 % of it, at 6 and global at 6; with the bytes of an "
                         "element a launch takes from 2.00 times (constant, 2 addresses: 2 µs at 2 B, 4 µs at 8 B) to 2.00 times (constant, "
                         "2 addresses: 2 µs at 2 B, 4 µs at 8 B) as long.")

    def test_lookups_of_many_sources(self):
        """More patterns than sizes of the table: a matrix with a panel a size."""
        patterns = ("uniform", "zipf", "sorted", "runs")
        cells = [cell(path, pattern, (size * (2 if path == "constant" else 1), None, None), workload="lookup", parameters={"loads": 4, "table_bytes": size})
                 for path in ("constant", "global") for pattern in patterns for size in (128, 2048, 16384)]
        document, module = self.document(result(*cells)), figures.FIGURES["matrix"]
        made = module.rows(document)
        self.assertEqual(len({module.panel_of(row) for row in made}), 3)
        self.assertEqual({module.name_text(row, module.same_of(made, True)) for row in made}, set(patterns))
        self.assertEqual(module.says(made), "A launch of lookup through constant memory takes from 2.00 times (uniform, 128 B table) to 2.00 times (runs, "
                         "16 KB table) as long as one through global memory; of 12 points global is the quickest, or within 1 % of it, at 12 and "
                         "constant at none.")
        with self.assertRaisesRegex(documents.NotDrawn, "nothing takes 3 values"):
            figures.FIGURES["sweep"].rows(document)
        fewer = self.document(result(*(its for its in cells if its["pattern"] in patterns[:3])))
        self.assertEqual({row["axis"] for row in figures.FIGURES["sweep"].rows(fewer)}, {"table_bytes"})

    def test_sentences(self):
        """Each says what stands in the data."""
        def says(name, content):
            module = figures.FIGURES[name]
            given = self.document(content)
            return module.says(module.rows([given] if hasattr(module, "COMBINES") else given))
        self.assertEqual(says("matrix", result(*FOUR)), "A launch of add through constant memory takes from 0.90 times (per_warp) to 2.00 "
                         "times (per_thread) as long as one through global memory; of 2 points constant is the quickest, or within 1 % of "
                         "it, at 1 and global at 1.")
        self.assertIn("takes 0.90 times (per_warp) as long", says("matrix", result(*FOUR[:2])))
        self.assertIn("furthest from that of constant per_warp at 128k elements, 10.0 % too short", says("parts", EXPLANATION))
        self.assertIn("1 µs (global", says("matrix", result(FOUR[1])))
        self.assertIn("adds to the latency 11 (constant)", says("serialization", SERIAL))
        self.assertEqual(says("capacity", CAPACITY), "Constant has level 1 of 28 cycles, 128 B, level 2 of 98 cycles, 256 B or more.")
        self.assertIn("within 10 % of the measured time in 1 of 1 cells", says("parts", EXPLANATION))
        self.assertIn("1.0000 to 1.0200 times those of driver 580.1; of 2 cells 1 regressed, 1 same", says("drivers", COMPARISON))
        self.assertIn("0.90 to 2.00 on GPU of a test", says("generations", result(*FOUR)))
        self.assertIn("from -1.00 to +2.00 %", says("samples", result(cell(samples=(990, 1000, 1020)))))
        self.assertIn("claim 0.25 to 0.5 operations a byte; counted are 1.5 to 1.75", says("operations", CONVOLUTION))
        self.assertIn("the largest change is +10.00 % (constant, n2 1)", says("fleet", FLEET))
        self.assertIn("1 changes of a level, the largest +2.00 %", says("history", HISTORY))
        self.assertIn("Of 2 counters", says("counters", COUNTED))

    def test_capacity(self):
        rows = self.golden("capacity", CAPACITY)
        # (23 x 34 + 104) / 24; (34 + 104) / 2. The 23rd of 24 and the 46th of 48 accesses.
        self.assertEqual([(row["bytes"], row["cycles_mean"], row["cycles_p95"]) for row in rows[:3]],
                         [("64", "34", "34"), ("128", repr((23 * 34 + 104) / 24), "34"), ("256", "69", "104")])
        self.assertEqual([(row["level"], row["capacity_bytes"], row["latency_without_clock_cycles"])
                          for row in rows[3:]], [("1", "128", "28"), ("2", "", "98")])
        self.assertIn("all of the 256 bytes", rows[4]["capacity_reason"])

    def test_parts(self):
        rows = self.golden("parts", EXPLANATION)
        self.assertEqual({row["part"]: (row["drawn"], row["ends_at_share"]) for row in rows},
                         {"measured": ("measured", "1"), "launch": ("stacked", "0.1"), "wave": ("stacked", "0.3"),
                          "residency": ("hidden", "0.3"), "issue": ("hidden", "0.35"),
                          "serialization": ("stacked", "0.7"), "misses": ("stacked", "0.9"),
                          "stream": ("hidden", "0.31")})

    def test_parts_of_several_results(self):
        """They are not mixed."""
        two = EXPLANATION["results"] + [{**EXPLANATION["results"][0], "file": "x/b.json", "engine": "model"}]
        document = self.document({**EXPLANATION, "results": two})
        parts = figures.FIGURES["parts"]
        self.assertEqual([(one["result"], one["engine"]) for one in parts.rows(document) if one["part"] == "measured"],
                         [("a.json", "cuda"), ("b.json", "model")])
        self.assertEqual(len({parts.panel_of(row) for row in parts.rows(document)}), 2)

    def test_drivers(self):
        rows = self.golden("drivers", COMPARISON)
        self.assertEqual([(row["path"], row["verdict"], row["ratio"]) for row in rows],
                         [("constant", "regressed", "1.02"), ("global", "same", "1")])
        self.assertEqual((rows[0]["base"], rows[0]["new"]), ("driver 580.1", "driver 590.2"))

    def test_generations(self):
        old = result(cell("constant", time=(300, 300, 300)), cell("global", time=(200, 200, 200)), name="old GPU")
        rows = self.golden("generations", result(*FOUR), old, result(*FOUR[:2], engine="model"), result(*FOUR))
        self.assertEqual([(row["device"], row["engine"], row["pattern"], row["ratio"]) for row in rows],
                         [("GPU of a test", "cuda", "per_warp", "0.9"), ("old GPU", "cuda", "per_warp", "1.5"), ("GPU of a test", "model", "per_warp", "0.9")])

    def test_chips(self):
        """Cycles of a load of a full SM, in ns at the clock that results measured, and beside the fewest of the other paths."""
        full = [experiment("serialization", path, numbers=[number(each * cycles, name="cycles_per_load", distinct=each, stride_bytes=4, warps=64)
                                                        for each in (1, 32)]) for path, cycles in (("constant", 2), ("global", 4), ("readonly", 1))]
        one, other = ({**characterization(*full), "device": {**SERIAL["device"], "name": name, "uuid": f"GPU-{name}",
                                                            "clocks": {"sm_max_mhz": 2500}}} for name in "AB")
        # Of the board itself; of another board of the model; of an engine that measures none.
        clocks = [result(*(cell(sm_clock_mhz=mhz) for mhz in (None, 1990, 2000, 2010)), name="A"),
                  result(cell(sm_clock_mhz=1000), name="B"), result(cell(sm_clock_mhz=5), name="B", engine="model")]
        clocks[0]["device"]["uuid"] = "GPU-A"
        rows = self.golden("chips", one, other, *clocks)
        self.assertEqual([(row["quantity"], row["device"], row["x"], row["value"], row["path"]) for row in rows if row["x"] == "32"],
                         [("cycles_per_load", "A", "32", "64", "constant"), ("cycles_per_load", "B", "32", "64", "constant"),
                          ("ns_per_load", "A", "32", "32", "constant"), ("ns_per_load", "B", "32", "64", "constant"),
                          ("to_best", "A", "32", "2", "readonly"), ("to_best", "B", "32", "2", "readonly")])
        rows = figures.FIGURES["chips"].rows([self.document(one), self.document(other, "b.json")])
        self.assertNotIn("ns_per_load", {row["quantity"] for row in rows})
        with self.assertRaisesRegex(documents.NotDrawn, "two chips or more"):
            figures.FIGURES["chips"].rows([self.document(one), self.document(one, "again.json")])
        rows = figures.FIGURES["chips"].rows([self.document(one), self.document(one, "again.json"), self.document(other, "b.json")])
        self.assertEqual({row["device"] for row in rows}, {"A, planted.json", "A, again.json", "B"})

    def test_samples(self):
        rows = self.golden("samples", result(cell(samples=(990, 1000, 1020), flags=["unstable"])))
        self.assertEqual([(row["sample"], row["sample_ns"], round(float(row["deviation_percent"]), 9)) for row in rows],
                         [("1", "990", -1), ("2", "1000", 0), ("3", "1020", 2)])
        self.assertEqual([rows[0][key] for key in ("sm_clock_mhz", "flags", "throttle_before")],
                         ["1980", "unstable", "0"])

    def test_fleet(self):
        rows = self.golden("fleet", FLEET)
        # By node and slot; the board that another took the place of is not there.
        self.assertEqual([(row["host"], row["slot"], row["uuid"], row["path"], row["change"]) for row in rows],
                         [("n1", "1", "GPU-1", "constant", "-0.002"), ("n1", "1", "GPU-1", "global", "-0.001"),
                          ("n1", "2", "GPU-2", "constant", ""), ("n1", "2", "GPU-2", "global", ""),
                          ("n2", "1", "GPU-1", "constant", "0.1"), ("n2", "1", "GPU-1", "global", "0.05"),
                          ("n2", "2", "GPU-4", "constant", "0"), ("n2", "2", "GPU-4", "global", "0")])
        with self.assertRaisesRegex(documents.NotDrawn, "no GPU that answered"):
            figures.FIGURES["fleet"].rows(self.document({**FLEET, "gpus": []}))

    def test_history(self):
        module, rows = figures.FIGURES["history"], self.golden("history", HISTORY)
        self.assertEqual([(row["uuid"], row["pattern"], row["parameters"], row["time_ns"], row["change"]) for row in rows],
                         [("GPU-1-2", "per_warp", "", "1000", ""), ("GPU-1-2", "per_warp", "", "1020", "0.02"),
                          ("GPU-3-4", "per_warp", "", "990", ""), ("GPU-1-2", "strided", "stride_bytes=64", "2000", "")])
        self.assertEqual([rows[1][key] for key in ("change_low", "change_high", "with")], ["0.019", "0.021", "driver 580.1 -> 590.2"])
        made = module.rows(self.document(HISTORY))
        self.assertEqual(module.table(made), made[1:2])
        self.assertEqual([row["started_utc"][:10] for row in module.table([{**row, "change": None} for row in made])],
                         ["2026-01-02", "2026-01-01", "2026-01-02"])  # of each series the last
        self.assertEqual(module.looks_of(made)["GPU of a test", "GPU-1-2", "cuda"], (module.LOOKS[0], "n1:07:00.0 GPU-1"))
        self.assertEqual(len(module.rows(self.document(HISTORY), documents.Selection(["pattern=strided"]))), 1)
        without = [{key: value for key, value in row.items() if key != "time_ns"} for row in HISTORY["rows"]]
        for content, selection, why in ((HISTORY, ["path=global"], "no chosen cell"), ({**HISTORY, "rows": without}, [], "--cell CELL --json")):
            with self.assertRaisesRegex(documents.NotDrawn, why):
                module.rows(self.document(content), documents.Selection(selection))
        self.assertIsNone(documents.note(self.document(HISTORY)))
        self.assertEqual(documents.note(self.document({**HISTORY, "rows": [run_of(1, 1, times="modelled")]})), "modelled, not measured")

    def test_of_many_gpus_those_that_changed_most_have_a_look(self):
        module = figures.FIGURES["history"]
        many = [run_of(night, 1000, f"GPU-{gpu:08}-1") for gpu in range(9) for night in (1, 2)]
        changes = [{**HISTORY["changes"][0], "uuid": f"GPU-{gpu:08}-1", "change": size, "with": None} for gpu, size in ((4, 0.01), (7, -0.03))]
        made = module.rows(self.document({**HISTORY, "rows": many, "changes": changes}))
        self.assertEqual([key[1][:12] for key in module.looks_of(made)], ["GPU-00000007", "GPU-00000004"])
        self.assertEqual([label for _, label in module.handles_of(made, module.looks_of(made))],
                         ["n1:07:00.0 GPU-00000007", "n1:07:00.0 GPU-00000004", "7 other GPUs", "level changed"])

    def test_operations(self):
        rows = self.golden("operations", CONVOLUTION)
        self.assertEqual([(row["path"], row["traffic"], row["operations_per_byte"]) for row in rows],
                         [("constant", "ideal", "0.5"), ("constant", "dram", "1.75"), ("global", "ideal", "0.25"),
                          ("global", "dram", "1.5")])

    def test_counters(self):
        rows = self.golden("counters", COUNTED)
        self.assertEqual([(row["counter"], row["path"], row["value"], row["expected"]) for row in rows],
                         [("idc_requests", "constant", "32", "32"), ("idc_requests", "global", "1", "1"),
                          ("idc_hits", "constant", "-3", ""), ("idc_hits", "global", "5", "")])

    def test_every_figure_has_a_golden_file(self):
        self.assertEqual(sorted(os.listdir(GOLDEN)), sorted(f"{name}.csv" for name in figures.FIGURES))


class Files(Case):
    """Text that is written."""

    def test_numbers_keep_their_digits(self):
        self.assertEqual([output.text(value) for value in (None, True, 2.0, 0.1, 1e-300, 1 / 3, 12, "a_b")],
                         ["", "true", "2", "0.1", "1e-300", "0.3333333333333333", "12", "a_b"])

    def test_csv_has_a_column_for_everything(self):
        with self.assertRaises(KeyError):
            output.csv_text(("a",), [{"a": 1, "b": 2}])

    def test_table(self):
        rows = [{"path": "global_l2", "share": 0.123456, "engine": "cuda"},
                {"path": "a&b", "share": None, "engine": "cuda"}]
        made = output.table_text(("path", "share", "engine"), rows, "50 % of it.", "name", {"source": "x.json"})
        self.assertIn("% source: x.json\n", made)
        self.assertIn(r"\caption{50 \% of it. engine cuda.}", made)
        self.assertIn("global\\_l2 & 0.1235 \\\\\na\\&b &  \\\\\n", made)
        self.assertIn(r"\begin{tabular}{lr}", made)
        self.assertIn("longtable", output.table_text(("path", "share"), rows * 30, "", "name", {}))


class Looks(unittest.TestCase):
    """Without colour."""

    def test_paths_have_looks(self):
        done = subprocess.run([CBANK, "list", "paths", "--json"], capture_output=True, text=True, check=True)
        self.assertEqual({row["name"] for row in json.loads(done.stdout)}, set(style.PATHS))

    def test_lines_and_bars_differ(self):
        for table in (style.PATHS, style.PARTS):
            markers = [its.marker for its in table.values()]
            self.assertEqual(len(set(markers)), len(markers))
            bars = [(its.hatch, its.color) for its in table.values()]
            self.assertEqual(len(set(bars)), len(bars))
            for one, other in itertools.combinations(table.values(), 2):
                if one.hatch == other.hatch:  # then lightness has to tell them apart
                    self.assertGreater(abs(self.lightness(one) - self.lightness(other)), 0.1, (one, other))

    @staticmethod
    def lightness(its):
        red, green, blue = (int(its.color[i:i + 2], 16) / 255 for i in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    def test_a_path_without_a_row_always_looks_the_same(self):
        self.assertEqual(style.look("fresh"), style.look("fresh"))
        self.assertNotIn(style.look("fresh"), style.PATHS.values())


def look_at(task):
    """(what is wrong with a page, how many texts it has)."""
    page, width, sheet = task
    with style.sheet(sheet):
        drawn = figures.FIGURES[page.name].draw(page.rows, width, page.note)
        output.lay_out(drawn)
        return legible.findings(drawn), len(legible.shown_texts(drawn))


class Drawn(Case):
    """Every figure from the committed results."""

    # What a figure is made of, and the names of its files.
    FROM = {"matrix": (MATRIX, "core-matrix-matrix"), "chips": (OTHER_CHIP, "chips"), "serialization": (CHARACTERIZATION, "h200-serialization"),
            "capacity": (CHARACTERIZATION, "h200-capacity"), "parts": (MATRIX, "core-matrix-parts"),
            "drivers": ("two.json", "two-drivers"), "generations": (MATRIX, "generations"),
            "samples": (MATRIX, "core-matrix-samples"), "sweep": (CONVOLUTIONS, "convolution-sweep"), "operations": (CONVOLUTIONS, "convolution-operations"),
            "counters": (MATRIX, "core-matrix-counters-1"), "fleet": ("nights.json", "nights-fleet"),
            "history": ("series.json", "series-history")}
    SOME = ["--all", *repetitions([], ["--select", "elements=128000"])]

    @classmethod
    def setUpClass(cls):
        """Of what no file is committed."""
        super().setUpClass()
        cls.shared = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.shared)
        cls.others = [os.path.join(cls.shared, name) for name in ("two.json", "nights.json", "series.json")]
        subprocess.run([CBANK, "compare", "--quiet", "--json", cls.others[0], MATRIX,
                        os.path.join(ROOT, "results/h200/second-process.json")], check=True)
        store = os.path.join(cls.shared, "fleet.db")
        subprocess.run([sys.executable, os.path.join(ROOT, "scripts/studies/make_fleet.py"), store, "--gpus", "24", "--nights", "6"],
                       check=True, stdout=subprocess.DEVNULL)
        subprocess.run([CBANK, "fleet", store, "--quiet", "--json", cls.others[1]], check=False)
        with open(cls.others[2], "wb") as file:
            subprocess.run([CBANK, "history", store, "--cell", "add/*/per_warp/128000/*", "--json"], stdout=file, check=True)

    def all_of(self, *options):
        """Everything written, by name."""
        lines, _ = self.plot(MATRIX, CHARACTERIZATION, OTHER_CHIP, *self.others, *self.SOME, *options)
        more, _ = self.plot(CONVOLUTIONS, "--figure", "operations", "--figure", "sweep", *options)
        return {os.path.basename(path): self.made(os.path.basename(path)) for path in lines + more}

    def test_all(self):
        self.assertEqual(set(self.FROM), set(figures.FIGURES))
        made = self.all_of("--format", "pdf")
        for _, stem in self.FROM.values():
            for form in ("pdf", "csv", "txt"):
                with self.subTest(stem, form=form):
                    self.assertGreater(len(made[f"{stem}.{form}"]), 40)
        self.check_fonts(made)
        # The same bytes once more, whichever other formats there are.
        again = self.all_of("--format", "svg,pdf") if FULL else {}
        self.plot(MATRIX, "--figure", "matrix", "--format", "pdf,png,svg,tex", *self.SOME[1:])
        again["core-matrix-matrix.pdf"] = self.made("core-matrix-matrix.pdf")
        again = {name: data for name, data in again.items() if not name.endswith(".svg")}
        made.update((f"core-matrix-matrix.{form}", self.made(f"core-matrix-matrix.{form}")) for form in ("png", "svg", "tex"))
        self.check_size(made, 175)
        self.check_metadata(made)
        self.assertEqual({name for name in again if made[name] != again[name]}, set())

    def test_few_by_default(self):
        """One page a question: PDF, CSV and a sentence each, 30 pages or fewer of a chip."""
        chip = [name for name in glob.glob(os.path.join(ROOT, "results/h200/*.json"))]
        lines, errors = self.plot(*repetitions([*chip, CHARACTERIZATION], [MATRIX, os.path.join(ROOT, "results/h200/second-process.json")]))
        stems = {os.path.splitext(line)[0] for line in lines}
        self.assertLessEqual(len(stems), 30)
        self.assertEqual({os.path.splitext(line)[1] for line in lines}, {".pdf", ".csv", ".txt"})
        self.assertIn("core-matrix-matrix", {os.path.basename(stem) for stem in stems})
        self.assertNotIn("second-process-matrix", {os.path.basename(stem) for stem in stems})
        self.assertTrue(any("asks again what core-matrix.json asked; --all draws it" in line for line in errors), errors)
        self.assertTrue(any(line.startswith("plot: samples of ") and line.endswith("--all draws it") for line in errors), errors)

    def check_metadata(self, made):
        with open(MATRIX, "rb") as file:
            sha256 = hashlib.sha256(file.read()).hexdigest()
        commit, device = read_json(MATRIX)["tool"]["git_commit"], read_json(MATRIX)["device"]
        for form in ("pdf", "svg", "png", "tex"):
            text = made[f"core-matrix-matrix.{form}"].decode("latin-1")
            for words in ("core-matrix.json", sha256, commit, device["name"], device["driver"]):
                self.assertIn(words, text.replace("\\", ""), form)
            for date in ("CreationDate", "<dc:date>", "tIME"):
                self.assertNotIn(date, text)
        self.assertIn(sha256.encode(), made["core-matrix-matrix.csv"])

    @unittest.skipUnless(shutil.which("pdffonts"), "no pdffonts on this machine")
    def check_fonts(self, made):
        for name in (name for name in made if name.endswith(".pdf")):
            done = subprocess.run(["pdffonts", os.path.join(self.folder, "out", name)], capture_output=True, text=True,
                                  check=True)
            kinds = [line[37:54].strip() for line in done.stdout.splitlines()[2:]]
            self.assertTrue(kinds, name)
            self.assertNotIn("Type 3", kinds, name)

    def check_size(self, made, width_mm):
        for name, data in made.items():
            if name.endswith(".png"):
                width, height = struct.unpack(">II", data[16:24])
                self.assertAlmostEqual(width, width_mm / 25.4 * 300, delta=1, msg=name)
                self.assertLess(height / 300 * 25.4, 260, name)  # a page

    def test_one_column(self):
        self.plot(MATRIX, "--format", "png", "--width", "one", "--figure", "matrix")
        self.check_size({"core-matrix-matrix.png": self.made("core-matrix-matrix.png")}, 85)

    def committed(self):
        """The documents of every chip, and one of each kind that no chip has."""
        names = [*glob.glob(os.path.join(ROOT, "results/h[12]00/*.json")), *glob.glob(os.path.join(ROOT, "results/h[12]00/sweeps/*.json")), *glob.glob(os.path.join(ROOT, "results/chips/*/*.json")),
                 *glob.glob(os.path.join(ROOT, "results/characterizations/*.json"))]
        names = repetitions(names, [MATRIX, CONVOLUTIONS, LOOKUPS, CHARACTERIZATION, os.path.join(ROOT, "results/h100/core-matrix.json")])
        return [documents.read(name, CBANK) for name in sorted(names) + self.others if read_json(name)["schema"]["name"] in documents.KINDS]

    @staticmethod
    def pages(given, width, **more):
        asked = argparse.Namespace(**{"figure": None, "program": CBANK, "width": width, "all": False, **more})
        with contextlib.redirect_stderr(io.StringIO()):
            made = plot.all_pages(asked, given, documents.ALL)
        return made if FULL else [max(its, key=lambda page: len(page.rows)) for its in panels.grouped(made, lambda page: page.name).values()]

    def test_legible(self):
        """At both widths no text is on another, on a line or an edge, or beyond the figure; every page says what it shows."""
        given = self.committed()
        extra = [name for name, its in figures.FIGURES.items() if hasattr(its, "EXTRA")]
        widths = [85] if QUICK else style.WIDTHS_MM.values()  # the narrow one has less room
        tasks = [(page, width, None) for width in widths for page in self.pages(given, width)]
        tasks += [(page, 85, None) for page in self.pages([one for one in given if one.path == MATRIX], 85, figure=extra)]
        tasks += [(page, 85, name) for page in self.pages(given, 85, figure=["matrix"])[:1] for name in ("ieee", "acm")]
        with multiprocessing.get_context("fork").Pool() as pool:
            for (page, width, _), (found, texts) in zip(tasks, pool.imap(look_at, tasks)):
                with self.subTest(page.stem, width=width):
                    self.assertEqual(found, [])
                    self.assertGreater(texts, 5)
                    self.assertRegex(page.sentence, r"^[A-Z0-9].*\d.*\.$")

    def test_legible_finds(self):
        """What is planted is found."""
        with style.sheet():
            drawn, body = style.figure(85, 40, (), "a note")
            axes = body.subplots()
            axes.plot([0, 1], [0, 1])
            for x, y, text in ((0.5, 0.5, "on the line"), (0.1, 0.9, "one"), (0.1, 0.9, "other"), (1.0, 0.2, "over the foot"),
                               (0.3, 0.05, "small")):
                axes.text(x, y, text, ha="center", va="center", fontsize=3 if text == "small" else 7)
            axes.text(0.7, 0, "foot", va="center", transform=axes.transAxes)
            drawn.text(0.99, 0.5, "beyond")
            output.lay_out(drawn)
            found = legible.findings(drawn)
        for words in ("'on the line' on line", "'one' and 'other'", "'small' is of 3.0 pt", "'beyond' reaches over the edge",
                      "'foot' on the bottom edge of axes"):
            self.assertTrue(any(words in line for line in found), (words, found))

    @unittest.skipUnless(shutil.which("pdflatex"), "no LaTeX on this machine")
    def test_pgf(self):
        names = [name for name, (file, _) in self.FROM.items() if file == MATRIX]
        lines, errors = self.plot(MATRIX, "--format", "pgf", *(f"--figure={name}" for name in names))
        self.assertEqual(errors, [])
        self.assertEqual(sum(line.endswith(".pgf") for line in lines), 6)
        self.assertIn(b"% sha256: ", self.made("core-matrix-matrix.pgf"))
        self.assertIn(b"\\begin{pgfpicture}", self.made("core-matrix-matrix.pgf"))

    def test_pgf_without_latex(self):
        empty = os.path.join(self.folder, "no-commands")
        os.mkdir(empty)
        lines, errors = self.plot(MATRIX, "--figure", "matrix", "--format", "pgf,svg", status=3,
                                  environment={"PATH": empty})
        self.assertIn("texlive-latex-base", errors[-1])
        self.assertEqual([os.path.splitext(line)[1] for line in lines], [".svg", ".csv", ".txt"])


class Reproduced(Case):
    def test_figures_of_the_readme(self):
        out, example = (os.path.join(self.folder, name) for name in ("again", "example"))
        done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts/reproduce.py"), "--program", CBANK, "-o",
                               out, "--example", example], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        committed = os.path.join(ROOT, "docs/figures")
        self.assertEqual(self.files(out), self.files(committed))
        for name in self.files(out):
            ours, theirs = (self.content(os.path.join(folder, name)) for folder in (out, committed))
            # How a figure is drawn is up to the version of matplotlib that it names.
            if not name.endswith(".svg") or f"matplotlib: {output.version()}".encode() in theirs:
                self.assertTrue(ours == theirs, f"{name}: run make reproduce")
        self.check_example(example)

    def check_example(self, made):
        """docs/example is what the report makes now, its sheet that of the template."""
        committed = os.path.join(ROOT, "docs/example")
        names = self.files(made)
        self.assertEqual(names, self.files(committed))
        drawn_alike = f"matplotlib {output.version()}".encode() in self.content(os.path.join(committed, "index.html"))
        for name in names if drawn_alike else ["style.css"]:
            self.assertTrue(self.content(os.path.join(made, name)) == self.content(os.path.join(committed, name)),
                            f"docs/example/{name}: run make reproduce")

    @staticmethod
    def files(top):
        """Of a folder and those below it."""
        return sorted(os.path.relpath(os.path.join(folder, name), top) for folder, _, files in os.walk(top) for name in files)

    @staticmethod
    def content(path):
        with open(path, "rb") as file:
            return file.read()

    def test_every_figure_is_shown(self):
        shown = set()
        for page in ["README.md", *glob.glob("docs/*.md", root_dir=ROOT)]:
            with open(os.path.join(ROOT, page), encoding="utf-8") as file:
                shown |= set(re.findall(r"\]\((?:docs/)?figures/([\w-]+\.svg)\)", file.read()))
        self.assertEqual(shown, {name for name in os.listdir(os.path.join(ROOT, "docs/figures"))
                                 if name.endswith(".svg")})


class Reasons(Case):
    """One line for each figure that cannot be drawn."""

    def not_drawn(self, content, *options, status=0):
        _, errors = self.plot(self.write("planted.json", content), "--format", "svg", "--all", *options, status=status)
        return {match[1]: match[2] for line in errors
                if (match := re.match(r"plot: (\w+)(?: of .+?)? not drawn: (.*)$", line))}

    def test_without_counters_and_samples(self):
        why = self.not_drawn(result(*FOUR, counters_reason="no permission"))
        self.assertEqual(why["counters"], "no chosen cell has a counter: no permission")
        self.assertEqual(why["samples"], "no chosen cell has samples")
        self.assertEqual(why["operations"], "no chosen cell is of a convolution")
        self.assertIn("needs a characterization", why["serialization"])
        self.assertIn("nothing takes 3 values", why["sweep"])
        self.assertIn("needs a characterization", why["capacity"])
        self.assertIn("needs a comparison", why["drivers"])
        self.assertTrue({"matrix", "generations"}.isdisjoint(why))

    def test_one_cell(self):
        why = self.not_drawn(result(FOUR[0]))
        self.assertEqual(why["generations"], "no chosen cell was timed on both constant and global")
        self.assertNotIn("matrix", why)
        self.assertIn(",900,891,909,,,,", self.made("planted-matrix.csv").decode())

    def test_modelled(self):
        why = self.not_drawn(result(*FOUR, engine="model"))
        self.assertEqual(why["samples"], "it is modelled, and has no samples")
        self.assertNotIn("matrix", why)

    def test_nothing_measured(self):
        pending = [{**one, "status": "pending", "time_ns": {**one["time_ns"], "value": None}} for one in FOUR]
        why = self.not_drawn(result(*pending, complete=False), status=2)
        self.assertEqual(why["matrix"], "no chosen cell has a time")

    def test_notes(self):
        """Modelled and incomplete results say so in the figure, and modelled chips in their name."""
        document = self.document(result(*FOUR, {**FOUR[0], "status": "pending"}, engine="model", complete=False))
        self.assertEqual(documents.note(document), "modelled, not measured; incomplete run: 4 of 5 cells")
        with style.sheet():
            matrix = figures.FIGURES["matrix"]
            made = matrix.draw(matrix.rows(document), 85, documents.note(document))
        from matplotlib.text import Text
        self.assertTrue(any("modelled, not measured" in text.get_text() for text in made.findobj(Text)))
        chips = [("9.0", "H", engine, "1") for engine in ("cuda", "model")]
        self.assertEqual(figures.FIGURES["generations"].chip_texts(chips), ["H", "H, modelled"])
        self.assertIsNone(documents.note(self.document(result(*FOUR))))
        mixed = comparison(compared("global", "same", (1, 1, 1)), compared("global", "missing", None))
        mixed["new"] = {**mixed["new"], "engine": "model"}
        self.assertEqual(documents.note(self.document(mixed)),
                         "base: engine cuda, new: engine model; 1 of 2 cells have no ratio")

    def test_not_comparable(self):
        why = self.not_drawn(comparison(comparable=False, differences=[
            {"facet": "device", "allowed": False, "base": "a", "new": "b"},
            {"facet": "driver", "allowed": True, "base": "1", "new": "2"}]), status=2)
        self.assertEqual(why["drivers"], "the sides are not comparable: device")

    def test_card(self):
        """The one given explains the results given."""
        with open(os.path.join(ROOT, "results/cards/h200.json"), encoding="utf-8") as file:
            card = re.sub(r'("name":\s*)"H200"', r'\1"another"', file.read(), count=1)
        self.plot(MATRIX, self.write("another.json", card), "--figure", "parts", "--format", "svg")
        rows = csv.DictReader(io.StringIO(self.made("core-matrix-parts.csv").decode()))
        self.assertEqual({(row["card"], row["result"]) for row in rows}, {("another", "core-matrix.json")})

    def test_no_program(self):
        why = self.not_drawn(result(*FOUR), "--program", "/nowhere/cbank")
        self.assertIn("needs an explanation", why["parts"])

    def test_without_numbers(self):
        why = self.not_drawn(characterization(experiment("latency", "constant")), status=2)
        self.assertEqual(why["serialization"], "no experiment of it counts distinct addresses")
        self.assertEqual(why["capacity"], "no experiment of it walks over working sets")


class Selecting(Case):
    def paths(self, *selects):
        self.plot(self.write("planted.json", result(*FOUR, cell("constant", elements=64, parameters={"radius": 3}))),
                  "--figure", "matrix", "--format", "svg", *(f"--select={one}" for one in selects))
        rows = csv.DictReader(io.StringIO(self.made("planted-matrix.csv").decode()))
        return [(row["path"], row["pattern"], row["elements"], row["ratio_to_global"]) for row in rows]

    def test_globs(self):
        # The ratio is there though global memory was not chosen.
        self.assertEqual(self.paths("path=constant,pattern=per_w*,elements=128000"),
                         [("constant", "per_warp", "128000", "0.9")])
        self.assertEqual(len(self.paths("path=global", "radius=3")), 3)
        self.assertEqual(len(self.paths("pattern=*")), 5)

    def test_bad_ones(self):
        file = self.write("planted.json", result(*FOUR))
        for select, words in (("path", "is not KEY=GLOB"), ("pth=a", "no cell has 'pth'; there are:"),
                              ("=a", "KEY=GLOB")):
            _, errors = self.plot(file, "--select", select, status=2)
            self.assertIn(words, errors[-1])
        _, errors = self.plot(file, "--select", "path=none", status=2)
        self.assertIn("plot: matrix of planted.json not drawn: no cell of it was chosen", errors)


class WrongFiles(Case):
    def refused(self, name, words, *options):
        lines, errors = self.plot(name, *options, status=2)
        self.assertEqual(lines, [])
        self.assertIn(words, errors[-1])
        self.assertIn(os.path.basename(name), errors[-1])

    def test_unreadable(self):
        self.refused("missing.json", "cannot read")
        self.refused(self.folder, "cannot read")
        self.refused(self.write("a.json", "{"), "is not JSON")
        self.refused(self.write("a.json", "[]"), "holds no JSON object")
        self.refused(self.write("a.json", '{"schema": NaN}'), "is no number of JSON")
        self.refused(self.write("a.json", "{}"), "has no schema.name")

    def test_others(self):
        self.refused(os.path.join(ROOT, "results/h200/gate/calibration.json"), "is a cbank-calibration")
        self.refused(self.write("a.json", {**result(), "schema": {"name": "cbank-result", "version": "3.0"}}),
                     "has version 3.0")
        lacking = result()
        del lacking["cells"]
        self.refused(self.write("a.json", lacking), "it has no 'cells'")

    def test_broken_within(self):
        self.refused(self.write("a.json", result({**FOUR[0], "time_ns": {"value": "fast"}})),
                     "not what its schema says")
        self.refused(self.write("a.json", result({"path": "constant"})), "not what its schema says")
        self.refused(self.write("a.json", result("cell")), "not what its schema says")

    def test_a_result_of_a_newer_minor_version(self):
        newer = {**result(*FOUR), "schema": {"name": "cbank-result", "version": "2.9"}, "more": 1}
        self.plot(self.write("a.json", newer), "--figure", "matrix", "--format", "svg")

    def test_equal_names(self):
        os.mkdir(os.path.join(self.folder, "b"))
        files = [self.write(name, result(*FOUR)) for name in ("a.json", "b/a.json")]
        _, errors = self.plot(*files, "--figure", "matrix", status=2)
        self.assertIn("a-matrix.csv", errors[-1])


class Usage(Case):
    def test_help_and_list(self):
        lines, _ = self.plot("--list")
        self.assertEqual([line.split()[0] for line in lines[1:]], list(figures.FIGURES))
        lines, _ = self.plot("--help")
        for name in figures.FIGURES:
            self.assertTrue(any(line.startswith(f"  {name}") for line in lines), name)

    def test_bad_options(self):
        for options in (["--figure", "pie"], ["--format", "gif"], ["--width", "3"], ["--width", "wide"], []):
            _, errors = self.plot(*([MATRIX] if options else []), *options, status=2)
            self.assertIn("error:", errors[-1])

    def test_style_and_title(self):
        sheet = self.write("own.mplstyle", "axes.labelcolor: 123456\n")
        self.plot(MATRIX, "--figure", "matrix", "--format", "svg", "--style", sheet, "--title")
        self.assertIn(b"#123456", self.made("core-matrix-matrix.svg"))
        _, errors = self.plot(MATRIX, "--style", "none.mplstyle", status=2)
        self.assertIn("none.mplstyle", errors[-1])

    def test_no_matplotlib(self):
        """As on a machine that lacks it."""
        self.write("sitecustomize.py", "import importlib.util as u\nfind = u.find_spec\n"
                   "u.find_spec = lambda name, *more: None if name == 'matplotlib' else find(name, *more)\n")
        _, errors = self.plot(MATRIX, status=3, environment={"PYTHONPATH": self.folder})
        self.assertIn("python3-matplotlib", errors[-1])


if __name__ == "__main__":
    unittest.main()
