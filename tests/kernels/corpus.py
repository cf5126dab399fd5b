#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of what `cbank advise --kernel` says about each load of the corpus, tests/sass/corpus.

The answers stand beside the loads (corpus.h there). Counts check them: tests/sass/host runs the
kernels on the processor and counts the addresses of each load of a warp. Then both toolkits compile
the corpus. A load is right where the program says what the answer says or what follows from it,
unknown where it cannot tell, and wrong where it says more.
"""

import collections
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "end_to_end"))
from common import CBANK, ROOT  # noqa: E402

CORPUS = os.path.join(ROOT, "tests/sass/corpus")
HOST = os.path.join(ROOT, "tests/sass/host")
ARCHITECTURES = (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)
NOT_COUNTED = {"per_thread_quad": "clang copies 16 bytes by memcpy"}
ADVISE = ("advise", "--table-bytes", "256", "--elements", "64", "--json", "-")
UNIFORM = ("constant", "grid", "block", "warp")  # what holds for one holds for those behind it
ORDER = (*UNIFORM, "affine", "thread", "unknown")
UNKNOWN_MAX = 0.15  # of the loads that a person can tell

ANSWER = re.compile(r"// load: (\w+) ([a-z/]+?)(?::(-?\d+))?((?:/[a-z]+)*) depth ([\d/]+)$")
FUNCTION = re.compile(r"(?:KERNEL\w*|(__device__) .*?)\s*(\w+)\((?!\()")
VARIABLE = re.compile(r"^__(?:constant|device)__ [\w ]*?(\w+)\[\d+\];", re.MULTILINE)


class Answer:
    """One line of the corpus. No kernel: it stands in a function that kernels call."""

    def __init__(self, file, line, kernel, match):
        self.file, self.line, self.kernel = file, line, kernel
        self.table, variations, number, more, depths = match.groups()
        self.variations, self.depths = (variations + more).split("/"), list(
            map(int, depths.split("/"))
        )
        number = int(number) if number else None
        self.stride = number if "affine" in self.variations else None
        self.addresses = number if "uneven" in self.variations else None

    def __str__(self):
        return (
            f"{self.file}:{self.line} {self.kernel or ''}:"
            f" {self.table} {'/'.join(self.variations)} {self.stride or ''}"
        )

    @property
    def told(self):
        """A person can tell."""
        return "unknown" not in self.variations and "data" not in self.variations

    def judge(self, load):
        """right, unknown or wrong"""
        variation, stride = load["variation"], load["stride_bytes"]
        # The condition is that rows are whole warps.
        if load.get("condition") and self.kernel.endswith("_2d"):
            variation = "unknown"
        if variation == "unknown" or (variation == "data" and "data" not in self.variations):
            return "right" if "unknown" in self.variations else "unknown"
        if (
            variation == "thread"
            and "data" not in self.variations
            and "unknown" not in self.variations
        ):
            # it follows from all others
            return "right" if variation in self.variations else "unknown"
        if variation == "uneven":
            return (
                "right"
                if variation in self.variations and load["addresses"] == self.addresses
                else "wrong"
            )
        if variation == "affine":
            return (
                "right"
                if "affine" in self.variations and stride in (self.stride, None)
                else "wrong"
            )
        follows = UNIFORM[: UNIFORM.index(variation) + 1] if variation in UNIFORM else (variation,)
        return "right" if set(follows) & set(self.variations) else "wrong"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def answers_of(path):
    """The answers of a file."""
    name, kernel, found = os.path.basename(path), None, []
    for line, text in enumerate(read(path).splitlines(), 1):
        function = FUNCTION.match(text) or FUNCTION.match(re.sub(r"^template <.*?> ", "", text))
        if function:
            kernel = None if function[1] else function[2]
        if "// load:" in text:
            found.append(Answer(name, line, kernel, ANSWER.search(text)))
    return found


def corpus():
    """{name of a file: its answers}"""
    return {
        os.path.basename(path): answers_of(path) for path in sorted(glob.glob(f"{CORPUS}/*.cu"))
    }


def kernels_of(name):
    return [
        match[2]
        for line in read(f"{CORPUS}/{name}").splitlines()
        if (match := FUNCTION.match(line)) and not match[1]
    ]


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def compile_corpus(name, cubin, architecture, toolkit, *flags):
    """Compiles a file of the corpus for one architecture."""
    run(
        f"{toolkit}/bin/nvcc",
        "-std=c++17",
        "-cubin",
        "-lineinfo",
        "-w",
        f"-arch=sm_{architecture}",
        *flags,
        "-o",
        cubin,
        f"{CORPUS}/{name}",
    )


class Judged(unittest.TestCase):
    """Answers that are right, weaker, and wrong are told apart."""

    ANSWERS = (
        (
            "grid",
            {
                "right": ("grid", "block", "warp"),
                "unknown": ("unknown", "data"),
                "wrong": ("constant", "affine 4"),
            },
        ),
        (
            "warp",
            {
                "right": ("warp",),
                "unknown": ("unknown", "data"),
                "wrong": ("block", "grid", "constant", "affine 0"),
            },
        ),
        (
            "constant/block",
            {
                "right": ("constant", "grid", "block", "warp"),
                "unknown": ("unknown", "data"),
                "wrong": ("affine 4",),
            },
        ),
        (
            "affine:4",
            {
                "right": ("affine 4",),
                "unknown": ("unknown", "data"),
                "wrong": ("affine 8", "warp", "grid"),
            },
        ),
        (
            "uneven:8",
            {
                "right": ("uneven 8",),
                "unknown": ("unknown", "data"),
                "wrong": ("uneven 4", "affine 4", "warp"),
            },
        ),
        (
            "thread",
            {
                "right": ("thread",),
                "unknown": ("unknown", "data"),
                "wrong": ("uneven 8", "affine 4", "warp"),
            },
        ),
        (
            "data",
            {
                "right": ("data",),
                "unknown": ("unknown",),
                "wrong": ("thread", "affine 4", "warp", "constant"),
            },
        ),
        (
            "unknown",
            {"right": ("unknown", "data"), "wrong": ("thread", "affine 4", "warp", "grid")},
        ),
    )

    def test_verdicts(self):
        for variation, verdicts in self.ANSWERS:
            text = f"// load: coefficients {variation} depth 0"
            answer = Answer("uniform.cu", 15, "known", ANSWER.search(text))
            for verdict, said in verdicts.items():
                for words in said:
                    name, *by = words.split()
                    load = {
                        "table": "coefficients",
                        "file": "uniform.cu",
                        "line": 15,
                        "variation": name,
                        "stride_bytes": int(by[0]) if by else None,
                        "addresses": int(by[0]) if by else None,
                    }
                    for line in (15, None):  # without lines, by the table
                        judged = judge(
                            "uniform.cu",
                            [answer],
                            [{"name": "known", "loads": [{**load, "line": line}]}],
                        )
                        self.assertEqual(judged[answer][0], verdict, (variation, words))
                    # The worst of a line's instructions counts.
                    judged = judge(
                        "uniform.cu",
                        [answer],
                        [
                            {
                                "name": "known",
                                "loads": [
                                    {**load, "variation": "unknown"},
                                    load,
                                    {**load, "variation": "unknown"},
                                ],
                            }
                        ],
                    )
                    self.assertEqual(
                        judged[answer][0],
                        (
                            "wrong"
                            if verdict == "wrong"
                            else "right"
                            if variation == "unknown"
                            else "unknown"
                        ),
                    )
        self.assertEqual(judge("uniform.cu", [answer], [{"name": "argument", "loads": [load]}]), {})


class Counted(unittest.TestCase):
    """The answers agree with the addresses that each load has on the processor."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        for name in ("count", "block"):
            run(
                *("g++", "-std=c++17", "-O1", "-fno-omit-frame-pointer"),
                *("-c", f"{HOST}/{name}.cpp", "-o", f"{cls.folder}/{name}.o"),
            )

    def compile(self, name):
        """Compiles a file of kernels for the processor, with a program around them that prints each
        load's addresses. Returns the program's path."""
        text, program = read(f"{CORPUS}/{name}"), os.path.join(self.folder, name)
        calls = [
            *(
                f"host_variable({variable}, sizeof({variable}),"
                f" number_bytes_of(sizeof({variable}[0])));"
                for variable in VARIABLE.findall(text)
            ),
            *(f'host_try("{kernel}", {kernel});' for kernel in kernels_of(name)),
        ]
        with open(f"{program}.cpp", "w", encoding="utf-8") as file:
            file.write(
                "\n".join(
                    [
                        '#include "cuda_host.h"',
                        '#include "host.h"',
                        f'#include "{CORPUS}/{name}"',
                        "int main()",
                        "{",
                        *calls,
                        "}",
                        "",
                    ]
                )
            )
        run(
            "clang++",
            "-c",
            "-std=c++17",
            "-O0",
            "-gdwarf-4",
            "-fno-pic",
            "-w",
            "-fno-omit-frame-pointer",
            "-fsanitize-coverage=trace-loads,bb,no-prune,trace-pc",
            "-isystem",
            os.path.join(ROOT, "tests/simulated/compiler"),
            "-isystem",
            HOST,
            f"{program}.cpp",
            "-o",
            f"{program}.o",
        )
        objects = [f"{self.folder}/{name}.o" for name in ("count", "block")]
        run("g++", "-no-pie", f"{program}.o", *objects, "-o", program)
        return program

    def rows(self, name):
        """(kernel, line, symbol or None, region, variation, stride, addresses of a warp, block) of
        each load instruction."""
        program = self.compile(name)
        variables = VARIABLE.findall(read(f"{CORPUS}/{name}"))
        symbols = [
            (int(words[0], 16), int(words[1], 16), words[3])
            for line in run("nm", "-S", program).splitlines()
            if len(words := line.split()) == 4 and words[3] in variables
        ]
        rows = [line.split() for line in run(program).splitlines()]
        # For each address its inlined functions, the innermost first.
        frames = run("addr2line", "-a", "-i", "-e", program, *(row[2] for row in rows)).split("0x")[
            1:
        ]
        for (kernel, block, _, address, region, variation, stride, most), frame in zip(
            rows, frames
        ):
            line = re.search(rf"/{name}:(\d+)", frame)
            symbol = next(
                (name for start, size, name in symbols if 0 <= int(address, 16) - start < size),
                None,
            )
            if line:
                yield kernel, int(line[1]), symbol, region, variation, int(stride), int(most), block

    def test_answers(self):
        wrong, counted = [], 0
        for name, answers in corpus().items():
            rows = list(self.rows(name)) if answers else []
            variables = VARIABLE.findall(read(f"{CORPUS}/{name}"))
            for answer in answers:
                here = [
                    row for row in rows if row[1] == answer.line and answer.kernel in (None, row[0])
                ]
                here = [
                    row
                    for row in here
                    if row[2] == (answer.table if answer.table in variables else None)
                ]
                # Tables on the stack: arguments by value and local arrays.
                here = [row for row in here if row[3] == "memory"] or here
                if answer.kernel in NOT_COUNTED:
                    continue
                if not here:
                    wrong.append(f"{answer}: no load was counted")
                    continue
                counted += 1
                worst = max(here, key=lambda row: ORDER.index(row[4]))
                said = [
                    {"constant": "grid", "data": "unknown", "uneven": "thread"}.get(
                        variation, variation
                    )
                    for variation in answer.variations
                ]
                if (
                    worst[4] not in said
                    or (worst[4] == "affine" and worst[5] != answer.stride)
                    or answer.addresses not in (None, worst[6])
                ):
                    wrong.append(
                        f"{answer}: counted {worst[4]}, stride {worst[5]}, {worst[6]} addresses a"
                        " warp"
                    )
        self.assertEqual(wrong, [], "\n".join(wrong))
        self.assertGreater(counted, 150)

    def test_shapes_of_blocks(self):
        """With the shape of a block, each load of the kernels named _2d is told as the count tells
        it. Where a branch or a loop depends on threadIdx.y, the count sees those that are there
        together, and the code proves nothing."""
        toolkit = os.environ.get("CBANK_CUDA") or "/usr/local/cuda"
        if not os.path.exists(f"{toolkit}/bin/nvcc"):
            self.skipTest("no CUDA toolkit")
        rows, checked = [
            row for row in self.rows("thread.cu") if row[0].endswith("_2d") and row[2]
        ], 0
        for architecture in (80, 120):
            cubin = os.path.join(self.folder, "thread.cubin")
            compile_corpus("thread.cu", cubin, architecture, toolkit)
            for block in {row[7] for row in rows}:
                kernels = json.loads(
                    run(CBANK, *ADVISE, "--kernel", cubin, "--block-dim", block.replace("x", ","))
                )["code"]["kernels"]
                said = {
                    (kernel["name"], load["line"]): load
                    for kernel in kernels
                    for load in kernel["loads"]
                }
                for kernel, line, _, _, variation, _, addresses, at in (
                    row for row in rows if row[7] == block
                ):
                    load = said[kernel, line]
                    with self.subTest(kernel, block=block, architecture=architecture):
                        self.assertIsNone(load["condition"])
                        if kernel in ("branched_2d", "left_2d"):
                            self.assertIn(load["variation"], ("unknown", "thread", variation))
                            continue
                        checked += 1
                        self.assertEqual(
                            (load["addresses"], load["variation"] in UNIFORM),
                            (addresses, variation in UNIFORM),
                        )
        self.assertGreater(checked, 15)


class Advised(unittest.TestCase):
    """The program's answers for the code of each architecture, by both toolkits."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name

    def compiled(self, name, architecture, toolkit, flags):
        """What the program says of the kernels of a file, as this toolkit compiles them."""
        cubin = os.path.join(self.folder, f"{name}.cubin")
        compile_corpus(name, cubin, architecture, toolkit, *flags)
        return json.loads(run(CBANK, *ADVISE, "--kernel", cubin))["code"]["kernels"]

    def check_whole(self, name, kernels):
        """Every kernel of the file is there, and every load of its constant bank is led to."""
        self.assertEqual(sorted(kernel["name"] for kernel in kernels), sorted(kernels_of(name)))
        self.assertEqual(
            [
                kernel["name"]
                for kernel in kernels
                if kernel["name"] != "function_pointer"
                and sum(kind["count"] for kind in kernel["kinds"] if "c[3]" in kind["load"])
                != sum(load["memory"] == "constant" for load in kernel["loads"])
            ],
            [],
            "loads that nothing leads to",
        )

    def judged(self, architecture, toolkit, flags):
        """(answer, verdict, its loads) of each answer of the corpus."""
        for name, answers in corpus().items():
            if (
                name == "groups.cu"
                and not os.path.exists(f"{toolkit}/include/cuda/std")
                and not os.path.exists(f"{toolkit}/include/cccl")
            ):
                continue  # Debian's package of 11.8 lacks a header of theirs
            kernels = self.compiled(name, architecture, toolkit, flags)
            self.check_whole(name, kernels)
            said = judge(name, answers, kernels)
            for answer in answers:
                yield answer, *said.get(answer, ("removed", []))

    def check(self, end, toolkit, *flags):
        """Prints a table and fails for what is wrong. Loads that the compiler removed are not in
        it. With CBANK_ARCHS=ends, for the first or the last architecture alone."""
        known = re.findall(r"sm_(\d+)", run(f"{toolkit}/bin/nvcc", "--list-gpu-code"))
        chosen = [number for number in ARCHITECTURES if str(number) in known]
        chosen = [chosen[end]] if os.environ.get("CBANK_ARCHS") == "ends" else chosen
        texts = {"wrong": [], "unknown": []}
        table = [
            f"\n{'':8}{'right':>8}{'unknown':>8}{'wrong':>8}{'removed':>8}   of those a person can"
            " tell: unknown"
        ]
        for architecture in chosen:
            counts, told = collections.Counter(), collections.Counter()
            for answer, verdict, loads in self.judged(architecture, toolkit, flags):
                counts[verdict] += 1
                told[verdict] += answer.told
                if verdict in texts:
                    texts[verdict].append(
                        f"sm_{architecture} {answer}: "
                        + ", ".join(sorted({said_of(load) for load in loads}))
                    )
            share = told["unknown"] / max(1, told["right"] + told["unknown"] + told["wrong"])
            table.append(
                f"sm_{architecture:<5}"
                + "".join(f"{counts[key]:8}" for key in ("right", "unknown", "wrong", "removed"))
                + f"{share:11.1%}"
            )
            if share > UNKNOWN_MAX:
                texts["wrong"].append(
                    f"sm_{architecture}: {share:.0%} unknown of what a person can tell"
                )
            self.assertLess(counts["removed"], 20)
        print("\n".join(table), flush=True)
        if os.environ.get("CBANK_CORPUS_UNKNOWN"):
            print("\n".join(texts["unknown"]))
        self.assertEqual(texts["wrong"], [], "\n" + "\n".join(texts["wrong"]))

    def test_toolkit(self):
        """The toolkit of this machine."""
        toolkit = os.environ.get("CBANK_CUDA") or "/usr/local/cuda"
        if not os.path.exists(f"{toolkit}/bin/nvcc"):
            self.skipTest("no CUDA toolkit")
        self.check(-1, toolkit)

    def test_lines_of_other_files(self):
        """The load of a function that is inlined has the file of that function."""
        toolkit = os.environ.get("CBANK_CUDA") or "/usr/local/cuda"
        if not os.path.exists(f"{toolkit}/bin/nvcc"):
            self.skipTest("no CUDA toolkit")
        path, cubin = (os.path.join(self.folder, name) for name in ("of.cu", "of.cubin"))
        with open(path, "w", encoding="utf-8") as file:
            file.write(
                '__constant__ float c[64];\n#line 7 "of/inlined.cuh"\n__device__ float get(int i) {'
                ' return c[i]; }\n#line 3 "kernel.cu"\n__global__ void k(float *o, const int *x) {'
                " o[0] = get(x[threadIdx.x]); }\n"
            )
        run(f"{toolkit}/bin/nvcc", "-cubin", "-lineinfo", "-arch=sm_90", "-o", cubin, path)
        (kernel,) = json.loads(run(CBANK, *ADVISE, "--kernel", cubin))["code"]["kernels"]
        self.assertEqual(
            [(load["instruction"], load["file"], load["line"]) for load in kernel["loads"]],
            [("LDG", "kernel.cu", 3), ("LDC", "inlined.cuh", 7)],
        )
        self.assertRegex(run(CBANK, "advise", "--kernel", cubin), r"\nc +LDC, inlined.cuh:7 +data")

    def kernels_by(self, name, *flags):
        """The kernels of a file of the corpus, compiled by these flags."""
        toolkit = os.environ.get("CBANK_CUDA") or "/usr/local/cuda"
        if not os.path.exists(f"{toolkit}/bin/nvcc"):
            self.skipTest("no CUDA toolkit")
        cubin = os.path.join(self.folder, "by.cubin")
        run(
            f"{toolkit}/bin/nvcc",
            "-std=c++17",
            "-cubin",
            "-w",
            "-arch=sm_90",
            *flags,
            "-o",
            cubin,
            f"{CORPUS}/{name}",
        )
        return json.loads(run(CBANK, *ADVISE, "--kernel", cubin))["code"]["kernels"]

    def test_functions_of_other_sections(self):
        """Code for a debugger and relocatable code have each function in a section of its own."""
        for flags in (("-G",), ("-rdc=true", "-lineinfo")):
            kernels = self.kernels_by("calls.cu", *flags)
            with self.subTest(flags):
                self.assertEqual(
                    [kernel["name"] for kernel in kernels if kernel["calls_out"]],
                    ["function_pointer"],
                )
                said = judge("calls.cu", corpus()["calls.cu"], kernels)
                self.assertEqual(
                    [str(a) for a, (verdict, _) in said.items() if verdict == "wrong"], []
                )
                # The lines of a function are those of its section.
                lines = {
                    load["line"]: kernel["name"]
                    for kernel in kernels
                    for load in kernel["loads"]
                    if load["table"] == "others" and kernel["name"] == "called_twice"
                }
                (answer,) = (
                    a for a in corpus()["calls.cu"] if str(a).endswith("others data/unknown ")
                )
                self.assertEqual(lines, {answer.line: "called_twice"})

    def test_names_by_relocation(self):
        """In relocatable code, all tables begin at the same place."""
        kernels = self.kernels_by("names.cu", "-rdc=true", "-lineinfo")
        said = judge("names.cu", corpus()["names.cu"], kernels)
        self.assertEqual([str(a) for a, (verdict, _) in said.items() if verdict == "wrong"], [])
        self.assertEqual(
            {
                load["table"]
                for kernel in kernels
                for load in kernel["loads"]
                if kernel["name"] == "entry_behind" and load["memory"] == "constant"
            },
            {"first", "second"},
        )

    def test_names_without_lines(self):
        """Without PTX, the range of an address tells a table, and no number does."""
        named = {}
        for kernel in self.kernels_by("names.cu"):
            loads = [load for load in kernel["loads"] if load["memory"] == "constant"]
            named[kernel["name"]] = {load["table"] for load in loads}
        self.assertEqual(named["from_the_end_by_lane"], {"second"})
        self.assertEqual(named["one_of_two_entries"], {"first"})
        # Its number is the one at which `second` begins.
        self.assertEqual(named["less_the_table_before"], {None})
        for answer in corpus()["names.cu"]:
            mine = {a.table for a in corpus()["names.cu"] if a.kernel == answer.kernel}
            self.assertLessEqual(named[answer.kernel], {*mine, None})

    def test_cuda_11_8(self):
        found = subprocess.run(
            [os.path.join(ROOT, "scripts/cuda_11_8.sh"), "--offline"],
            capture_output=True,
            text=True,
            check=False,
        )
        if found.returncode:
            self.skipTest(found.stderr.strip())
        self.check(0, found.stdout.strip(), "-ccbin", "g++-11")


def said_of(load):
    return (
        f"{load['instruction']} {load['table']} {load['variation']} {load['stride_bytes'] or ''}:"
        f" {load.get('reason') or ''}".strip()
    )


def judge(name, answers, kernels, folder=CORPUS):
    """{answer: (verdict, its loads)}: the worst verdict of all instructions of its line, else of
    its table in its kernel."""
    variables, said = VARIABLE.findall(read(f"{folder}/{name}")), {}
    for kernel in kernels:
        mine = [answer for answer in answers if answer.kernel in (None, kernel["name"])]
        tables = {answer.table for answer in mine} | set(variables)
        # the compiler's own
        for load in (
            load for load in kernel["loads"] if not (load["table"] or "").startswith("__cudart")
        ):
            here = [
                answer
                for answer in mine
                if (answer.line, name) == (load["line"], load["file"])
                and load["table"]
                in ({answer.table} if load["table"] in tables else {load["table"]})
                and (
                    answer.table not in variables
                    or load["table"] == answer.table
                    # It is not told which table, which is weaker.
                    or (load["table"] is None and load["memory"] == "constant")
                )
                # An array of the thread is not behind a parameter.
                and not (answer.table == "slots" and (load["table"] or "").startswith("parameter"))
            ]
            here = here or [
                answer for answer in mine if answer.kernel and answer.table == load["table"]
            ]
            verdicts = [answer.judge(load) for answer in here]
            for answer in mine:  # of another table
                if (
                    (answer.line, name) == (load["line"], load["file"])
                    and {load["table"], answer.table} <= set(variables)
                    and load["table"] != answer.table
                    and load["variation"] != "constant"
                ):
                    here, verdicts = [answer], ["wrong"]
            for answer, verdict in zip(here, verdicts):
                # A load of another line is of any of the table's answers.
                if answer.line != load["line"] and "right" in verdicts and verdict != "right":
                    continue
                before, loads = said.get(answer, ("right", []))
                said[answer] = (
                    max(before, verdict, key=("right", "unknown", "wrong").index),
                    [*loads, load],
                )
    return said


if __name__ == "__main__":
    unittest.main()
