#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Text from a file must not send control characters to a terminal, or formulas to a spreadsheet.

Every string and key of a result gets hostile text, one after the other: control characters (C0, DEL, C1), ends of lines
and characters that change the direction of text. None of them reaches stdout or stderr.

CBANK names the program (default build/cbank).
"""

import copy
import csv
import io
import json
import os
import re
import subprocess
import unittest

from common import CBANK, FULL, ROOT, analysis, kept_folder, read_json

PLANTED = "\x1b]0;x\x07\x1b[31m\r\n\x7f\u009b2J\u0085\u2028\u202e\u2066"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

# Commands of the analysis. Those of the instrument are in tests/attacks/documents.py.
READERS = (["history", "FILE"], ["history", "--cell", "*", "FILE"], ["convert", "--to", "gbench", "FILE"], ["convert", "--to", "bmf", "FILE"])


def cbank(folder, *arguments):
    return subprocess.run([CBANK, *arguments], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=120,
                          check=False)


def places(value, way=()):
    """The way to every string and to every key of a document, of an array's elements those of the first and the last."""
    if isinstance(value, str):
        yield way, False
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if isinstance(value, list) and 0 < key < len(value) - 1:
            continue
        if isinstance(value, dict):
            yield (*way, key), True
        yield from places(item, (*way, key))


def planted(document, way, is_key, text=PLANTED):
    """The document with the text in one string, or behind one key."""
    value = document = copy.deepcopy(document)
    *parents, last = way
    for key in parents:
        value = value[key]
    if is_key:
        items = [(key + text if key == last else key, item) for key, item in value.items()]
        value.clear()
        value.update(items)
    else:
        value[last] = text if text != PLANTED else value[last] + text
    return document


class Terminal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = kept_folder(cls)
        cls.measured = read_json(os.path.join(ROOT, "tests/corpus/result/measured.json"))

    def write(self, name, document):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            json.dump(document, file, ensure_ascii=False)
        return file.name

    def test_no_control_character_of_a_result_is_printed(self):
        for index, (way, is_key) in enumerate(places(self.measured)):
            name = self.write("planted.json", planted(self.measured, way, is_key))
            for words in READERS if FULL else (READERS[index % len(READERS)],):
                done = analysis(*(re.sub("FILE$", name, word) for word in words))
                with self.subTest(way, words=words):
                    self.assertIsNone(CONTROLS.search((done.stdout + done.stderr).replace("\r\n", "\n")))

    def test_names_of_files_and_messages_are_clean(self):
        name = "a\x1b[31m\u009b.json"
        self.write(name, self.measured)
        for words in (["show", name, name], ["explain", name, name], ["compare", name, name], ["show", name + "\n"],
                      ["show", "--cell", name, name], ["list", name], [name], ["run", "--path", name]):
            done = cbank(self.folder, *words)
            with self.subTest(words):
                self.assertIsNone(CONTROLS.search((done.stdout + done.stderr).decode("utf-8")))

    def test_text_of_csv_is_no_formula(self):
        commands = [["show", "--csv"], ["counters", "--csv"], ["export"]]
        for begin in "=+-@":
            formula = begin + "1+cmd()"
            document = planted(self.measured, ("device", "name"), False, formula)
            document["cells"][0].update(status="failed", reason=formula)
            document["cells"][0]["counters"] = {formula: value for value in document["cells"][0]["counters"].values()}
            self.write("formula.json", document)
            for words in commands:
                done = cbank(self.folder, *words, "formula.json")
                cells = [cell for row in csv.reader(io.StringIO(done.stdout.decode())) for cell in row]
                with self.subTest((words, begin)):
                    self.assertEqual({cell for cell in cells if formula in cell}, {"'" + formula}, done.stderr)
                    self.assertEqual([cell for cell in cells if re.match(r"[=+\-@]", cell) and not re.fullmatch(r"[-+.e\d]+", cell)], [])


if __name__ == "__main__":
    unittest.main()
