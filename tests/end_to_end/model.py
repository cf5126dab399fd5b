#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of what cbank explain says of the committed results, each explained once: that it follows its schema, how well the model
meets them as docs/chip.md has it, and the errors that cbank advise names. CBANK names the program (default build/cbank)."""

import contextlib
import io
import json
import os
import subprocess
import sys
import unittest
import unittest.mock

import jsonschema

from common import FULL, ROOT, read_json

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
os.environ["CBANK"] = CBANK

sys.path.insert(0, os.path.join(ROOT, "scripts"))
import model_table  # noqa: E402
import model_uncertainty  # noqa: E402
import readme_blocks  # noqa: E402

TEXT_CELLS_MAX = 64  # the model takes its time again


def committed():
    """The committed results; with all tests alone those of LARGE, whose counts take seconds."""
    return [path for path in model_table.committed() if FULL or not path.endswith(model_table.LARGE)]


def printed(script, *words):
    """(exit status, what it prints)."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), unittest.mock.patch.object(sys, "argv", [script.__name__, *words]):
        try:
            return script.main() or 0, said.getvalue()
        except SystemExit as end:
            return end.code, said.getvalue()


class Explained(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(os.chdir, os.getcwd())
        os.chdir(ROOT)

    def test_it_follows_its_schema(self):
        schema = jsonschema.Draft202012Validator(read_json("results/explanation.schema.json"))
        for path in committed():
            with self.subTest(path):
                result = model_table.explain(CBANK, path)["results"][0]
                one = {**model_table.explain(CBANK, path)}
                if not FULL:  # cells of a file are alike
                    one["results"] = [{**result, "cells": result["cells"][::8]}]
                schema.validate(one)

    def test_text_is_narrow(self):
        for path in committed():
            if FULL or len(read_json(path)["cells"]) < TEXT_CELLS_MAX:
                with self.subTest(path):
                    done = subprocess.run([CBANK, "explain", path], capture_output=True, text=True, timeout=300, check=False)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)

    def test_without_a_card_it_is_that_of_the_chip(self):
        path = "results/h200/core-matrix.json"
        done = subprocess.run([CBANK, "explain", path, "--json"], capture_output=True, text=True, timeout=300, check=True)
        self.assertEqual(json.loads(done.stdout)["results"][0]["cells"],
                         model_table.explain(CBANK, path)["results"][0]["cells"])

    def test_what_is_beyond_has_its_reason(self):
        """In its time or its fills; and every reason that fills may have is the reason of some."""
        seen = set()
        for path in committed():
            result = model_table.explain(CBANK, path)["results"][0]
            self.assertEqual(model_table.row_of(path, result)[-1], 0, path)
            for cell in result["cells"]:
                named = {reason["name"] for reason in cell["reasons"] if reason["name"].startswith("fills_")}
                self.assertEqual(bool(named), cell["fills_within"] is False, (path, cell["identity"]))
                seen |= named
        self.assertEqual(seen, {"fills_few", "fills_first_wave", "fills_retried", "fills_parameters", "fills_apart",
                                "fills_places"})

    def test_the_text_says_how_parts_make_the_time(self):
        """Of lookups the parts that overlap take more than the longest."""
        for path, more in (("results/h200/core-matrix.json", False), ("results/h200/sweeps/lookup.json", True)):
            with self.subTest(path):
                times = []
                for cell in model_table.explain(CBANK, path)["results"][0]["cells"]:
                    if not cell["modelled"]:
                        continue
                    parts = dict(cell["modelled"]["parts_ns"])
                    alone, unit = parts.pop("launch") + parts.pop("wave"), parts.pop("serialization") + parts.pop("misses")
                    times.append(cell["modelled"]["time_ns"] / (alone + max(unit, *parts.values())))
                self.assertEqual(max(times) > 1.01, more)
                done = subprocess.run([CBANK, "explain", path, "--cell", "*/global/*"], capture_output=True, text=True, timeout=300,
                                      check=True)
                self.assertEqual("these overlap: the longest counts most" in done.stdout, more)
                self.assertEqual("lookup: the parts that overlap slow each other down" in done.stdout, more)

    def test_the_table_of_docs(self):
        (content,) = [content for command, _, content in readme_blocks.blocks(readme_blocks.read("docs/chip.md"))
                      if command == "scripts/model_table.py"]
        rows = [line for line in content.splitlines(keepends=True) if FULL or f"{model_table.LARGE.removesuffix('.json')} |" not in line]
        self.assertEqual(len(content.splitlines()) - len(rows), 0 if FULL else 2)
        paths = committed()
        with unittest.mock.patch.object(model_table, "committed", lambda: paths):
            self.assertEqual(printed(model_table), (0, "".join(rows)))

    def test_errors_that_advise_names(self):
        status, said = printed(model_uncertainty, "--check")
        self.assertEqual(status, 0, said)


if __name__ == "__main__":
    unittest.main()
