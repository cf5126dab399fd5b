#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants faults in a copy of the tree, one at a time. With each of them its test fails, and without
it the test passes.

usage: tests/faults/planted.py [NAME...] [VARIABLE=VALUE...]

A fault is a file planted/NAME.patch, which begins with lines "KEY: VALUE":
- kind: what cbank promises
- fault: how the change breaks it
- test: what must fail, as it is typed in the tree; CBANK names the program
- says: a regular expression, found in the output of the test that fails
- program: build/cbank unless it is said, build/tests/simulated/cbank or build/asan/cbank; none:
  nothing is built

NAMEs choose faults, VARIABLEs are for make. The output is TAP. The exit status is 0 when every
fault was found.
"""

import glob
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(1, os.path.join(ROOT, "tests/end_to_end"))
from tree import Scratch  # noqa: E402

SECONDS_MAX = 600  # of a test
# The goals of make, by program.
TARGETS = {
    "build/cbank": ["all"],
    "build/tests/simulated/cbank": ["simulated"],
    "none": [],
    "build/asan/cbank": ["BUILD=build/asan", "CC=clang", "SANITIZE=1", "all"],
}
# Nothing of the make that runs the tests; few repetitions; and ccache, where Debian's is there, as
# some tests compile everything.
CLEAN = {
    **{
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("MAKE", "MFLAGS", "CBANK"))
    },
    "CBANK_TEST": "small",
    "CMOCKA_MESSAGE_OUTPUT": "TAP",
    "PYTHONDONTWRITEBYTECODE": "1",
    "GIT_CEILING_DIRECTORIES": "/",
    "CCACHE_NOHASHDIR": "1",
    "PATH": f"/usr/lib/ccache:{os.environ['PATH']}",
}


class Wrong(Exception):
    """A fault was not found, or could not be planted."""


class Skipped(Exception):
    """This machine lacks what a test needs."""


class Fault:
    """A patch and its head."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            head = dict(
                re.findall(r"^(\w+): (.*)$", file.read().partition("\ndiff ")[0], re.MULTILINE)
            )
        self.path, self.name, self.program = (
            path,
            os.path.basename(path)[: -len(".patch")],
            head.pop("program", "build/cbank"),
        )
        self.kind, self.fault, self.test, self.says = (
            head.pop(key) for key in ("kind", "fault", "test", "says")
        )
        if head or self.program not in TARGETS:
            sys.exit(f"{path}: {head or self.program} is not known")


class Copy:
    """A copy of the tree, with what was compiled there."""

    def __init__(self, folder, variables):
        self.root, self.variables = os.path.join(folder, "cbank"), variables
        self.passed = set()  # (program, test) of tests that pass without a fault
        shutil.copytree(ROOT, self.root, ignore=Scratch.ignored, symlinks=True)

    def run(self, *command, **environment):
        """(exit status, output) of a command."""
        with subprocess.Popen(
            command,
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            env={**CLEAN, **environment},
            start_new_session=True,
        ) as process:
            try:
                said = process.communicate(timeout=SECONDS_MAX)[0]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                said = f"{process.communicate()[0]}\nno end after {SECONDS_MAX} s"
            return process.returncode, said

    def apply(self, fault, *options):
        status, said = self.run("git", "apply", *options, fault.path)
        if status:
            raise Wrong(
                f"the change no longer applies; write {os.path.relpath(fault.path, ROOT)} anew:"
                f" {said.strip()}"
            )

    def build(self, fault):
        targets = list(TARGETS[fault.program])
        if fault.test.startswith("build/"):
            targets.append(fault.test)
        if targets:
            status, said = self.run("make", "-j1", *self.variables, "FAST=-O0", "WERROR=", *targets)
            if status:
                raise Wrong(f"make fails: {said[-2000:]}")

    def outcome(self, fault):
        """(exit status, output) of the fault's test, in the tree as it is."""
        self.build(fault)
        words, program = shlex.split(fault.test), os.path.join(self.root, fault.program)
        if fault.program != "none" and not os.path.exists(program):
            raise Skipped(f"{fault.program} needs a CUDA toolkit")
        return self.run(
            *([sys.executable] if words[0].endswith(".py") else []), *words, CBANK=program
        )

    def usual(self, fault):
        """Runs a fault's test in the tree without it, once for all faults of a test."""
        if (fault.program, fault.test) in self.passed:
            return
        status, said = self.outcome(fault)
        if status:
            raise Wrong(f"the test fails without the fault: {said[-2000:]}")
        if re.search(r"^OK \(skipped=", said, re.MULTILINE):
            raise Skipped("the test is skipped on this machine")
        self.passed.add((fault.program, fault.test))

    def check(self, fault):
        """Raises Wrong unless the fault is found."""
        self.usual(fault)
        self.apply(fault)
        try:
            status, said = self.outcome(fault)
        finally:
            self.apply(fault, "--reverse")
        if status == 0:
            raise Wrong(f"the test passes with the fault: {fault.test}")
        if not re.search(fault.says, said):
            raise Wrong(f"the test fails, and does not say {fault.says!r}: {said[-2000:]}")


def main():
    variables = [word for word in sys.argv[1:] if "=" in word]
    names = [word for word in sys.argv[1:] if "=" not in word]
    faults = [Fault(path) for path in sorted(glob.glob(os.path.join(HERE, "planted/*.patch")))]
    chosen = [fault for fault in faults if not names or fault.name in names]
    if not chosen or set(names) - {fault.name for fault in faults}:
        sys.exit(f"no such fault; there are: {' '.join(fault.name for fault in faults)}")
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # a test becomes another user
        copy = Copy(folder, variables)
        for number, fault in enumerate(chosen, 1):
            line = f"ok {number} - {fault.name} ({fault.kind}): {fault.fault}"
            try:
                copy.check(fault)
            except Skipped as why:
                line += f" # SKIP {why}"
            except Wrong as why:
                wrong += 1
                line = f"not {line}\n" + "\n".join(f"# {text}" for text in str(why).splitlines())
            print(line, flush=True)
    print(f"{len(chosen)} faults planted, {wrong} not found")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
