#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Prints by how much duration_ns is above the duration that Nsight Compute reports.

Proves what docs/method.md says of the two.

usage: duration_offset.py FILE...

FILEs are reports of by_hand.py. ncu and cbank measure the same kernels, each launch alone with hot
caches. A row has the launches of one GPU whose duration by ncu lies in a range: the median
difference, the least and the greatest, and the median as a share of the duration.
"""

import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials

BOUNDS_US = (1, 5, 10, 30, 100)


def rows_of(report):
    """(ncu, difference) of each launch that both measured, in ns."""
    return [
        (row["ncu_ns"], row["cbank_alone_ns"] - row["ncu_ns"])
        for row in report["times"]
        if row.get("cbank_alone_ns")
    ]


def main(paths):
    if not paths or paths[0].startswith("-"):
        print(__doc__)
        return 0 if paths == ["--help"] else 2
    print("| GPU | us by ncu | launches | median | from | to | of the duration |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for path in paths:
        report = trials.load(path)
        rows = rows_of(report)
        for low, high in zip(BOUNDS_US, BOUNDS_US[1:]):
            of = [(ncu, more) for ncu, more in rows if 1e3 * low <= ncu < 1e3 * high]
            more = [each for _, each in of]
            if of:
                print(
                    f"| {report['device']['name']} | {low} to {high} | {len(of)} "
                    f"| {statistics.median(more):+.0f} ns | {min(more):+.0f} | {max(more):+.0f} "
                    f"| {100 * statistics.median(each / ncu for ncu, each in of):+.1f} % |"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
