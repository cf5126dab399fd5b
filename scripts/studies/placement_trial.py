#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Holds what cbank advise --kernel says of a table in constant memory against the times of this
GPU, as written and as advised.

usage: placement_trial.py [--program build/cbank] [--nvcc nvcc] [--header kernels] --json FILE
       placement_trial.py --show FILE

A gain is predicted where the verdict is `faster elsewhere`. Exits 1 when less than 12 gains are
predicted, one has the wrong sign, or more than a tenth of the measured factors lie beyond the
bounds.
"""

import json
import math
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials

SOURCE = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "../../tests/kernels/placement.cu"
)
GAINS_LEAST, BEYOND_MOST = 12, 0.1
# name: (entry, entries, index)
ROWS = {
    "known": ("unsigned", 256, "5"),
    "argument": ("unsigned", 256, "given"),
    "block": ("unsigned", 256, "block & 7"),
    "warp": ("unsigned", 256, "thread / 32"),
    "pairs_of_lanes": ("unsigned", 256, "lane & 1"),
    "fours": ("unsigned", 256, "lane & 3"),
    "uneven": ("unsigned", 256, "lane & 5"),
    "eights": ("unsigned", 256, "lane & 7"),
    "sixteens": ("unsigned", 256, "lane & 15"),
    "quarters": ("unsigned", 256, "lane / 4"),
    "halves": ("unsigned", 256, "lane / 16"),
    "own": ("unsigned", 512, "thread"),
    "permuted": ("unsigned", 256, "lane ^ 5"),
    "backwards": ("unsigned", 512, "255 - thread"),
    "twice": ("unsigned", 1024, "thread * 2"),
    "thrice": ("unsigned", 1024, "thread * 3"),
    "lines": ("unsigned", 1024, "lane * 16"),
    "rows": ("unsigned", 2048, "lane * 32"),
    "rows_of_eight": ("unsigned", 1024, "(lane & 7) * 32"),
    "rows_padded": ("unsigned", 2048, "lane * 33"),
    "bytes": ("uint8_t", 512, "thread"),
    "bytes_of_four": ("uint8_t", 256, "lane & 3"),
    "eight_bytes": ("uint2", 512, "thread"),
    "eight_bytes_halves": ("uint2", 256, "lane / 2"),
    "sixteen_bytes": ("uint4", 512, "thread"),
    "sixteen_bytes_fours": ("uint4", 256, "lane & 3"),
    "sixteen_bytes_warp": ("uint4", 256, "thread / 32"),
}
KEYS = (
    "addresses",
    "wavefronts",
    "variation",
    "verdict",
    "better",
    "unit_time_ratio",
    "low",
    "high",
)


def options(parser):
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--header", default="kernels", help="folder of cbank.cuh")
    parser.add_argument("--card", default="h100")


def measured(arguments, macros, rest, path):
    """The result of the kernel with these macros, of two memory spaces."""
    options = ["--space", "constant,shared", "--quiet", "--counters", "none"]
    options += [f"--compiler-options={' '.join(macros)}", *rest, "--json", path]
    trials.call(arguments.program, "run", "--kernel", SOURCE, *options)
    return trials.load(path)


def predicted(arguments, macros, architecture, cubin):
    """What advise says of the table of the same kernel, by its machine code."""
    compiled = ["-cubin", f"-arch=sm_{architecture}", "-I", arguments.header]
    trials.call(arguments.nvcc, *compiled, *macros, "-o", cubin, SOURCE)
    options = ["--card", arguments.card, "--table-bytes", "256", "--json", "-"]
    done = trials.call(arguments.program, "advise", "--kernel", cubin, *options)
    return next(
        table
        for kernel in json.loads(done.stdout)["code"]["kernels"]
        for table in kernel["tables"]
        if table["memory"] == "constant"
    )


def make(arguments, rest):
    rows, result = [], None
    with tempfile.TemporaryDirectory() as folder:
        for name, (entry, entries, index) in ROWS.items():
            macros = [
                f"-DENTRY={entry}",
                f"-DENTRIES={entries}",
                f"-DINDEX={index.replace(' ', '')}",
            ]
            result = measured(arguments, macros, rest, os.path.join(folder, f"{name}.json"))
            architecture = result["device"]["compute_capability"].replace(".", "")
            table = predicted(
                arguments, macros, architecture, os.path.join(folder, f"{name}.cubin")
            )
            rows.append(
                {
                    "name": name,
                    "entry": entry,
                    "index": index,
                    "predicted": {key: table[key] for key in KEYS},
                    "measured": {
                        cell["path"]: {
                            "verified": cell["verified"],
                            **{key: cell["time_ns"][key] for key in ("value", "ci_low", "ci_high")},
                        }
                        for cell in result["cells"]
                    },
                }
            )
    return {**trials.origin(result), "card": arguments.card, "rows": rows}


def show(report):
    """Prints a line for each row and the counts that are asked for."""
    gains, wrong, beyond, unverified = 0, 0, 0, 0
    print(f"{report['device']['name']}, by the card {report['card']}")
    print(
        f"{'':20}{'entry':>9} {'index':18}{'addresses':>10} "
        f" {'verdict':18}{'predicted':>10}{'low':>8}{'high':>8}{'measured':>10}"
    )
    for row in report["rows"]:
        predicted, places = row["predicted"], row["measured"]
        factor = places["constant"]["value"] / places["shared"]["value"]
        gain = predicted["verdict"] == "faster elsewhere"
        inside = not gain or predicted["low"] <= factor <= (predicted["high"] or math.inf)
        gains, wrong, beyond = gains + gain, wrong + (gain and factor <= 1), beyond + (not inside)
        unverified += sum(not place["verified"] for place in places.values())
        numbers = "".join(
            f"{predicted[key]:{width}.2f}" if predicted[key] else " " * width
            for key, width in (("unit_time_ratio", 10), ("low", 8), ("high", 8))
        )
        print(
            f"{row['name']:20}{row['entry']:>9} {row['index']:18}"
            f"{predicted['addresses'] or 0:10.1f} "
            f" {predicted['verdict']:18}{numbers}{factor:10.2f}{'' if inside else '  beyond'}"
        )
    print(
        f"{len(report['rows'])} kernels, {unverified} outputs not verified; {gains} gains predicted"
        f" ({GAINS_LEAST} asked for), {wrong} of the wrong sign, {beyond} beyond the bounds"
    )
    return not unverified and gains >= GAINS_LEAST and not wrong and beyond <= BEYOND_MOST * gains


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
