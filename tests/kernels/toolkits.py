# SPDX-License-Identifier: MIT
"""Tests for every toolkit: the tree builds with it, and every kernel of every architecture that it
knows loads as its path names. With CBANK_ARCHS=ends, only of one architecture: a subclass says
which. A copy of the tree then has half of the radii and of the lookups in flight. The others take
most of the time to compile.
"""

import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "end_to_end"))
from common import ROOT, take_objects  # noqa: E402
from tree import Scratch  # noqa: E402

SECONDS_MAX = 850

# One of each way to spell instructions: Kepler, Maxwell and Pascal, Volta, Hopper.
FAMILIES = ("35", "60", "70", "90")


def run(folder, *command, **more):
    # A make of its own: nothing of the job server or the variables of the make that runs the tests.
    clean = {
        key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))
    }
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS_MAX,
        env={**clean, **more},
    )


def architectures(toolkit):
    """All that it knows, the oldest first."""
    listed = run(ROOT, f"{toolkit}/bin/nvcc", "--list-gpu-code").stdout
    return list(map(str, sorted(map(int, re.findall(r"sm_(\d+)", listed)))))


def disassembler(toolkit):
    return shutil.which("nvdisasm", path=os.pathsep.join([f"{toolkit}/bin", os.environ["PATH"]]))


class Toolkit(unittest.TestCase):
    """The tree as it is. A subclass names the toolkit, where it builds, and which of its
    architectures is at an end of all that toolkits know: 0 the oldest, -1 the newest."""

    maxDiff = None
    toolkit = build = end = None
    root = ROOT
    check_sass = "CHECK=--skip-undecodable"

    @classmethod
    def setUpClass(cls):
        cls.known = architectures(cls.toolkit)
        cls.chosen = cls.known
        if os.environ.get("CBANK_ARCHS") == "ends":
            scratch = Scratch(ROOT)
            cls.addClassCleanup(scratch.close)
            scratch.halve_variants()
            cls.root, cls.build, cls.chosen = scratch.root, "build", [cls.known[cls.end]]
        else:
            take_objects(os.path.join(ROOT, cls.build))
        done = cls.make("all", f"{cls.build}/tests/unit/test_kernels")
        if done.returncode != 0:
            raise AssertionError(f"make fails:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")

    @classmethod
    def make(cls, *arguments):
        return run(
            cls.root,
            "make",
            f"CUDA={cls.toolkit}",
            f"BUILD={cls.build}",
            f"IMAGES={cls.build}/images",
            f"ARCHS={' '.join(cls.chosen)}",
            *arguments,
        )

    def check(self, done, status=0):
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def program(self, *arguments):
        return run(self.root, f"{self.build}/cbank", *arguments)

    def test_check_sass(self):
        if not disassembler(self.toolkit):
            self.skipTest("no nvdisasm")
        said = self.check(self.make("check-sass", self.check_sass)).stdout
        for architecture in self.chosen:
            self.assertRegex(said, rf"\bsm_{architecture}\b")

    def test_check_ptx(self):
        said = self.check(self.make("check-ptx")).stdout
        for architecture in self.chosen:
            self.assertRegex(said, rf"\bcompute_{architecture}\b")

    def test_what_the_harness_reads(self):
        self.check(run(self.root, f"{self.build}/tests/unit/test_kernels"))

    def test_model_engine(self):
        self.check(
            self.program("run", "--engine", "model", "--elements", "4096", "--json", "-", "--quiet")
        )
