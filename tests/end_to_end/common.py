# SPDX-License-Identifier: MIT
"""What the tests of this folder share."""

import json
import os
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# What many repetitions or many files show is tried with few in `make test`, and with all in `make test-all`.
# tests/unit/size.h reads the same variable.
FULL = os.environ.get("CBANK_TEST") == "full"


def repetitions(everything, few):
    """All of it, or few."""
    return everything if FULL else few


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Scratch(unittest.TestCase):
    """A folder of each test's own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)
