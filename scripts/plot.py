#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Figures of papers from what cbank writes: results, characterizations, comparisons, explanations, verdicts, histories.

usage: plot.py [OPTION...] FILE...

Makes the figures that can be made of the FILEs, one page a question: each in the formats asked for, as CSV with exactly
what is drawn, and as a sentence that says what it shows (.txt). Prints a line for each file written; on stderr, a line
for each figure that is not drawn, and why.

Exit status 0; 2 for wrong usage, a file that is none of those, or when nothing could be drawn; 3 where matplotlib, or
LaTeX for PGF, is missing.
"""

import argparse
import collections
import contextlib
import importlib.util
import multiprocessing
import os
import subprocess
import sys

import figures
from figures import documents, output, style


def fail(message, status=2):
    print(f"plot: error: {message}", file=sys.stderr)
    sys.exit(status)


def say(message):
    print(f"plot: {message}", file=sys.stderr)


# -- the command line ---------------------------------------------------------------------------------------------


def listing():
    return "figures:\n" + "\n".join(f"  {name:<14} {module.SUMMARY}; needs {module.NEEDS}"
                                    for name, module in figures.FIGURES.items())


def width(text):
    """In mm."""
    try:
        value = style.WIDTHS_MM.get(text) or float(text)
    except ValueError:
        value = 0
    if not 40 <= value <= 1000:
        raise argparse.ArgumentTypeError(f"'{text}' is not one, two or 40 to 1000 mm")
    return value


def formats(text):
    asked = text.split(",")
    for name in asked:
        if name not in output.FORMATS:
            raise argparse.ArgumentTypeError(f"no format '{name}'; there are: " + ", ".join(output.FORMATS))
    return [name for name in output.FORMATS if name in asked]


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS, epilog=listing())
    parser.add_argument("-o", "--output", metavar="DIR", default="results/local/figures", help="default: %(default)s")
    parser.add_argument("--figure", metavar="NAME", action="append", choices=list(figures.FIGURES),
                        help="this figure (several times: these); default: all")
    parser.add_argument("--all", action="store_true",
                        help="draw the rest, too: samples, counters, figures of many pages, files that ask again what one "
                             "before them asked")
    parser.add_argument("--format", metavar="LIST", type=formats, default="pdf",
                        help="of pdf, svg, png, pgf and tex (a booktabs table), with commas between; default: %(default)s. "
                             "pgf needs LaTeX")
    parser.add_argument("--width", type=width, default="two",
                        help="of the figure: one or two (columns: 85 and 175 mm) or millimetres; default: %(default)s")
    parser.add_argument("--style", metavar="NAME", help="ieee, acm, or a matplotlib style sheet on top of cbank's")
    parser.add_argument("--select", metavar="KEY=GLOB,...", action="append", default=[],
                        help="cells that fit all of these (several times: any of the lists), such as "
                             "'path=constant,pattern=per_*'")
    parser.add_argument("--title", action="store_true", help="write above each figure what it is of")
    parser.add_argument("--program", metavar="FILE", default="build/cbank",
                        help="cbank, which reads old results and explains those of the figure parts; default: %(default)s")
    parser.add_argument("--list", action="store_true", help="list the figures and end")
    parser.add_argument("files", metavar="FILE", nargs="*")
    found = parser.parse_args()
    if not found.list and not found.files:
        parser.error("name a file, such as results/h200/core-matrix.json")
    return found


# -- documents ----------------------------------------------------------------------------------------------------


def read_all(names, program):
    try:
        return [documents.read(name, program) for name in names]
    except documents.WrongFile as error:
        fail(error)


def explained(program, document, card):
    """The explanation of a result, which the program makes."""
    if not os.access(program, os.X_OK):
        raise documents.NotDrawn(f"needs an explanation: cbank explain --json {document.name}, or build the program "
                                 f"({program})")
    command = [program, "explain", "--json", *([f"--card={card.path}"] if card else []), document.path]
    done = subprocess.run(command, capture_output=True, check=False)
    try:
        made = documents.Document(document.path, done.stdout)
    except documents.WrongFile:
        said = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit {done.returncode}"]
        raise documents.NotDrawn(f"{program} explain: {said[0]}") from None
    made.sha256 = document.sha256  # what the numbers come from
    return made


PAGES_MAX = 3  # of a figure of one file, unless all are asked for


def repeats(given):
    """{document: the one before it} of results whose cells a result of the same device has, of those that are not larger."""
    seen, found = [], {}
    for document in sorted(given, key=lambda its: len(documents.cells_of(its))):
        if document.kind == "result":
            content = document.content
            with blamed(document.path, "any"):
                cells = {tuple(documents.identity(cell).values()) for cell in content["cells"]}
            key = content["engine"], content["device"]["name"]
            before = next((other for other, of, its in seen if of == key and cells <= its), None)
            if before:
                found[document] = before
            else:
                seen.append((document, key, cells))
    return found


def left_out(asked, module, document, again):
    """Why a figure of a document is not among those of one page a question; or None."""
    if asked.all or asked.figure:
        return None
    if document in again:
        return f"asks again what {again[document].name} asked; --all draws it"
    return "--all draws it" if hasattr(module, "EXTRA") else None


def jobs(module, given, program):
    """[(documents, how to get what the figure is made of)] of a figure."""
    takes = [document for document in given if document.kind in module.TAKES]
    if getattr(module, "COMBINES", False):
        return [(takes, lambda: takes)] if takes else []
    made = [([document], lambda document=document: document) for document in takes]
    if "explanation" in module.TAKES:
        card = next((document for document in given if document.kind == "card"), None)
        made += [([document], lambda document=document: explained(program, document, card))
                 for document in given if document.kind == "result"]
    return made


# -- figures ------------------------------------------------------------------------------------------------------


def provenance_of(sources, name):
    """Of one file its own words; of several, one after the other."""
    made = {"figure": name}
    for i, document in enumerate(sources, 1):
        made.update((key if len(sources) == 1 else f"{key} {i}", value)
                    for key, value in document.provenance().items())
    return made


def title_of(name, sources):
    devices = sorted({documents.origin(document).get("device") or document.name for document in sources})
    return f"{name}: {', '.join(devices)}"


class Page:
    """What is drawn into one figure, and written as files of one stem. Passed to other processes: holds no file."""

    def __init__(self, name, sources, stem, rows, note):
        self.name, self.stem, self.rows, self.note = name, stem, rows, note
        self.sentence = figures.FIGURES[name].says(rows)
        self.provenance = provenance_of(sources, name)
        self.title = title_of(name, sources)
        self.files = ", ".join(document.path for document in sources)


def tex_of(page):
    """The table of a page: what it says, and how that was found, is its caption."""
    module = figures.FIGURES[page.name]
    table = module.table(page.rows) if hasattr(module, "table") else page.rows
    return output.table_text(module.COLUMNS, table, f"{page.sentence} {module.METHOD}", page.stem, page.provenance)


def write_page(asked, page):
    """The paths of the files written."""
    module = figures.FIGURES[page.name]
    note = "; ".join(text for text in (page.title if asked.title else None, page.note) if text) or None
    figure = module.draw(page.rows, asked.width, note)
    output.lay_out(figure)
    made = {form: output.figure_bytes(figure, form, page.title, {**page.provenance, "matplotlib": output.version()})
            for form in asked.format if form != "tex" and (form != "pgf" or output.latex_found())}
    made["csv"] = output.csv_text(module.COLUMNS, page.rows).encode()
    made["txt"] = f"{page.sentence}\n".encode()
    if "tex" in asked.format:
        made["tex"] = tex_of(page).encode()
    paths = {ending: os.path.join(asked.output, f"{page.stem}.{ending}") for ending in made}
    for ending, data in made.items():
        output.write(paths[ending], data)
    return list(paths.values())


def pages_of(asked, module, sources, content, selection):
    rows = module.rows(content, selection)
    combined = isinstance(content, list)
    note = None if combined else documents.note(content)
    stem = module.NAME if combined else f"{sources[0].stem}-{module.NAME}"
    pages = module.pages(rows, asked.width)
    some = not (asked.all or asked.figure)
    why = module.why_not(rows) if some and hasattr(module, "why_not") else None
    if why:
        raise documents.NotDrawn(f"{why}; --all draws it")
    if some and len(pages) > getattr(module, "PAGES_MAX", PAGES_MAX):
        raise documents.NotDrawn(f"it would be {len(pages)} pages; --all draws them, --select chooses")
    return [Page(module.NAME, sources, f"{stem}-{number}" if len(pages) > 1 else stem, page, note)
            for number, page in enumerate(pages, 1)]


def all_pages(asked, given, selection):
    """Of all figures; says which there are not, and why."""
    pages, again = [], repeats(given)
    for name in asked.figure or figures.FIGURES:
        module, missing = figures.FIGURES[name], {}
        found = jobs(module, given, asked.program)
        for sources, content in found:
            try:
                with blamed(", ".join(document.path for document in sources), name):
                    why = left_out(asked, module, sources[0], again) if len(sources) == 1 else None
                    if why:
                        raise documents.NotDrawn(why)
                    pages += pages_of(asked, module, sources, content(), selection)
            except documents.NotDrawn as reason:
                missing.setdefault(str(reason), []).append(sources[0].name if len(sources) == 1 else None)
        if not found:
            missing[f"needs {module.NEEDS}"] = [None]
        for reason, of in missing.items():
            say(name + (f" of {', '.join(of)}" if of[0] else "") + f" not drawn: {reason}")
    return pages


@contextlib.contextmanager
def blamed(files, name):
    """What a figure stumbles over is a file that is not what it says it is."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else error
        raise documents.WrongFile(f"{files}: not what its schema says: {what}; write it again with cbank "
                                  f"(figure {name})") from error


def work(task):
    asked, page = task
    with blamed(page.files, page.name):
        return write_page(asked, page)


def write_all(asked, pages):
    """Each page on a processor of its own, as far as there are any; lines in the order of the pages."""
    twice = [stem for stem, count in collections.Counter(page.stem for page in pages).items() if count > 1]
    if twice:
        raise documents.WrongFile(f"several files would be called {twice[0]}.csv; draw those of equal names apart, "
                                  "each with its own -o")
    processes = min(len(os.sched_getaffinity(0)), len(pages))
    tasks = [(asked, page) for page in pages]
    if processes < 2:
        made = map(work, tasks)
        print_all(made)
        return
    # Forked, so that matplotlib's settings are those of this process.
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        print_all(pool.imap(work, tasks))


def print_all(made):
    for paths in made:
        print("\n".join(paths), flush=True)


DISTRIBUTION_PYTHON = "/usr/bin/python3"  # what its packages are for


def needs_matplotlib():
    """Starts again with the distribution's Python where this one has none."""
    if importlib.util.find_spec("matplotlib"):
        return
    if os.path.realpath(sys.executable) != os.path.realpath(DISTRIBUTION_PYTHON) and \
            subprocess.run([DISTRIBUTION_PYTHON, "-c", "import matplotlib"], capture_output=True,
                           check=False).returncode == 0:
        sys.stdout.flush()
        os.execv(DISTRIBUTION_PYTHON, [DISTRIBUTION_PYTHON, *sys.argv])
    fail("matplotlib is missing; install it: scripts/setup.sh test, or the package python3-matplotlib", 3)


def main():
    asked = options()
    if asked.list:
        print(listing())
        return 0
    needs_matplotlib()
    given = read_all(asked.files, asked.program)
    try:
        selection = documents.Selection(asked.select)
        selection.check(given)
    except documents.WrongSelection as error:
        fail(f"--select: {error}")
    os.makedirs(asked.output, exist_ok=True)
    try:
        with style.sheet(asked.style):
            pages = all_pages(asked, given, selection)
            write_all(asked, pages)
            no_latex = "pgf" in asked.format and not output.latex_found()
    except documents.WrongFile as error:
        fail(error)
    except BrokenPipeError:  # whoever reads the lines has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        fail(f"{error.filename or asked.output}: {error.strerror or error}")
    if not pages:
        fail("no figure can be drawn of what was given")
    if no_latex:
        fail("no PGF: matplotlib has LaTeX measure its text, and there is none; install texlive-latex-base and "
             "texlive-pictures, or ask for other formats", 3)
    return 0


if __name__ == "__main__":
    sys.exit(main())
