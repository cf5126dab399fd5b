# SPDX-License-Identifier: MIT
"""The commands of the analysis: `cbank NAME ...`, or `python3 -I -m cbank NAME ...` where the
package was installed by pip.

The instrument's own table, harness/report/analysis.c, lists the same names for its help; a test
compares the two.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import signal
import sys
from collections import namedtuple

from .errors import ENVIRONMENT, USAGE, Failure, need_modules, say

# A command is a module with `main(words)`, which returns the exit code. `needs`: modules of the
# distribution's packages.
Command = namedtuple("Command", "module summary needs")

DRAWN = ("pandas", "matplotlib", "jinja2")

COMMANDS = {
    "report": Command("report", "Write a static page of documents, with figures and tables", DRAWN),
    "plot": Command(
        "plot",
        "Draw figures of documents, for papers, as SVG, PDF or PNG",
        ("pandas", "matplotlib"),
    ),
    "convert": Command("convert", "Convert results to the formats of other tools", ("pandas",)),
    "atlas": Command("atlas", "Compare what is known of several chips in one table", DRAWN),
    "contribute": Command(
        "contribute", "Measure all that the folder of a chip holds, on the first GPU", ()
    ),
    "check": Command("check", "Check documents, stores, or the folder of a chip", ()),
    "ingest": Command(
        "ingest", "Put results into a store, an SQLite file for questions over time", ()
    ),
    "fleet": Command(
        "fleet",
        "Say of a store which GPUs became slower, since when, and which did not answer",
        ("numpy", "scipy"),
    ),
    "history": Command(
        "history",
        "Print one line a run, or the series of cells, and since when levels changed",
        ("numpy", "scipy"),
    ),
}

USAGE_TEXT = "usage: python3 -I -m cbank COMMAND [OPTION...] [ARGUMENT...]\n\n"


def run(words: list[str]) -> int:
    """Runs the command line `words`; its exit code."""
    if not words or words[0] in ("help", "--help", "-h"):
        print(
            USAGE_TEXT
            + "\n".join(f"  {name:<12} {command.summary}" for name, command in COMMANDS.items())
        )
        return 0 if words else USAGE
    name = words[0]
    if name not in COMMANDS:
        raise Failure(f"there is no command {name}; try: python3 -I -m cbank help")
    command = COMMANDS[name]
    if not importlib.util.find_spec(f"{__package__}.{command.module}"):
        raise Failure(f"cbank {name} is not built yet", ENVIRONMENT)
    need_modules(f"cbank {name}", command.needs)
    # which reads its settings from the current folder, that may be a downloaded one
    if "matplotlib" in command.needs:
        here = os.open(".", os.O_PATH)
        os.chdir("/")
        importlib.import_module("matplotlib")
        os.fchdir(here)
        os.close(here)
    return importlib.import_module(f"{__package__}.{command.module}").main(words[1:]) or 0


def open_closed_streams() -> None:
    """Standard streams that are closed: the next opened file would take their number. Opened the
    wrong way around, their use fails."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_WRONLY if mode == "r" else os.O_RDONLY)
            setattr(sys, name, open(null, mode, encoding="utf-8"))


def told(error: Exception) -> tuple[int, str]:
    """(exit code, message) of what a command stumbled over."""
    if isinstance(error, Failure):
        return error.status, str(error)
    if isinstance(error, OSError):
        return USAGE, f"{error.filename or 'standard output'}: {error.strerror or error}"
    if isinstance(error, ImportError):  # a library does not fit into memory, or is broken
        return ENVIRONMENT, (
            f"Python cannot load {error.name or 'a module'}:"
            f" {str(error).strip().splitlines()[-1]}; free some memory, or install it again"
        )
    if isinstance(error, (MemoryError, SystemError)):  # libraries make the second of the first
        return ENVIRONMENT, "out of memory; give fewer files at a time"
    if isinstance(error, RecursionError):
        return USAGE, "a document is nested too deeply to be one of cbank's"
    if os.environ.get("CBANK_TRACEBACK"):
        raise error
    return USAGE, (
        f"{type(error).__name__}, {error}: cbank stumbled over what no check refuses;"
        " CBANK_TRACEBACK=1 shows where, please report it"
    )


def flush_streams(status: int) -> int:
    """Writes what is left; the exit code, which says so where it could not be written."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            # Python would try again at its end to write what is left.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if status == 0 and stream is sys.stdout:
                status = USAGE
                say("error", f"standard output: {error.strerror}")
    return status


def main(words: list[str]) -> int:
    """Runs the command line `words`; the exit code, whatever happens: no failure of the
    environment ends in a traceback."""
    open_closed_streams()
    try:
        status = run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        status = 141  # as a program that SIGPIPE ends
    except KeyboardInterrupt:
        status = 130
    except SystemExit as end:  # of argparse
        status = end.code if isinstance(end.code, int) else 0
    except Exception as error:
        status, message = told(error)
        say("error", message)
    return flush_streams(status)


if __name__ == "__main__":
    # ignored, it would make each exit code of a child 0
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.reconfigure(errors="backslashreplace")  # of locales that have few characters
    sys.exit(main(sys.argv[1:]))
