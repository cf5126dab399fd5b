#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of scripts/studies/claims.py on results made by hand, and of scripts/record_all.sh with
a program that only notes what it is asked. CBANK names the real one (default build/cbank), which
says whether its plans hold what is claimed."""

import copy
import math
import os
import re
import subprocess
import sys
import unittest

from common import CBANK, FULL, ROOT, Scratch, read_bytes, read_json

RECORD = os.path.join(ROOT, "scripts/record_all.sh")
CLAIMS = os.path.join(ROOT, "scripts/studies/claims.py")
RESULT, CHARACTERIZATION = (
    read_json(os.path.join(ROOT, "results", path))
    for path in ("h200/core-matrix.json", "chips/h200/characterization.json")
)
CHARACTERIZATION["schema"]["version"] = "1.1"  # its numbers are read, not its answers
CELL = RESULT["cells"][0]
LONG, SHORT = 12800000, 128000
WRITTEN = "per_warp, 12800000: constant about 10 % faster"
GPU = {
    "uuid": "GPU-1",
    "name": "NVIDIA TEST",
    "driver": "580.1",
    "sm_count": 4,
    "l2_bytes": 6 * 2**20,
}


def cell(
    workload,
    path,
    pattern="per_warp",
    elements=LONG,
    time=(None, None, None),
    block_size=1024,
    counters=None,
    operations=None,
    **parameters,
):
    """A time of one number has an interval of no width."""
    value, low, high = time if isinstance(time, tuple) else (time, time, time)
    names = [f"{key}={value}" for key, value in parameters.items()]
    counter = next(iter(CELL["counters"].values()))
    return {
        **CELL,
        "identity": "/".join(
            map(str, (workload, path, pattern, elements, block_size, "hot", *names))
        ),
        "counters": {
            name: {**counter, "value": number} for name, number in (counters or {}).items()
        },
        "time_ns": {**CELL["time_ns"], "value": value, "ci_low": low, "ci_high": high},
        "operations_per_byte": operations or {"ideal": None, "dram": None, "l2": None},
    }


def result(*cells, **device):
    return {**RESULT, "cells": list(cells), "device": {**RESULT["device"], **GPU, **device}}


def written(constant, plain):
    """The two cells of the first source's per_warp, 12800000."""
    return cell("add_switch", "constant", time=constant), cell("add_runtime", "global", time=plain)


def conv_2d(path, **values):
    return cell("conv_2d", path, "lockstep", 16777216, radius=3, **values)


def distinct(count, stride, **counters):
    return cell(
        "add", "constant", "distinct", counters=counters, distinct=count, stride_bytes=stride
    )


class Case(Scratch):
    def script(self, *words, status=0):
        done = subprocess.run(
            [CLAIMS, *words], cwd=self.folder, capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout if status == 0 else done.stderr

    def rows(self, *files):
        """[(claim, its columns)]; a column that is empty is left out."""
        return [
            (claim, columns)
            for line in self.script(*files).splitlines()[2:]
            if not line.startswith("-- ")
            for claim, *columns in [re.split(r" {2,}", line)]
        ]

    def of(self, *cells, **device):
        return self.rows(self.write("result.json", result(*cells, **device)))


class Pages(unittest.TestCase):
    """A quantity that stands on several pages has one value."""

    CLAIMS = "docs/claims.md"
    # Each place with its page; the value with the fewest digits says how far they agree.
    QUANTITIES = {
        "constant to global, per_thread, 12800000": (
            ("README.md", r"add, 12800000 elements[\s\S]*?per_thread +\| [\d.]+ \w+ +([\d.]+)x"),
            ("README.md", r"Different elements, near or far \| `__constant__` \| ([\d.]+)x"),
            (CLAIMS, r"per_thread +12800000 +[\d.]+ +[\d.]+ \[[^]]*\] +([\d.]+) "),
        ),
        "constant to global, pseudo_random, 12800000": (
            ("README.md", r"add, 12800000 elements[\s\S]*?pseudo_random +\| [\d.]+ \w+ +([\d.]+)x"),
            ("README.md", r"near or far \| `__constant__` \| [\d.]+x, ([\d.]+)x"),
            (CLAIMS, r"pseudo_random +12800000 +[\d.]+ +[\d.]+ \[[^]]*\] +([\d.]+) "),
        ),
        "latency of L2 over lines": (
            ("docs/chip.md", r"\| L2, latency over lines \(cycles\) \| ([\d.]+), [\d.]+ to"),
            (CLAIMS, r"L2 answers in tens of cycles: cycles +10 to 99 +([\d.]+), [\d.]+ to"),
        ),
    }

    def test_one_name_has_one_value(self):
        for what, places in self.QUANTITIES.items():
            found = []
            for page, pattern in places:
                with open(os.path.join(ROOT, page), encoding="utf-8") as file:
                    values = re.findall(pattern, file.read())
                self.assertTrue(values, (what, page, pattern))
                found += values
            digits = min(len(value.partition(".")[2]) for value in found)
            numbers = list(map(float, found))
            self.assertLess(max(numbers) - min(numbers), 0.501 / 10**digits, (what, found))


class Figures(Case):
    def test_figures_by_hand(self):
        """Every kind of figure: quotients of times and counters, differences, fills, misses, and
        the line of costs."""
        (geometry,) = (
            copy.deepcopy(one)
            for one in CHARACTERIZATION["experiments"]
            if one["name"] == "geometry_global"
        )
        geometry["geometry"]["levels"][1]["latency"].update(value=200, low=199.5, high=201)
        geometry["geometry"]["levels"][0]["fits_bytes"].update(value=49152, low=49152, high=49152)
        characterized = {
            **CHARACTERIZATION,
            "device": {**CHARACTERIZATION["device"], **GPU},
            "experiments": [geometry],
        }
        cells = [
            *written((90, 88, 92), (100, 99, 101)),
            *(
                cell("stencil_1d", path, "lockstep", 16777216, time, block_size=32)
                for path, time in (
                    ("constant", (3000, 2990, 3010)),
                    ("readonly", 2500),
                    ("restrict", 3030),
                )
            ),
            cell("add", "global", counters={"idc_misses_new": 40}),
            distinct(32, 64, idc_misses_new=40 + 128),
            distinct(32, 256, idc_misses_new=40 + 3 * 128),
            cell("add", "readonly", counters={"l2_sectors": 400000}),
            cell(
                "add",
                "readonly",
                "pseudo_random",
                counters={"l2_sectors": 1000000, "l1_sectors": 2400000},
            ),
            conv_2d("constant", time=5000),
            conv_2d(
                "constant_uniform",
                time=(1000, 990, 1010),
                counters={"dram_read_bytes": 45},
                operations={"ideal": 0.5, "dram": 0.6, "l2": 0.34},
            ),
            conv_2d(
                "global",
                time=1250,
                counters={"dram_read_bytes": 100},
                operations={"ideal": 0.25, "dram": 0.22, "l2": 0.31},
            ),
            conv_2d("shared_fill_only", time=980),
            # another shape, which gains less; and one without a time
            *(
                cell("conv_1d", path, "lockstep", 16777216, time, radius=radius)
                for path, time, radius in (
                    ("constant_uniform", (940, 930, 950), 1),
                    ("global", 1000, 1),
                    ("constant_uniform", (None, None, None), 2),
                )
            ),
            cell(
                "add",
                "constant",
                counters={
                    "idc_requests": 400000,
                    "ldc_instructions": 400000,
                    "idc_active_cycles": 800000,
                },
            ),
            cell("add", "constant", "half_warp", counters={"idc_active_cycles": 832000}),
            *(
                distinct(2**i, 4, idc_active_cycles=400000 * value)
                for i, value in enumerate((2, 2, 2, 2, 2, 8))
            ),
            cell("add", "constant", elements=SHORT, time=(1000, 990, 1020)),
            cell("add", "global", elements=SHORT, time=(2000, 1990, 2010)),
            cell("add", "param", elements=SHORT, time=1100),
            cell("refill", "constant", elements=SHORT, time=(5000, 4900, 5200), refill_bytes=1024),
            cell("modules", "global", elements=SHORT, time=700, modules=1),
            cell("modules", "global", elements=SHORT, time=680, modules=2),
        ]
        found = self.rows(
            self.write("result.json", result(*cells)), self.write("made.json", characterized)
        )
        # sxx = 1365 - 6 x 10.5^2 = 703.5, sxy = 318 - 6 x 10.5 x 3 = 129, syy = 5 + 25 = 30.
        for wanted in (
            (WRITTEN, ["0.865", "0.900 [0.871, 0.929]", "0.85 to 0.95", "holds"]),
            (
                "constant beats __ldg for uniform reads (time ratio)",
                ["1.188", "1.2000 [1.1960, 1.2040]", "0 to 0.99", "does not hold"],
            ),
            (
                "read-only beats constant, as its times say",
                ["1.188", "1.2000 [1.1960, 1.2040]", "from 1.01", "holds"],
            ),
            (
                "... and const __restrict__",
                ["1.188", "0.9901 [0.9868, 0.9934]", "0 to 0.99", "undecided"],
            ),
            (
                "64 KB constant cache per SM: fills of a line, 2 KB read",
                ["1", "1.0", "0.9 to 1.1", "holds"],
            ),
            ("... 8 KB read", ["1", "3.0", "0.9 to 1.1", "does not hold"]),
            (
                "48 KB read-only cache per SM: misses of a 64 KB table",
                ["over 0.25", "0.2500", "0.2 to 1", "holds"],
            ),
            (
                "filter in global memory: ideal operations per byte",
                ["0.25", "0.25", "0.25 to 0.25", "holds"],
            ),
            ("... of DRAM traffic (conv_2d, radius 3)", ["0.25", "0.22", "0.2 to 0.3", "holds"]),
            ("... of L2 traffic", ["0.25", "0.31", "0.2 to 0.3", "does not hold"]),
            ("... of DRAM traffic", ["0.5", "0.60", "0.4 to 0.6", "holds"]),
            ("... of L2 traffic", ["0.5", "0.34", "0.4 to 0.6", "does not hold"]),
            (
                "... which saves DRAM reads (constant to global)",
                ["0.5", "0.4500", "0 to 0.9", "holds"],
            ),
            (
                "... and time (constant to global), the worst shape",
                ["-", "0.940 [0.930, 0.950]", "0 to 0.99", "holds"],
            ),
            (
                "as fast as a register (conv_2d, time to no loads)",
                ["1", "1.020 [1.010, 1.031]", "0.95 to 1.05", "holds"],
            ),
            ("L2 of hundreds of KB to a few MB: MB", ["0.1 to 8", "6", "0.1 to 8", "holds"]),
            (
                "L2 answers in tens of cycles: cycles",
                ["10 to 99", "200.0, 199.5 to 201.0", "10 to 99", "does not hold"],
            ),
            (
                "L1 of 16 to 64 KB per SM: KB walked without a miss",
                ["16 to 64", "48", "16 to 64", "holds"],
            ),
            ("broadcast: requests for a load of one address", ["1", "1.000", "1 to 1", "holds"]),
            (
                "16 threads, one address: free (busy cycles to per_warp)",
                ["1", "1.040", "0.95 to 1.05", "holds"],
            ),
            (
                "cost linear in distinct addresses: R squared",
                ["1", "0.78849", "0.999 to 1", "does not hold"],
            ),
            ("... cycles for one more", ["-", "0.183", "measured"]),
            (
                "32 distinct addresses cost as one (busy cycles)",
                ["1", "4.00", "0.95 to 1.05", "does not hold"],
            ),
            (
                "past 64 KB, refill of 1024 bytes: ns a launch",
                ["-", "4000 [3880, 4210]", "measured"],
            ),
            (
                "... 2048 bytes as a kernel parameter (time to constant)",
                ["-", "1.100 [1.078, 1.111]", "measured"],
            ),
            ("... with their tables in global memory: ns a launch", ["-", "-20", "measured"]),
        ):
            self.assertIn(wanted, found)

    def test_verdicts_are_of_whole_intervals(self):
        """The limits are 0.85 and 0.95; ends of the interval: low / high and high / low."""
        for constant, plain, here, verdict in (
            ((95, 93, 97), (100, 99, 101), "0.950 [0.921, 0.980]", "undecided"),
            ((90, 80, 100), (100, 99, 101), "0.900 [0.792, 1.010]", "undecided"),
            ((100, 99, 101), (100, 99, 101), "1.000 [0.980, 1.020]", "does not hold"),
            (85, 100, "0.850", "holds"),
            (95.1, 100, "0.951", "does not hold"),
        ):
            self.assertIn(
                (WRITTEN, ["0.865", here, "0.85 to 0.95", verdict]),
                self.of(*written(constant, plain)),
            )

    def test_what_is_missing_is_named(self):
        conv = [
            conv_2d("constant_uniform", counters={"dram_read_bytes": 5}),
            conv_2d("global", counters={"dram_read_bytes": 0}),
        ]
        found = dict(
            self.of(cell("add", "constant"), *written((90, None, None), 100), *conv, l2_bytes=None)
        )
        for claim, reason in (
            (WRITTEN, "no interval of add_switch constant per_warp 12800000"),
            ("... 8 KB read", "no idc_misses_new"),
            ("... which saves DRAM reads (constant to global)", "no quotient by 0"),
            ("L2 of hundreds of KB to a few MB: MB", "no l2_bytes"),
            ("L2 answers in tens of cycles: cycles", "no geometry_global"),
            ("... of DRAM traffic", "no operations per byte (dram)"),
            (
                "past 64 KB, refill of 4096 bytes: ns a launch",
                "no refill/constant/per_warp/128000/1024 refill_bytes=4096",
            ),
        ):
            self.assertEqual(
                found[claim][1:],
                ["missing", reason]
                if reason != "no idc_misses_new"
                else [
                    "missing",
                    "no add/constant/distinct/12800000/1024 distinct=32 stride_bytes=256",
                ],
            )
        failed = result(*written(90, 100))
        failed["cells"][0].update(status="failed", reason="a fault", verified=False)
        self.assertEqual(
            dict(self.rows(self.write("a.json", failed)))[WRITTEN][1:],
            ["missing", "no add_switch/constant/per_warp/12800000/1024"],
        )

    def test_cells_are_of_the_first_file_that_has_them(self):
        self.write("a.json", result(*written(90, 100)))
        self.write("half.json", result(written(300, 100)[0]))
        self.assertEqual(
            [
                dict(self.rows(*files))[WRITTEN][1]
                for files in (("a.json", "half.json"), ("half.json", "a.json"))
            ],
            ["0.900", "3.000"],
        )

    def test_parts_multiply_to_the_ratio(self):
        """93 / 150 = 80 / 100 x (93 / 80) / (120 / 100) x 120 / 150."""
        kernels = (
            ("add", "constant", (80, 79, 82)),
            ("add", "global", (100, 98, 101)),
            ("add_switch", "constant", (93, 92, 94)),
            ("add_switch", "global", (120, 118, 121)),
            ("add_runtime", "global", (150, 149, 151)),
        )
        cells = [
            cell(workload, path, pattern, elements, time)
            for pattern in ("per_block", "per_warp", "per_thread", "pseudo_random")
            for elements in (LONG, SHORT)
            for workload, path, time in kernels
        ]
        rows = [
            re.split(r" {2,}", line)
            for line in self.script(
                "--parts", self.write("result.json", result(*cells))
            ).splitlines()[2:]
        ]
        self.assertEqual(
            [row[2] for row in rows],
            ["0.886", "0.896", "0.865", "0.878", "1.713", "1.558", "8.097", "4.465"],
        )
        for row in rows:
            self.assertEqual(
                row[3:],
                [
                    "0.620 [0.609, 0.631]",
                    "0.800 [0.782, 0.837]",
                    "0.969 [0.909, 1.018]",
                    "0.800 [0.781, 0.812]",
                ],
            )
            self.assertTrue(
                math.isclose(
                    float(row[3][:5]), math.prod(float(text[:5]) for text in row[4:]), abs_tol=0.002
                )
            )
        self.assertIn(
            "no file has add_switch/constant/per_block/12800000/1024; measure with",
            self.script("--parts", self.write("few.json", result(*written(90, 100))), status=2),
        )

    def test_rules(self):
        def gpu(name, ratio, folder):
            cells = [
                cell("add", path, time=time)
                for path, time in (("constant", 1000 * ratio), ("global", 1000))
            ]
            return self.write(folder, result(*cells, name=f"NVIDIA {name}", uuid=name))

        first, slow, near = (
            gpu("A", 0.9, "a.json"),
            gpu("B", 1.5, "b.json"),
            gpu("C", 0.99, "c.json"),
        )
        for files, words in (
            ((first,), "0.90x | `__constant__`"),
            ((slow,), "1.50x | global memory"),
            ((near,), "0.99x | either"),
            ((first, "--other", slow), "0.90x | 1.50x | either"),
        ):
            self.assertIn(
                f"cannot see it | `__constant__` | {words} |", self.script("--rules", *files)
            )

    def test_other_documents_are_refused(self):
        good = self.write("good.json", result(*written(90, 100)))
        modelled = {**result(), "engine": "model"}
        characterized = {
            **CHARACTERIZATION,
            "device": {**CHARACTERIZATION["device"], **GPU, "name": "Another"},
            "experiments": [],
        }
        broken = result(cell("add", "global"))
        del broken["cells"][0]["identity"]
        for content, said in (
            (modelled, "not a measured result"),
            (result(uuid="GPU-2"), "of another GPU"),
            (characterized, "of another model, Another"),
            (broken, "bad.json cannot be shown: KeyError, 'identity'"),
            ("{", "is not JSON"),
            ([], "no JSON object"),
        ):
            self.assertIn(said, self.script(good, self.write("bad.json", content), status=2))
        self.assertIn(
            "no file is a result", self.script(self.write("made.json", characterized), status=2)
        )


class Record(Case):
    # Notes its arguments, ends with the status in status/NAME and leaves a copy of result/NAME
    # where it is told to.
    STUB = """#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/asked"
for last; do :; done
name=$(basename "$last" .json)
[ -f "$here/result/$name" ] && cp "$here/result/$name" "$last"
[ -f "$here/status/$name" ] && exit "$(cat "$here/status/$name")"
exit 0
"""
    PARTS = ["records", "sweeps", "lookups", "processes", "gate", "neighbour", "clock", "chip"]

    def setUp(self):
        super().setUp()
        self.stub = self.write("stub", self.STUB)
        os.chmod(self.stub, 0o755)
        for name in ("all-paths", "serialization"):
            self.write(f"result/{name}", result(*written(90 if name == "all-paths" else 200, 100)))

    def record(self, *words, status=0, python=sys.executable):
        """Its output, and the command lines that the program got."""
        done = subprocess.run(
            ["sh", RECORD, *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "CBANK": self.stub, "PYTHON": python},
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        path = self.path("asked")
        asked = read_bytes(path).decode() if os.path.exists(path) else ""
        return done.stdout + done.stderr, asked.splitlines()

    def test_each_part_by_itself_and_which_there_are(self):
        self.assertIn("usage: record_all.sh FOLDER [PART...]", self.record(status=2)[0])
        said, asked = self.record("new", "chip", "sweep", status=2)
        self.assertIn("there is no part 'sweep'; there are: records sweeps", said)
        self.assertEqual(asked, [])
        said, asked = self.record("a new/folder", python="true")
        self.assertEqual(re.findall(r"(?m)^(\w+): exit status 0, \d+ s$", said), self.PARTS)
        self.assertEqual(asked[0], "run --engine cuda --quiet --json -")
        for wanted in (
            "--sweep warps --max-samples 60 --json a new/folder/sweeps/warps.json",
            "--cache-state cold --json a new/folder/core-matrix-cold.json",
            "contribute --credit The cbank contributors a new/folder/chip",
        ):
            self.assertTrue(any(line.endswith(wanted) for line in asked), wanted)

    def test_the_program_takes_every_plan(self):
        """On the model engine, with few elements: enough for four warps on each SM."""
        for line in self.record("new", "records", "sweeps", "lookups")[1][1:]:
            with self.subTest(line):
                words = re.sub(
                    r" --elements [\d,]+|$",
                    " --elements 32768",
                    line.replace("--engine cuda", "--engine model"),
                    count=1,
                )
                done = subprocess.run(
                    [CBANK, *words.split(), "--counters", "none"],
                    cwd=self.folder,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_part_that_failed_counts_and_others_go_on(self):
        """Where cells did not settle (4), nothing failed. The first process does not count."""
        os.mkdir(self.path("status"))
        for name, value, status, said in (
            ("lookup", "1", 1, "sweeps: exit status 1"),
            ("lookup", "4", 0, "sweeps: exit status 0"),
            ("refill", "3", 1, "refill.json: failed\nrecords: exit status 1"),
            ("-", "3", 0, "records: exit status 0"),
        ):
            with self.subTest(name, value=value):
                self.write(f"status/{name}", value)
                self.assertIn(said, self.record("new", "records", "sweeps", status=status)[0])
                os.remove(self.path(f"status/{name}"))

    def test_the_claims_of_the_records_come_last(self):
        said, _ = self.record("new", "records")
        self.assertEqual(said.splitlines()[0], "NVIDIA TEST, driver 580.1")
        self.assertIn(
            " 0.900 ",
            next(line for line in said.splitlines() if line.startswith("per_warp, 12800000")),
        )

    @unittest.skipUnless(FULL, "takes long: make test-long")
    def test_their_plans_hold_what_is_claimed(self):
        """On the model engine: no cell is missing from the two files, though counters are."""
        files = []
        for line in self.record("new", "records")[1]:
            if line.endswith(("all-paths.json", "serialization.json")):
                subprocess.run(
                    [CBANK, *line.replace("--engine cuda", "--engine model").split()],
                    cwd=self.folder,
                    check=True,
                    timeout=300,
                )
                files.append(line.split()[-1])
                self.write(files[-1], {**read_json(self.path(files[-1])), "engine": "cuda"})
        for claim, columns in self.rows(*files):
            with self.subTest(claim):
                self.assertNotRegex(columns[-1], "no .*/")
        self.script("--parts", *files)


if __name__ == "__main__":
    unittest.main()
