#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Compares times of four kernels of the suite with those of a program that was written by hand.

Proves that a time of cbank run --kernel is that of the kernel, without cbank.cuh and with another
way of timing.

usage: by_hand.py [--program build/cbank] [--by-hand PROGRAM] [--nvbench DIR|PROGRAM] --json FILE
[RUN OPTION...]
       by_hand.py --show FILE

The other program is tests/kernels/by_hand.cu, which nvcc compiles, or what --by-hand names. Exits 1
where a launch of 20 us or more differs by more than 3 %, or has no time, and where memory spaces
that differ by more are in another order.

A launch alone, from its start to its end, is measured as well, in three ways: between events, by
ncu, and by cbank run --duration. The last two measure it with cold caches, too.

--nvbench adds the times of NVBench, with its defaults, to the launches that are printed: in a
batch, and cold. DIR has include/ and lib/libnvbench of NVBench, for
tests/kernels/by_hand_nvbench.cu. PROGRAM is that file compiled.
"""

import csv
import itertools
import json
import math
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials

LEAST_NS = 20000  # of a launch that is compared
MOST = 0.03
SHOWN = ("constant", "global", "shared")  # the differences of the others are a line
KERNELS = os.path.join(trials.ROOT, "tests/kernels")
COMPILER = ("nvcc", "-O3", "-std=c++17", "-default-stream", "per-thread", "-arch=native", "-o")
LAUNCH = ("kernel", "size", "space")
# columns of its CSV
NVBENCH = {"nvbench_ns": "Batch GPU (sec)", "nvbench_cold_ns": "GPU Time (sec)"}
# Groups of columns, and in each the key of a row by heading.
COLUMNS = {
    "in a chain": {
        "by hand": "time_ns",
        "cbank": "cbank_ns",
        "%": "difference",
        "NVBench": "nvbench_ns",
    },
    "alone": {"events": "alone_ns", "ncu": "ncu_ns", "cbank": "cbank_alone_ns"},
    "cold": {"ncu": "ncu_cold_ns", "cbank": "cbank_cold_ns", "NVBench": "nvbench_cold_ns"},
}


def options(parser):
    parser.add_argument("--by-hand", metavar="PROGRAM")
    parser.add_argument("--nvbench", metavar="DIR|PROGRAM")


def profile(program, times, key, cache_control):
    """Adds the median of ncu's durations of the launches alone to times: as many of each, in the
    order of times."""
    lines = trials.call(
        "ncu",
        "--csv",
        "--clock-control",
        "none",
        "--cache-control",
        cache_control,
        "--print-units",
        "base",
        "--kernel-name",
        "regex:^(?!fill_with)",
        "--metrics",
        "gpu__time_duration.sum",
        program,
        "launch",
    ).stdout
    rows = csv.DictReader(lines[lines.index('"ID"') :].splitlines())
    durations = [float(row["Metric Value"].replace(",", "")) for row in rows]
    each = len(durations) // len(times)
    for i, row in enumerate(times):
        row[key] = statistics.median(durations[i * each : (i + 1) * each])


def run_nvbench(program, folder, rows):
    """Adds NVBench's times to rows, from its CSV; returns its version."""
    if os.path.isdir(program):
        library, program = os.path.abspath(program), os.path.join(folder, "nvbench")
        trials.call(
            *COMPILER,
            program,
            f"{KERNELS}/by_hand_nvbench.cu",
            f"-I{library}/include",
            f"-L{library}/lib",
            "-lnvbench",
            f"-Xlinker=-rpath={library}/lib",
        )
    states = [
        word
        for row in rows
        for word in (
            "--benchmark",
            "by_hand",
            *itertools.chain(*(("--axis", f"{key}={row[key]}") for key in LAUNCH)),
        )
    ]
    said = trials.call(program, "--quiet", "--devices", "0", "--csv", "stdout", *states).stdout
    found = {tuple(line[key] for key in LAUNCH): line for line in csv.DictReader(said.splitlines())}
    for row, (key, column) in itertools.product(rows, NVBENCH.items()):
        launch = tuple(str(row[key]) for key in LAUNCH)
        row[key] = 1e9 * float(found.get(launch, {}).get(column) or "nan")
        if not row[key] > 0:
            trials.fail(f"NVBench has no {column} of {' '.join(launch)}")
    return trials.call(program, "--version").stdout.strip()


def make(arguments, rest):
    with tempfile.TemporaryDirectory() as folder:
        program = arguments.by_hand or os.path.join(folder, "by_hand")
        if not arguments.by_hand:
            trials.call(*COMPILER, program, f"{KERNELS}/by_hand.cu")
        by_hand = json.loads(trials.call(program).stdout)
        profile(program, by_hand["times"], "ncu_ns", "none")
        profile(program, by_hand["times"], "ncu_cold_ns", "all")
        shown = [
            row for row in by_hand["times"] if row["time_ns"] >= LEAST_NS and row["space"] in SHOWN
        ]
        nvbench = run_nvbench(arguments.nvbench, folder, shown) if arguments.nvbench else None
        files = dict.fromkeys(
            os.path.join(trials.ROOT, f"examples/{row['kernel']}.cu") for row in by_hand["times"]
        )
        result, _ = trials.read(
            trials.measure(
                arguments.program,
                os.path.join(folder, "result.json"),
                "--kernel",
                ",".join(files),
                "--counters",
                "none",
                "--duration",
                "--cache-state",
                "all",
                *rest,
            )
        )
    measured = {
        (
            cell["workload"],
            cell["elements"],
            cell["kernel_file"]["spaces"],
            cell["cache_state"],
        ): cell
        for cell in result["cells"]
        if cell["status"] == "ok" and "kernel_file" in cell
    }
    if by_hand["device"] != result["device"]["name"]:
        trials.fail(f"one side is of {by_hand['device']}, the other of {result['device']['name']}")
    for row in by_hand["times"]:
        for key, of, state in (
            ("cbank_ns", "time_ns", "hot"),
            ("cbank_alone_ns", "duration_ns", "hot"),
            ("cbank_cold_ns", "duration_ns", "cold"),
        ):
            row[key] = (
                measured.get((row["kernel"], row["size"], row["space"], state), {})
                .get(of, {})
                .get("value")
            )
    return {**trials.origin(result), "nvbench": nvbench, "times": by_hand["times"]}


def out_of_order(rows):
    """Pairs of memory spaces that differ by more than MOST on one side, and are in another order
    on the other."""
    for a, b in itertools.combinations(rows, 2):
        ratios = [a[key] / b[key] for key in ("time_ns", "cbank_ns")]
        differs = any(not 1 / (1 + MOST) <= ratio <= 1 + MOST for ratio in ratios)
        if differs and (ratios[0] > 1) != (ratios[1] > 1):
            yield a["space"], b["space"]


def show(report):
    """Prints the times of three memory spaces and of what disagrees; returns whether all that is
    compared agrees."""
    absent = [
        " ".join(str(row[key]) for key in LAUNCH)
        for row in report["times"]
        if row["cbank_ns"] is None
    ]
    met, compared, others = not absent, 0, []
    for row in report["times"]:
        row["difference"] = (
            100 * (row["cbank_ns"] / row["time_ns"] - 1) if row["cbank_ns"] else math.nan
        )
    columns = {
        group: {
            heading: key
            for heading, key in of.items()
            if any(key in row for row in report["times"])
        }
        for group, of in COLUMNS.items()
    }
    keys = [key for of in columns.values() for key in of.values()]
    print(f"{report['device']['name']}: us a launch; %: cbank to by hand")
    print(
        " " * 15
        + "".join(f"  {f' {group} ':-^{8 * len(of) - 2}}" for group, of in columns.items() if of)
    )
    print(" " * 15 + "".join(f"{heading:>8}" for of in columns.values() for heading in of))
    for (kernel, size), group in itertools.groupby(
        report["times"], lambda row: (row["kernel"], row["size"])
    ):
        long = sorted(
            (row for row in group if row["time_ns"] >= LEAST_NS), key=lambda row: row["time_ns"]
        )
        if long:
            print(f"{kernel}, {size}")
        for row in long:
            agrees = abs(row["difference"]) <= 100 * MOST
            met, compared = met and agrees, compared + 1
            if agrees and row["space"] not in SHOWN:
                others.append(row["difference"])
                continue
            values = "".join(
                f"{row[key]:+8.2f}"
                if key == "difference"
                else f"{(row.get(key) or math.nan) / 1e3:8.2f}"
                for key in keys
            )
            print(f"  {row['space']:13}{values}{'' if agrees else '   MISSED'}")
        for pair in out_of_order([row for row in long if row["cbank_ns"]]):
            print(f"  {pair[0]} and {pair[1]}: another order   MISSED")
            met = False
    for name in absent:
        print(f"cbank has no time of {name}   MISSED")
    if others:
        print(f"{len(others)} in other memory spaces: {min(others):+.2f} to {max(others):+.2f} %")
    print(f"{compared} times of 20 us or more: {'all agree' if met and compared else 'MISSED'}")
    return met and compared > 0


if __name__ == "__main__":
    trials.main(__doc__, options, make, show)
