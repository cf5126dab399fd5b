#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The timeline of `run --trace`, on the simulated GPU. CBANK names the program that is linked to it
(default build/tests/simulated/cbank)."""

import collections
import json
import os
import signal
import subprocess
import time
import unittest

from common import ROOT, Scratch, read_json

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/tests/simulated/cbank")))
PLAN = [
    *("--path", "constant,global", "--pattern", "per_warp", "--elements", "12800"),
    *("--counters", "none", "--max-samples", "6", "--max-noise", "50", "--seed", "1"),
]
PHASES = ["start", "open", "prepare", "verify", "time", "identify", "close"]
ROUNDED_US = 0.002  # of a begin and a length, each to a ns


@unittest.skipUnless(os.path.exists(CBANK), "no simulated GPU: make simulated, with a CUDA toolkit")
class Trace(Scratch):
    def setUp(self):
        super().setUp()
        self.env = {**os.environ, "CBANK_SIMULATED": "", "CBANK_CUPTI_DIR": os.path.dirname(CBANK)}

    def start(self, *arguments):
        return subprocess.Popen(
            [CBANK, "run", *arguments],
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run_it(self, *arguments, status=0):
        with self.start(*arguments) as process:
            said, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, status, said)
        return said

    def events(self, name="trace.json"):
        """{(process, row): its spans} by their names in the file."""
        document = read_json(self.path(name))
        named = {
            (event["name"], event["pid"], event.get("tid")): event["args"]["name"]
            for event in document["traceEvents"]
            if event["ph"] == "M"
        }
        rows = collections.defaultdict(list)
        for event in document["traceEvents"]:
            if event["ph"] == "M":
                continue
            self.assertEqual(event["ph"], "X")
            process, row = event["pid"], event["tid"]
            self.assertGreaterEqual(event["dur"], 0)
            rows[named["process_name", process, None], named["thread_name", process, row]].append(
                event
            )
        return document, dict(rows)

    def assert_in_turn(self, spans):
        """Spans of a row follow each other."""
        for before, after in zip(spans, spans[1:]):
            self.assertLessEqual(before["ts"] + before["dur"], after["ts"] + ROUNDED_US)

    def test_host_and_device(self):
        self.run_it("--engine", "cuda", *PLAN, "--json", "out.json", "--trace", "trace.json")
        result = read_json(self.path("out.json"))
        document, rows = self.events()
        device = result["device"]["name"]
        self.assertEqual(document["otherData"]["device_uuid"], result["device"]["uuid"])
        self.assertGreater(document["otherData"]["device_shift_us_max"], 0)
        self.assertEqual(
            {name for _, name in rows},
            {"phases", "steps", "timing", "samples", "stretches of launches"},
        )
        phases = rows["host", "phases"]
        self.assertEqual(
            [span["name"] for span in phases if span["name"] in PHASES],
            PHASES,
        )
        for key, spans in rows.items():
            with self.subTest(row=key):
                self.assert_in_turn(spans)
        # what the result says of its phases, which end before it is written
        for phase in result["phases"]:
            span = next(span for span in phases if span["name"] == phase["name"])
            self.assertAlmostEqual(span["dur"] / 1e6, phase["seconds"], places=6)
        samples = rows[device, "samples"]
        counted = collections.Counter(
            span["args"]["cell"] for span in samples if span["name"] == "sample"
        )
        for cell in result["cells"]:
            self.assertGreaterEqual(
                counted[cell["identity"]], len(cell["time_ns"]["samples"]), cell["identity"]
            )
        self.assertEqual(len(counted), len(result["cells"]))

    def test_stretches_are_within_samples(self):
        self.run_it("--engine", "cuda", *PLAN, "--json", "out.json", "--trace", "trace.json")
        _, rows = self.events()
        samples = next(spans for (_, row), spans in rows.items() if row == "samples")
        stretches = next(
            spans for (_, row), spans in rows.items() if row == "stretches of launches"
        )
        self.assertEqual(
            [span["name"] for span in stretches], ["short", "long"] * (len(stretches) // 2)
        )
        number = 0
        for sample in samples:
            end = sample["ts"] + sample["dur"] + ROUNDED_US
            inside = 0
            while number < len(stretches) and stretches[number]["ts"] < end:
                span = stretches[number]
                self.assertGreaterEqual(span["ts"], sample["ts"] - ROUNDED_US)
                self.assertLessEqual(span["ts"] + span["dur"], end)
                number, inside = number + 1, inside + 1
            self.assertGreaterEqual(inside, 2)
        self.assertEqual(number, len(stretches))

    def test_an_engine_without_a_device(self):
        self.run_it("--engine", "model", "--json", "out.json", "--trace", "trace.json")
        document, rows = self.events()
        self.assertIsNone(document["otherData"]["device_shift_us_max"])
        self.assertEqual({process for process, _ in rows}, {"host"})
        self.assertIn("time", [span["name"] for span in rows["host", "phases"]])

    def test_devices_have_files_of_their_own(self):
        self.env["CBANK_SIMULATED"] = "devices=2"
        self.run_it(
            *("--engine", "cuda", "--device", "all", *PLAN),
            *("--json", "out.json", "--trace", "trace.json"),
        )
        uuids = [
            self.events(f"trace-device{number}.json")[0]["otherData"]["device_uuid"]
            for number in (0, 1)
        ]
        self.assertEqual(
            uuids,
            [read_json(self.path(f"out-device{n}.json"))["device"]["uuid"] for n in (0, 1)],
        )

    def test_what_cannot_be_written_is_told_before_anything_is_measured(self):
        said = self.run_it(
            *("--engine", "cuda", *PLAN, "--json", "out.json"),
            *("--trace", "nowhere/trace.json"),
            status=2,
        )
        self.assertIn("nowhere/trace.json", said)
        self.assertFalse(os.path.exists(self.path("out.json")))
        for path in ("out.json", "./out.json"):
            said = self.run_it(
                *("--engine", "cuda", *PLAN, "--json", "out.json", "--trace", path), status=2
            )
            self.assertIn("is named for something else", said)

    def test_a_run_that_is_interrupted(self):
        self.env["CBANK_SIMULATED"] = "pace=1,noise=0.1"
        arguments = ("--engine", "cuda", *PLAN[:-6], "--max-noise", "0.001", "--max-seconds", "60")
        with self.start(*arguments, "--json", "out.json", "--trace", "trace.json") as process:
            end = time.monotonic() + 60
            while time.monotonic() < end and not self.has_samples():
                time.sleep(0.02)
            process.send_signal(signal.SIGTERM)
            said, _ = process.communicate(timeout=60)
        self.assertIn("interrupted", said)
        _, rows = self.events()
        self.assertIn("verify", [span["name"] for span in rows["host", "phases"]])
        self.assertIn("samples", {row for _, row in rows})

    def has_samples(self):
        try:
            with open(self.path("out.json"), encoding="utf-8") as file:
                return any(cell["time_ns"] for cell in json.load(file)["cells"])
        except (OSError, ValueError):
            return False


if __name__ == "__main__":
    unittest.main()
