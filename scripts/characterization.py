#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the figures of a characterization that papers quote, beside published ones of other GPUs.

usage: characterization.py FILE

FILE is what cbank characterize wrote. Latencies of a level are those of single timed accesses less what reading the
clock takes, which is the difference between such an access and one of a dependent chain on the first level. "-" is what
was not found, or was not looked for; the reasons that are not printed stand in FILE. A FILE of version 1.x is analysed
again by the program (CBANK, default build/cbank).
"""

import argparse
import contextlib
import io
import json
import re
import sys
import textwrap


WIDTH = 100
SCHEMA = "cbank-characterization"

# First level and second level of the constant path: size, line, latency in cycles; who published it.
PUBLISHED = [
    ("GT200", "2 KB, -, 8", "8 KB, -, 81", "Wong 2010"),
    ("Kepler, Maxwell", "2 KB, -, -", "32 KB, -, -", "Chips and Cheese"),
    ("P6000", "2112 B, 64 B, 49", "31488 B, 256 B, 151", "MT4G"),
    ("V100", "2112 B, 64 B, 40", "over 64 KB, 256 B, 114", "MT4G"),
    ("RTX 2080 Ti", "2112 B, 64 B, 72", "over 64 KB, 256 B, 113", "MT4G"),
    ("A100", "2112 B, 64 B, 75", "over 64 KB, 256 B, 122", "MT4G"),
    ("H100", "2112 B, 64 B, 17", "over 64 KB, 256 B, 106", "MT4G"),
]


def fail(message):
    print(f"characterization: error: {message}", file=sys.stderr)
    sys.exit(2)


def read(path):
    """The experiments of a file by name, its device, and how long it took."""
    try:
        with open(path, encoding="utf-8") as file:
            made = json.load(file)
        if made["schema"]["name"] != SCHEMA:
            fail(f"{path} is a {made['schema']['name']}, not a characterization")
        return {row["name"]: row for row in made["experiments"]}, made["device"], made["seconds"]
    except OSError as error:
        fail(f"cannot read {error.filename or path}: {error.strerror}")
    except KeyError as error:
        fail(f"{path} is not a characterization: it has no {error}")
    except (ValueError, TypeError) as error:
        fail(f"{path} is not a characterization: {error}")


def number(row, name, **where):
    """The number of that name whose keys are as asked; None when there is none."""
    for found in row["numbers"]:
        if found["name"] == name and all(found.get(key) == value for key, value in where.items()):
            return found
    return None


def text(value):
    """7, 2.003 [1.998, 2.008], or -."""
    if value is None or value["value"] is None:
        return "-"
    digits = "{:.4g}" if value["value"] < 1e4 else "{:.0f}"
    shown, low, high = (digits.format(value[key]) for key in ("value", "low", "high"))
    return shown if low == high else f"{shown} [{low}, {high}]"


def print_table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def print_paths(experiments):
    """Latency, throughput with the SM full, and the cost of a further address, path by path."""
    rows = [["path", "latency, cycles", "loads a cycle and SM", "broadcast, bytes a cycle",
             "a further address, cycles"]]
    for name, row in experiments.items():
        if not name.startswith("latency_"):
            continue
        path = name.removeprefix("latency_")
        full = experiments.get(f"throughput_{path}", {"numbers": []})
        serial = experiments.get(f"serialization_{path}", {"numbers": []})
        most = [found for found in full["numbers"] if found["name"] == "loads_per_cycle" and found["value"] is not None]
        rows.append([path, text(number(row, "latency")) if row["status"] == "ok" else row["status"],
                     text(max(most, key=lambda found: found["value"])) if most else "-",
                     text(number(full, "broadcast_bandwidth")),
                     text(number(serial, "cycles_per_load_per_extra_address", stride_bytes=64))])
    print_table(rows)


def size_text(value):
    """A size in bytes; of a level that is larger than what was walked, that it is larger."""
    if value["value"] is not None:
        return f"{value['value']:.0f} B"
    fits = re.match(r"all of the (\d+) bytes", value["reason"] or "")
    return f"{fits[1]} B or more" if fits else "-"


def level_text(level, clock):
    """size, line, latency; no latency where it is not known what the clock takes of it."""
    line = level["line_bytes"] if level["line_bytes"]["value"] is not None else level["fetch_bytes"]
    latency = level["latency"]["value"]
    cycles = "-" if latency is None or clock is None else f"{latency - clock:.0f}"
    return f"{size_text(level['capacity_bytes'])}, {size_text(line)}, {cycles}"


def constant_levels(experiments):
    """The levels behind the constant path, what is larger than one bank as walks over several banks found it; and why
    there are none, or None."""
    row = experiments.get("geometry_constant")
    if row is None:
        return [], "the file has no geometry_constant"
    if row["status"] != "ok":
        return [], f"geometry_constant {row['status']}: {row['reason']}"
    levels = [dict(level) for level in row["geometry"]["levels"]]
    larger = experiments.get("geometry_constant_modules", {}).get("geometry")
    for level, found in zip(levels, larger["levels"] if larger else []):
        for name in ("fits_bytes", "line_bytes", "capacity_bytes", "ways", "sets"):
            if level[name]["value"] is None:
                level[name] = found[name]
        level["replacement_name"] = level["replacement_name"] or found["replacement_name"]
    return levels, None if levels else "geometry_constant found no level"


def clock_cycles(experiments, first):
    """What reading the clock adds to a timed access of the first level; None where it is not known."""
    chain = number(experiments.get("latency_constant", {"numbers": []}), "latency")
    if chain is None or chain["value"] is None or first["latency"]["value"] is None:
        return None
    return first["latency"]["value"] - chain["value"]


def print_levels(experiments, device):
    """The constant levels of this GPU beside published ones."""
    levels, why_none = constant_levels(experiments)
    clock = clock_cycles(experiments, levels[0]) if levels else None
    rows = [["GPU", "first level", "second level", "source"]]
    rows += [list(row) for row in PUBLISHED]
    rows.append([device["name"], *(level_text(levels[i], clock) if i < len(levels) else "-" for i in range(2)),
                 "this file"])
    print_table(rows)
    if why_none:
        print(f"no levels: {why_none}")
    for i, level in enumerate(levels, 1):
        if all(level[name]["value"] is not None for name in ("ways", "sets")):
            print(f"level {i}: {level['ways']['value']:.0f} ways, {level['sets']['value']:.0f} sets, replacement "
                  f"{level['replacement_name'] or 'not found'}")
        if level["capacity_bytes"]["value"] is None and level["capacity_bytes"]["reason"]:
            print(f"size of level {i} not found: {level['capacity_bytes']['reason']}")


def print_verdicts(experiments):
    for name in ("serialization_constant", "invalidation_constant", "geometry_constant_modules", "code_constant",
                 "counts_constant"):
        for verdict in experiments.get(name, {"verdicts": []})["verdicts"]:
            print(verdict["sentence"])
            if "share" not in verdict:  # which the sentence says
                print(textwrap.fill(verdict["reason"], WIDTH, initial_indent="    ", subsequent_indent="    "))


def print_unit(experiments):
    """How far from its limit the first constant level is when it is asked as fast as it can be, and what limits it."""
    share = number(experiments.get("activity_constant", {"numbers": []}), "unit_active_share")
    costs = [number(experiments.get("counts_constant", {"numbers": []}), name)
             for name in ("active_cycles_per_request", "active_cycles_per_line")]
    if share:
        print(f"Under full load, the first level works in {text(share)} of the cycles.")
    if all(costs):
        print(f"It works {text(costs[0])} cycles for a request, and {text(costs[1])} more for a line that it brings.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="FILE")
    path = parser.parse_args().file
    experiments, device, seconds = read(path)
    try:
        with contextlib.redirect_stdout(io.StringIO()) as printed:  # nothing of a file that turns out to be broken
            print(f"{device['name']}, driver {device['driver'] or 'unknown'}, {seconds:.1f} s")
            print_paths(experiments)
            print()
            print_levels(experiments, device)
            print()
            print_verdicts(experiments)
            print_unit(experiments)
    except KeyError as error:
        fail(f"{path}: something that {SCHEMA} has to have is missing: {error}")
    except (TypeError, ValueError, AttributeError) as error:
        fail(f"{path}: something is not what {SCHEMA} says: {error}")
    print(printed.getvalue(), end="")


if __name__ == "__main__":
    main()
