# SPDX-License-Identifier: MIT
"""`cbank convert`: results and cards in the formats of other tools, and a card of one.

  gbench        JSON of Google Benchmark, for its tools/compare.py: an entry a sample, then
                aggregates of each cell
  bmf           Bencher Metric Format v0: the time and the counters of each cell; of several results
                the median and the range
  kernel_tuner  T4 results of Kernel Tuner, schema 1.0.0: a configuration a cell, times in ms
  nvbench       JSON of NVBench, 1.0.0, for its compare scripts: a state a cell, and its samples in
                FILE-bin/ beside the FILE of --output
  gpgpusim      of a card: lines for gpgpusim.config of GPGPU-Sim
  accelsim      of a card: lines for trace.config of Accel-Sim
  card          of MT4G's JSON: a card with its numbers as published ones

Cells of several GPUs are several: the name of each begins with its GPU. For a simulator, the
characterization of the same GPU may be named too: it knows more. A card named with MT4G's JSON
keeps what it has, and is filled.

`cbank show --csv` prints a row a cell; `cbank.load` gives a table with the samples.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics

from . import documents, files, mt4g, nvbench, simulators
from .catalogue import Catalogue, samples_of, time_of
from .documents import number
from .errors import Failure, Parser, printable, say

MEASURE_LETTERS_MAX = 64  # of a name in the Bencher Metric Format
NS_PER_MS = 1e6


def dump(value: object) -> str:
    return json.dumps(value, indent=1, allow_nan=False).replace("\x7f", "\\u007f") + "\n"


# -- Google Benchmark ------------------------------------------------------------------------------


def gbench(catalogue: Catalogue) -> str:
    """As its json_reporter.cc writes it, json_schema_version 1. cpu_time repeats real_time:
    compare.py takes none for 0."""
    entries, without = [], {}
    for index, (name, of) in enumerate(catalogue.cells.items()):
        timed = [(result, cell, sample) for result, cell in of for sample in samples_of(cell)]
        if not timed:
            without[name] = printable(of[0][1]["reason"] or of[0][1]["status"])
        same = {
            "family_index": index,
            "per_family_instance_index": 0,
            "run_name": name,
            "repetitions": len(timed),
            "threads": 1,
        }
        for repetition, (result, cell, sample) in enumerate(timed):
            entries.append(
                {
                    "name": name,
                    **same,
                    "run_type": "iteration",
                    "repetition_index": repetition,
                    "iterations": cell["time_ns"].get("launches_per_sample") or 1,
                    "real_time": sample,
                    "cpu_time": sample,
                    "time_unit": "ns",
                    **({"label": "modelled"} if result["engine"] != "cuda" else {}),
                }
            )
        values = [sample for _, _, sample in timed]
        for key, value in aggregates(values).items() if len(values) > 1 else ():
            entries.append(
                {
                    "name": f"{name}_{key}",
                    **same,
                    "run_type": "aggregate",
                    "aggregate_name": key,
                    "aggregate_unit": "percentage" if key == "cv" else "time",
                    "iterations": len(values),
                    "real_time": value,
                    "cpu_time": value,
                    "time_unit": "ns",
                }
            )
    first = catalogue.results[0]
    context = {
        "date": first["started_utc"],
        "executable": "cbank",
        "json_schema_version": 1,
        "results": len(catalogue.results),
        "engine": first["engine"],
        "device": ", ".join(catalogue.gpus.values()),
        "uuid": ", ".join(uuid or "" for _, uuid in catalogue.gpus),
        "driver": ", ".join(
            dict.fromkeys(result["device"]["driver"] or "" for result in catalogue.results)
        ),
        "cells_without_time": without,
    }
    return dump({"context": context, "benchmarks": entries})


def aggregates(values: list[float]) -> dict[str, float]:
    mean, deviation = statistics.fmean(values), statistics.stdev(values)
    return {
        "mean": mean,
        "median": statistics.median(values),
        "stddev": deviation,
        "cv": deviation / mean,
    }


# -- Bencher ---------------------------------------------------------------------------------------


def bmf(catalogue: Catalogue) -> str:
    """Cells that no chip of the results can have are left out."""
    return dump(
        {
            name: measures_of([cell for _, cell in of])
            for name, of in catalogue.cells.items()
            if any(cell["status"] != "skipped" for _, cell in of)
        }
    )


def measures_of(cells: list[dict]) -> dict[str, dict]:
    """The time and every counter of a cell; with one result the bounds of the time are its
    interval."""
    values = {"time_ns": [time_of(cell) for cell in cells]}
    for name in dict.fromkeys(name for cell in cells for name in cell["counters"]):
        counters = [cell["counters"].get(name) for cell in cells]
        values[name] = [
            number(counter["value"])
            for counter in counters
            if counter and counter["status"] == "ok"
        ]
    made = {}
    for name, found in values.items():
        found = [value for value in found if value is not None]
        if found and len(name) > MEASURE_LETTERS_MAX:
            say(
                "warning",
                (
                    f"{name} is left out: a name in the Bencher Metric Format has"
                    f" {MEASURE_LETTERS_MAX} letters at most"
                ),
            )
        elif found:
            made[name] = {"value": statistics.median(found)}
            bounds = (
                (min(found), max(found))
                if len(found) > 1
                else interval_of(cells)
                if name == "time_ns"
                else (None, None)
            )
            made[name].update(
                {
                    key: bound
                    for key, bound in zip(("lower_value", "upper_value"), bounds)
                    if bound is not None
                }
            )
    return made


def interval_of(cells: list[dict]) -> tuple[float | None, float | None]:
    time = next(cell["time_ns"] for cell in cells if time_of(cell) is not None)
    return number(time.get("ci_low")), number(time.get("ci_high"))


# -- Kernel Tuner ----------------------------------------------------------------------------------

INVALIDITIES = {
    "pending": "timeout",
    "ok": "correct",
    "skipped": "constraints",
    "failed": "runtime",
}


def kernel_tuner(catalogue: Catalogue) -> str:
    results = [
        tuner_result(result, cell, catalogue.gpu(result))
        for result in catalogue.results
        for cell in result["cells"]
    ]
    return dump(
        {"schema_version": "1.0.0", "metadata": {"timeunit": "milliseconds"}, "results": results}
    )


def tuner_result(result: dict, cell: dict, gpu: str) -> dict:
    # A parameter that is left out of a cell has its default; width and size of the table are always
    # said.
    said = {
        "width_bytes": cell.get("width_bytes"),
        "table_bytes": cell.get("table_bytes"),
        "gpu": gpu.rstrip("/") or None,
        **(cell["parameters"] or {}),
        **(cell.get("kernel_file") or {}),
    }
    counted = [
        (name, number(counter["value"]), counter["unit"])
        for name, counter in cell["counters"].items()
        if counter["status"] == "ok"
    ]
    time = time_of(cell)
    measured = [("time", time and time / NS_PER_MS, "ms"), *counted]
    return {
        "timestamp": result["started_utc"],
        "configuration": {
            **{key: cell[key] for key in documents.CELL_KEYS},
            **{key: value for key, value in said.items() if value is not None},
        },
        "objectives": ["time"],
        "times": {"runtimes": [sample / NS_PER_MS for sample in samples_of(cell)]},
        "invalidity": INVALIDITIES[cell["status"]],
        "correctness": int(cell["verified"] is True),
        "measurements": [
            {"name": name, "value": value, "unit": unit or ""}
            for name, value, unit in measured
            if value is not None
        ],
    }


# -- the command -----------------------------------------------------------------------------------

FORMATS = {"gbench": gbench, "bmf": bmf, "kernel_tuner": kernel_tuner}
SIMULATORS = {"gpgpusim": simulators.gpgpusim, "accelsim": simulators.trace}
ALL = (*FORMATS, "nvbench", *SIMULATORS, "card")


def results_of(paths: list[str]) -> list[documents.Document]:
    found, _ = documents.read_all(paths)
    chosen = [document for document in found if document.kind == "result"]
    for document in found:
        if document.kind != "result" and document.path in paths or not chosen:
            raise Failure(f"{document.path} is not a result; name results, or folders of them")
    return chosen


def write_nvbench(paths: list[str], output: str | None) -> None:
    """The files of samples first: the document names no file that is not there."""
    if output in (None, "-"):
        raise Failure("--to nvbench writes files of samples beside its JSON; name it by --output")
    chosen = results_of(paths)
    with documents.blamed(chosen):
        made, samples = nvbench.convert(
            Catalogue([document.content for document in chosen]), output
        )
    folder = os.path.dirname(output)
    if samples:
        files.make_folder(os.path.join(folder, os.path.basename(output) + "-bin"))
    for name, data in samples.items():
        files.write(os.path.join(folder, name), data)
    files.write(output, dump(made))


def simulated(form: str, paths: list[str]) -> str:
    """The lines of a card, and of a characterization where one is named."""
    found = {}
    for path in paths:
        document = documents.load(path)
        if document.kind not in ("card", "characterization") or document.kind in found:
            raise Failure(
                f"{path} is a {document.kind}; --to {form} takes one card, and one"
                " characterization at most"
            )
        found[document.kind] = document
    if "card" not in found:
        raise Failure(f"--to {form} takes a card, and none was named; results/cards/ has some")
    record = found.get("characterization")
    with documents.blamed(list(found.values())):
        return SIMULATORS[form](simulators.Facts(found["card"].content, record and record.content))


def card_of(paths: list[str]) -> str:
    """The card of MT4G's file; of a card as well, that one filled."""
    quoted, card = None, None
    for path in paths:
        data = documents.read_bytes(path)
        content = documents.parsed(path, data)
        if mt4g.is_one(content) and quoted is None:
            quoted = (content, os.path.basename(path), hashlib.sha256(data).hexdigest())
        elif card is None:
            card = documents.load(path, {"cbank-card": "card"})
        else:
            raise Failure(f"--to card takes MT4G's JSON and one card; {path} is one too many")
    if quoted is None:
        raise Failure("--to card takes a file of MT4G, and none was named")
    try:
        return dump(mt4g.filled(*quoted, card and card.content))
    except documents.NOT_SO as error:
        raise Failure(f"{quoted[1]} is not as MT4G writes it: {error}; make it again") from None


def main(words: list[str]) -> int:
    """Runs the command line `words`, without the name of the command; returns the exit code."""
    parser = Parser(
        prog="cbank convert",
        description=__doc__,
    )
    parser.add_argument(
        "--to",
        required=True,
        choices=ALL,
        metavar="FORMAT",
        help=f"one of {', '.join(ALL)}",
    )
    parser.writes("-o", "--output", metavar="FILE", help="write FILE; else standard output")
    parser.reads(
        "files", metavar="FILE", nargs="+", help="results, or folders of them; a card; see above"
    )
    asked = parser.parse_args(words)
    if asked.to == "nvbench":
        write_nvbench(asked.files, asked.output)
        return 0
    if asked.to in SIMULATORS:
        text = simulated(asked.to, asked.files)
    elif asked.to == "card":
        text = card_of(asked.files)
    else:
        chosen = results_of(asked.files)
        with documents.blamed(chosen):
            text = FORMATS[asked.to](Catalogue([document.content for document in chosen]))
    files.write(asked.output or "-", text)
    return 0
