#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""End-to-end tests of cbank gate on a simulated GPU (tests/simulated/simulated.h), whose program
CBANK names (default build/tests/simulated/cbank, of `make simulated`). A program of a side is a
script that plants what differs."""

import contextlib
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
import unittest
import unittest.mock

import jsonschema

from common import ROOT, Scratch, read_bytes, read_json

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/tests/simulated/cbank")))
ENVIRONMENT = {
    **os.environ,
    "CBANK_CUPTI_DIR": os.path.dirname(CBANK),
    "CBANK_SIMULATED": "noise=0.001,known=1",
}
PLAN = [
    "--engine",
    "cuda",
    "--elements",
    "12800",
    "--path",
    "constant,global",
    "--pattern",
    "per_block,per_warp",
    "--counters",
    "none",
]


def sleeper(gate):
    """The child of a gate that hangs."""
    for _ in range(6000):
        with open(f"/proc/{gate.pid}/task/{gate.pid}/children", encoding="utf-8") as file:
            children = file.read().split()
        # an earlier child, which ended meanwhile
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if children and read_bytes(f"/proc/{children[0]}/cmdline").startswith(b"sleep"):
                return int(children[0])
        time.sleep(0.01)
    raise AssertionError("it does not hang")


@unittest.skipUnless(
    os.path.exists(CBANK), "no program for the simulated GPU: make simulated says why"
)
class Case(Scratch):
    def program(self, name, line):
        """A program that ends in cbank."""
        os.chmod(self.write(name, f"#!/bin/sh\n{line}\n"), 0o755)
        return self.path(name)

    def slower(self, percent):
        return self.program(
            f"slower-{percent}", f'exec {shlex.quote(CBANK)} "$@" --slow global:{percent}'
        )

    def cbank(self, *arguments, status=0):
        done = subprocess.run(
            [CBANK, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=self.folder,
            env=ENVIRONMENT,
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def gate(self, *arguments, status=0):
        """The report of a gate, valid under its schema, and its stderr."""
        done = self.cbank("gate", *arguments, *PLAN, "--json", "-", status=status)
        report = json.loads(done.stdout)
        jsonschema.Draft202012Validator(
            read_json(os.path.join(ROOT, "results/comparison.schema.json"))
        ).validate(report)
        return report, done.stderr


class Verdicts(Case):
    def test_the_same_on_both_sides(self):
        """Both take turns: base, new, new, base and so on."""
        programs = [
            self.program(side, f'echo {side} >> turns; exec {shlex.quote(CBANK)} "$@"')
            for side in ("base", "new")
        ]
        report, said = self.gate("--base-program", programs[0], "--new-program", programs[1])
        self.assertEqual(report["counts"]["same"], 4)
        self.assertEqual(
            (report["options"]["interim_analyses"], report["options"]["confidence"]), (5, 0.99)
        )
        self.assertEqual(said.splitlines(), ["cbank: at 3 processes a side: 4 of 4 cells decided"])
        self.assertEqual(
            read_bytes(self.path("turns")).split(), b"base new new base base new".split()
        )

    def test_a_path_that_changed_is_found_where_the_change_counts(self):
        for base, new, status, verdict in (
            (0, 1.5, 1, "regressed"),
            (0, 0.3, 0, "same"),
            (3, 0, 0, "improved"),
        ):
            programs = [self.slower(percent) if percent else CBANK for percent in (base, new)]
            report, _ = self.gate(
                "--base-program", programs[0], "--new-program", programs[1], status=status
            )
            for cell in report["cells"]:
                self.assertEqual(cell["verdict"], verdict if cell["path"] == "global" else "same")

    def test_a_budget_that_is_too_small(self):
        """The number of processes that would do is said, and with it the gate decides."""
        small = ["--base-program", CBANK, "--threshold", "0.05", "--processes", "1"]
        report, said = self.gate(*small, "--strict", status=4)
        self.assertEqual(report["counts"]["inconclusive"], 4)
        needed = max(cell["processes_to_decide"] for cell in report["cells"])
        self.assertIn("0 of 4 cells decided", said)
        self.assertIn(f"cbank gate --processes {needed} ", report["to_decide"])
        report, said = self.gate(*small[:-1], str(needed))
        self.assertEqual(report["counts"]["same"], 4)
        at = [n for n in (3, 5, 10, 20) if n < needed] + [needed]  # interim analyses
        self.assertEqual(
            [int(n) for n in re.findall("at (\\d+) processes", said)], at[: said.count("decided")]
        )
        self.gate(*small, status=4)  # no cell was decided

    def test_no_more_time(self):
        report, _ = self.gate(
            "--base-program", CBANK, "--threshold", "0.05", "--seconds", "0.001", status=4
        )
        self.assertEqual((report["base"]["results"], report["counts"]["inconclusive"]), (1, 4))


class Neighbours(Case):
    """Another process uses the GPU while NEW is measured: it has 2 ms of every 5, or nearly all."""

    def beside(self, name, others, *words, every_ms=5):
        """A program that has a neighbour where its number is one of these."""
        return self.program(
            name,
            f"""echo >> {name}.runs
            case $(wc -l < {name}.runs) in
            {others}) CBANK_SIMULATED=$CBANK_SIMULATED,neighbour_ms={every_ms};;
            esac
            export CBANK_SIMULATED; exec {shlex.quote(CBANK)} "$@" {' '.join(words)}""",
        )

    def base(self):
        self.cbank("run", *PLAN, "--quiet", "--json", "base.json")
        return "base.json"

    def test_it_is_no_regression(self):
        """The gate measures again until its budget is spent."""
        near = self.beside("near", "*", every_ms=2.1)
        report, _ = self.gate(
            self.base(), "--new-program", near, "--processes", "2", "--quiet", status=4
        )
        self.assertEqual((report["counts"]["contended"], report["new"]["results"]), (4, 1))
        self.assertIn("as another process used the GPU (exit 4)", report["summary"])
        self.assertEqual(len(read_bytes(self.path("near.runs"))), 3)
        done = self.cbank(
            *("gate", "base.json", "--new-program", near, *PLAN, "--seconds", "0.001"), status=4
        )
        self.assertIn("another process used the GPU of NEW: measure again alone", done.stdout)

    def test_it_is_gone_after_a_while(self):
        report, said = self.gate(self.base(), "--new-program", self.beside("near", "1|2|4"))
        self.assertEqual((report["counts"]["same"], report["new"]["results"]), (4, 3))
        self.assertEqual(said.count("had not the GPU alone: it is measured again"), 3)

    def test_the_first_process_was_alone_and_no_other_is(self):
        near = self.beside("near", "[2-9]*|1?*")
        report, said = self.gate(
            self.base(), "--new-program", near, "--processes", "3", "--threshold", "0.05", status=4
        )
        self.assertEqual((report["counts"]["contended"], report["new"]["results"]), (0, 1))
        self.assertIn("new process 2 is left out: it had not the GPU alone", said)

    def test_slower_samples_that_nothing_interrupted_are_a_regression(self):
        near = self.beside("near", "*", "--slow", "global:5")
        report, _ = self.gate(self.base(), "--new-program", near, "--processes", "1", status=1)
        verdicts = {cell["identity"]: cell["verdict"] for cell in report["cells"]}
        for identity, verdict in verdicts.items():
            self.assertEqual(verdict == "regressed", "global" in identity, identity)


class Kept(Case):
    """What was measured is there after a signal, after kill -9, and while a message names it."""

    def setUp(self):
        super().setUp()
        self.cbank("run", *PLAN, "--quiet", "--json", "base.json")
        self.hang = self.write("hang", "")
        self.tmp = self.path("tmp")
        os.mkdir(self.tmp)
        # The third process hangs as long as that file is there.
        self.new = self.program(
            "new",
            f"""echo >> runs
            [ -e hang ] && [ $(wc -l < runs) -ge 3 ] && exec sleep 60
            exec {shlex.quote(CBANK)} "$@" """,
        )
        self.words = ["base.json", "--new-program", self.new, *PLAN, "--json", "gate.json"]

    def runs(self):
        return len(read_bytes(self.path("runs")))

    def end(self, number, *words):
        """What a gate says that gets a signal while its third process hangs."""
        gate = subprocess.Popen(
            [CBANK, "gate", *self.words, *words],
            cwd=self.folder,
            env={**ENVIRONMENT, "TMPDIR": self.tmp},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        sleeper(gate)
        gate.send_signal(number)
        said = gate.communicate(timeout=60)[1]
        self.assertEqual(gate.returncode, -number, said)
        return said

    def go_on(self, *words, status=0):
        os.remove(self.hang)
        done = self.cbank("gate", *self.words, *words, status=status)
        return read_json(self.path("gate.json")), done

    def same(self, report, results):
        self.assertEqual((report["counts"]["same"], report["new"]["results"]), (4, results))

    def test_a_signal_and_the_same_command_again(self):
        said = self.end(signal.SIGTERM, "--results", "kept")
        self.assertIn("2 results are in kept; the same command line with --results kept goes", said)
        self.same(read_json(self.path("gate.json")), 2)
        self.assertEqual(self.runs(), 3)
        report, _ = self.go_on("--results", "kept")
        self.same(report, 3)
        self.assertEqual(self.runs(), 4)
        self.assertEqual(
            sorted(os.listdir(self.path("kept"))),
            ["new-1.json", "new-2.json", "new-3.json", "processes.txt"],
        )

    def test_a_signal_when_a_result_is_there(self):
        """Its process has not ended yet: the report has it, and it is not measured again."""
        self.program(
            "new",
            f"""echo >> runs
            {shlex.quote(CBANK)} "$@" || exit
            [ ! -e hang ] || [ $(wc -l < runs) -lt 3 ] || exec sleep 60""",
        )
        said = self.end(signal.SIGTERM, "--results", "kept")
        self.assertIn("3 results are in kept", said)
        self.same(read_json(self.path("gate.json")), 3)
        report, _ = self.go_on("--results", "kept")
        self.same(report, 3)
        self.assertEqual(self.runs(), 3)

    def test_kill_and_the_same_command_again(self):
        self.end(signal.SIGKILL, "--results", "kept")
        self.assertFalse(os.path.exists(self.path("gate.json")))
        report, _ = self.go_on("--results", "kept")
        self.same(report, 3)
        self.assertEqual(self.runs(), 4)

    def test_a_signal_without_a_folder(self):
        """The results stay where the message says, and no later command removes them."""
        said = self.end(signal.SIGTERM)
        folder = re.search(r"2 results are in (\S+);", said)[1]
        self.assertEqual(os.path.dirname(folder), self.tmp)
        report, _ = self.go_on()
        self.same(report, 3)
        self.assertEqual(self.runs(), 6)
        report, _ = self.go_on_in(folder)
        self.assertEqual(self.runs(), 7)

    def go_on_in(self, folder):
        self.write("hang", "")
        return self.go_on("--results", folder)

    def test_what_kill_leaves_is_removed(self):
        """By the next command of any kind that needs such a folder; that of a living one stays."""
        with unittest.mock.patch.dict(ENVIRONMENT, TMPDIR=self.tmp):
            self.end(signal.SIGKILL)
            left = os.listdir(self.tmp)
            self.assertEqual(len(left), 1)
            self.write("tmp/cbank-scratch-mine00/result", "a user's folder")
            os.remove(self.path("runs"))
            gate = subprocess.Popen(
                [CBANK, "gate", *self.words], cwd=self.folder, env=ENVIRONMENT, stderr=-3
            )
            self.addCleanup(gate.wait)
            self.addCleanup(gate.kill)
            sleeper(gate)
            living = {*os.listdir(self.tmp)} - {"cbank-scratch-mine00"}
            self.assertEqual((len(living), living & {*left}), (1, set()))
            self.cbank("calibrate", "--processes", "2", *PLAN, "--quiet")
            self.assertEqual({*os.listdir(self.tmp)}, {*living, "cbank-scratch-mine00"})

    def test_an_error_keeps_what_was_measured(self):
        os.remove(self.hang)
        broken = self.program(
            "broken", f'echo >> runs; [ $(wc -l < runs) = 3 ] && exit 9; exec {CBANK} "$@"'
        )
        done = self.cbank("gate", "base.json", "--new-program", broken, *PLAN, status=3)
        folder = re.search(r"2 results are in (\S+);", done.stderr)[1]
        self.assertIn("new-2.json", os.listdir(folder))
        shutil.rmtree(folder)

    def test_a_file_that_a_message_names_stays(self):
        os.remove(self.hang)
        finds = self.program("finds", f'{CBANK} "$@"; echo "see $*" >&2; exit 1')
        done = self.cbank("gate", "base.json", "--new-program", finds, *PLAN, status=1)
        folder = re.search(r"the results are kept in (\S+)", done.stderr)[1]
        for name in re.findall(r"--json=(\S+)", done.stderr):
            self.assertEqual((os.path.dirname(name), os.path.exists(name)), (folder, True))
        shutil.rmtree(folder)

    def test_what_does_not_belong_together(self):
        os.remove(self.hang)
        self.cbank("gate", *self.words, "--results", "kept")
        for words, message in (
            (["--max-samples", "7"], "has processes of another command line or program"),
            (["--new-program", CBANK], "has processes of another command line or program"),
        ):
            done = self.cbank("gate", *self.words, *words, "--results", "kept", status=2)
            self.assertIn(message, done.stderr)
        with open(self.new, "a", encoding="utf-8") as file:
            file.write("# another program")
        done = self.cbank("gate", *self.words, "--results", "kept", status=2)
        self.assertIn("has processes of another command line or program", done.stderr)
        self.write("mine/base.json", {})
        done = self.cbank("gate", *self.words, "--results", "mine", status=2)
        self.assertIn("has other files than results of a gate", done.stderr)
        self.assertEqual(os.listdir(self.path("mine")), ["base.json"])


class Recipes(Case):
    """Recipes for services of continuous integration, with the simulated GPU in place of a
    runner's."""

    def test_pass_and_fail(self):
        plan = " ".join(PLAN[2:])
        recipes = {
            os.path.basename(file): re.findall(
                r"^ *(?:- run: |- |sh ')(cbank .*?)'?$", read_bytes(file).decode(), re.MULTILINE
            )
            for file in glob.glob(os.path.join(ROOT, "docs/ci/*"))
        }
        self.assertEqual(
            (len(recipes), len({tuple(steps) for steps in recipes.values()})), (3, 1), recipes
        )
        self.cbank("run", "--engine", "cuda", "--strict", "--json", "baseline.json", *PLAN[2:])
        for slow, status in (("", 0), ("--slow global:20", 1)):
            lines = [
                step.replace("cbank run", f"cbank run {plan} {slow}")
                for step in recipes["github.yml"]
            ]
            self.program("cbank", f'exec {shlex.quote(CBANK)} "$@"')
            done = subprocess.run(
                ["sh", "-ec", "\n".join(lines)],
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
                cwd=self.folder,
                env={**ENVIRONMENT, "CI": "true", "PATH": f"{self.folder}:{os.environ['PATH']}"},
            )
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
            self.assertEqual(b"<failure" in read_bytes(self.path("gate.xml")), status == 1)
            os.remove(self.path("new.json"))


class Sides(Case):
    def base(self, change=None):
        self.cbank("run", *PLAN, "--quiet", "--json", "base.json")
        result = read_json(self.path("base.json"))
        if change:
            change(result)
        with open(self.path("base.json"), "w", encoding="utf-8") as file:
            json.dump(result, file)
        return "base.json"

    def test_results_as_base(self):
        report, said = self.gate(self.base())
        self.assertEqual(said.splitlines(), ["cbank: at 3 processes of NEW: 4 of 4 cells decided"])
        self.assertEqual(report["counts"]["same"], 4)
        self.assertEqual((report["base"]["results"], report["new"]["results"]), (1, 3))

    def test_sides_that_cannot_be_compared_end_at_once(self):
        base = self.base(lambda result: result["device"].update(uuid="GPU-1"))
        report, said = self.gate(base, status=3)
        self.assertEqual((report["comparable"], report["new"]["results"]), (False, 1))
        self.assertNotIn("cells decided", said)
        self.gate(base, "--allow-diff", "uuid", "--threshold", "20")

    def test_another_plan(self):
        base = self.base(lambda result: result["cells"].pop())
        self.assertEqual(self.gate(base)[0]["counts"]["new"], 1)

    def test_usage(self):
        base = self.base()
        for words, message in (
            ([], "a gate needs one BASE"),
            ([base, "--base-program", CBANK], "a gate needs one BASE"),
            (["absent.json"], "absent.json"),
            ([base, "--device", "all"], "one GPU"),
            ([base, "--processes", "51"], "--processes"),
        ):
            with self.subTest(words):
                done = self.cbank("gate", *words, *PLAN, status=2)
                self.assertIn(message, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_programs_that_are_none(self):
        writes = self.program("writes", 'for json; do :; done; echo 1 > "${json#--json=}"')
        for name, message in (
            ("./absent", "./absent exited with 127"),
            ("true", "wrote no result"),
            (self.program("odd", "echo odd; exit 9"), "exited with 9"),
            (writes, "base-1.json"),
        ):
            with self.subTest(name), unittest.mock.patch.dict(ENVIRONMENT, TMPDIR=self.folder):
                done = self.cbank(
                    "gate", "--base-program", name, *PLAN, status=2 if name == writes else 3
                )
                self.assertIn(message, done.stderr)
                self.assertEqual(done.stdout, "")
                for path in re.findall(r"(\S+\.json):", done.stderr):
                    self.assertTrue(os.path.exists(path), path)


class Children(Case):
    def start(self, program):
        return subprocess.Popen(
            [CBANK, "gate", "--base-program", CBANK, "--new-program", program, *PLAN],
            cwd=self.folder,
            env=ENVIRONMENT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: [
                signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGHUP)
            ],
        )

    def test_they_end_with_it(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
            with self.subTest(number):
                gate = self.start(self.program("hangs", "exec sleep 60"))
                child = sleeper(gate)
                gate.send_signal(number)
                messages = gate.communicate(timeout=60)[1]
                self.assertEqual(gate.returncode, -number, messages)
                for _ in range(500):
                    if not os.path.exists(f"/proc/{child}"):
                        break
                    time.sleep(0.01)
                self.assertFalse(os.path.exists(f"/proc/{child}"))

    def test_a_killed_process(self):
        gate = self.start(self.program("hangs", "exec sleep 60"))
        os.kill(sleeper(gate), signal.SIGKILL)
        self.assertIn("new process 1 was killed by signal 9", gate.communicate(timeout=60)[1])
        self.assertEqual(gate.returncode, 3)

    def test_options_reach_the_processes(self):
        """However they are spelled. They leave no files."""
        values = {
            "engine": "cuda",
            "workload": "add",
            "cache-state": "cold",
            "block-size": "256",
            "max-noise": "0.7",
            "sample-us": "600",
            "max-samples": "7",
            "max-seconds": "1",
            "seed": "5",
            "counters": "none",
            "device": "0",
            "path": "global",
            "pattern": "per_block",
            "elements": "2k",
        }
        program = self.program("logs", f'echo "$@" >> lines; exec {shlex.quote(CBANK)} "$@"')
        for words in (
            [f"--{option}={value}" for option, value in values.items()],
            [
                word
                for option, value in values.items()
                for word in (
                    f"--{option if option in ('path', 'counters') else option[:-1]}",
                    value,
                )
            ],
        ):
            self.cbank(
                "gate",
                "--base-program",
                program,
                *words,
                "--processes",
                "1",
                "--threshold",
                "50",
                "--quiet",
            )
        lines = read_bytes(self.path("lines")).decode().splitlines()
        self.assertEqual(len(lines), 2)
        for line in lines:
            self.assertIn(
                "run --quiet "
                + " ".join(f"--{option}={value}" for option, value in values.items())
                + " --json=",
                line,
            )
            self.assertFalse(os.path.exists(os.path.dirname(line.split("--json=")[1])))


if __name__ == "__main__":
    unittest.main()
