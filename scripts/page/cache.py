# SPDX-License-Identifier: MIT
"""Figures that were drawn before, by the hash of all that they depend on: data, scripts, matplotlib and its fonts. In
$XDG_CACHE_HOME/cbank/figures; where that cannot be written, each is drawn again."""

import contextlib
import glob
import hashlib
import json
import os

from figures import output

FILES_MAX = 500  # that are kept, the last used
HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = ("../*.py", "../figures/*", "*.py")


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


def path_of(where, page):
    folder, scripts = where
    key = repr((scripts, page.name, page.stem, page.title, page.note, page.provenance, page.rows))
    return os.path.join(folder, hashlib.sha256(key.encode()).hexdigest())


def read(where, page):
    """(SVG, archive, size), or None. A file that is not whole counts as none."""
    if not where:
        return None
    try:
        with open(path_of(where, page), "rb") as file:
            says = json.loads(file.readline())
            drawn, archive = file.read(says["bytes"][0]), file.read(says["bytes"][1])
        os.utime(path_of(where, page))
    except (OSError, ValueError, LookupError, TypeError):
        return None
    whole = hashlib.sha256(drawn + archive).hexdigest() == says["sha256"]
    return (drawn, archive, tuple(says["size"])) if whole else None


def write(where, page, kept):
    drawn, archive, size = kept
    if not where:
        return
    says = {"bytes": [len(drawn), len(archive)], "size": size, "sha256": hashlib.sha256(drawn + archive).hexdigest()}
    path, temporary = path_of(where, page), f"{path_of(where, page)}.{os.getpid()}"
    with contextlib.suppress(OSError):
        with open(temporary, "wb") as file:
            file.write(json.dumps(says).encode() + b"\n" + drawn + archive)
        os.replace(temporary, path)
