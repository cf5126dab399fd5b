#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the attacks: campaigns of many hostile inputs, which the program has to take or refuse
cleanly.

usage: tests/attacks/run.py [--rounds N] [NAME...]

An attack is a file NAME.py of this folder. It takes --count N (the default takes about 3 seconds of
a processor) and --seed N, and ends with a line "CLASS: N tried, M failed" for each of its classes.
It exits with 1 if any failed, and then prints what to type to see each failure again. --rounds N
runs each with the seeds 1 to N. CBANK names the program (default build/cbank).

This file also has the parts that attacks share: mutations, the offences, and the summary.
"""

import argparse
import copy
import glob
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
FAILED = os.path.join(ROOT, "build/attacks")  # inputs that failed
SUMMARY = re.compile(r"^(.+): (\d+) tried, (\d+) failed$", re.MULTILINE)
EXIT_CODES = range(5)
HANG_SECONDS = 10
# A sanitizer's finding is no exit code of the program.
FOUND = {"ASAN_OPTIONS": "exitcode=99", "UBSAN_OPTIONS": "exitcode=99:print_stacktrace=1"}

PLANTED = "\x1b]0;x\x07\x1b[31m\r\n\x7f\u009b2J\u0085\u2028\u202e\u2066"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
VALUES = (
    None,
    True,
    False,
    0,
    -1,
    1,
    0.5,
    1e308,
    5e-324,
    float("inf"),
    2**31,
    2**32,
    2**53 + 1,
    2**64,
    "",
    "\0",
    "\ud800",
    PLANTED,
    "%s%n",
    "../..",
    "=1+1",
    "18446744073709551616",
    "x" * 5000,
    [],
    {},
    [[]],
    [None],
    [1] * 7,
)
BYTES = (
    b"\0",
    b"\xff",
    b"\x7f",
    b'"',
    b"{",
    b"[" * 3000,
    b"1e999",
    b"\\ud800",
    b"\xc0\x80",
    b"\xff\xff\xff\xff",
    b"\0" * 8,
)


def places(value):
    """Each member and element of a document: what it is in, and its key."""
    for key, item in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        yield value, key
        yield from places(item)


def near(chance, value):
    """Another value of the same type, which a reader may well take."""
    if isinstance(value, str):
        return value + PLANTED if chance.randrange(4) else ""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return chance.choice(
            (
                0,
                1,
                -value,
                value + 1,
                value - 1,
                value * 2,
                value / 3,
                value * 1000000,
                2**31 - 1,
                2**32,
                2**53,
            )
        )
    return copy.deepcopy(chance.choice(VALUES))


def mutate_document(chance, document):
    """Changes one to three values and keys of a document, and returns it: of half of the
    documents, to values of the same type."""
    mild = chance.randrange(2)
    for _ in range(chance.choice((1, 1, 2, 3))):
        found = list(places(document))
        if not found:
            return document
        if mild:
            found = [
                place for place in found if not isinstance(place[0][place[1]], (dict, list))
            ] or found
        # Every name of a key is as likely as any other, however many samples and counters there
        # are.
        name = chance.choice(sorted({str(key) for _, key in found}))
        inside, key = chance.choice([place for place in found if str(place[1]) == name])
        other, other_key = chance.choice(found)
        kind = chance.randrange(6)
        if mild:
            inside[key] = near(chance, inside[key])
        elif kind == 0:
            del inside[key]
        elif kind == 1 and isinstance(inside, dict):
            inside[key + PLANTED] = inside.pop(key)
        elif kind == 1:
            inside.append(copy.deepcopy(inside[key]))
        elif kind == 2:
            inside[key] = copy.deepcopy(other[other_key])
        else:
            inside[key] = copy.deepcopy(chance.choice(VALUES))
    return document


def mutate_bytes(chance, data):
    """Bytes with one to eight changes: a bit, a byte, something put in, a range that goes, moves
    or is there twice, or the end cut off."""
    data = bytearray(data)
    for _ in range(chance.randint(1, 8)):
        at, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
        kind = chance.randrange(8)
        if kind < 3 and at < len(data):
            data[at] = data[at] ^ 1 << chance.randrange(8) if kind else chance.randrange(256)
        elif kind < 5:
            put = chance.choice(BYTES)
            data[at : at + chance.choice((0, len(put)))] = put
        elif kind == 5:
            del data[at : min(end, at + 64)]
        elif kind == 6:
            data[at:at] = data[at:end][:256]
        elif chance.randrange(8) == 0:
            del data[at:]
    return bytes(data)


def mutate(chance, data):
    """A mutant of a file's bytes. Most mutants of a document are documents."""
    try:
        document = json.loads(data) if chance.randrange(4) else None
    except ValueError:
        document = None
    if document is None:
        return mutate_bytes(chance, data)
    return json.dumps(mutate_document(chance, document), ensure_ascii=chance.random() < 0.5).encode(
        "utf-8", "surrogatepass"
    )


def offence(words, folder, seconds=HANG_SECONDS):
    """Runs cbank with these words. Says how it did something that no command may do, whatever it
    reads; None: it did not."""
    try:
        done = subprocess.run(
            [CBANK, *words],
            cwd=folder,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=seconds,
            env={**os.environ, **FOUND},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"takes more than {seconds} s"
    said = (
        (done.stdout + done.stderr).replace(b"\r\n", b"\n")
        if {"--csv", "convert"} & set(words)
        else done.stdout + done.stderr
    )
    if done.returncode not in EXIT_CODES or b"runtime error:" in said:
        return f"exit {done.returncode}: {done.stderr[-2000:].decode(errors='replace')}"
    if b"Traceback (most recent call last)" in said:
        return "a traceback"
    if done.returncode and not said:
        return f"exit {done.returncode} without a word"
    try:
        found = CONTROLS.search(said.decode())
    except UnicodeDecodeError as error:
        return f"prints what is not UTF-8: {error}"
    return f"prints {found[0]!r}" if found else None


class Campaign:
    """A folder to work in, and the tries of each class. quick: the count in `make test`, whose
    attacks together take 20 processor seconds at most."""

    def __init__(self, count, quick):
        parser = argparse.ArgumentParser()
        self.in_test = os.environ.get("CBANK_TEST") == "quick"
        parser.add_argument("--count", type=int, default=quick if self.in_test else count)
        parser.add_argument("--seed", type=int, default=1)
        self.options, self.rest = parser.parse_known_args()
        self.kept = tempfile.TemporaryDirectory()
        self.folder, self.tried, self.failed = self.kept.name, {}, {}

    def chance(self, number):
        return random.Random(f"{self.options.seed} {number}")

    def attempt(self, name, words, file=None, seconds=HANG_SECONDS):
        """Runs a command of a class. If it offends, `file` of the folder is kept, and printed in
        its place."""
        self.count(name, offence(words, self.folder, seconds), words, file)

    def count(self, name, said, words, file=None):
        """Counts a try of a class. said: what was offensive, or None. words: of cbank, or a line
        of sh."""
        self.tried[name] = self.tried.get(name, 0) + 1
        if not said:
            return
        self.failed[name] = self.failed.get(name, 0) + 1
        typed = words if isinstance(words, str) else shlex.join([CBANK, *words])
        if file:
            os.makedirs(FAILED, exist_ok=True)
            kept = os.path.join(
                FAILED,
                re.sub(r"\W+", "-", f"{name} {self.options.seed} {self.tried[name]}")
                + os.path.splitext(file)[1],
            )
            shutil.copy(os.path.join(self.folder, file), kept)
            typed = shlex.join([CBANK, *(word.replace(file, kept) for word in words)])
        print(f"{said}\n    {typed}".encode(errors="backslashreplace").decode(), flush=True)

    def end(self):
        """Prints the summary. Returns the exit code."""
        self.kept.cleanup()
        for name, tried in self.tried.items():
            print(f"{name}: {tried} tried, {self.failed.get(name, 0)} failed")
        return 1 if self.failed or not self.tried else 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    here = os.path.dirname(os.path.abspath(__file__))
    names = options.names or sorted(
        os.path.basename(file)[: -len(".py")]
        for file in glob.glob(f"{here}/*.py")
        if file != os.path.join(here, "run.py")
    )
    status, total = 0, {}
    for name in names:
        for seed in range(1, options.rounds + 1):
            done = subprocess.run(
                [sys.executable, os.path.join(here, f"{name}.py"), "--seed", str(seed)],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                check=False,
            )
            found = SUMMARY.findall(done.stdout)
            if done.returncode or not found:
                status = 1
                print(
                    (
                        f"{name} --seed {seed}: exit"
                        f" {done.returncode}\n{SUMMARY.sub('', done.stdout).strip()}"
                    ),
                    flush=True,
                )
            for attacked, *numbers in found:
                total[attacked] = [
                    sum(pair) for pair in zip(total.get(attacked, (0, 0)), map(int, numbers))
                ]
    for attacked, (tried, failed) in total.items():
        print(f"{attacked}: {tried} tried, {failed} failed")
    sys.exit(status)


if __name__ == "__main__":
    main()
