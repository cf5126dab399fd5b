#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernels of scripts/studies/memory_spaces/ have the instructions of their memory spaces, as
the decoder reads them. They compile for architectures that lack some of these spaces.

CBANK_CUDA names the CUDA toolkit. With CBANK_ARCHS=ends, for one architecture.
"""

import os
import re
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "end_to_end"))
from common import CBANK, ROOT  # noqa: E402

sys.path.append(os.path.join(ROOT, "scripts/studies"))
import memory_spaces  # noqa: E402

TOOLKIT = os.environ.get("CBANK_CUDA")
DECODED = os.path.join(ROOT, "build/tests/sass/decoded")
ARCHITECTURES = (90,) if os.environ.get("CBANK_ARCHS") == "ends" else (75, 80, 90, 100, 120)
KERNELS = {75: 70, 80: 72}  # that can be launched; 81 of the others


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
class Instructions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.addCleanup(setattr, memory_spaces, "find_nvcc", memory_spaces.find_nvcc)
        memory_spaces.find_nvcc = lambda: f"{TOOLKIT}/bin/nvcc"

    def test_kernels_have_the_instructions_of_their_spaces(self):
        for architecture in ARCHITECTURES:
            with self.subTest(architecture):
                memory_spaces.build(self.folder, architecture, (".cubin",))
                proof = memory_spaces.prove(self.folder, CBANK, DECODED)
                self.assertEqual(proof["faults"], [])
                self.assertEqual(proof["kernels"], KERNELS.get(architecture, 81))

    def test_other_instructions_are_told(self):
        """Where kernels read two words for one double word, and fill by loads for bulk copies."""
        sources = os.path.join(self.folder, "memory_spaces")
        shutil.copytree(memory_spaces.HERE, sources)
        shutil.copytree(
            os.path.join(memory_spaces.HERE, "../surprises"), os.path.join(self.folder, "surprises")
        )
        self.change(
            os.path.join(sources, "space.cuh"),
            r"copy_in_bulk\(work.table, 4 \* work.entries, SHIFT\);",
            "shared_by_loads<SHIFT>::prepare(work);",
        )
        self.change(
            os.path.join(sources, "bytes.cu"),
            r"add_strides<SPACE, unsigned long long>",
            "add_strides<SPACE, uint2>",
        )
        self.change(
            os.path.join(sources, "bytes.cu"),
            r"__host__ __device__ inline uint32_t folded\(ulonglong2",
            "__host__ __device__ inline uint32_t folded(uint2 value)\n"
            "{\n    return value.x + value.y;\n}\n\\g<0>",
        )
        self.addCleanup(setattr, memory_spaces, "HERE", memory_spaces.HERE)
        self.addCleanup(memory_spaces.TYPES.pop, "uint2")
        memory_spaces.HERE = sources
        memory_spaces.TYPES["uint2"] = 8
        memory_spaces.build(self.folder, 90, (".cubin",))
        faults = "\n".join(memory_spaces.prove(self.folder, CBANK, DECODED)["faults"])
        self.assertRegex(faults, r"look_up<shared_by_bulk<0u>, false>.* has no UBLKCP")
        self.assertRegex(faults, r"constant_space, strided<uint2>.* has no load of 8 bytes")
        self.assertNotIn("async", faults)

    def change(self, path, pattern, text):
        with open(path, encoding="utf-8") as file:
            changed, count = re.subn(pattern, text, file.read())
        self.assertEqual(count, 1, pattern)
        with open(path, "w", encoding="utf-8") as file:
            file.write(changed)


if __name__ == "__main__":
    unittest.main()
