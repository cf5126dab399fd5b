#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the Python package: how its commands start, and what cbank.load reads. CBANK names
the program (default build/cbank)."""

import copy
import importlib.util
import json
import math
import os
import random
import resource
import re
import shutil
import signal
import subprocess
import sys
import unittest
from unittest import mock

import pandas

from common import CBANK, FULL, ROOT, Scratch, analysis, read_json, repetitions

import cbank
from cbank import __main__ as start
from cbank import errors, frames, text

RESULT, SECOND, COLD, LOOKUP = (
    os.path.join(ROOT, "results/h200", name)
    for name in (
        "core-matrix.json",
        "second-process.json",
        "core-matrix-cold.json",
        "sweeps/lookup.json",
    )
)
CHIP = os.path.join(ROOT, "results/chips/h200")
SUITE = os.path.join(ROOT, "results/h200/kernels/suite.json")
KERNELS = os.path.join(ROOT, "tests/data/show/kernel.json")
CHARACTERIZATION, CALIBRATION, CARD = (
    os.path.join(CHIP, name) for name in ("characterization.json", "calibration.json", "card.json")
)


def compared(folder):
    """A comparison of two committed results."""
    path = os.path.join(folder, "comparison.json")
    subprocess.run(
        [CBANK, "compare", "--quiet", "--json", path, RESULT, SECOND],
        check=True,
        capture_output=True,
    )
    return path


def ranking(folder):
    """The ranking of the memory spaces in a committed result."""
    path = os.path.join(folder, "ranking.json")
    subprocess.run(
        [CBANK, "spaces", SUITE, "--quiet", "--ranks", path], check=True, capture_output=True
    )
    return path


class Start(Scratch):
    def started(self, *words, **more):
        return subprocess.run(
            [CBANK, *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={**os.environ, "PYTHONPATH": self.folder, **more},
        )

    def test_nothing_of_the_current_folder_is_imported(self):
        for name in (
            "matplotlib",
            "scipy",
            "jinja2",
            "json",
            "pandas",
            "importlib",
            "runpy",
            "cbank",
            "numpy",
            "sitecustomize",
        ):
            self.write(f"{name}.py", "raise SystemExit('a planted module ran')\n")
        self.write("matplotlibrc", "backend: no_such_backend\n")
        done = self.started("report", "-o", "page", RESULT)
        self.assertEqual((done.returncode, done.stdout), (0, "page/index.html\n"), done.stderr)
        self.assertNotIn("planted", done.stderr)
        # which Python looks for before any line of the package runs, the last since 3.13
        for name in ("cbank", "runpy", "importlib"):
            os.remove(self.path(f"{name}.py"))
        self.write("__future__.py", "raise SystemExit('a planted module ran')\n")
        done = subprocess.run(
            [sys.executable, "-m", "cbank", "history", RESULT],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "scripts")},
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_commands_are_those_of_the_program(self):
        said = re.sub(r"\s+", " ", self.started("help").stdout)
        for name, command in start.COMMANDS.items():
            if not importlib.util.find_spec(f"cbank.{command.module}"):
                continue
            with self.subTest(name):
                self.assertTrue(f" {name} {command.summary} " in said, command.summary)
                self.assertRegex(self.started("help", name).stdout, f"^usage: cbank {name} ")
                self.assertRegex(analysis(name, "--help").stdout, f"^usage: cbank {name} ")

    def test_options_may_stand_between_files(self):
        result, odd = os.path.join(ROOT, "tests/corpus/result/measured.json"), "--later"
        shutil.copy(result, self.path(odd))
        for words in (["s.db", "--quiet", result], ["--quiet", "t.db", "--", odd]):
            done = analysis("ingest", *words, folder=self.folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_missing_packages_are_named(self):
        with mock.patch(
            "importlib.util.find_spec", lambda name: None if name in ("pandas", "jinja2") else True
        ):
            done = analysis("report", "-o", self.folder, RESULT)
            with self.assertRaisesRegex(cbank.Failure, "cbank.load needs .* pip install pandas$"):
                cbank.load(RESULT)
        self.assertEqual(done.returncode, 3)
        self.assertIn("apt-get install python3-jinja2 python3-pandas", done.stderr)

    def test_output_that_cannot_be_written_is_exit_2(self):
        for where in (">&-", "> /dev/full"):
            for words in (
                (CBANK, "atlas", CARD),
                (CBANK, "convert", "--to", "bmf", RESULT),
                (sys.executable, "-m", "cbank", "atlas", CARD),
            ):
                with self.subTest(words, where=where):
                    done = subprocess.run(
                        ["sh", "-c", f'exec "$@" {where}', "sh", *words],
                        cwd=os.path.join(ROOT, "scripts"),
                        capture_output=True,
                        text=True,
                        check=False,
                    )
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertRegex(done.stderr, r"^cbank: error: standard output: ")

    def test_messages_that_cannot_be_written_change_no_exit_code(self):
        for where in ("2>&-", "2> /dev/full"):
            done = subprocess.run(
                ["sh", "-c", f'exec "$@" {where}', "sh", CBANK, "atlas", "missing", CARD],
                capture_output=True,
                check=False,
            )
            self.assertEqual(done.returncode, 2)

    def test_libraries_that_find_no_room_end_without_a_traceback(self):
        for kib in (5000, 20000, 60000, 100000):  # besides the program, which starts Python
            limit = (os.path.getsize(CBANK) >> 10) + kib
            done = subprocess.run(
                [
                    "sh",
                    "-c",
                    f'ulimit -v {limit}; exec "$@"',
                    "sh",
                    CBANK,
                    "plot",
                    "-o",
                    self.path("p"),
                    RESULT,
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            # Python without room may complain of a module as it ends ("Exception ignored in"), and
            # no line of ours is in that.
            self.assertNotIn("scripts/cbank", done.stderr)

    def test_a_signal_within_a_fork_is_not_lost(self):
        """Python drops what hooks of a fork raise, and a signal that comes meanwhile is handled
        in them."""
        start = (
            "import os, signal, sys; sys.path.insert(0, sys.argv.pop(1)); from cbank.__main__"
            " import main; os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(),"
            " signal.SIGTERM)); sys.exit(main(sys.argv[1:]))"
        )
        done = subprocess.run(
            [sys.executable, "-c", start, os.path.join(ROOT, "scripts"), "contribute", "new"],
            cwd=self.folder,
            env={**os.environ, "CBANK_PROGRAM": CBANK},
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, -signal.SIGTERM, done.stderr)
        self.assertIn("new has what is done", done.stderr)

    def test_a_name_that_is_not_utf8_or_has_control_characters_is_shown_as_one_line(self):
        for name in (b"\xff.json", b"a\x1b[31m\n.json"):
            done = subprocess.run(
                [CBANK.encode(), b"atlas", os.path.join(self.folder.encode(), name)],
                capture_output=True,
                check=False,
            )
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
            self.assertNotIn(b"\x1b", done.stderr)


@unittest.skipUnless(FULL, "takes long: make test-long")
class Installed(Scratch):
    def test_pip_installs_it_from_a_checkout(self):
        """In a virtual environment with the distribution's packages, from a copy: pip leaves its
        folders in what it builds."""
        shutil.copytree(
            os.path.join(ROOT, "scripts"),
            self.path("tree/scripts"),
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        shutil.copytree(
            os.path.join(ROOT, "results"),
            self.path("tree/results"),
            ignore=lambda folder, names: [
                name for name in names if not name.endswith("schema.json") and name != "schemas"
            ],
        )
        shutil.copy(os.path.join(ROOT, "VERSION"), self.path("tree"))
        subprocess.run(
            [sys.executable, "-m", "venv", "--system-site-packages", self.path("venv")], check=True
        )
        python = self.path("venv/bin/python")
        subprocess.run(
            [
                python,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-build-isolation",
                "--no-deps",
                self.path("tree/scripts"),
            ],
            check=True,
            capture_output=True,
        )
        for words in (
            ("-c", f"import cbank; print(len(cbank.load({RESULT!r})))"),
            ("-m", "cbank", "report", "-o", self.path("page"), RESULT),
        ):
            done = subprocess.run(
                [python, *words],
                cwd=self.folder,
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "CBANK_PROGRAM": CBANK},
            )
            self.assertIn(done.stdout, ("24\n", f"{self.path('page')}/index.html\n"), done.stderr)


class Load(Scratch):
    def test_cells_of_results(self):
        rows = cbank.load([RESULT, SECOND])
        self.assertEqual((len(rows), rows["process"].nunique()), (48, 2))
        for content, of in zip(
            map(read_json, (RESULT, SECOND)), (rows[rows["process"] == i] for i in (0, 1))
        ):
            for cell, row in zip(content["cells"], of.to_dict("records")):
                self.assertEqual(
                    [
                        row[key]
                        for key in (
                            "identity",
                            "path",
                            "elements",
                            "time_ns",
                            "time_ns_low",
                            "samples_ns",
                            "idc_requests",
                        )
                    ],
                    [
                        cell["identity"],
                        cell["path"],
                        cell["elements"],
                        cell["time_ns"]["value"],
                        cell["time_ns"]["ci_low"],
                        cell["time_ns"]["samples"],
                        cell["counters"]["idc_requests"]["value"],
                    ],
                )

    def test_parameters_are_columns(self):
        rows = cbank.load(LOOKUP)
        for cell, row in zip(read_json(LOOKUP)["cells"], rows.to_dict("records")):
            for name, value in cell["parameters"].items():
                self.assertEqual(row[name], value)

    def test_users_kernels(self):
        rows = cbank.load(KERNELS)
        for cell, row in zip(read_json(KERNELS)["cells"], rows.to_dict("records")):
            self.assertEqual(
                [row[key] for key in ("identity", "workload", "path", "kernel", "parameters")],
                [
                    cell["identity"],
                    cell["workload"],
                    cell["kernel_file"]["spaces"],
                    cell["kernel_file"]["hash"],
                    f"kernel={cell['kernel_file']['hash']}",
                ],
            )
            flags = [] if cell["verified"] or cell["status"] != "ok" else ["invalid"]
            flags += cell.get("case", {}).get("findings", [])
            self.assertEqual(row["flags"].split(), flags)
            of_text = frames.cell_of(cell["identity"])  # as a history has it
            self.assertEqual({key: row[key] for key in of_text}, of_text)

    def test_other_documents(self):
        numbers = cbank.load(CHARACTERIZATION)
        self.assertEqual(
            list(numbers.loc[numbers["number"] == "group_sizes", "text"]), ["2 x 18 + 6 x 16"]
        )
        numbers = numbers[numbers["number"] != "group_sizes"]
        again = json.loads(
            subprocess.run(
                [CBANK, "characterize", "--quiet", "--replay", CHARACTERIZATION, "--json", "-"],
                capture_output=True,
                check=True,
            ).stdout
        )
        wanted = [
            number["value"]
            for experiment in again["experiments"]
            for number in experiment["numbers"]
        ]
        self.assertEqual(
            sorted(filter(None, wanted)),
            sorted(
                filter(
                    None,
                    numbers[~numbers["experiment"].str.startswith("geometry_")]["value"].dropna(),
                )
            ),
        )
        card = cbank.load(CARD)
        for key, entry in read_json(CARD)["model"].items():
            self.assertEqual(list(card.loc[card["number"] == key, "value"]), [entry["value"]])
        self.assertEqual(
            list(cbank.load(CALIBRATION)["noise"]),
            [cell["noise"] for cell in read_json(CALIBRATION)["cells"]],
        )
        path = compared(self.folder)
        self.assertEqual(
            list(cbank.load(path)["ratio"]),
            [cell["ratio"]["value"] for cell in read_json(path)["cells"]],
        )

    def test_a_ranking(self):
        path = ranking(self.folder)
        rows, cells = cbank.load(path), read_json(path)["cells"]
        self.assertEqual(len(rows), len(cells))
        for row, cell in zip(rows.itertuples(), cells):
            self.assertEqual(row.path, cell["kernel_file"]["spaces"])
            self.assertEqual(row.status, cell["status"])
            if cell["rank"]:
                self.assertEqual(
                    (row.rank, row.verdict, row.ratio, row.time_ns, row.address_most_ns),
                    (
                        *(cell["rank"], cell["verdict"], cell["ratio"]["value"]),
                        *(cell["time_ns"]["value"], cell["addresses"]["most_ns"]),
                    ),
                )

    def test_every_column_is_documented(self):
        listed = {
            row["name"]
            for table in ("parameters", "counters")
            for row in json.loads(
                subprocess.run(
                    [CBANK, "list", table, "--json"], capture_output=True, check=True
                ).stdout
            )
        }
        rows = cbank.load([CHIP, LOOKUP, KERNELS, compared(self.folder), ranking(self.folder)])
        # with "__": a metric of CUPTI
        extra = {column for column in rows if column not in frames.COLUMNS and "__" not in column}
        self.assertLessEqual(extra, listed)
        self.assertLessEqual(frames.TEXTS, set(frames.COLUMNS))

    def test_a_folder_is_its_documents(self):
        self.assertEqual(
            set(cbank.load(CHIP)["source"]),
            {name for name in os.listdir(CHIP) if name != "manifest.json"},
        )

    def test_wrong_files(self):
        other = read_json(RESULT)
        other["schema"]["version"] = "9.0"
        for name, content, said in (
            ("text", "{", "is not JSON"),
            ("list", "[]", "holds no JSON object"),
            ("nan", json.dumps({**read_json(RESULT), "max_noise": math.nan}), "unexpected text"),
            ("none", "{}", "no schema name"),
            ("kind", {"schema": {"name": "cbank-check"}}, "is a cbank-check"),
            ("new", other, "schema.version: 9.0, this build reads 1.x"),
            ("deep", "[" * 100000, "is not JSON"),
        ):
            with self.subTest(name), self.assertRaisesRegex(cbank.Failure, said):
                cbank.load(self.write(f"{name}.json", content))
        with self.assertRaisesRegex(cbank.Failure, "cannot read"):
            cbank.load(self.path("absent.json"))

    def test_a_document_is_what_the_instrument_reads(self):
        """It says the file, the place and the key, before anything is done with a document."""

        def text(change):
            content = read_json(RESULT)
            change(content["cells"][2])
            return json.dumps(content)

        rows = [
            (
                text(lambda cell: cell.pop("path")),
                r"cells\[2\]\.path: expected a string, it is missing",
            ),
            (
                text(lambda cell: cell["time_ns"].update(ci_low="x")),
                r"cells\[2\]\.time_ns\.ci_low: expected a number or null",
            ),
            (
                text(lambda cell: cell.update(verified=1)),
                r"cells\[2\]\.verified: expected true or false",
            ),
            (
                text(lambda cell: cell.update(workload="add\n")),
                r"cells\[2\]\.workload: this build has no workload 'add\?'",
            ),
            (text(lambda cell: cell.update(reason="\0")), "NUL"),
            (text(lambda cell: cell.update(reason="\ud800")), "unexpected text"),
            (
                text(lambda cell: cell["time_ns"]).replace('"seed":', '"seed": 1, "seed":'),
                "key .seed. is twice",
            ),
            (
                text(lambda cell: cell.update(sm_clock_mhz=10**400)),
                "malformed number",
            ),
        ]
        for content, said in rows:
            path = self.write("wrong.json", content)
            for words in (
                ["report", "-o", self.path("page")],
                ["plot", "-o", self.path("page")],
                ["convert", "--to", "bmf"],
                ["atlas"],
                ["history"],
                ["ingest", self.path("store.db")],
            ):
                with self.subTest(said, words=words):
                    done = analysis(*words, path)
                    self.assertEqual(done.returncode, 2)
                    self.assertRegex(done.stderr, f"^cbank: error: .*wrong.json.*{said}")
        self.assertFalse(os.path.exists(self.path("page")))

    def test_a_history_without_runs(self):
        for words in (["history"], ["history", "--json"], ["fleet"]):
            self.assertIn(analysis(*words, CALIBRATION).returncode, (0, 2))
            self.assertNotIn("stumbled", analysis(*words, CALIBRATION).stderr)

    def test_names_and_texts_are_escaped(self):
        self.assertEqual(
            errors.printable(os.fsdecode(b"a\xff\x1b") + "\u202e\ud800\uffff\n"),
            r"a\xff\x1b\xe2\x80\xae\xed\xa0\x80\xef\xbf\xbf\x0a",
        )
        self.assertEqual(
            text.markdown_text("<a>|*`_~$[x](y)\\\x1b"),
            r"&lt;a&gt;\|\*\`\_\~\$\[x](y)\\\\x1b",
        )
        rows = pandas.DataFrame(
            {
                "=a": ["=1+1", "-1.5e-3", "@x", None, "a\nb", "-inf", "\uff1d1"],
                "n": [-1.0, *range(2, 8)],
            }
        )
        self.assertEqual(
            text.csv_text(rows),
            "'=a,n\n'=1+1,-1.0\n-1.5e-3,2.0\n'@x,3.0\n,4.0\na\\x0ab,5.0\n'-inf,6.0\n'\uff1d1,7.0\n",
        )
        name = os.fsencode(self.folder) + b"/\xff\x1b[31m\xe2\x80\xae.json"
        shutil.copy(RESULT, name)
        for words in (
            ["ingest", "--list", self.path("store.db")],
            ["convert", "--to", "x\x1b"],
            ["atlas"],
            ["check"],
            ["--\x1b"],
        ):
            done = subprocess.run(
                [sys.executable, "-m", "cbank", *words, name],
                cwd=self.folder,
                capture_output=True,
                check=False,
                env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "scripts"), "LC_ALL": "C"},
            )
            self.assertNotRegex(
                done.stdout + done.stderr, b"Traceback|[\x00-\x09\x0b-\x1f\xff]|\xe2\x80\xae"
            )
            self.assertIn(done.returncode, (0, 2))

    def test_a_file_that_cannot_be_written_leaves_nothing(self):
        program = (
            "import sys; sys.path.insert(0, sys.argv[1]); from cbank import files;"
            " files.write('page.html', 5000 * 'x')"
        )
        done = subprocess.run(
            [sys.executable, "-IBc", program, os.path.join(ROOT, "scripts")],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        )
        self.assertIn("cannot write page.html: File too large; free some space", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])


class Malformed(Scratch):
    """A document in which something is missing, or is something else, is a sentence and never a
    traceback."""

    WRONG = (
        None,
        True,
        -1,
        1e308,
        "",
        "x",
        "\x1b[31m",
        "\u202e",
        [],
        {},
        [1],
        {"a": 1},
        "9" * 30,
        10**400,
    )

    def mutants(self, seed):
        rng = random.Random(seed)
        content = copy.deepcopy(rng.choice(self.contents))
        for _ in range(rng.choice((1, 1, 3))):
            places = []
            stack = [content]
            while stack:
                its = stack.pop()
                for key in its if isinstance(its, dict) else range(len(its)):
                    places.append((its, key))
                    if isinstance(its[key], (dict, list)):
                        stack.append(its[key])
            its, key = rng.choice(places)
            if rng.random() < 0.3:
                del its[key]
            else:
                its[key] = copy.deepcopy(rng.choice(self.WRONG))
        return content

    def test_what_the_instrument_takes_is_used_or_refused_with_its_name(self):
        """It ignores what it does not read: a command that needs that says which file lacks it."""
        self.contents = [
            read_json(path)
            for path in (RESULT, CARD, CALIBRATION, os.path.join(ROOT, "tests/golden/compare.json"))
        ]
        for content in self.contents:
            content["cells"] = content.get("cells", [])[:3]
        taken = 0
        for seed in range(repetitions(600, 60)):
            path = self.write("mutant.json", json.dumps(self.mutants(seed)))
            with self.subTest(seed):
                try:
                    taken += len(cbank.load(path)) > 0
                except cbank.Failure as failure:
                    self.assertIn("mutant.json", str(failure))
        self.assertGreater(taken, 0)


if __name__ == "__main__":
    unittest.main()
