# SPDX-License-Identifier: MIT
"""What a store keeps of a result and of a calibration.

The instrument reads all of a file (documents.Checks) and says which key is not as it should be.
What it does not look at is refused here.
"""

from __future__ import annotations

import json

from . import documents
from .dates import read_time
from .errors import Failure, printable
from .store import Refused

KEPT = {f"cbank-{kind}": kind for kind in ("result", "calibration")}
GEOMETRY = (
    "chip",
    "compute_capability",
    "sm_count",
    "warps_per_sm",
    "blocks_per_sm",
    "shared_bytes_per_sm",
    "shared_bytes_reserved",
    "l2_bytes",
    "memory_bytes",
)
COUNTERS = {}  # JSON of counters that were met, by what they say


def number(value: object) -> float | None:
    """A number as SQLite keeps it, which knows no -0.0."""
    return None if value is None else float(value) + 0.0


def exact_counters(cell: dict) -> str:
    """Exact counters of a cell as JSON. Most cells read what others read before."""
    key = tuple(
        [
            (name, counter["status"], counter["value"], counter["expected"])
            for name, counter in (cell["counters"] or {}).items()
            if counter["kind"] == "exact"
        ]
    )
    if key not in COUNTERS:
        COUNTERS[key] = json.dumps(
            {name: [status, *map(number, values)] for name, status, *values in key},
            separators=(",", ":"),
            allow_nan=False,
        )
    return COUNTERS[key]


def time_of(cell: dict, index: int) -> tuple:
    """A row of the table times, with the identity, the kernel's hash and the counters in place
    of their keys."""
    status, time_ns, kernel = cell["status"], cell.get("time_ns") or {}, cell.get("kernel") or {}
    value = number(time_ns.get("value")) if status == "ok" else None
    if cell["identity"].count("/") < 5:
        raise ValueError(f"cells[{index}].identity is no identity")
    if status == "ok" and not (value and value > 0):
        raise ValueError(f"cells[{index}].time_ns.value is no time")
    return (
        cell["identity"],
        value,
        number(time_ns.get("ci_low")),
        number(time_ns.get("ci_high")),
        " ".join(cell["flags"]) or None,
        number(cell.get("sm_clock_mhz")),
        status,
        cell["reason"],
        int(cell["verified"]),
        kernel.get("sass_sha256"),
        exact_counters(cell),
    )


def setup_of(result: dict) -> tuple:
    """A row of the table setups, without its keys."""
    device, host = result["device"], result["host"] or {}
    geometry = {key: device.get(key) for key in GEOMETRY}
    board = device.get("board") or {}
    groups = board.get("constant_cache_groups")
    return (
        device["uuid"] or None,
        device["name"],
        result["engine"],
        result["engine"] == "model",
        host.get("name") or None,
        host.get("slot") or None,
        device.get("driver") or None,
        device.get("vbios") or None,
        json.dumps(geometry, separators=(",", ":"), allow_nan=False),
        board.get("part_number") or None,
        json.dumps(groups) if groups else None,
    )


def take_result(result: dict) -> dict:
    """A result as what the store keeps of it. Raises ValueError."""
    started, finished = read_time(result["started_utc"]), result["finished_utc"]
    finished = read_time(finished) if finished else None
    if finished is not None and finished < started:
        raise ValueError(
            "it finished before it began: the host's clock was set back; measure again"
        )
    times = [time_of(cell, index) for index, cell in enumerate(result["cells"])]
    if len({row[0] for row in times}) < len(times):
        raise ValueError("a cell is twice in the result; remove one of the two")
    return {
        "setup": setup_of(result),
        "started": started,
        "finished": finished,
        "job": (result["host"] or {}).get("job"),
        "version": result["tool"]["version"],
        "commit": result["tool"]["git_commit"],
        "complete": result["complete"],
        "times": times,
    }


def take_calibration(calibration: dict) -> dict | None:
    """The same of a calibration; None where its GPU is not known by a UUID: it says nothing of
    others."""
    device = calibration["device"]
    if calibration.get("modelled") or not device.get("uuid"):
        return None
    return {
        "uuid": device["uuid"],
        "name": device["name"],
        "driver": device.get("driver") or "",
        "cells": [
            (
                cell["identity"],
                cell["sass_sha256"] or "",
                number(cell["median_ns"]),
                number(cell["process_deviation"]["value"]),
                number(cell["process_deviation"]["degrees_of_freedom"]),
            )
            for cell in calibration["cells"]
            if (cell.get("process_deviation") or {}).get("degrees_of_freedom")
            and (cell["median_ns"] or 0) > 0
        ],
    }


def take(path: str, content: bytes) -> dict | None:
    """What a store keeps of a file's content; None where that is nothing. Raises Refused. A file
    that the instrument refuses may pass: documents.Checks says."""
    try:
        document = documents.Document(path, content, KEPT)
        take_kind = take_result if document.kind == "result" else take_calibration
        return take_kind(document.content)
    except (documents.OtherKind, documents.Foreign):
        return None
    except Failure as failure:
        raise Refused(failure) from None
    except documents.NOT_SO as error:
        raise Refused(f"{path}: {printable(str(error))}") from error
