# SPDX-License-Identifier: MIT
"""Shared by check_sass.py and check_ptx.py: the kernels that must exist, and the loads of each."""

import collections
import functools
import json
import os
import re
import subprocess
import sys


class Failure(Exception):
    """The check cannot be made; the text says why and what to do."""


@functools.lru_cache
def rows(program, table):
    """The rows of one of the program's tables, as `cbank list TABLE --json` prints them."""
    command = [program, "list", table, "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Failure(f"{program}: {error.strerror}; build it first: make") from error
    if done.returncode != 0:
        raise Failure(f"`{' '.join(command)}` exits with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


# In place of a pattern, where indices are data.
SOURCE = {"name": "source", "scope": "thread", "index_is_step": True, "core": False}


def loaded(workload):
    return workload["index"] == "loaded"


# Greater variants of lookups load other data, too: as CBANK_IN_FLIGHT_MAX.
IN_FLIGHT_MAX = 4


def in_flight(variant):
    return (variant - 1) % IN_FLIGHT_MAX + 1


def steps(workload, radius):
    """Payload loads in the code of a thread: of lookups, those in flight."""
    if loaded(workload):
        return in_flight(radius)
    return workload["steps"] or (2 * radius + 1) ** workload["dimensions"]


def reads_a_table(workload):
    """Others are launch paths, with the few kernels of launches.cu."""
    return workload["index"] != "none"


# For each shape of workload and its payload loads: a thread's loads of the input, its loads from
# the tile in shared memory, and the stores that make the tile.
SHAPES = {
    "map": lambda payload: (1, 0, 0),
    "stencil": lambda payload: (3, 2 * payload, 3),
    "convolution": lambda payload: (payload, 0, 0),
    "lookup": lambda payload: (payload, 0, 0),
}

# Spills of a kernel with too few registers, besides its loads; the compiler decides them.
SPILLS = ("LDL", "STL")

# Compilers also use these, where no path loads by them.
OF_COMPILERS = ("SEL", "PRMT", "selp", "prmt")

SCOPES = ["thread", "block", "immediate"]


# Bytes of an element of the table, and how the instruction that loads one is named behind the first
# word of its class.
SASS_WIDTHS = {1: ".U8", 2: ".U16", 4: "", 8: ".64", 16: ".128"}
PTX_WIDTHS = {1: ".b8", 2: ".b16", 4: "", 8: ".b64", 16: ".b128"}


def widths(workload):
    """The widths that a workload has kernels of; None: the path's whole table."""
    return [None] * (not loaded(workload)) + [
        width for width in (*SASS_WIDTHS, 12, 24, 32) if "width_bytes" in workload["parameters"]
    ]


def words_held(path):
    """Words of the table that a thread holds, where that is all of the path's table."""
    return path["bytes"] // 4 if path["unit"] == "select" else 0


def can_be(workload, radius, path, pattern, width, architecture):
    """Whether there is such a kernel: what `instance` in kernels.cu and cell_obstacle in cell.c
    say."""
    compiled, plain = workload["index"] == "compiled", width in (*SASS_WIDTHS, None)
    if loaded(workload):
        return (
            path["scope"] == "thread"
            and architecture >= path["architecture"]
            and in_flight(radius) != 3
            and width <= (path["entry_bytes"] or width)
            and (
                plain
                or not (path["copies"] > 1 or path["unit"] in ("texture", "registers", "select"))
            )
        )
    return (
        plain
        and not path["lookups"]
        and SCOPES.index(path["scope"]) <= SCOPES.index(pattern["scope"])
        and architecture >= path["architecture"]
        and (steps(workload, radius) == 1 or pattern["index_is_step"])
        and (compiled or (pattern["core"] and path["scope"] == "thread"))
    )


# Classes in SASS or PTX of the loads and stores other than the payload. constant_loads: those that
# a compiler chooses between for the constant bank. payload: (class, how many) that make one payload
# load, by path and width. widths_of: the name of a load or store of that width, from its name.
Language = collections.namedtuple(
    "Language", "load store shared_load shared_store constant_loads payload widths_of"
)


def sass_name(family, width):
    """LDG.128.CONSTANT"""
    base, point, rest = family.partition(".")
    return base + SASS_WIDTHS[width] + point + rest


def selections(count):
    """Selections that choose one of `count` words, a power of two: SASS has two for a choice of
    four, the second under a predicate."""
    return count // 2 if count < 4 else count // 4 * 2 + selections(count // 4)


def selected(path, width, name, choices):
    """The same of a table that a thread holds: PRMT reads two of its words, whatever the width.
    Else each word of an entry takes `choices` among those of all entries; narrow entries share
    one."""
    words, held = max(width // 4, 1), words_held(path)
    return name, held // 2 if name in ("PRMT", "prmt") else words * choices(held // words)


def sass_payload(path, width):
    """An element that is wider than the widest load takes several. Textures, operands and
    shuffles give 32 bits at least."""
    if path["unit"] == "select":
        return selected(path, width, path["sass"], selections)
    piece = max(
        min(width & -width, path["widest_bytes"]),
        4 if path["unit"] in ("texture", "imc", "registers") else 1,
    )
    return sass_name(path["sass"], piece), max(width // piece, 1)


def ptx_payload(path, width):
    """A texture load is of four components, whatever the texture has; a shuffle is of a word,
    and so is a selection, of two."""
    if path["unit"] == "select":
        return selected(path, width, path["ptx"], lambda count: count - 1)
    if path["unit"] == "registers":
        return path["ptx"], max(width // path["widest_bytes"], 1)
    piece = min(width & -width, 16)
    return path["ptx"] + ("" if path["unit"] == "texture" else PTX_WIDTHS[piece]), width // piece


UNINDEXED = "LDC of the user bank without a register index"
SASS = Language(
    "LDG",
    "STG",
    "LDS",
    "STS",
    {"OPERAND"}
    | {name + width for name in ("LDC", UNINDEXED, "ULDC") for width in SASS_WIDTHS.values()},
    sass_payload,
    lambda name, width: name if name.startswith("ST") else sass_name(name, width),
)
PTX = Language(
    "ld.global",
    "st.global",
    "ld.shared",
    "st.shared",
    {"ld.const" + width for width in PTX_WIDTHS.values()},
    ptx_payload,
    lambda name, width: name + PTX_WIDTHS[width],
)


class Kernel:
    """One kernel that there must be, and what it must hold."""

    def __init__(self, language, workload, radius, path, pattern, width):
        self.workload, self.path, self.pattern, self.sized = (
            workload,
            path,
            pattern,
            width is not None,
        )
        space, index, module = (
            f"path_{path['name']}",
            f"pattern_{pattern['name']}",
            f"workload_{workload['name']}",
        )
        space = f"{len(space)}{space}"
        self.symbol = (
            f"_Z6kernelI{len(module)}{module}ILj{radius}EE"
            + (f"5sizedI{space}Lj{width}EE" if self.sized else space)
            + f"{len(index)}{index}Ev11kernel_argsPKjNT0_12table_valuesE"
        )
        self.payload, pieces = language.payload(path, width if path["loads"] and self.sized else 4)
        self.payload_loads = steps(workload, radius) * pieces if path["loads"] else 0
        self.constant_loads = language.constant_loads
        self.staged = path["unit"] == "shared"
        self.strides = loaded(workload)  # its loads are in the loop of a grid that strides
        self.switched = workload["index"] != "compiled"
        self.loads, tile_loads, tile_stores = SHAPES[workload["shape"]](steps(workload, radius))
        self.loads += self.strides and radius > IN_FLIGHT_MAX

        # A path that stages and loads nothing has a load that never happens. Copies are any number,
        # from 1 on.
        self.counts = collections.Counter({self.payload: self.payload_loads or 1})
        self.counts += collections.Counter(
            {
                language.load: self.loads,
                language.store: 1,
                language.shared_load: tile_loads,
                language.shared_store: tile_stores,
            }
        )
        # A table is copied by words, or else entry by entry.
        copied = width if self.sized and (path["copies"] > 1 or path["unit"] == "registers") else 4
        self.copies = {
            language.widths_of(name, copied)
            for name in (language.load, language.shared_store)
            if self.staged
        }
        if path["unit"] == "registers":
            self.counts[language.widths_of(language.load, copied)] += 1
        self.counts[language.load] += words_held(path)

    def holds(self, counts):
        """Whether counts are what the path names."""
        names = (set(counts) | set(self.counts)) - self.copies
        return all(counts[name] == self.counts[name] for name in names) and all(
            counts[name] > self.counts[name] for name in self.copies
        )

    def left_to_the_compiler(self, counts):
        """Whether the path leaves its instruction to the compiler, which took others for some
        loads of the table."""
        rest = {name: count for name, count in counts.items() if name not in self.constant_loads}
        other = {
            name: count for name, count in self.counts.items() if name not in self.constant_loads
        }
        return (
            self.path["chosen"]
            and rest == other
            and any(name in self.constant_loads for name in counts)
        )


def expected_kernels(program, language, architecture):
    """{symbol: Kernel} for every combination of the program's tables that can be."""
    workloads, paths, patterns = (
        rows(program, table) for table in ("workloads", "paths", "patterns")
    )
    expected = {}
    for workload in filter(reads_a_table, workloads):
        for radius in range(1, workload["variants"] + 1) if workload["variants"] else [0]:
            for path in paths:
                for pattern in [SOURCE] if loaded(workload) else patterns:
                    for width in widths(workload):
                        if can_be(workload, radius, path, pattern, width, architecture):
                            kernel = Kernel(language, workload, radius, path, pattern, width)
                            expected[kernel.symbol] = kernel
    if not expected:
        raise Failure(f"{program} lists no kernels")
    return expected


def describe(counts):
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "nothing"


def compare(architecture, expected, found):
    """Compares found, a list of (symbol, Counter, [other faults]), with expected; prints every
    difference.

    Returns the number of kernels that are as they should be, and {path: (how many have the
    instruction that it names, how many kernels it has)} for the paths that leave it to the
    compiler; "sized/" before its name: of kernels for other tables than its whole one.
    """
    good, spills, chosen = 0, 0, {}
    seen = collections.Counter(name for name, _, _ in found)
    for name in expected:
        if seen[name] != 1:
            print(f"FAIL {architecture} {name}: there {seen[name]} times, expected once")
    for name, counts, faults in found:
        kernel = expected.get(name)
        if not kernel:
            print(f"FAIL {architecture} {name}: no such kernel in the tables")
            continue
        spills += any([counts.pop(name, 0) for name in SPILLS])
        for other in OF_COMPILERS:
            if kernel.payload != other:
                counts.pop(other, None)
        holds = kernel.holds(counts)
        if kernel.path["chosen"]:
            choice = ("sized/" if kernel.sized else "") + kernel.path["name"]
            taken, of = chosen.get(choice, (0, 0))
            chosen[choice] = (taken + holds, of + 1)
        if not holds and not kernel.left_to_the_compiler(counts):
            faults = [
                f"expected {describe(kernel.counts)}{' and copies' * kernel.staged}; found"
                f" {describe(counts)}"
            ] + faults
        for fault in faults:
            print(f"FAIL {architecture} {name}: {fault}")
        good += not faults and seen[name] == 1
    if spills:
        print(f"NOTE {architecture}: {spills} kernels keep some registers in local memory")
    return good, chosen


def report(table):
    """Prints (architecture, kernels expected, kernels found, kernels good) rows; returns the
    exit status."""
    width = max([len("architecture")] + [len(name) for name, _, _, _ in table])
    print(f"{'architecture':{width}}  kernels     ok")
    for name, _, found, good in table:
        print(f"{name:{width}}  {found:7}  {good:5}")
    if not table:
        print("FAIL: nothing to check")
        return 1
    return 0 if all(expected == found == good for _, expected, found, good in table) else 1


# The choices of compilers, by (toolkit, architecture, path): how many of how many kernels have the
# path's instruction.
CHOSEN = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests/golden/chosen.txt"
)


def known_choices():
    """{(toolkit, architecture, path): (taken, of)} of the file."""
    with open(CHOSEN, encoding="utf-8") as file:
        fields = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return {tuple(row[:3]): (int(row[3]), int(row[4])) for row in fields}


def version(toolkit):
    return [int(word) for word in re.findall(r"\d+", toolkit)]


def reference(toolkit, architecture, path, known):
    """The newest toolkit that is not newer than this one and for which the file has such a row;
    None."""
    names = [
        name
        for name, *row in known
        if row == [architecture, path] and version(name) <= version(toolkit)
    ]
    return max(names, key=version, default=None)


def words(taken, of):
    return "all" if taken == of else "none" if taken == 0 else f"{taken} of {of}"


def report_choices(toolkit, choices):
    """Prints what the compiler chose, choices[architecture][path]; returns 1 where it is not
    what the file says."""
    known, status = known_choices(), 0
    if any(choices.values()):
        print(
            f"\nkernels with the instruction that their path leaves to the compiler, CUDA {toolkit}"
        )
    for architecture, found in choices.items():
        for path, (taken, of) in found.items():
            print(f"{architecture:12}  {words(taken, of):12}  {path}")
            base = reference(toolkit, architecture, path, known)
            was = known.get((base, architecture, path))
            if was and was != (taken, of):
                print(
                    f"FAIL {architecture} {path}: {taken} of {of} kernels have its instruction;"
                    f" with CUDA {base} it was {was[0]} of {was[1]}. If the compiler, or a row,"
                    " changed that, tests/golden/chosen.txt needs the row:"
                    f" {toolkit} {architecture} {path} {taken} {of}"
                )
                status = 1
    return status


def run(main):
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"{sys.argv[0]}: {failure}", file=sys.stderr)
        sys.exit(2)
