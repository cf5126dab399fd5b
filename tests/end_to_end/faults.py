#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The behaviour of a run that the GPU, the disk or the user ends: on the simulated GPU
(tests/simulated), with planted faults. CBANK names the program that is linked to it (default
build/tests/simulated/cbank, of `make simulated`)."""

import json
import os
import random
import re
import resource
import signal
import subprocess
import time
import unittest

import jsonschema

from common import ROOT, Scratch, measuring_calls, repetitions

SIMULATED = os.path.abspath(
    os.environ.get("CBANK", os.path.join(ROOT, "build/tests/simulated/cbank"))
)
FOLDER = os.path.dirname(SIMULATED)
SLOWER = 3  # sanitizers, and a busy machine, take their time to begin and to end

PLAN = ["--elements", "12800"]
CELLS = 12
CULPRIT = "add/global/per_warp/12800/1024/hot"
# Nothing settles for seconds of simulated time, which passes in wall time: to be interrupted.
LONG = ["--max-noise", "0.001", "--max-samples", "5000", "--max-seconds", "60"]
PACE = "pace=1,noise=0.1"


def in_progress(cell):
    return (
        cell["status"] == "pending"
        and cell["time_ns"]["stop_reason"] is None
        and cell["time_ns"]["samples"]
    )


@unittest.skipUnless(
    os.path.exists(SIMULATED),
    "no program for the simulated GPU: make simulated, with a CUDA toolkit",
)
class Faults(Scratch):
    """A folder, in it x.json, and what the last run said."""

    def setUp(self):
        super().setUp()
        self.file = self.path("x.json")

    def start(self, faults, *arguments, **options):
        environment = {
            **os.environ,
            "CBANK_CUPTI_DIR": FOLDER,
            "CUDA_HOME": "",
            "CUDA_PATH": "",
            "CBANK_SIMULATED": faults,
        }
        return subprocess.Popen(
            [SIMULATED, "run", *arguments],
            cwd=self.folder,
            text=True,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    def end(self, process, code):
        self.out, self.said = process.communicate(timeout=120)
        self.assertEqual(process.returncode, code, self.said + self.out)
        return self.read() if os.path.exists(self.file) and os.path.getsize(self.file) else None

    def run_with(self, faults, code, *arguments, **options):
        """A new run of the plan; the result, if there is a file."""
        return self.end(self.start(faults, "--json", "x.json", *PLAN, *arguments, **options), code)

    def resume(self, code, *arguments):
        return self.end(self.start("", "--resume", "x.json", *arguments), code)

    def read(self, name="x.json"):
        with open(self.path(name), encoding="utf-8") as file:
            result = json.load(file)
        with open(os.path.join(ROOT, "results/schema.json"), encoding="utf-8") as file:
            jsonschema.validate(result, json.load(file))
        return result

    def statuses(self, result):
        found = [cell["status"] for cell in result["cells"]]
        return {status: found.count(status) for status in set(found)}

    def cell(self, result, identity):
        return next(cell for cell in result["cells"] if cell["identity"] == identity)

    def assert_whole(self, result, resumed=None):
        """Every cell is there, measured, verified and counted; and has the samples that it had."""
        self.assertTrue(result["complete"])
        self.assertIsNone(result["ended"])
        self.assertEqual(self.statuses(result), {"ok": CELLS})
        for cell in result["cells"]:
            self.assertTrue(
                cell["verified"] and cell["time_ns"]["stop_reason"] and cell["counters"],
                cell["identity"],
            )
            self.assertEqual(cell["exact_counters"]["differing"], 0)
            self.assertNotIn("clocks_mhz", cell["time_ns"])
        for before in resumed["cells"] if resumed else []:
            after = self.cell(result, before["identity"])
            count = len(before["time_ns"]["samples"])
            self.assertEqual(after["time_ns"]["samples"][:count], before["time_ns"]["samples"])
            more = len(after["time_ns"]["samples"]) > count > 0
            self.assertEqual(
                "resumed" in after["flags"],
                more or "resumed" in before["flags"],
                before["identity"],
            )
            if count:
                self.assertEqual(
                    after["time_ns"]["launches_per_sample"],
                    before["time_ns"]["launches_per_sample"],
                )

    def assert_ended(self, result, cell, *words):
        """The run ended at once: one cell failed, the others are pending, and the message says
        which, why and what to do."""
        self.assertFalse(result["complete"])
        self.assertEqual(result["ended"]["cell"], cell)
        self.assertEqual(
            self.statuses(result),
            {"failed": 1, "pending": CELLS - 1} if cell else {"pending": CELLS},
        )
        if cell:
            self.assertEqual(self.cell(result, cell)["status"], "failed")
            self.assertIn(cell, self.said)
        for word in (*words, "cbank run --resume x.json"):
            self.assertIn(word, self.said)
        self.assertIn("result: x.json", self.out)

    def calls_of(self, function, after=None):
        """Which calls of a function there are in a run without a fault: numbers among its own;
        behind the first of another."""
        lines = self.calls()
        first = next((i for i, (_, name, _) in enumerate(lines) if name == after), 0)
        return [int(own) for _, name, own in lines[first:] if name == function]

    def last_call(self, function):
        return self.calls_of(function)[-1]

    def calls(self):
        log = os.path.join(self.folder, "calls")
        if not os.path.exists(log):
            self.run_with(f"log={log}", 0, "--seed", "1")
        return measuring_calls(log)


class Sticky(Faults):
    """An error that ends the context."""

    def test_while_verifying(self):
        result = self.run_with(f"kernel_fault={CULPRIT}:illegal_address:1", 1)
        self.assert_ended(result, CULPRIT, "cudaStreamSynchronize", "an illegal memory access")
        failed = [cell["identity"] for cell in result["cells"]].index(CULPRIT)
        self.assertEqual(
            [cell["verified"] for cell in result["cells"]], [i < failed for i in range(CELLS)]
        )
        self.assert_whole(self.resume(0), result)

    def test_while_timing(self):
        result = self.run_with(f"kernel_fault={CULPRIT}:illegal_address:6000", 1)
        self.assert_ended(result, CULPRIT, "cudaStreamSynchronize", "an illegal memory access")
        self.assertTrue(
            all(in_progress(cell) for cell in result["cells"] if cell["status"] == "pending")
        )
        self.assertTrue(self.cell(result, CULPRIT)["time_ns"]["samples"])
        self.assert_whole(self.resume(0), result)

    def test_names_the_cell_whatever_the_order_is(self):
        for seed, identity, nth in (
            (1, "add/constant/pseudo_random/12800/1024/hot", 300),
            (2, CULPRIT, 3000),
            (3, "add/readonly/per_block/12800/1024/hot", 777),
        ):
            result = self.run_with(
                f"kernel_fault={identity}:launch_failure:{nth}", 1, "--seed", str(seed)
            )
            self.assert_ended(result, identity)

    def test_while_counting(self):
        calls = self.calls_of("cudaStreamSynchronize", after="cuptiRangeProfilerPushRange")
        result = self.run_with(
            f"fail=cudaStreamSynchronize:{calls[len(calls) // 2]}:launch_failure:sticky",
            1,
            "--seed",
            "1",
        )
        self.assert_ended(
            result, result["ended"]["cell"], "while counting", "cudaStreamSynchronize"
        )
        self.assertTrue(all(cell["time_ns"]["stop_reason"] for cell in result["cells"]))
        self.assert_whole(self.resume(0), result)

    def test_device_lost_while_counting_is_a_finding(self):
        calls = self.calls_of("cuptiRangeProfilerStop")
        result = self.run_with(
            f"fail=cuptiRangeProfilerStop:{calls[-1]}:unknown,"
            f"fail=cuLaunchKernel:{self.last_call('cuLaunchKernel') + 1}:lost:sticky",
            1,
            "--seed",
            "1",
        )
        self.assert_ended(result, None, "cuptiRangeProfilerStop")
        self.assertNotIn("counters were not read", self.said)
        self.assert_whole(self.resume(0), result)

    def test_samples_of_another_timing_scheme_are_not_continued(self):
        """Those of an older file too, which does not say how its samples were taken."""
        result = self.run_with(f"kernel_fault={CULPRIT}:illegal_address:6000", 1)
        ours = result["timing_scheme"]
        self.assertGreater(ours, 0)
        for scheme in (ours + 1, None):
            self.write({**result, "timing_scheme": scheme})
            before = self.read()
            self.assertEqual(self.resume(3), before)
            self.assertIn("x.json has samples that were timed in another way", self.said)
            self.assertIn("resume with the cbank that began the run, or begin a new run", self.said)
        for cell in result["cells"]:  # nothing of the other scheme is left
            cell["time_ns"].update(samples=[], clocks_mhz=[])
        self.write({**result, "timing_scheme": ours + 1})
        whole = self.resume(0)
        self.assert_whole(whole)
        self.assertEqual(whole["timing_scheme"], ours)

    def write(self, result):
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump(result, file)

    def test_settled_cells_are_kept(self):
        result = self.run_with("", 1, "--fault", "out_of_bounds")
        self.assert_ended(result, result["ended"]["cell"], "an illegal memory access")
        self.assertEqual(
            sum(cell["time_ns"]["stop_reason"] is not None for cell in result["cells"]), CELLS - 1
        )
        self.assert_whole(self.resume(0), result)


class OneCell(Faults):
    """An error after which the device works: one cell fails, the others go on."""

    def one_failed(self, faults, call):
        result = self.run_with(faults, 1)
        self.assertTrue(result["complete"])
        self.assertIsNone(result["ended"])
        self.assertEqual(self.statuses(result), {"failed": 1, "ok": CELLS - 1})
        failed = next(cell for cell in result["cells"] if cell["status"] == "failed")
        for word in (failed["identity"], call, "--retry-failed"):
            self.assertIn(word, self.said)
        self.assertIn(call, failed["reason"])
        return result

    def test_is_retried_when_that_is_asked_for(self):
        before = self.one_failed(
            "fail=cudaGraphInstantiateWithFlags:5:out_of_resources", "cudaGraphInstantiateWithFlags"
        )
        after = self.resume(1)
        self.assertIn("1 that failed; --retry-failed tries them again", self.said)
        self.assertNotIn("nothing is missing", self.said)
        self.assertEqual(self.statuses(after), self.statuses(before))
        self.assert_whole(self.resume(0, "--retry-failed"), before)
        self.resume(0)
        self.assertIn("nothing is missing", self.said)

    def test_of_a_module(self):
        self.one_failed("fail=cuModuleLoadData:2:invalid_image", "cuModuleLoadData")

    def test_of_a_launch(self):
        # behind those of the empty kernel, which are 31 samples of a warm-up and eight draws
        self.one_failed("fail=cudaGraphLaunch:300:out_of_resources", "cudaGraphLaunch")

    def verifying(self, cell):
        """[(function, which call of it)] of the launch that verifies a cell, by its number."""
        lines = self.calls()
        first = [i for i, (_, name, _) in enumerate(lines) if name == "cudaMemsetAsync"][
            cell - CELLS
        ]
        os.remove(self.file)
        return [(name, own) for _, name, own in lines[first : first + 4]]

    def test_while_verifying(self):
        calls = self.verifying(5)
        self.assertEqual(
            [name for name, _ in calls],
            ["cudaMemsetAsync", "cuLaunchKernel", "cudaMemcpyAsync", "cudaStreamSynchronize"],
        )
        for name, own in calls:
            cells = self.one_failed(
                f"fail={name}:{own}:out_of_resources", f"launch failed: {name}"
            )["cells"]
            self.assertEqual([cell["verified"] for cell in cells], [i != 5 for i in range(CELLS)])
            os.remove(self.file)

    def test_while_the_one_before_is_compared(self):
        for name, own in self.verifying(5):
            cells = self.run_with(f"fail={name}:{own}:out_of_resources,wrong=5", 1)["cells"]
            self.assertEqual(
                [cell["status"] for cell in cells], ["ok"] * 4 + ["failed"] * 2 + ["ok"] * 6
            )
            self.assertIn("wrong output", cells[4]["reason"])
            self.assertIn(f"launch failed: {name}", cells[5]["reason"])
            os.remove(self.file)

    def test_retrying_needs_a_file(self):
        self.run_with("", 2, "--retry-failed")
        self.assertIn("--resume", self.said)


class Hang(Faults):
    """A call that does not come back."""

    def test_of_a_kernel(self):
        begin = time.monotonic()
        result = self.run_with(f"hang_kernel={CULPRIT}:6000", 1, "--watchdog-slack", "0.5")
        self.assertLess(time.monotonic() - begin, 5)
        self.assert_ended(result, CULPRIT, "cudaStreamSynchronize did not come back in 0.5 s")
        self.assertTrue(
            all(in_progress(cell) for cell in result["cells"] if cell["status"] == "pending")
        )
        self.assert_whole(self.resume(0), result)

    def test_of_a_copy(self):
        result = self.run_with("hang=cudaMemcpyAsync:3", 1, "--watchdog-slack", "0.3")
        self.assert_ended(result, result["ended"]["cell"], "cudaMemcpyAsync did not come back")
        self.assert_whole(self.resume(0), result)

    def test_seconds_in_which_the_process_is_stopped_do_not_count(self):
        """As by Ctrl-Z or a scheduler."""
        process = self.start(
            "hang=cudaGetDeviceCount:1", "--json", "x.json", *PLAN, "--watchdog-slack", "2"
        )
        time.sleep(0.7)
        process.send_signal(signal.SIGSTOP)
        time.sleep(4)
        process.send_signal(signal.SIGCONT)
        self.end(process, 1)
        self.assertRegex(self.said, r"asking for GPUs did not come back in [23](\.[0-9])? s")

    def test_before_anything_is_measured(self):
        result = self.run_with("hang=cudaGetDeviceCount:1", 1, "--watchdog-slack", "0.3")
        self.assertIsNone(result)
        self.assertIn("did not come back in 0.3 s, and nothing was measured", self.said)

    def test_of_characterizing(self):
        process = subprocess.run(
            [SIMULATED, "characterize", "--json", "c.json", "--watchdog-slack", "0.3"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "CBANK_SIMULATED": "hang=cuModuleLoadData:2"},
        )
        self.assertEqual(process.returncode, 1, process.stderr)
        self.assertIn("cuModuleLoadData did not come back", process.stderr)


class Interrupted(Faults):
    """Signals, and SIGKILL."""

    def samples(self, result):
        return sum(len(cell["time_ns"]["samples"]) for cell in result["cells"])

    def interrupt(self, faults, number, after, *arguments):
        """The result of a run that got a signal; seconds until it ended."""
        with self.start(faults, "--json", "x.json", *PLAN, *LONG, *arguments) as process:
            time.sleep(after * SLOWER)
            begin = time.monotonic()
            process.send_signal(number)
            result = self.end(process, -number)
        return result, time.monotonic() - begin

    def test_ends_within_a_second(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            result, seconds = self.interrupt(PACE, number, 0.8)
            self.assertLess(seconds, SLOWER)
            self.assertFalse(result["complete"])
            self.assertIsNone(result["ended"])
            self.assertGreater(self.samples(result), 0)
            self.assertIn("result: x.json", self.out)
            self.assertIn("interrupted; cbank run --resume x.json", self.said)
            os.remove(self.file)

    def test_ends_within_a_second_when_the_device_does_not_answer(self):
        for faults in (f"{PACE},hang_kernel={CULPRIT}:20000", "hang=cudaStreamSynchronize:90"):
            result, seconds = self.interrupt(faults, signal.SIGTERM, 0.8)
            self.assertLess(seconds, SLOWER)
            self.assertFalse(result["complete"])
            self.assertIn("result: x.json", self.out)
            self.assertNotIn("CI: within -", self.out)
            os.remove(self.file)

    def test_a_second_signal_kills(self):
        with self.start("hang=cudaStreamSynchronize:90", "--json", "x.json", *PLAN) as process:
            time.sleep(0.5 * SLOWER)
            process.send_signal(signal.SIGTERM)
            time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            self.end(process, -signal.SIGINT)
        self.assertEqual(self.out, "")

    def test_the_same_signal_at_once_is_one(self):
        """GNU timeout sends it to the process, and to the group that it is in."""
        with self.start(PACE, "--json", "x.json", *PLAN, *LONG) as process:
            time.sleep(0.8 * SLOWER)
            process.send_signal(signal.SIGTERM)
            time.sleep(0.02)
            process.send_signal(signal.SIGTERM)
            result = self.end(process, -signal.SIGTERM)
        self.assertGreater(self.samples(result), 0)
        self.assertIn("interrupted; cbank run --resume x.json", self.said)

    def test_goes_on_with_the_samples(self):
        result, _ = self.interrupt(PACE, signal.SIGTERM, 0.6, "--max-samples", "400", "--seed", "7")
        whole = self.resume(0)
        self.assert_whole(whole, result)
        self.assertEqual({len(cell["time_ns"]["samples"]) for cell in whole["cells"]}, {400})

    def test_killed_at_any_moment(self):
        chosen = random.Random(1)
        for _ in range(repetitions(200, 10)):
            seconds = chosen.uniform(0.05, 1.6)
            with self.start(
                PACE, "--json", "x.json", *PLAN, *LONG, stdin=subprocess.DEVNULL
            ) as process:
                time.sleep(seconds)
                killed = time.time()
                process.kill()
                result = self.end(process, -signal.SIGKILL)
            if seconds > 1.2:
                self.assertIsNotNone(result)
            if result and self.samples(result):
                # Nothing that was measured more than a second before is missing.
                self.assertGreater(os.stat(self.file).st_mtime, killed - 1)
            if result:
                os.remove(self.file)
        self.assertEqual(
            [
                name
                for name in os.listdir(self.folder)
                if name.startswith("x.json") and not name.endswith(".tmp")
            ],
            [],
        )

    def test_resumes_after_a_kill_to_the_same_cells(self):
        with self.start(
            PACE, "--json", "x.json", *PLAN, "--max-noise", "0.001", "--max-samples", "300"
        ) as process:
            until = time.monotonic() + 60
            while time.monotonic() < until and not (
                os.path.exists(self.file)
                and os.path.getsize(self.file)
                and any(in_progress(cell) for cell in self.read()["cells"])
            ):
                time.sleep(0.05)
            process.kill()
            result = self.end(process, -signal.SIGKILL)
        self.assertTrue(any(in_progress(cell) for cell in result["cells"]))
        self.assert_whole(self.resume(0), result)


class Disk(Faults):
    """A file that cannot be written."""

    def limited(self, faults, *arguments):
        """A run whose files may have 2 KiB."""

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        return self.run_with(faults, 2, *arguments, preexec_fn=limit)

    def test_the_table_is_printed_all_the_same(self):
        self.assertIsNone(self.limited(""))
        self.assertIn("12 of 12 ok", self.out)
        self.assertNotIn("result: x.json", self.out)
        self.assertIn("the result is not written: it would be in x.json", self.said)

    def test_measuring_goes_on_and_it_is_said_once(self):
        self.assertIsNone(self.limited(PACE, "--max-noise", "0.001", "--max-samples", "250"))
        self.assertIn("12 of 12 ok", self.out)
        self.assertEqual(len(re.findall("measuring goes on", self.said)), 1)
        # while measuring, and at the end
        self.assertEqual(len(re.findall("cannot write", self.said)), 2)


class SeveralDevices(Faults):
    """--device all: one after the other, each with a file of its own."""

    def test_one_finding_is_that_of_all(self):
        self.run_with("devices=3,wrong=5", 1, "--device", "all")
        self.assertEqual(self.said.count("wrong output"), 1)
        found = []
        for device in range(3):
            self.assertIn(f"result: x-device{device}.json", self.out)
            found.append(self.read(f"x-device{device}.json"))
        self.assertEqual(len({result["device"]["uuid"] for result in found}), 3)

    def test_a_plan_that_cannot_be_is_said_once(self):
        self.end(self.start("devices=3", "--device", "all", "--elements", "0"), 2)
        self.assertEqual(self.said.count("error"), 1)

    def test_a_signal_ends_all(self):
        with self.start(
            f"devices=3,{PACE}", "--json", "x.json", "--device", "all", *PLAN, *LONG
        ) as process:
            time.sleep(1.2 * SLOWER)
            process.send_signal(signal.SIGTERM)
            self.end(process, -signal.SIGTERM)
        self.assertFalse(self.read("x-device0.json")["complete"])
        self.assertIn("cbank run --resume x-device0.json", self.said)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "x-device1.json")))


if __name__ == "__main__":
    unittest.main()
