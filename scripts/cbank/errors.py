# SPDX-License-Identifier: MIT
"""Failures of a command, and how they are printed."""

from __future__ import annotations

import contextlib
import re
import sys

FINDING, USAGE, ENVIRONMENT, INCONCLUSIVE = 1, 2, 3, 4  # exit codes, as the instrument's

# Control characters, and those that change the direction of text or are no characters at all.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


class Failure(Exception):
    """Says why a command cannot go on, and the remedy after a semicolon. `status` is the exit code of the command."""

    def __init__(self, text: object, status: int = USAGE):
        super().__init__(text)
        self.status = status


def printable(text: object) -> str:
    """The text as one line that a terminal shows as it is: every unprintable character is a question mark."""
    return UNPRINTABLE.sub("?", str(text))


def say(kind: str, text: object) -> None:
    """Prints one line on standard error, as the instrument does. kind: "error", "warning", or "" for a note."""
    line = f"cbank: {kind}{': ' if kind else ''}{printable(text)}"
    with contextlib.suppress(OSError):  # the exit code says it all the same
        print(line.encode(errors="replace").decode(), file=sys.stderr)
