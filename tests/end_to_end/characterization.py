#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of scripts/characterization.py on small made-up files whose figures are worked out by hand."""

import json
import os
import tempfile
import unittest

import jsonschema

from common import ROOT, run_script



def number(value, name=None, half=0.0, reason=None, **of):
    low, high = (None, None) if value is None else (value - half, value + half)
    named = {"name": name} if name else {}
    return {**named, **of, "value": value, "low": low, "high": high, "unit": "cycles", "samples": 21, "method": None,
            "reason": reason}


def experiment(name, *numbers, status="ok", reason=None, verdicts=(), **more):
    return {"name": name, "what": "made up", "path": name.split("_", 1)[1], "status": status, "reason": reason,
            "seconds": 0.5, "numbers": list(numbers), "verdicts": list(verdicts), "evidence": [], **more}


def level(latency, capacity, line, fetch, ways=None, sets=None, replacement=None, reason=None):
    """A level; `reason`: why its size is not known."""
    return {"latency": number(latency), "fetch_bytes": number(fetch), "line_bytes": number(line),
            "fits_bytes": number(capacity), "capacity_bytes": number(capacity, reason=reason), "ways": number(ways),
            "sets": number(sets), "lines_taken": number(None), "replacement": number(None),
            "replacement_name": replacement, "contradiction": None}


def geometry(*levels):
    return {"searched_bytes": 65536, "shared_carve_out": "none", "walks": 1, "accesses": 1, "levels": list(levels),
            "plateaus": []}


UNKNOWN = ("chip", "uuid", "warps_per_sm", "blocks_per_sm", "shared_bytes_per_sm", "shared_bytes_reserved", "l2_bytes",
           "memory_bytes", "cuda_driver_api", "vbios", "ecc", "mig", "pci_bus_id", "launch_ns")


def made():
    """A chip whose clock takes 50 - 40 = 10 cycles of every timed access."""
    return {
        "schema": {"name": "cbank-characterization", "version": "2.0"},
        "tool": {"name": "cbank", "version": "0", "git_commit": None, "git_dirty": False, "argv": "", "compiler": None,
                 "cuda_toolkit": None},
        "started_utc": "", "finished_utc": "", "replayed": None, "seconds": 1.26,
        "device": {**{key: None for key in UNKNOWN}, "name": "Made-up", "compute_capability": "9.0", "sm_count": 4,
                   "driver": "1.2", "clocks": {"sm_max_mhz": None, "memory_max_mhz": None},
                   "throttle": {"known": False, "before": None, "after": None}},
        "probes": {"samples_max": 1, "shared_carve_out": "none", "chunk_bytes": None, "bank_addresses": [0] * 8,
                   "kernels": []},
        "experiments": [
            experiment("latency_constant", number(40, "latency", distinct=1, warps=1)),
            experiment("latency_shared", number(23.5, "latency", half=0.25)),
            experiment("latency_param", status="skipped", reason="no such probe"),
            experiment("geometry_constant", geometry=geometry(
                level(50, 1024, 32, 16, ways=2, sets=16, replacement="LRU"),
                level(130, None, None, 256, reason="all of the 65536 bytes that could be walked fit"))),
            experiment("serialization_constant",
                       number(3, "cycles_per_load_per_extra_address", half=0.5, stride_bytes=4),
                       number(2, "cycles_per_load_per_extra_address", half=0.125, stride_bytes=64),
                       verdicts=[{"name": "latency_grows_per", "value": "address", "reason": "as made up",
                                  "sentence": "Addresses cost."},
                                 {"name": "throughput_falls_per", "value": None, "reason": "neither of both",
                                  "sentence": "What costs is unclear."}]),
            # Most of the warps is not the most loads: the largest that is known counts, not the last.
            experiment("throughput_constant", number(0.25, "loads_per_cycle", warps=8),
                       number(0.5, "loads_per_cycle", half=0.125, warps=16), number(None, "loads_per_cycle", warps=32),
                       number(0.375, "loads_per_cycle", warps=64), number(64, "broadcast_bandwidth")),
            experiment("invalidation_constant", verdicts=[{"name": "what_it_held_is", "level": 1, "before": "copy",
                                                           "value": "lost", "reason": "0 of 8 hit", "share": 0,
                                                           "sentence": "Level 1 is emptied: 0 % hit."}]),
        ],
    }


class Characterization(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "made.json")
        self.made = made()
        self.rows = {row["name"]: row for row in self.made["experiments"]}

    def script(self, path):
        return run_script("characterization.py", path)

    def write(self, text):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text)

    def printed(self, without=()):
        """What is printed of the file, which is valid, less some experiments."""
        rows = [row for row in self.made["experiments"] if row["name"] not in without]
        changed = {**self.made, "experiments": rows}
        with open(os.path.join(ROOT, "results/characterization.schema.json"), encoding="utf-8") as file:
            jsonschema.Draft202012Validator(json.load(file)).validate(changed)
        self.write(json.dumps(changed))
        done = self.script(self.file)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout.splitlines()

    def refused(self, *words):
        """The file ends it with 2, a message with its name and these words, and nothing printed."""
        done = self.script(self.file)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        for word in ("characterization: error: ", self.file, *words):
            self.assertIn(word, done.stderr)

    def row(self, lines, name):
        """The cells of the one row of a table that begins with this name."""
        found = [line for line in lines if line.startswith(name + "  ")]
        self.assertEqual(len(found), 1, lines)
        return [cell.strip() for cell in found[0].split("  ") if cell.strip()]

    def test_figures(self):
        lines = self.printed()
        self.assertEqual(lines[0], "Made-up, driver 1.2, 1.3 s")
        self.assertEqual(self.row(lines, "constant"),
                         ["constant", "40", "0.5 [0.375, 0.625]", "64", "2 [1.875, 2.125]"])
        self.assertEqual(self.row(lines, "shared"), ["shared", "23.5 [23.25, 23.75]", "-", "-", "-"])
        self.assertEqual(self.row(lines, "param"), ["param", "skipped", "-", "-", "-"])

    def test_levels_beside_published_ones(self):
        lines = self.printed()
        # A line where it is known, else what is fetched at once; latencies less the 10 cycles of the clock.
        self.assertEqual(self.row(lines, "Made-up"),
                         ["Made-up", "1024 B, 32 B, 40", "65536 B or more, 256 B, 120", "this file"])
        self.assertEqual(self.row(lines, "H100")[1:], ["2112 B, 64 B, 17", "over 64 KB, 256 B, 106", "MT4G"])
        self.assertIn("level 1: 2 ways, 16 sets, replacement LRU", lines)
        self.assertIn("size of level 2 not found: all of the 65536 bytes that could be walked fit", lines)

    def test_a_level_that_one_bank_does_not_fill(self):
        """What walks over one bank did not find is taken from those over several; what they found stays."""
        self.made["experiments"].append(experiment("geometry_constant_modules", geometry=geometry(
            level(45, 2048, 32, 16, ways=4, sets=16, replacement="FIFO"),
            level(131, 8192, 256, 256, ways=8, sets=4, replacement="tree pseudo-LRU"))))
        lines = self.printed()
        self.assertEqual(self.row(lines, "Made-up")[1:3], ["1024 B, 32 B, 40", "8192 B, 256 B, 120"])
        self.assertIn("level 1: 2 ways, 16 sets, replacement LRU", lines)
        self.assertIn("level 2: 8 ways, 4 sets, replacement tree pseudo-LRU", lines)

    def test_verdicts(self):
        """Each in its sentence; what it rests on where the sentence does not say it."""
        self.assertEqual(self.printed()[-5:], ["Addresses cost.", "    as made up", "What costs is unclear.",
                                               "    neither of both", "Level 1 is emptied: 0 % hit."])

    def test_experiments_that_are_not_there(self):
        """Each can be missing, and the others are still said."""
        whole = self.printed()
        for name in self.rows:
            with self.subTest(name):
                lines = self.printed(without=[name])
                self.assertEqual(lines[0], whole[0])
                self.assertEqual(self.row(lines, "Made-up")[-1], "this file")
        self.assertEqual(self.row(self.printed(without=["throughput_constant", "serialization_constant"]), "constant"),
                         ["constant", "40", "-", "-", "-"])
        self.assertEqual(self.printed(without=list(self.rows))[0], whole[0])

    def test_levels_that_are_not_there(self):
        lines = self.printed(without=["geometry_constant"])
        self.assertEqual(self.row(lines, "Made-up"), ["Made-up", "-", "-", "this file"])
        self.assertIn("no levels: the file has no geometry_constant", lines)
        row = self.rows["geometry_constant"]
        row["geometry"]["levels"][1] = level(130, None, 128, 256, reason="too noisy")
        lines = self.printed()
        self.assertEqual(self.row(lines, "Made-up")[2], "-, 128 B, 120")
        self.assertIn("size of level 2 not found: too noisy", lines)
        row["geometry"]["levels"].pop()
        self.assertEqual(self.row(self.printed(), "Made-up")[1:3], ["1024 B, 32 B, 40", "-"])
        row["geometry"]["levels"].pop()
        self.assertIn("no levels: geometry_constant found no level", self.printed())
        del row["geometry"]
        row.update(status="skipped", reason="the GPU has no clock")
        self.assertIn("no levels: geometry_constant skipped: the GPU has no clock", self.printed())

    def test_what_the_clock_takes_is_not_known(self):
        """Then no latency of a level is."""
        expected = ["Made-up", "1024 B, 32 B, -", "65536 B or more, 256 B, -", "this file"]
        self.assertEqual(self.row(self.printed(without=["latency_constant"]), "Made-up"), expected)
        self.rows["latency_constant"]["numbers"] = [number(None, "latency", reason="too noisy")]
        lines = self.printed()
        self.assertEqual(self.row(lines, "Made-up"), expected)
        self.assertEqual(self.row(lines, "constant")[1], "-")

    def test_ways_and_sets_in_part(self):
        first = self.rows["geometry_constant"]["geometry"]["levels"][0]
        first["replacement_name"] = None
        self.assertIn("level 1: 2 ways, 16 sets, replacement not found", self.printed())
        first["sets"] = number(None, reason="not a power of two")
        self.assertFalse([line for line in self.printed() if line.startswith("first level:")])

    def test_a_driver_that_is_not_known(self):
        self.made["device"]["driver"] = None
        self.assertEqual(self.printed()[0], "Made-up, driver unknown, 1.3 s")

    def test_bad_input(self):
        self.refused("No such file")
        good = json.dumps(self.made)
        for text, words in ((good[:len(good) // 2], "is not a characterization"), ("", "is not a characterization"),
                            ("[]", "is not a characterization"), ("{}", "it has no 'schema'"),
                            (good.replace("cbank-characterization", "cbank-card"), "is a cbank-card"),
                            (good.replace('"seconds": 1.26', '"seconds": null'), "is not what"),
                            (good.replace('"status": "skipped"', '"state": "skipped"'), "missing: 'status'"),
                            (good.replace('"latency": {', '"lateness": {'), "missing: 'latency'")):
            with self.subTest(words, text=text[:20]):
                self.assertNotEqual(text, good)
                self.write(text)
                self.refused(words)

    def test_a_committed_one(self):
        done = self.script(os.path.join(ROOT, "results/characterizations/h200.json"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("this file", done.stdout)


if __name__ == "__main__":
    unittest.main()
