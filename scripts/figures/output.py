# SPDX-License-Identifier: MIT
"""Figures, CSV and tables as files: the same bytes from the same input."""

import contextlib
import csv
import functools
import importlib.metadata
import io
import logging
import os
import shutil

from . import panels

FORMATS = ("pdf", "svg", "png", "pgf", "tex")  # in the order in which they are made: PGF has a layout of its own
PAGE_ROWS_MAX = 45  # of a table; longer ones go over several pages


def write(path, data):
    """To a temporary name first: a file is whole or not there."""
    temporary = f"{path}.tmp"
    with open(temporary, "wb") as file:
        file.write(data)
    os.replace(temporary, path)


# -- data ---------------------------------------------------------------------------------------------------------


def text(value):
    """Numbers with all their digits, None as nothing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)


def csv_text(columns, rows):
    """Tidy: one row for each thing drawn, every column in every row."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        unknown = set(row) - set(columns)
        if unknown:
            raise KeyError(f"no column for {', '.join(sorted(unknown))}")
        writer.writerow([text(row.get(column)) for column in columns])
    return file.getvalue()


SPECIAL = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
           "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "µ": r"\textmu{}", "<": r"\textless{}",
           ">": r"\textgreater{}"}


def escaped(words):
    return "".join(SPECIAL.get(letter, letter) for letter in words)


def short(value):
    """A number as a table of a paper has it."""
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    return text(value)


def table_text(columns, rows, caption, label, provenance):
    """A booktabs table. What is the same in all rows stands in the caption, and files and hashes in comments."""
    columns = [column for column in columns if column not in ("source", "source_sha256")]
    columns = [column for column in columns if any(column in row for row in rows)]
    columns += [column for column in rows[0] if column not in (*columns, "source", "source_sha256")]
    same = {column: rows[0].get(column) for column in columns
            if len({text(row.get(column)) for row in rows}) == 1}
    varied = [column for column in columns if column not in same] or list(columns[:1])
    facts = ", ".join(f"{column} {short(value)}" for column, value in same.items() if text(value))
    right = [all(isinstance(row.get(column), (int, float, type(None))) for row in rows) for column in varied]
    said = escaped(caption + (" " + facts + "." if facts else ""))
    layout = "".join("r" if is_right else "l" for is_right in right)
    head = " & ".join(escaped(column.replace("_", " ")) for column in varied) + r" \\"
    body = [" & ".join(escaped(short(row.get(column))) for column in varied) + r" \\" for row in rows]
    lines = [f"% {key}: {value}" for key, value in provenance.items()]
    if len(rows) > PAGE_ROWS_MAX:
        lines += [r"% \usepackage{booktabs,longtable}", rf"\begin{{longtable}}{{{layout}}}",
                  rf"\caption{{{said}}}\label{{tab:{label}}}\\", r"\toprule", head, r"\midrule", r"\endhead",
                  *body, r"\bottomrule", r"\end{longtable}"]
    else:
        lines += [r"% \usepackage{booktabs}", r"\begin{table}", r"\centering", rf"\caption{{{said}}}",
                  rf"\label{{tab:{label}}}", rf"\begin{{tabular}}{{{layout}}}", r"\toprule", head, r"\midrule", *body,
                  r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    return "\n".join(lines) + "\n"


# -- figures ------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def version():
    """matplotlib's, which the bytes of a figure depend on. Where nothing is drawn, it is not loaded for that."""
    try:
        return importlib.metadata.version("matplotlib")
    except importlib.metadata.PackageNotFoundError:
        import matplotlib
        return matplotlib.__version__


def latex_found():
    """Whether matplotlib can have text measured for PGF."""
    import matplotlib
    return shutil.which(matplotlib.rcParams["pgf.texsystem"]) is not None


def metadata(form, title, provenance):
    """What each format has room for; no dates, which would differ from one time to the next."""
    said = "; ".join(f"{key}: {value}" for key, value in provenance.items())
    return {"pdf": {"Title": title, "Subject": said, "Creator": "cbank scripts/plot.py", "CreationDate": None},
            "svg": {"Title": title, "Description": said, "Creator": "cbank scripts/plot.py", "Date": None},
            "png": {"Title": title, "Description": said, "Software": f"cbank scripts/plot.py, matplotlib {version()}"},
            "pgf": None}[form]


@contextlib.contextmanager
def quiet(name):
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def figure_bytes(figure, form, title, provenance):
    file = io.BytesIO()
    if form == "pgf":
        lines = [f"% {key}: {value}" for key, value in {"title": title, **provenance}.items()]
        file.write(("\n".join(lines) + "\n").encode())
        if hasattr(figure, "set_layout_engine"):
            figure.set_layout_engine("constrained")  # again: LaTeX's letters are not as wide
        pgf = io.StringIO()
        with quiet("matplotlib.backends.backend_pgf"):  # says of each word that LaTeX chooses the font
            figure.savefig(pgf, format="pgf")
        file.write(pgf.getvalue().encode())
    else:
        figure.savefig(file, format=form, metadata=metadata(form, title, provenance))
    return file.getvalue()


def lay_out(figure):
    """Once, so that all formats have the same layout and none takes the time again. Nothing is drawn for it."""
    with measured_once(figure):
        if hasattr(figure, "get_layout_engine"):
            figure.get_layout_engine().execute(figure)
            figure.set_layout_engine(None)  # "none" would be a stand-in, for which all is drawn once more, to no effect
        else:
            figure.execute_constrained_layout()
            figure.set_constrained_layout(False)
    panels.settle(figure)


@contextlib.contextmanager
def measured_once(figure):
    """What stands around axes is as wide and high wherever these are: of the two rounds of a layout the second need not measure it."""
    for axes in figure.axes:
        axes.get_tightbbox = functools.partial(box_around, axes, axes.get_tightbbox, [])
    yield
    for axes in figure.axes:
        del axes.get_tightbbox


def box_around(axes, measure, known, *arguments, **more):
    """known: how far each side is from that of the axes, once it was measured."""
    from matplotlib.transforms import Bbox
    if not known:
        found = measure(*arguments, **more)
        if found is None:
            return None
        known.append(found.extents - axes.bbox.extents)
    return Bbox.from_extents(axes.bbox.extents + known[0])
