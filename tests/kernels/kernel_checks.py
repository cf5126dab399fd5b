#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that the kernel checks find what is wrong in many kernels at once, and nothing where
nothing is wrong. CBANK_CUDA names the CUDA toolkit; without one, they are skipped. Kernels with one
fault each: kernel_faults.py.
"""

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "end_to_end"))
from tree import ARCHITECTURE, DISASSEMBLER, KERNELS, TOOLKIT, Case  # noqa: E402

# The code that hides from the compiler that an index is the same in all threads of a warp.
HIDDEN = "Path::scope == INDEX_THREAD  ? threadIdx.x & args.divergence"
INSTANCES = "template struct variant_instances<MODULE_WORKLOAD, MODULE_WORKLOAD<0>::variants>;"


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
class PtxCheck(Case):
    def test_as_it_is(self):
        self.scratch.make()
        done = self.scratch.check_ptx()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, rf"compute_{ARCHITECTURE} +{KERNELS} +{KERNELS}\b")

    def test_missing_kernels(self):
        self.scratch.edit("kernels/kernels.cu", INSTANCES, "")
        self.scratch.make()
        done = self.scratch.check_ptx()
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(len(re.findall("there 0 times, expected once", done.stdout)), KERNELS)


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
class HarnessCheck(Case):
    """The harness's reading of the images, without a disassembler."""

    def test_divergence_mask(self):
        """Without it, a warp-uniform index goes through the uniform datapath on recent
        architectures."""
        self.needs("100")
        self.scratch.edit("kernels/kernels.cu", HIDDEN, "Path::scope == INDEX_THREAD ? 0")
        self.scratch.make("MODULES=add", "build/tests/unit/test_kernels", architecture="100")
        done = self.scratch.run("build/tests/unit/test_kernels")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertRegex(
            done.stdout + done.stderr, "add.sm_100.cubin add/constant/per_block.* (LDCU|ULDC)"
        )


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
@unittest.skipUnless(DISASSEMBLER, "no nvdisasm")
class SassCheck(Case):
    def test_as_it_is(self):
        self.scratch.make()
        done = self.scratch.check_sass()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, rf"sm_{ARCHITECTURE} +{KERNELS} +{KERNELS}\b")

    def test_divergence_mask(self):
        """Without it, a warp-uniform index goes through the uniform datapath on recent
        architectures."""
        self.needs("100")
        self.scratch.edit("kernels/kernels.cu", HIDDEN, "Path::scope == INDEX_THREAD ? 0")
        self.scratch.make(architecture="100")
        done = self.scratch.check_sass()
        if "cannot decode" in done.stdout:
            self.skipTest("this nvdisasm cannot decode sm_100")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(
            done.stdout, r"FAIL sm_100 \S*path_constant\d+pattern_per_block\S*: .*U?LDCU?"
        )


if __name__ == "__main__":
    unittest.main()
