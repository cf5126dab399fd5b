# SPDX-License-Identifier: MIT
"""`cbank check FILE|DIR|STORE...`: what is malformed, missing in the folder of a chip, or in
contradiction to the rest.

A FILE is a result, a characterization, a calibration or a card: the instrument must read all of
it. A result must be complete, and its exact counters must be as expected. A DIR is the folder of
a chip, as cbank contribute makes it: what its files say of each other, and whether the two
processes of the default plan differ. A STORE is a file that cbank ingest made: which pages, tables,
runs and cells are not as it wrote them.

Exit code 1: something is missing, malformed or contradicts itself; each with the file and what to
do. 2: no such file."""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
import textwrap

from . import checksums, chips, documents, instrument, store
from .errors import FINDING, Failure, Parser, printable
from .fields import (
    BOOL,
    TEXT,
    TEXT_OR_NULL,
    Field,
    Written,
    add_schema_option,
    list_of,
    or_null,
    whole,
    word_of,
    written,
)

BYTES_MAX = 10 << 20  # of a folder
AGAIN = "remove it and let cbank contribute make it again"
ONE_GPU = (
    "a folder is of one GPU, one driver and one program: remove what is of another and let cbank"
    " contribute measure it"
)


def print_filled(line: str) -> None:
    """Prints for 80 columns."""
    print(textwrap.fill(printable(line), 80, subsequent_indent="    ", break_on_hyphens=False))


CHECKED = {
    name: kind
    for name, kind in documents.KINDS.items()
    if kind in ("result", "characterization", "calibration", "card")
}


def is_measured(kind: str, content: dict) -> bool:
    """Whether a GPU answered."""
    return {
        "result": content.get("engine") != "model",
        "characterization": content.get("replayed") is None,
        "calibration": content.get("modelled") is False,
    }.get(kind, False)


def wrong_of(kind: str, content: dict) -> tuple[str, str] | None:
    """(what, remedy) of a document that the instrument reads."""
    if kind == "characterization" and content.get("interrupted"):
        return (
            f"was interrupted after {len(content['experiments'])} experiments",
            "cbank characterize --resume FILE makes the rest",
        )
    if kind != "result":
        return None
    differing = sum(
        counter["value"] != counter["expected"]
        for cell in content["cells"]
        for counter in cell["counters"].values()
        if counter["kind"] == "exact"
        and counter["status"] == "ok"
        and counter["expected"] is not None
    )
    if not content["complete"]:
        return "is of a run that did not end", "cbank run --resume FILE goes on with it"
    if differing:
        return (
            f"has {differing} exact counters that differ from what the kernels ask for",
            (
                "cbank counters FILE names them; the driver or the compiler changed the kernels:"
                " report it"
            ),
        )
    return None


# Of what is wrong with a document, and how to mend it.
WRONG = (
    Field("what", TEXT, lambda what, remedy: what),
    Field("remedy", TEXT, lambda what, remedy: remedy),
)

CHECKED_DOCUMENT = (
    Field("file", TEXT, lambda path, kind, measured, wrong: path),
    Field(
        "kind",
        or_null(word_of(CHECKED.values())),
        lambda path, kind, measured, wrong: kind,
        "null: no document of cbank",
    ),
    Field(
        "measured",
        BOOL,
        lambda path, kind, measured, wrong: measured,
        "a GPU answered; false of a prediction, a replay or a card",
    ),
    Field(
        "findings",
        {**list_of(WRONG), "maxItems": 1},
        lambda path, kind, measured, wrong: [written(WRONG, *finding) for finding in wrong],
    ),
)


def check_document(path: str) -> dict:
    """What CHECKED_DOCUMENT says of a file. Raises Failure for one that cannot be read."""
    kind, measured, wrong = None, False, None
    documents.read_bytes(path)  # what cannot be read is no finding
    try:
        document = documents.load(path, CHECKED)
        kind, measured = document.kind, is_measured(document.kind, document.content)
        with documents.blamed([document]):
            wrong = wrong_of(kind, document.content)
    except documents.Foreign as failure:
        what, _, remedy = str(failure).removeprefix(f"{path} ").partition("; ")
        wrong = (what, remedy)
        if not what.startswith("is "):  # no file of another program that is known
            wrong = (
                "is no result, characterization, calibration or card",
                "take a file that cbank wrote",
            )
    except documents.OtherKind:
        wrong = (
            "is another document than a result, characterization, calibration or card",
            "it needs no check",
        )
    except Failure as failure:
        said = str(failure.blame_file()).partition(";")[0].removeprefix(path)
        wrong = (
            f"is not valid{said}" if said.startswith(":") else said.strip()
        ), "take the file as cbank wrote it, or write it again"
    return written(CHECKED_DOCUMENT, path, kind, measured, [wrong] if wrong else [])


class Check:
    """One folder. `findings` are (file, what, remedy); `said`, by key, what the first file with
    that key says of the GPU, its board, its driver and the program."""

    def __init__(self, folder: str, brief: bool):
        self.folder, self.brief = folder, brief
        self.findings, self.said, self.first = [], {}, None
        self.bytes, self.credit, self.manifest = 0, None, None
        self.names = chips.files_of(folder)
        self.contents, self.refused = {}, {}

    def add(self, file: str | None, what: str, remedy: str = AGAIN) -> None:
        self.findings.append((file, what, remedy))

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def run(self) -> Check:
        self.check_manifest()
        for name in self.names:
            self.check_file(name)
        self.check_steps()
        if self.bytes > BYTES_MAX:
            self.add(
                None,
                f"has {self.bytes / (1 << 20):.1f} MiB, more than {BYTES_MAX >> 20}",
                "measure with fewer samples",
            )
        if not self.findings:  # else there is nothing to compare
            self.compare_processes()
        return self

    def check_manifest(self) -> None:
        """Reads the manifest, where there is one."""
        if not os.path.exists(self.path(chips.MANIFEST)):
            self.add(chips.MANIFEST, "is missing", "run cbank contribute, which writes it")
            return
        try:
            manifest = documents.load(self.path(chips.MANIFEST), documents.MANIFEST_KINDS).content
        except Failure as failure:
            self.add(
                chips.MANIFEST, f"is no manifest: {str(failure.blame_file()).partition(';')[0]}"
            )
            return
        self.manifest, self.credit = manifest, manifest["credit"]
        if manifest["brief"] and not self.brief:
            self.add(
                chips.MANIFEST,
                "is of the short plans of tests, which say nothing of a chip",
                "run cbank contribute without --brief, in another folder",
            )
            return
        self.check_head(chips.MANIFEST, manifest)

    def listed(self, name: str) -> dict | None:
        """The manifest's entry of a file."""
        return next((entry for entry in self.manifest["files"] if entry["name"] == name), None)

    def check_file(self, name: str) -> None:
        """Looks at a file as far as all are alike: what the manifest says of it, and what it is
        of."""
        if os.path.islink(self.path(name)):
            self.add(name, "is a link, and no file", "put the file itself there")
        found = chips.entry_of(self.folder, name)
        self.bytes += found["bytes"]
        if self.manifest:
            listed = self.listed(name)
            if not listed:
                self.add(
                    name,
                    "is not in the manifest",
                    "remove it, or run cbank contribute again, which writes the manifest",
                )
            elif listed != found:
                self.add(
                    name,
                    (
                        f"is not the file of the manifest: {found['bytes']} bytes with SHA-256"
                        f" {found['sha256'][:12]}, not {listed['bytes']} with"
                        f" {listed['sha256'][:12]}"
                    ),
                )
        try:
            self.contents[name] = documents.load(self.path(name))
        except Failure as failure:
            self.refused[name] = str(failure.blame_file()).partition(";")[0]
            return  # check_steps says so
        self.check_head(name, self.contents[name].content)

    def check_head(self, name: str, content: dict) -> None:
        """Compares the GPU, the driver and the program of a document with those of the first
        one."""
        device, tool = (
            (
                {key: value for key, value in found.items() if isinstance(value, (str, bool))}
                if isinstance(found, dict)
                else {}
            )
            for found in (content.get("device"), content.get("tool"))
        )
        if device and not self.first:
            self.first = name
        for what, value in (
            ("the GPU", device.get("name")),
            ("the board", device.get("uuid")),
            ("driver", device.get("driver")),
            ("commit", tool.get("git_commit")),
        ):
            if value and self.said.setdefault(what, value) != value:
                self.add(
                    name, f"is of {what} {value}, and {self.first} of {self.said[what]}", ONE_GPU
                )
        if tool.get("git_dirty") is True and not self.brief:
            self.add(
                name,
                "is of a program with changes that no commit has",
                "commit the changes, or take a clean clone, and measure again",
            )

    def check_steps(self) -> None:
        """Looks at each file that belongs to a chip as what it is."""
        for step in chips.STEPS:
            document = self.contents.get(step.file)
            if step.file not in self.names:
                self.add(
                    step.file,
                    f"is missing: {step.what}",
                    "run cbank contribute, which makes what is not there",
                )
            elif not document or document.kind != step.kind:
                self.add(
                    step.file,
                    (
                        f"is no {step.kind}: {self.refused[step.file]}"
                        if step.file in self.refused
                        else f"is no {step.kind}"
                    ),
                )
            elif step.kind != "card" and not is_measured(step.kind, document.content):
                self.add(step.file, "is a prediction or a replay: nothing was measured")
            elif wrong := wrong_of(step.kind, document.content):
                self.add(step.file, *wrong)
            elif step.kind == "result" and not chips.is_of_step(step, self.brief, document.content):
                self.add(step.file, f"is of another command: {document.content['tool']['argv']}")
            elif step.kind == "card":
                self.check_card(step.file, document.content)
        for entry in self.manifest["files"] if self.manifest else []:
            if entry["name"] not in self.names:
                self.add(
                    entry["name"],
                    "is missing: the manifest names it",
                    "run cbank contribute again, which writes the manifest",
                )

    def check_card(self, name: str, card: dict) -> None:
        """Compares the card with the device and the files of the folder."""
        device = self.manifest["device"] if self.manifest else {}
        of_card = [
            card["name"],
            f"{card['cc_major']}.{card['cc_minor']}",
            *(
                card["model"][key] and card["model"][key]["value"]
                for key in ("sm_count", "l2_bytes")
            ),
        ]
        of_device = [
            device.get("name", "").removeprefix("NVIDIA "),
            device.get("compute_capability"),
            device.get("sm_count"),
            device.get("l2_bytes"),
        ]
        if device and of_card != of_device:
            self.add(
                name,
                (
                    f"is a card of {' '.join(map(str, of_card))}, and the results are of"
                    f" {' '.join(map(str, of_device))}"
                ),
            )
        # what was not measured here is of the program's own card of the chip, with its evidence
        own = [one for one in card["evidence"].values() if not one["file"].startswith("results/")]
        if not own:
            self.add(name, "rests on no file of the folder")
        for evidence in own if self.manifest else []:
            base = os.path.basename(evidence["file"])
            listed = self.listed(base)
            if not listed or listed["sha256"] != evidence["sha256"]:
                self.add(
                    name,
                    (
                        f"rests on {base} with SHA-256 {evidence['sha256'][:12]}, which is not in"
                        " the folder"
                    ),
                )
        if len(own) < len(card["evidence"]):
            self.check_borrowed(name, card)

    def check_borrowed(self, name: str, card: dict) -> None:
        """Compares the numbers of a card that rest on no file of the folder with those of the card
        that the program makes of the characterization and of its own card of the chip."""
        import tempfile

        with tempfile.TemporaryDirectory(prefix="cbank-") as folder:
            record, path = self.path("characterization.json"), os.path.join(folder, "card.json")
            again = ["--json", os.path.join(folder, "again.json"), "--new-card", path]
            instrument.call(["characterize", "--quiet", "--replay", record, *again])
            made = documents.load(path).content

        def said(of: dict, key: str) -> tuple:
            number = of["model"].get(key)
            return number and (
                *(number[part] for part in ("value", "low", "high", "from")),
                [of["evidence"].get(one) for one in number.get("evidence", [])],
            )

        again = "the card that this program makes of characterization.json"
        for key in sorted(card["model"]):
            borrowed = said(card, key)
            files = [one["file"] for one in borrowed[-1] if one] if borrowed else []
            if any(file.startswith("results/") for file in files) and borrowed != said(made, key):
                self.add(name, f"has another {key} than {again}")

    def compare_processes(self) -> None:
        """Adds a finding where the two processes of the default plan do not say the same."""
        base, new = self.path("core-matrix.json"), self.path("second-process.json")
        told = instrument.ask(
            [
                "compare",
                "--quiet",
                "--json",
                "-",
                "--threshold",
                "1%",
                "--calibration",
                self.path("calibration.json"),
                base,
                new,
            ],
            (0, FINDING, 4),
        )
        differ = told["counts"]["improved"] + told["counts"]["regressed"]
        if differ:
            self.add(
                "second-process.json",
                (
                    "differs from core-matrix.json, the same plan by the same program, in"
                    f" {differ} of {len(told['cells'])} cells: cbank compare says by how much"
                ),
                (
                    "remove both, keep other programs off the GPU, and let cbank contribute measure"
                    " them again"
                ),
            )

    def print(self) -> None:
        """Prints the folder and its findings for 80 columns."""
        count = len(self.findings)
        found = (
            f"{count} finding{'s' * (count != 1)}"
            if count
            else "nothing is missing, nothing contradicts"
        )
        lines = [
            f"{self.folder}: {self.said.get('the GPU', 'no GPU')}, driver"
            f" {self.said.get('driver', 'not known')}, {len(self.names)} files,"
            f" {self.bytes / (1 << 20):.1f} MiB, measured by {self.credit or 'nobody'}: {found}"
        ]
        lines += [
            f"  {file or 'the folder'} {what}; {remedy}" for file, what, remedy in self.findings
        ]
        for line in lines:
            print_filled(line)


FOLDER_FINDING = (
    Field("file", TEXT_OR_NULL, lambda file, what, remedy: file, "null: the folder as a whole"),
    Field("what", TEXT, lambda file, what, remedy: what),
    Field("remedy", TEXT, lambda file, what, remedy: remedy, "what to do"),
)

FOLDER = (
    Field("folder", TEXT, lambda check: check.folder),
    Field(
        "gpu",
        TEXT_OR_NULL,
        lambda check: check.said.get("the GPU"),
        "null, as the others, where nothing in the folder says it",
    ),
    Field("driver", TEXT_OR_NULL, lambda check: check.said.get("driver")),
    Field("credit", TEXT_OR_NULL, lambda check: check.credit),
    Field("files", whole(), lambda check: len(check.names), "beside the manifest"),
    Field("bytes", whole(), lambda check: check.bytes),
    Field(
        "findings",
        list_of(FOLDER_FINDING),
        lambda check: [written(FOLDER_FINDING, *finding) for finding in check.findings],
        "what is missing, malformed or contradicts itself; none where all is well",
    ),
)

STORE = (
    Field("store", TEXT, lambda path, found: path),
    Field(
        "findings",
        {"type": "array", "items": TEXT},
        lambda path, found: found,
        "what is not as it was written; none where all is well",
    ),
)

ORDER = "in the order of the command line"

DOCUMENT = Written(
    "check",
    "1.0",
    "What cbank check --json prints of documents, folders of chips and stores.",
    (
        Field("documents", list_of(CHECKED_DOCUMENT), lambda files, checks, stores: files, ORDER),
        Field(
            "folders",
            list_of(FOLDER),
            lambda files, checks, stores: [written(FOLDER, check) for check in checks],
            ORDER,
        ),
        Field(
            "stores",
            list_of(STORE),
            lambda files, checks, stores: [written(STORE, *named) for named in stores.items()],
            ORDER,
        ),
    ),
)


def store_findings(path: str) -> list[str]:
    """All that does not fit in a store: what `cbank check` lists."""
    found = []
    try:
        with store.reading(path, "integrity_check(1)") as rows:
            of_cell, of_run, counts = Counter(), {}, Counter()
            for row in rows.execute("SELECT * FROM times"):
                ns, point, rest = checksums.hashes(row)
                of_cell[row[0]] += ns + point
                counts[row[1]] += 1
                before = of_run.get(row[1], (0, 0))
                of_run[row[1]] = before[0] + ns, before[1] + point + rest
            for run_id, file, cells, *sums in rows.execute(
                "SELECT run_id, file, cells, time_sum, rest_sum FROM runs"
            ):
                if cells != counts[run_id] or sums != list(
                    map(checksums.modulo, of_run.get(run_id, (0, 0)))
                ):
                    found.append(f"{path}: the run {file} does not fit its checksum")
            for identity_id, identity in rows.execute(
                "SELECT identity_id, identity FROM identities"
            ):
                if checksums.modulo(of_cell[identity_id]) != checksums.sum_of(
                    rows, "times", identity_id
                ):
                    found.append(f"{path}: the times of {identity} do not fit their checksum")
    except Failure as failure:
        found.append(str(failure.blame_file()))
    return found


def parse(words: list[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = Parser(
        prog="cbank check",
        description=__doc__,
    )
    parser.reads(
        "paths",
        metavar="FILE|DIR|STORE",
        nargs="+",
        help="a document, the folder of a chip, or a file that cbank ingest made",
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON, as results/check.schema.json describes it"
    )
    add_schema_option(parser, DOCUMENT)
    # of contribute --brief
    parser.add_argument("--brief", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(words)


def compare_folders(checks: list[Check]) -> None:
    """Adds a finding to each folder of a chip that an earlier one is of."""
    first = {}
    for check in checks:
        gpu = check.said.get("the GPU")
        if gpu is None:
            continue
        if gpu in first:
            check.add(
                chips.MANIFEST,
                f"is of the same chip as {first[gpu]}, {gpu}",
                "keep one of the two folders",
            )
        first.setdefault(gpu, check.folder)


def print_checks(files: list[dict], checks: list[Check], stores: dict[str, list[str]]) -> None:
    """The same for people."""
    for document in files:
        said = "; ".join(
            f"{finding['what']}; {finding['remedy']}" for finding in document["findings"]
        )
        if not said:
            said = f"a valid {document['kind']}" + ", measured" * document["measured"]
        print_filled(f"{document['file']}: {said}")
    for path, found in stores.items():
        print("\n".join(map(printable, found or [f"{path}: every row fits its checksum"])))
    for check in checks:
        check.print()


def main(words: list[str]) -> int:
    """Runs the command line `words`, without the name of the command; returns the exit code."""
    options = parse(words)
    stores = {
        path: store_findings(path)
        for path in options.paths
        if os.path.isfile(path) and store.is_store(path)
    }
    files = [
        check_document(path)
        for path in options.paths
        if not os.path.isdir(path) and path not in stores
    ]
    checks = [
        Check(folder.rstrip("/") or "/", options.brief).run()
        for folder in options.paths
        if os.path.isdir(folder)
    ]
    compare_folders(checks)
    if options.json:
        print(json.dumps(DOCUMENT.content(files, checks, stores), indent=1))
    else:
        print_checks(files, checks, stores)
    bad = (
        any(check.findings for check in checks)
        or any(stores.values())
        or any(document["findings"] for document in files)
    )
    return FINDING if bad else 0
