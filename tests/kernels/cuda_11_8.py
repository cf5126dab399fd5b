#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the build with CUDA 11.8, the last toolkit for Kepler, which is fetched first: it builds, every kernel of
every architecture that it knows loads what its path names, and kernels that were broken on purpose are found in each
family's disassembly.
"""

import json
import os
import re
import shutil
import tempfile
import unittest

import toolkits
from toolkits import ROOT, run

# One of each way to spell instructions: Kepler, Maxwell and Pascal, Volta, Hopper.
FAMILIES = ("35", "60", "70", "90")


def setUpModule():
    Tree.toolkit = had("scripts/cuda_11_8.sh").stdout.strip()
    had("scripts/setup.sh", "cuda-11.8")


def had(*command):
    """Runs what gets something. All tests are skipped where it cannot be had on this machine."""
    done = run(ROOT, *command)
    if done.returncode == 3:
        raise unittest.SkipTest((done.stderr.strip().splitlines() or command)[-1])
    if done.returncode != 0:
        raise AssertionError(f"{command} exits with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


class Tree(toolkits.Toolkit):
    build = "build/cuda-11.8"

    def test_kepler_to_hopper(self):
        self.assertEqual((self.known[0], self.known[-1]), ("35", "90"))

    def test_every_kernel_is_disassembled(self):
        """By its own disassembler, which knows all of them."""
        self.check(self.make("check-sass"))

    def test_counters_are_unavailable(self):
        """CUPTI of 11.8 has no Range Profiler."""
        doctor = self.program("doctor")
        self.assertIn(doctor.returncode, (0, 3), doctor.stderr)
        chips = self.check(self.program("list", "chips", "--json"))
        self.assertEqual(json.loads(chips.stdout), [])
        for said in (" ".join(doctor.stdout.split()), chips.stderr):  # lines of the doctor are wrapped
            self.assertRegex(said, r"built with CUDA 11\.8\.\d+, where CUPTI has no Range Profiler")
            self.assertIn("12.6 update 2", said)


class Planted(unittest.TestCase):
    """A scratch copy of the tree with one workload, whose paths are broken on purpose."""

    # What only the other workloads use is unused there.
    VARIABLES = ("ARCHS=" + " ".join(FAMILIES), "WERROR=", "CFLAGS=-O0", "check-sass")

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
            said = run(self.root, "make", f"CUDA={Tree.toolkit}", *self.VARIABLES)
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
        done = run(self.root, "make", f"CUDA={Tree.toolkit}", *self.VARIABLES)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_constant_reads_global_memory(self):
        self.plant("constant", "cbank_values[index]", "table[index]")

    def test_constant_loads_twice(self):
        self.plant("constant", "cbank_values[index]", "cbank_values[index ^ *(const uint8_t *)&cbank_values[index ^ 1u] % 2]")

    def test_constant_has_an_immediate_index(self):
        for lines in self.plant("constant", "cbank_values[index]", "cbank_values[5]").values():
            self.assertNotIn("found 1 LDC,", lines[0])

    def test_readonly_reads_plainly(self):
        self.plant("readonly", "__ldg(&table[index])", "table[index]")

    def test_global_reads_read_only(self):
        self.plant("global", "table[index]", "__ldg(&table[index])")


if __name__ == "__main__":
    unittest.main()
