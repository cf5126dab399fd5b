#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several processes at once, and processes that are killed: no result is lost, and none is written by two. On the model
engine; CBANK names the program (default build/cbank)."""

import glob
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

import jsonschema

from common import ROOT, Scratch, read_bytes, read_json, repetitions

CBANK = os.path.abspath(os.environ.get("CBANK", os.path.join(ROOT, "build/cbank")))
ONE_CELL = ["--engine", "model", "--path", "constant", "--pattern", "per_warp", "--elements", "4096"]


def long_plan(sizes):
    """It takes a while on any machine: every size is walked anew."""
    return ["--engine", "model", "--pattern", "hashed", "--elements", ",".join(str(12800000 + i) for i in range(sizes))]


PLAN = long_plan(12)
NAME = r"^cbank-model-H200-[-\w.]+-0-20\d{6}T\d{6}\.\d{3}Z(-\d+)?\.json$"


def processes_of(folder):
    """Numbers of the processes whose command line has the folder, apart from this one's."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            if os.fsencode(folder) in read_bytes(path):
                found.append(int(path.split("/")[2]))
        except OSError:
            pass
    return found


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain")
        time.sleep(0.01)
    return condition()


class Case(Scratch):
    def start(self, *arguments):
        """The program, in the folder. It is ended with the test, and hears signals also where the tests do not (nohup, &)."""
        process = subprocess.Popen([CBANK, *arguments], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL)
                                                                    for number in (signal.SIGINT, signal.SIGHUP)])
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def cbank(self, *arguments, status=0):
        done = subprocess.run([CBANK, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=300,
                              check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def left_over(self):
        return glob.glob(self.path("**/*.tmp"), recursive=True)


class Names(Case):
    def test_eight_at_once(self):
        rounds = repetitions(100, 6)
        for _ in range(rounds):
            started = [subprocess.Popen([CBANK, "run", *ONE_CELL, "--quiet"], cwd=self.folder) for _ in range(8)]
            self.assertEqual([process.wait(timeout=60) for process in started], [0] * 8)
        names = os.listdir(self.folder)
        self.assertEqual(len(names), 8 * rounds)
        for name in names:
            self.assertRegex(name, NAME)
        self.assertEqual({read_json(self.path(name))["complete"] for name in names}, {True})

    def test_a_name_is_a_valid_result_from_the_first_moment(self):
        self.start("run", *long_plan(200), "--quiet")
        (name,) = wait_for(lambda: glob.glob(self.path("*.json")))
        result = read_json(name)
        jsonschema.Draft202012Validator(read_json(os.path.join(ROOT, "results/schema.json"))).validate(result)
        self.assertIs(result["complete"], False)
        self.assertIn("pending", {cell["status"] for cell in result["cells"]})
        self.assertIn("pending", self.cbank("show", name).stdout)

    def test_killed_and_resumed(self):
        process = self.start("run", *PLAN, "--quiet")
        (name,) = wait_for(lambda: glob.glob(self.path("*.json")))
        process.kill()
        process.wait()
        self.cbank("run", "--resume", name, "--quiet")
        self.assertIs(read_json(name)["complete"], True)
        self.assertEqual(os.listdir(self.folder), [os.path.basename(name)])

    def stop(self, process):
        """Once it has the lock of its file, so that it does not end before others have met that."""
        lock = self.path("a.json.cbank-lock.tmp")
        wait_for(lambda: os.path.exists(lock) and os.path.getsize(lock))
        process.send_signal(signal.SIGSTOP)
        self.assertTrue(os.path.exists(lock))

    def refused(self, process, *arguments):
        done = self.cbank(*arguments, status=2)
        self.assertIn(f"is being written by process {process.pid} on ", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_one_file_is_written_by_one_process(self):
        os.symlink("a.json", self.path("link.json"))
        process = self.start("run", *PLAN, "--json", "a.json")
        self.stop(process)
        for name in ("a.json", "link.json", self.path("a.json")):
            self.refused(process, "run", *ONE_CELL, "--json", name)
        process.kill()
        process.wait()
        self.cbank("run", *ONE_CELL, "--json", "link.json")
        self.assertEqual(len(read_json(self.path("a.json"))["cells"]), 1)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.json", "link.json"])

    def test_one_process_resumes(self):
        self.cbank("run", *PLAN, "--quiet", "--json", "a.json")
        result = read_json(self.path("a.json"))
        for cell in result["cells"]:
            cell["status"] = "pending"
        with open(self.path("a.json"), "w", encoding="utf-8") as file:
            json.dump({**result, "complete": False, "finished_utc": None}, file)
        process = self.start("run", "--resume", "a.json")
        self.stop(process)
        self.refused(process, "run", "--resume", "a.json")
        self.cbank("run", "--resume", "a.json", "--json", "b.json", "--quiet")  # into a file of its own
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.wait(timeout=60), 0)


class Children(Case):
    """Processes that calibrate starts."""

    COMMAND = ["calibrate", *PLAN, "--processes", "4", "--json", "noise.json"]

    def results(self, folder):
        return sorted(glob.glob(os.path.join(self.folder, folder, "calibration-*.json")))

    def finished(self, folder):
        return [path for path in self.results(folder) if read_json(path)["complete"]]

    def child(self, folder):
        return wait_for(lambda: processes_of(f"{self.folder}/{folder}/calibration"))[0]

    def start_and_stop(self):
        """A calibration whose first process has finished and whose second one is stopped, as early as that can be
        caught."""
        for sizes in (12, 60, 300):
            self.command = ["calibrate", *long_plan(sizes), "--processes", "4", "--json", "noise.json", "--keep",
                            self.path("kept")]
            process = self.start(*self.command)
            wait_for(lambda started=process: processes_of(f"{self.folder}/kept/calibration-002") or started.poll() is not None)
            child = processes_of(f"{self.folder}/kept/calibration-002")
            if child and process.poll() is None:
                os.kill(child[0], signal.SIGSTOP)
                self.addCleanup(self.end)
                if len(self.results("kept")) == 1:
                    return process, child[0]
            process.kill()
            shutil.rmtree(self.path("kept"))
        raise AssertionError("it ends too soon to be caught")

    def end(self):
        for number in processes_of(self.folder):
            os.kill(number, signal.SIGKILL)

    def goes_on(self):
        before = {path: read_bytes(path) for path in self.finished("kept")}
        self.assertGreater(len(before), 0)
        done = self.cbank(*self.command)
        self.assertIn(f"has {len(before)} of 4 calibration processes already", done.stderr)
        self.assertEqual(read_json(self.path("noise.json"))["processes"], 4)
        self.assertEqual({path: read_bytes(path) for path in before}, before)
        self.assertEqual(self.left_over(), [])

    def test_they_end_with_it(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
            with self.subTest(number):
                process = self.start("calibrate", *long_plan(60), "--processes", "100", "--json", "noise.json", "--keep",
                                     self.path(f"kept{number}"))
                self.child(f"kept{number}")
                process.send_signal(number)
                messages = process.communicate(timeout=60)[1]
                self.assertEqual(process.returncode, -number, messages)
                wait_for(lambda: not processes_of(self.folder), 10)
                self.assertFalse(os.path.exists(self.path("noise.json")))

    def test_what_finished_is_kept_and_gone_on_with(self):
        process, child = self.start_and_stop()
        process.terminate()
        os.kill(child, signal.SIGCONT)
        self.assertIn("goes on", process.communicate(timeout=60)[1])
        self.goes_on()

    def test_a_killed_process(self):
        process, child = self.start_and_stop()
        os.kill(child, signal.SIGKILL)
        messages = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 3, messages)
        self.assertRegex(messages, "process 2 of 4 was killed by signal 9")
        self.assertRegex(messages, "kept has 1 of 4 calibration processes; the same command with --keep .*kept goes on")
        self.goes_on()

    def test_files_of_others_do_not_count(self):
        self.cbank("run", *ONE_CELL, "--json", "kept/", "--quiet")
        self.cbank("run", *ONE_CELL, "--json", "kept/calibration-003.json", "--quiet")
        calibrate = ["calibrate", *ONE_CELL, "--json", "noise.json", "--keep", "kept", "--processes"]
        self.cbank(*calibrate, "2")
        self.assertEqual(read_json(self.path("noise.json"))["processes"], 2)
        kept = {path: read_bytes(path) for path in self.results("kept")}
        for command in ([*calibrate, "3"], [*calibrate, "2", "--max-samples", "7"]):
            done = self.cbank(*command, status=2)
            self.assertIn("is of another program or other options", done.stderr)
            self.assertEqual({path: read_bytes(path) for path in self.results("kept")}, kept)

    def test_what_a_process_would_refuse_is_refused_before(self):
        for option, value, word in (("--device", "0,1", "one GPU"), ("--device", "all", "one GPU"),
                                    ("--json", "/nowhere/noise.json", "cannot write /nowhere/noise.json"),
                                    ("--max-samples", "1", "--max-samples"), ("--elements", "none", "--elements"),
                                    ("--counters", "nonsense!", "unknown counter")):
            with self.subTest(option, value=value):
                self.assertIn(word, self.cbank("calibrate", *ONE_CELL, "--keep", "kept", option, value, status=2).stderr)
                self.assertEqual(os.listdir(self.folder), [])

    def test_options_reach_the_processes(self):
        """However they are spelled."""
        values = {"workload": "add", "cache-state": "cold", "block-size": "256", "max-noise": "0.7", "sample-us": "600",
                  "max-samples": "7", "max-seconds": "1", "seed": "5", "counters": "none", "device": "0", "path": "global",
                  "pattern": "per_block", "elements": "2k"}
        short = {option: option if option == "path" else option[:-1] for option in values}
        for kept, words in (("whole", [f"--{option}={value}" for option, value in values.items()]),
                            ("short", [word for option, value in values.items() for word in (f"--{short[option]}", value)])):
            self.cbank("calibrate", "--eng", "model", "--proc", "2", *words, "--keep", kept)
            self.assertEqual(len(self.results(kept)), 2)
            for path in self.results(kept):
                line = " ".join(f"--{option}={value}" for option, value in values.items())
                self.assertIn(f" --engine=model {line} --json=", read_json(path)["tool"]["argv"])

    def test_a_cell_that_fails_is_a_finding_and_the_others_count(self):
        done = self.cbank("calibrate", *ONE_CELL, "--fault", "counter", "--processes", "2", "--json", "noise.json", status=1)
        self.assertIn("calibration: noise.json", done.stdout)
        self.assertEqual(read_json(self.path("noise.json"))["processes"], 2)


if __name__ == "__main__":
    unittest.main()
