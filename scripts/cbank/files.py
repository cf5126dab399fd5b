# SPDX-License-Identifier: MIT
"""Files of the analysis: every one that a user names is read and written here.

- Only regular files are read. What would let a command wait, such as a pipe, is refused.
- No input is an output: what was read is never replaced, by whatever name. A command line that
  names a file twice is refused before anything is done (`Paths`).
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterator
from typing import BinaryIO

from .errors import ENVIRONMENT, Failure

# What stands where a regular file is wanted, by its type.
OTHERS = {
    stat.S_IFDIR: "Is a directory",
    stat.S_IFIFO: "it is a pipe, not a file",
    stat.S_IFSOCK: "it is a socket, not a file",
    stat.S_IFCHR: "it is a device, not a file",
    stat.S_IFBLK: "it is a device, not a file",
}

READ = {}  # what this process has read: a name of each file, by (device, inode)


# ---- Reading -------------------------------------------------------------------------------------


def need_regular(path: str, about: os.stat_result, remedy: str = "") -> None:
    """Raises Failure where something else is in the place of a file; else it counts as read."""
    if wrong := OTHERS.get(stat.S_IFMT(about.st_mode)):
        raise Failure(f"cannot read {path}: {wrong}{remedy}")
    READ.setdefault((about.st_dev, about.st_ino), path)


def opened(path: str, remedy: str = "") -> BinaryIO:
    """A regular file, open to read. It never waits. Raises Failure; remedy: the end of its
    message."""
    try:
        # opening a device may do something: what it is is asked before, and again of what was
        # opened
        need_regular(path, os.stat(path), remedy)
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY), "rb")
    except OSError as error:
        raise Failure(f"cannot read {path}: {error.strerror}{remedy}") from None
    try:
        need_regular(path, os.fstat(file.fileno()), remedy)
    except BaseException:
        file.close()
        raise
    return file


def read_bytes(path: str, most: int = -1, remedy: str = "") -> bytes:
    """The content of a regular file, or `most` bytes of it. Raises Failure."""
    with opened(path, remedy) as file:
        try:
            return file.read(most)
        except OSError as error:
            raise Failure(f"cannot read {path}: {error.strerror}{remedy}") from None


def need_store(path: str) -> None:
    """SQLite opens a file and those beside it by their names: raises Failure where one is there
    that is no file."""
    there = os.path.realpath(path)
    for name in (path, *(there + end for end in ("-journal", "-wal", "-shm"))):
        with contextlib.suppress(FileNotFoundError):
            need_regular(name, os.stat(name))


# ---- Writing -------------------------------------------------------------------------------------


def need_unread(path: str) -> None:
    """Raises Failure where a file was read: it would be replaced. A file that was read and is gone,
    as one of a temporary folder, leaves its number to another file."""
    with contextlib.suppress(OSError):
        about = os.stat(path)
        read = READ.get((about.st_dev, about.st_ino))
        if read and os.path.samestat(os.stat(read), about):
            raise Failure(
                f"cannot write {path}: it was read, as {read}; name another file or folder"
            )


def make_folder(path: str) -> None:
    """Makes a folder, and those above it, unless it is there."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise Failure(
            f"cannot make the folder {path}: {error.strerror}; name another", ENVIRONMENT
        ) from None


@contextlib.contextmanager
def replacement(path: str) -> Iterator[BinaryIO]:
    """A new file, which takes the place of the one at `path` when all is written."""
    written = f"{path}.tmp"
    need_unread(written)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(written)  # of a process that was killed
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(written, flags, 0o666), "wb") as file:
        try:
            yield file
            file.flush()
            os.replace(written, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(written)
            raise


def write(path: str, text: str | bytes, updated: bool = False) -> None:
    """Writes a file whole or not at all, of a text or of bytes; - is standard output. updated: of
    a file that the command may have read before."""
    if path == "-":
        sys.stdout.write(text)
        return
    if not updated:
        need_unread(path)
    data = text if isinstance(text, bytes) else text.encode()
    try:
        if os.path.isfile(path) or not os.path.exists(path):
            with replacement(path) as file:
                file.write(data)
        else:  # a pipe or a device is written to as it is
            with open(path, "wb") as file:
                file.write(data)
    except OSError as error:
        raise Failure(
            f"cannot write {path}: {error.strerror}; free some space, or name another file"
        ) from error


# ---- Command lines -------------------------------------------------------------------------------


class Paths:
    """The arguments of a command that name files: which are read, and which are written. errors.
    Parser fills it, and asks after each command line."""

    def __init__(self):
        self.read, self.written = [], {}  # names of attributes; the option of each

    def check(self, options: object) -> None:
        """Raises Failure where a file is written twice, or is read too, by whatever name."""
        taken = {}
        for key in self.read:
            value = getattr(options, key)
            for path in value if isinstance(value, list) else [value]:
                for name in named(path) if path else ():
                    taken.update(dict.fromkeys(identities(name), name))
        for key, option in self.written.items():
            path = getattr(options, key)
            if path is None or path == "-":
                continue
            for name in (path, f"{path}.tmp"):
                if found := next(filter(None, map(taken.get, identities(name))), None):
                    said = "" if found == path else f": {found}"
                    raise Failure(
                        f"{option}: {name} is named for something else, too{said}; give another"
                        " file"
                    )
            taken.update(dict.fromkeys(identities(path), path))


def named(path: str) -> Iterator[str]:
    """What a path names: itself, and the .json files of a folder."""
    yield path
    with contextlib.suppress(OSError):
        yield from (entry.path for entry in os.scandir(path) if entry.name.endswith(".json"))


def identities(path: str) -> list:
    """What two names of one file have in common: its place, and device and inode of a regular file
    that is there."""
    found = [os.path.realpath(path)]
    with contextlib.suppress(OSError):
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode):
            return []
        found.append((about.st_dev, about.st_ino))
    return found
