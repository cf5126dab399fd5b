#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Whether a reader of the sources says of a load what cbank advise --kernel says of it.

usage: draw_loads.py --seed N [--count 60] [--claims 0.67] [--verdicts 0] [--sources DIR]
                     [--skip FILE] [--program build/cbank] --blind LIST.csv --sealed SEALED.json
                     CUBIN...
       draw_loads.py --judge SEALED.json --answers LIST.csv

The first draws places of the sources: a kernel, a line, a memory space, a width. LIST.csv has these
with empty columns, SEALED.json has what the program says of the loads there. The reader fills the
columns before SEALED.json is opened. The second compares.

- The folder of a cubin is its project. Kinds of answers take turns, and projects within a kind: a
  kind or a project with many loads is not drawn more often. One line of a source is drawn once.
  Constants that the compiler adds stand in no source, and are not drawn.
- At least `--claims` of the places have a load of which something is claimed: all but `data` and
  `unknown`.
- `--sources DIR` draws lines alone whose file is somewhere under DIR. --skip leaves out the lines
  of an earlier list.
- `--verdicts` adds tables of kernels, whose verdict is to be written.

An answer is the word of `variation`, with the stride of `affine` and the addresses of `uneven`:
`affine 4`. Where a line has several loads of that memory and width, all are written, with | between
them. A table is a symbol, `parameter 0` or `-`. A verdict is that of the program, with the better
path: `faster elsewhere: shared`.

The program says of a load the same as the reader, less, or something else. Exits 1 where it says
something else: of these, one of the two is wrong.
"""

import argparse
import collections
import csv
import hashlib
import json
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trials

# From the one that says most, as enum variation of harness/divergence/divergence.h.
VARIATIONS = (
    "constant",
    "grid",
    "block",
    "warp",
    "affine",
    "uneven",
    "thread",
    "data",
    "unknown",
)
NO_CLAIM = ("data", "unknown")
NUMBERED = {"affine": "stride_bytes", "uneven": "addresses"}
PLACE = ("what", "project", "cubin", "kernel", "file", "line", "memory", "bytes")
FILLED = ("answer", "table", "why")
SAME, LESS, ELSE = "the same", "less", "something else"


def base_name(kernel):
    """The name of a kernel without arguments of templates and functions: one for all its
    builds."""
    plain = kernel.replace("(anonymous namespace)", "")
    return plain.split("(")[0].split("<")[0].split(" ")[-1]


def answer_of(load):
    """The words of the program's answer."""
    number = load.get(NUMBERED.get(load["variation"]))
    return load["variation"] if number is None else f"{load['variation']} {number}"


def verdict_of(table):
    better = table["better"]
    return table["verdict"] if better is None else f"{table['verdict']}: {better}"


def table_of(row):
    """The table of a load or verdict; "-": it has no name in the source, as arrays of shared memory
    have none in the code."""
    name = row["table"] or "-"
    return "-" if name.startswith("offset ") else name


def read_cubin(program, path):
    """(project, kernels) of a cubin."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "advice.json")
        command = program, "advise", "--kernel", path, "--json", out
        done = trials.call(*command, statuses=(0, 2))
        if done.returncode:
            print(done.stderr, end="", file=sys.stderr)
            return None, []
        with open(out, encoding="utf-8") as file:
            kernels = json.load(file)["code"]["kernels"]
    return os.path.basename(os.path.dirname(os.path.abspath(path))), kernels


def names_below(folder):
    """The names of all files below a folder; None: there is none."""
    if folder is None:
        return None
    return {name for _, _, names in os.walk(folder) for name in names}


def load_places(project, cubin, kernels, names):
    """{place: loads} of the loads whose line is known."""
    places = {}
    for kernel in kernels:
        for load in kernel["loads"]:
            if load["line"] is None or load["memory"] == "compiler":
                continue
            if names is not None and load["file"] not in names:
                continue
            where = (load["file"], load["line"], load["memory"], load["width_bytes"])
            place = ("load", project, cubin, kernel["readable_name"], *where)
            places.setdefault(place, []).append(load)
    return places


def table_places(project, cubin, kernels):
    """{place: tables} of the tables that the program names."""
    places = {}
    for kernel in kernels:
        for table in kernel["tables"]:
            if table_of(table) != "-" and table["verdict"] != "no table":
                where = (table["table"], None, table["memory"], table["width_bytes"])
                place = ("verdict", project, cubin, kernel["readable_name"], *where)
                places.setdefault(place, []).append(table)
    return places


def group(places, kind_of):
    """{kind: {project: places}}, all sorted: a draw depends on nothing but its seed."""
    kinds = {}
    for place in sorted(places, key=str):
        for kind in {kind_of(found) for found in places[place]}:
            kinds.setdefault(kind, {}).setdefault(place[1], []).append(place)
    return dict(sorted(kinds.items()))


def line_of(place):
    """What is drawn once: the line of a source; of a table, its name in a kernel."""
    what, project, _, kernel, file, line = place[:6]
    if what == "load":
        return project, file, str(line)
    return project, base_name(kernel), file


class Draw:
    """Lines that were drawn, and how many of each project."""

    def __init__(self, seed, skip):
        self.chance, self.projects = random.Random(seed), collections.Counter()
        self.lines = set()
        if skip:
            with open(skip, newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            self.lines = {line_of([row[key] for key in PLACE]) for row in rows}

    def of_kind(self, projects):
        """One place of {project: places}, of a project of which the fewest were drawn; None: all
        lines were drawn."""
        order = {name: (self.projects[name], self.chance.random()) for name in projects}
        for project in sorted(projects, key=order.get):
            lines = {}
            for place in projects[project]:
                if line_of(place) not in self.lines:
                    lines.setdefault(line_of(place), []).append(place)
            if lines:
                # Lines first: one with a thousand builds counts once.
                line = self.chance.choice(list(lines))
                self.lines.add(line)
                self.projects[project] += 1
                return self.chance.choice(lines[line])
        return None

    def places(self, kinds, count):
        """`count` places of {kind: {project: places}}, or all. Kinds take turns. Their order says
        nothing."""
        kinds, drawn = list(kinds.values()), []
        while kinds and len(drawn) < count:
            projects = kinds.pop(0)
            place = self.of_kind(projects)
            if place:
                drawn.append(place)
                kinds.append(projects)
        self.chance.shuffle(drawn)
        return drawn


def write_places(options, places):
    """Writes the blind list. What the program says of each of its rows. places: [(place, loads or
    tables)]"""
    sealed = []
    with open(options.blind, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(("number", *PLACE, *FILLED))
        for number, (place, found) in enumerate(places, 1):
            rows.writerow((number, *place, *("" for _ in FILLED)))
            say = answer_of if place[0] == "load" else verdict_of
            sealed.append(
                {
                    "answers": sorted({say(row) for row in found}),
                    "tables": sorted({table_of(row) for row in found}),
                    "found": found,
                }
            )
    return sealed


def write_draw(options):
    names, loads, tables, hashes = names_below(options.sources), {}, {}, {}
    for path in options.cubins:
        cubin = os.path.basename(path)
        project, kernels = read_cubin(options.program, path)
        loads |= load_places(project, cubin, kernels, names)
        tables |= table_places(project, cubin, kernels)
        with open(path, "rb") as file:
            hashes[f"{project}/{cubin}"] = hashlib.sha256(file.read()).hexdigest()
    draw = Draw(options.seed, options.skip)
    kinds = group(loads, lambda load: load["variation"])
    rest = {kind: kinds.pop(kind) for kind in NO_CLAIM if kind in kinds}
    claims = round(options.claims * options.count)
    drawn = draw.places(kinds, claims)
    drawn += draw.places(rest, options.count - claims)
    draw.chance.shuffle(drawn)
    kinds = group(tables, lambda table: table["verdict"])
    judged = draw.places(kinds, options.verdicts)
    found = loads | tables
    places = write_places(options, [(place, found[place]) for place in drawn + judged])
    with open(options.sealed, "w", encoding="utf-8") as file:
        document = {"seed": options.seed, "cubins": hashes, "places": places}
        json.dump(document, file, indent=1)
    print(f"{len(drawn)} of {len(loads)} places, {len(judged)} of {len(tables)} tables")
    return 0


def parts(text):
    return {" ".join(part.split()) for part in text.split("|") if part.strip()}


def strength(answer):
    """From 0, which says most; of what is no variation, None."""
    word = answer.split(" ")[0]
    return VARIATIONS.index(word) if word in VARIATIONS else None


def judge(reader, program):
    """What the program says, beside the reader: SAME, LESS or ELSE. Both are sets of answers."""
    ours, theirs = reader - program, program - reader
    if not ours and not theirs:
        return SAME
    if any(strength(answer) is None for answer in ours | theirs):
        return ELSE
    if theirs:
        best, worst = min(map(strength, theirs)), max(map(strength, ours or reader))
    else:  # of some of the loads it says what the reader says of others
        best, worst = max(map(strength, program)), max(map(strength, ours))
    return LESS if best > worst else ELSE


def judge_table(reader, program):
    """A symbol is written as the source has it, and the program's has the words of C++ around."""
    unknown = {"-", ""}
    found = {mine for mine in reader if any(mine in its for its in program)}
    if found == reader and all(any(mine in its for mine in reader) for its in program):
        return SAME
    return LESS if program & unknown and program - unknown <= found else ELSE


def judge_row(row, place):
    """(what, the reader's words, the program's, the verdict) of a row of the list: of its load or
    table, and of a load also of the table that it reads."""
    mine, its = row["answer"], set(place["answers"])
    yield row["what"], mine, its, judge(parts(mine), its)
    if row["what"] == "load":
        mine, its = row["table"], set(place["tables"])
        yield "table", mine, its, judge_table(parts(mine), its)


def write_judgement(options):
    with open(options.judge, encoding="utf-8") as file:
        places = json.load(file)["places"]
    with open(options.answers, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if len(rows) != len(places):
        trials.fail(f"{options.answers}: not as many rows as were drawn, {len(places)}")
    counts = {}
    for row, place in zip(rows, places):
        if not row["answer"].strip():
            trials.fail(f"{options.answers}: row {row['number']} has no answer")
        for what, mine, its, verdict in judge_row(row, place):
            counts.setdefault(what, {SAME: 0, LESS: 0, ELSE: 0})[verdict] += 1
            if verdict != SAME:
                where = f"{base_name(row['kernel'])} {row['file']}:{row['line']}"
                print(f"{row['number']} {what}, {verdict}: {where} {row['memory']}")
                print(f"    reader: {mine}; program: {' | '.join(sorted(its))}")
    print(f"\n{'':10}" + "".join(f"{verdict:>16}" for verdict in (SAME, LESS, ELSE)))
    for what, found in counts.items():
        print(f"{what:10}" + "".join(f"{count:>16}" for count in found.values()))
    return any(found[ELSE] for found in counts.values())


def main():
    usage = __doc__.split("\n\n")[1].removeprefix("usage: ")
    parser = argparse.ArgumentParser(usage=usage)
    parser.add_argument("--program", default=os.path.join(trials.ROOT, "build/cbank"))
    parser.add_argument("--seed", type=int)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--claims", type=float, default=0.67)
    parser.add_argument("--verdicts", type=int, default=0)
    for name in ("sources", "skip", "blind", "sealed", "judge", "answers"):
        parser.add_argument(f"--{name}")
    parser.add_argument("cubins", nargs="*")
    options = parser.parse_args()
    if options.judge and options.answers:
        return write_judgement(options)
    draws = options.seed is not None and options.blind and options.sealed
    if not draws or not options.cubins:
        parser.error("a draw needs --seed, --blind, --sealed and a cubin")
    return write_draw(options)


if __name__ == "__main__":
    sys.exit(main())
