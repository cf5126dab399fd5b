# SPDX-License-Identifier: MIT
"""Shared by all kinds of figures: a document and its rows, and rows as words."""

import functools
from collections.abc import Sequence

import pandas

from .. import documents, frames
from . import style

CELL_KEYS = list(documents.CELL_KEYS)
KEPT = ["source", "source_sha256", "engine", "device", *CELL_KEYS, "parameters", "flags"]


class NotDrawn(Exception):
    """A figure cannot be drawn; the message says in one line why not."""


class Source:
    """A document and its rows."""

    def __init__(self, document: documents.Document):
        self.document, self.kind, self.content = document, document.kind, document.content

    @functools.cached_property
    def frame(self) -> pandas.DataFrame:
        return frames.frame(self.document)

    @property
    def note(self) -> str | None:
        """Facts without which the document would be misread; or None."""
        said = []
        if self.kind == "result" and self.content["engine"] != "cuda":
            said.append("modelled, not measured")
        if self.kind == "result" and not self.content["complete"]:
            said.append("incomplete run")
        if self.kind == "comparison" and any(
            self.content[side]["engine"] != "cuda" for side in ("base", "new")
        ):
            said.append("one side is modelled, not measured")
        return "; ".join(said) or None


FACTS = {
    "distinct": "{} addresses",
    "stride_bytes": "{} B apart",
    "radius": "radius {}",
    "width_bytes": "{} B wide",
    "table_bytes": "{} table",
    "loads": "{} loads",
    "in_flight": "{} in flight",
    "run_threads": "of {} threads",
    "skew_percent": "exponent {} %",
    "warps_per_sm": "{} warps an SM",
    "polluter_bytes": "{} streamed",
    "refill_bytes": "{} written",
    "elements": "{} elements",
    "block_size": "blocks of {}",
    "modules": "{} modules",
}


def fact_text(key: str, value: object) -> str:
    """12.8M elements; blocks of 1024; 64 B apart."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if key == "elements":
        value = style.count_text(value)
    elif key in ("table_bytes", "polluter_bytes", "refill_bytes") and not isinstance(value, str):
        value = style.bytes_text(value)
    if key in FACTS:
        return FACTS[key].format(value)
    # A key may come from a document: it is no format.
    return str(value) if key in CELL_KEYS else f"{key.replace('_', ' ')} {value}"


def told_apart(
    rows: pandas.DataFrame, keys: list[str], always: Sequence[str] = ()
) -> tuple[str, pandas.Series]:
    """(what all rows have in common as words, a Series of what tells each from the others)."""
    keys = [key for key in keys if key in rows and (key != "block_size" or rows[key].any())]
    varied = [key for key in keys if key in always or rows[key].nunique(dropna=False) > 1]
    common = [
        fact_text(key, rows[key].iloc[0])
        for key in keys
        if key not in varied and pandas.notna(rows[key].iloc[0])
    ]
    texts = (
        [
            ", ".join(
                fact_text(key, value) for key, value in zip(varied, values) if pandas.notna(value)
            )
            for values in zip(*(rows[key] for key in varied))
        ]
        if varied
        else [""] * len(rows)
    )
    return ", ".join(common), pandas.Series(texts, rows.index, dtype=str)


def parameter_names(rows: pandas.DataFrame) -> list[str]:
    """Names of the parameters that any cell has."""
    return sorted(
        {word.split("=")[0] for text in rows["parameters"].unique() for word in text.split()}
    )


def in_unit(rows: pandas.DataFrame, along: str) -> tuple[pandas.DataFrame, str]:
    """(rows with times in the unit of the shortest, and a column of it; its name)."""
    unit, factor = style.time_unit(rows[along].min())
    rows = rows.assign(unit=unit)
    rows[[along, "low", "high"]] /= factor
    return rows, unit
