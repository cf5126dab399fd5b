#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Text from a file must not send control characters to a terminal, or formulas to a spreadsheet.

Every string and key of a result, a card, a calibration, a characterization and a comparison gets hostile text, one
after the other. The text has control characters (C0, DEL, C1), ends of lines and characters that change the direction
of text. Every command that reads such a file prints it in each of its formats or says why not: none of them reaches
stdout or stderr.

CBANK names the program (default build/cbank).
"""

import concurrent.futures
import copy
import csv
import io
import json
import os
import re
import subprocess
import unittest

from common import CBANK, FULL, ROOT, kept_folder, read_json

PLANTED = "\x1b]0;x\x07\x1b[31m\r\n\x7f\u009b2J\u0085\u2028\u202e\u2066"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

# By what the file is: the command lines that read it.
READERS = {
    "result": [["show", "FILE"], ["show", "--cell", "*", "FILE"], ["show", "--csv", "FILE"], ["show", "--json", "FILE"],
               ["counters", "FILE"], ["counters", "--csv", "FILE"],
               ["explain", "FILE"], ["compare", "--all", "FILE", "measured.json"],
               ["compare", "--json", "-", "measured.json", "FILE"],
               ["compare", "--junit", "-", "measured.json", "FILE"], ["history", "FILE"], ["history", "--cell", "*", "FILE"],
               ["export", "FILE"], ["export", "--format", "jsonl", "FILE"],
               ["convert", "--to", "gbench", "FILE"], ["convert", "--to", "bmf", "FILE"], ["run", "--resume", "FILE"],
               ["characterize", "--replay", "FILE"]],
    "card": [["explain", "--card", "FILE", "measured.json"], ["list", "devices"],
             ["run", "--engine", "model", "--card", "FILE", "--path", "constant", "--pattern", "per_warp", "--elements", "4096",
              "--json", "out.json"]],
    "calibration": [["compare", "--calibration", "FILE", "measured.json", "measured.json"], ["show", "FILE"]],
    "characterization": [["characterize", "--replay", "FILE", "--json", "out.json", "--new-card", "card.json"]],
    "comparison": [["show", "FILE"], ["compare", "FILE", "measured.json"]],
}


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
        cls.documents = {name: read_json(os.path.join(ROOT, path)) for name, path in (
            ("result", "tests/corpus/result/statuses.json"), ("measured", "tests/corpus/result/measured.json"),
            ("card", "results/cards/h200.json"), ("calibration", "tests/corpus/calibration/calibration.json"),
            ("characterization", "results/characterizations/h200.json"))}
        cls.write("measured.json", cls.documents["measured"])
        del cls.documents["characterization"]["experiments"][1:]  # a fast replay
        cbank(cls.folder, "compare", "--quiet", "--json", "comparison.json", "measured.json", "measured.json")
        cls.documents["comparison"] = read_json(os.path.join(cls.folder, "comparison.json"))

    @classmethod
    def write(cls, name, document):
        with open(os.path.join(cls.folder, name), "w", encoding="utf-8") as file:
            json.dump(document, file, ensure_ascii=False)

    def controls(self, case):
        """The control characters in the output of a command for a file with text planted at a place."""
        number, (kind, (way, is_key), command) = case
        name = f"{number}.json"
        self.write(name, planted(self.documents[kind], way, is_key))
        words = [re.sub("FILE$", name, word) for word in command]
        done = cbank(self.folder, *words)
        os.unlink(os.path.join(self.folder, name))
        text = (done.stdout + done.stderr).decode("utf-8")
        found = CONTROLS.search(text.replace("\r\n", "\n") if {"--csv", "export", "convert"} & set(words) else text)
        if done.returncode < 0 or found:
            return f"{' '.join(command)}, at {'.'.join(map(str, way))}: {found!r}, exit {done.returncode}"
        return None

    def test_no_control_character_of_a_file_is_printed(self):
        cases = [(kind, place, command) for kind, commands in READERS.items()
                 for index, place in enumerate(places(self.documents[kind]))
                 for turn, command in enumerate(commands) if FULL or (index + turn) % 8 == 0]
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            wrong = [said for said in pool.map(self.controls, enumerate(cases)) if said]
        print(f"{len(cases)} commands", flush=True)
        self.assertFalse(wrong, "\n".join([f"{len(wrong)} of {len(cases)}", *wrong[:40]]))

    def test_names_of_files_and_messages_are_clean(self):
        name = "a\x1b[31m\u009b.json"
        self.write(name, self.documents["measured"])
        for words in (["show", name, name], ["explain", name, name], ["compare", name, name], ["show", name + "\n"],
                      ["show", "--cell", name, name], ["list", name], [name], ["run", "--path", name]):
            done = cbank(self.folder, *words)
            with self.subTest(words):
                self.assertIsNone(CONTROLS.search((done.stdout + done.stderr).decode("utf-8")))

    def test_text_of_csv_is_no_formula(self):
        result = self.documents["measured"]
        commands = [["show", "--csv"], ["counters", "--csv"], ["export"]]
        for begin in "=+-@":
            formula = begin + "1+cmd()"
            document = planted(result, ("device", "name"), False, formula)
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
