# SPDX-License-Identifier: MIT
"""Figures of what cbank writes. Each is a module with the same names:

NAME, SUMMARY     what it is called, and what it shows
PLACE             its place among the figures: those of lower numbers come before it
TAKES, NEEDS      the kinds of document that it can be made of, and the same in words
METHOD            what its intervals are, for the caption of a table
COLUMNS           of its CSV
says(rows)        one sentence: what the figure shows
rows(document, selection)        what is drawn, as dictionaries; raises NotDrawn. No matplotlib
pages(rows, width_mm)            rows of each page
table(rows), of some             rows of the table, where these are not all
draw(rows, width_mm, note)       a matplotlib Figure of one page; inside style.sheet()

COMBINES, of some: rows takes a list of all documents instead.
EXTRA, of some: drawn only where it is asked for.
PAGES_MAX, of some: more pages than these are drawn only where they are asked for.
why_not(rows), of some: why it is drawn only where it is asked for; None where it always is.
"""

import importlib
import pkgutil


def found():
    """Modules of this folder that are figures, in the order of their places."""
    modules = [importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__)]
    return sorted((module for module in modules if hasattr(module, "PLACE")), key=lambda module: module.PLACE)


FIGURES = {module.NAME: module for module in found()}
