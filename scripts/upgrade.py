# SPDX-License-Identifier: MIT
"""Older results as of the version that is read here: those of schema 1.x, and of 2.x below 2.5, whose cells have no
time_ns.value, or another interval. What a file does not say, the program does: identities, exact counters, reasons, the time that
the samples give."""

import json
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.environ.get("CBANK", os.path.join(ROOT, "build/cbank"))
VALUE_MINOR = 5  # of version 2: the first with such a time


def is_older(version):
    major, _, minor = version.partition(".")
    return major == "1" or major == "2" and minor.isdecimal() and int(minor) < VALUE_MINOR


def current(path, content, program=None):
    """The content of a result's file, of version 2.5 or later; that of any other file as it is. Raises ValueError, with
    what the program says, and OSError where there is no program."""
    schema = content["schema"] if isinstance(content, dict) and isinstance(content.get("schema"), dict) else {}
    version = schema.get("version")
    if schema.get("name") != "cbank-result" or not isinstance(version, str) or not is_older(version):
        return content
    return printed("show", "--json", path, program=program)


def read(path, program=None):
    """The same of a file. Raises as current, and what opening and reading JSON raise."""
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    return current(path, content, program)


def printed(*words, program=None):
    """The JSON that the program prints. Raises as current."""
    done = subprocess.run([program or PROGRAM, *words], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit {done.returncode}"]
        raise ValueError(said[-1].removeprefix("cbank: error: "))
    return json.loads(done.stdout)
