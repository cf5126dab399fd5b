# SPDX-License-Identifier: MIT
"""The instrument: the C program that measures, compares and judges. Nothing here computes what
it can be asked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

from .errors import ENVIRONMENT, Failure

HERE = os.path.dirname(os.path.abspath(__file__))


def program() -> str:
    """The path of the program: CBANK_PROGRAM, the one of this checkout or installation, or the
    one on PATH."""
    found = [
        os.environ.get("CBANK_PROGRAM"),
        os.path.join(HERE, "../../build/cbank"),
        os.path.join(HERE, "../../../../bin/cbank"),
        shutil.which("cbank"),
    ]
    for path in filter(None, found):
        if os.access(path, os.X_OK):
            return os.path.abspath(path)
    raise Failure(
        "there is no program cbank to ask; build it (make), or set CBANK_PROGRAM to its path",
        ENVIRONMENT,
    )


def start(words: list[str]) -> subprocess.Popen:
    """Starts `cbank WORDS...`, whose standard output is read by lines_of; it says nothing else."""
    try:
        return subprocess.Popen(
            [program(), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        raise Failure(f"cannot run {program()}: {error.strerror}", ENVIRONMENT) from error


def die_with(parent: int) -> None:
    """Lets the kernel end this process with its parent, whose number is given: it would measure, or
    draw, beside the next try. Raises SystemExit where the parent is gone already."""
    import ctypes
    import signal

    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # 1: PR_SET_PDEATHSIG
    if os.getppid() != parent:
        raise SystemExit


def lines_of(process: subprocess.Popen) -> list[str]:
    """The lines of a program that was started, once it has ended."""
    return process.communicate()[0].decode("utf-8", "replace").splitlines()


def call(
    words: list[str],
    statuses: tuple[int, ...] = (0,),
    text: str | None = None,
    folder: str | None = None,
) -> str:
    """Runs `cbank WORDS...` in a folder, with `text` on its standard input; its standard output.

    Where it exits with a code that is not in `statuses`, raises Failure with that code and its own
    message."""
    try:
        done = subprocess.run(
            [program(), *words],
            input=text,
            stdin=None if text else subprocess.DEVNULL,
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )
    except OSError as error:
        raise Failure(f"cannot run {program()}: {error.strerror}", ENVIRONMENT) from error
    if done.returncode not in statuses:
        lines = [
            line.removeprefix("cbank: error: ")
            for line in done.stderr.splitlines()
            if "error: " in line
        ]
        said = lines[0] if lines else f"cbank {words[0]} ended with {done.returncode}"
        raise Failure(said, done.returncode if done.returncode in (2, 3, 4) else ENVIRONMENT)
    return done.stdout


def ask(words: list[str], statuses: tuple[int, ...] = (0,), text: str | None = None) -> object:
    """The JSON document that `cbank WORDS...` writes to standard output."""
    return json.loads(call(words, statuses, text))


def judge(questions: list[dict]) -> list[list[dict]]:
    """The verdicts on the cells of each question, by one run of `cbank compare --batch`: the same
    judge as of two results. docs/comparing.md says what questions and answers hold."""
    if not questions:
        return []
    text = "".join(json.dumps(question) + "\n" for question in questions)
    said = [
        json.loads(line) for line in call(["compare", "--batch", "-"], (0, 2), text).splitlines()
    ]
    for answer in said:
        if "error" in answer:
            raise Failure(f"the instrument takes no such question: {answer['error']}", ENVIRONMENT)
    return [answer["cells"] for answer in said]
