#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library: an example that is built by the public header alone does what the program does.
CBANK names the program; the example and the library lie beside it."""

import os
import re
import subprocess
import unittest

from common import CBANK, ROOT, Scratch, read_json

BUILD = os.path.dirname(CBANK)


class Library(Scratch):
    def test_the_example_plans_runs_reads_and_compares(self):
        done = subprocess.run(
            [os.path.join(BUILD, "examples/ratio")],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        cells = read_json(self.path("ratio.json"))["cells"]
        self.assertEqual([cell["pattern"] for cell in cells], ["per_block", "pseudo_random"])
        ratio = cells[1]["time_ns"]["value"] / cells[0]["time_ns"]["value"]
        self.assertEqual(
            done.stdout.splitlines(),
            [f"{i}: {cell['identity']}" for i, cell in enumerate(cells)]
            + [f"{ratio:.2f} times as long"]
            + [f"{cell['identity']}: same" for cell in cells],
        )

    def test_every_symbol_is_the_headers(self):
        """Nothing else of the program can clash with a caller's names."""
        symbols = subprocess.run(
            ["nm", "-g", "--defined-only", os.path.join(BUILD, "libcbank.a")],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        with open(os.path.join(ROOT, "harness/cbank.h"), encoding="utf-8") as file:
            declared = set(re.findall(r"\b(cbank_\w+)\(", file.read()))
        self.assertEqual(set(re.findall(r" T (\w+)", symbols)), declared)
        self.assertEqual(
            [name for name in re.findall(r" \w (\w+)", symbols) if not name.startswith("cbank_")],
            [],
        )


if __name__ == "__main__":
    unittest.main()
