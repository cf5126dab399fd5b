#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""End-to-end tests of cbank contribute and cbank check on a simulated GPU (tests/simulated/simulated.h), whose program CBANK
names (default build/tests/simulated/cbank, of `make simulated`), and of the committed folders of chips."""

import glob
import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import jsonschema

from common import ROOT, Scratch, read_json

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/tests/simulated/cbank")))
FILES = ("all-paths", "calibration", "card", "characterization", "core-matrix", "core-matrix-cold", "second-process",
         "serialization", "sizes", "table-sizes", "widths")
HERE = unittest.skipUnless(os.path.exists(CBANK), "no program for the simulated GPU: make simulated says why")
SECONDS = 240


def environment(**more):
    return {**os.environ, "CBANK_CUPTI_DIR": os.path.dirname(CBANK), "CBANK_SIMULATED": "noise=0.0005", **more}


def cbank(folder, *words, **more):
    return subprocess.run([CBANK, *words], capture_output=True, text=True, timeout=SECONDS, check=False, cwd=folder,
                          env=environment(**more))


def valid(value, schema):
    jsonschema.Draft202012Validator(read_json(os.path.join(ROOT, f"results/{schema}.schema.json"))).validate(value)
    return value


def times(folder):
    """When each file was written."""
    return {name: os.stat(os.path.join(folder, name)).st_mtime_ns for name in os.listdir(folder)}


class Committed(unittest.TestCase):
    """CI looks at every chip."""

    def test_folders_of_chips_are_whole(self):
        program = os.path.join(ROOT, "build/cbank") if not os.path.exists(CBANK) else CBANK
        folders = sorted(glob.glob(os.path.join(ROOT, "results/chips/*/")))
        if folders:
            done = subprocess.run([program, "check", *folders], capture_output=True, text=True, timeout=SECONDS, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


@HERE
class Case(Scratch):
    """Tests have a whole folder, which the first of them makes."""

    whole = None
    said = ""

    @classmethod
    def setUpClass(cls):
        if Case.whole is None and os.path.exists(CBANK):
            Case.whole = tempfile.mkdtemp()
            unittest.addModuleCleanup(shutil.rmtree, Case.whole)
            done = cbank(Case.whole, "contribute", "chip", "--brief", "--credit", "A Tester")
            Case.said = done.stdout + done.stderr
            if done.returncode:
                raise AssertionError(Case.said)

    def setUp(self):
        super().setUp()
        self.chip = self.path("chip")
        shutil.copytree(os.path.join(Case.whole, "chip"), self.chip)

    def cbank(self, *words, status=0, **more):
        done = cbank(self.folder, *words, **more)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def check(self, *folders, status=1):
        """Findings of each folder, as (file, what)."""
        done = self.cbank("check", "--brief", "--json", *(folders or ["chip"]), status=status)
        told = valid(json.loads(done.stdout), "check")
        return [[(finding["file"], finding["what"]) for finding in folder["findings"]] for folder in told["folders"]]

    def edit(self, name, change, listed=True):
        """Changes a file, and what the manifest says of it."""
        path = os.path.join(self.chip, f"{name}.json")
        value = read_json(path)
        change(value)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file)
        if listed:
            self.list_again(f"{name}.json")

    def list_again(self, name):
        path = os.path.join(self.chip, "manifest.json")
        manifest = read_json(path)
        with open(os.path.join(self.chip, name), "rb") as file:
            data = file.read()
        for entry in manifest["files"]:
            if entry["name"] == name:
                entry.update(sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
        with open(path, "w", encoding="utf-8") as file:
            json.dump(manifest, file)

    def one_finding(self, file, what):
        (findings,) = self.check()
        self.assertEqual([found[0] for found in findings], [file], findings)
        self.assertRegex(findings[0][1], what)


class Contribute(Case):
    def test_the_folder(self):
        self.assertEqual(sorted(os.listdir(self.chip)), sorted([*(f"{name}.json" for name in FILES), "manifest.json"]))
        manifest = valid(read_json(os.path.join(self.chip, "manifest.json")), "manifest")
        self.assertEqual((manifest["credit"], manifest["brief"]), ("A Tester", True))
        self.assertEqual(manifest["device"]["name"], "Simulated H200")
        for entry in manifest["files"]:
            with open(os.path.join(self.chip, entry["name"]), "rb") as file:
                self.assertEqual(hashlib.sha256(file.read()).hexdigest(), entry["sha256"])
        card = valid(read_json(os.path.join(self.chip, "card.json")), "card")
        self.assertIn("fitted", {origin["from"] for origin in card["origins"].values()})
        self.assertEqual({file["file"] for file in card["evidence"].values()} - {f"{name}.json" for name in FILES}, set())
        for name in set(FILES) - {"card", "calibration", "characterization"}:
            result = read_json(os.path.join(self.chip, f"{name}.json"))
            self.assertIsNone(result["host"]["name"])
            self.assertEqual({cell["status"] for cell in result["cells"]} - {"ok", "skipped"}, set(), name)
        self.assertRegex(Case.said, r"1 of 13: the default plan; about \d+ min \d\d s left")
        self.assertIn("nothing is missing, nothing contradicts", " ".join(Case.said.split()))

    def test_what_is_there_is_not_measured_again(self):
        before = times(self.chip)
        self.cbank("contribute", "chip", "--brief")
        after = times(self.chip)
        before.pop("manifest.json"), after.pop("manifest.json")
        self.assertEqual(before, after)
        self.assertEqual(read_json(os.path.join(self.chip, "manifest.json"))["credit"], "A Tester")
        os.remove(os.path.join(self.chip, "widths.json"))
        done = self.cbank("contribute", "chip", "--brief", "--credit", "Another")
        self.assertEqual(done.stderr.count(" of 13: "), 1)
        self.assertIn("7 of 13: elements of 1 to 16 bytes", done.stderr)
        self.assertEqual(read_json(os.path.join(self.chip, "manifest.json"))["credit"], "Another")

    def stopped(self, number, after, folder="new"):
        """Sends a signal once a step runs. The exit status."""
        path = self.path("said")
        with open(path, "w", encoding="utf-8") as said:
            process = subprocess.Popen([CBANK, "contribute", folder, "--brief"], cwd=self.folder, env=environment(),
                                       stdout=said, stderr=said,
                                       preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            end = time.monotonic() + SECONDS
            while time.monotonic() < end and process.poll() is None:
                with open(path, encoding="utf-8") as file:
                    if after in file.read():
                        break
                time.sleep(0.01)
            process.send_signal(number)
            process.wait(timeout=SECONDS)
        return process.returncode

    def test_the_card_takes_no_gpu(self):
        os.remove(os.path.join(self.chip, "card.json"))
        self.cbank("contribute", "chip", "--brief", CBANK_SIMULATED="devices=0")
        self.cbank("check", "--brief", "chip")

    def test_it_goes_on_after_a_signal(self):
        self.assertEqual(self.stopped(signal.SIGINT, "2 of 13"), -signal.SIGINT)
        there = {name for name in os.listdir(self.path("new")) if not name.startswith(".")}
        self.assertIn("core-matrix.json", there)
        self.assertNotIn("manifest.json", there)
        with open(self.path("said"), encoding="utf-8") as file:
            self.assertIn("new has what is done; the same command goes on", file.read())
        first = times(self.path("new"))["core-matrix.json"]
        self.assertEqual(self.stopped(signal.SIGKILL, "5 of 13"), -signal.SIGKILL)
        self.assertEqual(self.stopped(signal.SIGTERM, "11 of 13"), -signal.SIGTERM)
        done = self.cbank("contribute", "new", "--brief")
        self.assertIn("nothing is missing, nothing contradicts", " ".join(done.stdout.split()))
        self.assertEqual(times(self.path("new"))["core-matrix.json"], first)
        self.assertEqual(sorted(os.listdir(self.path("new"))), sorted(os.listdir(self.chip)))

    def test_another_gpu_goes_on_with_nothing(self):
        for name in ("sizes.json", "all-paths.json"):
            os.remove(os.path.join(self.chip, name))
        self.edit("core-matrix", lambda result: result["device"].update(uuid="GPU-of-another-board"))
        done = self.cbank("contribute", "chip", "--brief", status=2)
        self.assertIn("GPU-of-another-board", done.stderr)
        self.assertIn("name another folder", done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.chip, "sizes.json")))

    def test_a_file_of_another_command(self):
        self.edit("sizes", lambda result: result["tool"].update(argv="cbank run --json sizes.json"))
        self.assertIn("sizes.json is of another command", self.cbank("contribute", "chip", "--brief", status=2).stderr)

    def test_what_is_missing_here(self):
        with open(self.path("scipy.py"), "w", encoding="utf-8") as file:
            file.write("raise ImportError('no scipy')\n")
        done = self.cbank("contribute", "empty", "--brief", status=3, PYTHONPATH=self.folder)
        self.assertIn("scripts/setup.sh contribute", done.stderr)
        self.assertEqual(os.listdir(self.path("empty")), [])
        done = self.cbank("contribute", "empty", "--brief", status=3, CBANK_SIMULATED="devices=0")
        self.assertEqual(os.listdir(self.path("empty")), [])

    def test_a_python_that_has_what_it_takes(self):
        """The distribution's Python has no scipy, another one of PATH has: it is taken, and what is missing is the GPU."""
        os.mkdir(self.path("without"))
        with open(self.path("without/scipy.py"), "w", encoding="utf-8") as file:
            file.write("raise ImportError('no scipy')\n")
        with open(self.path("python3"), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nunset PYTHONPATH\nexec /usr/bin/python3 "$@"\n')
        os.chmod(self.path("python3"), 0o755)
        done = self.cbank("contribute", "empty", "--brief", status=3, CBANK_SIMULATED="devices=0",
                          PYTHONPATH=self.path("without"), PATH=f"{self.folder}:{os.environ['PATH']}")
        self.assertNotIn("scipy", done.stdout + done.stderr)

    def test_bad_input(self):
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        self.cbank("contribute", status=2)
        self.assertIn("file", self.cbank("contribute", "file", status=2).stderr)
        self.assertIn("file/folder", self.cbank("contribute", "file/folder", status=2).stderr)
        self.cbank("contribute", "not/yet", status=3, CBANK_SIMULATED="devices=0")
        self.assertTrue(os.path.isdir(self.path("not/yet")))
        self.cbank("check", status=2)
        self.assertIn("nothing here", self.cbank("check", "nothing here", status=2).stderr)
        self.assertIn("file", self.cbank("check", "file", status=2).stderr)


class Check(Case):
    def test_a_whole_folder(self):
        self.assertEqual(self.check("chip/", status=0), [[]])
        done = self.cbank("check", "--brief", "chip")
        self.assertRegex(" ".join(done.stdout.split()),
                         r"^chip: Simulated H200, driver \S+, 11 files, \d\.\d MiB, measured by A Tester: "
                         r"nothing is missing, nothing contradicts$")
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)

    def test_short_plans_are_no_contribution(self):
        done = self.cbank("check", "chip", status=1)
        self.assertIn("the short plans of tests", done.stdout)

    def test_what_is_missing(self):
        for name in (*FILES, "manifest"):
            with self.subTest(name):
                shutil.rmtree(self.chip)
                shutil.copytree(os.path.join(Case.whole, "chip"), self.chip)
                os.remove(os.path.join(self.chip, f"{name}.json"))
                (findings,) = self.check()
                self.assertEqual({found[0] for found in findings}, {f"{name}.json"})
                self.assertIn("is missing", findings[0][1])

    def test_what_is_malformed(self):
        for name in (*FILES, "manifest"):
            with self.subTest(name):
                shutil.rmtree(self.chip)
                shutil.copytree(os.path.join(Case.whole, "chip"), self.chip)
                path = os.path.join(self.chip, f"{name}.json")
                with open(path, "rb+") as file:
                    file.truncate(os.path.getsize(path) // 2)
                (findings,) = self.check()
                self.assertEqual({found[0] for found in findings}, {f"{name}.json"})
                self.assertGreaterEqual(len(findings), 1)

    def test_hashes(self):
        self.edit("sizes", lambda result: result.update(seed=7), listed=False)
        self.one_finding("sizes.json", "is not the file of the manifest: .* SHA-256")

    def test_a_file_that_nobody_named(self):
        shutil.copy(os.path.join(self.chip, "sizes.json"), os.path.join(self.chip, "more.json"))
        self.one_finding("more.json", "is not in the manifest")

    def test_a_manifest_that_names_what_is_elsewhere(self):
        self.edit("manifest", lambda manifest: manifest["files"][0].update(name="../card.json"), listed=False)
        (findings,) = self.check()
        self.assertIn(("manifest.json", "is no manifest"), findings)

    def test_mixed_gpus_drivers_and_commits(self):
        for change, what in ((lambda found: found["device"].update(uuid="GPU-other"), "is of the board GPU-other, and manifest"),
                             (lambda found: found["device"].update(name="NVIDIA H100"), "is of the GPU NVIDIA H100"),
                             (lambda found: found["device"].update(driver="1.2.3"), "is of driver 1.2.3"),
                             (lambda found: found["tool"].update(git_commit="0123456789"), "is of commit 0123456789")):
            for name in ("sizes", "characterization", "calibration"):
                with self.subTest(f"{name}: {what}"):
                    shutil.rmtree(self.chip)
                    shutil.copytree(os.path.join(Case.whole, "chip"), self.chip)
                    self.edit(name, change)
                    (findings,) = self.check()
                    self.assertIn(f"{name}.json", {found[0] for found in findings})
                    self.assertRegex(" ".join(found[1] for found in findings), what)

    def test_results_that_are_no_measurement_of_the_step(self):
        self.edit("widths", lambda result: result["tool"].update(argv="cbank run"))
        self.one_finding("widths.json", "is of another command: cbank run")
        self.edit("widths", lambda result: result.update(complete=False, finished_utc=None))
        self.one_finding("widths.json", "is of a run that did not end")
        self.edit("widths", lambda result: result.update(engine="model"))
        self.one_finding("widths.json", "is a prediction")

    def test_exact_counters(self):
        def plant(result):
            result["cells"][0]["counters"]["global_load_instructions"]["value"] += 1

        self.edit("serialization", plant)
        self.one_finding("serialization.json", "has 1 exact counters that differ")

    def test_a_second_process_that_differs(self):
        def plant(result):
            for cell in result["cells"]:
                if cell["path"] == "global":
                    time_ns = cell["time_ns"]
                    time_ns["samples"] = [1.05 * sample for sample in time_ns["samples"]]
                    for key in ("value", "median", "ci_low", "ci_high", "min"):
                        time_ns[key] *= 1.05

        self.edit("second-process", plant)
        self.one_finding("second-process.json", "differs from core-matrix.json, .* in 2 of 4 cells")

    def test_a_card_that_contradicts_the_results(self):
        self.edit("card", lambda card: card.update(sm_count=131))
        self.one_finding("card.json", "131 SMs .* 132")
        shutil.copy(os.path.join(Case.whole, "chip/card.json"), self.chip)
        self.edit("card", lambda card: card.update(launch_ns=9999))
        self.one_finding("card.json", "has launch_ns of 9999, beyond its interval")
        shutil.copy(os.path.join(Case.whole, "chip/card.json"), self.chip)
        self.edit("card", lambda card: card["levels"][0].update(ways=None))
        self.one_finding("card.json", "does not know the geometry of idc")
        shutil.copy(os.path.join(Case.whole, "chip/card.json"), self.chip)
        self.edit("card", lambda card: next(iter(card["evidence"].values())).update(sha256=64 * "0"))
        self.one_finding("card.json", "rests on .* SHA-256 000000000000, which is not in the folder")

    def test_two_folders_of_one_chip(self):
        shutil.copytree(self.chip, self.path("again"))
        first, second = self.check("chip", "again")
        self.assertEqual(first, [])
        self.assertEqual(second, [("manifest.json", "is of the same chip as chip, Simulated H200")])

    def test_a_folder_that_is_too_large(self):
        with open(os.path.join(self.chip, "widths.json"), "a", encoding="utf-8") as file:
            file.write(10_000_000 * " ")
        self.list_again("widths.json")
        (findings,) = self.check()
        self.assertRegex(findings[0][1], r"has 1\d\.\d MiB, more than 10")

    def test_an_empty_folder(self):
        os.mkdir(self.path("empty"))
        (findings,) = self.check("empty")
        self.assertEqual(len(findings), 1 + len(FILES))


if __name__ == "__main__":
    unittest.main()
