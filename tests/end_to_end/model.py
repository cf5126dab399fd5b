#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of cards, of the model engine's times, and of cbank explain. CBANK names the program
(default build/cbank)."""

import json
import os
import re
import subprocess
import sys
import unittest

import jsonschema

from common import ROOT, Scratch, read_json

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
MEASURED = ("h100", "h200")
CORE = os.path.join(ROOT, "results/h200/core-matrix.json")

sys.path.insert(0, os.path.join(ROOT, "scripts"))


def schema(name):
    return jsonschema.Draft202012Validator(
        read_json(os.path.join(ROOT, f"results/{name}.schema.json"))
    )


class Case(Scratch):
    def cbank(self, *words, status=0):
        done = subprocess.run(
            [CBANK, *words],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=self.folder,
            env={**os.environ, "COLUMNS": "160"},
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def modelled(self, *words):
        """The cells of a run of the model engine, by identity."""
        self.cbank(
            "run", "--engine", "model", "--quiet", "--counters", "none", "--json", "m.json", *words
        )
        return {cell["identity"]: cell for cell in read_json(self.path("m.json"))["cells"]}

    def changed_card(self, name="h200", **numbers):
        card = read_json(os.path.join(ROOT, f"results/cards/{name}.json"))
        for key, value in numbers.items():
            card["model"][key] = (
                value
                if value is None
                else {
                    "value": value,
                    "low": value,
                    "high": value,
                    "from": "published",
                    "method": "a test",
                }
            )
        with open(self.path("card.json"), "w", encoding="utf-8") as file:
            json.dump(card, file)
        return self.path("card.json")


def errors():
    """The rows of model_errors.def."""
    with open(os.path.join(ROOT, "harness/counts/model_errors.def"), encoding="utf-8") as file:
        return {
            group: [float(number) for number in numbers.split(",")]
            for group, numbers in re.findall(r'^MODEL_ERROR\("(.*?)", (.*)\)$', file.read(), re.M)
        }


class Cards(Case):
    def test_a_card_that_is_wrong_is_refused(self):
        for change in ({"launch_ns": -1}, {"sm_count": None}):
            done = self.cbank(
                "run", "--engine", "model", "--card", self.changed_card(**change), status=2
            )
            self.assertIn(f"model.{next(iter(change))}", done.stderr)
        self.assertIn(
            "v1000", self.cbank("run", "--engine", "model", "--card", "v1000", status=2).stderr
        )


class Times(Case):
    PLAN = (
        "--path",
        "constant,global",
        "--pattern",
        "per_warp,pseudo_random",
        "--elements",
        "128000",
    )

    def test_a_time_has_the_interval_that_was_shown_to_hold(self):
        """By the rows of model_errors.def, of the simple time that they were chosen for."""
        rows = errors()
        plan = ("--path", "constant,global,texture", "--elements", "128k,12800k")
        self.cbank("run", "--engine", "model", "--quiet", "--json", "m.json", *plan)
        with_interval = 0
        pairs = zip(
            *(
                json.loads(self.cbank("explain", "--json", "m.json", *words).stdout)["results"][0][
                    "cells"
                ]
                for words in ((), ("--unchecked-times",))
            )
        )
        cells = read_json(self.path("m.json"))["cells"]
        for (checked, simple), cell in zip(pairs, cells):
            time, row = cell["time_ns"], rows.get(simple["model_group"])
            self.assertEqual((time["stop_reason"], time["samples"]), ("modelled", []))
            if row:
                with_interval += 1
                low, value, high = (number * simple["model_ns"]["value"] for number in row)
                for key, number in (("low", low), ("value", value), ("high", high)):
                    self.assertAlmostEqual(checked["model_ns"][key], number, 3)
                    self.assertAlmostEqual(time[key if key == "value" else f"ci_{key}"], number, 3)
                self.assertTrue(low < value < high)
            else:
                self.assertEqual(checked["model_ns"]["value"], None)
                self.assertEqual(checked["model_ns"]["high"], None)
                self.assertEqual((time["ci_low"], time["ci_high"]), (None, None))
                self.assertRegex(
                    cell["reason"],
                    "^at least [0-9.e+]+ ns: no interval was shown to hold for "
                    + simple["model_group"],
                )
        self.assertTrue(0 < with_interval < len(cells))
        said = self.cbank("show", "m.json").stdout
        self.assertRegex(said, "not timed")
        self.assertRegex(said, r"4\d\.\d\d us")

    def test_of_another_architecture_no_time_is_said(self):
        with open(self.changed_card(), encoding="utf-8") as file:
            card = json.load(file)
        card["cc_major"] = 8
        with open(self.path("card.json"), "w", encoding="utf-8") as file:
            json.dump(card, file)
        plan = ("--path", "global", "--elements", "12800000")
        self.assertTrue(all(cell["time_ns"]["ci_low"] for cell in self.modelled(*plan).values()))
        for cell in self.modelled(*plan, "--card", "card.json").values():
            self.assertIsNone(cell["time_ns"]["ci_low"])
            self.assertIn("no interval was shown to hold", cell["reason"])

    def test_a_slower_launch_is_in_every_simple_time(self):
        was, now = (
            json.loads(self.cbank("explain", "--json", "--unchecked-times", *words, CORE).stdout)[
                "results"
            ][0]["cells"]
            for words in ((), ("--card", self.changed_card(launch_ns=10601.47)))
        )
        for before, after in zip(was, now):
            self.assertAlmostEqual(
                after["model_ns"]["value"] - before["model_ns"]["value"], 10000, delta=1
            )

    def test_a_card_without_numbers_gives_counts_and_bounds(self):
        for card in ("v100", self.changed_card(l2_bytes_per_ns=None)):
            done = self.cbank(
                "run", "--engine", "model", "--card", card, "--json", "m.json", *self.PLAN
            )
            self.assertIn("l2_bytes_per_ns", done.stderr)
            for cell in read_json(self.path("m.json"))["cells"]:
                self.assertIsNone(cell["time_ns"]["value"])
                self.assertRegex(
                    cell["reason"], r"at least [0-9.e+]+ ns: not known are .*l2_bytes_per_ns"
                )
                self.assertIsNotNone(cell["counts"]["requests_per_load"])
                self.assertEqual(cell["status"], "ok")

    def test_a_number_that_a_cell_does_not_need_may_be_missing(self):
        cells = self.modelled(
            "--path",
            "constant",
            "--pattern",
            "per_warp",
            "--elements",
            "128000",
            "--card",
            self.changed_card(texture_requests_per_cycle=None, l2_line_ns=None),
        )
        self.assertTrue(all(cell["time_ns"]["value"] > 0 for cell in cells.values()))


class Explain(Case):
    def explained(self, *words):
        document = json.loads(self.cbank("explain", "--json", *words).stdout)
        schema("explanation").validate(document)
        return document

    def test_each_unit_is_busy_for_what_the_counters_saw(self):
        document = self.explained(CORE)
        (result,) = document["results"]
        self.assertEqual(result["card"], "H200")
        numbers = read_json(os.path.join(ROOT, "results/cards/h200.json"))["model"]
        measured = {cell["identity"]: cell for cell in read_json(CORE)["cells"]}
        self.assertEqual(len(result["cells"]), len(measured))
        for cell in result["cells"]:
            was = measured[cell["identity"]]
            counted = {name: counter["value"] for name, counter in was["counters"].items()}
            sms = min(132, was["elements"] / was["block_size"])
            shares = {
                unit: {
                    "value": share,
                    "low": cell["shares_low"][unit],
                    "high": cell["shares_high"][unit],
                }
                for unit, share in cell["shares"].items()
            }
            self.assertAlmostEqual(
                shares["issue"]["value"], counted["instructions"] / 4 / was["cycles"] / sms
            )
            l2_bytes_per_ns = counted["l2_sectors"] * 32 / was["time_ns"]["value"]
            for key, of_rate in (("value", "value"), ("low", "high"), ("high", "low")):
                self.assertAlmostEqual(
                    shares["constant cache"][key],
                    counted["idc_requests"]
                    * numbers["constant_address_cycles"][key]
                    / was["cycles"]
                    / sms,
                )
                self.assertAlmostEqual(
                    shares["L2"][key], l2_bytes_per_ns / numbers["l2_limit_bytes_per_ns"][of_rate]
                )
            unit = max(shares, key=lambda name: shares[name]["value"])
            bound = None
            if document["threshold"] <= shares[unit]["low"] <= 1.05:
                bound = unit
            elif all(share["high"] < document["threshold"] for share in shares.values()):
                bound = "latency"
            self.assertEqual(cell["bound"], bound)
        bounds = {cell["identity"]: cell["bound"] for cell in result["cells"]}
        self.assertEqual(bounds["add/constant/pseudo_random/12800000/1024/hot"], "constant fills")
        self.assertEqual(bounds["add/constant/per_thread/12800000/1024/hot"], "constant cache")
        self.assertEqual(bounds["add/global/per_warp/128000/1024/hot"], "latency")
        # a stream moves almost twice the bytes of its time
        self.assertEqual(bounds["add/global/per_warp/12800000/1024/hot"], "latency")
        # of the H100 no stream was measured: even by the published rate DRAM is busy for 60 %
        (result,) = self.explained(os.path.join(ROOT, "results/h100/core-matrix.json"))["results"]
        bounds = {cell["identity"]: cell["bound"] for cell in result["cells"]}
        self.assertEqual(bounds["add/global/per_warp/12800000/1024/hot"], "DRAM")

    def test_loads_without_an_active_thread_ask_nothing_of_the_texture_unit(self):
        """The counter of a convolution's texture loads counts those around the edges, too."""
        name = os.path.join(ROOT, "results/h200/convolution.json")
        (result,) = self.explained(name, "--cell", "conv_?d/texture/*")["results"]
        self.assertGreater(len(result["cells"]), 5)
        self.assertLess(max(cell["shares"]["texture"] for cell in result["cells"]), 1.05)

    def test_the_card_is_that_of_the_gpu(self):
        document = self.explained(CORE, os.path.join(ROOT, "results/h100/core-matrix.json"))
        self.assertEqual(
            [result["card"] for result in document["results"]], ["H200", "H100 80GB HBM3"]
        )

    def test_what_is_not_known_is_said(self):
        self.modelled("--path", "constant", "--pattern", "per_warp")
        said = self.cbank("explain", "m.json").stdout
        self.assertRegex(said, "(?s)modelled: nothing was measured(?!.*more than 100%)")
        self.assertIn(
            "more than 100%: a nearer cache",
            self.cbank("explain", os.path.join(ROOT, "results/h200/kernels/suite.json")).stdout,
        )
        cell = self.explained("m.json")["results"][0]["cells"][0]
        self.assertIsNone(cell["bound"])
        self.assertEqual(set(cell["shares"].values()), {None})
        self.assertTrue(
            cell["model_ns"]["low"] < cell["model_ns"]["value"] < cell["model_ns"]["high"]
        )

    def test_another_chip_and_bad_input(self):
        self.assertIn(
            "no card is of that chip",
            self.cbank("explain", CORE, "--card", "a100", status=3).stderr,
        )
        self.assertIn("missing.json", self.cbank("explain", "missing.json", status=2).stderr)
        self.assertIn(
            "no cell is named",
            self.cbank(
                "explain", CORE, "--cell", "add/constant/per_warp/128000/1024/warm", status=2
            ).stderr,
        )
        done = self.cbank("explain", "missing.json", CORE, status=2)  # the other file is explained
        self.assertIn("core-matrix.json: NVIDIA H200", done.stdout)


class Error(Case):
    def test_the_model_is_as_near_as_it_says(self):
        """On the core matrix alone: the study reads all committed results."""
        done = subprocess.run(
            [
                os.path.join(ROOT, "scripts/studies/model_error.py"),
                "--program",
                CBANK,
                CORE,
                os.path.join(ROOT, "results/h100/core-matrix.json"),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"22 cells over 10 us; 4 more have a bound from below alone")
        self.assertRegex(done.stdout, r"add +22 +0\.9\d\d +100\.0% +100\.0%")
        self.assertRegex(
            done.stdout,
            (
                r"H100 80GB HBM3: 100\.0% explained by its card, 100\.0% by characterize --new-card"
                r" alone"
            ),
        )


if __name__ == "__main__":
    unittest.main()
