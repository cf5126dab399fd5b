#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""End-to-end tests of the CUDA engine on a simulated GPU (tests/simulated/simulated.h). CBANK
names the program that is linked to it (default build/tests/simulated/cbank, of `make
simulated`). The tests for a real GPU run on it, too; in `make test` those that are quick."""

import contextlib
import csv
import io
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import unittest
import unittest.mock

import jsonschema

from common import FULL, ROOT, Scratch, measuring_calls, read_json

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/tests/simulated/cbank")))
os.environ.update(CBANK=CBANK, CBANK_CUPTI_DIR=os.path.dirname(CBANK))

import gpu  # it reads CBANK

HERE = unittest.skipUnless(
    os.path.exists(CBANK), "no program for the simulated GPU: make simulated says why"
)
SMALL = ["--elements", "12800", "--path", "constant,global", "--pattern", "per_block,per_warp"]
LARGE = [
    "--elements",
    "12800000",
    "--path",
    "global",
    "--pattern",
    "per_warp",
    "--cache-state",
    "hot,cold",
    "--counters",
    "none",
]


def script(**settings):
    return ",".join(f"{key}={value}" for key, value in settings.items())


@HERE
class Case(Scratch):
    def setUp(self):
        super().setUp()
        self.file = self.path("result.json")

    def cbank(self, *arguments, status=0, **settings):
        return super().cbank(*arguments, status=status, CBANK_SIMULATED=script(**settings))

    def measure(self, *arguments, status=0, **settings):
        """The result of a run, and what it said."""
        done = self.cbank(
            "run",
            "--engine",
            "cuda",
            *(arguments or SMALL),
            "--json",
            self.file,
            status=status,
            **settings,
        )
        result = read_json(self.file)
        jsonschema.Draft202012Validator(
            read_json(os.path.join(ROOT, "results/schema.json"))
        ).validate(result)
        return result, re.sub(r"\s+", " ", done.stdout + done.stderr)

    def modelled(self, *arguments):
        """Simple times, from which the simulated device takes its times, by identity."""
        name = self.path("modelled.json")
        self.cbank("run", "--engine", "model", "--quiet", *arguments, "--json", name)
        said = self.cbank("explain", "--json", "--unchecked-times", name).stdout
        return {
            cell["identity"]: cell["model_ns"]["value"]
            for cell in json.loads(said)["results"][0]["cells"]
        }

    def times(self, **settings):
        return [cell["time_ns"]["value"] for cell in self.measure(**settings)[0]["cells"]]


class DefaultPlan(Case):
    def test_times_are_those_of_the_model(self):
        modelled = self.modelled()
        for cell in self.measure("--seed", "1")[0]["cells"]:
            time, where = cell["time_ns"], cell["identity"]
            self.assertEqual(cell["flags"], [], where)
            self.assertLess((time["ci_high"] - time["ci_low"]) / time["value"], 0.01, where)
            self.assertLess(abs(time["value"] / modelled[where] - 1), 0.01, where)

    def test_every_workload_and_path_in_both_cache_states(self):
        result, _ = self.measure(
            "--workload",
            "all",
            "--path",
            "all",
            "--pattern",
            "per_warp,lockstep",
            "--cache-state",
            "all",
            "--elements",
            "3200",
            "--block-size",
            "64",
            "--max-samples",
            "20",
            "--modules",
            "2",
            "--refill-bytes",
            "1024",
            "--radius",
            "1",
        )
        cells = [cell for cell in result["cells"] if cell["status"] != "skipped"]
        # launch_overhead has launch paths in place of patterns: see launch_overhead.py
        self.assertEqual(
            {cell["workload"] for cell in cells},
            {row["name"] for row in self.table("workloads")} - {"launch_overhead"},
        )
        self.assertEqual({cell["status"] for cell in cells}, {"ok"})
        self.assertGreater(len(cells), 150)

    def table(self, name):
        return json.loads(self.cbank("list", name, "--json").stdout)


class Devices(Case):
    def test_shared_units_of_mig_count_nothing(self):
        result, _ = self.measure(mig=1)
        self.assertEqual(result["device"]["mig"], "on")
        counters = result["cells"][0]["counters"]
        self.assertIn("MIG", counters["l2_sectors"]["reason"])
        self.assertEqual(counters["idc_requests"]["status"], "ok")

    def test_counters_denied_and_a_metric_refused(self):
        result, said = self.measure(deny_counters=1)
        self.assertEqual(
            {counter["status"] for counter in result["cells"][0]["counters"].values()},
            {"no_permission"},
        )
        self.assertIn("NVreg_RestrictProfilingToAdminUsers", said)
        result, _ = self.measure(refuse="idc__requests.sum")
        counters = result["cells"][0]["counters"]
        self.assertEqual(
            (counters["idc_requests"]["status"], counters["instructions"]["status"]),
            ("unsupported", "ok"),
        )

    def test_kernels_that_the_driver_compiles(self):
        result, _ = self.measure(capability=100, ptx=os.path.join(ROOT, "build/images"))
        self.assertRegex(result["cells"][0]["kernel"]["image"], r"^add\.compute_\d+\.ptx$")
        self.assertEqual(
            {cell["kernel"]["sass_sha256"] for cell in result["cells"]}, set(result["code"])
        )
        self.cbank("show", self.file)
        self.assertEqual({cell["status"] for cell in result["cells"]}, {"ok"})

    ADVISE = ("advise", "--table-bytes", "2048", "--elements", "4096")

    def advise(self, *words, status=0, **settings):
        done = self.cbank(*self.ADVISE, *words, "--json", "-", status=status, **settings)
        return json.loads(done.stdout)

    def test_lookups_are_measured_and_ranked(self):
        """As by cbank run: times, the fastest, and what a slow memory space is told."""
        settings = {"slow": "texture", "slow_factor": 1.5, "seed": 3}
        advice = self.advise(**settings)
        jsonschema.validate(advice, read_json(os.path.join(ROOT, "results/advice.schema.json")))
        times = {space["path"]: space["time_ns"] for space in advice["ranking"]}
        self.assertEqual((advice["device"], advice["near"]), ("Simulated H200", []))
        self.assertEqual(advice["choice"], min(times, key=times.get))
        self.assertEqual(list(times.values()), sorted(times.values()))
        self.cbank(
            *("run", "--quiet", "--workload", "lookup", "--path", ",".join(times)),
            *("--source", "random", "--elements", "4096", "--table-bytes", "2048"),
            *("--loads", "4", "--in-flight", "1", "--block-size", "256", "--json", self.file),
            **settings,
        )
        ran = {cell["path"]: cell["time_ns"]["value"] for cell in read_json(self.file)["cells"]}
        best = min(ran.values())
        for space in advice["ranking"]:
            path, verdict = space["path"], space["standing"]
            self.assertAlmostEqual(times[path] / ran[path], 1, delta=0.01)
            self.assertTrue(space["ci_low"] < times[path] < space["ci_high"])
            self.assertAlmostEqual(space["ratio"], times[path] / min(times.values()))
            if ran[path] > 1.03 * best:
                self.assertEqual(verdict, "slower")
            if ran[path] < 1.005 * best:
                self.assertIn(verdict, ("best", "as good"))
        self.assertEqual(
            {row["path"]: row for row in advice["ranking"]}["texture"]["standing"], "slower"
        )
        said = self.cbank(*self.ADVISE, **settings).stdout
        self.assertIn("\nmeasured on Simulated H200\n", said)
        # another measurement: one of those that are as good may be the best now
        self.assertRegex(said, f"(?m)^best: .*\\b{advice['choice']}\\b")
        self.assertNotIn("cbank run --workload", said)

    def test_a_card_that_is_named_measures_nothing(self):
        for words in (("--card", "h200"), ("--engine", "model")):
            advice = self.advise(*words)
            self.assertIsNone(advice["device"])
            self.assertEqual({space["time_ns"] for space in advice["ranking"]}, {None})

    def test_a_wrong_output_has_no_rank(self):
        advice = self.advise(status=1, wrong=2)
        without = [space for space in advice["ranking"] if space["time_ns"] is None]
        self.assertEqual([space["standing"] for space in without], ["not known"])
        self.assertIn("failed", without[0]["why"])

    def test_a_gpu_that_the_program_has_no_kernels_for(self):
        self.assertIn(
            "no kernels for Simulated H200",
            self.cbank(*self.ADVISE, status=3, capability=89).stderr,
        )
        self.assertRegex(
            self.cbank(
                *("advise", "--tables", "a:4096:4:2,b:256:4:1"), status=3, capability=89
            ).stderr,
            "this machine has Simulated H200 .* no card is of that chip",
        )

    def test_the_doctor_and_the_lists(self):
        findings = json.loads(self.cbank("doctor", "--json", neighbour_ms=10).stdout)["findings"]
        said = {row["subject"]: row["detail"] for row in findings}
        self.assertEqual(said["hardware counters"], "can be read")
        self.assertIn("1 compute", said["other processes"])
        self.assertIn("GH100", self.cbank("list", "chips").stdout)


class Remedies(Case):
    """The doctor and a run say the same sentence about an error of the machine's set-up: what it
    means, and what to do. The run says it once."""

    def remedy(self, words, *, container="", **settings):
        with unittest.mock.patch.dict(os.environ, {"container": "podman"} if container else {}):
            counted = (
                "hardware counters"
                if "cupti" in str(settings)
                or "unsupported" in settings
                or "deny_counters" in settings
                else "GPU"
            )
            status = 0 if counted != "GPU" else 3
            found = json.loads(self.cbank("doctor", "--json", status=status, **settings).stdout)[
                "findings"
            ]
            row = next(row for row in found if row["subject"] == counted and row["finding"] != "ok")
            said = self.cbank(
                "run", "--engine", "cuda", *SMALL, "--json", self.file, status=status, **settings
            ).stderr
        self.assertEqual(said.count(f"{row['detail']}; {row['remedy']}"), 1, said)
        for word in words:
            self.assertIn(word, f"{row['detail']}; {row['remedy']}")

    def test_every_code_of_cuda(self):
        for call in ("cudaGetDeviceCount", "cudaSetDevice"):
            for code, *words in (
                (35, "driver"),
                (46, "compute mode", "MIG"),
                (100, "CUDA_VISIBLE_DEVICES"),
                (802, "systemctl start nvidia-fabricmanager"),
                (803, "reloaded"),
                (804, "compat"),
                (805, "MPS"),
                (999, "nvidia_uvm"),
            ):
                self.remedy([f"error {code}", *words], container="yes", fail=f"{call}:1:{code}")

    def test_every_code_of_cupti(self):
        for code, *words in (
            (15, "libnvperf_host.so"),
            (26, "dcgmi"),
            (27, "7.5"),
            (33, "passthrough"),
            (35, "administrators"),
            (36, "LD_PRELOAD"),
            (38, "LD_PRELOAD"),
            (39, "ncu"),
            (40, "enable_profiling=1"),
            (41, "confidential"),
            (42, "CMP"),
            (43, "without MIG"),
            (44, "--sli=Off"),
            (45, "NVIDIA Control Panel", "wsl --shutdown"),
            (46, "CBANK_CUPTI_DIR", "12.8"),
            (999, "nvidia-smi"),
        ):
            self.remedy(
                [f"error {code}", *words], fail=f"cuptiProfilerGetCounterAvailability:1:{code}"
            )

    def test_what_cupti_says_of_the_device(self):
        for word, meaning in (
            ("wsl", "WSL"),
            ("vgpu", "passthrough"),
            ("vgpu_disabled", "enable_profiling=1"),
            ("cmp", "CMP"),
            ("confidential", "confidential computing"),
            ("sli", "SLI"),
            ("architecture", "compute capability"),
        ):
            self.remedy(
                ["cuptiProfilerDeviceSupported" if word != "architecture" else "error 27", meaning],
                unsupported=word,
            )

    def test_counters_in_a_container(self):
        self.remedy(
            [
                "--cap-add=SYS_ADMIN and root inside",
                "NVreg_RestrictProfilingToAdminUsers=0",
                "host's driver",
                "times are measured all the same",
            ],
            container="yes",
            deny_counters=1,
        )

    def test_mig(self):
        found = json.loads(self.cbank("doctor", "--json", mig=1).stdout)["findings"]
        said = next(row["detail"] for row in found if row["subject"] == "MIG")
        self.assertRegex(said, r"instance; \d+ SMs.*L2, DRAM")


class Tables(Case):
    """Elements of 1 to 16 bytes in tables of several sizes, by every path."""

    def test_every_width_and_size_is_verified_and_counted(self):
        result, _ = self.measure(
            "--elements",
            "12800",
            "--pattern",
            "distinct,broadcast",
            "--distinct",
            "8",
            "--stride-bytes",
            "16",
            "--path",
            "all",
            "--width-bytes",
            "1,2,4,8,16",
            "--table-bytes",
            "256,2048",
            "--max-samples",
            "20",
        )
        paths = {
            path["name"]: path for path in json.loads(self.cbank("list", "paths", "--json").stdout)
        }
        small = {name for name, path in paths.items() if path["lookups"]}
        self.assertEqual(len(result["cells"]), 2 * 5 * 2 * len(paths))
        seen = set()
        for cell in result["cells"]:
            path, width, size = cell["path"], cell["width_bytes"], cell["table_bytes"]
            if path in small:
                self.assertEqual(cell["reason"], f"{path} is for workloads whose indices are data")
                continue
            self.assertEqual(cell["parameters"].get("width_bytes", 4), width)
            self.assertEqual(cell["parameters"]["table_bytes"], size)
            self.assertEqual("width_bytes" in cell["identity"], width != 4)
            self.assertIn(f"/table_bytes={size}", cell["identity"])
            if cell["status"] == "ok":
                seen.add((path, width, size))
                self.assertTrue(cell["verified"], cell["identity"])
                self.assertEqual(cell["exact_counters"]["differing"], 0, cell["identity"])
                self.assertGreater(cell["exact_counters"]["equal"], 3, cell["identity"])
            else:
                self.assertIn(path, ("constant_uniform", "constant_operand"), cell["reason"])
        always = set(paths) - {"constant_uniform", "constant_operand"} - small
        self.assertLessEqual(
            {
                (path, width, size)
                for path in always
                for width in (1, 2, 4, 8, 16)
                for size in (256, 2048)
            },
            seen,
        )

    def test_a_wrong_element_of_16_bytes_is_found(self):
        result, _ = self.measure(
            "--elements",
            "12800",
            "--pattern",
            "per_thread",
            "--path",
            "constant,global",
            "--width-bytes",
            "16",
            "--max-samples",
            "20",
            status=1,
            wrong=1,
        )
        self.assertEqual([cell["status"] for cell in result["cells"]], ["failed", "ok"])


class Time(Case):
    def test_what_is_throttled_is_flagged(self):
        result, said = self.measure(throttle_ms=2, throttle_clock=1000)
        self.assertIn("throttled: the driver held the clocks down", said)
        for cell in result["cells"]:
            self.assertIn("throttled", cell["flags"])

    def test_temperature(self):
        """The simulated one grows with simulated time."""
        result, said = self.measure()
        temperature = result["temperature"]
        self.assertTrue(
            30 <= temperature["before_celsius"] < temperature["after_celsius"] <= 60, temperature
        )
        self.assertIn(
            f"{temperature['before_celsius']} to {temperature['after_celsius']} degrees Celsius",
            said,
        )
        for call in (1, 2):
            result, said = self.measure(fail=f"nvmlDeviceGetTemperature:{call}:not_supported")
            self.assertIsNone(result["temperature"])
            self.assertIn("NVML does not say", result["null_reasons"]["temperature"])
            self.assertNotIn("Celsius", said)

    def test_durations_of_launches_alone(self):
        """On the simulated device a launch alone takes as long as one more in a chain; an empty
        kernel takes launch_ns."""
        result, _ = self.measure("--duration", *SMALL)
        method = result["duration_method"]
        self.assertEqual(
            (method["null_reason"], method["resolution_ns"] >= 1), (None, True), method
        )
        self.assertAlmostEqual(method["empty_ns"], result["device"]["launch_ns"], delta=10)
        self.assertEqual(
            statistics.median(method["empty_samples"]), method["empty_ns"], "kept in the file"
        )
        for cell in result["cells"]:
            duration = cell["duration_ns"]
            self.assertAlmostEqual(
                duration["value"] / cell["time_ns"]["value"], 1, delta=0.01, msg=cell["identity"]
            )
            self.assertEqual(len(duration["samples"]), duration["launches"])
            for end in ("ci_low", "ci_high"):  # a tick and more
                self.assertGreaterEqual(
                    abs(duration["value"] - duration[end]), method["tick_ns"] - 1e-9
                )
            self.assertEqual((duration["launches"] >= 12, duration["null_reason"]), (True, None))
            self.assertEqual(cell["exact_counters"]["differing"], 0)
        said = self.cbank("show", self.file, "--cell", result["cells"][0]["identity"]).stdout
        self.assertRegex(said, r"launch alone +[0-9.]+ us")
        rows = list(csv.DictReader(io.StringIO(self.cbank("show", self.file, "--csv").stdout)))
        self.assertEqual(
            {row["identity"]: float(row["duration_ns"]) for row in rows},
            {cell["identity"]: cell["duration_ns"]["value"] for cell in result["cells"]},
        )
        again = json.loads(self.cbank("show", self.file, "--json").stdout)
        self.assertEqual(
            [cell["duration_ns"] for cell in again["cells"]],
            [cell["duration_ns"] for cell in result["cells"]],
        )

    def test_durations_that_cannot_be_told(self):
        """A timer that ticks each 2 us tells no launch of 1 us from the empty kernel, and long
        ones all the same."""
        result, _ = self.measure(
            "--duration",
            "--elements",
            "12800,12800000",
            "--path",
            "global",
            "--pattern",
            "per_block",
            "--counters",
            "none",
            activity_tick=2000,
        )
        method = result["duration_method"]
        self.assertEqual((method["resolution_ns"], method["tick_ns"]), (2000, 2000))
        short, long = sorted(result["cells"], key=lambda cell: cell["elements"])
        self.assertIsNone(short["duration_ns"]["value"])
        self.assertIn("no longer than the empty kernel", short["duration_ns"]["null_reason"])
        self.assertIn(
            "no longer than the empty kernel",
            self.cbank("show", self.file, "--cell", short["identity"]).stdout,
        )
        self.assertAlmostEqual(
            long["duration_ns"]["value"] / long["time_ns"]["value"], 1, delta=0.1
        )
        for plant in (
            "cuptiActivityEnable:1:7",
            "cuptiActivityFlushAll:2:999",
            "cuptiActivityFlushAll:30:999",
        ):
            result, _ = self.measure("--duration", *SMALL, fail=plant)
            self.assertTrue(result["complete"])
            self.assertIsNone(result["duration_method"]["empty_ns"])
            self.assertTrue(result["duration_method"]["null_reason"], plant)
            self.assertFalse(any("duration_ns" in cell for cell in result["cells"]))
        result, _ = self.measure("--duration", *SMALL, fail="cuptiActivityFlushAll:500:999")
        self.assertEqual(
            [cell["duration_ns"]["value"] is None for cell in result["cells"]],
            [True, False, False, False],
        )
        result, _ = self.measure(*SMALL)
        self.assertNotIn("duration_method", result)
        said = self.cbank(
            "run", "--engine", "model", "--duration", *SMALL, "--json", self.file
        ).stderr
        self.assertIn("--duration: the engine model launches nothing", said)

    def test_launches_that_fail_while_their_duration_is_measured(self):
        """The last launch before the probe of the board is of the last cell's duration. A sticky
        error ends the run, and the times stay."""
        asked = ("--duration", "--seed", "1", *SMALL)
        log = self.path("log")
        self.measure(*asked, log=log)
        nth = sum(name == "cuLaunchKernel" for _, name, _ in measuring_calls(log))
        result, _ = self.measure(*asked, status=1, fail=f"cuLaunchKernel:{nth}:invalid")
        self.assertEqual([cell["status"] for cell in result["cells"]].count("ok"), 3)
        failed = next(cell for cell in result["cells"] if cell["status"] == "failed")
        self.assertIn("launch failed while its duration was measured", failed["reason"])
        result, _ = self.measure(
            *asked, status=1, fail=f"cuLaunchKernel:{nth}:launch_failure:sticky"
        )
        self.assertFalse(result["complete"])
        self.assertIn(
            "duration was measured",
            result["ended"]["reason"] + str([cell["reason"] for cell in result["cells"]]),
        )
        self.assertTrue(all(cell["time_ns"]["value"] > 0 for cell in result["cells"]))
        self.cbank("run", "--resume", self.file)
        again = read_json(self.file)
        self.assertEqual(
            ({cell["status"] for cell in again["cells"]}, again["complete"]), ({"ok"}, True)
        )
        self.assertTrue(all(cell["duration_ns"]["value"] > 0 for cell in again["cells"]))
        # Nothing was measured for the second time: the times are those of the first process.
        self.assertEqual(
            [cell["time_ns"]["value"] for cell in again["cells"]][:3],
            [cell["time_ns"]["value"] for cell in result["cells"]][:3],
        )

    def test_a_clock_that_moved(self):
        """Times follow it: no change, unless clocks may differ, which asks for what they do."""
        base, new = self.path("base.json"), self.path("new.json")
        for file, clock in ((base, 1980), (new, 1966)):
            self.cbank("run", "--engine", "cuda", *LARGE, "--json", file, clock=clock, known=1)
        for threshold, allowed, status, verdicts in (
            ("0.5%", (), 4, {"inconclusive"}),
            ("1%", (), 0, {"same"}),
            ("0.5%", ("--allow-diff", "clocks"), 1, {"regressed"}),
        ):
            said = self.cbank(
                "compare",
                base,
                new,
                "--threshold",
                threshold,
                *allowed,
                "--json",
                "-",
                status=status,
            )
            cells = json.loads(said.stdout)["cells"]
            self.assertEqual({cell["verdict"] for cell in cells}, verdicts)
            for cell in cells:
                self.assertAlmostEqual(
                    cell["clock_ratio"], 1 if allowed else 1980 / 1966, delta=1e-4
                )
                self.assertIsNone(cell["processes_to_decide"])
            said = " ".join(
                self.cbank(
                    "compare", base, new, "--threshold", threshold, *allowed, status=status
                ).stdout.split()
            )
            self.assertEqual(
                "% lower (1980 -> 1966 MHz) in 2 cells: a change must show in times and in cycles;"
                " with --allow-diff clocks times are taken as they are: a lower clock counts as"
                " slower" in said,
                not allowed,
                said,
            )
            self.assertEqual("no cell could be decided (exit 4)" in said, status == 4, said)

    def test_a_clock_that_a_driver_lowered(self):
        """Both clocks are said, once, and what allowing it would mean."""
        base, new = self.path("base.json"), self.path("new.json")
        for file, clock in ((base, 1980), (new, 1395)):
            self.cbank("run", "--engine", "cuda", *LARGE, "--json", file, clock=clock)
        said = " ".join(self.cbank("compare", base, new, status=3).stdout.split())
        self.assertEqual(
            said.count(
                "clocks differs: 1980 MHz -> 1395 MHz; not comparable, unless --allow-diff clocks,"
                " with which times are taken as they are: a lower clock counts as slower"
            ),
            1,
            said,
        )
        self.assertEqual(said.count("not comparable"), 1, said)
        self.assertNotIn("add/", said)  # no row of a cell
        self.cbank("compare", base, new, "--allow-diff", "clocks", status=1)

    def test_clock_and_slow_paths(self):
        usual, half = self.times(), self.times(clock=990)
        self.assertAlmostEqual(read_json(self.file)["cells"][0]["sm_clock_mhz"], 990, delta=1)
        slow = self.times(slow="global", slow_factor=1.5)
        for cell, time, twice, slower in zip(
            read_json(self.file)["cells"], usual, half, slow, strict=True
        ):
            self.assertAlmostEqual(twice / time, 2, delta=0.01)
            self.assertAlmostEqual(
                slower / time, 1.5 if cell["path"] == "global" else 1, delta=0.01
            )

    def test_work_that_is_added_to_a_path(self):
        plan = *SMALL, "--cache-state", "hot,cold"
        usual, slow = (
            self.measure(*plan, *more)[0]["cells"] for more in ((), ("--slow", "global:50"))
        )
        for one, other in zip(usual, slow, strict=True):
            self.assertAlmostEqual(
                other["time_ns"]["value"] / one["time_ns"]["value"],
                1.5 if one["path"] == "global" else 1,
                delta=0.03,
            )

    def test_noise_modes_and_drift_are_seen(self):
        for settings in ({"noise": 0.05}, {"mode": 1.2}, {"drift": 100}, {"neighbour_ms": 3}):
            result, _ = self.measure(*SMALL, "--max-samples", "40", **settings)
            self.assertTrue(
                any({"unstable", "contended"} & set(cell["flags"]) for cell in result["cells"]),
                settings,
            )

    def test_buffer_sets_are_told_from_modes(self):
        """The effect of the buffers' addresses is in the mean of the places, but not in its
        interval; those that jump are flagged."""
        placed, _ = self.measure(*SMALL, buffer_set=0.004)
        for cell in placed["cells"]:
            time = cell["time_ns"]
            self.assertEqual(
                (cell["buffer_sets"], cell["modes"], cell["contended"]), (24, 1, False)
            )
            self.assertAlmostEqual(cell["buffer_set_deviation"], 0.004, delta=0.003)
            self.assertLess(time["ci_high"] / time["ci_low"], 1.003)
            self.assertAlmostEqual(
                time["value"] / statistics.fmean(time["samples"]), 1, delta=0.001
            )
            for place in range(24):  # the noise of the device is 0.05 %
                samples = time["samples"][place::24]
                self.assertLess(max(samples) / min(samples), 1.003)
        jumping, said = self.measure(*SMALL, mode=1.05)
        self.assertIn("multimodal: the samples fall into several modes", said)
        for cell in jumping["cells"]:
            self.assertEqual((cell["modes"], cell["time_ns"]["stop_reason"]), (2, "modes"))
            self.assertEqual(cell["flags"], ["multimodal"])

    def test_tables_lie_in_several_places(self):
        """Where the table's place moves the time, the deviation of the places has it: where each
        of the 13 launches of a draw reads another site, what their mean has. Where the table lies
        in a constant bank, it does not."""
        for plan, moved in (
            (
                [
                    "--workload",
                    "lookup",
                    "--path",
                    "global,texture",
                    "--source",
                    "random",
                    "--table-bytes",
                    "131072",
                ],
                0.02,
            ),
            (["--path", "global,texture", "--pattern", "per_block"], 0.02 / 13**0.5),
            (["--path", "constant", "--pattern", "per_block"], 0),
        ):
            cells = self.measure(
                *plan, "--elements", "12800", "--counters", "none", table_buffer_set=0.02
            )[0]["cells"]
            for cell in cells:
                self.assertEqual(
                    (cell["buffer_sets"], cell["table_offsets"]),
                    (24, 30 if 0 < moved < 0.01 else 1),
                )
                self.assertAlmostEqual(
                    cell["buffer_set_deviation"], moved, delta=0.5 * moved + 0.001
                )
        large = self.measure(
            "--path",
            "constant,global",
            "--pattern",
            "per_block",
            "--elements",
            "12800000",
            "--counters",
            "none",
            table_buffer_set=0.004,
            free=4e9,
        )[0]["cells"]
        # of buffers, and of tables
        self.assertEqual([cell["buffer_sets"] for cell in large], [5, 24])
        # buffers fill L2: another site would not be in it
        self.assertEqual([cell["table_offsets"] for cell in large], [1, 1])
        cold = self.measure(
            "--path",
            "global",
            "--pattern",
            "per_block",
            "--elements",
            "12800000",
            "--cache-state",
            "cold",
            "--counters",
            "none",
            free=4e9,
        )[0]["cells"]
        self.assertEqual([cell["table_offsets"] for cell in cold], [30])  # but then nothing is

    def test_code_lies_in_several_places(self):
        """Where the code's place moves the time, a time is the mean over its copies, and the
        deviation of the places has it."""
        plan = [
            "--path",
            "constant,global",
            "--pattern",
            "per_block",
            "--elements",
            "12800",
            "--counters",
            "none",
            "--seed",
            "1",
        ]
        for cell, still in zip(
            self.measure(*plan, code_buffer_set=0.02)[0]["cells"],
            self.measure(*plan)[0]["cells"],
            strict=True,
        ):
            places = [statistics.mean(cell["time_ns"]["samples"][place::24]) for place in range(24)]
            copies = [statistics.mean(places[copy::8]) for copy in range(8)]
            self.assertEqual(cell["code_copies"], 8)
            self.assertGreater(statistics.stdev(copies), 0.005 * still["time_ns"]["value"])
            self.assertLess(
                max(statistics.pstdev(places[copy::8]) for copy in range(8)),
                0.001 * still["time_ns"]["value"],
            )
            self.assertAlmostEqual(
                cell["time_ns"]["value"] / statistics.mean(copies), 1, delta=0.005
            )
            self.assertGreater(cell["buffer_set_deviation"], 0.005)

    def test_samples_of_fewer_copies_are_not_gone_on_with(self):
        """From an earlier program: the same places, but code at other addresses."""
        for copies in (8, 4, None):
            result, _ = self.measure(
                "--path",
                "constant",
                "--pattern",
                "per_warp",
                "--elements",
                "12800",
                "--counters",
                "none",
            )
            (cell,) = result["cells"]
            result.update(complete=False, finished_utc=None)
            cell.update(status="pending", verified=False, code_copies=copies)
            cell["time_ns"].update(
                samples=cell["time_ns"]["samples"][:10], stop_reason=None, clocks_mhz=[1980] * 10
            )
            self.write(self.file, json.dumps(result))
            self.cbank("run", "--resume", self.file)
            (cell,) = read_json(self.file)["cells"]
            self.assertEqual(
                (cell["flags"], cell["code_copies"]), (["resumed"] if copies == 8 else [], 8)
            )

    def test_launches_after_graphs_were_made_do_not_count(self):
        """They take longer for a while, in a plan of one cell, too."""
        for plan in (["--path", "constant"], ["--path", "constant,global,readonly"]):
            plan += ["--pattern", "per_warp", "--elements", "12800", "--counters", "none"]
            for cell, still in zip(
                self.measure(*plan, making_ms=22)[0]["cells"],
                self.measure(*plan)[0]["cells"],
                strict=True,
            ):
                self.assertLess(max(cell["time_ns"]["samples"]), 1.01 * still["time_ns"]["value"])

    def test_a_long_launch_that_fills_l2_has_none_before_it(self):
        """One as long whose data stay in L2 has: else it would have to fetch them."""
        log = self.path("log")
        for cell, launches in (
            (["--path", "constant", "--pattern", "pseudo_random", "--elements", "12800000"], 1),
            (["--workload", "conv_3d", "--path", "global_l2", "--elements", "2097152"], 2),
        ):
            self.measure(*cell, "--counters", "none", log=log)
            with open(log, encoding="utf-8") as file:
                sample = (
                    file.read()
                    .rpartition("cudaStreamEndCapture")[0]
                    .rpartition("cudaStreamBeginCapture")[2]
                )
            # an order of SMs, 4 stamps, an empty kernel
            self.assertEqual(sample.count("cuLaunchKernel"), launches + 6)
            os.remove(log)

    def test_the_interval_of_copies_has_what_processes_differ_by(self):
        """Samples alone settle it: those of a process agree. Nothing is copied where the table
        is among the parameters."""
        copies, parameters = self.measure(
            "--workload",
            "refill",
            "--path",
            "constant,param",
            "--refill-bytes",
            "1024",
            "--elements",
            "12800",
            "--counters",
            "none",
        )[0]["cells"]
        for cell, ns in (copies, 100), (parameters, 0):
            time = cell["time_ns"]
            half = (time["ci_high"] - time["ci_low"]) / 2
            self.assertEqual(time["stop_reason"], "converged")
            self.assertGreater(half, 1.96 * ns)
            self.assertLess(half, 1.96 * ns + 0.005 * time["value"])

    def test_places_that_differ_settle(self):
        """Where places differ by more than is asked, their mean is known as well as the samples
        of each are; nor is it something else's doing."""
        large = [
            "--workload",
            "lookup",
            "--path",
            "global",
            "--source",
            "random",
            "--table-bytes",
            "131072",
            "--elements",
            "12800",
            "--counters",
            "none",
        ]  # at one site a place
        for plan in (["--sample-us", "100"], ["--sample-us", "5000"]):
            for cell in self.measure(*large, *plan, table_buffer_set=0.1, noise=0.0002)[0]["cells"]:
                time = cell["time_ns"]
                self.assertEqual(
                    (time["stop_reason"], cell["flags"], cell["contended"]),
                    ("converged", [], False),
                )
                self.assertLess(len(time["samples"]), 400)
                self.assertLess(time["ci_high"] / time["ci_low"], 1.003)
                self.assertAlmostEqual(cell["buffer_set_deviation"], 0.1, delta=0.05)
        wandering = self.measure(*large, table_buffer_set=0.1, noise=0.1)[0]["cells"]
        self.assertEqual([cell["flags"] for cell in wandering], [["unstable"]])

    def test_an_odd_place_is_no_neighbour(self):
        """A sample that takes much longer where it lies: the cell takes a second turn, in which
        it does so again."""
        elements = ",".join(str(256 * number) for number in range(8, 32))
        result, said = self.measure(
            "--workload",
            "lookup",
            "--path",
            "global",
            "--source",
            "random",
            "--table-bytes",
            "131072",
            "--elements",
            elements,
            "--sample-us",
            "10000",
            "--counters",
            "none",
            odd_table=2,
        )
        cells = [cell for cell in result["cells"] if cell["modes"] == 1]
        odd = [
            cell
            for cell in cells
            if max(cell["time_ns"]["samples"]) > 1.5 * cell["time_ns"]["value"]
        ]
        self.assertEqual(len(odd), 24)
        self.assertEqual({len(cell["time_ns"]["samples"]) for cell in odd}, {48})
        self.assertEqual(
            [cell["flags"] for cell in cells if cell["contended"] or cell["flags"]], []
        )
        self.assertNotIn("something else", said)

    def test_a_cell_that_has_settled_stays_so(self):
        """Samples that came in the round in which it settled do not count: it was looked at with
        the last that does."""
        for settings in ({"noise": 0.003}, {"noise": 0.004}):
            for cell in self.measure("--elements", "12800", "--counters", "none", **settings)[0][
                "cells"
            ]:
                count, step = len(cell["time_ns"]["samples"]), 1
                while count // step >= 16:
                    step *= 2
                self.assertEqual(count % step, 0, (settings, cell["identity"], count))

    def test_a_neighbour_is_seen(self):
        # of every 5 ms it is in 3 to 5 of these samples, and 3 are asked for
        for neighbour in (3, 4, 0):
            result, said = self.measure(*SMALL, neighbour_ms=neighbour)
            self.assertEqual("something else has the GPU" in said, neighbour > 0)
            for cell in result["cells"]:
                self.assertEqual(
                    (cell["contended"], "contended" in cell["flags"]),
                    (neighbour > 0, neighbour > 0),
                )

    def test_cold_cells_are_compared_with_an_empty_kernel_in_turn(self):
        """The cost of a pair of stamps is constant here: cold times are those of the model."""
        plan = (*SMALL, "--cache-state", "cold")
        modelled = self.modelled(*plan)
        cold, _ = self.measure(*plan, noise=0)
        for cell in cold["cells"]:
            self.assertAlmostEqual(
                cell["time_ns"]["value"] / modelled[cell["identity"]], 1, delta=0.05
            )

    def test_lines_are_timed_together(self):
        """Cells that differ by the path alone are of one moment, also in a plan of more than 64
        cells, while the device becomes slower and slower."""
        plan = (
            "--elements",
            "12800",
            "--path",
            "constant,global,readonly",
            "--pattern",
            "distinct",
            "--distinct",
            "1,2,4,8",
            "--stride-bytes",
            "4,8,16,32,64,128",
        )
        modelled = self.modelled(*plan)
        result, _ = self.measure(*plan, "--counters", "none", "--max-samples", "6", drift=4)
        lines = {}
        for cell in result["cells"]:
            lines.setdefault(str(cell["parameters"]), []).append(
                cell["time_ns"]["value"] / modelled[cell["identity"]]
            )
        self.assertEqual([len(line) for line in lines.values()], [3] * 24)
        for line in lines.values():
            self.assertLess(max(line) / min(line), 1.1)
        self.assertGreater(max(map(max, lines.values())) / min(map(min, lines.values())), 1.15)

    def test_a_seed_gives_the_same_times(self):
        one, same, other = (
            [
                cell["time_ns"]["value"]
                for cell in self.measure(*SMALL, "--seed", "1", seed=seed, noise=0.01)[0]["cells"]
            ]
            for seed in (7, 7, 8)
        )
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)


class Progress(Case):
    def test_a_terminal_is_told_the_time_left(self):
        """For all cells, not for those that are timed together."""
        master, slave = os.openpty()
        elements = ",".join(str(1280 * number) for number in range(1, 9))
        with subprocess.Popen(
            [
                CBANK,
                "run",
                "--engine",
                "cuda",
                "--elements",
                elements,
                "--counters",
                "none",
                "--json",
                self.file,
            ],
            stdout=subprocess.DEVNULL,
            stderr=slave,
            env={**os.environ, "CBANK_SIMULATED": ""},
        ):
            os.close(slave)
            said = b""
            with contextlib.suppress(OSError):  # the terminal's other end is closed
                while block := os.read(master, 65536):
                    said += block
        os.close(master)
        self.assertRegex(said.decode(), r"timing: [1-9]\d* of 96 cells, \d+\.\d s left")


class Faults(Case):
    def test_out_of_memory(self):
        lookups = (
            "--workload",
            "lookup",
            "--path",
            "global",
            "--source",
            "random",
            "--elements",
            "1000",
        )
        cells = self.measure(*lookups, "--table-bytes", "64,4194304", status=1, free=4000000)[0][
            "cells"
        ]
        self.assertEqual([cell["status"] for cell in cells], ["ok", "failed"])
        self.assertIn("out of memory for a table of 4194304 bytes", cells[1]["reason"])
        result, _ = self.measure(*SMALL[2:], "--elements", "12800,128000", status=1, free=3000000)
        self.assertEqual(
            {(cell["elements"], cell["status"]) for cell in result["cells"]},
            {(128000, "failed"), (12800, "ok")},
        )
        self.assertIn(
            "out of memory",
            self.cbank("run", *SMALL, "--engine", "cuda", status=3, free=60000).stderr,
        )
        said = self.cbank(
            "run",
            "--elements",
            "128000",
            "--engine",
            "cuda",
            "--json",
            self.path("none"),
            status=2,
            memory=1000000,
        )
        self.assertIn("at most 125000 elements", said.stderr)
        self.assertFalse(os.path.exists(self.path("none")))

    def test_calls_are_logged_and_nothing_is_left(self):
        log, leaks = (os.path.join(self.folder, name) for name in ("log", "leaks"))
        self.measure(log=log, leaks=leaks)
        with open(log, encoding="utf-8") as file:
            calls = [line.split() for line in file]
        self.assertEqual([int(number) for number, _, _ in calls], list(range(1, len(calls) + 1)))
        self.assertIn(["cuLaunchKernel", "1"], [call[1:] for call in calls])
        with open(leaks, encoding="utf-8") as file:
            self.assertEqual(file.read(), "")

    def test_words_that_the_script_does_not_know(self):
        self.cbank("run", *SMALL, "--engine", "cuda", status=99, nonsense=1)

    def test_every_word_of_the_script_is_documented(self):
        with open(os.path.join(ROOT, "tests/simulated/simulated.h"), encoding="utf-8") as file:
            documented, _, code = file.read().partition("*/")
        words = re.findall(r"EACH\((\w+)\)", code.partition("struct settings {")[0])
        self.assertIn("fail", words)
        self.assertGreater(len(words), 40)
        for word in words:
            self.assertRegex(documented, rf"\b{word}\b")


class Characterize(Case):
    """The values of the caches that the probes meet: those of the card that the simulation has."""

    def found(self, new_card="card.json", **settings):
        """{experiment: what it found}"""
        self.cbank(
            "characterize",
            "--quiet",
            "--json",
            self.file,
            "--new-card",
            os.path.join(self.folder, new_card),
            **settings,
        )
        return {one["name"]: one for one in read_json(self.file)["experiments"]}

    @staticmethod
    def kept(found):
        """{level of constant memory: whether it still has its lines after a launch}"""
        return {
            one["level"]: one["value"]
            for one in found["invalidation_constant"]["verdicts"]
            if one["before"] == "launch"
        }

    def test_the_card_is_found_again(self):
        found = self.found()
        self.assertEqual(self.kept(found), {1: "lost", 2: "lost"})
        made, card = (
            read_json(path)["model"]
            for path in (
                os.path.join(self.folder, "card.json"),
                os.path.join(ROOT, "results/cards/h200.json"),
            )
        )
        for key in (
            "l1_requests_per_cycle",
            "texture_requests_per_cycle",
            "constant_address_cycles",
            "constant_l1_bytes",
            "l1_latency_cycles",
            "launch_ns",
            "block_start_ns",
            "block_l2_ns",
            "block_dram_ns",
            "l2_line_ns",
        ):
            self.assertEqual(made[key]["from"], "characterized")
            self.assertAlmostEqual(made[key]["value"] / card[key]["value"], 1, delta=0.01, msg=key)
        # of streams: the simulated L2 gives twice what memory does
        memory = card["dram_bytes_per_ns"]["value"]
        for key, expected in (
            ("l1_limit_requests_per_cycle", card["l1_requests_per_cycle"]["value"]),
            ("l2_limit_bytes_per_ns", 2 * memory),
            ("dram_limit_bytes_per_ns", memory),
        ):
            self.assertEqual(made[key]["experiment"].partition("_")[0], "bandwidth")
            self.assertAlmostEqual(made[key]["value"] / expected, 1, delta=0.01, msg=key)
        widths = [one for one in found["bandwidth_l1"]["numbers"] if one["name"].startswith("read")]
        self.assertEqual([one["stride_bytes"] for one in widths], [4, 8, 16])
        self.assertIn("bandwidth_memory: reads ", self.cbank("show", self.file).stdout)

    @unittest.skipUnless(FULL, "takes long: make test-long")
    def test_streams_where_memory_is_short(self):
        """Of 1 GB a quarter is not eight times L2. Of 0.5 GB that are free, there is no GiB."""
        small = self.found(memory="1e9")["bandwidth_memory"]
        self.assertEqual(small["status"], "skipped")
        self.assertIn("not eight times L2", small["reason"])
        for number in self.found(free="5e8")["bandwidth_memory"]["numbers"]:
            self.assertEqual(
                (number["value"], number["reason"]), (None, "no memory was free for it")
            )

    @unittest.skipUnless(FULL, "takes long: make test-long")
    def test_an_odd_gpu(self):
        """16 slices, the nearest at 273 cycles and the others by the same step up to 40 more:
        each has a sixteenth of lines and SMs. Blocks that run in turn are no warps at once. A
        second level that launches do not empty: what it holds is kept."""
        found = self.found(slices=40, in_turn=1, keep_second=1)
        slices = [273 + 40 * k // 15 for k in range(16)]
        latency = found["geometry_global"]["geometry"]["levels"][1]["latency"]
        self.assertEqual(
            (latency["low"], latency["high"], latency["samples"]),
            (slices[0], slices[-1], 132 * 256),
        )
        self.assertAlmostEqual(latency["value"], sum(slices) / 16, delta=0.5)
        self.assertIn("every SM", latency["method"])
        numbers = found["throughput_constant"]["numbers"]
        values = {one["warps"]: one["value"] for one in numbers if one["name"] == "loads_per_cycle"}
        self.assertEqual([warps for warps, value in values.items() if value is None], [64])
        self.assertEqual(
            {one["reason"] for one in numbers if one["value"] is None},
            {"no SM loaded by all of the warps at once"},
        )
        self.assertEqual(self.kept(found), {1: "lost", 2: "kept"})

    @unittest.skipUnless(FULL, "takes long: make test-long")
    def test_what_was_measured_is_kept(self):
        """After a signal and after kill -9, --resume makes what an undisturbed one has. Whole
        kernels, which take the longest, are in the file before the first probe."""

        def made(found):
            return [
                (one["name"], one["status"], [number["name"] for number in one["numbers"]])
                for one in found
            ]

        whole = made(self.found().values())
        self.assertEqual(whole[0][0], "whole_kernels")
        for number, where in (
            (signal.SIGTERM, "geometry_global"),
            (signal.SIGKILL, "latency_constant"),
        ):
            with self.subTest(number):
                program = subprocess.Popen(
                    [gpu.CBANK, "characterize", "--json", self.path("part.json")],
                    stderr=subprocess.PIPE,
                    text=True,
                )
                for line in program.stderr:
                    if os.path.exists(self.path("part.json")) and where in line:
                        break
                program.send_signal(number)
                said = program.stderr.read()
                program.stderr.close()
                self.assertEqual(program.wait(), -number)
                part = read_json(self.path("part.json"))
                self.assertTrue(part["interrupted"])
                count = len(part["experiments"])
                at = int(line.partition(" ")[0])
                least = at - 1 if number == signal.SIGTERM else 1  # those that had ended by then
                self.assertTrue(least <= count < len(whole))
                self.assertEqual(made(part["experiments"]), whole[:count])
                self.assertEqual(
                    f"characterize --resume {self.path('part.json')} makes the rest" in said,
                    number == signal.SIGTERM,
                )
                self.cbank("characterize", "--quiet", "--resume", self.path("part.json"))
                resumed = read_json(self.path("part.json"))
                self.assertFalse(resumed.get("interrupted", False))
                self.assertEqual(made(resumed["experiments"]), whole)
                for before, after in zip(part["experiments"], resumed["experiments"]):
                    self.assertEqual(before["evidence"], after["evidence"])
                self.cbank("characterize", "--resume", self.path("part.json"), status=2)
                os.remove(self.path("part.json"))

    @unittest.skipUnless(FULL, "takes long: make test-long")
    def test_a_probe_that_fails(self):
        for launch, where in ((400, "whole_kernels failed"), (25000, "the probe")):
            said = self.cbank(
                "characterize",
                "--json",
                self.file,
                status=3,
                fail=f"cuLaunchKernel:{launch}:launch_failure:sticky",
            )
            self.assertRegex(said.stderr, f"{where}.*unspecified launch failure")


@HERE
class PlanAsOnAGpu(gpu.DefaultPlan):
    """Tests for a real GPU."""


@HERE
class AsOnAGpu(gpu.Fields):
    """More of them."""


if FULL:

    @HERE
    class RunsAsOnAGpu(gpu.Runs):
        """And more."""


@unittest.skipUnless(FULL, "takes long: make test-long")
class Trials(Case):
    """scripts/studies/process_trial.py: how far processes differ; gate_trial.py: what the gate
    finds; neighbour_trial.py: what is seen of a neighbour; clock_trial.py: what the clock does."""

    def executable(self, name, *lines):
        with open(
            os.open(os.path.join(self.folder, name), os.O_WRONLY | os.O_CREAT, 0o755),
            "w",
            encoding="utf-8",
        ) as file:
            file.write("\n".join(["#!/bin/sh", *lines]))
        return os.path.join(self.folder, name)

    def tried(self, name, *arguments, status=0):
        """The output of a trial, and again from its report."""
        script = [sys.executable, os.path.join(ROOT, "scripts/studies", name)]
        report = os.path.join(self.folder, "report.json")
        done = subprocess.run(
            [*script, "--json", report, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "CBANK_SIMULATED": "noise=0.0002,known=1"},
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        again = subprocess.run(
            [*script, "--show", report], capture_output=True, text=True, check=False
        )
        self.assertEqual((again.returncode, again.stdout), (status, done.stdout))
        return done.stdout

    def test_what_the_gate_finds(self):
        said = self.tried("gate_trial.py", "--program", CBANK, "--trials", "1", *LARGE)
        self.assertRegex(said, r"nothing changed: +0 false alarms in 1 comparisons")
        self.assertRegex(
            said,
            r"global made 1.5 % slower: +gate failed in 1 of 1, 1 of 1 hot cells called regressed",
        )
        self.assertRegex(
            said,
            r"global made 5 % slower: +gate failed in 1 of 1, 1 of 1 cold cells called regressed",
        )

    def test_what_is_seen_of_a_neighbour(self):
        near = os.path.join(self.folder, "near")
        program = self.executable(
            "cbank",
            f"[ -e {near} ] && CBANK_SIMULATED=$CBANK_SIMULATED,neighbour_ms=2.1",
            f'CBANK_SIMULATED=$CBANK_SIMULATED exec {CBANK} "$@"',
        )
        neighbour = self.executable(
            "neighbour",
            f"[ $1 = idle ] || touch {near}",
            "echo ready",
            "cat >/dev/null",
            f"rm -f {near}",
        )
        trial = ["neighbour_trial.py", "--program", program, "--trials", "2"]
        said = self.tried(*trial, "--neighbour", neighbour, *SMALL)
        self.assertIn("quiet:   0 of 2 results flagged; 95 % of times within ", said)
        self.assertRegex(
            said,
            (
                r"compute: +2 of 2 results flagged; [1-9]\d* of \d+ times outside, 0 not flagged;"
                r" moved by \S+ to \+[1-9]"
            ),
        )
        self.assertRegex(
            said,
            (
                r"idle: +0 of 2 results flagged; \d+ of \d+ times outside, \d+ not flagged; moved"
                r" by [-+]0\.\d+ to [-+]0\.\d+ %"
            ),
        )
        # A flag where there is none.
        with open(near, "w", encoding="utf-8"):
            self.tried(
                *trial,
                "--neighbour",
                self.executable("none", "echo ready", "cat >/dev/null"),
                *SMALL,
                status=1,
            )

    def test_what_the_clock_does(self):
        """A clock that is 0.7 % higher after the heat: none of it is called a change; another
        path that is slower then is."""
        warm = os.path.join(self.folder, "warm")
        neighbour = self.executable("neighbour", f"touch {warm}", "echo ready", "cat >/dev/null")
        lines = [
            f"[ -e {warm} ] && CBANK_SIMULATED=$CBANK_SIMULATED,clock=1994",
            f'CBANK_SIMULATED=$CBANK_SIMULATED exec {CBANK} "$@"',
        ]
        trial = [
            "clock_trial.py",
            "--processes",
            "1",
            "--heat-seconds",
            "0",
            "--neighbour",
            neighbour,
        ]
        said = self.tried(*trial, "--program", self.executable("cbank", *lines), *LARGE)
        self.assertRegex(
            said, r"(?s)H200: 2 processes, .*  1980.\d MHz: 1 processes\n  199[34].\d MHz: 1 "
        )
        self.assertRegex(said, r"at the lowest clock 0.(69|7\d)% longer than at the highest: add/")
        self.assertRegex(said, r"between which the clock moved: 1; 0 of \d+ cells called changed")
        os.remove(warm)
        lines[0] += ",slow=global,slow_factor=1.02"
        said = self.tried(*trial, "--program", self.executable("cbank", *lines), *LARGE, status=1)
        self.assertRegex(
            said, r"between which the clock moved: 1; [1-9]\d* of \d+ cells called changed"
        )

    def test_processes_alike(self):
        """Whether three are enough for an interval of 95 % is not asked here."""
        report, folder = self.path("report.json"), self.path("processes")
        done = subprocess.run(
            [
                os.path.join(ROOT, "scripts/studies/process_trial.py"),
                "--program",
                CBANK,
                "--json",
                report,
                "--run",
                "3",
                "--folder",
                folder,
                *SMALL,
                "--counters",
                "none",
            ],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "CBANK_SIMULATED": script(noise=0.0001, known=1)},
        )
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        found = read_json(report)
        self.assertEqual((found["processes"], len(found["cells"])), (3, 4))
        self.assertEqual([pair["changed"] for pair in found["pairs"]], [[], [], []])


if __name__ == "__main__":
    unittest.main()
