#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Makes a gallery of measured chips: static pages that any host serves.

A first page leads to reports: all chips side by side, each chip, the kernels of the suite on each
GPU, and published claims with what was measured of them. It searches the cells of all, without a
server.

usage: gallery.py [--program build/cbank] [--results DIR] -o DIR
"""

import argparse
import glob
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))

from cbank import Failure, documents, files, report
from cbank.__main__ import told
from cbank.errors import ENVIRONMENT, say

CLAIMS = os.path.join(ROOT, "scripts/studies/claims.py")
TIMES = ("value", "ci_low", "ci_high")
# of a chip: claims are of results beside a characterization of the same GPU or model
CLAIMED = ("all-paths.json", "serialization.json", "characterization.json")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=argparse.SUPPRESS,
    )
    parser.add_argument("--program", metavar="FILE", default=os.path.join(ROOT, "build/cbank"))
    parser.add_argument("--results", metavar="DIR", default=os.path.join(ROOT, "results"))
    parser.add_argument("-o", "--output", metavar="DIR", required=True)
    asked = parser.parse_args()
    os.environ["CBANK_PROGRAM"] = asked.program  # which reads the documents, too
    try:
        make(asked.program, asked.results, asked.output)
    except (Failure, OSError) as error:
        status, message = told(error)
        say("error", message)
        sys.exit(status)


def make(program, results, output):
    """Makes all pages. Raises Failure."""
    chips, suites = (
        sorted(glob.glob(os.path.join(glob.escape(results), pattern)))
        for pattern in ("chips/*/", "*/kernels/suite.json")
    )
    if not chips and not suites:
        raise Failure(f"{results} has no chips/NAME and no NAME/kernels/suite.json; name results")
    taken = {"cells.js", "chips", "index.html", "style.css"}
    pages = [("chips", "Chips side by side", chips)] if len(chips) > 1 else []
    pages += [
        (page_of(path, taken), f"{device_of(path)}: all that was measured", [path])
        for path in chips
    ]
    pages += [
        (
            page_of(f"suite-{path.split(os.sep)[-3]}", taken),
            f"{device_of(path)}: kernels with tables that people have",
            [path],
        )
        for path in suites
    ]
    files.make_folder(output)
    for name, _, shown in pages:
        said(program, "report", "-o", os.path.join(output, name), "--", *shown)
    claims = [
        (device_of(path), said(sys.executable, "-IB", CLAIMS, *asked).splitlines())
        for path in chips
        for asked in [[os.path.join(path, file) for file in CLAIMED]]
        if all(map(os.path.exists, asked))
    ]
    cells = cells_of(chips + suites)
    page = (
        report.environment()
        .get_template("gallery.html")
        .render(pages=pages, claims=claims, cells=cells)
    )
    script = files.read_bytes(os.path.join(report.HERE, "templates/search.js")).decode()
    files.write(os.path.join(output, "cells.js"), f"const cells = {json.dumps(cells)};\n{script}")
    files.write(os.path.join(output, "index.html"), page + "\n")
    files.write(
        os.path.join(output, "style.css"),
        files.read_bytes(os.path.join(report.HERE, "templates/style.css")),
    )


def cells_of(paths):
    """The rows that the page searches: identity, GPU, time and its interval in us, flags, file."""
    found, _ = documents.read_all(paths)
    return [
        [
            cell["identity"],
            content["device"]["name"],
            *(f"{time[key] / 1e3:.4g}" if time[key] else "" for key in TIMES),
            " ".join(cell["flags"]),
            os.path.relpath(document.path, ROOT),
        ]
        for document in found
        if document.kind == "result"
        for content in [document.content]
        for cell in content["cells"]
        for time in [cell["time_ns"]]
        if time["value"]
    ]


def page_of(path, taken):
    """The folder of a page: a name that means the same in a link, and that no other page has."""
    return documents.untaken(documents.stem_of(os.path.basename(path.rstrip("/"))), taken)


def said(*words):
    """The output of a program. Raises Failure where it fails; it has said why."""
    done = subprocess.run(
        words, stdout=subprocess.PIPE, encoding="utf-8", errors="surrogateescape", check=False
    )
    if done.returncode:
        raise Failure(
            f"no gallery was made: a page cannot be, see above (exit code {done.returncode})",
            done.returncode if done.returncode > 0 else ENVIRONMENT,
        )
    return done.stdout


def device_of(path):
    """The GPU of a document, or of those in a folder; the folder's name where none was measured
    there."""
    found, _ = documents.read_all([path])
    return next(
        (
            document.content["device"]["name"]
            for document in found
            if document.content.get("device")
        ),
        os.path.basename(path.rstrip("/")),
    )


if __name__ == "__main__":
    main()
