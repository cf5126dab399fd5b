#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the rules of the house that a compiler does not check."""

import glob
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = ("patterns", "kernels", "harness")  # each may use those before it
VENDOR = re.compile(r"^(cuda|cupti|nv|curand|cublas)", re.IGNORECASE)
VENDOR_ALLOWED = re.compile(r"harness/engine/cuda/")


def sources(*patterns):
    paths = [path for pattern in patterns for path in glob.glob(os.path.join(ROOT, pattern), recursive=True)]
    return sorted(os.path.relpath(path, ROOT) for path in paths)


def lines(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read().splitlines()


def includes(name):
    return [match.group(1) for line in lines(name) if (match := re.match(r'\s*#\s*include\s+[<"](.*?)[>"]', line))]


class House(unittest.TestCase):
    def code(self):
        return sources(*(f"{folder}/**/*.{ending}" for folder in FOLDERS for ending in ("c", "h", "S", "cu", "def")))

    def test_license_comes_first(self):
        for name in self.code() + sources("tests/**/*.[ch]", "tests/**/*.py", "scripts/*", "scripts/figures/*",
                                          "scripts/page/*", "scripts/page/templates/*", "Makefile", ".ci/run", ".clang-*",
                                          "tests/.clang-*", ".editorconfig", ".shellcheckrc", "CITATION.cff",
                                          ".github/**/*.yml"):
            if os.path.isfile(os.path.join(ROOT, name)):
                with self.subTest(name):
                    first = [line for line in lines(name)[:2] if not line.startswith("#!")][0]
                    self.assertIn("SPDX-License-Identifier: MIT", first)

    def test_citation_names_the_version(self):
        self.assertIn(f"version: {lines('VERSION')[0]}", lines("CITATION.cff"))

    def test_includes_point_one_way(self):
        home = {os.path.basename(name): name.split("/")[0] for name in self.code()}
        for name in self.code():
            folder = FOLDERS.index(name.split("/")[0])
            for included in includes(name):
                if included in home:
                    with self.subTest(name, included=included):
                        self.assertLessEqual(FOLDERS.index(home[included]), folder)

    def test_vendor_headers_stay_in_their_files(self):
        own = {os.path.basename(name) for name in self.code()}
        for name in self.code():
            for included in includes(name):
                if VENDOR.match(included) and included not in own:
                    with self.subTest(name, included=included):
                        self.assertRegex(name, VENDOR_ALLOWED)

    def test_lines_are_clean(self):
        for name in self.code() + sources("tests/**/*.[ch]", "tests/**/*.py", "scripts/*.py", "scripts/figures/*.*",
                                          "scripts/page/*.*", "scripts/page/templates/*", "scripts/*.sh"):
            for number, line in enumerate(lines(name), 1):
                with self.subTest(f"{name}:{number}"):
                    self.assertEqual(line, line.rstrip())
                    self.assertNotIn("\t", line)


if __name__ == "__main__":
    unittest.main()
