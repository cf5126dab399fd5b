# SPDX-License-Identifier: MIT
"""Documents that the instrument writes: read from files, and told apart by the name in their schema."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
from collections.abc import Iterator

from .errors import Failure, printable

# By the name in the schema of a document: its kind, and the file of the schema.
KINDS = {f"cbank-{kind}": (kind, f"{kind}.schema.json") for kind in
         ("characterization", "card", "calibration", "comparison", "fleet", "history")}
KINDS["cbank-result"] = ("result", "schema.json")

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA_FOLDERS = [os.path.join(HERE, folder) for folder in ("../../results/schemas", "../../results", "../..", "schemas")]

# The keys that identify a cell, with its parameters.
CELL_KEYS = ("workload", "path", "pattern", "elements", "block_size", "cache_state")

NOT_SO = (LookupError, TypeError, ValueError, AttributeError, OverflowError)  # what a malformed document makes code raise


class OtherKind(Failure):
    """A document of cbank that has no rows."""


class Document:
    """One file: `kind`, `content`, `path`, `name` without folders, and `sha256` of its bytes."""

    def __init__(self, path: str, data: bytes):
        self.path, self.name = path, os.path.basename(path)
        self.sha256 = hashlib.sha256(data).hexdigest()
        self.content = parsed(path, data)
        self.kind, self.schema_file = kind_of(path, self.content)

    @property
    def stem(self) -> str:
        """The name for files that are made of it: letters, digits, dots and hyphens."""
        return stem_of(self.name)

    def wrong_part(self) -> str | None:
        """The first place where the content is not what its schema says, as a sentence; None where it is."""
        import jsonschema
        found = jsonschema.exceptions.best_match(
            jsonschema.Draft202012Validator(schema_of(self.schema_file)).iter_errors(self.content))
        if not found:
            return None
        text = found.message if len(found.message) < 200 else f"{found.message[:90]} ... {found.message[-100:]}"
        return f"{found.json_path}: {text}"


def stem_of(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", printable(name.removesuffix(".json"))).lstrip(".-") or "file"


def schema_of(name: str) -> dict:
    """A JSON Schema of a checkout or of an installation."""
    for folder in SCHEMA_FOLDERS:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return json.load(file)
    raise Failure(f"there is no schema {name} in {SCHEMA_FOLDERS[0]}; install cbank again")


def refuse_number(text: str) -> None:
    raise ValueError(f"{text} is not a number of JSON")


def parsed(path: str, data: bytes) -> dict:
    try:
        content = json.loads(data.decode("utf-8"), parse_constant=refuse_number)
    except (ValueError, RecursionError) as error:
        raise Failure(f"{path} is not JSON: {error}; name a file that cbank wrote with --json") from None
    if not isinstance(content, dict):
        raise Failure(f"{path} holds no JSON object; name a file that cbank wrote with --json")
    return content


def kind_of(path: str, content: dict) -> tuple[str, str]:
    """(kind, file of its schema) of a document whose major version is that of the schema."""
    schema = content.get("schema")
    name = schema.get("name") if isinstance(schema, dict) else None
    if not isinstance(name, str) or name not in KINDS:
        known = isinstance(name, str) and name.startswith("cbank-")
        raise (OtherKind if known else Failure)(
            f"{path} {'is a ' + name if known else 'has no schema name of cbank'}; name one of: {', '.join(KINDS)}")
    version, pattern = schema.get("version"), schema_of(KINDS[name][1])["properties"]["schema"]["properties"]["version"]["pattern"]
    if not isinstance(version, str) or not re.fullmatch(pattern, version):
        raise Failure(f"{path} has version {version} of {name}, and its schema says {pattern}; write it again with cbank")
    return KINDS[name]


def read(path: str) -> Document:
    try:
        with open(path, "rb") as file:
            return Document(path, file.read())
    except OSError as error:
        raise Failure(f"cannot read {path}: {error.strerror}; name a file that cbank wrote with --json") from None


def read_all(paths: list[str]) -> tuple[list[Document], list[str]]:
    """(documents, paths of cbank's other documents). A folder stands for its JSON files, except a manifest."""
    found, others = [], []
    for path in paths:
        if not os.path.isdir(path):
            found.append(read(path))
            continue
        names = sorted(name for name in os.listdir(path) if name.endswith(".json") and name != "manifest.json")
        if not names:
            raise Failure(f"{path} holds no JSON file; name the folder of a chip, such as results/chips/h200")
        for name in names:
            try:
                found.append(read(os.path.join(path, name)))
            except OtherKind:
                others.append(os.path.join(path, name))
    return found, others


@contextlib.contextmanager
def blamed(documents: list[Document]) -> Iterator[None]:
    """Turns what a malformed document makes code raise into a sentence about the first document that is not valid.

    Where all of them follow their schemas, the sentence names what was stumbled over; CBANK_TRACEBACK=1 says where."""
    try:
        yield
    except NOT_SO as error:
        for document in documents:
            wrong = document.wrong_part()
            if wrong:
                raise Failure(f"{document.path} is not what its schema says at {wrong}; write it again with cbank") from error
        if os.environ.get("CBANK_TRACEBACK"):
            raise
        raise Failure(f"{', '.join(document.path for document in documents)} cannot be shown: {type(error).__name__}, {error}; write it "
                      "again with cbank, or report this") from error


def number(value: object) -> float | int | None:
    """A finite number, or None. Integers above 2**53 are strings in JSON."""
    if isinstance(value, str):
        value = int(value)
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value)):
        raise ValueError(f"{value!r} is not a number")
    return value
