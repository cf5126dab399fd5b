#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""What the constant path does where it meets something else: guesses, and what a GPU says.

Proves the rows of docs/surprises.md.

usage: surprises.py [--processes 5] --json FILE
       surprises.py --show FILE [--hits]

surprises/questions.json has each question with a guess and the range in which it counts as right;
it was committed before anything was run. The programs of surprises/ are compiled for the GPU
that is here and answer them by 25 samples a process. --show prints the questions whose guess
missed, as a table in Markdown; with --hits, the others.
"""

import argparse
import concurrent.futures
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "surprises")
# Each is made of NAME.cu, and of others, which are modules of their own.
PROGRAMS = {
    "launch": (),
    "blocks": (),
    "units": (),
    "sharing": (),
    "neighbours": ("rival_first", "rival_second"),
    "addresses": (),
}
FLAGS = ("-O3", "-std=c++17", "-arch=native", "-lineinfo")
GPU = ("name", "uuid", "driver_version")


def questions():
    with open(os.path.join(HERE, "questions.json"), encoding="utf-8") as file:
        return json.load(file)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        trials.fail(f"{' '.join(command)} exited {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def build(name, folder):
    sources = [os.path.join(HERE, f"{source}.cu") for source in (name, *PROGRAMS[name])]
    run("nvcc", *FLAGS, "-o", os.path.join(folder, name), *sources)


def measure(processes, folder):
    """{key: [samples of a process]}"""
    found = {key: [] for key in questions()}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(lambda name: build(name, folder), PROGRAMS))
    for _ in range(processes):
        for name in PROGRAMS:
            for line in run(os.path.join(folder, name)).splitlines():
                try:
                    answer = json.loads(line)
                except ValueError:
                    trials.fail(f"{name} printed {line}")
                found[answer["key"]].append(answer["samples"])
    unanswered = [key for key, samples in found.items() if len(samples) != processes]
    if unanswered:
        trials.fail(f"not answered: {', '.join(unanswered)}")
    return found


def number(value):
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def show(path, hits):
    """Prints the rows whose guess missed, or hit."""
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    print("| question | guess | what is | over processes |")
    print("|---|---|---|---|")
    asked = questions()
    for key in found["samples"]:  # a file may be older than a question
        row = asked[key]
        medians = [statistics.median(samples) for samples in found["samples"][key]]
        middle = statistics.median(medians)
        if (row["low"] <= middle <= row["high"]) == hits:
            print(
                f"| {row['question']} | {number(row['guess'])} | {number(middle)} |"
                f" {number(min(medians))} to {number(max(medians))} |"
            )
    print(f"\n{machine(found)}.")


def machine(found):
    gpu = found["gpu"]
    return f"{gpu['name']}, driver {gpu['driver_version']}, nvcc {found['nvcc']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", help="measure, and write what was found")
    parser.add_argument("--show", metavar="FILE", help="print what was found")
    parser.add_argument("--hits", action="store_true", help="print the guesses that hit")
    asked = parser.parse_args()
    if asked.show:
        show(asked.show, asked.hits)
        return
    if not asked.json:
        parser.error("--json or --show is needed")
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]  # what the programs use
    told = run("nvidia-smi", "-i", first, f"--query-gpu={','.join(GPU)}", "--format=csv,noheader")
    with tempfile.TemporaryDirectory() as folder:
        samples = measure(asked.processes, folder)
    found = {
        "gpu": dict(zip(GPU, told.strip().split(", "))),
        "nvcc": re.search(r"V([\d.]+)", run("nvcc", "--version"))[1],
        "samples": samples,
    }
    with open(asked.json, "w", encoding="utf-8") as file:
        json.dump(found, file)
    show(asked.json, False)


if __name__ == "__main__":
    main()
