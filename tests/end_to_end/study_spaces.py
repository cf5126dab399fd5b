#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/studies/memory_spaces.py on programs and results that are made here."""

import contextlib
import io
import itertools
import json
import os
import subprocess
import sys
import unittest

from common import ROOT, Scratch, read_json

sys.path.append(os.path.join(ROOT, "scripts/studies"))
import memory_space_tables  # noqa: E402

SCRIPT = os.path.join(ROOT, "scripts/studies/memory_spaces.py")
QUESTIONS = os.path.join(ROOT, "scripts/studies/memory_spaces/questions.json")
KB = 1024

# The axes of the programs, by experiment.
SPACES = ("constant", "shared", "global", "readonly")
CLUSTERS = {"shared_multicast": (2, 4, 8), "distributed": (2, 4, 8, 16)}
TABLES = [(space, 1) for space in (*SPACES, "shared_async", "shared_bulk", "window")] + [
    (space, cluster) for space, clusters in CLUSTERS.items() for cluster in clusters
]


def every_cell():
    """The axes of all cells that the programs can have."""
    for figure, space, width, stride in itertools.product(
        ("busy", "latency"), SPACES, (1, 2, 4, 8, 16), (0, *(2**i for i in range(10)))
    ):
        yield {
            **{"experiment": "stride", "figure": figure, "space": space},
            **{"width": width, "stride": stride},
        }
    for space, width, count in itertools.product(
        SPACES, (1, 4, 8), (16, 32, 64, 128, 256, 1024, 2048)
    ):
        yield {"experiment": "byte_table", "space": space, "width": width, "bytes": count}
    for (space, cluster), count, blocks, lookups in itertools.product(
        TABLES, (32, 64, 128, 200, 400, 800, 1600), (1, 2, 4), (1, 8, 64, 256)
    ):
        yield in_table(space, cluster, count * KB, blocks, lookups)
    for space, count in itertools.product(
        ("global", "readonly", "window"), (200, 1600, 8192, 16384, 32768)
    ):
        yield {**in_table(space, 1, count * KB, 2, 64), "experiment": "stream"}
    for figure, space, lines, passes, blocks in itertools.product(
        ("graph_ns", "stream_ns", "block_cycles"),
        ("constant", "parameter", "global", "shared"),
        (1, 4, 16, 32, 64, 128, 256, 500),
        (1, 2, 4, 16, 64),
        (1, 8),
    ):
        yield short(space, lines, passes, blocks, figure)


def in_table(space, cluster=1, count=32 * KB, blocks=1, lookups=1):
    return {
        **{"experiment": "table", "space": space, "cluster": cluster},
        **{"bytes": count, "blocks": blocks, "lookups": lookups},
    }


def short(space, lines, passes=1, blocks=1, figure="graph_ns"):
    return {
        **{"experiment": "short", "figure": figure, "space": space},
        **{"lines": lines, "passes": passes, "blocks": blocks},
    }


def row(cell, *processes):
    """A row of a report. A number is a process whose samples are all the same."""
    samples = [[of] * 11 if isinstance(of, (int, float)) else of for of in processes]
    return {"program": "tables", "cell": cell, "samples": samples, "verified": 7}


def report_of(rows, **more):
    return {
        "gpu": {"name": "Some GPU", "uuid": "0", "driver_version": "1"},
        "nvcc": "13.0",
        "processes": 1,
        "seconds": 1,
        "faults": [],
        "proof": {"not_done": "proof: no program"},
        "sanitizer": {"not_done": "sanitizer: no program"},
        "counters": {"not_done": "counters: no program"},
        "cells": rows,
        **more,
    }


class Tables(Scratch):
    """--show of reports whose numbers are known."""

    def show(self, part, report):
        """The rows of the table of a part, split, and all that is printed."""
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            memory_space_tables.show(part, report)
        text = printed.getvalue()
        lines = [line for line in text.splitlines() if line.startswith("|")]
        return [line.strip("| ").split(" | ") for line in lines[2:]], text

    def test_every_part_of_a_whole_report(self):
        rows = [row(cell, 100 + i % 7) for i, cell in enumerate(every_cell())]
        counters = {
            "rows": [
                {
                    **{"path": path, "distance": 1, "width": 4, "verified": True},
                    **{"instruction": "LDC", "time_ns": 1000, "requests_of_load": 32},
                    "exact_counters": {"compared": 5, "equal": 4, "differing": 1, "unknown": 0},
                    "warp_loads": 10,
                    "counters": {
                        "idc_requests": 330 if path == "constant" else 10,
                        "idc_active_cycles": 650 if path == "constant" else 10,
                        "shared_wavefronts": 10 if path == "shared" else 0,
                        "l1_sectors": 80 if path == "global" else 40,
                    },
                }
                for path in SPACES
            ]
        }
        report = report_of(rows, counters=counters)
        for part in (
            *("summary", "hit", "pays", "best", "short", "short-8", "launches", "constant"),
            *("shared", "global", "readonly", "byte-tables", "counters"),
        ):
            with self.subTest(part):
                found, text = self.show(part, report)
                self.assertTrue(found)
                self.assertIn("Some GPU, driver 1, nvcc 13.0.", text)
                self.assertEqual({len(cells) for cells in found}, {len(found[0])})
        self.assertNotIn("Not measured", self.show("missed", report)[1])
        found, text = self.show("counters", report)
        self.assertEqual(found, [["4", "1", "32", "32", "64", "1", "4"]])
        self.assertIn("16 of 20 equal", text)

    def test_a_space_pays_where_its_whole_interval_says_so(self):
        """Ratios of rounds 0.90 to 1.00: of eleven, the second and the last but one are the ends
        of the interval, and the median is 0.95."""
        rounds = [90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100]
        rows = [
            row(in_table("global"), 100, 100),
            row(in_table("constant"), 120, 120),
            row(in_table("shared_bulk"), 50, 60),
            row(in_table("shared_async"), rounds, 94),
            row(in_table("window"), 94.9, 94.9),
        ]
        found = {name: cells for name, *cells in self.show("pays", report_of(rows))[0]}
        self.assertEqual(
            found["shared_bulk"],
            [
                *("1 of 1", "0.55 (0.5 to 0.6): shared_bulk by global"),
                *("32 KB, 1 blocks, 1 lookups", "0.55"),
            ],
        )
        self.assertEqual(found["shared_async"][0], "0 of 1")
        self.assertTrue(found["shared_async"][1].startswith("0.945 (0.91 to 0.99)"))
        self.assertEqual(found["window"][0], "1 of 1")

    def test_a_shifted_table_is_beside_the_same_at_a_line(self):
        times = {"shared": 2000, "shared_async": 1600, "shared_bulk": 1800}
        shifted = {
            "shared_shifted": 2000,
            "shared_async_shifted": 4800,
            "shared_bulk_shifted": 3600,
        }
        rows = [row(in_table(space), ns, ns) for space, ns in {**times, **shifted}.items()]
        rows += [row(in_table(space, lookups=8), ns, ns) for space, ns in times.items()]
        ((size, blocks, loads, *ratios),) = self.show("shifted", report_of(rows))[0]
        self.assertEqual((size, blocks, loads), ("32 KB", "1", "2"))
        self.assertEqual([one.split()[0] for one in ratios], ["0.8", "0.9", "1", "3", "2"])
        # without one of them there is nothing to compare
        self.assertEqual(self.show("shifted", report_of(rows[:5]))[0], [])

    def test_the_best_of_known_and_new_spaces(self):
        rows = [
            row(in_table("global"), 2000),
            row(in_table("shared"), 1000),
            row(in_table("distributed", 2), 3000),
            row(in_table("distributed", 4), 1500),
        ]
        found, _ = self.show("best", report_of(rows))
        self.assertEqual(found, [["32 KB", "1", "shared 1; distributed of 4 1.5"]])

    def test_guesses_that_hit_and_missed_and_were_not_put(self):
        asked = read_json(QUESTIONS)
        hit, missed = asked["window_alone"], asked["short_one_line"]
        rows = [
            row({**hit["cells"]}, 100),
            row({**hit["by"][0]}, 100),
            row({**missed["cells"]}, 200),
            row({**missed["by"][0]}, 100),
        ]
        report = report_of(rows)
        self.assertIn([hit["question"], "1 (85 %)", "1", "1 to 1"], self.show("hit", report)[0])
        found, text = self.show("missed", report)
        self.assertIn([missed["question"], "1 (60 %)", "2", "2 to 2"], found)
        # The same cells also answer where a window is best, and up to how many lines.
        self.assertEqual(text.count("\n- "), len(asked) - 4)

    def test_the_most_lines_that_constant_memory_serves_as_fast(self):
        """100, 104 and 106 of 100: up to the second."""
        times = {1: 100, 4: 104, 16: 106, 32: 100}
        rows = [row(short("global", lines), 100) for lines in times]
        rows += [row(short("shared", lines), 300) for lines in times]
        rows += [row(short("constant", lines), time) for lines, time in times.items()]
        text = self.show("missed", report_of(rows))[1] + self.show("hit", report_of(rows))[1]
        asked = read_json(QUESTIONS)["most_lines_once"]["question"]
        self.assertIn(f"| {asked} | 16 (40 %) | 4 | 4 to 4 |", text)

    def test_reasons(self):
        rows = [row(in_table("distributed", 2))]
        rows[0]["skipped"] = "needs sm_90; this GPU is sm_75"
        found, _ = self.show("skipped", report_of(rows))
        self.assertEqual(found, [["distributed", "1", "needs sm_90; this GPU is sm_75"]])

    def test_a_file_that_is_there_and_one_that_is_not(self):
        path = self.write("trial.json", report_of([row(in_table("shared"), 1)]))
        for name, expected in ((path, "| memory space |"), (self.path("absent"), "Not measured")):
            done = subprocess.run(
                [sys.executable, SCRIPT, "--show", "skipped", "--json", name],
                capture_output=True,
                text=True,
                check=True,
            )
            self.assertIn(expected, done.stdout)

    def test_guesses_are_within_their_ranges(self):
        for key, asked in read_json(QUESTIONS).items():
            with self.subTest(key):
                self.assertLessEqual(asked["low"], asked["guess"])
                self.assertLessEqual(asked["guess"], asked["high"])
                self.assertTrue(0 < asked["confidence"] < 1)


class Measured(Scratch):
    """--measure with programs that print what is said here."""

    def setUp(self):
        super().setUp()
        self.programs = self.path("programs")
        os.mkdir(self.programs)
        self.program("../nvidia-smi", "echo 'Some GPU, GPU-0, 1.2, 1980 MHz, 9.0'")
        for name, space in (("bytes", "shared"), ("short", "global"), ("tables", "constant")):
            self.program(name, f"echo '{self.line(space)}'")
        self.write("programs/build.json", {"nvcc": "13.0", "architecture": 90})

    @staticmethod
    def line(space):
        return json.dumps({"cell": in_table(space), "verified": 3, "samples": [1, 2, 3]})

    def program(self, name, text):
        os.chmod(self.write(os.path.join("programs", name), f"#!/bin/sh\n{text}\n"), 0o755)

    def measure(self, *options):
        """(exit code, the report, what is said)."""
        done = subprocess.run(
            [
                *(sys.executable, SCRIPT, "--measure", self.path("out")),
                *("--programs", self.programs, "--program", self.path("absent"), *options),
            ],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"},
        )
        return done.returncode, read_json(self.path("out/trial.json")), done.stdout + done.stderr

    def test_processes_become_samples(self):
        code, report, said = self.measure("--processes", "2")
        self.assertEqual(code, 0, said)
        self.assertEqual([row["samples"] for row in report["cells"]], [[[1, 2, 3]] * 2] * 3)
        self.assertEqual([row["verified"] for row in report["cells"]], [6] * 3)
        self.assertEqual((report["processes"], report["gpu"]["name"]), (2, "Some GPU"))
        self.assertIn("absent is not here", report["proof"]["not_done"])
        self.assertIn("not_done", report["counters"])

    def test_a_part_is_added_to_a_report_of_the_same_programs(self):
        self.measure()
        self.program("../compute-sanitizer", "echo '========= ERROR SUMMARY: 0 errors'")
        code, report, said = self.measure("--parts", "sanitizer")
        self.assertEqual((code, len(report["cells"])), (0, 3), said)
        self.assertTrue(report["sanitizer"]["clean"])
        self.program("../compute-sanitizer", "echo '========= ERROR SUMMARY: 2 errors'; exit 99")
        code, report, said = self.measure("--parts", "sanitizer")
        self.assertEqual((code, report["sanitizer"]["clean"]), (1, False))
        self.assertIn("2 errors", said)
        self.program("short", "exit 0")
        code, report, said = self.measure("--parts", "sanitizer")
        self.assertEqual(code, 2)
        self.assertIn("is of other programs", said)

    def test_no_process_begins_without_time_for_it(self):
        self.program("short", f"sleep 0.6; echo '{self.line('global')}'")
        code, report, said = self.measure("--processes", "5", "--seconds", "1")
        self.assertEqual((code, report["processes"]), (0, 1), said)

    def test_a_program_that_fails_keeps_what_it_printed(self):
        self.program("short", f"echo '{self.line('global')}'; printf '{{\"ce'; exit 3")
        code, report, said = self.measure()
        self.assertEqual(code, 1)
        self.assertIn("short exited 3", said)
        self.assertEqual(len(report["cells"]), 3)

    def test_a_program_that_hangs_is_ended(self):
        self.program("bytes", f"echo '{self.line('shared')}'; exec sleep 60")
        code, report, said = self.measure("--seconds", "1")
        self.assertEqual(code, 1)
        self.assertIn("bytes did not end in 1 s", said)
        self.assertEqual(len(report["cells"]), 3)

    def test_a_wrong_output_is_an_error(self):
        wrong = {"cell": in_table("constant"), "failed": "output 3 is 1, and must be 2"}
        self.program("tables", f"echo '{json.dumps(wrong)}'")
        code, _, said = self.measure()
        self.assertEqual(code, 1)
        self.assertIn("output 3 is 1, and must be 2", said)


if __name__ == "__main__":
    unittest.main()
