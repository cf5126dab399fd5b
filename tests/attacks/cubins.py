#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cubins, and files that contain some, that are damaged, for `cbank advise --kernel`.

usage: tests/attacks/cubins.py [--count N] [--seed N]

Half of the mutants have other bytes. Most of the others stay ELF files of plausible headers: a
field of the file, of a section or of a symbol has another number. The rest stay archives: sizes
that lie, names that are elsewhere, members that hold archives.
"""

import glob
import os
import struct
import sys

from documents import ADVISE, read
from run import ROOT, Campaign, mutate_bytes

NUMBERS = (
    0,
    1,
    2,
    3,
    7,
    63,
    64,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    0x7FFFFFFFFFFFFFFF,
    0xFFFFFFFFFFFFFFC0,
    0xFFFFFFFFFFFFFFFF,
)
ELF = (64, ("<H", 16, 18, 52, 54, 56, 58, 60, 62), ("<I", 20, 48), ("<Q", 24, 32, 40))
SECTION = (64, ("<I", 0, 4, 40, 44), ("<Q", 8, 16, 24, 32, 48, 56))
SYMBOL = (24, ("<I", 0), ("<B", 4, 5), ("<H", 6), ("<Q", 8, 16))
SYMBOLS = 2  # the type of their section
# What is asked of a mutant.
WORDS = (
    (),
    ("--json", "-"),
    ("--all-loads",),
    ("--against", "whole.cubin"),
    ("--kernel-name", "*o*", "--fail"),
    ("--against", "whole.cubin", "--json", "-"),
)


def mutate_fields(chance, data):
    """Another number in one to three fields: one that is there, near to it, near to the file's
    size, or extreme."""
    data = bytearray(data)
    sections, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    structures = [(0, ELF), *((sections + 64 * i, SECTION) for i in range(count))]
    for at, _ in structures[1:]:
        kind, offset, size = struct.unpack_from("<I", data, at + 4)[0], *struct.unpack_from(
            "<QQ", data, at + 24
        )
        structures += (
            (symbol, SYMBOL) for symbol in range(offset, offset + size, 24) if kind == SYMBOLS
        )
    for _ in range(chance.randint(1, 3)):
        at, (_, *fields) = chance.choice(structures)
        letter, *offsets = chance.choice(fields)
        bits = 8 * struct.calcsize(letter)
        place = at + chance.choice(offsets)
        number = chance.choice(
            (struct.unpack_from(letter, data, place)[0], len(data), chance.choice(NUMBERS))
        ) + chance.randint(-64, 64)
        struct.pack_into(letter, data, place, number % (1 << bits))
    return bytes(data)


def member(name, data, size=None):
    """A member of an archive; its header may lie about its size."""
    size = len(data) if size is None else size
    header = f"{name:16}{0:<12}{0:<6}{0:<6}{644:<8}{size:<10}".encode()[:58] + b"`\n"
    return header + data + b"\n" * (len(data) % 2)


def make_archive(chance, inner):
    """An archive of one to six members: files that are right, and what no ar writes."""
    names = b"".join(b"%d_object_of_a_long_name.o/\n" % i for i in range(9))
    out = chance.choice((b"!<arch>\n",) * 9 + (b"!<thin>\n",)) + member("//", names)
    for _ in range(chance.randint(1, 6)):
        name = chance.choice(
            ("a.o/", "/0", "/27", f"/{len(names)}", "/9999999999999", "/", "/SYM64/", "//", "#1/8")
            + ("#1/999999", "#1/-1", "", "/x", "\x1b[2J/", "\xe9/", "../../a.o/")
        )
        data = chance.choice((*inner, out, b"", b"!<arch>\n"))
        size = chance.choice(
            (None,) * 6
            + (0, 1, len(data) - 1, len(data) + 1, 9999999999, -1, "0x10", "", " 64", "1 2")
        )
        out += member(name, data, size)
    return out[: chance.choice((len(out),) * 4 + (chance.randrange(len(out)),))]


def main():
    campaign = Campaign(count=1500, quick=360)
    originals = [
        read(path) for path in sorted(glob.glob(os.path.join(ROOT, "tests/corpus/cubin/*")))
    ]
    cubins = [data for data in originals if data[18:20] == b"\xbe\0"]  # ELF files for a GPU
    with open(os.path.join(campaign.folder, "whole.cubin"), "wb") as file:
        file.write(read(os.path.join(ROOT, "tests/corpus/cubin/lookup_sm_90.cubin")))
    for number in range(campaign.options.count):
        chance = campaign.chance(number)
        kind, mutant = (
            ("archives", lambda: make_archive(chance, originals))
            if number % 8 == 1
            else ("fields", lambda: mutate_fields(chance, chance.choice(cubins)))
            if number % 2
            else ("bytes", lambda: mutate_bytes(chance, chance.choice(originals)))
        )
        with open(os.path.join(campaign.folder, "mutant.cubin"), "wb") as file:
            file.write(mutant())
        campaign.attempt(
            f"cubins, {kind}",
            [*ADVISE, "--kernel", "mutant.cubin", *WORDS[number // 2 % len(WORDS)]],
            "mutant.cubin",
        )
    sys.exit(campaign.end())


if __name__ == "__main__":
    main()
