#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Seven jobs of a first hour, each typed as the README and --help say, in two steps or fewer; and
the build's first words.

CBANK names the program (default build/cbank).
"""

import os
import re
import select
import shutil
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree as xml

from common import CBANK, ROOT, Scratch

CHIPS = [os.path.join(ROOT, "results/chips", chip) for chip in ("h100", "h200")]


class Jobs(Scratch):
    def typed(self, *words, width=80, program=CBANK):
        done = subprocess.run(
            [program, *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={
                **os.environ,
                "COLUMNS": str(width),
                "CUDA_VISIBLE_DEVICES": "",
                "PYTHONPATH": os.path.join(ROOT, "scripts"),
            },
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return " ".join(done.stdout.split())

    def test_where_3_kb_of_16_byte_entries_should_live(self):
        said = self.typed("advise", "--table-bytes", "3KB", "--width-bytes", "16")
        self.assertIn("3072", said)
        self.assertRegex(said, "best")

    def test_two_files_are_compared(self):
        said = self.typed(
            "compare",
            *(os.path.join(CHIPS[1], f"{name}.json") for name in ("core-matrix", "second-process")),
        )
        self.assertIn("NEW is the same: 24 same of 24 cells", said)

    def test_a_figure_of_two_gpus_for_a_column_of_ieee(self):
        made = self.typed(
            "plot",
            "--together",
            "--figure",
            "serialization",
            "--style",
            "ieee",
            "--width",
            "85",
            "-o",
            "figures",
            *(os.path.join(chip, "characterization.json") for chip in CHIPS),
        ).split()
        self.assertTrue(any(name.endswith(".pdf") for name in made), made)
        for name in made:
            self.assertTrue(os.path.getsize(self.path(name)))

    def test_a_data_frame(self):
        said = self.typed(
            "-c",
            (
                "import cbank;"
                f" print(cbank.load({os.path.join(CHIPS[1], 'core-matrix.json')!r})[['identity',"
                " 'time_ns']].shape)"
            ),
            program=sys.executable,
        )
        self.assertEqual(said, "(24, 2)")

    def test_a_nightly_gate(self):
        plan = ("--engine", "model", "--path", "constant", "--pattern", "per_warp")
        self.typed("run", *plan, "--json", "base.json")
        self.typed(
            "gate", "base.json", *plan, "--processes", "1", "--strict", "--junit", "gate.xml"
        )
        self.assertEqual(xml.parse(self.path("gate.xml")).getroot().get("failures"), "0")

    def test_constant_caches_of_an_h200_and_a_v100(self):
        self.assertIn(
            "constant 1 28 2048 64 64 4 8",
            self.typed("show", os.path.join(CHIPS[1], "characterization.json")),
        )
        self.assertIn(
            "constant_l1_bytes 2112",
            self.typed("show", os.path.join(ROOT, "results/cards/v100.json")),
        )

    def test_the_words_of_a_table(self):
        said = self.typed("show", os.path.join(CHIPS[1], "core-matrix.json"), width=100)
        for words in (
            "95% CI: within",
            "ratio: to the fastest path that loads, of the same pattern and size of table",
            "req: requests of a warp's load",
        ):
            self.assertIn(words, said)


class Build(Scratch):
    def test_flags_of_tests_compile_nothing_again(self):
        stamp = self.path("obj/flags.stamp")
        for variables, same in (
            ((), False),
            (("WERROR=-Werror", "FAST=-O0"), True),
            (("CFLAGS=-O1",), False),
        ):
            before = os.path.exists(stamp) and os.stat(stamp).st_mtime_ns
            subprocess.run(
                ["make", "-s", "NO_CUDA=1", f"BUILD={self.folder}", *variables, stamp],
                cwd=ROOT,
                check=True,
                capture_output=True,
                env={
                    key: value
                    for key, value in os.environ.items()
                    if not key.startswith(("MAKE", "MFLAGS", "WERROR"))
                },
            )
            self.assertEqual(os.stat(stamp).st_mtime_ns == before, same, variables)

    def test_a_build_says_a_line_a_quarter_and_what_is_no_step(self):
        planned = "".join(f"printf '  %-6s %s\\n' CC 'a{i}.c'\n" for i in range(8))
        steps = "".join(f"  CC     a{i}.c\n" for i in range(8))
        for text, said, status in (
            (
                steps + "done: all of it\n",
                [
                    "build: 8 steps at most",
                    "build: 25 %",
                    "build: 50 %",
                    "build: 75 %",
                    "done: all of it",
                ],
                0,
            ),
            ("  LINK   b\nb: ready\n", ["b: ready"], 0),
            ("a.c:1: error: no\n--failed\n", ["a.c:1: error: no"], 1),
        ):
            done = subprocess.run(
                [os.path.join(ROOT, "scripts/progress.sh")],
                input=planned + "--\n" + text,
                capture_output=True,
                text=True,
                check=False,
            )
            lines = done.stdout.splitlines()
            self.assertEqual((done.returncode, len(lines)), (status, len(said)), done.stdout)
            for line, words in zip(lines, said):
                self.assertTrue(line.startswith(words), line)

    def test_lines_come_as_they_happen(self):
        """In each awk that is here: what follows from a step is read before the next one is fed."""
        for awk in ("mawk", "gawk", "busybox awk"):
            if not shutil.which(awk.split()[0]):
                continue
            with self.subTest(awk), subprocess.Popen(
                [os.path.join(ROOT, "scripts/progress.sh")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "AWK": awk},
            ) as program:
                for fed, awaited in (
                    ("printf x x x CC\n" * 4 + "--\n  CC     a.c\n", b"build: 4 steps at most\n"),
                    ("  CC     b.c\n", b"build: 50 % done, about 1 s left\n"),
                    ("a.c:1: warning: x\n", b"a.c:1: warning: x\n"),
                ):
                    program.stdin.write(fed.encode())
                    program.stdin.flush()
                    said, end = b"", time.monotonic() + 20
                    while awaited not in said and time.monotonic() < end:
                        if select.select([program.stdout], [], [], 0.1)[0]:
                            said += os.read(program.stdout.fileno(), 4096)
                    self.assertIn(awaited, re.sub(rb"about \d+ s", b"about 1 s", said), fed)
                program.stdin.close()
                self.assertEqual(program.wait(10), 0)


if __name__ == "__main__":
    unittest.main()
