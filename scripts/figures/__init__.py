# SPDX-License-Identifier: MIT
"""Figures of what cbank writes. Each is a module with the same names:

NAME, SUMMARY     what it is called, and what it shows
TAKES, NEEDS      the kinds of document that it can be made of, and the same in words
METHOD            what its intervals are, for the caption of a table
COLUMNS           of its CSV
rows(document, selection)        what is drawn, as dictionaries; raises NotDrawn. No matplotlib
pages(rows)                      rows of each page
draw(rows, width_mm, note)       a matplotlib Figure of one page; inside style.sheet()

COMBINES, of some: rows takes a list of all documents instead.
"""

from . import capacity, matrix, serialization

FIGURES = {module.NAME: module for module in (matrix, serialization, capacity)}
