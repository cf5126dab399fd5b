#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""End-to-end tests of cbank contribute and cbank check on a simulated GPU
(tests/simulated/simulated.h), whose program CBANK names (default build/tests/simulated/cbank, of
`make simulated`), and of the committed folders of chips."""

import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

import jsonschema

from common import analysis, cbank as program, ROOT, Scratch, read_bytes, read_json, scale

from cbank import chips

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/tests/simulated/cbank")))
FILES = (
    "all-paths",
    "calibration",
    "card",
    "characterization",
    "core-matrix",
    "core-matrix-cold",
    "second-process",
    "serialization",
    "sizes",
    "table-sizes",
    "widths",
)
HERE = unittest.skipUnless(
    os.path.exists(CBANK), "no program for the simulated GPU: make simulated says why"
)
SECONDS = 240
WHOLE = "nothing is missing, nothing contradicts"


def environment(**more):
    return {
        **os.environ,
        "CBANK_CUPTI_DIR": os.path.dirname(CBANK),
        "CBANK_SIMULATED": "noise=0.0005",
        **more,
    }


def cbank(folder, *words, **more):
    return program(*words, folder=folder, **environment(**more))


def valid(value, schema):
    jsonschema.Draft202012Validator(
        read_json(os.path.join(ROOT, f"results/{schema}.schema.json"))
    ).validate(value)
    return value


def times(folder):
    """When each file was written."""
    return {name: os.stat(os.path.join(folder, name)).st_mtime_ns for name in os.listdir(folder)}


class Committed(unittest.TestCase):
    """CI looks at every chip."""

    def test_folders_of_chips_are_whole(self):
        program = CBANK if os.path.exists(CBANK) else os.path.join(ROOT, "build/cbank")
        folders = sorted(glob.glob(os.path.join(ROOT, "results/chips/*/")))
        done = subprocess.run(
            [program, "check", *folders],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        self.assertEqual(
            (done.returncode, done.stdout.count("results/chips/")),
            (0, len(folders)),
            done.stdout + done.stderr,
        )

    def test_a_card_may_rest_on_the_programs_own_too(self):
        """What an older characterization lacks, or a GPU without counters, is of the card that the
        program has of the chip. The folder is whole all the same."""
        program = CBANK if os.path.exists(CBANK) else os.path.join(ROOT, "build/cbank")
        with tempfile.TemporaryDirectory() as folder:
            chip = shutil.copytree(
                os.path.join(ROOT, "results/chips/h200"), os.path.join(folder, "chip")
            )
            for name in ("card.json", "manifest.json"):
                os.remove(os.path.join(chip, name))
            done = subprocess.run(
                [program, "contribute", chip],
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
            self.assertIn(WHOLE, " ".join(done.stdout.split()), done.stderr)
            card = read_json(os.path.join(chip, "card.json"))
            self.assertEqual(
                {os.path.dirname(one["file"]) for one in card["evidence"].values()},
                {"", "results/characterizations"},
            )
            of_program = {
                key for key, one in card["evidence"].items() if os.path.dirname(one["file"])
            }
            changed = next(
                key
                for key, number in card["model"].items()
                if number and of_program & set(number.get("evidence", []))
            )
            card["model"][changed]["value"] *= 3
            card["model"][changed]["high"] *= 3
            chips.write_json(os.path.join(chip, "card.json"), card)
            done = subprocess.run(
                [program, "check", chip],
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"has another {changed} than the card", " ".join(done.stdout.split()))
            card["evidence"] = {key: card["evidence"][key] for key in of_program}
            chips.write_json(os.path.join(chip, "card.json"), card)
            done = subprocess.run(
                [program, "check", chip],
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
            self.assertEqual(done.returncode, 1)
            self.assertIn("card.json rests on no file of the folder", done.stdout)

    def test_who_asks_a_program_that_is_killed(self):
        """Nothing is known of the files then: nobody is told to remove them."""
        with tempfile.TemporaryDirectory() as folder:
            killed = os.path.join(folder, "cbank")
            with open(os.open(killed, os.O_WRONLY | os.O_CREAT, 0o755), "w") as file:
                file.write("#!/bin/sh\nkill -9 $$\n")
            for path in ("results/chips/h200", "results/cards/h200.json"):
                done = analysis("check", os.path.join(ROOT, path), CBANK_PROGRAM=killed)
                with self.subTest(path):
                    self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
                    self.assertRegex(done.stderr, "^cbank: error: cbank show --check was killed")
                    self.assertNotIn("remove", done.stderr)


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
        self.fresh()

    def fresh(self):
        shutil.rmtree(self.chip, ignore_errors=True)
        shutil.copytree(os.path.join(Case.whole, "chip"), self.chip)

    def cbank(self, *words, status=0, **more):
        done = cbank(self.folder, *words, **more)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def check(self, *folders, status=1):
        """Findings of each folder, as (file, what)."""
        done = self.cbank("check", "--brief", "--json", *(folders or ["chip"]), status=status)
        told = valid(json.loads(done.stdout), "check")
        return [
            [(finding["file"], finding["what"]) for finding in folder["findings"]]
            for folder in told["folders"]
        ]

    def edit(self, name, change, listed=True):
        """Changes a file, and what the manifest says of it."""
        value = read_json(self.path(f"chip/{name}.json"))
        change(value)
        self.write(f"chip/{name}.json", value)
        if listed:
            self.list_again(f"{name}.json")

    def list_again(self, name):
        manifest = read_json(self.path("chip/manifest.json"))
        manifest["files"] = [
            chips.entry_of(self.chip, name) if entry["name"] == name else entry
            for entry in manifest["files"]
        ]
        self.write("chip/manifest.json", manifest)

    def one_finding(self, file, what):
        (findings,) = self.check()
        self.assertEqual([found[0] for found in findings], [file], findings)
        self.assertRegex(findings[0][1], what)


class Contribute(Case):
    def test_the_folder_is_of_one_gpu_and_hides_the_host(self):
        self.assertEqual(
            sorted(os.listdir(self.chip)),
            sorted([*(f"{name}.json" for name in FILES), "manifest.json"]),
        )
        manifest = valid(read_json(os.path.join(self.chip, "manifest.json")), "manifest")
        self.assertEqual(
            (manifest["credit"], manifest["brief"], manifest["device"]["name"]),
            ("A Tester", True, "Simulated H200"),
        )
        card = valid(read_json(os.path.join(self.chip, "card.json")), "card")
        self.assertIn("characterized", json.dumps(card))
        for name in set(FILES) - {"card", "calibration", "characterization"}:
            result = read_json(os.path.join(self.chip, f"{name}.json"))
            self.assertIsNone(result["host"]["name"])
            self.assertEqual(
                {cell["status"] for cell in result["cells"]} - {"ok", "skipped"}, set(), name
            )
        self.assertRegex(Case.said, r"1 of 11: the default plan; about \d+ min \d\d s left")
        self.assertIn(WHOLE, " ".join(Case.said.split()))

    def test_what_is_there_is_not_measured_again(self):
        before = times(self.chip)
        os.remove(os.path.join(self.chip, "widths.json"))
        done = self.cbank("contribute", "chip", "--brief")
        after = times(self.chip)
        self.assertEqual(done.stderr.count(" of 11: "), 1)
        self.assertIn("7 of 11: elements of 1 to 16 bytes", done.stderr)
        self.assertEqual(
            {name for name in before if before[name] != after[name]},
            {"widths.json", "manifest.json"},
        )
        self.assertEqual(read_json(os.path.join(self.chip, "manifest.json"))["credit"], "A Tester")

    def stopped(self, number, after):
        """Sends a signal once a step runs. All that was said."""
        with subprocess.Popen(
            [CBANK, "contribute", "new", "--brief"],
            cwd=self.folder,
            env=environment(),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as process:
            said = []
            for line in process.stdout:
                said.append(line)
                if after in line:
                    process.send_signal(number)
        self.assertEqual(process.returncode, -number, said)
        return "".join(said)

    def test_it_goes_on_after_a_signal(self):
        self.assertIn(
            "new has what is done; the same command goes on", self.stopped(signal.SIGINT, "2 of 11")
        )
        self.assertIn("core-matrix.json", os.listdir(self.path("new")))
        self.assertNotIn("manifest.json", os.listdir(self.path("new")))
        first = times(self.path("new"))["core-matrix.json"]
        self.stopped(signal.SIGKILL, "5 of 11")
        self.stopped(signal.SIGTERM, "9 of 11")
        # as a signal in the tenth leaves it
        part = read_json(self.path("chip/characterization.json"))
        part.update(interrupted=True, experiments=part["experiments"][:9])
        self.write("new/characterization.json", part)
        done = self.cbank("contribute", "new", "--brief")
        self.assertIn(WHOLE, " ".join(done.stdout.split()))
        ended = read_json(self.path("new/characterization.json"))
        self.assertFalse(ended["interrupted"])
        self.assertIn("--resume", ended["tool"]["argv"])
        self.assertEqual(times(self.path("new"))["core-matrix.json"], first)
        self.assertEqual(sorted(os.listdir(self.path("new"))), sorted(os.listdir(self.chip)))

    def test_the_card_takes_no_gpu(self):
        os.remove(os.path.join(self.chip, "card.json"))
        self.cbank("contribute", "chip", "--brief", CBANK_SIMULATED="devices=0")
        self.cbank("check", "--brief", "chip")

    def test_a_folder_of_another_gpu_or_command_stops_it(self):
        os.remove(os.path.join(self.chip, "widths.json"))
        for name, change, said in (
            (
                "sizes",
                lambda result: result["tool"].update(argv="cbank run --json sizes.json"),
                "sizes.json is of another command",
            ),
            (
                "core-matrix",
                lambda result: result["device"].update(uuid="GPU-of-another-board"),
                "GPU-of-another-board.* name another folder",
            ),
        ):
            before = read_json(self.path(f"chip/{name}.json"))
            self.edit(name, change)
            self.assertRegex(self.cbank("contribute", "chip", "--brief", status=2).stderr, said)
            self.assertFalse(os.path.exists(os.path.join(self.chip, "widths.json")))
            self.write(f"chip/{name}.json", before)

    def test_bad_input(self):
        self.write("file", "")
        self.cbank("contribute", status=2)
        for folder in ("file", "file/folder"):
            self.assertIn(folder, self.cbank("contribute", folder, status=3).stderr)
        self.cbank("contribute", "not/yet", status=3, CBANK_SIMULATED="devices=0")
        self.assertEqual(os.listdir(self.path("not/yet")), [])
        self.cbank("check", status=2)
        self.assertIn("nothing here", self.cbank("check", "nothing here", status=2).stderr)


def slow_down(result):
    for cell in result["cells"]:
        scale(cell, 1.05 if cell["path"] == "global" else 1)


def miscount(result):
    result["cells"][0]["counters"]["global_load_instructions"]["value"] += 1


# (file, what is planted, the finding)
FAULTS = (
    (
        "sizes",
        lambda found: found["device"].update(uuid="GPU-other"),
        "is of the board GPU-other, and manifest",
    ),
    ("sizes", lambda found: found["device"].update(driver="1.2.3"), "is of driver 1.2.3"),
    (
        "calibration",
        lambda found: found["device"].update(name="NVIDIA H100"),
        "is of the GPU NVIDIA H100",
    ),
    (
        "characterization",
        lambda found: found["tool"].update(git_commit="0123456789"),
        "is of commit 0123456789",
    ),
    ("characterization", lambda found: found.update(replayed="a.json"), "nothing was measured"),
    (
        "characterization",
        lambda found: found.update(interrupted=True),
        r"was interrupted after \d+ experiments",
    ),
    (
        "widths",
        lambda found: found["tool"].update(argv="cbank run"),
        "is of another command: cbank run",
    ),
    (
        "widths",
        lambda found: found.update(complete=False, finished_utc=None),
        "is of a run that did not end",
    ),
    ("widths", lambda found: found.update(engine="model"), "nothing was measured"),
    ("serialization", miscount, "has 1 exact counters that differ"),
    ("second-process", slow_down, "differs from core-matrix.json, .* in 2 of 4 cells"),
    ("card", lambda card: card["model"]["sm_count"].update(value=131, low=131), "131 .* 132"),
    (
        "card",
        lambda card: next(iter(card["evidence"].values())).update(sha256=64 * "0"),
        "rests on .* SHA-256 000000000000",
    ),
)


class Check(Case):
    def test_a_whole_folder(self):
        self.assertEqual(self.check("chip/", status=0), [[]])
        done = self.cbank("check", "--brief", "chip")
        self.assertRegex(
            " ".join(done.stdout.split()),
            (
                r"^chip: Simulated H200, driver \S+, 11 files, \d\.\d MiB, measured by A Tester:"
                rf" {WHOLE}$"
            ),
        )
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
        self.assertIn(
            "the short plans of tests",
            " ".join(self.cbank("check", "chip", status=1).stdout.split()),
        )

    def test_what_is_missing_or_cut_in_half(self):
        for name in (*FILES, "manifest"):
            path = os.path.join(self.chip, f"{name}.json")
            for change, what in (
                (lambda size: os.truncate(path, size // 2), "is no|is not"),
                (lambda size: os.remove(path), "is missing"),
            ):
                with self.subTest(name, what=what):
                    self.fresh()
                    change(os.path.getsize(path))
                    (findings,) = self.check()
                    self.assertEqual({found[0] for found in findings}, {f"{name}.json"})
                    self.assertRegex(findings[0][1], what)

    def test_planted_faults(self):
        for name, change, what in FAULTS:
            with self.subTest(name, what=what):
                self.fresh()
                self.edit(name, change)
                (findings,) = self.check()
                # which rests on it
                self.assertLessEqual(
                    {found[0] for found in findings}, {f"{name}.json", "card.json"}
                )
                self.assertRegex(dict(reversed(findings))[f"{name}.json"], what)

    def test_what_the_manifest_says(self):
        self.edit("sizes", lambda result: result.update(seed=7), listed=False)
        self.one_finding("sizes.json", "is not the file of the manifest: .* SHA-256")
        self.fresh()
        shutil.copy(os.path.join(self.chip, "sizes.json"), os.path.join(self.chip, "more.json"))
        self.one_finding("more.json", "is not in the manifest")
        self.fresh()
        self.edit(
            "manifest",
            lambda manifest: manifest["files"][0].update(name="../card.json"),
            listed=False,
        )
        self.assertRegex(
            dict(self.check()[0])["manifest.json"],
            r"is no manifest: chip/manifest.json: files\[0\].name: ",
        )

    def test_several_folders(self):
        shutil.copytree(self.chip, self.path("again"))
        os.mkdir(self.path("empty"))
        first, second, empty = self.check("chip", "again", "empty")
        self.assertEqual(
            (first, second),
            ([], [("manifest.json", "is of the same chip as chip, Simulated H200")]),
        )
        self.assertEqual(len(empty), 1 + len(FILES))

    def test_links_are_refused(self):
        """What stands behind a link of somebody else's folder is neither written nor published."""
        precious = self.write("precious", "a text")
        for name in (".again.json", "sizes.json", "manifest.json", "manifest.json.tmp"):
            with self.subTest(name):
                self.fresh()
                path = os.path.join(self.chip, name)
                if os.path.exists(path):
                    os.remove(path)
                os.symlink(precious, path)
                said = self.cbank("contribute", "chip", "--brief", status=2).stderr
                self.assertIn(f"chip/{name} is a link", said)
                self.assertEqual(read_bytes(precious), b"a text")
        self.fresh()
        os.rename(os.path.join(self.chip, "sizes.json"), self.path("sizes.json"))
        os.symlink(self.path("sizes.json"), os.path.join(self.chip, "sizes.json"))
        self.assertEqual(self.check(), [[("sizes.json", "is a link, and no file")]])

    def test_a_folder_that_is_too_large(self):
        with open(os.path.join(self.chip, "widths.json"), "a", encoding="utf-8") as file:
            file.write(10_000_000 * " ")
        self.list_again("widths.json")
        self.assertRegex(self.check()[0][0][1], r"has 1\d\.\d MiB, more than 10")

    def test_documents(self):
        """Each file by itself."""
        self.edit("serialization", miscount)
        self.write("text", "no JSON")
        files = [
            "chip/core-matrix.json",
            "chip/card.json",
            "chip/serialization.json",
            "text",
            "chip/manifest.json",
        ]
        told = valid(json.loads(self.cbank("check", "--json", *files, status=1).stdout), "check")[
            "documents"
        ]
        self.assertEqual(
            [document["kind"] for document in told], ["result", "card", "result", None, None]
        )
        self.assertEqual([len(document["findings"]) for document in told], [0, 0, 1, 1, 1])
        self.assertIn(
            "core-matrix.json: a valid result, measured", self.cbank("check", files[0]).stdout
        )
        for name in files[2:]:  # the same for people
            self.assertRegex(self.cbank("check", name, status=1).stdout, f"^{name}: (is|has) ")
        self.assertIn("missing.json", self.cbank("check", "missing.json", status=2).stderr)


if __name__ == "__main__":
    unittest.main()
