#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""End-to-end tests of characterize on the committed answers of a real GPU and on copies of them with a planted change.
CBANK names the program (default build/cbank)."""

import copy
import json
import os
import re
import subprocess
import unittest

import jsonschema

from common import ROOT, Scratch, read_json

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
RECORDED = os.path.join(ROOT, "results/characterizations/h200.json")
LONG = ("geometry_constant_modules", "geometry_global")  # of all its time, nine tenths
FOUND = ("name", "path", "status", "reason", "numbers", "verdicts", "geometry", "groups")


TEXTS = {"method", "reason", "sentence"}  # which may be said better


def stripped(value):
    if isinstance(value, dict):
        return {key: stripped(item) for key, item in value.items() if key not in TEXTS}
    return [stripped(item) for item in value] if isinstance(value, list) else value


def found(file):
    """What was found, by the experiment."""
    return {experiment["name"]: {key: experiment.get(key) for key in FOUND} for experiment in file["experiments"]}


def number(experiment, name, **of):
    numbers = [one for one in experiment["numbers"]
               if one["name"] == name and all(one.get(key) == value for key, value in of.items())]
    assert len(numbers) == 1, (name, of, numbers)
    return numbers[0]


class Characterize(Scratch):
    @classmethod
    def setUpClass(cls):
        cls.recorded = read_json(RECORDED)
        cls.unchanged = []

    def cbank(self, *arguments, status=0, environment=None):
        done = subprocess.run([CBANK, "characterize", *arguments], capture_output=True, text=True, timeout=300,
                              check=False, cwd=self.folder, env={**os.environ, "CUDA_VISIBLE_DEVICES": "", **(environment or {})})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    @staticmethod
    def validate(file, schema="characterization"):
        jsonschema.Draft202012Validator(read_json(os.path.join(ROOT, f"results/{schema}.schema.json"))).validate(file)

    def record(self, change, without=LONG):
        """The name of a copy of the record, but for experiments that it is without, after change(record)."""
        record = copy.deepcopy({**self.recorded, "experiments": [one for one in self.recorded["experiments"]
                                                                 if one["name"] not in without]})
        change(record)
        path = os.path.join(self.folder, "record.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(record, file)
        return path

    def replayed(self, path):
        """What the analysis finds in a record, valid under the schema."""
        self.cbank("--replay", path, "--json", "again.json")
        again = read_json(os.path.join(self.folder, "again.json"))
        self.validate(again)
        return again

    def replay(self, change, without=LONG):
        return self.replayed(self.record(change, without))

    def again(self):
        """What it finds in the record as it is, once for all tests: they change nothing of it."""
        if not self.unchanged:
            self.unchanged.append(self.replayed(RECORDED))
        return self.unchanged[0]

    def test_the_record_gives_what_it_gave(self):
        again = dict(self.again())
        names = [experiment["name"] for experiment in self.recorded["experiments"]]
        newer = [experiment for experiment in again["experiments"] if experiment["name"] not in names]
        again["experiments"] = [experiment for experiment in again["experiments"] if experiment["name"] in names]
        self.assertEqual({experiment["status"] for experiment in newer} - {"skipped"}, set())
        self.assertEqual(stripped(found(again)), stripped(found(self.recorded)))
        self.assertEqual([experiment["evidence"] for experiment in again["experiments"]],
                         [experiment["evidence"] for experiment in self.recorded["experiments"]])
        self.assertEqual(again["device"], self.recorded["device"])
        self.assertEqual(again["probes"], self.recorded["probes"])
        self.assertEqual(again["replayed"], RECORDED)

    def test_what_it_writes_gives_the_same_again(self):
        """The file that a replay writes is a record, too."""
        first, path = self.again(), os.path.join(self.folder, "first.json")
        self.assertEqual(first["schema"]["version"], "2.0")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(first, file)
        twice = self.replayed(path)
        for key in ("device", "probes"):
            self.assertEqual(twice[key], first[key])
        self.assertEqual([{**one, "seconds": 0} for one in twice["experiments"]],
                         [{**one, "seconds": 0} for one in first["experiments"]])

    def test_an_experiment_that_the_record_lacks(self):
        """It is skipped with the reason, in the file and on the screen; what rests on it is, too; the others stay."""
        def change(record):
            record["experiments"] = [one for one in record["experiments"] if one["name"] != "geometry_constant"]

        again = found(self.replay(change, without=()))
        self.assertEqual((again["geometry_constant"]["status"], again["geometry_constant"]["numbers"]), ("skipped", []))
        for name in ("invalidation_constant", "sharing_constant", "code_constant", "counts_constant"):
            self.assertEqual(again[name]["status"], "skipped")
        before = found(self.recorded)
        for name in ("latency_constant", "geometry_constant_modules", "throughput_shared"):
            self.assertEqual(again[name], before[name])

    def test_a_rate_of_cycles_that_may_be_none(self):
        """Its interval would have no end: there is no such rate, and the bandwidth is that of the others, if any."""
        def change(record, warps=" warps 16 ", none=10):
            full, = [one for one in record["experiments"] if one["name"] == "throughput_global"]
            for asked in full["evidence"]:
                if warps in asked["asked"] and "iterations 69" in asked["asked"]:
                    asked["answer"] = " ".join([f"0*{none}", *(asked["answer"].split()[none:])])

        numbers = found(self.replay(change, without=()))["throughput_global"]["numbers"]
        cycles, rate = [one for one in numbers if one.get("warps") == 16]
        self.assertLess(cycles["low"], 0)
        self.assertGreater(cycles["value"], 0)
        self.assertEqual([rate[key] for key in ("value", "low", "high", "reason")],
                         [None, None, None, "the interval of its cycles holds 0"])
        for one in numbers:
            if one["value"] is not None:
                self.assertLessEqual(one["low"], one["value"])
                self.assertLessEqual(one["value"], one["high"])
        *_, bandwidth = found(self.replay(lambda record: change(record, "", 21), without=()))["throughput_global"]["numbers"]
        self.assertEqual([bandwidth[key] for key in ("name", "value", "reason")],
                         ["broadcast_bandwidth", None, "no rate is known"])

    def test_every_verdict_is_a_sentence(self):
        """None is left in the words of the program, and all are of a kind."""
        for experiment in self.again()["experiments"]:
            for verdict in experiment["verdicts"]:
                self.assertRegex(verdict["sentence"], r"^[A-Z][^_]*\.$")
                self.assertNotRegex(verdict["sentence"], "[#@*]")
        lost, = [verdict for verdict in self.again()["experiments"][26]["verdicts"]
                 if (verdict["level"], verdict["before"]) == (1, "launch")]
        self.assertEqual(lost["sentence"], "Level 1 is emptied by a kernel launch: 0 % of later accesses hit.")

    def test_text_for_its_width(self):
        """No line is wider than the terminal, and on a wide one nothing is cut."""
        for width in (60, 80, 160):
            done = self.cbank("--replay", RECORDED, environment={"COLUMNS": str(width)})
            self.assertLessEqual(max(map(len, done.stdout.splitlines()[:-1])), width)
            words = done.stdout.split()
            for word in ("pseudo-LRU", "skipped:", "lines_counted:"):
                self.assertIn(word, words)

    def test_the_committed_record_is_of_a_clean_tree(self):
        self.assertIs(self.recorded["tool"]["git_dirty"], False)
        self.assertIsNone(self.recorded["replayed"])
        self.validate(self.recorded, "characterization")

    def test_it_prints_what_it_writes_and_tells_how_far_it_is(self):
        record = self.record(lambda record: None)
        done = self.cbank("--replay", record)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "characterization.json")))
        self.assertIn("latency_constant: ", done.stdout)
        self.assertIn("1 of 34: latency_constant", done.stderr)
        quiet = self.cbank("--replay", record, "--quiet")
        self.assertEqual(quiet.stdout + quiet.stderr, "")
        self.assertEqual(json.loads(self.cbank("--replay", record, "--json", "-").stdout)["schema"]["name"],
                         "cbank-characterization")

    def change_answers(self, record, pattern, change):
        """Every answer to a question that the pattern is in: change(numbers)."""
        changed = 0
        for experiment in record["experiments"]:
            for exchange in experiment["evidence"]:
                if re.search(pattern, exchange["asked"]):
                    numbers = []
                    for word in exchange["answer"].split():
                        value, _, times = word.partition("*")
                        numbers += [int(value)] * int(times or 1)
                    exchange["answer"] = " ".join(str(value) for value in change(numbers))
                    changed += 1
        self.assertGreater(changed, 0)

    def test_a_chip_that_serializes_by_line(self):
        """As if all of 4 bytes apart were in one line, and cost nothing."""
        free = {}

        def change(record):
            for exchange in (one for experiment in record["experiments"] for one in experiment["evidence"]):
                key = re.sub(r"distinct \d+ stride \d+", "", exchange["asked"])
                if exchange["asked"].startswith(("chain constant ", "stream constant ")):
                    if " distinct 1 " in exchange["asked"] and "stride 4 " in exchange["asked"]:
                        free.setdefault(key, exchange["answer"])
                    elif " stride 4 " in exchange["asked"]:
                        exchange["answer"] = free[key]

        verdicts = {verdict["name"]: verdict["value"]
                    for verdict in found(self.replay(change))["serialization_constant"]["verdicts"]}
        self.assertEqual(verdicts, {"latency_grows_per": "line", "throughput_falls_per": "line"})

    def test_a_slower_load_is_slower_by_as_much(self):
        def change(record):
            self.change_answers(record, "^chain shared distinct 1 stride 4 warps 1 iterations 69 ",
                                lambda numbers: [value + 1024 for value in numbers])

        before = number(found(self.recorded)["latency_shared"], "latency")
        after = number(found(self.replay(change))["latency_shared"], "latency")
        for key in ("value", "low", "high"):
            self.assertAlmostEqual(after[key], before[key] + 1)

    def test_one_point_off_the_line(self):
        """32 addresses 4 bytes apart take 31 cycles more. Of x = distinct - 1 = 0, 1, 3, 7, 15, 31 the mean is 9.5 and
        the squares about it are 703.5: the cost grows by 31 (31 - 9.5) / 703.5, not as 64 bytes apart."""
        def change(record):
            self.change_answers(record, "^chain constant distinct 32 stride 4 warps 1 iterations 69 ",
                                lambda numbers: [value + 31 * 1024 for value in numbers])

        before, after = (found(file)["serialization_constant"] for file in (self.recorded, self.replay(change)))
        more = 31 * (31 - 9.5) / 703.5
        for stride, name, expected in ((4, "latency_per_extra_address", more), (4, "latency_base", 31 / 6 - 9.5 * more),
                                       (64, "latency_per_extra_address", 0), (64, "latency_base", 0)):
            self.assertAlmostEqual(number(after, name, stride_bytes=stride)["value"]
                                   - number(before, name, stride_bytes=stride)["value"], expected)
        self.assertGreater(number(after, "latency_largest_deviation", stride_bytes=4)["value"], 5)
        self.assertEqual([{verdict["name"]: verdict["value"] for verdict in experiment["verdicts"]}
                          for experiment in (before, after)],
                         [{"latency_grows_per": "address", "throughput_falls_per": "address"},
                          {"latency_grows_per": None, "throughput_falls_per": "address"}])

    def test_points_that_are_on_no_line(self):
        """32 addresses 4 bytes apart take as long as one: the cost has an interval wider than itself, and says nothing."""
        def change(record):
            self.change_answers(record, "^chain constant distinct 32 stride 4 warps 1 iterations 69 ",
                                lambda numbers: [value - 341 * 1024 for value in numbers])

        after = found(self.replay(change))["serialization_constant"]
        cost = number(after, "latency_per_extra_address", stride_bytes=4)
        self.assertGreater(cost["high"] - cost["low"], cost["value"])
        self.assertEqual({verdict["name"]: verdict["value"] for verdict in after["verdicts"]},
                         {"latency_grows_per": None, "throughput_falls_per": "address"})

    def test_a_launch_that_keeps_the_first_level(self):
        """Every access after another launch takes what a hit of the first level takes."""
        def change(record):
            self.change_answers(record, r"^walk constant .* before launch list 0\+64\*16$",
                                lambda numbers: [34] * len(numbers))

        verdicts = {(verdict["level"], verdict["before"]): verdict["value"]
                    for verdict in found(self.replay(change))["invalidation_constant"]["verdicts"]}
        self.assertEqual(verdicts[1, "launch"], "kept")
        self.assertEqual(verdicts[1, "copy"], "lost")

    def test_a_walk_that_empties_nothing(self):
        """Where the level answers after a walk over twice its size as it does while it holds the table, nothing says what
        empty is."""
        def change(record):
            self.change_answers(record, r"^walk constant .* before nothing list 0\+64\*80$",
                                lambda numbers: [34] * len(numbers))

        verdicts = [verdict for experiment in self.replay(change)["experiments"]
                    for verdict in experiment["verdicts"] if verdict["name"] == "what_it_held_is"]
        self.assertEqual(len(verdicts), 7)  # of the levels that the shorter record finds
        for verdict in verdicts:
            self.assertEqual(verdict["value"], None if verdict["level"] == 1 else "lost")
            self.assertEqual("too near to tell" in verdict["reason"], verdict["level"] == 1)

    def test_sms_that_share_nothing(self):
        def change(record):
            self.change_answers(record, "^sharing ",
                                lambda numbers: [value if i % 2 == 0 else 320 for i, value in enumerate(numbers)])

        experiment = found(self.replay(change))["sharing_constant"]
        self.assertEqual([len(group) for group in experiment["groups"]], [1] * self.recorded["device"]["sm_count"])

    def test_the_level_that_one_bank_does_not_fill(self):
        """Eight banks: the second level is found by walks over more than 64 KB, and what the first makes of banks."""
        levels = found(self.recorded)["geometry_constant_modules"]["geometry"]["levels"]
        self.assertEqual([levels[1][name]["value"] for name in ("capacity_bytes", "ways", "sets", "line_bytes")],
                         [8 * 64 * 256, 8, 64, 256])
        self.assertEqual(levels[0]["bank_swaps"], list(range(8)))

    def swapped_by(self, addresses):
        def change(record):
            record["probes"]["bank_addresses"] = addresses

        verdict, = found(self.replay(change, without=("geometry_global",)))["geometry_constant_modules"]["verdicts"]
        return verdict["value"]

    def test_what_swaps_sets(self):
        self.assertEqual(self.swapped_by([(5 + k) << 16 for k in range(8)]), "order of launches")
        self.assertIsNone(self.swapped_by([k << 16 for k in range(8)]))  # it could be either

    def test_code_that_pushes_nothing_out(self):
        def change(record):
            self.change_answers(record, "^code ", lambda numbers: [104] * len(numbers))

        experiment = found(self.replay(change))["code_constant"]
        self.assertEqual([verdict["value"] for verdict in experiment["verdicts"]], ["not seen"])
        self.assertEqual({one["value"] for one in experiment["numbers"]}, {0})

    def test_counters_that_contradict_time(self):
        """One line more, in one walk."""
        def change(record):
            self.change_answers(record, r"^count constant of walk .* list 0\+64\*33$",
                                lambda numbers: [numbers[0], numbers[1] + 1, *numbers[2:]])

        before, after = (found(file)["counts_constant"]["verdicts"][0] for file in (self.recorded, self.replay(change)))
        self.assertEqual((before["level"], before["value"], after["value"]), (1, "agree", "differ"))
        self.assertIn("largest difference 1 lines", after["reason"])

    def test_cycles_of_the_unit(self):
        """Made up: 3 cycles a request and 5 a line."""
        def change(record):
            self.change_answers(record, "^count constant of walk ",
                                lambda numbers: [*numbers[:4], 3 * numbers[0] + 5 * numbers[1], numbers[5]])

        experiment = found(self.replay(change))["counts_constant"]
        for name, expected in (("active_cycles_per_request", 3), ("active_cycles_per_line", 5)):
            one = number(experiment, name)
            for key in ("value", "low", "high"):
                self.assertAlmostEqual(one[key], expected, places=6)

    def test_without_counters(self):
        def change(record):
            for kernel in record["probes"]["kernels"]:
                if kernel["probe"] == "count":
                    kernel.update(usable=False, reason="no permission")

        again = found(self.replay(change))
        self.assertEqual((again["counts_constant"]["status"], again["counts_constant"]["reason"]),
                         ("skipped", "no permission"))
        self.assertEqual(again["activity_param"]["status"], "skipped")
        self.assertEqual(again["throughput_constant"]["status"], "ok")

    def test_a_probe_whose_loads_are_others_is_not_believed(self):
        def change(record):
            for kernel in record["probes"]["kernels"]:
                if (kernel["probe"], kernel["path"]) == ("chain", "constant_uniform"):
                    kernel.update(usable=False, reason="the compiler made 16 LDC")

        experiment = found(self.replay(change))["latency_constant_uniform"]
        self.assertEqual((experiment["status"], experiment["reason"], experiment["numbers"]),
                         ("skipped", "the compiler made 16 LDC", []))

    def test_records_that_lack_what_is_asked(self):
        def lacks(record):
            record["experiments"][0]["evidence"].pop()

        def short(record):
            self.change_answers(record, "^chain constant distinct 1 ", lambda numbers: numbers[1:])

        def nonsense(record):
            record["experiments"][0]["evidence"][0]["answer"] = "28*21x"

        def untold(record):
            del record["experiments"][0]["evidence"][0]["answer"]

        def another(record):
            record["schema"]["name"] = "cbank-card"

        for change, message in ((short, "has no answer to"), (nonsense, "has no answer to"), (untold, "evidence[0].answer: expected a string"),
                                (another, "is no characterization")):
            with self.subTest(change.__name__):
                path = self.record(change)
                said = self.cbank("--replay", path, "--json", "again.json", status=2).stderr
                self.assertIn(message, said)
                self.assertIn(path, said)
        # What is asked twice is answered by the other.
        self.replay(lacks)
        self.assertIn("cannot", self.cbank("--replay", "none.json", status=2).stderr)

    def test_files_that_are_no_records(self):
        """Each ends it with 2, its name in the message and nothing written."""
        with open(RECORDED, encoding="utf-8") as file:
            text = file.read()
        path = os.path.join(self.folder, "planted.json")
        for content, message in ((text[:len(text) // 2], "truncated"), ("", "empty"), ("{}", "schema: expected an object"),
                                 ("# no JSON", "not JSON"), (None, "No such file")):
            with self.subTest(message):
                if content is None:
                    os.remove(path)
                else:
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(content)
                done = self.cbank("--replay", path, status=2)
                self.assertIn(path, done.stderr)
                self.assertIn(message, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertFalse(os.path.exists(os.path.join(self.folder, "characterization.json")))
        result = os.path.join(ROOT, "results/h200/core-matrix.json")
        self.assertIn("is no characterization", self.cbank("--replay", result, status=2).stderr)

    def test_without_a_gpu(self):
        message = self.cbank(status=3).stderr
        self.assertIn("--replay", message)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "characterization.json")))


if __name__ == "__main__":
    unittest.main()
