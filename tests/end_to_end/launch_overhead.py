#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""End-to-end tests of launch paths (--workload launch_overhead), on a simulated GPU
(tests/simulated/simulated.h), whose program CBANK names (default build/tests/simulated/cbank, of
`make simulated`). It says what calls of the host take, by a clock of its own."""

import os
import subprocess
import unittest

import jsonschema

from common import ROOT, Scratch, read_json

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/tests/simulated/cbank")))
SIZES = (4, 64, 256, 1024, 4096, 8192, 16384, 32764)
COPIES = (4, 1024, 16384, 65536)
BY_HOST = ("stream", "symbol_copy", "module_load")
COSTS = "launch_us=2,parameter_ns=0.1,copy_us=5,load_us=300"


@unittest.skipUnless(
    os.path.exists(CBANK), "no program for the simulated GPU: make simulated says why"
)
class LaunchOverhead(Scratch):
    def cbank(self, *words, status=0, simulated=COSTS):
        done = subprocess.run(
            [CBANK, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            cwd=self.folder,
            env={
                **os.environ,
                "CBANK_CUPTI_DIR": os.path.dirname(CBANK),
                "CBANK_SIMULATED": simulated,
            },
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def measure(self, *words, to="x.json", **settings):
        """The cells of a run by launch path and bytes, and what it said."""
        self.said = self.cbank(
            *("run", "--workload", "launch_overhead", *words, "--json", to), **settings
        )
        self.result = read_json(self.path(to))
        jsonschema.Draft202012Validator(
            read_json(os.path.join(ROOT, "results/schema.json"))
        ).validate(self.result)
        return {
            (cell["pattern"], *cell["parameters"].values()): cell for cell in self.result["cells"]
        }

    def test_each_launch_path_is_verified_and_timed(self):
        cells = self.measure()
        expected = [(path, size) for path in ("stream", "graph") for size in SIZES]
        expected += [("symbol_copy", size) for size in COPIES] + [("module_load",)]
        self.assertEqual(set(cells), set(expected))
        for (path, *size), cell in cells.items():
            with self.subTest(path=path, size=size):
                self.assertTrue(cell["status"] == "ok" and cell["verified"])
                self.assertEqual(cell["path"], "none")
                self.assertIsNone(cell["array_bytes"])
                # A call of the host takes no cycles of the GPU.
                self.assertEqual(cell["cycles"] is None, path in BY_HOST)
        self.assertEqual(
            cells["stream", 4]["identity"],
            "launch_overhead/none/stream/32/32/hot/parameter_bytes=4",
        )
        self.assertIn("verified against what was sent", " ".join(self.said.stdout.split()))

    def test_times_are_those_of_the_calls(self):
        cells = self.measure()

        def time_us(*key):
            return cells[key]["time_ns"]["value"] / 1e3

        def more_us(path):
            return time_us(path, 32764) - time_us(path, 4)

        # A call of 2 us, and what the kernel takes; the device takes 0.01 ns a byte.
        self.assertAlmostEqual(time_us("stream", 4) - time_us("graph", 4), 2, delta=0.01)
        self.assertAlmostEqual(more_us("graph"), 0.3276, delta=0.01)
        self.assertAlmostEqual(more_us("stream") - more_us("graph"), 3.276, delta=0.01)
        self.assertGreater(time_us("symbol_copy", 4), 5)
        self.assertAlmostEqual(time_us("module_load"), 300, delta=1)

    def test_kernels_are_counted_and_copies_are_not(self):
        cells = self.measure("--parameter-bytes", "64", "--symbol-bytes", "4")
        for (path, *_), cell in cells.items():
            found = {counter["status"] for counter in cell["counters"].values()}
            reasons = {counter["reason"] for counter in cell["counters"].values()}
            if path in ("stream", "graph"):
                self.assertEqual(cell["counters"]["instructions"]["status"], "ok")
            else:
                self.assertEqual(found, {"unavailable"})
                self.assertEqual(len(reasons), 1)
                self.assertIn("no kernel", reasons.pop())

    def test_durations_and_energy_say_what_has_none(self):
        cells = self.measure(
            *("--parameter-bytes", "64", "--symbol-bytes", "4", "--duration", "--energy"),
            *("--energy-seconds", "0.1", "--max-samples", "6"),
            simulated=f"{COSTS},pace=2,energy_step_ms=10",
        )
        self.assertIn("no kernel", cells["symbol_copy", 4]["duration_ns"]["null_reason"])
        self.assertIn("no kernel", cells[("module_load",)]["duration_ns"]["null_reason"])
        for (path, *_), cell in cells.items():
            joules = cell["energy"]["launch_j"]
            self.assertEqual(joules is None, path in BY_HOST, path)

    def test_wrong_output_is_found(self):
        cells = self.measure("--fault", "output", status=1)
        self.assertEqual({cell["status"] for cell in cells.values()}, {"failed"})
        for cell in cells.values():
            self.assertIn("wrong output: word", cell["reason"])

    def test_what_cannot_be_is_a_reason(self):
        cells = self.measure("--launch-path", "graph", simulated="driver_api=12000")
        skipped = {key[1] for key, cell in cells.items() if cell["status"] == "skipped"}
        self.assertEqual(skipped, {size for size in SIZES if size > 4096})
        self.assertIn("this driver passes 4 KB", cells["graph", 8192]["reason"])
        cells = self.measure("--launch-path", "graph", "--parameter-bytes", "64,100")
        self.assertIn("parameters of 4, 64, 256", cells["graph", 100]["reason"])
        cells = self.measure("--cache-state", "all", "--launch-path", "module_load")
        states = {cell["cache_state"]: cell["status"] for cell in self.result["cells"]}
        self.assertEqual(states, {"hot": "ok", "cold": "skipped"})
        self.cbank(
            *("run", "--workload", "launch_overhead", "--engine", "model", "--json", "m.json"),
            status=3,
        )
        reasons = {cell["reason"] for cell in read_json(self.path("m.json"))["cells"]}
        self.assertEqual(reasons, {"the engine model has no model of what a launch costs"})

    def test_options_of_other_workloads_are_refused(self):
        launches = ("run", "--workload", "launch_overhead")
        for words, said in (
            ((*launches, "--path", "global"), "name their --launch-path"),
            ((*launches, "--pattern", "per_warp"), "read no table"),
            ((*launches, "--source", "random"), "name --workload lookup"),
            (("run", "--launch-path", "stream"), "name --workload launch_overhead"),
            (("run", "--parameter-bytes", "4"), "no cell of this plan takes it"),
        ):
            with self.subTest(words=words):
                done = self.cbank(*words, status=2)
                self.assertIn(said, " ".join(done.stderr.split()))
        # Beside a workload with tables each takes what is its own.
        self.cbank(
            *("run", "--workload", "add,launch_overhead", "--path", "global", "--pattern"),
            *("per_warp", "--elements", "32", "--block-size", "32", "--launch-path", "graph"),
            *("--parameter-bytes", "4", "--json", "both.json"),
        )
        cells = read_json(self.path("both.json"))["cells"]
        self.assertEqual([cell["path"] for cell in cells], ["global", "none"])

    def test_plans_without_them_are_as_before(self):
        self.cbank("run", "--json", "d.json", "--max-samples", "6")
        cells = read_json(self.path("d.json"))["cells"]
        self.assertEqual({cell["workload"] for cell in cells}, {"add"})
        self.assertEqual(len(cells), 24)

    def test_a_run_goes_on_where_it_was_interrupted(self):
        self.cbank(
            *("run", "--workload", "launch_overhead", "--json", "x.json"),
            simulated=f"{COSTS},fail=cuModuleUnload:4:launch_failure:sticky",
            status=1,
        )
        self.cbank("run", "--resume", "x.json", "--retry-failed")
        statuses = {cell["status"] for cell in read_json(self.path("x.json"))["cells"]}
        self.assertEqual(statuses, {"ok"})

    def gate(self, new, status, *words):
        plan = ("--workload", "launch_overhead", *words)
        if not os.path.exists(self.path("base.json")):
            for name in ("base.json", "base2.json", "base3.json"):
                self.cbank("run", *plan, "--json", name)
        done = self.cbank(
            *("gate", "base.json,base2.json,base3.json", *plan, "--processes=3"),
            *("--threshold=5%", "--json", "gate.json"),
            simulated=new,
            status=status,
        )
        cells = read_json(self.path("gate.json"))["cells"]
        return {
            cell["identity"].split("/")[2] for cell in cells if cell["verdict"] == "regressed"
        }, done

    def test_a_gate_sees_what_a_driver_makes_slower(self):
        plan = ("--parameter-bytes", "64", "--symbol-bytes", "4")
        for key, path in (
            ("launch_us=2", "stream"),
            ("copy_us=5", "symbol_copy"),
            ("load_us=300", "module_load"),
        ):
            name, value = key.split("=")
            with self.subTest(path):
                slower = COSTS.replace(key, f"{name}={3 * int(value)}")
                regressed, done = self.gate(slower, 1, *plan)
                self.assertEqual(regressed, {path}, done.stdout)

    def test_noise_is_the_widest_that_is_known(self):
        self.measure(*("--parameter-bytes", "64", "--symbol-bytes", "4"))
        done = self.cbank("compare", "x.json", "x.json", "--json", "c.json")
        self.assertIn("has no data of its own", " ".join(done.stdout.split()))
        origins = {
            cell["process_deviation"]["origin"] for cell in read_json(self.path("c.json"))["cells"]
        }
        self.assertEqual(origins, {"widest"})


if __name__ == "__main__":
    unittest.main()
