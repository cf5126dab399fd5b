#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps the figures of README.md equal to what the program says of the committed results.

usage: readme_blocks.py --check | --write

Between `<!-- begin: COMMAND -->` and `<!-- end -->` stands what COMMAND prints when it runs in the root of the
tree. The word cbank is the built program (CBANK, default build/cbank). A block whose command names a result that
is not there is left as it is, and said. Exit status 0; 1 when --check finds a block that differs; 2 when a
command fails.
"""

import os
import re
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
README = os.path.join(ROOT, "README.md")
BLOCK = re.compile(r"(<!-- begin: (.*?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def read():
    with open(README, encoding="utf-8") as file:
        return file.read()


def blocks(text):
    """(command, content) of every block."""
    return [(match.group(2), match.group(3)) for match in BLOCK.finditer(text)]


def missing(command):
    """Result files that the command names and that are not there."""
    return [word for word in shlex.split(command)
            if word.startswith("results/") and not os.path.exists(os.path.join(ROOT, word))]


def output(command):
    """What a block is to hold."""
    words = shlex.split(command)
    if words[0] == "cbank":
        words[0] = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
    else:
        words.insert(0, sys.executable)
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"{command}: exit status {done.returncode}: {done.stderr.strip()}")
    return "```text\n" + "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n```\n"


def main():
    if sys.argv[1:] not in (["--check"], ["--write"]):
        print(__doc__.strip(), file=sys.stderr)
        sys.exit(2)
    text = read()
    differing = []

    def fill(match):
        command, content = match.group(2), match.group(3)
        if missing(command):
            print(f"not there yet, block left alone: {', '.join(missing(command))}")
            return match.group(0)
        wanted = output(command)
        if wanted != content:
            differing.append(command)
        return match.group(1) + wanted + match.group(4)

    try:
        filled = BLOCK.sub(fill, text)
    except RuntimeError as error:
        print(f"readme_blocks: {error}", file=sys.stderr)
        sys.exit(2)
    if sys.argv[1] == "--check":
        for command in differing:
            print(f"README.md is not what this prints: {command}")
        sys.exit(1 if differing else 0)
    if differing:
        with open(README, "w", encoding="utf-8") as file:
            file.write(filled)


if __name__ == "__main__":
    main()
