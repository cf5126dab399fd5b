#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""How the time of constant loads grows with the blocks of a grid, at one block an SM.

Proves the table of grids in docs/results.md.

usage: grids.py FILE

FILE is a result of add/constant/pseudo_random with one cell for each number of blocks. A step is a
run of four or more numbers of blocks whose times are within 0.5 % of the first. Grids of more
blocks than SMs are left out: their blocks share SMs, too. It was measured by

  cbank run --workload add --path constant --pattern pseudo_random --counters none
            --elements 1024,2048,... --json FILE
"""

import json
import sys

ALIKE = 0.005
LEAST = 4  # numbers of blocks in a step


def steps(times):
    """[(first, last, microseconds)] of {blocks: microseconds}."""
    found = []
    first = None
    for blocks in sorted(times):
        if first is None or abs(times[blocks] / times[first] - 1) > ALIKE:
            first = blocks
            found.append([first, blocks, times[first]])
        found[-1][1] = blocks
    return [step for step in found if step[1] - step[0] + 1 >= LEAST]


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: grids.py FILE")
    with open(sys.argv[1], encoding="utf-8") as file:
        result = json.load(file)
    sms = result["device"]["sm_count"]
    times = {
        cell["elements"] // cell["block_size"]: cell["time_ns"]["value"] / 1000
        for cell in result["cells"]
        if cell["elements"] // cell["block_size"] <= sms
    }
    found = steps(times)
    print("| blocks | numbers of blocks | us | more than the step before |")
    print("|---|--:|--:|--:|")
    for before, (first, last, us) in zip([None, *found], found):
        more = "" if before is None else f"{us - before[2]:+.2f}"
        print(f"| {first} to {last} | {last - first + 1} | {us:.2f} | {more} |")
    groups = result["device"]["board"]["constant_cache_groups"]
    print(f"\n{result['device']['name']} whose constant caches serve {groups} SMs.")


if __name__ == "__main__":
    main()
