#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What commands read, and what they write: no input is an output, only regular files are read, and
a signal ends each wait."""

import fcntl
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest

import common
from common import CBANK, ROOT, Scratch, cbank, read_bytes

PLAN = ("--engine", "model", "--elements", "4096", "--pattern", "per_warp", "--path", "constant")
LOOKUP = ("--engine", "model", "--workload", "lookup", "--path", "global")
RECORDED = os.path.join(ROOT, "results/characterizations/h200.json")
# in which a command that waits for nothing has ended
common.SECONDS_MAX = SECONDS_MAX = 60

# Arguments of options that are names of files, as help has them.
FILE_LIKE = re.compile(r"FILE|PATH|DIR|RESULTS|CARD|STORE|OLD")
# Commands of the instrument: words that go before; options that write; options that read.
# "ARGUMENT" stands for an argument.
OF_KERNELS = ("--compiler", "--against", "--against-compiler")
OF_RUNS = (*OF_KERNELS, "--card", "--indices", "--kernel")
C_COMMANDS = {
    "run": (PLAN, ("--json", "--trace"), (*OF_RUNS, "--resume")),
    "gate": (
        PLAN,
        ("--json", "--junit", "--markdown"),
        (
            "ARGUMENT",
            *OF_RUNS,
            "--base-program",
            "--new-program",
            "--calibration",
            "--boards",
            "--results",
        ),
    ),
    "compare": (
        ("new.json",),
        ("--json", "--junit", "--markdown"),
        ("ARGUMENT", "--calibration", "--boards", "--batch"),
    ),
    "calibrate": (PLAN, ("--json",), ("ARGUMENT", *OF_RUNS)),
    "spaces": ((), ("--json", "--ranks"), ("ARGUMENT", *OF_KERNELS, "--card", "--resume")),
    "characterize": ((), ("--json", "--new-card"), ("--replay", "--card", "--resume")),
    "advise": (
        (),
        ("--json", "--write"),
        ("--card", "--indices", "--kernel", "--against", "--measured"),
    ),
    "explain": ((), (), ("ARGUMENT", "--card")),
    "show": ((), (), ("ARGUMENT",)),
    "counters": ((), (), ("ARGUMENT",)),
    "normal": ((), (), ("ARGUMENT", "--normal")),
}
OTHER_COMMANDS = ("list", "doctor", "version", "help")


def options_of(command):
    """Options that name files, by the help of a command, but for lists."""
    text = cbank(command, "--help=all").stdout
    return {
        name
        for name, argument in re.findall(r"^\s+(--[a-z0-9-]+)=(\S+)", text, re.MULTILINE)
        if FILE_LIKE.search(argument) and ":" not in argument
    }


class Outputs(Scratch):
    """An output that is an input, or another output, is refused before anything is done."""

    def setUp(self):
        super().setUp()
        for name in ("in.json", "new.json"):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(f'{{"what": "{name}"}}\n')

    def check_refused(self, *words):
        before = {
            name: read_bytes(self.path(name))
            for name in os.listdir(self.folder)
            if os.path.isfile(self.path(name))
        }
        done = self.cbank(*words, status=2)
        self.assertIn("is named for something else, too", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for name, content in before.items():
            self.assertEqual(read_bytes(self.path(name)), content, name)

    def test_the_table_has_every_option_that_names_a_file(self):
        commands = re.findall(r"^  ([a-z]+) +[A-Z]", cbank("help").stdout, re.MULTILINE)
        for command in commands:
            if command in C_COMMANDS:
                _, writes, reads = C_COMMANDS[command]
                known = {*writes, *reads} - {"ARGUMENT", "--kernel"}
                self.assertEqual(options_of(command) - {"--kernel"}, known, command)
            elif command in OTHER_COMMANDS:
                self.assertEqual(options_of(command), set(), command)

    def test_no_option_writes_what_another_reads(self):
        for command, (first, writes, reads) in C_COMMANDS.items():
            for write in writes:
                for read in reads:
                    words = ("in.json",) if read == "ARGUMENT" else (read, "in.json")
                    if command == "spaces" and read != "ARGUMENT":
                        words = ("new.json", *words)
                    with self.subTest(command=command, write=write, read=read):
                        self.check_refused(command, *first, *words, write, "in.json")

    def test_an_output_that_cannot_be_made(self):
        """It is refused before anything is done: the other output is not there."""
        for command, (first, writes, _) in C_COMMANDS.items():
            for write in writes:
                words = ("in.json",) if command in ("compare", "calibrate", "spaces") else ()
                other = ("--json", "made.json") if write != "--json" else ()
                with self.subTest(command=command, write=write):
                    done = self.cbank(
                        command, *words, *first, write, "absent/out", *other, status=2
                    )
                    self.assertEqual(
                        done.stderr,
                        "cbank: error: cannot write absent/out: No such file or directory; name a"
                        " path you can write to, with space left\n",
                    )
                    self.assertFalse(os.path.exists(self.path("made.json")))

    def test_whatever_its_name_is(self):
        """Another path, a link, a hard link, in a list, and in a folder."""
        os.symlink("in.json", self.path("link.json"))
        os.link(self.path("in.json"), self.path("hard.json"))
        os.mkdir(self.path("folder"))
        os.link(self.path("in.json"), self.path("folder/inside.json"))
        os.symlink(self.folder, self.path("other"))
        for written in ("./in.json", "link.json", "hard.json", "other/in.json"):
            for read in ("in.json", "new.json,in.json", "folder", "new.json,folder"):
                with self.subTest(written=written, read=read):
                    self.check_refused("compare", read, "new.json", "--json", written)

    def test_two_outputs_are_two_files(self):
        for first, second in (("out", "out"), ("out", "./out"), ("-", "-")):
            self.check_refused("compare", "in.json", "new.json", "--json", first, "--junit", second)

    def test_outputs_that_nobody_names(self):
        """A default, the files of several devices, and those beside a file while it is written."""
        shutil.copy(RECORDED, self.path("characterization.json"))
        self.check_refused("characterize", "--replay", "characterization.json")
        shutil.copy(self.path("in.json"), self.path("out-device1.json"))
        self.check_refused(
            "run", *PLAN, "--device", "0,1", "--card", "out-device1.json", "--json", "out.json"
        )
        for ending in (".cbank.tmp", ".cbank-lock.tmp"):
            shutil.copy(self.path("in.json"), self.path(f"out.json{ending}"))
            self.check_refused("run", *PLAN, "--card", f"out.json{ending}", "--json", "out.json")

    def test_what_a_kernel_file_reads(self):
        """What it includes, by a folder of an option too, the data that it names, and the files
        that options name."""
        os.mkdir(self.path("folder"))
        for name, text in (
            ("kernel.cu", '#include "beside.h"\n#include <above.h>\nauto f = "data.npy";\n'),
            ("beside.h", ""),
            ("folder/above.h", '#include "inner.h"\n'),
            ("folder/inner.h", ""),
            ("data.npy", ""),
            ("forced.h", ""),
            ("options", "-O3\n"),
        ):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)
        options = ("--compiler-options", "-Ifolder -include forced.h -optf=options")
        for command, write in (("run", "--json"), ("gate", "--junit"), ("calibrate", "--json")):
            for written in (
                "kernel.cu",
                "beside.h",
                "folder/above.h",
                "folder/inner.h",
                "data.npy",
                "forced.h",
                "options",
            ):
                with self.subTest(command=command, written=written):
                    self.check_refused(command, "--kernel", "kernel.cu", *options, write, written)
        self.check_refused("spaces", "kernel.cu", *options, "--json", "folder/inner.h")
        suite = glob.glob(os.path.join(ROOT, "examples/*.cu"))[0]
        before = read_bytes(suite)
        self.check_refused("run", "--suite", "--json", suite)
        self.assertEqual(read_bytes(suite), before)

    def test_the_program_is_no_output(self):
        before = os.stat(CBANK).st_ino
        self.check_refused("run", *PLAN, "--json", CBANK)
        self.assertEqual(os.stat(CBANK).st_ino, before)

    def test_files_of_the_analysis(self):
        """Of a command line, and of a folder that pages and figures are written to."""
        self.cbank("run", *PLAN, "--quiet", "--json", "a.json")
        self.cbank("ingest", "store.db", "a.json", "--quiet")
        os.link(self.path("store.db"), self.path("hard.db"))
        os.symlink("store.db", self.path("link.db"))
        with open(self.path("hosts"), "w", encoding="utf-8") as file:
            file.write("host 1\n")
        for option in ("--json", "--markdown"):
            for written in ("store.db", "hard.db", "link.db"):
                self.check_refused("fleet", "store.db", option, written)
            self.check_refused("fleet", "store.db", "--inventory", "hosts", option, "hosts")
        self.check_refused("fleet", "store.db", "--json", "x", "--markdown", "./x")
        shutil.copy(self.path("hosts"), self.path("out.tmp"))
        self.check_refused("fleet", "store.db", "--inventory", "out.tmp", "--json", "out")
        self.check_refused("ingest", "a.json", "./a.json")
        for name in ("index.html", "style.css", "index.html.tmp"):
            os.makedirs(self.path("page"), exist_ok=True)
            os.link(self.path("a.json"), self.path(f"page/{name}"))
            before = read_bytes(self.path("a.json"))
            done = self.cbank("report", "-o", "page", "a.json", status=2)
            self.assertIn("it was read, as a.json", done.stderr)
            self.assertEqual(read_bytes(self.path("a.json")), before)
            shutil.rmtree(self.path("page"))


class Readers(Scratch):
    """A pipe, a socket, a device and a folder are refused in a sentence, without a wait."""

    def setUp(self):
        super().setUp()
        os.mkfifo(self.path("pipe.json"))
        os.mkdir(self.path("folder"))
        os.mkfifo(self.path("folder/pipe.json"))
        self.socket = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.socket.close)
        here = os.open(self.folder, os.O_PATH)  # names of sockets are short
        self.socket.bind(f"/proc/self/fd/{here}/socket.json")
        os.close(here)
        self.cbank("run", *PLAN, "--quiet", "--json", "a.json")
        self.cbank("ingest", "store.db", "a.json", "--quiet")

    def check_refused(self, *words):
        done = self.cbank(*words, status=2)
        self.assertRegex(
            done.stderr, r"cannot read \S+: (it is a \w+, not a file|Is a directory)", words
        )

    def test_in_every_command(self):
        for words in (
            ("show",),
            ("counters",),
            ("explain",),
            ("spaces",),
            ("run", "--resume"),
            ("run", *PLAN, "--card"),
            ("run", *LOOKUP, "--indices"),
            ("compare", "a.json"),
            ("compare", "a.json", "a.json", "--calibration"),
            ("compare", "a.json", "a.json", "--boards"),
            ("compare", "--batch"),
            ("calibrate",),
            ("gate", *PLAN),
            ("characterize", "--replay"),
            ("advise", "--kernel"),
            ("explain", "a.json", "--card"),
            ("report", "-o", "out"),
            ("plot", "-o", "out"),
            ("plot", "-o", "out", "a.json", "--style"),
            ("convert", "--to", "bmf"),
            ("atlas",),
            ("check",),
            ("history",),
            ("ingest", "new.db"),
            ("fleet",),
            ("fleet", "store.db", "--inventory"),
        ):
            self.check_refused(*words, "pipe.json")
        self.check_refused("ingest", "pipe.json", "a.json")

    def test_whatever_it_is(self):
        for name in ("socket.json", "/dev/zero", "/dev/tty"):
            for words in (("show",), ("history",), ("fleet",), ("run", *LOOKUP, "--indices")):
                with self.subTest(name=name, words=words):
                    self.check_refused(*words, name)
        for words in (("show",), ("fleet",), ("run", *LOOKUP, "--indices")):
            self.check_refused(*words, "folder")

    def test_in_a_folder(self):
        for words in (
            ("compare", "a.json"),
            ("calibrate",),
            ("report", "-o", "out"),
            ("history",),
            ("ingest", "new.db"),
            ("check",),
        ):
            with self.subTest(words):
                self.check_refused(*words, "folder")

    def test_beside_a_store(self):
        for end in ("-journal", "-wal", "-shm"):
            os.mkfifo(self.path(f"store.db{end}"))
            for words in (("fleet", "store.db"), ("ingest", "store.db", "a.json")):
                with self.subTest(end=end, words=words):
                    self.check_refused(*words)
            os.remove(self.path(f"store.db{end}"))

    def test_files_are_opened_in_one_place(self):
        """A reader that opens a file by itself would wait for a pipe. What is opened elsewhere is
        written, is the machine's, or is looked at before."""
        for pattern, call, places in (
            (
                "harness/**/*.c",
                r"[^_\w>.](fopen|open|openat|freopen)\(",
                {
                    "harness/document/files.c": 3,  # file_open; what is written; a folder
                    "harness/document/file_lock.c": 1,  # what is written
                    "harness/document/scratch.c": 1,  # the lock of a temporary folder
                    "harness/kernel/kernel_cache.c": 1,  # the cache
                    "harness/kernel/kernel_compiler.c": 1,  # what is compiled
                    "harness/base/child.c": 2,  # /dev/null; what a child says
                    "harness/commands.c": 1,  # /dev/null
                },
            ),
            (
                "scripts/cbank/**/*.py",
                r"(?<![\w.])(?:open|os\.open|os\.fdopen)\(|\.(?:read_text|read_bytes|write_text)\(",
                {
                    "scripts/cbank/files.py": 5,
                    "scripts/cbank/__main__.py": 4,  # /dev/null, and the current folder
                },
            ),
        ):
            found = {}
            for path in glob.glob(os.path.join(ROOT, pattern), recursive=True):
                text = re.sub(r"/\*.*?\*/", "", read_bytes(path).decode(), flags=re.DOTALL)
                text = text.replace("files.read_bytes(", "").replace("documents.read_bytes(", "")
                if number := len(re.findall(call, text)):
                    found[os.path.relpath(path, ROOT)] = number
            self.assertEqual(found, places)


class Signals(Scratch):
    """The first SIGTERM or Ctrl-C ends each wait."""

    def start(self, *words, **settings):
        process = subprocess.Popen(
            [CBANK, *words],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            **settings,
        )
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def check_ends(self, process, number):
        process.send_signal(number)
        try:
            self.assertEqual(process.wait(SECONDS_MAX), -number)
        except subprocess.TimeoutExpired:
            self.fail(f"a wait does not end by signal {number}")

    def wait_for(self, what):
        end = time.monotonic() + SECONDS_MAX
        while not what():
            self.assertLess(time.monotonic(), end, "nothing is waited for")
            time.sleep(0.01)

    def asleep(self, process):
        """Whether all threads of a process wait in the kernel."""
        states = []
        for path in glob.glob(f"/proc/{process.pid}/task/*/stat"):
            states.append(read_bytes(path).rpartition(b")")[2].split()[0])
        return set(states) == {b"S"}

    def test_of_who_writes_to_a_pipe_that_nobody_empties(self):
        everything = ("--workload", "all", "--path", "all", "--pattern", "all")
        for number in (signal.SIGTERM, signal.SIGINT):
            read, write = os.pipe()
            fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
            process = self.start(
                "run",
                "--engine",
                "model",
                "--elements",
                "2048",
                *everything,
                "--json",
                "-",
                stdout=write,
            )
            os.close(write)
            self.addCleanup(os.close, read)
            waits = 0

            def full(read=read, process=process):
                nonlocal waits
                there = fcntl.ioctl(read, 0x541B, b"\0\0\0\0")  # FIONREAD
                waits = waits + 1 if any(there) and self.asleep(process) else 0
                return waits > 20

            self.wait_for(full)
            self.check_ends(process, number)

    def test_of_who_waits_for_a_lock(self):
        """Of a file that another process is writing."""
        for number in (signal.SIGTERM, signal.SIGINT):
            with open(self.path("out.json.cbank.tmp"), "w", encoding="utf-8") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                process = self.start("run", *PLAN, "--quiet", "--json", "out.json")
                waits = 0

                def waiting(process=process):
                    nonlocal waits
                    opened = glob.glob(f"/proc/{process.pid}/fd/*")
                    waits += any(os.path.realpath(path).endswith(".cbank.tmp") for path in opened)
                    return waits > 20

                self.wait_for(waiting)
                self.check_ends(process, number)

    def ended(self, number, there, *words):
        """What a command says that is ended once a file is there; none of its processes goes on."""
        process = self.start(*words, stdout=subprocess.DEVNULL, start_new_session=True)
        self.wait_for(lambda: os.path.exists(self.path(there)) or process.poll() is not None)
        process.send_signal(number)
        said = process.stderr.read().decode()  # until all have ended that could say something
        self.assertEqual(process.wait(), -number, said)
        self.assertNotIn("Traceback", said)
        return said

    def test_of_who_draws_by_several_processes(self):
        drawn = [
            os.path.join(ROOT, f"results/chips/h200/{name}.json")
            for name in ("core-matrix", "core-matrix-cold", "second-process", "sizes")
        ]
        first = "out/core-matrix-matrix.csv"
        for number in (signal.SIGTERM, signal.SIGKILL):
            said = self.ended(number, first, "plot", "--format", "png", "-o", "out", *drawn)
            self.assertNotIn("Process", said)
            shutil.rmtree(self.path("out"))

    def test_of_who_checks_what_it_contributes(self):
        shutil.copytree(os.path.join(ROOT, "results/chips/h200"), self.path("chip"))
        os.remove(self.path("chip/manifest.json"))
        self.assertIn(
            "chip has what is done; the same command goes on",
            self.ended(signal.SIGTERM, "chip/manifest.json", "contribute", "chip"),
        )

    def test_a_pipe_that_nobody_reads_is_no_output(self):
        os.mkfifo(self.path("out.json"))
        done = self.cbank("run", *PLAN, "--quiet", "--json", "out.json", status=2)
        self.assertIn("cannot write out.json: nobody reads this pipe", done.stderr)

    def test_a_pipe_gets_a_result_once(self):
        os.mkfifo(self.path("out.json"))
        with subprocess.Popen(
            ["cat", "out.json"], cwd=self.folder, stdout=subprocess.PIPE
        ) as reader:
            # until cat has opened it, nobody reads
            done = None
            end = time.monotonic() + SECONDS_MAX
            while not done or (done.returncode == 2 and time.monotonic() < end):
                done = self.cbank("run", *PLAN, "--quiet", "--json", "out.json", status=None)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIs(json.loads(reader.stdout.read())["complete"], True)


if __name__ == "__main__":
    unittest.main()
