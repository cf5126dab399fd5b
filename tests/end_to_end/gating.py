#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""End-to-end tests of cbank gate on a simulated GPU (tests/simulated/simulated.h), whose program CBANK names (default
build/tests/simulated/cbank, of `make simulated`). A program of a side is a script that plants what differs."""

import contextlib
import glob
import json
import os
import shlex
import signal
import subprocess
import time
import unittest

import jsonschema

from common import ROOT, Scratch, read_bytes, read_json

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/tests/simulated/cbank")))
ENVIRONMENT = {**os.environ, "CBANK_CUPTI_DIR": os.path.dirname(CBANK), "CBANK_SIMULATED": "noise=0.001"}
PLAN = ["--engine", "cuda", "--elements", "12800", "--path", "constant,global", "--pattern", "per_block,per_warp",
        "--counters", "none"]


@unittest.skipUnless(os.path.exists(CBANK), "no program for the simulated GPU: make simulated says why")
class Case(Scratch):
    def setUp(self):
        super().setUp()
        self.kept = self.path("kept")

    def program(self, name, line):
        """A program that ends in cbank."""
        os.chmod(self.write(name, f"#!/bin/sh\n{line}\n"), 0o755)
        return self.path(name)

    def slower(self, percent):
        return self.program(f"slower-{percent}", f'exec {shlex.quote(CBANK)} "$@" --slow global:{percent}')

    def cbank(self, *arguments, status=0):
        done = subprocess.run([CBANK, *arguments], capture_output=True, text=True, timeout=120, check=False,
                              cwd=self.folder, env=ENVIRONMENT)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def gate(self, *arguments, status=0):
        """The report of a gate, valid under its schema, and its stderr."""
        done = self.cbank("gate", *arguments, *PLAN, "--json", "-", status=status)
        report = json.loads(done.stdout)
        jsonschema.Draft202012Validator(read_json(os.path.join(ROOT, "results/comparison.schema.json"))).validate(report)
        return report, done.stderr

    def files(self, side=""):
        return sorted(glob.glob(os.path.join(self.kept, f"{side}*.json")))


class Verdicts(Case):
    def test_the_same_on_both_sides(self):
        report, said = self.gate("--base-program", CBANK, "--keep", self.kept)
        self.assertEqual(report["counts"]["same"], 4)
        self.assertEqual((report["options"]["interim_analyses"], report["options"]["confidence"]), (5, 0.99))
        self.assertEqual(said.splitlines(), ["cbank: at 3 processes a side: 4 of 4 cells decided"])
        in_turn = sorted(self.files(), key=os.path.getmtime)
        self.assertEqual([os.path.basename(path)[:-5] for path in in_turn],
                         ["base-001", "new-001", "new-002", "base-002", "base-003", "new-003"])

    def test_a_path_that_changed_is_found_where_the_change_counts(self):
        for base, new, status, verdict in ((0, 1.5, 1, "regressed"), (0, 0.3, 0, "same"), (3, 0, 0, "improved")):
            programs = [self.slower(percent) if percent else CBANK for percent in (base, new)]
            report, _ = self.gate("--base-program", programs[0], "--new-program", programs[1], "--markdown", "r.md", status=status)
            for cell in report["cells"]:
                self.assertEqual(cell["verdict"], verdict if cell["path"] == "global" else "same")
            with open(self.path("r.md"), encoding="utf-8") as file:
                self.assertIn("one of at most 5 interim analyses", file.read())

    def test_a_budget_that_is_too_small(self):
        """The number of processes that would do is said, and with it the gate goes on and ends."""
        small = ["--base-program", CBANK, "--threshold", "0.05", "--keep", self.kept, "--processes", "1"]
        report, said = self.gate(*small, "--strict", status=4)
        self.assertEqual(report["counts"]["inconclusive"], 4)
        needed = max(cell["processes_to_decide"] for cell in report["cells"])
        self.assertIn(f"0 of 4 cells decided\ncbank: {needed} processes a side would decide the others", said)
        self.assertTrue(report["to_decide"].endswith(f"--keep {self.kept} --processes {needed} goes on"), report["to_decide"])
        first = {path: read_bytes(path) for path in self.files()}
        self.assertEqual(len(first), 2)
        report, said = self.gate(*small[:-1], str(needed))
        self.assertEqual(report["counts"]["same"], 4)
        self.assertIn(f"has 1 of {needed} base processes already", said)
        self.assertEqual({path: read_bytes(path) for path in first}, first)
        self.gate(*small, status=4)  # no cell was decided

    def test_no_more_time(self):
        report, _ = self.gate("--base-program", CBANK, "--threshold", "0.05", "--seconds", "0.001", "--keep", self.kept,
                              status=4)
        self.assertEqual(len(self.files()), 2)
        self.assertEqual(report["counts"]["inconclusive"], 4)


class Sides(Case):
    def base(self, change=None):
        self.cbank("run", *PLAN, "--quiet", "--json", "base.json")
        result = read_json(self.path("base.json"))
        if change:
            change(result)
        with open(self.path("base.json"), "w", encoding="utf-8") as file:
            json.dump(result, file)
        return "base.json"

    def test_results_as_base(self):
        report, said = self.gate(self.base(), "--keep", self.kept)
        self.assertEqual(report["counts"]["same"], 4)
        self.assertEqual((report["base"]["results"], report["new"]["results"]), (1, 3))
        self.assertEqual(len(self.files()), 3)
        self.assertIn("at 3 processes of NEW", said)

    def test_results_as_new(self):
        report, _ = self.gate("--base-program", CBANK, self.base(), "--keep", self.kept)
        self.assertEqual((report["base"]["results"], report["new"]["results"]), (3, 1))
        self.assertEqual(len(self.files("base")), 3)

    def test_sides_that_cannot_be_compared_end_at_once(self):
        base = self.base(lambda result: result["device"].update(uuid="GPU-1"))
        report, _ = self.gate(base, "--keep", self.kept, status=3)
        self.assertFalse(report["comparable"])
        self.assertEqual(len(self.files()), 1)
        self.gate(base, "--allow-diff", "uuid", "--threshold", "5")

    def test_another_plan(self):
        base = self.base(lambda result: result["cells"].pop())
        report, said = self.gate(base)
        self.assertEqual(report["counts"]["new"], 1)
        self.assertIn("give the options that BASE was measured with", said)

    def test_usage(self):
        base = self.base()
        for words, message in (
                ([], "a gate needs a BASE"), ([base, base], "a gate needs a BASE"),
                ([base, "--base-program", CBANK, base], "a gate needs a BASE"), (["absent.json"], "absent.json"),
                ([base, "--device", "all"], "one GPU"), ([base, "--processes", "51"], "--processes")):
            with self.subTest(words):
                done = self.cbank("gate", *words, *PLAN, status=2)
                self.assertIn(message, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_programs_that_are_none(self):
        for name, message in (("./absent", "./absent cannot be started"), ("true", "ended before it was done"),
                              (self.program("odd", "echo odd; exit 9"), "exited with 9")):
            with self.subTest(name):
                done = self.cbank("gate", "--base-program", name, *PLAN, status=3)
                self.assertIn(message, done.stderr)
                self.assertEqual(done.stdout, "")


class Children(Case):
    def hangs_at(self, name):
        """A program that measures, but hangs in one process."""
        return self.program("hangs", f'case "$*" in *{name}*) exec sleep 60;; esac\nexec {shlex.quote(CBANK)} "$@"')

    def start(self, program):
        return subprocess.Popen([CBANK, "gate", "--base-program", CBANK, "--new-program", program, *PLAN, "--keep",
                                 self.kept], cwd=self.folder, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def sleeper(self, gate):
        """The child that hangs."""
        for _ in range(1000):
            with open(f"/proc/{gate.pid}/task/{gate.pid}/children", encoding="utf-8") as file:
                children = file.read().split()
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # an earlier child, which ended meanwhile
                if children and read_bytes(f"/proc/{children[0]}/cmdline").startswith(b"sleep"):
                    return int(children[0])
            time.sleep(0.01)
        raise AssertionError("it does not hang")

    def test_they_end_with_it_and_what_finished_is_gone_on_with(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number):
                self.kept = self.path(f"kept{number}")
                program = self.hangs_at("new-002")
                gate = self.start(program)
                child = self.sleeper(gate)
                gate.send_signal(number)
                messages = gate.communicate(timeout=60)[1]
                self.assertEqual(gate.returncode, -number, messages)
                for _ in range(500):
                    if not os.path.exists(f"/proc/{child}"):
                        break
                    time.sleep(0.01)
                self.assertFalse(os.path.exists(f"/proc/{child}"))
                if number == signal.SIGTERM:
                    self.assertIn("has 1 of 20 new processes; the same command with --keep", messages)
                before = {path: read_bytes(path) for path in self.files()}
                self.assertEqual(len(before), 2)
                self.program("hangs", f'exec {shlex.quote(CBANK)} "$@"')
                report, said = self.gate("--base-program", CBANK, "--new-program", program, "--keep", self.kept)
                self.assertEqual(report["counts"]["same"], 4)
                self.assertIn("has 1 of 20 base processes already", said)
                self.assertEqual({path: read_bytes(path) for path in before}, before)

    def test_files_of_others_do_not_count(self):
        self.gate("--base-program", CBANK, "--keep", self.kept)
        done = self.cbank("gate", "--base-program", CBANK, "--keep", self.kept, *PLAN, "--max-samples", "9", status=2)
        self.assertIn("is of another program or other options", done.stderr)
        result = read_json(self.files("base")[1])
        result["tool"]["git_commit"] = "another"
        with open(self.files("base")[1], "w", encoding="utf-8") as file:
            json.dump(result, file)
        done = self.cbank("gate", "--base-program", CBANK, "--keep", self.kept, *PLAN, "--json", "-", status=2)
        self.assertIn("base-002.json is of another program or other options", done.stderr)


if __name__ == "__main__":
    unittest.main()
