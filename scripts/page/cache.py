# SPDX-License-Identifier: MIT
"""Figures that were drawn before, explanations of results and pages of their cells, by the hash of all that they depend on: data,
scripts, program, matplotlib and its fonts. In $XDG_CACHE_HOME/cbank/figures; where that cannot be written, each is made again."""

import contextlib
import glob
import hashlib
import itertools
import json
import os
import zlib

from figures import output

FILES_MAX = 500  # that are kept, the last used
HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = ("../*.py", "../figures/*", "*.py", "templates/*")


def found():
    """(folder, hash of what draws), or None where there can be none; takes out what was not used for longest."""
    folder = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "cbank", "figures")
    with contextlib.suppress(OSError):
        os.makedirs(folder, exist_ok=True)
        files = sorted((entry.stat().st_mtime, entry.path) for entry in os.scandir(folder))
        for _, path in files[:max(0, len(files) - FILES_MAX)]:
            os.unlink(path)
        return folder, scripts_hash()
    return None


def scripts_hash():
    made = hashlib.sha256(output.version().encode())
    for path in sorted(path for pattern in SCRIPTS for path in glob.glob(os.path.join(HERE, pattern)) if os.path.isfile(path)):
        with open(path, "rb") as file:
            made.update(file.read())
    return made.hexdigest()


def path_of(where, key):
    folder, scripts = where
    return os.path.join(folder, hashlib.sha256(repr((scripts, *key)).encode()).hexdigest())


def read(where, key):
    """([bytes], what was said of them) that were kept by that key, or None. A file that is not whole counts as none."""
    if not where:
        return None
    try:
        with open(path_of(where, key), "rb") as file:
            head, data = json.loads(file.readline()), zlib.decompress(file.read())
        os.utime(path_of(where, key))
        ends = list(itertools.accumulate(head["bytes"]))
        parts = [data[end - bytes:end] for bytes, end in zip(head["bytes"], ends)]
    except (OSError, ValueError, LookupError, TypeError, zlib.error):
        return None
    return (parts, head["said"]) if hashlib.sha256(data).hexdigest() == head["sha256"] else None


def write(where, key, parts, said):
    if not where:
        return
    data = b"".join(parts)
    head = {"bytes": list(map(len, parts)), "said": said, "sha256": hashlib.sha256(data).hexdigest()}
    path, temporary = path_of(where, key), f"{path_of(where, key)}.{os.getpid()}"
    with contextlib.suppress(OSError):
        with open(temporary, "wb") as file:
            file.write(json.dumps(head).encode() + b"\n" + zlib.compress(data, 1))
        os.replace(temporary, path)
