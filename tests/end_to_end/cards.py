#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""End-to-end tests of cards: characterize --new-card, the committed cards, and scripts/fit_card.py on results of the model
engine, whose parameters are known. CBANK names the program (default build/cbank)."""

import copy
import glob
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import unittest

import jsonschema

from common import FULL, NOT_QUICK, QUICK, ROOT, Scratch, read_bytes, read_json, repetitions, run_script

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
NAMES = sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(ROOT, "results/base_cards/*.json")))
BUILT_IN = "h200"  # the card in the program
FOUND = ("characterized", "device")
NOT_PARAMETERS = ("schema", "levels", "origins", "evidence", "numbers", "verdicts", "skipped")
HAS_SCIPY = importlib.util.find_spec("scipy") is not None


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)
    return path


def parameters(card):
    """{path: value} of every key that has an origin."""
    values = {key: value for key, value in card.items() if key not in NOT_PARAMETERS}
    for level in card["levels"]:
        values.update({f"levels.{level['name']}.{key}": value for key, value in level.items() if key != "name"})
    return {path: value for path, value in values.items() if value is not None}


def validator():
    return jsonschema.Draft202012Validator(read_json(os.path.join(ROOT, "results/card.schema.json")))


class Case(Scratch):
    def record_of(self, **device):
        """The name of the record of the card in the program, of such a device; without the two experiments that take nine
        tenths of the time, where what they find does not matter."""
        record = read_json(os.path.join(ROOT, f"results/characterizations/{BUILT_IN}.json"))
        record["device"].update(device)
        record["experiments"] = [one for one in record["experiments"]
                                 if one["name"] not in ("geometry_constant_modules", "geometry_global")]
        return write_json(self.path("record.json"), record)

    def run_in_root(self, *words, status=0, environment=None):
        """Relative paths, as evidence has them."""
        done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False, cwd=ROOT,
                              env={**os.environ, "CUDA_VISIBLE_DEVICES": "", **(environment or {})})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def make_card(self, record, *base, name="card.json"):
        done = self.run_in_root(CBANK, "characterize", "--replay", record, "--json", self.path("again.json"),
                                "--new-card", self.path(name), *base)
        return self.path(name), done


class Committed(Case):
    def test_they_are_valid_and_say_where_every_value_is_from(self):
        for path in sorted(glob.glob(os.path.join(ROOT, "results/cards/*.json")) +
                           glob.glob(os.path.join(ROOT, "results/base_cards/*.json"))):
            with self.subTest(path):
                card = read_json(path)
                validator().validate(card)
                self.assertEqual(set(card["origins"]), set(parameters(card)))
                named = [origin for one in [*card["origins"].values(), *card["numbers"], *card["verdicts"]]
                         for origin in one.get("evidence", [])]
                self.assertEqual(set(named), set(card["evidence"]))

    def test_their_evidence_is_committed(self):
        for name in NAMES:
            for short, file in read_json(os.path.join(ROOT, f"results/cards/{name}.json"))["evidence"].items():
                with self.subTest(file["file"]):
                    self.assertEqual(hashlib.sha256(read_bytes(os.path.join(ROOT, file["file"]))).hexdigest(),
                                     file["sha256"], "make cards makes the card again")
                    self.assertEqual(file["sha256"][:12], short)

    def test_values_are_within_their_intervals(self):
        for name in NAMES:
            card = read_json(os.path.join(ROOT, f"results/cards/{name}.json"))
            for path, value in parameters(card).items():
                origin = card["origins"][path]
                if "low" in origin:
                    self.assertLessEqual(origin["low"], value, path)
                    self.assertLessEqual(value, origin["high"], path)

    def test_the_characterization_makes_them_of_themselves(self):
        for name in NAMES:
            made, _ = self.make_card(f"results/characterizations/{name}.json", "--card", f"results/cards/{name}.json")
            self.assertEqual(read_bytes(made), read_bytes(os.path.join(ROOT, f"results/cards/{name}.json")),
                             "make cards makes the card again")

    def test_the_base_card_and_the_characterization_make_what_they_say_was_found(self):
        for name in NAMES:
            made, _ = self.make_card(f"results/characterizations/{name}.json", "--card",
                                     f"results/base_cards/{name}.json")
            made, card = read_json(made), read_json(os.path.join(ROOT, f"results/cards/{name}.json"))
            found = {path for path, origin in card["origins"].items() if origin["from"] in FOUND}
            self.assertEqual(found, {path for path, origin in made["origins"].items() if origin["from"] in FOUND})
            for path in found:
                self.assertEqual(made["origins"][path], card["origins"][path])
                self.assertEqual(parameters(made)[path], parameters(card)[path])
            for key in ("numbers", "verdicts", "skipped"):
                self.assertEqual(made[key], card[key])

    @unittest.skipUnless(HAS_SCIPY and FULL, "takes minutes, and scipy: CBANK_TEST=full")
    def test_everything_is_made_again(self):
        """make cards, into a folder. Another processor or scipy may round the last digit of a fit otherwise."""
        done = self.run_in_root("scripts/make_cards.sh", CBANK, self.folder, environment={"PYTHON": sys.executable})
        for name in NAMES:
            card, again = (read_json(path) for path in (os.path.join(ROOT, f"results/cards/{name}.json"),
                                                        self.path(f"{name}.json")))
            self.assertEqual({path: origin["from"] for path, origin in card["origins"].items()},
                             {path: origin["from"] for path, origin in again["origins"].items()})
            for path, value in parameters(card).items():
                if card["origins"][path]["from"] == "fitted":
                    self.assertAlmostEqual(parameters(again)[path] / value, 1, delta=0.01, msg=path)
                else:
                    self.assertEqual(parameters(again)[path], value, path)
            self.assertIn(f"{name}:", done.stdout)

    def test_the_model_keeps_its_bar(self):
        """On the plan that the cards are for: every cell within 10 %, every exact counter equal."""
        for name in NAMES:
            for file in ("core-matrix", "core-matrix-cold", "second-process"):
                done = self.run_in_root(CBANK, "explain", f"results/{name}/{file}.json", "--card",
                                        f"results/cards/{name}.json", "--json")
                summary = json.loads(done.stdout)["results"][0]["summary"]
                for kind in ("long", "short"):
                    self.assertEqual(summary[kind]["within"], summary[kind]["cells"], file)
                self.assertEqual(summary["exact_counters_equal"], summary["exact_counters"])


class Published(Case):
    """Cards of chips that nobody measured with cbank: by name, from any folder."""

    NAMES = sorted({os.path.basename(path)[:-5] for path in glob.glob(os.path.join(ROOT, "results/cards/*.json"))} -
                   set(NAMES))

    def test_every_value_is_published_with_its_source(self):
        self.assertGreaterEqual(len(self.NAMES), 5)
        for name in self.NAMES:
            card = read_json(os.path.join(ROOT, f"results/cards/{name}.json"))
            for path, origin in card["origins"].items():
                self.assertEqual(origin["from"], "published", f"{name}: {path}")
                self.assertGreater(len(origin["method"]), 8, f"{name}: {path}")
            for number in card["numbers"]:
                self.assertTrue(number["method"] or number["reason"], f"{name}: {number}")

    def in_folder(self, *words, status=0):
        done = subprocess.run([CBANK, *words], capture_output=True, text=True, timeout=60, check=False, cwd=self.folder,
                              env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def test_the_list_has_all(self):
        rows = json.loads(self.in_folder("list", "cards", "--json").stdout)
        self.assertEqual({row["name"] for row in rows}, {*self.NAMES, *NAMES})
        self.assertEqual({row["name"] for row in rows if row["times"]}, set(NAMES))
        v100 = next(row for row in rows if row["name"] == "v100")
        self.assertEqual((v100["gpu"], v100["compute_capability"], v100["idc"]),
                         ("V100", "7.0", "2112 bytes, lines of 64, 40 cycles"))

    def test_counts_without_times(self):
        """125 blocks put two lines into each of 80 SMs; see fills_of_a_published_chip in test_model.c."""
        for name in self.NAMES:
            result = self.path(f"{name}.json")
            self.in_folder("run", "--engine", "model", "--card", name, "--path", "constant,global", "--pattern",
                           "per_warp", "--elements", "128000", "--regime", "cold", "--json", result)
            for cell in read_json(result)["cells"]:
                if cell["status"] == "skipped":
                    self.assertLess(read_json(os.path.join(ROOT, f"results/cards/{name}.json"))["cc_major"], 3)
                    continue
                self.assertIsNone(cell["time_ns"]["value"])
                self.assertIsNone(cell["model"]["time_ns"])
                self.assertIn("the card does not know", cell["reason"])
                self.assertEqual(cell["counters"]["l1_requests"]["value"], 8000 if cell["path"] == "global" else 4000)
        constant = next(cell for cell in read_json(self.path("v100.json"))["cells"] if cell["path"] == "constant")
        self.assertEqual(constant["model"]["levels"], [{"requests": 4000, "misses": 160},
                                                       {"requests": 160, "misses": None}])
        schema = read_json(os.path.join(ROOT, "results/schema.json"))
        jsonschema.Draft202012Validator(schema).validate(read_json(self.path("v100.json")))
        self.in_folder("show", "v100.json")
        self.in_folder("export", "v100.json")
        explained = self.in_folder("explain", "v100.json", "--card", "V100")
        self.assertIn("no time: the card does not know", explained.stdout)

    def test_no_place_is_ranked(self):
        done = self.in_folder("advise", "--card", "a100", "--table-bytes", "1024", status=3)
        self.assertEqual(done.stdout, "")
        self.assertIn("the card of A100 does not know", done.stderr)
        self.in_folder("advise", "--card", "h100", "--table-bytes", "1024")

    def test_a_name_that_is_none_is_a_file(self):
        self.assertIn("v10", self.in_folder("advise", "--card", "v10", "--table-bytes", "64", status=2).stderr)


class Schema(Case):
    def refused(self, change):
        card = copy.deepcopy(self.card)
        change(card)
        with self.assertRaises(jsonschema.ValidationError):
            validator().validate(card)

    def test_it_is_strict(self):
        self.card = read_json(os.path.join(ROOT, f"results/cards/{BUILT_IN}.json"))
        validator().validate(self.card)
        origins = self.card["origins"]
        fitted, found = (next(path for path in origins if origins[path]["from"] == word)
                         for word in ("fitted", "characterized"))
        for change in (lambda card: card["origins"][fitted].update({"from": "guessed"}),
                       lambda card: card["origins"][fitted].pop("from"),
                       lambda card: card["origins"][fitted].pop("low"),
                       lambda card: card["origins"][fitted].pop("evidence"),
                       lambda card: card["origins"][fitted].update(because="so"),
                       lambda card: card["origins"][found].pop("experiment"),
                       lambda card: card["origins"]["levels.idc.ways"].pop("low"),
                       lambda card: card["levels"][0].update(replacement="not LRU"),
                       lambda card: card["origins"].update({"levels.idc": {"from": "assumed"}, "A key": {}}),
                       lambda card: card.pop("origins"), lambda card: card.pop("numbers"),
                       lambda card: card.update(source="prose"),
                       lambda card: card["evidence"].update(short={"file": "a", "sha256": "b"}),
                       lambda card: card["numbers"][0].pop("unit"), lambda card: card.update(chip=None)):
            self.refused(change)

    def test_version_1_0_is_still_valid_and_read(self):
        card = read_json(os.path.join(ROOT, f"results/cards/{BUILT_IN}.json"))
        old = {key: value for key, value in card.items() if key not in NOT_PARAMETERS[2:]}
        old["schema"]["version"] = "1.0"
        self.assertFalse(validator().is_valid(old))
        old["source"] = "somebody said so"
        validator().validate(old)
        path = write_json(self.path("old.json"), old)
        self.run_in_root(CBANK, "run", "--engine", "model", "--card", path, "--elements", "128000", "--json", "-")
        made, _ = self.make_card(self.record_of(), "--card", path)
        made = read_json(made)
        validator().validate(made)
        self.assertEqual(made["origins"]["wave_ns"], {"from": "assumed", "card": card["name"]})


class NewCard(Case):
    def test_it_is_valid_usable_and_said(self):
        card, done = self.make_card(f"results/characterizations/{BUILT_IN}.json")
        validator().validate(read_json(card))
        self.assertRegex(done.stdout, r"card .*: \d+ values characterized, \d+ of the device, \d+ of the card H200")
        self.run_in_root(CBANK, "explain", f"results/{BUILT_IN}/core-matrix.json", "--card", card)

    def test_of_another_chip(self):
        """Its values are the H200's and say so; a result of that chip can be explained."""
        card, _ = self.make_card(self.record_of(name="NVIDIA A100", compute_capability="8.0"))
        made = read_json(card)
        validator().validate(made)
        self.assertEqual((made["name"], made["cc_major"], made["origins"]["cc_major"]["from"]), ("A100", 8, "device"))
        self.assertEqual({origin["card"] for origin in made["origins"].values() if "card" in origin}, {"H200"})
        self.assertEqual(made["origins"]["wave_ns"]["from"], "assumed")
        self.assertEqual(made["origins"]["wave_ns"]["there"], "fitted")
        self.assertNotIn("chip", made)
        result = self.path("result.json")
        self.run_in_root(CBANK, "run", "--engine", "model", "--card", card, "--elements", "128000", "--json", result)
        self.run_in_root(CBANK, "explain", result, "--card", card, "--json")
        again, _ = self.make_card(self.path("record.json"), "--card", card, name="again-card.json")
        self.assertEqual(read_json(again), made)

    def test_json_to_stdout_is_json_alone(self):
        done = self.run_in_root(CBANK, "characterize", "--replay", self.record_of(), "--json", "-", "--new-card",
                                self.path("card.json"))
        self.assertEqual(json.loads(done.stdout)["schema"]["name"], "cbank-characterization")
        self.assertTrue(read_json(self.path("card.json"))["evidence"])

    def test_what_is_wrong(self):
        base = read_json(os.path.join(ROOT, f"results/cards/{BUILT_IN}.json"))
        bad = write_json(self.path("bad.json"), {**base, "sm_count": 0})
        record = self.record_of()
        for words, said in ((["--card", f"results/cards/{BUILT_IN}.json"], "--new-card"),
                            (["--new-card", self.path("card.json"), "--card", "missing.json"], "missing.json"),
                            (["--new-card", self.path("card.json"), "--card", bad], "sm_count"),
                            (["--new-card", self.path("no/card.json")], "card.json")):
            with self.subTest(said):
                done = self.run_in_root(CBANK, "characterize", "--quiet", "--replay", record, "--json",
                                        self.path("again.json"), *words, status=2)
                self.assertIn(said, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertFalse(os.path.exists(self.path("card.json")))


class Fit(Case):
    """Results of the model engine with a card, and the fit from another one."""

    PLANTED = {"wave_ns": 900, "cold_ns": 400, "l1_miss_cycles": 2.5, "block_l2_ns": 350, "block_dram_ns": 900}

    def planted(self):
        card = read_json(os.path.join(ROOT, f"results/base_cards/{BUILT_IN}.json"))
        card.update(self.PLANTED, launch_ns=700, copy_ns=9999, l2_bytes_per_ns=50000, dram_bytes_per_ns=50000)
        card["levels"][1]["request_cycles"] = 3.0
        return card

    def result(self, *words, name="result.json"):
        path = self.path(name)
        self.run_in_root(CBANK, "run", "--engine", "model", "--card", write_json(self.path("planted.json"), self.planted()),
                         "--regime", "all", *words, "--json", path)
        return path

    def fit(self, *words, status=0):
        done = run_script("fit_card.py", "--program", CBANK, *words, folder=ROOT, loads=("scipy.optimize", "scipy.stats"))
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done

    @unittest.skipIf(QUICK, NOT_QUICK)
    @unittest.skipUnless(HAS_SCIPY, "no scipy")
    def test_planted_parameters_are_found_and_others_left(self):
        patterns = ["--pattern", "per_warp,per_thread,pseudo_random"]
        # What a large cell on the constant path says takes the model long.
        plans = repetitions([["--elements", "128000,270336,2000000,8000000,12800000,25600000"]],
                            [["--path", "constant", "--elements", "96000,128000", *patterns],
                             ["--path", "global,readonly", "--elements", "128000,2000000", *patterns]])
        results = [self.result(*plan, name=f"result-{i}.json") for i, plan in enumerate(plans)]
        base = self.planted()
        base.update({name: 1.3 * value for name, value in self.PLANTED.items()}, launch_ns=610)
        base["levels"][1]["request_cycles"] = 2.2
        base["origins"]["cc_major"] = {"from": "device"}
        start, out = write_json(self.path("start.json"), base), self.path("fitted.json")
        done = self.fit("--card", start, "-o", out, "--check", results[0], *results)
        fitted = read_json(out)
        validator().validate(fitted)
        values = parameters(fitted)
        for name, value in {**self.PLANTED, "launch_ns": 700, "levels.gcc.request_cycles": 3}.items():
            self.assertAlmostEqual(values[name] / value, 1, delta=0.03, msg=done.stdout)
            self.assertEqual(fitted["origins"][name]["from"], "fitted")
            files = {fitted["evidence"][one]["file"] for one in fitted["origins"][name]["evidence"]}
            self.assertTrue(files and files <= set(results), name)
        # No cell refills, stages or asks L2; what the driver says is not fitted.
        for name in ("copy_ns", "copy_bytes_per_ns", "staging_wait_cycles", "l2_request_ns"):
            self.assertEqual(values[name], parameters(base)[name])
            self.assertEqual(fitted["origins"][name]["from"], "assumed")
            self.assertTrue(fitted["origins"][name]["reason"].startswith("not fitted: "))
        self.assertEqual(fitted["origins"]["cc_major"], {"from": "device"})
        self.assertRegex(done.stdout, r"(?m)^wave_ns +1170 +(89|90)\d")
        self.assertIn("not fitted to", done.stdout)

    @unittest.skipUnless(HAS_SCIPY, "no scipy")
    def test_the_same_input_gives_the_same_card(self):
        result = self.result("--elements", "128000", "--path", "global", "--pattern", "per_warp,pseudo_random")
        start = write_json(self.path("start.json"), {**self.planted(), "wave_ns": 1.3 * self.PLANTED["wave_ns"]})
        printed = [self.fit("--card", start, "-o", self.path(name), result).stdout for name in ("one.json", "two.json")]
        self.assertAlmostEqual(read_json(self.path("one.json"))["wave_ns"] / self.PLANTED["wave_ns"], 1, delta=0.03, msg=printed[0])
        self.assertEqual(printed[0], printed[1])
        self.assertEqual(read_bytes(self.path("one.json")), read_bytes(self.path("two.json")))

    @unittest.skipUnless(HAS_SCIPY, "no scipy")
    def test_bad_input(self):
        card, result = f"results/base_cards/{BUILT_IN}.json", f"results/{BUILT_IN}/core-matrix.json"
        for words, said in ((["--card", "missing.json", result], "missing.json"),
                            (["--card", card, "missing.json"], "missing.json"),
                            (["--card", result, result], "not a cbank-card"),
                            (["--card", card, card], "not a cbank-result"),
                            (["--card", card], "RESULT")):
            with self.subTest(words):
                self.assertIn(said, self.fit(*words, "-o", self.path("out.json"), status=2).stderr)
                self.assertFalse(os.path.exists(self.path("out.json")))
        other = write_json(self.path("other.json"), {**read_json(os.path.join(ROOT, card)), "sm_count": 7})
        self.assertIn("not comparable", self.fit("--card", other, "-o", self.path("out.json"), result, status=3).stderr)

    def test_without_scipy(self):
        os.mkdir(self.path("scipy"))
        with open(self.path("scipy/__init__.py"), "w", encoding="utf-8") as file:
            file.write("raise ImportError('there is no scipy')\n")
        done = self.run_in_root(sys.executable, "scripts/fit_card.py", "--card", "a", "-o", "b", "c", status=3,
                                environment={"PYTHONPATH": self.folder})
        self.assertIn("python3-scipy", done.stderr)


if __name__ == "__main__":
    unittest.main()
