#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""The boards whose default plan was measured at the beginning and at the end of a use.

Proves the table of boards in docs/results.md.

usage: boards.py DIRECTORY

DIRECTORY holds UUID-first.json and UUID-last.json of each board. A kind is the model, the part
number and the groups of SMs that share an L1.5 constant cache, as the result records them; never a
time. For each kind: the boards, the times of the two cells in which kinds are known to differ, from
the smallest to the largest of its results, and by how much any cell of a board differed between its
first and its last result.
"""

import collections
import glob
import json
import os
import sys

CELLS = (
    "add/constant/pseudo_random/128000/1024/hot",
    "add/global/per_warp/12800000/1024/hot",
)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def read_boards(directory):
    """{UUID: [first, last]} of the boards of a folder."""
    found = {}
    for path in sorted(glob.glob(os.path.join(directory, "*-first.json"))):
        first = read(path)
        found[first["device"]["uuid"]] = [first, read(path.replace("-first.json", "-last.json"))]
    return found


def kind_of(result):
    """(model, part number, groups) in words."""
    device = result["device"]
    sizes = collections.Counter(device["board"]["constant_cache_groups"])
    groups = " + ".join(f"{count} x {sms}" for sms, count in sorted(sizes.items(), reverse=True))
    return device["name"], device["board"]["part_number"], groups


def times_of(result):
    """{identity: microseconds} of the cells that were measured without a flag."""
    return {
        cell["identity"]: cell["time_ns"]["value"] / 1000
        for cell in result["cells"]
        if cell["time_ns"] and not cell["flags"]
    }


def drift(first, last):
    """The largest relative difference of a cell."""
    return max(abs(last[cell] / first[cell] - 1) for cell in first if cell in last)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: boards.py DIRECTORY")
    kinds = collections.defaultdict(list)
    for first, last in read_boards(sys.argv[1]).values():
        kinds[kind_of(first)].append((times_of(first), times_of(last)))
    print(
        "| model | part number | groups of SMs | boards | constant, us | global, us | first, last |"
    )
    print("|---|---|---|--:|---|---|--:|")
    for kind, boards in sorted(kinds.items(), key=lambda item: -len(item[1])):
        columns = [*kind, str(len(boards))]
        for cell in CELLS:
            times = [times[cell] for board in boards for times in board if cell in times]
            columns.append(f"{min(times):.2f} to {max(times):.2f}")
        columns.append(f"{100 * max(drift(*board) for board in boards):.2f} %")
        print(f"| {' | '.join(columns)} |")


if __name__ == "__main__":
    main()
