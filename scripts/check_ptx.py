#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Checks the loads of every kernel in the PTX that the program's kernels were made from.

The same idea as check_sass.py one step earlier, wherever nvcc is. Exit status: 0 all kernels are
right, 1 some are not, 2 usage, 3 no PTX in this build.
"""

import argparse
import collections
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kernel_check

ENTRY = re.compile(r"\.entry\s+(\w+)")
TABLE_PARAMETER = 2  # the one that has the table by value
LABEL = re.compile(r"^(\$\w+):")
REGISTER = re.compile(r"%\w+")
TYPE = re.compile(r"[busf](\d+)$")
INSTRUCTION = re.compile(r"^\s*(?:@!?%p\d+\s+)?([a-z][\w.:]*)\s*(.*?);")


def classify(opcode):
    """The class that an instruction is counted under; None when it touches no memory of
    interest."""
    base, *modifiers = opcode.split(".")
    if base in ("shfl", "selp", "prmt"):
        return base
    if base == "tex":
        return ".".join([base] + modifiers[:1])
    if base not in ("ld", "ldu", "st", "atom", "red", "suld", "sust") or modifiers[:1] == ["param"]:
        return None
    wanted = ("const", "global", "local", "shared", "nc", "cg", "cv", "volatile", "relaxed")
    return ".".join([base] + [word for word in modifiers if word in wanted]) + width(modifiers)


def width(modifiers):
    """How kernel_check names what a thread loads or stores: nothing of 4 bytes."""
    lanes = next((int(word[1:]) for word in modifiers if word in ("v2", "v4")), 1)
    return kernel_check.PTX_WIDTHS[lanes * int(TYPE.match(modifiers[-1]).group(1)) // 8]


class Function:
    """The findings in one kernel, line by line."""

    def __init__(self, symbol, kernel):
        self.symbol, self.kernel = symbol, kernel
        self.counts, self.faults = collections.Counter(), []
        self.labels, self.loops = set(), 0
        self.table = set()  # registers that point into the table among the parameters

    def instruction(self, opcode, operands):
        kind = classify(opcode)
        into, *sources = REGISTER.findall(operands) or [""]
        if f"{self.symbol}_param_{TABLE_PARAMETER}" in operands or self.table & set(sources):
            if opcode.startswith("ld.param"):
                kind = "ld.param" + width(opcode.split(".")[1:])
            else:
                self.table.add(into)
        if kind:
            self.counts[kind] += 1
        if opcode.startswith("bra") and operands in self.labels:
            self.loops += 1
            if not self.kernel.staged and not self.kernel.strides:
                self.faults.append(f"{opcode} {operands}: a loop")
        if opcode.startswith("call") or (opcode.startswith("brx") and not self.kernel.switched):
            self.faults.append(f"{opcode}: a call or an indirect branch")


def functions(text, expected):
    """The Function of each kernel."""
    found = []
    unknown = next(iter(expected.values()))  # compare says what they are
    for line in text.splitlines():
        entry, label, instruction = ENTRY.search(line), LABEL.match(line), INSTRUCTION.match(line)
        if entry:
            found.append(Function(entry.group(1), expected.get(entry.group(1), unknown)))
        elif found and label:
            found[-1].labels.add(label.group(1))
        elif found and instruction:
            found[-1].instruction(*instruction.groups())
    for one in found:
        if one.kernel.strides and not one.loops:
            one.faults.append("no loop, and its grid strides")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/cbank")
    parser.add_argument("ptx", nargs="*", help="PTX of all modules of kernels, NAME.compute_NN.ptx")
    options = parser.parse_args()

    if not options.ptx:
        print("check_ptx: no PTX given; this build has no CUDA toolkit")
        return 3
    found = {}
    for path in options.ptx:
        architecture = os.path.basename(path).split(".")[1]
        expected = kernel_check.expected_kernels(
            options.program, kernel_check.PTX, int(architecture[len("compute_") :])
        )
        rows = found.setdefault(architecture, (expected, []))[1]
        try:
            with open(path, encoding="utf-8") as file:
                rows += [
                    (one.symbol, one.counts, one.faults) for one in functions(file.read(), expected)
                ]
        except OSError as error:
            raise kernel_check.Failure(f"{path}: {error.strerror}") from error
    return kernel_check.report(
        [
            (name, len(expected), len(rows), kernel_check.compare(name, expected, rows)[0])
            for name, (expected, rows) in found.items()
        ]
    )


kernel_check.run(main)
