#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The board in a result, on the simulated GPU: its part number and the groups of SMs that share a
constant cache. CBANK names the program that is linked to it (default
build/tests/simulated/cbank)."""

import json
import os
import signal
import subprocess
import time
import unittest

import jsonschema

from common import NOT_QUICK, QUICK, ROOT, Scratch, kept_folder, read_json, repetitions

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/tests/simulated/cbank")))
PLAN = [
    *("--engine", "cuda", "--path", "constant", "--pattern", "per_warp,per_block"),
    *("--elements", "12800", "--counters", "none", "--max-samples", "6", "--max-noise", "50"),
    *("--seed", "1"),
]
PART = "900-00000-0000-000"  # of the simulated boards
SIZES = {
    # CBANK_SIMULATED: sizes, the largest first. The card's 132 SMs share by 18.
    "seed=1": [18] * 7 + [6],
    "groups=14+16+16+16+16+18+18+18": [18, 18, 18, 16, 16, 16, 16, 14],
    "groups=16+18+16+16+18+16+16+16": [18, 18, 16, 16, 16, 16, 16, 16],
}


@unittest.skipUnless(os.path.exists(CBANK), "no simulated GPU: make simulated, with a CUDA toolkit")
class Board(Scratch):
    def setUp(self):
        super().setUp()
        self.file = self.path("result.json")
        self.env = {
            **os.environ,
            "CBANK_CUPTI_DIR": os.path.dirname(CBANK),
            "COLUMNS": "200",
        }

    def simulated(self, settings, *arguments, status=0, **env):
        done = subprocess.run(
            [CBANK, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**self.env, "CBANK_SIMULATED": settings, **env},
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def measured(self, settings, *arguments, status=0, **env):
        """The result of a run, and what it printed."""
        done = self.simulated(
            settings, "run", *(arguments or PLAN), "--json", self.file, status=status, **env
        )
        return self.valid(self.file), done.stdout + done.stderr

    def valid(self, path, schema="schema.json"):
        document = read_json(path)
        jsonschema.Draft202012Validator(read_json(os.path.join(ROOT, "results", schema))).validate(
            document
        )
        return document

    def assert_board(self, board, sizes, part=PART):
        self.assertEqual(
            board,
            {
                "part_number": part,
                "part_number_reason": None,
                "constant_cache_groups": sizes,
                "constant_cache_groups_reason": None,
            },
        )

    def test_a_run_finds_the_groups_that_the_gpu_has(self):
        for settings, sizes in SIZES.items():
            self.assert_board(self.measured(settings)[0]["device"]["board"], sizes)

    @unittest.skipIf(QUICK, NOT_QUICK)
    def test_a_run_finds_the_groups_that_characterize_finds(self):
        for settings, sizes in list(SIZES.items())[: repetitions(2, 1)]:
            self.assert_board(self.measured(settings)[0]["device"]["board"], sizes)
            path = self.path("characterization.json")
            self.simulated(settings, "characterize", "--quiet", "--json", path)
            document = self.valid(path, "characterization.schema.json")
            experiment = next(
                one for one in document["experiments"] if one["name"] == "sharing_constant"
            )
            self.assertEqual(sorted(map(len, experiment["groups"]), reverse=True), sizes)
            self.assert_board(document["device"]["board"], sizes)

    def test_show_and_the_doctor_say_it(self):
        words = f"part number {PART}; L1.5 constant caches of 2 x 18 + 6 x 16 SMs"
        settings, sizes = list(SIZES.items())[2]
        result, said = self.measured(settings)
        self.assertIn(f"board: {words}", said)
        cell = self.simulated(
            settings, "show", self.file, "--cell", result["cells"][0]["identity"]
        ).stdout
        self.assertRegex(cell, rf"part number\s+{PART}")
        self.assertRegex(cell, r"SMs of each L1.5 constant cache\s+2 x 18 \+ 6 x 16")
        self.assertIn(words, " ".join(self.simulated(settings, "doctor").stdout.split()))
        found = json.loads(self.simulated(settings, "doctor", "--json").stdout)
        self.assert_board(found["devices"][0]["board"], sizes)

    def last_call_fails(self, function, *plan):
        """Settings in which the run's last call of the function, which is the probe's, fails."""
        calls = self.calls("run", *(plan or PLAN))
        return f"fail={function}:{calls.count(function)}:memory"

    def calls(self, *arguments):
        """The functions that a run calls."""
        log = os.path.join(kept_folder(type(self)), "log")
        self.simulated(f"log={log}", *arguments, "--json", self.file)
        with open(log, encoding="utf-8") as file:
            return [line.split()[1] for line in file]

    def test_every_device_has_its_own(self):
        folder = self.path("both/")
        self.simulated("devices=2", "run", *PLAN, "--device", "all", "--json", folder)
        names = os.listdir(folder)
        self.assertEqual(len(names), 2)
        for name in names:
            device = self.valid(os.path.join(folder, name))["device"]
            self.assert_board(device["board"], SIZES["seed=1"])

    def test_times_and_counters_are_as_without_it(self):
        """A probe that cannot be opened is none."""
        plan = [*PLAN, "--counters", "idc_requests,gcc_constant_requests"]
        found = [
            self.measured(settings, *plan)[0]
            for settings in ("seed=1", self.last_call_fails("cudaMalloc", *plan))
        ]
        self.assertIsNone(found[1]["device"]["board"]["constant_cache_groups"])
        for key in ("time_ns", "counters", "flags"):
            self.assertEqual(*([cell[key] for cell in result["cells"]] for result in found))

    def test_the_probe_comes_after_all_that_is_measured_and_once(self):
        calls = self.calls("run", *PLAN, "--duration")
        # As many launches as the probe makes: a flush and itself with each of 132 SMs first.
        last_graph = max(i for i, call in enumerate(calls) if call == "cudaGraphLaunch")
        activity = max(i for i, call in enumerate(calls) if call == "cuptiActivityDisable")
        last = calls[max(last_graph, activity) :]
        self.assertEqual(last.count("cuLaunchKernel"), 2 * 132)
        self.assertEqual(last.count("cuModuleLoadData"), 1)

    def test_no_part_number(self):
        board = self.measured("part=none")[0]["device"]["board"]
        self.assertEqual(
            (board["part_number"], board["part_number_reason"]), (None, "operation not supported")
        )
        self.assertEqual(board["constant_cache_groups"], SIZES["seed=1"])

    def test_an_nvml_without_the_function(self):
        """The library of an older driver: the name is another one."""
        name = b"nvmlDeviceGetBoardPartNumber"
        with open(os.path.join(os.path.dirname(CBANK), "libsimulated.so"), "rb") as file:
            code = file.read()
        self.assertIn(name, code)
        with open(self.path("libnvidia-ml.so.1"), "wb") as file:
            file.write(code.replace(name, name[:-1] + b"_"))
        result, said = self.measured("", LD_LIBRARY_PATH=self.folder)
        board = result["device"]["board"]
        self.assertEqual(
            (board["part_number"], board["part_number_reason"]),
            (None, "this NVML has no such function"),
        )
        self.assertEqual(result["device"]["vbios"], "00.00.00.00.00")
        self.assertIn("part number not known: this NVML has no such function", said)

    def test_a_probe_that_is_refused(self):
        for settings, reason, warns in (
            ("busy_sms=1", "the SMs did not all run at the same time", False),
            ("groups=132", "the times of loads do not tell", False),
            ("kernel_fault=probe_sharing:launch_failure", "unspecified launch failure", True),
            (self.last_call_fails("cudaMalloc"), "cudaMalloc: out of memory", True),
            (self.last_call_fails("cuModuleLoadData"), "cuModuleLoadData: out of memory", True),
        ):
            result, said = self.measured(settings)
            board = result["device"]["board"]
            self.assertIsNone(board["constant_cache_groups"], settings)
            self.assertIn(reason, board["constant_cache_groups_reason"])
            self.assertEqual(board["part_number"], PART)
            self.assertEqual({cell["status"] for cell in result["cells"]}, {"ok"})
            self.assertTrue(result["complete"])
            self.assertIn(f"not known: {board['constant_cache_groups_reason']}", said)
            self.assertEqual("warning: SMs that share" in said, warns)
        # The run again, without the fault: what was not known is found.
        self.simulated("", "run", "--resume", self.file)
        self.assert_board(self.valid(self.file)["device"]["board"], SIZES["seed=1"])

    def test_what_is_known_is_not_probed_again(self):
        settings = list(SIZES)[1]
        self.measured(settings)
        self.simulated("busy_sms=1,part=none", "run", "--resume", self.file)
        self.assert_board(self.valid(self.file)["device"]["board"], SIZES[settings])

    def test_an_interrupted_run_has_it(self):
        for stop, probed in ((signal.SIGINT, True), (signal.SIGKILL, False)):
            with subprocess.Popen(
                [CBANK, "run", "--engine", "cuda", "--json", self.file],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**self.env, "CBANK_SIMULATED": "pace=1"},
            ) as run:
                self.wait_for_samples()
                run.send_signal(stop)
            result = self.valid(self.file)
            self.assertFalse(result["complete"])
            board = result["device"]["board"]
            self.assertEqual(board["part_number"], PART)
            self.assertEqual(board["constant_cache_groups"], SIZES["seed=1"] if probed else None)
            self.assertEqual(board["constant_cache_groups_reason"] is None, probed)
            self.simulated("", "run", "--resume", self.file)
            self.assert_board(self.valid(self.file)["device"]["board"], SIZES["seed=1"])
            os.unlink(self.file)

    def wait_for_samples(self):
        """Until the file has a sample: it is written twice a second."""
        for _ in range(600):
            if os.path.exists(self.file) and any(
                cell["time_ns"]["samples"] for cell in read_json(self.file)["cells"]
            ):
                return
            time.sleep(0.05)
        self.fail("no sample was saved")

    def test_predictions_and_older_results_have_none(self):
        self.simulated("", "run", *PLAN[2:], "--engine", "model", "--json", self.file)
        result = self.valid(self.file)
        self.assertIsNone(result["device"]["board"])
        self.assertIn("board", result["null_reasons"])
        self.assertNotIn("board:", self.simulated("", "show", self.file).stdout)
        self.measured("")
        result = read_json(self.file)
        del result["device"]["board"]
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump(result, file)
        self.assertNotIn("board:", self.simulated("", "show", self.file).stdout)

    def test_a_comparison_has_the_board_of_each_side(self):
        base = self.path("base.json")
        self.measured("")
        os.rename(self.file, base)
        self.measured(list(SIZES)[1])
        made = self.path("comparison.json")
        # One process a side of a GPU that nobody measured decides nothing.
        self.simulated("", "compare", base, self.file, "--json", made, status=4)
        document = self.valid(made, "comparison.schema.json")
        self.assert_board(document["base"]["device"]["board"], SIZES["seed=1"])
        self.assert_board(document["new"]["device"]["board"], list(SIZES.values())[1])

    def test_groups_that_are_no_numbers_are_refused(self):
        self.measured("")
        result = read_json(self.file)
        for groups in ([0], [1.5], ["18"], "18", [18] * 300):
            result["device"]["board"]["constant_cache_groups"] = groups
            with open(self.file, "w", encoding="utf-8") as file:
                json.dump(result, file)
            said = self.simulated("", "show", self.file, status=2).stderr
            self.assertIn("constant_cache_groups", said)


if __name__ == "__main__":
    unittest.main()
