#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds what `cbank advise --kernel` says of each load against random programs, whose truth is
known: the same source runs on the host, thread by thread (tests/sass/host/marks.cpp).

usage: tests/sass/random_programs.py [--count N] [--seed TEXT] [--first N] [--arch N...]
                                     [--toolkit FOLDER] [--keep FOLDER] [--as-drawn]

An answer is false where the host saw otherwise: several addresses of a warp where one is said,
other distances than those that are said, distances that go with the data where none is said to be
in them, another table. "Unknown" is never false.

A place of a load is its line, the calls that led there, and the round of each loop around it.
Threads of a warp at one place may run the load together, or in parts. What holds of all of them
holds of each part, unless the compiler made several instructions of one load, and knows of each
which threads come. So one that became several is judged by the sum of the addresses of a warp.

Files take the architectures in turn, and the flags of FLAGS. A false answer is printed with the
smallest program that still has it. The exit status is 1 then, and where a
toolkit refuses more than a few programs.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(1, HERE)
import programs  # noqa: E402

# With 10, a program takes twice the time: the compiler reads headers for each file. A dozen files,
# one for each architecture, have 2,000.
PER_FILE = 167
TILES_EVERY = 4  # files: headers of cooperative groups take long
HOST = os.path.join(HERE, "host")
FLAGS = (
    (),
    ("-maxrregcount=32",),
    (),
    ("-Xptxas", "-O1"),
    (),
    ("-maxrregcount=24",),
    ("-Xptxas", "-O0"),
)
REDUCTIONS_FIRST = 80  # architecture
UNIFORM = {"constant": "constant", "grid": "grid", "block": "block", "warp": "warp"}
REFUSED_MAX = 0.01  # share of the programs
SMALLER_MAX = 24  # programs of a file that looks for a smaller one
LOAD = re.compile(r"(?:LOAD|FETCH)\(.*[;)] // (\w+)$")
PARAMETERS = {"parameter 1": "in", "parameter 2": "p0", "parameter 3": "p1"}
MEMORIES = {"c": "constant", "g": "global", "p": "global", "s": "shared", "a": "param"}
MEMORIES |= {"x": "texture"}  # by a name's begin

Truth = collections.namedtuple(
    "Truth", "constant grid block warp affine stride most whole_least whole_most alike"
)


class Broken(Exception):
    """A tool fails, or a program is none."""


class Refused(Broken):
    """The toolkit does not compile a file. Its assembler has errors of its own."""


def run(*command, error=Broken):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200)
    if done.returncode:
        raise error(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-3000:]}")
    return done.stdout


class File:
    """Programs in one file of CUDA."""

    def __init__(self, seed, chosen, has_tiles):
        self.tables, declared = programs.draw_tables(f"{seed}")
        self.programs, self.has_tiles = chosen, has_tiles
        self.lines = ["#define TILES"] * has_tiles + ['#include "programs.h"', *declared]
        self.names, self.tables_of = [], []  # by program: {line: table}
        for number, program in enumerate(chosen):
            self.names.append(f"p{number}")
            self.tables_of.append({})
            for line in program.lines(f"p{number}"):
                self.lines.append(line)
                found = LOAD.search(line)
                if found:
                    self.tables_of[number][len(self.lines)] = found[1]
        self.lines += ["#ifndef __CUDACC__", "int main()", "{"]
        for table in sorted({table.name for table in self.tables} - {"p0", "p1", "st"}):
            constant = "true" if table.startswith("c") else "false"
            self.lines.append(f"    host_table(&{table}, sizeof({table}), {constant});")
        for name, program in zip(self.names, chosen):
            whole = "true" if program.whole else "false"
            flat = "true" if program.is_flat else "false"
            self.lines.append(f'    host_launch("{name}", {name}, {whole}, {flat});')
        self.lines += ["}", "#endif", ""]

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(self.lines))


class Runner:
    """Runs files: by a toolkit and by the host."""

    def __init__(self, folder, toolkit, cbank, smaller=True):
        self.folder, self.toolkit, self.cbank = folder, toolkit, cbank
        self.smaller = smaller  # it looks for the smallest program that is false
        for name in ("marks", "block"):
            run("g++", "-std=c++17", "-O1", "-c", f"{HOST}/{name}.cpp", "-o", f"{folder}/{name}.o")

    def truths(self, source):
        """{kernel: {line: {shape of blocks: Truth}}}"""
        base, out = source[: -len(".cu")], {}
        run(
            *("clang++", "-x", "c++", "-c", "-std=c++17", "-O0", "-w", f"-I{HERE}"),
            *("-isystem", os.path.join(ROOT, "tests/simulated/compiler"), "-isystem", HOST),
            *(source, "-o", f"{base}.o"),
        )
        run("g++", f"{base}.o", f"{self.folder}/marks.o", f"{self.folder}/block.o", "-o", base)
        for row in run(base).splitlines():
            kernel, shape, line, *numbers = row.split()
            truth = Truth(*(text if text.isalpha() else int(text) for text in numbers))
            out.setdefault(kernel, {}).setdefault(int(line), {})[shape] = truth
        return out

    def kernels(self, source, architecture, flags):
        """What the program says: {kernel: its loads}"""
        cubin = f"{source[: -len('.cu')]}.cubin"
        run(
            *(f"{self.toolkit}/bin/nvcc", "-std=c++17", "-cubin", "-lineinfo", "-w"),
            "-allow-unsupported-compiler",
            *(f"-arch=sm_{architecture}", f"-I{HERE}", *flags, "-o", cubin, source),
            error=Refused,
        )
        said = run(
            self.cbank,
            "advise",
            "--table-bytes",
            "256",
            "--elements",
            "64",
            "--json",
            "-",
            "--kernel",
            cubin,
        )
        return {kernel["name"]: kernel["loads"] for kernel in json.loads(said)["code"]["kernels"]}

    def judge(self, file, architecture, flags, counts):
        """{number of a program: what is false}"""
        source, false = os.path.join(self.folder, "file.cu"), {}
        file.write(source)
        kernels, truths = self.kernels(source, architecture, flags), self.truths(source)
        for number, name in enumerate(file.names):
            tables = file.tables_of[number]
            for said in judge_kernel(tables, kernels[name], truths.get(name, {}), counts):
                false.setdefault(number, []).append(said)
        return false


def table_of(load):
    """The table that is told; None: none. Arrays in shared memory are told by their offsets."""
    said = load["table"] or ""
    return None if said.startswith("offset ") else PARAMETERS.get(said, said) or None


def line_of(load, tables):
    """The line of a load's table; None: not known. The compiler moves instructions, and gives some
    the line of what stands before them: so the table tells the line, if it is known."""
    table = table_of(load)
    mine = [line for line, its in tables.items() if its == table]
    if load["line"] in mine:
        return load["line"]
    if table is not None:
        return mine[0] if len(mine) == 1 else None
    table = tables.get(load["line"])
    return None if table is None or MEMORIES[table[0]] != load["memory"] else load["line"]


def judge_kernel(tables, loads, truths, counts):
    """Each false answer of a kernel, in words. tables: {line: table}; truths: by line, too."""
    # A copy of a load that the compiler made may have the line of a function of the toolkit.
    loads = [load if load["file"] == "file.cu" else {**load, "line": None} for load in loads]
    strays = [load for load in loads if not load["line"] and not table_of(load)]
    loads = [load for load in loads if load["line"] or table_of(load) in tables.values()]
    named = {table_of(load) for load in loads}
    by_line = collections.defaultdict(list)
    for load in loads:
        table = table_of(load)
        if table == "in" or (table is None and load["memory"] == "local"):
            continue
        here = tables.get(load["line"], table)
        if table is not None and load["line"] in truths:
            if table not in tables.values():
                yield f"line {load['line']}: {load['instruction']} of {table}, which is not read"
            elif table != here and not {here, None} & named:
                yield f"line {load['line']}: {load['instruction']} of {table}, which is {here}"
        counts["loads"] += 1
        counts[load["variation"]] += 1
        line = line_of(load, tables)
        counts["judged"] += line in truths
        by_line[line].append(load)
    strays += by_line.pop(None, [])
    for line, its in by_line.items():
        # A copy of the load may have the line of what stands before it.
        its = its + [load for load in strays if may_be(load, its[0], tables[line])]
        for shape, truth in truths.get(line, {}).items():
            one = len(its) == 1
            why = false_of_one(its[0], shape, truth) if one else false_of_all(its, shape, truth)
            if why:
                said = ", ".join(f"{load['instruction']} {said_of(load)}" for load in its)
                yield f"line {line} ({tables[line]}): {said}; the host, in {shape} warps: {why}"


def may_be(load, one, table):
    """Whether a load whose line is not known may read the table that another one reads."""
    return load["memory"] == one["memory"] and table_of(load) in (None, table)


def said_of(load):
    words = [load["variation"]]
    words += [f"{load['stride_bytes']:g} bytes"] if load["stride_bytes"] else []
    words += [f"{load['addresses']} addresses"] if load["addresses"] else []
    return " ".join([*words, "under a condition"] if load["condition"] else words)


def false_of_one(load, shape, truth):
    """Why the answer about a load is false; None: it is not."""
    said, stride = load["variation"], load["stride_bytes"]
    if load["condition"] and shape != "whole":
        return None
    if said in UNIFORM:
        return None if getattr(truth, said) else f"{truth.most} addresses of a warp, {truth}"
    if said == "affine":
        holds = truth.affine in ("one", "several", "any")
        if holds and stride and truth.affine != "any":
            holds = truth.affine == "one" and truth.stride == stride
        if not holds:
            return f"{truth.affine} stride, {truth.stride} bytes"
    if load["addresses"] and truth.whole_most:
        if not truth.whole_least == truth.whole_most == load["addresses"]:
            return f"{truth.whole_least} to {truth.whole_most} addresses"
    if load["addresses"] and truth.most > load["addresses"]:
        return f"{truth.most} addresses"
    if said in ("affine", "uneven", "thread") and not truth.alike:
        return "distances go with the data"
    return None


def false_of_all(loads, shape, truth):
    """The same of the instructions that a load has become."""
    if any(load["condition"] for load in loads) and shape != "whole":
        return None
    if any(load["addresses"] is None and load["variation"] not in UNIFORM for load in loads):
        return None
    most = sum(load["addresses"] or 1 for load in loads)
    return f"{truth.most} addresses" if truth.most > most else None


def smallest(runner, seed, program, tiles, architecture, flags):
    """(the smallest program that was found whose answers are still false, what is said)"""
    said, place, tried = None, 0, 0
    candidates = list(program.smaller())
    while tried < len(candidates):
        batch = candidates[place : place + SMALLER_MAX]
        found = first_false(runner, seed, batch, tiles, architecture, flags)
        if found:
            number, said = found
            program = batch[number]
            candidates, place, tried = list(program.smaller()), place + number, 0
        else:
            tried += len(batch)
            place += len(batch)
        place = place if place < len(candidates) else 0
    return program, said


def first_false(runner, seed, chosen, tiles, architecture, flags):
    """(number, what is false) of the first program that has false answers; None: none has."""
    try:
        file = File(seed, chosen, tiles)
        false = runner.judge(file, architecture, flags, collections.Counter())
        return (min(false), false[min(false)]) if false else None
    except Broken:  # one of them is no program
        if len(chosen) < 2:
            return None
    half = len(chosen) // 2
    for start, part in ((0, chosen[:half]), (half, chosen[half:])):
        found = first_false(runner, seed, part, tiles, architecture, flags)
        if found:
            return start + found[0], found[1]
    return None


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="the first file")
    parser.add_argument("--per-file", type=int, default=PER_FILE)
    parser.add_argument("--arch", type=int, nargs="*", default=[])
    parser.add_argument("--toolkit", default=os.environ.get("CBANK_CUDA") or "/usr/local/cuda")
    parser.add_argument("--as-drawn", action="store_true", help="look for no smaller program")
    parser.add_argument("--keep", help="a folder for the files that have false answers")
    return parser.parse_args()


def architectures_of(toolkit):
    return sorted(
        map(
            int,
            re.findall(r"sm_(\d+)$", run(f"{toolkit}/bin/nvcc", "--list-gpu-code"), re.MULTILINE),
        )
    )


def judge_file(runner, seed, chosen, tiles, architecture, flags, counts):
    """{number of a program: what is false}, without programs that the toolkit does not compile."""
    half, false = len(chosen) // 2, {}
    try:
        return runner.judge(File(seed, chosen, tiles), architecture, flags, counts)
    except Refused:
        if half == 0:
            counts["refused"] += 1
            return {}
    for start, part in ((0, chosen[:half]), (half, chosen[half:])):
        said = judge_file(runner, seed, part, tiles, architecture, flags, counts)
        false |= {start + number: words for number, words in said.items()}
    return false


def tiles_in(number):
    """Whether a file has tiles of cooperative groups: in each dozen, which takes each architecture
    once, others than in the dozen before."""
    return (number + number // 12) % TILES_EVERY == TILES_EVERY - 1


def try_file(runner, seed, number, architecture, counts, keep=None, per_file=PER_FILE):
    """Tries one file and prints what is false. How many programs are wrong."""
    seed, tiles, flags = f"{seed}/{number}", tiles_in(number), FLAGS[number % len(FLAGS)]
    tables, _ = programs.draw_tables(seed)
    chosen = [
        programs.draw_program(f"{seed}/{k}", tables, architecture >= REDUCTIONS_FIRST, tiles)
        for k in range(per_file)
    ]
    false = judge_file(runner, seed, chosen, tiles, architecture, flags, counts)
    counts["programs"] += per_file
    counts[f"sm_{architecture}"] += per_file
    for k, said in false.items():
        print(f"false: sm_{architecture} {' '.join(flags)} {seed}/{k}: {'; '.join(said)}")
        if not runner.smaller:
            continue
        program, less = smallest(runner, seed, chosen[k], tiles, architecture, flags)
        file = File(seed, [program], tiles)
        begin = file.lines.index(f"/* {program.seed} */")
        end = file.lines.index("#ifndef __CUDACC__")
        print("; ".join(less or said), *file.lines[begin:end], sep="\n", flush=True)
        if keep:
            name = f"{seed}-{k}-sm_{architecture}.cu".replace("/", "-")
            file.write(os.path.join(keep, name))
    return len(false)


def try_files(runner, seed, numbers, chosen=(), keep=None, per_file=PER_FILE):
    """(how many programs are wrong, counts). Files take the architectures in turn."""
    counts, wrong = collections.Counter(), 0
    chosen = chosen or architectures_of(runner.toolkit)
    for number in numbers:
        architecture = chosen[number % len(chosen)]
        wrong += try_file(runner, seed, number, architecture, counts, keep, per_file)
    return wrong, counts


def summary(counts):
    return ", ".join(f"{key} {count}" for key, count in counts.most_common())


def main():
    options = arguments()
    cbank = os.environ.get("CBANK") or os.path.join(ROOT, "build/cbank")
    files = -(-options.count // options.per_file)
    with tempfile.TemporaryDirectory() as folder:
        wrong, counts = try_files(
            Runner(folder, options.toolkit, cbank, not options.as_drawn),
            options.seed,
            range(options.first, options.first + files),
            options.arch,
            options.keep,
            options.per_file,
        )
    print(f"{wrong} programs with false answers; {summary(counts)}")
    if counts["refused"] > REFUSED_MAX * counts["programs"]:
        sys.exit(f"{options.toolkit} compiles too few of the programs")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
