# SPDX-License-Identifier: MIT
"""Results of schema 1.x as 2.0. What a file of 1.x does not say, the program does: identities, exact counters, reasons."""

import json
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.environ.get("CBANK", os.path.join(ROOT, "build/cbank"))


def current(path, content, program=None):
    """The content of a result's file, of version 2.x; that of any other file as it is. Raises ValueError, with what the
    program says, and OSError where there is no program."""
    schema = content["schema"] if isinstance(content, dict) and isinstance(content.get("schema"), dict) else {}
    version = schema.get("version")
    if schema.get("name") != "cbank-result" or not isinstance(version, str) or version.split(".")[0] != "1":
        return content
    return printed("show", "--json", path, program=program)


def printed(*words, program=None):
    """The JSON that the program prints. Raises as current."""
    done = subprocess.run([program or PROGRAM, *words], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit {done.returncode}"]
        raise ValueError(said[-1].removeprefix("cbank: error: "))
    return json.loads(done.stdout)
