# SPDX-License-Identifier: MIT
"""`cbank report`: a static page of documents. Writes DIR/index.html, DIR/style.css and
DIR/figures/. The page needs no script. The same files make the same bytes; other files in DIR stay.

FILEs are results, characterizations, cards, comparisons, verdicts on fleets and histories; a folder
stands for all of its documents. Two results of one GPU model are compared. Two chips or more stand
side by side in a first table.
"""

from __future__ import annotations

import dataclasses
import itertools
import os

import jinja2

from . import atlas, documents, files, frames, instrument, plot, sections, tables
from .errors import Failure, Parser, printable, say
from .figures import kinds, style
from .figures.source import Source

HERE = os.path.dirname(os.path.abspath(__file__))


class One(Source):
    """A document of the report: `label` names it on the page and its files, and no two have the
    same."""

    def __init__(self, document: documents.Document, label: str):
        super().__init__(document)
        self.label, self.measured = label, self.kind != "result" or self.content["engine"] == "cuda"


def labelled(found: list[documents.Document], folders: set[str]) -> list[One]:
    """A One for each document. Its label is the file's name, with the folder's where that was
    given, and a number where taken."""
    taken, made = set(), []
    for document in found:
        folder = os.path.dirname(document.path)
        stem = documents.stem_of(
            f"{os.path.basename(os.path.abspath(folder))}-{document.name}"
            if folder in folders
            else document.name
        )
        label = documents.untaken(stem, taken)
        with documents.blamed([document]):
            made.append(One(document, label))
    return made


# -- what it says ----------------------------------------------------------------------------------


def comparisons_of(ones: list[One]) -> tuple[list[tuple[str, documents.Document]], str | None]:
    """[(name, comparison)]: those that were given, or of two results what the instrument says;
    and why there is none."""
    results = [one for one in ones if one.kind == "result"]
    given = [(one.label, one.document) for one in ones if one.kind == "comparison"]
    if given or len(results) != 2:
        return given, None
    base, new = results
    if base.content["device"]["name"] != new.content["device"]["name"]:
        return [], "the results are of two models of GPUs"
    try:
        text = instrument.call(
            ["compare", "--quiet", "--json", "-", "--", base.document.path, new.document.path],
            (0, 1, 4),
        )
        return [
            (f"{base.label} and {new.label}", documents.Document("comparison.json", text.encode()))
        ], None
    except Failure as failure:
        return [], str(failure)


# By how bad it is: the class of the verdict, its sign and its word.
VERDICTS = {
    "bad": ("\N{HEAVY BALLOT X}", "Worse"),
    "doubt": ("\N{WARNING SIGN}", "With care"),
    "good": ("\N{HEAVY CHECK MARK}", "Good"),
}


# What the page says of its verdict: texts, each with the part of the page that it is about.
Said = list[tuple[str, "str | None"]]


@dataclasses.dataclass
class Facts:
    """What a verdict on documents rests on."""

    results: list[One]
    interrupted: list[str]  # labels of documents
    fleets: list[tuple[One, str]]  # each with its summary
    comparisons: list[tuple[str, dict]]  # (summary, content)
    cells: list[dict]
    equal: int  # exact counters that are as expected, of those that were compared
    compared: int

    def bad(self) -> Said:
        failed = sum(cell["status"] == "failed" or "invalid" in cell for cell in self.cells)
        said = [
            (text, "#comparison")
            for text, content in self.comparisons
            if content["counts"]["regressed"]
        ]
        said += [
            (f"{one.label}: {text}", "#fleet")
            for one, text in self.fleets
            if any(finding["fails"] for finding in one.content["findings"])
        ]
        if failed:
            said.append((f"{tables.plural(failed, 'cell')} failed or invalid", "#findings"))
        if self.equal < self.compared:
            only = tables.of_all(self.equal, self.compared)
            said.append((f"exact counters: only {only} equal to expected", "#findings"))
        return said

    def doubts(self) -> Said:
        modelled = [one.label for one in self.results if not one.measured]
        flagged = sum(bool(cell["flags"]) for cell in self.cells)
        said = [
            (text, "#comparison")
            for text, content in self.comparisons
            if not content["comparable"]
            or content["counts"]["inconclusive"]
            or content["counts"].get("contended")
            or content["counts"]["invalid"]
        ]
        if modelled:
            said.append((f"modelled, not measured: {', '.join(modelled)}", "#environment"))
        if self.interrupted:
            said.append((f"interrupted: {', '.join(self.interrupted)}", "#environment"))
        if flagged:
            share = tables.of_all(flagged, len(self.cells))
            said.append((f"{share} cells are flagged", "#findings"))
        return said

    def well(self) -> Said:
        said = [(text, "#comparison") for text, _ in self.comparisons]
        said += [(f"{one.label}: {text}", "#fleet") for one, text in self.fleets]
        if self.cells:
            good = sum(cell["status"] == "ok" for cell in self.cells)
            said.append((f"{tables.of_all(good, len(self.cells))} cells ok, none failed", None))
        if self.compared:
            count = tables.count(self.compared)
            said.append((f"all {count} exact counters equal to expected", None))
        return said


def verdict_of(
    ones: list[One], comparisons: list[tuple[str, documents.Document]]
) -> tuple[str, str, str, Said]:
    """(class, sign, word, what is said): findings before doubts, and doubts before what is
    well."""
    results = [one for one in ones if one.kind == "result"]
    facts = Facts(
        results,
        [
            one.label
            for one in ones
            if one.content.get("complete") is False or one.content.get("interrupted")
        ],
        [(one, sections.fleet_section(one)["summary"]) for one in ones if one.kind == "fleet"],
        [
            (f"{name}: {document.content['summary']}", document.content)
            for name, document in comparisons
        ],
        [cell for one in results for cell in one.content["cells"]],
        *sections.exact([one for one in results if one.measured]),
    )
    bad, doubts = facts.bad(), facts.doubts()
    kind = "bad" if bad else "doubt" if doubts else "good"
    said = bad or doubts or facts.well() or [("nothing in these files is a finding", None)]
    return kind, *VERDICTS[kind], said


def order_of_tables() -> dict:
    """Positions of paths and patterns in the instrument's tables, and the paths that load
    nothing."""
    rows = {name: instrument.ask(["list", name, "--json"]) for name in ("paths", "patterns")}
    return {
        **{name: {row["name"]: index for index, row in enumerate(of)} for name, of in rows.items()},
        "loadless": {row["name"] for row in rows["paths"] if not row.get("loads", True)},
    }


def title_of(ones: list[One]) -> str:
    devices = sorted(
        {
            one.content["device"]["name"]
            for one in ones
            if one.content.get("device") and one.measured
        }
    )
    return "cbank report: " + (
        ", ".join(devices)
        if 0 < len(devices) < 4
        else tables.plural(len(devices), "device")
        if devices
        else ones[0].label
    )


def content_of(ones: list[One], others: list[str]) -> dict:
    """The values of the template, except the figures."""
    of = {kind: [one for one in ones if one.kind == kind] for kind in frames.ROWS}
    comparisons, why_none = comparisons_of(ones)
    order = order_of_tables()
    kind, sign, word, said = verdict_of(ones, comparisons)
    notes = [f"{path} is not shown: a report does not have such documents" for path in others] + [
        f"No comparison: {why_none}."
    ] * bool(why_none)
    chips = atlas.table([one for one in ones if one.kind in ("result", "characterization", "card")])
    return {
        "title": title_of(ones),
        "subtitle": ", ".join(tables.plural(len(its), name) for name, its in of.items() if its),
        "verdict": {"kind": kind, "sign": sign, "word": word, "said": said},
        "notes": notes,
        "chips": chips,
        "summary": sections.summary_table(of["result"]) if of["result"] else None,
        "findings": [
            f"{one.label}: {text}" for one in of["result"] for text in sections.findings(one)
        ],
        "environment": sections.environment_table(ones),
        "matrices": [(one, sections.matrix_tables(one, order)) for one in of["result"]],
        "characterizations": [
            (one.label, *sections.characterization_tables(one)) for one in of["characterization"]
        ],
        "cards": [sections.card_table(one) for one in of["card"]],
        "parts": [
            (
                "comparison",
                "Comparison",
                [sections.comparison_section(*its) for its in comparisons],
            ),
            ("fleet", "Fleet", [sections.fleet_section(one) for one in of["fleet"]]),
            ("history", "History", [sections.history_section(one) for one in of["history"]]),
        ],
        "sources": tables.Table(
            "Files",
            ["file", "kind", "SHA-256"],
            [[one.document.name, one.kind, one.document.sha256] for one in ones],
        ),
        "version": instrument.call(["--version"]).strip(),
        "figures": [],
        "missing": [],
        "compared": [Source(document) for _, document in comparisons],
    }


# -- writing ---------------------------------------------------------------------------------------


def environment() -> jinja2.Environment:
    """Templates. Every text is escaped, and has no control characters."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(os.path.join(HERE, "templates")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    made.globals["next_id"] = map(str, itertools.count(1)).__next__
    return made


def main(words: list[str]) -> int:
    """Runs the command line `words`, without the name of the command; returns the exit code."""
    parser = Parser(
        prog="cbank report",
        description=__doc__,
    )
    parser.writes(
        "-o",
        "--output",
        metavar="DIR",
        required=True,
        help="folder of the page, made where there is none",
    )
    parser.reads("files", metavar="FILE", nargs="+", help="documents, or folders of them")
    asked = parser.parse_args(words)
    found, others = documents.read_all(asked.files)
    if not found:
        raise Failure(
            f"{asked.files[0]} holds nothing that a report shows; name results or characterizations"
        )
    ones = labelled(
        found,
        {os.path.normpath(path) for path in asked.files if os.path.isdir(path)}
        | {path.rstrip("/") for path in asked.files if os.path.isdir(path)},
    )
    folder = os.path.join(asked.output, "figures")
    with documents.blamed(found):
        content = content_of(ones, others)
    files.make_folder(folder)
    page = os.path.join(asked.output, "index.html")
    with documents.blamed(found):
        write(page, content)  # the text can be read while figures are drawn
        print(printable(page), flush=True)
        drawn, missing = plot.pages(
            [one for one in ones if one.kind != "comparison"] + content["compared"],
            style.WIDTHS_MM["two"],
        )
        groups = itertools.groupby(drawn, key=lambda drawing: drawing.kind)
        write(
            page,
            {
                **content,
                "figures": [(name, kinds.KINDS[name].method, list(its)) for name, its in groups],
                "missing": [its for its in missing if its[1]],
            },
        )
    for i, paths in enumerate(plot.draw_all(drawn, folder, style.WIDTHS_MM["two"], ["svg"]), 1):
        say("", f"figure {i} of {len(drawn)}: {os.path.basename(paths[0])}")
    return 0


def write(page: str, content: dict) -> None:
    files.write(page, environment().get_template("index.html").render(**content) + "\n")
    files.write(
        os.path.join(os.path.dirname(page), "style.css"),
        files.read_bytes(os.path.join(HERE, "templates/style.css")),
    )
