# SPDX-License-Identifier: MIT
"""Documents as one tidy table: a row for each cell and process, or for each number of a document
without cells.

Values of results, comparisons, calibrations, rankings and their cells have the columns that their
schemas name by `frame`. Every other column is in results/table.schema.json, with its unit. Beside
them there is a column for each parameter of a cell (such as `distinct`, `stride_bytes`) and for
each counter (such as `idc_requests`, of one launch). Columns that no document has are left out, and
a value that a document does not have is missing (NaN or None).
"""

from __future__ import annotations

from collections.abc import Iterator
import os

import pandas

from . import documents
from .text import sizes

NUMBERS = {"number", "integer"}


def is_number(schema: dict) -> bool:
    """Whether JSON Schema says that a value is a number. Large integers are strings in JSON."""
    either = schema.get("oneOf", [schema])
    words = {
        word
        for part in either
        for word in (
            [part.get("type")] if isinstance(part.get("type"), str) else part.get("type") or []
        )
    }
    return bool(words & NUMBERS)


def values_of(properties: dict, path: tuple = ()) -> Iterator[tuple[str, tuple, dict]]:
    """(column, keys that lead to the value, its schema) of each value. That of an object is what it
    calls `value`."""
    for key, schema in properties.items():
        if "frame" in schema and "properties" in schema:
            yield schema["frame"], (*path, key, "value"), schema["properties"]["value"]
        elif "frame" in schema:
            yield schema["frame"], (*path, key), schema
        yield from values_of(schema.get("properties", {}), (*path, key))


class Values:
    """The columns of a document with cells, by its schema: those of the whole, and of a cell."""

    def __init__(self, schema: str):
        properties = dict(documents.schema_of(schema)["properties"])
        cell = properties.pop("cells")["items"]["properties"]
        self.whole, self.cell = (list(values_of(part)) for part in (properties, cell))

    def schemas(self) -> dict[str, dict]:
        """By column: the schema of its values."""
        return {column: schema for column, _, schema in [*self.cell, *self.whole]}

    def row(self, content: dict, cell: dict) -> dict:
        """The values of the whole and of one of its cells, by column."""
        return {
            column: value_of(part, path, schema)
            for part, values in ((content, self.whole), (cell, self.cell))
            for column, path, schema in values
        }


VALUES = {
    "result": Values("schema.json"),
    "comparison": Values("comparison.schema.json"),
    "calibration": Values("calibration.schema.json"),
    "ranking": Values("ranking.schema.json"),
}


def columns() -> dict[str, dict]:
    """The columns in their order, each with its schema: those of a result stand before those of
    verdicts."""
    others = documents.schema_of("table.schema.json")["properties"]
    before = list(others).index("verdict")
    found = {}
    for part in (
        dict(list(others.items())[:before]),
        VALUES["result"].schemas(),
        {"verdict": others["verdict"]},
        VALUES["comparison"].schemas(),
        VALUES["calibration"].schemas(),
        VALUES["ranking"].schemas(),
        others,
    ):
        for name, schema in part.items():
            found.setdefault(name, schema)
    return found


COLUMNS = columns()
# columns that are not made numbers
TEXTS = {name for name, column in COLUMNS.items() if not is_number(column)}


def value_of(cell: dict, path: tuple, schema: dict) -> object:
    """A value of a cell as the table has it; None where the cell has none."""
    found = cell
    for key in path:
        found = (found or {}).get(key)
    if is_number(schema):
        return documents.number(found)
    of_list = schema.get("items", {}).get("type")
    if isinstance(found, list) and of_list != "number":  # names; x, y and z
        return ("x" if of_list == "integer" else " ").join(map(str, found))
    return found


def cell_columns(cell: dict) -> dict:
    """The columns that identify a cell, with one for each parameter. The path of a user's kernel
    says where each table lives."""
    parameters, kernel = dict(cell.get("parameters") or {}), cell.get("kernel_file")
    columns = {"identity": cell["identity"], **{key: cell[key] for key in documents.CELL_KEYS}}
    if kernel:
        columns["path"], parameters["kernel"] = kernel["spaces"], kernel["hash"]
    return {
        **columns,
        "parameters": " ".join(f"{name}={value}" for name, value in sorted(parameters.items())),
        **parameters,
    }


def origin_columns(content: dict) -> dict:
    """The columns that say where and when a document was measured."""
    device, host = content.get("device") or {}, content.get("host") or {}
    board = device.get("board") or {}
    return {
        "engine": content.get("engine", "cuda"),
        "device": device.get("name"),
        "uuid": device.get("uuid"),
        "part_number": board.get("part_number"),
        "constant_cache_groups": sizes(board.get("constant_cache_groups") or []) or None,
        "driver": device.get("driver"),
        "host": host.get("name"),
        "slot": device.get("pci_bus_id"),
        "started_utc": content.get("started_utc"),
    }


def result_rows(content: dict) -> Iterator[dict]:
    """A row for each cell; times in ns, counters of one launch."""
    origin = origin_columns(content)
    for cell in content["cells"]:
        exact = cell["exact_counters"]
        values = {
            name: documents.number(counter["value"])
            for name, counter in cell["counters"].items()
            if counter["status"] == "ok"
        }
        yield {
            **origin,
            **cell_columns(cell),
            "width_bytes": cell.get("width_bytes"),
            "table_bytes": cell.get("table_bytes"),
            **VALUES["result"].row(content, cell),
            "flags": " ".join(cell["flags"] + (cell.get("case") or {}).get("findings", [])),
            "counters_compared": exact["compared"],
            "counters_equal": exact["equal"],
            **values,
        }


def comparison_rows(content: dict) -> Iterator[dict]:
    """A row for each cell that was compared; times in ns."""
    side = content["new"]
    origin = {
        "engine": side["engine"],
        "device": side["device"]["name"],
        "driver": side["device"]["driver"],
        "started_utc": side["started_utc"],
    }
    for cell in content["cells"]:
        yield {**origin, **cell_columns(cell), **VALUES["comparison"].row(content, cell)}


def calibration_rows(content: dict) -> Iterator[dict]:
    """A row for each cell; time in ns, deviation as a share."""
    for cell in content["cells"]:
        yield {
            **origin_columns(content),
            **cell_columns(cell),
            **VALUES["calibration"].row(content, cell),
        }


def ranking_rows(content: dict) -> Iterator[dict]:
    """A row for each memory space of a kernel, size and cache state; times in ns."""
    origin = origin_columns(content)
    for cell in content["cells"]:
        yield {**origin, **cell_columns(cell), **VALUES["ranking"].row(content, cell)}


NUMBER_KEYS = {
    "level",
    "distinct",
    "stride_bytes",
    "warps",
    "before",
    "width_bytes",
    "unit",
    "method",
    "reason",
}


def number_columns(entry: dict) -> dict:
    """Columns of a number with its interval."""
    return {
        "value": documents.number(entry["value"]),
        "low": documents.number(entry["low"]),
        "high": documents.number(entry["high"]),
        **{key: entry[key] for key in NUMBER_KEYS if key in entry},
    }


def characterization_rows(content: dict) -> Iterator[dict]:
    """A row for each number, answer and level of an experiment."""
    origin = origin_columns(content)
    for experiment in content["experiments"]:
        same = {
            **origin,
            "experiment": experiment["name"],
            "path": experiment["path"],
            "status": experiment["status"],
        }
        if experiment["status"] != "ok":
            yield {**same, "reason": experiment["reason"]}
        for entry in experiment["numbers"]:
            yield {**same, "number": entry["name"], **number_columns(entry)}
        for entry in experiment["verdicts"]:
            yield {
                **same,
                "number": entry["name"],
                "text": entry["value"] or "unclear",
                "reason": entry["reason"],
                **{key: entry[key] for key in NUMBER_KEYS if key in entry},
            }
        if experiment.get("groups"):
            yield {
                **same,
                "number": "group_sizes",
                "text": sizes(map(len, experiment["groups"])),
            }
        for number, level in enumerate((experiment.get("geometry") or {}).get("levels") or [], 1):
            here = {**same, "level": number}
            for name, entry in level.items():
                if isinstance(entry, dict) and "value" in entry:
                    yield {**here, "number": name, **number_columns(entry)}
                elif isinstance(entry, str):
                    yield {**here, "number": name, "text": entry}


def card_rows(content: dict) -> Iterator[dict]:
    """A row for each number of the model that is known, and for each number that another source
    gives."""
    for key, entry in content["model"].items():
        if entry:
            yield {
                "device": content["name"],
                "number": key,
                "origin": entry["from"],
                "method": entry.get("method"),
                **{name: documents.number(entry[name]) for name in ("value", "low", "high")},
            }
    for entry in content.get("numbers") or []:
        yield {
            "device": content["name"],
            "experiment": entry["experiment"],
            "number": entry["name"],
            **number_columns(entry),
        }


def fleet_rows(content: dict) -> Iterator[dict]:
    """A row for each GPU and path; change as a share."""
    for gpu in content["gpus"]:
        same = {
            "engine": "model" if gpu["modelled"] else "cuda",
            "device": gpu["name"],
            **{key: gpu[key] for key in ("uuid", "driver", "host", "slot", "answered", "verdict")},
            "started_utc": gpu["last_utc"],
        }
        for change in gpu["changes"] or [{"path": None, "change": None}]:
            yield {**same, "path": change["path"], "change": documents.number(change["change"])}


def history_rows(content: dict) -> Iterator[dict]:
    """A row for each run, or point of a series; time in ns, change as a share."""
    changes = {
        (change["cell"], change["uuid"], change["since_utc"]): change
        for change in content["changes"]
    }
    for row in content["rows"]:
        change = changes.get((row.get("cell"), row["uuid"], row["started_utc"]), {})
        yield {
            **{
                key: row[key]
                for key in ("engine", "device", "uuid", "driver", "host", "slot", "started_utc")
            },
            **(cell_of(row["cell"]) if row.get("cell") else {}),
            "time_ns": documents.number(row.get("time_ns")),
            "state": row.get("state"),
            "change": documents.number(change.get("change")),
            "change_low": documents.number(change.get("ci_low")),
            "change_high": documents.number(change.get("ci_high")),
            "with": change.get("with"),
        }


def cell_of(identity: str) -> dict:
    """The columns of a cell that is given as text:
    workload/path/pattern/elements/block_size/cache state/key=value..."""
    words = identity.split("/")
    keys, parameters = words[: len(documents.CELL_KEYS)], words[len(documents.CELL_KEYS) :]
    cell = dict(
        zip(
            documents.CELL_KEYS,
            (int(word) if word.isdigit() else word for word in keys),
            strict=True,
        )
    )
    pairs = dict(word.split("=", 1) for word in parameters)
    kernel, spaces = pairs.pop("kernel", None), pairs.pop("spaces", cell["path"])
    return cell_columns(
        {
            "identity": identity,
            **cell,
            "kernel_file": kernel and {"hash": kernel, "spaces": spaces},
            "parameters": {
                key: int(value) if value.isdigit() else value for key, value in pairs.items()
            },
        }
    )


ROWS = {
    "result": result_rows,
    "comparison": comparison_rows,
    "calibration": calibration_rows,
    "card": card_rows,
    "characterization": characterization_rows,
    "fleet": fleet_rows,
    "history": history_rows,
    "ranking": ranking_rows,
}


def frame(document: documents.Document, process: int = 0) -> pandas.DataFrame:
    """The rows of one document. Raises Failure where it is not what its schema says."""
    same = {
        "document": document.kind,
        "source": document.name,
        "source_sha256": document.sha256,
        "process": process,
    }
    with documents.blamed([document]):
        made = pandas.DataFrame([{**same, **row} for row in ROWS[document.kind](document.content)])
        if made.empty:
            made = pandas.DataFrame(columns=list(COLUMNS))
        for column in made:
            if column in COLUMNS and column not in TEXTS:
                made[column] = pandas.to_numeric(made[column])
    order = [column for column in COLUMNS if column in made]
    return made[order + [column for column in made if column not in COLUMNS]]


def whole(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Rows with every column of COLUMNS, also those that no row has a value of."""
    absent = {
        name: pandas.Series(None, rows.index, object if name in TEXTS else float)
        for name in COLUMNS
        if name not in rows
    }
    # at once: pandas warns of a hundred columns that are added one by one
    return pandas.concat([rows, pandas.DataFrame(absent, rows.index)], axis="columns")


def load(paths: str | os.PathLike | list[str | os.PathLike]) -> pandas.DataFrame:
    """The rows of documents as one table. `paths`: a path, or several; a folder stands for the
    documents in it.

    Raises Failure, with the remedy, for a file that cannot be read or that is not a document of
    cbank."""
    one = isinstance(paths, (str, os.PathLike))
    found, _ = documents.read_all([os.fspath(path) for path in ([paths] if one else paths)])
    made = [frame(document, process) for process, document in enumerate(found)]
    whole = (
        pandas.concat(made, ignore_index=True) if made else pandas.DataFrame(columns=list(COLUMNS))
    )
    order = [column for column in COLUMNS if column in whole]
    return whole[order + [column for column in whole if column not in COLUMNS]].dropna(
        axis="columns", how="all"
    )
