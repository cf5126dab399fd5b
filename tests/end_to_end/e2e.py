#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""End-to-end tests of the built program on the model engine. CBANK names the program (default
build/cbank)."""

import copy
import csv
import functools
import glob
import json
import math
import os
import re
import subprocess
import time
import unittest

import jsonschema

from common import ROOT, Scratch, read_bytes, read_json

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))

# CUPTI opens its own libraries with RTLD_DEEPBIND, which AddressSanitizer refuses, and leaks a
# little: what loads it is left out where the sanitized program has a CUDA engine.
SANITIZED = "asan" in CBANK

# A plan of one small cell, for tests that only need some result.
ONE_CELL = [
    "--engine",
    "model",
    "--pattern",
    "per_warp",
    "--path",
    "constant",
    "--elements",
    "4096",
]
# A plan that takes a while on any machine: every size is walked anew.
LONG_PLAN = [
    "--engine",
    "model",
    "--pattern",
    "hashed",
    "--elements",
    ",".join(str(12800000 + i) for i in range(40)),
]


def cbank(*arguments, cwd=None, **environment):
    """Runs the program; returns the finished process with its text."""
    clean = {
        key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "CLICOLOR_FORCE")
    }
    return subprocess.run(
        [CBANK, *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=300,
        check=False,
        env={**clean, **environment},
    )


def write_text(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


@functools.lru_cache
def rows(table):
    """The rows of a table of the program, by `cbank list`."""
    return json.loads(cbank("list", table, "--json").stdout)


def names(table):
    return [row["name"] for row in rows(table)]


def default_plan():
    """(paths, patterns, elements) of a run without options."""
    add = next(row for row in rows("workloads") if row["name"] == "add")
    return ["constant", "global", "readonly"], add["patterns"], add["elements"]


def has_gpu():
    return any(device["engine"] == "cuda" for device in rows("devices"))


def loads_vendor_libraries_under_a_sanitizer():
    return SANITIZED and json.loads(cbank("list", "images", "--json").stdout)


def validator():
    return jsonschema.Draft202012Validator(read_json(os.path.join(ROOT, "results/schema.json")))


def identity(cell):
    return tuple(
        cell[key]
        for key in ("workload", "path", "pattern", "elements", "block_size", "cache_state")
    )


class Case(Scratch):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.file = self.path("result.json")

    def check(self, done, status, *stderr_words):
        """The process ended with this status, and its messages hold these words."""
        self.assertEqual(done.returncode, status, done.stderr + done.stdout)
        for word in stderr_words:
            self.assertIn(word, done.stderr)
        if status == 2:
            self.assertTrue(done.stderr.strip(), "a usage error without a message")
        return done

    def usage_error(self, *arguments, words=()):
        """Exit 2, the words said, nothing on stdout and no file left in the folder where it ran."""
        before = sorted(os.listdir(self.folder))
        done = self.check(cbank(*arguments, cwd=self.folder), 2, *words)
        self.assertEqual(done.stdout, "")
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        return done

    def run_plan(self, *arguments, status=0):
        """A run of the model engine; its result."""
        self.check(cbank("run", *arguments, "--json", self.file, cwd=self.folder), status)
        result = read_json(self.file)
        validator().validate(result)
        return result


class Smoke(Case):
    """Everything that must work in every build, even without a toolkit."""

    def test_the_default_plan_is_modelled_in_seconds(self):
        started = time.monotonic()
        done = self.check(cbank("run", "--engine", "model", "--json", self.file), 0)
        seconds = time.monotonic() - started
        result = read_json(self.file)
        validator().validate(result)
        self.assertEqual(
            (result["engine"], result["complete"], len(result["cells"])), ("model", True, 24)
        )
        paths, patterns, sizes = default_plan()
        self.assertEqual(
            {identity(cell) for cell in result["cells"]},
            {
                ("add", path, pattern, elements, 1024, "hot")
                for path in paths
                for pattern in patterns
                for elements in sizes
            },
        )
        for cell in result["cells"]:
            self.assertEqual((cell["status"], cell["array_bytes"]), ("ok", 65536))
            self.assertGreater(cell["time_ns"]["value"], 0)
        for name in paths + patterns + ["model"]:
            self.assertIn(name, done.stdout)
        found = {
            part
            for row in rows("images")
            for part in row["name"].split(".")
            if part.startswith(("sm_", "compute_"))
        }
        self.assertEqual(sorted(result["tool"]["architectures"]), sorted(found))
        if not SANITIZED:
            self.assertLess(seconds, 10, "the default plan on the model engine takes too long")

    def test_show_prints_the_table_of_the_run(self):
        ran = self.check(cbank("run", *ONE_CELL, "--json", self.file), 0)
        shown = self.check(cbank("show", self.file), 0)
        self.assertEqual(
            shown.stdout,
            "".join(
                line for line in ran.stdout.splitlines(True) if not line.startswith("result: ")
            ),
        )

    def test_doctor(self):
        if loads_vendor_libraries_under_a_sanitizer():
            self.skipTest("CUPTI cannot be loaded under a sanitizer")
        done = cbank("doctor")
        self.assertIn(done.returncode, (0, 3), done.stderr)
        self.assertTrue(done.stdout.strip())
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
        machine = cbank("doctor", "--json")
        self.assertEqual(machine.returncode, done.returncode)
        found = json.loads(machine.stdout)
        self.assertEqual(found["tool"]["name"], "cbank")
        self.assertEqual(
            done.returncode == 3, "problem" in [row["finding"] for row in found["findings"]]
        )
        words = " ".join(done.stdout.split())
        for row in found["findings"]:
            self.assertEqual(list(row), ["finding", "subject", "detail", "remedy"])
            self.assertIn(row["detail"], words)
            self.assertIn(row["remedy"] or "", words)
        self.assertEqual(
            [row["subject"] for row in found["findings"]].count("kernels"), len(found["devices"])
        )

    def test_help_and_version(self):
        with open(os.path.join(ROOT, "VERSION"), encoding="utf-8") as file:
            self.assertIn(file.read().strip(), self.check(cbank("--version"), 0).stdout)
        said = self.check(cbank("--help"), 0).stdout
        self.assertRegex(said, r"Exit codes: (.|\n)*\b4 inconclusive\.\n")
        self.assertLessEqual(max(map(len, said.splitlines())), 80)
        for command in ("run", "show", "list", "doctor", "compare"):
            said = self.check(cbank(command, "--help"), 0).stdout
            self.assertIn(command, said)
            self.assertIn(
                "or a cell that regressed, is missing or is invalid.", " ".join(said.split())
            )


class Shown(Case):
    """Results that are printed as tests/golden/ has it: CBANK_UPDATE_GOLDEN=1 writes that anew."""

    def test_tables_are_the_golden_ones_and_no_wider_than_the_terminal(self):
        for name in ("measured", "troubled", "modelled", "paths", "kernel"):
            for width in (80, 160):
                said = self.check(
                    cbank(
                        "show",
                        os.path.join(ROOT, f"tests/data/show/{name}.json"),
                        COLUMNS=str(width),
                    ),
                    0,
                ).stdout
                self.assertLessEqual(max(map(len, said.splitlines())), width)
                golden = os.path.join(ROOT, f"tests/golden/show_{name}_{width}.txt")
                if os.environ.get("CBANK_UPDATE_GOLDEN"):
                    write_text(golden, said)
                self.assertEqual(said.encode(), read_bytes(golden), golden)

    def test_at_80_columns_the_ratio_stays_and_intervals_that_are_alike_go_first(self):
        core, lookup = (
            os.path.join(ROOT, f"results/h200/{name}.json") for name in ("core-matrix", "all-paths")
        )
        widths = [
            cell["time_ns"]["ci_high"] / cell["time_ns"]["value"] - 1
            for cell in read_json(core)["cells"]
        ]
        said = cbank("show", core, COLUMNS="80").stdout
        self.assertEqual(re.findall("time +95% CI", said), [])
        self.assertEqual(said.count("ratio |"), 4)
        self.assertIn(f"\n95% CI: within ±{100 * max(widths):.2f}%. ratio: ", said)
        self.assertIn(
            "time  95% CI  ratio  its CI   req    GB/s |",
            cbank("show", core, COLUMNS="170").stdout,
        )
        # A cell there has an interval of more than 0.5 %: all of them stay.
        self.assertIn("time  95% CI  ratio |", cbank("show", lookup, COLUMNS="80").stdout)

    def test_a_comparison_says_which_times_are_modelled(self):
        words = "modelled: its times are predictions"
        self.run_plan("--engine", "model", "--path", "constant,global")
        said = cbank("compare", self.file, self.file, "--markdown", "-", COLUMNS="200")
        self.assertRegex(said.stdout, rf"(?m)^- BASE: .*engine model, .*; {words}$")
        self.assertRegex(said.stdout, rf"(?m)^- NEW: .*engine model, .*; {words}$")
        measured = os.path.join(ROOT, "results/h200/core-matrix.json")
        said = self.check(cbank("compare", measured, measured, COLUMNS="200"), 0)
        self.assertIn("engine cuda", said.stdout)
        self.assertNotIn("modelled", said.stdout)

    def test_a_ratio_compares_tables_of_one_size(self):
        """Lines and ratios of all paths, whose tables have six sizes: each ratio as computed
        here, each table of one size."""
        file = os.path.join(ROOT, "results/h200/all-paths.json")
        cells = list(
            csv.DictReader(self.check(cbank("show", "--csv", file), 0).stdout.splitlines())
        )
        loadless = {path["name"] for path in rows("paths") if not path["loads"]}
        best = {}
        for row in cells:
            self.assertTrue(row["table_bytes"] and row["width_bytes"])
            row["line"] = tuple(
                row[key]
                for key in (
                    "workload",
                    "pattern",
                    "elements",
                    "block_size",
                    "cache_state",
                    "parameters",
                    "table_bytes",
                )
            )
            if row["time_ns"] and row["path"] not in loadless:
                best[row["line"]] = min(float(row["time_ns"]), best.get(row["line"], math.inf))
        timed = [row for row in cells if row["time_ns"] and row["line"] in best]
        self.assertEqual(
            {int(row["table_bytes"]) for row in timed}, {65536, 16384, 2048, 128, 64, 16}
        )
        for row in timed:
            self.assertAlmostEqual(
                float(row["ratio"]), float(row["time_ns"]) / best[row["line"]], 12
            )
        sizes = {
            path: {int(row["table_bytes"]) for row in timed if row["path"] == path}
            for path in {row["path"] for row in timed}
        }
        for table in re.split(r"\n\n(?=\S)", cbank("show", file, COLUMNS="300").stdout)[1:-1]:
            size, unit = re.search(r"table of (\d+) (KB|bytes)", table).groups()
            shown = set(re.findall(r"\w+", table)) & set(sizes)
            self.assertTrue(shown)
            for path in shown:
                self.assertEqual(sizes[path], {int(size) * (1024 if unit == "KB" else 1)}, table)

    def test_the_order_of_cells_does_not_matter(self):
        result = read_json(os.path.join(ROOT, "tests/data/show/measured.json"))
        result["cells"].reverse()
        said = self.check(
            cbank("show", self.write("reversed.json", result), COLUMNS="160"), 0
        ).stdout
        self.assertEqual(
            said.encode(), read_bytes(os.path.join(ROOT, "tests/golden/show_measured_160.txt"))
        )

    def test_the_fastest_path_of_each_row_stands_out(self):
        said = cbank(
            "show",
            os.path.join(ROOT, "tests/data/show/measured.json"),
            "--color",
            "always",
            COLUMNS="160",
        ).stdout
        self.assertEqual(said.count("\033[1m"), 8)
        self.assertIn("per_block     | \033[1m25.31 us\033[m  ±0.12%  1.00x       -  32.0 ", said)

    def test_a_result_without_cells(self):
        result = {
            **read_json(os.path.join(ROOT, "tests/data/show/troubled.json")),
            "cells": [],
            "counters_reason": "no libcupti",
        }
        said = cbank("show", self.write("empty.json", result)).stdout
        for words in ("cells: 0 of 0 ok", "counters were not read: no libcupti", "incomplete"):
            self.assertIn(words, said)


class Run(Case):
    def test_the_plan_is_every_combination_in_order_and_each_once(self):
        """Numbers may have a scale, and options may be shortened."""
        result = self.run_plan(
            "--engine",
            "model",
            "--patt",
            "per_thread,per_warp,per_warp",
            "--path",
            "readonly,constant",
            "--elem",
            "1k,31,31,64Ki,12.8M",
            "--block-size",
            "32,96",
            "--cache-state",
            "hot,cold",
        )
        self.assertEqual(
            [identity(cell) for cell in result["cells"]],
            [
                ("add", path, pattern, elements, block_size, cache_state)
                for elements in (1000, 31, 65536, 12800000)
                for block_size in (32, 96)
                for cache_state in ("hot", "cold")
                for pattern in ("per_thread", "per_warp")
                for path in ("readonly", "constant")
            ],
        )

    def test_sizes_have_the_forms_that_people_type(self):
        """Elements and bytes alike; each value by hand."""
        for typed, value in {
            "3K": 3072,
            "3k": 3000,
            "64KB": 65536,
            "64KiB": 65536,
            "64Ki": 65536,
            "0x400": 1024,
            "0xAb": 171,
            "12.8M": 12800000,
            "1MB": 1048576,
            "1MiB": 1048576,
            "0.5K": 512,
            "1.5KB": 1536,
            "96B": 96,
            "3GB": 3221225472,
            "0.002G": 2000000,
        }.items():
            with self.subTest(typed):
                result = self.run_plan(
                    "--engine",
                    "model",
                    "--path",
                    "shared_fill_only",
                    "--pattern",
                    "per_block",
                    "--elements",
                    typed,
                )
                self.assertEqual([cell["elements"] for cell in result["cells"]], [value])
        result = self.run_plan(
            "--engine",
            "model",
            "--workload",
            "lookup",
            "--path",
            "global",
            "--elements",
            "4K",
            "--source",
            "random",
            "--table-bytes",
            "3KB,0x1000,8Ki",
            "--width-bytes",
            "16",
        )
        self.assertEqual([cell["table_bytes"] for cell in result["cells"]], [3072, 4096, 8192])
        for typed in (
            "3kb",
            "64KiBs",
            "0x",
            "0x4g",
            "0x1.8",
            "K",
            "1.K",
            ".5K",
            "1.0001K",
            "0x20000000000000",
        ):
            self.usage_error(
                "run", "--engine", "model", "--elements", typed, words=["--elements", typed]
            )

    def test_parameters_are_axes(self):
        result = self.run_plan(
            "--engine",
            "model",
            "--pattern",
            "per_warp,distinct",
            "--path",
            "constant,global",
            "--elements",
            "4096",
            "--distinct",
            "8,2",
            "--stride-bytes",
            "64,4",
        )
        self.assertEqual(
            [cell["parameters"] for cell in result["cells"] if cell["path"] == "global"],
            [{}]
            + [
                {"distinct": distinct, "stride_bytes": stride}
                for distinct in (8, 2)
                for stride in (64, 4)
            ],
        )
        for cell in result["cells"]:
            if cell["pattern"] == "distinct":
                distinct, stride = (
                    cell["parameters"]["distinct"],
                    cell["parameters"]["stride_bytes"],
                )
                sectors = distinct if stride == 64 else 1  # 8 neighbours are 32 bytes: one sector
                self.assertEqual(
                    cell["counts"]["requests_per_load"],
                    distinct if cell["path"] == "constant" else sectors,
                )

    def test_each_workload_has_its_own_plan(self):
        """Axes that the command line does not name are the workload's own; of lookups, the
        source takes parameters, too."""
        result = self.run_plan(
            "--engine", "model", "--workload", "all", "--path", "constant", "--elements", "4096"
        )
        fallbacks = {row["name"]: row["plan_values"] for row in rows("parameters")}
        self.assertEqual(
            list(dict.fromkeys(cell["workload"] for cell in result["cells"])), names("workloads")
        )
        for row in rows("workloads"):
            cells = [cell for cell in result["cells"] if cell["workload"] == row["name"]]
            # the model has no launch paths
            self.assertEqual(
                {cell["status"] for cell in cells},
                {"skipped" if row["name"] == "launch_overhead" else "ok"},
            )
            self.assertEqual(
                [
                    list(dict.fromkeys(cell[key] for cell in cells))
                    for key in ("pattern", "block_size")
                ],
                [row["patterns"], row["block_sizes"]],
            )
            for cell in cells:
                for name, value in cell["parameters"].items():
                    self.assertIn(value, fallbacks[name])
                    self.assertTrue(
                        name in row["parameters"]
                        or row["index"] == "loaded"
                        or row["name"] == "launch_overhead",
                        name,
                    )

    def test_cells_that_cannot_be_are_skipped_with_a_reason(self):
        done = self.check(
            cbank(
                "run",
                "--engine",
                "model",
                "--path",
                "all",
                "--workload",
                "add,conv_3d",
                "--pattern",
                "per_block,lockstep",
                "--radius",
                "3,4",
                "--elements",
                "4096",
                "--json",
                self.file,
            ),
            0,
        )
        result = read_json(self.file)
        validator().validate(result)
        reasons = {}
        for cell in result["cells"]:
            self.assertIn(cell["status"], ("ok", "skipped"))
            if cell["status"] == "ok":  # its time is short: no interval was shown to hold
                self.assertIn("no interval was shown to hold for", cell["reason"])
            else:
                reasons.setdefault(cell["reason"], []).append(cell)
                self.assertIsNone(cell["time_ns"]["value"])
        self.assertEqual(
            sorted((reason, len(cells)) for reason, cells in reasons.items()),
            [
                ("constant_operand needs an index that is known when the kernel is compiled", 1),
                ("conv_3d has a radius of 3 at most", len(rows("paths"))),
                (
                    "conv_3d reads another element at every step, which the pattern does not",
                    2 * len(rows("paths")),
                ),
                ("param_large is for workloads whose indices are data", 3),
                ("prmt is for workloads whose indices are data", 3),
                ("select_16 is for workloads whose indices are data", 3),
                ("select_4 is for workloads whose indices are data", 3),
                ("shared_copies is for workloads whose indices are data", 3),
                ("shuffle is for workloads whose indices are data", 3),
            ],
        )
        printed = " ".join(done.stdout.split())
        for reason in reasons:
            self.assertIn(reason, printed)
        skipped = sum(len(cells) for cells in reasons.values())
        self.assertIn(f"{skipped} skipped", done.stdout)
        self.assertEqual(done.stdout, cbank("show", self.file).stdout + f"result: {self.file}\n")

    def test_a_run_that_could_measure_nothing_is_no_success(self):
        """Also when it is resumed, and as a process of calibrate and of gate."""
        plan = ("--engine", "model", "--path", "constant_operand")
        done = self.check(cbank("run", *plan, "--json", self.file), 3)
        self.assertIn("0 of 8 ok, 8 skipped", done.stdout)
        self.assertIn("nothing was measured: every cell was skipped, the first is", done.stderr)
        self.assertIs(read_json(self.file)["complete"], True)
        self.check(cbank("run", "--resume", self.file), 3)
        self.check(cbank("run", *plan, "--quiet", "--json", "-"), 3)
        self.check(cbank("run", *plan[:3], "constant_operand,constant", "--json", self.file), 0)
        calibration = os.path.join(os.path.dirname(self.file), "calibration.json")
        self.check(cbank("calibrate", *plan, "--json", calibration), 3)
        self.assertFalse(os.path.exists(calibration))
        self.check(cbank("gate", *plan, "--base-program", CBANK), 3)

    def test_tables_of_everything_fit(self):
        done = self.check(
            cbank(
                "run",
                "--engine",
                "model",
                "--workload",
                "all",
                "--path",
                "all",
                "--pattern",
                "all",
                "--elements",
                "2048",
                "--json",
                self.file,
            ),
            0,
        )
        for name in names("paths") + names("patterns") + names("workloads"):
            self.assertIn(name, done.stdout)
        tables = [line for line in done.stdout.splitlines() if " | " in line]
        self.assertGreater(len(tables), 100)
        self.assertLessEqual(max(map(len, tables)), 120)
        for line in tables:
            self.assertNotIn("nan", line)

    def test_counters_by_name(self):
        result = self.run_plan(*ONE_CELL, "--counters", "idc_requests,sm__cycles_active.sum")
        self.assertEqual(
            list(result["cells"][0]["counters"]), ["idc_requests", "sm__cycles_active.sum"]
        )
        for cells, plan in ((1, [*ONE_CELL, "--counters", "none"]), (5, ["--quick"])):
            result = self.run_plan(*plan)
            self.assertEqual([cell["counters"] for cell in result["cells"]], [{}] * cells)

    def test_json_goes_to_stdout_to_a_folder_and_over_a_file(self):
        done = self.check(cbank("run", *ONE_CELL, "--json", "-", cwd=self.folder), 0)
        validator().validate(json.loads(done.stdout))
        self.assertEqual(os.listdir(self.folder), [])
        self.check(cbank("run", *ONE_CELL, "--json", "new/", cwd=self.folder), 0)
        (name,) = os.listdir(os.path.join(self.folder, "new"))
        self.assertTrue(name.endswith(".json"))
        self.check(cbank("run", *ONE_CELL, cwd=self.folder), 0)
        self.assertEqual(len(os.listdir(self.folder)), 2)
        write_text(self.file, "x" * 1000000)
        self.assertEqual(len(self.run_plan(*ONE_CELL)["cells"]), 1)
        self.assertEqual(len(os.listdir(self.folder)), 3)

    def test_a_seed_gives_the_same_result_and_is_recorded(self):
        first, second = (self.run_plan(*ONE_CELL, "--seed", "7") for _ in range(2))
        self.assertEqual((first["seed"], first["cells"]), (second["seed"], second["cells"]))
        self.assertIn("per_warp", json.dumps(first["tool"]["argv"]))
        self.assertEqual(
            int(self.run_plan(*ONE_CELL, "--seed", str(2**64 - 1))["seed"]), 2**64 - 1
        )

    def test_quiet_prints_nothing_and_no_pipe_gets_a_progress_line(self):
        done = self.check(cbank("run", *ONE_CELL, "--quiet", "--json", self.file), 0)
        self.assertEqual(done.stdout + done.stderr, "")
        self.assertNotIn("\r", self.check(cbank("run", *ONE_CELL, "--json", self.file), 0).stderr)

    def test_planted_fault_is_a_finding(self):
        done = self.check(cbank("run", *ONE_CELL, "--fault", "counter", "--json", self.file), 1)
        self.assertIn("counter_differs", json.dumps(read_json(self.file)["cells"][0]["flags"]))
        self.assertIn("expected", done.stdout + done.stderr)

    def test_color_is_for_terminals_that_want_it(self):
        # long enough for a modelled time, which is bold
        self.check(cbank("run", *ONE_CELL, "--elements", "12800000", "--json", self.file), 0)
        for colored, text in (
            (False, cbank("show", self.file).stdout),
            (True, cbank("show", "--color", "always", self.file).stdout),
            (True, self.on_terminal("show", self.file)),
            (False, self.on_terminal("show", "--color", "never", self.file)),
            (False, self.on_terminal("show", self.file, NO_COLOR="1")),
            (False, self.on_terminal("show", self.file, TERM="dumb")),
        ):
            self.assertEqual("\033" in text, colored)

    def on_terminal(self, *arguments, **environment):
        """The output of the program if stdout is a terminal."""
        master, slave = os.openpty()
        clean = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        with subprocess.Popen(
            [CBANK, *arguments],
            stdout=slave,
            stderr=subprocess.DEVNULL,
            env={**clean, "TERM": "xterm", **environment},
        ) as process:
            os.close(slave)
            text = b""
            try:
                while block := os.read(master, 65536):
                    text += block
            except OSError:  # the terminal's other end is closed
                pass
            process.wait()
        os.close(master)
        return text.decode()


class Resumed(Case):
    def partial(self):
        """A result in which the second half of the cells is still to be measured, and the
        complete one."""
        complete = self.run_plan("--engine", "model", "--elements", "2048", "--seed", "5")
        partial = copy.deepcopy(complete)
        partial["complete"] = False
        partial["finished_utc"] = None
        for cell in partial["cells"][6:]:
            cell["status"] = "pending"
        return partial, complete

    def test_resume_measures_only_what_is_missing(self):
        partial, complete = self.partial()
        # A time that no model predicts: it stays, so this cell was not measured again.
        partial["cells"][0]["time_ns"]["value"] = 123456789.0
        write_text(self.file, json.dumps(partial))
        self.check(cbank("run", "--resume", self.file), 0)
        resumed = read_json(self.file)
        validator().validate(resumed)
        self.assertIs(resumed["complete"], True)
        self.assertEqual(resumed["seed"], complete["seed"])
        self.assertEqual(resumed["started_utc"], complete["started_utc"])
        self.assertEqual(resumed["cells"][0]["time_ns"]["value"], 123456789.0)
        self.assertEqual(resumed["cells"][1:], complete["cells"][1:])

    def test_resume_into_another_file(self):
        partial, complete = self.partial()
        write_text(self.file, json.dumps(partial))
        other = os.path.join(self.folder, "other.json")
        self.check(cbank("run", "--resume", self.file, "--json", other), 0)
        self.assertEqual(read_json(self.file), partial)
        self.assertEqual(read_json(other)["cells"], complete["cells"])

    def test_resume_of_a_complete_result_changes_no_cell_and_takes_no_plan(self):
        complete = self.run_plan(*ONE_CELL)
        self.check(cbank("run", "--resume", self.file), 0)
        self.assertEqual(read_json(self.file)["cells"], complete["cells"])
        self.usage_error("run", "--resume", self.file, "--elements", "64", words=["--resume"])


class BadInput(Case):
    def test_no_command(self):
        self.assertEqual(cbank().returncode, 2)

    def test_unknown_names(self):
        for arguments, unknown, valid in [
            (["runn"], "command 'runn'", "doctor"),
            (["run", "--patern", "per_warp"], "option 'patern'", "block-size"),
            (
                ["run", "--pattern", "per_warp,per_thred"],
                "pattern 'per_thred'",
                ", ".join(names("patterns")),
            ),
            (["run", "--path", "globel"], "path 'globel'", "readonly"),
            (["run", "--cache-state", "hott"], "cache_state 'hott'", "cold"),
            (["run", "--engine", "modle"], "engine 'modle'", "cuda"),
            (["run", "--counters", "idc_request"], "counter 'idc_request'", "instructions"),
            (["run", "--color", "alway"], "'alway'", "never"),
            (["list", "paterns"], "list 'paterns'", "counters"),
        ]:
            with self.subTest(arguments):
                self.usage_error(*arguments, words=[f"{unknown}; valid: ", valid])

    def test_a_mistyped_name_is_answered_by_the_one_that_was_meant(self):
        for arguments, meant in [
            (["runn"], "run"),
            (["shwo"], "show"),
            (["charact"], "characterize"),
            (["compair"], "compare"),
            (["liist"], "list"),
            (["run", "--patern", "per_warp"], "pattern"),
            (["run", "--path", "globel"], "global"),
            (["list", "paterns"], "patterns"),
            (["frobnicate"], None),
            (["xy"], None),
            (["run", "--zzz"], None),
            (["run", "--path", "a" * 99], None),
        ]:
            with self.subTest(arguments):
                said = self.usage_error(*arguments).stderr
                self.assertEqual(
                    re.findall("did you mean '(.*)'[?]", said), [meant] if meant else []
                )
        self.check(
            cbank("plot", "--selct", "path=global", self.file),
            2,
            "unrecognized arguments: --selct",
            "did you mean --select?",
        )

    def test_limits(self):
        for option, value, limit in [
            ("--elements", "0", "1 to 4294966272"),
            ("--elements", "-5", "1 to 4294966272"),
            ("--elements", "99999999999999999999999", "1 to 4294966272"),
            ("--elements", "many", "'many' is not a whole number"),
            ("--elements", "1e6", "'1e6' is not a whole number"),
            ("--elements", "5,", "'' is not a whole number"),
            ("--block-size", "33", "32"),
            ("--block-size", "1056", "1024"),
            ("--distinct", "64", "1 to 32 addresses"),
            ("--in-flight", "3", "power of two from 1 to 4 lookups"),
            ("--stride-bytes", "6", "multiple of 4 from 4 to 2048 bytes"),
            ("--stride-bytes", "64,2052", "multiple of 4 from 4 to 2048 bytes"),
            ("--radius", "8", "1 to 7 elements"),
            ("--max-noise", "0", "percent"),
            ("--max-noise", "nan", "'nan' is not"),
            ("--device", "-1", "-1 is out of limits"),
            ("--device", "900", "there is no device 900"),
            ("--seed", "-1", "'-1' is not a whole number below 2^64"),
            ("--json", "", "'' is not a path or a name"),
        ]:
            with self.subTest(option=option, value=value):
                self.usage_error("run", "--engine", "model", f"{option}={value}", words=[limit])

    def test_missing_and_superfluous_arguments(self):
        self.usage_error("show", words=["FILE"])
        self.usage_error("run", "nonsense", words=["nonsense"])
        self.usage_error("doctor", "nonsense", words=["nonsense"])
        self.usage_error("list", "patterns", "paths", words=["paths"])

    def test_unwritable_output_is_found_before_measuring(self):
        started = time.monotonic()
        for path in ("missing/result.json", "/proc/result.json", "/dev/null/result.json"):
            with self.subTest(path):
                self.usage_error("run", *LONG_PLAN, "--json", path, words=[path])
        self.assertLess(time.monotonic() - started, 10)

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_read_only_folder(self):
        os.chmod(self.folder, 0o555)
        self.addCleanup(os.chmod, self.folder, 0o755)
        self.usage_error("run", *LONG_PLAN, "--json", self.file, words=[self.file])

    def test_full_disk(self):
        done = cbank("run", *ONE_CELL, "--json", "/dev/full", cwd=self.folder)
        self.assertEqual(done.returncode, 2, done.stderr)

    def test_stdout_full(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(
                [CBANK, "list", "patterns"], stdout=full, stderr=subprocess.PIPE, check=False
            )
        self.assertEqual(done.returncode, 2)

    def test_malformed_files(self):
        good = json.dumps(self.run_plan(*ONE_CELL), indent=1)
        bad = os.path.join(self.folder, "bad.json")
        for name, text in [
            ("empty", ""),
            ("truncated", good[: len(good) // 2]),
            ("trailing text", good + "x"),
            ("not an object", "[]"),
            ("not JSON", "time is 5"),
            ("another schema", good.replace("cbank-result", "other-result")),
            ("duplicate key", good.replace('"engine"', '"seed": 1, "engine"', 1)),
            ("unknown pattern", good.replace('"pattern": "per_warp"', '"pattern": "per_moon"')),
            ("a cell that is no object", re.sub(r'"cells": \[', '"cells": [5, ', good)),
            ("text for a number", good.replace('"elements": 4096', '"elements": "many"')),
            ("deep", "[" * 100000),
        ]:
            self.assertNotEqual(text, good, name)
            for command in (["show"], ["run", "--resume"]):
                with self.subTest(name, command=command):
                    write_text(bad, text)
                    self.usage_error(*command, bad, words=["bad.json"])
                    with open(bad, encoding="utf-8") as file:
                        self.assertEqual(file.read(), text, "the file was overwritten")

    def test_unknown_fields_are_ignored(self):
        result = self.run_plan(*ONE_CELL)
        result["later"] = {"x": [1, 2]}
        result["cells"][0]["later"] = "y"
        write_text(self.file, json.dumps(result))
        self.check(cbank("show", self.file), 0)

    def test_missing_files(self):
        for command in (["show"], ["run", "--resume"], ["run", "--engine", "model", "--card"]):
            self.usage_error(*command, "missing.json", words=["missing.json"])
            self.usage_error(*command, "/", words=["/"])

    @unittest.skipIf(has_gpu(), "there is a GPU")
    def test_without_a_gpu_cuda_is_refused_and_the_model_says_what_it_is(self):
        """Who asked for no engine and gets the model is told on stderr, --quiet or not, and in
        the file."""
        done = self.check(cbank("run", "--engine", "cuda", cwd=self.folder), 3, "cuda")
        self.assertEqual((os.listdir(self.folder), done.stdout), ([], ""))
        done = self.check(
            cbank("run", "--elements", "64", "--json", self.file), 0, "model engine", "modelled"
        )
        self.assertEqual(read_json(self.file)["engine"], "model")
        self.assertIn("modelled", done.stdout)
        for arguments in (["--quiet"], []):
            done = self.check(
                cbank("run", *ONE_CELL[2:], *arguments, "--json", "-"),
                0,
                "warning: no GPU measured",
                "modelled",
            )
            result = json.loads(done.stdout)
            self.assertEqual(
                (result["engine"], result["cells"][0]["time_ns"]["stop_reason"]),
                ("model", "modelled"),
            )
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_a_gate_without_a_gpu_does_not_pass(self):
        """Where CI is set, nothing is modelled unless it is asked for; a gate and a calibration
        measure, wherever they run."""
        for value in ("true", "1"):
            self.check(
                cbank("run", *ONE_CELL[2:], "--json", self.file, CI=value),
                3,
                f"CI={value}",
                "--engine model",
            )
        self.assertFalse(os.path.exists(self.file))
        for value in ("", "false", "0"):
            self.check(
                cbank("run", *ONE_CELL[2:], "--quiet", "--json", self.file, CI=value), 0, "modelled"
            )
        self.check(cbank("run", *ONE_CELL, "--json", self.file, CI="true"), 0)
        for command in (
            ["gate", self.file],
            ["gate", "--base-program", CBANK],
            ["calibrate", "--json", self.file + ".noise"],
        ):
            self.check(cbank(*command, *ONE_CELL[2:]), 3, "engine cuda cannot run here")
        self.check(cbank("gate", self.file, *ONE_CELL, "--processes", "1", CI="true"), 0)


class Lists(Case):
    def test_every_list(self):
        loading = {"chips"} if loads_vendor_libraries_under_a_sanitizer() else set()
        lists = re.findall(r"\w+", cbank("list", "no such list").stderr.split("valid: ")[1])
        self.assertIn("paths", lists)
        for name in [name for name in lists if name not in loading]:
            with self.subTest(name):
                rows = json.loads(self.check(cbank("list", name, "--json"), 0).stdout)
                for width in (80, 200):
                    text = self.check(cbank("list", name, COLUMNS=str(width)), 0).stdout
                    self.assertLessEqual(max(map(len, text.splitlines()), default=0), width)
                    # A row, and what stands indented below it.
                    said = {
                        line.split()[0]: " ".join((line + below).split())
                        for line, below in re.findall(
                            r"^  (\S.*\n)((?: {6}.*\n)*)", text, re.MULTILINE
                        )
                    }
                    for row in rows:
                        self.assert_said(row, said[row["name"].split()[0]])
                table = list(
                    csv.reader(self.check(cbank("list", name, "--csv"), 0).stdout.splitlines())
                )
                self.assertEqual(table[:1], [list(row) for row in rows[:1]])
                self.assertEqual([line[0] for line in table[1:]], [row["name"] for row in rows])

    def assert_said(self, row, text):
        """Every value of the JSON is in what people read."""
        for value in row.values():
            for word in value if isinstance(value, list) else [value]:
                word = {True: "yes", False: "no"}[word] if isinstance(word, bool) else word
                if word not in (None, ""):
                    self.assertIn(str(word), text)

    def test_all_lists_at_once(self):
        if loads_vendor_libraries_under_a_sanitizer():
            self.skipTest("CUPTI cannot be loaded under a sanitizer")
        everything = json.loads(self.check(cbank("list", "--json"), 0).stdout)
        for name, rows in everything.items():
            self.assertEqual(rows, json.loads(cbank("list", name, "--json").stdout))

    def test_without_a_name_it_says_what_can_be_listed(self):
        lists = re.findall(r"\w+", cbank("list", "no such list").stderr.split("valid: ")[1])
        text = self.check(cbank("list", COLUMNS="80"), 0).stdout
        self.assertEqual([line.split()[0] for line in text.splitlines()], lists)
        self.assertIn("workloads     the arithmetic around the loads\n", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.usage_error("list", "--csv", words=["--csv prints one table"])

    def test_every_parameter_has_an_option_and_one_that_takes_it(self):
        takers = rows("patterns") + rows("sources") + rows("workloads") + rows("launch_paths")
        self.assertEqual(
            {row["name"] for row in rows("parameters")},
            {name for row in takers for name in row["parameters"]},
        )
        help_text = cbank("run", "--help=all").stdout
        for row in rows("parameters"):
            self.assertIn(f"--{row['option']}=LIST", help_text)

    def test_a_path_names_its_unit(self):
        units = {row["name"]: row["unit"] for row in rows("paths")}
        self.assertEqual(
            [
                units[path]
                for path in (
                    "constant",
                    "constant_uniform",
                    "constant_operand",
                    "global",
                    "texture",
                )
            ],
            ["idc", "uniform", "imc", "l1", "texture"],
        )

    def test_schema_is_a_schema(self):
        for name in os.listdir(os.path.join(ROOT, "results")):
            if name.endswith("schema.json"):
                jsonschema.Draft202012Validator.check_schema(
                    read_json(os.path.join(ROOT, "results", name))
                )
        schema = read_json(os.path.join(ROOT, "results/card.schema.json"))
        for name in os.listdir(os.path.join(ROOT, "results/cards")):
            jsonschema.Draft202012Validator(schema).validate(
                read_json(os.path.join(ROOT, "results/cards", name))
            )


class CommittedResults(Case):
    def test_each_is_valid_as_it_is_and_as_it_is_printed(self):
        """By its first and last cells: a schema says the same of all."""
        seen = 0
        for path in glob.glob(os.path.join(ROOT, "results/**/*.json"), recursive=True):
            given = read_json(path)
            if "/local/" in path or given.get("schema", {}).get("name") != "cbank-result":
                continue
            for result in (given, json.loads(self.check(cbank("show", "--json", path), 0).stdout)):
                with self.subTest(path):
                    validator().validate(
                        {**result, "cells": result["cells"][:4] + result["cells"][-4:]}
                    )
            seen += 1
        self.assertGreater(seen, 10)


if __name__ == "__main__":
    unittest.main()
