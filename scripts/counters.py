#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints counters of a result, one line for each cell.

A COLUMN is a counter of the result (idc_requests), time_ns, cycles, operations, or a quotient of two such
(idc_active_cycles/idc_requests). Without columns: all counters of the result. An exact counter is followed by =
where it is what was expected and by ! where it is not; "-" stands for what the result or the cell does not have.
"""

import argparse
import json
import sys

KEYS = ("workload", "path", "pattern", "elements", "block_size", "regime")


def fail(message):
    print(f"counters: error: {message}", file=sys.stderr)
    sys.exit(2)


def identity(cell):
    """What the cell is, by key; its parameters, which files of schema 1.0 lack, after the others."""
    return {**{key: cell[key] for key in KEYS}, **cell.get("parameters", {})}


def keys_of(identities):
    """The keys that any of them has; the workload where the result has several."""
    keys = list(KEYS) + [key for key in dict.fromkeys(key for one in identities for key in one) if key not in KEYS]
    return keys if len({one["workload"] for one in identities}) > 1 else keys[1:]


def wanted(value, options):
    """Whether the identity has, of each key that an option names, one of its values."""
    lists = [(key, getattr(options, key)) for key in KEYS] + [part.split("=", 1) for part in options.parameter]
    return all(str(value.get(key)) in values.split(",") for key, values in lists if values)


def single(cell, name):
    """(value, mark) of one quantity; value None when the cell has none."""
    if name == "time_ns":
        return cell["time_ns"]["median"], ""
    if name in ("cycles", "operations"):
        return cell.get(name), ""
    counter = cell["counters"].get(name)
    if counter is None or counter["status"] != "ok":
        return None, ""
    if counter["kind"] != "exact" or counter["expected"] is None:
        return counter["value"], " "
    return counter["value"], "=" if counter["value"] == counter["expected"] else "!"


def text(cell, column):
    names = column.split("/")
    values = [single(cell, name) for name in names]
    if any(value is None for value, _ in values):
        return "- "
    if len(names) == 1:
        value, mark = values[0]
        return (f"{value:.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.2f}") + (mark or " ")
    return f"{values[0][0] / values[1][0]:.3f} " if values[1][0] else "- "


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("columns", metavar="COLUMN", nargs="*")
    for key in KEYS:
        parser.add_argument("--" + key.replace("_", "-"), dest=key, metavar="LIST", help="cells of these alone")
    parser.add_argument("--parameter", metavar="NAME=LIST", action="append", default=[],
                        help="cells with these values alone")
    options = parser.parse_intermixed_args()
    if any("=" not in part for part in options.parameter):
        parser.error("--parameter takes NAME=LIST")

    try:
        with open(options.file, encoding="utf-8") as file:
            result = json.load(file)
        cells = [(identity(cell), cell) for cell in result["cells"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        fail(f"{options.file} is not a result: {error}")
    known = ["time_ns", "cycles", "operations"] + sorted({name for _, cell in cells for name in cell["counters"]})
    columns = options.columns or [name for name in cells[0][1]["counters"]] if cells else []
    for column in columns:
        for name in column.split("/"):
            if name not in known:
                fail(f"no '{name}' in {options.file}; it has {', '.join(known)}")
    keys = keys_of([value for value, _ in cells])
    cells = [(value, cell) for value, cell in cells if wanted(value, options)]
    if not cells:
        fail(f"no such cell in {options.file}")
    # What all cells share is said once.
    keys = [key for key in keys if any(key in value for value, _ in cells)]
    shared = [key for key in keys if len({value.get(key) for value, _ in cells}) == 1]
    row_keys = [key for key in keys if key not in shared]
    rows = [row_keys + [column + " " for column in columns]]
    rows += [[str(value.get(key, "-")) for key in row_keys] + [text(cell, column) for column in columns]
             for value, cell in cells]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    modelled = "modelled: nothing was measured" if result["engine"] == "model" else "one launch"
    print("; ".join([", ".join(f"{key} {cells[0][0][key]}" for key in shared)] * bool(shared) + [modelled]))
    for row in rows:
        names, values = row[:len(row_keys)], row[len(row_keys):]
        line = [name.ljust(width) for name, width in zip(names, widths)]
        line += [value.rjust(width) for value, width in zip(values, widths[len(row_keys):])]
        print(" ".join(line).rstrip())


if __name__ == "__main__":
    main()
