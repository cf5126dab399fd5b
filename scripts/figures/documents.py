# SPDX-License-Identifier: MIT
"""Documents that cbank writes, read and checked; which of their cells were chosen."""

import fnmatch
import functools
import hashlib
import json
import math
import os


# By the name in their schema: what they are called here, and what has to be there for a figure to be made of it.
KINDS = {
    "cbank-result": ("result", ("tool", "engine", "complete", "device", "cells")),
    "cbank-characterization": ("characterization", ("tool", "device", "experiments")),
    "cbank-explanation": ("explanation", ("tool", "card", "results")),
    "cbank-comparison": ("comparison", ("comparable", "base", "new", "options", "differences", "cells")),
    "cbank-card": ("card", ("name", "origins")),
    "cbank-fleet": ("fleet", ("verdict", "night", "findings", "gpus")),
    "cbank-history": ("history", ("rows", "changes", "forgotten")),
}
LISTS = ("cells", "experiments", "results", "findings", "gpus", "rows", "changes", "forgotten")
# Major versions that are read.
MAJORS = {"cbank-result": ("2",), "cbank-comparison": ("3",), "cbank-explanation": ("2",), "cbank-characterization": ("1", "2")}

# What identifies a cell beside its parameters.
CELL_KEYS = ("workload", "path", "pattern", "elements", "block_size", "regime")
# What a --select can name of a cell beside its parameters.
SELECT_KEYS = CELL_KEYS + ("status", "verdict")


class WrongFile(Exception):
    """Not a document that figures are made of. The message names the file and what to do."""


class OtherKind(WrongFile):
    """A document of cbank that no figure is made of."""


class WrongSelection(Exception):
    """A --select that cannot be read, or that names what no cell has."""


class NotDrawn(Exception):
    """A figure cannot be drawn; the message says in one line why not."""


class Document:
    """One file: its kind, its content and the hash of its bytes."""

    def __init__(self, name, data, program=None):
        self.name = os.path.basename(name)  # where it lies is no part of what it says
        self.path = name
        self.sha256 = hashlib.sha256(data).hexdigest()
        content = parsed(name, data)
        self.schema = content.get("schema")
        self.content = content
        self.kind = kind_of(name, self.content)

    @property
    def stem(self):
        return self.name.removesuffix(".json")

    def source(self):
        """The columns that every row of a CSV ends with."""
        return {"source": self.name, "source_sha256": self.sha256}

    def provenance(self):
        """What a figure made of the document says of where its data come from."""
        tool = self.content.get("tool") or {}
        found = {"source": self.name, "sha256": self.sha256, **origin(self)}
        if tool:
            found["tool"] = f"cbank {tool['version']}, commit {tool['git_commit'] or 'unknown'}" + \
                            (" with changes" if tool["git_dirty"] else "")
        return {key: str(value) for key, value in found.items() if value is not None}


def origin(document):
    """Engine, device and driver, as far as a kind of document has them."""
    content = document.content
    if document.kind == "result":
        return {"engine": content["engine"], "device": content["device"]["name"],
                "driver": content["device"]["driver"]}
    if document.kind == "characterization":
        return {"engine": "cuda", "device": content["device"]["name"], "driver": content["device"]["driver"]}
    if document.kind == "comparison":
        sides = [{"engine": side["engine"], "device": side["device"]["name"], "driver": side["device"]["driver"]}
                 for side in (content["base"], content["new"])]
        return {key: ", ".join(str(side[key]) for side in sides) for key in sides[0]}
    if document.kind == "explanation":
        return {"engine": ", ".join(sorted({result["engine"] for result in content["results"]})),
                "device": ", ".join(sorted({result["device"]["name"] for result in content["results"]}))}
    if document.kind == "fleet":
        return {key: ", ".join(sorted({str(gpu[its]) for gpu in content["gpus"] if gpu[its]}))
                for key, its in (("device", "name"), ("driver", "driver"))}
    if document.kind == "history":
        return {key: ", ".join(sorted({str(row[key]) for row in content["rows"] if row[key]}))
                for key in ("engine", "device", "driver")}
    return {}


def no_such_number(text):
    raise ValueError(f"{text} is no number of JSON")


def parsed(name, data):
    try:
        content = json.loads(data.decode("utf-8"), parse_constant=no_such_number)
    except (ValueError, RecursionError) as error:
        raise WrongFile(f"{name} is not JSON: {error}; give a file that cbank wrote with --json") from None
    if not isinstance(content, dict):
        raise WrongFile(f"{name} holds no JSON object; give a file that cbank wrote with --json")
    return content


def kind_of(name, content):
    schema = content.get("schema")
    schema_name = schema.get("name") if isinstance(schema, dict) else None
    if schema_name not in KINDS:
        said = f"is a {schema_name}" if isinstance(schema_name, str) else "has no schema.name"
        raise (OtherKind if str(schema_name).startswith("cbank-") else WrongFile)(
            f"{name} {said}; figures are made of: " + ", ".join(KINDS))
    version, majors = schema.get("version"), MAJORS.get(schema_name, ("1",))
    if not isinstance(version, str) or version.split(".")[0] not in majors:
        raise WrongFile(f"{name} has version {version} of {schema_name}; this program reads {' and '.join(majors)}.x")
    kind, keys = KINDS[schema_name]
    for key in keys:
        if key not in content:
            raise WrongFile(f"{name} is not a whole {schema_name}: it has no '{key}'; write it again with cbank")
        rows = content[key] if key in LISTS else []
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise WrongFile(f"{name} is not what its schema says: '{key}' is no list of objects; write it again with "
                            "cbank")
    return kind


def read(name, program=None):
    try:
        with open(name, "rb") as file:
            data = file.read()
    except OSError as error:
        raise WrongFile(f"cannot read {name}: {error.strerror}") from None
    return Document(name, data, program)


def in_folder(folder):
    """The JSON files of a chip's folder, but for its manifest."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json") and name != "manifest.json")
    except OSError as error:
        raise WrongFile(f"cannot read {folder}: {error.strerror}") from None
    if not names:
        raise WrongFile(f"{folder} holds no JSON file; name a chip's folder, such as results/h200")
    return [os.path.join(folder, name) for name in names]


# -- numbers ------------------------------------------------------------------------------------------------------


def number(value):
    """A finite number or None. Large integers are strings in JSON."""
    if type(value) is float and math.isfinite(value):  # as most are
        return value
    if isinstance(value, str):
        value = int(value)
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or
                              not math.isfinite(value)):
        raise ValueError(f"{value!r} is not a number")
    return value


def positive(value):
    """As number; None for what is not above 0, which no time and no logarithm is."""
    value = number(value)
    return value if value is not None and value > 0 else None


def quotient(above, below):
    """(value, low, high) of above / below, each (time, low, high). The ends are quotients of opposite ends: the
    interval is wider than 95 %. None where there is none."""
    value = above[0] / below[0] if above[0] and below[0] else None
    low = above[1] / below[2] if above[1] and below[2] else None
    high = above[2] / below[1] if above[2] and below[1] else None
    return value, low, high


# -- cells --------------------------------------------------------------------------------------------------------


def parameters_text(cell):
    """distinct=4 stride_bytes=64, empty for most. Files of schema 1.0 have no parameters."""
    return " ".join(f"{name}={value}" for name, value in sorted(cell.get("parameters", {}).items()))


def identity(cell):
    return {**{key: cell[key] for key in CELL_KEYS}, "parameters": parameters_text(cell)}


def time_of(cell):
    """(time, low, high) in ns; None where there is none."""
    time = cell["time_ns"] or {}
    return positive(time.get("value")), positive(time.get("ci_low")), positive(time.get("ci_high"))


class Selection:
    """What --select chose: a cell is in it when it fits one of the lists of KEY=GLOB. No list: all cells."""

    def __init__(self, texts=()):
        self.lists = [self.terms(text) for text in texts]

    @staticmethod
    def terms(text):
        terms = []
        for part in text.split(","):
            key, equals, glob = part.partition("=")
            if not (key and equals and glob):
                raise WrongSelection(f"'{part}' is not KEY=GLOB, such as path=constant or pattern=per_*")
            terms.append((key.strip(), glob.strip()))
        return terms

    def check(self, documents):
        """A key that no cell of any document has is a slip of the pen."""
        known = set(SELECT_KEYS)
        for document in documents:
            for cell in cells_of(document):
                known.update(cell.get("parameters", {}))
        for terms in self.lists:
            for key, _ in terms:
                if key not in known:
                    raise WrongSelection(f"no cell has '{key}'; there are: " + ", ".join(sorted(known)))

    def __contains__(self, cell):
        values = {**cell.get("parameters", {}), **{key: cell[key] for key in SELECT_KEYS if key in cell}}
        return not self.lists or any(
            all(key in values and fnmatch.fnmatchcase(str(values[key]), glob) for key, glob in terms)
            for terms in self.lists)

    def has_path(self, path):
        """Of an experiment, which is of a path and of no cell."""
        return not self.lists or any(
            all(fnmatch.fnmatchcase(path, glob) for key, glob in terms if key == "path") for terms in self.lists)


ALL = Selection()


def cells_of(document):
    if document.kind in ("result", "comparison"):
        return document.content["cells"]
    if document.kind == "explanation":
        return [cell for result in document.content["results"] for cell in result["cells"]]
    return []


def chosen(document, selection):
    """The chosen cells of a document; NotDrawn when there is none."""
    found = [cell for cell in cells_of(document) if cell in selection]
    if not found:
        raise NotDrawn("no cell of it was chosen" if cells_of(document) else "it has no cells")
    return found


@functools.lru_cache(maxsize=64)
def timed(document, selection):
    """The chosen cells that are ok and have a time."""
    found = [cell for cell in chosen(document, selection) if cell["status"] == "ok" and time_of(cell)[0]]
    if not found:
        raise NotDrawn("no chosen cell has a time")
    return found


def note(document):
    """What has to stand in a figure of this document, since it makes it something else than it seems; or None."""
    content, said = document.content, []
    if document.kind == "result":
        if content["engine"] != "cuda":
            said.append("modelled, not measured")
        if not content["complete"]:
            done = sum(cell["status"] != "pending" for cell in content["cells"])
            said.append(f"incomplete run: {done} of {len(content['cells'])} cells")
    if document.kind == "history" and any(row["times"] == "modelled" for row in content["rows"]):
        said.append("modelled, not measured")
    if document.kind == "explanation":
        if any(result["modelled_time"] for result in content["results"]):
            said.append("what stands for measured is modelled, too")
        if not all(result["complete"] for result in content["results"]):
            said.append("incomplete run")
    if document.kind == "comparison":
        sides = {side: content[side]["engine"] for side in ("base", "new")}
        if set(sides.values()) != {"cuda"}:
            said.append(", ".join(f"{side}: engine {engine}" for side, engine in sides.items()))
        without = sum(cell["ratio"] is None for cell in content["cells"])
        if without:
            said.append(f"{without} of {len(content['cells'])} cells have no ratio")
        if any(content[side]["incomplete"] for side in sides):
            said.append("incomplete run")
    return "; ".join(said) or None
