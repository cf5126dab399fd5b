#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the kernel checks with kernels that were broken on purpose: in each a load of the table is another, or
missing, or elsewhere. CBANK_CUDA names the CUDA toolkit; without one, what needs it is skipped.
"""

import contextlib
import io
import os
import re
import sys
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "end_to_end"))
from common import ROOT  # noqa: E402
from tree import DISASSEMBLER, TOOLKIT, Scratch  # noqa: E402

sys.path.insert(0, os.path.join(ROOT, "scripts"))
import kernel_check  # noqa: E402

MAP_SUM = "uint32_t sum = stage<Path>(args, Path::words(args));\n        const uint32_t element = blockIdx"
MAP_LOAD = "sum += Path::load(place, map_index<Workload, Path, Pattern>(args, step));"


class Fault:
    """A change of a file, and which kernels it breaks: parts of their names."""

    def __init__(self, workload, path, found, file, old, new, ptx=True):
        self.workload, self.path, self.found = workload, path, found
        self.file, self.old, self.new = file, old, new
        self.ptx = ptx  # the PTX shows it already


PATHS, KERNELS = "kernels/paths.def", "kernels/kernels.cu"

# `found`: of what the path of a kernel with 3 payload loads, conv_1d of radius 1, is made then; or another fault.
FAULTS = {
    "a plain load where a read-only one should be":
        Fault("conv_1d", "readonly", "3 LDG, 3 LDG.CONSTANT, 1 STG; found 6 LDG, 1 STG",
              PATHS, "__ldg(&table[index])", "table[index]"),
    "a load that does not go past L1":
        Fault("conv_1d", "global_l2", "3 LDG, 3 LDG.STRONG, 1 STG; found 6 LDG, 1 STG",
              PATHS, "__ldcg(&table[index])", "table[index]"),
    "a plain load where the texture unit should load":
        Fault("conv_1d", "texture", "3 LDG, 1 STG, 3 TLD; found 6 LDG, 1 STG",
              PATHS, "tex1Dfetch<table_element>(texture, (int)index)", "table[index]"),
    "global memory where shared memory should be":
        Fault("conv_1d", "shared", "3 LDG, 3 LDS, 1 STG and copies; found ",
              PATHS, '"ld.shared", staged[index]', '"ld.shared", table[index]'),
    "the constant bank where parameters should be":
        Fault("conv_1d", "param", "3 LDC.PARAMETER, 3 LDG, 1 STG; found 3 LDC, 3 LDG, 1 STG",
              PATHS, "values.of[index]", "cbank_values[index]"),
    "an index known when it is compiled":
        Fault("conv_1d", "constant", "3 LDC, 3 LDG, 1 STG; found ",
              KERNELS, "Path::load(place, zero + index)", "Path::load(place, index)", ptx=False),
    "a load that is missing":
        Fault("conv_1d", "constant", "3 LDC, 3 LDG, 1 STG; found 2 LDC, 2 LDG, 1 STG",
              KERNELS, "dx <= rx; dx++, step++", "dx < rx; dx++, step++"),
    "a coefficient loaded once for two steps":
        Fault("conv_1d", "constant", "3 LDC, 3 LDG, 1 STG; found 2 LDC, 3 LDG, 1 STG",
              KERNELS, "Path::load(place, zero + index)", "Path::load(place, zero + (index & ~1u))"),
    "a load before the threads without an element are gone":
        Fault("add", "constant", "LDC before the EXIT of threads without an element",
              KERNELS, MAP_SUM, MAP_SUM.replace(
                  "(args));\n", "(args)) + Path::load(place, map_index<Workload, Path, Pattern>(args, 0));\n"
                  "        if (sum == 1u)\n            args.output[0] = sum;\n")),
    "a load in a loop":
        Fault("add", "constant", "a loop", KERNELS, MAP_LOAD,
              "\n#pragma unroll 1\n            for (uint32_t i = 0; i <= args.divergence; i++)\n                " + MAP_LOAD),
}


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
class Faults(unittest.TestCase):
    """One tree; each fault is planted, looked for by all three readers, and taken out again."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = Scratch()
        cls.addClassCleanup(cls.scratch.close)

    def look(self, done, text):
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, text)

    def check(self, name):
        fault = FAULTS[name]
        kernel = rf"workload_{fault.workload}ILj\dEE\d+path_{fault.path}1\S*"
        as_it_was = self.scratch.read(fault.file)
        self.scratch.edit(fault.file, fault.old, fault.new)
        try:
            self.scratch.make("build/tests/unit/test_kernels", "all")
            if fault.ptx:
                self.look(self.scratch.check_ptx(), rf"FAIL compute_\d+ \S*{kernel}: ")
            if DISASSEMBLER:
                self.look(self.scratch.check_sass(), rf"FAIL sm_\d+ \S*{kernel}: .*{re.escape(fault.found)}")
            # What the harness sees: loads that are other ones, not where they are.
            if "; found" in fault.found:
                done = self.scratch.run("build/tests/unit/test_kernels")
                self.assertNotEqual(done.returncode, 0, done.stdout)
                self.assertRegex(done.stdout + done.stderr, r"\w+\.sm_\d+\.cubin \w+/\w+/\w+.*; the kernel has \d")
        finally:
            self.scratch.write(fault.file, as_it_was)


def add_test(name):
    setattr(Faults, "test_" + re.sub(r"\W+", "_", name), lambda self: self.check(name))


for NAME in FAULTS:
    add_test(NAME)


class Choices(unittest.TestCase):
    """What the compiler chose beside what is known."""

    KNOWN = {("11.8", "sm_90", "constant_uniform"): (24, 27), ("13.0", "sm_90", "constant_uniform"): (20, 27)}

    def said(self, toolkit, taken, of):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), unittest.mock.patch.object(kernel_check, "known_choices",
                                                                          lambda: self.KNOWN):
            status = kernel_check.report_choices(toolkit, {"sm_90": {"constant_uniform": (taken, of)}})
        return status, said.getvalue()

    def test_as_known(self):
        self.assertEqual(self.said("13.0", 20, 27)[0], 0)
        self.assertEqual(self.said("11.8", 24, 27)[0], 0)

    def test_toolkits_between_and_after_are_compared_with_the_one_before(self):
        self.assertEqual(self.said("12.4", 24, 27)[0], 0)
        self.assertEqual(self.said("14.0", 20, 27)[0], 0)

    def test_another_choice(self):
        status, said = self.said("13.1", 0, 27)
        self.assertEqual(status, 1)
        self.assertRegex(said, r"sm_90 +none")
        self.assertIn("FAIL sm_90 constant_uniform: 0 of 27 kernels have its instruction; with CUDA 13.0 it was 20 of 27",
                      said)
        self.assertIn("13.1 sm_90 constant_uniform 0 27", said)

    def test_nothing_known(self):
        self.assertEqual(self.said("11.0", 0, 27)[0], 0)


if __name__ == "__main__":
    unittest.main()
