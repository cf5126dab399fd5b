#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Energy of launches on the simulated GPU, whose counter steps, and which takes planted joules.
CBANK names the program that is linked to it (default build/tests/simulated/cbank). The host looks
at the counter while the device works, so simulated time passes for both: by a clock of the
simulation, for a busy machine would look too seldom."""

import csv
import io
import json
import os
import subprocess
import sys
import unittest

import jsonschema

from common import ROOT, Scratch, measuring_calls, read_bytes, read_json

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/tests/simulated/cbank")))
COUNTER = "nvmlDeviceGetTotalEnergyConsumption"
CELLS = ["--elements", "128000", "--path", "constant,global", "--pattern", "per_warp"]
QUICK = ["--counters", "none", "--max-samples", "6", "--max-noise", "50", "--seed", "1"]
PLANTED = {"idle_watts": 60, "launch_uj": 400, "lookup_pj": 90000}


@unittest.skipUnless(os.path.exists(CBANK), "no simulated GPU: make simulated, with a CUDA toolkit")
class Energy(Scratch):
    def setUp(self):
        super().setUp()
        self.file = self.path("result.json")

    def cbank(self, *arguments, status=0, **settings):
        done = subprocess.run(
            [CBANK, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={
                **os.environ,
                "CBANK_SIMULATED": ",".join(f"{key}={value}" for key, value in settings.items()),
                "COLUMNS": "160",
            },
        )
        self.assertIn(status, (None, done.returncode), done.stdout + done.stderr)
        return done

    def measure(self, *arguments, seconds="0.3", status=0, **settings):
        """The result of a run, and what it said."""
        asked = ["--energy", "--energy-seconds", seconds, *QUICK, *(arguments or CELLS)]
        planted = {"pace": 2, "energy_step_ms": 10, **PLANTED, **settings}
        done = self.cbank(
            "run", "--engine", "cuda", *asked, "--json", self.file, status=status, **planted
        )
        result = read_json(self.file)
        jsonschema.Draft202012Validator(
            read_json(os.path.join(ROOT, "results/schema.json"))
        ).validate(result)
        return result, " ".join((done.stdout + done.stderr).split())

    def assert_within(self, energy, name, planted):
        """The planted value is in the interval, and 0 is not."""
        low, value, high = (energy[f"{name}_{end}j"] for end in ("low_", "", "high_"))
        self.assertTrue(0 < low <= planted <= high, (name, planted, energy))
        self.assertAlmostEqual(value, (low + high) / 2)

    def test_planted_joules_are_found(self):
        """Of the idle device, of a launch of an empty kernel, and of a lookup."""
        result, said = self.measure()
        method = result["energy_method"]
        self.assertEqual((method["seconds"], method["unit_mj"]), (0.3, 1))
        self.assertAlmostEqual(method["period_ms"], 10, delta=2)
        self.assertIsNone(method["null_reason"])
        self.assertTrue(method["idle_watts_low"] <= 60 <= method["idle_watts_high"], method)
        self.assertIn("W when idle; the counter steps every", said)
        for cell in result["cells"]:
            energy = cell["energy"]
            self.assertEqual((energy["lookups"], energy["limits"]), (128000, []))
            self.assertEqual((energy["null_reason"], energy["lookup_null_reason"]), (None, None))
            self.assertGreaterEqual(energy["seconds"], 0.3)
            self.assertGreaterEqual(energy["steps"], 5)
            self.assertAlmostEqual(energy["sm_clock_mhz"], cell["sm_clock_mhz"], delta=1)
            # a launch: the idle device for as long as it takes, an empty kernel, and its lookups
            launch = 60 * 1e-9 * energy["launch_ns"] + 400e-6 + 128000 * 90e-9
            self.assert_within(energy, "launch", launch)
            self.assert_within(energy, "empty", 400e-6)
            self.assert_within(energy, "lookup", 90e-9)
            self.assertAlmostEqual(energy["launch_j"], energy["watts"] * 1e-9 * energy["launch_ns"])
        self.check_tables(result)

    def check_tables(self, result):
        """Tables and documents have the values of the file."""
        first = result["cells"][0]
        shown = self.cbank("show", self.file, "--cell", first["identity"]).stdout
        self.assertRegex(shown, r"energy a launch +[0-9.]+ mJ")
        self.assertRegex(shown, r"energy a lookup +[0-9.]+ nJ")
        rows = csv.DictReader(io.StringIO(self.cbank("show", self.file, "--csv").stdout))
        self.assertEqual(
            {row["identity"]: float(row["lookup_j"]) for row in rows},
            {cell["identity"]: cell["energy"]["lookup_j"] for cell in result["cells"]},
        )

    def test_what_lookups_take_is_not_told_where_it_is_too_little(self):
        """A counter of 2 J: the interval of a lookup holds 0. A path that loads nothing, and
        launches after a flush, say why they have none."""
        result, _ = self.measure(
            "--elements",
            "12800",
            "--path",
            "global,shared_fill_only",
            "--cache-state",
            "hot,cold",
            "--pattern",
            "per_warp",
            energy_unit=2000,
            energy_step_ms=40,
            lookup_pj=1,
        )
        self.assertEqual(result["energy_method"]["unit_mj"], 2000)
        cells = {
            tuple(cell["identity"].split("/")[1::4]): cell["energy"] for cell in result["cells"]
        }
        tiny = cells["global", "hot"]
        self.assertIsNone(tiny["lookup_j"])
        self.assertTrue(tiny["lookup_low_j"] < 1e-12 < tiny["lookup_high_j"], tiny)
        self.assertIn("the interval holds 0", tiny["lookup_null_reason"])
        self.assertGreater(tiny["launch_j"], 0)
        self.assertIn("loads nothing", cells["shared_fill_only", "hot"]["lookup_null_reason"])
        for path in ("global", "shared_fill_only"):
            self.assertIsNone(cells[path, "cold"]["launch_j"])
            self.assertIn("the flush before it", cells[path, "cold"]["null_reason"])

    def test_a_counter_that_is_missing_or_stuck(self):
        """Everything else is measured."""
        for settings, reason in (
            ({"fail": f"{COUNTER}:1:not_supported:sticky"}, "operation not supported"),
            ({"energy_step_ms": 0}, "did not move in"),
            ({"fail": "nvmlInit_v2:1:999:sticky"}, "NVML is not there"),
        ):
            result, said = self.measure(seconds="0.1", **settings)
            self.assertIn(reason, result["energy_method"]["null_reason"])
            self.assertIn(f"no energy was measured: {result['energy_method']['null_reason']}", said)
            self.assertTrue(result["complete"])
            for cell in result["cells"]:
                self.assertNotIn("energy", cell)
                self.assertEqual((cell["status"], cell["verified"]), ("ok", True))
                self.assertGreater(cell["time_ns"]["value"], 0)

    def test_a_counter_that_fails_once(self):
        """In the stretch of the empty kernel or of a cell: what cannot be told says so, and the
        rest is there. The idle device has a second stretch. When a call comes depends on the host,
        so places are tried until there was one of each."""
        log = self.path("log")
        self.measure(seconds="0.1", log=log)
        reads = [name for _, name, _ in measuring_calls(log)].count(COUNTER)
        wanted = {(), ("of the empty kernel",), ("the counter of energy cannot be read",)}
        found = set()
        for share in (0.05, 0.3, 0.6, 0.25, 0.35, 0.5, 0.7, 0.02, 0.2, 0.4, 0.8):
            result, _ = self.measure(
                seconds="0.1", fail=f"{COUNTER}:{int(share * reads)}:not_supported"
            )
            self.assertTrue(result["complete"])
            self.assertIsNone(result["energy_method"]["null_reason"])
            self.assertGreater(result["energy_method"]["idle_watts"], 0)
            energies = [cell["energy"] for cell in result["cells"]]
            for energy in energies:
                self.assertEqual(energy["launch_j"] is None, energy["null_reason"] is not None)
            self.assertGreaterEqual(sum(energy["launch_j"] is not None for energy in energies), 1)
            said = {
                reason.split(":")[0]
                for energy in energies
                for reason in (energy["null_reason"], energy["lookup_null_reason"])
                if reason and not reason.startswith("not told")  # noise of this host
            }
            found.add(tuple(said))
            if wanted <= found:
                break
        self.assertEqual(found, wanted)

    def test_a_gpu_that_is_held_down_says_so(self):
        result, _ = self.measure(throttle_ms=1)
        for cell in result["cells"]:
            self.assertEqual(cell["energy"]["limits"], ["thermal"])
            self.assertLess(cell["energy"]["sm_clock_mhz"], 1400)
        shown = self.cbank("show", self.file, "--cell", result["cells"][0]["identity"]).stdout
        self.assertRegex(shown, r"held down by +thermal")
        result, _ = self.measure(
            seconds="0.1", fail="nvmlDeviceGetCurrentClocksThrottleReasons:1:not_supported:sticky"
        )
        self.assertEqual(result["cells"][0]["energy"]["limits"], ["unknown"])

    def test_launches_that_fail_meanwhile(self):
        """The first launch of a graph fails, of the empty kernel for the first cell: that cell
        fails, and the next one is measured. A sticky error ends the run, which is resumed."""
        log = self.path("log")
        self.measure(seconds="0.1", log=log)
        names = [name for _, name, _ in measuring_calls(log)]
        nth = names[: names.index(COUNTER)].count("cudaGraphLaunch") + 1
        result, _ = self.measure(seconds="0.1", status=1, fail=f"cudaGraphLaunch:{nth}:invalid")
        self.assertEqual([cell["status"] for cell in result["cells"]], ["failed", "ok"])
        self.assertIn("while its energy was measured", result["cells"][0]["reason"])
        self.assertGreater(result["cells"][1]["energy"]["launch_j"], 0)
        result, _ = self.measure(
            seconds="0.1", status=1, fail=f"cudaGraphLaunch:{nth}:launch_failure:sticky"
        )
        self.assertFalse(result["complete"])
        self.cbank("run", "--resume", self.file, pace=2, energy_step_ms=10, **PLANTED)
        again = read_json(self.file)
        self.assertTrue(again["complete"])
        for before, cell in zip(result["cells"], again["cells"]):
            self.assertEqual(before["time_ns"]["samples"], cell["time_ns"]["samples"])
            self.assertGreater(cell["energy"]["launch_j"], 0)

    def test_a_counter_that_does_not_answer(self):
        """The run ends, and has its times."""
        planted = {"pace": 0, "hang": f"{COUNTER}:3"}
        result, said = self.measure(
            *CELLS, "--watchdog-slack", "2", seconds="0.1", status=1, **planted
        )
        self.assertIn("reading energy by NVML did not come back", said)
        self.assertFalse(result["complete"])
        self.assertTrue(all(cell["time_ns"]["value"] > 0 for cell in result["cells"]))

    def copies(self, result, name, factor):
        """Three processes of a side, whose energy of a launch is so many times that of the result,
        and differs by 0.1 %."""
        folder = self.path(name)
        os.mkdir(folder)
        for number in range(3):
            copy = json.loads(json.dumps(result))
            copy["started_utc"] = f"2026-01-0{1 + number}T00:00:00Z"
            for cell in copy["cells"]:
                for key in ("launch_j", "launch_low_j", "launch_high_j"):
                    cell["energy"][key] = 1e-3 * factor * (1 + 0.001 * number)
                cell["energy"]["launch_low_j"] *= 0.999
                cell["energy"]["launch_high_j"] *= 1.001
            with open(os.path.join(folder, f"{number}.json"), "w", encoding="utf-8") as file:
                json.dump(copy, file)
        return folder

    def test_sides_are_compared_by_energy_when_asked(self):
        result, _ = self.measure(seconds="0.1")
        base, more, less = (
            self.copies(result, name, factor)
            for name, factor in (("base", 1), ("more", 1.1), ("less", 0.9))
        )
        report = self.path("comparison.json")

        def compare(new, status, *options):
            done = self.cbank("compare", base, new, "--json", report, *options, status=status)
            found = read_json(report)
            jsonschema.Draft202012Validator(
                read_json(os.path.join(ROOT, "results/comparison.schema.json"))
            ).validate(found)
            return found, " ".join(done.stdout.split())

        # Times are the same on all sides.
        found, _ = compare(more, 0)
        self.assertNotIn("energy", found["cells"][0])
        for new, factor, verdict, status in (
            (more, 1.1, "higher", 1),
            (less, 0.9, "lower", 0),
            (base, 1, "same", 0),
        ):
            found, _ = compare(new, status, "--energy")
            for cell in found["cells"]:
                energy = cell["energy"]
                self.assertEqual(energy["verdict"], verdict)
                self.assertAlmostEqual(energy["ratio"], factor)
                self.assertTrue(energy["ci_low"] < factor < energy["ci_high"])
                self.assertEqual(cell["verdict"], "regressed" if status else "same")
                self.assertIn(f"): {verdict}", cell["note"])
        _, said = compare(more, 0, "--energy", "--threshold", "20", "--all")
        self.assertIn("0 cells higher, 0 lower, 2 the same, 0 not told", said)
        # One process a side tells nothing; a side without energy is not passed.
        single = os.path.join(more, "0.json")
        found, _ = compare(single, 0, "--energy")
        self.assertEqual({cell["energy"]["verdict"] for cell in found["cells"]}, {"not told"})
        plain = self.path("plain.json")
        with open(plain, "w", encoding="utf-8") as file:
            cells = [
                {key: cell[key] for key in cell if key != "energy"} for cell in result["cells"]
            ]
            json.dump({**result, "cells": cells}, file)
        _, said = compare(plain, 4, "--energy")
        self.assertIn("new has no energy", str(read_json(report)["cells"]))

    def test_a_gate_measures_energy(self):
        """What a gate measures for --energy it compares, too."""
        result, _ = self.measure(seconds="0.1")
        done = self.cbank(
            "gate",
            self.file,
            "--energy",
            "--energy-seconds",
            "0.1",
            "--processes",
            "1",
            "--threshold",
            "50",
            *QUICK,
            *CELLS,
            "--json",
            self.path("gate.json"),
            status=None,
            **{"pace": 2, "energy_step_ms": 10, **PLANTED},
        )
        self.assertIn(done.returncode, (0, 4), done.stderr)
        for cell in read_json(self.path("gate.json"))["cells"]:
            self.assertGreater(cell["energy"]["new_j"], 0)
            self.assertEqual(cell["energy"]["verdict"], "not told")

    def test_the_study_makes_its_table(self):
        report = self.path("report.json")
        done = subprocess.run(
            [
                sys.executable,
                os.path.join(ROOT, "scripts/studies/energy_trial.py"),
                "--program",
                CBANK,
                "--processes=1",
                "--seconds=0.1",
                "--json",
                report,
                *QUICK,
                *CELLS,
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, "CBANK_SIMULATED": "pace=2,energy_step_ms=10,lookup_pj=90000"},
        )
        self.assertIn("global    per_warp", done.stdout, done.stderr)
        self.assertNotIn(os.path.dirname(report), read_bytes(report).decode())
        done = subprocess.run(
            [
                sys.executable,
                os.path.join(ROOT, "scripts/studies/energy_trial.py"),
                "--table",
                report,
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        self.assertRegex(done.stdout, r"(?m)^\| global \| per_warp \| \d+ ± \d+ \| \d+ \|$")

    def test_without_a_device_there_is_none(self):
        done = self.cbank(
            "run", "--engine", "model", "--energy", *CELLS, "--quiet", "--json", self.file
        )
        self.assertIn("--energy: the engine model launches nothing", done.stderr)
        self.assertNotIn("energy_method", read_json(self.file))
        self.cbank("run", "--engine", "model", "--energy-seconds", "0", status=2)


if __name__ == "__main__":
    unittest.main()
