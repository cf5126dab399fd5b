#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every call of the engine fails once: a walk over the calls that a run of three cells makes on
the simulated GPU, and one of each launch path. Each is planted to fail once, and to fail from then
on, as a device that is lost does; those that wait also never to come back. The classes of errors
take turns over the first, a middle and the last call of each function; so do one call and all from
then on.
CBANK_TEST=full: these have every class, and the classes take turns over all other calls."""

import concurrent.futures
import itertools
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import faults
from common import FULL, read_json

# Short samples: each launch of a long one is a call like the one before.
PLAN = [
    "--duration",
    "--elements",
    "12800",
    "--pattern",
    "per_warp",
    "--seed",
    "1",
    "--sample-us",
    "20",
]
LAUNCHES = [
    "--workload",
    "launch_overhead",
    "--parameter-bytes",
    "16384",
    "--symbol-bytes",
    "1024",
    "--duration",
    "--seed",
    "1",
    "--sample-us",
    "20",
    "--max-samples",
    "10",
]
# Calls that undo another: where they fail, nothing else is to blame for a leak.
ENDS = re.compile("Free|Destroy|Unload|Close|Shutdown|Deinit|DeInit|Disable", re.IGNORECASE)
# Calls that wait while cells are measured. A call before that may take as long as opening a device.
WAITS = ("cudaStreamSynchronize", "cudaGraphLaunch", "cudaMemcpyAsync")
# Errors by the names of tests/simulated/errors.def: of one call, and of all that follow.
ONCE = ("unknown", "memory", "invalid", "permission", "not_supported", "operation")
FOR_GOOD = ("launch_failure", "illegal_address", "ecc", "lost", "timeout")
CALL = re.compile(r"\b(cuda|cu|cupti|nvml)[A-Z]\w+")


class Run:
    """One run in a folder of its own."""

    def __init__(self, folder, planted, plan):
        self.folder, self.planted, self.plan = folder, planted, plan
        self.path = os.path.join(folder, "x.json")
        self.leaks = os.path.join(folder, "leaks")

    def cbank(self, planted, *arguments):
        environment = {
            **os.environ,
            "CBANK_CUPTI_DIR": faults.FOLDER,
            "CBANK_SIMULATED": ",".join(filter(None, [planted, f"leaks={self.leaks}"])),
        }
        process = subprocess.run(
            [faults.SIMULATED, "run", "--quiet", *arguments],
            cwd=self.folder,
            env=environment,
            text=True,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return process.returncode, process.stderr

    def result(self):
        if not os.path.exists(self.path) or os.path.getsize(self.path) == 0:
            return None
        return read_json(self.path)

    def wrong(self):
        """The first thing that the program did wrong; None when nothing is."""
        patience = ["--watchdog-slack", "0.5"] if self.planted.startswith("hang=") else []
        code, said = self.cbank(self.planted, "--json", "x.json", *self.plan, *patience)
        result = self.result()
        if code not in (0, 1, 3):
            return f"exit {code}: {said}"
        if code == 3:
            return self.wrong_refusal(result, said)
        if patience and code != 1:
            return f"exit {code} of a call that does not come back: {said}"
        return (
            self.wrong_end(code, result, said)
            or self.wrong_resume(result, code)
            or self.wrong_leaks(said)
        )

    def wrong_refusal(self, result, said):
        if "cbank: error: " not in said:
            return f"exit 3 without a word: {said}"
        if result and any(cell["time_ns"]["samples"] for cell in result["cells"]):
            return f"exit 3, and there are samples: {said}"
        return None

    def wrong_end(self, code, result, said):
        if not result:
            return f"exit {code}, and no result: {said}"
        failed = [cell for cell in result["cells"] if cell["status"] == "failed"]
        pending = [cell for cell in result["cells"] if cell["status"] == "pending"]
        if code == 0 and (failed or pending or not result["complete"]):
            return f"exit 0 with {len(failed)} failed, {len(pending)} pending cells: {said}"
        if code == 1 and not failed and not result["ended"]:
            return f"exit 1 without a reason in the file: {said}"
        if code == 1 and not (CALL.search(said) and "cbank run --resume x.json" in said):
            return f"neither call nor remedy: {said}"
        if failed and failed[0]["identity"] not in said:
            return f"the cell {failed[0]['identity']} is not named: {said}"
        if pending and not result["ended"]:
            return f"pending cells of a run that did not end before its time: {said}"
        return None

    def wrong_resume(self, result, code):
        if code == 0:
            return None
        code, said = self.cbank("", "--resume", "x.json", "--retry-failed")
        after = self.result()
        if code != 0 or not after["complete"]:
            return f"resuming: exit {code}: {said}"
        for old, new in zip(result["cells"], after["cells"], strict=True):
            samples = old["time_ns"]["samples"]
            if (
                new["identity"] != old["identity"]
                or new["status"] != "ok"
                or new["time_ns"]["samples"][: len(samples)] != samples
            ):
                return f"resuming: {new['identity']} is {new['status']}, its samples are not kept"
            if old["time_ns"]["stop_reason"] and new["time_ns"]["value"] != old["time_ns"]["value"]:
                return f"resuming: {new['identity']} had settled and changed"
        return None

    def wrong_leaks(self, said):
        if ENDS.search(self.planted) or not os.path.exists(self.leaks):
            return None
        with open(self.leaks, encoding="utf-8") as file:
            leaks = file.read()
        return f"not given back: {leaks}{said}" if leaks else None


@unittest.skipUnless(
    os.path.exists(faults.SIMULATED),
    "no program for the simulated GPU: make simulated, with a CUDA toolkit",
)
class Walk(unittest.TestCase):
    def calls(self, plan):
        """By function, how often a run without faults calls it."""
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "calls")
            code, said = Run(folder, "", plan).cbank(f"log={log}", "--json", "x.json", *plan)
            self.assertEqual(code, 0, said)
            with open(log, encoding="utf-8") as file:
                functions = [line.split()[1] for line in file]
        return {function: functions.count(function) for function in sorted(set(functions))}

    def planted(self, calls):
        once, for_good, kind = (
            itertools.cycle(ONCE),
            itertools.cycle(FOR_GOOD),
            itertools.cycle((0, 1)),
        )
        for function, count in calls.items():
            if function in ("cudaGetLastError", "cudaPeekAtLastError"):
                continue  # it tells of others
            few = {1, (count + 1) // 2, count}
            for nth in range(1, count + 1) if FULL else sorted(few):
                every, turn = FULL and nth in few, None if FULL or count == 1 else next(kind)
                for error in ONCE if every else (next(once),) if turn != 1 else ():
                    yield f"fail={function}:{nth}:{error}"
                for error in FOR_GOOD if every else (next(for_good),) if turn != 0 else ():
                    yield f"fail={function}:{nth}:{error}:sticky"
                if function in WAITS:
                    yield f"hang={function}:{nth}"

    def walk(self, plan):
        calls, found, lock = self.calls(plan), [], threading.Lock()

        def try_one(planted):
            with tempfile.TemporaryDirectory() as folder:
                wrong = Run(folder, planted, plan).wrong()
            if wrong:
                with lock:
                    found.append(f"{planted}: {wrong}")

        every = list(self.planted(calls))
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(try_one, every))
        print(
            f"{sum(calls.values())} calls of {len(calls)} functions, {len(every)} faults",
            file=sys.stderr,
        )
        self.assertEqual(found, [], "\n".join(found[:40]))

    def test_every_call_fails_once(self):
        self.walk(PLAN)

    def test_every_call_of_launch_paths_fails_once(self):
        self.walk(LAUNCHES)


if __name__ == "__main__":
    unittest.main()
