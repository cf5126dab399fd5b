#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several processes at once, and processes that are killed: no result is lost, and none is
written by two. On the model engine; CBANK names the program (default build/cbank)."""

import glob
import json
import os
import signal
import subprocess
import time
import unittest

import jsonschema

from common import CBANK, ROOT, Scratch, read_json, repetitions

ONE_CELL = [
    "--engine",
    "model",
    "--path",
    "constant",
    "--pattern",
    "per_warp",
    "--elements",
    "4096",
]


def long_plan(sizes):
    """It takes a while on any machine: every size is walked anew."""
    return [
        "--engine",
        "model",
        "--pattern",
        "hashed",
        "--elements",
        ",".join(str(12800000 + i) for i in range(sizes)),
    ]


PLAN = long_plan(12)
NAME = r"^cbank-model-H200-[-\w.]+-0-20\d{6}T\d{6}\.\d{3}Z(-\d+)?\.json$"


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain")
        time.sleep(0.01)
    return condition()


class Case(Scratch):
    def start(self, *arguments):
        """The program, in the folder. It is ended with the test, and hears signals also where
        the tests do not (nohup, &)."""
        process = subprocess.Popen(
            [CBANK, *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: [
                signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGHUP)
            ],
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process


class Names(Case):
    def test_eight_at_once(self):
        rounds = repetitions(100, 6)
        for _ in range(rounds):
            started = [
                subprocess.Popen([CBANK, "run", *ONE_CELL, "--quiet"], cwd=self.folder)
                for _ in range(8)
            ]
            self.assertEqual([process.wait(timeout=60) for process in started], [0] * 8)
        names = os.listdir(self.folder)
        self.assertEqual(len(names), 8 * rounds)
        for name in names:
            self.assertRegex(name, NAME)
        self.assertEqual({read_json(self.path(name))["complete"] for name in names}, {True})

    def test_a_name_is_a_valid_result_from_the_first_moment(self):
        self.start("run", *long_plan(200), "--quiet")
        (name,) = wait_for(lambda: glob.glob(self.path("*.json")))
        result = read_json(name)
        jsonschema.Draft202012Validator(
            read_json(os.path.join(ROOT, "results/schema.json"))
        ).validate(result)
        self.assertIs(result["complete"], False)
        self.assertIn("pending", {cell["status"] for cell in result["cells"]})
        self.assertIn("pending", self.cbank("show", name).stdout)

    def test_killed_and_resumed(self):
        process = self.start("run", *PLAN, "--quiet")
        (name,) = wait_for(lambda: glob.glob(self.path("*.json")))
        process.kill()
        process.wait()
        self.cbank("run", "--resume", name, "--quiet")
        self.assertIs(read_json(name)["complete"], True)
        self.assertEqual(os.listdir(self.folder), [os.path.basename(name)])

    def stop(self, process):
        """Once it has the lock of its file, so that it does not end before others have met that."""
        lock = self.path("a.json.cbank-lock.tmp")
        wait_for(lambda: os.path.exists(lock))
        process.send_signal(signal.SIGSTOP)
        self.assertTrue(os.path.exists(lock))

    def refused(self, *arguments):
        done = self.cbank(*arguments, status=2)
        self.assertIn("is being written by another process", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_one_file_is_written_by_one_process(self):
        os.symlink("a.json", self.path("link.json"))
        self.cbank("run", *ONE_CELL, "--json", "a.json")
        process = self.start("run", *PLAN, "--json", "a.json")
        self.stop(process)
        for name in ("a.json", "link.json", self.path("a.json")):
            self.refused("run", *ONE_CELL, "--json", name)
        process.kill()
        process.wait()
        self.cbank("run", *ONE_CELL, "--json", "link.json")
        self.assertEqual(len(read_json(self.path("a.json"))["cells"]), 1)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.json", "link.json"])

    def test_one_process_resumes(self):
        self.cbank("run", *PLAN, "--quiet", "--json", "a.json")
        result = read_json(self.path("a.json"))
        for cell in result["cells"]:
            cell["status"] = "pending"
        with open(self.path("a.json"), "w", encoding="utf-8") as file:
            json.dump({**result, "complete": False, "finished_utc": None}, file)
        process = self.start("run", "--resume", "a.json")
        self.stop(process)
        self.refused("run", "--resume", "a.json")
        # into a file of its own
        self.cbank("run", "--resume", "a.json", "--json", "b.json", "--quiet")
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.wait(timeout=60), 0)


class Calibrations(Case):
    def test_what_a_process_refuses_leaves_nothing(self):
        for option, value, word in (
            ("--device", "0,1", "one GPU"),
            ("--device", "all", "one GPU"),
            ("--json", "/nowhere/noise.json", "cannot write /nowhere/noise.json"),
            ("--max-samples", "1", "--max-samples"),
            ("--elements", "none", "--elements"),
            ("--counters", "nonsense!", "unknown counter"),
        ):
            with self.subTest(option, value=value):
                self.assertIn(
                    word, self.cbank("calibrate", *ONE_CELL, option, value, status=2).stderr
                )
                self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
