# SPDX-License-Identifier: MIT
"""Figures of what cbank writes. Each is a module with the same names:

NAME, SUMMARY     what it is called, and what it shows
TAKES, NEEDS      the kinds of document that it can be made of, and the same in words
METHOD            what its intervals are, for the caption of a table
COLUMNS           of its CSV
rows(document, selection)        what is drawn, as dictionaries; raises NotDrawn. No matplotlib
pages(rows, width_mm)            rows of each page
table(rows), of some             rows of the table, where these are not all
draw(rows, width_mm, note)       a matplotlib Figure of one page; inside style.sheet()

COMBINES, of some: rows takes a list of all documents instead.
"""

from . import (capacity, counters, drivers, generations, matrix, operations, parts, samples, serialization)

FIGURES = {module.NAME: module for module in (matrix, serialization, capacity, parts, drivers, generations, samples,
                                              operations, counters)}
