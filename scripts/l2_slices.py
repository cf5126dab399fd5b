#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Shows what loads past L1 take by where the table lies: what harness/model/model_gather.c has its slices of L2 from.

usage: l2_slices.py [--card results/cards/h200.json] SERIALIZATION MEASURED CONFIGURATIONS

SERIALIZATION is a result with pattern distinct on path global_l2; MEASURED and CONFIGURATIONS are of
scripts/advise_trial.py. All times are turns of a slice a load: l2_request_ns of the card. Of SERIALIZATION the two that
most places take, of 24. Of MEASURED are configurations whose indices are drawn at random, and which take LONGER as long
on global_l2 as on the fastest path: the shortest, the median and the longest place.
"""

import argparse
import collections
import json
import statistics

import stats

LONGER = 4
COUNTS, STRIDES = (1, 2, 4, 8, 16, 32), (32, 64, 128, 256, 512)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def places(cell):
    """The median of each place."""
    samples, count = cell["time_ns"]["samples"], cell["placements"]
    return [statistics.median(samples[place::count]) for place in range(count)]


def time_of(kept):
    """Of what scripts/advise_trial.py keeps of a cell. Trials of results before version 2.4 have no value: the trimmed
    mean over the places is the nearest to it, where they are kept."""
    if "value" in kept or "by_place" not in kept:
        return kept["value"] if "value" in kept else kept["median"]
    return stats.trimmed_mean(kept["by_place"], 1)[0]


def show_same(result, turn_ns):
    print("all loads read the same: so many addresses, so far apart; turns of a load, and in how many places")
    print(f"{'bytes apart':<14}" + "".join(f"{count:<14}" for count in COUNTS).rstrip())
    cells = {(cell["parameters"].get("distinct"), cell["parameters"].get("stride_bytes")): cell for cell in result["cells"]
             if cell["path"] == "global_l2" and cell["pattern"] == "distinct" and cell["status"] == "ok"}
    for stride in STRIDES:
        row = f"{stride:<14}"
        for count in COUNTS:
            cell = cells[count, stride]
            found = collections.Counter(f"{time / turn_ns / (cell['elements'] / 32):.1f}" for time in places(cell))
            text = next(iter(found)) if len(found) == 1 else " ".join(f"{turns}x{n}" for turns, n in sorted(found.most_common(2)))
            row += f"{text:<14}"
        print(row.rstrip())


def show_random(measured, configurations, turn_ns):
    print("loads read at random: turns of a load in the place that takes the shortest, in the median, and in the longest")
    print(f"{'table':>6} {'width':>5}  {'shortest':>8} {'median':>8} {'longest':>8}")
    rows = []
    for number, found in measured["measured"].items():
        asked, times = configurations[int(number)], found["places"]
        if asked["source"] != "uniform" or time_of(times["global_l2"]) < LONGER * min(map(time_of, times.values())):
            continue
        loads = asked["elements"] * asked["loads"] / 32
        turns = sorted(time / turn_ns / loads for time in times["global_l2"]["by_place"])
        rows.append((asked["table-bytes"], asked["width"], turns[0], statistics.median(turns), turns[-1]))
    for size, width, *turns in sorted(rows):
        print(f"{size:>6} {width:>5}  " + " ".join(f"{value:>8.2f}" for value in turns))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--card", default="results/cards/h200.json")
    parser.add_argument("files", nargs=3, metavar="FILE")
    options = parser.parse_args()
    turn_ns = read(options.card)["l2_request_ns"]
    result, measured, configurations = map(read, options.files)
    show_same(result, turn_ns)
    print()
    show_random(measured, configurations["configurations"], turn_ns)


if __name__ == "__main__":
    main()
