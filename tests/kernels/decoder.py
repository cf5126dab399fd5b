#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the decoder of machine code, harness/code/opcodes.def, with real compilers.

- The architectures of which `cbank advise --kernel` proves anything are those that these tests
  compile for.
- nvdisasm, where there is one, says which registers and predicates each instruction reads and
  writes (option -plr), and the decoder must say the same. Instructions that no compiler made are
  asked for, too: those of the code with a bit of an operand changed.
- Where there is none, as for the newest architectures, nearly everything that code writes is also
  read: compilers leave out the rest. An input that the decoder leaves out breaks that.

CBANK_CUDA names the CUDA toolkit; where CUDA 11.8 was fetched (scripts/cuda_11_8.sh), it compiles
and disassembles, too. With CBANK_ARCHS=ends, only for some architectures.
"""

import collections
import functools
import glob
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
DECODED = os.path.join(ROOT, "build/tests/sass/decoded")
QUICK = os.environ.get("CBANK_ARCHS") == "ends"
OPCODES = os.path.join(ROOT, "tests/sass/opcodes.cu")
CORPUS = sorted(glob.glob(os.path.join(ROOT, "tests/sass/corpus/*.cu")))
INSTRUCTION = 16  # bytes
ENCODING_FIRST = 70  # older architectures have another encoding

# Of these the analysis follows no value: what they write is not known, whatever they read.
NOT_FOLLOWED = {
    row.name
    for row in opcodes.ROWS
    if row.effect in ("NOTHING", "STORE", "ATOMIC", "LANES")
    or "MASKED" in row.fields
    or row.name in ("LDSM", "SULD")
} - {"WARPSYNC"}
NOT_READ = {"R1"}  # the stack's: every kernel sets it
# It is not clear that all inputs of these are listed.
MAY_READ_ALL = NOT_FOLLOWED - {"STG", "STS", "STL", "ST", "NOP", "P2R"}
CONTROL = {row.name for row in opcodes.ROWS if row.effect == "BRANCH"} | {"?"}
KINDS = {"GPR": "R", "PRED": "P", "UGPR": "UR", "UPRED": "UP"}  # columns of nvdisasm
REGISTER = re.compile(r"(?<![\w.])(U?[RP]\d+)(?!\w)")

# A kernel with room for other code.
ROOM = """extern "C" __global__ void room(float *out, const float *in)
{
    float sum = in[threadIdx.x];
#pragma unroll
    for (int i = 0; i < 200; i++)
        sum = sum * in[i] + 1.5f;
    out[threadIdx.x] = sum;
}
"""

Row = collections.namedtuple("Row", "address text reads writes")


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


def toolkits():
    return [folder for folder in (TOOLKIT, OLD) if folder and os.path.exists(f"{folder}/bin/nvcc")]


@functools.lru_cache(maxsize=None)
def compiled(toolkit, architecture, folder, source=OPCODES):
    """The cubin of a source."""
    out = os.path.join(folder, "out.cubin")
    compiler = ("-ccbin", "g++-11") if toolkit == OLD else ()
    options = ("-std=c++17", "-cubin", "-w", f"-arch=sm_{architecture}")
    run(f"{toolkit}/bin/nvcc", *compiler, *options, "-o", out, source)
    with open(out, "rb") as file:
        return file.read()


def sections_of(cubin):
    """{name: (offset, bytes)} of the code in a cubin."""
    (start,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    rows = [struct.unpack_from("<IIQQQQ", cubin, start + size * i) for i in range(count)]
    texts, found = rows[names][4], {}
    for row in rows:
        name = cubin[texts + row[0] : cubin.index(b"\0", texts + row[0])].decode()
        if name.startswith(".text."):
            found[name] = (row[4], cubin[row[4] : row[4] + row[5]])
    return found


def expand(words):
    """R4:2 are R4 and R5."""
    found = set()
    for word in words:
        kind, first, count = re.fullmatch(r"([A-Z]+)(\d+)(?::(\d+))?", word).groups()
        found |= {f"{kind}{int(first) + i}" for i in range(int(count or 1))}
    return found


def decoded(code, architecture, folder):
    """[(name, reads, writes)] of each instruction."""
    path = os.path.join(folder, "code")
    with open(path, "wb") as file:
        file.write(code)
    rows = []
    for line in run(DECODED, str(architecture), path).splitlines():
        read, written = line.split(" |")
        name, *read = read.split()
        rows.append((name, expand(read), expand(written.split())))
    return rows


class Disassembler:
    """nvdisasm of a toolkit. `known`: the architectures that it knows."""

    def __init__(self, toolkit, folder):
        self.program, self.folder = f"{toolkit}/bin/nvdisasm", folder
        listed = re.findall(r"'SM(\d+)'", run(self.program, "--help"))
        self.known = {int(number) for number in listed}
        self.old = toolkit == OLD

    def labelled(self, cubin, architecture):
        """The same as an older toolkit labels it."""
        changed = bytearray(cubin)
        if self.old:
            struct.pack_into("<BB", changed, 7, 0x33, 7)
            struct.pack_into("<I", changed, 20, 0x76)
            struct.pack_into("<I", changed, 48, architecture << 16 | 0x500 | architecture)
        return bytes(changed)

    def print(self, cubin):
        path = os.path.join(self.folder, "disassembled.cubin")
        with open(path, "wb") as file:
            file.write(cubin)
        return subprocess.run(
            [self.program, "-plr", "-lrm", "narrow", path],
            capture_output=True,
            text=True,
            check=False,
        )

    def rows(self, cubin):
        """{section: [Row]}; or the address of an instruction that is none."""
        done = self.print(cubin)
        if done.returncode:
            return int(re.search(r"at address 0x([0-9a-f]+)", done.stderr)[1], 16)
        found, section = {}, None
        for line in done.stdout.splitlines():
            if named := re.match(r'\s*\.section\s+"?(\.text\.[^",]+)', line):
                section = found.setdefault(named[1], [])
            head, bar, columns = line.partition("// |")
            if not bar:
                continue
            columns = columns.split("|")[:-1]
            if any(column.strip() in KINDS for column in columns):
                kinds = [KINDS[column.strip()] for column in columns]
            elif any("#" in column for column in columns):
                begins = [column.index("#") + 2 for column in columns]
            at = re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;?\s*$", head)
            if not at:
                continue
            marks = {
                f"{kind}{number}": mark
                for kind, begin, column in zip(kinds, begins, columns)
                for number, mark in enumerate(column[begin:])
            }
            section.append(
                Row(
                    int(at[1], 16),
                    at[2],
                    {name for name, mark in marks.items() if mark in "vx"},
                    {name for name, mark in marks.items() if mark in "^x"},
                )
            )
        return found


def name_of(text):
    return re.sub(r"^@!?U?P\w+\s+", "", text).split()[0].split(".")[0]


def faults(row, said, undefined):
    """What is wrong with what the decoder says of an instruction. undefined: nvdisasm does not list
    registers that nothing has written, nor every second one of a pair."""
    name, reads, writes = said
    named = set(REGISTER.findall(row.text))
    if name == "?" or name.startswith("CALL"):  # nothing is known behind the first
        return
    if not name_of(row.text).removeprefix("CGA").startswith(name.split(".")[0]):
        yield f"it is told {name}"
    if "???" in row.text:  # a type that there is not
        return
    listed = row.reads
    if pair := re.search(r"\bR(\d+)\.U32\+UR", row.text):  # listed as a pair
        listed = listed - {f"R{int(pair[1]) + 1}"}
    if name in NOT_FOLLOWED:
        # More may be written: it is not known.
        missing = row.writes - writes - reads
        if missing and name != "LDGSTS":  # lists the predicate that it takes, too
            yield f"writes {missing}"
        return
    if listed - reads:
        yield f"reads {listed - reads}"
    if row.writes - writes:
        yield f"writes {row.writes - writes}"
    if named - reads - writes:
        yield f"has {named - reads - writes}"
    seconds = {f"R{int(name[1:]) + 1}" for name in named if re.match(r"R\d", name)}
    if more := reads - listed - named - undefined - seconds:
        yield f"does not read {more}"
    if more := writes - row.writes - named - seconds:
        yield f"does not write {more}"


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


FOLDER = tempfile.TemporaryDirectory()


def tearDownModule():
    FOLDER.cleanup()


class Folder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = FOLDER.name

    def cubins(self, known=None):
        """(toolkit, architecture, cubin) of each."""
        for toolkit in toolkits():
            chosen = sorted(architectures_of(toolkit) & (known or architectures_of(toolkit)))
            for architecture in chosen[:: max(1, len(chosen) - 1)] if QUICK else chosen:
                for source in (OPCODES,) if QUICK else (OPCODES, *CORPUS):
                    if toolkit == OLD and os.path.basename(source) in (
                        "groups.cu",
                        "calls.cu",
                    ):
                        continue  # Debian's package of 11.8 lacks a header of theirs
                    yield toolkit, architecture, compiled(
                        toolkit, architecture, self.folder, source
                    )


class Disassembled(Folder):
    """The decoder beside nvdisasm."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        found = [folder for folder in toolkits() if os.path.exists(f"{folder}/bin/nvdisasm")]
        if not found:
            raise unittest.SkipTest("no nvdisasm")
        cls.disassembler = Disassembler(found[0], cls.folder)

    def check(self, cubin, architecture, wrong, made=True):
        """Adds what is wrong of a cubin; how many instructions it has. made: by a compiler. In
        others, an operand may stand in a field that has no meaning."""
        rows, count = self.disassembler.rows(cubin), 0
        sections = sections_of(cubin)
        for section, listed in rows.items():
            said = decoded(sections[section][1], architecture, self.folder)
            undefined = set().union(*(said[row.address // INSTRUCTION][1] for row in listed))
            undefined -= set().union(*(row.writes for row in listed))
            for row in listed:
                count += 1
                for fault in faults(row, said[row.address // INSTRUCTION], undefined):
                    if not made and fault.startswith("does not"):
                        continue
                    wrong[f"sm_{architecture} {name_of(row.text)} {fault}"] = row.text
        return count

    def test_registers_of_every_instruction(self):
        count, wrong = 0, {}
        for _, architecture, cubin in self.cubins(self.disassembler.known):
            labelled = self.disassembler.labelled(cubin, architecture)
            count += self.check(labelled, architecture, wrong)
        self.assertEqual(wrong, {})
        self.assertGreater(count, 5000)

    def changed(self, cubin, section, code):
        """A cubin with other code in a section, without what is no instruction."""
        offset, room = section
        filler = struct.pack("<QQ", 0x794D, 0x000FEA0003800000)  # EXIT
        nothing = struct.pack("<QQ", 0x7918, 0x000FC00000000000)  # NOP
        while True:
            whole = bytearray(cubin)
            text = b"".join(code)
            whole[offset : offset + len(room)] = text + filler * (
                (len(room) - len(text)) // INSTRUCTION
            )
            found = self.disassembler.rows(bytes(whole))
            if not isinstance(found, int):
                return bytes(whole)
            code[found // INSTRUCTION] = nothing

    def test_every_bit_of_every_operand(self):
        """Registers, predicates and forms at bits 12 to 47 and 64 to 90: each bit of one
        instruction of each opcode is changed."""
        architectures = sorted(self.disassembler.known & architectures_of(toolkits()[-1]))
        wrong, source = {}, os.path.join(self.folder, "room.cu")
        with open(source, "w", encoding="utf-8") as file:
            file.write(ROOM)
        for architecture in architectures[-1:] if QUICK else architectures:
            room = compiled(toolkits()[-1], architecture, self.folder, source)
            room = self.disassembler.labelled(room, architecture)
            place = sections_of(room)[".text.room"]
            several = len(place[1]) // INSTRUCTION - 1
            code = self.with_changed_bits(architecture)
            for begin in range(0, len(code), several):
                changed = self.changed(room, place, code[begin : begin + several])
                self.check(changed, architecture, wrong, made=False)
        self.assertEqual(wrong, {})

    def with_changed_bits(self, architecture):
        """One instruction of each opcode and form, with each of the bits changed; none that changes
        the flow."""
        control = {row.number for row in opcodes.ROWS if row.effect == "BRANCH"}
        control |= set(range(0x140, 0x160))
        bits, first = [*range(12, 48), *range(64, 91)], {}
        for _, code in sections_of(compiled(toolkits()[-1], architecture, self.folder)).values():
            for at in range(0, len(code), INSTRUCTION):
                words = struct.unpack_from("<QQ", code, at)
                if words[0] & 0x1FF not in control:
                    first.setdefault(words[0] & 0xFFF, words)
        return [
            struct.pack(
                "<QQ",
                low ^ (1 << bit if bit < 64 else 0),
                high ^ (1 << bit - 64 if bit >= 64 else 0),
            )
            for low, high in list(first.values())[:: 5 if QUICK else 1]
            for bit in (bits[::7] if QUICK else bits)
        ]


@unittest.skipUnless(TOOLKIT, "no CUDA toolkit")
class Alive(Folder):
    """What code writes is read, on every architecture."""

    DEAD_MAX = 0.001  # of all that is written: compilers leave some comparisons

    def dead(self, code, architecture):
        """(instruction, what it writes in vain) of a section: behind each, up to a branch, it is
        written again, or the kernel ends."""
        rows = decoded(code, architecture, self.folder)
        words = struct.unpack(f"<{2 * len(rows)}Q", code[: INSTRUCTION * len(rows)])
        for i, (name, _, writes) in enumerate(rows):
            left = writes - NOT_READ
            for k in range(i + 1, len(rows)):
                later, reads, again = rows[k]
                always = words[2 * k] >> 12 & 15 == 7
                left = left - reads
                if not left or later in MAY_READ_ALL or (later in CONTROL and later != "EXIT"):
                    break
                if always and (later == "EXIT" or writes <= again) and left >= writes:
                    yield name, f"{words[2 * i]:016x} {words[2 * i + 1]:016x}"
                    break
                left = left - again if always else left
                if later == "EXIT" and always:
                    break

    def test_what_is_written_is_read(self):
        written, dead = 0, collections.Counter()
        for _, architecture, cubin in self.cubins():
            for _, code in sections_of(cubin).values():
                written += len(code) // INSTRUCTION
                dead.update(
                    f"sm_{architecture} {name} {bits}"
                    for name, bits in self.dead(code, architecture)
                    if (architecture, name) != (87, "UMOV")  # it begins with some for nothing
                )
        self.assertLess(dead.total() / written, self.DEAD_MAX, dead)

    def test_opcodes_are_in_the_table(self):
        """All but those that nothing is proven behind."""
        missing = collections.Counter()
        for _, architecture, cubin in self.cubins():
            for _, code in sections_of(cubin).values():
                said = decoded(code, architecture, self.folder)
                for i, (name, _, _) in enumerate(said):
                    if name == "?":
                        number = struct.unpack_from("<H", code, INSTRUCTION * i)[0] & 0x1FF
                        missing[f"{number:#05x}"] += 1
        self.assertLessEqual(set(missing), {"0x076"}, missing)


if __name__ == "__main__":
    unittest.main()
