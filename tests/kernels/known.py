#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints what `cbank advise --kernel` knows of the loads of kernels whose answers are known.

    tests/kernels/known.py --cases FOLDER [--arch 75,90] [--debug] [--keep FOLDER] [--why]

Answers stand beside the loads of the .cu files below FOLDER, as `// load:` (tests/sass/corpus) or
as `//@ TABLE=ANSWER`, where ANSWER is one of these, or several with commas:

    U    one address a warp              A4   affine, bytes a thread
    T    differs by thread, not data     N    the distances of the lanes are known
    D    data decides                    any  not judged

TABLE is a symbol, `parameter 0`, another name for what is behind any parameter, or - for no name.
The table has a row for each file and a column for each architecture: how many answers are right,
weaker than the answer, false. Exit code 1: some are false. Folders that --keep names hold the
compiled code from one run to the next.
"""

import argparse
import collections
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "end_to_end"))
import corpus  # noqa: E402
from common import CBANK  # noqa: E402

ARCHITECTURES = (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)
UNIFORM = ("constant", "grid", "block", "warp")
VERDICTS = ("right", "unknown", "wrong")
VARIABLE = re.compile(r"__(?:constant|device)__ [^;()]*;")


class Case:
    """One answer of a `//@` comment."""

    def __init__(self, line, table, answers):
        self.line, self.table, self.answers = line, table, answers.split(",")

    told = property(lambda self: "any" not in self.answers)

    def matches(self, load, variables):
        name = load["table"]
        if load["memory"] == "local" and load["variation"] == "constant":
            return False  # a variable
        if self.table == "-":
            return not name and load["memory"] != "global" or (name or "").startswith("offset ")
        if self.table in variables:
            return name == self.table or (
                name is None and load["memory"] in ("constant", "generic")
            )
        if self.table.startswith("parameter"):
            return name == self.table or (name is None and load["memory"] in ("global", "generic"))
        return name.startswith("parameter") if name else load["memory"] == "global"

    def judge(self, load):
        varies = load["variation"]
        if "any" in self.answers:
            return "right"
        if load["table"] is None and self.table != "-":
            varies = "unknown" if varies != "data" else varies
        right = {
            "U": varies in UNIFORM,
            "T": varies in ("thread", "uneven", "affine"),
            "N": varies in ("uneven", "affine") and load["addresses"],
            "D": varies == "data" and (load["table"] or self.table == "-"),
        }
        for answer in self.answers:
            if right.get(answer) or (
                answer[0] == "A" and varies == "affine" and load["stride_bytes"] == int(answer[1:])
            ):
                return "right"
        if varies in ("unknown", "data") or (varies == "thread" and "D" not in self.answers):
            return "unknown"
        return "wrong"


def cases_of(path):
    """The `//@` answers of a file."""
    return [
        Case(number, *match)
        for number, text in enumerate(corpus.read(path).splitlines(), 1)
        if "//@" in text
        for match in re.findall(r"(-|parameter \d+|\w+)=([\w,-]+)", text.split("//@")[1])
    ]


def judge_cases(path, answers, kernels):
    """{answer: (verdict, its loads)}, as corpus.judge"""
    variables = set(re.findall(r"(\w+)\[", " ".join(VARIABLE.findall(corpus.read(path)))))
    said = {}
    for load in (load for kernel in kernels for load in kernel["loads"]):
        if load["file"] != os.path.basename(path):
            continue
        here = [answer for answer in answers if answer.line == load["line"]]
        matching = [answer for answer in here if answer.matches(load, variables)]
        for answer in matching or (here if load["table"] in variables else []):
            verdict = answer.judge(load) if matching else "wrong"
            before, loads = said.get(answer, ("right", []))
            said[answer] = (max(before, verdict, key=VERDICTS.index), [*loads, load])
    return said


def compiled(toolkit, path, architecture, debug, folder):
    """The cubin; None: it does not compile for the architecture."""
    mode = "g" if debug else "o3"
    name = "_".join(os.path.normpath(path).split(os.sep)[-2:])[: -len(".cu")]
    cubin = os.path.join(folder, f"{name}.{mode}.{architecture}.cubin")
    if not os.path.exists(cubin):
        flags = ["-G"] if debug else ["-O3", "-lineinfo"]
        made = subprocess.run(
            [
                f"{toolkit}/bin/nvcc",
                "-std=c++17",
                "-cubin",
                "-w",
                *flags,
                f"-arch=sm_{architecture}",
            ]
            + ["-o", cubin, path],
            capture_output=True,
            check=False,
        )
        if made.returncode:
            return None
    return cubin


def verdicts_of(toolkit, path, architecture, debug, folder):
    """(answers, {answer: (verdict, loads)}); None: it does not compile."""
    cubin = compiled(toolkit, path, architecture, debug, folder)
    if not cubin:
        return None
    code = json.loads(corpus.run(CBANK, *corpus.ADVISE, "--kernel", cubin))["code"]
    for kernel in code["kernels"] if debug else ():
        # A table in the parameters is copied to the stack first.
        if any(load["memory"] == "local" for load in kernel["loads"]):
            kernel["loads"] = [load for load in kernel["loads"] if load["memory"] != "param"]
    if "// load:" in corpus.read(path):
        answers = corpus.answers_of(path)
        return answers, corpus.judge(
            os.path.basename(path), answers, code["kernels"], os.path.dirname(path)
        )
    answers = cases_of(path)
    return answers, judge_cases(path, answers, code["kernels"])


def main():
    parser = argparse.ArgumentParser(description="what is known of loads whose answers are known")
    parser.add_argument("--cases", required=True, metavar="FOLDER", action="append")
    parser.add_argument("--arch", default=",".join(map(str, ARCHITECTURES)))
    parser.add_argument("--debug", action="store_true", help="compile with -G")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the compiled code")
    parser.add_argument("--why", action="store_true", help="print each answer that is not right")
    options = parser.parse_args()
    architectures = [int(number) for number in options.arch.split(",")]
    toolkit = os.environ.get("CBANK_CUDA") or "/usr/local/cuda"
    paths = sorted(
        path for root in options.cases for path in glob.glob(f"{root}/**/*.cu", recursive=True)
    )
    totals = collections.defaultdict(collections.Counter)
    print(f"{'':28}" + "".join(f"{f'sm_{architecture}':>8}" for architecture in architectures))
    with tempfile.TemporaryDirectory() as made, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = options.keep or made
        for path in paths:
            runs = list(
                pool.map(
                    lambda architecture, path=path: verdicts_of(
                        toolkit, path, architecture, options.debug, folder
                    ),
                    architectures,
                )
            )
            print(row_of(path, architectures, runs, totals, options.why), flush=True)
    print(f"{'unknown share':28}" + "".join(f"{share(totals[a]):>8.1%}" for a in architectures))
    everything = sum(totals.values(), collections.Counter())
    print(f"all: {dict(everything)}, unknown {share(everything):.1%}")
    return everything["wrong"] > 0


def share(counts):
    return counts["unknown"] / max(1, sum(counts[verdict] for verdict in VERDICTS))


def row_of(path, architectures, runs, totals, why):
    """A row of the table, and lines about what is not right."""
    cells, lines = [], []
    for architecture, done in zip(architectures, runs):
        if not done:
            cells.append(f"{'-':>8}")
            continue
        answers, said = done
        counts = collections.Counter()
        for answer in answers:
            verdict, loads = said.get(answer, ("removed", []))
            told = answer.told or verdict == "wrong"
            counts[verdict] += told
            if verdict in ("unknown", "wrong") and told and why:
                text = ", ".join(sorted({corpus.said_of(load) for load in loads}))
                lines.append(
                    f"    sm_{architecture} {verdict}: line {answer.line}"
                    f" {answer.table}: {text}"
                )
        totals[architecture] += counts
        cells.append(f"{'/'.join(str(counts[verdict]) for verdict in VERDICTS):>8}")
    return "\n".join([f"{os.path.basename(path):28}" + "".join(cells), *lines])


if __name__ == "__main__":
    sys.exit(main())
