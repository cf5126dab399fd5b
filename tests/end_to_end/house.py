#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the rules of the house that a compiler does not check."""

import glob
import os
import re
import shutil
import sys
import tempfile
import unittest
import unittest.mock

from common import ROOT

sys.path[:0] = [os.path.join(ROOT, folder) for folder in ("scripts", "scripts/studies", "tests")]
import english  # noqa: E402
import house  # noqa: E402  (of scripts/)
import run  # noqa: E402
import trials  # noqa: E402


def sources(*patterns):
    paths = [path for pattern in patterns for path in glob.glob(os.path.join(ROOT, pattern), recursive=True)]
    return sorted(os.path.relpath(path, ROOT) for path in paths)


def lines(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read().splitlines()


class House(unittest.TestCase):
    def code(self):
        return sources(*(f"{folder}/**/*.{ending}" for folder in house.SOURCES for ending in ("c", "h", "S", "cu", "def")))

    def test_license_comes_first(self):
        for name in self.code() + sources("tests/**/*.[ch]", "tests/**/*.py", "scripts/*", "scripts/cbank/**/*.*", "Makefile", ".ci/run", ".clang-*",
                                          "tests/.clang-*", ".editorconfig", ".shellcheckrc", "CITATION.cff",
                                          ".github/**/*.yml"):
            if os.path.isfile(os.path.join(ROOT, name)):
                with self.subTest(name):
                    first = [line for line in lines(name)[:2] if not line.startswith("#!")][0]
                    self.assertIn("SPDX-License-Identifier: MIT", first)

    def test_citation_names_the_version(self):
        self.assertIn(f"version: {lines('VERSION')[0]}", lines("CITATION.cff"))

    def test_results_name_no_folder_of_a_machine(self):
        for name in sources("results/**/*.json"):
            if not name.startswith("results/local"):
                with self.subTest(name):
                    self.assertEqual([line[:200] for line in lines(name)
                                      if re.search(r'[" =](/home|/root|/work|/Users|/opt|/mnt)/', line)], [])

    def test_a_trial_names_none(self):
        command = "/a/process_trial.py --program /b/cbank --json c/trial.json --run 10"
        self.assertEqual(trials.without_folders(command),
                         "process_trial.py --program cbank --json c/trial.json --run 10")

    def test_lines_are_clean(self):
        for name in self.code() + sources("tests/**/*.[ch]", "tests/**/*.py", "scripts/*.py", "scripts/cbank/**/*.*", "scripts/*.sh"):
            for number, line in enumerate(lines(name), 1):
                with self.subTest(f"{name}:{number}"):
                    self.assertNotRegex(line, r"^(<{7}|>{7}) ")  # of a merge
                    self.assertEqual(line, line.rstrip())
                    self.assertNotIn("\t", line)


class Limits(unittest.TestCase):
    """scripts/house.py and scripts/english.py find what they count, in small planted texts."""

    def faults(self, name, text):
        return [(line, english.KINDS.index(kind)) for line, kind, _ in english.faults(name, text)]

    def test_english_finds_each_pattern_in_each_kind_of_file(self):
        long = " ".join(["word"] * 31) + "."
        for name, text, found in (
                ("a.c", "int a; // O~f the two, one.\n", [(1, 0)]),
                ("a.h", "// Good.\n// W~hat a cell is.\nint a;\n", [(1, 0)]),
                ("a.h", "/* Good. T~hat one. */\n", [(1, 0)]),
                ("a.c", 'f("S~uch cells are "\n  "skipped");\n', [(1, 0)]),
                ("a.c", 'f("the file of ~which this is a copy");\n', [(1, 1)]),
                ("a.c", "// the name by ~which\n// it is known\n", [(1, 1)]),
                ("a.c", f"// {long}\n", [(1, 2)]),
                ("a.c", f"// {long[:80]}\n\n// {long[80:]}\n", []),
                ("a.c", "// One sentence of ten words.\n" * 9, []),
                ("a.c", "int of_what = '\"'; // a \"quote\"\nint b; // W~hat it is.\n", [(2, 0)]),
                ("a.py", '"""Good.\n\nO~f these, one.\n"""\n', [(1, 0)]),
                ("a.py", 'f"S~uch {a} is not"\n', [(1, 0)]),
                ("a.py", 'b = 1  # T~hat is\nc = 1\n# W~hat\n# is it\n', [(1, 0), (3, 0)]),
                ("a.py", f'"SELECT {long}"\n', []),
                ("a.md", f"# W~hat\n\nText.\n\n- O~f one.\n- Two.\n\n```\n{long}\n```\n| O~f a | b |\n", [(5, 0), (11, 0)]),
                ("a.sh", "#!/bin/sh\n# Good. O~f it.\n", [(2, 0)]),
                ("a.bin", "O~f it.", [])):
            with self.subTest(name=name, text=text):
                self.assertEqual(self.faults(name, text.replace("~", "")), found)

    @unittest.skipUnless(shutil.which("ctags") and shutil.which("cloc"), "no ctags or cloc (scripts/setup.sh lint)")
    def test_house_measures_a_planted_tree(self):
        tree = {"harness/engine/run_command.c": '#include "a.h"\nint main(void) { return a(); }\n',
                "harness/base/a.h": "int a(void);\n",
                "harness/base/a.c": '#include "a.h"\n// Of a.\nstatic int once(int x, int y);\nint a(void) { return once(1, 2); }\n'
                                    'static int once(int x, int y) { return x; }\n'
                                    'static int twice(void (*f)(int, int)) { return 2; }\nint d(void) { return twice() + twice(); }\n',
                "harness/base/b.c": "int b;\n", "patterns/p.def": "P(1)\nP(2)\n", "docs/a.md": "1234\n",
                "tests/golden/g.c": "int g;\n", "tests/t.c": "int t;\n", "tests/attacks/a.py": "a = 1\n",
                "tests/faults/a.py": "b = 2\n", "tests/faults/planted/a.patch": "+int c;\n"}
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(house, "ROOT", folder):
            for name, text in tree.items():
                os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
                with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                    file.write(text)
            house.faults.cache_clear()
            self.addCleanup(house.faults.cache_clear)
            numbers = {name: number for name, number, _, _ in house.check()}
        self.assertEqual({name: numbers[name] for name in list(numbers)[:7]},
                         {"lines of C": 12, "lines of scripts": 0, "lines of tests, but for attacks and faults": 1, "lines of attacks and planted faults": 2,
                          "lines of C of the core": 9,
                          "% of static functions that are called once": 50, "bytes of docs/*.md": 5})
        self.assertEqual(numbers["sentences: starts with Of, What, That, Such"], 1)


class Runner(unittest.TestCase):
    """The part of tests/run.py that chooses the commands to repeat."""

    def part(self, script, times):
        """A part whose command runs `script` and, if it got that far, is good from its run number `times` on."""
        with tempfile.TemporaryDirectory() as folder:
            self.addCleanup(setattr, run, "LOGS", run.LOGS)
            run.LOGS = folder
            count = os.path.join(folder, "count")
            part = run.Part("part", ["sh", "-c", f"echo x >> {count}; [ $(wc -l < {count}) -ge {times} ] || {{ {script}; }}"])
            part.run(set())
            return part.failed, len(lines(count))

    def test_runs_again_where_the_leak_sanitizer_broke(self):
        for said in ("==1==LeakSanitizer has encountered a fatal error.", "Tracer caught signal 11: addr=0x148"):
            with self.subTest(said):
                self.assertEqual(self.part(f"echo '{said}'; exit 1", 3), (0, 3))
                self.assertEqual(self.part(f"echo '{said}'; exit 1", 9), (1, run.RUNS_MAX))

    def test_other_failures_are_final(self):
        self.assertEqual(self.part("echo 'ERROR: LeakSanitizer: detected memory leaks'; exit 23", 2), (1, 1))


if __name__ == "__main__":
    unittest.main()
