# SPDX-License-Identifier: MIT
"""`cbank contribute DIR`: measures all that the folder of a chip holds, on the first GPU.

After cbank doctor it runs the default plan hot, cold and by a second process, and the calibration.
Then follow sizes, serialization, widths, table sizes, every workload by every path, the
characterization, and a card. A manifest names the files with their hashes, and cbank check looks at
the folder. It can be stopped at any time: the same command goes on with what is not there. The card
takes no GPU. Names of hosts are left out."""

from __future__ import annotations

import argparse
import functools
import os
import signal
import subprocess
import sys
import time

from . import check, chips, documents, files, instrument
from .errors import ENVIRONMENT, FINDING, INCONCLUSIVE, USAGE, Failure, Parser, printable, say


class Stopped(BaseException):
    """A signal came."""


class Contribution:
    """A folder that is being made. `worst` is the worst exit code of the steps; `pace`, how much
    longer than planned they took here; `signal`, the one that came."""

    def __init__(self, folder: str, options: argparse.Namespace, words: list[str]):
        self.folder, self.brief, self.credit, self.words = (
            folder,
            options.brief,
            options.credit,
            words,
        )
        self.worst, self.spent, self.planned, self.signal = 0, 0.0, 0.0, None

    def stop(self, number: int, _frame: object) -> None:
        """The handler of signals. Python drops what is raised within a fork (in hooks, such as
        those of logging): see run."""
        self.signal = number
        raise Stopped(number)

    def there(self, name: str) -> bool:
        return os.path.exists(os.path.join(self.folder, name))

    def run(self, words: list[str], what: str) -> int:
        """Runs the instrument in the folder. Its exit code; raises Failure where it could not do
        what it should."""
        with subprocess.Popen(
            [instrument.program(), *words.split()],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            preexec_fn=functools.partial(instrument.die_with, os.getpid()),
        ) as child:
            try:
                if self.signal:
                    raise Stopped(self.signal)
                code = child.wait()
            except Stopped:
                child.send_signal(self.signal)  # it leaves a file that can be gone on with
                raise
        if code < 0:
            raise Failure(f"{what} was killed by signal {-code}", ENVIRONMENT)
        if code not in (0, FINDING, INCONCLUSIVE):
            raise Failure(
                f"{what} ended with {code}: see above; then the same command goes on",
                code if code == USAGE else ENVIRONMENT,
            )
        return code

    def load(self, name: str, kind: str = "result") -> dict:
        """The content of a document of the folder."""
        path = os.path.join(self.folder, name)
        document = documents.load(path)
        if document.kind != kind:
            raise Failure(
                f"{path} is a {document.kind}, not a {kind}; remove it, or name another folder"
            )
        return document.content

    def needed(self, step: chips.Step) -> str | None:
        """None where a step is done; else the words that run it."""
        words = chips.words_of(step, self.brief)
        if not self.there(step.file):
            return words
        if step.kind == "characterization":
            ended = not self.load(step.file, step.kind).get("interrupted")
            return None if ended else f"characterize --quiet --resume {step.file}"
        if step.kind != "result":  # which is written whole or not at all
            return None
        result = self.load(step.file)
        if not chips.is_of_step(step, self.brief, result):
            raise Failure(
                f"{self.folder}/{step.file} is of another command: {result['tool']['argv']}; remove"
                " it, or name another folder"
            )
        return None if result["complete"] else f"run --quiet --resume {step.file}"

    def check_mixed(self, step: chips.Step) -> None:
        """A result has to be of the GPU, driver and program of the first one. Else it goes, and
        the folder stays of one."""

        def of(name: str) -> list:
            result = self.load(name)
            return [result["device"][key] for key in ("name", "uuid", "driver")] + [
                result["tool"]["git_commit"]
            ]

        first, this = of(chips.STEPS[0].file), of(step.file)
        if first != this:
            os.remove(os.path.join(self.folder, step.file))
            raise Failure(
                f"{self.folder} was begun on {', '.join(map(str, first))}; this is"
                f" {', '.join(map(str, this))}: name another folder"
            )

    def take(self, number: int, step: chips.Step) -> None:
        words = self.needed(step)
        if not words:
            return
        pace = self.spent / self.planned if self.planned else 1
        left = pace * sum(
            later.seconds for later in chips.STEPS[number - 1 :] if not self.there(later.file)
        )
        say(
            "",
            (
                f"{number} of {len(chips.STEPS)}: {step.what}; about {left // 60:.0f} min"
                f" {left % 60:02.0f} s left"
            ),
        )
        start = time.monotonic()
        self.worst = max(
            self.worst, self.run(words, step.what), key=(0, INCONCLUSIVE, FINDING).index
        )
        self.spent += time.monotonic() - start
        self.planned += step.seconds
        if not self.there(step.file):
            raise Failure(f"{step.what} left no {step.file}", ENVIRONMENT)
        if step.kind == "result":
            self.check_mixed(step)

    def refuse_links(self) -> None:
        """A folder from elsewhere may have links: what is written to them would be other files."""
        for entry in os.scandir(self.folder):
            if entry.is_symlink():
                raise Failure(
                    f"{self.folder}/{entry.name} is a link, and the folder of a chip holds files;"
                    " remove it, or name another folder"
                )

    def take_all(self) -> None:
        self.refuse_links()
        first = chips.STEPS[0]
        if any(step.kind != "card" and not self.there(step.file) for step in chips.STEPS):
            self.run("doctor", "cbank doctor")
        if not self.there(first.file):  # the first process on a machine is slow, and is not kept
            self.run(
                (
                    f"{first.brief if self.brief else first.words} --counters none --json"
                    f" {chips.SCRATCH}"
                ),
                "the warm-up",
            )
        for number, step in enumerate(chips.STEPS, 1):
            self.take(number, step)

    def remove_scratch(self) -> None:
        if self.there(chips.SCRATCH):
            os.remove(os.path.join(self.folder, chips.SCRATCH))

    def write_manifest(self) -> None:
        path = os.path.join(self.folder, chips.MANIFEST)
        first = self.load(chips.STEPS[0].file)
        credit = self.credit
        if credit is None and self.there(chips.MANIFEST):
            try:
                credit = documents.load(path, documents.MANIFEST_KINDS).content["credit"]
            except Failure:
                credit = None  # a broken one is written again
        chips.write_json(
            path,
            {
                "schema": {"name": "cbank-manifest", "version": "1.0"},
                "tool": {**first["tool"], "argv": " ".join(["cbank", "contribute", *self.words])},
                "credit": printable(credit or "anonymous")[:127],
                "brief": self.brief,
                "measured_utc": first["started_utc"],
                "device": first["device"],
                "files": [
                    chips.entry_of(self.folder, name) for name in chips.files_of(self.folder)
                ],
            },
        )


def main(words: list[str]) -> int:
    """Runs the command line `words`, without the name of the command; returns the exit code."""
    parser = Parser(
        prog="cbank contribute",
        description=__doc__,
    )
    parser.writes("folder", metavar="DIR", help="the folder, made where there is none")
    parser.add_argument(
        "--credit",
        metavar="NAME",
        help="who measured, for the manifest (default: as it was, else anonymous)",
    )
    # short plans, for tests
    parser.add_argument("--brief", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    folder = options.folder.rstrip("/") or "/"
    files.make_folder(folder)
    contribution = Contribution(folder, options, words)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, contribution.stop)
    try:
        try:
            contribution.take_all()
        finally:
            contribution.remove_scratch()
        contribution.write_manifest()
        found = check.Check(folder, options.brief).run()
        found.print()
    except Stopped as stopped:
        say("", f"{folder} has what is done; the same command goes on")
        sys.stderr.flush()
        signal.signal(stopped.args[0], signal.SIG_DFL)
        os.kill(os.getpid(), stopped.args[0])
    return FINDING if found.findings else contribution.worst
