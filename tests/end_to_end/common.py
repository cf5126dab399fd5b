# SPDX-License-Identifier: MIT
"""Shared by the tests of this folder.

usage: tests/end_to_end/common.py BUILD COMMAND...

runs the COMMAND, a make into the folder BUILD, with what build/ has compiled.
"""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))

# Tests that need many repetitions or files use few in `make test`, and all in `make test-all`. tests/unit/size.h reads
# the same variable.
FULL = os.environ.get("CBANK_TEST") == "full"
QUICK = os.environ.get("CBANK_TEST") == "quick"  # `make test` itself: what takes long for what it finds waits for test-all
NOT_QUICK = "takes long: make test-all"


def repetitions(everything, few):
    """All of it, or few."""
    return everything if FULL else few


def take_objects(build):
    """Gives a build with other variables what this tree's has compiled: it compiles what its variables change alone."""
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


def kept_folder(case):
    """A temporary folder of a class of tests: its name."""
    folder = tempfile.TemporaryDirectory()
    case.addClassCleanup(folder.cleanup)
    return folder.name


def scale(cell, factor):
    """Makes a cell of a result slower by a factor, all its samples alike."""
    time = cell["time_ns"]
    for key in ("value", "median", "ci_low", "ci_high", "min", "mad"):
        time[key] *= factor
    time["samples"] = [sample * factor for sample in time["samples"]]


sys.path.insert(1, os.path.join(ROOT, "scripts"))  # the package cbank


def analysis(*words):
    """A command of the package cbank, run in this process: what subprocess.run returns."""
    from cbank.__main__ import main
    os.environ["CBANK_PROGRAM"] = CBANK
    with contextlib.redirect_stdout(io.StringIO(newline="")) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        status = main([str(word) for word in words])
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())


class Scratch(unittest.TestCase):
    """A folder of each test's own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        """Writes a text, or something else as JSON, with the folders that it is in. Returns its path."""
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return self.path(name)


if __name__ == "__main__":
    take_objects(sys.argv[1])
    os.execvp(sys.argv[2], sys.argv[2:])
