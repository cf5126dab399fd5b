#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hostile texts in documents and in names of folders, where other programs read what is written.

usage: tests/attacks/injection.py [--count N] [--seed N]

- csv: a row has as many fields as the first, and no field is a formula for a spreadsheet.
- markdown: rows of a table have as many cells as its head, and no text is a link, HTML, code, a
  formula of GitHub's, or struck.
- junit: it is XML with as many tests as it says, and no other elements than of tests.
- json: it is JSON, and has each text.
- gallery: links of the first page lead to the pages, whatever folders are called, and say it as
  text.

What is read are results in which each text that may be any is hostile. Only the first page of a
gallery is made, as reports are attacked by python.py.
"""

import csv
import html.parser
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import unittest.mock
import urllib.parse
import xml.etree.ElementTree

from run import CBANK, CONTROLS, ROOT, Campaign, places

sys.path.insert(1, os.path.join(ROOT, "tests/end_to_end"))
from common import analysis  # noqa: E402

RESULT = os.path.join(ROOT, "tests/corpus/result")
NAMES = ("measured", "statuses", "parameters")
TOKENS = (
    "=1+1",
    "+1",
    "-inf",
    "-0x1p3",
    "@SUM(A1)",
    "\uff1d1+1",
    "\t=1",
    ",",
    ";",
    '"',
    '""',
    "'",
    "\n",
    "\r\n",
    "|",
    "||",
    "\\|",
    "\\",
    "`",
    "``",
    "[a](https://example.org)",
    "![a](b)",
    "**",
    "~~a~~",
    "$a$",
    "<script>alert(1)</script>",
    "<!--",
    "-->",
    "]]>",
    "<![CDATA[",
    "&amp;",
    "&#0;",
    "</failure>",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "%s%n",
    "\x1b[31m",
    "\x7f",
    "\u202e",
    "\u2028",
    "\ufffe",
    "é",
    "日本",
    "\U0001f600",
    " ",
    "a",
)
SIGNS = 7  # of them begin a formula
# Texts that have few forms: others are refused.
KEPT = {"identity", "workload", "path", "pattern", "status", "kind", "sass_sha256", "cache_state"}
ASKED_MAX = 100
FORMULA = re.compile("[=+\\-@\uff1d\uff0b\uff0d\uff20]")
NUMBER = re.compile(r"[-+]?\d+(\.\d*)?(e[-+]?\d+)?", re.ASCII)
FOLDERS = (
    "javascript:alert(1)",
    "data:text,a",
    "chips",
    "CHIPS",
    "a?b",
    "a#b",
    "a%41",
    "a..",
    "style.css",
    "-x",
    '"><script>',
    "a b",
    "a\nb",
    "é\u202e",
    "suite-x",
    "\\\\host",
    "index.html",
)


def text(chance):
    """Some tokens; a third of the texts begin as formulas do."""
    first = chance.choices(TOKENS[:SIGNS], k=chance.random() < 0.3)
    return "".join(first + chance.choices(TOKENS, k=chance.randint(1, 6)))


def asked(document):
    """What the instrument says of a document: "", where it takes it."""
    with open("asked.json", "w", encoding="utf-8") as file:
        json.dump(document, file)
    return subprocess.run(
        [CBANK, "show", "--check", "asked.json"], capture_output=True, text=True, check=False
    ).stderr


def hostile(chance, original):
    """The document with other texts, where the instrument takes other ones."""
    document = json.loads(json.dumps(original))
    for inside, key in list(places({k: v for k, v in document.items() if k != "schema"})):
        if isinstance(inside[key], str) and key not in KEPT:
            inside[key] = text(chance)
    for _ in range(ASKED_MAX):
        said = asked(document)
        if not said:
            return document
        place = re.match(r"cbank: error: asked.json: ([^ :]+):", said)
        inside, its = document, original
        *keys, last = [
            int(word) if word.isdigit() else word for word in re.findall(r"[^.\[\]]+", place[1])
        ]
        for key in keys:
            inside, its = inside[key], its[key]
        inside[last] = json.loads(json.dumps(its[last]))
    raise AssertionError(f"no hostile document is taken: {said}")


def only_hostile(original, name):
    """A document with other texts of the device, the host and the tool alone."""
    document = json.loads(json.dumps(original))
    for part in ("device", "host", "tool"):
        document[part] = {
            key: name if isinstance(value, str) and value and key in ("name", "driver") else value
            for key, value in (document.get(part) or {}).items()
        } or None
    return document


def wrong_csv(out):
    rows = list(csv.reader(io.StringIO(out, newline=""), strict=True))
    if len({len(row) for row in rows}) > 1:
        return f"rows of {sorted({len(row) for row in rows})} fields"
    for cell in (cell for row in rows for cell in row):
        if FORMULA.match(cell) and not NUMBER.fullmatch(cell):
            return f"a formula, {cell!r}"
    return None


def wrong_markdown(out):
    columns = None
    for line in out.splitlines():
        plain = re.sub(r"\\[^\w\s]|&(amp|lt|gt);", "", line)
        columns = (columns or plain.count("|")) if line.startswith("|") else None
        if columns and plain.count("|") != columns:
            return f"{plain.count('|')} bars, not {columns}: {line}"
        if found := re.search(r"[<`~$\[]", plain.replace("**", "", 2)):
            return f"{found[0]!r}: {line}"
    return None


def wrong_junit(out):
    root = xml.etree.ElementTree.fromstring(out)
    found = [element.tag for element in root.iter()]
    others = {*found} - {"testsuites", "testsuite", "testcase", "failure", "skipped", "error"}
    if others or found.count("testcase") != int(root.get("tests")):
        return f"{root.get('tests')} tests, {found.count('testcase')} testcases, {others}"
    return None


def wrong_json(out):
    json.loads(out)


# Class, check, and words of commands. Options that name a file print to standard output by "-".
COMMANDS = [
    (name, check, words.split())
    for name, check, lines in (
        (
            "csv",
            wrong_csv,
            (
                "show --csv a.json",
                "counters --csv a.json",
                "normal --csv a.json",
                "atlas --csv a.json b.json",
            ),
        ),
        (
            "markdown",
            wrong_markdown,
            (
                "show --markdown a.json",
                "counters --markdown a.json",
                "compare --quiet --markdown - a.json b.json",
                "normal --markdown a.json",
                "atlas --markdown a.json b.json",
            ),
        ),
        ("junit", wrong_junit, ("compare --quiet --junit - a.json b.json",)),
        (
            "json",
            wrong_json,
            (
                "compare --quiet --json - a.json b.json",
                "show --json a.json",
                "counters --json a.json",
                "explain --json a.json",
            ),
        ),
    )
    for words in lines
]


def offence(words, check):
    if words[0] == "atlas":  # whose modules take long to load
        done = analysis(*words)
        done.stdout, done.stderr = done.stdout.encode(), done.stderr.encode()
    else:
        done = subprocess.run(
            [CBANK, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
        )
    if done.returncode not in range(5):
        return f"exit {done.returncode}: {done.stderr[-500:]}"
    if done.returncode in (2, 3):
        return None if done.stderr and not done.stdout else f"exit {done.returncode}, and prints"
    try:
        out = done.stdout.decode()
        if found := CONTROLS.search(out.replace("\r\n", "\n")):
            return f"prints {found[0]!r}"
        return check(out)
    except (ValueError, csv.Error, xml.etree.ElementTree.ParseError) as error:
        return f"{type(error).__name__}, {error}"


def attempt(campaign, number, originals):
    chance = campaign.chance(number)
    name, check, words = COMMANDS[number % len(COMMANDS)]
    # the first has what an atlas shows
    original = originals[0 if words[0] == "atlas" else number // len(COMMANDS) % len(originals)]
    base = hostile(chance, original) if number < 2 * len(COMMANDS) else None
    base = base or only_hostile(original, text(chance))
    new = json.loads(json.dumps(base))
    for cell in new["cells"]:
        if cell["status"] == "ok" and chance.randrange(2):
            cell.update(status="failed", reason=text(chance))
    for path, document in (("a.json", base), ("b.json", new)):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file, ensure_ascii=chance.random() < 0.5)
    campaign.count(f"injection, {name}", offence(words, check), words, "a.json")


# -- the gallery -----------------------------------------------------------------------------------


class Links(html.parser.HTMLParser):
    """The links of a page. Raises ValueError at a tag that no template has."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        its_own = tag == "script" and attrs == [("src", "cells.js")]
        if (
            tag in ("script", "b", "img")
            and not its_own
            or any(name.startswith("on") for name, _ in attrs)
        ):
            raise ValueError(f"<{tag}>")
        self.found += [value for name, value in attrs if name == "href"]


def gallery_offence(gallery, folders, name):
    """The offence of a gallery of folders with these names, and of a GPU with that name."""
    made = []

    def said(*words):
        if "-o" in words:
            made.append(words[words.index("-o") + 1])
            os.makedirs(made[-1])
        return f"{name}\nthe second line\n"

    for folder in ("results", "page"):
        shutil.rmtree(folder, ignore_errors=True)
    for folder in folders:
        os.makedirs(f"results/chips/{folder}")
        for file in gallery.CLAIMED:
            shutil.copy("a.json", f"results/chips/{folder}/{file}")
    with unittest.mock.patch.object(gallery, "said", said):
        gallery.make(CBANK, "results", "page")
    with open("page/index.html", encoding="utf-8") as file:
        page = file.read()
    if CONTROLS.search(page) or "\nthe second line\n" not in page:
        return f"controls, or claims in one line: {page}"
    links = Links()
    links.feed(page)
    with open("page/cells.js", encoding="ascii") as file:  # what documents say is JSON, in one line
        words, _, cells = file.readline().partition(" = ")
        json.loads(cells.rstrip().removesuffix(";"))
        if words != "const cells" or not file.readline().startswith("// SPDX"):
            return "cells.js holds more than cells and the search"
    pages = [os.path.relpath(path, "page") for path in made]
    leads = [urllib.parse.urlsplit(link) for link in links.found[2:]]
    if [(link.scheme, urllib.parse.unquote(link.path)) for link in leads] != [
        ("", f"{path}/index.html") for path in pages
    ] or len({path.casefold() for path in pages}) < len(folders) + (len(folders) > 1):
        return f"links {links.found[2:]}, pages {pages}"
    return None


def galleries(campaign, original):
    spec = importlib.util.spec_from_file_location(
        "gallery", os.path.join(ROOT, "scripts/gallery.py")
    )
    gallery = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gallery)
    for number in range(max(campaign.options.count // 8, 1)):
        chance = campaign.chance(f"gallery {number}")
        name = text(chance)
        with open("a.json", "w", encoding="utf-8") as file:
            json.dump(only_hostile(original, name), file)
        folders = chance.sample(FOLDERS, chance.randint(1, 4))
        try:
            wrong = gallery_offence(gallery, folders, name)
        except (ValueError, gallery.Failure, OSError) as error:
            wrong = f"{type(error).__name__}, {error}"
        campaign.count("injection, gallery", wrong, f"folders {folders}, a GPU {name!r}")


def main():
    campaign = Campaign(count=84, quick=30)
    os.environ["CBANK_PROGRAM"] = CBANK
    originals = []
    for name in NAMES:
        with open(f"{RESULT}/{name}.json", encoding="utf-8") as file:
            originals.append(json.load(file))
    os.chdir(campaign.folder)
    for number in range(campaign.options.count):
        attempt(campaign, number, originals)
    galleries(campaign, originals[0])
    os.chdir("/")
    sys.exit(campaign.end())


if __name__ == "__main__":
    main()
