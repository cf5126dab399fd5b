#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that the kernel checks find what is wrong in many kernels at once, and nothing where nothing is wrong. CBANK_CUDA
names the CUDA toolkit; without one, they are skipped. Kernels with one fault each: kernel_faults.py.
"""

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "end_to_end"))
from tree import ARCHITECTURE, DISASSEMBLER, KERNELS, PATTERNS, TOOLKIT, Case  # noqa: E402

# Where a map kernel loads.
MAP_LOAD = "sum += Path::load(place, map_index<Workload, Path, Pattern>(args, step));"
# The code that hides from the compiler that an index is the same in all threads of a warp.
HIDDEN = "Path::scope == INDEX_THREAD ? threadIdx.x & args.divergence"
INSTANCES = "template struct variant_instances<WORKLOAD_TYPE(CBANK_WORKLOAD), WORKLOAD_TYPE(CBANK_WORKLOAD)<0>::variants>;"
# Mangled names of kernels of the path, and of no path whose name begins alike.
CONSTANT = r"\S*path_constant\d\S*"


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
class PtxCheck(Case):
    def broken(self, name, old, new, only=()):
        self.scratch.edit(name, old, new)
        self.scratch.make(only=only)
        done = self.scratch.check_ptx()
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return done.stdout

    def test_as_it_is(self):
        self.scratch.make()
        done = self.scratch.check_ptx()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, rf"compute_{ARCHITECTURE} +{KERNELS} +{KERNELS}\b")

    def test_constant_reads_global_memory(self):
        said = self.broken("kernels/paths.def", "PATH(constant, cbank_values[index],", "PATH(constant, table[index],")
        self.assertEqual(len(re.findall(rf"FAIL compute_90 {CONSTANT}: expected", said)), len(PATTERNS) + 2)
        self.assertEqual(len(re.findall(rf"FAIL compute_90 {CONSTANT}: expected 1 ld.const, 1 ld.global, "
                                        r"1 st.global; found 2 ld.global, 1 st.global", said)), len(PATTERNS))

    def test_loads_twice(self):
        said = self.broken("kernels/kernels.cu", MAP_LOAD,
                           "{ " + MAP_LOAD + "\n" + MAP_LOAD.replace("(args, step)", "(args, step) ^ 1u") + " }", only=["add"])
        # 8 paths that take every pattern and load.
        self.assertGreaterEqual(len(re.findall(r"FAIL compute_90 \S*workload_add\S*: expected", said)), 8 * (len(PATTERNS) - 1))

    def test_missing_kernels(self):
        said = self.broken("kernels/kernels.cu", INSTANCES, "")
        self.assertEqual(len(re.findall("there 0 times, expected once", said)), KERNELS)


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
class HarnessCheck(Case):
    """The harness's reading of the images, without a disassembler."""

    def test_divergence_mask(self):
        """Without it, a warp-uniform index goes through the uniform datapath on recent architectures."""
        self.needs("100")
        self.scratch.edit("kernels/kernels.cu", HIDDEN, "Path::scope == INDEX_THREAD ? 0")
        self.scratch.make("MODULES=add", "build/tests/unit/test_kernels", architecture="100")
        done = self.scratch.run("build/tests/unit/test_kernels")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout + done.stderr, "add.sm_100.cubin add/constant/per_block.* (LDCU|ULDC)")


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
@unittest.skipUnless(DISASSEMBLER, "no nvdisasm")
class SassCheck(Case):
    def broken(self, name, old, new):
        self.scratch.edit(name, old, new)
        self.scratch.make()
        done = self.scratch.check_sass()
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return done.stdout

    def test_as_it_is(self):
        self.scratch.make()
        done = self.scratch.check_sass()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, rf"sm_{ARCHITECTURE} +{KERNELS} +{KERNELS}\b")

    def test_constant_reads_global_memory(self):
        said = self.broken("kernels/paths.def", "PATH(constant, cbank_values[index],", "PATH(constant, table[index],")
        self.assertEqual(len(re.findall(rf"FAIL sm_90 {CONSTANT}: expected", said)), len(PATTERNS) + 2)
        self.assertEqual(len(re.findall(rf"FAIL sm_90 {CONSTANT}: expected 1 LDC, 1 LDG, 1 STG; "
                                        r"found 2 LDG, 1 STG", said)), len(PATTERNS))

    def test_divergence_mask(self):
        """Without it, a warp-uniform index goes through the uniform datapath on recent architectures."""
        self.needs("100")
        self.scratch.edit("kernels/kernels.cu", HIDDEN, "Path::scope == INDEX_THREAD ? 0")
        self.scratch.make(architecture="100")
        done = self.scratch.check_sass()
        if "cannot decode" in done.stdout:
            self.skipTest("this nvdisasm cannot decode sm_100")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"FAIL sm_100 \S*path_constant\d+pattern_per_block\S*: .*U?LDCU?")


if __name__ == "__main__":
    unittest.main()
