#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of cbank advise. Times are those of `cbank run --engine model`, which gets there on another way; what intervals and
"too close to call" have to be is worked out here from uncertainty.def; what a warp asks for, from indices that are written
by hand. CBANK names the program (default build/cbank)."""

import json
import math
import os
import re
import struct
import subprocess
import sys
import unittest

import jsonschema

from common import ROOT, Scratch, read_json

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
PATHS = ("constant", "global", "readonly", "restrict", "global_l2", "texture", "shared", "shared_copies", "param")
ELEMENTS = 16384
SMALL = ("--elements", str(ELEMENTS))
ALIKE = 0.01


def cbank(*words, folder=None):
    return subprocess.run([CBANK, *words], cwd=folder or ROOT, capture_output=True, text=True, check=False, timeout=120,
                          env={**os.environ, "COLUMNS": "100"})


def write_npy(path, rows):
    """Rows of 32-bit integers."""
    header = f"{{'descr': '<u4', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for row in rows:
            file.write(struct.pack(f"<{len(row)}I", *row))


def uncertainty():
    """{(unit,) or frozenset of units: error}"""
    with open(os.path.join(ROOT, "harness/advise/uncertainty.def"), encoding="utf-8") as file:
        text = file.read()
    table = {(unit,): float(error) for unit, error in re.findall(r"^TIME_ERROR\((\w+), \d+, ([\d.]+)\)", text, re.M)}
    for one, other, error in re.findall(r"^RATIO_ERROR\((\w+), (\w+), \d+, ([\d.]+)\)", text, re.M):
        table[frozenset((one, other))] = float(error)
    return table


class Advise(Scratch):
    def advise(self, *words):
        done = cbank("advise", *words, "--json", "-")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def modelled(self, *words):
        """{path: time} by the model engine."""
        done = cbank("run", "--engine", "model", "--quiet", "--counters", "none", "--json", "-", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {cell["path"]: cell["time_ns"]["median"] for cell in json.loads(done.stdout)["cells"]
                if cell["status"] == "ok"}

    def refused(self, *words, saying):
        done = cbank("advise", *words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        for word in saying:
            self.assertIn(word, done.stderr)

    def test_times_are_those_of_the_model_engine(self):
        for source, size, width in (("uniform", 4096, 4), ("lockstep", 2048, 4), ("zipf", 512, 2), ("runs", 1024, 16)):
            with self.subTest(source):
                advice = self.advise("--table-bytes", str(size), "--width", str(width), "--source", source, *SMALL)
                times = self.modelled("--workload", "lookup", "--path", ",".join(PATHS), "--source", source, *SMALL,
                                      "--table-bytes", str(size), "--width-bytes", str(width), "--loads", "4")
                self.assertEqual({place["path"]: place["time_ns"] for place in advice["ranking"]}, times)
                self.assertTrue(advice["modelled"])
                self.assertEqual(advice["choice"], min(times, key=times.get))

    def test_a_pattern_is_that_of_add(self):
        advice = self.advise("--table-bytes", "65536", "--pattern", "per_warp", "--elements", "128000")
        times = self.modelled("--path", "constant,global,shared", "--pattern", "per_warp", "--elements", "128000")
        for place in advice["ranking"]:
            if place["path"] in times:
                self.assertAlmostEqual(place["time_ns"], times[place["path"]], delta=1e-6)

    def test_intervals_and_standings_follow_the_table(self):
        errors = uncertainty()
        paths = json.loads(cbank("list", "--json").stdout)["paths"]
        units = {path["name"]: path["unit"].upper() for path in paths}
        standings = set()
        for words in (("4096", "--source", "uniform"), ("1024", "--source", "lockstep", "--loads", "16"),
                      ("256", "--source", "distinct", "--distinct", "2")):
            advice = self.advise("--table-bytes", *words, *SMALL)
            first = advice["ranking"][0]
            for place in advice["ranking"]:
                unit = units[place["path"]]
                factor = math.exp(errors[(unit,)])
                self.assertAlmostEqual(place["low"] * factor, place["time_ns"], delta=1e-6)
                self.assertAlmostEqual(place["high"], place["time_ns"] * factor, delta=1e-6)
                ratio, most = place["time_ns"] / first["time_ns"], math.exp(errors[frozenset((unit, units[first["path"]]))])
                wanted = ("best" if place is first else "as good" if ratio * most <= 1 + ALIKE
                          else "too close to call" if ratio <= most else "slower")
                self.assertEqual(place["standing"], wanted, place)
                standings.add(wanted)
            self.assertEqual(advice["alike"], [p["path"] for p in advice["ranking"] if p["standing"] == "as good"])
            self.assertEqual(advice["too_close"],
                             [p["path"] for p in advice["ranking"] if p["standing"] == "too close to call"])
        self.assertEqual(len(standings), 4)

    def test_reasons_have_the_numbers_of_a_file(self):
        """Every warp reads 32 addresses of the first 128 bytes in one load, and one in the other."""
        path = self.path("indices.npy")
        write_npy(path, [[thread % 32 for thread in range(ELEMENTS)], [5] * ELEMENTS])
        advice = self.advise("--table-bytes", "1024", "--indices", path)
        places = {place["path"]: place for place in advice["ranking"]}
        self.assertIn("16.5 addresses a load", places["constant"]["reason"])
        self.assertIn("2.5 sectors a load", places["global_l2"]["reason"])
        self.assertEqual((advice["configuration"]["elements"], advice["configuration"]["loads"]), (ELEMENTS, 2))
        self.assertEqual(advice["crossovers"], [])
        write_npy(path, [[0] * 100, [300] + [0] * 99])
        self.refused("--table-bytes", "1024", "--indices", path, saying=["index 300", "[1][0]", "256 entries"])

    def test_crossovers_are_the_best_of_the_model_engine(self):
        words = ("--table-bytes", "2048", "--loads", "4")
        advice = self.advise(*words, "--source", "lockstep", *SMALL)
        asked = 0
        for stretch in advice["crossovers"]:
            values = {"distinct": [1, 2, 4, 8, 16, 32], "loads": [1, 4, 16],
                      "table_bytes": [256, 1024, 2048, 4096, 16384, 65536]}[stretch["axis"]]
            for value in [value for value in values if stretch["first"] <= value <= stretch["last"]]:
                axis = {"--table-bytes": "2048", "--loads": "4", "--source": "lockstep"}
                if stretch["axis"] == "distinct":
                    axis["--source"] = "distinct"
                axis["--" + stretch["axis"].replace("_", "-")] = str(value)
                times = self.modelled("--workload", "lookup", "--path", ",".join(PATHS), *SMALL,
                                      *[word for pair in axis.items() for word in pair])
                self.assertEqual(times[stretch["path"]], min(times.values()), (stretch, value))
                asked += 1
        self.assertEqual(asked, 15)

    def test_the_document_follows_the_schema(self):
        schema = read_json(os.path.join(ROOT, "results/advice.schema.json"))
        jsonschema.Draft202012Validator.check_schema(schema)
        file = self.path("advice.json")
        for words in (("4096",), ("65536", "--pattern", "distinct", "--distinct", "4"), ("64", "--width", "16")):
            done = cbank("advise", "--table-bytes", *words, *SMALL, "--json", file)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("all times are modelled", done.stdout)
            advice = read_json(file)
            jsonschema.validate(advice, schema)
            every = {path["name"] for path in json.loads(cbank("list", "--json").stdout)["paths"] if path["loads"]}
            self.assertEqual(sorted([place["path"] for place in advice["ranking"] + advice["excluded"]]), sorted(every))

    def test_the_command_that_measures_runs(self):
        advice = self.advise("--table-bytes", "512", "--width", "8", "--source", "zipf", *SMALL)
        words = advice["measure"].split()
        self.assertEqual(words[:2], ["cbank", "run"])
        times = self.modelled(*words[2:])
        self.assertEqual(times, {place["path"]: place["time_ns"] for place in advice["ranking"]
                                 if place["standing"] != "slower"})

    def test_other_data_beside_the_table(self):
        """What fits into L1 beside the table leaves it there; of more the model says nothing, and has it measured."""
        alone = self.advise("--table-bytes", "4096", *SMALL)
        fits = self.advise("--table-bytes", "4096", "--pressure-bytes", "65536", *SMALL)
        self.assertEqual({place["path"] for place in fits["ranking"]}, {place["path"] for place in alone["ranking"]})
        for place in fits["ranking"]:
            before, = [other["time_ns"] for other in alone["ranking"] if other["path"] == place["path"]]
            self.assertGreaterEqual(place["time_ns"], before)
        more = self.advise("--table-bytes", "4096", "--pressure-bytes", "1048576", *SMALL)
        through_l1 = {"global", "readonly", "restrict", "texture"}
        self.assertEqual({place["path"] for place in more["ranking"]},
                         {place["path"] for place in alone["ranking"]} - through_l1)
        reasons = {place["path"]: place["reason"] for place in more["excluded"]}
        for path in through_l1:
            self.assertIn("L1 keeps beside 1048576 bytes", reasons[path])
            self.assertIn(path, more["measure"])
        self.assertIn("--pressure-bytes 1048576", more["measure"])
        self.assertNotIn("shuffle", more["measure"])
        self.refused("--table-bytes", "64", "--pressure-bytes", "4096", "--in-flight", "2", saying=["leave out --in-flight"])
        self.refused("--table-bytes", "64", "--pressure-bytes", "4096", "--pattern", "per_warp",
                     saying=["leave out --pattern"])
        self.refused("--table-bytes", "64", "--pressure-bytes", "5000", saying=["--pressure-bytes"])

    def test_small_tables(self):
        """32 entries of 4 bytes fit into a warp's registers, 33 do not."""
        held, large = self.advise("--table-bytes", "128", *SMALL), self.advise("--table-bytes", "132", *SMALL)
        self.assertIn("shuffle", {place["path"] for place in held["ranking"]})
        self.assertIn("shuffle", {place["path"] for place in large["excluded"]})

    def test_bad_input(self):
        self.refused(saying=["--table-bytes"])
        self.refused("--table-bytes", "100000", saying=["no path can hold", "65536"])
        self.refused("--table-bytes", "100", "--width", "8", saying=["whole number of entries", "multiple"])
        self.refused("--table-bytes", "96", "--width", "3", saying=["--width"])
        self.refused("--table-bytes", "64", "--source", "zipf", "--pattern", "per_warp", saying=["name one"])
        self.refused("--table-bytes", "64", "--card", self.path("none.json"), saying=["none.json"])
        self.refused("--table-bytes", "64", "--indices", self.path("none.npy"), saying=["none.npy"])

    def test_the_table_of_errors_is_what_the_results_say(self):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts/model_uncertainty.py"), "--check"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_trial_is_drawn_by_its_seed(self):
        def trial(*words):
            done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts/advise_trial.py"), *words,
                                   "--program", CBANK], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return done.stdout

        drawn = trial("draw", "--seed", "3", "--count", "3")
        self.assertEqual(drawn, trial("draw", "--seed", "3", "--count", "3"))
        self.assertNotEqual(drawn, trial("draw", "--seed", "4", "--count", "3"))
        configurations = json.loads(drawn)
        for configuration in configurations["configurations"]:
            configuration["elements"] = ELEMENTS
            configuration.pop("pressure-bytes", None)  # beside much of it, nothing is predicted of `global`
        with open(self.path("drawn.json"), "w", encoding="utf-8") as file:
            json.dump(configurations, file)
        # What is measured here is four times as slow on `global` as predicted, and else as predicted.
        for number, configuration in enumerate(configurations["configurations"]):
            advice = self.advise(*[f"--{name}={value}" for name, value in configuration.items()])
            cells = [{"path": place["path"], "status": "ok", "verified": True, "flags": [], "identity": "a",
                      "time_ns": {"median": place["time_ns"] * (4 if place["path"] == "global" else 1), "ci_low": 1,
                                  "ci_high": 1}} for place in advice["ranking"]]
            with open(self.path(f"{number}.json"), "w", encoding="utf-8") as file:
                json.dump({"tool": {}, "device": {"uuid": "GPU-1"}, "cells": cells}, file)
        with open(self.path("measured"), "w", encoding="utf-8") as file:
            file.write(trial("collect", self.path("drawn.json"), self.folder))
        shown = trial("show", self.path("drawn.json"), self.path("measured"))
        self.assertRegex(shown, "regret of always global: median [1-9][0-9]{2}")
        self.assertRegex(shown, r"regret of always readonly: median 0\.\d%")
        self.assertIn("regret of the advice: median 0.0%, 95th percentile 0.0%", trial("show", "--modelled",
                                                                                      self.path("drawn.json")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
