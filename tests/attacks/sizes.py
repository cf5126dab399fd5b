#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attacks by sizes: at limits, one beyond them, and far beyond.

usage: tests/attacks/sizes.py [--count N] [--seed N]

- numbers: options with numbers near 64 KB, 2^31, 2^32, 2^53 and 2^64, and with what is no number.
- counts: exact counters of so many elements are in proportion to those of few.
- documents: deep, long, with many keys, values, samples and counters. What is too much is refused.
- files: hundreds of results at once.
- plans: a plan of more cells than a result may have is refused at once. A signal ends a command
  while it makes the indices of a large one. With CBANK_TEST=full, a result that is larger than
  cbank reads is told, and stays.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time

from run import CBANK, ROOT, Campaign

sys.path[1:1] = [os.path.join(ROOT, "tests/end_to_end")]
from common import FULL, analysis, read_json  # noqa: E402

MEASURED = os.path.join(ROOT, "tests/corpus/result/measured.json")
NUMBERS = (
    *(0, -1, 1, 65535, 65536, 65537, 65540, 2**31 - 1, 2**31, 2**31 + 1),
    *(
        2**32 - 1024,
        2**32 - 1,
        2**32,
        2**32 + 1,
        2**53 + 1,
        2**63,
        2**64 - 1,
        2**64,
    ),
    *("9" * 400, "1e9", "0x10", "", " 1", "1,", "1,,2", "-0", "nan", "inf", "\uff11", "1\n"),
)
MODEL = "run --engine model --json out.json --path constant"
ADD = f"{MODEL} --workload add --pattern per_warp"
LOOKUP = f"{MODEL} --workload lookup --elements 1024"
# Lookups of so many elements, less than their limit, would take gigabytes: 1,024 are made.
OPTIONS = (
    *((ADD, option) for option in ("elements", "block-size", "max-samples", "seed", "max-noise")),
    *((LOOKUP, option) for option in ("table-bytes", "loads", "width-bytes", "block-size")),
    ("advise --elements 1024", "table-bytes"),
    ("advise --table-bytes 65536 --elements 1024", "block-size"),
    (f"compare {MEASURED} {MEASURED}", "threshold"),
)
BASE = 1024  # elements of what counters are in proportion to
ELEMENTS = (2**31 - 1024, 2**31, 2**31 + 1024, 2**32 - 2048, 2**32 - 1024)
MEMORY_BYTES = 1 << 30  # that a command may take until a signal ends it


def numbers(campaign):
    for number in range(campaign.options.count):
        chance = campaign.chance(number)
        words, option = chance.choice(OPTIONS)
        campaign.attempt(
            "sizes, numbers", [*words.split(), f"--{option}", str(chance.choice(NUMBERS))]
        )


def counted(elements):
    """{cell and counter: value} of a model of so many elements."""
    line = f"{MODEL} --quiet --workload add --pattern per_warp,per_thread --elements {elements}"
    subprocess.run([CBANK, *line.replace("constant", "constant,global").split()], check=True)
    return {
        (cell["path"], cell["pattern"], name): int(counter["value"])
        for cell in read_json("out.json")["cells"]
        for name, counter in cell["counters"].items()
        if counter["kind"] == "exact" and counter["value"] is not None
    }


def counts(campaign):
    few = counted(BASE)
    for elements in ELEMENTS:
        many = counted(elements)
        wrong = [
            f"{key}: {many[key]}, not {value * elements // BASE}"
            for key, value in few.items()
            if many[key] != value * elements // BASE
        ]
        campaign.count("sizes, counts", "; ".join(wrong) or not few and "no counter", ADD.split())


def documents():
    """(name, text) of documents."""
    text = json.dumps(read_json(MEASURED))

    def changed(change):
        document = json.loads(text)
        change(document, document["cells"][0])
        return json.dumps(document)

    def more_counters(_, cell):
        counter = next(iter(cell["counters"].values()))
        cell["counters"].update({f"counter_{i}": counter for i in range(2000)})

    for depth in (62, 63, 64, 65, 5000):
        yield f"lists{depth}", f'{text[:-1]}, "x": {"[" * depth}{"]" * depth}}}'
        yield f"objects{depth}", f'{text[:-1]}, "x": {nested(depth)}}}'
    long = "N" * 100000
    yield "name", changed(lambda its, cell: its["device"].update(name=long))
    yield "driver", changed(lambda its, cell: its["device"].update(driver=long))
    yield "argv", changed(lambda its, cell: its["tool"].update(argv=long))
    yield "reason", changed(lambda its, cell: cell.update(status="failed", reason=long))
    yield "flags", changed(lambda its, cell: cell.update(flags=["unstable"] * 10000))
    yield "samples", changed(
        lambda its, cell: cell["time_ns"].update(samples=[cell["time_ns"]["value"]] * 20000)
    )
    yield "counters", changed(more_counters)
    yield "digits", f'{text[:-1]}, "x": {"9" * 5000}}}'
    yield "exponent", f'{text[:-1]}, "x": 1e400}}'
    yield "keys", f"""{text[:-1]}, "x": {json.dumps(dict.fromkeys(map(str, range(20000))))}}}"""
    yield "twice", text.replace('"cells":', '"cells": [], "cells":')
    yield "empty", ""


def nested(depth):
    return '{"a":' * depth + "1" + "}" * depth


INSTRUMENT = ("show FILE", "show --csv FILE", f"compare --all {MEASURED} FILE")
ANALYSIS = ("check FILE", "history FILE", "ingest out.db FILE")


def all_documents(campaign):
    """In `make test` one command of each kind for each of them, in turn."""
    for number, (name, text) in enumerate(documents()):
        with open(f"{name}.json", "w", encoding="utf-8") as file:
            file.write(text)
        turn = slice(number % 3, number % 3 + 1) if campaign.in_test else slice(None)
        for line in INSTRUMENT[turn]:
            campaign.attempt("sizes, documents", line.replace("FILE", file.name).split())
        for line in ANALYSIS[turn]:
            words = line.replace("FILE", file.name).split()
            done = analysis(*words)
            said = done.stdout + done.stderr
            wrong = done.returncode not in range(5) or "report it" in said or "Traceback" in said
            campaign.count(
                "sizes, documents", f"exit {done.returncode}: {said[-300:]}" if wrong else "", words
            )


def files(campaign):
    """A folder of results that differ by their start; one of them is broken at the end."""
    document, count = read_json(MEASURED), 8 * campaign.options.count
    os.makedirs("many")
    for number in range(count):
        seconds = f"{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}"
        document["started_utc"] = f"2026-01-01T{seconds}Z"
        document["finished_utc"] = f"2026-01-02T{seconds}Z"
        with open(f"many/{number:05}.json", "w", encoding="utf-8") as file:
            json.dump(document, file)
    for line, told in (
        ("ingest --quiet many.db many", ""),
        ("ingest many.db many", f"0 new, {count} known, 0 refused\n"),
    ):
        out = analysis(*line.split()).stdout
        campaign.count("sizes, files", None if out == told else f"prints {out}", line.split())
    names = [f"many/{number:05}.json" for number in range(count)]
    with open(names[-1], "w", encoding="utf-8") as file:
        file.write("{")
    for words in (["show", "--check", *names], ["compare", MEASURED, ",".join(names)]):
        done = subprocess.run([CBANK, *words], capture_output=True, text=True, check=False)
        wrong = done.returncode != 2 or done.stderr.count("\n") != 1 or names[-1] not in done.stderr
        campaign.count("sizes, files", done.stderr or "takes it" if wrong else None, words[:3])


def elements_of(first, count):
    return ",".join(map(str, range(first, first + count)))


def interrupted():
    """A signal while indices of 10,000 cells are made, which would take gigabytes."""
    words = f"{MODEL} --workload lookup --elements {elements_of(100000, 800)}".split()
    with subprocess.Popen(
        [CBANK, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES,) * 2),
    ) as process:
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=120)[1]
    if process.returncode != -signal.SIGTERM or said or os.path.exists("out.json"):
        return f"exit {process.returncode}: {said[-300:]}", words[:8]
    return None, words[:8]


def refused():
    words = f"{ADD} --elements {elements_of(1, 10001)}".split()
    done = subprocess.run([CBANK, *words], capture_output=True, text=True, check=False)
    if done.returncode != 2 or "more than 10000 cells" not in done.stderr:
        return f"exit {done.returncode}: {done.stderr[-300:]}", words[:8]
    return None, words[:8]


def too_large():
    """The largest plan, of cells with many counters."""
    metrics = ",".join(f"a__metric_that_no_gpu_has_{number}.sum" for number in range(60))
    line = f"{ADD} --quiet --counters default,{metrics} --elements {elements_of(1, 10000)}"
    done = subprocess.run([CBANK, *line.split()], capture_output=True, text=True, check=False)
    size = os.path.getsize("out.json") >> 20 if os.path.exists("out.json") else 0
    wrong = size < 64 or done.returncode != 2 or "larger than 64 MiB" not in done.stderr
    said = f"exit {done.returncode}, {size} MiB: {done.stderr[-300:]}"
    return said if wrong else None, ADD.split()


def plans(campaign):
    for attempt in (interrupted, refused, *([too_large] if FULL else [])):
        if os.path.exists("out.json"):
            os.remove("out.json")
        campaign.count("sizes, plans", *attempt())


def main():
    campaign = Campaign(count=40, quick=24)
    os.environ["CBANK_PROGRAM"] = CBANK
    os.chdir(campaign.folder)
    for attack in (plans, numbers, counts, all_documents, files):
        attack(campaign)
    os.chdir("/")
    sys.exit(campaign.end())


if __name__ == "__main__":
    main()
