#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every command with every allocation failing once, and with all from there on:
tests/faults/allocation_faults.c.

Out of memory is exit 3 with one message. The only file is the old one or the whole new one, and
stdout has nothing or the start of the whole output: no table lacks a row. An allocation whose
failure does no harm, such as of a buffer of the C library, leaves everything as it is without
faults.

Allocations are chosen by the place in the program that asks for them. `make test` tries one of each
place in up to three commands. `make test-all` tries the first, a middle one and the last of each
place in every command. CBANK names the program (default build/cbank).
"""

import array
import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from common import FULL, ROOT, kept_folder

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
LIBRARY = os.path.join(ROOT, "build/tests/faults/allocation_faults.so")
RECORD = os.path.join(ROOT, "results/characterizations/h200.json")
FAULTS_OF_A_PLACE = 3 if FULL else 1  # in one command
COMMANDS_OF_A_PLACE = 1000 if FULL else 3

PLAN = [
    "--engine",
    "model",
    "--path",
    "constant,global",
    "--pattern",
    "per_warp",
    "--elements",
    "4096",
    "--seed",
    "1",
]
COMPARE = ["compare", "--calibration", "calibration.json", "base.json", "new.json"]

# Name: command line. All read files of the folder of make_inputs; what they write begins with
# "out".
COMMANDS = {
    "help": ["help"],
    "--version": ["--version"],
    "show --help": ["show", "--help"],
    "missing value": ["show", "--cell"],
    "bad value": ["run", "--elements", "x"],
    "unknown command": ["shwo"],
    "unknown option": ["show", "--jsn", "base.json"],
    "show": ["show", "base.json"],
    "show measured": ["show", "measured.json"],
    "show --cell": ["show", "--cell", "*", "measured.json"],
    "show failed": ["show", "statuses.json"],
    "show --schema": ["show", "--schema", "result"],
    **{
        f"show --{form}": ["show", f"--{form}", "measured.json"]
        for form in ("csv", "json", "markdown")
    },
    "counters": ["counters", "base.json"],
    "counters --csv": ["counters", "--csv", "base.json"],
    "counters --json": ["counters", "--json", "base.json"],
    "advise": ["advise", "--table-bytes", "256", "--elements", "1024"],
    "advise --json": ["advise", "--table-bytes", "256", "--elements", "1024", "--json", "out.json"],
    "advise --kernel": [
        "advise",
        "--table-bytes",
        "256",
        "--elements",
        "1024",
        "--kernel",
        "lookup_lz4.fatbin",
        "--json",
        "out.json",
    ],
    "explain": ["explain", "measured.json"],
    "explain --json": ["explain", "--json", "measured.json"],
    "compare": [*COMPARE, "--all"],
    "compare folders": ["compare", "bases", "news"],
    **{
        f"compare --{form}": [*COMPARE, f"--{form}", "out"]
        for form in ("json", "junit", "markdown")
    },
    "list": ["list"],
    "list --json": ["list", "counters", "--json"],
    "doctor": ["doctor"],
    "list cards": ["list", "cards"],
    "run of a published chip": ["run", *PLAN, "--card", "v100", "--json", "out.json"],
    "run": ["run", *PLAN, "--json", "out.json"],
    "run to stdout": ["run", *PLAN, "--json", "-"],
    "run --resume": ["run", "--resume", "out-interrupted.json"],
    "calibrate": [
        "calibrate",
        *PLAN,
        "--counters",
        "none",
        "--processes",
        "2",
        "--json",
        "out.json",
    ],
    "gate": [
        "gate",
        "base.json",
        *PLAN,
        *("--counters", "none", "--allow-diff", "counters"),
        *("--processes", "1", "--quiet", "--json", "out.json"),
    ],
    "characterize --replay": [
        "characterize",
        "--quiet",
        "--replay",
        "record.json",
        "--json",
        "out.json",
        "--new-card",
        "out-card.json",
    ],
}

# Fields that differ from run to run: clocks, and values that depend on them.
CHANGING = [
    (re.compile(pattern), "")
    for pattern in (
        rb"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
        rb"time spent:[^\n]*\n(in\n?\s*all[^\n]*\n|all [^\n]*\n)?",
        rb'"(name|seconds)":\s*("[a-z ]+"|[-+.e0-9]+),?\s*',
        rb"[-+.e0-9]+ s;",
        rb"\n[^\n]*in all[^\n]*",
    )
]


def settled(data):
    for pattern, by in CHANGING:
        data = pattern.sub(by.encode(), data)
    return data


def given(source, target):
    """Each command writes into its own folder and shares the folder that it reads: files are
    replaced, not changed in place."""
    name = os.path.basename(source)
    (shutil.copy2 if name.startswith("out") else os.link)(source, target)


class Outcome:
    """The files that a command left in its own folder."""

    def __init__(self, inputs, arguments, fault=None):
        with tempfile.TemporaryDirectory() as folder:
            work, log = os.path.join(folder, "work"), os.path.join(folder, "log")
            shutil.copytree(inputs, work, copy_function=given)
            before = set(os.listdir(work))
            library = {"CBANK_ALLOCATION_FAIL": fault} if fault else {"CBANK_ALLOCATION_LOG": log}
            done = subprocess.run(
                [CBANK, *arguments],
                cwd=work,
                env={**os.environ, "LD_PRELOAD": LIBRARY, **library},
                capture_output=True,
                timeout=120,
                stdin=subprocess.DEVNULL,
                check=False,
            )
            self.status, self.stdout, self.stderr = (
                done.returncode,
                settled(done.stdout),
                done.stderr.decode(),
            )
            self.files = {}
            left = set(os.listdir(work)) - before | {
                name for name in before if name.startswith("out")
            }
            for name in left:
                with open(os.path.join(work, name), "rb") as file:
                    self.files[name] = settled(file.read())
            self.places = array.array("I")
            if os.path.exists(log):
                with open(log, "rb") as file:
                    self.places.frombytes(file.read())

    def wrong(self, whole, old):
        """The fault of this outcome of a command that leaves `whole` without faults; None if all
        is well."""
        if self.status == whole.status and (self.stdout, self.files) == (whole.stdout, whole.files):
            return None
        if re.search(b"out.of.memory", self.stdout, re.IGNORECASE):
            return None  # what cbank doctor finds, or a row of cbank list chips says
        if self.status != 3:
            return f"exit {self.status}, not 3"
        errors = [
            line for line in self.stderr.splitlines() if not line.startswith("cbank: warning: ")
        ]
        if not any("memory" in line for line in errors):
            return "no message says that memory ran out"
        if len([line for line in errors if "error: " in line]) > 1:
            return "more than one message"
        if not whole.stdout.startswith(self.stdout):
            return "stdout is not how the whole begins"
        for name, data in self.files.items():
            if data not in (whole.files.get(name), old.get(name)):
                return f"{name} is neither the old nor the whole new file"
        return None


class Choice:
    """Chooses faults: of each place in the program that asks for memory the first, the last or
    one between."""

    def __init__(self):
        self.commands = collections.Counter()

    def faults(self, places):
        numbers = collections.defaultdict(list)
        for number, place in enumerate(places, 1):
            numbers[place].append(number)
        for place, of_place in numbers.items():
            self.commands[place] += 1
            if self.commands[place] > COMMANDS_OF_A_PLACE:
                continue
            count = min(len(of_place), FAULTS_OF_A_PLACE)
            for i in range(count):
                # One alone is another one in each command.
                at = i / (count - 1) if count > 1 else (self.commands[place] - 1) % 3 / 2
                for mode in ("", "+") if FULL else [("", "+")[self.commands[place] % 2]]:
                    yield f"{of_place[round(at * (len(of_place) - 1))]}{mode}"


def make_inputs(folder):
    """The files that the commands read, and the interrupted result that they go on with."""

    def load(name):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return json.load(file)

    def save(name, content):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(content, file)

    run = ["run", *PLAN, "--quiet"]
    for arguments in (
        [*run, "--json", "base.json"],
        [*run, "--json", "new.json"],
        [
            "calibrate",
            *PLAN,
            "--counters",
            "none",
            "--processes",
            "2",
            "--json",
            "calibration.json",
        ],
    ):
        subprocess.run([CBANK, *arguments], cwd=folder, capture_output=True, check=True)
    for name in ("base", "new"):
        os.mkdir(os.path.join(folder, f"{name}s"))
        for i in range(2):
            shutil.copy(
                os.path.join(folder, f"{name}.json"), os.path.join(folder, f"{name}s/{i}.json")
            )
    for name in ("result/measured.json", "result/statuses.json", "cubin/lookup_lz4.fatbin"):
        shutil.copy(os.path.join(ROOT, "tests/corpus", name), folder)
    shutil.copy(RECORD, os.path.join(folder, "record.json"))
    record = load("record.json")
    # One experiment of each kind that allocates.
    record["experiments"] = [
        experiment
        for experiment in record["experiments"]
        if experiment["name"]
        in ("latency_constant", "geometry_constant", "serialization_constant", "sharing_constant")
    ]
    save("record.json", record)
    result = {**load("base.json"), "complete": False, "finished_utc": None}
    result["cells"][1]["status"] = "pending"
    save("out-interrupted.json", result)


@unittest.skipIf("asan" in CBANK, "sanitizers bring an allocator of their own")
class Allocations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.inputs = kept_folder(cls)
        make_inputs(cls.inputs)
        with open(os.path.join(cls.inputs, "out-interrupted.json"), "rb") as file:
            cls.old = {"out-interrupted.json": settled(file.read())}

    def outcome(self, name, fault=None):
        return Outcome(self.inputs, COMMANDS[name], fault)

    def test_out_of_memory_is_exit_3_and_nothing_is_shortened(self):
        choice, wrong, wholes, faults = Choice(), collections.defaultdict(list), {}, []
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for name, whole in zip(COMMANDS, pool.map(self.outcome, COMMANDS)):
                wholes[name] = whole
                expected = (2,) if name.startswith(("missing", "bad", "unknown")) else (0, 3, 4)
                self.assertIn(whole.status, expected, f"{name}: {whole.stderr}")
                faults += [(name, fault) for fault in choice.faults(whole.places)]
            for (name, fault), outcome in zip(
                faults, pool.map(lambda case: self.outcome(*case), faults)
            ):
                said = outcome.wrong(wholes[name], self.old)
                if said:
                    count = len(wholes[name].places)
                    wrong[name].append(
                        f"allocation {fault} of {count}: {said}; {outcome.stderr[-300:]}"
                    )
        calls, places = sum(len(whole.places) for whole in wholes.values()), len(choice.commands)
        print(
            (
                f"{len(COMMANDS)} commands, {calls} allocations at {places} places,"
                f" {len(faults)} faults"
            ),
            flush=True,
        )
        for name in COMMANDS:
            with self.subTest(name):
                self.assertFalse(
                    wrong[name],
                    "\n".join(
                        [
                            f"cbank {' '.join(COMMANDS[name])}: {len(wrong[name])} faults",
                            *wrong[name][:20],
                        ]
                    ),
                )


if __name__ == "__main__":
    unittest.main()
