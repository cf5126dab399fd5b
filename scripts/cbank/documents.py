# SPDX-License-Identifier: MIT
"""Documents that the instrument writes: read from files, told apart by the name in their schema,
and held against it.

Every command reads documents by `load`. Nothing is done with one before all of it is as its schema
says.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
import os
import re
from collections.abc import Iterator

from . import instrument, schemas
from .errors import Failure, printable

# By the name in the schema of a document: its kind, and the file of the schema.
KINDS = {
    f"cbank-{kind}": (kind, f"{kind}.schema.json")
    for kind in ("characterization", "card", "calibration", "comparison", "fleet", "history")
}
KINDS["cbank-result"] = ("result", "schema.json")
MANIFEST_KINDS = {"cbank-manifest": ("manifest", "manifest.schema.json")}
BYTES_MAX = 1 << 28  # of a file

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
    All of it is as its schema says."""

    def __init__(self, path: str, data: bytes, kinds: dict[str, tuple[str, str]] = KINDS):
        self.path, self.name = path, os.path.basename(path)
        self.sha256 = hashlib.sha256(data).hexdigest()
        self.content = parsed(path, data)
        self.kind, self.schema_file = kind_of(path, self.content, kinds)
        try:
            check_of(self.schema_file)(self.content)
        except schemas.Wrong as wrong:
            raise Failure(f"{path}: {wrong}; write it again with cbank") from None
        # the instrument reads its answers anew
        if self.kind == "characterization" and self.content["schema"]["version"] == "1.0":
            self.content["experiments"] = instrument.ask(
                ["characterize", "--quiet", "--replay", path, "--json", "-"]
            )["experiments"]

    @property
    def stem(self) -> str:
        """The name for files that are made of it: letters, digits, dots and hyphens."""
        return stem_of(self.name)


def stem_of(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", printable(name.removesuffix(".json"))).lstrip(".-") or "file"


@functools.cache
def schema_of(name: str) -> dict:
    """A JSON Schema of a checkout or of an installation."""
    for folder in SCHEMA_FOLDERS:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return json.load(file)
    raise Failure(f"there is no schema {name} in {SCHEMA_FOLDERS[0]}; install cbank again")


@functools.cache
def check_of(name: str) -> schemas.Check:
    return schemas.compiled(schema_of(name))


def refuse_number(text: str) -> None:
    raise ValueError(f"{text} is not a number of JSON")


def unique(pairs: list[tuple[str, object]]) -> dict:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(
            f"the key {next(key for key in keys if keys.count(key) > 1)} is twice in an object"
        )
    return made


def parsed(path: str, data: bytes) -> dict:
    """The object in a file. It refuses what the instrument's reader refuses: keys twice, NUL,
    and halves of characters."""
    try:
        text = data.decode("utf-8")
        content = json.loads(text, parse_constant=refuse_number, object_pairs_hook=unique)
        if "\\u" in text:
            json.dumps(content, ensure_ascii=False).encode()
            if re.search(r"(?<!\\)(\\\\)*\\u0000", text):
                raise ValueError("there is a NUL character in a string")
    except (ValueError, RecursionError) as error:
        raise Failure(
            f"{path} is not JSON: {error}; name a file that cbank wrote with --json"
        ) from None
    if not isinstance(content, dict):
        raise Foreign(f"{path} holds no JSON object; name a file that cbank wrote with --json")
    return content


def kind_of(path: str, content: dict, kinds: dict[str, tuple[str, str]]) -> tuple[str, str]:
    """(kind, file of its schema) of a document whose major version is that of the schema."""
    schema = content.get("schema")
    name = schema.get("name") if isinstance(schema, dict) else None
    if not isinstance(name, str) or name not in kinds:
        known = isinstance(name, str) and name.startswith("cbank-")
        raise (OtherKind if known else Foreign)(
            f"{path} {'is a ' + name if known else 'has no schema name of cbank'}; name one of:"
            f" {', '.join(kinds)}"
        )
    version, pattern = (
        schema.get("version"),
        schema_of(kinds[name][1])["properties"]["schema"]["properties"]["version"]["pattern"],
    )
    if not isinstance(version, str) or not re.fullmatch(pattern, version):
        raise Failure(
            f"{path} has version {version} of {name}, and its schema says {pattern}; write it again"
            " with cbank"
        )
    return kinds[name]


def read_bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        raise Failure(
            f"cannot read {path}: {error.strerror}; name a file that cbank wrote with --json"
        ) from None
    if len(data) > BYTES_MAX:
        raise Failure(f"{path} is larger than {BYTES_MAX >> 20} MiB, the most that cbank reads")
    return data


def load(path: str, kinds: dict[str, tuple[str, str]] = KINDS) -> Document:
    """The document in a file, which is as its schema says. Raises Failure, with the file, the
    place and the key."""
    return Document(path, read_bytes(path), kinds)


def read_all(paths: list[str]) -> tuple[list[Document], list[str]]:
    """(documents, paths of cbank's other documents). A folder stands for its JSON files, except
    a manifest."""
    found, others = [], []
    for path in paths:
        if not os.path.isdir(path):
            found.append(load(path))
            continue
        names = sorted(
            name for name in os.listdir(path) if name.endswith(".json") and name != "manifest.json"
        )
        if not names:
            raise Failure(
                f"{path} holds no JSON file; name the folder of a chip, such as results/chips/h200"
            )
        for name in names:
            try:
                found.append(load(os.path.join(path, name)))
            except OtherKind:
                others.append(os.path.join(path, name))
    return found, others


@contextlib.contextmanager
def blamed(documents: list[Document]) -> Iterator[None]:
    """Names the documents where a command stumbles over what no schema forbids;
    CBANK_TRACEBACK=1 says where."""
    try:
        yield
    except NOT_SO as error:
        if os.environ.get("CBANK_TRACEBACK"):
            raise
        raise Failure(
            f"{', '.join(document.path for document in documents)} cannot be shown:"
            f" {type(error).__name__}, {error}; write it again with cbank, or report this"
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
