#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Shows what `cbank fleet` finds: makes the store of a fleet that does not exist, with known
changes in it.

usage: make_fleet.py STORE [--gpus 800] [--nights 60] [--seed 1] [--quiet] [--tails normal|heavy]
[--planted FILE]

Times are those of 24 cells of an H200. Processes differ by what was seen of each cell
(results/h200/gate); boards differ by 1 %. A node has 8 GPUs. Unless --quiet, changes are planted,
each in GPUs or nodes of their own. On one night a driver makes all 1 % slower. GPUs become 1.5 %
slower in one path at once, one by 3 % over 30 nights, and a node by 5 %. In the last night a GPU
and a whole node do not answer, and a board was replaced. --planted writes the changes as JSON.
Equal arguments make an equal store.
"""

import argparse
import hashlib
import json
import math
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials
from cbank import chips, dates, kept, store as stores

NODE = 8
RANGE_OF_20 = 3.735  # mean of the range of 20 normal values of deviation 1
BOARD = 0.01
FIRST_NIGHT_MS = dates.read_time("2026-01-01T22:00:00Z")
DAY_MS = 86400_000
DRIVERS = ("580.159.04", "590.44.01")
STEPS, PATHS = 4, ("constant", "global", "readonly")
GEOMETRY = ("GH100", "9.0", 132, 64, 32, 233472, 1024, 62914560, 150109880320)


def read(path):
    return trials.load(os.path.join(trials.ROOT, path))


def known_cells():
    """(cell of the result, time in ns, deviation between processes) of each."""
    noise = {
        (c["path"], c["pattern"], c["elements"]): math.log1p(c["noise"]) / RANGE_OF_20
        for c in read("results/h200/gate/calibration.json")["cells"]
    }
    return [
        (cell, cell["time_ns"]["value"], noise[cell["path"], cell["pattern"], cell["elements"]])
        for cell in read("results/h200/core-matrix.json")["cells"]
    ]


def uuid(seed, gpu):
    text = hashlib.sha256(f"{seed} {gpu}".encode()).hexdigest()
    return f"GPU-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"


def choose(rng, gpus, nights):
    """Changes to plant, each in a node of its own: objects with kind, gpus, night, change and
    path."""
    nodes = rng.sample(range(gpus // NODE), min(gpus // NODE, STEPS + 5))
    take = lambda: [nodes.pop() * NODE + rng.randrange(NODE)]  # noqa: E731
    late = lambda: rng.randrange(nights // 2 + 1, nights - 1)  # noqa: E731
    plants = [{"kind": "driver", "gpus": list(range(gpus)), "night": late(), "change": 0.01}]
    plants += [
        {
            "kind": "step",
            "gpus": take(),
            "night": late(),
            "change": 0.015,
            "path": rng.choice(PATHS),
        }
        for _ in range(STEPS)
        if len(nodes) > 4
    ]
    if nodes:
        plants.append(
            {
                "kind": "drift",
                "gpus": take(),
                "night": max(0, nights - 30),
                "change": 0.03,
                "path": rng.choice(PATHS),
            }
        )
    if nodes:
        first = nodes.pop() * NODE
        plants.append(
            {
                "kind": "node",
                "gpus": list(range(first, first + NODE)),
                "night": late(),
                "change": 0.05,
                "path": rng.choice(PATHS),
            }
        )
    plants += [
        {"kind": kind, "gpus": take(), "night": nights - 1}
        for kind in ("missing", "replaced")
        if nodes
    ]
    if nodes:
        first = nodes.pop() * NODE
        plants.append(
            {"kind": "missing", "gpus": list(range(first, first + NODE)), "night": nights - 1}
        )
    return plants


def change_of(plants, gpu, path, night, nights):
    """The change of the logarithm of the time."""
    total = 0
    for plant in plants:
        if (
            "change" in plant
            and gpu in plant["gpus"]
            and night >= plant["night"]
            and plant.get("path", path) == path
        ):
            share = (
                (night - plant["night"] + 1) / (nights - plant["night"])
                if plant["kind"] == "drift"
                else 1
            )
            total += share * math.log1p(plant["change"])
    return total


def runs_of(writer, args, plants):
    """(row of runs, board, GPU, night) of each."""
    run = 0
    for night in range(args.nights):
        driver = DRIVERS[any(p["kind"] == "driver" and night >= p["night"] for p in plants)]
        for gpu in range(args.gpus):
            gone = {
                p["kind"]
                for p in plants
                if p["kind"] in ("missing", "replaced") and gpu in p["gpus"] and night >= p["night"]
            }
            if "missing" in gone:
                continue
            board = -1 - gpu if "replaced" in gone else gpu
            run += 1
            started = FIRST_NIGHT_MS + night * DAY_MS + 1000 * (20 * (gpu % NODE) + gpu // NODE % 7)
            setup = writer.setup(
                (
                    uuid(args.seed, board),
                    "NVIDIA H200",
                    "cuda",
                    False,
                    f"n{gpu // NODE:03}",
                    f"00000000:{gpu % NODE + 1:02X}:00.0",
                    driver,
                    "96.00.A5.00.1A",
                    json.dumps(dict(zip(kept.GEOMETRY, GEOMETRY))),
                    None,
                    None,
                )
            )
            yield (
                run,
                hashlib.sha256(f"{args.seed} {run}".encode()).hexdigest(),
                f"{night:03}/{gpu:04}.json",
                started,
                started + 2000,
                setup,
                None,
                "0.1.0",
                None,
                True,
                24,
                0,
            ), board, gpu, night


def fill(store, args, plants, cells):
    rng, writer = random.Random(args.seed), stores.Writer(store)
    levels, rows = {}, [[] for _ in cells]
    keys = [
        (
            writer.key("identities", "identity", cell["identity"]),
            writer.key("kernels", "sass_sha256", cell["kernel"]["sass_sha256"]),
        )
        for cell, _, _ in cells
    ]
    counters = writer.shared("counter_sets", "counters", "{}")
    for run, board, gpu, night in runs_of(writer, args, plants):
        shared = trials.draw(rng, args.tails)
        if board not in levels:
            together = rng.gauss(0, 1)
            levels[board] = [BOARD * (together + rng.gauss(0, 1)) / math.sqrt(2) for _ in cells]
        of = [plant for plant in plants if gpu in plant["gpus"]]
        for index, (cell, time, deviation) in enumerate(cells):
            moved = levels[board][index] + deviation * (
                shared + trials.draw(rng, args.tails)
            ) / math.sqrt(2)
            ns = time * math.exp(moved + change_of(of, gpu, cell["path"], night, args.nights))
            identity, kernel = keys[index]
            rows[index].append(
                (
                    identity,
                    run[0],
                    ns,
                    ns * 0.9993,
                    ns * 1.0007,
                    None,
                    None,
                    "ok",
                    None,
                    1,
                    kernel,
                    counters,
                )
            )
        writer.add_run(run, [of_cell[-1] for of_cell in rows])
    writer.seal()
    for of_cell in rows:
        store.executemany("INSERT INTO times VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", of_cell)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("store")
    parser.add_argument("--gpus", type=int, default=800)
    parser.add_argument("--nights", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--tails", choices=("normal", "heavy"), default="normal")
    parser.add_argument("--planted", metavar="FILE")
    args = parser.parse_args()
    if args.gpus < NODE or args.gpus % NODE or args.nights < (1 if args.quiet else 5):
        parser.error(f"whole nodes of {NODE} GPUs, and 5 nights or more")
    if os.path.exists(args.store):
        sys.exit(f"make_fleet: {args.store} is there already")
    plants = [] if args.quiet else choose(random.Random(-args.seed), args.gpus, args.nights)
    store = stores.open_to_write(args.store)
    store.execute("BEGIN IMMEDIATE")
    fill(store, args, plants, known_cells())
    store.execute("COMMIT")
    store.close()
    for plant in plants:
        if plant["kind"] == "replaced":
            plant["by"] = [uuid(args.seed, -1 - gpu) for gpu in plant["gpus"]]
        plant["hosts"] = sorted({f"n{gpu // NODE:03}" for gpu in plant["gpus"]})
        plant["gpus"] = [uuid(args.seed, gpu) for gpu in plant["gpus"]]
    if args.planted:
        chips.write_json(args.planted, plants)


if __name__ == "__main__":
    main()
