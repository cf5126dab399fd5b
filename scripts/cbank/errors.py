# SPDX-License-Identifier: MIT
"""Failures of a command, and how they are printed."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import re
import sys
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


class Parser(argparse.ArgumentParser):
    """For command lines, whose words may hold anything."""

    def error(self, message: str) -> NoReturn:
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
