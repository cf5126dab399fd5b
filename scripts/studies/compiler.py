#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""What compilers make of small tables: guesses, and the loads in the machine code.

Writes docs/compiler.md.

usage: compiler.py [--toolkit DIR]... [--add FILE] --json FILE
       compiler.py --show FILE [--group NAME]
       compiler.py --source TEXT

compiler/questions.json has each question with its source, and with a guess for each case of it; it
was committed before anything was compiled. Each toolkit (default: that of nvcc) compiles them for
every architecture that it knows and that cbank reads. `cbank advise --kernel` says which loads a
kernel has; where it has none of a table, its other instructions are counted by their opcodes. --add
takes over the answers of toolkits that FILE has. CBANK names the program.

An answer has parts with a plus between them, such as "2 LDC.64 c[3]": how many, the instruction,
and the bank of a constant.
- LDC, ULDC, LDCU have an index in a register; a fixed load is one of them at a known place, and an
  operand is no load at all.
- c[0] are the parameters, c[3] is __constant__ memory, c[2]/c[4] are the compiler's own constants.
- STL: the thread copies the table into its own memory.
Loads of parameters at known places are left out.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "scripts")]
import opcodes  # noqa: E402
import trials  # noqa: E402
from compiler_page import OTHERS, UNIFORM_LOAD, Found, numbered, show, summary  # noqa: E402
from compiler_questions import cases  # noqa: E402

OLDEST = 70  # cbank reads no older code
RENAMED = 100  # ULDC is LDCU from this architecture on
INSTRUCTION = 16  # bytes

CHOICES = ("BRX", "branches", "compares")  # selects go without saying beside these


# ---- Compilers


class Refused(Exception):
    """The compiler does not take the source."""


def version_of(toolkit):
    said = trials.call(f"{toolkit}/bin/nvcc", "--version").stdout
    return re.search(r"V([\d.]+)", said)[1]


def release_of(version):
    """13.0.88 as (13, 0, 88), to be compared."""
    return tuple(map(int, version.split(".")))


def architectures_of(toolkit):
    """Those that the toolkit knows and cbank reads, the oldest first."""
    said = trials.call(f"{toolkit}/bin/nvcc", "--list-gpu-code").stdout
    return sorted(
        number for number in map(int, re.findall(r"sm_(\d+)$", said, re.M)) if number >= OLDEST
    )


def compile_text(toolkit, architecture, text, cubin):
    source = f"{cubin}.cu"
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run(
        [
            f"{toolkit}/bin/nvcc",
            *("-cubin", "-std=c++17", "-w", "-allow-unsupported-compiler"),
            f"-arch=sm_{architecture}",
            *("-o", cubin, source),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Refused(done.stderr + done.stdout)


def sections_of(cubin):
    """The sections of an ELF file, by name."""
    with open(cubin, "rb") as file:
        text = file.read()
    (start,) = struct.unpack_from("<Q", text, 40)
    size, count, names = struct.unpack_from("<HHH", text, 58)
    rows = [struct.unpack_from("<IIQQQQ", text, start + size * i) for i in range(count)]
    words = rows[names][4]
    return {
        text[words + row[0] : text.index(b"\0", words + row[0])].decode(): text[
            row[4] : row[4] + row[5]
        ]
        for row in rows
    }


def counted(code):
    """{number of an opcode: how often it is there}"""
    return collections.Counter(
        struct.unpack_from("<H", code, offset)[0] & 0x1FF
        for offset in range(0, len(code), INSTRUCTION)
    )


def read_code(program, cubin):
    """(kernel of `cbank advise --kernel`, its opcodes) of each kernel of a file."""
    said = trials.call(program, "advise", "--kernel", cubin, "--json", "-").stdout
    sections = sections_of(cubin)
    return [
        (kernel, counted(sections[f".text.{kernel['name']}"]))
        for kernel in json.loads(said)["code"]["kernels"]
    ]


# ---- Answers

SHORTER = (
    (r"^operand c\[3\]\[number\]", "operand c[3]"),
    (r"^U?LDC(?:/LDCU)?(\S*) c\[3\]\[number\]", r"fixed\1 c[3]"),
    (r"\[register\]", ""),
    (r"^c\[2\], c\[4\]", "c[2]/c[4]"),
)


def shorter(load, architecture):
    """The name of a kind of load, for this page."""
    for pattern, text in SHORTER:
        load = re.sub(pattern, text, load)
    return load.replace("ULDC/LDCU", UNIFORM_LOAD[architecture >= RENAMED])


def answer_of(case, architecture, kernel, codes):
    """What comes out, in words."""
    row = case.row
    if row.get("bytes"):
        return f"{kernel['constant_bytes']} bytes"
    loads = collections.Counter()
    for kind in kernel["kinds"]:
        if not kind["load"].startswith("c[0][number]"):
            loads[shorter(kind["load"], architecture)] += kind["count"]
    own = {name: count for name, count in loads.items() if name.startswith("c[2]/c[4]")}
    tables = {
        name: count
        for name, count in loads.items()
        if name not in own and name not in row.get("ignore", ())
    }
    if kernel["local_stores"]:
        tables["STL"] = kernel["local_stores"]
    if not tables:
        tables = {**own, **others_of(codes)}
    if row.get("names"):  # counts would say how far a loop is unrolled
        tables = dict.fromkeys(tables, 1)
    return " + ".join(numbered(count, name) for name, count in sorted(tables.items())) or "no load"


def others_of(codes):
    """{name: how many} of the ways to do without a load."""
    found = {
        name: sum(codes[number] for number in opcodes.numbers(*operations))
        for name, *operations in OTHERS
    }
    if any(found[name] for name in CHOICES):
        del found["selects"]
    return {name: count for name, count in found.items() if count}


# What every kernel has, on sm_87 also a branch at its beginning, is told of none.
PLAIN = "__global__ void plain(unsigned *out) { out[threadIdx.x] = threadIdx.x; }\n"


def kernel_of(name):
    """The number of the case in the mangled name of its kernel, None of any other function."""
    found = re.match(r"_ZN\d+case_(\d+)6kernelE", name)
    return int(found[1]) if found else None


def answers_together(toolkit, program, architecture, chosen, folder):
    """{name: answer} of cases that one file can hold: each has a namespace."""
    cubin = os.path.join(folder, f"together-{architecture}.cubin")
    text = PLAIN + "".join(
        f"namespace case_{number} {{\n{case.source}\n}}\n" for number, case in enumerate(chosen)
    )
    try:
        compile_text(toolkit, architecture, text, cubin)
    except Refused as error:
        trials.fail(f"sm_{architecture}: {error}")
    code = read_code(program, cubin)
    (plain,) = (codes for kernel, codes in code if kernel["name"].startswith("_Z5plain"))
    return {
        chosen[number].name: answer_of(chosen[number], architecture, kernel, codes - plain)
        for kernel, codes in code
        if (number := kernel_of(kernel["name"])) is not None
    }


def answer_alone(toolkit, program, architecture, case, folder):
    """{name: answer} of a case that needs a file of its own."""
    number = abs(hash(case.name))
    cubin = os.path.join(folder, f"alone-{architecture}-{number}.cubin")
    try:
        compile_text(toolkit, architecture, case.source, cubin)
    except Refused:
        return {case.name: "refused"}
    kernel, codes = next(
        (kernel, codes)
        for kernel, codes in read_code(program, cubin)
        if kernel["name"].startswith("_Z6kernel")
    )
    return {case.name: answer_of(case, architecture, kernel, codes)}


def ask(toolkit, program, architectures, alone_for):
    """{architecture: {name of a case: answer}}. Cases that need files of their own are asked for
    the architectures of alone_for."""
    chosen = cases()
    together = [case for case in chosen if not case.row.get("alone")]
    alone = [case for case in chosen if case.row.get("alone")]
    found = {architecture: {} for architecture in architectures}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(
        len(os.sched_getaffinity(0))
    ) as pool:
        tasks = [
            (
                architecture,
                pool.submit(answers_together, toolkit, program, architecture, together, folder),
            )
            for architecture in architectures
        ] + [
            (architecture, pool.submit(answer_alone, toolkit, program, architecture, case, folder))
            for architecture in alone_for
            for case in alone
        ]
        for architecture, task in tasks:
            found[architecture].update(task.result())
    return found


# ---- Files


def to_ask(architectures):
    """(architectures, those for which cases that need files of their own are asked)"""
    return architectures, sorted({architectures[0], architectures[-1]})


def row_of(toolkit, program):
    """What a toolkit makes of all cases, as it stands in a file."""
    architectures, alone_for = to_ask(architectures_of(toolkit))
    answers = {case.name: {} for case in cases()}
    for architecture, found in ask(toolkit, program, architectures, alone_for).items():
        for name, answer in found.items():
            answers[name].setdefault(answer, []).append(architecture)
    return {"architectures": architectures, "answers": answers}


def write(path, document):
    """A line for each case."""
    text = json.dumps(document, indent=1, ensure_ascii=False)
    text = re.sub(r"\[\s+(\d[\d,\s]*?)\s+\]", lambda it: f"[{' '.join(it[1].split())}]", text)
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(r"\{\s+(\"[^{}]*?\])\s+\}", r"{\1}", text) + "\n")


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        trials.fail(f"{path}: {error}")
        raise


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--toolkit", metavar="DIR", action="append")
    parser.add_argument("--add", metavar="FILE", help="take over its answers of other toolkits")
    parser.add_argument("--json", metavar="FILE", help="compile, and write the answers")
    parser.add_argument("--show", metavar="FILE", help="print the answers, as Markdown")
    parser.add_argument("--group", metavar="NAME", help="of this group of questions")
    parser.add_argument("--source", metavar="TEXT", help="print the cases whose names have it")
    asked = parser.parse_args()
    if asked.source:
        for case in cases():
            if asked.source in case.name:
                print(f"// {case.name}\n{case.source}\n")
    elif asked.show and asked.group:
        show(Found(read(asked.show)), asked.group)
    elif asked.show:
        summary(Found(read(asked.show)))
    elif asked.json:
        nvcc = shutil.which("nvcc")
        toolkits = asked.toolkit or [nvcc and os.path.dirname(os.path.dirname(nvcc))]
        if None in toolkits:
            trials.fail("there is no nvcc in PATH; name a toolkit: --toolkit /usr/local/cuda")
        program = os.environ.get("CBANK", os.path.join(ROOT, "build/cbank"))
        rows = read(asked.add)["toolkits"] if asked.add else {}
        rows.update({version_of(toolkit): row_of(toolkit, program) for toolkit in toolkits})
        newest_first = sorted(rows, key=release_of, reverse=True)
        write(asked.json, {"toolkits": {version: rows[version] for version in newest_first}})
    else:
        parser.error("--json, --show or --source is needed")


if __name__ == "__main__":
    main()
