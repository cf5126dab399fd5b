# SPDX-License-Identifier: MIT
"""Shared by the tests of this folder.

usage: tests/end_to_end/common.py BUILD COMMAND...

runs the COMMAND, a make into the folder BUILD, with what build/ has compiled.
"""

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))

# Tests that need many repetitions or files use few in `make test`, and all in `make test-all`.
# tests/unit/size.h reads the same variable.
FULL = os.environ.get("CBANK_TEST") == "full"
# `make test` itself: what takes long for what it finds waits for test-all
QUICK = os.environ.get("CBANK_TEST") == "quick"
NOT_QUICK = "takes long: make test-all"
SECONDS_MAX = 300  # of a command


def repetitions(everything, few):
    """All of it, or few."""
    return everything if FULL else few


def take_objects(build):
    """Gives a build with other variables what this tree's has compiled: it compiles what its
    variables change alone."""
    of, to = os.path.join(ROOT, "build/obj"), os.path.join(build, "obj")
    shutil.rmtree(to, ignore_errors=True)
    if os.path.isdir(of):
        shutil.copytree(of, to, ignore=shutil.ignore_patterns("simulated", "*.d"))


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def measuring_calls(log):
    """[[number, function, which of the function's calls]] of a run on the simulated GPU, up to the
    probe of the board. It loads the last module of a run, after everything is measured."""
    with open(log, encoding="utf-8") as file:
        calls = [line.split() for line in file]
    last = max(i for i, (_, name, _) in enumerate(calls) if name == "cuModuleLoadData")
    return calls[:last]


def kept_folder(case):
    """A temporary folder of a class of tests: its name."""
    folder = tempfile.TemporaryDirectory()
    case.addClassCleanup(folder.cleanup)
    return folder.name


def scale(cell, factor):
    """Makes a cell of a result slower by a factor, all its samples alike."""
    time = cell["time_ns"]
    for key in ("value", "median", "ci_low", "ci_high", "min", "mad"):
        time[key] = time[key] and time[key] * factor  # a prediction may have no interval
    time["samples"] = [sample * factor for sample in time["samples"]]


sys.path.insert(1, os.path.join(ROOT, "scripts"))
from cbank import __main__ as package  # noqa: E402


def analysis(*words, folder=".", **environment):
    """A command of the package cbank, run in a copy of this process, which has its modules
    already: what subprocess.run returns."""
    importlib.import_module(f"cbank.{package.COMMANDS[words[0]].module}")
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, open(
        os.devnull, "rb"
    ) as none:
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(SECONDS_MAX)
                os.environ.update({"CBANK_PROGRAM": CBANK, **environment})
                os.chdir(folder)
                for number, file in enumerate((none, out, err)):
                    os.dup2(file.fileno(), number)
                sys.stdout, sys.stderr = (
                    open(number, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
                    for number in (1, 2)
                )
                os._exit(package.main([str(word) for word in words]))
            finally:
                os._exit(os.EX_SOFTWARE)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return subprocess.CompletedProcess(
            words,
            status,
            *(
                os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode()
                for file in (out, err)
            ),
        )


def cbank(*words, folder=ROOT, **environment):
    """The program, or a command of the analysis alone as above unless every repetition is asked
    for: what subprocess.run returns."""
    if words[0] in package.COMMANDS and not FULL:
        return analysis(*words, folder=folder, **environment)
    return subprocess.run(
        [CBANK, *words],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )


class Scratch(unittest.TestCase):
    """A folder of each test's own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def cbank(self, *arguments, status=0, **environment):
        """Runs the program in the folder. status None: any exit code."""
        done = cbank(*arguments, folder=self.folder, **environment)
        self.assertIn(status, (None, done.returncode), done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def write(self, name, content):
        """Writes a text, or something else as JSON, with the folders that it is in. Returns its
        path."""
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return self.path(name)


if __name__ == "__main__":
    take_objects(sys.argv[1])
    os.execvp(sys.argv[2], sys.argv[2:])
