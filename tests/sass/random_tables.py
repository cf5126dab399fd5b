#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the tables that `cbank advise --kernel` names against random programs whose tables are
moved.

usage: tests/sass/random_tables.py [--count N] [--seed TEXT] [--first N] [--arch N...]
                                   [--toolkit FOLDER]

Each file is compiled twice. The second time, each table in constant memory has another number of
bytes before it, so that each is moved by a distance of its own. Where the code is the same but for
places in constant memory, the distance by which the place of a load is moved says which table it
reads, whatever index is beside it. No decoder and no line of the source is asked.

Half of the files are compiled without -lineinfo, so that nothing but the code tells the tables. A
false name is printed, and the exit status is 1 then.
"""

import argparse
import collections
import json
import os
import re
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, HERE)
import programs  # noqa: E402
import random_programs as judge  # noqa: E402

INSTRUCTION = 16  # bytes
PLACE_BIT, PLACE_MASK = 38, 0xFFFF  # of a place in a bank, in an instruction
OPCODE_MASK = 0xFFF
PER_FILE = 50


def moved(lines):
    """The same lines, with something before each table in constant memory."""
    out, number = [], 0
    for line in lines:
        if re.match(r"__constant__ \w+ ct\d+", line):
            number += 1
            line = f"__constant__ u64 before{number}[{2 * number + 4}]; {line}"
        out.append(line)
    return out


def sections(cubin):
    """[(name, number, bytes)] of an ELF file"""
    (start,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    rows = [struct.unpack_from("<IIQQQQ", cubin, start + size * i) for i in range(count)]
    texts = cubin[rows[names][4] :]
    return [
        (texts[row[0] : texts.index(b"\0", row[0])].decode(), i, cubin[row[4] : row[4] + row[5]])
        for i, row in enumerate(rows)
    ]


def read_cubin(path):
    """({table: its place in constant memory}, {function: its instructions})"""
    with open(path, "rb") as file:
        cubin = file.read()
    found, places = sections(cubin), {}
    by_name = {name: (number, data) for name, number, data in found}
    names, symbols = by_name[".strtab"][1], by_name[".symtab"][1]
    for name, _, _, section, place, _ in struct.iter_unpack("<IBBHQQ", symbols):
        text = names[name : names.index(b"\0", name)].decode()
        if section == by_name[".nv.constant3"][0] and text.startswith("ct"):
            places[text] = place
    code = {
        name.removeprefix(".text."): [
            int.from_bytes(data[i : i + INSTRUCTION], "little")
            for i in range(0, len(data), INSTRUCTION)
        ]
        for name, _, data in found
        if name.startswith(".text.")
    }
    return places, code


def place_of(instruction):
    return instruction >> PLACE_BIT & PLACE_MASK


def tables_of(code, again, by_distance):
    """{address: table} of a function; empty where more than places in the bank is different."""
    out, others = {}, ~(PLACE_MASK << PLACE_BIT)
    if len(code) != len(again):
        return {}
    for number, (first, then) in enumerate(zip(code, again)):
        if first == then:
            continue
        table = by_distance.get((place_of(then) - place_of(first)) & PLACE_MASK)
        if (first ^ then) & others or table is None:
            return {}
        out[number * INSTRUCTION] = table
    return out


def judge_file(runner, lines, architecture, flags, counts):
    """Each false name, in words."""
    base = os.path.join(runner, "file")
    for name, its in (("file", lines), ("moved", moved(lines))):
        with open(os.path.join(runner, f"{name}.cu"), "w", encoding="utf-8") as file:
            file.write("\n".join(its))
    for name in ("file", "moved"):
        judge.run(
            *(f"{TOOLKIT}/bin/nvcc", "-std=c++17", "-cubin", "-w", f"-I{HERE}", *flags),
            *(f"-arch=sm_{architecture}", "-o", f"{runner}/{name}.cubin", f"{runner}/{name}.cu"),
            error=judge.Refused,
        )
    (places, code), (then, again) = (read_cubin(f"{runner}/{n}.cubin") for n in ("file", "moved"))
    by_distance = {then[table] - places[table]: table for table in places}
    said = judge.run(CBANK, "advise", "--json", "-", "--kernel", f"{base}.cubin", *SIZES)
    for kernel in json.loads(said)["code"]["kernels"]:
        truth = tables_of(code[kernel["name"]], again[kernel["name"]], by_distance)
        for load in kernel["loads"]:
            table = truth.get(load["address"])
            counts["loads"] += load["memory"] == "constant"
            counts["judged"] += table is not None
            counts["named"] += table is not None and load["table"] is not None
            if table is not None and load["table"] not in (None, table):
                yield (
                    f"{kernel['name']} {load['address']:#x}: {load['instruction']} of"
                    f" {load['table']}, which is {table}"
                )


TOOLKIT = os.environ.get("CBANK_CUDA") or "/usr/local/cuda"
CBANK = os.environ.get("CBANK") or os.path.join(judge.ROOT, "build/cbank")
SIZES = ("--table-bytes", "256", "--elements", "64")


def try_files(folder, seed, numbers, chosen=(), per_file=PER_FILE):
    """(how many names are false, counts). Files take the architectures in turn."""
    chosen, counts, wrong = chosen or judge.architectures_of(TOOLKIT), collections.Counter(), 0
    for number in numbers:
        architecture = chosen[number % len(chosen)]
        flags = (*judge.FLAGS[number % len(judge.FLAGS)], *(["-lineinfo"] if number % 2 else []))
        name, has_tiles = f"{seed}/{number}", number % 4 == 3
        tables, _ = programs.draw_tables(name)
        drawn = [
            programs.draw_program(
                f"{name}/{k}", tables, architecture >= judge.REDUCTIONS_FIRST, has_tiles
            )
            for k in range(per_file)
        ]
        lines = judge.File(name, drawn, has_tiles).lines
        try:
            for said in judge_file(folder, lines, architecture, flags, counts):
                print(f"false: sm_{architecture} {' '.join(flags)} {name}: {said}", flush=True)
                wrong += 1
        except judge.Refused:
            counts["refused"] += 1
        counts["programs"] += per_file
    return wrong, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="the first file")
    parser.add_argument("--arch", type=int, nargs="*", default=[])
    options = parser.parse_args()
    files = -(-options.count // PER_FILE)
    with tempfile.TemporaryDirectory() as folder:
        wrong, counts = try_files(
            folder, options.seed, range(options.first, options.first + files), options.arch
        )
    print(f"{wrong} false names; {judge.summary(counts)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
