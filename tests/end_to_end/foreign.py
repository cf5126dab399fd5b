#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Documents of somebody else run nothing, on the simulated GPU: each text of each kind of document
in turn names a program, which would leave a file behind. CBANK names the program that is linked to
it (default build/tests/simulated/cbank)."""

import contextlib
import copy
import json
import os
import shutil
import sqlite3
import unittest

import common
from common import FULL, ROOT, cbank, read_json
from user_cells import CBANK, Case, KERNEL, NVCC, PLAN

common.CBANK = CBANK  # which has another default

# What a compiler, a shell or a function of the analysis would run. @ is the program.
PAYLOADS = (
    "@",
    "-ccbin @",
    "-Xcompiler=-B@",
    "-DX=$(@)",
    "-DX=1 -O2;@",
    "$(@)",
    "`@`",
    "|@",
    "file:@",
    "{0.__class__.__init__.__globals__[os].system}@",
    "__import__('os').system('@')",
)
# In place of nvcc: like nvcc it hands its options to a shell, and runs what they name.
COMPILER = """#!/bin/sh
for word; do
    case $word in -ccbin* | --compiler-bindir* | *PROGRAM*) PROGRAM ;; esac
    [ "$word" = --version ] || eval "echo \\"$word\\"" >COMPILED.sh 2>&1
done
exec NVCC "$@"
"""


def texts(value, path=()):
    """The places of the texts of a document: of each list the first element, and of maps all."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from texts(member, (*path, key))
    elif isinstance(value, list) and value:
        yield from texts(value[0], (*path, 0))


def planted(document, path, text):
    """A copy in which a text is another."""
    document = copy.deepcopy(document)
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = text
    return document


class Foreign(Case):
    def setUp(self):
        super().setUp()
        self.program = self.path("planted")
        self.ran = self.path("ran")
        self.write("planted", f"#!/bin/sh\n: >{self.ran}\n")
        os.chmod(self.program, 0o700)
        self.write(
            "compiler",
            COMPILER.replace("PROGRAM", self.program)
            .replace("NVCC", NVCC)
            .replace("COMPILED", self.path("compiled")),
        )
        os.chmod(self.path("compiler"), 0o700)
        self.own = self.write("own.cu", KERNEL)

    def run_all(self, commands, where):
        """Runs commands with whatever outcome."""
        environment = {
            "CBANK_NVCC": self.path("compiler"),
            "CBANK_CACHE": self.path("cache"),
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "CBANK_SIMULATED": "noise=0.0005",
        }
        for command in commands:
            done = self.program_of(command, environment)
            self.assertNotIn("Traceback", done.stderr, (where, command))
            self.assertIn(done.returncode, (0, 1, 2, 3, 4), (where, command, done.stderr))
            self.assertFalse(os.path.exists(self.ran), (where, command))

    def program_of(self, command, environment):
        return cbank(*command, folder=self.folder, **environment)

    def plant(self, document, commands, places=None, payloads=PAYLOADS):
        """Plants each payload in each text, and then one in all texts that are accepted so.
        Where there are few repetitions, each text has one of the payloads."""
        everything = copy.deepcopy(document)
        for number, path in enumerate(places or texts(document)):
            some = payloads if FULL else payloads[number % len(payloads) :][:1]
            for payload in some:
                text = payload.replace("@", self.program)
                self.write("document.json", planted(document, path, text))
                self.run_all(commands, (path, payload))
            everything = planted(everything, path, some[-1].replace("@", self.program))
            self.write("all.json", everything)
            if self.program_of(["show", "all.json"], {}).returncode:
                everything = planted(everything, path, self.text_at(document, path))
        self.write("document.json", everything)
        return everything

    @staticmethod
    def text_at(document, path):
        for key in path:
            document = document[key]
        return document

    def interrupted(self):
        result = read_json(self.base)
        result.update(complete=False, finished_utc=None)
        result["cells"][0]["status"] = "pending"
        result["cells"][0]["time_ns"].update(samples=[], stop_reason=None)
        return result

    GATE = ("gate", "document.json", "--processes", "1", "--counters", "none", "--quiet")

    def test_the_stand_in_for_the_compiler_would_run_it(self):
        """What the other tests wait for comes where the user names the program."""
        for options in (f"-ccbin {self.program}", f"-DX=$({self.program})", f"-I{self.program}"):
            with self.subTest(options):
                self.cbank_any("run", "--kernel", self.own, *PLAN, f"--compiler-options={options}")
                self.assertTrue(os.path.exists(self.ran))
                os.remove(self.ran)

    def cbank_any(self, *words):
        return cbank(
            *words,
            folder=self.folder,
            CBANK_NVCC=self.path("compiler"),
            CBANK_CACHE=self.path("cache"),
        )

    def test_results_whose_cells_are_measured_again(self):
        """gate and --resume, with the file named and without."""
        places = [("kernel_files", 0, key) for key in self.interrupted()["kernel_files"][0]]
        places = [
            place
            for place in places
            if isinstance(self.text_at(self.interrupted(), place), (str, type(None)))
        ]
        commands = [
            self.GATE,
            [*self.GATE, "--kernel", self.own],
            ["run", "--quiet", "--resume", "document.json"],
            ["run", "--quiet", "--resume", "document.json", "--kernel", self.own],
        ]
        for number, place in enumerate(places):
            for payload in PAYLOADS if FULL or place[2] == "options" else PAYLOADS[number:][:1]:
                text = payload.replace("@", self.program)
                self.write("document.json", planted(self.interrupted(), place, text))
                self.run_all(commands, (place, payload))
        # another kernel file is somebody else's program
        other = self.write("other.cu", f'#error compiled\n#include "{self.program}"\n')
        self.write("document.json", planted(self.interrupted(), ("kernel_files", 0, "file"), other))
        self.run_all(commands, "another file")
        others = [
            place
            for place in texts(self.interrupted())
            if place[0] not in ("kernel_files", "null_reasons", "flag_reasons", "code")
        ]
        self.plant(self.interrupted(), commands[1::2], others if FULL else others[::12])

    def test_every_text_of_a_result(self):
        document = read_json(os.path.join(ROOT, "tests/corpus/result/measured.json"))
        places = list(texts(document))
        everything = self.plant(
            document,
            [
                *([words, "document.json"] for words in ("show", "counters", "explain")),
                ["compare", "document.json", "document.json"],
                ["run", "--resume", "document.json"],
            ],
            places if FULL else places[::3],
        )
        self.assertIn(self.program, json.dumps(everything))
        self.run_all(
            [
                ["convert", "document.json"],
                ["plot", "document.json", "--output", "figures"],
                ["report", "document.json", "--output", "page"],
                ["check", "document.json"],
                ["ingest", "store.db", "document.json"],
                ["fleet", "store.db"],
                ["history", "store.db"],
            ],
            "everything",
        )

    def test_every_text_of_other_documents(self):
        corpus = os.path.join(ROOT, "tests/corpus")
        result = os.path.join(corpus, "result/measured.json")
        quick = ["--path", "constant", "--pattern", "per_warp", "--counters", "none", "--quiet"]
        documents = {
            "card/v100.json": [
                ["show", "document.json"],
                ["run", "--engine", "model", "--card", "document.json", *quick, "--json", "-"],
                ["explain", result, "--card", "document.json"],
                ["advise", "--card", "document.json"],
            ],
            "calibration/calibration.json": [
                ["show", "document.json"],
                ["compare", result, result, "--calibration", "document.json"],
            ],
            "characterization/geometry.json": [
                ["show", "document.json"],
                ["characterize", "--replay", "document.json", "--json", "-"],
            ],
        }
        for name, commands in documents.items():
            with self.subTest(name):
                document = read_json(os.path.join(corpus, name))
                places = list(texts(document))
                self.plant(document, commands, places if FULL else places[::4])
                self.run_all(
                    [["check", "document.json"], ["report", "document.json", "--output", "page"]],
                    name,
                )

    def test_every_text_of_a_manifest(self):
        """Of the folder of a chip, which check and atlas read."""
        chip = os.path.join(ROOT, "results/chips/h200")
        for name in ("card", "calibration", "characterization"):
            os.makedirs(self.path("chip"), exist_ok=True)
            shutil.copy(os.path.join(chip, f"{name}.json"), self.path("chip"))
        manifest = read_json(os.path.join(chip, "manifest.json"))
        places = list(texts(manifest))
        for number, path in enumerate(places if FULL else places[::5]):
            payload = PAYLOADS[number % len(PAYLOADS)].replace("@", self.program)
            self.write("chip/manifest.json", planted(manifest, path, payload))
            self.run_all([["check", "chip"], ["atlas", "chip", "--output", "page"]], path)

    def test_every_text_of_a_store(self):
        """Its texts, and a trigger and a view that would load a library."""
        self.cbank_any("ingest", "good.db", os.path.join(ROOT, "tests/corpus/result/measured.json"))
        self.assertTrue(os.path.exists(self.path("good.db")))
        with contextlib.closing(sqlite3.connect(self.path("good.db"))) as store:
            columns = [
                (table, column[1])
                for (table,) in store.execute("SELECT name FROM sqlite_schema WHERE type='table'")
                for column in store.execute(f'PRAGMA table_info("{table}")')
                if "TEXT" in column[2].upper() and not table.startswith("sqlite_")
            ]
        changes = [f'UPDATE "{table}" SET "{column}" = :text' for table, column in columns]
        changes += [
            "CREATE TRIGGER planted AFTER INSERT ON runs BEGIN SELECT load_extension(:text); END"
        ]
        self.assertGreater(len(changes), 3)
        for number, change in enumerate(changes):
            payload = PAYLOADS[number % len(PAYLOADS)].replace("@", self.program)
            shutil.copy(self.path("good.db"), self.path("store.db"))
            with contextlib.closing(sqlite3.connect(self.path("store.db"))) as store:
                quoted = "'" + payload.replace("'", "''") + "'"
                with contextlib.suppress(sqlite3.IntegrityError):
                    store.execute(change.replace(":text", quoted))
                store.commit()
            self.run_all(
                [
                    ["check", "store.db"],
                    ["fleet", "store.db"],
                    ["history", "store.db"],
                    ["ingest", "store.db", self.base],
                ],
                change,
            )


if __name__ == "__main__":
    unittest.main()
