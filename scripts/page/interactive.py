# SPDX-License-Identifier: MIT
"""What --interactive puts into the page: D3 with its licence, the cells as data, and the script that shows them."""

import os
import re

from figures import documents, matrix, style

from .given import cell_name, identity_of

# Where distributions have D3, and where its licence is.
PLACES = (("/usr/share/javascript/d3/d3.min.js", "/usr/share/doc/libjs-d3/copyright"),
          ("/usr/share/nodejs/d3/dist/d3.min.js", "/usr/share/doc/node-d3/copyright"))
HERE = os.path.dirname(os.path.abspath(__file__))


class NoLibrary(Exception):
    """There is no D3, or no licence of it; the message says where to get it."""


class Library:
    """What goes into the page of D3."""

    def __init__(self, name, text, licence):
        self.name, self.text, self.licence = name, text, licence


def find_library(path):
    if path:
        folder = os.path.dirname(path)
        return read_library(path, [os.path.join(folder, name) for name in ("LICENSE", "LICENSE.txt", "../LICENSE")])
    for text, licence in PLACES:
        if os.path.exists(text):
            return read_library(text, [licence])
    raise NoLibrary("--interactive needs D3: install libjs-d3, or name a d3.min.js with its LICENSE beside it: "
                    "--library FILE")


def read_library(path, licences):
    text = read(path)
    if "</script" in text.lower() or "d3" not in text:
        raise NoLibrary(f"{path} is not d3.min.js; name that: --library FILE")
    for name in licences:
        if os.path.exists(name):
            return Library(os.path.basename(path), text, read(name))
    said = re.match(r"\s*(/\*.*?\*/|//[^\n]*)", text, re.DOTALL)
    if said and re.search(r"copyright|licen[cs]e", said[1], re.IGNORECASE):
        return Library(os.path.basename(path), text, said[1])
    raise NoLibrary(f"{path} comes without its licence; put that beside it: {licences[0]}")


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise NoLibrary(f"cannot read {path}: {getattr(error, 'strerror', None) or error}; name another: --library "
                        "FILE") from None


def of(results, library):
    """What the templates take."""
    with open(os.path.join(HERE, "templates/explorer.js"), encoding="utf-8") as file:
        script = file.read()
    return {"library": library, "script": script, "cells": cells_of(results),
            "looks": {path: [look.color, look.marker] for path, look in style.PATHS.items()}}


def cells_of(results):
    made = []
    for one in results:
        try:
            ratios = {identity_of(row): row["ratio_to_global"] for row in matrix.rows(one.document)}
        except documents.NotDrawn:
            ratios = {}
        made += [cell_of(one, cell, ratios.get(identity_of(cell))) for cell in one.content["cells"]]
    return made


def cell_of(one, cell, ratio):
    time, low, high = documents.time_of(cell)
    parameters = documents.parameters_text(cell)
    return {"href": one.href(cell), "name": cell_name(cell), "file": one.shown_name,
            **{key: str(cell[key]) for key in documents.CELL_KEYS},
            "pattern": cell["pattern"] + (f" {parameters}" if parameters else ""),
            "time": time, "low": low, "high": high, "ratio": ratio, "status": cell["status"],
            "flags": ", ".join(cell["flags"]), "modelled": one.modelled,
            "counters": {"requests_per_load": (cell.get("model") or {}).get("requests_per_load"),
                         **{name: documents.number(counter["value"]) for name, counter in cell["counters"].items()
                            if counter["status"] == "ok"}}}
