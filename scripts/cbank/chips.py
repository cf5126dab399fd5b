# SPDX-License-Identifier: MIT
"""The folder of a chip, results/chips/NAME: its files, the command that leaves each, and the
manifest that lists them."""

from __future__ import annotations

import hashlib
import json
import os
from collections import namedtuple

from . import files
from .errors import Failure

MANIFEST = "manifest.json"
SCRATCH = ".again.json"  # of the warm-up and the replay

# A file of the folder. `words` of the instrument leave it, without --json FILE; `brief` are those
# of a folder for tests. `seconds` is what that takes on an H200.
Step = namedtuple("Step", "file what kind words brief seconds")

RUN = "run --engine cuda --quiet --anonymous"
FEW = "--counters instructions"
SMALL = "--elements 12800 --path constant,global --pattern per_block,per_warp --max-samples 60"
DIVERGENT = "sm__idc_divergent_instructions.sum,sm__idc_divergent_instruction_replays.sum"
SIZES = (
    "128000,270336,540672,1000000,2000000,4000000,6000000,8000000,10000000,12800000,25600000,"
    "51200000"
)
CARD = f"characterize --quiet --replay characterization.json --json {SCRATCH} --new-card card.json"

# Plans of many cells keep few samples, so that a folder stays below BYTES_MAX.
STEPS = (
    Step(
        "core-matrix.json",
        "the default plan",
        "result",
        f"{RUN} --max-samples 200",
        f"{RUN} {SMALL}",
        8,
    ),
    Step(
        "core-matrix-cold.json",
        "the default plan, caches flushed",
        "result",
        f"{RUN} --max-samples 200 --cache-state cold",
        f"{RUN} {SMALL} --cache-state cold",
        5,
    ),
    Step(
        "second-process.json",
        "the default plan by another process",
        "result",
        f"{RUN} --max-samples 200",
        f"{RUN} {SMALL}",
        3,
    ),
    Step(
        "calibration.json",
        "how much processes differ",
        "calibration",
        "calibrate --engine cuda --processes 5 --max-samples 200",
        f"calibrate --engine cuda --processes 3 {SMALL}",
        17,
    ),
    Step(
        "sizes.json",
        "twelve sizes, both cache states",
        "result",
        (
            f"{RUN} --max-samples 60 --cache-state hot,cold --path constant,global {FEW} --elements"
            f" {SIZES}"
        ),
        f"{RUN} {SMALL} --cache-state hot,cold",
        21,
    ),
    Step(
        "serialization.json",
        "distinct addresses of a load",
        "result",
        f"{RUN} --max-samples 60 --sweep distinct --counters default,{DIVERGENT}",
        (
            f"{RUN} --sweep distinct --elements 12800 --path constant,global --distinct 1,8"
            " --stride-bytes 64 --max-samples 60"
        ),
        15,
    ),
    Step(
        "widths.json",
        "elements of 1 to 16 bytes",
        "result",
        f"{RUN} --max-samples 48 --sweep widths {FEW}",
        (
            f"{RUN} --sweep widths --elements 12800 --path constant --distinct 8 --stride-bytes 16"
            " --max-samples 60"
        ),
        10,
    ),
    Step(
        "table-sizes.json",
        "tables of 16 bytes to 64 KB",
        "result",
        f"{RUN} --max-samples 48 --sweep sizes {FEW}",
        (
            f"{RUN} --sweep sizes --elements 12800 --path constant --table-bytes 64,4096"
            " --max-samples 60"
        ),
        22,
    ),
    Step(
        "all-paths.json",
        "every workload by every path",
        "result",
        f"{RUN} --max-samples 48 --workload all --path all {FEW}",
        f"{RUN} --workload add,conv_1d --elements 12800 --path constant,global --max-samples 60",
        34,
    ),
    Step(
        "characterization.json",
        "latencies, caches, serialization",
        "characterization",
        "characterize --quiet",
        "characterize --quiet",
        5,
    ),
    Step("card.json", "the card", "card", CARD, CARD, 1),
)


def words_of(step: Step, brief: bool) -> str:
    """The words of the line that runs a step, with blanks between, as the file's own record of
    them has it."""
    words = step.brief if brief else step.words
    return words if step.kind == "card" else f"{words} --json {step.file}"


def is_of_step(step: Step, brief: bool, result: dict) -> bool:
    """Whether a result is of the command of the step."""
    return f" {words_of(step, brief)}" in result["tool"]["argv"]


def files_of(folder: str) -> list[str]:
    """The names of the files of a chip, sorted: *.json except the manifest."""
    try:
        names = os.listdir(folder)
    except OSError as error:
        raise Failure(f"{folder}: {error.strerror}; name the folder of a chip") from None
    return sorted(
        name
        for name in names
        if name.endswith(".json") and not name.startswith(".") and name != MANIFEST
    )


def entry_of(folder: str, name: str) -> dict:
    """A file as a manifest lists it."""
    data = files.read_bytes(os.path.join(folder, name))
    return {"name": name, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def write_json(path: str, value: object) -> None:
    """Writes a file as a whole: a reader sees the old one or the new one."""
    files.write(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n", updated=True)
