#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Documents that are wrong, for every command that reads them: mutants of committed ones.

usage: tests/attacks/documents.py [--count N] [--seed N] [--committed]

--committed gives every committed file of results/, indices and cubins, as they are, to every
command that reads their kind. A file of no kind that cbank reads is given to one command of each
kind. Small files of each kind alone are taken, unless CBANK_TEST is full.
"""

import glob
import json
import os
import sys

from run import ROOT, Campaign, mutate

MEASURED = os.path.join(ROOT, "tests/corpus/result/measured.json")
ADVISE = ("advise", "--table-bytes", "64", "--elements", "256", "--block-size", "64")
MODEL = (
    "run",
    "--engine",
    "model",
    "--elements",
    "256",
    "--block-size",
    "64",
    "--json",
    "out.json",
)

# For each kind: committed documents that are small enough to mutate, and the command lines that
# read the kind. The first of them refuses any other kind.
KINDS = {
    "result": (
        " ".join(
            [
                f"tests/corpus/result/{name}.json"
                for name in ("in_progress", "measured", "newer_minor", "parameters", "statuses")
            ]
            + ["results/h200/sample-us-2000.json", "results/h200/lookups.json"]
        ),
        [
            ("show", "FILE"),
            ("show", "--cell", "*", "FILE"),
            ("show", "--csv", "FILE"),
            ("show", "--check", "FILE"),
            ("show", "--json", "FILE"),
            ("counters", "FILE"),
            ("counters", "--csv", "FILE"),
            ("counters", "--json", "FILE"),
            ("explain", "FILE"),
            ("explain", "--json", "FILE"),
            ("compare", "--all", "FILE", "FILE"),
            ("compare", "--json", "-", MEASURED, "FILE"),
            ("compare", "--junit", "-", "FILE", MEASURED),
            ("calibrate", "FILE," + MEASURED, "--json", "out.json"),
            ("gate", "FILE", "--engine", "model", "--json", "out.json"),
            ("run", "--resume", "FILE"),
        ],
    ),
    "calibration": (
        "tests/corpus/calibration/calibration*.json results/chips/h200/calibration.json",
        [
            ("compare", "--calibration", "FILE", MEASURED, MEASURED),
            ("show", "FILE"),
            ("show", "--check", "FILE"),
        ],
    ),
    "card": (
        "tests/corpus/card/*.json results/cards/*.json",
        [
            ("show", "FILE"),
            ("show", "--check", "FILE"),
            ("explain", "--card", "FILE", MEASURED),
            (*ADVISE, "--card", "FILE"),
            (*ADVISE, "--card", "FILE", "--json", "-"),
            (*MODEL, "--card", "FILE", "--path", "all"),
        ],
    ),
    "characterization": (
        "results/characterizations/h200.json",
        [
            ("characterize", "--replay", "FILE", "--json", "out.json", "--new-card", "card.json"),
            ("show", "FILE"),
            ("show", "--all", "FILE"),
            ("show", "--check", "FILE"),
            ("characterize", "--replay", "FILE", "--json", "-"),
        ],
    ),
    "written": (
        "results/chips/*/manifest.json tests/golden/compare.json tests/golden/fleet.json",
        [("show", "--all", "FILE"), ("show", "--check", "FILE")],
    ),
    "indices": (
        "tests/corpus/npy/*.npy",
        [
            (
                "run",
                "--engine",
                "model",
                "--workload",
                "lookup",
                "--indices",
                "FILE",
                "--json",
                "out.json",
            ),
            ("advise", "--table-bytes", "64", "--indices", "FILE"),
        ],
    ),
}
# Parts of a large document, whose mutants are read quickly.
CELLS = 3
EXPERIMENT_BYTES_MAX = 3000
SMALL_BYTES = 200_000  # of a committed file, for the quicker suites
COMMITTED_SECONDS = 900  # explain makes the indices of tables of 256 MB again, with sanitizers


def found(patterns):
    return [
        path
        for pattern in patterns.split()
        for path in sorted(glob.glob(os.path.join(ROOT, pattern), recursive=True))
    ]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def sources(patterns):
    for path in found(patterns):
        data = read(path)
        if path.startswith(os.path.join(ROOT, "results/")):
            document = json.loads(data)
            document.get("cells", [])[CELLS:] = []
            document["experiments"] = [
                one
                for one in document.get("experiments", [])
                if len(json.dumps(one)) < EXPERIMENT_BYTES_MAX
            ]
            data = json.dumps(document).encode()
        yield os.path.splitext(path)[1], data


def mutants(campaign):
    originals = {kind: list(sources(patterns)) for kind, (patterns, _) in KINDS.items()}
    for number in range(campaign.options.count):
        kind = list(KINDS)[number % len(KINDS)]
        chance = campaign.chance(number)
        ending, data = chance.choice(originals[kind])
        name = "mutant" + ending
        with open(os.path.join(campaign.folder, name), "wb") as file:
            file.write(mutate(chance, data))
        campaign.attempt(
            f"mutants, {kind}",
            [word.replace("FILE", name) for word in chance.choice(KINDS[kind][1])],
            name,
        )


def kind_of(path):
    """The kind of a committed file, or None."""
    if path.endswith(".npy"):
        return "indices"
    if path.endswith((".cubin", ".fatbin", ".o")):
        return "cubin"
    try:
        document = json.loads(read(path))
    except ValueError:
        return None
    schema = document.get("schema") if isinstance(document, dict) else None
    name = schema.get("name") if isinstance(schema, dict) else None
    return (
        name.removeprefix("cbank-")
        if isinstance(name, str) and name.removeprefix("cbank-") in KINDS
        else None
    )


def committed(campaign):
    files = {}
    for path in found("results/**/*.* tests/corpus/npy/* tests/corpus/cubin/*"):
        if os.path.isfile(path) and "/results/local/" not in path:
            files.setdefault(kind_of(path), []).append(path)
    readers = {
        **{kind: commands for kind, (_, commands) in KINDS.items()},
        "cubin": [(*ADVISE, "--kernel", "FILE")],
        None: [*(commands[0] for _, commands in KINDS.values()), (*ADVISE, "--kernel", "FILE")],
    }
    for kind, paths in files.items():
        paths.sort(key=os.path.getsize)
        for path in [
            path
            for path in paths
            if os.environ.get("CBANK_TEST") == "full"
            or path == paths[0]
            or os.path.getsize(path) < SMALL_BYTES
        ]:
            for command in readers[kind]:
                if "--resume" not in command:  # it changes the file
                    campaign.attempt(
                        f"committed, {kind or 'of no kind'}",
                        [word.replace("FILE", path) for word in command],
                        seconds=COMMITTED_SECONDS,
                    )


def main():
    full = os.environ.get("CBANK_TEST") == "full"
    campaign = Campaign(count=1200 if full else 400, quick=180)
    (committed if "--committed" in campaign.rest else mutants)(campaign)
    sys.exit(campaign.end())


if __name__ == "__main__":
    main()
