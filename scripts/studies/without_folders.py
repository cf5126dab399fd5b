#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Takes the folders of a machine out of the command line of results, and leaves every other byte.

usage: without_folders.py FILE...

A file that was measured into another folder has its path in tool.argv. Files whose command line
names no folder stay as they are.
"""

import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials

ARGV = re.compile(r'^(\s*"argv":\s*)("(?:[^"\\]|\\.)*")', re.MULTILINE)


def convert(text):
    """The text with another command line, which stands once."""
    (found,) = ARGV.finditer(text)
    words = trials.without_folders(json.loads(found[2]))
    return text[: found.start(2)] + json.dumps(words, ensure_ascii=False) + text[found.end(2) :]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
        converted = convert(text)
        before, after = json.loads(text), json.loads(converted)
        after["tool"]["argv"] = before["tool"]["argv"]
        if before != after:
            sys.exit(f"{path}: more than its command line would change")
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(converted)


if __name__ == "__main__":
    main()
