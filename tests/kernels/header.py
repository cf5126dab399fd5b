#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of kernels/cbank.cuh with real compilers. Kernels that read its tables have the
instructions of kernels written by hand, in order, and read their tables by the instruction that the
memory space names. A case changes none of them. CBANK_CUDA names the CUDA toolkit; where CUDA 11.8
was fetched (scripts/cuda_11_8.sh), it compiles them, too. With CBANK_ARCHS=ends, only for the
newest architecture.
"""

import collections
import concurrent.futures
import functools
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "end_to_end"))
from common import ROOT  # noqa: E402

sys.path.insert(0, os.path.join(ROOT, "scripts"))
import opcodes  # noqa: E402

TOOLKIT = os.environ.get("CBANK_CUDA")
OLD = os.path.join(ROOT, "build/toolkits/cuda-11.8")
QUICK = os.environ.get("CBANK_ARCHS") == "ends"
KERNELS = os.path.join(ROOT, "kernels")
NUMBERS = "ROW(b, unsigned char, 256) ROW(f, float, 256) ROW(f4, float4, 64)"
ENTRIES = (
    f"{NUMBERS} ROW(s12, bytes_12, 64) ROW(s24, bytes_24, 64) ROW(s32, bytes_32, 32) ROW(m,"
    " mixed, 64)"
)
ROWS = {
    "constant": ENTRIES,
    "global": ENTRIES,
    "readonly": NUMBERS,
    "shared": f"{ENTRIES} ROW(many, float, 4096)",
    "shared_async": f"{ENTRIES} ROW(many, float, 4096)",
    "shared_bulk": f"{ENTRIES} ROW(many, float, 4096)",
    "param": f"{ENTRIES} ROW(few, unsigned char, 16) ROW(f16, float, 16)",
    "shared_copies": "ROW(b, unsigned char, 256) ROW(f, float, 64) ROW(f4, float4, 32)",
    "texture": NUMBERS,
    "shuffle": (
        "ROW(f, float, 32) ROW(u, unsigned, 16) ROW(d, double, 32) ROW(s, signed char, 16) ROW(h,"
        " unsigned short, 32)"
    ),
    "select": "ROW(f, float, 4) ROW(u, unsigned, 4) ROW(d, double, 4)",
    "prmt": "ROW(b, unsigned char, 8) ROW(s, signed char, 8)",
}
# In these, the compiler may move the load of stage() past a branch: instructions are compared
# without their order.
HELD = ("shuffle",)
# The oldest architecture that has a memory space, and what fills it.
OLDEST = {"shared_async": 80, "shared_bulk": 90}
FILLED = {"shared_async": "LDGSTS", "shared_bulk": "UBLKCP"}

# The low 9 bits of the instructions that memory spaces name, and those that use local memory.
LDC, LDG, LDS = (opcodes.numbers(name) for name in ("LDC", "LDG", "LDS"))
SHFL, PRMT = opcodes.numbers("SHFL"), opcodes.numbers("PRMT")
SELECT, LOCAL = opcodes.numbers("SEL", "FSEL"), opcodes.numbers("LDL", "STL")
COPIES = {name: opcodes.number(name) for name in FILLED.values()}
TEXTURE = {row.number for row in opcodes.ROWS if row.loads == "TLD"}
FORM_IMMEDIATE_B = 4  # bits 9 to 11
PADDING = FORM_IMMEDIATE_B << 9 | opcodes.number("NOP")


def architectures(toolkit, oldest=70, quick=QUICK):
    listed = subprocess.run(
        [f"{toolkit}/bin/nvcc", "--list-gpu-code"], capture_output=True, text=True, check=True
    ).stdout
    known = sorted(
        number for number in map(int, re.findall(r"sm_(\d+)", listed)) if number >= oldest
    )
    return known[-1:] if quick else known


@functools.lru_cache(maxsize=None)
def compile_text(toolkit, text, architecture, *options):
    """The code of each kernel of a source text, by name; the compiler's messages if it does not
    compile."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = os.path.join(folder, "source.cu"), os.path.join(folder, "out.cubin")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run(
            [
                f"{toolkit}/bin/nvcc",
                "-cubin",
                f"-arch=sm_{architecture}",
                "-allow-unsupported-compiler",
                *([] if "-Werror" in options else ["-w"]),
                f"-I{KERNELS}",
                "-o",
                out,
                *options,
                source,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            return done.stdout + done.stderr
        with open(out, "rb") as file:
            return {
                name[len(".text.") :]: code
                for name, code in sections_of(file.read()).items()
                if name.startswith(".text.")
            }


def sections_of(cubin):
    """The sections of an ELF file, by name."""
    (start,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    rows = [struct.unpack_from("<IIQQQQ", cubin, start + size * i) for i in range(count)]
    texts = rows[names][4]
    return {
        cubin[texts + row[0] : cubin.index(b"\0", texts + row[0])].decode(): cubin[
            row[4] : row[4] + row[5]
        ]
        for row in rows
    }


def alignments(cubin, prefix):
    """The alignments of the sections of an ELF file whose names begin so."""
    (start,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    rows = [struct.unpack_from("<IIQQQQIIQQ", cubin, start + size * i) for i in range(count)]
    return [row[8] for row in rows if cubin.startswith(prefix, rows[names][4] + row[0])]


def operations(code):
    """Operation and kinds of operands of each instruction."""
    found = [struct.unpack_from("<Q", code, at)[0] & 0xFFF for at in range(0, len(code), 16)]
    while found and found[-1] == PADDING:
        found.pop()
    return found


def read_by(code, architecture):
    """How often each instruction that reads a table is there."""
    found = collections.Counter()
    for at in range(0, len(code), 16):
        low, high = struct.unpack_from("<QQ", code, at)
        operation, index, bank = low & 0x1FF, low >> 24 & 0xFF, low >> 54 & 0x1F
        plain = high >> 13 & 0xF == 0 if architecture >= 80 else high >> 15 & 3 == 1
        weak = high >> 13 & 0xF == 4 if architecture >= 80 else high >> 15 & 3 == 0
        found["LDC"] += operation in LDC and bank == 3
        found["LDC of parameters"] += operation in LDC and bank == 0 and index != 0xFF
        found["LDG"] += operation in LDG and plain
        found["LDG.CONSTANT"] += operation in LDG and weak
        for name, operations in (
            ("LDS", LDS),
            ("SHFL", SHFL),
            ("PRMT", PRMT),
            ("SEL", SELECT),
            ("TLD", TEXTURE),
            ("local", LOCAL),
        ):
            found[name] += operation in operations
        for name, copy in COPIES.items():
            found[name] += operation == copy
    return found


# The instruction of a memory space.
INSTRUCTION = {
    "constant": "LDC",
    "global": "LDG",
    "readonly": "LDG.CONSTANT",
    "shared": "LDS",
    "shared_async": "LDS",
    "shared_bulk": "LDS",
    "shared_copies": "LDS",
    "param": "LDC of parameters",
    "texture": "TLD",
    "shuffle": "SHFL",
    "select": "SEL",
    "prmt": "PRMT",
}


def in_parallel(function, *columns):
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(function, *columns))


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
class ByHand(unittest.TestCase):
    toolkit, maxDiff = TOOLKIT, None

    def build(self, architecture, space, *macros, standard=17, rows=None):
        """tests/kernels/tables.cu."""
        lines = [f"SPACE {space}", f"ROWS {rows or ROWS[space]}", *macros]
        built = compile_text(
            self.toolkit,
            "".join(f"#define {line}\n" for line in lines)
            + f'#include "{ROOT}/tests/kernels/tables.cu"\n',
            architecture,
            f"-std=c++{standard}",
        )
        self.assertIsInstance(built, dict, f"{space} {macros}: {built}")
        return built

    def compare(self, architecture, spaces, *macros, standard=17, rows=None):
        spaces = [
            space
            for space in spaces
            if OLDEST.get(space, 0) <= architecture
            and (space != "shared_bulk" or self.toolkit != OLD)
        ]
        tables = in_parallel(
            lambda space: self.build(architecture, space, *macros, standard=standard, rows=rows),
            spaces,
        )
        by_hand = in_parallel(
            lambda space: self.build(architecture, space, "BY_HAND", *macros, rows=rows), spaces
        )
        for space, own, other in zip(spaces, tables, by_hand):
            self.assertEqual(own.keys(), other.keys())
            self.assertGreaterEqual(len(own), 3)
            for name in own:
                with self.subTest(
                    kernel=name, space=space, architecture=architecture, standard=standard
                ):
                    found = read_by(own[name], architecture)
                    if name.startswith("lookup"):
                        self.assertGreater(found[INSTRUCTION[space]], 0, dict(found))
                    self.assertEqual(found["local"], 0)
                    for copies, name_of_copy in FILLED.items():
                        self.assertEqual(found[name_of_copy] > 0, space == copies, dict(found))
                    one, two = operations(own[name]), operations(other[name])
                    if space in HELD:
                        one, two = sorted(one), sorted(two)
                    self.assertEqual(" ".join(map(hex, one)), " ".join(map(hex, two)))

    def test_instructions(self):
        for architecture in architectures(self.toolkit):
            self.compare(architecture, list(ROWS))

    def test_dynamic_shared_memory(self):
        self.compare(90, ["shared", *OLDEST], "DYNAMIC", rows="ROW(f, float, 16384)")

    def test_standards(self):
        for standard in (14,) if self.toolkit == OLD else (14, 20):
            self.compare(
                architectures(self.toolkit)[-1],
                ["constant", "shared", "select"] if QUICK else list(ROWS),
                standard=standard,
            )

    def test_a_difference_is_found(self):
        """Another memory space, and an index that takes an instruction more."""
        tables, other, longer = (
            self.build(90, *of, rows="ROW(f, float, 256)")
            for of in (("global",), ("constant", "BY_HAND"), ("global", "BY_HAND", "OTHER_INDEX"))
        )
        for name, code in tables.items():
            self.assertNotEqual(operations(code), operations(other[name]))
            self.assertNotEqual(operations(code), operations(longer[name]))


EXAMPLE = """#include "%s/examples/crc32.cu"
template __global__ void crc32<remainders>(remainders, const unsigned char *, unsigned *, unsigned);
"""


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
class Case(unittest.TestCase):
    def test_it_changes_no_instruction(self):
        """In the program's builds, in other builds, without the case, and with what the program
        adds for profilers."""
        with open(os.path.join(ROOT, "examples/crc32.cu"), encoding="utf-8") as file:
            bare = file.read().split("CBANK_CASE")[0]
        codes = [
            compile_text(TOOLKIT, text, 90, *options)
            for text, options in (
                (EXAMPLE % ROOT, ["-DCBANK_MEASURE", "-lineinfo"]),
                (EXAMPLE % ROOT, ["-std=c++14"]),
                (bare + EXAMPLE.splitlines()[1], []),
            )
        ]
        for code in codes:
            self.assertIsInstance(code, dict, code)
        kernels = [code for each in codes for name, code in each.items() if "crc32" in name]
        self.assertEqual(len(kernels), 3)
        self.assertEqual(len(set(kernels)), 1)

    def test_it_leaves_nothing_behind(self):
        """A build of the user's own has no warning, and no kernel that nothing else there
        launches."""
        for name in ("crc32", "aes_ctr"):
            for standard in (14, 20):
                self.assertEqual(
                    compile_text(
                        TOOLKIT,
                        f'#include "{ROOT}/examples/{name}.cu"\n',
                        90,
                        f"-std=c++{standard}",
                        "-Werror",
                        "all-warnings",
                    ),
                    {},
                )

    def test_two_files_with_one_name(self):
        """Tables of one name and type in two files are two, also where device code is linked."""
        with tempfile.TemporaryDirectory() as folder:
            for name in "ab":
                with open(os.path.join(folder, f"{name}.cu"), "w", encoding="utf-8") as file:
                    file.write(
                        "#include <cbank.cuh>\nCBANK_TABLE(grid, float, 16, constant);\ntemplate"
                        " <class Table> __global__ void read(Table table, float *out) { *out ="
                        f" table[threadIdx.x]; }}\ncudaError_t {name}(const float *from, float"
                        " *out) { grid table; read<<<1, 1>>>(table, out); return"
                        " table.load(from); }\n"
                        + ("int main() { return 0; }\n" if name == "a" else "")
                    )
            for options in ([], ["-rdc=true"]):
                done = subprocess.run(
                    [
                        f"{TOOLKIT}/bin/nvcc",
                        "-arch=sm_90",
                        "-w",
                        f"-I{KERNELS}",
                        *options,
                        "-o",
                        "both",
                        "a.cu",
                        "b.cu",
                    ],
                    cwd=folder,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                symbols = subprocess.run(
                    ["nm", "both"], cwd=folder, capture_output=True, text=True, check=True
                ).stdout
                self.assertEqual(
                    len(set(re.findall(r" [bBdDuVv] (\S*constant_entries\S*)", symbols))),
                    2,
                    symbols,
                )


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
class Limits(unittest.TestCase):
    """Tables of bytes before and behind one whose entries are aligned at 16 bytes."""

    def compiled(self, before, between, behind):
        sizes = zip("abc", ("unsigned char", "uint4", "unsigned char"), (before, between, behind))
        text = "#include <cbank.cuh>\n" + "".join(
            f"CBANK_TABLE({name}, {kind}, {count}, constant);\n" for name, kind, count in sizes
        )
        return compile_text(
            TOOLKIT,
            f"""{text}
__global__ void read(a first, b second, c third, const unsigned char *in, unsigned *out)
{{
    out[threadIdx.x] = first[in[0]] + second[in[1]].x + third[in[2]];
}}
CBANK_CASE(read, 32)
{{
    launch(read, 1, 32)(entries<a>([](unsigned i) {{ return i; }}),
                        entries<b>([](unsigned i) {{ return uint4{{i, i, i, i}}; }}),
                        entries<c>([](unsigned i) {{ return i; }}),
                        input<unsigned char>(size), output<unsigned>(size));
}}
""",
            90,
            "-DCBANK_MEASURE",
        )

    def test_constant_memory(self):
        """All of its 65,536 bytes; one more, which the header tells; and gaps of 15 bytes, of which
        the compiler alone knows. Its message is the one that the program reads."""
        self.assertIsInstance(self.compiled(16, 4094, 16), dict)
        self.assertIn("the tables have more", self.compiled(16, 4094, 17))
        self.assertRegex(
            self.compiled(1, 4095, 1),
            r"ptxas error   : .*too much global constant data \(0x10001 bytes, 0x10000 max\)",
        )


@unittest.skipUnless(os.path.exists(OLD), "no CUDA 11.8: scripts/cuda_11_8.sh")
class ByHandOld(ByHand):
    toolkit = OLD


if __name__ == "__main__":
    unittest.main()
