#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attacks by the end of a command that writes: SIGTERM, SIGINT or kill -9 at any time, and then the
same command again.

usage: tests/attacks/ended.py [--count N] [--seed N] [COMMAND...]

What it ended in is what the signal says, or a success. No process of it goes on. Its inputs are as
they were. Each file of its output is one that an undisturbed command writes, or, after kill -9, one
that was being written. The same command then makes what an undisturbed one makes. --count is the
number of commands that are ended.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

from run import CBANK, ROOT, Campaign

PLAN = "--engine model --elements 4096 --pattern per_warp,per_thread --path constant,global --quiet"
# Each writes into out, or out.db.
COMMANDS = {
    "contribute": "contribute out",
    "plot": "plot -o out in/a.json in/b.json",
    "report": "report -o out in/a.json in/b.json",
    "ingest": "ingest out.db in",
    "calibrate": f"calibrate {PLAN} --counters none --processes 3 --json out.json",
    "compare": "compare in/a.json in/b.json --json out.json --junit out.xml --markdown out.md",
    "characterize": "characterize --quiet --replay in/h.json --json out.json --new-card out2.json",
}
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)
CODES = (0, 1, 3, 4)
# What tells when, how long and by what name; a database is asked for its rows.
VARYING = re.compile(rb'"(argv|started_utc|finished_utc|seconds|measured_utc)":\s*[^\n]*')
GRACE_SECONDS = 20


def make(folder):
    """The inputs: two results, a characterization, and the folder of a chip that lacks its card and
    its manifest."""
    os.mkdir(os.path.join(folder, "in"))
    for name in ("a.json", "b.json"):
        subprocess.run(
            [CBANK, "run", *PLAN.split(), "--json", f"in/{name}"], cwd=folder, check=False
        )
    shutil.copy(
        os.path.join(ROOT, "results/characterizations/h200-streams.json"),
        os.path.join(folder, "in/h.json"),
    )
    chip = shutil.copytree(os.path.join(ROOT, "results/chips/h200"), os.path.join(folder, "chip"))
    for name in ("card.json", "manifest.json"):
        os.remove(os.path.join(chip, name))


def start(folder, line):
    return subprocess.Popen(
        [CBANK, *line.split()],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def contents(folder):
    """{name: bytes} of all files there, without what varies; of a store, whether it is whole."""
    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = VARYING.sub(b"", file.read())
    if "out.db" in found:
        done = subprocess.run(
            [CBANK, "check", "out.db"], cwd=folder, capture_output=True, check=False
        )
        for name in [name for name in found if name.startswith("out.db-")]:
            del found[name]  # its journal, which the next command takes
        found["out.db"] = done.stdout
    return found


def alive(session):
    """The processes of a session, but those that have ended and nobody asked for."""
    said = subprocess.run(
        ["ps", "-s", str(session), "-o", "pid=,stat=,args="],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    return [line for line in said.splitlines() if line.split()[1][0] != "Z"]


def offence(folder, line, usual, seconds, chance):
    """Ends a command, and says how what it leaves is wrong; None: it is not."""
    before = contents(folder)
    number = chance.choice(SIGNALS)
    process = start(folder, line)
    time.sleep(chance.uniform(0, seconds))
    if chance.random() < 0.5:
        process.send_signal(number)
    else:  # as a terminal does
        os.killpg(process.pid, number)
    said = process.communicate()[1].decode(errors="replace")
    if process.returncode not in (*CODES, -number, 128 + number):
        return f"{number.name}: exit {process.returncode}: {said[-500:]}"
    if "Traceback" in said:
        return said[-500:]
    end = time.monotonic() + GRACE_SECONDS
    while alive(process.pid) and time.monotonic() < end:
        time.sleep(0.05)
    if left := alive(process.pid):
        os.killpg(process.pid, signal.SIGKILL)
        return f"{number.name}: it goes on: {left}"
    after = contents(folder)
    for name, data in after.items():
        if name in before and name in usual and data != before[name] and data != usual[name]:
            return f"{number.name}: {name} changed"
        if (
            name not in before
            and name not in usual
            and not (
                number == signal.SIGKILL and (".tmp" in name or "/." in name or name[0] == ".")
            )
        ):
            return f"{number.name}: {name} is left"
        if name in usual and name not in before and data != usual[name]:
            if not (name == "out/index.html" and data.rstrip().endswith(b"</html>")):
                return f"{number.name}: {name} is not as it should be: {data[:200]}"
    again = start(folder, line)
    said = again.communicate()[1].decode(errors="replace")
    if again.returncode not in CODES:
        return f"{number.name}, and again: exit {again.returncode}: {said[-500:]}"
    made = contents(folder)
    if made != usual:
        wrong = sorted(name for name in {*made, *usual} if made.get(name) != usual.get(name))
        return f"{number.name}, and again: {wrong} differ"
    return None


def main():
    campaign = Campaign(count=7, quick=2)
    base = os.path.join(campaign.folder, "base")
    os.mkdir(base)
    make(base)
    known = {}  # by command: what an undisturbed one leaves, and its seconds
    names = campaign.rest or sorted(COMMANDS)
    for count in range(campaign.options.count):
        chance = campaign.chance(count)
        name = names[(count + campaign.options.seed) % len(names)]
        line = COMMANDS[name]
        for undisturbed in (True, False) if name not in known else (False,):
            folder = shutil.copytree(base, os.path.join(campaign.folder, "work"))
            chip = os.path.join(folder, "chip")
            if name == "contribute":
                os.rename(chip, os.path.join(folder, "out"))
            else:
                shutil.rmtree(chip)
            if undisturbed:
                began = time.monotonic()
                start(folder, line).communicate()
                known[name] = contents(folder), time.monotonic() - began
            else:
                said = offence(folder, line, *known[name], chance)
                campaign.count("ended and begun again", said, line.split())
            shutil.rmtree(folder)
    return campaign.end()


if __name__ == "__main__":
    sys.exit(main())
