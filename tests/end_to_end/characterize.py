#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""End-to-end tests of characterize on the committed answers of GPUs, and on copies of them with
a planted change. CBANK names the program (default build/cbank)."""

import json
import os
import re
import statistics
import unittest

import jsonschema

from common import CBANK, ROOT, Scratch, cbank, read_bytes, read_json

RECORDED = os.path.join(ROOT, "results/characterizations/h200.json")
COMMITTED = [
    os.path.join(ROOT, "results", *name.split("/"))
    for name in (
        "characterizations/h200.json",
        "characterizations/h100.json",
        "chips/h200/characterization.json",
        "chips/h100/characterization.json",
        "characterizations/h100-second.json",
    )
]
LONG = ("geometry_constant_modules", "geometry_global")  # of all its time, nine tenths

# The geometry of an H100 and an H200, by experiment and level: fetch, line, fits, capacity, ways,
# sets, replacement. The memory behind the last cache has none.
UNKNOWN = [None] * 7
FIRST = [64, 64, 2048, 2048, 4, 8, "tree pseudo-LRU"]
GEOMETRY = {
    "geometry_constant": [FIRST, [256, *UNKNOWN[1:]], UNKNOWN],
    "geometry_constant_modules": [
        FIRST,
        [256, 256, 131072, 131072, 8, 64, "tree pseudo-LRU"],
        UNKNOWN,
    ],
    "geometry_global": [[32, None, 246784, None, None, None, None], UNKNOWN],
}
FINDINGS = ("fetch_bytes", "line_bytes", "fits_bytes", "capacity_bytes", "ways", "sets")

# The program found these when it made the committed records, and does not look for them any more.
GONE = re.compile("crossover_|activity_|code_|counts_|cold_|latency_global_l2")
GONE_NUMBERS = re.compile("cycles_(not_)?shared")
GONE_PROBES = ("code", "count")
GONE_VERDICTS = ("sets_swapped_by",)

FOUND = ("name", "path", "status", "reason", "numbers", "verdicts", "geometry", "groups")
# may be said better; the last two are in older records alone
TEXTS = {"method", "reason", "sentence", "plateaus", "bank_swaps"}
TEXTS |= {"latency", "timing_cycles"}  # of levels: another number in version 1.0


def stripped(value):
    if isinstance(value, dict):
        return {key: stripped(item) for key, item in value.items() if key not in TEXTS}
    return [stripped(item) for item in value] if isinstance(value, list) else value


def found(file):
    """The findings of a file that the program still looks for, by experiment."""
    return {
        experiment["name"]: {
            **{key: experiment.get(key) for key in FOUND},
            "numbers": [
                one for one in experiment["numbers"] if not GONE_NUMBERS.match(one["name"])
            ],
            "verdicts": [one for one in experiment["verdicts"] if one["name"] not in GONE_VERDICTS],
        }
        for experiment in file["experiments"]
        if not GONE.match(experiment["name"])
    }


def number(experiment, name, **of):
    (one,) = [
        one
        for one in experiment["numbers"]
        if one["name"] == name and all(one.get(key) == value for key, value in of.items())
    ]
    return one


def verdicts(experiment):
    return {
        (verdict["name"], verdict.get("level"), verdict.get("before")): verdict["value"]
        for verdict in experiment["verdicts"]
    }


def answers(exchange):
    """The numbers of an answer."""
    words = (word.partition("*") for word in exchange["answer"].split())
    return [int(value) for value, _, times in words for _ in range(int(times or 1))]


def change_answers(record, pattern, change):
    """change(numbers) of every answer to a question that the pattern is in. How many there were."""
    changed = [
        one
        for experiment in record["experiments"]
        for one in experiment["evidence"]
        if re.search(pattern, one["asked"])
    ]
    for exchange in changed:
        exchange["answer"] = " ".join(str(value) for value in change(answers(exchange)))
    return len(changed)


class Case(Scratch):
    def cbank(self, *arguments, status=0, environment=None):
        done = cbank(
            "characterize",
            *arguments,
            folder=self.folder,
            **{"CUDA_VISIBLE_DEVICES": "", **(environment or {})},
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def replayed(self, path):
        """The analysis of a record, valid under the schema."""
        self.cbank("--quiet", "--replay", path, "--json", "again.json")
        again = read_json(os.path.join(self.folder, "again.json"))
        jsonschema.Draft202012Validator(
            read_json(os.path.join(ROOT, "results/characterization.schema.json"))
        ).validate(again)
        return again

    def record(self, change, without=LONG):
        """The name of a copy of the record, but for experiments that it is without, after
        change(record)."""
        recorded = read_json(RECORDED)
        recorded["experiments"] = [
            one for one in recorded["experiments"] if one["name"] not in without
        ]
        change(recorded)
        path = os.path.join(self.folder, "record.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(recorded, file)
        return path

    def replay(self, change, without=LONG):
        return found(self.replayed(self.record(change, without)))


class Records(Case):
    def test_a_latency_has_one_value(self):
        """By path and level, in a document, its figure and its pages. An interval over places
        holds the value of another board of the model, and loads of one line, which had no part
        in it."""
        page, boards = read_bytes(os.path.join(ROOT, "docs/chip.md")).decode(), {}
        for path in COMMITTED:
            recorded, said = read_json(path), {}
            for of in found(self.replayed(path)).values():
                chain = (
                    [one for one in of["numbers"] if one["name"] == "latency"][:1]
                    if of["name"].startswith("latency_")
                    else []
                )
                for level, one in enumerate(
                    chain
                    + [one["latency"] for one in (of["geometry"] or {"levels": []})["levels"]],
                    1,
                ):
                    said.setdefault((of["path"], level), set()).update(
                        {(one["value"], one["low"], one["high"])} - {(None, None, None)}
                    )
            self.assertEqual([key for key, values in said.items() if len(values) > 1], [])
            (_, *constant), (l2, *interval) = (
                next(iter(said[of, 2])) for of in ("constant", "global")
            )
            boards.setdefault(recorded["device"]["name"], []).append((l2, interval))
            one_line = [
                statistics.median(answers(one))
                for experiment in recorded["experiments"]
                if experiment["name"] == "latency_global_l2"
                for one in experiment["evidence"]
            ]
            self.assertTrue(
                not one_line or interval[0] <= (one_line[1] - one_line[0]) / 1024 <= interval[1],
                path,
            )
            # by hand: from the nearest and the farthest SM of a GPC
            self.assertEqual(constant, [93, 111])
            if "chips" in path:
                column = 2 + ("h100" in path)
                rows = {
                    row.split("|")[1].split(",")[0].strip(): row.split("|")[column]
                    for row in page.split("\n")
                    if "latency over" in row
                }
                self.assertEqual(
                    [row.split(" (1)")[0].strip() for row in rows.values()],
                    [
                        f"{value:.5g}, {low:.5g} to {high:.5g}"
                        for of in ("constant", "global")
                        for value, low, high in said[of, 2]
                    ],
                )
            elif "h200" in path:
                drawn = read_bytes(os.path.join(ROOT, "docs/figures/h200-capacity.txt")).decode()
                self.assertEqual(
                    re.findall(r"level 2: ([\d.]+) cycles, 128 KB", drawn),
                    ["%.4g" % value for value, _, _ in said["constant", 2]],
                )
        # its lines are seen from every SM
        second = read_json(os.path.join(ROOT, "results/characterizations/h100-second.json"))
        (geometry,) = (
            one["geometry"] for one in second["experiments"] if one["name"] == "geometry_global"
        )
        latency = geometry["levels"][1]["latency"]
        self.assertEqual(latency["samples"], 132 * 256)
        boards[second["device"]["name"]].append(
            (latency["value"], (latency["low"], latency["high"]))
        )
        for (one, _), (_, (low, high)) in (
            (a, b) for of in boards.values() for a in of for b in of
        ):
            self.assertTrue(low <= one <= high)

    def test_committed_records_give_what_they_gave(self):
        for path in COMMITTED:
            with self.subTest(path):
                recorded, again = read_json(path), self.replayed(path)
                names = {one["name"] for one in recorded["experiments"]}
                newer = [one for one in again["experiments"] if one["name"] not in names]
                self.assertEqual({one["status"] for one in newer} - {"skipped"}, set())
                again["experiments"] = [one for one in again["experiments"] if one["name"] in names]
                self.assertEqual(stripped(found(again)), stripped(found(recorded)))
                probes = recorded["probes"]
                for key in ("chunk_bytes", "bank_addresses"):
                    probes.pop(key, None)
                probes["kernels"] = [
                    one for one in probes["kernels"] if one["probe"] not in GONE_PROBES
                ]
                # probes that the record lacks answer nothing
                had = {one["probe"] for one in probes["kernels"]}
                later = [one for one in again["probes"]["kernels"] if one["probe"] not in had]
                self.assertFalse(any(one["usable"] for one in later))
                again["probes"]["kernels"] = [
                    one for one in again["probes"]["kernels"] if one["probe"] in had
                ]
                recorded["device"].setdefault("board", None)
                for key in ("device", "probes"):
                    self.assertEqual(again[key], recorded[key])
                self.assertEqual(
                    {one["name"]: one["evidence"] for one in again["experiments"]},
                    {
                        one["name"]: one["evidence"]
                        for one in recorded["experiments"]
                        if not GONE.match(one["name"])
                    },
                )
                self.assertEqual(
                    (again["replayed"], recorded["replayed"], recorded["tool"]["git_dirty"]),
                    (path, None, False),
                )
                for name, levels in GEOMETRY.items():
                    self.assertEqual(
                        [
                            [*(level[key]["value"] for key in FINDINGS), level["replacement_name"]]
                            for level in found(again)[name]["geometry"]["levels"]
                        ],
                        levels,
                    )
                for verdict in (
                    one for experiment in again["experiments"] for one in experiment["verdicts"]
                ):
                    self.assertRegex(verdict["sentence"], r"^[A-Z][^_#@]*\.$")

    def test_an_experiment_that_the_record_lacks_is_skipped_with_what_rests_on_it(self):
        again, before = self.replay(lambda record: None, without=("geometry_constant",)), found(
            read_json(RECORDED)
        )
        self.assertIn("the record lacks this experiment", again["geometry_constant"]["reason"])
        for name in ("invalidation_constant", "sharing_constant"):
            self.assertEqual((again[name]["status"], again[name]["numbers"]), ("skipped", []))
        for name in ("latency_constant", "geometry_constant_modules", "throughput_shared"):
            self.assertEqual(stripped(again[name]), stripped(before[name]))

    def test_a_record_without_an_experiment_is_no_success(self):
        path = self.record(lambda record: record.update(experiments=[]))
        done = self.cbank("--quiet", "--replay", path, "--json", "again.json", status=3)
        self.assertIn(
            "nothing was measured: every experiment was skipped, the first is", done.stderr
        )

    def test_who_reads_one_that_did_not_end_is_told(self):
        path = self.record(lambda record: record.update(interrupted=True))
        said = f"{path} was interrupted after {len(read_json(path)['experiments'])} experiments"
        done = self.cbank("--quiet", "--replay", path, "--json", "again.json")
        shown = cbank("show", path, folder=self.folder)
        for one in (done, shown):
            self.assertIn(said, one.stderr)
            self.assertIn("--resume", one.stderr)
        self.assertEqual(shown.returncode, 0)

    def test_records_that_cannot_answer_are_refused(self):
        for what, change in (
            (
                "has no answer to",
                lambda record: change_answers(
                    record, "^chain constant distinct 1 ", lambda n: n[1:]
                ),
            ),
            (
                "has no answer to",
                lambda record: record["experiments"][0]["evidence"][0].update(answer="28*21x"),
            ),
            (
                "experiments[0].evidence[0].answer: expected",
                lambda record: record["experiments"][0]["evidence"][0].pop("answer"),
            ),
            ("is no characterization", lambda record: record["schema"].update(name="cbank-card")),
            ("version", lambda record: record["schema"].update(version="99.0")),
            ("sm_count", lambda record: record["device"].update(sm_count=0)),
            ("samples_max", lambda record: record["probes"].update(samples_max=64)),
            ("schema", dict.clear),
        ):
            with self.subTest(what):
                path = self.record(change)
                self.refused(path, what, path)
        for content in ("", "# no JSON", '{"schema": {'):
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
            self.refused(path, path)
        self.refused("none.json", "No such file")
        # another experiment asks the same
        self.replay(lambda record: record["experiments"][0]["evidence"].pop())

    def refused(self, path, *said):
        done = self.cbank("--quiet", "--replay", path, "--json", "out.json", status=2)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for what in said:
            self.assertIn(what, done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "out.json")))

    def test_it_prints_what_it_writes_for_the_width_of_the_terminal(self):
        record = self.record(lambda record: None)
        for width in (60, 160):
            for option, words in (
                ((), ("28", "pseudo-LRU", "Skipped:", "2048")),
                (("--all",), ("latency_constant:", "pseudo-LRU", "skipped:")),
            ):
                done = self.cbank("--replay", record, *option, environment={"COLUMNS": str(width)})
                self.assertLessEqual(max(map(len, done.stdout.splitlines()[:-1])), width)
                for word in words:
                    self.assertIn(word, done.stdout.split())
                self.assertRegex(done.stderr, r"(?m)^2 of \d+: latency_constant$")
        self.assertTrue(os.path.exists(os.path.join(self.folder, "characterization.json")))
        quiet = self.cbank("--replay", record, "--quiet")
        self.assertEqual(quiet.stdout + quiet.stderr, "")
        self.assertEqual(
            json.loads(self.cbank("--replay", record, "--json", "-").stdout)["schema"]["name"],
            "cbank-characterization",
        )

    @unittest.skipIf("simulated" in CBANK, "it has a GPU")
    def test_without_a_gpu(self):
        self.assertIn("--replay", self.cbank(status=3).stderr)


def slower(cycles):
    return lambda numbers: [value + cycles for value in numbers]


# (the fault, pattern of the questions, change of an answer, experiment, its verdicts then by name,
# level and what came before)
PLANTED = (
    (
        "points on no line: 32 addresses take as long as one",
        "^chain constant distinct 32 stride 4 warps 1 iterations 69 ",
        slower(-341 * 1024),
        "serialization_constant",
        {("latency_grows_per", None, None): None, ("throughput_falls_per", None, None): "address"},
    ),
    (
        "a launch that keeps the first level",
        r"^chase constant .* before launch list 0\+64\*16$",
        lambda numbers: [34] * len(numbers),
        "invalidation_constant",
        {("what_it_held_is", 1, "launch"): "kept", ("what_it_held_is", 1, "copy"): "lost"},
    ),
    (
        "a pointer chase over twice the level that empties nothing: empty cannot be told from held",
        r"^chase constant .* before nothing list 0\+64\*80$",
        lambda numbers: [34] * len(numbers),
        "invalidation_constant",
        {("what_it_held_is", 1, "launch"): None, ("what_it_held_is", 1, "flush"): None},
    ),
)


class Planted(Case):
    def test_changed_answers_change_the_verdicts(self):
        for what, pattern, change, experiment, expected in PLANTED:
            with self.subTest(what):

                def plant(record, pattern=pattern, change=change):
                    self.assertGreater(change_answers(record, pattern, change), 0)

                told = verdicts(self.replay(plant)[experiment])
                self.assertEqual({key: told[key] for key in expected}, expected)
                before = verdicts(found(read_json(RECORDED))[experiment])
                self.assertNotEqual({key: before[key] for key in expected}, expected)

    def test_one_point_off_the_line(self):
        """32 addresses 4 bytes apart take 31 cycles more. The mean of distinct - 1 = 0, 1, 3, 7,
        15, 31 is 9.5, and the sum of squares about it is 703.5: the cost grows by 31 (31 - 9.5)
        / 703.5, not as 64 bytes apart."""
        before = found(read_json(RECORDED))["serialization_constant"]
        after = self.replay(
            lambda record: change_answers(
                record,
                "^chain constant distinct 32 stride 4 warps 1 iterations 69 ",
                slower(31 * 1024),
            )
        )["serialization_constant"]
        more = 31 * (31 - 9.5) / 703.5
        for stride, name, expected in (
            (4, "latency_per_extra_address", more),
            (4, "latency_base", 31 / 6 - 9.5 * more),
            (64, "latency_per_extra_address", 0),
            (64, "latency_base", 0),
        ):
            self.assertAlmostEqual(
                number(after, name, stride_bytes=stride)["value"]
                - number(before, name, stride_bytes=stride)["value"],
                expected,
            )
        self.assertIsNone(verdicts(after)["latency_grows_per", None, None])

    def test_a_rate_of_cycles_that_may_be_none_is_not_reported(self):
        def numbers(warps, none):
            return self.replay(
                lambda record: change_answers(
                    record,
                    f"^stream global distinct 1 .*{warps}.*iterations 69",
                    lambda numbers: [0] * none + numbers[none:],
                )
            )["throughput_global"]["numbers"]

        cycles, rate = [one for one in numbers(" warps 16 ", 10) if one.get("warps") == 16]
        self.assertTrue(cycles["low"] < 0 < cycles["value"])
        self.assertEqual(
            (rate["value"], rate["high"], rate["reason"]),
            (None, None, "the interval of its cycles holds 0"),
        )
        *_, bandwidth = numbers("", 21)
        self.assertEqual((bandwidth["value"], bandwidth["reason"]), (None, "no rate is known"))

    def test_sms_that_share_nothing(self):
        groups = self.replay(
            lambda record: change_answers(
                record,
                "^sharing ",
                lambda numbers: [value if i % 2 == 0 else 320 for i, value in enumerate(numbers)],
            )
        )
        self.assertEqual([len(group) for group in groups["sharing_constant"]["groups"]], [1] * 132)

    def test_a_probe_that_is_not_usable_skips_its_experiments(self):
        def change(record):
            for kernel in record["probes"]["kernels"]:
                if (kernel["probe"], kernel["path"]) == ("chain", "constant_uniform"):
                    kernel.update(usable=False, reason="the compiler made 16 LDC")

        again = self.replay(change)
        skipped = again["latency_constant_uniform"]
        self.assertEqual(
            (skipped["status"], skipped["reason"], skipped["numbers"]),
            ("skipped", "the compiler made 16 LDC", []),
        )
        self.assertEqual(again["throughput_constant"]["status"], "ok")


if __name__ == "__main__":
    unittest.main()
