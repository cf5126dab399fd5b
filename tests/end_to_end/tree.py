# SPDX-License-Identifier: MIT
"""Scratch copies of the tree, to be changed and built.

usage: tests/end_to_end/tree.py FOLDER

makes the copy that all tests copy, in the FOLDER, which CBANK_SCRATCH then names. Without it, each
file of tests makes one of its own. CBANK_CUDA names the CUDA toolkit. Kernels are built for one
architecture, and for one workload of each shape. The build is copied: only files that a change
touches are built again.
"""

import atexit
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from common import FULL, ROOT

TOOLKIT = os.environ.get("CBANK_CUDA", "")
PATH = os.pathsep.join(([os.path.join(TOOLKIT, "bin")] if TOOLKIT else []) + [os.environ["PATH"]])
DISASSEMBLER = shutil.which("nvdisasm", path=PATH)

# Any disassembler that is about knows this one.
ARCHITECTURE = "90"

# One of each shape, and patterns of each scope.
WORKLOADS = ["add", "stencil_1d", "conv_1d", "lookup"]
PATTERNS = ["per_block", "per_warp", "per_thread", "pseudo_random", "lockstep"]


def kernels(paths=0, patterns=0, workloads=0):
    """How many there are on an architecture that has every path, with so many more rows. For
    add: 9 paths that take every one of PATTERNS, constant_uniform with 2 and constant_operand
    with 1, for the path's whole table and for tables of 5 widths. For lookup, one in flight:
    those 9 paths, 2 for small tables and param_large, for tables of 5 widths, 9 of these for 3
    more widths, and select_4, select_16 and prmt, for 4, 5 and 1. For the others: lockstep on
    those 9 and the two that are left to the compiler, radius 1."""
    return (
        6 * ((9 + paths) * (len(PATTERNS) + patterns) + 2 + 1)
        + 5 * (12 + paths)
        + 3 * (9 + paths)
        + 10
        + (11 + paths) * (2 + workloads)
    )


KERNELS = kernels()


class BrokenPath:
    """A path as one more row of the table, under another name and with another load expression:
    a fault that leaves the other kernels as they are, so that one build has many."""

    def __init__(self, name, path, load, fault):
        self.name, self.path, self.load, self.fault = name, path, load, fault

    def add(self, table):
        """The text of kernels/paths.def with the row."""
        (row,) = re.findall(rf"(?ms)^PATH\({self.path},.*?\)\n(?=PATH|#undef)", table)
        if row.count(self.load) != 1:
            raise AssertionError(
                f"the row of {self.path} holds {row.count(self.load)} times: {self.load}"
            )
        row = row.replace(f"PATH({self.path},", f"PATH({self.name},").replace(self.load, self.fault)
        return table.replace("#undef PATH", row + "#undef PATH")


class Scratch:
    """A copy of the tree, of another copy of it with what was built there, or of the one that is
    made for all tests. Where no root is named, it is removed when it is closed."""

    def __init__(self, source=None, root=None):
        self.folder = None if root else tempfile.TemporaryDirectory()
        self.root = root or os.path.join(self.folder.name, "cbank")
        shutil.copytree(source or built(), self.root, ignore=self.ignored, symlinks=True)
        self.touched = []

    @staticmethod
    def ignored(folder, names):
        if folder == os.path.join(ROOT, "build"):  # whatever else people build there
            return set(names) - {"images", "obj"}
        return {
            ".git",
            "local",
            "__pycache__",
            "simulated" if folder == os.path.join(ROOT, "build/obj") else "",
        } & set(names)

    def keep_few(self):
        """Leaves WORKLOADS and PATTERNS in the tables, with one variant at most, and what
        compilers choose of these open."""
        head, *rows = re.split(r"(?m)^(?=WORKLOAD\(|#undef)", self.read("kernels/workloads.def"))
        rows = [
            re.sub(r"(\.variants = )[1-9]", r"\g<1>1", row)
            for row in rows
            if row.startswith("#undef")
            or re.match(r"WORKLOAD\(\s*(\w+)", row).group(1) in WORKLOADS
        ]
        if len(rows) != len(WORKLOADS) + 1:
            raise AssertionError("kernels/workloads.def is not as this test thinks")
        self.write("kernels/workloads.def", head + "".join(rows))
        head, *rows = re.split(
            r"(?m)^(?=PATTERN\(|#undef PATTERN)", self.read("patterns/patterns.def")
        )
        rows = [
            row
            for row in rows
            if row.startswith("#undef") or re.match(r"PATTERN\((\w+)", row).group(1) in PATTERNS
        ]
        if len(rows) != len(PATTERNS) + 1:
            raise AssertionError("patterns/patterns.def is not as this test thinks")
        self.write("patterns/patterns.def", head + "".join(rows))
        self.leave_choices()

    def halve_variants(self):
        self.write(
            "kernels/workloads.def",
            re.sub(
                r"(?<=\.variants = )\d",
                lambda number: str(int(number[0]) // 2),
                self.read("kernels/workloads.def"),
            ),
        )
        self.leave_choices()

    def leave_choices(self):
        """No compiler's choices are known: the known ones are counts of all kernels."""
        self.write("tests/golden/chosen.txt", "1.0 sm_10 none 0 0\n")

    def close(self):
        if self.folder:
            self.folder.cleanup()

    def read(self, name):
        with open(os.path.join(self.root, name), encoding="utf-8") as file:
            return file.read()

    def write(self, name, text):
        with open(os.path.join(self.root, name), "w", encoding="utf-8") as file:
            file.write(text)

    def edit(self, name, old, new):
        """Replaces the one place where old stands."""
        text = self.read(name)
        if text.count(old) != 1:
            raise AssertionError(f"{name} holds {text.count(old)} times: {old}")
        self.write(name, text.replace(old, new))
        self.touched.append(name)

    def add(self, name, text):
        """A new file."""
        if os.path.exists(os.path.join(self.root, name)):
            raise AssertionError(f"{name} is there")
        self.write(name, text)
        self.touched.append(name)

    def run(self, *command):
        # A make of its own: nothing of the job server or the variables of the make that runs the
        # tests.
        clean = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("MAKE", "MFLAGS"))
        }
        return subprocess.run(
            command,
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
            timeout=500,
            env={**clean, "PATH": PATH},
        )

    def try_make(self, *targets, architecture=ARCHITECTURE):
        toolkit = [f"CUDA={TOOLKIT}", f"ARCHS={architecture}"] if TOOLKIT else ["NO_CUDA=1"]
        return self.run("make", *toolkit, *targets)

    def make(self, *targets, architecture=ARCHITECTURE):
        done = self.try_make("FAST=-O0", *targets or ["all"], architecture=architecture)
        if done.returncode != 0:
            raise AssertionError(f"make fails:\n{done.stdout}{done.stderr}")
        return done

    def check(self, script, *arguments):
        return self.run(sys.executable, f"scripts/{script}.py", *arguments)

    def check_sass(self):
        return self.check("check_sass", "build/cbank")

    def check_ptx(self):
        images = os.path.join(self.root, "build/images")
        names = [row["name"] for row in self.rows("workloads")]
        return self.check(
            "check_ptx",
            "--program",
            "build/cbank",
            *(os.path.join(images, f"{name}.compute_{ARCHITECTURE}.ptx") for name in names),
        )

    def rows(self, table):
        return json.loads(self.run("build/cbank", "list", table, "--json").stdout)

    def cells(self, *arguments, status=0):
        """The cells of a run of the model engine, which exits with this status, and what it
        prints."""
        done = self.run(
            "build/cbank", "run", "--engine", "model", "--json", "result.json", *arguments
        )
        if done.returncode != status:
            raise AssertionError(f"run exits {done.returncode}:\n{done.stdout}{done.stderr}")
        return json.loads(self.read("result.json"))["cells"], done.stdout


def build(root=None):
    """A copy with WORKLOADS alone, built."""
    scratch = Scratch(ROOT, root)
    if TOOLKIT:
        scratch.keep_few()
    scratch.make()
    return scratch


@functools.lru_cache(maxsize=None)
def built():
    """The root of such a copy: of the one that is there, or of one that is removed at the end."""
    if os.environ.get("CBANK_SCRATCH"):
        return os.environ["CBANK_SCRATCH"]
    scratch = build()
    atexit.register(scratch.close)
    return scratch.root


@functools.lru_cache(maxsize=None)
def changed(changes):
    """A copy with all of these changes, built; removed at the end. Changes are functions of a
    copy."""
    scratch = Scratch()
    atexit.register(scratch.close)
    for change in changes:
        change(scratch)
    scratch.make()
    return scratch


class Changes(unittest.TestCase):
    """Tests of what a change does. Each has a copy of the tree with its own change alone; in
    `make test` one copy, which is built once, has all of EVERY."""

    EVERY = ()

    def change(self, change):
        self.scratch = changed((change,) if FULL else self.EVERY)


class Case(unittest.TestCase):
    def setUp(self):
        self.scratch = Scratch()
        self.addCleanup(self.scratch.close)

    def needs(self, architecture):
        """Skips the test where the toolkit is too old, or too new, for the architecture."""
        known = self.scratch.run(
            os.path.join(TOOLKIT, "bin/nvcc"), "--list-gpu-code"
        ).stdout.split()
        if f"sm_{architecture}" not in known:
            self.skipTest(f"this toolkit does not know sm_{architecture}")


if __name__ == "__main__":
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    build(os.path.abspath(sys.argv[1]))
