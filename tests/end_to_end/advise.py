#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of cbank advise. Times are those of `cbank run --engine model`, which gets there on another way; what intervals and
"too close to call" have to be is worked out here from uncertainty.def; what a warp asks for, from indices that are written
by hand. CBANK names the program (default build/cbank)."""

import json
import math
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import unittest

import jsonschema

from common import ROOT, Scratch, read_json

sys.path.insert(0, os.path.join(ROOT, "tests/kernels"))
import loads  # noqa: E402

sys.path.insert(0, os.path.join(ROOT, "scripts"))
import l2_slices  # noqa: E402

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
PATHS = ("constant", "global", "readonly", "restrict", "global_l2", "texture", "shared", "shared_copies", "param")
ELEMENTS = 16384
SMALL = ("--elements", str(ELEMENTS))
TOLD = 0.05
PARTS = ("launch", "wave", "residency", "issue", "serialization", "misses", "stream")


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
    """{(unit,): error, frozenset of units: [(below, error)]}"""
    with open(os.path.join(ROOT, "harness/advise/uncertainty.def"), encoding="utf-8") as file:
        text = file.read()
    table = {(unit,): float(error) for unit, error in re.findall(r"^TIME_ERROR\((\w+), \d+, ([\d.]+)\)", text, re.M)}
    for one, other, below, error in re.findall(r"^RATIO_ERROR\((\w+), (\w+), ([\d.]+|INFINITY), \d+, ([\d.]+)\)", text, re.M):
        table.setdefault(frozenset((one, other)), []).append((float(below.replace("INFINITY", "inf")), float(error)))
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
        return {cell["path"]: cell["time_ns"]["value"] for cell in json.loads(done.stdout)["cells"]
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
                      ("256", "--source", "distinct", "--distinct", "2"),
                      ("16384", "--source", "uniform", "--loads", "1")):
            advice = self.advise("--table-bytes", *words, *SMALL)
            first = advice["ranking"][0]
            for place in advice["ranking"]:
                unit = units[place["path"]]
                factor = math.exp(errors[(unit,)])
                self.assertAlmostEqual(place["low"] * factor, place["time_ns"], delta=1e-6)
                self.assertAlmostEqual(place["high"], place["time_ns"] * factor, delta=1e-6)
                self.assertEqual(place["standing"] == "best", place is first)
                if place is first:
                    continue
                rows = errors[frozenset("SHARED" if name == "REGISTERS" else name for name in (unit, units[first["path"]]))]
                error = next((error for below, error in rows if place["apart"] < below), rows[-1][1])
                ratio, most = place["time_ns"] / first["time_ns"], math.exp(error)
                wanted = ("too close to call" if ratio / most < 1 - TOLD
                          else "as good" if ratio * most <= 1 + TOLD else "slower" if ratio / most > 1 else "no faster")
                self.assertEqual(place["standing"], wanted, place)
                standings.add(wanted)
            self.assertEqual(advice["alike"], [p["path"] for p in advice["ranking"] if p["standing"] == "as good"])
            self.assertEqual(advice["too_close"],
                             [p["path"] for p in advice["ranking"] if p["standing"] == "too close to call"])
        self.assertLessEqual({"as good", "no faster", "slower"}, standings)

    def test_apart_is_of_the_parts_of_both_times(self):
        """They are those that cbank explain prints of cells of the model engine."""
        words = ("--table-bytes", "4096", "--source", "uniform", *SMALL)
        advice = self.advise(*words, "--width", "4")
        done = cbank("run", "--engine", "model", "--quiet", "--counters", "none", "--json", self.path("modelled.json"),
                     "--workload", "lookup", "--path", "global,shared,constant", "--loads", "4", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        explained = json.loads(cbank("explain", "--json", self.path("modelled.json")).stdout)
        cells = {cell["path"]: cell["modelled"] for cell in explained["results"][0]["cells"]}
        places = {place["path"]: place for place in advice["ranking"]}
        self.assertEqual(places[advice["choice"]]["apart"], 0)
        self.assertIn(advice["choice"], cells)
        for path, cell in cells.items():
            apart = sum(abs(cell["parts_ns"][part] - cells[advice["choice"]]["parts_ns"][part]) for part in PARTS)
            self.assertAlmostEqual(places[path]["apart"], apart / cell["time_ns"], places=9)

    def test_without_crossovers_the_rest_is_as_with_them(self):
        words = ("--table-bytes", "4096", *SMALL)
        with_them, without = self.advise(*words), self.advise(*words, "--no-crossovers")
        self.assertTrue(with_them.pop("crossovers"))
        self.assertEqual(without.pop("crossovers"), [])
        self.assertEqual(with_them, without)

    def test_reasons_have_the_numbers_of_a_file(self):
        """Every warp reads 32 addresses of the first 128 bytes in one load, and one in the other."""
        path = self.path("indices.npy")
        write_npy(path, [[thread % 32 for thread in range(ELEMENTS)], [5] * ELEMENTS])
        advice = self.advise("--table-bytes", "1024", "--indices", path)
        places = {place["path"]: place for place in advice["ranking"]}
        self.assertIn("16.5 addresses a load", places["constant"]["reason"])
        self.assertRegex(places["global_l2"]["reason"], "of 2.5 sectors each|2.5 sectors a load")
        self.assertEqual((advice["configuration"]["elements"], advice["configuration"]["loads"]), (ELEMENTS, 2))
        self.assertEqual(advice["crossovers"], [])
        write_npy(path, [[0] * 100, [300] + [0] * 99])
        self.refused("--table-bytes", "1024", "--indices", path, saying=["index 300", "[1][0]", "256 entries"])
        self.refused("--table-bytes", "2048", "--indices", path, "--elements", "99",
                     saying=["indices of 100 threads, not of 99", "leave out --elements"])
        self.refused("--table-bytes", "2048", "--indices", path, "--loads", "3",
                     saying=["indices of 2 loads a thread, not of 3", "leave out --loads"])
        self.refused("--table-bytes", "2048", "--indices", path, "--run-threads", "4",
                     saying=["source file takes no --run-threads", "leave it out"])
        self.advise("--table-bytes", "2048", "--indices", path, "--loads", "2", "--elements", "100")

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

    def test_the_command_that_measures_is_of_the_file(self):
        for name in ("plain.npy", "it's $HOME.npy"):
            path = self.path(name)
            write_npy(path, [[0] * 64])
            words = shlex.split(self.advise("--table-bytes", "512", "--indices", path)["measure"])
            self.assertEqual(words[words.index("--indices") + 1], path)
            self.assertEqual(set(self.modelled(*words[2:])), set(words[words.index("--path") + 1].split(",")))

    def test_other_data_beside_the_table(self):
        """It makes no place quicker, however much it is, but for what lines of the constant cache do to each other, which
        depends on when warps come; and it is in the command that measures."""
        alone = self.advise("--table-bytes", "4096", *SMALL)
        for other_bytes in ("65536", "1048576"):
            beside = self.advise("--table-bytes", "4096", "--pressure-bytes", other_bytes, *SMALL)
            self.assertEqual({place["path"] for place in beside["ranking"]}, {place["path"] for place in alone["ranking"]})
            for place in beside["ranking"]:
                before, = [other["time_ns"] for other in alone["ranking"] if other["path"] == place["path"]]
                self.assertGreaterEqual(place["time_ns"], before * (0.97 if place["path"] == "constant" else 1))
            self.assertIn(f"--pressure-bytes {other_bytes}", beside["measure"])
            self.assertNotIn("shuffle", beside["measure"])
        self.refused("--table-bytes", "64", "--pressure-bytes", "4096", "--in-flight", "2", saying=["leave out --in-flight"])
        self.refused("--table-bytes", "64", "--pressure-bytes", "4096", "--pattern", "per_warp",
                     saying=["leave out --pattern"])
        self.refused("--table-bytes", "64", "--pressure-bytes", "5000", saying=["--pressure-bytes"])

    def test_small_tables(self):
        """32 entries of 4 bytes fit into a warp's registers, 33 do not."""
        held, large = self.advise("--table-bytes", "128", *SMALL), self.advise("--table-bytes", "132", *SMALL)
        self.assertIn("shuffle", {place["path"] for place in held["ranking"]})
        self.assertIn("shuffle", {place["path"] for place in large["excluded"]})

    def test_places_that_were_never_measured_are_no_advice(self):
        """Whatever is predicted of them. A measurement ranks them like the others: see simulated.py."""
        options = ("--table-bytes", "4096", "--pattern", "broadcast", "--elements", "131072")
        *others, operand = self.advise(*options)["ranking"]
        self.assertEqual((operand["path"], operand["error_known"]), ("constant_operand", False))
        self.assertEqual({place["error_known"] for place in others}, {True})
        self.assertEqual([place["time_ns"] for place in others], sorted(place["time_ns"] for place in others))
        self.assertLess(operand["time_ns"], max(place["time_ns"] for place in others))
        printed = " ".join(cbank("advise", *options).stdout.split())
        self.assertEqual(printed.count("how far the model is off there was never measured"), 1)

    def test_bad_input(self):
        self.refused(saying=["--table-bytes"])
        self.refused("--table-bytes", "134217744", saying=["no path can hold", "134217728 bytes: name a smaller"])
        self.refused("--table-bytes", "131072", "--pattern", "per_warp", saying=["no path can hold", "65536 bytes: name a smaller"])
        for words, reason in (
                (("64", "--loads", "1", "--in-flight", "2"), "of 1 loads there are not 2 in flight"),
                (("100000", "--loads", "1", "--in-flight", "2"), "of 1 loads there are not 2 in flight"),
                (("64", "--elements", "2147483648"), "lookup has 1073741824 indices at most"),
                (("64", "--source", "distinct", "--distinct", "17"), "the table has 16 entries"),
                (("96", "--pattern", "per_warp"), "the bytes of a pattern's table are a power of two")):
            with self.subTest(reason):
                done = cbank("advise", "--table-bytes", *words)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(f"no path can make these lookups: {reason}", done.stderr)
                self.assertNotIn("--table-bytes", done.stderr)
        self.refused("--table-bytes", "100", "--width", "8", saying=["whole number of entries", "multiple"])
        self.refused("--table-bytes", "96", "--width", "3", saying=["--width"])
        self.refused("--table-bytes", "64", "--source", "zipf", "--pattern", "per_warp", saying=["name one"])
        self.refused("--table-bytes", "64", "--card", self.path("none.json"), saying=["none.json"])
        self.refused("--table-bytes", "64", "--indices", self.path("none.npy"), saying=["none.npy"])
        for options, saying in ((("--source", "uniform", "--skew-percent", "200"), "source uniform takes no --skew-percent"),
                                (("--distinct", "8"), "source uniform takes no --distinct"),
                                (("--source", "zipf", "--stride-bytes", "4"), "source zipf takes no --stride-bytes"),
                                (("--pattern", "per_warp", "--loads", "8"), "pattern per_warp takes no --loads")):
            self.refused("--table-bytes", "64", *options, saying=[saying, "leave it out"])

    @unittest.skipIf(shutil.which("nvidia-smi"), "there may be a GPU")
    def test_measure_needs_a_gpu(self):
        done = cbank("advise", "--table-bytes", "64", *SMALL, "--measure")
        self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
        self.assertRegex(done.stderr, "--measure needs a GPU: .*; without --measure the card predicts")

    def test_a_trial_is_drawn_by_its_seed(self):
        def trial(*words):
            done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts/advise_trial.py"), *words,
                                   "--program", CBANK], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return done.stdout

        drawn = trial("draw", "--seed", "3", "--count", "3")
        self.assertEqual(drawn, trial("draw", "--seed", "3", "--count", "3"))
        self.assertNotEqual(drawn, trial("draw", "--seed", "4", "--count", "3"))
        contested = json.loads(trial("draw", "--seed", "3", "--count", "50", "--distribution", "contested"))["configurations"]
        self.assertEqual({configuration["loads"] for configuration in contested}, {32, 64})
        self.assertGreaterEqual(min(configuration["table-bytes"] for configuration in contested), 1024 - 16)
        configurations = json.loads(drawn)
        for configuration in configurations["configurations"]:
            configuration.update({"elements": ELEMENTS, "loads": 8})
            configuration.pop("pressure-bytes", None)  # beside much of it, nothing is predicted of `global`
        with open(self.path("drawn.json"), "w", encoding="utf-8") as file:
            json.dump(configurations, file)
        # What is measured here is four times as slow on `global` as predicted, and else as predicted.
        for number, configuration in enumerate(configurations["configurations"]):
            advice = self.advise(*[f"--{name}={value}" for name, value in configuration.items()])
            cells = [{"path": place["path"], "status": "ok", "verified": True, "flags": [], "identity": "a",
                      "placements": 2,
                      "time_ns": {"value": place["time_ns"] * (4 if place["path"] == "global" else 1), "ci_low": 1,
                                  "ci_high": 1, "samples": [3, 4, 5, 6, 7]}} for place in advice["ranking"]]
            with open(self.path(f"{number}.json"), "w", encoding="utf-8") as file:
                json.dump({"tool": {}, "device": {"uuid": "GPU-1"}, "cells": cells}, file)
        with open(self.path("measured"), "w", encoding="utf-8") as file:
            file.write(trial("collect", self.path("drawn.json"), self.folder))
        with open(self.path("measured"), encoding="utf-8") as file:
            for row in json.load(file)["measured"].values():
                self.assertEqual({path: time.get("by_place") for path, time in row["places"].items()},
                                 {path: [5, 5] if path == "global_l2" else None for path in row["places"]})
        shown = trial("show", self.path("drawn.json"), self.path("measured"))
        self.assertRegex(shown, "regret of always global: median [1-9][0-9]{2}")
        with open(self.path("three.txt"), "w", encoding="utf-8") as file:
            file.write(shown)
        fixed = re.search(r"regret of always (\w+): median \S+%, 95th percentile (\S+%)", shown)
        self.assertRegex(trial("table", self.path("three.txt")).splitlines()[-1],
                         r"^\| three \| 3 \| \S+% \| 0\.0% \| 0\.0% \| " + r" \| ".join(fixed.groups()) + r" \| \d \| \d \| 100\.0% \|$")
        self.assertIn("regret of the advice: median 0.0%, 95th percentile 0.0%", trial("show", "--modelled",
                                                                                      self.path("drawn.json")))

    def test_times_of_trials_of_any_age(self):
        for kept, time in (({"value": 4, "by_place": [1, 3]}, 4), ({"median": 5}, 5), ({"median": 5, "by_place": [1, 3]}, 2)):
            self.assertEqual(l2_slices.time_of(kept), time)


class Kernel(Scratch):
    """What advice says of cubins: those of the corpus, and some that are damaged."""

    ADVISE = ("advise", "--table-bytes", "64", *SMALL)
    CORPUS = os.path.join(ROOT, "tests/corpus/cubin")
    SYMBOL = "_Z6lookupPKiPfi"

    @classmethod
    def file(cls, architecture):
        return os.path.join(cls.CORPUS, f"lookup_sm_{architecture}.cubin")

    def advise(self, path, *words):
        done = cbank(*self.ADVISE, "--kernel", path, "--json", "-", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        advice = json.loads(done.stdout)
        jsonschema.validate(advice, read_json(os.path.join(ROOT, "results/advice.schema.json")))
        return advice

    def refused(self, data, saying, status=2, words=()):
        path = self.path("user.cubin")
        with open(path, "wb") as file:
            file.write(data)
        done = cbank(*self.ADVISE, "--kernel", path, *words)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        for word in (path, *saying):
            self.assertIn(word, done.stderr)

    def test_loads_of_a_table_in_constant_memory(self):
        for architecture in (50, 70, 90):
            advice = self.advise(self.file(architecture))
            code = advice["code"]
            self.assertEqual((code["file"], code["architecture"]), (self.file(architecture), architecture))
            kernel, = code["kernels"]
            self.assertEqual(kernel["name"], self.SYMBOL)
            rows = {row["load"]: row for row in kernel["loads"]}
            for load, place in (("LDC c[3][register]", "constant"), ("LDG", "global")):
                found, = [other for other in advice["ranking"] if other["path"] == place]
                row = rows[load]
                self.assertEqual((row["count"], row["in_loops"], row["place"], row["width_bytes"]),
                                 (1, None if architecture < 70 else 1, place, 4))
                self.assertEqual((row["standing"], row["relative"]), (found["standing"], found["relative"]))
            self.assertEqual(kernel["standing"], rows["LDC c[3][register]"]["standing"])

    def test_the_verdict_follows_the_advice(self):
        """16 entries at random are too many addresses for the constant cache, one entry is not."""
        for words, verdict in ((("--source", "uniform", "--loads", "64"), "not as advised"), (("--source", "lockstep"), "")):
            advice = self.advise(self.file(90), *words)
            kernel, = advice["code"]["kernels"]
            constant, = [place for place in advice["ranking"] if place["path"] == "constant"]
            wanted = {"best": "as advised", "as good": "as good as advised", "no faster": "no faster than advised",
                      "too close to call": "too close to call",
                      "slower": "not as advised"}[constant["standing"]]
            self.assertTrue(kernel["verdict"].startswith(wanted), kernel["verdict"])
            self.assertIn(verdict, kernel["verdict"])
            self.assertEqual("write:" in kernel["verdict"], constant["standing"] == "slower")
        self.assertIsNone(json.loads(cbank(*self.ADVISE, "--json", "-").stdout)["code"])

    def test_text(self):
        done = cbank(*self.ADVISE, "--kernel", self.file(70))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for words in (f"kernel {self.SYMBOL}", r"LDC c\[3\]\[register\] +1 +1 +constant", "verdict: ", "H200 does not run it",
                      "-arch=sm_90"):
            self.assertRegex(done.stdout, words)
        self.assertNotIn("does not run it", cbank(*self.ADVISE, "--kernel", self.file(90)).stdout)

    def test_functions(self):
        for name in (self.SYMBOL, "lookup"):
            self.assertEqual(len(self.advise(self.file(90), "--function", name)["code"]["kernels"]), 1)
        with open(self.file(90), "rb") as file:
            data = file.read()
        for name in ("other", "look", "_Z6lookup"):
            self.refused(data, ["no kernel is called", self.SYMBOL], words=("--function", name))
        done = cbank(*self.ADVISE, "--function", "lookup")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--kernel FILE", done.stderr)

    def test_what_is_no_cubin(self):
        with open(self.file(90), "rb") as file:
            data = file.read()
        with open(CBANK, "rb") as file:
            program = file.read(4096)
        for bad, saying in ((b"", ["no ELF file"]), (b"LDC R1, c[0x3][R2]\n" * 9, ["no ELF file"]), (program, ["another machine", "cuobjdump"]),
                            (b".version 9.0\n.target sm_90\n", ["PTX", "ptxas"]), (b"//\n// Generated by NVIDIA\n", ["ptxas"]),
                            (struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 64) + data, ["fatbin", "cuobjdump"]),
                            (b"!<arch>\n", ["archive", "cuobjdump"]), (data[:4] + b"\x01" + data[5:], ["32 bits"]),
                            (data[:40], ["cut off"])):
            self.refused(bad, saying)
        done = cbank(*self.ADVISE, "--kernel", self.path("none.cubin"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("none.cubin", done.stderr)

    def test_architectures_that_cannot_be_read(self):
        with open(self.file(90), "rb") as file:
            data = bytearray(file.read())
        flags, = struct.unpack_from("<I", data, 48)
        for architecture in (0, 30, 38, 49, 63, 122, 255):
            struct.pack_into("<I", data, 48, flags & ~0xFF00 | architecture << 8)
            self.refused(bytes(data), [f"sm_{architecture}", "sm_35 to sm_121", "nvdisasm"], status=3)

    def test_kernels_that_share_their_code(self):
        """Every symbol a kernel of the whole file: no time is lost on reading it again for each."""
        with open(self.file(90), "rb") as file:
            data = bytearray(file.read())
        sections, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
        headers = [(sections + 64 * i, *struct.unpack_from("<IIQQQQI", data, sections + 64 * i)) for i in range(count)]
        text, = [i for i, header in enumerate(headers) if header[2] == 1 and header[3] & 4]  # code
        struct.pack_into("<QQ", data, headers[text][0] + 24, 0, len(data))
        table, = [header for header in headers if header[2] == 2]  # symbols
        for at in range(table[5], table[5] + table[6], 24):
            struct.pack_into("<BBH", data, at + 4, 0x12, 0x10, text)
        self.refused(bytes(data), ["damaged", "larger than the file"])

    def test_truncated_and_damaged_files(self):
        """Every length, and every byte changed: what is read says so, what is not is refused, and nothing crashes."""
        with open(self.file(70), "rb") as file:
            data = file.read()
        path, statuses = self.path("user.cubin"), set()
        places = list(range(0, len(data), 61)) + list(range(64))
        for bad in [data[:length] for length in places] + [data[:at] + b"\xff" * 8 + data[at + 8:] for at in places]:
            with open(path, "wb") as file:
                file.write(bad)
            done = cbank("advise", "--table-bytes", "64", "--elements", "64", "--kernel", path)
            self.assertIn(done.returncode, (0, 2, 3), done.stderr)
            self.assertEqual(done.stderr.count("\n"), done.returncode != 0, done.stderr)
            statuses.add(done.returncode)
        self.assertEqual(statuses, {0, 2, 3})

    def test_kernels_that_a_compiler_makes(self):
        """tests/kernels/loads.cu: each kernel has the load that its name says, as the newest toolkit here makes it."""
        toolkit = os.environ.get("CBANK_CUDA") or "/usr/local/cuda"
        nvcc = shutil.which("nvcc", path=os.pathsep.join([f"{toolkit}/bin", os.environ["PATH"]]))
        if not nvcc:
            self.skipTest("no nvcc")
        path = self.path("user.cubin")
        subprocess.run([nvcc, "-cubin", "-arch=sm_90", "-o", path, os.path.join(ROOT, "tests/kernels/loads.cu")],
                       check=True, capture_output=True)
        code = self.advise(path)["code"]
        counts = loads.said(code)
        self.assertEqual(set(counts), set(loads.OF_KERNEL))
        for name, wanted in loads.OF_KERNEL.items():
            self.assertTrue(wanted & {load for load, _ in counts[name]}, (name, counts[name]))
        kernels = {kernel["name"]: kernel for kernel in code["kernels"]}
        looped = {name: {row["load"]: (row["count"], row["in_loops"]) for row in kernel["loads"]}
                  for name, kernel in kernels.items()}
        self.assertEqual(looped["constant_loop"]["LDC c[3][register]"], (2, 1))
        self.assertEqual(looped["constant_called"]["LDC c[3][register]"], (1, 1))
        self.assertEqual(looped["local"]["LDL"], (1, 1))
        self.assertEqual(looped["constant_register"]["LDC c[3][register]"], (1, 0))
        self.assertIsNone(looped["switched"]["LDC c[3][register]"][1])
        self.assertEqual([name for name, kernel in kernels.items() if kernel["calls_out"]], ["pointer"])
        self.assertIn("LDL may be of a table", kernels["local"]["verdict"])
        self.assertIn("nothing is serialized", kernels["constant_number"]["verdict"])


if __name__ == "__main__":
    unittest.main()
