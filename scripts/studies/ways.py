#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""How far it is from a command line to its answer: the functions that are entered, the files that
they stand in, and the calls that climb.

usage: ways.py [--json FILE] [--list WAY] [TREE...]

Each TREE (default: this one) is built with -finstrument-functions under its build/ways, for the
simulated GPU, and runs the same fixed command lines. A call climbs if it enters a room that its own
room does not see: a callback, or a hook. Calls from main's files do not. Rooms and what they see
are those of the tree's Makefile. A stay is a row of functions of one file, in the order in which
they are first called.

Beside the sums of a whole command stand those of what is the way's own: what another command, which
does everything else, does not enter; or the functions that name what an option gives. --list prints
the files and the climbing calls that are a way's own.
"""

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FLAGS = "-O0 -fno-inline -fno-optimize-sibling-calls -finstrument-functions"
COUNTS = ("functions", "files", "stays", "climbs")
QUICK = "--counters none --max-samples 20 --json OUT"
CELL = f"run --path constant,global --pattern per_warp {QUICK}"
KERNEL = "--size 500 --space constant,global"

# By name: the command, and what does everything else, or the member that the option sets.
WAYS = {
    "sample": (
        f"{CELL} --elements 12800",
        "run --engine model --path constant,global --pattern per_warp --elements 12800 --json OUT",
    ),
    "elements": (f"{CELL} --elements 12800", "elements"),
    "kernel": (f"spaces examples/crc32.cu {KERNEL} {QUICK}", f"{CELL} --elements 12800"),
    "load": (
        "advise --kernel tests/corpus/cubin/lookup_sm_90.cubin",
        "advise --pattern per_warp --table-bytes 1024",
    ),
}


def call(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"ways: {' '.join(command)} exited {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def blank(match):
    """Nothing but the ends of its lines: the others keep their numbers."""
    return "\n" * match[0].count("\n")


class Tree:
    """A tree that is built, and what its program calls."""

    def __init__(self, root):
        self.root = os.path.abspath(root)
        self.build = os.path.join(self.root, "build/ways")
        call("make", "-C", self.root, "BUILD=build/ways", f"CFLAGS={FLAGS}", "simulated")
        self.program = os.path.join(self.build, "tests/simulated/cbank")
        self.library = os.path.join(self.build, "ways.so")
        source = os.path.join(HERE, "ways.c")
        call("cc", "-O2", "-shared", "-fPIC", "-o", self.library, source)
        # make -p prints variables, and says by its exit status that there would be something to do.
        printed = subprocess.run(
            ["make", "-C", self.root, "-pqn", "NO_CUDA=1", "help"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        self.sees = {
            room: set(seen.split())
            for room, seen in re.findall(r"(?m)^SEES_(\S+) :?= ?(.*)$", printed)
        }
        self.places = {}

    def calls(self, line):
        """[(function, its file, caller, its file)] of a command line, in the order of the calls."""
        with tempfile.TemporaryDirectory() as folder:
            words = [os.path.join(folder, "out.json") if w == "OUT" else w for w in line.split()]
            ways = os.path.join(folder, "ways")
            os.mkdir(ways)
            environment = {
                **{key: value for key, value in os.environ.items() if not key.startswith("CBANK")},
                "CBANK_SIMULATED": "noise=0.0005",
                "CBANK_CUPTI_DIR": os.path.dirname(self.program),
                "CBANK_CUDA": os.environ.get("CBANK_CUDA", "/usr/local/cuda"),
                "CBANK_CACHE": os.path.join(folder, "cache"),
                "CBANK_NVCC": os.path.join(self.root, "tests/simulated/compiler/nvcc"),
                "STAND_IN_LOG": os.path.join(folder, "log"),
                "LD_PRELOAD": self.library,
                "WAYS": ways,
            }
            call(self.program, *words, cwd=self.root, env=environment)
            found = []
            for name in sorted(os.listdir(ways), key=int):
                with open(os.path.join(ways, name), encoding="utf-8") as file:
                    rows = sorted((row.split() for row in file), key=lambda row: int(row[0]))
                    found += [tuple(row[1:]) for row in rows]
        self.resolve({function for function, _ in found})
        self.resolve({place for _, place in found}, before=1)
        return [(*self.places[f, 0], *self.places[p, 1]) for f, p in found if self.places[f, 0][1]]

    def resolve(self, addresses, before=0):
        """The functions and files of offsets, or of what ends right before them: of calls."""
        new = sorted(address for address in addresses if (address, before) not in self.places)
        asked = "\n".join(hex(max(int(address, 16) - before, 0)) for address in new)
        said = call("addr2line", "-f", "-e", self.program, input=asked).splitlines()
        for address, function, place in zip(new, said[::2], said[1::2]):
            file = os.path.relpath(place.rpartition(":")[0], self.root)
            known = address != "0" and file.startswith(("harness/", "patterns/", "kernels/"))
            self.places[address, before] = (function, file) if known else ("", "")

    def naming(self, word):
        """{(function, file)} of the functions whose code has this word."""
        files = call("git", "-C", self.root, "ls-files", "harness", "patterns", "kernels").split()
        command = ["ctags", "--output-format=json", "--fields=+ne", "--languages=C"]
        command += ["--langmap=C:+.h", "--kinds-C=f", "-f", "-", "-L", "-"]
        listed = call(*command, cwd=self.root, input="\n".join(files)).splitlines()
        found, texts = set(), {}
        for tag in map(json.loads, listed):
            path = tag["path"]
            if path not in texts:
                with open(os.path.join(self.root, path), encoding="utf-8") as file:
                    text = re.sub(r'/\*.*?\*/|"(\\.|[^"\n])*"', blank, file.read(), flags=re.DOTALL)
                texts[path] = text.split("\n")
            body = "\n".join(texts[path][tag["line"] - 1 : tag.get("end", tag["line"])])
            if re.search(rf"\b{word}\b", body):
                found.add((tag["name"], path))
        return found

    def climbs(self, callee, caller):
        """Whether a call leads to a room that the file of the caller does not see."""
        target, source = (os.path.dirname(file) for file in (callee, caller))
        if not source or source in ("harness", target) or not target.startswith("harness/"):
            return False
        return target[8:] not in self.sees.get(source[8:], set())


def summary(tree, calls):
    """The functions, the files, the stays, and the calls that climb."""
    order = dict.fromkeys((file, function) for function, file, _, _ in calls)
    stays = [file for file, _ in itertools.groupby(file for file, _ in order)]
    return {
        "functions": [f"{file} {function}" for file, function in order],
        "files": sorted({file for file, _ in order}),
        "stays": stays,
        "climbs": sorted(
            {
                f"{caller_file} {caller} -> {file} {function}"
                for function, file, caller, caller_file in calls
                if tree.climbs(file, caller_file)
            }
        ),
    }


def measure(tree):
    """{way: {"whole", "own": summary}}"""
    found = {}
    for way, (line, rest) in WAYS.items():
        calls = tree.calls(line)
        entered = {entry[:2] for entry in calls}
        if " " in rest:
            own = entered - {entry[:2] for entry in tree.calls(rest)}
        else:
            own = entered & tree.naming(rest)
        found[way] = {
            "whole": summary(tree, calls),
            "own": summary(tree, [entry for entry in calls if entry[:2] in own]),
        }
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="write what was found")
    parser.add_argument("--list", choices=WAYS, help="print the files and climbs of a way")
    parser.add_argument("tree", nargs="*", default=[ROOT], help="where a tree is checked out")
    asked = parser.parse_args()
    trees = {name: measure(Tree(name)) for name in asked.tree}
    columns = [f"{part} {what}" for part in ("whole", "own") for what in COUNTS]
    print(f"{'way':9} {'tree':9}", *(f"{name:>15}" for name in columns))
    for way in WAYS:
        for name, found in trees.items():
            counts = (len(found[way][part][what]) for part in ("whole", "own") for what in COUNTS)
            print(f"{way:9} {name[-9:]:9}", *(f"{count:15}" for count in counts))
    for name, found in trees.items() if asked.list else ():
        for what in ("files", "climbs"):
            print(f"\n{name}, {asked.list}, {what}:", *found[asked.list]["own"][what], sep="\n  ")
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as file:
            json.dump(trees, file, indent=1)


if __name__ == "__main__":
    main()
