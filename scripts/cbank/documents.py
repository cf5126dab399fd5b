# SPDX-License-Identifier: MIT
"""Documents that the instrument writes: read from files, and told apart by the name in their
schema.

Every command reads documents by `load`. Nothing is done with one before the instrument has read
all of it: what it refuses is refused here, in its words.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import math
import os
import re
from collections.abc import Iterator

from . import files, instrument
from .errors import ENVIRONMENT, Failure, printable

# By the name in the schema of a document: its kind.
KINDS = {
    f"cbank-{kind}": kind
    for kind in (
        "characterization",
        "card",
        "calibration",
        "comparison",
        "fleet",
        "history",
        "ranking",
        "result",
    )
}
MANIFEST_KINDS = {"cbank-manifest": "manifest"}
BYTES_MAX = 1 << 28  # of a file
FILES_AT_ONCE = 64  # that the instrument is asked for

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA_FOLDERS = [
    os.path.join(HERE, folder)
    for folder in ("../../results/schemas", "../../results", "../..", "schemas")
]

# The keys that identify a cell, with its parameters.
CELL_KEYS = ("workload", "path", "pattern", "elements", "block_size", "cache_state")

# what a malformed document makes code raise
NOT_SO = (LookupError, TypeError, ValueError, AttributeError, OverflowError)


class OtherKind(Failure):
    """A document of cbank that has no rows."""


class Foreign(Failure):
    """A JSON file that is no document of cbank."""


class Document:
    """One file: `kind`, `content`, `path`, `name` without folders, and `sha256` of its bytes.
    Nothing but its kind was checked: `load` does that."""

    def __init__(self, path: str, data: bytes, kinds: dict[str, str] = KINDS):
        self.path, self.name = path, os.path.basename(path)
        self.sha256 = hashlib.sha256(data).hexdigest()
        self.content = parsed(path, data)
        self.kind = kind_of(path, self.content, kinds)

    @property
    def stem(self) -> str:
        """The name for files that are made of it: letters, digits, dots and hyphens."""
        return stem_of(self.name)


def stem_of(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", printable(name.removesuffix(".json"))).lstrip(".-") or "file"


def untaken(stem: str, taken: set[str]) -> str:
    """The stem, with a number where it is taken, whatever the case of its letters; it is taken
    then."""
    names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    name = next(name for name in names if name.casefold() not in taken)
    taken.add(name.casefold())
    return name


@functools.cache
def schema_of(name: str) -> dict:
    """A JSON Schema of a checkout or of an installation."""
    for folder in SCHEMA_FOLDERS:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return json.loads(files.read_bytes(path))
    raise Failure(f"there is no schema {name} in {SCHEMA_FOLDERS[0]}; install cbank again")


def parsed(path: str, data: bytes) -> dict:
    """The object in a file. The instrument refuses more: keys twice, NUL, and halves of
    characters."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Failure(
            f"{path} is not JSON: {error}; name a file that cbank wrote with --json"
        ) from None
    if not isinstance(content, dict):
        raise Foreign(f"{path} holds no JSON object; name a file that cbank wrote with --json")
    return content


def kind_of(path: str, content: dict, kinds: dict[str, str]) -> str:
    """The kind of a document by the name in its schema."""
    schema = content.get("schema")
    name = schema.get("name") if isinstance(schema, dict) else None
    if not isinstance(name, str) or name not in kinds:
        known = isinstance(name, str) and name.startswith("cbank-")
        raise (OtherKind if known else Foreign)(
            f"{path} {'is a ' + name if known else 'has no schema name of cbank'}; name one of:"
            f" {', '.join(kinds)}"
        )
    return kinds[name]


def read_bytes(path: str) -> bytes:
    """The content of a file. The instrument reads the same file again."""
    data = files.read_bytes(path, BYTES_MAX + 1, "; name a file that cbank wrote with --json")
    if len(data) > BYTES_MAX:
        raise Failure(f"{path} is larger than {BYTES_MAX >> 20} MiB, the most that cbank reads")
    return data


class Checks:
    """The instrument reads files, all of each, while the caller goes on. `failure` says what is
    wrong with one."""

    def __init__(self, paths: list[str]):
        self.paths = paths
        self.process = instrument.start(["show", "--check", "--", *paths]) if paths else None
        self.refused = None  # until the process ended
        self.causes = {}  # {path: {index of a cell: why it is invalid}}

    def take(self) -> None:
        """Waits for what the instrument says: a line a file, and below it a line an invalid
        cell."""
        self.refused, paths = set(), iter(self.paths)
        path = None
        for line in instrument.lines_of(self.process) if self.process else []:
            word, rest = line.split(" ", 1)
            if word == "invalid":
                index, words = rest.split(" ", 1)
                self.causes.setdefault(path, {})[int(index)] = words
                continue
            path = next(paths, None)
            if word == "refused":
                self.refused.add(path)
        if next(paths, None) is not None:
            raise Failure("cbank show --check was killed; try again", ENVIRONMENT)

    def invalid(self, path: str) -> dict[int, str]:
        """Why cells of a result are invalid, by their index."""
        if self.refused is None:
            self.take()
        return self.causes.get(path, {})

    def failure(self, path: str) -> Failure | None:
        if self.refused is None:
            self.take()
        if path not in self.refused:
            return None
        try:
            instrument.call(["show", "--check", "--", path])
        except Failure as failure:
            return failure.blame_file()
        return Failure(f"{path} changed while it was read; try again")


def checked(path: str, data: bytes, kinds: dict[str, str], checks: Checks) -> Document:
    """The document of a file's bytes. Raises Failure, with the file, the place and the key, unless
    the instrument reads it."""
    try:
        document = Document(path, data, kinds)
    except OtherKind:
        raise
    except Foreign as failure:  # the instrument knows files of other programs by name
        raise Foreign(checks.failure(path) or failure) from None
    except Failure as failure:
        raise checks.failure(path) or failure from None
    if wrong := checks.failure(path):
        raise wrong
    for index, words in checks.invalid(path).items():
        cell = document.content["cells"][index]
        cell["invalid"] = words
        cell["flags"].append("invalid")
    # the instrument reads its answers anew
    if document.kind == "characterization" and document.content["schema"]["version"] == "1.0":
        document.content["experiments"] = instrument.ask(
            ["characterize", "--quiet", "--replay", path, "--json", "-"]
        )["experiments"]
    return document


def load_all(paths: list[str], kinds: dict[str, str] = KINDS) -> Iterator[Document | Failure]:
    """The document in each file, or why it has none. The instrument read all of each document."""
    for first in range(0, len(paths), FILES_AT_ONCE):
        some = paths[first : first + FILES_AT_ONCE]
        checks = Checks(list(filter(os.path.isfile, some)))
        for path in some:
            try:
                yield checked(path, read_bytes(path), kinds, checks)
            except Failure as failure:
                yield failure.blame_file()


def load(path: str, kinds: dict[str, str] = KINDS) -> Document:
    """The document in a file. Raises Failure, with the file, the place and the key."""
    (found,) = load_all([path], kinds)
    if isinstance(found, Failure):
        raise found
    return found


def read_all(paths: list[str]) -> tuple[list[Document], list[str]]:
    """(documents, paths of cbank's other documents). A folder stands for its JSON files, except
    a manifest."""
    listed, in_folders = [], set()
    for path in paths:
        if not os.path.isdir(path):
            listed.append(path)
            continue
        names = sorted(
            name for name in os.listdir(path) if name.endswith(".json") and name != "manifest.json"
        )
        if not names:
            raise Failure(
                f"{path} holds no JSON file; name the folder of a chip, such as results/chips/h200"
            )
        in_folders.update(range(len(listed), len(listed) + len(names)))
        listed += [os.path.join(path, name) for name in names]
    found, others = [], []
    for index, document in enumerate(load_all(listed)):
        if isinstance(document, OtherKind) and index in in_folders:
            others.append(listed[index])
        elif isinstance(document, Failure):
            raise document
        else:
            found.append(document)
    return found, others


@contextlib.contextmanager
def blamed(documents: list[Document]) -> Iterator[None]:
    """Names the documents where a command lacks what the instrument does not read;
    CBANK_TRACEBACK=1 says where."""
    try:
        yield
    except NOT_SO as error:
        if os.environ.get("CBANK_TRACEBACK"):
            raise
        raise Failure(
            f"{', '.join(document.path for document in documents)} cannot be shown:"
            f" {type(error).__name__}, {error}; write it again with cbank"
        ) from error


def number(value: object) -> float | int | None:
    """A finite number, or None. Integers above 2**53 are strings in JSON."""
    if isinstance(value, str):
        value = int(value)
    if value is not None and (
        isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value)
    ):
        raise ValueError(f"{value!r} is not a number")
    return value
