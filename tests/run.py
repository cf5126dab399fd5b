#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests: builds, unit tests, and the files of tests/end_to_end and tests/kernels, on all
processors.

usage: tests/run.py test|all|long|kernels|fleet|gpu [VARIABLE=VALUE...]

VARIABLEs are for make. The suites:
- test: what every change has to pass, in 180 s on two processors and 300 s of processor time, build
  included.
- all: what a merge has to pass, in 15 minutes on two processors; continuous integration runs it.
- long: everything, with every repetition, every architecture and the sanitizers of gcc.
- kernels, fleet, gpu: these parts alone.

A part is one or more commands. When it ends, a line says how many tests it had and its seconds. Its
output is in build/test-logs/, and is shown where it failed. Tests are counted from the output of
cmocka (TAP) and of unittest; of attacks, a class of them is a test. Any other command is one test,
which passed if it exits with 0. At the end stand the parts that took the most processor time. The
last line is "N passed, N failed", with ", N skipped" where there are any. The exit status is 0 when
at least one test ran and none failed.

The suite sets CBANK_TEST to quick (test), small (all) or full (long): tests repeat accordingly.
`all` sets CBANK_ARCHS to ends: it checks kernels of the machine's toolkit for its newest
architecture. Where CBANK_ARCHS is ends, CUDA 11.8 compiles for its oldest.

A test file is found by its name: tests/unit/test_*.c, and every *.py of the other folders that ends
in unittest.main(). A file runs in `test` unless ALL or LONG names it.
"""

import fractions
import glob
import os
import platform
import queue
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

COMMAND_SECONDS_MAX = 1800
LINES_SHOWN_MAX = 60  # of a command that failed
# It looks for leaks in a process that it stops, and sometimes falls over itself: that says nothing
# of the program.
LEAK_SANITIZER_BROKE = ("LeakSanitizer has encountered a fatal error", "Tracer caught signal")
RUNS_MAX = 3  # of a command in which that happens
LOGS = "build/test-logs"
SLOTS = len(os.sched_getaffinity(0))

# About how long parts take, in seconds of one processor: the long ones start first.
SECONDS = {
    "build": 65,
    "sanitizer build": 65,
    "sanitizer build, gcc": 110,
    "build, scratch tree": 33,
    "build, simulated GPU, sanitizers": 26,
    "lint": 50,
    "fuzz": 38,
    "fuzz, code of kernels": 1800,
    "unit tests, sanitizers": 50,
    "unit tests, sanitizers, gcc": 60,
    "unit tests": 36,
    "kernels/cuda_11_8": 170,
    "kernels/toolkit": 50,
    "kernels/compilers": 30,
    "kernels/corpus": 60,
    "kernels/kernel_files": 120,
    "kernels/random_programs": 130,
    "kernels/header": 72,
    "kernels/kernel_faults": 75,
    "kernels/suite": 65,
    "kernels/kernel_checks": 17,
    "kernels/space_instructions": 90,
    "end_to_end/report": 45,
    "end_to_end/readme": 50,
    "end_to_end/figures": 125,
    "end_to_end/scratch": 56,
    "end_to_end/packages": 52,
    "end_to_end/simulated": 115,
    "end_to_end/kernel_file": 34,
    "end_to_end/faults, sanitizers": 42,
    "end_to_end/walk, sanitizers": 60,
    "end_to_end/store": 75,
    "end_to_end/contribute": 65,
    "end_to_end/advise": 42,
    "end_to_end/analysis": 41,
    "end_to_end/gate": 30,
    "end_to_end/board": 17,
    "end_to_end/energy": 20,
    "end_to_end/driver_compiler": 40,
    "end_to_end/launch_overhead": 35,
    "end_to_end/foreign": 25,
    "end_to_end/spaces": 27,
    "end_to_end/claims": 21,
    "end_to_end/lookup": 19,
    "end_to_end/e2e": 17,
    "attacks/documents, sanitizers": 63,
    "committed files, sanitizers": 57,
    "end_to_end/fleet": 70,
    "faults/planted": 700,
    "end_to_end/e2e, sanitizers": 40,
    "end_to_end/e2e, sanitizers, gcc": 26,
}
SECONDS_OF_OTHERS = 8
# Parts that wait most of their time, for a moment to kill or for what hangs: so many of them run in
# one slot.
WAITING = {
    "end_to_end/faults": 3,
    "end_to_end/walk": 3,
    "end_to_end/fleet_slurm": 3,
    "end_to_end/energy": 3,
    "end_to_end/faults, sanitizers": 2,
    "end_to_end/walk, sanitizers": 2,
}

ROOM_TO_WAIT = fractions.Fraction(1, 2)  # slots that they have in addition

# The files of tests/end_to_end for the simulated GPU. `long` runs them with sanitizers, too.
SIMULATED = (
    "simulated.py",
    "kernel_file.py",
    "user_cells.py",
    "foreign.py",
    "spaces.py",
    "health.py",
    "board.py",
    "energy.py",
    "faults.py",
    "walk.py",
    "gating.py",
    "driver_compiler.py",
    "launch_overhead.py",
    "contribute.py",
    "trace.py",
)
# Kernels of kernel files change stacks, which sanitizers do not follow; and a library that is
# preloaded stands in for what sanitizers ask first.
SANITIZED = [
    file
    for file in SIMULATED
    if file not in ("kernel_file.py", "foreign.py", "spaces.py", "driver_compiler.py")
]
CLUSTERS = ("fleet_slurm.py",)  # of the same program, without sanitizers
# `make test-kernels`, which changes of kernels ask for, and `long` run these, too
KERNELS_LONG = (
    "kernel_faults.py",
    "cuda_11_8.py",
    "space_instructions.py",
    "compilers.py",
    "toolkit.py",
    "kernel_files.py",
)
# Files of tests/end_to_end that take long for what a change most often breaks: `all` and `long` run
# them.
ALL = (
    "scratch.py",
    "packages.py",
    "model.py",
    "report.py",
    "figures.py",
    "readme.py",
    "allocation.py",
    "faults.py",
    "walk.py",
    "contribute.py",
    "simulated.py",
    "fleet.py",
    "store.py",
)

TAP = re.compile(r"^(not )?ok \d+( - .*?)?( # SKIP.*)?$", re.IGNORECASE)
ATTACKED = re.compile(r"^.+: \d+ tried, (\d+) failed$")
UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in")
UNITTEST_END = re.compile(r"^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$")
UNITTEST_SKIPPED = re.compile(r"\.\.\. skipped ['\"](.*)['\"]$")


def count(lines, status):
    """(passed, failed, skipped) of one command's output."""
    passed = failed = skipped = 0
    for line in lines:
        tap = TAP.match(line)
        if tap and tap.group(3):
            skipped += 1
        elif tap and tap.group(1):
            failed += 1
        elif tap:
            passed += 1
        attacked = ATTACKED.match(line)
        if attacked:
            failed, passed = failed + (attacked[1] != "0"), passed + (attacked[1] == "0")
        ran = UNITTEST_RAN.match(line)
        if ran:
            passed += int(ran.group(1))
        end = UNITTEST_END.match(line)
        if end:
            words = dict(
                word.split("=") for word in (end.group(1) or "").split(", ") if "=" in word
            )
            bad = sum(
                int(words.get(key, 0)) for key in ("failures", "errors", "unexpected successes")
            )
            passed -= bad + int(words.get("skipped", 0))
            failed += bad
            skipped += int(words.get("skipped", 0))
    passed = max(passed, 0)  # a file that is skipped as a whole: no test ran, one was skipped
    if passed + failed + skipped == 0:
        return (1, 0, 0) if status == 0 else (0, 1, 0)
    # A crash, or a leak found at exit, after tests that all passed.
    if status != 0 and failed == 0:
        failed = 1
    return passed, failed, skipped


def leak_sanitizer_broke(lines):
    return any(said in line for line in lines for said in LEAK_SANITIZER_BROKE)


def said_of_failures(lines):
    """For unittest, the output from the first failure on; for cmocka, without tests that passed;
    for others, the end."""
    start = next((number for number, line in enumerate(lines) if line.startswith("=====")), None)
    if start is not None:
        return lines[start + 1 : start + LINES_SHOWN_MAX] + ["..."] * (
            len(lines) - start > LINES_SHOWN_MAX
        )
    lines = [line for line in lines if not line.startswith("ok ")]
    return ["..."] * (len(lines) > LINES_SHOWN_MAX) + lines[-LINES_SHOWN_MAX:]


class Part:
    """Commands that run one after the other when the parts that it is `after` have passed."""

    def __init__(self, name, *commands, after=(), skip=None, slots=1, **environment):
        self.name, self.commands, self.after, self.skip = name, commands, after, skip
        self.slots = fractions.Fraction(slots, WAITING.get(name, 1))
        self.environment = environment
        self.passed = self.failed = self.skipped = 0
        self.took = self.used = 0.0  # seconds, and seconds of processors
        self.reasons, self.shown, self.attacked = [], [], []

    @property
    def seconds(self):
        return float(SECONDS.get(self.name, SECONDS_OF_OTHERS) / self.slots)

    @property
    def log(self):
        return os.path.join(LOGS, re.sub(r"\W+", "-", self.name) + ".log")

    def run(self, processes):
        start = time.monotonic()
        with open(self.log, "w", encoding="utf-8") as log:
            for command in self.commands:
                for _ in range(RUNS_MAX):
                    lines, status = self.run_command(command, processes)
                    if status == 0 or not leak_sanitizer_broke(lines):
                        break
                    log.write(f"LeakSanitizer itself broke: run again, {shlex.join(command)}\n")
                log.write(f"$ {shlex.join(command)}\n" + "\n".join(lines) + "\n")
                passed, failed, skipped = count(lines, status)
                self.passed, self.failed, self.skipped = (
                    self.passed + passed,
                    self.failed + failed,
                    self.skipped + skipped,
                )
                self.reasons += [
                    match[1] for line in lines if (match := UNITTEST_SKIPPED.search(line))
                ]
                self.attacked += filter(ATTACKED.match, lines)
                if failed:
                    self.shown += [
                        f"$ {shlex.join(command)}: exit {status}",
                        *said_of_failures(lines),
                    ]
            log.write(f"# {time.monotonic() - start:.1f} s, {self.used:.1f} s of processors\n")
        self.took = time.monotonic() - start

    def run_command(self, command, processes):
        """The lines of a command's output and its exit status. It is a group of processes, which
        ends with it."""
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            env={**os.environ, **self.environment},
            start_new_session=True,
        ) as process:
            processes.add(process)
            timer = threading.Timer(COMMAND_SECONDS_MAX, kill, [process])
            timer.start()
            lines = process.stdout.read().splitlines()
            _, code, used = os.wait4(process.pid, 0)
            status = process.returncode = os.waitstatus_to_exitcode(code)
            self.used += used.ru_utime + used.ru_stime
            timer.cancel()
            processes.discard(process)
        if status == -signal.SIGKILL:
            lines.append(f"killed: after {COMMAND_SECONDS_MAX} s, or for want of memory")
        return lines, status


def kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


# ---- The parts


def make(*arguments, jobs=1):
    return ["make", f"-j{jobs}", *sys.argv[2:], *arguments]


def unit_tests(name, build, after, **environment):
    # Only tests whose source is still there, not what an older build left.
    programs = [
        f"{build}/tests/unit/{os.path.basename(source)[:-2]}"
        for source in sorted(glob.glob("tests/unit/test_*.c"))
    ]
    return Part(
        name,
        *([program] for program in programs),
        after=after,
        CMOCKA_MESSAGE_OUTPUT="TAP",
        UBSAN_OPTIONS="print_stacktrace=1",
        **environment,
    )


def ends_in_tests(file):
    with open(file, encoding="utf-8") as text:
        return text.read().rstrip().rpartition("\n")[2].lstrip().startswith("unittest.main(")


def files(folder):
    return [file for file in sorted(glob.glob(f"tests/{folder}/*.py")) if ends_in_tests(file)]


SCRATCH = "build/scratch"  # the copy of the tree that tests change; see tests/end_to_end/tree.py
CHANGING = ("end_to_end/scratch.py", "kernels/kernel_checks.py", "kernels/kernel_faults.py")


def scratch_tree():
    return Part(
        "build, scratch tree",
        [sys.executable, "tests/end_to_end/tree.py", SCRATCH],
        after=["build"],
    )


def tests_of(folder, of=None, without=()):
    """Parts of the folder's files: those named or all, but for others that are named."""
    for file in files(folder):
        changes = file[len("tests/") :] in CHANGING
        if (
            os.path.basename(file) in (of or [os.path.basename(file)])
            and os.path.basename(file) not in without
        ):
            yield python(
                file,
                "build/cbank",
                ["build, scratch tree" if changes else "build"],
                **({"CBANK_SCRATCH": os.path.abspath(SCRATCH)} if changes else {}),
            )


def python(file, program, after, suffix="", only=(), **environment):
    return Part(
        file[len("tests/") : -len(".py")] + suffix,
        [sys.executable, file, "-v", *only],
        after=after,
        CBANK=os.path.abspath(program),
        **environment,
    )


SANITIZED_ATTACKS = ("documents", "cubins")  # those of the program itself


def attacks(rounds, of=None, without=("run",), sanitizers=False):
    """The campaigns of tests/attacks: named ones or all, each so many times with other seeds."""
    build, after, suffix = (
        ("build/asan", "sanitizer build", ", sanitizers") if sanitizers else ("build", "build", "")
    )
    names = of or sorted(
        {os.path.basename(file)[: -len(".py")] for file in glob.glob("tests/attacks/*.py")}
        - set(without)
    )
    return [
        Part(
            f"attacks/{name}{suffix}",
            [sys.executable, "tests/attacks/run.py", "--rounds", str(rounds), name],
            after=[after],
            CBANK=os.path.abspath(f"{build}/cbank"),
        )
        for name in names
    ]


def planted():
    """Faults that tests must find, each planted in a copy of the tree, which takes what is
    compiled."""
    return Part(
        "faults/planted",
        [sys.executable, "tests/faults/planted.py", *sys.argv[2:]],
        after=["build"],
    )


def committed_files():
    """Every command over the committed files of its kind, with sanitizers."""
    return Part(
        "committed files, sanitizers",
        [sys.executable, "tests/attacks/documents.py", "--committed"],
        after=["sanitizer build"],
        CBANK=os.path.abspath("build/asan/cbank"),
    )


def fuzzer_links():
    """Whether clang has its fuzzer's runtime library, which some distributions package apart."""
    return bool(
        glob.glob(
            f"{subprocess.getoutput('clang -print-resource-dir')}/lib/**/libclang_rt.fuzzer*",
            recursive=True,
        )
    )


def fuzz(found, full):
    """Each corpus, and a second of mutations of it, the same each time; `make fuzz` goes on for
    longer. The code of kernels reaches all of the analysis, and in full it is fuzzed for 30 minutes
    of processors."""
    build, skip = (
        make("BUILD=build/asan", "CC=clang", "SANITIZE=1", "FAST=-O0", "fuzzers"),
        None if fuzzer_links() else "clang has no runtime library of fuzzers",
    )
    reach = Part(
        "fuzz, reach",
        ["scripts/fuzz_reach.sh"],
        after=["fuzz"],
        skip=skip
        or (
            None if shutil.which("llvm-symbolizer") else "no llvm-symbolizer, which names functions"
        ),
    )
    parts = [
        Part(
            name,
            build,
            [
                "scripts/fuzz.sh",
                *limits,
                "--seed",
                "1",
                "--folder",
                os.path.join(found, name),
                *targets,
            ],
            after=["sanitizer build"],
            skip=skip,
            slots=slots,
        )
        for name, slots, limits, *targets in (
            ("fuzz", 1, ("--runs", "5000", "--jobs", "1")),
            *([("fuzz, code of kernels", 2, ("--seconds", "900", "--jobs", "2"), "cubin")] * full),
        )
    ]
    return [*parts, reach]


def sanitized(suffix, build, *variables):
    """A build with ASan and UBSan and what runs in it, with few repetitions."""
    name, small = "sanitizer build" + suffix, {"CBANK_TEST": "small"}
    return [
        Part(
            name,
            make(
                f"BUILD={build}",
                "SANITIZE=1",
                "FAST=-O0",
                "FAST_TESTS=-O0",
                *variables,
                "all",
                "tests",
                jobs=max(1, SLOTS // 2),
            ),
        ),
        unit_tests("unit tests, sanitizers" + suffix, build, [name], **small),
        python(
            "tests/end_to_end/e2e.py", f"{build}/cbank", [name], ", sanitizers" + suffix, **small
        ),
    ]


def kernel_checks(toolkit):
    """The kernels of the program, which has one architecture if the machine has no GPU."""
    disassembler = shutil.which(
        "nvdisasm", path=os.pathsep.join([os.path.join(toolkit, "bin"), os.environ["PATH"]])
    )
    none = None if toolkit else "no CUDA toolkit, so no kernels"
    return [
        Part("check-ptx", make("check-ptx"), after=["build"], skip=none),
        Part(
            "check-sass",
            make("check-sass", "CHECK=--skip-undecodable"),
            after=["build"],
            skip=none or (None if disassembler else "no nvdisasm on this machine"),
        ),
    ]


def absent(tool):
    return None if shutil.which(tool) else f"no {tool} on this machine"


def no_lint():
    """Why `make lint` cannot run. In continuous integration on its distribution it has to."""
    system = platform.freedesktop_os_release() if os.path.exists("/etc/os-release") else {}
    if (system.get("ID"), system.get("VERSION_ID")) != ("debian", "12"):
        return "lint runs on Debian 12 alone"
    return None if os.environ.get("CI") else absent("clang-tidy-19")


def simulated(toolkit, of, sanitizers=False):
    """The CUDA engine on a simulated GPU."""
    suffix, build, after, variables = (
        (", sanitizers", "build/asan", "sanitizer build", ("CC=clang", "SANITIZE=1"))
        if sanitizers
        else ("", "build", "build", ())
    )
    name = "build, simulated GPU" + suffix
    parts = [
        Part(name, make(f"BUILD={build}", *variables, "simulated"), after=[after]),
        *(
            python(f"tests/end_to_end/{file}", f"{build}/tests/simulated/cbank", [name], suffix)
            for file in of
        ),
    ]
    for part in parts:
        part.skip = None if toolkit else "no CUDA toolkit, so no simulated GPU"
    return parts


def test(toolkit):
    return [
        unit_tests("unit tests", "build", ["build"]),
        kernel_checks(toolkit)[1],
        *tests_of("end_to_end", without=("gpu.py", *ALL, *SIMULATED, *CLUSTERS)),
        *simulated(toolkit, [file for file in SIMULATED if file not in ALL]),
    ]


def merge(toolkit):
    """The parts that `all` runs in addition to `test`."""
    parts = [
        kernel_checks(toolkit)[0],
        Part("check-headers", make("check-headers")),
        *tests_of("end_to_end", of=[file for file in ALL if file not in SIMULATED]),
        *simulated(toolkit, [file for file in SIMULATED if file in ALL])[1:],
        Part("lint", make("lint"), skip=no_lint()),
    ]
    if toolkit:
        parts += [
            Part(
                "build, no toolkit",
                [
                    sys.executable,
                    "tests/end_to_end/common.py",
                    "build/nocuda",
                    *make("BUILD=build/nocuda", "NO_CUDA=1", "all"),
                ],
                after=["build"],
            ),
            *(
                python(
                    f"tests/end_to_end/{file}.py",
                    "build/nocuda/cbank",
                    ["build, no toolkit"],
                    ", no toolkit",
                    [tests],
                )
                for file, tests in (
                    ("e2e", "Smoke"),
                    ("characterize", "Records.test_without_a_gpu"),
                )
            ),
        ]
    return parts


def kernels(without=()):
    return list(tests_of("kernels", without=without))


RANDOM_PARTS = 25


def random_programs():
    """100,000 of them, in parts of which each is not long. Part 0 is among the kernels."""
    return [
        python(
            "tests/kernels/random_programs.py",
            "build/cbank",
            ["build"],
            f", part {number}",
            ("Programs",),
            CBANK_PART=str(number),
        )
        for number in range(1, RANDOM_PARTS)
    ]


def fleet(toolkit):
    return simulated(toolkit, CLUSTERS)


def gpu(toolkit):
    check = kernel_checks(toolkit)[1]
    check.commands = [make("check-sass")]
    return [check, python("tests/end_to_end/gpu.py", "build/cbank", ["build"])]


def parts_of(suite, found):
    toolkit = os.environ.get("CBANK_CUDA", "")
    fast = () if suite == "long" else ("FAST_TESTS=-O0",)
    # `all` has unit tests of its own build, with sanitizers.
    tests = "test-tools" if suite == "all" else "tests"
    build = Part("build", make(*fast, "all", tests, jobs=SLOTS), slots=SLOTS)
    os.environ["CBANK_TEST"] = {"test": "quick", "long": "full"}.get(suite, "small")
    if suite == "all":
        os.environ["CBANK_ARCHS"] = "ends"
        # Unit tests run with sanitizers. The fuzz target of cubins does in one process what the
        # attack starts a process for.
        return [
            build,
            scratch_tree(),
            *test(toolkit)[1:],
            *merge(toolkit),
            *kernels(KERNELS_LONG),
            *attacks(1, without=("run", *SANITIZED_ATTACKS)),
            *attacks(1, SANITIZED_ATTACKS[:1], sanitizers=True),
            *fleet(toolkit)[1:],
            *sanitized("", "build/asan", "CC=clang")[:2],
            *fuzz(found, False),
        ]
    if suite == "long":
        return [
            build,
            scratch_tree(),
            *test(toolkit),
            *merge(toolkit),
            *kernels(),
            *random_programs(),
            *attacks(100),
            *attacks(8, SANITIZED_ATTACKS, sanitizers=True),
            *fleet(toolkit)[1:],
            *sanitized("", "build/asan", "CC=clang"),
            *sanitized(", gcc", "build/asan-gcc"),
            *fuzz(found, True),
            planted(),
            committed_files(),
            *simulated(toolkit, SANITIZED, sanitizers=True),
        ]
    return [
        build,
        *(attacks(1) if suite == "test" else ()),
        *{
            "test": test,
            "kernels": lambda _: [scratch_tree(), *kernels()],
            "fleet": fleet,
            "gpu": gpu,
        }[suite](toolkit),
    ]


# ---- Running it


def slots_of(parts):
    waiting = sum(part.slots for part in parts if part.slots < 1)
    return sum(part.slots for part in parts if part.slots >= 1) + max(waiting - ROOM_TO_WAIT, 0)


class Runner:
    """Runs parts on SLOTS processors: of those that may start the longest, with all that waits
    for it, first."""

    def __init__(self, parts):
        self.parts, self.waiting, self.running = parts, list(parts), set()
        self.passed, self.failed = set(), set()  # names
        self.ended, self.processes = queue.Queue(), set()
        self.names = max(len(part.name) for part in parts)

    def weight(self, part):
        return part.seconds + max(
            (self.weight(other) for other in self.parts if part.name in other.after), default=0
        )

    def run(self):
        try:
            while self.waiting or self.running:
                self.start_what_may()
                if self.running:
                    self.end(self.ended.get())
        finally:
            for process in list(self.processes):
                kill(process)

    def start_what_may(self):
        for part in [part for part in self.waiting if part.skip or set(part.after) & self.failed]:
            self.waiting.remove(part)
            part.skip = part.skip or f"{', '.join(part.after)} failed"
            part.skipped = 1
            self.failed.add(part.name)
            self.say(part)
        ready = [part for part in self.waiting if set(part.after) <= self.passed]
        for part in sorted(ready, key=self.weight, reverse=True):
            if slots_of({*self.running, part}) <= SLOTS:
                self.waiting.remove(part)
                self.running.add(part)
                threading.Thread(target=self.work, args=[part], daemon=True).start()

    def work(self, part):
        try:
            part.run(self.processes)
        except OSError as error:
            part.failed, part.shown = part.failed + 1, [str(error)]
        self.ended.put(part)

    def end(self, part):
        self.running.discard(part)
        (self.failed if part.failed else self.passed).add(part.name)
        self.say(part)
        if part.failed:
            print(
                "\n".join(f"    {line}" for line in part.shown) + f"\n    all of it: {part.log}",
                flush=True,
            )

    def say(self, part):
        tests = part.passed + part.failed
        word = "FAILED" if part.failed else "ok" if tests else "skip"
        text = part.skip or f"{tests:4} test{'s' if tests != 1 else ' '} {part.took:6.1f} s"
        text += f", {part.failed} failed" if part.failed else ""
        text += f", {part.skipped} skipped" if part.skipped and tests else ""
        print(
            "\n".join(
                [
                    f"{word:6} {part.name:{self.names}} {text}",
                    *(f"       {line}" for line in part.attacked),
                ]
            ),
            flush=True,
        )


SLOWEST = 10


def summary(parts, seconds):
    """Which parts took longest, why tests were skipped, which parts failed, and the count."""
    print("seconds of processors, of those that took the most:")
    for part in sorted(parts, key=lambda part: part.used, reverse=True)[:SLOWEST]:
        print(f"{part.used:8.1f}  {part.name}")
    reasons = {}
    for part in parts:
        for reason in [part.skip] if part.skip else part.reasons:
            reasons.setdefault(reason, []).append(part.name)
    for reason, names in reasons.items():
        print(f"skipped: {reason} ({', '.join(sorted(set(names)))})")
    for part in parts:
        if part.failed:
            print(f"FAILED: {part.name}")
    passed, failed, skipped = (
        sum(getattr(part, key) for part in parts) for key in ("passed", "failed", "skipped")
    )
    print(f"{seconds:.0f} s on {SLOTS} processor{'s' if SLOTS > 1 else ''}; logs: {LOGS}/")
    print(
        f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""),
        flush=True,
    )
    return 0 if passed and not failed else 1


def main():
    if sys.argv[1:2] not in (["test"], ["all"], ["long"], ["kernels"], ["fleet"], ["gpu"]):
        sys.exit("usage: tests/run.py test|all|long|kernels|fleet|gpu [VARIABLE=VALUE...]")
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    # Each make is one of its own, with these variables, and what warns fails.
    overrides = re.findall(
        r"(?:\\.|[^ \t])+", os.environ.get("MAKEFLAGS", "").partition("-- ")[2], re.DOTALL
    )
    sys.argv += [
        re.sub(r"\\(.)", r"\1", word, flags=re.DOTALL).replace("$$", "$") for word in overrides
    ]
    # where CI is set, nothing is modelled unasked
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "CI"):
        os.environ.pop(name, None)
    os.environ.update(WERROR="-Werror", PYTHONDONTWRITEBYTECODE="1")
    # jobs in the background and nohup ignore them: so would what is tried
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.makedirs(LOGS, exist_ok=True)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as found:
        parts = parts_of(sys.argv[1], found)
        Runner(parts).run()
    sys.exit(summary(parts, time.monotonic() - start))


if __name__ == "__main__":
    main()
