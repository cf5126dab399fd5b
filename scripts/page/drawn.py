# SPDX-License-Identifier: MIT
"""The figures of the page: each drawn as SVG, with its CSV and its TeX table in one archive beside it."""

import contextlib
import io
import multiprocessing
import os
import re
import zipfile

import markupsafe

import figures
import plot
from figures import documents, generations, output, panels, style

from . import cache, svg, tables
from .given import cell_name, identity_of
from .tables import Table, Value, head, words

WIDTH_MM = style.WIDTHS_MM["two"]
FOLDER = "figures"

# Of figures with several rows a cell: what tells these apart, and what they say; the table has a row a cell.
ACROSS = {"counters": ("counter", "value", "unit"), "parts": ("part", "time_ns", None),
          "operations": ("traffic", "operations_per_byte", None)}
# Columns that say of a row what it is of; they are in the name of the cell, which the row begins with.
OF_CELL = {*documents.CELL_KEYS, "parameters"}
HIDDEN = {"source", "source_sha256"}
ROWS_MAX = 1200  # of a table on the page; the CSV has them all


class Drawing:
    """One page of a figure: what is drawn, and the table of it."""

    def __init__(self, page, table, summary):
        self.page, self.table, self.summary = page, table, summary
        self.stem, self.title, self.note = page.stem, page.title, page.note
        self.image, self.archive = path_of(page, "svg"), path_of(page, "zip")
        # Stand for what is known when it is drawn.
        self.size, self.archive_kb = (markupsafe.Markup(f"\ue000{what} {self.stem}\ue001") for what in ("size", "archive"))

    @property
    def alt(self):
        """What the figure shows, for who does not see it; the numbers are in the table."""
        return f"{self.title}. {self.summary}" + (f" {self.note}." if self.note else "") + \
            " Its data are in the table below."


def filled(text, found):
    """The text of a page with what is known of its figures: {stem: ((width, height), bytes of the archive)}; of others nothing."""
    def known(match):
        what, stem = match[1], match[2]
        if stem not in found:
            return ""
        size, archive = found[stem]
        return ' width="{}" height="{}"'.format(*size) if what == "size" else f", {round(archive / 1024, 1)} KB"
    return re.sub("\ue000(size|archive) ([^\ue001]*)\ue001", known, text)


def path_of(page, ending):
    return f"{FOLDER}/{page.stem}.{ending}"


# -- which figures ------------------------------------------------------------------------------------------------


FEW = 3  # results whose samples and counters are drawn, too


def sources_of(module, given, comparisons):
    """[[(given, document)]]: what each figure of a kind is made of."""
    takes = [(one, one.document) for one in given if one.kind in module.TAKES]
    if getattr(module, "COMBINES", False):
        return [takes] if takes else []
    made = [[pair] for pair in takes]
    if "explanation" in module.TAKES:
        made += [[(one, one.explanation)] for one in given if one.kind == "result"]
    if "comparison" in module.TAKES and not any(one.kind == "comparison" for one in given):
        made += [[(None, document)] for _, document, _, _ in comparisons]
    return made


def stem_of(module, sources):
    if getattr(module, "COMBINES", False):
        return module.NAME
    one = sources[0][0]
    return f"{one.label if one else 'comparison'}-{module.NAME}"


def drawings(given, comparisons):
    """[(figure, [Drawing], [(of what, why not)])] of all figures; of many results those of one page a question."""
    made, few = [], sum(one.kind == "result" for one in given) <= FEW
    again = {} if few else plot.repeats([one.document for one in given])
    for name, module in figures.FIGURES.items():
        found, missing = [], []
        for sources in sources_of(module, given, comparisons):
            of = ", ".join(one.shown_name if one else document.name for one, document in sources)
            files = ", ".join(document.path for _, document in sources if document) or of
            one = sources[0][0]
            try:
                with plot.blamed(files, name):
                    if not few and (hasattr(module, "EXTRA") or (len(sources) == 1 and one and one.document in again)):
                        continue
                    found += pages_of(module, sources, given, few)
            except documents.NotDrawn as why:
                missing.append((of if len(sources) == 1 else None, str(why)))
        made.append((name, module, found, missing))
    return made


def pages_of(module, sources, given, few):
    one, document = sources[0]
    combined = getattr(module, "COMBINES", False)
    if document is None:
        raise documents.NotDrawn(one.unexplained)
    content = [its for _, its in sources] if combined else document
    rows = module.rows(content, documents.ALL)
    why = module.why_not(rows) if hasattr(module, "why_not") else None
    if why:
        raise documents.NotDrawn(why)
    pages = module.pages(rows, WIDTH_MM)
    if not few and len(pages) > getattr(module, "PAGES_MAX", plot.PAGES_MAX):
        raise documents.NotDrawn(f"it would be {len(pages)} pages; a report of fewer files, or make plots ARGS=--all, draws them")
    stem = stem_of(module, sources)
    note = None if combined else documents.note(document)
    made = []
    for number, page_rows in enumerate(pages, 1):
        page = plot.Page(module.NAME, [its for _, its in sources], f"{stem}-{number}" if len(pages) > 1 else stem,
                         page_rows, note)
        made.append(Drawing(page, table_of(module, page, given, number, len(pages)), page.sentence))
    return made


# -- the table ----------------------------------------------------------------------------------------------------


def links(given):
    """row -> where its cell is told, by the hash of the file that it is from."""
    by_hash = {one.sha256: one for one in given if one.kind == "result"}

    def href(row):
        one = by_hash.get(row.get("source_sha256"))
        of_cell = all(key in row for key in documents.CELL_KEYS if key != "path")
        return one.href({"path": generations.ABOVE, **row}) if one and of_cell else None
    return href


def table_of(module, page, given, number, of):
    rows = module.table(page.rows) if hasattr(module, "table") else page.rows
    href = links(given)
    caption = f"Data of {page.stem}" + (f", part {number} of {of}" if of > 1 else "")
    if module.NAME in ACROSS:
        return across_table(rows, *ACROSS[module.NAME], href, caption)
    return plain_table(module, rows, href, caption)


def row_name(row):
    if all(key in row for key in (*documents.CELL_KEYS, "parameters")):
        return cell_name(row)
    if "pattern" in row:
        return "/".join(str(row[key]) for key in ("workload", "pattern", "elements", "block_size", "regime"))
    return None


def plain_table(module, rows, href, caption):
    """What is the same in all rows stands in a note."""
    columns = [column for column in (*module.COLUMNS, *(key for key in rows[0] if key not in module.COLUMNS))
               if column not in HIDDEN and any(row.get(column) not in (None, "") for row in rows)]
    named = row_name(rows[0]) is not None
    if named:
        columns = [column for column in columns if column not in OF_CELL]
    same = [column for column in columns if len({output.text(row.get(column)) for row in rows}) == 1 and len(rows) > 1]
    varied = [column for column in columns if column not in same] or columns[:1]
    heads = (["cell"] if named else []) + [heading(column) for column in varied]
    made = []
    for row in rows[:ROWS_MAX]:
        values = [value_of(row.get(column)) for column in varied]
        if named:
            values.insert(0, head(row_name(row), href(row)))
        else:
            values[0] = head(values[0].text)
        made.append(values)
    return Table(caption, heads, made, notes_of(rows, same, len(made)))


def across_table(rows, key, value, unit, href, caption):
    """A row for each cell, and a column for each of what the figure has several of."""
    names = list(panels.grouped(rows, lambda row: row[key]))
    units = {row[key]: row[unit] for row in rows} if unit else {}
    made = []
    cells = panels.grouped(rows, lambda row: (identity_of(row), row.get("result")))
    for members in list(cells.values())[:ROWS_MAX]:
        by_name = {row[key]: row for row in members}
        made.append([head(row_name(members[0]), href(members[0])),
                     *(value_of(by_name[name][value]) if name in by_name else Value(tables.NONE) for name in names)])
    heads = ["cell", *(f"{name}, {units[name]}" if units.get(name) else heading(name) for name in names)]
    notes = notes_of(rows, [], len(made), len(cells))
    if not unit:
        notes.insert(0, f"{heading(value)}, by {key}")
    return Table(caption, heads, made, notes)


def value_of(value):
    if value is None or value == "":
        return Value(tables.NONE)
    if isinstance(value, bool) or isinstance(value, str):
        return words(output.text(value))
    return Value(tables.quantity(value))


UNITS = {"ns": "ns", "mhz": "MHz", "bytes": "bytes", "cycles": "cycles", "percent": "%"}


def heading(column):
    """time_ns_ci_low -> time ci low, ns"""
    parts = column.split("_")
    unit = next((UNITS[part] for part in parts if part in UNITS and len(parts) > 1), None)
    if unit:
        parts = [part for part in parts if part not in UNITS]
    return " ".join(parts) + (f", {unit}" if unit else "")


def notes_of(rows, same, shown, whole=None):
    facts = ", ".join(f"{heading(column)} {output.short(rows[0].get(column))}" for column in same
                      if output.text(rows[0].get(column)))
    made = [f"in all rows: {facts}"] if facts else []
    whole = len(rows) if whole is None else whole
    if shown < whole:
        made.append(f"the first {tables.of_all(shown, whole)} rows; the CSV has all")
    return made


# -- drawing ------------------------------------------------------------------------------------------------------


def key_of(page):
    return page.name, page.stem, page.title, page.note, page.provenance, page.rows


def written(folder, page, made):
    """Writes what `drawn_of` makes; says (width, height) and bytes of the archive."""
    (drawn, archive), size = made
    output.write(os.path.join(folder, path_of(page, "svg")), drawn)
    output.write(os.path.join(folder, path_of(page, "zip")), archive)
    return size, len(archive)


def draw(task):
    """Draws, keeps and writes one."""
    folder, where, page = task
    made = drawn_of(page)
    cache.write(where, key_of(page), *made)
    return written(folder, page, made)


def drawn_of(page):
    """([SVG, archive], (width, height) in pixels)."""
    module = figures.FIGURES[page.name]
    provenance = {**page.provenance, "matplotlib": output.version()}
    with plot.blamed(page.files, page.name):
        figure = module.draw(page.rows, WIDTH_MM, page.note)
        output.lay_out(figure)
        drawn = svg.slim(output.figure_bytes(figure, "svg", page.title, {}),
                         "; ".join(f"{key}: {value}" for key, value in provenance.items()))
        archive = zipped({f"{page.stem}.csv": output.csv_text(module.COLUMNS, page.rows), f"{page.stem}.tex": plot.tex_of(page)})
    return [drawn, archive], tuple(round(inches * 96) for inches in figure.get_size_inches())


def zipped(texts):
    """The same bytes from the same texts."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, text in texts.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, text.encode())
    return file.getvalue()


@contextlib.contextmanager
def drawing(folder, found, where):
    """Takes those that were drawn before, and draws the others, each on a processor of its own as far as there are any, while the
    caller goes on. Gives {stem: what `written` says of it} of the former, and a function that waits and returns that of all."""
    every = [its.page for _, _, pages, _ in found for its in pages]
    os.makedirs(os.path.join(folder, FOLDER), exist_ok=True)
    known = {page.stem: written(folder, page, kept) for page in every if (kept := cache.read(where, key_of(page)))}
    missing = [page for page in every if page.stem not in known]
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(pool(len(missing))).imap(draw, [(folder, where, page) for page in missing]) if missing else []
        yield known, lambda: {**known, **{page.stem: its for page, its in zip(missing, made)}}


@contextlib.contextmanager
def pool(tasks):
    """Processes that have all that drawing needs: forked, so that none looks for it again."""
    import matplotlib.backends.backend_agg  # pylint: disable=unused-import
    import matplotlib.backends.backend_svg  # pylint: disable=unused-import
    import matplotlib.figure
    with style.sheet(), matplotlib.rc_context({"svg.fonttype": "none"}):
        made = multiprocessing.get_context("fork").Pool(min(len(os.sched_getaffinity(0)), tasks))
    with made:
        yield made
