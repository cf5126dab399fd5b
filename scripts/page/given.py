# SPDX-License-Identifier: MIT
"""The files that a report is of, and what the program makes of them."""

import concurrent.futures
import functools
import hashlib
import json
import os
import re
import subprocess

from figures import documents

from . import cache

KINDS = ("result", "characterization", "comparison", "explanation", "card", "fleet", "history")  # in the order of the page
IDENTITY = (*documents.CELL_KEYS, "parameters")


class WrongProgram(Exception):
    """The program cannot be run, or does not say what it has to."""


class Given:
    """One file: `label` names it on the page, and the files made of it; no two have the same."""

    def __init__(self, document, label):
        self.document, self.label, self.kind, self.content = document, label, document.kind, document.content
        self.name, self.sha256, self.path = document.name, document.sha256, document.path
        self.explanation = self.unexplained = None  # of a result: a document, or why there is none
        self.anchors = self.anchors_of() if self.kind == "result" else {}

    def anchors_of(self):
        """{identity: id on the page of its cells}: the place in the file, since there are many links to it."""
        return {identity_of(cell): f"cell-{place}" for place, cell in enumerate(self.content["cells"], 1)}

    @property
    def cells_page(self):
        return f"cells/{self.label}.html"

    def href(self, cell):
        """Where a cell of this result, or a row that is about one, is told; None where it is not."""
        anchor = self.anchors.get(identity_of(cell))
        return f"{self.cells_page}#{anchor}" if anchor else None

    @property
    def modelled(self):
        return self.kind == "result" and self.content["engine"] != "cuda"

    @property
    def shown_name(self):
        """The name, and what has to be known of it wherever it stands."""
        return self.label + (", modelled" if self.modelled else "")


def identity_of(row):
    """Of a cell of a document, or of a row of a figure."""
    parameters = row.get("parameters", "")
    if not isinstance(parameters, str):
        parameters = documents.parameters_text(row)
    return (*(row[key] for key in documents.CELL_KEYS), parameters)


def cell_name(row):
    """add/constant/per_warp/128000/1024/hot: a cell says it; a row of a figure has the parts."""
    if "identity" in row:
        return row["identity"]
    *key, parameters = identity_of(row)
    return "/".join(map(str, (*key, *parameters.split())))


def read_all(names, program):
    """(Given of each file, in the order given; {folder: its Given}; lines of what is not shown). A folder stands for the
    documents in it. Raises documents.WrongFile."""
    made, taken, folders, not_shown = [], set(), {}, []
    for name in names:
        if not os.path.isdir(name):
            made.append(Given(documents.read(name, program), label_of(name, taken)))
            continue
        folder = os.path.normpath(name)
        if folder in folders:
            raise documents.WrongFile(f"{name} is named twice; name it once")
        folders[folder] = []
        for path in documents.in_folder(folder):
            try:
                document = documents.read(path, program)
            except documents.OtherKind:
                not_shown.append(path)
                continue
            one = Given(document, label_of(f"{os.path.basename(os.path.abspath(folder))}-{document.name}", taken))
            folders[folder].append(one)
            made.append(one)
    if not made:
        raise documents.WrongFile(f"{names[0]} holds nothing that a report is of; name results or characterizations")
    return made, folders, not_shown


def label_of(name, taken):
    """Of a file: its name without what a link has no room for, and a number where that is taken."""
    stem = re.sub(r"[^\w.-]+", "-", os.path.basename(name).removesuffix(".json")).lstrip(".-") or "file"
    label, number = stem, 1
    while label.casefold() in taken:
        number += 1
        label = f"{stem}-{number}"
    taken.add(label.casefold())
    return label


# -- the program --------------------------------------------------------------------------------------------------


class Program:
    """cbank, which explains, compares, and knows the tables of paths and patterns."""

    def __init__(self, path):
        self.path = path
        self.version = self.asked("--version").stdout.decode(errors="replace").strip()
        self.tables = {name: {row["name"]: (place, row) for place, row in enumerate(self.listed(name))}
                       for name in ("workloads", "paths", "patterns", "regimes")}

    def asked(self, *arguments):
        try:
            return subprocess.run([self.path, *arguments], capture_output=True, check=False, stdin=subprocess.DEVNULL)
        except OSError as error:
            raise WrongProgram(f"cannot run {self.path}: {error.strerror}; build it, or name it: --program") from None

    def listed(self, table):
        try:
            return json.loads(self.asked("list", table, "--json").stdout)
        except ValueError:
            raise WrongProgram(f"{self.path} does not list its {table}; name the program: --program") from None

    def place(self, table, name):
        """Of a row in the program's table; others are behind them, by name."""
        known = self.tables[table]
        return (known[name][0], "") if name in known else (len(known), name)

    def path_loads(self, name):
        return self.tables["paths"].get(name, (0, {"loads": True}))[1]["loads"]

    @functools.cached_property
    def sha256(self):
        """None where it lies somewhere on PATH."""
        try:
            with open(self.path, "rb") as file:
                return hashlib.sha256(file.read()).hexdigest()
        except OSError:
            return None

    def said(self, *arguments):
        """(its last line on stderr without its name, what it wrote to stdout)."""
        done = self.asked(*arguments)
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit {done.returncode}"]
        return re.sub(r"^cbank: (error: )?", "", lines[-1]), done.stdout

    def document(self, name, *arguments):
        """(what it wrote to stdout as a document, its last line on stderr); the document is None where it is none."""
        said, data = self.said(*arguments)
        return read(name, data), said


def read(name, data):
    """The document, or None where it is none."""
    try:
        return documents.Document(name, data)
    except documents.WrongFile:
        return None


def explain(program, given, where):
    """Explains each result that was not explained before, as many at a time as there are processors; by the card given, of
    several by the program's own. Those of the same cells are explained together, which is quicker. where: of the cache."""
    cards = [one for one in given if one.kind == "card"]
    card = cards[0] if len(cards) == 1 else None
    command = "explain", "--json", *([f"--card={card.path}"] if card else [])

    def take(one, data):
        one.explanation = read(one.path, data)
        if one.explanation:
            one.explanation.sha256 = one.sha256  # what the numbers come from
        return one.explanation

    def key_of(one):
        return "explanation", program.sha256, one.path, one.sha256, card and (card.path, card.sha256)

    def together(several):
        """What is refused is asked again alone, for the reason."""
        content = read("explanation", program.said(*command, *(one.path for one in several))[1]) if len(several) > 1 else None
        by_file = {result["file"]: result for result in content.content["results"]} if content else {}
        for one in several:
            if one.path in by_file:
                data = json.dumps({**content.content, "results": [by_file[one.path]]}).encode()
            else:
                one.unexplained, data = program.said(*command, one.path)
            if take(one, data) and program.sha256:
                cache.write(where, key_of(one), [data], None)
            one.unexplained = None if one.explanation else one.unexplained

    missing = {}
    for one in (one for one in given if one.kind == "result"):
        kept = cache.read(where, key_of(one)) if program.sha256 else None
        if not (kept and take(one, kept[0][0])):
            missing.setdefault(tuple(one.anchors), []).append(one)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:  # the longest first
        list(pool.map(together, sorted(missing.values(), key=lambda several: -len(several[0].anchors) * len(several))))


def compared(program, given):
    """[(name, comparison, base, new)] of two results, unless they are of two models of GPUs, and of comparisons that were
    given; and why there is none."""
    results = [one for one in given if one.kind == "result"]
    made = [(one.label, one.document, *sides_of(one, results)) for one in given if one.kind == "comparison"]
    if made:
        return made, None
    if len(results) != 2:
        return [], (f"{len(results)} results were given: two are compared, or what cbank compare --json wrote is shown"
                    if results else "no results were given")
    base, new = results
    if base.content["engine"] == new.content["engine"] and base.content["device"]["name"] != new.content["device"]["name"]:
        return [], "the results are of two models, which stand beside each other"
    document, said = program.document("comparison.json", "compare", "--quiet", "--json", "-", base.path, new.path)
    if not document:
        return [], said
    return [(f"{base.label} and {new.label}", document, base, new)], None


def sides_of(one, results):
    """The results of both sides of a comparison, each where it is one that was given, else None."""
    def found(label):
        same = [result for result in results if result.path == label] or \
               [result for result in results if result.name == os.path.basename(label)]
        return same[0] if len(same) == 1 else None
    return [found(one.content[side].get("label") or "") for side in ("base", "new")]
