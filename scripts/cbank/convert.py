# SPDX-License-Identifier: MIT
"""`cbank convert`: results and characterizations in the formats of other tools.

  gbench        JSON of Google Benchmark, for its tools/compare.py: an entry a sample, then aggregates of each cell
  bmf           Bencher Metric Format v0: the time and the counters of each cell; of several results the median and the range
  otava         CSV for Apache Otava: a row a result in the order of time, a column a cell
  otava_config  the YAML that Otava reads beside it; it expects the CSV in cbank.csv
  kernel_tuner  T4 results of Kernel Tuner, schema 1.0.0: a configuration a cell, times in ms
  accelsim      of a characterization: options of Accel-Sim and GPGPU-Sim about constants, for their tuner

CSV and JSON lines of results are printed by `cbank export`.
"""

import argparse
import csv
import io
import json
import statistics
import sys

from . import documents
from .documents import number
from .errors import Failure, printable, say

MEASURE_LETTERS_MAX = 64  # of a name in the Bencher Metric Format
NS_PER_MS = 1e6


class Catalogue:
    """Cells of several results, each once, in the order in which they come."""

    def __init__(self, results):
        self.results = results
        self.cells = {}  # {identity: [(result, cell)]}
        for result in results:
            for cell in result["cells"]:
                self.cells.setdefault(cell["identity"], []).append((result, cell))
        # Cells that no chip of the results can have are not missing.
        self.expected = {name: of for name, of in self.cells.items() if any(cell["status"] != "skipped" for _, cell in of)}


def time_of(cell):
    return number((cell["time_ns"] or {}).get("value"))


def samples_of(cell):
    """The samples of a cell, ns; of a computed time that time alone."""
    samples = [number(sample) for sample in (cell["time_ns"] or {}).get("samples") or []]
    return samples or [time for time in [time_of(cell)] if time is not None]


def dump(value):
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


# -- Google Benchmark ---------------------------------------------------------------------------------------------


def gbench(catalogue):
    """As its json_reporter.cc writes it, json_schema_version 1. cpu_time repeats real_time: compare.py takes none for 0."""
    entries, without = [], {}
    for place, (name, of) in enumerate(catalogue.cells.items()):
        timed = [(result, cell, sample) for result, cell in of for sample in samples_of(cell)]
        if not timed:
            without[name] = printable(of[0][1]["reason"] or of[0][1]["status"])
        same = {"family_index": place, "per_family_instance_index": 0, "run_name": name, "repetitions": len(timed), "threads": 1}
        for repetition, (result, cell, sample) in enumerate(timed):
            entries.append({"name": name, **same, "run_type": "iteration", "repetition_index": repetition,
                            "iterations": cell["time_ns"].get("launches_per_sample") or 1, "real_time": sample,
                            "cpu_time": sample, "time_unit": "ns",
                            **({"label": "modelled"} if result["engine"] != "cuda" else {})})
        values = [sample for _, _, sample in timed]
        for key, value in aggregates(values).items() if len(values) > 1 else ():
            entries.append({"name": f"{name}_{key}", **same, "run_type": "aggregate", "aggregate_name": key,
                            "aggregate_unit": "percentage" if key == "cv" else "time", "iterations": len(values),
                            "real_time": value, "cpu_time": value, "time_unit": "ns"})
    first = catalogue.results[0]
    context = {"date": first["started_utc"], "executable": "cbank", "json_schema_version": 1, "results": len(catalogue.results),
               "engine": first["engine"], "device": first["device"]["name"], "uuid": first["device"]["uuid"],
               "driver": first["device"]["driver"], "cells_without_time": without}
    return dump({"context": context, "benchmarks": entries})


def aggregates(values):
    mean, deviation = statistics.fmean(values), statistics.stdev(values)
    return {"mean": mean, "median": statistics.median(values), "stddev": deviation, "cv": deviation / mean}


# -- Bencher ------------------------------------------------------------------------------------------------------


def bmf(catalogue):
    return dump({name: measures_of([cell for _, cell in of]) for name, of in catalogue.expected.items()})


def measures_of(cells):
    """The time and every counter of a cell; with one result the bounds of the time are its interval."""
    values = {"time_ns": [time_of(cell) for cell in cells]}
    for name in dict.fromkeys(name for cell in cells for name in cell["counters"]):
        counters = [cell["counters"].get(name) for cell in cells]
        values[name] = [number(counter["value"]) for counter in counters if counter and counter["status"] == "ok"]
    made = {}
    for name, found in values.items():
        found = [value for value in found if value is not None]
        if found and len(name) > MEASURE_LETTERS_MAX:
            say("warning", f"{name} is left out: a name in the Bencher Metric Format has {MEASURE_LETTERS_MAX} letters at most")
        elif found:
            made[name] = {"value": statistics.median(found)}
            bounds = (min(found), max(found)) if len(found) > 1 else interval_of(cells) if name == "time_ns" else (None, None)
            made[name].update({key: bound for key, bound in zip(("lower_value", "upper_value"), bounds) if bound is not None})
    return made


def interval_of(cells):
    time = next(cell["time_ns"] for cell in cells if time_of(cell) is not None)
    return number(time.get("ci_low")), number(time.get("ci_high"))


# -- Apache Otava -------------------------------------------------------------------------------------------------

ATTRIBUTES = ("engine", "device", "uuid", "driver", "vbios", "complete")


def otava(catalogue):
    """Rows are in the order of time, as Otava does not sort; it takes no empty number, so a missing time is nan."""
    ordered = sorted(catalogue.results, key=lambda result: result["started_utc"])
    times = {name: {id(result): time_of(cell) for result, cell in of} for name, of in catalogue.expected.items()}
    for name, of in times.items():
        gaps = sum(of.get(id(result)) is None for result in ordered)
        if gaps:
            say("warning", f"{name} has no time in {gaps} of {len(ordered)} results, and nan there; leave it out of Otava's metrics")
    rows = [["time", *ATTRIBUTES, *map(printable, times)]]
    for result in ordered:
        device = result["device"]
        facts = [result["started_utc"], result["engine"], device["name"], device["uuid"], device["driver"], device["vbios"],
                 str(result["complete"]).lower()]
        rows.append([printable(fact or "") for fact in facts] + [number_text(of.get(id(result))) for of in times.values()])
    return csv_text(rows)


def number_text(value):
    return "nan" if value is None else repr(value)


def csv_text(rows):
    """RFC 4180. A text that a spreadsheet would take for a formula begins with an apostrophe."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\r\n").writerows(
        [f"'{word}" if isinstance(word, str) and word[:1] in ("=", "+", "-", "@") else word for word in row] for row in rows)
    return file.getvalue()


def otava_config(catalogue):
    lines = ["tests:", "  cbank:", "    type: csv", "    file: cbank.csv", "    time_column: time",
             f"    attributes: [{', '.join(ATTRIBUTES)}]", "    csv_options:", '      delimiter: ","', "      quote_char: '\"'",
             "    metrics:"]
    lines += [f"      {json.dumps(name)}: {{direction: -1, scale: 1}}" for name in catalogue.expected]
    return "\n".join(lines) + "\n"


# -- Kernel Tuner -------------------------------------------------------------------------------------------------

INVALIDITIES = {"pending": "timeout", "ok": "correct", "skipped": "constraints", "failed": "runtime"}


def kernel_tuner(catalogue):
    results = [tuner_result(result, cell) for result in catalogue.results for cell in result["cells"]]
    return dump({"schema_version": "1.0.0", "metadata": {"timeunit": "milliseconds"}, "results": results})


def tuner_result(result, cell):
    # A parameter that is left out of a cell has its default; width and size of the table are always said.
    said = {"width_bytes": cell.get("width_bytes"), "table_bytes": cell.get("table_bytes"), **(cell["parameters"] or {})}
    counted = [(name, number(counter["value"]), counter["unit"]) for name, counter in cell["counters"].items()
               if counter["status"] == "ok"]
    time = time_of(cell)
    measured = [("time", time and time / NS_PER_MS, "ms"), *counted]
    return {"timestamp": result["started_utc"],
            "configuration": {**{key: cell[key] for key in documents.CELL_KEYS},
                              **{key: value for key, value in said.items() if value is not None}},
            "objectives": ["time"], "times": {"runtimes": [sample / NS_PER_MS for sample in samples_of(cell)]},
            "invalidity": INVALIDITIES[cell["status"]], "correctness": int(cell["verified"] is True),
            "measurements": [{"name": name, "value": value, "unit": unit or ""} for name, value, unit in measured
                             if value is not None]}


# -- Accel-Sim ----------------------------------------------------------------------------------------------------

# The fields after the replacement are the template's: nothing is known of them.
CACHE_REST, INSTRUCTIONS = "R:f:N:L,S:2:64,4", "N:64:128:16,L:R:f:N:L,S:2:48,4"
REPLACEMENTS = {"LRU": "L", "FIFO": "F"}
WARP_BYTES = 128  # that a load of 4 bytes by each thread of a warp delivers


def entries(content):
    """Numbers, findings of levels and groups of a characterization: dicts with experiment, path, name and value."""
    for experiment in content["experiments"]:
        of = {"experiment": experiment["name"], "path": experiment["path"]}
        yield from ({**of, **entry} for entry in experiment["numbers"])
        for level, found in enumerate((experiment.get("geometry") or {"levels": []})["levels"], 1):
            yield from ({**of, "name": name, "level": level, **entry} for name, entry in found.items()
                        if isinstance(entry, dict) and name != "replacement")
            yield {**of, "name": "replacement", "level": level, **found["replacement"], "value": found["replacement_name"]}
        if experiment.get("groups"):
            yield {**of, "name": "largest_group", "value": max(map(len, experiment["groups"]))}


def quoted(content, name, level=None, experiment=None):
    """The first entry of that name of the constant path that has a value; None without one."""
    for entry in entries(content):
        if entry["name"] == name and entry.get("level") == level and entry["value"] is not None and \
                entry["path"].startswith("constant") and experiment in (None, entry["experiment"]):
            return entry
    return None


def accelsim(content):
    """Their tuner puts each line that begins with '-' in the place of that key of its template.

    -gpgpu_const_cache:l1 is N:SETS:LINE:WAYS,REPLACEMENT; a value that is not known is a comment."""
    name = printable(content["device"]["name"].removeprefix("NVIDIA "))
    second = [f"{text} {'not known' if entry is None else entry['value']}" for text, entry in (
        ("bytes", quoted(content, "capacity_bytes", 2)), ("line", quoted(content, "line_bytes", 2)),
        ("SMs that share it", quoted(content, "largest_group")))]
    return "\n".join([
        f"# Constants of {name} for Accel-Sim and GPGPU-Sim, by cbank from a characterization.", f"Device Name = NVIDIA {name}",
        "", "# The L1 constant cache.", *first_level(content), "", "# Some constants miss. So do some instructions, whose cache is the template's.",
        "-gpgpu_perfect_inst_const_cache 0", f"-gpgpu_cache:il1 {INSTRUCTIONS}",
        "", "# Loads of constants by the uniform datapath; this line goes into trace.config.", *uniform(content),
        "", "# The format has no place for:", f"#   an L1.5 constant cache: {', '.join(second)}",
        "#   tree pseudo-LRU; sets that a kernel swaps; a latency of constant loads of its own"]) + "\n"


def origin_line(what, entry):
    return f"#   {what}: {printable(', '.join(str(entry[key]) for key in ('experiment', 'method', 'reason') if entry.get(key)))}"


def first_level(content):
    found = [quoted(content, name, 1) for name in ("capacity_bytes", "line_bytes", "ways")]
    if None in found:
        return ["# No line for -gpgpu_const_cache:l1: the characterization does not know capacity, line and ways."]
    size, line, ways = (number(entry["value"]) for entry in found)
    replacement = quoted(content, "replacement", 1)
    lines = [origin_line(*pair) for pair in zip(("capacity", "line", "ways", "replacement"), [*found, replacement], strict=True) if pair[1]]
    named = replacement["value"] if replacement else "nothing of replacement"
    if named not in REPLACEMENTS:
        lines.append(f"#   cbank characterize says {printable(named)}, which cannot be said there: L is the nearest.")
    return [*lines, "#   The fields after the replacement are those of the template: nothing is known of them.",
            f"-gpgpu_const_cache:l1 N:{size // (line * ways)}:{line}:{ways},{REPLACEMENTS.get(named, 'L')}:{CACHE_REST}"]


def uniform(content):
    latency = quoted(content, "latency", experiment="latency_constant_uniform")
    rate = quoted(content, "broadcast_bandwidth", experiment="throughput_constant_uniform")
    if not latency or not rate:
        return ["# No line for -trace_opcode_latency_initiation_spec_op_4: the characterization does not know latency and rate."]
    cycles = WARP_BYTES / number(rate["value"])
    return [origin_line("latency", latency), origin_line("initiation", rate),
            f"#   {cycles:.3g} cycles a load; there it is whole cycles, one at least.",
            f"-trace_opcode_latency_initiation_spec_op_4 {max(1, round(number(latency['value'])))},{max(1, round(cycles))}"]


# -- the command --------------------------------------------------------------------------------------------------

# By name: what makes the text, and the kind of document that it is made of.
FORMATS = {"gbench": (gbench, "result"), "bmf": (bmf, "result"), "otava": (otava, "result"),
           "otava_config": (otava_config, "result"), "kernel_tuner": (kernel_tuner, "result"), "accelsim": (accelsim, "characterization")}


def main(words: list[str]) -> int:
    """Runs the command line `words`, without the name of the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="cbank convert", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", required=True, choices=FORMATS, metavar="FORMAT", help=f"one of {', '.join(FORMATS)}")
    parser.add_argument("files", metavar="FILE", nargs="+", help="results, folders of results, or one characterization")
    asked = parser.parse_args(words)
    make, kind = FORMATS[asked.to]
    found, _ = documents.read_all(asked.files)
    chosen = [document for document in found if document.kind == kind]
    others = [document for document in found if document.kind != kind and document.path in asked.files]
    if others or not chosen or kind != "result" and len(chosen) > 1:
        raise Failure(f"{(others or found)[0].path} is not a {kind}: --to {asked.to} takes {f'one {kind}' if kind != 'result' else 'results'}"
                      if others or not chosen else f"--to {asked.to} takes one {kind}, and {len(chosen)} were named")
    with documents.blamed(chosen):
        contents = [document.content for document in chosen]
        text = make(contents[0] if kind != "result" else Catalogue(contents))
    sys.stdout.write(text)
    return 0
