#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/studies/draw_loads.py, of a program that says what is written here."""

import csv
import json
import os
import subprocess
import sys
import unittest

from common import ROOT, Scratch, read_json

SCRIPT = os.path.join(ROOT, "scripts/studies/draw_loads.py")
LINES = 40  # of each kind, in the project that has many
KINDS = ("grid", "affine", "thread", "data", "unknown")


def load(line, variation, stride=None, table=None, **more):
    return {
        "file": "a.cu",
        "line": line,
        "memory": "global",
        "width_bytes": 4,
        "variation": variation,
        "stride_bytes": stride,
        "addresses": None,
        "table": table,
        **more,
    }


def table(name, verdict, better=None):
    row = {"table": name, "memory": "constant", "width_bytes": 4}
    return row | {"verdict": verdict, "better": better}


def kernel(name, loads, tables=()):
    return {"readable_name": name, "loads": loads, "tables": list(tables)}


def counts(line):
    """How many are the same, say less, and say something else."""
    return [int(word) for word in line.split()[1:]]


class Drawn(Scratch):
    def setUp(self):
        super().setUp()
        many = [
            load(line * len(KINDS) + i, kind)
            for line in range(LINES)
            for i, kind in enumerate(KINDS)
        ]
        few = [
            load(1, "affine", 4, "parameter 0"),
            load(1, "data", None, "parameter 1"),
            load(2, "grid", table="offset 0x400"),
            load(3, "grid", memory="compiler"),
            load(None, "thread"),
        ]
        tables = (
            table("c", "cannot tell"),
            table("d", "faster elsewhere", "shared"),
            table("offset 0x400", "bank conflicts"),
        )
        self.cubin("many", [kernel(f"void f<{i}>(int)", many) for i in range(9)])
        self.cubin("few", [kernel("g(int)", few, tables)])
        with open(self.path("program"), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\ncp "$3" "$5"\n')
        os.chmod(self.path("program"), 0o755)

    def cubin(self, project, kernels):
        os.mkdir(self.path(project))
        with open(self.path(f"{project}/k.cubin"), "w", encoding="utf-8") as file:
            json.dump({"code": {"kernels": kernels}}, file)

    def script(self, *words, status=0):
        done = subprocess.run(
            [sys.executable, SCRIPT, *words],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout

    def draw(self, seed, *words):
        """The rows of the list, and what is sealed."""
        files = ("--blind", self.path("list.csv"), "--sealed", self.path("sealed.json"))
        cubins = [self.path(f"{project}/k.cubin") for project in ("many", "few")]
        program = ("--program", self.path("program"), "--seed", str(seed))
        self.script(*program, *files, *words, *cubins)
        with open(self.path("list.csv"), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file)), read_json(self.path("sealed.json"))

    def test_draw(self):
        rows, sealed = self.draw(7, "--count", "30", "--verdicts", "5")
        self.assertEqual(self.draw(7, "--count", "30", "--verdicts", "5")[0], rows)
        self.assertNotEqual(self.draw(8, "--count", "30", "--verdicts", "5")[0], rows)
        loads = [row for row in rows if row["what"] == "load"]
        self.assertEqual((len(loads), len(rows)), (30, 32))
        # The few lines that can be drawn are: the compiler's own constants are not, nor is what has
        # no line.
        few = sorted(row["line"] for row in loads if row["project"] == "few")
        self.assertEqual(few, ["1", "2"])
        lines = {(row["project"], row["line"]) for row in loads}
        self.assertEqual(len(lines), len(loads))
        tables = {name for place in sealed["places"] for name in place["tables"]}
        self.assertEqual(tables, {"-", "parameter 0", "parameter 1", "c", "d"})
        # Kinds take turns, and two of three places have one of which something is claimed.
        drawn = [place["answers"][0] for place in sealed["places"][:30]]
        each = [sum(answer.startswith(kind) for answer in drawn) for kind in KINDS]
        self.assertEqual(sum(each[:3]), 20)
        self.assertLessEqual(max(each[:3]) - min(each[:3]), 1)
        self.assertEqual(each[3:], [5, 5])
        # The list says nothing of it.
        self.assertEqual({row[key] for row in rows for key in ("answer", "why")}, {""})
        text = " ".join(" ".join(row.values()) for row in rows)
        self.assertFalse([kind for kind in KINDS if kind in text])
        skipped, _ = self.draw(9, "--count", "30", "--skip", self.list_of(rows))
        self.assertFalse(lines & {(row["project"], row["line"]) for row in skipped})

    def test_lines_of_sources(self):
        os.mkdir(self.path("sources"))
        rows, _ = self.draw(7, "--sources", self.path("sources"))
        self.assertEqual(rows, [])

    def list_of(self, rows):
        path = self.path("answers.csv")
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        return path

    def judged(self, answer, tables="parameter 0 | parameter 1", status=0):
        """What is said of line 1 of the few, which has `affine 4` and `data`."""
        rows, sealed = self.draw(7, "--count", "30")
        for row, place in zip(rows, sealed["places"]):
            mine = (row["project"], row["line"]) == ("few", "1")
            row["answer"] = answer if mine else " | ".join(place["answers"])
            row["table"] = tables if mine else " | ".join(place["tables"])
        judge = ("--judge", self.path("sealed.json"), "--answers", self.list_of(rows))
        return self.script(*judge, status=status).splitlines()

    def test_judge(self):
        self.assertEqual(counts(self.judged("data|affine  4")[-2]), [30, 0, 0])
        # The program says less of one of two, something else, and more.
        self.assertEqual(counts(self.judged("affine 4 | grid")[-2]), [29, 1, 0])
        self.assertEqual(counts(self.judged("affine 4")[-2]), [29, 1, 0])
        told = self.judged("affine 4 | data | thread")
        self.assertEqual(counts(told[-2]), [29, 1, 0])
        for answer in (
            "affine 8 | data",
            "data",
            "affine 4 | data | unknown",
            "unknown",
        ):
            told = self.judged(answer, status=1)
            self.assertEqual(counts(told[-2]), [29, 0, 1], answer)
            self.assertIn("load, something else: g a.cu:1 global", told[0])
            self.assertIn(f"reader: {answer}; program: affine 4 | data", told[1])
        told = self.judged("affine 4 | data", "parameter 0", status=1)
        self.assertEqual(counts(told[-1]), [29, 0, 1])

    def test_verdicts(self):
        rows, _ = self.draw(7, "--count", "0", "--verdicts", "5")
        answers = {"c": "cannot tell", "d": "faster elsewhere: shared"}
        for row in rows:
            row["answer"] = answers[row["file"]]
        judge = ("--judge", self.path("sealed.json"), "--answers", self.list_of(rows))
        self.assertEqual(counts(self.script(*judge).splitlines()[-1]), [2, 0, 0])
        rows[0]["answer"] = "as it should be"
        self.list_of(rows)
        self.assertIn("verdict, something else", self.script(*judge, status=1))
        rows[0]["answer"] = ""
        self.list_of(rows)
        self.script(*judge, status=2)


if __name__ == "__main__":
    unittest.main()
