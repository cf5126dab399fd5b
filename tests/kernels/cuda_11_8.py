#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the build with CUDA 11.8, the last toolkit for Kepler, which is fetched first. The tree
builds with it, and every kernel of every architecture loads as its path names. Kernels that were
broken on purpose are found in each family's disassembly.
"""

import json
import re
import unittest

import toolkits
from toolkits import FAMILIES, ROOT, run
from tree import BrokenPath, Scratch


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
    build, end = "build/cuda-11.8", 0
    check_sass = "CHECK="  # by its own disassembler, which knows all architectures

    def test_kepler_to_hopper(self):
        self.assertEqual((self.known[0], self.known[-1]), ("35", "90"))

    def test_counters_are_unavailable(self):
        """CUPTI of 11.8 has no Range Profiler."""
        doctor = self.program("doctor")
        self.assertIn(doctor.returncode, (0, 3), doctor.stderr)
        chips = self.check(self.program("list", "chips", "--json"))
        self.assertEqual(json.loads(chips.stdout), [])
        # lines of the doctor are wrapped
        for said in (" ".join(doctor.stdout.split()), chips.stderr):
            self.assertRegex(said, r"built with CUDA 11\.8\.\d+, where CUPTI has no Range Profiler")
            self.assertIn("12.6 update 2", said)


class Planted(unittest.TestCase):
    """A scratch copy of the tree with one workload and three patterns. Beside the paths, it has
    some of them again, broken on purpose."""

    # Functions that only other workloads use are unused there.
    VARIABLES = ("ARCHS=" + " ".join(FAMILIES), "WERROR=", "FAST=-O0", "check-sass")
    FAULTS = (
        BrokenPath("reads_global", "constant", "cbank_values[index]", "table[index]"),
        BrokenPath(
            "loads_twice",
            "constant",
            "cbank_values[index]",
            "cbank_values[index ^ *(const uint8_t *)&cbank_values[index ^ 1u] % 2]",
        ),
        BrokenPath("immediate", "constant", "cbank_values[index]", "cbank_values[5]"),
        BrokenPath("reads_plainly", "readonly", "__ldg(&table[index])", "table[index]"),
        BrokenPath("reads_read_only", "global", "table[index]", "__ldg(&table[index])"),
    )

    @classmethod
    def setUpClass(cls):
        scratch = Scratch(ROOT)
        cls.addClassCleanup(scratch.close)
        scratch.leave_choices()
        cls.edit(
            scratch,
            "kernels/workloads.def",
            lambda text: re.sub(r"(?ms)^WORKLOAD\((?!add,).*?(?=^WORKLOAD|^#undef)", "", text),
        )
        # One pattern of each scope: a load of the others is the same instruction.
        cls.edit(
            scratch,
            "patterns/patterns.def",
            lambda text: re.sub(
                r"(?ms)^PATTERN\((per_warp|pseudo_random|half_warp|distinct|broadcast|hashed),"
                r".*?(?=^PATTERN|^#undef)",
                "",
                text,
            ),
        )
        cls.edit(
            scratch,
            "Makefile",
            lambda text: text.replace(
                "MODULES := $(WORKLOADS) probes tools", "MODULES := $(WORKLOADS)"
            ),
        )
        for fault in cls.FAULTS:
            cls.edit(scratch, "kernels/paths.def", fault.add)
        cls.said = run(scratch.root, "make", f"CUDA={Tree.toolkit}", *cls.VARIABLES)

    @staticmethod
    def edit(scratch, name, change):
        changed = change(scratch.read(name))
        if changed == scratch.read(name):
            raise AssertionError(f"{name} is not as this test thinks")
        scratch.write(name, changed)

    def test_every_fault_is_found_in_every_family(self):
        """Kernels of the path for its whole table, and of those for tables of other widths."""
        for fault in self.FAULTS:
            for family in FAMILIES:
                lines = re.findall(
                    rf"FAIL sm_{family} .*path_{fault.name}[\dL].*", self.said.stdout
                )
                whole = [line for line in lines if "5sized" not in line]
                self.assertTrue(whole and len(lines) > len(whole), (fault.name, family))
                if fault.name == "immediate":
                    self.assertNotIn("found 1 LDC,", whole[0])

    def test_no_others(self):
        names = "|".join(fault.name for fault in self.FAULTS)
        others = [
            line
            for line in re.findall(r"FAIL .*", self.said.stdout)
            if not re.search(rf"path_({names})[\dL]", line)
        ]
        self.assertEqual(others, [])
        self.assertNotEqual(self.said.returncode, 0)
        for family in FAMILIES:
            self.assertRegex(self.said.stdout, rf"(?m)^sm_{family} ")


if __name__ == "__main__":
    unittest.main()
