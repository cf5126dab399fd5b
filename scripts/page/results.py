# SPDX-License-Identifier: MIT
"""What the page says of results: how they ended, where they come from, the matrix, and each cell."""

from collections import Counter

from figures import documents, output, panels
from figures import matrix as matrix_figure

from . import tables
from .given import cell_name, identity_of
from .tables import Head, Table, Value, head, words

FINDINGS_MAX = 20  # of one kind in the summary; all of them stand at their cells
COLUMNS_MAX = 3  # files beside each other


# -- counts -------------------------------------------------------------------------------------------------------


def statuses(cells):
    return Counter(cell["status"] for cell in cells)


def exact(of):
    """(equal, compared) of the exact counters of results."""
    return tuple(sum(one.content["exact_counters"][key] for one in of) for key in ("equal", "compared"))


def throttle_text(device):
    throttle = device["throttle"]
    if not throttle["known"]:
        return "not known"
    bits = [documents.number(throttle[key]) for key in ("before", "after")]
    return ", ".join(f"{when} {int(its):#x}" for when, its in zip(("before", "after"), bits) if its) or "no"


def flag_of(one, cell):
    """Everything that has to be known before the cell is believed; or None."""
    if cell["status"] == "pending":
        return "pending: the run ended before the cell was done"
    if cell["status"] != "ok":
        return f"{cell['status']}: {cell['reason'] or 'no reason given'}"
    return "; ".join(f"{flag}: {one.content['flag_reasons'][flag]}" for flag in cell["flags"]) or None


# -- summary ------------------------------------------------------------------------------------------------------


SUMMARY_HEADS = ("file", "engine", "device", "cells ok", "not ok", "verified", "flagged", "exact counters equal",
                 "throttled")
NOT_OK = ("failed", "skipped", "pending")


def summary_row(one):
    content, page = one.content, one.cells_page
    cells = content["cells"]
    found, (equal, read) = statuses(cells), exact([one])
    predicted = f"{tables.count(read)} predicted" if one.modelled else tables.of_all(equal, read)
    return [head(one.label, page),
            words(content["engine"] + (", modelled" if one.modelled else "") +
                  ("" if content["complete"] else ", incomplete")),
            words(content["device"]["name"]), Value(tables.of_all(found["ok"], len(cells)), page),
            Value(", ".join(f"{tables.count(found[key])} {key}" for key in NOT_OK if found[key]) or "0", page),
            Value(tables.NONE if one.modelled else tables.count(sum(cell["verified"] is True for cell in cells)), page),
            Value(tables.count(sum(bool(cell["flags"]) for cell in cells)), page),
            Value(predicted if read else "none", page), words(throttle_text(content["device"]))]


def findings(one):
    """Lines of (text, href): what is wrong with cells of a result, failed ones and counters first."""
    lines = []
    for cell in one.content["cells"]:
        if cell["status"] == "failed":
            lines.append((f"{cell_name(cell)} failed: {cell['reason']}", one.href(cell)))
    for cell in (cell for cell in one.content["cells"] if cell["exact_counters"]["differing"]):
        for name, counter in cell["counters"].items():
            if counter["kind"] == "exact" and counter["expected"] is not None and \
                    counter["value"] not in (None, counter["expected"]):
                lines.append((f"{cell_name(cell)}: {name} is {tables.count(counter['value'])}, expected "
                              f"{tables.count(counter['expected'])}", one.href(cell)))
    return lines


def flag_lines(one):
    """How many cells each flag is on, and a link to the first of them."""
    lines = []
    for flag, cells in panels.grouped([(flag, cell) for cell in one.content["cells"] for flag in cell["flags"]],
                                      lambda pair: pair[0]).items():
        lines.append((f"{tables.plural(len(cells), 'cell')} {flag}: {one.content['flag_reasons'][flag]}",
                      one.href(cells[0][1])))
    return lines


def ratios(one):
    """[(row of constant, row of global)] of the figure matrix; none where nothing was timed on both."""
    try:
        rows = matrix_figure.times(one.document)
    except documents.NotDrawn:
        return []
    bases = {key_without_path(row): row for row in rows if row["path"] == "global"}
    return [(row, bases[key_without_path(row)]) for row in rows
            if row["path"] == "constant" and row["ratio_to_global"] is not None]


def extremes_table(of):
    """Of each result the pattern on which constant memory does best beside global memory, and that on which worst."""
    rows = []
    for one in of:
        found = sorted((row for row, _ in ratios(one)), key=lambda row: row["ratio_to_global"])
        if found:
            rows.append([head(one.shown_name, one.cells_page), *extreme(one, found[0]), *extreme(one, found[-1])])
    return Table("Time through constant to time through global memory, of all cells on both",
                 ["file", "lowest, ×", "interval", "of", "highest, ×", "interval", "of"], rows,
                 ["interval: quotients of opposite ends of the two 95 % intervals, which is wider than 95 %"])


def ratio_values(one, row):
    href = one.href(row)
    inside = "" if one.modelled else tables.interval(row["ratio_low"], row["ratio_high"], lambda value: f"{value:#.4g}")
    return [Value(f"{row['ratio_to_global']:#.4g}", href, strong=True), Value(inside or tables.NONE, inside and href)]


def extreme(one, row):
    name = " ".join(panels.group_text(panels.group_of(row)).split("\n"))
    return [*ratio_values(one, row), words(f"{row['workload']}, {name}, {row['elements']}, {row['regime']}")]


def headline(one):
    """What constant memory costs beside global memory, pattern by pattern."""
    rows = [[head(" ".join(panels.group_text(panels.group_of(row)).split("\n")), one.href(row)),
             words(panels.panel_text(panels.panel_of(row))), *ratio_values(one, row),
             Value(tables.time(row["time_ns"]), one.href(row)),
             Value(tables.time(base["time_ns"]), one.href(base))] for row, base in ratios(one)]
    return Table(f"Constant to global memory, pattern by pattern: {one.shown_name}",
                 ["pattern", "workload and size", "constant / global, ×", "interval", "constant, time",
                  "global, time"], rows)


def key_without_path(row):
    return tuple(value for key, value in zip((*documents.CELL_KEYS, "parameters"), identity_of(row)) if key != "path")


# -- environment --------------------------------------------------------------------------------------------------


def clock_text(device):
    clocks = device.get("clocks") or {}
    return ", ".join(f"{name} {tables.count(clocks[key])} MHz" for name, key in
                     (("SM", "sm_max_mhz"), ("memory", "memory_max_mhz")) if clocks.get(key)) or None


def cell_clock_text(cells):
    found = [cell["sm_clock_mhz"] for cell in cells if cell.get("sm_clock_mhz") is not None]
    if not found:
        return None
    low, high = f"{min(found):.0f}", f"{max(found):.0f}"
    return f"{low} MHz" if low == high else f"{low} to {high} MHz"


def commit_text(tool):
    if not tool:
        return None
    return (tool.get("git_commit") or "unknown") + (", with changes" if tool.get("git_dirty") else "")


def environment_of(one):
    """{what: value} of a file; None where it does not say."""
    content = one.content
    tool, device = content.get("tool") or {}, content.get("device") or {}
    of_result = one.kind == "result"
    made = {
        "engine": content["engine"] if of_result else "cuda" if one.kind == "characterization" else None,
        "device": device.get("name"), "chip": device.get("chip"),
        "compute capability": device.get("compute_capability") or
        (f"{device['cc_major']}.{device['cc_minor']}" if "cc_major" in device else None),
        "UUID": device.get("uuid"), "PCI bus": device.get("pci_bus_id"),
        "SMs": tables.count(device["sm_count"]) if device.get("sm_count") else None,
        "L2, bytes": tables.count(documents.number(device.get("l2_bytes"))) if device.get("l2_bytes") else None,
        "memory, bytes": tables.count(documents.number(device.get("memory_bytes"))) if device.get("memory_bytes")
        else None,
        "driver": device.get("driver"), "CUDA driver API": device.get("cuda_driver_api"), "VBIOS": device.get("vbios"),
        "ECC": device.get("ecc"), "MIG": device.get("mig"), "highest clocks": clock_text(device),
        "SM clock of the cells": cell_clock_text(content["cells"]) if of_result else None,
        "throttle reasons": throttle_text(device) if of_result else None,
        "empty launch": tables.time(device["launch_ns"]) if device.get("launch_ns") else None,
        "cbank": tool.get("version"), "commit": commit_text(tool), "compiler": tool.get("compiler"),
        "CUDA toolkit": tool.get("cuda_toolkit"), "command line": tool.get("argv"),
        "seed": content.get("seed"), "stops at noise of": f"{100 * content['max_noise']:g} %"
        if content.get("max_noise") else None,
        "counters asked for": content.get("counters_asked"), "no counters": content.get("counters_reason"),
        "started, UTC": content.get("started_utc"), "finished, UTC": content.get("finished_utc"),
        "complete": None if "complete" not in content else "yes" if content["complete"] else "no: interrupted",
        "schema": f"{one.document.schema['name']} {one.document.schema['version']}",
        "file": one.name, "bytes": tables.count(one.document.bytes) if hasattr(one.document, "bytes") else None,
        "SHA-256": one.sha256,
    }
    return {key: str(value) for key, value in made.items() if value not in (None, "")}


def environment_tables(given):
    """What is the same in all files that say it once; what differs, file by file."""
    found = {one.label: environment_of(one) for one in given}
    keys = list(dict.fromkeys(key for values in found.values() for key in values))
    said = {key: [values[key] for values in found.values() if key in values] for key in keys}
    several = len(given) > 1
    same = [key for key in keys if len(set(said[key])) == 1 and (len(said[key]) > 1 or not several)]
    made = [tables.facts("Environment" + (f", the same in all of {len(given)} files that say it" if several else
                                          f" of {given[0].shown_name}"), [(key, said[key][0]) for key in same])]
    if several and len(same) < len(keys):
        made.append(differences_table(given, found, [key for key in keys if key not in same]))
    return [table for table in made if table.rows]


def differences_table(given, found, keys):
    """A column for each of a few files, a row for each of many."""
    caption = "Environment, what differs between files"
    if len(given) <= COLUMNS_MAX:
        return Table(caption, ["what", *(one.label for one in given)],
                     [[head(key), *(words(found[one.label].get(key)) for one in given)] for key in keys])
    return Table(caption, ["file", *keys],
                 [[head(one.label, one.cells_page if one.kind == "result" else None),
                   *(words(found[one.label].get(key)) for key in keys)] for one in given])


# -- matrix -------------------------------------------------------------------------------------------------------


def group_key(cell):
    return tuple(cell[key] for key in ("workload", "elements", "block_size", "regime"))


def group_order(program, key):
    workload, elements, block_size, regime = key
    return program.place("workloads", workload), elements, block_size, program.place("regimes", regime)


def variant_order(program, cell):
    return program.place("patterns", cell["pattern"]), [(name, value) for name, value in
                                                         sorted(cell.get("parameters", {}).items())]


def has_time(cell):
    return cell["status"] in ("ok", "pending") and documents.time_of(cell)[0] is not None


def matrix_tables(program, one):
    """As cbank show: a table for each workload, size, block size and regime."""
    groups = panels.grouped(one.content["cells"], group_key)
    return [matrix_table(program, one, groups[key], key)
            for key in sorted(groups, key=lambda key: group_order(program, key))]


def matrix_table(program, one, cells, key):
    shown = [cell for cell in cells if cell["status"] != "skipped"]
    paths = sorted({cell["path"] for cell in shown}, key=lambda path: program.place("paths", path))
    variants = panels.grouped(sorted(shown, key=lambda cell: variant_order(program, cell)),
                              lambda cell: (cell["pattern"], documents.parameters_text(cell)))
    columns = ["modelled", "ratio", "req"] if one.modelled else ["time", "95 % CI", "ratio", "req"]
    heads = [[Head("pattern", rows=2), *(Head(path, len(columns)) for path in paths)],
             [Head(column) for _ in paths for column in columns]]
    marks = {}
    rows = [[head(" ".join(panels.group_text(name).split("\n"))), *row_values(program, one, members, paths, marks)]
            for name, members in variants.items()]
    notes = [f"{mark} {text}" for text, mark in marks.items()]
    skipped = panels.grouped([cell for cell in cells if cell["status"] == "skipped"], lambda cell: cell["reason"])
    notes += [f"skipped: {', '.join(dict.fromkeys(skipped_name(cell, paths) for cell in members))} "
              f"({reason or 'no reason given'})" for reason, members in skipped.items()]
    workload, elements, block_size, regime = key
    caption = f"{workload}, {tables.count(elements)} elements, blocks of {block_size}, {regime}"
    return Table(f"{caption}: {one.shown_name}", heads, rows, notes)


def skipped_name(cell, paths):
    return f"{cell['path']} {cell['pattern']}" if cell["path"] in paths else cell["path"]


def row_values(program, one, members, paths, marks):
    """The values of a row, path after path."""
    by_path = {cell["path"]: cell for cell in members}
    times = [documents.time_of(cell)[0] for cell in members if has_time(cell) and program.path_loads(cell["path"])]
    best = min(times, default=None)
    empty = [Value(tables.NONE)] * (3 if one.modelled else 4)
    return [value for path in paths
            for value in (cell_values(one, by_path[path], best, marks) if path in by_path else empty)]


def cell_values(one, cell, best, marks):
    time, low, high = documents.time_of(cell)
    href, mark = one.href(cell), ""
    flag = flag_of(one, cell)
    if flag:
        mark = tables.NARROW + marks.setdefault(flag, mark_text(len(marks)))
    asked = (cell.get("model") or {}).get("requests_per_load")
    if not has_time(cell):
        said = cell["status"] if cell["status"] != "ok" else "not timed"
        return [Value(said + mark, href), *[Value(tables.NONE)] * (2 if one.modelled else 3)]
    ratio = time / best if best else None
    made = [Value(tables.time(time) + mark, href, strong=time == best)]
    if not one.modelled:
        made.append(Value(tables.half_width(time, low, high), href))
    return made + [Value(tables.times(ratio) if ratio else tables.NONE, href),
                   Value(tables.NONE if asked is None else f"{asked:.1f}", href if asked is not None else None)]


def mark_text(index):
    return f"({chr(ord('a') + index)})" if index < 26 else f"({index})"


# -- cells --------------------------------------------------------------------------------------------------------


class Cell:
    """What the page of a result says of one of its cells."""

    def __init__(self, one, place, cell):
        self.anchor, self.name = f"cell-{place}", cell_name(cell)
        self.cell, self.modelled = cell, one.modelled
        self.facts = self.facts_of()
        self.counters = self.counters_of()

    def facts_of(self):
        cell, time = self.cell, self.cell["time_ns"] or {}
        kernel, model = cell.get("kernel") or {}, cell.get("model") or {}
        verified = {True: "verified against the CPU", False: "not verified"}.get(cell["verified"])
        made = [("status", ", ".join(filter(None, (cell["status"], cell["reason"],
                                                   None if self.modelled else verified)))),
                ("flags", ", ".join(cell["flags"])),
                ("table, bytes", tables.count(cell.get("table_bytes") or cell["array_bytes"])),
                ("modelled time" if self.modelled else "time", self.time_text()),
                ("minimum, MAD", time.get("min") and f"{tables.time(time['min'])}, {tables.time(time.get('mad'))}"),
                ("samples", self.samples_text(time)),
                ("SM cycles, SM clock", self.clock_text()),
                ("kernel", kernel.get("name")),
                ("its code", kernel.get("name") and
                 f"{kernel.get('instruction') or 'not known'}, {kernel.get('registers')} registers, "
                 f"{kernel.get('image')}, SHA-256 {(kernel.get('sass_sha256') or 'not known')[:16]}"),
                ("operations", self.operations_text())]
        if model:
            made += [("model", self.model_text(model)),
                     ("model's parts", ", ".join(f"{name.removesuffix('_ns')} {tables.time(its)}"
                                                 for name, its in (model.get("parts") or {}).items()
                                                 if its is not None))]
        return [(name, text) for name, text in made if text]

    def time_text(self):
        value, low, high = documents.time_of(self.cell)
        if value is None:
            return None
        inside = "" if self.modelled else tables.interval(low, high, digits)
        return f"{tables.time(value)}: {digits(value)} ns" + (f", 95 % interval {inside} ns" if inside else "")

    def samples_text(self, time):
        count = len(time.get("samples") or [])
        launches = tables.plural(time.get("launches_per_sample"), "launch", "launches")
        return count and f"{tables.plural(count, 'sample')} of {launches}; stopped: {time['stop_reason']}"

    def clock_text(self):
        cycles, clock = self.cell.get("cycles"), self.cell.get("sm_clock_mhz")
        return cycles and f"{tables.count(round(cycles))} cycles" + (f", {clock:.0f} MHz" if clock else "")

    def operations_text(self):
        per_byte = self.cell.get("operations_per_byte") or {}
        found = [f"{name} {tables.quantity(per_byte[key])}" for name, key in
                 (("ideal", "ideal"), ("DRAM", "dram"), ("L2", "l2")) if per_byte.get(key) is not None]
        operations = self.cell.get("operations")
        return operations and tables.count(documents.number(operations)) + \
            (f"; per byte: {', '.join(found)}" if found else "")

    def model_text(self, model):
        asked, footprint, time = (model.get(key) for key in ("requests_per_load", "footprint_bytes", "time_ns"))
        made = [asked is not None and f"{tables.quantity(asked)} requests a load",
                footprint is not None and f"{tables.count(documents.number(footprint))} bytes read",
                time is not None and tables.time(time)]
        return ", ".join(text for text in made if text)

    def counters_of(self):
        """(name, value, what was expected)."""
        return [(name, *counter_text(counter)) for name, counter in self.cell["counters"].items()]


def digits(ns):
    return f"{ns:.7g}"


def counter_text(counter):
    value, expected = documents.number(counter["value"]), documents.number(counter["expected"])
    if counter["status"] != "ok":
        return counter["status"].replace("_", " "), counter["reason"] or output.text(expected)
    said = "" if expected is None else "=" if value == expected else f"differs: {output.text(expected)}"
    return output.text(value), said


def counter_rows(one):
    """Of every counter of a result: unit, kind and metric, which are the same in all cells."""
    found = {}
    for cell in one.content["cells"]:
        for name, counter in cell["counters"].items():
            found.setdefault(name, counter)
    return Table("Counters", ["counter", "unit", "kind", "metric"],
                 [[head(name), words(its["unit"]), words(its["kind"]), words(its["metric"])]
                  for name, its in found.items()])
