# SPDX-License-Identifier: MIT
"""Results as NVBench writes them, for its compare scripts: the JSON of its json_printer.cu, version
1.0.0, and beside it a file of float32 samples for each state, as its option --jsonbin leaves them.

A workload is a benchmark, with the names of its parameters where it has some; what else identifies
a cell are axes. Times are seconds. Their tags are those of isolated launches (nv/cold), which the
compare scripts read; the description of each time says how it was measured."""

from __future__ import annotations

import math
import os
import statistics
import struct
from collections.abc import Iterator

from . import documents
from .catalogue import Catalogue, gpu_of, samples_of
from .documents import number
from .errors import printable

NS_PER_S = 1e9
HZ_PER_MHZ = 1e6
SAMPLES_MIN = 5  # below, NVBench says that the noise is infinite

# What one time of a cell is measured of, by the state of its caches.
MEASURED = {
    "hot": "of one more launch in a stream of launches",
    "cold": "of a launch after the caches were flushed",
}


def named(values: dict[str, object]) -> list[dict]:
    """Values with their types; numbers as texts, as NVBench writes them."""
    types = {int: "int64", float: "float64", str: "string"}
    return [
        {"name": name, "type": types[type(value)], "value": str(value)}
        for name, value in values.items()
    ]


def summary(tag: str, name: str, hint: str, description: str, value: float, hide=False) -> dict:
    return {
        "tag": tag,
        "name": name,
        "description": description,
        "hint": hint,
        **({"hide": "Hidden by default."} if hide else {}),
        "data": named({"value": value}),
    }


# ---- Times ---------------------------------------------------------------------------------------


def percentile(ordered: list[float], percent: int) -> float:
    """The sample of that rank, halves up: as NVBench, without interpolation."""
    return ordered[(percent * (len(ordered) - 1) + 50) // 100]


def times(seconds: list[float], how: str) -> Iterator[dict]:
    """The summaries of samples."""
    ordered, tag = sorted(seconds), "nv/cold/time/gpu/"
    mean = statistics.fmean(seconds)
    enough = len(seconds) >= SAMPLES_MIN
    deviation = statistics.stdev(seconds) if enough else math.inf
    first, median, third = (percentile(ordered, percent) for percent in (25, 50, 75))
    yield summary("nv/cold/sample_size", "Samples", "sample_size", f"Samples {how}", len(seconds))
    for key, name, value, hide in (
        ("min", "Min GPU Time", ordered[0], True),
        ("max", "Max GPU Time", ordered[-1], True),
        ("mean", "GPU Time", mean, False),
        ("stdev/absolute", "Noise", deviation, True),
        ("q1", "Q1 GPU Time", first, True),
        ("median", "Median GPU Time", median, True),
        ("q3", "Q3 GPU Time", third, True),
        ("iqr/absolute", "IQR", third - first, True),
    ):
        yield summary(tag + key, name, "duration", f"{name} {how}", value, hide)
    relative = [("stdev/relative", "Noise", deviation / mean, False)]
    if enough:
        relative.append(("iqr/relative", "Rel IQR", (third - first) / median, True))
    for key, name, value, hide in relative:
        yield summary(tag + key, name, "percentage", f"{name} {how}", value, hide)


def clock(cells: list[dict]) -> Iterator[dict]:
    """The clock of the SMs, where every result of the cell says it."""
    clocks = [number(cell["sm_clock_mhz"]) for cell in cells]
    if None not in clocks:
        yield summary(
            "nv/cold/sm_clock_rate/mean",
            "Clock Rate",
            "frequency",
            "Mean SM clock rate",
            statistics.fmean(clocks) * HZ_PER_MHZ,
            hide=True,
        )


def sidecar(path: str, index: int, seconds: list[float], bins: dict[str, bytes]) -> dict:
    """The summary that names the file of samples; its bytes go into `bins`."""
    name = f"{os.path.basename(path)}-bin/{index}.bin"
    bins[name] = struct.pack(f"<{len(seconds)}f", *seconds)
    return {
        "tag": "nv/json/bin:nv/cold/sample_times",
        "name": "Sample Times File",
        "description": "Binary file containing sample times as little-endian float32.",
        "hint": "file/sample_times",
        "hide": "Not needed in table.",
        "data": named({"filename": name, "size": len(seconds)}),
    }


# ---- The document --------------------------------------------------------------------------------


def device(index: int, name: str, result: dict) -> dict:
    """What a result says of its GPU in NVBench's words; modelled numbers are of no GPU."""
    about = result["device"]
    major, minor = map(int, about["compute_capability"].split("."))
    known = {
        "number_of_sms": about["sm_count"],
        "max_blocks_per_sm": about["blocks_per_sm"],
        "max_threads_per_sm": about["warps_per_sm"] and 32 * about["warps_per_sm"],
        "global_memory_size": number(about["memory_bytes"]),
        "l2_cache_size": number(about["l2_bytes"]),
        "shared_memory_per_sm": about["shared_bytes_per_sm"],
    }
    return {
        "id": index,
        "name": name if result["engine"] == "cuda" else f"{name} (modelled)",
        "sm_version": 100 * major + 10 * minor,
        **{key: value for key, value in known.items() if value is not None},
    }


def axes_of(cell: dict) -> dict[str, int | str]:
    said = {
        **{key: cell[key] for key in documents.CELL_KEYS if key != "workload"},
        **(cell["parameters"] or {}),
        **({"kernel": cell["kernel_file"]["hash"]} if cell.get("kernel_file") else {}),
    }
    return {
        key: value if isinstance(value, int) else printable(value) for key, value in said.items()
    }


def axis(name: str, values: list[int | str]) -> dict:
    kind = "int64" if all(isinstance(value, int) for value in values) else "string"
    return {
        "name": name,
        "type": kind,
        "flags": "",
        "values": [
            {
                "input_string": str(value),
                "description": "",
                "value": value if kind == "int64" else str(value),
            }
            for value in values
        ],
    }


def state(index: int, entries: list[tuple[dict, dict]], summaries: list[dict] | None) -> dict:
    cell, axes = entries[0][1], axes_of(entries[0][1])
    words = [f"Device={index}", *(f"{key}={value}" for key, value in axes.items())]
    skipped = {"skip_reason": printable(cell["reason"] or cell["status"])}
    return {
        "name": " ".join(words),
        "device": index,
        "type_config_index": 0,
        "axis_values": named(axes),
        "summaries": summaries,
        "is_skipped": summaries is None,
        **(skipped if summaries is None else {}),
    }


def benchmark(index: int, name: str, states: list[dict], axes: list[dict[str, int | str]]) -> dict:
    return {
        "name": name,
        "index": index,
        "devices": sorted({one["device"] for one in states}),
        "axes": [axis(key, list(dict.fromkeys(one[key] for one in axes))) for key in axes[0]],
        "states": states,
    }


def convert(catalogue: Catalogue, path: str) -> tuple[dict, dict[str, bytes]]:
    """(the document for the file `path`, {name of a file of samples, from the folder of that file:
    bytes})."""
    gpus = list(catalogue.gpus)
    first = {gpu_of(result): result for result in reversed(catalogue.results)}
    groups, bins = {}, {}
    for entries in catalogue.cells.values():
        result, cell = entries[0]
        names = ",".join([*cell["parameters"], *(["kernel"] if cell.get("kernel_file") else [])])
        seconds = [sample / NS_PER_S for _, found in entries for sample in samples_of(found)]
        summaries = None
        if seconds:
            how = MEASURED[cell["cache_state"]]
            summaries = [
                *times(seconds, how if result["engine"] == "cuda" else f"{how}, modelled"),
                *clock([found for _, found in entries]),
                sidecar(path, len(bins), seconds, bins),
            ]
        made = state(gpus.index(gpu_of(result)), entries, summaries)
        name = printable(cell["workload"]) + (f"({printable(names)})" if names else "")
        states, axes = groups.setdefault(name, ([], []))
        states.append(made)
        axes.append(axes_of(cell))
    version = {"major": 1, "minor": 0, "patch": 0, "string": "1.0.0"}
    return {
        "meta": {"argv": ["cbank", "convert", "--to", "nvbench"], "version": {"json": version}},
        "devices": [
            device(index, printable(catalogue.gpus[gpu]), first[gpu])
            for index, gpu in enumerate(gpus)
        ],
        "benchmarks": [
            benchmark(index, name, *group) for index, (name, group) in enumerate(groups.items())
        ],
    }, bins
