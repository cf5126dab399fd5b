#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of what `cbank advise --kernel` says of small arrays that compilers make compares of:
tests/sass/compares.cu, compiled for every architecture of both toolkits. In `make test`, for the
first, the last and sm_90."""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import corpus  # noqa: E402
from corpus import CBANK, ROOT, run  # noqa: E402

SOURCE = os.path.join(ROOT, "tests/sass/compares.cu")
COMMENT = re.compile(r"// array: (\d+) (\d+) (\d+) (code|\d+)$")


def expected():
    """{line: (entries, bytes of one, times, table)} of the comments."""
    return {
        number: (int(match[1]), int(match[2]), int(match[3]), match[4])
        for number, line in enumerate(corpus.read(SOURCE).splitlines(), 1)
        if (match := COMMENT.search(line))
    }


class Compares(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cubin = os.path.join(folder.name, "compares.cubin")

    def found(self, toolkit, architecture, *flags):
        run(
            f"{toolkit}/bin/nvcc",
            "-std=c++17",
            "-cubin",
            "-lineinfo",
            f"-arch=sm_{architecture}",
            *flags,
            "-o",
            self.cubin,
            SOURCE,
        )
        rows = collections.Counter()
        for kernel in json.loads(run(CBANK, *corpus.ADVISE, "--kernel", self.cubin))["code"][
            "kernels"
        ]:
            for array in kernel["compared_arrays"]:
                self.assertEqual(array["file"], os.path.basename(SOURCE))
                self.assertEqual(array["stride_bytes"], array["width_bytes"])
                self.assertLessEqual(array["depth"], kernel["name"] == "in_a_loop")
                self.assertEqual(array["memory"], "param" if array["table"] else "code")
                table = (array["table"] or "code").removeprefix("parameter ")
                rows[array["line"], array["entries"], array["width_bytes"], table] += 1
        return rows

    def check(self, toolkit, *flags, ends=()):
        known = re.findall(r"sm_(\d+)", run(f"{toolkit}/bin/nvcc", "--list-gpu-code"))
        chosen = [number for number in corpus.ARCHITECTURES if str(number) in known]
        if os.environ.get("CBANK_TEST") == "quick" or os.environ.get("CBANK_ARCHS") == "ends":
            chosen = sorted({chosen[end] for end in ends} | {90} & set(chosen))
        for architecture in chosen:
            with self.subTest(architecture=architecture):
                said = self.found(toolkit, architecture, *flags)
                told = {
                    (line, entries, width, table): said[line, entries, width, table] or 1
                    if times == 0
                    else times
                    for line, (entries, width, times, table) in expected().items()
                }
                self.assertEqual(dict(said), told)

    def test_toolkit(self):
        toolkit = os.environ.get("CBANK_CUDA") or "/usr/local/cuda"
        if not os.path.exists(f"{toolkit}/bin/nvcc"):
            self.skipTest("no CUDA toolkit")
        self.check(toolkit, ends=(0, -1))

    def test_cuda_11_8(self):
        found = subprocess.run(
            [os.path.join(ROOT, "scripts/cuda_11_8.sh"), "--offline"],
            capture_output=True,
            text=True,
            check=False,
        )
        if found.returncode:
            self.skipTest(found.stderr.strip())
        self.check(found.stdout.strip(), "-ccbin", "g++-11", ends=(0,))

    def test_text(self):
        """A row for each array, with its line."""
        toolkit = os.environ.get("CBANK_CUDA") or "/usr/local/cuda"
        if not os.path.exists(f"{toolkit}/bin/nvcc"):
            self.skipTest("no CUDA toolkit")
        self.found(toolkit, 90)
        said = run(CBANK, "advise", "--kernel", self.cubin, "--all-loads")
        self.assertIn(f"\n    {len(expected())} small arrays became compares\n", said)
        said = re.sub(r"\n {4,}", " ", said)
        for line, (entries, width, times, table) in expected().items():
            source = f"compares.cu:{line}"
            where = "in the code" if table == "code" else f"of parameter {table}"
            row = f"\n  {entries} entries of {width} bytes {where}, {source}"
            self.assertEqual(said.count(f"{row};") + said.count(f"{row},"), 1, row)
            if times > 1:
                self.assertIn(f"{source}, in {times} places; in ", said)
        said = run(CBANK, "advise", "--kernel", self.cubin)
        self.assertIn(f"\n  and {len(expected()) - 5} more, which --all-loads prints\n", said)
        said = run(CBANK, "advise", "--kernel", self.cubin, "--kernel-name", "cases")
        self.assertNotIn("compares instead of loads", said)


if __name__ == "__main__":
    unittest.main()
