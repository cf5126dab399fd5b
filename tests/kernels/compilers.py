#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of what docs/compiler.md says that compilers make of tables. The toolkit that CBANK_CUDA
names, and CUDA 11.8 where it was fetched, answer as results/compiler/answers.json says for the
newest toolkit that is not newer. With CBANK_ARCHS=ends, only for their oldest and newest
architecture. Where a toolkit answers otherwise, the test names the rows.
"""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "end_to_end"))
from common import CBANK, ROOT, read_json  # noqa: E402
from header import OLD, QUICK, TOOLKIT  # noqa: E402

sys.path.insert(0, os.path.join(ROOT, "scripts/studies"))
import compiler  # noqa: E402
import compiler_page as page  # noqa: E402
import compiler_questions as asked  # noqa: E402

ANSWERS = os.path.join(ROOT, "results/compiler/answers.json")
RECORD = "scripts/studies/compiler.py --toolkit {} --add {} --json {}"


class Guesses(unittest.TestCase):
    def test_hits(self):
        for guess, answer, hit in (
            ("LDC c[3]", "LDC c[3]", True),
            ("LDC c[3]", "14 LDC.64 c[3] + LDC c[3]", True),
            ("LDC c[3]", "LDC c[0]", False),
            ("LDC c[3]", "ULDC c[3]", False),
            ("ULDC c[3]", "LDCU.U8 c[3]", True),
            ("ULDC c[3]", "LDC c[3] + ULDC c[3]", False),
            ("fixed c[3]", "16 fixed.128 c[3]", True),
            ("fixed c[3]", "LDCU.128 c[3]", False),
            ("LDG.CONSTANT.128", "LDG.128.CONSTANT", True),
            ("LDG.CONSTANT.128", "LDG.64.CONSTANT", False),
            ("2 LDC.64 c[3]", "2 LDC.64 c[3]", True),
            ("2 LDC.64 c[3]", "4 LDC.64 c[3]", False),
            ("2 LDC.64 c[3]", "2 LDC c[3]", False),
            ("LDL", "LDL.U8 + 17 STL", True),
            ("compares", "33 compares", True),
            ("compares", "5 branches + 33 compares", False),
            ("branches", "2 BRX + 5 branches + 2 c[2]/c[4]", False),
            ("BRX", "2 BRX + 5 branches + 2 c[2]/c[4]", True),
            ("branches", "LDL", False),
            ("no load", "no load", True),
            ("no load", "c[2]/c[4]", False),
            ("refused", "65536 bytes", False),
            ("280 bytes", "276 bytes", False),
        ):
            with self.subTest(guess=guess, answer=answer):
                self.assertEqual(page.hits(guess, answer), hit)

    def test_every_case_has_one_for_every_architecture(self):
        names = set()
        for case in asked.cases():
            names.add(case.name)
            self.assertNotIn("$", case.source)
            self.assertGreater(case.guess["confidence"], 0)
            self.assertLess(case.guess["confidence"], 1)
            for architecture in (70, 72, 75, 89, 90, 100, 121, 130):
                self.assertIsNotNone(case.guessed(architecture), (case.name, architecture))
        self.assertEqual(len(names), len(asked.cases()))


class Page(unittest.TestCase):
    def test_architectures_in_words(self):
        known = [70, 75, 80, 90, 100, 121]
        for texts, said in (
            (dict.fromkeys(known, "LDC"), "LDC"),
            (
                {**dict.fromkeys(known, "LDC"), 90: "ULDC"},
                "sm_70 to sm_80: LDC; sm_90: ULDC; from sm_100: LDC",
            ),
            ({**dict.fromkeys(known), 100: "LDCU", 121: "LDCU"}, "from sm_100: LDCU"),
            ({**dict.fromkeys(known), 70: "LDC"}, "sm_70: LDC"),
            (dict.fromkeys(known), ""),
            ({}, ""),
        ):
            self.assertEqual(page.spans(texts), said)

    def test_toolkits_that_agree_are_told_together(self):
        new, old = {75: "LDC", 100: "LDCU"}, {70: "LDL", 75: "LDC"}
        self.assertEqual(
            page.told({"13.0": new, "11.8": old}), "sm_70: LDL; sm_75: LDC; sm_100: LDCU"
        )
        self.assertEqual(
            page.told({"13.0": new, "12.4": {75: "LDG"}, "11.8": old}),
            "nvcc 13.0, 11.8: sm_70: LDL; sm_75: LDC; sm_100: LDCU. nvcc 12.4: LDG",
        )

    def test_counts_that_grow_are_ranges(self):
        self.assertEqual(
            page.merged(["2 LDL + 4 STL", "2 LDL + 16 STL", "4 LDL + 4 STL", "STL"]),
            {
                "2 LDL + STL": "2 LDL + 4 to 16 STL",
                "4 LDL + STL": "4 LDL + 4 STL",
                "STL": "STL",
            },
        )

    def test_cases_that_are_alike_are_products(self):
        rows = [(a, b) for a in "xyz" for b in ("1", "2")] + [("w", "2")]
        self.assertEqual(page.boxes(rows), [[("x", "y", "z"), ("1", "2")], [("w",), ("2",)]])
        self.assertEqual(page.boxes([()]), [[]])
        sizes = ["4 bytes", "8 bytes", "16 bytes", "32 bytes"]
        self.assertEqual(page.labels_in_words(sizes[1:], sizes), "8 bytes to 32 bytes")
        self.assertEqual(page.labels_in_words(sizes[::2], sizes), "4 bytes, 16 bytes")
        self.assertEqual(page.labels_in_words(["t[i]"], ["t[i]", "x"]), "`t[i]`")

    def test_cases_and_groups_are_those_that_were_asked(self):
        names = {case.name for case in asked.cases()}
        for toolkit, row in read_json(ANSWERS)["toolkits"].items():
            self.assertEqual(set(row["answers"]), names, toolkit)
        with open(os.path.join(ROOT, "docs/compiler.md"), encoding="utf-8") as file:
            text = file.read()
        for group in {row["group"] for row in asked.questions()}:
            self.assertIn(f"--group {group} -->", text)


class Answers(unittest.TestCase):
    """What toolkits make of the questions."""

    maxDiff = None

    def check(self, toolkit, end):
        """Holds the answers of a toolkit against the committed ones. With CBANK_ARCHS=ends, cases
        that need files of their own are asked for the architecture at that end alone."""
        rows, version = read_json(ANSWERS)["toolkits"], compiler.version_of(toolkit)
        not_newer = [
            known for known in rows if compiler.release_of(known) <= compiler.release_of(version)
        ]
        self.assertTrue(not_newer, f"no answers of a toolkit as old as {version}")
        row = rows[max(not_newer, key=compiler.release_of)]
        architectures = compiler.architectures_of(toolkit)
        alone_for = sorted({architectures[0], architectures[-1]})
        if QUICK:
            architectures, alone_for = alone_for, [architectures[end]]
        self.assertLessEqual(set(architectures), set(row["architectures"]))
        found = compiler.ask(toolkit, CBANK, architectures, alone_for)
        self.assertEqual(
            [
                f"{name}, sm_{architecture}: {was} by {max(not_newer, key=compiler.release_of)}"
                f", {found[architecture][name]} by {version}"
                for name, answers in row["answers"].items()
                for was, numbers in answers.items()
                for architecture in numbers
                if architecture in found
                and name in found[architecture]
                and found[architecture][name] != was
            ],
            [],
            "record them and look at the page: " + RECORD.format(toolkit, ANSWERS, ANSWERS),
        )

    @unittest.skipUnless(TOOLKIT, "CBANK_CUDA names no toolkit")
    def test_this_toolkit(self):
        self.check(TOOLKIT, -1)

    @unittest.skipUnless(os.path.exists(OLD), "CUDA 11.8 was not fetched")
    def test_old_toolkit(self):
        self.check(OLD, 0)


if __name__ == "__main__":
    unittest.main()
