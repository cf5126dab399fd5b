#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A static page of what cbank wrote: summary, environment, matrix, characterization, comparison, fleet, history,
explanation, figures.

usage: report.py [OPTION...] -o DIR FILE|FOLDER...

FILEs are results, characterizations, comparisons, explanations, cards, verdicts on fleets and histories; a FOLDER is
that of a chip. Of two chips or more the page opens on a table of both. Writes
DIR/index.html, DIR/cells/, a page for each result with all its cells, and DIR/figures/; files of those names are replaced, others stay. The page needs no
script and no inline style. The same files make the same bytes.

Exit status 0; 2 for wrong usage, a file that is none of those or cannot be read, or a DIR that cannot be written; 3
where matplotlib, jinja2, or what --interactive needs is missing.
"""

import argparse
import gc
import importlib.util
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DISTRIBUTION_PYTHON = "/usr/bin/python3"  # what its packages are for
NEEDS = {"matplotlib": "python3-matplotlib", "jinja2": "python3-jinja2"}


def fail(message, status=2):
    print(f"cbank: error: {message}", file=sys.stderr)
    sys.exit(status)


def options():
    parser = argparse.ArgumentParser(prog="cbank report", description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", metavar="DIR", required=True)
    parser.add_argument("--interactive", action="store_true",
                        help="filter cells, and see them in a chart, by a script in the page; needs libjs-d3")
    parser.add_argument("--library", metavar="FILE", help="d3.min.js for --interactive; default: the distribution's")
    parser.add_argument("--program", metavar="FILE", default=os.path.join(os.path.dirname(HERE), "build/cbank"),
                        help="cbank, which compares and explains; default: %(default)s")
    parser.add_argument("files", metavar="FILE", nargs="+")
    return parser.parse_args()


def need_modules():
    """Starts again with the distribution's Python where this one lacks a module; ends where that does, too."""
    missing = [name for name in NEEDS if not importlib.util.find_spec(name)]
    if not missing:
        return
    if os.path.realpath(sys.executable) != os.path.realpath(DISTRIBUTION_PYTHON) and \
            subprocess.run([DISTRIBUTION_PYTHON, "-c", f"import {', '.join(NEEDS)}"], capture_output=True,
                           check=False).returncode == 0:
        os.execv(DISTRIBUTION_PYTHON, [DISTRIBUTION_PYTHON, *sys.argv])
    fail(f"{' and '.join(missing)} missing; install {', '.join(NEEDS[name] for name in missing)} (scripts/setup.sh "
         "plots does)", 3)


def need_folder(path):
    """A folder that can be written, made where there is none; before anything is drawn."""
    try:
        for folder in (path, os.path.join(path, "cells"), os.path.join(path, "figures")):
            os.makedirs(folder, exist_ok=True)
            if not os.access(folder, os.W_OK | os.X_OK):
                fail(f"cannot write into {folder}; name another folder: -o DIR")
    except FileExistsError as error:
        fail(f"{error.filename} is a file, not a folder; name another: -o DIR")
    except NotADirectoryError as error:
        fail(f"{error.filename}: part of its path is a file; name another folder: -o DIR")
    except OSError as error:
        fail(f"cannot make {error.filename}: {error.strerror}; name another folder: -o DIR")


def main():
    asked = options()
    need_modules()
    sys.path.insert(0, HERE)
    from figures import documents
    from page import atlas, given, interactive, page
    try:
        files, folders, not_shown = given.read_all(asked.files, asked.program)
        atlas.check_folders(folders)
        for path in not_shown:
            print(f"cbank: {path} is not shown: a report is of no such document", file=sys.stderr)
        library = interactive.find_library(asked.library) if asked.interactive else None
        program = given.Program(asked.program)
        need_folder(asked.output)
        gc.freeze()  # what was read is not garbage, here and where figures are drawn; nor does that leave any each moment
        gc.set_threshold(300_000)
        page.write(asked.output, program, files, library)
    except documents.WrongFile as error:
        fail(error)
    except (given.WrongProgram, interactive.NoLibrary) as error:
        fail(error, 3)
    except OSError as error:
        fail(f"{error.filename or asked.output}: {error.strerror or error}")
    print(os.path.join(asked.output, "index.html"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
