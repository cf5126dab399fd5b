#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""End-to-end tests of chip cards: the committed ones, and those that characterize makes."""

import glob
import hashlib
import json
import os
import re
import subprocess
import unittest

import jsonschema

from characterize import CBANK, RECORDED, Case, change_answers
from common import ROOT, read_bytes, read_json

CARDS = {
    os.path.basename(path).removesuffix(".json"): path
    for path in sorted(glob.glob(os.path.join(ROOT, "results/cards/*.json")))
}
MEASURED = ("h100", "h200")
HEAD = ("name", "chip", "cc_major", "cc_minor", "model")


def valid(card):
    jsonschema.Draft202012Validator(
        read_json(os.path.join(ROOT, "results/card.schema.json"))
    ).validate(card)
    return card


def another_chip(record):
    """The base card in the program is of another chip then, and says nothing."""
    record["device"].update(name="NVIDIA A100", compute_capability="8.0", chip=None)


def known(card):
    return {key for key, entry in card["model"].items() if entry}


class Committed(unittest.TestCase):
    def test_cards_are_valid_and_name_files_that_are_there(self):
        for name, path in CARDS.items():
            with self.subTest(name):
                card = valid(read_json(path))
                for short, file in card["evidence"].items():
                    self.assertEqual(
                        hashlib.sha256(read_bytes(os.path.join(ROOT, file["file"]))).hexdigest(),
                        file["sha256"],
                    )
                    self.assertTrue(file["sha256"].startswith(short))
                for key, entry in card["model"].items():
                    if entry:
                        self.assertTrue(entry["low"] <= entry["value"] <= entry["high"], key)
                        self.assertTrue(entry["method"], key)
                        for file in entry.get("evidence", []):
                            self.assertTrue(
                                file in card["evidence"]
                                or os.path.exists(os.path.join(ROOT, file)),
                                file,
                            )

    def test_all_are_in_the_program(self):
        done = subprocess.run(
            [CBANK, "list", "cards", "--json"],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        self.assertEqual({row["name"] for row in json.loads(done.stdout)}, set(CARDS))


class Made(Case):
    def make(self, path, *words):
        """The card that characterize makes of a record, and the last line that it prints."""
        said = self.cbank(
            "--replay", path, "--json", "again.json", "--new-card", "card.json", *words
        ).stdout
        return valid(read_json(os.path.join(self.folder, "card.json"))), " ".join(said.split())

    def test_committed_cards_of_measured_chips_are_made_again(self):
        for name in MEASURED:
            with self.subTest(name):
                made, said = self.make(os.path.join(ROOT, f"results/characterizations/{name}.json"))
                card = read_json(CARDS[name])
                self.assertEqual({key: made[key] for key in HEAD}, {key: card[key] for key in HEAD})
                self.assertEqual(list(made["evidence"]), list(card["evidence"]))
                # the H200's record has no whole kernels, and that of its streams is another; of
                # the H100 there is none
                measured, base, unknown = {"h100": (16, 2, 3), "h200": (8, 13, 0)}[name]
                self.assertRegex(
                    said,
                    (
                        f"{measured} numbers characterized, 7 of the device, {base} of another"
                        f" card, {unknown} not known$"
                    ),
                )

    def test_numbers_of_whole_kernels_are_slopes_and_rates_of_the_recorded_cells(self):
        record, card = (
            read_json(os.path.join(ROOT, "results/characterizations/h100.json")),
            read_json(CARDS["h100"])["model"],
        )
        (experiment,) = [one for one in record["experiments"] if one["name"] == "whole_kernels"]
        cells = [
            (
                one["asked"].split()[-1].split("/"),
                [int(word) for word in re.sub(r"(\d+)\*2", r"\1 \1", one["answer"]).split()],
            )
            for one in experiment["evidence"]
        ]
        ps, khz, launch_ps, instructions, lines, sectors, *dram = zip(
            *(answer for _, answer in cells)
        )
        elements, sms, threads = [int(name[3]) for name, _ in cells], 132, 2048

        def life(many, few):
            issue_ps = (
                (instructions[many] - instructions[few])
                / sms
                / 4
                / (threads / 1024)
                / khz[many]
                * 1e9
            )
            return (
                (ps[many] - ps[few] - issue_ps)
                / (elements[many] - elements[few])
                * sms
                * threads
                / 1000
            )

        expected = {
            "launch_ns": launch_ps[0] / 1000,
            "block_l2_ns": life(0, 1),
            "block_dram_ns": life(4, 5),
            "block_start_ns": min(
                (ps[i] - launch_ps[i]) / elements[i] * 32 / 1000 for i in range(7, 11)
            ),
            "constant_fill_cycles": (
                (ps[11] - ps[12]) * khz[11] / 1e9 * sms / (lines[11] - lines[12])
            ),
            "l2_line_ns": (ps[14] - ps[15]) / 1000 / ((elements[14] - elements[15]) / 32),
            "l2_bytes_per_ns": max(sectors[i] * 32 / ps[i] * 1000 for i in range(4)),
            "dram_bytes_per_ns": max(
                (read + written) / time * 1000
                for read, written, time in zip(*dram, ps, strict=True)
            ),
        }
        for key in expected:
            self.assertAlmostEqual(card[key]["value"] / expected[key], 1, delta=1e-5, msg=key)
            self.assertEqual(card[key]["from"], "characterized")
        self.assertEqual(card["dram_bytes_per_ns"]["high"], 3350)  # published, of the card before

    def test_without_counters_three_numbers_are_not_known(self):
        whole = read_json(os.path.join(ROOT, "results/characterizations/h100.json"))
        another_chip(whole)
        change_answers(whole, "^cell ", lambda answer: answer[:4] + 4 * [2**32 - 1])
        path = os.path.join(self.folder, "denied.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(whole, file)
        made, said = self.make(path)
        self.assertRegex(
            said, "13 numbers characterized, 7 of the device, 2 of another card, 6 not known$"
        )
        streams = {key for key in made["model"] if "_limit_" in key}
        self.assertEqual(
            set(made["model"]) - known(made) - streams,
            {"constant_fill_cycles", "l2_bytes_per_ns", "dram_bytes_per_ns"},
        )

    def test_a_chip_without_a_card_has_what_was_measured(self):
        made, said = self.make(self.record(another_chip, without=("geometry_constant_modules",)))
        self.assertRegex(
            said, "8 numbers characterized, 7 of the device, 2 of another card, 11 not known$"
        )
        self.assertEqual(
            (made["name"], made["chip"], made["cc_major"], made["cc_minor"]), ("A100", None, 8, 0)
        )
        self.assertEqual(
            {entry["from"] for entry in made["model"].values() if entry},
            {"characterized", "device", "published"},
        )
        self.assertEqual(
            {key for key, entry in made["model"].items() if entry and entry["from"] == "published"},
            {"issue_per_cycle", "alu_latency_cycles"},
        )  # of every chip since Volta
        # The card serves as the other card of the chip, too.
        os.rename(os.path.join(self.folder, "card.json"), os.path.join(self.folder, "first.json"))
        again, said = self.make(os.path.join(self.folder, "record.json"), "--card", "first.json")
        self.assertEqual(again, made)

    def test_a_number_that_an_experiment_does_not_give_is_not_made_up(self):
        """Faults: costs by line, a path whose cost grows on no line, a first level whose
        geometry is not known."""
        whole = known(self.make(self.record(another_chip))[0])
        for key, pattern, change in (
            (
                "constant_address_cycles",
                r"^stream constant distinct (2|4|8|16|32) stride 4 .*iterations 69",
                lambda numbers: [numbers[0] * 20] * len(numbers),
            ),
            ("constant_l1_bytes", r"^chase constant ", lambda numbers: [40] * len(numbers)),
        ):
            with self.subTest(key):

                def plant(record, pattern=pattern, change=change):
                    another_chip(record)
                    self.assertGreater(change_answers(record, pattern, change), 0)

                self.assertEqual(whole - known(self.make(self.record(plant))[0]), {key})

    def test_a_slower_load_is_a_slower_number(self):
        made, _ = self.make(
            self.record(
                lambda record: change_answers(
                    record, "^chase global ", lambda n: [one + 10 * (one > 150) for one in n]
                ),
                without=(),
            )
        )
        self.assertAlmostEqual(
            made["model"]["l2_latency_cycles"]["value"],
            read_json(CARDS["h200"])["model"]["l2_latency_cycles"]["value"] + 10,
            places=3,
        )

    def test_json_to_stdout_is_json_alone(self):
        done = self.cbank("--quiet", "--replay", RECORDED, "--json", "-", "--new-card", "card.json")
        self.assertEqual(json.loads(done.stdout)["schema"]["name"], "cbank-characterization")

    def test_what_is_wrong_is_said_before_anything_is_measured(self):
        record = self.record(lambda record: None)
        with open(os.path.join(self.folder, "bad.json"), "w", encoding="utf-8") as file:
            bad = read_json(CARDS["h200"])
            bad["model"]["sm_count"]["value"] = 0
            json.dump(bad, file)
        for words, said in (
            (["--card", "h200"], "--new-card"),
            (["--new-card", "card.json", "--card", "none.json"], "none.json; cbank list cards"),
            (["--new-card", "card.json", "--card", "bad.json"], "sm_count"),
            (["--new-card", "no/card.json"], "card.json"),
        ):
            with self.subTest(said):
                done = self.cbank(
                    "--quiet", "--replay", record, "--json", "again.json", *words, status=2
                )
                self.assertIn(said, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertFalse(os.path.exists(os.path.join(self.folder, "card.json")))


if __name__ == "__main__":
    unittest.main()
