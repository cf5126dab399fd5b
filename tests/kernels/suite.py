#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the code of examples/ in every memory space that holds their tables, on every
architecture.

Each table is read by the instruction that the memory space names, and by no other. No table is
copied to local memory.

The files are compiled as `cbank run --kernel` compiles them. A kernel also has loads of its own:
they are the loads of the build for constant memory that are no LDC. There, in parameters and as a
texture, a kernel has no address of its table in global memory. CBANK_CUDA names the CUDA toolkit.
With CBANK_ARCHS=ends, every example is compiled for constant memory and for every third memory
space, in turns; every other example for the oldest architecture, and the rest for the newest.
"""

import collections
import glob
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from header import (
    COPIES,
    FILLED,
    INSTRUCTION,
    KERNELS,
    LDC,
    LDG,
    LDS,
    LOCAL,
    PRMT,
    QUICK,
    ROOT,
    SELECT,
    SHFL,
    TEXTURE,
    TOOLKIT,  # noqa: E402
    opcodes,
    alignments,
    architectures,
    in_parallel,
    sections_of,
)

NAMES = sorted(os.path.basename(path)[:-3] for path in glob.glob(f"{ROOT}/examples/*.cu"))
HEADERS = ("cbank.cuh", "cbank_shared.cuh", "cbank_case.h")
NO_ADDRESS = ("constant", "param", "texture")
# loads of copies: of two tables, four at a time and what is left; words that SEL chooses from
COPIED_MAX = 20
ULDC, ULDC_INDEXED, LDCU = map(opcodes.number, ("ULDC", "ULDC_INDEXED", "LDCU"))
ARITHMETIC = range(0x80)  # on ordinary registers
CONVERSIONS = range(opcodes.number("FLO"), opcodes.number("FRND_113") + 1)
CONSTANT_FORMS = (3, 5)
PARAMETERS_AT, PARAMETER, LARGE_PARAMETER = 0x0A, 0x17, 0x45  # attributes of a kernel


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def parameters(info, count):
    """Where in bank 0 the first parameters lie: those are the tables."""
    at, base, ends = 0, 0, {}
    while at < len(info):
        form, attribute, value = struct.unpack_from("<BBH", info, at)
        at += 4
        if form == 4 and attribute == PARAMETERS_AT:
            (base,) = struct.unpack_from("<H", info, at + 4)
        if form == 4 and attribute in (PARAMETER, LARGE_PARAMETER):
            _, ordinal, offset, packed = struct.unpack_from("<IHHI", info, at)
            ends[ordinal] = offset + (packed >> 18 if attribute == PARAMETER else packed & 0xFFFFFF)
        at += value if form == 4 else 0
    return base, base + ends[count - 1]


def reads(cubin, tables, in_parameters, architecture):
    """How often each instruction that may read a table is there: the operand of another
    instruction counts, too. in_parameters: the entries are parameters, not a pointer."""
    sections, found = sections_of(cubin), collections.Counter()
    (kernel,) = (
        name[len(".text") :]
        for name in sections
        if name.startswith(".text.") and not name.startswith(".text.cbank_case")
    )
    first, end = parameters(sections[".nv.info" + kernel], tables)
    for low, high in struct.iter_unpack("<QQ", sections[".text" + kernel]):
        operation, operands, index, bank = (
            low & 0x1FF,
            low >> 9 & 7,
            low >> 24 & 0xFF,
            low >> 54 & 0x1F,
        )
        offset = low >> (37 if operation == LDCU else 38) & 0xFFFF
        order = high >> 13 & 0xF if architecture >= 80 else {1: 0, 0: 4}.get(high >> 15 & 3, 1)
        if operation in LDC | {ULDC, ULDC_INDEXED, LDCU} or (
            (operation in ARITHMETIC or operation in CONVERSIONS) and operands in CONSTANT_FORMS
        ):
            indexed = operation in LDC | {ULDC_INDEXED, LDCU} and index != 0xFF
            found["LDC"] += bank == 3
            found["LDC of parameters"] += bank == 0 and (
                indexed or (in_parameters and first <= offset < end)
            )
        if operation in LDG:
            found[{0: "LDG", 4: "LDG.CONSTANT"}.get(order, "LDG.STRONG")] += 1
        for name, operations in (
            ("LDS", LDS),
            ("SHFL", SHFL),
            ("PRMT", PRMT),
            ("SEL", SELECT),
            ("TLD", TEXTURE),
            ("local", LOCAL),
            *((name, {copy}) for name, copy in COPIES.items()),
        ):
            found[name] += operation in operations
    found["addresses"] = 0 if in_parameters else (end - first) // 8
    return +found


def build(name, space, architecture, change=None, whole=False):
    """The reads of an example's kernel, its whole cubin, or the compiler's messages.
    change: (text of a header, another text)."""
    path = f"{ROOT}/examples/{name}.cu"
    tables = re.findall(r"^CBANK_TABLE\((\w+)", read(path), re.MULTILINE)
    files = {
        **{name: read(f"{KERNELS}/{name}") for name in HEADERS},
        "0.cu": "".join(f"#define CBANK_SPACE_{table} ,{space}\n" for table in tables)
        + f'#include "{path}"\n',
    }
    if change:
        assert sum(files[name].count(change[0]) for name in HEADERS) == 1, change[0]
        files.update({name: files[name].replace(*change) for name in HEADERS})
    with tempfile.TemporaryDirectory() as folder:
        for file, text in files.items():
            with open(f"{folder}/{file}", "w", encoding="utf-8") as out:
                out.write(text)
        done = subprocess.run(
            [
                f"{TOOLKIT}/bin/nvcc",
                "-I",
                folder,
                "-DCBANK_MEASURE",
                "-cubin",
                "-lineinfo",
                f"-arch=sm_{architecture}",
                "-o",
                f"{folder}/0.cubin",
                f"{folder}/0.cu",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            return done.stdout + done.stderr
        with open(f"{folder}/0.cubin", "rb") as file:
            cubin = file.read()
            return cubin if whole else reads(cubin, len(tables), space == "param", architecture)


def wrong(space, found, constant):
    """Says which reads of a build are wrong, beside those of the build for constant memory."""
    due = INSTRUCTION[space]
    own = {what: count for what, count in constant.items() if what not in ("LDC", "addresses")}
    faults = [] if found[due] > (0 if space == "constant" else own.get(due, 0)) else [f"no {due}"]
    faults += [
        f"{found[what]} {what}"
        for what in (
            "LDC",
            "LDC of parameters",
            "LDG.CONSTANT",
            "LDG.STRONG",
            "LDS",
            "TLD",
            "SHFL",
            "local",
        )
        if what != due and found[what] > own.get(what, 0)
    ]
    for filled, copy in FILLED.items():
        if (found[copy] > 0) != (filled == space):
            faults.append(f"{found[copy]} {copy}")
    if space == "constant" and found["addresses"]:
        faults.append("a pointer")
    # Other loads of global memory: of the kernel, as often as a loop is unrolled, and of copies.
    unrolled = max(1, found[due] / max(1, constant["LDC"]))
    if space not in ("global", *NO_ADDRESS) and found["LDG"] > own.get("LDG", 0) * unrolled + (
        0 if space == "readonly" else COPIED_MAX
    ):
        faults.append(f"{found['LDG']} LDG")
    return faults


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
class Suite(unittest.TestCase):
    maxDiff = None

    def test_every_place(self):
        known = architectures(TOOLKIT, 75, False)
        jobs = [
            (name, space, architecture)
            for i, name in enumerate(NAMES)
            for k, space in enumerate(INSTRUCTION)
            if not QUICK or space == "constant" or (i + k) % 3 == 0
            for architecture in ((known[0], known[-1])[i % 2 :][:1] if QUICK else known)
        ]
        built = dict(zip(jobs, in_parallel(build, *zip(*jobs))))
        fits = collections.Counter()
        for (name, space, architecture), found in built.items():
            with self.subTest(example=name, space=space, architecture=architecture):
                if isinstance(found, str):
                    self.assertRegex(found, '"cbank: ')
                    continue
                fits[name] += 1
                faults = wrong(space, found, built[(name, "constant", architecture)])
                self.assertEqual(faults, [], dict(found))
        print(f"{fits.total()} builds of {len(fits)} kernels", flush=True)
        self.assertGreaterEqual(min(fits[name] for name in NAMES), 2 if QUICK else 6 * len(known))

    def test_copies_go_to_the_start_of_a_line(self):
        """Elsewhere they take up to four times as long. A table that may begin there is found."""
        for change, alignment in ((None, 128), (("struct alignas(128) line", "struct line"), 4)):
            for space in ("shared_async", "shared_bulk"):
                with self.subTest(space=space, alignment=alignment):
                    cubin = build("crc32", space, 90, change, whole=True)
                    alignment = max(alignment, 8 if space == "shared_bulk" else 4)
                    self.assertEqual(alignments(cubin, b".nv.shared._Z5crc32"), [alignment])

    def test_faults_are_found(self):
        """A table that is read in another memory space, or copied to local memory."""
        plain, staged, room = (
            "return this->entries[index];",
            "return staged::room()->entries()[index];",
            "    cbank_u8 more_than_copied[144];\n",
        )
        bulk = "copy_bulk(&room->barrier, room->bytes, this->entries, room->whole);"
        newest = architectures(TOOLKIT, 75, False)[-1]
        for fault, name, space, change in (
            (
                "LDG.CONSTANT",
                "crc32",
                "global",
                (plain, "return __ldg(&this->entries[index]);"),
            ),
            ("no LDS", "convolution_rows", "shared", (staged, plain)),
            ("local", "nf4_dequantize", "param", (room, "")),
            ("0 LDGSTS", "crc32", "shared_async", ("copy_unit(room->bytes + i, from + i);", ";")),
            ("0 UBLKCP", "crc32", "shared_bulk", (bulk, ";")),
        ):
            with self.subTest(fault):
                faults = wrong(
                    space, build(name, space, newest, change), build(name, "constant", newest)
                )
                self.assertRegex(", ".join(faults), rf"(^|\d+ |, ){re.escape(fault)}(,|$)")


if __name__ == "__main__":
    unittest.main()
