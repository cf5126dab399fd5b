#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mutants of documents, and hostile texts in them and in names of files, for every command of the
analysis.

usage: tests/attacks/python.py [--count N] [--seed N]

The commands run in this process, since Python's start and pandas take most of a second. A command
takes its input, or ends with 2 and says which file is wrong. It never stumbles over what it took.
Nothing that it prints or writes has characters that a terminal, a browser or a spreadsheet would
obey.
"""

import csv
import glob
import html.parser
import io
import json
import os
import re
import shutil
import subprocess
import sys
import unittest.mock
import xml.etree.ElementTree

from run import CONTROLS, ROOT, Campaign, mutate, places

sys.path[1:1] = [os.path.join(ROOT, "tests/end_to_end"), os.path.join(ROOT, "scripts")]
import jsonschema  # noqa: E402
from common import CBANK, analysis, read_bytes, read_json  # noqa: E402

from cbank import contribute, documents  # noqa: E402
from cbank.figures import draw  # noqa: E402

RESULTS = (
    "tests/corpus/*/* tests/golden/*.json results/cards/*.json results/h200/sample-us-2000.json"
)
BYTES_MAX = 100_000  # of a file that is changed
COMMANDS = [
    words.split()
    for words in (
        "report -o page FILE",
        "report -o page FILE OTHER",
        "plot -o page --format svg FILE",
        "convert --to gbench FILE",
        "convert --to bmf FILE",
        "convert --to kernel_tuner FILE",
        "atlas FILE OTHER",
        "atlas --csv FILE OTHER",
        "atlas --markdown FILE OTHER",
        "ingest --list STORE FILE",
        "history FILE",
        "history --json FILE",
        "fleet FILE",
        "check DIR",
        "check FILE",
        "check --json FILE",
        "contribute --brief DIR",
    )
]
NAMES = [b"mutant", b"\xff\x1b[31m", "\u202e<b>|".encode(), b"=1+1", b"a b\n'\"$(touch x)"]
EVIL = "=1+1<script>alert(1)</script>|](x)$\\x$\x1b[31m\u202e\u2028\r\n\"'{{ 7 * 7 }}"
# that have few forms
KEPT = {
    "identity",
    "workload",
    "path",
    "pattern",
    "status",
    "sass_sha256",
    "kind",
    "verdict",
    "from",
    "instruction",
}
ASKED_MAX = 200  # times that the instrument is asked where a hostile text may stand
DRAWN_EVERY = 40  # pictures take long: of most mutants the data of figures are made alone
STUMBLED = re.compile(r"(Traceback|report (this|it))")


class Tags(html.parser.HTMLParser):
    """Raises ValueError at a tag that no template has."""

    def handle_starttag(self, tag, attrs):
        if tag in ("script", "b") or any(name.startswith("on") for name, _ in attrs):
            raise ValueError(f"<{tag}>")


def originals():
    found = [
        path
        for pattern in RESULTS.split()
        for path in glob.glob(os.path.join(ROOT, pattern))
        if os.path.getsize(path) < BYTES_MAX
    ]
    characterization = read_json(os.path.join(ROOT, "results/characterizations/h200.json"))
    characterization["experiments"] = [
        one for one in characterization["experiments"] if len(json.dumps(one)) < 3000
    ]
    histories = [
        analysis(
            "history", "--json", os.path.join(ROOT, "tests/corpus/result/measured.json")
        ).stdout.encode()
    ]
    return [*map(read_bytes, sorted(found)), json.dumps(characterization).encode(), *histories]


def wrong_places(document):
    """Where a document is not what its schema says, or what the instrument reads: keys and
    indices, the outermost first. None where it cannot be helped."""
    kind = documents.KINDS[document["schema"]["name"]]
    schema = documents.schema_of("schema.json" if kind == "result" else f"{kind}.schema.json")
    errors = jsonschema.Draft202012Validator(schema).iter_errors(document)
    found = [list(error.absolute_path) for error in errors]
    if found:
        return found
    with open("asked.json", "w", encoding="utf-8") as file:
        json.dump(document, file)
    said = subprocess.run(
        [CBANK, "show", "--check", "asked.json"], capture_output=True, text=True, check=False
    )
    if said.returncode == 0:
        return []
    place = re.match(r"cbank: error: asked.json: ([^ :]+):", said.stderr)
    keys = re.findall(r"([^.\[\]]+)|\[(\d+)\]", place[1]) if place else []
    return [[int(index) if index else key for key, index in keys]] if keys else None


def restored(document, original, place):
    """Whether what is at a place is the original's again."""
    inside, its = document, original
    try:
        for key in place[:-1]:
            inside, its = inside[key], its[key]
        inside[place[-1]] = its[place[-1]]
        return True
    except (LookupError, TypeError):
        return False


def hostile(chance, data):
    """A document in which each text is hostile that may be any; of what is no document, a
    mutant."""
    try:
        document, original = json.loads(data), json.loads(data)
        if wrong_places(document) != []:
            return mutate(chance, data)
    except (ValueError, LookupError, TypeError):
        return mutate(chance, data)
    for inside, key in places(
        {name: value for name, value in document.items() if name != "schema"}
    ):
        if isinstance(inside[key], str) and key not in KEPT:
            inside[key] = EVIL
    for _ in range(ASKED_MAX):
        wrong = wrong_places(document)
        if wrong == []:
            break
        # these texts may not be any
        if not wrong or not all([restored(document, original, place) for place in wrong]):
            return mutate(chance, data)
    return json.dumps(document).encode()


def offence(words, name):
    """The offence, which no command may commit, or None."""
    try:
        done = analysis(*words)
    except BaseException as error:
        return f"a traceback: {type(error).__name__}, {error}"
    said = done.stdout + done.stderr
    if done.returncode not in range(5) or STUMBLED.search(said):
        return f"exit {done.returncode}: {said[-500:]}"
    if done.returncode == 2 and name not in done.stderr:
        return f"exit 2 without the file: {done.stderr}"
    if CONTROLS.search(said):
        return f"prints {CONTROLS.search(said)[0]!r}"
    if "--csv" in words:
        check_csv(done.stdout)
    for path in glob.glob("page/**/*.*", recursive=True):
        text = read_bytes(path).decode()
        if CONTROLS.search(text):
            return f"{path} has {CONTROLS.search(text)[0]!r}"
        if path.endswith(".html"):
            Tags().feed(text)
        if path.endswith(".csv"):
            check_csv(text)
        if path.endswith(".svg") and text:
            xml.etree.ElementTree.fromstring(text)
    return None


def check_csv(text):
    """Raises ValueError at a cell that a spreadsheet would compute."""
    cells = [
        cell
        for row in csv.reader(io.StringIO(text))
        for cell in row
        if cell[:1] in ("=", "+", "-", "@") and not re.fullmatch(r"[-+]?[0-9.e+-]+", cell)
    ]
    if cells:
        raise ValueError(f"a formula, {cells[0]!r}")


def attempt(campaign, number, sources, other):
    chance = campaign.chance(number)
    words = COMMANDS[number % len(COMMANDS)]
    data = chance.choice((mutate, hostile))(chance, chance.choice(sources))
    stem = os.fsdecode(chance.choice(NAMES))
    for folder in ("page", "in"):
        shutil.rmtree(folder, ignore_errors=True)
    os.makedirs("in")
    folder = f"in/{stem}"
    name = f"{folder}.json"
    if "DIR" in words:
        os.makedirs(folder)
        name = f"{folder}/{chance.choice(('core-matrix', 'core-matrix', 'card', 'manifest'))}.json"
    with open(name, "wb") as file:
        file.write(data)
    drawn = number % DRAWN_EVERY < 2
    called = [
        {"FILE": name, "DIR": folder, "OTHER": other, "STORE": f"in/{number}"}.get(word, word)
        for word in words
    ]
    with unittest.mock.patch.object(
        draw, "draw", draw.draw if drawn else lambda *of: None
    ), unittest.mock.patch.object(
        draw, "picture_bytes", draw.picture_bytes if drawn else lambda *of: b""
    ):
        try:
            said = offence(called, "in/")
        except (ValueError, xml.etree.ElementTree.ParseError) as error:
            said = f"writes {error}"
    campaign.count(f"Python, {words[0]}", said, called, name)


def main():
    campaign = Campaign(count=170, quick=51)
    sources, other = originals(), os.path.join(ROOT, "tests/corpus/result/measured.json")
    # A handler of contribute would take the signal that ends a process of a later plot.
    with unittest.mock.patch.object(
        contribute.Contribution, "run", lambda *of: 0
    ), unittest.mock.patch.object(contribute.signal, "signal"), unittest.mock.patch.object(
        os, "sched_getaffinity", lambda process: {0}
    ):
        os.chdir(campaign.folder)
        for number in range(campaign.options.count):
            attempt(campaign, number, sources, other)
    sys.exit(campaign.end())


if __name__ == "__main__":
    main()
