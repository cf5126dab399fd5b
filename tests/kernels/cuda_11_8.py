#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the build with CUDA 11.8, the last toolkit for Kepler: it builds, every kernel of every architecture that
it knows loads what its path names, and kernels that were broken on purpose are found in each family's disassembly.

The toolkit is the one that scripts/fetch_cuda_11_8.py has fetched; with CBANK_FETCH=1 it is fetched first.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = "build/cuda-11.8"

# One of each way to spell instructions: Kepler, Maxwell and Pascal, Volta, Hopper.
FAMILIES = ("35", "60", "70", "90")

TOOLKIT = ""


def setUpModule():
    global TOOLKIT
    fetch = [sys.executable, "scripts/fetch_cuda_11_8.py"] + ([] if os.environ.get("CBANK_FETCH") else ["--offline"])
    TOOLKIT = had(fetch).stdout.strip()
    had(["scripts/setup.sh", "cuda-11.8"])


def had(command):
    """Runs what gets something. All tests are skipped where it cannot be had on this machine."""
    done = run(ROOT, *command)
    if done.returncode == 3:
        reason = (done.stderr.strip().splitlines() or [command[0]])[-1]
        print(f"skipped: {reason}")
        raise unittest.SkipTest(reason)
    if done.returncode != 0:
        raise AssertionError(f"{command} exits with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def run(folder, *command):
    # A make of its own: nothing of the job server or the variables of the make that runs the tests.
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=850, env=clean)


def make(folder, *arguments):
    return run(folder, "make", f"CUDA={TOOLKIT}", f"BUILD={BUILD}", f"IMAGES={BUILD}/images", *arguments)


def architectures():
    return re.findall(r"sm_(\d+)", run(ROOT, os.path.join(TOOLKIT, "bin/nvcc"), "--list-gpu-code").stdout)


class Case(unittest.TestCase):
    maxDiff = None

    def check(self, done, status=0):
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done


class Tree(Case):
    """The tree as it is."""

    @classmethod
    def setUpClass(cls):
        cls.known = architectures()
        done = make(ROOT, f"ARCHS={' '.join(cls.known)}", "all", f"{BUILD}/tests/unit/test_kernels")
        if done.returncode != 0:
            raise AssertionError(f"make fails:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")

    def make(self, *arguments):
        return make(ROOT, f"ARCHS={' '.join(self.known)}", *arguments)

    def program(self, *arguments):
        return run(ROOT, f"{BUILD}/cbank", *arguments)

    def test_kepler_to_hopper(self):
        self.assertEqual((self.known[0], self.known[-1]), ("35", "90"))

    def test_check_sass(self):
        said = self.check(self.make("check-sass")).stdout
        for architecture in self.known:
            self.assertRegex(said, rf"(?m)\bsm_{architecture}\b")

    def test_check_ptx(self):
        self.check(self.make("check-ptx"))

    def test_what_the_harness_reads(self):
        self.check(run(ROOT, f"{BUILD}/tests/unit/test_kernels"))

    def test_counters_are_unavailable(self):
        """CUPTI of 11.8 has no Range Profiler."""
        doctor = self.program("doctor")
        self.assertIn(doctor.returncode, (0, 3), doctor.stderr)
        chips = self.check(self.program("list", "chips", "--json"))
        self.assertEqual(json.loads(chips.stdout), [])
        for said in (doctor.stdout, chips.stderr):
            self.assertRegex(said, r"built with CUDA 11\.8\.\d+, where CUPTI has no Range Profiler")
            self.assertIn("12.6 update 2", said)

    def test_model_engine(self):
        self.check(self.program("run", "--engine", "model", "--elements", "4096", "--json", "-", "--quiet"))


class Planted(Case):
    """A scratch copy of the tree with one workload, whose paths are broken on purpose."""

    # What only the other workloads use is unused there.
    VARIABLES = ("ARCHS=" + " ".join(FAMILIES), "WERROR=")

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = os.path.join(folder.name, "cbank")
        shutil.copytree(ROOT, cls.root, ignore=shutil.ignore_patterns(".git", "build", "local", "__pycache__"))
        cls.edit("scripts/chosen.txt", r"(?ms)^\d.*\Z", "")  # counts of all workloads
        cls.edit("kernels/workloads.def", r"(?ms)(^WORKLOAD\(add,.*?\)$).*^#undef", r"\1\n#undef")

    @classmethod
    def edit(cls, name, pattern, new):
        """Replaces the one match of the pattern; returns the file's old text."""
        path = os.path.join(cls.root, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        edited, count = re.subn(pattern, new, text)
        if count != 1:
            raise AssertionError(f"{name} has {count} matches of {pattern}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(edited)
        return text

    def plant(self, path, load, fault):
        """The lines of the check about each family, with another load expression on the path."""
        name = "kernels/paths.def"
        old = self.edit(name, rf"(?ms)(^PATH\({path},.*?){re.escape(load)}\)$", rf"\g<1>{fault})")
        try:
            said = make(self.root, *self.VARIABLES, "check-sass")
        finally:
            with open(os.path.join(self.root, name), "w", encoding="utf-8") as file:
                file.write(old)
        self.assertNotEqual(said.returncode, 0, said.stdout)
        failures = re.findall(r"FAIL .*", said.stdout)
        self.assertTrue(all(f"path_{path}" in line for line in failures), said.stdout)
        found = {family: [line for line in failures if f" sm_{family} " in line] for family in FAMILIES}
        self.assertTrue(all(found.values()), said.stdout)
        return found

    def test_0_as_it_is(self):
        self.check(make(self.root, *self.VARIABLES, "check-sass"))

    def test_constant_reads_global_memory(self):
        self.plant("constant", "cbank_values[index]", "table[index]")

    def test_constant_loads_twice(self):
        self.plant("constant", "cbank_values[index]", "cbank_values[index] + cbank_values[index ^ 1u]")

    def test_constant_has_an_immediate_index(self):
        for lines in self.plant("constant", "cbank_values[index]", "cbank_values[5]").values():
            self.assertNotIn("found 1 LDC,", lines[0])

    def test_readonly_reads_plainly(self):
        self.plant("readonly", "__ldg(&table[index])", "table[index]")

    def test_global_reads_read_only(self):
        self.plant("global", "table[index]", "__ldg(&table[index])")


if __name__ == "__main__":
    unittest.main()
