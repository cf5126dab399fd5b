#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the decoder of machine code, harness/code/opcodes.def, with real compilers.

The architectures of which `cbank advise --kernel` proves anything are those that these tests
compile for. CBANK_CUDA names the CUDA toolkit; where CUDA 11.8 was fetched (scripts/cuda_11_8.sh),
it compiles, too.
"""

import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "end_to_end"))
from common import ROOT  # noqa: E402

TOOLKIT = os.environ.get("CBANK_CUDA")
OLD = os.path.join(ROOT, "build/toolkits/cuda-11.8")
DECODED = os.path.join(ROOT, "build/tests/sass/decoded")
ENCODING_FIRST = 70  # older architectures have another encoding


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def version_of(toolkit):
    return re.search(r"release ([\d.]+)", run(f"{toolkit}/bin/nvcc", "--version"))[1]


def architectures_of(toolkit):
    listed = set(
        map(
            int,
            re.findall(r"sm_(\d+)\b", run(f"{toolkit}/bin/nvcc", "--list-gpu-code")),
        )
    )
    return {number for number in listed if number >= ENCODING_FIRST}


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
class Seen(unittest.TestCase):
    def test_architectures_that_are_proven_are_those_that_are_compiled(self):
        """Of CUDA 13.0 all, and of 11.8 those before."""
        if version_of(TOOLKIT) != "13.0":
            self.skipTest("the table is of CUDA 13.0 and 11.8")
        seen, new = set(map(int, run(DECODED).split())), architectures_of(TOOLKIT)
        self.assertEqual({number for number in seen if number >= min(new)}, new)
        if os.path.exists(OLD):
            self.assertEqual(
                {number for number in seen if number < min(new)},
                {number for number in architectures_of(OLD) if number < min(new)},
            )


if __name__ == "__main__":
    unittest.main()
