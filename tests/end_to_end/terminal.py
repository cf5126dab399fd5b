#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Words of a command line must not send control characters to a terminal, and texts of a file no
formulas to a spreadsheet.

Attacks of tests/attacks plant control characters in files.

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

from common import CBANK, ROOT, kept_folder, read_json

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def cbank(folder, *arguments):
    return subprocess.run(
        [CBANK, *arguments],
        cwd=folder,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )


class Terminal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = kept_folder(cls)
        cls.measured = read_json(os.path.join(ROOT, "tests/corpus/result/measured.json"))

    def write(self, name, document):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            json.dump(document, file, ensure_ascii=False)
        return file.name

    def test_names_of_files_and_messages_are_clean(self):
        name = "a\x1b[31m\u009b.json"
        self.write(name, self.measured)
        for words in (
            ["show", name, name],
            ["explain", name, name],
            ["compare", name, name],
            ["show", name + "\n"],
            ["show", "--cell", name, name],
            ["list", name],
            [name],
            ["run", "--path", name],
        ):
            done = cbank(self.folder, *words)
            with self.subTest(words):
                self.assertIsNone(CONTROLS.search((done.stdout + done.stderr).decode("utf-8")))

    def test_text_of_csv_is_no_formula(self):
        commands = [["show", "--csv"], ["counters", "--csv"]]
        for begin in "=+-@":
            formula = begin + "1+cmd()"
            document = copy.deepcopy(self.measured)
            document["device"]["name"] = formula
            document["cells"][0].update(status="failed", reason=formula)
            document["cells"][0]["counters"] = {
                formula: value for value in document["cells"][0]["counters"].values()
            }
            self.write("formula.json", document)
            for words in commands:
                done = cbank(self.folder, *words, "formula.json")
                cells = [
                    cell for row in csv.reader(io.StringIO(done.stdout.decode())) for cell in row
                ]
                with self.subTest((words, begin)):
                    self.assertEqual(
                        {cell for cell in cells if formula in cell}, {"'" + formula}, done.stderr
                    )
                    self.assertEqual(
                        [
                            cell
                            for cell in cells
                            if re.match(r"[=+\-@]", cell) and not re.fullmatch(r"[-+.e\d]+", cell)
                        ],
                        [],
                    )


if __name__ == "__main__":
    unittest.main()
