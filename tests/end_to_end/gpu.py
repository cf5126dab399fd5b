#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""End-to-end tests of the built program on a real GPU. CBANK names the program (default
build/cbank)."""

import json
import os
import random
import subprocess
import time
import unittest

import jsonschema

from common import ROOT, Scratch, read_json

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))

KILLS = int(os.environ.get("CBANK_KILLS", "20"))

SMALL = ["--elements", "128000", "--pattern", "per_warp", "--path", "constant"]


def cbank(*arguments, environment=None):
    return subprocess.run(
        [CBANK, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **(environment or {})},
    )


def cuda_devices():
    rows = json.loads(cbank("list", "devices", "--json").stdout)
    return [row for row in rows if row["engine"] == "cuda"]


class Case(Scratch):
    @classmethod
    def setUpClass(cls):
        if not cuda_devices():
            raise AssertionError("no GPU here: " + cbank("list", "devices").stderr)

    def setUp(self):
        super().setUp()
        self.file = self.path("result.json")

    def measure(self, *arguments, status=0, environment=None):
        """A run on the GPU: its result and what it said."""
        done = cbank(
            "run", "--engine", "cuda", *arguments, "--json", self.file, environment=environment
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        result = read_json(self.file)
        schema = read_json(os.path.join(ROOT, "results/schema.json"))
        jsonschema.Draft202012Validator(schema).validate(result)
        return result, done.stdout + done.stderr


class DefaultPlan(Case):
    def test_everything_is_verified_counted_and_as_expected(self):
        result, _ = self.measure()
        self.assertEqual(result["engine"], "cuda")
        self.assertIs(result["complete"], True)
        self.assertEqual(len(result["cells"]), 24)
        for cell in result["cells"]:
            where = f"{cell['path']} {cell['pattern']} {cell['elements']}"
            self.assertEqual(cell["status"], "ok", where)
            self.assertIs(cell["verified"], True, where)
            self.assertGreater(cell["time_ns"]["value"], 0, where)
            self.assertGreater(len(cell["time_ns"]["samples"]), 5, where)
            self.assertGreater(len(cell["counters"]), 10, where)
            for name, counter in cell["counters"].items():
                self.assertEqual(counter["status"], "ok", f"{where} {name}: {counter['reason']}")
                if counter["kind"] == "exact":
                    self.assertEqual(counter["value"], counter["expected"], f"{where} {name}")

    def test_a_second_process_measures_the_same(self):
        """The same cells with the same code. How near the times are is reported:
        scripts/studies/process_trial.py."""
        first, second = (self.measure("--counters", "none")[0] for _ in range(2))
        keys = (
            "workload",
            "path",
            "pattern",
            "elements",
            "block_size",
            "cache_state",
            "parameters",
            "kernel",
        )
        self.assertEqual(
            *(
                [[cell[key] for key in keys] for cell in result["cells"]]
                for result in (first, second)
            )
        )
        for cell in first["cells"]:
            self.assertRegex(cell["kernel"]["sass_sha256"], "^[0-9a-f]{64}$")


class Fields(Case):
    """Every field of a run on a GPU is filled in some file: a field that nothing ever fills is a
    defect."""

    # Fields that the driver of a virtual machine may hide.
    MAY_LACK = {"vbios", "ecc", "mig"}

    def test_every_field_of_device_and_cell(self):
        result, _ = self.measure(*SMALL)
        for key, value in result["device"].items():
            if key not in self.MAY_LACK:
                self.assertIsNotNone(value, key)
        self.assertIsNotNone(result["device"]["clocks"]["sm_max_mhz"])
        cell = result["cells"][0]
        for key in ("cycles", "sm_clock_mhz", "operations"):
            self.assertGreater(cell[key], 0, key)
        for key in (
            "value",
            "median",
            "ci_low",
            "ci_high",
            "min",
            "mad",
            "launches_per_sample",
            "stop_reason",
        ):
            self.assertIsNotNone(cell["time_ns"][key], key)
        for key, value in cell["kernel"].items():
            self.assertTrue(value or (key, value) == ("local_bytes", 0), key)
        self.assertAlmostEqual(
            cell["cycles"], cell["time_ns"]["value"] * cell["sm_clock_mhz"] / 1000, delta=1e-6
        )

    def test_the_doctor_sees_what_a_run_sees(self):
        found = json.loads(cbank("doctor", "--json").stdout)
        self.assertEqual(
            [device["uuid"] for device in found["devices"]], [row["uuid"] for row in cuda_devices()]
        )
        result, _ = self.measure(*SMALL)
        for key in ("name", "uuid", "compute_capability", "sm_count", "l2_bytes", "driver"):
            self.assertEqual(found["devices"][0][key], result["device"][key], key)
        subjects = [row["subject"] for row in found["findings"]]
        for subject in (
            "program",
            "CUPTI",
            "GPU",
            "kernels",
            "clocks",
            "other processes",
            "hardware counters",
        ):
            self.assertIn(subject, subjects)


class Runs(Case):
    def test_every_device(self):
        done = cbank(
            "run", "--engine", "cuda", *SMALL, "--device", "all", "--json", self.folder + "/"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        names = {
            read_json(os.path.join(self.folder, name))["device"]["uuid"]
            for name in os.listdir(self.folder)
        }
        self.assertEqual(names, {row["uuid"] for row in cuda_devices()})

    def test_cache_states_and_odd_sizes(self):
        result, _ = self.measure(
            "--elements",
            "1,31,33,100001",
            "--block-size",
            "32,1024",
            "--cache-state",
            "hot,cold",
            "--counters",
            "none",
        )
        self.assertEqual(len(result["cells"]), 12 * 4 * 2 * 2)
        for cell in result["cells"]:
            self.assertEqual((cell["status"], cell["verified"]), ("ok", True))

    def test_any_cupti_metric_and_one_that_is_unknown(self):
        result, _ = self.measure(
            *SMALL, "--counters", "sm__cycles_active.sum,no__such_metric.sum,idc_requests"
        )
        counters = result["cells"][0]["counters"]
        self.assertEqual(counters["sm__cycles_active.sum"]["status"], "ok")
        self.assertEqual(counters["no__such_metric.sum"]["status"], "unsupported")
        self.assertEqual(counters["idc_requests"]["status"], "ok")

    def test_without_cupti_cells_are_timed_and_counters_say_why(self):
        result, said = self.measure(*SMALL, environment={"CBANK_CUPTI_DIR": "/nonexistent"})
        cell = result["cells"][0]
        self.assertEqual((cell["status"], cell["verified"]), ("ok", True))
        self.assertGreater(cell["time_ns"]["value"], 0)
        self.assertEqual(
            {counter["status"] for counter in cell["counters"].values()}, {"unavailable"}
        )
        for counter in cell["counters"].values():
            self.assertIn("libcupti", counter["reason"])
        self.assertIn("warning: counters were not read", said)

    def test_planted_wrong_output(self):
        result, said = self.measure(*SMALL, "--fault", "output", status=1)
        cell = result["cells"][0]
        self.assertEqual((cell["status"], cell["verified"]), ("failed", False))
        self.assertIn("element", cell["reason"])
        self.assertIn(cell["reason"], said)

    def test_planted_allocation_failure_leaves_the_other_cells(self):
        result, _ = self.measure(
            "--pattern", "per_warp", "--path", "constant", "--fault", "memory", status=1
        )
        by_size = {cell["elements"]: cell["status"] for cell in result["cells"]}
        self.assertEqual(by_size, {12800000: "failed", 128000: "ok"})

    def test_planted_counter(self):
        result, _ = self.measure(*SMALL, "--fault", "counter", status=1)
        self.assertIn("counter_differs", result["cells"][0]["flags"])

    def test_a_kernel_that_reads_out_of_bounds(self):
        self.ended("out_of_bounds", "illegal memory access")

    def test_a_kernel_that_does_not_end(self):
        if cuda_devices()[0]["name"].startswith("Simulated"):
            self.skipTest(
                "simulated time has ten minutes at once: faults.py has its own kernels that do"
                " not end"
            )
        begin = time.monotonic()
        self.ended("hang", "did not come back", "--watchdog-slack", "1")
        self.assertLess(time.monotonic() - begin, 20)

    def ended(self, fault, word, *arguments):
        """The run ends at the planted cell, with the samples of all; another process finishes
        it."""
        plan = ["--elements", "128000", "--fault", fault, *arguments]
        before, said = self.measure(*plan, status=1)
        print(f"-- --fault {fault}:\n{said.strip()}", flush=True)
        failed = [cell for cell in before["cells"] if cell["status"] == "failed"]
        self.assertEqual([cell["identity"] for cell in failed], [before["ended"]["cell"]])
        self.assertIs(failed[0], before["cells"][1], said)
        self.assertFalse(before["complete"])
        self.assertIn(word, said)
        self.assertIn("result: ", said)
        done = cbank("run", "--resume", self.file)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        after = read_json(self.file)
        self.assertTrue(after["complete"])
        self.assertIsNone(after["ended"])
        for old, new in zip(before["cells"], after["cells"]):
            self.assertGreaterEqual(len(old["time_ns"]["samples"]), 20)
            self.assertEqual(
                new["time_ns"]["samples"][: len(old["time_ns"]["samples"])],
                old["time_ns"]["samples"],
            )

    def test_killed_at_any_moment(self):
        """The file is valid, of this second while cells are timed, and another process measures
        the rest of the plan."""
        plan = [
            "run",
            "--engine",
            "cuda",
            "--elements",
            "128000",
            "--max-noise",
            "0.001",
            "--max-samples",
            "10000",
            "--max-seconds",
            "0.2",
        ]
        planned = [cell["identity"] for cell in self.measure(*plan[3:])[0]["cells"]]
        begin, moments, ages = time.monotonic(), random.Random(1), []
        cbank(*plan, "--json", self.file)
        whole_seconds = time.monotonic() - begin
        for attempt in range(KILLS):
            file = os.path.join(self.folder, f"killed{attempt}.json")
            with subprocess.Popen(
                [CBANK, *plan, "--json", file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as process:
                time.sleep(moments.uniform(0, whole_seconds))
                killed = time.time()
                process.kill()
            if not os.path.exists(file):
                continue
            result = read_json(file)
            if not result["complete"] and any(
                cell["time_ns"]["samples"] for cell in result["cells"]
            ):
                ages.append(killed - os.stat(file).st_mtime)
            done = cbank("run", "--resume", file, "--quiet")
            self.assertIn(done.returncode, (0, 1), done.stderr)
            result = read_json(file)
            self.assertIs(result["complete"], True)
            self.assertEqual([cell["identity"] for cell in result["cells"]], planned)
        print(
            (
                f"-- {KILLS} kills in {whole_seconds:.1f} s; {len(ages)} files had samples, of so"
                f" many seconds before: {' '.join(f'{age:.2f}' for age in sorted(ages))}"
            ),
            flush=True,
        )
        self.assertTrue(ages)
        self.assertLess(max(ages), 1)


if __name__ == "__main__":
    unittest.main()
