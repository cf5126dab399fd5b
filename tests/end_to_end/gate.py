#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""End-to-end tests of compare and calibrate on committed results of a real GPU and on copies of
them with a planted change. CBANK names the program (default build/cbank)."""

import functools
import glob
import itertools
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree as xml

import jsonschema

from common import CBANK, FULL, ROOT, Scratch, read_bytes, read_json, scale

os.environ["CUDA_VISIBLE_DEVICES"] = ""
FOLDER = os.path.join(ROOT, "results/h200")
FIRST, SECOND = os.path.join(FOLDER, "core-matrix.json"), os.path.join(
    FOLDER, "second-process.json"
)


def read(path):
    return read_bytes(path).decode()


class Case(Scratch):
    def plant(self, change, source=SECOND, name="new.json"):
        """A copy of a result after change(result)."""
        result = read_json(source)
        change(result)
        return self.write(name, result)

    def compare(self, base, new, *options, status=0):
        """The comparison as JSON, valid under its schema."""
        comparison = json.loads(
            self.cbank("compare", base, new, "--json", "-", *options, status=status).stdout
        )
        schema = read_json(os.path.join(ROOT, "results/comparison.schema.json"))
        jsonschema.Draft202012Validator(schema).validate(comparison)
        return comparison


def slower(factor, path=None, cells=slice(None), flags=()):
    """A change of a result: cells of a path take `factor` times as long, and are flagged."""

    def change(result):
        for cell in result["cells"][cells]:
            if path in (None, cell["path"]):
                scale(cell, factor)
                cell["flags"] += flags

    return change


def change_counter(result):
    result["cells"][3]["counters"]["idc_requests"]["value"] += 1


def spread(result):
    time = result["cells"][7]["time_ns"]
    time["samples"] = [
        sample * (0.9 if 7 * i % 11 < 5 else 1.1) for i, sample in enumerate(time["samples"])
    ]


def code(result):
    for cell in result["cells"][:3]:
        cell["kernel"]["sass_sha256"] = "0" * 64


def unexpected(result):
    """Other code, whose counter is not what its own pattern says."""
    code(result)
    change_counter(result)
    for cell in result["cells"][:4]:
        cell["kernel"]["sass_sha256"] = "0" * 64
    result["cells"][3]["flags"].append("counter_differs")


def unread(result):
    for cell in result["cells"]:
        for counter in cell["counters"].values():
            counter.update(value=None, status="no_permission", reason="planted")


class Verdicts(Case):
    # change, options, exit code, verdicts that differ from same (or from inconclusive in up to two
    # cells)
    PLANTED = [
        (lambda result: None, (), 0, {}),
        (slower(1.02, "global"), (), 1, {"regressed": 8}),
        (slower(1.003), (), 0, {}),
        (slower(1.02, cells=slice(9, 10)), ("--threshold", "5%"), 0, {}),
        (slower(1.02, cells=slice(9, 10)), ("--threshold", "1"), 1, {"regressed": 1}),
        (slower(0.9), (), 0, {"improved": 24}),
        # No flag opens the gate: what is significant and beyond the threshold.
        (slower(1.05, cells=slice(6), flags=["unstable"]), (), 4, {"inconclusive": 6}),
        (slower(1.09, "global", flags=["multimodal"]), (), 4, {"inconclusive": 8}),
        (slower(1.0005, flags=["multimodal"]), (), 0, {}),
        (slower(3, flags=["multimodal", "unstable"]), (), 1, {"regressed": 24}),
        (slower(1 / 3, cells=slice(6), flags=["multimodal"]), (), 4, {"inconclusive": 6}),
        (slower(1.09, flags=["contended"]), (), 1, {"regressed": 24}),
        (lambda result: result["cells"].pop(0), (), 1, {"missing": 1}),
        (change_counter, (), 1, {"invalid": 1}),
        (
            lambda result: result["cells"][5].update(status="failed", reason="planted"),
            (),
            1,
            {"invalid": 1},
        ),
        (spread, (), 0, {"inconclusive": 1}),
        (spread, ("--strict",), 4, {"inconclusive": 1}),
        (lambda result: result["device"].update(driver="999.1"), (), 0, {}),
        (lambda result: result["device"].update(uuid="GPU-0"), (), 3, {"invalid": 24}),
        (
            lambda result: result["device"].update(uuid="GPU-0"),
            ("--allow-diff", "uuid", "--threshold", "3"),
            0,
            {},
        ),
        (code, (), 3, {"invalid": 3}),
        (code, ("--allow-diff", "sass"), 0, {}),
        (unexpected, ("--allow-diff", "sass"), 1, {"invalid": 1}),
        (unread, (), 4, {}),
        (unread, ("--allow-diff", "counters"), 0, {}),
    ]

    def test_planted_changes_have_their_verdict_and_exit_code(self):
        for number, (change, options, status, expected) in enumerate(self.PLANTED):
            with self.subTest(number):
                comparison = self.compare(FIRST, self.plant(change), *options, status=status)
                counts = {
                    name: count
                    for name, count in comparison["counts"].items()
                    if count and name != "same"
                }
                doubt = counts.pop("inconclusive", 0) - expected.get("inconclusive", 0)
                self.assertEqual(
                    counts,
                    {name: count for name, count in expected.items() if name != "inconclusive"},
                )
                self.assertIn(doubt, (0, 1, 2))
                if "regressed" in expected:
                    self.assertEqual(
                        {cell["verdict"] for cell in comparison["cells"][: expected["regressed"]]},
                        {"regressed"},
                    )
        short = self.plant(lambda result: result["cells"].pop(0))
        self.assertEqual(self.compare(short, FIRST)["counts"]["new"], 1)

    def test_a_neighbour_is_no_regression(self):
        """But for cells whose shortest samples, which nothing interrupted, are slower, too."""

        def contended(result):
            for cell in result["cells"]:
                scale(cell, 1 if cell["path"] == "global" else 1.05)
                time = cell["time_ns"]
                for i in range(cell["buffer_sets"], len(time["samples"])):
                    time["samples"][i] *= 1.5
                cell["flags"].append("contended")

        new = self.plant(contended)
        comparison = self.compare(FIRST, new, status=1)
        for cell in comparison["cells"]:
            self.assertEqual(
                cell["verdict"], "contended" if cell["path"] == "global" else "regressed"
            )
        self.assertEqual(self.compare(new, FIRST, status=4)["counts"]["regressed"], 0)
        alone = self.plant(
            lambda result: contended(result)
            or result.update(cells=[cell for cell in result["cells"] if cell["path"] == "global"])
        )
        base = self.plant(
            lambda result: result.update(
                cells=[cell for cell in result["cells"] if cell["path"] == "global"]
            ),
            FIRST,
            "base.json",
        )
        self.assertEqual(self.compare(base, alone, status=4)["counts"]["contended"], 8)
        said = self.cbank("compare", base, alone, status=4).stdout
        self.assertIn("another process used the GPU of NEW: measure again alone", said)

    def test_what_a_flag_holds_is_said(self):
        """Of NEW, of which the exit code is 4; and of BASE, which guards nothing."""
        flagged = self.plant(slower(1.09, "global", flags=["multimodal"]))
        held = [cell["held_by_flag"] for cell in self.compare(FIRST, flagged, status=4)["cells"]]
        self.assertEqual(sum(held), 8)
        said = re.sub(r"\s+", " ", self.cbank("compare", FIRST, flagged, status=4).stdout)
        self.assertIn("NEW may be worse, as cells beyond the threshold are flagged (exit 4)", said)
        self.assertIn("beyond the threshold, and flagged (exit 4): see why, and measure", said)
        self.assertNotIn("guard nothing", said)
        self.plant(slower(1, "global", flags=["unstable"]), name="base.json")
        said = re.sub(
            r"\s+",
            " ",
            self.cbank("compare", "base.json", self.plant(slower(1.09, "global")), status=4).stdout,
        )
        self.assertIn("BASE is flagged in 8 of 24 cells: they guard nothing", said)

    def test_a_comparison_that_decides_no_cell_exits_with_4(self):
        new = self.plant(slower(1.05, flags=["unstable"]))
        for options in ((), ("--strict",)):
            self.assertEqual(
                self.compare(FIRST, new, *options, status=4)["counts"]["inconclusive"], 24
            )

    def test_one_code_is_no_regression_whatever_the_plan(self):
        """One GPU, driver and code: plans differ, and with them where buffers lie; some cells
        did not settle."""
        files = [
            "core-matrix",
            "second-process",
            "core-matrix-cold",
            "sizes",
            "all-paths",
            "sample-us-100",
            "sample-us-2000",
            "stencil-blocks",
        ]
        for base, new in itertools.combinations(files, 2):
            done = self.cbank(
                "compare",
                f"{FOLDER}/{base}.json",
                f"{FOLDER}/{new}.json",
                "--json",
                "-",
                status=None,
            )
            counts = json.loads(done.stdout)["counts"]
            self.assertEqual((counts["regressed"], counts["improved"]), (0, 0))

    def test_what_one_process_assumes_and_what_would_settle_it_is_said(self):
        said = " ".join(self.cbank("compare", FIRST, SECOND).stdout.split())
        self.assertIn(
            (
                "intervals of 24 cells rest on a default deviation between processes; cbank"
                " calibrate measures it"
            ),
            said,
        )
        comparison = self.compare(FIRST, SECOND, "--threshold", "0.1", status=0)
        self.assertEqual(
            {
                (cell["process_deviation"]["origin"], cell["degrees_of_freedom_of_sides"])
                for cell in comparison["cells"]
            },
            {("default", 0)},
        )
        settle = max(cell["processes_to_decide"] or 0 for cell in comparison["cells"])
        self.assertRegex(
            comparison["to_decide"],
            f"^{settle} processes a side would settle .* cbank gate --processes {settle} ",
        )

    def test_a_file_given_twice_is_one_process(self):
        """It makes nothing surer: a side has its samples once."""
        once, twice = self.compare(FIRST, SECOND), self.compare(
            f"{FIRST},{FIRST}", f"{SECOND},{FOLDER}/./second-process.json"
        )
        self.assertEqual(twice["cells"], once["cells"])


class WidestNoise(Case):
    """Of a GPU model, a kernel or a memory space without data of its own."""

    KERNELS = os.path.join(FOLDER, "kernels/suite.json")

    def kernels(self, name, rng, noise, factor=1):
        """The suite's kernels in some memory spaces, each by a process of its own noise."""

        def change(result):
            result["started_utc"] = f"2026-01-01T00:00:{rng.randrange(60):02}Z"
            result["cells"] = [cell for cell in result["cells"] if cell["status"] == "ok"][:24]
            for cell in result["cells"]:
                cell["flags"] = []
                scale(cell, factor * math.exp(noise * rng.gauss(0, 1)))

        return self.plant(change, self.KERNELS, name)

    def test_a_model_of_gpu_that_was_not_measured(self):
        renamed = {}
        for name, source, factor in (("base", FIRST, 1), ("new", SECOND, 1.0125)):

            def change(result, factor=factor):
                slower(factor)(result)
                result["device"]["name"] = "NVIDIA GeForce RTX 4090"

            renamed[name] = self.plant(change, source, f"{name}.json")
        self.compare(FIRST, self.plant(slower(1.0125), name="known.json"), status=1)
        comparison = self.compare(renamed["base"], renamed["new"], status=4)
        self.assertEqual(comparison["counts"]["inconclusive"], 24)
        for cell in comparison["cells"]:
            self.assertEqual(cell["process_deviation"]["origin"], "widest")
            self.assertEqual(cell["processes_to_decide"], 3)
            self.assertGreater(cell["assumed_share"], 0.99)
            self.assertGreater(cell["noise"], 0.0125)
        self.assertIn("measure three processes a side", comparison["to_decide"])

    def test_kernels_of_a_user_with_own_noise(self):
        rng = random.Random(57)
        for number in range(25):
            base, new = (
                self.kernels(f"{side}-{number}.json", rng, 0.005) for side in ("base", "new")
            )
            self.assertEqual(self.compare(base, new, status=4)["counts"]["regressed"], 0)
        slow = self.kernels("slow.json", rng, 0, 3)
        self.assertEqual(self.compare(base, slow, status=4)["counts"]["inconclusive"], 24)
        said = self.cbank("compare", base, slow, status=4).stdout
        self.assertIn("as one process a side of a kernel tells no change (exit 4)", said)
        sides = [
            ",".join(
                self.kernels(f"{side}-of-three-{number}.json", rng, 0.0005, factor)
                for number in range(3)
            )
            for side, factor in (("base", 1), ("new", 1.015))
        ]
        cells = self.compare(*sides, status=1)["cells"]
        self.assertEqual({cell["verdict"] for cell in cells}, {"regressed"})
        self.assertLess(max(cell["assumed_share"] for cell in cells), 0.99)


class Golden(Case):
    """Verdicts on committed results as the program gave them when what boards differ by was
    known cell by cell, cells in the order of the files: a letter for each, and how many cells in
    a row have it."""

    LETTERS = {
        "s": "same",
        "i": "improved",
        "r": "regressed",
        "?": "inconclusive",
        "m": "missing",
        "n": "new",
        "x": "invalid",
    }

    def test_verdicts_stay(self):
        rows = read_json(os.path.join(ROOT, "tests/golden/verdicts.json"))
        identities = functools.cache(
            lambda path: [cell["identity"] for cell in read_json(os.path.join(ROOT, path))["cells"]]
        )
        for row in rows[:: 1 if FULL else 4]:
            options = [
                f"--{key}={row[name]}" if name != "allow_diff" else f"--{key}={','.join(row[name])}"
                for key, name in (
                    ("allow-diff", "allow_diff"),
                    ("calibration", "calibration"),
                    ("threshold", "threshold"),
                )
                if name in row
            ]
            done = subprocess.run(
                [
                    CBANK,
                    "compare",
                    "--json",
                    "-",
                    *options,
                    *(",".join(row[side]) for side in ("base", "new")),
                ],
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
                cwd=ROOT,
            )
            order = {}
            for path in row["base"] + row["new"]:
                for identity in identities(path):
                    order.setdefault(identity, len(order))
            cells = sorted(
                json.loads(done.stdout)["cells"],
                key=lambda cell: (order[cell["identity"]], cell["uuid"]),
            )
            expected = [
                self.LETTERS[letter]
                for letter, count in re.findall(r"(\D)(\d*)", row["verdicts"])
                for _ in range(int(count or 1))
            ]
            with self.subTest(base=row["base"], new=row["new"]):
                self.assertEqual([cell["verdict"] for cell in cells], expected)


class SameData(Case):
    def test_a_folder_is_the_same_as_itself_and_as_a_copy_in_another_order(self):
        names = sorted(os.path.basename(path) for path in glob.glob(f"{FOLDER}/*.json"))

        def reorder(result):
            result["cells"].reverse()
            for cell in result["cells"]:
                if cell["status"] == "ok":
                    cell["time_ns"]["samples"].sort(key=lambda sample: sample % 1)

        for name, other in zip(names, reversed(names)):
            self.plant(reorder, os.path.join(FOLDER, name), f"copies/z{other}")
        for new in (FOLDER, self.path("copies")):
            comparison = self.compare(FOLDER, new, "--strict")
            timed = [cell for cell in comparison["cells"] if cell["ratio"]]
            self.assertEqual(comparison["counts"]["same"], len(comparison["cells"]))
            self.assertGreater(len(timed), 1000)
            self.assertTrue(all(cell["same_data"] for cell in timed))

    def test_one_sample_that_differs_leaves_it_to_the_intervals(self):
        def width(cell):
            return (cell["time_ns"]["ci_high"] - cell["time_ns"]["ci_low"]) / cell["time_ns"][
                "value"
            ]

        def change(result):
            max((cell for cell in result["cells"] if cell["status"] == "ok"), key=width)["time_ns"][
                "samples"
            ][3] *= 1.0001

        for name, verdict in (
            ("h200/core-matrix.json", "same"),
            ("h100/refill.json", "inconclusive"),
        ):
            path = os.path.join(ROOT, "results", name)
            comparison = self.compare(path, self.plant(change, path))
            (other,) = (
                cell for cell in comparison["cells"] if cell["ratio"] and not cell["same_data"]
            )
            self.assertEqual(other["verdict"], verdict)
            self.assertLess(other["ratio"]["ci_low"], other["ratio"]["ci_high"])

    def test_all_cells_of_many_that_are_slower_are_found(self):
        path = os.path.join(FOLDER, "serialization.json")
        quiet = [
            cell
            for cell in read_json(path)["cells"]
            if cell["status"] == "ok"
            and not {"unstable", "multimodal", "contended"} & set(cell["flags"])
        ]

        def change(result):
            result["started_utc"] = "2020" + result["started_utc"][4:]
            for cell in result["cells"]:
                if cell["status"] == "ok":
                    scale(cell, 1.05)

        comparison = self.compare(path, self.plant(change, path), status=1)
        self.assertGreater(comparison["counts"]["regressed"], 0.95 * len(quiet))
        for cell in comparison["cells"]:
            self.assertIn(
                cell["verdict"],
                ("regressed", "inconclusive") if cell["ratio"] else ("same", "invalid"),
            )


class Context(Case):
    def test_a_result_of_a_day_to_come_is_not_compared(self):
        """Unless an option takes it. Nothing is measured against it before."""
        self.plant(lambda result: result.update(started_utc="2100-01-01T00:00:00Z"))
        later = "new.json: it began at 2100-01-01T00:00:00Z, which is later than now and a day"
        for words in (
            ("compare", FIRST, "new.json"),
            ("compare", "new.json", FIRST),
            ("compare", FIRST, SECOND, "--boards", "new.json"),
            ("gate", "new.json", "--engine", "model", "--quiet"),
        ):
            self.assertIn(later, self.cbank(*words, status=2).stderr, words)
        self.cbank("compare", SECOND, "new.json", "--later")

    def test_how_code_changed_is_said_in_every_format(self):
        was = read_json(FIRST)["cells"][0]["kernel"]["sass_sha256"]
        # older text, without parts
        opcodes, letters, hashes = read_json(FIRST)["code"][was].split(";")
        words = dict(zip(opcodes.split(" ")[::2], opcodes.split(" ")[1::2]))
        first, last = list(words)[0], list(words)[-1]
        at = 3 + letters[3:].index("A")

        def other(result):
            """One instruction is the last opcode, a branch, instead of the first."""
            counts = {**words, first: int(words[first]) - 1, last: int(words[last]) + 1}
            result["code"]["f" * 64] = ";".join(
                (
                    " ".join(f"{name} {count}" for name, count in counts.items()),
                    letters[:at] + letters[-1] + letters[at + 1 :],
                    hashes,
                )
            )
            for cell in result["cells"]:
                if cell["kernel"]["sass_sha256"] == was:
                    cell["kernel"]["sass_sha256"] = "f" * 64

        new = self.plant(other)
        line = (
            f"{len(letters)} -> {len(letters)} instructions: {first} {words[first]} ->"
            f" {int(words[first]) - 1}, BRA 1 -> 2; the first other opcode is {at + 1}:"
            f" {first} -> BRA"
        )
        comparison = self.compare(FIRST, new, "--allow-diff", "sass")
        self.assertEqual(
            {cell["code"] for cell in comparison["cells"] if cell["sass_differs"]}, {line}
        )
        self.assertIn(
            line,
            " ".join(
                self.cbank("compare", FIRST, new, "--allow-diff", "sass", "--all").stdout.split()
            ),
        )

    def test_what_moved_in_code_is_said_and_offsets_are_no_other_code(self):
        """Both sides have the hashes of parts; one of them is another on the new side."""
        was = read_json(FIRST)["cells"][0]["kernel"]["sass_sha256"]

        def plant(parts, digest):
            def other(result):
                text = result["code"].pop(was) + f";{parts}"
                result["code"][digest * 64] = text
                for cell in result["cells"]:
                    if cell["kernel"]["sass_sha256"] == was:
                        cell["kernel"]["sass_sha256"] = digest * 64

            return self.plant(other, name=f"{digest}.json")

        base = plant("a" * 30, "e")
        count = sum(
            cell["kernel"]["sass_sha256"] == was and cell["status"] == "ok"
            for cell in read_json(FIRST)["cells"]
        )
        for parts, moved in (
            ("b" + "a" * 29, ["operands"]),
            ("a" * 10 + "b" + "a" * 19, ["constant_offsets"]),
            ("a" * 29 + "b", ["scheduling"]),
            ("a" * 19 + "bb" + "a" * 9, ["constant_offsets", "scheduling"]),
        ):
            new, alike = plant(parts, "f"), moved == ["constant_offsets"]
            refused = [] if alike else ["--allow-diff", "sass"]
            comparison = self.compare(base, new, *refused)
            cells = [cell for cell in comparison["cells"] if cell["code_moved"]]
            self.assertEqual(len(cells), count)
            for cell in cells:
                self.assertEqual((cell["code_moved"], cell["sass_differs"]), (moved, not alike))
                self.assertIn(", ".join(moved).replace("_", " ") + " differ", cell["code"])
            said = " ".join(self.cbank("compare", base, new, *refused, "--all").stdout.split())
            self.assertIn("not other code for a time: " if alike else "SASS differs: ", said)
            if not alike:
                self.cbank("compare", base, new, status=3)
        # The first file has no hashes of parts: only opcodes are compared.
        comparison = self.compare(FIRST, new, "--allow-diff", "sass")
        self.assertEqual(
            [cell["code_moved"] for cell in comparison["cells"] if cell["sass_differs"]],
            [[]] * count,
        )

    def test_code_takes_little_of_a_result(self):
        """A result of every workload by every path, without counters and samples, which are most
        of a measured one."""
        self.cbank(
            "run",
            "--engine",
            "model",
            "--quiet",
            "--counters",
            "none",
            "--workload",
            "all",
            "--path",
            "all",
            "--json",
            "all.json",
        )
        result = read_json(self.path("all.json"))
        self.assertGreater(len(result["cells"]), 380)
        self.assertEqual(
            {cell["kernel"]["sass_sha256"] for cell in result["cells"]} - {None},
            set(result["code"]),
        )
        self.assertLess(
            len(json.dumps(result["code"])), 0.1 * os.path.getsize(self.path("all.json"))
        )

    def test_what_cannot_be_compared_is_refused(self):
        for name, elements in (("a", "77"), ("b", "78"), ("model", "128000")):
            self.cbank(
                "run",
                "--engine",
                "model",
                "--elements",
                elements,
                "--quiet",
                "--json",
                f"{name}.json",
            )
        refused = self.cbank("compare", FIRST, "model.json", status=3).stdout
        self.assertIn(
            "engine differs: cuda -> model; not comparable: measure both sides alike",
            " ".join(refused.split()),
        )
        self.assertNotIn("--allow-diff engine", refused)
        self.assertNotIn("add/constant", refused)  # a line a reason, none a cell
        done = self.cbank("compare", "a.json", "b.json", status=3)
        said = " ".join(done.stdout.split())
        self.assertRegex(
            said,
            r"^NEW cannot .*, no cell in common: .* BASE has cells such as add/\S+/77/\S+, NEW such"
            r" as add/\S+/78/\S+; measure both with the same options$",
        )
        self.assertEqual(done.stderr, "")

    def test_a_note_of_all_cells_is_said_once(self):
        def bad_memory(result):
            result["health"]["grew"] = ["ecc_uncorrected"]

        def bad_memory_and_more(result):
            bad_memory(result)
            result["cells"][0].update(status="failed", reason="planted")

        words = "new is invalid"
        said = self.cbank("compare", FIRST, self.plant(bad_memory), status=1).stdout
        self.assertEqual(
            (said.count(words), said.count(f"every cell below: {words}"), said.count("invalid\n")),
            (1, 1, 24),
        )
        # one cell says something else
        said = self.cbank("compare", FIRST, self.plant(bad_memory_and_more), status=1).stdout
        self.assertEqual((said.count(words), said.count("every cell below")), (23, 0))
        new = self.plant(bad_memory)
        self.cbank("compare", FIRST, new, "--quiet", "--junit", "r.xml", status=1)
        self.assertEqual(read(self.path("r.xml")).count(words), 24)  # each test says why

    def test_counters_that_new_lacks_are_named(self):
        def not_asked(result):
            for cell in result["cells"]:
                cell["counters"] = {}

        for change in (unread, not_asked):
            new = self.plant(change)
            said = self.cbank("compare", FIRST, new, "--junit", "r.xml", status=4).stdout
            said = " ".join(said.split())
            self.assertIn("lacks counters of BASE (exit 4)", said)
            self.assertRegex(said, r"in 24 of 24 cells, such as \w+; with --allow-diff counters")
            self.assertIn('errors="1"', read(self.path("r.xml")))
            self.cbank("compare", FIRST, new, "--allow-diff", "counters", status=0)

    def test_two_gpus_beside_each_other(self):
        """Times, cycles and changes as computed here from the files; nothing is judged."""
        files = [
            os.path.join(ROOT, f"results/chips/{chip}/core-matrix.json")
            for chip in ("h100", "h200")
        ]
        base, new = (
            {cell["identity"]: cell for cell in read_json(file)["cells"]} for file in files
        )
        said = self.cbank("compare", "--across", "--all", *files).stdout
        for words in (
            "BASE: NVIDIA H100 80GB HBM3, compute capability 9.0, 132 SMs",
            "NEW: NVIDIA H200, compute capability 9.0, 132 SMs",
        ):
            self.assertIn(words, " ".join(said.split()))
        rows = re.findall(
            r"\n(add/\S+)\n +(\S+ .s) +(\S+ .s) +(\S+)% \| +(\d+) +(\d+) +(\S+)% \| +±(\S+)%", said
        )
        self.assertEqual({row[0] for row in rows}, set(base))
        differing = 0
        for identity, _, _, change, cycles, new_cycles, cycles_change, half in rows:
            a, b = base[identity], new[identity]
            self.assertAlmostEqual(
                float(change), 100 * (b["time_ns"]["value"] / a["time_ns"]["value"] - 1), delta=0.06
            )
            self.assertAlmostEqual(int(cycles), a["cycles"], delta=1 + 1e-4 * a["cycles"])
            self.assertAlmostEqual(int(new_cycles), b["cycles"], delta=1 + 1e-4 * b["cycles"])
            self.assertAlmostEqual(
                float(cycles_change), 100 * (b["cycles"] / a["cycles"] - 1), delta=0.06
            )
            self.assertGreater(float(half), 1)  # with what boards of a model differ by
            differing += abs(float(change)) > float(half)
        self.assertIn(f"\n{differing} of 24 cells differ in time", said)
        changes = [max(abs(float(row[3])), abs(float(row[6]))) for row in rows]
        self.assertEqual(changes, sorted(changes, reverse=True))
        short = self.cbank("compare", "--across", *files).stdout
        self.assertEqual(len(re.findall(r"\nadd/", short)), differing)
        self.assertIn("--all lists the others", short)
        self.assertEqual(self.compare(*files, "--across")["comparable"], True)
        for option in (
            ("--strict",),
            ("--junit", "-"),
            ("--markdown", "-"),
            ("--allow-diff", "uuid"),
        ):
            self.assertIn(
                "--across is no gate",
                self.cbank("compare", "--across", *files, *option, status=2).stderr,
            )
        self.cbank("run", "--engine", "model", "--quiet", "--json", "model.json")
        self.cbank("compare", "--across", files[0], "model.json", status=3)

    def test_bad_input_is_one_line(self):
        os.makedirs(self.path("empty"))
        self.write("bad.json", read(FIRST)[:5000])
        for arguments, said in (
            ((FIRST, "bad.json"), ""),
            (("bad.json", FIRST), ""),
            ((FIRST, "absent.json"), ""),
            ((FIRST, "empty"), ""),
            ((FIRST,), ""),
            ((FIRST, SECOND, FIRST), ""),
            ((FIRST, SECOND, "--allow-diff", "uuids"), "valid: "),
            ((FIRST, SECOND, "--junit", "/nonexistent/r.xml"), "/nonexistent"),
        ):
            with self.subTest(arguments):
                done = self.cbank("compare", *arguments, "--quiet", status=2)
                self.assertIn(said, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


class Reports(Case):
    def test_every_format_and_the_same_files_give_the_same_report(self):
        new = self.plant(slower(1.5, cells=slice(4, 5)))
        texts = [
            self.cbank("compare", FIRST, new, "--all", "--junit", "r.xml", status=1).stdout
            for _ in range(2)
        ]
        self.assertEqual(*texts)
        suite = xml.parse(self.path("r.xml")).getroot()
        self.assertEqual(
            (len(list(suite.iter("testcase"))), len(list(suite.iter("failure")))), (24, 1)
        )

    def test_a_report_takes_the_place_of_nothing_that_is_named(self):
        """Neither of a side, by whatever name, nor of a calibration, nor of another report."""
        for name in ("a.json", "b.json", "c.json"):
            shutil.copy(SECOND, self.path(name))
        os.symlink("a.json", self.path("link.json"))
        for command in (
            ("compare", "a.json,b.json", "c.json"),
            ("gate", "a.json,b.json", "--engine", "model"),
        ):
            for options in (
                ("--json", "b.json"),
                ("--junit", "./a.json"),
                ("--junit", "link.json"),
                ("--json", "new.json", "--junit", "new.json"),
                ("--json", "-", "--junit", "-"),
                ("--calibration", "c.json", "--json", "c.json"),
            ):
                with self.subTest(command=command[0], options=options):
                    done = self.cbank(*command, *options, status=2)
                    self.assertIn(f"{options[-1]} is named for something else, too", done.stderr)
        self.assertEqual({read(self.path(f"{name}.json")) for name in "abc"}, {read(SECOND)})


class Calibration(Case):
    def test_processes_of_the_model_engine_do_not_differ(self):
        """Cells that a parameter alone tells apart are in it, too. Abbreviated options reach the
        processes."""
        plan = (
            "--eng",
            "model",
            "--elem",
            "4096",
            "--workload",
            "add,conv_1d",
            "--pattern=distinct,lockstep",
            "--path=constant",
        )
        self.assertIn(
            "3 modelled processes",
            self.cbank("calibrate", *plan, "--proc", "3", "--json", "noise.json").stdout,
        )
        quiet = self.cbank("calibrate", *plan, "--proc", "3", "--json", "more.json", "--quiet")
        self.assertEqual((quiet.stdout, quiet.stderr), ("", ""))
        self.assertEqual(read_json(self.path("more.json"))["processes"], 3)
        calibration = read_json(self.path("noise.json"))
        schema = read_json(os.path.join(ROOT, "results/calibration.schema.json"))
        jsonschema.Draft202012Validator(schema).validate(calibration)
        self.assertEqual({cell["noise"] for cell in calibration["cells"]} - {None}, {0})
        self.assertEqual(
            (calibration["engine"], calibration["modelled"], calibration["processes"]),
            ("model", True, 3),
        )
        self.assertEqual(
            {(cell["path"], cell["elements"]) for cell in calibration["cells"]},
            {("constant", 4096)},
        )
        self.assertEqual(
            len({cell["identity"] for cell in calibration["cells"]}), len(calibration["cells"])
        )
        # Results that are there give one, as well.
        for _ in range(3):
            self.cbank("run", *plan, "--quiet", "--json", "kept/")
        self.cbank("calibrate", "kept", "--json", "other.json")
        self.assertEqual(read_json(self.path("other.json"))["cells"], calibration["cells"])
        self.cbank("compare", "kept", "kept", "--calibration", "noise.json")

    def test_a_cell_that_fails_is_a_finding_and_the_others_count(self):
        self.cbank(
            "calibrate",
            "--engine",
            "model",
            "--elements",
            "4096",
            "--fault",
            "counter",
            "--processes",
            "2",
            status=1,
        )
        self.assertEqual(read_json(self.path("calibration.json"))["processes"], 2)

    def test_a_change_within_the_noise_does_not_count(self):
        new, result = self.plant(slower(1.02)), read_json(FIRST)
        keys = (
            "workload",
            "path",
            "pattern",
            "elements",
            "block_size",
            "cache_state",
            "array_bytes",
            "parameters",
        )
        cells = [
            {
                **{key: cell[key] for key in keys},
                "noise": 0.03,
                "median_ns": cell["time_ns"]["value"],
                "process_deviation": {
                    "value": 0.0127,
                    "degrees_of_freedom": 3.8,
                    "origin": "processes",
                },
                "sass_sha256": cell["kernel"]["sass_sha256"],
            }
            for cell in result["cells"]
        ]
        path = self.write(
            "noise.json",
            {
                "schema": {"name": "cbank-calibration", "version": "1.0"},
                "tool": {"name": "cbank", "version": "0.1.0"},
                "processes": 5,
                "engine": "cuda",
                "modelled": False,
                "device": result["device"],
                "cells": cells,
            },
        )
        self.compare(FIRST, new, status=1)
        self.assertEqual(
            self.compare(FIRST, new, "--calibration", path, status=4)["counts"]["regressed"], 0
        )


class Parameters(Case):
    def test_cells_that_a_parameter_alone_tells_apart_from_the_run_to_every_report(self):
        self.cbank(
            "run",
            "--engine",
            "model",
            "--workload",
            "add,refill,conv_1d",
            "--pattern",
            "per_warp,distinct,lockstep",
            "--path",
            "constant,param",
            "--elements",
            "4096",
            "--quiet",
            "--json",
            "a.json",
        )
        result = read_json(self.path("a.json"))
        jsonschema.Draft202012Validator(
            read_json(os.path.join(ROOT, "results/schema.json"))
        ).validate(result)
        self.assertEqual({cell["status"] for cell in result["cells"]}, {"ok", "skipped"})
        for cell in result["cells"]:
            taken = {
                "refill": {"refill_bytes"},
                "conv_1d": {"radius"},
                "distinct": {"distinct", "stride_bytes"},
            }
            self.assertEqual(
                set(cell["parameters"]),
                taken.get(cell["workload"], set()) | taken.get(cell["pattern"], set()),
            )
            self.assertEqual(cell["array_bytes"], {"constant": 65536, "param": 2048}[cell["path"]])
            self.assertEqual(cell["operations"] is None, cell["status"] == "skipped")
            self.assertEqual(
                cell["operations_per_byte"]["ideal"], 0.5 if cell["workload"] == "conv_1d" else None
            )
        self.cbank("run", "--resume", "a.json", "--quiet")
        self.assertEqual(read_json(self.path("a.json"))["cells"], result["cells"])

        def change(new):
            (cell,) = (
                cell
                for cell in new["cells"]
                if (cell["path"], cell["workload"], cell["parameters"])
                == ("param", "add", {"distinct": 8, "stride_bytes": 64})
            )
            scale(cell, 1.5)
            new["cells"].reverse()

        comparison = self.compare(
            "a.json", self.plant(change, self.path("a.json")), "--junit", "r.xml", status=1
        )
        self.assertEqual(
            (comparison["cells"][0]["verdict"], comparison["cells"][0]["parameters"]),
            ("regressed", {"distinct": 8, "stride_bytes": 64}),
        )
        # The model says no time of a cell that copies before every launch.
        said = sum(
            cell["status"] == "skipped" or cell["time_ns"]["value"] is not None
            for cell in result["cells"]
        )
        self.assertEqual(
            (comparison["counts"]["regressed"], comparison["counts"]["same"]), (1, said - 1)
        )
        # predictions do not vary
        for cell in filter(lambda cell: cell["ratio"], comparison["cells"]):
            self.assertEqual(cell["ratio"]["ci_low"], cell["ratio"]["ci_high"])
        names = [
            case.get("name") for case in xml.parse(self.path("r.xml")).getroot().iter("testcase")
        ]
        self.assertEqual(len(set(names)), len(result["cells"]))


class Simulation(Case):
    """Simulations of the gate, and the defaults that it rests on."""

    COMMITTED = [
        os.path.join(ROOT, f"results/{chip}/gate/gate-simulation.json") for chip in ("h200", "h100")
    ]

    def script(self, name, *arguments, status=0):
        done = subprocess.run(
            [sys.executable, os.path.join(ROOT, "scripts/studies", name), *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def test_the_default_deviations_are_what_the_committed_results_say(self):
        self.script("process_deviation.py", "--check")
        self.script("widest_noise.py", "--check")

    def test_a_few_trials(self):
        path = os.path.join(self.folder, "simulation.json")
        self.script(
            "gate_simulation.py",
            "--program",
            CBANK,
            "--trials",
            "8",
            "--first",
            "2",
            "--json",
            path,
        )
        rows = read_json(path)["rows"]
        self.assertEqual(
            [(row["processes"], row["threshold_percent"]) for row in rows], [(1, 0.5), (1, 1)]
        )
        self.assertEqual((rows[1]["alarms"], rows[1]["found"]), (0, 16))

    def test_a_few_gates(self):
        path = os.path.join(self.folder, "interim_analyses.json")
        self.script(
            "gate_simulation.py",
            "--program",
            CBANK,
            "--gate",
            "--trials",
            "6",
            "--first",
            "2",
            "--json",
            path,
        )
        rows = read_json(path)["rows"]
        self.assertEqual([row["threshold_percent"] for row in rows], [0.5, 1])
        self.assertEqual([(row["alarms"], row["found"]) for row in rows], [(0, 12), (0, 12)])
        self.assertLess(rows[1]["processes"], 6 * 10)

    def test_the_committed_table_of_gates(self):
        """No more than one gate in twenty with a false alarm, by four standard errors, whatever
        the noise."""
        path = os.path.join(ROOT, "results/h200/gate/gate-looks.json")
        report = read_json(path)
        trials = report["trials"]
        self.assertGreaterEqual(trials, 60)
        for row in report["rows"]:
            self.assertLessEqual(
                row["alarms"], 0.05 * trials + 4 * (0.05 * 0.95 * trials) ** 0.5, row
            )
            if (row["cache_state"], row["noise"]) == ("hot", 1):
                self.assertGreaterEqual(row["found"], 0.95 * 2 * trials, row)
        self.assertEqual(
            len(self.script("gate_simulation.py", "--show", path).stdout.splitlines()), 2 + 2 + 12
        )

    def test_a_few_boards_and_the_committed_table_of_boards(self):
        """No more than one comparison in twenty with a false alarm, by four standard errors; of
        boards that differ three times as much as is known, from two others on. Real ones are of
        two kinds, which few others do not show."""
        path = os.path.join(self.folder, "boards.json")
        self.script(
            "gate_simulation.py",
            "--program",
            CBANK,
            "--boards",
            "--trials",
            "4",
            "--first",
            "4",
            "--json",
            path,
        )
        rows = read_json(path)["rows"]
        self.assertEqual(
            [(row["others"], row["alarms"] <= 1) for row in rows],
            [(0, True), (2, True), (3, True), (5, True)],
        )
        self.assertGreaterEqual(rows[3]["found"], 4)
        report = read_json(os.path.join(ROOT, "results/h200/gate/board-simulation.json"))
        trials = report["trials"]
        for row in report["rows"]:
            if row["boards"] == "unequal" or (row["boards"] == "threefold" and row["others"]):
                self.assertLessEqual(
                    row["alarms"], 0.05 * trials + 4 * (0.05 * 0.95 * trials) ** 0.5, row
                )
            if row["boards"] == "unequal" and row["others"] >= 5:
                self.assertGreaterEqual(row["found"], 0.6 * 2 * trials, row)

    def test_the_committed_table(self):
        """No more false alarms than one comparison in twenty (with heavy tails, one in ten), by
        four standard errors, where the noise is what is assumed, and whatever it is from three
        processes a side on."""
        for path in self.COMMITTED:
            with self.subTest(path):
                self.check_table(path)

    def check_table(self, path):
        report = read_json(path)
        trials = report["trials"]
        allowed = {
            tails: share * trials + 4 * (share * (1 - share) * trials) ** 0.5
            for tails, share in (("normal", 0.05), ("heavy", 0.1))
        }
        for row in report["rows"]:
            if row["noise"] == 1 or row["processes"] > 1:
                self.assertLessEqual(row["alarms"], allowed[row["tails"]], row)
            if (row["cache_state"], row["noise"]) == ("hot", 1) and row["threshold_percent"] >= 1:
                self.assertGreaterEqual(row["found"], 0.95 * 2 * trials, row)
        table = self.script("gate_simulation.py", "--show", path).stdout
        self.assertEqual(len(table.splitlines()), 2 + 2 + 12)


if __name__ == "__main__":
    unittest.main()
