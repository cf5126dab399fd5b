#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Keeps the figures of README.md and docs/*.md equal to what the program says of the committed
results.

usage: readme_blocks.py --check | --write

Between `<!-- begin: COMMAND -->` and `<!-- end -->` stands the text that COMMAND prints when it
runs in the root of the tree. After `<!-- begin markdown: COMMAND -->` stands Markdown that it
prints. The word cbank is the built program (CBANK, default build/cbank). A block whose command
names a result that is not there is left as it is, and named. Exit status 0; 1 when --check finds a
block that differs; 2 when a command fails.
"""

import concurrent.futures
import functools
import glob
import os
import re
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BLOCK_COLUMNS = 100  # what a block of code has room for on a page
BLOCK = re.compile(r"(<!-- begin( markdown)?: (.*?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def pages():
    """The files that can have blocks, from the root of the tree."""
    return ["README.md", "CONTRIBUTING.md"] + sorted(glob.glob("docs/*.md", root_dir=ROOT))


def read(page):
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return file.read()


def blocks(text):
    """(command, whether it prints Markdown, content) of every block."""
    return [
        (match.group(3), bool(match.group(2)), match.group(4)) for match in BLOCK.finditer(text)
    ]


def missing(command):
    """Result files that the command names and that are not there."""
    return [
        word
        for word in shlex.split(command)
        if word.startswith("results/") and not os.path.exists(os.path.join(ROOT, word))
    ]


@functools.lru_cache(maxsize=None)
def output(command, markdown):
    """The text that a block is to hold."""
    words = shlex.split(command)
    if words[0] == "cbank":
        words[0] = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
    else:
        words.insert(0, sys.executable)
    done = subprocess.run(
        words,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        env={**os.environ, "COLUMNS": str(BLOCK_COLUMNS)},
    )
    # 1 alone is a finding, which the page shows
    if done.returncode > 1 or done.returncode and done.stderr:
        raise RuntimeError(f"{command}: exit status {done.returncode}: {done.stderr.strip()}")
    text = "\n".join(line.rstrip() for line in done.stdout.splitlines())
    return f"{text}\n" if markdown else f"```text\n{text}\n```\n"


def filled(page):
    """The page with what its blocks are to hold, and the commands of those that differ."""
    differing = []

    def fill(match):
        command, content = match.group(3), match.group(4)
        if missing(command):
            print(f"{page}: not there yet, block left alone: {', '.join(missing(command))}")
            return match.group(0)
        wanted = output(command, bool(match.group(2)))
        if wanted != content:
            differing.append(command)
        return match.group(1) + wanted + match.group(5)

    return BLOCK.sub(fill, read(page)), differing


def main():
    if sys.argv[1:] not in (["--check"], ["--write"]):
        print(__doc__.strip(), file=sys.stderr)
        sys.exit(2)
    try:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(zip(pages(), pool.map(filled, pages())))
    except RuntimeError as error:
        print(f"readme_blocks: {error}", file=sys.stderr)
        sys.exit(2)
    found = [(page, text, differing) for page, (text, differing) in found if differing]
    for page, text, differing in found:
        if sys.argv[1] == "--check":
            for command in differing:
                print(f"{page} is not what this prints: {command}")
        else:
            with open(os.path.join(ROOT, page), "w", encoding="utf-8") as file:
                file.write(text)
    sys.exit(1 if found and sys.argv[1] == "--check" else 0)


if __name__ == "__main__":
    main()
