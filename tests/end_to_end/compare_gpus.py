#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cbank compare where a side has several GPUs. CBANK names the program (default build/cbank)."""

import datetime
import os
import shutil
import unittest
import xml.etree.ElementTree

import jsonschema
import numpy as np
from scipy import stats

from common import ROOT, read_json
from nights import FIRST_NIGHT, Case, slower, utc, uuid


class Compare(Case):
    """Each GPU with itself, and one verdict for all."""

    def setUp(self):
        super().setUp()
        self.nights("all", 8, 1, cells=24)
        os.rename(self.path("all/00"), self.path("base"))
        shutil.copytree(self.path("base"), self.path("new"))
        for gpu in range(8):
            self.change(
                gpu,
                started_utc=utc(FIRST_NIGHT + datetime.timedelta(days=1, seconds=gpu)),
                finished_utc=None,
            )

    def change(self, gpu, factor=1.0, uuid=None, **keys):
        """Changes the result of a GPU in new/."""
        result = {**read_json(self.path(f"new/gpu{gpu:02d}.json")), **keys}
        result["device"]["uuid"] = uuid or result["device"]["uuid"]
        slower(result, factor, "constant")
        self.write(f"new/gpu{gpu:02d}.json", result)

    def compare(self, base, new, *options, status=0):
        self.cbank("compare", base, new, "--json", "out.json", "--quiet", *options, status=status)
        comparison = read_json(self.path("out.json"))
        jsonschema.validate(
            comparison, read_json(os.path.join(ROOT, "results/comparison.schema.json"))
        )
        return comparison

    def both(self, *options, status=0):
        """The comparison of the folders."""
        return self.compare("base", "new", *options, status=status)

    def test_a_quiet_night(self):
        comparison = self.both()
        self.assertEqual([gpu["verdict"] for gpu in comparison["gpus"]], ["same"] * 8)
        self.assertEqual(
            comparison["summary"],
            "NEW is the same: 192 same of 192 cells of 8 GPUs (threshold 1 %)",
        )
        self.assertNotIn("same samples", self.cbank("compare", "base", "new").stdout)
        self.assertIn(
            "192 of 192 cells have the same samples on both sides",
            self.cbank("compare", "base", "base").stdout,
        )
        self.assertEqual(
            [gpu["host"]["slot"] for gpu in comparison["gpus"]],
            [f"00000000:{gpu:02X}:00.0" for gpu in range(8)],
        )

    def test_one_gpu_is_slower(self):
        self.change(3, factor=1.05)
        comparison = self.both(status=1)
        slow = uuid(3)
        self.assertEqual(
            {gpu["uuid"]: gpu["verdict"] for gpu in comparison["gpus"] if gpu["verdict"] != "same"},
            {slow: "regressed"},
        )
        self.assertEqual(comparison["gpus"][3]["counts"]["regressed"], 8)
        self.assertEqual(
            {
                (cell["uuid"], cell["path"])
                for cell in comparison["cells"]
                if cell["verdict"] != "same"
            },
            {(slow, "constant")},
        )
        for cell in comparison["cells"][:8]:
            self.assertAlmostEqual(cell["ratio"]["value"], 1.05)
        table = self.cbank("compare", "base", "new", status=1).stdout
        self.assertRegex(table, "GPU-00000003 on n00: regressed")
        self.assertNotRegex(table, "GPU-00000002 on")

    def test_a_gpu_on_one_side_alone(self):
        os.remove(self.path("new/gpu05.json"))
        self.change(6, uuid="GPU-99999999-2222-4222-8222-222222222222")
        self.change(
            7,
            uuid="GPU-88888888-2222-4222-8222-222222222222",
            host={"name": "n55", "slot": "x", "job": None},
        )
        comparison = self.both(status=1)
        found = {
            gpu["uuid"][4:12]: gpu["verdict"]
            for gpu in comparison["gpus"]
            if gpu["verdict"] != "same"
        }
        self.assertEqual(
            found,
            {
                "00000005": "missing",
                "00000006": "missing",
                "00000007": "missing",
                "88888888": "new",
                "99999999": "new",
            },
        )
        self.assertEqual((comparison["counts"]["missing"], comparison["counts"]["new"]), (72, 48))
        # behind the others
        self.assertEqual(
            {cell["verdict"] for cell in comparison["cells"][-120:]}, {"missing", "new"}
        )
        # A GPU more is no finding, as a cell more is none.
        self.assertEqual(
            [
                gpu["verdict"]
                for gpu in self.compare("new/gpu00.json", "new/gpu00.json,new/gpu01.json")["gpus"]
            ],
            ["same", "new"],
        )

    def test_formats_name_the_gpu_of_a_cell(self):
        self.change(3, factor=1.05)
        os.remove(self.path("new/gpu05.json"))
        self.cbank("compare", "base", "new", "--quiet", "--junit", "out.xml", status=1)
        root = xml.etree.ElementTree.parse(self.path("out.xml")).getroot()
        cases = {(case.get("classname"), case.get("name")): case for case in root.iter("testcase")}
        self.assertEqual(
            (len(cases), root.get("tests"), root.get("failures")),
            (8 * 24, str(8 * 24), str(8 + 24)),
        )
        self.assertIn(("GPU-00000003.add.constant", "add/constant/per_warp/128000/1024/hot"), cases)

    def test_allow_diff_uuid_compares_two_named_gpus(self):
        self.assertIn(
            "BASE has 8, NEW 8",
            self.cbank("compare", "base", "new", "--allow-diff", "uuid", status=2).stderr,
        )
        self.assertIn(
            "BASE has 1, NEW 8",
            self.cbank(
                "compare", "base/gpu01.json", "new", "--allow-diff", "uuid", status=2
            ).stderr,
        )
        # boards differ by more
        comparison = self.compare(
            "base/gpu01.json", "new/gpu02.json", "--allow-diff", "uuid", status=4
        )
        self.assertEqual(len(comparison["gpus"]), 1)
        self.assertEqual([row["context_field"] for row in comparison["differences"]], ["uuid"])
        self.cbank("compare", "base/gpu01.json", "new/gpu02.json", status=3)

    def test_what_boards_differ_by_is_pooled_cell_by_cell(self):
        """Six others: the deviation of each cell is its own, pooled with the default times the
        greatest likelihood of all."""
        one = read_json(self.path("base/gpu07.json"))
        # of other code: no witness in that cell
        one["cells"][0]["kernel"]["sass_sha256"] = "0" * 64
        one["cells"][1]["flags"] = ["unstable"]
        self.write("base/gpu07.json", one)
        results = [
            read_json(self.path(f"base/gpu{gpu:02d}.json"))["cells"] for gpu in (0, 3, 4, 5, 6, 7)
        ]
        own = np.array(
            [
                np.log([cell["time_ns"]["value"] for cell in cells[: 6 if at > 1 else 5]]).var(
                    ddof=1
                )
                for at, cells in enumerate(zip(*results))
            ]
        )
        freedom, (value, degrees) = np.array([4.0] * 2 + [5.0] * 22), (0.0027, 1.4)
        factors = np.geomspace(1, 100, 1000)
        likely = [
            (stats.f.logpdf(own / (value**2 * factor), freedom, degrees) - np.log(factor)).sum()
            - degrees / 2 * (np.log(factor) + 1 / factor)
            for factor in factors
        ]  # the last term: one more, that is 1
        pooled = (degrees * value**2 * factors[int(np.argmax(likely))] + freedom * own) / (
            degrees + freedom
        )
        comparison = self.compare(
            "base/gpu01.json", "new/gpu02.json", "--allow-diff", "uuid", "--boards", "base"
        )
        self.assertEqual(comparison["options"]["boards"], "base")
        said = {cell["identity"]: cell["board_deviation"] for cell in comparison["cells"]}
        for cell, variance, own_degrees in zip(results[0], pooled, freedom):
            self.assertEqual(said[cell["identity"]]["origin"], "boards")
            self.assertAlmostEqual(said[cell["identity"]]["degrees_of_freedom"], 1.4 + own_degrees)
            self.assertAlmostEqual(said[cell["identity"]]["value"] / variance**0.5, 1, delta=0.01)
        text = " ".join(
            self.cbank(
                "compare",
                "base/gpu01.json",
                "new/gpu02.json",
                "--allow-diff",
                "uuid",
                "--boards",
                "base",
            ).stdout.split()
        )
        self.assertIn(
            (
                "It has 5.4 degrees of freedom or more: by default, and in 24 cells by other GPUs"
                " (--boards)"
            ),
            text,
        )
        alone = self.compare(
            "base/gpu01.json",
            "new/gpu02.json",
            "--allow-diff",
            "uuid",
            "--boards",
            "base/gpu01.json,new/gpu02.json,base/gpu03.json",
            status=4,
        )
        self.assertEqual(
            {tuple(cell["board_deviation"].values()) for cell in alone["cells"]},
            {(value, degrees, "default")},
        )
        self.assertEqual(
            {
                cell["board_deviation"]
                for cell in self.compare("base/gpu01.json", "new/gpu01.json", "--boards", "base")[
                    "cells"
                ]
            },
            {None},
        )

    def test_what_may_not_differ_is_of_one_gpu(self):
        result = read_json(self.path("new/gpu04.json"))
        result["device"]["ecc"] = "off"
        self.write("new/gpu04.json", result)
        comparison = self.both(status=1)
        self.assertEqual(
            {
                gpu["uuid"][4:12]: gpu["verdict"]
                for gpu in comparison["gpus"]
                if gpu["verdict"] != "same"
            },
            {"00000004": "invalid"},
        )


if __name__ == "__main__":
    unittest.main()
