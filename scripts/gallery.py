#!/usr/bin/python3 -IB
# SPDX-License-Identifier: MIT
"""Makes a gallery of measured chips: static pages that any host serves.

A first page leads to reports: all chips side by side, each chip, the kernels of the suite on each
GPU, and published claims with what was measured of them.

usage: gallery.py [--program build/cbank] [--results DIR] -o DIR
"""

import argparse
import glob
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))

from cbank import documents, report, text


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
    chips, suites = (
        sorted(glob.glob(os.path.join(asked.results, pattern)))
        for pattern in ("chips/*/", "*/kernels/suite.json")
    )
    of_chips = {os.path.basename(path.rstrip("/")): path for path in chips}
    pages = [("chips", "Chips side by side", chips)] if len(chips) > 1 else []
    pages += [
        (name, f"{device_of(path)}: all that was measured", [path])
        for name, path in of_chips.items()
    ]
    pages += [
        (
            f"suite-{path.split(os.sep)[-3]}",
            f"{device_of(path)}: kernels with tables that people have",
            [path],
        )
        for path in suites
    ]
    for name, _, files in pages:
        subprocess.run(
            [asked.program, "report", "-o", os.path.join(asked.output, name), *files],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    # Claims are of results beside a characterization of the same GPU or model.
    claims = [
        (device_of(path), said.stdout)
        for name, path in of_chips.items()
        for files in [
            [
                os.path.join(path, file)
                for file in ("all-paths.json", "serialization.json", "characterization.json")
            ]
        ]
        if all(map(os.path.exists, files))
        for said in [
            subprocess.run(
                [sys.executable, "-IB", os.path.join(ROOT, "scripts/studies/claims.py"), *files],
                capture_output=True,
                text=True,
                check=True,
            )
        ]
    ]
    page = report.environment().get_template("gallery.html").render(pages=pages, claims=claims)
    text.write(os.path.join(asked.output, "index.html"), page + "\n")
    shutil.copyfile(
        os.path.join(report.HERE, "templates/style.css"), os.path.join(asked.output, "style.css")
    )


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
