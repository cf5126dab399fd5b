#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernel files as a real nvcc takes them, without a GPU: what `cbank spaces --compile-only` says of
a right one and of typical mistakes, and kernels that are called as anything in the header.
CBANK_CUDA names the CUDA toolkit; without one, these are skipped.
"""

import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "end_to_end"))
from common import CBANK, ROOT, Scratch  # noqa: E402

TOOLKIT = os.environ.get("CBANK_CUDA")
OLD = ["shared_async", "shared_bulk"]  # what sm_75 does not have

# A mistake: what is replaced in the first kernel file by what, the exit code, and the last line.
MISTAKES = {
    "no output": (
        [(r"output<float>\(size\)", "scratch<float>(size)"), (r"check\(.*", "")],
        2,
        r"error: .*:22: nothing could be checked; make what the kernel writes an output",
    ),
    "swapped arguments": (
        [("in, out, size", "out, in, size")],
        2,
        r"error: bad\.cu:31: the kernel takes something else here than a pointer",
    ),
    "another number of arguments": (
        [("table, in, out, size", "in, out, size")],
        2,
        r"error: bad\.cu:31: the case gives the kernel another number of arguments than it takes",
    ),
    "wrong memory space": (
        [("256, constant", "256, sharde")],
        2,
        r"error: bad\.cu:8: the last word of CBANK_TABLE is no memory space; valid: constant, ",
    ),
    "too many threads": (
        [(r"255\) / 256, 256", "2047) / 2048, 2048")],
        1,
        r"finding: .*:22: it cannot be launched .* blocks of 2048 .*has 1024 threads at most",
    ),
    "a check that does not end": (
        [(r"return table\[in\[i\]\] \* 2", "volatile int x = 1; while (x) {} return 0.f")],
        1,
        r"finding: .*:22: the check fails on the processor .*: it takes more than 30 s",
    ),
    "a check that crashes": (
        [(r"return table\[in\[i\]\]", "return table[i * 1000000000]")],
        1,
        r"finding: .*:22: the check fails on the processor .*: Segmentation fault",
    ),
    "wrong name of the case": (
        [(r"CBANK_CASE\(tone_map", "CBANK_CASE(tone_mapp")],
        2,
        r"error: .*:22: the case is called tone_mapp and launches tone_map; write CBANK_CASE\(tone_"
        r"map, ",
    ),
    "another kernel than the case is named for": (
        [
            (
                r"CBANK_CASE\(tone_map",
                "__global__ void other(curve, const unsigned char *, float *, unsigned) {}\n"
                "CBANK_CASE(other",
            )
        ],
        2,
        r"error: .*:23: the case is called other and launches tone_map; write CBANK_CASE\(tone_map",
    ),
    "no include": (
        [("#include.*", "")],
        2,
        r"error: bad\.cu: the file does not include cbank.cuh; begin it with #include <cbank.cuh>",
    ),
    "a second case": (
        [(r"\Z", "CBANK_CASE(tone_map, 1) {}\n")],
        2,
        r"error: bad\.cu:35: a second CBANK_CASE; a file has one: write the other into a file of",
    ),
    "no launch": (
        [(r"launch\(.*", "")],
        2,
        r"error: .*:22: the case launches no kernel; end it with launch\(kernel, blocks, threads\)",
    ),
    "no case": (
        [(r"(?s)CBANK_CASE\(.*", "")],
        2,
        r"error: .*: no CBANK_CASE\(kernel, sizes \.\.\.\) .*; see examples/crc32\.cu",
    ),
    "a table that is too large": (
        [("256, constant", "20000, constant")],
        2,
        r"error: .*: constant memory has 65,536 bytes; write another memory space",
    ),
    "a table that is not staged": (
        [(r"table\.stage\(\);", "")],
        1,
        r"finding: .*, shared on sm_90: the kernel reads its table and never stages it; "
        r"call table\.stage\(\)",
    ),
    "a kernel without its table": (
        [("tone_map<curve>", "tone_map")],
        2,
        r"error: bad\.cu:31: launch takes a kernel with its tables, blocks and threads: launch\(",
    ),
    "a buffer without its type": (
        [("output<float>", "output")],
        2,
        r"error: bad\.cu:28: name the type of an element: output<float>\(count\)",
    ),
    "a name that nobody declared": (
        [(r"table\[in\[i\]\] \* 2;\n}\n\n//", "tabel[in[i]] * 2;\n}\n\n//")],
        2,
        r'error: bad\.cu:18: identifier "tabel" is undefined',
    ),
    "a kernel that writes nothing": (
        [(r"out\[i\] = ", "const float x = ")],
        1,
        r"finding: .*the kernel stores nothing in global memory; write its output",
    ),
    "a check that cannot fail": (
        [
            (r"output<float>\(size\)", "inout<float>(size, zeros{})"),
            (r"return table\[in\[i\]\] \* 2", "return 0.f"),
        ],
        1,
        r"finding: .*:22: a kernel that writes nothing would pass the check .*make it an output",
    ),
    "nothing is checked": (
        [(r"check\(.*", "")],
        0,
        r".*:22: the case checks nothing: .*; say by check\(buffer, expected\) what the kernel",
    ),
    "a file that is not there": (
        [(r"entries<curve>\(.*", 'entries<curve>(npy{"absent.npy"});')],
        2,
        r"error: cannot read \S*absent\.npy: No such file",
    ),
}

CHECKED = ("--compile-only", "--size", "1000", "--space", "written,shared")

# Names that a program cannot give a kernel: words of the language, macros, and what CUDA and the C
# library declare themselves.
TAKEN = set(
    """alignas alignof auto bool char class const constexpr decltype double else enum extern false
    float for if inline int long namespace new noexcept nullptr operator private protected public
    return short signed sizeof static static_assert static_cast struct template this true typedef
    typename union unsigned using void volatile while reinterpret_cast const_cast
    main std defined cbank
    blockDim blockIdx gridDim threadIdx dim3 memcpy memset memcmp malloc
    cudaError_t cudaSuccess cudaStream_t cudaMalloc cudaFree cudaTextureDesc cudaResourceDesc
    tex1Dfetch one_CBANK_CASE_a_file uint2 uint4 uchar ushort uint ulong
    float2 float3 float4 double2 int2 int4 char2 char4""".split()
)
# What a case calls, which hides kernels of the same name: ::name launches them.
WORDS = set(
    "random below zeros npy tolerance size input inout output scratch entries launch items check"
    " accept".split()
)


def header_names():
    """Every identifier of the header that a kernel can be called."""
    text = ""
    for name in ("cbank.cuh", "cbank_case.h"):
        with open(os.path.join(ROOT, "kernels", name), encoding="utf-8") as file:
            text += file.read()
    code = re.sub(r'(?s)/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|#[^\n]*', " ", text)
    names = set(re.findall(r"(?<![\w'])[A-Za-z]\w*", code)) - TAKEN
    return sorted(
        name for name in names if not re.match(r"(?i)cbank_|cuda|cu[A-Z]|u?int\d|u?char\d|__", name)
    )


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
class KernelFiles(Scratch):
    def spaces(self, name, *words, status=0):
        done = subprocess.run(
            [CBANK, "spaces", name, *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={
                **os.environ,
                "CBANK_NVCC": os.path.join(TOOLKIT, "bin/nvcc"),
                "CBANK_CACHE": os.path.join(self.folder, "cache"),
                "COLUMNS": "100",
            },
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def first(self):
        path = os.path.join(self.folder, "first.cu")
        if not os.path.exists(path):
            self.spaces("first.cu", "--new")
        with open(path, encoding="utf-8") as file:
            return file.read()

    def test_the_first_kernel_file(self):
        """It compiles on three architectures, and the numbers are those of ptxas -v."""
        self.first()
        self.spaces("first.cu", "--new", status=2)
        for words in (("absent.cu",), ("absent.cu", "--compile-only")):
            self.assertIn(
                "cannot read absent.cu: No such file", self.spaces(*words, status=2).stderr
            )
        said = self.spaces("first.cu", "--compile-only", "--arch", "75,90,120").stdout
        self.assertEqual(re.findall(r"tone_map, sm_(\d+), nvcc", said), ["75", "90", "120"])
        self.assertIn("size 1048576: grid 4096, block 256; buffers of 5242880 bytes", said)
        for part in said.split("tone_map, sm_")[1:]:
            architecture = part.partition(",")[0]
            rows = re.findall(r"(?m)^(\w+)(?: \(as written\))? +(ok|skipped)", part)
            self.assertEqual(
                [name for name, outcome in rows if outcome == "skipped"],
                OLD * (architecture == "75") + ["shuffle", "select", "prmt"],
            )
            self.assertRegex(part, r"(?m)^shared +ok +\d+ +0 +1024 +.*1 LDS$")
            self.assertRegex(part, r"curve: address data: only a measurement tells")
            self.assertIn("the threads of a warp hold 32 entries", part)

    def test_mistakes(self):
        text = self.first()
        for name, (edits, status, line) in MISTAKES.items():
            with self.subTest(name):
                bad = text
                for pattern, put in edits:
                    bad, count = re.subn(pattern, put, bad, count=1)
                    self.assertEqual(count, 1, pattern)
                with open(os.path.join(self.folder, "bad.cu"), "w", encoding="utf-8") as file:
                    file.write(bad)
                done = self.spaces("bad.cu", *CHECKED, status=status)
                self.assertRegex(done.stderr.rstrip().splitlines()[-1], r"^cbank: " + line)

    def test_a_memory_space_that_does_not_compile(self):
        """The others are told, and the line is the user's."""
        bad = self.first().replace(
            "out[i] = ", 'static_assert(!Table::needs_barrier, "mine"); out[i] = '
        )
        with open(os.path.join(self.folder, "bad.cu"), "w", encoding="utf-8") as file:
            file.write(bad)
        done = self.spaces("bad.cu", "--compile-only", status=1)
        self.assertRegex(done.stdout, r"(?m)^shared +error")
        self.assertRegex(done.stdout, r"(?m)^global +ok")
        self.assertRegex(
            done.stderr, r"cbank: finding: bad\.cu, shared and others on sm_90: bad\.cu:18: mine\n"
        )

    def test_kernels_may_have_every_name_of_the_header(self):
        names = header_names()
        self.assertGreater(len(names), 150)
        self.assertLessEqual(WORDS, set(names))
        lines = ["#include <cbank.cuh>", "CBANK_TABLE(a_table, float, 16, constant);"]
        lines += [f"__global__ void {name}(a_table t, float *o) {{ *o = t[1]; }}" for name in names]
        lines += ["__global__ void a_kernel(a_table t, float *o) { *o = t[1]; }"]
        lines += ["CBANK_CASE(a_kernel, 1)\n{", "const auto t = entries<a_table>();"]
        lines += ["const auto o = output<float>(1);"]
        lines += [
            f"if (size == 2) launch({'::' if name in WORDS else ''}{name}, 1, 1)(t, o);"
            for name in names
        ]
        lines += ["launch(a_kernel, 1, 1)(t, o);", "}"]
        with open(os.path.join(self.folder, "names.cu"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        done = self.spaces("names.cu", "--compile-only", "--space", "written")
        self.assertRegex(done.stdout, r"(?m)^constant \(as written\) +ok")


if __name__ == "__main__":
    unittest.main()
