#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Checks the shape of the sources: columns, lines of functions and of files, names.

usage: scripts/house.py [--lower]

- No line of C, CUDA, tables, Python, shell and the Makefile has more than 100 columns.
- A function has at most 60 lines, a file at most 600. Tests and tables of data may have longer
  files.
- scripts/house.txt lists what is longer, each with its lines. The list may only shrink: nothing is
  added to it, and no number in it grows. --lower writes the list again, with what became shorter.
- No variable, member or function of C is called of, at, is, was, one or other: a name says what it
  holds. NAMED_LATER lists the files that have such names, and may only shrink, too.

The sums of lines are printed, and have no limit. Exit status: 0 all is kept; 1 something is not;
3 universal-ctags is missing (scripts/setup.sh lint).
"""

import collections
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = "scripts/house.txt"
COLUMNS, FUNCTION_LINES, FILE_LINES = 100, 60, 600

# By the ending of a file; "" is what has none.
KINDS = {
    **dict.fromkeys(("c", "h", "cu", "cuh", "cpp", "def", "S", "inc"), "C"),
    "py": "Python",
    **dict.fromkeys(("sh", "bash", "sbatch", "awk"), "shell"),
}
NAMES = {"Makefile": "make", ".ci/run": "shell"}
# They say nothing of what they hold.
EMPTY_NAMES = {"of", "at", "is", "was", "one", "other"}
NAMED_LATER = ("examples/",)  # results of them have the hash of their text
# What the code of C consists of: comments, literals, names, and all else.
TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|\w+|.", re.DOTALL
)
# Written by programs, or inputs that stand for somebody's file.
DATA = ("results/", "tests/golden/", "tests/corpus/", "tests/data/")


def sources(root):
    """{name: kind} of the sources, tracked or new."""
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = {}
    for name in sorted(filter(None, listed.split("\0"))):
        kind = NAMES.get(name) or KINDS.get(name.rpartition(".")[2] if "." in name else "")
        if name.endswith(".mk"):
            kind = "make"
        if kind and not name.startswith(DATA) and os.path.isfile(os.path.join(root, name)):
            found[name] = kind
    return found


def lines_of(root, name):
    with open(os.path.join(root, name), encoding="utf-8") as file:
        return file.read().splitlines()


def wide(root, names):
    """Places of lines that are too wide."""
    for name in names:
        for number, line in enumerate(lines_of(root, name), 1):
            if len(line) > COLUMNS:
                yield f"{name}:{number}: {len(line)} columns; the limit is {COLUMNS}"


def empty_names(root, kinds):
    """Places of names that say nothing, in C that is not listed."""
    for name, kind in kinds.items():
        if kind != "C" or name.startswith(NAMED_LATER):
            continue
        number, before = 1, ""
        for token in TOKEN.findall("\n".join(lines_of(root, name))):
            # A member is judged where it is declared.
            if token in EMPTY_NAMES and before not in (".", ">"):
                yield f"{name}:{number}: '{token}' says nothing; name what it holds"
            number, before = number + token.count("\n"), token


def functions(root, names):
    """{"FILE FUNCTION": lines} of the functions of these files. Of several with one name, the
    longest counts."""
    command = ["ctags", "--output-format=json", "--fields=+ne", "--languages=C,C++,CUDA,Python"]
    command += ["--langmap=C:+.h", "--kinds-C=f", "--kinds-C++=f", "--kinds-CUDA=f"]
    command += ["--kinds-Python=fm", "-f", "-", "-L", "-"]
    said = subprocess.run(
        command, cwd=root, input="\n".join(names), capture_output=True, text=True, check=True
    ).stdout
    found = collections.Counter()
    for tag in map(json.loads, said.splitlines()):
        if "end" in tag:
            key = f"{tag['path']} {tag['name']}"
            found[key] = max(found[key], tag["end"] - tag["line"] + 1)
    for name in names:
        if KINDS.get(name.rpartition(".")[2]) == "shell":
            found.update(shell_functions(name, "\n".join(lines_of(root, name))))
    return found


def shell_functions(name, text):
    """The same of a file of shell, which ctags gives no ends of. shfmt puts both braces there."""
    return {
        f"{name} {match[1]}": match[0].count("\n") + 1
        for match in re.finditer(r"^(\w+)\(\) \{\n(?:.*\n)*?\}$", text, re.MULTILINE)
    }


def too_long(root, kinds):
    """{what: lines} of the functions and files that are longer than their limit."""
    measured = [name for name in kinds if not name.endswith((".def", ".S", ".inc", ".awk"))]
    found = {
        what: lines
        for what, lines in functions(root, measured).items()
        if lines > FUNCTION_LINES and not re.match(r"tests/.* test_", what)
    }
    for name in kinds:
        if not name.startswith("tests/") and not name.endswith(".def"):
            lines = len(lines_of(root, name))
            if lines > FILE_LINES:
                found[name] = lines
    return found


def read_list(text):
    """{what: lines} of a text of the list."""
    rows = (row.split(None, 1) for row in text.splitlines() if row and not row.startswith("#"))
    return {what: int(lines) for lines, what in rows}


def listed(root):
    path = os.path.join(root, LIST)
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return read_list(file.read())


def write_list(root, longer):
    with open(os.path.join(root, LIST), "w", encoding="utf-8") as file:
        file.write("# SPDX-License-Identifier: MIT\n")
        file.write(
            "# Functions and files that are longer than scripts/house.py allows: see there.\n"
        )
        for what, lines in sorted(longer.items()):
            file.write(f"{lines:5} {what}\n")


def judged(longer, allowed):
    """What is wrong with the lengths, given the list."""
    for what, lines in sorted(longer.items()):
        limit = FUNCTION_LINES if " " in what else FILE_LINES
        if what not in allowed:
            yield f"{what}: {lines} lines; the limit is {limit}"
        elif lines > allowed[what]:
            yield f"{what}: {lines} lines; {LIST} allows {allowed[what]}"
    for what, lines in sorted(allowed.items()):
        if longer.get(what, 0) < lines:
            yield f"{what}: shorter than {LIST} says; run scripts/house.py --lower"


def grown(root, allowed):
    """What the list has more than in the commit before, where git knows one."""
    done = subprocess.run(
        ["git", "-C", root, "show", f"HEAD~1:{LIST}"], capture_output=True, text=True, check=False
    )
    before = read_list(done.stdout) if done.returncode == 0 else allowed
    if len(allowed) > len(before):
        yield f"{LIST}: {len(allowed)} rows, and {len(before)} in the commit before; it may shrink"
    if sum(allowed.values()) > sum(before.values()):
        lines = sum(allowed.values()), sum(before.values())
        yield f"{LIST}: {lines[0]} lines, and {lines[1]} in the commit before"


def main():
    if not shutil.which("ctags"):
        print("house: this machine has no ctags; run scripts/setup.sh lint", file=sys.stderr)
        return 3
    kinds = sources(ROOT)
    longer, allowed = too_long(ROOT, kinds), listed(ROOT)
    if sys.argv[1:] == ["--lower"]:
        lower = {what: min(longer[what], allowed[what]) for what in allowed if what in longer}
        write_list(ROOT, lower)
        allowed = lower
    faults = [
        *wide(ROOT, kinds),
        *empty_names(ROOT, kinds),
        *judged(longer, allowed),
        *grown(ROOT, allowed),
    ]
    for fault in faults:
        print(fault)
    sums = collections.Counter()
    for name, kind in kinds.items():
        sums["tests" if name.startswith("tests/") else kind] += len(lines_of(ROOT, name))
    print("lines:", ", ".join(f"{kind} {count}" for kind, count in sorted(sums.items())))
    print(f"longer than the limits: {len(longer)}")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
