#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Measures the sizes and the English of this repository and compares them with their limits.

usage: scripts/house.py [-v]

-v lists what a limit counts: files, functions or sentences. `make lint` runs this. Functions have limits in .clang-tidy.
Exit status: 0 all limits are kept; 1 one is not; 3 universal-ctags or cloc is missing (scripts/setup.sh lint).
"""

import collections
import functools
import glob
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import english

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = ("patterns", "kernels", "harness")
AS_C = [f"--force-lang=C,{ending}" for ending in ("def", "S", "inc")]
DATA = "--exclude-dir=golden,corpus,data,planted"
# The core is what these two files include.
CORE = ("harness/engine/run_command.c", "harness/engine/run.c", "harness/engine/cuda/engine_cuda.c")


def tool(*command):
    if not shutil.which(command[0]):
        print(f"house: this machine has no {command[0]}; run scripts/setup.sh lint", file=sys.stderr)
        sys.exit(3)
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def files(*patterns):
    """The tracked files that match, relative to ROOT."""
    return sorted({os.path.relpath(name, ROOT) for pattern in patterns
                   for name in glob.glob(f"{ROOT}/{pattern}", recursive=True) if os.path.isfile(name)})


def text_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


# ---- Measures: each returns {thing: number}, and the limit is on their sum or on each


def code(*paths):
    """Lines of code by file, as cloc counts them."""
    counted = json.loads(tool("cloc", "--by-file", "--json", "--quiet", DATA, *AS_C, *paths))
    return {name: counts["code"] for name, counts in counted.items() if name not in ("header", "SUM")}


def size_of(*patterns):
    """Bytes by file."""
    return {name: os.path.getsize(os.path.join(ROOT, name)) for name in files(*patterns)}


def core():
    """Lines of code by file: what CORE includes, with the sources of each header, transitively."""
    found = files(*(f"{folder}/**/*.*" for folder in SOURCES))
    by_name = {os.path.basename(name): name for name in found}
    closure, waiting = set(), [name for name in CORE if name in found]
    while waiting:
        name = waiting.pop()
        if name in closure:
            continue
        closure.add(name)
        included = re.findall(r'^\s*#\s*include\s+"([^"]+)"', text_of(name), re.MULTILINE)
        waiting += [by_name[os.path.basename(other)] for other in included if os.path.basename(other) in by_name]
        if name.endswith(".h") and name[:-1] + "c" in found:
            waiting.append(name[:-1] + "c")
    return code(*closure)


def static_functions():
    """{where: whether one call is its only use} of static functions. A function that is handed on has no caller to stand in."""
    used = {}
    names = files(*(f"{folder}/**/*.[ch]" for folder in SOURCES))
    for line in tool("ctags", "--languages=C", "--langmap=C:+.h", "--kinds-C=f", "--fields=+n", "--output-format=json", "-f", "-", *names).splitlines():
        tag = json.loads(line)
        if tag.get("file"):
            # The definition names it once; prototypes end in a semicolon and start a line.
            source = english.without_comments(text_of(tag["path"]))
            prototypes = re.findall(rf"^static [^;{{}}()=]*\b{tag['name']}\([^{{}};]*\);", source, re.MULTILINE)
            uses = len(re.findall(rf"\b{tag['name']}\b", source)) - 1 - len(prototypes)
            called = len(re.findall(rf"\b{tag['name']}\(", source)) - 1 - len(prototypes)
            used[f"{tag['path']}:{tag['line']} {tag['name']}"] = int(uses == called == 1)
    return used


ENGLISH = ("patterns/**/*.*", "kernels/**/*.*", "harness/**/*.*", "examples/**/*.*", "scripts/**/*.*", "tests/**/*.[ch]", "tests/**/*.def",
           "tests/**/*.cu", "tests/**/*.py", "docs/*.md", "*.md", "Makefile", ".ci/run", ".github/**/*.yml")


@functools.lru_cache
def faults():
    """{kind: {where and sentence: 1}} of the patterns of English that are hard to read."""
    found = collections.defaultdict(dict)
    for name in files(*ENGLISH):
        if not name.startswith(("tests/corpus", "tests/golden", "tests/data")):
            for line, kind, sentence in english.faults(name, text_of(name)):
                found[kind][f"{name}:{line}: {sentence}"] = 1
    return found


# Name, measure, limit, and how the numbers are taken together. C and tests have room for the analysis of users' SASS.
LIMITS = (
    ("lines of C", lambda: code(*SOURCES), 32000, sum),
    ("lines of scripts", lambda: code("scripts"), 8000, sum),
    ("lines of tests, but for attacks and faults", lambda: code("--fullpath", "--not-match-d=tests/(attacks|faults)", "tests"), 24500, sum),
    ("lines of attacks and planted faults", lambda: code("tests/attacks", "tests/faults"), 1500, sum),
    ("lines of C of the core", core, 10800, sum),
    ("% of static functions that are called once", static_functions, 27, lambda uses: round(100 * sum(uses) / len(uses), 1)),
    ("bytes of docs/*.md", lambda: size_of("docs/*.md"), 98000, sum),
    ("bytes of CONTRIBUTING.md", lambda: size_of("CONTRIBUTING.md"), 20000, sum),
    ("bytes of README.md", lambda: size_of("README.md"), 10000, sum),
    *((f"sentences: {kind}", functools.partial(lambda kind: faults()[kind], kind), 0, sum) for kind in english.KINDS),
)


def check():
    """(name, number, limit, things) of each limit."""
    for name, measure, limit, together in LIMITS:
        things = measure()
        yield name, together(list(things.values())) if things else 0, limit, things


def main():
    verbose, broken = "-v" in sys.argv[1:], False
    for name, number, limit, things in check():
        broken |= number > limit
        print(f"{name:40} {number:>8} of {limit:>6}" + ("  beyond" if number > limit else ""))
        for thing, count in sorted(things.items(), key=lambda item: (-item[1], item[0])) if verbose else ():
            if count:
                print(f"    {count:6} {thing}")
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
