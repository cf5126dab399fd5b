#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every command with every call on files failing once: tests/faults/io_faults.c.

Each time the exit code is 2, and one message names the file and the error; or the failure does no
harm, and all is as it is without. A file is the old one or a whole new one, with the old one's
mode, and nothing else is left.

`make test` tries the first, a middle and the last time that a command makes a call; `make test-all`
every time, with every error. CBANK names the program (default build/cbank).
"""

import collections
import concurrent.futures
import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

import allocation
from allocation import PLAN
from common import FULL, ROOT, kept_folder

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
LIBRARY = os.path.join(ROOT, "build/tests/faults/io_faults.so")

CALLS = ["open", "close", "write", "fsync", "rename", "flock", "read"]
ERRORS = [errno.ENOSPC, errno.EIO, errno.EINTR]

# Name: command line, in a folder of allocation.make_inputs. Files whose name begins with "out" are
# written.
COMMANDS = {
    name: allocation.COMMANDS[name]
    for name in (
        "run",
        "run to stdout",
        "run --resume",
        "characterize --replay",
        "show",
        "show --json",
        "counters",
        "explain",
        "explain --json",
        "list",
        "calibrate",
        "gate",
    )
} | {
    "run into a folder": ["run", *PLAN, "--json", "out/"],
    "compare": ["compare", "base.json", "new.json", "--json", "out.json", "--junit", "out.xml"],
}
# The output differs from run to run: it contains seconds.
TIMED = [
    "gate",
    "run",
    "run into a folder",
    "run to stdout",
    "run --resume",
    "characterize --replay",
]


def files_below(folder):
    """Bytes and mode of every file of a folder, by its path there."""
    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            mode = stat.S_IMODE(os.stat(path).st_mode)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = (file.read(), mode)
    return found


class Outcome:
    """The files that a command left in its own folder."""

    def __init__(self, inputs, arguments, fault=None, slow_ms=0):
        with tempfile.TemporaryDirectory() as folder:
            work, log = os.path.join(folder, "work"), os.path.join(folder, "log")
            shutil.copytree(inputs, work)
            self.before = files_below(work)
            environment = {
                **os.environ,
                "LD_PRELOAD": LIBRARY,
                "CBANK_IO_LOG": log,
                "CBANK_IO_SLOW": str(slow_ms),
            }
            if fault:
                environment["CBANK_IO_FAIL"] = "{}:{}:{}".format(*fault)
            done = subprocess.run(
                [CBANK, *arguments],
                cwd=work,
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
                stdin=subprocess.DEVNULL,
                check=False,
            )
            self.status, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr
            self.files = files_below(work)
            with open(log, encoding="utf-8") as file:
                self.times = {call: int(times) for call, times in map(str.split, file)}


def is_whole(name, data, whole):
    """Whether a file is all that a command writes there, apart from times."""
    if not name.endswith(".json"):
        return data == whole
    try:
        return isinstance(json.loads(data)["schema"], dict)
    except (ValueError, KeyError):
        return False


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.inputs = kept_folder(cls)
        allocation.make_inputs(cls.inputs)
        for name in ("out.json", "out.xml", "out-interrupted.json"):
            with open(os.path.join(cls.inputs, name), "a", encoding="utf-8") as file:
                file.write("" if "-" in name else "old")
            os.chmod(file.name, 0o600)

    def faults(self, times):
        """Which calls fail, and how."""
        for row, call in enumerate(CALLS):
            last = times[call]
            some = (
                range(1, last + 1) if FULL else sorted({1, (last + 1) // 2, last} if last else ())
            )
            for number in some:
                for error in ERRORS if FULL else [ERRORS[(row + number) % len(ERRORS)]]:
                    yield call, number, error

    def wrong(self, name, outcome, whole, error):
        """The fault of an outcome; None if all is well."""
        if outcome.status not in (whole.status, 2):
            return f"exit {outcome.status}, not 2"
        for file, (data, mode) in outcome.files.items():
            if file.endswith(".tmp"):
                return f"{file} is left"
            if (data, mode) == outcome.before.get(file):
                continue
            if file in outcome.before and mode != outcome.before[file][1]:
                return f"{file} has another mode"
            if not is_whole(file, data, whole.files.get(file, (b"", 0))[0]):
                return f"{file} is not whole"
        errors = [line for line in outcome.stderr.splitlines() if line.startswith("cbank: error: ")]
        if outcome.status == whole.status:
            if errors:
                return "an error, and it goes on"
            if name not in TIMED and outcome.stdout != whole.stdout:
                return "a shortened output and no error"
            return None if len(outcome.files) == len(whole.files) else "a file is missing"
        if len(errors) != 1:
            return "not one message"
        # An early write by the C library failed, and it does not keep the reason.
        if outcome.stderr.count(os.strerror(error)) != 1 and not errors[0].endswith(
            " to standard output"
        ):
            return "not the error, once"
        if (
            "standard output" not in errors[0]
            and ".json" not in errors[0]
            and "out." not in errors[0]
            and "processes.txt" not in errors[0]
        ):
            return "no file is named"
        return None

    def test_every_call_fails_once(self):
        tried = collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            for name, arguments in COMMANDS.items():
                whole = Outcome(self.inputs, arguments)
                self.assertEqual(whole.status, 0, whole.stderr)
                self.assertEqual([file for file in whole.files if file.endswith(".tmp")], [])
                # The new file, and the folder of its name.
                self.assertEqual(whole.times["fsync"], 2 * whole.times["rename"])
                tried["calls"] += sum(whole.times[call] for call in CALLS)
                faults = list(self.faults(whole.times))
                outcomes = pool.map(
                    lambda fault, line=arguments: Outcome(self.inputs, line, fault), faults
                )
                for fault, outcome in zip(faults, outcomes):
                    tried["faults"] += 1
                    tried["harmless"] += outcome.status == whole.status
                    with self.subTest(name, fault=fault):
                        self.assertIsNone(
                            self.wrong(name, outcome, whole, fault[2]),
                            f"{name} {fault}: {outcome.stderr}",
                        )
        print(
            f"{len(COMMANDS)} commands, {tried['calls']} calls, {tried['faults']} faults, "
            f"{tried['harmless']} harmless",
            file=sys.stderr,
        )

    def test_a_slow_disk_does_not_hold_measuring(self):
        """A write of 1.2 s: the next is seconds later, not after every cell."""
        sizes = ",".join(str(51200000 + i) for i in range(16))
        outcome = Outcome(
            self.inputs,
            [
                "run",
                "--engine",
                "model",
                "--pattern",
                "per_thread",
                "--elements",
                sizes,
                "--json",
                "out.json",
            ],
            slow_ms=600,
        )
        self.assertEqual(outcome.status, 0, outcome.stderr)
        self.assertIn(outcome.times["rename"], (1, 2, 3))


if __name__ == "__main__":
    unittest.main()
