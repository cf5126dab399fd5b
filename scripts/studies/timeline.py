#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Prints a timeline of cbank run --trace as a picture of text: when each phase was, and how busy
the GPU was in samples meanwhile.

usage: timeline.py --show FILE
"""

import json
import sys

COLUMNS = 64  # of the whole run
MARK, SHARES = "#", " .:-=+*#@"  # of a phase; of a column that the GPU was in samples, up to all


def spans_of(document):
    """{name of a row: [(name, begin, end) in seconds]}."""
    named = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in document["traceEvents"]
        if event["name"] == "thread_name"
    }
    spans = {}
    for event in document["traceEvents"]:
        if event["ph"] == "X":
            row = named[event["pid"], event["tid"]]
            begin = 1e-6 * event["ts"]
            spans.setdefault(row, []).append((event["name"], begin, begin + 1e-6 * event["dur"]))
    return spans


def overlap(spans, begin, end):
    """Seconds that spans have within an interval."""
    return sum(max(0, min(end, to) - max(begin, at)) for _, at, to in spans)


def show(document):
    spans = spans_of(document)
    samples = spans.get("samples", [])
    whole = max(end for _, _, end in spans["phases"])
    step = whole / COLUMNS
    columns = [(step * number, step * (number + 1)) for number in range(COLUMNS)]
    about = document["otherData"]
    print(f"{about['device']}: {whole:.2f} s, {step * 1e3:.0f} ms a column")
    print(f"{'phase':<16} {'seconds':>7} {'samples':>8}")
    for name, begin, end in spans["phases"]:
        if end - begin < 1e-3:
            continue
        share = overlap(samples, begin, end) / (end - begin)
        marks = "".join(MARK if begin < to and end > at else " " for at, to in columns)
        print(f"{name:<16} {end - begin:>7.3f} {share:>8.0%} {marks}".rstrip())
    busy = "".join(
        SHARES[min(len(SHARES) - 1, int(len(SHARES) * overlap(samples, *column) / step))]
        for column in columns
    )
    print(f"{'GPU in samples':<16} {overlap(samples, 0, whole):>7.3f} {'':>8} {busy}".rstrip())
    print(f"rows of the GPU may be off by {about['device_shift_us_max']:.0f} us")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "--show":
        sys.exit("usage: timeline.py --show FILE")
    with open(sys.argv[2], encoding="utf-8") as file:
        show(json.load(file))
