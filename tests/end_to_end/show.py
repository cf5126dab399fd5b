#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cbank show` prints a screen of every document of cbank.

CBANK names the program (default build/cbank).
"""

import hashlib
import json
import os
import re
import unittest

from common import ROOT, Scratch, cbank as program, kept_folder, read_bytes, read_json

CHIP = os.path.join(ROOT, "results/chips/h200")
SCREEN = 50  # lines
SINCE = "2026-11-21T00:00:00Z"


def cbank(*words, status=0, width=80):
    done = program(*words, COLUMNS=str(width))
    if done.returncode != status:
        raise AssertionError(f"{words} exits {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


class Show(Scratch):
    @classmethod
    def setUpClass(cls):
        cls.made = kept_folder(cls)
        # As seen from the tree: a long path takes the place of other columns.
        core = "results/chips/h200/core-matrix.json"
        second = "results/chips/h200/second-process.json"
        nights = "results/h200/fleet/nights"
        for name, words in {
            "comparison": ("compare", core, second, "--json", "-"),
            "advice": ("advise", "--table-bytes", "128", "--json", "-"),
            "explanation": ("explain", "--json", core),
            "ranking": ("spaces", "results/h200/kernels/suite.json", "--ranks", "-"),
            "history": ("history", nights, "--json"),
        }.items():
            with open(os.path.join(cls.made, name + ".json"), "w", encoding="utf-8") as file:
                file.write(cbank(*words).stdout)
        store = os.path.join(cls.made, "fleet.db")
        cbank("ingest", store, nights)
        cbank("fleet", store, "--json", os.path.join(cls.made, "fleet.json"))
        cls.files = {
            kind: os.path.join(cls.made, kind + ".json")
            for kind in ("comparison", "advice", "explanation", "ranking", "history", "fleet")
        }
        cls.files |= {
            kind: os.path.join(CHIP, kind + ".json") for kind in ("card", "calibration", "manifest")
        }

    def test_every_document_has_a_screen(self):
        """Each says these words, by hand from the files; no line is wider than the terminal."""
        measured = read_bytes(os.path.join(CHIP, "all-paths.json"))
        self.assertIn(
            f"{len(measured)}  {hashlib.sha256(measured).hexdigest()}",
            cbank("show", self.files["manifest"], width=120).stdout,
        )
        for kind, words in {
            "comparison": (
                "NEW is the same: 24 same of 24 cells",
                "cell verdict ratio low high",
                "add/constant/per_thread/128000/1024/hot same 1.0022 1.0007 1.0037",
            ),
            "advice": (
                "choice shuffle",
                "shared - - 1.0395 too close to call 1.211 us L1",
                "select_4 reason: select_4 holds a table of 16 bytes",
            ),
            "explanation": (
                "core-matrix.json H200 NVIDIA H200 580",
                "add/constant/pseudo_random/12800000/1024/hot 1.602 ms constant fills",
            ),
            "ranking": (
                "GPU NVIDIA H200 driver 580",
                "aes_ctr/readonly/own/16384/0/hot/kernel=7aa51b113f3ba4b2 slower 1.0332",
            ),
            "history": (
                "started GPU cells failed",
                "2026-11-22T09:39:08Z GPU-39143642-54d2-e522-6edc-edd0fa8677fc 24 0",
            ),
            "fleet": ("verdict quiet answered 2", "GPU-d61ad9fe-f5d5-a939-d9cd-21a405e287be quiet"),
            "card": (
                "name H200 chip GH100 cc_major 9 cc_minor 0",
                "sm_count 132 132 132 device",
                "l2_latency_cycles 274.91 249.38 305.38 characterized",
            ),
            "calibration": ("processes 5", "degrees add/global/per_block/12800000/1024/hot 0.000"),
            "manifest": (
                "measured_utc 2026-11-24T04:44:54Z",
                f"all-paths.json {len(measured)}",
            ),
        }.items():
            with self.subTest(kind):
                said = cbank("show", self.files[kind]).stdout
                self.assertEqual(said.splitlines()[0], f"{self.files[kind]}: {kind}")
                for text in words:
                    self.assertIn(re.sub(" +", " ", text), " ".join(said.split()))
                self.assertLessEqual(max(map(len, said.splitlines())), 80)
                self.assertLessEqual(said.count("\n"), SCREEN)
        for file in (
            os.path.join(ROOT, "results/characterizations/h200.json"),
            os.path.join(CHIP, "characterization.json"),
        ):
            said = cbank("show", file).stdout
            self.assertLessEqual(said.count("\n"), SCREEN)
            for text in (
                "constant 28 | 11 2 | 63.9",
                "93 to 111 131072 256 256 8 64",
                "constant: Each further distinct address",
            ):
                self.assertIn(text, " ".join(said.split()))
            self.assertIn(
                "latency_constant: cycles of a dependent load\n  latency: 28 [28, 28] cycles\n",
                cbank("show", file, "--all").stdout,
            )

    def test_wide_terminals_see_more_columns(self):
        said = cbank("show", self.files["card"], width=260).stdout
        self.assertIn("cudaGetDeviceProperties, NVML", said)
        self.assertRegex(
            cbank("show", self.files["comparison"], width=200).stdout,
            r"cell +verdict +ratio +low +high +base +new\n",
        )
        self.assertRegex(
            cbank("show", self.files["calibration"], width=200).stdout,
            r"cell +deviation +time +degrees +origin\n",
        )

    def test_all_prints_every_row(self):
        calibration = read_json(self.files["calibration"])
        calibration["cells"] = [
            {
                **cell,
                "elements": elements,
                "identity": cell["identity"].replace("/128000/", f"/{elements}/"),
            }
            for elements in (128000, 256000)
            for cell in calibration["cells"]
        ]
        file = self.write("calibration.json", json.dumps(calibration))
        self.assertRegex(cbank("show", file).stdout, r"\nand 18 more; --all prints them\n$")
        self.assertEqual(cbank("show", "--all", file).stdout.count("/hot "), 48)

    def test_changes_of_fleets_and_histories_come_first(self):
        fleet, history = read_json(self.files["fleet"]), read_json(self.files["history"])
        gpu = fleet["gpus"][0]
        finding = {
            "kind": "slower",
            "who": "all of driver 9",
            "what": "constant",
            "change": 0.02,
            "since_utc": SINCE,
            "why": "driver",
            "fails": True,
        }
        fleet["findings"] = [finding]
        self.assertEqual(set(finding) - set(properties("fleet", "findings")), set())
        change = {key: None for key in properties("history", "changes")}
        change |= {
            "since_utc": SINCE,
            "uuid": gpu["uuid"],
            "cell": "add/constant/per_block/128000/1024/hot",
            "change": 0.02,
            "ci_low": 0.01,
            "ci_high": 0.03,
            "with": "the driver",
        }
        history["changes"] = [change]
        for kind, content, rows in (
            (
                "fleet",
                fleet,
                ["kind who change since what", f"slower all of driver 9 +2.00% {SINCE} constant"],
            ),
            (
                "history",
                history,
                [
                    "since GPU change cell with",
                    f"{SINCE} {gpu['uuid']} +2.00% {change['cell']} the driver",
                ],
            ),
        ):
            said = cbank("show", self.write(f"{kind}.json", json.dumps(content)), width=160).stdout
            lines = [" ".join(line.split()) for line in said.splitlines()]
            first = lines.index("findings" if kind == "fleet" else "changes")
            self.assertEqual(lines[first + 1 : first + 3], rows)

    def test_documents_of_several_kinds(self):
        core, card = os.path.join(CHIP, "core-matrix.json"), self.files["card"]
        said = cbank("show", core, card, core, width=120).stdout
        alone = cbank("show", core, width=120).stdout
        self.assertEqual(said.count(alone), 2)
        self.assertIn(f"\n{card}: card\nname      H200\n", said)

    def test_check_says_of_each_file_whether_it_is_a_document(self):
        """In their order; what is wrong goes to standard error, a line a file."""
        core, manifest = os.path.join(CHIP, "core-matrix.json"), self.files["manifest"]
        result, listed, foreign = read_json(core), read_json(manifest), {"a": 1}
        result["cells"][1]["elements"] = "many"
        listed["files"][0]["sha256"] = "no hash"
        wrong = [
            self.write(f"{name}.json", json.dumps(content))
            for name, content in (("result", result), ("list", listed), ("foreign", foreign))
        ]
        files = [wrong[0], *self.files.values(), wrong[1], core, wrong[2]]
        done = cbank("show", "--check", *files, status=2)
        self.assertEqual(
            done.stdout.splitlines(),
            [f"{'refused' if file in wrong else 'valid'} {file}" for file in files],
        )
        self.assertEqual(len(done.stderr.splitlines()), len(wrong))
        for said in ("cells[1].elements: ", "files[0].sha256: expected 64 hexadecimal digits"):
            self.assertIn(said, done.stderr)
        self.assertEqual(cbank("show", "--check", *self.files.values(), core).stderr, "")

    def test_what_cannot_be_shown(self):
        foreign = self.write("foreign.json", '{"schema": {"name": "other", "version": "1.0"}}')
        self.assertIn("'other' is no result", cbank("show", foreign, status=2).stderr)
        later = self.write("later.json", '{"schema": {"name": "cbank-fleet", "version": "2.0"}}')
        self.assertIn("expected 1.x", cbank("show", later, status=2).stderr)
        for option in (("--csv",), ("--json",), ("--cell", "*")):
            self.assertIn(
                "are for results, and this is a cbank-card",
                cbank("show", *option, self.files["card"], status=2).stderr,
            )
        broken = read_json(self.files["card"])
        del broken["chip"]
        self.assertIn(
            "chip", cbank("show", self.write("broken.json", json.dumps(broken)), status=2).stderr
        )


def properties(kind, key):
    """Keys of an item of a list in a schema."""
    schema = read_json(os.path.join(ROOT, f"results/{kind}.schema.json"))
    return schema["properties"][key]["items"]["properties"]


if __name__ == "__main__":
    unittest.main()
