#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attacks by what stands where a file is expected.

usage: tests/attacks/inputs.py [--count N] [--seed N] [CLASS...]

- outputs: an output is a file of the command line by another name: a path, links, a link to a
  folder, a file beside one that is written. No input changes.
- no files: a pipe, a socket, a device, a folder or a link without an end is in the place of an
  input. The command ends with a sentence, and soon.
- clocks: results of random dates go into a store. What is later than now and a day is refused, and
  changes no verdict.

--count is the number of commands; the default takes three seconds. CLASS: the name of a function.
"""

import datetime
import json
import os
import shutil
import socket
import subprocess
import sys

from run import CBANK, Campaign, offence

PLAN = "--engine model --elements 4096 --pattern per_warp --path constant --quiet"
# IN: a file that is read; OUT: one that is written.
WRITING = (
    f"run {PLAN} --card IN --json OUT",
    f"run {PLAN} --workload lookup --indices IN --json OUT",
    f"run {PLAN} --kernel IN --json OUT",
    f"run {PLAN} --kernel a.json,IN --json OUT",
    "run --resume IN --json OUT",
    f"gate IN {PLAN} --junit OUT",
    f"gate a.json {PLAN} --kernel k.cu --compiler-options -I. --markdown OUT",
    "compare IN a.json --json OUT",
    "compare a.json IN,b.json --junit OUT",
    "compare a.json b.json --boards folder,IN --markdown OUT",
    "compare a.json b.json --calibration IN --json OUT",
    "calibrate a.json,IN --json OUT",
    f"calibrate {PLAN} --card IN --json OUT",
    "characterize --replay IN --json OUT",
    "characterize --replay h.json --card IN --new-card OUT",
    "advise --kernel IN --json OUT",
    "advise --table-bytes 64 --indices IN --write OUT",
    "spaces IN --json OUT",
    "fleet IN --json OUT",
    "fleet s.db --inventory IN --markdown OUT",
    "ingest OUT IN",
)
READING = (
    *(line.replace("OUT", "made") for line in WRITING),
    "show IN",
    "counters IN",
    "explain IN",
    "compare --batch IN",
    "history IN",
    "check IN",
    "atlas IN",
    "convert --to bmf IN",
)
FILES = ("a.json", "b.json", "h.json", "s.db", "k.cu", "k.h", "folder/c.json", "hosts")


def make_base(folder):
    os.makedirs(os.path.join(folder, "folder"))
    for name in ("a.json", "b.json"):
        subprocess.run([CBANK, "run", *PLAN.split(), "--json", name], cwd=folder, check=True)
    shutil.copy(os.path.join(folder, "a.json"), os.path.join(folder, "folder/c.json"))
    shutil.copy(
        os.path.join(os.path.dirname(__file__), "../../results/characterizations/h200.json"),
        os.path.join(folder, "h.json"),
    )
    for name, text in (("k.cu", '#include "k.h"\n'), ("k.h", "\n"), ("hosts", "host 1\n")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    subprocess.run([CBANK, "ingest", "--quiet", "s.db", "a.json"], cwd=folder, check=True)


def alias(chance, folder, name):
    """Another name of a file."""
    kind = chance.choice(("path", "link", "hard link", "folder", "beside", "same", "links"))
    made = os.path.join(folder, "alias")
    if kind == "path":
        return os.path.join(".", "folder", "..", name)
    if kind == "link":
        os.symlink(os.path.join(folder, name), made)
    elif kind == "hard link":
        os.link(os.path.join(folder, name), made)
    elif kind == "folder":
        os.symlink(folder, made)
        return os.path.join("alias", name)
    elif kind == "beside":
        os.link(os.path.join(folder, name), f"{made}{chance.choice(BESIDE)}")
    elif kind == "links":
        os.symlink("another", made)
        os.link(os.path.join(folder, name), os.path.join(folder, "another"))
    return name if kind == "same" else "alias"


BESIDE = (".cbank.tmp", ".cbank-lock.tmp", ".tmp")


def contents(folder):
    found = {}
    for name in FILES:
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = file.read()
    return found


def outputs(campaign, folder, chance):
    name = chance.choice(FILES)
    line = chance.choice(WRITING)
    written = alias(chance, folder, name)
    words = [
        word.replace("IN", name).replace("OUT", written) if word != "IN" else name
        for word in line.split()
    ]
    before = contents(folder)
    said = offence(words, folder)
    # an input is what the line names, and what k.cu includes
    read = {name} & {part for word in words for part in word.split(",")}
    if "k.cu" in words:
        read |= {"k.cu", "k.h"}
    if "folder" in line:
        read |= {"folder/c.json"}
    after = contents(folder)
    changed = [key for key in read if after[key] != before[key]]
    if changed and not (line.startswith("ingest") and name == "s.db"):
        said = f"{', '.join(changed)} changed"
    campaign.count("outputs over inputs", said, words)


def no_files(campaign, folder, chance):
    made = os.path.join(folder, "other.json")
    kind = chance.choice(("pipe", "pipe", "socket", "device", "folder", "loop", "inside"))
    name = "other.json"
    if kind == "pipe":
        os.mkfifo(made)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(made)
    elif kind == "device":
        name = chance.choice(("/dev/zero", "/dev/tty", "/dev/random", "/dev/null"))
    elif kind == "folder":
        os.mkdir(made)
    elif kind == "loop":
        os.symlink("other.json", made)
    else:
        os.mkfifo(os.path.join(folder, "folder/pipe.json"))
        name = "folder"
    words = [word.replace("IN", name) for word in chance.choice(READING).split()]
    campaign.attempt("what is no file", words)


def clocks(campaign, folder, chance):
    seconds = chance.choice((-1, 1)) * 10 ** chance.uniform(3, 9)
    began = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    with open(os.path.join(folder, "b.json"), encoding="utf-8") as file:
        result = json.load(file)
    result.update(started_utc=began.strftime("%Y-%m-%dT%H:%M:%SZ"), finished_utc=None)
    with open(os.path.join(folder, "dated.json"), "w", encoding="utf-8") as file:
        json.dump(result, file)

    def run(*words):
        return subprocess.run(
            [CBANK, *words],
            cwd=folder,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
        )

    later = seconds > 86400
    before = run("fleet", "s.db").stdout
    codes = [run(*words).returncode for words in (("ingest", "s.db", "dated.json"),)]
    codes.append(run("compare", "a.json", "dated.json").returncode)
    said = None
    if (codes[0] == 2) != later or (codes[1] == 2) != later:
        said = f"a run that begins in {seconds:.0f} s: exits {codes}"
    run("ingest", "s.db", "dated.json", "--later")
    if later and run("fleet", "s.db").stdout != before:
        said = f"a run that begins in {seconds:.0f} s changes the verdict of a fleet"
    campaign.count("clocks", said, ["ingest", "s.db", "dated.json"], "dated.json")


def main():
    campaign = Campaign(count=24, quick=24)
    base = os.path.join(campaign.folder, "base")
    make_base(base)
    classes = (outputs, no_files, no_files, clocks)
    chosen = [attack for attack in classes if not campaign.rest or attack.__name__ in campaign.rest]
    for number in range(campaign.options.count if chosen else 0):
        folder = os.path.join(campaign.folder, "work")
        shutil.copytree(base, folder)
        campaign.folder, kept = folder, campaign.folder
        chosen[number % len(chosen)](campaign, folder, campaign.chance(number))
        campaign.folder = kept
        shutil.rmtree(folder)
    return campaign.end()


if __name__ == "__main__":
    sys.exit(main())
