# SPDX-License-Identifier: MIT
"""What the tests of this folder share.

usage: tests/end_to_end/common.py BUILD COMMAND...

runs the COMMAND, a make into the folder BUILD, with what build/ has compiled.
"""

import json
import os
import re
import shutil
import sqlite3
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# What many repetitions or many files show is tried with few in `make test`, and with all in `make test-all`.
# tests/unit/size.h reads the same variable.
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


def store_says(path):
    """All that a store says, as SQL, but for when runs were forgotten, when it is whole; b"" without tables."""
    database = sqlite3.connect(path)
    try:
        if database.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            raise ValueError(f"{path} is damaged")
        tables = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        said = "\n".join(database.iterdump()) if tables else ""
        return re.sub('(?<=INSERT INTO "forgotten" )[^\n]*', "", said).encode()
    finally:
        database.close()


class Scratch(unittest.TestCase):
    """A folder of each test's own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)


if __name__ == "__main__":
    take_objects(sys.argv[1])
    os.execvp(sys.argv[2], sys.argv[2:])
