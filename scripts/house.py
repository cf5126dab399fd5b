#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints how large the parts of harness/ are, beside their limits.

usage: scripts/house.py [-v]

-v names all that are beyond a limit. Needs universal-ctags and cloc (scripts/setup.sh lint). Exit status 0; 1 where a
limit that is enforced is not kept; 3 where a tool is missing. tests/end_to_end/house.py asks for the same.
"""

import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = ("patterns", "kernels", "harness")

# Parts of one long argument that reads best in one piece.
LONG_FILES = re.compile(r"/geometry\w*\.[ch]$")

# What a newcomer reads in an hour: these files and their headers.
CORE = ("plan", "run", "engine", "engine_cuda", "cuda_prepare", "cuda_verify", "cuda_timing", "cuda_count", "cuda_launch",
        "cuda_device", "cell", "result", "result_json", "option", "command")


def sources(*endings):
    return sorted(os.path.relpath(name, ROOT) for folder in SOURCES for ending in endings
                  for name in glob.glob(f"{ROOT}/{folder}/**/*.{ending}", recursive=True))


def tool(*command):
    if not shutil.which(command[0]):
        sys.exit(f"house: no {command[0]} on this machine (scripts/setup.sh lint)")
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def lines_of_code(*paths):
    return json.loads(tool("cloc", "--json", "--quiet", *paths))["SUM"]["code"]


def functions():
    """(where, lines, parameters) of every function of C."""
    for line in tool("ctags", "--languages=C", "--langmap=C:+.h", "--kinds-C=f", "--fields=+neS", "--output-format=json",
                     "-f", "-", *sources("c", "h")).splitlines():
        tag = json.loads(line)
        yield (f"{tag['path']}:{tag['line']} {tag['name']}", tag["end"] - tag["line"] + 1,
               parameters(tag.get("signature", "()")))


def parameters(signature):
    text = signature.strip()[1:-1]
    depth, commas = 0, 0
    for letter in text:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
        commas += letter == "," and not depth
    return 0 if text.strip() in ("", "void") else commas + 1


# ---- What is measured: {thing: number} each


def lines_of_files():
    made = {}
    for name in sources("c", "h", "def", "cu", "cuh"):
        if not LONG_FILES.search(name):
            with open(os.path.join(ROOT, name), encoding="utf-8") as file:
                made[name] = len(file.readlines())
    return made


def lines_of_functions():
    return {where: lines for where, lines, _ in functions()}


def parameters_of_functions():
    return {where: count for where, _, count in functions()}


def sources_of_folders():
    """Sources and headers of one name count once: they are read as one."""
    stems = {os.path.splitext(name)[0] for name in sources("c", "h", "S")}
    return dict(collections.Counter(os.path.dirname(stem) for stem in stems))


def code_of_harness():
    return {"harness": lines_of_code("harness")}


def code_of_core():
    return {"core": lines_of_code(*(name for name in sources("c", "h")
                                    if os.path.splitext(os.path.basename(name))[0] in CORE))}


# What, how it is measured, its limit, and whether a test asks for it.
LIMITS = (
    ("lines of a file", lines_of_files, 600, True),
    ("lines of a function", lines_of_functions, 40, True),
    ("parameters of a function", parameters_of_functions, 6, True),
    ("sources of a folder", sources_of_folders, 24, True),
    ("lines of code of harness", code_of_harness, 17000, False),
    ("lines of code of the core", code_of_core, 3000, True),
)


def beyond(measure, limit):
    """[(number, thing)] of what is beyond its limit, the largest first; and the largest number of all."""
    found = measure()
    return sorted(((number, thing) for thing, number in found.items() if number > limit), reverse=True), max(found.values())


def main():
    broken = False
    for name, measure, limit, enforced in LIMITS:
        over, largest = beyond(measure, limit)
        broken |= bool(over) and enforced
        print(f"{name:26} {largest:6} of {limit:6}  {len(over):3} beyond" + ("" if enforced else ", not enforced yet"))
        for number, thing in over if "-v" in sys.argv[1:] else ():
            print(f"    {number:6} {thing}")
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
