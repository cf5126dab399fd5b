# SPDX-License-Identifier: MIT
"""Documents of the analysis as tables of fields: one row a value. The same row writes it and says
what it is, in the document's JSON Schema.

    FINDING = (
        Field("change", NUMBER_OR_NULL, lambda finding: finding.change, "of time, as a share"),
        Field("gpus", list_of(GPU), lambda finding: [written(GPU, gpu) for gpu in finding.gpus]),
    )
"""

from __future__ import annotations

import argparse
import json
from collections import namedtuple
from collections.abc import Sequence

DIALECT = "https://json-schema.org/draft/2020-12/schema"

# ---- Kinds of values -----------------------------------------------------------------------------

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
BOOL = {"type": "boolean"}
TIME = {
    "type": "string",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{3})?Z$",
}


def whole(least: int = 0) -> dict:
    """An integer from `least` on."""
    return {"type": "integer", "minimum": least}


def within(low: float, high: float | None = None) -> dict:
    """A number in limits, which belong to them."""
    return {**NUMBER, "minimum": low, **({} if high is None else {"maximum": high})}


def word_of(words: Sequence[str]) -> dict:
    """One of these words."""
    return {"enum": list(words)}


def or_null(kind: dict) -> dict:
    """The same, or null: not known, or there is none."""
    if "enum" in kind:
        return {**kind, "enum": [*kind["enum"], None]}
    return {**kind, "type": [kind["type"], "null"]}


TEXT_OR_NULL, NUMBER_OR_NULL = or_null(TEXT), or_null(NUMBER)

# ---- Fields --------------------------------------------------------------------------------------


# A key of an object: the JSON Schema of its value; a function, which gives the value of the things
# that the object is written of; what it is. An `optional` key is left out where its value is None.
Field = namedtuple("Field", "key kind value about optional", defaults=("", False))


def written(fields: Sequence[Field], *things: object) -> dict:
    """The object of these fields. None stays only where a value may be null."""
    values = ((field, field.value(*things)) for field in fields)
    return {field.key: value for field, value in values if not (field.optional and value is None)}


def object_of(fields: Sequence[Field]) -> dict:
    """The JSON Schema of an object of these fields."""
    return {
        "type": "object",
        "required": [field.key for field in fields if not field.optional],
        "properties": {
            field.key: {**({"description": field.about} if field.about else {}), **field.kind}
            for field in fields
        },
    }


def list_of(fields: Sequence[Field]) -> dict:
    """The JSON Schema of an array of such objects."""
    return {"type": "array", "items": object_of(fields)}


# ---- Documents -----------------------------------------------------------------------------------


class Written(namedtuple("Written", "name version about fields")):
    """A document that the analysis writes. `name`: of its kind; `version`: major.minor; `about`:
    what it is; `fields`: of its values, beside the name of the schema."""

    def head(self) -> dict:
        """What a document says of itself."""
        return {"name": f"cbank-{self.name}", "version": self.version}

    def content(self, *things: object) -> dict:
        """The document of these things."""
        return {"schema": self.head(), **written(self.fields, *things)}

    def schema(self) -> dict:
        """The JSON Schema of the document."""
        major = self.version.partition(".")[0]
        head = {
            "type": "object",
            "required": ["name", "version"],
            "properties": {
                "name": {"const": f"cbank-{self.name}"},
                "version": {
                    "description": "major.minor",
                    "type": "string",
                    "pattern": rf"^{major}\.[0-9]+$",
                },
            },
        }
        values = object_of(self.fields)
        return {
            "$schema": DIALECT,
            "$id": f"cbank-{self.name}.schema.json",
            "title": f"{self.name} of cbank, version {self.version}",
            "description": self.about,
            "type": "object",
            "required": ["schema", *values["required"]],
            "properties": {"schema": head, **values["properties"]},
        }


def schema_text(schema: object, depth: int = 0, spread: bool = False) -> str:
    """A schema for people: each property on a line; `spread`: this object's keys, too."""
    if not (spread or has_properties(schema)):
        return json.dumps(schema)
    inside, outside = "\t" * (depth + 1), "\t" * depth
    lines = [
        f"{inside}{json.dumps(key)}: {schema_text(part, depth + 1, key == 'properties')}"
        for key, part in schema.items()
    ]
    return "{\n" + ",\n".join(lines) + f"\n{outside}}}"


def has_properties(value: object) -> bool:
    return isinstance(value, dict) and (
        "properties" in value or any(map(has_properties, value.values()))
    )


def add_schema_option(parser: argparse.ArgumentParser, document: Written) -> None:
    """Adds --schema, by which cbank show --schema asks for the schema of the command's document."""

    class Print(argparse.Action):
        def __call__(self, *_: object) -> None:
            print(schema_text(document.schema()))
            parser.exit()

    parser.add_argument("--schema", action=Print, nargs=0, help=argparse.SUPPRESS)
