#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""The limits of one card go into another of the same chip, with their evidence.

usage: card_limits.py FROM INTO

A limit is a number whose key has the word limit: a stream measured it. `make cards` keeps the other
numbers of a chip, which rest on many results, where streams were measured later.
"""

import json
import pathlib
import sys


def read(name):
    return json.loads(pathlib.Path(name).read_text(encoding="utf-8"))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    measured, card = read(sys.argv[1]), read(sys.argv[2])
    if measured["chip"] != card["chip"]:
        sys.exit(f"card_limits: {sys.argv[1]} is of {measured['chip']}, not of {card['chip']}")
    for key, number in measured["model"].items():
        if "_limit_" not in key or number is None:
            continue
        card["model"][key] = number
        for name in number.get("evidence", []):
            card["evidence"][name] = measured["evidence"][name]
    text = json.dumps(card, indent="\t", ensure_ascii=False)
    pathlib.Path(sys.argv[2]).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
