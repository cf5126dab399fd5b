#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the store of a fleet that is not there, by the documented schema: GPUs of many nodes, night after night.

usage: make_fleet.py STORE [--gpus 800] [--nights 60] [--seed 1] [--quiet] [--tails normal|heavy] [--planted FILE]

Times are those of 24 cells of an H200, and what processes differ by is what was seen of each (results/h200/gate); boards
differ by 1 %. A node has 8 GPUs. Unless --quiet, there is planted, each in GPUs or nodes of their own: a driver that
makes all 1 % slower, on one night for all; GPUs that become 1.5 % slower in one path, at once; one that does by 3 % over
30 nights; a node that does by 5 % in one path; in the last night a GPU that does not answer, a whole node that does not,
and a board that was replaced. --planted writes what, as JSON. Equal arguments make an equal store.
"""

import argparse
import datetime
import glob
import hashlib
import json
import math
import os
import random
import re
import sqlite3
import sys

import upgrade

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NODE = 8
RANGE_OF_20 = 3.735  # mean of the range of 20 normal values of deviation 1
BOARD = 0.01
APPLICATION = 0x63626E6B  # of store.c
FIRST_NIGHT = int(datetime.datetime(2026, 1, 1, 22, tzinfo=datetime.timezone.utc).timestamp())
DAY = 86400
DRIVERS = ("580.159.04", "590.44.01")
DEVIATION = r"^DEVIATION\((\w+), (\w+), ([\d.]+), ([\d.]+), ([\d.]+)\)"
CELL_KEYS = ("workload", "path", "pattern", "elements", "block_size", "regime", "parameters", "array_bytes")
STEPS, PATHS = 4, ("constant", "global", "readonly")


def read(path):
    return upgrade.read(os.path.join(ROOT, path))


def known_cells():
    """(cell of the result, time, deviation between processes) of each."""
    noise = {(c["path"], c["pattern"], c["elements"]): math.log1p(c["noise"]) / RANGE_OF_20
             for c in read("results/h200/gate/calibration.json")["cells"]}
    return [(cell, cell["time_ns"]["value"], noise[cell["path"], cell["pattern"], cell["elements"]])
            for cell in read("results/h200/core-matrix.json")["cells"]]


def uuid(seed, gpu):
    text = hashlib.sha256(f"{seed} {gpu}".encode()).hexdigest()
    return f"GPU-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"


def draw(rng, tails):
    """A value of deviation 1."""
    value = rng.gauss(0, 1)
    return value if tails == "normal" else value / math.sqrt(sum(rng.gauss(0, 1) ** 2 for _ in range(3)) / 3) / math.sqrt(3)


def choose(rng, gpus, nights):
    """What is planted: a list of objects with kind, gpus, and what else is of the kind. Each in a node of its own."""
    nodes = rng.sample(range(gpus // NODE), min(gpus // NODE, STEPS + 5))
    take = lambda: nodes.pop() * NODE + rng.randrange(NODE)  # noqa: E731
    late = lambda: rng.randrange(nights // 2 + 1, nights - 1)  # noqa: E731
    plants = [{"kind": "driver", "gpus": list(range(gpus)), "night": late(), "change": 0.01}]
    plants += [{"kind": "step", "gpus": [take()], "night": late(), "change": 0.015, "path": rng.choice(PATHS)}
               for _ in range(STEPS) if len(nodes) > 4]
    if nodes:
        plants.append({"kind": "drift", "gpus": [take()], "night": max(0, nights - 30), "change": 0.03, "path": rng.choice(PATHS)})
    if nodes:
        first = nodes.pop() * NODE
        plants.append({"kind": "node", "gpus": list(range(first, first + NODE)), "night": late(), "change": 0.05, "path": rng.choice(PATHS)})
    if nodes:
        plants.append({"kind": "missing", "gpus": [take()], "night": nights - 1})
    if nodes:
        plants.append({"kind": "replaced", "gpus": [take()], "night": nights - 1})
    if nodes:
        first = nodes.pop() * NODE
        plants.append({"kind": "missing", "gpus": list(range(first, first + NODE)), "night": nights - 1})
    return plants


def change_of(plants, gpu, path, night, nights):
    """Of the logarithm of the time."""
    total = 0
    for plant in plants:
        if "change" in plant and gpu in plant["gpus"] and night >= plant["night"] and plant.get("path", path) == path:
            share = (night - plant["night"] + 1) / (nights - plant["night"]) if plant["kind"] == "drift" else 1
            total += share * math.log1p(plant["change"])
    return total


def prepare(store, cells):
    """An empty store with the cells' identities."""
    steps = sorted(glob.glob(os.path.join(ROOT, "harness/store/store_*.sql")))
    for step in steps:
        with open(step, encoding="utf-8") as file:
            store.executescript(file.read())
    with open(os.path.join(ROOT, "harness/compare/deviation.def"), encoding="utf-8") as file:
        store.executemany("INSERT INTO default_deviations VALUES (?, ?, ?, ?, ?)", re.findall(DEVIATION, file.read(), re.MULTILINE))
    store.execute(f"PRAGMA application_id = {APPLICATION}")
    store.execute(f"PRAGMA user_version = {len(steps)}")
    store.execute("INSERT INTO geometries VALUES (1, 'NVIDIA H200', 'GH100', '9.0', 132, 64, 32, 233472, 1024, 62914560, 150109880320)")
    store.execute("INSERT INTO counter_sets VALUES (1, 'none')")
    for index, (cell, _, _) in enumerate(cells):
        identity = "/".join(str(cell[key]) for key in ("workload", "path", "pattern", "elements", "block_size", "regime"))
        store.execute("INSERT INTO identities VALUES (?, ?, ?)", (index + 1, identity, json.dumps({"identity": identity, **{key: cell[key] for key in CELL_KEYS}})))
        store.execute("INSERT OR IGNORE INTO kernels (sass_sha256) VALUES (?)", (cell["kernel"]["sass_sha256"],))


def runs_of(store, args, plants):
    """Adds the runs; gives (run, GPU, night) of each."""
    number = {key: index for index, key in enumerate((*range(args.gpus), *(-1 - g for p in plants if p["kind"] == "replaced" for g in p["gpus"])))}
    for key, index in number.items():
        store.execute("INSERT INTO gpus VALUES (?, ?, 'NVIDIA H200')", (index + 1, uuid(args.seed, key)))
    run = 0
    for night in range(args.nights):
        driver = DRIVERS[any(p["kind"] == "driver" and night >= p["night"] for p in plants)]
        for gpu in range(args.gpus):
            gone = {p["kind"] for p in plants if p["kind"] in ("missing", "replaced") and gpu in p["gpus"] and night >= p["night"]}
            if "missing" in gone:
                continue
            board = -1 - gpu if "replaced" in gone else gpu
            run += 1
            started = FIRST_NIGHT + night * DAY + 20 * (gpu % NODE) + gpu // NODE % 7
            slot = f"00000000:{gpu % NODE + 1:02X}:00.0"
            store.execute("INSERT INTO runs (run_id, hash, file, started_utc, finished_utc, gpu_id, geometry_id, host_name, host_slot,"
                          " engine, modelled, driver, vbios, tool_version, git_commit, argv, complete)"
                          " VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, 'cuda', 0, ?, '96.00.A5.00.1A', '0.1.0', NULL, 'cbank run', 1)",
                          (run, hashlib.sha256(f"{args.seed} {run}".encode()).hexdigest(), f"{night:03}/{gpu:04}.json", started, started + 2,
                           number[board] + 1, f"n{gpu // NODE:03}", slot, driver))
            yield run, board, gpu, night


def fill(store, args, plants, cells):
    rng = random.Random(args.seed)
    levels, rows = {}, [[] for _ in cells]
    kernels = dict(store.execute("SELECT sass_sha256, kernel_id FROM kernels"))
    for run, board, gpu, night in runs_of(store, args, plants):
        shared = draw(rng, args.tails)
        if board not in levels:
            together = rng.gauss(0, 1)
            levels[board] = [BOARD * (together + rng.gauss(0, 1)) / math.sqrt(2) for _ in cells]
        of = [plant for plant in plants if gpu in plant["gpus"]]
        for index, (cell, time, deviation) in enumerate(cells):
            moved = levels[board][index] + deviation * (shared + draw(rng, args.tails)) / math.sqrt(2)
            ns = time * math.exp(moved + change_of(of, gpu, cell["path"], night, args.nights))
            rows[index].append((index + 1, run, ns, ns * 0.9993, ns * 1.0007, kernels[cell["kernel"]["sass_sha256"]]))
    for of_cell in rows:
        store.executemany("INSERT INTO times (identity_id, run_id, time_ns, ci_low_ns, ci_high_ns, flags, status, verified,"
                          " sample_count, kernel_id, counter_set_id) VALUES (?, ?, ?, ?, ?, 0, 'ok', 1, 20, ?, 1)", of_cell)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
    cells = known_cells()
    plants = [] if args.quiet else choose(random.Random(-args.seed), args.gpus, args.nights)
    store = sqlite3.connect(args.store)
    with store:
        prepare(store, cells)
        fill(store, args, plants, cells)
    store.close()
    for plant in plants:
        if plant["kind"] == "replaced":
            plant["by"] = [uuid(args.seed, -1 - gpu) for gpu in plant["gpus"]]
        plant["hosts"] = sorted({f"n{gpu // NODE:03}" for gpu in plant["gpus"]})
        plant["gpus"] = [uuid(args.seed, gpu) for gpu in plant["gpus"]]
    if args.planted:
        with open(args.planted, "w", encoding="utf-8") as file:
            json.dump(plants, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
