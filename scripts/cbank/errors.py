# SPDX-License-Identifier: MIT
"""Failures of a command, and how they are printed."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import textwrap

TYPE_CHECKING = False  # as in typing, whose import takes longer than all of this module
if TYPE_CHECKING:
    from typing import NoReturn

FINDING, USAGE, ENVIRONMENT, INCONCLUSIVE = 1, 2, 3, 4  # exit codes, as the instrument's

# Control characters, and those that change the direction of text or are no characters at all.
UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)


class Failure(Exception):
    """Says why a command cannot go on, and the remedy after a semicolon. `status` is the exit
    code of the command."""

    def __init__(self, text: object, status: int = USAGE):
        super().__init__(text)
        self.status = status

    def blame_file(self) -> Failure:
        """Itself, where it says what is wrong with a file; raises it where the machine is: then
        nothing is known of the file."""
        if self.status == ENVIRONMENT:
            raise self
        return self


def need_modules(who: str, needs: tuple[str, ...]) -> None:
    """Raises Failure, with the packages to install, where a module that is needed is not there."""
    import importlib.util

    missing = sorted(module for module in needs if not importlib.util.find_spec(module))
    if missing:
        packages = " ".join(f"python3-{module}" for module in missing)
        raise Failure(
            f"{who} needs Debian's {packages}; run: apt-get install {packages}, or in a virtual"
            f" environment of its own: pip install {' '.join(missing)}",
            ENVIRONMENT,
        )


def escaped(found: re.Match) -> str:
    """The bytes of a character, like \\x1b. A byte that is no UTF-8 is a half of a surrogate in
    Python's names of files."""
    half = "\udc80" <= found[0] <= "\udcff"
    return "".join(
        f"\\x{byte:02x}"
        for byte in found[0].encode("utf-8", "surrogateescape" if half else "surrogatepass")
    )


def printable(text: object) -> str:
    """The text as one line that a terminal shows as it is: unprintable characters are escaped,
    as the instrument does."""
    return UNPRINTABLE.sub(escaped, str(text))


class Paragraphs(argparse.HelpFormatter):
    """Wraps each paragraph of a description by itself, and each row of a list in it: a name behind
    two blanks, then its text, whose other lines are indented more."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        out = []
        for paragraph in text.strip().split("\n\n"):
            rows: list[str] = []
            for line in paragraph.splitlines():
                begins = re.match(r"  \S", line) or not line.startswith(" ")
                wraps = rows and not line.startswith(" ") and not rows[-1].startswith(" ")
                if begins and not wraps:
                    rows.append(line)
                else:
                    rows[-1] += " " + line.strip()
            for row in rows:
                head = re.match(r"(  \S+ +)?", row)[0]
                out += textwrap.wrap(
                    row[len(head) :],
                    width,
                    initial_indent=head,
                    subsequent_indent=" " * len(head),
                    break_on_hyphens=False,
                )
            out.append("")
        return "\n".join(out[:-1])


class Parser(argparse.ArgumentParser):
    """For command lines, whose words may hold anything."""

    def __init__(self, **settings):
        from .files import Paths  # which raises Failure

        super().__init__(formatter_class=Paragraphs, **settings)
        self.topics, self.paths = {}, Paths()

    def topic(self, heading: str) -> argparse._ArgumentGroup:
        """Options below a heading of help, one of the instrument's (harness/command/help.c)."""
        if heading not in self.topics:
            self.topics[heading] = self.add_argument_group(heading)
        return self.topics[heading]

    def reads(self, *names: str, group: argparse._ArgumentGroup | None = None, **settings) -> None:
        """As add_argument, of one that names files which the command reads."""
        self.paths.read.append((group or self).add_argument(*names, **settings).dest)

    def writes(self, *names: str, group: argparse._ArgumentGroup | None = None, **settings) -> None:
        """As add_argument, of one that names a file which the command writes."""
        added = (group or self).add_argument(*names, **settings)
        self.paths.written[added.dest] = (added.option_strings or [added.metavar])[-1]

    def parse_args(self, args=None, namespace=None):
        """--help=all is --help: no short help leaves options out. Options may stand between the
        files. Raises Failure where a file that is read would be written."""
        words = list(args or [])
        end = words.index("--") if "--" in words else len(words)
        shown = ["--help" if word == "--help=all" else word for word in words[:end]]
        # what stands behind -- is no option, and argparse takes it for one where they are mixed
        parse = super().parse_args if "--" in words else super().parse_intermixed_args
        options = parse(shown + words[end:], namespace)
        self.paths.check(options)
        return options

    def error(self, message: str) -> NoReturn:
        import difflib

        for wrong in re.findall("^unrecognized arguments: (--[a-z-]+)", message):
            message += "".join(
                f"; did you mean {near}?"
                for near in difflib.get_close_matches(wrong, self._option_string_actions, 1)
            )
        super().error(printable(message))


def say(kind: str, text: object) -> None:
    """Prints one line on standard error, as the instrument does. kind: "error", "warning", or ""
    for a note."""
    with contextlib.suppress(OSError):  # the exit code says it all the same
        print(f"cbank: {kind}{': ' if kind else ''}{printable(text)}", file=sys.stderr)
