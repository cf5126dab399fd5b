# SPDX-License-Identifier: MIT
"""Checks documents against their JSON Schemas. A schema is compiled once, into functions. They take
a tenth of the time of the package jsonschema, or less where cells repeat. A keyword that is not
known here is an error: nothing is left unchecked.
"""

from __future__ import annotations

from collections.abc import Callable
import itertools
import math
import re
import sys

KINDS = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
# keywords that are no checks, or parts of another
SAID = {"$schema", "$id", "$defs", "title", "description", "then", "else"}
SHOWN_LETTERS = 60
REMEMBERED_MAX = 10000
TEXT, NUMBER, OBJECT, ARRAY = (str,), (int, float), (dict,), (list,)

Check = object  # a function of a value that raises Wrong


class Wrong(Exception):
    """A value is not what the schema says. `place` has its keys and indices, the innermost
    first."""

    def __init__(self, text: str):
        super().__init__(text)
        self.place = []

    def __str__(self) -> str:
        where = "".join(
            f"[{key}]" if isinstance(key, int) else f".{key}" for key in reversed(self.place)
        ).lstrip(".")
        return f"{where or 'the document'}: {self.args[0]}"


def shown(value: object) -> str:
    text = (
        f"{type(value).__name__.replace('dict', 'an object').replace('list', 'an array')}"
        if isinstance(value, (dict, list))
        else repr(value)
    )
    return text if len(text) <= SHOWN_LETTERS else f"{text[:SHOWN_LETTERS]}..."


def same(one: object, other: object) -> bool:
    """Equal as JSON says it: true is not 1."""
    return one == other and (type(one) is bool) == (type(other) is bool)


def wants(kinds: tuple, fits: Callable, text: str) -> Check:
    """A check of the values of some Python types: all others pass."""

    def check(value: object) -> None:
        if type(value) in kinds and not fits(value):
            raise Wrong(f"{shown(value)} {text}")

    return check


def types_of_names(names: list[str]) -> tuple:
    """A whole number of JSON may be written as 1.0."""
    return tuple(
        itertools.chain.from_iterable(
            NUMBER if name in ("number", "integer") else (KINDS[name],) for name in names
        )
    )


def of_type(names: str | list[str]) -> Check:
    names = [names] if isinstance(names, str) else names
    types, whole = types_of_names(names), "integer" in names and "number" not in names

    def plain(value: object) -> None:
        if type(value) not in types:
            raise Wrong(f"{shown(value)} is no {' or '.join(names)}")

    def check(value: object) -> None:
        kind = type(value)
        if kind not in types or whole and kind is float and not value.is_integer():
            raise Wrong(f"{shown(value)} is no {' or '.join(names)}")
        if (kind is float or kind is int) and not abs(value) <= sys.float_info.max:
            raise Wrong("the number is too large for a double")

    return check if set(NUMBER) & set(types) else plain


def remembering(check: Check) -> Check:
    """The check of small objects that come again and again, such as counters: those that fitted
    once fit."""
    fitted = set()

    def again(value: object) -> None:
        try:
            key = (*value.items(), *map(type, value.values()))  # true is equal to 1
            if key in fitted:
                return
        except (AttributeError, TypeError):  # no object, or one with more in it
            key = None
        check(value)
        if key and len(fitted) < REMEMBERED_MAX:
            fitted.add(key)

    return again


class Compiler:
    """Makes checks of the parts of one schema."""

    def __init__(self, schema: dict):
        self.whole, self.named = schema, {}

    def of(self, schema: dict | bool) -> Check:
        """The check of a part; None where anything fits."""
        if schema is True:
            return None
        if schema is False:
            schema = {"enum": []}
        checks = []
        for keyword, its in schema.items():
            # they look at the type
            if keyword not in SAID and not (
                its == "object" and {"properties", "required"} & set(schema)
            ):
                maker = getattr(self, "of_" + keyword.strip("$"), None) or SIMPLE[keyword]
                checks.append(maker(its) if keyword in SIMPLE else maker(schema))
        check = self.all_of(list(filter(None, checks)))
        types = [
            self.types_of(its) for its in schema.get("properties", {}).values() if its is not True
        ]
        return (
            remembering(check)
            if len(types) > 4 and all(of and not of & {dict, list} for of in types)
            else check
        )

    def all_of(self, checks: list[Check]) -> Check:
        """A check that makes all of them; None where there is none."""
        if len(checks) < 2:
            return checks[0] if checks else None
        first, second, *more = checks

        def both(value: object) -> None:
            first(value)
            second(value)

        def check(value: object) -> None:
            for one in checks:
                one(value)

        return check if more else both

    def of_ref(self, schema: dict) -> Check:
        name = schema["$ref"].removeprefix("#/$defs/")
        if name not in self.named:
            # of a definition that contains itself: it is there when a value is checked
            self.named[name] = None
            self.named[name] = self.of(self.whole["$defs"][name])
        found = self.named[name]
        return found or (lambda value: self.named[name](value))

    def of_properties(self, schema: dict) -> Check:
        members = {key: self.of(its) for key, its in schema.get("properties", {}).items()}
        required, get = set(schema.get("required", ())), members.get
        is_object = schema.get("type") == "object"
        rest, names = (
            self.of(schema.get(keyword, True))
            for keyword in ("additionalProperties", "propertyNames")
        )

        def check(value: object) -> None:
            if type(value) is not dict:
                if is_object:
                    raise Wrong(f"{shown(value)} is no object")
                return
            if not required <= value.keys():
                raise Wrong(f"the key {min(required - value.keys())} is missing")
            key = None
            try:
                for key, item in value.items():
                    one = get(key, rest)
                    if one:
                        one(item)
                    if names:
                        names(key)
            except Wrong as wrong:
                wrong.place.append(key)
                raise

        return check

    def of_required(self, schema: dict) -> Check:
        return None if "properties" in schema else self.of_properties(schema)

    def of_additionalProperties(self, schema: dict) -> Check:
        return None if {"properties", "required"} & set(schema) else self.of_properties(schema)

    def of_propertyNames(self, schema: dict) -> Check:
        return (
            None
            if {"properties", "required", "additionalProperties"} & set(schema)
            else self.of_properties(schema)
        )

    def of_items(self, schema: dict) -> Check:
        item_check = self.of(schema["items"])
        low, above, high, numbers = (
            schema["items"].get(keyword, end)
            for keyword, end in (
                ("minimum", -sys.float_info.max),
                ("exclusiveMinimum", -math.inf),
                ("maximum", sys.float_info.max),
                ("type", None),
            )
        )
        plain = numbers == "number" and set(schema["items"]) <= {
            "type",
            "minimum",
            "exclusiveMinimum",
            "maximum",
            *SAID,
        }

        def check(value: object) -> None:
            if (
                plain
                and type(value) is list
                and value
                and set(map(type, value)) <= {int, float}
                and low <= min(value) > above
                and max(value) <= high
            ):
                return  # samples are most of a result
            if type(value) is list and item_check:
                index = 0
                try:
                    for index, item in enumerate(value):
                        item_check(item)
                except Wrong as wrong:
                    wrong.place.append(index)
                    raise

        return check

    def types_of(self, schema: dict) -> set[type]:
        """The Python types of what a part may take; empty where it does not say."""
        while "$ref" in schema:
            schema = self.whole["$defs"][schema["$ref"].removeprefix("#/$defs/")]
        values = schema.get("enum", [schema["const"]] if "const" in schema else [])
        names = schema.get("type", [])
        return set(map(type, values)) | set(
            types_of_names([names] if isinstance(names, str) else names)
        )

    def counted(self, parts: list, enough: Callable[[int], bool], text: str) -> Check:
        """A check that so many of the parts take the value. Where none does, what is wrong by
        the part that looks deepest is said."""
        checks = [self.of(part) or (lambda value: None) for part in parts]
        types = [self.types_of(part) for part in parts]
        by_type = {kind: one for of, one in zip(types, checks) for kind in of}
        # no two parts take the same value
        apart = all(types) and len(by_type) == sum(map(len, types))

        def check(value: object) -> None:
            if apart and type(value) in by_type:
                by_type[type(value)](value)
                return
            refused = []
            for one in checks:
                try:
                    one(value)
                except Wrong as wrong:
                    refused.append(wrong)
            if not enough(len(checks) - len(refused)):
                raise (
                    max(refused, key=lambda wrong: len(wrong.place))
                    if len(refused) == len(checks)
                    else Wrong(f"{shown(value)} {text}")
                )

        return check

    def of_oneOf(self, schema: dict) -> Check:
        return self.counted(
            schema["oneOf"], lambda count: count == 1, "fits several forms of the schema"
        )

    def of_anyOf(self, schema: dict) -> Check:
        return self.counted(schema["anyOf"], lambda count: count > 0, "fits no form of the schema")

    def of_allOf(self, schema: dict) -> Check:
        return self.all_of(list(filter(None, map(self.of, schema["allOf"]))))

    def of_if(self, schema: dict) -> Check:
        condition, then, other = (
            self.of(schema.get(keyword, True)) for keyword in ("if", "then", "else")
        )

        def check(value: object) -> None:
            try:
                condition(value)
                chosen = then
            except Wrong:
                chosen = other
            if chosen:
                chosen(value)

        return check


def of_enum(values: list) -> Check:
    texts = {value for value in values if isinstance(value, str)}

    def check(value: object) -> None:
        if not (type(value) is str and value in texts) and not any(
            same(value, one) for one in values
        ):
            raise Wrong(
                f"{shown(value)} is none of {', '.join(map(shown, values))}"
                if values
                else "is not allowed"
            )

    return check


def of_pattern(pattern: str) -> Check:
    # $ of Python would let a last newline pass.
    search = re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", pattern)).search
    return wants(TEXT, search, f"does not fit {pattern}")


SIMPLE = {
    "type": of_type,
    "enum": of_enum,
    "const": lambda its: of_enum([its]),
    "pattern": of_pattern,
    "minimum": lambda its: wants(NUMBER, lambda value: value >= its, f"is below {its}"),
    "maximum": lambda its: wants(NUMBER, lambda value: value <= its, f"is above {its}"),
    "exclusiveMinimum": lambda its: wants(NUMBER, lambda value: value > its, f"is not above {its}"),
    "exclusiveMaximum": lambda its: wants(NUMBER, lambda value: value < its, f"is not below {its}"),
    "multipleOf": lambda its: wants(
        NUMBER, lambda value: value % its == 0, f"is no multiple of {its}"
    ),
    "minLength": lambda its: wants(
        TEXT, lambda value: len(value) >= its, f"has fewer than {its} letters"
    ),
    "maxLength": lambda its: wants(
        TEXT, lambda value: len(value) <= its, f"has more than {its} letters"
    ),
    "minItems": lambda its: wants(
        ARRAY, lambda value: len(value) >= its, f"has fewer than {its} items"
    ),
    "maxItems": lambda its: wants(
        ARRAY, lambda value: len(value) <= its, f"has more than {its} items"
    ),
    "uniqueItems": lambda its: (
        wants(
            ARRAY,
            lambda value: not any(same(a, b) for i, a in enumerate(value) for b in value[:i]),
            "has an item twice",
        )
        if its
        else None
    ),
    "maxProperties": lambda its: wants(
        OBJECT, lambda value: len(value) <= its, f"has more than {its} keys"
    ),
}


def compiled(schema: dict) -> Check:
    """The check of a schema: a function that raises Wrong where its argument is not what the
    schema says."""
    return Compiler(schema).of(schema)
