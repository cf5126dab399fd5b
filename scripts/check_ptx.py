#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the loads of every kernel in the PTX that the program's kernels were made from.

The same idea as check_sass.py one step earlier, wherever nvcc is. Exit status: 0 all kernels are right, 1
some are not, 2 usage, 3 no PTX in this build.
"""

import argparse
import collections
import os
import re

import kernel_check

ENTRY = re.compile(r"\.entry\s+(\w+)")
LABEL = re.compile(r"^(\$\w+):")
INSTRUCTION = re.compile(r"^\s*(?:@!?%p\d+\s+)?([a-z][\w.:]*)\s*(.*?);")


def classify(opcode):
    """The class that an instruction is counted under; None when it touches no memory of interest."""
    base, *modifiers = opcode.split(".")
    if base not in ("ld", "ldu", "st", "atom", "red", "tex", "suld", "sust") or modifiers[:1] == ["param"]:
        return None
    spaces = [word for word in modifiers if word in ("const", "global", "local", "shared")]
    return ".".join([base] + spaces + (["nc"] if "nc" in modifiers else []))


def kernels(text):
    """(symbol, Counter of load classes, faults) of each kernel."""
    found, labels = [], set()
    for line in text.splitlines():
        entry = ENTRY.search(line)
        if entry:
            found.append((entry.group(1), collections.Counter(), []))
            labels = set()
            continue
        label = LABEL.match(line)
        if label:
            labels.add(label.group(1))
        instruction = INSTRUCTION.match(line)
        if not found or not instruction:
            continue
        opcode, operands = instruction.groups()
        kind = classify(opcode)
        if kind:
            found[-1][1][kind] += 1
        if opcode.startswith("bra") and operands in labels:
            found[-1][2].append(f"{opcode} {operands}: a loop")
        if opcode.startswith(("call", "brx")):
            found[-1][2].append(f"{opcode}: a call or an indirect branch")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/cbank")
    parser.add_argument("ptx", nargs="*", help="PTX of the module kernels, a file for each architecture")
    options = parser.parse_args()

    if not options.ptx:
        print("check_ptx: no PTX given; this build has no CUDA toolkit")
        return 3
    expected = kernel_check.expected_loads(options.program, "ptx", "ld.global", "st.global")
    table = []
    for path in options.ptx:
        try:
            with open(path, encoding="utf-8") as file:
                found = kernels(file.read())
        except OSError as error:
            raise kernel_check.Failure(f"{path}: {error.strerror}") from error
        place = os.path.basename(path).split(".")[1]
        table.append((place, len(found), kernel_check.compare(place, expected, found)))
    return kernel_check.report(table, expected)


kernel_check.run(main)
