#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attacks by what a process is given: signals, descriptors, limits, and names of files.

usage: tests/attacks/process.py [--count N] [--seed N] [CLASS...]

- ignored signals: HUP, INT and TERM, ignored at the start as CHLD is, come while it and its
  children work. It does not notice.
- stopped: SIGSTOP and SIGCONT. It does not notice.
- closed descriptors: some of 0, 1 and 2. No file takes their place. Who prints into a closed one
  exits with 2.
- failing output: /dev/full, and a pipe that nobody reads.
- limits: of the stack (3), open files (3), the address space (3), and the size of files (2). No
  signal kills it.
- names: files whose names are not UTF-8, or hold controls.

No try may leave a temporary file or part of a document, or end in a traceback. --count is the
number of tries, each a command. A class tries one command after the other, and a seed begins where
the one before ended. CLASS: the name of its function, or names.
"""

import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from run import CBANK, Campaign

PLAN = "--engine model --path constant --pattern per_warp --elements 4096"
MORE = f"{PLAN} --counters none --processes 2"
INSTRUMENT = (
    f"run {PLAN} --json out.json",
    f"run {PLAN} --quiet --json out.json",
    f"run {PLAN} --json -",
    f"calibrate {MORE} --json out.json",
    f"gate a.json {MORE} --json out.json",
    "show a.json",
    "counters a.json",
    "explain a.json",
    "compare a.json b.json --json out.json",
    "advise --table-bytes 256 --elements 1024 --json out.json",
    "check a.json",
    "list paths",
    "help",
    "--version",
    "characterize --replay h.json --json out.json --new-card out-card.json",
)
ANALYSIS = (
    "ingest out.db a.json b.json",
    "history s.db",
    "fleet s.db",
    "history a.json b.json",
    "report -o out a.json",
    "convert --to gbench a.json",
)
LINES = random.Random(0).sample([*INSTRUMENT, *ANALYSIS], len(INSTRUMENT) + len(ANALYSIS))
TOKENS = (
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\x1b[31m",
    b"\n",
    b"\r",
    b"\t",
    b"\x7f",
    b"\xc2\x9b",
    "\u202e".encode(),
    "\u2066".encode(),
    "\u200f".encode(),
    "\u061c".encode(),
    "\ufeff".encode(),
    "\u2028".encode(),
    b" ",
    b"a",
    "é".encode(),
    b"%s%n",
    b"'",
    b'"',
    b"\\",
)
PROGRAM_KIB = os.path.getsize(CBANK) >> 10  # with fewer the kernel kills it before it begins
ENDED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)

Outcome = collections.namedtuple("Outcome", "code out said files seconds")


def outcome(line, shell=None, signals=(), **options):
    """Runs a command, or a line of sh that executes it, in a copy of the folder. It gets pairs
    of a signal and the seconds to wait after it."""
    with tempfile.TemporaryDirectory() as top:
        folder = shutil.copytree(BASE, os.path.join(top, "f"))
        options = {"stdout": subprocess.PIPE, **options}
        began = time.monotonic()
        with subprocess.Popen(
            [*(["sh", "-c", shell, "sh"] if shell else []), CBANK, *line.split()],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            **options,
        ) as process:
            for number, seconds in signals:
                if number:
                    os.killpg(process.pid, number)
                time.sleep(seconds)
            out, said = process.communicate(timeout=120)
        seconds = time.monotonic() - began
        files = {}
        for parent, _, names in os.walk(folder):
            for name in names:
                with open(os.path.join(parent, name), "rb") as file:
                    files[os.path.relpath(file.name, folder)] = file.read()
        return Outcome(
            process.returncode, out or b"", said.decode(errors="replace"), files, seconds
        )


def wrong(got, usual, codes):
    """Says how an outcome that may have these codes is wrong; None: it is not."""
    if got.code not in codes:
        return f"exit {got.code}, not {' or '.join(map(str, sorted(codes)))}: {got.said[-600:]}"
    if "Traceback" in got.said:
        return got.said[-600:]
    left = set(got.files) - set(usual.files)
    if left or (got.code == usual.code and set(usual.files) - set(got.files)):
        return f"files: {sorted(left ^ (set(usual.files) - set(got.files)))}"
    for name, data in got.files.items():
        try:
            whole = not name.endswith(".json") or json.loads(data)
        except ValueError:
            whole = False
        if not whole or (
            name.endswith(".db") and data and not data.startswith(b"SQLite format 3\0")
        ):
            return f"{name} is not whole: {data[:80]}"
    return None


def ignored():
    # the last one would take the exit codes of children away
    for number in (*ENDED, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)


def ignored_signals(_line, usual, chance):
    """While the command does its work, whose usual time is known."""
    signals = [(None, chance.uniform(0, usual.seconds / 2))] + [
        (chance.choice(ENDED), chance.uniform(0, usual.seconds / 6)) for _ in range(3)
    ]
    return {"preexec_fn": ignored, "signals": signals}, {usual.code}


def stopped(_line, usual, chance):
    return {
        "signals": (
            (None, chance.uniform(0, 0.1)),
            (signal.SIGSTOP, chance.uniform(0, 0.4)),
            (signal.SIGCONT, 0),
        )
    }, {usual.code}


def closed_descriptors(_line, usual, chance):
    closed = chance.choice(
        (["1>&-"], chance.sample(("0<&-", "1>&-", "2>&-"), chance.randint(1, 3)))
    )
    return {"shell": f'exec "$@" {" ".join(closed)}'}, {
        2 if "1>&-" in closed and usual.out else usual.code
    }


def failing_output(_line, usual, chance):
    where = chance.choice((">/dev/full", "2>/dev/full", "|"))
    if where != "|":
        return {"shell": f'exec "$@" {where}'}, {2 if where[0] == ">" and usual.out else usual.code}
    read, write = os.pipe()
    os.close(read)
    # -13: SIGPIPE; Python ignores it.
    return {"stdout": write, "restore_signals": chance.random() < 0.5}, (
        {
            2,
            141,
            -13,
        }
        if usual.out
        else {usual.code}
    )


def limits(line, usual, chance):
    # libraries of Python may end it themselves
    kind = chance.choice("snvf" if line in INSTRUMENT else "snf")
    value = {
        "s": chance.choice((64, 128, 256, 511, 512, 1024)),
        "n": chance.choice((4, 8, 63, 64)),
        "v": PROGRAM_KIB + int(10 ** chance.uniform(3.3, 5.5)),
        "f": chance.choice((0, 1, 2, 8, 16)),
    }[kind]
    codes = {
        "s": {3} if value < 512 else {usual.code},
        "n": {3} if value < 64 else {usual.code},
        "v": {usual.code, 3, 127},
        "f": {usual.code, 2},
    }[kind]
    return {"shell": f'ulimit -{kind} {value}; exec "$@"'}, codes


def main():
    global BASE
    campaign = Campaign(30, quick=30)
    BASE = os.path.join(campaign.folder, "base")
    os.mkdir(BASE)
    shutil.copy(
        os.path.join(os.path.dirname(__file__), "../../results/characterizations/h200.json"),
        os.path.join(BASE, "h.json"),
    )
    for line in (
        f"run {PLAN} --quiet --json a.json",
        f"run {PLAN} --quiet --json b.json",
        "ingest s.db a.json b.json",
    ):
        subprocess.run([CBANK, *line.split()], cwd=BASE, capture_output=True, check=True)
    usual, classes = {}, (ignored_signals, stopped, closed_descriptors, failing_output, limits)
    chosen = [attack for attack in classes if not campaign.rest or attack.__name__ in campaign.rest]
    first = (campaign.options.seed - 1) * campaign.options.count
    for number in range(campaign.options.count if chosen else 0):
        chance = campaign.chance(number)
        attack, line = (
            chosen[number % len(chosen)],
            LINES[(first + number) // len(chosen) % len(LINES)],
        )
        usual.setdefault(line, outcome(line))
        options, codes = attack(line, usual[line], chance)
        got = outcome(line, **options)
        if "stdout" in options:
            os.close(options["stdout"])
        name, said = attack.__name__.replace("_", " "), wrong(got, usual[line], codes)
        campaign.tried[name] = campaign.tried.get(name, 0) + 1
        if said:
            campaign.failed[name] = campaign.failed.get(name, 0) + 1
            print(
                (
                    f"{name}: {said}\n    {options.get('shell', '')} {CBANK} {line}; the last of"
                    f" --seed {campaign.options.seed} --count {number + 1}"
                ),
                flush=True,
            )
    for number in range(
        campaign.options.count // 2 if not campaign.rest or "names" in campaign.rest else 0
    ):
        chance = campaign.chance(-number)
        name = os.fsdecode(b"".join(chance.choices(TOKENS, k=chance.randint(1, 4))) + b".json")
        shutil.copy(
            os.path.join(BASE, chance.choice(("a.json", "s.db"))),
            os.path.join(os.fsencode(campaign.folder), os.fsencode(name)),
        )
        words = chance.choice(INSTRUMENT[:12] + ANALYSIS[:1]).replace("b.json", "a.json").split()
        campaign.attempt(
            "names", [name if word in ("a.json", "out.json") else word for word in words]
        )
    sys.exit(campaign.end())


if __name__ == "__main__":
    main()
