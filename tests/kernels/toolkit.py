#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the build with the machine's toolkit, which CBANK_CUDA names, for every architecture
that it knows."""

import os
import unittest

import toolkits


@unittest.skipUnless(os.environ.get("CBANK_CUDA"), "no CUDA toolkit")
class Machine(toolkits.Toolkit):
    toolkit, build, end = os.environ.get("CBANK_CUDA"), "build/kernels", -1


if __name__ == "__main__":
    unittest.main()
